"""The ball-shaped law of one answer, saved and loaded; its exact sampler against mpmath and
statistics."""

import itertools
import math
import pickle
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from scipy import integrate, special, stats

import leastnoise
from leastnoise import Noise, sphere
from leastnoise.errors import InvalidFileError, InvalidParameterError, UnsupportedError
from leastnoise.lattice.steps import public_pitch
from leastnoise.laws.sphere import BallNoise
from leastnoise.sampling import InsecureSeededEntropy, draw, release
from leastnoise.sampling.entropy import words
from leastnoise.sampling.sphere import (
    RoundedVectors,
    VectorUniforms,
    _cos_sin,
    _pi,
    approximate,
    decided,
    precise,
)


def exact_density(d, x):
    nu = mp.mpf(d) / 2
    return x**nu * mp.besselk(nu, x) / (mp.sqrt(mp.pi) * 2**nu * mp.gamma(nu + mp.mpf(1) / 2))


# The law of one answer


@pytest.mark.portable
@pytest.mark.parametrize("d", [2, 3, 4, 7, 60, 101])
def test_density_and_tail(d):
    noise = BallNoise(2.5, d)
    for z in (0.01, 1.0, 6.0, 20.0):
        x = z * math.sqrt(d + 1)
        with mp.workdps(25):
            scaled = exact_density(d, mp.mpf(x))

        def relative(t, x=x):
            return (
                ((x + t) / x) ** (d / 2)
                * special.kve(d / 2, x + t)
                / special.kve(d / 2, x)
                * math.exp(-t)
            )

        tail = sum(
            integrate.quad(relative, u, v, epsabs=0, epsrel=1e-12)[0]
            for u, v in itertools.pairwise([0, 1, 5, 20, 80, 400])
        )
        assert float(noise.pdf(x * 2.5)) == pytest.approx(float(scaled) / 2.5, rel=1e-11)
        assert float(noise.ccdf(x * 2.5)) == pytest.approx(float(scaled) * tail, rel=1e-9)
        assert float(noise.cdf(-x * 2.5)) == float(noise.ccdf(x * 2.5))
    assert float(noise.ccdf(0.0)) == pytest.approx(0.5, rel=1e-15)
    assert float(noise.pdf(0.0)) == pytest.approx(
        math.gamma(d / 2) / math.gamma((d + 1) / 2) / (2 * math.sqrt(math.pi) * 2.5)
    )
    assert float(noise.ccdf(1e300)) == 0.0


@pytest.mark.parametrize("d", [2, 3, 10, 61, 1000])
def test_quantiles_come_back(d):
    noise = sphere(8.0, d)
    u = np.array([1e-290, 1e-100, 1e-9, 0.01, 0.3, 0.4999999, 0.5, 0.7])
    assert noise.ccdf(noise.quantile(u, upper=True)) == pytest.approx(u, rel=1e-10)
    assert noise.cdf(noise.quantile(u)) == pytest.approx(u, rel=1e-10)
    assert noise.std == pytest.approx(8.0, rel=1e-15)
    assert 2 * float(noise.ccdf(noise.interval(0.95))) == pytest.approx(0.05, rel=1e-12)


def test_many_answers_are_nearly_normal():
    assert sphere(1.0, 1000).interval(0.95) == pytest.approx(1.95996, rel=2e-3)
    assert sphere(1.0, 2).interval(0.95) > 1.97


def test_saved_and_loaded(tmp_path):
    noise = sphere(8.0, 60, sensitivity=0.3)
    noise.save(tmp_path / "law.json")
    assert Noise.load(tmp_path / "law.json") == noise
    assert pickle.loads(pickle.dumps(noise)) == noise
    text = (tmp_path / "law.json").read_text()
    (tmp_path / "law.json").write_text(text.replace('"dimension": 60', '"dimension": 61'))
    with pytest.raises(InvalidFileError):
        Noise.load(tmp_path / "law.json")


def test_what_is_refused():
    for bad in (1, 0, 2.5, True):
        with pytest.raises(InvalidParameterError):
            sphere(8.0, bad)
    for bad in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(InvalidParameterError):
            sphere(bad, 4)
    with pytest.raises(InvalidParameterError, match=r"exponent=1\.5"):
        sphere(8.0, 4, exponent=1.5)
    with pytest.raises(UnsupportedError):
        sphere(8.0, 4).pmf(0)
    with pytest.raises(InvalidParameterError, match="step"):
        sphere(1e30, 4, step=1e-3).sample(1)


# Sampling


def test_decimal_functions():
    from decimal import Context, Decimal, localcontext

    with localcontext(Context(prec=74)), mp.workdps(90):
        assert abs(mp.mpf(str(_pi())) - mp.pi) < mp.mpf(10) ** -71
        for turn in ("0.0001", "0.2499999", "0.25", "0.4", "0.61", "0.99999"):
            cos, sin = _cos_sin(Decimal(turn), _pi())
            assert abs(mp.mpf(str(cos)) - mp.cos(2 * mp.pi * mp.mpf(turn))) < mp.mpf(10) ** -70
            assert abs(mp.mpf(str(sin)) - mp.sin(2 * mp.pi * mp.mpf(turn))) < mp.mpf(10) ** -70


def extended(layout, row):
    """The uniforms of a row with the middle of their remaining bits."""
    r = layout.radii
    return [(row[i] << 64 | row[r + i]) << 128 | 1 << 127 for i in range(r)], [
        a << 192 | 1 << 191 for a in row[2 * r :]
    ]


def by_mpmath(layout, uniforms, angles, ratio):
    with mp.workdps(80):
        u = [mp.mpf(2 * value + 1) / 2**257 for value in uniforms]
        v = [mp.mpf(2 * value + 1) / 2**257 for value in angles]
        normal = [
            f(2 * mp.pi * v[i]) * mp.sqrt(-2 * mp.log(u[i]))
            for i in range((layout.dimension + 1) // 2)
            for f in (mp.cos, mp.sin)
        ]
        half = (layout.dimension + 1) // 2
        chi2 = -2 * sum(mp.log(x) for x in u[half : 2 * half])
        if layout.dimension % 2 == 0:
            chi2 -= 2 * mp.log(u[-1]) * mp.cos(2 * mp.pi * v[-1]) ** 2
        scale = mp.sqrt(chi2) * mp.mpf(ratio.numerator) / ratio.denominator
        return [scale * x for x in normal[: layout.dimension]]


@pytest.mark.portable
@pytest.mark.parametrize("d", [2, 3, 8, 31])
def test_floating_point_and_decimals_agree_with_mpmath(d):
    sampler = RoundedVectors.of(sphere(8.0, d).sampler())
    layout = sampler.uniforms
    drawn = words(InsecureSeededEntropy(d), 12 * layout.words).reshape(12, layout.words).copy()
    drawn[0, : layout.radii] = 1 << 20  # far tails and the other end of U
    drawn[1, : layout.radii] = 2**64 - 2**20
    drawn[2, 2 * layout.radii :] = 0
    places, usual = approximate(layout, drawn, float(sampler.ratio))
    assert usual[1:].all()
    other = drawn.copy()
    other[2, 0] = 0  # the first 64 bits of a U all 0, and all 1
    other[3, layout.radii - 1] = 2**64 - 1
    assert approximate(layout, other, 1.0)[1][1:].tolist() == [True, False, False] + [True] * 8
    for row, place in zip(drawn.tolist(), places, strict=True):
        uniforms, angles = extended(layout, row)
        exact = by_mpmath(layout, uniforms, angles, sampler.ratio)
        decimal = precise(layout, uniforms, angles, 256, sampler.ratio)
        with mp.workdps(90):
            for a, b, c in zip(exact, decimal, place, strict=True):
                assert abs(a - mp.mpf(b.numerator) / b.denominator) < mp.mpf(10) ** -55
                # The window is proven with room to spare: a fiftieth of it is not reached, not even
                # in the far tails of row 0.
                assert abs(float(a - mp.mpf(float(c)))) < 0.02 * sampler.window


@pytest.mark.portable
def test_every_vector_is_the_same_by_either_way():
    sampler = RoundedVectors.of(sphere(8.0, 5).sampler())
    layout = sampler.uniforms
    drawn = words(InsecureSeededEntropy(4), 40 * layout.words).reshape(40, layout.words)
    fast = sampler._rounded(drawn, InsecureSeededEntropy(5))
    slow = [decided(layout, row, sampler.ratio, InsecureSeededEntropy(6)) for row in drawn.tolist()]
    assert fast.tolist() == slow
    always = RoundedVectors(layout, sampler.ratio, 1.0)  # every vector undecided in floating point
    assert always._rounded(drawn, InsecureSeededEntropy(7)).tolist() == slow


@pytest.mark.portable
def test_floating_point_does_not_decide_what_it_cannot():
    """Places a few 1e-14 from a half-integer, where floating point goes wrong (last line) and the
    sampler does not."""
    layout = VectorUniforms(2)
    drawn = words(InsecureSeededEntropy(9), layout.words).reshape(1, -1)
    place = abs(precise(layout, *extended(layout, drawn[0].tolist()), 256, Fraction(1))[0])
    wrong = 0
    for k in range(-30, 31):
        if k == 0:
            continue
        ratio = (Fraction(2001, 2) + Fraction(k, 10**14)) / place
        sampler = RoundedVectors(layout, ratio, float(ratio) * 20 * 2.0**-41)
        size = abs(int(sampler._rounded(drawn, InsecureSeededEntropy(k + 40))[0, 0]))
        assert size == (1001 if k > 0 else 1000)
        wrong += (
            abs(round(float(approximate(layout, drawn, float(ratio))[0][0, 0]) + 1e-300)) != size
        )
    assert wrong > 0


def test_uniforms_too_near_their_ends_draw_more_bits():
    """A radius is known to 5/8 of its bits only where its uniform is not within 2^(−bits/4) of 0 or
    1: with 256 bits of which the first 64 are zeros it is not, with 512 it is."""
    layout = VectorUniforms(2)
    row = words(InsecureSeededEntropy(8), layout.words).tolist()
    row[0] = 0

    class Counted(InsecureSeededEntropy):
        taken = 0

        def take(self, count):
            self.taken += count
            return super().take(count)

    entropy = Counted(11)
    found = decided(layout, row, Fraction(1000), entropy)
    assert (
        entropy.taken == layout.radii * 48 + (layout.pairs + layout.extra) * 56
    )  # 512 bits of each, from 128 and 64
    entropy = InsecureSeededEntropy(11)
    more = [[int.from_bytes(entropy.take(count), "little") for _ in range(number)]
            for count, number in ((16, 3), (24, 2), (32, 3), (32, 2))]  # fmt: skip
    uniforms = [
        (row[i] << 64 | row[3 + i]) << 384 | more[0][i] << 256 | more[2][i] for i in range(3)
    ]
    angles = [row[6 + i] << 448 | more[1][i] << 256 | more[3][i] for i in range(2)]
    assert found == [
        math.floor(place + Fraction(1, 2))
        for place in precise(layout, uniforms, angles, 512, Fraction(1000))
    ]


def test_undecided_roundings_draw_more_bits():
    """At a half-integer 256 bits do not decide; with the words at hand the answer then depends on
    the bits that follow."""
    layout = VectorUniforms(2)
    row = words(InsecureSeededEntropy(8), layout.words).tolist()
    uniforms, angles = extended(layout, row)
    middle = [[value << 256 | 1 << 255 for value in values] for values in (uniforms, angles)]
    place = precise(layout, *middle, 512, Fraction(1))[0]
    ratio = Fraction(2001, 2) / abs(
        place
    )  # the middle of the remaining bits lies on a half-integer

    class Then:
        """The middle of the remaining bits up to 256, then bits of one kind."""

        stamp = "test"

        def __init__(self, last):
            self.last = last

        def take(self, count):
            if count in (16, 24):
                return (1 << 8 * count - 1).to_bytes(count, "little")
            return bytes([self.last]) * count

    one = {decided(layout, row, ratio, Then(byte))[0] for byte in (0x00, 0xFF)}
    assert len(one) == 2
    assert max(one) - min(one) == 1


@pytest.mark.parametrize("d", [2, 3, 10])
def test_the_law_of_the_draws(d):
    noise = sphere(8.0, d)
    drawn = draw(noise, 40_000, entropy=InsecureSeededEntropy(20 + d))
    z = drawn.floats()
    assert z.shape == (40_000, d)
    radius = np.linalg.norm(z, axis=1)
    assert stats.kstest(radius / noise.scale, stats.gamma(d).cdf).pvalue > 1e-3
    for column in (0, d - 1):
        assert stats.kstest(z[:, column], noise.cdf).pvalue > 1e-3
    direction = z / radius[:, None]
    assert np.abs(direction.T @ direction / len(z) - np.eye(d) / d).max() < 5 / math.sqrt(len(z))
    assert abs(np.corrcoef(direction[:, 0], radius)[0, 1]) < 5 / math.sqrt(len(z))
    assert z.var() == pytest.approx(64.0, rel=0.05)
    # Places within the pitch's own multiples: no digit of the lattice is preferred.
    assert stats.chisquare(np.bincount(drawn.integers.ravel() % 8)).pvalue > 1e-3


def test_release_adds_the_noise_to_the_snapped_answers():
    noise = sphere(8.0, 3, step=0.125)
    pitch = public_pitch(noise.step, noise.domain)
    assert pitch == Fraction(1, 8 * 2**16)
    answers = np.array([[0.1, -2.0, 3e5], [1 / 3, 0.0, 7.0]])
    released = release(noise, answers, entropy=InsecureSeededEntropy(1), not_private=True)
    alone = draw(noise, 2, entropy=InsecureSeededEntropy(1))
    snapped = [
        [math.floor(Fraction(x) / pitch + Fraction(1, 2)) for x in row] for row in answers.tolist()
    ]
    assert (released.integers - alone.integers).tolist() == snapped
    assert released.unit == pitch
    assert "INSECURE" in released.entropy
    assert noise.release(answers).shape == (2, 3)
    assert noise.sample((2, 5)).shape == (2, 5, 3)
    assert noise.sample().shape == (3,)
    assert noise.sample(0).shape == (0, 3)
    with pytest.raises(InvalidParameterError, match="3 answers of one draw"):
        noise.release([1.0, 2.0])
    with pytest.raises(InvalidParameterError, match="<not shown>"):
        noise.release([1.0, 2.0, math.nan])


def test_snapping_keeps_the_distance_that_is_judged():
    """|a − b| ≤ M pitches in each answer stays so after rounding, so the snapped vectors are within
    M√d pitches."""
    rng = np.random.default_rng(2)
    noise = sphere(8.0, 6)
    a = rng.normal(size=(500, 6)) * 50
    b = a + rng.choice([-1.0, 1.0], size=a.shape)
    same = [
        release(noise, x, entropy=InsecureSeededEntropy(3), not_private=True).integers
        for x in (a, b)
    ]
    distance = np.linalg.norm((same[0] - same[1]).astype(float), axis=1)
    pitches = float(1 / public_pitch(noise.step, noise.domain))
    assert np.abs(same[0] - same[1]).max() <= math.ceil(pitches)
    assert distance.max() <= math.ceil(pitches) * math.sqrt(6)
    assert leastnoise.PrivacyLoss.of(noise).epsilon(1e-6) > 0
