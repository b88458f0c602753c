"""What to know before the numbers of a release are read: rows under keys that nobody declared, values
that are no numbers. Computed from the plan and the published numbers, so it costs no privacy."""

from __future__ import annotations

from collections.abc import Sequence

from leastnoise.digits import above
from leastnoise.releases.estimate import Row, groupings
from leastnoise.releases.keys import Key
from leastnoise.releases.plan import Plan

LARGE = 0.05  # share of the rows or persons above which a check is worth a sentence
MOST = 0.5  # the same for bounds, which are meant to bite now and then
SURE = 2.0  # times its ±: a check of nobody is above once in 800, at once its ± it would be once in 40, and a plan has many
BLIND = 0.25  # share of the persons that a check must be able to see to tell anything


def cautions(plan: Plan, rows: Sequence[Row]) -> tuple[str, ...]:
    """Sentences for the reader; none where the checks are quiet."""
    known = persons(plan, rows)
    people = None if known is None else known[0]
    found = [_other_keys(plan, rows, row, group_by) for row, group_by in _others(plan, rows)]
    found += [_unreadable(row, people) for row in rows if row.kind == "unreadable"]
    found += [_bounded(row, people) for row in rows if row.kind in ("clipped", "left out")]
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


def _bounded(row: Row, people: float | None) -> str:
    if people is None or row.number <= max(SURE * row.half_width, MOST * people):
        return ""
    what = f"a value in {row.group} beyond its bounds, which counts as the bound" if row.kind == "clipped" else row.group
    more = "" if row.kind == "clipped" else ", and what is more than that is left out"
    return f"{_shown(row)} of about {people:,.0f} persons have {what}{more}: these numbers are about less than the table holds."


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
    return row.number > max(SURE * row.half_width, LARGE * max(whole or 0.0, 0.0))


def _shown(row: Row) -> str:
    return row.in_words()


def _declared(plan: Plan, rows: Sequence[Row], group_by: tuple[Key, ...]) -> float | None:
    """How many rows are in the declared groups of a grouping, where that is published."""
    parts = _counts(plan, rows, group_by)
    return sum(row.number for row in parts) if parts else None


def _counts(plan: Plan, rows: Sequence[Row], group_by: tuple[Key, ...]) -> list[Row]:
    """The numbers of rows in the declared groups of a grouping, where they are published."""
    for statistic in plan.statistics:
        if statistic.kind in ("count", "histogram") and statistic.group_by == group_by:
            return [row for row in rows if row.statistic == statistic.name]
    return []


def persons(plan: Plan, rows: Sequence[Row]) -> tuple[float, float] | None:
    """How many persons the table has, and the ± of that, as far as it is public or published."""
    kind = "count" if plan.one_row_per_person else "persons"
    for statistic in plan.statistics:
        if plan.one_row_per_person and statistic.public_n is not None:
            return float(statistic.public_n), 0.0
        if statistic.kind == kind and not statistic.group_by:
            return next((row.number, row.half_width) for row in rows if row.statistic == statistic.name)
    if plan.one_row_per_person:
        for row, group_by in _others(plan, rows):
            parts = [one for one in _counts(plan, rows, group_by) if one is not row]
            if parts:
                return sum(one.number for one in (*parts, row)), sum(one.half_width for one in (*parts, row))
    return None


def share(plan: Plan, rows: Sequence[Row], part: Row) -> tuple[float, float] | None:
    """Between which shares of all persons, or of all rows, a check lies, where their number is published.

    Both numbers are taken at the ends of their 95 % intervals: the share is between these in at
    least 90 % of releases. Published numbers alone decide it, so it costs nothing.
    """
    whole = persons(plan, rows)
    if part.kind == "other keys":
        group_by = next((group_by for row, group_by in _others(plan, rows) if row is part), ())
        counts = [*_counts(plan, rows, group_by), part]
        whole = (sum(row.number for row in counts), sum(row.half_width for row in counts)) if len(counts) > 1 else None
    if whole is None or whole[0] <= whole[1]:
        return None
    least, most = whole[0] - whole[1], whole[0] + whole[1]
    lower = max(part.number - part.half_width, 0.0) / most
    return min(lower, 1.0), min(max(part.number + part.half_width, 0.0) / least, 1.0)
