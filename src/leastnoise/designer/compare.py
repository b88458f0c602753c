"""All mechanisms at one setting: the ε of each at the same σ, and the σ each needs for the ε of the
best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from leastnoise.changes import Euclidean
from leastnoise.designer.calibrate import least_sigma
from leastnoise.designer.design import design
from leastnoise.designer.result import Design
from leastnoise.designer.rivals import known_laws
from leastnoise.laws.base import Domain

_MOST_NOISE = 20.0  # of the best law, up to which a known law is looked for


@dataclass(frozen=True)
class ComparedLaw:
    """One mechanism beside the others.

    Attributes:
        name: "optimised", or that of the known law.
        epsilon_at_sigma: ε of all releases at the common sigma.
        sigma_at_epsilon: Standard deviation that the law needs for the ε of the best one, in the
            units of the answers; None where it was not looked for or cannot be had.
    """

    name: str
    epsilon_at_sigma: float
    sigma_at_epsilon: float | None


def compare(
    *, delta: float, sigma: float, domain: Domain = "real", **request: Any
) -> tuple[ComparedLaw, ...]:
    """The design for the request and every known law beside it, best first.

    Args:
        delta: Probability with which the guarantee may fail, in (0, 1).
        sigma: Standard deviation of the noise on one answer, in its units.
        domain: "real" or "integer".
        **request: What else `design` takes, but for `epsilon`.

    Returns:
        One entry for each law: its ε at this sigma, and the sigma it needs for the ε of the best.

    Raises:
        InvalidParameterError: a parameter is not what is expected.
        DesignError: no law can be designed for this request.

    Example:
        >>> best, *others = compare(delta=1e-6, sigma=8.0)
        >>> all(best.epsilon_at_sigma <= other.epsilon_at_sigma for other in others)
        True
    """
    best = design(delta=delta, sigma=sigma, domain=domain, **request)
    own = ComparedLaw(best.origin, best.epsilon, best.sigma)
    needed = _needed(best, domain)
    others = [(name, epsilon) for name, epsilon in best.rivals.items() if name != best.origin]
    return own, *(ComparedLaw(name, epsilon, needed.get(name)) for name, epsilon in others)


def _needed(best: Design, domain: Domain) -> dict[str, float | None]:
    """The standard deviation that each other known law needs for the ε of the best; not where it
    has other scales of the answers."""
    if best.factors is not None:
        return {}
    # a length as sensitivity: the box then holds all changes
    space = Euclidean(1.0) if isinstance(best.changes, Euclidean) else best.changes
    return {
        name: least_sigma(
            build,
            best.epsilon,
            (best.sigma, _MOST_NOISE * best.sigma),
            sensitivity=best.sensitivity,
            delta=best.delta,
            draws=best.compositions * uses,
            start=best.sigma,
            changes=best.changes if uses == 1 or best.batch == 1 else best.changes.of_a_part(),
        )
        for name, build, uses in known_laws(best.reach, best.batch, domain, space, best.delta)
        if name in best.rivals and name != best.origin
    }
