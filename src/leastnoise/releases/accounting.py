"""What a sequence of releases costs: the mathematics of the ledger, without its storage.

Two rules, because two things can be fixed before the first answer is seen.

**"fixed in advance"**: the laws, and how often each is used, are settled before any answer of the
data set is seen; the queries may still depend on earlier answers. The privacy loss of each law is
dominated by one pair of distributions whatever the query, so the sequence is dominated by the
product of these pairs (Zhu, Dong and Wang 2022) and composing tight privacy losses is right.
Choosing a later law, or its sensitivity, after looking at an answer is NOT covered, not even when
the composed losses stay within the budget: `tests/releases/test_ledger_accounting.py` plays that
game and wins. Stopping early because of an answer is covered by the budget, which holds for the
whole sequence, but not by the ε of the releases made so far: that is no odometer.

**"adaptive"** (the default): everything, laws and budgets and the moment of stopping included, may
depend on earlier answers. A Rényi filter (Feldman and Zrnic 2021; Lécuyer 2021) covers this for ONE
order α fixed in advance: add up the Rényi divergences of the releases and stop before the sum
passes a bound. Taking the best of several orders afterwards is not covered by that theorem. Here
the orders α_a and weights w_a, Σ w_a = 1, are fixed and stored when the budget is declared, and
mixed:

    A transcript h has R_a(h) = Σ_i D_{α_a}(release i), R_∞(h) = Σ_i (largest loss of release i), and the loss ℓ(h) = log p(h)/q(h).
    For each order E_q[e^(α_a ℓ − (α_a−1) R_a)] ≤ 1: step by step the factor of release i has conditional mean ≤ 1, because its law
    is known before its answer is seen; this is the supermartingale of Feldman and Zrnic. Averaged over the weights,
        E_p[M_h(ℓ)] ≤ 1,   M_h(ℓ) = Σ_a w_a e^((α_a−1)(ℓ − R_a(h))),
    and, M being a supermartingale that is never negative, also where h ends at a moment that
    depends on its answers. What is spent after h is the least ε(h) ≥ 0 with 1 − e^(ε(h)−ℓ) ≤
    δ·M_h(ℓ) for every ℓ ≤ R_∞(h): it depends on the laws of h, not on its answers. A transcript
    cannot have ℓ > R_∞, so
        E_p[(1 − e^(ε(h)−ℓ(h)))_+] ≤ δ·E_p[M_h(ℓ)] ≤ δ,   that is P(S) ≤ ∫_S e^ε(h) dQ + δ for every set S of transcripts.

So the ledger is an *odometer*: what it says is spent holds at the moment of stopping, whatever made
one stop there. As no release is allowed that would take ε(h) beyond the budget's ε, it is also a
filter: with ε(h) ≤ ε the last line is (ε, δ)-DP. docs/mathematics.md, "The ledger", has the proof
in full, and tests/releases/test_odometer.py every game of an adversary against small laws.

With one order this is the filter of Feldman and Zrnic followed by the conversion of Canonne, Kamath and Steinke 2020, Prop. 12.
With several it implies the union bound over filters that share δ by weight, and is never worse. Solved for ε the condition reads
ε ≥ max over ℓ ≤ R_∞ of ℓ + log(1 − δ M_h(ℓ)), a concave function of ℓ; so ε ≤ R_∞: pure guarantees add up at no cost in δ.

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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

import numpy as np
from scipy import optimize

from leastnoise.errors import (
    InvalidParameterError,
    at_least,
    one_of,
    open_unit,
    positive,
    positive_integer,
    real_number,
)
from leastnoise.noise import Noise
from leastnoise.privacy.loss import PrivacyLoss
from leastnoise.privacy.renyi import loss_divergence
from leastnoise.privacy.single import LOSS_ROUNDING, ULP, SingleLoss, TableLoss, WorstOf

Rule = Literal["adaptive", "fixed in advance"]
RULES = ("adaptive", "fixed in advance")
FAILURES = 0.05  # share of δ set aside for failures: ε rises by about 0.05/(α−1), 0.2 % at ε = 1.7 and δ = 1e-6
TRIMMED = 0.04  # share of that which one release of a budget without a number of releases may use for its rarest losses
RELEASES = 25  # that share δ, unless the budget is declared for another number: a plan then gets a thousandth of δ
SMALLEST = (
    1e-3  # of ε, and of the failures: where less can follow, nothing that is worth a name can
)
_MOST_ORDERS = 64
_BISECTIONS = 64
_SUM_ROUNDING = (
    1.0 + 1e-11
)  # more than the rounding of the probabilities behind a failure: 2e-12 for 100 joint answers

# Orders (less 1) relative to the one that suits Gaussian noise, and their weights. A weight w costs log(1/w)/(α−1) of ε where its
# order is the one that counts: about 1 % of ε for Gaussian noise. The high orders, where small weights are cheap, are for laws of
# bounded loss such as Laplace's (10 releases of it: 1.0002 for a tight 1.0000), the low one for few releases of large loss.
_SPREAD = {0.5: 0.05, 1.0: 0.8, 2.0: 0.08, 4.0: 0.04, 8.0: 0.02, 32.0: 0.01}


@dataclass(frozen=True)
class Spend:
    """`uses` draws of one law in a release, each with answers that one person moves by at most `sensitivity`.

    A mechanism of another library has a PrivacyLoss in the place of its law, `interop.dp_accounting.from_pld(…)` for instance; the
    sensitivity is part of it, and so are both directions, a person who comes and one who goes.
    """

    noise: Noise | PrivacyLoss
    sensitivity: float = 1.0
    uses: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.noise, (Noise, PrivacyLoss)):
            raise InvalidParameterError(
                "noise", type(self.noise).__name__, "to be a noise law or a privacy loss"
            )
        object.__setattr__(self, "sensitivity", at_least("sensitivity", self.sensitivity))
        object.__setattr__(self, "uses", positive_integer("uses", self.uses))
        if isinstance(self.noise, PrivacyLoss):
            if self.sensitivity != 1.0:
                raise InvalidParameterError(
                    "sensitivity", self.sensitivity, "to be left out: a privacy loss has it already"
                )
            if not self.noise.parts or any(count < 1 for _, count in self.noise.parts):
                raise InvalidParameterError("noise", self.noise, "to be the loss of something")


@dataclass(frozen=True)
class Budget:
    """(epsilon, delta) over all releases of a data set, the rule, the orders and weights of its
    filter, and how many releases share δ. None: declared by a version that did not ask for it."""

    epsilon: float
    delta: float
    rule: Rule = "adaptive"
    orders: tuple[float, ...] = ()
    weights: tuple[float, ...] = ()
    releases: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive("epsilon", self.epsilon))
        object.__setattr__(self, "delta", open_unit("delta", self.delta))
        object.__setattr__(self, "rule", one_of("rule", self.rule, RULES))
        orders = tuple(real_number("order", order) for order in self.orders)
        weights = tuple(positive("weight", weight) for weight in self.weights)
        if (
            (self.rule == "adaptive") != bool(orders)
            or len(orders) != len(weights)
            or len(orders) > _MOST_ORDERS
        ):
            raise InvalidParameterError(
                "orders",
                orders,
                f"to be 1 to {_MOST_ORDERS} for the adaptive rule, each with a weight",
            )
        if not all(order > 1.0 for order in orders):
            raise InvalidParameterError("orders", orders, "to be above 1")
        if math.fsum(weights) > 1.0:
            raise InvalidParameterError("weights", weights, "to have a sum of at most 1")
        object.__setattr__(self, "orders", orders)
        object.__setattr__(self, "weights", weights)
        if self.releases is not None:
            object.__setattr__(self, "releases", positive_integer("releases", self.releases))

    @property
    def for_failures(self) -> float:
        """How much of δ all releases together may fail with."""
        return self.delta * (FAILURES if self.rule == "adaptive" else 1.0)

    @property
    def share(self) -> float:
        """The δ that one release is designed for, so that as many as were declared fit.

        A law that is (ε, δ)-private ends with a probability of at most δ. Half of what is set aside
        is for these ends; the other half is for rare large losses.
        """
        return 0.5 * self.for_failures / (self.releases or RELEASES)


def declared(
    epsilon: float,
    delta: float,
    rule: str = "adaptive",
    orders: Sequence[float] | None = None,
    releases: int = RELEASES,
) -> Budget:
    """The budget with the filter that suits it: mixed orders around the best one for Gaussian noise, or the given orders with equal
    weights (one order: the plain Rényi filter)."""
    rule = cast(Rule, one_of("rule", rule, RULES))
    if rule != "adaptive":
        if orders is not None:
            raise InvalidParameterError(
                "orders", orders, 'to be left out: rule="fixed in advance" has no filter'
            )
        return Budget(epsilon, delta, rule, releases=releases)
    if orders is not None:
        distinct = sorted({real_number("order", order) for order in orders})
        equal = tuple((1.0 - 4 * ULP) / len(distinct) for _ in distinct)
        return Budget(epsilon, delta, rule, tuple(distinct), equal, releases)
    above = _gaussian_order(positive("epsilon", epsilon), open_unit("delta", delta)) - 1.0
    mixed = tuple(1.0 + above * factor for factor in _SPREAD)
    return Budget(epsilon, delta, rule, mixed, tuple(_SPREAD.values()), releases)


def _gaussian_order(epsilon: float, delta: float) -> float:
    """The order at which Gaussian noise, D_α = αμ²/2, may spend the most μ² under (ε, δ)."""

    def spendable(log_above: float) -> float:
        order = 1.0 + math.exp(log_above)
        # ε less the conversion of Canonne, Kamath and Steinke 2020, Prop. 12, is the divergence allowed at this order.
        return (
            epsilon - math.log1p(-1.0 / order) + (math.log(delta) + math.log(order)) / (order - 1.0)
        ) / order

    # The search covers a factor of 50 either way; any order is valid. One below 1 + e^−34 could not be
    # told from 1.
    guess = max(math.log(-math.log(delta) / epsilon), -30.0)
    found = optimize.minimize_scalar(
        lambda x: -spendable(x), bounds=(guess - 4.0, guess + 4.0), method="bounded"
    )
    return 1.0 + math.exp(float(found.x))


@dataclass(frozen=True)
class Charge:
    """What releases add to the filter: divergences at its orders, largest loss, and what goes to δ outright."""

    renyi: tuple[float, ...]
    largest: float
    failure: float

    def plus(self, other: Charge) -> Charge:
        """Both, one after the other, rounded up: 1 + 2·ULP more than covers the rounding of one sum."""
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


def charge(
    loss: SingleLoss, budget: Budget, *, spare: float = 0.0, foreign: bool = False
) -> Charge:
    """What one draw with this loss adds to the filter of `budget`. Its rarest losses, up to a mass of `spare`, count as failures.

    A `foreign` loss comes from another library, whose tables may leave out mass of the second data set.
    """
    kept = _trimmed(loss, spare)
    rounding = LOSS_ROUNDING * (1.0 + abs(kept.largest)) if math.isfinite(kept.largest) else 0.0
    if isinstance(kept, (TableLoss, WorstOf)):
        rounding = max(rounding, kept.loss_rounding)
    finite = _without_failures(kept)
    divergence = _foreign_divergence if foreign else loss_divergence
    return Charge(
        tuple(max(divergence(finite, order), 0.0) + rounding for order in budget.orders),
        max(kept.largest, 0.0) + rounding,
        (kept.infinite + _for_deviation(kept.deviation, budget.epsilon)) * _SUM_ROUNDING,
    )


def _for_deviation(deviation: float, epsilon: float) -> float:
    """What a law judged by another one at this distance adds to the failures: (1 + e^ε) times it."""
    if deviation == 0.0:
        return 0.0
    return deviation * (1.0 + math.exp(epsilon)) if epsilon < 700.0 else math.inf


def _trimmed(loss: SingleLoss, spare: float) -> SingleLoss:
    """The loss with its largest positive values, of total mass up to `spare`, made infinite."""
    if spare <= 0.0:
        return loss
    if isinstance(loss, WorstOf):
        return replace(
            loss, tables=tuple(cast(TableLoss, _trimmed(table, spare)) for table in loss.tables)
        )
    if not isinstance(loss, TableLoss):
        return loss
    downwards = np.argsort(-loss.loss, kind="stable")
    above = np.cumsum(np.exp(loss.log_p[downwards])) * (
        1.0 + loss.mass_error + 1e-9
    )  # more than the rounding of the sum
    dropped = int(np.count_nonzero((above <= spare) & (loss.loss[downwards] > 0.0)))
    if dropped == 0 or dropped == loss.loss.size:
        return loss
    held = np.sort(downwards[dropped:])
    infinite = (loss.infinite + float(above[dropped - 1])) * (1.0 + 2.0 * ULP)
    return replace(
        loss,
        loss=loss.loss[held],
        log_p=loss.log_p[held],
        infinite=infinite,
        loss_error=loss.loss_rounding,
    )


def _without_failures(loss: SingleLoss) -> SingleLoss:
    if isinstance(loss, WorstOf):
        return replace(
            loss, tables=tuple(cast(TableLoss, _without_failures(table)) for table in loss.tables)
        )
    if isinstance(loss, TableLoss):
        return replace(loss, infinite=0.0, deviation=0.0)
    return loss


def _foreign_divergence(loss: SingleLoss, order: float) -> float:
    """D_α from the probabilities under the first data set alone: log E_P[e^((α−1)L)]/(α−1), rounded up.

    `loss_divergence` keeps more digits of small divergences, but takes it that the second data set has all its mass in the table.
    A table whose losses were rounded up has less, by as much as they were raised.
    """
    known = loss_divergence(loss, order)
    for table in loss.tables if isinstance(loss, WorstOf) else (loss,):
        if isinstance(table, TableLoss) and np.any(table.log_p > -np.inf):
            moment = (
                table.cumulants(order - 1.0)[0] + table.mass_error + ULP * (64 + table.loss.size)
            )
            known = max(known, moment / (order - 1.0) * (1.0 + 4.0 * ULP) + table.loss_rounding)
    return known


def filter_epsilon(total: Charge, budget: Budget) -> float:
    """The least ε whose filter would have let `total` pass, rounded up; +inf where none would.

    The largest value of the concave function ℓ + log(1 − δM(ℓ)) on [0, R_∞]: bisection on its slope, then the tangent at the lower
    end, which lies above a concave function everywhere.
    """
    if not total.failure <= FAILURES * budget.delta:
        return math.inf
    if total.largest == 0.0:
        return 0.0
    log_delta = math.log(budget.delta) + math.log1p(-FAILURES)
    rates = np.array(budget.orders) - 1.0
    renyi = np.array(total.renyi)
    usable = np.isfinite(renyi)
    rates, renyi, log_weights = (
        rates[usable],
        renyi[usable],
        np.log(np.array(budget.weights)[usable]),
    )
    highest = total.largest
    if rates.size:
        highest = min(
            highest, float(np.min(renyi - (log_weights + log_delta) / rates))
        )  # δM(ℓ) reaches 1 by there
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
    """Whether the filter would let more pass after `total`: at least `SMALLEST` of ε, with as little of the failures.

    What is ε₀-private has D_α ≤ min(ε₀, α ε₀²/2) (Bun and Steinke 2016, Prop. 3.3).
    """
    least = SMALLEST * budget.epsilon
    divergences = tuple(min(least, 0.5 * order * least**2) for order in budget.orders)
    more = Charge(divergences, least, SMALLEST * budget.for_failures)
    return filter_epsilon(total.plus(more), budget) <= budget.epsilon


def delta_left(total: Charge, budget: Budget) -> float:
    """The δ to design the next release for: its share, or half of what is left for failures. Three digits, so that what is shown
    is what is used; there is room for their rounding."""
    return float(f"{min(budget.share, 0.5 * max(budget.for_failures - total.failure, 0.0)):.3g}")


def spare_for(total: Charge, budget: Budget) -> float:
    """The mass of its rarest losses that the next release may count as failures.

    It leaves the others their share, so that this choice alone is never what ends a budget.
    """
    if budget.releases is None:
        return TRIMMED * FAILURES * budget.delta
    return min(budget.share, 0.25 * max(budget.for_failures - total.failure, 0.0))


def tight_epsilon(draws: Iterable[tuple[SingleLoss, int]], delta: float) -> float:
    """ε of all draws together when their laws were fixed in advance."""
    total: PrivacyLoss | None = None
    for loss, count in draws:
        more = PrivacyLoss(((loss, 1),)).compose(count)
        total = more if total is None else total.compose(more)
    return 0.0 if total is None else total.epsilon(delta)
