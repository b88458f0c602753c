"""All releases of a law on one grid that stays while the law moves: its ε, and what the frozen
problem needs, from one Fourier transform.

The judge makes a grid for every law and bounds all that can go wrong. A search asks only which of
two laws is better, hundreds of times: here tilt, pitch and window are chosen once, and a law costs a
transform and its inverse. What is found is judged before it counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from leastnoise.accountant.grid import Grid
from leastnoise.accountant.saddle import GridSettings, aligned, saddle_for_epsilon
from leastnoise.accountant.window import running_sums, window_near
from leastnoise.lattice.shells import Floats
from leastnoise.losses.table import LIGHT, TableLoss

HEAVY = 0.1  # a loss of this probability leaves kinks in the sum, which no interpolation serves
_COARSER = 8  # times the grid may be made coarser
_NEWTON_STEPS, _SETTLED = 12, 1e-10  # to the ε of a law, and what the last one moves it by


@dataclass(frozen=True, eq=False)
class Frame:
    """Tilt θ, about the pitch, and the window of the sum of all losses, around an ε; losses above
    `cut` are so rare that they count as that."""

    theta: float
    pitch: float
    low: float
    size: int
    compositions: int
    epsilon: float
    cut: float

    @staticmethod
    def near(
        table: TableLoss, epsilon: float, delta: float, compositions: int, settings: GridSettings
    ) -> Frame:
        """The judge's window for a law of this ε; an ArithmeticError where there is none."""
        trimmed = table.without_top(settings.accuracy * delta / compositions)
        parts = ((trimmed, compositions),)
        saddle = saddle_for_epsilon(parts, epsilon)
        window, _ = window_near(parts, saddle, epsilon, settings, _COARSER)
        cut = math.inf if trimmed is table else trimmed.largest
        return Frame(
            window.theta,
            window.pitch,
            window.low,
            window.tilted.size,
            compositions,
            epsilon,
            cut,
        )

    def composed(self, table: TableLoss) -> Composed:
        """The releases of a law with this table of losses: heavy ones as the judge splits them,
        others on four points. Where some are not light, the heaviest is a point of the grid, so
        that the steps of a law are free to move."""
        if table.largest > self.cut:
            table = TableLoss(np.minimum(table.loss, self.cut), table.log_p, table.infinite)
        pitch = aligned(((table, 1),), self.pitch) if table.heaviest >= LIGHT else self.pitch
        if table.heaviest >= HEAVY:
            grid = Grid.of(table, pitch, self.theta)
            one, log_scale = grid.folded(self.size), grid.log_scale
        else:
            one, log_scale = _spread(table, pitch, self.theta, self.size)
        first = math.floor(self.low / pitch)
        return Composed(self, pitch, first, fft.rfft(one), log_scale, table.infinite)


def _spread(table: TableLoss, pitch: float, theta: float, size: int) -> tuple[Floats, float]:
    """The tilted probabilities on a cyclic grid, each on four points by cubic interpolation, which
    keeps three moments, and K(θ): what the judge's two points add to the spread of a loss would
    hide gains of 1e-6."""
    exponent = table.log_p + theta * table.loss
    top = float(np.max(exponent))
    weight = np.exp(exponent - top)
    mass = float(np.sum(weight))
    place = table.loss / pitch
    lower = np.floor(place)
    t = place - lower
    index = lower.astype(np.int64) % size
    before, after, beyond = t + 1.0, t - 1.0, t - 2.0
    shares = (
        t * after * beyond / -6.0,
        before * after * beyond / 2.0,
        before * t * beyond / -2.0,
        before * t * after / 6.0,
    )
    total = np.zeros(size)
    for offset, share in zip((-1, 0, 1, 2), shares, strict=True):
        total += np.roll(np.bincount(index, weight * share, minlength=size), offset)
    return total / mass, top + math.log(mass)


@dataclass(frozen=True, eq=False)
class Composed:
    """One law in a frame: its pitch and the first point of the window, the transform of one tilted
    loss, K(θ), the mass of infinite loss."""

    frame: Frame
    pitch: float
    first: int
    spectrum: NDArray[np.complex128]
    log_scale: float
    infinite: float

    def epsilon(self, delta: float) -> float:
        """ε of all releases at δ, by Newton's method from the frame's; +inf where that leads out of
        the window."""
        frame, n = self.frame, self.frame.compositions
        allowed = delta + math.expm1(n * math.log1p(-min(self.infinite, 0.5)))
        if not allowed > 0.0:
            return math.inf
        wanted = math.log(allowed) - n * self.log_scale
        tilted, at = self.density(n, self.first), frame.epsilon
        for _ in range(_NEWTON_STEPS):
            index = math.floor(at / self.pitch) + 1 - self.first
            if not 0 <= index < frame.size:
                return math.inf
            above, discounted = self._sums(tilted, at, index)
            if not above > discounted > 0.0:
                return math.inf
            excess = math.log(above - discounted) - frame.theta * at - wanted
            step = excess * (above - discounted) / discounted
            at += step
            if abs(step) <= _SETTLED * abs(at):
                return max(at, 0.0)
        return math.inf

    def _sums(self, tilted: Floats, at: float, index: int) -> tuple[float, float]:
        """Σ q e^(−θ(s−ε)) and Σ q e^(−(θ+1)(s−ε)) over the points s above ε."""
        theta = self.frame.theta
        gap = self.pitch * (self.first + index) - at
        falls, falls_more = self._falls
        rest = tilted.size - index
        above = float(np.einsum("i,i->", tilted[index:], falls[:rest]))
        discounted = float(np.einsum("i,i->", tilted[index:], falls_more[:rest]))
        return math.exp(-theta * gap) * above, math.exp(-(theta + 1.0) * gap) * discounted

    @cached_property
    def _falls(self) -> tuple[Floats, Floats]:
        """e^(−θx) and e^(−(θ+1)x) at the distances x of the grid."""
        x = self.pitch * np.arange(self.frame.size)
        return np.exp(-self.frame.theta * x), np.exp(-(self.frame.theta + 1.0) * x)

    def density(self, releases: int, first: int, width: float = 0.0) -> Floats:
        """The tilted probabilities of the sum of so many releases on the grid from a first point
        on, smoothed by a normal law of this deviation."""
        size = self.frame.size
        powers = self.spectrum**releases
        if width > 0.0:
            turns = (2.0 * math.pi * width / (self.pitch * size)) * np.arange(powers.size)
            powers = powers * np.exp(-0.5 * turns * turns)
        return np.roll(fft.irfft(powers, size), -(first % size))

    def of_others(self, x: Floats, centre: float, width: float) -> tuple[Floats, Floats, Floats]:
        """Of the sum S of all releases but one, smoothed, whose tilted mean is about `centre`:
        Pr(S > x), E[(1 − e^(x − S))_+] and the density of S at x, all untilted by e^(−θ(s−x)). Sums
        over s > x on the grid, by a first-order recursion from above; below the window they fall
        as the tilt does."""
        frame, pitch, theta = self.frame, self.pitch, self.frame.theta
        first = self.first - round((frame.epsilon - centre) / pitch)
        density = self.density(frame.compositions - 1, first, max(width, pitch))
        upwards = density[::-1]
        exceed, discount = (
            np.concatenate([[0.0], rate * running_sums(upwards, rate)[:-1]])[::-1]
            for rate in (math.exp(-theta * pitch), math.exp(-(theta + 1.0) * pitch))
        )
        place = x / pitch - first
        below = np.minimum(place, 0.0) * pitch
        points = np.arange(frame.size)
        tail = np.interp(place, points, exceed, right=0.0) * np.exp(theta * below)
        less = np.interp(place, points, discount, right=0.0) * np.exp((theta + 1.0) * below)
        here = np.interp(place, points, density / pitch, left=0.0, right=0.0)
        return tail, tail - less, here
