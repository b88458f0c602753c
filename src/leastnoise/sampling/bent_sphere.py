"""Exact draws of the law e^(−(‖z‖₂/b)^a), rounded to its public lattice.

a = 2d/m with a whole number m, d ≤ m ≤ 2d, so that (‖Z‖/b)^a, a Gamma(d/a) variable, is half a χ²
of m degrees of freedom, and its power 1/a = m/(2d) is at most 1:

    Z = b·(χ²_m/2)^(m/(2d))·N/‖N‖,   N normal in R^d and independent of χ²_m.

The uniforms behind N and χ² are those of the sphere law (`sampling.sphere`, which says how they are
drawn lazily and what their errors are), and ⌊Z/pitch + ½⌋ is decided in the same way: in floating
point unless Z̃ is within `window` of a half-integer, else in decimal arithmetic with as many bits
as it takes.

*The window* of a vector. Each coordinate of N is known to e = 2^−43, so ‖N‖ to √d·e and a
coordinate of N/‖N‖ to (1 + √d)·e/‖N‖ and d·2^−52 for the sum of squares; χ²/2 has a relative error
of 2^−47 + d·2^−52, and for odd m, of which one squared normal is a part, of 2^−40/(½χ²) more (−ln U
≤ 45 times twice the error of a cosine); its power no more, and 2^−46 for the rounded exponent (of a
logarithm that is below 64 wherever ½χ² is between 2^−64 and 2^64) and the power itself (16 units in
the last place). Together, with R = (b/pitch)·(χ²/2)^(m/2d) and |N_l| ≤ ‖N‖, twice R·((1 +
√d)·2^−43/‖N‖ + 2^−44 + d·2^−50 + 2^−40/(½χ²)). Vectors with ‖N‖ < 2^−16, ½χ² < 2^−64 or ½χ² > m +
200 go to decimal arithmetic at once.

*In decimal arithmetic* from `bits` bits every −ln U is known to 2^(−3 bits/4) and at least 2^(−bits
/4). So ½χ² is known to 2m·2^(−3 bits/4), and a power of it between ½ and 1 to 2^(bits/8) times as
much; a radius of N, ≥ 2^(−bits/8), to 2^(−5 bits/8), so a coordinate of N/‖N‖ to 4(1 + √d)·2^(−bits
/2), to be multiplied by (½χ²)^(m/2d) ≤ m·bits. All of it is below 8(m + 1)(d + 1)·bits·2^(−bits/2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from leastnoise.errors import InvalidParameterError
from leastnoise.lattice.shells import Floats
from leastnoise.lattice.steps import public_pitch
from leastnoise.sampling.entropy import Entropy, Words
from leastnoise.sampling.sphere import (
    VectorUniforms,
    approximate_parts,
    decimals,
    in_chunks,
    precise_parts,
    refined,
    surely_rounded,
)

_LARGEST = 2.0**61  # noise beyond this many pitches is not drawn in 64-bit integers
_SHORTEST = 2.0**-16  # ‖N‖ of which floating point speaks


@dataclass(frozen=True, eq=False)
class BentUniforms(VectorUniforms):
    """As of the sphere law, with a χ² of `freedom` degrees of freedom."""

    freedom: int = 2

    @property
    def factors(self) -> int:
        return self.freedom // 2

    @property
    def extra(self) -> int:
        return self.freedom % 2


@dataclass(frozen=True)
class BentSphereSampler:
    """Draws d answers at once: whole pitches of noise, the continuous law rounded exactly."""

    scale: float  # b
    dimension: int
    freedom: int  # m
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
        vectors = BentVectors.of(self)
        each = vectors.uniforms.words
        return in_chunks(shape, self.dimension, each, entropy, vectors.rounded)


@dataclass(frozen=True, eq=False)
class BentVectors:
    """⌊Z/pitch + ½⌋ from words of entropy: in floating point where that decides it."""

    uniforms: BentUniforms
    ratio: Fraction  # b/pitch

    @staticmethod
    @lru_cache(maxsize=16)
    def of(law: BentSphereSampler) -> BentVectors:
        """What draws a law whose noise stays within 64-bit integers."""
        ratio = Fraction(law.scale) / law.pitch
        # ½χ² exceeds m + 200 with a probability below e^−72, and is then drawn in decimals
        if float(ratio) * 16.0 * (law.freedom + 200.0) > _LARGEST:
            raise InvalidParameterError(
                "step", law.step, "to be larger: the noise spans more than 2^61 pitches"
            )
        return BentVectors(BentUniforms(law.dimension, freedom=law.freedom), ratio)

    @property
    def power(self) -> Fraction:
        """1/a."""
        return Fraction(self.uniforms.freedom, 2 * self.uniforms.dimension)

    def rounded(self, drawn: Words, entropy: Entropy) -> NDArray[np.int64]:
        """The noise of each row of words."""
        places, window, usual = self.approximate(drawn)
        places += 0.5
        near = np.abs(places - np.rint(places)) <= window[:, None]
        undecided = near.any(axis=1) | ~usual
        result = np.floor(np.where(undecided[:, None], 0.0, places)).astype(np.int64)
        for row in np.flatnonzero(undecided):
            result[row] = self.decided([int(word) for word in drawn[row]], entropy)
        return result

    def approximate(self, drawn: Words) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Z/pitch for each row in floating point, the window of each row, and whether the row is
        within the reach of its proof."""
        d = self.uniforms.dimension
        normal, chi2, within = approximate_parts(self.uniforms, drawn)
        length, half = np.sqrt(np.sum(normal**2, axis=1)), 0.5 * chi2
        usual = within & (length >= _SHORTEST) & (half >= 2.0**-64)
        usual &= half <= self.uniforms.freedom + 200.0
        half, length = np.where(usual, half, 1.0), np.where(usual, length, 1.0)
        radius = float(self.ratio) * half ** float(self.power)
        error = (1.0 + math.sqrt(d)) * 2.0**-43 / length + 2.0**-44 + d * 2.0**-50
        if self.uniforms.extra:
            error = error + 2.0**-40 / half
        return (radius / length)[:, None] * normal, 2.0 * radius * error, usual

    def decided(self, drawn: Sequence[int], entropy: Entropy) -> list[int]:
        """The noise of one row, from its words and as many more as it takes."""
        d, m = self.uniforms.dimension, self.uniforms.freedom

        def attempt(uniforms: Sequence[int], angles: Sequence[int], bits: int) -> list[int] | None:
            places = self.precise(uniforms, angles, bits)
            error = self.ratio * 8 * (m + 1) * (d + 1) * bits / (1 << bits // 2)
            return surely_rounded(places, error)

        return refined(self.uniforms, drawn, entropy, attempt)

    def precise(self, uniforms: Sequence[int], angles: Sequence[int], bits: int) -> list[Fraction]:
        """Z/pitch of one vector from the first `bits` bits of its uniforms."""
        with decimals(bits):
            normals, chi2 = precise_parts(self.uniforms, uniforms, angles, bits)
            power, ratio = self.power, self.ratio
            log_radius = (chi2 / 2).ln() * power.numerator / power.denominator
            length = sum((one * one for one in normals), Decimal(0)).sqrt()
            scale = log_radius.exp() / length * Decimal(ratio.numerator) / ratio.denominator
            return [Fraction(scale * one) for one in normals]
