"""Several promises at once: δ(ε_k) ≤ δ_k for each of a list, of all releases together.

One (ε, δ) is one point of the privacy curve. A promise may hold more of them: the attacker's
advantage is δ(0), in either order of the two data sets the same number, for P(E) − Q(E) of an event
is Q − P of its complement; so "advantage at most a" is the point (0, a). A constraint holds only if
the certified upper bound on δ(ε_k) is at most δ_k.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.errors import InvalidParameterError, non_negative, open_unit
from leastnoise.text.numbers import above

Limit = tuple[float, float]  # ε_k and δ_k
MOST_LIMITS = 20  # of one design


@dataclass(frozen=True)
class Constraint:
    """One point below which the privacy curve is promised to stay, and where it is.

    Attributes:
        epsilon: ε in nats, at least 0; 0 for the attacker's advantage.
        delta: What δ(ε) may be at most.
        certified: The certified upper bound on δ(ε) of all releases together.

    Example:
        >>> from leastnoise import design
        >>> best = design(delta=1e-6, epsilon=1.0, batch=10, advantage=0.2)
        >>> [(one.epsilon, one.holds) for one in best.constraints]
        [(1.0, True), (0.0, True)]
    """

    epsilon: float
    delta: float
    certified: float

    @property
    def holds(self) -> bool:
        """Whether the certified bound is at most what was promised."""
        return self.certified <= self.delta

    def sentence(self) -> str:
        """The constraint in words."""
        at = f"delta({above(self.epsilon, 6)})" if self.epsilon > 0.0 else "advantage, delta(0),"
        return f"{at} at most {above(self.delta, 6)}: certified {above(self.certified, 6)}"


def limits_of(advantage: float | None, constraints: Iterable[Any] | None) -> tuple[Limit, ...]:
    """The points that were asked for, checked; those that others imply are kept."""
    found = list[Limit]()
    for place, pair in enumerate([] if constraints is None else _listed(constraints)):
        name = f"constraints[{place}]"
        try:
            epsilon, delta = pair
        except (TypeError, ValueError):
            raise InvalidParameterError(name, pair, "to be a pair (epsilon, delta)") from None
        found.append((non_negative(f"{name}.epsilon", epsilon), open_unit(f"{name}.delta", delta)))
    if advantage is not None:
        found.append((0.0, open_unit("advantage", advantage)))
    if len(found) > MOST_LIMITS:
        raise InvalidParameterError("constraints", len(found), f"to be at most {MOST_LIMITS}")
    return tuple(dict.fromkeys(found))


def _listed(constraints: Iterable[Any]) -> list[Any]:
    if isinstance(constraints, (str, bytes)) or not isinstance(constraints, Iterable):
        raise InvalidParameterError(
            "constraints", constraints, "to be a list of pairs (epsilon, delta)"
        )
    return list(constraints)


def held(loss: PrivacyLoss, limits: Sequence[Limit]) -> tuple[Constraint, ...]:
    """Each limit with the certified bound of the releases."""
    return tuple(Constraint(epsilon, delta, loss.delta(epsilon)) for epsilon, delta in limits)


def excess(loss: PrivacyLoss, limits: Sequence[Limit]) -> float:
    """By what factor the worst limit is missed, at most 1 where all hold: ε at δ_k over ε_k, and of
    the advantage δ(0) over δ_k. It falls in the scale of the noise about as a power of it, which
    δ(ε_k)/δ_k does not. +inf where nothing can be certified."""
    try:
        found = max(_share(loss, *limit) for limit in limits)
    except ArithmeticError:
        return math.inf
    if found <= 1.0 and not all(one.holds for one in held(loss, limits)):
        return math.nextafter(1.0, 2.0)  # two bounds that disagree in their last digits
    return found


def _share(loss: PrivacyLoss, epsilon: float, delta: float) -> float:
    if epsilon == 0.0:
        return loss.delta(0.0) / delta
    return loss.epsilon(delta) / epsilon
