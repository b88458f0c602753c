"""The ledger: what a spend costs as the ledger grows, and what adaptivity costs in epsilon.

Times are means over the last tenth of the releases, with and without waiting for the disk. The last
table counts the releases that fit into a budget under either rule, and compares the filter of the
adaptive rule with tight composition at its number.
"""

from __future__ import annotations

import math
import tempfile
import time
from pathlib import Path

from leastnoise import Noise, PrivacyLoss, discrete_gaussian, exact, gaussian, laplace
from leastnoise.ledger.budget import declared
from leastnoise.ledger.filter import charge, filter_epsilon
from leastnoise.ledger.ledger import Ledger, Spend

DELTA = 1e-6
MARKS = (10, 100, 1000)


def growth(path: Path, rule: str, laws: list[Noise], releases: int, *, disk: bool) -> list[float]:
    """Milliseconds a spend at each mark."""
    found, seconds = [], []
    with Ledger(path) as ledger:
        if not disk:
            ledger._log._connection.execute("PRAGMA synchronous = OFF")
        ledger.open_dataset("data", epsilon=20.0, delta=DELTA, rule=rule)
        for k in range(releases):
            start = time.perf_counter()
            ledger.spend("data", [Spend(laws[k % len(laws)])], plan_hash=f"{k}")
            seconds.append(time.perf_counter() - start)
            if k + 1 in MARKS:
                recent = seconds[-max((k + 1) // 10, 1) :]
                found.append(1e3 * sum(recent) / len(recent))
    return found


def growth_table(directory: Path) -> None:
    print(
        f"{'laws':24} {'rule':17} {'disk':5}"
        + "".join(f"{f'ms at {n}':>11}" for n in MARKS)
        + f"{'reopen ms':>11}{'check s':>9}{'KiB':>7}"
    )
    few, many = (
        exact(discrete_gaussian(200.0), delta=DELTA, compositions=1000),
        [laplace(900.0 + k) for k in range(300)],
    )
    rows: list[tuple[str, list[Noise], str, int, bool]] = [
        ("1 Gaussian", [gaussian(400.0)], "adaptive", 100, True),
        ("1 Gaussian", [gaussian(400.0)], "adaptive", 1000, False),
        ("1 Gaussian", [gaussian(400.0)], "fixed in advance", 1000, False),
        ("1 discrete Gaussian", [few], "adaptive", 1000, False),
        ("1 discrete Gaussian", [few], "fixed in advance", 1000, False),
        ("300 Laplace", many, "adaptive", 300, False),
        ("300 Laplace", many, "fixed in advance", 100, False),
    ]
    for number, (name, laws, rule, releases, disk) in enumerate(rows):
        path = directory / f"{number}.ledger"
        times = growth(path, rule, laws, releases, disk=disk)
        start = time.perf_counter()
        with Ledger(path) as ledger:
            ledger.preview("data", [Spend(laws[0])])
            opened = time.perf_counter() - start
            start = time.perf_counter()
            assert ledger.check().ok
            checked = time.perf_counter() - start
        cells = "".join(f"{value:11.1f}" for value in times) + " " * (
            11 * (len(MARKS) - len(times))
        )
        size = path.stat().st_size / 1024
        print(
            f"{name:24} {rule:17} "
            f"{'yes' if disk else 'no':5}{cells}{1e3 * opened:11.0f}{checked:9.2f}{size:7.0f}",
            flush=True,
        )


def largest_use(law: Noise, budget: float) -> tuple[int, int]:
    """How many releases fit into (budget, DELTA): fixed in advance, and adaptive."""
    loss, filtered = law.loss(1.0), declared(budget, DELTA)
    one = charge(loss, filtered)

    def most(fits: object) -> int:
        low, high = 0, 1
        while fits(high):  # type: ignore[operator]
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(middle) else (low, middle)  # type: ignore[operator]
        return low

    tight = most(lambda n: PrivacyLoss(((loss, 1),)).compose(n).epsilon(DELTA) <= budget)
    return tight, most(lambda n: filter_epsilon(one.times(n), filtered) <= budget)


def adaptivity_table() -> None:
    print(
        f"\n{'law':26}{'epsilon':>8}{'fixed':>8}{'adaptive':>9}   releases that fit; filter / "
        "tight epsilon"
    )
    for budget in (0.5, 2.0, 8.0):
        for name, law in [
            ("Gaussian", gaussian(40.0 / budget)),
            ("Laplace", laplace(40.0 / budget)),
            ("Laplace, large", laplace(12.0 / budget)),
            (
                "discrete Gaussian, exact",
                exact(discrete_gaussian(math.ceil(40.0 / budget)), delta=DELTA, compositions=1000),
            ),
        ]:
            fixed, adaptive = largest_use(law, budget)
            filtered = declared(budget, DELTA)
            ratio = filter_epsilon(charge(law.loss(1.0), filtered).times(adaptive), filtered)
            ratio /= PrivacyLoss.of(law, 1.0).compose(adaptive).epsilon(DELTA)
            print(f"{name:26}{budget:8.2f}{fixed:8}{adaptive:9}   {ratio:.3f}", flush=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        growth_table(Path(directory))
    adaptivity_table()
