"""The judge of the ball-shaped law against mpmath, Monte Carlo, geometry in small dimensions and
direct convolution."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from scipy import integrate

from leastnoise import (
    AccountingError,
    PrivacyLoss,
    cube,
    gaussian,
    laplace,
    renyi_divergence,
    sphere,
)
from leastnoise.lattice.steps import exact_step
from leastnoise.laws.sphere import BallNoise
from leastnoise.losses.laplace import LaplaceLoss
from leastnoise.losses.sphere import BallLoss

pytestmark = pytest.mark.portable

EPSILON = {
    2: 0.306048,
    5: 0.673546,
    10: 1.206968,
    20: 2.046089,
    40: 3.295977,
    60: 4.288958,
    100: 5.922804,
}


def density(d, a):
    """Of η = L/(2a), from K and I as mpmath has them; the constant is that of ∫ e^(aη)(1−η²)^(λ−½)
    dη ∝ I_λ(a)/a^λ."""
    a, nu = mp.mpf(a), mp.mpf(d - 2) / 2
    rho = (d - 1) / a * mp.besselk(nu + 1, a) / mp.besselk(nu, a)

    def moment(power, rate):  # ∫ e^(rate η) (1−η²)^power dη
        order = power + mp.mpf(1) / 2
        return mp.sqrt(mp.pi) * mp.gamma(power + 1) * (2 / rate) ** order * mp.besseli(order, rate)

    def generating(theta):
        rate = a * (1 + 2 * theta)
        return rho * moment(mp.mpf(d - 3) / 2, rate) + moment(mp.mpf(d - 1) / 2, rate)

    return rho, generating


def exact_delta(d, a, epsilon):
    rho, generating = density(d, a)

    last = mp.acos(mp.mpf(epsilon) / (2 * a))

    def integrand(u):  # of size 1: mpmath stops at an absolute error
        gain = (1 - mp.exp(epsilon - 2 * a * mp.cos(u))) / (2 * a - epsilon)
        return (
            mp.exp(a * mp.cos(u))
            * (mp.sin(u) / mp.sin(last)) ** (d - 2)
            * (rho + mp.sin(u) ** 2)
            * gain
        )

    whole = mp.quad(integrand, mp.linspace(0, last, 5))
    return whole * mp.sin(last) ** (d - 2) * (2 * a - mp.mpf(epsilon)) / generating(0)


@pytest.mark.parametrize(
    ("d", "a"), [(2, 0.153), (3, 0.2), (3, 6.0), (10, 0.655), (61, 3.8), (100, 6.3)]
)
def test_profile_lies_between_its_bounds_and_mpmath_between_them(d, a):
    loss = BallLoss(a, d)
    with mp.workdps(30):
        for share in (0.0, 0.3, 0.9, 0.999):
            epsilon = share * 2 * a
            exact = exact_delta(d, a, epsilon)
            upper, lower = float(loss.profile(epsilon)), float(loss.profile_lower(epsilon))
            assert lower <= exact <= upper
            assert upper <= lower * (1 + 1e-8)
    assert float(loss.profile(2 * a * (1 + 1e-14))) == 0.0
    assert float(loss.profile(-1.0)) >= -math.expm1(-1.0)


@pytest.mark.parametrize("d", [2, 3])
def test_profile_by_quadrature_of_the_noise_itself(d):
    """δ(ε) = ∫ (P − e^ε Q)_+ over the radius and the angle of z: no spheroidal coordinates, no
    Bessel functions."""
    a, epsilon = 0.9, 0.7
    distance = 2 * a  # in units of b

    def height(r):
        # ‖z−v‖ − r > ε for cos ω < t; over those angles Q is integrated at fixed r.
        t = np.clip((distance**2 - 2 * r * epsilon - epsilon**2) / (2 * r * distance), -1.0, 1.0)
        nodes, weights = np.polynomial.legendre.leggauss(60)
        omega = math.acos(t) + (nodes + 1) / 2 * (math.pi - math.acos(t))
        far = np.sqrt(r * r + distance**2 - 2 * r * distance * np.cos(omega))
        part = math.exp(-r) - math.exp(epsilon) * np.exp(-far)
        return (
            r ** (d - 1)
            * np.sum(weights * np.sin(omega) ** (d - 2) * part)
            * (math.pi - math.acos(t))
            / 2
        )

    whole = math.gamma(d) * (math.pi if d == 2 else 2.0)
    breaks = [0.0, (distance - epsilon) / 2, 1.0, 3.0, 8.0, 20.0, 60.0]
    value = sum(
        integrate.quad(height, x, y, epsabs=1e-13, epsrel=1e-11)[0]
        for x, y in itertools.pairwise(breaks)
    )
    assert float(BallLoss(a, d).profile(epsilon)) == pytest.approx(value / whole, rel=1e-8)


@pytest.mark.parametrize("d", [2, 10, 60])
def test_profile_against_monte_carlo(d):
    rng = np.random.default_rng(d)
    noise = sphere(1.0, d)
    n = 200_000
    z = rng.normal(size=(n, d))
    z *= (noise.scale * rng.gamma(d, size=n) / np.linalg.norm(z, axis=1))[:, None]
    v = rng.choice([-1.0, 1.0], size=d) / 3  # any corner
    loss = (np.linalg.norm(z - v, axis=1) - np.linalg.norm(z, axis=1)) / noise.scale
    judged = noise.loss(1 / 3)
    assert loss.max() <= judged.largest * (1 + 1e-12)
    for share in (0.1, 0.4):
        epsilon = share * judged.largest
        terms = np.maximum(-np.expm1(epsilon - loss), 0.0)
        assert abs(terms.mean() - float(judged.profile(epsilon))) < 4.5 * terms.std() / math.sqrt(n)


@pytest.mark.parametrize("d", EPSILON)
def test_one_release_at_sigma_8(d):
    judged = PrivacyLoss.of(sphere(8.0, d)).epsilon_bounds(1e-6)
    assert judged.upper == pytest.approx(EPSILON[d], abs=1e-6)
    assert judged.lower <= judged.upper <= judged.lower * (1 + 1e-9)
    assert judged.upper < PrivacyLoss.of(gaussian(8.0), math.sqrt(d)).epsilon(1e-6)
    assert (judged.upper < PrivacyLoss.of(cube(8.0, d)).epsilon(1e-6)) == (d >= 60)


def test_one_dimension_would_be_laplace():
    """The formulas at d = 3 have the Laplace law's largest loss; at a given a more answers mean a
    loss nearer to 0."""
    epsilon = np.linspace(0.0, 1.9, 20)
    profiles = [LaplaceLoss(2.0).profile(epsilon)] + [
        BallLoss(1.0, d).profile(epsilon) for d in (2, 3, 5, 9)
    ]
    assert all(np.all(more < less) for less, more in itertools.pairwise(profiles))
    assert PrivacyLoss.of(laplace(1.0), 1.0).epsilon(1e-6) == pytest.approx(
        math.sqrt(2.0), rel=1e-5
    )


def test_the_longest_shift_is_worst():
    noise = sphere(2.0, 7)
    epsilon = np.linspace(0.0, 1.0, 40)
    profiles = [noise.loss(s).profile(epsilon) for s in (0.2, 0.5, 0.9, 1.0, 1.3)]
    assert all(np.all(short <= far) for short, far in itertools.pairwise(profiles))


@pytest.mark.parametrize(("d", "pitch"), [(2, 0.01), (3, 0.5), (10, 0.02), (40, 0.01), (100, 0.3)])
def test_table_dominates_and_keeps_both_masses(d, pitch):
    loss = sphere(8.0, d).loss(1.0)
    table = loss.table(pitch, -loss.largest, loss.largest)
    assert table.largest == pytest.approx(loss.largest, rel=1e-14)
    assert np.exp(table.log_p).sum() == pytest.approx(1.0, abs=1e-12)
    assert np.exp(table.log_p - table.loss).sum() == pytest.approx(1.0, abs=1e-12)
    grid = np.linspace(0.0, 0.95 * loss.largest, 200)
    assert np.all(table.profile(grid) >= loss.profile_lower(grid))
    # On the grid's own points Connect-the-Dots changes nothing.
    points = table.loss[(table.loss >= 0) & (table.loss < 0.9 * loss.largest)]
    assert table.profile(points) == pytest.approx(loss.profile(points), rel=1e-9, abs=1e-80)


@pytest.mark.parametrize("d", [3, 20])
def test_two_releases_against_direct_convolution(d):
    """δ of two releases = E over the first loss of the profile at ε − L: one integral, no grid."""
    loss = sphere(4.0, d).loss(1.0)
    nodes = loss.nodes()
    held = nodes.log_p > -40.0  # 4e-18
    first, mass = nodes.loss[held], np.exp(nodes.log_p[held])
    two = PrivacyLoss.of(sphere(4.0, d)).compose(2)
    for delta in (1e-3, 1e-9):
        bounds = two.epsilon_bounds(delta)
        assert bounds.lower <= bounds.upper <= bounds.lower * (1 + 3e-4)

        def exact(epsilon):
            return float(mass @ loss.profile(epsilon - first))

        assert exact(bounds.upper) <= delta * (1 + 1e-9)
        assert (
            exact(bounds.upper * (1 - 2e-5)) > delta
        )  # the rise is below the target of 1e-5, doubled
        assert exact(bounds.lower) >= delta * (1 - 1e-9)


def test_composition_with_other_losses_and_tiny_deltas():
    mixed = PrivacyLoss.of(sphere(8.0, 20)).compose(PrivacyLoss.of(gaussian(8.0)).compose(3))
    bounds = mixed.epsilon_bounds(1e-6)
    assert (
        PrivacyLoss.of(sphere(8.0, 20)).epsilon(1e-6)
        < bounds.lower
        <= bounds.upper
        < 1.001 * bounds.lower
    )
    one = PrivacyLoss.of(sphere(8.0, 60))
    assert one.delta(one.epsilon(1e-40)) == pytest.approx(1e-40, rel=1e-6)


@pytest.mark.parametrize("d", [2, 3, 30])
def test_renyi_divergence_by_bessel_functions(d):
    noise = sphere(8.0, d)
    a = noise.loss(1.0).half
    with mp.workdps(30):
        _, generating = density(d, a)
        for order in (1.01, 2.0, 17.0, 300.0):
            exact = mp.log(generating(mp.mpf(order) - 1) / generating(0)) / (order - 1)
            ours = renyi_divergence(noise, order)
            assert exact * (1 - 1e-13) <= ours <= exact * (1 + 1e-11)
    assert renyi_divergence(noise, math.inf) == pytest.approx(2 * a, rel=1e-12)
    assert renyi_divergence(noise, 1e5) <= renyi_divergence(noise, math.inf)


def test_sensitivity_is_rounded_up_to_whole_pitches():
    noise = sphere(8.0, 4, step=0.125)
    assert noise.loss(0.375).half == pytest.approx(0.5 * 0.375 * 2.0 / noise.scale, rel=1e-14)
    pitch = noise.step / 2**16
    assert noise.loss(0.25 * pitch).half == pytest.approx(
        0.5 * pitch * 2.0 / noise.scale, rel=1e-14
    )
    assert noise.loss(7.01 * pitch).half == pytest.approx(
        4.0 * pitch * 2.0 / noise.scale, rel=1e-14
    )


def test_a_quadrature_that_is_not_proven_is_not_used(monkeypatch):
    monkeypatch.setattr("leastnoise.losses.sphere._QUADRATURE", 0.0)
    with pytest.raises(AccountingError, match="not accurate enough"):
        BallLoss(0.5, 5).table(0.01, -1.0, 1.0)


def test_what_cannot_be_certified_is_refused():
    with pytest.raises(AccountingError, match="ball law"):
        PrivacyLoss.of(sphere(8.0, 4), 1e9)


@pytest.mark.parametrize(
    ("scale", "d", "step", "s", "epsilon"),
    [
        (0.05602730895521047, 5, 9.0, 3.0, 119.73462183934113),
        (0.00024027384930625672, 4, 0.1, 0.1, 832.3835517152725),
        (0.00033734561757232256, 2, 0.30000000000000004, 0.1, 419.2299863056758),
        (0.01310420891198235, 21, 0.1, 0.1, 34.969897772880124),
    ],
)
def test_bounds_next_to_the_largest_loss(scale, d, step, s, epsilon):
    """`half` is rounded up, and lower bounds took it for exact: 2.514e-28 was stated
    for 2.510e-28."""
    pitch = exact_step(step) / 2**16
    distance = math.ceil(Fraction(s) / pitch) * pitch
    bounds = PrivacyLoss.of(BallNoise(scale, d, step), s).delta_bounds(epsilon)
    with mp.workdps(60):
        a = mp.mpf(distance.numerator) / distance.denominator / mp.mpf(scale) * mp.sqrt(d) / 2
        assert bounds.lower <= exact_delta(d, a, mp.mpf(epsilon)) <= bounds.upper


@pytest.mark.parametrize(
    ("d", "a"),
    [
        (3, 500.0),
        *(
            pytest.param(*one, marks=pytest.mark.long)
            for one in ((4, 900.0), (5, 4000.0), (10, 9000.0))
        ),
    ],
)
def test_few_answers_and_huge_losses(d, a):
    """The panels began below the smallest float: a warning, and "float division by zero" for
    divergences."""
    loss = BallLoss(a, d)
    with mp.workdps(40):
        for share in (0.5, 1 - 1e-3, 1 - 1e-6):
            epsilon = share * 2 * a
            exact = exact_delta(d, mp.mpf(a), mp.mpf(epsilon))
            assert (
                float(loss.profile_lower(epsilon))
                <= exact
                <= float(loss.profile(epsilon))
                <= exact * (1 + mp.mpf("1e-6"))
            )
    assert 2 * a - d - 2 < loss.divergence(2.0) < 2 * a


@pytest.mark.parametrize(("d", "half"), [(21, 5.2), (5, 8.6), (5, 10.0)])
def test_profile_below_zero_is_rounded_up(d, half):
    """δ(−ε) = 1 − e^(−ε) + e^(−ε)δ(ε), of which the sum was rounded to nearest."""
    loss = BallLoss(half, d)
    with mp.workdps(40):
        for epsilon in np.linspace(0.5, 2.5 * half, 20):
            at = mp.mpf(float(epsilon))
            there = exact_delta(d, mp.mpf(half), at) if at < 2 * half else mp.mpf(0)
            exact = 1 - mp.exp(-at) * (1 - there)
            assert (
                float(loss.profile_lower(-float(epsilon)))
                <= exact
                <= float(loss.profile(-float(epsilon)))
            )


def test_two_releases_at_tiny_delta_have_the_sum_of_their_largest_losses():
    """δ falls as the square of what is left below the sum: no grid is that fine, and it was
    refused."""
    noise = sphere(8.0, 2)
    loss = PrivacyLoss.of(noise).compose(2)
    assert loss.epsilon(1e-20) == pytest.approx(2 * noise.loss(1.0).largest, rel=1e-11)


def test_a_delta_below_the_range_of_floats_is_not_nothing():
    """δ = 3.02e-537 was stated as 0, at an ε that is 7.5e-10 below the largest loss."""
    loss = PrivacyLoss.of(BallNoise(0.04661556873801303, 100, 0.1), 1.0)
    epsilon = 214.52060490046367
    lower, upper = loss.delta_bounds(epsilon)
    assert lower == 0.0 < upper < 1e-300
    assert loss.delta(loss.composition.highest) == 0.0
