"""Noise of the real line rounded to whole numbers, X = ⌊Z + ½⌋: its tail and quantiles from those
of Z, which is symmetric and has a density."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leastnoise.errors import real_array
from leastnoise.lattice.shells import Floats


def middle_above(x: ArrayLike) -> Floats:
    """X > x exactly where Z > this."""
    return np.asarray(np.floor(real_array("x", x)) + 0.5, dtype=np.float64)


def whole_quantile(
    size: Floats, low: Floats, up: NDArray[np.bool_], ccdf: Callable[[Floats], Floats]
) -> Floats:
    """The quantiles of X where |Z| has the quantile `size` of the upper tail `low`, on the side
    `up` or below: smallest k with P(X > k) ≤ low, and largest with P(X ≥ k) ≥ low. The
    probabilities decide what rounding may miss."""
    above, below = np.maximum(np.ceil(size - 0.5), 0.0), np.floor(size + 0.5)
    above = np.where(ccdf(above) > low, above + 1.0, above)
    above = np.where((above > 0.0) & (ccdf(above - 1.0) <= low), above - 1.0, above)
    below = np.where(ccdf(below - 1.0) < low, below - 1.0, below)
    below = np.where(ccdf(below) >= low, below + 1.0, below)
    return np.where(up, above, -below)
