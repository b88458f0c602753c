"""What a solve of the Rényi program returns: the law, its value, how good it is proven to be."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from leastnoise.lattice.shells import Floats
from leastnoise.solver.problem import RenyiProblem


@dataclass(frozen=True)
class SolverSettings:
    """`tolerance` is the wanted relative duality gap, `acceptable` the largest one still called
    optimal."""

    tolerance: float = 1e-9
    acceptable: float = 1e-8
    max_iterations: int = 400


class Status(enum.Enum):
    """How a solve ended; the value is the sentence to show."""

    OPTIMAL = "The relative duality gap is within the tolerance."
    ACCEPTABLE = (
        "The relative duality gap is above the wanted tolerance but within the acceptable one."
    )
    NOT_REACHED = (
        "The relative duality gap stayed above the acceptable tolerance: the law is "
        "valid, but not proven optimal."
    )


@dataclass(frozen=True, eq=False)
class RenyiOptimum:
    """The best law found and its certificate: law, bound and weights can be checked together.

    Guarantees: the law meets both constraints to 1e-12; no law of the problem's family has a
    divergence below `lower_bound`; `divergence` is attained for every shift of the problem.
    """

    problem: RenyiProblem
    profile: Floats  # log probability of one lattice point of each free shell, first, …, last
    divergence: float
    lower_bound: float
    budget_slope: float  # d(divergence)/d(budget), negative
    weights: Floats  # over the shifts of the problem: with the profile they give the bound
    iterations: int
    settings: SolverSettings

    @cached_property
    def log_h(self) -> Floats:
        """log probability of one lattice point of shell k = 0, …, last."""
        return self.problem.all_shells(self.profile)

    @property
    def gap(self) -> float:
        """Relative distance of the bound below the divergence."""
        return max(0.0, 1.0 - self.lower_bound / self.divergence)

    @property
    def status(self) -> Status:
        """What the gap is worth beside what was wanted."""
        if self.gap > self.settings.acceptable:
            return Status.NOT_REACHED
        return Status.OPTIMAL if self.is_optimal(self.settings.tolerance) else Status.ACCEPTABLE

    def is_optimal(self, tolerance: float) -> bool:
        """Whether the relative duality gap is at most `tolerance`."""
        return self.gap <= tolerance

    @property
    def share(self) -> Floats:
        """Mass of each free shell, core and tail folded in."""
        return np.asarray(np.exp(self.problem.log_mass + self.profile))

    @property
    def shell_masses(self) -> Floats:
        """n_k h_k for k = 0, …, last and, as the last entry, the mass of the geometric tail beyond;
        they sum to 1."""
        problem = self.problem
        k = np.arange(problem.last + 1)
        mass = np.exp(problem.lattice.log_shell_count(k) + self.log_h)
        tail = float(np.exp(problem.log_mass[-1] + self.log_h[-1])) - float(mass[-1])
        masses = np.append(mass, tail)
        return np.asarray(masses / np.sum(masses))


@dataclass(frozen=True)
class Discretisation:
    """What the finite lattice costs, as relative increases of the divergence."""

    bins: float  # the bins' own spread: the noise inside a bin costs budget and hides nothing
    tail: float  # the part of the budget that the geometric tail spends


def discretisation_cost(optimum: RenyiOptimum) -> Discretisation:
    """First-order estimates by the budget's multiplier: |slope|·(budget spent)/divergence.

    Bins (real domain): what uniform noise inside the bin adds to the cost. Against m → 8m it is
    right to 4 % for α ≤ 4 and σ ≥ s/2, and for α = 18 at σ = 8s; where the optimum has steps (large
    α, small σ) their position is rounded to a bin, and the true price was found between 0.1 and 3
    times the estimate.
    """
    problem = optimum.problem
    rate = -optimum.budget_slope / optimum.divergence
    bins = 0.0
    if problem.domain == "real":
        within = problem.lattice.per_shell(problem.last)[problem.first :]
        on_points = replace(problem.lattice, domain="integer")
        exact = on_points.per_shell(problem.last)[problem.first :]
        bins = rate * float(optimum.share @ (within - exact))
    tail_share = float(optimum.shell_masses[-1])
    return Discretisation(bins=bins, tail=rate * tail_share * float(problem.unit_cost[-1]))
