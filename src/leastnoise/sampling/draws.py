"""Drawing noise and adding it to answers, in integers on one public lattice, whatever the law.

A law says how it is drawn by its `sampler()`. Answers are rounded to the sampler's
pitch (`snapped`), noise is drawn in whole units of it, and floating-point numbers
appear only at the end, in `Draws`.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leastnoise.errors import InvalidParameterError, UnsupportedError
from leastnoise.sampling.entropy import Entropy, OperatingSystemEntropy, chosen, stamp_of

# answers below this many units are added in 64-bit integers, others in Python's
_LARGEST = 1 << 62
_EXACT = Context(prec=10_000)  # digits: more than any float times 2^−1100 has


class Sampler(Protocol):
    """How one law is drawn."""

    @property
    def dimension(self) -> int:
        """How many answers one draw serves."""

    @property
    def is_joint(self) -> bool:
        """Whether the answers of one draw lie along a last axis."""

    @property
    def is_exact(self) -> bool:
        """Whether the law itself is drawn, to the last bit, and not one that is rounded."""

    @property
    def only_whole(self) -> bool:
        """Whether the law is judged for whole answers, and others are refused."""

    @property
    def pitch(self) -> Fraction:
        """What answers are rounded to whole multiples of."""

    @property
    def unit(self) -> Fraction:
        """What every output is a whole multiple of; the pitch is one or two of it."""

    def integers(self, shape: tuple[int, ...], entropy: Entropy) -> NDArray[np.int64]:
        """Independent draws of the noise, in whole units."""


class Sampled(Protocol):
    """A law, or anything else, that says how it is drawn."""

    def sampler(self) -> Sampler:
        """How it is drawn, or an UnsupportedError."""


@dataclass(frozen=True, eq=False)
class Draws:
    """Whole multiples of `unit`, and the source of their randomness."""

    # noise: int64; answers with noise: Python's, whatever their size, which the type must not show
    integers: NDArray[Any]
    unit: Fraction
    entropy: str

    def floats(self) -> NDArray[np.float64]:
        """integers·unit as floating-point numbers, rounded only here; beyond their
        range ± the largest."""
        p, q = self.unit.numerator, self.unit.denominator
        if self.integers.dtype == np.int64 and p < 2**53 and q < 2**53:
            scaled = self.integers if p == 1 else self.integers * float(p)
            return np.asarray(scaled / float(q), dtype=np.float64)
        convert = np.frompyfunc(lambda n: nearest_float(int(n) * p, q), 1, 1)
        return np.asarray(convert(self.integers), dtype=np.float64)

    def words(self) -> NDArray[np.int64]:
        """The integers as int64; what is beyond is put at its end."""
        ends = np.iinfo(np.int64)
        return np.asarray(np.clip(self.integers, ends.min, ends.max)).astype(np.int64)

    def decimals(self) -> NDArray[np.object_]:
        """integers·unit as Decimals, exactly: a unit is a whole number of 2^−k, so k
        decimals are enough."""
        k = self.unit.denominator.bit_length() - 1
        whole = self.unit.numerator * 5**k
        convert = np.frompyfunc(lambda n: Decimal(int(n) * whole).scaleb(-k, _EXACT), 1, 1)
        return np.asarray(convert(self.integers), dtype=object)

    def __repr__(self) -> str:
        return f"Draws(shape={self.integers.shape}, unit={self.unit}, entropy={self.entropy!r})"


def draw(
    noise: Sampled, size: int | tuple[int, ...] | None = None, *, entropy: Entropy | None = None
) -> Draws:
    """Independent draws of the noise: for joint laws the answers lie along a last axis
    of their own.

    A law without integer weights is rounded to 128 bits first, or to 64 where that cannot
    be done. To have a guarantee of what is sampled, judge and sample `exact(noise, …)`.

    Args:
        noise: A law.
        size: How many draws: a number, or the shape of an array; None for one.
        entropy: Where random bits come from; the operating system unless given.

    Returns:
        The noise in whole multiples of a public unit, and the source of its randomness.

    Raises:
        UnsupportedError: A closed form, which has no lattice to be drawn on.

    Example:
        >>> from leastnoise import discrete_laplace
        >>> from leastnoise.sampling import InsecureSeededEntropy
        >>> draw(discrete_laplace(3.0), 4, entropy=InsecureSeededEntropy(1)).entropy
        'INSECURE seed 1: for tests only, not private'
    """
    source = OperatingSystemEntropy() if entropy is None else entropy
    sampler = noise.sampler()
    return Draws(sampler.integers(_shape(size), source), sampler.unit, stamp_of(source))


def release(
    noise: Sampled, answers: ArrayLike, *, entropy: Entropy | None = None, not_private: bool = False
) -> Draws:
    """The answers, rounded to the public lattice, plus noise; for joint laws the last
    axis runs over the answers of one draw.

    Each draw is one release: n answers with a law for one answer are n compositions.

    Guarantees: exact integers from the answer to the sum; one output lattice for all
    data; no overflow; a refusal never shows a value. The law must have integer weights
    (`exact`), or be drawn exactly as it is, so that what is judged is what is released.

    Args:
        noise: A law that is drawn exactly.
        answers: Numbers in the units of the law, of any shape.
        entropy: Where random bits come from. Any other source than the operating
            system's needs `not_private=True`, and what is drawn says so.
        not_private: That the result is for tests, and not private.

    Returns:
        The noisy answers in whole multiples of a public unit, and the source of their randomness.

    Raises:
        UnsupportedError: The law has a tail or unrounded masses, or no lattice.
        InvalidParameterError: The answers are no finite numbers, or do not fill the
            draws of a joint law; or the entropy is not the operating system's.

    Example:
        >>> from leastnoise import discrete_laplace, exact
        >>> law = exact(discrete_laplace(3.0), delta=1e-6)
        >>> release(law, [10, 20, 30]).words().shape
        (3,)
    """
    source = chosen(entropy, not_private)
    sampler = noise.sampler()
    if not sampler.is_exact:
        raise UnsupportedError(
            "A law with a tail or with unrounded masses is not released; make it exact(noise, "
            "delta=..., ...) and judge that."
        )
    places = snapped(answers, sampler.pitch)
    if sampler.only_whole and not _are_whole(answers):
        expected = "to be whole numbers, which the law is judged for: for others take a real one"
        raise InvalidParameterError("answers", _Hidden(), expected)
    d = sampler.dimension
    if sampler.is_joint and (places.ndim == 0 or places.shape[-1] != d):
        raise InvalidParameterError(
            "shape of answers", places.shape, f"to end in the {d} answers of one draw"
        )
    units = int(sampler.pitch / sampler.unit)
    if units > 1:
        places = np.asarray(places * units)
    shape = places.shape[:-1] if sampler.is_joint else places.shape
    drawn = sampler.integers(shape, source)
    return Draws(np.asarray(places + drawn, dtype=object), sampler.unit, stamp_of(source))


def _shape(size: int | tuple[int, ...] | None) -> tuple[int, ...]:
    shape = () if size is None else size if isinstance(size, tuple) else (size,)
    if any(isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0 for n in shape):
        raise InvalidParameterError(
            "size", size, "to be a whole number or a tuple of whole numbers, at least 0"
        )
    return tuple(int(n) for n in shape)


def nearest_float(numerator: int | Fraction, denominator: int = 1) -> float:
    """The float nearest to a fraction; beyond their range ± the largest."""
    try:
        return float(numerator / denominator)
    except OverflowError:
        largest = float(np.finfo(np.float64).max)
        return largest if numerator > 0 else -largest


# Answers as places of the lattice


class _Hidden:
    """Stands for private values in messages."""

    def __repr__(self) -> str:
        return "<not shown>"


def _refusal() -> InvalidParameterError:
    return InvalidParameterError(
        "answers", _Hidden(), "to be finite numbers in an array without missing entries"
    )


def snapped(answers: ArrayLike, pitch: Fraction) -> NDArray[Any]:
    """⌊answer/pitch + ½⌋ in exact arithmetic.

    This rounding is monotone and commutes with whole shifts, so it costs no sensitivity. A refusal
    never shows a value.
    """
    if isinstance(answers, np.ma.MaskedArray):
        raise _refusal()
    try:
        array = answers if isinstance(answers, np.ndarray) else np.array(answers, dtype=object)
    except ValueError:  # ragged
        raise _refusal() from None
    if array.dtype.kind in "iu" and pitch == 1:
        places = array
    elif array.dtype == np.float64 and _is_power_of_two(pitch):
        places = _snapped_floats(array, pitch)
    elif array.dtype.kind in "iufO":
        places = _one_by_one(array, pitch)
    else:
        raise _refusal()
    fits = places.size == 0 or (
        int(places.min()) > -_LARGEST // 2 and int(places.max()) < _LARGEST // 2
    )
    return places.astype(np.int64 if fits else object)


def _are_whole(answers: ArrayLike) -> bool:
    """Whether numbers that were snapped are whole, exactly."""
    array = answers if isinstance(answers, np.ndarray) else np.array(answers, dtype=object)
    if array.dtype.kind == "O":
        return all(Fraction(one).denominator == 1 for one in array.flat)
    return array.dtype.kind in "iu" or bool(np.all(array == np.floor(array)))


def _snapped_floats(array: NDArray[np.float64], pitch: Fraction) -> NDArray[Any]:
    """The same for float64 and a pitch 2^e, without a loop where the places are below
    2^62: scaling and floor are exact."""
    if not np.all(np.isfinite(array)):
        raise _refusal()
    with np.errstate(over="ignore", under="ignore"):  # what falls to zero is below half a place
        scaled = np.ldexp(array, pitch.denominator.bit_length() - pitch.numerator.bit_length())
    if np.any(np.abs(scaled) >= _LARGEST):
        return _one_by_one(array, pitch)
    floor = np.floor(scaled)
    return floor.astype(np.int64) + (scaled - floor >= 0.5)


def _one_by_one(array: NDArray[Any], pitch: Fraction) -> NDArray[Any]:
    return np.asarray(np.frompyfunc(lambda one: _place(one, pitch), 1, 1)(array), dtype=object)


def _place(answer: Any, pitch: Fraction) -> int:
    try:
        # to numpy a duration is an integer, of a unit that nobody has said here
        if isinstance(answer, (bool, np.bool_, np.timedelta64)) or not isinstance(
            answer, (int, float, Fraction, Decimal, np.integer, np.floating)
        ):
            raise _refusal()
        p, q = (int(answer), 1) if isinstance(answer, np.integer) else answer.as_integer_ratio()
    except (ValueError, OverflowError):  # NaN and infinities have no ratio
        raise _refusal() from None
    return int((2 * p * pitch.denominator + q * pitch.numerator) // (2 * q * pitch.numerator))


def _is_power_of_two(value: Fraction) -> bool:
    return (
        value.numerator & (value.numerator - 1) == 0
        and value.denominator & (value.denominator - 1) == 0
    )
