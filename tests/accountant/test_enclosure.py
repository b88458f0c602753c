"""lower ≤ exact ≤ upper, against direct enumeration of every lattice point, shift and sequence of
outcomes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_privacy as reference
from leastnoise import LatticeNoise, PrivacyLoss

pytestmark = pytest.mark.portable

ROUNDING = 1e-11  # of the reference itself


def make_law(kind: str, dimension: int, last: int, ratio: float | None, seed: int) -> LatticeNoise:
    rng = np.random.default_rng(seed)
    if kind == "monotone":
        weights = np.cumsum(rng.exponential(size=last + 1) * rng.integers(0, 2, last + 1))[
            ::-1
        ] + rng.uniform(0.001, 1)
    elif kind == "rippled":
        weights = np.exp(-np.arange(last + 1) * rng.uniform(0.1, 1)) * (
            1 + 0.3 * rng.uniform(-1, 1, last + 1)
        )
    else:
        weights = np.where(np.arange(last + 1) % 2 == 0, 1.0, rng.uniform(1e-3, 0.2)) * np.exp(
            -0.3 * np.arange(last + 1)
        )
    return LatticeNoise.from_weights(weights, ratio, dimension=dimension, domain="integer")


def radius_for(law: LatticeNoise, shift: int) -> int:
    if law.tail_ratio is None:
        return law.last + shift
    return law.last + shift + int(np.ceil(28 / -np.log(law.tail_ratio)))


@pytest.mark.parametrize("kind", ["monotone", "rippled", "comb"])
@settings(max_examples=70, deadline=None, derandomize=True)
@given(
    last=st.integers(0, 4),
    ratio=st.one_of(st.none(), st.floats(0.05, 0.5)),
    shift=st.integers(1, 3),
    releases=st.integers(1, 3),
    epsilon=st.floats(0.0, 6.0),
    seed=st.integers(0, 2**31),
)
def test_one_answer(kind, last, ratio, shift, releases, epsilon, seed):
    law = make_law(kind, 1, last, ratio, seed)
    exact = reference.worst_delta(law, shift, releases, epsilon, radius_for(law, shift))
    bounds = PrivacyLoss.of(law, shift).compose(releases).delta_bounds(epsilon)
    assert bounds.lower <= exact * (1 + ROUNDING) + ROUNDING
    assert exact <= bounds.upper * (1 + ROUNDING) + 1e-12
    if law.is_monotone or releases == 1:
        at_less = reference.worst_delta(
            law, shift, releases, epsilon * (1 - 1e-4), radius_for(law, shift)
        )
        assert bounds.upper <= at_less * (1 + 1e-6) + 1e-12 or epsilon < 1e-3


@pytest.mark.parametrize(
    ("kind", "dimension", "last", "ratio", "shift", "releases"),
    [
        *itertools.product(
            ["monotone", "rippled", "comb"], [2], [0, 2], [None, 0.15], [1, 2], [1, 2]
        ),
        *itertools.product(["monotone", "rippled"], [5], [1], [None], [1], [1, 2]),
    ],
)
def test_several_answers(kind, dimension, last, ratio, shift, releases):
    if dimension == 2 and ratio is not None and last == 2 and releases == 2 and kind != "monotone":
        ratio = 0.05  # keeps the enumeration of all sequences small
    law = make_law(kind, dimension, last, ratio, seed=17 * last + shift)
    radius = (
        law.last + shift if ratio is None else law.last + shift + int(np.ceil(18 / -np.log(ratio)))
    )
    tail = 0.0 if ratio is None else 1e-6
    loss = PrivacyLoss.of(law, shift).compose(releases)
    for epsilon in (0.0, 0.3, 1.1, 2.5):
        exact = reference.worst_delta(law, shift, releases, epsilon, radius)
        bounds = loss.delta_bounds(epsilon)
        assert bounds.lower <= exact + tail
        assert exact <= bounds.upper * (1 + ROUNDING) + 1e-12


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**31),
    shift=st.integers(1, 3),
    releases=st.integers(2, 3),
    delta=st.floats(-9, -1).map(lambda x: 10**x),
)
def test_epsilon_of_monotone_laws_is_tight(seed, shift, releases, delta):
    law = make_law("monotone", 1, 4, 0.4, seed)
    loss = PrivacyLoss.of(law, shift).compose(releases)
    bounds = loss.epsilon_bounds(delta)
    radius = radius_for(law, shift) + 10
    assert reference.worst_delta(law, shift, releases, bounds.upper, radius) <= delta * (1 + 1e-9)
    if bounds.upper > 1e-3:
        assert reference.worst_delta(
            law, shift, releases, bounds.upper * (1 - 1e-4), radius
        ) >= delta * (1 - 1e-9)
    if bounds.lower > 0:
        assert reference.worst_delta(law, shift, releases, bounds.lower, radius) >= delta * (
            1 - 1e-9
        )


def test_a_comb_is_judged_by_its_worst_shift():
    # Heavy even points, light odd ones: shift 1 is far worse than shift 2.
    k = np.arange(400)
    comb = LatticeNoise.from_weights(
        np.where(k % 2 == 0, 1.0, 1e-4) * np.exp(-((k / 80.0) ** 2) / 2), None, domain="integer"
    )
    one = reference.delta_of_sequence([reference.loss_table(comb, (1,), 402)], 0.5)
    two = reference.delta_of_sequence([reference.loss_table(comb, (2,), 402)], 0.5)
    assert one > 100 * two
    loss = PrivacyLoss.of(comb, 2)
    assert loss.delta(0.5) == pytest.approx(one, rel=1e-9)
    assert loss.compose(3).delta(0.5) >= reference.delta_of_sequence(
        [reference.loss_table(comb, (1,), 402)], 0.5
    )


def test_different_laws_compose_like_their_enumeration():
    one, two = make_law("monotone", 1, 3, 0.3, 5), make_law("rippled", 1, 2, 0.2, 6)
    loss = PrivacyLoss.of(one, 1).compose(2).compose(PrivacyLoss.of(two, 1))
    table_one, table_two = reference.loss_table(one, (1,), 60), reference.loss_table(two, (1,), 60)
    for epsilon in (0.1, 0.7, 1.5):
        exact = reference.delta_of_sequence([table_one, table_one, table_two], epsilon)
        bounds = loss.delta_bounds(epsilon)
        assert bounds.lower <= exact * (1 + ROUNDING)
        assert exact <= bounds.upper * (1 + ROUNDING)
        assert bounds.upper <= reference.delta_of_sequence(
            [table_one, table_one, table_two], epsilon * (1 - 1e-4)
        )


def test_mass_off_the_support_is_infinite_loss():
    box = LatticeNoise([0.2, 0.4, 0.4], None, domain="integer")
    loss = PrivacyLoss.of(box, 1)
    assert loss.epsilon(0.1) == float("inf")
    assert loss.delta(50.0) == pytest.approx(0.2, rel=1e-12)
    assert loss.compose(2).delta(50.0) == pytest.approx(1 - 0.8**2, rel=1e-9)
    assert PrivacyLoss.of(box, 9).delta(3.0) == pytest.approx(1.0, rel=1e-12)
    assert PrivacyLoss.of(box, 9).compose(2).epsilon(0.5) == float("inf")
