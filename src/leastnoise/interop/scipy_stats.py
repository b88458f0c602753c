"""A law as a frozen scipy distribution: `noise.as_scipy()`.

For analysis only, NOT for releases: `rvs` draws with numpy's generator, which is not secure, and on floating-point numbers, whose
last digits can give private values away. To release answers use `leastnoise.exact(...)` and `Noise.release`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from leastnoise.ball import BallNoise
from leastnoise.noise import Noise

_TINY = float(np.finfo(np.float64).tiny)


def as_scipy(noise: Noise) -> Any:
    """The noise on one answer as a frozen distribution with pdf or pmf, cdf, sf, ppf, isf, interval, mean, std, rvs.

    A joint law gives the law of one of its answers.

    >>> from leastnoise import discrete_laplace, gaussian
    >>> round(float(as_scipy(gaussian(2.0)).interval(0.95)[1]), 3)
    3.92
    >>> round(float(as_scipy(discrete_laplace(3.0)).std()), 6)
    3.0
    """
    name = "leastnoise law, for analysis and not for releases"
    return _OnIntegers(noise, name)() if noise.domain == "integer" else _OnTheLine(noise, name)()


class _OfNoise:
    """What both kinds of distribution ask of the law."""

    _noise: Noise
    name: str

    def _updated_ctor_param(self) -> dict[str, Any]:
        return {"noise": self._noise, "name": self.name}

    def _cdf(self, x: ArrayLike) -> NDArray[Any]:
        return self._noise.cdf(x)

    def _sf(self, x: ArrayLike) -> NDArray[Any]:
        return self._noise.ccdf(x)

    def _ppf(self, q: ArrayLike) -> NDArray[Any]:
        return self._noise.quantile(q)

    def _isf(self, q: ArrayLike) -> NDArray[Any]:
        return self._noise.quantile(q, upper=True)

    def _stats(self) -> tuple[float, float, float, None]:
        return 0.0, self._noise.variance, 0.0, None

    def _rvs(self, size: Any = None, random_state: Any = None) -> NDArray[Any]:
        return _simulated(self._noise, size, random_state)


class _OnTheLine(_OfNoise, stats.rv_continuous):
    """A law with a density."""

    def __init__(self, noise: Noise, name: str) -> None:
        super().__init__(name=name)
        self._noise = noise

    def _pdf(self, x: ArrayLike) -> NDArray[Any]:
        return self._noise.pdf(x)


class _OnIntegers(_OfNoise, stats.rv_discrete):
    """A law on the integers."""

    # rv_discrete's own __new__ would look for a table of values.
    def __new__(cls, *_: Any, **__: Any) -> _OnIntegers:
        return object.__new__(cls)

    def __init__(self, noise: Noise, name: str) -> None:
        super().__init__(a=-np.inf, b=np.inf, name=name)
        self._noise = noise

    def _pmf(self, k: ArrayLike) -> NDArray[Any]:
        # Of one answer: for a joint law that is not the probability of a lattice point.
        k = np.abs(np.asarray(k, dtype=np.float64))
        return np.asarray(
            self._noise.pmf(k)
            if self._noise.dimension == 1
            else self._noise.ccdf(k - 1.0) - self._noise.ccdf(k)
        )


def _simulated(noise: Noise, size: Any, generator: Any) -> NDArray[Any]:
    if isinstance(
        noise, BallNoise
    ):  # one answer is normal times the root of a chi-square; its quantiles take a millisecond each
        radius = np.sqrt(generator.chisquare(noise.dimension + 1, size=size))
        drawn = np.asarray(noise.scale * radius * generator.standard_normal(size=size))
        return np.floor(drawn + 0.5) if noise.domain == "integer" else drawn
    return noise.quantile(np.maximum(generator.uniform(size=size), _TINY))
