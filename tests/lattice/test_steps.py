"""Answers that are at most a sensitivity apart, as exact numbers, land at most the judged number of
places apart."""

import math
import random
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leastnoise import (
    LatticeNoise,
    PrivacyLoss,
    cube,
    design,
    discrete_laplace,
    generalized_gaussian,
    sphere,
    staircase,
)
from leastnoise.artefact.exact import exact
from leastnoise.errors import InvalidParameterError
from leastnoise.lattice.steps import PLACES, exact_step, public_pitch, shift_in_steps, step_of
from leastnoise.losses.lattice import lattice_loss
from leastnoise.sampling import InsecureSeededEntropy, release

DECIMAL = [
    0.1,
    0.2,
    0.4,
    0.01,
    0.02,
    0.05,
    0.001,
    0.025,
    0.3,
    0.7,
    1.1,
    12.3,
    1 / 3,
    math.pi,
    1e-7,
    123456.789,
]


def sensitivities(count: int) -> list[float]:
    """Round decimals, thirds, neighbours of these, powers of two, and numbers of every size, always
    the same ones."""
    chosen = random.Random(14)
    found = list(DECIMAL)
    while len(found) < count:
        value = chosen.choice(
            [
                chosen.randint(1, 10_000) / 10 ** chosen.randint(0, 6),
                chosen.randint(1, 100) / chosen.randint(1, 100),
                10 ** chosen.uniform(-12, 12),
                2.0 ** chosen.randint(-20, 20),
            ]
        )
        found.append(
            chosen.choice([value, math.nextafter(value, math.inf), math.nextafter(value, 0.0)])
        )
    return found


def hostile_pairs(
    pitch: Fraction, sensitivity: float, chosen: random.Random
) -> list[tuple[float, float]]:
    """Pairs of floats at most `sensitivity` apart, the lower one just below or at the middle
    between two places."""
    pairs = []
    for _ in range(40):
        place = chosen.randint(-(2**22), 2**22)
        middle = float((place + Fraction(1, 2)) * pitch)
        for a in (middle, math.nextafter(middle, -math.inf), math.nextafter(middle, math.inf)):
            b = float(Fraction(a) + Fraction(sensitivity))
            for end in (b, math.nextafter(b, -math.inf), math.nextafter(b, math.inf)):
                if abs(Fraction(end) - Fraction(a)) <= Fraction(sensitivity):
                    pairs.append((a, end))
    return pairs


def places(pitch: Fraction, answer: float) -> int:
    return math.floor(Fraction(answer) / pitch + Fraction(1, 2))


@pytest.mark.portable
def test_steps_span_hundreds_of_sensitivities() -> None:
    chosen = random.Random(15)
    for s in sensitivities(400):
        m = chosen.choice([1, 2, 3, 7, 10, 19, 49, 50, 100, 997])
        step = step_of(s, m)
        assert exact_step(step) == Fraction(step)
        assert m * Fraction(step) >= Fraction(s) * (1 + Fraction(1, 2**30))
        assert m * Fraction(step) <= Fraction(s) * (1 + Fraction(1, 2**28))
        assert shift_in_steps(s, step) == m
        pitch = public_pitch(step, "real")
        for a, b in hostile_pairs(pitch, s, chosen):
            assert abs(places(pitch, a) - places(pitch, b)) <= m * PLACES


LAWS = {
    "staircase": lambda s: staircase(0.7 * s, sensitivity=s),
    "laplace": lambda s: generalized_gaussian(2.0 * s, 1.0, sensitivity=s),
    "gaussian": lambda s: generalized_gaussian(4.0 * s, 2.0, sensitivity=s),
    "cube": lambda s: cube(3.0 * s, 4, sensitivity=s),
    "sphere": lambda s: sphere(3.0 * s, 5, sensitivity=s),
}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("s", DECIMAL)
def test_what_is_sampled_is_what_is_judged(name: str, s: float) -> None:
    """The places that the sampler itself rounds hostile pairs to are within what the judge was
    asked for."""
    law = LAWS[name](s)
    if isinstance(law, LatticeNoise):
        law = exact(law, delta=1e-6, sensitivity=s)
    pitch = public_pitch(law.step, law.domain)
    judged = math.ceil(Fraction(s) / pitch)
    if isinstance(law, LatticeNoise):
        judged = shift_in_steps(s, law.step) * PLACES
    pairs = hostile_pairs(pitch, s, random.Random(16))[:60]
    a, b = ([[pair[side]] * law.dimension for pair in pairs] for side in (0, 1))
    if law.dimension == 1:
        a, b = ([row[0] for row in side] for side in (a, b))
    first, second = (
        release(law, side, entropy=InsecureSeededEntropy(1), not_private=True).integers
        for side in (a, b)
    )
    apart = first - second
    units = 2 if isinstance(law, LatticeNoise) else 1  # of a pitch
    assert max(abs(int(n)) for n in apart.ravel()) <= judged * units
    PrivacyLoss.of(law, s)


def test_the_pairs_that_were_further_apart_than_judged() -> None:
    """Two floats at most 0.2 apart landed 1,245,185 places apart where 1,245,184 were judged: true
    δ 2.8e-7 for 1e-12."""
    best = design(delta=1e-12, sigma=0.4, sensitivity=0.2)
    law = best.lattice_noise()
    a, b = 8.030941611842105e-08, 0.20000008030941613
    assert Fraction(b) - Fraction(a) <= Fraction(0.2)
    pitch = public_pitch(law.step, law.domain)
    moved = places(pitch, b) - places(pitch, a)
    assert moved <= shift_in_steps(0.2, law.step) * PLACES
    # The true δ of the pair: the law shifted by `moved` pitches is a mixture of whole shifts, each
    # judged exactly.
    for shift in (moved // PLACES, -(-moved // PLACES)):
        assert float(lattice_loss(law, shift).profile(best.epsilon)) <= 1e-12


def test_callers_who_round_are_covered() -> None:
    """1.1 and 0.1 are further apart than 1, and both are floats: the margin covers it for every law
    made here."""
    assert Fraction(1.1) - Fraction(0.1) > 1
    law = generalized_gaussian(8.0, 1.0, sensitivity=1.0)
    assert (
        places(public_pitch(law.step, "real"), 1.1) - places(public_pitch(law.step, "real"), 0.1)
        <= 10 * PLACES
    )
    assert shift_in_steps(1.0000000001, law.step) == 10


def test_more_than_the_steps_span_is_not_judged_as_less() -> None:
    law = LatticeNoise([0.5, 0.5], None, step=0.25)
    assert shift_in_steps(1.0, law.step) == 4
    assert shift_in_steps(math.nextafter(1.0, 0.0), law.step) == 4
    with pytest.raises(InvalidParameterError, match="a whole number of times"):
        PrivacyLoss.of(law, math.nextafter(1.0, 2.0))
    with pytest.raises(InvalidParameterError, match="a whole number of times"):
        PrivacyLoss.of(discrete_laplace(3.0), math.nextafter(1.0, 2.0))
    law = generalized_gaussian(1.0, 1.0, sensitivity=0.2)
    assert PrivacyLoss.of(law, 0.2000000000000001).epsilon(1e-6) == PrivacyLoss.of(
        law, 0.2
    ).epsilon(1e-6)
    assert shift_in_steps(0.2, law.step) * exact_step(law.step) >= Fraction(0.2000000000000001)


def test_the_sphere_is_judged_in_whole_pitches() -> None:
    """A sensitivity a hair above whole pitches is one pitch more: it was taken for the
    whole ones."""
    law = sphere(8.0, 3, step=1.0)
    one = PrivacyLoss.of(law, 1.0).delta(0.3)
    assert PrivacyLoss.of(law, math.nextafter(1.0, 2.0)).delta(0.3) > one * (1.0 + 1e-6)
    assert PrivacyLoss.of(law, 1.0 + 2.0**-16).delta(0.3) == PrivacyLoss.of(
        law, math.nextafter(1.0, 2.0)
    ).delta(0.3)


@given(st.floats(1e-300, 1e300), st.integers(1, 100_000))
def test_any_step_that_is_made_spans_its_sensitivity(s: float, m: int) -> None:
    step = step_of(s, m)
    assert shift_in_steps(s, step) == m
    assert m * exact_step(step) >= Fraction(s)


def test_numbers_below_the_normal_range_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="to be large enough to be cut into 3 steps"):
        step_of(5e-324, 3)


@given(st.floats(1e-6, 1e6), st.integers(1, 1000))
def test_the_places_of_the_steps_that_are_judged_span_the_sensitivity(s: float, m: int) -> None:
    """Also for a step that a caller gives, s/m rounded to the nearest: the lattice is that of the
    exact step, not of the float."""
    judged = shift_in_steps(s, s / m)
    assert judged * PLACES * public_pitch(s / m, "real") >= Fraction(s)
    assert places(public_pitch(s / m, "real"), s) <= judged * PLACES


@pytest.mark.parametrize(
    "sensitivity",
    [
        Decimal("1.00000000000000000001"),
        Fraction(2**60 + 1, 2**60),
        np.nextafter(np.longdouble(1), 2),
    ],
)
def test_a_sensitivity_that_no_float_holds_is_not_rounded_to_a_step(sensitivity):
    """Answers a hair further apart than one step can round to places that one step was not judged
    for."""
    if Fraction(*sensitivity.as_integer_ratio()) == 1:
        pytest.skip("long doubles are doubles here")
    law = LatticeNoise.from_weights([1.0], math.exp(-1.0))
    with pytest.raises(InvalidParameterError, match="a whole number of times"):
        PrivacyLoss.of(law, sensitivity)
