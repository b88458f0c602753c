"""Costs: averages over bins and shells against mpmath integrals and lists of points; expected costs
against exact tails."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from leastnoise import cost
from leastnoise.errors import InvalidParameterError
from leastnoise.laws.lattice import LatticeNoise

EXPONENTS = [0.5, 1.0, 1.7, 2.0, 3.0, 4.5]


def bin_average(function, k, step):
    """(1/Δ)∫ c over bin k, by mpmath."""
    low, high = (
        mpmath.mpf(step) * (k - mpmath.mpf(1) / 2),
        mpmath.mpf(step) * (k + mpmath.mpf(1) / 2),
    )
    points = [low, 0, high] if k == 0 else [low, high]
    return mpmath.quad(function, points) / step


@pytest.mark.parametrize("q", EXPONENTS)
@pytest.mark.parametrize("step", [1.0, 0.05, 12.5])
def test_power_costs_are_averaged_exactly(q, step):
    k = [0, 1, 2, 9, 1000]
    with mpmath.workdps(30):
        exact = [float(bin_average(lambda z: abs(z) ** q, i, step)) for i in k]
    assert cost.power(q).average(k, step, "real") == pytest.approx(exact, rel=1e-13)
    assert cost.power(q).average(k, 1.0, "integer") == pytest.approx([i**q for i in k], rel=1e-15)


@pytest.mark.parametrize("q", EXPONENTS)
def test_far_bins_keep_their_accuracy(q):
    # The plain difference of two powers would be off by 1e-9 here.
    k = 10**7
    with mpmath.workdps(50):
        half = mpmath.mpf(1) / 2
        exact = ((k + half) ** (q + 1) - (k - half) ** (q + 1)) / (q + 1)
    assert float(cost.power(q).average(k, 1.0, "real")) == pytest.approx(float(exact), rel=2e-14)


def test_named_costs_are_their_powers():
    k = np.arange(5)
    assert cost.quadratic().average(k, 0.5, "real") == pytest.approx(
        0.25 * (k * k + 1 / 12), rel=1e-15
    )
    assert cost.absolute().average(k, 0.5, "real") == pytest.approx(
        np.where(k == 0, 0.125, 0.5 * k), rel=1e-15
    )
    assert cost.absolute().average(k, 1.0, "integer").tolist() == k.tolist()


def huber(z):
    return np.where(np.abs(z) <= 2.5, 0.5 * z * z, 2.5 * (np.abs(z) - 1.25))


@pytest.mark.parametrize("domain", ["real", "integer"])
def test_a_users_own_cost(domain):
    own = cost.custom(huber, 1.0, "huber")
    k = np.arange(9)
    with mpmath.workdps(30):
        by_integral = [
            float(
                bin_average(lambda z: z * z / 2 if abs(z) <= 2.5 else 2.5 * (abs(z) - 1.25), i, 1.0)
            )
            for i in k.tolist()
        ]
    exact = (
        by_integral
        if domain == "real"
        else [0, 0.5, 2, 4.375, 6.875, 9.375, 11.875, 14.375, 16.875]
    )
    assert own.average(k, 1.0, domain) == pytest.approx(exact, rel=1e-13)
    assert own.name == "huber"


@pytest.mark.parametrize("domain", ["real", "integer"])
@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_a_power_given_as_a_users_own_cost_is_the_power(domain, dimension):
    noise = LatticeNoise.from_weights(
        [5.0, 3.0, 3.0, 1.0],
        0.8,
        step=0.5 if domain == "real" else 1.0,
        domain=domain,
        dimension=dimension,
    )
    for own, built_in in [
        (cost.custom(lambda z: z * z, 2.0), cost.quadratic()),
        (cost.custom(np.abs, 1.0), cost.absolute()),
        (cost.custom(lambda z: z**4, 4.0), cost.power(4.0)),
    ]:
        assert noise.expected_cost(own) == pytest.approx(noise.expected_cost(built_in), rel=1e-13)


def test_a_bounded_cost_is_a_cost():
    noise = LatticeNoise.from_weights([1.0, 0.5], 0.5, domain="integer")
    outside = cost.custom(lambda z: (np.abs(z) > 3).astype(float), 0.0)
    assert noise.expected_cost(outside) == pytest.approx(2 * float(noise.ccdf(3)), rel=1e-14)


@pytest.mark.parametrize(("dimension", "radius"), [(1, 12), (2, 9), (3, 5), (4, 3)])
@pytest.mark.parametrize("q", [0.5, 1.0, 2.0, 3.0])
@pytest.mark.parametrize("domain", ["real", "integer"])
def test_per_shell_by_enumeration(dimension, radius, q, domain):
    step = 0.4 if domain == "real" else 1.0
    average = cost.power(q).average(np.arange(radius + 1), step, domain)
    sums, counts = np.zeros(radius + 1), np.zeros(radius + 1)
    for x in reference.lattice_points(dimension, radius):
        k = reference.norm(x)
        sums[k] += average[abs(x[-1])]
        counts[k] += 1
    assert cost.power(q).per_shell(radius, dimension, step, domain) == pytest.approx(
        sums / counts, rel=1e-13
    )


def test_a_coordinate_of_a_shell_of_many_dimensions():
    # Exactly: Σ x_1² over shell k is the cube's (2k+1)^d k(k+1)/3 minus that of the cube inside.
    d, last = 300, 40
    exact = [0.0]
    for k in range(1, last + 1):
        squares = Fraction((2 * k + 1) ** d * k * (k + 1) - (2 * k - 1) ** d * (k - 1) * k, 3)
        exact.append(float(squares / reference.shell_count(d, k)))
    assert cost.quadratic().per_shell(last, d, 1.0, "integer") == pytest.approx(exact, rel=1e-13)


@pytest.mark.parametrize("domain", ["real", "integer"])
@pytest.mark.parametrize(
    ("last", "ratio"), [(1, 0.5), (3, 1e-9), (20, 0.9), (200, 0.999), (1600, 0.9999)]
)
def test_the_printed_variance_of_proposition_3_5(domain, last, ratio):
    step = 0.05 if domain == "real" else 1.0
    h = np.exp(-np.arange(last + 1) / (last + 1.0)) * (1.0 + 0.3 * np.cos(np.arange(last + 1)))
    noise = LatticeNoise.from_weights(h, ratio, step=step, domain=domain)
    printed = reference.printed_variance(noise)
    assert printed == reference.variance(noise)
    assert noise.variance == pytest.approx(float(printed), rel=2e-15)
    assert noise.expected_cost(cost.custom(lambda z: z * z, 2.0)) == pytest.approx(
        float(printed), rel=1e-12
    )  # the summed way
    assert noise.std == math.sqrt(noise.variance)


@pytest.mark.parametrize("dimension", [1, 2, 5])
@pytest.mark.parametrize(
    ("last", "ratio"), [(0, 0.3), (0, 0.95), (6, 0.5), (60, 0.99), (1600, 0.9999)]
)
@pytest.mark.parametrize("domain", ["real", "integer"])
def test_variance_in_any_dimension_is_exact(dimension, last, ratio, domain):
    h = np.exp(-np.arange(last + 1) / (last + 1.0))
    noise = LatticeNoise.from_weights(
        h, ratio, step=0.25 if domain == "real" else 1.0, domain=domain, dimension=dimension
    )
    assert noise.total == pytest.approx(float(reference.total_mass(noise)), abs=1e-12)
    assert noise.variance == pytest.approx(
        float(reference.variance(noise)), rel=1e-15 if dimension == 1 else 1e-12
    )


@pytest.mark.parametrize(("q", "ratio"), [(0.5, 0.9), (1.0, 0.9999), (3.0, 0.99), (4.5, 0.5)])
def test_other_tails_against_mpmath(q, ratio):
    noise = LatticeNoise.from_weights([3.0, 2.0, 2.0, 0.5], ratio, domain="integer")
    with mpmath.workdps(40):
        p = [mpmath.mpf(float(mass)) for mass in noise.shell_masses]
        r = mpmath.mpf(ratio)
        tail = mpmath.lerchphi(r, -q, 4) * r * p[3]  # Σ_{k≥4} r^(k−3) k^q
        exact = p[1] + p[2] * 2 ** mpmath.mpf(q) + p[3] * 3 ** mpmath.mpf(q) + tail
    assert noise.expected_cost(cost.power(q)) == pytest.approx(float(exact), rel=1e-12)


@given(
    masses=st.lists(st.floats(0, 1), min_size=1, max_size=8).filter(lambda m: sum(m) > 1e-3),
    q=st.floats(0.2, 6),
    dimension=st.integers(1, 3),
)
def test_a_finite_law_costs_what_its_points_cost(masses, q, dimension):
    noise = LatticeNoise(
        np.array(masses) / math.fsum(masses), None, domain="integer", dimension=dimension
    )
    radius = noise.last
    mass = np.zeros(radius + 1)
    for x in reference.lattice_points(dimension, radius):
        mass[abs(x[0])] += noise.pmf(reference.norm(x))
    exact = math.fsum(mass * np.arange(radius + 1.0) ** q)
    assert noise.expected_cost(cost.power(q)) == pytest.approx(exact, rel=1e-11, abs=1e-300)


@pytest.mark.parametrize(
    ("make", "name", "value"),
    [
        (lambda: cost.power(0.0), "exponent", "0.0"),
        (lambda: cost.power(-1.0), "exponent", "-1.0"),
        (lambda: cost.power(float("nan")), "exponent", "nan"),
        (lambda: cost.power("2"), "exponent", "'2'"),
        (lambda: cost.power(True), "exponent", "True"),
        (lambda: cost.custom(np.abs, -1.0), "growth", "-1.0"),
        (lambda: cost.custom(np.abs, float("inf")), "growth", "inf"),
        (lambda: cost.Cost("mine", np.abs, float("nan")), "growth", "nan"),
        (lambda: cost.Cost("mine", np.abs, 1.0, -3.0), "exponent", "-3.0"),
        (lambda: cost.custom(lambda z: z, 1.0, "lopsided"), "cost", "'lopsided'"),
        (lambda: cost.custom(lambda z: np.exp(z), 1.0, "lopsided"), "cost", "'lopsided'"),
        (lambda: cost.custom(lambda z: -np.abs(z), 1.0, "gain"), "cost", "'gain'"),
        (lambda: cost.custom(lambda z: np.abs(z) * np.nan, 1.0, "nan"), "cost", "'nan'"),
        (lambda: cost.custom(lambda z: 1.0, 1.0, "scalar"), "cost", "'scalar'"),
        (lambda: cost.custom(lambda z: np.abs(z)[:1], 1.0, "short"), "cost", "'short'"),
    ],
)
def test_bad_costs_are_refused_by_name_and_value(make, name, value):
    with pytest.raises(InvalidParameterError) as caught:
        make()
    assert str(caught.value).startswith(f"Expected {name}={value} ")


def test_a_cost_that_goes_wrong_far_out_is_refused_when_it_does():
    late = cost.custom(lambda z: np.where(np.abs(z) < 50, 1.0, np.nan), 1.0, "late")
    with pytest.raises(InvalidParameterError, match="Expected cost='late'"):
        LatticeNoise.from_weights([1.0], 0.9, domain="integer").expected_cost(late)
