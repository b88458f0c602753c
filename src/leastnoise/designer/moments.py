"""Objective "renyi": the law of least Rényi divergence, at one order or over all of them as the
moments accountant of the paper asks for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from leastnoise.accountant.renyi import epsilon_from_renyi
from leastnoise.designer.lattice_law import LatticeLaw, renyi_law
from leastnoise.designer.request import LatticeRequest
from leastnoise.solver import renyi
from leastnoise.solver.optimum import RenyiOptimum, SolverSettings, Status

HIGHEST_ORDER = 1_000.0
FREE_BELOW = 2.0  # sigma in sensitivities below which a law that ripples has a smaller divergence
_MOST_SHIFTS = 60  # beyond, the free program takes seconds
_LOWEST_ORDER = 1e-3  # above 1
_ORDERS_ABOVE = 3.0  # the Gaussian law's: how far log(α − 1) is looked for
_CLOSE = 2e-3  # of log(α − 1)


def gaussian_order(asked: LatticeRequest) -> float:
    """The order that is best for the Gaussian law under the moments accountant (Alg. 3, line 1)."""
    releases = asked.compositions * asked.dimension
    order = 1.0 + asked.ratio * math.sqrt(2.0 * math.log(1.0 / asked.delta) / releases)
    return min(order, HIGHEST_ORDER)


def of_order(asked: LatticeRequest, order: float) -> tuple[LatticeLaw, float | None]:
    """The law of least divergence of one order, and what the moments accountant makes of it."""
    law = freed(renyi_law(asked, order, None, SolverSettings()), asked)
    return law, moments_value(law.optimum, asked) if order > 1.0 else None


def best_moments(asked: LatticeRequest) -> tuple[LatticeLaw, float]:
    """The joint optimum over order and law of the moments accountant, and its value: the paper's
    objective, solved exactly.

    Its value is unimodal in the order in every case seen, but may keep falling up to ∞, which is
    tried too.
    """
    seen: dict[float, LatticeLaw] = {}

    def value(log_order: float) -> float:
        order = 1.0 + math.exp(log_order)
        nearest = min(seen, key=lambda other: abs(math.log(other / order)), default=None)
        start = None if nearest is None else seen[nearest].optimum
        seen[order] = renyi_law(asked, order, start, SolverSettings())
        return moments_value(seen[order].optimum, asked)

    middle = math.log(gaussian_order(asked) - 1.0)
    high = min(middle + _ORDERS_ABOVE, math.log(HIGHEST_ORDER))
    _golden(value, math.log(_LOWEST_ORDER), high)
    seen[math.inf] = renyi_law(asked, math.inf)
    best = min(seen.values(), key=lambda law: moments_value(law.optimum, asked))
    best = freed(best, asked)
    return best, moments_value(best.optimum, asked)


def moments_value(optimum: RenyiOptimum, asked: LatticeRequest) -> float:
    """Prop. 2.4 at the optimum's order."""
    divergence = asked.compositions * optimum.divergence
    return epsilon_from_renyi(divergence, optimum.problem.order, asked.delta, "moments")


def freed(law: LatticeLaw, asked: LatticeRequest) -> LatticeLaw:
    """The Rényi optimum of the same order over all laws, as in the paper, where laws that ripple
    have a smaller divergence.

    They gain up to 6e-4 of the divergence below two sensitivities and lose up to 3 % of the true ε
    (the worst shift is then another one): so only where the divergence is what counts.
    """
    order = law.optimum.problem.order
    is_alike = asked.ratio >= FREE_BELOW or math.isinf(order)
    if is_alike or asked.dimension > 1 or asked.shift > _MOST_SHIFTS:
        return law
    problem = asked.problem(order, monotone=False)
    optimum = renyi.solve(problem)
    is_less = optimum.divergence < law.optimum.divergence
    if not is_less or optimum.status is Status.NOT_REACHED:
        return law
    return replace(
        law, log_h=optimum.log_h, tail_ratio=problem.tail_ratio, optimum=optimum, problem=problem
    )


def _golden(function: Callable[[float], float], low: float, high: float) -> None:
    """Golden-section search for a minimum; the caller remembers the values."""
    ratio = 0.5 * (math.sqrt(5.0) - 1.0)
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    at_a, at_b = function(a), function(b)
    while high - low > _CLOSE:
        if at_a < at_b:
            high, b, at_b = b, a, at_a
            a = high - ratio * (high - low)
            at_a = function(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + ratio * (high - low)
            at_b = function(b)
