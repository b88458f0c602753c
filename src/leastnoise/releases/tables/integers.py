"""Counts that are not below zero, whole, and add up: one solve for a whole table.

**Not below zero.** The least Σ_M w_M ‖P_M x − y_M‖² over tables x ≥ 0, of which the marginals are
published. In that norm it is the projection of the unrestricted estimate on a convex set that
contains the truth, so the weighted squared error never grows; that of a single number may. It is
found by accelerated projected gradients, whose steps are passes over the marginals.

**Whole.** Every published number is moved by less than 1 where that is possible for all at once:

    nested marginals, and  the total is rounded; the children of each parent get their floors, and
    hierarchies            the missing units go to the largest remainders, top down
    margins of one column  the total is rounded, and each margin to it in the same way
    two columns            a flow between rows and columns has whole corners (Cox and Ernst 1982): a
                           linear program with every number between its floor and its ceiling
    three and more         such a rounding may not exist (Causey, Cox and Ernst 1985): the cells are
                           rounded to the rounded total and added up; a sum of c cells is moved by
                           about √(c/12)

All of it is post-processing and costs no privacy. Intervals stay those of the estimates before: the
coverage of an interval around a processed number is not known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from scipy import optimize, sparse

from leastnoise.releases.tables.columns import Marginal, cells, closure
from leastnoise.releases.tables.hierarchies import (
    NestedMeasurement,
    finest,
    nested_table,
    spread_out,
    summed,
)
from leastnoise.releases.tables.reconstruction import (
    Floats,
    Measurement,
    put_together,
    residuals,
)

_ROUNDS = 3_000
_CLOSE = 1e-7  # of the noise: how far the last step may still move a cell
_WHOLE = 1e-6  # what is so near to a whole number is one


Answers = Mapping[Marginal, Floats]
AddUp = Callable[[Floats, Marginal], Floats]  # a marginal of the whole table
SpreadOut = Callable[[Floats, Marginal], Floats]  # in every cell the value of a marginal's cell


def fitted_table(measured: Measurement, answers: Answers, *, non_negative: bool) -> Floats:
    """The table of all columns that fits best; without `non_negative` the one whose unmeasured
    residuals are 0."""
    sizes, full = measured.sizes, tuple(range(len(measured.sizes)))
    known = residuals(measured, answers, list(measured.weights))
    every = {part: known.get(part, _zeros(sizes, part)) for part in closure([full])}
    start = put_together(sizes, every, full)
    if not non_negative:
        return start

    def spread(values: Floats, one: Marginal) -> Floats:
        return values.reshape([size if j in one else 1 for j, size in enumerate(sizes)])

    largest = sum(
        weight * cells(sizes, [j for j in full if j not in one])
        for one, weight in measured.weights.items()
    )
    return _projected(measured.weights, answers, start, largest, marginal_of, spread)


def fitted_hierarchy(
    measured: NestedMeasurement, answers: Answers, *, non_negative: bool
) -> Floats:
    """The same for a table with a hierarchy: its deepest level and all other columns."""
    start, full = nested_table(measured, answers), finest(measured)
    if not non_negative:
        return start
    ones = np.ones(start.shape)
    largest = sum(
        weight * float(summed(measured, full, ones, one).max())
        for one, weight in measured.weights.items()
    )
    return _projected(
        measured.weights,
        answers,
        start,
        largest,
        lambda table, one: summed(measured, full, table, one),
        lambda values, one: spread_out(measured, one, values, full),
    )


def _zeros(sizes: Sequence[int], marginal: Sequence[int]) -> Floats:
    return np.zeros([sizes[j] for j in marginal])


def marginal_of(table: Floats, marginal: Sequence[int]) -> Floats:
    """A marginal of a table of all columns."""
    return np.asarray(table.sum(axis=tuple(j for j in range(table.ndim) if j not in marginal)))


def _projected(
    weights: Mapping[Marginal, float],
    answers: Answers,
    start: Floats,
    largest: float,
    add_up: AddUp,
    spread: SpreadOut,
) -> Floats:
    """The least over x ≥ 0, by steps of 1/L with momentum that starts again where it leads up; L,
    `largest`, is Σ w_M·(the cells of the table in one of M), at most."""
    noise = 1.0 / math.sqrt(max(weights.values()))

    def slope(table: Floats) -> Floats:
        total = np.zeros_like(table)
        for one, weight in weights.items():
            total += spread(weight * (add_up(table, one) - answers[one]), one)
        return total

    found = np.maximum(start, 0.0)
    ahead, speed = found, 1.0
    for _ in range(_ROUNDS):
        falls = slope(ahead)
        moved = np.maximum(ahead - falls / largest, 0.0)
        step = moved - found
        if np.abs(moved - ahead).max() * largest <= _CLOSE / noise:
            return moved
        if float(np.sum(falls * step)) > 0.0:
            speed = 1.0
        faster = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * speed**2))
        ahead = moved + (speed - 1.0) / faster * step
        found, speed = moved, faster
    return found


# Whole numbers


def rounded(table: Floats, published: Sequence[Marginal]) -> dict[Marginal, Floats]:
    """The published marginals of a table as whole numbers that add up."""
    wanted = {one: marginal_of(table, one) for one in published}
    if all(_is_whole(values) for values in wanted.values()):
        return {one: np.round(values) for one, values in wanted.items()}
    chain = sorted(published, key=len)
    if all(set(small) <= set(large) for small, large in pairwise(chain)):
        return _nested(table, chain)
    if all(len(one) <= 1 for one in published):
        return _margins(table, published)
    if table.ndim == 2:
        return _two_way(table, published)
    units = _shared_out(table.ravel(), round(float(table.sum()))).reshape(table.shape)
    return {one: marginal_of(units, one) for one in published}


def rounded_hierarchy(
    measured: NestedMeasurement, table: Floats, published: Sequence[Marginal]
) -> dict[Marginal, Floats]:
    """The same for a table with a hierarchy: top down where it has no other column, else its
    finest cells are rounded and added up."""
    full, tree = finest(measured), measured.hierarchy
    if tree.rest(full):
        units = _shared_out(table.ravel(), round(float(table.sum()))).reshape(table.shape)
        return {one: summed(measured, full, units, one) for one in published}
    parents = [float(round(float(table.sum())))]
    found: dict[Marginal, Floats] = {(): np.array(parents[0])}
    for level, column in enumerate(tree.columns, start=1):
        values, above = summed(measured, full, table, (column,)), tree.above(level)
        whole: Floats = np.zeros(len(values))
        for parent, total in enumerate(parents):
            own = np.flatnonzero(above == parent)
            whole[own] = _shared_out(values[own], total)
        found[column,] = whole
        parents = whole.tolist()
    return {one: found[one] for one in published}


def _is_whole(values: Floats) -> bool:
    return bool(np.all(np.abs(values - np.round(values)) < _WHOLE))


def _shared_out(values: Floats, total: float) -> Floats:
    """Whole numbers of a whole sum: floors, and the missing units to the largest remainders."""
    floors = np.floor(values + _WHOLE)
    missing = round(total - float(floors.sum()))
    order = np.argsort(floors - values, kind="stable")
    if missing < 0:  # where the sum is to be less than all floors
        order = np.argsort(values - floors, kind="stable")
    each, rest = divmod(abs(missing), max(len(values), 1))
    floors += math.copysign(each, missing)
    floors[order[:rest]] += math.copysign(1.0, missing)
    return floors


def _nested(table: Floats, chain: Sequence[Marginal]) -> dict[Marginal, Floats]:
    """Top down: the cells of each marginal share out those of the one before."""
    above: Marginal = ()
    parents = np.array(float(round(float(table.sum()))))
    found: dict[Marginal, Floats] = {(): parents}
    for one in chain:
        if one == above:
            continue
        order = (*above, *(j for j in one if j not in above))
        values = marginal_of(table, one).transpose([one.index(j) for j in order])
        lines = values.reshape(parents.size, -1)
        whole = [_shared_out(*pair) for pair in zip(lines, parents.ravel(), strict=True)]
        units = np.array(whole).reshape(values.shape)
        parents = units.transpose([order.index(j) for j in one])
        found[one], above = parents, one
    return {one: found[one] for one in chain}


def _margins(table: Floats, published: Sequence[Marginal]) -> dict[Marginal, Floats]:
    total = float(round(float(table.sum())))
    return {
        one: _shared_out(marginal_of(table, one), total) if one else np.array(total)
        for one in published
    }


def _two_way(table: Floats, published: Sequence[Marginal]) -> dict[Marginal, Floats]:
    """Cells, margins and total each between floor and ceiling, moved the least on the whole: what
    is rounded up costs 1 − 2·(its remainder)."""
    rows, columns = table.shape
    number = np.arange(table.size).reshape(table.shape)
    groups = [number.ravel()[[i]] for i in range(table.size)]
    groups += [number[i] for i in range(rows)] + [number[:, j] for j in range(columns)]
    groups.append(number.ravel())
    kinds: list[Marginal] = [(0, 1)] * table.size + [(0,)] * rows + [(1,)] * columns + [()]
    sums = np.array([table.ravel()[group].sum() for group in groups])
    floors = np.floor(sums + _WHOLE)
    up = np.where(sums - floors > _WHOLE, 1.0, 0.0)
    counted = np.array([1.0 if kind in published else 0.0 for kind in kinds])
    base = floors[: table.size]
    # Each cell is its floor and 0 or 1; a sum of those units lies between what it lacks.
    matrix = sparse.csr_matrix(
        (
            np.ones(sum(map(len, groups))),
            np.concatenate(groups),
            np.cumsum([0, *map(len, groups)]),
        )
    )
    lacking = floors - matrix @ base
    price = counted * (1.0 - 2.0 * (sums - floors))
    solved = optimize.linprog(
        matrix.T @ price,
        A_ub=sparse.vstack([matrix[table.size :], -matrix[table.size :]]),
        b_ub=np.concatenate([(lacking + up)[table.size :], -lacking[table.size :]]),
        bounds=list(zip(np.zeros(table.size), up[: table.size], strict=True)),
        method="highs-ds",
    )
    units = (base + np.round(solved.x)).reshape(table.shape)
    return {one: marginal_of(units, one) for one in published}
