"""What a sequence of releases costs: the mathematics of the ledger, without its storage.

Two rules, because two things can be fixed before the first answer is seen.

**"fixed in advance"**: the laws, and how often each is used, are settled before any answer of the
data set is seen; the queries may still depend on earlier answers. The privacy loss of each law is
dominated by one pair of distributions whatever the query, so the sequence is dominated by the
product of these pairs (Zhu, Dong and Wang 2022) and composing tight privacy losses is right.
Choosing a later law, or its sensitivity, after looking at an answer is NOT covered, not even when
the composed losses stay within the budget: `tests/ledger/test_filter.py` plays that game and wins.
Stopping early because of an answer is covered by the budget, which holds for the whole sequence,
but not by the ε of the releases made so far: that is no odometer.

**"adaptive"** (the default): everything, laws and budgets and the moment of stopping included, may
depend on earlier answers. A Rényi filter (Feldman and Zrnic 2021; Lécuyer 2021) covers this for ONE
order α fixed in advance: add up the Rényi divergences of the releases and stop before the sum
passes a bound. Taking the best of several orders afterwards is not covered by that theorem. Here
the orders α_a and weights w_a, Σ w_a = 1, are fixed and stored when the budget is declared, and
mixed. A transcript h has R_a(h) = Σ_i D_{α_a}(release i), R_∞(h) = Σ_i (largest loss of release i),
and the loss ℓ(h) = log p(h)/q(h). What is spent after h is the least ε(h) ≥ 0 with

    1 − e^(ε(h)−ℓ) ≤ δ·M_h(ℓ) for every ℓ ≤ R_∞(h),    M_h(ℓ) = Σ_a w_a e^((α_a−1)(ℓ − R_a(h))).

It depends on the laws of h, not on its answers, and P(S) ≤ ∫_S e^ε(h) dQ + δ for every set S of
transcripts: `docs/mathematics.md#the-ledger` has the proof, and tests/ledger/test_odometer.py every
game of an adversary against small laws. So the ledger is an *odometer*: what it says is spent holds
at the moment of stopping, whatever made one stop there. As no release is allowed that would take
ε(h) beyond the budget's ε, it is also a filter.

With one order this is the filter of Feldman and Zrnic followed by the conversion of Canonne, Kamath
and Steinke 2020, Prop. 12. With several it implies the union bound over filters that share δ by
weight, and is never worse. Solved for ε the condition reads ε ≥ max over ℓ ≤ R_∞ of ℓ + log(1 − δ
M_h(ℓ)), a concave function of ℓ; so ε ≤ R_∞: pure guarantees add up at no cost in δ.

*Laws that end.* A sampled law has bounded support, so its divergence is infinite. Its release is
split: with probability `infinite` it fails (the loss is unbounded), otherwise its finite losses
have the moments used above; for the part without failure p is a sub-probability and every line
above holds. The failure probabilities of the releases add up along every transcript, and so do the
distances of laws judged by a neighbour, at (1 + e^ε) each. A share of δ, `FAILURES`, is set aside
for this sum in advance; once it is used up, what is spent is infinite. Which losses count as
failures is a free choice, made before the answer is seen: the rarest large losses of a release may
be counted so too (`trimmed`), where that leaves the smaller ε. Joint noise needs this: its losses
are all equal but for a few that are large and next to impossible, and without those few its
releases add up like pure guarantees. A law that is not non-increasing counts at its worst shift,
order by order. That is right for fractional shifts too: the place of the released value within its
bin is uniform whatever the data, and given it the shift is a whole number of steps.

*A single release.* Before the first release no answer has been seen, so its laws are fixed in
advance; if it is also the last one, tight composition covers it. So a first release that the filter
would refuse is allowed if its tight ε is within the budget. The filter, which can only grow, then
refuses everything after it: it is the last, that was settled before any answer, and its tight ε is
what is spent. Where the filter allows it, more may follow, and what is spent is the filter's ε. The
smaller of the two would be no odometer: who stops after the first answer if it is a bad one, and
goes on otherwise, reaches 1.41 δ against it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.ledger.budget import FAILURES, Budget
from leastnoise.losses.base import Loss, usual_rounding
from leastnoise.losses.rounding import ULP
from leastnoise.losses.table import TableLoss

# of ε, and of the failures: where less can follow, nothing that is worth a name can
SMALLEST = 1e-3
# share of what is set aside for failures that one release of a budget without a number
# of releases may use for its rarest losses
_TRIMMED = 0.04
_BISECTIONS = 64
# more than the rounding of the probabilities behind a failure: 2e-12 for 100 joint answers
_SUM_ROUNDING = 1.0 + 1e-11


@dataclass(frozen=True)
class Charge:
    """What releases add to the filter: divergences, largest loss, and what goes to δ outright."""

    renyi: tuple[float, ...]
    largest: float
    failure: float

    def plus(self, other: Charge) -> Charge:
        """Both, one after the other, rounded up: 1 + 2·ULP more than covers a sum's rounding."""
        up = 1.0 + 2.0 * ULP
        return Charge(
            tuple((a + b) * up for a, b in zip(self.renyi, other.renyi, strict=True)),
            (self.largest + other.largest) * up,
            (self.failure + other.failure) * up,
        )

    def times(self, uses: int) -> Charge:
        """This `uses` times."""
        many = uses * (1.0 + 2.0 * ULP)
        return Charge(
            tuple(many * value for value in self.renyi), many * self.largest, many * self.failure
        )


def nothing(budget: Budget) -> Charge:
    """The charge of no release."""
    return Charge((0.0,) * len(budget.orders), 0.0, 0.0)


def charge(loss: Loss, budget: Budget, *, spare: float = 0.0, foreign: bool = False) -> Charge:
    """What one draw with this loss adds to the filter of `budget`. Its rarest losses,
    up to a mass of `spare`, count as failures.

    A `foreign` loss comes from another library, whose tables may leave out mass of the
    second data set.
    """
    loss = loss.with_divergences
    kept = loss.changed(lambda table: _trimmed(table, spare)) if spare > 0.0 else loss
    finite = kept.changed(lambda table: replace(table, infinite=0.0, deviation=0.0))
    divergence = partial(_foreign_divergence, finite) if foreign else finite.divergence
    rounding = 0.0
    if math.isfinite(kept.largest):
        rounding = max(usual_rounding(kept.largest), kept.loss_rounding)
    failure = kept.infinite + _for_deviation(kept.deviation, budget.epsilon)
    return Charge(
        tuple(max(divergence(order), 0.0) + rounding for order in budget.orders),
        max(kept.largest, 0.0) + rounding,
        failure * _SUM_ROUNDING,
    )


def _for_deviation(deviation: float, epsilon: float) -> float:
    """What a law judged by another at this distance adds to the failures: (1 + e^ε) times it."""
    if deviation == 0.0:
        return 0.0
    return deviation * (1.0 + math.exp(epsilon)) if epsilon < 700.0 else math.inf


def _trimmed(table: TableLoss, spare: float) -> TableLoss:
    """The loss with its largest positive values, of total mass up to `spare`, made infinite."""
    downwards = np.argsort(-table.loss, kind="stable")
    # more than the rounding of the sum
    allowance = 1.0 + table.mass_error + 1e-9
    above = np.cumsum(np.exp(table.log_p[downwards])) * allowance
    dropped = int(np.count_nonzero((above <= spare) & (table.loss[downwards] > 0.0)))
    if dropped == 0 or dropped == table.loss.size:
        return table
    held = np.sort(downwards[dropped:])
    return replace(
        table,
        loss=table.loss[held],
        log_p=table.log_p[held],
        infinite=(table.infinite + float(above[dropped - 1])) * (1.0 + 2.0 * ULP),
        loss_error=table.loss_rounding,
    )


def _foreign_divergence(loss: Loss, order: float) -> float:
    """D_α from the probabilities under the first data set alone: log
    E_P[e^((α−1)L)]/(α−1), rounded up.

    `Loss.divergence` keeps more digits of small divergences, but takes it that the
    second data set has all its mass in the table. A table whose losses were rounded up
    has less, by as much as they were raised.
    """
    known = loss.divergence(order)
    for table in loss.tables:
        if np.any(table.log_p > -np.inf):
            rounding = table.mass_error + ULP * (64 + table.loss.size)
            moment = table.cumulants(order - 1.0)[0] + rounding
            known = max(known, moment / (order - 1.0) * (1.0 + 4.0 * ULP) + table.loss_rounding)
    return known


def filter_epsilon(total: Charge, budget: Budget) -> float:
    """The least ε whose filter would have let `total` pass, rounded up; +inf where none would.

    The largest value of the concave function ℓ + log(1 − δM(ℓ)) on [0, R_∞]: bisection on its
    slope, then the tangent at the lower end, which lies above a concave function everywhere.
    """
    if not total.failure <= FAILURES * budget.delta:
        return math.inf
    if total.largest == 0.0:
        return 0.0
    log_delta = math.log(budget.delta) + math.log1p(-FAILURES)
    usable = np.isfinite(np.array(total.renyi))
    renyi = np.array(total.renyi)[usable]
    rates = np.array(budget.orders)[usable] - 1.0
    log_weights = np.log(np.array(budget.weights)[usable])
    highest = total.largest
    if rates.size:
        # δM(ℓ) reaches 1 by there.
        highest = min(highest, float(np.min(renyi - (log_weights + log_delta) / rates)))
    if not math.isfinite(highest):
        return math.inf

    def value_and_slope(loss: float) -> tuple[float, float]:
        terms = np.exp(np.minimum(log_weights + log_delta + rates * (loss - renyi), 1.0))
        mixed, rise = float(np.sum(terms)), float(rates @ terms)
        if mixed >= 1.0:
            return -math.inf, -math.inf
        return loss + math.log1p(-mixed), 1.0 - rise / (1.0 - mixed)

    low, high = 0.0, highest
    value, slope = value_and_slope(high)
    if slope < 0.0:
        value, slope = value_and_slope(low)
        if slope <= 0.0:
            return 0.0
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            there, tilt = value_and_slope(middle)
            if tilt >= 0.0:
                low, value, slope = middle, there, tilt
            else:
                high = middle
        value += slope * (high - low)
    return max(value, 0.0) * (1.0 + 1e-13) + 1e-13


def can_follow(total: Charge, budget: Budget) -> bool:
    """Whether the filter would let more pass after `total`: at least `SMALLEST` of ε,
    with as little of the failures.

    What is ε₀-private has D_α ≤ min(ε₀, α ε₀²/2) (Bun and Steinke 2016, Prop. 3.3).
    """
    least = SMALLEST * budget.epsilon
    divergences = tuple(min(least, 0.5 * order * least**2) for order in budget.orders)
    more = Charge(divergences, least, SMALLEST * budget.for_failures)
    return filter_epsilon(total.plus(more), budget) <= budget.epsilon


def delta_left(total: Charge, budget: Budget) -> float:
    """The δ to design the next release for: its share, or half of what is left for failures. Three
    digits, so that what is shown is what is used; there is room for their rounding."""
    return float(f"{min(budget.share, 0.5 * max(budget.for_failures - total.failure, 0.0)):.3g}")


def spare_for(total: Charge, budget: Budget) -> float:
    """The mass of its rarest losses that the next release may count as failures.

    It leaves the others their share, so that this choice alone is never what ends a budget.
    """
    if budget.releases is None:
        return _TRIMMED * FAILURES * budget.delta
    return min(budget.share, 0.25 * max(budget.for_failures - total.failure, 0.0))


def tight_epsilon(draws: Iterable[tuple[Loss, int]], delta: float) -> float:
    """ε of all draws together when their laws were fixed in advance."""
    total: PrivacyLoss | None = None
    for loss, count in draws:
        more = PrivacyLoss(((loss, 1),)).compose(count)
        total = more if total is None else total.compose(more)
    return 0.0 if total is None else total.epsilon(delta)


def epsilon_at_rule(budget: Budget, total: Charge, tight: float | None, releases: int) -> float:
    """The ε that is spent, and that the budget limits, after releases of this total and tight ε."""
    if not budget.is_adaptive:
        return math.inf if tight is None else tight
    filtered = filter_epsilon(total, budget)
    # A first release beyond the filter is the last one: whatever comes after it is refused.
    is_last = releases == 1 and not filtered <= budget.epsilon
    return min(filtered, tight) if is_last and tight is not None else filtered
