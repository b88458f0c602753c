"""What noise costs: a symmetric function c(z) ≥ 0 of the noise on one answer, averaged over a bin (Prop. 3.5).

For a continuous law the average over bin k is A_k = (1/Δ)∫ c over the bin; for a discrete law A_k = c(k).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from leastnoise import shells
from leastnoise.errors import InvalidParameterError, non_negative, positive
from leastnoise.shells import Floats

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
# Places in [0, 1] and their weights: 8 Gauss–Legendre points in each panel, whose widths double from 2^−20 on.
_PANELS = np.concatenate([[0.0], 2.0 ** np.arange(-20.0, 1.0)])
_PLACES = (
    _PANELS[:-1, None]
    + np.diff(_PANELS)[:, None] * 0.5 * (1.0 + np.polynomial.legendre.leggauss(8)[0])
).ravel()
_SHARES = (np.diff(_PANELS)[:, None] * 0.5 * np.polynomial.legendre.leggauss(8)[1]).ravel()
_SMALLEST, _WIDEST = 1e-15, 1e15  # radii


@dataclass(frozen=True)
class Cost:
    """A symmetric cost. `growth` bounds it: c(z)/z^growth does not increase for large z, so its tail sums have a proven end."""

    name: str
    function: Callable[[Floats], Floats]
    growth: float
    exponent: float | None = None

    def __post_init__(self) -> None:
        non_negative("growth", self.growth)
        if self.exponent is not None:
            positive("exponent", self.exponent)

    def __repr__(self) -> str:
        return f"Cost({self.name!r})"

    def of(self, size: float) -> float:
        """c(size): the budget that a `sigma` of this size stands for."""
        return float(self._checked(np.asarray(size, dtype=np.float64)))

    def average(self, k: ArrayLike, step: float, domain: str) -> Floats:
        """A_k for the bins (or points) k = 0, 1, …"""
        k = np.asarray(k, dtype=np.float64)
        if domain == "integer":
            return self._checked(k)
        if self.exponent is not None:
            q = self.exponent
            if q == 2.0:
                return np.asarray(step**2 * (k * k + 1.0 / 12.0), dtype=np.float64)
            # ∫ over the bin: lower^(q+1)·((upper/lower)^(q+1) − 1), as expm1 because the plain difference loses a factor k of
            # accuracy; bin 0 is two half-bins.
            lower = np.abs(k - 0.5)
            bins = lower ** (q + 1) * np.where(
                k == 0, 2.0, np.expm1((q + 1) * np.log1p(1.0 / lower))
            )
            return np.asarray(step**q * bins / (q + 1), dtype=np.float64)
        middle, half = np.where(k == 0, 0.25, k), np.where(k == 0, 0.25, 0.5)
        points = step * (middle[..., None] + half[..., None] * _NODES)
        return np.asarray(self._checked(points) @ (0.5 * _WEIGHTS), dtype=np.float64)

    def per_shell(self, last: int, dimension: int, step: float, domain: str) -> Floats:
        """E[c(one coordinate) | shell k] for k = 0, …, last."""
        k = np.arange(last + 1)
        average = self.average(k, step, domain)
        if dimension == 1:
            return average
        face = shells.face_share(dimension, k)
        inside = 2.0 * np.cumsum(average) - average[0]  # Σ_{|a| ≤ k} A_a
        spread = np.concatenate([[0.0], inside[:-1] / (2.0 * k[1:] - 1.0)])
        return np.asarray(face * average + (1.0 - face) * spread, dtype=np.float64)

    def in_steps(self, budget: float, step: float) -> tuple[Cost, float]:
        """This cost and a budget of it for noise that is measured in steps."""
        if self.exponent is not None:
            return self, budget / step**self.exponent
        return Cost(self.name, lambda x: self.function(step * x), self.growth), budget

    def over_blocks(self, size: int) -> Cost:
        """The cost in blocks of an odd number of integers around the multiples of `size`: k ↦ the average over block |k|."""
        if size == 1:
            return self
        name, half = f"{self.name} over {size} integers", size // 2
        if self.exponent == 2.0:
            return Cost(name, lambda k: np.asarray(size**2 * k * k + (size**2 - 1) / 12.0), 2.0)
        total = np.cumsum(self._checked(np.arange(size, dtype=np.float64)))

        def average(k: Floats) -> Floats:
            nonlocal total
            block = np.rint(np.abs(k)).astype(np.int64)
            reach = (int(block.max(initial=0)) + 1) * size
            if total.size < reach:
                total = np.cumsum(self._checked(np.arange(2 * reach, dtype=np.float64)))
            whole = total[block * size + half] - total[np.maximum(block * size - half, 1) - 1]
            return np.asarray(
                np.where(block == 0, 2.0 * total[half] - total[0], whole) / size, dtype=np.float64
            )

        return Cost(name, average, self.growth)

    def radius(self, budget: float) -> float:
        """About the R for which noise that is uniform on [−R, R] costs `budget`; inf where none does, for a bounded cost.

        It is the size of the laws of that cost whatever c is, where √budget would do for the quadratic cost alone: R = √3·σ there.
        """
        if self.exponent is not None:
            return float(((self.exponent + 1.0) * budget) ** (1.0 / self.exponent))

        def is_dear(radius: float) -> bool:
            average = float(_SHARES @ self._checked(np.asarray(radius * _PLACES, dtype=np.float64)))
            return (
                average * (1.0 - 1e-14) >= budget
            )  # what rounding adds makes no bounded cost reach its bound

        low = high = 1.0
        while not is_dear(high):
            low, high = high, 4.0 * high
            if high > _WIDEST:
                return np.inf
        while low >= _SMALLEST and is_dear(low):
            low, high = 0.25 * low, low
        for _ in range(10):
            middle = float(np.sqrt(low * high))
            low, high = (low, middle) if is_dear(middle) else (middle, high)
        return high

    def _checked(self, z: Floats) -> Floats:
        value = np.asarray(self.function(z), dtype=np.float64)
        if value.shape != z.shape or not np.all(np.isfinite(value)) or np.any(value < 0):
            raise InvalidParameterError(
                "cost",
                self.name,
                "to map an array to finite values of at least 0, element by element",
            )
        return value


def power(exponent: float) -> Cost:
    """|z|^exponent, exponent > 0."""
    q = positive("exponent", exponent)
    return Cost(f"|z|^{q:g}", lambda z: np.abs(z) ** q, q, q)


def quadratic() -> Cost:
    """z²: the mean squared error, the paper's cost."""
    return power(2.0)


def absolute() -> Cost:
    """|z|: the mean absolute error."""
    return power(1.0)


def custom(function: Callable[[Floats], Floats], growth: float, name: str = "custom") -> Cost:
    """A user's own cost: vectorised, symmetric, ≥ 0, and growing no faster than |z|^growth once |z| is large.

    On the real line a bin is averaged with 16 Gauss–Legendre points: exact for smooth costs; put kinks on bin edges or at 0.
    """
    probe = np.array([0.25, 1.0, 3.0])
    cost = Cost(name, function, non_negative("growth", growth))
    if not np.array_equal(cost._checked(probe), cost._checked(-probe)):
        raise InvalidParameterError("cost", name, "to be symmetric, c(-z) = c(z)")
    return cost
