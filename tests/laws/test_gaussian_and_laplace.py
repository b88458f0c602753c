"""The continuous Gaussian and Laplace laws against mpmath."""

import copy
import dataclasses
import pickle

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leastnoise import cost, gaussian, laplace
from leastnoise.errors import InvalidParameterError, UnsupportedError
from leastnoise.laws.gaussian import GaussianNoise
from leastnoise.laws.laplace import LaplaceNoise

SIGMAS = [1e-6, 0.05, 1.0, 8.0, 1e3, 1e9]
X = np.array(
    [-38.0, -20.0, -5.0, -1.0, -1e-9, 0.0, 1e-9, 0.3, 1.0, 5.0, 20.0, 38.0]
)  # in units of sigma; 38 is about 1e-315


def exact_ccdf(law, z):
    """P(Z > z·sigma)."""
    with mpmath.workdps(40):
        z = mpmath.mpf(float(z))
        if law is gaussian:
            return float(mpmath.erfc(z / mpmath.sqrt(2)) / 2)
        far = mpmath.exp(-abs(z) * mpmath.sqrt(2)) / 2
        return float(far if z > 0 else 1 - far)


@pytest.mark.parametrize("law", [gaussian, laplace])
@pytest.mark.parametrize("sigma", SIGMAS)
def test_probabilities_and_density(law, sigma):
    noise = law(sigma)
    assert noise.ccdf(sigma * X) == pytest.approx([exact_ccdf(law, z) for z in X], rel=1e-12)
    assert np.array_equal(noise.cdf(sigma * X), noise.ccdf(-sigma * X))
    with mpmath.workdps(40):
        density = [
            mpmath.npdf(z)
            if law is gaussian
            else mpmath.exp(-abs(mpmath.mpf(z)) * mpmath.sqrt(2)) / mpmath.sqrt(2)
            for z in X.tolist()
        ]
    assert noise.pdf(sigma * X) * sigma == pytest.approx([float(p) for p in density], rel=1e-12)
    assert noise.std == pytest.approx(sigma, rel=1e-15)
    assert noise.variance == pytest.approx(sigma**2, rel=1e-15)


@pytest.mark.parametrize("law", [gaussian, laplace])
def test_quantiles_reach_1e_200_on_both_sides(law):
    noise = law(3.0)
    u = np.array([1e-300, 1e-200, 1e-30, 1e-9, 0.1, 0.4999, 0.5, 0.6, 1 - 1e-9])
    assert noise.cdf(noise.quantile(u)) == pytest.approx(u, rel=1e-11)
    assert noise.ccdf(noise.quantile(u, upper=True)) == pytest.approx(u, rel=1e-11)
    assert noise.quantile(u) == pytest.approx(-noise.quantile(u, upper=True), rel=1e-15)
    assert float(noise.quantile(0.5)) == 0.0


@given(st.sampled_from([gaussian, laplace]), st.floats(1e-3, 1e3), st.floats(-30, 30))
def test_values_come_back_from_their_probability(law, sigma, z):
    noise, x = law(sigma), sigma * z
    if z < 0:
        assert float(noise.quantile(noise.cdf(x))) == pytest.approx(x, rel=1e-9, abs=1e-12 * sigma)
    else:
        assert float(noise.quantile(noise.ccdf(x), upper=True)) == pytest.approx(
            x, rel=1e-9, abs=1e-12 * sigma
        )


@pytest.mark.parametrize("law", [gaussian, laplace])
def test_the_variance_is_that_of_the_density(law):
    noise = law(2.5)
    x = np.linspace(-120, 120, 2_400_001)
    assert np.sum(x * x * noise.pdf(x)) * (x[1] - x[0]) == pytest.approx(6.25, rel=1e-7)
    assert np.sum(noise.pdf(x)) * (x[1] - x[0]) == pytest.approx(1.0, rel=1e-7)


def test_known_intervals():
    assert gaussian(1.0).interval(0.95) == pytest.approx(1.959963984540054, rel=1e-14)
    assert laplace(np.sqrt(2)).interval(0.95) == pytest.approx(-np.log(0.05), rel=1e-14)


@pytest.mark.parametrize("law", [gaussian, laplace])
def test_arrays_and_ends(law):
    noise = law(0.5)
    grid = np.zeros((2, 3))
    assert (
        noise.pdf(grid).shape
        == noise.cdf(grid).shape
        == noise.ccdf(grid).shape
        == noise.quantile(grid + 0.3).shape
        == (2, 3)
    )
    assert noise.ccdf([np.inf, -np.inf, 1e308]).tolist() == [0.0, 1.0, 0.0]
    assert noise.cdf([np.inf, -np.inf, -1e308]).tolist() == [1.0, 0.0, 0.0]
    assert noise.pdf([np.inf, -np.inf, 1e308]).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("law", [gaussian, laplace, GaussianNoise, LaplaceNoise])
@pytest.mark.parametrize(
    "sigma", [0.0, -1.0, float("nan"), float("inf"), "1", True, None, [1.0]], ids=repr
)
def test_bad_deviations_are_refused(law, sigma):
    with pytest.raises(InvalidParameterError) as caught:
        law(sigma)
    assert str(caught.value).startswith(f"Expected sigma={sigma!r} ")


@pytest.mark.parametrize("law", [gaussian, laplace])
def test_bad_arguments_are_refused(law):
    noise = law(1.0)
    for method, name, value in [
        (noise.cdf, "x", np.nan),
        (noise.ccdf, "x", "far"),
        (noise.pdf, "x", [0.0, np.nan]),
        (noise.quantile, "u", 0.0),
        (noise.quantile, "u", 1.0),
        (noise.quantile, "u", [0.5, np.nan]),
        (noise.interval, "confidence", 0.0),
        (noise.interval, "confidence", "0.9"),
    ]:
        with pytest.raises(InvalidParameterError) as caught:
            method(value)
        assert str(caught.value).startswith(f"Expected {name}=")
    with pytest.raises(UnsupportedError, match="no lattice points"):
        noise.pmf(0)


@pytest.mark.parametrize("law", [gaussian, laplace])
def test_a_closed_form_is_a_frozen_value(law):
    noise = law(2)
    assert (noise.dimension, noise.step, noise.domain) == (1, None, "real")
    assert type(noise.sigma) is float
    assert noise == law(2.0)
    assert noise != law(2.1)
    assert hash(noise) == hash(law(2.0))
    assert gaussian(2.0) != laplace(2.0)
    for clone in (copy.deepcopy(noise), pickle.loads(pickle.dumps(noise))):
        assert clone == noise
    for name in ["sigma", "variance", "other"]:
        with pytest.raises((dataclasses.FrozenInstanceError, AttributeError)):
            setattr(noise, name, 1.0)


@pytest.mark.parametrize("law", [gaussian(3.0), laplace(3.0)])
def test_expected_costs(law):
    """Closed forms for powers, quadrature for the others."""
    for q in (1.0, 3.0):
        by_sum = law.expected_cost(cost.custom(lambda z, q=q: np.abs(z) ** q, growth=q))
        assert law.expected_cost(cost.power(q)) == pytest.approx(by_sum, rel=1e-6)
    assert law.expected_cost(cost.quadratic()) == 9.0
