"""Designs: quality against the known laws and the published algorithm, and time, each ratio within
one run.

python -m benchmarks design           everything
python benchmarks/design.py --quick   one cell in seven of the grid, and the published algorithm on
                                      one setting, for fewer steps
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from leastnoise import design
from leastnoise.designer.published import PublishedSettings, PublishedState, initialize, optimize
from leastnoise.designer.result import Design
from leastnoise.solver.problem import renyi_problem
from leastnoise.solver.renyi import solve

DELTA = 1e-6
RATIOS = tuple(0.5 * k for k in range(1, 13))
COMPOSITIONS = (1, 2, 3, 5, 8, 12, 20, 30, 45)
DELTAS = (1e-6, 1e-9)


def timed(function: Callable[[], Any], runs: int = 1) -> tuple[Any, float]:
    """The result and the median of the seconds of processor time it took: the clock on the wall
    also counts what else runs here."""
    seconds = []
    for _ in range(runs):
        begin = time.process_time()
        result = function()
        seconds.append(time.process_time() - begin)
    return result, statistics.median(seconds)


def times() -> None:
    """One solve, one design, one calibration."""
    _, seconds = timed(lambda: solve(renyi_problem(sigma=80.0, shift=10, order=18.0)), 21)
    print(f"Rényi solve, σ = 8, α = 18, m = 10: {1e3 * seconds:.1f} ms (median of 21)")
    requests: list[dict[str, Any]] = [
        {"sigma": 8.0, "compositions": 10},
        {"sigma": 5.0, "compositions": 10},
        {"sigma": 4.0, "compositions": 20},
        {"sigma": 2.0, "compositions": 15},
        {"sigma": 8.0, "compositions": 10, "domain": "integer"},
        {"sigma": 8000.0, "sensitivity": 1000.0, "compositions": 10, "domain": "integer"},
        {"sigma": 1.0, "compositions": 1},
        {"sigma": 1.0, "compositions": 3},
        {"sigma": 1.0, "compositions": 12},
        {"sigma": 0.5, "compositions": 20},
        {"sigma": 8.0, "batch": 10},
        {"sigma": 60.0, "compositions": 1000},
        {"epsilon": 1.0, "compositions": 10},
        {"epsilon": 1.0, "compositions": 1},
        {"epsilon": 2.0, "compositions": 6},
        {"epsilon": 8.0, "compositions": 8},
        *({"epsilon": 1.0, "batch": answers} for answers in (10, 30, 40, 60, 100)),
    ]
    print(f"\n{'request':62} {'ε':>9} {'σ':>9} {'least rival':>20} {'ms':>6}")
    for request in requests:
        best, seconds = timed(lambda request=request: design(delta=DELTA, **request), 3)
        name, rival = next(iter(best.rivals.items()))
        shown = ", ".join(f"{key}={value}" for key, value in request.items())
        print(
            f"{shown:62} {best.epsilon:9.5f} {best.sigma:9.4g} {name:>11} {rival:8.5f} "
            f"{1e3 * seconds:6.0f}"
        )


def one_release() -> None:
    """One release with a large δ, where the linear program ends the law early."""
    print("\none release: ε of the design, and below the least known law by")
    for sigma, delta in itertools.product((1.0, 4.0, 8.0), (1e-2, 1e-3, 1e-6)):
        best = design(delta=delta, sigma=sigma)
        print(
            f"  σ/s = {sigma:g}, δ = {delta:g}: {best.epsilon:.6f}, "
            f"{100 * (1 - best.epsilon / min(best.rivals.values())):.3f} %"
        )


def published(sigma: float, compositions: int, m: int, last: int, iterations: int) -> None:
    """The published descent beside our solver at the same N, r and Δ, on its own objective: as
    printed, which ends at its stall, and with 40 halvings in place of 10, which puts the stall off,
    at a fixed order for as long as the paper runs."""
    settings = PublishedSettings(iterations=iterations, last=last, tail_ratio=0.9999, step=1.0 / m)
    start = initialize(sigma, 1.0, settings)
    request: dict[str, Any] = {"delta": DELTA, "compositions": compositions, "sigma": sigma}
    theirs, their_time = timed(lambda: optimize(start, settings=settings, **request))
    order = theirs.renyi_order
    problem = {"shift": m, "order": order, "sigma": sigma * m, "last": last, "tail_ratio": 0.9999}
    ours, our_time = timed(lambda: solve(renyi_problem(**problem)), 5)

    def reached(_: int, state: PublishedState) -> bool:
        return state.log_objective / (order - 1.0) <= ours.divergence * (1.0 + 1e-4)

    patient = replace(settings, halvings=40, renyi_update_every=None)
    longer, longer_time = timed(
        lambda: optimize(start, settings=patient, renyi_order=order, callback=reached, **request)
    )
    joint, joint_time = timed(lambda: design(objective="renyi", step=1.0 / m, **request))
    best, tight_time = timed(lambda: design(**request))

    def line(what: str, value: str, excess: float, seconds: float) -> None:
        print(
            f"  {what:52} {value:30} {100 * excess:8.3f} % above {seconds:8.3f} s "
            f"{seconds / our_time:7.0f} times ours"
        )

    print(
        f"\nσ = {sigma:g}, N_c = {compositions}, m = {m}, N = {last}, r = 0.9999; divergence of "
        f"order {order:.3f}"
    )
    line("ours", f"{ours.divergence:.9f} (gap {ours.gap:.0e})", 0.0, our_time)
    steps = theirs.history.seconds.size - 1
    excess = theirs.divergence / ours.divergence - 1.0
    line(
        f"published, {steps} iterations{' to its stall' if theirs.stalled else ''}",
        f"{theirs.divergence:.9f}",
        excess,
        their_time,
    )
    steps = longer.history.seconds.size - 1
    excess = longer.divergence / ours.divergence - 1.0
    line(f"  with 40 halvings, {steps} iterations", f"{longer.divergence:.9f}", excess, longer_time)
    print(
        f"  moments ε: published {theirs.moments_epsilon:.6f} at order {order:.3f} in "
        f"{their_time:.2f} s;",
        end=" ",
    )
    print(
        f"joint optimum {joint.moments_epsilon:.6f} at {joint.renyi_order:.3f} in "
        f"{joint_time:.2f} s"
    )
    print(f"  tight design: certified ε = {best.epsilon:.6f} in {tight_time:.2f} s")


def grid(every: int) -> None:
    """Never worse than the best rival."""
    cells = list(itertools.islice(itertools.product(RATIOS, COMPOSITIONS, DELTAS), 0, None, every))
    margins: list[tuple[float, float, int, float, Design]] = []
    seconds = []
    for ratio, compositions, delta in cells:
        best, taken = timed(
            lambda r=ratio, n=compositions, d=delta: design(delta=d, sigma=r, compositions=n)
        )
        margins.append(
            (1.0 - best.epsilon / min(best.rivals.values()), ratio, compositions, delta, best)
        )
        seconds.append(taken)
    worst = min(margins, key=lambda cell: cell[0])
    gains = [cell[0] for cell in margins]
    print(f"\nthe grid σ/s × N_c × δ, {len(cells)} cells: share of ε below the best rival")
    print(
        f"  worst margin {100 * worst[0]:.5f} % (σ/s = {worst[1]:g}, N_c = {worst[2]}, δ = "
        f"{worst[3]:g}: {worst[4].origin})"
    )
    print(
        f"  cells below 0: {sum(gain < 0 for gain in gains)}; a rival is the answer in "
        f"{sum(gain == 0 for gain in gains)}"
    )
    for share in (0.001, 0.01, 0.02, 0.05):
        print(
            f"  more than {100 * share:g} %: "
            f"{100 * sum(gain > share for gain in gains) / len(gains):.0f} % of the cells"
        )
    print(f"  median {100 * statistics.median(gains):.2f} %, best {100 * max(gains):.2f} %")
    print(
        f"  time: median {1e3 * statistics.median(seconds):.0f} ms, worst "
        f"{1e3 * max(seconds):.0f} ms"
    )


def main(quick: bool = False) -> None:
    times()
    one_release()
    published(8.0, 10, 10, 1600, 2_000 if quick else 20_000)
    if not quick:
        published(4.0, 20, 20, 1600, 20_000)
    grid(7 if quick else 1)
    print("\ntime against N and m: see benchmarks/renyi_solver.py")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    main(parser.parse_args().quick)
