"""The ball-shaped law rounded to whole numbers: masses and variance by quadrature of the noise;
judged, drawn, saved, verified."""

import itertools
import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, special, stats

from leastnoise import Noise, PrivacyLoss, design, sphere
from leastnoise.artefact import certify, read_artefact, verify, write_artefact
from leastnoise.cost import absolute, custom, quadratic
from leastnoise.designer.result import artefact_of
from leastnoise.errors import InvalidFileError, InvalidParameterError, UnsupportedError
from leastnoise.laws.sphere import BallNoise
from leastnoise.sampling import InsecureSeededEntropy, draw, release


def exact_masses(d, scale, last):
    """P(X = k), k = 0, …, last, of one answer: the continuous density integrated over [k − ½, k +
    ½]."""

    nu = 0.5 * d
    log_unit = (
        0.5 * math.log(math.pi) + nu * math.log(2.0) + math.lgamma(nu + 0.5) + math.log(scale)
    )

    def density(z):
        x = z / scale
        return math.exp(nu * math.log(x) - x - log_unit) * special.kve(nu, x)

    def over(low, high):
        return integrate.quad(density, low, high, epsabs=0.0, epsrel=1e-12)[0]

    return [
        2.0 * (over(1e-12, 0.125) + over(0.125, 0.5)),
        *(over(k - 0.5, k + 0.5) for k in range(1, last + 1)),
    ]


# The law of one answer


@pytest.mark.portable
@pytest.mark.parametrize(("d", "scale", "last"), [(2, 0.4, 14), (3, 1.7, 60), (60, 0.1, 10)])
def test_masses_and_variance_are_those_of_the_rounded_noise(d, scale, last):
    noise, masses = BallNoise(scale, d, domain="integer"), exact_masses(d, scale, last)
    k = np.arange(last + 1.0)
    assert noise.ccdf(k - 1.0) - noise.ccdf(k) == pytest.approx(masses, rel=1e-9, abs=1e-15)
    assert 2.0 * math.fsum(p * j * j for j, p in enumerate(masses)) == pytest.approx(
        noise.variance, rel=1e-10
    )
    assert noise.std == pytest.approx(math.sqrt(noise.variance), rel=1e-15)
    assert noise.ccdf([0.0, 0.3, 0.999]) == pytest.approx(float(noise.ccdf(0.5)), rel=1e-15)
    assert noise.cdf(-1.0) == pytest.approx(noise.ccdf(0.0), rel=1e-15)


@pytest.mark.portable
@pytest.mark.parametrize("d", [2, 3, 7, 60, 400])
def test_both_sums_of_the_variance_meet(d):
    """Below scale 1 the variance is a sum over whole numbers, above a Fourier series: one function,
    rising in the scale."""
    steps = [0.999999, 1.0, 1.000001]
    variances = [BallNoise(scale, d, domain="integer").variance for scale in steps]
    slopes = np.diff(variances)
    assert np.all(slopes > 0.0)
    assert slopes[0] == pytest.approx(slopes[1], rel=1e-4)
    far = BallNoise(20.0, d, domain="integer").variance
    assert far == pytest.approx((d + 1) * 400.0 + 1.0 / 12.0, rel=1e-9)


@pytest.mark.portable
@pytest.mark.parametrize("d", [2, 5, 60, 500])
@pytest.mark.parametrize("sigma", [1e-9, 1e-3, 0.2, 1.0, 8.0, 5000.0])
def test_sigma_is_that_of_the_rounded_noise(d, sigma):
    noise = sphere(sigma, d, domain="integer")
    assert noise.domain == "integer"
    assert noise.step == 1.0
    assert noise.std == pytest.approx(sigma, rel=1e-12)


@pytest.mark.parametrize(("d", "sigma"), [(2, 0.3), (3, 2.0), (60, 8.0)])
def test_quantiles_are_the_smallest_whole_numbers(d, sigma):
    noise = sphere(sigma, d, domain="integer")
    u = np.array([1e-200, 1e-9, 1e-3, 0.1, 0.3, 0.49999, 0.5, 0.6, 0.99])
    upper, lower = noise.quantile(u, upper=True), noise.quantile(u)
    assert np.all(upper == np.rint(upper))
    assert np.all(noise.ccdf(upper) <= u)
    assert np.all(noise.ccdf(upper - 1.0) > u)
    assert np.all(noise.cdf(lower) >= u)
    assert np.all(noise.cdf(lower - 1.0) < u)
    half = noise.interval(0.95)
    assert 2.0 * float(noise.ccdf(half)) <= 0.05 < 2.0 * float(noise.ccdf(half - 1.0))


def test_other_costs_are_sums_over_whole_numbers():
    noise, masses = BallNoise(0.4, 2, domain="integer"), exact_masses(2, 0.4, 14)
    absolutely = 2.0 * math.fsum(p * j for j, p in enumerate(masses))
    assert noise.expected_cost(absolute()) == pytest.approx(absolutely, rel=1e-9)
    assert noise.expected_cost(quadratic()) == noise.variance
    shifted = custom(lambda z: 1.0 + np.abs(z), growth=1.0)
    assert noise.expected_cost(shifted) == pytest.approx(1.0 + absolutely, rel=1e-9)


def test_scipy_has_the_rounded_law():
    noise = sphere(2.0, 3, domain="integer")
    law = noise.as_scipy()
    k = np.arange(-60, 61)
    assert law.pmf(k).sum() == pytest.approx(1.0, rel=1e-12)
    assert law.std() == pytest.approx(2.0, rel=1e-12)
    drawn = law.rvs(size=4000, random_state=np.random.default_rng(5))
    assert np.all(drawn == np.rint(drawn))
    assert drawn.std() == pytest.approx(2.0, rel=0.05)


# Judged


def exact_delta(d, scale, epsilon):
    """δ(ε) of the continuous law when every answer moves by 1, by quadrature over the noise itself:
    along the move and across."""
    length = math.sqrt(d) / scale  # of the move, in units of the scale

    def across(t):
        """∫ r^(d−2) (e^(−|z|) − e^ε e^(−|z−v|))₊ dr at the place t along the move; it is positive
        on r < r₀."""

        def gap(r):
            return math.hypot(t - length, r) - math.hypot(t, r) - epsilon

        if gap(0.0) <= 0.0:
            return 0.0
        high = 1.0
        while gap(high) > 0.0 and high < 1e6:
            high *= 2.0
        low = 0.0
        for _ in range(100):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if gap(middle) > 0.0 else (low, middle)

        def height(r):
            if r <= 0.0:
                return 0.0
            log = (d - 2) * math.log(r) - math.hypot(t, r) - unit
            return math.exp(log) * -math.expm1(-gap(r))

        places = np.unique(
            np.clip(
                [0.0, 0.5 * centre, centre, 1.5 * centre, 2.5 * centre, 5.0 * centre + 40.0],
                0.0,
                high,
            )
        )
        return sum(
            integrate.quad(height, a, b, epsabs=1e-16, epsrel=1e-10)[0]
            for a, b in itertools.pairwise(places)
        )

    # The mass: ∫∫ r^(d−2) e^(−|z|) dr dt = ∫ ρ^(d−1) e^(−ρ) dρ · ∫ sin^(d−2) in polar coordinates.
    log_mass = (
        math.lgamma(d) + 0.5 * math.log(math.pi) + math.lgamma(0.5 * (d - 1)) - math.lgamma(0.5 * d)
    )
    unit, centre = log_mass, math.sqrt((d - 1.0) * d)
    ends = np.linspace(-8.0 * math.sqrt(d) - 40.0, 0.5 * length, 9)
    return sum(
        integrate.quad(across, a, b, epsabs=1e-14, epsrel=1e-8, limit=200)[0]
        for a, b in itertools.pairwise(ends)
    )


@pytest.mark.parametrize(("d", "sigma"), [(3, 2.0), (10, 8.0), (60, 8.0)])
def test_epsilon_is_that_of_the_noise_before_rounding(d, sigma):
    """By quadrature over the noise, which shares no code with the judge."""
    noise = sphere(sigma, d, domain="integer")
    loss = PrivacyLoss.of(noise, 1.0)
    bounds = loss.epsilon_bounds(1e-4)
    assert exact_delta(d, noise.scale, bounds.upper * (1.0 + 1e-6)) <= 1e-4
    assert exact_delta(d, noise.scale, bounds.lower * (1.0 - 1e-6)) >= 1e-4
    before = PrivacyLoss.of(BallNoise(noise.scale, d), 1.0)
    assert loss.epsilon(1e-6) == before.epsilon(1e-6)


def test_rounding_reveals_no_more_than_the_judge_says():
    """The δ of the rounded release itself, two answers, summed over pairs of whole numbers, is at
    most that of the noise before."""
    d, scale, epsilon = 2, 1.5, 0.6
    noise = BallNoise(scale, d, domain="integer")
    nodes, weights = np.polynomial.legendre.leggauss(12)
    reach = 45
    at = np.arange(-reach, reach + 1)[:, None] + 0.5 * nodes
    x = at.ravel()
    density = np.exp(-np.hypot(x[:, None], x[None, :]) / scale) / (2.0 * math.pi * scale**2)
    cells = (
        density.reshape(at.shape + at.shape)
        * (0.5 * weights)[None, :, None, None]
        * (0.5 * weights)
    )
    masses = cells.sum(axis=(1, 3))
    assert masses.sum() == pytest.approx(1.0, abs=1e-5)
    moved = np.zeros_like(masses)
    moved[1:, 1:] = masses[:-1, :-1]
    released = float(np.maximum(masses - math.exp(epsilon) * moved, 0.0).sum())
    judged = PrivacyLoss.of(noise, 1.0).delta(epsilon)
    assert 0.5 * judged < released <= judged * (1.0 + 1e-9)


def test_a_sensitivity_between_whole_numbers_counts_as_the_next():
    noise = sphere(4.0, 5, domain="integer")
    assert PrivacyLoss.of(noise, 1.5).epsilon(1e-6) == PrivacyLoss.of(noise, 2.0).epsilon(1e-6)
    assert PrivacyLoss.of(noise, 0.2).epsilon(1e-6) == PrivacyLoss.of(noise, 1.0).epsilon(1e-6)


# Drawn


@pytest.mark.parametrize(("d", "sigma"), [(2, 0.6), (3, 2.0), (10, 8.0)])
def test_the_law_of_the_draws(d, sigma):
    noise = sphere(sigma, d, domain="integer")
    drawn = draw(noise, 20_000, entropy=InsecureSeededEntropy(70 + d))
    assert drawn.unit == 1
    z = drawn.integers.astype(float)
    assert z.shape == (20_000, d)
    edges = np.arange(-8, 9) * max(1, round(0.4 * sigma))
    shares = np.diff(np.concatenate([[0.0], noise.cdf(edges), [1.0]]))
    for column in (0, d - 1):
        counts = np.bincount(np.searchsorted(edges, z[:, column]), minlength=edges.size + 1)
        seen = shares * len(z) > 5.0
        expected = np.append(shares[seen], 1.0 - shares[seen].sum()) * len(z)
        observed = np.append(counts[seen], len(z) - counts[seen].sum())
        keep = expected > 1.0
        assert (
            stats.chisquare(
                observed[keep], expected[keep] * observed[keep].sum() / expected[keep].sum()
            ).pvalue
            > 1e-3
        )
    assert z.std() == pytest.approx(sigma, rel=0.03)


def test_the_draws_are_those_of_the_fine_lattice_rounded():
    """The same uniforms decide ⌊Z + ½⌋ on a lattice of 2^16 places and on the whole numbers."""
    whole = BallNoise(2.0, 4, domain="integer")
    fine = BallNoise(2.0, 4)
    one = draw(whole, 300, entropy=InsecureSeededEntropy(9)).integers
    other = draw(fine, 300, entropy=InsecureSeededEntropy(9)).floats()
    assert np.abs(one - other).max() <= 0.5 + 2.0**-16
    assert np.mean(one == np.floor(other + 0.5)) > 0.99


def test_whole_answers_stay_whole():
    noise = sphere(8.0, 3, domain="integer")
    answers = [[10, 0, -4], [2**40, 7, 1]]
    released = release(noise, answers, entropy=InsecureSeededEntropy(1), not_private=True)
    alone = draw(noise, 2, entropy=InsecureSeededEntropy(1))
    assert (released.integers - alone.integers).tolist() == answers
    assert noise.release(answers).dtype == np.int64
    assert noise.sample((2, 5)).shape == (2, 5, 3)


# Saved and verified


def test_saved_and_loaded(tmp_path):
    noise = sphere(30.0, 60, domain="integer")
    noise.save(tmp_path / "law.json")
    assert Noise.load(tmp_path / "law.json") == noise
    assert pickle.loads(pickle.dumps(noise)) == noise
    # A law of the real line is written as it was before there was another.
    sphere(30.0, 60).save(tmp_path / "real.json")
    assert "domain" not in (tmp_path / "real.json").read_text()
    assert noise != sphere(30.0, 60)


def test_an_artefact_of_whole_numbers_is_verified(tmp_path):
    best = design(delta=1e-6, sigma=8.0, batch=130, domain="integer")
    path = tmp_path / "noise.json"
    write_artefact(artefact_of(best), path)
    read = read_artefact(path)
    assert read.noise == best.noise
    assert read.noise.domain == "integer"
    assert read.guarantee.epsilon == best.epsilon
    assert verify(path).ok
    content = json.loads(path.read_text())["content"]
    assert content["law"]["domain"] == "integer"
    assert content["law"]["pitch"] == "1"


def test_an_artefact_that_promises_less_is_refused(tmp_path):
    noise = sphere(8.0, 60, domain="integer")
    wide = sphere(9.0, 60, domain="integer")
    path = tmp_path / "noise.json"
    write_artefact(certify(noise, delta=1e-6, compositions=1, sensitivity=1.0), path)
    written = json.loads(path.read_text())
    other = tmp_path / "other.json"
    write_artefact(certify(wide, delta=1e-6, compositions=1, sensitivity=1.0), other)
    written["content"]["guarantee"] = json.loads(other.read_text())["content"]["guarantee"]
    path.write_text(json.dumps(written))
    with pytest.raises(InvalidFileError):
        read_artefact(path)
    for domain in ("real", "natural", 7):
        written = json.loads(other.read_text())
        written["content"]["law"]["domain"] = domain
        path.write_text(json.dumps(written))
        with pytest.raises(InvalidFileError):
            read_artefact(path)


def test_what_is_refused():
    with pytest.raises(
        InvalidParameterError, match=r"Expected step=0\.5 to be 1 for domain=\"integer\""
    ):
        BallNoise(2.0, 3, 0.5, "integer")
    with pytest.raises(InvalidParameterError, match="domain"):
        BallNoise(2.0, 3, 1.0, "natural")
    noise = sphere(2.0, 3, domain="integer")
    with pytest.raises(UnsupportedError, match="differences of ccdf"):
        noise.pdf(0.0)
    with pytest.raises(UnsupportedError, match="differences of ccdf"):
        noise.pmf(0)
    assert Fraction(noise.step) == 1
