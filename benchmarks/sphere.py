"""The ball-shaped law beside the cube and the Gaussian: ε for one release (σ = 8, s = 1, δ = 1e-6),
time to judge, time to draw."""

from __future__ import annotations

import math
import time

DELTA = 1e-6
SIGMA = 8.0


def seconds(call, least: float = 0.2) -> float:
    """Seconds a call, by repetition."""
    call()
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < least:
        call()
        count += 1
    return (time.perf_counter() - start) / count


def main() -> None:
    from leastnoise import PrivacyLoss, cube, gaussian, sphere
    from leastnoise.sampling.sphere import RoundedVectors

    heads = (
        "Gaussian",
        "cube",
        "sphere",
        "1 rel. ms",
        "10 rel. ms",
        "gap at 10",
        "us a draw",
        "redrawn",
    )
    print(f"{'d':>5} " + " ".join(f"{head:>10}" for head in heads))
    for d in (2, 5, 10, 20, 40, 60, 100, 300, 1000):
        noise = sphere(SIGMA, d)
        normal = PrivacyLoss.of(gaussian(SIGMA), math.sqrt(d)).epsilon(DELTA)
        box = PrivacyLoss.of(cube(SIGMA, d)).epsilon(DELTA)
        ball = PrivacyLoss.of(noise).epsilon(DELTA)
        one = seconds(lambda noise=noise: PrivacyLoss.of(noise).epsilon(DELTA))
        ten = seconds(lambda noise=noise: PrivacyLoss.of(noise).compose(10).epsilon(DELTA))
        bounds = PrivacyLoss.of(noise).compose(10).epsilon_bounds(DELTA)
        draws = seconds(lambda noise=noise: noise.sample(1000)) / 1000
        again = 2.0 * RoundedVectors.of(noise.sampler()).window * d
        gap = 1 - bounds.lower / bounds.upper
        row = f"{d:5} {normal:10.5f} {box:10.5f} {ball:10.5f} {1e3 * one:10.1f} {1e3 * ten:10.1f}"
        print(row + f" {gap:10.1e} {1e6 * draws:10.1f} {again:10.1e}", flush=True)
