"""Points y of {1, 2, …}^a with g(y) = max(max y, ⌈Σy/k⌉): how many have g(y) = p, and sums of their
entries, in exact integers.

**Small p.** T_m(s) = #{y ∈ {1, …, p}^m: Σy ≤ s} is a window sum, T_{m+1}(s) = T_m(s−1) + … +
T_m(s−p): prefix sums of whole numbers. g(y) ≤ p says that y is in {1, …, p}^a with Σy ≤ kp, so
their number is T_a(kp), Σy_1² over them Σ_v v²·T_{a−1}(kp − v), and alike for y_1 and y_1·y_2.

**Any p.** By inclusion and exclusion T_m(s) = Σ_i (−1)^i C(m, i)·C(s − ip, m) over i ≤ s/p. With s
= kp − v, 1 ≤ v ≤ p, these are the i < k whatever p and v are, and with s = kp − v − w the i < k −
1, and i = k − 1 where v + w ≤ p. So the sums above are polynomials in p for p ≥ 0, of degree a, a +
1 and a + 2, that vanish at 0; those over g(y) = p are polynomials for p ≥ 1, of one degree less;
and Σ_{p=1}^{t−1} of a product of two of them at p and t − p is one in t ≥ 1, whose degree is the
sum of theirs and 1. So the counts of a shell of d answers are a polynomial of degree d − 1 in t ≥
1, those of squares and products of degree d + 1, and d + 2 values, continued by their differences,
give all.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from leastnoise.errors import InvalidParameterError, positive_integer
from leastnoise.lattice.bodies.base import Body
from leastnoise.lattice.bodies.range import several_answers
from leastnoise.lattice.shells import Floats

_MOST_WORK = 2_000_000_000  # additions for the law of one coordinate: ten seconds
_MOST_TABLE = 60_000_000  # d³k: the first shells of 100 answers with k = 50 take 8 seconds


@dataclass(frozen=True)
class CappedSums:
    """Sums over the y of {1, 2, …}^a with g(y) = p, by [a][p], a = 0 … d and p = 0 … d + 2."""

    counts: list[list[int]]
    firsts: list[list[int]]  # of y_1
    squares: list[list[int]]  # of y_1²
    products: list[list[int]]  # of y_1·y_2


@lru_cache(maxsize=8)
def capped_sums(dimension: int, k: int) -> CappedSums:
    """The sums for the shells from which all others follow."""
    sums = [[[0] * (dimension + 3) for _ in range(dimension + 1)] for _ in range(4)]
    sums[0][0] = [1] * (dimension + 3)
    for p in range(1, dimension + 3):
        rows = _rows(p, k, dimension)
        for a in range(1, dimension + 1):
            for kind, value in enumerate(_ball_sums(rows, a, p, k)):
                sums[kind][a][p] = value
    return CappedSums(*([_differences(row) for row in of_kind] for of_kind in sums))


def ways(entries: int, p: int, most: int) -> int:
    """#{y ∈ {1, …, p}^entries: Σy ≤ most}."""
    if most < entries:
        return 1 if entries == 0 and most >= 0 else 0
    if most >= entries * p:
        return int(p**entries)
    signs = itertools.cycle((1, -1))
    places = range(min(entries, most // p) + 1)
    return sum(
        sign * math.comb(entries, i) * math.comb(most - i * p, entries)
        for i, sign in zip(places, signs, strict=False)
    )


def ways_up_to(first: int, entries: int, p: int, most: int) -> int:
    """#{y ∈ {1, …, p}^(entries + 1): y_1 ≤ first, Σy ≤ most}, first ≤ p."""
    m = entries
    if most < m + 1:
        return 0
    if most >= m * p + first:
        return int(first * p**m)
    signs = itertools.cycle((1, -1))
    places = range(min(m, most // p) + 1)
    return sum(
        sign
        * math.comb(m, i)
        * (math.comb(most - i * p, m + 1) - math.comb(max(most - i * p - first, 0), m + 1))
        for i, sign in zip(places, signs, strict=False)
    )


def continued(values: Sequence[int], size: int) -> list[int]:
    """The first `size` of a sequence that is a polynomial in its place from 1 on, of which the
    values at 1 … len − 1 are enough."""
    found = list(values[:size])
    differences, row = [], list(values[1:])
    while row:
        differences.append(row[-1])
        row = [after - before for before, after in itertools.pairwise(row)]
    while len(found) < size:
        # the next value of each difference, the highest of which does not change
        for order in range(len(differences) - 2, -1, -1):
            differences[order] += differences[order + 1]
        found.append(differences[0])
    return found


def convolved(one: Sequence[int], other: Sequence[int]) -> list[int]:
    """Σ_p one[p]·other[t − p] for each t, as far as the shorter goes."""
    size = min(len(one), len(other))
    return [sum(one[p] * other[t - p] for p in range(t + 1)) for t in range(size)]


def capped_answers(dimension: int, touched: int) -> tuple[int, int]:
    """Dimension and k of a body, checked."""
    d, k = several_answers(dimension), positive_integer("touched", touched)
    if k > d:
        raise InvalidParameterError("touched", k, f"to be at most the {d} answers")
    if d**3 * k > _MOST_TABLE:
        raise InvalidParameterError(
            "dimension", d, f"to be smaller for touched={k}: d³·touched is at most {_MOST_TABLE}"
        )
    return d, k


def log_counts(body: Body, k: ArrayLike) -> Floats:
    """log n_k of a body, from its exact counts."""
    radii = np.asarray(k, dtype=np.int64)
    return _logs(body, whole_power(int(radii.max(initial=0)) + 1))[radii]


@lru_cache(maxsize=32)
def _logs(body: Body, size: int) -> Floats:
    return np.array([math.log(count) for count in body.shell_counts(size)])


def whole_power(size: int) -> int:
    """The next power of two: what is kept for one size serves the others."""
    return 1 << (size - 1).bit_length()


def shares_below(p: int, k: int, step: Callable[[Floats], Floats], steps: int) -> list[Floats]:
    """P(Σ ≤ kp − a), a = 0 … p, for the sums of 0 … `steps` independent entries, `step` giving the
    distribution of a sum and one entry more from that of the sum.

    Sums of windows of a function that does not fall: a window is at least a k-th part of the
    prefix sum that it is a difference of, so each step loses at most k roundings.
    """
    below = np.ones(k * p + 1)
    found = [below[k * p - np.arange(p + 1)]]
    for _ in range(steps):
        below = step(below)
        found.append(below[k * p - np.arange(p + 1)])
    return found


def window_sum(below: Floats, p: int) -> Floats:
    """below[s−1] + … + below[s−p] for each s, with 0 before the first."""
    prefix = np.concatenate([[0.0], np.cumsum(below)])
    s = np.arange(below.size)
    return np.asarray(prefix[s] - prefix[np.maximum(s - p, 0)], dtype=np.float64)


def affordable(dimension: int, k: int, last: int) -> None:
    """Refuse a law whose coordinates would take too long."""
    if dimension * k * last * last > 2 * _MOST_WORK:
        raise InvalidParameterError(
            "shells", last, "to be fewer for this body; take wider noise from correlated or sphere"
        )


def _rows(p: int, k: int, most: int) -> list[list[int]]:
    """T_m(s) by [m][s], m = 0 … most, s = 0 … kp."""
    rows = [[1] * (k * p + 1)]
    for _ in range(most):
        prefix = [0, *itertools.accumulate(rows[-1][:-1])]
        rows.append([*prefix[:p], *map(operator.sub, prefix[p:], prefix)])
    return rows


def _ball_sums(rows: list[list[int]], a: int, p: int, k: int) -> tuple[int, int, int, int]:
    """Over g(y) ≤ p: how many, and Σy_1, Σy_1², Σy_1·y_2."""
    top, fewer = k * p, rows[a - 1]
    ends = [(v, fewer[top - v]) for v in range(1, min(p, top) + 1)]
    first = sum(v * count for v, count in ends)
    square = sum(v * v * count for v, count in ends)
    product = 0
    if a >= 2:
        inner = rows[a - 2]
        # v + w = z: Σ v·w over 1 ≤ v, w ≤ p
        product = sum(_split(z, p) * inner[top - z] for z in range(2, min(2 * p, top) + 1))
    return rows[a][top], first, square, product


def _split(z: int, p: int) -> int:
    """Σ v·(z − v) over v from max(1, z − p) to min(p, z − 1)."""
    low, high = max(1, z - p), min(p, z - 1)
    line = (high * (high + 1) - low * (low - 1)) // 2
    square = (high * (high + 1) * (2 * high + 1) - (low - 1) * low * (2 * low - 1)) // 6
    return z * line - square


def _differences(values: list[int]) -> list[int]:
    return [values[0], *(after - before for before, after in itertools.pairwise(values))]
