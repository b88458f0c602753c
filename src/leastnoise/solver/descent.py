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
from dataclasses import dataclass, replace

import numpy as np

from leastnoise.accountant.composition import DEFAULT
from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.accountant.saddle import GridSettings
from leastnoise.lattice.shells import Floats
from leastnoise.losses.table import TableLoss
from leastnoise.solver.frame import HEAVY, Composed, Frame
from leastnoise.solver.frozen import frozen_point
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
_SHORTER = 0.4  # of step lengths
_LONG = 0.3  # of a Newton step: one that is shorter is shortened further while that gains
# The grid of the search: at first a fourth of the points, and never very many. A law of a few
# releases that has single heavy losses is judged on two million (two at δ = ε = 0.01: 0.4 s a
# time), which to see that one law is better than another nobody needs.
FINE = GridSettings(accuracy=DEFAULT.accuracy, most_points=2**16)
COARSE = replace(FINE, accuracy=16.0 * DEFAULT.accuracy)
_NEAR = 0.98  # of ε: a frame serves laws down to here


def grids_for(table: TableLoss) -> list[GridSettings]:
    """Those that descent is made on, one after the other."""
    return [COARSE, FINE]


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
        return true_epsilon(self.system, q, self.delta, self.compositions, FINE)

    def framed(self, q: Floats, epsilon: float) -> Frame | None:
        """A frame for laws near this one; None where the judge has none."""
        table = loss_table(self.system, q)
        try:
            return Frame.near(table, epsilon, self.delta, self.compositions, self.settings)
        except ArithmeticError:
            return None

    def reframed(self, place: _Place) -> _Place:
        """The same law in a frame of its own where it has none or has left the middle of it."""
        known = place.composed
        if known is not None and place.epsilon > _NEAR * known.frame.epsilon:
            return place
        frame = self.framed(place.q, place.epsilon)
        return _Place(place.q, place.epsilon, None) if frame is None else self.at(place.q, frame)

    def at(self, q: Floats, frame: Frame) -> _Place:
        """The law in the frame, with its ε there, +inf where it leaves the frame; where it has heavy
        losses, as the judge sees it, who has a grid for every law."""
        table = loss_table(self.system, q)
        try:
            composed = frame.composed(table)
        except ArithmeticError:
            return _Place(q, math.inf, None)
        if table.heaviest < HEAVY:
            return _Place(q, composed.epsilon(self.delta), composed)
        judged = true_epsilon(self.system, q, self.delta, self.compositions, self.settings)
        return _Place(q, judged, composed)


@dataclass(frozen=True, eq=False)
class _Place:
    """A law of the search."""

    q: Floats
    epsilon: float
    composed: Composed | None


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
    4. What is reached is judged.
    """
    goal = _Goal(problem, system, delta, compositions, settings)
    start = TightOptimum(q, goal.judged(q), 0)
    if not 0.0 < start.epsilon < math.inf:
        return start
    place, iteration = _Place(q, start.epsilon, None), 0
    barrier, smoothing = _BARRIER, _SMOOTHING
    while 0.0 < place.epsilon < math.inf and iteration < _MOST_ITERATIONS:
        iteration += 1
        place = goal.reframed(place)
        if place.composed is None:
            break
        moved = _improved(goal, place, barrier, smoothing)
        gain = 0.0
        if moved is not None:
            gain = (place.epsilon - moved.epsilon) / place.epsilon
            place = moved
        if gain < _GOOD_GAIN:
            is_sharp = barrier <= _LEAST_BARRIER and smoothing <= _LEAST_SMOOTHING
            if is_sharp and gain < _LEAST_GAIN:
                break
            haste = 2 if moved is None else 1
            barrier = max(_LOWER**haste * barrier, _LEAST_BARRIER)
            smoothing = max(_SHARPEN**haste * smoothing, _LEAST_SMOOTHING)
    reached = math.inf if place.q is q else goal.judged(place.q)
    if reached < start.epsilon:
        return TightOptimum(place.q, reached, iteration)
    return replace(start, iterations=iteration)


def _improved(goal: _Goal, place: _Place, barrier: float, smoothing: float) -> _Place | None:
    """The longest of ever shorter steps of the frozen problem that lowers the true ε, or None.

    Where that is a short one, it is shortened further while ε falls: there the frozen problem says
    little about the true one.
    """
    problem, composed = goal.problem, place.composed
    if composed is None:
        return None
    frozen = frozen_point(problem, goal.system, place.q, place.epsilon, composed, smoothing)
    if frozen is None:
        return None
    point = frozen.point
    step = direction(problem, goal.system, first_state(problem, point, barrier, np.ones(1)))
    if step is None:
        return None
    # To first order log δ falls by N times the fall of the frozen problem's, and ε by that over θ.
    # Too little needs no judge: at σ = 8.16 and ten releases he is asked 9 times and not 162.
    promised = -goal.compositions * float(np.sum(point.gradients[0] * step.dq))
    least = _LEAST_GAIN * place.epsilon * frozen.theta
    length = longest(problem, point.q, step.dq)
    best: _Place | None = None
    while promised * length >= least:
        law = restored(problem, point.q + length * step.dq, step)
        than = place.epsilon if best is None else best.epsilon
        moved = None if law is None else goal.at(law, composed.frame)
        if moved is not None and moved.epsilon < than:
            best = moved
        elif best is not None:
            break
        if best is not None and length > _LONG:
            break
        length *= _SHORTER
    return best
