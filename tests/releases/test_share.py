"""The δ of a release, and what it leaves: on the visits of a clinic (examples/clinic.csv), several
of them a patient, and on the flights of real aircraft.

A plan that asked for the whole δ of its data set used up what several releases share; nothing said
so before.
"""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("ibis")
pytest.importorskip("duckdb")

from leastnoise import LatticeNoise
from leastnoise.cli import main
from leastnoise.errors import BudgetExceededError, LedgerError, PlanError
from leastnoise.ledger.budget import FAILURES
from leastnoise.ledger.ledger import Ledger, Spend
from leastnoise.releases.advice import tried, with_share
from leastnoise.releases.noise.mechanism import mechanism
from leastnoise.releases.plan.file import load_plan
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.source import CsvFile
from leastnoise.releases.plan.statistic import Statistic
from leastnoise.releases.release import release
from leastnoise.sampling.entropy import InsecureSeededEntropy
from releases import real_tables as real

CLINIC = Path(__file__).parents[2] / "examples" / "clinic.csv"
COUNT = (Statistic("count"),)
BUDGET = {"epsilon": 2.0, "delta": 1e-6}


def visits(epsilon=0.5, delta=None, statistics=COUNT):
    """How many visits the clinic had: one number, whose best noise ends where it has
    used up its δ."""
    unit = {"person": "patient", "rows_per_person": 4, "dataset": "clinic"}
    return Plan("visits", CsvFile(str(CLINIC)), "add/remove", statistics, epsilon, delta, **unit)


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "ledger") as book:
        yield book


def test_a_release_that_would_end_the_budget_says_so_before_and_is_refused(ledger):
    ledger.open_dataset("clinic", **BUDGET)
    greedy = visits(delta=1e-6)
    made = mechanism(greedy)
    preview = ledger.preview("clinic", made.spends)
    assert (preview.allowed, preview.last, preview.remaining) == (True, True, 0.0)
    assert "ends where a neighbour's goes on" in preview.reason
    head = ledger.head
    with pytest.raises(
        LedgerError, match=r"nothing could be released after it: .* say so: last=True\."
    ) as refused:
        release(greedy, ledger=ledger, prepared=made)
    assert ledger.head == head
    assert "inf" not in str(refused.value)
    follow(str(refused.value), ledger)


def follow(advice, ledger):
    """Declare no delta, as advised: what was announced holds, to the digits that were shown."""
    found = re.search(
        r"With its share .* \(delta=(\S+)\) .* come to epsilon=(\S+), with (\S+) left\.$", advice
    )
    delta, spent, left = (float(number) for number in found.groups())
    done = release(visits(), ledger=ledger)
    status = ledger.dataset("clinic")
    assert done.delta == delta
    assert (status.spent, status.remaining) == (
        pytest.approx(spent, rel=1e-3),
        pytest.approx(left, rel=1e-3),
    )
    assert not status.closed


def test_the_first_release_of_real_flights_leaves_a_budget_for_the_next(ledger):
    """405 aircraft with all their flights of 2013, of each at most 100: the whole delta is refused,
    its share leaves the rest."""
    table = real.flights(10)
    truth = real.at_most(table, 100)
    ledger.open_dataset("flights", **BUDGET, releases=4)
    unit = {"person": "tailnum", "rows_per_person": 100, "dataset": "flights"}
    greedy = Plan("flights", None, "add/remove", COUNT, 0.5, 1e-6, **unit)
    head = ledger.head
    with pytest.raises(
        LedgerError, match=r"nothing could be released after it: .* say so: last=True\."
    ):
        release(greedy, ledger=ledger, table=table)
    assert ledger.head == head
    modest = replace(greedy, delta=None)
    made = mechanism(with_share(modest, ledger))
    for spent in (0.5, 1.0):
        announced = ledger.preview("flights", made.spends)
        done = release(
            modest,
            ledger=ledger,
            table=table,
            prepared=made,
            entropy=InsecureSeededEntropy(1),
            not_private=True,
        )
        status = ledger.dataset("flights")
        assert (status.spent, status.remaining, status.closed) == (
            announced.epsilon_after,
            announced.remaining,
            False,
        )
        assert status.spent == pytest.approx(spent, rel=0.01)
        (row,) = (row for row in done.rows if row.kind == "count")
        assert row.lower <= truth <= row.upper


def test_where_laws_are_fixed_in_advance_a_smaller_delta_may_follow(ledger):
    """The first leaves 4 % of delta. A second like it has no room; one with its share of what is
    left has."""
    ledger.open_dataset("clinic", **BUDGET, rule="fixed in advance")
    greedy = visits(delta=1e-6)
    made = mechanism(greedy)
    announced = ledger.preview("clinic", made.spends)
    release(greedy, ledger=ledger, prepared=made)
    status = ledger.dataset("clinic")
    assert (
        (status.remaining, status.closed)
        == (announced.remaining, announced.last)
        == (2.0 - status.spent, False)
    )
    with pytest.raises(
        BudgetExceededError, match=r"the rule has 1e-06 for failures, of which 9\.\de-07 is used"
    ) as refused:
        release(greedy, ledger=ledger, prepared=made)
    follow(str(refused.value), ledger)


def test_where_laws_are_fixed_in_advance_nothing_follows_once_delta_is_used(ledger):
    ends = LatticeNoise.from_weights(
        [1.0] * 20, None, domain="integer"
    )  # a shift by one uncovers 1 in 39
    ledger.open_dataset("clinic", epsilon=1.0, delta=1.0 / 38.99, rule="fixed in advance")
    preview = ledger.preview("clinic", [Spend(ends)])
    assert (preview.allowed, preview.last, preview.remaining) == (True, True, 0.0)
    with pytest.raises(
        LedgerError, match=r"with probability 0\.026 over all releases.* say so: last=True"
    ):
        ledger.spend("clinic", [Spend(ends)], plan_hash="plan")
    ledger.spend("clinic", [Spend(ends)], plan_hash="plan", last=True)
    assert ledger.dataset("clinic").closed


def test_the_last_release_closes_the_data_set_and_every_later_word_says_so(ledger):
    ledger.open_dataset("clinic", **BUDGET)
    greedy = visits(delta=1e-6)
    made = mechanism(greedy)
    done = release(greedy, ledger=ledger, prepared=made, last=True)
    status = ledger.dataset("clinic")
    assert done.entry is not None
    assert (status.closed, status.remaining) == (True, 0.0)
    assert "closed" in ledger.show()
    assert "1.5" not in ledger.show().splitlines()[2]
    with pytest.raises(BudgetExceededError, match="no epsilon would hold at its delta") as refused:
        release(greedy, ledger=ledger, prepared=made)
    assert "With" not in str(refused.value)  # nothing is advised where nothing would be allowed
    with pytest.raises(LedgerError, match="nothing is left that a release could have a share of"):
        release(visits(), ledger=ledger)


def test_as_many_releases_as_were_declared_fit_into_delta(ledger):
    """By their shares of delta; epsilon is another matter. The joint noise of two answers has rare
    large losses that count as failures too, beside its ends."""
    ledger.open_dataset("clinic", epsilon=2.0, delta=1e-6, releases=6)
    stay = {"column": "stay", "lower": 0, "upper": 30, "pitch": 0.1, "missing": "drop"}
    joint = visits(0.2, statistics=(Statistic("count"), Statistic("mean", **stay)))
    single = visits(0.2)
    made = {}
    for number, plan in enumerate([joint, single] * 3, 1):
        whole = with_share(plan, ledger)
        assert whole.delta == pytest.approx(0.5 * FAILURES * 1e-6 / 6, rel=5e-3)
        noise = made[whole.hash] = made.get(whole.hash) or mechanism(whole)
        preview = ledger.preview("clinic", noise.spends)
        assert (preview.allowed, preview.last) == (True, False)
        release(whole, ledger=ledger, prepared=noise)
        status = ledger.dataset("clinic")
        assert (status.spent, status.remaining) == (preview.epsilon_after, preview.remaining)
        assert (status.releases, status.planned, status.closed) == (number, 6, False)
    assert len(made) == 2
    # And more: they get a smaller share, as long as there is one.
    assert ledger.preview("clinic", mechanism(with_share(single, ledger)).spends).allowed
    assert ledger.check().ok


def test_old_budgets_are_read_as_shared_by_the_default_number(ledger, monkeypatch):
    from leastnoise.ledger import ledger as module

    def without_number(name, budget):
        event = budget_event(name, budget)
        del event["releases"]
        return event

    budget_event = module.budget_event
    with monkeypatch.context() as earlier:
        earlier.setattr(module, "budget_event", without_number)
        ledger.open_dataset("clinic", **BUDGET)
    assert ledger.dataset("clinic").planned == 25
    assert ledger.delta_share("clinic") == 1e-9
    ledger.open_dataset("clinic", **BUDGET, releases=25)
    with pytest.raises(LedgerError, match="releases=25"):
        ledger.open_dataset("clinic", **BUDGET, releases=26)


def test_a_plan_without_delta_needs_a_ledger():
    with pytest.raises(PlanError, match="declares no delta: release it with a ledger"):
        release(visits())


def test_less_epsilon_is_advised_only_where_it_would_be_allowed(ledger):
    ledger.open_dataset("clinic", **BUDGET)
    release(visits(1.5), ledger=ledger)
    with pytest.raises(
        BudgetExceededError,
        match=r"would come to 2\.4\d* with it\. With epsilon=0\.47 \(delta=1e-09\)",
    ) as refused:
        release(visits(1.0), ledger=ledger)
    left = float(re.search(r"with (\S+) left\.$", str(refused.value)).group(1))
    release(visits(0.47), ledger=ledger)
    assert ledger.dataset("clinic").remaining == pytest.approx(left, rel=1e-3)
    assert (
        tried(visits(1.0, delta=1e-9), ledger) == ""
    )  # a thirtieth of what was asked for is no advice


PLAN = """
name = "visits"
dataset = "clinic"
epsilon = 0.5
relation = "add/remove"
person = "patient"
rows_per_person = 4
{more}
[source]
csv = '{csv}'
[[statistic]]
kind = "count"
"""


def called(*words):
    done = CliRunner().invoke(main, [str(word) for word in words])
    return done.exit_code, done.output


def test_the_commands_say_which_delta_and_what_is_left(tmp_path):
    book, plan, greedy = tmp_path / "ledger", tmp_path / "plan.toml", tmp_path / "greedy.toml"
    plan.write_text(PLAN.format(csv=CLINIC, more=""), encoding="utf-8")
    greedy.write_text(PLAN.format(csv=CLINIC, more="delta = 1e-6"), encoding="utf-8")
    assert load_plan(plan).delta is None
    opened = (
        "ledger",
        "open",
        book,
        "clinic",
        "--epsilon",
        "2",
        "--delta",
        "1e-6",
        "--releases",
        "5",
    )
    assert called(*opened)[0] == 0
    code, said = called("release", greedy, "--ledger", book, "--preview")
    assert code == 0
    assert (
        "allowed only with --last: nothing could be released after it, because its noise ends"
        in said
    )
    assert "With its share of the ledger's delta" in said
    assert " 1.5 left" not in said.split("With its share")[0]
    code, said = called("release", greedy, "--ledger", book)
    assert code == 2
    assert "say so: --last" in said
    code, said = called("release", plan, "--ledger", book, "--preview")
    assert "at delta = 5e-09 (its share of the ledger's 1e-06, for 5 releases)" in said
    announced = re.search(r"to (\S+): allowed, (\S+) left", said).groups()
    code, said = called("release", plan, "--ledger", book)
    assert code == 0
    assert (
        re.search(
            r"has spent epsilon = (\S+) of 2 at delta = 1e-06 in 1 release; (\S+) left", said
        ).groups()
        == announced
    )
    row = called("ledger", "show", book)[1].splitlines()[2].split()
    assert float(row[5]) == pytest.approx(float(announced[1]), abs=1e-3)
    assert row[-3:] == ["1", "of", "5"]
    code, said = called("release", greedy, "--no-ledger", "--last")
    assert code == 2
    assert "--last" in said
