"""Exact draws of the sphere with a flat core, e^(−max(‖z‖₂/b − c, 0)), rounded to its lattice.

A law whose level sets are balls is a mixture of uniform ones: Z = b·R·B, B uniform in the unit ball
and R of the density ∝ R^d e^(−R) beyond c. With x = R − c that is (c + x)^d e^(−x), a sum of powers
of x: R is c and a Gamma(k + 1) variable, with probability ∝ d!/(d − k)!·c^(d−k), k from 0 to d. c
is a multiple of 1/64, so these are whole numbers but for a common factor, and k is drawn exactly. B
is the first d of d + 2 coordinates of a direction: with N normal in R^d and exponential E, E_0, …,
E_d,

    Z = b·(c + E_0 + … + E_k)·N/√(‖N‖² + 2E).

The uniforms are those of the sphere law (`sampling.sphere`, which says how they are drawn lazily
and what their errors are), with 64 bits for k, more where these are those of a limit between two k;
and ⌊Z/pitch + ½⌋ is decided in the same way: in floating point unless Z̃ is within `window` of a
half-integer, else in decimal arithmetic with as many bits as it takes.

*The window* of a vector. Each coordinate of N is known to e = 2^−43 and 2E to 2^−47 of itself, so s
= √(‖N‖² + 2E) to √d·e and (2^−47 + d·2^−52)·s, and a coordinate of N/s to (1 + √d)·e/s + 2^−47 +
d·2^−52; c + ΣE to 2^−47 + d·2^−52 of itself, and the products to four units in the last place.
Together, with R = (b/pitch)·(c + ΣE), twice R·((1 + √d)·2^−43/s + 2^−45 + d·2^−50). Vectors with s
< 2^−16 or ΣE > 2d + 202 (which has a probability below e^−72) go to decimal arithmetic at once.

*In decimal arithmetic* from `bits` bits every −ln U is known to 2^(−3 bits/4), at least 2^(−bits/4)
and at most bits; so a radius of N and s are at least 2^(−bits/8) and known to 2^(−5 bits/8)·√(d +
1), a coordinate of N/s to 4(d + 1)·2^(−bits/2), to be multiplied by c + ΣE ≤ c + (d + 1)·bits. All
of it is below 8(d + 1)·(c + (d + 1)·bits)·2^(−bits/2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from leastnoise.errors import InvalidParameterError
from leastnoise.lattice.shells import Floats
from leastnoise.lattice.steps import public_pitch
from leastnoise.sampling.entropy import Entropy, Words
from leastnoise.sampling.sphere import (
    VectorUniforms,
    approximate_uniforms,
    decimals,
    in_chunks,
    precise_uniforms,
    refined,
    surely_rounded,
)

_LARGEST = 2.0**61  # noise beyond this many pitches is not drawn in 64-bit integers
_SHORTEST = 2.0**-16  # s of which floating point speaks


@dataclass(frozen=True, eq=False)
class FlatUniforms(VectorUniforms):
    """As of the sphere law, with the uniforms of E and E_0 to E_d in the place of χ²."""

    @property
    def factors(self) -> int:
        return self.dimension + 2

    @property
    def extra(self) -> int:
        return 0


@dataclass(frozen=True)
class FlatSphereSampler:
    """Draws d answers at once: whole pitches of noise, the continuous law rounded exactly."""

    scale: float  # b
    core: float  # c
    dimension: int
    step: float

    is_joint: ClassVar[bool] = True
    is_exact: ClassVar[bool] = True
    only_whole: ClassVar[bool] = False

    @property
    def pitch(self) -> Fraction:
        return public_pitch(self.step, "real")

    @property
    def unit(self) -> Fraction:
        return self.pitch

    def integers(self, shape: tuple[int, ...], entropy: Entropy) -> NDArray[np.int64]:
        """Noise in whole pitches, the answers of one draw along a last axis."""
        vectors = FlatVectors.of(self)
        each = vectors.uniforms.words + 1
        return in_chunks(shape, self.dimension, each, entropy, vectors.rounded)


def terms(core: Fraction, dimension: int) -> list[int]:
    """Whole numbers in the proportions of the probabilities of k = 0, …, d: d!/(d−k)!·c^(d−k)."""
    p, q = core.numerator, core.denominator
    falling = accumulate(range(dimension, 0, -1), lambda product, one: product * one, initial=1)
    return [one * p ** (dimension - k) * q**k for k, one in enumerate(falling)]


@dataclass(frozen=True, eq=False)
class FlatVectors:
    """⌊Z/pitch + ½⌋ from words of entropy: in floating point where that decides it. The last word
    of a row is for k."""

    uniforms: FlatUniforms
    ratio: Fraction  # b/pitch
    core: Fraction
    upto: tuple[int, ...]  # the sums of the terms, up to each k; the last is their total

    @staticmethod
    @lru_cache(maxsize=16)
    def of(law: FlatSphereSampler) -> FlatVectors:
        """What draws a law whose noise stays within 64-bit integers."""
        ratio, core = Fraction(law.scale) / law.pitch, Fraction(law.core)
        if float(ratio) * 16.0 * (law.core + 2.0 * law.dimension + 202.0) > _LARGEST:
            raise InvalidParameterError(
                "step", law.step, "to be larger: the noise spans more than 2^61 pitches"
            )
        upto = tuple(accumulate(terms(core, law.dimension)))
        return FlatVectors(FlatUniforms(law.dimension), ratio, core, upto)

    def limits(self, bits: int) -> list[int]:
        """The first `bits` bits of the limits between each k and the next."""
        return [(one << bits) // self.upto[-1] for one in self.upto[:-1]]

    def orders(self, drawn: Words, entropy: Entropy) -> NDArray[np.int64]:
        """k of each word: the number of limits below the uniform that begins with it."""
        edges = np.array(self.limits(64), dtype=np.uint64)
        found = np.searchsorted(edges, drawn, side="left")
        open_ones = found != np.searchsorted(edges, drawn, side="right")
        for row in np.flatnonzero(open_ones):
            found[row] = self.order(int(drawn[row]), entropy)
        return np.asarray(found, dtype=np.int64)

    def order(self, word: int, entropy: Entropy) -> int:
        """k of one word and as many more bits as it takes."""
        bits, limits = 64, self.limits(64)
        while word in limits:
            word = word << 64 | int.from_bytes(entropy.take(8), "little")
            bits += 64
            limits = self.limits(bits)
        return sum(one < word for one in limits)

    def rounded(self, drawn: Words, entropy: Entropy) -> NDArray[np.int64]:
        """The noise of each row of words."""
        order = self.orders(drawn[:, -1], entropy)
        places, window, usual = self.approximate(drawn[:, :-1], order)
        places += 0.5
        near = np.abs(places - np.rint(places)) <= window[:, None]
        undecided = near.any(axis=1) | ~usual
        result = np.floor(np.where(undecided[:, None], 0.0, places)).astype(np.int64)
        for row in np.flatnonzero(undecided):
            bits = [int(word) for word in drawn[row, :-1]]
            result[row] = self.decided(bits, int(order[row]), entropy)
        return result

    def approximate(
        self, drawn: Words, order: NDArray[np.int64]
    ) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Z/pitch for each row in floating point, the window of each row, and whether the row is
        within the reach of its proof."""
        d = self.uniforms.dimension
        normal, logs, _, within = approximate_uniforms(self.uniforms, drawn)
        is_added = np.arange(d + 1) <= order[:, None]
        height = np.sum(np.where(is_added, logs[:, 1:], 0.0), axis=1)
        length = np.sqrt(np.sum(normal**2, axis=1) + 2.0 * logs[:, 0])
        usual = within & (length >= _SHORTEST) & (height <= 2.0 * d + 202.0)
        height, length = np.where(usual, height, 1.0), np.where(usual, length, 1.0)
        radius = float(self.ratio) * (float(self.core) + height)
        error = (1.0 + math.sqrt(d)) * 2.0**-43 / length + 2.0**-45 + d * 2.0**-50
        return (radius / length)[:, None] * normal, 2.0 * radius * error, usual

    def decided(self, drawn: Sequence[int], order: int, entropy: Entropy) -> list[int]:
        """The noise of one row, from its words and as many more as it takes."""
        d = self.uniforms.dimension

        def attempt(uniforms: Sequence[int], angles: Sequence[int], bits: int) -> list[int] | None:
            places = self.precise(uniforms, angles, order, bits)
            error = self.ratio * 8 * (d + 1) * (self.core + (d + 1) * bits) / (1 << bits // 2)
            return surely_rounded(places, error)

        return refined(self.uniforms, drawn, entropy, attempt)

    def precise(
        self, uniforms: Sequence[int], angles: Sequence[int], order: int, bits: int
    ) -> list[Fraction]:
        """Z/pitch of one vector from the first `bits` bits of its uniforms."""
        with decimals(bits):
            normals, logs, _ = precise_uniforms(self.uniforms, uniforms, angles, bits)
            core, ratio = self.core, self.ratio
            height = sum(logs[1 : order + 2], Decimal(core.numerator) / core.denominator)
            length = sum((one * one for one in normals), 2 * logs[0]).sqrt()
            scale = height / length * Decimal(ratio.numerator) / ratio.denominator
            return [Fraction(scale * one) for one in normals]
