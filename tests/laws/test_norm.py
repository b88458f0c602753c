"""Laws of an integer norm: values, one answer and several, files, rounding, refusals."""

import json
import math
import pickle

import numpy as np
import pytest

import reference_norms as reference
from leastnoise import (
    Box,
    DesignError,
    InvalidFileError,
    InvalidParameterError,
    Noise,
    OneSided,
    PrivacyLoss,
    UnsupportedError,
    cube,
    exact,
)
from leastnoise.laws.exponential import (
    count_law,
    exponential_law,
    law_of_scale,
    range_law,
    touched_law,
)
from leastnoise.laws.norm import NormNoise, body_of
from leastnoise.sampling.weights import integer_weights

# variance of h_t ∝ e^(−t), to the digits given
RANGE = {2: 3.162992, 5: 9.166707, 10: 25.833333, 20: 84.166667}
COUNT_AND_TOUCHED = {
    (10, 2): (6.894, 7.737),
    (10, 3): (12.013, 16.226),
    (10, 5): (20.884, 34.007),
    (20, 5): (34.071, 46.045),
    (20, 7): (47.745, 79.863),
    (20, 10): (72.712, 128.95),
    (50, 10): (150.463, 190.06),
    (50, 20): (307.88, 594.46),
}
SMALL = [("range", 2, 2), ("range", 3, 3), ("touched", 3, 2), ("count", 3, 2), ("count", 4, 2)]
MADE = {
    "range": lambda: range_law(3.0, 5),
    "touched": lambda: touched_law(3.0, 5, 2),
    "count": lambda: count_law(3.0, 5, 2),
}


def ended(name, d, k, last=4):
    log_h = reference.profiles(7, last)["random"]
    return NormNoise.from_log_weights(body_of(name, d, k), log_h)


# --- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", RANGE)
def test_variance_of_the_range(d):
    assert law_of_scale(body_of("range", d, d), 1.0).variance == pytest.approx(RANGE[d], abs=6e-7)


def test_the_range_is_below_its_continuous_form_by_a_sixth():
    law = law_of_scale(body_of("range", 10, 10), 2.0)
    assert law.variance == pytest.approx(12 * 13 / 6 * 4.0 - 1 / 6, rel=1e-7)


@pytest.mark.parametrize(("d", "k"), COUNT_AND_TOUCHED)
def test_variances_of_the_table(d, k):
    for name, value in zip(("count", "touched"), COUNT_AND_TOUCHED[d, k], strict=True):
        law = law_of_scale(body_of(name, d, k), 1.0)
        assert law.variance == pytest.approx(value, abs=6e-3 if value > 100 else 6e-4)


def test_variance_of_the_count_law():
    assert law_of_scale(body_of("count", 5, 2), 1.0).variance == pytest.approx(5.317006, abs=6e-7)


def test_the_right_shape_needs_less():
    """d = 10 at ε = 1: the range is 0.59 of the cube, and less where few answers move."""
    plain = cube(math.sqrt(44.0), 10, domain="integer")
    assert PrivacyLoss.of(plain).epsilon(1e-12) == pytest.approx(1.0, rel=2e-2)
    variances = [
        law_of_scale(body_of(*each), 1.0).variance
        for each in (("range", 10, 10), ("count", 10, 5), ("touched", 10, 5))
    ]
    assert np.array(variances) / 44.0 == pytest.approx([0.587, 0.475, 0.773], abs=1e-3)


@pytest.mark.parametrize("sigma", [0.05, 0.6, 3.0, 47.0])
@pytest.mark.parametrize("name", MADE)
def test_the_standard_deviation_is_the_one_asked_for(name, sigma):
    make = {
        "range": lambda: range_law(sigma, 4),
        "touched": lambda: touched_law(sigma, 4, 2),
        "count": lambda: count_law(sigma, 4, 3),
    }[name]
    law = make()
    assert law.std == pytest.approx(sigma, rel=1e-9)
    assert (law.domain, law.step, law.dimension, law.radial) == ("integer", 1.0, 4, None)


def test_many_answers_and_many_shells():
    law = range_law(300.0, 100)
    assert law.last > 1500
    assert law.std == pytest.approx(300.0, rel=1e-9)
    bounds = PrivacyLoss.of(law, 1.0, OneSided()).epsilon_bounds(1e-6)
    assert 0.0 < bounds.lower <= bounds.upper < -math.log(law.tail_ratio)
    assert bounds.upper == pytest.approx(bounds.lower, rel=1e-5)


# --- one answer, and several ---------------------------------------------------------------------


@pytest.mark.parametrize(("name", "d", "k"), SMALL)
def test_moments_and_one_answer_against_the_list(name, d, k):
    law = ended(name, d, k)
    p = reference.probabilities(law)
    assert math.fsum(p.values()) == pytest.approx(1.0, abs=1e-13)
    variance = math.fsum(q * x[0] ** 2 for x, q in p.items())
    product = math.fsum(q * x[0] * x[1] for x, q in p.items())
    assert law.variance == pytest.approx(variance, rel=1e-12)
    assert law.correlation == pytest.approx(product / variance, abs=1e-12)
    for a in range(-6, 7):
        beyond = math.fsum(q for x, q in p.items() if x[0] > a)
        assert float(law.ccdf(a)) == pytest.approx(beyond, abs=1e-13)
        assert float(law.ccdf(a + 0.5)) == pytest.approx(beyond, abs=1e-13)
        assert float(law.cdf(a)) == pytest.approx(1.0 - beyond, abs=1e-13)
    for u in (0.01, 0.2, 0.5, 0.77, 0.999):
        z = float(law.quantile(u))
        assert float(law.cdf(z)) >= u * (1 - 1e-12) > float(law.cdf(z - 1.0)) - 1e-12
        assert float(law.quantile(1.0 - u, upper=True)) == z
    for confidence in (0.5, 0.9, 0.99):
        w = law.interval(confidence)
        assert math.fsum(q for x, q in p.items() if abs(x[0]) <= w) >= confidence


@pytest.mark.parametrize(("name", "d", "k"), SMALL)
def test_combinations_against_the_list(name, d, k):
    law = ended(name, d, k)
    p = reference.probabilities(law)
    rest = (0.0,) * (d - 2)
    for c in [(1.0, -1.0), (1.0, 1.0), (2.0, 0.0), (0.5, -3.0), (0.0, 0.0)]:
        c = (*c, *rest)
        sums = [(sum(a * b for a, b in zip(c, x, strict=True)), q) for x, q in p.items()]
        variance = math.fsum(q * s * s for s, q in sums)
        assert law.variance_of(c) == pytest.approx(variance, rel=1e-11, abs=1e-13)
        for confidence in (0.5, 0.9, 0.99):
            w = law.interval_of(c, confidence)
            assert math.fsum(q for s, q in sums if abs(s) <= w) >= confidence
    # one answer, and of the range a difference, are exact
    assert law.interval_of((2.0, 0.0, *rest), 0.9) == 2.0 * law.interval(0.9)
    if name == "range":
        assert law.interval_of((1.0, -1.0, *rest), 0.9) == law.interval(0.9)


def test_a_combination_has_a_coefficient_for_each_answer():
    law = range_law(3.0, 4)
    for wrong in ([1.0, 2.0], [1.0] * 5, [[1.0] * 4], [1.0, 2.0, 3.0, math.inf]):
        with pytest.raises(InvalidParameterError, match="coefficients"):
            law.interval_of(wrong, 0.9)


def test_answers_of_the_range_are_correlated_by_a_half():
    assert range_law(5.0, 7).correlation == pytest.approx(0.5, rel=1e-12)
    assert touched_law(5.0, 7, 3).correlation == 0.0
    assert 0.0 < count_law(5.0, 7, 3).correlation < 0.5


def test_far_tails_keep_their_accuracy():
    """P(x_1 > a) of the exponential law of the range, by exact sums of whole numbers."""
    law = law_of_scale(body_of("range", 3, 3), 1.0)
    far = law.ccdf([50.0, 200.0, 500.0])
    ratio = far[1:] / far[:-1]
    assert np.all(far > 0.0)
    # e^(−a)·(polynomial of degree 2)
    assert np.log(ratio) == pytest.approx(
        [-150.0 + 2 * math.log(4.0), -300.0 + 2 * math.log(2.5)], abs=0.2
    )


def test_a_law_on_the_integers_has_no_density():
    with pytest.raises(UnsupportedError, match="pmf"):
        range_law(3.0, 3).pdf(0.0)
    assert range_law(3.0, 3)._repr_html_()


# --- what a law must be --------------------------------------------------------------------------


def test_a_law_that_is_none_is_refused():
    body = body_of("range", 2, 2)
    for masses in ([], [0.5, 0.0], [[1.0]]):
        with pytest.raises(InvalidParameterError, match="shell_masses"):
            NormNoise(body, masses)
    with pytest.raises(InvalidParameterError, match="in \\[0, 1\\]"):
        NormNoise(body, [-0.1, 1.1])
    with pytest.raises(InvalidParameterError, match="to be 1"):
        NormNoise(body, [0.5, 0.4])
    with pytest.raises(InvalidParameterError, match="do not rise"):
        NormNoise(body, [0.1, 0.9])  # 6 points at radius 1
    with pytest.raises(InvalidParameterError, match="do not rise"):
        NormNoise.from_log_weights(body, [0.0, 0.5])
    with pytest.raises(InvalidParameterError, match="log_weights"):
        NormNoise.from_log_weights(body, [0.0, -math.inf])
    with pytest.raises(InvalidParameterError, match="tail_ratio"):
        NormNoise.from_log_weights(body, [0.0], 1.0)
    with pytest.raises(InvalidParameterError, match="scale"):
        law_of_scale(body, 1e-3)
    with pytest.raises(InvalidParameterError, match="sigma"):
        range_law(0.0, 3)


def test_it_is_frozen_and_equal_by_value():
    law = ended("count", 3, 2)
    again = pickle.loads(pickle.dumps(law))
    assert again == law
    assert hash(again) == hash(law)
    assert again != ended("touched", 3, 2)
    assert law != 3
    assert not again.shell_masses.flags.writeable
    assert "count" in repr(law)


# --- files and rounding --------------------------------------------------------------------------


@pytest.mark.parametrize("name", MADE)
def test_a_law_and_what_is_drawn_of_it_come_back(name, tmp_path):
    law = MADE[name]()
    assert Noise.from_description(json.loads(json.dumps(law.describe()))) == law
    law.save(tmp_path / "law.json")
    assert Noise.load(tmp_path / "law.json") == law
    with pytest.raises(UnsupportedError, match="integer weights"):
        law.describe_drawn()
    drawn = exact(law, delta=1e-6)
    content = drawn.describe_drawn()
    assert content["body"] == name
    assert Noise.from_drawn(json.loads(json.dumps(content))) == drawn
    assert drawn.sampler().is_exact
    assert not law.sampler().is_exact


@pytest.mark.parametrize(
    ("make", "changes", "m"),
    [
        (lambda: range_law(3.0, 2), OneSided(), 1),
        (lambda: range_law(5.0, 10), OneSided(), 1),
        (lambda: range_law(30.0, 10), OneSided(), 4),
        (lambda: range_law(9.0, 20), OneSided(), 1),
        (lambda: range_law(100.0, 100), OneSided(), 1),
        (lambda: count_law(4.5, 10, 5), OneSided(touched=5), 1),
        (lambda: count_law(80.0, 20, 10), OneSided(touched=10), 3),
        (lambda: touched_law(5.8, 10, 5), Box(touched=5), 1),
        (lambda: touched_law(60.0, 20, 7), OneSided(touched=7), 2),
    ],
)
def test_rounding_keeps_shape_and_guarantee(make, changes, m):
    law = make()
    drawn = exact(law, delta=1e-6, sensitivity=m)
    whole = integer_weights(drawn)
    assert sum(whole.weights) == 1 << whole.bits
    counts = drawn.shell_counts(drawn.last + 1)
    held = next(t for t, weight in enumerate(whole.weights) if weight)
    for t in range(held, drawn.last):  # W_t/n_t does not rise, in whole numbers
        assert whole.weights[t] * counts[t + 1] >= whole.weights[t + 1] * counts[t]
    assert drawn.variance <= law.variance * (1 + 1e-12)
    before = PrivacyLoss.of(law, m, changes).epsilon(1e-6)
    after = PrivacyLoss.of(drawn, m, changes).epsilon(1e-6)
    assert after <= before * (1 + 1e-6)
    assert exact(drawn, delta=1e-6, sensitivity=m) is drawn


def test_a_law_of_flat_steps_is_rounded():
    body = body_of("range", 3, 3)
    law = NormNoise.from_log_weights(body, [-1.0 * (t // 3) for t in range(90)])
    try:
        drawn = exact(law, delta=1e-6)
    except DesignError:
        pytest.fail("a staircase could not be rounded")
    assert drawn.is_monotone


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("body", "cone"),
        ("body", None),
        ("batch", 1),
        ("batch", 10**6),
        ("batch", "5"),
        ("touched", 9),
        ("touched", 0),
        ("bits", 63),
        ("weights", ["1"]),
        ("weights", []),
        ("first", 10**9),
    ],
)
@pytest.mark.parametrize("name", MADE)
def test_what_is_drawn_is_read_with_care(name, field, value):
    content = exact(MADE[name](), delta=1e-6).describe_drawn()
    wrong = (ValueError, KeyError, TypeError, InvalidParameterError, InvalidFileError)
    with pytest.raises(wrong):
        Noise.from_drawn({**content, field: value})
    with pytest.raises(wrong):
        Noise.from_drawn({**content, "more": 1})


def test_weights_that_rise_are_refused():
    drawn = exact(range_law(3.0, 3), delta=1e-6)
    content = drawn.describe_drawn()
    content["weights"].reverse()
    with pytest.raises(InvalidParameterError, match="do not rise"):
        Noise.from_drawn(content)


@pytest.mark.parametrize(
    "c", [(1, 1), (1, 1, 1), (2, -1, 0), (1, -2, 1), (3, 3, -3), (0.5, 1.5, 0)]
)
def test_the_law_of_a_whole_combination_is_exact(c):
    law = ended("range", len(c), len(c), last=6 if len(c) == 2 else 4)
    p = reference.probabilities(law)
    sums = [(abs(sum(a * b for a, b in zip(c, x, strict=True))), q) for x, q in p.items()]
    for confidence in (0.3, 0.5, 0.9, 0.99, 0.99999):
        w = law.interval_of(c, confidence)
        assert math.fsum(q for s, q in sums if s <= w) >= confidence
        below = math.fsum(q for s, q in sums if s < w - 1e-9)
        assert below < confidence + 1e-9
    # one that is no whole multiple is bounded, and never by less
    loose = law.interval_of((c[0] * math.sqrt(2.0), *c[1:]), 0.9)
    assert loose >= 0.0
    assert law.interval_of(c, 1.0 - 1e-9) >= law.interval_of(c, 0.99999)


def test_the_sum_of_ten_counts():
    """σ√(d(d+1)/2) is its standard deviation; ± at 95 % is near twice that."""
    law = range_law(5.0, 10)
    everything = [1.0] * 10
    deviation = math.sqrt(law.variance_of(everything))
    assert deviation == pytest.approx(5.0 * math.sqrt(55.0), rel=1e-9)
    assert 1.8 * deviation < law.interval_of(everything, 0.95) < 2.2 * deviation
    assert law.interval_of([1.0, -1.0] + [0.0] * 8, 0.95) == law.interval(0.95)
    # of a law too wide for it, or of another body, on the safe side
    assert range_law(900.0, 10).interval_of([7.0] * 10, 0.95) > 2.2 * 7.0 * 900.0
    count = count_law(5.0, 10, 5)
    assert count.interval_of(everything, 0.95) >= 2.0 * math.sqrt(count.variance_of(everything))


def test_many_steps_of_a_sensitivity_are_judged_as_those_of_a_pure_law():
    """Pairs of shells would be too many: the bound is a little above, nothing is known below."""
    law = law_of_scale(body_of("range", 4, 4), 30.0)
    few, many = (PrivacyLoss.of(law, m, OneSided()).epsilon_bounds(1e-6) for m in (3.0, 4.0))
    assert few.lower > 0.0
    assert many.lower == 0.0
    assert many.upper == pytest.approx(4.0 / 30.0, rel=1e-3)
    assert many.upper >= 4.0 / 3.0 * few.lower


# --- on the real line ----------------------------------------------------------------------------


REAL = {
    "range": lambda sigma, s: range_law(sigma, 4, sensitivity=s, domain="real"),
    "touched": lambda sigma, s: touched_law(sigma, 4, 2, sensitivity=s, domain="real"),
    "count": lambda sigma, s: count_law(sigma, 4, 3, sensitivity=s, domain="real"),
}


@pytest.mark.parametrize("s", [1.0, 0.3, 1e6])
@pytest.mark.parametrize("ratio", [0.02, 0.2, 0.6, 3.0, 47.0])
@pytest.mark.parametrize("name", REAL)
def test_a_real_law_has_its_standard_deviation_and_spans_its_sensitivity(name, ratio, s):
    law = REAL[name](ratio * s, s)
    assert law.std == pytest.approx(ratio * s, rel=1e-9)
    assert (law.domain, law.dimension, law.radial) == ("real", 4, None)
    assert PrivacyLoss.of(law, s, law.made_for).epsilon(1e-9) < 10.0 / ratio


@pytest.mark.parametrize(("name", "d", "k"), SMALL)
def test_a_real_answer_against_the_list(name, d, k):
    """A point is spread over its bin: moments, tails and quantiles of one answer."""
    whole, step = ended(name, d, k), 0.5
    law = NormNoise(whole.body, whole.shell_masses, None, step, "real")
    p = reference.probabilities(whole)
    square = math.fsum(q * x[0] ** 2 for x, q in p.items())
    product = math.fsum(q * x[0] * x[1] for x, q in p.items())
    assert law.variance == pytest.approx(step**2 * (square + 1 / 12), rel=1e-12)
    assert law.correlation == pytest.approx(product / (square + 1 / 12), abs=1e-12)
    one = dict.fromkeys(range(-6, 7), 0.0)
    for x, q in p.items():
        one[x[0]] += q
    for place in np.arange(-3.1, 3.2, 0.17):
        share = {a: min(max(a + 0.5 - place / step, 0.0), 1.0) for a in one}
        beyond = math.fsum(q * share[a] for a, q in one.items())
        assert float(law.ccdf(place)) == pytest.approx(beyond, abs=1e-13)
        here = math.floor(abs(place) / step + 0.5)
        assert float(law.pdf(place)) == pytest.approx(one.get(here, 0.0) / step, abs=1e-13)
    for u in (0.01, 0.2, 0.77, 0.999):
        assert float(law.cdf(law.quantile(u))) == pytest.approx(u, abs=1e-12)
    for c in ((1.0, -1.0), (1.0, 1.0), (2.0, 0.0), (0.5, -3.0)):
        form = (*c, *(0.0,) * (d - 2))
        rng = np.random.default_rng(5)
        points = np.array(list(p))
        drawn = points[rng.choice(len(points), 40_000, p=np.array(list(p.values())))]
        sums = step * (drawn + rng.uniform(-0.5, 0.5, drawn.shape)) @ np.array(form)
        assert law.variance_of(form) == pytest.approx(np.var(sums), rel=0.05)
        for confidence in (0.5, 0.9):
            within = np.mean(np.abs(sums) <= law.interval_of(form, confidence))
            assert within >= confidence - 0.01


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0, 12.0])
@pytest.mark.parametrize(
    ("body", "closed_form"),
    [(("range", 2, 2), 20 / 6), (("count", 10, 5), 21.476), (("touched", 10, 5), 34.336)],
)
def test_bins_are_stairs_that_need_less_than_the_exponential_density(body, closed_form, epsilon):
    """The standard deviation of the exponential density of the same norm (Joseph & Yu 2023) is
    enough for less than its ε."""
    sigma = math.sqrt(closed_form) / epsilon
    law = exponential_law(body_of(*body), sigma, domain="real")
    found = PrivacyLoss.of(law, 1.0, law.made_for).epsilon(1e-12)
    assert found < epsilon * (1.0 + 1e-4)
    if epsilon >= 1.0:
        assert found < 0.998 * epsilon


def test_what_is_drawn_of_a_real_law_comes_back(tmp_path):
    law = REAL["count"](3.0, 0.3)
    drawn = exact(law, delta=1e-6, sensitivity=0.3)
    content = drawn.describe_drawn()
    assert (content["domain"], content["step"]) == ("real", law.step)
    assert content["pitch"] == str(drawn.sampler().pitch)
    assert Noise.from_drawn(json.loads(json.dumps(content))) == drawn
    drawn.save(tmp_path / "law.json")
    assert Noise.load(tmp_path / "law.json") == drawn
    assert pickle.loads(pickle.dumps(drawn)) == drawn
    assert drawn != NormNoise(drawn.body, drawn.shell_masses)
    assert "step=0.3" in repr(drawn)
    assert drawn._repr_html_()
    wrong = (ValueError, KeyError, TypeError, InvalidParameterError, InvalidFileError)
    for field, value in (("domain", "integer"), ("domain", "line"), ("step", 0), ("step", None)):
        with pytest.raises(wrong):
            Noise.from_drawn({**content, field: value})
    with pytest.raises(InvalidParameterError, match="step"):
        NormNoise(drawn.body, drawn.shell_masses, None, 0.3)
    with pytest.raises(InvalidParameterError, match="domain"):
        range_law(3.0, 4, domain="line")
