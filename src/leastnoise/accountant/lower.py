"""Certified lower bounds on ε and δ of a sequence of releases.

Splitting a loss over a grid raises δ; how much, at most, follows from Chernoff's bound
on the sum of the steps (see the package). The bound is on one adversary: of several
shifts the one that is worst at the saddle.
"""

from __future__ import annotations

import math
from dataclasses import replace

from leastnoise.accountant.composition import Composition
from leastnoise.accountant.saddle import saddle_for_epsilon
from leastnoise.accountant.upper import epsilon_upper, least_epsilon
from leastnoise.accountant.window import Window, window_near
from leastnoise.errors import AccountingError

_FINER = 1.0 / 32.0  # of the pitch: the gap to the upper bound is about 8 pitches
_GIVEN_UP = 1e-3  # of δ
_RAISED = 1e-60  # Gaussian tables raise at most this mass a release from below the grid


def epsilon_lower(releases: Composition, delta: float, upper: float) -> float:
    """A lower bound on ε at `delta`, whose upper bound is `upper`."""
    if upper == 0.0:
        return 0.0
    if not math.isfinite(upper):
        if releases.certainly_infinite > delta:
            return math.inf
        return _beside_infinite(releases, delta)
    if (loss := releases.exact) is not None:
        highest = releases.highest
        found = least_epsilon(
            lambda e: float(loss.profile_lower(e)) <= delta, highest, never=highest, near=loss.kink
        )
        return found * (1.0 - 1e-12)
    return _composed_epsilon(releases.without_top(delta), delta, upper)


def delta_lower(releases: Composition, epsilon: float, upper: float) -> float:
    """A lower bound on δ at `epsilon`, whose upper bound is `upper`."""
    certain = releases.certainly_infinite
    if (loss := releases.exact) is not None:
        return max(certain, float(loss.profile_lower(epsilon)))
    if upper <= certain or releases.infinite >= 1.0:
        return certain
    found = fine_window(releases.without_top(upper), epsilon)
    if found is None:
        return certain
    window, adversary = found
    # The mass of infinite loss of the adversary whose finite losses are counted.
    return max(adversary.certainly_infinite + delta_in_window(epsilon, window, adversary), certain)


def _beside_infinite(releases: Composition, delta: float) -> float:
    """Where δ is the mass of infinite loss up to its rounding: what the next δ above it
    needs, for ε falls as δ grows."""
    above = math.nextafter(releases.infinite, math.inf)
    if not delta < above < 1.0:
        return 0.0
    try:
        return epsilon_lower(releases, above, epsilon_upper(releases, above))
    except AccountingError:
        return 0.0


def _composed_epsilon(releases: Composition, delta: float, upper: float) -> float:
    """1. A fine window just below the upper bound.
    2. Walk down from there until δ is certainly above, in steps that double.
    3. Halve the last step to a quarter of a pitch.
    """
    found = fine_window(releases, upper * (1.0 - 1e-9))
    if found is None:
        return 0.0
    window, adversary = found
    # what is left for the finite losses of this adversary
    delta -= adversary.certainly_infinite
    high, step = upper, 4.0 * window.pitch
    low = upper - step
    while low > window.low and delta_in_window(low, window, adversary) < delta:
        high, step = low, 2.0 * step
        low = upper - step
    if low <= max(window.low, 0.0):
        return 0.0
    while high - low > 0.25 * window.pitch:
        middle = 0.5 * (low + high)
        if delta_in_window(middle, window, adversary) < delta:
            high = middle
        else:
            low = middle
    return low * (1.0 - 1e-12)


def fine_window(releases: Composition, epsilon: float) -> tuple[Window, Composition] | None:
    """A fine window around `epsilon` for one adversary: the shift that is worst at the
    saddle, where there are several."""
    if not math.isfinite(epsilon) or epsilon >= releases.highest:
        return None
    saddle = saddle_for_epsilon(releases.parts, epsilon)
    worst = tuple((loss.worst(saddle.theta), count) for loss, count in releases.parts)
    settings = replace(releases.settings, accuracy=releases.settings.accuracy * _FINER**2)
    try:
        window, _ = window_near(worst, saddle_for_epsilon(worst, epsilon), epsilon, settings)
    except AccountingError:
        return None
    return window, replace(releases, parts=worst)


def delta_in_window(epsilon: float, window: Window, adversary: Composition) -> float:
    """δ(ε) ≥ δ̂(ε+λ) − Pr[the splitting steps exceed λ and S is above ε], see the package
    docstring; of the finite losses alone, to which the mass of infinite loss adds."""
    parts = adversary.parts
    # One kind of loss is put on the grid's own points; of several, those without a
    # table are split once before.
    is_split_once = len(parts) == 1 or all(loss.listed is not None for loss, _ in parts)
    h = window.pitch * (1.0 if is_split_once else 2.0)
    n = window.releases
    drift = n * h * h / 8.0
    chernoff = window.log_scale - window.theta * epsilon
    guess = window.log_delta(epsilon, upper=False)
    if guess == -math.inf:
        return 0.0
    exponent = max(chernoff - guess, 0.0) - math.log(_GIVEN_UP)
    # Chernoff at c = 4(λ − drift)/(n h²); c must be at least the tilt.
    reach = max(h * math.sqrt(n * exponent / 2.0), window.theta * n * h * h / 4.0)
    value = math.exp(window.log_delta(epsilon + drift + reach, upper=False))
    given_up = math.exp(chernoff - 2.0 * reach * reach / (n * h * h))
    raised = sum(count * loss.raised for loss, count in parts)
    return max(0.0, value - given_up - n * _RAISED - raised)
