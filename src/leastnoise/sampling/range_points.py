"""A uniform point of a shell of the range norm, in exact integers and with fixed work.

Shell t is {x_i = y_i − y_0} of the y in {0, …, t}^n, n = d + 1, that have both an entry 0 and an
entry t (`lattice.bodies.range`). The entries are drawn one after another; what counts of the past
is whether no end, one of the ends 0 and t, or both were seen. With r entries left, this one
included, there are

    E_r = (t+1)^r − 2t^r + (t−1)^r   completions where no end was seen, of which 2·D_{r−1} have an
                                     end here, and
    D_r = (t+1)^r − t^r              where one was, of which (t+1)^(r−1) have the other end here,

so the chance that this entry is a (the other) end is a quotient of whole numbers, and given the
answer the entry is uniform: on the 2 ends or on the t − 1 values between them, then on the t values
that are not the missing end, then on all t + 1.

64 random bits decide each of the n chances, unless they tie with ⌊2^64·p⌋ (probability 2^−64): then
more bits are drawn. Every entry takes 8 bytes for its chance and 8 for its value, whatever they
are. Both chances are at least 1/(t+1): E_r ≤ D_r, and E_r = 2D_{r−1} + (t−1)E_{r−1}.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise.sampling.alias import uniform_below
from leastnoise.sampling.entropy import Entropy, Words, words

_WORD = 1 << 64


@dataclass(frozen=True, eq=False)
class RangeTable:
    """For each listed radius (last axis), for no end and one end seen (first axis) and each place
    (second axis) the last 64-bit word that says yes: ⌊2^64·p⌋ − 1."""

    radii: NDArray[np.int64]
    dimension: int
    last_yes: Words

    @staticmethod
    def of(radii: Sequence[int], dimension: int) -> RangeTable:
        n, sides = dimension + 1, np.array(radii, dtype=object)
        yes = np.full((2, n, len(radii)), _WORD - 1, dtype=np.uint64)
        for left in range(1, n + 1):
            for seen in (0, 1):
                ends, all_of = _chances(sides, left, seen)
                if ends is not None:
                    bound = np.minimum(_WORD * ends // all_of, _WORD) - 1
                    yes[seen, n - left] = np.where(sides > 0, bound, _WORD - 1).astype(np.uint64)
        return RangeTable(np.array(radii, dtype=np.int64), dimension, yes)

    def points(self, shells: NDArray[np.int32], entropy: Entropy) -> NDArray[np.int64]:
        """A uniform point of shell radii[i] for each listed i, one a column."""
        t = self.radii[shells]
        is_end, first_is_seen, both_are_seen = self._ends(shells, entropy)
        none_seen = ~first_is_seen
        one_seen = first_is_seen & ~both_are_seen
        # how many values this entry has: 2 ends or t − 1 between; 1 or t; t + 1
        sizes = np.where(none_seen, np.where(is_end, 2, t - 1), t + 1)
        sizes = np.where(one_seen, np.where(is_end, 1, t), sizes)
        values = uniform_below(np.maximum(sizes, 1), entropy)
        top_first = np.any(none_seen & is_end & (values == 1), axis=0)
        entry = np.where(none_seen, np.where(is_end, values * t, values + 1), values)
        other = np.where(top_first, 0, t)
        entry = np.where(one_seen, np.where(is_end, other, values + top_first), entry)
        entry *= t > 0
        return np.asarray(entry[1:] - entry[0], dtype=np.int64)

    def _ends(
        self, shells: NDArray[np.int32], entropy: Entropy
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
        """Of every place and point: whether it is the first or the second end, and whether one or
        both were seen before it."""
        n, count = self.dimension + 1, shells.size
        is_end = np.zeros((n, count), dtype=np.bool_)
        one, both = np.zeros((n + 1, count), np.bool_), np.zeros((n + 1, count), np.bool_)
        for place in range(n):
            drawn = words(entropy, count)
            last = np.where(
                one[place],
                self.last_yes[1, place].take(shells, mode="clip"),
                self.last_yes[0, place].take(shells, mode="clip"),
            )
            yes = drawn <= last
            for index in np.flatnonzero((drawn - last == 1) & (drawn != 0)):
                yes[index] = self._decided(
                    int(shells[index]), place, int(one[place, index]), int(drawn[index]), entropy
                )
            is_end[place] = yes & ~both[place]
            one[place + 1] = one[place] | is_end[place]
            both[place + 1] = both[place] | (one[place] & is_end[place])
        return is_end, one[:-1], both[:-1]

    def _decided(self, shell: int, place: int, seen: int, drawn: int, entropy: Entropy) -> bool:
        """Whether a uniform number that begins with the 64 bits `drawn` is below the chance: draw
        more bits until that is certain."""
        side = np.array([int(self.radii[shell])], dtype=object)
        ends, all_of = _chances(side, self.dimension + 1 - place, seen)
        if ends is None or side[0] == 0:
            return True
        yes, total, bits = int(ends[0]), int(all_of[0]), 64
        while True:
            if (drawn + 1) * total <= yes << bits:
                return True
            if drawn * total >= yes << bits:
                return False
            drawn, bits = drawn << 64 | int(words(entropy, 1)[0]), bits + 64


def _chances(sides: NDArray[np.object_], left: int, seen: int) -> tuple[Any, Any]:
    """How many completions of `left` entries have a (the other) end at the first of them, and how
    many there are, where none (one) was seen; (None, None) where the last two must be ends."""
    t = np.maximum(sides, 1)
    if seen:
        return (t + 1) ** (left - 1), (t + 1) ** left - t**left
    if left < 2:
        return None, None
    ends = 2 * ((t + 1) ** (left - 1) - t ** (left - 1))
    return ends, (t + 1) ** left - 2 * t**left + (t - 1) ** left
