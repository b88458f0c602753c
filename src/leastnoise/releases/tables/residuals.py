"""Noise on residuals instead of marginals: the Gaussian optimum, and the sphere of the same norm.

Where the columns are many no set of marginals serves well. Let each residual A have noise of
precision τ_A, whitened by √τ_A: a person who comes or goes, in one cell of every marginal, moves
the whole vector by the length √(Σ_A p_A τ_A) exactly, because E_A e_c has the squared length p_A
for every cell c. It has d = Σ_A Π_{j∈A} (n_j − 1) numbers. For the goal Σ c_A/τ_A with
c_A = Σ_B weight_B² p_A/n_{B∖A}² the best precisions at a given length have τ_A ∝ √(c_A/p_A), by
Cauchy and Schwarz (Xiao et al. 2023, ResidualPlanner). Gaussian noise of μ = length, or the sphere
law judged for that length, then serves all published marginals at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
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
