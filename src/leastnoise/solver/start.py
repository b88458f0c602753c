"""Where the solver starts: the smooth limit of the optimal law, and the N and r that suit it.

When the law varies slowly over one shift, stationarity of the Lagrangian reads, with y the
log-slope per shift,

    G(y) = 4 sinh²(αy/2)/α − 4 sinh²((α−1)y/2)/(α−1) = κ·(cost_k − cost_0),      log h_k = −Σ y/m,

a Gaussian in the bulk (G ≈ y²) with a tail that falls like k^(−2/α) per shift. κ follows from the
budget.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq

from leastnoise.errors import InvalidParameterError
from leastnoise.lattice.shells import Floats
from leastnoise.solver.budget import LatticeBudget
from leastnoise.solver.staircase import Staircase, best_staircase

_REMAINING = 1e-15  # share of the cost beyond `last`
_CORE = 1e-30  # share of the mass inside `first`
_MOST_SHELLS = 400_000
# Order times usual loss from which a law has steps: where the loss is above 1, and elsewhere.
_STEPPED_LARGE, _STEPPED_SMALL = 20.0, 100.0
# Share of a staircase's slope that a start spreads evenly: so much over αε, and at most.
_SOFT, _SOFTEST = 8.0, 0.7


@dataclass(frozen=True, eq=False)
class StartingProfile:
    """log h_k for k = 0, …, last and beyond, and the lattice window that suits it."""

    log_h: Floats
    first: int
    last: int
    tail_ratio: float


def starting_profile(lattice: LatticeBudget, order: float, last: int | None) -> StartingProfile:
    """The smooth law, its slope gathered at the steps of the best staircase where the order is
    large and the noise small; the best staircase itself at order ∞.

    There (αε ≥ 20 and ε ≥ 1) the optimum is a staircase with soft steps: started from the smooth
    law σ = 0.1s, α = 64 does not converge in 200 steps, from the gathered one it takes 11.
    """
    if math.isinf(order):
        stairs = best_staircase(lattice)
        ratio = math.exp(-stairs.epsilon / lattice.shift)
        return StartingProfile(stairs.log_h, 0, stairs.last, ratio)
    rough = lattice.shift * math.sqrt(2.0 * lattice.dimension) / lattice.deviation
    gathered = None
    if order * rough >= (_STEPPED_LARGE if rough >= 1.0 else _STEPPED_SMALL):
        gathered = _gathered(lattice, best_staircase(lattice), order, last)
    return smooth_profile(lattice, order, last) if gathered is None else gathered


def _gathered(
    lattice: LatticeBudget, stairs: Staircase, order: float, last: int | None
) -> StartingProfile | None:
    """The staircase with soft steps, steeper further out; None when its shells are too few."""
    shift = lattice.shift
    length = stairs.last if last is None else max(last, stairs.last)
    per_shell = lattice.per_shell(length)
    # Far out a shift's ratio obeys e^(αy)/α ≈ κ·cost.
    rise = np.log(np.maximum(per_shell, lattice.budget) / lattice.budget) / order
    soft = min(_SOFTEST, _SOFT / (order * stairs.epsilon))
    portion = np.full(shift, soft / shift)
    portion[(stairs.width - 1) % shift] += 1.0 - soft
    slope = (stairs.epsilon + rise[1:]) * np.tile(portion, length // shift + 1)[:length]
    profile = _windowed(lattice, _summed(slope), per_shell, stairs.epsilon + rise, last)
    if profile is None:
        return None
    if last is None:
        # A step within m of the tail adds to the tail's own loss: R starts at 1.5ε instead of ε. So
        # the window ends just before a step.
        return replace(profile, last=profile.last + (stairs.width - 1 - profile.last) % shift)
    slope[max(last - shift, 0) : last] *= soft
    return replace(profile, log_h=_summed(slope))


def smooth_profile(lattice: LatticeBudget, order: float, last: int | None) -> StartingProfile:
    """The smooth law that meets the budget, on a lattice that holds all but 1e-15 of its cost (or
    up to the given `last`): the window is doubled until it does."""
    shift = lattice.shift
    least = 0 if last is None else last + shift
    length = 8 * shift + 64
    while length <= _MOST_SHELLS:
        profile = _on_window(lattice, order, max(length, least), last)
        if profile is not None:
            return profile
        length *= 2
    raise InvalidParameterError(
        "budget",
        lattice.budget,
        f"to need at most {_MOST_SHELLS} shells; take fewer bins per sensitivity",
    )


def _on_window(
    lattice: LatticeBudget, order: float, length: int, last: int | None
) -> StartingProfile | None:
    """The smooth law on shells 0..length, or None when they are too few for it."""
    laws = _SmoothLaws(lattice, order, length)
    if lattice.budget >= laws.largest_cost:
        return None
    log_kappa = laws.meeting_budget()
    if log_kappa is None:
        return None
    slope, log_h = laws.at(log_kappa)
    if last is not None and length < 40 * (lattice.deviation + lattice.shift):
        spent = log_h + laws.log_count + np.log(laws.per_shell + 1e-300)
        if spent[-1] > np.max(spent) - 7.0:  # e^−7: cut off where it still spends its budget
            return None
    return _windowed(lattice, log_h, laws.per_shell, slope, last)


class _SmoothLaws:
    """The smooth laws on shells 0..length: the larger κ, the narrower."""

    def __init__(self, lattice: LatticeBudget, order: float, length: int) -> None:
        self._lattice = lattice
        self._slope_of = _slope_table(order)
        self.per_shell = lattice.per_shell(length)
        self.log_count = lattice.log_shell_count(np.arange(length + 1))
        self._rise = np.maximum.accumulate(self.per_shell - self.per_shell[0])

    @property
    def largest_cost(self) -> float:
        """That of the uniform law: no non-increasing one on so few shells costs more."""
        share = np.exp(self.log_count - self.log_count[-1])
        return float(share @ self.per_shell) / float(np.sum(share))

    def at(self, log_kappa: float) -> tuple[Floats, Floats]:
        """The log-slope per shift on each shell, and log h."""
        slope = self._slope_of(math.exp(log_kappa) * self._rise)
        return slope, _summed((slope[1:] + slope[:-1]) * (0.5 / self._lattice.shift))

    def _excess(self, log_kappa: float) -> float:
        """log of cost over budget: falls in κ."""
        log_share = self.at(log_kappa)[1] + self.log_count
        share = np.exp(log_share - np.max(log_share))
        spent = float(np.sum(share * self.per_shell))
        return math.log(spent / (float(np.sum(share)) * self._lattice.budget))

    def meeting_budget(self) -> float | None:
        """log κ at which the law costs the budget: bracket by steps, then a root to 1e-4, which is
        plenty for a start. None when the window is too short for any."""
        lattice = self._lattice
        if lattice.budget <= self.per_shell[0]:
            raise InvalidParameterError(
                "budget",
                lattice.budget,
                f"above {self.per_shell[0]:g}, the cost of the finest law on this lattice; take "
                "more bins",
            )
        low = high = 2.0 * math.log(lattice.shift / lattice.deviation) - math.log(lattice.budget)
        while self._excess(low) < 0.0:
            low -= 4.0
            if low < -200.0:
                return None
        while self._excess(high) > 0.0 and high < 600.0:
            high += 4.0
        if self._excess(high) > 0.0:
            return high
        return float(brentq(self._excess, low, high, xtol=1e-4))


def _slope_table(order: float) -> Callable[[Floats], Floats]:
    """value ↦ y ≥ 0 with G(y) = value, by interpolation of log y in log G (512 nodes: relative
    error below 1e-3)."""
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


def _summed(slope: Floats) -> Floats:
    """log h from its falls, shell by shell."""
    return -np.concatenate([[0.0], np.cumsum(slope)])


def _windowed(
    lattice: LatticeBudget, log_h: Floats, per_shell: Floats, slope: Floats, last: int | None
) -> StartingProfile | None:
    """The profile with the window that holds all but 1e-15 of its cost, or None when its shells are
    too few. The tail falls at half the law's own rate there."""
    shift = lattice.shift
    log_share = log_h + lattice.log_shell_count(np.arange(log_h.size))
    share = np.exp(log_share - np.max(log_share))
    total = float(np.sum(share))
    if last is None:
        beyond = np.cumsum((share * per_shell)[::-1])[::-1]
        enough = np.flatnonzero(beyond < _REMAINING * beyond[0])
        last = max(int(enough[0]), 3 * shift, 8) if enough.size else log_h.size
        if last + shift > log_h.size - 1:
            return None
    first = int(np.searchsorted(np.cumsum(share) / total, _CORE)) if lattice.dimension > 1 else 0
    first = max(0, min(first, last - 4 * shift))
    log_h = log_h - math.log(total) - float(np.max(log_share))
    ratio = math.exp(-0.5 * max(float(slope[last]) / shift, 1e-6 / (last + 1)))
    return StartingProfile(log_h, first, last, ratio)
