"""Noise of the real line rounded to whole numbers, X = ⌊Z + ½⌋: its tail and quantiles from those
of Z, which is symmetric and has a density; and what joint laws that are rounded to a lattice check.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leastnoise.errors import (
    InvalidParameterError,
    one_of,
    positive,
    positive_integer,
    real_array,
)
from leastnoise.lattice.shells import Floats
from leastnoise.laws.base import probabilities

_HALVINGS = 110  # of the place of a quantile, which is found to the last digits


def check_joint(law: Any, if_one: str = "") -> None:
    """Checks and sets scale, step, dimension and domain of a new law for several answers; `if_one`
    is what to say to who asks for one answer."""
    object.__setattr__(law, "scale", positive("scale", law.scale))
    object.__setattr__(law, "step", positive("step", law.step))
    object.__setattr__(law, "dimension", positive_integer("dimension", law.dimension))
    object.__setattr__(law, "domain", one_of("domain", law.domain, ("real", "integer")))
    if law.dimension < 2:
        raise InvalidParameterError("dimension", law.dimension, f"to be at least 2{if_one}")
    if law.domain == "integer" and law.step != 1.0:
        raise InvalidParameterError("step", law.step, 'to be 1 for domain="integer"')


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


def halved_quantile(
    u: ArrayLike, upper: bool, farthest: float, ccdf: Callable[[Floats], Floats]
) -> Floats:
    """The quantiles of a symmetric law without a formula for them, by halving up to `farthest`."""
    u = probabilities("u", u)
    low = np.minimum(u, 1.0 - u)
    near, far = np.zeros(low.shape), np.full(low.shape, farthest)
    for _ in range(_HALVINGS):
        middle = 0.5 * (near + far)
        is_beyond = ccdf(middle) > low
        near, far = np.where(is_beyond, middle, near), np.where(is_beyond, far, middle)
    positive_side = (u < 0.5) if upper else (u > 0.5)
    far = np.where(low > 0.0, far, np.inf)
    return np.where(positive_side, far, np.where(u == 0.5, 0.0, -far))
