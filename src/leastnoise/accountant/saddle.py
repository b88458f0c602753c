"""Where to look for ε or δ: the tilt at the saddle point, and the pitch of a grid that
is fine enough there.

Nothing here is part of a bound: every tilt and every pitch gives valid ones (see the package).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count as counting

from leastnoise.losses.base import Loss
from leastnoise.losses.table import LIGHT

Parts = Sequence[tuple[Loss, int]]  # losses, and how many releases have each
Cumulants = tuple[float, float, float]

DEFAULT_ACCURACY = 5e-6
_KINK = 1e-4  # of ε, that a pitch may be
_STEEPEST = 30.0  # log of the steepest tilt
_TILT_WIDTH = 0.02  # of log θ: the bounds hardly feel it
_LONGEST_STEP = 2.0  # of log θ
# log of the usual tilt less that of the flattest one: δ = 1e-6 to 1e-9 is 5 to 6 deviations out
_USUAL = 4.5


@dataclass(frozen=True)
class GridSettings:
    """How finely to work.

    Attributes:
        accuracy: Relative rise of ε that discretisation may cause.
        most_points: The longest grid, in points.
    """

    accuracy: float = DEFAULT_ACCURACY
    most_points: int = 2**22


@dataclass(frozen=True)
class Saddle:
    """Where to look: tilt, centre and spread of the tilted sum."""

    theta: float
    centre: float
    deviation: float


def cumulants(parts: Parts, theta: float) -> Cumulants:
    """K, K', K'' of the sum of all losses."""
    k, mean, variance = 0.0, 0.0, 0.0
    for loss, count in parts:
        of_one = loss.cumulants(theta)
        k += count * of_one[0]
        mean += count * of_one[1]
        variance += count * of_one[2]
    return k, mean, variance


def saddle_for_delta(parts: Parts, delta: float) -> Saddle:
    """The saddle point whose approximate δ, e^(K−θK')/(θ(1+θ)√(2πK'')), is `delta`."""
    log_delta = math.log(delta)

    def excess(theta: float, known: Cumulants) -> tuple[float, float]:
        k, mean, variance = known
        if not variance > 0:
            return -math.inf, 0.0
        found = k - theta * mean - math.log(theta * (1 + theta))
        found -= 0.5 * math.log(2 * math.pi * variance)
        return found - log_delta, -(theta * theta * variance + 1.0 + theta / (1.0 + theta))

    return _found(parts, excess)


def saddle_for_epsilon(parts: Parts, epsilon: float) -> Saddle:
    """The tilt with K'(θ) = ε; 0 if the sum lies above ε on average."""
    _, mean, variance = cumulants(parts, 0.0)
    if mean >= epsilon:
        return Saddle(0.0, mean, math.sqrt(max(variance, 0.0)))

    def lack(theta: float, known: Cumulants) -> tuple[float, float]:
        return epsilon - known[1], -theta * known[2]

    return _found(parts, lack)


def _found(parts: Parts, lack: Callable[[float, Cumulants], tuple[float, float]]) -> Saddle:
    """Where `lack`, which falls as θ grows, changes sign, to 2 % of θ. It gives its value and its
    slope against log θ.

    1. From the usual tilt Newton's steps of log θ, none longer than 2; the middle of the bracket
       where they leave it.
    2. Where the sum sits at its largest value almost surely, halve the tilt's distance to where it
       does not: beyond that a tilt gains nothing and only magnifies the splitting of the losses.

    The range ends where θ is so flat that it means nothing beside the deviation of the sum. Any
    tilt gives valid bounds.
    """
    flattest = -0.5 * math.log(max(cumulants(parts, 0.0)[2], 1e-300)) - 3.0
    low, high, at = flattest - 1.0, _STEEPEST, min(flattest + _USUAL, _STEEPEST - 1.0)
    while True:
        theta = math.exp(at)
        known = cumulants(parts, theta)
        value, slope = lack(theta, known)
        low, high = (at, high) if value > 0 else (low, at)
        is_far = not (slope < 0.0 and abs(value) < -slope * _LONGEST_STEP)
        moved = at + (math.copysign(_LONGEST_STEP, value) if is_far else -value / slope)
        if not low < moved < high:
            moved = 0.5 * (low + high)
        is_found = abs(moved - at) <= 0.5 * _TILT_WIDTH
        if (is_found or (is_far and value > 0)) and not _is_loose(parts, at):
            return _saddle(parts, math.exp(_less_steep(parts, at)))
        if is_found:
            return Saddle(theta, known[1], math.sqrt(max(known[2], 0.0)))
        at = moved


def _less_steep(parts: Parts, steep: float) -> float:
    """The steepest log θ, below this one, at which the sum is not at its largest value almost
    surely, to 2 %."""
    low = next(at for n in counting(1) if _is_loose(parts, at := steep - n) or at < -_STEEPEST)
    high = low + 1.0
    while high - low > _TILT_WIDTH:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _is_loose(parts, middle) else (low, middle)
    return low


def _is_loose(parts: Parts, log_theta: float) -> bool:
    return _below_largest(parts, math.exp(log_theta)) >= 0.5


def _saddle(parts: Parts, theta: float) -> Saddle:
    _, mean, variance = cumulants(parts, theta)
    return Saddle(theta, mean, math.sqrt(max(variance, 0.0)))


def _below_largest(parts: Parts, theta: float) -> float:
    """Expected number of releases whose loss, under the tilt, is not its largest."""
    return sum(count * loss.share_below_largest(theta) for loss, count in parts)


def pitch_for(parts: Parts, saddle: Saddle, epsilon: float, accuracy: float) -> float:
    """The grid pitch at which splitting raises ε by about `accuracy`·ε: it adds a
    variance of about h²/6 a release, and with it (θ+1)/2 of that to ε. One kind of
    bounded loss gets a grid on which its largest loss is a point and not split."""
    if len(parts) == 1:
        releases = _below_largest(parts, saddle.theta)
    else:
        releases = sum(count for _, count in parts)
    # the sum lies above ε on average, and its own place is what matters
    if saddle.theta == 0.0:
        epsilon = max(epsilon, saddle.centre)
    # The deviation of the plain sum, not of the tilted one, which rare large losses can
    # make many times ε.
    spread = math.sqrt(cumulants(parts, 0.0)[2])
    split = max(releases, 0.1) * (saddle.theta + 1.0)
    pitch = math.sqrt(12.0 * accuracy * max(epsilon, 1e-3 * spread) / split)
    # above 1 where the number of grid points forces a lower accuracy
    coarser = max(1.0, math.sqrt(accuracy / DEFAULT_ACCURACY))
    # Where single losses are heavy a kink of the profile is moved by up to a pitch, so
    # the pitch itself is kept small too.
    is_smooth = all(loss.heaviest < LIGHT for loss, _ in parts)
    kink = coarser * max(_KINK * epsilon, (1e-3 if is_smooth else 3e-5) * spread)
    pitch = min(pitch, kink, min(0.25 * coarser, 50.0) / (saddle.theta + 1.0))
    for loss, _ in parts:
        if not math.isfinite(loss.largest):
            pitch = min(pitch, 0.25 * math.sqrt(loss.cumulants(0.0)[2]))
    return aligned(parts, pitch)


def aligned(parts: Parts, pitch: float) -> float:
    """At most `pitch`, a whole part of the loss that matters most where there is only
    one kind of loss."""
    anchor = parts[0][0].anchor
    if len(parts) == 1 and math.isfinite(anchor) and anchor > 0:
        return anchor / math.ceil(anchor / pitch)
    return pitch
