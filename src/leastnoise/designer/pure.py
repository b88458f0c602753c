"""α = ∞: pure differential privacy, where the least largest loss ε at a given cost is a staircase (Geng and Viswanath).

At a fixed ε the monotone laws with loss ε are the cone h_k ≥ h_{k+1}, h_k ≤ e^ε h_{k+m}, and the law of least average cost is
an extreme ray: height 1 on the first γ shells, e^−ε on the next m, e^−2ε on the next m, … It is a mixture of uniform laws on
the cubes of radius γ−1+lm with weights ∝ e^−lε (2(γ−1+lm)+1)^d, so its cost needs only the average cost of a uniform cube, in
any dimension. The least cost falls in ε.

**Certificate.** Let f_k = n_k (cost_k − C). If Σ f h > 0 for every law with loss ε, none costs C or less. The sum is bounded
from below from the outside in, one window of m shells at a time (a window starts at a step): f plus what came from outside is
G; non-increasing h lets value move outwards within a window (y_k (h_k − h_{k+1}) ≥ 0), as long as the partial sums of G are
non-negative; what has become non-negative moves one shift inwards, h_k ≥ e^−ε h_{k−m}. The innermost window is non-negative
if its partial sums are. In one dimension nothing need move within a window, so the same proof serves laws that are not
monotone: F_k = Σ_l e^(−lε) f_{k+lm} ≥ 0 for k ≥ m, and Σ_{k<m} F_k h_k is least at h = 1 where F < 0, e^−ε elsewhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq

from leastnoise import shells
from leastnoise.cost import Cost
from leastnoise.errors import InvalidParameterError
from leastnoise.shells import Floats

_NEGLIGIBLE = 46.0  # e^−46 = 1e-20
_MOST_SHELLS = 4_000_000
_SHORTFALLS = (
    1e-11,
    1e-10,
    1e-9,
)  # the bound is proven this far below ε, where rounding no longer decides a sign


@dataclass(frozen=True, eq=False)
class Staircase:
    """Height e^(−ε·level) on shells 0, …, last; the level rises by one every m shells from shell `width` on."""

    epsilon: float
    width: int
    last: int
    log_h: Floats
    budget_slope: float


@lru_cache(
    maxsize=4
)  # a design asks for the same one when it chooses its bins, its problem and its certificate
def best_staircase(dimension: int, shift: int, cost: Cost, budget: float, domain: str) -> Staircase:
    """The staircase of least ε whose cost is the budget."""
    radius = cost.radius(budget)
    if not radius < math.inf:
        raise InvalidParameterError("budget", budget, "to be below what the widest noise costs")
    guess = _usual_loss(dimension, radius / shift)
    levels = 4 + math.ceil(2.0 * _NEGLIGIBLE / guess)
    table = _cubes(dimension, shift, cost, budget, domain, levels)

    def least_cost(log_epsilon: float) -> float:
        nonlocal table
        epsilon = math.exp(log_epsilon)
        while not _covers(table, epsilon):
            table = _cubes(dimension, shift, cost, budget, domain, 2 * table[0].shape[0])
        return float(np.min(_costs(table, epsilon)))

    low = high = math.log(guess)
    move = 0.1
    while least_cost(low) < budget:
        low, move = low - move, 2.0 * move
        if low < -60.0:
            raise InvalidParameterError("budget", budget, "to be reachable by a law on the lattice")
    move = 0.1
    while least_cost(high) > budget:
        high, move = high + move, 2.0 * move
        if high > 8.0:
            raise InvalidParameterError(
                "budget", budget, "above the cost of the finest law on this lattice; take more bins"
            )
    epsilon = math.exp(
        brentq(lambda e: math.log(least_cost(e) / budget), low, high, xtol=1e-15, rtol=1e-15)
    )
    width = int(np.argmin(_costs(table, epsilon))) + 1
    log_terms = table[0][:, width - 1] - epsilon * np.arange(table[0].shape[0])
    keep = np.flatnonzero(log_terms > np.max(log_terms) - _NEGLIGIBLE)
    levels = max(int(keep[-1]) + 2, 4)
    last = width - 1 + levels * shift
    k = np.arange(last + 1)
    log_h = -epsilon * np.maximum(np.ceil((k - width + 1) / shift), 0.0)
    nudge = 1e-5
    slope = (
        nudge
        * epsilon
        * 2.0
        / (least_cost(math.log(epsilon) + nudge) - least_cost(math.log(epsilon) - nudge))
    )
    return Staircase(epsilon, width, last, log_h, slope)


def _usual_loss(dimension: int, ratio: float) -> float:
    """About the ε of a staircase of the size of a cube of `ratio` sensitivities: to look from."""
    if ratio >= 1.0:
        return (dimension + 1.0) / ratio
    return (dimension + 2.0) * math.log(1.0 / ratio) + dimension + 1.0


def proven_loss(
    dimension: int,
    shift: int,
    cost: Cost,
    budget: float,
    domain: str,
    epsilon: float,
    width: int,
    monotone: bool,
) -> float:
    """A loss that no law of the given budget can beat: just below `epsilon` when the certificate holds there, else 0."""
    for shortfall in _SHORTFALLS:
        e = epsilon * (1.0 - shortfall)
        f = _weighted_excess(dimension, shift, cost, budget, domain, e)
        if _chains_prove(f, shift, e) or (monotone and _windows_prove(f, shift, e, width)):
            return e
    return 0.0


def _weighted_excess(
    dimension: int, shift: int, cost: Cost, budget: float, domain: str, epsilon: float
) -> Floats:
    """e^(−εk/m) f_k up to a factor: in these units value moves one shift inwards unchanged.

    Shells past the window are taken to cost more than the budget, as the last one in it does: leaving them out lowers every sum.
    """
    length = 64 * shift
    while True:
        k = np.arange(length)
        logs = shells.log_shell_count(dimension, k) - epsilon * (k / shift)
        if (
            np.max(logs[-shift:]) + cost.growth * math.log(length) < np.max(logs) - _NEGLIGIBLE
            or length > _MOST_SHELLS
        ):
            excess = cost.per_shell(length - 1, dimension, 1.0, domain) - budget
            if np.all(excess[-shift:] > 0.0) or length > _MOST_SHELLS:
                return np.asarray(np.exp(logs - np.max(logs)) * excess)
        length *= 2


def _chains_prove(f: Floats, shift: int, epsilon: float) -> bool:
    """The proof in which every chain k, k + m, … falls as fast as it may, monotone or not."""
    chains = np.cumsum(f.reshape(-1, shift)[::-1], axis=0)[::-1]
    if np.any(chains[1:] < 0.0):
        return False
    head = chains[0] * np.exp(epsilon * (np.arange(shift) / shift))
    return bool(
        np.sum(np.minimum(head, 0.0)) + math.exp(-epsilon) * np.sum(np.maximum(head, 0.0)) > 0.0
    )


def _windows_prove(f: Floats, shift: int, epsilon: float, width: int) -> bool:
    """The proof for monotone laws. Within a window h is weighed by e^(εk/m): undone there, redone for the next."""
    count = (f.size - width) // shift
    windows = f[width : width + count * shift].reshape(count, shift)
    within = np.exp(epsilon * (np.arange(shift) / shift))
    inward = np.zeros(shift)
    for window in range(count - 1, -1, -1):
        partial = np.cumsum((windows[window] + inward) * within)
        if np.any(partial < 0.0):
            return False
        kept = np.minimum.accumulate(partial[::-1])[::-1]
        if window == 0:
            kept[: shift - width] = 0.0  # shells width..m−1 have no partner one shift inwards
        inward = np.diff(kept, prepend=0.0) / within
    head = (f[:width] + inward[shift - width :]) * np.exp(epsilon * (np.arange(width) / shift))
    partial = np.cumsum(head)
    return bool(partial[-1] > 0.0 and np.all(partial >= 0.0))


def _cubes(
    dimension: int, shift: int, cost: Cost, budget: float, domain: str, levels: int
) -> tuple[Floats, Floats]:
    """log(points) and average cost of the cubes of radius γ−1+lm: arrays levels × m."""
    if levels * shift > _MOST_SHELLS:
        raise InvalidParameterError(
            "budget",
            budget,
            f"to need at most {_MOST_SHELLS} shells; take fewer bins per sensitivity",
        )
    radius = np.arange(levels * shift)
    average = cost.average(radius, 1.0, domain)
    inside = (2.0 * np.cumsum(average) - average[0]) / (2.0 * radius + 1.0)
    shape = (levels, shift)
    return (dimension * np.log(2.0 * radius + 1.0)).reshape(shape), inside.reshape(shape)


def _costs(table: tuple[Floats, Floats], epsilon: float) -> Floats:
    """Average cost of the staircase for every width γ = 1, …, m."""
    logs = table[0] - epsilon * np.arange(table[0].shape[0])[:, None]
    terms = np.exp(logs - np.max(logs))
    return np.asarray(np.sum(terms * table[1], axis=0) / np.sum(terms, axis=0))


def _covers(table: tuple[Floats, Floats], epsilon: float) -> bool:
    """Whether the levels left out of the table are negligible for every width."""
    logs = (
        table[0]
        - epsilon * np.arange(table[0].shape[0])[:, None]
        + np.log(np.maximum(table[1], 1e-300))
    )
    return bool(np.all(logs[-1] < np.max(logs, axis=0) - _NEGLIGIBLE))
