"""The steps of a lattice in exact arithmetic: the one place that judge, rounding and sampler share.

A law is judged for shifts of m whole steps. That covers every pair of answers that are
at most `sensitivity` apart only if m·step ≥ sensitivity *as exact numbers*: the float
0.1 is larger than 1/10, so with a step of exactly 1/(10 m) two floats 0.1 apart can
round to places one pitch further apart than was judged, and what the judge never saw is
revealed outright where the law ends (δ = 1e-12 was stated for a true δ of 2.8e-7). So

- the exact step of a law is its `step` rounded up to 31 significant bits, a number that
  floats hold without error;
- steps made here, for a sensitivity cut into m, are wider than sensitivity/m by 2^−30 to 2^−29
  of themselves. That costs 2e-9 of the standard deviation and also covers the rounding of
  callers who compute their answers in floating point: 1.1 and 0.1 are further apart than 1;
- a sensitivity is accepted for a step when m steps span it, compared as fractions, and hardly more.
"""

from __future__ import annotations

import math
from fractions import Fraction

from leastnoise.errors import InvalidParameterError, at_least

_BITS = 31
_MARGIN = Fraction(1, 1 << 30)
# m steps may exceed a sensitivity by this share and still be called its m steps
_LOOSEST = Fraction(1, 1 << 28)
PLACES = 1 << 16  # places of the public lattice in one step of the real line


def exact_step(step: float) -> Fraction:
    """The number that a law's `step` stands for: rounded up to 31 significant bits.

    >>> exact_step(0.25), float(exact_step(0.1))
    (Fraction(1, 4), 0.1000000000349246)
    """
    mantissa, exponent = math.frexp(step)
    return math.ceil(math.ldexp(mantissa, _BITS)) * Fraction(2) ** (exponent - _BITS)


def step_of(sensitivity: float, parts: int) -> float:
    """A step of which `parts` span the sensitivity, with a margin for rounding: exact
    as a float."""
    wanted = Fraction(at_least("sensitivity", sensitivity)) / parts * (1 + _MARGIN)
    step = float(exact_step(float(wanted)))
    if Fraction(step) < wanted:  # float() rounds to nearest: the next number of 31 bits
        step = float(exact_step(math.nextafter(step, math.inf)))
    if shift_in_steps(sensitivity, step) != parts:  # below the normal range of floats
        raise InvalidParameterError(
            "sensitivity", sensitivity, f"to be large enough to be cut into {parts} steps"
        )
    return step


def public_pitch(step: float, domain: str) -> Fraction:
    """The pitch of the lattice that answers are rounded to: 1 on the integers, the
    2^16th part of a step on the real line."""
    return Fraction(1) if domain == "integer" else exact_step(step) / PLACES


def shift_in_steps(sensitivity: float, step: float) -> int:
    """The m steps that span `sensitivity`, compared as exact numbers; they must not
    exceed it by more than rounding."""
    exact, wide = Fraction(at_least("sensitivity", sensitivity)), exact_step(step)
    m = math.ceil(exact / wide)
    if m * wide > exact * (1 + _LOOSEST):
        raise InvalidParameterError(
            "step", step, f"to divide sensitivity={sensitivity!r} a whole number of times"
        )
    return m
