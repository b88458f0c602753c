"""Exact draws of the ball-shaped law, rounded to its public lattice; plain or with a common part.

Z = b·√(χ²_{d+1})·G (see `leastnoise.laws.sphere`), and what is returned is ⌊Z/pitch + ½⌋,
coordinate by coordinate: exactly the continuous law, rounded. Of correlated noise (see
`leastnoise.laws.correlated`) Z_l + β·ΣZ is rounded in the place of Z_l, and of the normal law there
is no χ². Normal pairs are √(−2 ln U)·(cos
2πV, sin 2πV); χ² is −2 ln of a product of uniforms, and for even d one squared normal more.

*Lazy exactness.* The uniforms are infinite strings of random bits of which only the first are
drawn: 128 for U, 64 for V. From these a floating-point number Z̃ within a proven distance
`window` of Z/pitch is computed. Unless Z̃ is that close to a half-integer, the rounding is
decided and further bits could not change it. Otherwise the vector is computed again from 256 bits
of each uniform (the bits already drawn and more) in 64-digit decimal arithmetic, whose ln, sqrt,
+ − × ÷ are correctly rounded, and with twice as many of both until every coordinate is decided.
At 256 bits that fails with probability below 2^−90, at any number of bits with probability → 0.

*The window.* Assumed is that NumPy's log, log1p, sin and cos are within 16 units in the
last place (its own tests allow 4). Then −ln U has a relative error below 2^−47.9 (of U
near 1 the complement 1 − U is used), a radius ≤ 9.5 one below 2^−48, cos and sin an
absolute error below 2^−47.3 (the angle itself 2^−48.7), so a normal one below 2^−43.4,
and √χ² one below 2^−43.4 + 2^−47·√χ². Together, for √χ² ≤ √(d+1) + 12, |Z̃ − Z/pitch| ≤
(b/pitch)·(√(d+1) + 16)·2^−42, and twice that is used. A common part adds β·d times as much, and
β·d²·2^−52 of the largest |Z̃|, at most 9.5·(b/pitch)·√χ², for the rounding of the sum. With shares
it is β·g_l·Σ g·Z, |g| ≤ 1, so no more; two roundings more for each term are counted. Widths
multiply all of it by the largest of them, and add one rounding of each product.
Exceptions (√χ² larger: probability below e^−72; the first 64 bits of a U all equal: 2^−63) go to
decimal arithmetic at once.

*Time.* The work is the same for every value but for the second computation. It is made
when the place of Z̃ between two lattice points is near the middle; answers are lattice
points, so that place is the one of answer + Z, a function of the continuous output that
the guarantee already covers. It happens to about 1 vector in 1,000 (60 answers, σ = 8).
Not covered, and not constant in time: the digits of the decimal arithmetic of such a
vector, and whatever the processor does with floating-point numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from decimal import Context, Decimal, getcontext, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from leastnoise.errors import InvalidParameterError
from leastnoise.lattice.shells import Floats
from leastnoise.lattice.steps import public_pitch
from leastnoise.sampling.entropy import Entropy, Words, words

_CHUNK = 1 << 16  # words of entropy at a time
_FIRST_BITS = 256
_LARGEST = 2.0**61  # noise beyond this many pitches is not drawn in 64-bit integers
_NONE = Fraction(0)
# from the first bits of uniforms and angles, and their number: the noise in whole pitches, or None
_Attempt = Callable[[Sequence[int], Sequence[int], int], list[int] | None]
_REACH = 12.0  # √χ² exceeds √(d+1) by this with probability below e^−72


@dataclass(frozen=True, eq=False)
class VectorUniforms:
    """Which words of entropy make which uniform, for one vector.

    Two words each for the radii of the ⌈d/2⌉ normal pairs, the ⌊(d+1)/2⌋ factors of χ²
    and, for even d, its extra normal; then one word each for the angles of the pairs
    and of the extra normal.
    """

    dimension: int
    is_normal: bool = False  # then there is no χ²

    @property
    def pairs(self) -> int:
        return (self.dimension + 1) // 2

    @property
    def factors(self) -> int:
        return 0 if self.is_normal else (self.dimension + 1) // 2

    @property
    def extra(self) -> int:
        return 0 if self.is_normal else 1 - self.dimension % 2

    @property
    def radii(self) -> int:
        return self.pairs + self.factors + self.extra

    @property
    def words(self) -> int:
        return 2 * self.radii + self.pairs + self.extra


@dataclass(frozen=True)
class SphereSampler:
    """Draws d answers at once: whole pitches of noise, the continuous law rounded exactly."""

    scale: float  # b
    dimension: int
    step: float
    domain: str
    common: float = 0.0  # β
    is_normal: bool = False
    shares: tuple[float, ...] | None = None  # g; 1 everywhere unless given
    widths: tuple[float, ...] | None = None  # what each answer's noise is multiplied by; else 1

    is_joint: ClassVar[bool] = True
    is_exact: ClassVar[bool] = True

    @property
    def only_whole(self) -> bool:
        return self.domain == "integer"

    @property
    def pitch(self) -> Fraction:
        return public_pitch(self.step, self.domain)

    @property
    def unit(self) -> Fraction:
        return self.pitch

    def integers(self, shape: tuple[int, ...], entropy: Entropy) -> NDArray[np.int64]:
        """Noise in whole pitches, the answers of one draw along a last axis."""
        return RoundedVectors.of(self).integers(shape, entropy)


@dataclass(frozen=True)
class FirstOfVectors:
    """The first `dimension` answers of each draw; the others are thrown away
    (`leastnoise.laws.part_of_sphere`)."""

    whole: SphereSampler
    dimension: int

    is_joint: ClassVar[bool] = True
    is_exact: ClassVar[bool] = True
    only_whole: ClassVar[bool] = False

    @property
    def pitch(self) -> Fraction:
        return self.whole.pitch

    @property
    def unit(self) -> Fraction:
        return self.whole.unit

    def integers(self, shape: tuple[int, ...], entropy: Entropy) -> NDArray[np.int64]:
        """Noise in whole pitches, the answers of one draw along a last axis."""
        return np.ascontiguousarray(self.whole.integers(shape, entropy)[..., : self.dimension])


@dataclass(frozen=True, eq=False)
class RoundedVectors:
    """⌊Z/pitch + ½⌋ from words of entropy: in floating point where that decides it."""

    uniforms: VectorUniforms
    ratio: Fraction  # b/pitch
    window: float
    common: Fraction = _NONE  # β
    shares: tuple[float, ...] | None = None  # g
    widths: tuple[float, ...] | None = None

    @staticmethod
    @lru_cache(maxsize=16)
    def of(law: SphereSampler) -> RoundedVectors:
        """What draws a law whose noise stays within 64-bit integers."""
        ratio = Fraction(law.scale) / law.pitch
        reach = math.sqrt(law.dimension + 1.0) + _REACH
        widest = 1.0 if law.widths is None else max(law.widths)
        far = float(ratio) * reach * 16.0 * (1.0 + law.common * law.dimension) * widest
        if far > _LARGEST:
            raise InvalidParameterError(
                "step", law.step, "to be larger: the noise spans more than 2^61 pitches"
            )
        window = float(ratio) * (reach + 4.0) * 2.0**-41
        window *= 1.0 + law.common * law.dimension
        roundings = law.dimension if law.shares is None else law.dimension + 3
        window += float(ratio) * reach * 10.0 * law.common * law.dimension * roundings * 2.0**-52
        if law.widths is not None:
            window = window * widest * (1.0 + 2.0**-50) + far * 2.0**-52
        uniforms = VectorUniforms(law.dimension, law.is_normal)
        drawn = uniforms, ratio, window, Fraction(law.common), law.shares, law.widths
        return RoundedVectors(*drawn)

    def integers(self, shape: tuple[int, ...], entropy: Entropy) -> NDArray[np.int64]:
        layout = self.uniforms
        return in_chunks(shape, layout.dimension, layout.words, entropy, self._rounded)

    def _rounded(self, drawn: Words, entropy: Entropy) -> NDArray[np.int64]:
        places, usual = approximate(self.uniforms, drawn, float(self.ratio))
        if self.common and self.shares is None:
            places += float(self.common) * np.sum(places, axis=1, keepdims=True)
        elif self.common:
            g = np.array(self.shares)
            places += float(self.common) * g * np.sum(g * places, axis=1, keepdims=True)
        if self.widths is not None:
            places *= np.array(self.widths)
        places += 0.5
        floor = np.floor(places)
        near = np.abs(places - np.rint(places)) <= self.window
        result = floor.astype(np.int64)
        for row in np.flatnonzero(near.any(axis=1) | ~usual):
            result[row] = decided(
                self.uniforms,
                [int(word) for word in drawn[row]],
                self.ratio,
                entropy,
                self.common,
                self.shares,
                self.widths,
            )
        return result


def in_chunks(
    shape: tuple[int, ...],
    dimension: int,
    each: int,
    entropy: Entropy,
    rounded: Callable[[Words, Entropy], NDArray[np.int64]],
) -> NDArray[np.int64]:
    """Vectors from `each` words of entropy, so many at a time, the answers along a last axis."""
    total = math.prod(shape)
    result = np.empty((total, dimension), dtype=np.int64)
    chunk = max(_CHUNK // each, 1)
    for start in range(0, total, chunk):
        count = min(chunk, total - start)
        drawn = words(entropy, count * each).reshape(count, each)
        result[start : start + count] = rounded(drawn, entropy)
    return result.reshape((*shape, dimension))


def approximate(
    layout: VectorUniforms, drawn: Words, ratio: float
) -> tuple[Floats, NDArray[np.bool_]]:
    """Z/pitch for each row of words in floating point, and whether the row is within
    the reach of the window's proof."""
    normal, chi2, within = approximate_parts(layout, drawn)
    if layout.is_normal:
        return ratio * normal, within
    chi = np.sqrt(chi2)
    usual = (chi <= math.sqrt(layout.dimension + 1.0) + _REACH) & within
    return (ratio * chi)[:, None] * normal, usual


def approximate_parts(
    layout: VectorUniforms, drawn: Words
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """The normal vector and χ² of each row of words, and whether no U is too near 0 or 1."""
    normal, logs, angle, within = approximate_uniforms(layout, drawn)
    chi2 = 2.0 * logs[:, : layout.factors].sum(axis=1)
    if layout.extra:
        chi2 += 2.0 * logs[:, -1] * np.cos(angle[:, -1]) ** 2
    return normal, chi2, within


def approximate_uniforms(
    layout: VectorUniforms, drawn: Words
) -> tuple[Floats, Floats, Floats, NDArray[np.bool_]]:
    """The normal vector of each row of words, −ln U of its further uniforms, its angles, and
    whether no U is too near 0 or 1."""
    count, d = drawn.shape[0], layout.dimension
    high, low = drawn[:, : layout.radii], drawn[:, layout.radii : 2 * layout.radii]
    lower_half = high >> np.uint64(63) == 0
    mask = np.where(lower_half, np.uint64(0), ~np.uint64(0))  # of U ≥ ½ the complement
    high, low = high ^ mask, low ^ mask
    part = (high.astype(np.float64) + low.astype(np.float64) * 2.0**-64) * 2.0**-64 + 2.0**-129
    minus_log = np.where(lower_half, -np.log(part), -np.log1p(-part))
    angle = (2.0 * math.pi * 2.0**-64) * drawn[:, 2 * layout.radii :].astype(np.float64)
    pairs = layout.pairs
    radius = np.sqrt(2.0 * minus_log[:, :pairs])
    normal = np.empty((count, 2 * pairs))
    normal[:, 0::2] = radius * np.cos(angle[:, :pairs])
    normal[:, 1::2] = radius * np.sin(angle[:, :pairs])
    return normal[:, :d], minus_log[:, pairs:], angle, (high != 0).all(axis=1)


def decided(
    layout: VectorUniforms,
    drawn: Sequence[int],
    ratio: Fraction,
    entropy: Entropy,
    common: Fraction = _NONE,
    shares: Sequence[float] | None = None,
    widths: Sequence[float] | None = None,
) -> list[int]:
    """⌊Z/pitch + ½⌋ of one vector, from the words already drawn and as many more as it takes."""

    def attempt(uniforms: Sequence[int], angles: Sequence[int], bits: int) -> list[int] | None:
        # Every U is at least 2^(−bits/4) from 0 and 1, so −ln U is known to 2^(−3 bits/4)
        # and a radius, ≥ 2^(−bits/8), to 2^(−5 bits/8); bits/4 digits are 2^(−0.83 bits).
        # So the error of Z/pitch is below (b/pitch)·(d + bits)·2^(−bits/2), amply.
        places = precise(layout, uniforms, angles, bits, ratio)
        error = Fraction(ratio) * (layout.dimension + bits) / (1 << bits // 2)
        if common:
            places = _with_common(places, common, shares)
            error *= 1 + common * layout.dimension
        if widths is not None:
            places = _widened(places, widths)
            error *= Fraction(max(widths))
        return surely_rounded(places, error)

    return refined(layout, drawn, entropy, attempt)


def refined(
    layout: VectorUniforms, drawn: Sequence[int], entropy: Entropy, attempt: _Attempt
) -> list[int]:
    """What `attempt` finds from the first bits of the uniforms and angles, with twice as many bits
    until it finds something; the words already drawn are their first bits."""
    radii = layout.radii
    uniforms = [drawn[i] << 64 | drawn[radii + i] for i in range(radii)]
    angles = list(drawn[2 * radii :])
    have_uniform, have_angle, bits = 128, 64, _FIRST_BITS
    while True:
        uniforms = [
            value << bits - have_uniform | _more(bits - have_uniform, entropy) for value in uniforms
        ]
        angles = [
            value << bits - have_angle | _more(bits - have_angle, entropy) for value in angles
        ]
        have_uniform = have_angle = bits
        least = min(min(value, (1 << bits) - 1 - value) for value in uniforms)
        if least >> (bits - bits // 4):
            found = attempt(uniforms, angles, bits)
            if found is not None:
                return found
        bits *= 2


def surely_rounded(places: Sequence[Fraction], error: Fraction) -> list[int] | None:
    """⌊place + ½⌋ of each, where the error cannot change any."""
    floors = [math.floor(place + Fraction(1, 2) - error) for place in places]
    if floors == [math.floor(place + Fraction(1, 2) + error) for place in places]:
        return floors
    return None


def _widened(places: Sequence[Fraction], widths: Sequence[float]) -> list[Fraction]:
    return [place * Fraction(width) for place, width in zip(places, widths, strict=True)]


def _with_common(
    places: Sequence[Fraction], common: Fraction, shares: Sequence[float] | None
) -> list[Fraction]:
    """z_l + β·g_l·Σ g·z, exactly."""
    g = [Fraction(1)] * len(places) if shares is None else [Fraction(one) for one in shares]
    along = common * sum((one * place for one, place in zip(g, places, strict=True)), Fraction(0))
    return [place + one * along for one, place in zip(g, places, strict=True)]


def precise(
    layout: VectorUniforms,
    uniforms: Sequence[int],
    angles: Sequence[int],
    bits: int,
    ratio: Fraction,
) -> list[Fraction]:
    """Z/pitch of one vector from the first `bits` bits of its uniforms, in decimal
    arithmetic of bits/4 digits."""
    with decimals(bits):
        normals, chi2 = precise_parts(layout, uniforms, angles, bits)
        scale = chi2.sqrt() * Decimal(ratio.numerator) / Decimal(ratio.denominator)
        return [Fraction(scale * normal) for normal in normals]


def decimals(bits: int) -> AbstractContextManager[Context]:
    """Decimal arithmetic of bits/4 digits, and ten more."""
    return localcontext(Context(prec=bits // 4 + 10, Emax=10**9, Emin=-(10**9)))


def precise_parts(
    layout: VectorUniforms, uniforms: Sequence[int], angles: Sequence[int], bits: int
) -> tuple[list[Decimal], Decimal]:
    """The normal vector and χ², which is 1 where there is none, in the current arithmetic."""
    normals, logs, turns = precise_uniforms(layout, uniforms, angles, bits)
    chi2 = Decimal(1) if layout.is_normal else 2 * sum(logs[: layout.factors], Decimal(0))
    if layout.extra:
        chi2 += 2 * logs[-1] * turns[-1][0] ** 2
    return normals, chi2


def precise_uniforms(
    layout: VectorUniforms, uniforms: Sequence[int], angles: Sequence[int], bits: int
) -> tuple[list[Decimal], list[Decimal], list[tuple[Decimal, Decimal]]]:
    """The normal vector, −ln U of the further uniforms, and cosine and sine of each angle."""
    whole = Decimal(1 << bits + 1)
    logs = [-(Decimal(2 * value + 1) / whole).ln() for value in uniforms]
    pi = _pi()
    turns = [_cos_sin(Decimal(2 * value + 1) / whole, pi) for value in angles]
    normals: list[Decimal] = []
    for minus_log, (cos, sin) in zip(logs[: layout.pairs], turns, strict=False):
        radius = (2 * minus_log).sqrt()
        normals += [radius * cos, radius * sin]
    return normals[: layout.dimension], logs[layout.pairs :], turns


def _more(bits: int, entropy: Entropy) -> int:
    return int.from_bytes(entropy.take(bits // 8), "little")


def _cos_sin(turn: Decimal, pi: Decimal) -> tuple[Decimal, Decimal]:
    """cos 2πt and sin 2πt for 0 < t < 1: quarter turns exactly, the rest by Taylor's
    series, whose terms are below (π/2)^n/n!."""
    quarter = int(4 * turn)
    x = (4 * turn - quarter) * pi / 2
    smallest = Decimal(10) ** (-getcontext().prec - 2)
    sums, term, n = [Decimal(0), Decimal(0)], Decimal(1), 0
    while abs(term) > smallest:
        sums[0] += term
        sums[1] += term * x / (n + 1)
        term, n = -term * x * x / ((n + 1) * (n + 2)), n + 2
    cos, sin = sums
    return [(cos, sin), (-sin, cos), (-cos, -sin), (sin, -cos)][quarter]


def _pi() -> Decimal:
    """π by Machin's formula, to the precision of the current context."""

    def arccot(n: int) -> Decimal:
        power, total, k = Decimal(1) / n, Decimal(0), 1
        while total + power / k != total:
            total += power / k
            power, k = -power / (n * n), k + 2
        return total

    return 4 * (4 * arccot(5) - arccot(239))
