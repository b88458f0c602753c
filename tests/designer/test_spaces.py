"""Designs fitted to what one person can change: what they gain, and that they are judged for it."""

import math

import pytest

from leastnoise import Box, Euclidean, OneSided, PrivacyLoss, design
from leastnoise.artefact import verify, write_artefact
from leastnoise.designer.compare import compare
from leastnoise.designer.result import artefact_of
from leastnoise.errors import DesignError, InvalidParameterError, UnsupportedError

# variance of one answer at ε = 1, δ = 1e-6: for changes of any signs, and all up or all down
VARIANCES = {
    2: (3.9711, 3.2465),
    5: (14.002, 9.2506),
    10: (44.002, 25.918),
    20: (154.02, 84.262),
    40: (573.9, 199.66),
    100: (1655.6, 501.6),
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


@pytest.mark.parametrize("answers", [2, 10])
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


def test_a_length_of_changes_is_served_by_the_sphere():
    best = design(delta=1e-6, epsilon=1.0, batch=10, changes=Euclidean(2.0))
    assert best.origin == "sphere"
    assert best.noise.variance == pytest.approx(36.96, rel=1e-3)
    assert set(best.rivals) == {"sphere", "Gaussian"}
    one = design(delta=1e-6, epsilon=1.0, changes=Euclidean(2.0))
    assert one.sigma == pytest.approx(2.0 * math.sqrt(2.0), rel=1e-3)  # Laplace, of sensitivity 2


@pytest.mark.parametrize(
    ("asked", "error", "words"),
    [
        ({"changes": OneSided(2), "touched": 3}, InvalidParameterError, "left out beside"),
        ({"changes": Euclidean(1.0), "touched": 2}, InvalidParameterError, "left out beside"),
        ({"changes": "one-sided"}, InvalidParameterError, "such as Box"),
        ({"changes": OneSided(ranges=[(0, 1)] * 2)}, InvalidParameterError, "5 answers"),
        ({"changes": OneSided(ranges=[(0, 0.5)] * 5)}, UnsupportedError, "move alike"),
        ({"changes": OneSided(), "objective": "renyi"}, InvalidParameterError, "tight"),
        ({"changes": Euclidean(1.0), "domain": "integer"}, DesignError, "length"),
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
        {"batch": 5, "changes": OneSided(), "compositions": 3},
        {"batch": 5, "changes": OneSided(), "compositions": 3, "domain": "integer"},
        {"batch": 6, "changes": OneSided(touched=3)},
        {"batch": 6, "touched": 3, "sensitivity": 0.3},
    ],
    ids=str,
)
def test_an_artefact_states_the_space_and_is_verified_for_it(asked, tmp_path):
    best = design(delta=1e-6, epsilon=1.0, **asked)
    made = artefact_of(best)
    assert made.guarantee.changes == best.changes
    write_artefact(made, tmp_path / "noise.json")
    checked = verify(tmp_path / "noise.json")
    assert checked.ok, checked.mismatches
    assert checked.recomputed.changes == best.changes
    assert made.guarantee.epsilon <= 1.0 + 1e-5


def test_other_laws_are_compared_for_the_same_changes():
    found = compare(delta=1e-6, sigma=5.0, batch=10, changes=OneSided())
    needed = {law.name: law.sigma_at_epsilon for law in found}
    assert needed["correlated Gaussian"] < needed["Gaussian"]
    assert all(law.epsilon_at_sigma >= found[0].epsilon_at_sigma for law in found)
