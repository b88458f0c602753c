"""The noise of a linear form in the entries of a mechanism and the numbers of its tables.

Draws are independent; within one any two answers have the same correlation ρ, so a form with the
coefficients c has the variance σ²((1 − ρ) Σ c² + ρ (Σ c)²); or, of unequal ranges, ties τ, and the
variance is in proportion to Σ c² + (Σ cτ)². Numbers of a table are linear in the entries that were
measured, so the same holds for them. The half-width is that of the exact law
where each draw moves the form by one of its answers, else of 10,000 trials.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from leastnoise.laws.base import Noise
from leastnoise.releases.estimates.reconstructed import numbers, sums_of_draws, symmetric
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
