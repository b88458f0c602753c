"""Numbers with a bound on their error: every operation encloses what it rounds."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from leastnoise.optional import required

_flint = required("flint", "proof", "A rigorous proof needs python-flint")
Ball = Any  # flint.arb: a middle and a radius, which hold the exact number
Polynomial = Any  # flint.arb_poly
acb, arb, arb_poly, fmpz_poly = _flint.acb, _flint.arb, _flint.arb_poly, _flint.fmpz_poly

BITS = 128  # what is lost to cancellation is some 40 bits at the most


def enclosed(bits: int = BITS) -> Any:
    """The context in which balls are computed with so many bits."""
    return _flint.ctx.workprec(bits)


def ball(number: int | float | Fraction) -> Ball:
    """A number as a ball: a float without error, a fraction with that of its rounding."""
    if isinstance(number, Fraction):
        return arb(_flint.fmpq(number.numerator, number.denominator))
    return arb(number)


def above(number: Ball) -> float:
    """A float that is not below the number."""
    return math.nextafter(float(number.upper()), math.inf)


def beneath(number: Ball) -> float:
    """A float that is not above the number."""
    return math.nextafter(float(number.lower()), -math.inf)


def positive(number: Ball) -> Ball:
    """max(number, 0)."""
    return number.nonnegative_part()
