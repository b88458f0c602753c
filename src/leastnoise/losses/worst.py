"""The worst of several privacy losses: the pointwise maximum of their profiles."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from leastnoise.errors import AccountingError
from leastnoise.lattice.shells import Floats
from leastnoise.losses.table import TableLoss

_MOST_CELLS = 20_000  # of the losses above 0


@dataclass(frozen=True)
class WorstOf:
    """The pointwise maximum of the profiles of several symmetric pairs (the shifts of a
    law that is not monotone).

    `chosen_anew` says whether an adversary may choose among them anew in each release,
    as among shifts. Of the two directions of an asymmetric pair they choose one for all
    releases: then the first of the tables stands for them in lower bounds.
    """

    tables: tuple[TableLoss, ...]
    chosen_anew: bool = True

    normal_variance: ClassVar[None] = None
    kink: ClassVar[None] = None
    listed: ClassVar[None] = None

    @property
    def infinite(self) -> float:
        return max(table.infinite for table in self.tables)

    @property
    def surely_infinite(self) -> float:
        return max(table.surely_infinite for table in self._open)

    @property
    def _open(self) -> tuple[TableLoss, ...]:
        return self.tables if self.chosen_anew else self.tables[:1]

    def worst(self, theta: float) -> TableLoss:
        """The table of an adversary that a lower bound may count on: the worst at this tilt."""
        return max(self._open, key=lambda table: table.cumulants(theta)[0])

    @property
    def with_divergences(self) -> WorstOf:
        return self

    @property
    def deviation(self) -> float:
        return max(table.deviation for table in self.tables)

    @property
    def raised(self) -> float:
        return max(table.raised for table in self.tables)

    @property
    def loss_rounding(self) -> float:
        return max(table.loss_rounding for table in self.tables)

    @property
    def largest(self) -> float:
        return max(table.largest for table in self.tables)

    def profile(self, epsilon: ArrayLike) -> Floats:
        return np.asarray(
            np.maximum.reduce([table.profile(epsilon) for table in self.tables]), dtype=np.float64
        )

    def profile_at_zero(self) -> float:
        return float(self.profile(0.0))

    def profile_lower(self, epsilon: ArrayLike) -> Floats:
        return np.asarray(
            np.maximum.reduce([table.profile_lower(epsilon) for table in self.tables]),
            dtype=np.float64,
        )

    @property
    def heaviest(self) -> float:
        return max(table.heaviest for table in self.tables)

    @property
    def anchor(self) -> float:
        return self.largest

    def changed(self, change: Callable[[TableLoss], TableLoss]) -> WorstOf:
        return replace(self, tables=tuple(change(table) for table in self.tables))

    def without_top(self, mass: float) -> WorstOf:
        return self.changed(lambda table: table.without_top(mass))

    def share_below_largest(self, theta: float) -> float:
        return max(self.tables, key=lambda table: table.largest).share_below_largest(theta)

    def cumulants(self, theta: float) -> tuple[float, float, float]:
        """Those of the shift with the largest K(θ): a guide for the tilt, never part of a bound."""
        return max((table.cumulants(theta) for table in self.tables), key=lambda values: values[0])

    def divergence(self, order: float) -> float:
        return max(table.divergence(order) for table in self.tables)

    def reach(self, theta: float) -> tuple[float, float]:
        return -self.largest, self.largest

    def table(self, pitch: float, low: float, high: float) -> TableLoss:
        """Connect-the-Dots on the multiples of a width ≤ `pitch` that has the largest
        loss on its grid.

        1. Take the profile f on the grid of ε ≥ 0, linear in x = e^ε between its points.
        2. The Q-mass at a point is the change of slope, its P-mass e^ε times that.
        3. For a symmetric pair the point −ε carries e^(−ε) times the mass of ε.
        4. Rounding of the second differences is mended by comparing the profile of the
           result with f and scaling up.
        """
        if self.largest <= 0.0:
            return TableLoss(np.zeros(1), np.zeros(1), self.infinite, self.deviation)
        # Second differences lose 1e-16/width² of their digits: 20,000 cells keep the
        # excess below 1e-6 of the profile.
        cells = min(max(1, math.ceil(self.largest / pitch)), _MOST_CELLS)
        width = self.largest / cells
        grid: Floats = np.asarray(width * np.arange(cells + 1), dtype=np.float64)
        profile = self._finite_envelope(grid)
        # the last point is the largest loss, up to the rounding of the grid
        profile[-1] = 0.0
        mass = self._masses(profile, width)
        p = np.concatenate([(mass * np.exp(-grid))[:0:-1], mass])
        loss = np.concatenate([-grid[:0:-1], grid])
        log_scale = math.log(self._mending(loss, p, grid, profile))
        keep = p > 0
        infinite = self.infinite + (1e-200 if self.infinite > 0 else 0.0)
        log_p = np.log(p[keep]) + log_scale
        return TableLoss(
            loss[keep], log_p, infinite, loss_error=self.loss_rounding, mass_error=1e-12
        )

    def _masses(self, profile: Floats, width: float) -> Floats:
        """P-masses at the points ε ≥ 0 of a grid, from the profile there."""
        # From −width to 0: f(−ε) = 1 − e^(−ε) + e^(−ε) f(ε), with P of total 1 − infinite.
        mirror = (1.0 - self.infinite) * -math.expm1(-width) + math.exp(-width) * profile[1]
        # −slope on [ε − width, ε] times e^ε: e^ε alone is no float beyond ε = 709.
        fall = -np.diff(np.concatenate([[mirror], profile])) / -math.expm1(-width)
        following = np.concatenate([fall[1:], [0.0]])
        return np.asarray(np.maximum(fall - math.exp(-width) * following, 0.0), dtype=np.float64)

    def _mending(self, loss: Floats, p: Floats, grid: Floats, profile: Floats) -> float:
        """The factor ≥ 1 by which the masses p must grow so that their profile is
        nowhere below the given one."""
        with np.errstate(divide="ignore"):
            back = TableLoss(loss, np.log(p)).finite_profile(grid)
        lack = profile / np.maximum(back, np.finfo(np.float64).tiny)
        scale = float(np.max(lack, where=profile > 1e-200, initial=1.0))
        # for ε < 0 the whole mass of P must be there
        scale = max(scale, (1.0 - self.infinite) / float(np.sum(p)))
        if not scale < 1.0 + 1e-4:
            raise AccountingError(
                "The worst profile over the shifts could not be put on a grid; use a coarser pitch."
            )
        return max(scale, 1.0)

    def _finite_envelope(self, epsilon: Floats) -> Floats:
        """The maximum of the profiles less the largest mass of infinite loss."""
        parts = [
            table.finite_profile(epsilon) + (table.infinite - self.infinite)
            for table in self.tables
        ]
        return np.asarray(np.maximum(np.maximum.reduce(parts), 0.0), dtype=np.float64)
