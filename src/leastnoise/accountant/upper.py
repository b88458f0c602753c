"""Certified upper bounds on ε and δ of a sequence of releases."""

from __future__ import annotations

import math
from collections.abc import Callable

from leastnoise.accountant.composition import Composition
from leastnoise.accountant.saddle import Parts, Saddle, saddle_for_delta, saddle_for_epsilon
from leastnoise.accountant.window import Window, window_near
from leastnoise.errors import AccountingError
from leastnoise.losses.rounding import SMALLEST

_TRIES = 8  # windows that are tried for one number
_FIRST_STEP, _GROWTH = 1e-9, 64.0  # away from where ε is expected, of itself


def epsilon_upper(releases: Composition, delta: float) -> float:
    """The least certified ε at `delta`; +inf where the mass of unbounded loss alone exceeds it.

    1. From the one loss that stands for all, where there is one.
    2. 0, where the sum of the releases' δ(0) is small enough.
    3. By composition, once the rarest large losses are counted as infinite: the least ε that a
       window around the saddle point of δ certifies; where that is far from where its tilt and
       pitch were right, a window is aimed at it, and so on. No release can lose more than its
       largest loss: at their sum δ is the mass of infinite loss, and that is below `delta`.
    """
    if releases.infinite >= delta:
        return math.inf
    highest = releases.highest
    if (loss := releases.exact) is not None:

        def is_enough(epsilon: float) -> bool:
            return float(loss.profile(epsilon)) <= delta

        return least_epsilon(is_enough, highest, never=highest, near=loss.kink)
    if releases.at_most_at_zero <= delta - releases.infinite:
        return 0.0
    trimmed = releases.without_top(delta)
    parts, settings, budget = trimmed.parts, trimmed.settings, delta - trimmed.infinite
    saddle = saddle_for_delta(parts, budget)
    if saddle.centre >= (1.0 - settings.accuracy) * trimmed.highest:
        # no grid tells the two apart: two sphere laws at δ = 1e-20 are 1e-10 below it
        return min(trimmed.highest, highest)
    found, guess = highest, saddle.centre
    for _ in range(_TRIES):
        window, truncated = window_near(parts, saddle, guess, settings)
        epsilon = epsilon_of_window(window, budget - truncated)
        found = min(found, epsilon)
        aim = _aimed_anew(parts, saddle, guess, epsilon, window.high)
        if aim is None:
            break
        saddle, guess = aim
    if found == math.inf:
        raise AccountingError(f"The accountant did not settle on an epsilon for delta={delta!r}.")
    return found


def delta_upper(releases: Composition, epsilon: float) -> float:
    """The least certified δ at `epsilon`."""
    known = releases.infinite
    if epsilon >= releases.highest or known >= 1.0:
        return min(known, 1.0) + 0.0
    if (loss := releases.exact) is not None:
        return min(float(loss.profile(epsilon)), 1.0)
    best = 1.0
    for _ in range(_TRIES):
        # How much is next to nothing depends on δ: from the best bound so far.
        trimmed = releases.without_top(best)
        best = min(best, _composed_delta(trimmed, epsilon))
        if trimmed.infinite - known <= 10.0 * releases.settings.accuracy * (best - known):
            break
    return best


def _aimed_anew(
    parts: Parts, saddle: Saddle, guess: float, epsilon: float, high: float
) -> tuple[Saddle, float] | None:
    """Where to aim after a window around `guess` certified `epsilon`, `high` being its upper end;
    None where its tilt and its pitch were right for what it certified, or would hardly move."""
    aimed = abs(epsilon - saddle.centre) <= 2.0 * saddle.deviation
    if aimed and epsilon >= 0.5 * guess:
        return None
    guess = min(epsilon, high)
    if aimed:
        return saddle, guess
    moved = saddle_for_epsilon(parts, guess)
    return None if abs(moved.theta - saddle.theta) <= 0.05 * moved.theta else (moved, guess)


def epsilon_of_window(window: Window, allowed: float) -> float:
    """The least ε of the window at which δ is certainly at most `allowed`; +inf where
    there is none: then the window is moved."""

    def fits(epsilon: float) -> bool:
        return allowed > 0 and window.log_delta(epsilon, upper=True) <= math.log(allowed)

    return least_epsilon(fits, window.high, low=max(window.low, 0.0), never=math.inf)


def _composed_delta(releases: Composition, epsilon: float) -> float:
    saddle = saddle_for_epsilon(releases.parts, epsilon)
    window, truncated = window_near(releases.parts, saddle, epsilon, releases.settings)
    log_delta = window.log_delta(epsilon, upper=True)
    finite = max(math.exp(min(log_delta, 0.0)), SMALLEST)
    return min(releases.infinite + truncated + finite, 1.0)


def least_epsilon(
    fits: Callable[[float], bool],
    highest: float,
    *,
    never: float,
    low: float = 0.0,
    near: float | None = None,
) -> float:
    """The least ε ≥ low with fits(ε), a condition that holds from some ε on, to 1e-12
    relative; `never` if it does not hold at `highest`. Otherwise the returned value
    satisfies the condition. It is looked for around `near` first."""
    if near is not None and low < near < highest:
        low, highest = _around(fits, near, low, highest)
    if fits(low):
        return low
    high = highest
    if not math.isfinite(high):
        high = max(1.0, 2.0 * low)
        while not fits(high):
            low, high = high, 2.0 * high
            if high > 1e9:
                return math.inf
    elif not fits(high):
        return never
    while high - low > 1e-12 * high:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def _around(
    fits: Callable[[float], bool], near: float, low: float, high: float
) -> tuple[float, float]:
    """Ends around the least ε, by steps away from `near` that grow; the old ones at most."""
    is_enough, step = fits(near), _FIRST_STEP * near
    low, high = (low, near) if is_enough else (near, high)
    while low < (tried := near - step if is_enough else near + step) < high:
        if fits(tried):
            high = tried
        else:
            low = tried
        if is_enough != (high == tried):
            break
        step *= _GROWTH
    return low, high
