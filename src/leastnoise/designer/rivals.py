"""The known laws at the same cost as a design, and the ε each of them needs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from scipy import optimize

from leastnoise import classic
from leastnoise.ball import sphere
from leastnoise.closed_form import GaussianNoise, LaplaceNoise
from leastnoise.cost import Cost
from leastnoise.designer.cactus import cactus
from leastnoise.designer.candidates import bins
from leastnoise.errors import LeastNoiseError
from leastnoise.lattice import LatticeNoise
from leastnoise.noise import Domain, Noise
from leastnoise.privacy.loss import PrivacyLoss

_MOST_BINS = 30


# Rivals that put independent noise on each answer, and our own of that kind.
PRODUCTS = (
    *("Gaussian", "Laplace", "Staircase", "Cactus", "discrete Gaussian", "discrete Laplace", "discrete Staircase"),
    "optimised product",
)


@dataclass(frozen=True)
class Rival:
    """A known law at the cost in question; `uses` is how many times one release of the whole batch draws from it."""

    name: str
    noise: Noise
    uses: int
    epsilon: float


def rivals(
    *,
    sigma: float,
    sensitivity: float,
    delta: float,
    compositions: int,
    batch: int,
    domain: Domain,
    cost: Cost,
    touched: int | None = None,
) -> list[Rival]:
    """Every known law that can be built at this cost, best first."""

    def judged(name: str, noise: Noise, uses: int) -> Rival:
        loss = PrivacyLoss.of(noise, sensitivity).compose(compositions * uses)
        return Rival(name, noise, uses, loss.epsilon(delta))

    found = []
    for name, build, uses in known_laws(sensitivity, batch, domain, touched):
        if name == "sphere" and cost.exponent != 2.0:
            continue
        try:
            found.append(judged(name, at_cost(build, sigma, cost), uses))
        except LeastNoiseError:  # a law that cannot be built at so small a cost, or not judged, is no rival
            continue
    return sorted(found, key=lambda rival: rival.epsilon)


def known_laws(
    sensitivity: float, batch: int, domain: Domain, touched: int | None = None
) -> list[tuple[str, Callable[[float], Noise], int]]:
    """(name, builder from a standard deviation, draws of one release that one person can influence) of every known law."""
    s, single = sensitivity, batch if touched is None else min(touched, batch)
    if domain == "integer":
        line: list[tuple[str, Callable[[float], Noise], int]] = [
            ("discrete Gaussian", classic.discrete_gaussian, single),
            ("discrete Laplace", classic.discrete_laplace, single),
            ("discrete Staircase", lambda sigma: classic.discrete_staircase(sigma, sensitivity=int(s)), single),
        ]
    else:
        line = [
            ("Gaussian", classic.gaussian, single),
            ("Laplace", classic.laplace, single),
            ("Staircase", lambda sigma: _staircase(sigma, s), single),
        ]
    line.append(("Cactus", lambda sigma: _cactus(sigma, s, domain), single))
    if batch > 1:
        line.append(("cube", lambda sigma: plain_cube(sigma, batch, s, domain), 1))
        if domain == "real":
            line.append(("sphere", lambda sigma: sphere(sigma, batch, sensitivity=s), 1))
    return line


def plain_cube(sigma: float, batch: int, sensitivity: float, domain: Domain) -> LatticeNoise:
    """The cube law; beyond 16 sensitivities on a lattice as coarse as our own laws', which costs it 2e-7 of ε."""
    wide = domain == "real" and sigma > 16.0 * sensitivity
    step = sensitivity / bins(sigma / sensitivity) if wide else None
    return classic.cube(sigma, batch, domain=domain, sensitivity=sensitivity, step=step)


def _staircase(sigma: float, sensitivity: float) -> Noise:
    """The Staircase law; beyond 30 sensitivities its first step is at s/2, where one bin a sensitivity puts it."""
    return classic.staircase(sigma, sensitivity=sensitivity, step=sensitivity if sigma > 30.0 * sensitivity else None)


def _cactus(sigma: float, sensitivity: float, domain: Domain) -> Noise:
    """The Cactus law on at most 30 bins a sensitivity: with more, the free program takes seconds to gain less than 1e-3."""
    step = sensitivity / min(bins(sigma / sensitivity), _MOST_BINS) if domain == "real" else None
    return cactus(sigma, sensitivity=sensitivity, domain=domain, step=step)


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
    if q == 2.0:
        return noise.variance
    if q is not None and isinstance(noise, GaussianNoise):
        return float(noise.sigma**q * 2.0 ** (0.5 * q) * math.gamma(0.5 * (q + 1.0)) / math.sqrt(math.pi))
    if q is not None and isinstance(noise, LaplaceNoise):
        return float(noise.scale**q * math.gamma(q + 1.0))
    exponent = 2.0 if isinstance(noise, GaussianNoise) else 1.0
    fine = classic.generalized_gaussian(noise.std, exponent, step=noise.std / 100.0, sensitivity=noise.std)
    return fine.expected_cost(cost)
