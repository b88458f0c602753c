"""The noise of a linear form in the entries of a mechanism and the numbers of its tables.

Draws are independent; within one any two answers have the same correlation ρ, so a form with the
coefficients c has the variance σ²((1 − ρ) Σ c² + ρ (Σ c)²); or, of unequal ranges, ties τ, and the
variance is in proportion to Σ c² + (Σ cτ)². Numbers of a table are linear in the entries that were
measured, so the same holds for them. The half-width is that of the exact law of the form
(`joint_forms`); of 10,000 trials only where that would take too long.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from leastnoise.errors import UnsupportedError
from leastnoise.releases.estimates.joint_forms import error_part
from leastnoise.releases.estimates.reconstructed import numbers, sums_of_draws
from leastnoise.releases.estimates.trials import CONFIDENCE, TRIALS
from leastnoise.releases.noise.mechanism import Mechanism
from leastnoise.releases.tables.intervals import ErrorPart, half_width
from leastnoise.sampling import InsecureSeededEntropy


def noise_of(made: Mechanism, form: Mapping[int, float]) -> tuple[float, float]:
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
    for d in sorted({made.place_of[entry][0] for entry, weight in weights.items() if weight}):
        draw = made.draws[d]
        parts = [0.0] * made.laws[draw.law].noise.dimension
        for at, entry in enumerate(draw.entries):
            parts[at] = largest * round(weights.get(entry, 0.0) / (largest or 1.0), 12)
        if any(parts):
            found[draw.law, tuple(parts)] += 1
    return found


def _half_width(made: Mechanism, drawn: _Alike) -> float:
    """From the exact law of the form; by trials where that would take too long."""
    try:
        return half_width(_error_parts(made, drawn), CONFIDENCE)
    except UnsupportedError:
        source = InsecureSeededEntropy(1)
    together = np.zeros(TRIALS)
    for (law, parts), count in drawn.items():
        noise = made.laws[law].noise
        together += sums_of_draws(noise, count, TRIALS, source) @ np.array(parts)
    return float(np.quantile(np.abs(together), CONFIDENCE))


def _error_parts(made: Mechanism, drawn: _Alike) -> list[ErrorPart]:
    return [error_part(made.laws[law].noise, parts, count) for (law, parts), count in drawn.items()]


def exact_width(made: Mechanism, used: Sequence[int], weights: Sequence[float]) -> float | None:
    """The 95 % half-width of a form in the answers of one cell, entries or numbers of one table,
    from its exact law; None where that is known by trials only."""
    if all(place >= len(made.entries) for place in used):
        listed = numbers(made).cell_parts(used, weights)
        parts = None if listed is None else [error_part(*one) for one in listed]
    elif any(place >= len(made.entries) for place in used):
        parts = None
    else:
        drawn = _alike(made, dict(zip(used, weights, strict=True)))
        parts = _error_parts(made, drawn)
    try:
        return None if parts is None else half_width(parts, CONFIDENCE)
    except UnsupportedError:
        return None
