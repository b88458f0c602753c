"""Our accountant beside dp_accounting 0.6 at equal accuracy: time, memory and ε in one run.

"Gaussian" is what a user gets, the closed form of composed Gaussians; "Gauss/FFT" sends it through
the grid like any other loss. Accuracy is the relative excess over the exact ε (Gaussian: analytic;
others: the lower bound of our own enclosure). dp_accounting's grid is the coarsest of 1e-2, 1e-3,
1e-4, 1e-5 whose excess is at most ours + 1e-4, or the finest that finishes. Each call runs in a
process of its own, after a warm-up, so that peak memory is its own; times are medians of up to 9
calls.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from functools import lru_cache

DELTA = 1e-6
LIMIT = 150  # seconds for one call of dp_accounting

CALL = """
import json, resource, sys, time
sys.argv = sys.argv[1:]
from benchmarks.accountant import law, ours, theirs, warm
call, arguments = {"ours": ours, "theirs": theirs}[sys.argv[0]], json.loads(sys.argv[1])
warm()
law(arguments[0])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
seconds, spent = [], 0.0
while spent < 0.5 and len(seconds) < 9:
    start = time.perf_counter()
    result = call(*arguments)
    seconds.append(time.perf_counter() - start)
    spent += seconds[-1]
seconds = sorted(seconds)[len(seconds) // 2]
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
memory = {"mib": (after - before) / 1024, "peak": after / 1024}
print(json.dumps({"epsilon": result, "seconds": seconds, **memory}))
"""


def warm() -> None:
    """Import everything, so that only accounting is timed."""
    ours("Laplace", 2)
    theirs("Laplace", 2, 1e-2)


@lru_cache
def law(name: str):
    from leastnoise import design, discrete_gaussian, gaussian, laplace

    if name.startswith("joint"):  # the best joint noise for so many answers
        return design(delta=DELTA, sigma=8.0, batch=int(name.removeprefix("joint "))).noise
    return {
        "Gaussian": gaussian,
        "Gauss/FFT": gaussian,
        "Laplace": laplace,
        "table": discrete_gaussian,
    }[name](8.0)


def ours(name: str, compositions: int) -> float:
    from leastnoise import PrivacyLoss
    from leastnoise.losses.gaussian import GaussianLoss

    if name == "Gauss/FFT":  # as a Gaussian among other losses would go, not by its closed form
        return PrivacyLoss(((GaussianLoss(1 / 8), compositions),)).epsilon(DELTA)
    return PrivacyLoss.of(law(name), 1.0).compose(compositions).epsilon(DELTA)


def theirs(name: str, compositions: int, pitch: float) -> float:
    import numpy as np
    from dp_accounting.pld import pld_pmf
    from dp_accounting.pld import privacy_loss_distribution as pld

    if name.startswith("Gauss"):
        one = pld.from_gaussian_mechanism(8.0, value_discretization_interval=pitch)
    elif name == "Laplace":
        one = pld.from_laplace_mechanism(8.0 / math.sqrt(2), value_discretization_interval=pitch)
    else:
        from leastnoise import PrivacyLoss

        single = PrivacyLoss.of(law(name), 1.0).parts[0][0]
        reach = math.ceil((min(single.largest, 20.0) if name.startswith("joint") else 3.0) / pitch)
        grid = np.arange(-reach, reach + 1)
        positive = single.profile(np.abs(grid) * pitch)
        deltas = np.where(grid >= 0, positive, 1 - np.exp(grid * pitch) * (1 - positive))
        one = pld.PrivacyLossDistribution(
            pld_pmf.create_pmf_pessimistic_connect_dots(
                pitch, grid, np.minimum.accumulate(np.clip(deltas, 0, 1))
            )
        )
    return float(one.self_compose(compositions).get_epsilon_for_delta(DELTA))


def measured(which: str, *arguments: object) -> dict[str, float] | None:
    command = [sys.executable, "-W", "ignore", "-c", CALL, which, json.dumps(arguments)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=True)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
        return None
    return json.loads(done.stdout)


def main() -> None:
    from leastnoise import PrivacyLoss

    try:
        import dp_accounting  # noqa: F401
    except ImportError:
        sys.exit("This benchmark needs dp_accounting: pip install 'leastnoise[oracles]'.")
    ours_head, theirs_head = (
        f"{'eps':>11} {'excess':>8} {'ms':>9} {'MiB':>6}",
        f"{'pitch':>6} {'eps':>11} {'excess':>8} {'ms':>9} {'MiB':>6}",
    )
    print(f"{'':17} | {'leastnoise':37} | dp_accounting 0.6")
    print(f"{'law':9}{'n':>8} | {ours_head} | {theirs_head} | ratio")
    usual = [
        (name, n)
        for name in ("Gaussian", "Gauss/FFT", "Laplace", "table")
        for n in (1, 10, 1_000, 100_000)
    ]
    for name, n in [
        *usual,
        *((name, n) for name in ("joint 20", "joint 30") for n in (2, 5, 10, 100)),
    ]:
        mine = measured("ours", name, n)
        assert mine is not None
        if name.startswith("Gauss"):
            exact = PrivacyLoss.of(law(name), 1.0).compose(n).epsilon(DELTA)
        else:
            exact = PrivacyLoss.of(law(name), 1.0).compose(n).epsilon_bounds(DELTA).lower
        excess = mine["epsilon"] / exact - 1
        row = (
            f"{name:9}{n:>8} | {mine['epsilon']:11.6f} {excess:8.1e} "
            f"{1e3 * mine['seconds']:9.2f} {mine['mib']:6.0f} | "
        )
        chosen, pitch = None, 0.0
        for pitch in (1e-2, 1e-3, 1e-4, 1e-5):
            found = measured("theirs", name, n, pitch)
            if found is None:
                break
            chosen = (found, pitch)
            if found["epsilon"] / exact - 1 <= excess + 1e-4:
                break
        if chosen is None:
            print(row + f"did not finish in {LIMIT} s at pitch {pitch:g}", flush=True)
            continue
        found, pitch = chosen
        print(
            row + f"{pitch:6.0e} {found['epsilon']:11.6f} {found['epsilon'] / exact - 1:8.1e} "
            f"{1e3 * found['seconds']:9.2f} "
            f"{found['mib']:6.0f} | {found['seconds'] / mine['seconds']:7.1f} x",
            flush=True,
        )
