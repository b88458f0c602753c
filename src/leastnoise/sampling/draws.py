"""Drawing noise and adding it to answers, in integers on one public lattice.

On the integers the lattice is Z. On the real line an answer is rounded to multiples of step/2^16 by ⌊x + ½⌋ in exact arithmetic,
which costs no sensitivity, and the noise is an odd number of half pitches: the bin (2^16 pitches wide) plus a uniform place in it
that is symmetric about the bin's middle. So every output is an odd multiple of `unit` = step/2^17, whatever the answer was.

Fixed work: 8 bytes of entropy a draw (16 for a law of 128 bits) for the shell and 2 for the place in the bin; joint laws take 8
more for the first face and 8 a coordinate. Two events, both of the entropy and not of the value, lead to extra work: 64 bits that
tie with one of the d−1 boundaries of the first face, and a 64-bit draw that would bias a coordinate. Their probability is below
d·(2N+2)·2^−64 a vector, 2^−50 for 10 answers and N = 700. They do not change the law, so nothing is charged to δ for them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leastnoise.errors import DesignError, InvalidParameterError, UnsupportedError
from leastnoise.lattice import LatticeNoise
from leastnoise.noise import Noise
from leastnoise.sampling.entropy import Entropy, OperatingSystemEntropy, stamp_of
from leastnoise.sampling.tables import AliasTable, FaceTable
from leastnoise.sampling.weights import integer_weights, lattice_form, rounded
from leastnoise.steps import PLACES, public_pitch

FINE_BITS = PLACES.bit_length() - 1  # a bin of the real line holds 2^16 places
_CHUNK = (
    1 << 15
)  # numbers at a time: 23 ns a draw, against 33 ns in chunks of 2^17, which leave the cache
_LARGEST = 1 << 62  # answers below this many units are added in 64-bit integers, others in Python's
_MOST_SHELLS = 1 << 30
_EXACT = Context(prec=10_000)  # digits: more than any float times 2^−1100 has


@dataclass(frozen=True, eq=False)
class Draws:
    """Whole multiples of `unit`, and the source of their randomness."""

    integers: NDArray[
        Any
    ]  # noise: int64; answers with noise: Python's, whatever their size, which the type must not show
    unit: Fraction
    entropy: str

    def floats(self) -> NDArray[np.float64]:
        """integers·unit as floating-point numbers, rounded only here; beyond their range ± the largest."""
        if (
            self.integers.dtype == np.int64
            and self.unit.numerator < 2**53
            and self.unit.denominator < 2**53
        ):
            scaled = (
                self.integers
                if self.unit.numerator == 1
                else self.integers * float(self.unit.numerator)
            )
            return np.asarray(scaled / float(self.unit.denominator), dtype=np.float64)
        convert = np.frompyfunc(
            lambda n: _nearest_float(int(n) * self.unit.numerator, self.unit.denominator), 1, 1
        )
        return np.asarray(convert(self.integers), dtype=np.float64)

    def words(self) -> NDArray[np.int64]:
        """The integers as int64; what is beyond is put at its end."""
        ends = np.iinfo(np.int64)
        return np.asarray(np.clip(self.integers, ends.min, ends.max)).astype(np.int64)

    def decimals(self) -> NDArray[np.object_]:
        """integers·unit as Decimals, exactly: a unit is a whole number of 2^−k, so k decimals are enough."""
        k = self.unit.denominator.bit_length() - 1
        whole = self.unit.numerator * 5**k
        convert = np.frompyfunc(lambda n: Decimal(int(n) * whole).scaleb(-k, _EXACT), 1, 1)
        return np.asarray(convert(self.integers), dtype=object)

    def __repr__(self) -> str:
        return f"Draws(shape={self.integers.shape}, unit={self.unit}, entropy={self.entropy!r})"


def draw(
    noise: Noise, size: int | tuple[int, ...] | None = None, *, entropy: Entropy | None = None
) -> Draws:
    """Independent draws of the noise: for joint laws the answers lie along a last axis of their own.

    A law without integer weights is rounded to 128 bits first, or to 64 where that cannot be done. To have a guarantee of what is
    sampled, judge and sample `exact(noise, …)`.
    """
    source = OperatingSystemEntropy() if entropy is None else entropy
    law = lattice_form(noise)
    return Draws(_sampler(law).integers(_shape(size), source), unit(law), stamp_of(source))


def release(noise: Noise, answers: ArrayLike, *, entropy: Entropy | None = None) -> Draws:
    """The answers, rounded to the public lattice, plus noise; for joint laws the last axis runs over the answers of one draw.

    Each draw is one release: n answers with a law for one answer are n compositions.

    Guarantees: exact integers from the answer to the sum; one output lattice for all data; no overflow; a refusal never shows a
    value. The law must have integer weights (`exact`), so that what is judged is what is released.
    """
    law = lattice_form(noise)
    if integer_weights(law) is None:
        raise UnsupportedError(
            "A law with a tail or with unrounded masses is not released; make it exact(noise, delta=..., ...) and judge that."
        )
    source = OperatingSystemEntropy() if entropy is None else entropy
    places = _snapped(answers, public_pitch(law.step, law.domain))
    if law.dimension > 1 and (places.ndim == 0 or places.shape[-1] != law.dimension):
        raise InvalidParameterError(
            "shape of answers", places.shape, f"to end in the {law.dimension} answers of one draw"
        )
    if law.domain == "real":
        places = np.asarray(places * 2)  # half pitches
    shape = places.shape if law.dimension == 1 else places.shape[:-1]
    noise_integers = _sampler(law).integers(shape, source)
    return Draws(np.asarray(places + noise_integers, dtype=object), unit(law), stamp_of(source))


def unit(noise: LatticeNoise) -> Fraction:
    """What every output is a whole multiple of."""
    return Fraction(1) if noise.domain == "integer" else public_pitch(noise.step, noise.domain) / 2


@dataclass(frozen=True, eq=False)
class _Sampler:
    noise: LatticeNoise
    table: AliasTable
    faces: FaceTable | None

    def integers(self, shape: tuple[int, ...], entropy: Entropy) -> NDArray[np.int64]:
        """Noise in whole units; memory beyond the result is bounded by the chunk."""
        d = self.noise.dimension
        total = math.prod(shape)
        result = np.empty((total, d) if self.faces else total, dtype=np.int64)
        chunk = max(_CHUNK // d, 1024)
        for start in range(0, total, chunk):
            count = min(chunk, total - start)
            drawn = self.table.draw(count, entropy)
            part: NDArray[Any] = self.faces.points(drawn, entropy) if self.faces else drawn
            if self.noise.domain == "real":
                part = _within_bins(part, entropy)
            result[start : start + count] = part.T
        return result.reshape((*shape, d) if self.faces else shape)


def _within_bins(bins: NDArray[Any], entropy: Entropy) -> NDArray[np.int64]:
    """Half pitches: 2^17 a bin, and an odd number from −(2^16 − 1) to 2^16 − 1 within it."""
    place = np.frombuffer(entropy.take(2 * bins.size), dtype=np.uint16).reshape(bins.shape)
    half_pitches = bins.astype(np.int64)
    half_pitches <<= FINE_BITS
    half_pitches += place
    half_pitches <<= 1
    half_pitches -= (1 << FINE_BITS) - 1
    return half_pitches


@lru_cache(maxsize=16)
def _sampler(noise: LatticeNoise) -> _Sampler:
    weights = integer_weights(noise)
    if weights is None:
        try:
            noise = rounded(noise)
        except DesignError:  # flat steps leave little room for the remainder of 2^128; that of 2^64 is smaller beside each weight
            noise = rounded(noise, bits=64)
        weights = integer_weights(noise)
    if weights is None or noise.last >= _MOST_SHELLS:
        raise InvalidParameterError("shells", noise.last, f"to be fewer than {_MOST_SHELLS}")
    if noise.dimension == 1:
        half = [weight // 2 for weight in weights.weights[1:]]
        signed = [*half[::-1], weights.weights[0], *half]
        return _Sampler(
            noise, AliasTable.of(signed, range(-noise.last, noise.last + 1), weights.bits), None
        )
    radii = [k for k, weight in enumerate(weights.weights) if weight]
    table = AliasTable.of([weights.weights[k] for k in radii], range(len(radii)), weights.bits)
    return _Sampler(noise, table, FaceTable.of(radii, noise.dimension))


def _shape(size: int | tuple[int, ...] | None) -> tuple[int, ...]:
    shape = () if size is None else size if isinstance(size, tuple) else (size,)
    if any(isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0 for n in shape):
        raise InvalidParameterError(
            "size", size, "to be a whole number or a tuple of whole numbers, at least 0"
        )
    return tuple(int(n) for n in shape)


class _Hidden:
    """Stands for private values in messages."""

    def __repr__(self) -> str:
        return "<not shown>"


def _refusal() -> InvalidParameterError:
    return InvalidParameterError(
        "answers", _Hidden(), "to be finite numbers in an array without missing entries"
    )


def _snapped(answers: ArrayLike, pitch: Fraction) -> NDArray[Any]:
    """⌊answer/pitch + ½⌋ in exact arithmetic."""
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
        places = np.asarray(
            np.frompyfunc(lambda answer: _place(answer, pitch), 1, 1)(array), dtype=object
        )
    else:
        raise _refusal()
    fits = places.size == 0 or (
        int(places.min()) > -_LARGEST // 2 and int(places.max()) < _LARGEST // 2
    )
    return places.astype(np.int64 if fits else object)


def _snapped_floats(array: NDArray[np.float64], pitch: Fraction) -> NDArray[Any]:
    """The same for float64 and a pitch 2^e, without a loop where the places are below 2^62: scaling and floor are exact."""
    if not np.all(np.isfinite(array)):
        raise _refusal()
    with np.errstate(over="ignore", under="ignore"):  # what falls to zero is below half a place
        scaled = np.ldexp(array, pitch.denominator.bit_length() - pitch.numerator.bit_length())
    if np.any(np.abs(scaled) >= _LARGEST):
        return np.asarray(
            np.frompyfunc(lambda answer: _place(answer, pitch), 1, 1)(array), dtype=object
        )
    floor = np.floor(scaled)
    return floor.astype(np.int64) + (scaled - floor >= 0.5)


def _place(answer: Any, pitch: Fraction) -> int:
    try:
        if isinstance(answer, (bool, np.bool_)) or not isinstance(
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


def _nearest_float(numerator: int, denominator: int) -> float:
    try:
        return numerator / denominator
    except OverflowError:
        largest = float(np.finfo(np.float64).max)
        return largest if numerator > 0 else -largest
