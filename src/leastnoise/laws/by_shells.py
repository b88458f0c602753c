"""The noise on one answer of a law that is stored by shells of a lattice: points on the integers;
on the real line each point is spread evenly over its bin, the cube of one step around it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from leastnoise.errors import InvalidParameterError, UnsupportedError, one_of, positive, real_array
from leastnoise.lattice.shells import Floats
from leastnoise.laws.base import Domain, Noise, probabilities
from leastnoise.sampling.weights import IntegerWeights, ShellLaw, integer_weights


class ShellNoise(ShellLaw, Noise):
    """Density, tails and quantiles of one answer, from the masses of one coordinate."""

    step: float
    domain: Domain
    dimension: int

    def _check_lattice(self) -> None:
        """Check and keep step and domain of a frozen law."""
        object.__setattr__(self, "domain", one_of("domain", self.domain, ("real", "integer")))
        object.__setattr__(self, "step", positive("step", self.step))
        if self.domain == "integer" and self.step != 1.0:
            raise InvalidParameterError("step", self.step, 'to be 1 for domain="integer"')

    def pdf(self, x: ArrayLike) -> Floats:
        if self.domain == "integer":
            raise UnsupportedError("A law on the integers has no density; use pmf.")
        k = np.floor(self._place(x) + 0.5)
        return np.asarray(self.coordinate_pmf(k) / self.step, dtype=np.float64)

    def ccdf(self, x: ArrayLike) -> Floats:
        x, place = real_array("x", x), self._place(x)
        k = np.floor(place + (0.5 if self.domain == "real" else 0.0))
        beyond, here = self.coordinate_beyond(k), self.coordinate_pmf(k)
        if self.domain == "real":
            part = (k + 0.5) - place  # share of bin k that lies beyond |x|
            far = beyond + here * part
            return np.asarray(np.where(x >= 0, far, self.total - far), dtype=np.float64)
        at_least = beyond + np.where(place == k, here, 0.0)
        return np.where(x >= 0, beyond, self.total - at_least)

    def _place(self, x: ArrayLike) -> Floats:
        """|x| in steps; what is beyond every bin, infinity included, is put at 1e300."""
        with np.errstate(over="ignore"):
            place = np.abs(real_array("x", x)) / self.step
        return np.asarray(np.minimum(place, 1e300), dtype=np.float64)

    def quantile(self, u: ArrayLike, *, upper: bool = False) -> Floats:
        u = probabilities("u", u)
        low = np.minimum(u, 1.0 - u)
        positive_side = (u < 0.5) if upper else (u > 0.5)
        # Positive side: smallest z with P(Z > z) ≤ low. Negative side, z = −y: largest
        # y with P(Z ≥ y) ≥ low. Their bins differ where P(Z > k) is low to the bit, and
        # by the length of a gap in the support.
        loosely, strictly = (
            self.coordinate_quantile(low, strictly=is_so) for is_so in (False, True)
        )
        k = np.where(positive_side, loosely, strictly)
        if self.domain == "integer":
            return np.where(positive_side, k, -k)
        beyond, here = self.coordinate_beyond(k), self.coordinate_pmf(k)
        part = np.clip((low - beyond) / np.where(here > 0, here, np.inf), 0.0, 1.0)
        size = self.step * np.maximum(k + 0.5 - part, 0.0)
        return np.where(positive_side, size, -size)


def check_digits(law: ShellNoise, whole: IntegerWeights) -> None:
    """Refuse a law, made of integer weights, whose masses do not hold them without error."""
    read = integer_weights(law)
    if read is None or read.in_bits(whole.bits) != whole.weights:
        raise ValueError("a weight has more digits than a floating-point number")
