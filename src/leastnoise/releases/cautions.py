"""What to know before the numbers of a release are read: rows under keys that nobody declared, values
that are no numbers. Computed from the plan and the published numbers, so it costs no privacy."""

from __future__ import annotations

from collections.abc import Sequence

from leastnoise.digits import above
from leastnoise.releases.estimate import Row, groupings
from leastnoise.releases.keys import Key
from leastnoise.releases.plan import Plan

LARGE = 0.05  # share of the rows or persons above which a check is worth a sentence
BLIND = 0.25  # share of the persons that a check must be able to see to tell anything


def cautions(plan: Plan, rows: Sequence[Row]) -> tuple[str, ...]:
    """Sentences for the reader; none where the checks are quiet."""
    people = _people(plan, rows)
    found = [_other_keys(plan, rows, row, group_by) for row, group_by in _others(plan, rows)]
    found += [_unreadable(row, people) for row in rows if row.kind == "unreadable"]
    found.append(_blind(plan, rows, people))
    return tuple(sentence for sentence in found if sentence)


def _others(plan: Plan, rows: Sequence[Row]) -> list[tuple[Row, tuple[Key, ...]]]:
    """The rows of all other keys, each with its grouping."""
    return list(zip((row for row in rows if row.kind == "other keys"), groupings(plan), strict=False))


def _other_keys(plan: Plan, rows: Sequence[Row], row: Row, group_by: tuple[Key, ...]) -> str:
    declared = _declared(plan, rows, group_by)
    if not _is_large(row, None if declared is None else declared + row.number):
        return ""
    what = row.statistic.split()[0]
    beside = "" if declared is None else f", beside {max(declared, 0.0):,.0f} in all declared groups"
    return (
        f"{_shown(row)} {what} have a key in {row.group} that is none of the declared ones{beside}. "
        "They are in no group. If they should be, the keys are spelt otherwise than declared, or "
        "some are not declared."
    )


def _unreadable(row: Row, people: float | None) -> str:
    if not _is_large(row, people):
        return ""
    of_all = "" if people is None else f" of about {people:,.0f}"
    return (
        f"{_shown(row)}{of_all} persons have a value in {row.group} that could not be read as a "
        "number. It counts as missing: statistics of this column are about the others."
    )


def _blind(plan: Plan, rows: Sequence[Row], people: float | None) -> str:
    """Where unreadable values would be replaced by a number, and too many of them to miss would be missed."""
    filled = {s.column for s in plan.statistics if s.column is not None and s.missing != "drop"}
    unsure = [row for row in rows if row.kind == "unreadable" and row.group in filled]
    if people is None or not unsure or unsure[0].half_width <= BLIND * people:
        return ""
    named = ", ".join(row.group for row in unsure)
    return (
        f"Whether the values of {named} could be read as numbers cannot be told: that is counted "
        f"to ± {above(unsure[0].half_width, 2)} persons, and there are about {people:,.0f}. What "
        "cannot be read counts as the number that the plan puts in place of missing values."
    )


def _is_large(row: Row, whole: float | None) -> bool:
    return row.number > max(row.half_width, LARGE * max(whole or 0.0, 0.0))


def _shown(row: Row) -> str:
    return row.in_words()


def _declared(plan: Plan, rows: Sequence[Row], group_by: tuple[Key, ...]) -> float | None:
    """How many rows are in the declared groups of a grouping, where that is published."""
    for statistic in plan.statistics:
        if statistic.kind in ("count", "histogram") and statistic.group_by == group_by:
            return sum(row.number for row in rows if row.statistic == statistic.name)
    return None


def _people(plan: Plan, rows: Sequence[Row]) -> float | None:
    """How many persons the table has, as far as it is public or published."""
    kind = "count" if plan.one_row_per_person else "persons"
    for statistic in plan.statistics:
        if plan.one_row_per_person and statistic.public_n is not None:
            return float(statistic.public_n)
        if statistic.kind == kind and not statistic.group_by:
            return next(row.number for row in rows if row.statistic == statistic.name)
    if plan.one_row_per_person:
        for row, group_by in _others(plan, rows):
            declared = _declared(plan, rows, group_by)
            if declared is not None:
                return declared + row.number
    return None
