"""Noise on residuals instead of marginals: the Gaussian optimum, and the sphere of the same norm.

Where the columns are many no set of marginals serves well. Let each residual A have noise of
precision τ_A, whitened by √τ_A: a person who comes or goes, in one cell of every marginal, moves
the whole vector by the length √(Σ_A p_A τ_A) exactly, because E_A e_c has the squared length p_A
for every cell c. It has d = Σ_A Π_{j∈A} (n_j − 1) numbers. For the goal Σ c_A/τ_A with
c_A = Σ_B weight_B² p_A/n_{B∖A}² the best precisions at a given length have τ_A ∝ √(c_A/p_A), by
Cauchy and Schwarz (Xiao et al. 2023, ResidualPlanner). Gaussian noise of μ = length, or the sphere
law judged for that length, then serves all published marginals at once.

**Contrasts.** What is measured of a residual must be exact numbers of the table. Along an axis of n
keys the n − 1 contrasts h_k = (1, …, 1, −k, 0, …), k = 1 … n − 1 (Helmert), are orthogonal, whole
numbers, and span what sums to 0; ‖h_k‖² = k(k + 1). Their products over the axes of A do the same
for its residual, so the contrast z = Σ_c h(c) x(c) of counts is a whole number, known exactly, and
R_A = Σ z·h/‖h‖². Divided by ‖h‖/√τ_A, a float, these are the whitened numbers. Because h/‖h‖ is an
orthonormal basis, Σ h(c)²/‖h‖² = p_A for every cell c; so the squared length of what a person
changes is at most Σ_A p_A·max (‖h‖²/scale²), which is computed in exact arithmetic from the floats
that are divided by (`squared_reach`).
(docs/mathematics.md#one-joint-draw-on-residuals)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from leastnoise.releases.tables.columns import (
    Marginal,
    cells,
    closure,
    residual_dimension,
    residual_share,
    subsets,
    without,
)
from leastnoise.releases.tables.reconstruction import Floats, put_together
from leastnoise.releases.tables.strategy import Wanted


@dataclass(frozen=True)
class ResidualNoise:
    """Precisions of all residuals for a person who moves their whitened vector by length 1."""

    precisions: dict[Marginal, float]
    dimension: int
    sizes: Sequence[float]

    def variance(self, marginal: Marginal) -> float:
        """V_B where noise of standard deviation 1 hides a length of 1."""
        return math.fsum(
            residual_share(self.sizes, part)
            / (cells(self.sizes, without(marginal, part)) ** 2 * self.precisions[part])
            for part in subsets(marginal)
        )


def residual_noise(wanted: Wanted) -> ResidualNoise:
    """The best precisions for the mean; for the largest error by reweighing the marginals."""
    if wanted.goal == "mean":
        squares = {one: weight**2 for one, weight in wanted.weights.items()}
        return _for_mean(wanted.sizes, squares)
    return _for_largest(wanted)


def _for_mean(sizes: Sequence[float], squares: dict[Marginal, float]) -> ResidualNoise:
    parts = closure(squares)
    ratios = {}
    for part in parts:
        reached = [one for one in squares if set(part) <= set(one)]
        needed = sum(squares[one] / cells(sizes, without(one, part)) ** 2 for one in reached)
        ratios[part] = math.sqrt(needed)
    length = math.fsum(residual_share(sizes, part) * ratios[part] for part in parts)
    precisions = {part: ratio / length for part, ratio in ratios.items()}
    dimension = round(sum(residual_dimension(sizes, part) for part in parts))
    return ResidualNoise(precisions, dimension, sizes)


def _for_largest(wanted: Wanted) -> ResidualNoise:
    """The least largest variance is the largest least mean over weights of the marginals (the
    problem is convex in the precisions): a concave function, climbed in its logarithms."""
    published = wanted.published
    squares = np.array([weight**2 for weight in wanted.weights.values()])

    def noise_of(logs: np.ndarray) -> tuple[ResidualNoise, np.ndarray, np.ndarray]:
        shares = np.exp(logs - logs.max())
        shares /= shares.sum()
        weights = dict(zip(published, shares * squares, strict=True))
        found = _for_mean(wanted.sizes, weights)
        variances = squares * np.array([found.variance(one) for one in published])
        return found, shares, variances

    def lacking(logs: np.ndarray) -> tuple[float, np.ndarray]:
        _, shares, variances = noise_of(logs)
        mean = float(shares @ variances)
        return -math.log(mean), -shares * (variances - mean) / mean

    solved = optimize.minimize(lacking, np.zeros(len(published)), jac=True, method="L-BFGS-B")
    return noise_of(np.asarray(solved.x))[0]


# What is measured


def contrast_squares(sizes: Iterable[int]) -> list[int]:
    """‖h‖² of every contrast of a residual whose columns have so many keys, in the order of a table
    with one key less along each axis."""
    each = ([k * (k + 1) for k in range(1, size)] for size in sizes)
    return [math.prod(one) for one in product(*each)]


def contrast_scales(sizes: Iterable[int], precision: float) -> list[float]:
    """What every contrast is divided by, ‖h‖/√τ_A."""
    return [math.sqrt(square / precision) for square in contrast_squares(sizes)]


def squared_reach(sizes: Sequence[int], scales: Sequence[float]) -> Fraction:
    """The largest squared length of what one person in one cell changes in the contrasts of one
    residual, each divided by its scale; an upper bound that is next to it."""
    share = math.prod((Fraction(size - 1, size) for size in sizes), start=Fraction(1))
    each = zip(contrast_squares(sizes), scales, strict=True)
    return share * max((square / Fraction(scale) ** 2 for square, scale in each), default=0)


def contrasts(cells_of: NDArray[Any]) -> NDArray[Any]:
    """Every contrast of a table of whole numbers, which stay whole and exact: along each axis
    Σ_{i<k} x_i − k·x_k."""
    for axis in range(cells_of.ndim):
        x = np.moveaxis(cells_of, axis, 0)
        k = np.arange(1, len(x)).astype(x.dtype).reshape((-1, *(1,) * (x.ndim - 1)))
        cells_of = np.moveaxis(np.cumsum(x, axis=0)[:-1] - k * x[1:], 0, axis)
    return cells_of


def residual_of(measured: Floats) -> Floats:
    """The residual whose contrasts these are: Σ z·h/‖h‖²."""
    for axis in range(measured.ndim):
        z = np.moveaxis(measured, axis, 0)
        k = np.arange(1.0, len(z) + 1.0).reshape((-1, *(1,) * (z.ndim - 1)))
        none = np.zeros((1, *z.shape[1:]))
        above = np.concatenate([np.cumsum((z / (k * (k + 1.0)))[::-1], axis=0)[::-1], none])
        own = np.concatenate([none, z / (k + 1.0)])
        measured = np.moveaxis(above - own, 0, axis)
    return np.asarray(measured)


def contrast_response(sizes: Sequence[int], cell: Sequence[int]) -> Floats:
    """h(c)/‖h‖² of one cell for every contrast: its weight in the residual of the cell."""
    found = np.ones([1] * len(sizes))
    for axis, (size, at) in enumerate(zip(sizes, cell, strict=True)):
        k = np.arange(1.0, size)
        along = np.where(k > at, 1.0, np.where(k == at, -k, 0.0)) / (k * (k + 1.0))
        shape = [1] * len(sizes)
        shape[axis] = size - 1
        found = found * along.reshape(shape)
    return found


@dataclass(frozen=True)
class ResidualMeasurement:
    """What is measured: the number of keys of each column, and the precision τ_A of each residual,
    in the units of the noise that it has."""

    sizes: tuple[int, ...]
    precisions: Mapping[Marginal, float]

    def precision(self, residual: Iterable[int]) -> float:
        """τ_A; of what is no residual, because a column has one key, +inf."""
        part = tuple(residual)
        return self.precisions[part] if residual_dimension(self.sizes, part) else math.inf

    def reconstructed(
        self, noisy: Mapping[Marginal, Floats], published: Sequence[Marginal]
    ) -> dict[Marginal, Floats]:
        """Every published marginal from the noisy contrasts of each residual."""
        found = self.residuals(noisy, published)
        return {one: put_together(self.sizes, found, one) for one in published}

    def residuals(
        self, noisy: Mapping[Marginal, Floats], wanted: Iterable[Marginal]
    ) -> dict[Marginal, Floats]:
        """The estimated residuals of marginals."""
        return {
            part: residual_of(noisy[part])
            if part in noisy
            else np.zeros([self.sizes[j] for j in part])
            for part in closure(wanted)
        }
