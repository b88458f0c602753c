"""A cap on the attacker's advantage: no adversary passes it, and no way of spending does.

An adversary chooses every law after seeing the answers, and stops when it likes. Backward induction
over all its choices gives the largest advantage E_P[(1 − e^(−ℓ))_+] it can reach, ℓ being the loss
of the transcript: exact, because the losses are whole multiples of one number.
"""

import itertools
import json
import math
import pickle
import sqlite3
import threading
from contextlib import suppress
from functools import cache

import numpy as np
import pytest

from leastnoise import OneSided, PrivacyLoss, gaussian, laplace
from leastnoise.accountant.attacker import advantage_of
from leastnoise.errors import BudgetExceededError, InvalidParameterError, LedgerError
from leastnoise.ledger import advantage as cap_of
from leastnoise.ledger.advantage import AsGaussian, as_gaussian, left_of, tight_advantage
from leastnoise.ledger.budget import declared
from leastnoise.ledger.ledger import Ledger, Spend
from leastnoise.losses.table import TableLoss
from ledger.test_filter import RATIO, ending, two_point, with_rare_loss
from ledger.test_ledger_opened import append, content, refuses
from ledger.test_ledger_safety import rechained

SMALL = tuple(two_point(k).loss(1.0) for k in (1, 2))
MENU = (*(two_point(k).loss(1.0) for k in (1, 2, 4)), with_rare_loss(1, 12, 0.02))
SHORT_MENU = (*(two_point(k).loss(1.0) for k in (2, 6)), with_rare_loss(2, 12, 0.02))
ENDING_MENU = (ending(1, 1e-3), ending(2, 0.01), ending(4, 3e-3))
CAPPED = {"epsilon": 3.0, "delta": 1e-6, "advantage": 0.2}
LITTLE, MUCH = [Spend(gaussian(20.0))], [Spend(gaussian(4.0))]  # advantages of 0.02 and 0.0995


def most_advantage(losses, allowed, unit=RATIO):
    """The largest advantage of an adversary who may release a law where `allowed(counts)`, counts
    saying how often each law was used then."""
    tables = [
        (loss.infinite, [(math.exp(p), round(x / unit)) for x, p in zip(*points, strict=True)])
        for loss, points in ((loss, (loss.loss, loss.log_p)) for loss in losses)
    ]

    @cache
    def value(counts, place):
        best = -math.expm1(min(-place * unit, 0.0))
        for k, (infinite, points) in enumerate(tables):
            then = tuple(n + (i == k) for i, n in enumerate(counts))
            if allowed(then):
                more = math.fsum(p * value(then, place + move) for p, move in points)
                best = max(best, infinite + more)
        return best

    return value((0,) * len(losses), 0)


def let_by_the_filter(losses, budget):
    charges = [as_gaussian([(loss, 1)], budget) for loss in losses]

    def allowed(counts):
        total = AsGaussian()
        for one, n in zip(charges, counts, strict=True):
            total = total.plus(one.times(n)) if n else total
        return total.advantage <= budget.advantage

    return cache(allowed)


@pytest.mark.parametrize("cap", [0.15, 0.3, 0.4])
@pytest.mark.parametrize("menu", [SMALL, MENU, SHORT_MENU, ENDING_MENU])
@pytest.mark.parametrize("share", [cap_of.APART, 0.3])
def test_no_adversary_passes_the_cap_of_the_filter(menu, cap, share, monkeypatch):
    monkeypatch.setattr(cap_of, "APART", share)
    budget = declared(3.0, 1e-6, advantage=cap, releases=1 if share < 0.1 else 4)
    assert most_advantage(menu, let_by_the_filter(menu, budget)) <= cap


def many(n, unit=RATIO):
    """n draws of a law of two losses, which together are nearly normal."""
    k, up = np.arange(n + 1), 1.0 / (1.0 + math.exp(-unit))
    log_p = [math.log(math.comb(n, i) * up**i * (1.0 - up) ** (n - i)) for i in range(n + 1)]
    return TableLoss((2.0 * k - n) * unit, np.array(log_p))


def revealing(chance):
    """Noise so wide that it hides all, except that with a small chance it hides nothing."""
    return TableLoss(np.zeros(1), np.array([math.log1p(-chance)]), chance)


def test_the_share_of_what_is_set_apart_must_be_fixed():
    """Who may choose after looking whether to spend μ or δ₀ passes a limit on the sum of both."""
    cap, chance, unit = 0.3, 0.02, 0.05
    noise = many(40, unit)
    square = as_gaussian([(noise, 1)], declared(3.0, 1e-6, advantage=cap)).square

    def used(counts):
        told = AsGaussian(counts[0] * square, 0.0).advantage * (1.0 - cap_of.APART)
        return told, counts[1] * chance

    menu = noise, revealing(chance)
    summed = cache(lambda counts: sum(used(counts)) <= cap)
    assert most_advantage(menu, summed, unit) > 1.02 * cap
    for share in (0.1, 0.3, 0.5):
        limits = (1.0 - share) * cap, share * cap + 1e-12

        def allowed(counts, limits=limits):
            return all(one <= limit for one, limit in zip(used(counts), limits, strict=True))

        assert 0.8 * cap < most_advantage(menu, cache(allowed), unit) <= cap


def test_the_cap_could_not_be_kept_with_much_less():
    cap = 0.4
    menu = (many(4), many(1))
    allowed = let_by_the_filter(menu, declared(3.0, 1e-6, advantage=cap))
    assert most_advantage(menu, allowed) > 0.9 * cap


@pytest.mark.parametrize(("cap", "menu"), [(0.25, MENU), (0.3, MENU)])
def test_composition_alone_is_passed_by_who_chooses_after_looking(cap, menu):
    """Whatever was released composes to at most the cap, and yet the game reaches more."""

    @cache
    def composes(counts):
        used = [(loss, n) for loss, n in zip(menu, counts, strict=True) if n]
        return tight_advantage(used) <= cap

    assert most_advantage(menu, composes) > 1.06 * cap


def random_pair(seed):
    """A pair of laws on five points, judged in both orders."""
    generator = np.random.default_rng(seed)
    p, q = (generator.dirichlet(np.full(5, 2.0)) for _ in range(2))
    return p, q


def test_a_release_is_like_gaussian_noise_at_every_test():
    """(μ, δ₀) of a random law: at every ε, of both signs, its δ is at most that of the noise."""
    from scipy.special import ndtr

    for seed in range(40):
        p, q = random_pair(seed)
        losses = [TableLoss(np.log(a / b), np.log(a)) for a, b in ((p, q), (q, p))]
        told = max(
            (as_gaussian([(loss, 1)], declared(3.0, 1e-6, advantage=0.9)) for loss in losses),
            key=lambda one: one.square,
        )
        mu = math.sqrt(told.square)
        for epsilon in np.linspace(-4.0, 4.0, 81):
            exact = np.maximum(p - math.exp(epsilon) * q, 0.0).sum()
            normal = ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu)
            assert exact <= told.apart + (1.0 - told.apart) * normal + 1e-12


def test_what_is_charged_is_next_to_what_composition_gives():
    budget = declared(3.0, 1e-6, advantage=0.5)
    assert AsGaussian().advantage == 0.0
    for law, uses in ((gaussian(8.0), 1), (gaussian(8.0), 9), (laplace(8.0), 20)):
        loss = PrivacyLoss.of(law).parts[0][0]
        exact = advantage_of(PrivacyLoss.of(law).compose(uses))
        assert exact <= as_gaussian([(loss, uses)], budget).advantage <= 1.006 * exact


def test_a_law_that_is_like_no_gaussian_noise_uses_everything():
    budget = declared(3.0, 1e-6, advantage=0.2)
    assert as_gaussian([(ending(1, 0.05), 1)], budget).advantage == 1.0
    hardly = PrivacyLoss.of(gaussian(0.01)).parts[0]  # its e^ε is beyond any double
    assert as_gaussian([hardly], budget).advantage == 1.0
    fits = as_gaussian([(ending(1, 5e-6), 1)], budget)  # with all of its share
    assert fits.advantage < 0.11
    assert fits.apart == 0.2 * cap_of.APART / 25


def test_what_cannot_be_composed_is_added_up_draw_by_draw(monkeypatch):
    loss = PrivacyLoss.of(gaussian(8.0)).parts[0][0]
    budget = declared(3.0, 1e-6, advantage=0.2)
    one = as_gaussian([(loss, 1)], budget)

    def refused(draws):
        raise cap_of.AccountingError("beyond the grid")

    monkeypatch.setattr(cap_of, "_composed", refused)
    nine = as_gaussian([(loss, 9)], budget)
    assert nine.square == pytest.approx(9.0 * one.square)
    assert nine.apart == pytest.approx(9.0 * one.apart)
    assert tight_advantage([(loss, 9)]) == 1.0


# The ledger


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "capped.ledger") as made:
        made.open_dataset("heart", **CAPPED)
        yield made


def test_the_one_too_many_is_refused_beforehand_and_costs_nothing(ledger):
    first = ledger.spend("heart", MUCH, plan_hash="one")
    assert first.advantage_after == pytest.approx(2 * 0.5497 - 1, abs=1e-3)
    for name in ("two", "three", "four"):
        ledger.spend("heart", MUCH, plan_hash=name)
    before = ledger.dataset("heart")
    assert before.advantage_used <= 0.2 == before.advantage
    assert before.spent < before.epsilon
    preview = ledger.preview("heart", MUCH)
    assert not preview.allowed
    assert preview.advantage_before == before.advantage_used
    assert preview.advantage_after > 0.2
    with pytest.raises(BudgetExceededError, match=r"advantage=0\.197.* of 0\.2 .*61\.1 %") as found:
        ledger.spend("heart", MUCH, plan_hash="five")
    assert (found.value.what, found.value.budget) == ("advantage", 0.2)
    assert pickle.loads(pickle.dumps(found.value)).what == "advantage"
    assert ledger.dataset("heart") == before
    assert ledger.check(every_entry=True).ok
    assert ledger.spend("heart", LITTLE, plan_hash="less", last=True).advantage_after <= 0.2


def test_what_is_told_of_a_cap(ledger):
    ledger.spend("heart", MUCH, plan_hash="one")
    said = ledger.show()
    assert "heart is capped: the attacker's advantage is 0.0995" in said
    assert "of 0.2, 0.174 left for one more release (right guesses" in said
    assert "at most 55.0 % of 60.0 %" in said
    assert "is capped" in ledger._repr_html_()
    told = json.loads(ledger.export("json"))
    assert told["datasets"][0]["advantage"] == 0.2
    assert told["entries"][0]["advantage_after"] == told["datasets"][0]["advantage_used"]
    assert "advantage_after" in ledger.export("csv").splitlines()[0]


def test_what_is_left_is_what_a_release_may_have(ledger):
    ledger.spend("heart", MUCH, plan_hash="one")
    rest = left_of(ledger.dataset("heart").advantage_used, 0.2)
    from scipy.special import ndtri

    def sized(part):
        return [Spend(gaussian(0.5 / float(ndtri(0.5 * (1.0 + part * rest)))))]

    assert ledger.preview("heart", sized(0.995)).allowed
    assert not ledger.preview("heart", sized(1.005)).allowed
    assert left_of(0.2, 0.2) == left_of(0.3, 0.2) == 0.0


def test_laws_that_are_fixed_in_advance_are_composed(tmp_path):
    with Ledger(tmp_path / "fixed.ledger") as ledger:
        ledger.open_dataset("heart", **CAPPED, rule="fixed in advance")
        ledger.spend("heart", MUCH, plan_hash="one")
        entry = ledger.spend("heart", [Spend(laplace(20.0), uses=2)], plan_hash="two")
        both = PrivacyLoss.of(gaussian(4.0)).compose(PrivacyLoss.of(laplace(20.0)).compose(2))
        assert entry.advantage_after == pytest.approx(advantage_of(both), rel=1e-9)
        with pytest.raises(BudgetExceededError, match="advantage"):
            ledger.spend("heart", [Spend(gaussian(2.0))], plan_hash="three")
        assert ledger.check(every_entry=True).ok


def test_a_first_release_that_fills_the_cap_is_the_last(tmp_path):
    """The filter is a little beyond the cap, the release by itself is not."""
    noise = [Spend(laplace(8.0), uses=20)]
    exact = advantage_of(PrivacyLoss.of(laplace(8.0)).compose(20))
    with Ledger(tmp_path / "last.ledger") as ledger:
        ledger.open_dataset("heart", epsilon=9.0, delta=1e-6, advantage=exact * 1.0005)
        preview = ledger.preview("heart", noise)
        assert preview.allowed
        assert preview.last
        assert "advantage comes to" in preview.reason
        with pytest.raises(LedgerError, match="nothing could be released after it"):
            ledger.spend("heart", noise, plan_hash="one")
        entry = ledger.spend("heart", noise, plan_hash="one", last=True)
        assert entry.advantage_after == exact
        assert ledger.dataset("heart").closed
        assert "nothing left" in ledger.show()
        with pytest.raises(BudgetExceededError, match="only as the last one"):
            ledger.spend("heart", [Spend(gaussian(500.0))], plan_hash="two", last=True)
        assert ledger.check(every_entry=True).ok


def test_epsilon_is_refused_as_before(ledger):
    with pytest.raises(BudgetExceededError, match="epsilon") as found:
        ledger.spend("heart", [Spend(gaussian(0.5))], plan_hash="one")
    assert found.value.what == "epsilon"


@pytest.mark.parametrize("cap", [0.0, 1.0, -0.1, math.nan, True, "much"])
def test_a_cap_is_a_probability(tmp_path, cap):
    with Ledger(tmp_path / "new.ledger") as ledger, pytest.raises(InvalidParameterError):
        ledger.open_dataset("heart", epsilon=1.0, delta=1e-6, advantage=cap)


# Ways around it


def test_a_cap_is_declared_once(ledger):
    assert ledger.open_dataset("heart", **CAPPED).advantage == 0.2
    for other in (None, 0.3, 0.1):
        with pytest.raises(LedgerError, match=r"cannot be changed: .*advantage=0\.2"):
            ledger.open_dataset("heart", **{**CAPPED, "advantage": other})


def test_a_ledger_of_an_earlier_version_has_no_cap_and_gets_none(tmp_path):
    path = tmp_path / "old.ledger"
    with Ledger(path) as ledger:
        ledger.open_dataset("clinic", epsilon=2.0, delta=1e-6)
        entry = ledger.spend("clinic", MUCH, plan_hash="one")
        assert (entry.advantage_after, ledger.dataset("clinic").advantage) == (None, None)
        assert "advantage" not in str(content(path, 2)) + str(content(path, 3))
        with pytest.raises(LedgerError, match="cannot be changed"):
            ledger.open_dataset("clinic", epsilon=2.0, delta=1e-6, advantage=0.2)


def test_an_earlier_version_does_not_take_a_capped_budget_for_another(ledger, tmp_path):
    """It refuses events of a kind that it does not know; so the kind says that there is a cap."""
    kinds = dict(sqlite3.connect(tmp_path / "capped.ledger").execute("SELECT id, kind FROM events"))
    assert kinds[2] == "capped budget"


@pytest.mark.parametrize(("kind", "given"), [("budget", True), ("capped budget", False)])
def test_a_budget_of_the_other_kind_stops_everything(ledger, tmp_path, kind, given):
    path = tmp_path / "capped.ledger"
    told = {**content(path, 2), "dataset": "other"}
    if not given:
        del told["advantage"]
    append(path, kind, told)
    refuses(path, "Event 3 of the ledger cannot be understood")
    with Ledger(path) as opened:
        assert any("of another kind" in problem for problem in opened.check().problems)


@pytest.mark.parametrize("name", ["square", "apart", "advantage_after"])
def test_a_release_that_does_not_say_what_it_uses_stops_everything(ledger, tmp_path, name):
    ledger.spend("heart", MUCH, plan_hash="one")
    path = tmp_path / "capped.ledger"
    told = content(path, 3)
    del told[name]
    append(path, "release", told)
    refuses(path, "Event 4 of the ledger cannot be understood")


@pytest.mark.parametrize("name", ["square", "apart"])
def test_a_release_that_gives_advantage_back_stops_everything(ledger, tmp_path, name):
    ledger.spend("heart", MUCH, plan_hash="one")
    path = tmp_path / "capped.ledger"
    append(path, "release", content(path, 3) | {name: (0.0).hex()})
    refuses(path, "Event 4 states that less was spent of 'heart' than before it")


@pytest.mark.parametrize("name", ["square", "apart", "advantage_after"])
@pytest.mark.parametrize("rule", ["adaptive", "fixed in advance"])
def test_numbers_of_a_cap_that_the_laws_do_not_give_are_found(tmp_path, name, rule):
    path = tmp_path / "edited.ledger"
    with Ledger(path) as ledger:
        ledger.open_dataset("heart", **CAPPED, rule=rule)
        ledger.spend("heart", MUCH, plan_hash="one")

    def change(kind, data):
        if kind == "release":
            data[name] = (float.fromhex(data[name]) * 0.5).hex()
        return data

    rechained(path, change)
    with Ledger(path) as ledger:
        assert any("its laws give" in problem for problem in ledger.check().problems)


def test_a_cap_that_was_lowered_by_hand_is_overspent(ledger, tmp_path):
    ledger.spend("heart", MUCH, plan_hash="one")

    def change(kind, data):
        if kind == "capped budget":
            data["advantage"] = (0.09).hex()
        return data

    rechained(tmp_path / "capped.ledger", change)
    with Ledger(tmp_path / "capped.ledger") as opened:
        assert any("overspends 'heart': advantage" in one for one in opened.check().problems)


def test_eight_writers_share_one_cap(ledger, tmp_path):
    """Each saw that its release would be allowed; together they would pass the cap."""
    path, made = tmp_path / "capped.ledger", []
    assert ledger.preview("heart", MUCH).allowed

    def work():
        with Ledger(path, timeout=600.0) as mine:
            for _ in range(2):
                with suppress(BudgetExceededError):
                    made.append(mine.spend("heart", MUCH, plan_hash="plan", last=True).id)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 4
    assert ledger.dataset("heart").advantage_used <= 0.2
    assert ledger.check(every_entry=True).ok


def test_a_spend_that_was_interrupted_stays_spent(ledger, tmp_path):
    """Nothing was revealed of it; the cap does not know that."""
    for k in range(4):
        ledger.spend("heart", MUCH, plan_hash=f"never revealed {k}")
    with Ledger(tmp_path / "capped.ledger") as again:
        assert again.dataset("heart").advantage_used == ledger.dataset("heart").advantage_used
        with pytest.raises(BudgetExceededError):
            again.spend("heart", MUCH, plan_hash="once more")


def test_the_order_and_the_parts_of_releases_do_not_help(tmp_path):
    """The same draws in one release, in several, in any order: none ends below what they compose
    to."""
    laws = [(gaussian(8.0), 2), (laplace(12.0), 1), (gaussian(20.0), 3)]
    whole = PrivacyLoss.of(laws[0][0]).compose(2)
    for law, n in laws[1:]:
        whole = whole.compose(PrivacyLoss.of(law).compose(n))
    exact = advantage_of(whole)
    found = []
    for place, order in enumerate(itertools.permutations(laws)):
        with Ledger(tmp_path / f"{place}.ledger") as ledger:
            ledger.open_dataset("heart", epsilon=9.0, delta=1e-6, advantage=0.9)
            for law, n in order:
                entry = ledger.spend("heart", [Spend(law, uses=n)], plan_hash="part")
            found.append(entry.advantage_after or 0.0)
            ledger.open_dataset("whole", epsilon=9.0, delta=1e-6, advantage=0.9)
            parts = [Spend(law, uses=n) for law, n in order]
            found.append(ledger.spend("whole", parts, plan_hash="all").advantage_after or 0.0)
    assert min(found) >= exact
    assert max(found) <= 1.07 * exact  # a Laplace law is not much like Gaussian noise


def test_what_only_composition_keeps_within_the_cap_is_refused_after_a_look(tmp_path):
    """The laws of later releases may have been chosen after looking: they are not composed."""
    laws = [[Spend(gaussian(8.0), uses=2)], [Spend(gaussian(20.0), uses=3)], [Spend(laplace(12.0))]]
    with Ledger(tmp_path / "looked.ledger") as ledger:
        for name, rule in (("looked", "adaptive"), ("planned", "fixed in advance")):
            ledger.open_dataset(name, epsilon=9.0, delta=1e-6, advantage=0.094, rule=rule)
            for law in laws[:2]:
                ledger.spend(name, law, plan_hash="part")
        assert ledger.spend("planned", laws[2], plan_hash="last").advantage_after < 0.092
        with pytest.raises(BudgetExceededError, match="advantage"):
            ledger.spend("looked", laws[2], plan_hash="last", last=True)


def test_releases_for_other_neighbours_do_not_add_up(ledger):
    """An advantage for persons who come or go says nothing of persons who are replaced."""
    one_sided = [Spend(laplace(20.0), changes=OneSided())]
    ledger.spend("heart", LITTLE, plan_hash="one", relation="replace")
    with pytest.raises(LedgerError, match="do not add up"):
        ledger.spend("heart", LITTLE, plan_hash="two", relation="add/remove")
    with pytest.raises(LedgerError, match="do not add up"):
        ledger.spend("heart", one_sided, plan_hash="three")
