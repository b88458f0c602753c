"""Least squares on a table with a hierarchy among its columns: country, regions, districts.

The hierarchy is a chain of columns, each within the one before, with any number of children; a
marginal has at most one of them, its *level*, and any of the other columns, its *rest*. What is
measured is a set of marginals, each cell with uncorrelated noise of variance 1/w_M.

**It splits.** On the other columns I = (I − J/n) + J/n as ever: the residual A ⊆ rest of what is
measured at level ℓ, summed over rest∖A, is seen at every node v of that level with covariance
n_{rest∖A}/w_M times one and the same projection E_A, uncorrelated between nodes and between
residuals. So for each A there is one problem on the hierarchy alone, in which the nodes of level ℓ
have the weight τ_{ℓ,A} = Σ_{M at ℓ, rest ⊇ A} w_M/n_{rest∖A}: that of `trees`, solved by its two
passes for all numbers of the residual at once. With T_A(v) the variance that those give,

    Var x̂_B(v, b) = Σ_{A ⊆ rest of B} p_A T_A(v)/n_{rest∖A}²

**Weights.** The estimate of a cell b weighs what is measured in a cell c of M by w_M·Cov(x̂(b),
x̂_M(c)), as any least squares; that covariance is what the same solve makes of answers that are 1/w
in the cells of one measured marginal that b consists of, and 0 elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from leastnoise.errors import InvalidParameterError
from leastnoise.releases.tables.columns import (
    Marginal,
    cells,
    residual_share,
    subsets,
    without,
)
from leastnoise.releases.tables.reconstruction import Floats

Places = NDArray[np.intp]


@dataclass(frozen=True)
class Hierarchy:
    """Columns each of which is within the one before, and of each key its parent's place there; of
    the first column all are children of one root."""

    columns: tuple[int, ...]
    parents: tuple[tuple[int, ...], ...]

    def level(self, marginal: Sequence[int]) -> int:
        """How deep a marginal goes; 0 where it has none of these columns."""
        return max((k + 1 for k, j in enumerate(self.columns) if j in marginal), default=0)

    def rest(self, marginal: Sequence[int]) -> Marginal:
        """The other columns of a marginal."""
        return without(marginal, self.columns)

    def nodes(self, level: int) -> int:
        return len(self.parents[level - 1]) if level else 1

    def above(self, level: int) -> Places:
        """The places of the parents of all nodes of a level, one level up."""
        return np.array(self.parents[level - 1], dtype=np.intp)

    def ancestors(self, level: int, upper: int) -> Places:
        """The places of the ancestors of all nodes of a level at an upper one."""
        found = np.arange(self.nodes(level))
        for each in range(level, upper, -1):
            found = self.above(each)[found]
        return found

    def spread(self, marginal: Sequence[int]) -> Marginal:
        """The marginal with every column that those of its level are within: as one of a table in
        which a column counts the children of each node."""
        return tuple(sorted({*self.rest(marginal), *self.columns[: self.level(marginal)]}))

    @cached_property
    def classes(self) -> tuple[tuple[int, ...], ...]:
        """Of every node of every level the number of its class: nodes of one class are alike, with
        the same children below and the same ancestors above."""
        shapes = [[0] * self.nodes(len(self.columns))]
        known: dict[tuple[int, ...], int] = {(): 0}
        for level in range(len(self.columns), 0, -1):
            below: list[list[int]] = [[] for _ in range(self.nodes(level - 1))]
            for child, parent in enumerate(self.parents[level - 1]):
                below[parent].append(shapes[0][child])
            listed = (tuple(sorted(each)) for each in below)
            shapes.insert(0, [known.setdefault(each, len(known)) for each in listed])
        found, named = list[tuple[int, ...]]([(0,)]), dict[tuple[int, int, int], int]()
        for level in range(1, len(self.columns) + 1):
            pairs = zip(self.parents[level - 1], shapes[level], strict=True)
            each = ((level, found[-1][parent], shape) for parent, shape in pairs)
            found.append(tuple(named.setdefault(one, len(named) + 1) for one in each))
        return tuple(found)


@dataclass(frozen=True)
class NestedMeasurement:
    """What is measured: the number of keys of each column, those of a hierarchy among them, and the
    weight 1/σ² of each marginal."""

    sizes: tuple[int, ...]
    hierarchy: Hierarchy
    weights: Mapping[Marginal, float]

    def precisions(self, residual: Sequence[int]) -> list[float]:
        """τ_{ℓ,A} by level, down to the deepest that sees the residual."""
        found = [0.0] * (len(self.hierarchy.columns) + 1)
        for marginal, weight in self.weights.items():
            rest = self.hierarchy.rest(marginal)
            if set(residual) <= set(rest):
                level = self.hierarchy.level(marginal)
                found[level] += weight / cells(self.sizes, without(rest, residual))
        while found and not found[-1] > 0.0:
            found.pop()
        return found

    def holds(self, seen: Sequence[int], marginal: Sequence[int]) -> bool:
        """Whether a marginal is made of sums of another one."""
        tree = self.hierarchy
        return tree.level(marginal) <= tree.level(seen) and set(tree.rest(marginal)) <= set(
            tree.rest(seen)
        )


# Sums and axes


def nodes_first(measured: NestedMeasurement, marginal: Marginal, values: Floats) -> Floats:
    """The values of a marginal with its level as the first axis, of one place at the root."""
    level = measured.hierarchy.level(marginal)
    if not level:
        return values[None]
    return np.moveaxis(values, marginal.index(measured.hierarchy.columns[level - 1]), 0)


def _as_marginal(measured: NestedMeasurement, marginal: Marginal, values: Floats) -> Floats:
    level = measured.hierarchy.level(marginal)
    if not level:
        return np.asarray(values[0])
    return np.moveaxis(values, 0, marginal.index(measured.hierarchy.columns[level - 1]))


def summed(
    measured: NestedMeasurement, seen: Marginal, values: Floats, marginal: Marginal
) -> Floats:
    """A marginal that another one holds, added up from it."""
    tree = measured.hierarchy
    rest = tree.rest(seen)
    moved = nodes_first(measured, seen, values)
    moved = moved.sum(axis=tuple(1 + i for i, j in enumerate(rest) if j not in marginal))
    level, upper = tree.level(seen), tree.level(marginal)
    total = np.zeros((tree.nodes(upper), *moved.shape[1:]))
    np.add.at(total, tree.ancestors(level, upper), moved)
    return _as_marginal(measured, marginal, total)


def spread_out(
    measured: NestedMeasurement, marginal: Marginal, values: Floats, seen: Marginal
) -> Floats:
    """In every cell of a marginal the value of the cell of a smaller one that it is a part of."""
    tree = measured.hierarchy
    moved = nodes_first(measured, marginal, values)
    moved = moved[tree.ancestors(tree.level(seen), tree.level(marginal))]
    for axis, j in enumerate(tree.rest(seen), start=1):
        if j not in marginal:
            moved = np.repeat(np.expand_dims(moved, axis), measured.sizes[j], axis=axis)
    return _as_marginal(measured, seen, moved)


# The two passes


def _up_and_down(
    tree: Hierarchy, precisions: Sequence[float], seen: Sequence[Floats]
) -> tuple[list[Floats], list[Floats]]:
    """The estimates of all nodes and their variances, by level; `seen` are the answers times their
    precisions, any number of them at each node."""
    deepest = len(precisions) - 1
    up = [np.full(tree.nodes(deepest), precisions[-1])]
    below = [seen[-1] / precisions[-1]]
    spread, total = list[Floats](), list[Floats]()
    for level in range(deepest - 1, -1, -1):
        parents, count = tree.above(level + 1), tree.nodes(level)
        spread.insert(0, np.bincount(parents, 1.0 / up[0], count).astype(np.float64))
        added = np.zeros((count, *below[0].shape[1:]))
        np.add.at(added, parents, below[0])
        total.insert(0, added)
        up.insert(0, precisions[level] + 1.0 / spread[0])
        below.insert(0, _by_node(1.0 / up[0], seen[level] + _by_node(1.0 / spread[0], added)))
    values, variances = [below[0]], [1.0 / up[0]]
    for level in range(1, deepest + 1):
        parents, own = tree.above(level), 1.0 / up[level]
        share = own / spread[level - 1][parents]
        lack = (values[-1] - total[level - 1])[parents]
        values.append(below[level] + _by_node(share, lack))
        variances.append(own - own * share + share**2 * variances[-1][parents])
    return values, variances


def _by_node(factors: Floats, values: Floats) -> Floats:
    return np.asarray(factors.reshape(-1, *[1] * (values.ndim - 1)) * values)


# What is published


def nested_variances(measured: NestedMeasurement, marginal: Marginal) -> Floats:
    """The variance of every node of the level of a marginal, the same in all its cells there."""
    tree, sizes = measured.hierarchy, measured.sizes
    level, rest = tree.level(marginal), tree.rest(marginal)
    found = np.zeros(tree.nodes(level))
    for part in subsets(rest):
        precisions = measured.precisions(part)
        if len(precisions) <= level:
            raise InvalidParameterError(
                "published marginal", marginal, "to lie in one that is measured"
            )
        nothing = [np.zeros(tree.nodes(each)) for each in range(len(precisions))]
        _, variances = _up_and_down(tree, precisions, nothing)
        share = residual_share(sizes, part) / cells(sizes, without(rest, part)) ** 2
        found += share * variances[level]
    return found


def nested_estimate(
    measured: NestedMeasurement,
    answers: Mapping[Marginal, Floats],
    published: Sequence[Marginal],
) -> dict[Marginal, Floats]:
    """The best linear unbiased estimate of every published marginal."""
    tree = measured.hierarchy
    wanted = {part for one in published for part in subsets(tree.rest(one))}
    residuals = {part: _residual(measured, answers, part) for part in wanted}
    return {one: _put_together(measured, residuals, one) for one in published}


def _residual(
    measured: NestedMeasurement, answers: Mapping[Marginal, Floats], part: Marginal
) -> list[Floats]:
    """One residual at all nodes, by level."""
    tree, sizes = measured.hierarchy, measured.sizes
    precisions = measured.precisions(part)
    shape = [sizes[j] for j in part]
    seen = [np.zeros((tree.nodes(level), *shape)) for level in range(len(precisions))]
    for marginal, weight in measured.weights.items():
        rest = tree.rest(marginal)
        if set(part) <= set(rest):
            moved = nodes_first(measured, marginal, np.asarray(answers[marginal], dtype=float))
            beyond = tuple(1 + i for i, j in enumerate(rest) if j not in part)
            scale = weight / cells(sizes, without(rest, part))
            seen[tree.level(marginal)] += scale * moved.sum(axis=beyond)
    for axis in range(1, len(part) + 1):
        seen = [each - each.mean(axis=axis, keepdims=True) for each in seen]
    return _up_and_down(tree, precisions, seen)[0] if precisions else []


def nested_table(measured: NestedMeasurement, answers: Mapping[Marginal, Floats]) -> Floats:
    """The table of the deepest level and all other columns: what no marginal sees is shared out
    evenly."""
    tree = measured.hierarchy
    full = finest(measured)
    residuals = {}
    for part in subsets(tree.rest(full)):
        found = _residual(measured, answers, part)
        if not found:
            found = [np.zeros((1, *(measured.sizes[j] for j in part)))]
        for level in range(len(found), len(tree.columns) + 1):
            parents = tree.above(level)
            share = 1.0 / np.bincount(parents, minlength=tree.nodes(level - 1))
            found.append(_by_node(share, found[-1])[parents])
        residuals[part] = found
    return _put_together(measured, residuals, full)


def finest(measured: NestedMeasurement) -> Marginal:
    """The marginal of the deepest level and all other columns."""
    above = measured.hierarchy.columns[:-1]
    return tuple(j for j in range(len(measured.sizes)) if j not in above)


def _put_together(
    measured: NestedMeasurement, residuals: Mapping[Marginal, list[Floats]], marginal: Marginal
) -> Floats:
    tree, sizes = measured.hierarchy, measured.sizes
    level, rest = tree.level(marginal), tree.rest(marginal)
    total = np.zeros((tree.nodes(level), *(sizes[j] for j in rest)))
    for part in subsets(rest):
        if len(residuals[part]) <= level:
            raise InvalidParameterError(
                "published marginal", marginal, "to lie in one that is measured"
            )
        shape = (tree.nodes(level), *(sizes[j] if j in part else 1 for j in rest))
        total += residuals[part][level].reshape(shape) / cells(sizes, without(rest, part))
    return _as_marginal(measured, marginal, total)


def nested_covariances(
    measured: NestedMeasurement,
    cell: tuple[Marginal, Sequence[int]],
    others: Sequence[Marginal],
) -> dict[Marginal, Floats]:
    """The covariances of a reconstructed cell with all cells of other marginals."""
    marginal, place = cell
    held = next(one for one in measured.weights if measured.holds(one, marginal))
    sizes = measured.sizes
    chosen = np.zeros([sizes[j] for j in marginal])
    chosen[tuple(place)] = 1.0 / measured.weights[held]
    answers = {one: np.zeros([sizes[j] for j in one]) for one in measured.weights}
    answers[held] = spread_out(measured, marginal, chosen, held)
    return nested_estimate(measured, answers, others)


def nested_response(
    measured: NestedMeasurement, cell: tuple[Marginal, Sequence[int]]
) -> dict[Marginal, Floats]:
    """The weight of every measured cell in a reconstructed one."""
    found = nested_covariances(measured, cell, list(measured.weights))
    return {one: measured.weights[one] * values for one, values in found.items()}
