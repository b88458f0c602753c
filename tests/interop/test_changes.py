"""Designs for less than the whole box of changes in other libraries: judged for their own space,
for a larger one, or refused; never for a smaller one."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from leastnoise import (
    Box,
    Euclidean,
    OneSided,
    PrivacyLoss,
    correlated,
    cube,
    design,
    laplace,
    sphere,
)
from leastnoise.designer.result import artefact_of
from leastnoise.errors import InvalidFileError, InvalidParameterError, UnsupportedError
from leastnoise.interop.distance import loss_at, loss_at_length
from leastnoise.laws.correlated import normal

DELTA = 1e-6


@pytest.fixture(scope="module")
def ranged():
    return design(delta=DELTA, sigma=8.0, batch=10, changes=OneSided())


@pytest.fixture(scope="module")
def one_sided():
    return design(delta=DELTA, sigma=16.0, batch=40, changes=OneSided())


@pytest.fixture(scope="module")
def length():
    return design(delta=DELTA, sigma=8.0, batch=20, changes=Euclidean(2.0))


@pytest.fixture(scope="module")
def touched():
    return design(delta=DELTA, sigma=20.0, batch=60, touched=30)


def test_the_designs_are_of_the_kinds_meant(ranged, one_sided, length, touched):
    assert [best.noise.kind for best in (ranged, one_sided, length, touched)] == [
        *("norm", "correlated", "ball", "ball")
    ]


# What a distance says


def test_a_distance_bounds_changes_of_any_signs(ranged, one_sided):
    with pytest.raises(UnsupportedError, match="all up or all down: judge it for OneSided"):
        loss_at(ranged.noise, Fraction(1))
    box = PrivacyLoss.of(one_sided.noise).epsilon(DELTA)
    assert PrivacyLoss(((loss_at(one_sided.noise, Fraction(1)), 1),)).epsilon(DELTA) == box
    assert box > 1.2 * one_sided.epsilon


@pytest.mark.parametrize("law", [sphere(8.0, 20), normal(8.0, 20), correlated(8.0, 20)])
def test_a_length_is_judged_by_itself(law):
    for r in (Fraction(1, 3), Fraction(2), Fraction(7, 2)):
        found = PrivacyLoss(((loss_at_length(law, r), 1),)).epsilon(DELTA)
        own = PrivacyLoss.of(law, 1.0, Euclidean(float(r))).epsilon(DELTA)
        assert found == pytest.approx(own, rel=1e-9)
        assert found < PrivacyLoss.of(law, float(r)).epsilon(DELTA)
    assert loss_at_length(law, Fraction(0)) is loss_at(law, Fraction(0))
    assert loss_at_length(law, Fraction(10) ** 400).infinite == 1.0


def test_a_length_that_is_no_float_is_rounded_up():
    law, third = sphere(8.0, 20), Fraction(1, 3)
    below = float(third)  # a little less than a third
    assert below < third
    at_least = PrivacyLoss.of(law, math.nextafter(below, 1.0), Euclidean(1.0)).epsilon(DELTA)
    assert PrivacyLoss(((loss_at_length(law, third), 1),)).epsilon(DELTA) == at_least


@pytest.mark.parametrize("law", [laplace(8.0), cube(8.0, 4), sphere(8.0, 4, domain="integer")])
def test_what_no_length_is_known_for_is_judged_for_the_farthest_answer(law):
    if law.exponent is not None:
        with pytest.raises(UnsupportedError):
            loss_at_length(law, Fraction(1))
        return
    found, farthest = loss_at_length(law, Fraction(2)), loss_at(law, Fraction(2))
    assert float(found.profile(0.5)) == float(farthest.profile(0.5)) > 0.0


# OpenDP


@pytest.fixture
def opendp():
    pytest.importorskip("opendp.prelude", reason="OpenDP is not installed")
    from leastnoise.interop import opendp as adapter

    adapter.enable()
    return adapter


def space(count: int, metric: str):
    import opendp.prelude as dp

    atom = dp.atom_domain(T="f64", nan=False)
    metrics = {"l1": dp.l1_distance, "l2": dp.l2_distance, "linf": dp.linf_distance}
    return dp.vector_domain(atom, size=count), metrics[metric](T="f64")


@pytest.mark.parametrize("measure", ["approximate", "renyi"])
def test_noise_for_one_sided_changes_alone_is_refused_when_it_is_made(opendp, ranged, measure):
    for law in (ranged, artefact_of(ranged), ranged.noise):
        given = {"delta": DELTA} if law is ranged.noise else {}
        with pytest.raises(UnsupportedError, match="all up or all down"):
            opendp.measurement(law, measure=measure, **given)


def test_correlated_noise_is_judged_for_the_box(opendp, one_sided):
    epsilon, delta = opendp.measurement(one_sided).map(1.0)
    assert delta == DELTA
    assert epsilon == pytest.approx(PrivacyLoss.of(one_sided.noise).epsilon(DELTA), rel=1e-6)
    assert len(opendp.measurement(one_sided)([0.0] * 40)) == 40


def test_a_design_for_a_length_keeps_its_guarantee_in_the_l2_distance(opendp, length):
    for law in (length, artefact_of(length)):
        in_l2 = opendp.make_leastnoise(*space(20, "l2"), law)
        epsilon, delta = in_l2.map(2.0)
        assert delta == DELTA
        assert length.epsilon_lower <= epsilon <= length.epsilon * (1 + 1e-6)
    for metric in ("l1", "linf"):
        wider = opendp.make_leastnoise(*space(20, metric), length).map(2.0)[0]
        box = PrivacyLoss.of(length.noise, 2.0).epsilon(DELTA)
        assert wider == pytest.approx(box, rel=1e-6)


def test_touched_answers_are_judged_for_the_box(opendp, touched):
    """A distance does not say how many answers one person touches."""
    epsilon, _ = opendp.measurement(touched).map(1.0)
    assert epsilon == pytest.approx(PrivacyLoss.of(touched.noise).epsilon(DELTA), rel=1e-6)
    assert epsilon > touched.epsilon


# dp-accounting


@pytest.fixture
def adapter():
    pytest.importorskip("dp_accounting", reason="dp-accounting is not installed")
    from leastnoise.interop import dp_accounting

    return dp_accounting


@pytest.fixture(params=["ranged", "one_sided", "length", "touched"])
def best(request):
    return request.getfixturevalue(request.param)


def test_a_distribution_is_that_of_the_design(adapter, best):
    found = adapter.to_pld(best).get_epsilon_for_delta(DELTA)
    assert best.epsilon_lower * (1 - 1e-9) <= found
    assert found == pytest.approx(best.epsilon, rel=2e-3)
    account = adapter.accountant().compose(adapter.dp_event(best))
    assert account.get_epsilon(DELTA) == pytest.approx(found, rel=1e-9)


def test_an_event_carries_the_space_and_comes_back(adapter, best):
    import dp_accounting

    event = adapter.dp_event(best)
    assert dp_accounting.DpEvent.from_named_tuple(event.to_named_tuple()) == event
    bare = adapter.dp_event(best.noise, changes=best.changes)
    assert bare == event
    assert adapter.dp_event(best.noise) != event
    assert adapter.to_pld(best.noise, changes=best.changes).get_epsilon_for_delta(
        DELTA
    ) == adapter.to_pld(best).get_epsilon_for_delta(DELTA)


def test_replacing_a_person_is_judged_or_refused(adapter, ranged, one_sided, length, touched):
    import dp_accounting

    def replaced(best):
        account = adapter.accountant(dp_accounting.NeighboringRelation.REPLACE_ONE)
        return account.compose(adapter.dp_event(best)).get_epsilon(DELTA)

    for best in (ranged, one_sided):
        with pytest.raises(dp_accounting.UnsupportedEventError, match="others down"):
            replaced(best)
    with pytest.raises(dp_accounting.UnsupportedEventError, match="twice as many"):
        replaced(touched)
    twice = PrivacyLoss.of(length.noise, 1.0, Euclidean(4.0)).epsilon(DELTA)
    assert replaced(length) == pytest.approx(twice, rel=2e-3)


def test_a_law_without_its_space_is_judged_for_the_box_or_refused(adapter, ranged, one_sided):
    with pytest.raises(UnsupportedError, match="all up or all down"):
        adapter.to_pld(ranged.noise)
    account = adapter.accountant()
    assert not account.supports(adapter.dp_event(ranged.noise))
    found = adapter.to_pld(one_sided.noise).get_epsilon_for_delta(DELTA)
    assert found == pytest.approx(PrivacyLoss.of(one_sided.noise).epsilon(DELTA), rel=2e-3)


def test_independent_noise_is_judged_draw_by_draw(adapter):
    best = design(delta=DELTA, sigma=8.0, batch=100, changes=OneSided(touched=2))
    assert best.noise.dimension == 1
    found = adapter.to_pld(best).get_epsilon_for_delta(DELTA)
    assert found == pytest.approx(best.epsilon, rel=2e-3)
    assert adapter.dp_event(best).event.changes == adapter.dp_event(laplace(1.0)).changes


def test_a_design_and_a_loss_have_their_changes_already(adapter, one_sided):
    for law in (one_sided, PrivacyLoss.of(one_sided.noise, 1.0, OneSided())):
        with pytest.raises(InvalidParameterError, match="left out"):
            adapter.to_pld(law, changes=OneSided())
    with pytest.raises(InvalidParameterError, match="left out"):
        adapter.dp_event(one_sided, changes=Box())
    with pytest.raises(InvalidParameterError, match="changes"):
        adapter.to_pld(one_sided.noise, changes="one-sided")


@pytest.mark.parametrize(
    "content", [b"", b"5", b'{"kind":"ball"}', b'{"kind":"box","touched":0}', 5]
)
def test_an_event_with_no_space_is_refused(adapter, content):
    event = adapter.dp_event(laplace(1.0))
    with pytest.raises(InvalidFileError, match="space of changes"):
        adapter.LeastNoiseDpEvent(event.law, 1.0, False, content)


def test_the_new_laws_show_themselves_in_a_notebook(ranged, one_sided):
    for best in (ranged, one_sided):
        page = best._repr_html_()
        assert "only where persons are added or removed" in page
        assert "<svg" in best.noise._repr_html_()
        drawn = np.asarray(artefact_of(best).noise.sample(3))
        assert drawn.shape == (3, best.batch)
