"""The search for an `EpsilonFloor`: from one release to n, the best claim of each stage.

`check_releases` says what a claim is. Here the same tests are found in floating point, for all
nodes of a stage at once, with the largest value and the best price ν of the variance. What is found
is a proposal; it is rounded down and checked in integers before anybody sees it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from leastnoise.floors.certificates import EpsilonFloor, Stage
from leastnoise.floors.check_releases import epsilon_fault, unproven
from leastnoise.losses.table import convex_below

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

_NODES = 800  # up to the ε of the design: rounding to the grid then costs about 1 % of ε
_FARTHEST = 1.3  # of these nodes, the last that a stage has
_FAINT = 1e-4  # of δ: values below are 0
_COARSE = 40  # nodes of a stage at which the price is searched for; interpolated between
_AT_THE_END = 16  # more of them where the values end, which they do with a kink
_WINDOW = 12.0  # standard deviations
_FINE = 8.0  # lattice points in one standard deviation, at least
_MARGIN = 2e-7  # share of a value kept for rounding
_NEWTON = 9
_SHARES = (1e-8, 1e-6, 1e-4, 1e-2)
_PRICES = 10
_CLOSE = 2e-2  # within which a price is found
_TOLD_APART = 1e13


def epsilon_floor(
    *, sigma: float, delta: float, releases: int, near: float, integers: int | None = None
) -> EpsilonFloor | None:
    """The best floor found for noise of this standard deviation, checked; None where there is none.

    Args:
        sigma: The standard deviation, in sensitivities.
        delta: Of all releases.
        releases: How many.
        near: The ε of a known law, which sets the grid.
        integers: The sensitivity, for integer noise of so many; None for real noise.
    """
    cells = _cells(sigma) if integers is None else integers
    variance = sigma * sigma + (0.25 / cells**2 if integers is None else 0.0)
    grid = _Staging(1.0 + float(np.float32(math.expm1(near / _NODES))), cells, variance, sigma)
    window, is_integer = grid.window, integers is not None
    floor = EpsilonFloor(
        0.0, delta, sigma, releases, is_integer, cells, grid.ratio, window, 0, 0.0, ()
    )
    values, hint = np.zeros(2), None
    for count in range(1, releases + 1):
        proposed, hint = _stage(grid, values, count, delta, hint)
        stage = _proven(floor, proposed)
        if not stage.values:
            return None
        values = np.append(_not_rising(np.array(stage.values)), 0.0)
        floor = replace(floor, stages=(*floor.stages, stage))
    return _concluded(floor)


def _proven(floor: EpsilonFloor, stage: Stage) -> Stage:
    """The stage without the values that do not follow exactly, which rounding may have made too
    large; their nodes then have what is claimed farther out."""
    before = floor.stages[-1].values if floor.stages else ()
    wrong = set(unproven(floor, before, stage))
    values = [0.0 if k in wrong else value for k, value in enumerate(stage.values)]
    while values and values[-1] == 0.0:
        values.pop()
    return Stage(tuple(values), stage.prices[: len(values)])


def _cells(sigma: float) -> int:
    return max(1, math.ceil(_FINE / sigma))


@dataclass(frozen=True)
class _Staging:
    """What all stages share."""

    ratio: float
    cells: int
    variance: float
    sigma: float

    @property
    def pitch(self) -> float:
        return math.log(self.ratio)

    @property
    def window(self) -> int:
        return max(math.ceil(_WINDOW * self.sigma), 3)

    def powers(self, nodes: Whole) -> Floats:
        return np.asarray(np.exp(self.pitch * nodes), dtype=np.float64)


def _concluded(floor: EpsilonFloor) -> EpsilonFloor | None:
    """The floor that the last stage gives, at the node that gives the most."""
    last, n, pitch = floor.stages[-1], floor.releases, math.log(floor.ratio)
    best, node, slack = 0.0, -1, 0.0
    for place, value in enumerate(last.values):
        if value <= floor.delta * (1.0 + 1e-9):
            continue
        r = pitch * math.sqrt(0.5 * n * -math.log(value - floor.delta)) * (1.0 + 1e-9)
        found = (place * pitch - r - n * pitch * pitch / 8.0) * (1.0 - 1e-12)
        if found > best:
            best, node, slack = found, place, r
    if node < 0:
        return None
    used = Stage((last.values[node],), (last.prices[node],), node)
    stages = (*floor.stages[:-1], used)
    found_floor = replace(floor, epsilon=best, node=node, slack=slack, stages=stages)
    return found_floor if epsilon_fault(found_floor) is None else None


@dataclass(frozen=True)
class _Hint:
    """How far the best prices of a stage are from those of normal noise, as a logarithm, along the
    nodes: much the same in the next stage."""

    share: Floats  # of the way to the last node
    logarithm: Floats


def _stage(
    grid: _Staging, before: Floats, count: int, delta: float, hint: _Hint | None
) -> tuple[Stage, _Hint | None]:
    """The claims of `count` releases from those of one less.

    1. A few nodes: the best price of the variance, by its own equation: the law that the tests
       hold off has the variance σ².
    2. All nodes: the best value at the price between.
    """
    few = _spread(0, _last_node(grid, before), _COARSE)
    prices, values = _best_prices(_Edges(grid, before, few), few, count, hint)
    end = _held(values, _FAINT * delta)
    if end == 0:
        return Stage((), ()), None
    if end < few.size:
        more = _spread(int(few[end - 1]) + 1, int(few[end]) - 1, _AT_THE_END)
        few, prices, values = few[:end], prices[:end], values[:end]
        if more.size:
            at_the_end = _best_prices(_Edges(grid, before, more), more, count, hint)
            few = np.append(few, more)
            prices, values = np.append(prices, at_the_end[0]), np.append(values, at_the_end[1])
    end = _held(values, _FAINT * delta)
    few, prices, values = few[:end], prices[:end], values[:end]
    nodes = np.arange(few[-1] + 1)
    price = _short(np.exp(np.interp(nodes, few, np.log(prices))), 5)
    guess = np.exp(np.interp(nodes, few, np.log(values))) * 1.05
    value = _Edges(grid, before, nodes).solved(price, guess, 2 * _NEWTON)[0]
    value = _short(np.maximum(value * (1.0 - _MARGIN), 0.0), 8)
    normal = _normal(grid.pitch * few, count, grid.variance)[1]
    hint = _Hint(few / max(few[-1], 1), np.log(prices / np.maximum(normal, 1e-30)))
    return Stage(tuple(value.tolist()), tuple(price.tolist())), hint


def _not_rising(values: Floats) -> Floats:
    """δ falls in ε: what is claimed at a node holds at those before."""
    return np.maximum.accumulate(values[::-1])[::-1]


def _spread(first: int, last: int, count: int) -> Whole:
    """At most so many whole numbers from the first to the last."""
    if last < first:
        return np.zeros(0, dtype=np.int64)
    return np.unique(np.linspace(first, last, min(count, last - first + 1)).astype(np.int64))


def _held(values: Floats, least: float) -> int:
    """How many of the values are above the least before the first that is not."""
    is_above = values > least
    return values.size if np.all(is_above) else int(np.argmin(is_above))


def _last_node(grid: _Staging, before: Floats) -> int:
    """How far values of this stage may be positive: one release adds about 3 s/σ."""
    one = math.ceil((3.0 / grid.sigma + 1.0 / grid.sigma**2) / grid.pitch)
    return min(before.size - 1 + one, math.ceil(_FARTHEST * _NODES))


def _short(values: Floats, digits: int) -> Floats:
    """Rounded down to so many digits, so that a file is short."""
    return np.array([float(f"{value:.{digits - 1}e}") for value in values])


def _best_prices(
    edges: _Edges, nodes: Whole, count: int, hint: _Hint | None
) -> tuple[Floats, Floats]:
    """The price at each node with the largest value, which is where the law that the tests hold off
    has the variance; its logarithm is bracketed, and a secant tried first."""
    variance = edges.grid.variance
    start, slope = _normal(edges.grid.pitch * nodes, count, variance)
    log_price = np.log(np.maximum(slope, 1e-30))
    low, high = log_price - 12.0, log_price + 6.0
    if hint is not None:
        log_price = log_price + np.interp(nodes / max(nodes[-1], 1), hint.share, hint.logarithm)
    best, chosen = np.zeros(nodes.size), np.exp(log_price)
    guess = np.maximum(start, 1e-30)
    for attempt in range(_PRICES):
        price = np.exp(log_price)
        value, second = edges.solved(price, guess, _NEWTON)
        better = value > best
        best, chosen = np.where(better, value, best), np.where(better, price, chosen)
        is_cheap = second > variance
        low, high = np.where(is_cheap, log_price, low), np.where(is_cheap, high, log_price)
        excess = np.log(np.maximum(second, 1e-9) / variance)
        if np.all((np.abs(excess) < _CLOSE) | (high - low < _CLOSE)):
            break
        moved = log_price + excess
        is_inside = (moved > low) & (moved < high) & (attempt % 3 != 2)
        log_price = np.where(is_inside, moved, 0.5 * (low + high))
        guess = np.where(best > 0.0, 1.2 * best, start)
    return chosen, best


def _normal(epsilon: NDArray[np.floating], count: int, variance: float) -> tuple[Floats, Floats]:
    """δ of so many releases with normal noise, and its slope in the variance: to start from."""

    def delta(of: float) -> Floats:
        mu = math.sqrt(count / of)
        tail = ndtr(0.5 * mu - epsilon / mu) - np.exp(epsilon) * ndtr(-0.5 * mu - epsilon / mu)
        return np.maximum(np.asarray(tail, dtype=np.float64), 1e-300)

    step = 1e-4
    here, there = delta(variance), delta(variance * (1.0 - step))
    return here, (there - here) / (step * variance)


class _Edges:
    """F and G of `check_releases` at some nodes: what an edge of the lattice gives and takes, by
    the tangent used on it."""

    def __init__(self, grid: _Staging, before: Floats, nodes: Whole) -> None:
        self.grid = grid
        reach = before.size - 1
        alpha, beta = _tangents(before, grid)
        own = alpha.size - 1 + 2 * nodes[:, None]  # the last place of each row
        beyond = np.zeros(2 * int(nodes[-1]))  # there the tangent is (0, 0), its mirror is not
        alpha, beta = np.append(alpha, beyond), np.append(beta, beyond)
        self._last = alpha.size - 1
        self._factor = grid.powers(nodes)
        self._x = grid.powers(np.arange(-reach, self._last - reach))
        s = np.arange(alpha.size)[None, :]
        mirrored = np.maximum(own - s, 0)
        self._given = alpha[None, :] - self._factor[:, None] * beta[mirrored]
        self._taken = self._factor[:, None] * beta[None, :] - alpha[mirrored]
        self._row = np.arange(nodes.size)
        # one sorted list of all rows, so that one search finds a place in each
        self._key = self._keys(self._given).ravel()
        at = nodes + reach
        self._still = 0.5 * (self._given[self._row, at] + self._given[self._row, at + 1])
        self._start = at + 1
        both = self._given - self._taken
        both = np.where(s < self._start[:, None], 2.0, both)
        self._both = np.minimum.accumulate(both, axis=1)
        self._both_key = self._keys(self._both).ravel()

    def solved(self, price: Floats, guess: Floats, steps: int) -> tuple[Floats, Floats]:
        """The largest values at these prices, and the variances of the laws that they hold off.

        What is left at 0, when all other points have what they need, is concave in the value and
        falls: Newton's steps come down from above and do not pass the root."""
        spent = price * self.grid.variance
        mu = guess + spent
        second = np.full(mu.size, np.nan)
        for _ in range(steps):
            left, slope, square = self._left(mu, price)
            with np.errstate(all="ignore"):
                step = left / slope
                second = np.where(np.isfinite(square), square, second)
            mu = np.maximum(mu + np.where(np.isfinite(step), step, -0.5 * mu), 0.0)
            if np.all(np.abs(step) <= 1e-8 * np.maximum(mu - spent, 1e-12)):
                break
        value = mu - spent
        for share in _SHARES:  # to the side where it holds
            is_held = self._left((1.0 - share) * value + spent, price)[0] >= 0.0
            if np.all(is_held | (value <= 0.0)):
                break
            value = np.where(is_held, value, (1.0 - 10.0 * share) * value)
        is_held = self._left((1.0 - _SHARES[0]) * value + spent, price)[0] >= 0.0
        return np.where(is_held, (1.0 - _SHARES[0]) * value, 0.0), second

    def _left(self, mu: Floats, price: Floats) -> tuple[Floats, Floats, Floats]:
        """What is left at the innermost points, the least of all cosets; how fast it falls in μ,
        and the variance of the law that is held off there."""
        cells = self.grid.cells
        found = None
        for offset in range(cells // 2 + 1):
            outer = self._inwards(mu, price, cells + offset)
            if 2 * offset == cells:
                inner = (-self._still, np.zeros(mu.size), np.zeros(mu.size))
            elif offset == 0:
                inner = outer
            else:
                inner = self._inwards(mu, price, cells - offset)
            x = offset / cells
            left = -inner[0] - outer[0] + 2.0 * price * x * x - 2.0 * mu
            mass = 1.0 + inner[1] + outer[1]
            with np.errstate(all="ignore"):
                square = (x * x + inner[2] + outer[2]) / mass
            here = left, 2.0 * mass, square
            if found is None:
                found = here
            else:
                is_less = left / mass < 2.0 * found[0] / found[1]
                found = tuple(np.where(is_less, *pair) for pair in zip(here, found, strict=True))
        if found is None:
            raise ValueError("no coset")
        return found

    def _inwards(self, mu: Floats, price: Floats, stop: int) -> tuple[Floats, Floats, Floats]:
        """G of the innermost edge; mass and second moment of all points outside of it, in units of
        the mass of the point inside."""
        cells, row = self.grid.cells, self._row
        point = stop + (self.grid.window - 1) * cells
        x = (point + cells) / cells
        needed = 2.0 * mu - 2.0 * price * x * x
        s = np.clip(self._place(self._both_key, needed), self._start, self._last)
        missing = np.maximum(needed - self._both[row, s], 0.0)
        taken = self._taken[row, s] + 1e3 * missing
        mass, square = np.zeros(mu.size), np.zeros(mu.size)
        steepest = self._factor / self._x[0]
        while point >= stop:
            x = point / cells
            needed = 2.0 * mu - 2.0 * price * x * x + taken
            s = np.clip(self._place(self._key, needed), 0, self._last - 1)
            here, after = self._given[row, s], self._given[row, s + 1]
            with np.errstate(all="ignore"):
                share = np.clip((here - needed) / (here - after), 0.0, 1.0)
            share = np.where(here > after, share, 0.0)
            taken = self._taken[row, s] + share * (self._taken[row, s + 1] - self._taken[row, s])
            # the tests hold off a law whose neighbours have this ratio
            ratio = self._factor / self._x[s]
            missing = np.maximum(needed - self._given[:, 0], 0.0)
            ratio = np.where(missing > 0.0, steepest, ratio)
            ratio = np.where(needed <= self._given[:, -1], 0.0, ratio)
            taken = taken + missing * steepest
            mass, square = ratio * (1.0 + mass), ratio * (x * x + square)
            point -= cells
        return taken, mass, square

    def _place(self, key: Floats, needed: Floats) -> Whole:
        """The last place of each row whose number is at least what is needed."""
        found = np.searchsorted(key, self._keys(needed), side="right")
        return np.asarray(found - 1 - self._row * (self._last + 1), dtype=np.int64)

    def _keys(self, falling: Floats) -> Floats:
        """Numbers that rise along a row and from row to row; on a scale that tells 1e-13 from 0 and
        ends at 100, whatever e^ε."""
        scaled = np.copysign(np.log1p(np.abs(falling) * _TOLD_APART), falling)
        row = self._row if falling.ndim == 1 else self._row[:, None]
        return np.asarray(200.0 * row - scaled, dtype=np.float64)


def _tangents(values: Floats, grid: _Staging) -> tuple[Floats, Floats]:
    """α and β of the tangents of the greatest convex function below the claims, see
    `check_releases`."""
    reach = values.size - 1
    x = grid.powers(np.arange(-reach, reach + 1))
    below = 1.0 - x[:reach] * (1.0 - values[:0:-1])
    points, heights = np.append(0.0, x), np.concatenate([[1.0], below, values])
    heights[-1] = 0.0
    hull, slopes = convex_below(points, heights)
    beta = np.repeat(-slopes, np.diff(hull))
    alpha = np.repeat(heights[hull[:-1]] - slopes * points[hull[:-1]], np.diff(hull))
    return np.append(alpha, 0.0), np.append(beta, 0.0)
