"""How numbers are written for people: bounds never on the wrong side, intervals never
narrower than they are.

A number with an uncertainty is written with two digits of the uncertainty, both to the
same place. Rounding the number moves the interval, so what it moved is added to the
half-width before that is rounded up: what is printed always contains what is true.

    uncertain(298713.4, 4193.2)     298,700 ± 4,300
    uncertain(17.2349, 0.51401)     17.23 ± 0.52
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal, localcontext

_MOST_DIGITS = 400  # a float has up to 309 before the point; what is finer than 1e-80 is not shown


def above(value: float, digits: int = 4) -> str:
    """`value` with a few digits; what is printed is, read as a float, never below it."""
    return _bound(value, digits, ROUND_CEILING)


def below(value: float, digits: int = 4) -> str:
    """`value` with a few digits; what is printed is, read as a float, never above it."""
    return _bound(value, digits, ROUND_FLOOR)


def uncertain(value: float, half_width: float, *, whole: bool = False) -> tuple[str, str]:
    """A number and the half-width of its interval, both to the place of the second
    digit of the half-width.

    The interval that is printed contains the one that is meant. `whole`: the number counts
    something, so nothing finer than ones is written. The explorer's page writes the same in its
    `format.js`, since the number that is typed there stays in the browser.
    """
    if not (math.isfinite(value) and math.isfinite(half_width) and half_width >= 0.0):
        return f"{value:,.6g}", above(half_width, 2)
    with localcontext() as context:
        context.prec = _MOST_DIGITS
        exact, width = Decimal(value), Decimal(half_width)
        if not width and not whole:
            return _plain(Decimal(repr(float(value))).normalize()), "0"
        place = Decimal(1).scaleb(max(width.adjusted() - 1, 0 if whole else -80))
        shown = exact.quantize(place, rounding=ROUND_HALF_EVEN)
        reach = (width + abs(shown - exact)).quantize(place, rounding=ROUND_CEILING)
        return _plain(shown), _plain(reach)


def ends(lower: float, upper: float, half_width: float) -> str:
    """The ends of the interval of a count, to the place of the second digit of a
    half-width: 180 to 390.

    Never narrower than the interval is, but for what is below zero.
    """
    with localcontext() as context:
        context.prec = _MOST_DIGITS
        place = Decimal(1).scaleb(max(Decimal(half_width).adjusted() - 1, 0))
        low = Decimal(max(lower, 0.0)).quantize(place, rounding=ROUND_FLOOR)
        high = Decimal(upper).quantize(place, rounding=ROUND_CEILING)
        return f"{_plain(low)} to {_plain(high)}"


def with_uncertainty(value: float, half_width: float, *, whole: bool = False) -> str:
    """`uncertain` as one text: 17.23 ± 0.52."""
    return " ± ".join(uncertain(value, half_width, whole=whole))


def counted(n: int, word: str) -> str:
    """1 release, 2 releases."""
    return f"{n:,} {word}" + ("" if n == 1 else "s")


def exact_above(lower: float) -> str:
    """What is known from below of a number that is stated from above, to be put behind it; nothing
    where that is nothing."""
    return f" (exact value above {below(lower, 6)})" if lower > 0.0 else ""


def rounded(value: float, digits: int) -> float:
    """The number nearest to `value` of so many significant digits; one that is not
    finite as it is."""
    return float(f"{value:.{digits}g}") if math.isfinite(value) else value


def rounded_up(value: float, digits: int) -> float:
    """The least number of so many significant digits that is not below: upper bounds stay ones."""
    return float(above(value, digits).replace(",", ""))


def _bound(value: float, digits: int, rounding: str) -> str:
    if value == 0.0 or not math.isfinite(value):
        return f"{value + 0.0:g}"
    with localcontext() as context:
        context.prec = _MOST_DIGITS
        exact = Decimal(repr(float(value)))  # 1e-05, not the 1.00000000000000008e-05 of the float
        place = Decimal(1).scaleb(exact.adjusted() - digits + 1)
        rounded = exact.quantize(place, rounding=rounding)
        if not -4 <= rounded.adjusted() < 15:
            mantissa = rounded.scaleb(-rounded.adjusted()).normalize()
            return f"{mantissa:f}e{rounded.adjusted():+03d}"
        return _plain(rounded.normalize() if place < 1 else rounded)


def _plain(number: Decimal) -> str:
    """Without an exponent, thousands apart, no minus before nothing."""
    return f"{number + 0:,f}"
