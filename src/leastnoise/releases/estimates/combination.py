"""Sums and differences of released numbers, with the error that they have together.

The noise of different numbers may be drawn together, and be correlated: their errors do not simply
add up. A released number is linear in the noisy answers, but for means and variances of a number
that is noisy itself and quantiles, so a combination is a linear form in the noise of each draw
(`linear`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from leastnoise.errors import PlanError, real_number
from leastnoise.releases.estimates.adding_up import conditions
from leastnoise.releases.estimates.estimate import entries_of
from leastnoise.releases.estimates.linear import noise_of
from leastnoise.releases.estimates.ratios import centre
from leastnoise.releases.estimates.row import ReleasedRow
from leastnoise.releases.estimates.trials import worth
from leastnoise.releases.noise.mechanism import Mechanism
from leastnoise.releases.plan.keys import group_titles
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.statistic import RATIOS, Statistic

Named = str | tuple[str, str]  # a statistic, or one of its groups as it is shown


@dataclass(frozen=True)
class Combination:
    """A linear combination of released numbers.

    Attributes:
        value: Of the numbers before any post-processing, in their units.
        noise_std: The standard deviation of its noise.
        half_width: Its 95 % interval is `value` ± this, from noise alone.
    """

    value: float
    noise_std: float
    half_width: float


def combined(
    plan: Plan,
    made: Mechanism,
    rows: Sequence[ReleasedRow],
    coefficients: Mapping[Named, float],
) -> Combination:
    """The combination of the named numbers; a PlanError names what is none, or not linear."""
    values, forms = _linear_rows(plan, made, rows)
    value, form = 0.0, dict[int, float]()
    for name, coefficient in coefficients.items():
        key = (name, "") if isinstance(name, str) else name
        factor = real_number(f"coefficients[{name!r}]", coefficient)
        if key not in forms:
            raise PlanError(_unknown(key, plan))
        value += factor * values[key]
        for entry, share in forms[key].items():
            form[entry] = form.get(entry, 0.0) + factor * share
    if not form:
        raise PlanError("Expected at least one number to combine.")
    return Combination(value, *noise_of(made, form))


def _linear_rows(
    plan: Plan, made: Mechanism, rows: Sequence[ReleasedRow]
) -> tuple[dict[tuple[str, str], float], dict[tuple[str, str], dict[int, float]]]:
    """The linear numbers by name and group: their values, and their forms in the noise of the
    entries."""
    before = {
        (row.statistic, row.group): row.number if row.unprocessed is None else row.unprocessed
        for row in rows
    }
    values, forms = {}, {}
    moved = conditions(plan, made)
    for statistic, groups in entries_of(plan, made):
        weights = _weights(statistic)
        if weights is None:
            continue
        for title, entries in zip(group_titles(statistic.group_by), groups, strict=True):
            key = (statistic.name, title)
            if math.isnan(before[key]):  # it is not shown
                continue
            values[key] = before[key]
            form: dict[int, float] = {}
            for used, weight in zip(entries, weights[: len(entries)], strict=True):
                own = {used: 1.0} if moved is None else moved.form(used)
                for entry, share in own.items():
                    form[entry] = form.get(entry, 0.0) + weight * share * worth(made, entry)
            forms[key] = form
    return values, forms


def _weights(statistic: Statistic) -> tuple[float, ...] | None:
    """How a statistic is made of its answers, where it is linear in them."""
    if statistic.kind not in (*RATIOS, "quantile"):
        return (1.0, 0.0 if statistic.values is None else centre(statistic))
    if statistic.kind == "mean" and statistic.public_n is not None:
        return (1.0 / statistic.public_n,)
    return None


def _unknown(key: tuple[str, str], plan: Plan) -> str:
    name, group = key
    found = [one for one in plan.statistics if one.name == name]
    if found and found[0].kind == "quantile":
        return f"{name!r} is a place among noisy counts, not a linear combination of them."
    if found and found[0].kind in RATIOS:
        return (
            f"{name!r} is a ratio of noisy numbers, not a linear combination of them: combine "
            "counts and sums, or means with a public number of values."
        )
    # Ungrouped, the one group has no title.
    titles = group_titles(found[0].group_by) if found else []
    if group in titles:
        return f"{name!r} with group {group!r} is not shown: it is too small."
    if titles and titles[0]:
        return f"Expected {name!r} with one of its groups, such as {(name, titles[0])!r}."
    return f"The release has no statistic {name!r}" + (f" with group {group!r}." if group else ".")
