"""The privacy loss of Laplace noise, in closed form."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from leastnoise.lattice.shells import Floats
from leastnoise.losses.base import ClosedForm, in_range
from leastnoise.losses.divergence import DIVERGENCE_ROUNDING
from leastnoise.losses.rounding import LOSS_ROUNDING, PROFILE_ROUNDING, ULP
from leastnoise.losses.table import TableLoss, table_from_masses

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)


@dataclass(frozen=True)
class LaplaceLoss(ClosedForm):
    """Laplace noise with λ = sensitivity/scale: L = λ with probability ½, −λ with
    ½e^(−λ), and density ¼e^((ℓ−λ)/2) between."""

    ratio: float

    @property
    def largest(self) -> float:
        return self.ratio

    def profile(self, epsilon: ArrayLike) -> Floats:
        epsilon = np.asarray(epsilon, dtype=np.float64)
        inside = -np.expm1(np.minimum(0.5 * (epsilon - self.ratio * (1.0 + LOSS_ROUNDING)), 0.0))
        below = -np.expm1(np.minimum(epsilon, 0.0))
        profile = np.where(epsilon >= -self.ratio, inside, below)
        return np.asarray(profile * (1.0 + PROFILE_ROUNDING), dtype=np.float64)

    def _attained_profile(self, epsilon: ArrayLike) -> Floats:
        epsilon = np.asarray(epsilon, dtype=np.float64)
        below_top = np.minimum(epsilon - self.ratio * (1.0 - LOSS_ROUNDING), 0.0)
        inside = -np.expm1(0.5 * below_top)
        below = -np.expm1(np.minimum(epsilon, 0.0))
        exact = np.where(epsilon >= -self.ratio, inside, below)
        return np.asarray(exact * (1.0 - PROFILE_ROUNDING), dtype=np.float64)

    def share_below_largest(self, theta: float) -> float:
        return self.nodes.share_below_largest(theta)

    def cumulants(self, theta: float) -> tuple[float, float, float]:
        return self.nodes.cumulants(theta)

    @cached_property
    def nodes(self) -> TableLoss:
        """The two atoms and 64 Gauss–Legendre nodes of the density: for moments (1e-14
        while θλ < 40), not for profiles."""
        middle = self.ratio * _NODES
        density = np.log(0.25 * self.ratio * _WEIGHTS) + 0.5 * (middle - self.ratio)
        atoms = math.log(0.5) + np.array([0.0, -self.ratio])
        return TableLoss(
            np.concatenate([[self.ratio, -self.ratio], middle]), np.concatenate([atoms, density])
        )

    def divergence(self, order: float) -> float:
        return _divergence(self, order) * (1.0 + DIVERGENCE_ROUNDING)

    def table(self, pitch: float, low: float, high: float) -> TableLoss:
        """Connect-the-Dots on λ/n-multiples, n chosen so that the cells are at most
        `pitch` wide and ±λ are grid points."""
        cells = 2 * max(1, math.ceil(self.ratio / pitch))
        width = 2.0 * self.ratio / cells
        lower = -self.ratio + width * np.arange(cells)
        density = np.exp(0.5 * (lower - self.ratio))
        p = np.zeros(cells + 1)
        p[:-1] += 0.5 * density * math.tanh(0.25 * width)
        p[1:] += 2.0 * density * math.sinh(0.25 * width) ** 2 / -math.expm1(-width)
        p[0] += 0.5 * math.exp(-self.ratio)
        p[-1] += 0.5
        loss = np.append(lower, self.ratio)
        return table_from_masses(loss, p, 0.0)


def _divergence(loss: LaplaceLoss, order: float) -> float:
    """Mironov 2017, Table II, with λ = sensitivity/scale."""
    ratio, above = loss.ratio, order - 1.0
    if math.isinf(order):
        return ratio
    if order * ratio < 20.0:
        # The closed form cancels here; the sum over the loss itself does not.
        return loss.nodes.divergence(order)
    if above * ratio < 600.0:
        # g − 1 = (α(e^((α−1)λ) − 1) − (α−1)(1 − e^(−αλ)))/(2α−1), in which the first
        # term is 20 times the second and more.
        slope = math.expm1(above * ratio) / above if above > 0.0 else ratio
        excess = (order * slope + math.expm1(-order * ratio)) / (2.0 * order - 1.0)
        return math.log1p(above * excess) / above if above > 0.0 else excess
    first = math.log(order / (2.0 * order - 1.0)) + above * ratio
    second = math.log(above / (2.0 * order - 1.0)) - order * ratio
    return float(np.logaddexp(first, second)) / above


def laplace_loss(scale: float, sensitivity: float) -> LaplaceLoss:
    """The loss when one person can move the answer by up to `sensitivity`."""
    return LaplaceLoss(in_range(sensitivity / scale) * (1.0 + 4.0 * ULP))
