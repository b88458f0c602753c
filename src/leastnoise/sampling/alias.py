"""The tables behind a draw, in exact integers: an alias table for the weights and the
first face of a point of a shell.

*Alias table* (Walker 1977). With 2^c columns of 2^(bits−c) units each, a draw of `bits`
random bits is a column (its first c bits) and a unit in it; the first units of a column
belong to one outcome and the rest to another. Both numbers are powers of two, so the table
is exact in integers and a draw is one comparison and two look-ups, whatever its value.

*Point of a shell.* Sort the points of shell k by the first coordinate l that lies on the face |x_l|
= k: those before it have 2k−1 values, it has 2, those after it 2k+1. So l has probability 2(2k−1)^l
(2k+1)^(d−1−l)/n_k, and given l all coordinates are independent and uniform. 64 random bits decide
l, unless they tie with a boundary (probability below d·2^−64); then more bits are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from leastnoise.sampling.entropy import Entropy, Words, words

_WORD = 1 << 64


@dataclass(frozen=True, eq=False)
class AliasTable:
    """`last_unit` is, for each column, the last draw (as a `bits`-bit number) that
    gives the first of its two outcomes."""

    bits: int
    column_bits: int
    last_unit: Words  # its high words, if bits = 128
    last_unit_low: Words  # empty, if bits = 64
    outcomes: NDArray[np.int32]  # two a column

    @staticmethod
    def of(weights: Sequence[int], values: Sequence[int], bits: int) -> AliasTable:
        """The table that gives values[i] with probability weights[i]/2^bits; the
        weights must sum to 2^bits."""
        column_bits = max((len(weights) - 1).bit_length(), 1)
        columns, height = 1 << column_bits, 1 << (bits - column_bits)
        pairs, cut = _columns([*weights, *[0] * (columns - len(weights))], height)
        last = [j * height + cut[j] - 1 for j in range(columns)]
        high = [unit >> 64 for unit in last] if bits == 128 else last
        low = [unit % _WORD for unit in last] if bits == 128 else []
        value = [*values, *[0] * (columns - len(values))]  # the padding is never drawn
        outcomes = np.array([value[index] for pair in pairs for index in pair], dtype=np.int32)
        return AliasTable(
            bits, column_bits, np.array(high, np.uint64), np.array(low, np.uint64), outcomes
        )

    def draw(self, count: int, entropy: Entropy) -> NDArray[np.int32]:
        """`count` independent outcomes. The work does not depend on them."""
        high = words(entropy, count)
        column = (high >> np.uint64(64 - self.column_bits)).view(np.int64)
        # never out of range; mode="raise" costs 2 ns a draw more
        last = self.last_unit.take(column, mode="clip")
        second = high > last
        if self.bits == 128:
            last_low = self.last_unit_low.take(column, mode="clip")
            second |= (high == last) & (words(entropy, count) > last_low)
        column <<= 1
        column += second
        return self.outcomes.take(column, mode="clip")


def _columns(left: list[int], height: int) -> tuple[list[tuple[int, int]], list[int]]:
    """The two outcomes of each column, and how many of its `height` units belong to the
    first; `left` is what each outcome has still to give, and is used up."""
    columns = len(left)
    pairs, cut = [(j, j) for j in range(columns)], [height] * columns
    small = [j for j in range(columns) if left[j] < height]
    large = [j for j in range(columns) if left[j] > height]
    while small:
        j, donor = small.pop(), large[-1]
        pairs[j], cut[j] = ((j, donor), left[j]) if left[j] else ((donor, donor), height)
        left[donor] -= height - left[j]
        if left[donor] <= height:
            large.pop()
            if left[donor] < height:
                small.append(donor)
    return pairs, cut


@dataclass(frozen=True, eq=False)
class FaceTable:
    """For each listed radius (columns) the boundaries ⌊2^64·P(l < j)⌋, j = 1 … d−1 (rows)."""

    radii: NDArray[np.int64]
    dimension: int
    boundaries: Words

    @staticmethod
    def of(radii: Sequence[int], dimension: int) -> FaceTable:
        columns = [
            [_WORD * below // total for below, total in _below_face(k, dimension)] for k in radii
        ]
        # Shell 0 is one point: P(l < j) = 1, and 2^64 does not fit; any l will do there.
        columns = [[min(boundary, _WORD - 1) for boundary in column] for column in columns]
        boundaries = np.array(columns, dtype=np.uint64).reshape(len(radii), dimension - 1)
        return FaceTable(
            np.array(radii, dtype=np.int64), dimension, np.ascontiguousarray(boundaries.T)
        )

    def points(self, shells: NDArray[np.int32], entropy: Entropy) -> NDArray[np.int64]:
        """A uniform point of shell radii[i] for each listed i, one a column: rows of
        equal coordinates are twice as fast."""
        k = self.radii[shells]
        vector, face = np.arange(k.size), self._first_faces(shells, entropy)
        before = np.arange(self.dimension)[:, None] < face
        sizes = (2 * k + 1) - 2 * before
        sizes[face, vector] = 2
        values = uniform_below(sizes, entropy)
        sign = 2 * values[face, vector] - 1
        values -= k
        values += before
        values[face, vector] = sign * k
        return values

    def _first_faces(self, shells: NDArray[np.int32], entropy: Entropy) -> NDArray[np.int64]:
        drawn = words(entropy, shells.size)
        face = np.zeros(shells.size, dtype=np.int64)
        tied = np.zeros(shells.size, dtype=np.bool_)
        for row in self.boundaries:
            boundary = row.take(shells, mode="clip")
            face += drawn >= boundary
            tied |= drawn == boundary
        for index in np.flatnonzero(tied):
            face[index] = self._exact_face(int(shells[index]), int(drawn[index]), entropy)
        return face

    def _exact_face(self, shell: int, drawn: int, entropy: Entropy) -> int:
        """The face for a 64-bit draw that ties with a boundary: draw more bits until no
        boundary is inside their interval."""
        k = int(self.radii[shell])
        if k == 0:
            return 0
        boundaries = [Fraction(below, total) for below, total in _below_face(k, self.dimension)]
        bits = 64
        while True:
            low, high = Fraction(drawn, 1 << bits), Fraction(drawn + 1, 1 << bits)
            if not any(low < boundary < high for boundary in boundaries):
                return sum(boundary <= low for boundary in boundaries)
            drawn, bits = drawn << 64 | int(words(entropy, 1)[0]), bits + 64


def _below_face(k: int, dimension: int) -> list[tuple[int, int]]:
    """(points of shell k whose first face coordinate is below j, points of shell k), j
    = 1 … d−1."""
    outer, inner = 2 * k + 1, 2 * k - 1
    if k == 0:
        return [(1, 1)] * (dimension - 1)
    total = outer**dimension - inner**dimension
    return [
        (outer**dimension - inner**j * outer ** (dimension - j), total) for j in range(1, dimension)
    ]


def uniform_below(sizes: NDArray[np.int64], entropy: Entropy) -> NDArray[np.int64]:
    """Uniform integers in [0, size) for sizes below 2^31, exactly (Lemire 2019).

    The high word of draw·size, where the low word is at least 2^64 mod size; the
    others, fewer than one in 2^33, are drawn again.
    """
    n = sizes.astype(np.uint64)
    value, low = _product(words(entropy, n.size).reshape(n.shape), n)
    # a superset of the rejected that needs no division
    for place in zip(*np.nonzero(low < n), strict=True):
        size, rest = int(n[place]), int(low[place])
        while rest < _WORD % size:
            value[place], rest = divmod(int(words(entropy, 1)[0]) * size, _WORD)
    return value.view(np.int64)


def _product(drawn: Words, n: Words) -> tuple[Words, Words]:
    """High and low words of drawn·n for n < 2^31."""
    half = np.uint64(32)
    low = drawn * n
    value = (drawn & np.uint64(0xFFFFFFFF)) * n
    value >>= half
    value += (drawn >> half) * n
    value >>= half
    return value, low
