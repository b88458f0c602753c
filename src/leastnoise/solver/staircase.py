"""α = ∞: pure differential privacy, where the least largest loss ε at a given cost is a staircase
(Geng and Viswanath).

At a fixed ε the monotone laws with loss ε are the cone h_k ≥ h_{k+1}, h_k ≤ e^ε h_{k+m}, and the
law of least average cost is an extreme ray: height 1 on the first γ shells, e^−ε on the next m,
e^−2ε on the next m, … It is a mixture of uniform laws on the cubes of radius γ−1+lm with weights ∝
e^−lε (2(γ−1+lm)+1)^d, so its cost needs only the average cost of a uniform cube, in any dimension.
The least cost falls in ε.

**Certificate.** Let f_k = n_k (cost_k − C). If Σ f h > 0 for every law with loss ε, none costs C or
less. The sum is bounded from below from the outside in, one window of m shells at a time (a window
starts at a step): f plus what came from outside is G; non-increasing h lets value move outwards
within a window (y_k (h_k − h_{k+1}) ≥ 0), as long as the partial sums of G are non-negative; what
has become non-negative moves one shift inwards, h_k ≥ e^−ε h_{k−m}. The innermost window is
non-negative if its partial sums are. In one dimension nothing need move within a window, so the
same proof serves laws that are not monotone: F_k = Σ_l e^(−lε) f_{k+lm} ≥ 0 for k ≥ m, and Σ_{k<m}
F_k h_k is least at h = 1 where F < 0, e^−ε elsewhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq

from leastnoise.cost import Cost, quadratic
from leastnoise.errors import InvalidParameterError, at_least, positive, positive_integer
from leastnoise.lattice.resolution import step_of_known_law
from leastnoise.lattice.shells import Floats
from leastnoise.lattice.steps import shift_in_steps
from leastnoise.laws.base import Domain
from leastnoise.laws.lattice import LatticeNoise
from leastnoise.solver.budget import Cubes, LatticeBudget

_NEGLIGIBLE = 46.0  # e^−46 = 1e-20
_MOST_SHELLS = 10_000_000
# The bound is proven this far below ε, where rounding no longer decides a sign.
_SHORTFALLS = (1e-11, 1e-10, 1e-9)
_SMALLEST = 690.0  # −log of the smallest weight that a law keeps beside a weight of 1
_NUDGE = 1e-5  # of log ε, on both sides: the slope of the least cost


@dataclass(frozen=True, eq=False)
class Staircase:
    """Height e^(−ε·level) on shells 0, …, last; the level rises by one every m shells from shell
    `width` on."""

    epsilon: float
    width: int
    last: int
    log_h: Floats
    budget_slope: float


# A design asks for the same one when it chooses its bins, its problem and its certificate.
@lru_cache(maxsize=4)
def best_staircase(lattice: LatticeBudget) -> Staircase:
    """The staircase of least ε whose cost is the budget.

    1. Bracket log ε around the usual loss by growing steps: the least cost falls in ε.
    2. The ε at which the least cost is the budget, and the width that has it.
    3. Its levels as far as they are not negligible, and the slope of ε in the budget.
    """
    shift, budget = lattice.shift, lattice.budget
    costs = _StaircaseCosts(lattice)

    def excess(log_epsilon: float) -> float:
        return math.log(costs.least(log_epsilon) / budget)

    low, high = _bracket(costs, budget)
    epsilon = math.exp(brentq(excess, low, high, xtol=1e-15, rtol=1e-15))
    width = int(np.argmin(costs.by_width(epsilon))) + 1
    levels = costs.levels(epsilon, width)
    last = width - 1 + levels * shift
    log_h = -epsilon * np.maximum(np.ceil((np.arange(last + 1) - width + 1) / shift), 0.0)
    up, down = (costs.least(math.log(epsilon) + nudge) for nudge in (_NUDGE, -_NUDGE))
    return Staircase(epsilon, width, last, log_h, _NUDGE * epsilon * 2.0 / (up - down))


def _bracket(costs: _StaircaseCosts, budget: float) -> tuple[float, float]:
    """log ε of a staircase that costs at least the budget, and of one that costs at most it."""
    low = high = math.log(costs.usual_loss)
    move = 0.1
    while costs.least(low) < budget:
        low, move = low - move, 2.0 * move
        if low < -60.0:
            raise InvalidParameterError("budget", budget, "to be reachable by a law on the lattice")
    move = 0.1
    while costs.least(high) > budget:
        high, move = high + move, 2.0 * move
        if high > 8.0:
            raise InvalidParameterError(
                "budget", budget, "above the cost of the finest law on this lattice; take more bins"
            )
    return low, high


class _StaircaseCosts:
    """What staircases of every width cost, from a table of the cubes of radius γ−1+lm (levels l ×
    widths γ) that grows with the levels that an ε needs."""

    def __init__(self, lattice: LatticeBudget) -> None:
        self._lattice = lattice
        radius = lattice.cost.radius(lattice.budget)
        if not radius < math.inf:
            raise InvalidParameterError(
                "budget", lattice.budget, "to be below what the widest noise costs"
            )
        self.usual_loss = _usual_loss(lattice.dimension, radius / lattice.shift)
        # Where (εl)^(d+2) e^(−εl), about what level l spends, has become negligible.
        self._fill(4 + math.ceil((1.3 * _NEGLIGIBLE + 2.5 * lattice.dimension) / self.usual_loss))

    def _fill(self, levels: int) -> None:
        shift = self._lattice.shift
        if levels * shift > _MOST_SHELLS:
            raise InvalidParameterError(
                "budget",
                self._lattice.budget,
                f"to need at most {_MOST_SHELLS} shells; take fewer bins per sensitivity",
            )
        cubes = Cubes.of(self._lattice, levels * shift - 1)
        self._level = np.arange(levels)
        self._log_count = cubes.log_count.reshape(levels, shift)
        self._cost = cubes.cost.reshape(levels, shift)
        if self._lattice.dimension == 1:
            self._count = (2.0 * np.arange(levels * shift) + 1.0).reshape(levels, shift)
            self._spent = self._count * self._cost

    def _covers(self, epsilon: float) -> bool:
        """Whether the levels left out of the table are negligible for every width, beside the
        heaviest of the narrowest."""
        outer = self._log_count[-1] + np.log(self._cost[-1]) - epsilon * self._level[-1]
        narrowest = self._log_count[:, 0] + np.log(np.maximum(self._cost[:, 0], 1e-300))
        return bool(np.max(outer) < np.max(narrowest - epsilon * self._level) - _NEGLIGIBLE)

    def by_width(self, epsilon: float) -> Floats:
        """Average cost of the staircase for every width γ = 1, …, m."""
        if self._lattice.dimension == 1:  # no exponential a cube: their points fit into a double
            weight = np.exp(-epsilon * self._level)
            spent, mass = (
                np.einsum("l,lw->w", weight, table) for table in (self._spent, self._count)
            )
            return np.asarray(spent / mass)
        logs = self._log_count - epsilon * self._level[:, None]
        terms = np.exp(logs - np.max(logs))
        return np.asarray(np.sum(terms * self._cost, axis=0) / np.sum(terms, axis=0))

    def least(self, log_epsilon: float) -> float:
        """The cost of the cheapest width."""
        epsilon = math.exp(log_epsilon)
        while not self._covers(epsilon):
            self._fill(2 * self._level.size)
        return float(np.min(self.by_width(epsilon)))

    def levels(self, epsilon: float, width: int) -> int:
        """How many levels of the staircase are not negligible."""
        logs = self._log_count[:, width - 1] - epsilon * self._level
        keep = np.flatnonzero(logs > np.max(logs) - _NEGLIGIBLE)
        return max(int(keep[-1]) + 2, 4)


def _usual_loss(dimension: int, ratio: float) -> float:
    """About the ε of a staircase of the size of a cube of `ratio` sensitivities: to look from."""
    if ratio >= 1.0:
        return (dimension + 1.0) / ratio
    return (dimension + 2.0) * math.log(1.0 / ratio) + dimension + 1.0


def staircase(
    sigma: float,
    *,
    sensitivity: float = 1.0,
    domain: Domain = "real",
    step: float | None = None,
    cost: Cost | None = None,
) -> LatticeNoise:
    """The Staircase law (Geng–Viswanath) at its best shape for the cost.

    Density e^(−ε·level): level 0 for |x| < γs, then one level more for each further s.
    On a lattice of m bins per sensitivity γ is one of (2k+1)/(2m); the k that needs the
    least ε is taken. Real line: m = 50 or more, so γ is within 1 % of its optimum.

    Args:
        sigma: Standard deviation, in the units of the answer.
        sensitivity: s, how far one person can move the answer.
        domain: "real" or "integer".
        step: Pitch of the lattice on the real line, of which a whole number spans the sensitivity.
        cost: Of the noise, the quadratic one unless given; the expected cost is then that
            of `sigma`, and not the standard deviation `sigma`.

    Returns:
        The law, for one answer.

    Raises:
        InvalidParameterError: No law is: `sigma` is below that of one bin.

    Example:
        >>> round(staircase(3.0).std, 6)
        3.0
    """
    sigma, sensitivity = positive("sigma", sigma), at_least("sensitivity", sensitivity)
    step = step_of_known_law(sigma, sensitivity, step, domain, least=50)
    cost = quadratic() if cost is None else cost
    own = step / math.sqrt(12.0)
    if domain == "real" and cost.exponent == 2.0 and sigma <= own:
        raise InvalidParameterError(
            "sigma", sigma, f"to exceed the standard deviation {own:.6g} of one bin"
        )
    shift = shift_in_steps(sensitivity, step)
    in_steps, budget = cost.in_steps(cost.of(sigma), step)
    best = best_staircase(LatticeBudget(1, shift, in_steps, budget, domain))
    log_h = best.log_h[best.log_h > -_SMALLEST]
    ratio = math.exp(max(-best.epsilon / shift, -_SMALLEST))
    return LatticeNoise.from_log_weights(log_h, ratio, step=step, domain=domain)


def discrete_staircase(sigma: float, *, sensitivity: int = 1) -> LatticeNoise:
    """The Staircase law on the integers; for sensitivity 1 it is the discrete Laplace law.

    Args:
        sigma: Standard deviation.
        sensitivity: How far one person can move the answer, a whole number.

    Returns:
        The law, for one answer.

    Raises:
        InvalidParameterError: A parameter is not positive, or the sensitivity no whole number.

    Example:
        >>> round(discrete_staircase(3.0, sensitivity=2).std, 6)
        3.0
    """
    whole = positive_integer("sensitivity", sensitivity)
    return staircase(sigma, sensitivity=whole, domain="integer")


def proven_loss(lattice: LatticeBudget, epsilon: float, width: int, *, monotone: bool) -> float:
    """A loss that no law of the given budget can beat: just below `epsilon` when the certificate
    holds there, else 0."""
    for shortfall in _SHORTFALLS:
        e = epsilon * (1.0 - shortfall)
        f = _weighted_excess(lattice, e)
        shift = lattice.shift
        if _chains_prove(f, shift, e) or (monotone and _windows_prove(f, shift, e, width)):
            return e
    return 0.0


def _weighted_excess(lattice: LatticeBudget, epsilon: float) -> Floats:
    """e^(−εk/m) f_k up to a factor: in these units value moves one shift inwards unchanged.

    Shells past the window are taken to cost more than the budget, as the last one in it does:
    leaving them out lowers every sum.
    """
    shift, length = lattice.shift, 64 * lattice.shift
    while True:
        k = np.arange(length)
        logs = lattice.log_shell_count(k) - epsilon * (k / shift)
        last = float(np.max(logs[-shift:])) + lattice.cost.growth * math.log(length)
        if last < np.max(logs) - _NEGLIGIBLE or length > _MOST_SHELLS:
            excess = lattice.per_shell(length - 1) - lattice.budget
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
    """The proof for monotone laws. Within a window h is weighed by e^(εk/m): undone there, redone
    for the next."""
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
