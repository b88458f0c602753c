"""The known laws at the same cost as a design, and the ε each of them needs."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from scipy import optimize

from leastnoise.changes import BOX, Changes, Euclidean
from leastnoise.cost import Cost, quadratic
from leastnoise.designer import whole_numbers
from leastnoise.designer.cactus import cactus
from leastnoise.designer.request import MOST_OF_A_NORM, Request, is_in_box
from leastnoise.designer.result import FoundLaw, Way
from leastnoise.errors import DesignError, InvalidParameterError, LeastNoiseError
from leastnoise.lattice.bodies.base import Body
from leastnoise.lattice.bodies.count import CountBody
from leastnoise.lattice.bodies.range import RangeBody
from leastnoise.lattice.bodies.touched import TouchedBody
from leastnoise.lattice.resolution import FINE, WIDE, WIDE_STAIRS, bins_of_design
from leastnoise.lattice.steps import step_of
from leastnoise.laws import classic
from leastnoise.laws.base import Domain, Noise
from leastnoise.laws.correlated import Core, correlated, normal, shared
from leastnoise.laws.cut_cube import cut_cube
from leastnoise.laws.exponential import exponential_law
from leastnoise.laws.lattice import LatticeNoise
from leastnoise.laws.lifted import LiftedNoise
from leastnoise.laws.sphere import sphere
from leastnoise.solver.schrodinger import schrodinger
from leastnoise.solver.staircase import staircase

_MOST_BINS = 30
# Sigma in sensitivities: below, the bins of the Cactus law are too wide and its program is beyond
# double precision, and the cube law has too many pairs of bins to judge.
_LEAST = {"Cactus": 0.05, "cube": 0.01}
_WIDEST = 20.0  # how far the scale of a law may be from sigma, in logarithms


def rivals(request: Request, sigma: float, only: str | None = None) -> list[FoundLaw]:
    """Every known law that can be built at this cost, best first; or the named one `only`."""
    found, s, domain = [], request.sensitivity, request.domain
    for name, build, uses in laws_of(request):
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
    """The known law of this cost. Staircase, Cactus and Schrödinger laws are the best of their kind
    for the cost itself, which takes one solve where a search through those for the variance takes
    thirty."""
    if cost.exponent != 2.0 and name.endswith("Staircase"):
        return _staircase(sigma, sensitivity, domain, cost)
    if cost.exponent != 2.0 and name == "Cactus":
        return _cactus(sigma, sensitivity, domain, cost)
    if name == SCHRODINGER:
        return build(sigma)
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
SCHRODINGER = "Schrödinger"  # the law of least Fisher information, of costs other than the square
ROUNDED = "rounded Gaussian"  # normal noise on whole numbers, where a length counts
KnownLaw = tuple[str, Callable[[float], Noise], int]


def laws_of(request: Request) -> list[KnownLaw]:
    """The known laws of a request: all, or of the one kind that its answers were scaled for."""
    s, batch, parts, ties = request.sensitivity, request.batch, request.parts, request.ties
    domain = request.domain
    if parts is not None:

        def build(core: Core) -> Callable[[float], Noise]:
            return lambda sigma: shared(sigma, parts, core=core, sensitivity=s, domain=domain)

        kinds: tuple[Core, ...] = ("sphere", "gaussian")
        names = ("correlated sphere", "correlated Gaussian")
        return [(name, build(core), 1) for name, core in zip(names, kinds, strict=True)]
    if ties is not None:
        return [("lifted cube", lambda sigma: _lifted(sigma, batch, s, ties), 1)]
    alone = request.delta if request.compositions == 1 else None
    return [
        *known_laws(s, batch, request.domain, request.changes, alone),
        *_of_other_costs(request),
    ]


def _of_other_costs(request: Request) -> list[KnownLaw]:
    """The law of least Fisher information. For the square it is the Gaussian, which is there."""
    if request.cost.exponent == 2.0:
        return []
    given: dict[str, Any] = {"sensitivity": request.sensitivity, "domain": request.domain}
    single = request.changes.touched_of(request.batch)

    def build(sigma: float) -> Noise:
        return schrodinger(sigma, **given, cost=request.cost)

    return [(SCHRODINGER, build, single)]


def _lifted(
    sigma: float, batch: int, sensitivity: float, ties: tuple[float, ...] | None = None
) -> LiftedNoise:
    """The cube with a hidden count; an answer with the tie 1 has the standard deviation `sigma`."""
    cube = plain_cube(math.sqrt(2.0) * sigma, batch + 1, sensitivity, "real")
    return LiftedNoise(cube, ties)


def known_laws(
    sensitivity: float,
    batch: int,
    domain: Domain,
    changes: Changes = BOX,
    delta: float | None = None,
) -> list[KnownLaw]:
    """(name, builder from a standard deviation, draws of one release that one person can influence)
    of every known law; `delta` is that of one release alone, to which the cut cube is fitted."""
    if not is_in_box(changes):
        return _of_length(sensitivity, batch)
    s, single = sensitivity, changes.touched_of(batch)
    kind, is_whole = ("discrete ", True) if domain == "integer" else ("", False)
    line: list[KnownLaw] = [
        *_gaussians(s, batch, domain, changes),
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
        if batch <= MOST_OF_A_NORM:
            line += _of_a_norm(s, batch, domain, changes)
    return line


def _gaussians(s: float, batch: int, domain: Domain, changes: Changes) -> list[KnownLaw]:
    """Independent normal noise; one draw of it where a length of all changes is what counts."""
    single, is_length = changes.touched_of(batch), batch > 1 and isinstance(changes, Euclidean)

    def drawn(sigma: float) -> Noise:
        return normal(sigma, batch, sensitivity=s, domain=domain)

    if domain == "integer":
        whole: KnownLaw = ("discrete Gaussian", classic.discrete_gaussian, single)
        return [whole, (ROUNDED, drawn, 1)] if is_length else [whole]
    return [("Gaussian", drawn, 1) if is_length else ("Gaussian", classic.gaussian, single)]


def _cut_cube(s: float, batch: int, domain: Domain, delta: float) -> Callable[[float], Noise]:
    return lambda sigma: cut_cube(sigma, batch, delta=delta, sensitivity=s, domain=domain)


def _of_a_norm(s: float, batch: int, domain: Domain, changes: Changes) -> list[KnownLaw]:
    """Known laws whose norm is made for the changes."""
    k, bodies = changes.touched_of(batch), list[Body]()
    if changes.is_one_sided:
        bodies.append(RangeBody(batch))
    if 1 < k < batch:
        bodies.append((CountBody if changes.is_one_sided else TouchedBody)(batch, k))

    def build(body: Body) -> Callable[[float], Noise]:
        return lambda sigma: exponential_law(body, sigma, sensitivity=s, domain=domain)

    return [(body.name, build(body), 1) for body in bodies]


def _one_sided(s: float, batch: int, domain: Domain, changes: Changes) -> list[KnownLaw]:
    """Known joint laws for answers that all move the same way."""

    def build(core: Core) -> Callable[[float], Noise]:
        return lambda sigma: correlated(
            sigma, batch, core=core, changes=changes, sensitivity=s, domain=domain
        )

    found: list[KnownLaw] = [
        ("correlated sphere", build("sphere"), 1),
        ("correlated Gaussian", build("gaussian"), 1),
    ]
    if domain == "real":
        found.append(("lifted cube", lambda sigma: _lifted(sigma, batch, s), 1))
    return found


def _of_length(s: float, batch: int) -> list[KnownLaw]:
    """Known laws for several changes of a bounded length, which may be more than a sensitivity."""
    return [
        ("sphere", lambda sigma: sphere(sigma, batch, sensitivity=s), 1),
        *_gaussians(s, batch, "real", Euclidean(1.0)),
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
