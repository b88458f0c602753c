"""The fixed settings that numbers are measured on, each a function that works through some cases.

A case gives a value (the divergence of a Rényi program, the ε of a design) and, where there are
any, the duality gap and Newton's iterations, which are the same on a busy machine as on an idle
one. The first case of each setting is the one that `--quick` runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import leastnoise
from leastnoise.cost import custom, quadratic
from leastnoise.designer.calibrate import least_sigma
from leastnoise.solver import descent, linear, renyi
from leastnoise.solver.budget import LatticeBudget
from leastnoise.solver.ended_staircase import best_ended
from leastnoise.solver.pairs import pair_system
from leastnoise.solver.point import meet_constraints, spread
from leastnoise.solver.problem import renyi_problem
from leastnoise.solver.staircase import best_staircase


class Measured(NamedTuple):
    """What one case came to."""

    value: float
    gap: float = 0.0
    iterations: int = 0


Case = Callable[[], Measured]


def program(sigma: float, order: float, bins: int, **more: Any) -> Case:
    """The Rényi program at `sigma` sensitivities."""

    def run() -> Measured:
        problem = renyi_problem(shift=bins, order=order, sigma=sigma * bins, **more)
        optimum = renyi.solve(problem)
        return Measured(optimum.divergence, optimum.gap, optimum.iterations)

    return run


def warm(sigma: float, order: float, before: float, bins: int) -> Case:
    """The program of one order, from the optimum of another."""

    def run() -> Measured:
        known, wanted = (
            renyi_problem(shift=bins, order=each, sigma=sigma * bins) for each in (before, order)
        )
        optimum = renyi.solve(wanted, renyi.solve(known))
        return Measured(optimum.divergence, optimum.gap, optimum.iterations)

    return run


def lowered(sigma: float, delta: float, releases: int, bins: int, dimension: int = 1) -> Case:
    """Descent on the true ε from a Rényi optimum."""

    def run() -> Measured:
        problem = renyi_problem(shift=bins, order=6.0, sigma=sigma * bins, dimension=dimension)
        system = pair_system(problem)
        optimum = renyi.solve(problem, system=system)
        law = meet_constraints(problem, spread(problem, optimum.profile))
        reached = descent.descend(problem, system, law, delta, releases, descent.COARSE)
        return Measured(reached.epsilon)

    return run


def ended(sigma: float, delta: float, bins: int, dimension: int = 1) -> Case:
    """The staircase that ends, for one release."""

    def run() -> Measured:
        lattice = LatticeBudget(dimension, bins, quadratic(), (sigma * bins) ** 2, "real")
        found = best_ended(lattice, delta, best_staircase(lattice).epsilon)
        return Measured(math.inf if found is None else found.epsilon)

    return run


def one_release(sigma: float, delta: float, bins: int, dimension: int) -> Case:
    """The linear program of one joint release."""

    def run() -> Measured:
        problem = renyi_problem(shift=bins, order=math.inf, sigma=sigma * bins, dimension=dimension)
        system, optimum = pair_system(problem), renyi.solve(problem)
        epsilon = descent.true_epsilon(system, optimum.profile, delta, 1)
        log_h = linear.least_epsilon(problem, optimum.profile, epsilon, delta, 0.05)
        if log_h is None:
            return Measured(math.inf)
        law = leastnoise.laws.lattice.LatticeNoise.from_log_weights(
            log_h, None, dimension=dimension
        )
        return Measured(leastnoise.PrivacyLoss.of(law, float(bins)).epsilon(delta))

    return run


def design(**request: Any) -> Case:
    """A whole design."""
    return lambda: Measured(leastnoise.design(**request).epsilon)


def design_sigma(**request: Any) -> Case:
    """A whole design at a given ε; the value is its σ."""
    return lambda: Measured(leastnoise.design(**request).sigma)


def moments(**request: Any) -> Case:
    """A whole design for the moments accountant; the value is what that says."""
    return lambda: Measured(
        leastnoise.design(objective="renyi", **request).moments_epsilon or math.inf
    )


def without_epsilon(delta: float, start: float) -> Case:
    """The sigma of the Gaussian law from which δ alone is enough."""

    def run() -> Measured:
        found = least_sigma(
            *(leastnoise.gaussian, 0.0, (10.0, 20_000.0)),
            sensitivity=1.0,
            delta=delta,
            draws=1,
            start=start,
        )
        return Measured(math.inf if found is None else found)

    return run


_BOUNDED = custom(lambda z: np.minimum(np.abs(z), 5.0), growth=0.0, name="min(|z|, 5)")
_LOGARITHMIC = custom(lambda z: np.log1p(np.abs(z)), growth=1.0, name="log(1 + |z|)")

SETTINGS: dict[str, tuple[Case, ...]] = {
    "programs": (
        program(1.0, 8.0, 10),
        program(0.1, 1.0, 10),
        program(8.0, 18.0, 10),
        program(100.0, 18.0, 4),
        program(0.3, 125.0, 10),
        program(4.0, 2.0, 4, dimension=10),
    ),
    "free programs": (
        program(0.5, 4.0, 10, monotone=False),
        program(2.0, 125.0, 10, monotone=False),
    ),
    "stepped programs": (
        program(0.1, 64.0, 10),
        program(1.0, 1000.0, 10),
        program(2.0, 300.0, 10, domain="integer"),
    ),
    "far programs": (
        program(1.0, 1.0, 10),
        program(0.3, 1000.0, 10),
    ),
    "joint programs": (
        program(0.3, 8.0, 4, dimension=100),
        program(4.0, 125.0, 4, dimension=40),
        program(20.0, 8.0, 4, dimension=3),
    ),
    "warm starts": (
        warm(4.0, 60.0, 30.0, 10),
        warm(8.0, 18.0, 16.0, 10),
        warm(8.0, 40.0, 25.0, 10),
        warm(2.0, 30.0, 10.0, 10),
    ),
    "descent": (
        lowered(2.0, 1e-6, 10, 10),
        lowered(1.0, 1e-2, 2, 12),
        lowered(3.0, 1e-5, 4, 6, dimension=3),
    ),
    "ended staircases": (
        ended(1.0, 1e-2, 20),
        ended(0.5, 1e-5, 300),
        ended(2.0, 1e-4, 8, dimension=5),
    ),
    "one joint release": (
        one_release(1.0, 1e-2, 10, 2),
        one_release(2.0, 1e-4, 8, 3),
    ),
    "designs": (
        design(delta=1e-6, sigma=4.0, compositions=10),
        design(delta=1e-6, sigma=1.0, compositions=2),
        design(delta=1e-2, sigma=2.0, compositions=2),
        design(delta=1e-6, sigma=0.3, compositions=100),
        design(delta=1e-5, sigma=3.0, compositions=6, domain="integer"),
    ),
    "batches": (
        design(delta=1e-6, sigma=3.0, batch=3),
        design(delta=1e-6, sigma=3.0, batch=10, compositions=4),
        design(delta=1e-2, sigma=1.0, batch=2),
    ),
    "several releases": (
        design(delta=1e-6, sigma=4.23, compositions=6),
        design(delta=1e-6, sigma=8.0, compositions=5),
        design(delta=1e-3, sigma=1.0, compositions=3),
        design(delta=1e-6, sigma=50.0, compositions=3),
    ),
    "five releases": (design(delta=1e-6, sigma=10.0, compositions=5),),
    "two releases": (design(delta=1e-2, sigma=2.0, compositions=2),),
    "few releases": (
        design(delta=1e-3, sigma=3.0, compositions=2),
        design(delta=1e-6, sigma=50.0, compositions=3),
    ),
    "ended releases": (
        design(delta=1e-3, sigma=0.3, compositions=2),
        design(delta=1e-6, sigma=10.0, compositions=2),
    ),
    "touched": (
        design(delta=1e-6, sigma=10.0, batch=30, touched=3),
        design(delta=1e-3, sigma=10.0, batch=12, touched=4, compositions=2),
    ),
    "given epsilon": (
        design_sigma(delta=1e-6, epsilon=1.0, compositions=10),
        design_sigma(delta=1e-5, epsilon=0.5, batch=4),
    ),
    "several given epsilon": (
        design_sigma(delta=1e-6, epsilon=0.3, compositions=6),
        design_sigma(delta=1e-3, epsilon=1.0, compositions=3),
        design_sigma(delta=1e-6, epsilon=2.0, batch=5, compositions=3),
    ),
    "few touched": (
        design_sigma(delta=1e-6, epsilon=1.0, batch=30, touched=3),
        design_sigma(delta=1e-6, epsilon=1.0, batch=200),
    ),
    "other costs": (
        design_sigma(delta=1e-3, epsilon=2.0, batch=5, cost=_BOUNDED),
        design_sigma(delta=1e-6, epsilon=0.5, batch=3, cost=_LOGARITHMIC),
    ),
    "nearly no epsilon": (design_sigma(delta=0.25, epsilon=0.01, compositions=3),),
    "no epsilon": (without_epsilon(0.01, 10_000.0),),
    "small noise": (
        design(delta=1e-3, sigma=0.3, compositions=2),
        design(delta=1e-6, sigma=0.1, compositions=5),
    ),
    "tiny noise": (design(delta=1e-2, sigma=0.03, compositions=200),),
    "small joint noise": (design_sigma(delta=1e-6, epsilon=9.85, batch=2),),
    "smooth and stepped": (
        design(delta=1e-6, sigma=1.0, compositions=2),
        design(delta=1e-6, sigma=10.0, compositions=2),
    ),
    "moments": (
        moments(delta=1e-6, sigma=1.0, compositions=20),
        moments(delta=1e-6, sigma=4.0, compositions=10),
        moments(delta=1e-2, sigma=0.7),
        moments(delta=1e-6, sigma=1.0, compositions=1000),
    ),
}


def cases(names: tuple[str, ...], *, quick: bool) -> Iterator[Case]:
    """Every case of the named settings, or the first of each."""
    for name in names:
        yield from SETTINGS[name][: 1 if quick else None]
