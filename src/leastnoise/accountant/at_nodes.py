"""Bounds on δ at many ε at once, from one loss that stands for all releases or from two windows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from leastnoise.accountant.composition import Composition
from leastnoise.accountant.lower import delta_in_window
from leastnoise.accountant.saddle import Saddle, saddle_for_delta, saddle_for_epsilon
from leastnoise.accountant.upper import epsilon_of_window, least_epsilon
from leastnoise.accountant.window import Window, window_near
from leastnoise.lattice.shells import Floats
from leastnoise.losses.rounding import SMALLEST


@dataclass(frozen=True, eq=False)
class AtNodes:
    """What bounds δ at many ε: one loss that stands for all, or windows of two tilts."""

    releases: Composition  # the rarest losses counted as infinite
    adversary: Composition  # one choice of shifts, for lower bounds
    windows: tuple[tuple[Window, float], ...]  # with what each lost to infinity
    surely: tuple[Window, ...]  # the windows of the adversary
    end: float  # where δ is small enough, or as large as it is everywhere beyond

    @staticmethod
    def of(releases: Composition, smallest: float) -> AtNodes:
        """1. The highest losses count as infinite, which adds next to nothing to the smallest δ.
        2. A window at the tilt of that δ, and one without a tilt: each is right in its part, and
           the smaller bound is taken.
        3. The end: the least ε certified for that δ, or where all finite losses lie below.
        """
        if releases.infinite >= 1.0:
            return AtNodes(releases, releases, (), (), 0.0)
        is_exact = releases.exact is not None
        trimmed = releases if is_exact else releases.without_top(smallest)
        spare = smallest - trimmed.infinite
        tilted = saddle_for_delta(trimmed.parts, spare if spare > 0.0 else smallest)
        worst = tuple((loss.worst(tilted.theta), count) for loss, count in trimmed.parts)
        adversary = replace(trimmed, parts=worst)
        if is_exact:
            return AtNodes(trimmed, adversary, (), (), _exact_end(releases, smallest))
        saddles = (tilted, saddle_for_epsilon(trimmed.parts, 0.0))
        windows = tuple(_window(trimmed, saddle) for saddle in saddles)
        is_same = all(a is b for (a, _), (b, _) in zip(worst, trimmed.parts, strict=True))
        own = windows if is_same else tuple(_window(adversary, saddle) for saddle in saddles)
        surely = tuple(window for window, _ in own)
        return AtNodes(trimmed, adversary, windows, surely, _end(trimmed, windows, spare))

    @property
    def surely_beyond(self) -> float:
        """δ beyond all finite losses, of the one adversary, rounded down."""
        return self.adversary.certainly_infinite

    def upper(self, nodes: Floats) -> Floats:
        """δ at the nodes, rounded up; it falls, so a bound holds at every later node too."""
        if self.releases.infinite >= 1.0:
            return np.ones(nodes.size)
        if (loss := self.releases.exact) is not None:
            found = np.asarray(loss.profile(nodes), dtype=np.float64)
        else:
            found = np.min([self._above(nodes, *window) for window in self.windows], axis=0)
        found = np.where(nodes >= self.releases.highest, self.releases.infinite, found)
        return np.asarray(np.minimum.accumulate(np.minimum(found, 1.0)), dtype=np.float64)

    def _above(self, nodes: Floats, window: Window, lost: float) -> Floats:
        logs = np.array([window.log_delta(float(node), upper=True) for node in nodes])
        finite = np.maximum(np.exp(np.minimum(logs, 0.0)), SMALLEST)
        return np.asarray(finite + (self.releases.infinite + lost), dtype=np.float64)

    def lower(self, nodes: Floats) -> Floats:
        """δ of the one adversary at the nodes, rounded down; what is certain at a later node is
        certain before it."""
        certain = self.surely_beyond
        if self.releases.infinite >= 1.0:
            found = np.full(nodes.size, certain)
        elif (loss := self.adversary.exact) is not None:
            found = np.asarray(loss.profile_lower(nodes), dtype=np.float64)
        else:
            found = certain + np.max(
                [
                    [delta_in_window(float(node), window, self.adversary) for node in nodes]
                    for window in self.surely
                ],
                axis=0,
            )
        kept = np.maximum.accumulate(np.minimum(found, 1.0)[::-1])[::-1]
        return np.asarray(np.maximum(kept, certain), dtype=np.float64)


def _exact_end(releases: Composition, smallest: float) -> float:
    """The least ε at which the one loss that stands for all is certified for the smallest δ."""
    loss, highest = releases.exact, releases.highest
    if loss is None:
        return highest
    return least_epsilon(lambda e: float(loss.profile(e)) <= smallest, highest, never=highest)


def _end(releases: Composition, windows: tuple[tuple[Window, float], ...], spare: float) -> float:
    """The same from windows: the first ε that one of them certifies, or where all finite losses
    lie below; their upper end where neither is known."""
    certified = [epsilon_of_window(window, spare - lost) for window, lost in windows]
    end = min(*certified, releases.highest)
    return end if math.isfinite(end) else max(window.high for window, _ in windows)


def _window(releases: Composition, saddle: Saddle) -> tuple[Window, float]:
    return window_near(releases.parts, saddle, saddle.centre, releases.settings)
