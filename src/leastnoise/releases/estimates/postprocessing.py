"""The declared post-processing: not below zero, whole, adding up. It costs no privacy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from leastnoise.releases.estimates.row import CHECKS, ReleasedRow
from leastnoise.releases.estimates.totals import Floats, agreed
from leastnoise.releases.plan.keys import Key
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.statistic import Statistic

NORMAL = 1.96  # half-width at 95 % in standard deviations, for a sum of many draws


def processed(
    plan: Plan, found: Sequence[ReleasedRow], of_tables: Mapping[int, float] | None = None
) -> tuple[ReleasedRow, ...]:
    """The rows after the declared post-processing; each changed row keeps its value from before.
    The counts of tables, by the places of their rows, were processed together: they add up."""
    if not plan.postprocess:
        return tuple(found)
    together = of_tables or {}
    if plan.one_row_per_person and of_tables is None:
        together = _kept_sums(plan, found)
    # Where one row is one person counts add up as they are.
    has_totals = "totals" in plan.postprocess and not plan.one_row_per_person
    agreeing = _agreeing(plan, found) if has_totals else {}
    kinds = {statistic.name: statistic for statistic in plan.statistics}
    changed = []
    for i, row in enumerate(found):
        if row.value is None:
            changed.append(row)
        elif i in together:
            changed.append(_of_table(plan, row, together[i]))
        else:
            may_be_negative = row.kind not in CHECKS and not _never_negative(kinds[row.statistic])
            changed.append(_alone(plan, row, agreeing.get(i, row), may_be_negative))
    return tuple(changed)


def _kept_sums(plan: Plan, found: Sequence[ReleasedRow]) -> dict[int, float]:
    """Counts that add up, by their places, and still do where none is below zero, or all are
    whole."""
    if set(plan.postprocess) <= {"totals"}:
        return {}
    tops, groupings = _parts(plan, found)
    if not tops or not groupings:
        return {}
    solved = agreed(
        found[tops[0]].number,
        found[tops[0]].noise_std,
        [np.array([found[i].number for i in one.cells]) for one in groupings],
        [np.array([found[i].noise_std for i in one.cells]) for one in groupings],
        non_negative="non-negative" in plan.postprocess,
        integer="integer" in plan.postprocess,
    )
    result = dict.fromkeys(tops, solved.total)
    for one, values in zip(groupings, solved.cells, strict=True):
        for cell, value in enumerate(values):
            result |= dict.fromkeys(one.showing(cell), float(value))
    return result


def _of_table(plan: Plan, row: ReleasedRow, value: float) -> ReleasedRow:
    """A count of a table with its processed value. The interval is that of the estimate before: the
    truth is a whole number that is not negative, so its ends may be moved to such numbers."""
    is_kept = "non-negative" in plan.postprocess
    lower = float(math.ceil(max(row.lower, 0.0) if is_kept else row.lower))
    upper = float(math.floor(row.upper))
    if "integer" not in plan.postprocess:
        lower, upper = max(row.lower, 0.0) if is_kept else row.lower, row.upper
    interval = (min(lower, value), max(upper, value))
    return replace(row, value=value, interval=interval, unprocessed=row.value)


def _alone(plan: Plan, row: ReleasedRow, after: ReleasedRow, may_be_negative: bool) -> ReleasedRow:
    """A number that is processed by itself, after totals were made to agree."""
    value, interval = after.number, (after.lower, after.upper)
    if "non-negative" in plan.postprocess and not may_be_negative:
        value = max(value, 0.0)
        interval = (max(after.lower, 0.0), after.upper + value - after.number)
    if "integer" in plan.postprocess and row.is_count:
        value = float(math.floor(value + 0.5))
        # What is counted is whole, so the ends may be rounded inwards.
        lower, upper = float(math.ceil(interval[0])), float(math.floor(interval[1]))
        interval = (min(lower, value), max(upper, value))
    return replace(after, value=value, interval=interval, unprocessed=row.value)


def _never_negative(statistic: Statistic) -> bool:
    return statistic.kind in ("count", "persons", "distinct", "histogram", "variance") or (
        statistic.lower is not None and statistic.lower >= 0
    )


@dataclass
class _Grouping:
    """The rows of one grouping that add up, by their places: those of its statistics, which share
    the counts, and that of all other keys."""

    other: int
    statistics: list[list[int]]

    @property
    def cells(self) -> list[int]:
        return [*self.statistics[0], self.other]

    def showing(self, cell: int) -> list[int]:
        """The rows that show a cell."""
        if cell == len(self.statistics[0]):
            return [self.other]
        return [places[cell] for places in self.statistics]


def _agreeing(plan: Plan, found: Sequence[ReleasedRow]) -> dict[int, ReleasedRow]:
    """The rows that add up, by their place: counts of all rows, each group, and all other keys.

    Statistics of one grouping share its counts, so they are one part of the problem, each.
    """
    tops, groupings = _parts(plan, found)
    is_integer = "integer" in plan.postprocess
    total = found[tops[0]]

    def array(field: str, places: Sequence[int]) -> Floats:
        return np.array([getattr(found[i], field) for i in places])

    solved = agreed(
        total.number,
        total.noise_std,
        [array("number", grouping.cells) for grouping in groupings],
        [array("noise_std", grouping.cells) for grouping in groupings],
        non_negative="non-negative" in plan.postprocess,
        integer=is_integer,
    )
    used = [total, *(found[i] for grouping in groupings for i in grouping.cells)]
    widest = max(NORMAL, *(row.half_width / row.noise_std for row in used))

    def changed(i: int, value: float, std: float, rounding: float) -> ReleasedRow:
        width = float(widest * std + (rounding if is_integer else 0.0))
        return replace(found[i], value=float(value), noise_std=float(std), half_width=width)

    result = {i: changed(i, solved.total, solved.total_std, 0.5) for i in tops}
    for grouping, values, stds in zip(groupings, solved.cells, solved.stds, strict=True):
        for cell, (value, std) in enumerate(zip(values, stds, strict=True)):
            result |= {i: changed(i, value, std, 1.0) for i in grouping.showing(cell)}
    return result


def _parts(plan: Plan, found: Sequence[ReleasedRow]) -> tuple[list[int], list[_Grouping]]:
    """The places of the counts of all rows, and of those of each grouping."""
    of: dict[str, list[int]] = {}
    others: dict[tuple[Key, ...], int] = {}
    for i, row in enumerate(found):
        if row.check is None:
            of.setdefault(row.statistic, []).append(i)
        elif row.kind == "other keys":
            others[row.check.group_by] = i
    tops: list[int] = []
    groupings: dict[tuple[Key, ...], _Grouping] = {}
    for statistic in plan.statistics:
        if statistic.where:
            continue
        by, places = statistic.group_by, of.get(statistic.name, [])
        if statistic.kind in ("count", "histogram") and by in others and _adds_up(plan, by):
            groupings.setdefault(by, _Grouping(others[by], [])).statistics.append(places)
        elif statistic.kind == "count" and not by:
            tops.append(places[0])
    return tops, list(groupings.values())


def _adds_up(plan: Plan, group_by: tuple[Key, ...]) -> bool:
    """Whether a grouping with its other keys is all rows: not where rows with those count nowhere
    else."""
    return bool(group_by) and not (
        plan.one_row_per_person and any(key.complete for key in group_by)
    )
