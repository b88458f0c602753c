"""What every noise law offers. `LatticeNoise` is the designed family; `GaussianNoise` and `LaplaceNoise` are closed forms."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from os import PathLike
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leastnoise.errors import InvalidParameterError, open_unit, real_array
from leastnoise.shells import Floats

Domain = Literal["real", "integer"]


class Noise(ABC):
    """A law of additive noise, symmetric about zero.

    `pdf`, `cdf`, `ccdf`, `quantile` and `interval` speak of the noise on ONE answer, in the units of the answer. For a joint law
    on several answers (`dimension` > 1) that is the law of one coordinate; `pmf` is always the probability of one lattice point.

    Guarantees: `ccdf` and `quantile(u, upper=True)` keep full relative accuracy in the far tail (they are never 1 − cdf).
    """

    @property
    @abstractmethod
    def dimension(self) -> int:
        """How many answers one draw serves."""

    @property
    @abstractmethod
    def step(self) -> float | None:
        """Pitch of the lattice, in the units of the answer; None for a closed form that has no lattice."""

    @property
    @abstractmethod
    def domain(self) -> Domain:
        """`real`: a density, constant on each bin of a lattice law. `integer`: the noise is an integer."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """Variance of the noise on one answer."""

    @abstractmethod
    def pmf(self, k: ArrayLike) -> Floats:
        """Probability of one lattice point at radius |k|."""

    @abstractmethod
    def pdf(self, x: ArrayLike) -> Floats:
        """Density at x of the noise on one answer (real domain)."""

    @abstractmethod
    def ccdf(self, x: ArrayLike) -> Floats:
        """P(Z > x) for one answer."""

    @abstractmethod
    def quantile(self, u: ArrayLike, *, upper: bool = False) -> Floats:
        """Smallest z with P(Z ≤ z) ≥ u; with `upper`, smallest z with P(Z > z) ≤ u, exact for tiny u."""

    @property
    def std(self) -> float:
        """Standard deviation of the noise on one answer."""
        return math.sqrt(self.variance)

    def cdf(self, x: ArrayLike) -> Floats:
        """P(Z ≤ x) for one answer; by symmetry P(Z ≥ −x), so it is exact in the lower tail too."""
        x = real_array("x", x)
        if self.domain == "integer":
            return self.ccdf(-np.floor(x) - 1.0)
        return self.ccdf(-x)

    def interval(self, confidence: float) -> float:
        """Half-width w with P(|Z| ≤ w) ≥ confidence: the ± of one answer, from noise alone."""
        level = open_unit("confidence", confidence)
        return max(0.0, float(self.quantile(0.5 * (1.0 - level), upper=True)))

    def sample(self, size: int | tuple[int, ...] | None = None) -> NDArray[Any]:
        """Independent draws from the operating system's entropy: integers, or floats on the fine public lattice.

        Joint laws give the answers of one draw along a last axis. To look at, not to add to data: the noise is on a lattice, and an
        answer that is not shows in what the sum leaves over. To add noise use `release`.
        """
        from leastnoise.sampling import draw

        drawn = draw(self, size)
        return drawn.integers if self.domain == "integer" else drawn.floats()

    def release(self, answers: ArrayLike, *, decimals: bool = False) -> NDArray[Any]:
        """The answers with noise, added as exact integers on the public lattice; floats (or Decimals) only at the end.

        Every draw counts as one release: n answers with a law for one answer are n compositions. Needs a law with integer weights:
        see `leastnoise.exact`.

        The type never depends on the answers: int64 on the integers (what is beyond is put at its end), float64 on the real line.
        """
        from leastnoise.sampling import release

        released = release(self, answers)
        if decimals:
            return released.decimals()
        return released.words() if self.domain == "integer" else released.floats()

    def as_scipy(self) -> Any:
        """The noise on one answer as a frozen scipy distribution: for analysis, not for releases."""
        from leastnoise.interop.scipy_stats import as_scipy

        return as_scipy(self)

    def _repr_html_(self) -> str:
        from leastnoise.interop.notebook import noise_html

        return noise_html(self)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the law as versioned JSON; `Noise.load` gives it back bit for bit."""
        from leastnoise.storage import save

        save(self, path)

    @staticmethod
    def load(path: str | PathLike[str]) -> Noise:
        """Read a law written by `save`; a file that cannot be trusted is an InvalidFileError."""
        from leastnoise.storage import load

        return load(path)


def probabilities(name: str, u: ArrayLike) -> Floats:
    """`u` as an array of numbers strictly between 0 and 1."""
    array = real_array(name, u)
    if not np.all((array > 0.0) & (array < 1.0)):
        raise InvalidParameterError(name, u, "in (0, 1)")
    return array
