"""A cap on the attacker's advantage over all releases: what each of them adds, and why that is
right.

The *advantage* of an attacker who tests whether a given person is in the data is their true
positives less their false positives; from even odds they guess right (1 + advantage)/2 of the time.
The largest is δ(0). Two guarantees of one ε may differ in it fourfold, so a budget may cap it
beside ε, and then both must hold.

**"fixed in advance"**: the laws are settled before any answer is seen, so the product of their
dominating pairs bounds the whole sequence, at ε = 0 as at any other: the advantage is δ(0) of the
composed loss.

**"adaptive"**: tight composition does not cover laws that are chosen after looking. Here the
filter's currency is Gaussian noise. Of each release, all its draws together, two numbers are known
before its answer: μ and δ₀ such that at every ε, of either sign and in both orders of the two data
sets, its δ(ε) is at most δ₀ + (1 − δ₀)·δ of Gaussian noise of this μ (`PrivacyCurve.gaussian_mu`).
A share φ of the cap is for the δ₀. What is used is the least number a with

    2Φ(√(Σ μ²)/2) − 1 ≤ (1 − φ)·a    and    Σ δ₀ ≤ φ·a ,

and no release is allowed after which that would be above the cap. Then the advantage is at most the
cap, whatever the adversary chooses after looking (docs/mathematics.md#a-cap-on-the-advantage has
the proof, an induction over the releases; without δ₀ it is the filter of Smith and Thakurta 2022
and of Koskela, Tobaben and Honkela 2023). The sums only grow, so the same holds for what is used at
the moment of stopping: of the transcripts that end with at most a used, every set has P(S) ≤ Q(S) +
a. The share must be fixed: to limit the sum of both left sides would let an adversary choose after
looking which of the two to spend, and come to 0.308 with a cap of 0.3
(tests/ledger/test_advantage.py).

That costs next to nothing. One release of the ten-answer cube at ε = 1 has an advantage of 0.3935
and is charged 0.3940. A release that is like no Gaussian noise, because its losses are infinite
with a probability that the share has no room for, is refused.

A first release beyond the cap by this filter, and within it by its own δ(0), is allowed as the last
one, for the reason that `filter` gives for ε.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scipy.special import ndtr, ndtri

from leastnoise.accountant.attacker import advantage_of
from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.errors import AccountingError
from leastnoise.ledger.budget import Budget
from leastnoise.losses.base import Loss
from leastnoise.losses.rounding import ULP

# share of the cap for the probabilities set apart, so that laws that end have a μ; it never changes
APART = 1e-3
# of what each of the releases that share δ may set apart: the least that is enough
_PARTS = (0.1, 1.0)
_UP = 1.0 + 4.0 * ULP
_ROUNDING = 1e-13  # more than that of Φ between 0 and 1


@dataclass(frozen=True)
class AsGaussian:
    """Releases tell no more than Gaussian noise of this μ², apart from a probability."""

    square: float = 0.0
    apart: float = 0.0

    def plus(self, other: AsGaussian) -> AsGaussian:
        """Both, one after the other, rounded up."""
        return AsGaussian((self.square + other.square) * _UP, (self.apart + other.apart) * _UP)

    def times(self, uses: int) -> AsGaussian:
        """This `uses` times."""
        return AsGaussian(self.square * uses * _UP, self.apart * uses * _UP)

    @property
    def advantage(self) -> float:
        """What is used: the larger of 2Φ(μ/2) − 1 and of what is set apart, each in its share,
        rounded up; at most 1."""
        if self == AsGaussian():
            return 0.0
        told = 2.0 * float(ndtr(0.5 * math.sqrt(self.square) * _UP)) - 1.0 + _ROUNDING
        return min(max(told / (1.0 - APART), self.apart / APART) * _UP, 1.0)


def as_gaussian(draws: Sequence[tuple[Loss, int]], budget: Budget) -> AsGaussian:
    """What one release adds to the filter of a capped budget. Its draws are made together, so they
    are composed first; what cannot be composed is added up draw by draw."""
    share = APART * (budget.advantage or 1.0) / budget.planned
    try:
        return _of(_composed(draws), share)
    except AccountingError:
        total = AsGaussian()
        for loss, uses in draws:
            total = total.plus(_of(PrivacyLoss(((loss, 1),)), share).times(uses))
        return total


def _of(loss: PrivacyLoss, share: float) -> AsGaussian:
    """One step of the filter; of infinite μ where there is no finite one."""
    mu = math.inf
    for part in _PARTS:
        apart = part * share
        mu = loss.curve(delta=apart).gaussian_mu(apart=apart)
        if math.isfinite(mu):
            break
    return AsGaussian(mu * mu * _UP, apart)


def _composed(draws: Iterable[tuple[Loss, int]]) -> PrivacyLoss:
    first, *others = (PrivacyLoss(((loss, 1),)).compose(uses) for loss, uses in draws)
    for loss in others:
        first = first.compose(loss)
    return first


def tight_advantage(draws: Sequence[tuple[Loss, int]]) -> float:
    """The advantage of all draws together when their laws were fixed in advance; 1 where no smaller
    one can be certified."""
    try:
        return advantage_of(_composed(draws)) if draws else 0.0
    except AccountingError:
        return 1.0


def advantage_at_rule(
    budget: Budget, total: AsGaussian, draws: Sequence[tuple[Loss, int]], releases: int
) -> float:
    """The advantage that is used, and that the cap limits, after releases of this total; `draws`
    are those of all of them."""
    if not budget.is_adaptive:
        return tight_advantage(draws)
    # A first release beyond the filter is the last one: whatever comes after it is refused.
    if releases == 1 and is_beyond(total, budget):
        return min(total.advantage, tight_advantage(draws))
    return total.advantage


def left_of(used: float, cap: float) -> float:
    """The advantage of one more release that would about fill the cap, if all are like Gaussian
    noise: a guide, that no budget rests on."""
    mu = [2.0 * float(ndtri(0.5 * (1.0 + min(part, cap)))) for part in (used, cap)]
    return 2.0 * float(ndtr(0.5 * math.sqrt(max(mu[1] ** 2 - mu[0] ** 2, 0.0)))) - 1.0


def is_beyond(total: AsGaussian, budget: Budget) -> bool:
    """Whether the filter is beyond the cap: nothing more is let pass."""
    return budget.advantage is not None and not total.advantage <= budget.advantage
