"""Laws worth considering at one setting, in lattice units, each with its true ε.

A `Setting` is what stays fixed: lattice, budget, δ and number of releases. Everything here returns profiles log h of the Rényi
problem's shells; turning them into a law and judging it is `design`'s business.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from leastnoise.cost import Cost
from leastnoise.designer import renyi, tight
from leastnoise.designer.point import meet_constraints, spread
from leastnoise.designer.problem import RenyiProblem, renyi_problem
from leastnoise.designer.renyi import RenyiOptimum, Settings
from leastnoise.designer.system import PairSystem, pair_system
from leastnoise.errors import LeastNoiseError
from leastnoise.lattice import LatticeNoise
from leastnoise.noise import Domain
from leastnoise.privacy import compose as composition
from leastnoise.privacy.renyi import epsilon_from_renyi

_HIGHEST_ORDER = 1_000.0
_STEPS = 5  # of the order, at most
_QUICK = Settings(tolerance=1e-6, acceptable=1e-5)


@dataclass(frozen=True)
class Setting:
    """One design problem in lattice units: `shift` steps a sensitivity, `budget` the cost of one answer."""

    dimension: int
    shift: int
    domain: Domain
    cost: Cost
    budget: float
    delta: float
    compositions: int

    def problem(self, order: float, *, monotone: bool = True) -> RenyiProblem:
        """The Rényi program of one order."""
        return renyi_problem(
            shift=self.shift,
            order=order,
            budget=self.budget,
            dimension=self.dimension,
            domain=self.domain,
            cost=self.cost,
            monotone=monotone,
        )


@dataclass(frozen=True, eq=False)
class Candidate:
    """A law of the family: the Rényi problem whose lattice it lives on, its profile there, and its true ε."""

    problem: RenyiProblem
    system: PairSystem
    q: np.ndarray
    epsilon: float
    optimum: RenyiOptimum  # the Rényi optimum it started from

    def noise(self, step: float) -> LatticeNoise:
        """The law itself, on a lattice of the given pitch."""
        problem = self.problem
        log_h = problem.all_shells(self.q)
        domain: Domain = "integer" if problem.domain == "integer" else "real"
        return LatticeNoise.from_log_weights(log_h, problem.tail_ratio, step=step, domain=domain, dimension=problem.dimension)


def renyi_candidate(setting: Setting, order: float, start: RenyiOptimum | None = None, settings: Settings = _QUICK) -> Candidate:
    """The optimum of the Rényi program of one order (monotone), with its true ε."""
    problem = setting.problem(order)
    usable = start if start is not None and not math.isinf(order) and not math.isinf(start.problem.order) else None
    optimum = renyi.solve(problem, usable, settings)
    system = pair_system(problem)
    epsilon = tight.true_epsilon(system, optimum.profile, setting.delta, setting.compositions)
    return Candidate(problem, system, optimum.profile, epsilon, optimum)


def first_order(setting: Setting) -> float:
    """The order that is best for the Gaussian law under the moments accountant (Alg. 3, line 1)."""
    ratio = math.sqrt(max(setting.budget, 1e-300)) / setting.shift if setting.cost.exponent == 2.0 else 1.0
    releases = setting.compositions * setting.dimension
    return min(1.0 + ratio * math.sqrt(2.0 * math.log(1.0 / setting.delta) / releases), _HIGHEST_ORDER)


def saddle_order(candidate: Candidate, setting: Setting) -> float:
    """1 + the tilt at which the composed loss of the candidate decides its ε: the order that matters for this law."""
    parts = ((tight.loss_table(candidate.system, candidate.q), setting.compositions),)
    return 1.0 + composition.saddle_for_epsilon(parts, candidate.epsilon).theta


def best_renyi(setting: Setting) -> list[Candidate]:
    """Rényi optima near the best order, best true ε first: the order is moved to the candidate's own saddle point until that no
    longer helps, and pure privacy (order ∞) is tried as well."""
    found: list[Candidate] = []
    order = first_order(setting)
    for _ in range(_STEPS):
        candidate = renyi_candidate(setting, order, found[-1].optimum if found else None)
        better = not found or candidate.epsilon < min(other.epsilon for other in found) * (1.0 - 1e-5)
        found.append(candidate)
        if not better or not math.isfinite(candidate.epsilon):
            break
        moved = saddle_order(candidate, setting)
        if moved > _HIGHEST_ORDER or abs(moved / order - 1.0) < 0.02:
            break
        order = moved
    found.append(renyi_candidate(setting, math.inf))
    return sorted(found, key=lambda candidate: candidate.epsilon)


def descended(candidate: Candidate, setting: Setting) -> Candidate:
    """The candidate after descent on its true ε; never worse."""
    problem = candidate.problem
    try:
        start = meet_constraints(problem, spread(problem, candidate.q))
    except LeastNoiseError:
        return candidate
    reached = tight.descend(problem, candidate.system, start, setting.delta, setting.compositions)
    return replace(candidate, q=reached.q, epsilon=reached.epsilon) if reached.epsilon < candidate.epsilon else candidate


def best_tight(setting: Setting) -> Candidate:
    """The best law found for the true ε: descent from the best Rényi optima, and from pure privacy's staircase if it is close."""
    starts = best_renyi(setting)
    best = descended(starts[0], setting)
    for other in starts[1:]:
        if other.problem.order != starts[0].problem.order and other.epsilon < 1.03 * starts[0].epsilon:
            reached = descended(other, setting)
            best = reached if reached.epsilon < best.epsilon else best
            break
    return best


def moments_value(optimum: RenyiOptimum, setting: Setting) -> float:
    """Prop. 2.4 at the optimum's order."""
    return epsilon_from_renyi(setting.compositions * optimum.divergence, optimum.problem.order, setting.delta, "moments")


def best_moments(setting: Setting) -> tuple[Candidate, float]:
    """The joint optimum over order and law of the moments accountant, and its value: the paper's objective, solved exactly.

    Its value is unimodal in the order in every case seen, but may keep falling up to ∞ (DESIGN §4), which is tried too.
    """
    seen: dict[float, Candidate] = {}

    def value(log_order: float) -> float:
        order = 1.0 + math.exp(log_order)
        nearest = min(seen, key=lambda other: abs(math.log(other / order)), default=None)
        start = None if nearest is None else seen[nearest].optimum
        seen[order] = renyi_candidate(setting, order, start, Settings())
        return moments_value(seen[order].optimum, setting)

    middle = math.log(first_order(setting) - 1.0)
    ends = (max(middle - 2.0, math.log(1e-3)), min(middle + 3.0, math.log(_HIGHEST_ORDER)))
    _golden(value, *ends)
    seen[math.inf] = renyi_candidate(setting, math.inf)
    best = min(seen.values(), key=lambda candidate: moments_value(candidate.optimum, setting))
    return best, moments_value(best.optimum, setting)


def _golden(function, low: float, high: float, tolerance: float = 2e-3) -> None:  # type: ignore[no-untyped-def]
    """Golden-section search for a minimum; the caller remembers the values."""
    ratio = 0.5 * (math.sqrt(5.0) - 1.0)
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    at_a, at_b = function(a), function(b)
    while high - low > tolerance:
        if at_a < at_b:
            high, b, at_b = b, a, at_a
            a = high - ratio * (high - low)
            at_a = function(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + ratio * (high - low)
            at_b = function(b)
