"""The known laws at the same cost as a design, and the ε each of them needs."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

from scipy import optimize

from leastnoise.changes import BOX, Changes
from leastnoise.cost import Cost, quadratic
from leastnoise.designer import whole_numbers
from leastnoise.designer.cactus import cactus
from leastnoise.designer.request import Request
from leastnoise.designer.result import FoundLaw, Way
from leastnoise.errors import DesignError, InvalidParameterError, LeastNoiseError
from leastnoise.lattice.resolution import FINE, WIDE, WIDE_STAIRS, bins_of_design
from leastnoise.lattice.steps import step_of
from leastnoise.laws import classic
from leastnoise.laws.base import Domain, Noise
from leastnoise.laws.correlated import Core, correlated, normal
from leastnoise.laws.cut_cube import cut_cube
from leastnoise.laws.lattice import LatticeNoise
from leastnoise.laws.lifted import LiftedNoise
from leastnoise.laws.norm import count_law, range_law, touched_law
from leastnoise.laws.sphere import sphere
from leastnoise.solver.staircase import staircase

_MOST_BINS = 30
# Sigma in sensitivities: below, the bins of the Cactus law are too wide and its program is beyond
# double precision, and the cube law has too many pairs of bins to judge.
_LEAST = {"Cactus": 0.05, "cube": 0.01}
_MOST_OF_A_NORM = 60  # answers: beyond, the sphere is better, and counting takes seconds
_WIDEST = 20.0  # how far the scale of a law may be from sigma, in logarithms


def rivals(request: Request, sigma: float, only: str | None = None) -> list[FoundLaw]:
    """Every known law that can be built at this cost, best first; or the named one `only`."""
    found, s, domain = [], request.sensitivity, request.domain
    alone = request.delta if request.compositions == 1 else None
    for name, build, uses in known_laws(s, request.batch, domain, request.changes, alone):
        if only not in (None, name) or sigma < _LEAST.get(name, 0.0) * s:
            continue
        try:
            noise = _at_cost(name, build, sigma, s, domain, request.cost)
            loss = request.loss(noise).compose(request.compositions * uses)
            epsilon = loss.epsilon(request.delta)
            found.append(FoundLaw(name, noise, uses, epsilon, _again(request, name)))
        except (LeastNoiseError, ArithmeticError, ValueError):
            continue  # what cannot be built at so small a cost, or not judged, is no rival
    return sorted(found, key=lambda law: law.epsilon)


def _again(request: Request, name: str) -> Way:
    def again(sigma: float, _: FoundLaw | None) -> FoundLaw:
        there = rivals(request, sigma, name)
        if not there:
            raise DesignError(f"The {name} law cannot be had at sigma={sigma!r}.")
        return there[0]

    return again


def _at_cost(
    name: str,
    build: Callable[[float], Noise],
    sigma: float,
    sensitivity: float,
    domain: Domain,
    cost: Cost,
) -> Noise:
    """The known law of this cost. Staircase and Cactus are the best of their kind for the cost
    itself, which takes one solve where a search through those for the variance takes thirty."""
    if cost.exponent != 2.0 and name.endswith("Staircase"):
        return _staircase(sigma, sensitivity, domain, cost)
    if cost.exponent != 2.0 and name == "Cactus":
        return _cactus(sigma, sensitivity, domain, cost)
    return at_cost(build, sigma, cost)


def _staircase(
    sigma: float, sensitivity: float, domain: Domain, cost: Cost | None = None
) -> LatticeNoise:
    """The Staircase of Geng and Viswanath, for any cost. One that hardly grows any more has noise
    far wider than sigma (min(|z|, 5) at sigma = 4.995: 20 s on the finer lattice)."""
    size = sigma if cost is None else max(sigma, 0.25 * cost.radius(cost.of(sigma)))
    is_wide = domain == "real" and size > WIDE_STAIRS * sensitivity
    step = sensitivity if is_wide else None
    return staircase(sigma, sensitivity=sensitivity, domain=domain, step=step, cost=cost)


FITTED = ("correlated sphere", "lifted cube")  # to answers that all move the same way
KnownLaw = tuple[str, Callable[[float], Noise], int]


def known_laws(
    sensitivity: float,
    batch: int,
    domain: Domain,
    changes: Changes = BOX,
    delta: float | None = None,
) -> list[KnownLaw]:
    """(name, builder from a standard deviation, draws of one release that one person can influence)
    of every known law; `delta` is that of one release alone, to which the cut cube is fitted."""
    if changes.ranges_of(batch) is None:
        return _of_length(sensitivity, batch, domain)
    s, single = sensitivity, changes.touched_of(batch)
    kind, is_whole = ("discrete ", True) if domain == "integer" else ("", False)
    line: list[KnownLaw] = [
        (f"{kind}Gaussian", classic.discrete_gaussian if is_whole else classic.gaussian, single),
        (f"{kind}Laplace", classic.discrete_laplace if is_whole else classic.laplace, single),
        (f"{kind}Staircase", lambda sigma: _staircase(sigma, s, domain), single),
        ("Cactus", lambda sigma: _cactus(sigma, s, domain), single),
    ]
    if batch > 1:
        line.append(("cube", lambda sigma: plain_cube(sigma, batch, s, domain), 1))
        line.append(("sphere", lambda sigma: sphere(sigma, batch, sensitivity=s, domain=domain), 1))
        if delta is not None and changes.has_corner(batch) and not changes.is_one_sided:
            line.append(("cut cube", _cut_cube(s, batch, domain, delta), 1))
        if changes.is_one_sided:
            line += _one_sided(s, batch, domain, changes)
        if is_whole and batch <= _MOST_OF_A_NORM:
            line += _of_a_norm(batch, changes)
    return line


def _cut_cube(s: float, batch: int, domain: Domain, delta: float) -> Callable[[float], Noise]:
    return lambda sigma: cut_cube(sigma, batch, delta=delta, sensitivity=s, domain=domain)


def _of_a_norm(batch: int, changes: Changes) -> list[KnownLaw]:
    """Known laws of whole numbers whose norm is made for the changes."""
    k, found = changes.touched_of(batch), list[KnownLaw]()
    if changes.is_one_sided:
        found.append(("range", lambda sigma: range_law(sigma, batch), 1))
    if 1 < k < batch:
        name, build = ("count", count_law) if changes.is_one_sided else ("touched", touched_law)
        found.append((name, lambda sigma: build(sigma, batch, k), 1))
    return found


def _one_sided(s: float, batch: int, domain: Domain, changes: Changes) -> list[KnownLaw]:
    """Known joint laws for answers that all move the same way."""

    def build(core: Core) -> Callable[[float], Noise]:
        return lambda sigma: correlated(
            sigma, batch, core=core, changes=changes, sensitivity=s, domain=domain
        )

    def lifted(sigma: float) -> Noise:
        return LiftedNoise(plain_cube(math.sqrt(2.0) * sigma, batch + 1, s, domain))

    found: list[KnownLaw] = [
        ("correlated sphere", build("sphere"), 1),
        ("correlated Gaussian", build("gaussian"), 1),
    ]
    return [*found, ("lifted cube", lifted, 1)] if domain == "real" else found


def _of_length(s: float, batch: int, domain: Domain) -> list[KnownLaw]:
    """Known laws for changes of a bounded length: rounding to whole numbers would add √d to it."""
    if domain == "integer":
        return []
    if batch == 1:
        return [("Gaussian", classic.gaussian, 1), ("Laplace", classic.laplace, 1)]
    return [
        ("sphere", lambda sigma: sphere(sigma, batch, sensitivity=s), 1),
        ("Gaussian", lambda sigma: normal(sigma, batch, sensitivity=s), 1),
    ]


def plain_cube(sigma: float, batch: int, sensitivity: float, domain: Domain) -> LatticeNoise:
    """The cube law, where sigma is large or small on a lattice as coarse as our own laws': that
    costs it 2e-7 of ε beyond 16 sensitivities and 1e-4 below a fifth of one, where the default has
    five times the bins and 25 times the pairs to judge."""
    ratio, step = sigma / sensitivity, None
    if domain == "real" and not FINE <= ratio <= WIDE:
        step = step_of(sensitivity, bins_of_design(ratio, batch))
    return classic.cube(sigma, batch, domain=domain, sensitivity=sensitivity, step=step)


def _cactus(sigma: float, sensitivity: float, domain: Domain, cost: Cost | None = None) -> Noise:
    """The Cactus law on at most 30 bins a sensitivity: with more, the free program takes seconds to
    gain less than 1e-3. For a sensitivity of many integers it is that of the real line, rounded."""
    step = step_of(sensitivity, min(bins_of_design(sigma / sensitivity), _MOST_BINS))
    if domain == "real":
        return cactus(sigma, sensitivity=sensitivity, step=step, cost=cost)
    if sensitivity <= 2 * _MOST_BINS:
        return cactus(sigma, sensitivity=sensitivity, domain=domain, cost=cost)
    known = quadratic() if cost is None else cost
    law = cactus(sigma, sensitivity=sensitivity, step=step, cost=known, monotone=True)
    return whole_numbers.rounded(law, known, known.of(sigma))


def at_cost(build: Callable[[float], Noise], sigma: float, cost: Cost) -> Noise:
    """The member of a family whose expected cost is c(sigma): for the quadratic cost, the one of
    that standard deviation."""
    if cost.exponent == 2.0:
        return build(sigma)
    target = math.log(cost.of(sigma))

    @cache
    def excess(log_scale: float) -> float:
        return math.log(build(math.exp(log_scale)).expected_cost(cost)) - target

    # The logarithm of the cost is nearly a straight line: from its own estimate, a bracket of 1 %
    # mostly holds the answer.
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
