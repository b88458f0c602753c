"""Laws of an integer norm: how many points their shells have, and their pairs
(docs/mathematics.md#laws-of-an-integer-norm)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from leastnoise.errors import UnsupportedError
from leastnoise.proof.balls import arb, ball, fmpz_poly
from leastnoise.proof.pairs import FinitePair, finite_pair
from leastnoise.proof.shells import MOST_EMPTY, Shared, Shells, table, unfilled

_MOST_WORK = 4_000_000  # products


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
    full, added = _falling(shells)
    return unfilled(table(full, worst, steps), added)


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


def pure_pair(shells: Shells, steps: int) -> FinitePair:
    """Any norm that a change moves by at most `steps`: randomised response at the largest fall of
    log h over so many shells, and the last shells as infinite loss."""
    full, added = _falling(shells)
    h = full.heights()
    loss = arb(0)
    for near, far in zip(h, h[steps:], strict=False):
        loss = loss.max((near / far).log())
    leaving = ball(Fraction(sum(full.weights[max(0, full.last - steps + 1) :]), sum(full.weights)))
    p = (1 - leaving) / (1 + (-loss).exp())
    return unfilled(finite_pair([(loss, p, p * (-loss).exp())], leaving), added)


def _falling(shells: Shells) -> tuple[Shells, Fraction]:
    """The law, or the same with its empty inner shells filled and the mass that takes."""
    full, added = (shells, Fraction(0)) if shells.is_falling else shells.filled()
    if not full.is_falling or added >= MOST_EMPTY:
        raise UnsupportedError("Laws of a norm whose probabilities rise are not covered.")
    return full, added
