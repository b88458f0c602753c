"""Laws in the real dp-accounting, and its losses in ours."""

import math

import numpy as np
import pytest

from leastnoise import (
    PrivacyLoss,
    cube,
    design,
    discrete_gaussian,
    discrete_laplace,
    exact,
    gaussian,
    laplace,
    sphere,
    staircase,
)
from leastnoise.errors import InvalidFileError, InvalidParameterError, UnsupportedError
from leastnoise.interop import dp_accounting as adapter
from leastnoise.laws.lattice import LatticeNoise

MISSING = "dp-accounting is not installed: pip install 'leastnoise[dp-accounting]'"
dp_accounting = pytest.importorskip("dp_accounting", reason=MISSING)
pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")

DELTA = 1e-6


@pytest.fixture(scope="module")
def batch():
    return design(delta=DELTA, sigma=8.0, batch=10)


LAWS = {
    "Gaussian": gaussian(8.0),
    "Laplace": laplace(8.0),
    "Staircase": staircase(8.0),
    "discrete Gaussian": discrete_gaussian(8.0),
    "discrete Laplace": discrete_laplace(8.0),
    "cube": cube(8.0, 5),
    "ball": sphere(8.0, 10),
    "exact": exact(discrete_laplace(4.0), delta=DELTA),
    "comb": LatticeNoise.from_weights([1.0, 0.4, 0.9, 0.3, 0.5], 0.9),
}


@pytest.mark.parametrize("name", LAWS)
def test_profile_of_the_distribution_is_pessimistic_and_close(name):
    interval = 1e-3
    loss = PrivacyLoss.of(LAWS[name])
    theirs = adapter.to_pld(LAWS[name], interval=interval)
    top = min(loss.parts[0][0].largest, 1.5)
    for epsilon in np.linspace(0.0, 0.98 * top, 9):
        found = theirs.get_delta_for_epsilon(float(epsilon))
        assert found >= loss.delta_bounds(float(epsilon)).lower * (1 - 1e-9)
        assert found <= loss.delta(max(float(epsilon) - 2 * interval, 0.0)) * (1 + 1e-6) + 1e-14


def test_their_gaussian_and_laplace_are_ours():
    for theirs, ours in [
        (pld.from_gaussian_mechanism(3.0, use_connect_dots=True), gaussian(3.0)),
        (pld.from_laplace_mechanism(3.0, use_connect_dots=True), laplace(3.0 * math.sqrt(2.0))),
        (pld.from_discrete_laplace_mechanism(0.5, use_connect_dots=True), discrete_laplace_of(0.5)),
    ]:
        expected = theirs.self_compose(5).get_epsilon_for_delta(DELTA)
        assert adapter.to_pld(PrivacyLoss.of(ours).compose(5)).get_epsilon_for_delta(
            DELTA
        ) == pytest.approx(expected, rel=1e-4)
        assert adapter.from_pld(theirs).compose(5).epsilon(DELTA) == pytest.approx(
            expected, rel=1e-4
        )


def discrete_laplace_of(parameter):
    return LatticeNoise.from_weights([1.0], math.exp(-parameter), domain="integer")


def test_a_budget_of_two_gaussians_and_a_batch(batch):
    """One number by five ways: their distributions, their events, our loss, their loss in ours,
    both directions."""
    theirs = pld.from_gaussian_mechanism(5.0, use_connect_dots=True)
    event = dp_accounting.ComposedDpEvent(
        [
            dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(5.0), 2),
            dp_accounting.ComposedDpEvent([dp_accounting.NoOpDpEvent(), adapter.dp_event(batch)]),
        ]
    )
    ours = (
        PrivacyLoss.of(gaussian(5.0)).compose(2).compose(PrivacyLoss.of(batch.noise)).epsilon(DELTA)
    )
    found = [
        theirs.self_compose(2).compose(adapter.to_pld(batch)).get_epsilon_for_delta(DELTA),
        adapter.accountant().compose(event).get_epsilon(DELTA),
        adapter.from_pld(theirs).compose(2).compose(PrivacyLoss.of(batch.noise)).epsilon(DELTA),
        adapter.both_directions(theirs)
        .compose(2)
        .compose(PrivacyLoss.of(batch.noise))
        .epsilon(DELTA),
    ]
    assert found == pytest.approx([ours] * 4, rel=1e-4)
    alone = PrivacyLoss.of(gaussian(5.0)).compose(2).epsilon(DELTA)
    assert max(alone, batch.epsilon) < ours < alone + batch.epsilon


def test_design_stands_for_its_whole_use():
    best = design(delta=DELTA, sigma=8.0, compositions=10)
    assert adapter.to_pld(best).get_epsilon_for_delta(DELTA) == pytest.approx(
        best.epsilon, rel=1e-4
    )
    event = adapter.dp_event(best)
    assert isinstance(event, dp_accounting.SelfComposedDpEvent)
    assert event.count == 10
    assert adapter.accountant().compose(event).get_epsilon(DELTA) == pytest.approx(
        best.epsilon, rel=1e-4
    )


def test_asymmetric_losses_are_composed_in_both_directions(batch):
    sampled = pld.from_gaussian_mechanism(1.0, sampling_prob=0.1, use_connect_dots=True)
    ten = sampled.self_compose(10)
    assert adapter.both_directions(sampled).compose(10).epsilon(DELTA) == pytest.approx(
        ten.get_epsilon_for_delta(DELTA), rel=1e-4
    )
    expected = ten.compose(adapter.to_pld(batch)).get_epsilon_for_delta(DELTA)
    mixed = adapter.both_directions(sampled).compose(10).compose(PrivacyLoss.of(batch.noise))
    assert mixed.epsilon(DELTA) == pytest.approx(expected, rel=1e-4)
    assert mixed.delta(expected) == pytest.approx(DELTA, rel=1e-3)
    bounds = mixed.epsilon_bounds(DELTA)
    assert bounds.lower <= expected <= bounds.upper * (1 + 1e-4)
    assert mixed.delta_bounds(expected).lower <= DELTA * 1.01
    # One loss for both directions: never below, and close.
    single = adapter.from_pld(sampled).compose(10).epsilon(DELTA)
    assert (
        ten.get_epsilon_for_delta(DELTA) * (1 - 1e-6)
        <= single
        <= 1.05 * ten.get_epsilon_for_delta(DELTA)
    )
    # The direction that is worse is the one that counts.
    ways = adapter.both_directions(sampled).compose(10)
    assert ways.epsilon(DELTA) == max(ways.remove.epsilon(DELTA), ways.add.epsilon(DELTA))
    assert ways.remove.epsilon(DELTA) != pytest.approx(ways.add.epsilon(DELTA), rel=1e-2)
    assert adapter.both_directions(sampled).compose(adapter.both_directions(sampled)).epsilon(
        DELTA
    ) == pytest.approx(adapter.both_directions(sampled).compose(2).epsilon(DELTA), rel=1e-4)


def test_mass_at_infinity_survives_both_ways():
    there = adapter.to_pld(LatticeNoise.from_weights([1.0, 1.0], None))
    back = adapter.from_pld(there)
    assert back.epsilon(0.2) == math.inf
    assert back.delta(0.0) == pytest.approx(1 / 3, rel=1e-9)
    nothing = adapter.to_pld(LatticeNoise.from_weights([1.0], None))
    assert nothing.get_delta_for_epsilon(5.0) == 1.0
    assert adapter.from_pld(nothing).delta(5.0) == 1.0
    # ε and δ of a mechanism known by its parameters only.
    known = adapter.from_pld(
        pld.from_privacy_parameters(
            dp_accounting.pld.common.DifferentialPrivacyParameters(1.0, 1e-3)
        )
    )
    assert known.epsilon(1e-3 * (1 + 1e-9)) == pytest.approx(1.0, rel=1e-3)


def test_few_losses_on_a_very_fine_grid():
    """Laid out one by one these would be two billion intervals."""
    known = dp_accounting.pld.common.DifferentialPrivacyParameters(1.0, 1e-9)
    theirs = pld.from_privacy_parameters(known, value_discretization_interval=1e-9)
    assert adapter.from_pld(theirs).epsilon(DELTA) == pytest.approx(
        theirs.get_epsilon_for_delta(DELTA), rel=1e-9
    )
    assert adapter.from_pld(theirs).compose(3).epsilon(DELTA) == pytest.approx(3.0, rel=1e-4)


def test_event_is_comparable_and_survives_serialisation(batch):
    event = adapter.dp_event(batch)
    assert event == adapter.dp_event(batch.noise)
    assert event != adapter.dp_event(batch.noise, sensitivity=2.0)
    assert dp_accounting.DpEvent.from_named_tuple(event.to_named_tuple()) == event
    assert isinstance(event, adapter.LeastNoiseDpEvent)
    assert len(repr(event)) < 100
    account = adapter.accountant().compose(event).compose(event)
    assert account.ledger == dp_accounting.SelfComposedDpEvent(event, 2)


def test_replacing_a_person_is_twice_the_distance():
    event = adapter.dp_event(laplace(10.0))
    replaced = (
        adapter.accountant(dp_accounting.NeighboringRelation.REPLACE_ONE)
        .compose(event, 3)
        .get_epsilon(DELTA)
    )
    assert replaced == pytest.approx(
        PrivacyLoss.of(laplace(10.0), 2.0).compose(3).epsilon(DELTA), rel=1e-4
    )


def test_relation_must_be_theirs():
    """dp-accounting takes any object; the text "REPLACE_ONE" would be accounted at half the
    distance."""
    with pytest.raises(InvalidParameterError, match="neighboring_relation"):
        adapter.accountant("REPLACE_ONE")


@pytest.mark.parametrize("sigma", [300.0, 3000.0, 1e5])
def test_losses_narrower_than_the_interval(sigma):
    ours = PrivacyLoss.of(gaussian(sigma))
    theirs = adapter.to_pld(gaussian(sigma))
    assert theirs.get_delta_for_epsilon(0.0) == pytest.approx(ours.delta(0.0), rel=1e-6)
    assert (
        theirs.self_compose(100).get_epsilon_for_delta(DELTA)
        >= ours.compose(100).epsilon_bounds(DELTA).lower
    )
    assert adapter.accountant().compose(adapter.dp_event(gaussian(sigma))).get_epsilon(
        DELTA
    ) >= ours.epsilon(DELTA) * (1 - 1e-6)


def test_replacing_a_person_who_touches_some_answers_is_refused():
    """A heavy tail is worse moved twice by 1 (ε = 5.99) than once by 2 (4.58): twice as far does
    not cover twice as many."""
    k = np.arange(2000)
    heavy = LatticeNoise.from_weights((1.0 + (k / 0.3) ** 2) ** -1.2, 0.999, domain="integer")
    assert PrivacyLoss.of(heavy, 2.0).epsilon(DELTA) < 0.8 * PrivacyLoss.of(heavy).compose(
        2
    ).epsilon(DELTA)
    event = adapter.dp_event(design(delta=DELTA, sigma=8.0, batch=10, touched=2, domain="integer"))
    assert adapter.accountant().supports(event)
    assert dp_accounting.DpEvent.from_named_tuple(event.to_named_tuple()) == event
    with pytest.raises(dp_accounting.UnsupportedEventError, match="twice as many"):
        adapter.accountant(dp_accounting.NeighboringRelation.REPLACE_ONE).compose(event)


def test_other_events_are_theirs(batch):
    account = adapter.accountant()
    assert account.supports(dp_accounting.LaplaceDpEvent(1.0))
    assert not account.supports(dp_accounting.UnsupportedDpEvent())
    with pytest.raises(dp_accounting.UnsupportedEventError, match="PoissonSampled"):
        account.compose(dp_accounting.PoissonSampledDpEvent(0.1, adapter.dp_event(batch)))
    plain = dp_accounting.pld.PLDAccountant()
    assert not plain.supports(adapter.dp_event(batch))


def test_event_that_cannot_be_judged_is_unsupported():
    event = adapter.dp_event(staircase(3.0), sensitivity=0.333)
    assert not adapter.accountant().supports(event)
    with pytest.raises(dp_accounting.UnsupportedEventError, match="whole number of times"):
        adapter.accountant().compose(event)


def test_wrong_use_is_refused(batch):
    with pytest.raises(InvalidParameterError, match="law"):
        adapter.to_pld("gaussian")
    with pytest.raises(InvalidParameterError, match="law"):
        adapter.dp_event("gaussian")
    with pytest.raises(InvalidParameterError, match="interval"):
        adapter.to_pld(batch, interval=0.0)
    with pytest.raises(InvalidParameterError, match="sensitivity"):
        adapter.to_pld(PrivacyLoss.of(batch.noise), sensitivity=2.0)
    with pytest.raises(UnsupportedError, match="larger interval"):
        adapter.to_pld(gaussian(1e-3), interval=1e-5)
    with pytest.raises(InvalidParameterError, match="PrivacyLossDistribution"):
        adapter.from_pld(batch)
    with pytest.raises(UnsupportedError, match="optimistic"):
        adapter.from_pld(pld.from_gaussian_mechanism(1.0, pessimistic_estimate=False))
    with pytest.raises(InvalidFileError, match="law"):
        adapter.LeastNoiseDpEvent(b"{}")
    with pytest.raises(InvalidParameterError, match="sensitivity"):
        adapter.LeastNoiseDpEvent(adapter.dp_event(batch).law, -1.0)
    with pytest.raises(ValueError, match="iscretization"):
        adapter.to_pld(batch, interval=1e-3).compose(pld.from_gaussian_mechanism(1.0))
    with pytest.raises(AttributeError):
        _ = adapter.Nothing
