"""Slow, dense forms of the Rényi program, straight from its definition: sums over lattice points,
and 30-digit certificates."""

from __future__ import annotations

import itertools
from typing import Any

import mpmath
import numpy as np

from leastnoise.solver.optimum import RenyiOptimum
from leastnoise.solver.problem import RenyiProblem


def index_and_ratio(problem: RenyiProblem, radius: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which free probability a radius uses, and by how much it is scaled."""
    ratio = problem.tail_ratio ** np.maximum(radius - problem.last, 0).astype(float)
    return np.clip(radius, problem.first, problem.last) - problem.first, ratio


def dense_renyi(
    problem: RenyiProblem, q: np.ndarray, shift: int, reach: int
) -> tuple[float, np.ndarray, np.ndarray]:
    """D, h·∂D/∂h and the relative Hessian by summing over every lattice point with coordinates up
    to `reach`."""
    alpha = problem.order
    axis = np.arange(-reach, reach + 1)
    points = np.stack(np.meshgrid(*[axis] * problem.dimension, indexing="ij"), axis=-1).reshape(
        -1, problem.dimension
    )
    a, ratio_a = index_and_ratio(problem, np.max(np.abs(points), axis=1))
    b, ratio_b = index_and_ratio(problem, np.max(np.abs(points - shift), axis=1))
    p, p_moved = np.exp(q)[a] * ratio_a, np.exp(q)[b] * ratio_b
    rho = p / p_moved
    if alpha == 1.0:
        terms, to_a = p * np.log(rho) - p + p_moved, np.log(rho)
    else:
        terms = p_moved * (rho**alpha - 1 - alpha * (rho - 1)) / (alpha * (alpha - 1))
        to_a = (rho ** (alpha - 1) - 1) / (alpha - 1)
    to_b = -(rho**alpha - 1) / alpha
    gradient = np.zeros(problem.size)
    np.add.at(gradient, a, p * to_a)
    np.add.at(gradient, b, p_moved * to_b)
    hessian = np.zeros((problem.size, problem.size))
    weight = p_moved * rho**alpha
    for i, j, sign in itertools.product((a, b), (a, b), (1,)):
        np.add.at(hessian, (i, j), (1.0 if i is j else -1.0) * sign * weight)
    return float(np.sum(terms)), gradient, hessian


def from_band(ab: np.ndarray) -> np.ndarray:
    """The full symmetric matrix of LAPACK's lower band storage."""
    n = ab.shape[1]
    full = np.zeros((n, n))
    for k in range(min(ab.shape[0], n)):
        full += np.diag(ab[k, : n - k], -k) + (np.diag(ab[k, : n - k], k) if k else 0.0)
    return full


def certificate(optimum: RenyiOptimum, digits: int = 30) -> tuple[Any, Any]:
    """(divergence, lower bound) of a one-dimensional optimum with 30 digits, from its log_h and
    weights alone."""
    problem = optimum.problem
    with mpmath.workdps(digits):
        mpf, n = mpmath.mpf, problem.last
        alpha, r = mpf(problem.order), mpf(problem.tail_ratio)
        h = [mpmath.exp(mpf(float(v))) for v in optimum.log_h]
        mass = [mpf(1)] + [mpf(2)] * (n - 1) + [2 / (1 - r)]
        extra = mpf(1) / 12 if problem.domain == "real" else mpf(0)
        cost = [mass[k] * (mpf(k) ** 2 + extra) for k in range(n)]
        tail = (
            r**2 * (n - 1) ** 2 + n**2 * (1 - 2 * r) + r * (2 * n + 1)
        )  # (1−r)³ Σ r^(i−N) i², Prop. 3.5
        cost.append(2 * tail / (1 - r) ** 3 + extra * mass[n])
        total = sum(m * v for m, v in zip(mass, h, strict=True))
        values, gradients = [], []
        for t in problem.shifts:
            value, gradient = _one_shift(h, alpha, r, n, t)
            values.append(value / total)
            gradients.append(gradient)
        divergences = [
            mpmath.log1p(alpha * (alpha - 1) * v) / (alpha - 1) if alpha != 1 else v for v in values
        ]
        weights = [mpf(float(w)) for w in optimum.weights]
        mixed = [
            sum(w * g[k] for w, g in zip(weights, gradients, strict=True)) for k in range(n + 1)
        ]
        if problem.monotone:
            mass, cost, mixed = (list(itertools.accumulate(v)) for v in (mass, cost, mixed))
        bound = _hull(
            [c / m for c, m in zip(cost, mass, strict=True)],
            [g / m for g, m in zip(mixed, mass, strict=True)],
            problem.budget,
        )
        lowest = mpmath.log1p(alpha * (alpha - 1) * bound) / (alpha - 1) if alpha != 1 else bound
        return max(divergences), lowest


def _one_shift(h: list[Any], alpha: Any, r: Any, n: int, t: int) -> tuple[Any, list[Any]]:
    """D_t and ∂D_t/∂h for one shift; the tail's own pairs in closed form."""
    gradient = [mpmath.mpf(0)] * (n + 1)
    value = mpmath.mpf(0)
    beta = alpha - 1

    def add(i: int, j: int, count: Any) -> None:
        nonlocal value
        a, b = min(i, n), min(j, n)
        scale_a, scale_b = r ** max(i - n, 0), r ** max(j - n, 0)
        p, p_moved = h[a] * scale_a, h[b] * scale_b
        rho = p / p_moved
        to_a = (rho**beta - 1) / beta if beta else mpmath.log(rho)
        to_b = -(rho**alpha - 1) / alpha
        value += count * (p * to_a + p_moved * to_b)  # Euler: D is homogeneous of degree 1
        gradient[a] += count * scale_a * to_a
        gradient[b] += count * scale_b * to_b

    for x in range(-n, n + t + 1):
        add(abs(x), abs(x - t), 1)
    far = r / (1 - r)
    add(n + t, n, far)  # x > n + t, both in the tail: the pair (n+t, n) times r + r² + …
    add(n, n + t, far)
    return value, gradient


def _hull(x: list[Any], c: list[Any], at: Any) -> Any:
    """The lower convex hull of the points at one abscissa, exactly."""
    hull: list[tuple[Any, Any]] = []
    for point in sorted(zip(x, c, strict=True)):
        while len(hull) > 1 and (hull[-1][0] - hull[-2][0]) * (point[1] - hull[-2][1]) <= (
            hull[-1][1] - hull[-2][1]
        ) * (point[0] - hull[-2][0]):
            hull.pop()
        hull.append(point)
    for (x0, c0), (x1, c1) in itertools.pairwise(hull):
        if x0 <= at <= x1:
            return c0 + (c1 - c0) * (at - x0) / (x1 - x0)
    raise ValueError("the budget is outside the hull")
