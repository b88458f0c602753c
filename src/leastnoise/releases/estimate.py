"""From noisy answers to statistics, their standard deviations and intervals. All of it is post-processing: no private value enters.

With S = Σ(x − c), Q = Σ(x − c)² − n·w²/2 and n noisy, c the middle and w the half-width of the bounds:

    sum       S + c·n                    where n is asked for too; else it has an answer of its own
    mean      c + S/n
    variance  Q/n + w²/2 − (S/n)²        of the n values themselves, not of a population they were drawn from

n is the declared public number, or the noisy one, at least 1. Standard deviations of ratios are those of their linear part;
intervals are quantiles of the statistic when noise of the same law is added again to the noisy answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise.releases.keys import Key, group_titles
from leastnoise.releases.mechanism import Mechanism
from leastnoise.releases.plan import Plan, Statistic
from leastnoise.releases.sensitivity import answers_in, is_unreadable
from leastnoise.releases.totals import agreed
from leastnoise.sampling import InsecureSeededEntropy, draw

CONFIDENCE = 0.95
NORMAL = 1.96  # half-width of that confidence in standard deviations, for a sum of many draws
CHECKS = ("other keys", "unreadable")  # the kinds of rows that are no statistics of the plan
UNREADABLE = "persons with an unreadable value"
_TRIALS = 10_000  # the 95 % quantile of |error| is then known to about 1 %

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """One released number. `noise_std` and `half_width` (95 %) are from noise alone, before any post-processing but "totals".

    The rows of the checks are of kind "other keys" (with the columns of the grouping as `group`) and
    "unreadable" (with the column).
    """

    statistic: str
    kind: str
    group: str
    value: float
    noise_std: float
    half_width: float
    unprocessed: float | None = None  # the value before post-processing, where there was any

    def as_dict(self) -> dict[str, Any]:
        return {
            "statistic": self.statistic,
            "kind": self.kind,
            "group": self.group,
            "value": self.value,
            "noise_std": self.noise_std,
            "half_width_95": self.half_width,
            "unprocessed": self.unprocessed,
        }


def block_numbers(made: Mechanism) -> dict[tuple[Key, ...], int]:
    """The block of each grouping."""
    return {block.group_by: b for b, block in enumerate(made.blocks) if not is_unreadable(block)}


def rows(plan: Plan, made: Mechanism, noisy: Sequence[float]) -> tuple[Row, ...]:
    """The statistics from the noisy answers, one for each entry of the mechanism and in its own units, and the checks."""
    place = {(entry.block, entry.group, entry.answer): i for i, entry in enumerate(made.entries)}
    blocks = block_numbers(made)
    again = Again(made)
    found = []
    noise = (0.0, 0.0)
    for statistic in plan.statistics:
        b = blocks[statistic.group_by]
        answers = answers_in(made.blocks[b], statistic)
        for group, title in enumerate(group_titles(statistic.group_by)):
            used = [place[b, group, answer] for answer in answers]
            if statistic.kind == "sum" and len(used) == 2:
                noise = noise if group else sum_noise(statistic, used, made, again)  # the same in every group
                value = noisy[used[0]] + _middle(statistic) * noisy[used[1]]
                found.append(Row(statistic.name, statistic.kind, title, value, *noise))
            else:
                found.append(_row(statistic, title, used, made, noisy, again))
    return (*found, *(_check_row(check, noisy[check.entry], made) for check in checks(made)))


@dataclass(frozen=True)
class Check:
    """What tells whether keys and numbers were read as they were meant: one entry, and its name."""

    entry: int
    statistic: str
    kind: str
    group: str


def checks(made: Mechanism) -> list[Check]:
    """The checks of a release."""
    found: list[Check] = []
    for i, entry in enumerate(made.entries):
        block = made.blocks[entry.block]
        if is_unreadable(block):
            found.append(Check(i, UNREADABLE, "unreadable", entry.answer.column))
        elif entry.group == len(block.groups):
            columns = ", ".join(key.column for key in block.group_by)
            again = sum(check.group.partition(" (")[0] == columns for check in found)  # the same columns with other keys
            named = f"{columns} ({again + 1})" if again else columns
            found.append(Check(i, f"{entry.answer.measure} with other keys", "other keys", named))
    return found


def _check_row(check: Check, value: float, made: Mechanism) -> Row:
    law, one = made.law_of[check.entry].noise, made.entries[check.entry].sensitivity
    return Row(check.statistic, check.kind, check.group, value, law.std * one, law.interval(CONFIDENCE) * one)


class Again:
    """Fresh noise of each draw, to see how a statistic moves under it. A fixed seed will do: the law is public, this noise hides
    nothing."""

    def __init__(self, made: Mechanism) -> None:
        self._made = made
        self._where = {entry: (d, at) for d, drawn in enumerate(made.draws) for at, entry in enumerate(drawn.entries)}
        self._kept: dict[int, Floats] = {}

    def noise(self, entry: int) -> Floats:
        """Trials of the noise on one entry, in units of sensitivity; entries of one draw keep their dependence."""
        d, at = self._where[entry]
        if d not in self._kept:
            drawn = draw(self._made.laws[self._made.draws[d].law].noise, _TRIALS, entropy=InsecureSeededEntropy(d))
            self._kept[d] = drawn.floats().reshape(_TRIALS, -1)
        return self._kept[d][:, at]


def _row(statistic: Statistic, title: str, used: Sequence[int], made: Mechanism, noisy: Sequence[float], again: Again) -> Row:
    scales = [made.entries[i].sensitivity * float(made.entries[i].answer.unit) for i in used]
    values = [noisy[i] for i in used]
    if statistic.kind in ("mean", "variance"):
        n = float(statistic.public_n) if statistic.public_n is not None else max(values[-1], 1.0)
    else:
        n = 1.0
    law = made.law_of[used[0]].noise
    if len(used) == 1:
        value = values[0] if statistic.kind != "mean" else _middle(statistic) + values[0] / n
        return Row(statistic.name, statistic.kind, title, value, law.std * scales[0] / n, law.interval(CONFIDENCE) * scales[0] / n)
    formula = _formula(statistic)
    value = float(formula(*(np.array(v) for v in values)))
    variance = 0.0
    for slope, i, scale in zip(_slopes(statistic, values, n), used, scales, strict=True):
        variance += (slope * scale * made.law_of[i].noise.std) ** 2
    moved = formula(*(v + scale * again.noise(i) for v, scale, i in zip(values, scales, used, strict=True)))
    width = float(np.quantile(np.abs(moved - value), CONFIDENCE))
    return Row(statistic.name, statistic.kind, title, value, math.sqrt(variance), width)


def sum_noise(statistic: Statistic, used: Sequence[int], made: Mechanism, again: Again) -> tuple[float, float]:
    """Standard deviation and half-width of S + c·n, whose noise does not depend on the answers."""
    centred, number = (made.std(i) * float(made.entries[i].answer.unit) for i in used)
    one, other = (again.noise(i) * made.entries[i].sensitivity * float(made.entries[i].answer.unit) for i in used)
    middle = _middle(statistic)
    return math.hypot(centred, middle * number), float(np.quantile(np.abs(one + middle * other), CONFIDENCE))


def _middle(statistic: Statistic) -> float:
    values = statistic.values
    return 0.0 if values is None else float((values.first + values.last) * values.exact_pitch / 2)


def _half_square(statistic: Statistic) -> float:
    """w²/2."""
    values = statistic.values
    return 0.0 if values is None else float(((values.last - values.first) * values.exact_pitch) ** 2 / 8)


def _formula(statistic: Statistic) -> Callable[..., Floats]:
    """The statistic as a function of its noisy answers, for whole arrays of them."""
    middle, half = _middle(statistic), _half_square(statistic)
    public = statistic.public_n

    def number(rest: tuple[Floats, ...]) -> Any:
        return float(public) if public is not None else np.maximum(rest[0], 1.0)

    def mean(s: Floats, *rest: Floats) -> Floats:
        return np.asarray(middle + s / number(rest), dtype=np.float64)

    def variance(s: Floats, q: Floats, *rest: Floats) -> Floats:
        n = number(rest)
        return np.asarray(q / n + half - (s / n) ** 2, dtype=np.float64)

    return mean if statistic.kind == "mean" else variance


def _slopes(statistic: Statistic, values: Sequence[float], n: float) -> list[float]:
    """Derivatives of the formula by its answers, at the noisy answers."""
    s = values[0]
    if statistic.kind == "mean":
        return [1.0 / n, -s / n**2]
    slopes = [-2.0 * s / n**2, 1.0 / n]
    return slopes if statistic.public_n is not None else [*slopes, -values[1] / n**2 + 2.0 * s**2 / n**3]


# Post-processing


def processed(plan: Plan, found: Sequence[Row]) -> tuple[Row, ...]:
    """The rows after the declared post-processing; each changed row keeps its value from before."""
    if not plan.postprocess:
        return tuple(found)
    agreeing = _agreeing(plan, found) if "totals" in plan.postprocess else {}
    kinds = {statistic.name: statistic for statistic in plan.statistics}
    changed = []
    for i, row in enumerate(found):
        after = agreeing.get(i, row)
        value = after.value
        if "non-negative" in plan.postprocess and (row.kind in CHECKS or _never_negative(kinds[row.statistic])):
            value = max(value, 0.0)
        if "integer" in plan.postprocess and row.kind in ("count", "persons", "histogram", *CHECKS):
            value = float(math.floor(value + 0.5))
        changed.append(replace(after, value=value, unprocessed=row.value))
    return tuple(changed)


def _never_negative(statistic: Statistic) -> bool:
    return statistic.kind in ("count", "persons", "histogram", "variance") or (statistic.lower is not None and statistic.lower >= 0)


def _agreeing(plan: Plan, found: Sequence[Row]) -> dict[int, Row]:
    """The rows that add up, by their place: counts of all rows, of each group, and of all other keys.

    Statistics of one grouping share its counts, so they are one part of the problem, each.
    """
    of = {name: [i for i, row in enumerate(found) if row.statistic == name] for name in {row.statistic for row in found}}
    others = dict(zip(groupings(plan), (i for i, row in enumerate(found) if row.kind == "other keys"), strict=True))
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
        found[tops[0]].value,
        found[tops[0]].noise_std,
        [np.array([found[i].value for i in part]) for part in parts],
        [np.array([found[i].noise_std for i in part]) for part in parts],
        non_negative="non-negative" in plan.postprocess,
        integer="integer" in plan.postprocess,
    )

    def changed(i: int, value: float, std: float, moved: float) -> Row:
        return replace(found[i], value=float(value), noise_std=float(std), half_width=float(widest * std + moved))

    result = {i: changed(i, solved.total, solved.total_std, 0.5 * rounding) for i in tops}
    for part, same, values, stds in zip(parts, cells.values(), solved.cells, solved.stds, strict=True):
        for k, (value, std) in enumerate(zip(values, stds, strict=True)):
            for i in (one[k] for one in same) if k < len(part) - 1 else part[-1:]:
                result[i] = changed(i, value, std, rounding)
    return result


def groupings(plan: Plan) -> list[tuple[Key, ...]]:
    """The groupings of a plan, each once, in the order of its blocks and of their cells for all other keys."""
    return list(dict.fromkeys(s.group_by for s in plan.statistics if s.group_by))
