"""What one person can change, as a value: checked, described, and as long as it is."""

import itertools
from fractions import Fraction

import pytest

from leastnoise import (
    Box,
    Euclidean,
    OneSided,
    PrivacyLoss,
    cube,
    discrete_laplace,
    gaussian,
    laplace,
    sphere,
)
from leastnoise.changes import BOX, changes_from, checked_changes, length_above
from leastnoise.errors import InvalidParameterError
from leastnoise.lattice.rounded_changes import rounded_changes

SPACES = [
    Box(),
    Box(touched=3),
    OneSided(),
    OneSided(touched=2),
    OneSided(ranges=((0.0, 1.0), (-0.5, 1.0), (0.25, 0.5), (-1.0, 0.0))),
    OneSided(touched=2, ranges=((0.0, 1.0), (-0.5, 1.0), (0.0, 0.5), (-1.0, 0.0))),
    Euclidean(2.5),
]


def corners(space, answers):
    """Every corner of a space of ranges."""
    ranges = (
        [(-1.0, 1.0)] * answers
        if isinstance(space, Box)
        else list(space.ranges or [(0.0, 1.0)] * answers)
    )
    for chosen in itertools.combinations(range(answers), space.touched_of(answers)):
        ends = [ranges[i] if i in chosen else (0.0,) for i in range(answers)]
        yield from itertools.product(*ends)


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_a_description_comes_back(space):
    assert changes_from(space.describe()) == space
    assert hash(changes_from(space.describe())) == hash(space)
    assert space.fitted(4).squared_length(4) == space.squared_length(4)
    assert "one person moves" in space.sentence(4)


@pytest.mark.parametrize("space", SPACES[:-1], ids=repr)
def test_the_longest_change_is_that_of_the_longest_corner(space):
    longest = max(sum(Fraction(x) ** 2 for x in v) for v in corners(space, 4))
    assert space.squared_length(4) == longest


def test_spaces_that_say_the_same_are_equal_once_they_are_fitted():
    assert Box(touched=9).fitted(4) == Box(touched=4).fitted(4) == BOX
    assert OneSided(ranges=[(0, 1)] * 4).fitted(4) == OneSided(touched=4).fitted(4) == OneSided()
    assert Box(touched=2).fitted(4) != Box(touched=3).fitted(4)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Box(touched=0), "touched=0"),
        (lambda: OneSided(touched=1.5), "touched=1.5"),
        (lambda: OneSided(ranges=[(0, 2)]), r"ranges\[0\]=\(0, 2\)"),
        (lambda: OneSided(ranges=[(0.5, 0.2)]), "from|within"),
        (lambda: OneSided(ranges=[(0, 0)]), "not only 0"),
        (lambda: OneSided(ranges=["ab"]), "two numbers"),
        (lambda: OneSided(ranges=[(0, 1)]).fitted(2), "one for each of the 2 answers"),
        (lambda: Euclidean(0.0), "radius=0.0"),
        (lambda: Euclidean(float("inf")), "radius=inf"),
        (lambda: changes_from({"kind": "ball"}), "known space"),
        (lambda: changes_from({"kind": "box", "radius": 1.0}), "known space"),
        (lambda: checked_changes("one-sided", 3), "such as Box"),
    ],
)
def test_what_is_no_space_is_refused(make, words):
    with pytest.raises(InvalidParameterError, match=words):
        make()


@pytest.mark.parametrize("squared", [Fraction(2), Fraction(9, 4), Fraction(1, 3), Fraction(10**30)])
def test_a_length_is_rounded_up(squared):
    root = length_above(squared)
    assert root**2 >= squared
    assert (root * (1 - Fraction(1, 10**18))) ** 2 < squared or root**2 == squared


@pytest.mark.parametrize("space", SPACES[:-1], ids=repr)
@pytest.mark.parametrize("sensitivity", [1.0, 0.3, 2.75])
def test_rounded_answers_stay_in_the_rounded_space(space, sensitivity):
    """Every pair of answers that differ by a change of the space differs, once they are rounded to
    the lattice, by one of the rounded space."""
    pitch, s = Fraction(1, 8), Fraction(sensitivity)
    moved = rounded_changes(space, 4, sensitivity, pitch)
    for start in (Fraction(0), Fraction(1, 16), Fraction(1, 17), Fraction(-5, 48)):
        for v in corners(space, 4):
            change = [(rounded(start + Fraction(x) * s, pitch) - rounded(start, pitch)) for x in v]
            assert sum(one * one for one in change) <= moved.squared_length
            assert all(
                any(low <= one <= high or one == 0 for low, high in moved.ranges) for one in change
            )


def test_a_rounded_length_counts_half_a_pitch_of_each_answer():
    pitch = Fraction(1, 8)
    moved = rounded_changes(Euclidean(2.0), 4, 1.0, pitch)
    assert moved.ranges is None
    assert moved.squared_length == (2 + 2 * pitch) ** 2


def rounded(x, pitch):
    return (x / pitch + Fraction(1, 2)).__floor__() * pitch


def test_laws_are_judged_for_what_is_stated():
    assert PrivacyLoss.of(gaussian(2.0), 1.0, Euclidean(3.0)).epsilon(1e-6) == pytest.approx(
        PrivacyLoss.of(gaussian(2.0), 3.0).epsilon(1e-6), rel=1e-12
    )
    assert PrivacyLoss.of(laplace(2.0), 1.0, OneSided()).parts == PrivacyLoss.of(laplace(2.0)).parts
    ten = sphere(8.0, 10)
    assert PrivacyLoss.of(ten, 1.0, Box(touched=4)).epsilon(1e-6) == pytest.approx(
        PrivacyLoss.of(ten, 1.0, Euclidean(2.0)).epsilon(1e-6), rel=1e-4
    )
    assert PrivacyLoss.of(ten, 1.0, Box(touched=4)).epsilon(1e-6) < PrivacyLoss.of(ten).epsilon(
        1e-6
    )
    with pytest.raises(InvalidParameterError, match="such as Box"):
        PrivacyLoss.of(cube(8.0, 3), 1.0, 3)


@pytest.mark.parametrize("domain", ["real", "integer"])
@pytest.mark.parametrize("answers", [1, 3])
def test_no_answer_moves_farther_than_the_length_of_all_changes(answers, domain):
    """A law of shells is judged at the box of the length; only one answer can move by all of it."""
    law, whole = cube(8.0, answers, domain=domain, sensitivity=2.0), domain == "integer"
    box, length = PrivacyLoss.of(law, 2.0), PrivacyLoss.of(law, 1.0, Euclidean(2.0))
    assert length.epsilon(1e-6) == box.epsilon(1e-6)
    expected = box.epsilon_bounds(1e-6).lower if answers == 1 else 0.0
    assert length.epsilon_bounds(1e-6).lower == expected
    between = PrivacyLoss.of(law, 1.0, Euclidean(1.75)).epsilon(1e-6)
    assert between == box.epsilon(1e-6) if whole else between < box.epsilon(1e-6)
    assert between > PrivacyLoss.of(law, 1.0, Euclidean(1.0)).epsilon(1e-6)
    with pytest.raises(InvalidParameterError, match="sensitivity"):
        law.loss(-1.0, Euclidean(1.0))


@pytest.mark.parametrize(
    "content",
    [
        {"kind": "one-sided", "touched": None, "ranges": [[0, 1]] * 1_000_000},
        {"kind": "one-sided", "touched": None, "ranges": 3},
        {"kind": "one-sided", "touched": None, "ranges": [3]},
        {"kind": "one-sided", "touched": None, "ranges": [[False, True]]},
        {"kind": ["box"]},
        [["kind", "box"]],
        "box",
    ],
    ids=lambda content: str(content)[:40],
)
def test_what_a_file_says_is_refused_in_a_few_words(content):
    with pytest.raises(InvalidParameterError) as refused:
        changes_from(content)
    assert len(str(refused.value)) < 200


def test_another_number_of_ranges_is_told_without_them():
    with pytest.raises(InvalidParameterError, match=r"number of ranges=5000 .* 2 answers"):
        OneSided(ranges=((0.0, 1.0),) * 5000).fitted(2)


def test_a_bound_that_no_change_reaches_is_no_lower_bound():
    """Judged for more than can happen: the upper bound stands, and nothing is known below."""
    ten, five = cube(8.0, 10), sphere(8.0, 5)
    some = PrivacyLoss.of(ten, 1.0, Box(touched=2)).epsilon_bounds(1e-6)
    assert some.upper == PrivacyLoss.of(ten).epsilon(1e-6)
    assert some.lower == 0.0
    assert PrivacyLoss.of(ten, 1.0, OneSided()).epsilon_bounds(1e-6).lower > 0.0
    assert PrivacyLoss.of(five, 1.0, Euclidean(1.0)).epsilon_bounds(1e-6).lower == 0.0
    assert PrivacyLoss.of(five, 1.0, Euclidean(1.0)).compose(3).epsilon_bounds(1e-6).lower == 0.0
    assert PrivacyLoss.of(five, 1.0, Box(touched=2)).epsilon_bounds(1e-6).lower > 0.0


def test_one_answer_moves_by_the_whole_length():
    narrow, wide = discrete_laplace(3.0), PrivacyLoss.of(discrete_laplace(3.0), 2.0)
    found = PrivacyLoss.of(narrow, 1.0, Euclidean(2.0))
    assert found.epsilon(1e-6) == pytest.approx(wide.epsilon(1e-6), rel=1e-9)
