"""δ(ε) of one release: the pair (P, Q) of what is seen with one person and without, ε ≥ 0.

Every pair here is its own mirror: some map of the outcomes turns P into Q and Q into P, and a loss
ℓ = log P/Q into −ℓ. So P{−ℓ} = Q{ℓ} = e^(−ℓ)·P{ℓ}, and losses above 0 say everything. Profiles are
asked at exact numbers, balls of radius 0, from the largest down.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

from leastnoise.proof.balls import Ball, above, acb, arb, ball, beneath, positive

_BINS, _HEAVY = 2_500, 1e-3  # of losses, and the mass of one that is worth aligning a grid to


class Pair(Protocol):
    """What composition asks of one release."""

    def profile(self, epsilons: Sequence[Ball]) -> list[Ball]:
        """δ at each ε, which fall: Σ (P − e^ε·Q)₊, or more."""
        ...

    def top(self, spare: float) -> float:
        """An ε from which on δ exceeds δ(∞) by at most about `spare`."""
        ...

    @property
    def anchor(self) -> float:
        """A loss that had better be a point of a grid; 0 where none is."""
        ...


class Atom(NamedTuple):
    """A loss above 0, between two floats, with its probabilities."""

    low: float
    high: float
    p: Ball
    q: Ball


@dataclass(frozen=True, eq=False)
class FinitePair:
    """Finitely many losses, those above 0 by falling `high`, and the probability of infinite loss;
    what is left of the mass, and the mirror images, have losses of 0 and below."""

    atoms: tuple[Atom, ...]
    infinite: Ball

    def profile(self, epsilons: Sequence[Ball]) -> list[Ball]:
        """Losses surely above ε are summed up on the way down; of those that may be P − e^ε·Q is
        taken where it is positive."""
        found, p, q, at = [], arb(0), arb(0), 0
        for epsilon in epsilons:
            x = epsilon.exp()
            while at < len(self.atoms) and self.atoms[at].low > epsilon:
                p, q, at = p + self.atoms[at].p, q + self.atoms[at].q, at + 1
            total, near = self.infinite + p - x * q, at
            while near < len(self.atoms) and self.atoms[near].high > epsilon:
                total, near = (
                    total + positive(self.atoms[near].p - x * self.atoms[near].q),
                    near + 1,
                )
            found.append(total)
        return found

    def top(self, spare: float) -> float:
        mass = 0.0
        for atom in self.atoms:
            mass += float(atom.p)
            if mass > spare:
                return atom.high
        return self.atoms[-1].high if self.atoms else 0.0

    @cached_property
    def anchor(self) -> float:
        """The heaviest loss of the heaviest of many bins; the largest where none is heavy."""
        if not self.atoms:
            return 0.0
        largest, masses = self.atoms[0].high, defaultdict[int, float](float)
        for atom in self.atoms:
            masses[int(_BINS * atom.high / largest)] += float(atom.p)
        heaviest = max(masses, key=lambda place: masses[place])
        if masses[heaviest] < _HEAVY:
            return largest
        inside = (atom for atom in self.atoms if int(_BINS * atom.high / largest) == heaviest)
        return max(inside, key=lambda atom: float(atom.p)).high

    @cached_property
    def at_zero(self) -> Ball:
        """The probability of a loss of 0; not below 0 where P was raised beyond a mass of 1."""
        rest = 1 - self.infinite
        for atom in self.atoms:
            rest -= atom.p + atom.q
        return positive(rest)


@dataclass(frozen=True)
class LargestPair:
    """The pair whose δ is the largest of several at every ε."""

    pairs: tuple[Pair, ...]

    def profile(self, epsilons: Sequence[Ball]) -> list[Ball]:
        rows = [pair.profile(epsilons) for pair in self.pairs]
        found = rows[0]
        for row in rows[1:]:
            found = [one.max(other) for one, other in zip(found, row, strict=True)]
        return found

    def top(self, spare: float) -> float:
        return max(pair.top(spare) for pair in self.pairs)

    @property
    def anchor(self) -> float:
        return self.pairs[-1].anchor


@dataclass(frozen=True, eq=False)
class NormalPair:
    """Normal noise moved by `mu` standard deviations: δ = Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ)."""

    mu: Ball

    def profile(self, epsilons: Sequence[Ball]) -> list[Ball]:
        return [self._at(epsilon) for epsilon in epsilons]

    def _at(self, epsilon: Ball) -> Ball:
        near, far = epsilon / self.mu - self.mu / 2, epsilon / self.mu + self.mu / 2
        root = arb(2).sqrt()
        return ((near / root).erfc() - epsilon.exp() * (far / root).erfc()) / 2

    def top(self, spare: float) -> float:
        mu = float(self.mu)
        return mu * mu / 2 + mu * math.sqrt(2.0 * math.log(1.0 / spare))

    @property
    def anchor(self) -> float:
        return 0.0


@dataclass(frozen=True, eq=False)
class SpherePair:
    """Density ∝ e^(−‖z‖₂/b) on R^d moved by 2·half·b, d ≥ 2.

    With the lengths r, r' of z and z − v, D = ‖v‖, ξ = (r + r')/D and η = (r' − r)/D are spheroidal
    coordinates: the volume is ∝ (ξ² − η²)((ξ² − 1)(1 − η²))^((d−3)/2) dξ dη, r = D(ξ − η)/2, and
    the loss is 2·half·η. Integrated over ξ (DLMF 10.32.8), with η = cos u, the density of u on
    (0, π) is ∝ e^(half·cos u)·sin^(d−2)u·(ρ + sin²u), ρ = (d−1)/half·K_(d/2)/K_(d/2−1) at `half`.
    Everything is entire in u, and Arb encloses the integrals.
    """

    half: Ball
    dimension: int

    def profile(self, epsilons: Sequence[Ball]) -> list[Ball]:
        """∫ (1 − e^(ε−L)) over the losses above ε, from one ε to the next."""
        found, p, q, here = [], arb(0), arb(0), arb(0)
        for epsilon in epsilons:
            room = 2 * self.half - epsilon
            if not room > 0:
                found.append(positive(room))  # 1 − e^(−room) is less; 0 where ε is beyond all
                continue
            there = (epsilon / (2 * self.half)).acos()
            p, q = p + self._mass(here, there, 1), q + self._mass(here, there, -1)
            here = there
            found.append((p - epsilon.exp() * q) / self._total)
        return found

    def top(self, spare: float) -> float:
        return self.anchor

    @cached_property
    def anchor(self) -> float:
        return above(2 * self.half)

    @cached_property
    def _rho(self) -> Ball:
        order = ball(self.dimension) / 2
        ratio = self.half.bessel_k(order, scaled=True) / self.half.bessel_k(order - 1, scaled=True)
        return (self.dimension - 1) / self.half * ratio

    @cached_property
    def _total(self) -> Ball:
        return self._mass(arb(0), arb.pi(), 1)

    def _mass(self, low: Ball, high: Ball, sign: int) -> Ball:
        """∫ of the density, of P (sign 1) or of Q (−1), up to a common factor."""
        half, power = sign * self.half, self.dimension - 2

        def density(u: Ball, _: bool) -> Ball:
            sine, cosine = u.sin_cos()
            return (half * cosine - self.half).exp() * sine**power * (self._rho + sine * sine)

        return acb.integral(density, low, high).real


def finite_pair(losses: Sequence[tuple[Ball, Ball, Ball]], infinite: Ball) -> FinitePair:
    """The pair of these (loss, P, Q), of which those not above 0 say nothing."""
    atoms = [Atom(beneath(loss), above(loss), p, q) for loss, p, q in losses]
    kept = sorted((atom for atom in atoms if atom.high > 0.0), key=lambda atom: -atom.high)
    return FinitePair(tuple(kept), infinite)
