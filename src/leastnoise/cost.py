"""What noise costs: a symmetric function c(z) ≥ 0 of the noise on one answer, averaged over a bin
(Prop. 3.5).

For a continuous law the average over bin k is A_k = (1/Δ)∫ c over the bin; for a discrete law A_k =
c(k).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from leastnoise.errors import InvalidParameterError, non_negative, positive
from leastnoise.lattice import shells
from leastnoise.lattice.shells import Floats

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
# Places in [0, 1] and their weights: 8 Gauss–Legendre points in each panel, whose widths double
# from 2^−20 on.
_PANELS = np.concatenate([[0.0], 2.0 ** np.arange(-20.0, 1.0)])
_HALVES = np.diff(_PANELS)[:, None] * 0.5
_PLACES = (_PANELS[:-1, None] + _HALVES * (1.0 + np.polynomial.legendre.leggauss(8)[0])).ravel()
_SHARES = (_HALVES * np.polynomial.legendre.leggauss(8)[1]).ravel()
_SMALLEST, _WIDEST = 1e-15, 1e15  # radii


@dataclass(frozen=True)
class Cost:
    """A symmetric cost c(z) ≥ 0 of the noise z on one answer; `quadratic`, `absolute`, `power` and
    `custom` make one.

    Attributes:
        name: What it is called in messages.
        function: c itself, element by element on an array of noise in the units of the answers.
        growth: Bounds it: c(z)/z^growth does not increase for large z, so that tail sums have a
            proven end.
        exponent: q where c(z) = |z|^q, for which closed forms are used; else None.

    Example:
        >>> from leastnoise.cost import absolute
        >>> absolute().of(-3.0)
        3.0
    """

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
        """The cost of each bin, averaged over it, or of each integer (Prop. 3.5).

        Args:
            k: Bins, or integers, from 0 on; any shape.
            step: Width of a bin, in the units of the answers.
            domain: "real" for bins, "integer" for points.

        Returns:
            A_k, of the same shape.
        """
        k = np.asarray(k, dtype=np.float64)
        if domain == "integer":
            return self._checked(k)
        if self.exponent is not None:
            q = self.exponent
            if q == 2.0:
                return np.asarray(step**2 * (k * k + 1.0 / 12.0), dtype=np.float64)
            # ∫ over the bin: lower^(q+1)·((upper/lower)^(q+1) − 1), as expm1 because the plain
            # difference loses a factor k of accuracy; bin 0 is two half-bins.
            lower = np.abs(k - 0.5)
            bins = lower ** (q + 1) * np.where(
                k == 0, 2.0, np.expm1((q + 1) * np.log1p(1.0 / lower))
            )
            return np.asarray(step**q * bins / (q + 1), dtype=np.float64)
        middle, half = np.where(k == 0, 0.25, k), np.where(k == 0, 0.25, 0.5)
        points = step * (middle[..., None] + half[..., None] * _NODES)
        return np.asarray(self._checked(points) @ (0.5 * _WEIGHTS), dtype=np.float64)

    def per_shell(self, last: int, dimension: int, step: float, domain: str) -> Floats:
        """The average cost of one answer on each shell of a joint law.

        Args:
            last: The last shell.
            dimension: Answers of the joint law.
            step: Width of a bin, in the units of the answers.
            domain: "real" for bins, "integer" for points.

        Returns:
            E[c(one coordinate) | shell k] for k = 0, …, `last`.
        """
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
        """The cost in blocks of an odd number of integers around the multiples of `size`: k ↦ the
        average over block |k|."""
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
        """About the R for which noise that is uniform on [−R, R] costs `budget`; inf where none
        does, for a bounded cost.

        It is the size of the laws of that cost whatever c is, where √budget would do for the
        quadratic cost alone: R = √3·σ there.
        """
        if self.exponent is not None:
            return float(((self.exponent + 1.0) * budget) ** (1.0 / self.exponent))

        def is_dear(radius: float) -> bool:
            average = float(_SHARES @ self._checked(np.asarray(radius * _PLACES, dtype=np.float64)))
            # What rounding adds makes no bounded cost reach its bound.
            return average * (1.0 - 1e-14) >= budget

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
        with np.errstate(over="ignore"):  # what is not finite is refused below
            value = np.asarray(self.function(z), dtype=np.float64)
        if value.shape != z.shape or not np.all(np.isfinite(value)) or np.any(value < 0):
            raise InvalidParameterError(
                "cost",
                self.name,
                "to map an array to finite values of at least 0, element by element",
            )
        return value


def power(exponent: float) -> Cost:
    """|z|^exponent.

    Args:
        exponent: Above 0.

    Returns:
        The cost.

    Raises:
        InvalidParameterError: the exponent is not above 0.

    Example:
        >>> power(4.0).of(2.0)
        16.0
    """
    q = positive("exponent", exponent)
    return Cost(f"|z|^{q:g}", lambda z: np.abs(z) ** q, q, q)


def quadratic() -> Cost:
    """z²: the mean squared error, the paper's cost.

    Returns:
        The cost.

    Example:
        >>> quadratic().of(3.0)
        9.0
    """
    return power(2.0)


def absolute() -> Cost:
    """|z|: the mean absolute error.

    Returns:
        The cost.

    Example:
        >>> absolute().of(-3.0)
        3.0
    """
    return power(1.0)


def custom(function: Callable[[Floats], Floats], growth: float, name: str = "custom") -> Cost:
    """A user's own cost.

    On the real line a bin is averaged with 16 Gauss–Legendre points: exact for smooth costs; put
    kinks on bin edges or at 0.

    Args:
        function: From an array of noise to its cost, element by element; symmetric and ≥ 0.
        growth: The cost grows no faster than |z|^growth once |z| is large.
        name: What it is called in messages.

    Returns:
        The cost.

    Raises:
        InvalidParameterError: the function is not symmetric, negative or not finite somewhere.

    Example:
        >>> custom(lambda z: np.log1p(np.abs(z)), growth=1.0, name="log").of(0.0)
        0.0
    """
    probe = np.array([0.25, 1.0, 3.0])
    cost = Cost(name, function, non_negative("growth", growth))
    if not np.array_equal(cost._checked(probe), cost._checked(-probe)):
        raise InvalidParameterError("cost", name, "to be symmetric, c(-z) = c(z)")
    return cost
