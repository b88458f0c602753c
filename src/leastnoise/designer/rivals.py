"""The known laws at the same cost as a design, and the ε each of them needs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from scipy import optimize

from leastnoise import classic
from leastnoise.closed_form import GaussianNoise, LaplaceNoise
from leastnoise.cost import Cost
from leastnoise.designer.cactus import cactus
from leastnoise.errors import LeastNoiseError
from leastnoise.lattice import LatticeNoise
from leastnoise.noise import Domain, Noise
from leastnoise.privacy.loss import PrivacyLoss


@dataclass(frozen=True)
class Rival:
    """A known law at the cost in question; `uses` is how many times one release of the whole batch draws from it."""

    name: str
    noise: Noise
    uses: int
    epsilon: float


def rivals(
    *, sigma: float, sensitivity: float, delta: float, compositions: int, batch: int, domain: Domain, cost: Cost
) -> list[Rival]:
    """Every known law that can be built at this cost, best first."""

    def judged(name: str, noise: Noise, uses: int) -> Rival:
        loss = PrivacyLoss.of(noise, sensitivity).compose(compositions * uses)
        return Rival(name, noise, uses, loss.epsilon(delta))

    found = []
    for name, build, uses in known_laws(sensitivity, batch, domain):
        try:
            found.append(judged(name, at_cost(build, sigma, cost), uses))
        except LeastNoiseError:  # a law that cannot be built at so small a cost, or not judged, is no rival
            continue
    return sorted(found, key=lambda rival: rival.epsilon)


def known_laws(sensitivity: float, batch: int, domain: Domain) -> list[tuple[str, Callable[[float], Noise], int]]:
    """(name, builder from a standard deviation, draws a release of the whole batch takes) of every known law."""
    s = sensitivity
    if domain == "integer":
        line: list[tuple[str, Callable[[float], Noise], int]] = [
            ("discrete Gaussian", classic.discrete_gaussian, batch),
            ("discrete Laplace", classic.discrete_laplace, batch),
            ("discrete Staircase", lambda sigma: classic.discrete_staircase(sigma, sensitivity=int(s)), batch),
        ]
    else:
        line = [
            ("Gaussian", classic.gaussian, batch),
            ("Laplace", classic.laplace, batch),
            ("Staircase", lambda sigma: classic.staircase(sigma, sensitivity=s), batch),
        ]
    line.append(("Cactus", lambda sigma: cactus(sigma, sensitivity=s, domain=domain), batch))
    if batch > 1:
        line.append(("cube", lambda sigma: classic.cube(sigma, batch, domain=domain, sensitivity=s), 1))
    return line


def at_cost(build: Callable[[float], Noise], sigma: float, cost: Cost) -> Noise:
    """The member of a family whose expected cost is c(sigma): for the quadratic cost, the one of that standard deviation."""
    if cost.exponent == 2.0:
        return build(sigma)
    target = math.log(float(cost.average(sigma, 1.0, "integer")))

    def excess(log_scale: float) -> float:
        return math.log(expected_cost(build(math.exp(log_scale)), cost)) - target

    low = high = math.log(sigma)
    while excess(low) > 0:
        low -= 0.5
    while excess(high) < 0:
        high += 0.5
    return build(math.exp(float(optimize.brentq(excess, low, high, xtol=1e-13)) if low < high else low))


def expected_cost(noise: Noise, cost: Cost) -> float:
    """E[c(Z)] on one answer, for any law."""
    if isinstance(noise, LatticeNoise):
        return noise.expected_cost(cost)
    q = cost.exponent
    if q is not None and isinstance(noise, GaussianNoise):
        return float(noise.sigma**q * 2.0 ** (0.5 * q) * math.gamma(0.5 * (q + 1.0)) / math.sqrt(math.pi))
    if q is not None and isinstance(noise, LaplaceNoise):
        return float(noise.scale**q * math.gamma(q + 1.0))
    exponent = 2.0 if isinstance(noise, GaussianNoise) else 1.0
    fine = classic.generalized_gaussian(noise.std, exponent, step=noise.std / 100.0, sensitivity=noise.std)
    return fine.expected_cost(cost)
