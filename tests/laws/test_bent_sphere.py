"""The sphere bent towards normal noise: its judge against plain quadrature and its two ends, its
draws against its law, and its files."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import special, stats

from leastnoise import (
    AccountingError,
    Euclidean,
    InvalidParameterError,
    Noise,
    OneSided,
    PrivacyLoss,
    gaussian,
    sphere,
)
from leastnoise.laws.bent_sphere import BentSphereNoise, bent_sphere
from leastnoise.losses import bent_sphere as judge
from leastnoise.losses.bent_sphere import BentSphereLoss, bent_sphere_loss
from leastnoise.losses.gaussian import gaussian_loss
from leastnoise.losses.sphere import ball_loss
from leastnoise.losses.table import convex_below
from leastnoise.sampling import InsecureSeededEntropy, draw
from leastnoise.sampling.bent_sphere import BentSphereSampler, BentVectors
from leastnoise.sampling.entropy import words


def by_quadrature(a: float, d: int, t: float, epsilon: float) -> float:
    """δ(ε) with 24 nodes on each of 400 panels of the radius and 60 on the angles whose loss is
    above ε."""
    nodes, weights = np.polynomial.legendre.leggauss(24)
    last = special.gammainccinv(d / a, 1e-25) ** (1.0 / a)
    edges = np.linspace(0.0, last, 401)
    half = 0.5 * np.diff(edges)[:, None]
    r = (0.5 * (edges[1:] + edges[:-1])[:, None] + half * nodes).ravel()
    weight = (half * weights).ravel()
    density = np.exp(math.log(a) - special.gammaln(d / a) + (d - 1.0) * np.log(r) - r**a)
    cosine = (r**2 + t**2 - (epsilon + r**a) ** (2.0 / a)) / (2.0 * r * t)
    first = np.arccos(np.clip(cosine, -1.0, 1.0))
    x, w = np.polynomial.legendre.leggauss(60)
    angle = first[:, None] + 0.5 * (math.pi - first)[:, None] * (x + 1.0)
    rho2 = r[:, None] ** 2 + t**2 - 2.0 * t * r[:, None] * np.cos(angle)
    rise = -np.expm1(epsilon - (np.maximum(rho2, 0.0) ** (0.5 * a) - r[:, None] ** a))
    share = np.exp(-special.betaln(0.5 * (d - 1.0), 0.5)) * np.sin(angle) ** (d - 2.0)
    inner = np.sum(0.5 * w * share * np.maximum(rise, 0.0), axis=1) * (math.pi - first)
    return float(np.sum(weight * density * inner))


@pytest.mark.parametrize(
    ("a", "d", "t"),
    [(1.05, 10, 3.2), (4 / 3, 10, 1.1), (1.6, 10, 0.5), (1.25, 4, 1.5), (1.5, 60, 2.0)],
)
@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.0])
def test_the_bounds_enclose_plain_quadrature(a, d, t, epsilon):
    loss, exact = BentSphereLoss(a, d, t), by_quadrature(a, d, t, epsilon)
    upper, lower = float(loss.profile(epsilon)), float(loss.profile_lower(epsilon))
    assert lower * (1.0 - 1e-7) <= exact <= upper * (1.0 + 1e-7)
    assert upper - lower < 1e-3 * upper


@pytest.mark.parametrize("d", [2, 3, 7, 40])
def test_its_ends_are_the_sphere_and_normal_noise(d):
    squared = Fraction(d)
    for epsilon in (-0.3, 0.0, 0.2, 0.45):
        one = bent_sphere_loss(2.0, 1.0, d, squared)
        two = bent_sphere_loss(4.0, 2.0, d, squared)
        ball = float(ball_loss(2.0, d, squared).profile(epsilon))
        normal = float(gaussian_loss(4.0 / math.sqrt(2.0), math.sqrt(d)).profile(epsilon))
        for loss, exact in ((one, ball), (two, normal)):
            upper, lower = float(loss.profile(epsilon)), float(loss.profile_lower(epsilon))
            assert lower * (1.0 - 1e-11) <= exact <= upper * (1.0 + 1e-11)
            assert upper - lower < 1e-3 * upper


def test_beyond_every_loss_little_is_left():
    loss = bent_sphere_loss(8.0, 1.0, 5, Fraction(5))  # no loss is above √5/8
    assert float(loss.profile(0.5)) < 1e-39
    assert float(loss.profile_lower(0.5)) == 0.0
    assert float(BentSphereLoss(1.5, 5, 2.0).profile(800.0)) < 1e-39
    assert float(BentSphereLoss(1.5, 5, 2.0).profile_lower(800.0)) == 0.0


def test_a_radius_smaller_than_the_change_is_judged_too():
    """Where t is far above most radii every term of c_ℓ matters, and cells of all kinds occur."""
    for a, d, t in ((1.5, 4, 6.0), (1.25, 3, 9.0), (2.0, 2, 3.0)):
        loss = BentSphereLoss(a, d, t)
        for epsilon in (0.0, 2.0, 5.0):
            exact = by_quadrature(a, d, t, epsilon)
            assert float(loss.profile_lower(epsilon)) <= exact * (1.0 + 1e-5)
            assert float(loss.profile(epsilon)) >= exact * (1.0 - 1e-5)


def test_shares_of_directions_are_as_good_near_the_middle():
    """1 − c² has no digits of a small c: of c = 1e-9 it would make 0, or 1e-8."""
    c = np.array([-3e-5, -1e-9, 0.0, 1e-13, 1e-9, 4e-9, 3e-5, 0.2, 0.7, 1.0 - 1e-12])
    for mirrored, sign in ((False, 1.0), (True, -1.0)):
        flat = judge._share(2, c, mirrored)
        assert np.allclose(flat, 0.5 + sign * np.arcsin(c) / math.pi, rtol=0.0, atol=4e-16)
        assert np.allclose(judge._share(3, c, mirrored), 0.5 + sign * 0.5 * c, rtol=0.0, atol=4e-16)


def test_a_level_at_which_half_of_every_radius_is_above_it_is_judged_too():
    """a = 2: c_ℓ(r) = (t² − ℓ)/(2rt), within 1e-8 of 0 for every radius at once."""
    for off in (-3e-9, 1e-9, 2.5e-9, 1e-8):
        loss, epsilon = BentSphereLoss(2.0, 2, 0.5), 0.25 - off
        exact = float(special.ndtr(math.sqrt(2.0) * off))  # L is normal: mean t², variance 2t²
        upper = loss.mass_beyond(epsilon, upper=True)
        assert loss.mass_beyond(epsilon, upper=False) <= exact <= upper < exact * (1.0 + 1e-5)


def test_longer_changes_reveal_more():
    found = [float(BentSphereLoss(1.4, 10, t).profile_lower(0.5)) for t in (0.6, 0.8, 1.0)]
    above = [float(BentSphereLoss(1.4, 10, t).profile(0.5)) for t in (0.6, 0.8, 1.0)]
    assert above[0] < found[1]
    assert above[1] < found[2]


def test_the_table_dominates_and_is_near():
    loss = BentSphereLoss(4 / 3, 10, 0.4)
    table = loss.table(1e-3, -1.0, 1.0)
    assert table is loss.table(1.0, -1.0, 1.0)
    for epsilon in (-0.1, 0.0, 0.013, 0.1, 0.2, 0.31):
        upper = float(table.profile(epsilon))
        assert upper >= float(loss.profile_lower(epsilon))
        assert upper == pytest.approx(float(loss.profile(epsilon)), rel=1e-2)
        assert float(table.profile_lower(epsilon)) == 0.0
    assert np.sum(np.exp(table.log_p)) + table.infinite == pytest.approx(1.0, abs=1e-9)
    beyond = 1.01 * table.largest
    assert 0.0 < float(loss.profile_lower(beyond)) <= float(table.profile(beyond)) < 1e-20
    assert loss.reach(3.0) == (-table.spread, table.spread)
    assert loss.share_below_largest(1.0) == 1.0
    assert loss.divergence(2.0) == math.inf


def test_composed_it_lies_between_its_ends():
    """Ten batches of ten answers; at a = 2 normal noise, whose composition is known."""
    normal = PrivacyLoss.of(gaussian(50.0 / math.sqrt(10.0))).compose(10).delta(1.0)
    bent = PrivacyLoss.of(bent_sphere(50.0, 10, 10)).compose(10)
    assert normal <= bent.delta(1.0) < 1.01 * normal
    assert bent.delta_bounds(1.0).lower == 0.0
    assert bent.curve().zcdp(apart=1e-9) == math.inf  # divergences are not known


def test_the_convex_function_is_the_largest_below_the_points():
    x = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    y = np.array([4.0, 3.5, 1.0, 0.9, 0.0])
    corners, slopes = convex_below(x, y)
    assert corners.tolist() == [0, 2, 4]
    assert slopes.tolist() == [-1.5, -0.5]


def test_what_cannot_be_judged_is_refused(monkeypatch):
    for scale in (1e-5, 1e9):
        with pytest.raises(AccountingError, match="times its scale"):
            bent_sphere_loss(scale, 1.5, 4, Fraction(4))
    with pytest.raises(AccountingError, match="composed for losses up to"):
        BentSphereLoss(1.9, 4, 90.0).table(1.0, 0.0, 1.0)
    monkeypatch.setattr(judge, "_FAINT", 0.0)
    judge._first_cells.cache_clear()
    with pytest.raises(AccountingError, match="are not found"):
        BentSphereLoss(1.5, 7, 0.31).profile(0.0)
    judge._first_cells.cache_clear()


def test_a_change_is_judged_by_its_length():
    law = bent_sphere(8.0, 10, 14)
    whole = PrivacyLoss.of(law).delta(0.3)
    assert PrivacyLoss.of(law, 1.0, OneSided(touched=4)).delta(0.3) < whole
    length = PrivacyLoss.of(law, 1.0, Euclidean(math.sqrt(10.0)))
    assert length.delta(0.3) == pytest.approx(whole, rel=1e-3)
    assert length.delta_bounds(0.3).lower == 0.0 < PrivacyLoss.of(law).delta_bounds(0.3).lower
    assert law.loss_at(Fraction(1)) == law.loss(1.0)


def test_the_frontier_is_what_is_known():
    """σ and advantage at ε = 1, δ = 1e-6, ten answers: 10.30 at .1268 for a = 1.3 and 11.12 at
    .1158 for a = 1.5 by plain quadrature, between whose neighbours these lie."""
    for freedom, sigma, advantage in ((15, 10.4259, 0.12491), (13, 11.2857, 0.11383)):
        loss = PrivacyLoss.of(bent_sphere(sigma, 10, freedom))
        assert loss.delta(1.0) == pytest.approx(1e-6, rel=1e-3)
        assert loss.delta(0.0) == pytest.approx(advantage, rel=1e-4)


# One answer


def test_one_answer_at_its_ends():
    x = np.array([-20.0, -1.0, 0.0, 0.5, 9.0, 150.0])
    for d in (2, 3, 10, 60):
        ball, bent = sphere(6.0, d), bent_sphere(6.0, d, 2 * d)
        assert np.allclose(bent.pdf(x), ball.pdf(x), rtol=1e-10)
        assert np.allclose(bent.ccdf(x), ball.ccdf(x), rtol=1e-10)
        normal = bent_sphere(6.0, d, d)
        assert np.allclose(normal.pdf(x), stats.norm.pdf(x, scale=6.0), rtol=1e-10)
        assert np.allclose(normal.ccdf(x), stats.norm.sf(x, scale=6.0), rtol=1e-10)


def test_one_answer_between_them():
    law = bent_sphere(6.0, 4, 6)
    assert law.std == pytest.approx(6.0)
    x = np.linspace(0.0, 90.0, 4001)
    density = law.pdf(x)
    assert 2.0 * np.trapezoid(density * x**2, x) == pytest.approx(36.0, rel=1e-6)
    assert np.trapezoid(density, x) == pytest.approx(0.5, rel=1e-6)
    assert np.trapezoid(density[400:], x[400:]) == pytest.approx(float(law.ccdf(9.0)), rel=1e-5)
    u = np.array([1e-12, 0.1, 0.4])
    assert np.allclose(law.ccdf(law.quantile(u, upper=True)), u, rtol=1e-11)
    assert np.allclose(law.quantile(u), -law.quantile(u, upper=True))
    assert float(law.quantile(0.5)) == 0.0
    assert law.has_convex_levels
    drawn = law.insecure_draws(20_000, np.random.default_rng(1))
    assert stats.kstest(drawn, lambda v: 1.0 - law.ccdf(v)).pvalue > 1e-3
    with pytest.raises(Exception, match="no masses by radius"):
        law.pmf(0)


# Draws


@pytest.mark.parametrize(("d", "m"), [(2, 3), (3, 4), (10, 14), (7, 9)])
def test_draws_have_the_radius_and_the_answers_of_the_law(d, m):
    law = bent_sphere(6.0, d, m)
    noise = draw(law, 20_000, entropy=InsecureSeededEntropy(7)).floats()
    power = (np.sqrt(np.sum(noise**2, axis=1)) / law.scale) ** law.power
    counts = np.histogram(power, stats.gamma(0.5 * m).ppf(np.linspace(0.0, 1.0, 41)))[0]
    assert stats.chisquare(counts).pvalue > 1e-3
    for answer in (0, d - 1):
        counts = np.histogram(law.ccdf(noise[:, answer]), np.linspace(0.0, 1.0, 41))[0]
        assert stats.chisquare(counts).pvalue > 1e-3
    assert abs(float(np.corrcoef(noise[:, 0], noise[:, 1])[0, 1])) < 0.03


@pytest.mark.parametrize(("d", "m"), [(2, 3), (5, 10), (6, 7)])
def test_floating_point_is_within_its_window_of_many_digits(d, m):
    vectors = BentVectors.of(bent_sphere(6.0, d, m).sampler())
    drawn = words(InsecureSeededEntropy(3), 60 * vectors.uniforms.words).reshape(60, -1)
    places, window, usual = vectors.approximate(drawn)
    radii = vectors.uniforms.radii
    for row in np.flatnonzero(usual):
        bits = [int(word) for word in drawn[row]]
        uniforms = [(bits[i] << 64 | bits[radii + i]) << 128 for i in range(radii)]
        angles = [angle << 192 for angle in bits[2 * radii :]]
        exact = vectors.precise(uniforms, angles, 256)
        off = [abs(float(Fraction(float(p)) - e)) for p, e in zip(places[row], exact, strict=True)]
        assert max(off) <= window[row]
        assert window[row] < 1e-3


def test_what_floating_point_cannot_decide_is_decided_from_more_bits():
    """On a lattice so fine that every window is wide, all rows are drawn with many digits; rounded
    to a coarser one they are the draws of floating point."""
    fine = BentSphereSampler(2.0, 3, 4, 2.0**-22)
    drawn = words(InsecureSeededEntropy(5), 4 * BentVectors.of(fine).uniforms.words).reshape(4, -1)
    places, window, _ = BentVectors.of(fine).approximate(drawn)
    assert np.all(window > 0.01)
    with_digits = BentVectors.of(fine).rounded(drawn, InsecureSeededEntropy(6))
    assert np.all(np.abs(with_digits - places) <= 1.0 + window[:, None])
    rare = np.zeros((1, drawn.shape[1]), dtype=np.uint64)  # every U is near 0
    assert BentVectors.of(fine).rounded(rare, InsecureSeededEntropy(6)).shape == (1, 3)


def test_the_sampler_says_what_it_is():
    sampler = bent_sphere(6.0, 3, 5).sampler()
    assert sampler.is_exact
    assert sampler.is_joint
    assert sampler.unit == sampler.pitch
    assert sampler.integers((2, 3), InsecureSeededEntropy(1)).shape == (2, 3, 3)
    with pytest.raises(InvalidParameterError, match="2\\^61 pitches"):
        replace(sampler, step=1e-18).integers((1,), InsecureSeededEntropy(1))


def test_an_attacker_gains_what_is_certified_and_no_more():
    """The likelihood ratio exceeds 1 where the own centre is nearer: 200,000 draws, four errors."""
    law, count = bent_sphere(3.0, 4, 6), 200_000
    noise = draw(law, count, entropy=InsecureSeededEntropy(11)).floats()
    says_first = np.sum(noise**2, axis=1) < np.sum((noise - 1.0) ** 2, axis=1)
    says_wrong = np.sum((noise + 1.0) ** 2, axis=1) < np.sum(noise**2, axis=1)
    advantage = float(np.mean(says_first) - np.mean(says_wrong))
    certified = PrivacyLoss.of(law).delta(0.0)
    assert abs(advantage - certified) <= 4.0 * math.sqrt(0.5 / count)


# Files


def test_files_bring_it_back():
    law = bent_sphere(6.0, 3, 5)
    drawn = json.loads(json.dumps(law.describe_drawn()))
    assert Noise.from_drawn(drawn) == law
    assert Noise.from_description(json.loads(json.dumps(law.describe()))) == law
    with pytest.raises(ValueError, match="law"):
        Noise.from_drawn({**drawn, "more": 1})


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((1.0, 2, 1), "dimension"),
        ((1.0, 3, 4), "freedom"),
        ((1.0, 9, 4), "freedom"),
        ((0.0, 6, 4), "scale"),
        ((1.0, 6, 4, -1.0), "step"),
        ((1.0, 5.5, 4), "freedom"),
    ],
)
def test_what_is_no_bent_sphere_is_refused(arguments, name):
    with pytest.raises(InvalidParameterError, match=f"Expected {name}="):
        BentSphereNoise(*arguments)
