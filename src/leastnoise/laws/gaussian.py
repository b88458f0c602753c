"""Normal noise on the real line, a closed form: the judge uses its exact profile."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from leastnoise.changes import BOX, Changes, farthest
from leastnoise.cost import Cost
from leastnoise.lattice.shells import Floats
from leastnoise.laws.base import probabilities
from leastnoise.laws.closed_form import ClosedFormNoise, at_farthest, in_units
from leastnoise.losses.base import Loss
from leastnoise.losses.gaussian import gaussian_loss


@dataclass(frozen=True)
class GaussianNoise(ClosedFormNoise):
    """Normal law of standard deviation `sigma`."""

    kind: ClassVar[str] = "gaussian"
    exponent: ClassVar[float] = 2.0

    def pdf(self, x: ArrayLike) -> Floats:
        # at 1e100 its square does not overflow, and its density is 0
        z = np.minimum(np.abs(in_units(x, self.sigma)), 1e100)
        height = self.sigma * math.sqrt(2.0 * math.pi)
        return np.asarray(np.exp(-0.5 * z * z) / height, dtype=np.float64)

    def ccdf(self, x: ArrayLike) -> Floats:
        return np.asarray(special.ndtr(-in_units(x, self.sigma)), dtype=np.float64)

    def quantile(self, u: ArrayLike, *, upper: bool = False) -> Floats:
        z = self.sigma * special.ndtri(probabilities("u", u))
        return np.asarray(-z if upper else z, dtype=np.float64)

    def expected_cost(self, cost: Cost) -> float:
        q = cost.exponent
        if q is None or q == 2.0:
            return super().expected_cost(cost)
        moment = self.sigma**q * 2.0 ** (0.5 * q) * math.gamma(0.5 * (q + 1.0))
        return float(moment / math.sqrt(math.pi))

    def loss(self, sensitivity: float, changes: Changes = BOX) -> Loss:
        return at_farthest(gaussian_loss(self.sigma, farthest(sensitivity, changes)), changes)
