"""Laplace noise on the real line, a closed form: the judge uses its exact profile."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from leastnoise.changes import BOX, Changes, farthest
from leastnoise.cost import Cost
from leastnoise.lattice.shells import Floats
from leastnoise.laws.base import probabilities
from leastnoise.laws.closed_form import ClosedFormNoise, at_farthest, in_units
from leastnoise.losses.base import Loss
from leastnoise.losses.laplace import laplace_loss


@dataclass(frozen=True)
class LaplaceNoise(ClosedFormNoise):
    """Laplace law of standard deviation `sigma`, that is of scale b = sigma/√2."""

    kind: ClassVar[str] = "laplace"
    exponent: ClassVar[float] = 1.0

    @property
    def scale(self) -> float:
        """b in e^(−|x|/b)/(2b)."""
        return self.sigma / math.sqrt(2.0)

    def pdf(self, x: ArrayLike) -> Floats:
        z = np.abs(in_units(x, self.scale))
        return np.asarray(np.exp(-z) / (2.0 * self.scale), dtype=np.float64)

    def ccdf(self, x: ArrayLike) -> Floats:
        z = in_units(x, self.scale)
        far = 0.5 * np.exp(-np.abs(z))
        return np.asarray(np.where(z > 0, far, 1.0 - far), dtype=np.float64)

    def quantile(self, u: ArrayLike, *, upper: bool = False) -> Floats:
        u = probabilities("u", u)
        low = np.minimum(u, 1.0 - u)
        size = -self.scale * np.log(2.0 * low)
        positive_side = (u < 0.5) if upper else (u > 0.5)
        return np.asarray(np.where(positive_side, size, -size), dtype=np.float64)

    def expected_cost(self, cost: Cost) -> float:
        q = cost.exponent
        if q is None or q == 2.0:
            return super().expected_cost(cost)
        return float(self.scale**q * math.gamma(q + 1.0))

    def loss(self, sensitivity: float, changes: Changes = BOX) -> Loss:
        return at_farthest(laplace_loss(self.scale, farthest(sensitivity, changes)), changes)
