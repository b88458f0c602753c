"""A law as a frozen scipy distribution: `noise.as_scipy()`.

For analysis only, NOT for releases: `rvs` draws with numpy's generator, which is not
secure, and on floating-point numbers, whose last digits can give private values away.
To release answers use `leastnoise.exact(...)` and `Noise.release`.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from leastnoise.lattice.shells import Floats


class OneAnswer(Protocol):
    """What every law says of one answer."""

    @property
    def dimension(self) -> int: ...
    @property
    def domain(self) -> str: ...
    @property
    def variance(self) -> float: ...
    def pmf(self, k: ArrayLike) -> Floats: ...
    def pdf(self, x: ArrayLike) -> Floats: ...
    def cdf(self, x: ArrayLike) -> Floats: ...
    def ccdf(self, x: ArrayLike) -> Floats: ...
    def quantile(self, u: ArrayLike, *, upper: bool = False) -> Floats: ...
    def insecure_draws(self, size: Any, generator: Any) -> Floats: ...


def as_scipy(noise: OneAnswer) -> Any:
    """The noise on one answer as a frozen distribution with pdf or pmf, cdf, sf, ppf,
    isf, interval, mean, std, rvs.

    Args:
        noise: The law; of a joint law, that of one of its answers is taken.

    Returns:
        A frozen scipy.stats distribution, discrete for a law on the integers.

    Example:
        >>> from leastnoise import discrete_laplace, gaussian
        >>> round(float(as_scipy(gaussian(2.0)).interval(0.95)[1]), 3)
        3.92
        >>> round(float(as_scipy(discrete_laplace(3.0)).std()), 6)
        3.0
    """
    name = "leastnoise law, for analysis and not for releases"
    return _Discrete(noise, name)() if noise.domain == "integer" else _Continuous(noise, name)()


class _AsksTheLaw:
    """What both kinds of distribution ask of the law."""

    _noise: OneAnswer
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
        return self._noise.insecure_draws(size, random_state)


class _Continuous(_AsksTheLaw, stats.rv_continuous):
    """A law with a density."""

    def __init__(self, noise: OneAnswer, name: str) -> None:
        super().__init__(name=name)
        self._noise = noise

    def _pdf(self, x: ArrayLike) -> NDArray[Any]:
        return self._noise.pdf(x)


class _Discrete(_AsksTheLaw, stats.rv_discrete):
    """A law on the integers."""

    # rv_discrete's own __new__ would look for a table of values.
    def __new__(cls, *_: Any, **__: Any) -> _Discrete:
        return object.__new__(cls)

    def __init__(self, noise: OneAnswer, name: str) -> None:
        super().__init__(a=-np.inf, b=np.inf, name=name)
        self._noise = noise

    def _pmf(self, k: ArrayLike) -> NDArray[Any]:
        # Of one answer: for a joint law that is not the probability of a lattice point.
        k = np.abs(np.asarray(k, dtype=np.float64))
        if self._noise.dimension == 1:
            return self._noise.pmf(k)
        return np.asarray(self._noise.ccdf(k - 1.0) - self._noise.ccdf(k))
