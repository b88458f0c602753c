"""The hidden count: its theorem by enumeration, the law of one answer, its draws, its refusals."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from leastnoise import (
    Box,
    Euclidean,
    LatticeNoise,
    Noise,
    OneSided,
    PrivacyLoss,
    cube,
    exact,
)
from leastnoise.errors import InvalidParameterError, UnsupportedError
from leastnoise.laws.lifted import LiftedNoise
from leastnoise.sampling import InsecureSeededEntropy, draw, release

pytestmark = pytest.mark.portable

PROFILES = [[4.0, 3.0, 2.0, 1.0], [5.0, 5.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [9.0, 3.0, 1.0, 0.3]]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(("d", "m"), [(2, 1), (2, 2), (3, 1)])
def test_no_change_that_is_all_up_or_all_down_is_above_the_cube(profile, d, m):
    """δ of what is published, (x_i + x_0)/2, for every admissible shift, against the bound."""
    base = LatticeNoise.from_weights(profile, None, domain="integer", dimension=d + 1)
    published = Counter()
    reach = range(-base.last, base.last + 1)
    for x in itertools.product(reach, repeat=d + 1):
        probability = float(base.pmf(max(map(abs, x))))
        published[tuple(x[0] + one for one in x[1:])] += probability  # twice the noise
    epsilons = np.array([0.0, 0.1, 0.5, 1.0, 2.0])
    bound = base.loss(float(m)).profile(epsilons)
    for up in itertools.product(range(m + 1), repeat=d):
        for v in (up, tuple(-one for one in up)):
            delta = np.zeros(epsilons.size)
            for x, p in published.items():
                other = published[tuple(a - 2 * b for a, b in zip(x, v, strict=True))]
                delta += np.maximum(p - np.exp(epsilons) * other, 0.0)
            assert np.all(delta <= bound + 1e-12)
    mixed = (m, *(-m,) * (d - 1))
    delta = sum(
        max(p - math.e * published[tuple(a - 2 * b for a, b in zip(x, mixed, strict=True))], 0.0)
        for x, p in published.items()
    )
    if profile == PROFILES[0]:
        assert delta > base.loss(float(m)).profile(1.0)  # changes of any signs are: refused


@pytest.mark.parametrize("profile", PROFILES)
def test_nor_of_four_answers(profile):
    """The same with arrays: 7^5 points of the cube, 13^4 places of what is published."""
    d = 4
    base = LatticeNoise.from_weights(profile, None, domain="integer", dimension=d + 1)
    x = np.indices((7,) * (d + 1)).reshape(d + 1, -1) - 3
    p = np.zeros((13 + 8,) * d)  # twice the noise, with room for a shift of 2 on either side
    np.add.at(p, tuple(x[0] + one + 10 for one in x[1:]), base.pmf(np.abs(x).max(axis=0)))
    epsilons = [0.0, 0.1, 0.5, 1.0, 2.0]
    bound = base.loss(1.0).profile(epsilons)

    def deltas(v):
        moved = np.roll(p, tuple(2 * one for one in v), axis=tuple(range(d)))
        return np.array([np.sum(np.maximum(p - math.exp(e) * moved, 0.0)) for e in epsilons])

    for ones in range(1, d + 1):  # the order of the answers does not matter
        for sign in (1, -1):
            assert np.all(deltas((sign,) * ones + (0,) * (d - ones)) <= bound + 1e-12)
    if profile == PROFILES[0]:
        assert np.any(deltas((1, 1, -1, -1)) > bound)


def test_the_law_of_one_answer():
    law = LiftedNoise(exact(cube(6.0, 4), delta=1e-6))
    drawn = draw(law, 60_000, entropy=InsecureSeededEntropy(5)).floats()
    assert drawn.shape == (60_000, 3)
    assert law.variance == pytest.approx(18.0, rel=1e-6)
    assert stats.kstest(drawn[:, 1], lambda x: 1.0 - law.ccdf(x)).pvalue > 1e-4
    assert stats.kstest(1.06 * drawn[:, 1], lambda x: 1.0 - law.ccdf(x)).pvalue < 1e-4
    assert np.corrcoef(drawn.T)[0, 1] == pytest.approx(0.5, abs=0.02)
    for c in ([1, -1, 0], [1, 1, 1], [2.0, 0.5, -1.0]):
        assert np.var(drawn @ c) == pytest.approx(law.variance_of(c), rel=0.04)
    simulated = law.insecure_draws(60_000, np.random.default_rng(1))
    assert np.var(simulated) == pytest.approx(law.variance, rel=0.04)


def test_density_tail_and_quantile_belong_together():
    law = LiftedNoise(cube(6.0, 4))
    x = np.linspace(0.0, 60.0, 60_001)
    assert 0.5 - np.trapezoid(law.pdf(x), x) == pytest.approx(float(law.ccdf(60.0)), abs=1e-9)
    u = np.array([1e-12, 1e-3, 0.025, 0.3, 0.5, 0.7, 0.999])
    assert law.ccdf(-law.quantile(u)) == pytest.approx(u, rel=1e-9)
    assert law.quantile(u, upper=True) == pytest.approx(-law.quantile(u), rel=1e-9)
    assert law.interval(0.95) == pytest.approx(float(law.quantile(0.975)))


def test_every_output_is_on_one_lattice():
    law = LiftedNoise(exact(cube(6.0, 4), delta=1e-6))
    out = release(law, [[0.0, 1.25, -7.0]] * 50)
    assert out.unit == law.base.sampler().unit
    assert law.sampler().pitch == 2 * out.unit


def test_only_changes_that_are_all_up_or_all_down_are_judged():
    law = LiftedNoise(cube(8.0, 4))
    bounds = PrivacyLoss.of(law, 1.0, OneSided()).epsilon_bounds(1e-6)
    assert bounds.upper == PrivacyLoss.of(law.base).epsilon(1e-6)
    assert bounds.lower == 0.0  # it is an upper bound alone
    assert PrivacyLoss.of(law, 1.0, OneSided(2)).epsilon(1e-6) == bounds.upper
    either_way = OneSided(ranges=((0.0, 1.0), (0.0, 1.0), (-0.1, 1.0)))
    for space in (Box(), Box(1), Euclidean(1.0), either_way):
        with pytest.raises(UnsupportedError, match="all up or all down"):
            PrivacyLoss.of(law, 1.0, space)
    with pytest.raises(UnsupportedError):
        law.loss_at(1)
    with pytest.raises(UnsupportedError, match="radius"):
        law.pmf(0)


@pytest.mark.parametrize("base", [cube(8.0, 2), cube(8.0, 4, domain="integer")])
def test_what_cannot_be_lifted_is_refused(base):
    with pytest.raises(InvalidParameterError, match="at least 3 answers"):
        LiftedNoise(base)


def test_a_drawn_law_comes_back():
    law = LiftedNoise(exact(cube(6.0, 4), delta=1e-6))
    assert Noise.from_drawn(law.describe_drawn()) == law
    with pytest.raises(ValueError, match="law"):
        Noise.from_drawn({**law.describe_drawn(), "more": 1})
