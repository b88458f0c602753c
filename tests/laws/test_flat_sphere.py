"""The sphere with a flat core: its judge against plain quadrature and the sphere's closed form, its
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
    sphere,
)
from leastnoise.laws.flat_sphere import FlatSphereNoise, flat_sphere
from leastnoise.losses import flat_sphere as judge
from leastnoise.losses.flat_sphere import FlatSphereLoss, flat_sphere_loss, log_mass
from leastnoise.losses.sphere import ball_loss
from leastnoise.losses.table import table_above
from leastnoise.sampling import InsecureSeededEntropy, draw
from leastnoise.sampling.entropy import words
from leastnoise.sampling.flat_sphere import FlatSphereSampler, FlatVectors, terms


def by_quadrature(core: float, d: int, t: float, epsilon: float) -> float:
    """δ(ε) as the definition has it: over the length r of z, with the core as an edge, and over the
    angles whose loss ρ − max(r, c) is above ε; ρ is beyond the core there."""
    nodes, weights = np.polynomial.legendre.leggauss(24)
    last = core + 4.0 * d + 60.0
    edges = np.unique(np.concatenate([np.linspace(0.0, core, 101), np.linspace(core, last, 301)]))
    half = 0.5 * np.diff(edges)[:, None]
    r = (0.5 * (edges[1:] + edges[:-1])[:, None] + half * nodes).ravel()
    weight = (half * weights).ravel()
    own = np.maximum(r, core)
    log_density = (d - 1.0) * np.log(r) - (own - core)
    log_density -= special.logsumexp(log_density, b=weight)
    cosine = (r**2 + t**2 - (own + epsilon) ** 2) / (2.0 * r * t)
    first = np.arccos(np.clip(cosine, -1.0, 1.0))
    x, w = np.polynomial.legendre.leggauss(60)
    angle = first[:, None] + 0.5 * (math.pi - first)[:, None] * (x + 1.0)
    rho = np.sqrt(np.maximum(r[:, None] ** 2 + t**2 - 2.0 * t * r[:, None] * np.cos(angle), 0.0))
    rise = np.maximum(-np.expm1(epsilon + own[:, None] - rho), 0.0)
    share = np.exp(-special.betaln(0.5 * (d - 1.0), 0.5)) * np.sin(angle) ** (d - 2.0)
    inner = np.sum(0.5 * w * share * rise, axis=1) * (math.pi - first)
    return float(np.sum(weight * np.exp(log_density) * inner))


@pytest.mark.parametrize(
    ("core", "d", "t"),
    [
        (8.625, 10, 1.1),
        (0.5, 10, 3.2),
        (30.0, 10, 1.1),
        (2.0, 4, 1.5),
        (20.0, 60, 2.0),
        (1.0, 2, 4.0),
    ],
)
@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.0])
def test_the_bounds_enclose_plain_quadrature(core, d, t, epsilon):
    loss, exact = FlatSphereLoss(core, d, t), by_quadrature(core, d, t, epsilon)
    upper, lower = float(loss.profile(epsilon)), float(loss.profile_lower(epsilon))
    assert lower * (1.0 - 1e-6) <= exact <= upper * (1.0 + 1e-6)
    assert upper - lower < 1e-8 * upper
    mirrored = float(loss.profile(-epsilon))
    assert mirrored == pytest.approx(1.0 - math.exp(-epsilon) * (1.0 - upper), rel=1e-12)


@pytest.mark.parametrize("d", [2, 3, 7, 40, 300])
@pytest.mark.parametrize("scale", [0.3, 2.0, 40.0])
def test_without_a_core_it_is_the_sphere(d, scale):
    flat, ball = flat_sphere_loss(scale, 0.0, d, Fraction(d)), ball_loss(scale, d, Fraction(d))
    for share in (0.0, 0.1, 0.4, 0.7, 0.9, 0.99):
        epsilon = share * flat.largest
        upper, lower = float(flat.profile(epsilon)), float(flat.profile_lower(epsilon))
        assert lower * (1.0 - 1e-10) <= float(ball.profile(epsilon))
        assert float(ball.profile_lower(epsilon)) <= upper * (1.0 + 1e-10)
        assert upper - lower < 1e-7 * upper + 1e-38


def test_beyond_every_loss_nothing_is_left():
    loss = flat_sphere_loss(8.0, 2.0, 5, Fraction(5))  # no loss is above √5/8
    assert loss.largest == pytest.approx(math.sqrt(5.0) / 8.0)
    assert float(loss.profile(0.5)) == 0.0 == float(loss.profile_lower(0.5))
    near = loss.largest * (1.0 - 1e-9)
    assert 0.0 < float(loss.profile(near)) < 1e-20


def test_longer_changes_reveal_more_and_larger_cores_less():
    for losses in (
        [FlatSphereLoss(5.0, 10, t) for t in (0.6, 0.8, 1.0)],
        [FlatSphereLoss(core, 10, 1.0) for core in (9.0, 6.0, 3.0)],
    ):
        for epsilon in (0.0, 0.5):
            found = [float(loss.profile_lower(epsilon)) for loss in losses]
            above = [float(loss.profile(epsilon)) for loss in losses]
            assert above[0] < found[1]
            assert above[1] < found[2]


def test_many_levels_at_once_are_those_of_each():
    loss = FlatSphereLoss(1.5, 4, 2.5)
    epsilon = np.array([[-1.0, 0.0, 0.2], [1.0, 2.4, 3.0]])
    for found, one in (
        (loss.profile(epsilon), loss.profile),
        (loss.profile_lower(epsilon), loss.profile_lower),
    ):
        assert found.shape == epsilon.shape
        each = np.array([float(one(e)) for e in epsilon.ravel()])
        assert np.allclose(found.ravel(), each, rtol=1e-8, atol=0.0)


def test_panels_that_are_never_halved_still_enclose(monkeypatch):
    """Whatever the panels leave open is charged."""
    loss = FlatSphereLoss(20.0, 60, 2.0)
    exact = by_quadrature(20.0, 60, 2.0, 0.5)
    monkeypatch.setattr(judge, "_HALVINGS", 0)
    upper, lower = float(loss.profile(0.5)), float(loss.profile_lower(0.5))
    assert lower <= exact <= upper
    assert upper - lower > 1e-9 * upper


def test_the_mass_of_the_radii_is_that_of_gamma_functions():
    for core, d in ((0.0, 5), (0.3, 2), (7.0, 10), (90.0, 10), (300.0, 200)):
        tail = special.gammaincc(d + 1.0, core)
        assert log_mass(core, d) == pytest.approx(
            special.gammaln(d + 1.0) + math.log(tail), abs=1e-10
        )


def test_the_table_dominates_and_is_near():
    loss = FlatSphereLoss(6.0, 10, 0.9)
    table = loss.table(1e-3, -1.0, 1.0)
    assert table is loss.table(1.0, -1.0, 1.0)
    assert table.infinite == 0.0
    for epsilon in (-0.1, 0.0, 0.013, 0.1, 0.4, 0.6):
        upper = float(table.profile(epsilon))
        assert upper >= float(loss.profile_lower(epsilon))
        assert upper == pytest.approx(float(loss.profile(epsilon)), rel=2e-3)
        assert float(table.profile_lower(epsilon)) == 0.0
    assert np.sum(np.exp(table.log_p)) == pytest.approx(1.0, abs=1e-9)
    assert loss.share_below_largest(1.0) == 1.0
    assert loss.divergence(2.0) == table.divergence(2.0) < math.inf
    assert loss.with_divergences is table
    assert loss.cumulants(1.0) == table.cumulants(1.0)


def test_composed_without_a_core_it_is_no_better_than_the_sphere():
    flat, ball = PrivacyLoss.of(flat_sphere(30.0, 10, 0.0)), PrivacyLoss.of(sphere(30.0, 10))
    lower, upper = ball.compose(5).delta_bounds(1.0)
    assert lower <= flat.compose(5).delta(1.0) < 1.01 * upper
    assert flat.compose(5).delta_bounds(1.0).lower == 0.0


def test_what_cannot_be_judged_is_refused():
    for scale in (1e-4, 1e9):
        with pytest.raises(AccountingError, match="times its scale"):
            flat_sphere_loss(scale, 1.5, 4, Fraction(4))
    with pytest.raises(AccountingError, match="those of none"):
        table_above(np.array([0.0, 1.0]), np.array([0.9, 0.0]), 0.0)


def test_a_change_is_judged_by_its_length():
    law = flat_sphere(8.0, 10, 6.0)
    whole = PrivacyLoss.of(law).delta(0.3)
    assert PrivacyLoss.of(law, 1.0, OneSided(touched=4)).delta(0.3) < whole
    length = PrivacyLoss.of(law, 1.0, Euclidean(math.sqrt(10.0)))
    assert length.delta(0.3) == pytest.approx(whole, rel=1e-3)
    assert length.delta_bounds(0.3).lower == 0.0 < PrivacyLoss.of(law).delta_bounds(0.3).lower
    assert law.loss_at(Fraction(1)) == law.loss(1.0)


# One answer


def test_one_answer_without_a_core_is_that_of_the_sphere():
    x = np.array([-20.0, -1.0, 0.0, 0.5, 9.0, 150.0])
    for d in (2, 3, 10, 60):
        ball, flat = sphere(6.0, d), flat_sphere(6.0, d, 0.0)
        assert np.allclose(flat.pdf(x), ball.pdf(x), rtol=1e-9)
        assert np.allclose(flat.ccdf(x), ball.ccdf(x), rtol=1e-9)


@pytest.mark.parametrize(("d", "core"), [(2, 1.5), (4, 3.0), (10, 40.0)])
def test_one_answer(d, core):
    law = flat_sphere(6.0, d, core)
    assert law.std == pytest.approx(6.0)
    x = np.linspace(0.0, 150.0, 3001)
    density = law.pdf(x)
    assert 2.0 * np.trapezoid(density * x**2, x) == pytest.approx(36.0, rel=1e-6)
    assert np.trapezoid(density, x) == pytest.approx(0.5, rel=1e-6)
    assert np.trapezoid(density[180:], x[180:]) == pytest.approx(float(law.ccdf(9.0)), rel=1e-4)
    u = np.array([1e-12, 0.1, 0.4])
    assert np.allclose(law.ccdf(law.quantile(u, upper=True)), u, rtol=1e-11)
    assert np.allclose(law.quantile(u), -law.quantile(u, upper=True))
    assert float(law.quantile(0.5)) == 0.0
    assert law.has_convex_levels
    drawn = law.insecure_draws(2_000, np.random.default_rng(1))
    assert stats.kstest(drawn, lambda v: 1.0 - law.ccdf(v)).pvalue > 1e-3
    with pytest.raises(Exception, match="no masses by radius"):
        law.pmf(0)


# Draws


def test_the_terms_are_those_of_the_radius():
    """P(R > x) from the mixture and from the density."""
    for core, d in ((Fraction(5, 2), 4), (Fraction(1, 64), 3), (Fraction(20), 6)):
        weights = np.array([float(one) for one in terms(core, d)])
        x = np.array([0.1, 1.0, 5.0, 12.0])
        mixed = [
            float(np.sum(weights * special.gammaincc(np.arange(d + 1.0) + 1.0, one))) for one in x
        ]
        exact = special.gammaincc(d + 1.0, float(core) + x) / special.gammaincc(
            d + 1.0, float(core)
        )
        assert np.allclose(np.array(mixed) / np.sum(weights), exact, rtol=1e-12)
    assert terms(Fraction(0), 3) == [0, 0, 0, 6]


def test_a_word_at_a_limit_is_followed_by_more():
    vectors = FlatVectors.of(FlatSphereSampler(1.0, 2.5, 3, 1.0))
    limits, finer = vectors.limits(64), vectors.limits(128)
    asked = np.array([limits[1] - 1, limits[1], limits[1] + 1, 0, (1 << 64) - 1], dtype=np.uint64)

    class Fixed:
        stamp = "fixed"

        def __init__(self, word: int) -> None:
            self.word = word

        def take(self, count: int) -> bytes:
            return self.word.to_bytes(count, "little")

    rest = finer[1] - (limits[1] << 64)
    assert vectors.orders(asked, Fixed(rest - 1)).tolist() == [1, 1, 2, 0, 3]
    assert vectors.orders(asked, Fixed(rest + 1)).tolist() == [1, 2, 2, 0, 3]


@pytest.mark.parametrize(("d", "core"), [(2, 0.5), (3, 0.0), (10, 8.625), (7, 50.0)])
def test_draws_have_the_radius_and_the_answers_of_the_law(d, core):
    law = flat_sphere(6.0, d, core)
    noise = draw(law, 20_000, entropy=InsecureSeededEntropy(7)).floats()
    radius = np.sqrt(np.sum(noise**2, axis=1)) / law.scale
    inside = d * math.log(core) - math.log(d) if core else -math.inf
    beyond = special.gammaln(d) + np.log(special.gammaincc(d, np.maximum(radius, core)))
    share = np.where(radius < core, d * np.log(radius) - math.log(d), inside)
    tail = np.exp(beyond + core)
    whole = math.exp(inside) + math.exp(
        special.gammaln(d) + math.log(special.gammaincc(d, core)) + core
    )
    below = np.where(radius < core, np.exp(share), whole - tail) / whole
    counts = np.histogram(below, np.linspace(0.0, 1.0, 41))[0]
    assert stats.chisquare(counts).pvalue > 1e-3
    for answer in (0, d - 1):
        counts = np.histogram(law.ccdf(noise[:2000, answer]), np.linspace(0.0, 1.0, 41))[0]
        assert stats.chisquare(counts).pvalue > 1e-3
    assert abs(float(np.corrcoef(noise[:, 0], noise[:, 1])[0, 1])) < 0.03


@pytest.mark.parametrize(("d", "core"), [(2, 0.0), (5, 4.0), (6, 90.0)])
def test_floating_point_is_within_its_window_of_many_digits(d, core):
    vectors = FlatVectors.of(flat_sphere(6.0, d, core).sampler())
    drawn = words(InsecureSeededEntropy(3), 60 * vectors.uniforms.words).reshape(60, -1)
    order = np.arange(60) % (d + 1)
    places, window, usual = vectors.approximate(drawn, order)
    radii = vectors.uniforms.radii
    for row in np.flatnonzero(usual):
        bits = [int(word) for word in drawn[row]]
        uniforms = [(bits[i] << 64 | bits[radii + i]) << 128 for i in range(radii)]
        angles = [angle << 192 for angle in bits[2 * radii :]]
        exact = vectors.precise(uniforms, angles, int(order[row]), 256)
        off = [abs(float(Fraction(float(p)) - e)) for p, e in zip(places[row], exact, strict=True)]
        assert max(off) <= window[row]
        assert window[row] < 1e-3


def test_what_floating_point_cannot_decide_is_decided_from_more_bits():
    """On a lattice so fine that every window is wide, all rows are drawn with many digits; rounded
    to a coarser one they are the draws of floating point."""
    fine = FlatVectors.of(FlatSphereSampler(2.0, 1.5, 3, 2.0**-22))
    drawn = words(InsecureSeededEntropy(5), 4 * (fine.uniforms.words + 1)).reshape(4, -1)
    order = fine.orders(drawn[:, -1], InsecureSeededEntropy(6))
    places, window, _ = fine.approximate(drawn[:, :-1], order)
    assert np.all(window > 0.01)
    with_digits = fine.rounded(drawn, InsecureSeededEntropy(6))
    assert np.all(np.abs(with_digits - places) <= 1.0 + window[:, None])
    rare = np.zeros((1, drawn.shape[1]), dtype=np.uint64)  # every U is near 0
    assert fine.rounded(rare, InsecureSeededEntropy(6)).shape == (1, 3)


def test_the_sampler_says_what_it_is():
    sampler = flat_sphere(6.0, 3, 5.0).sampler()
    assert sampler.is_exact
    assert sampler.is_joint
    assert sampler.unit == sampler.pitch
    assert sampler.integers((2, 3), InsecureSeededEntropy(1)).shape == (2, 3, 3)
    with pytest.raises(InvalidParameterError, match="2\\^61 pitches"):
        replace(sampler, step=1e-18).integers((1,), InsecureSeededEntropy(1))


def test_an_attacker_gains_what_is_certified_and_no_more():
    """The likelihood ratio is above 1 where the own density is: 200,000 draws, four errors."""
    law, count = flat_sphere(3.0, 4, 3.0), 200_000
    noise = draw(law, count, entropy=InsecureSeededEntropy(11)).floats()

    def level(z):
        return np.maximum(np.sqrt(np.sum(z**2, axis=1)), law.core * law.scale)

    says_first = level(noise) < level(noise - 1.0)
    says_wrong = level(noise + 1.0) < level(noise)
    advantage = float(np.mean(says_first) - np.mean(says_wrong))
    certified = PrivacyLoss.of(law).delta(0.0)
    assert abs(advantage - certified) <= 4.0 * math.sqrt(0.5 / count)


# Files


def test_files_bring_it_back():
    law = flat_sphere(6.0, 3, 5.015625)
    drawn = json.loads(json.dumps(law.describe_drawn()))
    assert Noise.from_drawn(drawn) == law
    assert Noise.from_description(json.loads(json.dumps(law.describe()))) == law
    with pytest.raises(ValueError, match="law"):
        Noise.from_drawn({**drawn, "more": 1})


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((1.0, 2.0, 1), "dimension"),
        ((1.0, 0.01, 4), "core"),
        ((1.0, -1.0, 4), "core"),
        ((1.0, math.nan, 4), "core"),
        ((1.0, math.inf, 4), "core"),
        ((1.0, True, 4), "core"),
        ((1.0, "2", 4), "core"),
        ((0.0, 6.0, 4), "scale"),
        ((1.0, 6.0, 4, -1.0), "step"),
    ],
)
def test_what_is_no_flat_sphere_is_refused(arguments, name):
    with pytest.raises(InvalidParameterError, match=f"Expected {name}="):
        FlatSphereNoise(*arguments)
