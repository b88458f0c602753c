"""The ledger in everyday use."""

import copy
import csv
import io
import json
import math
import pickle

import pytest

from leastnoise import LatticeNoise, PrivacyLoss, cube, discrete_gaussian, exact, gaussian, laplace
from leastnoise.errors import (
    BudgetExceededError,
    InvalidParameterError,
    LeastNoiseError,
    LedgerError,
)
from leastnoise.ledger.ledger import Ledger, LedgerEntry, Spend

LAW = exact(discrete_gaussian(8.0), delta=1e-6, compositions=10)
TEN = [Spend(LAW, sensitivity=1.0, uses=10)]
RULES = ("adaptive", "fixed in advance")


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "budget.ledger") as ledger:
        yield ledger


@pytest.mark.parametrize("rule", RULES)
def test_a_release_in_one_piece_costs_its_tight_epsilon_under_either_rule(ledger, rule):
    ledger.open_dataset("patients", epsilon=1.75, delta=1e-6, rule=rule)
    tight = PrivacyLoss.of(LAW, 1.0).compose(10).epsilon(1e-6)
    preview = ledger.preview("patients", TEN)
    assert preview.allowed
    assert (
        preview.epsilon_before,
        preview.epsilon_after,
        preview.simple_sum,
        preview.epsilon_if_fixed,
    ) == (
        0.0,
        tight,
        tight,
        tight,
    )
    assert preview.last == (rule == "adaptive")  # its filter would be beyond the budget
    assert preview.remaining == (0.0 if preview.last else 1.75 - tight)
    entry = ledger.spend(
        "patients", TEN, plan_hash="plan", note="first", stamp="seeded", last=preview.last
    )
    assert isinstance(entry, LedgerEntry)
    assert entry == ledger.entries("patients")[0]
    assert (entry.dataset, entry.plan_hash, entry.note, entry.stamp, entry.result_hash) == (
        "patients",
        "plan",
        "first",
        "seeded",
        None,
    )
    assert (entry.epsilon_after, entry.simple_sum) == (tight, tight)
    assert ledger.check(every_entry=True).ok


def test_after_a_first_release_that_only_tight_composition_allows_nothing_more_is_allowed(ledger):
    """The argument of the single release: whatever comes second, however small, is refused."""
    ledger.open_dataset("patients", epsilon=1.7431, delta=1e-6)
    ledger.spend("patients", TEN, plan_hash="plan", last=True)
    tiny = ledger.preview("patients", [Spend(laplace(1e9))])
    assert not tiny.allowed
    assert tiny.epsilon_after > 1.7431
    with pytest.raises(BudgetExceededError):
        ledger.spend("patients", [Spend(laplace(1e9))], plan_hash="plan")


@pytest.mark.parametrize("rule", RULES)
def test_what_is_refused_is_not_written(ledger, rule):
    ledger.open_dataset("patients", epsilon=2.0, delta=1e-6, rule=rule)
    ledger.spend("patients", [Spend(LAW, 1.0, 5)], plan_hash="plan")
    before = ledger.head
    asked = ledger.preview("patients", [Spend(LAW, 1.0, 20)])
    with pytest.raises(
        BudgetExceededError, match=r"^The release is refused: 'patients' has spent epsilon="
    ) as caught:
        ledger.spend("patients", [Spend(LAW, 1.0, 20)], plan_hash="plan")
    error = caught.value
    assert (error.dataset, error.budget, error.spent, error.asked) == (
        "patients",
        2.0,
        asked.epsilon_before,
        asked.epsilon_after,
    )
    assert ledger.head == before
    assert not asked.allowed
    assert asked.remaining == 0.0


@pytest.mark.parametrize("clone", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])
def test_a_refusal_survives_the_way_back_from_another_process(clone):
    error = clone(BudgetExceededError("patients", 1.0, 0.5, 1.5))
    assert (error.dataset, error.budget, error.spent, error.asked) == ("patients", 1.0, 0.5, 1.5)
    assert "'patients' has spent epsilon=0.5 of 1" in str(error)
    assert isinstance(error, LeastNoiseError)


def test_fixed_in_advance_composes_different_laws_tightly(ledger):
    ledger.open_dataset("patients", epsilon=3.0, delta=1e-6, rule="fixed in advance")
    ledger.spend("patients", [Spend(LAW, 1.0, 4)], plan_hash="a")
    ledger.spend("patients", [Spend(laplace(9.0), 2.0, 3), Spend(gaussian(7.0))], plan_hash="b")
    last = ledger.spend("patients", [Spend(LAW, 1.0, 2)], plan_hash="c")
    composed = (
        PrivacyLoss.of(LAW, 1.0)
        .compose(6)
        .compose(PrivacyLoss.of(laplace(9.0), 2.0).compose(3))
        .compose(PrivacyLoss.of(gaussian(7.0)))
    )
    assert last.epsilon_after == pytest.approx(composed.epsilon(1e-6), rel=1e-6)
    assert last.epsilon_after == last.epsilon_if_fixed < last.simple_sum


def test_the_adaptive_rule_costs_more_than_tight_composition_and_less_than_the_simple_sum(ledger):
    ledger.open_dataset("patients", epsilon=1.95, delta=1e-6)
    for k in range(10):
        entry = ledger.spend("patients", [Spend(LAW, 1.0, 1)], plan_hash=f"{k}")
    assert entry.epsilon_if_fixed == pytest.approx(1.74309, abs=1e-4)
    assert entry.epsilon_if_fixed < entry.epsilon_after < 1.1 * entry.epsilon_if_fixed
    assert entry.simple_sum > 2.0 * entry.epsilon_after
    values = [entry.epsilon_after for entry in ledger.entries()]
    assert values == sorted(values)


def test_a_batch_law_is_one_use(ledger):
    law = exact(cube(8.0, 10), delta=1e-6)
    ledger.open_dataset("patients", epsilon=1.0, delta=1e-6)
    assert ledger.spend("patients", [Spend(law)], plan_hash="plan").epsilon_after == pytest.approx(
        0.83, abs=0.01
    )


def test_a_budget_is_declared_once(ledger):
    first = ledger.open_dataset("patients", epsilon=1.0, delta=1e-6)
    head = ledger.head
    assert ledger.open_dataset("patients", epsilon=1.0, delta=1e-6) == first
    assert ledger.head == head
    for other in (
        {"epsilon": 1.1},
        {"delta": 1e-7},
        {"rule": "fixed in advance"},
        {"orders": (5.0,)},
    ):
        with pytest.raises(LedgerError, match="declared already"):
            ledger.open_dataset("patients", **{"epsilon": 1.0, "delta": 1e-6, **other})
    assert ledger.head == head


def test_budgets_are_separate(ledger):
    ledger.open_dataset("a", epsilon=1.0, delta=1e-6)
    ledger.open_dataset("b", epsilon=1.0, delta=1e-6)
    ledger.spend("a", [Spend(laplace(2.0))], plan_hash="plan")
    assert [dataset.spent > 0 for dataset in ledger.datasets()] == [True, False]
    assert len(ledger.entries("a")) == 1
    assert ledger.entries("b") == ()
    assert ledger.dataset("b").remaining == 1.0


def test_laws_come_back_bit_for_bit_and_are_stored_once(ledger, tmp_path):
    ledger.open_dataset("patients", epsilon=3.0, delta=1e-6)
    for k in range(3):
        entry = ledger.spend("patients", [Spend(LAW)], plan_hash=f"{k}")
    assert ledger.law(entry.law_hash) == LAW
    assert list(json.loads(ledger.export())["laws"].values()) == [LAW.describe()]
    two = ledger.spend("patients", [Spend(LAW), Spend(laplace(30.0))], plan_hash="two")
    assert two.law_hash != entry.law_hash
    assert ledger.law(two.draws[1].law_hash) == laplace(30.0)


def test_another_opening_sees_the_same(ledger):
    ledger.open_dataset("patients", epsilon=3.0, delta=1e-6)
    ledger.spend("patients", TEN, plan_hash="plan")
    with Ledger(ledger._log.path) as other:
        assert other.entries() == ledger.entries()
        assert other.datasets() == ledger.datasets()
        assert other.preview("patients", TEN) == ledger.preview("patients", TEN)
        other.spend("patients", [Spend(laplace(100.0))], plan_hash="plan")
        assert len(ledger.entries()) == 2


def test_done_is_marked_once(ledger):
    ledger.open_dataset("patients", epsilon=3.0, delta=1e-6)
    entry = ledger.spend("patients", TEN, plan_hash="plan")
    assert ledger.release_done(entry.id, "result").result_hash == "result"
    head = ledger.head
    assert ledger.release_done(entry.id, "result").result_hash == "result"
    assert ledger.head == head
    with pytest.raises(LedgerError, match="with another result"):
        ledger.release_done(entry.id, "other")
    for number in (entry.id + 100, 1, 2):
        with pytest.raises(LedgerError, match="There is no release"):
            ledger.release_done(number, "result")
    assert ledger.dataset("patients").spent == entry.epsilon_after
    assert ledger.check().ok


def test_an_unknown_data_set_is_named(ledger):
    for use in (
        lambda: ledger.spend("nobody", TEN, plan_hash="plan"),
        lambda: ledger.preview("nobody", TEN),
        lambda: ledger.entries("nobody"),
        lambda: ledger.dataset("nobody"),
    ):
        with pytest.raises(LedgerError, match="no data set 'nobody'"):
            use()


@pytest.mark.parametrize(
    "name",
    [
        "Ärzte 2024",
        "病院",
        "🏥",
        "a'; DROP TABLE events; --",
        '"; DELETE FROM head',
        "%s {0} \\",
        "=1+1",
        "x" * 200,
    ],
)
def test_any_plain_name_works(ledger, name):
    ledger.open_dataset(name, epsilon=1.0, delta=1e-6)
    entry = ledger.spend(name, [Spend(laplace(20.0))], plan_hash=name, note=name, stamp=name)
    assert entry.dataset == name
    assert ledger.entries(name) == (entry,)
    assert ledger.check().ok
    assert name in ledger.show()
    assert json.loads(ledger.export("json"))["datasets"][0]["name"] == name
    assert (
        next(csv.DictReader(io.StringIO(ledger.export("csv"))))["dataset"].removeprefix("'") == name
    )


def test_two_spellings_of_one_name_are_one_data_set(ledger):
    ledger.open_dataset("caf\u00e9", epsilon=1.0, delta=1e-6)
    ledger.spend("cafe\u0301", [Spend(laplace(20.0))], plan_hash="plan")
    assert len(ledger.datasets()) == 1


@pytest.mark.parametrize("space", ["\u00a0", "\u2003", "\u3000", "\u202f", "  "], ids=ascii)
def test_names_that_look_the_same_are_not_two_data_sets(ledger, space):
    ledger.open_dataset("clinic 2025", epsilon=1.0, delta=1e-6)
    with pytest.raises(InvalidParameterError, match="one ordinary space"):
        ledger.open_dataset(f"clinic{space}2025", epsilon=1.0, delta=1e-6)
    with pytest.raises(InvalidParameterError, match="one ordinary space"):
        ledger.spend(f"clinic{space}2025", TEN, plan_hash="plan")


@pytest.mark.parametrize(
    "name", ["", " a", "a ", "a\nb", "a\0b", "\ud800", "x" * 201, None, 3, b"a", ["a"]], ids=repr
)
def test_odd_names_are_refused(ledger, name):
    with pytest.raises(InvalidParameterError):
        ledger.open_dataset(name, epsilon=1.0, delta=1e-6)
    ledger.open_dataset("patients", epsilon=1.0, delta=1e-6)
    with pytest.raises(InvalidParameterError):
        ledger.spend("patients", TEN, plan_hash=name)


@pytest.mark.parametrize("spends", [[], (), None, TEN[0], [LAW], "ab", [None], {}], ids=str)
def test_odd_spends_are_refused(ledger, spends):
    ledger.open_dataset("patients", epsilon=1.0, delta=1e-6)
    with pytest.raises(InvalidParameterError, match="non-empty list of Spend"):
        ledger.spend("patients", spends, plan_hash="plan")


def test_huge_counts_are_refused_as_overspending(ledger):
    for rule in RULES:
        ledger.open_dataset(rule, epsilon=1.0, delta=1e-6, rule=rule)
        with pytest.raises(LeastNoiseError):
            ledger.spend(rule, [Spend(laplace(2.0), 1.0, 10**15)], plan_hash="plan")
    assert ledger.entries() == ()


def test_a_law_without_finite_epsilon_is_refused(ledger):
    short = LatticeNoise([0.5, 0.5], None, domain="integer")
    ledger.open_dataset("patients", epsilon=50.0, delta=1e-12)
    with pytest.raises(BudgetExceededError) as caught:
        ledger.spend("patients", [Spend(short)], plan_hash="plan")
    assert math.isinf(caught.value.asked)


def test_show(ledger):
    assert ledger.show() == "No data set has a budget yet.\n"
    ledger.open_dataset("patients", epsilon=2.0, delta=1e-6)
    entry = ledger.spend("patients", TEN, plan_hash="plan", stamp="seeded")
    text = ledger.show()
    ledger.release_done(entry.id, "result")
    for word in (
        "patients",
        "adaptive",
        "1e-06",
        " 2 ",
        "1.7431",
        "if laws fixed",
        "simple sum",
        "spent, seeded",
    ):
        assert word in text
    assert "revealed, seeded" in ledger.show()


def test_export(ledger):
    ledger.open_dataset("patients", epsilon=2.0, delta=1e-6)
    entry = ledger.spend("patients", TEN, plan_hash="=plan")
    content = json.loads(ledger.export())
    assert content["head"] == ledger.head
    assert content["entries"][0]["hash"] == entry.hash
    everything = {"kind": "box", "touched": None}
    assert content["entries"][0]["draws"] == [
        {"law_hash": entry.law_hash, "sensitivity": 1.0, "uses": 10, "changes": everything}
    ]
    rows = list(csv.DictReader(io.StringIO(ledger.export("csv"))))
    assert len(rows) == 1
    assert rows[0]["plan_hash"] == "'=plan"
    assert float(rows[0]["epsilon_after"]) == entry.epsilon_after
    with pytest.raises(InvalidParameterError):
        ledger.export("xml")


def test_many_laws_leave_the_filter_as_fast_and_the_tight_number_out(ledger):
    ledger.open_dataset("patients", epsilon=5.0, delta=1e-6)
    for k in range(40):
        entry = ledger.spend("patients", [Spend(laplace(200.0 + k))], plan_hash=f"{k}")
    assert entry.epsilon_if_fixed is None
    assert ledger.check().ok
    assert "-" in ledger.show()
    assert json.loads(ledger.export())["entries"][-1]["epsilon_if_fixed"] is None


@pytest.mark.parametrize("releases", [200, pytest.param(1000, marks=pytest.mark.long)])
def test_many_releases_cost_the_same_each(ledger, releases):
    ledger.open_dataset("patients", epsilon=1.5, delta=1e-6)
    ledger._log._connection.execute(
        "PRAGMA synchronous = OFF"
    )  # the disk is not what is tested here
    sigma = 100.0 * (releases / 1000) ** 0.5
    for k in range(releases):
        entry = ledger.spend("patients", [Spend(gaussian(sigma))], plan_hash=f"{k}")
    exact_epsilon = PrivacyLoss.of(gaussian(sigma)).compose(releases).epsilon(1e-6)
    assert entry.epsilon_if_fixed == pytest.approx(exact_epsilon, rel=1e-9)
    assert exact_epsilon < entry.epsilon_after < 1.1 * exact_epsilon
    assert ledger.check().ok
    with Ledger(ledger._log.path) as other:
        assert other.entries()[-1] == entry


def test_a_law_that_ends_too_soon_is_refused_with_the_reason(ledger):
    ledger.open_dataset("patients", epsilon=3.0, delta=1e-6)
    ends = LatticeNoise.from_weights(
        [1.0] * 4, None, domain="integer"
    )  # a shift by one moves a seventh of it to where nothing was
    ledger.spend("patients", TEN, plan_hash="plan")
    with pytest.raises(
        BudgetExceededError, match=r"has 5e-08 for failures, .* and this release needs 0\.14\."
    ) as refused:
        ledger.spend("patients", [Spend(ends)], plan_hash="plan")
    assert refused.value.asked == math.inf
    assert str(pickle.loads(pickle.dumps(refused.value))) == str(refused.value)


def test_releases_for_different_neighbours_are_not_added_up(ledger):
    ledger.open_dataset("patients", epsilon=5.0, delta=1e-6)
    small = [Spend(laplace(40.0))]
    ledger.spend("patients", small, plan_hash="says nothing")
    ledger.spend("patients", small, plan_hash="first", relation="add/remove")
    with pytest.raises(
        LedgerError, match="so far have relation = 'add/remove', this one relation = 'replace'"
    ):
        ledger.spend("patients", small, plan_hash="other", relation="replace")
    assert not ledger.preview("patients", small, relation="replace").allowed
    assert ledger.preview("patients", small, relation="add/remove").allowed
    ledger.spend("patients", small, plan_hash="second", relation="add/remove")
    assert len(ledger.entries()) == 3
    assert ledger.check().ok
