"""Pairs of shells against lists of points and big integers."""

import itertools
import math

import numpy as np
import pytest

import reference
from leastnoise.lattice import overlap

pytestmark = pytest.mark.portable


def as_counts(pairs):
    """{(i, j): N_ij}; the pairs of one answer come point by point."""
    counts = {}
    for i, j, log_count in zip(
        pairs.i.tolist(), pairs.j.tolist(), pairs.log_count.tolist(), strict=True
    ):
        assert math.exp(log_count) == pytest.approx(round(math.exp(log_count)), rel=1e-12)
        counts[i, j] = counts.get((i, j), 0) + round(math.exp(log_count))
    return counts


@pytest.mark.parametrize(("dimension", "last"), [(1, 12), (2, 8), (3, 5), (4, 3)])
@pytest.mark.parametrize("shift", [1, 2, 3, 4, 7, 11])
def test_corner_pairs_by_enumeration(dimension, last, shift):
    exact = reference.enumerated_pairs((shift,) * dimension, last)
    assert as_counts(overlap.corner_pairs(dimension, shift, last)) == exact
    assert exact == {
        (i, j): reference.pair_count(dimension, shift, i, j)
        for i in range(last + 1)
        for j in range(last + 1)
        if reference.pair_count(dimension, shift, i, j)
    }


@pytest.mark.parametrize(
    "shift", [(2, 1), (0, 3), (-2, 1), (1, 1, 0), (2, 0, 1), (-1, -1, -1), (0, 0, 1, 2)]
)
def test_any_shift_by_enumeration(shift):
    last = {2: 7, 3: 4, 4: 3}[len(shift)]
    assert as_counts(overlap.shifted_pairs(shift, last)) == reference.enumerated_pairs(shift, last)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_the_two_ways_to_count_agree_on_the_corner(dimension):
    assert as_counts(overlap.shifted_pairs((2,) * dimension, 9)) == as_counts(
        overlap.corner_pairs(dimension, 2, 9)
    )
    assert as_counts(overlap.shifted_pairs((-3,), 9)) == as_counts(overlap.corner_pairs(1, 3, 9))


@pytest.mark.parametrize("dimension", [2, 3, 7, 100, 1000])
@pytest.mark.parametrize("shift", [1, 2, 10, 1000])
def test_corner_counts_against_big_integers(dimension, shift):
    radii = [0, 1, 2, 3, 5, 9, 10, 11, 50, 499, 500, 501, 1000, 10**5, 10**7]
    offsets = sorted({-shift, 1 - shift, -1, 0, 1, shift - 1, shift})
    pairs = [(i, i + o) for i in radii for o in offsets if i + o >= 0 and 2 * i + o >= shift]
    i, j = np.array(pairs).T
    exact = [math.log(reference.pair_count(dimension, shift, a, b)) for a, b in pairs]
    # A logarithm of size L cannot be closer than L·2^-53; for d = 2 a count of 2 is the difference
    # of logarithms near 33.
    assert overlap.log_pair_count(dimension, shift, i, j) == pytest.approx(
        exact, rel=1e-15, abs=2e-14
    )


@pytest.mark.parametrize(("dimension", "shift"), [(1, 3), (2, 1), (2, 5), (5, 4), (30, 2)])
def test_pairs_of_a_shell_add_up_to_the_shell(dimension, shift):
    last = 40
    counts = np.zeros(last + 1)
    pairs = overlap.corner_pairs(dimension, shift, last)
    np.add.at(counts, pairs.i, np.exp(pairs.log_count))
    whole = [reference.shell_count(dimension, k) for k in range(last - shift + 1)]
    assert counts[: last - shift + 1] == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize("dimension", [1, 2, 6])
def test_shells_too_small_to_meet_share_nothing(dimension):
    assert overlap.corner_pairs(dimension, 9, 4).i.size == 0
    touching = overlap.corner_pairs(dimension, 8, 4)
    assert as_counts(touching) == {(4, 4): 1}


@pytest.mark.parametrize(("dimension", "shift"), [(1, 4), (2, 3), (3, 2), (4, 1)])
def test_box_shifts_are_all_shifts_up_to_signs_and_order(dimension, shift):
    every = {
        tuple(sorted(abs(a) for a in v))
        for v in itertools.product(range(-shift, shift + 1), repeat=dimension)
    }
    found = list(overlap.box_shifts(dimension, shift))
    assert len(found) == len(set(found))
    assert {tuple(sorted(v)) for v in found} == every - {(0,) * dimension}
