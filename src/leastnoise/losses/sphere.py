"""The privacy loss of the ball-shaped law e^(−‖z‖₂/b), in closed form.

With r = ‖z‖ and r' = ‖z−v‖, ‖v‖ = D, the loss is L = (r' − r)/b. Take the prolate
spheroidal coordinates of the two centres, ξ = (r + r')/D ≥ 1 and η = (r' − r)/D in [−1,
1]: the loss is L = (D/b)·η, a function of η alone. The volume element of R^d is ∝ (ξ² −
η²)·((ξ² − 1)(1 − η²))^((d−3)/2) dξ dη, and r = D(ξ − η)/2. With a = D/(2b) the integral
over ξ is a sum of two integrals of (ξ² − 1)^(ν−½) e^(−aξ), that is of Bessel functions
K (DLMF 10.32.8), and with η = cos u

    L = 2a·cos u,   density of u on (0, π) ∝ e^(a cos u) sin^(d−2)u (ρ + sin²u),
    ρ = ((d−1)/a)·K_{d/2}(a)/K_{d/2−1}(a).

Under Q the density is the mirror image (u → π − u). For d = 1 this is the Laplace law. The
density is an entire function of u, so Gauss–Legendre rules converge geometrically, with an
error that is proven here and not estimated: for N nodes on an interval of half-width h it
is at most (64/15)·h·M·e^(−2(N−1)τ)/(1 − e^(−2τ)), M the largest modulus on the ellipse of
half-axes h·cosh τ and h·sinh τ (Trefethen, Approximation Theory and Practice, Theorem
19.3). M is bounded on the rectangle around the ellipse with |sin z|² = sin²x + sinh²y and
Re cos z = cos x cosh y. Panels shrink towards u = 0 and π, where sin^(d−2) falls by powers
of ten; what lies beyond e^−230 is bounded by its rectangle and counted at the largest loss.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from leastnoise.errors import AccountingError
from leastnoise.lattice.shells import Floats
from leastnoise.losses.base import ClosedForm
from leastnoise.losses.divergence import DIVERGENCE_ROUNDING
from leastnoise.losses.rounding import LOSS_ROUNDING, SMALLEST, ULP
from leastnoise.losses.table import TableLoss

# moments E[e^(θL)] are computed up to this θ: beyond, the largest loss stands for Rényi divergences
SHARPEST = 4096.0
_FAINT = 230.0  # e^−230 = 1e-100: how far the panels follow the density down
_CLOSEST = 340.0  # e^−340 = 1e-148
_WIDE = 4.0  # a panel spans at most this change of the logarithm of the density (or so)
_NARROW = 0.05  # panels below this change need 6 nodes, not 16
# relative allowance for a profile: exponents up to 1,000 known to a few units in the last place
_ROUNDING = 1e-12
_QUADRATURE = 1e-14  # the proven share of the quadrature error must stay below this
_CHUNK = 1 << 16  # panels at a time
_RULES = {count: np.polynomial.legendre.leggauss(count) for count in (6, 16)}
_ELLIPSES = {6: (3.0, 4.4), 16: (1.0, 1.5, 2.0, 2.5, 3.0)}  # τ


_LogFactor = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True)
class BallLoss(ClosedForm):
    """The loss of one release of `BallNoise` at distance D: `half` is a = D/(2b), half
    the largest loss."""

    half: float
    dimension: int

    @property
    def largest(self) -> float:
        return 2.0 * self.half

    @cached_property
    def rho(self) -> float:
        """ρ, by K_{ν+1}/K_ν = 2ν/a + K_{ν−1}/K_ν (DLMF 10.29.1) from K_{3/2}/K_{1/2} or
        K_1/K_0: positive terms, errors shrink."""
        a = self.half
        if self.dimension % 2:
            order, ratio = 0.5, 1.0
        else:
            order, ratio = 1.0, float(special.k1e(a) / special.k0e(a))
        while order < 0.5 * self.dimension:
            order, ratio = order + 1.0, 2.0 * order / a + 1.0 / ratio
        return (self.dimension - 1.0) / a * ratio

    def profile(self, epsilon: ArrayLike) -> Floats:
        return self._each(epsilon, upper=True)

    def _attained_profile(self, epsilon: ArrayLike) -> Floats:
        return self._each(epsilon, upper=False)

    def share_below_largest(self, theta: float) -> float:
        return 1.0  # the law of the loss has no atoms

    def cumulants(self, theta: float) -> tuple[float, float, float]:
        return self.nodes(theta).cumulants(theta)

    def nodes(self, theta: float = 0.0) -> TableLoss:
        """The nodes of the panels, for moments E[e^(θL)] (1e-13, checked against Bessel functions),
        not for profiles; what lies beyond the panels is counted at the largest loss."""
        return _nodes(self, 2.0 ** max(4, math.ceil(math.log2(min(abs(theta), SHARPEST) + 1.0))))

    def divergence(self, order: float) -> float:
        if order > SHARPEST:
            return self.largest * (1.0 + DIVERGENCE_ROUNDING)
        return self.nodes(order).divergence(order)

    def table(self, pitch: float, low: float, high: float) -> TableLoss:
        """Connect-the-Dots on the multiples of a width ≤ `pitch` that has ±2a on its grid:
        each cell's masses under P and Q are kept, the errors of quadrature are added.

        Only the losses ≥ 0, u ≤ π/2, are integrated: the pair is symmetric, so −ℓ
        carries e^(−ℓ) times the mass of ℓ, and 0 twice what the cell above it gives.
        """
        cells = max(1, math.ceil(self.largest / pitch))
        width = self.largest / cells
        # Cell c holds the losses from 2a − (c+1)·width to 2a − c·width; 2a − L = 4a sin²(u/2).
        edges = 2.0 * np.arcsin(np.sqrt(0.5 * np.arange(cells + 1) / cells))
        ends = self._panels
        ends = np.union1d(ends, edges[(edges > ends[0]) & (edges < ends[-1])])
        p = np.zeros(cells + 1)  # from the top loss down to 0
        for start in range(0, ends.size - 1, _CHUNK):
            lower, upper = ends[:-1][start : start + _CHUNK], ends[1:][start : start + _CHUNK]
            cell = np.clip(
                np.searchsorted(edges, 0.5 * (lower + upper), side="right") - 1, 0, cells - 1
            )
            for count, chosen in self._by_nodes(lower, upper):
                self._add_cells(p, count, lower[chosen], upper[chosen], cell[chosen], width)
        p[0] += self._beyond(self._first)
        p[-1] *= 2.0
        loss = width * np.arange(cells, -1, -1)
        both_loss = np.concatenate([-loss[:-1], loss[::-1]])
        with np.errstate(divide="ignore"):
            log_p = np.log(p)
        log_both = np.concatenate([log_p[:-1] - loss[:-1], log_p[::-1]])
        held = log_both > -np.inf
        return TableLoss(both_loss[held], log_both[held])

    def _add_cells(
        self, p: Floats, count: int, lower: Floats, upper: Floats, cell: np.ndarray, width: float
    ) -> None:
        u, weight = _points(count, lower, upper)
        mass = weight * np.exp(self._log_density(u)) * (1.0 + self._rounding(u))
        # distance below the cell's upper end
        above = 4.0 * self.half * np.sin(0.5 * u) ** 2 - width * cell[:, None]
        part = np.clip(width - above, 0.0, width)  # L less the cell's lower end
        whole = -math.expm1(-width)
        up = np.sum(mass * -np.expm1(-part), axis=1) / whole
        down = np.sum(mass * np.exp(-part) * -np.expm1(-np.clip(above, 0.0, width)), axis=1) / whole

        def share(reach: Floats, sine: Floats) -> Floats:
            """log of a bound on both shares within `reach` of the panel: |L − an end of
            the cell| ≤ width + 2a|sin|·reach."""
            extent = width + 2.0 * self.half * sine * reach
            return np.asarray(np.log(np.expm1(np.minimum(extent, 600.0)) / whole), dtype=np.float64)

        error = self._error(count, lower, upper, share)
        if np.any(error > _QUADRATURE * (up + down) + 1e-90):
            raise AccountingError(
                "The quadrature of the ball law's loss is not accurate enough; use a finer pitch."
            )
        np.add.at(p, cell, up + error)
        np.add.at(p, cell + 1, down + error)

    def _each(self, epsilon: ArrayLike, *, upper: bool) -> Floats:
        epsilon = np.asarray(epsilon, dtype=np.float64)
        # `half` itself is rounded up, by up to 16 units in the last place: lower bounds
        # take that back.
        moved = epsilon + (-1.0 if upper else 3.0) * LOSS_ROUNDING * (1.0 + self.largest)
        values = np.array([self._delta(float(e), upper) for e in moved.ravel()], dtype=np.float64)
        return values.reshape(epsilon.shape)

    def _delta(self, epsilon: float, upper: bool) -> float:
        """∫_0^{u_ε} (1 − e^(ε−L)) over the density, a sum of positive terms; relative
        accuracy at every ε."""
        room = self.largest - epsilon
        if room <= 0.0:
            return 0.0
        if epsilon < 0.0:  # the pair is symmetric: δ(−ε) = 1 − e^(−ε) + e^(−ε) δ(ε)
            value = -math.expm1(epsilon) + math.exp(epsilon) * self._delta(-epsilon, upper)
            return value * (1.0 + (4.0 if upper else -4.0) * ULP)
        last = 2.0 * math.asin(math.sqrt(min(room / (4.0 * self.half), 1.0)))
        first = self._faint(last)
        edges = _graded(first, last, self._rates(16.0), self.dimension - 2.0)
        lower, upper_ends = edges[:-1], edges[1:]
        u, weight = _points(16, lower, upper_ends)
        gap = np.maximum(room - 4.0 * self.half * np.sin(0.5 * u) ** 2, 0.0)  # L − ε
        value = float(np.sum(weight * np.exp(self._log_density(u)) * -np.expm1(-gap)))

        def factor(reach: Floats, sine: Floats) -> Floats:
            """log of a bound on |1 − e^(ε−L)| ≤ 1 + e^(ε − Re L)."""
            return np.asarray(math.log(2.0) + 2.0 * self.half * sine * reach, dtype=np.float64)

        error = float(np.sum(self._error(16, lower, upper_ends, factor))) + self._beyond(first)
        # below the normal range each term is rounded by a unit in each of its factors
        faint = 4.0 * SMALLEST * (u.size + 1)
        if not upper:
            return max(value - error - faint, 0.0) * (1.0 - _ROUNDING)
        return (value + error) * (1.0 + _ROUNDING) + faint

    # The density of u and its panels

    def _log_shape(self, u: Floats) -> Floats:
        sine = np.sin(u)
        with np.errstate(divide="ignore"):
            power = (self.dimension - 2.0) * np.log(sine) if self.dimension > 2 else 0.0
        shape = self.half * np.cos(u) + power + np.log(self.rho + sine**2)
        return np.asarray(shape, dtype=np.float64)

    def _log_density(self, u: Floats) -> Floats:
        return np.asarray(self._log_shape(u) - self._log_total, dtype=np.float64)

    def _rounding(self, u: Floats) -> Floats:
        """Relative rounding error of the density at u: that of the exponent, and of the
        constants."""
        power = (self.dimension - 2.0) * np.abs(np.log(np.sin(u))) if self.dimension > 2 else 0.0
        return np.asarray(ULP * (8.0 + self.half * np.abs(np.cos(u)) + power), dtype=np.float64)

    def _rates(self, sharpness: float) -> float:
        """A bound on the slope of the logarithm of density·e^(θL) away from the ends,
        |θ| ≤ sharpness/2."""
        return self.dimension + self.half * (1.0 + sharpness)

    def _faint(self, last: float) -> float:
        """A place before `last` where e^a sin^(d−2) is below e^−230 of the density at
        `last` ≤ π/2; 0 for two answers.

        Never so close to 0 that sin² leaves the range of floating-point numbers. For
        few answers and a > 100 it would be, and there e^−340 of `last` is enough: the
        density is largest within 1/√a of 0.
        """
        if self.dimension == 2:
            return 0.0
        fall = min((_FAINT + self.half) / (self.dimension - 2), _CLOSEST)
        return math.asin(math.sin(last) * math.exp(-fall))

    @cached_property
    def _first(self) -> float:
        """The panels go from here to π/2."""
        return self._faint(0.5 * math.pi)

    @cached_property
    def _panels(self) -> Floats:
        return _graded(self._first, 0.5 * math.pi, self._rates(16.0), self.dimension - 2.0)

    @cached_property
    def _log_total(self) -> float:
        u, weight = _points(16, self._panels[:-1], self._panels[1:])
        shape = self._log_shape(u)
        top = float(shape.max())
        mirrored = np.exp(-2.0 * self.half * np.cos(u))  # at π − u
        both = weight * np.exp(shape - top) * (1.0 + mirrored)
        return top + math.log(float(np.sum(both)))

    def _beyond(self, first: float) -> float:
        """Upper bound on the mass of u < first: that of a rectangle."""
        if first <= 0.0:
            return 0.0
        sine = math.sin(first)
        power = (self.dimension - 2) * math.log(sine)
        highest = self.half + power + math.log(self.rho + sine**2) - self._log_total
        return math.exp(highest) * first

    def _by_nodes(self, lower: Floats, upper: Floats) -> list[tuple[int, np.ndarray]]:
        rate = self._rates(2.0) + (self.dimension - 2.0) / np.maximum(lower, 1e-300)
        change = (upper - lower) * rate
        return [(6, change <= _NARROW), (16, change > _NARROW)]

    def _error(self, count: int, lower: Floats, upper: Floats, log_factor: _LogFactor) -> Floats:
        """The proven bound on the error of the rule on each panel, for density × a
        factor bounded by e^log_factor(reach, |sin|)."""
        centre, half = 0.5 * (lower + upper), 0.5 * (upper - lower)
        best = np.full(lower.shape, np.inf)
        for tau in _ELLIPSES[count]:
            reach, height = half * math.cosh(tau), half * math.sinh(tau)
            low, high = centre - reach, centre + reach
            # how far the ellipse leaves [0, π]
            beyond = np.clip(np.maximum(-low, high - math.pi), 0.0, 0.5 * math.pi)
            sine2 = np.maximum(np.sin(np.clip(0.5 * math.pi, low, high)) ** 2, np.sin(beyond) ** 2)
            sine2 = sine2 + np.sinh(np.minimum(height, 300.0)) ** 2
            cosine = np.cos(np.maximum(low, 0.0))
            cosine = np.where(cosine > 0, cosine * np.cosh(np.minimum(height, 300.0)), cosine)
            power = 0.5 * (self.dimension - 2.0) * np.log(sine2)
            log_m = self.half * cosine + power + np.log(self.rho + sine2)
            log_m += log_factor(reach + half, np.sqrt(sine2)) - self._log_total
            rule = math.log(64.0 / 15.0) - 2.0 * (count - 1) * tau
            rule -= math.log(-math.expm1(-2.0 * tau))
            with np.errstate(over="ignore"):
                best = np.minimum(best, half * np.exp(np.minimum(log_m + rule, 700.0)))
        return best


@lru_cache(maxsize=32)
def _nodes(loss: BallLoss, sharpness: float) -> TableLoss:
    ends = _graded(loss._first, 0.5 * math.pi, loss._rates(sharpness), loss.dimension - 2.0)
    u, weight = _points(16, ends[:-1], ends[1:])
    size = (loss.largest * np.cos(u)).ravel()
    log_p = (np.log(weight) + loss._log_density(u)).ravel()
    rest = math.log(max(loss._beyond(loss._first), math.exp(-_FAINT)))
    return TableLoss(
        np.concatenate([-size, size, [loss.largest]]), np.concatenate([log_p - size, log_p, [rest]])
    )


def _graded(first: float, last: float, rate: float, power: float) -> Floats:
    """Ends of panels on [first, last] over each of which rate·u + power·log u rises by
    at most 4."""
    if power == 0.0:
        return np.linspace(first, last, math.ceil(rate * (last - first) / _WIDE) + 1)
    count = math.ceil((rate * (last - first) + power * math.log(last / first)) / _WIDE)
    fine = np.union1d(np.linspace(first, last, 32 * count), np.geomspace(first, last, 32 * count))
    fine[0], fine[-1] = first, last
    rise = rate * (fine - first) + power * np.log(fine / first)
    ends = np.interp(np.linspace(0.0, rise[-1], count + 1), rise, fine)
    ends[0], ends[-1] = first, last
    return np.asarray(ends, dtype=np.float64)


def _points(count: int, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """Nodes and weights of the rule on each panel, one panel a row."""
    x, w = _RULES[count]
    half = 0.5 * (upper - lower)[:, None]
    return 0.5 * (upper + lower)[:, None] + half * x, half * w


def ball_loss(scale: float, dimension: int, squared: Fraction) -> BallLoss:
    """The loss of the law of this `scale` for a shift whose squared length is `squared`."""
    ratio = squared / Fraction(scale) ** 2 / 4
    half = math.sqrt(ratio) if 1e-300 < ratio < 1e8 else math.inf * bool(ratio)
    if not 1e-150 < half < 1e4:
        raise AccountingError(
            f"The ball law is judged for largest losses up to 20,000, not {2.0 * half:.3g}."
        )
    return BallLoss(half * (1.0 + 8.0 * ULP), dimension)
