"""Designs fitted to what one person can change: what they gain, and that they are judged for it."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from leastnoise import Box, Euclidean, OneSided, PrivacyLoss, cube, design
from leastnoise.artefact import verify, write_artefact
from leastnoise.cost import absolute
from leastnoise.designer.compare import compare
from leastnoise.designer.fits import fits_of
from leastnoise.designer.request import Request
from leastnoise.designer.result import artefact_of
from leastnoise.errors import InvalidParameterError
from leastnoise.laws.exponential import range_law
from leastnoise.laws.norm import NormNoise

MIXED = OneSided(ranges=((0, 1), (-0.3, 1), (-1, 0.2), (0.5, 1), (0, 0.1)))

# variance of one answer at ε = 1, δ = 1e-6: for changes of any signs, and all up or all down
VARIANCES = {
    2: (3.9711, 3.2465),
    5: (14.002, 9.2506),
    10: (44.002, 25.918),
    20: (154.02, 84.262),
    40: (519.01, 199.66),
    100: (1658.13, 501.6),
}


@pytest.mark.portable
@pytest.mark.parametrize("answers", VARIANCES)
def test_answers_that_all_move_the_same_way_need_less_noise(answers):
    best = design(delta=1e-6, epsilon=1.0, batch=answers, changes=OneSided())
    box, wanted = VARIANCES[answers]
    assert best.epsilon <= 1.0
    assert best.noise.variance == pytest.approx(wanted, rel=2e-4)
    assert best.noise.variance < box
    loss = PrivacyLoss.of(best.noise, 1.0, OneSided())
    assert loss.epsilon(1e-6) == best.epsilon
    assert best.epsilon <= min(best.rivals.values())
    assert {"correlated Gaussian", "correlated sphere", "lifted cube"} < set(best.rivals)
    assert "all up or all down" in best.summary()
    assert best.changes == OneSided()


# variance of one whole answer at ε = 1, δ = 1e-6, and the shape of the noise
COUNTS = [
    (2, OneSided(), 3.163, "range"),
    (5, OneSided(), 9.167, "range"),
    (10, OneSided(), 25.834, "range"),
    (20, OneSided(), 84.170, "range"),
    (40, OneSided(), 199.74, "correlated sphere"),
    (100, OneSided(), 501.67, "correlated sphere"),
    (10, OneSided(touched=5), 20.885, "count"),
    (20, OneSided(touched=10), 72.716, "count"),
    (10, Box(touched=5), 34.010, "touched"),
    (20, Box(touched=10), 125.50, "sphere"),
]


@pytest.mark.parametrize(("answers", "changes", "variance", "origin"), COUNTS, ids=str)
def test_counts_have_the_noise_of_their_shape(answers, changes, variance, origin):
    best = design(delta=1e-6, epsilon=1.0, batch=answers, domain="integer", changes=changes)
    assert (best.origin, best.noise.domain) == (origin, "integer")
    assert best.noise.variance == pytest.approx(variance, rel=1e-4)
    assert best.epsilon <= 1.0
    assert f"({origin}" in best.reason


@pytest.mark.parametrize("answers", VARIANCES)
def test_changes_of_any_signs_need_what_they_needed(answers):
    best = design(delta=1e-6, epsilon=1.0, batch=answers)
    assert best.noise.variance == pytest.approx(VARIANCES[answers][0], rel=2e-4)
    assert best.changes == Box()
    assert "condition" not in best.summary()


@pytest.mark.parametrize(("answers", "touched", "variance"), [(20, 10, 125.42), (50, 20, 308.51)])
def test_the_sphere_serves_answers_of_which_few_are_touched(answers, touched, variance):
    best = design(delta=1e-6, epsilon=1.0, batch=answers, touched=touched)
    assert best.noise.variance == pytest.approx(variance, rel=2e-4)
    again = design(delta=1e-6, epsilon=1.0, batch=answers, changes=Box(touched=touched))
    assert again.noise == best.noise


# at ε = 1, and the least variance of an exponential density of the same norm (Joseph & Yu 2023)
TOUCHED = [
    (OneSided(touched=5), 10, "count", 20.9685, 21.477),
    (OneSided(touched=10), 20, "count", 72.7995, 74.22),
    (Box(touched=5), 10, "touched", 34.0929, 34.337),
    (Box(touched=7), 20, "touched", 79.951, 80.009),
]


@pytest.mark.parametrize(("changes", "answers", "origin", "variance", "closed_form"), TOUCHED)
def test_a_norm_serves_real_answers_of_which_few_are_touched(
    changes, answers, origin, variance, closed_form
):
    best = design(delta=1e-6, epsilon=1.0, batch=answers, changes=changes)
    assert (best.origin, best.noise.domain, best.noise.step) == (origin, "real", 1.0 + 2.0**-30)
    assert best.epsilon <= 1.0
    assert best.noise.variance == pytest.approx(variance, rel=2e-4)
    assert best.noise.variance < closed_form
    assert best.epsilon == PrivacyLoss.of(best.noise, 1.0, changes).epsilon(1e-6)


@pytest.mark.parametrize("epsilon", [0.2, 8.0])
def test_the_closed_form_is_never_better(epsilon):
    """Where there is little noise the bins are finer: never above (d + 2)(d + 3)/(6ε²)."""
    best = design(delta=1e-9, epsilon=epsilon, batch=3, changes=OneSided())
    assert best.noise.variance < 5.0 * (1.0 + 2e-4) / epsilon**2


@pytest.mark.parametrize("releases", [1, 4])
@pytest.mark.parametrize("sigma", [3.0, 12.0])
@pytest.mark.parametrize("domain", ["real", "integer"])
def test_a_smaller_space_never_costs_more(sigma, releases, domain):
    def cost(changes):
        asked = {"delta": 1e-6, "sigma": sigma, "batch": 6, "compositions": releases}
        return design(**asked, domain=domain, changes=changes).epsilon

    whole = cost(Box())
    assert cost(OneSided()) <= whole
    assert cost(Box(touched=3)) <= whole * (1.0 + 1e-4)
    assert cost(OneSided(touched=3)) <= min(cost(OneSided()), cost(Box(touched=3))) * (1.0 + 1e-4)


@pytest.mark.parametrize(
    ("answers", "sigma"),
    [
        *((2, sigma) for sigma in (0.04, 0.1, 0.3)),
        (3, 0.1),
        *(pytest.param(3, sigma, marks=pytest.mark.long) for sigma in (0.04, 0.2, 0.3)),
    ],
)
def test_little_noise_on_few_answers_is_that_of_the_box(answers, sigma):
    """A hidden count is as one more answer, which costs more than it spares there."""
    asked = {"delta": 1e-6, "sigma": sigma, "batch": answers}
    whole = design(**asked).epsilon
    spaces = [OneSided(), OneSided(ranges=((0.5, 1.0),) * answers)]
    spaces += [OneSided(touched=2)] if answers > 2 else []
    for changes in spaces:
        best = design(**asked, changes=changes)
        assert best.epsilon <= whole * (1.0 + 1e-4)
        judged = PrivacyLoss.of(best.noise, 1.0, best.changes_of(best.noise))
        assert judged.compose(best.uses).epsilon(1e-6) == best.epsilon
        assert best.epsilon <= min(best.rivals.values())


@pytest.mark.parametrize(("answers", "epsilon", "sigma"), [(2, 12.0, 0.0427334), (3, 12.0, 0.081)])
def test_the_least_noise_of_few_answers_within_a_large_epsilon(answers, epsilon, sigma):
    asked = {"delta": 1e-6, "epsilon": epsilon, "batch": answers}
    best, box = design(**asked, changes=OneSided()), design(**asked)
    assert best.sigma <= box.sigma * (1.0 + 1e-4)
    assert best.sigma == pytest.approx(sigma, rel=1e-3)
    assert best.epsilon <= epsilon
    for name, law in best.rival_laws.items():  # what others cost at the same noise, not at more
        assert law.std == pytest.approx(best.sigma, rel=1e-6), name


@pytest.mark.filterwarnings("error")
def test_a_step_too_far_is_given_up_without_a_word():
    asked = {"delta": 1e-3, "sigma": 8.526, "batch": 40, "compositions": 2}
    assert design(**asked, changes=OneSided()).epsilon < 3.0


def test_a_length_of_changes_is_served_by_the_sphere():
    best = design(delta=1e-6, epsilon=1.0, batch=10, changes=Euclidean(2.0))
    assert best.origin == "sphere"
    assert best.noise.variance == pytest.approx(36.96, rel=1e-3)
    assert list(best.rivals)[:2] == ["sphere", "Gaussian"]
    assert best.noise.dimension == best.rival_laws["Gaussian"].dimension == 10
    assert best.epsilon_lower == 0.0


@pytest.mark.parametrize("domain", ["real", "integer"])
def test_one_answer_of_a_length_is_the_box(domain):
    one = design(delta=1e-6, epsilon=1.0, changes=Euclidean(2.0), domain=domain)
    box = design(delta=1e-6, epsilon=1.0, sensitivity=2.0, domain=domain)
    assert one.noise == box.noise
    assert (one.epsilon, one.epsilon_lower) == (box.epsilon, box.epsilon_lower)
    assert one.sigma < 2.78  # Laplace needs 2.83
    assert (one.changes, one.reach) == (Euclidean(2.0), 2.0)


@pytest.mark.parametrize(
    ("answers", "radius", "variance"),
    [(10, 2.0, 37.04), (40, 2.0, 59.63), (3, 1.5, 8.058), (2, 1.0, 3.081)],
)
def test_whole_answers_of_a_length_have_the_noise_of_the_real_line(answers, radius, variance):
    """Whole answers are not rounded; and 1.5 is as √2 to them."""
    asked = {"delta": 1e-6, "epsilon": 1.0, "batch": answers, "changes": Euclidean(radius)}
    whole, real = design(**asked, domain="integer"), design(**asked)
    assert whole.noise.variance == pytest.approx(variance, rel=2e-4)
    assert whole.noise.variance < real.noise.variance + 0.1
    assert whole.epsilon <= min(whole.rivals["rounded Gaussian"], 1.0)
    again = PrivacyLoss.of(whole.noise, 1.0, Euclidean(radius))
    assert again.epsilon(1e-6) == whole.epsilon


LENGTHS = [
    (1, 0.2, 1e-3, "real"),
    (2, 1.0, 1e-6, "real"),
    pytest.param(2, 6.0, 1e-9, "real", marks=pytest.mark.long),
    pytest.param(3, 8.0, 1e-6, "real", marks=pytest.mark.long),
    (5, 30.0, 1e-6, "real"),
    (10, 0.5, 1e-6, "real"),
    (2, 1.0, 0.01, "integer"),
    (3, 12.0, 1e-6, "integer"),
]


@pytest.mark.parametrize(("answers", "epsilon", "delta", "domain"), LENGTHS)
def test_a_length_of_changes_never_needs_more_than_the_box(answers, epsilon, delta, domain):
    """The box of a length holds every change of that length: its laws serve too."""
    asked = {"delta": delta, "epsilon": epsilon, "batch": answers, "domain": domain}
    length = design(**asked, changes=Euclidean(2.0))
    box = design(**asked, sensitivity=2.0)
    assert length.sigma <= box.sigma * (1.0 + 1e-4)
    assert length.epsilon <= epsilon
    law, space = length.noise, length.changes_of(length.noise)
    assert PrivacyLoss.of(law, 1.0, space).compose(length.uses).epsilon(delta) == length.epsilon
    assert artefact_of(length).guarantee.epsilon <= length.epsilon * (1.0 + 1e-5)
    fixed = {"delta": delta, "sigma": box.sigma, "batch": answers, "domain": domain}
    assert design(**fixed, changes=Euclidean(2.0)).epsilon <= box.epsilon * (1.0 + 1e-4)
    assert length.epsilon_lower == 0.0 or answers == 1


def test_laws_for_a_length_are_compared():
    found = compare(delta=1e-6, sigma=0.6, batch=3, changes=Euclidean(1.5))
    needed = {law.name: law.sigma_at_epsilon for law in found}
    assert {"sphere", "Gaussian", "cube", "Laplace"} <= set(needed)
    assert needed["cube"] > 0.6
    law = cube(needed["cube"], 3, sensitivity=1.5)
    assert PrivacyLoss.of(law, 1.5).epsilon(1e-6) == pytest.approx(found[0].epsilon_at_sigma, 1e-3)


@pytest.mark.parametrize(
    ("asked", "error", "words"),
    [
        ({"changes": OneSided(2), "touched": 3}, InvalidParameterError, "left out beside"),
        ({"changes": Euclidean(1.0), "touched": 2}, InvalidParameterError, "left out beside"),
        ({"changes": "one-sided"}, InvalidParameterError, "such as Box"),
        ({"changes": OneSided(ranges=[(0, 1)] * 2)}, InvalidParameterError, "5 answers"),
        ({"weights": [1.0] * 4}, InvalidParameterError, "batch=5"),
        ({"weights": [1.0, 1.0, 1.0, 1.0, 0.0]}, InvalidParameterError, r"weights\[4\]"),
        ({"weights": [1.0, 1.0, 1.0, 1.0, 1e13]}, InvalidParameterError, "factor of at most"),
        ({"weights": [1, 1, 1, 1, 2], "cost": absolute()}, InvalidParameterError, "square"),
        ({"weights": [1, 1, 1, 1, 2], "objective": "renyi"}, InvalidParameterError, "tight"),
        ({"changes": MIXED, "cost": absolute()}, InvalidParameterError, "square"),
        ({"changes": OneSided(), "objective": "renyi"}, InvalidParameterError, "tight"),
    ],
)
def test_what_does_not_fit_is_refused(asked, error, words):
    with pytest.raises(error, match=words):
        design(delta=1e-6, sigma=8.0, batch=5, **asked)


@pytest.mark.parametrize(
    "asked",
    [
        {"batch": 5, "changes": OneSided()},
        {"batch": 40, "changes": OneSided()},
        {"batch": 40, "changes": OneSided(), "domain": "integer"},
        {"batch": 20, "touched": 10},
        {"batch": 10, "changes": Euclidean(2.0)},
        {"batch": 3, "changes": Euclidean(2.0), "domain": "integer"},
        {"changes": Euclidean(1.7)},
        {"batch": 5, "changes": OneSided(), "compositions": 3},
        {"batch": 5, "changes": OneSided(), "compositions": 3, "domain": "integer"},
        {"batch": 6, "changes": OneSided(touched=3)},
        {"batch": 6, "touched": 3, "sensitivity": 0.3},
        {"batch": 5, "changes": MIXED},
        {"batch": 5, "changes": MIXED, "compositions": 12},
        {"batch": 3, "changes": OneSided(ranges=((0, 1), (0, 0.5), (0.25, 1)))},
        {"batch": 5, "weights": [1.0, 1.0, 1.0, 1.0, 100.0]},
    ],
    ids=str,
)
def test_an_artefact_states_the_space_and_is_verified_for_it(asked, tmp_path):
    best = design(delta=1e-6, epsilon=1.0, **asked)
    made = artefact_of(best)
    assert made.guarantee.changes == best.changes_of(best.noise)
    assert ("scales" in made.problem) == (best.factors is not None)
    write_artefact(made, tmp_path / "noise.json")
    checked = verify(tmp_path / "noise.json")
    assert checked.ok, checked.mismatches
    assert checked.recomputed.changes == best.changes_of(best.noise)
    assert made.guarantee.epsilon <= 1.0 + 1e-5


def test_other_laws_are_compared_for_the_same_changes():
    found = compare(delta=1e-6, sigma=5.0, batch=10, changes=OneSided())
    needed = {law.name: law.sigma_at_epsilon for law in found}
    assert needed["correlated Gaussian"] < needed["Gaussian"]
    assert all(law.epsilon_at_sigma >= found[0].epsilon_at_sigma for law in found)


# Unequal ranges and weights


def unit_costs(best):
    """The weighted mean of the squared errors, each in sensitivities of its answer."""
    weights = np.array(best.weights or (1.0,) * best.batch)
    errors = np.array(best.sigmas) / np.array(best.sensitivities) * best.sensitivity
    return float(np.sum(weights * errors**2) / np.sum(weights))


@pytest.mark.parametrize("widths", [(0.5, 0.5, 0.5), (1.0, 0.5, 0.1)])
def test_ranges_from_nothing_are_counts_once_they_are_scaled(widths):
    best = design(
        delta=1e-6, epsilon=1.0, batch=3, changes=OneSided(ranges=tuple((0, w) for w in widths))
    )
    counts = design(delta=1e-6, epsilon=1.0, batch=3, changes=OneSided())
    assert best.noise == counts.noise
    assert best.scales == widths
    assert best.sigmas == pytest.approx([w * counts.sigma for w in widths])
    assert best.judged_for == OneSided()
    sensitivities = design(
        delta=1e-6, epsilon=1.0, batch=3, changes=OneSided(), sensitivity=[10 * w for w in widths]
    )
    assert sensitivities.sigmas == pytest.approx([10 * sigma for sigma in best.sigmas], rel=1e-6)


@pytest.mark.parametrize("sensitivity", [1.0, (2.0, 1.0, 0.5, 3.0, 1.0)], ids=str)
@pytest.mark.parametrize("asked", [{"epsilon": 1.0}, {"sigma": 4.0}], ids=str)
def test_answers_of_unequal_ranges_need_less_than_the_box(asked, sensitivity):
    given = {"delta": 1e-6, "batch": 5, "sensitivity": sensitivity, **asked}
    best, box = design(**given, changes=MIXED), design(**given)
    assert best.origin in ("optimised", "lifted cube")
    assert best.changes == MIXED
    loss = PrivacyLoss.of(best.noise, best.sensitivity, best.changes_of(best.noise))
    assert loss.epsilon(1e-6) == best.epsilon <= min(best.rivals.values())
    assert unit_costs(best) == pytest.approx(best.sigma**2, rel=1e-6)
    assert best.residual < 1e-8
    if "epsilon" in asked:
        assert best.epsilon <= 1.0
        assert best.sigma < 0.75 * box.sigma
    else:
        assert best.sigma == 4.0
        assert best.epsilon < 0.75 * box.epsilon
    assert "standard deviations" in best.summary()
    assert "standard deviations" in best._repr_html_()


def test_every_change_of_the_ranges_is_one_that_the_law_is_judged_for():
    """Of each fit: the scaled ranges hold the ranges, compared as exact numbers."""
    spaces = [MIXED, OneSided(ranges=((0, 1), (0, 0.3))), OneSided(ranges=((-1, 0), (-0.3, -0.1)))]
    spaces += [OneSided(2, ((0, 1), (-1, 1), (-1e-9, 1))), OneSided(ranges=((0.1, 0.1), (-1, 1)))]
    for space in spaces:
        d = len(space.ranges)
        request = Request.of(delta=1e-6, batch=d, changes=space)
        fits = fits_of(request)
        assert len(fits) > 1
        for fit in fits:
            judged = fit.request.changes.range_of_each(d)
            mirrored = [(-high, -low) for low, high in judged]
            scaled = [
                (Fraction(low) / Fraction(factor), Fraction(high) / Fraction(factor))
                for (low, high), factor in zip(space.ranges, fit.factors, strict=True)
            ]
            assert any(
                all(a <= low and high <= b for (low, high), (a, b) in zip(scaled, one, strict=True))
                for one in (judged, mirrored)
            )
            assert fit.request.touched >= space.touched_of(d)


@pytest.mark.parametrize(
    ("ranges", "factor"),
    [
        (((0.4, 1.0),) * 10, 330 / 632),
        (((0.0, 1.0),) * 10, (1 + math.sqrt(10)) / 2 / math.sqrt(10)),
    ],
)
def test_correlated_noise_has_the_gain_of_the_closed_form(ranges, factor):
    """Ten values in [80, 200] need 330/632 of the standard deviation of independent noise."""
    asked = {"delta": 1e-6, "sigma": 20.0, "batch": 10, "compositions": 40}
    best, box = design(**asked, changes=OneSided(ranges=ranges)), design(**asked)
    assert best.rivals["correlated Gaussian"] < box.rivals["Gaussian"]
    wider = design(**{**asked, "sigma": 20.0 / factor}).rivals["Gaussian"]
    assert best.rivals["correlated Gaussian"] == pytest.approx(wider, rel=0.01)


def test_weights_move_noise_to_where_it_matters_less():
    weights = [1.0, 1.0, 1.0, 1.0, 100.0]
    best = design(delta=1e-6, sigma=8.0, batch=5, weights=weights)
    plain = design(delta=1e-6, sigma=8.0, batch=5)
    assert best.epsilon < 0.9 * plain.epsilon
    assert best.sigmas[0] == pytest.approx(best.sigmas[4] * 100**0.25, rel=1e-9)
    assert unit_costs(best) == pytest.approx(64.0, rel=1e-9)
    same = design(delta=1e-6, sigma=8.0, batch=5, weights=[3.0] * 5)
    assert same.noise == plain.noise
    assert same.factors is None
    counts = design(delta=1e-6, sigma=8.0, batch=30, weights=[1.0] * 29 + [1e4], changes=OneSided())
    assert (
        counts.epsilon < 0.6 * design(delta=1e-6, sigma=8.0, batch=30, changes=OneSided()).epsilon
    )


def test_whole_numbers_of_unequal_ranges_have_noise_of_unequal_widths(tmp_path):
    """The box needs a variance of 519, the real line 207.6."""
    space = OneSided(ranges=((0, 1),) * 39 + ((-1, 1),))
    best = design(delta=1e-6, epsilon=1.0, batch=40, domain="integer", changes=space)
    assert best.origin == "correlated sphere"
    assert best.sigma**2 == pytest.approx(207.7, abs=0.2)
    assert best.noise.domain == "integer"
    assert best.scales == (1.0,) * 40
    assert best.sigmas == best.noise.stds
    assert best.sigmas[0] < best.sigma < best.sigmas[39]
    assert best.residual < 1e-9
    assert 1.0 < best.rivals["correlated Gaussian"] < 1.2 < best.rivals["discrete Gaussian"]
    made = artefact_of(best)
    assert made.guarantee.changes == space
    assert made.guarantee.epsilon == pytest.approx(best.epsilon, rel=1e-9)
    write_artefact(made, tmp_path / "noise.json")
    assert verify(tmp_path / "noise.json").ok


def test_whole_numbers_that_matter_unequally():
    best = design(delta=1e-6, sigma=8.0, batch=30, domain="integer", weights=[1.0] * 29 + [1e4])
    plain = design(delta=1e-6, sigma=8.0, batch=30, domain="integer")
    assert best.epsilon < 0.5 * plain.epsilon
    assert best.sigmas[29] < 0.2 * best.sigmas[0]


@pytest.mark.parametrize("ranges", [((0, 1), (0, 0.5), (-1, 1)), ((0, 1), (0, 0.5), (0.5, 1))])
def test_whole_numbers_of_unequal_ranges_are_not_scaled(ranges):
    best = design(delta=1e-6, sigma=4.0, batch=3, domain="integer", changes=OneSided(ranges=ranges))
    # a box, told as what it is for: persons who are added or removed
    two_way = OneSided(ranges=((-1.0, 1.0),) * 3)
    expected = OneSided() if all(low >= 0 for low, _ in ranges) else two_way
    assert best.changes_of(best.noise) == expected
    assert best.scales == (1.0,) * 3
    one = design(delta=1e-6, sigma=4.0, batch=1, changes=OneSided(ranges=[(0, 0.5)]))
    assert one.epsilon == pytest.approx(design(delta=1e-6, sigma=8.0).epsilon, rel=1e-6)


def test_laws_of_other_scales_are_not_compared_by_their_noise():
    found = compare(delta=1e-6, sigma=5.0, batch=5, changes=MIXED)
    assert all(law.epsilon_at_sigma >= found[0].epsilon_at_sigma for law in found)
    assert all(law.sigma_at_epsilon is None for law in found[1:])


# The profile of the range law


@pytest.mark.parametrize(
    ("asked", "gain"),
    [
        ({"sigma": 3.0, "compositions": 10, "delta": 1e-6}, 0.034),
        ({"sigma": 6.0, "sensitivity": 2, "compositions": 10, "delta": 1e-6}, 0.046),
        ({"sigma": 3.0, "delta": 0.01}, 0.11),
        ({"sigma": 3.0, "sensitivity": 3, "delta": 1e-6}, 0.013),
    ],
    ids=str,
)
def test_the_profile_of_the_range_is_optimised(asked, gain):
    best = design(**asked, batch=2, domain="integer", changes=OneSided())
    assert best.origin == "optimised"
    assert isinstance(best.noise, NormNoise)
    assert best.noise.body.name == "range"
    assert best.epsilon < (1.0 - gain) * best.rivals["range"]
    assert best.noise.std == pytest.approx(asked["sigma"], rel=1e-9)
    loss = PrivacyLoss.of(best.noise, float(best.sensitivity), OneSided()).compose(best.uses)
    assert loss.epsilon(asked["delta"]) == best.epsilon
    assert best.epsilon_lower > 0.999 * best.epsilon


@pytest.mark.parametrize("steps", [1, 2])
def test_every_shift_of_an_optimised_range_law_is_below_the_judge(steps):
    """δ of one release at all admissible shifts, point by point."""
    best = design(
        delta=0.01,
        sigma=2.0 * steps,
        batch=2,
        compositions=2,
        domain="integer",
        sensitivity=steps,
        changes=OneSided(),
    )
    law = best.rival_laws["range"] if best.origin != "optimised" else best.noise
    reach = 60 * steps
    x = np.arange(-reach, reach + 1)
    a, b = np.meshgrid(x, x, indexing="ij")
    radius = np.maximum(np.maximum(a, b), 0) - np.minimum(np.minimum(a, b), 0)
    p = law.pmf(radius)
    loss = law.loss(float(steps), OneSided())
    for v in itertools.product(range(steps + 1), repeat=2):
        moved = np.zeros_like(p)
        moved[v[0] :, v[1] :] = p[: p.shape[0] - v[0], : p.shape[1] - v[1]]
        for epsilon in (0.0, 0.2, 0.5, 1.0):
            for one, other in ((p, moved), (moved, p)):
                delta = float(np.sum(np.maximum(one - math.exp(epsilon) * other, 0.0)))
                assert delta <= float(loss.profile(epsilon)) + 1e-9


def test_one_small_release_of_the_range_keeps_its_name():
    best = design(delta=1e-6, epsilon=1.0, batch=5, domain="integer", changes=OneSided())
    assert best.origin == "range"
    assert best.noise.variance == pytest.approx(9.166707, rel=2e-4)
    looser = design(delta=0.01, epsilon=1.0, batch=2, domain="integer", changes=OneSided())
    assert looser.origin == "optimised"
    assert looser.sigma < 0.95 * range_needed(looser)


def range_needed(best):
    """The standard deviation that the plain law needs for the same ε."""
    low, high = best.sigma, 2.0 * best.sigma
    for _ in range(40):
        middle = 0.5 * (low + high)
        law = range_law(middle, best.batch)
        is_enough = PrivacyLoss.of(law, 1.0, OneSided()).epsilon(best.delta) <= best.epsilon
        low, high = (low, middle) if is_enough else (middle, high)
    return high


def test_a_saved_law_of_the_range_is_verified(tmp_path):
    best = design(
        delta=1e-6, sigma=3.0, batch=2, compositions=10, domain="integer", changes=OneSided()
    )
    write_artefact(artefact_of(best), tmp_path / "noise.json")
    checked = verify(tmp_path / "noise.json")
    assert checked.ok, checked.mismatches
    assert checked.recomputed.epsilon <= best.epsilon * (1.0 + 1e-5)
