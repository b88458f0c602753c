"""The plan of a release: everything that is decided before the data are touched, as Python objects
or as a TOML file.

Nothing here is read off the private data. What privacy needs and the plan does not say is a
PlanError that says what to declare:

    name = "clinic-2024"
    epsilon = 1.0
    delta = 1e-9                  # or left out: its share of the ledger's
    advantage = 0.2               # a cap on the attacker's advantage too; may be left out
    relation = "add/remove"       # neighbouring tables differ in one person's rows;
                                  # "replace": those rows are others
    person = "patient_id"         # or one_row_per_person = true
    person_is = "a patient"       # in words, for the ledger; may be left out
    rows_per_person = 8           # contribution bounds, enforced in the engine
    groups_per_person = 2         # with any group_by or histogram
    [source]
    csv = "visits.csv"            # or parquet = …, duckdb = … with table = …,
                                  # connection = "env:NAME" with table = …
    [[statistic]]
    kind = "mean"                 # count, persons, distinct, sum, mean, variance, histogram,
                                  # quantile, median
    column = "stay_days"
    lower = 0                     # clipping bounds, and the pitch of the public lattice that
    upper = 60                    # values are snapped to
    pitch = 0.5
    missing = "drop"              # null, NaN, unreadable text: "drop", or the number to put in
                                  # their place
    group_by = { ward = ["A", "B", "C"] }    # declared keys; all other keys are one group more;
                                  # or "discover", where they are not known
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal

from leastnoise.errors import (
    InvalidParameterError,
    PlanError,
    one_of,
    open_unit,
    plain_text,
    positive,
    positive_integer,
)
from leastnoise.files.canonical import digest
from leastnoise.releases.plan.formula import (
    Formula,
    Kind,
    columns_of,
    condition,
    parsed,
    typed,
    written,
)
from leastnoise.releases.plan.keys import Key, is_discovered
from leastnoise.releases.plan.lookup import Lookup
from leastnoise.releases.plan.reading import Reading, readings_of
from leastnoise.releases.plan.source import MOST_TEXT, Frame, Source, text
from leastnoise.releases.plan.statistic import Statistic

Relation = Literal["add/remove", "replace"]
Goal = Literal["mean", "largest"]
GOALS = ("mean", "largest")
POSTPROCESSING = ("non-negative", "integer", "totals")
LARGEST_EPSILON = 50.0  # e^50 = 5e21
MOST_ABOUT = 10_000  # characters of a text in [about], which may have lines
_BOUNDS = ("rows_per_person", "groups_per_person", "rows_per_group")


@dataclass(frozen=True)
class Plan:
    """A release, declared. `table` of `release` may replace the source: one plan for any engine.

    Attributes:
        name: What the release is called.
        source: Where the table is: a file, a table of a database, a frame; None where `release` is
            given one.
        relation: Which tables are neighbours: "add/remove" (one person's rows are there or not) or
            "replace" (they are replaced by others).
        statistics: What is released, each with a name of its own.
        epsilon: The privacy loss ε allowed, at most 50.
        delta: The probability with which ε may be exceeded, in (0, 1), far below one over the
            number of persons. Without one a plan gets its share of the ledger's, and cannot be
            released without a ledger.
        person: The column whose value says whom a row belongs to. Rows without one do not count.
        one_row_per_person: Whether every row is another person; in the place of `person`.
        rows_per_person: How many rows of one person count at most, in a grouping.
        groups_per_person: In how many groups of a grouping one person counts at most.
        rows_per_group: How many rows of one person count at most in one group; by default all that
            `rows_per_person` lets in.
        max_rows: A public bound on the rows of the table, which overflow is checked with.
        salt: What the choice of a person's rows depends on, beside those rows.
        dataset: The ledger's name of the data, by default `name`.
        postprocess: What is done to the noisy numbers: "non-negative", "integer" and "totals"
            (counts by group add up to the count of all).
        about: What the report says of curator and purpose: title, curator, description, ….
        person_is: In words what a person is ("a patient", "a household"): the ledger holds all
            plans of a data set to it, as to `person` and `relation`.
        advantage: A cap beside ε, in (0, 1), on the attacker's advantage: from even odds they guess
            right at most (1 + advantage)/2 of the time whether one given person is in the table.
            None: (ε, δ) is all that is promised.
        goal: What is made small where a table is published with its margins: "mean", the mean of
            the variances of its statistics, or "largest", the largest of them.
        where: Which rows count at all, as a formula such as "admitted >= 2025-01-01"; see
            `docs/formats.md`. Without one all do.
        columns: What columns hold where their use does not say it, and how days are written:
            `Reading` objects, or a table such as {"smoker": "truth"}.
        derive: Columns that are computed from those of the table, row by row: a table of names and
            formulas, such as {"bmi": "weight / (height * height)"}, each of which may use those
            before it.
        lookups: Public tables with one row a key, whose columns the rows of that key get: `Lookup`
            objects. Formulas, keys and statistics may use them.

    Raises:
        PlanError: something that privacy needs is not declared, or contradicts itself.
        InvalidParameterError: a declared number or text is outside its range.

    Guarantees: frozen and complete: whatever the derivation of the sensitivity needs is declared
    here, or construction fails.

    Example:
        >>> counted = (Statistic("count"),)
        >>> Plan("clinic", None, "add/remove", counted, 1.0, 1e-9, one_row_per_person=True).unit
        'one row a person'
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
    goal: Goal = "mean"
    where: str = ""
    columns: tuple[Reading, ...] = ()
    derive: Mapping[str, str] = field(default_factory=dict)
    advantage: float | None = None
    lookups: tuple[Lookup, ...] = ()

    def __post_init__(self) -> None:
        text("name", self.name)
        if self.dataset is not None:
            text("dataset", self.dataset)
        if self.source is not None and not isinstance(self.source, Source):
            object.__setattr__(self, "source", Frame(self.source))
        if self.relation not in ("add/remove", "replace"):
            raise PlanError(
                'The plan declares no neighbouring relation: declare relation = "add/remove" (one '
                "person's rows are there or not) or \"replace\" (one person's rows are replaced by "
                "others)."
            )
        object.__setattr__(self, "epsilon", positive("epsilon", self.epsilon))
        if self.epsilon > LARGEST_EPSILON:
            expected = f"to be at most {LARGEST_EPSILON:g}: more protects nobody"
            raise InvalidParameterError("epsilon", self.epsilon, expected)
        if self.delta is not None:
            object.__setattr__(self, "delta", open_unit("delta", self.delta))
        if self.advantage is not None:
            object.__setattr__(self, "advantage", open_unit("advantage", self.advantage))
        positive_integer("max_rows", self.max_rows)
        plain_text("salt", self.salt, MOST_TEXT, empty=True)
        self._check_statistics()
        self._check_formulas()
        self._check_unit()
        self._check_discovered()
        for word in self.postprocess:
            one_of("postprocess", word, POSTPROCESSING)
        object.__setattr__(self, "postprocess", tuple(self.postprocess))
        one_of("goal", self.goal, GOALS)
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
        told = [s.name for s in statistics if s.public_n is not None]
        if told and self.relation == "add/remove":
            raise PlanError(
                f"{told[0]!r} declares public_n where persons are added or removed: tables that "
                "are told apart then have that number of values both, so one person less is "
                "another more, and the answer moves by twice as much as the noise is for. Declare "
                'relation = "replace", or leave public_n out.'
            )

    def _check_formulas(self) -> None:
        """Every formula is read and has the kinds it needs; each gets its one spelling."""
        object.__setattr__(self, "columns", readings_of(self.columns))
        if not isinstance(self.derive, Mapping):
            raise PlanError("[derive] is a table: declare in it name = a formula, in quotes.")
        written_down = {text("derive", name): f"{formula}" for name, formula in self.derive.items()}
        for name, formula in written_down.items():
            written_down[name] = written(parsed(formula, f"[derive] {name}"))
        object.__setattr__(self, "derive", written_down)
        object.__setattr__(self, "lookups", tuple(self.lookups))
        self._check_lookups()
        self._check_names()
        if self.where != "":
            object.__setattr__(self, "where", written(parsed(self.where, "where")))
            condition(parsed(self.where, "where"), self.kinds, "where")
        for statistic in self.statistics:
            if statistic.condition is not None:
                condition(statistic.condition, self.kinds, f"where of {statistic.name!r}")

    def _check_lookups(self) -> None:
        """What is looked up is new, and by a column of the table itself."""
        names = [name for lookup in self.lookups for name in lookup.columns]
        taken = [self.person, *self.derive, *(reading.column for reading in self.columns)]
        for name in names:
            if name in taken or names.count(name) > 1:
                raise PlanError(f"The lookup column {name!r} has the name of another: rename it.")
        for lookup in self.lookups:
            if lookup.on in {*names, *self.derive}:
                raise PlanError(
                    f"The lookup on {lookup.on!r} is by a column of the table, and by no computed "
                    "one."
                )

    @property
    def computed(self) -> tuple[str, ...]:
        """The columns that the table itself does not have."""
        return (*(name for lookup in self.lookups for name in lookup.columns), *self.derive)

    def _check_names(self) -> None:
        """Derived columns are new ones, of kinds that are known; the person is none of them."""
        read = {reading.column for reading in self.columns}
        for name in self.derive:
            if name == self.person or name in read:
                raise PlanError(
                    f"[derive] {name} is the name of a column of the table: give it another."
                )
        if len(read) != len(self.columns):
            raise PlanError("[columns] says twice what a column holds.")
        self.kinds  # noqa: B018  # what is wrong with a formula is said there

    @cached_property
    def kinds(self) -> dict[str, Kind]:
        """What the columns hold, as far as it is declared or computed."""
        found: dict[str, Kind] = {reading.column: reading.kind for reading in self.columns}
        found |= {name: kind for lookup in self.lookups for name, kind in lookup.kinds.items()}
        for name, formula in self.formulas.items():
            what = f"[derive] {name}"
            unknown = set(columns_of(formula)) & set(self.derive) - set(found)
            if unknown:
                raise PlanError(f"{what} uses {min(unknown)!r} before it is computed.")
            found[name] = typed(formula, found, what)[1]
        return found

    @cached_property
    def formulas(self) -> dict[str, Formula]:
        """The derived columns."""
        return {name: parsed(one, f"[derive] {name}") for name, one in self.derive.items()}

    @property
    def readings(self) -> dict[str, Reading]:
        return {reading.column: reading for reading in self.columns}

    @property
    def condition(self) -> Formula | None:
        """Which rows count at all; None for all of them."""
        return parsed(self.where, "where") if self.where else None

    @property
    def may_drop_rows(self) -> bool:
        """Whether a person's only row may count nowhere."""
        return bool(self.complete_keys) or bool(self.where)

    def _check_unit(self) -> None:
        if not isinstance(self.one_row_per_person, bool):
            raise InvalidParameterError(
                "one_row_per_person", self.one_row_per_person, "to be true or false"
            )
        if self.person_is:
            text("person_is", self.person_is)
        if (self.person is None) != self.one_row_per_person:
            raise PlanError(
                "The plan must say whom it protects: declare person = the column of person ids, "
                "or one_row_per_person = true, and not both."
            )
        given = [name for name in _BOUNDS if getattr(self, name) is not None]
        for name in given:
            positive_integer(name, getattr(self, name))
        if self.one_row_per_person:
            self._check_one_row(given)
        else:
            self._check_many_rows()

    def _check_one_row(self, given: list[str]) -> None:
        if given:
            raise PlanError(f"One row is one person, so {given[0]} is 1: leave it out.")
        if any(statistic.kind == "persons" for statistic in self.statistics):
            raise PlanError('One row is one person: ask for kind = "count" instead of "persons".')

    def _check_many_rows(self) -> None:
        text("person", self.person)
        if self.rows_per_person is None:
            raise PlanError(
                "Persons may have many rows: declare rows_per_person = how many rows of one "
                "person count at most."
            )
        is_grouped = any(statistic.group_by for statistic in self.statistics)
        if self.groups_per_person is None and is_grouped:
            raise PlanError(
                "Persons may be in many groups: declare groups_per_person = in how many groups of "
                "a group_by one person counts at most."
            )

    def _check_discovered(self) -> None:
        """Which keys are shown is decided by a number that is published too."""
        counted = set(self.discovering)
        for statistic in self.statistics:
            for key in statistic.group_by:
                if key.discover and key not in counted:
                    kind = "count" if self.one_row_per_person else "persons"
                    raise PlanError(
                        f"{statistic.name!r} discovers the keys of {key.column!r}: how many "
                        "persons have a key decides whether it is shown, so that is measured; "
                        f'declare it as a statistic too, kind = "{kind}" with the same group_by '
                        f"by {key.column!r} alone, and without where."
                    )
        self._check_ranked()
        for statistic in self.discovering.values():
            if statistic.sigma is not None:
                raise PlanError(
                    f"{statistic.name!r} decides which keys are shown: its noise follows from the "
                    "budget. Declare a weight instead of sigma."
                )
        if self.discovering and "totals" in self.postprocess:
            raise PlanError(
                'postprocess = ["totals"] is for groups that are all known: leave it out where '
                "keys are discovered."
            )

    def _check_ranked(self) -> None:
        """A tree of counts is laid out before a key is found."""
        for statistic in self.statistics:
            if statistic.kind == "quantile" and is_discovered(statistic.group_by):
                raise PlanError(
                    f"{statistic.name!r} asks for quantiles by keys that are not known: declare "
                    "the keys, or ask in a second release for the keys that the first one shows."
                )

    @property
    def discovering(self) -> dict[Key, Statistic]:
        """The keys that are not known, with the statistic that counts the persons of each."""
        kinds = ("persons", "count", "histogram") if self.one_row_per_person else ("persons",)
        counts = [s for s in self.statistics if s.kind in kinds and not s.where]
        single = [s for s in counts if len(s.group_by) == 1 and s.group_by[0].discover]
        return {s.group_by[0]: s for s in reversed(single)}

    def _check_totals(self) -> None:
        """Groups add up to a total only if both are of the same rows."""
        kinds = ("count", "histogram")
        counts = [s for s in self.statistics if s.kind in kinds and not s.where]
        total = next((s for s in counts if not s.group_by), None)
        parts = [s for s in counts if s.group_by]
        if total is None or not parts:
            raise PlanError(
                'postprocess = ["totals"] makes counts by group add up to the count of all rows: '
                "declare a count without group_by and one with it, or leave it out."
            )
        if not self.one_row_per_person:
            self._check_same_rows(total, parts)

    def _check_same_rows(self, total: Statistic, parts: list[Statistic]) -> None:
        """With person ids each view keeps rows of its own choice. Of a person with n rows the view
        without groups keeps min(n, rows_per_person); one with groups keeps as many only if no bound
        on groups can bite first: if a person may be in as many groups as they may have rows."""
        rows, in_groups = int(self.rows_per_person or 1), int(self.groups_per_person or 1)
        every = {part.name: math.prod(len(key.labels) for key in part.group_by) for part in parts}
        for part in parts:
            groups = min(in_groups, every[part.name])
            if min(groups, int(self.rows_per_group or rows)) < rows:
                each = "" if self.rows_per_group is None else f", {self.rows_per_group} in each,"
                raise PlanError(
                    f'postprocess = ["totals"] would spoil both {total.name!r} and {part.name!r}: '
                    f"they are bounded differently. Of a person {rows} rows count in the first, "
                    f"but only those in {groups} groups{each} in the second, so its groups are not "
                    f"the parts of the total. {_leave_totals_out(self.rows_per_group)}, or declare "
                    f"rows_per_person = {min(in_groups, *every.values())} and no rows_per_group."
                )

    @property
    def unit(self) -> str:
        """Whose rows belong together, as the ledger keeps it."""
        return whose_rows(self.person)

    @property
    def complete_keys(self) -> tuple[Key, ...]:
        """The declared keys beside which no other counts anywhere."""
        named = (key for statistic in self.statistics for key in statistic.group_by)
        return tuple(dict.fromkeys(key for key in named if key.complete))

    @property
    def columns_read(self) -> tuple[str, ...]:
        """The columns of the table that are read."""
        named = [] if self.person is None else [self.person]
        for statistic in self.statistics:
            named += [column for key in statistic.group_by for column in key.path_columns]
            named += [] if statistic.column is None else [statistic.column]
        for formula in (*self.formulas.values(), *self.conditions):
            named += columns_of(formula)
        named += [lookup.on for lookup in self.lookups]
        return tuple(name for name in dict.fromkeys(named) if name not in self.computed)

    @property
    def conditions(self) -> tuple[Formula, ...]:
        """Every condition on rows, of the plan and of its statistics."""
        found = (self.condition, *(statistic.condition for statistic in self.statistics))
        return tuple(one for one in found if one is not None)

    def describe(self) -> dict[str, Any]:
        """The plan as plain JSON data, without passwords and without data."""
        names = [f.name for f in fields(self) if f.name not in ("source", "statistics")]
        plain = {name: getattr(self, name) for name in names}
        plain["columns"] = {reading.column: reading.describe() for reading in self.columns}
        plain["lookups"] = [lookup.describe() for lookup in self.lookups]
        # Plans that do not say it keep the hash they always had.
        for name in ("where", "columns", "derive", "lookups", "person_is"):
            if not plain[name]:
                del plain[name]
        if self.goal == "mean":
            del plain["goal"]
        if self.advantage is None:
            del plain["advantage"]
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
        return digest(self.describe())


def whose_rows(person: str | None) -> str:
    """Which rows belong together, in the words in which a ledger keeps it: those with the same
    value in this column, or none."""
    return "one row a person" if person is None else f"person = {person!r}"


def _leave_totals_out(rows_per_group: int | None) -> str:
    """What to do about totals of rows that are bounded differently. Where no grouping bounds the
    rows of a group, one choice of rows serves all of them."""
    told = "" if rows_per_group else ": the counts are then of one choice of rows, and add up so"
    return f'Leave "totals" out{told}'
