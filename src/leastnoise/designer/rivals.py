"""The known laws at the same cost as a design, and the ε each of them needs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from scipy import optimize

from leastnoise import classic
from leastnoise.ball import sphere
from leastnoise.closed_form import GaussianNoise, LaplaceNoise
from leastnoise.cost import Cost, quadratic
from leastnoise.designer import pure, whole
from leastnoise.designer.cactus import cactus
from leastnoise.designer.candidates import bins
from leastnoise.errors import InvalidParameterError, LeastNoiseError
from leastnoise.lattice import LatticeNoise
from leastnoise.noise import Domain, Noise
from leastnoise.privacy.loss import PrivacyLoss
from leastnoise.shells import Floats
from leastnoise.steps import shift_in_steps, step_of

_MOST_BINS = 30
# Sigma in sensitivities: below, the bins of the Cactus law are too wide and its program is beyond double precision, and the cube
# law has too many pairs of bins to judge.
_LEAST = {"Cactus": 0.05, "cube": 0.01}
_WIDEST = 20.0  # how far the scale of a law may be from sigma, in logarithms


# Rivals that put independent noise on each answer, and our own of that kind.
PRODUCTS = (
    *(
        "Gaussian",
        "Laplace",
        "Staircase",
        "Cactus",
        "discrete Gaussian",
        "discrete Laplace",
        "discrete Staircase",
    ),
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
    only: str | None = None,
) -> list[Rival]:
    """Every known law that can be built at this cost, best first; or the named one `only`."""
    found = []
    for name, build, uses in known_laws(sensitivity, batch, domain, touched):
        if only not in (None, name) or sigma < _LEAST.get(name, 0.0) * sensitivity:
            continue
        try:
            noise = _at_cost(name, build, sigma, sensitivity, domain, cost)
            loss = PrivacyLoss.of(noise, sensitivity).compose(compositions * uses)
            found.append(Rival(name, noise, uses, loss.epsilon(delta)))
        except (
            LeastNoiseError,
            ArithmeticError,
            ValueError,
        ):  # what cannot be built at so small a cost, or not judged, is no rival
            continue
    return sorted(found, key=lambda rival: rival.epsilon)


def _at_cost(
    name: str,
    build: Callable[[float], Noise],
    sigma: float,
    sensitivity: float,
    domain: Domain,
    cost: Cost,
) -> Noise:
    """The known law of this cost. Staircase and Cactus are the best of their kind for the cost itself, which takes one solve where
    a search through those for the variance takes thirty."""
    if cost.exponent != 2.0 and name.endswith("Staircase"):
        return _staircase_at_cost(sigma, sensitivity, domain, cost)
    if cost.exponent != 2.0 and name == "Cactus":
        return _cactus(sigma, sensitivity, domain, cost)
    return at_cost(build, sigma, cost)


def _staircase_at_cost(
    sigma: float, sensitivity: float, domain: Domain, cost: Cost
) -> LatticeNoise:
    """The Staircase of Geng and Viswanath for any cost."""
    wide = domain == "real" and sigma > 30.0 * sensitivity
    step = classic.lattice_step(sigma, sensitivity, sensitivity if wide else None, domain, least=50)
    shift = shift_in_steps(sensitivity, step)
    stairs = pure.best_staircase(1, shift, *cost.in_steps(cost.of(sigma), step), domain)
    return LatticeNoise.from_log_weights(
        stairs.log_h, math.exp(-stairs.epsilon / shift), step=step, domain=domain
    )


def known_laws(
    sensitivity: float, batch: int, domain: Domain, touched: int | None = None
) -> list[tuple[str, Callable[[float], Noise], int]]:
    """(name, builder from a standard deviation, draws of one release that one person can influence) of every known law."""
    s, single = sensitivity, batch if touched is None else min(touched, batch)
    if domain == "integer":
        line: list[tuple[str, Callable[[float], Noise], int]] = [
            ("discrete Gaussian", classic.discrete_gaussian, single),
            ("discrete Laplace", classic.discrete_laplace, single),
            (
                "discrete Staircase",
                lambda sigma: classic.discrete_staircase(sigma, sensitivity=int(s)),
                single,
            ),
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
        line.append(("sphere", lambda sigma: sphere(sigma, batch, sensitivity=s, domain=domain), 1))
    return line


def plain_cube(sigma: float, batch: int, sensitivity: float, domain: Domain) -> LatticeNoise:
    """The cube law, where sigma is large or small on a lattice as coarse as our own laws': that costs it 2e-7 of ε beyond 16
    sensitivities and 1e-4 below a fifth of one, where the default has five times the bins and 25 times the pairs to judge."""
    ratio = sigma / sensitivity
    own = domain == "real" and not 0.2 <= ratio <= 16.0
    return classic.cube(
        sigma,
        batch,
        domain=domain,
        sensitivity=sensitivity,
        step=step_of(sensitivity, bins(ratio, batch)) if own else None,
    )


def _staircase(sigma: float, sensitivity: float) -> Noise:
    """The Staircase law; beyond 30 sensitivities its first step is at s/2, where one bin a sensitivity puts it."""
    return classic.staircase(
        sigma, sensitivity=sensitivity, step=sensitivity if sigma > 30.0 * sensitivity else None
    )


def _cactus(sigma: float, sensitivity: float, domain: Domain, cost: Cost | None = None) -> Noise:
    """The Cactus law on at most 30 bins a sensitivity: with more, the free program takes seconds to gain less than 1e-3. For a
    sensitivity of many integers it is that of the real line, rounded."""
    step = step_of(sensitivity, min(bins(sigma / sensitivity), _MOST_BINS))
    if domain == "real":
        return cactus(sigma, sensitivity=sensitivity, step=step, cost=cost)
    if sensitivity <= 2 * _MOST_BINS:
        return cactus(sigma, sensitivity=sensitivity, domain=domain, cost=cost)
    known = quadratic() if cost is None else cost
    law = cactus(sigma, sensitivity=sensitivity, step=step, cost=known, monotone=True)
    return whole.rounded(law, known, known.of(sigma))


def at_cost(build: Callable[[float], Noise], sigma: float, cost: Cost) -> Noise:
    """The member of a family whose expected cost is c(sigma): for the quadratic cost, the one of that standard deviation."""
    if cost.exponent == 2.0:
        return build(sigma)
    target = math.log(cost.of(sigma))

    @cache
    def excess(log_scale: float) -> float:
        return math.log(expected_cost(build(math.exp(log_scale)), cost)) - target

    # The logarithm of the cost is nearly a straight line: from its own estimate, a bracket of 1 % mostly holds the answer.
    middle = math.log(sigma)
    middle -= excess(middle) / (cost.exponent or 1.0)
    low, high, width = middle, middle, 0.01
    while excess(low) > 0:
        low, width = low - width, 2.0 * width
    while excess(high) < 0:
        high, width = high + width, 2.0 * width
        if high > middle + _WIDEST:
            raise InvalidParameterError(
                "cost of sigma", math.exp(target), "to be below what the widest noise costs"
            )
    return build(
        math.exp(float(optimize.brentq(excess, low, high, xtol=1e-13)) if low < high else low)
    )


def expected_cost(noise: Noise, cost: Cost) -> float:
    """E[c(Z)] on one answer, for any law."""
    if isinstance(noise, LatticeNoise):
        return noise.expected_cost(cost)
    q = cost.exponent
    if q == 2.0:
        return noise.variance
    if q is not None and isinstance(noise, GaussianNoise):
        return float(
            noise.sigma**q * 2.0 ** (0.5 * q) * math.gamma(0.5 * (q + 1.0)) / math.sqrt(math.pi)
        )
    if q is not None and isinstance(noise, LaplaceNoise):
        return float(noise.scale**q * math.gamma(q + 1.0))
    if noise.domain == "integer":  # the sphere, rounded
        k = np.arange(math.ceil(60.0 * noise.std) + 60.0)
        beyond = noise.ccdf(k - 1.0)
        return 2.0 * float(
            np.sum((beyond[1:-1] - beyond[2:]) * cost.average(k[1:-1], 1.0, "integer"))
        ) + cost.of(0.0) * float(noise.ccdf(-1.0) - noise.ccdf(0.0))
    places, weights = _quadrature()
    return (
        2.0
        * noise.std
        * float(np.sum(weights * noise.pdf(noise.std * places) * cost.function(noise.std * places)))
    )


@lru_cache(maxsize=1)
def _quadrature() -> tuple[Floats, Floats]:
    """Gauss–Legendre panels from 0 to 60 standard deviations, finer towards 0, where a cost may have a kink."""
    edges = np.concatenate([[0.0], np.geomspace(1e-9, 0.05, 40), np.arange(0.1, 60.0, 0.05)])
    nodes, weights = np.polynomial.legendre.leggauss(8)
    middle, half = 0.5 * (edges[1:] + edges[:-1])[:, None], 0.5 * np.diff(edges)[:, None]
    return (middle + half * nodes).ravel(), (half * weights).ravel()
