"""A rehearsal: a whole release on rows that are invented from the plan alone.

Everything is as it will be, the noise, the checks, the pages and the files, but for the rows: no
table is opened, and the budget is that of a scratch ledger, a copy of the real one where there is
one. The result is marked as a rehearsal wherever it is shown.

The invented table has the columns that the plan reads, as text, which every engine reads as it
reads a CSV file. A column is filled evenly with what the plan declares of it: the keys, the bins or
days, the values between the bounds, or what stands in a condition beside its name; some values are
missing. Keys of two columns that are within those of the same third agree about it. Columns that a
formula computes are left to it. Where nothing is declared, numbers are 0 to 100.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from leastnoise.ledger.ledger import Ledger
from leastnoise.optional import required
from leastnoise.releases.plan.formula import Call, Constant, Formula, Value, condition, names_of
from leastnoise.releases.plan.keys import Key
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.reading import Reading
from leastnoise.releases.plan.statistic import Statistic
from leastnoise.releases.record import REHEARSAL
from leastnoise.releases.release import Progress, release
from leastnoise.releases.result import Release

PERSONS = 1000  # where the plan does not say how many there are
_MOST_ROWS = 100_000
_MISSING = 25  # of so many rows one has no value in a column
_MET = 0.25  # the share of the values of a column that are those beside its name in a formula
LACKING_DELTA = 1e-6  # of a plan without a δ, where there is no ledger to take a share from
# Irrational steps fill [0, 1) evenly, those of two columns independently of each other.
_STEPS = tuple(math.sqrt(prime) % 1.0 for prime in (5, 2, 3, 7, 11, 13, 17, 19, 23, 29, 31, 37))

_T = TypeVar("_T")
# From a place in [0, 1), and the row as far as it is filled, to texts of some columns.
Filled = Callable[[float, Mapping[str, str]], dict[str, str]]


def rehearsed(
    plan: Plan, ledger: Ledger | None = None, *, progress: Progress | None = None
) -> Release:
    """A release of the plan on invented rows. No table is read and nothing is spent.

    Args:
        plan: What to rehearse.
        ledger: The ledger it will be released with: a copy of it is charged, so what it would
            refuse is refused; one that it would allow as the last only is rehearsed.
        progress: Is told what is being done and its share in [0, 1].

    Returns:
        The release, marked as a rehearsal; its numbers come from invented rows.

    Raises:
        BudgetExceededError: the ledger would refuse the release.
        PlanError, DesignError: as `release` does.

    Example:
        >>> from leastnoise import Plan, Statistic
        >>> counted = (Statistic("count", group_by={"ward": ["A", "B"]}),)
        >>> plan = Plan("visits", None, "add/remove", counted, 1.0, 1e-6, one_row_per_person=True)
        >>> shown = rehearsed(plan)
        >>> shown.is_private, shown.value("count by ward", "ward = A") > 100
        (False, True)
    """
    table = required("pyarrow", "tables").table(invented(plan))
    with _scratch(plan, ledger) as book:
        done = release(plan, ledger=book, table=table, last=True, progress=progress)
    if ledger is None:  # nobody has declared the budget of the scratch one
        done = replace(done, entry=None, standing=None)
    return replace(done, entropy=REHEARSAL)


@contextmanager
def _scratch(plan: Plan, ledger: Ledger | None) -> Iterator[Ledger]:
    """A copy of the ledger, or a new one that allows the plan and nothing more."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scratch.ledger"
        if ledger is not None:
            ledger.copy_to(path)
        with Ledger(path) as book:
            if ledger is None:
                delta = LACKING_DELTA if plan.delta is None else min(2.0 * plan.delta, 0.9)
                budget = 4.0 * plan.epsilon  # of which a ledger keeps something back
                name = plan.dataset or plan.name
                book.open_dataset(name, epsilon=budget, delta=delta, releases=1)
            yield book


def invented(plan: Plan) -> dict[str, list[str | None]]:
    """Columns of text, made from what is declared."""
    persons, each, groups = _persons(plan)
    columns: dict[str, list[str | None]] = {name: [] for name in plan.columns_read}
    fillers = list(_fillers(plan))
    full = _never_missing(plan)
    for row in range(persons * each):
        person = row // each
        group = person * groups + row % each % groups  # no person has more groups than declared
        filled: dict[str, str] = {}
        for number, (is_key, fill) in enumerate(fillers):
            step = _STEPS[number % len(_STEPS)] * (1 + number // len(_STEPS))
            at = group if is_key else row
            for column, value in fill((at * step) % 1.0, filled).items():
                if column not in filled:
                    filled[column] = value
                    is_there = column in full or (at + 7 * number) % _MISSING > 0
                    columns[column].append(value if is_there else None)
        if plan.person is not None:
            columns[plan.person].append(f"person {person}")
    if not columns:  # a plan that only counts reads none
        columns = {"row": [str(row) for row in range(persons * each)]}
    return columns


def _persons(plan: Plan) -> tuple[int, int, int]:
    """How many persons, rows of each, and groups of each."""
    told = [s.public_n for s in plan.statistics if s.public_n is not None]
    expected = [int(s.expected_n or 0) * _groups(s) for s in plan.statistics]
    most = min(_MOST_ROWS, plan.max_rows)
    wanted = max([*told, *expected], default=0)
    each = 1 if plan.one_row_per_person else min(int(plan.rows_per_person or 1), 4, wanted or 4)
    rows = min(most, wanted or PERSONS * each)
    return max(rows // each, 1), each, min(int(plan.groups_per_person or each), each)


def _groups(statistic: Statistic) -> int:
    return math.prod(len(key.labels) for key in statistic.group_by)


def _never_missing(plan: Plan) -> set[str]:
    """Columns whose number of values the plan states."""
    return {str(s.column) for s in plan.statistics if s.public_n is not None}


def _fillers(plan: Plan) -> Iterator[tuple[bool, Filled]]:
    """What fills the columns, each of them once, and whether with keys."""
    filled = {plan.person} if plan.person is not None else set[str]()
    for key in _keys_in_the_table(plan):
        if key.column not in filled:
            filled.update(key.path_columns)
            yield True, _of_keys(key, _reading(plan, key.column))
    for statistic in plan.statistics:
        column = statistic.column
        is_number = statistic.values is not None
        if is_number and column not in filled and column not in plan.derive:
            filled.add(str(column))
            yield False, _of_values(statistic)
    beside = _beside(plan)
    for column in plan.columns_read:
        if column not in filled:
            kind, values = beside.get(column, ("number", []))
            yield False, _of_kind(column, kind, values, _reading(plan, column))


def _keys_in_the_table(plan: Plan) -> list[Key]:
    """Those of no computed column, the longest paths first."""
    keys = [key for statistic in plan.statistics for key in statistic.group_by]
    read = [key for key in keys if not set(plan.derive).intersection(key.path_columns)]
    return sorted(read, key=lambda one: -len(one.path))


def _reading(plan: Plan, column: str) -> Reading | None:
    return next((one for one in plan.columns if one.column == column), None)


def _of_keys(key: Key, reading: Reading | None) -> Filled:
    if key.is_of_days:
        return _of_days(key, reading)
    if key.edges:
        low, high = float(key.edges[0]), float(key.edges[-1])  # type: ignore[arg-type]
        return lambda place, _: {key.column: f"{low + place * (high - low):.10g}"}
    paths = [_path(key, index) for index in range(len(key.values))]

    fitting: dict[tuple[tuple[str, str], ...], list[dict[str, str]]] = {(): paths}

    def agreeing(place: float, row: Mapping[str, str]) -> dict[str, str]:
        known = tuple((column, row[column]) for column in key.path_columns if column in row)
        if known not in fitting:
            fits = [path for path in paths if path.items() >= set(known)]
            fitting[known] = fits or paths
        return fitting[known][int(place * len(fitting[known]))]

    return agreeing


def _path(key: Key, index: int) -> dict[str, str]:
    """One of the keys, and those that it is within."""
    above = {} if key.within is None else _path(key.within, key.under[index])
    return {**above, key.column: _text(key.values[index])}


def _of_days(key: Key, reading: Reading | None) -> Filled:
    days = [edge for edge in key.edges if isinstance(edge, date)]
    first = days[0] if days else date(2025, 1, 1)
    count = (days[-1] - first).days if days else 7
    return lambda place, _: {key.column: _written(first + timedelta(int(place * count)), reading)}


def _of_values(statistic: Statistic) -> Filled:
    """Values between the bounds, on the lattice."""
    low, high, pitch = (
        float(one) for one in (statistic.lower, statistic.upper, statistic.pitch) if one is not None
    )
    places, column = max(round((high - low) / pitch), 1), str(statistic.column)
    return lambda place, _: {column: f"{low + round(place * places) * pitch:.10g}"}


def _of_kind(column: str, kind: str, values: list[Value], reading: Reading | None) -> Filled:
    """A column that only formulas read: the values that stand beside its name, and around them."""
    if kind == "truth":
        return lambda place, _: {column: "true" if place < 0.5 else "false"}
    if kind == "text":
        words = [value for value in values if isinstance(value, str)] + ["another"]
        return lambda place, _: {column: words[int(place * len(words))]}
    if kind in ("date", "time"):
        return _around_days(column, [one for one in values if isinstance(one, date)], reading)
    return _around_numbers(column, [float(one) for one in values if isinstance(one, int | float)])


def _around_days(column: str, days: list[date], reading: Reading | None) -> Filled:
    known = sorted(_day(day).toordinal() for day in days) or [date(2025, 7, 1).toordinal()]
    first, last = max(known[0] - 180, 1), min(known[-1] + 180, date.max.toordinal())

    def day(place: float, _: Mapping[str, str]) -> dict[str, str]:
        at = _in_or_around(place, known, lambda part: first + int(part * (last - first)))
        return {column: _written(date.fromordinal(at), reading)}

    return day


def _around_numbers(column: str, numbers: list[float]) -> Filled:
    low, high = 2.0 * min([0.0, *numbers]), 2.0 * max([0.0, *(numbers or [50.0])])
    if low == high:  # which are 0 then
        low, high = -1.0, 1.0

    def number(place: float, _: Mapping[str, str]) -> dict[str, str]:
        at = _in_or_around(place, numbers, lambda part: float(f"{low + part * (high - low):.4g}"))
        return {column: f"{at:.15g}"}

    return number


def _in_or_around(place: float, known: Sequence[_T], around: Callable[[float], _T]) -> _T:
    """Every fourth time one of those that are known, so that equality is met too."""
    if known and place < _MET:
        return known[int(place / _MET * len(known))]
    return around((place - _MET) / (1.0 - _MET) if known else place)


def _beside(plan: Plan) -> dict[str, tuple[str, list[Value]]]:
    """What formulas read each column as, and the values that stand in the same formulas."""
    found: dict[str, tuple[str, list[Value]]] = {
        reading.column: (reading.kind, []) for reading in plan.columns
    }
    for formula in plan.conditions:
        _note(condition(formula, plan.kinds, "where"), found)
    for formula in plan.formulas.values():
        _note(formula, found)
    return found


def _note(formula: Formula, found: dict[str, tuple[str, list[Value]]]) -> None:
    for name in names_of(formula):
        kind, values = found.get(name.column, (name.kind or "number", []))
        found[name.column] = (kind, values + list(_constants(formula, kind)))


def _constants(formula: Formula, kind: str) -> Iterator[Value]:
    if isinstance(formula, Constant):
        if formula.kind == kind or {formula.kind, kind} == {"date", "time"}:
            yield formula.value
    elif isinstance(formula, Call):
        for part in formula.parts:
            yield from _constants(part, kind)


def _text(value: str | float | bool) -> str:
    return value if isinstance(value, str) else str(value).lower()


def _day(value: date) -> date:
    return value.date() if isinstance(value, datetime) else value


def _written(day: date, reading: Reading | None) -> str:
    """A day as the column writes it, at noon where that is asked."""
    text = "YYYY-MM-DD" if reading is None else reading.format
    shown = {"YYYY": f"{day.year:04}", "MM": f"{day.month:02}", "DD": f"{day.day:02}"}
    for field, digits in {**shown, "hh": "12", "mm": "00", "ss": "00"}.items():
        text = text.replace(field, digits)
    return text
