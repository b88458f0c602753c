"""Where to look for ε or δ: the tilt at the saddle point, and the pitch of a grid that
is fine enough there.

Nothing here is part of a bound: every tilt and every pitch gives valid ones (see the package).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from leastnoise.losses.base import Loss
from leastnoise.losses.table import LIGHT

Parts = Sequence[tuple[Loss, int]]  # losses, and how many releases have each

DEFAULT_ACCURACY = 5e-6
_KINK = 1e-4  # of ε, that a pitch may be
_STEEPEST = 30.0  # log of the steepest tilt
_TILT_WIDTH = 0.02  # of the bracket of log θ: the bounds hardly feel it
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


def cumulants(parts: Parts, theta: float) -> tuple[float, float, float]:
    """K, K', K'' of the sum of all losses."""
    total = np.zeros(3)
    for loss, count in parts:
        total += count * np.array(loss.cumulants(theta))
    return float(total[0]), float(total[1]), float(total[2])


def saddle_for_delta(parts: Parts, delta: float) -> Saddle:
    """The saddle point whose approximate δ, e^(K−θK')/(θ(1+θ)√(2πK'')), is `delta`."""

    def excess(theta: float) -> float:
        k, mean, variance = cumulants(parts, theta)
        if not variance > 0:
            return -math.inf
        log_delta = k - theta * mean - math.log(theta * (1 + theta))
        return log_delta - 0.5 * math.log(2 * math.pi * variance) - math.log(delta)

    return _saddle(parts, _tilt(parts, excess))


def saddle_for_epsilon(parts: Parts, epsilon: float) -> Saddle:
    """The tilt with K'(θ) = ε; 0 if the sum lies above ε on average."""
    if cumulants(parts, 0.0)[1] >= epsilon:
        return _saddle(parts, 0.0)
    return _saddle(parts, _tilt(parts, lambda theta: epsilon - cumulants(parts, theta)[1]))


def _tilt(parts: Parts, lack: Callable[[float], float]) -> float:
    """The tilt θ at which `lack`, which falls as θ grows, changes sign, to 1 %.

    1. Start from the usual tilt and step by factors of e until the sign changes or the range ends.
    2. Halve the bracket of log θ until it is 2 % wide.

    The range ends where θ is so flat that it means nothing beside the deviation of the sum,
    and where the sum sits at its largest value almost surely: beyond that a tilt gains
    nothing and only magnifies the splitting of the losses. Any tilt gives valid bounds.
    """

    def is_too_flat(log_theta: float) -> bool:
        theta = math.exp(log_theta)
        return log_theta < _STEEPEST and lack(theta) > 0 and _below_largest(parts, theta) >= 0.5

    flattest = -0.5 * math.log(max(cumulants(parts, 0.0)[2], 1e-300)) - 3.0
    usual = flattest + _USUAL
    if is_too_flat(usual):
        low, high = usual, usual + 1.0
        while is_too_flat(high):
            low, high = high, high + 1.0
    else:
        low, high = usual - 1.0, usual
        while not is_too_flat(low):
            if low < flattest:
                return math.exp(low)
            low, high = low - 1.0, low
    while high - low > _TILT_WIDTH:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if is_too_flat(middle) else (low, middle)
    return math.exp(0.5 * (low + high))


def _below_largest(parts: Parts, theta: float) -> float:
    """Expected number of releases whose loss, under the tilt, is not its largest."""
    return sum(count * loss.share_below_largest(theta) for loss, count in parts)


def _saddle(parts: Parts, theta: float) -> Saddle:
    _, mean, variance = cumulants(parts, theta)
    return Saddle(theta, mean, math.sqrt(max(variance, 0.0)))


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
