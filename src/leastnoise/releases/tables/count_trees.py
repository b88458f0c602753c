"""Counts of the places of a lattice, level by level, and the number of rows below each place.

D places 0, 1, …, D − 1 are the leaves of a balanced tree with the branchings b_1, …, b_L,
b_1·…·b_L = D. The histogram of every level 1..L is measured, all with independent noise of one law
of variance 1, the total is not. With B(ℓ, k) = b_{ℓ+1}·…·b_k and

    τ_ℓ = Σ_{k ≥ max(ℓ, 1)} 1/B(ℓ, k)                     precision of what level ℓ adds

the least-squares estimate of g(t) = #{rows at places < t} − q·#{rows} is linear in the measured
counts (docs/mathematics.md#quantiles-from-a-tree-of-counts). With i children of the node of level
ℓ − 1 that holds t wholly below it and a fraction f of the next one,

    a_0 = t/D − q      a_ℓ = [wholly below] or f − (i + f)/b_ℓ      of a child there, 0 elsewhere
    Var ĝ(t) = a_0²/τ_0 + Σ_ℓ (i + f² − (i + f)²/b_ℓ)/τ_ℓ
    weight of the count of a node u of level k:
                   Σ_{ℓ ≤ k} a_ℓ(the node of level ℓ above u)/(τ_ℓ B(ℓ, k))

So the nodes of a level have few different weights: those that leave the path to t at the same level
and on the same side have the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from leastnoise.errors import InvalidParameterError
from leastnoise.releases.tables.intervals import SymmetricLaw

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

MOST_LEVELS = 6
# Times the even branching, that is tried on each level but the last: 4, 8, 8 is better than
# 8, 8, 4 of 256 places, by 1 %.
_TRIED = (0.5, 0.71, 1.0, 1.42, 2.0)


@dataclass(frozen=True)
class CountTree:
    """A balanced tree over places, by the number of children of a node on each level."""

    branchings: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.branchings or min(self.branchings) < 2:
            raise InvalidParameterError("branchings", self.branchings, "to be numbers of 2 or more")

    @cached_property
    def places(self) -> int:
        """D."""
        return math.prod(self.branchings)

    @property
    def levels(self) -> int:
        """L."""
        return len(self.branchings)

    def nodes(self, level: int) -> int:
        """How many nodes a level has, of 1..L."""
        return math.prod(self.branchings[:level])

    def width(self, level: int) -> int:
        """How many places a node of a level has."""
        return math.prod(self.branchings[level:])

    @cached_property
    def precisions(self) -> tuple[float, ...]:
        """τ_0, …, τ_L."""
        return tuple(
            math.fsum(
                1.0 / math.prod(self.branchings[level:k])
                for k in range(max(level, 1), self.levels + 1)
            )
            for level in range(self.levels + 1)
        )

    def mean_variance(self, q: float) -> float:
        """The mean of Var ĝ(t) over t = 0, …, D − 1."""
        d, taus = self.places, self.precisions
        total = ((d - 1) * (2 * d - 1) / (6 * d * d) - q * (d - 1) / d + q * q) / taus[0]
        for level, b in enumerate(self.branchings, start=1):
            m = self.width(level)
            of_i, of_ii = (b - 1) / 2, (b - 1) * (2 * b - 1) / 6
            of_f, of_ff = (m - 1) / (2 * m), (m - 1) * (2 * m - 1) / (6 * m * m)
            total += (of_i + of_ff - (of_ii + 2 * of_i * of_f + of_ff) / b) / taus[level]
        return total

    def _along(self, t: Places) -> list[tuple[Floats, Floats]]:
        """i and f of each level; of t = D those of 0, where they say the same."""
        inside = np.where(t == self.places, 0, t)
        found = []
        for level, b in enumerate(self.branchings, start=1):
            width = self.width(level)
            i = ((inside // width) % b).astype(np.float64)
            found.append((i, (inside % width) / width))
        return found

    def variances(self, t: Places, q: float) -> Floats:
        """Var ĝ(t)."""
        found = (t / self.places - q) ** 2 / self.precisions[0]
        for (i, f), b, tau in zip(
            self._along(t), self.branchings, self.precisions[1:], strict=True
        ):
            found = found + (i + f**2 - (i + f) ** 2 / b) / tau
        return np.asarray(found, dtype=np.float64)

    def weights(self, t: Places, q: float) -> tuple[Floats, Floats]:
        """The different weights in ĝ(t) of the measured counts, and how many have each: a row for
        each class of nodes, a column for each t."""
        along = self._along(t)
        found: list[tuple[Floats, Floats]] = []
        for k in range(1, self.levels + 1):
            shared = (t / self.places - q) / (self.precisions[0] * self.nodes(k))
            for j in range(1, k + 1):
                (i, f), b = along[j - 1], self.branchings[j - 1]
                below = math.prod(self.branchings[j:k])
                scale = 1.0 / (self.precisions[j] * below)
                mean = (i + f) / b
                found.append((shared + (1.0 - mean) * scale, i * below))
                found.append((shared - mean * scale, (b - 1.0 - i) * below))
                shared = shared + (f - mean) * scale
            found.append((shared, np.ones_like(shared)))  # the node of level k that holds t
        weights, counts = zip(*found, strict=True)
        return np.array(weights), np.array(counts)


def tree_counts(tree: CountTree, measured: Sequence[Floats]) -> Floats:
    """The least-squares estimates of the counts of all places, from those of all levels."""
    up, sums = [np.asarray(measured[-1], dtype=np.float64)], list[Floats]()
    precision = 1.0
    for level in range(tree.levels - 1, -1, -1):
        b = tree.branchings[level]
        spread, total = b / precision, up[-1].reshape(-1, b).sum(axis=1)
        sums.append(total)
        if level == 0:
            up.append(total)
            break
        precision = 1.0 + 1.0 / spread
        up.append((np.asarray(measured[level - 1]) + total / spread) / precision)
    found = up.pop()
    for level, b in enumerate(tree.branchings):
        own, total = up.pop(), sums.pop()
        found = own + np.repeat((found - total) / b, b)
        if level == tree.levels - 1:
            break
    return found


# Which tree


@lru_cache(maxsize=256)
def best_branchings(places: int, levels: int) -> CountTree | None:
    """The tree of so many levels over at least so many places whose ĝ of a median varies the least,
    over all t; None where the places are too few for so many levels."""
    if places < 2**levels:
        return None
    even = places ** (1.0 / levels)
    tried = sorted({max(2, round(even * factor)) for factor in _TRIED})
    found: list[tuple[float, CountTree]] = []
    for first in product(tried, repeat=levels - 1):
        last = -(-places // math.prod(first))
        if last >= 2:
            tree = CountTree((*first, last))
            found.append((tree.mean_variance(0.5), tree))
    if not found:
        return None
    return min(found, key=lambda one: (one[0], one[1].branchings))[1]


def best_tree(places: int, cost: Callable[[int], float]) -> CountTree:
    """The tree of 1 to 6 levels with the least of log sd(ĝ) + cost(levels)."""
    found: list[tuple[float, int, CountTree]] = []
    for levels in range(1, MOST_LEVELS + 1):
        tree = best_branchings(max(places, 2), levels)
        if tree is not None:
            spread = 0.5 * math.log(tree.mean_variance(0.5))
            found.append((spread + cost(levels), levels, tree))
    return min(found)[2]


# Quantiles


_SMOOTHED = (0.1, 0.005)  # of the standard deviation: a first look, and the one that decides
_REACH, _BEYOND = 4.0, 6.4e-5  # of the smoothing noise, and how often it is beyond
_PERIOD = 24.0  # standard deviations
_NEVER_OUT = 1.3  # standard deviations: not worth a look
_NEGLIGIBLE = 1e-9
_AT_ONCE = 16  # nodes whose tails are computed together
_MOST = 512  # so many of these at one end: beyond, the interval stays wider
# How often an end of an interval may be wrong, and the part of it for the ends of coarser nodes.
# Of 65,536 places, 10,000 of them normal, the median's interval is 0.89 times as wide as without
# that part, of 1,000 rows and the 5 % quantile a third; of 256 places 1.05 times.
_ONE_SIDED, _COARSE = 0.025, 0.00625


@dataclass(frozen=True)
class QuantilePlace:
    """A quantile as a place, with the first and the last of its interval."""

    place: int
    first: int
    last: int


@dataclass(frozen=True)
class TreeQuantiles:
    """What is known of one column in one group: the estimated number of rows below each place.

    Attributes:
        tree: The tree.
        below: The estimates of the rows at places < t, for t = 0, …, D.
        law: The noise on a count.
        last: The last place that a value can have; those after it are there to fill the tree.
    """

    tree: CountTree
    below: Floats
    law: SymmetricLaw
    last: int

    @staticmethod
    def of(
        tree: CountTree, measured: Sequence[Floats], law: SymmetricLaw, last: int
    ) -> TreeQuantiles:
        """From the noisy histograms of all levels."""
        below = np.concatenate([[0.0], np.cumsum(tree_counts(tree, measured))])
        return TreeQuantiles(tree, below, law, last)

    @property
    def number(self) -> float:
        """The estimated number of rows."""
        return float(self.below[-1])

    @property
    def number_std(self) -> float:
        return math.sqrt(self.law.variance / self.tree.precisions[0])

    @cached_property
    def _rising(self) -> Floats:
        """The isotonic regression of `below`; one for all q, so that quantiles rise with q."""
        return np.asarray(isotonic_regression(self.below[1:]).x)

    def quantile(self, q: float) -> QuantilePlace:
        """The first place up to which a share q of the rows is, and the interval of all places that
        the noise does not contradict (docs/mathematics.md#quantiles-from-a-tree-of-counts)."""
        reached = self._rising >= q * self.number
        place = min(int(np.argmax(reached)) if reached.any() else self.last, self.last)
        first = self._end(q, before=True)
        last = self.last - self._end(q, before=False)
        return QuantilePlace(place, min(first, place), max(last, place))

    def _end(self, q: float, *, before: bool) -> int:
        """How many places, from the first on or from the last back, are out; the first that noise
        does not put out ends it.

        A place before the quantile is out if ĝ is too far below 0 at the end of a node that holds
        it, of any level; one after it, if ĝ is too far above 0 at the start of one.
        """
        levels = range(1, self.tree.levels + 1)
        known: dict[tuple[int, int], NDArray[np.bool_]] = {}
        end = 0
        while end <= self.last and len(known) < _MOST:
            place = end if before else self.last - end
            out = (one for one in levels if self._is_out(known, one, place, q, before))
            level = next(out, None)
            if level is None:
                break
            width = self.tree.width(level)
            start = place // width * width
            end = start + width if before else self.last - start + 1
        return end

    def _is_out(
        self,
        known: dict[tuple[int, int], NDArray[np.bool_]],
        level: int,
        place: int,
        q: float,
        before: bool,
    ) -> bool:
        """Whether a place is out by its node of a level. Nodes are looked at a few at a time."""
        width, levels = self.tree.width(level), self.tree.levels
        node = place // width
        first = node // _AT_ONCE * _AT_ONCE
        if (level, first) not in known:
            chance = _COARSE / (levels - 1) if level < levels else _ONE_SIDED
            chance -= _COARSE if 1 < level == levels else 0.0
            nodes = np.arange(first, min(first + _AT_ONCE, self.tree.nodes(level)))
            known[level, first] = self._are_out((nodes + before) * width, q, before, chance)
        return bool(known[level, first][node - first])

    def _are_out(self, t: Places, q: float, before: bool, chance: float) -> NDArray[np.bool_]:
        """Of each t whether noise takes ĝ(t) so far from 0, on that side, with at most this
        probability."""
        above = self.below[t] - q * self.number  # ĝ(t)
        beyond = -above if before else above
        stds = np.sqrt(self.law.variance * self.tree.variances(t, q))
        # By Chebyshev; ĝ(0) and ĝ(D) may have no noise but that of the number of rows, or none.
        out = beyond > stds / math.sqrt(2.0 * chance)
        for smooth in _SMOOTHED:
            left = np.flatnonzero(~out & (beyond > (_NEVER_OUT + _REACH * smooth) * stds))
            if left.size:
                ratio = beyond[left] / stds[left]
                held = self._held(t[left], stds[left], q, ratio - _REACH * smooth, smooth)
                out[left] = held - _BEYOND >= 1.0 - 2.0 * chance + 1e-7
        return np.asarray(out)

    def _held(self, t: Places, stds: Floats, q: float, width: Floats, smooth: float) -> Floats:
        """Pr(|noise of ĝ(t) + smoothing noise| ≤ width), in standard deviations, as `intervals`
        computes it for one t."""
        weights, counts = self.tree.weights(t, q)
        last = math.sqrt(-2.0 * math.log(_NEGLIGIBLE)) / smooth
        terms = np.arange(1.0, math.ceil(last * _PERIOD / (2.0 * math.pi)))
        points = 2.0 * math.pi * terms / _PERIOD
        values = np.tile(np.exp(-0.5 * (smooth * points) ** 2), (len(t), 1))
        size = (weights**2 * counts).mean(axis=1)
        which, term = np.nonzero(values > 0.0)
        flat = values[which, term]
        for c in np.argsort(-size):
            share = weights[c, which] / stds[which]
            each = self.law.characteristic(points[term] * share)
            flat = flat * each ** counts[c, which].astype(np.int64)
            kept = np.abs(flat) > _NEGLIGIBLE
            which, term, flat = which[kept], term[kept], flat[kept]
        waves = np.sin(points[term] * width[which]) * flat / terms[term]
        total = np.bincount(which, weights=waves, minlength=len(t))
        return np.asarray(2.0 * width / _PERIOD + 2.0 / math.pi * total)
