"""A law in lattice units while it is looked for: its true ε, and the Rényi optimum that it is made
from, which is its certificate."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from leastnoise.designer.request import LatticeRequest
from leastnoise.lattice.shells import Floats
from leastnoise.solver import descent, renyi
from leastnoise.solver.optimum import RenyiOptimum, SolverSettings
from leastnoise.solver.pairs import PairSystem, pair_system
from leastnoise.solver.problem import RenyiProblem

# The search needs no proof of nine digits: `certified` solves the optimum of the law that wins on
# to them.
_QUICK = SolverSettings(tolerance=1e-6, acceptable=1e-5)


@dataclass(frozen=True, eq=False)
class LatticeLaw:
    """A law of the family, h_k for k = 0, …, with its true ε and its certificate.

    Attributes:
        log_h: log probability of one lattice point of shell k = 0, 1, …
        tail_ratio: Of the shells beyond the last; None where the law ends there.
        epsilon: Of all releases together, by the solver's own pairs of bins.
        optimum: The Rényi optimum the law started from.
        problem: The lattice it lives on, which descent needs.
        system: The pairs of bins of that lattice.
        is_rough: Whether descent or the linear program may still better it.
    """

    log_h: Floats
    tail_ratio: float | None
    epsilon: float
    optimum: RenyiOptimum
    problem: RenyiProblem
    system: PairSystem
    is_rough: bool = False


def renyi_law(
    asked: LatticeRequest,
    order: float,
    start: RenyiOptimum | None = None,
    settings: SolverSettings = _QUICK,
) -> LatticeLaw:
    """The optimum of the Rényi program of one order (non-increasing), with its true ε."""
    problem = asked.problem(order)
    if start is not None and (math.isinf(order) or math.isinf(start.problem.order)):
        start = None
    system = pair_system(problem)
    optimum = renyi.solve(problem, start, settings, system)
    epsilon = descent.true_epsilon(system, optimum.profile, asked.delta, asked.compositions)
    return LatticeLaw(optimum.log_h, problem.tail_ratio, epsilon, optimum, problem, system)


def certified(optimum: RenyiOptimum) -> RenyiOptimum:
    """The same optimum solved on to the full tolerance."""
    if math.isinf(optimum.problem.order) or optimum.gap <= SolverSettings().tolerance:
        return optimum
    further = renyi.solve(optimum.problem, optimum, SolverSettings())
    return further if further.gap < optimum.gap else replace(optimum, settings=further.settings)
