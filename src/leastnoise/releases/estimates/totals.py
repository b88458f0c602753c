"""Counts that add up: the groups of each grouping, all other keys among them, to that of all rows.

The released numbers are t for all rows and y_i for the cells of each grouping G, with noise of
standard deviations s and σ_i that is uncorrelated: draws are independent, and the answers of one
joint draw are symmetric in each sign. All groupings are solved at once: the least

    (T − t)²/s² + Σ_G Σ_{i∈G} (x_i − y_i)²/σ_i²      with Σ_{i∈G} x_i = T for every G, and x ≥ 0

For a given T each grouping has x_i = max(0, y_i + λ_G σ_i²), where λ_G rises with T, and the best T
has (T − t)/s² + Σ_G λ_G(T) = 0. Integers: T is rounded, the groupings are solved again for it, and
their cells rounded so that they keep their sum and are moved the least.

Without x ≥ 0, which only cuts off what cannot be, T is the mean of t and of the sums of the
groupings weighted by 1/s² and 1/V_G, V_G = Σ σ_i², and the variances are

    Var T = 1/(1/s² + Σ 1/V_G)      Var x_i = σ_i² − σ_i⁴/V_G + (σ_i²/V_G)² Var T
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Agreed:
    """A number of all rows and the cells of every grouping, with their standard deviations."""

    total: float
    total_std: float
    cells: tuple[Floats, ...]
    stds: tuple[Floats, ...]


def agreed(
    total: float,
    std: float,
    cells: Sequence[Floats],
    stds: Sequence[Floats],
    *,
    non_negative: bool,
    integer: bool,
) -> Agreed:
    """The least squares solution for one total and the cells of several groupings."""
    parts = [_part(y, sigma**2, non_negative) for y, sigma in zip(cells, stds, strict=True)]
    whole = _best_total(total, std, parts, non_negative)
    whole = float(math.floor(whole + 0.5)) if integer else whole
    found = [part(whole)[1] for part in parts]
    if integer:
        found = [_rounded(x, sigma**2, whole) for x, sigma in zip(found, stds, strict=True)]
    spreads = [float(np.sum(sigma**2)) for sigma in stds]
    variance = 1.0 / (1.0 / std**2 + sum(1.0 / spread for spread in spreads))
    after = [
        np.sqrt(sigma**2 - sigma**4 / spread + (sigma**2 / spread) ** 2 * variance)
        for sigma, spread in zip(stds, spreads, strict=True)
    ]
    return Agreed(whole, math.sqrt(variance), tuple(found), tuple(after))


_Part = Callable[[float], tuple[float, Floats]]  # T -> (λ_G, the cells)


def _part(y: Floats, variances: Floats, non_negative: bool) -> _Part:
    """One grouping for every T."""
    if not non_negative:
        spread, start = float(np.sum(variances)), float(np.sum(y))

        def plain(whole: float) -> tuple[float, Floats]:
            rate = (whole - start) / spread
            return rate, y + rate * variances

        return plain
    # Cells leave 0 one after the other as λ rises: in the order of y/σ², the k-th at λ = −y/σ².
    ratios = y / variances
    order = np.argsort(-ratios, kind="stable")
    sums, spreads = np.cumsum(y[order]), np.cumsum(variances[order])
    starts = sums - ratios[order] * spreads  # Σ x where the k-th cell leaves 0

    def clipped(whole: float) -> tuple[float, Floats]:
        k = max(int(np.searchsorted(starts, whole, side="right")) - 1, 0)
        rate = float((whole - sums[k]) / spreads[k])
        return rate, np.maximum(y + rate * variances, 0.0)

    return clipped


def _best_total(total: float, std: float, parts: Sequence[_Part], non_negative: bool) -> float:
    def slope(whole: float) -> float:
        return (whole - total) / std**2 + sum(part(whole)[0] for part in parts)

    reach = std + abs(total)
    low, high = -reach, reach
    while slope(high) < 0.0:
        high *= 2.0
    if non_negative:
        if slope(0.0) >= 0.0:
            return 0.0
        low = 0.0
    else:
        while slope(low) > 0.0:
            low *= 2.0
    return float(optimize.brentq(slope, low, high, xtol=1e-9 * reach, rtol=1e-14))


def _rounded(x: Floats, variances: Floats, whole: float) -> Floats:
    """Integers of the given sum: rounded up where it costs the least, (1 − 2·fraction)/σ² each."""
    floors = np.floor(x + 1e-9)
    missing = round(whole - float(np.sum(floors)))
    cost = (1.0 - 2.0 * (x - floors)) / variances
    up = np.argsort(cost, kind="stable")[: max(missing, 0)]
    floors[up] += 1.0
    return floors
