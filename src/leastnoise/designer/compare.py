"""All mechanisms at one setting: the ε of each at the same σ, and the σ each needs for the ε of the best."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from leastnoise.designer.design import design
from leastnoise.designer.rivals import known_laws
from leastnoise.errors import LeastNoiseError
from leastnoise.noise import Domain, Noise
from leastnoise.privacy.loss import PrivacyLoss

_CLOSE = 1e-5  # how far above the least one a σ may be, relatively


@dataclass(frozen=True)
class Row:
    """One mechanism: `sigma_at_epsilon` is None where it was not looked for or cannot be had."""

    name: str
    epsilon_at_sigma: float
    sigma_at_epsilon: float | None


def compare(
    *, delta: float, sigma: float, domain: Domain = "real", **request: Any
) -> tuple[Row, ...]:
    """The design for the request and every known law beside it, best first."""
    best = design(delta=delta, sigma=sigma, domain=domain, **request)
    rows = [Row(best.origin, best.epsilon, best.sigma)]
    builders = {
        name: (build, uses)
        for name, build, uses in known_laws(best.sensitivity, best.batch, domain)
    }
    for name, epsilon in best.rivals.items():
        if name == best.origin:
            continue
        needed = None
        if name in builders:
            build, uses = builders[name]
            needed = least_sigma(
                build, best.epsilon, best.sigma, best.sensitivity, delta, best.compositions * uses
            )
        rows.append(Row(name, epsilon, needed))
    return tuple(rows)


def least_sigma(
    build: Callable[[float], Noise],
    epsilon: float,
    sigma: float,
    sensitivity: float,
    delta: float,
    draws: int,
) -> float | None:
    """The least standard deviation at which the family is certified at `epsilon`, between 1 and 20 times `sigma`."""

    def fits(log_sigma: float) -> bool:
        return (
            PrivacyLoss.of(build(math.exp(log_sigma)), sensitivity).compose(draws).epsilon(delta)
            <= epsilon
        )

    low, high = math.log(sigma), math.log(20.0 * sigma)
    try:
        if not fits(high):
            return None
        while high - low > _CLOSE:
            middle = 0.5 * (low + high)
            low, high = (low, middle) if fits(middle) else (middle, high)
    except LeastNoiseError:
        return None
    return math.exp(high)
