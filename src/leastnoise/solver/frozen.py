"""The frozen problem: δ as a function of the law of one release, the others held at the present
law.

With S the sum of the losses of the other N − 1 releases,

    δ = Σ over pairs of shells  N_ij h_j φ(h_i/h_j),     φ(ρ) = ρ·E[(1 − e^(ε − log ρ − S))_+],

an f-divergence with the convex φ, φ' = Pr(S > ε − log ρ) and ρφ'' the density of S there: value,
gradient and Hessian weights are expectations over S, which one tilted FFT gives.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from leastnoise.accountant.saddle import cumulants
from leastnoise.lattice.shells import Floats
from leastnoise.solver.frame import Composed
from leastnoise.solver.pairs import PairSystem, Value, loss_table
from leastnoise.solver.point import Point
from leastnoise.solver.problem import RenyiProblem


@dataclass(frozen=True, eq=False)
class Frozen:
    """The frozen problem at one law, as a point of the Rényi solver's kind, and the tilt θ at which
    it was evaluated."""

    point: Point
    theta: float


def frozen_point(
    problem: RenyiProblem,
    system: PairSystem,
    q: Floats,
    epsilon: float,
    composed: Composed,
    smoothing: float,
) -> Frozen | None:
    """Value, gradient and Hessian weights of the frozen problem at ε, from the composed law; None
    where they vanish.

    1. Pr(S > x), E[(1 − e^(x − S))_+] and the density of S at x = ε − loss, for every pair; S is
       smoothed by a share of one loss's deviation: without, the Hessian of one or two releases is a
       comb of point masses.
    2. Their sums over the pairs, as the Rényi solver wants them.
    """
    frame = composed.frame
    table = loss_table(system, q)
    _, mean, variance = cumulants(((table, 1),), frame.theta)
    width = smoothing * math.sqrt(max(variance, 0.0) / frame.compositions)
    tail, rest, here = composed.of_others(epsilon - table.loss, frame.epsilon - mean, width)
    log_base = table.log_p + frame.theta * table.loss
    base = np.exp(log_base - float(np.max(log_base)))
    value = float(np.sum(base * rest))
    if not value > 0.0:
        return None
    total = system.size
    to_a = np.bincount(system.grid_a, base * tail, minlength=total)
    to_b = np.bincount(system.grid_b, base * (rest - tail), minlength=total)
    gradient = np.asarray(to_a + to_b, dtype=np.float64)
    slack = np.ones(q.size)
    slack[:-1] = -np.expm1(q[1:] - q[:-1])
    d = np.array([value])
    point = Point(
        q=q,
        value=Value(0.0, d, gradient[None, :], np.zeros((1, total)), base * here),
        share=np.exp(problem.log_mass + q),
        slack=slack,
        objective=np.log(d),
        gradients=gradient[None, :] / value,
        factor=np.array([1.0 / value]),
    )
    return Frozen(point, frame.theta)
