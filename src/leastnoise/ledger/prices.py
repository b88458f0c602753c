"""What releases cost: the account of a data set with one more release, and why it would be refused.

Losses and costs that were computed once are kept: the next release of the same laws takes no time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from leastnoise.accountant.attacker import guesses
from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.errors import AccountingError, BudgetExceededError
from leastnoise.laws.base import Noise
from leastnoise.ledger.accounts import Account, Uses, added
from leastnoise.ledger.advantage import AsGaussian, advantage_at_rule, as_gaussian, is_beyond
from leastnoise.ledger.budget import Budget
from leastnoise.ledger.filter import (
    SMALLEST,
    Charge,
    can_follow,
    charge,
    epsilon_at_rule,
    filter_epsilon,
    spare_for,
    tight_epsilon,
)
from leastnoise.ledger.records import JudgedDraw, LawDraws, Preview, Spend
from leastnoise.ledger.stored_laws import StoredLaw, as_stored, law_at, loss_of_draw
from leastnoise.losses.base import Loss
from leastnoise.text.numbers import above, below

# tight composition takes 1 to 3 ms a law; the filter does not care how many there are
_MOST_LAWS = 32
_LESS = 1.0 - 1e-6  # rare losses count as failures where ε falls by more than this


class Prices:
    """What releases cost, by the laws at hand and by those in a ledger's file."""

    def __init__(self) -> None:
        self._stored: dict[Noise | PrivacyLoss, tuple[tuple[StoredLaw, int], ...]] = {}
        self._losses: dict[JudgedDraw, Loss] = {}
        self._foreign: dict[str, bool] = {}
        self._charges: dict[tuple[JudgedDraw, Budget, float], Charge] = {}
        self._alone: dict[tuple[tuple[LawDraws, ...], float], float] = {}
        self._as_gaussian: dict[tuple[tuple[LawDraws, ...], Budget], AsGaussian] = {}
        self._closed: dict[tuple[frozenset[tuple[JudgedDraw, int]], Budget], bool] = {}

    def laws(self, spends: Sequence[Spend]) -> tuple[dict[str, str], tuple[LawDraws, ...]]:
        """The laws of a release as text, by hash, and its draws; their losses are at hand then."""
        texts, draws = {}, []
        for spend in spends:
            if spend.noise not in self._stored:
                self._stored[spend.noise] = as_stored(spend.noise)
            for law, count in self._stored[spend.noise]:
                drawn = LawDraws(law.hash, spend.sensitivity, count * spend.uses, spend.changes)
                self._learn(drawn.judged, law.law)
                texts[law.hash] = law.text
                draws.append(drawn)
        return texts, tuple(draws)

    def loss(self, connection: sqlite3.Connection, judged: JudgedDraw) -> Loss:
        """The loss of one draw, from the law in the file where it is not at hand."""
        if judged not in self._losses:
            self._learn(judged, law_at(connection, judged[0]))
        return self._losses[judged]

    def _learn(self, judged: JudgedDraw, law: Noise | PrivacyLoss) -> None:
        law_hash, sensitivity, changes = judged
        if judged not in self._losses:
            self._losses[judged] = loss_of_draw(law, sensitivity, changes)
            self._foreign[law_hash] = isinstance(law, PrivacyLoss)

    def after(
        self, connection: sqlite3.Connection, account: Account, draws: tuple[LawDraws, ...]
    ) -> Account:
        """The account with one more release."""
        uses, total = added(account.uses, draws), self.total_after(connection, account, draws)
        tight = self.tight(connection, account.budget, uses)
        epsilon = epsilon_at_rule(account.budget, total, tight, account.releases + 1)
        if account.was_last:  # whatever the rounding of the next filter does
            epsilon = max(epsilon, filter_epsilon(account.total, account.budget))
        return replace(
            account,
            total=total,
            uses=uses,
            releases=account.releases + 1,
            epsilon=epsilon,
            epsilon_if_fixed=tight,
            simple_sum=account.simple_sum + self.alone(connection, draws, account.budget.delta),
            **self._cap_after(connection, account, draws),
        )

    def _cap_after(
        self, connection: sqlite3.Connection, account: Account, draws: tuple[LawDraws, ...]
    ) -> dict[str, Any]:
        """What the filter of a cap was charged after one more release, and the advantage used."""
        if account.budget.advantage is None:
            return {}
        total = self.as_gaussian_after(connection, account, draws)
        used = self.advantage(connection, account, total, draws)
        if account.was_last:  # whatever the rounding of the next filter does
            used = max(used, account.as_gaussian.advantage)
        return {"as_gaussian": total, "advantage": used}

    def as_gaussian_after(
        self, connection: sqlite3.Connection, account: Account, draws: tuple[LawDraws, ...]
    ) -> AsGaussian:
        """What the filter of a cap was charged after one more release."""
        key = (draws, account.budget)
        if key not in self._as_gaussian:
            losses = [(self.loss(connection, item.judged), item.uses) for item in draws]
            self._as_gaussian[key] = as_gaussian(losses, account.budget)
        return account.as_gaussian.plus(self._as_gaussian[key])

    def advantage(
        self,
        connection: sqlite3.Connection,
        account: Account,
        total: AsGaussian,
        draws: tuple[LawDraws, ...],
    ) -> float:
        """The advantage that is used after one more release, by the rule of the budget."""
        uses = added(account.uses, draws)
        losses = [(self.loss(connection, key), count) for key, count in uses.items()]
        return advantage_at_rule(account.budget, total, losses, account.releases + 1)

    def total_after(
        self, connection: sqlite3.Connection, account: Account, draws: tuple[LawDraws, ...]
    ) -> Charge:
        """What the filter has been charged after one more release: as it is, or with
        its rarest losses counted as failures."""
        budget = account.budget
        plain = self._total(connection, account, draws, 0.0)
        if not budget.is_adaptive:
            return plain
        spare = spare_for(account.total, budget) / sum(item.uses for item in draws)
        trimmed = self._total(connection, account, draws, spare)
        is_less = filter_epsilon(trimmed, budget) < filter_epsilon(plain, budget) * _LESS
        return trimmed if is_less else plain

    def _total(
        self,
        connection: sqlite3.Connection,
        account: Account,
        draws: tuple[LawDraws, ...],
        spare: float,
    ) -> Charge:
        total = account.total
        for item in draws:
            key = (item.judged, account.budget, spare)
            if key not in self._charges:
                loss = self.loss(connection, item.judged)
                self._charges[key] = charge(
                    loss, account.budget, spare=spare, foreign=self._foreign[item.law_hash]
                )
            total = total.plus(self._charges[key].times(item.uses))
        return total

    def tight(self, connection: sqlite3.Connection, budget: Budget, uses: Uses) -> float | None:
        """ε of all draws by tight composition; None where the rule does not need it and
        it would take long or is not certified."""
        if budget.is_adaptive and len(uses) > _MOST_LAWS:
            return None
        try:
            losses = [(self.loss(connection, key), count) for key, count in uses.items()]
            return tight_epsilon(losses, budget.delta)
        except AccountingError:
            if not budget.is_adaptive:
                raise
            return None

    def closed(self, connection: sqlite3.Connection, account: Account) -> bool:
        """Whether less than `SMALLEST` of the budget can be released after what was."""
        budget = account.budget
        if account.releases == 0:
            return False
        if _cap_is_reached(account):
            return True
        if budget.is_adaptive:
            return not can_follow(account.total, budget)
        key = (frozenset(account.uses.items()), budget)
        if key not in self._closed:
            # What follows may fail too: something of δ must be left for it.
            without = replace(budget, delta=budget.delta * (1.0 - SMALLEST))
            spent = self.tight(connection, without, account.uses)
            more = SMALLEST * budget.epsilon
            self._closed[key] = spent is None or not spent + more <= budget.epsilon
        return self._closed[key]

    def alone(
        self, connection: sqlite3.Connection, draws: tuple[LawDraws, ...], delta: float
    ) -> float:
        """ε of one release by itself."""
        if (draws, delta) not in self._alone:
            losses = [(self.loss(connection, item.judged), item.uses) for item in draws]
            self._alone[draws, delta] = tight_epsilon(losses, delta)
        return self._alone[draws, delta]


def previewed(before: Account, after: Account, clash: str | None, closed: bool) -> Preview:
    """What a release would make of an account: its cost, its clash, and whether it is the last."""
    budget = before.budget.epsilon
    allowed = after.is_within and clash is None
    if clash:
        reason = clash
    elif not allowed:
        reason = why_refused(before, after)
    else:
        reason = why_last(after) if closed else ""
    return Preview(
        epsilon_before=before.epsilon,
        epsilon_after=after.epsilon,
        simple_sum=after.simple_sum,
        allowed=allowed,
        remaining=0.0 if closed else max(budget - after.epsilon, 0.0),
        epsilon_if_fixed=after.epsilon_if_fixed,
        releases=after.releases,
        last=allowed and closed,
        reason=reason,
        advantage=before.budget.advantage,
        advantage_before=before.advantage_used,
        advantage_after=after.advantage_used,
    )


def _cap_is_reached(account: Account) -> bool:
    """Whether less than `SMALLEST` of the cap is left, or the filter is beyond it."""
    cap = account.budget.advantage
    if cap is None:
        return False
    if account.budget.is_adaptive and is_beyond(account.as_gaussian, account.budget):
        return True
    return not account.advantage + SMALLEST * cap <= cap


def refusal(name: str, before: Account, after: Account) -> BudgetExceededError:
    """Why a release that is not within the budget is refused, as the error that is raised."""
    budget, reason = before.budget, why_refused(before, after)
    if not after.epsilon <= budget.epsilon or budget.advantage is None:
        return BudgetExceededError(name, budget.epsilon, before.epsilon, after.epsilon, reason)
    spent = (budget.advantage, before.advantage, after.advantage)
    return BudgetExceededError(name, *spent, reason, what="advantage")


def why_refused(before: Account, after: Account) -> str:
    """Why a release is refused, where it is not its ε alone. What would be allowed
    instead can only be found by trying."""
    budget, failed = after.budget, before.total.failure
    if before.was_last:
        return (
            "Its first release was within the budget only as the last one, so nothing can "
            "follow it."
        )
    if after.total.failure <= budget.for_failures:
        return _beyond_cap(before, after)
    return (
        "Noise that ends where a neighbour's goes on counts as a failure. Of "
        f"delta={budget.delta:g} the rule has {budget.for_failures:.2g} for failures, of which "
        f"{failed:.2g} is used, and this release needs {after.total.failure - failed:.2g}."
    )


def _beyond_cap(before: Account, after: Account) -> str:
    """What an advantage beyond the cap means; "" where it is within it."""
    cap = after.budget.advantage
    if cap is None or after.advantage <= cap:
        return ""
    return (
        "Someone who knows everything but whether one given person is in the data would guess "
        f"right up to {guesses(after.advantage)} of the time, and {guesses(cap)} are allowed over "
        "all releases."
    )


def why_last(after: Account) -> str:
    """Why next to nothing could follow a release that is within the budget."""
    budget = after.budget
    if after.total.failure + SMALLEST * budget.for_failures > budget.for_failures:
        return (
            "its noise ends where a neighbour's goes on, with probability "
            f"{after.total.failure:.2g} over all releases, and of delta={budget.delta:g} the rule "
            f"has {budget.for_failures:.2g} for that"
        )
    if _cap_is_reached(after):
        return (
            f"the attacker's advantage comes to {above(after.advantage, 6)} of "
            f"{below(budget.advantage or 0.0, 6)}"
        )
    if after.was_last:
        return (
            f"it costs epsilon={above(after.epsilon, 6)} if it is the last, and more than "
            f"{below(budget.epsilon, 6)} if it is not"
        )
    return f"it takes epsilon={above(after.epsilon, 6)} of {below(budget.epsilon, 6)}"
