"""One primal-dual step: curvature, the banded system with its small border, and the line search.

Unknowns: dq, the multipliers ν of mass and cost, and the changes of the weights λ over shifts. With
slacks u_t = τ − F_t of the smooth maximum τ,

    M dq + Aᵀν + Gᵀdλ = −(Σ λ_t G_t + barrier),    A dq = 0,
    G dq − (u/λ) dλ − dτ = u − μ_t/λ,              Σ dλ = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dsbmv
from scipy.linalg.lapack import dpbtrf, dpbtrs

from leastnoise.lattice.shells import Floats
from leastnoise.solver import pairs
from leastnoise.solver.pairs import PairSystem
from leastnoise.solver.point import Point, point_at
from leastnoise.solver.problem import RenyiProblem

_PROXIMAL = 1e-10  # of a shell's share, added to its curvature
_TO_BOUNDARY = 0.99  # of the way
# how far multipliers may be from the central ones before they spoil the curvature
_DUAL_RANGE = 1e3
_LIGHTEST = 1e-250  # a barrier's weight: no 0/0 where a shell's mass underflows


@dataclass(frozen=True, eq=False)
class State:
    """Where the method is: a law, the barrier parameter and all multipliers (those of the cone
    times h_k)."""

    point: Point
    mu: float
    share_out: Floats  # the barrier's weight on each slack; they sum to 1
    dual: Floats
    weights: Floats
    nu: Floats
    # times each shell's share: keeps M definite
    proximal: float = _PROXIMAL


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


def barrier_weights(problem: RenyiProblem, point: Point) -> Floats:
    """The barrier's weights, renewed at every point: a tail that starts far too thin would
    otherwise lose its barrier and stick."""
    share = point.share * (1.0 + problem.unit_cost / problem.budget)
    return np.maximum(share / np.sum(share), _LIGHTEST)


def times(matrix: Floats, vector: Floats) -> Floats:
    """matrix·vector without BLAS, whose threads cost 60 ms an iteration beyond 10,000 shells on two
    busy cores."""
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


def first_state(problem: RenyiProblem, point: Point, mu: float, weights: Floats) -> State:
    """The state at a point with the multipliers that are central there."""
    share_out = barrier_weights(problem, point)
    nu = first_multipliers(problem, point, weights)
    return State(point, mu, share_out, mu * share_out / point.slack, weights, nu)


def direction(problem: RenyiProblem, system: PairSystem, state: State) -> Step | None:
    """The Newton direction, or None when the matrix is not positive definite to working precision.

    1. The pull on q: gradient of the weighed objective and of the barrier at its centre.
    2. M with its border, factored.
    3. Two solves, the second with what the first left over: chains k mod m are joined only by the
       barrier when σ ≫ s or d is large (eigenvalues 1e-9 of the largest), and one refinement brings
       the residual from 1e-6 to rounding.
    4. What the direction does to the cone's multipliers and to the barrier function.
    """
    point = state.point
    central = state.mu * state.share_out / point.slack
    constraints = constraint_rows(problem, point)
    gradient = times(point.gradients.T, state.weights)
    at_centre = barrier_gradient(problem, point, central)
    pull = gradient + at_centre
    rho = gradient + times(constraints.T, state.nu) + barrier_gradient(problem, point, state.dual)
    matrix = _bordered(problem, system, state, rho)
    if matrix is None:
        return None
    dq, unknown = np.zeros(problem.size), np.zeros(matrix.target.size)
    rest, aim = -pull, matrix.target
    for _ in range(2):
        dq, unknown = matrix.corrected(dq, unknown, rest, aim)
        rest, aim = matrix.residual(pull, dq, unknown)
    if not np.all(np.isfinite(dq)):
        return None
    opened = dq.copy()
    if problem.monotone:
        opened[:-1] -= (1.0 - point.slack[:-1]) * dq[1:]
    d_dual = central - state.dual * (1.0 + opened / point.slack)
    merit_gradient = times(point.gradients.T, _smooth_weights(point, state.mu)) + at_centre
    restore = matrix.columns[:, :2]
    return Step(
        dq=dq,
        nu=unknown[:2],
        d_dual=d_dual,
        d_weights=unknown[3:-1] if state.weights.size > 1 else np.zeros(1),
        restore=restore,
        restore_effect=np.einsum("ik,kj->ij", constraints, restore),
        slope=float(np.sum(merit_gradient * dq)),
        decrement=-float(np.sum(pull * dq)),
    )


@dataclass(frozen=True, eq=False)
class _Bordered:
    """M and the rows below it: mass, cost, the pinned entry and, with several shifts, their
    gradients.

    M is singular to 1e-13 along the constants, which the mass constraint fixes; solving with M
    alone loses all digits there (measured: the gap stalls at 1e-6 for σ = 80). So one diagonal
    entry is doubled before factoring, and the row called the pin takes that back.
    """

    bandwidth: int
    band: Floats  # M, in band storage
    factor: Floats  # Cholesky factor of M with the pinned entry doubled
    border: Floats
    columns: Floats  # that matrix's inverse times the border, the pin's column with its weight
    small: Floats  # the dense system that is left for ν, the pin, dλ and dτ
    room: Floats
    target: Floats  # what the rows below M should equal

    def corrected(
        self, dq: Floats, unknown: Floats, rest: Floats, aim: Floats
    ) -> tuple[Floats, Floats]:
        """dq and (ν, pin, dλ, dτ) plus what solves for `rest` beside M and `aim` below it."""
        rows = self.border.shape[0]
        base, _ = dpbtrs(self.factor, rest, lower=1)
        right = -aim
        right[:rows] += times(self.border, base)
        change = np.asarray(np.linalg.solve(self.small, right), dtype=np.float64)
        return dq + base - times(self.columns, change[:rows]), unknown + change

    def residual(self, pull: Floats, dq: Floats, unknown: Floats) -> tuple[Floats, Floats]:
        """What is left of both right-hand sides."""
        load = unknown[: self.border.shape[0]].copy()
        load[2] = 0.0
        product = dsbmv(self.bandwidth, 1.0, self.band, dq, lower=1)
        below = self.target - _image(self.border, dq, unknown, self.room)
        return -pull - product - times(self.border.T, load), below


def _bordered(
    problem: RenyiProblem, system: PairSystem, state: State, rho: Floats
) -> _Bordered | None:
    """M with its border, or None when it is not positive definite to working precision."""
    point = state.point
    band = _curvature(problem, system, state, rho)
    pin = int(np.argmax(point.share))
    unit = np.zeros((1, problem.size))
    unit[0, pin] = 1.0
    extra = float(band[0, pin])
    pinned = band.copy(order="F")
    pinned[0, pin] += extra
    factor, failed = dpbtrf(pinned, lower=1, overwrite_ab=1)
    if failed:
        return None
    shifts = [point.gradients] if state.weights.size > 1 else []
    border = np.vstack([constraint_rows(problem, point), unit, *shifts])
    columns = border.T.copy(order="F")
    columns[:, 2] *= -extra
    columns, failed = dpbtrs(factor, columns, lower=1)
    if failed or not np.all(np.isfinite(columns)):
        return None
    room = _room(state)
    small, target = _small_system(state, room, np.einsum("ik,kj->ij", border, columns))
    return _Bordered(system.bandwidth, band, factor, border, columns, small, room, target)


def _curvature(problem: RenyiProblem, system: PairSystem, state: State, rho: Floats) -> Floats:
    """M in band storage. The exact Hessian in q has diag(ρ); its positive part keeps tail shells
    from throttling every step."""
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
    """The dense system for ν, the pinned entry, dλ and dτ, and what the rows below M
    should equal."""
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


def longest(problem: RenyiProblem, q: Floats, dq: Floats) -> float:
    """How far along dq the law may go inside the cone, and at most 1."""
    if not problem.monotone:
        return 1.0
    closing = (dq[1:] - dq[:-1]) / (q[:-1] - q[1:])
    return min(1.0, _TO_BOUNDARY / float(np.max(closing, initial=1e-300)))


def line_search(
    problem: RenyiProblem, system: PairSystem, state: State, step: Step
) -> tuple[Point, float] | None:
    """The next point and the step length, or None when no step lowers the barrier function."""
    q = state.point.q
    a = longest(problem, q, step.dq)
    old = _merit(state.point, state.mu, state.share_out)
    noise = 1e-14 * (1.0 + abs(old))
    for _ in range(30):
        moved = restored(problem, q + a * step.dq, step)
        if moved is not None:
            new = point_at(problem, system, moved)
            promised = 1e-4 * a * min(step.slope, 0.0)
            if _merit(new, state.mu, state.share_out) <= old + promised + noise:
                return new, a
        a *= 0.5
    return None


def restored(problem: RenyiProblem, q: Floats, step: Step) -> Floats | None:
    """The profile with unit mass and cost at the budget again, or None if it leaves the cone or
    cannot be restored."""
    relative = problem.unit_cost / problem.budget
    worst = np.inf
    for _ in range(8):
        with np.errstate(over="ignore", invalid="ignore"):  # too far a step, which is given up
            share = np.exp(problem.log_mass + q)
            miss = np.array([float(np.sum(share)) - 1.0, float(np.sum(share * relative)) - 1.0])
        worst = float(np.max(np.abs(miss)))
        if worst < 1e-14 or not worst < 0.5:
            break
        q = q - times(step.restore, np.linalg.solve(step.restore_effect, miss))
    if not worst < 1e-12 or (problem.monotone and not np.all(q[:-1] > q[1:])):
        return None
    return q


def advanced(state: State, step: Step, new: Point, a: float) -> State:
    """The state after a step of length a. Multipliers take the longest step that keeps them
    positive, and stay near the central ones."""
    central = state.mu * state.share_out / new.slack
    dual = _stepped(state.dual, step.d_dual) * np.exp(a * step.dq)
    dual = np.clip(dual, central / _DUAL_RANGE, central * _DUAL_RANGE)
    weights = state.weights
    if weights.size > 1:
        central = _smooth_weights(new, state.mu)
        weights = _stepped(weights, step.d_weights)
        weights = np.clip(weights, central / _DUAL_RANGE, central * _DUAL_RANGE)
        weights = weights / np.sum(weights)
    return State(new, state.mu, state.share_out, dual, weights, step.nu)


def _stepped(multiplier: Floats, change: Floats) -> Floats:
    steepest = float(np.max(-change / multiplier))
    return np.asarray(multiplier + min(1.0, _TO_BOUNDARY / max(steepest, 1e-300)) * change)
