"""The privacy loss of the law e^(−max(‖z‖₂/b − c, 0)), a sphere with a flat core, between bounds.

With b = 1 and t the length of the change, all level sets of both laws are balls: where P is above
e^(c−R)/Z, ‖z‖ < R, and where e^ε·Q is, ‖z − v‖ < R + ε, for every R > c. So what P and e^ε·Q have
in common is a sum over R of what two balls have in common, and

    δ(ε) = E[s(R)],  s(R) = the share of the ball of radius R outside that of radius R + ε about v,

where R has the density ∝ R^d e^(−R) beyond c. Two balls have two caps in common: with k = (t² −
ε²)/(2t) and F the distribution function of one coordinate of a point of the unit ball,

    s(R) = F(k/R − ε/t) − (1 + ε/R)^d·F(−ε/t − k/(R + ε))   for R > R₀ = (t − ε)/2,

and 1 for smaller ones; δ(ε) = 0 for ε ≥ t. No loss is above t (docs/mathematics.md#a-flat-core).

**Quadrature.** The integrand is analytic for Re R > R₀, so Gauss–Legendre rules converge
geometrically, with the proven error of `losses.sphere`: 16 nodes, and the largest modulus on an
ellipse. That is bounded on the rectangle around it, R between x₁ and x₂ and |Im R| ≤ y: there the
argument of F has a real part within known ends and an imaginary part of at most v = ky/x₁², and F(u
+ iv) is at most F(u) and, along the upright way, v times the largest density |1 − w²|^((d−1)/2).
Panels that leave too much open are halved; what is open in the end is charged, as is all rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from leastnoise.errors import AccountingError
from leastnoise.lattice.shells import Floats
from leastnoise.losses.base import ClosedForm
from leastnoise.losses.rounding import SMALLEST, ULP
from leastnoise.losses.table import TableLoss, table_above

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_ELLIPSES = (0.6, 1.0, 1.4, 1.7, 2.0, 2.5)  # τ
_CLOSE = 1e-9  # of δ: panels that leave more open are halved
_HALVINGS = 12
_SLIVER = 1e-10  # of R₀: so near to it, where nothing is analytic, the share is between 0 and 1
_FAINT = 92.0  # e^−92 = 1e-40: the probability of radii beyond the panels
_FAINTEST = 1e-290  # F below this may have lost its digits to the range of floats
_ROUNDING = 1e-12  # relative error of the incomplete functions, by whose own tests it is less
_TABLE = 600  # nodes of a table, above 0
_SAFE = 1e-9  # relative allowance for the masses of a table, second differences of its profile
_CHUNK = 1 << 13  # panels at a time


@dataclass(frozen=True)
class FlatSphereLoss(ClosedForm):
    """The loss of one release at the distance t, in units of b.

    Attributes:
        core: c, at least 0; 0 is the sphere.
        dimension: How many answers, at least 2.
        distance: t.
    """

    core: float
    dimension: int
    distance: float

    @property
    def largest(self) -> float:
        return self.distance

    @property
    def raised(self) -> float:
        """All of the mass, in a table: it is not the loss split over a grid, but any table that
        dominates it, so that nothing is known from below where releases are composed."""
        return 1.0

    # δ

    def profile(self, epsilon: ArrayLike) -> Floats:
        return self._each(epsilon, upper=True)

    def _attained_profile(self, epsilon: ArrayLike) -> Floats:
        # the distance itself is rounded up by 8 units in the last place, and δ grows with it
        nearer = replace(self, distance=self.distance * (1.0 - 32.0 * ULP))
        return nearer._each(epsilon, upper=False)

    def _each(self, epsilon: ArrayLike, *, upper: bool) -> Floats:
        epsilon = np.asarray(epsilon, dtype=np.float64)
        size = np.abs(epsilon.ravel())
        found = np.zeros(size.size)
        inside = np.flatnonzero(size < self.distance)
        if inside.size:
            found[inside] = self._bounds(size[inside], upper=upper)
        found = found.reshape(epsilon.shape)
        # the pair is symmetric: δ(−ε) = 1 − e^(−ε) + e^(−ε) δ(ε)
        below = np.minimum(epsilon, 0.0)
        mirrored = (-np.expm1(below) + np.exp(below) * found) * (
            1.0 + (4.0 if upper else -4.0) * ULP
        )
        return np.asarray(np.clip(np.where(epsilon < 0.0, mirrored, found), 0.0, 1.0))

    def _bounds(self, epsilon: Floats, *, upper: bool) -> Floats:
        """δ at each 0 ≤ ε < t, above what it is or below."""
        place, low, high = self._first_panels(epsilon)
        value, error = self._below_panels(epsilon)
        size = np.zeros(epsilon.size)  # of what is subtracted, to which rounding is relative
        for left in range(_HALVINGS, -1, -1):
            found, rough, gap = self._on_panels(epsilon[place], low, high)
            total = value + np.bincount(place, found, epsilon.size)
            is_open = (gap > _CLOSE * total[place] / 8.0) & (left > 0) & (gap > _FAINTEST)
            kept = ~is_open
            value += np.bincount(place[kept], found[kept], epsilon.size)
            size += np.bincount(place[kept], rough[kept], epsilon.size)
            error += np.bincount(place[kept], gap[kept], epsilon.size)
            if not np.any(is_open):
                break
            low, high = low[is_open], high[is_open]
            middle = 0.5 * (low + high)
            place = np.repeat(place[is_open], 2)
            low, high = (np.column_stack(pair).ravel() for pair in ((low, middle), (middle, high)))
        rounding = _ROUNDING * (1.0 + 1e-3 * self.dimension) + ULP * self._exponents
        slack = (value + size) * rounding + _FAINTEST
        if upper:
            return np.asarray(value + error + slack + self._beyond, dtype=np.float64)
        return np.asarray(np.maximum(value - error - slack, 0.0), dtype=np.float64)

    # The radius

    @property
    def _log_total(self) -> float:
        return log_mass(self.core, self.dimension)

    @property
    def _last(self) -> float:
        return _last_radius(self.core, self.dimension)

    @property
    def _beyond(self) -> float:
        """The probability of radii beyond the panels, at most."""
        return math.exp(_log_beyond(self._last, self.dimension) - self._log_total)

    @property
    def _exponents(self) -> float:
        """The size of the numbers whose exponential the density is."""
        d, last = self.dimension, self._last
        return 16.0 * (last + d * (1.0 + abs(math.log(last))) + abs(self._log_total))

    def _first_panels(self, epsilon: Floats) -> tuple[NDArray[np.int64], Floats, Floats]:
        """Panels for each ε, up to the last radius: each as wide as its lower end is from R₀."""
        singular = 0.5 * (self.distance - epsilon)
        first = np.maximum(self.core, singular * (1.0 + _SLIVER))
        gap = np.maximum(first - singular, 0.25 * _SLIVER * singular)
        counts = np.ceil(np.log2(np.maximum((self._last - singular) / gap, 1.0))).astype(np.int64)
        counts = np.maximum(counts, 1)
        place = np.repeat(np.arange(epsilon.size), counts)
        step = np.arange(place.size) - np.repeat(np.cumsum(counts) - counts, counts)
        low = singular[place] + np.ldexp(gap[place], step)
        high = singular[place] + np.ldexp(gap[place], step + 1)
        low = np.where(step == 0, first[place], low)
        high = np.minimum(high, self._last)
        held = low < high
        return place[held], low[held], high[held]

    def _below_panels(self, epsilon: Floats) -> tuple[Floats, Floats]:
        """The part of δ from radii up to R₀, which all are outside, and half of what may come from
        the sliver beyond it, with the other half as its error."""
        singular = 0.5 * (self.distance - epsilon)
        end = singular * (1.0 + _SLIVER)
        scale = math.exp(special.gammaln(self.dimension + 1.0) - self._log_total)
        shape = self.dimension + 1.0
        upto = np.maximum(singular, self.core)
        if self.core < shape:
            largest = special.gammainc(shape, upto)
            share = largest - special.gammainc(shape, self.core)
        else:  # there differences of upper tails have the digits
            largest = np.full(upto.shape, special.gammaincc(shape, self.core))
            share = largest - special.gammaincc(shape, upto)
        value = scale * np.maximum(share, 0.0)
        rounding = _ROUNDING * scale * np.where(upto > self.core, largest, 0.0)
        sliver = np.where(end > self.core, np.exp(self._log_density(end)) * _SLIVER * singular, 0.0)
        return value + 0.5 * sliver, rounding + sliver

    def _log_density(self, radius: Floats) -> Floats:
        density = self.dimension * np.log(radius) - radius - self._log_total
        return np.asarray(density, dtype=np.float64)

    # One panel a row

    def _on_panels(
        self, epsilon: Floats, low: Floats, high: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Of each panel the integral, that of what is subtracted in it, and its error."""
        parts = [
            self._on_few(*(one[start : start + _CHUNK] for one in (epsilon, low, high)))
            for start in range(0, low.size, _CHUNK)
        ]
        first, second, third = (np.concatenate(column) for column in zip(*parts, strict=True))
        return first, second, third

    def _on_few(self, epsilon: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
        d, t = self.dimension, self.distance
        half = 0.5 * (high - low)[:, None]
        radius = 0.5 * (high + low)[:, None] + half * _NODES
        e = epsilon[:, None]
        near = (t - e) / t  # what is left to −1, whose digits count
        own = _share(d, near * (1.0 + 0.5 * (t + e) / radius))
        other = _share(d, near * (1.0 - 0.5 * (t + e) / (radius + e)))
        with np.errstate(divide="ignore"):
            log_other = np.log(other) + d * np.log1p(e / radius)
        is_lost = other < _FAINTEST  # below the range of floats, and then multiplied
        other = np.minimum(np.exp(np.minimum(log_other, 0.0)), own)  # the share is not negative
        weight = half * _WEIGHTS * np.exp(self._log_density(radius))
        value = np.sum(weight * (own - other), axis=1)
        rough = np.sum(weight * (own + other), axis=1)
        lost = np.sum(np.where(is_lost, weight * own, 0.0), axis=1)
        return value, rough, self._error(epsilon, low, high) + lost

    def _error(self, epsilon: Floats, low: Floats, high: Floats) -> Floats:
        """The proven bound on the error of the rule on each panel."""
        d, t = self.dimension, self.distance
        centre, half = 0.5 * (low + high), 0.5 * (high - low)
        singular = 0.5 * (t - epsilon)
        k = 0.5 * (t - epsilon) * (t + epsilon) / t
        best = np.full(low.shape, np.inf)
        for tau in _ELLIPSES:
            left, right = centre - half * math.cosh(tau), centre + half * math.cosh(tau)
            height = half * math.sinh(tau)
            is_free = left > singular + 64.0 * ULP * high
            left = np.where(is_free, left, low)
            own = _largest_share(d, left, right, height, k, -epsilon / t, 1.0)
            moved = left + epsilon, right + epsilon
            other = _largest_share(d, *moved, height, k, -epsilon / t, -1.0)
            log_both = np.logaddexp(np.log(own), np.log(other) + d * np.log1p(epsilon / left))
            log_m = 0.5 * d * np.log(right**2 + height**2) - left - self._log_total
            rule = math.log(64.0 / 15.0) - 2.0 * (_NODES.size - 1) * tau
            rule -= math.log(-math.expm1(-2.0 * tau))
            log_error = np.log(half) + log_both + log_m + rule
            error = np.exp(np.minimum(log_error, 700.0)) * (1.0 + 1e-6)
            best = np.where(is_free, np.minimum(best, error), best)
        return best

    # Composition

    @property
    def listed_above(self) -> TableLoss:
        """A table that dominates the loss."""
        return _table(replace(self, is_attained=True))

    def table(self, pitch: float, low: float, high: float) -> TableLoss:
        """The one table of this loss: its nodes are as close as its bounds deserve."""
        return self.listed_above

    def cumulants(self, theta: float) -> tuple[float, float, float]:
        return self.listed_above.cumulants(theta)

    def share_below_largest(self, theta: float) -> float:
        return 1.0  # the largest loss has no atom

    @property
    def with_divergences(self) -> TableLoss:
        return self.listed_above

    def divergence(self, order: float) -> float:
        """That of the table, which is no less."""
        return self.listed_above.divergence(order)


def _share(dimension: int, above: Floats) -> Floats:
    """F, for a place given by its distance from −1."""
    above = np.clip(above, 0.0, 2.0)
    half = 0.5 * (dimension + 1.0)
    tail = 0.5 * special.betainc(half, 0.5, above * (2.0 - above))
    # near 0 the digits of the place are not in 1 − place²
    c = above - 1.0
    middle = 0.5 + 0.5 * np.sign(c) * special.betainc(0.5, half, c * c)
    far = np.where(c < 0.0, tail, 1.0 - tail)
    return np.asarray(np.where(np.abs(c) * math.sqrt(dimension) < 0.5, middle, far))


def _largest_share(
    dimension: int, left: Floats, right: Floats, height: Floats, k: Floats, at: Floats, sign: float
) -> Floats:
    """A bound on |F(at + sign·k/R)| for R in a rectangle to the right of 0."""
    most = k / left
    least = k * np.minimum(left / (left**2 + height**2), right / (right**2 + height**2))
    ends = (at + least, at + most) if sign > 0.0 else (at - most, at - least)
    sideways = k * height / left**2
    nearest = np.where(ends[0] * ends[1] < 0.0, 0.0, np.minimum(np.abs(ends[0]), np.abs(ends[1])))
    farthest = np.maximum(np.abs(ends[0]), np.abs(ends[1]))
    width = 1.0 - nearest**2 + sideways**2 + 2.0 * farthest * sideways
    log_total = special.betaln(0.5 * (dimension + 1.0), 0.5)
    density = np.exp(0.5 * (dimension - 1.0) * np.log(np.maximum(width, SMALLEST)) - log_total)
    largest = _share(dimension, 1.0 + ends[1]) + sideways * density
    return np.asarray(largest + _FAINTEST, dtype=np.float64)


@lru_cache(maxsize=256)
def log_mass(core: float, dimension: int) -> float:
    """log ∫_c^∞ R^d e^(−R) dR = log Σ d!/(d−k)!·c^(d−k) − c, a sum of positive terms."""
    d = float(dimension)
    k = np.arange(d + 1.0)
    with np.errstate(divide="ignore"):
        power = special.xlogy(d - k, core) if core > 0.0 else np.where(k == d, 0.0, -np.inf)
    return (
        float(special.logsumexp(special.gammaln(d + 1.0) - special.gammaln(d - k + 1.0) + power))
        - core
    )


def _log_beyond(radius: float, dimension: int) -> float:
    """A bound on log ∫_r^∞ R^d e^(−R) dR for r > d: R^d e^(−R) falls at a rate of 1 − d/r."""
    return (dimension + 1.0) * math.log(radius) - radius - math.log(radius - dimension)


@lru_cache(maxsize=256)
def _last_radius(core: float, dimension: int) -> float:
    """A radius beyond which there is a probability of 1e-40."""
    total, radius = log_mass(core, dimension), max(core, dimension) + 2.0
    while _log_beyond(radius, dimension) > total - _FAINT:
        radius += 4.0 + 0.05 * radius
    return radius


@lru_cache(maxsize=32)
def _table(loss: FlatSphereLoss) -> TableLoss:
    epsilon = np.linspace(0.0, loss.distance, _TABLE + 1)
    bound = np.append(np.asarray(loss.profile(epsilon[:-1])), 0.0)
    return table_above(epsilon, bound, _SAFE)


def flat_sphere_loss(
    scale: float, core: float, dimension: int, squared: Fraction
) -> FlatSphereLoss:
    """The loss of the law of this `scale` and `core` for a shift whose squared length is
    `squared`."""
    ratio = squared / Fraction(scale) ** 2
    distance = math.sqrt(ratio) if 1e-12 < ratio < 1e6 else math.inf * bool(ratio)
    if not 1e-6 < distance < 1e3:
        raise AccountingError(
            "A flat sphere is judged for changes from 1e-6 to 1,000 times its scale, not "
            f"{distance:.3g} times."
        )
    return FlatSphereLoss(core, dimension, distance * (1.0 + 8.0 * ULP))
