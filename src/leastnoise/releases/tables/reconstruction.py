"""Least squares over marginals, in closed form and linear time.

Measured are the marginals M, each cell with uncorrelated noise of mean 0 and variance 1/w_M. On
each axis I = (I − J/n) + J/n are orthogonal projections (J is all ones); multiplied out, every
marginal is an orthogonal sum of its residuals. The residual A of what is measured as M, summed over
M∖A, is seen with covariance n_{M∖A}/w_M times one and the same projection, and parts of different
residuals or marginals are uncorrelated. So least squares splits: each residual is the mean of where
it is seen, weighed by w_M/n_{M∖A}, with the precision

    τ_A = Σ_{M ⊇ A} w_M/n_{M∖A}

and any marginal B is put together again as Σ_{A ⊆ B} R_A/n_{B∖A}. That is the best linear unbiased
estimate of all marginals at once (docs/mathematics.md#least-squares-over-marginals); its numbers
are marginals of one table, so they add up. The noise need not be Gaussian, and the coordinates of a
joint draw may depend on each other as long as they are uncorrelated.

An array with one place more along each axis, for the sum along it, holds all sums of a marginal; it
is made and folded up again by one pass an axis, O(m Π (n_j + 1)) in all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from leastnoise.errors import InvalidParameterError
from leastnoise.releases.tables.columns import (
    Marginal,
    cells,
    closure,
    residual_share,
    subsets,
    without,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Measurement:
    """What is measured: the number of keys of each column, and the weight 1/σ² of each marginal."""

    sizes: tuple[int, ...]
    weights: Mapping[Marginal, float]

    def precision(self, residual: Iterable[int]) -> float:
        """τ_A; 0 where no marginal sees the residual."""
        seen = frozenset(residual)
        if seen not in self._known:
            self._known[seen] = sum(
                weight / cells(self.sizes, without(marginal, seen))
                for marginal, weight in self.weights.items()
                if seen <= set(marginal)
            )
        return self._known[seen]

    @cached_property
    def _known(self) -> dict[frozenset[int], float]:
        return {}

    def check(self, published: Iterable[Marginal]) -> None:
        """An InvalidParameterError where a published marginal lies in no measured one."""
        for marginal in published:
            if not any(set(marginal) <= set(one) for one in self.weights):
                raise InvalidParameterError(
                    "published marginal", marginal, "to lie in one that is measured"
                )


def variance(measured: Measurement, marginal: Sequence[int]) -> float:
    """V_B: the variance of every cell of a reconstructed marginal, hidden ones too."""
    sizes = measured.sizes
    return math.fsum(
        residual_share(sizes, part)
        / (cells(sizes, without(marginal, part)) ** 2 * measured.precision(part))
        for part in subsets(marginal)
        if residual_share(sizes, part) > 0.0  # a column of one key has no residual
    )


def covariance(
    measured: Measurement,
    one: tuple[Sequence[int], Sequence[int]],
    other: tuple[Sequence[int], Sequence[int]],
) -> float:
    """The covariance of two reconstructed cells, each a marginal with the places of its keys."""
    (first, at), (second, to) = one, other
    here, there = dict(zip(first, at, strict=True)), dict(zip(second, to, strict=True))
    shared = tuple(j for j in first if j in there)
    sizes = measured.sizes
    return math.fsum(
        math.prod((here[j] == there[j]) - 1.0 / sizes[j] for j in part)
        / (
            cells(sizes, without(first, part))
            * cells(sizes, without(second, part))
            * measured.precision(part)
        )
        for part in subsets(shared)
    )


@dataclass(frozen=True)
class Share:
    """The weight of measured cells in one reconstructed cell, and how many cells have it."""

    measured: Marginal
    weight: float
    count: int


def shares(measured: Measurement, marginal: Sequence[int]) -> list[Share]:
    """The weights K_S of all measured cells in a cell b of a marginal B.

    The weight of the cell c of M depends on S = {j ∈ B∩M : b_j = c_j} alone, and
    n_{M∖B} Π_{j ∈ (B∩M)∖S} (n_j − 1) cells share it.
    """
    sizes = measured.sizes
    found = []
    for seen, weight in measured.weights.items():
        common = tuple(j for j in marginal if j in seen)
        terms = {
            part: weight
            / (
                measured.precision(part)
                * cells(sizes, without(marginal, part))
                * cells(sizes, without(seen, part))
            )
            for part in subsets(common)
        }
        outside = cells(sizes, without(seen, marginal))
        for same in subsets(common):
            share = math.fsum(
                term * math.prod((j in same) - 1.0 / sizes[j] for j in part)
                for part, term in terms.items()
            )
            count = outside * math.prod(sizes[j] - 1 for j in without(common, same))
            if count:
                found.append(Share(seen, share, count))
    return found


def response(
    measured: Measurement, cell: tuple[Sequence[int], Sequence[int]], seen: Marginal
) -> Floats:
    """The weight of every cell of one measured marginal in a reconstructed cell."""
    marginal, places = cell
    at, sizes = dict(zip(marginal, places, strict=True)), measured.sizes
    total = np.zeros([sizes[j] for j in seen])
    for part in subsets(tuple(j for j in marginal if j in seen)):
        scale = measured.weights[seen] / (
            measured.precision(part)
            * cells(sizes, without(marginal, part))
            * cells(sizes, without(seen, part))
        )
        term = np.full([1] * len(seen), scale)
        for axis, j in enumerate(seen):
            if j in part:
                along = np.full(sizes[j], -1.0 / sizes[j])
                along[at[j]] += 1.0
                shape = [1] * len(seen)
                shape[axis] = sizes[j]
                term = term * along.reshape(shape)
        total += term
    return total


# Values


def with_sums(values: Floats) -> Floats:
    """The array with one place more along each axis, which holds the sum along it."""
    for axis in range(values.ndim):
        total = values.sum(axis=axis, keepdims=True)
        values = np.concatenate([values, total], axis=axis)
    return values


def _place(marginal: Sequence[int], part: Sequence[int]) -> tuple[slice | int, ...]:
    """Where the sums over all columns outside of `part` stand in the array with sums."""
    return tuple(slice(0, -1) if j in part else -1 for j in marginal)


def _centred(values: Floats) -> Floats:
    """The mean along each axis taken away, one axis after the other."""
    for axis in range(values.ndim):
        values = values - values.mean(axis=axis, keepdims=True)
    return values


def residuals(
    measured: Measurement, answers: Mapping[Marginal, Floats], wanted: Iterable[Marginal]
) -> dict[Marginal, Floats]:
    """The estimated residuals from noisy answers, an array for each measured marginal."""
    sizes = measured.sizes
    summed: dict[Marginal, Floats] = {}
    parts = set(closure(wanted))
    for marginal, weight in measured.weights.items():
        extended = with_sums(np.asarray(answers[marginal], dtype=np.float64))
        for part in subsets(marginal):
            if part not in parts:
                continue
            scale = weight / cells(sizes, without(marginal, part))
            seen = scale * extended[_place(marginal, part)]
            summed[part] = summed[part] + seen if part in summed else np.asarray(seen)
    return {part: _centred(total) / measured.precision(part) for part, total in summed.items()}


def put_together(
    sizes: Sequence[int], found: Mapping[Marginal, Floats], marginal: Sequence[int]
) -> Floats:
    """A marginal from its residuals: Σ_{A ⊆ B} R_A/n_{B∖A}, folded up axis by axis."""
    extended = np.zeros([sizes[j] + 1 for j in marginal])
    for part in subsets(marginal):
        extended[_place(marginal, part)] = found[part]
    for axis in range(len(marginal)):
        mean = np.take(extended, [-1], axis=axis) / sizes[marginal[axis]]
        extended = np.take(extended, range(sizes[marginal[axis]]), axis=axis) + mean
    return extended


def reconstructed(
    measured: Measurement, answers: Mapping[Marginal, Floats], published: Sequence[Marginal]
) -> dict[Marginal, Floats]:
    """The best linear unbiased estimate of every published marginal."""
    measured.check(published)
    found = residuals(measured, answers, published)
    return {marginal: put_together(measured.sizes, found, marginal) for marginal in published}


def all_cells(sizes: Sequence[int], marginal: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The places of the keys of every cell of a marginal."""
    return np.ndindex(*(sizes[j] for j in marginal))
