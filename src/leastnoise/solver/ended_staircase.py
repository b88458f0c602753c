"""One release: the staircase that ends, in closed form.

A law of heights e^(−ε·level), the level rising by one every m shells from shell γ on, that ends at
shell T is (ε, δ_F)-private with one release, δ_F being what a shift carries out of its end. It is a
stack of cubes, so its mass, cost and δ_F are sums over its levels. With r_l = γ − 1 + lm the radius
of level l, L the level of shell T, and |A ∖ B| the points of the cube of radius A outside the cube
of radius B around the corner (m, …, m),

    mass     = Σ_{l<L} (e^(−lε) − e^(−(l+1)ε)) (2r_l + 1)^d + e^(−Lε) (2T + 1)^d,
    mass·δ_F = (e^(−(L−1)ε) − e^(−Lε))·|r_{L−1} ∖ T| + e^(−Lε)·|T ∖ T|,

all cubes further in being covered. The atom, no noise at all, has δ = 1 and the least cost there
is. A mixture has exactly the mixture of the costs and at most that of the δ, which is convex. So at
a given ε the least cost of a mixture is the lower convex hull of the points (δ_F, cost) at δ, and
two laws make it.

For one answer this is the optimum over all non-increasing laws: it agrees with the linear program
of `linear` to 1e-7 of ε where both were tried, in milliseconds and with any number of shells. For
joint laws it was found up to 1.4e-3 above the program. With several releases, each given its share
of δ, it is one candidate among others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from leastnoise.lattice.shells import Floats
from leastnoise.solver.budget import Cubes, LatticeBudget
from leastnoise.solver.certificate import hull_at

Indices = NDArray[np.int64]

_MOST_POINTS = 60_000  # laws (γ, T) looked at in one go; where there are more, coarsely first
_MOST_WIDTHS = 40
_MOST_SHELLS = 1_000_000
# share of δ kept for rounding: a law whose end alone has a probability above δ has no ε at all
_KEPT = 1e-8
_FAINT = 1e-4  # share of δ that the longest law looked at has beyond its end
_LARGEST_LOSS = 300.0
_ATOM = -1  # stands for the end of the law without noise


@dataclass(frozen=True, eq=False)
class EndedLaw:
    """log h of shells 0, 1, …: with one release it is (`epsilon`, δ)-private."""

    epsilon: float
    log_h: Floats


@dataclass(frozen=True)
class _Mixture:
    """Two laws (width γ, end T) and the share of the second."""

    cost: float
    one: tuple[int, int]
    other: tuple[int, int]
    share: float


def best_ended(lattice: LatticeBudget, delta: float, enough: float) -> EndedLaw | None:
    """The mixture of least ε at this budget and δ; `enough` is an ε that surely suffices, that of
    the best staircase.

    None where the laws would have too many shells.
    """
    if enough > _LARGEST_LOSS:
        return None
    aim = delta * (1.0 - _KEPT)
    # e^(−εT/m) (2T)^d has fallen to a small share of δ; the search says when it was not far enough.
    reach = (math.log(1.0 / (_FAINT * delta)) + 2.0 * lattice.dimension) / enough
    last = math.ceil((3.0 + reach) * lattice.shift)
    while last <= _MOST_SHELLS:
        cubes = Cubes.of(lattice, last)
        found = _least_epsilon(cubes, aim, enough)
        if found is None:
            return None
        epsilon, mixture = found
        # At the end of the window the law may be as good as one without an end, δ going to the
        # atom; else the window was too short.
        lost, _ = _points(cubes, epsilon, np.array([mixture.one[0]]), np.array([last]))
        if max(mixture.one[1], mixture.other[1]) < 0.9 * last or lost[0, 0] <= _FAINT * delta:
            return EndedLaw(epsilon, _law(cubes, epsilon, mixture))
        last *= 2
    return None


def _least_epsilon(cubes: Cubes, delta: float, enough: float) -> tuple[float, _Mixture] | None:
    """The ε at which the least cost is the budget, and the mixture that has it."""

    def excess(epsilon: float) -> float:
        return math.log(_least_cost(cubes, epsilon, delta).cost / cubes.lattice.budget)

    high = enough * (1.0 + 1e-9)
    if excess(high) > 0.0:
        return None
    if excess(0.0) <= 0.0:
        return 0.0, _without_loss(cubes, delta)
    epsilon = float(brentq(excess, 0.0, high, xtol=1e-16, rtol=1e-14))
    return epsilon, _least_cost(cubes, epsilon, delta)


def _without_loss(cubes: Cubes, delta: float) -> _Mixture:
    """ε = 0 is enough: the budget then buys a smaller δ."""
    budget, last = cubes.lattice.budget, cubes.last

    def excess(log_delta: float) -> float:
        return math.log(_least_cost(cubes, 0.0, math.exp(log_delta)).cost / budget)

    least = float(_points(cubes, 0.0, np.ones(1, np.int64), np.array([last]))[0][0, 0])
    high = math.log(delta)
    low = high
    while excess(low) < 0.0:
        low -= 0.5
        if least >= math.exp(low):  # the window is too short: it is doubled
            return _Mixture(budget, (1, last), (1, last), 0.0)
    return _least_cost(cubes, 0.0, math.exp(float(brentq(excess, low, high, xtol=1e-14))))


def _least_cost(cubes: Cubes, epsilon: float, delta: float) -> _Mixture:
    """The cheapest mixture at (ε, δ).

    1. Of all widths and ends where they are few, else of every so many of both.
    2. While some between were left out: of ever finer ones around the best so far.
    """
    m, last = cubes.lattice.shift, cubes.last
    is_few = m * (last + 1) <= _MOST_POINTS
    most_ends = _MOST_POINTS // min(m, _MOST_WIDTHS)
    by_width = 1 if is_few else math.ceil(m / _MOST_WIDTHS)
    by_end = 1 if is_few else math.ceil((last + 1) / most_ends)
    widths, ends = np.arange(1, m + 1, by_width), np.arange(0, last + 1, by_end)
    while True:
        best = _cheapest(cubes, epsilon, delta, widths, np.append(ends, last))
        if by_width == by_end == 1:
            return best
        near = 2 * max(by_width, by_end)
        by_width = math.ceil(4 * by_width / _MOST_WIDTHS)
        by_end = math.ceil(4 * near / most_ends)
        near_width = 2 * by_width * (_MOST_WIDTHS // 4)
        widths = _around({best.one[0], best.other[0]}, near_width, by_width, 1, m)
        ends = _around({best.one[1], best.other[1]} - {_ATOM}, near, by_end, 0, last)


def _around(places: set[int], reach: int, by: int, first: int, last: int) -> Indices:
    windows = [np.arange(place - reach, place + reach + 1, by) for place in places]
    windows.append(np.fromiter(places, dtype=np.int64))
    near = np.unique(np.concatenate(windows))
    return np.asarray(near[(near >= first) & (near <= last)], dtype=np.int64)


def _cheapest(
    cubes: Cubes, epsilon: float, delta: float, widths: Indices, ends: Indices
) -> _Mixture:
    """The lower convex hull of the points (δ_F, cost) and the atom, at δ."""
    lost, cost = _points(cubes, epsilon, widths, ends)
    x, c = np.append(lost.ravel(), 1.0), np.append(cost.ravel(), cubes.cost[0])
    left = x < delta
    if not np.any(left):
        return _Mixture(math.inf, (1, _ATOM), (1, _ATOM), 0.0)
    height = c - hull_at(x, c, delta).slope * x
    i = int(np.flatnonzero(left)[np.argmin(height[left])])
    j = int(np.flatnonzero(~left)[np.argmin(height[~left])])
    share = (delta - x[i]) / (x[j] - x[i])

    def law(index: int) -> tuple[int, int]:
        if index == x.size - 1:
            return 1, _ATOM
        width, end = divmod(index, ends.size)
        return int(widths[width]), int(ends[end])

    return _Mixture(float((1.0 - share) * c[i] + share * c[j]), law(i), law(j), float(share))


def _points(cubes: Cubes, epsilon: float, widths: Indices, ends: Indices) -> tuple[Floats, Floats]:
    """δ_F and cost of the law of every width (rows) and end (columns)."""
    d, m, log_count = cubes.lattice.dimension, cubes.lattice.shift, cubes.log_count
    radius = np.arange(cubes.last + 1)
    # No cube of any law weighs more.
    scale = float(np.max(log_count - epsilon * np.maximum(radius - m, 0) / m))
    level = -(-np.maximum(ends - widths[:, None] + 1, 0) // m)
    most = int(level.max())
    step = -math.expm1(-epsilon)
    inner = widths[:, None] - 1 + m * np.arange(most)
    known = inner <= cubes.last
    inner = np.minimum(inner, cubes.last)
    weight = np.where(
        known, step * np.exp(log_count[inner] - epsilon * np.arange(most) - scale), 0.0
    )
    nothing = np.zeros((widths.size, 1))
    row = np.arange(widths.size)[:, None]
    below = np.cumsum(np.hstack([nothing, weight]), axis=1)[row, level]
    below_cost = np.cumsum(np.hstack([nothing, weight * cubes.cost[inner]]), axis=1)[row, level]
    top = np.exp(log_count[ends] - epsilon * level - scale)
    mass = below + top
    # Of hundreds of answers the inner cubes weigh nothing beside the largest: such laws count as if
    # they kept nothing.
    is_nothing = mass == 0.0
    mass = np.where(is_nothing, 1.0, mass)
    cost = np.where(is_nothing, cubes.cost[ends], (below_cost + top * cubes.cost[ends]) / mass)
    with np.errstate(divide="ignore"):
        share = -np.expm1(d * np.log1p(-np.minimum(m / (2.0 * ends + 1.0), 1.0)))  # of T outside T
        before = np.where(level > 0, widths[:, None] - 1 + (level - 1) * m, 0)
        missed = np.clip((before + m - ends) / (2.0 * before + 1.0), 0.0, 1.0)
        part = np.where(level > 0, -np.expm1(d * np.log1p(-missed)), 0.0)  # of r_{L−1} outside T
    previous = step * np.exp(log_count[before] - epsilon * (level - 1) - scale)
    return np.where(is_nothing, 1.0, (top * share + previous * part) / mass), cost


def _law(cubes: Cubes, epsilon: float, mixture: _Mixture) -> Floats:
    """log h of the mixture; levels stay level to the bit, and nothing rises."""
    size = max(mixture.one[1], mixture.other[1], 0) + 1

    def log_h(width: int, end: int) -> Floats:
        if end == _ATOM:
            return np.where(np.arange(size) == 0, 0.0, -np.inf)
        k = np.arange(end + 1)
        level = -(-np.maximum(k - width + 1, 0) // cubes.lattice.shift)
        log_weight = -epsilon * level
        # The mass as a sum over the cubes of the law, which its steps end.
        drop = np.append(-np.expm1(np.diff(log_weight)), 1.0)
        with np.errstate(divide="ignore"):
            logs = np.log(drop) + log_weight + cubes.log_count[: end + 1]
        top = float(np.max(logs))
        log_mass = top + math.log(float(np.sum(np.exp(logs - top))))
        return np.concatenate([log_weight - log_mass, np.full(size - end - 1, -np.inf)])

    if mixture.share <= 0.0:
        return log_h(*mixture.one)
    one = log_h(*mixture.one) + math.log1p(-mixture.share)
    other = log_h(*mixture.other) + math.log(mixture.share)
    return np.asarray(np.maximum.accumulate(np.logaddexp(one, other)[::-1])[::-1])
