"""Measurements in the real OpenDP."""

import math
from itertools import pairwise

import numpy as np
import pytest

from leastnoise import (
    PrivacyLoss,
    design,
    discrete_laplace,
    exact,
    gaussian,
    renyi_divergence,
    sphere,
)
from leastnoise.artefact import certify
from leastnoise.errors import InvalidParameterError, UnsupportedError
from leastnoise.interop import opendp as adapter

dp = pytest.importorskip(
    "opendp.prelude", reason="OpenDP is not installed: pip install 'leastnoise[opendp]'"
)
OpenDPException = pytest.importorskip("opendp.mod").OpenDPException

DELTA = 1e-6


@pytest.fixture(autouse=True)
def features():
    adapter.enable()


@pytest.fixture(scope="module")
def ten():
    return design(delta=DELTA, sigma=8.0, compositions=10, domain="integer")


@pytest.fixture(scope="module")
def joint():
    return design(delta=DELTA, sigma=8.0, batch=10)


def strings():
    return dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()


def test_features_are_asked_for(ten):
    dp.disable_features("honest-but-curious")
    with pytest.raises(OpenDPException, match="honest-but-curious"):
        adapter.measurement(ten)


def test_vector_of_compositions_keeps_the_tight_guarantee(ten):
    vector, scalar = adapter.measurement(ten), adapter.measurement(ten, answers=1)
    epsilon, delta = vector.map(1)
    assert delta == DELTA
    assert ten.epsilon_lower <= epsilon <= ten.epsilon * (1 + 2e-6)
    added_up = dp.c.make_composition([scalar] * 10).map(1)
    assert added_up[0] > 1.5 * epsilon
    assert added_up[1] == pytest.approx(10 * DELTA)


def test_vector_of_integers(ten):
    released = adapter.measurement(ten)([100] * 10)
    assert len(released) == 10
    assert all(isinstance(value, int) for value in released)
    assert len(set(released)) > 1
    assert np.abs(np.array(released) - 100).max() < 200


def test_batch_of_floats(joint):
    vector = adapter.measurement(joint)
    assert vector.map(1.0)[0] == pytest.approx(joint.epsilon, rel=1e-6)
    released = vector([0.5] * 9 + [math.inf])
    assert all(isinstance(value, float) and math.isfinite(value) for value in released)
    assert str(vector.output_measure) == "Approximate(MaxDivergence)"


def test_several_batches(joint):
    vector = adapter.measurement(joint, answers=30)
    loss = PrivacyLoss.of(exact(joint.noise, delta=DELTA, compositions=3)).compose(3)
    assert vector.map(1.0)[0] == pytest.approx(loss.epsilon(DELTA), rel=1e-9)
    assert len(vector([1.0] * 30)) == 30


def test_scalar_chain(ten):
    chain = dp.t.make_count(*strings()) >> adapter.then_leastnoise(ten)
    assert isinstance(chain(["a"] * 30), int)
    one = PrivacyLoss.of(exact(ten.noise, delta=DELTA)).epsilon(DELTA)
    assert chain.map(1)[0] == pytest.approx(one, rel=1e-6)
    assert chain.check(1, (one * 1.001, DELTA))
    assert not chain.check(2, (one * 1.001, DELTA))


def test_float_sum_is_designed_for_the_distance_it_states():
    domain = dp.vector_domain(dp.atom_domain(bounds=(0.0, 1.0), nan=False))
    total = dp.t.make_sum(domain, dp.symmetric_distance())
    stated = total.map(1)
    assert stated > 1.0
    best = design(delta=DELTA, sigma=4.0, sensitivity=stated)
    chain = total >> adapter.then_leastnoise(best)
    assert chain.map(1)[0] == pytest.approx(best.epsilon, rel=2e-6)
    assert isinstance(chain([0.25] * 100), float)


@pytest.mark.parametrize("sensitivity", [0.1, 1 / 3, 0.7])
def test_sensitivity_is_covered_to_the_last_digit(sensitivity):
    best = design(delta=DELTA, sigma=8.0 * sensitivity, sensitivity=sensitivity, batch=5)
    assert adapter.measurement(best).map(sensitivity)[0] == pytest.approx(best.epsilon, rel=2e-6)


@pytest.mark.parametrize("metric", ["L1Distance<i32>", "L2Distance<f64>"])
def test_histogram_touches_one_draw_a_row(ten, metric):
    bins = dp.t.make_count_by_categories(*strings(), categories=list("abcdefghi"), MO=metric)
    chain = bins >> adapter.then_leastnoise(ten)
    one = PrivacyLoss.of(exact(ten.noise, delta=DELTA, compositions=10)).epsilon(DELTA)
    assert chain.map(1)[0] == pytest.approx(one, rel=1e-6)
    assert len(chain(["a", "b", "z"])) == 10
    assert one < chain.map(2)[0] < adapter.measurement(ten).map(2)[0]


def test_design_for_people_who_touch_some_answers():
    bins = design(delta=DELTA, sigma=8.0, batch=10, touched=2, domain="integer")
    vector = dp.vector_domain(dp.atom_domain(T="i32"), size=10)
    by_l1 = adapter.make_leastnoise(vector, dp.l1_distance(T="i32"), bins)
    assert by_l1.map(1)[0] <= bins.epsilon * (1 + 1e-6)
    with pytest.raises(UnsupportedError):  # l∞: all ten may move, which its norm is not made for
        adapter.measurement(bins)


def test_roots_that_were_rounded_down_count_in_full(ten):
    vector = dp.vector_domain(dp.atom_domain(T="i32"), size=10)
    by_l2 = adapter.make_leastnoise(vector, dp.l2_distance(T=float), ten)
    by_l1 = adapter.make_leastnoise(vector, dp.l1_distance(T="i32"), ten, answers=10)
    assert math.sqrt(3.0) ** 2 < 3.0
    law = exact(ten.noise, delta=DELTA, compositions=10)
    assert by_l2.map(math.sqrt(3.0))[0] == pytest.approx(
        PrivacyLoss.of(law).compose(3).epsilon(DELTA), rel=1e-9
    )
    assert by_l1.map(1)[0] == by_l2.map(1.0)[0]


def test_context_query():
    adapter.register()
    adapter.register()
    half = design(delta=5e-7, epsilon=0.5, domain="integer")
    context = dp.Context.compositor(
        data=["a"] * 50,
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=1.0, delta=1e-6),
        split_evenly_over=2,
        domain=strings()[0],
    )
    for _ in range(2):
        assert isinstance(context.query().count().leastnoise(half).release(), int)
    with pytest.raises(ValueError, match="exhausted"):
        context.query().count().leastnoise(half).release()


def test_context_refuses_what_does_not_fit(ten):
    adapter.register()
    context = dp.Context.compositor(
        data=["a"] * 50,
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=0.1, delta=1e-6),
        split_evenly_over=1,
        domain=strings()[0],
    )
    with pytest.raises(OpenDPException):
        context.query().count().leastnoise(ten).release()


def test_composition_with_noise_of_opendp(ten):
    ours = adapter.measurement(ten, answers=1)
    theirs = dp.c.make_approximate(
        dp.m.make_laplace(dp.atom_domain(T="i32"), dp.absolute_distance(T="i32"), scale=5.0)
    )
    both = dp.c.make_composition([ours, theirs])
    assert both.map(1)[0] == pytest.approx(ours.map(1)[0] + 0.2)
    assert len(both(5)) == 2


def test_renyi_map_and_its_composition(ten):
    curve = adapter.measurement(ten, measure="renyi")
    for order in (1.5, 2.0, 8.0, 50.0):
        assert curve.map(1)(order) == pytest.approx(
            10 * renyi_divergence(ten.noise, order), rel=1e-6
        )
        assert curve.map(1)(order) >= 10 * renyi_divergence(ten.noise, order) * (1 - 1e-9)
    assert dp.c.make_composition([curve, curve]).map(1)(8.0) == pytest.approx(2 * curve.map(1)(8.0))
    assert curve.map(0)(8.0) == 0.0
    assert len(curve([3] * 10)) == 10
    assert str(curve.output_measure) == "RenyiDivergence"
    with pytest.raises(OpenDPException, match="order"):
        curve.map(1)(0.5)


def test_renyi_map_of_the_ball_law():
    law = sphere(8.0, 20)
    curve = adapter.measurement(law, measure="renyi")
    assert curve.map(1.0)(8.0) == pytest.approx(renyi_divergence(law, 8.0), rel=1e-9)
    assert curve.map(math.inf)(8.0) == math.inf
    assert len(curve([1.0] * 20)) == 20


def test_map_answers_every_distance(ten, joint):
    counts = adapter.measurement(ten)
    assert counts.map(0) == (0.0, 0.0)
    epsilons = [counts.map(d)[0] for d in (1, 2, 3, 5)]
    assert epsilons == sorted(epsilons)
    law = exact(ten.noise, delta=DELTA, compositions=10)
    for distance, epsilon in zip((1, 2, 3, 5), epsilons, strict=True):
        assert epsilon == pytest.approx(
            PrivacyLoss.of(law, distance).compose(10).epsilon(DELTA), rel=1e-9
        )
    far = counts.map(100)
    assert far[0] > 5.0
    assert DELTA < far[1] <= 1.0
    assert counts.map(2**31 - 1) == (math.inf, 1.0)
    vector = adapter.measurement(joint)
    assert vector.map(math.inf) == (math.inf, 1.0)
    assert vector.map(0.0) == (0.0, 0.0)
    reached = [vector.map(d)[0] for d in (0.2, 0.5, 1.0, 1.0 + 1e-9, 1.5, 2.0)]
    assert all(before <= after * (1 + 1e-9) for before, after in pairwise(reached))


def test_renyi_map_answers_every_distance(ten):
    curve = adapter.measurement(ten, measure="renyi")
    found = [curve.map(distance)(2.0) for distance in (0, 1, 10, 1000, 10**7, 2**31 - 1)]
    assert found == sorted(found)
    assert found[0] == 0.0
    assert math.isfinite(found[-1])
    line = adapter.measurement(gaussian(3.0), measure="renyi")
    assert line.map(1e200)(2.0) == math.inf


def test_ball_law_at_a_hair_more_than_the_sensitivity():
    vector = adapter.measurement(sphere(8.0, 20, step=0.125), delta=DELTA)
    assert vector.map(math.nextafter(1.0, 2.0))[0] > vector.map(1.0)[0] * (1 + 1e-6)


def test_distance_beyond_the_end_of_the_law_is_paid_in_delta():
    law = exact(discrete_laplace(3.0), delta=DELTA)
    epsilon, delta = adapter.measurement(law, delta=DELTA).map(60)
    single = PrivacyLoss.of(law, 60)
    assert math.isfinite(epsilon)
    assert delta > DELTA
    assert single.delta(epsilon) <= delta * (1 + 1e-9)


def test_negative_distance_is_refused(ten):
    with pytest.raises(OpenDPException, match="d_in"):
        adapter.measurement(ten).map(-1)


@pytest.mark.parametrize("count", [0, 9, 11])
def test_wrong_length_is_refused(ten, count):
    with pytest.raises(OpenDPException, match="Expected 10 answers"):
        adapter.measurement(ten)([1] * count)


def test_wrong_values_are_refused(ten, joint):
    with pytest.raises(TypeError):
        adapter.measurement(ten)([1.5] * 10)
    with pytest.raises(OpenDPException, match="not shown") as refusal:
        adapter.measurement(joint)([123.456] * 9 + [math.nan])
    assert "123.456" not in str(refusal.value)


def test_wrong_spaces_are_refused(ten, joint):
    number = dp.atom_domain(T=float, nan=False)
    with pytest.raises(UnsupportedError, match="integers"):
        adapter.make_leastnoise(number, dp.absolute_distance(T=float), ten)
    with pytest.raises(UnsupportedError, match="f64"):
        adapter.make_leastnoise(
            dp.vector_domain(dp.atom_domain(T="i32")), dp.linf_distance(T="i32"), joint
        )
    with pytest.raises(UnsupportedError, match="NaN"):
        adapter.make_leastnoise(
            dp.vector_domain(dp.atom_domain(T=float)), dp.linf_distance(T=float), joint
        )
    with pytest.raises(UnsupportedError, match="distance"):
        adapter.make_leastnoise(
            dp.vector_domain(dp.atom_domain(T="i32")), dp.symmetric_distance(), ten
        )
    with pytest.raises(UnsupportedError, match="measure the members"):
        adapter.make_leastnoise(
            dp.vector_domain(dp.atom_domain(T="i32")), dp.absolute_distance(T="i32"), ten
        )
    with pytest.raises(InvalidParameterError, match="of OpenDP"):
        adapter.make_leastnoise(None, dp.absolute_distance(T=float), joint)
    with pytest.raises(InvalidParameterError, match="of OpenDP"):
        adapter.make_leastnoise(number, "absolute", joint)
    with pytest.raises(UnsupportedError, match="domain"):
        adapter.make_leastnoise(dp.option_domain(number), dp.absolute_distance(T=float), joint)


def test_wrong_counts_are_refused(ten, joint):
    with pytest.raises(InvalidParameterError, match="multiple of 10"):
        adapter.measurement(joint, answers=15)
    with pytest.raises(InvalidParameterError, match="multiple of 10"):
        adapter.make_leastnoise(
            dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), joint
        )
    seven = dp.vector_domain(dp.atom_domain(T="i32"), size=7), dp.linf_distance(T="i32")
    with pytest.raises(InvalidParameterError, match="size of the input domain"):
        adapter.make_leastnoise(*seven, ten, answers=10)
    with pytest.raises(InvalidParameterError, match="delta"):
        adapter.measurement(gaussian(3.0))
    with pytest.raises(InvalidParameterError, match="measure"):
        adapter.measurement(ten, measure="zcdp")
    with pytest.raises(UnsupportedError, match="one answer"):
        adapter.measurement(joint, measure="renyi")


@pytest.mark.parametrize(
    ("carrier", "answer"), [("i32", 2**31 - 1), ("u32", 0), ("i64", -(2**63)), ("u64", 2**64 - 1)]
)
def test_integers_saturate(carrier, answer):
    vector = adapter.measurement(discrete_laplace(60.0), delta=DELTA, carrier=carrier, answers=40)
    released = vector([answer] * 40)
    assert answer in released  # about half of the noise points outwards
    assert all(abs(value - answer) < 5_000 for value in released)


def test_closed_forms_and_artefacts():
    law = adapter.measurement(gaussian(8.0), delta=DELTA)
    assert law.map(1.0)[0] == pytest.approx(PrivacyLoss.of(gaussian(8.0)).epsilon(DELTA), rel=1e-4)
    weights = exact(discrete_laplace(8.0), delta=DELTA, compositions=5)
    artefact = certify(weights, delta=DELTA, compositions=5)
    five = adapter.measurement(artefact)
    assert five.map(1)[0] == pytest.approx(artefact.guarantee.epsilon, rel=1e-9)
    assert len(five([1] * 5)) == 5
