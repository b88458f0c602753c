"""The privacy loss of the cut cube law e^(−N(z)/b), N(z) = max(‖z‖_∞, ‖z‖₂/√C).

Level sets are multiples of K = {|w_i| ≤ 1, Σw_i² ≤ C}, so z = bρw with w uniform on K and ρ of the
law Gamma(d + 1). The worst change is the corner (s, …, s) of the box. With λ = s/b, by layers

    δ(ε) = E_ρ[Pr_K[ρw − λ1 ∉ (ρ + ε)K]],

and the point leaves (ρ + ε)K through the ball, J(ρ) = Pr_K[S₁ > α + β(C − S₂)] with
α = (Cε − (dλ² − Cε²)/(2ρ))/λ and β = ρ/(2λ), or through the cube, which happens for ε < λ only.
`cube_sums` encloses J. *The mean over ρ*: the volume of ρK ∩ (λ1 + (ρ + ε)K) to the power 1/d is
concave in ρ where it is not 0 (Brunn–Minkowski), so e(ρ) = ρ(1 − (1 − J(ρ))^(1/d)) is convex from
the first ρ with J < 1 on: between two radii it is
below its chord, which bounds δ from above, and over a cell its mean is above its value at the mean
(Jensen), which bounds δ from below; both to second order in the width of a cell. *The cube part*:
given S₂ ≤ C the |w_i| are smaller than without (Harris), so it is at most 1 − ((1 + c)/2)^d,
c = 1 − (λ − ε)/ρ. Proofs: docs/mathematics.md#the-cut-cube.

Composed with other releases the law stands for the pair whose δ is the chord of these upper bounds
between neighbouring ε, and lower bounds are then 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from leastnoise.errors import AccountingError
from leastnoise.lattice.shells import Floats
from leastnoise.losses.base import ClosedForm
from leastnoise.losses.cube_sums import AboveCone, ConeSums, ball_share, best_tilt
from leastnoise.losses.divergence import DIVERGENCE_ROUNDING
from leastnoise.losses.rounding import LOSS_ROUNDING, ULP
from leastnoise.losses.table import TableLoss, convex_below

_CELLS = 192  # of radii, equal in their logarithm: chord and mean differ by 1e-4 of δ
_LEFT_OUT = 1e-9  # of δ: what smaller radii than those of the cells may add
_POINTS = 256  # of the table, on either side of λ
_ROUNDING = 1e-9  # relative, of a profile: ten times what exponents up to 1,000 can lose
_X, _W = np.polynomial.legendre.leggauss(16)
_USUAL = 0.95  # of d: the radius that most of δ(λ) comes from, 0.88 to 0.99 for σ from 1 to 500
_DEVIATIONS = 7.0  # of log ρ, on either side, that a rough sum reaches
_ROUGH_X, _ROUGH_W = np.polynomial.legendre.leggauss(40)


@dataclass(frozen=True)
class CutCubeLoss(ClosedForm):
    """The loss of one release at the corner: λ = s/b is `ratio`, C is `square`."""

    ratio: float
    square: float
    dimension: int

    @property
    def raised(self) -> float:
        """All of it: composed, it stands for a pair that is not attained."""
        return 1.0

    @property
    def kink(self) -> float:
        """λ: below, the cube part alone is about (λ − ε)/2."""
        return self.ratio

    @property
    def largest(self) -> float:
        """The largest N(v)/b of a change v: λ·max(1, √(d/C))."""
        return self.ratio * max(1.0, math.sqrt(self.dimension / self.square)) * (1.0 + 4.0 * ULP)

    def profile(self, epsilon: ArrayLike) -> Floats:
        return self._each(epsilon, upper=True)

    def _attained_profile(self, epsilon: ArrayLike) -> Floats:
        return self._each(epsilon, upper=False)

    def _each(self, epsilon: ArrayLike, *, upper: bool) -> Floats:
        epsilon = np.asarray(epsilon, dtype=np.float64)
        moved = epsilon + (-1.0 if upper else 3.0) * LOSS_ROUNDING * (1.0 + self.largest)
        values = np.array([self._delta(float(e), upper) for e in moved.ravel()], dtype=np.float64)
        return values.reshape(epsilon.shape)

    def _delta(self, epsilon: float, upper: bool) -> float:
        if epsilon >= self.largest:
            return 0.0
        if epsilon < 0.0:  # the pair is symmetric: δ(−ε) = 1 − e^(−ε) + e^(−ε) δ(ε)
            value = -math.expm1(epsilon) + math.exp(epsilon) * self._delta(-epsilon, upper)
            return value * (1.0 + (4.0 if upper else -4.0) * ULP)
        if not upper:  # δ falls with ε, so below λ that of λ serves too
            ball = self._ball_lower(epsilon) if epsilon > self.ratio else self._ball_lower_at_kink
            return max(ball, self._one_face(self.ratio - epsilon))
        if epsilon < 0.5 * self.ratio:
            return self._chord(epsilon, 0.5 * self.ratio)
        # where the bounds end, near the largest loss, δ is at most that of a smaller ε
        place = round(epsilon / self._stretch)
        while (radii := _radii(self, place)) is None and place > 5:
            place -= 1
            epsilon = min(epsilon, self._stretch * (place + 0.5))
        return 1.0 if radii is None else min(radii.upper(epsilon), 1.0)

    def _ball_lower(self, epsilon: float) -> float:
        radii = _radii(self, round(epsilon / self._stretch))
        return 0.0 if radii is None else radii.lower(epsilon)

    @cached_property
    def _ball_lower_at_kink(self) -> float:
        return self._ball_lower(self.ratio)

    def _one_face(self, room: float) -> float:
        """Below the probability that the point leaves the cube through one face, λ − ε being
        `room`: w_1 < −1 + room/ρ has at least the probability ½·(room/ρ)·f, f = Pr[d − 1 squares
        ≤ C − 1]/P, and E[1/ρ; ρ ≥ room] = Q(d, room)/d."""
        if room <= 0.0:
            return 0.0
        share = self._face_share * float(special.gammaincc(float(self.dimension), room))
        return 0.5 * room / self.dimension * share * (1.0 - _ROUNDING)

    @cached_property
    def _face_share(self) -> float:
        inner = ball_share(self.dimension - 1, self.square - 1.0)[0] if self.square > 1.0 else 0.0
        return inner / ball_share(self.dimension, self.square)[1]

    @property
    def _stretch(self) -> float:
        """How far apart the places are that a tilt is made for."""
        return 0.1 * self.ratio

    def _chord(self, epsilon: float, end: float) -> float:
        """Above δ(ε) for |ε| < end: δ is convex in e^ε, and known at both ends."""
        above = self._delta(end, True)
        low, high = math.exp(-end), math.exp(end)
        part = (math.exp(epsilon) - low) / (high - low)
        value = (1.0 - part) * (1.0 - low * (1.0 - above)) + part * above
        return min(value * (1.0 + _ROUNDING), 1.0)

    # What compositions ask for

    def table(self, pitch: float, low: float, high: float) -> TableLoss:
        return self._table

    @cached_property
    def _table(self) -> TableLoss:
        """δ at the points of a grid, and in e^ε the straight lines between them.

        δ is convex in t = e^ε, so it is below the chord of any two of its upper bounds, and hence
        below the greatest convex function under all of them, whose kinks are the losses: q, the
        probability of one under Q, is the rise of the slope. For ε < 0 the pair is symmetric.
        """
        grid = [np.linspace(0.0, self.ratio, _POINTS)[:-1]] if self.ratio < self.largest else []
        start = self.ratio if grid else 0.0
        epsilon = np.concatenate([*grid, np.linspace(start, self.largest, _POINTS)])
        delta = self.profile(epsilon[:-1]) * (1.0 + _ROUNDING)
        positive = np.minimum(np.append(delta, 0.0), 1.0)
        mirrored = -np.expm1(-epsilon[:0:-1]) + np.exp(-epsilon[:0:-1]) * positive[:0:-1]
        loss = np.concatenate([-epsilon[:0:-1], epsilon])
        t = np.exp(loss)
        held, slopes = convex_below(t, np.concatenate([mirrored, positive]))
        q = np.diff(np.concatenate([[-1.0], slopes, [0.0]]))
        keep = q > 0.0
        log_p = np.log(q[keep]) + loss[held][keep]
        return TableLoss(loss[held][keep], log_p, raised=1.0, mass_error=_ROUNDING)

    def share_below_largest(self, theta: float) -> float:
        return self._table.share_below_largest(theta)

    def cumulants(self, theta: float) -> tuple[float, float, float]:
        return self._table.cumulants(theta)

    def divergence(self, order: float) -> float:
        if math.isinf(order):
            return self.largest * (1.0 + DIVERGENCE_ROUNDING)
        return min(self._table.divergence(order), self.largest * (1.0 + DIVERGENCE_ROUNDING))


@dataclass(frozen=True, eq=False)
class Radii:
    """Cells of ρ, with all of J that does not depend on ε."""

    loss: CutCubeLoss
    edges: Floats
    cone: AboveCone

    @staticmethod
    def near(loss: CutCubeLoss, epsilon: float) -> Radii:
        """Cells and tilt for places near ε."""
        d = loss.dimension
        middle, log_delta = _heaviest(loss, epsilon)
        share = math.exp(max(log_delta, -600.0)) * _LEFT_OUT
        first = float(special.gammaincinv(d + 1.0, min(share, 1e-3)))
        last = max(float(special.gammainccinv(d + 1.0, 1e-12)), 1.5 * middle)
        edges = np.geomspace(first, last, _CELLS + 1)
        least = _one_place(loss, first, epsilon)[1]
        cone = AboveCone.near(d, loss.square, *_one_place(loss, middle, epsilon), least)
        return Radii(loss, edges, cone)

    @cached_property
    def _nodes(self) -> tuple[Floats, Floats]:
        """Nodes in each cell, and weights times the density of Gamma(d + 1): the density is entire
        and changes by e^4 on an ellipse ten times as wide as a cell, so the error is e^−80."""
        low, high = self.edges[:-1, None], self.edges[1:, None]
        rho = 0.5 * (low + high) + 0.5 * (high - low) * _X
        return rho, 0.5 * (high - low) * _W * np.exp(_log_gamma(self.loss.dimension, rho))

    @cached_property
    def _masses(self) -> tuple[Floats, Floats]:
        """What the left and the right end of a cell weigh: shares that are linear in 1/ρ."""
        rho, weight = self._nodes
        low, high = self.edges[:-1, None], self.edges[1:, None]
        left = (1.0 / rho - 1.0 / high) / (1.0 / low - 1.0 / high)
        return np.sum(weight * left, axis=1), np.sum(weight * (1.0 - left), axis=1)

    @cached_property
    def _means(self) -> tuple[Floats, Floats]:
        """Mass and mean of ρ in each cell under Gamma(d)."""
        rho, weight = self._nodes
        mass = self.loss.dimension * np.sum(weight / rho, axis=1)
        return mass, self.loss.dimension * np.sum(weight, axis=1) / mass

    @cached_property
    def _share(self) -> tuple[float, float]:
        low, high = ball_share(self.loss.dimension, self.loss.square)
        if not low > 0.0:
            raise AccountingError("The cut cube law is not judged where its ball is so small.")
        return low, high

    @cached_property
    def _at_edges(self) -> ConeSums:
        return self.cone.at(_place(self.loss, self.edges, 0.0)[1])

    @cached_property
    def _at_means(self) -> ConeSums:
        return self.cone.at(_place(self.loss, self._means[1], 0.0)[1])

    def _above(self, epsilon: float) -> Floats:
        """Above J at the edges; J falls with ρ."""
        alpha, _ = _place(self.loss, self.edges, epsilon)
        j = np.nan_to_num(self._at_edges.upper(alpha) / self._share[0], nan=1.0)
        return np.minimum.accumulate(np.clip(j, 0.0, 1.0))

    def upper(self, epsilon: float) -> float:
        """Above δ(ε)."""
        d, lam = self.loss.dimension, self.loss.ratio
        j = self._above(epsilon)
        x, part = _root(j, d)
        left, right = self._masses
        # where everything may leave, e need not be convex: such a cell counts as a whole
        chords = d * part[1:] * (x[:-1] * left + x[1:] * right)
        cells = np.where(j[:-1] < 1.0, chords, left + right)
        beyond = j[-1]
        if epsilon < lam:
            part_out = (lam - epsilon) / (2.0 * self.edges)  # (1 − c)/2
            inner = np.minimum(part_out, 0.5)
            cube = np.where(part_out < 0.5, -np.expm1(d * np.log1p(-inner)), 1.0)
            cells = np.minimum(cells + cube[:-1] * (left + right), left + right)
            beyond += cube[-1]
        value = float(np.sum(cells)) + float(special.gammainc(d + 1.0, self.edges[0]))
        value += min(float(beyond), 1.0) * float(special.gammaincc(d + 1.0, self.edges[-1]))
        return value * (1.0 + _ROUNDING) + 1e-300

    def lower(self, epsilon: float) -> float:
        """Below δ(ε): the ball part alone. Where everything may leave, e need not be convex, and J
        is at least what it is in the next cell."""
        above = self._above(epsilon)
        _, part = _root(above, self.loss.dimension)
        mass, mean = self._means
        alpha, _ = _place(self.loss, mean, epsilon)
        j = np.clip(self._at_means.lower(alpha) / self._share[1], 0.0, 1.0)
        x, _ = _root(j, self.loss.dimension)
        later = sum(self._masses) * np.append(j[1:], 0.0)
        cells = np.where(above[:-1] < 1.0, part[:-1] * mass * mean * x, later)
        return float(np.sum(cells)) * (1.0 - _ROUNDING)


def _heaviest(loss: CutCubeLoss, epsilon: float) -> tuple[float, float]:
    """About the radius that most of δ(ε) comes from, and log δ."""
    d = loss.dimension

    def level(rho: float) -> float:
        height = best_tilt(d, loss.square, *_one_place(loss, rho, epsilon))[0]
        return -float(_log_gamma(d, np.asarray(rho))) - height

    options = {"xatol": 0.02 * d}
    ends = 0.1 * d, 2.0 * d
    found = optimize.minimize_scalar(level, bounds=ends, method="bounded", options=options)
    return float(found.x), -float(found.fun)


def _root(j: Floats, dimension: int) -> tuple[Floats, Floats]:
    """x = 1 − (1 − J)^(1/d), and J/(dx), which falls with x."""
    with np.errstate(divide="ignore"):
        x = -np.expm1(np.log1p(-j) / dimension)
    return x, np.where(x > 0.0, j / (dimension * np.maximum(x, 1e-300)), 1.0)


def _place(loss: CutCubeLoss, rho: Floats, epsilon: float) -> tuple[Floats, Floats]:
    """α and β at these radii."""
    lam, square = loss.ratio, loss.square
    room = loss.dimension * lam**2 - square * epsilon**2
    return (square * epsilon - room / (2.0 * rho)) / lam, rho / (2.0 * lam)


def _one_place(loss: CutCubeLoss, rho: float, epsilon: float) -> tuple[float, float]:
    alpha, beta = _place(loss, np.array([rho]), epsilon)
    return float(alpha[0]), float(beta[0])


def _log_gamma(dimension: int, rho: Floats) -> Floats:
    """log of the density of Gamma(d + 1)."""
    log_density = dimension * np.log(rho) - rho - math.lgamma(dimension + 1.0)
    return np.asarray(log_density, dtype=np.float64)


@lru_cache(maxsize=64)
def _radii(loss: CutCubeLoss, place: int) -> Radii | None:
    """The cells for a stretch of ε; None where the bounds say nothing."""
    middle = loss._stretch * place
    try:
        found = Radii.near(loss, middle)
        return found if math.isfinite(found.upper(middle)) else None
    except AccountingError:
        return None


def rough_ball_part(loss: CutCubeLoss) -> float:
    """About δ(λ), to 1e-5 and in a tenth of the time, by one Gauss rule over the logarithms of the
    radii that count: for searches."""
    d, lam = loss.dimension, loss.ratio
    middle = _USUAL * d
    width = _DEVIATIONS / math.sqrt(d)
    rho = middle * np.exp(width * _ROUGH_X)
    alpha, beta = _place(loss, rho, lam)
    place = _one_place(loss, middle, lam)
    cone = AboveCone.near(d, loss.square, *place, float(beta[0]), is_rough=True)
    j = cone.at(beta).upper(alpha) / ball_share(d, loss.square)[1]
    weight = width * _ROUGH_W * rho * np.exp(_log_gamma(d, rho))
    return float(np.sum(weight * np.clip(j, 0.0, 1.0)))


def cut_cube_loss(scale: float, square: float, dimension: int, shift: Fraction) -> CutCubeLoss:
    """The loss of the law of this `scale` and C for changes of at most `shift` in each answer."""
    ratio = shift / Fraction(scale)
    if not 1e-3 < ratio < 50:
        raise AccountingError(
            "The cut cube law is judged for sensitivities from 0.001 to 50 times its scale, not "
            f"{float(ratio):.3g} times."
        )
    return CutCubeLoss(float(ratio) * (1.0 + 8.0 * ULP), square, dimension)
