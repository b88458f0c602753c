"""Where a function of one number vanishes. scipy has it too, in a package that takes 0.2 s to
import, which is a third of what a design at the command line takes."""

from __future__ import annotations

import math
from collections.abc import Callable

_ROUNDING = 2.0**-52


def brentq(
    function: Callable[[float], float],
    low: float,
    high: float,
    *,
    xtol: float = 2e-12,
    rtol: float = 4.0 * _ROUNDING,
    maxiter: int = 100,
) -> float:
    """A root between two places where the function differs in sign, to xtol + rtol·|root|.

    R. P. Brent, Algorithms for Minimization without Derivatives (1973), chapter 4: inverse
    quadratic interpolation or the secant where they shorten the bracket fast enough, else its
    middle. A ValueError where the signs are the same.
    """
    before, best = float(low), float(high)
    at_before, at_best = function(before), function(best)
    if at_before == 0.0:
        return before
    if at_before * at_best > 0.0:
        raise ValueError("Expected a function of different signs at the two ends.")
    other, at_other = before, at_before
    step = last = best - before
    for _ in range(maxiter):
        if at_best * at_other > 0.0:
            other, at_other = before, at_before
            step = last = best - before
        if abs(at_other) < abs(at_best):
            before, best, other = best, other, best
            at_before, at_best, at_other = at_best, at_other, at_best
        close = 0.5 * (xtol + rtol * abs(best))
        half = 0.5 * (other - best)
        if at_best == 0.0 or abs(half) <= close:
            return best
        moved = 0.0
        if abs(last) >= close and abs(at_before) > abs(at_best):
            moved = _interpolated((before, at_before), (best, at_best), (other, at_other))
        last, step = (step, moved) if _is_good(moved, last, half, close) else (half, half)
        before, at_before = best, at_best
        best += step if abs(step) > close else math.copysign(close, half)
        at_best = function(best)
    raise ValueError(f"No root was found in {maxiter} steps.")


Place = tuple[float, float]


def _is_good(moved: float, last: float, half: float, close: float) -> bool:
    """Whether a step leads into the bracket, and is less than half of the one before the last."""
    return moved * half > 0.0 and 2.0 * abs(moved) < min(abs(last), 3.0 * abs(half) - close)


def _interpolated(before: Place, best: Place, other: Place) -> float:
    """The step from the best place to where the curve through the places vanishes: of x as a
    quadratic of y, or of a line where two of them are the same."""
    (a, fa), (b, fb), (c, fc) = before, best, other
    if fa == fb:
        return 0.0
    if a == c or fa == fc or fb == fc:
        return fb * (b - a) / (fa - fb)
    r, s, t = fb / fc, fb / fa, fa / fc
    p = s * (t * (r - t) * (c - b) - (1.0 - r) * (b - a))
    q = (t - 1.0) * (r - 1.0) * (s - 1.0)
    return p / q if q != 0.0 else 0.0
