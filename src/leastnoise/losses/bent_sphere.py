"""The privacy loss of the law e^(−(‖z‖₂/b)^a), 1 ≤ a ≤ 2, between proven bounds.

With b = 1, r = ‖z‖ and ρ = ‖z − v‖, ‖v‖ = t, the loss is L = ρ^a − r^a, and ρ² = r² + t² − 2rtc, c
the cosine of the angle between z and v. r^a has the law Gamma(d/a), c is independent of it and has
the density ∝ (1 − c²)^((d−3)/2). For a given r, L > ℓ says that c is below

    c_ℓ(r) = t/(2r) − (r/2t)·((1 + ℓ/r^a)^(2/a) − 1),

so G(ℓ) = P(L > ℓ) = E[F(c_ℓ(r))], F the distribution function of c: one integral. The mirror image
that swaps the two centres gives Q(L > ε) = P(L < −ε), hence δ(ε) = G(ε) − e^ε·(1 − G(−ε)).

**Cells.** On a cell of r between two edges, a distance h apart, g(r) = F(c_ℓ(r)) is within
h²/8·max|g''| of its chord, and the mean of the chord needs only the mass and the mean of r on the
cell, two differences of incomplete gamma functions. g'' = p'(c)·c'² + p(c)·c'' is bounded on the
cell with the formulas of docs/mathematics.md#between-the-sphere-and-normal-noise; where that says
little (c reaches ±1, where p is not smooth) g itself is held between F at the ends of the range of
c. Cells that leave more than a small part of the whole open are cut into four, and what is open in
the end is charged: upper bounds count it, lower bounds leave it out.

**Table.** δ is convex in x = e^ε, so the largest convex function below upper bounds at some points
is still above δ everywhere between them (δ is convex and below the bounds). It is the profile of
finitely many losses, that dominate this one: at x_j its slope rises by the Q-mass of ln x_j. Beyond
the last point δ falls, and what it is there counts as infinite loss. Losses below 0 are the mirror
image.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from leastnoise.errors import AccountingError
from leastnoise.lattice.shells import Floats
from leastnoise.losses.base import ClosedForm
from leastnoise.losses.rounding import SMALLEST, ULP
from leastnoise.losses.table import TableLoss, table_above

_CELLS = 1500  # of the usual radii, before any is cut
_RARE_CELLS = 150  # of the rest on either side
_UNUSUAL = 1e-10  # probability of it
_FAINT = 1e-40  # radii beyond the cells have this probability on either side
_OPEN = 3e-9  # of G: a cell that leaves more open is cut
_OPEN_IN_TABLE = 3e-8  # the same for a table, of hundreds of G
_CUTS = 12  # times a cell is cut into four, at most
_ROUNDING = 1e-12  # relative error of the incomplete functions, by whose own tests it is less
_NODES = 300  # of a table, above 0
_RARE = 1e-24  # probability beyond the last loss of a table
_SAFE = 1e-9  # relative allowance for the masses of a table, second differences of its profile
_FARTHEST = 300.0  # the largest loss of a table: its exponential is squared


@dataclass(frozen=True, eq=False)
class _Cells:
    """Cells of the radius, in units of b: their ends, mass, and the share of the mass that the mean
    of a chord puts on the upper end."""

    lower: Floats
    upper: Floats
    mass: Floats
    at_upper: Floats
    error: Floats  # of the mass, absolute
    upper_error: Floats  # of its share at the upper end, absolute

    @staticmethod
    def between(edges: Floats, exponent: float, shape: float) -> _Cells:
        return _Cells.of(edges[:-1], edges[1:], exponent, shape)

    @staticmethod
    def of(lower: Floats, upper: Floats, exponent: float, shape: float) -> _Cells:
        low, high = lower**exponent, upper**exponent
        mass, size = _gamma_between(shape, low, high)
        moment, _ = _gamma_between(shape + 1.0 / exponent, low, high)
        mean_radius = math.exp(special.gammaln(shape + 1.0 / exponent) - special.gammaln(shape))
        width = upper - lower
        at_upper = np.clip((mean_radius * moment - lower * mass) / width, 0.0, mass)
        # high stands for r^a, whose error of some units in the last place is one of the mass
        error = _ROUNDING * (1.0 + 0.02 * (shape + high)) * size + SMALLEST
        # The moment's rounding is at most 5·upper/size times that of the mass: where both are upper
        # tails E[r | r > lower] ≤ 2·lower, the density being log-concave and lower^a ≥ d/a; where
        # only the mass is, E[r] ≤ lower and its tail is above 1/5.
        upper_error = 8.0 * error * (1.0 + upper / width)
        # On a small cell the density is nearly constant: |(ln f)'| ≤ (d−1)/r + a·r^(a−1), and with
        # s that much over the cell the share of the upper end is within (e^s − 1)/2 of a half.
        change = width * ((shape * exponent - 1.0) / lower + exponent * high / upper)
        even = 0.5 * np.expm1(np.minimum(change, 1.0)) * (mass + error) + error
        is_even = (change < 1.0) & (even < upper_error)
        at_upper = np.where(is_even, 0.5 * mass, at_upper)
        return _Cells(lower, upper, mass, at_upper, error, np.where(is_even, even, upper_error))

    def cut(self, chosen: NDArray[np.bool_], exponent: float, shape: float) -> _Cells:
        """Each of these cells in four."""
        lower, width = self.lower[chosen], (self.upper - self.lower)[chosen]
        ends = lower[:, None] + 0.25 * width[:, None] * np.arange(5.0)
        ends[:, -1] = self.upper[chosen]
        return _Cells.of(ends[:, :-1].ravel(), ends[:, 1:].ravel(), exponent, shape)


def _gamma_between(shape: float, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The probability of a Gamma variable between two numbers, and what its rounding is relative
    to: below the middle a difference of lower tails, above it one of upper tails."""
    is_low = low < shape
    below = special.gammainc(shape, high)
    above = special.gammaincc(shape, low)
    mass = np.where(
        is_low, below - special.gammainc(shape, low), above - special.gammaincc(shape, high)
    )
    return np.maximum(mass, 0.0), np.where(is_low, below, above)


@dataclass(frozen=True)
class BentSphereLoss(ClosedForm):
    """The loss of one release at the distance t, in units of b.

    Attributes:
        exponent: a, in [1, 2].
        dimension: How many answers, at least 2.
        distance: t.
    """

    exponent: float
    dimension: int
    distance: float

    largest = math.inf

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
        values = [self.delta(float(one), upper=upper) for one in epsilon.ravel()]
        return np.array(values, dtype=np.float64).reshape(epsilon.shape)

    def delta(self, epsilon: float, *, upper: bool, left_open: float = _OPEN) -> float:
        """δ(ε): above what it is, or below."""
        aside = (4.0 if upper else -4.0) * ULP
        if epsilon < 0.0:  # the pair is symmetric: δ(−ε) = 1 − e^(−ε) + e^(−ε) δ(ε)
            value = -math.expm1(epsilon) + math.exp(epsilon) * self.delta(-epsilon, upper=upper)
            return min(value * (1.0 + aside), 1.0)
        above = self.mass_beyond(epsilon, upper=upper, left_open=left_open)
        other = self.mass_beyond(epsilon, upper=not upper, mirrored=True, left_open=left_open)
        if epsilon > 700.0:
            return above if upper else 0.0
        # each product is rounded, and the difference, which may be small, by as much
        slack = 8.0 * ULP * above + SMALLEST
        value = above - math.exp(epsilon) * other * (1.0 - aside)
        value = value + slack if upper else value - slack
        return min(max(value, 0.0), above)

    def mass_beyond(
        self, level: float, *, upper: bool, mirrored: bool = False, left_open: float = _OPEN
    ) -> float:
        """P(L > level), or P(L < −level) where `mirrored`: above what it is, or below."""
        cells, done, shape = self._cells, 0.0, self._shape
        # a power d/2 of 1 − c² is in the incomplete beta function, and its rounding as often
        rounding = _ROUNDING * (1.0 + 1e-3 * self.dimension)
        for left in range(_CUTS, -1, -1):
            value, gap = _on_cells(self, cells, level, upper=upper, mirrored=mirrored)
            is_cut = gap > left_open * (done + float(np.sum(value)))
            if left == 0 or not np.any(is_cut):
                is_cut = np.zeros(value.shape, dtype=np.bool_)
            held = value + gap if upper else np.maximum(value * (1.0 - rounding) - gap, 0.0)
            done += float(np.sum(held[~is_cut]))
            if not np.any(is_cut):
                break
            cells = cells.cut(is_cut, self.exponent, shape)
        if not upper:
            return max(done * (1.0 - _ROUNDING), 0.0)
        return min(done * (1.0 + rounding) + 2.0 * _FAINT * (1.0 + 1e-6), 1.0)

    @property
    def _shape(self) -> float:
        """r^a has the law Gamma(d/a)."""
        return self.dimension / self.exponent

    @cached_property
    def _cells(self) -> _Cells:
        return _first_cells(self.exponent, self.dimension)

    # Composition

    @cached_property
    def listed_above(self) -> TableLoss:
        """A table that dominates the loss."""
        return _table(replace(self, is_attained=True))

    def table(self, pitch: float, low: float, high: float) -> TableLoss:
        """The one table of this loss: its nodes are as close as its bounds deserve."""
        return self.listed_above

    def reach(self, theta: float) -> tuple[float, float]:
        return self.listed_above.reach(theta)

    def cumulants(self, theta: float) -> tuple[float, float, float]:
        return self.listed_above.cumulants(theta)

    def share_below_largest(self, theta: float) -> float:
        return 1.0  # the law of the loss has no atoms

    @property
    def with_divergences(self) -> TableLoss:
        return self.listed_above

    def divergence(self, order: float) -> float:
        """Not known: the table counts the highest losses as infinite."""
        return math.inf


@lru_cache(maxsize=64)
def _first_cells(exponent: float, dimension: int) -> _Cells:
    shape = dimension / exponent
    first, low = special.gammaincinv(shape, [_FAINT, _UNUSUAL]) ** (1.0 / exponent)
    last, high = special.gammainccinv(shape, [_FAINT, _UNUSUAL]) ** (1.0 / exponent)
    beyond = special.gammainc(shape, first**exponent), special.gammaincc(shape, last**exponent)
    if not (0.0 < first < low < high < last < math.inf and max(beyond) < 1.000001 * _FAINT):
        raise AccountingError(
            f"The radii of noise for {dimension} answers of exponent {exponent:.6g} are not found."
        )
    edges = np.concatenate(
        [
            np.linspace(first, low, _RARE_CELLS, endpoint=False),
            np.linspace(low, high, _CELLS, endpoint=False),
            np.linspace(high, last, _RARE_CELLS + 1),
        ]
    )
    return _Cells.between(edges, exponent, shape)


def _on_cells(
    loss: BentSphereLoss, cells: _Cells, level: float, *, upper: bool, mirrored: bool
) -> tuple[Floats, Floats]:
    """The part of P(L > level) on each cell by its chord, and how far from that it may be; of
    P(L < −level) where `mirrored`."""
    a, t, low, high = loss.exponent, loss.distance, cells.lower, cells.upper
    signed = -level if mirrored else level
    none, all_of_it = _decided(a, t, high, signed)
    if mirrored:
        none, all_of_it = all_of_it, none
    value, gap = np.where(all_of_it, cells.mass, 0.0), np.where(all_of_it, cells.error, 0.0)
    open_ones = np.flatnonzero(~none & ~all_of_it)
    if open_ones.size:
        low, high = low[open_ones], high[open_ones]
        mass, error = cells.mass[open_ones], cells.error[open_ones]
        curve = _Curve.of(loss, low, high, signed)
        towards = 1.0 if upper is not mirrored else -1.0  # of c, against its rounding
        at_low = _share(loss.dimension, curve.low + towards * curve.rounding, mirrored)
        at_high = _share(loss.dimension, curve.high + towards * curve.rounding, mirrored)
        on_high = cells.at_upper[open_ones]
        value[open_ones] = (mass - on_high) * at_low + on_high * at_high
        off = curve.off_chord(loss.dimension, at_low, at_high, mirrored)
        rounding = error * np.maximum(at_low, at_high)
        rounding += cells.upper_error[open_ones] * np.abs(at_high - at_low)
        gap[open_ones] = (mass + error) * off + rounding
    return value, gap


def _decided(
    a: float, t: float, radius: Floats, level: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether no loss of the radii up to this is above the level, and whether all are.

    The largest, (r + t)^a − r^a, does not fall with r, and the least, |r − t|^a − r^a, does not
    rise.
    """
    power = radius**a
    most = power * np.expm1(a * np.log1p(t / radius))
    least = np.abs(radius - t) ** a - power
    aside = 64.0 * ULP * (1.0 + np.abs(np.log(radius))) * (power + t**a)
    return most + aside < level, least - aside > level


def _share(dimension: int, c: Floats, mirrored: bool) -> Floats:
    """P(cosine < c), or P(cosine > c) where `mirrored`, of a direction in R^d."""
    c = np.clip(-c if mirrored else c, -1.0, 1.0)
    half = 0.5 * (dimension - 1.0)
    tail = 0.5 * special.betainc(half, 0.5, (1.0 - c) * (1.0 + c))
    # near 0 the digits of c are not in 1 − c²
    middle = 0.5 + 0.5 * np.sign(c) * special.betainc(0.5, half, c * c)
    far = np.where(c < 0.0, tail, 1.0 - tail)
    return np.asarray(np.where(np.abs(c) * math.sqrt(dimension) < 0.5, middle, far))


@dataclass(frozen=True, eq=False)
class _Curve:
    """c_ℓ on cells: at their ends, and bounds on its first two derivatives between them; infinite
    where c_ℓ is not defined on the whole cell."""

    low: Floats
    high: Floats
    rounding: Floats
    slope: Floats
    bend: Floats
    width: Floats

    @staticmethod
    def of(loss: BentSphereLoss, low: Floats, high: Floats, level: float) -> _Curve:
        a, t = loss.exponent, loss.distance
        kappa = 2.0 / a - 1.0
        q_low, q_high = level / low**a, level / high**a
        least, most = np.minimum(q_low, q_high), np.maximum(np.abs(q_low), np.abs(q_high))
        is_whole = least > -1.0 + 1e-9
        width = high - low
        # 1e-12: more than the rounding of q where it is below 1, and of the line
        factor = np.maximum(1.0 - 1e-12 + np.where(is_whole, least, 0.0), 1e-10) ** (kappa - 1.0)
        line = np.maximum(
            np.abs(1.0 - kappa + (1.0 + kappa) * q_low),
            np.abs(1.0 - kappa + (1.0 + kappa) * q_high),
        ) + 1e-12 * (1.0 + most)
        bend = t / low**3 + 0.5 * a / t * most * factor * line / low
        slope = np.maximum(_slope(low, q_low, t, kappa), _slope(high, q_high, t, kappa))
        slope = (slope + 0.5 * width * bend) * (1.0 + 1e-9)
        bend = np.where(is_whole, bend * (1.0 + 1e-9), np.inf)
        c_low, size_low = _cosine(low, q_low, t, a)
        c_high, size_high = _cosine(high, q_high, t, a)
        rounding = 64.0 * ULP * (1.0 + np.abs(np.log(high)) + np.abs(np.log(low)))
        rounding = rounding * np.maximum(size_low, size_high)
        return _Curve(c_low, c_high, rounding, np.where(is_whole, slope, np.inf), bend, width)

    def off_chord(self, dimension: int, at_low: Floats, at_high: Floats, mirrored: bool) -> Floats:
        """How far F(c_ℓ) may be from its chord on each cell."""
        least = np.minimum(self.low, self.high) - self.rounding
        most = np.maximum(self.low, self.high) + self.rounding
        with np.errstate(invalid="ignore"):
            aside = 0.5 * self.slope * self.width
        least, most = least - aside, most + aside
        # where c is all the time beyond ±1 there is nothing to bend
        off = np.where((most < -1.0) | (least > 1.0), 0.0, np.inf)
        is_smooth = (least > -1.0) & (most < 1.0)
        if np.any(is_smooth):
            density, steepness = _density_bounds(dimension, least[is_smooth], most[is_smooth])
            bent = steepness * self.slope[is_smooth] ** 2 + density * self.bend[is_smooth]
            off[is_smooth] = 0.125 * self.width[is_smooth] ** 2 * bent
        # always: between the least and the largest value
        is_rough = off > 0.5 * np.abs(at_high - at_low)
        if np.any(is_rough):
            ends = least[is_rough], most[is_rough]
            f = [_share(dimension, end, mirrored) for end in ends]
            lowest = np.minimum(at_low, at_high)[is_rough]
            highest = np.maximum(at_low, at_high)[is_rough]
            held = np.maximum(np.maximum(*f) - lowest, highest - np.minimum(*f))
            off[is_rough] = np.minimum(off[is_rough], held)
        return off


def _slope(r: Floats, q: Floats, t: float, kappa: float) -> Floats:
    """|c_ℓ'|, above its rounding."""
    power = np.maximum(1.0 + q, 0.0) ** kappa
    slope = (1.0 - power * (1.0 - q)) / (2.0 * t) - t / (2.0 * r**2)
    size = (1.0 + power * (1.0 + np.abs(q))) / (2.0 * t) + t / (2.0 * r**2)
    rounding = 64.0 * ULP * (1.0 + np.abs(np.log(r))) * size
    return np.asarray(np.abs(slope) + rounding, dtype=np.float64)


def _cosine(r: Floats, q: Floats, t: float, a: float) -> tuple[Floats, Floats]:
    """c_ℓ(r), and the size of its terms; above 1 where every loss of this radius exceeds ℓ."""
    with np.errstate(divide="ignore"):
        rise = np.expm1(2.0 / a * np.log1p(np.maximum(q, -1.0)))
    near, far = t / (2.0 * r), r / (2.0 * t) * rise
    return np.where(q > -1.0, near - far, 2.0), near + np.abs(far)


def _density_bounds(dimension: int, least: Floats, most: Floats) -> tuple[Floats, Floats]:
    """The largest density of the cosine on each interval within (−1, 1), and of |its slope|."""
    d = float(dimension)
    far = np.maximum(np.abs(least), np.abs(most))
    near = np.where((least < 0.0) & (most > 0.0), 0.0, np.minimum(np.abs(least), np.abs(most)))

    def largest(power: float) -> Floats:
        place = near if power >= 0.0 else far
        return np.asarray(((1.0 - place) * (1.0 + place)) ** power, dtype=np.float64)

    total = math.exp(special.betaln(0.5 * (d - 1.0), 0.5)) * (1.0 - 1e-9)
    density = largest(0.5 * (d - 3.0)) / total
    return density, abs(d - 3.0) * far * largest(0.5 * (d - 5.0)) / total


@lru_cache(maxsize=16)
def _table(loss: BentSphereLoss) -> TableLoss:
    top = _last_node(loss)
    epsilon = np.linspace(0.0, top, _NODES + 1)
    found = [loss.delta(float(one), upper=True, left_open=_OPEN_IN_TABLE) for one in epsilon]
    return table_above(epsilon, np.array(found), _SAFE)


def _last_node(loss: BentSphereLoss) -> float:
    """A loss beyond which there is hardly any probability."""
    high = loss.distance**loss.exponent + loss.distance
    while loss.mass_beyond(high, upper=True, left_open=1e-3) > _RARE:
        high *= 2.0
        if high > _FARTHEST:
            raise AccountingError(
                f"Noise of this kind is composed for losses up to {_FARTHEST:g}; these are larger."
            )
    low = 0.5 * high
    for _ in range(6):
        middle = 0.5 * (low + high)
        if loss.mass_beyond(middle, upper=True, left_open=1e-3) > _RARE:
            low = middle
        else:
            high = middle
    return float(high)


def bent_sphere_loss(
    scale: float, exponent: float, dimension: int, squared: Fraction
) -> BentSphereLoss:
    """The loss of the law of this `scale` for a shift whose squared length is `squared`."""
    ratio = squared / Fraction(scale) ** 2
    distance = math.sqrt(ratio) if 1e-12 < ratio < 1e8 else math.inf * bool(ratio)
    if not 1e-6 < distance < 1e4:
        raise AccountingError(
            "A bent sphere is judged for changes from 1e-6 to 10,000 times its scale, not "
            f"{distance:.3g} times."
        )
    return BentSphereLoss(exponent, dimension, distance * (1.0 + 8.0 * ULP))
