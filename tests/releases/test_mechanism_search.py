"""The search for a plan's noise where a way of drawing it cannot be had: the others are taken, or
the reason is told."""

import math

import pytest

pytest.importorskip("ibis")

from leastnoise import DesignError
from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.errors import AccountingError
from leastnoise.laws import classic
from leastnoise.releases.noise import layout, search
from leastnoise.releases.noise import mechanism as made
from leastnoise.releases.noise.layout import LawSpec
from leastnoise.releases.noise.mechanism import mechanism
from leastnoise.releases.noise.search import gaussian_scale
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.statistic import Statistic

BY = {"g": ["a", "b", "c"]}
SUM = Statistic("sum", column="x", lower=0, upper=10, pitch=1, missing="drop", weight=2.0)


def plan(*statistics, epsilon=1.0, **unit):
    return Plan(
        "searched",
        None,
        "add/remove",
        statistics,
        epsilon,
        1e-6,
        **(unit or {"one_row_per_person": True}),
    )


def test_a_sigma_too_small_to_design_for_is_told():
    with pytest.raises(DesignError, match="declare a larger sigma"):
        mechanism(plan(Statistic("count", sigma=1e-4)))


def test_statistics_of_other_weight_have_draws_of_their_own_in_every_grouping():
    """Each class of weights is in one of the two groupings only."""
    unit = {"person": "id", "rows_per_person": 4, "groups_per_person": 2}
    found = mechanism(
        plan(
            Statistic("count", group_by=BY),
            Statistic("count", group_by={"h": ["x", "y"]}, weight=3.0),
            **unit,
        )
    )
    assert sorted(entry for draw in found.draws for entry in draw.entries) == list(
        range(len(found.entries))
    )
    assert found.epsilon <= 1.0
    place = {(entry.block, entry.group): i for i, entry in enumerate(found.entries)}
    assert found.law_of[place[0, 0]].noise.std > 2.0 * found.law_of[place[1, 0]].noise.std


def test_wanted_sigmas_by_group_are_met_by_the_way_that_costs_least():
    found = mechanism(plan(Statistic("count", group_by=BY, sigma=30.0)))
    assert found.epsilon <= 1.0
    assert all(law.noise.std == pytest.approx(30.0, rel=0.01) for law in found.laws)


def test_a_way_that_cannot_be_designed_leaves_the_others(monkeypatch):
    both = {"column": "x", "lower": 0, "upper": 10, "pitch": 1, "missing": 0, "group_by": BY}
    grouped = plan(Statistic("count", group_by=BY), Statistic("sum", **both))
    best = mechanism(grouped)
    solve = search.solve

    def without_the_best(specs, epsilon, delta, cap):
        if any(spec.batch == best.laws[0].noise.dimension for spec in specs):
            raise DesignError("not this one")
        return solve(specs, epsilon, delta, cap)

    def without_any(specs, epsilon, delta, cap):
        raise DesignError("nor any other")

    monkeypatch.setattr(search, "_SHORTLIST", math.inf)
    for module in (search, made):
        monkeypatch.setattr(module, "solve", without_the_best)
    other = mechanism(grouped)
    assert other.laws[0].noise.dimension != best.laws[0].noise.dimension
    assert other.epsilon <= 1.0
    for module in (search, made):
        monkeypatch.setattr(module, "solve", without_any)
    with pytest.raises(DesignError, match="nor any other"):
        mechanism(grouped)


def test_an_estimate_beyond_the_accountant_is_made_from_the_largest_losses(monkeypatch):
    """An estimate only orders the ways to try: it may be rough, but it must be there."""
    specs = (LawSpec(1, 1, 1.0, None, "real"), LawSpec(1, 1, 2.0, None, "real"))
    usual = search._estimate(specs, 1.0, 1e-6)
    epsilon = PrivacyLoss.epsilon

    def refused(loss, delta):
        if len(loss.parts) > 1:
            raise AccountingError("too many grid points")
        return epsilon(loss, delta)

    monkeypatch.setattr(PrivacyLoss, "epsilon", refused)
    assert search._estimate(specs, 1.0, 1e-6) == pytest.approx(usual, rel=0.05)

    def broken(sigma):
        raise ArithmeticError

    monkeypatch.setattr(classic, "laplace", broken)
    assert search._estimate(specs, 1.0, 1e-6) == gaussian_scale(specs, 1.0, 1e-6)


def test_gaussian_noise_where_nothing_else_can_be_designed(monkeypatch):
    def refused(*_):
        raise DesignError("no law")

    monkeypatch.setattr(search, "_common", refused)
    monkeypatch.setattr(layout, "_MOST_UNEQUAL", 1.0)  # each weight has a law of its own
    found = mechanism(plan(Statistic("count"), SUM))
    assert {law.origin for law in found.laws[:-1]} == {"Gaussian"}  # the last is that of the checks
    assert found.epsilon <= 1.0
    monkeypatch.setattr(search, "all_gaussian", lambda *_: None)
    with pytest.raises(DesignError, match="no law"):
        mechanism(plan(Statistic("count"), SUM))


def test_a_search_that_never_gets_within_the_budget_says_so(monkeypatch):
    monkeypatch.setattr(search, "_ROUNDS", 2)
    monkeypatch.setattr(layout, "_MOST_UNEQUAL", 1.0)
    for module in (search, made):
        monkeypatch.setattr(module, "composed_epsilon", lambda laws, delta: 2.0)
    with pytest.raises(DesignError, match="No noise within reach gives epsilon"):
        mechanism(plan(Statistic("count"), SUM))
    with pytest.raises(DesignError, match="more than the 1 allowed"):
        mechanism(plan(Statistic("count")))


def test_the_least_noise_is_taken_where_the_budget_allows_more():
    found = mechanism(plan(Statistic("count"), epsilon=50.0))
    assert found.epsilon <= 50.0
    assert found.laws[0].noise.std < 0.2


def test_what_cannot_be_designed_at_all_says_why(monkeypatch):
    def refused(**_):
        raise DesignError("the designer refuses")

    monkeypatch.setattr(search, "design", refused)
    search.designed.cache_clear()
    with pytest.raises(DesignError, match="the designer refuses"):
        mechanism(plan(Statistic("count")))
    search.designed.cache_clear()
