"""The loss of a radial law at ANY distance between neighbours, on the safe side.

Other libraries ask for the guarantee at distances the design did not plan for: half the
sensitivity, ten times it, or 1 + 1e-8 after a floating-point sum.

- On the integers a law is judged at ⌊distance⌋: integer answers that differ by at most
  1.5 differ by at most 1.
- On the real line answers are rounded to a public lattice of pitch step/2^16, and
  answers at most M pitches apart, M rounded up, stay so. The density is constant on
  bins: the place of the released value within its bin is uniform whatever the data are,
  and given it the shift is m bins with probability 1 − f and m + 1 bins with probability
  f, M pitches being m + f bins. For one answer the loss is therefore the mixture of the
  two losses. For d answers moved by m + f bins each, all are at m with probability (1 −
  f)^d; every other shift is dominated by the corner (m+1, …, m+1) of a non-increasing
  law (worst-shift theorem), so that the mixture of the two corners is on the safe side.
- A law that is not non-increasing is judged at all lattice shifts up to m + 1, whose
  maximum dominates every mixture.
- Where a law with endless tails would take too many shells to judge, k steps cost at
  most k times the largest loss of one step: randomised response with that ε dominates
  every mechanism of pure ε-DP (Kairouz, Oh and Viswanath 2015).
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from leastnoise.errors import AccountingError
from leastnoise.lattice.radial import Radial
from leastnoise.lattice.steps import PLACES, public_pitch
from leastnoise.losses.base import Loss
from leastnoise.losses.lattice import NOTHING_SHARED, lattice_loss
from leastnoise.losses.rounding import LOSS_ROUNDING, ULP
from leastnoise.losses.table import TableLoss

NO_LOSS = TableLoss(np.zeros(1), np.zeros(1))
# shells × shift of a joint law or one that rises; beyond, only a crude bound is given
_MOST_PAIRS = 50_000_000
# steps that a law of one answer is moved by and judged: half a second
_MOST_SHIFT = 1_000_000
_FARTHEST = 10**100  # beyond, even squares of losses overflow
_FEW = 64  # tables of a law that rises are made whatever their size


def loss_at(law: Radial, step: float, domain: str, distance: Fraction) -> Loss:
    """The loss of one draw when one person moves each of its answers by at most
    `distance`: an upper bound at every distance."""
    if domain == "integer":
        return _loss_of_steps(law, math.floor(distance))
    m, rest = divmod(math.ceil(distance / public_pitch(step, domain)), PLACES)
    if rest == 0:
        return _loss_of_steps(law, m)
    above = _loss_of_steps(law, m + 1)
    table_above = above.listed
    if not law.is_monotone and (table_above is None or not table_above.deviation > 0):
        return above  # the maximum over the shifts 1 … m+1
    below = _loss_of_steps(law, m)
    if below is NOTHING_SHARED or below.listed is None or table_above is None:
        return above
    # All d answers stay at m bins with probability (1 − f)^d.
    share = -math.expm1(law.dimension * math.log1p(-rest / PLACES)) * (1.0 + 1e-14)
    return mixture(below.listed, table_above, min(share, 1.0))


def _loss_of_steps(law: Radial, shift: int) -> Loss:
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


def _step_by_step(law: Radial, shift: int) -> Loss:
    """A bound for many steps from the largest loss of one; for laws that end, and joint
    ones, the loss is said to be unbounded."""
    if law.tail_ratio is None or law.dimension > 1 or not 1 < shift < _FARTHEST:
        return NOTHING_SHARED
    one = _loss_of_steps(law, 1)
    if one.infinite > 0.0:
        return NOTHING_SHARED
    epsilon = (one.largest + LOSS_ROUNDING * (1.0 + one.largest)) * shift * (1.0 + 4.0 * ULP)
    both = np.array([epsilon, -epsilon])
    return TableLoss(both, np.minimum(both, 0.0) - math.log1p(math.exp(-epsilon)))


def mixture(below: TableLoss, above: TableLoss, share: float) -> TableLoss:
    """The loss that is `above` with probability `share` and `below` otherwise, when
    everyone can see which."""
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
