"""Drawing noise and adding it to answers, in integers on one public lattice.

On the integers the lattice is Z. On the real line an answer is rounded to multiples of step/2^16
by ⌊x + ½⌋ in exact arithmetic, which costs no sensitivity, and the noise is an odd number of
half pitches: the bin (2^16 pitches wide) plus a uniform place in it that is symmetric about the
bin's middle. So every output is an odd multiple of `unit` = step/2^17, whatever the answer was.

Fixed work: 8 bytes of entropy a draw (16 for a law of 128 bits) for the shell and 2 for
the place in the bin; joint laws take 8 more for the first face and 8 a coordinate. Two
events, both of the entropy and not of the value, lead to extra work: 64 bits that tie
with one of the d−1 boundaries of the first face, and a 64-bit draw that would bias a
coordinate. Their probability is below d·(2N+2)·2^−64 a vector, 2^−50 for 10 answers and
N = 700. They do not change the law, so nothing is charged to δ for them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leastnoise.errors import DesignError, InvalidParameterError
from leastnoise.lattice.steps import PLACES, public_pitch
from leastnoise.sampling.alias import AliasTable, FaceTable
from leastnoise.sampling.entropy import Entropy
from leastnoise.sampling.weights import (
    IntegerWeights,
    ShellLaw,
    integer_weights,
    rounded_weights,
    weights_of,
)

_FINE_BITS = PLACES.bit_length() - 1  # a bin of the real line holds 2^16 places
# numbers at a time: 23 ns a draw, against 33 ns in chunks of 2^17, which leave the cache
_CHUNK = 1 << 15
_MOST_SHELLS = 1 << 30
TIE_PARTS = 1 << 15  # of 1: a half pitch is as much of a step of 2^16, so that ranges end on it


@dataclass(frozen=True, eq=False)
class LatticeSampler:
    """Draws shells and points of a radial law, and on the real line a place in the bin.

    A law without integer weights is rounded to 128 bits first, or to 64 where that cannot be done.
    """

    law: ShellLaw

    @cached_property
    def tables(self) -> ShellTables:
        """What is drawn from."""
        return shell_tables(self.law)

    @property
    def dimension(self) -> int:
        return self.law.dimension

    @property
    def is_joint(self) -> bool:
        return self.law.dimension > 1

    only_whole: ClassVar[bool] = False

    @property
    def is_exact(self) -> bool:
        return integer_weights(self.law) is not None

    @property
    def pitch(self) -> Fraction:
        return public_pitch(self.law.step, self.law.domain)

    @property
    def unit(self) -> Fraction:
        return self.pitch if self.law.domain == "integer" else self.pitch / 2

    def integers(self, shape: tuple[int, ...], entropy: Entropy) -> NDArray[np.int64]:
        """Noise in whole units; memory beyond the result is bounded by the chunk."""
        tables = self.tables
        d, total = self.law.dimension, math.prod(shape)
        result = np.empty((total, d) if tables.faces else total, dtype=np.int64)
        chunk = max(_CHUNK // d, 1024)
        for start in range(0, total, chunk):
            count = min(chunk, total - start)
            drawn = tables.table.draw(count, entropy)
            part: NDArray[Any] = tables.faces.points(drawn, entropy) if tables.faces else drawn
            if self.law.domain == "real":
                part = within_bins(part, entropy)
            result[start : start + count] = part.T
        return result.reshape((*shape, d) if tables.faces else shape)


@dataclass(frozen=True, eq=False)
class LiftedSampler:
    """Draws (X_i + X_0)/2 of a joint law of one answer more on the real line: X is in odd half
    pitches, so the sums are even. Or (X_i + τ_i·X_0)/2, with τ_i in parts of `TIE_PARTS`."""

    base: LatticeSampler
    ties: tuple[int, ...] | None = None

    is_joint: ClassVar[bool] = True

    @property
    def dimension(self) -> int:
        return self.base.dimension - 1

    only_whole: ClassVar[bool] = False

    @property
    def is_exact(self) -> bool:
        return self.base.is_exact

    @property
    def pitch(self) -> Fraction:
        return self.base.pitch

    @property
    def unit(self) -> Fraction:
        return self.base.unit if self.ties is None else self.base.unit / (2 * TIE_PARTS)

    def integers(self, shape: tuple[int, ...], entropy: Entropy) -> NDArray[np.int64]:
        """Noise in whole units, the answers of one draw along a last axis. X is below 2^47 half
        pitches, of 2^30 shells, so that with ties all is below 2^63."""
        drawn = self.base.integers(shape, entropy)
        if self.ties is not None:
            tied = np.array(self.ties, dtype=np.int64) * drawn[..., :1]
            return np.asarray(drawn[..., 1:] * TIE_PARTS + tied, dtype=np.int64)
        return (drawn[..., 1:] + drawn[..., :1]) >> 1


@dataclass(frozen=True, eq=False)
class ShellTables:
    """The tables of one law: for one answer of its signed places, for several of its
    shells and the faces of their points."""

    table: AliasTable
    faces: FaceTable | None


@lru_cache(maxsize=16)
def shell_tables(law: ShellLaw) -> ShellTables:
    """The tables of a law, whose masses are rounded to integer weights where they are not."""
    weights = drawn_weights(law)
    last = len(weights.weights) - 1
    if law.dimension == 1:
        half = [weight // 2 for weight in weights.weights[1:]]
        signed = [*half[::-1], weights.weights[0], *half]
        return ShellTables(AliasTable.of(signed, range(-last, last + 1), weights.bits), None)
    radii = [k for k, weight in enumerate(weights.weights) if weight]
    table = AliasTable.of([weights.weights[k] for k in radii], range(len(radii)), weights.bits)
    return ShellTables(table, FaceTable.of(radii, law.dimension))


def drawn_weights(law: ShellLaw) -> IntegerWeights:
    """The integer weights of a law, or of the law that is drawn in its place."""
    weights = integer_weights(law)
    if weights is None:
        try:
            made = rounded_weights(law)
        except DesignError:
            # flat steps leave little room for the remainder of 2^128; that of 2^64 is
            # smaller beside each weight
            made = rounded_weights(law, bits=64)
        weights = weights_of(made.masses(), law.dimension)
    last = law.last if weights is None else len(weights.weights) - 1
    if weights is None or last >= _MOST_SHELLS:
        raise InvalidParameterError("shells", last, f"to be fewer than {_MOST_SHELLS}")
    return weights


def within_bins(bins: NDArray[Any], entropy: Entropy) -> NDArray[np.int64]:
    """Half pitches: 2^17 a bin, and an odd number from −(2^16 − 1) to 2^16 − 1 within it."""
    place = np.frombuffer(entropy.take(2 * bins.size), dtype=np.uint16).reshape(bins.shape)
    half_pitches = bins.astype(np.int64)
    half_pitches <<= _FINE_BITS
    half_pitches += place
    half_pitches <<= 1
    half_pitches -= (1 << _FINE_BITS) - 1
    return half_pitches
