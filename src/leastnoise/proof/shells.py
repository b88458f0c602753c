"""Laws on Z^d by integer weights of shells: P(x) = h_k for every point of shell k.

For a law whose h does not rise, Σ min(P, e^ε·Q) is an integral over heights of numbers of points
that two sets {shells ≤ i} and {shells ≤ j} + v share; the v that shares least has the largest δ at
every ε (docs/worst-shift.md for the cube, docs/mathematics.md#the-worst-one-sided-shift for the
range). Numbers of points are whole numbers, and so are the weights.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from leastnoise.errors import InvalidParameterError, UnsupportedError
from leastnoise.proof.balls import Ball, arb, ball, fmpz_poly
from leastnoise.proof.pairs import FinitePair, LargestPair, Pair, finite_pair

_MOST_EMPTY = Fraction(1, 10**9)  # mass that filling empty inner shells may take
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
        return _table(shells, _cube_shared(dimension, steps, shells.last), steps)
    filled, added = shells.filled()
    if dimension > 1 and filled.is_falling and added < _MOST_EMPTY:
        return _unfilled(_table(filled, _cube_shared(dimension, steps, shells.last), steps), added)
    if dimension > 1:
        raise UnsupportedError("Laws of several answers whose probabilities rise are not covered.")
    if steps * steps * shells.last > _MOST_WORK:
        raise UnsupportedError("A law that rises, with so many shifts to try, is not covered.")
    every = range(1, steps + 1)
    return LargestPair(tuple(_table(shells, _cube_shared(1, t, shells.last), t) for t in every))


def _unfilled(pair: FinitePair, added: Fraction) -> FinitePair:
    """A law from the same with its empty shells filled: elsewhere it is 1 + a times that one, and
    what P has where Q is empty is at most a."""
    a = ball(added)
    atoms = tuple(
        atom._replace(p=(1 + a) * atom.p, q=(1 + a) * atom.q) for atom in pair.atoms
    )
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


def _table(shells: Shells, shared: Shared, steps: int) -> FinitePair:
    """Points on shell i of P and shell j of Q: N_ij = C_ij − C_(i−1)j − C_i(j−1) + C_(i−1)(j−1)."""
    h, last = shells.heights(), shells.last
    logs = [height.log() if weight else None for height, weight in zip(h, shells.weights, strict=True)]
    losses, infinite = [], arb(0)
    for i, j, points in _pairs_of_shells(shared, last, steps):
        if logs[i] is None:
            continue
        p = points * h[i]
        if j > last or logs[j] is None:
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


def pure_pair(shells: Shells, steps: int) -> FinitePair:
    """Any norm that a change moves by at most `steps`: randomised response at the largest fall of
    log h over so many shells, and the last shells as infinite loss."""
    full, added = (shells, Fraction(0)) if shells.is_falling else shells.filled()
    if not full.is_falling or added >= _MOST_EMPTY:
        raise UnsupportedError("Laws of a norm whose probabilities rise are not covered.")
    h = full.heights()
    loss = arb(0)
    for near, far in zip(h, h[steps:], strict=False):
        loss = loss.max((near / far).log())
    leaving = ball(Fraction(sum(full.weights[max(0, full.last - steps + 1) :]), sum(full.weights)))
    p = (1 - leaving) / (1 + (-loss).exp())
    return _unfilled(finite_pair([(loss, p, p * (-loss).exp())], leaving), added)


# Norms


def norm_counts(body: str, dimension: int, touched: int, size: int) -> list[int]:
    """The points of the shells 0 … size − 1."""
    if body == "range":
        n = dimension + 1
        within = [(t + 1) ** n - t**n for t in range(size)]
        return [here - inner for here, inner in zip(within, [0, *within], strict=False)]
    each = [_capped(entries, touched, size) for entries in range(dimension + 1)]
    total = fmpz_poly([])
    for a in range(dimension + 1):
        ways = math.comb(dimension, a)
        if body == "touched":
            total += ways * 2**a * each[a]
            continue
        for b in range(dimension - a + 1):
            total += ways * math.comb(dimension - a, b) * each[a] * each[b]
    return [int(total[t]) for t in range(size)]


def _capped(entries: int, touched: int, size: int) -> Any:
    """How many y of so many entries ≥ 1 have max(max y, ⌈Σy/k⌉) = t, as coefficients of t; those
    with all entries ≤ t and Σy ≤ kt by inclusion and exclusion."""

    def within(t: int) -> int:
        return sum(
            (-1) ** i * math.comb(entries, i) * math.comb((touched - i) * t, entries)
            for i in range(min(entries, touched) + 1)
        )

    return fmpz_poly([within(t) - (within(t - 1) if t else 0) for t in range(size)])


def range_pair(shells: Shells, dimension: int, touched: int, steps: int) -> FinitePair:
    """The law of the range: the worst of all m·1_S, if one of them is it for all shells."""
    n, last = dimension + 1, shells.last
    most = min(touched, n // 2)
    if most * (2 * steps + 4) * last * (last + steps) > _MOST_WORK:
        return pure_pair(shells, steps)
    worst, *others = (_range_shared(n, steps, moved, last) for moved in range(most, 0, -1))
    if any(worst[at] > other[at] for other in others for at in worst):
        raise UnsupportedError("No shift is the worst for every pair of shells: not covered.")
    full, added = (shells, Fraction(0)) if shells.is_falling else shells.filled()
    if not full.is_falling or added >= _MOST_EMPTY:
        raise UnsupportedError("Laws of a norm whose probabilities rise are not covered.")
    return _unfilled(_table(full, worst, steps), added)


def _range_shared(n: int, steps: int, moved: int, last: int) -> Shared:
    """The same for the range and m·1_S, |S| = `moved`: y = (0, x) up to a constant lies in a window
    [0, i] while y − v lies in [b, b + j]; windows of i less those of i − 1 that hold y number 1."""
    powers = [(k**moved, k ** (n - moved)) for k in range(last + 2)]

    def windows(i: int, j: int) -> int:
        if i < 0 or j < 0:
            return 0
        common = [max(0, min(i, b + j) - max(0, b) + 1) for b in range(-j - steps, i + steps + 1)]
        sides = zip(common[steps:], common, strict=False)
        return sum(powers[near][0] * powers[far][1] for near, far in sides if near and far)

    listed = {}
    for i in range(-1, last + 1):
        for j in range(i - steps - 2, i + steps + 2):
            listed[i, j] = windows(i, j)
    return {
        (i, j): listed[i, j] - listed[i - 1, j] - listed[i, j - 1] + listed[i - 1, j - 1]
        for i in range(last + 1)
        for j in range(max(0, i - steps - 1), i + steps + 1)
    }
