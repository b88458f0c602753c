"""Descent on the true ε: the ε that the judge certifies after composition, not the Rényi divergence
of one order.

δ of N releases is linear in the law of each. With the other N − 1 held at the present law it is a
convex function of that one law (`frozen`), whose gradient is exactly 1/N of that of δ
(docs/mathematics.md#the-exact-gradient), and whose Hessian is the same banded graph Laplacian as
that of the Rényi program. The part of the true Hessian it leaves out couples two releases; it acts
on the change of the whole loss distribution, whose main part is zero along feasible directions at a
stationary law. So a Newton step of the frozen problem, judged by the true ε, converges in a few
iterations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from leastnoise.accountant.composition import DEFAULT
from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.accountant.saddle import GridSettings, saddle_for_epsilon
from leastnoise.accountant.window import window_near
from leastnoise.lattice.shells import Floats
from leastnoise.solver.frozen import Frozen, frozen_point
from leastnoise.solver.pairs import PairSystem, loss_table
from leastnoise.solver.problem import RenyiProblem
from leastnoise.solver.step import direction, first_state, longest, restored

_MOST_ITERATIONS = 50
_LEAST_GAIN = 2e-7  # relative to ε, an iteration
_GOOD_GAIN = 1e-4  # below, the barrier and the smoothing are lowered
# Barrier parameter and smoothing of the other releases' losses: at first, at least, and by what
# factor each falls.
_BARRIER, _LEAST_BARRIER, _LOWER = 1e-3, 1e-8, 0.2
_SMOOTHING, _LEAST_SMOOTHING, _SHARPEN = 0.3, 0.02, 0.5
_TRIES, _SHORTER = 8, 0.4  # of step lengths
_LONG = 0.3  # of a Newton step: one that is shorter is shortened further while that gains
# The grid of the search: at first a fourth of the points, and never very many. A law of a few
# releases that has single heavy losses is judged on two million (two at δ = ε = 0.01: 0.4 s a
# time), which to see that one law is better than another nobody needs.
FINE = GridSettings(accuracy=DEFAULT.accuracy, most_points=2**16)
COARSE = replace(FINE, accuracy=16.0 * DEFAULT.accuracy)
_COARSER = 8  # times the grid may be made coarser
_SECANTS, _SETTLED = 12, 1e-9  # steps to the ε of a law, and what the last one moves it by


@dataclass(frozen=True, eq=False)
class TightOptimum:
    """The law reached (log h on the free shells) and its ε, as the judge sees the table of the
    problem."""

    q: Floats
    epsilon: float
    iterations: int


def true_epsilon(
    system: PairSystem, q: Floats, delta: float, compositions: int, settings: GridSettings = DEFAULT
) -> float:
    """ε of `compositions` releases; +inf where the judge declines."""
    try:
        return PrivacyLoss(((loss_table(system, q), compositions),), settings).epsilon(delta)
    except ArithmeticError:
        return math.inf


def lower_epsilon(
    system: PairSystem,
    q: Floats,
    delta: float,
    compositions: int,
    than: float,
    settings: GridSettings = DEFAULT,
) -> float:
    """The same ε where it is below `than`; else +inf.

    1. One grid, tilted for the ε to be beaten, where the judge, who knows none, may need two: it
       says whether δ is kept there.
    2. Secant steps from there, the slope of log δ being about −θ; where they leave the grid or the
       tilt the judge is asked.
    """
    if compositions == 1:  # without a grid
        return true_epsilon(system, q, delta, compositions, settings)
    table = loss_table(system, q).without_top(settings.accuracy * delta / compositions)
    parts = ((table, compositions),)
    try:
        saddle = saddle_for_epsilon(parts, than)
        window, truncated = window_near(parts, saddle, than, settings, _COARSER)
    except ArithmeticError:
        return true_epsilon(system, q, delta, compositions, settings)
    allowed = delta - truncated + math.expm1(compositions * math.log1p(-table.infinite))
    if not (allowed > 0.0 and window.log_delta(than, upper=True) < math.log(allowed)):
        return math.inf
    low = max(saddle.centre - 2.0 * saddle.deviation, window.low, 0.0)

    def excess(epsilon: float) -> float:
        return window.log_delta(epsilon, upper=True) - math.log(allowed)

    slope = -max(saddle.theta, 1e-3)
    found = _by_secants(excess, than, slope, (low, window.high))
    return true_epsilon(system, q, delta, compositions, settings) if found is None else found


def _by_secants(
    excess: Callable[[float], float],
    at: float,
    slope: float,
    within: tuple[float, float],
) -> float | None:
    """The zero of `excess`, from `at` and about its slope there; None where the steps leave the
    range or do not settle."""
    before: tuple[float, float] | None = None
    for _ in range(_SECANTS):
        value = excess(at)
        if before is not None and at != before[0] and value != before[1]:
            slope = (value - before[1]) / (at - before[0])
        moved = at - value / slope if slope < 0.0 else math.nan
        if abs(moved - at) <= _SETTLED * at:
            return moved
        if not within[0] < moved < within[1]:
            return None
        before, at = (at, value), moved
    return None


@dataclass(frozen=True, eq=False)
class _Goal:
    """What stays fixed while the law moves."""

    problem: RenyiProblem
    system: PairSystem
    delta: float
    compositions: int
    settings: GridSettings

    def judged(self, q: Floats) -> float:
        """ε of the law, from scratch."""
        return true_epsilon(self.system, q, self.delta, self.compositions, self.settings)

    def below(self, q: Floats, than: float) -> float:
        """ε of the law where it is below `than`, else +inf."""
        return lower_epsilon(self.system, q, self.delta, self.compositions, than, self.settings)


def descend(
    problem: RenyiProblem,
    system: PairSystem,
    q: Floats,
    delta: float,
    compositions: int,
    settings: GridSettings = DEFAULT,
) -> TightOptimum:
    """Lower the true ε from the law q, which must meet the constraints; the result is never worse.

    1. The frozen problem at the present law and ε, its other releases smoothed (`frozen_point`).
    2. Its Newton step, as far as that lowers the true ε (`_improved`).
    3. After a gain below 1e-4, a smaller barrier and less smoothing, twice so after none. The end
       is a gain below 2e-7 with both least.
    """
    goal = _Goal(problem, system, delta, compositions, settings)
    start = TightOptimum(q, goal.judged(q), 0)
    epsilon, iteration = start.epsilon, 0
    barrier, smoothing = _BARRIER, _SMOOTHING
    while 0.0 < epsilon < math.inf and iteration < _MOST_ITERATIONS:
        iteration += 1
        frozen = frozen_point(problem, system, q, epsilon, compositions, smoothing)
        moved = None if frozen is None else _improved(goal, frozen, barrier, epsilon)
        gain = 0.0
        if moved is not None:
            gain = (epsilon - moved.epsilon) / epsilon
            q, epsilon = moved.q, moved.epsilon
        if gain < _GOOD_GAIN:
            is_sharp = barrier <= _LEAST_BARRIER and smoothing <= _LEAST_SMOOTHING
            if is_sharp and gain < _LEAST_GAIN:
                break
            haste = 2 if moved is None else 1
            barrier = max(_LOWER**haste * barrier, _LEAST_BARRIER)
            smoothing = max(_SHARPEN**haste * smoothing, _LEAST_SMOOTHING)
    reached = goal.judged(q) if epsilon < start.epsilon else math.inf
    if reached < start.epsilon:
        return TightOptimum(q, reached, iteration)
    return replace(start, iterations=iteration)


def _improved(goal: _Goal, frozen: Frozen, barrier: float, epsilon: float) -> TightOptimum | None:
    """The longest of ever shorter steps of the frozen problem that lowers the true ε, or None.

    Where that is a short one, it is shortened further while ε falls: there the frozen problem says
    little about the true one.
    """
    problem, point = goal.problem, frozen.point
    state = first_state(problem, point, barrier, np.ones(1))
    step = direction(problem, goal.system, state)
    if step is None:
        return None
    # To first order log δ falls by N times the fall of the frozen problem's, and ε by that over θ.
    # Too little needs no judge: at σ = 8.16 and ten releases he is asked 9 times and not 162.
    promised = -goal.compositions * float(np.sum(point.gradients[0] * step.dq))
    if promised < _LEAST_GAIN * epsilon * frozen.theta:
        return None
    length = longest(problem, point.q, step.dq)
    best: TightOptimum | None = None
    for _ in range(_TRIES):
        moved = restored(problem, point.q + length * step.dq, step)
        than = epsilon if best is None else best.epsilon
        reached = math.inf if moved is None else goal.below(moved, than)
        if moved is not None and reached < than:
            best = TightOptimum(moved, reached, 0)
        elif best is not None:
            break
        if best is not None and length > _LONG:
            break
        length *= _SHORTER
    return best
