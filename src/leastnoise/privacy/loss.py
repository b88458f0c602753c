"""`PrivacyLoss`: what a sequence of releases may reveal, and the guarantees that follow."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from leastnoise.errors import (
    AccountingError,
    InvalidParameterError,
    non_negative,
    open_unit,
    positive_integer,
)
from leastnoise.noise import Noise
from leastnoise.privacy import compose as composition
from leastnoise.privacy.compose import Parts, Saddle, Settings, Window
from leastnoise.privacy.single import (
    LOSS_ROUNDING,
    SMALLEST,
    ULP,
    GaussianLoss,
    SingleLoss,
    TableLoss,
    WorstOf,
)
from leastnoise.privacy.tables import single_loss

DEFAULT = Settings()
_TRIES = 8
_COARSER = 12
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
        """The loss of one release of `noise` when one person moves each answer (coordinate) by at most `sensitivity`."""
        return PrivacyLoss(((single_loss(noise, sensitivity), 1),))

    def compose(self, other: int | PrivacyLoss) -> PrivacyLoss:
        """This loss repeated n times (n a positive integer), or followed by another loss."""
        if isinstance(other, PrivacyLoss):
            return replace(self, parts=_joined(self.parts + other.parts))
        if isinstance(other, Noise):
            raise InvalidParameterError(
                "n",
                other,
                "to be a positive integer, or a PrivacyLoss such as PrivacyLoss.of(noise)",
            )
        n = positive_integer("n", other)
        return replace(self, parts=_joined(tuple((loss, count * n) for loss, count in self.parts)))

    def epsilon(self, delta: float) -> float:
        """The least certified ε at `delta`; +inf where the mass of unbounded loss alone exceeds `delta`.

        Raises AccountingError where no bound can be certified with the grid points allowed.
        """
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
        if self._infinite >= delta:
            return math.inf
        # No release can lose more than its largest loss: at their sum δ is the mass of infinite loss, and that is below `delta`.
        if (loss := self._exact) is not None:
            return _least(
                lambda e: float(loss.profile(e)) <= delta, self._highest, never=self._highest
            )
        if self._certain_at_zero <= delta - self._infinite:
            return 0.0
        found = min(self._without_top(delta)._composed_epsilon(delta), self._highest)
        if found == math.inf:
            raise AccountingError(
                f"The accountant did not settle on an epsilon for delta={delta!r}."
            )
        return found

    def _without_top(self, delta: float) -> PrivacyLoss:
        """The same releases, their highest losses counted as infinite as far as that costs next to nothing of δ."""
        # A share of what δ leaves beside the mass of infinite loss: a share of δ itself could be more than that.
        spare = (
            self.settings.accuracy
            * max(delta - self._infinite, 0.0)
            / sum(count for _, count in self.parts)
        )
        trimmed = tuple(
            (loss.without_top(spare) if isinstance(loss, (TableLoss, WorstOf)) else loss, count)
            for loss, count in self.parts
        )
        return (
            self
            if all(a is b for (a, _), (b, _) in zip(trimmed, self.parts, strict=True))
            else replace(self, parts=trimmed)
        )

    def _composed_epsilon(self, delta: float) -> float:
        """The least ε certified by a window around it; +inf where the windows that were tried certify nothing."""
        budget = delta - self._infinite
        saddle = composition.saddle_for_delta(self.parts, budget)
        if saddle.centre >= (1.0 - self.settings.accuracy) * self._highest:
            return (
                self._highest
            )  # no grid tells the two apart: two sphere laws at δ = 1e-20 are 1e-10 below it
        best, guess = math.inf, saddle.centre
        for _ in range(_TRIES):
            window, truncated = self._window(self.parts, saddle, guess, self.settings.accuracy)
            allowed = budget - truncated

            def fits(e: float, window: Window = window, allowed: float = allowed) -> bool:
                return allowed > 0 and window.log_delta(e, upper=True) <= math.log(allowed)

            # +inf where nothing in the window is certified: then the window is moved.
            epsilon = _least(fits, window.high, low=max(window.low, 0.0), never=math.inf)
            best = min(best, epsilon)
            aimed = abs(epsilon - saddle.centre) <= 2.0 * saddle.deviation
            if aimed and epsilon >= 0.5 * guess:  # the tilt and the pitch were right for it
                break
            guess = min(epsilon, window.high)
            moved = saddle if aimed else composition.saddle_for_epsilon(self.parts, guess)
            if not aimed and abs(moved.theta - saddle.theta) <= 0.05 * moved.theta:
                break
            saddle = moved
        return best

    def _delta_upper(self, epsilon: float) -> float:
        known = self._infinite
        if epsilon >= self._highest or known >= 1.0:
            return min(known, 1.0) + 0.0
        if (loss := self._exact) is not None:
            return min(float(loss.profile(epsilon)), 1.0)
        best = 1.0
        for _ in range(_TRIES):
            # How much is next to nothing depends on δ: from the best bound so far.
            trimmed = self._without_top(best)
            best = min(best, trimmed._composed_delta(epsilon))
            if trimmed._infinite - known <= 10.0 * self.settings.accuracy * (best - known):
                break
        return best

    def _composed_delta(self, epsilon: float) -> float:
        saddle = composition.saddle_for_epsilon(self.parts, epsilon)
        window, truncated = self._window(self.parts, saddle, epsilon, self.settings.accuracy)
        log_delta = window.log_delta(epsilon, upper=True)
        return min(self._infinite + truncated + max(math.exp(min(log_delta, 0.0)), SMALLEST), 1.0)

    def _window(
        self, parts: Parts, saddle: Saddle, epsilon: float, accuracy: float
    ) -> tuple[Window, float]:
        """The composed loss near `epsilon`, to the wanted accuracy or the best the number of grid points allows."""
        for attempt in range(_COARSER):
            pitch = composition.pitch_for(parts, saddle, epsilon, accuracy * 4.0**attempt)
            try:
                return composition.compose(parts, saddle, pitch, self.settings.most_points)
            except AccountingError:
                if attempt == _COARSER - 1:
                    raise
        raise AccountingError("No grid was tried.")

    # Lower bounds

    def _epsilon_lower(self, delta: float, upper: float) -> float:
        if upper == 0.0:
            return 0.0
        if not math.isfinite(upper):
            return (
                math.inf if self._certainly_infinite > delta else self._beside_infinite_lower(delta)
            )
        if (loss := self._exact) is not None:
            return _least(lambda e: float(loss.profile_lower(e)) <= delta, self._highest) * (
                1.0 - 1e-12
            )
        return self._without_top(delta)._composed_epsilon_lower(delta, upper)

    def _beside_infinite_lower(self, delta: float) -> float:
        """Where δ is the mass of infinite loss up to its rounding: what the next δ above it needs, for ε falls as δ grows."""
        above = math.nextafter(self._infinite, math.inf)
        if not delta < above < 1.0:
            return 0.0
        try:
            return self._epsilon_lower(above, self._epsilon_upper(above))
        except AccountingError:
            return 0.0

    def _composed_epsilon_lower(self, delta: float, upper: float) -> float:
        found = self._lower_window(upper * (1.0 - 1e-9))
        if found is None:
            return 0.0
        window, kind = found
        delta -= replace(
            self, parts=tuple(kind)
        )._certainly_infinite  # what is left for the finite losses of this adversary
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
        certain = self._certainly_infinite
        if (loss := self._exact) is not None:
            return max(certain, float(loss.profile_lower(epsilon)))
        if upper <= certain or self._infinite >= 1.0:
            return certain
        trimmed = self._without_top(upper)
        found = trimmed._lower_window(epsilon)
        if found is None:
            return certain
        of_one = replace(
            self, parts=tuple(found[1])
        )._certainly_infinite  # of the adversary whose finite losses are counted
        return max(of_one + trimmed._lower_delta_at(epsilon, *found), certain)

    def _lower_window(self, epsilon: float) -> tuple[Window, Parts] | None:
        """A fine window around `epsilon` for one adversary: the shift that is worst at the saddle, where there are several."""
        if not math.isfinite(epsilon) or epsilon >= self._highest:
            return None
        saddle = composition.saddle_for_epsilon(self.parts, epsilon)
        kind = tuple((_worst_table(loss, saddle.theta), count) for loss, count in self.parts)
        moved = composition.saddle_for_epsilon(kind, epsilon)
        try:
            return self._window(kind, moved, epsilon, self.settings.accuracy * _LOWER_PITCH**2)[
                0
            ], kind
        except AccountingError:
            return None

    def _lower_delta_at(self, epsilon: float, window: Window, kind: Parts) -> float:
        """δ(ε) ≥ δ̂(ε+λ) − Pr[the splitting steps exceed λ and S is above ε], see the package docstring; of the finite losses alone,
        to which the mass of infinite loss adds."""
        # One kind of loss is put on the grid's own points; of several, those without a table are split once before.
        h = window.pitch * (
            1.0 if len(kind) == 1 or all(isinstance(loss, TableLoss) for loss, _ in kind) else 2.0
        )
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
        raised = sum(count * loss.raised for loss, count in kind if isinstance(loss, TableLoss))
        return max(0.0, value - given_up - n * _RAISED - raised)

    # What is known without composing

    @cached_property
    def _exact(self) -> SingleLoss | None:
        """One loss that stands for the whole sequence, where that can be had without a grid."""
        if len(self.parts) == 1 and self.parts[0][1] == 1:
            return self.parts[0][0]
        if all(isinstance(loss, TableLoss) and loss.spread == 0.0 for loss, _ in self.parts):
            # Only unbounded losses: the rest reveals nothing, however often.
            return TableLoss(
                np.zeros(1),
                np.zeros(1),
                self._infinite,
                raised=self._infinite - self._certainly_infinite,
            )
        return composition.exactly(self.parts)

    @property
    def _infinite(self) -> float:
        """Probability that some release has unbounded loss, rounded up."""
        if any(loss.infinite >= 1.0 for loss, _ in self.parts):
            return 1.0
        exact = -math.expm1(sum(count * math.log1p(-loss.infinite) for loss, count in self.parts))
        return min(exact * (1.0 + 1e-12) + (SMALLEST if exact > 0.0 else 0.0), 1.0)

    @property
    def _highest(self) -> float:
        """The largest finite total loss, rounded up."""
        total = sum(count * max(loss.largest, 0.0) for loss, count in self.parts)
        error = sum(
            count * getattr(loss, "loss_rounding", LOSS_ROUNDING * (1.0 + abs(loss.largest)))
            for loss, count in self.parts
        )
        return total * (1.0 + 1e-12) + error

    @property
    def _certainly_infinite(self) -> float:
        """Lower bound on the probability of unbounded loss."""
        if any(_surely_infinite(loss) >= 1.0 for loss, _ in self.parts):
            return 1.0
        finite = sum(count * math.log1p(-_surely_infinite(loss)) for loss, count in self.parts)
        return max(0.0, -math.expm1(finite) * (1.0 - 1e-9))

    @property
    def _certain_at_zero(self) -> float:
        """A crude upper bound on δ(0) of the finite losses: the sum over the releases."""
        return sum(count * (_at_zero(loss) - loss.infinite) for loss, count in self.parts)


def _at_zero(loss: SingleLoss) -> float:
    return loss.profile_at_zero() if isinstance(loss, TableLoss) else float(loss.profile(0.0))


def _joined(parts: tuple[tuple[SingleLoss, int], ...]) -> tuple[tuple[SingleLoss, int], ...]:
    """Equal losses counted together; all Gaussian losses as the one they compose to, μ² = Σ n μ²."""
    counts: dict[int, tuple[SingleLoss, int]] = {}
    squares = []
    for loss, count in parts:
        if isinstance(loss, GaussianLoss):
            squares.append(count * loss.mu**2)
        else:
            _, before = counts.get(id(loss), (loss, 0))
            counts[id(loss)] = (loss, before + count)
    joined = tuple(counts.values())
    return (
        (*joined, (GaussianLoss(math.sqrt(math.fsum(squares)) * (1.0 + 4 * ULP)), 1))
        if squares
        else joined
    )


def _worst_table(loss: SingleLoss, theta: float) -> SingleLoss:
    return loss.worst(theta) if isinstance(loss, WorstOf) else loss


def _least(
    fits: Callable[[float], bool], highest: float, low: float = 0.0, never: float | None = None
) -> float:
    """The least ε ≥ low with fits(ε), a condition that holds from some ε on, to 1e-12 relative; `never` (or
    `highest`) if it does not hold at `highest`. Otherwise the returned value satisfies the condition."""
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
        return high if never is None else never
    while high - low > 1e-12 * high:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def _surely_infinite(loss: SingleLoss) -> float:
    return loss.surely_infinite if isinstance(loss, (TableLoss, WorstOf)) else loss.infinite
