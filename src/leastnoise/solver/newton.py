"""A primal-dual barrier method in logarithmic coordinates.

The objective is log(divergence) per shift, so every multiplier and the barrier parameter μ are
relative gaps, whatever σ, α and N are. The cone's slacks (h_k − h_{k+1} when monotone, h_k when
free) carry a logarithmic barrier with weights w_k, Σ w_k = 1, about each shell's share of mass and
cost: with equal weights the shells whose mass is below μ would be placed by the barrier, not the
objective.

One iteration:
1. value, gradient and banded Hessian of every shift at q = log h (`point`, `pairs`);
2. curvature: Hessian + barrier + diag(max(ρ, 0)), ρ the relative gradient of the Lagrangian
   (`step.direction`);
3. banded Cholesky, and a small dense system for the two constraints and the shifts;
4. a step inside the cone, mass and cost restored, Armijo on the barrier function
   (`step.line_search`);
5. the certificate once μ is near the tolerance; a smaller μ after a good step.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from leastnoise.lattice.shells import Floats
from leastnoise.solver.optimum import RenyiOptimum, SolverSettings
from leastnoise.solver.pairs import PairSystem
from leastnoise.solver.point import certify, meet_constraints, point_at, spread
from leastnoise.solver.problem import RenyiProblem
from leastnoise.solver.step import (
    State,
    Step,
    advanced,
    barrier_weights,
    direction,
    first_state,
    line_search,
)

# Iterations without a better law or certificate before giving up: while the bound is worthless,
# tail shells are still on their way, long after the objective has stopped moving.
_PATIENCE = 150
_FIRST = 0.01  # of the first gap, that μ starts at
_LAST = 1e-4  # of the tolerance, that μ ends at
# After a step of this length at least, from a decrement of so many μ at most, the law is near the
# present centre, and μ falls by the factor.
_LONG, _CENTRED, _FALL = 0.9, 10.0, 0.03


def minimise(
    problem: RenyiProblem, system: PairSystem, start: Floats, settings: SolverSettings
) -> RenyiOptimum:
    """Run the method from a log-profile that need not meet the constraints."""
    # In high dimension log h is near −500, where doubles are 1e-13 apart: times α that is the noise
    # of every term. So h is measured in units that bring the bulk near 1.
    unit = float(problem.log_mass[int(np.argmax(problem.log_mass + problem.guess))])
    scaled = replace(problem, log_mass=problem.log_mass - unit, guess=problem.guess + unit)
    system = replace(system, log_count=system.log_count - unit)
    state, best = _begin(scaled, system, start + unit, settings)
    stalled = 0
    for iteration in range(1, settings.max_iterations + 1):
        step = direction(scaled, system, state)
        moved = None if step is None else line_search(scaled, system, state, step)
        if step is None or moved is None:
            break
        point, length = moved
        taken = advanced(state, step, point, length)
        before, best = best.gap, _better(best, taken, iteration)
        gained = 1.0 - point.attained / state.point.attained
        is_better = best.gap <= 0.9 * before or gained >= settings.tolerance
        stalled = 0 if is_better else stalled + 1
        if best.gap <= settings.tolerance or stalled > _PATIENCE:
            break
        mu = max(_reduction(state.mu, step, length) * state.mu, _LAST * settings.tolerance)
        state = replace(taken, mu=mu, share_out=barrier_weights(scaled, point))
    return replace(best, problem=problem, profile=best.profile - unit)


def _begin(
    problem: RenyiProblem, system: PairSystem, start: Floats, settings: SolverSettings
) -> tuple[State, RenyiOptimum]:
    """The first state, at the given profile with its constraints met, and what it proves."""
    point = point_at(problem, system, meet_constraints(problem, spread(problem, start)))
    weights = np.full(system.rows, 1.0 / system.rows)
    bound, used = certify(problem, point, weights)
    best = RenyiOptimum(
        problem, point.q, point.attained, bound.value, bound.slope, used, 0, settings
    )
    mu = max(_FIRST * best.gap, settings.tolerance)
    return first_state(problem, point, mu, weights), best


def _better(old: RenyiOptimum, state: State, iteration: int) -> RenyiOptimum:
    """The law with the smaller gap, or, while nothing is proven yet, the smaller divergence."""
    point = state.point
    bound, used = certify(old.problem, point, state.weights)
    if 1.0 - bound.value / point.attained < old.gap:
        return replace(
            old,
            profile=point.q,
            divergence=point.attained,
            lower_bound=bound.value,
            budget_slope=bound.slope,
            weights=used,
            iterations=iteration,
        )
    if old.gap > old.settings.acceptable and point.attained < old.divergence:
        return replace(old, profile=point.q, divergence=point.attained, iterations=iteration)
    return replace(old, iterations=iteration)


def _reduction(mu: float, step: Step, length: float) -> float:
    """By how much μ falls: not at all while the law is still far from the present centre."""
    is_near = length > _LONG and step.decrement < _CENTRED * mu
    return _FALL if is_near else 1.0
