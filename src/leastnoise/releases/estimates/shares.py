"""How many there are, as far as it is published, and how many of them a check may be about.
Computed from the plan and the published numbers, so it costs no privacy.

Each person is counted under one check only (see `sensitivity`). What a check counts is therefore at
most the number it is named after, but for noise: others whom its name fits may be counted under a
check that comes before it, or that a digest chose. So it is a lower end, and with all of those
together it is an upper one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from leastnoise.releases.estimates.row import ReleasedRow
from leastnoise.releases.noise.sensitivity import ONCE, Answer, contribution_bounds, turn
from leastnoise.releases.plan.keys import Key
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.statistic import Statistic

# times its ±: a check of nobody is above once in 800, at once its ± it would be once in 40, and a
# plan has many
SURE = 2.0


# Whom a check may not count because another one does


def hiding(plan: Plan, rows: Sequence[ReleasedRow], row: ReleasedRow) -> list[ReleasedRow]:
    """The checks under which persons may be counted whom this one is about: those that come before
    it, or in the same turn."""
    own = row.check
    if own is None or own.measure not in ONCE:
        return []
    others = [(one, one.check) for one in rows if one.check is not None and one.check != own]
    return [one for one, check in others if check.measure in ONCE and _may_hide(plan, check, own)]


def _may_hide(plan: Plan, first: Answer, then: Answer) -> bool:
    if plan.one_row_per_person and first.measure == "unreadable" and first.column == then.column:
        return False  # one value is no number, or beyond its bounds
    return turn(first) <= turn(then)


def with_hidden(plan: Plan, rows: Sequence[ReleasedRow]) -> tuple[ReleasedRow, ...]:
    """The rows; the interval of a check that others may hide holds what it is named after."""
    return tuple(_with_hidden(plan, rows, row) for row in rows)


def _with_hidden(plan: Plan, rows: Sequence[ReleasedRow], row: ReleasedRow) -> ReleasedRow:
    cells = [row, *hiding(plan, rows, row)]
    if len(cells) == 1:
        return row
    upper = max(row.upper, sum(map(before_processing, cells)) + width_of_sum(cells))
    everybody = persons(plan, rows)
    if everybody is not None:
        # Beyond SURE times the ± once in 800. That is within 5 %: a sum of two cells is beyond √2
        # times their ± in 4.5 %.
        upper = min(upper, everybody[0] + SURE * everybody[1])
    return replace(
        row, interval=(row.lower, float(math.floor(max(upper, row.number, 0.0)))), is_hidden=True
    )


def width_of_sum(cells: Sequence[ReleasedRow]) -> float:
    """95 % half-width of a sum of checks: independent noise, whose sums are closer to normal."""
    return math.sqrt(len(cells)) * max(row.half_width for row in cells)


# How many there are


def _counts(
    plan: Plan, rows: Sequence[ReleasedRow], group_by: tuple[Key, ...]
) -> list[ReleasedRow]:
    """The numbers of rows in the declared groups of a grouping, where they are published."""
    for statistic in plan.statistics:
        is_count = statistic.kind in ("count", "histogram") and not statistic.where
        if is_count and statistic.group_by == group_by:
            found = [r for r in rows if r.check is None and r.statistic == statistic.name]
            return found if all(row.value is not None for row in found) else []
    return []


def people(plan: Plan, rows: Sequence[ReleasedRow]) -> float | None:
    """How many persons the table has, but for noise, as far as it is public or published."""
    known = persons(plan, rows)
    return None if known is None else known[0]


def persons(plan: Plan, rows: Sequence[ReleasedRow]) -> tuple[float, float] | None:
    """How many persons the table has, and the ± of that, as far as it is public or published."""
    total = _total(plan, rows)
    if total is None and plan.one_row_per_person:
        checks = ((row, row.check) for row in rows if row.check and row.kind == "other keys")
        others = ((row, check) for row, check in checks if check.where is None)
        wholes = (_rows_of(plan, rows, row, check.group_by) for row, check in others)
        return next((whole for whole in wholes if whole is not None), None)
    return total


def _total(plan: Plan, rows: Sequence[ReleasedRow]) -> tuple[float, float] | None:
    """The same, as far as it is one number."""
    one_row = plan.one_row_per_person or plan.rows_per_person == 1
    kinds = ("persons", "count") if one_row else ("persons",)
    for asked in plan.statistics:
        if plan.one_row_per_person and asked.public_n is not None and asked.missing != "drop":
            return float(asked.public_n), 0.0
        if asked.kind in kinds and _is_of_all(asked):
            return next((row.number, row.half_width) for row in rows if row.statistic == asked.name)
    return None


def _is_of_all(asked: Statistic) -> bool:
    """Whether a number of rows or persons is that of all of them, and is shown."""
    return not (asked.group_by or asked.where or asked.suppress_below)


def _rows_of(
    plan: Plan, rows: Sequence[ReleasedRow], other: ReleasedRow, group_by: tuple[Key, ...]
) -> tuple[float, float] | None:
    """How many rows a grouping has, other keys among them, and its ±, where counts are public."""
    declared = _counts(plan, rows, group_by)
    if not declared:
        return None
    parts = [*declared, other]
    return sum(row.number for row in parts), sum(row.half_width for row in parts)


def whole_of(
    plan: Plan, rows: Sequence[ReleasedRow], part: ReleasedRow
) -> tuple[float, float] | None:
    """What a check counts a part of: all rows of its grouping, or all persons."""
    if part.check is None or part.check.measure != "rows" or part.check.where is not None:
        return persons(plan, rows)
    total = _total(plan, rows) if plan.one_row_per_person else None
    found = _rows_of(plan, rows, part, part.check.group_by) if total is None else total
    return persons(plan, rows) if found is None and plan.one_row_per_person else found


def from_total(plan: Plan, rows: Sequence[ReleasedRow], part: ReleasedRow) -> ReleasedRow:
    """The rows with other keys: all rows less those in the declared groups, where that is known
    better than their cell.

    Where one row is one person every row is in a declared group or in that cell.
    """
    check = part.check
    is_of_all = check is not None and check.measure == "rows" and check.where is None
    if check is None or not is_of_all or not plan.one_row_per_person:
        return part
    total, declared = _total(plan, rows), _counts(plan, rows, check.group_by)
    if total is None or not declared:
        return part
    width = total[1] + sum(row.half_width for row in declared)
    number = total[0] - sum(before_processing(row) for row in declared)
    is_better = width < part.half_width
    return replace(part, value=number, half_width=width, interval=None) if is_better else part


def before_processing(row: ReleasedRow) -> float:
    """What is put at zero adds up, so sums are of the values before it."""
    return row.number if row.unprocessed is None else row.unprocessed


def most_of(plan: Plan, rows: Sequence[ReleasedRow], part: ReleasedRow) -> float | None:
    """No more than this there are, but for noise: a person has at least one row."""
    whole = whole_of(plan, rows, part)
    counted = _counts(plan, rows, ())
    return whole[0] if whole is not None else counted[0].number if counted else None


def least_persons(plan: Plan, rows: Sequence[ReleasedRow], group_by: tuple[Key, ...]) -> float:
    """No fewer than this are in the declared groups, but for noise: a person counts there as often
    as the bounds let."""
    limit = contribution_bounds(plan, group_by)
    declared = sum(row.number for row in _counts(plan, rows, group_by))
    return max(declared, 0.0) / min(limit.rows, limit.rows_in_group * limit.groups)


def share(plan: Plan, rows: Sequence[ReleasedRow], part: ReleasedRow) -> tuple[float, float] | None:
    """Between which shares of all persons, or of all rows, a check lies, where their number is
    published.

    Both numbers are taken at the ends of their 95 % intervals: the share is between these in at
    least 90 % of releases. Published numbers alone decide it, so it costs nothing.
    """
    whole = whole_of(plan, rows, part)
    if whole is None or whole[0] <= whole[1]:
        return None
    least, most = whole[0] - whole[1], whole[0] + whole[1]
    lower = max(part.number - part.half_width, 0.0) / most
    upper = part.upper if part.is_hidden else part.number + part.half_width
    return min(lower, 1.0), min(max(upper, 0.0) / least, 1.0)
