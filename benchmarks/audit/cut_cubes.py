"""The cut cube e^(−max(‖z‖_∞, ‖z‖₂/√C)/b) at the corner of its changes, λ = s/b, by other means.

C = 1 is the sphere law (`oracles.Sphere`). For other C and ε ≥ λ, δ = E_ρ[A(ρ)]/P, ρ of the law
Gamma(d + 1), with

    A(ρ) = (1/4π²) ∬ φ^d e^(−z₁α − z₂C) / (z₁(z₁β − z₂)) dk,
    P    = (1/2π) ∫ φ(0, z)^d e^(−zC)/(−z) dk,

φ(z₁, z₂) = ½∫ e^(z₁u + z₂u²) du: Fourier's inversion on a plain grid in double precision, made
again on a coarser one. Where the two differ by more than 1e-7 of δ nothing is said; the radius is
1e-6.
"""

from __future__ import annotations

import math

import numpy as np
from flint import arb
from numpy.typing import NDArray
from scipy import optimize

from benchmarks.audit.tally import BeyondTheOracleError

Floats = NDArray[np.float64]

_TRUST = 1e-6
_AGREED = 1e-7  # of δ, between two grids
_U, _W = np.polynomial.legendre.leggauss(500)
_X, _WEIGHTS = np.polynomial.legendre.leggauss(160)
_FARTHEST = (150.0, 60.0)  # frequencies: φ^36 is below 1e-14 of its largest value beyond
_PERIODS = (42.0, 34.0)  # of S₁ and S₂
_COARSER = 1.15
_DEVIATIONS = 11.0  # of log ρ


def between(dimension: int, square: float, ratio: float, epsilon: float) -> arb:
    """δ(ε) for ε ≥ λ, and for 36 answers and more."""
    if epsilon < ratio or dimension < 36:
        raise BeyondTheOracleError("Only the ball part of many answers is computed here.")
    found = [_delta(dimension, square, ratio, epsilon, wider) for wider in (1.0, _COARSER)]
    if not abs(found[0] - found[1]) < _AGREED * found[0]:
        raise BeyondTheOracleError("Two grids of frequencies differ.")
    return arb(found[0], _TRUST * found[0])


def _delta(d: int, square: float, ratio: float, epsilon: float, coarser: float) -> float:
    rho = 0.95 * d * np.exp(_DEVIATIONS / math.sqrt(d) * _X)
    log_density = d * np.log(rho) - rho - math.lgamma(d + 1.0)
    weight = _DEVIATIONS / math.sqrt(d) * _WEIGHTS * rho * np.exp(log_density)
    alpha = (square * epsilon - (d * ratio**2 - square * epsilon**2) / (2.0 * rho)) / ratio
    beta = rho / (2.0 * ratio)
    middle = int(np.argmin(np.abs(rho - 0.95 * d)))
    theta = _tilt(d, square, float(alpha[middle]), float(beta[middle]))
    theta = theta[0], min(theta[1], 0.5 * theta[0] * float(beta.min()))
    h1, h2 = (coarser * 2.0 * math.pi / period for period in _PERIODS)
    k1 = h1 * np.arange(round(_FARTHEST[0] / h1) + 1)
    k2 = h2 * np.arange(-round(_FARTHEST[1] / h2), round(_FARTHEST[1] / h2) + 1)
    tilted = 0.5 * _W * np.exp(theta[0] * _U + theta[1] * _U**2)
    phi = (np.exp(1j * np.outer(k1, _U)) * tilted) @ np.exp(1j * np.outer(_U**2, k2))
    z1, z2 = (theta[0] + 1j * k1)[:, None], theta[1] + 1j * k2
    terms = np.exp(d * np.log(phi) - z2 * square) / z1
    terms[1:] *= 2.0  # k and −k are conjugate
    rows = np.flatnonzero(np.abs(terms).max(axis=1) > 1e-16 * np.abs(terms).max())
    terms, z1 = terms[rows], z1[rows]
    sums = np.array(
        [
            float(np.sum(np.exp(-z1 * a) * terms / (z1 * b - z2)).real)
            for a, b in zip(alpha, beta, strict=True)
        ]
    )
    above = np.clip(sums * h1 * h2 / (4.0 * math.pi**2) / _share(d, square), 0.0, 1.0)
    return float(np.sum(weight * above))


def _tilt(d: int, square: float, alpha: float, beta: float) -> tuple[float, float]:
    def level(place: Floats) -> float:
        t1, t2 = float(place[0]), float(place[1])
        if not (t1 > 0.0 and t1 * beta > t2 and t1 + abs(t2) < 100.0):
            return math.inf
        log_phi = math.log(0.5 * float(_W @ np.exp(t1 * _U + t2 * _U**2)))
        return d * log_phi - t1 * alpha - t2 * square - math.log(t1 * (t1 * beta - t2))

    found = optimize.minimize(level, np.array([0.5, -0.1]), method="Nelder-Mead")
    return float(found.x[0]), float(found.x[1])


def _share(d: int, square: float) -> float:
    """P."""
    theta, h = -2.0, 2.0 * math.pi / 60.0
    k = h * np.arange(round(400.0 / h) + 1)
    phi = (0.5 * _W * np.exp(theta * _U**2)) @ np.exp(1j * np.outer(_U**2, k))
    z = theta + 1j * k
    terms = (phi**d * np.exp(-z * square) / -z).real
    terms[1:] *= 2.0
    return float(np.sum(terms)) * h / (2.0 * math.pi)
