"""Laws on Z^d by integer weights of shells: P(x) = h_k for every point of shell k.

For a law whose h does not rise, Σ min(P, e^ε·Q) is an integral over heights of numbers of points
that two sets {shells ≤ i} and {shells ≤ j} + v share; the v that shares least has the largest δ at
every ε (docs/worst-shift.md for the cube, docs/mathematics.md#the-worst-one-sided-shift for the
range). Numbers of points are whole numbers, and so are the weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from leastnoise.errors import InvalidParameterError, UnsupportedError
from leastnoise.proof.balls import Ball, arb, ball
from leastnoise.proof.pairs import FinitePair, LargestPair, Pair, finite_pair

MOST_EMPTY = Fraction(1, 10**9)  # mass that filling empty inner shells may take
_MOST_WORK = 4_000_000  # products


@dataclass(frozen=True)
class Shells:
    """Whole weights of the shells, whose sum is the whole, and the points that each has."""

    weights: tuple[int, ...]
    counts: tuple[int, ...]

    @property
    def last(self) -> int:
        return len(self.weights) - 1

    @property
    def is_falling(self) -> bool:
        sides = zip(self.weights, self.counts, self.weights[1:], self.counts[1:], strict=False)
        return all(w * m >= v * n for w, n, v, m in sides)

    def filled(self) -> tuple[Shells, Fraction]:
        """The law with its empty inner shells at the height of the first that is not, its weights
        scaled to whole numbers, and the mass filled in."""
        first = next(k for k, weight in enumerate(self.weights) if weight)
        height, unit = self.weights[first], self.counts[first]
        added = [height * count for count in self.counts[:first]]
        weights = (*added, *(weight * unit for weight in self.weights[first:]))
        return Shells(weights, self.counts), Fraction(sum(added), unit * sum(self.weights))

    def heights(self) -> list[Ball]:
        """h_k, and 0 beyond the last."""
        whole = sum(self.weights)
        sides = zip(self.weights, self.counts, strict=True)
        return [ball(Fraction(weight, count * whole)) for weight, count in sides]


def read_shells(law: Mapping[str, Any], counts: Sequence[int] | None, dimension: int) -> Shells:
    """The weights of a file, with the points of cubes where no others are given."""
    whole = [0] * law["first"] + [int(text, 16) for text in law["weights"]]
    if sum(whole) != 1 << law["bits"] or min(whole) < 0 or not whole[-1]:
        raise InvalidParameterError("sum of weights", sum(whole), f"to be 2^{law['bits']}")
    if counts is None:
        sides = [(2 * k + 1) ** dimension for k in range(len(whole))]
        counts = [side - inner for side, inner in zip(sides, [0, *sides], strict=False)]
    return Shells(tuple(whole), tuple(counts[: len(whole)]))


def cube_pair(shells: Shells, dimension: int, steps: int) -> Pair:
    """The law moved by up to so many steps along every axis."""
    if shells.is_falling:
        return table(shells, _cube_shared(dimension, steps, shells.last), steps)
    filled, added = shells.filled()
    if dimension > 1 and filled.is_falling and added < MOST_EMPTY:
        return unfilled(table(filled, _cube_shared(dimension, steps, shells.last), steps), added)
    if dimension > 1:
        raise UnsupportedError("Laws of several answers whose probabilities rise are not covered.")
    if steps * steps * shells.last > _MOST_WORK:
        raise UnsupportedError("A law that rises, with so many shifts to try, is not covered.")
    every = range(1, steps + 1)
    return LargestPair(tuple(table(shells, _cube_shared(1, t, shells.last), t) for t in every))


def unfilled(pair: FinitePair, added: Fraction) -> FinitePair:
    """A law from the same with its empty shells filled: elsewhere it is 1 + a times that one, and
    what P has where Q is empty is at most a."""
    a = ball(added)
    atoms = tuple(atom._replace(p=(1 + a) * atom.p, q=(1 + a) * atom.q) for atom in pair.atoms)
    return FinitePair(atoms, (1 + a) * pair.infinite + a)


Shared = Mapping[tuple[int, int], int]  # points of {shells ≤ i} that are in {shells ≤ j} + v


def _cube_shared(dimension: int, steps: int, last: int) -> Shared:
    """The cubes of i and j around 0 and the corner (m, …, m)."""
    side = [k**dimension for k in range(2 * (last + steps) + 2)]
    return {
        (i, j): side[max(0, min(i, steps + j) - max(-i, steps - j) + 1)]
        for i in range(last + 1)
        for j in range(max(0, i - steps - 1), i + steps + 1)
    }


def table(shells: Shells, shared: Shared, steps: int) -> FinitePair:
    """Points on shell i of P and shell j of Q: N_ij = C_ij − C_(i−1)j − C_i(j−1) + C_(i−1)(j−1)."""
    h, last = shells.heights(), shells.last
    held = [weight > 0 for weight in shells.weights]
    logs = [height.log() if height > 0 else height for height in h]
    losses, infinite = [], arb(0)
    for i, j, points in _pairs_of_shells(shared, last, steps):
        if not held[i]:
            continue
        p = points * h[i]
        if j > last or not held[j]:
            infinite += p
        elif shells.weights[i] * shells.counts[j] > shells.weights[j] * shells.counts[i]:
            losses.append((logs[i] - logs[j], p, points * h[j]))
    return finite_pair(losses, infinite)


def _pairs_of_shells(shared: Shared, last: int, steps: int) -> Iterator[tuple[int, int, int]]:
    def within(i: int, j: int) -> int:
        """C_ij; the smaller set is inside where the other reaches `steps` farther."""
        if i < 0 or j < 0:
            return 0
        return shared[i, j] if (i, j) in shared else shared[i, i + steps]

    for i in range(last + 1):
        for j in range(max(0, i - steps), i + steps + 1):
            outer, inner = within(i, j) - within(i, j - 1), within(i - 1, j) - within(i - 1, j - 1)
            if outer != inner:
                yield i, j, outer - inner
