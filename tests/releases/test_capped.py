"""Plans that cap the attacker's advantage: what is drawn keeps the cap, by enumeration too, and the
ledger adds up."""

import json
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("ibis")
pytest.importorskip("duckdb")

from leastnoise import BudgetExceededError, DesignError, InvalidParameterError, Ledger, PlanError
from leastnoise.accountant.attacker import promised
from leastnoise.changes import BOX, OneSided
from leastnoise.errors import AccountingError
from leastnoise.releases.noise import mechanism as made_by
from leastnoise.releases.noise import search
from leastnoise.releases.noise.bodies import bent_kinds, kinds
from leastnoise.releases.noise.layout import LawSpec
from leastnoise.releases.noise.mechanism import mechanism
from leastnoise.releases.noise.search import composed_advantage, solve
from leastnoise.releases.plan.file import plan_from
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.statistic import Statistic
from leastnoise.releases.release import release
from leastnoise.series.plans import series_mechanism
from releases import spread_plans, three_sets

SIX = {"g": {"values": list("abcdef"), "complete": True}}
WHOLE = {
    "add/remove": Statistic("count"),  # one draw sees a person
    "replace": Statistic("histogram", group_by=SIX),  # two do: that of the group they leave
}
VALUES = {"lower": -5, "upper": 5, "pitch": 1, "missing": 0}
SUMS = tuple(Statistic("sum", column=f"c{i}", name=f"c{i}", **VALUES) for i in range(6))


def plan(*statistics, cap=None, epsilon=1.0, relation="add/remove", **more):
    told = {"one_row_per_person": True, "advantage": cap, **more}
    return Plan("capped", None, relation, statistics, epsilon, 1e-6, **told)


def total_variation(law, uses):
    """Of `uses` draws of whole-number noise, moved by 1 each, by writing out every result."""
    k = np.arange(-120, 121)
    p, q = law.pmf(k), law.pmf(k - 1)
    joint_p, joint_q = np.ones(1), np.ones(1)
    for _ in range(uses):
        joint_p = np.multiply.outer(joint_p, p).ravel()
        joint_q = np.multiply.outer(joint_q, q).ravel()
    return 0.5 * float(np.abs(joint_p - joint_q).sum())


@pytest.mark.parametrize("cap", [0.3, 0.2])
@pytest.mark.parametrize("relation", WHOLE)
def test_what_is_drawn_keeps_the_cap_by_enumeration(relation, cap):
    found = mechanism(plan(WHOLE[relation], cap=cap, relation=relation))
    (law,) = found.laws
    assert law.uses == (1 if relation == "add/remove" else 2)
    exact = total_variation(law.noise, law.uses)
    assert exact <= found.advantage <= cap
    assert found.advantage <= exact * (1.0 + 1e-3)
    assert found.epsilon <= 1.0


def test_noise_grows_as_the_cap_falls_and_no_more_than_gaussian_noise_needs():
    caps = (None, 0.2, 0.05)
    found = [mechanism(plan(*SUMS, cap=cap)) for cap in caps]
    stds = [one.laws[0].noise.std for one in found]
    assert stds == sorted(stds)
    assert found[0].advantage > 0.3
    for cap, one in zip(caps[1:], found[1:], strict=True):
        assert one.advantage <= cap
        assert one.epsilon <= 1.0
        assert one.gaussian_factor >= 0.98
    assert [one.laws[0].origin for one in found[1:]] == ["sphere", "Gaussian"]
    assert found[-1].advantage == pytest.approx(0.05, rel=0.01)


def test_one_answer_gets_the_noise_that_is_designed_for_its_cap():
    """RISK: 1.809 on the real line; Gaussian and Laplace noise need 4.2 and 3.2."""
    for domain, sigma in (("real", 1.81), ("integer", 1.855)):
        found = solve([LawSpec(1, 1, 1.0, None, domain)], 1.0, 1e-6, 0.2)
        assert found.scale == pytest.approx(sigma, rel=2e-3)
        assert composed_advantage(found.laws) <= 0.2
        assert found.epsilon <= 1.0
    drawn = mechanism(plan(Statistic("count"), cap=0.2)).laws[0]
    assert (drawn.origin, drawn.uses) == ("optimised", 1)
    assert drawn.noise.std == pytest.approx(1.855, rel=2e-3)


def test_between_the_sphere_and_normal_noise_the_sphere_is_bent(monkeypatch):
    spec = LawSpec(4, 1, 1.0, None, "real")
    found = solve([spec], 1.0, 1e-6, 0.12)
    assert found.laws[0].origin == "bent sphere"
    assert composed_advantage(found.laws) <= 0.12
    assert found.epsilon <= 1.0
    monkeypatch.setattr(search, "bent_kinds", lambda specs: iter(()))
    assert found.scale < 0.96 * solve([spec], 1.0, 1e-6, 0.12).scale
    assert not list(bent_kinds([replace(spec, uses=2)]))  # composed they would take seconds
    assert not list(bent_kinds([replace(spec, changes=OneSided())]))


def test_a_design_beyond_its_limits_is_not_taken(monkeypatch):
    spec = LawSpec(1, 1, 1.0, None, "real")
    monkeypatch.setattr(search, "composed_advantage", lambda laws: 0.9)
    assert search._designed_within([spec], 1.0, 1e-6, 0.2) is None

    def refused(*given, **named):
        raise DesignError("no noise")

    monkeypatch.setattr(search, "designed", refused)
    assert search._designed_within([spec], 1.0, 1e-6, 0.2) is None


def shifted_variation(law, change):
    """The total variation of noise on some cells and the same moved by `change`."""
    k = np.arange(-70, 71)
    p, q = np.ones(1), np.ones(1)
    for shift in change:
        p = np.multiply.outer(p, law.pmf(k)).ravel()
        q = np.multiply.outer(q, law.pmf(k - shift)).ravel()
    return 0.5 * float(np.abs(p - q).sum())


def test_rows_that_are_spread_over_groups_keep_the_cap_however_they_are_spread():
    """Up to three rows of a person in ten groups: every way to spread them, written out."""
    free, capped = (mechanism(spread_plans.histogram(3, 2, advantage=cap)) for cap in (None, 0.3))
    law = capped.laws[0]
    assert law.shifts == ((3, 1),)
    assert free.advantage > 0.39
    assert capped.advantage <= 0.3
    assert capped.epsilon <= 1.0
    worst = shifted_variation(law.noise, (3,))
    assert worst <= capped.advantage
    for change in ((1,), (2,), (1, 1), (2, 1), (-2, 1), (1, 1, 1)):
        assert shifted_variation(law.noise, change) <= worst


def test_the_one_view_keeps_a_cap():
    wanted = replace(spread_plans.PLANS["complete"], advantage=0.2)
    found = mechanism(wanted)
    assert found.tables  # measured together, which only the one view allows
    assert found.advantage <= 0.2
    assert found.epsilon <= 1.0


def test_a_cap_that_is_kept_anyway_changes_nothing():
    loose, free = mechanism(plan(*SUMS, cap=0.45)), mechanism(plan(*SUMS))
    assert [one.noise for one in loose.laws] == [one.noise for one in free.laws]


def test_answers_that_move_one_way_get_noise_that_fits_that():
    given = {**VALUES, "lower": 0}
    sums = tuple(Statistic("sum", column=f"c{i}", name=f"c{i}", **given) for i in range(6))
    for cap, origin in ((0.15, "correlated sphere"), (0.09, "correlated Gaussian")):
        found = mechanism(plan(*sums, cap=cap))
        assert found.laws[0].origin == origin
        assert found.advantage <= cap
        assert found.gaussian_factor > 0.98  # than the best correlated Gaussian noise


def test_smaller_draws_count_for_everybody_they_see():
    """Of ten answers in draws of four a person sees three; who moves two sees two of them."""
    for changes, seen in ((BOX, 3), (OneSided(), 3), (OneSided(2), 2)):
        spec = LawSpec(10, 5, 1.0, None, "real", changes)
        cut = [kind(spec, 20.0) for kind in kinds([spec])]
        by_four = [one for one in cut if one.noise.dimension == 4]
        assert [one.uses for one in by_four] == [5 * seen, 5 * seen]
        assert all(one.changes.is_one_sided == changes.is_one_sided for one in by_four)
        alone = [one for one in cut if one.noise.dimension == 1 and one.origin == "Laplace"]
        assert [one.uses for one in alone] == [5 * changes.touched_of(10)]


def test_several_laws_share_a_cap():
    found = mechanism(
        plan(Statistic("count"), Statistic("count", name="heavy", weight=3.0), cap=0.15)
    )
    assert found.advantage <= 0.15
    assert found.epsilon <= 1.0


def test_sigmas_that_are_wanted_are_kept_or_refused():
    kept = mechanism(plan(Statistic("count", sigma=6.0), cap=0.1))
    assert kept.laws[0].noise.std == pytest.approx(6.0, rel=1e-3)
    assert kept.advantage <= 0.1
    with pytest.raises(DesignError, match="No noise within reach leaves an attacker"):
        mechanism(plan(Statistic("count", sigma=6.0), cap=0.02))
    specs = [LawSpec(1, 1, 1.0, 3.0, "real")]
    assert composed_advantage(solve(specs, 2.0, 1e-6, 0.22).laws) <= 0.22


def test_integer_weights_beyond_the_cap_are_refused(monkeypatch):
    monkeypatch.setattr(made_by, "composed_advantage", lambda laws: 0.9)
    with pytest.raises(DesignError, match=r"leaves an attacker an advantage of 0\.9"):
        mechanism(plan(Statistic("count"), cap=0.3))


def test_kinds_that_cannot_be_judged_are_left_out(monkeypatch):
    spec = LawSpec(3, 1, 1.0, None, "real")
    normal = solve([spec], 1.0, 1e-6, 0.05).laws

    def refused(sizes):
        def kind(spec, sigma):
            raise AccountingError("beyond the grid")

        yield kind

    monkeypatch.setattr(search, "kinds", refused)
    assert solve([spec], 1.0, 1e-6, 0.05).laws == normal


@pytest.mark.parametrize("cap", [0.0, 1.0, "0.2", True])
def test_a_cap_is_a_probability(cap):
    with pytest.raises(InvalidParameterError, match="advantage"):
        plan(Statistic("count"), cap=cap)


def test_a_plan_in_toml_has_a_cap_and_plans_without_keep_their_hash():
    told = {"name": "c", "epsilon": 1.0, "relation": "add/remove", "one_row_per_person": True}
    free = plan_from({**told, "statistic": [{"kind": "count"}]})
    capped = plan_from({**told, "advantage": 0.2, "statistic": [{"kind": "count"}]})
    assert (free.advantage, capped.advantage) == (None, 0.2)
    assert "advantage" not in free.describe()
    assert capped.hash != free.hash == replace(capped, advantage=None).hash


def test_what_cannot_be_composed_is_what_epsilon_and_delta_allow(monkeypatch):
    found = mechanism(plan(Statistic("count")))

    def refused(laws):
        raise AccountingError("beyond the grid")

    for name in ("composed_advantage", "composed_curve"):
        monkeypatch.setattr(made_by, name, refused)
    again = replace(found)
    assert again.attacker == promised(found.epsilon, found.delta)
    assert again.advantage == pytest.approx(2.0 * again.attacker.guess - 1.0)
    assert found.attacker.guess <= found.attacker.allowed


def test_a_series_keeps_the_cap_of_a_plan_or_refuses_it():
    class Opened:
        questions, epsilon, delta, dataset = 3, 1.0, 1e-6, None
        noise = mechanism(plan(*SUMS[:3])).laws[0].noise

    wanted = plan(*SUMS[:3], cap=0.9)
    assert series_mechanism(wanted, Opened(), checks=False).advantage <= 0.9
    with pytest.raises(PlanError, match=r"caps the attacker's advantage at 0.1, and the series"):
        series_mechanism(replace(wanted, advantage=0.1), Opened(), checks=False)


# On a table of real patients


def heart(most=10, **more):
    """Means of the heart data, whose number of patients is public."""
    bounds = dict(list(three_sets.BOUNDS["heart"].items())[:most])
    return replace(three_sets.plan("heart", None, bounds=bounds), **more)


def test_a_capped_release_of_the_heart_data():
    free, capped = (release(heart(advantage=cap)) for cap in (None, 0.2))
    assert free.mechanism.advantage > 0.38
    assert capped.mechanism.advantage <= 0.2
    assert capped.epsilon <= 1.05
    ages = [row for row in (*free.rows, *capped.rows) if row.statistic == "age"]
    assert all(abs(row.value - 54.4) < 5 * row.noise_std for row in ages)
    assert 1.2 < ages[1].noise_std / ages[0].noise_std < 1.6
    told = json.loads(capped.to_json())["guarantee"]["attacker"]
    assert told["advantage"] <= told["advantage_allowed"] == 0.2
    assert told["right_guesses"] <= told["right_guesses_allowed"] == 0.6
    assert told["right_guesses_with_gaussian_noise"] < told["right_guesses"]
    page = capped.to_html()
    assert "which caps the advantage at 0.2, allows 60.0 %" in page
    assert "with another person in the place of one given person" in page
    assert "Right guesses, at most" in page
    assert "the promised ε and δ allow 74.1 %" in free.to_html()


def test_a_ledger_refuses_the_release_of_the_heart_data_that_is_one_too_many(tmp_path):
    wanted = heart(1, advantage=0.15, delta=None, dataset="heart")
    with Ledger(tmp_path / "heart.ledger") as ledger:
        ledger.open_dataset("heart", epsilon=5.0, delta=1e-6, advantage=0.18)
        first = release(wanted, ledger=ledger)
        assert first.standing.advantage == 0.18
        assert first.mechanism.advantage <= first.standing.advantage_used <= 0.151
        assert "right guesses, of 59.0 % allowed" in first.to_html()
        with pytest.raises(BudgetExceededError, match="With advantage=") as found:
            release(wanted, ledger=ledger)
        assert found.value.what == "advantage"
        assert ledger.dataset("heart").releases == 1
        advised = float(str(found.value).split("With advantage=")[1].split()[0])
        release(replace(wanted, advantage=advised), ledger=ledger)
        assert ledger.dataset("heart").advantage_used <= 0.18
        assert ledger.check(every_entry=True).ok


def test_nothing_is_said_of_attackers_where_nothing_is_guaranteed():
    from leastnoise.sampling.entropy import InsecureSeededEntropy

    pa = pytest.importorskip("pyarrow")
    seeded = {"entropy": InsecureSeededEntropy(1), "not_private": True}
    done = release(plan(Statistic("count")), table=pa.table({"x": [1, 2]}), **seeded)
    assert json.loads(done.to_json())["guarantee"]["attacker"] is None
    assert "Someone who knows" not in done.to_html()
