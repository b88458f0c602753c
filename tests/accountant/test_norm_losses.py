"""Laws of an integer norm: the judge against δ of every admissible shift, listed."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import reference_norms as reference
from leastnoise import (
    Box,
    InvalidParameterError,
    OneSided,
    PrivacyLoss,
    UnsupportedError,
    exact,
)
from leastnoise.lattice.bodies import overlap
from leastnoise.lattice.steps import step_of
from leastnoise.laws.exponential import law_of_scale, range_law
from leastnoise.laws.norm import NormNoise, body_of
from leastnoise.losses.worst import WorstOf

EPSILONS = (0.0, 0.2, 0.7, 1.3, 2.5, 6.0)
LASTS = {2: 6, 3: 4, 4: 3}
PROFILES = tuple(reference.profiles(0, 1))
RANGES = [(2, 1), (2, 2), (2, 3), (3, 1), (3, 2), (4, 1), (4, 2)]
REAL = [("range", 2, 2, 2), ("range", 3, 3, 1), ("touched", 2, 1, 2), ("count", 3, 2, 1)]
CAPPED = [(2, 1), (3, 1), (3, 2), (3, 3), (4, 2), (4, 3)]


def ended(name, d, k, profile, more=0):
    last = LASTS[d] + more
    log_h = reference.profiles(d, last)[profile]
    return NormNoise.from_log_weights(body_of(name, d, k), log_h)


def worst(law, shifts, epsilon):
    p = reference.probabilities(law)
    return max(reference.delta(p, v, epsilon) for v in shifts)


@pytest.mark.portable
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(("d", "m"), RANGES)
def test_the_range_is_judged_exactly(d, m, profile):
    law = ended("range", d, d, profile)
    loss = law.loss(m, OneSided())
    shifts = list(reference.one_sided_shifts(d, m, d))
    for epsilon in EPSILONS:
        listed = worst(law, shifts, epsilon)
        assert listed <= float(loss.profile(epsilon)) * (1 + 1e-12)
        assert listed == pytest.approx(float(loss.profile(epsilon)), rel=1e-10, abs=1e-14)
        assert float(loss.profile_lower(epsilon)) <= listed * (1 + 1e-12)
        assert listed == pytest.approx(float(loss.profile_lower(epsilon)), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("touched", [1, 2])
@pytest.mark.parametrize("profile", PROFILES)
def test_the_range_is_judged_exactly_where_few_answers_move(touched, profile):
    law = ended("range", 4, 4, profile)
    loss = law.loss(1.0, OneSided(touched=touched))
    shifts = list(reference.one_sided_shifts(4, 1, touched))
    for epsilon in EPSILONS:
        listed = worst(law, shifts, epsilon)
        assert listed == pytest.approx(float(loss.profile(epsilon)), rel=1e-10, abs=1e-14)
    assert float(law.loss(1.0, OneSided()).profile(0.2)) >= float(loss.profile(0.2))


def test_ranges_within_those_of_counts_have_no_lower_bound():
    law = ended("range", 2, 2, "random")
    loss = law.loss(2, OneSided(ranges=[(0.0, 0.5), (0.0, 1.0)]))
    for epsilon in EPSILONS:
        assert worst(law, [(1, 2), (0, 2), (1, 0)], epsilon) <= float(loss.profile(epsilon))
    assert float(loss.profile_lower(0.2)) == 0.0


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize(("d", "k"), CAPPED)
@pytest.mark.parametrize("name", ["touched", "count"])
def test_no_shift_is_above_the_pure_judge(name, d, k, m, profile):
    law = ended(name, d, k, profile, more=d == 2)
    two_sided = name == "touched"
    changes = Box(touched=k) if two_sided else OneSided(touched=k)
    shifts = (reference.two_sided_shifts if two_sided else reference.one_sided_shifts)(d, m, k)
    shifts = list(shifts)
    loss = law.loss(m, changes)
    for epsilon in EPSILONS:
        listed = worst(law, shifts, epsilon)
        assert listed <= float(loss.profile(epsilon)) * (1 + 1e-12)
        assert float(loss.profile_lower(epsilon)) == 0.0
    assert loss.surely_infinite == 0.0


def test_the_pure_judge_is_randomised_response():
    """ε = 1/b where no mass leaves: the whole tail is there."""
    for name, changes in (("touched", Box(touched=2)), ("count", OneSided(touched=2))):
        loss = law_of_scale(body_of(name, 5, 2), 2.0).loss(1.0, changes)
        assert loss.largest == pytest.approx(0.5, rel=1e-12)
        assert (loss.infinite, loss.deviation) == (0.0, 0.0)
        for epsilon in (0.0, 0.1, 0.4):
            exact = (math.exp(0.5) - math.exp(epsilon)) / (1.0 + math.exp(0.5))
            assert float(loss.profile(epsilon)) == pytest.approx(exact, rel=1e-9)
            assert float(loss.profile(epsilon)) >= exact
        assert float(loss.profile(0.5001)) == 0.0


def test_what_leaves_the_support_is_infinite():
    law = ended("count", 3, 2, "flat")
    loss = law.loss(1.0, OneSided(touched=2))
    p = reference.probabilities(law)
    left = max(reference.delta(p, v, 700.0) for v in reference.one_sided_shifts(3, 1, 2))
    assert left <= loss.infinite <= float(law.shell_masses[-1]) * (1.0 + 1e-9)
    everything = law.loss(9.0, OneSided(touched=2))
    assert everything.infinite == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("name", "k", "changes"), [("range", 2, OneSided()), ("count", 1, OneSided(touched=1))]
)
def test_two_releases_are_not_above_the_judge(name, k, changes):
    """Every pair of shifts, one for each release."""
    law = ended(name, 2, k, "random")
    p = reference.probabilities(law)
    losses = []
    for v in reference.one_sided_shifts(2, 1, k):
        there = [p.get(tuple(a - b for a, b in zip(x, v, strict=True)), 0.0) for x in p]
        losses.append(list(zip(p.values(), there, strict=True)))
    both = PrivacyLoss.of(law, 1.0, changes).compose(2)
    for epsilon in (0.0, 0.5, 1.5, 3.0):
        most = max(
            math.fsum(
                max(a * b - math.exp(epsilon) * x * y, 0.0)
                for (a, x), (b, y) in itertools.product(one, other)
            )
            for one, other in itertools.product(losses, repeat=2)
        )
        bounds = both.delta_bounds(epsilon)
        assert most <= bounds.upper * (1 + 1e-9)
        assert bounds.lower <= most * (1 + 1e-9)
        if name == "range":
            assert bounds.upper == pytest.approx(most, rel=1e-3)


@pytest.mark.parametrize(
    ("d", "scale", "m"), [(2, 1.0, 1), (5, 1.0, 1), (10, 2.0, 2), (20, 1.0, 1)]
)
def test_the_exponential_law_has_its_epsilon(d, scale, m):
    """δ → 0: ε = m/b, for the range as for the others."""
    law = law_of_scale(body_of("range", d, d), scale)
    bounds = PrivacyLoss.of(law, float(m), OneSided()).epsilon_bounds(1e-12)
    assert m / scale * (1 - 1e-7) < bounds.lower <= bounds.upper < m / scale * (1 + 1e-10)


def test_empty_inner_shells_are_charged():
    """Twenty answers: the point 0 has less mass than 2^−128."""
    full = law_of_scale(body_of("count", 20, 10), 8.0)
    hollow = full.shell_masses.copy()
    hollow[:2] = 0.0
    law = NormNoise(full.body, hollow, full.tail_ratio)
    loss = law.loss(1.0, OneSided(touched=10))
    assert 0.0 < loss.deviation <= loss.infinite < 1e-20
    assert loss.largest == pytest.approx(1.0 / 8.0, rel=1e-9)


def test_where_no_shift_is_the_worst_all_are_taken(monkeypatch):
    """Should the check ever fail: for one step the worst of all shifts, for more a refusal."""
    law = ended("range", 4, 4, "random")
    once = law.loss(1.0, OneSided())
    monkeypatch.setattr("leastnoise.losses.norm.centre_is_worst", lambda *_: False)
    again = NormNoise(law.body, law.shell_masses).loss(1.0, OneSided())
    assert isinstance(again, WorstOf)
    assert len(again.tables) == overlap.worst_moved(4, 4) == 2
    for epsilon in EPSILONS:
        assert float(again.profile(epsilon)) == pytest.approx(float(once.profile(epsilon)))
    with pytest.raises(Exception, match="judge it for one step"):
        NormNoise(law.body, law.shell_masses).loss(2.0, OneSided())


def test_the_check_can_fail(monkeypatch):
    """A worst shift that is none is found out: one coordinate shares more than two."""
    monkeypatch.setattr(overlap, "worst_moved", lambda dimension, touched: dimension)
    overlap._is_least.cache_clear()
    assert not overlap.centre_is_worst(5, 1, 5, 40)
    overlap._is_least.cache_clear()


@pytest.mark.parametrize("name", ["range", "touched", "count"])
def test_changes_of_other_shapes_are_refused(name):
    law = law_of_scale(body_of(name, 4, 4 if name == "range" else 2), 1.0)
    refused = [Box(), Box(touched=3)]
    if name != "range":
        refused += [OneSided(), OneSided(touched=3)]
    if name == "count":
        refused += [Box(touched=1)]
    for changes in refused:
        with pytest.raises(UnsupportedError):
            law.loss(1.0, changes)
        with pytest.raises(UnsupportedError):
            PrivacyLoss.of(law, 1.0, changes)
    with pytest.raises(UnsupportedError):
        law.loss(1.0)


def test_a_law_is_judged_once_for_one_use():
    law = law_of_scale(body_of("range", 3, 3), 1.0)
    one = law.loss(1.0, OneSided())
    assert law.loss(1, OneSided(touched=3)) is one
    assert law.loss(2.0, OneSided()) != one
    assert law.loss(1.0, OneSided()) == one
    assert np.isfinite(one.largest)


def test_the_loss_at_any_distance_is_that_of_whole_steps():
    law = law_of_scale(body_of("touched", 3, 3), 2.0)
    assert law.loss_at(Fraction(3, 2)) == law.loss(2.0)
    with pytest.raises(UnsupportedError):
        law_of_scale(body_of("range", 3, 3), 2.0).loss_at(Fraction(1))


# --- on the real line ----------------------------------------------------------------------------


def on_the_line(law, step=1.0):
    return NormNoise(law.body, law.shell_masses, law.tail_ratio, step, "real")


@pytest.mark.portable
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(("name", "d", "k", "m"), REAL)
def test_no_shift_by_parts_of_a_step_is_above_the_judge(name, d, k, m, profile):
    """Every shift by whole parts of a step, of at most k answers and m steps."""
    places = 3 if d == 2 else 2
    log_h = reference.profiles(d, 3)[profile]
    law = on_the_line(NormNoise.from_log_weights(body_of(name, d, k), log_h))
    two_sided = name == "touched"
    changes = Box(touched=k) if two_sided else OneSided(touched=k)
    shifts = (reference.two_sided_shifts if two_sided else reference.one_sided_shifts)(
        d, m * places, k
    )
    p, shifts = reference.smeared(reference.probabilities(law), places), list(shifts)
    loss, whole = law.loss(m, changes), [v for v in shifts if all(x % places == 0 for x in v)]
    for epsilon in (0.0, 0.7, 2.5):
        listed = [reference.delta(p, v, epsilon) for v in shifts]
        assert max(listed) <= float(loss.profile(epsilon)) * (1 + 1e-12)
        at_whole = max(reference.delta(p, v, epsilon) for v in whole)
        assert max(listed) == pytest.approx(at_whole, rel=1e-12, abs=1e-15)
        if name == "range":
            assert max(listed) == pytest.approx(float(loss.profile(epsilon)), rel=1e-9, abs=1e-13)


def test_between_whole_shifts_delta_is_a_mixture_of_theirs():
    """docs/mathematics.md#norms-on-the-real-line: linear in each entry of the shift."""
    law = on_the_line(ended("count", 2, 1, "random"))
    points = reference.probabilities(law)
    p = reference.smeared(points, 4)
    for epsilon in (0.0, 0.5, 1.5):
        corners = {
            v: reference.delta(points, v, epsilon) for v in itertools.product((0, 1), repeat=2)
        }
        for a, b in itertools.product(range(5), repeat=2):
            x, y = a / 4, b / 4
            mixed = (1 - x) * (1 - y) * corners[0, 0] + x * (1 - y) * corners[1, 0]
            mixed += (1 - x) * y * corners[0, 1] + x * y * corners[1, 1]
            assert reference.delta(p, (a, b), epsilon) == pytest.approx(mixed, rel=1e-12)


def test_real_and_whole_numbers_are_judged_alike():
    for name, changes in (("range", OneSided()), ("count", OneSided(touched=2))):
        law = ended(name, 3, 3 if name == "range" else 2, "random")
        real = on_the_line(law, step_of(0.3, 2))
        for epsilon in EPSILONS:
            loss = float(real.loss(0.3, changes).profile(epsilon))
            assert loss == float(law.loss(2.0, changes).profile(epsilon))
        with pytest.raises(InvalidParameterError, match="step"):
            real.loss(0.4, changes)
    every = on_the_line(ended("touched", 3, 3, "random"), 0.25)
    for distance in (Fraction(1, 10), Fraction(1, 4)):
        assert every.loss_at(distance) is every.loss(0.25, Box())
    assert every.loss_at(Fraction(26, 100)) is every.loss(0.5, Box())


def test_releases_of_integer_weights_have_the_epsilon_of_the_law():
    """Rounding moves the few losses of a staircase by 1e-10; a grid that splits them is 2e-5 of ε
    above, more than `exact` allows."""
    for made in (range_law(9.156, 5), range_law(9.16, 5, domain="real")):
        before = PrivacyLoss.of(made, 1.0, OneSided()).compose(3).epsilon(1e-6)
        drawn = exact(made, delta=1e-6, compositions=3)
        after = PrivacyLoss.of(drawn, 1.0, OneSided()).compose(3).epsilon_bounds(1e-6)
        assert after.upper == pytest.approx(before, rel=1e-6)
        assert after.lower == pytest.approx(before, rel=1e-5)
