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

        def excess(epsilon: float) -> float:
            return log_ratio_of(float(loss.profile(epsilon)), delta)

        return root_epsilon(excess, highest, never=highest, near=loss.kink)
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


def epsilon_of_window(window: Window, allowed: float, near: float | None = None) -> float:
    """The least ε of the window at which δ is certainly at most `allowed`, looked for around `near`
    first; +inf where there is none: then the window is moved."""

    if not allowed > 0.0:
        return math.inf
    most = math.log(allowed)

    def excess(epsilon: float) -> float:
        return window.log_delta(epsilon, upper=True) - most

    return root_epsilon(excess, window.high, low=max(window.low, 0.0), never=math.inf, near=near)


def _composed_delta(releases: Composition, epsilon: float) -> float:
    saddle = saddle_for_epsilon(releases.parts, epsilon)
    window, truncated = window_near(releases.parts, saddle, epsilon, releases.settings)
    log_delta = window.log_delta(epsilon, upper=True)
    finite = max(math.exp(min(log_delta, 0.0)), SMALLEST)
    return min(releases.infinite + truncated + finite, 1.0)


def log_ratio_of(value: float, allowed: float) -> float:
    """log(value/allowed), at most 0 only where `value` is at most `allowed`."""
    if value <= 0.0:
        return -math.inf
    ratio = math.log(value / allowed)
    return ratio if (ratio <= 0.0) == (value <= allowed) else value - allowed


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

    def excess(epsilon: float) -> float:
        return -1.0 if fits(epsilon) else 1.0

    return root_epsilon(excess, highest, never=never, low=low, near=near)


def root_epsilon(
    excess: Callable[[float], float],
    highest: float,
    *,
    never: float,
    low: float = 0.0,
    near: float | None = None,
) -> float:
    """`least_epsilon` of the condition excess(ε) ≤ 0, by the size of the excess.

    1. Ends on both sides, by steps away from `near` that grow, where that is given.
    2. The secant through both ends, an end that stays being counted by half (Illinois); the middle
       where four secants have not halved the bracket.
    """
    bracket = _bracketed(excess, highest, low, near)
    if bracket is None:
        return never if math.isfinite(highest) else math.inf
    (low, above), (high, below) = bracket
    widths: list[float] = []
    was_enough: bool | None = None
    while high - low > 1e-12 * high:
        widths.append(high - low)
        is_stuck = len(widths) > 4 and widths[-1] > 0.5 * widths[-5]
        tried = _between(low, high, above, below, is_stuck=is_stuck)
        if not low < tried < high:
            break
        value = excess(tried)
        is_enough = value <= 0.0
        again = 0.5 if is_enough == was_enough else 1.0
        if is_enough:
            high, below, above = tried, value, again * above
        else:
            low, above, below = tried, value, again * below
        was_enough = is_enough
    return high


def _between(low: float, high: float, above: float, below: float, *, is_stuck: bool) -> float:
    """Where the secant of a bracket vanishes, no nearer to an end than what is looked for; or the
    middle."""
    if is_stuck or not (math.isfinite(above) and math.isfinite(below)) or above <= below:
        return 0.5 * (low + high)
    margin = min(4e-13 * high, 0.5 * (high - low))
    return min(max(low + (high - low) * above / (above - below), low + margin), high - margin)


Place = tuple[float, float]  # ε, and its excess


def _bracketed(
    excess: Callable[[float], float], highest: float, low: float, near: float | None
) -> tuple[Place, Place] | None:
    """An ε that is not enough (or `low`, which is) and one that is; None where there is none."""
    if near is not None and low < near < highest:
        found = _around(excess, near, low, highest)
        if found is not None:
            return found
    at_low = excess(low)
    if at_low <= 0.0:
        return (low, at_low), (low, at_low)
    high = highest if math.isfinite(highest) else max(1.0, 2.0 * low)
    while (at_high := excess(high)) > 0.0:
        if math.isfinite(highest) or high > 1e9:
            return None
        low, at_low, high = high, at_high, 2.0 * high
    return (low, at_low), (high, at_high)


def _around(
    excess: Callable[[float], float], near: float, low: float, high: float
) -> tuple[Place, Place] | None:
    """Ends around the least ε, by steps away from `near` that grow; None where they leave the
    range."""
    last, step = (near, excess(near)), _FIRST_STEP * near
    is_enough = last[1] <= 0.0
    while low < (tried := near - step if is_enough else near + step) < high:
        here = tried, excess(tried)
        if (here[1] <= 0.0) != is_enough:
            return (here, last) if is_enough else (last, here)
        last, step = here, _GROWTH * step
    return None
