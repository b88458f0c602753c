"""Pairs of shells: how many lattice points lie on shell i around 0 and on shell j
around a shifted centre.

N_ij(v) = #{x ∈ Z^d : ‖x‖ = i, ‖x − v‖ = j} in the maximum norm. Rényi divergence,
privacy profile, gradient and Hessian of a radial law are all sums over these pairs; the
dimension and the shift enter nowhere else.

For the corner shift v = (m, …, m) the coordinates that satisfy |x_l| ≤ i and |x_l − m|
≤ j form one interval R, and a point is counted if some coordinate reaches the end of R
where |x_l| = i and some coordinate the end where |x_l − m| = j:

- |i − j| < m: R has S = i + j − m + 1 values, one end for i and the other for j: N =
  S^d − 2(S−1)^d + (S−2)^d, terms clipped at 0;
- |i − j| = m: R has S = 2·min(i, j) + 1 values and one end serves both: N = S^d − (S−1)^d.

The second difference cancels badly when S ≫ d. With w = 1/(S−1), c = (d/2)·log(1 − w²)
and g = d·artanh(w) it equals 2(S−1)^d [expm1(c)·cosh(g) + 2 sinh²(g/2)], which does not.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leastnoise.lattice.shells import Floats


@dataclass(frozen=True)
class Pairs:
    """Pairs of radii (i, j) that share lattice points, with the logarithm of how many."""

    i: NDArray[np.int64]
    j: NDArray[np.int64]
    log_count: Floats


def corner_pairs(dimension: int, shift: int, last: int) -> Pairs:
    """All pairs with i ≤ last and j ≤ last for the corner shift (m, …, m), m = `shift`;
    O(last) for d = 1, else O(last·m)."""
    if dimension == 1:
        x = np.arange(shift - last, last + 1)
        i, j = np.abs(x), np.abs(x - shift)
        return Pairs(i, j, np.zeros(x.size))
    offset = np.arange(-shift, shift + 1)
    i = np.repeat(np.arange(last + 1), offset.size)
    j = i + np.tile(offset, last + 1)
    keep = (j >= 0) & (j <= last) & (i + j >= shift)
    i, j = i[keep], j[keep]
    return Pairs(i, j, log_pair_count(dimension, shift, i, j))


def log_pair_count(
    dimension: int, shift: int, i: NDArray[np.int64], j: NDArray[np.int64]
) -> Floats:
    """log N_ij for the corner shift and d ≥ 2; every pair must have |i − j| ≤ m ≤ i + j."""
    log_count = np.empty(i.size)
    edge = np.abs(i - j) == shift
    log_count[edge] = log_one_end(dimension, 2.0 * np.minimum(i, j)[edge] + 1.0)
    side = (i + j - shift + 1)[~edge]
    if side.size and side.min() >= 1 and side.max() < side.size:
        # many pairs share a side: each is computed once
        log_count[~edge] = log_both_ends(dimension, np.arange(1.0, side.max() + 1.0))[side - 1]
    else:
        log_count[~edge] = log_both_ends(dimension, side.astype(np.float64))
    return log_count


def shifted_pairs(shift: tuple[int, ...], last: int) -> Pairs:
    """All pairs with i, j ≤ last for any shift vector, by exact integer counting.
    O(last²·d): for small lattices."""
    dimension = len(shift)
    if dimension == 1:
        return corner_pairs(1, abs(shift[0]), last)
    radius = np.arange(-1, last + 1, dtype=object)
    row, column = radius[:, None], radius[None, :]
    inside = np.ones((radius.size, radius.size), dtype=object)
    for v in shift:
        length = np.minimum(row, v + column) - np.maximum(-row, v - column) + 1
        inside = inside * np.maximum(length, 0)
    inside[0, :] = 0
    inside[:, 0] = 0
    count = inside[1:, 1:] - inside[:-1, 1:] - inside[1:, :-1] + inside[:-1, :-1]
    i, j = np.nonzero(count.astype(bool))
    return Pairs(i, j, np.log(count[i, j].astype(np.float64)))


def box_shifts(dimension: int, shift: int) -> Iterator[tuple[int, ...]]:
    """Every shift vector of the box |v_l| ≤ m up to signs and order, without 0: all
    that a radial law can tell apart."""
    shifts = itertools.combinations_with_replacement(range(shift + 1), dimension)
    return (v for v in shifts if any(v))


def log_one_end(dimension: int, side: Floats) -> Floats:
    """log(S^d − (S−1)^d)."""
    with np.errstate(divide="ignore"):  # S = 1: log1p(−1) = −inf, and the count is 1
        log_share = np.log(-np.expm1(dimension * np.log1p(-1.0 / side)))
    return np.asarray(dimension * np.log(side) + log_share, dtype=np.float64)


def log_both_ends(dimension: int, side: Floats) -> Floats:
    """log(S^d − 2(S−1)^d + (S−2)^d) for d ≥ 2, with (S−2)^d read as 0 for S = 1 (one point)."""
    result = np.zeros(side.size)
    two = side == 2.0
    result[two] = dimension * np.log(2.0) + np.log1p(-(2.0 ** (1.0 - dimension)))
    wide = side > 2.0
    middle = side[wide] - 1.0
    w = 1.0 / middle
    c = 0.5 * dimension * np.log1p(-w * w)
    g = dimension * np.arctanh(w)
    # Scaled by e^(−g) so that cosh does not overflow for d ≫ S.
    cosh, sinh_half = 0.5 * (1.0 + np.exp(-2.0 * g)), -0.5 * np.expm1(-g)
    bracket = np.expm1(c) * cosh + 2.0 * sinh_half**2
    # where the bracket cancels, the other form is taken
    with np.errstate(divide="ignore"):
        smooth = np.log(2.0) + dimension * np.log(middle) + g + np.log(np.maximum(bracket, 0.0))
    # For d ≫ S the first term dominates and the plain form is the stable one.
    one_less = np.exp(dimension * np.log1p(-1.0 / side[wide]))
    two_less = np.exp(dimension * np.log1p(-2.0 / side[wide]))
    few = one_less < 0.3
    plain = dimension * np.log(side[wide]) + np.log1p(np.where(few, two_less - 2.0 * one_less, 0.0))
    result[wide] = np.where(few, plain, smooth)
    return result
