"""What the ledger says is spent holds at the moment you stop, whatever made you stop.

An adversary chooses every law after seeing the answers, and stops when it likes. Backward induction
over all its choices gives the largest E_P[(1 − e^(ε(h) − ℓ(h)))_+] it can reach, ε(h) being what
the ledger shows at the stop and ℓ(h) the loss: exact, because the losses are whole multiples of one
number. That the ledger is an odometer says that this never exceeds δ.
"""

import math
from functools import cache

import numpy as np
import pytest

from leastnoise import PrivacyLoss, discrete_gaussian, exact, laplace
from leastnoise.errors import BudgetExceededError, LedgerError
from leastnoise.ledger import accounts, prices
from leastnoise.ledger.accounts import Account
from leastnoise.ledger.budget import FAILURES, RELEASES, declared
from leastnoise.ledger.filter import (
    charge,
    epsilon_at_rule,
    filter_epsilon,
    nothing,
    tight_epsilon,
)
from leastnoise.ledger.ledger import Ledger
from leastnoise.ledger.prices import Prices
from leastnoise.ledger.records import Spend
from ledger.test_filter import RATIO, ending, two_point, with_rare_loss

LAW = exact(discrete_gaussian(8.0), delta=1e-6, compositions=10)
TEN = [Spend(LAW, sensitivity=1.0, uses=10)]
MENU = (*(two_point(k).loss(1.0) for k in (1, 2, 4)), with_rare_loss(1, 12, 0.02))
SHORT_MENU = (*(two_point(k).loss(1.0) for k in (2, 6)), with_rare_loss(2, 12, 0.02))
TRIMMED_BELOW = (
    0.9 * 0.5 * FAILURES / RELEASES
)  # share of delta that a rare loss may have and still be counted as a failure


def most_delta(losses, shown, epsilon, played=(), after=None):
    """The largest δ that any adversary reaches at what is `shown(played)` at its stop.

    `played` says what was released, `after(played, k)` what it is with law k as well; a release
    that would be shown above `epsilon` is refused. The value of a state is the best of stopping
    there and of every law that is allowed.
    """
    after = after or (lambda played, k: (*played, k))
    tables = [
        (
            table.infinite,
            [
                (float(np.exp(p)), round(x / RATIO))
                for x, p in zip(table.loss, table.log_p, strict=True)
            ],
        )
        for table in losses
    ]

    @cache
    def value(played, place):
        best = -math.expm1(min(shown(played) - place * RATIO, 0.0))
        for k, (infinite, points) in enumerate(tables):
            then = after(played, k)
            if shown(then) <= epsilon:
                best = max(
                    best, infinite + math.fsum(p * value(then, place + move) for p, move in points)
                )
        return best

    return value(played, 0)


def counted(played, k):
    """A state that only knows how often each law was used."""
    return tuple(n + (i == k) for i, n in enumerate(played))


def shown_by(rule, losses, budget):
    """What a ledger with this rule shows as spent, by how often each law was used."""
    charges = [charge(loss, budget) for loss in losses]

    @cache
    def shown(counts):
        total, releases = nothing(budget), sum(counts)
        for one, n in zip(charges, counts, strict=True):
            total = total.plus(one.times(n)) if n else total
        first = releases == 1
        tight = tight_epsilon([(losses[counts.index(1)], 1)], budget.delta) if first else None
        return rule(budget, total, tight, releases) if releases else 0.0

    return shown


def smaller_of_both(budget, total, tight, releases):
    """What must not be shown: the tight ε of a first release that more may follow."""
    filtered = filter_epsilon(total, budget)
    return min(filtered, tight) if releases == 1 and tight is not None else filtered


def most_delta_at(rule, epsilon, delta, menu):
    budget = declared(epsilon, delta)
    return most_delta(menu, shown_by(rule, menu, budget), epsilon, (0,) * len(menu), counted)


GAMES = [
    (1.0, 0.05, MENU),
    (2.0, 0.01, MENU),
    (3.0, 0.01, MENU),
    (4.0, 0.05, SHORT_MENU),
    (6.0, 0.01, SHORT_MENU),
    pytest.param(6.0, 0.01, MENU, marks=pytest.mark.long),
]


@pytest.mark.parametrize(("epsilon", "delta", "menu"), GAMES)
def test_no_adversary_exceeds_delta_at_what_is_spent_when_it_stops(epsilon, delta, menu):
    reached = most_delta_at(epsilon_at_rule, epsilon, delta, menu)
    assert reached <= delta
    assert reached > 0.9 * (1 - FAILURES) * delta  # and it could not be shown much smaller


@pytest.mark.parametrize(
    ("epsilon", "delta", "menu", "factor"),
    [
        (3.0, 0.01, MENU, 1.16),
        (6.0, 0.01, SHORT_MENU, 1.39),
        pytest.param(6.0, 0.01, MENU, 1.41, marks=pytest.mark.long),
    ],
)
def test_the_smaller_of_filter_and_tight_epsilon_is_exceeded_by_who_stops_on_bad_answers(
    epsilon, delta, menu, factor
):
    assert most_delta_at(smaller_of_both, epsilon, delta, menu) > factor * delta


def real_accounts(spends, budget):
    """The ledger's own accounts, release by release, for every sequence of spends."""
    prices = Prices()
    draws = [prices.laws([spend])[1] for spend in spends]

    @cache
    def account(played):
        if not played:
            return Account(budget, "", nothing(budget))
        return prices.after(None, account(played[:-1]), draws[played[-1]])

    return account


@pytest.mark.parametrize(("epsilon", "delta"), [(1.2, 0.05), (2.0, 0.02)])
def test_no_adversary_exceeds_delta_at_what_the_accounts_show(epsilon, delta):
    """A law that ends, one whose rare losses count as failures, and one that 1.2 allows only as the
    last; sequences of releases, as the choice of what counts as a failure may depend on their
    order."""
    losses = [
        ending(2, 0.2 * FAILURES * delta),
        with_rare_loss(2, 14, TRIMMED_BELOW * delta),
        with_rare_loss(5, 11, 0.03),
    ]
    account = real_accounts(
        [Spend(PrivacyLoss(((loss, 1),))) for loss in losses], declared(epsilon, delta)
    )
    assert account((0,)).total.failure > 0.0
    assert account((1,)).total.failure > 0.0
    assert account((2,)).was_last == (epsilon == 1.2)
    reached = most_delta(losses, lambda played: account(played).epsilon, epsilon)
    assert 0.9 * (1 - FAILURES) * delta < reached <= delta


def test_a_first_release_shows_the_filter_and_beside_it_what_it_costs_as_the_last(tmp_path):
    with Ledger(tmp_path / "ledger.db") as ledger:
        ledger.open_dataset("patients", epsilon=2.5, delta=1e-6)
        preview = ledger.preview("patients", TEN)
        entry = ledger.spend("patients", TEN, plan_hash="plan")
        status = ledger.dataset("patients")
        filtered = filter_epsilon(
            charge(LAW.loss(1.0), declared(2.5, 1e-6)).times(10), declared(2.5, 1e-6)
        )
        tight = PrivacyLoss.of(LAW, 1.0).compose(10).epsilon(1e-6)
        assert (
            preview.epsilon_after
            == entry.epsilon_after
            == status.spent
            == pytest.approx(filtered, rel=1e-9)
        )
        assert (
            preview.epsilon_if_fixed
            == entry.epsilon_if_fixed
            == status.epsilon_if_fixed
            == tight
            < 0.95 * filtered
        )
        assert (preview.last, status.closed, preview.releases) == (False, False, 1)
        assert status.remaining == preview.remaining == 2.5 - status.spent
        assert "1.7431" in ledger.show()
        assert ledger.check(every_entry=True).ok


def test_a_first_release_that_only_its_tight_epsilon_allows_is_the_last(tmp_path):
    """Then nothing can follow, which was settled before any answer: the tight epsilon is what is
    spent."""
    with Ledger(tmp_path / "ledger.db") as ledger:
        ledger.open_dataset("patients", epsilon=1.75, delta=1e-6)
        preview = ledger.preview("patients", TEN)
        assert (preview.last, preview.remaining) == (True, 0.0)
        with pytest.raises(
            LedgerError, match=r"and more than 1\.75 if it is not\. If it is meant to be the last"
        ):
            ledger.spend("patients", TEN, plan_hash="plan")
        ledger.spend("patients", TEN, plan_hash="plan", last=True)
        status = ledger.dataset("patients")
        assert (status.closed, status.remaining) == (True, 0.0)
        assert status.spent == status.epsilon_if_fixed
        assert "closed" in ledger.show()
        tiny = [Spend(laplace(1e12))]
        assert not ledger.preview("patients", tiny).allowed
        assert not ledger.preview("patients", tiny).last
        with pytest.raises(
            BudgetExceededError, match="only as the last one, so nothing can follow it"
        ):
            ledger.spend("patients", tiny, plan_hash="plan")
        assert ledger.check(every_entry=True).ok


def test_a_ledger_of_an_earlier_version_shows_what_holds(tmp_path, monkeypatch):
    """They state the tight epsilon of a first release as spent. It is read as the filter's, and the
    file is still whole."""
    path = tmp_path / "ledger.db"
    with monkeypatch.context() as earlier:
        for module in (accounts, prices):
            earlier.setattr(module, "epsilon_at_rule", smaller_of_both)
        with Ledger(path) as ledger:
            ledger.open_dataset("patients", epsilon=2.5, delta=1e-6)
            assert ledger.spend("patients", TEN, plan_hash="plan").epsilon_after == pytest.approx(
                1.7431, abs=1e-4
            )
    with Ledger(path) as ledger:
        status, (entry,) = ledger.dataset("patients"), ledger.entries("patients")
        assert status.spent == entry.epsilon_after > 1.85
        assert ledger.check(every_entry=True).ok
        ledger.spend("patients", [Spend(laplace(100.0))], plan_hash="next")
        assert ledger.check(every_entry=True).ok


def running_tight(losses, order, delta):
    """ε of the first n releases of a sequence fixed in advance, n = 0, 1, …"""
    return [
        tight_epsilon(
            [(loss, order[:n].count(k)) for k, loss in enumerate(losses) if order[:n].count(k)],
            delta,
        )
        for n in range(len(order) + 1)
    ]


def test_fixed_in_advance_the_budget_holds_at_every_stop_and_the_running_epsilon_does_not():
    """Laws in a fixed order; the adversary only stops. Why that rule is no odometer, and what it
    promises."""
    delta, order = 0.01, [0, 0, 0, 1, 1, 1, 2, 2]
    running = running_tight(MENU[:3], order, delta)
    whole = running[-1]

    def worst(shown):
        return most_delta(
            MENU[:3],
            lambda played: shown[len(played)] if list(played) == order[: len(played)] else math.inf,
            max(whole, *shown),
        )

    assert worst(running) > 1.3 * delta
    assert worst([whole] * len(running)) <= delta * (1 + 1e-9)
