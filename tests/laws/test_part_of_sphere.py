"""Some answers of a sphere law of more: judged by the whole, drawn as the whole, between the sphere
and normal noise."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from leastnoise import Euclidean, InvalidParameterError, Noise, OneSided, PrivacyLoss, sphere
from leastnoise.laws.gaussian import GaussianNoise
from leastnoise.laws.part_of_sphere import PartOfSphereNoise, part_of_sphere
from leastnoise.laws.sphere import BallNoise
from leastnoise.sampling import InsecureSeededEntropy, draw


def test_all_of_a_sphere_is_the_sphere():
    whole, part = sphere(8.0, 10), part_of_sphere(8.0, 10, 10)
    assert part.std == pytest.approx(8.0)
    for epsilon in (0.0, 0.5, 1.0):
        assert PrivacyLoss.of(part).delta(epsilon) == PrivacyLoss.of(whole).delta(epsilon)


def test_it_is_judged_as_the_whole_law_moved_by_the_same_length():
    """d answers moved by s each, in the whole law: a vector of the length s√d and zeros."""
    part = part_of_sphere(8.0, 10, 20)
    whole = BallNoise(part.scale, 20, part.step)
    length = Euclidean(math.sqrt(10.0))
    for epsilon in (0.0, 0.7, 1.2):
        judged = PrivacyLoss.of(part).delta(epsilon)
        assert judged == pytest.approx(PrivacyLoss.of(whole, 1.0, length).delta(epsilon), rel=1e-4)
        assert judged < PrivacyLoss.of(whole).delta(epsilon)  # where all twenty are moved
    fewer = PrivacyLoss.of(part, 1.0, OneSided(touched=4)).delta(0.5)
    assert fewer < PrivacyLoss.of(part).delta(0.5)
    assert part.loss_at(Fraction(1)) == part.loss(1.0)


def test_no_lower_bound_is_claimed():
    bounds = PrivacyLoss.of(part_of_sphere(8.0, 10, 20)).delta_bounds(0.5)
    assert bounds.lower == 0.0 < bounds.upper


def test_the_more_is_hidden_the_nearer_it_is_to_normal_noise():
    sigma, answers = 12.0, 10
    mu = math.sqrt(answers) / sigma
    normal = PrivacyLoss.of(GaussianNoise(1.0 / mu)).delta(0.0)
    found = [PrivacyLoss.of(part_of_sphere(sigma, answers, of)).delta(0.0) for of in (10, 30, 3000)]
    assert found[0] > found[1] > found[2] > normal
    assert found[2] == pytest.approx(normal, rel=1e-2)


def test_the_draws_are_the_first_answers_of_the_draws_of_the_whole():
    part = part_of_sphere(6.0, 3, 8)
    whole = BallNoise(part.scale, 8, part.step).sampler()
    drawn = part.sampler().integers((50,), InsecureSeededEntropy(5))
    assert drawn.shape == (50, 3)
    assert np.array_equal(drawn, whole.integers((50,), InsecureSeededEntropy(5))[:, :3])
    assert part.sampler().is_exact
    assert part.sampler().is_joint
    assert part.sampler().unit == part.sampler().pitch == Fraction(part.step) / 2**16
    floats = draw(part, 20_000, entropy=InsecureSeededEntropy(7)).floats()
    assert floats.shape == (20_000, 3)
    assert float(np.std(floats)) == pytest.approx(6.0, rel=0.02)


def test_one_answer_is_one_answer_of_the_whole():
    part = part_of_sphere(6.0, 3, 8)
    whole = sphere(6.0, 8)
    x = np.array([-20.0, -1.0, 0.0, 0.5, 9.0])
    assert np.allclose(part.pdf(x), whole.pdf(x), rtol=1e-12)
    assert np.allclose(part.ccdf(x), whole.ccdf(x), rtol=1e-12)
    assert np.allclose(part.quantile([0.1, 0.9]), whole.quantile([0.1, 0.9]), rtol=1e-9)
    assert part.has_convex_levels
    assert part.insecure_draws(4, np.random.default_rng(1)).shape == (4,)
    with pytest.raises(Exception, match="no masses by radius"):
        part.pmf(0)


def test_files_bring_it_back():
    part = part_of_sphere(6.0, 3, 8)
    drawn = json.loads(json.dumps(part.describe_drawn()))
    assert Noise.from_drawn(drawn) == part
    assert Noise.from_description(json.loads(json.dumps(part.describe()))) == part
    with pytest.raises(ValueError, match="law"):
        Noise.from_drawn({**drawn, "more": 1})


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((1.0, 1, 1), "dimension"),
        ((1.0, 3, 4), "of"),
        ((0.0, 9, 4), "scale"),
        ((1.0, 9, 4, -1.0), "step"),
        ((1.0, 9.5, 4), "of"),
    ],
)
def test_what_is_no_part_of_a_sphere_is_refused(arguments, name):
    with pytest.raises(InvalidParameterError, match=f"Expected {name}="):
        PartOfSphereNoise(*arguments)


def test_an_attacker_on_what_is_shown_stays_below_the_bound():
    """The best test of the true law of what is shown, a function of the two distances alone, does
    worse than the bound of the whole law: 200,000 draws, four standard errors."""
    part, count = part_of_sphere(3.0, 4, 6), 200_000
    noise = draw(part, count, entropy=InsecureSeededEntropy(11)).floats()
    # it falls with the length, so the likelihood ratio exceeds 1 where the own centre is nearer
    says_first = np.sum(noise**2, axis=1) < np.sum((noise - 1.0) ** 2, axis=1)
    says_wrong = np.sum((noise + 1.0) ** 2, axis=1) < np.sum(noise**2, axis=1)
    advantage = float(np.mean(says_first) - np.mean(says_wrong))
    error = math.sqrt(0.5 / count)
    certified = PrivacyLoss.of(part).delta(0.0)
    assert advantage <= certified + 4.0 * error
    assert advantage > 0.8 * certified
