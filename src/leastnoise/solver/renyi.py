"""Solve the Rényi program of one order: the entrance to this folder."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from leastnoise.errors import InvalidParameterError
from leastnoise.lattice.shells import Floats
from leastnoise.solver import newton, staircase
from leastnoise.solver.optimum import RenyiOptimum, SolverSettings
from leastnoise.solver.pairs import PairSystem, pair_system
from leastnoise.solver.point import meet_constraints
from leastnoise.solver.problem import RenyiProblem


def solve(
    problem: RenyiProblem,
    start: Floats | RenyiOptimum | None = None,
    settings: SolverSettings | None = None,
    system: PairSystem | None = None,
) -> RenyiOptimum:
    """The optimum of the problem, from its own smooth guess or from the law of a neighbouring order
    or budget.

    `start` is log h for shells 0, 1, … (any length: it is continued along its last slope) or a
    previous optimum with the same shift; `system` the pairs of the problem, where they are known.

    Guarantees: never silent about the gap: `status` is NOT_REACHED whenever it exceeds
    `settings.acceptable`.
    """
    settings = SolverSettings() if settings is None else settings
    if math.isinf(problem.order):
        return _best_staircase(problem, system, settings)
    profile = problem.guess if start is None else _continued(problem, start)
    system = pair_system(problem) if system is None else system
    return newton.minimise(problem, system, profile, settings)


def _best_staircase(
    problem: RenyiProblem, system: PairSystem | None, settings: SolverSettings
) -> RenyiOptimum:
    """The staircase the problem was built on, with its loss recomputed from the law and the bound
    from the certificate."""
    q = meet_constraints(problem, problem.guess)
    if system is None or not problem.monotone:
        system = pair_system(replace(problem, monotone=True))
    loss = float(np.max(q[system.a] - q[system.b] + system.offset))
    stairs = staircase.best_staircase(problem.lattice)
    known = min(loss, stairs.epsilon)
    bound = staircase.proven_loss(problem.lattice, known, stairs.width, monotone=problem.monotone)
    weights = np.zeros(len(problem.shifts))
    weights[-1] = 1.0
    return RenyiOptimum(problem, q, loss, bound, stairs.budget_slope, weights, 0, settings)


def _continued(problem: RenyiProblem, start: Floats | RenyiOptimum) -> Floats:
    """A log-profile for the problem's free shells, from a law of another length.

    Of an optimum the deviation from its own problem's guess is carried over: the guess then
    accounts for the change of order and budget, in the tail above all (steps from α = 25 to 40 at σ
    = 8s: 15 against 44 when the law itself is carried over, 18 without).
    """
    if isinstance(start, RenyiOptimum):
        deviation = start.log_h - start.problem.all_shells(start.problem.guess)
        missing = max(problem.last + 1 - deviation.size, 0)
        deviation = np.concatenate([deviation, np.full(missing, deviation[-1])])
        return problem.guess + deviation[problem.first : problem.last + 1]
    log_h = np.asarray(start, dtype=np.float64)
    if log_h.ndim != 1 or log_h.size < 2 or not np.all(np.isfinite(log_h)):
        raise InvalidParameterError(
            "start", log_h, "to be a vector of at least two finite log-probabilities"
        )
    if log_h.size <= problem.last:
        # Continued with the smooth guess's own slopes: a straight line would miss the slow
        # steepening of the tail.
        tail = problem.all_shells(problem.guess)[log_h.size - 1 :]
        log_h = np.concatenate([log_h, log_h[-1] + tail[1:] - tail[0]])
    return np.array(log_h[problem.first : problem.last + 1])
