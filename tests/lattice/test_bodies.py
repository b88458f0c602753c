"""Bodies against lists of lattice points: counts, moments, one coordinate, overlaps."""

import itertools
import math

import numpy as np
import pytest

import reference_norms as reference
from leastnoise import Box, Euclidean, OneSided
from leastnoise.errors import AccountingError, InvalidParameterError
from leastnoise.lattice.bodies.capped import continued, ways, ways_up_to
from leastnoise.lattice.bodies.overlap import centre_is_worst, one_sided_pairs, shared, worst_moved
from leastnoise.laws.norm import body_of

SMALL = {
    "range": [(2, 2, 6), (3, 3, 5), (4, 4, 3)],
    "touched": [(2, 1, 8), (3, 1, 5), (3, 2, 7), (3, 3, 5), (4, 2, 3), (4, 3, 3)],
    "count": [(2, 1, 8), (3, 1, 5), (3, 2, 7), (3, 3, 5), (4, 2, 3), (4, 3, 3)],
}
CASES = [(name, *case) for name, cases in SMALL.items() for case in cases]


@pytest.mark.parametrize(("name", "d", "k", "last"), CASES)
def test_shells_hold_what_the_list_says(name, d, k, last):
    body = body_of(name, d, k)
    points = reference.points_within(name, d, k, last)
    counts, squares, products = ([0] * (last + 1) for _ in range(3))
    coordinate = np.zeros((last + 1, last + 1))
    for x, r in points.items():
        assert body.radius(x) == r
        counts[r] += 1
        squares[r] += x[0] ** 2
        products[r] += x[0] * x[1]
        if x[0] >= 0:
            coordinate[r, x[0]] += 1
    assert body.shell_counts(last + 1) == counts
    assert body.shell_counts(3) == counts[:3]
    t = np.arange(last + 1)
    assert np.exp(body.log_shell_counts(t)) == pytest.approx(counts, rel=1e-13)
    assert body.squares(last) == pytest.approx(np.divide(squares, counts), rel=1e-12)
    assert body.products(last) == pytest.approx(np.divide(products, counts), rel=1e-12, abs=1e-13)
    # the law of one coordinate is linear in the masses: a shell at a time, and all together
    shares = coordinate / np.array(counts)[:, None]
    assert body.coordinate(np.full(last + 1, 0.1)) == pytest.approx(0.1 * shares.sum(0), rel=1e-12)


@pytest.mark.parametrize(("name", "d", "k", "last"), CASES)
def test_the_norm_is_one(name, d, k, last):
    """r(−x) = r(x), r(x + y) ≤ r(x) + r(y)."""
    points = reference.points_within(name, d, k, min(last, 2))
    for (x, r), (y, s) in itertools.product(points.items(), repeat=2):
        assert reference.norm(name, tuple(-a for a in x), k) == r
        total = tuple(a + b for a, b in zip(x, y, strict=True))
        assert reference.norm(name, total, k) <= r + s


def test_a_body_of_one_answer_is_refused():
    with pytest.raises(InvalidParameterError, match="at least 2"):
        body_of("range", 1, 1)


def test_a_body_that_is_none_is_refused():
    with pytest.raises(ValueError, match="not known"):
        body_of("cone", 3, 3)
    with pytest.raises(ValueError, match="not known"):
        body_of(["range"], 3, 3)
    with pytest.raises(InvalidParameterError, match="touched"):
        body_of("range", 3, 2)
    with pytest.raises(InvalidParameterError, match="at most 1000"):
        body_of("range", 1001, 1001)


def test_the_range_is_for_changes_of_one_sign():
    body = body_of("range", 3, 3)
    assert body.refusal(OneSided()) is None
    assert body.refusal(OneSided(touched=2)) is None
    assert body.refusal(OneSided(ranges=[(0, 0.5), (0, 1), (0, 1)])) is None
    for changes in (
        Box(),
        Box(touched=1),
        Euclidean(1.0),
        OneSided(ranges=[(0, 1)] * 2 + [(-1, 1)]),
    ):
        assert "OneSided" in body.refusal(changes)


def test_the_others_are_for_as_many_answers_as_they_say():
    touched, count = body_of("touched", 5, 2), body_of("count", 5, 2)
    for changes in (Box(touched=2), Box(touched=1), OneSided(touched=2)):
        assert touched.refusal(changes) is None
    for changes in (OneSided(touched=2), OneSided(touched=1)):
        assert count.refusal(changes) is None
    for changes in (Box(), Box(touched=3), OneSided(), OneSided(touched=3)):
        assert "at most 2 of the 5 answers" in touched.refusal(changes)
        assert "at most 2 of the 5 answers" in count.refusal(changes)
    assert "all up or all down" in count.refusal(Box(touched=2))
    assert "length" in touched.refusal(Euclidean(1.0))
    assert count.refusal(Euclidean(1.0)) is not None


def test_what_a_body_may_cost_is_limited():
    for name in ("touched", "count"):
        with pytest.raises(InvalidParameterError, match="at most the 5"):
            body_of(name, 5, 6)
        with pytest.raises(InvalidParameterError, match="to be smaller for touched=70"):
            body_of(name, 100, 70)
        with pytest.raises(InvalidParameterError, match="shells"):
            body_of(name, 10, 5).coordinate(np.full(10_000, 1e-4))


def test_values_of_the_counts():
    """#{r ≤ t} and Σx_1² over it."""
    for d, k, t, points, squares in [(4, 2, 3, 1025, 2508), (10, 3, 5, 250611225, 894053946)]:
        body = body_of("touched", d, k)
        counts = body.shell_counts(t + 1)
        assert sum(counts) == points
        assert float(np.dot(body.squares(t), counts)) == pytest.approx(squares, rel=1e-14)


def test_touching_all_answers_is_the_cube_and_the_range():
    range_of, count = body_of("range", 6, 6), body_of("count", 6, 6)
    assert count.shell_counts(50) == range_of.shell_counts(50)
    assert count.squares(49) == pytest.approx(range_of.squares(49), rel=1e-12)
    assert count.products(49) == pytest.approx(range_of.products(49), rel=1e-12)
    cube = [(2 * t + 1) ** 6 - (2 * t - 1) ** 6 for t in range(1, 50)]
    assert body_of("touched", 6, 6).shell_counts(50) == [1, *cube]


def test_touching_one_answer_is_the_sum_of_sizes():
    """k = 1: ‖x‖₁ for both."""
    touched, count = body_of("touched", 5, 1), body_of("count", 5, 1)
    assert touched.shell_counts(40) == count.shell_counts(40)
    assert touched.shell_counts(3) == [1, 10, 50]
    assert count.products(39) == pytest.approx(np.zeros(40), abs=1e-12)


# --- points with a bounded largest entry and a bounded sum ----------------------------------------


@pytest.mark.parametrize("entries", [0, 1, 2, 3, 4])
def test_ways_are_what_the_list_says(entries):
    for p, most in itertools.product(range(1, 5), range(-1, 16)):
        listed = [y for y in itertools.product(range(1, p + 1), repeat=entries) if sum(y) <= most]
        assert ways(entries, p, most) == len(listed)
        for first in range(1, p + 1):
            if entries:
                within = sum(y[0] <= first for y in listed)
                assert ways_up_to(first, entries - 1, p, most) == within


def test_a_polynomial_is_continued():
    values = [7, *(t**3 - 2 * t for t in range(1, 6))]
    assert continued(values, 3) == values[:3]
    assert continued(values, 40) == [7, *(t**3 - 2 * t for t in range(1, 40))]


# --- overlaps of the range -----------------------------------------------------------------------


def test_values_of_the_overlaps():
    """C_33 = 30 and C_34 = 37 for d = 2, m = 1; C_54 of d = 9, m = 2 falls towards σ = 5."""
    one = shared(2, 1, 1, 5)
    assert (one[0][3], one[1][3]) == (30, 37)
    assert [shared(9, 2, moved, 6)[1][4] for moved in range(1, 6)] == [
        7026068,
        5791248,
        4950848,
        4462848,
        4302848,
    ]


@pytest.mark.parametrize(
    ("d", "m", "moved", "last"),
    [(2, 1, 1, 6), (2, 3, 2, 6), (3, 2, 1, 5), (3, 2, 2, 5), (4, 1, 2, 3)],
)
def test_pairs_of_shells_hold_what_the_list_says(d, m, moved, last):
    shift = (m,) * moved + (0,) * (d - moved)
    counts = {}
    for x, r in reference.points_within("range", d, d, last).items():
        other = reference.norm("range", tuple(a - v for a, v in zip(x, shift, strict=True)), d)
        if other <= last:
            counts[r, other] = counts.get((r, other), 0) + 1
    pairs = one_sided_pairs(d, m, moved, last)
    found = {
        (int(i), int(j)): round(math.exp(log_count))
        for i, j, log_count in zip(pairs.i, pairs.j, pairs.log_count, strict=True)
    }
    assert found == counts


@pytest.mark.parametrize(("d", "m", "last"), [(2, 3, 7), (3, 2, 5), (3, 3, 5), (4, 2, 3)])
def test_no_shift_of_several_steps_shares_fewer_points_than_the_worst(d, m, last):
    """Every v of {0, …, m}^d, every pair (i, j): what the lemma and the check say."""
    points = reference.points_within("range", d, d, last)
    worst = shared(d, m, worst_moved(d, d), last)
    for shift in reference.one_sided_shifts(d, m, d):
        common = np.zeros((last + 1, last + 1), dtype=int)
        for x, r in points.items():
            other = reference.norm("range", tuple(a - v for a, v in zip(x, shift, strict=True)), d)
            if other <= last:
                common[r, other] += 1
        within = common.cumsum(0).cumsum(1)
        for i in range(last + 1):
            for e in range(min(m, last - i) + 1):
                assert within[i, i + e] >= worst[e][i]
                assert within[i + e, i] >= worst[e][i]


@pytest.mark.parametrize(
    ("d", "m", "touched", "last"),
    [
        (2, 1, 2, 3000),
        (7, 4, 7, 200),
        (10, 1, 10, 1000),
        (20, 3, 20, 200),
        (30, 6, 30, 60),
        (10, 2, 3, 300),
        (100, 1, 100, 255),
    ],
)
def test_half_of_the_coordinates_is_the_worst(d, m, touched, last):
    assert worst_moved(d, touched) == min(touched, (d + 1) // 2)
    assert centre_is_worst(d, m, touched, last)


def test_too_much_to_check_is_refused():
    with pytest.raises(AccountingError, match="too much to be judged"):
        centre_is_worst(20, 1000, 20, 1000)
    with pytest.raises(AccountingError, match="1000 answers"):  # numbers of 10,000 bits: minutes
        centre_is_worst(1000, 1, 1000, 1000)
