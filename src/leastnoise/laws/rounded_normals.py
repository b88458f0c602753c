"""Linear forms in joint noise that is rounded to whole numbers, X_i = ⌊Y_i + ½⌋, where Y is normal
but for a scale and a common part that are drawn first.

Y = s·w_i·(G_i + γ_i·G_0) with independent normal G: given s and G_0 the X_i are independent, each a
normal number of mean μ = s·w_i·γ_i·G_0 and deviation s·w_i that is rounded. With Poisson's formula

    E e^(iθX) = Σ_j e^(iμ(θ + 2πj)) e^(−(s w)²(θ + 2πj)²/2) sin(θ/2 + πj)/(θ/2 + πj)

and the characteristic function of a form is the mean of products of these over s and G_0: sums by
the trapezoidal rule, which of such smooth functions are exact to 1e-12. The sphere's s is b·√χ²
with d + 1 degrees of freedom; of normal noise it is one number.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

from leastnoise.lattice.shells import Floats

Complexes = NDArray[np.complex128]
_STEP = 0.125  # of log χ²
_COMMON = 0.25 * np.arange(35.0)  # places of G_0; those of the other sign are their mirror
_FAINT = 1e-13  # of a characteristic function
_RARE = 1e-17  # of a place of s
_NARROW = 0.7  # deviation below which whole numbers are listed
_ALIASES = (-2, -1, 0, 1, 2)  # j beyond which nothing is left: e^(−(0.7·5π)²/2) = 6e-27
_CHUNK = 1 << 16  # places of t with all s and G_0, at a time


def chi_scales(freedom: int) -> tuple[Floats, Floats]:
    """Places of √χ² and their weights, which add up to 1."""
    half = 0.5 * freedom
    x = np.arange(-400, 401) * _STEP + math.log(half)
    weights = np.exp(half * x - np.exp(x) - float(special.gammaln(half))) * _STEP
    kept = weights > _RARE
    return np.sqrt(2.0 * np.exp(x[kept])), weights[kept] / np.sum(weights[kept])


def characteristic(
    scales: Floats,
    weights: Floats,
    coefficients: Floats,
    widths: Floats,
    ties: Floats,
    t: Floats,
) -> Floats:
    """E cos(t·Σ c_i·X_i), with the places `scales` of s and what they weigh."""
    kinds = np.stack([coefficients, widths, ties], axis=1)[coefficients != 0.0]
    kinds, times = np.unique(kinds, axis=0, return_counts=True)
    least = float(scales[0])
    size = np.ones(t.size)
    for (c, width, _), power in zip(kinds, times, strict=True):
        size *= np.minimum(_largest(least * width, c * t), 1.0) ** int(power)
    kept = np.flatnonzero(size > _FAINT)
    common = _COMMON if np.any(kinds[:, 2]) else _COMMON[:1]
    shares = np.exp(-0.5 * common**2) * np.where(common > 0.0, 2.0, 1.0)
    shares /= np.sum(shares)
    found = np.zeros(t.size)
    rows = max(1, _CHUNK // common.size)
    for at in range(0, kept.size, rows):
        own = kept[at : at + rows]
        for s, weight in zip(scales, weights, strict=True):
            product = np.ones((own.size, common.size), dtype=np.complex128)
            for (c, width, tie), power in zip(kinds, times, strict=True):
                mean = s * width * tie * common
                product *= _rounded(s * width, mean, c * t[own]) ** int(power)
            found[own] += weight * (product.real @ shares)
    return found


def _near(angle: Floats) -> Floats:
    return np.remainder(angle + np.pi, 2.0 * np.pi) - np.pi


def _largest(deviation: float, angle: Floats) -> Floats:
    """No rounded normal number of a deviation as large has more, whatever its mean."""
    if deviation < _NARROW:
        return np.ones(angle.size)
    near = _near(angle)
    each = (np.exp(-0.5 * (deviation * (near + 2.0 * np.pi * j)) ** 2) for j in _ALIASES)
    return np.asarray(sum(each, np.zeros(angle.size)), dtype=np.float64)


def _rounded(deviation: float, mean: Floats, angle: Floats) -> Complexes:
    """E e^(iθX) for each angle and mean: by Poisson's formula, or, of few whole numbers, from
    their probabilities."""
    found = np.zeros((angle.size, mean.size), dtype=np.complex128)
    if deviation < _NARROW:
        far = math.ceil(float(np.max(mean)) + 9.0 * deviation + 1.0)
        for k in range(-far, far + 1):
            above, below = (special.ndtr((k + end - mean) / deviation) for end in (0.5, -0.5))
            found += np.exp(1j * k * angle)[:, None] * (above - below)
        return found
    near = _near(angle)
    for j in _ALIASES:
        place = near + 2.0 * np.pi * j
        height = np.exp(-0.5 * (deviation * place) ** 2) * np.sinc(place / (2.0 * np.pi))
        found += height[:, None] * np.exp(1j * place[:, None] * mean)
    return found
