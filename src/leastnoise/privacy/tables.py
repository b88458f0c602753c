"""From a law and a sensitivity to the privacy loss of one release."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from leastnoise import overlap, shells
from leastnoise.ball import BallNoise
from leastnoise.closed_form import GaussianNoise, LaplaceNoise
from leastnoise.errors import AccountingError, UnsupportedError, at_least
from leastnoise.lattice import LatticeNoise, is_non_increasing
from leastnoise.noise import Noise
from leastnoise.privacy.ball import ball_loss
from leastnoise.privacy.single import (
    LOSS_ROUNDING,
    MASS_ROUNDING,
    ULP,
    GaussianLoss,
    LaplaceLoss,
    SingleLoss,
    TableLoss,
    WorstOf,
    log_ratio,
    rounded_by,
    rounded_up,
)
from leastnoise.shells import Floats
from leastnoise.steps import shift_in_steps

_FAR = 100.0  # joint laws: shells are listed until e^−100 of the mass is left, which then counts at the largest loss
_FAINT = -110.0  # joint laws: pairs of log-probability below this are lumped at the largest loss
_FARTHEST = 3_000_000  # shells
_FAINTEST = 1e-300
_LARGEST_DEVIATION = 1e-9
_MOST_STEPS = 1 << 25  # of a shift: its tables take 10 GB
_LEAST_RATIO = 1e-150
_MOST_WORK = 10_000_000  # pairs × shifts a non-monotone joint law may need

# Every point of P has left the support of Q: the loss is infinite for certain.
NOTHING_SHARED = TableLoss(np.zeros(1), np.full(1, -np.inf), infinite=1.0)


def single_loss(noise: Noise, sensitivity: float) -> SingleLoss:
    """The exact loss of one release of `noise` when one person can move each answer by up to `sensitivity`."""
    s = at_least("sensitivity", sensitivity)
    if isinstance(noise, GaussianNoise):
        return GaussianLoss(_in_range(s / noise.sigma) * (1.0 + 2.0 * ULP))
    if isinstance(noise, LaplaceNoise):
        return LaplaceLoss(_in_range(s / noise.scale) * (1.0 + 4.0 * ULP))
    if isinstance(noise, LatticeNoise):
        return lattice_loss(noise, shift_in_steps(s, noise.step))
    if isinstance(noise, BallNoise):
        return ball_loss(noise, s)
    raise UnsupportedError(f"{type(noise).__name__} has no privacy loss here.")


def _in_range(ratio: float) -> float:
    """The sensitivity in units of the noise, where its square is a normal floating-point number: beyond, μ² = 0 would say that
    nothing is revealed."""
    if not _LEAST_RATIO < ratio < 1.0 / _LEAST_RATIO:
        raise AccountingError(
            f"Noise is judged for sensitivities from 1e-150 to 1e150 times its own size, not {ratio:.3g} times."
        )
    return ratio


def lattice_loss(noise: LatticeNoise, shift: int) -> SingleLoss:
    """The loss for shifts of up to `shift` lattice steps in each coordinate: the corner if the law is monotone, else the worst."""
    if shift > _MOST_STEPS:
        raise AccountingError(
            f"A shift of {shift:.3g} lattice steps is too far to be judged; the sensitivity is too large for this law."
        )
    if noise.dimension == 1:
        shifts = (shift,) if noise.is_monotone else range(1, shift + 1)
        tables = tuple(_line_table(noise, t) for t in shifts)
        return tables[0] if len(tables) == 1 else WorstOf(tables)
    reach = _reach(noise, shift)
    log_h = noise.log_pmf(np.arange(reach + shift + 1)) - math.log(noise.total)
    if noise.is_monotone:
        return _joint_table(
            noise, log_h, overlap.corner_pairs(noise.dimension, shift, reach + shift), reach, shift
        )
    filled, deviation = _with_centre_filled(noise, log_h)
    if deviation < _LARGEST_DEVIATION and is_non_increasing(filled):
        pairs = overlap.corner_pairs(noise.dimension, shift, reach + shift)
        table = _joint_table(noise, filled, pairs, reach, shift)
        # Off the empty shells the law is 1 + a times the filled one, so every loss is the same; what P has on Q's empty shells is
        # at most a, the mass filled in, and counts as infinite.
        infinite = min(table.infinite * (1.0 + deviation) + deviation, 1.0)
        log_p = table.log_p + math.log1p(deviation)
        return replace(
            table,
            log_p=log_p,
            infinite=infinite,
            deviation=deviation,
            raised=table.raised + deviation,
        )
    choices = math.comb(shift + noise.dimension, noise.dimension) - 1
    if choices * (reach + shift) ** 2 > _MOST_WORK:
        raise AccountingError(
            f"A joint law on {noise.dimension} answers that is not non-increasing has {choices} shifts to check, too many; "
            "make it non-increasing."
        )
    vectors = overlap.box_shifts(noise.dimension, shift)
    return WorstOf(
        tuple(
            _joint_table(noise, log_h, overlap.shifted_pairs(v, reach + shift), reach, shift)
            for v in vectors
        )
    )


def shift_tables(noise: LatticeNoise, shift: int) -> tuple[TableLoss, ...]:
    """The tables behind `lattice_loss`: one for a monotone law, one a shift otherwise."""
    loss = lattice_loss(noise, shift)
    return loss.tables if isinstance(loss, WorstOf) else (loss,)  # type: ignore[return-value]


def _line_table(noise: LatticeNoise, t: int) -> TableLoss:
    """One answer, shift t: x from −N to N+t one by one; beyond, both P(x) and P(x−t) are in the tail and the loss is ±t·log r."""
    last, k = noise.last, np.arange(noise.last + t + 1)
    p, log_h = noise.pmf(k) / noise.total, noise.log_pmf(k) - math.log(noise.total)
    faint = (log_h > -np.inf) & (p < _FAINTEST)
    pairs = overlap.corner_pairs(1, t, last + t)
    held = log_h[pairs.i] > -np.inf
    lost = held & (log_h[pairs.j] == -np.inf)
    both = held & ~lost
    i, j = pairs.i[both], pairs.j[both]
    # Below the normal range of floating-point numbers only logarithms are left, and those of stored masses are rounded badly: such
    # losses are raised by 1, and their mass is not counted in lower bounds.
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


def _joint_table(
    noise: LatticeNoise, log_h: Floats, pairs: overlap.Pairs, reach: int, shift: int
) -> TableLoss:
    """Several answers: pairs of shells up to `reach`; the mass beyond counts at the largest loss that can occur there."""
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
        rest = _mass_beyond(noise, reach)
    # log h and log counts are as large as d·log k; what they lose in the last place is lost from losses and probabilities.
    size = float(np.max(np.abs(log_h[np.isfinite(log_h)]))) + float(
        np.max(np.abs(pairs.log_count), initial=0.0)
    )
    loss_error, mass_error = (
        LOSS_ROUNDING * (1.0 + largest + size),
        MASS_ROUNDING + LOSS_ROUNDING * size,
    )
    beyond = faint & (
        loss > largest + 0.25 * loss_error
    )  # not those of the tail itself, which are `largest` up to rounding
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


def _reach(noise: LatticeNoise, shift: int) -> int:
    """The last shell to list for a joint law: the whole support, or so far that both laws are in the tail and little is left."""
    if noise.tail_ratio is None:
        return noise.last
    more = math.ceil(_FAR / -math.log(noise.tail_ratio))
    reach = noise.last + shift + more
    while _mass_beyond(noise, reach) > math.exp(-0.8 * _FAR) and reach < _FARTHEST:
        reach += more
    return reach


def _mass_beyond(noise: LatticeNoise, reach: int) -> float:
    """Upper bound on the mass beyond shell `reach` ≥ N: consecutive shells of the tail shrink by factors that fall with k."""
    here, following = noise.extended(reach + 1)[-2:]
    if here == 0.0:
        return float(np.finfo(np.float64).tiny)
    rho = float(following / here)
    return math.inf if rho >= 1.0 else float(here) * rho / (1.0 - rho)


def _with_centre_filled(noise: LatticeNoise, log_h: Floats) -> tuple[Floats, float]:
    """The law with empty inner shells filled at the height of the first full one, and its distance from the given law.

    In many dimensions the inner shells hold less mass than can be stored or sampled, so they are empty and the law rises there.
    The filled law differs by the mass filled in, and that is charged to δ.
    """
    empty = int(np.argmax(log_h > -np.inf))
    filled = log_h.copy()
    filled[:empty] = log_h[empty]
    added = float(
        np.sum(np.exp(log_h[empty] + shells.log_shell_count(noise.dimension, np.arange(empty))))
    )
    added *= 1.0 + 1e-10  # rounded up: its logarithms are as large as d·log k
    return filled - math.log1p(added), added
