"""Sums and differences of released numbers, with the error that they have together.

The noise of different numbers may be drawn together, and be correlated: their errors do not simply
add up. A released number is linear in the noisy answers, but for means and variances of a number
that is noisy itself, so a combination is a linear form in the noise of each draw. Draws are
independent; within one any two answers have the same correlation ρ, so a form with the coefficients
c has the variance σ²((1 − ρ) Σ c² + ρ (Σ c)²); or, of unequal ranges, ties τ, and the variance is
in proportion to Σ c² + (Σ cτ)². Numbers of a table are linear in the entries that were measured, so
the same holds for them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from leastnoise.errors import PlanError, real_number
from leastnoise.laws.base import Noise
from leastnoise.releases.estimates.estimate import entries_of
from leastnoise.releases.estimates.ratios import centre
from leastnoise.releases.estimates.reconstructed import numbers, sums_of_draws, symmetric
from leastnoise.releases.estimates.row import ReleasedRow
from leastnoise.releases.estimates.trials import CONFIDENCE, TRIALS, worth
from leastnoise.releases.noise.mechanism import Mechanism
from leastnoise.releases.plan.keys import group_titles
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.statistic import RATIOS, Statistic
from leastnoise.releases.tables.intervals import ErrorPart, half_width
from leastnoise.sampling import InsecureSeededEntropy

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
    return Combination(value, *_noise(made, form))


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
    for statistic, groups in entries_of(plan, made):
        weights = _weights(statistic)
        if weights is None:
            continue
        for title, entries in zip(group_titles(statistic.group_by), groups, strict=True):
            key = (statistic.name, title)
            values[key] = before[key]
            pairs = zip(entries, weights[: len(entries)], strict=True)
            forms[key] = {entry: weight * worth(made, entry) for entry, weight in pairs}
    return values, forms


def _weights(statistic: Statistic) -> tuple[float, ...] | None:
    """How a statistic is made of its answers, where it is linear in them."""
    if statistic.kind not in RATIOS:
        return (1.0, 0.0 if statistic.values is None else centre(statistic))
    if statistic.kind == "mean" and statistic.public_n is not None:
        return (1.0 / statistic.public_n,)
    return None


def _noise(made: Mechanism, form: Mapping[int, float]) -> tuple[float, float]:
    """Standard deviation and 95 % half-width of a linear form in the noise of entries and of
    numbers of tables, which are linear forms in entries themselves."""
    of_tables = {place: share for place, share in form.items() if place >= len(made.entries)}
    weights = {place: share for place, share in form.items() if place not in of_tables}
    for entry, weight in numbers(made).entry_weights(of_tables).items():
        weights[entry] = weights.get(entry, 0.0) + weight
    drawn = _alike(made, weights)
    variance = math.fsum(
        count * made.laws[law].noise.variance_of(parts) for (law, parts), count in drawn.items()
    )
    return math.sqrt(variance), _half_width(made, drawn)


# The law of a draw and the weights of its answers, and how many draws have them.
_Alike = Counter[tuple[int, tuple[float, ...]]]


def _alike(made: Mechanism, weights: Mapping[int, float]) -> _Alike:
    """The draws that move a form. Weights that differ in the last digits are the same."""
    largest = max(map(abs, weights.values()), default=0.0)
    found: _Alike = Counter()
    for draw in made.draws:
        if not any(weights.get(entry) for entry in draw.entries):
            continue
        parts = [0.0] * made.laws[draw.law].noise.dimension
        for at, entry in enumerate(draw.entries):
            parts[at] = largest * round(weights.get(entry, 0.0) / (largest or 1.0), 12)
        if any(parts):
            found[draw.law, tuple(parts)] += 1
    return found


def _half_width(made: Mechanism, drawn: _Alike) -> float:
    """From the exact law where each draw moves the form by one of its answers, else by trials."""
    if all(sum(map(bool, parts)) == 1 for _, parts in drawn):
        exact = [
            ErrorPart(
                symmetric(_moved_answer(made.laws[law].noise, parts)), math.fsum(parts), count
            )
            for (law, parts), count in drawn.items()
        ]
        return half_width(exact, CONFIDENCE)
    source = InsecureSeededEntropy(1)
    together = np.zeros(TRIALS)
    for (law, parts), count in drawn.items():
        noise = made.laws[law].noise
        together += sums_of_draws(noise, count, TRIALS, source) @ np.array(parts)
    return float(np.quantile(np.abs(together), CONFIDENCE))


def _moved_answer(noise: Noise, parts: Sequence[float]) -> Noise:
    """The law of the one answer that is in a form."""
    return noise.of_answer(next(at for at, part in enumerate(parts) if part))


def _unknown(key: tuple[str, str], plan: Plan) -> str:
    name, group = key
    found = [one for one in plan.statistics if one.name == name]
    if found and found[0].kind in RATIOS:
        return (
            f"{name!r} is a ratio of noisy numbers, not a linear combination of them: combine "
            "counts and sums, or means with a public number of values."
        )
    if found and found[0].group_by:
        titles = group_titles(found[0].group_by)
        return f"Expected {name!r} with one of its groups, such as {(name, titles[0])!r}."
    return f"The release has no statistic {name!r}" + (f" with group {group!r}." if group else ".")
