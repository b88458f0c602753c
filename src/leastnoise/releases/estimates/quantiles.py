"""Quantiles from the noisy counts of a tree, with intervals in values that hold.

The quantile at q is the first place of the public lattice up to which a share q of the values is,
and its value that place's. `tables.count_trees` puts the counts of all levels together and finds
it, with all places that the noise does not contradict; the proof that those hold the true one in
95 % of releases is in docs/mathematics.md#quantiles-from-a-tree-of-counts. Where the estimated
number of values is within `FEW` of its standard deviations from zero, nothing is said.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from leastnoise.releases.estimates.ratios import FEW
from leastnoise.releases.estimates.reconstructed import symmetric
from leastnoise.releases.estimates.row import ReleasedRow
from leastnoise.releases.estimates.trials import CONFIDENCE
from leastnoise.releases.noise.mechanism import Mechanism
from leastnoise.releases.noise.sensitivity import Block, answers_for
from leastnoise.releases.plan.keys import group_keys, groups
from leastnoise.releases.plan.statistic import Statistic, Values
from leastnoise.releases.tables.count_trees import CountTree, TreeQuantiles
from leastnoise.releases.tables.intervals import ErrorPart, SymmetricLaw, half_width


def tree_entries(made: Mechanism, statistic: Statistic) -> list[list[int]]:
    """The entries that the quantiles of each group are computed from, level after level, once for
    each quantile."""
    blocks = _levels(made, statistic)
    starts = _starts(made)
    each = len(groups(statistic.group_by))
    found: list[list[int]] = [[] for _ in range(each)]
    for b, block in blocks:
        nodes = len(block.groups) // each
        for g, own in enumerate(found):
            first = starts[b] + g * nodes
            own += range(first, first + nodes)
    return [entries for entries in found for _ in statistic.at]


@lru_cache(maxsize=4)
def _starts(made: Mechanism) -> dict[int, int]:
    """The first entry of each block, whose entries are one after the other."""
    found: dict[int, int] = {}
    for i, entry in enumerate(made.entries):
        found.setdefault(entry.block, i)
    return found


def _levels(made: Mechanism, statistic: Statistic) -> list[tuple[int, Block]]:
    asked = (statistic.group_by, answers_for(statistic))
    return [
        (b, block)
        for b, block in enumerate(made.blocks)
        if block.level is not None and (block.group_by, block.answers) == asked
    ]


def tree_of(made: Mechanism, statistic: Statistic) -> CountTree:
    """The tree that a quantile comes from."""
    level = _levels(made, statistic)[0][1].level
    if level is None:
        raise LookupError(statistic.name)
    return level.tree


def _law(made: Mechanism, entry: int) -> SymmetricLaw:
    """The noise on a count of a tree, in rows."""
    return _drawn_law(made, made.draws[made.place_of[entry][0]].law)


@lru_cache(maxsize=16)
def _drawn_law(made: Mechanism, law: int) -> SymmetricLaw:
    return symmetric(made.laws[law].noise)


def quantile_rows(
    statistic: Statistic, used: Sequence[Sequence[int]], made: Mechanism, noisy: Sequence[float]
) -> Iterator[ReleasedRow]:
    """The quantiles of every group; `used` has the entries of each once for every quantile."""
    values = statistic.values
    if values is None:
        return
    tree, each = tree_of(made, statistic), len(statistic.at)
    ends = np.cumsum([tree.nodes(level) for level in range(1, tree.levels)])
    law = _law(made, used[0][0])
    for g, group in enumerate(group_keys(statistic.group_by)):
        counted = np.array([noisy[i] for i in used[g * each]])
        known = TreeQuantiles.of(tree, np.split(counted, ends), law, values.last - values.first)
        is_enough = known.number >= max(FEW * known.number_std, 1.0)
        for part, q in zip(statistic.parts, statistic.at, strict=True):
            keys = (*group, *part)
            title = ", ".join(f"{column} = {shown}" for column, shown in keys)
            named = (statistic.name, statistic.kind, title)
            if not is_enough:
                yield ReleasedRow(*named, None, math.nan, math.nan, keys=keys)
                continue
            found = known.quantile(q)
            value, low, high = (
                _value(values, place) for place in (found.place, found.first, found.last)
            )
            width = max(value - low, high - value)
            yield ReleasedRow(*named, value, math.nan, width, keys=keys, interval=(low, high))


def _value(values: Values, place: int) -> float:
    """What a place of the lattice stands for; the bounds' own places, for the bounds."""
    value = float((values.first + place) * values.exact_pitch)
    return min(max(value, values.lower), values.upper)


@lru_cache(maxsize=64)
def rank_noise(made: Mechanism, statistic: Statistic) -> tuple[float, float]:
    """By how many rows noise misplaces a median: the root of the mean square over all places, and
    the 95 % half-width at a place where it is about that."""
    tree, entries = tree_of(made, statistic), tree_entries(made, statistic)
    law, mean = _law(made, entries[0][0]), tree.mean_variance(0.5)
    t = np.arange(1, tree.places + 1)
    usual = t[[int(np.argmin(np.abs(tree.variances(t, 0.5) - mean)))]]
    weights, counts = tree.weights(usual, 0.5)
    parts = [
        ErrorPart(law, float(weight), int(count))
        for weight, count in zip(weights[:, 0], counts[:, 0], strict=True)
        if count
    ]
    return math.sqrt(mean * law.variance), half_width(parts, CONFIDENCE)
