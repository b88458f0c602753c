"""Lower bounds on ε are those of a change that a person can make, or say nothing."""

import itertools
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
    gaussian,
    laplace,
    sphere,
)
from leastnoise.laws.lattice import LatticeNoise
from leastnoise.losses.base import unproven_below
from leastnoise.losses.lattice import NOTHING_SHARED
from leastnoise.losses.sphere import ball_loss

HALF = OneSided(ranges=[(0, 1), (0, 0.5)])


@pytest.mark.parametrize(
    "space", [Box(), OneSided(), Box(1), OneSided(1), HALF, OneSided(ranges=[(-0.5, 1)] * 2)]
)
@pytest.mark.parametrize("log_h", [[0.0, -0.4, -1.5], [0.0, -1.0, -0.2]], ids=["falls", "rises"])
def test_no_lower_bound_of_the_cube_is_above_the_largest_change(log_h, space):
    law = LatticeNoise.from_log_weights(log_h, None, step=1.0, domain="integer", dimension=2)
    listed = np.zeros((9, 9))
    for x, y in itertools.product(range(-2, 3), repeat=2):
        listed[x + 4, y + 4] = float(law.pmf(max(abs(x), abs(y))))
    ranges = space.ranges if isinstance(space, OneSided) and space.ranges else None
    ends = ranges or [(-1 if isinstance(space, Box) else 0, 1)] * 2
    steps = [range(-int(-low * 2), int(high * 2) + 1) for low, high in ends]
    shifts = [v for v in itertools.product(*steps) if np.count_nonzero(v) <= space.touched_of(2)]
    loss = law.loss(2.0, space)
    for epsilon in (0.0, 0.3, 1.0):
        there = (np.roll(listed, v, axis=(0, 1)) for v in shifts)
        largest = max(float(np.sum(np.maximum(listed - np.exp(epsilon) * q, 0))) for q in there)
        assert float(loss.profile_lower(epsilon)) <= largest * (1 + 1e-12)
        assert largest <= float(loss.profile(epsilon)) * (1 + 1e-12)


def test_correlated_noise_for_unequal_ranges():
    law, space = correlated(8.0, 2), HALF
    x = law.shared / (1 + 2 * law.shared)
    corners = itertools.product((0, 1), (0, Fraction(1, 2)))
    farthest = max(Fraction(a * a + b * b) - x * (a + b) ** 2 for a, b in corners)
    for times in (1, 3):
        exactly = PrivacyLoss(((ball_loss(law.scale, 2, farthest), times),)).epsilon_bounds(1e-6)
        lower, upper = PrivacyLoss.of(law, 1.0, space).compose(times).epsilon_bounds(1e-6)
        # The farthest corner is one that a person can reach; rounding answers to the lattice may
        # carry them a pitch further.
        assert 0.0 < lower <= exactly.upper * (1.0 + 1e-7)
        assert exactly.lower <= upper <= exactly.upper * (1.0 + 1e-7)


@pytest.mark.parametrize(
    ("law", "space"),
    [
        (gaussian(3.0), OneSided(ranges=[(0, 0.5)])),
        (laplace(3.0), OneSided(ranges=[(0, 0.5)])),
        (correlated(3.0, 2, core="gaussian"), Euclidean(1.0)),
        (sphere(3.0, 2), Euclidean(1.0)),
        (sphere(0.5, 2, domain="integer"), Box()),  # the rounded noise: 5.3296, not 5.3546
        (correlated(1.0, 2, domain="integer"), OneSided()),
        (cube(3.0, 3), Box(2)),
    ],
)
def test_what_no_person_can_change_gives_no_lower_bound(law, space):
    loss = PrivacyLoss.of(law, 1.0, space)
    for used in (loss, loss.compose(2), loss.compose(PrivacyLoss.of(gaussian(9.0)))):
        lower, upper = used.epsilon_bounds(1e-6)
        assert lower <= PrivacyLoss.of(gaussian(9.0)).epsilon(1e-6) < upper
    assert loss.epsilon_bounds(1e-6).lower == loss.delta_bounds(0.1).lower == 0.0


@pytest.mark.parametrize("law", [gaussian(3.0), cube(3.0, 3), sphere(3.0, 3), correlated(3.0, 3)])
def test_what_a_person_can_change_has_one(law):
    lower, upper = PrivacyLoss.of(law, 1.0, OneSided()).epsilon_bounds(1e-6)
    assert 0.999 * upper < lower <= upper


def test_nothing_is_certain_of_a_bound_that_nobody_reaches():
    loss = PrivacyLoss(((unproven_below(NOTHING_SHARED), 1),))
    assert loss.epsilon_bounds(1e-6).lower == 0.0
