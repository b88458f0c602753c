"""Descent on the true ε: the ε that the judge certifies after composition, not the Rényi divergence of one order.

δ of N releases is linear in the law of each. With the other N − 1 held at the present law, whose losses sum to S,

    δ = Σ over pairs of shells  N_ij h_j φ(h_i/h_j),     φ(ρ) = ρ·E[(1 − e^(ε − log ρ − S))_+],

an f-divergence with the convex φ, φ' = Pr(S > ε − log ρ) and ρφ'' the density of S there. Its gradient is exactly 1/N of that of δ
(docs/mathematics.md, "The tight objective"), and its Hessian the same banded graph Laplacian as that of the Rényi program. The
part of the true Hessian it leaves out couples two releases; it acts on the change of the whole loss distribution, whose main
part is zero along feasible directions at a stationary law. So a Newton step of the frozen problem, judged by the true ε,
converges in a few iterations.

One iteration: table of losses → ε by the judge → S by tilted FFT → value, gradient, Hessian → `step.direction` → line search on ε.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import ndimage

from leastnoise.designer.point import Point
from leastnoise.designer.problem import RenyiProblem
from leastnoise.designer.step import State, direction, first_multipliers, restored
from leastnoise.designer.system import PairSystem, Value
from leastnoise.errors import AccountingError
from leastnoise.privacy import compose as composition
from leastnoise.privacy.compose import Parts, Saddle, Settings, Window
from leastnoise.privacy.loss import DEFAULT, PrivacyLoss
from leastnoise.privacy.single import TableLoss
from leastnoise.shells import Floats

_MOST_ITERATIONS = 50
_LEAST_GAIN = 2e-7  # relative to ε, an iteration
# Where ε is a smaller share than this of what it would be at δ = 0, gains count relative to that share: there ε falls a hundred
# times as fast as σ grows, and every judgement needs a finer grid (three releases at δ = 0.25, ε = 0.01: 23 s without).
_STEEP = 0.03
_SHARPEN = 0.5
# The grid of the search: at first a fourth of the points, and never very many. A law of a few releases that has single heavy losses
# is judged on two million (two at δ = ε = 0.01: 0.4 s a time), which to see that one law is better than another nobody needs.
FINE = Settings(accuracy=DEFAULT.accuracy, most_points=2**16)
COARSE = replace(FINE, accuracy=16.0 * DEFAULT.accuracy)
_COARSER = 8  # times the grid may be made coarser
_SECANTS, _SETTLED = 12, 1e-9  # steps to the ε of a law, and what the last one moves it by


@dataclass(frozen=True, eq=False)
class TightOptimum:
    """The law reached (log h on the free shells) and its ε, as the judge sees the table of the problem."""

    q: Floats
    epsilon: float
    iterations: int


def loss_table(system: PairSystem, q: Floats) -> TableLoss:
    """The privacy loss of one release of the law q at the corner shift."""
    loss = q[system.a] - q[system.b] + system.offset
    return TableLoss(loss, system.log_count + q[system.b] + loss)


def true_epsilon(
    system: PairSystem, q: Floats, delta: float, compositions: int, settings: Settings = DEFAULT
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
    least: float,
    settings: Settings = DEFAULT,
) -> float:
    """The same ε where it is below `than`, to an accuracy that is relative to `least` where that is more; else +inf.

    1. One grid, tilted for the ε to be beaten, where the judge, who knows none, may need two: it says whether δ is kept there.
    2. Secant steps from there, the slope of log δ being about −θ; where they leave the grid or the tilt the judge is asked.
    """
    if compositions == 1:  # without a grid
        return true_epsilon(system, q, delta, compositions, settings)
    table = loss_table(system, q).without_top(settings.accuracy * delta / compositions)
    parts = ((table, compositions),)
    try:
        saddle = composition.saddle_for_epsilon(parts, than)
        window, truncated = _window(parts, saddle, max(than, least), settings)
    except ArithmeticError:
        return true_epsilon(system, q, delta, compositions, settings)
    allowed = delta - truncated + math.expm1(compositions * math.log1p(-table.infinite))
    if not (allowed > 0.0 and window.log_delta(than, upper=True) < math.log(allowed)):
        return math.inf
    low = max(saddle.centre - 2.0 * saddle.deviation, window.low, 0.0)
    epsilon, slope = than, -max(saddle.theta, 1e-3)
    before: tuple[float, float] | None = None
    for _ in range(_SECANTS):
        excess = window.log_delta(epsilon, upper=True) - math.log(allowed)
        if before is not None and epsilon != before[0] and excess != before[1]:
            slope = (excess - before[1]) / (epsilon - before[0])
        moved = epsilon - excess / slope if slope < 0.0 else math.nan
        if abs(moved - epsilon) <= _SETTLED * max(epsilon, least):
            return moved
        if not low < moved < window.high:
            break
        before, epsilon = (epsilon, excess), moved
    return true_epsilon(system, q, delta, compositions, settings)


def _window(
    parts: Parts, saddle: Saddle, epsilon: float, settings: Settings
) -> tuple[Window, float]:
    """The composed loss near `epsilon`, as accurately as so many points allow."""
    for attempt in range(_COARSER):
        pitch = composition.pitch_for(parts, saddle, epsilon, settings.accuracy * 4.0**attempt)
        try:
            return composition.compose(parts, saddle, pitch, settings.most_points)
        except AccountingError:
            continue
    raise AccountingError(f"{settings.most_points} grid points are too few.")


def steep_epsilon(system: PairSystem, q: Floats, compositions: int) -> float:
    """The ε below which it falls steeply in σ."""
    return _STEEP * compositions * loss_table(system, q).largest


def descend(
    problem: RenyiProblem,
    system: PairSystem,
    q: Floats,
    delta: float,
    compositions: int,
    settings: Settings = DEFAULT,
) -> TightOptimum:
    """Lower the true ε from the law q, which must meet the constraints; stops when an iteration gains less than 2e-7 of ε."""
    least = steep_epsilon(system, q, compositions)
    epsilon = true_epsilon(system, q, delta, compositions, settings)
    start = TightOptimum(q, epsilon, 0)
    barrier, smoothing, iteration = 1e-3, 0.3, 0
    while 0.0 < epsilon < math.inf and iteration < _MOST_ITERATIONS:
        iteration += 1
        frozen = _frozen_point(problem, system, q, epsilon, compositions, smoothing)
        moved = (
            None
            if frozen is None
            else _improve(
                problem, system, frozen, barrier, delta, compositions, epsilon, least, settings
            )
        )
        gain = 0.0
        if moved is not None:
            gain = (epsilon - moved.epsilon) / max(epsilon, least)
            q, epsilon = moved.q, moved.epsilon
        if gain < 1e-4:
            if barrier <= 1e-8 and smoothing <= 0.02 and gain < _LEAST_GAIN:
                break
            haste = (
                1 if moved is not None else 2
            )  # a step that promises nothing costs nothing but its own set-up: go on faster
            barrier, smoothing = (
                max(0.2**haste * barrier, 1e-8),
                max(_SHARPEN**haste * smoothing, 0.02),
            )
    reached = (
        true_epsilon(system, q, delta, compositions, settings)
        if epsilon < start.epsilon
        else math.inf
    )
    return (
        TightOptimum(q, reached, iteration)
        if reached < start.epsilon
        else replace(start, iterations=iteration)
    )


def _improve(
    problem: RenyiProblem,
    system: PairSystem,
    frozen: Frozen,
    barrier: float,
    delta: float,
    compositions: int,
    epsilon: float,
    least: float,
    settings: Settings,
) -> TightOptimum | None:
    """A step of the frozen problem that lowers the true ε, or None."""
    point = frozen.point
    share = point.share * (1.0 + problem.unit_cost / problem.budget)
    share_out = np.maximum(share / np.sum(share), 1e-40)
    weights = np.ones(1)
    nu = first_multipliers(problem, point, weights)
    state = State(point, barrier, share_out, barrier * share_out / point.slack, weights, nu, 1e-6)
    step = direction(problem, system, state)
    if step is None:
        return None
    # To first order log δ falls by N times the fall of the frozen problem's, and ε by that over θ: too little needs no judge.
    promised = -compositions * float(np.sum(point.gradients[0] * step.dq))
    if promised < _LEAST_GAIN * max(epsilon, least) * max(frozen.theta, 1e-300):
        return None
    length = min(1.0, 4.0 / float(np.max(np.abs(step.dq), initial=1e-300)))
    closing = (step.dq[1:] - step.dq[:-1]) / (point.q[:-1] - point.q[1:])
    length = min(length, 0.99 / float(np.max(closing, initial=1e-300)))
    best = None
    for _ in range(8):
        q = restored(problem, point.q + length * step.dq, step)
        if q is not None:
            than = epsilon if best is None else best.epsilon
            reached = lower_epsilon(system, q, delta, compositions, than, least, settings)
            if reached < than:
                best = TightOptimum(q, reached, 0)
            elif best is not None:
                break
        if best is not None and length > 0.3:
            break
        length *= 0.4
    return best


@dataclass(frozen=True, eq=False)
class Frozen:
    """The frozen problem at one law, and the tilt at which it was evaluated."""

    point: Point
    theta: float


def _frozen_point(
    problem: RenyiProblem,
    system: PairSystem,
    q: Floats,
    epsilon: float,
    compositions: int,
    smoothing: float,
) -> Frozen | None:
    """Value, gradient and Hessian weights of the frozen problem, as a point of the Rényi solver's kind."""
    table = loss_table(system, q)
    saddle = composition.saddle_for_epsilon(((table, compositions),), epsilon)
    others = _others(table, saddle, epsilon, compositions, smoothing)
    if others is None:
        return None
    grid, pitch, density = others
    theta = saddle.theta
    # Tilted sums over s > x on the grid: U = Σ t e^(−θ(s−x)), V = Σ t e^(−(θ+1)(s−x)), by a first-order recursion from above.
    decay, decay_more = math.exp(-theta * pitch), math.exp(-(theta + 1.0) * pitch)
    upwards = density[::-1]
    exceed, discount = (
        np.concatenate([[0.0], rate * composition.running_sums(upwards, rate)[:-1]])[::-1]
        for rate in (decay, decay_more)
    )
    x = epsilon - table.loss
    tail, rest, here = (
        np.interp(x, grid, values) for values in (exceed, exceed - discount, density / pitch)
    )
    log_base = table.log_p + theta * table.loss
    base = np.exp(log_base - float(np.max(log_base)))
    total = system.size
    value = float(np.sum(base * rest))
    if not value > 0.0:
        return None
    to_a = np.bincount(system.grid_a, base * tail, minlength=total)
    to_b = np.bincount(system.grid_b, base * (rest - tail), minlength=total)
    gradient = np.asarray(to_a + to_b, dtype=np.float64)
    frozen = Value(0.0, np.array([value]), gradient[None, :], np.zeros((1, total)), base * here)
    slack = np.ones(q.size)
    slack[:-1] = -np.expm1(q[1:] - q[:-1])
    factor = np.array([1.0 / value])
    point = Point(
        q,
        frozen,
        np.exp(problem.log_mass + q),
        slack,
        np.log(frozen.d),
        gradient[None, :] / value,
        factor,
    )
    return Frozen(point, theta)


def _others(
    table: TableLoss, saddle: Saddle, epsilon: float, compositions: int, smoothing: float
) -> tuple[Floats, float, Floats] | None:
    """The tilted law of the other releases' loss on a grid that holds every ε − loss, smoothed by a share of one loss's deviation.

    Without smoothing the Hessian of one or two releases is a comb of point masses.
    """
    one = Saddle(
        saddle.theta, saddle.centre / compositions, saddle.deviation / math.sqrt(compositions)
    )
    width = smoothing * one.deviation / math.sqrt(compositions)
    low, high = epsilon - table.largest, epsilon + table.spread
    pitch = max(one.deviation / 200.0, (high - low) / 100_000)
    if compositions == 1:
        first, tilted = 0, np.ones(1)
    else:
        rest = compositions - 1
        centre = Saddle(one.theta, rest * one.centre, math.sqrt(rest) * one.deviation)
        try:
            window, _ = composition.compose(((table, rest),), centre, pitch, 2**20)
        except (
            ArithmeticError
        ):  # a grid that would be too long, or a tilt beyond floating-point numbers
            return None
        first, tilted = window.first, window.tilted
    before = max(first - math.floor(low / pitch) + 2, 0) + 8
    after = max(math.ceil(high / pitch) - (first + tilted.size) + 2, 0) + 8
    density = np.pad(tilted, (before, after))
    density = ndimage.gaussian_filter1d(
        density, max(width / pitch, 1.0), mode="constant", truncate=6.0
    )
    grid = pitch * (first - before + np.arange(density.size))
    return grid, pitch, density
