"""Shells against lists of points and big integers; tails against exact sums of Fractions."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from leastnoise.errors import InvalidParameterError
from leastnoise.lattice import shells


@pytest.mark.parametrize(("dimension", "radius"), [(1, 30), (2, 12), (3, 6), (4, 4)])
def test_counts_and_faces_by_enumeration(dimension, radius):
    points = list(reference.lattice_points(dimension, radius))
    count = Counter(reference.norm(x) for x in points)
    on_face = Counter(reference.norm(x) for x in points if abs(x[0]) == reference.norm(x))
    k = np.arange(radius + 1)
    assert np.exp(shells.log_shell_count(dimension, k)) == pytest.approx(
        [count[i] for i in k], rel=1e-13
    )
    assert shells.face_share(dimension, k) == pytest.approx(
        [on_face[i] / count[i] for i in k], rel=1e-14
    )
    assert [reference.shell_count(dimension, i) for i in k] == [count[i] for i in k]


@pytest.mark.parametrize("dimension", [2, 5, 100, 1000])
def test_counts_and_faces_of_many_dimensions_against_big_integers(dimension):
    k = [0, 1, 2, 3, 10, 137, 10**4, 10**6, 10**9]
    exact = [math.log(reference.shell_count(dimension, i)) for i in k]
    assert shells.log_shell_count(dimension, k) == pytest.approx(exact, rel=4e-16, abs=4e-16)
    faces = [
        float(Fraction(2 * (2 * i + 1) ** (dimension - 1), reference.shell_count(dimension, i)))
        if i
        else 1.0
        for i in k
    ]
    assert shells.face_share(dimension, k) == pytest.approx(
        faces, rel=2e-13 if dimension == 1000 else 5e-14
    )


def test_shells_take_scalars_and_arrays_of_any_shape():
    assert shells.log_shell_count(3, 2).shape == ()
    assert shells.face_share(3, np.ones((2, 4))).shape == (2, 4)
    assert shells.face_share(1, [0, 1, 7]).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("dimension", [1, 2, 5, 40])
@pytest.mark.parametrize(
    ("last", "ratio"), [(0, 0.5), (1, 0.01), (7, 0.9), (300, 0.99), (1600, 0.9999)]
)
@pytest.mark.parametrize("growth", [0, 2])
def test_a_summed_tail_is_the_whole_tail(dimension, last, ratio, growth):
    if dimension == 40 and last < 1600:
        dimension = (
            4  # where the tail starts before the fullest shell the sum is refused or tested below
        )
    radii, weights = shells.geometric_tail(dimension, last, ratio, float(growth))
    assert radii[0] == last + 1
    assert np.all(np.diff(radii) == 1)
    r = Fraction(ratio)
    exact = r * reference.geometric_sum(
        lambda k: reference.shell_count(dimension, k) * k**growth, last + 1, r, dimension + growth
    )
    exact /= reference.shell_count(dimension, last)
    assert math.fsum(weights * radii.astype(float) ** growth) == pytest.approx(
        float(exact), rel=3e-13
    )


@given(
    dimension=st.integers(1, 6),
    last=st.integers(0, 60),
    ratio=st.floats(1e-6, 0.97),
    growth=st.sampled_from([0, 1, 2, 5]),
)
def test_nothing_is_left_out_of_a_summed_tail(dimension, last, ratio, growth):
    radii, weights = shells.geometric_tail(dimension, last, ratio, float(growth))
    end, r = int(radii[-1]), Fraction(ratio)

    def term(k):
        return reference.shell_count(dimension, k) * k**growth

    left = r ** (end + 1 - last) * reference.geometric_sum(term, end + 1, r, dimension + growth)
    whole = r * reference.geometric_sum(term, last + 1, r, dimension + growth)
    assert left <= Fraction(2, 10**20) * whole
    assert weights.size == radii.size


def test_a_steep_cost_does_not_overflow_the_tail():
    radii, weights = shells.geometric_tail(1, 10, 0.999, 80.0)
    logs = np.log(weights) + 80.0 * np.log(radii)
    assert logs[-1] < logs.max() - math.log(1e20)


def test_a_tail_that_cannot_be_summed_is_refused_by_value():
    with pytest.raises(
        InvalidParameterError, match=r"Expected tail_ratio=0.99999999 to give a tail of at most"
    ):
        shells.geometric_tail(2, 10, 0.99999999)
    with pytest.raises(
        InvalidParameterError,
        match=r"Expected tail_ratio=0.999 to start where the shells' masses fall",
    ):
        shells.geometric_tail(1000, 10, 0.999)


def test_weights_of_single_shells():
    for dimension, last in [(1, 0), (1, 5), (3, 0), (3, 5)]:
        radii = np.arange(last + 1, last + 40)
        exact = [
            reference.shell_count(dimension, k)
            * 0.8 ** (k - last)
            / reference.shell_count(dimension, last)
            for k in radii.tolist()
        ]
        assert shells.tail_weights(dimension, last, 0.8, radii) == pytest.approx(exact, rel=1e-13)
