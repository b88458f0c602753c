"""Where the solver starts: the smooth limit of the optimal law, and the N and r that suit it.

When the law varies slowly over one shift, stationarity of the Lagrangian reads, with y the log-slope per shift,

    G(y) = 4 sinh²(αy/2)/α − 4 sinh²((α−1)y/2)/(α−1) = κ·(cost_k − cost_0),      log h_k = −Σ y/m,

a Gaussian in the bulk (G ≈ y²) with a tail that falls like k^(−2/α) per shift. κ follows from the budget.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq

from leastnoise import shells
from leastnoise.cost import Cost
from leastnoise.designer import pure
from leastnoise.errors import InvalidParameterError
from leastnoise.shells import Floats

_REMAINING = 1e-15  # share of the cost beyond `last`
_CORE = 1e-30  # share of the mass inside `first`
_MOST_SHELLS = 400_000


@dataclass(frozen=True)
class SmoothProfile:
    """log h_k for k = 0, …, last and beyond, and the lattice window that suits it."""

    log_h: Floats
    first: int
    last: int
    tail_ratio: float


def _slope_table(order: float) -> Callable[[Floats], Floats]:
    """value ↦ y ≥ 0 with G(y) = value, by interpolation of log y in log G (512 nodes: relative error below 1e-3)."""
    a, b = order, order - 1.0
    y = np.geomspace(1e-6, 650.0, 512) / a
    g = 4.0 * np.sinh(0.5 * a * y) ** 2 / a
    if b > 0.0:
        g = g - 4.0 * np.sinh(0.5 * b * y) ** 2 / b
    small = a * y < 1e-3
    g[small] = y[small] ** 2
    log_g, log_y = np.log(g), np.log(y)

    def slope(value: Floats) -> Floats:
        log_value = np.log(np.maximum(value, 1e-300))
        inside = np.exp(np.interp(log_value, log_g, log_y))
        return np.asarray(inside + np.maximum(log_value - log_g[-1], 0.0) / a)

    return slope


def starting_profile(
    dimension: int,
    shift: int,
    order: float,
    cost: Cost,
    budget: float,
    domain: str,
    last: int | None,
) -> SmoothProfile:
    """The smooth law, its slope gathered at the steps of the best staircase where the order is large and the noise small.

    There (αε ≥ 20 and ε ≥ 1) the optimum is a staircase with soft steps: started from the smooth law σ = 0.1s, α = 64 does
    not converge in 200 steps, from the gathered one it takes 11.
    """
    rough = shift * math.sqrt(2.0 * dimension) / deviation(cost, budget)
    if order * rough < (20.0 if rough >= 1.0 else 100.0):
        return smooth_profile(dimension, shift, order, cost, budget, domain, last)
    stairs = pure.best_staircase(dimension, shift, cost, budget, domain)
    length = stairs.last if last is None else max(last, stairs.last)
    per_shell = cost.per_shell(length, dimension, 1.0, domain)
    # Far out a shift's ratio obeys e^(αy)/α ≈ κ·cost.
    rise = np.log(np.maximum(per_shell, budget) / budget) / order
    soft = min(0.7, 8.0 / (order * stairs.epsilon))
    portion = np.full(shift, soft / shift)
    portion[(stairs.width - 1) % shift] += 1.0 - soft
    slope = (stairs.epsilon + rise[1:]) * np.tile(portion, length // shift + 1)[:length]
    log_h = -np.concatenate([[0.0], np.cumsum(slope)])
    profile = _windowed(dimension, shift, log_h, per_shell, stairs.epsilon + rise, last)
    if profile is None:
        return smooth_profile(dimension, shift, order, cost, budget, domain, last)
    if last is None:
        # A step within m of the tail adds to the tail's own loss: R starts at 1.5ε instead of ε. So the window ends just
        # before a step.
        return replace(profile, last=profile.last + (stairs.width - 1 - profile.last) % shift)
    slope[max(last - shift, 0) : last] *= soft
    return replace(profile, log_h=-np.concatenate([[0.0], np.cumsum(slope)]))


def deviation(cost: Cost, budget: float) -> float:
    """The size of a law of this cost, as the standard deviation of the uniform law that has it: σ for the quadratic cost."""
    return cost.radius(budget) / math.sqrt(3.0)


def _windowed(
    dimension: int, shift: int, log_h: Floats, per_shell: Floats, slope: Floats, last: int | None
) -> SmoothProfile | None:
    """The profile with the window that holds all but 1e-15 of its cost, or None when its shells are too few."""
    log_share = log_h + shells.log_shell_count(dimension, np.arange(log_h.size))
    share = np.exp(log_share - np.max(log_share))
    total = float(np.sum(share))
    beyond = np.cumsum((share * per_shell)[::-1])[::-1]
    if last is None:
        enough = np.flatnonzero(beyond < _REMAINING * beyond[0])
        if enough.size == 0 or max(int(enough[0]), 3 * shift, 8) + shift > log_h.size - 1:
            return None
        last = max(int(enough[0]), 3 * shift, 8)
    first = int(np.searchsorted(np.cumsum(share) / total, _CORE)) if dimension > 1 else 0
    first = max(0, min(first, last - 4 * shift))
    log_h = log_h - math.log(total) - float(np.max(log_share))
    ratio = math.exp(-0.5 * max(float(slope[last]) / shift, 1e-6 / (last + 1)))
    return SmoothProfile(log_h, first, last, ratio)


def smooth_profile(
    dimension: int,
    shift: int,
    order: float,
    cost: Cost,
    budget: float,
    domain: str,
    last: int | None,
) -> SmoothProfile:
    """The smooth law that meets the budget, on a lattice that holds all but 1e-15 of its cost (or up to the given `last`)."""
    reach = 0 if last is None else last
    length = 8 * shift + 64
    while length <= _MOST_SHELLS:
        profile = _on_window(
            dimension, shift, order, cost, budget, domain, max(length, reach + shift), last
        )
        if profile is not None:
            return profile
        length *= 2
    raise InvalidParameterError(
        "budget", budget, f"to need at most {_MOST_SHELLS} shells; take fewer bins per sensitivity"
    )


def _on_window(
    dimension: int,
    shift: int,
    order: float,
    cost: Cost,
    budget: float,
    domain: str,
    length: int,
    last: int | None,
) -> SmoothProfile | None:
    """The smooth law on shells 0..length, or None when they are too few for it."""
    per_shell = cost.per_shell(length, dimension, 1.0, domain)
    log_count = shells.log_shell_count(dimension, np.arange(length + 1))
    rise = np.maximum.accumulate(per_shell - per_shell[0])
    share = np.exp(log_count - log_count[-1])
    if budget >= float(share @ per_shell) / float(
        np.sum(share)
    ):  # no non-increasing law on so few shells costs as much
        return None
    if budget <= per_shell[0]:
        raise InvalidParameterError(
            "budget",
            budget,
            f"above {per_shell[0]:g}, the cost of the finest law on this lattice; take more bins",
        )
    slope_of = _slope_table(order)

    def law(log_kappa: float) -> tuple[Floats, Floats]:
        slope = slope_of(math.exp(log_kappa) * rise)
        return slope, -np.concatenate([[0.0], np.cumsum((slope[1:] + slope[:-1]) * (0.5 / shift))])

    def excess(log_kappa: float) -> float:
        log_share = law(log_kappa)[1] + log_count
        share = np.exp(log_share - np.max(log_share))
        return math.log(float(np.sum(share * per_shell)) / (float(np.sum(share)) * budget))

    size = deviation(cost, budget)
    low = high = 2.0 * math.log(shift / size) - math.log(budget)
    while excess(low) < 0.0:
        low -= 4.0
        if low < -200.0:
            return None
    while excess(high) > 0.0 and high < 600.0:
        high += 4.0
    # A start: the solver meets the budget exactly, so 1e-4 in κ is plenty.
    log_kappa = high if excess(high) > 0.0 else brentq(excess, low, high, xtol=1e-4)
    slope, log_h = law(log_kappa)
    if last is not None and length < 40 * size + 40 * shift:
        log_share = law(log_kappa)[1] + log_count
        if (log_share + np.log(per_shell + 1e-300))[-1] > np.max(
            log_share + np.log(per_shell + 1e-300)
        ) - 7.0:
            return None
    return _windowed(dimension, shift, log_h, per_shell, slope, last)
