"""Means and variances: ratios of noisy answers that stay in their bounds, with intervals that hold.

With S = Σ(x − c), Q = Σ(x − c)² − n·w²/2 and n noisy, c the middle and w the half-width of the
bounds:

    mean      c + S/n
    variance  Q/n + w²/2 − (S/n)²        of the n values themselves, not of a population that
                                         they were drawn from

A mean of values in [lower, upper] is in [lower, upper], their variance in [0, w²]: what noise puts
beyond is put at the bound, which costs no privacy and moves it towards the truth. Where the noisy n
is within `FEW` of its standard deviations from zero, the ratio says nothing, and is not given.

**Interval of a mean.** For the true m = mean − c, S − m·n = e_S − m·e_n: the noise alone (Fieller
1954). With q(m) the 95 % quantile of |e_S − m·e_n|, the set of all m with |S − m·n| ≤ q(m) holds
the true one in 95 % of releases, whatever n is. Clamping does not change that: the truth is in the
bounds. e_S − m·e_n is linear in the noise, so q comes from its exact law (`linear.exact_width`):
of independent answers, of answers that share a draw, and of those put together from the cells of a
table. Where that would take too long it is the quantile of 10,000 trials.

**Interval of a variance.** Quantiles of the variance when noise of the same law is added again to
the noisy answers. An approximation: with n at four standard deviations of its noise it held the
truth in 95 to 99.7 % of 600 releases, for means from the middle to 0.9 w beside it. Unlike a mean
it has no form that is noise alone at the truth and linear in it: (S/n)² is a square of noisy
numbers, and there the mean is not known either.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leastnoise.lattice.shells import Floats
from leastnoise.releases.estimates.linear import exact_width
from leastnoise.releases.estimates.trials import (
    CONFIDENCE,
    Pattern,
    Trials,
    noise_on,
    std_of,
    worth,
)
from leastnoise.releases.noise.mechanism import Mechanism
from leastnoise.releases.plan.statistic import Statistic

FEW = 4.0  # standard deviations of a noisy number of values, below which it is too few to say
# Of m/w, where q is computed; between them it is all but straight.
_GRID = np.linspace(-1.0, 1.0, 65)
_FEW_PLACES = np.linspace(0.0, 1.0, 7)  # where it is computed exactly; it bends up: no less between
_ROUNDS = 500  # of a contraction by at least a third: FEW is well above the slope of q
# Of w, or of the largest variance: where a plan looks for the widest interval.
_PLANNED = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class RatioEstimate:
    """A ratio. `value` ± `half_width` contains [`lower`, `upper`]."""

    value: float
    noise_std: float
    half_width: float
    lower: float
    upper: float


class Ratios:
    """The means and variances of a release."""

    def __init__(self, made: Mechanism, trials: Trials) -> None:
        self._made, self._trials = made, trials
        self._reaches: dict[tuple[Pattern, tuple[float, ...]], Floats] = {}

    def estimate(
        self, statistic: Statistic, used: Sequence[int], noisy: Sequence[float]
    ) -> RatioEstimate | None:
        """The ratio from its noisy answers; None where there are too few values to say."""
        if statistic.public_n is not None:
            n = float(statistic.public_n)
        else:
            n = noisy[-1]
            if n < max(FEW * float(self._stds(used)[-1]), 1.0):
                return None
        find = self._mean if statistic.kind == "mean" else self._variance
        value, std, low, high = find(statistic, used, noisy, n)
        first, last = limits(statistic)
        held = min(max(value, first), last)
        lower, upper = max(held - (value - low), first), min(held + (high - value), last)
        return RatioEstimate(held, std, max(held - lower, upper - held), lower, upper)

    def expected(
        self, statistic: Statistic, used: Sequence[int], n: int
    ) -> tuple[float, float] | None:
        """Standard deviation and 95 % half-width at n values; None where they are too few to say.

        They depend on the values too: these are the widest, wherever a mean lies; of a variance the
        widest for values around a mean in the middle half of the bounds.
        """
        number = [] if statistic.public_n is not None else [float(n)]
        found = [
            self.estimate(statistic, used, [*answers, *number])
            for answers in _planned_answers(statistic, n)
        ]
        known = [one for one in found if one is not None]
        if not known:
            return None
        return max(one.noise_std for one in known), max(one.half_width for one in known)

    def _stds(self, used: Sequence[int]) -> Floats:
        made = self._made
        return np.array([std_of(made, i) for i in used])

    def _mean(
        self, statistic: Statistic, used: Sequence[int], noisy: Sequence[float], n: float
    ) -> tuple[float, float, float, float]:
        middle, w = centre(statistic), half_range(statistic)
        m, stds = noisy[0] / n, self._stds(used)
        if len(used) == 1:
            half = noise_on(self._made, used[0])[1] / n
            return middle + m, float(stds[0]) / n, middle + m - half, middle + m + half
        reach = self._reach(used, w)
        low, high = (_end(noisy[0], n, sign * reach, w) for sign in (-1.0, 1.0))
        std = math.hypot(float(stds[0]), min(abs(m), w) * float(stds[1])) / n
        return middle + m, std, middle + min(low, m), middle + max(high, m)

    def _reach(self, used: Sequence[int], w: float) -> Floats:
        """q on the grid: the same in every group."""
        key = (self._trials.pattern(used), tuple(worth(self._made, i) for i in used))
        if key not in self._reaches:
            found = self._exact_reach(used, w)
            if found is None:
                total, number = self._trials.noise(used)
                each = [np.quantile(np.abs(total - m * number), CONFIDENCE) for m in w * _GRID]
                found = np.array(each)
            self._reaches[key] = found
        return self._reaches[key]

    def _exact_reach(self, used: Sequence[int], w: float) -> Floats | None:
        """The same from the exact law of e_S − m·e_n, at a few m ≥ 0 of laws that are the same for
        −m; None where it is not known."""
        made = self._made
        total, number = (worth(made, i) for i in used)
        found = []
        for m in w * _FEW_PLACES:
            width = exact_width(made, used, (total, -m * number))
            if width is None:
                return None
            found.append(width)
        return np.interp(np.abs(_GRID), _FEW_PLACES, found)

    def _variance(
        self, statistic: Statistic, used: Sequence[int], noisy: Sequence[float], n: float
    ) -> tuple[float, float, float, float]:
        half = half_range(statistic) ** 2 / 2
        s, q, *_ = noisy
        value = q / n + half - (s / n) ** 2
        slopes = np.array([-2.0 * s / n**2, 1.0 / n, -q / n**2 + 2.0 * s**2 / n**3])[: len(used)]
        std = float(np.sqrt(slopes**2 @ self._stds(used) ** 2))
        noise = self._trials.noise(used)
        moved_s, moved_q, *rest = (v + e for v, e in zip(noisy, noise, strict=True))
        number = np.maximum(rest[0], 1.0) if rest else np.float64(n)
        moved = moved_q / number + half - (moved_s / number) ** 2
        width = float(np.quantile(np.abs(moved - value), CONFIDENCE))
        return value, std, value - width, value + width


def _planned_answers(statistic: Statistic, n: int) -> list[list[float]]:
    """The answers of n values, for means and variances all over their bounds."""
    w = half_range(statistic)
    if statistic.kind == "mean":
        return [[n * m * w] for m in _PLANNED]
    middle = [m for m in _PLANNED if m <= 0.5]
    spreads = [(m * w, v * (1.0 - m * m) * w * w) for m in middle for v in _PLANNED]
    return [[n * m, n * (v + m * m - w * w / 2)] for m, v in spreads]


def _end(total: float, n: float, reach: Floats, w: float) -> float:
    """The end of {m : |S − m·n| ≤ q(m)} on one side: m = (S + q(m))/n, q constant beyond the
    bounds, where it does not matter."""
    grid, m = w * _GRID, total / n
    for _ in range(_ROUNDS):
        moved = (total + float(np.interp(m, grid, reach))) / n
        if abs(moved - m) <= 1e-12 * w:
            return moved
        m = moved
    return math.copysign(math.inf, float(reach[0]))  # no end within the bounds


def centre(statistic: Statistic) -> float:
    """c."""
    values = statistic.values
    return 0.0 if values is None else float((values.first + values.last) * values.exact_pitch / 2)


def half_range(statistic: Statistic) -> float:
    """w."""
    values = statistic.values
    return 0.0 if values is None else float((values.last - values.first) * values.exact_pitch / 2)


def limits(statistic: Statistic) -> tuple[float, float]:
    """What a mean or a variance of values within the declared bounds is within."""
    lower, upper = float(statistic.lower or 0.0), float(statistic.upper or 0.0)
    return (lower, upper) if statistic.kind == "mean" else (0.0, (upper - lower) ** 2 / 4)
