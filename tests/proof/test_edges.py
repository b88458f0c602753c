"""The second judge at its edges: what it refuses, what it says where it falls short, and bounds
that only large cases take."""

import itertools
import math
from fractions import Fraction

import pytest

pytest.importorskip("flint", reason="python-flint is not installed")

from leastnoise import Euclidean, OneSided, discrete_gaussian, exact
from leastnoise.artefact.rigorous import proof_of_draws
from leastnoise.changes import BOX, Box
from leastnoise.errors import AccountingError, InvalidParameterError, UnsupportedError
from leastnoise.laws.bent_sphere import BentSphereNoise
from leastnoise.laws.correlated import correlated, normal
from leastnoise.laws.exponential import range_law, touched_law
from leastnoise.proof import changes, composition, norms, shells
from leastnoise.proof.balls import above, ball, beneath
from leastnoise.proof.changes import read_changes, squared_length, tied_length
from leastnoise.proof.norms import norm_counts, range_pair
from leastnoise.proof.pairs import FinitePair, NormalPair
from leastnoise.proof.shells import cube_pair, read_shells
from leastnoise.proof.theorem import Proof

D = 1e-6


def test_changes_that_are_not_known_are_refused():
    with pytest.raises(UnsupportedError, match="of the kind 'twisted'"):
        read_changes({"kind": "twisted"}, 2, 1.0)
    with pytest.raises(UnsupportedError, match="of the kind 'box'"):
        read_changes({"kind": "box", "ranges": [[0, 1]]}, 2, 1.0)


def test_a_length_of_whole_answers_is_one_of_the_lattice():
    moved = read_changes({"kind": "euclidean", "radius": 1.5}, 3, 1.0)
    assert float(squared_length(moved, Fraction(1), is_whole=True)) == 2.0  # ⌊2.25⌋
    assert above(squared_length(moved, Fraction(1), is_whole=False)) > 2.25


@pytest.mark.parametrize("touched", [None, 3])
def test_many_unlike_answers_are_bounded_from_above(touched, monkeypatch):
    """Where corners are too many to list, the bound for every c is above all of them."""
    ranges = [[0, Fraction(k, 8)] for k in range(1, 7)]
    space = {"kind": "one-sided", "ranges": ranges, "touched": touched}
    moved = read_changes(space, 6, 1.0)
    given = moved, Fraction(1, 8), Fraction(1, 9), [Fraction(1)] * 6, [Fraction(1)] * 6
    corners = float(tied_length(*given))
    slow = 0.0
    for chosen in itertools.product((0, 1), repeat=6):
        if touched is None or sum(chosen) <= touched:
            v = [one * float(high) for one, (_, high) in zip(chosen, ranges, strict=True)]
            slow = max(slow, sum(x * x for x in v) - sum(v) ** 2 / 9)
    assert corners == pytest.approx(slow, rel=1e-12)
    monkeypatch.setattr(changes, "_MOST_CORNERS", 0)
    assert beneath(tied_length(*given)) >= slow


def test_laws_are_refused_for_changes_they_are_not_made_for():
    one_way = exact(range_law(6.0, 3), delta=D)
    few = exact(touched_law(6.0, 3, touched=2), delta=D)
    for law, space in ((one_way, BOX), (few, BOX), (few, Euclidean(1.0))):
        with pytest.raises(UnsupportedError, match="not covered"):
            proof_of_draws([(law, 1.0, 1, space)], 1.0, D)
    with pytest.raises(UnsupportedError, match="between sphere and normal noise"):
        proof_of_draws([(BentSphereNoise(2.0, 15, 10), 1.0, 1, BOX)], 1.0, D)


def test_weights_that_do_not_add_up_are_refused():
    for weights in (["1", "1"], ["4", "0"]):
        with pytest.raises(InvalidParameterError, match="sum of weights"):
            read_shells({"first": 0, "weights": weights, "bits": 2}, None, 1)


def test_normal_noise_is_composed_with_others():
    """The two kinds together cost more than either, and less than the sum."""
    line, rounded = exact(discrete_gaussian(8.0), delta=D), normal(20.0, 4, domain="integer")
    draws = [(line, 1.0, 1, BOX), (rounded, 1.0, 1, BOX)]
    assert proof_of_draws(draws, 1.1, D).ok
    # At so small an ε nothing is proven, and what is proven instead is told.
    both = proof_of_draws(draws, 0.1, D)
    alone = [proof_of_draws([one], 0.1, D) for one in draws]
    assert not any(one.ok for one in (both, *alone))
    found = [one.proven_epsilon for one in alone]
    assert max(found) < both.proven_epsilon < sum(found)


def test_what_falls_short_says_by_how_much():
    noise = exact(discrete_gaussian(8.0), delta=D, compositions=10)
    short = proof_of_draws([(noise, 1.0, 10, BOX)], 1.0, D)
    assert not short.ok
    assert "is NOT proven: delta is between" in short.sentence()
    assert short.proven_epsilon > 1.0
    kept = Proof(1.0, D, 0.0, D / 2, 1.0, "one release")
    assert "is proven: delta is at most" in kept.sentence()


def test_a_grid_that_would_be_too_large_proves_nothing(monkeypatch):
    noise = exact(discrete_gaussian(8.0), delta=D, compositions=40)
    monkeypatch.setattr(composition, "MOST_POINTS", 10)
    found = proof_of_draws([(noise, 1.0, 40, BOX)], 5.0, D)
    assert not found.ok
    assert found.proven_epsilon == math.inf
    assert found.how == "no grid is fine enough"


def test_nothing_composed_is_nothing_proven():
    with pytest.raises(AccountingError, match="Nothing is released"):
        composition.composed([], 1e-3, 1e-9)


def test_a_pair_without_losses_has_none():
    pair = FinitePair((), ball(0))
    assert pair.top(0.1) == 0.0
    assert pair.anchor == 0.0
    assert NormalPair(ball(1)).anchor == 0.0
    # δ at the top of a normal pair is what is to spare, at most.
    assert above(NormalPair(ball(1)).profile([ball(NormalPair(ball(1)).top(1e-9))])[0]) <= 1e-9


def test_changes_of_few_answers_are_for_laws_of_as_many():
    law = exact(touched_law(6.0, 3, touched=2), delta=D)
    assert proof_of_draws([(law, 1.0, 1, Box(touched=1))], 3.0, D).ok
    one_way = exact(range_law(6.0, 3), delta=D)
    assert proof_of_draws([(one_way, 1.0, 1, OneSided(touched=2))], 3.0, D).ok


RISING = {"first": 1, "weights": ["2", "2"], "bits": 2}  # nothing at 0, and then no less


def test_laws_that_rise_are_tried_shift_by_shift_or_refused(monkeypatch):
    line = read_shells(RISING, None, 1)
    # {−2, −1, 1, 2} moved by 2 shares one place in four with itself, moved by 1 two of them.
    assert float(cube_pair(line, 1, 2).profile([ball(0)])[0]) == pytest.approx(0.75)
    monkeypatch.setattr(shells, "_MOST_WORK", 1)
    with pytest.raises(UnsupportedError, match="so many shifts to try"):
        cube_pair(line, 1, 2)
    with pytest.raises(UnsupportedError, match="several answers whose probabilities rise"):
        cube_pair(read_shells(RISING, None, 2), 2, 1)
    with pytest.raises(UnsupportedError, match="of a norm whose probabilities rise"):
        range_pair(read_shells(RISING, norm_counts("range", 2, 2, 3), 2), 2, 2, 1)


def test_a_norm_with_too_much_to_count_is_judged_as_a_pure_law(monkeypatch):
    """Every loss is then what the heights allow: never less than what counting finds."""
    law = exact(range_law(6.0, 3), delta=D)
    counted = proof_of_draws([(law, 1.0, 1, OneSided())], 0.1, D)
    monkeypatch.setattr(norms, "_MOST_WORK", 0)
    pure = proof_of_draws([(law, 1.0, 1, OneSided())], 0.1, D)
    assert counted.upper <= pure.upper


def test_correlated_noise_for_a_length():
    law = correlated(8.0, 4)
    assert proof_of_draws([(law, 1.0, 1, Euclidean(1.0))], 5.0, D).ok


def test_many_releases_are_not_listed():
    noise = exact(discrete_gaussian(40.0), delta=D, compositions=200)
    found = proof_of_draws([(noise, 1.0, 200, BOX)], 3.0, D)
    assert found.ok
    assert "on a grid" in found.how
