"""The whole privacy curve: δ(ε) of a sequence of releases for every ε, between two bounds, and what
an attacker can do with it.

(ε, δ) is one point of it. Two facts carry everything here (proofs: docs/mathematics.md#the-curve).

1. As a function of X = e^ε the profile is convex, non-increasing, of slope in [−1, 0]. So the chord
   of two upper bounds, straight in X and not in ε, is an upper bound between them.
2. Taken in the other order, δ_PQ(−ε) = 1 − e^(−ε) + e^(−ε) δ_QP(ε): what is known for ε ≥ 0 in both
   orders is known everywhere. Every law of this package is judged by a pair that bounds both
   orders, so one curve is enough; of another library's mechanism there may be two.

From there every number is a line, a maximum of lines or a root, each rounded to the side on which
the attacker is the stronger, or where two bounds are given, to both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from leastnoise.accountant.at_nodes import AtNodes
from leastnoise.accountant.bounds import Bounds
from leastnoise.accountant.composition import Composition
from leastnoise.accountant.zcdp import approximate_zcdp
from leastnoise.errors import InvalidParameterError, open_unit
from leastnoise.lattice.shells import Floats
from leastnoise.losses.rounding import ULP

POINTS = 400
_BEYOND = 1e-3  # of the smallest δ that is asked for: how far the nodes go
_ROUNDING = 1e-12  # relative, of a chord or a line
_MOST_EXPONENT = 700.0


@dataclass(frozen=True, eq=False)
class CurveBounds:
    """Bounds on δ at the nodes of a curve.

    Attributes:
        upper: Upper bounds; the last one holds beyond the nodes too.
        lower: Lower bounds, all of one attacker.
        lower_beyond: The lower bound beyond the last node.
    """

    upper: Floats
    lower: Floats
    lower_beyond: float


@dataclass(frozen=True, eq=False)
class PrivacyCurve:
    """δ(ε) of a sequence of releases for all ε at once, and what an attacker can do.

    The attacker knows everything but whether one given person is in the data, and sees all
    releases. Numbers are bounds on the safe side: no attacker does better. `delta_bounds`,
    `advantage_bounds` and `tradeoff_bounds` also say how well some attacker does.

    Attributes:
        epsilon: Nodes in nats, from 0 upwards.
        forth: Bounds on δ at the nodes, for the two data sets in one order.
        back: The same in the other order; the laws of this package have the same bounds in both.
        releases: The releases, in one order of the two data sets or in both.

    Example:
        >>> from leastnoise import PrivacyLoss, gaussian
        >>> curve = PrivacyLoss.of(gaussian(4.2247)).curve(delta=1e-6)
        >>> round(curve.advantage, 4), float(curve.true_positive_rate(0.01).round(4))
        (0.0942, 0.0183)
    """

    epsilon: Floats
    forth: CurveBounds
    back: CurveBounds
    releases: tuple[Composition, ...]

    # δ itself

    def delta(self, epsilon: ArrayLike) -> Floats:
        """δ at any ε, of either sign, in the worse order of the two data sets.

        Args:
            epsilon: In nats; one number or many.

        Returns:
            Upper bounds, in the shape of `epsilon`.

        Raises:
            InvalidParameterError: An ε is not a number.

        Example:
            >>> from leastnoise import PrivacyLoss, laplace
            >>> float(PrivacyLoss.of(laplace(2.0 ** 0.5)).curve().delta(1.0).round(9))
            0.0
        """
        at = _numbers("epsilon", epsilon)
        forth, back = (_chord(way.nodes, way.upper, at) for way in self._ways)
        return np.asarray(np.maximum(forth, back), dtype=np.float64)

    def delta_bounds(self, epsilon: float) -> Bounds:
        """δ at one ε, of either sign, between two certified bounds.

        Args:
            epsilon: In nats.

        Returns:
            Lower and upper bound.

        Raises:
            InvalidParameterError: ε is not a number.

        Example:
            >>> from leastnoise import PrivacyLoss, gaussian
            >>> lower, upper = PrivacyLoss.of(gaussian(2.0)).compose(10).curve().delta_bounds(1.0)
            >>> 0.98 * upper < lower <= upper
            True
        """
        at = _numbers("epsilon", float(epsilon))
        upper = float(self.delta(at))
        # δ falls in ε: the next node's bound holds here as well.
        lower = max(float(way.next_lower(at)) for way in self._ways)
        return Bounds(min(lower, upper), upper)

    # What an attacker can do

    @property
    def advantage(self) -> float:
        """The most by which true positives can exceed false positives: δ(0). An upper bound."""
        return float(min(self.forth.upper[0], self.back.upper[0]))

    @property
    def advantage_bounds(self) -> Bounds:
        """The same between two certified bounds."""
        lower = float(max(self.forth.lower[0], self.back.lower[0]))
        return Bounds(min(lower, self.advantage), self.advantage)

    def tradeoff(self, fpr: ArrayLike) -> Floats:
        """The least rate of false negatives at a rate of false positives.

        Args:
            fpr: Rates of false positives in [0, 1]; one number or many.

        Returns:
            Lower bounds, in the shape of `fpr`: no attacker misses fewer.

        Raises:
            InvalidParameterError: A rate is outside [0, 1].

        Example:
            >>> from leastnoise import PrivacyLoss, gaussian
            >>> curve = PrivacyLoss.of(gaussian(1.0)).curve()
            >>> float(curve.tradeoff(0.05).round(3))  # Φ(Φ⁻¹(0.95) − 1)
            0.74
        """
        rates = _rates("fpr", fpr)
        forth, back = (way.tradeoff(rates) for way in self._ways)
        return np.asarray(np.minimum(forth, back), dtype=np.float64)

    def tradeoff_bounds(self, fpr: float) -> Bounds:
        """The least rate of false negatives between two certified bounds: no attacker misses fewer
        than the lower one, some attacker misses no more than the upper one.

        Args:
            fpr: Rate of false positives in [0, 1].

        Returns:
            Lower and upper bound.

        Raises:
            InvalidParameterError: The rate is outside [0, 1].

        Example:
            >>> from leastnoise import PrivacyLoss, laplace
            >>> lower, upper = PrivacyLoss.of(laplace(2.0)).compose(5).curve().tradeoff_bounds(0.1)
            >>> 0 < upper - lower < 0.01
            True
        """
        rate = _rates("fpr", float(fpr))
        upper = min(float(way.tradeoff_upper(float(rate))) for way in self._ways)
        lower = float(self.tradeoff(rate))
        return Bounds(lower, max(lower, upper))

    def true_positive_rate(self, fpr: ArrayLike) -> Floats:
        """The largest share of members that is recognised at a rate of false alarms.

        Args:
            fpr: Rates of false positives in [0, 1]; one number or many.

        Returns:
            Upper bounds, in the shape of `fpr`.

        Raises:
            InvalidParameterError: A rate is outside [0, 1].

        Example:
            >>> from leastnoise import PrivacyLoss, laplace
            >>> float(PrivacyLoss.of(laplace(2.0 ** 0.5)).curve().true_positive_rate(0.01).round(4))
            0.0272
        """
        return np.asarray(np.minimum((1.0 - self.tradeoff(fpr)) * (1.0 + _ROUNDING), 1.0))

    def success(self, prior: float = 0.5) -> float:
        """How often the best guess whether the person is in the data is right.

        Args:
            prior: Probability of "in the data" before anything is seen, in (0, 1).

        Returns:
            A probability, an upper bound.

        Raises:
            InvalidParameterError: The prior is outside (0, 1).

        Example:
            >>> from leastnoise import PrivacyLoss, gaussian
            >>> round(PrivacyLoss.of(gaussian(4.2247)).curve().success(), 4)
            0.5471
        """
        p = open_unit("prior", prior)
        gained = p * float(self.delta(math.log1p(-p) - math.log(p)))
        return min((1.0 - p + gained) * (1.0 + _ROUNDING), 1.0)

    def positive_predictive_value(self, fpr: float, prior: float = 0.5) -> float:
        """How sure an attacker can be of a person whom the test calls a member.

        At a given rate of false alarms: without one its supremum is 1 for noise of unbounded loss.

        Args:
            fpr: Rate of false positives in (0, 1).
            prior: Probability of "in the data" before anything is seen, in (0, 1).

        Returns:
            A probability, an upper bound.

        Raises:
            InvalidParameterError: A rate is outside (0, 1).

        Example:
            >>> from leastnoise import PrivacyLoss, gaussian
            >>> curve = PrivacyLoss.of(gaussian(4.2247)).curve()
            >>> round(curve.positive_predictive_value(0.01, prior=0.1), 3)
            0.169
        """
        p, rate = open_unit("prior", prior), open_unit("fpr", fpr)
        found = p * float(self.true_positive_rate(rate))
        return min(found / (found + (1.0 - p) * rate) * (1.0 + _ROUNDING), 1.0)

    def posterior(self, odds: float) -> float:
        """How likely it is that the releases multiply the odds of "in the data" by more than this.

        Args:
            odds: A factor above 0, such as 3 for odds that treble.

        Returns:
            A probability, an upper bound: δ(ε)/(1 − e^ε/odds) at the best of the nodes.

        Raises:
            InvalidParameterError: The factor is not positive.

        Example:
            >>> from leastnoise import PrivacyLoss, laplace
            >>> PrivacyLoss.of(laplace(2.0 ** 0.5)).curve().posterior(3.0) < 1e-9  # e < 3
            True
        """
        if not (isinstance(odds, (int, float)) and 0.0 < odds < math.inf):
            raise InvalidParameterError("odds", odds, "to be a positive number")
        found = 0.0
        for way in self._ways:
            below = way.nodes < math.log(odds) - 1e-9
            if not np.any(below):
                return 1.0
            share = -np.expm1(way.nodes[below] - math.log(odds))
            found = max(found, float(np.min(way.upper[below] / share)))
        return min(found * (1.0 + 1e-9), 1.0)

    # The same in other currencies

    def gaussian_mu(self, *, apart: float) -> float:
        """The least μ such that the releases, apart from a probability, tell an attacker no more
        than one number with Gaussian noise of standard deviation 1/μ and sensitivity 1.

        Such statements compose: the squares of μ add, and the probabilities.

        Args:
            apart: The probability δ₀ in (0, 1) that is set apart; the δ of a guarantee. An exact
                law ends, so without one there is no finite μ.

        Returns:
            μ, an upper bound; +inf where the curve stays above `apart`, or goes on beyond ε = 700.

        Raises:
            InvalidParameterError: The probability is outside (0, 1).

        Guarantees: δ(ε) ≤ δ₀ + (1 − δ₀)·δ of the Gaussian noise, for every ε and not only at nodes.

        Example:
            >>> from leastnoise import PrivacyLoss, gaussian
            >>> mu = PrivacyLoss.of(gaussian(4.2247)).curve(delta=1e-6).gaussian_mu(apart=1e-6)
            >>> abs(mu * 4.2247 - 1.0) < 1e-3
            True
        """
        spared = open_unit("apart", apart)
        if self.epsilon[-1] > _MOST_EXPONENT:  # beyond, e^ε is none, and no vertex can be told
            return math.inf
        return max(
            _mu(np.exp(self.epsilon), np.maximum(way - spared, 0.0) / (1.0 - spared))
            for way in (self._first(self.forth.upper), self._first(self.back.upper))
        )

    def zcdp(self, *, apart: float) -> float:
        """The least ρ of zero-concentrated privacy, apart from a probability: in each order of the
        two data sets every Rényi divergence of order α is at most ρα, given an event of
        probability at least 1 − δ₀ under the first of them; the event may be another one in each
        order.

        Args:
            apart: The probability δ₀ in (0, 1) that is set apart.

        Returns:
            ρ, an upper bound; +inf where losses are infinite with a probability above `apart`.

        Raises:
            InvalidParameterError: The probability is outside (0, 1).

        Example:
            >>> from leastnoise import PrivacyLoss, gaussian
            >>> round(PrivacyLoss.of(gaussian(2.0)).curve().zcdp(apart=1e-6), 4)  # 1/(2σ²)
            0.125
        """
        spared = open_unit("apart", apart)
        return max(approximate_zcdp(releases, spared) for releases in self.releases)

    def _first(self, upper: Floats) -> Floats:
        """The bounds with δ(0), which is the same in both orders, at its better bound."""
        return np.concatenate([[self.advantage], np.minimum(upper[1:], self.advantage)])

    @cached_property
    def _ways(self) -> tuple[_Way, _Way]:
        """Both orders of the two data sets, each for ε of both signs."""
        forth, back = (
            replace(way, upper=self._first(way.upper)) for way in (self.forth, self.back)
        )
        return _Way.of(self.epsilon, forth, back), _Way.of(self.epsilon, back, forth)


@dataclass(frozen=True, eq=False)
class _Way:
    """One order of the two data sets: nodes of both signs, with bounds on δ."""

    nodes: Floats
    upper: Floats
    lower: Floats
    lower_beyond: float
    back_beyond: float  # the lower bound beyond the last node, in the other order

    @staticmethod
    def of(epsilon: Floats, forth: CurveBounds, back: CurveBounds) -> _Way:
        """Fact 2: the bounds of the other order give those below 0."""
        mirrored = -epsilon[:0:-1]
        flat, fall = -np.expm1(mirrored), np.exp(mirrored)
        below = (flat + fall * back.upper[:0:-1]) * (1.0 + _ROUNDING)
        surely = (flat + fall * back.lower[:0:-1]) * (1.0 - _ROUNDING)
        return _Way(
            np.concatenate([mirrored, epsilon]),
            np.concatenate([np.minimum(below, 1.0), forth.upper]),
            np.concatenate([surely, forth.lower]),
            forth.lower_beyond,
            back.lower_beyond,
        )

    def next_lower(self, epsilon: Floats) -> Floats:
        """A lower bound at ε: that of the next node, or what every pair has, 1 − e^ε."""
        place = np.searchsorted(self.nodes, epsilon, side="left")
        known = np.append(self.lower, self.lower_beyond)[place]
        every = -np.expm1(np.minimum(epsilon, 0.0)) * (1.0 - _ROUNDING)
        return np.asarray(np.maximum(known, every), dtype=np.float64)

    def tradeoff(self, rates: Floats) -> Floats:
        """f(α) = max over ε of 1 − δ(ε) − e^ε α, rounded down."""
        scale = np.exp(self.nodes)
        lines = 1.0 - self.upper - np.multiply.outer(rates, scale)
        best = np.max(lines - _ROUNDING * (1.0 + np.multiply.outer(rates, scale)), axis=-1)
        return np.asarray(np.maximum(best, 0.0))

    def tradeoff_upper(self, rate: float) -> float:
        """The same rounded up: on the cell from X_k to the next node X_(k+1), δ is at least the
        lower bound of the latter, and e^ε α at least X_k α. Below the first node
        δ ≥ 1 − X + Xb, b the bound of the other order, and the line is at most X(1 − b − α)."""
        scale = np.exp(self.nodes)
        cells = 1.0 - np.append(self.lower[1:], self.lower_beyond) - scale * rate
        first = float(scale[0]) * (1.0 - self.back_beyond - rate)
        return min(max(float(np.max(cells)), first, 0.0) * (1.0 + _ROUNDING), 1.0 - rate)


def curve_of(
    releases: Composition, reverse: Composition | None, delta: float, points: int
) -> PrivacyCurve:
    """The curve of these releases, its nodes equally far apart, up to where δ is a thousandth of
    `delta`; `reverse`: the same releases with the data sets in the other order, if that differs."""
    ways = (releases,) if reverse is None else (releases, reverse)
    bounds = [AtNodes.of(way, _BEYOND * delta) for way in ways]
    highest = max(way.end for way in bounds)
    nodes = np.linspace(0.0, highest, points) if highest > 0.0 else np.zeros(1)
    found = [CurveBounds(way.upper(nodes), way.lower(nodes), way.surely_beyond) for way in bounds]
    return PrivacyCurve(nodes, found[0], found[-1], ways)


def _chord(nodes: Floats, upper: Floats, epsilon: Floats) -> Floats:
    """Between nodes the straight line in X = e^ε, rounded up; before the first that from δ = 1 at
    X = 0, after the last its bound."""
    place = np.searchsorted(nodes, epsilon, side="right")
    left = np.concatenate([[-np.inf], nodes])[place]
    right = np.append(nodes, nodes[-1])[place]
    width = -np.expm1(np.where(right > left, left - right, -np.inf))
    # (X_right − X)/(X_right − X_left)
    share = np.clip(-np.expm1(np.minimum(epsilon - right, 0.0)) / width, 0.0, 1.0)
    first = np.concatenate([[1.0], upper])[place]
    last = np.append(upper, upper[-1])[place]
    line = (last + (first - last) * share) * (1.0 + _ROUNDING)
    return np.asarray(np.minimum(line, 1.0), dtype=np.float64)


def _mu(scale: Floats, upper: Floats) -> float:
    """The largest μ over the vertices of the polygon that lines of slope −X ≤ −1 bound from below:
    Φ⁻¹(1 − α) − Φ⁻¹(β) at (α, β), each rounded down. A curve of Gaussian noise is convex: below the
    polygon at both ends of an edge, it is below the edge."""
    if upper[0] <= 0.0:
        return 0.0
    if upper[-1] > 0.0:  # some event has no bound on its odds
        return math.inf
    hull = _lower_hull(scale, upper)
    x, u = scale[hull], upper[hull]
    alpha = (u[:-1] - u[1:]) / (x[1:] - x[:-1])
    alpha *= 1.0 - 8.0 * _ROUNDING
    beta = 1.0 - u[:-1] - x[:-1] * alpha
    beta -= 4.0 * ULP * (1.0 + x[:-1] * alpha) + 8.0 * _ROUNDING * x[:-1] * alpha
    if np.any(alpha <= 0.0) or np.any(beta <= 0.0):
        return math.inf
    found = -ndtri(alpha) - ndtri(np.minimum(beta, 1.0 - ULP))
    return max(float(np.max(found)), 0.0) * (1.0 + 1e-9)


def _lower_hull(x: Floats, y: Floats) -> list[int]:
    """The corners of the largest convex function that is nowhere above the points, up to the first
    point at 0."""
    corners: list[int] = []
    for k in range(int(np.argmax(y <= 0.0)) + 1):
        while len(corners) > 1:
            i, j = corners[-2:]
            if (y[j] - y[i]) * (x[k] - x[i]) < (y[k] - y[i]) * (x[j] - x[i]):
                break
            corners.pop()
        corners.append(k)
    return corners


def _numbers(name: str, value: ArrayLike) -> Floats:
    return _within(name, value, -math.inf, math.inf, "to be finite")


def _rates(name: str, value: ArrayLike) -> Floats:
    return _within(name, value, 0.0, 1.0, "to be in [0, 1]")


def _within(name: str, value: ArrayLike, low: float, high: float, expected: str) -> Floats:
    found = np.asarray(value, dtype=np.float64)
    wrong = ~(np.isfinite(found) & (found >= low) & (found <= high))
    if np.any(wrong):
        raise InvalidParameterError(name, float(found[wrong].ravel()[0]), expected)
    return np.asarray(found, dtype=np.float64)
