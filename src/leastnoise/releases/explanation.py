"""A plan in sentences: what will be published, what one person can change in it and why, how large
the noise will be, and the mistakes that plans often have. Made from the plan and its noise alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from leastnoise.releases.noise.mechanism import Mechanism
from leastnoise.releases.noise.sensitivity import (
    Answer,
    ContributionBounds,
    answers_for,
    contribution_bounds,
    sensitivity,
)
from leastnoise.releases.plan.keys import Key, number_of_text
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.statistic import Statistic
from leastnoise.releases.preview import Outlook, outlook
from leastnoise.releases.report.guarantee import unit
from leastnoise.text.numbers import above, below, counted

# A bound beyond this that is a round number is one that nobody has thought about.
_ABSURD = 1e6
_LARGE_DELTA = 1e-4  # where the number of persons is not known
_LARGE_EPSILON = 8.0  # e^ε = 3,000: next to nothing is promised


@dataclass(frozen=True)
class Explained:
    """One statistic in sentences.

    Attributes:
        statistic: Its name.
        published: What the number will be.
        one_person: What one person can change in it, and why.
        error: How large the noise on it will be.
    """

    statistic: str
    published: str
    one_person: str
    error: str


@dataclass(frozen=True)
class Explanation:
    """A plan in sentences.

    Attributes:
        protected: Who is protected, from whom a release may not differ, and how much it costs.
        statistics: Each statistic.
        warnings: What is often a mistake; empty where nothing is.
    """

    protected: str
    statistics: tuple[Explained, ...]
    warnings: tuple[str, ...]


def explained(plan: Plan, made: Mechanism) -> Explanation:
    """The plan in sentences, with its noise."""
    ahead = {row.statistic: row for row in outlook(plan, made)}
    other = "is there or is not"
    if plan.relation == "replace":
        other = "is replaced by another"
    protected = (
        f"Protected is {unit(plan, made)}. Whether a person {other} changes the probability of any "
        f"result by at most the factor e^{above(made.epsilon, 6)}, but for a probability of "
        f"{above(made.delta, 6)}."
    )
    each = tuple(
        Explained(
            statistic.name,
            _published(plan, statistic),
            _one_person(plan, statistic),
            _error(ahead[statistic.name]),
        )
        for statistic in plan.statistics
    )
    return Explanation(protected, each, tuple(_warnings(plan, made, ahead)))


# What is published


def _published(plan: Plan, statistic: Statistic) -> str:
    what = {
        "count": "the number of rows",
        "histogram": "the number of rows",
        "persons": "the number of persons",
        "distinct": f"the number of different values of {statistic.column}",
        "sum": f"the sum of {statistic.column}",
        "mean": f"the mean of {statistic.column}",
        "variance": f"the variance of {statistic.column}",
    }[statistic.kind]
    where = f" where {statistic.where}" if statistic.where else ""
    said = f"{what}{where}{_grouped(statistic.group_by)}."
    if statistic.values is not None:
        said += f" {_bounded(statistic)}"
    if plan.where:
        said += f" Only rows where {plan.where}."
    return said[0].upper() + said[1:]


def _grouped(group_by: Sequence[Key]) -> str:
    if not group_by:
        return ""
    count = math.prod(len(key.labels) for key in group_by)
    return f" in each of {count:,} groups by {' and '.join(key.column for key in group_by)}"


def _bounded(statistic: Statistic) -> str:
    missing = "rows without a number are left out"
    if statistic.missing != "drop":
        missing = f"rows without a number count as {statistic.missing:g}"
    return (
        f"Values below {statistic.lower:g} count as {statistic.lower:g}, above "
        f"{statistic.upper:g} as {statistic.upper:g}, rounded to {statistic.pitch:g}; {missing}."
    )


# What one person can change


def _one_person(plan: Plan, statistic: Statistic) -> str:
    limit = contribution_bounds(plan, statistic.group_by, statistic.condition)
    of, groups = "", ""
    if statistic.group_by:
        most = math.prod(len(key.labels) for key in statistic.group_by)
        touched = min(limit.groups * (2 if plan.relation == "replace" else 1), most)
        of, groups = " of a group", f", in at most {counted(touched, 'group')}"
    parts = [
        f"{_named(answer)}{of} by at most {_worth(plan, answer, limit)}"
        for answer in answers_for(statistic)
        if sensitivity(answer, limit, plan.relation)
    ]
    return f"One person changes {' and '.join(parts)}{groups}: {_why(plan, limit)}."


def _named(answer: Answer) -> str:
    if answer.measure == "centred":
        return "the sum of the distances from the middle of the bounds"
    if answer.measure == "square":
        return "the sum of how far their squares are from the middle of theirs"
    named = {"persons": "the number of persons", "distinct": "the number of different values"}
    return {"sum": "the sum", **named}.get(answer.measure, "the number of rows")


def _worth(plan: Plan, answer: Answer, limit: ContributionBounds) -> str:
    """The sensitivity, in the units of the column."""
    return above(float(sensitivity(answer, limit, plan.relation) * answer.unit), 6)


def _why(plan: Plan, limit: ContributionBounds) -> str:
    if plan.one_row_per_person:
        rows = "every person is one row"
    else:
        is_one = limit.rows == 1
        rows = f"at most {counted(limit.rows, 'row')} of a person {'counts' if is_one else 'count'}"
        if limit.rows_in_group < limit.rows:
            rows += f", at most {limit.rows_in_group} of them in a group"
    if plan.relation == "replace":
        return f"{rows}, and one person is taken away where another is put in"
    return f"{rows}, and a person is there or not"


# Errors


def _error(ahead: Outlook) -> str:
    if ahead.noise_std is None or ahead.half_width is None:
        return f"With {ahead.n:,} values there are too few to say anything."
    size = f"± {above(ahead.half_width, 2)} at 95 % from noise alone"
    if ahead.of_sum:
        return f"The sum behind it has {size}; declare expected_n to see what that makes of it."
    if ahead.n is not None:
        return f"With {ahead.n:,} values: {size}."
    return f"{size[0].upper()}{size[1:]}."


# Mistakes


def _warnings(plan: Plan, made: Mechanism, ahead: dict[str, Outlook]) -> Iterator[str]:
    for statistic in plan.statistics:
        yield from _of_bounds(statistic)
        yield from _of_pitch(statistic, ahead[statistic.name])
    yield from _of_delta(plan, made)
    if plan.epsilon > _LARGE_EPSILON:
        yield (
            f"epsilon = {plan.epsilon:g} promises next to nothing: one person may make a result "
            f"{above(math.exp(plan.epsilon), 2)} times as likely. Usual are 0.1 to 3."
        )
    keys = dict.fromkeys(key for s in plan.statistics for one in s.group_by for key in one.path)
    for key in keys:
        yield from _of_keys(key)


def _of_bounds(statistic: Statistic) -> Iterator[str]:
    for name, bound in (("lower", statistic.lower), ("upper", statistic.upper)):
        if bound is not None and abs(bound) >= _ABSURD and _is_round(abs(bound)):
            yield (
                f"{statistic.name!r} has {name} = {bound:g}: noise grows with the bounds, whatever "
                "the values are. Declare what values usually are; what lies beyond is clipped."
            )


def _is_round(value: float) -> bool:
    """1, 2 or 5 and zeros, or nines: numbers that stand for "large"."""
    digits = f"{value:.0f}".rstrip("0")
    return digits in ("1", "2", "5") or set(f"{value:.0f}") == {"9"}


def _of_pitch(statistic: Statistic, ahead: Outlook) -> Iterator[str]:
    if statistic.pitch is None or ahead.half_width is None or ahead.of_sum:
        return
    is_whole = statistic.pitch == 1.0  # such columns mostly hold whole numbers
    if statistic.kind == "mean" and not is_whole and 0.5 * statistic.pitch > ahead.half_width:
        yield (
            f"{statistic.name!r} rounds every value to {statistic.pitch:g}, which may move a mean "
            f"by {below(0.5 * statistic.pitch, 3)} where noise moves it by about "
            f"{above(ahead.half_width, 2)}: declare a smaller pitch, which costs nothing, unless "
            "all values are multiples of it."
        )


def _of_delta(plan: Plan, made: Mechanism) -> Iterator[str]:
    known = [int(s.public_n or s.expected_n or 0) for s in plan.statistics if not s.group_by]
    persons = max(known, default=0) // int(plan.rows_per_person or 1)
    if persons and made.delta * persons >= 1.0:
        yield (
            f"delta = {made.delta:g} is above one over the {persons:,} persons: publishing one of "
            "them at random would keep that promise. Declare far less."
        )
    elif made.delta > _LARGE_DELTA:
        yield (
            f"delta = {made.delta:g} is large: it should be far below one over the number of "
            "persons."
        )


def _of_keys(key: Key) -> Iterator[str]:
    words = [value for value in key.values if isinstance(value, str)]
    alike = [word for word in words if number_of_text(word) is not None]
    if alike:
        yield (
            f"The key {alike[0]!r} of {key.column!r} is a text that looks like a number, and is "
            "matched letter by letter: 01 and 1.0 are not 1. Without quotes it is a number."
        )
    edges = [word for word in words if word != word.strip()]
    if edges and key.match == "exact":
        yield f"The key {edges[0]!r} of {key.column!r} has blanks at its ends, which count."
