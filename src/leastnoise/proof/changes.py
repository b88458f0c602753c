"""How far one person moves the answers once they are rounded to the public lattice, in exact
numbers: ⌊x + ½⌋ keeps the order and whole shifts, so ranges are rounded outwards to whole pitches.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from leastnoise.errors import UnsupportedError
from leastnoise.proof.balls import Ball, ball

_MOST_CORNERS = 20_000
_SEARCHED = 200


@dataclass(frozen=True)
class Moved:
    """What one person can change of `answers`, each of one sensitivity: the `changes` of a file."""

    kind: str
    answers: int
    touched: int
    ranges: tuple[tuple[Fraction, Fraction], ...]  # in sensitivities; none of a length
    radius: Fraction
    sensitivity: Fraction

    @property
    def is_one_sided(self) -> bool:
        return self.kind == "one-sided" and all(low >= 0 for low, _ in self.ranges)

    def steps(self, step: Fraction) -> int:
        """The whole steps that any one answer moves by, at the most."""
        return math.ceil(self.sensitivity * self.radius / step)

    def on(self, pitch: Fraction) -> list[tuple[Fraction, Fraction]]:
        """The ranges of the answers on a lattice of this pitch, in their own units."""
        unit = self.sensitivity / pitch
        return [
            (math.floor(low * unit) * pitch, math.ceil(high * unit) * pitch)
            for low, high in self.ranges
        ]


def read_changes(content: Mapping[str, Any] | None, answers: int, sensitivity: float) -> Moved:
    """The space that a file states; none is the box of all changes."""
    told: Mapping[str, Any] = {"kind": "box"} if content is None else content
    kind, touched = told["kind"], told.get("touched")
    ranges = told.get("ranges") or [(0 if kind == "one-sided" else -1, 1)] * answers
    if kind not in ("box", "one-sided", "euclidean") or len(ranges) != answers:
        raise UnsupportedError(f"Changes of the kind {kind!r} are not covered.")
    radius = Fraction(told["radius"]) if kind == "euclidean" else Fraction(1)
    pairs = () if kind == "euclidean" else tuple((Fraction(a), Fraction(b)) for a, b in ranges)
    few = answers if touched is None else min(touched, answers)
    return Moved(kind, answers, few, pairs, radius, Fraction(sensitivity))


def squared_length(moved: Moved, pitch: Fraction, is_whole: bool) -> Ball:
    """The largest ‖v‖₂²; whole answers are on their lattice already."""
    if moved.kind == "euclidean":
        length = moved.radius * moved.sensitivity
        if is_whole:
            return ball(math.floor((length / pitch) ** 2) * pitch**2)
        return (ball(length) + ball(pitch) * ball(moved.answers).sqrt()) ** 2
    squares = sorted((max(low**2, high**2) for low, high in moved.on(pitch)), reverse=True)
    return ball(sum(squares[: moved.touched], Fraction(0)))


def tied_length(
    moved: Moved,
    pitch: Fraction,
    x: Fraction,
    shares: Sequence[Fraction],
    widths: Sequence[Fraction],
) -> Ball:
    """The largest ‖v/w‖² − x·(g·v/w)², which is convex in v: at ends of the ranges, or 0 where not
    all answers move. Alike answers are counted; where that is too much, −S² ≤ c² − 2cS bounds it
    for every number c."""
    ends = [(low / w, high / w) for (low, high), w in zip(moved.on(pitch), widths, strict=True)]
    kinds = Counter(zip(ends, shares, strict=True))
    is_few = moved.touched < moved.answers
    choices = [_numbers(count, is_few) for count in kinds.values()]
    if math.prod(map(len, choices)) <= _MOST_CORNERS:
        return ball(_of_corners(list(kinds), choices, moved.touched, x))
    pulls = [
        float(x) * k / _SEARCHED * float(sum(shares)) * float(max(map(max, ends)))
        for k in range(-_SEARCHED, _SEARCHED + 1)
    ]
    return ball(min(_bound(ends, shares, moved, x, Fraction(pull) / x) for pull in pulls))


def _numbers(count: int, is_few: bool) -> list[tuple[int, int]]:
    """How many of alike answers are at their low and at their high end."""
    if not is_few:
        return [(count - high, high) for high in range(count + 1)]
    return [(low, high) for low in range(count + 1) for high in range(count - low + 1)]


def _of_corners(
    kinds: list[tuple[tuple[Fraction, Fraction], Fraction]],
    choices: list[list[tuple[int, int]]],
    touched: int,
    x: Fraction,
) -> Fraction:
    most = Fraction(0)
    for chosen in itertools.product(*choices):
        if sum(map(sum, chosen)) > touched:
            continue
        square = along = Fraction(0)
        for ((low, high), share), (lows, highs) in zip(kinds, chosen, strict=True):
            square += lows * low**2 + highs * high**2
            along += share * (lows * low + highs * high)
        most = max(most, square - x * along**2)
    return most


def _bound(
    ends: Sequence[tuple[Fraction, Fraction]],
    shares: Sequence[Fraction],
    moved: Moved,
    x: Fraction,
    c: Fraction,
) -> Fraction:
    terms = [
        max(end * end - 2 * x * c * share * end for end in each)
        for each, share in zip(ends, shares, strict=True)
    ]
    if moved.touched < moved.answers:
        terms = [max(term, Fraction(0)) for term in sorted(terms, reverse=True)[: moved.touched]]
    return x * c * c + sum(terms, Fraction(0))
