"""The loss at any distance, against direct enumeration on the fine lattice; the endless law,
against its own weights."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from leastnoise import (
    PrivacyLoss,
    cube,
    discrete_laplace,
    exact,
    gaussian,
    laplace,
    renyi_divergence,
    sphere,
    staircase,
)
from leastnoise.errors import InvalidParameterError, UnsupportedError
from leastnoise.interop.distance import IntendedUse, as_distance, loss_at
from leastnoise.interop.untruncated import UntruncatedLaw, _successes
from leastnoise.laws.classic import lattice_form
from leastnoise.laws.lattice import LatticeNoise
from leastnoise.losses import distance as distance_module
from leastnoise.losses.distance import NO_LOSS
from leastnoise.losses.lattice import NOTHING_SHARED
from leastnoise.sampling import InsecureSeededEntropy, release
from reference import units

EPSILONS = np.linspace(-1.0, 4.0, 60)
PLACES = 1 << 16


def hockey_stick(p, q, epsilon):
    return float(np.sum(np.maximum(p - math.exp(epsilon) * q, 0.0)))


def small_law(*weights):
    return LatticeNoise.from_weights(list(weights), None, step=0.5)


@pytest.mark.parametrize("distance", [0.5, 0.75, 1.0, 1.1, 1.000000009, 1e-7, 2.6])
def test_fractional_distance_is_the_loss_on_the_fine_lattice(distance):
    law = small_law(8, 7, 4, 2, 1)
    fine = np.repeat(np.concatenate([law.pmf(np.arange(-4, 5))]), PLACES) / PLACES
    moved = math.ceil(Fraction(distance) / Fraction(1, 2 * PLACES))
    p, q = np.concatenate([fine, np.zeros(moved)]), np.concatenate([np.zeros(moved), fine])
    loss = loss_at(law, Fraction(distance))
    for epsilon in EPSILONS[::6]:
        assert float(loss.profile(epsilon)) == pytest.approx(
            hockey_stick(p, q, epsilon), rel=1e-9, abs=1e-15
        )


@pytest.mark.parametrize("half_bins", [1, 3, 5])
def test_joint_fractional_distance_dominates_every_shift_of_the_box(half_bins):
    """Shifts of whole half bins need two places a bin only."""
    law = LatticeNoise.from_weights([5.0, 4.0, 2.0, 1.0], None, step=1.0, dimension=2)
    cells = np.repeat(np.arange(-3, 4), 2)
    radius = np.maximum(np.abs(cells)[:, None], np.abs(cells)[None, :])
    p = law.pmf(radius) / 4.0
    loss = loss_at(law, Fraction(half_bins, 2))
    size = p.shape[0] + half_bins
    worst = np.zeros(EPSILONS.size)
    for a in range(half_bins + 1):
        for b in range(half_bins + 1):
            ours, theirs = np.zeros((size, size)), np.zeros((size, size))
            ours[: p.shape[0], : p.shape[0]] = p
            theirs[a : a + p.shape[0], b : b + p.shape[0]] = p
            worst = np.maximum(worst, [hockey_stick(ours, theirs, epsilon) for epsilon in EPSILONS])
    found = loss.profile(EPSILONS)
    assert np.all(found >= worst * (1 - 1e-12))
    above = loss_at(law, Fraction(math.ceil(half_bins / 2))).profile(EPSILONS)
    assert np.all(found <= above * (1 + 1e-9))


def test_law_that_rises_is_judged_at_every_shift():
    comb = LatticeNoise.from_weights([1.0, 0.01, 1.0, 0.01, 1.0], None, step=1.0)
    one, two = loss_at(comb, Fraction(1)), loss_at(comb, Fraction(2))
    assert np.all(two.profile(EPSILONS) >= one.profile(EPSILONS) * (1 - 1e-12))
    between = loss_at(comb, Fraction(3, 2))
    assert np.all(between.profile(EPSILONS) >= one.profile(EPSILONS) * (1 - 1e-12))


def test_distances_grow_the_loss():
    law = exact(staircase(3.0), delta=1e-6)
    distances = (0.0, 1e-6, 0.3, 0.5, 0.9999, 1.0, 1.0001, 1.5, 2.0, 7.3)
    epsilons = [PrivacyLoss(((loss_at(law, Fraction(d)), 1),)).epsilon(1e-6) for d in distances]
    assert epsilons[0] == 0.0
    assert all(before <= after * (1 + 1e-9) for before, after in pairwise(epsilons))
    assert epsilons[5] == pytest.approx(PrivacyLoss.of(law).epsilon(1e-6), rel=1e-9)


def test_integer_law_ignores_parts_of_a_step():
    law = exact(discrete_laplace(3.0), delta=1e-6)
    assert loss_at(law, Fraction(1, 2)) is NO_LOSS
    assert loss_at(law, Fraction(3, 2)).largest == loss_at(law, Fraction(1)).largest


def test_far_beyond_the_support_everything_is_revealed():
    law = exact(discrete_laplace(3.0), delta=1e-6)
    assert loss_at(law, Fraction(10**30)) is NOTHING_SHARED
    assert loss_at(sphere(3.0, 5), Fraction(10**400)) is NOTHING_SHARED
    assert loss_at(cube(3.0, 5), Fraction(10**9)) is NOTHING_SHARED


def test_ball_law_is_judged_in_whole_pitches_rounded_up():
    """Half a pitch less 2^-60 and 1 + half a pitch are rounded to places one pitch more than 1
    apart."""
    law = sphere(8.0, 20, step=0.125)
    hair = loss_at(law, Fraction(math.nextafter(1.0, 2.0)))
    assert hair.largest > loss_at(law, Fraction(1)).largest * (1 + 1e-6)
    assert hair.largest == loss_at(law, 1 + Fraction(1, 8 * PLACES)).largest
    assert loss_at(law, Fraction(1)).largest == PrivacyLoss.of(law).parts[0][0].largest


@pytest.mark.parametrize(
    "noise",
    [discrete_laplace(3.0), laplace(3.0), LatticeNoise.from_weights([1.0, 2.0, 1.5], 0.8)],
    ids=str,
)
def test_any_distance_is_judged_where_the_tail_has_no_end(noise):
    """Beyond a million steps by the largest loss of one step, which for a geometric
    tail is exact."""
    law = UntruncatedLaw.of(lattice_form(noise, 1.0)).noise
    slope = -math.log(law.tail_ratio) / law.step
    for distance in (10**7, 10**9, 10**40):
        loss = loss_at(law, Fraction(distance))
        for order in (1.0, 2.0, 64.0):
            assert loss.divergence(order) >= slope * distance * (1 - 1e-6)
            if distance < 10**40:  # there the allowance for rounding is all there is
                assert loss.divergence(order) <= loss_at(law, Fraction(1)).largest * distance * (
                    1 + 1e-3
                )
    assert loss_at(law, Fraction(10**300)) is NOTHING_SHARED
    judged, bound = (
        loss_at(law, Fraction(3)),
        distance_module._step_by_step(law, math.ceil(3 / law.step)),
    )
    assert np.all(bound.profile(EPSILONS) >= judged.profile(EPSILONS) * (1 - 1e-9))
    for order in (1.0, 1.5, 8.0):
        assert bound.divergence(order) >= judged.divergence(order)


@pytest.mark.parametrize("value", [-1, math.nan, True, "1", None])
def test_distance_must_be_one(value):
    with pytest.raises(InvalidParameterError):
        as_distance("d_in", value)


def test_distances_are_exact():
    assert as_distance("d_in", 0.1) == Fraction(0.1)
    assert as_distance("d_in", np.int64(3)) == 3
    assert as_distance("d_in", math.inf) is None


def test_use_of_a_bare_law_needs_a_delta():
    assert IntendedUse.of(gaussian(3.0), delta=1e-6).stated_delta == 1e-6
    with pytest.raises(InvalidParameterError, match="delta"):
        IntendedUse.of(gaussian(3.0)).drawn(1)
    with pytest.raises(InvalidParameterError, match="law"):
        IntendedUse.of("gaussian")


# The endless law


@pytest.mark.parametrize(
    "noise", [discrete_laplace(4.0), laplace(3.0), gaussian(2.0), staircase(3.0)], ids=str
)
def test_endless_law_is_what_it_draws(noise):
    law = UntruncatedLaw.of(lattice_form(noise, 1.0))
    n, total = law.last, 1 << 128
    assert sum(law.weights) == total
    assert units(law._table) == dict(
        zip([*range(-n, n + 1), -n - 1, n + 1], law.weights, strict=True)
    )
    pmf = law.noise.pmf(np.arange(-n, n + 1))
    assert np.allclose([weight / total for weight in law.weights[:-2]], pmf, rtol=1e-15, atol=0.0)
    tail = float(law.noise.pmf(n)) * law.noise.tail_ratio / (1.0 - law.noise.tail_ratio)
    assert law.weights[-1] / total == pytest.approx(tail, rel=1e-14)
    for order in (1.5, 4.0):
        assert renyi_divergence(law.noise, order) == pytest.approx(
            renyi_divergence(lattice_form(noise, 1.0), order), rel=1e-6
        )
    assert renyi_divergence(law.noise, 16.0) <= renyi_divergence(lattice_form(noise, 1.0), 16.0) * (
        1 + 1e-6
    )


def test_endless_draws_follow_the_law():
    """A tail of a fifth of the mass, so that it is drawn often; chi-square with 40 cells."""
    law = UntruncatedLaw.of(discrete_laplace(6.0), tail=0.2)
    count = 40_000
    drawn = law.bins(count, InsecureSeededEntropy(11))
    inside = np.arange(-19, 20)
    expected = count * law.noise.pmf(inside)
    found = np.array([np.sum(drawn == k) for k in inside])
    rest = count - expected.sum()
    statistic = (
        np.sum((found - expected) ** 2 / expected) + (count - found.sum() - rest) ** 2 / rest
    )
    assert law.last < 12 < np.max(np.abs(drawn))
    assert statistic < 80.0  # 39 degrees of freedom: exceeded once in 10,000


def test_endless_release_keeps_the_public_lattice():
    law = UntruncatedLaw.of(lattice_form(laplace(3.0), 1.0))
    drawn = release(law, [1.0, 2.5, -7.0], entropy=InsecureSeededEntropy(1), not_private=True)
    assert drawn.entropy.startswith("INSECURE")
    assert np.all(drawn.integers % 2 == 1)
    assert np.all(np.abs(drawn.floats() - [1.0, 2.5, -7.0]) < 100.0)


def test_bernoulli_of_a_float_is_exact():
    class Bits:
        stamp = "fixed"

        def __init__(self, numerators):
            self.values = list(numerators)

        def take(self, count):
            return (self.values.pop(0) << (8 * count - 2)).to_bytes(count, "little")

    # 0.75 = 3/4: of the two random bits 0, 1, 2 are successes and 3 is not.
    assert _successes(0.75, Bits([2, 0, 1, 3])) == 3
    assert _successes(0.75, Bits([3])) == 0


@pytest.mark.parametrize("fall", [0.3, 20.0, 38.0, 43.9])
def test_steep_endless_law_is_judged_by_the_weights_that_are_drawn(fall):
    """At e^-43.9 the tail is two units of 2^-128 that stand for 2.5: of order 1,000 that is 0.4 %
    of the divergence."""
    law = UntruncatedLaw.of(LatticeNoise.from_weights([1.0], math.exp(-fall), domain="integer"))
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workprec(400):
        ratio = mpmath.mpf(law.noise.tail_ratio)

        def mass(place):
            if abs(place) <= law.last:
                return mpmath.mpf(law.weights[place + law.last]) / 2**128
            return (
                mpmath.mpf(law.weights[-1])
                / 2**128
                * (1 - ratio)
                * ratio ** (abs(place) - law.last - 1)
            )

        for order in (2, 64, 1000):
            places = range(-law.last - 400, law.last + 401)
            power = mpmath.fsum(mass(x) ** order * mass(x - 1) ** (1 - order) for x in places)
            exact_divergence = float(mpmath.log(power) / (order - 1))
            assert renyi_divergence(law.noise, float(order)) >= exact_divergence * (1 - 1e-15)
            assert renyi_divergence(law.noise, float(order)) == pytest.approx(
                exact_divergence, rel=1e-11
            )
    with pytest.raises(UnsupportedError, match="steep"):
        UntruncatedLaw.of(LatticeNoise.from_weights([1.0], math.exp(-60.0), domain="integer"))


def test_endless_law_is_for_one_answer():
    with pytest.raises(UnsupportedError, match="one answer"):
        UntruncatedLaw.of(cube(3.0, 4))
    with pytest.raises(UnsupportedError, match="no probability"):
        UntruncatedLaw.of(LatticeNoise.from_weights([1.0, 0.0, 1.0], None))
