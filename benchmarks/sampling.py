"""How fast exact sampling is: `python -m benchmarks.sampling`.

Prints one table: nanoseconds a number against numpy's normal and, if it is installed (pip install
opendp), OpenDP's discrete Gaussian; then whether the time of a draw tells small values from large
ones.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable

import numpy as np
from scipy import stats

from leastnoise import cube, discrete_gaussian, generalized_gaussian
from leastnoise.artefact.exact import exact
from leastnoise.laws.lattice import LatticeNoise
from leastnoise.sampling import OperatingSystemEntropy, draw

N = 1_000_000
OPENDP_N = 20_000


def seconds(run: Callable[[], object], repeats: int = 5) -> float:
    """The best of a few runs."""
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return float(best)


def laws() -> dict[str, LatticeNoise]:
    return {
        "integers, 64 bits": exact(discrete_gaussian(8.0), delta=1e-6, compositions=10),
        "integers, 128 bits": exact(discrete_gaussian(8.0), delta=1e-20, compositions=10),
        "real line, 64 bits": exact(generalized_gaussian(8.0, 1.5), delta=1e-6, compositions=10),
        "batches of 10, integers": exact(cube(8.0, 10, domain="integer"), delta=1e-6),
        "batches of 10, real line": exact(cube(8.0, 10), delta=1e-6),
        "batches of 100, 128 bits": exact(cube(8.0, 100), delta=1e-12, bits=128),
    }


def opendp_gaussian() -> float | None:
    """Seconds a draw of OpenDP's discrete Gaussian, None if it is not installed."""
    try:
        import opendp.prelude as dp  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return None
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
    mechanism = dp.m.make_gaussian(*space, scale=8.0)
    zeros = [0] * OPENDP_N
    return seconds(lambda: mechanism(zeros), 3) / OPENDP_N


def throughput() -> None:
    generator = np.random.default_rng(1)
    normal = seconds(lambda: generator.normal(size=N)) / N
    print(f"{'numpy Generator.normal':28s} {1e9 * normal:9.1f} ns a number")
    opendp = opendp_gaussian()
    if opendp is None:
        print("OpenDP is not installed, so it is not compared (pip install opendp).")
    else:
        print(f"{'OpenDP discrete Gaussian':28s} {1e9 * opendp:9.1f} ns a number")
    for name, law in laws().items():
        size = N // law.dimension
        draw(law, 1)
        each = seconds(lambda law=law, size=size: law.sample(size)) / N  # type: ignore[misc]
        against = "" if opendp is None else f", {opendp / each:6.0f} times as fast as OpenDP"
        print(
            f"{name:28s} {1e9 * each:9.1f} ns a number, {each / normal:4.1f} times numpy's "
            f"normal{against}"
        )


def batches() -> None:
    law = laws()["batches of 10, real line"]
    tracemalloc.start()
    start = time.perf_counter()
    drawn = draw(law, 1_000_000)
    took = time.perf_counter() - start
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    beyond = (peak - drawn.integers.nbytes) / 1e6
    print(f"1,000,000 batches of 10: {took:.2f} s; memory beyond the result {beyond:.1f} MB")


def timing() -> None:
    """Draws one at a time: the time of those with small values against those with large ones."""
    for name in ("integers, 64 bits", "integers, 128 bits", "batches of 10, integers"):
        sampler, entropy = laws()[name].sampler(), OperatingSystemEntropy()
        times, sizes = np.empty(40_000), np.empty(40_000)
        for index in range(times.size):
            start = time.perf_counter_ns()
            drawn = sampler.integers((1,), entropy)
            times[index] = time.perf_counter_ns() - start
            sizes[index] = np.abs(drawn).max()
        large = sizes > np.median(sizes)
        p = stats.mannwhitneyu(times[large], times[~large]).pvalue
        low, high = np.median(times[~large]), np.median(times[large])
        verdict = "indistinguishable" if p > 1e-3 else "DIFFERENT"
        print(
            f"time of a draw, {name}: median {low:.0f} ns for small values, {high:.0f} ns for "
            f"large, p = {p:.2g}: {verdict}"
        )


def main() -> None:
    throughput()
    batches()
    timing()


if __name__ == "__main__":
    main()
