"""What to change in a plan that its ledger refuses: what was designed, tried and is allowed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from leastnoise.errors import LeastNoiseError
from leastnoise.ledger.advantage import left_of
from leastnoise.ledger.ledger import Dataset, Ledger, Unit
from leastnoise.releases.noise.mechanism import mechanism
from leastnoise.releases.plan.plan import Plan
from leastnoise.text.numbers import above, below

_PARTS_OF_THE_REST = (0.95, 0.7)  # what is left cannot be spent to its end if more is to follow
# of the ε asked for: less is another release, with ten times the noise, and takes long to design
_LEAST_PART = 0.1


def with_share(plan: Plan, ledger: Ledger | None) -> Plan:
    """The plan with its δ: the one it declares, or its share of the ledger's."""
    if plan.delta is not None or ledger is None:
        return plan
    return replace(plan, delta=ledger.delta_share(plan.dataset or plan.name))


def unit_of(plan: Plan) -> dict[str, str]:
    """What the plan protects, as the ledger is told."""
    return {"relation": plan.relation, "person": plan.unit, "person_is": plan.person_is}


def tried(plan: Plan, ledger: Ledger) -> str:
    """A change of `plan` that the ledger would allow now, with more to follow; "" if none."""
    dataset = plan.dataset or plan.name
    for changed, words in _changes(plan, ledger):
        try:
            cost = ledger.preview(dataset, mechanism(changed).spends, **unit_of(changed))
        except LeastNoiseError:  # too little noise or ε for a design: nothing to advise
            continue
        if cost.allowed and not cost.last:
            return (
                f"{words} (delta={changed.delta:g}) it would be allowed: {dataset!r} would come to "
                f"epsilon={above(cost.epsilon_after)}, with {below(cost.remaining)} left."
            )
    return ""


def _changes(plan: Plan, ledger: Ledger) -> Iterator[tuple[Plan, str]]:
    """What might help, the least change first, each with the words that advise it."""
    account = ledger.dataset(plan.dataset or plan.name)
    if account.closed or account.unit.clash_with(Unit(**unit_of(plan))):
        return
    share = ledger.delta_share(account.name)
    has_more = plan.delta is not None and plan.delta > share
    if has_more:
        yield (
            replace(plan, delta=share),
            "With its share of the ledger's delta, which it gets if it declares none",
        )
    yield from _lower_caps(plan, account)
    for part in _PARTS_OF_THE_REST:
        less = _rounded_down(part * account.remaining)
        if _LEAST_PART * plan.epsilon <= less < plan.epsilon:
            share_too = " and its share of the ledger's delta" if has_more else ""
            yield replace(plan, epsilon=less, delta=share), f"With epsilon={less:g}{share_too}"


def _lower_caps(plan: Plan, account: Dataset) -> Iterator[tuple[Plan, str]]:
    """Plans that leave an attacker less, where the data set caps that."""
    if account.advantage is None or account.advantage_used is None:
        return
    rest = left_of(account.advantage_used, account.advantage)
    for part in _PARTS_OF_THE_REST:
        less = _rounded_down(part * rest)
        if 0.0 < less < (plan.advantage or 1.0):
            yield replace(plan, advantage=less), f"With advantage={less:g}"


def _rounded_down(value: float) -> float:
    """With two digits, as people write it."""
    if not value > 0.0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.floor(value / unit) * unit:.2g}")
