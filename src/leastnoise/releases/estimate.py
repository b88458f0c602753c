"""From noisy answers to statistics, their standard deviations and intervals. All of it is post-processing: no private value enters.

With S = Σ(x − c) and n noisy, c the middle of the bounds:

    sum       S + c·n                    where n is asked for too; else it has an answer of its own

Means and variances are in `ratios`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from leastnoise.digits import ends, uncertain
from leastnoise.releases.keys import OTHER, Key, group_keys, group_titles
from leastnoise.releases.mechanism import Mechanism
from leastnoise.releases.plan import Plan, Statistic
from leastnoise.releases.ratios import CONFIDENCE, Ratios, centre
from leastnoise.releases.sensitivity import Answer, Block, answers_in, bounds, is_checks, leaves_out
from leastnoise.releases.totals import agreed
from leastnoise.releases.trials import Trials, worth

NORMAL = 1.96  # half-width of that confidence in standard deviations, for a sum of many draws
CHECKS = (
    "other keys",
    "unreadable",
    "clipped",
    "left out",
)  # the kinds of rows that are no statistics of the plan
COUNTS = ("count", "persons", "histogram", *CHECKS)
COUNTED = {
    "other keys": "persons with other keys",
    "unreadable": "persons with an unreadable value",
    "clipped": "persons with a clipped value",
    "left out": "persons with rows left out",
}
TOO_FEW = "too few to say"  # what stands in the place of a mean or variance of hardly any values
AT_LEAST = "at least: each person is counted under one check, and upper adds the checks that may hide this one"


@dataclass(frozen=True)
class Row:
    """One released number. `noise_std` and `half_width` (95 %) are from noise alone, before any post-processing but "totals".

    `value` is None for a mean or variance of too few values to say; its noise has no size then (NaN).
    The rows of the checks are of kind "other keys" (with the columns of the grouping as `group`) and
    "unreadable" and "clipped" (with the column) and "left out" (with the bound); `check` says of what.
    Where `is_hidden`, `value` ± `half_width` is about the persons counted under this check, and
    `lower` to `upper` about all whom its name fits: others of them may be counted under another check.
    """

    statistic: str
    kind: str
    group: str
    value: float | None
    noise_std: float
    half_width: float
    unprocessed: float | None = None  # the value before post-processing, where there was any
    keys: tuple[
        tuple[str, str], ...
    ] = ()  # the columns of the grouping, each with the key of this group
    interval: tuple[float, float] | None = None  # where it is another one than value ± half_width
    check: Answer | None = (
        None  # of a check: what it counts, with its column, bounds or grouping; persons once where it says so
    )
    is_hidden: bool = False  # of a check: whether another one may count persons whom it is about

    @property
    def number(self) -> float:
        """The value, NaN where there are too few values to say."""
        return math.nan if self.value is None else self.value

    @property
    def lower(self) -> float:
        """Lower end of the 95 % interval."""
        return self.number - self.half_width if self.interval is None else self.interval[0]

    @property
    def upper(self) -> float:
        """Upper end of the 95 % interval."""
        return self.number + self.half_width if self.interval is None else self.interval[1]

    @property
    def is_count(self) -> bool:
        """Whether it is a number of rows or persons."""
        return self.kind in COUNTS

    def shown(self) -> tuple[str, str]:
        """The value and its ±, for people: never narrower than they are, and nothing beside "too few to say".

        Of a check that others may hide the ends of the interval in the place of the ±.
        """
        if self.value is None:
            return TOO_FEW, ""
        value, width = uncertain(self.value, self.half_width, whole=self.is_count)
        return value, ends(self.lower, self.upper, self.half_width) if self.is_hidden else width

    def in_words(self) -> str:
        """The same as one text: 17.23 ± 0.52, or 180 to 390 of a check that others may hide."""
        value, width = self.shown()
        return width if self.is_hidden else " ± ".join(part for part in (value, width) if part)

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON data: null where there is no number, and counts that are whole as whole numbers."""
        return {
            "statistic": self.statistic,
            "kind": self.kind,
            "group": self.group,
            "keys": dict(self.keys),
            "value": self._told(self.value),
            "lower": self._told(self.lower),
            "upper": self._told(self.upper),
            "noise_std": self._told(self.noise_std, whole=False),
            "half_width_95": self._told(self.half_width, whole=False),
            "unprocessed": self._told(self.unprocessed),
            "note": TOO_FEW if self.value is None else AT_LEAST if self.is_hidden else "",
        }

    def _told(self, number: float | None, *, whole: bool = True) -> float | int | None:
        if number is None or math.isnan(number):
            return None
        return int(number) if whole and self.is_count and number.is_integer() else number


def block_numbers(made: Mechanism) -> dict[tuple[Key, ...], int]:
    """The block of each grouping."""
    return {block.group_by: b for b, block in enumerate(made.blocks) if not is_checks(block)}


def rows(plan: Plan, made: Mechanism, noisy: Sequence[float]) -> tuple[Row, ...]:
    """The statistics from the noisy answers, one for each entry of the mechanism and in its own units, and the checks."""
    place = {(entry.block, entry.group, entry.answer): i for i, entry in enumerate(made.entries)}
    blocks = block_numbers(made)
    trials = Trials(made)
    ratios = Ratios(made, trials)
    found = []
    for statistic in plan.statistics:
        b = blocks[statistic.group_by]
        answers = answers_in(made.blocks[b], statistic)
        titles, keys = group_titles(statistic.group_by), group_keys(statistic.group_by)
        is_ratio = statistic.kind in ("mean", "variance")
        noise = (0.0, 0.0)
        for group, title in enumerate(titles):
            used = [place[b, group, answer] for answer in answers]
            values = [noisy[i] for i in used]
            if is_ratio:
                found.append(_ratio_row(statistic, title, keys[group], ratios, used, values))
                continue
            value = values[0] if len(used) == 1 else values[0] + centre(statistic) * values[1]
            noise = (
                noise if group else plain_noise(statistic, used, made, trials)
            )  # the same in every group
            found.append(
                Row(statistic.name, statistic.kind, title, value, *noise, keys=keys[group])
            )
    return (*found, *(_check_row(check, noisy[check.entry], made) for check in checks(plan, made)))


def _ratio_row(
    statistic: Statistic,
    title: str,
    keys: tuple[tuple[str, str], ...],
    ratios: Ratios,
    used: Sequence[int],
    values: Sequence[float],
) -> Row:
    found = ratios.estimate(statistic, used, values)
    if found is None:
        return Row(statistic.name, statistic.kind, title, None, math.nan, math.nan, keys=keys)
    interval = (found.lower, found.upper)
    return Row(
        statistic.name,
        statistic.kind,
        title,
        found.value,
        found.noise_std,
        found.half_width,
        keys=keys,
        interval=interval,
    )


@dataclass(frozen=True)
class Check:
    """What tells whether keys and numbers were read as they were meant: one entry, its name, and of what it is."""

    entry: int
    statistic: str
    kind: str
    group: str
    of: Answer
    keys: tuple[tuple[str, str], ...] = ()


def checks(plan: Plan, made: Mechanism) -> list[Check]:
    """The checks of a release."""
    found: list[Check] = []
    for i, entry in enumerate(made.entries):
        block, answer = made.blocks[entry.block], entry.answer
        if is_checks(block) and answer.measure != "other keys":
            found.append(
                Check(
                    i,
                    COUNTED[answer.measure],
                    answer.measure,
                    _subject(plan, block, answer),
                    answer,
                )
            )
        elif is_checks(block) or entry.group == len(block.groups):
            of = answer if is_checks(block) else replace(answer, group_by=block.group_by)
            name = _others(plan, block, answer)
            columns = _columns(of)
            again = sum(
                one.kind == "other keys" and _columns(one.of) == columns for one in found
            )  # with other keys declared
            named = f"{columns} ({again + 1})" if again else columns
            found.append(
                Check(
                    i,
                    name,
                    "other keys",
                    named,
                    of,
                    tuple((key.column, OTHER) for key in of.group_by),
                )
            )
    return found


def _others(plan: Plan, block: Block, answer: Answer) -> str:
    """What a cell of other keys counts. A free one has those who have room for another group, the declared ones first."""
    if answer.measure == "rows":
        return "rows with other keys"
    if is_checks(block):
        return COUNTED["other keys"]
    most = bounds(plan, block.group_by).groups
    room = "no declared group" if most == 1 else f"fewer than {most} declared groups"
    return f"{COUNTED['other keys']} in {room}"


def _columns(answer: Answer) -> str:
    return ", ".join(key.column for key in answer.group_by)


def _subject(plan: Plan, block: Block, answer: Answer) -> str:
    """What a check that counts persons is of."""
    if answer.measure == "left out":
        return _too_much(plan, answer)
    values = answer.values
    alike = [
        other
        for other in block.answers
        if (other.measure, other.column) == (answer.measure, answer.column)
    ]
    return (
        answer.column
        if values is None or len(alike) == 1
        else f"{answer.column} in [{values.lower:g}, {values.upper:g}]"
    )


def _too_much(plan: Plan, answer: Answer) -> str:
    """What a person has where a bound leaves rows of theirs out."""
    limit = bounds(plan, answer.group_by)
    if not answer.group_by:
        return _more_than(limit.rows, "row")
    many, long = leaves_out(plan, answer.group_by)
    groups = f"{_more_than(limit.groups, 'group')} of {_columns(answer)}"
    rows = _more_than(limit.rows_in_group, "row")
    if not many:
        return f"{rows} in a group of {_columns(answer)}"
    return f"{groups}, or {rows} in one" if long else groups


def _more_than(number: int, what: str) -> str:
    return f"more than {number} {what}" + ("s" if number > 1 else "")


def _check_row(check: Check, value: float, made: Mechanism) -> Row:
    law, one = made.law_of[check.entry].noise, made.entries[check.entry].sensitivity
    width = law.interval(CONFIDENCE) * one
    return Row(
        check.statistic,
        check.kind,
        check.group,
        value,
        law.std * one,
        width,
        keys=check.keys,
        check=check.of,
    )


def plain_noise(
    statistic: Statistic, used: Sequence[int], made: Mechanism, trials: Trials
) -> tuple[float, float]:
    """Standard deviation and half-width of a statistic whose noise does not depend on the answers: one answer, or S + c·n."""
    if len(used) == 1:
        law, one = made.law_of[used[0]].noise, worth(made, used[0])
        return law.std * one, law.interval(CONFIDENCE) * one
    middle = centre(statistic)
    centred, number = (made.law_of[i].noise.std * worth(made, i) for i in used)
    moved, moved_number = trials.noise(used)
    return math.hypot(centred, middle * number), float(
        np.quantile(np.abs(moved + middle * moved_number), CONFIDENCE)
    )


# Post-processing


def processed(plan: Plan, found: Sequence[Row]) -> tuple[Row, ...]:
    """The rows after the declared post-processing; each changed row keeps its value from before."""
    if not plan.postprocess:
        return tuple(found)
    agreeing = _agreeing(plan, found) if "totals" in plan.postprocess else {}
    kinds = {statistic.name: statistic for statistic in plan.statistics}
    changed = []
    for i, row in enumerate(found):
        if row.value is None:
            changed.append(row)
            continue
        after = agreeing.get(i, row)
        value, interval = after.number, (after.lower, after.upper)
        if "non-negative" in plan.postprocess and (
            row.kind in CHECKS or _never_negative(kinds[row.statistic])
        ):
            value = max(value, 0.0)
            interval = (max(after.lower, 0.0), after.upper + value - after.number)
        if "integer" in plan.postprocess and row.is_count:
            value = float(math.floor(value + 0.5))
            # What is counted is whole, so the ends may be rounded inwards.
            interval = (
                min(float(math.ceil(interval[0])), value),
                max(float(math.floor(interval[1])), value),
            )
        changed.append(replace(after, value=value, interval=interval, unprocessed=row.value))
    return tuple(changed)


def _never_negative(statistic: Statistic) -> bool:
    return statistic.kind in ("count", "persons", "histogram", "variance") or (
        statistic.lower is not None and statistic.lower >= 0
    )


def _agreeing(plan: Plan, found: Sequence[Row]) -> dict[int, Row]:
    """The rows that add up, by their place: counts of all rows, of each group, and of all other keys.

    Statistics of one grouping share its counts, so they are one part of the problem, each.
    """
    of = {
        name: [i for i, row in enumerate(found) if row.statistic == name]
        for name in {row.statistic for row in found}
    }
    others = {
        row.check.group_by: i
        for i, row in enumerate(found)
        if row.check is not None and row.kind == "other keys"
    }
    tops = [of[s.name][0] for s in plan.statistics if s.kind == "count" and not s.group_by]
    cells: dict[tuple[Key, ...], list[list[int]]] = {}
    for s in plan.statistics:
        if s.kind in ("count", "histogram") and s.group_by:
            cells.setdefault(s.group_by, []).append(of[s.name])
    parts = [[*same[0], others[group_by]] for group_by, same in cells.items()]
    rounding = 1.0 if "integer" in plan.postprocess else 0.0
    used = [tops[0], *(i for part in parts for i in part)]
    widest = max(NORMAL, *(found[i].half_width / found[i].noise_std for i in used))
    solved = agreed(
        found[tops[0]].number,
        found[tops[0]].noise_std,
        [np.array([found[i].number for i in part]) for part in parts],
        [np.array([found[i].noise_std for i in part]) for part in parts],
        non_negative="non-negative" in plan.postprocess,
        integer="integer" in plan.postprocess,
    )

    def changed(i: int, value: float, std: float, moved: float) -> Row:
        return replace(
            found[i],
            value=float(value),
            noise_std=float(std),
            half_width=float(widest * std + moved),
        )

    result = {i: changed(i, solved.total, solved.total_std, 0.5 * rounding) for i in tops}
    for part, same, values, stds in zip(
        parts, cells.values(), solved.cells, solved.stds, strict=True
    ):
        for k, (value, std) in enumerate(zip(values, stds, strict=True)):
            for i in (one[k] for one in same) if k < len(part) - 1 else part[-1:]:
                result[i] = changed(i, value, std, rounding)
    return result
