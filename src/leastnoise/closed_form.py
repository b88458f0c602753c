"""The continuous Gaussian and Laplace laws, kept as closed forms so that the judge uses their exact profiles."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from leastnoise.errors import UnsupportedError, positive, real_array
from leastnoise.noise import Domain, Noise, probabilities
from leastnoise.shells import Floats


class _OnTheLine(Noise):
    """What closed forms on the real line share: one answer, no lattice."""

    @property
    def dimension(self) -> int:
        return 1

    @property
    def step(self) -> None:
        return None

    @property
    def domain(self) -> Domain:
        return "real"

    def pmf(self, k: ArrayLike) -> Floats:
        raise UnsupportedError(
            "A closed-form continuous law has no lattice points; use pdf, or build the law with a step."
        )


def _in_units(x: ArrayLike, unit: float) -> Floats:
    """x/unit; beyond the largest float it is infinite, which every formula here takes."""
    with np.errstate(over="ignore"):
        return np.asarray(real_array("x", x) / unit, dtype=np.float64)


@dataclass(frozen=True)
class GaussianNoise(_OnTheLine):
    """Normal law of standard deviation `sigma`."""

    sigma: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", positive("sigma", self.sigma))

    @property
    def variance(self) -> float:
        return self.sigma**2

    def pdf(self, x: ArrayLike) -> Floats:
        z = np.minimum(
            np.abs(_in_units(x, self.sigma)), 1e100
        )  # its square does not overflow, its density is 0
        return np.asarray(
            np.exp(-0.5 * z * z) / (self.sigma * math.sqrt(2.0 * math.pi)), dtype=np.float64
        )

    def ccdf(self, x: ArrayLike) -> Floats:
        return np.asarray(special.ndtr(-_in_units(x, self.sigma)), dtype=np.float64)

    def quantile(self, u: ArrayLike, *, upper: bool = False) -> Floats:
        z = self.sigma * special.ndtri(probabilities("u", u))
        return np.asarray(-z if upper else z, dtype=np.float64)


@dataclass(frozen=True)
class LaplaceNoise(_OnTheLine):
    """Laplace law of standard deviation `sigma`, that is of scale b = sigma/√2."""

    sigma: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", positive("sigma", self.sigma))

    @property
    def scale(self) -> float:
        """b in e^(−|x|/b)/(2b)."""
        return self.sigma / math.sqrt(2.0)

    @property
    def variance(self) -> float:
        return self.sigma**2

    def pdf(self, x: ArrayLike) -> Floats:
        z = np.abs(_in_units(x, self.scale))
        return np.asarray(np.exp(-z) / (2.0 * self.scale), dtype=np.float64)

    def ccdf(self, x: ArrayLike) -> Floats:
        z = _in_units(x, self.scale)
        far = 0.5 * np.exp(-np.abs(z))
        return np.asarray(np.where(z > 0, far, 1.0 - far), dtype=np.float64)

    def quantile(self, u: ArrayLike, *, upper: bool = False) -> Floats:
        u = probabilities("u", u)
        low = np.minimum(u, 1.0 - u)
        size = -self.scale * np.log(2.0 * low)
        positive_side = (u < 0.5) if upper else (u > 0.5)
        return np.asarray(np.where(positive_side, size, -size), dtype=np.float64)
