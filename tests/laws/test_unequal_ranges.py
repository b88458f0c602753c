"""Noise for answers that move by unequal ranges: its bounds by enumeration, its exact draws."""

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from leastnoise import Box, Euclidean, LatticeNoise, Noise, OneSided, PrivacyLoss, cube, exact
from leastnoise.errors import InvalidParameterError, UnsupportedError
from leastnoise.lattice.longest_change import longest_change
from leastnoise.lattice.rounded_changes import rounded_ranges
from leastnoise.laws.correlated import CorrelatedNoise, SharedNoise, best_shares, shared
from leastnoise.laws.lifted import LiftedNoise
from leastnoise.sampling import InsecureSeededEntropy, draw, release
from leastnoise.sampling.entropy import words
from leastnoise.sampling.sphere import RoundedVectors, decided

pytestmark = pytest.mark.portable

PROFILES = [[4.0, 3.0, 2.0, 1.0], [5.0, 5.0, 1.0, 1.0], [9.0, 3.0, 1.0, 0.3]]
RANGES = [
    ((0.0, 1.0), (-1.0, 1.0)),
    ((0.0, 1.0), (-0.5, 1.0), (-1.0, 0.25)),
    ((0.5, 1.0), (-0.5, 1.0), (0.0, 0.25), (-1.0, 0.0)),
    ((0.25, 0.25), (-1.0, 1.0), (-1.0, 1.0), (0.0, 1.0)),
]


# The hidden count with ties


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    ("quarters", "m"), [((4, 0), 2), ((2, -3), 2), ((4, 1, 0), 1), ((4, 0, -2, 1), 1)]
)
def test_no_change_within_the_ranges_is_above_the_cube(profile, quarters, m):
    """δ of what is published, (x_i + τ_i·x_0)/2, for every admissible shift of the lattice."""
    d = len(quarters)
    profile = profile if d < 4 else profile[1:3]
    base = LatticeNoise.from_weights(profile, None, domain="integer", dimension=d + 1)
    published = Counter()
    for x in itertools.product(range(-base.last, base.last + 1), repeat=d + 1):
        place = tuple(4 * x[i + 1] + quarters[i] * x[0] for i in range(d))  # eighths of a step
        published[place] += float(base.pmf(max(map(abs, x))))
    epsilons = np.array([0.0, 0.1, 0.5, 1.0, 2.0])
    bound = base.loss(float(m)).profile(epsilons)

    def delta(v):
        found = np.zeros(epsilons.size)
        for x, p in published.items():
            other = published[tuple(a - b for a, b in zip(x, v, strict=True))]
            found += np.maximum(p - np.exp(epsilons) * other, 0.0)
        return found

    for y in itertools.product(range(-m, m + 1), repeat=d):
        v = tuple(4 * one + tie * m for one, tie in zip(y, quarters, strict=True))
        assert np.all(delta(v) <= bound + 1e-12)
        assert np.all(delta(tuple(-one for one in v)) <= bound + 1e-12)
    beyond = tuple(-4 * m if tie >= 0 else 4 * m for tie in quarters)
    beyond = tuple(3 * one + tie * m for one, tie in zip(beyond, quarters, strict=True))
    assert np.any(delta(beyond) > bound + 1e-9)  # the enumeration would notice


@pytest.mark.parametrize("step", [1.0, 0.3, 0.125])
def test_rounded_answers_stay_within_the_cube(step):
    """2v − τM is within ±M for every whole number of pitches that a range may become."""
    law = LiftedNoise(cube(8.0, 4, step=step, sensitivity=3 * step), (1.0, 0.40625, -0.125))
    pitch, s = law.sampler().pitch, 3 * step
    steps = -(-Fraction(s) // (pitch * 2**16))
    half = steps * 2**16
    space = OneSided(ranges=law.ranges)
    for (low, high), tie in zip(rounded_ranges(space, 3, s, pitch), law.ties, strict=True):
        for end in (low, high):
            moved = 2 * (end / pitch) - Fraction(tie) * half
            assert moved.denominator == 1
            assert abs(moved) <= half


def test_the_law_of_every_answer():
    ties = (1.0, 0.5, 0.0, -0.25)
    law = LiftedNoise(exact(cube(6.0, 5, step=1.0), delta=1e-6), ties)
    drawn = draw(law, 40_000, entropy=InsecureSeededEntropy(5)).floats()
    assert np.std(drawn, axis=0) == pytest.approx(law.stds, rel=0.02)
    assert law.stds == pytest.approx([3.0 * math.sqrt(1.0 + t * t) for t in ties], rel=1e-6)
    assert law.std == max(law.stds)
    for c in ([1, -1, 0, 0], [1, 1, 1, 1], [2.0, 0.5, -1.0, 3.0]):
        assert np.var(drawn @ c) == pytest.approx(law.variance_of(c), rel=0.04)
    for place, tie in enumerate(ties):  # what is said of the widest bounds the others
        alone = LiftedNoise(law.base, (tie,) * 4)
        test = stats.kstest(drawn[:, place], lambda x, alone=alone: 1.0 - alone.ccdf(x))
        assert test.pvalue > 1e-4
        assert np.all(alone.ccdf(np.arange(0.0, 30.0, 0.5)) <= law.ccdf(np.arange(0.0, 30.0, 0.5)))
    narrow = LiftedNoise(law.base, (0.0,) * 4)
    wrong = stats.kstest(drawn[:, 0], lambda x: 1.0 - narrow.ccdf(x))
    assert wrong.pvalue < 1e-4


@pytest.mark.parametrize("tie", [0.0, 0.25, 1.0])
def test_density_tail_and_quantile_of_a_tied_answer(tie):
    law = LiftedNoise(cube(6.0, 4, step=1.0), (tie, 0.0, 0.0))
    x = np.linspace(0.0, 60.0, 2_001)
    assert 0.5 - np.trapezoid(law.pdf(x), x) == pytest.approx(float(law.ccdf(60.0)), abs=3e-3)
    second = 4.0 * np.trapezoid(x * law.ccdf(x), x)
    assert second == pytest.approx(law.variance, rel=1e-3)
    u = np.array([1e-9, 1e-3, 0.025, 0.3])
    assert law.ccdf(-law.quantile(u)) == pytest.approx(u, rel=1e-6)
    simulated = law.insecure_draws(60_000, np.random.default_rng(1))
    assert np.var(simulated) == pytest.approx(law.variance, rel=0.04)


def test_a_tied_law_is_judged_for_its_ranges_alone():
    law = LiftedNoise(cube(8.0, 4), (1.0, 0.5, 0.0))
    assert law.ranges == ((0.0, 1.0), (-0.25, 0.75), (-0.5, 0.5))
    bounds = PrivacyLoss.of(law, 1.0, OneSided(ranges=law.ranges)).epsilon_bounds(1e-6)
    assert bounds.upper == PrivacyLoss.of(law.base).epsilon(1e-6)
    assert bounds.lower == 0.0
    inside = OneSided(2, ((0.2, 1.0), (-0.25, 0.5), (0.0, 0.5)))
    assert PrivacyLoss.of(law, 1.0, inside).epsilon(1e-6) == bounds.upper
    small = 2.0**-40
    for wrong in ((0.0, 1.0), (-0.25 - small, 0.75), (-0.25, 0.75 + small)):
        outside = OneSided(ranges=((0.0, 1.0), wrong, (-0.5, 0.5)))
        with pytest.raises(UnsupportedError, match="within the ranges"):
            PrivacyLoss.of(law, 1.0, outside)
    for space in (Box(), OneSided(), Euclidean(0.1)):
        with pytest.raises(UnsupportedError, match="within the ranges"):
            PrivacyLoss.of(law, 1.0, space)
    with pytest.raises(UnsupportedError, match="variance_of"):
        _ = law.correlation


def test_outputs_of_a_tied_law_are_on_one_lattice():
    law = LiftedNoise(exact(cube(6.0, 4), delta=1e-6), (1.0, 0.25, -0.5))
    out = release(law, [[0.0, 1.25, -7.0]] * 50)
    assert out.unit == law.sampler().unit == law.base.sampler().unit / 2**16


@pytest.mark.parametrize(
    ("ties", "words"),
    [
        ((1.0, 0.5), "one for each of the 3"),
        ((1.0, 0.5, 1.5), "ties"),
        ((1.0, 0.5, 1e-6), "multiple of 1/32768"),
    ],
)
def test_other_ties_are_refused(ties, words):
    with pytest.raises(InvalidParameterError, match=words):
        LiftedNoise(cube(8.0, 4), ties)


# Correlated noise with shares


def corners(ranges, touched):
    for chosen in itertools.combinations(range(len(ranges)), touched):
        ends = [ranges[i] if i in chosen else (0.0,) for i in range(len(ranges))]
        yield from map(np.array, itertools.product(*ends))


@pytest.mark.parametrize("ranges", RANGES)
@pytest.mark.parametrize("common", [0.0, 0.3, 4.0])
def test_the_distance_is_that_of_the_worst_corner(ranges, common):
    d = len(ranges)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        g = rng.uniform(-1.0, 1.0, d)
        law = CorrelatedNoise("gaussian", 1.0, common, d, shares=tuple(g))
        mixing = np.eye(d) + common * np.outer(g, g)
        inverse = np.linalg.inv(mixing @ mixing.T)
        for touched in range(1, d + 1):
            space = OneSided(touched, ranges)
            found: Any = law.loss(1.0, space)
            worst = max(float(v @ inverse @ v) for v in corners(ranges, touched))
            assert found.mu**2 >= worst * (1.0 - 1e-12)
            if touched == d:
                assert found.mu**2 == pytest.approx(worst, rel=1e-3)  # but for the lattice
                assert found.is_attained
            ends = np.array(ranges)
            inside = rng.uniform(ends[:, 0], ends[:, 1], (40, d))
            inside *= np.argsort(rng.random((40, d)), axis=1) < touched
            far = np.einsum("ni,ij,nj->n", inside, inverse, inside)
            assert np.all(far <= found.mu**2 * (1.0 + 1e-12))


@pytest.mark.parametrize("ranges", [((-0.5, 1.0),) * 3, ((0.0, 1.0), (-0.5, 0.5), (0.0, 0.25))])
def test_noise_without_shares_is_judged_for_other_ranges_too(ranges):
    law = CorrelatedNoise("gaussian", 1.0, 0.4, 3)
    mixing = np.eye(3) + 0.4 * np.ones((3, 3))
    inverse = np.linalg.inv(mixing @ mixing.T)
    worst = max(float(v @ inverse @ v) for v in corners(ranges, 3))
    found: Any = law.loss(1.0, OneSided(ranges=ranges))
    assert worst * (1.0 - 1e-12) <= found.mu**2 <= worst * (1.0 + 1e-3)


def test_ranges_around_nothing_share_nothing():
    parts = best_shares(((-1.0, 1.0), (-0.25, 0.25)), (1.0, 1.0), 2)
    assert parts.common == 0.0
    assert parts.scales[0] == pytest.approx(2.0 * parts.scales[1])  # variances as half-widths


@pytest.mark.parametrize("touched", [3, 14])
def test_a_bound_of_many_kinds_is_above_every_corner_and_near_the_worst(touched):
    rng = np.random.default_rng(4)
    low, high = -rng.random(14), rng.random(14)
    ranges = [(Fraction(float(a)), Fraction(float(b))) for a, b in zip(low, high, strict=True)]
    g = [Fraction(float(one)) for one in rng.uniform(-1.0, 1.0, 14)]
    x = Fraction(1, 9)
    bound, is_attained = longest_change(ranges, g, x, touched)
    assert not is_attained
    signs = np.array(list(itertools.product((0, 1), repeat=14)), dtype=bool)
    v = np.where(signs, high, low)
    if touched == 3:
        kept = np.array([np.argsort(rng.random(14))[:3] for _ in range(len(v))])
        mask = np.zeros_like(v, dtype=bool)
        np.put_along_axis(mask, kept, True, axis=1)
        v = v * mask
    form = np.sum(v * v, axis=1) - float(x) * (v @ np.array([float(one) for one in g])) ** 2
    assert np.max(form) <= float(bound)
    if touched == 14:
        assert float(bound) <= 1.02 * np.max(form)


@pytest.mark.parametrize("ranges", [*RANGES, ((0.4, 1.0),) * 10, ((0.0, 1.0),) * 3])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_the_best_shares_need_no_more_than_the_closed_form(ranges, is_weighted):
    """(√(Σα t²) + Σ√α·w)², by Cauchy and Schwarz; up to the least half-width that is taken."""
    alpha = [float(i + 1) ** 2 if is_weighted else 1.0 for i in range(len(ranges))]
    parts = best_shares(ranges, alpha, len(ranges))
    law = shared(1.0, parts, core="gaussian")
    scaled = tuple((low / s, high / s) for (low, high), s in zip(ranges, parts.scales, strict=True))
    found: Any = law.loss(1.0, OneSided(ranges=scaled))
    mu = found.mu
    stds = np.array(parts.scales) * np.array(law.stds) * mu
    middle = math.sqrt(
        sum(a * (0.5 * (u + v)) ** 2 for a, (u, v) in zip(alpha, ranges, strict=True))
    )
    half = sum(math.sqrt(a) * 0.5 * (v - u) for a, (u, v) in zip(alpha, ranges, strict=True))
    slack = 1.01 if any(u == v for u, v in ranges) else 1.0 + 1e-4
    assert float(np.sum(np.array(alpha) * stds**2)) <= (middle + half) ** 2 * slack


def test_draws_with_shares_have_their_covariance_and_are_exact():
    parts = SharedNoise((1.0,) * 4, 0.7, (1.0, 0.5, 0.0, -0.25))
    for core in ("sphere", "gaussian"):
        law = shared(8.0, parts, core=core)
        assert law.std == pytest.approx(8.0)
        drawn = draw(law, 40_000, entropy=InsecureSeededEntropy(3)).floats()
        assert np.std(drawn, axis=0) == pytest.approx(law.stds, rel=0.02)
        for c in ([1, -1, 0, 0], [1, 1, 1, 1], [2.0, 0.5, -1.0, 3.0]):
            assert np.var(drawn @ c) == pytest.approx(law.variance_of(c), rel=0.05)
        made = RoundedVectors.of(law.sampler())
        entropy = InsecureSeededEntropy(11)
        bits = words(entropy, 60 * made.uniforms.words).reshape(60, -1)
        quick = made._rounded(bits, InsecureSeededEntropy(1))
        for row, places in zip(bits, quick, strict=True):
            told = made.common, made.shares
            slow = decided(made.uniforms, list(map(int, row)), made.ratio, entropy, *told)
            assert slow == places.tolist()


# The same on whole numbers

WHOLE = SharedNoise((1.0, 0.6), 0.4, (1.0, 0.3))


@pytest.mark.parametrize("ranges", [((0, 2), (-1, 1)), ((1, 2), (0, 1)), ((-2, 1), (-1, -1))])
@pytest.mark.parametrize("sigma", [2.5, 4.0])
def test_whole_noise_hides_every_whole_change(ranges, sigma):
    """By the masses of all points, from the normal distribution in two dimensions."""
    law = shared(sigma, WHOLE, core="gaussian", domain="integer")
    mixing = np.diag(law.widths) @ (np.eye(2) + law.common * np.outer(law.shares, law.shares))
    far = math.ceil(9.0 * sigma)
    edges = np.arange(-far, far + 2) - 0.5
    below = stats.multivariate_normal(np.zeros(2), law.scale**2 * mixing @ mixing.T).cdf(
        np.stack(np.meshgrid(edges, edges, indexing="ij"), axis=-1)
    )
    masses = np.diff(np.diff(below, axis=0), axis=1)
    assert np.sum(masses) == pytest.approx(1.0, abs=1e-6)
    k = np.arange(-far, far + 1)
    stds = np.sqrt([masses.sum(1) @ k**2, masses.sum(0) @ k**2])
    assert law.stds == pytest.approx(stds, rel=1e-5)
    assert WHOLE.error(law.stds) == pytest.approx(sigma, rel=1e-9)
    together = float(k @ masses @ k)
    assert law.covariance[0, 1] == pytest.approx(together, rel=0.01)
    loss = PrivacyLoss.of(law, 2.0, OneSided(ranges=[(low / 2, high / 2) for low, high in ranges]))
    worst = 0.0
    for epsilon in (0.1, 0.5, 1.0):
        told = loss.delta(epsilon)
        for v in itertools.product(*(range(low, high + 1) for low, high in ranges)):
            moved = np.roll(masses, v, axis=(0, 1))
            delta = float(np.sum(np.maximum(masses - math.exp(epsilon) * moved, 0.0)))
            assert delta <= told + 1e-6
            worst = max(worst, delta / told)
    assert worst > 0.8  # rounding reveals little less


def test_whole_draws_with_widths_are_exact():
    parts = SharedNoise((1.0, 0.8, 0.5, 0.7), 0.7, (1.0, 0.5, 0.0, -0.25), (1.0, 2.0, 3.0, 4.0))
    for core in ("sphere", "gaussian"):
        law = shared(8.0, parts, core=core, domain="integer")
        assert parts.error(law.stds) == pytest.approx(8.0, rel=1e-9)
        assert law.std == max(law.stds)
        drawn = draw(law, 40_000, entropy=InsecureSeededEntropy(3)).floats()
        assert np.all(drawn == np.round(drawn))
        assert np.std(drawn, axis=0) == pytest.approx(law.stds, rel=0.02)
        for i in range(4):
            assert np.mean(drawn[:, i] > 9.0) == pytest.approx(
                float(law.of_answer(i).ccdf(9.0)), abs=7e-3
            )
        for c in ([1, -1, 0, 0], [1, 1, 1, 1], [2.0, 0.5, -1.0, 3.0]):
            assert np.var(drawn @ c) == pytest.approx(law.variance_of(c), rel=0.05)
        made = RoundedVectors.of(law.sampler())
        entropy = InsecureSeededEntropy(11)
        bits = words(entropy, 60 * made.uniforms.words).reshape(60, -1)
        quick = made._rounded(bits, InsecureSeededEntropy(1))
        for row, places in zip(bits, quick, strict=True):
            told = made.common, made.shares, made.widths
            slow = decided(made.uniforms, list(map(int, row)), made.ratio, entropy, *told)
            assert slow == places.tolist()


def test_whole_noise_is_judged_for_a_length_of_changes():
    """Each answer is at least so wide: ‖v/w‖ ≤ ‖v‖/min w."""
    law = shared(8.0, WHOLE, core="gaussian", domain="integer")
    ball: Any = law.loss(1.0, Euclidean(1.0))
    box: Any = law.loss(1.0, Box())
    assert ball.mu > 0.0
    assert box.mu <= 1.01 * math.sqrt(2.0) / (0.6 * law.scale)
    with pytest.raises(InvalidParameterError, match="larger"):
        shared(0.2, WHOLE, core="gaussian", domain="integer")


@pytest.mark.parametrize(
    ("shares", "more", "words"),
    [
        ((1.0, 0.5), {}, "one for each of the 3"),
        ((1.0, 0.5, 1.5), {}, "shares"),
        ((1.0, 0.5, 0.5), {"widths": (1.0, 1.0, 2.0)}, "widths"),  # on the real line
        (None, {"widths": (1.0, 1.0, 2.0), "domain": "integer"}, "widths"),
        ((1.0, 0.5, 0.5), {"widths": (1.0, 1.0), "domain": "integer"}, "number of widths"),
        ((1.0, 0.5, 0.5), {"widths": (1.0, 1.0, 0.0), "domain": "integer"}, r"widths\[2\]"),
        ((1.0, 0.5, 0.5), {"widths": (1.0, 1.0, 0.01), "domain": "integer"}, "at least 1"),
    ],
)
def test_other_shares_are_refused(shares, more, words):
    with pytest.raises(InvalidParameterError, match=words):
        CorrelatedNoise("sphere", 5.0, 0.5, 3, shares=shares, **more)


def test_pairs_with_shares_have_no_common_correlation():
    law = shared(8.0, SharedNoise((1.0,) * 2, 0.7, (1.0, 0.5)), core="sphere")
    with pytest.raises(UnsupportedError, match="variance_of"):
        _ = law.correlation


@pytest.mark.parametrize(
    "law",
    [
        LiftedNoise(exact(cube(6.0, 4), delta=1e-6), (1.0, 0.25, -0.5)),
        shared(8.0, SharedNoise((1.0,) * 3, 0.7, (1.0, 0.5, -0.25)), core="sphere"),
        shared(
            8.0,
            SharedNoise((1.0, 0.7, 0.6), 0.7, (1.0, 0.5, -0.25)),
            core="sphere",
            domain="integer",
        ),
    ],
    ids=["lifted", "shared", "whole"],
)
def test_a_law_of_unequal_ranges_comes_back(law):
    assert Noise.from_drawn(law.describe_drawn()) == law
    assert Noise.from_description(law.describe()) == law
    with pytest.raises(ValueError, match="law"):
        Noise.from_drawn({**law.describe_drawn(), "more": 1})
