"""Whether a stated ε holds, proven; or by how much it falls short."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leastnoise.errors import AccountingError
from leastnoise.proof.balls import above, arb, ball, beneath, enclosed
from leastnoise.proof.composition import Composed, Listed, Parts, composed, listed
from leastnoise.proof.laws import pair_of
from leastnoise.proof.pairs import NormalPair, Pair

_ATTEMPTS = 7  # grids, each finer,
_HOPELESS = 3  # of which so many may foretell that none is fine enough
_FINEST = 16.0  # times finer than the one before, at the most
_ACCURACY = 5e-6  # of ε, by which a first grid may raise it
_SPARE = 1e-8  # of δ, for truncation
_SHARES = (0.0, _SPARE, 1e-6)  # of δ, for losses that are raised: the first that leaves few sums
_CLOSE = 1e-7  # of ε: the least that is proven instead


@dataclass(frozen=True)
class DrawnUse:
    """Draws of one law.

    Attributes:
        law: As an artefact has it.
        uses: How many draws.
        sensitivity: How far one person moves each answer, in the unit of the answers.
        changes: What one person can change, as an artefact has it; None for the box.
    """

    law: Mapping[str, Any]
    uses: int = 1
    sensitivity: float = 1.0
    changes: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Proof:
    """What is proven of one stated point (ε, δ).

    Attributes:
        epsilon: The stated ε, in nats.
        delta: The stated δ, a probability.
        lower: δ(ε) of the pair that is judged is not below this.
        upper: δ(ε) is not above this.
        proven_epsilon: An ε that is proven at the stated δ: the stated one, or the least that was
            found; +inf where none was.
        how: How many releases were composed, and in which way.
    """

    epsilon: float
    delta: float
    lower: float
    upper: float
    proven_epsilon: float
    how: str

    @property
    def ok(self) -> bool:
        """Whether the stated ε is proven."""
        return self.upper <= self.delta

    def sentence(self) -> str:
        """What is proven, in words."""
        stated = f"epsilon = {self.epsilon!r} at delta = {self.delta!r}"
        if self.ok:
            return f"{stated} is proven: delta is at most {self.upper!r} ({self.how})"
        known = f"delta is between {self.lower!r} and {self.upper!r}"
        return f"{stated} is NOT proven: {known}; proven is epsilon = {self.proven_epsilon!r}"


def prove(uses: Sequence[DrawnUse], points: Sequence[tuple[float, float]]) -> tuple[Proof, ...]:
    """Prove that all draws together are (ε, δ)-private, for each of the points.

    Args:
        uses: The laws that are drawn from, and how often.
        points: Pairs of ε and δ.

    Returns:
        For each point, in order, what is proven of it.

    Raises:
        UnsupportedError: A law or its changes are not covered.
        MissingExtraError: python-flint is not installed.

    Guarantees: `upper` is not below δ(ε) of what the laws publish, if Arb and Python's integers are
    right; no other rounding is left out.

    Example:
        >>> law = {"batch": 1, "step": 1.0, "domain": "integer", "bits": 64, "first": 0}
        >>> law["weights"] = ["8000000000000000", "8000000000000000"]
        >>> prove([DrawnUse(law)], [(0.7, 0.251)])[0].ok  # P(0) = 1/2, P(±1) = 1/4, and no more
        True
    """
    with enclosed():
        parts = joined([(pair_of(use.law, use.sensitivity, use.changes), use.uses) for use in uses])
        if len(parts) == 1 and parts[0][1] == 1:
            return tuple(_of_one(parts[0][0], *point) for point in points)
        by_sums = _by_sums(parts, points)
        return by_sums or tuple(_of_grids(parts, *point) for point in points)


def joined(parts: Parts) -> Parts:
    """The same with all normal noise as one: μ² = Σ n·μ²."""
    others = [(pair, count) for pair, count in parts if not isinstance(pair, NormalPair)]
    squares = [count * pair.mu**2 for pair, count in parts if isinstance(pair, NormalPair)]
    return [*others, (NormalPair(sum(squares, arb(0)).sqrt()), 1)] if squares else others


def _by_sums(parts: Parts, points: Sequence[tuple[float, float]]) -> tuple[Proof, ...]:
    """From all sums of losses; nothing where they are many, or had to be raised too much."""
    least = min(delta for _, delta in points)
    for share in _SHARES:
        sums = listed(parts, share * least)
        proofs = () if sums is None else tuple(_of_sums(sums, *point) for point in points)
        if proofs and (share <= _SPARE or all(proof.ok for proof in proofs)):
            return proofs
    return ()


def _of_one(pair: Pair, epsilon: float, delta: float) -> Proof:
    def enclosure(at: float) -> Any:
        return pair.profile([ball(at)])[0]

    found = enclosure(epsilon)
    upper = max(above(found), 0.0)
    enough = _least(lambda at: above(enclosure(at)) <= delta, epsilon, upper <= delta)
    return Proof(epsilon, delta, beneath(found), upper, enough, "one release")


def _of_sums(sums: Listed, epsilon: float, delta: float) -> Proof:
    upper = sums.upper(epsilon)
    enough = _least(lambda at: sums.upper(at) <= delta, epsilon, upper <= delta)
    how = f"{len(sums.sums)} sums of losses"
    return Proof(epsilon, delta, sums.lower(epsilon), upper, enough, how)


def _of_grids(parts: Parts, epsilon: float, delta: float) -> Proof:
    """On ever finer grids, until δ is proven or refuted. What a grid of pitch h adds to δ is about
    a constant times h²: two of them tell how fine a third must be."""
    releases = sum(count for _, count in parts)
    tilt = 1.0 + math.log(1.0 / delta) / epsilon
    pitch = min(math.sqrt(2.0 * _ACCURACY * epsilon / (releases * tilt)), 3e-4 * epsilon)
    best: Proof | None = None
    before: tuple[float, float] | None = None
    hopeless = 0
    for _ in range(_ATTEMPTS):
        try:
            made = composed(parts, pitch, _SPARE * delta)
        except AccountingError:
            break
        best = _better(best, made, epsilon, delta)
        if best.upper <= delta or best.lower > delta:
            break
        here = made.pitch, made.upper(epsilon)
        finer = _finer(before, here, delta)
        hopeless += finer is None
        if hopeless == _HOPELESS:
            break
        pitch, before = pitch / (finer or 8.0), here
    if best is None:
        return Proof(epsilon, delta, 0.0, 1.0, math.inf, "no grid is fine enough")
    return best


def _better(best: Proof | None, made: Composed, epsilon: float, delta: float) -> Proof:
    upper, lower = made.upper(epsilon), made.lower(epsilon, delta)
    enough = _least(lambda at: made.upper(at) <= delta, epsilon, upper <= delta)
    if best is not None:
        upper, lower = min(best.upper, upper), max(best.lower, lower)
        enough = min(best.proven_epsilon, enough)
    how = f"{made.sums.releases} releases on a grid of {made.pitch:.3g}"
    return Proof(epsilon, delta, max(lower, 0.0), upper, enough, how)


def _finer(
    before: tuple[float, float] | None, here: tuple[float, float], delta: float
) -> float | None:
    """By what the pitch is to be divided next; None where no grid seems to be fine enough."""
    if before is None:
        return 2.0
    curve = (before[1] - here[1]) / (before[0] ** 2 - here[0] ** 2)
    left = delta - (here[1] - curve * here[0] ** 2)
    if not (curve > 0.0 and left > 0.0):
        return None
    return min(max(1.1 * here[0] / math.sqrt(left / curve), 1.5), _FINEST)


def _least(is_proven: Callable[[float], bool], epsilon: float, is_stated: bool) -> float:
    """The stated ε where it is proven; else the least above it that is, to 1e-7 of it."""
    if is_stated:
        return epsilon
    low, high = epsilon, max(2.0 * epsilon, 1e-6)
    while not is_proven(high):
        low, high = high, 2.0 * high
        if high > 1e6:
            return math.inf
    while high - low > _CLOSE * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if is_proven(middle) else (middle, high)
    return high
