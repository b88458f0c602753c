"""The moments rule of the paper, solved exactly: the law and the order that together
make Prop. 2.4 least."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy import optimize

from leastnoise.accountant.renyi import epsilon_from_renyi
from leastnoise.laws.lattice import LatticeNoise
from leastnoise.solver.optimum import RenyiOptimum, SolverSettings
from leastnoise.solver.problem import renyi_problem
from leastnoise.solver.renyi import solve

_QUICK = SolverSettings(tolerance=1e-8, acceptable=1e-6)


@dataclass(frozen=True, eq=False)
class MomentsOptimum:
    """The order and the ε that the moments accountant finds best, with the law that gives them."""

    order: float
    epsilon: float
    optimum: RenyiOptimum
    at_the_end: bool  # the value still falls at the largest order tried


def law(optimum: RenyiOptimum, step: float) -> LatticeNoise:
    """The law of an optimum."""
    return LatticeNoise.from_log_weights(optimum.log_h, optimum.problem.tail_ratio, step=step)


def value(divergence: float, order: float, delta: float, compositions: int) -> float:
    """N_c·D_α + log(1/δ)/(α − 1): Prop. 2.3 and 2.4, eq. (25)."""
    return epsilon_from_renyi(compositions * divergence, order, delta, "moments")


def solved(*, sigma: float, order: float, bins: int, monotone: bool = True) -> RenyiOptimum:
    """The law of least divergence of one order, on the real line at sensitivity 1."""
    problem = renyi_problem(shift=bins, order=order, sigma=sigma * bins, monotone=monotone)
    return solve(problem, settings=_QUICK)


def optimum(
    *,
    sigma: float,
    delta: float,
    compositions: int,
    bins: int,
    largest: float = 1_000.0,
    monotone: bool = True,
) -> MomentsOptimum:
    """The least value over laws and orders from near 1 up to `largest`."""
    first = sigma * math.sqrt(-2.0 * math.log(delta) / compositions)  # α − 1 of line 1 of Alg. 3
    ends = (math.log(first) - 1.5, math.log(largest - 1.0))

    def at(log_order: float) -> float:
        order = 1.0 + math.exp(log_order)
        best = solved(sigma=sigma, order=order, bins=bins, monotone=monotone)
        return value(best.divergence, order, delta, compositions)

    found = optimize.minimize_scalar(at, bounds=ends, method="bounded", options={"xatol": 1e-3})
    order = 1.0 + math.exp(float(found.x))
    best = solved(sigma=sigma, order=order, bins=bins, monotone=monotone)
    return MomentsOptimum(order, float(found.fun), best, float(found.x) > ends[1] - 0.01)
