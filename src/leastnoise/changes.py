"""What one person can change: the vectors by which the answers of one release may move.

Everything is in units of the sensitivity of each answer, so that no entry of a vector is larger
than 1 (of `Euclidean`: than its radius). A space is a value: laws are judged for it, files and the
ledger keep it, and a design is fitted to it (docs/mathematics.md#the-shape-of-the-question).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from leastnoise.errors import (
    InvalidParameterError,
    at_least,
    positive,
    positive_integer,
    real_number,
)
from leastnoise.text.numbers import below

Range = tuple[Fraction, Fraction]  # from and to, in sensitivities
# in a file: as many answers as one draw of any law in a file serves
_MOST_RANGES = 10_000


class Changes(ABC):
    """A space of changes, which holds −v with every v: `Box`, `OneSided` or `Euclidean`.

    Attributes:
        kind: The name of the space in files.

    Example:
        >>> isinstance(OneSided(), Changes), OneSided().touched_of(10)
        (True, 10)
    """

    kind: ClassVar[str] = ""

    @abstractmethod
    def fitted(self, answers: int) -> Changes:
        """The same space, checked for so many answers."""

    @abstractmethod
    def squared_length(self, answers: int) -> Fraction:
        """The largest ‖v‖₂², exactly."""

    @abstractmethod
    def ranges_of(self, answers: int) -> dict[Range, int] | None:
        """The ranges of the entries of v, up to a common sign, with how many entries have each;
        None where only the length of v is bounded."""

    def range_of_each(self, answers: int) -> tuple[Range, ...] | None:
        """The same ranges in the order of the answers."""
        ranges = self.ranges_of(answers)
        if ranges is None:
            return None
        return tuple(each for each, count in ranges.items() for _ in range(count))

    def touched_of(self, answers: int) -> int:
        """How many answers move at most."""
        return answers

    def has_corner(self, answers: int) -> bool:
        """Whether one person can move all answers by their sensitivities at once, each up or
        down: what a law that treats both directions alike is judged at."""
        ranges = self.ranges_of(answers)
        if ranges is None or self.touched_of(answers) < answers:
            return False
        return all(max(-low, high) == 1 for low, high in ranges)

    def of_a_part(self) -> Changes:
        """What one person changes of some of the answers, whichever they are: the box, or where
        only a length is known that length, which a single answer may take up."""
        return BOX

    @property
    def is_one_sided(self) -> bool:
        """Whether it is the space of a person who is added or removed, and of no other relation."""
        return False

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """The space as plain JSON data."""

    @abstractmethod
    def sentence(self, answers: int) -> str:
        """The space in words."""

    def condition(self, answers: int) -> str:
        """The space in words, as the condition of a guarantee: with the one relation that it is for
        where it is for no other."""
        said = self.sentence(answers)
        return f"{said}; only where persons are added or removed" if self.is_one_sided else said


@dataclass(frozen=True)
class Box(Changes):
    """Each answer moves by up to its sensitivity, up or down.

    Attributes:
        touched: How many of the answers one person can move; None for all of them.

    Raises:
        InvalidParameterError: `touched` is no positive whole number.

    Example:
        >>> Box(touched=3).squared_length(10)
        Fraction(3, 1)
    """

    touched: int | None = None

    kind: ClassVar[str] = "box"

    def __post_init__(self) -> None:
        _checked_touched(self)

    def fitted(self, answers: int) -> Box:
        return Box(None if self.touched_of(answers) == answers else self.touched)

    def squared_length(self, answers: int) -> Fraction:
        return Fraction(self.touched_of(answers))

    def touched_of(self, answers: int) -> int:
        return answers if self.touched is None else min(self.touched, answers)

    def ranges_of(self, answers: int) -> dict[Range, int]:
        return {(Fraction(-1), Fraction(1)): answers}

    def describe(self) -> dict[str, Any]:
        return {"kind": self.kind, "touched": self.touched}

    def sentence(self, answers: int) -> str:
        return f"one person moves {_how_many(self, answers)} up or down"


@dataclass(frozen=True)
class OneSided(Changes):
    """All answers move up, or all move down: counts, and sums of values that are not negative, when
    a person is added or removed.

    Replacing a person moves some up and others down, so this is not for that relation, and neither
    for a table whose number of rows is public: its neighbours have as many rows.

    Attributes:
        touched: How many of the answers one person can move; None for all of them.
        ranges: By how much a person who is added moves each answer, from and to, in its
            sensitivities: (0, 1) is a count, (−1, 1) an answer that may go either way, whatever
            the others do. None for (0, 1) everywhere.

    Raises:
        InvalidParameterError: `touched` is no positive whole number, or a range is none in [−1, 1].

    Example:
        >>> OneSided().ranges_of(2)
        {(Fraction(0, 1), Fraction(1, 1)): 2}
        >>> OneSided(ranges=[(0, 1), (-1, 1)]).fitted(2).touched_of(2)
        2
    """

    touched: int | None = None
    ranges: tuple[tuple[float, float], ...] | None = None

    kind: ClassVar[str] = "one-sided"

    def __post_init__(self) -> None:
        _checked_touched(self)
        if self.ranges is not None:
            checked = tuple(_checked_range(*each) for each in enumerate(self.ranges))
            object.__setattr__(self, "ranges", checked)

    @property
    def is_one_sided(self) -> bool:
        return True

    def fitted(self, answers: int) -> OneSided:
        if self.ranges is not None and len(self.ranges) != answers:
            raise InvalidParameterError(
                "number of ranges", len(self.ranges), f"to be one for each of the {answers} answers"
            )
        are_counts = self.ranges is None or all(each == (0.0, 1.0) for each in self.ranges)
        touched = None if self.touched_of(answers) == answers else self.touched
        return OneSided(touched, None if are_counts else self.ranges)

    def squared_length(self, answers: int) -> Fraction:
        return longest(self.ranges_of(answers), self.touched_of(answers))

    def touched_of(self, answers: int) -> int:
        return answers if self.touched is None else min(self.touched, answers)

    def ranges_of(self, answers: int) -> dict[Range, int]:
        if self.ranges is None:
            return {(Fraction(0), Fraction(1)): answers}
        return Counter(self.range_of_each(answers))

    def range_of_each(self, answers: int) -> tuple[Range, ...]:
        each = ((0.0, 1.0),) * answers if self.ranges is None else self.ranges
        return tuple((Fraction(low), Fraction(high)) for low, high in each)

    def describe(self) -> dict[str, Any]:
        ranges = None if self.ranges is None else [list(each) for each in self.ranges]
        return {"kind": self.kind, "touched": self.touched, "ranges": ranges}

    def sentence(self, answers: int) -> str:
        if self.ranges is None:
            return f"one person moves {_how_many(self, answers)}, all up or all down"
        return f"one person moves {_how_many(self, answers)}, each within its range or its mirror"


@dataclass(frozen=True)
class Euclidean(Changes):
    """The vector of all changes has at most this length.

    Attributes:
        radius: The largest ‖v‖₂, in sensitivities.

    Raises:
        InvalidParameterError: The radius is not positive and finite.

    Example:
        >>> Euclidean(3.0).squared_length(10)
        Fraction(9, 1)
    """

    radius: float

    kind: ClassVar[str] = "euclidean"

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive("radius", self.radius))

    def fitted(self, answers: int) -> Euclidean:
        return self

    def squared_length(self, answers: int) -> Fraction:
        return Fraction(self.radius) ** 2

    def ranges_of(self, answers: int) -> None:
        return None

    def of_a_part(self) -> Euclidean:
        return self

    def describe(self) -> dict[str, Any]:
        return {"kind": self.kind, "radius": self.radius}

    def sentence(self, answers: int) -> str:
        moved = "the answer" if answers == 1 else f"the {answers} answers"
        long = below(self.radius, 6)
        return f"one person moves {moved} by a vector of length at most {long} sensitivities"


def changes_from(content: Mapping[str, Any] | None) -> Changes:
    """The inverse of `describe`; a file that names no space means the box.

    Args:
        content: What `describe` gave, or None.

    Returns:
        The space.

    Raises:
        InvalidParameterError: No space is described.
    """
    if content is None:
        return BOX
    if not isinstance(content, Mapping):
        raise InvalidParameterError("changes", type(content).__name__, "to be a known space")
    fields = dict(content)
    kind, ranges = fields.pop("kind", None), fields.get("ranges")
    if isinstance(ranges, Sequence) and len(ranges) > _MOST_RANGES:
        expected = f"to be at most {_MOST_RANGES} in a file"
        raise InvalidParameterError("number of ranges", len(ranges), expected)
    kinds: dict[Any, type[Changes]] = {each.kind: each for each in (Box, OneSided, Euclidean)}
    try:
        if ranges is not None:
            fields["ranges"] = tuple(tuple(each) for each in ranges)
        return kinds[kind](**fields)
    except (KeyError, TypeError):
        raise InvalidParameterError("changes", dict(content), "to be a known space") from None


def checked_changes(changes: Changes | None, answers: int) -> Changes:
    """The space for so many answers, the box where none is given; what is none is refused."""
    if changes is None:
        return BOX
    if not isinstance(changes, Changes):
        raise InvalidParameterError(
            "changes", changes, "to be a space such as Box(), OneSided() or Euclidean(2.0)"
        )
    return changes.fitted(answers)


def longest(ranges: Mapping[Range, int], touched: int) -> Fraction:
    """The largest squared length of a vector with entries in these ranges, `touched` of them not
    0."""
    total, left = Fraction(0), touched
    squares = {each: max(each[0] ** 2, each[1] ** 2) for each in ranges}
    for each in sorted(ranges, key=lambda one: squares[one], reverse=True):
        taken = min(left, ranges[each])
        total, left = total + taken * squares[each], left - taken
    return total


def length_above(squared: Fraction) -> Fraction:
    """An upper bound on the root of a number, exact for squares and else by at most 1e-18 of it."""
    scale = 10**40 * squared.denominator
    root = math.isqrt(squared.numerator * squared.denominator * 10**80)
    is_exact = root * root == squared.numerator * squared.denominator * 10**80
    return Fraction(root if is_exact else root + 1, scale)


def farthest(sensitivity: float, changes: Changes) -> float:
    """How far one person moves any one answer of this sensitivity, rounded up."""
    one = at_least("sensitivity", sensitivity)
    if not isinstance(changes, Euclidean):
        return one
    exact = Fraction(one) * Fraction(changes.radius)
    nearest = float(exact)
    return nearest if nearest >= exact else math.nextafter(nearest, math.inf)


def _checked_touched(space: Box | OneSided) -> None:
    if space.touched is not None:
        object.__setattr__(space, "touched", positive_integer("touched", space.touched))


def _checked_range(index: int, each: Sequence[float]) -> tuple[float, float]:
    if not isinstance(each, Sequence) or isinstance(each, str) or len(each) != 2:
        raise InvalidParameterError(f"ranges[{index}]", each, "to be two numbers, from and to")
    low, high = (real_number(f"ranges[{index}]", end) for end in each)
    if not (-1.0 <= low <= high <= 1.0 and max(-low, high) > 0.0):
        raise InvalidParameterError(
            f"ranges[{index}]", each, "to be within [-1, 1], in sensitivities, and not only 0"
        )
    return low, high


def _how_many(space: Box | OneSided, answers: int) -> str:
    touched = space.touched_of(answers)
    if answers == 1:
        return "the answer"
    return (
        f"each of the {answers} answers"
        if touched == answers
        else (f"at most {touched} of the {answers} answers")
    )


BOX = Box()
