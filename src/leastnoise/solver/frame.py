"""All releases of a law on one grid that stays while the law moves: its ε, and what the frozen
problem needs, from one Fourier transform.

The judge makes a grid for every law and bounds all that can go wrong. A search asks only which of
two laws is better, hundreds of times: here the tilt, the pitch and the window are chosen once, and a
law costs a transform and its inverse. What is found is judged before it counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import fft

from leastnoise.accountant.grid import Grid
from leastnoise.accountant.saddle import GridSettings, saddle_for_epsilon
from leastnoise.accountant.window import running_sums, window_near
from leastnoise.lattice.shells import Floats
from leastnoise.losses.table import TableLoss

_COARSER = 8  # times the grid may be made coarser
_NEWTON_STEPS, _SETTLED = 12, 1e-10  # to the ε of a law, and what the last one moves it by


@dataclass(frozen=True, eq=False)
class Frame:
    """Tilt θ, pitch and window of the sum of all losses, around an ε; losses above `cut` are so
    rare that they count as infinite."""

    theta: float
    pitch: float
    first: int
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
        cut = math.inf if trimmed is table else trimmed.largest * (1.0 + 1e-6)
        size = window.tilted.size
        return Frame(window.theta, window.pitch, window.first, size, compositions, epsilon, cut)

    @cached_property
    def falls(self) -> tuple[Floats, Floats]:
        """e^(−θx) and e^(−(θ+1)x) at the distances x of the grid."""
        x = self.pitch * np.arange(self.size)
        return np.exp(-self.theta * x), np.exp(-(self.theta + 1.0) * x)

    def composed(self, table: TableLoss) -> Composed:
        """The releases of a law with this table of losses; an ArithmeticError where it has none."""
        kept = table.loss <= self.cut
        infinite = table.infinite
        if not np.all(kept):
            infinite += float(np.sum(np.exp(table.log_p[~kept])))
            table = TableLoss(table.loss[kept], table.log_p[kept])
        grid = Grid.of(table, self.pitch, self.theta)
        spectrum = fft.rfft(grid.folded(self.size))
        return Composed(self, spectrum, grid.log_scale, infinite)


@dataclass(frozen=True, eq=False)
class Composed:
    """One law in a frame: the transform of one tilted loss, K(θ), the mass of infinite loss."""

    frame: Frame
    spectrum: np.ndarray[tuple[int], np.dtype[np.complex128]]
    log_scale: float
    infinite: float

    def epsilon(self, delta: float) -> float:
        """ε of all releases at δ, by Newton's method from the frame's; +inf where that leads out of
        the window."""
        frame, n = self.frame, self.frame.compositions
        allowed = delta + math.expm1(n * math.log1p(-min(self.infinite, 0.5)))
        if not allowed > 0.0:
            return math.inf
        tilted = self.density(n, frame.first)
        at = frame.epsilon
        for _ in range(_NEWTON_STEPS):
            index = math.floor(at / frame.pitch) + 1 - frame.first
            if not 0 <= index < frame.size:
                return math.inf
            above, discounted = self._sums(tilted, at, index)
            if not above > discounted > 0.0:
                return math.inf
            log_delta = n * self.log_scale - frame.theta * at + math.log(above - discounted)
            step = (log_delta - math.log(allowed)) * (above - discounted) / discounted
            at += step
            if abs(step) <= _SETTLED * abs(at):
                return at if at > 0.0 else 0.0
        return math.inf

    def _sums(self, tilted: Floats, at: float, index: int) -> tuple[float, float]:
        """Σ q e^(−θ(s−ε)) and Σ q e^(−(θ+1)(s−ε)) over the points s above ε."""
        frame = self.frame
        gap = frame.pitch * (frame.first + index) - at
        falls, falls_more = frame.falls
        rest = frame.size - index
        above = float(np.einsum("i,i->", tilted[index:], falls[:rest]))
        discounted = float(np.einsum("i,i->", tilted[index:], falls_more[:rest]))
        return (
            math.exp(-frame.theta * gap) * above,
            math.exp(-(frame.theta + 1.0) * gap) * discounted,
        )

    def density(self, releases: int, first: int, width: float = 0.0) -> Floats:
        """The tilted probabilities of the sum of so many releases on the grid from a first point
        on, smoothed by a normal law of this deviation."""
        size = self.frame.size
        powers = self.spectrum**releases
        if width > 0.0:
            turns = (2.0 * math.pi * width / (self.frame.pitch * size)) * np.arange(powers.size)
            powers = powers * np.exp(-0.5 * turns * turns)
        return np.maximum(np.roll(fft.irfft(powers, size), -(first % size)), 0.0)

    def of_others(self, x: Floats, centre: float, width: float) -> tuple[Floats, Floats, Floats]:
        """Of the sum S of all releases but one, smoothed, whose tilted mean is about `centre`:
        Pr(S > x), E[(1 − e^(x − S))_+] and the density of S at x, all untilted by e^(−θ(s−x)). Sums
        over s > x on the grid, by a first-order recursion from above; below the window they fall
        as the tilt does."""
        frame = self.frame
        pitch, theta = frame.pitch, frame.theta
        first = frame.first - round((frame.epsilon - centre) / pitch)
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
