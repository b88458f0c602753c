"""What is said of an attacker, beside what (ε, δ) allows and Gaussian noise would leave."""

from __future__ import annotations

import math

import pytest
from scipy.stats import norm

from leastnoise import PrivacyLoss, design, gaussian
from leastnoise.accountant.attacker import (
    allowed_advantage,
    attacker_of,
    gaussian_mu_of,
    per_cent,
)


def test_the_numbers_of_the_recipe():
    """ε = 1, δ = 1e-6, ten answers together: 69.7 % against 54.7 %, 73.1 % being allowed."""
    attacker = design(delta=1e-6, epsilon=1.0, batch=10).attacker
    assert attacker.guess == pytest.approx(0.697, abs=5e-4)
    assert attacker.gaussian_guess == pytest.approx(0.547, abs=5e-4)
    assert attacker.allowed == pytest.approx(0.731, abs=5e-4)
    assert attacker.recognised == pytest.approx(0.0272, abs=5e-5)
    said = attacker.sentences()
    for number in ("69.7 %", "73.2 %", "54.7 %", "2.8 %", "1.8 %"):
        assert number in said


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-9), (1.0, 1e-6), (5.0, 1e-3), (20.0, 0.1)])
def test_the_gaussian_noise_that_is_compared_with_has_the_same_guarantee(epsilon, delta):
    mu = gaussian_mu_of(epsilon, delta)
    exact = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
    assert exact == pytest.approx(delta, rel=1e-6)
    attacker = attacker_of(PrivacyLoss.of(gaussian(1.0 / mu)).curve(delta=delta), epsilon, delta)
    assert attacker.guess == pytest.approx(attacker.gaussian_guess, rel=1e-6)
    assert attacker.recognised == pytest.approx(attacker.gaussian_recognised, rel=1e-3)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 4.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-2, 0.5])
def test_what_is_allowed_is_attained_by_some_pair(epsilon, delta):
    """Randomised response with a share δ told outright is (ε, δ)-private, with that advantage."""
    told = math.exp(epsilon) / (1.0 + math.exp(epsilon))
    attained = delta + (1.0 - delta) * (2.0 * told - 1.0)
    assert allowed_advantage(epsilon, delta) == pytest.approx(min(attained, 1.0), rel=1e-12)


def test_shares_are_rounded_up():
    assert per_cent(0.69601) == "69.7 %"
    assert per_cent(0.5) == "50.0 %"
    assert per_cent(2.0) == "100.0 %"


def test_a_design_is_within_what_its_promise_allows():
    for request in ({"sigma": 8.0, "compositions": 3}, {"epsilon": 2.0, "batch": 3}):
        best = design(delta=1e-6, **request)
        attacker = best.attacker
        assert 0.5 < attacker.guess <= attacker.allowed * (1.0 + 1e-9)
        assert "guesses right at most" in best.summary()
