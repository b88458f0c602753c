"""Laws as scipy distributions."""

import pickle

import numpy as np
import pytest
from scipy import integrate, stats

from leastnoise import cube, design, discrete_laplace, exact, gaussian, laplace, sphere, staircase

LAWS = {
    "Gaussian": gaussian(3.0),
    "Laplace": laplace(3.0),
    "Staircase": staircase(3.0),
    "joint": cube(3.0, 4),
    "ball": sphere(3.0, 6),
    "discrete": discrete_laplace(3.0),
    "exact": exact(discrete_laplace(3.0), delta=1e-6),
    "joint integers": cube(3.0, 4, domain="integer"),
}


@pytest.mark.parametrize("name", LAWS)
def test_functions_are_those_of_the_law(name):
    law, frozen = LAWS[name], LAWS[name].as_scipy()
    x, u = np.array([-7.0, -1.0, 0.0, 2.0, 9.0]), np.array([1e-9, 0.2, 0.7, 0.999])
    assert np.array_equal(frozen.cdf(x), law.cdf(x))
    assert np.array_equal(frozen.sf(x), law.ccdf(x))
    assert np.array_equal(frozen.ppf(u), law.quantile(u))
    assert np.array_equal(frozen.isf(u), law.quantile(u, upper=True))
    assert frozen.mean() == 0.0
    assert frozen.std() == pytest.approx(law.std)
    assert frozen.interval(0.95)[1] == pytest.approx(
        law.interval(0.95), abs=1.0 if law.domain == "integer" else 1e-9
    )
    assert "not for releases" in frozen.dist.name
    assert pickle.loads(pickle.dumps(frozen)).sf(2.0) == frozen.sf(2.0)


@pytest.mark.parametrize("name", ["discrete", "exact", "joint integers"])
def test_masses_are_of_one_answer(name):
    frozen, k = LAWS[name].as_scipy(), np.arange(-60, 61)
    masses = frozen.pmf(k)
    assert masses.sum() == pytest.approx(1.0, abs=1e-7)
    assert (masses * k**2).sum() == pytest.approx(LAWS[name].variance, rel=1e-4)
    assert frozen.pmf(1.5) == 0.0


@pytest.mark.parametrize("name", ["Gaussian", "Laplace", "Staircase", "joint", "ball"])
def test_density_integrates_to_the_distribution(name):
    frozen = LAWS[name].as_scipy()
    grid = np.linspace(0.0, 4.0, 20_001)
    assert integrate.trapezoid(frozen.pdf(grid), grid) == pytest.approx(
        frozen.cdf(4.0) - 0.5, rel=1e-4
    )


@pytest.mark.parametrize("name", LAWS)
def test_rvs_follow_the_law_and_repeat_with_a_seed(name):
    law, frozen = LAWS[name], LAWS[name].as_scipy()
    drawn = frozen.rvs(5_000, random_state=np.random.default_rng(5))
    assert drawn.std() == pytest.approx(law.std, rel=0.08)
    assert np.array_equal(drawn, frozen.rvs(5_000, random_state=np.random.default_rng(5)))
    if law.domain == "real":
        assert stats.kstest(drawn, frozen.cdf).pvalue > 1e-4


def test_design_gives_its_noise():
    best = design(delta=1e-6, sigma=8.0, compositions=10)
    assert best.noise.as_scipy().std() == pytest.approx(8.0, rel=1e-6)
