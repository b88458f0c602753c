"""The filter against an adversary who chooses every law after seeing the answers,
computed exactly."""

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leastnoise import (
    LatticeNoise,
    PrivacyLoss,
    cube,
    discrete_gaussian,
    discrete_laplace,
    epsilon_from_renyi,
    exact,
    gaussian,
    laplace,
)
from leastnoise.errors import InvalidParameterError
from leastnoise.laws.bent_sphere import bent_sphere
from leastnoise.ledger.budget import FAILURES, Budget, declared
from leastnoise.ledger.filter import Charge, charge, filter_epsilon, nothing, tight_epsilon
from leastnoise.ledger.records import Spend
from leastnoise.ledger.stored_laws import loss_as_json, loss_from_json
from leastnoise.losses.table import TableLoss

pytestmark = pytest.mark.portable

RATIO = 0.2  # the losses of the laws below are whole multiples of it


def two_point(multiple):
    """Discrete Laplace noise whose losses are ±multiple·RATIO."""
    loss = multiple * RATIO
    r = math.exp(-loss)
    return LatticeNoise([(1 - r) / (1 + r)], r, domain="integer")


def ending(multiple, failure):
    """A loss of ±multiple·RATIO that is infinite with probability `failure`: a law that ends."""
    loss = multiple * RATIO
    up = (1 - failure) / (1 + math.exp(-loss))
    return TableLoss(np.array([loss, -loss]), np.log([up, up * math.exp(-loss)]), failure)


def worst_adversary(losses, allowed, epsilon):
    """The largest δ at `epsilon` over all ways to choose the next law, or to stop, from the answers
    so far; exact.

    `allowed(counts)` says whether releases with these counts of each law may have been made. A
    state is the counts and the loss in multiples of RATIO; the value is E_P[(1 − e^(ε−L))_+] under
    the best choices from there on.
    """
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
    def value(counts, place):
        best = max(-math.expm1(epsilon - place * RATIO), 0.0) if place * RATIO > epsilon else 0.0
        for k, (infinite, points) in enumerate(tables):
            after = tuple(n + (i == k) for i, n in enumerate(counts))
            if allowed(after):
                best = max(
                    best, infinite + sum(p * value(after, place + move) for p, move in points)
                )
        return best

    return value((0,) * len(losses), 0)


def with_rare_loss(multiple, rare, chance):
    """Losses of ±multiple·RATIO, and with probability `chance` ±rare·RATIO."""
    sizes = np.array([multiple, -multiple, rare, -rare]) * RATIO
    shares = [
        (1 - chance) / (1 + math.exp(-multiple * RATIO)),
        chance / (1 + math.exp(-rare * RATIO)),
    ]
    masses = [
        shares[0],
        shares[0] * math.exp(-multiple * RATIO),
        shares[1],
        shares[1] * math.exp(-rare * RATIO),
    ]
    return TableLoss(sizes, np.log(masses))


def filter_rule(losses, budget, spare=0.0):
    charges = [charge(loss, budget, spare=spare) for loss in losses]

    def spent(counts):
        total = nothing(budget)
        for one, n in zip(charges, counts, strict=True):
            total = total.plus(one.times(n)) if n else total
        return filter_epsilon(total, budget)

    @cache
    def allowed(counts):
        if spent(counts) <= budget.epsilon:
            return True
        first = sum(counts) == 1  # the single release, by its tight epsilon
        return (
            first and tight_epsilon([(losses[counts.index(1)], 1)], budget.delta) <= budget.epsilon
        )

    return allowed


@pytest.mark.parametrize("orders", [None, (3.0,), (12.0,), (2.0, 5.0, 20.0, 80.0)])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.05), (2.0, 0.01), (2.0, 1e-4), (4.0, 1e-3)])
def test_no_adversary_beats_the_filter(epsilon, delta, orders):
    losses = [two_point(k).loss(1.0) for k in (1, 2, 4)]
    budget = declared(epsilon, delta, orders=orders)
    worst = worst_adversary(losses, filter_rule(losses, budget), epsilon)
    assert worst <= delta
    if orders is None and delta > 1e-4:  # there simple sums alone are within the budget
        assert worst > 0.01 * delta


def test_no_adversary_beats_the_filter_with_laws_that_end():
    epsilon, delta = 1.5, 0.01
    losses = [ending(1, 2e-6), ending(2, 5e-6), ending(6, 2e-5)]
    budget = declared(epsilon, delta)
    rule = filter_rule(losses, budget)
    assert rule((1, 0, 0))
    worst = worst_adversary(losses, rule, epsilon)
    assert 1e-5 < worst <= delta


@pytest.mark.parametrize("spare", [0.0, 3e-5])
def test_no_adversary_beats_the_filter_when_rare_losses_count_as_failures(spare):
    epsilon, delta = 1.0, 0.01
    losses = [with_rare_loss(1, 20, 1e-5), with_rare_loss(2, 15, 2e-5)]
    rule = filter_rule(losses, declared(epsilon, delta), spare)
    assert rule((5, 0)) == (spare > 0.0)  # five times 0.2, once the rare losses are set aside
    worst = worst_adversary(losses, rule, epsilon)
    assert 1e-6 < worst <= delta


def test_trimming_moves_mass_to_the_failures_and_nothing_else():
    loss, budget = with_rare_loss(1, 20, 1e-5), declared(1.0, 0.01)
    plain, trimmed = charge(loss, budget), charge(loss, budget, spare=1e-5)
    assert plain.largest > 4.0 > 0.2001 > trimmed.largest > 0.2
    assert plain.failure == 0.0
    assert trimmed.failure == pytest.approx(1e-5 / (1 + math.exp(-4.0)), rel=1e-6)
    assert trimmed.failure >= 1e-5 / (1 + math.exp(-4.0))
    assert all(a < b for a, b in zip(trimmed.renyi, plain.renyi, strict=True))
    assert charge(loss, budget, spare=0.9e-5) == plain  # the rare loss does not fit


def test_foreign_tables_are_charged_for_the_mass_they_leave_out():
    """Losses rounded up to a grid: the second data set keeps less than all its mass, and
    E_P[e^((α−1)L)] says what it costs."""
    raised = TableLoss(np.array([0.1003, -0.0997]), np.log([0.525, 0.475]))
    budget = declared(1.0, 1e-6)
    for order, ours, foreign in zip(
        budget.orders,
        charge(raised, budget).renyi,
        charge(raised, budget, foreign=True).renyi,
        strict=True,
    ):
        exactly = math.log(
            0.525 * math.exp((order - 1) * 0.1003) + 0.475 * math.exp(-(order - 1) * 0.0997)
        ) / (order - 1)
        assert exactly <= foreign <= exactly * (1 + 1e-9) + 1e-12
        assert ours < exactly or order > 100  # why it is needed


def test_tight_composition_is_beaten_by_an_adversary_who_chooses_laws_late():
    """Why the adaptive rule exists: every sequence of laws that is allowed has tight ε within the
    budget, and yet δ is exceeded."""
    epsilon, delta = 1.0, 0.05
    losses = [two_point(k).loss(1.0) for k in (1, 2, 4)]

    @cache
    def allowed(counts):
        return (
            tight_epsilon([(loss, n) for loss, n in zip(losses, counts, strict=True) if n], delta)
            <= epsilon
        )

    assert worst_adversary(losses, allowed, epsilon) > 1.02 * delta


def test_tight_composition_holds_when_the_laws_are_fixed_in_advance():
    epsilon, delta = 1.0, 0.05
    losses = [two_point(k).loss(1.0) for k in (1, 2, 4)]
    order = [0, 1, 0, 2, 0, 0]
    prefixes = {tuple(order[:n].count(k) for k in range(3)) for n in range(len(order) + 1)}
    fitting = {
        counts
        for counts in prefixes
        if tight_epsilon([(loss, n) for loss, n in zip(losses, counts, strict=True) if n], delta)
        <= epsilon
    }
    assert worst_adversary(losses, fitting.__contains__, epsilon) <= delta * (1 + 1e-9)


@given(order=st.floats(1.05, 500.0), rho=st.floats(1e-4, 3.0), log_delta=st.floats(-30.0, -1.0))
def test_one_order_is_the_plain_filter_with_the_improved_conversion(order, rho, log_delta):
    delta = math.exp(log_delta)
    budget = declared(1.0, delta, orders=[order])
    known = epsilon_from_renyi(rho, order, (1 - FAILURES) * delta)
    assert filter_epsilon(Charge((rho,), math.inf, 0.0), budget) == pytest.approx(
        known, rel=1e-9, abs=1e-9
    )


@given(
    renyi=st.lists(st.floats(0.0, 5.0), min_size=6, max_size=6),
    more=st.lists(st.floats(0.0, 1.0), min_size=6, max_size=6),
    largest=st.floats(0.01, 20.0),
)
def test_more_releases_never_cost_less_and_never_more_than_the_sum_of_the_largest_losses(
    renyi, more, largest
):
    budget = declared(1.0, 1e-6)
    before = Charge(tuple(renyi), largest, 0.0)
    after = before.plus(Charge(tuple(more), 0.5, 0.0))
    assert filter_epsilon(before, budget) <= filter_epsilon(after, budget) + 1e-12
    assert filter_epsilon(before, budget) <= largest * (1 + 1e-12) + 2e-13


@pytest.mark.parametrize("sizes", [(0.3, 1.0), (1e-3, 1e-3), (2.0, 9.0)])
def test_the_filter_is_the_maximum_it_claims_to_be(sizes):
    """Against the definition on a grid: 1 − e^(ε−ℓ) ≤ δ M(ℓ) for all ℓ ≤ R_∞ at ε, and not at a
    smaller ε."""
    budget = declared(1.0, 1e-5)
    renyi = np.linspace(*sizes, len(budget.orders))
    largest = 3.0 * sizes[1]
    epsilon = filter_epsilon(Charge(tuple(renyi), largest, 0.0), budget)
    grid = np.linspace(0.0, largest, 200_001)
    rates, weights = np.array(budget.orders) - 1.0, np.array(budget.weights)
    log_m = np.logaddexp.reduce(
        np.log(weights)[:, None] + rates[:, None] * (grid - renyi[:, None]), axis=0
    )
    room = (1 - FAILURES) * budget.delta * np.exp(np.minimum(log_m, 100.0))
    assert np.all(-np.expm1(epsilon - grid) <= room + 1e-15)
    assert np.any(-np.expm1(epsilon * (1 - 1e-6) - 1e-9 - grid) > room)


@pytest.mark.parametrize(
    ("law", "n"),
    [(gaussian(8.0), 10), (laplace(8.0), 10), (laplace(60.0), 200), (discrete_gaussian(8.0), 10)],
)
def test_the_filter_lies_above_tight_composition_but_not_far(law, n):
    loss = law.loss(1.0)
    tight = PrivacyLoss.of(law, 1.0).compose(n).epsilon(1e-6)
    budget = declared(tight, 1e-6)
    filtered = filter_epsilon(charge(loss, budget).times(n), budget)
    assert tight <= filtered <= 1.1 * tight


def test_laws_that_end_are_charged_to_delta_and_cost_no_epsilon():
    law = discrete_gaussian(8.0)
    ended = exact(law, delta=1e-6, compositions=10)
    budget = declared(2.0, 1e-6)
    one, two = (charge(noise.loss(1.0), budget) for noise in (law, ended))
    assert one.failure == 0.0
    assert 0.0 < two.failure < 1e-3 * budget.delta * FAILURES
    assert filter_epsilon(two.times(10), budget) == pytest.approx(
        filter_epsilon(one.times(10), budget), rel=1e-4
    )
    assert (
        filter_epsilon(Charge(two.renyi, two.largest, 1.01 * FAILURES * budget.delta), budget)
        == math.inf
    )


def test_joint_laws_with_empty_centre_are_charged_for_it():
    law = exact(cube(30.0, 40), delta=1e-6)
    loss = law.loss(1.0)
    budget = declared(3.0, 1e-6)
    assert charge(loss, budget).failure >= loss.infinite + loss.deviation * (1 + math.exp(3.0))
    assert math.isfinite(filter_epsilon(charge(loss, budget), budget))


def test_a_law_that_rises_counts_at_its_worst_shift():
    comb = LatticeNoise.from_weights([0.3, 0.02, 0.4, 0.02], 0.5, domain="integer")
    budget = declared(4.0, 1e-4)
    worst, shifts = charge(comb.loss(2.0), budget), comb.loss(2.0).tables
    for table in shifts:
        alone = charge(table, budget)
        assert all(a <= b for a, b in zip(alone.renyi, worst.renyi, strict=True))


def test_nothing_costs_nothing():
    budget = declared(1.0, 1e-6)
    assert filter_epsilon(nothing(budget), budget) == 0.0
    assert tight_epsilon([], 1e-6) == 0.0


@pytest.mark.parametrize("epsilon", [1e-4, 0.01, 1.0, 30.0, 1e4])
@pytest.mark.parametrize("delta", [0.3, 1e-6, 1e-300])
def test_every_budget_has_a_filter(epsilon, delta):
    budget = declared(epsilon, delta)
    assert all(1.0 < order < math.inf for order in budget.orders)
    assert math.fsum(budget.weights) <= 1.0
    small = charge(laplace(1e3 / epsilon).loss(1.0), budget)
    assert 0.0 <= filter_epsilon(small, budget) <= epsilon


@pytest.mark.parametrize(
    "arguments",
    [
        {"epsilon": 0.0},
        {"epsilon": math.inf},
        {"delta": 0.0},
        {"delta": 1.0},
        {"rule": "loose"},
        {"orders": ()},
        {"orders": (1.0,)},
        {"orders": (math.nan,)},
        {"rule": "fixed in advance", "orders": (2.0,)},
    ],
    ids=str,
)
def test_odd_budgets_are_refused(arguments):
    with pytest.raises(InvalidParameterError):
        declared(**{"epsilon": 1.0, "delta": 1e-6, **arguments})


def test_weights_above_one_are_refused():
    with pytest.raises(InvalidParameterError, match="sum of at most 1"):
        Budget(1.0, 1e-6, "adaptive", (2.0, 3.0), (0.6, 0.6))


@pytest.mark.parametrize(
    "arguments",
    [
        ("laplace", 1.0, 1),
        (discrete_laplace(3.0), 0.0, 1),
        (discrete_laplace(3.0), 1.0, 0),
        (discrete_laplace(3.0), 1.0, 1.5),
    ],
)
def test_odd_spends_are_refused(arguments):
    with pytest.raises(InvalidParameterError):
        Spend(*arguments)


def test_loss_error_counts_in_the_largest_loss():
    table = TableLoss(
        np.array([-1.0, 1.0]), np.log(np.array([1, math.e]) / (1 + math.e)), loss_error=0.5
    )
    assert charge(table, declared(3.0, 1e-6), foreign=True).largest >= 1.5


def test_mass_that_a_foreign_table_lacks_is_charged_however_little_it_is():
    """Half of 1e-12 was taken for rounding; a budget of δ = 1e-11 sets aside as much."""
    missing = 5e-13
    table = TableLoss(
        np.array([0.1, -0.1]),
        np.log(np.array([1, math.exp(-0.1)]) / (1 + math.exp(-0.1)) * (1 - missing)),
    )
    kept = loss_from_json(loss_as_json(table))
    budget = declared(1.0, 1e-11)
    assert charge(kept, budget, foreign=True).failure >= 0.99 * missing
    assert filter_epsilon(charge(kept, budget, foreign=True).times(2), budget) == math.inf
    whole = TableLoss(
        np.array([0.1, -0.1]), np.log(np.array([1, math.exp(-0.1)]) / (1 + math.exp(-0.1)))
    )
    assert charge(loss_from_json(loss_as_json(whole)), budget, foreign=True).failure == 0.0


def test_the_rounding_of_probabilities_counts_in_the_divergence():
    """Probabilities known to 1e-6 only: each may be that much larger, and so may the divergence."""
    sizes, masses = np.array([0.4, -0.4]), np.array([1, math.exp(-0.4)]) / (1 + math.exp(-0.4))
    budget = declared(1.0, 1e-6)
    sure, unsure = (
        charge(TableLoss(sizes, np.log(masses), mass_error=error), budget) for error in (0.0, 1e-6)
    )
    for order, known, bound in zip(budget.orders, sure.renyi, unsure.renyi, strict=True):
        excess = math.expm1((order - 1) * known)
        assert bound >= math.log1p(excess * (1 + 0.999e-6)) / (order - 1)


@pytest.mark.parametrize("failure", [math.nan, math.inf])
def test_a_charge_that_is_no_number_is_never_within_the_budget(failure):
    budget = declared(1.0, 1e-6)
    assert filter_epsilon(Charge((0.0,) * len(budget.orders), 0.1, failure), budget) == math.inf


def test_the_distance_of_a_law_judged_by_another_is_charged_at_any_epsilon():
    table = TableLoss(np.array([0.1, -0.1]), np.log([0.525, 0.475]), deviation=1e-320)
    assert charge(table, declared(1000.0, 1e-6)).failure == math.inf  # e^1000 times it
    assert charge(table, declared(1.0, 1e-6)).failure > 0.0


def test_losses_that_are_no_losses():
    with pytest.raises(ValueError, match="unknown form of loss 'cloud'"):
        loss_from_json({"form": "cloud", "tables": []})
    for loss in (TableLoss(np.zeros(2), np.zeros(1)), TableLoss(np.zeros(0), np.zeros(0))):
        with pytest.raises(InvalidParameterError, match="values: take a larger interval"):
            loss_as_json(loss)


def test_a_bent_sphere_is_charged_by_its_table():
    """At the exponent 2 it is normal noise, whose divergence of order α is α·μ²/2."""
    budget = declared(1.0, 1e-6)
    bent, mu = bent_sphere(20.0, 4, 4).loss(1.0), 2.0 / 20.0
    found = charge(bent, budget)
    assert found.failure == pytest.approx(bent.table(1.0, 0.0, 1.0).infinite)
    assert 0.0 < found.failure < 1e-20
    for order, divergence in zip(budget.orders, found.renyi, strict=True):
        if order < 30.0:
            assert 0.5 * order * mu**2 <= divergence < 0.51 * order * mu**2
        assert math.isfinite(divergence)
