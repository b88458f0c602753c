"""Integer weights: exact, monotone, within the budget of variance, and hardly dearer in epsilon."""

from __future__ import annotations

import importlib
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leastnoise import (
    DesignError,
    InvalidParameterError,
    LatticeNoise,
    Noise,
    PrivacyLoss,
    UnsupportedError,
    cube,
    discrete_gaussian,
    discrete_laplace,
    gaussian,
    generalized_gaussian,
    staircase,
)
from leastnoise.artefact.exact import exact, rounded
from leastnoise.sampling import InsecureSeededEntropy, IntegerWeights, draw, integer_weights
from reference import lattice_points, norm, shell_count


def steps(dimension: int, flat: int, width: int, fall: float) -> LatticeNoise:
    """A joint law of flat steps: e^(−fall) more at each, the first after `flat` shells, of `width`
    to a sensitivity."""
    k = np.arange(flat + 4 * width)
    log_h = -fall * np.maximum(np.ceil((k - flat) / width), 0.0)
    return LatticeNoise.from_log_weights(
        log_h, math.exp(-fall / width), step=1.0 / width, dimension=dimension
    )


# law, sensitivity, delta, compositions, bits asked for
CASES = {
    "discrete gaussian": (discrete_gaussian(8.0), 1.0, 1e-6, 10, None),
    "discrete laplace": (discrete_laplace(8.0), 1.0, 1e-6, 10, None),
    "nearly no noise": (discrete_laplace(0.05), 1.0, 1e-6, 1, None),
    "staircase": (staircase(8.0), 1.0, 1e-6, 10, None),
    "staircase once": (staircase(2.0), 1.0, 1e-6, 1, None),
    "between gaussian and laplace": (generalized_gaussian(8.0, 1.5), 1.0, 1e-6, 10, None),
    "a third": (generalized_gaussian(8.0, 1.5, sensitivity=1 / 3), 1 / 3, 1e-6, 10, None),
    "tiny delta": (generalized_gaussian(8.0, 2.0), 1.0, 1e-20, 100, None),
    "two answers": (cube(8.0, 2), 1.0, 1e-6, 1, None),
    "ten answers": (cube(8.0, 10), 1.0, 1e-6, 1, None),
    "ten answers, 128 bits": (cube(8.0, 10), 1.0, 1e-6, 1, 128),
    "forty answers, 128 bits": (cube(8.0, 40), 1.0, 1e-9, 1, 128),
    "hundred answers, 128 bits": (cube(8.0, 100), 1.0, 1e-12, 1, 128),
    "ten gaussian answers": (generalized_gaussian(8.0, 2.0, batch=10), 1.0, 1e-6, 2, None),
    "twenty answers, steps, 128 bits": (steps(20, 30, 60, 12.0), 1.0, 1e-6, 1, 128),
    "forty answers, steep steps, 128 bits": (steps(40, 50, 92, 40.0), 1.0, 1e-6, 1, 128),
}


@pytest.mark.portable
@pytest.mark.parametrize("case", CASES, ids=str)
def test_rounding_keeps_the_promises_of_exact(case: str) -> None:
    design, sensitivity, delta, n, bits = CASES[case]
    law = exact(design, sensitivity=sensitivity, delta=delta, compositions=n, bits=bits)
    weights = integer_weights(law)
    assert weights is not None
    assert sum(Fraction(float(mass)) for mass in law.shell_masses) == 1
    assert sum(weights.weights) == 1 << weights.bits
    assert [Fraction(float(mass)) * (1 << weights.bits) for mass in law.shell_masses] == list(
        weights.weights
    )
    assert law.variance <= design.variance
    assert law.variance > design.variance * (1.0 - 1e-9)
    before = PrivacyLoss.of(design, sensitivity).compose(n).epsilon_bounds(delta)
    after = PrivacyLoss.of(law, sensitivity).compose(n).epsilon(delta)
    assert before.lower * (1.0 - 1e-6) <= after <= before.upper * (1.0 + 1e-6)
    charge = law.loss(sensitivity)
    assert n * (charge.infinite + charge.deviation * (1.0 + math.exp(after))) <= 1e-6 * delta
    assert_monotone(weights, law.dimension)


def assert_monotone(weights: IntegerWeights, dimension: int) -> None:
    """W_k/n_k non-increasing in exact integers from the first shell that is not empty."""
    first = next(k for k, weight in enumerate(weights.weights) if weight)
    counts = [shell_count(dimension, k) for k in range(len(weights.weights))]
    if dimension == 1:
        assert first == 0
        assert all(weight % 2 == 0 for weight in weights.weights)
    for k in range(first, len(counts) - 1):
        assert weights.weights[k] * counts[k + 1] >= weights.weights[k + 1] * counts[k]


@pytest.mark.portable
def test_bits_are_64_where_they_suffice_and_128_where_delta_needs_them() -> None:
    def bits(law: Noise, delta: float) -> int:
        weights = integer_weights(exact(law, delta=delta))
        assert weights is not None
        return weights.bits

    assert bits(discrete_gaussian(8.0), 1e-6) == 64
    assert bits(discrete_gaussian(8.0), 1e-18) == 128
    assert bits(cube(8.0, 40), 1e-6) == 64
    assert bits(cube(8.0, 40), 1e-17) == 128


def test_empty_inner_shells_are_charged() -> None:
    law = exact(cube(8.0, 100), delta=1e-6)
    assert law.shell_masses[0] == 0.0
    assert law.loss(1.0).deviation > 0.0
    assert PrivacyLoss.of(law, 1.0).epsilon(1e-6) < math.inf


@pytest.mark.portable
@given(
    falls=st.lists(st.floats(0.0, 3.0), min_size=1, max_size=40),
    ratio=st.floats(0.05, 0.98),
    bits=st.sampled_from([64, 128]),
    dimension=st.sampled_from([1, 1, 2, 5]),
    domain=st.sampled_from(["real", "integer"]),
)
def test_any_falling_law_is_rounded_exactly(
    falls: list[float], ratio: float, bits: int, dimension: int, domain: str
) -> None:
    log_h = -np.cumsum([0.0, *falls])
    if dimension > 1:  # so that the shells' masses fall at the end
        log_h = log_h - 0.2 * np.arange(log_h.size)
        ratio = min(ratio, 0.8)
    design = LatticeNoise.from_log_weights(log_h, ratio, domain=domain, dimension=dimension)  # type: ignore[arg-type]
    law = rounded(design, bits, 1e-12)
    weights = integer_weights(law)
    assert weights is not None
    assert weights.bits <= bits
    assert_monotone(weights, dimension)
    assert law.variance <= design.variance * (1.0 + 1e-15)
    assert np.abs(law.shell_masses - design.extended(law.last)).sum() < 1e-11


def test_a_law_that_is_not_monotone_is_rounded_too() -> None:
    comb = LatticeNoise.from_weights([1.0, 0.2, 0.9, 0.1, 0.5], 0.4, domain="integer")
    law = exact(comb, delta=1e-3, sensitivity=2)
    assert integer_weights(law) is not None
    assert not law.is_monotone
    assert law.variance <= comb.variance


def test_an_exact_law_stays_as_it_is() -> None:
    law = exact(discrete_gaussian(2.0), delta=1e-6)
    assert exact(law, delta=1e-9) is law


def test_only_exact_laws_have_integer_weights() -> None:
    law = exact(discrete_gaussian(2.0), delta=1e-6)
    masses = law.shell_masses.copy()
    assert integer_weights(discrete_gaussian(2.0)) is None
    masses[0] = np.nextafter(masses[0], 1.0)
    assert integer_weights(LatticeNoise(masses, None, domain="integer")) is None
    assert integer_weights(LatticeNoise([0.5, 0.5], None, domain="integer")) == IntegerWeights(
        64, (1 << 63, 1 << 63)
    )
    # A total that is 1 within the tolerance of a law is not 1, a tail too light to be seen is a
    # tail, 1e-60 is no part of 2^128.
    assert integer_weights(LatticeNoise([0.5, 0.5 - 2.0**-50], None, domain="integer")) is None
    assert integer_weights(LatticeNoise([0.5, 0.5], 1e-15, domain="integer")) is None
    assert integer_weights(LatticeNoise([1.0, 1e-60], None, domain="integer")) is None


@pytest.mark.parametrize("compositions", [1, 1000])
def test_what_a_shift_carries_out_of_the_support_is_bounded_for_all_releases(
    compositions: int,
) -> None:
    delta = 1e-6
    law = exact(discrete_laplace(8.0), delta=delta, compositions=compositions)
    assert 0.0 < compositions * float(law.shell_masses[-1]) <= 1e-8 * delta


def test_laws_too_steep_for_the_bits_are_refused_and_sampled_with_fewer() -> None:
    steep = LatticeNoise.from_weights([1.0], 1e-30, domain="integer")
    rising = LatticeNoise.from_weights([1.0, 1e-30, 1e-20, 1e-60], None, domain="integer")
    for law in (steep, rising):
        with pytest.raises(DesignError, match="falls too steeply"):
            rounded(law, 128)
    with pytest.raises(DesignError, match="falls too steeply"):
        exact(steep, delta=1e-6, bits=128)
    assert draw(steep, 100, entropy=InsecureSeededEntropy(3)).integers.tolist() == [0] * 100


def test_saved_and_loaded_law_has_the_same_integers(tmp_path: object) -> None:
    law = exact(cube(8.0, 3), delta=1e-6)
    law.save(f"{tmp_path}/law.json")
    back = Noise.load(f"{tmp_path}/law.json")
    assert back == law
    assert integer_weights(back) == integer_weights(law)  # type: ignore[arg-type]


def test_refusals() -> None:
    with pytest.raises(UnsupportedError, match="closed form"):
        exact(gaussian(1.0), delta=1e-6)
    with pytest.raises(InvalidParameterError, match="bits=96"):
        exact(discrete_gaussian(1.0), delta=1e-6, bits=96)
    with pytest.raises(InvalidParameterError, match="delta=0"):
        exact(discrete_gaussian(1.0), delta=0)
    with pytest.raises(DesignError, match="more than"):
        exact(discrete_gaussian(8.0), delta=1e-25, bits=64)


# The certificate against sums over the integer weights in 60 digits.


def points_of(law: LatticeNoise) -> dict[tuple[int, ...], Fraction]:
    weights = integer_weights(law)
    assert weights is not None
    points = {}
    for x in lattice_points(law.dimension, law.last):
        points[x] = Fraction(
            weights.weights[norm(x)], shell_count(law.dimension, norm(x)) << weights.bits
        )
    return points


def exact_delta(law: LatticeNoise, shift: int, releases: int, epsilon: float) -> mpmath.mpf:
    """Σ (P − e^ε Q)_+ for the corner shift and up to three releases, from the integers."""
    points = points_of(law)
    support = set(points) | {tuple(c + shift for c in x) for x in points}
    zero = Fraction(0)
    pairs: dict[tuple[Fraction, Fraction], int] = {}
    for x in support:
        pair = points.get(x, zero), points.get(tuple(c - shift for c in x), zero)
        pairs[pair] = pairs.get(pair, 0) + 1
    with mpmath.workdps(60):

        def exactly(value: Fraction) -> mpmath.mpf:
            return mpmath.mpf(value.numerator) / value.denominator

        single = [(exactly(p), exactly(q), count) for (p, q), count in pairs.items()]
        joint = [(mpmath.mpf(1), mpmath.mpf(1), 1)]
        for _ in range(releases):
            joint = [(a * p, b * q, n * count) for a, b, n in joint for p, q, count in single]
        factor = mpmath.exp(mpmath.mpf(epsilon))
        return mpmath.fsum(n * max(p - factor * q, 0) for p, q, n in joint)


@pytest.mark.parametrize(
    ("design", "releases"),
    [
        (discrete_gaussian(8.0), 1),
        (discrete_gaussian(2.0), 2),
        pytest.param(discrete_laplace(1.0), 3, marks=pytest.mark.long),
        (cube(3.0, 2, domain="integer"), 1),
    ],
    ids=["gaussian once", "gaussian twice", "laplace three times", "two answers"],
)
def test_delta_from_the_integers_never_exceeds_the_certificate(
    design: LatticeNoise, releases: int
) -> None:
    law = exact(design, delta=1e-4, compositions=releases)
    loss = PrivacyLoss.of(law, 1.0).compose(releases)
    for delta in (1e-4, 1e-6):
        epsilon = loss.epsilon(delta)
        assert exact_delta(law, 1, releases, epsilon) <= delta
        assert exact_delta(law, 1, releases, epsilon * (1.0 - 1e-5)) > delta


def test_rounding_is_judged_finer_than_its_tolerance() -> None:
    noise = staircase(8.0, step=0.2)
    law = exact(noise, delta=1e-6, compositions=3)
    assert integer_weights(law) is not None


def test_where_no_number_of_bits_will_do_the_refusal_is_told(monkeypatch) -> None:
    module = importlib.import_module("leastnoise.artefact.exact")

    def refused(*_: object) -> LatticeNoise:
        raise DesignError("It falls too steeply.")

    monkeypatch.setattr(module, "rounded", refused)
    with pytest.raises(DesignError, match="too steeply"):
        exact(discrete_laplace(3.0), delta=1e-6)


def test_a_finer_look_takes_the_first_that_is_as_good(monkeypatch) -> None:
    module = importlib.import_module("leastnoise.artefact.exact")
    law = discrete_laplace(3.0)

    def epsilon(use: object, judged: LatticeNoise, settings: object) -> float:
        return 1.1 if settings is module.DEFAULT and judged is not law else 1.0

    monkeypatch.setattr(module._JudgedUse, "epsilon", epsilon)
    weights = integer_weights(exact(law, delta=1e-6))
    assert weights is not None
    assert weights.bits == 64
