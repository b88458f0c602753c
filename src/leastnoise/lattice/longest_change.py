"""How far a change goes for noise that is tied together: the largest ‖v‖² − x·(g·v)² over ranges.

That is vᵀΣ⁻¹v for Σ = I + a·ggᵀ, x = a/(1 + a‖g‖²), so it is convex in v and largest where every
entry is an end of its range, or 0 where it need not be touched.

**Few kinds of answers.** Answers of one range and one g are alike: what counts is how many of them
are at the upper end. All those numbers are tried, in whole pitches and so exactly.

**Many kinds.** −S² ≤ c² − 2cS for every number c, with S = g·v. So for every c

    ‖v‖² − x·S²  ≤  x·c² + Σ_i (v_i² − 2xc·g_i·v_i),

whose largest value is found answer by answer; where few answers are touched, of the `touched`
largest terms that are above 0. It is convex in c, and the best c is looked for in floating point;
what is said of it is then computed in fractions, so that it is a bound whatever c is.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from leastnoise.changes import Range
from leastnoise.lattice.shells import Floats

_MOST_CORNERS = 4096  # tried one by one: all of 12 answers of 12 kinds, in 10 ms
_THIRDS = 90  # steps of the search for c


def longest_change(
    ranges: Sequence[Range], shares: Sequence[Fraction], x: Fraction, touched: int
) -> tuple[Fraction, bool]:
    """An upper bound on ‖v‖² − x·(g·v)² with v_i in `ranges`, g = `shares` and at most `touched`
    entries that are not 0; and whether some v attains it."""
    kinds = Counter(zip(ranges, shares, strict=True))
    is_whole = touched >= len(ranges)
    if is_whole and math.prod(count + 1 for count in kinds.values()) <= _MOST_CORNERS:
        return _of_all_corners(kinds, x), True
    return _bound(ranges, shares, x, touched), False


def _of_all_corners(kinds: Counter[tuple[Range, Fraction]], x: Fraction) -> Fraction:
    unit = math.lcm(*(end.denominator for each, _ in kinds for end in each))
    share = math.lcm(*(g.denominator for _, g in kinds))
    found = {(0, 0)}  # ‖v‖² and g·v so far, in whole units
    for ((low, high), g), count in kinds.items():
        ends, part = (int(low * unit), int(high * unit)), int(g * share)
        moved = [
            (
                (count - up) * ends[0] ** 2 + up * ends[1] ** 2,
                part * ((count - up) * ends[0] + up * ends[1]),
            )
            for up in range(count + 1)
        ]
        found = {(square + more, along + by) for square, along in found for more, by in moved}
    less, whole = x.numerator, x.denominator * share**2
    most = max(square * whole - less * along**2 for square, along in found)
    return Fraction(most, whole * unit**2)


def _bound(
    ranges: Sequence[Range], shares: Sequence[Fraction], x: Fraction, touched: int
) -> Fraction:
    low, high = (np.array([float(each[end]) for each in ranges]) for end in (0, 1))
    g, form = np.array([float(one) for one in shares]), float(x)

    def at(c: float) -> float:
        pull = 2.0 * form * c * g
        most = np.maximum(low**2 - pull * low, high**2 - pull * high)
        return form * c * c + _largest(most, touched, len(ranges))

    far = float(np.sum(np.abs(g) * np.maximum(np.abs(low), np.abs(high))))
    c = Fraction(_least(at, -far, far))
    terms = [
        max(end * end - 2 * x * c * one * end for end in each)
        for each, one in zip(ranges, shares, strict=True)
    ]
    if touched < len(ranges):
        terms = [max(one, Fraction(0)) for one in sorted(terms, reverse=True)[:touched]]
    return x * c * c + sum(terms, Fraction(0))


def _largest(terms: Floats, touched: int, answers: int) -> float:
    if touched >= answers:
        return float(np.sum(terms))
    return float(np.sum(np.maximum(np.partition(terms, -touched)[-touched:], 0.0)))


def _least(of: Callable[[float], float], low: float, high: float) -> float:
    for _ in range(_THIRDS):
        one, two = low + (high - low) / 3.0, high - (high - low) / 3.0
        low, high = (low, two) if of(one) < of(two) else (one, high)
    return 0.5 * (low + high)
