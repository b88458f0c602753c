"""Every error the package raises on purpose.

LeastNoiseError
├── InvalidParameterError   an argument is outside its range          (also a ValueError)
├── InvalidFileError        a saved law cannot be trusted             (also a ValueError)
├── UnsupportedError        the law or engine does not offer this     (also a TypeError)
├── AccountingError         a privacy number could not be certified   (also an ArithmeticError)
└── DesignError             no law, or none within tolerance          (also an ArithmeticError)
"""

from __future__ import annotations

import math
from typing import Any


class LeastNoiseError(Exception):
    """The root: catch this to catch everything the package raises on purpose."""


class InvalidParameterError(LeastNoiseError, ValueError):
    """An argument is outside its range. The message reads "Expected name=value <what was expected>."."""

    def __init__(self, name: str, value: Any, expected: str) -> None:
        super().__init__(f"Expected {name}={value!r} {expected}.")
        self.name = name
        self.value = value
        self.expected = expected


class InvalidFileError(LeastNoiseError, ValueError):
    """A saved law is damaged, truncated, inconsistent, or from a newer version."""


class UnsupportedError(LeastNoiseError, TypeError):
    """What was asked for has no meaning for this law."""


class AccountingError(LeastNoiseError, ArithmeticError):
    """A privacy number could not be certified; no number is given in its place."""


class DesignError(LeastNoiseError, ArithmeticError):
    """No law meets the request, or none was found within tolerance."""


def real_number(name: str, value: Any) -> float:
    """`value` as a finite float, or an InvalidParameterError."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameterError(name, value, "to be a finite number") from None
    if isinstance(value, (bool, str, bytes)) or not math.isfinite(number):
        raise InvalidParameterError(name, value, "to be a finite number")
    return number


def positive(name: str, value: Any) -> float:
    """`value` as a finite float > 0."""
    number = real_number(name, value)
    if number <= 0.0:
        raise InvalidParameterError(name, value, "to be positive")
    return number


def non_negative(name: str, value: Any) -> float:
    """`value` as a finite float ≥ 0."""
    number = real_number(name, value)
    if number < 0.0:
        raise InvalidParameterError(name, value, "to be at least 0")
    return number


def open_unit(name: str, value: Any) -> float:
    """`value` as a float strictly between 0 and 1."""
    number = real_number(name, value)
    if not 0.0 < number < 1.0:
        raise InvalidParameterError(name, value, "in (0, 1)")
    return number


def positive_integer(name: str, value: Any) -> int:
    """`value` as an int ≥ 1; 3.0 counts, 3.5 and True do not."""
    number = real_number(name, value)
    if number < 1 or number != math.floor(number):
        raise InvalidParameterError(name, value, "to be a positive integer")
    return int(value)


def one_of(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """`value` as one of the listed words."""
    if value not in choices:
        raise InvalidParameterError(name, value, "to be one of " + ", ".join(repr(choice) for choice in choices))
    return str(value)
