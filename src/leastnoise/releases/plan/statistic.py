"""What is asked for: one statistic, and the public lattice that its column of numbers is put on."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, cast

from leastnoise.errors import (
    InvalidParameterError,
    PlanError,
    one_of,
    open_unit,
    plain_text,
    positive,
    positive_integer,
    real_number,
)
from leastnoise.releases.plan.formula import Formula, parsed, shortened, written
from leastnoise.releases.plan.keys import Key, keys_of
from leastnoise.releases.plan.source import MOST_TEXT, text

Kind = Literal["count", "persons", "distinct", "sum", "mean", "variance", "histogram", "quantile"]
KINDS = ("count", "persons", "distinct", "sum", "mean", "variance", "histogram", "quantile")
RATIOS = ("mean", "variance")  # the kinds that are divided by a number of values
# Of the value lattice: x/pitch + ½ is then exact to 1/4 in double arithmetic on every engine.
LARGEST_INDEX = 2**50
# The largest integer one row may contribute: it is a 64-bit integer in the engine.
LARGEST_CELL = 2**62
MOST_GROUPS = 100_000
MOST_QUANTILES = 999
# Kinds that are one person's value, and the quantile that serves in their place.
_EXTREMES = {"min": 0.05, "minimum": 0.05, "max": 0.95, "maximum": 0.95}
_NUMBERS = {
    "column": "the column of numbers",
    "lower": "the smallest value that counts as itself",
    "upper": "the largest value that counts as itself",
    "pitch": "the pitch of the public lattice that values are rounded to",
    "missing": 'what null and NaN count as: "drop" or a number',
}


@dataclass(frozen=True)
class Values:
    """A column of numbers on its public lattice: clip to [lower, upper], snap to ⌊x/pitch + ½⌋,
    clamp to the bounds' own places."""

    column: str
    lower: float
    upper: float
    pitch: float
    missing: Literal["drop"] | float
    infinite: Literal["missing", "clip"] = "clip"

    @property
    def first(self) -> int:
        return _place(self.lower, self.pitch)

    @property
    def last(self) -> int:
        return _place(self.upper, self.pitch)

    @property
    def substitute(self) -> int | None:
        """The place that stands for a missing value; None if such rows are dropped."""
        if self.missing == "drop":
            return None
        return min(max(_place(float(self.missing), self.pitch), self.first), self.last)

    @property
    def exact_pitch(self) -> Fraction:
        """The pitch as the decimal number that was written."""
        return Fraction(repr(self.pitch))


@dataclass(frozen=True)
class Statistic:
    """One thing to release; one number for each group if it is grouped.

    Attributes:
        kind: What is computed: "count" (rows), "persons", "distinct" (different values of a column
            of text, whole numbers, truth values or days), "sum", "mean", "variance" (of the values
            themselves, divided by their number), "histogram" (counts by `group_by`) or "quantile";
            "median" stands for the quantile at 0.5.
        name: What it is called in the release; by default its kind, column and grouping in words.
        column: The column of numbers of a sum, mean, variance or quantile, or whose values are
            counted.
        lower: The smallest value that counts as itself, in units of the column; less counts as it.
        upper: The largest value that counts as itself, in the units of the column.
        pitch: What values are rounded to, in the units of the column: the step of a public lattice.
        missing: What null, NaN and unreadable text count as: "drop", or a number in the units of
            the column that is put in their place.
        infinite: What ±∞ counts as: "clip" (the bound), or "missing".
        group_by: The columns of the grouping with their declared keys, `Key` or a table such as
            {"ward": ["A", "B"]}; all other keys are one group more.
        public_n: The number of values, if everybody may know it: of an ungrouped mean or variance.
        expected_n: About how many values each group of a mean or variance will have; for the
            preview of its error alone.
        weight: Its accuracy relative to the others', in units of sensitivity: twice the weight
            may have half the noise at most; the others have less than that where it costs nothing.
        sigma: The standard deviation of noise wanted on its value, in the units of the value, where
            that is a matter of the noise alone; without one the budget decides.
        where: Which rows it is about, as a formula such as "age >= 65 and ward in ('A', 'B')";
            without one all. Of a person with many rows those that it is about are bounded.
        at: Which quantiles, rising numbers in (0, 1): that at 0.9 is the least value, on the
            lattice, up to which nine tenths of the values are.
        suppress_below: Of counts: a published number below this is not shown, only that it is. What
            is shown is noisy, so that is for readers, and no part of the guarantee.

    Raises:
        PlanError: something that privacy needs is not declared, or cannot be used.
        InvalidParameterError: a declared number or text is outside its range.

    Example:
        >>> Statistic("mean", column="age", lower=0, upper=100, pitch=1, missing="drop").name
        'mean of age'
    """

    kind: Kind
    name: str = ""
    column: str | None = None
    lower: float | None = None
    upper: float | None = None
    pitch: float | None = None
    missing: Literal["drop"] | float | None = None
    infinite: Literal["missing", "clip"] = "clip"
    group_by: tuple[Key, ...] = ()
    public_n: int | None = None
    expected_n: int | None = None
    weight: float = 1.0
    sigma: float | None = None
    where: str = ""
    at: tuple[float, ...] = ()
    suppress_below: int | None = None

    def __post_init__(self) -> None:
        if self.kind == "median":  # type: ignore[comparison-overlap]
            self._check_median()
        if isinstance(self.kind, str) and self.kind in _EXTREMES:
            raise PlanError(
                f"A {self.kind} is the value of one person, which no noise can hide: ask for kind "
                f'= "quantile" with at = [{_EXTREMES[self.kind]}], beyond which one in twenty is.'
            )
        one_of("kind", self.kind, KINDS)
        plain_text("name", self.name, MOST_TEXT, empty=True)
        if self.where != "":
            tree = parsed(self.where, f"where of {self.name or self.kind!r}")
            object.__setattr__(self, "where", written(tree))
        object.__setattr__(self, "group_by", keys_of(self.group_by, self.kind))
        self._check_at()
        if not self.name:
            object.__setattr__(self, "name", self._usual_name())
        self._check_groups()
        positive("weight", self.weight)
        if self.sigma is not None:
            positive("sigma", self.sigma)
        if self.kind in ("count", "persons", "distinct", "histogram"):
            self._check_plain()
        else:
            self._check_numbers()
        self._check_number_of_values()
        self._check_suppressed()
        has_own_noise = self.kind not in (*RATIOS, "quantile") or self.is_shifted_sum
        if self.sigma is not None and not has_own_noise:
            raise PlanError(
                f"{self.name!r} has no noise of its own alone: declare a weight instead of sigma, "
                "or public_n."
            )

    def _check_median(self) -> None:
        if self.at:
            raise PlanError('A median is the quantile at 0.5: leave at out, or declare "quantile".')
        object.__setattr__(self, "kind", "quantile")
        object.__setattr__(self, "at", (0.5,))

    def _check_at(self) -> None:
        if self.kind != "quantile":
            if self.at:
                raise PlanError(f"A {self.kind} has no use for at: it is for quantiles.")
            return
        listed = self.at if isinstance(self.at, (list, tuple)) else (self.at,)
        at = tuple(open_unit("at", one) for one in listed)
        if not at or len(at) > MOST_QUANTILES or any(a >= b for a, b in pairwise(at)):
            expected = f"to be up to {MOST_QUANTILES} rising numbers in (0, 1), such as [0.25, 0.5]"
            raise InvalidParameterError("at", list(at), expected)
        object.__setattr__(self, "at", at)

    def _usual_name(self) -> str:
        by = ", ".join(key.column for key in self.group_by)
        what: str = self.kind
        if self.kind == "quantile":
            alone = "median" if self.at == (0.5,) else f"quantile {self.at[0]:g}"
            what = "quantiles" if len(self.at) > 1 else alone
        elif self.kind == "distinct":
            what = "distinct values"
        about = f"{what} of {self.column}" if self.column else what
        grouped = f"{about} by {by}" if by else about
        return shortened(f"{grouped} where {self.where}") if self.where else grouped

    def _check_groups(self) -> None:
        columns = [column for key in self.group_by for column in key.path_columns]
        if len(set(columns)) != len(columns):
            expected = "to name each column once, and none that another one's keys are within"
            raise InvalidParameterError("group_by", columns, expected)
        if math.prod(len(key.labels) for key in self.group_by) > MOST_GROUPS:
            raise PlanError(
                f"{self.name!r} has more than {MOST_GROUPS} groups: declare fewer keys."
            )

    def _check_plain(self) -> None:
        if self.kind == "distinct":
            if self.column is None:
                raise PlanError(
                    f"{self.name!r} (distinct) declares no column: declare column = the column "
                    "whose different values are counted."
                )
            text("column", self.column)
        elif self.column is not None:
            raise PlanError(
                f"{self.name!r} ({self.kind}) uses no column; for a histogram declare group_by = "
                "{column = keys}."
            )
        if self.kind == "histogram" and not self.group_by:
            raise PlanError(
                f"{self.name!r} has no keys: declare group_by = {{column = [keys]}} or {{column = "
                "{edges = […]}}."
            )
        bounds = ("lower", "upper", "pitch", "missing")
        given = [name for name in bounds if getattr(self, name) is not None]
        if given:
            raise PlanError(f"{self.name!r} ({self.kind}) has no use for {', '.join(given)}.")

    def _check_numbers(self) -> None:
        for name, meaning in _NUMBERS.items():
            if getattr(self, name) is None:
                raise PlanError(
                    f"{self.name!r} ({self.kind}) declares no {name}: declare {name} = {meaning}."
                )
        text("column", self.column)
        lower, upper = real_number("lower", self.lower), real_number("upper", self.upper)
        pitch = positive("pitch", self.pitch)
        if self.missing != "drop":
            real_number("missing", self.missing)
        one_of("infinite", self.infinite, ("missing", "clip"))
        if not lower < upper:
            raise InvalidParameterError("lower", lower, f"to be below upper={upper!r}")
        self._check_places(lower, upper, pitch)

    def _check_places(self, lower: float, upper: float, pitch: float) -> None:
        if max(abs(lower), abs(upper)) / pitch > LARGEST_INDEX:
            expected = f"to divide the bounds of {self.name!r} into at most 2^50 places"
            raise InvalidParameterError("pitch", pitch, expected)
        places = _place(upper, pitch) - _place(lower, pitch)
        if not places > 0:
            expected = f"to put {lower!r} and {upper!r} at different places; take a smaller pitch"
            raise InvalidParameterError("pitch", pitch, expected)
        groups = math.prod(len(key.labels) for key in self.group_by)
        if self.kind == "quantile" and (places + 1) * groups > MOST_GROUPS:
            expected = (
                f"to be larger: {self.name!r} counts the values at each place of the lattice in "
                f"each group, {(places + 1) * groups:,} counts, and may have {MOST_GROUPS:,}"
            )
            raise InvalidParameterError("pitch", pitch, expected)
        if self.kind == "variance" and places**2 > LARGEST_CELL:
            expected = f"to be larger: the squares of {self.name!r} would not fit 64-bit integers"
            raise InvalidParameterError("pitch", pitch, expected)

    def _check_suppressed(self) -> None:
        if self.suppress_below is None:
            return
        positive_integer("suppress_below", self.suppress_below)
        if self.kind not in ("count", "persons", "distinct", "histogram"):
            raise PlanError(
                f"{self.name!r} ({self.kind}) cannot use suppress_below: it is for numbers of "
                "rows, persons and values."
            )

    def _check_number_of_values(self) -> None:
        if self.public_n is not None:
            positive_integer("public_n", self.public_n)
            if self.kind not in RATIOS or self.group_by or self.where:
                raise PlanError(
                    f"{self.name!r} cannot use public_n: it is the number of values of an "
                    "ungrouped mean or variance, of all rows."
                )
        if self.expected_n is not None:
            positive_integer("expected_n", self.expected_n)
            if self.kind not in RATIOS or self.public_n is not None:
                raise PlanError(
                    f"{self.name!r} cannot use expected_n: it is for means and variances without "
                    "public_n."
                )

    @cached_property
    def condition(self) -> Formula | None:
        """The rows that it is about, as a formula; None for all."""
        return parsed(self.where, f"where of {self.name!r}") if self.where else None

    @property
    def is_shifted_sum(self) -> bool:
        """Whether the value is one noisy sum up to public numbers."""
        return self.kind == "mean" and self.public_n is not None

    @property
    def parts(self) -> tuple[tuple[tuple[str, str], ...], ...]:
        """What is released for each group, as keys: the quantiles of several, or one thing."""
        if len(self.at) < 2:
            return ((),)
        taken = {column for key in self.group_by for column in key.path_columns}
        name = "quantile"
        while name in taken:
            name += " at"
        return tuple(((name, f"{q:g}"),) for q in self.at)

    @property
    def values(self) -> Values | None:
        """The column on its lattice, for sums, means, variances and quantiles."""
        if self.column is None or self.kind == "distinct":
            return None
        declared = (self.lower, self.upper, self.pitch)
        lower, upper, pitch = (float(cast(float, one)) for one in declared)
        missing: Any = self.missing if self.missing == "drop" else float(cast(float, self.missing))
        return Values(self.column, lower, upper, pitch, missing, self.infinite)

    def describe(self) -> dict[str, Any]:
        """The statistic as plain JSON data."""
        plain = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "group_by"}
        if self.expected_n is None:  # so a plan keeps the hash that it had before there was one
            del plain["expected_n"]
        if not self.where:
            del plain["where"]
        plain["at"] = list(self.at)
        if not self.at:
            del plain["at"]
        if self.suppress_below is None:
            del plain["suppress_below"]
        return {**plain, "group_by": [key.describe() for key in self.group_by]}


def _place(value: float, pitch: float) -> int:
    """⌊value/pitch + ½⌋ of the decimal numbers as written."""
    return math.floor(Fraction(repr(float(value))) / Fraction(repr(float(pitch))) + Fraction(1, 2))
