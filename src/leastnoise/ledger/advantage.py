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
Whatever the adversary chooses after looking,

    advantage ≤ 2Φ(√(Σ μ²)/2) − 1 + Σ δ₀

as long as the right side, release after release, stays within the cap
(docs/mathematics.md#a-cap-on-the-advantage has the proof, which is an induction over the releases;
with δ₀ = 0 it is the filter of Smith and Thakurta 2022 and of Koskela, Tobaben and Honkela 2023).
The sums only grow, so the same holds for what is used at the moment of stopping: of the transcripts
that end with at most a used, every set has P(S) ≤ Q(S) + a.

That costs next to nothing. One release of the ten-answer cube at ε = 1 has an advantage of 0.39347
and is charged 0.39356; ten draws of Laplace noise the same to three digits. A release without a
finite or useful μ counts by its own advantage, (μ, δ₀) = (0, δ(0)): advantages add up, too.

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

# of the cap, for all the releases that share δ: what is set apart so that laws that end have a μ;
# the least that is enough
_APART = (1e-3, 1e-2, 1e-1)
_TIMES = 2.0  # squares of μ add up to less than advantages, though one release may be charged more
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
        """2Φ(μ/2) − 1 and the probability set apart, rounded up; at most 1."""
        known = 2.0 * float(ndtr(0.5 * math.sqrt(self.square) * _UP)) - 1.0
        return min(max(known, 0.0) + self.apart + (_ROUNDING if self.square else 0.0), 1.0)


def as_gaussian(draws: Sequence[tuple[Loss, int]], budget: Budget) -> AsGaussian:
    """What one release adds to the filter of a capped budget. Its draws are made together, so they
    are composed first; what cannot be composed is added up draw by draw."""
    share = (budget.advantage or 1.0) / budget.planned
    try:
        return _of(_composed(draws), share)
    except AccountingError:
        total = AsGaussian()
        for loss, uses in draws:
            total = total.plus(_of(PrivacyLoss(((loss, 1),)), share).times(uses))
        return total


def _of(loss: PrivacyLoss, share: float) -> AsGaussian:
    """One step of the filter: by μ, or by its own advantage where that is much less."""
    by_itself = AsGaussian(0.0, advantage_of(loss))
    for part in _APART:
        apart = part * share
        mu = loss.curve(delta=apart).gaussian_mu(apart=apart)
        found = AsGaussian(mu * mu * _UP, apart)
        if found.advantage <= _TIMES * by_itself.advantage:
            return found
    return by_itself


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
