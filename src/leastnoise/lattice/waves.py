"""Characteristic functions of linear forms in the coordinates of a point of a cube, and of mixtures
of cubes: what the law of a form in several answers of one draw is made of.

The coordinates of a uniform point of a cube are independent, so with Σ c_i·x_i at the angle t

    n whole numbers about 0 each    Π_i sin(n·c_i t/2)/(n·sin(c_i t/2))
    a half-width R each             Π_i sin(R·c_i t)/(R·c_i t)

and a law of shells is a mixture of such cubes, given its radius.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from leastnoise.lattice.shells import Floats

_CHUNK = 1 << 19  # values at a time
_WHOLE = 1e-9  # a sine below this is that of a multiple of π
_LARGEST = 10_000  # of a coefficient, in units of the smallest
_CLOSE = 1e-10  # of the largest: what is so near to a whole multiple is one
_NOTHING = 1e-16  # of all probability
_MOST = 4_000  # cubes of a mixture


def mixed_waves(weights: Floats, counts: Floats, coefficients: Floats, t: Floats) -> Floats:
    """Σ_k weights_k Π_i sin(n c_i t/2)/(n sin(c_i t/2)), n = counts_k."""

    def factor(angle: Floats) -> Floats:
        half = np.remainder(0.5 * angle, 2.0 * np.pi)[:, None]
        below = np.sin(half)
        is_whole = np.abs(below) < _WHOLE
        limit = np.where(np.cos(half) > 0.0, 1.0, np.where(counts % 2.0 == 1.0, 1.0, -1.0))
        wave = np.sin(counts * half) / (counts * np.where(is_whole, 1.0, below))
        return np.where(is_whole, limit, wave)

    return _mixed(weights, coefficients, t, factor)


def mixed_sincs(weights: Floats, widths: Floats, coefficients: Floats, t: Floats) -> Floats:
    """Σ_k weights_k Π_i sin(R c_i t)/(R c_i t), R = widths_k."""

    def factor(angle: Floats) -> Floats:
        return np.sinc(angle[:, None] * (widths / np.pi))

    return _mixed(weights, coefficients, t, factor)


def of_bins(step: float, coefficients: Floats, t: Floats) -> Floats:
    """Of a place in a bin of this width for each answer: Π_i sin(c_i t·step/2)/(c_i t·step/2)."""
    one, half = np.ones(1), np.array([0.5 * step])
    return mixed_sincs(one, half, coefficients, t)


def of_masses(masses: Floats, unit: float, t: Floats) -> Floats:
    """Of a symmetric law: the probabilities of the sizes 0, unit, 2·unit, …"""
    places = unit * np.arange(masses.size)
    found = np.empty(t.size)
    rows = max(1, _CHUNK // masses.size)
    for at in range(0, t.size, rows):
        found[at : at + rows] = np.cos(t[at : at + rows, None] * places) @ masses
    return found


def of_pairs(masses: Floats, first: float, second: float, t: Floats) -> Floats:
    """Of first·x + second·y, (x, y) a pair of whole numbers whose law does not change when both
    signs do; masses[x, y] for x, y = −last … last."""
    last = masses.shape[0] // 2
    places = np.arange(-last, last + 1.0)
    found = np.empty(t.size)
    rows = max(1, _CHUNK // places.size)
    for at in range(0, t.size, rows):
        part = t[at : at + rows, None] * places
        one, other = np.exp(1j * first * part), np.exp(1j * second * part)
        found[at : at + rows] = np.sum((one @ masses) * other, axis=1).real
    return found


def whole_multiples(coefficients: Floats) -> tuple[Floats, float] | None:
    """The coefficients, none 0, as whole multiples of a unit, to the last digits; None where they
    are not."""
    unit = float(np.min(np.abs(coefficients)))
    for parts in range(1, 13):
        multiples = coefficients * (parts / unit)
        whole = np.rint(multiples)
        if np.abs(whole).max() > _LARGEST:
            return None
        if np.all(np.abs(multiples - whole) <= _CLOSE * np.max(np.abs(whole))):
            return np.asarray(whole, dtype=np.float64), unit / parts
    return None


def without_end(masses: Floats) -> Floats:
    """Shell masses without those at the end that hold nothing together."""
    beyond = np.cumsum(masses[::-1])[::-1]
    return masses[: int(np.count_nonzero(beyond > _NOTHING))]


def held(weights: Floats, sizes: Floats, *, whole: bool = False) -> tuple[Floats, Floats]:
    """The cubes of a mixture that hold any probability to speak of; of very many, neighbours are
    put together, as one of a size between theirs, a whole number where it must be."""
    kept = np.abs(weights) > _NOTHING * float(np.sum(np.abs(weights)))
    weights, sizes = weights[kept], sizes[kept]
    together = -(-weights.size // _MOST)
    if together == 1:
        return weights, sizes
    starts = np.arange(0, weights.size, together)
    sums = np.add.reduceat(weights, starts)
    squares = np.add.reduceat(weights * sizes**2, starts)
    kept = np.abs(sums) > _NOTHING
    between = np.sqrt(np.maximum(squares[kept] / sums[kept], 0.0))
    return sums[kept], np.rint(between) if whole else between


def _mixed(
    weights: Floats, coefficients: Floats, t: Floats, factor: Callable[[Floats], Floats]
) -> Floats:
    """Σ_k weights_k Π_i factor_k(c_i t): the factors are even, so equal sizes are one."""
    sizes, times = np.unique(np.abs(coefficients), return_counts=True)
    found = np.empty(t.size)
    rows = max(1, _CHUNK // weights.size)
    for at in range(0, t.size, rows):
        part = t[at : at + rows]
        product = np.ones((part.size, weights.size))
        for size, power in zip(sizes, times, strict=True):
            if size:
                product *= factor(size * part) ** int(power)
        found[at : at + rows] = product @ weights
    return found
