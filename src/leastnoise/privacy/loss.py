"""`PrivacyLoss`: what a sequence of releases may reveal, and the guarantees that follow."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from leastnoise.errors import AccountingError, non_negative, open_unit, positive_integer
from leastnoise.noise import Noise
from leastnoise.privacy import compose as composition
from leastnoise.privacy.compose import Parts, Settings, Window
from leastnoise.privacy.single import LOSS_ROUNDING, ULP, GaussianLoss, SingleLoss, TableLoss, WorstOf
from leastnoise.privacy.tables import single_loss

DEFAULT = Settings()
_TRIES = 8
_LOWER_PITCH = 1.0 / 32.0  # lower bounds work on a finer grid: their gap is about 8 pitches
_LOWER_SHARE = 1e-3  # and give away this share of δ
_RAISED = 1e-60  # Gaussian tables raise at most this mass a release from below the grid


class Bounds(NamedTuple):
    """A number known to lie between two."""

    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class PrivacyLoss:
    """The privacy loss of a sequence of releases, each with noise fixed in advance; the queries may depend on earlier answers.

    Guarantees: `epsilon` and `delta` are upper bounds, `epsilon_bounds` and `delta_bounds` enclose the exact value. What cannot
    be certified is +inf (1 for δ) or an AccountingError, never a smaller number.

    >>> from leastnoise import PrivacyLoss, gaussian
    >>> round(PrivacyLoss.of(gaussian(8.0), sensitivity=1.0).compose(10).epsilon(delta=1e-6), 5)
    1.74296
    """

    parts: tuple[tuple[SingleLoss, int], ...]
    settings: Settings = DEFAULT

    @staticmethod
    def of(noise: Noise, sensitivity: float = 1.0) -> PrivacyLoss:
        """The loss of one release of `noise` when one person moves each answer by at most `sensitivity`."""
        return PrivacyLoss(((single_loss(noise, sensitivity), 1),))

    def compose(self, other: int | PrivacyLoss) -> PrivacyLoss:
        """This loss repeated n times (n a positive integer), or followed by another loss."""
        if isinstance(other, PrivacyLoss):
            return replace(self, parts=_joined(self.parts + other.parts))
        n = positive_integer("n", other)
        return replace(self, parts=_joined(tuple((loss, count * n) for loss, count in self.parts)))

    @property
    def releases(self) -> int:
        """How many releases are composed (Gaussian ones are counted as the one Gaussian they are equal to)."""
        return sum(count for _, count in self.parts)

    def epsilon(self, delta: float) -> float:
        """The least certified ε at `delta`; +inf where the mass of unbounded loss alone exceeds `delta`."""
        return self._epsilon_upper(open_unit("delta", delta))

    def delta(self, epsilon: float) -> float:
        """The least certified δ at `epsilon` ≥ 0."""
        return self._delta_upper(non_negative("epsilon", epsilon))

    def epsilon_bounds(self, delta: float) -> Bounds:
        """ε at `delta` between two certified bounds."""
        delta = open_unit("delta", delta)
        upper = self._epsilon_upper(delta)
        return Bounds(min(self._epsilon_lower(delta, upper), upper), upper)

    def delta_bounds(self, epsilon: float) -> Bounds:
        """δ at `epsilon` between two certified bounds."""
        epsilon = non_negative("epsilon", epsilon)
        upper = self._delta_upper(epsilon)
        return Bounds(min(self._delta_lower(epsilon, upper), upper), upper)

    # Upper bounds

    def _epsilon_upper(self, delta: float) -> float:
        budget = delta - self._infinite
        if budget <= 0:
            return math.inf
        if (loss := self._exact) is not None:
            return _least(lambda e: float(loss.profile(e)) + self._deviation(e) <= delta, self._highest)
        if self._certain(0.0) <= budget:
            return 0.0
        saddle = composition.saddle_for_delta(self.parts, budget)
        for _ in range(_TRIES):
            pitch = composition.pitch_for(self.parts, saddle, saddle.centre, self.settings.accuracy)
            window, truncated = composition.compose(self.parts, saddle, pitch, self.settings.most_points)
            allowed = budget - truncated

            def fits(e: float, window: Window = window, allowed: float = allowed) -> bool:
                room = allowed - self._deviation(e)
                return room > 0 and window.log_delta(e, upper=True) <= math.log(room)

            epsilon = _least(fits, window.high, low=max(window.low, 0.0))
            if abs(epsilon - saddle.centre) <= 2.0 * saddle.deviation:
                return min(epsilon, self._highest)
            moved = composition.saddle_for_epsilon(self.parts, epsilon)
            if abs(moved.theta - saddle.theta) <= 0.05 * moved.theta:
                return min(epsilon, self._highest)
            saddle = moved
        raise AccountingError(f"The accountant did not settle on an epsilon for delta={delta!r}.")

    def _delta_upper(self, epsilon: float) -> float:
        known = self._infinite + self._deviation(epsilon)
        if epsilon >= self._highest or known >= 1.0:
            return min(known, 1.0)
        if (loss := self._exact) is not None:
            return min(float(loss.profile(epsilon)) + self._deviation(epsilon), 1.0)
        saddle = composition.saddle_for_epsilon(self.parts, epsilon)
        pitch = composition.pitch_for(self.parts, saddle, epsilon, self.settings.accuracy)
        window, truncated = composition.compose(self.parts, saddle, pitch, self.settings.most_points)
        log_delta = window.log_delta(epsilon, upper=True)
        return min(known + truncated + math.exp(min(log_delta, 0.0)), 1.0)

    # Lower bounds

    def _epsilon_lower(self, delta: float, upper: float) -> float:
        if upper == 0.0:
            return 0.0
        if not math.isfinite(upper):
            return math.inf if self._infinite * (1.0 - 1e-9) > delta else 0.0
        if (loss := self._exact) is not None:
            return _least(lambda e: float(loss.profile_lower(e)) <= delta + self._deviation(e), self._highest) * (1.0 - 1e-12)

        found = self._lower_window(upper * (1.0 - 1e-9))
        if found is None:
            return 0.0
        window, kind = found
        # Walk down from the upper bound until δ is certainly above, then narrow.
        high, step = upper, 4.0 * window.pitch
        low = upper - step
        while low > window.low and self._lower_delta_at(low, window, kind) < delta:
            high, step = low, 2.0 * step
            low = upper - step
        if low <= max(window.low, 0.0):
            return 0.0
        while high - low > 0.25 * window.pitch:
            middle = 0.5 * (low + high)
            if self._lower_delta_at(middle, window, kind) < delta:
                high = middle
            else:
                low = middle
        return low * (1.0 - 1e-12)

    def _delta_lower(self, epsilon: float, upper: float) -> float:
        certain = max(0.0, self._infinite * (1.0 - 1e-9) - self._deviation(epsilon))
        if upper <= certain or self._infinite >= 1.0:
            return certain
        if (loss := self._exact) is not None:
            return max(0.0, float(loss.profile_lower(epsilon)) - self._deviation(epsilon))
        found = self._lower_window(epsilon)
        return certain if found is None else max(self._lower_delta_at(epsilon, *found), certain)

    def _lower_window(self, epsilon: float) -> tuple[Window, Parts] | None:
        """A fine window around `epsilon` for one adversary: the shift that is worst at the saddle, where there are several."""
        if not math.isfinite(epsilon) or epsilon >= self._highest:
            return None
        saddle = composition.saddle_for_epsilon(self.parts, epsilon)
        kind = tuple((_worst_table(loss, saddle.theta), count) for loss, count in self.parts)
        moved = composition.saddle_for_epsilon(kind, epsilon)
        accuracy = self.settings.accuracy * _LOWER_PITCH**2
        for _ in range(12):
            pitch = composition.pitch_for(kind, moved, epsilon, accuracy)
            try:
                return composition.compose(kind, moved, pitch, self.settings.most_points)[0], kind
            except AccountingError:
                accuracy *= 4.0
        return None

    def _lower_delta_at(self, epsilon: float, window: Window, kind: Parts) -> float:
        """δ(ε) ≥ δ̂(ε+λ) − Pr[the splitting steps exceed λ and S is above ε], see the package docstring."""
        h = window.pitch * (1.0 if len(kind) == 1 or all(isinstance(loss, TableLoss) for loss, _ in kind) else 2.0)
        n = window.releases
        drift = n * h * h / 8.0
        chernoff = window.log_scale - window.theta * epsilon
        guess = window.log_delta(epsilon, upper=False)
        if guess == -math.inf:
            return 0.0
        exponent = max(chernoff - guess, 0.0) - math.log(_LOWER_SHARE)
        # Chernoff at c = 4(λ − drift)/(n h²); c must be at least the tilt.
        reach = max(h * math.sqrt(n * exponent / 2.0), window.theta * n * h * h / 4.0)
        value = math.exp(window.log_delta(epsilon + drift + reach, upper=False))
        given_up = math.exp(chernoff - 2.0 * reach * reach / (n * h * h))
        return max(0.0, value - given_up - n * _RAISED - self._deviation(epsilon))

    # What is known without composing

    @cached_property
    def _exact(self) -> SingleLoss | None:
        """One loss that stands for the whole sequence, where that can be had without a grid."""
        if len(self.parts) == 1 and self.parts[0][1] == 1:
            return self.parts[0][0]
        return composition.exactly(self.parts)

    @property
    def _infinite(self) -> float:
        """Probability that some release has unbounded loss, rounded up."""
        if any(loss.infinite >= 1.0 for loss, _ in self.parts):
            return 1.0
        exact = -math.expm1(sum(count * math.log1p(-loss.infinite) for loss, count in self.parts))
        return min(exact * (1.0 + 1e-12), 1.0)

    @property
    def _highest(self) -> float:
        """The largest finite total loss, rounded up."""
        total = sum(count * max(loss.largest, 0.0) for loss, count in self.parts)
        return total * (1.0 + 1e-12) + LOSS_ROUNDING * self.releases

    def _deviation(self, epsilon: float) -> float:
        """What laws judged by a neighbour cost: (1 + e^ε)·distance a release."""
        distance = sum(count * loss.deviation for loss, count in self.parts)
        return distance * (1.0 + math.exp(min(epsilon, 700.0))) if distance > 0 else 0.0

    def _certain(self, epsilon: float) -> float:
        """A crude upper bound on δ of the finite losses: the sum over the releases of δ at an equal share of ε."""
        share = epsilon / max(self.releases, 1)
        return sum(count * (float(loss.profile(share)) - loss.infinite) for loss, count in self.parts) + self._deviation(epsilon)


def _joined(parts: tuple[tuple[SingleLoss, int], ...]) -> tuple[tuple[SingleLoss, int], ...]:
    """Equal losses counted together; all Gaussian losses as the one they compose to, μ² = Σ n μ²."""
    counts: dict[int, tuple[SingleLoss, int]] = {}
    gaussian = 0.0
    for loss, count in parts:
        if isinstance(loss, GaussianLoss):
            gaussian += count * loss.mu**2
        else:
            _, before = counts.get(id(loss), (loss, 0))
            counts[id(loss)] = (loss, before + count)
    joined = tuple(counts.values())
    return (*joined, (GaussianLoss(math.sqrt(gaussian) * (1.0 + 4 * ULP)), 1)) if gaussian > 0 else joined


def _worst_table(loss: SingleLoss, theta: float) -> SingleLoss:
    if isinstance(loss, WorstOf):
        return max(loss.tables, key=lambda table: table.cumulants(theta)[0])
    return loss


def _least(fits: Callable[[float], bool], highest: float, low: float = 0.0) -> float:
    """The least ε ≥ low with fits(ε), a condition that holds from some ε on, to 1e-12 relative; `highest` if it holds nowhere
    below. The returned value satisfies the condition (or is `highest`)."""
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
        return high
    while high - low > 1e-12 * high:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high
