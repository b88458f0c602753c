"""Solve the Rényi program of one order and report the proof with the law."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, replace

import numpy as np

from leastnoise import shells
from leastnoise.designer import newton, pure
from leastnoise.designer.newton import Settings
from leastnoise.designer.point import meet_constraints
from leastnoise.designer.problem import RenyiProblem, bins_per_sensitivity, renyi_problem
from leastnoise.designer.system import PairSystem, pair_system
from leastnoise.errors import InvalidParameterError
from leastnoise.shells import Floats

__all__ = [
    "Discretisation",
    "RenyiOptimum",
    "RenyiProblem",
    "Settings",
    "Status",
    "bins_per_sensitivity",
    "discretisation_cost",
    "renyi_problem",
    "shell_masses",
    "solve",
]


class Status(enum.Enum):
    """How a solve ended; the value is the sentence to show."""

    OPTIMAL = "The relative duality gap is within the tolerance."
    ACCEPTABLE = (
        "The relative duality gap is above the wanted tolerance but within the acceptable one."
    )
    NOT_REACHED = "The relative duality gap stayed above the acceptable tolerance: the law is valid, but not proven optimal."


@dataclass(frozen=True, eq=False)
class RenyiOptimum:
    """The best law found and its certificate.

    Guarantees: `log_h` meets both constraints to 1e-12; no law of the problem's family has a divergence below `lower_bound`;
    `divergence` is attained by `log_h` for every shift of the problem.
    """

    problem: RenyiProblem
    log_h: Floats  # log probability of one lattice point of shell k = 0, …, last
    divergence: float
    lower_bound: float
    gap: float  # 1 − lower_bound/divergence
    status: Status
    iterations: int
    budget_slope: float  # d(divergence)/d(budget), negative
    weights: Floats  # over the shifts of the problem

    def is_optimal(self, tolerance: float) -> bool:
        """Whether the relative duality gap is at most `tolerance`."""
        return self.gap <= tolerance

    @property
    def profile(self) -> Floats:
        """log h on the free shells only: what `solve(..., start=...)` of a neighbouring problem takes."""
        return self.log_h[self.problem.first :]


def solve(
    problem: RenyiProblem,
    start: Floats | RenyiOptimum | None = None,
    settings: Settings | None = None,
    system: PairSystem | None = None,
) -> RenyiOptimum:
    """The optimum of the problem, from its own smooth guess or from the law of a neighbouring order or budget.

    `start` is log h for shells 0, 1, … (any length: it is continued along its last slope) or a previous optimum with the same
    shift; `system` the pairs of the problem, where they are known.

    Guarantees: never silent about the gap: `status` is NOT_REACHED whenever it exceeds `settings.acceptable`.
    """
    settings = Settings() if settings is None else settings
    if math.isinf(problem.order):
        outcome = _staircase_outcome(problem, system)
    else:
        profile = problem.guess if start is None else _continued(problem, start)
        outcome = newton.minimise(
            problem, pair_system(problem) if system is None else system, profile, settings
        )
    gap = max(0.0, 1.0 - outcome.lower_bound / outcome.divergence)
    status = Status.NOT_REACHED
    if gap <= settings.acceptable:
        status = Status.OPTIMAL if gap <= settings.tolerance else Status.ACCEPTABLE
    return RenyiOptimum(
        problem,
        problem.all_shells(outcome.q),
        outcome.divergence,
        outcome.lower_bound,
        gap,
        status,
        outcome.iterations,
        outcome.slope,
        outcome.weights,
    )


def _staircase_outcome(problem: RenyiProblem, system: PairSystem | None) -> newton.Outcome:
    """The staircase the problem was built on, with its loss recomputed from the law and the bound from the certificate."""
    q = meet_constraints(problem, problem.guess)
    if system is None or not problem.monotone:
        system = pair_system(replace(problem, monotone=True))
    loss = float(np.max(q[system.a] - q[system.b] + system.offset))
    data = (problem.dimension, problem.shift, problem.cost, problem.budget, problem.domain)
    stairs = pure.best_staircase(*data)
    bound = pure.proven_loss(*data, min(loss, stairs.epsilon), stairs.width, problem.monotone)
    weights = np.zeros(len(problem.shifts))
    weights[-1] = 1.0
    return newton.Outcome(q, loss, bound, stairs.budget_slope, weights, 0)


def shell_masses(optimum: RenyiOptimum) -> Floats:
    """n_k h_k for k = 0, …, last and, as the last entry, the mass of the geometric tail beyond; they sum to 1."""
    problem = optimum.problem
    mass = np.exp(
        shells.log_shell_count(problem.dimension, np.arange(problem.last + 1)) + optimum.log_h
    )
    tail = float(np.exp(problem.log_mass[-1] + optimum.log_h[-1])) - float(mass[-1])
    masses = np.append(mass, tail)
    return np.asarray(masses / np.sum(masses))


@dataclass(frozen=True)
class Discretisation:
    """What the finite lattice costs, as relative increases of the divergence."""

    bins: float  # the bins' own spread: the noise inside a bin costs budget and hides nothing
    tail: float  # the part of the budget that the geometric tail spends


def discretisation_cost(optimum: RenyiOptimum) -> Discretisation:
    """First-order estimates by the budget's multiplier: |slope|·(budget spent)/divergence.

    Bins (real domain): what uniform noise inside the bin adds to the cost. Against m → 8m it is right to 4 % for α ≤ 4 and σ
    ≥ s/2, and for α = 18 at σ = 8s; where the optimum has steps (large α, small σ) their position is rounded to a bin, and
    the true price was found between 0.1 and 3 times the estimate.
    """
    problem = optimum.problem
    rate = -optimum.budget_slope / optimum.divergence
    share = np.exp(problem.log_mass + optimum.profile)
    bins = 0.0
    if problem.domain == "real":
        exact = problem.cost.per_shell(problem.last, problem.dimension, 1.0, "integer")[
            problem.first :
        ]
        within = problem.cost.per_shell(problem.last, problem.dimension, 1.0, "real")[
            problem.first :
        ]
        bins = rate * float(share @ (within - exact))
    tail_share = float(shell_masses(optimum)[-1])
    return Discretisation(bins=bins, tail=rate * tail_share * float(problem.unit_cost[-1]))


def _continued(problem: RenyiProblem, start: Floats | RenyiOptimum) -> Floats:
    """A log-profile for the problem's free shells, from a law of another length.

    Of an optimum the deviation from its own problem's guess is carried over: the guess then accounts for the change of order
    and budget, in the tail above all (steps from α = 25 to 40 at σ = 8s: 15 against 44 when the law itself is carried over,
    18 without).
    """
    if isinstance(start, RenyiOptimum):
        deviation = start.log_h - start.problem.all_shells(start.problem.guess)
        missing = max(problem.last + 1 - deviation.size, 0)
        deviation = np.concatenate([deviation, np.full(missing, deviation[-1])])
        return problem.guess + deviation[problem.first : problem.last + 1]
    log_h = np.asarray(start, dtype=np.float64)
    if log_h.ndim != 1 or log_h.size < 2 or not np.all(np.isfinite(log_h)):
        raise InvalidParameterError(
            "start", log_h, "to be a vector of at least two finite log-probabilities"
        )
    if log_h.size <= problem.last:
        # Continued with the smooth guess's own slopes: a straight line would miss the slow steepening of the tail.
        tail = problem.all_shells(problem.guess)[log_h.size - 1 :]
        log_h = np.concatenate([log_h, log_h[-1] + tail[1:] - tail[0]])
    return np.array(log_h[problem.first : problem.last + 1])
