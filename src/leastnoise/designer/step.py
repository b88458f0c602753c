"""One primal-dual step: curvature, the banded system with its small border, and the line search.

Unknowns: dq, the multipliers ν of mass and cost, and the changes of the weights λ over shifts. With slacks u_t = τ − F_t of
the smooth maximum τ,

    M dq + Aᵀν + Gᵀdλ = −(Σ λ_t G_t + barrier),    A dq = 0,    G dq − (u/λ) dλ − dτ = u − μ_t/λ,    Σ dλ = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dsbmv
from scipy.linalg.lapack import dpbtrf, dpbtrs

from leastnoise.designer import system as pairs
from leastnoise.designer.point import Point, point_at
from leastnoise.designer.problem import RenyiProblem
from leastnoise.designer.system import PairSystem
from leastnoise.shells import Floats

_LEAST_PROXIMAL, _MOST_PROXIMAL = 1e-10, 1.0
_LARGEST_MOVE = 4.0  # of any log-probability in one step
_TO_BOUNDARY = 0.99
_DUAL_RANGE = (
    1e3  # how far multipliers may be from the central ones before they spoil the curvature
)


@dataclass(frozen=True, eq=False)
class State:
    """Where the method is: a law, the barrier parameter and all multipliers (those of the cone times h_k)."""

    point: Point
    mu: float
    share_out: Floats  # the barrier's weight on each slack; they sum to 1
    dual: Floats
    weights: Floats
    nu: Floats
    proximal: float = _LEAST_PROXIMAL  # times each shell's share: keeps M definite, and steps short along nearly flat directions


@dataclass(frozen=True, eq=False)
class Step:
    """A direction, and what the line search needs."""

    dq: Floats
    nu: Floats
    d_dual: Floats
    d_weights: Floats
    restore: Floats  # directions along which mass and cost are restored, and what they do to both
    restore_effect: Floats
    slope: float  # derivative of the barrier function along dq
    decrement: float


def times(matrix: Floats, vector: Floats) -> Floats:
    """matrix·vector without BLAS, whose threads cost 60 ms an iteration beyond 10,000 shells on two busy cores."""
    return np.asarray(np.einsum("ij,j->i", matrix, vector))


def barrier_gradient(problem: RenyiProblem, point: Point, multiplier: Floats) -> Floats:
    """−Bᵀ·multiplier in relative coordinates, B the matrix of the cone's slacks."""
    gradient = -multiplier
    if problem.monotone:
        gradient[1:] += multiplier[:-1] * (1.0 - point.slack[:-1])
    return gradient


def constraint_rows(problem: RenyiProblem, point: Point) -> Floats:
    """Relative gradients of mass and of cost/budget."""
    return np.stack([point.share, point.share * (problem.unit_cost / problem.budget)])


def first_multipliers(problem: RenyiProblem, point: Point, weights: Floats) -> Floats:
    """Least-squares multipliers of mass and cost, each shell weighed by its share."""
    root = np.sqrt(point.share)
    rows = constraint_rows(problem, point) / root
    return np.asarray(
        -np.linalg.lstsq(rows.T, times(point.gradients.T, weights) / root, rcond=None)[0]
    )


def direction(problem: RenyiProblem, system: PairSystem, state: State) -> Step | None:
    """The Newton direction, or None when the matrix is not positive definite to working precision."""
    point, weights = state.point, state.weights
    central = state.mu * state.share_out / point.slack
    constraints = constraint_rows(problem, point)
    gradient = times(point.gradients.T, weights)
    pull = gradient + barrier_gradient(problem, point, central)
    rho = gradient + times(constraints.T, state.nu) + barrier_gradient(problem, point, state.dual)
    ab = _curvature(problem, system, state, rho)
    # M is singular to 1e-13 along the constants, which the mass constraint fixes; solving with M alone loses all digits there
    # (measured: the gap stalls at 1e-6 for σ = 80). So one diagonal entry is doubled, and the small system takes it back.
    pin = int(np.argmax(point.share))
    unit = np.zeros((1, problem.size))
    unit[0, pin] = 1.0
    extra = float(ab[0, pin])
    pinned = ab.copy(order="F")
    pinned[0, pin] += extra
    factor, info = dpbtrf(pinned, lower=1, overwrite_ab=1)
    if info != 0:
        return None
    border = np.vstack([constraints, unit] + ([point.gradients] if weights.size > 1 else []))
    columns = border.T.copy(order="F")
    columns[:, 2] *= -extra
    columns, info = dpbtrs(factor, columns, lower=1)
    if info != 0 or not np.all(np.isfinite(columns)):
        return None
    rows = border.shape[0]
    room = _room(state)
    small, target = _small_system(state, room, np.einsum("ik,kj->ij", border, columns))
    dq, unknown, rest, aim = np.zeros(problem.size), np.zeros(target.size), -pull, target
    # Chains k mod m are joined only by the barrier when σ ≫ s or d is large (eigenvalues 1e-9 of the largest): one refinement
    # brings the residual from 1e-6 to rounding.
    for _ in range(2):
        base, info = dpbtrs(factor, rest, lower=1)
        right = -aim
        right[:rows] += times(border, base)
        change = np.asarray(np.linalg.solve(small, right), dtype=np.float64)
        dq = dq + base - times(columns, change[:rows])
        unknown = unknown + change
        load = unknown[:rows].copy()
        load[2] = 0.0
        rest = -pull - dsbmv(system.bandwidth, 1.0, ab, dq, lower=1) - times(border.T, load)
        aim = target - _image(border, dq, unknown, room)
    if not np.all(np.isfinite(dq)):
        return None
    opened = dq.copy()
    if problem.monotone:
        opened[:-1] -= (1.0 - point.slack[:-1]) * dq[1:]
    d_dual = central - state.dual * (1.0 + opened / point.slack)
    merit_gradient = times(point.gradients.T, _smooth_weights(point, state.mu)) + barrier_gradient(
        problem, point, central
    )
    effect = np.einsum("ik,kj->ij", constraints, columns[:, :2])
    d_weights = unknown[3:-1] if weights.size > 1 else np.zeros(1)
    return Step(
        dq,
        unknown[:2],
        d_dual,
        d_weights,
        columns[:, :2],
        effect,
        float(np.sum(merit_gradient * dq)),
        -float(np.sum(pull * dq)),
    )


def _curvature(problem: RenyiProblem, system: PairSystem, state: State, rho: Floats) -> Floats:
    """M in band storage. The exact Hessian in q has diag(ρ); its positive part keeps tail shells from throttling every step."""
    point = state.point
    ab = pairs.hessian_band(system, point.value, state.weights * point.factor)
    stiffness = state.dual / point.slack
    ab[0] += stiffness + np.maximum(rho, 0.0) + state.proximal * point.share
    if problem.monotone:
        ratio = 1.0 - point.slack[:-1]
        ab[0, 1:] += stiffness[:-1] * ratio**2
        ab[1, :-1] -= stiffness[:-1] * ratio
    return ab


def _room(state: State) -> Floats:
    """u_t/λ_t; empty for a single shift."""
    if state.weights.size == 1:
        return np.empty(0)
    return np.asarray(
        (_smooth_max(state.point.objective, state.mu) - state.point.objective) / state.weights
    )


def _small_system(state: State, room: Floats, reduced: Floats) -> tuple[Floats, Floats]:
    """The dense system for ν, the pinned entry, dλ and dτ, and what the rows below M should equal."""
    reduced[2, 2] += 1.0
    if not room.size:
        return reduced, np.zeros(3)
    size = reduced.shape[0]
    shifts = np.arange(3, size)
    reduced[shifts, shifts] += room
    ones = np.zeros(size + 1)
    ones[3:size] = 1.0
    target = np.zeros(size + 1)
    target[3:size] = room * state.weights - state.mu / room.size / state.weights
    return np.vstack([np.hstack([reduced, ones[:size, None]]), ones]), target


def _image(border: Floats, dq: Floats, unknown: Floats, room: Floats) -> Floats:
    """What the rows below M equal at (dq, unknown)."""
    image = np.zeros(unknown.size)
    image[:2] = times(border[:2], dq)
    if room.size:
        image[3:-1] = times(border[3:], dq) - room * unknown[3:-1] - unknown[-1]
        image[-1] = -float(np.sum(unknown[3:-1]))
    return image


def _smooth_max(objective: Floats, mu: float) -> float:
    """τ that minimises τ − (μ/T) Σ log(τ − F_t): then the weights (μ/T)/(τ − F_t) sum to 1."""
    each = mu / objective.size
    top = float(np.max(objective))
    below = top - objective
    low, high = each, mu
    room = low
    for _ in range(100):
        inverse = 1.0 / (room + below)
        miss = each * float(np.sum(inverse)) - 1.0
        if abs(miss) < 1e-14:
            break
        low, high = (room, high) if miss > 0 else (low, room)
        room += miss / (each * float(inverse @ inverse))
        if not low <= room <= high:
            room = 0.5 * (low + high)
    return top + room


def _smooth_weights(point: Point, mu: float) -> Floats:
    if point.objective.size == 1:
        return np.ones(1)
    return np.asarray(
        mu / point.objective.size / (_smooth_max(point.objective, mu) - point.objective)
    )


def _merit(point: Point, mu: float, share_out: Floats) -> float:
    """The barrier function: smooth maximum of the log-divergences less μ Σ w log(slack)."""
    value = float(point.objective[0])
    if point.objective.size > 1:
        tau = _smooth_max(point.objective, mu)
        value = tau - mu / point.objective.size * float(np.sum(np.log(tau - point.objective)))
    return value - mu * float(np.sum(share_out * (point.q + np.log(point.slack))))


def line_search(
    problem: RenyiProblem, system: PairSystem, state: State, step: Step
) -> tuple[Point, float] | None:
    """The next point and the step length, or None when no step lowers the barrier function."""
    q = state.point.q
    a = min(1.0, _LARGEST_MOVE / float(np.max(np.abs(step.dq), initial=1e-300)))
    if problem.monotone:
        closing = (step.dq[1:] - step.dq[:-1]) / (q[:-1] - q[1:])
        a = min(a, _TO_BOUNDARY / float(np.max(closing, initial=1e-300)))
    old = _merit(state.point, state.mu, state.share_out)
    noise = 1e-14 * (1.0 + abs(old))
    for _ in range(30):
        moved = restored(problem, q + a * step.dq, step)
        if moved is not None:
            new = point_at(problem, system, moved)
            if (
                _merit(new, state.mu, state.share_out)
                <= old + 1e-4 * a * min(step.slope, 0.0) + noise
            ):
                return new, a
        a *= 0.5 if a > 0.1 else 0.25
    return None


def restored(problem: RenyiProblem, q: Floats, step: Step) -> Floats | None:
    """The profile with unit mass and cost at the budget again, or None if it leaves the cone or cannot be restored."""
    relative = problem.unit_cost / problem.budget
    worst = np.inf
    for _ in range(8):
        share = np.exp(problem.log_mass + q)
        miss = np.array([float(np.sum(share)) - 1.0, float(np.sum(share * relative)) - 1.0])
        worst = float(np.max(np.abs(miss)))
        if worst < 1e-14 or not worst < 0.5:
            break
        q = q - times(step.restore, np.linalg.solve(step.restore_effect, miss))
    if not worst < 1e-12 or (problem.monotone and not np.all(q[:-1] > q[1:])):
        return None
    return q


def advance(state: State, step: Step, new: Point, a: float) -> State:
    """The state after a step of length a. Multipliers take the longest step that keeps them positive."""
    dual = _stepped(state.dual, step.d_dual) * np.exp(a * step.dq)
    central = state.mu * state.share_out / new.slack
    dual = np.clip(dual, central / _DUAL_RANGE, central * _DUAL_RANGE)
    weights = state.weights
    if weights.size > 1:
        central = _smooth_weights(new, state.mu)
        weights = np.clip(
            _stepped(weights, step.d_weights), central / _DUAL_RANGE, central * _DUAL_RANGE
        )
        weights = weights / np.sum(weights)
    # Chains k mod m with almost free masses ask for moves of 1e3 (m = 80, σ = s, α = 200); cutting such a step stops
    # everything else too.
    proximal = state.proximal / 30.0
    if a < 0.05:
        proximal = max(1e3 * state.proximal, 1e-6)
    proximal = min(max(proximal, _LEAST_PROXIMAL), _MOST_PROXIMAL)
    return State(new, state.mu, state.share_out, dual, weights, step.nu, proximal)


def _stepped(multiplier: Floats, change: Floats) -> Floats:
    steepest = float(np.max(-change / multiplier))
    return np.asarray(multiplier + min(1.0, _TO_BOUNDARY / max(steepest, 1e-300)) * change)
