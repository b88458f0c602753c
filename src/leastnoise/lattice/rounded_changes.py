"""What one person changes once the answers are rounded to a public lattice.

⌊x/p + ½⌋ is monotone and commutes with whole shifts, so answers at most M pitches apart are at most
M apart once they are rounded, M a whole number. A range is therefore rounded outwards to whole
pitches, in exact arithmetic. The length of a vector has no such rule: rounding moves each answer by
at most half a pitch, hence a difference of d answers by at most p·√d. Whole answers are on the
lattice of the whole numbers already: nothing is rounded, and the squared length of a change is
whole. The samplers that are judged so refuse others (`Sampler.only_whole`).
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from leastnoise.changes import Changes, Range, length_above, longest
from leastnoise.errors import at_least


@dataclass(frozen=True)
class RoundedChanges:
    """A space in the units of the answers.

    Attributes:
        ranges: From and to of the entries, up to a common sign, with how many have each; None where
            only the length is known.
        squared_length: The largest squared length.
        touched: How many entries are not 0 at most.
    """

    ranges: dict[Range, int] | None
    squared_length: Fraction
    touched: int


def rounded_changes(
    changes: Changes,
    answers: int,
    sensitivity: float | Fraction,
    pitch: Fraction,
    *,
    whole: bool = False,
) -> RoundedChanges:
    """The space of changes of so many answers, each of this sensitivity, on a lattice of this
    pitch; `whole` answers are on it already."""
    one = sensitivity if isinstance(sensitivity, Fraction) else at_least("sensitivity", sensitivity)
    unit, touched = Fraction(one) / pitch, changes.touched_of(answers)
    ranges = changes.ranges_of(answers)
    if ranges is None and whole:
        squared = math.floor(changes.squared_length(answers) * unit**2)
        return RoundedChanges(None, squared * pitch**2, touched)
    if ranges is None:
        length = length_above(changes.squared_length(answers)) * unit
        length += length_above(Fraction(answers))
        return RoundedChanges(None, (length * pitch) ** 2, touched)
    rounded: Counter[Range] = Counter()
    for each, count in ranges.items():
        rounded[_outwards(each, unit, pitch)] += count
    return RoundedChanges(rounded, longest(rounded, touched), touched)


def rounded_ranges(
    changes: Changes, answers: int, sensitivity: float | Fraction, pitch: Fraction
) -> tuple[Range, ...] | None:
    """The rounded range of each answer, in its order; None where only the length is known."""
    each = changes.range_of_each(answers)
    unit = Fraction(sensitivity) / pitch
    return None if each is None else tuple(_outwards(one, unit, pitch) for one in each)


def _outwards(each: Range, unit: Fraction, pitch: Fraction) -> Range:
    low, high = each
    return math.floor(low * unit) * pitch, math.ceil(high * unit) * pitch
