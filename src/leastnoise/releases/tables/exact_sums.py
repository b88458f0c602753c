"""Published numbers whose sums agree to the last digit, and not to rounding errors.

The numbers of all marginals are put on one grid of 2^−k. In each marginal, the smaller ones first,
every cell that is the last along no axis (of a hierarchy: that is not the last child of its parent)
is rounded to the grid; what is left of each sum is the last cell, axis by axis. So every sum agrees
with the smaller marginal, which is there already:

    after axis 1 the sums along it agree wherever the place on axis 2 is not the last;
    after axis 2 those along axis 2 agree, and at its last place those along axis 1 still do:
    Σ₁ x(·, last) = Σ₁ (x₁ − Σ₂' x) = x_∅ − Σ₂' x₂ = x₂(last), Σ₂' over all places but the last

and so on. k is as large as lets all sums be exact in 64-bit floats, at most 30: of a million rows
the numbers move by less than 1e-9 for each cell that is added up. It is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from leastnoise.releases.tables.columns import Marginal, closure
from leastnoise.releases.tables.hierarchies import Hierarchy, Places
from leastnoise.releases.tables.reconstruction import Floats

_FINEST = 30  # binary digits after the point
_EXACT = 51  # binary digits of a sum that is exact, with room for the rounding


def sums_of(published: Iterable[Marginal], hierarchy: Hierarchy | None) -> tuple[Marginal, ...]:
    """The marginals that the sums of these are, and these, the smaller ones first."""
    if hierarchy is None:
        return closure(published)
    found = {
        tuple(sorted({*part, *hierarchy.columns[level - 1 : level]}))
        for one in published
        for part in closure([hierarchy.rest(one)])
        for level in range(hierarchy.level(one) + 1)
    }
    return tuple(sorted(found, key=lambda one: (len(one), hierarchy.level(one), one)))


def grid_of(values: Mapping[Marginal, Floats]) -> float:
    """2^−k for numbers as large as these."""
    largest = max(float(np.abs(each).sum()) for each in values.values())
    return 2.0 ** -min(_FINEST, _EXACT - math.ceil(math.log2(largest + 1.0)))


def with_exact_sums(
    values: Mapping[Marginal, Floats], hierarchy: Hierarchy | None = None
) -> dict[Marginal, Floats]:
    """The numbers of marginals, with all that their sums are, moved so that sums are exact."""
    grid = grid_of(values)
    found: dict[Marginal, Floats] = {}
    for one in sums_of(values, hierarchy):
        units = np.array(np.rint(values[one] / grid))
        for axis, j in enumerate(one):
            smaller, parents = _above(one, j, units.shape[axis], hierarchy)
            total = found[smaller]
            level = 0 if hierarchy is None else hierarchy.level(smaller)
            if hierarchy is not None and j in hierarchy.columns and level:
                total = np.moveaxis(total, smaller.index(hierarchy.columns[level - 1]), 0)
            else:
                total = total[None]
            _settle(np.moveaxis(units, axis, 0), total, parents)
        found[one] = units
    return {one: units * grid for one, units in found.items()}


def _above(
    marginal: Marginal, column: int, count: int, hierarchy: Hierarchy | None
) -> tuple[Marginal, Places]:
    """The marginal that the sums along a column are, and the place there of each key."""
    left = tuple(j for j in marginal if j != column)
    if hierarchy is None or column not in hierarchy.columns:
        return left, np.zeros(count, dtype=np.intp)
    level = hierarchy.level(marginal)
    upper = hierarchy.columns[level - 2 : level - 1] if level > 1 else ()
    return tuple(sorted((*left, *upper))), hierarchy.above(level)


def _settle(units: Floats, totals: Floats, parents: Places) -> None:
    """The last of each parent's children, along the first axis, is what the others leave."""
    last = np.zeros(len(totals), dtype=np.intp)
    np.maximum.at(last, parents, np.arange(len(parents)))
    units[last] = 0.0
    added = np.zeros_like(totals)
    np.add.at(added, parents, units)
    units[last] = totals - added
