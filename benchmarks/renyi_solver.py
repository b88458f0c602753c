"""Certified gap and time of the Rényi solver over its whole range.

python benchmarks/renyi_solver.py            the grid, the misses, and how time grows with N and m
python benchmarks/renyi_solver.py --quick    one instance in seven
"""

from __future__ import annotations

import argparse
import itertools
import math
import statistics
import time
from collections.abc import Iterator
from typing import Any

from leastnoise.cost import absolute
from leastnoise.lattice.resolution import bins_for_divergence
from leastnoise.solver.optimum import RenyiOptimum, Status
from leastnoise.solver.problem import renyi_problem
from leastnoise.solver.renyi import solve

SIGMAS = (0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 4.0, 8.0, 20.0, 50.0, 100.0)
ORDERS = (1.0, 1.006, 1.5, 2.0, 4.0, 8.0, 18.0, 32.0, 64.0, 125.0, 300.0, 1000.0, math.inf)


def instances() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every instance of the grid as (family, arguments of renyi_problem)."""
    for sigma, order in itertools.product(SIGMAS, ORDERS):
        m = 10 if sigma <= 8 else 4
        yield "monotone, d = 1", {"sigma": sigma * m, "shift": m, "order": order}
        if sigma >= 0.3:
            yield (
                "monotone, integer",
                {"sigma": sigma * 5, "shift": 5, "order": order, "domain": "integer"},
            )
        if sigma <= 20:
            yield (
                "free, all shifts",
                {"sigma": sigma * m, "shift": m, "order": order, "monotone": False},
            )
    for sigma, order, d in itertools.product(
        (0.3, 1.0, 4.0, 8.0, 20.0),
        (1.0, 2.0, 8.0, 32.0, 125.0, 1000.0, math.inf),
        (2, 3, 10, 40, 100),
    ):
        yield f"monotone, d = {d}", {"sigma": sigma * 4, "shift": 4, "order": order, "dimension": d}
    for sigma, order in itertools.product((0.3, 1.0, 8.0, 50.0), (1.0, 2.0, 18.0, 125.0, 1000.0)):
        yield (
            "monotone, |z|",
            {
                "budget": sigma * 8 * math.sqrt(2 / math.pi),
                "shift": 8,
                "order": order,
                "cost": absolute(),
            },
        )


def timed(**arguments: Any) -> tuple[RenyiOptimum, float]:
    """The optimum and the seconds it took, building the problem included."""
    begin = time.perf_counter()
    optimum = solve(renyi_problem(**arguments))
    return optimum, time.perf_counter() - begin


def grid(every: int) -> None:
    families: dict[str, list[tuple[RenyiOptimum, float]]] = {}
    misses = []
    for family, arguments in itertools.islice(instances(), 0, None, every):
        optimum, seconds = timed(**arguments)
        families.setdefault(family, []).append((optimum, seconds))
        if optimum.status is not Status.OPTIMAL:
            misses.append((family, arguments, optimum, seconds))
    print(
        f"{'family':20} {'solved':>9} {'median ms':>10} {'worst ms':>9} {'worst gap':>10} "
        f"{'iterations':>10}"
    )
    for family, results in sorted(families.items()):
        good = sum(optimum.gap <= 1e-8 for optimum, _ in results)
        times = [1e3 * seconds for _, seconds in results]
        worst = max(optimum.gap for optimum, _ in results)
        steps = statistics.median(optimum.iterations for optimum, _ in results)
        print(
            f"{family:20} {good:4d}/{len(results):<4d} {statistics.median(times):10.1f} "
            f"{max(times):9.1f}"
            f" {worst:10.1e} {steps:10.0f}"
        )
    total = sum(map(len, families.values()))
    print(
        f"{total} instances; above 1e-9: {len(misses)}; above 1e-8: "
        f"{sum(miss[2].gap > 1e-8 for miss in misses)}"
    )
    for family, arguments, optimum, seconds in misses:
        shown = {k: v for k, v in arguments.items() if k not in ("monotone", "dimension", "cost")}
        print(
            f"  {family:20} {shown}: gap {optimum.gap:.1e}, {optimum.iterations} steps, "
            f"{1e3 * seconds:.0f} ms,"
            f" {optimum.status.name}"
        )


def growth() -> None:
    print("\ntime against N and m (monotone, α = 18): median of 5, problem set-up included")
    print(f"{'sigma/s':>8} {'m':>4} {'d':>4} {'N':>6} {'ms':>8} {'steps':>6}")
    for sigma, m, d in [
        (8, 2, 1),
        (8, 4, 1),
        (8, 10, 1),
        (8, 20, 1),
        (8, 40, 1),
        (1, 10, 1),
        (4, 10, 1),
        (30, 10, 1),
        (100, 4, 1),
    ] + [(8, m, d) for d in (10, 100) for m in (4, 10)]:
        runs = [timed(sigma=sigma * m, shift=m, order=18.0, dimension=d) for _ in range(5)]
        ms = 1e3 * statistics.median(seconds for _, seconds in runs)
        print(
            f"{sigma:8g} {m:4d} {d:4d} {runs[0][0].problem.last:6d} {ms:8.1f} "
            f"{runs[0][0].iterations:6d}"
        )
    print("\nwhat bins cost: m of bins_for_divergence(σ/s, 1e-4) against 4m (α = 18, monotone)")
    for sigma in (0.5, 1.0, 2.0, 4.0, 8.0):
        m = bins_for_divergence(sigma)
        coarse, fine = (
            timed(sigma=sigma * k, shift=k, order=18.0)[0].divergence for k in (m, 4 * m)
        )
        print(f"  σ/s = {sigma:g}: m = {m}, excess {coarse / fine - 1:.1e}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    grid(7 if parser.parse_args().quick else 1)
    growth()
