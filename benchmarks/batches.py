"""Answers released together: ε at equal noise, and variance at ε = 1, for one release of d answers
(σ = 8, s = 1, δ = 1e-6)."""

from __future__ import annotations

import math
import time

from leastnoise import PrivacyLoss, cube, design, gaussian, sphere
from leastnoise.designer.calibrate import least_sigma

DELTA, SIGMA = 1e-6, 8.0
SIZES = (2, 5, 10, 20, 40, 60, 100)


def main() -> None:
    print(
        f"{'answers':>7} | {'Gaussian':>9} {'product':>9} {'cube':>9} {'sphere':>9} {'ours':>9} "
        f"{'law':>22} {'seconds':>8} | "
        f"variance per answer at epsilon = 1: {'Gaussian':>9} {'ours':>9} {'ratio':>6}"
    )
    for d in SIZES:
        start = time.perf_counter()
        best = design(delta=DELTA, sigma=SIGMA, batch=d)
        seconds = time.perf_counter() - start
        body = PrivacyLoss.of(cube(SIGMA, d), 1.0).epsilon(DELTA)
        ball = PrivacyLoss.of(sphere(SIGMA, d), 1.0).epsilon(DELTA)
        at_one = design(delta=DELTA, epsilon=1.0, batch=d)
        needed = least_sigma(
            gaussian,
            1.0,
            (at_one.sigma, 20.0 * at_one.sigma),
            sensitivity=1.0,
            delta=DELTA,
            draws=d,
        )
        plain = needed or math.nan
        law = f"{best.origin} x {-(-d // best.noise.dimension)}"
        ratio = plain**2 / at_one.sigma**2
        product = design(
            delta=DELTA, sigma=SIGMA, compositions=d
        ).epsilon  # the paper's way: independent noise on each answer
        print(
            f"{d:>7} | {best.rivals['Gaussian']:9.4f} {product:9.4f} {body:9.4f} {ball:9.4f} "
            f"{best.epsilon:9.4f} {law:>22} "
            f"{seconds:8.2f} | {'':>34} {plain**2:9.1f} {at_one.sigma**2:9.1f} {ratio:6.2f}",
            flush=True,
        )
