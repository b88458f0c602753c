"""What all programs have in common: a lattice, and the cost that a law on it must have.

The shells are those of the cube, ‖x‖_∞ = k, shifted to the corner; or those of the range norm,
r(x) = k, shifted by m steps in `moved` of the answers (`lattice.bodies.overlap`), for answers that
all move the same way. Nothing else in the programs knows which.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leastnoise.cost import Cost
from leastnoise.lattice import shells
from leastnoise.lattice.bodies.overlap import one_sided_pairs
from leastnoise.lattice.bodies.range import RangeBody
from leastnoise.lattice.overlap import Pairs, corner_pairs, log_one_end
from leastnoise.lattice.shells import Floats


@dataclass(frozen=True)
class LatticeBudget:
    """Joint noise for `dimension` answers on a lattice of `shift` bins a sensitivity, whose cost on
    one answer is `budget` in lattice units (Δ = 1); with `moved`, of the range norm on the integers
    and with the quadratic cost."""

    dimension: int
    shift: int
    cost: Cost
    budget: float
    domain: str
    moved: int | None = None

    def per_shell(self, last: int) -> Floats:
        """The average cost on shell k = 0, …, last."""
        if self.moved is not None:
            return RangeBody(self.dimension).squares(last)
        return self.cost.per_shell(last, self.dimension, 1.0, self.domain)

    def log_shell_count(self, k: ArrayLike) -> Floats:
        """log n_k."""
        if self.moved is not None:
            return RangeBody(self.dimension).log_shell_counts(k)
        return shells.log_shell_count(self.dimension, k)

    def log_ball_count(self, k: ArrayLike) -> Floats:
        """log of the number of points on the shells 0, …, k."""
        radius = np.asarray(k, dtype=np.float64)
        if self.moved is not None:  # (k+1)^n − k^n, n = d + 1
            return log_one_end(self.dimension + 1, radius + 1.0)
        return np.asarray(self.dimension * np.log(2.0 * radius + 1.0), dtype=np.float64)

    def pairs(self, shift: int, last: int) -> Pairs:
        """Pairs of shells up to `last` and their points, at the worst shift of so many steps."""
        if self.moved is not None:
            return one_sided_pairs(self.dimension, shift, self.moved, last)
        return corner_pairs(self.dimension, shift, last)

    @property
    def deviation(self) -> float:
        """The size of the laws, as the standard deviation of the uniform law of that cost: σ for
        the quadratic cost."""
        return self.cost.radius(self.budget) / math.sqrt(3.0)


@dataclass(frozen=True, eq=False)
class Cubes:
    """The cubes (or balls of the range norm) of radius 0, 1, …: log of their points, and the
    average cost of one."""

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
        log_count = lattice.log_ball_count(radius)
        if lattice.moved is not None:
            return Cubes(lattice, log_count, _in_range(lattice.dimension, radius))
        average = lattice.cost.average(radius, 1.0, lattice.domain)
        inside = (2.0 * np.cumsum(average) - average[0]) / (2.0 * radius + 1.0)
        return Cubes(lattice, log_count, inside)


def _in_range(dimension: int, radius: NDArray[Any]) -> Floats:
    """The average of x_1² on {r ≤ t}: [(t+1)^n t(t+2) − t^n (t²−1)]/6 over (t+1)^n − t^n points, n
    = d + 1."""
    t = radius.astype(np.float64)
    with np.errstate(divide="ignore"):
        log_ratio = (dimension + 1) * np.log1p(-1.0 / (t + 1.0))
    ratio, rest = np.exp(log_ratio), -np.expm1(log_ratio)
    return np.asarray((t * (t + 2.0) - ratio * (t * t - 1.0)) / (6.0 * rest), dtype=np.float64)
