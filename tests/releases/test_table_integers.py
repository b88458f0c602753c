"""Counts of a table that are not below zero, whole, and add up."""

import itertools
import math

import numpy as np
import pytest
from scipy import optimize

from leastnoise.releases.tables import integers, reconstruction
from releases.test_tables import dense, ways


def answers_of(table, sizes, weights, rng):
    return {
        one: integers.marginal_of(table, one)
        + rng.normal(size=[sizes[j] for j in one]) / math.sqrt(weight)
        for one, weight in weights.items()
    }


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weights", [{(): 1.0, (0,): 2.0, (0, 1): 0.5}, {(0,): 1.0, (1,): 0.3}])
def test_the_projection_is_non_negative_least_squares(seed, weights):
    rng = np.random.default_rng(seed)
    sizes = (3, 4)
    answers = answers_of(rng.poisson(0.7, size=sizes).astype(float), sizes, weights, rng)
    measured = reconstruction.Measurement(sizes, weights)
    found = integers.fitted_table(measured, answers, non_negative=True)
    matrix = np.vstack([math.sqrt(w) * dense(sizes, one) for one, w in weights.items()])
    wanted = np.concatenate([math.sqrt(w) * answers[one].ravel() for one, w in weights.items()])
    exact, cost = optimize.nnls(matrix, wanted)
    assert found.min() >= 0.0
    assert np.linalg.norm(matrix @ found.ravel() - wanted) == pytest.approx(cost, abs=1e-6)
    for one in weights:  # cells that nothing measures are free
        here = integers.marginal_of(found, one)
        assert here == pytest.approx(integers.marginal_of(exact.reshape(sizes), one), abs=1e-4)


def test_without_bounds_it_is_the_estimate():
    rng = np.random.default_rng(9)
    weights = {(): 1.0, (0, 1): 0.5}
    measured = reconstruction.Measurement((3, 4), weights)
    answers = answers_of(np.zeros((3, 4)), (3, 4), weights, rng)
    found = integers.fitted_table(measured, answers, non_negative=False)
    expected = reconstruction.reconstructed(measured, answers, [(0, 1)])[0, 1]
    assert found == pytest.approx(expected)


def test_the_weighted_error_of_sparse_districts_falls():
    """The recipe: 100.7 becomes 51.3 for a tree of 1, 10, 100 with sparse districts."""
    rng = np.random.default_rng(3)
    weights = dict.fromkeys([(), (0,), (0, 1)], 1.0 / 4.223**2)
    measured = reconstruction.Measurement((10, 10), weights)
    before, after = [], []
    for _ in range(30):
        truth = rng.poisson(rng.exponential(2.0, size=(10, 10))).astype(float)
        answers = answers_of(truth, (10, 10), weights, rng)
        plain = integers.fitted_table(measured, answers, non_negative=False)
        kept = integers.fitted_table(measured, answers, non_negative=True)
        for errors, found in ((before, plain), (after, kept)):
            moved = [integers.marginal_of(found - truth, one) for one in weights]
            errors.append(sum(np.sum(one**2) for one in moved) / 4.223**2)
    assert np.mean(before) == pytest.approx(100.0, rel=0.1)
    assert np.mean(after) < 0.65 * np.mean(before)
    assert all(a <= b + 1e-6 for a, b in zip(after, before, strict=True))


@pytest.mark.parametrize(
    ("sizes", "published", "within"),
    [
        ((4, 5), [(), (0,), (0, 1)], 1.0),
        ((4, 5), [(), (0,), (1,), (0, 1)], 1.0),
        ((4, 5), [(0,), (1,)], 1.0),
        ((3, 4, 5), [(), (0,), (1,), (2,)], 1.0),
        ((3, 4, 5), [(), (1,), (0, 1), (0, 1, 2)], 1.0),
        ((3, 4, 5), ways(3, 0, 1, 2, 3), 6.0),
    ],
)
def test_rounding_keeps_the_sums(sizes, published, within):
    rng = np.random.default_rng(4)
    for _ in range(5):
        table = rng.exponential(1.0, size=sizes)
        found = integers.rounded(table, published)
        for one in published:
            assert found[one].shape == tuple(sizes[j] for j in one)
            assert np.all(found[one] == np.round(found[one]))
            assert found[one].min() >= 0.0
            assert np.abs(found[one] - integers.marginal_of(table, one)).max() < within
        for one, other in itertools.permutations(published, 2):
            if set(one) < set(other):
                axes = tuple(axis for axis, j in enumerate(other) if j not in one)
                assert np.array_equal(found[other].sum(axis=axes), found[one])


def test_whole_tables_stay():
    table = np.arange(6.0).reshape(2, 3)
    found = integers.rounded(table, [(0,), (0, 1)])
    assert np.array_equal(found[0, 1], table)
    assert np.array_equal(found[0,], table.sum(axis=1))
