"""The family of laws: against exact Fractions, as inverse pairs, far into the tail, frozen, and
strict about its parameters."""

import copy
import dataclasses
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import reference
from leastnoise.errors import InvalidParameterError, LeastNoiseError, UnsupportedError
from leastnoise.laws.lattice import LatticeNoise

pytestmark = pytest.mark.portable

DOMAINS = ["real", "integer"]


def law(weights, ratio, domain="real", dimension=1, step=0.25):
    return LatticeNoise.from_weights(
        weights, ratio, step=step if domain == "real" else 1.0, domain=domain, dimension=dimension
    )


@st.composite
def laws(draw, dimensions=(1, 2, 3), gaps=True):
    """Any shape: falling, rising, with gaps, with or without a tail."""
    weights = draw(
        st.lists(
            st.sampled_from([0.0, 1e-12, 0.1, 0.5, 1.0, 3.0]) if gaps else st.floats(1e-6, 1.0),
            min_size=1,
            max_size=9,
        )
    )
    ratio = draw(st.one_of(st.none(), st.floats(1e-6, 0.95)))
    weights[-1] = weights[-1] or 1.0
    return law(
        weights,
        ratio,
        draw(st.sampled_from(DOMAINS)),
        draw(st.sampled_from(dimensions)),
        draw(st.sampled_from([1.0, 0.1, 7.0])),
    )


ZOO = [
    law([1.0], None, domain="integer"),
    law([1.0], None),
    law([1.0], 0.5),
    law([0.0, 0.0, 1.0], None, domain="integer"),
    law([0.0, 0.0, 1.0], None),
    law([3.0, 0.0, 0.0, 2.0, 0.0, 1.0], None, domain="integer"),
    law([3.0, 0.0, 0.0, 2.0, 0.0, 1.0], 0.3),
    law([5.0, 4.0, 4.0, 1.0], 0.999, domain="integer"),
    law([5.0, 4.0, 4.0, 1.0], 0.999),
    law([1.0, 2.0, 1.0, 2.0], 0.7, domain="integer", dimension=2),
    law([4.0, 2.0, 1.0], 0.7, dimension=2),
    law([4.0, 0.0, 1.0], None, dimension=3),
    law([4.0, 3.0, 1.0], 0.4, domain="integer", dimension=3),
]
zoo = pytest.mark.parametrize("noise", ZOO, ids=repr)


# --- probabilities -------------------------------------------------------------------------------


@zoo
def test_points_have_their_probability(noise):
    k = np.arange(40)
    exact = [float(reference.point_probability(noise, i)) for i in k.tolist()]
    assert noise.pmf(k) == pytest.approx(exact, rel=1e-13)
    assert np.array_equal(noise.pmf(-k), noise.pmf(k))
    with np.errstate(divide="ignore"):
        assert noise.log_pmf(k) == pytest.approx(np.log(exact), rel=1e-13, abs=1e-13)


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_a_joint_law_and_its_coordinate_by_enumeration(dimension):
    noise = law([3.0, 5.0, 0.0, 1.0], None, domain="integer", dimension=dimension)
    total, one = 0.0, np.zeros(4)
    for x in reference.lattice_points(dimension, 3):
        p = float(noise.pmf(reference.norm(x)))
        total += p
        one[abs(x[0])] += p
    assert total == pytest.approx(1.0, rel=1e-13)
    assert -np.diff(np.append(noise.ccdf(np.arange(-1, 4)), 0.0))[:-1] == pytest.approx(
        one * [1, 0.5, 0.5, 0.5], rel=1e-13
    )
    assert noise.ccdf(3) == 0.0


@zoo
def test_both_tails_are_exact(noise):
    half = Fraction(1, 2) if noise.domain == "real" else 0
    for a in [0, 1, 2, 3, 4, 5, 8, 20, 60]:
        beyond, here = (
            reference.coordinate_beyond(noise, a),
            reference.coordinate_probability(noise, a),
        )
        for part in [0.0, 0.25, 0.9]:
            x = noise.step * (a + part)
            k = a + 1 if noise.domain == "real" and part > 0.5 else a
            if noise.domain == "real":
                share = k + half - Fraction(x) / Fraction(noise.step)
                exact = reference.coordinate_beyond(
                    noise, k
                ) + share * reference.coordinate_probability(noise, k)
                assert noise.pdf(x) == pytest.approx(
                    float(reference.coordinate_probability(noise, k)) / noise.step, rel=1e-12
                )
            else:
                exact = beyond
            assert noise.ccdf(x) == pytest.approx(float(exact), rel=1e-12, abs=1e-300)
            assert noise.cdf(-x) == pytest.approx(
                float(exact + here) if noise.domain == "integer" and part == 0 else float(exact),
                rel=1e-12,
            )
            assert noise.ccdf(-x) == pytest.approx(1.0 - float(noise.cdf(-x)), rel=1e-12, abs=1e-15)
            assert noise.cdf(x) == pytest.approx(1.0 - float(noise.ccdf(x)), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize(
    ("dimension", "ratio"), [(1, 0.5), (1, 0.99), (2, 0.5), (2, 0.95), (3, 0.8)]
)
def test_the_far_tail_is_exact_down_to_1e_200(domain, dimension, ratio):
    noise = law([4.0, 3.0, 1.0], ratio, domain, dimension)
    a = math.ceil(-200 * math.log(10) / math.log(ratio))
    exact = float(reference.coordinate_beyond(noise, a))
    assert 1e-215 < exact < 1e-195
    x = noise.step * (a + 0.5 * (domain == "real"))
    assert noise.ccdf(x) == pytest.approx(exact, rel=1e-11)
    assert noise.cdf(np.nextafter(-x, -np.inf) - (domain == "integer")) == pytest.approx(
        exact, rel=1e-10 if domain == "real" else 1e-11
    )
    assert noise.quantile(noise.ccdf(x), upper=True) == pytest.approx(x, rel=1e-13)
    assert noise.quantile(noise.cdf(-x)) == pytest.approx(-x, rel=1e-13)
    assert noise.interval(1.0 - 1e-12) < x


def test_masses_far_below_the_range_of_floats_have_logarithms():
    noise = law([1.0], 1e-3, domain="integer", dimension=2)
    assert float(noise.log_pmf(10_000)) == pytest.approx(
        math.log(noise.shell_masses[0]) + 10_000 * math.log(1e-3), rel=1e-14
    )


@zoo
def test_infinitely_far_out(noise):
    assert noise.ccdf([np.inf, -np.inf]).tolist() == [0.0, noise.total]
    assert noise.cdf([-np.inf, np.inf]).tolist() == [0.0, noise.total]
    assert noise.ccdf([1e308, -1e308]).tolist() == [0.0, noise.total]
    assert float(noise.pmf(np.inf)) == 0.0
    if noise.domain == "real":
        assert noise.pdf([1e308, -np.inf]).tolist() == [0.0, 0.0]


@zoo
def test_everything_is_vectorised(noise):
    x = np.linspace(-9, 9, 12).reshape(3, 4)
    for method in [noise.cdf, noise.ccdf] + ([noise.pdf] if noise.domain == "real" else []):
        assert method(x).shape == (3, 4)
        assert method(x).ravel() == pytest.approx(
            [float(method(v)) for v in x.ravel()], rel=1e-15
        )  # numpy has two pow
        assert method(1.0).shape == ()
        assert method([]).shape == (0,)
    assert noise.pmf(np.arange(6).reshape(2, 3)).shape == (2, 3)
    u = np.linspace(0.01, 0.99, 12).reshape(3, 4)
    for upper in [False, True]:
        assert noise.quantile(u, upper=upper).shape == (3, 4)
        assert noise.quantile(u, upper=upper).ravel() == pytest.approx(
            [float(noise.quantile(v, upper=upper)) for v in u.ravel()], rel=1e-13
        )


def test_a_density_is_symmetric_and_integrates_to_one():
    for noise in ZOO:
        if noise.domain == "real":
            edges = noise.step * (np.arange(-40_000, 40_000) + 0.5)
            middles = noise.step * np.arange(-39_999, 40_000)
            assert np.sum(noise.pdf(middles)) * noise.step == pytest.approx(1.0, rel=1e-12)
            assert np.array_equal(noise.pdf(middles), noise.pdf(-middles))
            assert np.allclose(
                -np.diff(noise.ccdf(edges)), noise.pdf(middles) * noise.step, rtol=1e-9, atol=1e-13
            )
        else:
            with pytest.raises(UnsupportedError, match="no density"):
                noise.pdf(0.0)


@given(laws())
def test_tails_fall_and_mirror_each_other(noise):
    x = np.sort(
        np.concatenate([np.linspace(-30, 30, 301), noise.step * (np.arange(-40, 40) + 0.5)])
    )
    ccdf, cdf = noise.ccdf(x), noise.cdf(x)
    assert np.all(np.diff(ccdf) <= 4e-16)
    assert np.all(np.diff(cdf) >= -4e-16)
    assert ccdf + cdf == pytest.approx(np.ones(x.size), abs=1e-12)
    if noise.domain == "real":
        assert np.array_equal(noise.cdf(-x), ccdf)
    assert np.all((ccdf >= 0) & (ccdf <= 1 + 1e-12))


@given(laws())
def test_mass_variance_and_tails_are_exact(noise):
    assert noise.total == pytest.approx(float(reference.total_mass(noise)), abs=1e-13)
    assert noise.total == pytest.approx(1.0, abs=1e-12)
    assert noise.variance == pytest.approx(float(reference.variance(noise)), rel=1e-12, abs=1e-300)
    for a in [0, noise.last, noise.last + 3]:
        assert noise.ccdf(noise.step * (a + 0.5 * (noise.domain == "real"))) == pytest.approx(
            float(reference.coordinate_beyond(noise, a)), rel=1e-11, abs=1e-300
        )


def test_shells_beyond_the_last_free_one():
    noise = law([4.0, 2.0, 1.0], 0.7, dimension=3)
    masses = noise.extended(30)
    exact = [
        float(reference.point_probability(noise, k) * reference.shell_count(3, k))
        for k in range(31)
    ]
    assert masses == pytest.approx(exact, rel=1e-13)
    assert noise.extended(1).tolist() == noise.shell_masses[:2].tolist()
    assert law([4.0, 2.0], None).extended(4).tolist()[2:] == [0.0, 0.0, 0.0]
    assert noise.tail_mass == pytest.approx(1.0 - math.fsum(noise.shell_masses), rel=1e-12)


# --- inverse pairs -------------------------------------------------------------------------------


@given(laws(), st.floats(1e-9, 0.5, exclude_max=True))
@example(law([3.0, 0.0, 0.0, 2.0, 0.0, 1.0], None, domain="integer"), 0.25)
@example(law([2.0, 0.0, 1.0], None, domain="integer"), 0.25)
def test_quantiles_on_the_integers_are_the_smallest(noise, u):
    if noise.domain == "integer":
        z = np.arange(-600, 600)
        for level in [u, float(noise.ccdf(0)), float(noise.ccdf(1)), float(noise.ccdf(noise.last))]:
            if not 1e-9 < level < 0.5 - 1e-9:
                continue
            assert float(noise.quantile(level)) == z[np.argmax(noise.cdf(z) >= level)]
            assert float(noise.quantile(level, upper=True)) == z[np.argmax(noise.ccdf(z) <= level)]


@given(laws(), st.floats(1e-9, 0.5, exclude_max=True))
def test_quantiles_on_the_line_close(noise, u):
    if noise.domain == "real":
        for level in [u, 1.0 - u]:
            low, high = noise.quantile(level), noise.quantile(level, upper=True)
            assert float(noise.cdf(low)) == pytest.approx(level, rel=1e-12)
            assert float(noise.ccdf(high)) == pytest.approx(level, rel=1e-12)
            # Smallest: just below, the condition fails.
            nudge = 1e-6 * noise.step
            assert float(noise.cdf(low - nudge)) < level * (1 - 1e-13)
            assert float(noise.ccdf(high - nudge)) > level * (1 + 1e-13)


@given(laws(gaps=False), st.integers(-30, 30), st.floats(-0.5, 0.5))
def test_values_come_back_from_their_probability(noise, k, part):
    x = noise.step * (k + (part if noise.domain == "real" else 0.0))
    for forward, upper in [(noise.cdf, False), (noise.ccdf, True)]:
        u = float(forward(x))
        if 1e-280 < u < 0.5 and (noise.domain == "real" or not upper or x >= 0):
            assert float(noise.quantile(u, upper=upper)) == pytest.approx(
                x, abs=1e-9 * noise.step, rel=1e-11
            )


@pytest.mark.parametrize("ratio", [0.3, 0.999, 1 - 1e-7])
def test_integers_come_back_from_deep_in_the_tail(ratio):
    noise = law([2.0, 1.0], ratio, domain="integer")
    # The last places of P(Z > k) tell neighbours apart as long as 1 − r is above the rounding of
    # r^k.
    deep = np.unique(np.geomspace(1, -600 / math.log(ratio), 4000).astype(int)).astype(float)
    assert np.array_equal(noise.quantile(noise.ccdf(deep), upper=True), deep)
    assert np.array_equal(noise.quantile(noise.cdf(-deep)), -deep)


def test_medians():
    assert float(law([1.0], 0.5).quantile(0.5)) == 0.0
    assert float(law([1.0], 0.5, domain="integer").quantile(0.5)) == 0.0
    # An empty centre: the smallest z that has half the mass at or below it.
    assert float(law([0.0, 0.0, 1.0], None, domain="integer").quantile(0.5)) == -2.0
    assert float(law([0.0, 0.0, 1.0], None, domain="integer").quantile(0.5, upper=True)) == -2.0
    assert float(law([0.0, 0.0, 1.0], None, step=1.0).quantile(0.5)) == -1.5


def test_gaps_in_the_support_are_jumped():
    noise = law([2.0, 0.0, 1.0], None, step=1.0)
    assert noise.ccdf([0.5, 1.0, 1.5]).tolist() == [0.25, 0.25, 0.25]
    assert float(noise.quantile(0.25)) == -1.5
    assert float(noise.quantile(0.25, upper=True)) == 0.5
    assert float(law([2.0, 0.0, 1.0], None, domain="integer").quantile(0.25)) == -2.0


@zoo
def test_finite_laws_end_and_others_do_not(noise):
    end = noise.last * noise.step + (0.5 * noise.step if noise.domain == "real" else 0.0)
    far = float(noise.quantile(1e-250, upper=True))
    if noise.tail_ratio is None:
        assert far == pytest.approx(end, rel=1e-12)
        assert float(noise.ccdf(end)) == 0.0
    else:
        assert far > end


@zoo
@pytest.mark.parametrize("confidence", [1e-6, 0.5, 0.9, 0.95, 0.999999])
def test_intervals_hold_their_confidence_and_no_more(noise, confidence):
    w = noise.interval(confidence)
    assert type(w) is float
    assert w >= 0

    def missed(w):
        return float(noise.ccdf(w)) + (
            float(noise.cdf(-w - 1)) if noise.domain == "integer" else float(noise.cdf(-w))
        )

    assert missed(w) <= (1 - confidence) * (
        1 + (1e-12 if noise.domain == "integer" else 1e-9)
    )  # on the line w itself is rounded
    if noise.domain == "integer" and w > 0:
        assert missed(w - 1) > 1 - confidence
    if noise.domain == "real":
        assert missed(w) == pytest.approx(1 - confidence, rel=1e-9)


# --- shape ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dimension", [1, 2, 5])
@pytest.mark.parametrize(
    ("weights", "ratio", "expected"),
    [
        ([1.0], 0.9, True),
        ([1.0, 1.0, 1.0], 0.9, True),
        ([3.0, 2.0, 2.0, 0.0, 0.0], None, True),
        ([3.0, 2.0, 2.0001], 0.5, False),
        ([0.9, 1.0], 0.5, False),
        ([0.0, 1.0], None, False),
        ([2.0, 0.0, 1.0], None, False),
        ([0.0, 0.0, 1.0], 0.5, False),
    ],
)
def test_monotone_laws_are_told_from_others(dimension, weights, ratio, expected):
    assert law(weights, ratio, dimension=dimension).is_monotone is expected


def test_for_one_answer_a_rise_of_one_rounding_is_a_rise():
    assert not LatticeNoise([0.2, np.nextafter(0.4, 1), 0.4], None).is_monotone
    assert LatticeNoise([0.2, 0.4, 0.4], None).is_monotone


@given(
    st.lists(st.floats(0, 1e3), min_size=1, max_size=40).filter(lambda w: max(w) > 1e-100),
    st.integers(1, 4),
)
@example([1.0, np.nextafter(1.0, 0), np.nextafter(np.nextafter(1.0, 0), 0)], 1)
def test_weights_that_do_not_rise_give_a_law_that_does_not_rise(weights, dimension):
    assert law(sorted(weights, reverse=True), None, dimension=dimension).is_monotone


def test_a_thousand_neighbouring_floats_do_not_rise():
    weights = np.nextafter(0.7, 0) - np.arange(1000) * 2.0**-53
    assert law(weights, 0.5).is_monotone


def test_weights_are_kept_in_proportion():
    weights = np.array([7.0, 1e-290, 3.0, 2.0])
    for noise in [
        law(weights, 0.5),
        LatticeNoise.from_log_weights(np.log(weights), 0.5, step=0.25),
    ]:
        assert noise.pmf(np.arange(4)) / noise.pmf(0) == pytest.approx(weights / 7.0, rel=1e-13)
    high = LatticeNoise.from_log_weights(-np.arange(60) / 2.0, math.exp(-0.5), dimension=30)
    assert high.log_pmf(np.arange(200)) - high.log_pmf(0) == pytest.approx(
        -np.arange(200) / 2.0, rel=1e-12, abs=1e-12
    )


def test_inner_shells_too_small_for_a_float_are_empty_not_wrong():
    # 400 dimensions: shell 0 holds e^-1100 of the fullest shell's mass.
    noise = LatticeNoise.from_log_weights(-np.arange(60) * 10.0, math.exp(-10.0), dimension=400)
    k = np.arange(60)
    exact = noise.log_pmf(59) + (59 - k) * 10.0
    kept = noise.shell_masses > 0
    assert not kept[0]
    assert np.all(np.diff(kept.astype(int)) >= 0)
    assert noise.log_pmf(k)[kept] == pytest.approx(exact[kept], rel=1e-12)
    assert not noise.is_monotone  # it says so; the judge fills the centre and charges the mass


# --- what it refuses -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "name", "value"),
    [
        ({"shell_masses": [0.6, -0.1, 0.5]}, "shell_masses[1]", "-0.1"),
        ({"shell_masses": [0.6, float("nan")]}, "shell_masses[1]", "nan"),
        ({"shell_masses": [float("inf"), 0.5]}, "shell_masses[0]", "inf"),
        ({"shell_masses": [0.0, 1e308, 1e308]}, "shell_masses[1]", "1e+308"),
        ({"shell_masses": [0.5, 0.4]}, "sum of shell_masses with the tail", "0.9"),
        (
            {"shell_masses": [0.5, 0.5], "tail_ratio": 0.5},
            "sum of shell_masses with the tail",
            "1.5",
        ),
        ({"shell_masses": [0.5, 0.5 + 1e-8]}, "sum of shell_masses with the tail", "1.00000001"),
        ({"shell_masses": []}, "shell_masses", "[]"),
        ({"shell_masses": [[0.5, 0.5]]}, "shell_masses", "[[0.5, 0.5]]"),
        ({"shell_masses": 1.0}, "shell_masses", "1.0"),
        ({"shell_masses": "1.0"}, "shell_masses", "'1.0'"),
        ({"shell_masses": ["0.5", "0.5"]}, "shell_masses", "['0.5', '0.5']"),
        ({"shell_masses": [True]}, "shell_masses", "[True]"),
        ({"shell_masses": [0.5 + 0j, 0.5]}, "shell_masses", "[(0.5+0j), 0.5]"),
        ({"shell_masses": None}, "shell_masses", "None"),
        ({"tail_ratio": 0.0}, "tail_ratio", "0.0"),
        ({"tail_ratio": 1.0}, "tail_ratio", "1.0"),
        ({"tail_ratio": -0.5}, "tail_ratio", "-0.5"),
        ({"tail_ratio": float("nan")}, "tail_ratio", "nan"),
        ({"tail_ratio": True}, "tail_ratio", "True"),
        ({"tail_ratio": "0.5"}, "tail_ratio", "'0.5'"),
        ({"shell_masses": [1.0, 0.0], "tail_ratio": 0.5}, "shell_masses[1]", "0.0"),
        ({"step": 0.0}, "step", "0.0"),
        ({"step": -1.0}, "step", "-1.0"),
        ({"step": float("inf")}, "step", "inf"),
        ({"step": "1"}, "step", "'1'"),
        ({"step": True}, "step", "True"),
        ({"step": 0.5, "domain": "integer"}, "step", "0.5"),
        ({"domain": "complex"}, "domain", "'complex'"),
        ({"domain": None}, "domain", "None"),
        ({"domain": 1}, "domain", "1"),
        ({"dimension": 0}, "dimension", "0"),
        ({"dimension": -1}, "dimension", "-1"),
        ({"dimension": 1.5}, "dimension", "1.5"),
        ({"dimension": True}, "dimension", "True"),
        ({"dimension": "2"}, "dimension", "'2'"),
        ({"dimension": float("nan")}, "dimension", "nan"),
    ],
)
def test_bad_parameters_are_refused_by_name_and_value(arguments, name, value):
    with pytest.raises(InvalidParameterError) as caught:
        LatticeNoise(**{"shell_masses": [0.5, 0.5], "tail_ratio": None} | arguments)
    assert str(caught.value).startswith(f"Expected {name}={value}")
    assert isinstance(caught.value, LeastNoiseError)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: LatticeNoise.from_weights([1.0, -1.0], None), "weights"),
        (lambda: LatticeNoise.from_weights([0.0, 0.0], None), "weights"),
        (lambda: LatticeNoise.from_weights([], None), "weights"),
        (lambda: LatticeNoise.from_weights([1.0, np.nan], None), "weights"),
        (lambda: LatticeNoise.from_weights([1.0, np.inf], None), "weights"),
        (lambda: LatticeNoise.from_weights([[1.0]], None), "weights"),
        (lambda: LatticeNoise.from_weights("abc", None), "weights"),
        (lambda: LatticeNoise.from_weights([1.0, 0.0], 0.5), "shell_masses[1]"),
        (lambda: LatticeNoise.from_weights([1.0], 1.5), "tail_ratio"),
        (lambda: LatticeNoise.from_weights([1.0], 0.5, dimension=0), "dimension"),
        (lambda: LatticeNoise.from_weights([1.0], 0.5, dimension=2.5), "dimension"),
        (lambda: LatticeNoise.from_weights([1.0], 0.5, domain="reals"), "domain"),
        (lambda: LatticeNoise.from_log_weights([0.0, np.nan], 0.5), "log_weights"),
        (lambda: LatticeNoise.from_log_weights([0.0, np.inf], 0.5), "log_weights"),
        (lambda: LatticeNoise.from_log_weights([-np.inf], None), "log_weights"),
        (lambda: LatticeNoise.from_log_weights([], None), "log_weights"),
        (lambda: LatticeNoise.from_log_weights(None, None), "log_weights"),
        (lambda: law([1.0], 0.5).pmf(0.5), "k"),
        (lambda: law([1.0], 0.5).pmf(np.nan), "k"),
        (lambda: law([1.0], 0.5).pmf("0"), "k"),
        (lambda: law([1.0], 0.5).pdf(np.nan), "x"),
        (lambda: law([1.0], 0.5, dimension=2).pdf([0.0, np.nan]), "x"),
        (lambda: law([1.0], 0.5).cdf(np.nan), "x"),
        (lambda: law([1.0], 0.5, domain="integer").cdf(np.nan), "x"),
        (lambda: law([1.0], 0.5).ccdf([np.nan]), "x"),
        (lambda: law([1.0], 0.5).ccdf("far"), "x"),
        (lambda: law([1.0], 0.5).quantile(0.0), "u"),
        (lambda: law([1.0], 0.5).quantile(1.0), "u"),
        (lambda: law([1.0], 0.5).quantile([0.5, np.nan]), "u"),
        (lambda: law([1.0], 0.5).quantile("0.5"), "u"),
        (lambda: law([1.0], 0.5).interval(1.0), "confidence"),
        (lambda: law([1.0], 0.5).interval("0.9"), "confidence"),
    ],
)
def test_bad_arguments_are_refused_by_name(make, name):
    with pytest.raises(InvalidParameterError) as caught:
        make()
    assert caught.value.name == name
    assert str(caught.value).startswith(f"Expected {name}={caught.value.value!r} ")


# --- a frozen value ------------------------------------------------------------------------------


def test_a_law_owns_its_masses_and_does_not_change():
    given_masses = np.array([0.5, 0.5])
    noise = LatticeNoise(given_masses, None)
    given_masses[0] = 0.9
    assert noise.shell_masses.tolist() == [0.5, 0.5]
    with pytest.raises(ValueError, match="read-only"):
        noise.shell_masses[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        noise.extended(1)[0] = 1.0
    for name in ["shell_masses", "tail_ratio", "step", "domain", "dimension", "variance", "other"]:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(noise, name, 1.0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        del noise.step


@pytest.mark.parametrize(
    "clone",
    [
        copy.copy,
        copy.deepcopy,
        dataclasses.replace,
        lambda noise: pickle.loads(pickle.dumps(noise)),
    ],
)
@zoo
def test_copies_are_equal_and_as_frozen(clone, noise):
    assert noise.std >= 0  # fills the cache that must not leak into the copy's identity
    other = clone(noise)
    assert other == noise
    assert hash(other) == hash(noise)
    assert not other.shell_masses.flags.writeable


def test_equality_is_that_of_every_field():
    base = LatticeNoise([0.5, 0.25], 0.5, 0.5)
    same = LatticeNoise((0.5, 0.25), np.float64(0.5), Fraction(1, 2), np.str_("real"), 1.0)
    assert base == same
    assert len({base, same}) == 1
    others = [
        LatticeNoise([0.5, 0.25], 0.5, 1.0),
        LatticeNoise([0.5, 0.25], 0.5, 1.0, "integer"),
        LatticeNoise([0.5, np.nextafter(0.25, 1)], 0.5, 0.5),
        LatticeNoise([0.5, 0.5], None, 0.5),
        LatticeNoise([0.5, 0.5], None, 0.5, dimension=2),
    ]
    assert len({base, *others}) == 6
    assert base != "law"
    assert LatticeNoise([1.0, -0.0], None) == LatticeNoise([1.0, 0.0], None)


def test_plain_types_come_out():
    noise = LatticeNoise([1.0], None, np.float32(1), np.str_("integer"), np.int64(2))
    assert [
        type(v) for v in (noise.step, noise.domain, noise.dimension, noise.variance, noise.std)
    ] == [
        float,
        str,
        int,
        float,
        float,
    ]


def test_repr_says_what_it_is():
    assert (
        repr(law([1.0], 0.5))
        == "LatticeNoise(std=0.505181, domain='real', step=0.25, dimension=1, shells=0..0, "
        "tail_ratio=0.5)"
    )
    assert "no tail" in repr(law([1.0], None))
