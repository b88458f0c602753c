"""Shells of the integer lattice Z^d: how many points each holds and how a coordinate is
spread over one.

Shell k is the set of points with max_l |x_l| = k. Everything is computed as logarithms
or as ratios, so that d = 1,000 does not overflow. Together with `overlap` this is the
only place that knows the dimension.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leastnoise.errors import InvalidParameterError

Floats = NDArray[np.float64]
LogCount = Callable[[ArrayLike], Floats]

# a summed tail stops when its proven remainder is below this share of the sum
_LAST_TERM = 1e-20
_MOST_TERMS = 20_000_000


def log_shell_count(dimension: int, k: ArrayLike) -> Floats:
    """log n_k, n_k = (2k+1)^d − (2k−1)^d and n_0 = 1."""
    k = np.asarray(k, dtype=np.float64)
    side = 2.0 * np.maximum(k, 1.0) + 1.0
    inner = -np.expm1(dimension * np.log1p(-2.0 / side))
    return np.where(k == 0, 0.0, dimension * np.log(side) + np.log(inner))


def face_share(dimension: int, k: ArrayLike) -> Floats:
    """Probability that one given coordinate of a uniform point of shell k is at
    distance exactly k: 2(2k+1)^(d−1)/n_k.

    The rest is spread evenly over the 2k−1 values of smaller size.
    """
    k = np.asarray(k, dtype=np.float64)
    if dimension == 1:
        return np.ones_like(k)
    side = 2.0 * np.maximum(k, 1.0) + 1.0
    return np.where(k == 0, 1.0, 2.0 / (side * -np.expm1(dimension * np.log1p(-2.0 / side))))


def geometric_tail(
    dimension: int, last: int, ratio: float, growth: float = 0.0, log_count: LogCount | None = None
) -> tuple[NDArray[np.int64], Floats]:
    """Radii k = last+1, …, K and weights n_k ratio^(k−last)/n_last: the shells of a
    geometric tail relative to shell `last`.

    K is such that Σ_{k>K} weight_k·k^growth is proven to be below 1e-20 of the sum up
    to K: consecutive terms have the ratio ratio·(n_{k+1}/n_k)·((k+1)/k)^growth, which
    falls in k, so once it is ρ < 1 the rest is at most term·ρ/(1−ρ). `log_count` gives log n_k of
    another body than the cube.
    """
    power = dimension - 1 + growth
    count = math.ceil((50.0 + 2.0 * power) / -math.log(ratio)) + 2
    while count <= _MOST_TERMS:
        radii = np.arange(last + 1, last + 1 + count)
        weights = tail_weights(dimension, last, ratio, radii, log_count)
        terms = weights * (radii / radii[-1]) ** growth  # scaled: 1e6^80 overflows
        rho = float(terms[-1] / terms[-2]) if terms[-1] > 0 else ratio
        if rho < 1 and terms[-1] * rho <= _LAST_TERM * (1 - rho) * float(np.sum(terms)):
            return radii, weights
        count *= 2
    raise InvalidParameterError(
        "tail_ratio", ratio, f"to give a tail of at most {_MOST_TERMS} shells"
    )


def tail_weights(
    dimension: int,
    last: int,
    ratio: float,
    radii: NDArray[np.int64],
    log_count: LogCount | None = None,
) -> Floats:
    """n_k ratio^(k−last)/n_last for the given radii k > last."""
    exponent = (radii - last) * math.log(ratio)
    if log_count is not None:
        exponent = exponent + log_count(radii) - log_count(np.array(last))
    elif dimension > 1 or last == 0:
        exponent = exponent + log_shell_count(dimension, radii) - log_shell_count(dimension, last)
    if exponent.size and exponent.max() > 600.0:
        raise InvalidParameterError(
            "tail_ratio", ratio, f"to start where the shells' masses fall, not at shell {last}"
        )
    return np.asarray(np.exp(exponent), dtype=np.float64)


def falls(masses: Floats, log_counts: Floats) -> Floats:
    """log(h_t − h_{t+1}) of a law with these masses; −inf where h would rise, at inner shells too
    light to be stored."""
    with np.errstate(divide="ignore"):
        log_h = np.append(np.log(masses) - log_counts, -np.inf)
        fall = np.where(np.isfinite(log_h[:-1]), log_h[1:] - np.maximum(log_h[:-1], -1e300), 0.0)
        return np.asarray(log_h[:-1] + np.log(-np.expm1(np.minimum(fall, 0.0))))
