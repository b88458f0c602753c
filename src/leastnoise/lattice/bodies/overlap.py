"""Pairs of shells of the range norm: how many points lie on shell i around 0 and on shell j around
a one-sided shift, in exact integers.

**Counting.** Let v be m on σ coordinates and 0 on the others, n = d + 1, and lift x to y ∈ Z^n up
to a common constant (y_0 with the zeros of v). I_ij(b) = #([0, i] ∩ [b, b + j]) is a trapezoid in
b, and

    O_ij = Σ_b I(b + m)^σ · I(b)^(n−σ)

counts the y that lie in a window [0, i] while y − v lies in a window [−b, j − b]: each y as often
as there are such pairs of windows, up to the common constant. Windows of length i that hold the
entries of y, less those of length i − 1, number 1 if the range of y is at most i and else 0. So

    C_ij = #{r(x) ≤ i, r(x − v) ≤ j} = O_ij − O_{i−1,j} − O_{i,j−1} + O_{i−1,j−1},

and N_ij = #{r(x) = i, r(x − v) = j} is the same difference of C. All are symmetric in i and j
(x ↦ v − x), and C_ij = #{r ≤ i} for j ≥ i + m. N is about (ε/m)⁴ of the O that it is a difference
of, so all this is in whole numbers.

**Work.** For j = i + e, 0 ≤ e ≤ m, both factors of a term rise for b ≤ −e − m and fall for b ≥ 0:
there the terms are those of Σ_u u^(n−σ)(u + m)^σ and of Σ_u u^σ(u + m)^(n−σ), u = 1 … i + 1 − m,
whatever e is; in between are e + m − 1 terms. So all O with i ≤ N take O(N·m²) products.

**The worst shift.** Of all one-sided shifts of up to m steps some m·1_S has the least C_ij
(docs/mathematics.md#the-worst-one-sided-shift), and by symmetry σ and n − σ agree. That σ = ⌊n/2⌋
(or `touched`, where that is less) has the least C_ij of all σ is checked for every pair in use:
`centre_is_worst`.
"""

from __future__ import annotations

import itertools
import math
from functools import lru_cache

import numpy as np

from leastnoise.errors import AccountingError
from leastnoise.lattice.overlap import Pairs

_MOST_WORK = 40_000_000  # products of a check of all shifts: half a minute for 100 answers
_POWERS = 20  # products that the powers of one shell and shift are worth
_PLAIN = 2000  # bits of a number, up to which a product is as good as free
_BLOCK = 256  # shells: counts are kept for the next whole number of so many


def one_sided_pairs(dimension: int, shift: int, moved: int, last: int) -> Pairs:
    """All pairs of shells with i, j ≤ last, for a shift of m steps in `moved` coordinates."""
    rows: list[list[tuple[int, int, float]]] = [[] for _ in range(last + 1)]
    for e, counts in enumerate(_pair_counts(dimension, shift, moved, _whole_blocks(last))):
        for i, count in enumerate(counts[: last + 1 - e]):
            if count:
                log_count = math.log(count)
                rows[i].append((i, i + e, log_count))
                if e:
                    rows[i + e].append((i + e, i, log_count))
    listed = [pair for row in rows for pair in row]
    here, there, counted = zip(*listed, strict=True)
    return Pairs(np.array(here), np.array(there), np.array(counted))


def worst_moved(dimension: int, touched: int) -> int:
    """How many coordinates the worst shift moves, where `touched` may be."""
    return min(touched, (dimension + 1) // 2)


def centre_is_worst(dimension: int, shift: int, touched: int, last: int) -> bool:
    """Whether C_ij of the worst shift is the least of all m·1_S with |S| ≤ touched, for all i ≤
    last and |i − j| < m: beyond, C_ij is the same for all."""
    return _is_least(dimension, shift, worst_moved(dimension, touched), _whole_blocks(last))


def shared(dimension: int, shift: int, moved: int, last: int) -> list[list[int]]:
    """C_ij with j = i + e by [e][i], e = 0 … m + 1, i = 0 … last."""
    n = dimension + 1
    windows = _windows(n, shift, moved, last)
    ball = [(i + 1) ** n - i**n for i in range(last + 1)]
    rows = []
    for e in range(shift):
        rows.append(_mixed(windows[e], windows[e + 1], windows[abs(e - 1)], e))
    return [*rows, ball, ball]


def _mixed(here: list[int], wider: list[int], narrower: list[int], e: int) -> list[int]:
    """The mixed difference of f_ij along j = i + e, from f along e, e + 1 and |e − 1|: for e = 0
    f_{i,i−1} = f_{i−1,i}."""
    less = [0, *narrower[:-1]] if e == 0 else narrower
    first = here[0] - less[0]
    steps = zip(here[1:], less[1:], wider, here, strict=False)
    return [first, *(at - lower - left + corner for at, lower, left, corner in steps)]


def _windows(n: int, m: int, moved: int, last: int) -> list[list[int]]:
    """O_ij with j = i + e by [e][i], e = 0 … m."""
    one, other = ([u**power for u in range(last + m + 2)] for power in (moved, n - moved))
    both_ways = (one[u + m] * other[u] + one[u] * other[u + m] if u else 0 for u in range(last + 2))
    slopes = list(itertools.accumulate(both_ways))
    rows = []
    for e in range(m + 1):
        row = []
        for i in range(last + 1):
            between = sum(
                one[_common(i, i + e, b + m)] * other[_common(i, i + e, b)]
                for b in range(1 - e - m, 0)
            )
            row.append(between + slopes[max(i + 1 - m, 0)])
        rows.append(row)
    return rows


def _common(i: int, j: int, b: int) -> int:
    """#([0, i] ∩ [b, b + j])."""
    return max(0, min(i, b + j) - max(0, b) + 1)


@lru_cache(maxsize=8)
def _pair_counts(dimension: int, shift: int, moved: int, last: int) -> list[list[int]]:
    """N_ij with j = i + e by [e][i], e = 0 … m."""
    _check_work(dimension, shift, last, 1)
    within = shared(dimension, shift, moved, last)
    rows = []
    for e in range(shift + 1):
        rows.append(_mixed(within[e], within[e + 1], within[abs(e - 1)], e))
    return rows


@lru_cache(maxsize=64)
def _is_least(dimension: int, shift: int, moved: int, last: int) -> bool:
    _check_work(dimension, shift, last, moved)
    worst = shared(dimension, shift, moved, last)[:shift]
    for fewer in range(1, moved):
        others = shared(dimension, shift, fewer, last)[:shift]
        for row, other in zip(worst, others, strict=True):
            if any(c > more for c, more in zip(row, other, strict=True)):
                return False
    return True


def _check_work(dimension: int, shift: int, last: int, shifts: int) -> None:
    """Refuse what would take minutes: a file may ask for it."""
    bits = (dimension + 1) * (last + shift).bit_length()
    products = (shift * shift + _POWERS) * last * shifts
    if products * (1.0 + bits / _PLAIN) ** 1.6 > _MOST_WORK:  # as products of long numbers grow
        raise AccountingError(
            f"A shift of {shift} steps of {dimension} answers on {last} shells is too much to be "
            "judged; the sensitivity or the noise is too large for this law."
        )


def _whole_blocks(last: int) -> int:
    return -(-(last + 1) // _BLOCK) * _BLOCK - 1
