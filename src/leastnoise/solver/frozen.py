"""The frozen problem: δ as a function of the law of one release, the others held at the present
law.

With S the sum of the losses of the other N − 1 releases,

    δ = Σ over pairs of shells  N_ij h_j φ(h_i/h_j),     φ(ρ) = ρ·E[(1 − e^(ε − log ρ − S))_+],

an f-divergence with the convex φ, φ' = Pr(S > ε − log ρ) and ρφ'' the density of S there: value,
gradient and Hessian weights are expectations over S, which one tilted FFT gives.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from leastnoise.accountant.saddle import Saddle, saddle_for_epsilon
from leastnoise.accountant.window import running_sums, window_at
from leastnoise.lattice.shells import Floats
from leastnoise.losses.table import TableLoss
from leastnoise.solver.pairs import PairSystem, Value, loss_table
from leastnoise.solver.point import Point
from leastnoise.solver.problem import RenyiProblem

_PITCH = 200  # grid points to a deviation of one loss
_MOST_GRID = 100_000  # of them from the least to the largest ε − loss
_MOST_POINTS = 2**20  # of the window of the other releases


@dataclass(frozen=True, eq=False)
class _OtherReleases:
    """The tilted law of the other releases' loss on a grid."""

    grid: Floats
    pitch: float
    density: Floats


@dataclass(frozen=True, eq=False)
class Frozen:
    """The frozen problem at one law, as a point of the Rényi solver's kind, and the tilt θ at which
    it was evaluated."""

    point: Point
    theta: float


def frozen_point(
    problem: RenyiProblem,
    system: PairSystem,
    q: Floats,
    epsilon: float,
    compositions: int,
    smoothing: float,
) -> Frozen | None:
    """Value, gradient and Hessian weights of the frozen problem at ε; None where no grid holds the
    other releases.

    1. The table of losses, the tilt of ε, and the other releases' loss S under it.
    2. Pr(S > x), E[(1 − e^(x − S))_+] and the density of S at x = ε − loss, for every pair.
    3. Their sums over the pairs, as the Rényi solver wants them.
    """
    table = loss_table(system, q)
    saddle = saddle_for_epsilon(((table, compositions),), epsilon)
    others = _others(table, saddle, epsilon, compositions, smoothing)
    if others is None:
        return None
    tail, rest, here = _expectations(others, saddle.theta, epsilon - table.loss)
    log_base = table.log_p + saddle.theta * table.loss
    base = np.exp(log_base - float(np.max(log_base)))
    value = float(np.sum(base * rest))
    if not value > 0.0:
        return None
    total = system.size
    to_a = np.bincount(system.grid_a, base * tail, minlength=total)
    to_b = np.bincount(system.grid_b, base * (rest - tail), minlength=total)
    gradient = np.asarray(to_a + to_b, dtype=np.float64)
    slack = np.ones(q.size)
    slack[:-1] = -np.expm1(q[1:] - q[:-1])
    d = np.array([value])
    point = Point(
        q=q,
        value=Value(0.0, d, gradient[None, :], np.zeros((1, total)), base * here),
        share=np.exp(problem.log_mass + q),
        slack=slack,
        objective=np.log(d),
        gradients=gradient[None, :] / value,
        factor=np.array([1.0 / value]),
    )
    return Frozen(point, saddle.theta)


def _expectations(others: _OtherReleases, theta: float, x: Floats) -> tuple[Floats, Floats, Floats]:
    """Pr(S > x), E[(1 − e^(x − S))_+] and the density of S at x, all untilted by e^(−θ(s−x)): sums
    over s > x on the grid, by a first-order recursion from above."""
    upwards = others.density[::-1]
    decay, decay_more = (math.exp(-rate * others.pitch) for rate in (theta, theta + 1.0))
    exceed, discount = (
        np.concatenate([[0.0], rate * running_sums(upwards, rate)[:-1]])[::-1]
        for rate in (decay, decay_more)
    )
    columns = (exceed, exceed - discount, others.density / others.pitch)
    tail, rest, here = (np.interp(x, others.grid, values) for values in columns)
    return tail, rest, here


def _others(
    table: TableLoss, saddle: Saddle, epsilon: float, compositions: int, smoothing: float
) -> _OtherReleases | None:
    """The other releases on a grid that holds every ε − loss, smoothed by a share of one loss's
    deviation: without, the Hessian of one or two releases is a comb of point masses.

    None where the grid would be too long, or the tilt beyond floating-point numbers.
    """
    from scipy import ndimage  # 0.08 s, for designs of several releases alone

    root = math.sqrt(compositions)
    one = Saddle(saddle.theta, saddle.centre / compositions, saddle.deviation / root)
    width = smoothing * one.deviation / root
    low, high = epsilon - table.largest, epsilon + table.spread
    pitch = max(one.deviation / _PITCH, (high - low) / _MOST_GRID)
    if compositions == 1:
        first, tilted = 0, np.ones(1)
    else:
        rest = compositions - 1
        centre = Saddle(one.theta, rest * one.centre, math.sqrt(rest) * one.deviation)
        try:
            window, _ = window_at(((table, rest),), centre, pitch, _MOST_POINTS)
        except ArithmeticError:
            return None
        first, tilted = window.first, window.tilted
    before = max(first - math.floor(low / pitch) + 2, 0) + 8
    after = max(math.ceil(high / pitch) - (first + tilted.size) + 2, 0) + 8
    density = ndimage.gaussian_filter1d(
        np.pad(tilted, (before, after)), max(width / pitch, 1.0), mode="constant", truncate=6.0
    )
    grid = pitch * (first - before + np.arange(density.size))
    return _OtherReleases(grid, pitch, density)
