"""Every error the package raises on purpose.

LeastNoiseError
├── InvalidParameterError   an argument is outside its range          (also a ValueError)
├── InvalidFileError        a saved law cannot be trusted             (also a ValueError)
├── UnsupportedError        the law or engine does not offer this     (also a TypeError)
│   └── MissingExtraError   an optional package is not installed      (also an ImportError)
├── AccountingError         a privacy number could not be certified   (also an ArithmeticError)
├── DesignError             no law, or none within tolerance          (also an ArithmeticError)
├── PlanError               a release plan lacks a declaration        (also a ValueError)
├── EngineError             the data engine failed; nothing is shown  (also a RuntimeError)
├── LedgerError             the ledger cannot be used as asked        (also a RuntimeError)
├── SeriesError             no answer can come from a kept draw       (also a RuntimeError)
└── BudgetExceededError     a release would overspend its budget      (also a RuntimeError)
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from leastnoise.text.characters import fault, shown
from leastnoise.text.numbers import above, below

Choice = TypeVar("Choice", bound=str)


class LeastNoiseError(Exception):
    """The root: catch this to catch everything the package raises on purpose.

    What a message quotes cannot forge what a terminal shows: it is written by the rule
    of `leastnoise.text.characters`.
    """

    def __init__(self, *arguments: object) -> None:
        super().__init__(*(shown(one) if isinstance(one, str) else one for one in arguments))


class InvalidParameterError(LeastNoiseError, ValueError):
    """An argument is outside its range. The message reads "Expected name=value <what
    was expected>.".

    Attributes:
        name: The argument.
        value: What was given.
        expected: What was expected, "in (0, 1)" for instance.
    """

    def __init__(self, name: str, value: Any, expected: str) -> None:
        super().__init__(f"Expected {name}={_shown(value)} {expected}.")
        self.name = name
        self.value = value
        self.expected = expected

    def __reduce__(self) -> tuple[type[InvalidParameterError], tuple[str, Any, str]]:
        # The default would call the class with the message alone: an error raised in a
        # worker process would not come back.
        return type(self), (self.name, self.value, self.expected)


def _shown(value: Any) -> str:
    """The value as Python writes it; Python refuses to write integers of more than 4,300 digits."""
    try:
        return repr(value)
    except ValueError:
        if isinstance(value, int):
            return f"<an integer of {value.bit_length()} bits>"
        return f"<a {type(value).__name__}>"


class InvalidFileError(LeastNoiseError, ValueError):
    """A saved law is damaged, truncated, inconsistent, or from a newer version."""


class UnsupportedError(LeastNoiseError, TypeError):
    """What was asked for has no meaning for this law."""


class MissingExtraError(UnsupportedError, ImportError):
    """An optional package is not installed; the message says which line installs it."""


class AccountingError(LeastNoiseError, ArithmeticError):
    """A privacy number could not be certified; no number is given in its place."""


class DesignError(LeastNoiseError, ArithmeticError):
    """No law meets the request, or none was found within tolerance."""


class PlanError(LeastNoiseError, ValueError):
    """A release plan lacks a declaration, contradicts itself, or does not fit the
    schema of its table."""


class EngineError(LeastNoiseError, RuntimeError):
    """The data engine failed. Its own message is withheld: it may quote private values."""


class LedgerError(LeastNoiseError, RuntimeError):
    """The ledger is damaged, locked, read-only, or does not know what was asked for;
    nothing was written."""


class SeriesError(LeastNoiseError, RuntimeError):
    """A series of answers is used up, damaged, a copy, or not the caller's; nothing is answered."""


class BudgetExceededError(LeastNoiseError, RuntimeError):
    """A release would overspend the budget of its data set; it was refused and nothing was written.

    Attributes:
        dataset: The data set.
        budget: ε that may be spent at the δ of the data set; or the cap on the advantage.
        spent: ε spent before; or the advantage.
        asked: ε that the release would have come to; inf where none would hold. Or the advantage.
        advice: What can be released instead, a sentence, or "".
        what: What would be overspent, "epsilon" or "advantage".
    """

    def __init__(
        self,
        dataset: str,
        budget: float,
        spent: float,
        asked: float,
        advice: str = "",
        what: str = "epsilon",
    ) -> None:
        more = (
            f"would come to {above(asked, 6)} with it"
            if math.isfinite(asked)
            else "with it no epsilon would hold at its delta"
        )
        super().__init__(
            f"The release is refused: {dataset!r} has spent {what}={above(spent, 6)} of "
            f"{below(budget, 6)} and {more}." + (f" {advice}" if advice else "")
        )
        self.dataset = dataset
        self.budget = budget
        self.spent = spent
        self.asked = asked
        self.advice = advice
        self.what = what

    def __reduce__(
        self,
    ) -> tuple[type[BudgetExceededError], tuple[str, float, float, float, str, str]]:
        numbers = (self.budget, self.spent, self.asked)
        return type(self), (self.dataset, *numbers, self.advice, self.what)


def real_number(name: str, value: Any) -> float:
    """`value` as a finite float, or an InvalidParameterError; neither a truth value nor
    text nor an array of one is a number."""
    if isinstance(value, (bool, np.bool_, str, bytes, bytearray)) or (
        isinstance(value, np.ndarray) and value.ndim
    ):
        raise InvalidParameterError(name, value, "to be a finite number")
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameterError(name, value, "to be a finite number") from None
    if not math.isfinite(number):
        raise InvalidParameterError(name, value, "to be a finite number")
    return number


def numbers(name: str, value: Any) -> NDArray[np.float64]:
    """`value` as a new array of floats, whatever they are; text and truth values are no numbers."""
    try:
        raw = np.asarray(value)
        if raw.dtype.kind in "iufO":
            return np.array(raw, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InvalidParameterError(name, value, "to be an array of numbers")


def real_array(name: str, value: Any) -> NDArray[np.float64]:
    """`value` as an array of floats without NaN; infinities pass."""
    array = numbers(name, value)
    if np.any(np.isnan(array)):
        raise InvalidParameterError(name, value, "to be numbers, none of them NaN")
    return array


def positive(name: str, value: Any) -> float:
    """`value` as a finite float > 0."""
    number = real_number(name, value)
    if number <= 0.0:
        raise InvalidParameterError(name, value, "to be positive")
    return number


def at_least(name: str, value: Any) -> float:
    """`value` as the least finite float > 0 that is not below it: how far an answer may
    move is never rounded down."""
    number = positive(name, value)
    plain: Any = value[()] if isinstance(value, np.ndarray) else value
    plain = int(plain) if isinstance(plain, np.integer) else plain
    try:
        ratio = plain.as_integer_ratio()
    except AttributeError:
        ratio = number.as_integer_ratio()
    return number if Fraction(number) >= Fraction(*ratio) else math.nextafter(number, math.inf)


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
    if number < 1 or int(value) != value:
        raise InvalidParameterError(name, value, "to be a positive integer")
    return int(value)


def plain_text(
    name: str, value: Any, most: int, *, empty: bool = False, lines: bool = False
) -> str:
    """`value` as a text of at most `most` letters, all of which can be seen; see
    `leastnoise.text.characters`."""
    if not isinstance(value, str) or not (value or empty) or len(value) > most:
        raise InvalidParameterError(
            name, value, f"to be text of {0 if empty else 1} to {most} characters"
        )
    wrong = fault(value, lines=lines)
    if wrong is not None:
        raise InvalidParameterError(
            name, value, f"to be plain text, without the unseen character {wrong}"
        )
    return value


def one_of(name: str, value: Any, choices: tuple[Choice, ...]) -> Choice:
    """`value` as one of the listed words."""
    if not isinstance(value, str) or value not in choices:
        raise InvalidParameterError(
            name, value, "to be one of " + ", ".join(repr(choice) for choice in choices)
        )
    return cast(Choice, str(value))
