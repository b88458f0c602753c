"""The privacy loss of one release of a law of an integer norm: P(x) = h_r(x), h not increasing.

**Any such norm: as a pure law.** Where a shift moves r by at most m, the ratio of P(x) and P(x − v)
is within e^(±ε), ε the largest log(h_t/h_{t+m}), wherever both are positive. Let P have the mass η
where Q(x) = P(x − v) is 0; by x ↦ v − x that is also Q's where P is 0. On the rest the most that P
− e^a·Q can gather for a ≥ −ε is (1 − e^(a−ε)) times the P-mass of a set where P = e^ε·Q, and as
elsewhere P ≥ e^(−ε)·Q, that mass is at most (e^ε(1 − η) − (1 − η))/(e^ε − e^(−ε)) ≤ e^ε/(1 + e^ε):
randomised response. Below −ε it is at most 1 − e^a. So losses of ±ε with the probabilities of
randomised response, and η beside them as infinite loss, dominate the pair, and with it every
composition. It need not be attained, so lower bounds say nothing.

**The range, exactly.** Σ_x min(P, e^ε·Q) is an integral over heights s of #{P > s, e^ε·Q > s}, and
both sets are {r ≤ i} and {r ≤ j} + v for some i and j. So the shift that has the least C_ij for all
i and j has the largest δ at every ε, and is dominated by none: `lattice.bodies.overlap` says which,
and checks it. One step has no other shifts than 1_S: should the check fail there, the worst of them
is taken for each ε.
"""

from __future__ import annotations

import math

import numpy as np

from leastnoise.errors import AccountingError, UnsupportedError
from leastnoise.lattice.bodies.overlap import centre_is_worst, one_sided_pairs, worst_moved
from leastnoise.lattice.radial import Radial, is_non_increasing
from leastnoise.lattice.shells import Floats
from leastnoise.losses.base import Loss
from leastnoise.losses.lattice import (
    LARGEST_DEVIATION,
    joint_table,
    reach_of,
    unfilled,
    with_centre_filled,
)
from leastnoise.losses.rounding import LOSS_ROUNDING, MASS_ROUNDING, rounded_up
from leastnoise.losses.table import TableLoss
from leastnoise.losses.worst import WorstOf

_NOTHING_KNOWN = 2.0  # of mass raised: more than there is, so every lower bound is 0


def range_loss(noise: Radial, shift: int, touched: int) -> Loss:
    """The loss of a law of the range for one-sided changes of up to `shift` steps in at most
    `touched` answers."""
    reach = reach_of(noise, shift)
    filled, deviation = _not_increasing(noise, reach + shift)
    moved = worst_moved(noise.dimension, touched)

    def table(coordinates: int) -> TableLoss:
        pairs = one_sided_pairs(noise.dimension, shift, coordinates, reach + shift)
        made = joint_table(noise, filled, pairs, reach, shift)
        return unfilled(made, deviation) if deviation else made

    if centre_is_worst(noise.dimension, shift, touched, reach + shift):
        return table(moved)
    if shift == 1:
        return WorstOf(tuple(table(coordinates) for coordinates in range(1, moved + 1)))
    raise AccountingError(
        f"No shift of {shift} steps is the worst for every pair of shells of this law; judge it "
        "for one step."
    )


def pure_loss(noise: Radial, shift: int) -> TableLoss:
    """A loss that dominates that of every law of an integer norm whose shifts move it by at most
    `shift`."""
    reach = noise.last + (shift if noise.tail_ratio is not None else 0)
    log_h, deviation = _not_increasing(noise, reach)
    falls = log_h[:-shift] - log_h[shift:]
    size = float(np.max(np.abs(log_h))) + float(
        np.max(noise.log_shell_counts(np.arange(reach + 1)))
    )
    largest = float(np.max(falls, initial=0.0))
    infinite, terms = 0.0, 0
    if noise.tail_ratio is not None:
        largest = max(largest, -shift * math.log(noise.tail_ratio))
    else:
        leaving = noise.shell_masses[max(noise.last - shift + 1, 0) :] / noise.total
        infinite, terms = math.fsum(leaving), leaving.size
    # log h is a difference of logarithms as large as d·log k
    error = LOSS_ROUNDING * (1.0 + largest + size)
    table = TableLoss(
        np.array([-largest, largest]),
        -np.logaddexp(0.0, [largest, -largest]),
        rounded_up(infinite, MASS_ROUNDING + LOSS_ROUNDING * size, terms),
        raised=_NOTHING_KNOWN,
        loss_error=error,
    )
    return unfilled(table, deviation) if deviation else table


def _not_increasing(noise: Radial, reach: int) -> tuple[Floats, float]:
    """log h of the shells 0 … reach and 0, or of the law with its empty inner shells filled and the
    mass that takes; a law that rises elsewhere is refused."""
    log_h = noise.log_pmf(np.arange(reach + 1)) - math.log(noise.total)
    if noise.is_monotone:
        return log_h, 0.0
    filled, deviation = with_centre_filled(noise, log_h)
    if not (deviation < LARGEST_DEVIATION and is_non_increasing(filled)):
        raise UnsupportedError(
            "A law of a norm is judged where its probabilities do not rise with the norm; this one "
            "rises."
        )
    return filled, deviation
