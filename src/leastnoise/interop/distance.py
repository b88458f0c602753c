"""The law that an adapter samples, and its loss at ANY distance between neighbours, on the safe side.

Other libraries ask for the guarantee at distances the design did not plan for: half the sensitivity, ten times it, or 1 + 1e-8
after a floating-point sum.

- On the integers a law is judged at ⌊distance⌋: integer answers that differ by at most 1.5 differ by at most 1.
- On the real line answers are rounded to a public lattice of pitch step/2^16, and answers at most M pitches apart, M rounded up,
  stay so. The density is constant on bins: the place of the released value within its bin is uniform whatever the data are, and
  given it the shift is m bins with probability 1 − f and m + 1 bins with probability f, M pitches being m + f bins. For one answer
  the loss is therefore the mixture of the two losses. For d answers moved by m + f bins each, all are at m with probability
  (1 − f)^d; every other shift is dominated by the corner (m+1, …, m+1) of a non-increasing law (worst-shift theorem), so that the
  mixture of the two corners is on the safe side.
- A law that is not non-increasing is judged at all lattice shifts up to m + 1, whose maximum dominates every mixture.
- Where a law with endless tails would take too many shells to judge, k steps cost at most k times the largest loss of one step:
  randomised response with that ε dominates every mechanism of pure ε-DP (Kairouz, Oh and Viswanath 2015).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from leastnoise.artefact import Artefact
from leastnoise.ball import BallNoise
from leastnoise.classic import generalized_gaussian
from leastnoise.closed_form import GaussianNoise, LaplaceNoise
from leastnoise.designer.design import Design
from leastnoise.errors import (
    AccountingError,
    InvalidParameterError,
    UnsupportedError,
    at_least,
    open_unit,
)
from leastnoise.lattice import LatticeNoise
from leastnoise.noise import Noise
from leastnoise.privacy.ball import ball_loss
from leastnoise.privacy.single import LOSS_ROUNDING, ULP, SingleLoss, TableLoss
from leastnoise.privacy.tables import NOTHING_SHARED, lattice_loss
from leastnoise.sampling.weights import exact
from leastnoise.steps import PLACES, public_pitch

Source: TypeAlias = Design | Artefact | Noise

NO_LOSS = TableLoss(np.zeros(1), np.zeros(1))
_MOST_PAIRS = 50_000_000  # shells × shift of a joint law or one that rises; beyond, only a crude bound is given
_MOST_SHIFT = 1_000_000  # steps that a law of one answer is moved by and judged: half a second
_FARTHEST = 10**100  # beyond, even squares of losses overflow
_FEW = 64  # tables of a law that rises are made whatever their size


@dataclass(frozen=True)
class Use:
    """A law, how it was meant to be used, and at which δ."""

    noise: Noise
    sensitivity: float
    delta: float | None
    answers: int  # of the whole use: all releases of all batches

    @staticmethod
    def of(source: Source, *, delta: float | None = None, sensitivity: float | None = None) -> Use:
        """A design or an artefact knows its use; a bare law must be told δ, and the sensitivity if it is not 1."""
        if isinstance(source, Design):
            noise, answers = source.noise, source.compositions * source.batch
            known: tuple[float, float | None] = (source.sensitivity, source.delta)
        elif isinstance(source, Artefact):
            noise, answers = source.noise, source.guarantee.compositions * source.noise.dimension
            known = (source.guarantee.sensitivity, source.guarantee.delta)
        elif isinstance(source, Noise):
            noise, answers, known = source, source.dimension, (1.0, None)
        else:
            raise InvalidParameterError(
                "law", type(source).__name__, "to be a Design, an Artefact or a Noise"
            )
        chosen = known[1] if delta is None else open_unit("delta", delta)
        return Use(
            noise,
            known[0] if sensitivity is None else at_least("sensitivity", sensitivity),
            chosen,
            answers,
        )

    @property
    def stated_delta(self) -> float:
        if self.delta is None:
            raise InvalidParameterError(
                "delta", None, "to be given: a bare law has no guarantee of its own"
            )
        return self.delta

    def sampled(self, draws: int) -> LatticeNoise | BallNoise:
        """The law with integer weights (or the ball law, which is sampled as it is): what is judged is what is drawn."""
        law = sampleable(self.noise, self.sensitivity)
        if isinstance(law, BallNoise):
            return law
        return exact(law, delta=self.stated_delta, sensitivity=self.sensitivity, compositions=draws)


def sampleable(noise: Noise, sensitivity: float) -> LatticeNoise | BallNoise:
    """The law itself, or the lattice form of a closed form, of the same standard deviation; it is judged anew."""
    if isinstance(noise, BallNoise):
        return noise
    if isinstance(noise, (GaussianNoise, LaplaceNoise)):
        noise = generalized_gaussian(
            noise.std, 2.0 if isinstance(noise, GaussianNoise) else 1.0, sensitivity=sensitivity
        )
    if not isinstance(noise, LatticeNoise):
        raise UnsupportedError(f"{type(noise).__name__} cannot be sampled.")
    return noise


def as_distance(name: str, value: object) -> Fraction | None:
    """A distance between neighbours as an exact number; None for an infinite one."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(
        value, (int, float, Fraction, np.integer, np.floating)
    ):
        raise InvalidParameterError(name, value, "to be a number")
    if value != value or value < 0:
        raise InvalidParameterError(name, value, "to be a distance, at least 0")
    if isinstance(value, Fraction):
        return value
    if isinstance(value, (int, np.integer)):
        return Fraction(int(value))
    return Fraction(*value.as_integer_ratio()) if math.isfinite(value) else None


@lru_cache(maxsize=64)
def loss_at(law: LatticeNoise | BallNoise, distance: Fraction) -> SingleLoss:
    """The loss of one draw when one person moves each of its answers by at most `distance`: an upper bound at every distance."""
    if distance <= 0:
        return NO_LOSS
    if isinstance(law, BallNoise):
        try:
            return ball_loss(law, distance)
        except (AccountingError, OverflowError):
            return NOTHING_SHARED
    if law.domain == "integer":
        return _lattice_loss(law, math.floor(distance))
    m, rest = divmod(math.ceil(distance / public_pitch(law.step, law.domain)), PLACES)
    if rest == 0:
        return _lattice_loss(law, m)
    above = _lattice_loss(law, m + 1)
    if not law.is_monotone and not (isinstance(above, TableLoss) and above.deviation > 0):
        return above  # the maximum over the shifts 1 … m+1
    below = _lattice_loss(law, m)
    if (
        below is NOTHING_SHARED
        or not isinstance(below, TableLoss)
        or not isinstance(above, TableLoss)
    ):
        return above
    # All d answers stay at m bins with probability (1 − f)^d.
    share = -math.expm1(law.dimension * math.log1p(-rest / PLACES)) * (1.0 + 1e-14)
    return mixture(below, above, min(share, 1.0))


def _lattice_loss(law: LatticeNoise, shift: int) -> SingleLoss:
    if shift <= 0:
        return NO_LOSS
    if law.tail_ratio is None and shift > 2 * law.last:
        return NOTHING_SHARED
    if law.dimension > 1:
        is_too_much = (law.last + shift) * shift > _MOST_PAIRS
    else:
        tables = 1 if law.is_monotone else shift
        is_too_much = shift > max(_MOST_SHIFT, 2 * law.last) or (
            tables > _FEW and (law.last + shift) * tables > _MOST_PAIRS
        )
    if is_too_much:
        return _step_by_step(law, shift)
    try:
        return lattice_loss(law, shift)
    except AccountingError:
        return NOTHING_SHARED


def _step_by_step(law: LatticeNoise, shift: int) -> SingleLoss:
    """A bound for many steps from the largest loss of one; for laws that end, and joint ones, the loss is said to be unbounded."""
    if law.tail_ratio is None or law.dimension > 1 or not 1 < shift < _FARTHEST:
        return NOTHING_SHARED
    one = _lattice_loss(law, 1)
    if one.infinite > 0.0:
        return NOTHING_SHARED
    epsilon = (one.largest + LOSS_ROUNDING * (1.0 + one.largest)) * shift * (1.0 + 4.0 * ULP)
    both = np.array([epsilon, -epsilon])
    return TableLoss(both, np.minimum(both, 0.0) - math.log1p(math.exp(-epsilon)))


def mixture(below: TableLoss, above: TableLoss, share: float) -> TableLoss:
    """The loss that is `above` with probability `share` and `below` otherwise, when everyone can see which."""
    if share >= 1.0:
        return above
    return replace(
        above,
        loss=np.concatenate([below.loss, above.loss]),
        log_p=np.concatenate([below.log_p + math.log1p(-share), above.log_p + math.log(share)]),
        infinite=min(
            ((1.0 - share) * below.infinite + share * above.infinite) * (1.0 + 1e-14), 1.0
        ),
        raised=below.raised + above.raised,
        loss_error=max(below.loss_rounding, above.loss_rounding),
        mass_error=max(below.mass_error, above.mass_error),
    )
