"""One answer of the sphere law: density, tail and quantiles of a symmetric variance-gamma law.

Z = b·√(χ²_{d+1})·G, G standard normal in R^d and χ² independent of it: the
characteristic function of G times √(χ²_{d+1}) is (1 + ‖t‖²)^(−(d+1)/2), and that is the
Fourier transform of e^(−‖z‖). So one answer has the symmetric variance-gamma law of
characteristic function (1 + b²t²)^(−(d+1)/2), density ∝ |x|^(d/2) K_{d/2}(|x|/b) and
variance (d+1)b². With F_d its tail beyond x ≥ 0, x in units of b, (1 + t²)·(1 + t²)^(−k)
= (1 + t²)^(−(k−1)) reads F_d(x) = F_{d−2}(x) − (density of d)'(x): positive terms only.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from leastnoise.lattice.shells import Floats


def log_gamma_ratio(nu: float) -> float:
    """log of the density at 0 in units of b: Γ(ν)/(2√π Γ(ν+½))."""
    ratio = float(special.gammaln(nu) - special.gammaln(nu + 0.5))
    return ratio - math.log(2.0 * math.sqrt(math.pi))


def log_bessels(dimension: int, x: Floats) -> tuple[Floats, Floats]:
    """log n_ν(x) for ν = d/2, n_ν = x^ν K_ν(x)/(2^(ν−1) Γ(ν)) (1 at x = 0), and log of
    the tail F_d(x).

    n_{ν+1} = n_ν + x² n_{ν−1}/(4ν(ν−1)) (DLMF 10.29.1) and F_{2ν} = F_{2ν−2} + x
    n_{ν−1} Γ(ν−1)/(4√π Γ(ν+½)): sums of positive terms, in logarithms because n_ν e^x
    leaves the floating-point range for d = 1,000.
    """
    with np.errstate(divide="ignore"):
        log_x = np.log(x)
    if dimension % 2:
        nu, before, now = 1.5, -x, np.log1p(x) - x  # n_½ = e^−x, n_{3/2} = (1 + x) e^−x
        # F_1 = e^−x/2, F_3 = F_1 + x e^−x/4
        tail = np.logaddexp(-x - math.log(2.0), log_x - x - math.log(4.0))
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            # n_1 = x K_1
            before = np.where(x > 0, log_x + np.log(special.k1e(x)) - x, 0.0)
            half = 0.5 * (np.log(special.k0e(np.maximum(x, 1e-300))) - x)
            zero = np.where(x > 0, 2.0 * log_x + 2.0 * half, -np.inf)  # x² K_0
        nu, now = 2.0, np.logaddexp(before, zero - math.log(2.0))
        # F_2 = (∫K_0 + x K_0)/π
        tail = np.logaddexp(_log_tail_of_k0(x), 0.5 * zero + half) - math.log(math.pi)
        if dimension == 2:
            return before, tail
        tail = np.logaddexp(tail, log_x + before + _log_share(2.0))
    while nu < 0.5 * dimension:
        tail = np.logaddexp(tail, log_x + now + _log_share(nu + 1.0))
        before, now = now, np.logaddexp(now, 2.0 * log_x + before - math.log(4.0 * nu * (nu - 1.0)))
        nu += 1.0
    return now, tail


def _log_share(nu: float) -> float:
    """log of Γ(ν−1)/(4√π Γ(ν+½))."""
    ratio = float(special.gammaln(nu - 1.0) - special.gammaln(nu + 0.5))
    return ratio - math.log(4.0 * math.sqrt(math.pi))


def _log_tail_of_k0(x: Floats) -> Floats:
    """log ∫_x^∞ K_0 = log ∫_0^∞ e^(−x cosh t)/cosh t dt, by the trapezoid rule.

    With step ¼ its error is about e^(−π²/h) = 7e-18; for large x the integrand is a
    bell of width 1/√x, and so is the step.
    """
    step = 0.0625 * np.sqrt(2.0 / np.maximum(x, 0.125))  # ¼ up to x = 1/8
    # cosh 40 = 1e17; the bell ends at t = 14/√x
    t = step[..., None] * np.arange(1, 161)
    terms = np.exp(-np.minimum(x[..., None] * 2.0 * np.sinh(0.5 * t) ** 2, 745.0)) / np.cosh(t)
    return np.asarray(np.log(step * (0.5 + terms.sum(axis=-1))) - x, dtype=np.float64)


def log_tail(dimension: int, x: Floats) -> Floats:
    """log P(one answer > x·b), x ≥ 0."""
    return np.asarray(np.minimum(log_bessels(dimension, x)[1], -math.log(2.0)), dtype=np.float64)


def place_of_tail(dimension: int, low: Floats) -> Floats:
    """x ≥ 0 with P(one answer > x·b) = low ≤ ½, by Newton's rule on the logarithm.

    One answer of a log-concave law has a log-concave tail (Prékopa). A tangent of a
    concave function lies above it, so each step from any x lands beyond the solution or
    on it, and from there the steps fall towards it.
    """
    target = np.log(low)
    x = np.full(low.shape, 1.0)
    for _ in range(100):
        log_n, log_tail = log_bessels(dimension, x)
        slope = -np.exp(log_n + log_gamma_ratio(0.5 * dimension) - log_tail)
        moved = np.maximum(x + (target - log_tail) / slope, 0.0)
        if np.all(np.abs(moved - x) <= 4e-16 * (1.0 + x)):
            break
        x = moved
    return np.where(low == 0.5, 0.0, moved)
