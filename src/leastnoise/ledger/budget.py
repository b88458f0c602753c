"""The budget of a data set: (ε, δ) over all its releases, a cap on the attacker's advantage, the
rule that covers them, and how δ is shared.

What the rules are and why they hold stands in `filter`, and for the cap in `advantage`. A budget
of the adaptive rule carries the orders and weights of its filter, because they must be fixed before
the first answer is seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

from leastnoise.errors import (
    InvalidParameterError,
    one_of,
    open_unit,
    positive,
    positive_integer,
    real_number,
)
from leastnoise.losses.rounding import ULP

Rule = Literal["adaptive", "fixed in advance"]
RULES = ("adaptive", "fixed in advance")
# share of δ set aside for failures: ε rises by about 0.05/(α−1), 0.2 % at ε = 1.7 and δ = 1e-6
FAILURES = 0.05
# that share δ, unless the budget is declared for another number: a plan then gets a thousandth of δ
RELEASES = 25
_MOST_ORDERS = 64

# Orders (less 1) relative to the one that suits Gaussian noise, and their weights. A weight w costs
# log(1/w)/(α−1) of ε where its order is the one that counts: about 1 % of ε for Gaussian noise. The
# high orders, where small weights are cheap, are for laws of bounded loss such as Laplace's (10
# releases of it: 1.0002 for a tight 1.0000), the low one for few releases of large loss.
_SPREAD = {0.5: 0.05, 1.0: 0.8, 2.0: 0.08, 4.0: 0.04, 8.0: 0.02, 32.0: 0.01}


@dataclass(frozen=True)
class Budget:
    """(epsilon, delta) over all releases of a data set, and the rule by which they are added up.

    Attributes:
        epsilon: ε that all releases together may cost, above 0.
        delta: δ of all releases together, in (0, 1).
        rule: "adaptive" or "fixed in advance"; see `filter`.
        orders: Rényi orders of the adaptive rule, each above 1; none for the other rule.
        weights: Share of δ of each order, with a sum of at most 1.
        releases: How many releases share δ. None: declared by a version that did not ask for it.
        advantage: The largest advantage that an attacker may have over all releases, in (0, 1):
            from even odds, (1 + advantage)/2 right guesses. None: it is not limited.
    """

    epsilon: float
    delta: float
    rule: Rule = "adaptive"
    orders: tuple[float, ...] = ()
    weights: tuple[float, ...] = ()
    releases: int | None = None
    advantage: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive("epsilon", self.epsilon))
        object.__setattr__(self, "delta", open_unit("delta", self.delta))
        object.__setattr__(self, "rule", one_of("rule", self.rule, RULES))
        orders = tuple(real_number("order", order) for order in self.orders)
        weights = tuple(positive("weight", weight) for weight in self.weights)
        suits_rule = (self.rule == "adaptive") == bool(orders)
        if not suits_rule or len(orders) != len(weights) or len(orders) > _MOST_ORDERS:
            expected = f"to be 1 to {_MOST_ORDERS} for the adaptive rule, each with a weight"
            raise InvalidParameterError("orders", orders, expected)
        if not all(order > 1.0 for order in orders):
            raise InvalidParameterError("orders", orders, "to be above 1")
        if math.fsum(weights) > 1.0:
            raise InvalidParameterError("weights", weights, "to have a sum of at most 1")
        object.__setattr__(self, "orders", orders)
        object.__setattr__(self, "weights", weights)
        if self.releases is not None:
            object.__setattr__(self, "releases", positive_integer("releases", self.releases))
        if self.advantage is not None:
            object.__setattr__(self, "advantage", open_unit("advantage", self.advantage))

    @property
    def is_adaptive(self) -> bool:
        """Whether laws may be chosen after answers were seen."""
        return self.rule == "adaptive"

    @property
    def planned(self) -> int:
        """How many releases share δ."""
        return self.releases or RELEASES

    @property
    def for_failures(self) -> float:
        """How much of δ all releases together may fail with."""
        return self.delta * (FAILURES if self.is_adaptive else 1.0)

    @property
    def share(self) -> float:
        """The δ that one release is designed for, so that as many as were declared fit.

        A law that is (ε, δ)-private ends with a probability of at most δ. Half of what
        is set aside is for these ends; the other half is for rare large losses.
        """
        return 0.5 * self.for_failures / self.planned

    def is_again(self, asked: Budget, default_orders: bool, default_releases: bool) -> bool:
        """Whether a budget asked for is this one, where a default asks for nothing: a
        later version of this package may have other default orders."""
        if (self.epsilon, self.delta, self.rule) != (asked.epsilon, asked.delta, asked.rule):
            return False
        if self.advantage != asked.advantage:  # none is another cap, too
            return False
        if not default_releases and self.planned != asked.releases:
            return False
        return default_orders or self.orders == asked.orders


def declared(
    epsilon: float,
    delta: float,
    rule: str = "adaptive",
    orders: Sequence[float] | None = None,
    releases: int = RELEASES,
    advantage: float | None = None,
) -> Budget:
    """The budget with the filter that suits it: mixed orders around the best one for Gaussian
    noise, or the given orders with equal weights (one order: the plain Rényi filter)."""
    rule = cast(Rule, one_of("rule", rule, RULES))
    if rule != "adaptive":
        if orders is not None:
            raise InvalidParameterError(
                "orders", orders, 'to be left out: rule="fixed in advance" has no filter'
            )
        return Budget(epsilon, delta, rule, releases=releases, advantage=advantage)
    if orders is not None:
        distinct = sorted({real_number("order", order) for order in orders})
        equal = tuple((1.0 - 4 * ULP) / len(distinct) for _ in distinct)
        return Budget(epsilon, delta, rule, tuple(distinct), equal, releases, advantage)
    above = _gaussian_order(positive("epsilon", epsilon), open_unit("delta", delta)) - 1.0
    mixed = tuple(1.0 + above * factor for factor in _SPREAD)
    return Budget(epsilon, delta, rule, mixed, tuple(_SPREAD.values()), releases, advantage)


def _gaussian_order(epsilon: float, delta: float) -> float:
    """The order at which Gaussian noise, D_α = αμ²/2, may spend the most μ² under (ε, δ)."""
    from scipy import optimize  # 0.2 s, a fifth of `ledger check`, which needs none of it

    def spendable(log_above: float) -> float:
        order = 1.0 + math.exp(log_above)
        # ε less the conversion of Canonne, Kamath and Steinke 2020, Prop. 12, is the
        # divergence allowed at this order.
        from_delta = (math.log(delta) + math.log(order)) / (order - 1.0)
        return (epsilon - math.log1p(-1.0 / order) + from_delta) / order

    # The search covers a factor of 50 either way; any order is valid. One below 1 +
    # e^−34 could not be told from 1.
    guess = max(math.log(-math.log(delta) / epsilon), -30.0)
    found = optimize.minimize_scalar(
        lambda x: -spendable(x), bounds=(guess - 4.0, guess + 4.0), method="bounded"
    )
    return 1.0 + math.exp(float(found.x))
