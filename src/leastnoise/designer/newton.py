"""A primal-dual barrier method in logarithmic coordinates.

The objective is log(divergence) per shift, so every multiplier and the barrier parameter μ are relative gaps, whatever σ, α
and N are. The cone's slacks (h_k − h_{k+1} when monotone, h_k when free) carry a logarithmic barrier with weights w_k, Σ w_k
= 1, about each shell's share of mass and cost: with equal weights the shells whose mass is below μ would be placed by the
barrier, not the objective.

One iteration:
1. value, gradient and banded Hessian of every shift at q = log h (`point`, `system`);
2. curvature: Hessian + barrier + diag(max(ρ, 0)), ρ the relative gradient of the Lagrangian (`step.direction`);
3. banded Cholesky, and a small dense system for the two constraints and the shifts;
4. a step inside the cone, mass and cost restored, Armijo on the barrier function (`step.line_search`);
5. a smaller μ after a good step; the certificate once μ is near the tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from leastnoise.designer.point import Point, certify, meet_constraints, point_at, spread
from leastnoise.designer.problem import RenyiProblem
from leastnoise.designer.step import State, advance, direction, first_multipliers, line_search
from leastnoise.designer.system import PairSystem
from leastnoise.shells import Floats

# Iterations without a better certificate before giving up. While the bound is worthless, tail shells are still on their way
# (up to 150 iterations at d = 100, σ = 0.3s, long after the objective has stopped moving); once it is good, only rounding is
# left.
_PATIENCE_FAR, _PATIENCE_NEAR = 150, 40


@dataclass(frozen=True)
class Settings:
    """`tolerance` is the wanted relative duality gap, `acceptable` the largest one still called optimal."""

    tolerance: float = 1e-9
    acceptable: float = 1e-8
    max_iterations: int = 400


@dataclass(frozen=True, eq=False)
class Outcome:
    """The law with the smallest gap, its own bound, and the weights that gave it: all three can be checked together."""

    q: Floats
    divergence: float
    lower_bound: float
    slope: float
    weights: Floats
    iterations: int

    @property
    def gap(self) -> float:
        """Relative distance of the bound below the divergence."""
        return 1.0 - self.lower_bound / self.divergence


def minimise(
    problem: RenyiProblem, system: PairSystem, start: Floats, settings: Settings
) -> Outcome:
    """Run the method from a log-profile that need not meet the constraints."""
    # In high dimension log h is near −500, where doubles are 1e-13 apart: times α that is the noise of every term. So h is
    # measured in units that bring the bulk near 1.
    unit = float(problem.log_mass[int(np.argmax(problem.log_mass + problem.guess))])
    problem = replace(problem, log_mass=problem.log_mass - unit, guess=problem.guess + unit)
    system = replace(system, log_count=system.log_count - unit)
    outcome = _run(problem, system, start + unit, settings)
    return replace(outcome, q=outcome.q - unit)


def _run(problem: RenyiProblem, system: PairSystem, start: Floats, settings: Settings) -> Outcome:
    state, best = _begin(problem, system, start)
    floor, stalled, iteration = 0.1 * settings.tolerance, 0, 0
    for iteration in range(1, settings.max_iterations + 1):
        step = direction(problem, system, state)
        moved = None if step is None else line_search(problem, system, state, step)
        if step is None or moved is None:
            break
        point, length = moved
        gained = 1.0 - point.attained / state.point.attained
        state = advance(state, step, point, length)
        if state.mu <= 30.0 * settings.tolerance:
            before = best.gap
            best = _better(best, problem, state, iteration)
            stalled = stalled + 1 if best.gap > 0.9 * before and gained < settings.tolerance else 0
            if best.gap <= settings.tolerance or stalled > (
                _PATIENCE_FAR if best.gap > 1e-3 else _PATIENCE_NEAR
            ):
                return best
            if state.mu <= floor and step.decrement < 1e-3 * state.mu:
                floor = max(0.1 * floor, 1e-4 * settings.tolerance)
        mu = max(state.mu * _reduction(length, step.decrement, state.mu), floor)
        state = replace(state, mu=mu, share_out=_share_out(problem, point))
    return _better(best, problem, state, iteration)


def _begin(problem: RenyiProblem, system: PairSystem, start: Floats) -> tuple[State, Outcome]:
    point = point_at(problem, system, meet_constraints(problem, spread(problem, start)))
    share_out = _share_out(problem, point)
    weights = np.full(system.rows, 1.0 / system.rows)
    bound, used = certify(problem, point, weights)
    best = Outcome(point.q, point.attained, bound.value, bound.slope, used, 0)
    mu = min(max(0.01 * best.gap, 1e-7), 1e-2)
    return State(
        point,
        mu,
        share_out,
        mu * share_out / point.slack,
        weights,
        first_multipliers(problem, point, weights),
    ), best


def _share_out(problem: RenyiProblem, point: Point) -> Floats:
    """The barrier's weights, renewed at every point: a tail that starts far too thin would otherwise lose its barrier and stick."""
    share = point.share * (1.0 + problem.unit_cost / problem.budget)
    return np.maximum(share / np.sum(share), 1e-40)


def _better(old: Outcome, problem: RenyiProblem, state: State, iteration: int) -> Outcome:
    point: Point = state.point
    bound, used = certify(problem, point, state.weights)
    if 1.0 - bound.value / point.attained < old.gap:
        return Outcome(point.q, point.attained, bound.value, bound.slope, used, iteration)
    if old.gap > 1e-6 and point.attained < old.divergence:
        return replace(old, q=point.q, divergence=point.attained, iterations=iteration)
    return replace(old, iterations=iteration)


def _reduction(length: float, decrement: float, mu: float) -> float:
    """By how much μ may fall: little while the law is still far from the present centre."""
    if length < 0.5 or decrement > 100.0 * mu:
        return 1.0
    return 0.03 if length > 0.9 and decrement < 10.0 * mu else 0.3
