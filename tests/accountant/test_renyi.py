"""Rényi divergences against 40-digit sums, closed forms and their limits; conversions to (ε, δ)."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

import reference_privacy as reference
from leastnoise import (
    AccountingError,
    InvalidParameterError,
    LatticeNoise,
    PrivacyLoss,
    cube,
    discrete_gaussian,
    epsilon_from_renyi,
    gaussian,
    laplace,
    moments_epsilon,
    renyi_divergence,
    staircase,
)

pytestmark = pytest.mark.portable

ORDERS = [1, 1 + 1e-9, 1.0001, 1.006, 1.5, 2, 5.95, 18, 125.01, 1000]


def some_laws() -> dict[str, tuple[LatticeNoise, int]]:
    k = np.arange(41)
    return {
        "geometric": (LatticeNoise.from_weights([1.0], 0.9, domain="integer"), 1),
        "smooth": (LatticeNoise.from_weights(np.exp(-((k / 9.0) ** 1.5)), 0.8), 4),
        "nearly flat": (LatticeNoise.from_weights(np.exp(-k / 4e3), 0.999), 2),
        "steep": (LatticeNoise.from_weights(np.exp(-2.0 * k), 0.1, domain="integer"), 3),
    }


@pytest.mark.parametrize("name", some_laws())
@pytest.mark.parametrize("order", ORDERS)
def test_monotone_laws_against_forty_digits(name, order):
    law, shift = some_laws()[name]
    exact = reference.renyi_divergence(law, order, shift)
    ours = renyi_divergence(law, order, shift * law.step)
    assert ours >= exact
    assert ours <= exact * (1 + 1e-11)


@pytest.mark.parametrize("order", [1, 1 + 1e-8, 1.001, 1.5, 4.0])
@pytest.mark.parametrize("ratio", [1e-30, 1.9e-51, 1e-120])
def test_steep_joint_laws_count_what_only_the_neighbour_has(ratio, order):
    """Where P is too faint to be listed and Q is not, Q was left out: D_1 = 115.8 was stated for
    116.8."""
    law = LatticeNoise.from_weights([1.0], ratio, domain="integer", dimension=2)
    losses, masses = [], []
    with mp.workdps(400):
        r = mp.mpf(ratio)
        h = [r**k for k in range(14)]
        total = sum((1 if k == 0 else 8 * k) * h[k] for k in range(14))
        for x in range(-12, 13):
            for y in range(-12, 13):
                i, j = max(abs(x), abs(y)), max(abs(x - 1), abs(y - 1))
                losses.append((j - i) * -mp.log(r))
                masses.append(h[i] / total)
        if order == 1:
            exact = sum(p * loss for p, loss in zip(masses, losses, strict=True))
        else:
            a = mp.mpf(order) - 1
            exact = (
                mp.log(sum(p * mp.exp(a * loss) for p, loss in zip(masses, losses, strict=True)))
                / a
            )
        ours = renyi_divergence(law, order)
        assert exact <= ours <= exact * (1 + mp.mpf("1e-10"))


def test_rippled_law_takes_the_worst_shift():
    k = np.arange(30)
    law = LatticeNoise.from_weights(
        np.exp(-k / 5.0) * (1 + 0.4 * np.cos(np.pi * k)), 0.7, domain="integer"
    )
    for order in (1, 2, 20):
        shifts = [reference.renyi_divergence(law, order, t) for t in (1, 2)]
        assert renyi_divergence(law, order, 2) == pytest.approx(float(max(shifts)), rel=1e-11)
        assert order > 2 or shifts[0] > shifts[1]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("sigma", [0.1, 0.3, 2.0, 8.0, 500.0])
def test_laplace_closed_form(order, sigma):
    with mp.workdps(60):
        ratio, alpha = mp.sqrt(2) / mp.mpf(sigma), mp.mpf(order)
        if order == 1:
            exact = ratio + mp.expm1(-ratio)
        else:
            first = alpha / (2 * alpha - 1) * mp.e ** ((alpha - 1) * ratio)
            exact = mp.log(first + (alpha - 1) / (2 * alpha - 1) * mp.e ** (-alpha * ratio)) / (
                alpha - 1
            )
    ours = renyi_divergence(laplace(sigma), order, 1)
    assert ours >= exact
    assert ours <= exact * (1 + 1e-11)


def test_pure_privacy_of_laplace_noise_is_its_largest_loss():
    for sigma in (0.1, 1.0, 30.0):
        assert renyi_divergence(laplace(sigma), math.inf) == pytest.approx(
            math.sqrt(2.0) / sigma, rel=1e-12
        )
        assert renyi_divergence(laplace(sigma), math.inf) >= math.sqrt(2.0) / sigma


def test_odd_divergences_are_refused():
    for divergence in (-1.0, math.nan, "1"):
        with pytest.raises(InvalidParameterError, match="divergence"):
            epsilon_from_renyi(divergence, 2.0, 1e-6)


def test_limits_in_the_order():
    law = staircase(2.0)
    assert renyi_divergence(law, math.inf, 1) == pytest.approx(
        renyi_divergence(law, 1e7, 1), rel=1e-5
    )
    assert renyi_divergence(law, 1, 1) == pytest.approx(
        renyi_divergence(law, 1 + 1e-7, 1), rel=1e-6
    )
    values = [renyi_divergence(law, order, 1) for order in (1, 1.1, 2, 8, 100, math.inf)]
    assert all(np.diff(values) > 0)
    assert renyi_divergence(gaussian(2), math.inf, 1) == math.inf
    assert renyi_divergence(LatticeNoise([0.5, 0.5], None), 2, 1) == math.inf


def test_joint_law_against_enumeration():
    law = LatticeNoise.from_weights(np.exp(-np.arange(7) / 1.5), 0.3, domain="integer", dimension=2)
    losses, masses, _ = reference.loss_table(law, (2, 2), 40)
    for order in (1.5, 4.0):
        exact = math.log(math.fsum(masses * np.exp((order - 1) * losses))) / (order - 1)
        assert renyi_divergence(law, order, 2) == pytest.approx(exact, rel=1e-9)


def test_conversions():
    for order in (1.2, 3.0, 40.0):
        assert epsilon_from_renyi(0.5, order, 1e-6, "improved") <= epsilon_from_renyi(
            0.5, order, 1e-6, "moments"
        )
    assert epsilon_from_renyi(0.5, 3.0, 1e-6, "moments") == pytest.approx(
        0.5 + math.log(1e6) / 2, rel=1e-14
    )
    # Canonne, Kamath and Steinke 2020, Prop. 12
    assert epsilon_from_renyi(0.5, 3.0, 1e-6) == pytest.approx(
        0.5 + math.log(2 / 3) - math.log(3e-6) / 2, rel=1e-14
    )
    assert epsilon_from_renyi(0.1, 2.0, 0.9) == 0.0


def test_moments_accountant_of_the_gaussian_is_its_closed_form():
    # n s²/(2σ²) + s/σ·√(2 n log(1/δ)), from minimising Prop. 2.4 by hand
    exact = 10 / 128 + math.sqrt(2 * 10 * math.log(1e6)) / 8
    epsilon, order = moments_epsilon(gaussian(8), 1e-6, 1, 10)
    assert epsilon == pytest.approx(exact, rel=1e-9)
    assert order == pytest.approx(1 + math.sqrt(2 * math.log(1e6) / 10) * 8, rel=1e-3)


@pytest.mark.parametrize(
    "noise",
    [gaussian(3), laplace(3), discrete_gaussian(3), staircase(3), cube(3, 2, step=0.25)],
    ids=str,
)
@pytest.mark.parametrize("compositions", [1, 12])
def test_moments_accountant_never_beats_the_tight_one(noise, compositions):
    tight = PrivacyLoss.of(noise, 1).compose(compositions).epsilon_bounds(1e-6)
    improved, _ = moments_epsilon(noise, 1e-6, 1, compositions, "improved")
    classic, _ = moments_epsilon(noise, 1e-6, 1, compositions)
    assert tight.lower <= improved <= classic * (1 + 1e-9)


def test_bad_orders_are_refused():
    for bad in (0.5, -1, math.nan, "2"):
        with pytest.raises(InvalidParameterError, match="order"):
            renyi_divergence(gaussian(1), bad, 1)
    with pytest.raises(InvalidParameterError, match="order"):
        epsilon_from_renyi(1.0, 1.0, 1e-6)
    with pytest.raises(InvalidParameterError, match="conversion"):
        epsilon_from_renyi(1.0, 2.0, 1e-6, "best")
    with pytest.raises(AccountingError, match="bounded support"):
        moments_epsilon(LatticeNoise([0.5, 0.5], None), 1e-6)
