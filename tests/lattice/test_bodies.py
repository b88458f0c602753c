"""Bodies against lists of lattice points: counts, moments, one coordinate, overlaps."""

import itertools
import math

import numpy as np
import pytest
import reference_norms as reference

from leastnoise import Box, Euclidean, OneSided
from leastnoise.errors import AccountingError, InvalidParameterError
from leastnoise.lattice.bodies.overlap import centre_is_worst, one_sided_pairs, shared, worst_moved
from leastnoise.laws.norm import body_of

SMALL = {
    "range": [(2, 2, 6), (3, 3, 5), (4, 4, 3)],
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
    for changes in (Box(), Box(touched=1), Euclidean(1.0), OneSided(ranges=[(0, 1)] * 2 + [(-1, 1)])):
        assert "OneSided" in body.refusal(changes)


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
    ("d", "m", "moved", "last"), [(2, 1, 1, 6), (2, 3, 2, 6), (3, 2, 1, 5), (3, 2, 2, 5), (4, 1, 2, 3)]
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
    [(2, 1, 2, 3000), (7, 4, 7, 200), (10, 1, 10, 1000), (20, 3, 20, 200), (30, 6, 30, 60)]
    + [(10, 2, 3, 300), (100, 1, 100, 255)],
)
def test_half_of_the_coordinates_is_the_worst(d, m, touched, last):
    assert worst_moved(d, touched) == min(touched, (d + 1) // 2)
    assert centre_is_worst(d, m, touched, last)


def test_too_much_to_check_is_refused():
    with pytest.raises(AccountingError, match="too much to be judged"):
        centre_is_worst(20, 1000, 20, 1000)
