"""The Schrödinger law against its closed forms, and as the end that designs approach."""

import math

import numpy as np
import pytest
from scipy.special import ai_zeros, airy

from leastnoise import PrivacyLoss, design, gaussian, laplace, schrodinger
from leastnoise.cost import absolute, custom, power, quadratic
from leastnoise.errors import DesignError

COSTS = [quadratic(), absolute(), power(4.0), power(0.5)]


def information(noise):
    """4 Σ (ψ_{k+1} − ψ_k)²/h² of the density's square root on the lattice, both sides."""
    k = np.arange(noise.last + 400)
    root = np.sqrt(noise.pmf(k))
    return 8.0 * float(np.sum(np.diff(root) ** 2)) / noise.step**2


@pytest.mark.parametrize("domain", ["real", "integer"])
@pytest.mark.parametrize("cost", COSTS)
def test_it_has_the_cost_that_is_asked_for(cost, domain):
    noise = schrodinger(5.0, cost=cost, domain=domain)
    assert noise.expected_cost(cost) == pytest.approx(cost.of(5.0), rel=1e-10)
    assert noise.is_monotone
    assert noise.domain == domain


def test_it_is_the_gaussian_for_the_square():
    noise = schrodinger(4.0, step=1 / 64)
    x = np.arange(0.0, 30.0, 0.5)
    np.testing.assert_allclose(noise.pdf(x), gaussian(4.0).pdf(x), rtol=2e-4)


def test_it_is_the_squared_airy_function_for_the_size():
    """−ψ'' + |x|ψ = Eψ has ψ = Ai(|x| − E), E = −(first zero of Ai'); by the virial theorem ⟨|x|⟩ =
    2E/3 and ∫ψ'² = E/3."""
    energy = -float(ai_zeros(1)[1][0])
    noise = schrodinger(4.0, cost=absolute(), step=1 / 64)
    scale = 4.0 / (2.0 * energy / 3.0)
    x = np.arange(0.0, 60.0, 1.0)
    form = airy(x / scale - energy)[0] ** 2
    np.testing.assert_allclose(noise.pdf(x) / noise.pdf(0.0), form / form[0], rtol=2e-4)
    least = 4.0 * energy / 3.0 * (2.0 * energy / 3.0) ** 2 / 16.0
    assert information(noise) == pytest.approx(least, rel=1e-4)


@pytest.mark.parametrize("cost", COSTS)
def test_no_law_on_the_lattice_has_less_information(cost):
    """The ground state against laws of the same cost beside it."""
    noise = schrodinger(3.0, cost=cost, step=0.25)
    k = np.arange(noise.last + 1)
    price, weight = cost.average(k, 0.25, "real"), np.where(k == 0, 1.0, 2.0)
    h = noise.pmf(k)
    ours = information(noise)
    chance = np.random.default_rng(4)
    for _ in range(20):
        bump = np.exp(-0.5 * ((k - chance.uniform(0, 20)) / chance.uniform(1, 8)) ** 2)
        other = h * (1.0 + 0.2 * chance.choice([-1.0, 1.0]) * bump)
        # Tilted back to the same cost, which keeps it a law of that cost.
        low, high = -1.0, 1.0
        for _ in range(80):
            tilt = 0.5 * (low + high)
            tried = other * np.exp(-tilt * price / cost.of(3.0))
            tried /= np.sum(weight * tried)
            low, high = (
                (tilt, high) if np.sum(weight * price * tried) > cost.of(3.0) else (low, tilt)
            )
        roots = np.sqrt(tried)
        assert 8.0 * np.sum(np.diff(roots) ** 2) / 0.25**2 > ours * (1.0 - 1e-9)


@pytest.mark.parametrize("cost", [absolute(), power(4.0)])
def test_designs_approach_it_where_the_sensitivity_vanishes(cost):
    """σ = 20 s: over ever more releases the best law is this one, and others stay behind."""
    excess = []
    for releases in (30, 300, 3000):
        best = design(delta=1e-6, sigma=20.0, compositions=releases, cost=cost)
        own = PrivacyLoss.of(schrodinger(20.0, cost=cost)).compose(releases).epsilon(1e-6)
        assert best.rivals["Schrödinger"] == pytest.approx(own, rel=1e-9)
        excess.append(own / best.epsilon - 1.0)
        assert excess[-1] > -1e-12
    assert best.rivals["Gaussian"] > own
    assert excess[0] > excess[1] > excess[2]
    assert excess[2] < 2e-4


def test_it_is_far_from_laplace_at_the_other_end():
    """One release at a small sigma: the law of vanishing sensitivity is not the one to take."""
    best = design(delta=1e-6, sigma=1.0, cost=absolute())
    assert best.rivals["Schrödinger"] > 1.5 * best.epsilon
    assert PrivacyLoss.of(laplace(math.sqrt(2.0))).epsilon(1e-6) < best.rivals["Schrödinger"]


def test_a_cost_that_does_not_grow_is_refused():
    cap = custom(lambda z: np.minimum(np.abs(z), 1.0), growth=0.0, name="at most one")
    with pytest.raises(DesignError, match="hardly grows"):
        schrodinger(0.999999, cost=cap)
