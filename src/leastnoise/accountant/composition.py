"""A sequence of releases, and what is known of its privacy loss without composing anything."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from leastnoise.accountant.saddle import GridSettings, Parts
from leastnoise.losses.base import Loss
from leastnoise.losses.gaussian import GaussianLoss
from leastnoise.losses.rounding import SMALLEST, ULP
from leastnoise.losses.table import TableLoss

DEFAULT = GridSettings()
_MOST_RELEASES = 64  # of which every sum of losses is listed,
_MOST_SUMS = 20_000  # and how many sums
_NEAR = 1e-3  # of the accuracy: losses so near to each other are listed as one


@dataclass(frozen=True, eq=False)
class Composition:
    """Losses, how many releases have each, and how finely to compose them."""

    parts: tuple[tuple[Loss, int], ...]
    settings: GridSettings = DEFAULT

    @cached_property
    def exact(self) -> Loss | None:
        """One loss that stands for the whole sequence, where that can be had without a grid."""
        if len(self.parts) == 1 and self.parts[0][1] == 1:
            return self.parts[0][0]
        listed = [loss.listed for loss, _ in self.parts]
        if all(table is not None and table.spread == 0.0 for table in listed):
            # Only unbounded losses: the rest reveals nothing, however often.
            raised = self.infinite - self.certainly_infinite
            return TableLoss(np.zeros(1), np.zeros(1), self.infinite, raised=raised)
        return all_sums(self.parts, self.settings.accuracy)

    @cached_property
    def infinite(self) -> float:
        """Probability that some release has unbounded loss, rounded up."""
        if any(loss.infinite >= 1.0 for loss, _ in self.parts):
            return 1.0
        exact = -math.expm1(sum(count * math.log1p(-loss.infinite) for loss, count in self.parts))
        return min(exact * (1.0 + 1e-12) + (SMALLEST if exact > 0.0 else 0.0), 1.0)

    @cached_property
    def certainly_infinite(self) -> float:
        """Lower bound on the probability of unbounded loss."""
        if any(loss.surely_infinite >= 1.0 for loss, _ in self.parts):
            return 1.0
        finite = sum(count * math.log1p(-loss.surely_infinite) for loss, count in self.parts)
        return max(0.0, -math.expm1(finite) * (1.0 - 1e-9))

    @cached_property
    def highest(self) -> float:
        """The largest finite total loss, rounded up."""
        total = sum(count * max(loss.largest, 0.0) for loss, count in self.parts)
        error = sum(count * loss.loss_rounding for loss, count in self.parts)
        return total * (1.0 + 1e-12) + error

    @property
    def at_most_at_zero(self) -> float:
        """A crude upper bound on δ(0) of the finite losses: the sum over the releases."""
        return sum(count * (loss.profile_at_zero() - loss.infinite) for loss, count in self.parts)

    def without_top(self, delta: float) -> Composition:
        """The same releases, their highest losses counted as infinite as far as that
        costs next to nothing of δ."""
        # A share of what δ leaves beside the mass of infinite loss: a share of δ itself
        # could be more than that.
        releases = sum(count for _, count in self.parts)
        spare = self.settings.accuracy * max(delta - self.infinite, 0.0) / releases
        trimmed = tuple((loss.without_top(spare), count) for loss, count in self.parts)
        if all(a is b for (a, _), (b, _) in zip(trimmed, self.parts, strict=True)):
            return self
        return replace(self, parts=trimmed)


def joined(parts: tuple[tuple[Loss, int], ...]) -> tuple[tuple[Loss, int], ...]:
    """Equal losses counted together; all Gaussian losses as the one they compose to, μ²
    = Σ n μ²."""
    counts: dict[Loss, int] = {}
    squares, is_attained = [], True
    for loss, count in parts:
        if loss.normal_variance is not None:
            squares.append(count * loss.normal_variance)
            is_attained = is_attained and loss.raised == 0.0
        else:
            counts[loss] = counts.get(loss, 0) + count
    others = tuple(counts.items())
    if not squares:
        return others
    mu = math.sqrt(math.fsum(squares)) * (1.0 + 4 * ULP)
    return *others, (GaussianLoss(mu, is_attained=is_attained), 1)


def all_sums(parts: Parts, accuracy: float = DEFAULT.accuracy) -> TableLoss | None:
    """The composed loss as a table of every sum of losses, where there are few enough, and be it
    that those a thousandth of the accuracy apart are taken together; None otherwise.

    Integer weights move the few losses of a staircase apart by 1e-10. A grid splits them: its ε for
    three releases of ten answers is 2e-5 of itself above that of the staircase."""
    if sum(count for _, count in parts) > _MOST_RELEASES:
        return None
    tables = []
    for loss, count in parts:
        if loss.listed is None:
            return None
        tables += [loss.listed] * count
    found = _sums(tables)
    if found is not None:
        return found
    near = {id(table): table.merged(_NEAR * accuracy) for table in tables}
    if all(near[id(table)].loss.size == table.loss.size for table in tables):
        return None
    return _sums([near[id(table)] for table in tables])


def _sums(tables: Sequence[TableLoss]) -> TableLoss | None:
    if _surely_many_sums(tables):
        return None
    total = TableLoss(np.zeros(1), np.zeros(1), releases=0)
    for table in tables:
        if total.loss.size * table.loss.size > _MOST_SUMS:
            return None
        total = total.followed_by(table)
    return total


def _surely_many_sums(tables: Sequence[TableLoss]) -> bool:
    """Whether the first two releases alone have too many sums of losses, from a sample
    of the losses: merging equal ones, as a designed law's are thousands, takes as long
    as the rest of the judge's work."""
    if len(tables) < 2:
        return False
    first, second = tables[0].loss, tables[1].loss
    if first.size * second.size <= _MOST_SUMS:
        return False
    sample = first[:: max(1, first.size // 64)]
    return np.unique(np.round(sample, 9)).size * second.size > _MOST_SUMS
