"""What is printed is never narrower, and never on the wrong side of, what is meant."""

import math
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from leastnoise.text.numbers import (
    above,
    below,
    ends,
    rounded,
    rounded_up,
    uncertain,
    with_uncertainty,
)

SIZES = st.floats(1e-70, 1e300)


def read(text: str) -> Decimal:
    return Decimal(text.replace(",", ""))


@given(SIZES, st.integers(1, 9))
@example(0.51401, 2)
@example(9.9999999, 3)
@example(1e-6, 4)
def test_bounds_stay_on_their_side(value: float, digits: int) -> None:
    for sign in (1.0, -1.0):
        exact = Decimal(repr(sign * value))  # a float is written 1e-05, whatever its bits are
        high, low = read(above(sign * value, digits)), read(below(sign * value, digits))
        assert low <= exact <= high
        assert float(low) <= sign * value <= float(high)
        assert high - low <= abs(exact) * Decimal(10) ** (1 - digits) * Decimal("1.0000001")


@given(st.floats(-1e15, 1e15), st.floats(1e-9, 1e12))
@example(17.2349, 0.51401)
@example(298713.4, 4193.2)
@example(0.5, 9.96)
@example(-0.004, 1.0)
def test_the_interval_contains_the_one_that_is_meant(value: float, half_width: float) -> None:
    shown, reach = (read(text) for text in uncertain(value, half_width))
    assert shown - reach <= Decimal(value) - Decimal(half_width)
    assert shown + reach >= Decimal(value) + Decimal(half_width)
    assert reach <= Decimal(half_width) * Decimal("1.16")


@pytest.mark.parametrize(
    ("value", "half_width", "expected"),
    [
        (17.2349, 0.51401, "17.23 ± 0.52"),
        (298713.4, 4193.2, "298,700 ± 4,300"),
        (12.0, 3.0, "12.0 ± 3.0"),
        (-0.004, 1.0, "0.0 ± 1.1"),
        (1e9, 2.5e5, "1,000,000,000 ± 250,000"),
        (math.inf, 2.0, "inf ± 2"),
        (3.5, math.inf, "3.5 ± inf"),
        (3.5, 0.0, "3.5 ± 0"),
        (1204567.25, 0.0, "1,204,567.25 ± 0"),
    ],
)
def test_as_people_write_them(value: float, half_width: float, expected: str) -> None:
    assert with_uncertainty(value, half_width) == expected


@pytest.mark.parametrize(
    ("value", "half_width", "expected"),
    [
        (1204.0, 3.0, ("1,204", "3")),
        (1204.0, 0.0, ("1,204", "0")),
        (1204.5, 3.0, ("1,204", "4")),
        (298713.0, 4193.0, ("298,700", "4,300")),
    ],
)
def test_of_whole_numbers_nothing_finer_than_ones_is_written(
    value: float, half_width: float, expected: tuple[str, str]
) -> None:
    assert uncertain(value, half_width, whole=True) == expected


@pytest.mark.parametrize(
    ("lower", "upper", "half_width", "expected"),
    [
        (357.0, 407.0, 31.0, "357 to 407"),
        (3467.0, 3719.0, 104.0, "3,460 to 3,720"),
        (-46.0, 407.0, 31.0, "0 to 407"),
        (-90.0, 0.0, 31.0, "0 to 0"),
        (12.0, 14.5, 1.0, "12 to 15"),
    ],
)
def test_the_ends_of_a_count_are_rounded_outwards(
    lower: float, upper: float, half_width: float, expected: str
) -> None:
    assert ends(lower, upper, half_width) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.0, "0"),
        (1.7429643, "1.743"),
        (2.0, "2"),
        (1e-6, "1e-06"),
        (1.23456e-7, "1.235e-07"),
        (12345.6, "12,350"),
    ],
)
def test_bounds_as_people_write_them(value: float, expected: str) -> None:
    assert above(value) == expected


@given(st.floats(allow_nan=False), st.integers(1, 12))
def test_numbers_rounded_up_are_never_below(value: float, digits: int) -> None:
    up = rounded_up(value, digits)
    assert up >= value
    assert rounded_up(up, digits) == up
    near = rounded(value, digits)
    assert near == float(f"{value:.{digits}g}")
    assert near <= up
