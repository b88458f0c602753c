"""What all programs have in common: a lattice, and the cost that a law on it must have."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from leastnoise.cost import Cost
from leastnoise.lattice.shells import Floats


@dataclass(frozen=True)
class LatticeBudget:
    """Joint noise for `dimension` answers on a lattice of `shift` bins a sensitivity, whose cost on
    one answer is `budget` in lattice units (Δ = 1)."""

    dimension: int
    shift: int
    cost: Cost
    budget: float
    domain: str

    def per_shell(self, last: int) -> Floats:
        """The average cost on shell k = 0, …, last."""
        return self.cost.per_shell(last, self.dimension, 1.0, self.domain)

    @property
    def deviation(self) -> float:
        """The size of the laws, as the standard deviation of the uniform law of that cost: σ for
        the quadratic cost."""
        return self.cost.radius(self.budget) / math.sqrt(3.0)


@dataclass(frozen=True, eq=False)
class Cubes:
    """The cubes of radius 0, 1, …: log of their points, and the average cost of one."""

    lattice: LatticeBudget
    log_count: Floats
    cost: Floats

    @property
    def last(self) -> int:
        """The largest radius."""
        return self.cost.size - 1

    @staticmethod
    def of(lattice: LatticeBudget, last: int) -> Cubes:
        """The cubes of radius 0, …, last."""
        radius = np.arange(last + 1)
        average = lattice.cost.average(radius, 1.0, lattice.domain)
        inside = (2.0 * np.cumsum(average) - average[0]) / (2.0 * radius + 1.0)
        return Cubes(lattice, lattice.dimension * np.log(2.0 * radius + 1.0), inside)
