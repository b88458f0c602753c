"""One release on a grid of losses: Connect-the-Dots, tilted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from leastnoise.accountant.saddle import Saddle
from leastnoise.errors import AccountingError
from leastnoise.lattice.shells import Floats
from leastnoise.losses.base import Loss
from leastnoise.losses.table import TableLoss

# of a pitch: losses this close to a grid point are moved onto it, which counts as
# rounding of the loss
SNAP = 1e-9
# the log of the largest number by which a tilt may weigh neighbouring points of the
# grid differently
_STEEPEST_STEP = 700.0


@dataclass(frozen=True, eq=False)
class Grid:
    """One release on the grid: point indices and the tilted probabilities there, which
    sum to 1; log_scale = K(θ)."""

    index: NDArray[np.int64]
    tilted: Floats
    log_scale: float
    pitch: float

    @staticmethod
    def of(table: TableLoss, pitch: float, theta: float) -> Grid:
        """Connect-the-Dots: a loss ℓ between grid points gives (1 − e^(−(ℓ−lower)))/(1
        − e^(−h)) of its mass to the upper one."""
        if not table.spread / pitch < 1e15:
            raise AccountingError(
                f"A loss of {table.spread:.3g} cannot be put on a grid of pitch {pitch:.3g}."
            )
        if theta * pitch > _STEEPEST_STEP:
            raise AccountingError(
                f"A tilt of {theta:.3g} cannot be put on a grid of pitch {pitch:.3g}."
            )
        lower = np.floor(table.loss / pitch)
        part = np.clip(table.loss - lower * pitch, 0.0, pitch)
        over = part > (1.0 - SNAP) * pitch
        lower, part = lower + over, np.where(over | (part < SNAP * pitch), 0.0, part)
        whole = -math.expm1(-pitch)
        up = -np.expm1(-part) / whole
        down = np.exp(-part) * -np.expm1(part - pitch) / whole
        tilt = table.log_p + theta * pitch * lower
        top = float(tilt.max()) if np.isfinite(tilt.max()) else 0.0
        base = np.exp(tilt - top)
        index = np.concatenate([lower, lower + 1.0]).astype(np.int64)
        both = np.concatenate([base * down, base * up * math.exp(theta * pitch)])
        points, weights = _added_up(index, both)
        total = float(weights.sum())
        if not total > 0:
            raise AccountingError(
                "A release has no finite privacy loss: the shifted law shares no point with the "
                "law."
            )
        weights = weights / total
        held = weights > 0
        return Grid(points[held], weights[held], top + math.log(total), pitch)

    def log_moment(self, tau: float) -> float:
        """log Ẽ[e^(τL)]."""
        exponent = self._log_tilted + tau * self.pitch * self.index
        top = float(exponent.max())
        return top + math.log(float(np.sum(np.exp(exponent - top))))

    def folded(self, size: int) -> Floats:
        """The tilted probabilities on a cyclic window of `size` points."""
        folded = np.bincount(self.index % size, weights=self.tilted, minlength=size)
        return folded.astype(np.float64, copy=False)

    @cached_property
    def _log_tilted(self) -> Floats:
        return np.log(self.tilted)


def _added_up(index: NDArray[np.int64], weights: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Distinct indices and the sums of their weights; by sorting where the indices are
    few and far apart."""
    low = int(index.min())
    span = int(index.max()) - low + 1
    if span <= 8 * index.size:
        sums = np.bincount(index - low, weights=weights)
        return np.arange(low, low + span), np.asarray(sums, dtype=np.float64)
    order = np.argsort(index, kind="stable")
    index, weights = index[order], weights[order]
    starts = np.flatnonzero(np.concatenate([[True], np.diff(index) > 0]))
    return index[starts], np.add.reduceat(weights, starts)


def discretised(loss: Loss, saddle: Saddle, pitch: float, most_points: int) -> TableLoss:
    """The loss as a table; unbounded losses are cut where the rest matters less than 1e-14 of δ."""
    if loss.listed is not None:
        return loss.listed
    low, high = loss.reach(saddle.theta)
    if (high - low) / pitch > most_points:
        raise AccountingError(
            f"One release needs more than {most_points} grid points of pitch {pitch:.3g}."
        )
    return loss.table(pitch, low, high)
