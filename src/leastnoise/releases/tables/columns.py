"""Sets of columns: marginals, their cells, and the hidden key "other".

Columns are numbered from 0, each with a number of keys; a *marginal* is a set of columns, written
as a rising tuple, and has one cell for each combination of their keys. The *residual* of a marginal
A is what it adds to all smaller ones: A with the mean along each axis taken away, one axis after
the other.

**The hidden key.** A row whose key in a column is not declared counts in every marginal without
that column. So the coarser marginal is the sum of the finer one only if such rows have a key there:
a column that some published marginal leaves out gets one key more, "other". Its cells cost nothing,
for a person is still in one cell of each marginal. A column that is in every published marginal
needs none, nor does one whose keys are declared complete: rows with another key then count nowhere.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, combinations
from typing import TypeVar

Marginal = tuple[int, ...]
Size = TypeVar("Size", int, float)


def cells(sizes: Sequence[Size], marginal: Iterable[int]) -> Size | int:
    """n_S: how many cells a marginal has."""
    return math.prod(sizes[j] for j in marginal)


def without(marginal: Iterable[int], other: Collection[int]) -> Marginal:
    """The columns of a marginal that another one does not have."""
    return tuple(j for j in marginal if j not in other)


def subsets(marginal: Sequence[int]) -> Iterator[Marginal]:
    """Every marginal of a marginal, the smallest first."""
    return chain.from_iterable(combinations(marginal, size) for size in range(len(marginal) + 1))


def closure(marginals: Iterable[Sequence[int]]) -> tuple[Marginal, ...]:
    """Every marginal of any of these, each once, the smallest first."""
    found = {part for marginal in marginals for part in subsets(marginal)}
    return tuple(sorted(found, key=lambda part: (len(part), part)))


def residual_share(sizes: Sequence[float], residual: Iterable[int]) -> float:
    """p_A: the share of a cell's variance that its residual keeps, Π (1 − 1/n_j)."""
    return math.prod(1.0 - 1.0 / sizes[j] for j in residual)


def residual_dimension(sizes: Sequence[float], residual: Iterable[int]) -> float:
    """How many numbers a residual is made of, Π (n_j − 1)."""
    return math.prod(sizes[j] - 1 for j in residual)


def needs_hidden_key(
    count: int, published: Collection[Collection[int]], complete: Collection[int] = ()
) -> tuple[bool, ...]:
    """Of each of so many columns, whether it needs the key "other"."""
    return tuple(
        j not in complete and any(j not in marginal for marginal in published) for j in range(count)
    )
