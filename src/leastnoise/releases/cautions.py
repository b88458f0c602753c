"""What to know before the numbers of a release are read: rows under keys that nobody declared, values
that are no numbers, and checks that could have seen neither. Computed from the plan and the published
numbers, so it costs no privacy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from leastnoise.digits import above
from leastnoise.releases.estimate import OTHER_ROWS, Row
from leastnoise.releases.keys import Key
from leastnoise.releases.plan import Plan, Statistic
from leastnoise.releases.sensitivity import Answer, bounds

LARGE = 0.05  # share of the rows or persons above which a check is worth a sentence
MOST = 0.5  # the same for bounds, which are meant to bite now and then
SURE = 2.0  # times its ±: a check of nobody is above once in 800, at once its ± it would be once in 40, and a plan has many
BLIND = 0.25  # share of the persons, or rows, that must be enough for a sentence; else the check can tell nothing


@dataclass(frozen=True)
class Caution:
    """A sentence for the reader, and the checks that it comes from."""

    sentence: str
    checks: tuple[Answer, ...]

    def concerns(self, plan: Plan, row: Row) -> bool:
        """Whether the sentence is about a published number: a statistic, or the check itself."""
        if row.check is not None:
            return row.check in self.checks
        asked = next((s for s in plan.statistics if s.name == row.statistic), None)
        return asked is not None and any(_touches(check, asked) for check in self.checks)


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
    said, silent = [], []
    for row in rows:
        if row.check is None:
            continue
        sentence = _sentence(plan, rows, row, row.check)
        if sentence:
            said.append(Caution(sentence, (row.check,)))
        else:
            silent.append(row)
    unsure = [row for row in silent if _is_blind(plan, rows, row)]
    blind = [_blind_to_words(plan, rows, unsure), _blind_to_keys(plan, rows, unsure)]
    return (*said, *(caution for caution in blind if caution is not None))


def _sentence(plan: Plan, rows: Sequence[Row], row: Row, check: Answer) -> str:
    if check.measure == "other keys":
        return _other_keys(plan, rows, row, check.group_by)
    whole = persons(plan, rows)
    people = None if whole is None else whole[0]
    return _unreadable(row, people) if check.measure == "unreadable" else _bounded(row, people)


def _other_keys(plan: Plan, rows: Sequence[Row], row: Row, group_by: tuple[Key, ...]) -> str:
    whole = _whole(plan, rows, row)
    if not _is_large(row, _least_persons(plan, rows, group_by) + row.number if whole is None else whole[0]):
        return ""
    what = row.statistic.split()[0]
    of_all = "" if whole is None else f" of about {max(whole[0], row.number):,.0f}"
    return (
        f"{row.in_words()}{of_all} {what} have a key in {row.group} that is none of the declared ones. What has "
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


# Checks that are quiet because they can see nothing


def _is_blind(plan: Plan, rows: Sequence[Row], row: Row) -> bool:
    """Whether a quarter of all could have an unreadable value, or another key, and nothing would be said."""
    most = _most(plan, rows, row)
    return row.kind in ("unreadable", "other keys") and most is not None and SURE * row.half_width > BLIND * most


def _blind_to_words(plan: Plan, rows: Sequence[Row], unsure: Sequence[Row]) -> Caution | None:
    named = [row for row in unsure if row.kind == "unreadable"]
    if not named:
        return None
    columns = {row.group for row in named}
    dropped = {s.missing == "drop" for s in plan.statistics if s.column in columns}
    ways = (["is left out of its statistics"] if True in dropped else []) + (
        ["counts as the number that the plan puts in place of missing values"] if False in dropped else []
    )
    said = (
        f"Whether the values of {', '.join(row.group for row in named)} could be read as numbers cannot be told: "
        f"{_counted_to(plan, rows, named)}. What cannot be read {' or '.join(ways)}."
    )
    return Caution(said, _checks(named))


def _blind_to_keys(plan: Plan, rows: Sequence[Row], unsure: Sequence[Row]) -> Caution | None:
    named = [row for row in unsure if row.kind == "other keys"]
    if not named:
        return None
    said = (
        f"Whether the keys in {', '.join(row.group for row in named)} are the declared ones cannot be told: "
        f"{_counted_to(plan, rows, named)}. What has another key is in no group."
    )
    return Caution(said, _checks(named))


def _counted_to(plan: Plan, rows: Sequence[Row], unsure: Sequence[Row]) -> str:
    worst = max(unsure, key=lambda row: row.half_width)
    most = max(_most(plan, rows, worst) or 0.0, 0.0)
    about = "about" if _whole(plan, rows, worst) else "at most about"
    counted = f"± {above(worst.half_width, 2)} {worst.statistic.split()[0]}"
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


def persons(plan: Plan, rows: Sequence[Row]) -> tuple[float, float] | None:
    """How many persons the table has, and the ± of that, as far as it is public or published."""
    one_row = plan.one_row_per_person or plan.rows_per_person == 1
    for statistic in plan.statistics:
        if plan.one_row_per_person and statistic.public_n is not None:
            return float(statistic.public_n), 0.0
        if statistic.kind in ("persons", *(["count"] if one_row else [])) and not statistic.group_by:
            return next((row.number, row.half_width) for row in rows if row.statistic == statistic.name)
    if plan.one_row_per_person:
        wholes = (_rows_of(plan, rows, row, row.check.group_by) for row in rows if row.check and row.kind == "other keys")
        return next((whole for whole in wholes if whole is not None), None)
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
    if part.statistic != OTHER_ROWS or part.check is None:
        return persons(plan, rows)
    found = _rows_of(plan, rows, part, part.check.group_by)
    return persons(plan, rows) if found is None and plan.one_row_per_person else found


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
