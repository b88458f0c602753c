"""A uniform point of a shell of the touched and of the count norm, in exact integers.

Both have a closed form for how many y of {1, 2, …}^a have g(y) = p (`lattice.bodies.capped`), and
one for those of them whose first entry is at most v. So a point is drawn in these steps, each by
a uniform whole number below a known one:

1. how many entries are not 0 (of the count norm: how many are positive, and their share p of the
   radius t = p + q; then how many are negative), in proportion to how many points there are;
2. which entries they are, and for the touched norm their signs;
3. their sizes, one after another: the least v with more completions of entries up to v than the
   drawn number says, by halving.

A completion of g(y) = p is one within {1, …, p} and the sum kp, but not within {1, …, p − 1} and
the sum k(p − 1). No step rejects but the drawing of a number below a bound that is no power of two.
The numbers are of hundreds of bits and the work depends on them: these laws are not drawn in fixed
time, as the others are.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from leastnoise.lattice.bodies.capped import ways, ways_up_to
from leastnoise.sampling.entropy import Entropy


@dataclass(frozen=True, eq=False)
class TouchedPoints:
    """Points of the shells of max(‖x‖∞, ⌈‖x‖₁/k⌉)."""

    radii: Sequence[int]
    dimension: int
    touched: int

    def points(self, shells: NDArray[np.int32], entropy: Entropy) -> NDArray[np.int64]:
        drawn = [self._point(self.radii[shell], entropy) for shell in shells.tolist()]
        return np.array(drawn, dtype=np.int64).reshape(-1, self.dimension).T

    def _point(self, t: int, entropy: Entropy) -> list[int]:
        held = chosen(_sizes(self.dimension, self.touched, t, 2), entropy)
        point = [0] * self.dimension
        sizes = capped_entries(held, t, self.touched, entropy)
        for place, size in zip(subset(self.dimension, held, entropy), sizes, strict=True):
            point[place] = size if below(2, entropy) else -size
        return point


@dataclass(frozen=True, eq=False)
class CountPoints:
    """Points of the shells of g(x⁺) + g(x⁻)."""

    radii: Sequence[int]
    dimension: int
    touched: int

    def points(self, shells: NDArray[np.int32], entropy: Entropy) -> NDArray[np.int64]:
        drawn = [self._point(self.radii[shell], entropy) for shell in shells.tolist()]
        return np.array(drawn, dtype=np.int64).reshape(-1, self.dimension).T

    def _point(self, t: int, entropy: Entropy) -> list[int]:
        d, k = self.dimension, self.touched
        held, p = divmod(chosen(_splits(d, k, t), entropy), t + 1)
        point = [0] * d
        places = subset(d, held, entropy)
        for place, size in zip(places, capped_entries(held, p, k, entropy), strict=True):
            point[place] = size
        others = [place for place in range(d) if place not in places]
        down = chosen(_sizes(d - held, k, t - p, 1), entropy)
        sizes = capped_entries(down, t - p, k, entropy)
        for place, size in zip(subset(d - held, down, entropy), sizes, strict=True):
            point[others[place]] = -size
        return point


def capped_entries(entries: int, p: int, k: int, entropy: Entropy) -> list[int]:
    """A uniform y of {1, 2, …}^entries with max(max y, ⌈Σy/k⌉) = p."""
    found: list[int] = []
    outer = k * p
    inner: int | None = k * (p - 1)  # None once an entry is p: then no completion is within p − 1
    for left in range(entries - 1, -1, -1):
        drawn = below(_completions(p, left, p, outer, inner), entropy)
        low, high = 1, p
        while low < high:
            middle = (low + high) // 2
            is_enough = _completions(middle, left, p, outer, inner) > drawn
            low, high = (low, middle) if is_enough else (middle + 1, high)
        found.append(low)
        outer -= low
        inner = None if inner is None or low == p else inner - low
    return found


def _completions(first: int, left: int, p: int, outer: int, inner: int | None) -> int:
    """Completions by an entry of at most `first` and `left` others, which leave `outer` for their
    sum, less those within p − 1 and the sum `inner`."""
    within = ways_up_to(first, left, p, outer)
    if inner is None or p == 1:
        return within
    return within - ways_up_to(min(first, p - 1), left, p - 1, inner)


def below(bound: int, entropy: Entropy) -> int:
    """A uniform whole number in [0, bound): as many bits as it has, drawn anew until they fit."""
    bits = (bound - 1).bit_length()
    if bits == 0:
        return 0
    size = -(-bits // 8)
    while True:
        drawn = int.from_bytes(entropy.take(size), "little") >> (8 * size - bits)
        if drawn < bound:
            return drawn


def chosen(cumulative: Sequence[int], entropy: Entropy) -> int:
    """A place in proportion to the steps of a running sum."""
    return bisect_right(cumulative, below(cumulative[-1], entropy))


def subset(size: int, held: int, entropy: Entropy) -> list[int]:
    """A uniform set of `held` of the places 0 … size − 1, in uniform order."""
    places = list(range(size))
    for at in range(held):
        other = at + below(size - at, entropy)
        places[at], places[other] = places[other], places[at]
    return places[:held]


@lru_cache(maxsize=4096)
def capped_count(entries: int, p: int, k: int) -> int:
    """#{y ∈ {1, 2, …}^entries: max(max y, ⌈Σy/k⌉) = p}."""
    if p == 0 or entries == 0:
        return int(p == 0 and entries == 0)
    return ways(entries, p, k * p) - ways(entries, p - 1, k * (p - 1))


@lru_cache(maxsize=4096)
def _sizes(places: int, k: int, p: int, signs: int) -> list[int]:
    """Running sum over a of the points with a of `places` entries not 0 and g = p."""
    counts = (math.comb(places, a) * signs**a * capped_count(a, p, k) for a in range(places + 1))
    return list(itertools.accumulate(counts))


@lru_cache(maxsize=256)
def _splits(dimension: int, k: int, t: int) -> list[int]:
    """Running sum over a and p, at a·(t + 1) + p, of the points of shell t with a positive entries,
    of which g = p."""
    counts = (
        math.comb(dimension, a) * capped_count(a, p, k) * _sizes(dimension - a, k, t - p, 1)[-1]
        for a in range(dimension + 1)
        for p in range(t + 1)
    )
    return list(itertools.accumulate(counts))
