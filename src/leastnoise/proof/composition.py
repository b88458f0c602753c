"""Several releases: every sum of losses listed, or losses put on a grid and composed as products of
polynomials whose coefficients are balls.

**Grid.** δ is convex in x = e^ε, so the chords between the points x_j = e^(jh) lie above it. They
are the profile of losses jh: Q has the mass q_j by which the slope rises at x_j, P has x_j·q_j,
and beyond the last point δ stays where it is, as infinite loss (Connect-the-Dots). The masses are
enclosed, whatever they are; a product of polynomials encloses the law of a sum.

**Truncation.** The lowest coefficients, of next to no mass, are raised to the lowest that is kept;
the highest are dropped, and all mass that is not found at the end counts as infinite.

**Lower bounds.** Each loss is moved by a step ξ of at most h with E[e^(−ξ)] = 1; so with
λ = nh²/8 + r the sum of n steps exceeds λ with a probability of at most e^(−2r²/(nh²)), and
δ(ε) ≥ δ̂(ε + λ) less that (docs/mathematics.md#lower-bounds).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

from leastnoise.errors import AccountingError
from leastnoise.proof.balls import Ball, Polynomial, above, arb, arb_poly, ball, beneath, positive
from leastnoise.proof.pairs import FinitePair, Pair

Parts = Sequence[tuple[Pair, int]]  # pairs, and how many releases have each
MOST_POINTS = 1 << 20
_MOST_SUMS = 200_000
_MOST_LISTED = 64  # releases of which every sum is listed
_ROUNDINGS = 2.0**-50  # of a loss: apart by so little, two losses are rounded versions of one
_GIVEN_AWAY = 1e-3  # of δ, for the steps of the grid in a lower bound


@dataclass(frozen=True, eq=False)
class Listed:
    """All sums of losses, by falling loss. Some were raised, which raised δ by `added` at most."""

    sums: tuple[tuple[float, Ball], ...]
    infinite: Ball
    added: Ball

    def upper(self, epsilon: float) -> float:
        return above(self._delta(epsilon))

    def lower(self, epsilon: float) -> float:
        return beneath(self._delta(epsilon) - self.added)

    def _delta(self, epsilon: float) -> Ball:
        total, at = self.infinite, ball(epsilon)
        for loss, p in self.sums:
            if loss <= epsilon:
                break
            total += p * (1 - (at - loss).exp())
        return total


def listed(parts: Parts, spare: float) -> Listed | None:
    """All sums, where they are few, and be it that some are raised, which costs δ at most about
    `spare`, and what is within rounding of each other; None where they are not."""
    finite = _finite_pairs(parts)
    if not finite:
        return None
    releases = len(finite)
    sums, kept, mass, added = [(0.0, arb(1))], arb(1), arb(1), arb(0)
    for pair in finite:
        losses, cost = _raised(_all_losses(pair), 0.5 * spare / releases)
        if len(sums) * len(losses) > _MOST_SUMS:
            return None
        pairwise = [(_sum_above(a, b), p * q) for a, p in sums for b, q in losses]
        sums, cost_of_sums = _raised(pairwise, 0.5 * spare / releases)
        of_one = sum((p for _, p in losses), arb(0))
        kept, mass = kept * of_one, mass * (of_one + pair.infinite)
        added += cost + cost_of_sums + (sums[0][0] - sums[-1][0]) * _ROUNDINGS
    return Listed(tuple(sums), mass - kept, added * mass)


def _finite_pairs(parts: Parts) -> list[FinitePair]:
    """One for each release; none where they are many or have more losses than can be listed."""
    releases = sum(count for _, count in parts)
    if releases > _MOST_LISTED:
        return []
    found = [pair for pair, count in parts for _ in range(count) if isinstance(pair, FinitePair)]
    return found if len(found) == releases else []


def _sum_above(one: float, other: float) -> float:
    return math.nextafter(one + other, math.inf)


def _all_losses(pair: FinitePair) -> list[tuple[float, Ball]]:
    above_zero = [(atom.high, atom.p) for atom in pair.atoms]
    below_zero = [(-atom.low, atom.q) for atom in pair.atoms]
    return [*above_zero, (0.0, pair.at_zero), *below_zero]


def _raised(
    losses: Sequence[tuple[float, Ball]], spare: float
) -> tuple[list[tuple[float, Ball]], Ball]:
    """By falling loss, and what δ rose by: a mass p that is raised by t, to the next larger loss,
    raises it by p·t at most."""
    found: list[tuple[float, Ball]] = []
    each, rounding, cost = spare / len(losses), _ROUNDINGS if spare else 0.0, arb(0)
    for loss, p in sorted(losses, key=lambda one: -one[0]):
        far = found[-1][0] - loss if found else math.inf
        if far * max(float(p), 0.0) <= each or far <= rounding * abs(loss):
            cost += p * far
            found[-1] = found[-1][0], found[-1][1] + p
        else:
            found.append((loss, p))
    return found, cost


@dataclass(frozen=True, eq=False)
class OnGrid:
    """The law of a sum: `law` has the probability of (first + k)·pitch as its coefficient of x^k.
    `raised` bounds the mass that was raised from below."""

    law: Polynomial
    first: int
    releases: int
    raised: Ball

    def times(self, other: OnGrid, spare: float) -> OnGrid:
        first, releases = self.first + other.first, self.releases + other.releases
        both = OnGrid(self.law * other.law, first, releases, self.raised + other.raised)
        return both.trimmed(spare * releases)

    def trimmed(self, spare: float) -> OnGrid:
        """The same without ends of less than `spare`."""
        listed = self.law.coeffs()
        masses = [max(float(one), 0.0) for one in listed]
        low, high = _end(masses, spare), len(masses) - _end(masses[::-1], spare)
        below = sum(listed[:low], arb(0))
        kept = arb_poly([listed[low] + below, *listed[low + 1 : high]])
        return OnGrid(kept, self.first + low, self.releases, self.raised + below)

    def power(self, count: int, spare: float) -> OnGrid:
        """By squares."""
        found: OnGrid | None = None
        square = self
        while True:
            if count & 1:
                found = square if found is None else found.times(square, spare)
            count >>= 1
            if not count:
                return square if found is None else found
            square = square.times(square, spare)


def _end(masses: Sequence[float], spare: float) -> int:
    """How many of the first masses are less than `spare` together; never all."""
    total = 0.0
    for at, mass in enumerate(masses):
        total += mass
        if total > spare:
            return at
    return 0


@dataclass(frozen=True, eq=False)
class Composed:
    """All releases on a grid."""

    sums: OnGrid
    pitch: float
    infinite: Ball  # all mass that is not in `sums`
    surely_infinite: Ball  # what is there of it before anything is truncated
    mass: Ball

    def upper(self, epsilon: float) -> float:
        return above(self.infinite + self._finite(epsilon))

    def lower(self, epsilon: float, delta: float) -> float:
        n, h = self.sums.releases, self.pitch
        r = h * math.sqrt(0.5 * n * math.log(1.0 / (_GIVEN_AWAY * delta)))
        moved = (epsilon + n * h * h / 8 + r) * (1.0 + 1e-14)
        lost = _GIVEN_AWAY * delta * (1.0 + 1e-9) + self.sums.raised * self.mass
        return beneath(self._finite(moved) - lost)

    def _finite(self, epsilon: float) -> Ball:
        """Σ over losses s above ε of their mass times 1 − e^(ε−s)."""
        start = max(math.floor(Fraction(epsilon) / Fraction(self.pitch)) + 1 - self.sums.first, 0)
        if start >= len(self.sums.law):
            return arb(0)
        law = self.sums.law.right_shift(start)
        gap = ball(epsilon) - ball(self.pitch) * (self.sums.first + start)
        return law(1) - gap.exp() * law((-ball(self.pitch)).exp())


def composed(parts: Parts, pitch: float, spare: float) -> Composed:
    """All releases on a grid of about this pitch, `spare` being a δ that is next to nothing."""
    pitch = _aligned(parts, pitch)
    releases = sum(count for _, count in parts)
    if not releases:
        raise AccountingError("Nothing is released.")
    each = spare / (64.0 * releases)
    powered, mass, surely = [], arb(1), arb(1)
    for pair, count in parts:
        one, mass_of_one, finite = _one_release(pair, pitch, each)
        powered.append(one.power(count, each))
        mass, surely = mass * mass_of_one**count, surely * finite**count
    sums = reduce(lambda so_far, more: so_far.times(more, each), powered)
    return Composed(sums, pitch, mass - sums.law(1), 1 - surely, mass)


def _aligned(parts: Parts, pitch: float) -> float:
    """A pitch of which the anchor of a single kind of release is a multiple, nearly."""
    anchor = parts[0][0].anchor if len(parts) == 1 else 0.0
    return anchor / math.ceil(anchor / pitch) if anchor > 0.0 else pitch


def _one_release(pair: Pair, pitch: float, spare: float) -> tuple[OnGrid, Ball, Ball]:
    """The losses jh of one release, all its mass with what is infinite, and without."""
    reach = max(math.ceil(pair.top(spare) / pitch), 1)
    if reach > MOST_POINTS:
        raise AccountingError(f"A grid of pitch {pitch:.3g} has more than {MOST_POINTS} points.")
    delta = pair.profile([j * ball(pitch) for j in range(reach, -1, -1)])[::-1]
    step = ball(pitch).exp()
    p, q, x, before = [], [], step, None
    for j in range(reach + 1):
        slope = (delta[j + 1] - delta[j]) / (x - x / step) if j < reach else arb(0)
        if before is not None:
            q.append(slope - before)
            p.append(q[-1] * x / step)
        before, x = slope, x * step
    infinite = delta[reach]
    centre = positive(1 - infinite - sum(p, arb(0)) - sum(q, arb(0)))
    law = arb_poly([*q[::-1], centre, *p])
    finite = law(1)
    return OnGrid(law, -reach, 1, arb(0)), finite + infinite, finite
