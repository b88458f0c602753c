"""Exact draws of the cut cube law, rounded to its public lattice.

Z = bρw: w uniform on the cube [−1, 1]^d, drawn again until Σw_i² ≤ C, and ρ a sum of d + 1
exponentials −ln U (see `leastnoise.losses.cut_cube`). What is returned is ⌊Z/pitch + ½⌋, exactly
the continuous law, rounded. How often w is drawn is independent of the w that is kept.

*Lazy exactness*, as for the sphere: every uniform is an infinite string of random bits of which 64
are drawn. From these Σw_i² is known in floating point to d(d + 16)·2^−52, and whether it is at most
C unless it is that close to C. With numpy's log within 16 units in the last place, −ln U of a
U ≥ 2^−16 is known to 2^−47 + 2^−48·(−ln U), so ρ to (d + 1 + ρ)·2^−45 for up to 200 answers, and
Z/pitch to (b/pitch)(d + 1 + ρ)·2^−44; twice that is the window around half-integers. What these do
not decide, a U below 2^−16 and a ρ beyond 3(d + 1) + 100 (probability below e^−100), is computed
again from the bits already drawn and more: Σw_i² in integers, Z in decimal arithmetic of bits/4
digits, until it is decided. That happens to about 1 vector in 800 (60 answers, σ = 8), mostly for a
small U; the time it takes depends on where Z lies between two lattice points, which the guarantee
of the continuous law covers, and on the digits of the arithmetic, which it does not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from leastnoise.errors import InvalidParameterError
from leastnoise.lattice.shells import Floats
from leastnoise.lattice.steps import public_pitch
from leastnoise.sampling.entropy import Entropy, Words, words

MOST_ANSWERS = 200  # for which the window is proven
_CHUNK = 1 << 16  # words of entropy at a time
_LARGEST = 2.0**61  # noise beyond this many pitches is not drawn in 64-bit integers
_FIRST_BITS = 256


@dataclass(frozen=True)
class CutCubeSampler:
    """Draws d answers at once: whole pitches of noise, the continuous law rounded exactly."""

    scale: float  # b
    square: float  # C
    dimension: int
    step: float
    domain: str

    is_joint: ClassVar[bool] = True
    is_exact: ClassVar[bool] = True
    only_whole: ClassVar[bool] = False

    @property
    def pitch(self) -> Fraction:
        return public_pitch(self.step, self.domain)

    @property
    def unit(self) -> Fraction:
        return self.pitch

    def integers(self, shape: tuple[int, ...], entropy: Entropy) -> NDArray[np.int64]:
        """Noise in whole pitches, the answers of one draw along a last axis."""
        d, total = self.dimension, math.prod(shape)
        ratio = Fraction(self.scale) / self.pitch
        farthest = 3.0 * (d + 1.0) + 100.0
        if float(ratio) * farthest * 16.0 > _LARGEST:
            raise InvalidParameterError(
                "step", self.step, "to be larger: the noise spans more than 2^61 pitches"
            )
        result = np.empty((total, d), dtype=np.int64)
        filled = 0
        while filled < total:
            drawn = min(4 * (total - filled) + 16, max(_CHUNK // d, 1))
            points = words(entropy, drawn * d).reshape(drawn, d)
            kept, bits = self._kept(points, entropy)
            kept = kept[: total - filled]
            radii = words(entropy, len(kept) * (d + 1)).reshape(len(kept), d + 1)
            floors, is_sure = _rounded(points[kept], radii, float(ratio), farthest)
            for row in range(len(kept)):
                known = bits.get(int(kept[row]))
                if known is not None or not is_sure[row]:
                    place = (
                        ([int(word) for word in points[kept[row]]], 64) if known is None else known
                    )
                    floors[row] = decided(
                        *place, [int(word) for word in radii[row]], ratio, entropy
                    )
            result[filled : filled + len(kept)] = floors
            filled += len(kept)
        return result.reshape((*shape, d))

    def _kept(
        self, points: Words, entropy: Entropy
    ) -> tuple[NDArray[np.int64], dict[int, tuple[list[int], int]]]:
        """The rows inside the ball, and the bits of those for which 64 did not decide it."""
        d = self.dimension
        squares = np.sum(_in_cube(points) ** 2, axis=1)
        inside = squares <= self.square
        longer: dict[int, tuple[list[int], int]] = {}
        for row in np.flatnonzero(np.abs(squares - self.square) <= d * (d + 16.0) * 2.0**-52):
            place = [int(word) for word in points[row]]
            inside[row], place, bits = inside_ball(place, Fraction(self.square), entropy)
            longer[int(row)] = place, bits
        return np.flatnonzero(inside), longer


def _in_cube(points: Words) -> Floats:
    return points.astype(np.float64) * 2.0**-63 - 1.0


def _rounded(
    points: Words, radii: Words, ratio: float, farthest: float
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """⌊Z/pitch + ½⌋ in floating point, and whether that is proven."""
    uniform = np.maximum(radii.astype(np.float64), 1.0) * 2.0**-64
    rho = -np.sum(np.log(uniform), axis=1)
    usual = (uniform >= 2.0**-16).all(axis=1) & (rho <= farthest)
    places = ratio * rho[:, None] * _in_cube(points) + 0.5
    window = ratio * (radii.shape[1] + farthest) * 2.0**-43
    near = np.abs(places - np.rint(places)) <= window
    within = np.where(usual[:, None], places, 0.0)
    return np.floor(within).astype(np.int64), usual & ~near.any(axis=1)


def inside_ball(
    place: Sequence[int], square: Fraction, entropy: Entropy
) -> tuple[bool, list[int], int]:
    """Whether Σw² ≤ C for the w whose first 64 bits are given, with the bits that it took."""
    bits, known = 64, list(place)
    while True:
        whole = 1 << bits
        # |w| lies between (a − 1)/2^bits and (a + 1)/2^bits
        sizes = [abs(2 * value + 1 - whole) for value in known]
        low = sum((size - 1) ** 2 for size in sizes)
        high = sum((size + 1) ** 2 for size in sizes)
        limit = square * whole * whole
        if high <= limit or low > limit:
            return high <= limit, known, bits
        known = [value << bits | _more(bits, entropy) for value in known]
        bits *= 2


def decided(
    place: Sequence[int], bits_known: int, radii: Sequence[int], ratio: Fraction, entropy: Entropy
) -> list[int]:
    """⌊Z/pitch + ½⌋ of one vector, from the bits already drawn and as many more as it takes."""
    points, uniforms = list(place), list(radii)
    bits, have = max(_FIRST_BITS, bits_known), 64
    while True:
        points = [
            value << bits - bits_known | _more(bits - bits_known, entropy) for value in points
        ]
        uniforms = [value << bits - have | _more(bits - have, entropy) for value in uniforms]
        bits_known = have = bits
        # Every U is at least 2^(−bits/4), so −ln U is known to 2^(−3 bits/4), w to 2^−bits; ρ is
        # below (d + 1)·bits. So the error of Z/pitch is below (b/pitch)·(d + bits)·2^(−bits/2).
        if min(uniforms) >> (bits - bits // 4):
            places = precise(points, uniforms, bits, ratio)
            error = ratio * (len(points) + bits) / (1 << bits // 2)
            floors = [math.floor(each + Fraction(1, 2) - error) for each in places]
            if floors == [math.floor(each + Fraction(1, 2) + error) for each in places]:
                return floors
        bits *= 2


def precise(
    points: Sequence[int], uniforms: Sequence[int], bits: int, ratio: Fraction
) -> list[Fraction]:
    """Z/pitch from the first `bits` bits of its uniforms, ρ in decimal arithmetic of bits/4
    digits."""
    with localcontext(Context(prec=bits // 4 + 10, Emax=10**9, Emin=-(10**9))):
        whole = Decimal(1 << bits + 1)
        rho = -sum(((Decimal(2 * value + 1) / whole).ln() for value in uniforms), Decimal(0))
    radius = Fraction(rho) * ratio
    return [radius * (Fraction(2 * value + 1, 1 << bits) - 1) for value in points]


def _more(bits: int, entropy: Entropy) -> int:
    return int.from_bytes(entropy.take(bits // 8), "little")
