"""The privacy loss of one release of a radial law on the lattice, for a shift of whole steps."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from leastnoise.errors import AccountingError
from leastnoise.lattice import overlap
from leastnoise.lattice.radial import Radial, is_non_increasing
from leastnoise.lattice.shells import Floats
from leastnoise.losses.base import Loss
from leastnoise.losses.rounding import (
    LOSS_ROUNDING,
    MASS_ROUNDING,
    log_ratio,
    rounded_by,
    rounded_up,
)
from leastnoise.losses.table import TableLoss
from leastnoise.losses.worst import WorstOf

# joint laws: shells are listed until e^−100 of the mass is left, which then counts at
# the largest loss
_FAR = 100.0
# joint laws: pairs of log-probability below this are lumped at the largest loss
_FAINT = -110.0
_FARTHEST = 3_000_000  # shells
_FAINTEST = 1e-300
LARGEST_DEVIATION = 1e-9
_MOST_STEPS = 1 << 25  # of a shift: its tables take 10 GB
_MOST_WORK = 10_000_000  # pairs × shifts a non-monotone joint law may need

# Every point of P has left the support of Q: the loss is infinite for certain.
NOTHING_SHARED = TableLoss(np.zeros(1), np.full(1, -np.inf), infinite=1.0)


def lattice_loss(noise: Radial, shift: int) -> Loss:
    """The loss for shifts of up to `shift` lattice steps in each coordinate: the corner
    if the law is monotone, else the worst (docs/mathematics.md#the-worst-shift)."""
    if shift > _MOST_STEPS:
        raise AccountingError(
            f"A shift of {shift:.3g} lattice steps is too far to be judged; the sensitivity is "
            "too large for this law."
        )
    if noise.dimension > 1:
        return _joint_loss(noise, shift)
    if noise.is_monotone or shift == 1:
        return _line_table(noise, shift)
    return WorstOf(tuple(_line_table(noise, t) for t in range(1, shift + 1)))


def corner_is_worst(noise: Radial) -> bool:
    """Whether the loss is that of the corner shift: the law does not rise, or would not if its
    empty inner shells were filled, for which less than 1e-9 of its mass is enough."""
    if noise.is_monotone or noise.dimension == 1:
        return noise.is_monotone
    log_h = noise.log_pmf(np.arange(noise.last + 1)) - math.log(noise.total)
    filled, deviation = with_centre_filled(noise, log_h)
    return deviation < LARGEST_DEVIATION and is_non_increasing(filled)


def _joint_loss(noise: Radial, shift: int) -> Loss:
    """Several answers.

    1. A monotone law: its corner shift.
    2. A law that is monotone once its empty inner shells are filled: the corner shift
       of the filled law, with the mass filled in charged as infinite.
    3. Any other: every shift, up to signs and order.
    """
    reach = reach_of(noise, shift)
    log_h = noise.log_pmf(np.arange(reach + shift + 1)) - math.log(noise.total)
    if noise.is_monotone:
        pairs = overlap.corner_pairs(noise.dimension, shift, reach + shift)
        return joint_table(noise, log_h, pairs, reach, shift)
    filled, deviation = with_centre_filled(noise, log_h)
    if deviation < LARGEST_DEVIATION and is_non_increasing(filled):
        pairs = overlap.corner_pairs(noise.dimension, shift, reach + shift)
        return unfilled(joint_table(noise, filled, pairs, reach, shift), deviation)
    choices = math.comb(shift + noise.dimension, noise.dimension) - 1
    if choices * (reach + shift) ** 2 > _MOST_WORK:
        raise AccountingError(
            f"A joint law on {noise.dimension} answers that is not non-increasing has {choices} "
            "shifts to check, too many; make it non-increasing."
        )
    tables = (
        joint_table(noise, log_h, overlap.shifted_pairs(v, reach + shift), reach, shift)
        for v in overlap.box_shifts(noise.dimension, shift)
    )
    return WorstOf(tuple(tables))


def unfilled(table: TableLoss, deviation: float) -> TableLoss:
    """The loss of a law from that of the same law with its empty shells filled.

    Off the empty shells the law is 1 + a times the filled one, so every loss is the same;
    what P has on Q's empty shells is at most a, the mass filled in, and counts as infinite.
    """
    return replace(
        table,
        log_p=table.log_p + math.log1p(deviation),
        infinite=min(table.infinite * (1.0 + deviation) + deviation, 1.0),
        deviation=deviation,
        raised=table.raised + deviation,
    )


def _line_table(noise: Radial, t: int) -> TableLoss:
    """One answer, shift t: x from −N to N+t one by one; beyond, both P(x) and P(x−t)
    are in the tail and the loss is ±t·log r."""
    last, k = noise.last, np.arange(noise.last + t + 1)
    p, log_h = noise.pmf(k) / noise.total, noise.log_pmf(k) - math.log(noise.total)
    faint = (log_h > -np.inf) & (p < _FAINTEST)
    pairs = overlap.corner_pairs(1, t, last + t)
    held = log_h[pairs.i] > -np.inf
    lost = held & (log_h[pairs.j] == -np.inf)
    both = held & ~lost
    i, j = pairs.i[both], pairs.j[both]
    # Below the normal range of floating-point numbers only logarithms are left, and
    # those of stored masses are rounded badly: such losses are raised by 1, and their
    # mass is not counted in lower bounds.
    plain = ~(faint[i] | faint[j])
    safe = log_ratio(np.where(plain, p[i], 1.0), np.where(plain, p[j], 1.0))
    loss = np.where(plain, safe, log_h[i] - log_h[j] + 1.0)
    log_p = log_h[i]
    raised = float(np.sum(np.exp(log_p[~plain])))
    if noise.tail_ratio is not None:
        slope = -t * math.log(noise.tail_ratio)
        side = float(log_h[last]) + math.log(noise.tail_ratio) - math.log1p(-noise.tail_ratio)
        loss = np.concatenate([loss, [slope, -slope]])
        log_p = np.concatenate([log_p, [side, side - slope]])
    if not loss.size:
        return NOTHING_SHARED
    mass = float(np.sum(np.exp(log_h[pairs.i][lost])))
    infinite = rounded_up(mass, MASS_ROUNDING, int(np.sum(lost)))
    raised += rounded_by(mass, MASS_ROUNDING, int(np.sum(lost)))
    return TableLoss(loss, log_p, infinite, raised=raised).merged()


def joint_table(
    noise: Radial, log_h: Floats, pairs: overlap.Pairs, reach: int, shift: int
) -> TableLoss:
    """Several answers: pairs of shells up to `reach`; the mass beyond counts at the
    largest loss that can occur there."""
    inside = (pairs.i <= reach) & (log_h[pairs.i] > -np.inf)
    i, j, log_p = pairs.i[inside], pairs.j[inside], (log_h[pairs.i] + pairs.log_count)[inside]
    lost = log_h[j] == -np.inf
    infinite = float(np.sum(np.exp(log_p[lost])))
    i, j, log_p = i[~lost], j[~lost], log_p[~lost]
    loss = log_h[i] - log_h[j]
    faint = log_p < _FAINT
    largest = float(loss[~faint].max(initial=0.0))
    rest = 0.0
    if noise.tail_ratio is not None:
        largest = max(largest, -shift * math.log(noise.tail_ratio))
        rest = mass_beyond(noise, reach)
    # log h and log counts are as large as d·log k; what they lose in the last place is
    # lost from losses and probabilities.
    size = float(np.max(np.abs(log_h[np.isfinite(log_h)])))
    size += float(np.max(np.abs(pairs.log_count), initial=0.0))
    loss_error = LOSS_ROUNDING * (1.0 + largest + size)
    mass_error = MASS_ROUNDING + LOSS_ROUNDING * size
    # not those of the tail itself, which are `largest` up to rounding
    beyond = faint & (loss > largest + 0.25 * loss_error)
    raised = float(np.sum(np.exp(log_p[beyond])))
    infinite += raised
    terms = int(np.sum(lost)) + int(np.sum(beyond))
    rest += float(np.sum(np.exp(log_p[faint & ~beyond])))
    raised += rest
    loss, log_p = loss[~faint], log_p[~faint]
    if rest > 0:
        loss, log_p = np.append(loss, largest), np.append(log_p, math.log(rest))
    if not loss.size:
        return NOTHING_SHARED
    raised += rounded_by(infinite, mass_error, terms)
    infinite = rounded_up(infinite, mass_error, terms)
    return TableLoss(
        loss, log_p, infinite, raised=raised, loss_error=loss_error, mass_error=mass_error
    )


def reach_of(noise: Radial, shift: int) -> int:
    """The last shell to list for a joint law: the whole support, or so far that both
    laws are in the tail and little is left."""
    if noise.tail_ratio is None:
        return noise.last
    more = math.ceil(_FAR / -math.log(noise.tail_ratio))
    reach = noise.last + shift + more
    while mass_beyond(noise, reach) > math.exp(-0.8 * _FAR) and reach < _FARTHEST:
        reach += more
    return reach


def mass_beyond(noise: Radial, reach: int) -> float:
    """Upper bound on the mass beyond shell `reach` ≥ N: consecutive shells of the tail
    shrink by factors that fall with k."""
    here, following = noise.extended(reach + 1)[-2:]
    if here == 0.0:
        return float(np.finfo(np.float64).tiny)
    rho = float(following / here)
    return math.inf if rho >= 1.0 else float(here) * rho / (1.0 - rho)


def with_centre_filled(noise: Radial, log_h: Floats) -> tuple[Floats, float]:
    """The law with empty inner shells filled at the height of the first full one, and
    its distance from the given law.

    In many dimensions the inner shells hold less mass than can be stored or sampled, so
    they are empty and the law rises there. The filled law differs by the mass filled
    in, and that is charged to δ.
    """
    empty = int(np.argmax(log_h > -np.inf))
    filled = log_h.copy()
    filled[:empty] = log_h[empty]
    log_added = log_h[empty] + noise.log_shell_counts(np.arange(empty))
    # rounded up: its logarithms are as large as d·log k
    added = float(np.sum(np.exp(log_added))) * (1.0 + 1e-10)
    return filled - math.log1p(added), added
