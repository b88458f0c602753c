"""The privacy loss of one release as a finite table: a lattice law's is one, others are
put into one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leastnoise.errors import AccountingError
from leastnoise.lattice.shells import Floats
from leastnoise.losses.divergence import DIVERGENCE_ROUNDING, listed_divergence
from leastnoise.losses.rounding import (
    LOSS_ROUNDING,
    MASS_ROUNDING,
    PROFILE_ROUNDING,
    SMALLEST,
    ULP,
    rounded_up,
)

LIGHT = 0.02  # a loss of less probability makes no kink that matters
# of the largest loss, when the highest are set aside: not worth their mass
_HARDLY_FALLEN = 0.99
_TOP_BINS = 256  # of the losses above 0, when the highest are set aside


@dataclass(frozen=True, eq=False)
class TableLoss:
    """Finitely many losses with the logarithms of their probabilities under P, and the
    mass of infinite loss.

    `releases` counts how many releases the table sums up; it scales the allowance for rounding.

    `infinite` is rounded up. `loss_error` and `mass_error` bound the rounding of the
    losses (absolute) and of the probabilities (relative), all releases together. `raised`
    is the part of the mass whose loss was put higher than it is, or to infinity, to be
    safe: lower bounds leave it out. `deviation` is the mass by which empty inner shells
    were filled (see `losses.lattice`); `infinite` and `log_p` count it.
    """

    loss: Floats
    log_p: Floats
    infinite: float = 0.0
    deviation: float = 0.0
    releases: int = 1
    raised: float = 0.0
    loss_error: float | None = None
    mass_error: float = MASS_ROUNDING

    normal_variance: ClassVar[None] = None
    kink: ClassVar[None] = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TableLoss):
            return NotImplemented
        return self is other or (
            self._numbers == other._numbers
            and np.array_equal(self.loss, other.loss)
            and np.array_equal(self.log_p, other.log_p)
        )

    def __hash__(self) -> int:
        return hash(self._numbers)

    @cached_property
    def _numbers(self) -> tuple[float | None, ...]:
        """All that is not an array, and enough of the arrays to tell most tables apart."""
        known = self.infinite, self.deviation, self.releases, self.raised, self.loss_error
        return *known, self.mass_error, self.loss.size, float(self.loss[0]), float(self.log_p[-1])

    @property
    def largest(self) -> float:
        return float(self.loss.max())

    @property
    def surely_infinite(self) -> float:
        """A lower bound on the mass of infinite loss; 1 only where there is no finite
        loss at all."""
        if not (self.raised or np.any(self.log_p > -np.inf)):
            return self.infinite
        return max(self.infinite - self.raised * (1.0 + 1e-9), 0.0) * (1.0 - ULP)

    @property
    def spread(self) -> float:
        """The largest size of a finite loss."""
        return float(np.abs(self.loss).max())

    def profile(self, epsilon: ArrayLike) -> Floats:
        moved = np.asarray(epsilon, dtype=np.float64) - self.loss_rounding
        finite = self.finite_profile(moved)
        # What underflows is not nothing.
        is_inside = np.asarray(epsilon) < self.largest + self.loss_rounding
        some = np.where(is_inside, self._underflow, 0.0)
        total = finite * (1.0 + self._sum_rounding) + some + self.infinite * (1.0 + 4.0 * ULP)
        return np.asarray(total, dtype=np.float64)

    def profile_at_zero(self) -> float:
        """δ(0), rounded up, in one pass: for a single value sorting the losses would
        take longer than all the rest."""
        rise = -np.expm1(np.minimum(-self.loss_rounding - self.loss, 0.0))
        finite = float(np.sum(np.exp(self.log_p) * rise)) * (1.0 + self._sum_rounding)
        return finite + self._underflow + self.infinite * (1.0 + 4.0 * ULP)

    def profile_lower(self, epsilon: ArrayLike) -> Floats:
        moved = np.asarray(epsilon, dtype=np.float64) + self.loss_rounding
        total = (self.finite_profile(moved) + self.infinite) * (1.0 - self._sum_rounding)
        total = total - self.raised * (1.0 + 1e-9)
        return np.asarray(np.maximum(total - self._underflow, 0.0), dtype=np.float64)

    @property
    def _underflow(self) -> float:
        """The rounding of the sums where they are below the normal range of floats:
        half a unit for each term and factor."""
        return SMALLEST * (2 * self.loss.size + 2)

    @property
    def _sum_rounding(self) -> float:
        return PROFILE_ROUNDING + self.mass_error + ULP * self.loss.size

    @cached_property
    def loss_rounding(self) -> float:
        if self.loss_error is not None:
            return self.loss_error
        return LOSS_ROUNDING * (self.releases + self.spread)

    def finite_profile(self, epsilon: Floats) -> Floats:
        """A sum of positive terms: over the gaps between losses above ε, (Q-mass
        above)·(rise of e^ε)."""
        loss, log_q_above, at_loss = self._sorted
        above = np.searchsorted(loss, epsilon, side="right")
        inside = above < loss.size
        k = np.where(inside, above, 0)
        rise = np.exp(log_q_above[k] + loss[k]) * -np.expm1(np.minimum(epsilon - loss[k], 0.0))
        return np.where(inside, at_loss[k] + rise, 0.0)

    @cached_property
    def _sorted(self) -> tuple[Floats, Floats, Floats]:
        order = np.argsort(self.loss, kind="stable")
        loss, log_q = self.loss[order], self.log_p[order] - self.loss[order]
        log_q_above = np.logaddexp.accumulate(log_q[::-1])[::-1]
        steps = np.exp(log_q_above[1:] + loss[1:]) * -np.expm1(loss[:-1] - loss[1:])
        at_loss = np.concatenate([np.cumsum(steps[::-1])[::-1], [0.0]])
        return loss, log_q_above, at_loss

    def cumulants(self, theta: float) -> tuple[float, float, float]:
        exponent = self.log_p + theta * self.loss
        top = float(exponent.max())
        weight = np.exp(exponent - top)
        total = float(weight.sum())
        # Not by BLAS: its threads wake for 10,000 products and then wait busily: 3.8 s
        # of CPU instead of 1.4 for a design.
        mean = float(np.einsum("i,i->", weight, self.loss)) / total
        variance = float(np.einsum("i,i->", weight, (self.loss - mean) ** 2)) / total
        return top + math.log(total), mean, variance

    def divergence(self, order: float) -> float:
        if self.infinite > 0 or self.deviation > 0:
            return math.inf
        above = order - 1.0
        if math.isinf(order):
            return self.largest * (1.0 + DIVERGENCE_ROUNDING) + self.loss_rounding
        if above * self.spread > 600.0:
            moment = self.cumulants(above)[0] + self.mass_error
            return moment / above * (1.0 + DIVERGENCE_ROUNDING) + self.loss_rounding
        return listed_divergence(self.loss, self.log_p, order, self.loss_rounding, self.mass_error)

    @property
    def tables(self) -> tuple[TableLoss]:
        return (self,)

    @property
    def with_divergences(self) -> TableLoss:
        return self

    @property
    def listed(self) -> TableLoss:
        return self

    def changed(self, change: Callable[[TableLoss], TableLoss]) -> TableLoss:
        return change(self)

    def worst(self, theta: float) -> TableLoss:
        return self

    def reach(self, theta: float) -> tuple[float, float]:
        return -self.spread, self.spread

    def table(self, pitch: float, low: float, high: float) -> TableLoss:
        return self

    def share_below_largest(self, theta: float) -> float:
        exponent = self.log_p + theta * self.loss
        weight = np.exp(exponent - exponent.max())
        top = self.loss >= self.largest * (1.0 - 1e-12)
        return float(np.sum(weight[~top]) / np.sum(weight))

    @cached_property
    def heaviest(self) -> float:
        """The probability of the heaviest loss, those within 1/5,000 of the spread
        taken together."""
        return self._heaviest[0]

    @property
    def anchor(self) -> float:
        """The loss that must be a point of the grid, for splitting it would cost most:
        the heaviest one, or the largest."""
        return self._heaviest[1]

    @cached_property
    def _heaviest(self) -> tuple[float, float]:
        spread = self.spread
        if spread == 0.0:
            return 1.0, self.largest
        p = np.exp(self.log_p)
        bins = ((self.loss + spread) * (2_500.0 / spread)).astype(np.int64)
        masses = np.bincount(bins, weights=p)
        heaviest = int(np.argmax(masses))
        loss = abs(float(self.loss[np.argmax(np.where(bins == heaviest, p, -1.0))]))
        is_light = masses[heaviest] < LIGHT or loss < 1e-3 * spread
        return float(masses[heaviest]), self.largest if is_light else loss

    def without_top(self, mass: float) -> TableLoss:
        """The same with its highest losses, of probability at most `mass` together,
        counted as infinite.

        Losses that hardly ever occur would own the tilt, the pitch and the window of a
        composition. No sorting: the losses above 0 are counted in bins. Where the largest
        loss would hardly fall, giving them up gains nothing and costs their mass.
        """
        top = self.largest
        if not top > 0.0:
            return self
        p = np.exp(self.log_p)
        bins = np.clip((self.loss * (_TOP_BINS / top)).astype(np.int64), -1, _TOP_BINS - 1) + 1
        masses = np.bincount(bins, weights=p, minlength=_TOP_BINS + 1)
        above = np.cumsum(masses[::-1])[::-1]  # of a bin and all higher ones
        first = int(np.argmax(np.append(above, 0.0) <= mass * (1.0 - self._sum_rounding)))
        kept = bins < max(first, 1)
        if not np.any(kept) or float(np.max(self.loss[kept])) > _HARDLY_FALLEN * top:
            return self
        removed = rounded_up(float(np.sum(p[~kept])), self.mass_error, int(np.sum(~kept)))
        return replace(
            self,
            loss=self.loss[kept],
            log_p=self.log_p[kept],
            infinite=min(self.infinite + removed, 1.0),
            raised=self.raised + removed,
            loss_error=self.loss_rounding,
        )

    def merged(self, share: float = 0.0) -> TableLoss:
        """The same table with losses that differ by rounding only, or by less than `share` of the
        largest, taken together at the largest of them."""
        order = np.argsort(self.loss, kind="stable")
        loss, log_p = self.loss[order], self.log_p[order]
        # Buckets of fixed width, so that a chain of near-equal losses is not moved by
        # more than one of them.
        width = max(16.0 * ULP * (1.0 + self.spread), share * self.spread)
        starts = np.concatenate([[True], np.diff(np.floor(loss / width)) > 0])
        if np.all(starts):
            return replace(self, loss=loss, log_p=log_p)
        group = np.cumsum(starts) - 1
        last = np.append(np.flatnonzero(starts)[1:], loss.size) - 1
        top = np.maximum.reduceat(log_p, np.flatnonzero(starts))
        total = np.bincount(group, weights=np.exp(log_p - top[group]))
        return replace(
            self, loss=loss[last], log_p=top + np.log(total), loss_error=self.loss_rounding + width
        )

    def followed_by(self, other: TableLoss) -> TableLoss:
        """The loss of a release of this and one of `other`: every sum of two losses.
        Meant for small tables."""
        either = self.infinite + other.infinite - self.infinite * other.infinite
        return TableLoss(
            np.add.outer(self.loss, other.loss).ravel(),
            np.add.outer(self.log_p, other.log_p).ravel(),
            min(either * (1.0 + 4.0 * ULP), 1.0),
            self.deviation + other.deviation,
            self.releases + other.releases,
            self.raised + other.raised + 8.0 * ULP * (self.infinite + other.infinite),
            self.loss_rounding + other.loss_rounding,
            self.mass_error + other.mass_error + ULP * (self.loss.size + other.loss.size),
        ).merged()


def table_from_masses(loss: NDArray[np.floating], p: Floats, infinite: float) -> TableLoss:
    """The table of these losses and probabilities, empty points left out."""
    keep = p > 0
    return TableLoss(np.asarray(loss[keep], dtype=np.float64), np.log(p[keep]), infinite)


def convex_below(x: Floats, y: Floats) -> tuple[NDArray[np.int64], Floats]:
    """The points of the greatest convex function below all (x, y), x rising, and its slopes."""
    held: list[int] = []
    for i in range(x.size):
        while len(held) > 1:
            a, b = held[-2], held[-1]
            if (y[b] - y[a]) * (x[i] - x[b]) < (y[i] - y[b]) * (x[b] - x[a]):
                break
            held.pop()
        held.append(i)
    points = np.array(held, dtype=np.int64)
    return points, np.diff(y[points]) / np.diff(x[points])


def table_above(epsilon: Floats, bound: Floats, allowance: float) -> TableLoss:
    """The losses whose profile is the largest convex function, in e^ε, that is nowhere above these
    bounds on δ at 0 = ε_0 < ε_1 < …: it is above the profile of any symmetric pair that has the
    bounds, and beyond the last ε what the bound is there counts as infinite loss. `allowance` is
    relative, for the masses, which are second differences of the bounds; of a loss that is above
    another nothing is known from below."""
    bound = np.minimum.accumulate(bound * (1.0 + allowance))
    corners, slopes = convex_below(np.exp(epsilon), bound)
    level, value = epsilon[corners], bound[corners]
    q = np.diff(np.append(slopes, 0.0))  # the Q-mass of every node but 0
    at_zero = 1.0 - float(value[0]) - 2.0 * float(np.sum(q))
    if not (at_zero >= 0.0 and np.all(q >= 0.0)):
        raise AccountingError("The bounds on the profile of a loss are those of none.")
    held = q > 0.0
    level, log_q = level[1:][held], np.log(q[held])
    with np.errstate(divide="ignore"):
        middle = np.log([at_zero])
    return TableLoss(
        np.concatenate([-level[::-1], [0.0], level]),
        np.concatenate([log_q[::-1], middle, log_q + level]),
        infinite=float(value[-1]),
        raised=2.0,
        mass_error=allowance,
    )
