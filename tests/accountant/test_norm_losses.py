"""Laws of an integer norm: the judge against δ of every admissible shift, listed."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import reference_norms as reference
from leastnoise import Box, OneSided, PrivacyLoss, UnsupportedError
from leastnoise.lattice.bodies import overlap
from leastnoise.laws.norm import NormNoise, body_of, law_of_scale
from leastnoise.losses.worst import WorstOf

EPSILONS = (0.0, 0.2, 0.7, 1.3, 2.5, 6.0)
LASTS = {2: 6, 3: 4, 4: 3}
PROFILES = tuple(reference.profiles(0, 1))
RANGES = [(2, 1), (2, 2), (2, 3), (3, 1), (3, 2), (4, 1), (4, 2)]
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
