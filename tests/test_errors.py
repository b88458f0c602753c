"""Errors: one tree, messages that name and show what was wrong, and checks that let nothing odd
through."""

import copy
import math
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from leastnoise import errors
from leastnoise.errors import InvalidParameterError, LeastNoiseError

NOT_NUMBERS = [
    "3",
    b"3",
    bytearray(b"3"),
    None,
    True,
    False,
    np.True_,
    1j,
    [1.0],
    np.array([1.0]),
    {},
    Ellipsis,
]
NOT_FINITE = [float("nan"), float("inf"), -float("inf"), np.float64("nan"), 10**400]


@pytest.mark.parametrize(
    ("child", "builtin"),
    [
        (errors.InvalidParameterError, ValueError),
        (errors.InvalidFileError, ValueError),
        (errors.UnsupportedError, TypeError),
        (errors.AccountingError, ArithmeticError),
        (errors.DesignError, ArithmeticError),
    ],
)
def test_the_tree_is_as_drawn(child, builtin):
    assert issubclass(child, LeastNoiseError)
    assert issubclass(child, builtin)


def test_a_message_says_name_value_expectation_and_carries_them():
    error = InvalidParameterError("delta", 2.0, "in (0, 1)")
    assert str(error) == "Expected delta=2.0 in (0, 1)."
    assert (error.name, error.value, error.expected) == ("delta", 2.0, "in (0, 1)")


@pytest.mark.parametrize(
    "clone", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))]
)
def test_an_error_survives_the_way_back_from_another_process(clone):
    error = clone(InvalidParameterError("delta", 2.0, "in (0, 1)"))
    assert str(error) == "Expected delta=2.0 in (0, 1)."
    assert (error.name, error.value, error.expected) == ("delta", 2.0, "in (0, 1)")


@pytest.mark.parametrize(
    "check",
    [
        errors.real_number,
        errors.positive,
        errors.non_negative,
        errors.open_unit,
        errors.positive_integer,
    ],
)
@pytest.mark.parametrize("value", NOT_NUMBERS + NOT_FINITE, ids=repr)
def test_what_is_no_finite_number_is_refused(check, value):
    with pytest.raises(InvalidParameterError) as caught:
        check("answer", value)
    assert str(caught.value).startswith(f"Expected answer={value!r} ")
    assert caught.value.name == "answer"


@pytest.mark.parametrize(
    "value", [0.5, np.float32(0.5), np.array(0.5), Fraction(1, 2), Decimal("0.5")], ids=repr
)
def test_every_kind_of_number_is_taken(value):
    number = errors.real_number("answer", value)
    assert type(number) is float
    assert number == 0.5


@pytest.mark.parametrize(
    ("check", "value", "expectation"),
    [
        (errors.positive, 0.0, "to be positive"),
        (errors.positive, -1e-300, "to be positive"),
        (errors.non_negative, -1e-300, "to be at least 0"),
        (errors.open_unit, 0, "in (0, 1)"),
        (errors.open_unit, 1.0, "in (0, 1)"),
        (errors.open_unit, -0.5, "in (0, 1)"),
        (errors.positive_integer, 0, "to be a positive integer"),
        (errors.positive_integer, 3.5, "to be a positive integer"),
        (errors.positive_integer, -2, "to be a positive integer"),
    ],
)
def test_ranges(check, value, expectation):
    with pytest.raises(InvalidParameterError) as caught:
        check("answer", value)
    assert str(caught.value) == f"Expected answer={value!r} {expectation}."


def test_the_ends_of_the_ranges_pass():
    assert errors.non_negative("answer", 0) == 0.0
    assert errors.positive("answer", 5e-324) == 5e-324
    assert errors.open_unit("answer", 1 - 2**-53) < 1
    for three in (3, 3.0, np.int64(3), np.float32(3)):
        count = errors.positive_integer("answer", three)
        assert type(count) is int
        assert count == 3
    assert errors.positive_integer("answer", 2**53 + 1) == 2**53 + 1
    with pytest.raises(InvalidParameterError, match="to be a positive integer"):
        errors.positive_integer("answer", Decimal("2.99999999999999999999"))


EXACT = [Decimal("1.00000000000000000001"), Decimal("0.1"), Fraction(1, 3), 2**80 + 1, 0.1, 3]
OF_NUMPY = [
    np.int64(2**53 + 1),
    np.array(2**53 + 1),
    np.longdouble("0.1"),
    np.nextafter(np.longdouble(1), 2),
    np.float32(0.1),
]


@pytest.mark.parametrize("value", [*EXACT, *OF_NUMPY], ids=repr)
def test_how_far_an_answer_moves_is_never_rounded_down(value):
    found = errors.at_least("sensitivity", value)
    plain = int(value) if isinstance(value, (np.integer, np.ndarray)) else value
    exact = Fraction(*plain.as_integer_ratio())
    assert type(found) is float
    assert Fraction(found) >= exact
    assert Fraction(math.nextafter(found, 0.0)) < exact


@pytest.mark.parametrize(
    "value", ["reals", "", None, 1, ["real"], np.array(["real", "integer"])], ids=repr
)
def test_one_of_refuses_other_words(value):
    with pytest.raises(
        InvalidParameterError, match=r"^Expected domain=.* to be one of 'real', 'integer'"
    ):
        errors.one_of("domain", value, ("real", "integer"))


def test_one_of_gives_a_plain_string():
    assert type(errors.one_of("domain", np.str_("real"), ("real", "integer"))) is str


@pytest.mark.parametrize(
    "value", ["0.5", ["a"], [True, False], [1j], [[1.0], [1.0, 2.0]], None, [None, "x"]], ids=repr
)
def test_arrays_of_no_numbers_are_refused(value):
    with pytest.raises(InvalidParameterError) as caught:
        errors.real_array("x", value)
    assert str(caught.value).startswith(f"Expected x={value!r} ")


def test_arrays_keep_infinities_but_no_nan():
    assert np.array_equal(
        errors.real_array("x", [1, -np.inf, Fraction(1, 4)]), [1.0, -np.inf, 0.25]
    )
    with pytest.raises(InvalidParameterError, match="none of them NaN"):
        errors.real_array("x", [1.0, np.nan])
