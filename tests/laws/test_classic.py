"""The rivals: each has the deviation asked for and the shape its name promises."""

import math

import mpmath
import numpy as np
import pytest

import leastnoise
import reference
from leastnoise.errors import InvalidParameterError
from leastnoise.lattice.resolution import step_of_known_law
from leastnoise.lattice.steps import shift_in_steps, step_of

SIGMAS = [0.05, 0.3, 1.0, 8.0, 1e3]


# --- the deviation asked for ---------------------------------------------------------------------


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("sensitivity", [1.0, 0.2, 3.0])
@pytest.mark.parametrize(
    "rival",
    [
        lambda sigma, s: leastnoise.staircase(sigma, sensitivity=s),
        lambda sigma, s: leastnoise.cube(sigma, 1, sensitivity=s),
        lambda sigma, s: leastnoise.cube(sigma, 3, sensitivity=s),
        lambda sigma, s: leastnoise.generalized_gaussian(sigma, 2.0, sensitivity=s),
        lambda sigma, s: leastnoise.generalized_gaussian(sigma, 4.0, batch=2, sensitivity=s),
    ],
    ids=["staircase", "cube1", "cube3", "normal", "quartic2"],
)
def test_rivals_on_the_line_have_the_deviation_asked_for(rival, sigma, sensitivity):
    if sigma / sensitivity >= 1e3:
        sigma = (
            100.0 * sensitivity
        )  # the law depends on sigma/sensitivity alone; 1e3 is tested once below
    noise = rival(sigma, sensitivity)
    assert noise.std == pytest.approx(sigma, rel=1e-12)
    assert noise.domain == "real"
    assert noise.is_monotone
    m = sensitivity / noise.step
    assert m == pytest.approx(round(m), rel=2.0**-28)
    assert noise.step**2 / 12 <= 4e-5 * sigma**2
    if noise.dimension == 1 and noise.last <= 5000:
        assert float(reference.variance(noise)) == pytest.approx(sigma**2, rel=1e-12)


@pytest.mark.parametrize("sigma", [1e-3, *SIGMAS])
@pytest.mark.parametrize(
    "rival",
    [
        leastnoise.discrete_gaussian,
        leastnoise.discrete_laplace,
        leastnoise.discrete_staircase,
        lambda sigma: leastnoise.discrete_staircase(sigma, sensitivity=5),
        lambda sigma: leastnoise.cube(sigma, 3, domain="integer"),
        lambda sigma: leastnoise.cube(sigma, 2, domain="integer", sensitivity=4),
        lambda sigma: leastnoise.generalized_gaussian(sigma, 3.0, domain="integer"),
    ],
)
def test_rivals_on_the_integers_have_the_deviation_asked_for(rival, sigma):
    noise = rival(sigma)
    assert noise.std == pytest.approx(sigma, rel=1e-12)
    assert (noise.domain, noise.step) == ("integer", 1.0)
    assert noise.is_monotone


@pytest.mark.parametrize("exponent", [0.5, 0.8, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0])
@pytest.mark.parametrize("sigma", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("domain", ["real", "integer"])
def test_generalised_gaussians_have_their_exponent(exponent, sigma, domain):
    noise = leastnoise.generalized_gaussian(sigma, exponent, domain=domain)
    assert noise.std == pytest.approx(sigma, rel=1e-12)
    k = np.arange(1, min(noise.last, 3000) + 1)
    if k.size:
        loss = float(noise.log_pmf(0)) - noise.log_pmf(k)
        assert loss == pytest.approx(loss[-1] * (k / k[-1]) ** exponent, rel=1e-12, abs=1e-12)
    if domain == "real":
        # The continuous law of this deviation has the scale σ·√(Γ(1/q)/Γ(3/q)) and the kurtosis
        # Γ(5/q)Γ(1/q)/Γ(3/q)².
        scale = math.exp(0.5 * (math.lgamma(1 / exponent) - math.lgamma(3 / exponent)))
        far = int(scale * sigma / noise.step)
        assert float(noise.log_pmf(0) - noise.log_pmf(far)) == pytest.approx(
            (far * noise.step / (scale * sigma)) ** exponent, rel=2e-3 / min(exponent, 1.0) ** 2
        )  # a cusp at 0 feels the bins most
        kurtosis = math.exp(
            math.lgamma(5 / exponent) + math.lgamma(1 / exponent) - 2 * math.lgamma(3 / exponent)
        )
        assert noise.expected_cost(leastnoise.cost.power(4.0)) / sigma**4 == pytest.approx(
            kurtosis, rel=2e-2
        )


@pytest.mark.slow
def test_wide_laws():
    assert leastnoise.staircase(1e3).std == pytest.approx(1e3, rel=1e-12)
    assert leastnoise.cube(1e3, 10).std == pytest.approx(1e3, rel=1e-12)
    assert leastnoise.generalized_gaussian(300.0, 0.5).std == pytest.approx(300.0, rel=1e-12)


@pytest.mark.parametrize(
    ("batch", "exponent"), [(100, 1.0), (100, 2.0), (100, 0.5), (1000, 1.0), (300, 8.0)]
)
def test_many_answers(batch, exponent):
    noise = leastnoise.generalized_gaussian(8.0, exponent, batch=batch)
    assert noise.std == pytest.approx(8.0, rel=1e-11)
    assert noise.total == pytest.approx(1.0, abs=1e-12)
    full = np.flatnonzero(noise.shell_masses)
    assert np.all(np.diff(noise.log_pmf(full)) <= 1e-12 * np.abs(noise.log_pmf(full[1:])))


def test_a_law_far_below_one_step_is_still_found():
    for sigma in [1e-3, 1e-30, 1e-100]:
        for rival in [
            leastnoise.discrete_gaussian,
            leastnoise.discrete_laplace,
            leastnoise.discrete_staircase,
        ]:
            noise = rival(sigma)
            assert noise.std == pytest.approx(sigma, rel=1e-11)
            assert float(noise.pmf(1)) == pytest.approx(sigma**2 / 2, rel=1e-5)


def test_deviations_barely_above_one_bin():
    for rival in [
        leastnoise.staircase,
        lambda sigma, step: leastnoise.generalized_gaussian(sigma, 3.0, step=step),
    ]:
        assert rival(0.02887, step=0.1).std == pytest.approx(0.02887, rel=1e-9)
        with pytest.raises(
            InvalidParameterError,
            match=r"Expected sigma=0.0288 to exceed the standard deviation 0.0288675 of one bin",
        ):
            rival(0.0288, step=0.1)


# --- the closed forms and their pictures on a lattice --------------------------------------------


def test_gaussian_and_laplace_are_closed_forms():
    assert leastnoise.gaussian(2.0).std == leastnoise.laplace(2.0).std == 2.0
    x = np.linspace(-6, 6, 41)
    for exact, picture in [
        (leastnoise.gaussian(2.0), leastnoise.generalized_gaussian(2.0, 2.0, step=0.005)),
        (leastnoise.laplace(2.0), leastnoise.generalized_gaussian(2.0, 1.0, step=0.005)),
    ]:
        assert picture.cdf(x) == pytest.approx(exact.cdf(x), abs=2e-6)
        assert picture.interval(0.95) == pytest.approx(exact.interval(0.95), rel=1e-4)


@pytest.mark.parametrize("sigma", SIGMAS)
def test_the_discrete_gaussian_is_its_formula(sigma):
    noise = leastnoise.discrete_gaussian(sigma)
    end = noise.last
    t2 = end**2 / (2.0 * float(noise.log_pmf(0) - noise.log_pmf(end)))  # p_k ∝ e^(−k²/(2t²))
    with mpmath.workdps(40):
        q = mpmath.exp(-1 / (2 * mpmath.mpf(t2)))
        whole = mpmath.jtheta(3, 0, q)
        k = np.unique(np.linspace(0, min(noise.last, math.ceil(30 * sigma) + 2), 60).astype(int))
        exact = [float(q ** (int(i) ** 2) / whole) for i in k]
    assert noise.pmf(k) == pytest.approx(exact, rel=1e-11, abs=1e-300)
    if sigma >= 1:
        assert math.sqrt(t2) == pytest.approx(
            sigma, rel=1e-6
        )  # the two deviations agree once the lattice is fine


@pytest.mark.parametrize("sigma", SIGMAS)
def test_the_discrete_laplace_is_its_formula(sigma):
    # p_k = (1−r)/(1+r)·r^|k| has the variance 2r/(1−r)².
    noise = leastnoise.discrete_laplace(sigma)
    r = (
        (1 + sigma**2 - math.sqrt(1 + 2 * sigma**2)) / sigma**2
        if sigma > 0.5
        else sigma**2 / (1 + sigma**2 + math.sqrt(1 + 2 * sigma**2))
    )
    assert noise.tail_ratio == pytest.approx(r, rel=1e-10)
    k = np.arange(0, math.ceil(10 * sigma) + 5)
    assert noise.pmf(k) == pytest.approx((1 - r) / (1 + r) * r**k, rel=1e-8)


# --- staircase -----------------------------------------------------------------------------------


def stairs(noise, sensitivity):
    """(ε, γ, bins per sensitivity) read off the law; asserts that it is a staircase."""
    m = round(sensitivity / noise.step)
    log_p = noise.log_pmf(np.arange(noise.last + 1))
    drops = np.flatnonzero(np.diff(log_p) < -1e-9)
    assert np.all(
        np.diff(log_p)[np.setdiff1d(np.arange(noise.last), drops)] == pytest.approx(0.0, abs=1e-12)
    )
    assert np.all(np.diff(drops) == m)
    epsilon = -np.diff(log_p)[drops]
    assert epsilon == pytest.approx(np.full(drops.size, epsilon[0]), rel=1e-9)
    return float(epsilon[0]), (2 * drops[0] + 1) / (2 * m), m


@pytest.mark.parametrize("sensitivity", [1.0, 0.25, 7.0])
@pytest.mark.parametrize("relative", [0.05, 0.2, 0.6, 1.0, 3.0, 12.0])
def test_the_staircase_is_that_of_geng_and_viswanath(sensitivity, relative):
    noise = leastnoise.staircase(relative * sensitivity, sensitivity=sensitivity)
    epsilon, gamma, m = stairs(noise, sensitivity)
    assert m >= 50
    with mpmath.workdps(30):
        assert float(reference.staircase_variance(epsilon, gamma)) == pytest.approx(
            relative**2, rel=1e-8
        )  # steps are up to 2^−29 wider
        best = reference.staircase_best_gamma(epsilon)
        # γ on the lattice is an odd multiple of 1/(2m); variance is flat at the optimum and cubic
        # in γ beyond it.
        assert gamma == pytest.approx(float(best), abs=1.5 / m)
        least = reference.staircase_best_variance(epsilon)
        assert least == pytest.approx(reference.staircase_variance(epsilon, best), rel=1e-20)
        assert least <= reference.staircase_variance(epsilon, gamma)
        assert float(least) == pytest.approx(relative**2, rel=2e-3)
    # e^ε is all the loss there is: no two bins within the sensitivity differ by more.
    p = noise.log_pmf(np.arange(-noise.last - m, noise.last + m + 1))
    assert np.max(np.abs(p[m:] - p[:-m])) <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("sensitivity", [2, 3, 10])
@pytest.mark.parametrize("sigma", [0.4, 1.0, 6.0])
def test_the_discrete_staircase_needs_the_least_epsilon(sigma, sensitivity):
    noise = leastnoise.discrete_staircase(sigma, sensitivity=sensitivity)
    epsilon, gamma, m = stairs(noise, sensitivity)
    assert m == sensitivity
    chosen = round((2 * m * gamma - 1) / 2)

    def variance(flat, epsilon):
        k = np.arange(1, flat + 1 + sensitivity * math.ceil(60 / epsilon))
        p = np.exp(-epsilon * np.maximum(np.ceil((k - flat) / sensitivity), 0.0))
        return 2 * math.fsum(p * k * k) / (1 + 2 * math.fsum(p))

    assert variance(chosen, epsilon) == pytest.approx(sigma**2, rel=1e-9)
    for flat in range(sensitivity):
        # With ε a little smaller every other choice of the flat part has too much variance: none
        # needs less ε.
        assert variance(flat, epsilon * (1 - 1e-9)) > sigma**2 * (1 - 1e-12)


@pytest.mark.parametrize("sigma", SIGMAS)
def test_with_sensitivity_one_the_discrete_staircase_is_the_discrete_laplace(sigma):
    stair, straight = leastnoise.discrete_staircase(sigma), leastnoise.discrete_laplace(sigma)
    k = np.arange(0, math.ceil(60 * sigma) + 10)
    assert stair.log_pmf(k) == pytest.approx(straight.log_pmf(k), rel=1e-9)
    assert stair.tail_ratio == pytest.approx(straight.tail_ratio, rel=1e-9)


# --- cube ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [1, 2, 3, 10, 40])
@pytest.mark.parametrize("domain", ["real", "integer"])
def test_the_cube_law_falls_geometrically(batch, domain):
    noise = leastnoise.cube(8.0, batch, domain=domain)
    k = np.arange(0, 3 * noise.last + 50)
    log_h = noise.log_pmf(k)
    assert log_h[0] - log_h == pytest.approx(k * -math.log(noise.tail_ratio), rel=1e-9, abs=1e-9)
    assert noise.dimension == batch
    assert noise.is_monotone


@pytest.mark.parametrize(("batch", "radius"), [(1, 60), (2, 40), (3, 22)])
def test_the_cube_laws_variance_by_enumeration(batch, radius):
    noise = leastnoise.cube(1.0, batch, domain="integer")
    h = noise.pmf(np.arange(radius + 1))
    axes = np.meshgrid(*[np.arange(-radius, radius + 1)] * batch)
    p = h[np.max(np.abs(axes), axis=0)]
    assert np.sum(p) == pytest.approx(1.0, rel=1e-10)
    for axis in axes:
        assert np.sum(p * axis**2) == pytest.approx(1.0, rel=1e-8)


@pytest.mark.parametrize("batch", [1, 2, 5, 20])
def test_the_cube_laws_continuous_limit(batch):
    noise = leastnoise.cube(4.0, batch, step=0.01)
    b = -noise.step / math.log(noise.tail_ratio)
    assert b**2 * (batch + 1) * (batch + 2) / 3 == pytest.approx(16.0, rel=1e-3)


def test_one_answer_makes_the_cube_a_laplace_law():
    assert leastnoise.cube(2.0, 1, domain="integer") == leastnoise.discrete_laplace(2.0)


# --- steps and what is refused -------------------------------------------------------------------


def test_steps():
    assert step_of_known_law(8.0, 1.0, None, "real") == step_of(1.0, 10)
    assert step_of_known_law(0.5, 1.0, None, "real") == step_of(1.0, 100)
    assert step_of_known_law(8.0, 3.0, 0.5, "real") == 0.5
    assert step_of_known_law(8.0, 3, None, "integer") == 1.0
    assert shift_in_steps(1.0, 0.1) == 10
    assert shift_in_steps(0.3, 0.1) == 3


@pytest.mark.parametrize(
    ("make", "name", "value"),
    [
        (lambda: leastnoise.staircase(1.0, step=0.3), "step", "0.3"),
        (lambda: leastnoise.staircase(1.0, step=2.0), "step", "2.0"),
        (lambda: leastnoise.cube(1.0, 2, step=0.3), "step", "0.3"),
        (lambda: leastnoise.cube(1.0, 2, step=-0.1), "step", "-0.1"),
        (lambda: leastnoise.cube(1.0, 2, step="0.1"), "step", "'0.1'"),
        (lambda: leastnoise.cube(1.0, 2, step=0.5, domain="integer"), "step", "0.5"),
        (lambda: leastnoise.cube(1.0, 2, step=True, domain="integer"), "step", "True"),
        (lambda: leastnoise.cube(1.0, 2, sensitivity=0.0), "sensitivity", "0.0"),
        (lambda: leastnoise.cube(1.0, 2, sensitivity=float("nan")), "sensitivity", "nan"),
        (lambda: leastnoise.cube(1.0, 2, sensitivity=1.5, domain="integer"), "sensitivity", "1.5"),
        (lambda: leastnoise.staircase(1.0, sensitivity=-1.0), "sensitivity", "-1.0"),
        (
            lambda: leastnoise.staircase(1.0, sensitivity=1.5, domain="integer"),
            "sensitivity",
            "1.5",
        ),
        (lambda: leastnoise.discrete_staircase(1.0, sensitivity=0), "sensitivity", "0"),
        (lambda: leastnoise.discrete_staircase(1.0, sensitivity=2.5), "sensitivity", "2.5"),
        (lambda: leastnoise.cube(1.0, 2, domain="complex"), "domain", "'complex'"),
        (lambda: leastnoise.staircase(1.0, domain=None), "domain", "None"),
        (lambda: leastnoise.cube(1.0, 0), "batch", "0"),
        (lambda: leastnoise.cube(1.0, 2.5), "batch", "2.5"),
        (lambda: leastnoise.cube(1.0, True), "batch", "True"),
        (lambda: leastnoise.cube(1.0, "2"), "batch", "'2'"),
        (lambda: leastnoise.generalized_gaussian(1.0, 0.0), "exponent", "0.0"),
        (lambda: leastnoise.generalized_gaussian(1.0, float("inf")), "exponent", "inf"),
        (lambda: leastnoise.generalized_gaussian(1.0, "2"), "exponent", "'2'"),
        (lambda: leastnoise.generalized_gaussian(1.0, 0.05), "exponent", "0.05"),
    ],
)
def test_bad_parameters_are_refused_by_name_and_value(make, name, value):
    with pytest.raises(InvalidParameterError) as caught:
        make()
    assert str(caught.value).startswith(f"Expected {name}={value} ")


@pytest.mark.parametrize(
    "rival",
    [
        leastnoise.staircase,
        leastnoise.discrete_gaussian,
        leastnoise.discrete_laplace,
        leastnoise.discrete_staircase,
        lambda sigma: leastnoise.cube(sigma, 2),
        lambda sigma: leastnoise.generalized_gaussian(sigma, 2.0),
    ],
)
@pytest.mark.parametrize(
    "sigma", [0.0, -1.0, float("nan"), float("inf"), "1", True, None], ids=repr
)
def test_bad_deviations_are_refused(rival, sigma):
    with pytest.raises(InvalidParameterError) as caught:
        rival(sigma)
    assert str(caught.value).startswith(f"Expected sigma={sigma!r} ")
