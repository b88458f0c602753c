"""The plan of a release: everything that is decided before the data are touched, as Python objects or as a TOML file.

Nothing here is read off the private data. What privacy needs and the plan does not say is a PlanError that says what to declare:

    name = "clinic-2024"                     epsilon = 1.0        # delta = 1e-9, or its share of the ledger's
    relation = "add/remove"                  # neighbouring tables differ in one person's rows; "replace": those rows are others
    person = "patient_id"                    # or one_row_per_person = true
    person_is = "a patient"                  # in words, for the ledger; may be left out
    rows_per_person = 8                      # contribution bounds, enforced in the engine
    groups_per_person = 2                    # with any group_by or histogram
    [source]
    csv = "visits.csv"                       # or parquet = …, duckdb = … with table = …, connection = "env:NAME" with table = …
    [[statistic]]
    kind = "mean"                            # count, persons, sum, mean, variance, histogram
    column = "stay_days"
    lower = 0                                # clipping bounds and the pitch of the public lattice that values are snapped to
    upper = 60
    pitch = 0.5
    missing = "drop"                         # null, NaN, unreadable text: "drop", or the number to put in their place
    group_by = { ward = ["A", "B", "C"] }    # declared keys; all other keys are one group more
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
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
from leastnoise.releases.keys import Key, keys_of
from leastnoise.releases.source import (
    MOST_TEXT,
    Connection,
    CsvFile,
    DuckDBTable,
    Frame,
    ParquetFile,
    Source,
    text,
)

Relation = Literal["add/remove", "replace"]
Kind = Literal["count", "persons", "sum", "mean", "variance", "histogram"]
KINDS = ("count", "persons", "sum", "mean", "variance", "histogram")
POSTPROCESSING = ("non-negative", "integer", "totals")
LARGEST_INDEX = (
    2**50
)  # of the value lattice: x/pitch + ½ is then exact to 1/4 in double arithmetic on every engine
LARGEST_CELL = (
    2**62
)  # the largest integer one row may contribute: it is a 64-bit integer in the engine
LARGEST_SUM = (
    10**38
)  # what the engines' sums hold: 128-bit integers (DuckDB), decimal(38) (Spark), numeric (PostgreSQL)
LARGEST_EPSILON = 50.0  # e^50 = 5e21
MOST_GROUPS = 100_000
MOST_ABOUT = 10_000  # characters of a text in [about], which may have lines


@dataclass(frozen=True)
class Values:
    """A column of numbers on its public lattice: clip to [lower, upper], snap to ⌊x/pitch + ½⌋, clamp to the bounds' own places."""

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
    """One thing to release; one number for each group if it is grouped. `weight`: its accuracy relative to the others', in units
    of sensitivity; `sigma`: the noise standard deviation wanted on its value, where that is a matter of the noise alone;
    `expected_n`: about how many values each group of a mean or variance will have, for the preview alone."""

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

    def __post_init__(self) -> None:
        one_of("kind", self.kind, KINDS)
        plain_text("name", self.name, MOST_TEXT, empty=True)
        object.__setattr__(self, "group_by", keys_of(self.group_by, self.kind))
        if not self.name:
            by = ", ".join(key.column for key in self.group_by)
            about = f"{self.kind} of {self.column}" if self.column else self.kind
            object.__setattr__(self, "name", f"{about} by {by}" if by else about)
        if len({key.column for key in self.group_by}) != len(self.group_by):
            raise InvalidParameterError(
                "group_by", [key.column for key in self.group_by], "to name each column once"
            )
        if math.prod(len(key.labels) for key in self.group_by) > MOST_GROUPS:
            raise PlanError(
                f"{self.name!r} has more than {MOST_GROUPS} groups: declare fewer keys."
            )
        positive("weight", self.weight)
        if self.sigma is not None:
            positive("sigma", self.sigma)
        if self.kind in ("count", "persons", "histogram"):
            self._check_plain()
        else:
            self._check_numbers()
        if self.public_n is not None:
            positive_integer("public_n", self.public_n)
            if self.kind not in ("mean", "variance") or self.group_by:
                raise PlanError(
                    f"{self.name!r} cannot use public_n: it is the number of values of an ungrouped mean or variance."
                )
        if self.expected_n is not None:
            positive_integer("expected_n", self.expected_n)
            if self.kind not in ("mean", "variance") or self.public_n is not None:
                raise PlanError(
                    f"{self.name!r} cannot use expected_n: it is for means and variances without public_n."
                )
        if self.sigma is not None and not (
            self.kind in ("count", "persons", "sum", "histogram") or self.is_shifted_sum
        ):
            raise PlanError(
                f"{self.name!r} has no noise of its own alone: declare a weight instead of sigma, or public_n."
            )

    def _check_plain(self) -> None:
        if self.column is not None:
            raise PlanError(
                f"{self.name!r} ({self.kind}) uses no column; for a histogram declare group_by = {{column = keys}}."
            )
        if self.kind == "histogram" and not self.group_by:
            raise PlanError(
                f"{self.name!r} has no keys: declare group_by = {{column = [keys]}} or {{column = {{edges = […]}}}}."
            )
        given = [
            name
            for name in ("lower", "upper", "pitch", "missing")
            if getattr(self, name) is not None
        ]
        if given:
            raise PlanError(f"{self.name!r} ({self.kind}) has no use for {', '.join(given)}.")

    def _check_numbers(self) -> None:
        wanted = {
            "column": "the column of numbers",
            "lower": "the smallest value that counts as itself",
            "upper": "the largest value that counts as itself",
            "pitch": "the pitch of the public lattice that values are rounded to",
            "missing": 'what null and NaN count as: "drop" or a number',
        }
        for name, meaning in wanted.items():
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
        if max(abs(lower), abs(upper)) / pitch > LARGEST_INDEX:
            raise InvalidParameterError(
                "pitch", pitch, f"to divide the bounds of {self.name!r} into at most 2^50 places"
            )
        if not _place(lower, pitch) < _place(upper, pitch):
            raise InvalidParameterError(
                "pitch",
                pitch,
                f"to put {lower!r} and {upper!r} at different places; take a smaller pitch",
            )
        if (
            self.kind == "variance"
            and (_place(upper, pitch) - _place(lower, pitch)) ** 2 > LARGEST_CELL
        ):
            raise InvalidParameterError(
                "pitch",
                pitch,
                f"to be larger: the squares of {self.name!r} would not fit 64-bit integers",
            )

    @property
    def is_shifted_sum(self) -> bool:
        """Whether the value is one noisy sum up to public numbers."""
        return self.kind == "mean" and self.public_n is not None

    @property
    def values(self) -> Values | None:
        """The column on its lattice, for sums, means and variances."""
        if self.column is None:
            return None
        missing: Any = self.missing if self.missing == "drop" else float(cast(float, self.missing))
        lower, upper, pitch = (
            float(cast(float, self.lower)),
            float(cast(float, self.upper)),
            float(cast(float, self.pitch)),
        )
        return Values(self.column, lower, upper, pitch, missing, self.infinite)

    def describe(self) -> dict[str, Any]:
        plain = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "group_by"}
        if (
            self.expected_n is None
        ):  # a plan without it keeps the hash that it had before there was one
            del plain["expected_n"]
        return {**plain, "group_by": [key.describe() for key in self.group_by]}


@dataclass(frozen=True)
class Plan:
    """A release, declared. `table` of `release` may replace the source, so one plan serves any engine.

    `person_is` says in words what a person is ("a patient", "a household"): the ledger holds all plans
    of a data set to it, as to `person` and `relation`. Without `delta` a plan gets its share of the
    ledger's, and cannot be released without one. `dataset` is the ledger's name of the data (by default
    `name`), `max_rows` a public bound on the rows of the table that overflow is checked with, `salt`
    what the choice of a person's rows depends on, `about` what the report says of curator and purpose.

    Guarantees: frozen and complete: whatever the derivation of the sensitivity needs is declared here, or construction fails.
    """

    name: str
    source: Source | None
    relation: Relation
    statistics: tuple[Statistic, ...]
    epsilon: float
    delta: float | None = None
    person: str | None = None
    one_row_per_person: bool = False
    rows_per_person: int | None = None
    groups_per_person: int | None = None
    rows_per_group: int | None = None
    max_rows: int = 10**12
    salt: str = "leastnoise"
    dataset: str | None = None
    postprocess: tuple[str, ...] = ()
    about: Mapping[str, str] = field(default_factory=dict)
    person_is: str = ""

    def __post_init__(self) -> None:
        text("name", self.name)
        if self.dataset is not None:
            text("dataset", self.dataset)
        if self.source is not None and not isinstance(
            self.source, (CsvFile, ParquetFile, DuckDBTable, Connection, Frame)
        ):
            object.__setattr__(self, "source", Frame(self.source))
        if self.relation not in ("add/remove", "replace"):
            raise PlanError(
                'The plan declares no neighbouring relation: declare relation = "add/remove" (one person\'s rows are there or not) '
                'or "replace" (one person\'s rows are replaced by others).'
            )
        object.__setattr__(self, "epsilon", positive("epsilon", self.epsilon))
        if self.epsilon > LARGEST_EPSILON:
            raise InvalidParameterError(
                "epsilon", self.epsilon, f"to be at most {LARGEST_EPSILON:g}: more protects nobody"
            )
        if self.delta is not None:
            object.__setattr__(self, "delta", open_unit("delta", self.delta))
        positive_integer("max_rows", self.max_rows)
        plain_text("salt", self.salt, MOST_TEXT, empty=True)
        self._check_statistics()
        self._check_unit()
        for word in self.postprocess:
            one_of("postprocess", word, POSTPROCESSING)
        object.__setattr__(self, "postprocess", tuple(self.postprocess))
        if "totals" in self.postprocess:
            self._check_totals()
        about = {str(key): str(value) for key, value in dict(self.about).items()}
        for key, value in about.items():
            plain_text(f"about {text('about', key)!r}", value, MOST_ABOUT, empty=True, lines=True)
        object.__setattr__(self, "about", about)

    def _check_statistics(self) -> None:
        statistics = tuple(self.statistics)
        if not statistics or not all(isinstance(statistic, Statistic) for statistic in statistics):
            raise PlanError("The plan asks for nothing: declare at least one [[statistic]].")
        object.__setattr__(self, "statistics", statistics)
        names = [statistic.name for statistic in statistics]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise PlanError(
                f"Two statistics are called {twice[0]!r}: declare a different name for each."
            )

    def _check_unit(self) -> None:
        if not isinstance(self.one_row_per_person, bool):
            raise InvalidParameterError(
                "one_row_per_person", self.one_row_per_person, "to be true or false"
            )
        if self.person_is:
            text("person_is", self.person_is)
        if (self.person is None) != self.one_row_per_person:
            raise PlanError(
                "The plan must say whom it protects: declare person = the column of person ids, or one_row_per_person = true, "
                "and not both."
            )
        bounds = ("rows_per_person", "groups_per_person", "rows_per_group")
        for name in bounds:
            if getattr(self, name) is not None:
                positive_integer(name, getattr(self, name))
        if self.one_row_per_person:
            given = [name for name in bounds if getattr(self, name) is not None]
            if given:
                raise PlanError(f"One row is one person, so {given[0]} is 1: leave it out.")
            if any(statistic.kind == "persons" for statistic in self.statistics):
                raise PlanError(
                    'One row is one person: ask for kind = "count" instead of "persons".'
                )
            return
        text("person", self.person)
        if self.rows_per_person is None:
            raise PlanError(
                "Persons may have many rows: declare rows_per_person = how many rows of one person count at most."
            )
        if self.groups_per_person is None and any(
            statistic.group_by for statistic in self.statistics
        ):
            raise PlanError(
                "Persons may be in many groups: declare groups_per_person = in how many groups of a group_by one person counts "
                "at most."
            )

    def _check_totals(self) -> None:
        """Groups add up to a total only if both are of the same rows.

        With person ids each view keeps rows of its own choice. Of a person with n rows the view without
        groups keeps min(n, rows_per_person); one with groups keeps as many only if no bound on groups
        can bite first: if a person may be in as many groups as they may have rows.
        """
        counts = [s for s in self.statistics if s.kind in ("count", "histogram")]
        total = next((s for s in counts if not s.group_by), None)
        parts = [s for s in counts if s.group_by]
        if total is None or not parts:
            raise PlanError(
                'postprocess = ["totals"] makes counts by group add up to the count of all rows: declare a count '
                "without group_by and one with it, or leave it out."
            )
        if self.one_row_per_person:
            return
        rows, in_groups = int(self.rows_per_person or 1), int(self.groups_per_person or 1)
        every = {part.name: math.prod(len(key.labels) for key in part.group_by) for part in parts}
        for part in parts:
            groups = min(in_groups, every[part.name])
            if min(groups, int(self.rows_per_group or rows)) < rows:
                each = "" if self.rows_per_group is None else f", {self.rows_per_group} in each,"
                raise PlanError(
                    f'postprocess = ["totals"] would spoil both {total.name!r} and {part.name!r}: they are bounded differently. '
                    f"Of a person {rows} rows count in the first, but only those in {groups} groups{each} in the second, so its "
                    f'groups are not the parts of the total. Leave "totals" out, or declare rows_per_person = '
                    f"{min(in_groups, *every.values())} and no rows_per_group."
                )

    @property
    def unit(self) -> str:
        """Whose rows belong together, as the ledger keeps it."""
        return whose_rows(self.person)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        named = [] if self.person is None else [self.person]
        for statistic in self.statistics:
            named += [key.column for key in statistic.group_by]
            named += [] if statistic.column is None else [statistic.column]
        return tuple(dict.fromkeys(named))

    def describe(self) -> dict[str, Any]:
        """The plan as plain JSON data, without passwords and without data."""
        plain = {
            f.name: getattr(self, f.name)
            for f in fields(self)
            if f.name not in ("source", "statistics")
        }
        if not self.person_is:  # plans that do not say it keep the hash they always had
            del plain["person_is"]
        return {
            **plain,
            "postprocess": list(self.postprocess),
            "about": dict(self.about),
            "source": None if self.source is None else self.source.describe(),
            "statistics": [statistic.describe() for statistic in self.statistics],
        }

    @property
    def hash(self) -> str:
        """SHA-256 of the plan."""
        text = json.dumps(self.describe(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode("ascii")).hexdigest()


def whose_rows(person: str | None) -> str:
    """Which rows belong together, in the words in which a ledger keeps it: those with the same value in this column, or none."""
    return "one row a person" if person is None else f"person = {person!r}"


def _place(value: float, pitch: float) -> int:
    """⌊value/pitch + ½⌋ of the decimal numbers as written."""
    return math.floor(Fraction(repr(float(value))) / Fraction(repr(float(pitch))) + Fraction(1, 2))
