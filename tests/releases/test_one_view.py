"""One bounded view: its bounds over all tables of a person, and the change that is the worst."""

import itertools
import math

import numpy as np
import pytest

from leastnoise.errors import InvalidParameterError, UnsupportedError
from leastnoise.laws import classic
from leastnoise.laws.lattice import LatticeNoise
from leastnoise.releases.noise import one_view
from leastnoise.releases.noise.one_view import CountChange, OneView


def laplace(scale):
    return LatticeNoise.from_weights([1.0], math.exp(-1.0 / scale), domain="integer")


def vectors(view, cells):
    """Every vector of kept rows on a table of so many fine cells."""
    ranges = [range(view.rows_in_cell + 1)] * cells
    for vector in itertools.product(*ranges):
        if sum(vector) <= view.rows and sum(map(bool, vector)) <= view.fine_cells:
            yield np.array(vector).reshape(2, -1)


@pytest.mark.parametrize("relation", ["add/remove", "replace"])
@pytest.mark.parametrize("view", [(4, 3, 3), (4, 2, 3), (3, 3, 1), (2, 1, 2), (4, 3, 2)])
def test_the_bounds_hold_and_are_attained(relation, view):
    """2 × 3 tables, all that a person may have, and all pairs of them."""
    bounds = OneView(*view)
    kept = list(vectors(bounds, 6))
    for axes, cells in (((), 6), ((0,), 3), ((1,), 2), ((0, 1), 1)):
        marginals = {tuple(np.ravel(one.sum(axis=axes))) for one in kept}
        changes = marginals
        if relation == "replace":
            changes = {tuple(np.subtract(a, b)) for a, b in itertools.product(marginals, repeat=2)}
        told = bounds.change(relation, 6, cells)
        sizes = [np.abs(one) for one in changes]
        found = (
            max(one.sum() for one in sizes),
            max(one.max() for one in sizes),
            max((one > 0).sum() for one in sizes),
        )
        assert all(a <= b for a, b in zip(found, vars(told).values(), strict=True))
        if relation == "add/remove":
            assert found == tuple(vars(told).values())
        else:  # of an odd number of rows the halves may not fit
            assert found[0] >= told.total - 1


def test_partitions_and_concentration():
    change = CountChange(5, 2, 3)
    assert change.concentrated == (2, 2, 1)
    assert list(change.partitions()) == [(2, 2, 1)]
    assert len(list(CountChange(4, 4, 4).partitions())) == 5
    assert CountChange(4, 4, 4).concentrated == (4,)
    assert CountChange(10, 2, 3).concentrated == (2, 2, 2)
    with pytest.raises(InvalidParameterError, match="rows_in_cell"):
        OneView(1, 1, 0)


@pytest.mark.parametrize("scale", [0.7, 2.0, 4.0])
def test_the_concentrated_change_is_the_worst_of_a_discrete_laplace_law(scale):
    noise = laplace(scale)
    for change in (CountChange(4, 4, 4), CountChange(5, 2, 5)):
        for epsilon in (0.1, 0.5, 1.0, 2.0):
            deltas = {
                one: one_view.loss_of(noise, one).delta(epsilon) for one in change.partitions()
            }
            worst = deltas[change.concentrated]
            assert all(delta <= worst * (1 + 1e-6) + 1e-12 for delta in deltas.values())


def test_two_cells_by_enumeration():
    """Σ (P − e^ε Q)_+ on Z² itself: a more concentrated change is never better."""
    ratio = math.exp(-0.6)
    line = np.array([ratio ** abs(k) for k in range(-60, 61)]) * (1 - ratio) / (1 + ratio)
    plane = np.outer(line, line)

    def delta(a, b, epsilon):
        moved = np.zeros_like(plane)
        moved[a:, b:] = plane[: plane.shape[0] - a, : plane.shape[1] - b]
        return np.maximum(plane - math.exp(epsilon) * moved, 0.0).sum()

    for total in (2, 3, 4, 6):
        for epsilon in (0.0, 0.4, 1.1):
            found = [delta(a, total - a, epsilon) for a in range((total + 1) // 2, total + 1)]
            assert all(x <= y + 1e-12 for x, y in itertools.pairwise(found))


def test_the_trap():
    """A staircase that is pure at ε = 1 for one shift of 4 is far from it for four of 1."""
    falls = [math.exp(-(k // 4)) for k in range(40)]
    stairs = LatticeNoise.from_weights(falls, None, domain="integer")
    noise = classic_staircase()
    assert not one_view.is_log_concave(noise)
    assert one_view.loss_of(noise, (4,)).delta(1.0) <= 1e-9
    assert one_view.loss_of(noise, (1, 1, 1, 1)).delta(1.0) == pytest.approx(0.109, abs=2e-3)
    change = CountChange(4, 4, 4)
    assert one_view.loss_of(noise, change.concentrated).epsilon(1e-6) <= 1.0 + 1e-6
    assert one_view.view_epsilon(noise, change, 1e-6) > 1.5
    assert not one_view.is_log_concave(stairs)


def classic_staircase():
    from leastnoise import design

    return design(epsilon=1.0, delta=1e-9, sensitivity=4, domain="integer").noise


@pytest.mark.parametrize(
    ("view", "today", "found"),
    [
        ((4, 4, 4), 22.59, 5.64),
        ((4, 2, 4), 11.26, 5.64),
        ((8, 2, 8), 22.51, 11.31),
        ((10, 5, 10), 66.33, 14.14),
        ((10, 5, 2), 13.27, 14.14),
    ],
)
def test_the_histogram_of_ten_groups(view, today, found):
    change = OneView(*view).change("add/remove", 10, 10)
    noise = laplace(change.total)
    assert noise.std == pytest.approx(found, rel=2e-3)
    assert one_view.view_epsilon(noise, change, 1e-6) <= 1.0 + 1e-9
    assert (noise.std < today) == (view != (10, 5, 2))


def test_a_sum_when_persons_are_replaced():
    change = OneView(1, 1, 1).change("replace", 10, 10)
    assert change == CountChange(2, 1, 2)
    assert laplace(50 * change.total).std == pytest.approx(141.4, rel=1e-3)


def test_public_numbers_decide():
    assert one_view.serves_all(4, [(4, 4), (2, 2), (1, 4)])
    assert not one_view.serves_all(10, [(5, 1)])


def test_other_laws():
    assert one_view.is_log_concave(laplace(3.0))
    assert one_view.is_log_concave(classic.discrete_gaussian(3.0))
    assert one_view.is_log_concave(
        LatticeNoise.from_weights([1.0, 0.5, 0.2], None, domain="integer")
    )
    assert not one_view.is_log_concave(classic.laplace(3.0))  # on the real line
    assert not one_view.is_log_concave(classic.cube(3.0, 2, domain="integer"))
    with pytest.raises(UnsupportedError, match="at most 2,000 ways"):
        one_view.view_epsilon(WIDE_STAIRS, CountChange(60, 20, 30), 1e-6)


WIDE_STAIRS = LatticeNoise.from_weights([1.0, 1.0, 0.5], 0.9, domain="integer")


@pytest.mark.parametrize(
    ("weights", "ratio"),
    [
        ([1.0, 0.5, 0.0], None),  # a place that is never drawn
        ([1.0, 0.2, 0.1], None),  # 0.2² < 1·0.1
        ([1.0, 0.5, 0.25 * (1.0 + 2.0**-50)], None),  # in the last digits
        ([1.0, 0.5], 0.51),  # the tail falls more slowly than before
        ([0.5, 1.0], None),  # a hole in the middle
        ([*(0.5**k for k in range(80)), *(0.5**79 * 0.9**k for k in range(1, 4))], None),
    ],
)
def test_what_is_not_log_concave(weights, ratio):
    """The last of these is a discrete Laplace law as far as its first 80 places show."""
    noise = LatticeNoise.from_weights(weights, ratio, domain="integer")
    assert not one_view.is_log_concave(noise)


def test_log_concave_laws_drawn_from_at_random():
    """δ of every change of three cells on Z³ itself: the concentrated one is never better."""
    rng = np.random.default_rng(1)
    for _ in range(6):
        falls = np.sort(rng.exponential(0.4, 6))
        half = np.exp(-np.concatenate([[0.0], np.cumsum(falls)]))
        noise = LatticeNoise.from_weights(half, None, domain="integer")
        assert one_view.is_log_concave(noise)
        masses = np.asarray(noise.pmf(np.arange(-11, 12)))
        for total, largest in ((3, 3), (4, 3), (4, 2)):
            change = CountChange(total, largest, 3)
            for epsilon in (-0.5, 0.0, 0.7, 2.0):
                found = {one: exact_delta(masses, one, epsilon) for one in change.partitions()}
                assert max(found.values()) <= found[change.concentrated] + 1e-13


def exact_delta(masses, shifts, epsilon):
    """Σ (P − e^ε Q)_+ for independent draws that move by these shifts."""
    here, there = np.ones(1), np.ones(1)
    for shift in shifts:
        moved = np.concatenate([np.zeros(shift), masses[: len(masses) - shift]])
        here, there = np.outer(here, masses).ravel(), np.outer(there, moved).ravel()
    return float(np.maximum(here - math.exp(epsilon) * there, 0.0).sum())
