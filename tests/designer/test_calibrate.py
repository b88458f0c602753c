"""The one search for the scale of an ε, against curves whose answer is known."""

import math

import pytest

from leastnoise import PrivacyLoss, gaussian, laplace
from leastnoise.designer.calibrate import Epsilon, calibrate, least_scale, least_sigma

WIDE = (1e-3, 1e6)


@pytest.mark.parametrize("slope", [-0.1, -0.5, -1.1, -3.0])
@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-10])
def test_a_power_is_found_in_a_few_steps(slope, tolerance):
    tried = []

    def law_at(scale, near):
        tried.append(scale)
        return Epsilon(3.0 * scale**slope)

    found = calibrate(law_at, 1.0, WIDE, start=1.0, tolerance=tolerance)
    assert 1.0 - tolerance <= found.law.epsilon <= 1.0
    assert found.slope == pytest.approx(slope, rel=1e-6)
    # A step of log σ is at most 1.5, and twice that many begin and end the search.
    assert len(tried) <= 4 + abs(math.log(3.0) / slope) / 1.5


def test_a_jump_is_answered_on_the_safe_side():
    found = calibrate(lambda x, _: Epsilon(2.0 if x < 3.0 else 0.5), 1.0, WIDE, start=1.0)
    assert found.law.epsilon == 0.5
    assert 3.0 <= found.scale <= 3.0 * (1.0 + 1e-6)


def test_an_epsilon_that_vanishes():
    """From some sigma on δ alone is enough, and ε says nothing about how far that is."""
    found = calibrate(lambda x, _: Epsilon(max(2.0 - x, 0.0)), 0.01, WIDE, start=500.0)
    assert found.scale == pytest.approx(1.99, rel=1e-5)
    assert found.law.epsilon <= 0.01


def test_infinite_epsilons_are_left_behind():
    found = least_scale(lambda x: math.inf if x < 1.0 else 1.0 / x, 0.1, WIDE, start=1e-2)
    assert found == pytest.approx(10.0, rel=1e-4)


def test_ends_of_the_range():
    assert least_scale(lambda x: 1.0 / x, 1e-9, (1.0, 10.0)) is None
    assert least_scale(lambda x: 1.0 / x, 100.0, (1.0, 10.0)) == 1.0
    largest = calibrate(lambda x, _: Epsilon(1.0 / x), 1e-9, (1.0, 10.0), start=2.0)
    assert (largest.scale, largest.law.epsilon) == (10.0, 0.1)


def test_laws_near_the_answer_are_made_from_the_last_one():
    """And the law at the start is not made again where it is known."""
    given = []

    def law_at(scale, near):
        given.append(near)
        return Epsilon(1.0 / scale)

    begun = Epsilon(0.98)
    found = calibrate(law_at, 1.0, WIDE, start=1.0 / 0.98, begun=begun)
    assert given[0] is begun
    assert found.law.epsilon <= 1.0
    given.clear()
    calibrate(law_at, 1.0, WIDE, start=5.0, slope=-2.0)
    assert given[:2] == [None, None]


@pytest.mark.parametrize("build", [gaussian, laplace])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
def test_the_sigma_of_a_known_law(build, epsilon):
    found = least_sigma(build, epsilon, (1e-2, 1e6), sensitivity=2.0, delta=1e-6, draws=3)
    assert found is not None

    def needed(sigma):
        return PrivacyLoss.of(build(sigma), 2.0).compose(3).epsilon(1e-6)

    assert needed(found) <= epsilon < needed(found * (1.0 - 2e-5))
