"""Compositions of the sphere law, from the density of its loss: a double integral for two releases,
Fourier's inversion for more.

The density of u, ℓ = D cos u, is that of `oracles.Sphere`, with its one constant enclosed to 90
digits; here it is used in double precision, in which sums of positive terms keep 13 digits. The
results carry a radius of 1e-10 of themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from flint import arb
from numpy.typing import NDArray

from benchmarks.audit.oracles import Number, Sphere, exact
from benchmarks.audit.tally import BeyondTheOracleError

Floats = NDArray[np.float64]

_TRUST = 1e-10
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(160)
_MANY, _MANY_WEIGHTS = np.polynomial.legendre.leggauss(600)
_RESOLVED = 400.0  # 600 nodes resolve e^(isℓ) up to this sD
_FAR_BELOW = 8.0  # e^8 times the rounding of the integral is still below 1e-11
_SMALL = 1e-13  # share of the integral that lies beyond the last frequency


def composed(law: Sphere, releases: int) -> Callable[[Number], arb] | None:
    """δ(ε) of n releases, or None where the characteristic function falls too slowly for it."""
    if releases == 1:
        return law.delta
    one = _Density(law.dimension, float(law.distance), float(law.ratio), float(law.total))
    if releases == 2:
        return lambda epsilon: _trusted(one.twice(float(exact(epsilon))))
    if (releases * (law.dimension - 1) / 2 + 2) * math.log(_RESOLVED) < -math.log(_SMALL * 1e-6):
        return None
    return lambda epsilon: _trusted(one.many(releases, float(exact(epsilon))))


def _trusted(value: float) -> arb:
    return arb(value, _TRUST * value)


class _Density:
    def __init__(self, dimension: int, distance: float, ratio: float, total: float) -> None:
        self.d, self.distance, self.ratio, self.total = dimension, distance, ratio, total
        self.u = 0.5 * math.pi * (1.0 + _MANY)
        self.mass = 0.5 * math.pi * _MANY_WEIGHTS * self.at(self.u)
        self.loss = distance * np.cos(self.u)
        with np.errstate(divide="ignore"):
            self.log_mass = np.log(self.mass)

    def at(self, u: Floats) -> Floats:
        cosine = np.cos(u)
        shape = np.sin(u) ** (self.d - 2) * (self.ratio - (0.5 * self.distance * cosine) ** 2)
        return np.asarray(
            shape * np.exp(0.5 * self.distance * (cosine - 1.0)) / self.total, dtype=np.float64
        )

    def once(self, epsilon: Floats) -> Floats:
        """δ of one release at each ε."""
        size = np.abs(epsilon)
        last = np.arccos(np.minimum(size / self.distance, 1.0))
        u = 0.5 * last[:, None] * (1.0 + _NODES)
        gap = self.distance * np.cos(u) - size[:, None]
        value = np.sum(
            0.5 * last[:, None] * _WEIGHTS * self.at(u) * -np.expm1(-np.maximum(gap, 0.0)), axis=1
        )
        return np.where(epsilon >= 0.0, value, 1.0 - np.exp(-size) * (1.0 - value))

    def twice(self, epsilon: float) -> float:
        """∫ f(ℓ) δ(ε − ℓ) dℓ; u = last·(1 − (1−t)²) makes powers of ½ at the end whole ones."""
        if epsilon >= 2.0 * self.distance:
            return 0.0
        last = math.acos(max((epsilon - self.distance) / self.distance, -1.0))
        t = 0.5 * (1.0 + _NODES)
        u = last * (1.0 - (1.0 - t) ** 2)
        weight = 0.5 * _WEIGHTS * last * 2.0 * (1.0 - t)
        return float(np.sum(weight * self.at(u) * self.once(epsilon - self.distance * np.cos(u))))

    def many(self, n: int, epsilon: float) -> float:
        """e^(nK(θ)−θε) (1/2π) ∫ (M(θ+is)/M(θ))^n e^(−isε)/((θ+is)(θ+1+is)) ds by the trapezoid rule
        at the saddle point.

        With steps of 2π/W it is the sum of δ(ε + kW) e^(θkW): W so large that nothing lies above,
        and 1e-17 of δ below.
        """
        if epsilon >= n * self.distance:
            return 0.0
        theta = self._saddle(n, epsilon)
        tilted = self.log_mass + theta * self.loss
        top = float(tilted.max())
        weight = np.exp(tilted - top)
        k = top + math.log(float(weight.sum()))
        weight /= weight.sum()
        chernoff = n * k - theta * epsilon
        if chernoff > _FAR_BELOW:
            raise BeyondTheOracleError(
                "The sum lies so far above epsilon that the integral cancels."
            )
        width = max(n * self.distance - epsilon, (45.0 + max(-chernoff, 0.0) + 10.0) / theta)
        step = 2.0 * math.pi / width
        reach = _RESOLVED / self.distance
        total, start, chunk = 0.0, 0, 512
        while True:
            s = step * np.arange(start, start + chunk)
            moment = np.exp(1j * np.outer(s, self.loss)) @ weight
            terms = np.real(
                moment**n * np.exp(-1j * s * epsilon) / ((theta + 1j * s) * (theta + 1.0 + 1j * s))
            )
            if start == 0:
                terms[0] *= 0.5
            total += float(np.sum(terms))
            start += chunk
            largest = float(np.abs(moment[-1])) ** n / float(s[-1]) if s[-1] > 0 else 1.0
            if largest < _SMALL * 1e-2 * abs(total) * step:
                break
            if s[-1] > reach:
                raise BeyondTheOracleError("The characteristic function falls too slowly.")
        return math.exp(chernoff) * total * step / math.pi

    def _saddle(self, n: int, epsilon: float) -> float:
        def mean(theta: float) -> tuple[float, float]:
            exponent = self.log_mass + theta * self.loss
            weight = np.exp(exponent - exponent.max())
            weight /= weight.sum()
            centre = float(weight @ self.loss)
            return n * centre, n * float(weight @ (self.loss - centre) ** 2)

        low = 0.5 / math.sqrt(mean(0.0)[1])
        if mean(low)[0] >= epsilon:
            return low
        high = 2.0 * low
        while mean(high)[0] < epsilon and high < 1e6 * low:
            high *= 2.0
        for _ in range(40):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if mean(middle)[0] < epsilon else (low, middle)
        return low
