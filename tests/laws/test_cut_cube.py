"""The law between cube and sphere: one answer, files, what it is judged for; its exact sampler
against integer arithmetic and statistics."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, stats

from leastnoise import Box, Euclidean, Noise, OneSided, PrivacyLoss, sphere
from leastnoise.artefact.artefact import certify
from leastnoise.artefact.format import read_artefact, write_artefact
from leastnoise.artefact.verification import verify
from leastnoise.errors import InvalidParameterError, UnsupportedError
from leastnoise.laws.cut_cube import CutCubeNoise, cut_cube, mixture, unit_variance
from leastnoise.losses.cube_sums import ball_share
from leastnoise.sampling import InsecureSeededEntropy, draw, release
from leastnoise.sampling import cut_cube as drawing
from leastnoise.sampling.entropy import words

LAW = CutCubeNoise(0.28, 17.1, 50, 0.125)


def radius(z, law):
    """N(z)/b."""
    ball = np.linalg.norm(z, axis=-1) / math.sqrt(law.square)
    return np.maximum(np.abs(z).max(axis=-1), ball) / law.scale


# One answer


def test_density_tail_and_variance_of_one_answer():
    x = np.linspace(0.0, 60.0, 4_001)
    density, tail = LAW.pdf(x), LAW.ccdf(x)
    assert tail[0] == pytest.approx(0.5, rel=1e-12)
    assert tail - tail[-1] == pytest.approx(
        tail[0] - integrate.cumulative_simpson(density, x=x, initial=0.0) - tail[-1], abs=1e-9
    )
    assert 2.0 * integrate.simpson(x**2 * density, x=x) == pytest.approx(LAW.variance, rel=1e-6)
    assert np.all(np.diff(density) <= 0.0)
    assert LAW.ccdf(-x) == pytest.approx(1.0 - tail, abs=1e-15)
    assert float(LAW.ccdf(1e300)) == 0.0
    assert 0.0 < float(LAW.ccdf(200.0)) < 1e-200
    u = np.array([1e-200, 1e-9, 0.01, 0.3, 0.5, 0.7])
    assert LAW.ccdf(LAW.quantile(u, upper=True)) == pytest.approx(u, rel=1e-6)
    assert LAW.cdf(LAW.quantile(u)) == pytest.approx(u, rel=1e-6)
    with pytest.raises(UnsupportedError, match="no masses by radius"):
        LAW.pmf(0)


def test_a_cube_cut_to_a_ball_has_the_answers_of_the_sphere():
    cut, ball = CutCubeNoise(1.2, 1.0, 40), sphere(1.2 * math.sqrt(41.0), 40)
    assert cut.std == pytest.approx(ball.std, rel=1e-8)
    x = np.array([0.0, 5.0, 20.0, 40.0])
    assert cut.ccdf(x) == pytest.approx(ball.ccdf(x), rel=1e-6)
    assert cut.pdf(x) == pytest.approx(ball.pdf(x), rel=1e-6)


def test_an_uncut_cube_has_the_answers_of_the_cube():
    u, weight = mixture(20, 20.0)
    assert u[-1] == 1.0
    assert weight[-1] == pytest.approx(1.0)
    assert unit_variance(20, 20.0) == pytest.approx(21.0 * 22.0 / 3.0)


def test_simulated_answers():
    generator = np.random.default_rng(4)
    drawn = LAW.insecure_draws(20_000, generator)
    assert stats.kstest(drawn, LAW.cdf).pvalue > 1e-4
    whole = CutCubeNoise(0.28, 17.1, 50, 1.0, "integer")
    some = whole.insecure_draws(20_000, generator)
    assert np.array_equal(some, np.floor(some))
    assert np.var(some) == pytest.approx(whole.variance, rel=0.05)


def test_whole_numbers():
    law = cut_cube(8.0, 50, domain="integer")
    assert law.std == pytest.approx(8.0, rel=1e-12)
    k = np.arange(200.0)
    beyond = law.ccdf(k)
    assert 2.0 * float(np.sum((2 * k + 1) * beyond)) == pytest.approx(law.variance, rel=1e-9)
    assert float(law.ccdf(3.7)) == beyond[3]
    place = float(law.quantile(0.01, upper=True))
    assert float(law.ccdf(place)) <= 0.01 < float(law.ccdf(place - 1.0))
    with pytest.raises(UnsupportedError, match="no density"):
        law.pdf(0.0)
    with pytest.raises(InvalidParameterError, match="at least 3 on the integers"):
        CutCubeNoise(0.05, 17.1, 50, 1.0, "integer")
    loss = law.loss(1.0)
    assert float(loss.profile_lower(1.0)) == 0.0  # rounding may reveal less


# Which law


@pytest.mark.parametrize(
    ("answers", "square", "epsilon"),
    [(50, 17.11115, 3.557139), (80, 20.63465, 5.067918)],
)
def test_the_law_of_least_epsilon(answers, square, epsilon):
    law = cut_cube(8.0, answers)
    assert law.std == pytest.approx(8.0, rel=1e-12)
    assert law.square == pytest.approx(square, rel=1e-4)
    bounds = PrivacyLoss.of(law, 1.0).epsilon_bounds(1e-6)
    assert epsilon * (1 - 1e-6) < bounds.upper < epsilon * (1 + 3e-5)
    assert bounds.upper * (1 - 2e-4) < bounds.lower <= bounds.upper
    wider = CutCubeNoise(law.scale, 1.02 * law.square, answers, law.step)
    closer = CutCubeNoise(law.scale, 0.98 * law.square, answers, law.step)
    for other in (wider, closer):  # of the same variance: either way ε is larger
        other = CutCubeNoise(law.scale * law.std / other.std, other.square, answers, law.step)
        assert PrivacyLoss.of(other, 1.0).epsilon(1e-6) > bounds.upper


def test_sensitivity_scales_the_law():
    small, large = cut_cube(8.0, 60, delta=1e-7), cut_cube(80.0, 60, delta=1e-7, sensitivity=10.0)
    assert small.square == pytest.approx(large.square, rel=1e-9)
    assert small.scale * 10.0 == pytest.approx(large.scale, rel=1e-9)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((8.0, 20), "from 28 to 120"),
        ((8.0, 121), "from 28 to 120"),
        ((1.0, 30), "larger: take cube"),
        ((300.0, 110), "smaller: take sphere"),
    ],
)
def test_where_another_law_is_better(arguments, said):
    with pytest.raises(InvalidParameterError, match=said):
        cut_cube(*arguments)


def test_what_is_no_law():
    for changed in ({"square": 0.5}, {"square": 51.0}, {"dimension": 15}, {"dimension": 201}):
        with pytest.raises(InvalidParameterError, match=next(iter(changed))):
            CutCubeNoise(**{"scale": 0.28, "square": 12.0, "dimension": 50} | changed)
    with pytest.raises(InvalidParameterError, match="step"):
        CutCubeNoise(1.0, 12.0, 50, 0.5, "integer")


# What one person changes


def test_changes_within_the_box_and_lengths():
    whole = LAW.loss(1.0)
    assert LAW.loss_at(Fraction(1)) == whole
    assert LAW.loss(1.0, OneSided()) == whole  # its corner is one of the box
    few = LAW.loss(1.0, Box(touched=10))
    assert few.largest == whole.largest
    assert float(few.profile_lower(1.0)) == 0.0 < float(whole.profile_lower(1.0))
    narrow = LAW.loss(1.0, OneSided(ranges=((0.0, 0.5),) * 50))
    assert narrow.largest == pytest.approx(0.5 * whole.largest)
    long = LAW.loss(0.5, Euclidean(2.0))  # no answer moves farther than that
    assert float(long.profile(1.2)) == float(whole.profile(1.2)) > 0.0
    assert float(long.profile_lower(1.2)) == 0.0
    # rounded up to whole pitches
    assert LAW.loss_at(Fraction(1) + Fraction(1, 2**40)).largest > whole.largest * (1 + 1e-7)
    assert LAW.has_convex_levels
    assert LAW.correlation == 0.0


def test_moving_all_answers_is_worst():
    """δ of simulated noise falls when fewer answers are moved."""
    generator = np.random.default_rng(9)
    z = draw(LAW, 4_000, entropy=InsecureSeededEntropy(9)).floats()
    z = z * generator.choice([-1.0, 1.0], z.shape)
    found = []
    for moved in (10, 30, 50):
        shift = np.where(np.arange(50) < moved, 1.0, 0.0)
        loss = radius(z - shift, LAW) - radius(z, LAW)
        found.append(float(np.mean(np.maximum(1.0 - np.exp(1.0 - loss), 0.0))))
    assert found == sorted(found)
    assert found[-1] < float(LAW.loss(1.0).profile(1.0))


# Files


def test_saved_and_loaded(tmp_path):
    for law in (LAW, CutCubeNoise(0.5, 17.1, 50, 1.0, "integer")):
        law.save(tmp_path / "law.json")
        assert Noise.load(tmp_path / "law.json") == law
        assert pickle.loads(pickle.dumps(law)) == law
        assert Noise.from_drawn(law.describe_drawn()) == law


def test_an_artefact_is_verified_and_an_edited_one_is_noticed(tmp_path):
    law = cut_cube(8.0, 60)
    file = tmp_path / "noise.json"
    made = certify(law, delta=1e-6)
    write_artefact(made, file)
    assert read_artefact(file).noise == law
    assert verify(file).ok
    narrower = CutCubeNoise(law.scale * 0.999, law.square, 60, law.step)
    for edited in (narrower, CutCubeNoise(law.scale, law.square * 0.999, 60, law.step)):
        assert certify(edited, delta=1e-6).guarantee.epsilon > made.guarantee.epsilon
        text = file.read_text().replace(repr(law.scale), repr(edited.scale))
        (tmp_path / "edited.json").write_text(text.replace(repr(law.square), repr(edited.square)))
        assert not verify(tmp_path / "edited.json").ok


# Draws


def test_draws_have_the_law_that_is_judged():
    count = 3_000
    z = draw(LAW, count, entropy=InsecureSeededEntropy(1)).floats()
    # a density e^(−N/b) in R^d: N/b has the law Gamma(d), whatever the body
    assert stats.kstest(radius(z, LAW), stats.gamma(50.0).cdf).pvalue > 1e-4
    assert np.var(z) == pytest.approx(LAW.variance, rel=0.02)
    assert abs(np.mean(z[:, 0] * z[:, 1])) < 5.0 * LAW.variance / math.sqrt(count)
    edges = LAW.quantile(np.arange(1, 16) / 16.0)
    seen = np.histogram(z[:, 7], np.concatenate([[-np.inf], edges, [np.inf]]))[0]
    assert stats.chisquare(seen).pvalue > 1e-4


def test_points_of_the_cube_are_kept_as_often_as_they_should_be():
    sampler = LAW.sampler()
    points = words(InsecureSeededEntropy(3), 4_000 * 50).reshape(4_000, 50)
    kept, longer = sampler._kept(points, InsecureSeededEntropy(4))
    share = ball_share(50, 17.1)[0]
    assert len(kept) == pytest.approx(
        4_000 * share, abs=4.0 * math.sqrt(4_000 * share * (1 - share))
    )
    assert not longer
    w = points.astype(float) * 2.0**-63 - 1.0
    assert np.all(np.sum(w[kept] ** 2, axis=1) <= 17.1)


class Scripted:
    """Entropy that is known, so that a case in doubt can be made."""

    def __init__(self, content: bytes = b"") -> None:
        self.content, self.taken = content, 0

    def take(self, count: int) -> bytes:
        some = self.content[:count].ljust(count, b"\xa5")
        self.content, self.taken = self.content[count:], self.taken + count
        return some


@pytest.mark.parametrize("towards", [-1, 1])
def test_a_point_on_the_sphere_is_decided_by_further_bits(towards):
    """w = (½, …, ½) to 64 bits and C = d/4: on the sphere as far as these bits say."""
    half = 3 << 62
    place = [half] * 16 if towards > 0 else [half - 1] * 16
    inside, known, bits = drawing.inside_ball(place, Fraction(4), Scripted())
    assert inside is (towards < 0)
    assert bits > 64 or towards < 0
    assert [value >> bits - 64 for value in known] == place
    exact, _, used = drawing.inside_ball([half] * 16, Fraction(4) - Fraction(1, 2**30), Scripted())
    assert (exact, used) == (False, 64)


def test_a_doubtful_point_is_drawn_from_the_bits_that_decided_it():
    law = CutCubeNoise(0.3, 4.0, 16, 0.125)
    sampler = law.sampler()
    points = np.full((2, 16), 3 << 62, dtype=np.uint64)
    points[1] -= np.uint64(1 << 40)
    kept, longer = sampler._kept(points, Scripted())
    assert kept.tolist() == [1]  # on the sphere and beyond it with the next bit
    assert set(longer) == {0}
    points[0] -= np.uint64(1)
    kept, longer = sampler._kept(points, Scripted())
    assert kept.tolist() == [0, 1]
    source = Scripted(points.tobytes() + bytes(range(1, 255)) * 40)
    some = sampler.integers((1,), _Padded(source, 20 * 16))
    assert some.shape == (1, 16)
    assert np.unique(some).size == 1  # all w_i are alike to 2^−24


class _Padded:
    """Gives the scripted points first, points far outside the ball for the rest of the first
    batch, and then what else is scripted."""

    def __init__(self, source: Scripted, rows: int) -> None:
        self.source, self.calls = source, 0

    def take(self, count: int) -> bytes:
        self.calls += 1
        if self.calls == 1:
            first = self.source.take(2 * 16 * 8)
            return first + b"\xff" * (count - len(first))
        return self.source.take(count)


def test_what_floating_point_rounds_is_what_decimals_decide():
    law = CutCubeNoise(0.28, 17.1, 50, 4.0)
    ratio = Fraction(law.scale) / law.sampler().pitch
    entropy = InsecureSeededEntropy(6)
    points = words(entropy, 6 * 50).reshape(6, 50)
    radii = words(entropy, 6 * 51).reshape(6, 51).copy()
    radii[0, 0] = 5  # a U below 2^−16 is not trusted to floating point
    floors, sure = drawing._rounded(points, radii, float(ratio), 1e3)
    assert not sure[0]
    assert np.sum(sure) >= 4
    for row in range(6):
        decided = drawing.decided(
            [int(w) for w in points[row]], 64, [int(w) for w in radii[row]], ratio, Scripted()
        )
        if sure[row]:
            assert floors[row].tolist() == decided
    # more bits are taken where 256 leave a U next to 0
    source = Scripted()
    drawing.decided([1 << 63] * 16, 64, [0] * 17, Fraction(1, 2**80), source)
    assert source.taken > 33 * 24


def test_released_on_the_public_lattice():
    answers = np.arange(50.0)
    found = release(LAW, answers, entropy=InsecureSeededEntropy(8), not_private=True)
    assert found.integers.shape == (50,)
    assert found.unit == Fraction(1, 8) / 2**16
    whole = cut_cube(8.0, 50, domain="integer")
    assert whole.sample(3).dtype == np.int64
    with pytest.raises(InvalidParameterError, match="2\\^61 pitches"):
        CutCubeNoise(1e9, 17.1, 50, 1e-6).sample()
    with pytest.raises(UnsupportedError, match="too small a part of the cube"):
        CutCubeNoise(1.0, 2.0, 50).sampler()
