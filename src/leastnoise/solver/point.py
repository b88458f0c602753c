"""Laws that meet both constraints: how to make one, and what is known at one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from leastnoise.errors import InvalidParameterError
from leastnoise.lattice.shells import Floats
from leastnoise.solver import pairs
from leastnoise.solver.certificate import Bound, lower_bound
from leastnoise.solver.pairs import PairSystem, Value
from leastnoise.solver.problem import RenyiProblem


@dataclass(frozen=True, eq=False)
class Point:
    """A law with unit mass and the budget as its cost, with everything a step needs."""

    q: Floats  # log h
    value: Value
    share: Floats  # mass_k h_k
    slack: Floats  # the cone's slacks over h_k: 1 − h_{k+1}/h_k when monotone, else 1
    objective: Floats  # log divergence per shift
    gradients: Floats  # its relative gradient, rows × size
    factor: Floats  # what turns ∇D_t into it

    @property
    def attained(self) -> float:
        """The divergence: the largest over the shifts."""
        return float(np.exp(np.max(self.objective)))


def point_at(problem: RenyiProblem, system: PairSystem, q: Floats) -> Point:
    """Everything at a profile that already meets the constraints."""
    value = pairs.evaluate(system, q)
    slack = np.ones(q.size)
    if problem.monotone:
        slack[:-1] = -np.expm1(q[1:] - q[:-1])
    divergence = pairs.divergence(problem.order, value.d, value.log_scale)
    factor = pairs.divergence_slope(problem.order, value.d, value.log_scale) / divergence
    share = np.exp(problem.log_mass + q)
    gradients = factor[:, None] * value.gradient
    return Point(q, value, share, slack, np.log(divergence), gradients, factor)


def spread(problem: RenyiProblem, profile: Floats) -> Floats:
    """The profile with every slope at least a little positive, when the law must be monotone."""
    if not problem.monotone:
        return profile
    slope = profile[:-1] - profile[1:]
    floor = np.maximum(1e-2 * (problem.guess[:-1] - problem.guess[1:]), 1e-9 / problem.size)
    return -np.concatenate([[0.0], np.cumsum(np.maximum(slope, floor))])


def meet_constraints(problem: RenyiProblem, profile: Floats) -> Floats:
    """θ·profile + constant with unit mass and the budget as its cost: multiplying slopes keeps a
    monotone law monotone."""
    shape = profile - np.max(profile)

    def scaled(theta: float) -> tuple[Floats, float]:
        logs = problem.log_mass + theta * shape
        top = float(np.max(logs))
        share = np.exp(logs - top)
        total = float(np.sum(share))
        return share / total, top + math.log(total)

    def excess(log_theta: float) -> float:
        share, _ = scaled(math.exp(log_theta))
        return math.log(float(np.sum(share * problem.unit_cost)) / problem.budget)

    low, high = -0.1, 0.1
    while excess(low) < 0.0 and low > -20.0:
        low *= 2.0
    while excess(high) > 0.0 and high < 20.0:
        high *= 2.0
    if excess(low) < 0.0 or excess(high) > 0.0:
        if profile is problem.guess:
            raise InvalidParameterError(
                "budget",
                problem.budget,
                "to be within reach of the lattice; give a larger last or leave it out",
            )
        return meet_constraints(problem, problem.guess)
    theta = math.exp(brentq(excess, low, high, xtol=1e-15, rtol=1e-14))
    return theta * shape - scaled(theta)[1]


def certify(problem: RenyiProblem, point: Point, weights: Floats) -> tuple[Bound, Floats]:
    """A lower bound on the divergence with its slope in the budget, and the weights over the D_t
    that give it.

    Stationarity weighs log-divergences, the bound weighs D: exactly, a weight is divided by D_t.
    But an inactive shift (D_t = e^−60 at α = 125) would then take it all, so that is tried for the
    nearly active ones only, beside the plain weights, which err by about μ.
    """
    value = point.value
    best = _bound(problem, point, weights)
    if weights.size > 1:
        near = weights * point.factor * (value.d > 0.5 * np.max(value.d))
        near = near / np.sum(near)
        other = _bound(problem, point, near)
        if other.value > best.value:
            best, weights = other, near
    if not best.value > 0.0:
        return Bound(0.0, best.slope), weights
    order, log_scale = problem.order, value.log_scale
    slope = best.slope * float(pairs.divergence_slope(order, best.value, log_scale))
    return Bound(float(pairs.divergence(order, best.value, log_scale)), slope), weights


def _bound(problem: RenyiProblem, point: Point, weights: Floats) -> Bound:
    gradient = (weights @ point.value.gradient) / point.share
    return lower_bound(problem, gradient, (weights @ point.value.rounding) / point.share)
