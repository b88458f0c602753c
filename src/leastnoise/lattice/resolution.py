"""How fine a lattice: the one place that decides it, in bins a sensitivity from σ/sensitivity.

The noise inside a bin is spent for nothing: with m bins a sensitivity its variance is
(s/σ)²/(12 m²) of the whole. What may be lost, and what more bins would take, depends on the use:

    bins_for_divergence   a Rényi program, to an accuracy of the divergence
    bins_of_design        the lattice of a design, 1e-4 of ε or less
    aligned_bins          as many or a few more, so that a given step falls on an edge
    bins_to_compare       laws that are only compared with each other, a few per cent
    step_of_known_law     a law of a closed form, 3e-5 of the variance

On the integers a bin is an integer, or a block of them where the sensitivity is many
(`block_size`).
"""

from __future__ import annotations

import math

import numpy as np

from leastnoise.errors import (
    InvalidParameterError,
    at_least,
    one_of,
    open_unit,
    positive,
    positive_integer,
)
from leastnoise.lattice.shells import Floats
from leastnoise.lattice.steps import shift_in_steps, step_of

_FEWEST, _MOST = 4, 200  # bins of a Rényi program
FINE = 0.2  # sigma in sensitivities below which the bins of a design keep to a share of it
WIDE = 16.0  # and from which sigma alone makes them fine
# Of a joint law the pairs of bins are judged, and the share is a sixth of sigma up to 120 bins,
# then at least a half (2, 5 and 20 answers at σ = 0.15 s and 0.05 s: up to 7e-5 of ε above a
# twelfth, in a quarter of the time; a half loses up to 2e-3).
_JOINT_BINS = 120
# Sigma in sensitivities from which the best staircase has its first step at s/2: one bin a
# sensitivity puts it there.
WIDE_STAIRS = 30.0


def bins_for_divergence(ratio: float, accuracy: float = 1e-4) -> int:
    """m such that constant bins cost at most about `accuracy` of the divergence.

    Measured against 4m at α = 18: 6e-5 at σ = 8s (m = 4), 7e-5 at 2s (m = 15), 2e-5 at s and s/2 (m
    = 29, 58), and 1e-5 at 0.1s (m = 200, the cap).
    """
    share = positive("sigma/sensitivity", ratio) ** 2 * 12.0 * open_unit("accuracy", accuracy)
    return max(_FEWEST, min(_MOST, math.ceil(1.0 / math.sqrt(share))))


def bins_of_design(ratio: float, dimension: int = 1) -> int:
    """As many as `bins_for_divergence`, but fewer than four where sigma alone makes them fine
    (their own variance stays below 2e-5 of the whole), and a twelfth of sigma where that is small
    (6e-4 of the variance, 1e-4 of ε), or of a joint law a sixth to a half."""
    if ratio >= WIDE:
        return max(1, min(4, math.ceil(65.0 / ratio)))
    if ratio >= FINE:
        return bins_for_divergence(ratio)
    if dimension == 1:
        return math.ceil(12.0 / ratio)
    return max(min(math.ceil(6.0 / ratio), _JOINT_BINS), math.ceil(2.0 / ratio))


def aligned_bins(least: int, place: float) -> int:
    """The number of bins from `least` to 1.5 times as many whose edges, (2k + 1)/(2m), come nearest
    to a `place` in sensitivities."""
    choices = np.arange(least, least + max(least // 2, 2) + 1)
    nearest = (2 * np.floor(place * choices) + 1) / (2 * choices)
    return int(choices[np.argmin(np.abs(nearest - place))])


def bins_to_compare(ratio: float) -> int:
    """Enough to see which of two laws needs less noise."""
    return max(2 if ratio < WIDE else 1, math.ceil(8.0 / ratio))


def step_of_known_law(
    sigma: float, sensitivity: float, step: float | None, domain: str, least: int = 10
) -> float:
    """The step of a law of a closed form: 1 on the integers, `step` if given and fit for the
    sensitivity, else at most a fiftieth of sigma: the bins' own variance is then 3e-5 of σ²."""
    one_of("domain", domain, ("real", "integer"))
    sensitivity = at_least("sensitivity", sensitivity)
    if domain == "integer":
        if step is not None and positive("step", step) != 1.0:
            raise InvalidParameterError("step", step, 'to be 1 for domain="integer"')
        positive_integer("sensitivity", sensitivity)
        return 1.0
    if step is not None:
        shift_in_steps(sensitivity, positive("step", step))
        return float(step)
    return step_of(sensitivity, max(least, math.ceil(50.0 * sensitivity / sigma)))


def block_size(shift: int, needed: int) -> int:
    """Integers to a bin where the sensitivity is many of them: the largest odd divisor of `shift`
    that leaves at least `needed` bins a sensitivity; 1 while the shift is no burden.

    A law that is constant on blocks of g integers around the multiples of g is one on the integers
    at the cost that a block has on average (`Cost.over_blocks`): for the quadratic cost g²k² + (g²
    − 1)/12.
    """
    if shift <= 4 * needed:
        return 1
    return max(g for g in range(1, shift // needed + 1, 2) if shift % g == 0)


def in_integers(log_h: Floats, tail_ratio: float | None, block: int) -> tuple[Floats, float | None]:
    """log h and tail of the law on the integers, from those on blocks of them."""
    if block == 1:
        return log_h, tail_ratio
    ratio = None if tail_ratio is None else tail_ratio ** (1.0 / block)
    return np.repeat(log_h, block)[block // 2 :], ratio
