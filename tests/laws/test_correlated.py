"""Correlated noise: the distance it is judged at, by every corner; its values; its exact draws."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from leastnoise import Box, Euclidean, Noise, OneSided, PrivacyLoss, correlated, exact, sphere
from leastnoise.errors import InvalidParameterError, UnsupportedError
from leastnoise.laws.correlated import CorrelatedNoise, best_common, gaussian_reach, normal
from leastnoise.sampling import InsecureSeededEntropy, draw
from leastnoise.sampling.entropy import words
from leastnoise.sampling.sphere import RoundedVectors, decided

pytestmark = pytest.mark.portable


def distance(law, changes):
    """√(vᵀΣ⁻¹v) that the law is judged at, of the normal one."""
    return law.loss(1.0, changes).mu * law.scale


@pytest.mark.parametrize("d", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("common", [0.0, 0.05, 0.3, 1.0, 7.0])
def test_the_distance_is_that_of_the_worst_corner(d, common):
    law = CorrelatedNoise("gaussian", 1.0, common, d)
    mixing = np.eye(d) + common * np.ones((d, d))
    inverse = np.linalg.inv(mixing @ mixing.T)
    for touched in range(1, d + 1):
        for space, ends in ((OneSided(touched), (0.0, 1.0)), (Box(touched), (-1.0, 0.0, 1.0))):
            corners = [
                np.array(v)
                for v in itertools.product(ends, repeat=d)
                if np.count_nonzero(v) <= touched
            ]
            worst = math.sqrt(max(v @ inverse @ v for v in corners))
            assert distance(law, space) == pytest.approx(worst, rel=1e-9)
            rng = np.random.default_rng(d)
            inside = rng.uniform(ends[0], 1.0, (50, d)) * (
                np.argsort(rng.random((50, d)), axis=1) < touched
            )
            assert np.all(np.einsum("ni,ij,nj->n", inside, inverse, inside) <= worst**2 + 1e-9)


def test_lengths_are_judged_as_they_are():
    """Σ ≥ I, so no change is farther than it is long."""
    law = CorrelatedNoise("gaussian", 1.0, 0.4, 3)
    assert distance(law, Euclidean(2.0)) == pytest.approx(2.0, rel=1e-4)


@pytest.mark.parametrize(
    ("d", "a", "g"), [(2, 1.0, 4 / 3), (3, 0.5, 1.8), (10, 1 / 3, 4.3077), (20, 0.2169, 7.4825)]
)
def test_the_best_mixture_for_all_answers(d, a, g):
    beta = best_common(d, d)
    shared = 2.0 * beta + beta * beta * d
    assert shared == pytest.approx(a, abs=6e-5)
    assert gaussian_reach(d, OneSided()) == pytest.approx(g, abs=6e-5)
    # Lebeda 2024: a = 1/√d
    assert gaussian_reach(d, OneSided()) <= ((1.0 + math.sqrt(d)) / 2.0) ** 2 * (1.0 + 1e-9)


@pytest.mark.parametrize(("d", "k"), [(10, 1), (10, 2), (10, 5), (20, 7), (50, 20), (6, 4)])
def test_no_other_mixture_is_better(d, k):
    def needed(a):
        x = a / (1.0 + a * d)
        return (1.0 + a) * max(j - x * j * j for j in range(k + 1))

    beta = best_common(d, k)
    best = needed(2.0 * beta + beta * beta * d)
    assert best == pytest.approx(gaussian_reach(d, OneSided(k)), rel=1e-6)
    assert best <= min(needed(a) for a in np.linspace(0.0, 3.0, 4001)) * (1.0 + 1e-9)
    if k <= (d + math.sqrt(d)) / 2:  # the closed form
        assert math.sqrt(best) == pytest.approx(
            (k + math.sqrt(k * (d - k) * (d - 1))) / d, rel=1e-6
        )


SPHERE = {
    1e-6: {10: 6.3084, 20: 9.6871, 40: 14.1293, 100: 22.3954, 200: 31.3991},
    1e-9: {10: 6.7202, 20: 11.0999, 40: 17.1278, 100: 28.2748, 200: 40.2273},
}


@pytest.mark.parametrize(("delta", "d"), [(e, d) for e, each in SPHERE.items() for d in each])
def test_standard_deviations_at_epsilon_one(delta, d):
    sigma = SPHERE[delta][d]
    above, below = (correlated(sigma + step, d) for step in (1e-4, -1e-4))
    assert PrivacyLoss.of(above, 1.0, OneSided()).epsilon(delta) < 1.0
    assert PrivacyLoss.of(below, 1.0, OneSided()).epsilon_bounds(delta).lower > 1.0 - 2e-5


@pytest.mark.parametrize(
    ("d", "k", "variance"),
    [
        *((10, 2, 18.11), (10, 3, 25.91), (10, 5, 36.95), (20, 5, 57.30), (20, 7, 74.00)),
        *((20, 10, 90.04), (50, 10, 138.82), (50, 20, 226.17)),
    ],
)
def test_variances_where_few_answers_are_touched(d, k, variance):
    law = correlated(math.sqrt(variance), d, changes=OneSided(k))
    assert PrivacyLoss.of(law, 1.0, OneSided(k)).epsilon(1e-6) == pytest.approx(1.0, abs=2e-4)


@pytest.mark.parametrize(
    ("d", "k", "variance"), [(10, 2, 18.48), (10, 5, 46.19), (20, 7, 87.79), (50, 20, 308.49)]
)
def test_the_sphere_is_judged_at_the_root_of_the_touched_answers(d, k, variance):
    law = sphere(math.sqrt(variance), d)
    assert PrivacyLoss.of(law, 1.0, Box(k)).epsilon(1e-6) == pytest.approx(1.0, abs=2e-4)


def test_a_sphere_with_a_common_part_of_none_is_the_sphere():
    plain, mixed = sphere(8.0, 5), CorrelatedNoise("sphere", sphere(8.0, 5).scale, 0.0, 5, 0.1)
    for space in (Box(), Box(2), OneSided(), Euclidean(1.0)):
        assert mixed.loss(1.0, space).largest == pytest.approx(plain.loss(1.0, space).largest)
    assert mixed.has_convex_levels
    assert not correlated(8.0, 5).has_convex_levels


@pytest.mark.parametrize("core", ["sphere", "gaussian"])
def test_the_law_of_one_answer_and_of_two(core):
    law = correlated(8.0, 6, core=core)
    drawn = draw(law, 40_000, entropy=InsecureSeededEntropy(3)).floats()
    assert law.std == pytest.approx(8.0, rel=1e-12)
    found = np.cov(drawn.T)
    error = 8.0 * law.variance / math.sqrt(40_000)
    assert np.all(np.abs(np.diag(found) - law.variance) < error)
    off = found[~np.eye(6, dtype=bool)]
    assert np.all(np.abs(off - law.correlation * law.variance) < error)
    test = stats.kstest(drawn[:, 2], lambda x: 1.0 - law.ccdf(x))
    assert test.pvalue > 1e-4
    wrong = stats.kstest(drawn[:, 2] * 1.06, lambda x: 1.0 - law.ccdf(x))
    assert wrong.pvalue < 1e-4  # the test would notice 6 %
    for c in ([1, -1, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1], [2, 0, -1, 0, 0, 0.5]):
        assert np.var(drawn @ c) == pytest.approx(law.variance_of(c), rel=0.05)


@pytest.mark.parametrize("domain", ["real", "integer"])
def test_every_vector_is_the_same_by_either_way(domain):
    """What floating point decides is what decimal arithmetic decides from the same words."""
    law = correlated(20.0, 5, domain=domain)
    made = RoundedVectors.of(law.sampler())
    entropy = InsecureSeededEntropy(11)
    drawn = words(entropy, 60 * made.uniforms.words).reshape(60, -1)
    quick = made._rounded(drawn, InsecureSeededEntropy(1))
    for row, places in zip(drawn, quick, strict=True):
        slow = decided(made.uniforms, list(map(int, row)), made.ratio, entropy, made.common)
        assert slow == places.tolist()
    plain = decided(made.uniforms, list(map(int, drawn[0])), made.ratio, entropy)
    assert plain != quick[0].tolist()  # the common part is there


def test_the_common_part_is_exact():
    made = RoundedVectors.of(correlated(5.0, 3).sampler())
    assert made.common == Fraction(correlated(5.0, 3).common)


def test_what_it_refuses():
    law = correlated(5.0, 3)
    with pytest.raises(UnsupportedError, match="no masses by radius"):
        law.pmf(0)
    with pytest.raises(UnsupportedError):
        exact(law, delta=1e-6)
    with pytest.raises(InvalidParameterError, match="coefficients"):
        law.variance_of([1.0, 2.0])
    with pytest.raises(InvalidParameterError, match="dimension"):
        CorrelatedNoise("sphere", 1.0, 0.5, 1)
    with pytest.raises(InvalidParameterError, match="step"):
        CorrelatedNoise("gaussian", 1.0, 0.5, 3, 0.5, "integer")
    with pytest.raises(InvalidParameterError, match="at least 1 on the integers"):
        correlated(0.5, 3, domain="integer")
    with pytest.raises(UnsupportedError, match="not judged by itself"):
        correlated(5.0, 3, core="gaussian", domain="integer").one_answer.loss(1.0)
    with pytest.raises(InvalidParameterError, match="common"):
        CorrelatedNoise("sphere", 1.0, -0.5, 3)


def test_normal_noise_as_one_draw_is_judged_by_its_length():
    law = normal(5.0, 4)
    assert PrivacyLoss.of(law, 1.0, Euclidean(2.0)).epsilon(1e-6) == pytest.approx(
        PrivacyLoss.of(normal(2.5, 4), 1.0, Euclidean(1.0)).epsilon(1e-6), rel=1e-3
    )
    assert law.has_convex_levels
    assert law.correlation == 0.0


@pytest.mark.parametrize(("sigma", "d"), [(1.0, 2), (2.0, 5)])
def test_differences_of_whole_numbers_have_the_variance_of_their_rounding(sigma, d):
    law = correlated(sigma, d, domain="integer")
    drawn = law.sample(40_000)
    form = np.zeros(d)
    form[:2] = 1.0, -1.0
    for coefficients in (form, np.ones(d)):
        measured = np.var(drawn @ coefficients)
        assert law.variance_of(coefficients) == pytest.approx(measured, rel=0.04)


@pytest.mark.parametrize("sigma", [1.0, 1.4, 2.0, 5.9, 6.1, 40.0])
def test_rounded_normal_noise(sigma):
    law = correlated(sigma, 4, core="gaussian", domain="integer")
    assert law.std == pytest.approx(sigma, rel=1e-9)
    k = np.arange(-400.0, 401.0)
    masses = law.ccdf(k - 1.0) - law.ccdf(k)
    assert np.sum(masses) == pytest.approx(1.0, rel=1e-12)
    assert np.sum(masses * k * k) == pytest.approx(sigma**2, rel=1e-9)
    u = np.array([1e-9, 0.01, 0.3, 0.7, 0.999])
    found = law.quantile(u)
    assert np.all(1.0 - law.ccdf(found) >= u * (1.0 - 1e-12))
    assert np.all(1.0 - law.ccdf(found - 1.0) < u)
    drawn = draw(law, 20_000, entropy=InsecureSeededEntropy(7)).integers
    assert np.std(drawn[:, 1]) == pytest.approx(sigma, rel=0.05)
    assert np.corrcoef(drawn.T)[0, 1] == pytest.approx(law.correlation, abs=0.03)


@pytest.mark.parametrize("core", ["sphere", "gaussian"])
@pytest.mark.parametrize("domain", ["real", "integer"])
def test_a_drawn_law_comes_back_and_is_simulated(core, domain):
    law = correlated(6.0, 4, core=core, domain=domain)
    assert Noise.from_drawn(law.describe_drawn()) == law
    for change in ({"core": "cube"}, {"common": -1.0}, {"batch": 1}):
        with pytest.raises(InvalidParameterError):
            Noise.from_drawn({**law.describe_drawn(), **change})
    with pytest.raises(ValueError, match="law"):
        Noise.from_drawn({**law.describe_drawn(), "more": 1})
    simulated = law.insecure_draws(40_000, np.random.default_rng(2))
    assert np.std(simulated) == pytest.approx(6.0, rel=0.04)
    assert (domain == "integer") == bool(np.all(simulated == np.floor(simulated)))
    if domain == "integer":
        with pytest.raises(UnsupportedError, match="no density"):
            law.pdf(0.0)
    else:
        assert float(law.pdf(0.0)) > float(law.pdf(6.0)) > 0.0
