"""What to know before the numbers of a release are read: rows under keys that nobody declared, values
that are no numbers, and checks that could have seen neither. Computed from the plan and the published
numbers, so it costs no privacy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from leastnoise.digits import above, uncertain
from leastnoise.releases.estimate import Row
from leastnoise.releases.keys import Key
from leastnoise.releases.plan import Plan, Statistic
from leastnoise.releases.sensitivity import ONCE, Answer, bounds

LARGE = 0.05  # share of the rows or persons above which a check is worth a sentence
MOST = 0.5  # the same for bounds, which are meant to bite now and then
SURE = 2.0  # times its ±: a check of nobody is above once in 800, at once its ± it would be once in 40, and a plan has many
BLIND = 0.25  # share of the persons, or rows, that must be enough for a sentence; else the check can tell nothing
KINDS = ("unreadable", "other keys")  # checks of what nobody meant; the others are of bounds, which are meant
_LOST = {
    "unreadable": "What cannot be read is left out of its statistics.",
    "other keys": "What has another key is in no group.",
}


@dataclass(frozen=True)
class Caution:
    """A sentence for the reader, and the checks that it comes from."""

    sentence: str
    checks: tuple[Answer, ...]

    def statistics(self, plan: Plan) -> frozenset[str]:
        """The names of the statistics that the sentence is about."""
        return frozenset(s.name for s in plan.statistics if any(_touches(check, s) for check in self.checks))


def beside(plan: Plan, rows: Sequence[Row]) -> list[str]:
    """For each number the sentences that are about it: it is a statistic that they concern, or the check itself."""
    said = [(caution, caution.statistics(plan)) for caution in cautions(plan, rows)]
    return [
        " ".join(
            caution.sentence
            for caution, names in said
            if (row.statistic in names if row.check is None else row.check in caution.checks)
        )
        for row in rows
    ]


def _touches(check: Answer, asked: Statistic) -> bool:
    """Whether what a check counts changes a statistic."""
    if check.measure == "unreadable":
        return asked.column == check.column
    if check.values is not None:
        bounded = (check.values.column, check.values.lower, check.values.upper)
        return (asked.column, asked.lower, asked.upper) == bounded
    if check.group_by:
        return asked.group_by == check.group_by
    return asked.kind != "persons" or bool(asked.group_by)  # who has too many rows is one person all the same


def cautions(plan: Plan, rows: Sequence[Row]) -> tuple[Caution, ...]:
    """What a reader must know; nothing where the checks are quiet and would have spoken."""
    alone = [(row, _sentence(plan, rows, row, row.check)) for row in rows if row.check is not None]
    said = [Caution(sentence, _checks([row])) for row, sentence in alone if sentence]
    silent = [row for row, sentence in alone if not sentence]
    for kind in KINDS:
        known = None if any(check.measure == kind for one in said for check in one.checks) else _together(plan, rows, kind)
        unsure = [row for row in silent if row.kind == kind and _is_blind(plan, rows, row)]
        if known is not None:
            said.append(known)
        elif unsure:
            said.append(_blind(plan, rows, kind, unsure))
    return tuple(said)


def _sentence(plan: Plan, rows: Sequence[Row], row: Row, check: Answer) -> str:
    if row.kind == "other keys":
        return _other_keys(plan, rows, row, check.group_by)
    people = _people(plan, rows)
    return _unreadable(row, people) if row.kind == "unreadable" else _bounded(row, people)


def _other_keys(plan: Plan, rows: Sequence[Row], row: Row, group_by: tuple[Key, ...]) -> str:
    whole = _whole(plan, rows, row)
    better = _from_total(plan, rows, row)
    how = "" if better is row else ", by the number of all rows and those of the declared groups"
    row = better
    if not _is_large(row, _least_persons(plan, rows, group_by) + row.number if whole is None else whole[0]):
        return ""
    what = row.statistic.split()[0]
    of_all = "" if whole is None else f" of about {max(whole[0], row.number):,.0f}"
    return (
        f"{row.in_words()}{of_all} {what} have a key in {row.group} that is none of the declared ones{how}. What has "
        "such a key is in no group. If it should be, the keys are spelt otherwise than declared, or some are not declared."
    )


def _unreadable(row: Row, people: float | None) -> str:
    if not _is_large(row, people):
        return ""
    of_all = "" if people is None else f" of about {people:,.0f}"
    return (
        f"{row.in_words()}{of_all} persons have a value in {row.group} that could not be read as a "
        "number. It counts as missing: statistics of this column are about the others."
    )


def _bounded(row: Row, people: float | None) -> str:
    if people is None or row.number <= max(SURE * row.half_width, MOST * people):
        return ""
    what = f"a value in {row.group} beyond its bounds, which counts as the bound" if row.kind == "clipped" else row.group
    more = "" if row.kind == "clipped" else ", and what is more than that is left out"
    return f"{row.in_words()} of about {people:,.0f} persons have {what}{more}: these numbers are about less than the table holds."


def _is_large(row: Row, whole: float | None) -> bool:
    return row.number > max(SURE * row.half_width, LARGE * max(whole or 0.0, 0.0))


# Many that are a few in each column


def _sharing(rows: Sequence[Row], measure: str) -> list[Row]:
    """The checks among which a person who would be in several is counted once."""
    return [row for row in rows if row.check is not None and row.check.measure == measure and measure in ONCE]


def _width(cells: Sequence[Row]) -> float:
    """95 % half-width of a sum of checks: their noise is independent, and its sums are closer to normal than itself."""
    return math.sqrt(len(cells)) * max(row.half_width for row in cells)


def _together(plan: Plan, rows: Sequence[Row], kind: str) -> Caution | None:
    """Where no column, or grouping, has many persons counted under it, and all of them together have."""
    cells = _sharing(rows, kind)
    if len(cells) < 2:
        return None
    total = sum(_before_processing(row) for row in cells)
    width, people = _width(cells), _people(plan, rows)
    if total <= max(SURE * width, LARGE * max(people or 0.0, 0.0)):
        return None
    value, half = uncertain(total, width, whole=True)
    of_all = "" if people is None else f" of about {max(people, total):,.0f}"
    what = "value that could not be read as a number" if kind == "unreadable" else "key that is none of the declared ones"
    said = f"{value} ± {half}{of_all} persons have a {what} in one of {_named(cells)}. Each is counted under one of them."
    return Caution(f"{said} {_LOST[kind]}", _checks(cells))


# Checks that are quiet because they can see nothing


def _is_blind(plan: Plan, rows: Sequence[Row], row: Row) -> bool:
    """Whether a quarter of all could have an unreadable value, or another key, and nothing would be said."""
    most = _most(plan, rows, row)
    measure = "" if row.check is None else row.check.measure
    row = _from_total(plan, rows, row)
    return most is not None and SURE * _width(_sharing(rows, measure) or [row]) > BLIND * most


def _blind(plan: Plan, rows: Sequence[Row], kind: str, unsure: Sequence[Row]) -> Caution:
    whether = f"the values of {_named(unsure)} could be read as numbers"
    lost = _LOST[kind]
    if kind == "other keys":
        whether = f"the keys in {_named(unsure)} are the declared ones"
    elif any(s.missing != "drop" for s in plan.statistics if s.column in {row.group for row in unsure}):
        lost = "What cannot be read is missing, and where the plan puts a number in the place of missing values it counts as that."
    said = f"Whether {whether} cannot be told: {_counted_to(plan, rows, unsure)}. {lost}"
    return Caution(said, _checks(unsure))


def _named(rows: Sequence[Row]) -> str:
    return ", ".join(row.group for row in rows)


def _counted_to(plan: Plan, rows: Sequence[Row], unsure: Sequence[Row]) -> str:
    worst = max((_from_total(plan, rows, row) for row in unsure), key=lambda row: row.half_width)
    most = max(_most(plan, rows, worst) or 0.0, 0.0)
    about = "about" if _whole(plan, rows, worst) else "at most about"
    measure = "" if worst.check is None else worst.check.measure
    counted = f"± {above(_width(_sharing(rows, measure) or [worst]), 2)} {worst.statistic.split()[0]}"
    return f"that is counted to {counted}, and there are {about} {most:,.0f}"


def _checks(rows: Sequence[Row]) -> tuple[Answer, ...]:
    return tuple(row.check for row in rows if row.check is not None)


# How many there are, as far as it is published


def _counts(plan: Plan, rows: Sequence[Row], group_by: tuple[Key, ...]) -> list[Row]:
    """The numbers of rows in the declared groups of a grouping, where they are published."""
    for statistic in plan.statistics:
        if statistic.kind in ("count", "histogram") and statistic.group_by == group_by:
            return [row for row in rows if row.check is None and row.statistic == statistic.name]
    return []


def _people(plan: Plan, rows: Sequence[Row]) -> float | None:
    known = persons(plan, rows)
    return None if known is None else known[0]


def persons(plan: Plan, rows: Sequence[Row]) -> tuple[float, float] | None:
    """How many persons the table has, and the ± of that, as far as it is public or published."""
    total = _total(plan, rows)
    if total is None and plan.one_row_per_person:
        wholes = (_rows_of(plan, rows, row, row.check.group_by) for row in rows if row.check and row.kind == "other keys")
        return next((whole for whole in wholes if whole is not None), None)
    return total


def _total(plan: Plan, rows: Sequence[Row]) -> tuple[float, float] | None:
    """The same, as far as it is one number."""
    one_row = plan.one_row_per_person or plan.rows_per_person == 1
    for statistic in plan.statistics:
        if plan.one_row_per_person and statistic.public_n is not None:
            return float(statistic.public_n), 0.0
        if statistic.kind in ("persons", *(["count"] if one_row else [])) and not statistic.group_by:
            return next((row.number, row.half_width) for row in rows if row.statistic == statistic.name)
    return None


def _rows_of(plan: Plan, rows: Sequence[Row], other: Row, group_by: tuple[Key, ...]) -> tuple[float, float] | None:
    """How many rows a grouping has, those of other keys among them, and the ± of that, where its counts are published."""
    declared = _counts(plan, rows, group_by)
    if not declared:
        return None
    parts = [*declared, other]
    return sum(row.number for row in parts), sum(row.half_width for row in parts)


def _whole(plan: Plan, rows: Sequence[Row], part: Row) -> tuple[float, float] | None:
    """What a check counts a part of: all rows of its grouping, or all persons."""
    if part.check is None or part.check.measure != "rows":
        return persons(plan, rows)
    total = _total(plan, rows) if plan.one_row_per_person else None
    found = _rows_of(plan, rows, part, part.check.group_by) if total is None else total
    return persons(plan, rows) if found is None and plan.one_row_per_person else found


def _from_total(plan: Plan, rows: Sequence[Row], part: Row) -> Row:
    """The rows with other keys: all rows less those in the declared groups, where that is known better than their cell.

    Where one row is one person every row is in a declared group or in that cell.
    """
    if part.check is None or part.check.measure != "rows" or not plan.one_row_per_person:
        return part
    total, declared = _total(plan, rows), _counts(plan, rows, part.check.group_by)
    if total is None or not declared:
        return part
    width = total[1] + sum(row.half_width for row in declared)
    number = total[0] - sum(_before_processing(row) for row in declared)
    return replace(part, value=number, half_width=width, interval=None) if width < part.half_width else part


def _before_processing(row: Row) -> float:
    """What is put at zero adds up, so sums are of the values before it."""
    return row.number if row.unprocessed is None else row.unprocessed


def _most(plan: Plan, rows: Sequence[Row], part: Row) -> float | None:
    """No more than this there are, but for noise: a person has at least one row."""
    whole = _whole(plan, rows, part)
    counted = _counts(plan, rows, ())
    return whole[0] if whole is not None else counted[0].number if counted else None


def _least_persons(plan: Plan, rows: Sequence[Row], group_by: tuple[Key, ...]) -> float:
    """No fewer than this are in the declared groups, but for noise: a person counts there as often as the bounds let."""
    limit = bounds(plan, group_by)
    declared = sum(row.number for row in _counts(plan, rows, group_by))
    return max(declared, 0.0) / min(limit.rows, limit.rows_in_group * limit.groups)


def share(plan: Plan, rows: Sequence[Row], part: Row) -> tuple[float, float] | None:
    """Between which shares of all persons, or of all rows, a check lies, where their number is published.

    Both numbers are taken at the ends of their 95 % intervals: the share is between these in at
    least 90 % of releases. Published numbers alone decide it, so it costs nothing.
    """
    whole = _whole(plan, rows, part)
    if whole is None or whole[0] <= whole[1]:
        return None
    least, most = whole[0] - whole[1], whole[0] + whole[1]
    lower = max(part.number - part.half_width, 0.0) / most
    return min(lower, 1.0), min(max(part.number + part.half_width, 0.0) / least, 1.0)
