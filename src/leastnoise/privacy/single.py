"""The privacy loss of ONE release, exactly.

For a pair of laws (P, Q) the loss is L = log(P/Q) under P; the profile is δ(ε) = E_P[(1 − e^(ε−L))_+] (hockey-stick divergence).
`TableLoss` is a finite table of losses; `GaussianLoss` and `LaplaceLoss` are closed forms; `WorstOf` is the pointwise maximum
of several profiles. Each offers the same four: `profile`, `cumulants`, `largest` and `table`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from leastnoise.errors import AccountingError
from leastnoise.shells import Floats

if TYPE_CHECKING:
    from leastnoise.privacy.ball import BallLoss

ULP = float(np.finfo(np.float64).eps)
SMALLEST = 5e-324
LOSS_ROUNDING = 8.0 * ULP  # error of a loss relative to 1 + its size
MASS_ROUNDING = 1e-13  # relative error of a probability, a release: |log p| ≤ 745 known to a unit in the last place
PROFILE_ROUNDING = 1e-13  # relative allowance for the sums behind one profile value
_HARDLY_FALLEN = 0.99  # of the largest loss, when the highest are set aside: not worth their mass
LIGHT = 0.02  # a loss of less probability makes no kink that matters
_TOP_BINS = 256  # of the losses above 0, when the highest are set aside
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_MANY_NODES, _MANY_WEIGHTS = np.polynomial.legendre.leggauss(64)


@dataclass(frozen=True, eq=False)
class TableLoss:
    """Finitely many losses with the logarithms of their probabilities under P, and the mass of infinite loss.

    `releases` counts how many releases the table sums up; it scales the allowance for rounding.

    `infinite` is rounded up. `loss_error` and `mass_error` bound the rounding of the losses (absolute) and of the probabilities
    (relative), all releases together. `raised` is the part of the mass whose loss was put higher than it is, or to infinity, to be
    safe: lower bounds leave it out. `deviation` is the mass by which empty inner shells were filled (see `tables`); `infinite` and
    `log_p` count it.
    """

    loss: Floats
    log_p: Floats
    infinite: float = 0.0
    deviation: float = 0.0
    releases: int = 1
    raised: float = 0.0
    loss_error: float | None = None
    mass_error: float = MASS_ROUNDING

    @property
    def largest(self) -> float:
        """The largest finite loss."""
        return float(self.loss.max())

    @property
    def surely_infinite(self) -> float:
        """A lower bound on the mass of infinite loss; 1 only where there is no finite loss at all."""
        if not np.any(self.log_p > -np.inf):
            return self.infinite
        return max(self.infinite - self.raised * (1.0 + 1e-9), 0.0) * (1.0 - ULP)

    @property
    def spread(self) -> float:
        """The largest size of a finite loss."""
        return float(np.abs(self.loss).max())

    def profile(self, epsilon: ArrayLike) -> Floats:
        """δ(ε), rounded up."""
        moved = np.asarray(epsilon, dtype=np.float64) - self.loss_rounding
        finite = self._finite_profile(moved)
        # What underflows is not nothing.
        some = np.where(
            np.asarray(epsilon) < self.largest + self.loss_rounding, self._underflow, 0.0
        )
        total = finite * (1.0 + self._sum_rounding) + some + self.infinite * (1.0 + 4.0 * ULP)
        return np.asarray(total, dtype=np.float64)

    def profile_at_zero(self) -> float:
        """δ(0), rounded up, in one pass: for a single value sorting the losses would take longer than all the rest."""
        rise = -np.expm1(np.minimum(-self.loss_rounding - self.loss, 0.0))
        finite = float(np.sum(np.exp(self.log_p) * rise)) * (1.0 + self._sum_rounding)
        return finite + self._underflow + self.infinite * (1.0 + 4.0 * ULP)

    def profile_lower(self, epsilon: ArrayLike) -> Floats:
        """δ(ε), rounded down."""
        moved = np.asarray(epsilon, dtype=np.float64) + self.loss_rounding
        total = (self._finite_profile(moved) + self.infinite) * (
            1.0 - self._sum_rounding
        ) - self.raised * (1.0 + 1e-9)
        return np.asarray(np.maximum(total - self._underflow, 0.0), dtype=np.float64)

    @property
    def _underflow(self) -> float:
        """The rounding of the sums where they are below the normal range of floats: half a unit for each term and factor."""
        return SMALLEST * (2 * self.loss.size + 2)

    @property
    def _sum_rounding(self) -> float:
        return PROFILE_ROUNDING + self.mass_error + ULP * self.loss.size

    @cached_property
    def loss_rounding(self) -> float:
        """How far a loss may be from its exact value."""
        return (
            LOSS_ROUNDING * (self.releases + self.spread)
            if self.loss_error is None
            else self.loss_error
        )

    def _finite_profile(self, epsilon: Floats) -> Floats:
        """A sum of positive terms: over the gaps between losses above ε, (Q-mass above)·(rise of e^ε)."""
        loss, log_q_above, at_loss = self._sorted
        above = np.searchsorted(loss, epsilon, side="right")
        inside = above < loss.size
        k = np.where(inside, above, 0)
        rise = np.exp(log_q_above[k] + loss[k]) * -np.expm1(np.minimum(epsilon - loss[k], 0.0))
        return np.where(inside, at_loss[k] + rise, 0.0)

    @cached_property
    def _sorted(self) -> tuple[Floats, Floats, Floats]:
        order = np.argsort(self.loss, kind="stable")
        loss, log_q = self.loss[order], self.log_p[order] - self.loss[order]
        log_q_above = np.logaddexp.accumulate(log_q[::-1])[::-1]
        steps = np.exp(log_q_above[1:] + loss[1:]) * -np.expm1(loss[:-1] - loss[1:])
        at_loss = np.concatenate([np.cumsum(steps[::-1])[::-1], [0.0]])
        return loss, log_q_above, at_loss

    def cumulants(self, theta: float) -> tuple[float, float, float]:
        """K(θ) = log E_P[e^(θL); L finite] and its first two derivatives."""
        exponent = self.log_p + theta * self.loss
        top = float(exponent.max())
        weight = np.exp(exponent - top)
        total = float(weight.sum())
        # Not by BLAS: its threads wake for 10,000 products and then wait busily: 3.8 s of CPU instead of 1.4 for a design.
        mean = float(np.einsum("i,i->", weight, self.loss)) / total
        variance = float(np.einsum("i,i->", weight, (self.loss - mean) ** 2)) / total
        return top + math.log(total), mean, variance

    def table(self, pitch: float, low: float, high: float) -> TableLoss:
        """This loss as a table: itself."""
        return self

    def share_below_largest(self, theta: float) -> float:
        """Tilted probability of the losses below the largest one."""
        exponent = self.log_p + theta * self.loss
        weight = np.exp(exponent - exponent.max())
        top = self.loss >= self.largest * (1.0 - 1e-12)
        return float(np.sum(weight[~top]) / np.sum(weight))

    @cached_property
    def heaviest(self) -> float:
        """The probability of the heaviest loss, those within 1/5,000 of the spread taken together."""
        return self._heaviest[0]

    @property
    def anchor(self) -> float:
        """The loss that must be a point of the grid, for splitting it would cost most: the heaviest one, or the largest."""
        return self._heaviest[1]

    @cached_property
    def _heaviest(self) -> tuple[float, float]:
        spread = self.spread
        if spread == 0.0:
            return 1.0, self.largest
        p = np.exp(self.log_p)
        bins = ((self.loss + spread) * (2_500.0 / spread)).astype(np.int64)
        masses = np.bincount(bins, weights=p)
        heaviest = int(np.argmax(masses))
        loss = abs(float(self.loss[np.argmax(np.where(bins == heaviest, p, -1.0))]))
        is_light = masses[heaviest] < LIGHT or loss < 1e-3 * spread
        return float(masses[heaviest]), self.largest if is_light else loss

    def without_top(self, mass: float) -> TableLoss:
        """The same with its highest losses, of probability at most `mass` together, counted as infinite.

        Losses that hardly ever occur would own the tilt, the pitch and the window of a composition. No sorting: the losses above 0
        are counted in bins. Where the largest loss would hardly fall, giving them up gains nothing and costs their mass.
        """
        top = self.largest
        if not top > 0.0:
            return self
        p = np.exp(self.log_p)
        bins = np.clip((self.loss * (_TOP_BINS / top)).astype(np.int64), -1, _TOP_BINS - 1) + 1
        above = np.cumsum(np.bincount(bins, weights=p, minlength=_TOP_BINS + 1)[::-1])[
            ::-1
        ]  # of a bin and all higher ones
        first = int(np.argmax(np.append(above, 0.0) <= mass * (1.0 - self._sum_rounding)))
        kept = bins < max(first, 1)
        if not np.any(kept) or float(np.max(self.loss[kept])) > _HARDLY_FALLEN * top:
            return self
        removed = rounded_up(float(np.sum(p[~kept])), self.mass_error, int(np.sum(~kept)))
        return replace(
            self,
            loss=self.loss[kept],
            log_p=self.log_p[kept],
            infinite=min(self.infinite + removed, 1.0),
            raised=self.raised + removed,
            loss_error=self.loss_rounding,
        )

    def merged(self) -> TableLoss:
        """The same table with losses that differ by rounding only taken together, at the largest of them."""
        order = np.argsort(self.loss, kind="stable")
        loss, log_p = self.loss[order], self.log_p[order]
        # Buckets of fixed width, so that a chain of near-equal losses is not moved by more than one of them.
        width = 16.0 * ULP * (1.0 + self.spread)
        starts = np.concatenate([[True], np.diff(np.floor(loss / width)) > 0])
        if np.all(starts):
            return replace(self, loss=loss, log_p=log_p)
        group = np.cumsum(starts) - 1
        last = np.append(np.flatnonzero(starts)[1:], loss.size) - 1
        top = np.maximum.reduceat(log_p, np.flatnonzero(starts))
        total = np.bincount(group, weights=np.exp(log_p - top[group]))
        return replace(
            self, loss=loss[last], log_p=top + np.log(total), loss_error=self.loss_rounding + width
        )

    def followed_by(self, other: TableLoss) -> TableLoss:
        """The loss of a release of this and one of `other`: every sum of two losses. Meant for small tables."""
        return TableLoss(
            np.add.outer(self.loss, other.loss).ravel(),
            np.add.outer(self.log_p, other.log_p).ravel(),
            min(
                (self.infinite + other.infinite - self.infinite * other.infinite)
                * (1.0 + 4.0 * ULP),
                1.0,
            ),
            self.deviation + other.deviation,
            self.releases + other.releases,
            self.raised + other.raised + 8.0 * ULP * (self.infinite + other.infinite),
            self.loss_rounding + other.loss_rounding,
            self.mass_error + other.mass_error + ULP * (self.loss.size + other.loss.size),
        ).merged()


@dataclass(frozen=True)
class GaussianLoss:
    """Normal noise: L is normal with mean μ²/2 and variance μ², μ = sensitivity/σ. μ adds in squares under composition."""

    mu: float
    infinite: float = 0.0
    deviation: float = 0.0
    heaviest: float = 0.0
    largest: float = math.inf
    anchor: float = math.inf

    def profile(self, epsilon: ArrayLike) -> Floats:
        """Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) (Balle–Wang 2018), through erfcx so that the far tail keeps its digits."""
        epsilon = np.asarray(epsilon, dtype=np.float64)
        exact, relative, absolute, u = self._profile(epsilon)
        # Where rounding may be all of the difference (μ below 1e-13) it says nothing, least of all that δ is 0.
        bound = np.where(relative < 0.5, exact * (1.0 + relative) + absolute, 1.0)
        # ∂δ/∂μ = φ(ε/μ − μ/2), which grows up to μ = √(2ε) and is never above φ(0): δ ≤ μ·φ(max(ε/μ − μ/2, 0)) for ε ≥ 0.
        with np.errstate(over="ignore", under="ignore"):
            bell = np.exp(-(np.maximum(u * (1.0 - 8.0 * ULP) - 8.0 * ULP * self.mu, 0.0) ** 2))
        crude = self.mu / math.sqrt(2.0 * math.pi) * bell * (1.0 + 8.0 * ULP) + 4.0 * SMALLEST
        return np.asarray(
            np.minimum(np.minimum(bound, np.where(epsilon >= 0, crude, 1.0)), 1.0), dtype=np.float64
        )

    def profile_lower(self, epsilon: ArrayLike) -> Floats:
        exact, relative, absolute, _ = self._profile(np.asarray(epsilon, dtype=np.float64))
        return np.asarray(np.maximum(exact * (1.0 - relative) - absolute, 0.0), dtype=np.float64)

    def _profile(self, epsilon: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """The formula, bounds on its relative and absolute rounding error, and u = (ε/μ − μ/2)/√2; with v = (ε/μ + μ/2)/√2
        e^ε erfc(v) = e^(−u²) erfcx(v), as v² − u² = ε."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            u = (epsilon / self.mu - 0.5 * self.mu) / math.sqrt(2.0)
            v = (epsilon / self.mu + 0.5 * self.mu) / math.sqrt(2.0)
            bell = np.exp(-u * u)
            # v < 0 only for ε < −μ²/2; then e^ε is small and erfc(v) at most 2.
            second = np.where(
                v >= 0,
                bell * special.erfcx(np.maximum(v, 0.0)),
                np.exp(np.minimum(epsilon, 0.0)) * special.erfc(v),
            )
            first = np.where(u > 0, bell * special.erfcx(np.maximum(u, 0.0)), special.erfc(u))
            size = np.abs(epsilon) / self.mu + self.mu
            relative = np.minimum(16.0 * ULP * (1.0 + (1.0 + size) / self.mu + size * size), 1.0)
        absolute = np.where(
            u > 0, 4.0 * SMALLEST, 8.0 * ULP
        )  # at least the rounding below the normal range of floats
        return (
            np.asarray(0.5 * (first - second)),
            np.asarray(relative),
            np.asarray(absolute),
            np.asarray(u),
        )

    def share_below_largest(self, theta: float) -> float:
        return 1.0

    def cumulants(self, theta: float) -> tuple[float, float, float]:
        mu2 = self.mu**2
        return 0.5 * theta * (theta + 1.0) * mu2, (theta + 0.5) * mu2, mu2

    def table(self, pitch: float, low: float, high: float) -> TableLoss:
        """Connect-the-Dots on the multiples of `pitch` between low and high.

        The share of a cell that goes to its upper end is ∫ p(ℓ)(1 − e^(−(ℓ−lower)))dℓ/(1 − e^(−pitch)); 8 Gauss–Legendre nodes
        on a cell of at most μ/4 leave a relative error below 2e-13 even 17 deviations out, and far less where the mass is.
        """
        if pitch > 0.25 * self.mu:
            raise AccountingError(
                f"The grid pitch {pitch:.3g} is too coarse for a Gaussian loss of deviation {self.mu:.3g}."
            )
        first, last = math.floor(low / pitch), math.ceil(high / pitch)
        lower = pitch * np.arange(first, last)
        part = 0.5 * pitch * (1.0 + _NODES)
        z = (lower[:, None] + part - 0.5 * self.mu**2) / self.mu
        density = np.exp(-0.5 * z * z) * (
            0.5 * pitch * _WEIGHTS / (self.mu * math.sqrt(2.0 * math.pi))
        )
        share = -np.expm1(-part) / -math.expm1(-pitch)
        up, down = density @ share, density @ (1.0 - share)
        p = np.zeros(lower.size + 1)
        p[:-1] += down
        p[1:] += up
        # Below the grid: the mass is raised to its first point. Above: infinite.
        p[0] += float(special.ndtr((lower[0] - 0.5 * self.mu**2) / self.mu))
        top = lower[-1] + pitch
        p[-1] += self._mass_above_as_atom(top)
        return _table_from_masses(pitch * np.arange(first, last + 1), p, float(self.profile(top)))

    def _mass_above_as_atom(self, top: float) -> float:
        """P-mass left at the top point when δ(top) is made infinite: the losses above keep their Q-mass there."""
        return math.exp(top + float(special.log_ndtr(-(top + 0.5 * self.mu**2) / self.mu)))


@dataclass(frozen=True)
class LaplaceLoss:
    """Laplace noise with λ = sensitivity/scale: L = λ with probability ½, −λ with ½e^(−λ), and density ¼e^((ℓ−λ)/2) between."""

    ratio: float
    infinite: float = 0.0
    deviation: float = 0.0
    heaviest: float = 0.0  # beside ±λ, which are points of the grid

    @property
    def largest(self) -> float:
        return self.ratio

    @property
    def anchor(self) -> float:
        return self.ratio

    def profile(self, epsilon: ArrayLike) -> Floats:
        epsilon = np.asarray(epsilon, dtype=np.float64)
        inside = -np.expm1(np.minimum(0.5 * (epsilon - self.ratio * (1.0 + LOSS_ROUNDING)), 0.0))
        below = -np.expm1(np.minimum(epsilon, 0.0))
        return np.asarray(
            np.where(epsilon >= -self.ratio, inside, below) * (1.0 + PROFILE_ROUNDING),
            dtype=np.float64,
        )

    def profile_lower(self, epsilon: ArrayLike) -> Floats:
        epsilon = np.asarray(epsilon, dtype=np.float64)
        below_top = np.minimum(epsilon - self.ratio * (1.0 - LOSS_ROUNDING), 0.0)
        exact = np.where(
            epsilon >= -self.ratio, -np.expm1(0.5 * below_top), -np.expm1(np.minimum(epsilon, 0.0))
        )
        return np.asarray(exact * (1.0 - PROFILE_ROUNDING), dtype=np.float64)

    def share_below_largest(self, theta: float) -> float:
        return self.nodes.share_below_largest(theta)

    def cumulants(self, theta: float) -> tuple[float, float, float]:
        return self.nodes.cumulants(theta)

    @cached_property
    def nodes(self) -> TableLoss:
        """The two atoms and 64 Gauss–Legendre nodes of the density: for moments (1e-14 while θλ < 40), not for profiles."""
        middle = self.ratio * _MANY_NODES
        density = np.log(0.25 * self.ratio * _MANY_WEIGHTS) + 0.5 * (middle - self.ratio)
        atoms = math.log(0.5) + np.array([0.0, -self.ratio])
        return TableLoss(
            np.concatenate([[self.ratio, -self.ratio], middle]), np.concatenate([atoms, density])
        )

    def table(self, pitch: float, low: float, high: float) -> TableLoss:
        """Connect-the-Dots on λ/n-multiples, n chosen so that the cells are at most `pitch` wide and ±λ are grid points."""
        cells = 2 * max(1, math.ceil(self.ratio / pitch))
        width = 2.0 * self.ratio / cells
        lower = -self.ratio + width * np.arange(cells)
        density = np.exp(0.5 * (lower - self.ratio))
        p = np.zeros(cells + 1)
        p[:-1] += 0.5 * density * math.tanh(0.25 * width)
        p[1:] += 2.0 * density * math.sinh(0.25 * width) ** 2 / -math.expm1(-width)
        p[0] += 0.5 * math.exp(-self.ratio)
        p[-1] += 0.5
        loss = np.append(lower, self.ratio)
        return _table_from_masses(loss, p, 0.0)


@dataclass(frozen=True, eq=False)
class WorstOf:
    """The pointwise maximum of the profiles of several symmetric pairs (the shifts of a law that is not monotone).

    `chosen_anew` says whether an adversary may choose among them anew in each release, as among shifts. Of the two directions of an
    asymmetric pair they choose one for all releases: then the first of the tables stands for them in lower bounds.
    """

    tables: tuple[TableLoss, ...]
    chosen_anew: bool = True

    @property
    def infinite(self) -> float:
        return max(table.infinite for table in self.tables)

    @property
    def surely_infinite(self) -> float:
        return max(table.surely_infinite for table in self._open)

    @property
    def _open(self) -> tuple[TableLoss, ...]:
        return self.tables if self.chosen_anew else self.tables[:1]

    def worst(self, theta: float) -> TableLoss:
        """The table of an adversary that a lower bound may count on: the worst at this tilt."""
        return max(self._open, key=lambda table: table.cumulants(theta)[0])

    @property
    def deviation(self) -> float:
        return max(table.deviation for table in self.tables)

    @property
    def loss_rounding(self) -> float:
        return max(table.loss_rounding for table in self.tables)

    @property
    def largest(self) -> float:
        return max(table.largest for table in self.tables)

    def profile(self, epsilon: ArrayLike) -> Floats:
        return np.asarray(
            np.maximum.reduce([table.profile(epsilon) for table in self.tables]), dtype=np.float64
        )

    def profile_lower(self, epsilon: ArrayLike) -> Floats:
        return np.asarray(
            np.maximum.reduce([table.profile_lower(epsilon) for table in self.tables]),
            dtype=np.float64,
        )

    @property
    def heaviest(self) -> float:
        return max(table.heaviest for table in self.tables)

    @property
    def anchor(self) -> float:
        return self.largest

    def without_top(self, mass: float) -> WorstOf:
        return replace(self, tables=tuple(table.without_top(mass) for table in self.tables))

    def share_below_largest(self, theta: float) -> float:
        return max(self.tables, key=lambda table: table.largest).share_below_largest(theta)

    def cumulants(self, theta: float) -> tuple[float, float, float]:
        """Those of the shift with the largest K(θ): a guide for the tilt, never part of a bound."""
        return max((table.cumulants(theta) for table in self.tables), key=lambda values: values[0])

    def table(self, pitch: float, low: float, high: float) -> TableLoss:
        """Connect-the-Dots on the multiples of a width ≤ `pitch` that has the largest loss on its grid.

        The profile f is linear in x = e^ε between grid points; the Q-mass at a point is the change of slope, its P-mass e^ε times
        that. For a symmetric pair the point −ε carries e^(−ε) times the mass of ε, so only ε ≥ 0 is computed. Rounding of the
        second differences is mended by comparing the profile of the result with f and scaling up.
        """
        if self.largest <= 0.0:
            return TableLoss(np.zeros(1), np.zeros(1), self.infinite, self.deviation)
        # Second differences lose 1e-16/width² of their digits: 20,000 cells keep the excess below 1e-6 of the profile.
        cells = min(max(1, math.ceil(self.largest / pitch)), 20_000)
        width = self.largest / cells
        grid: Floats = np.asarray(width * np.arange(cells + 1), dtype=np.float64)
        profile = self._finite_envelope(grid)
        profile[-1] = 0.0  # the last point is the largest loss, up to the rounding of the grid
        # From −width to 0: f(−ε) = 1 − e^(−ε) + e^(−ε) f(ε), with P of total 1 − infinite.
        mirror = (1.0 - self.infinite) * -math.expm1(-width) + math.exp(-width) * profile[1]
        # −slope on [ε − width, ε] times e^ε: e^ε alone is no float beyond ε = 709.
        fall = -np.diff(np.concatenate([[mirror], profile])) / -math.expm1(-width)
        mass = np.maximum(fall - math.exp(-width) * np.concatenate([fall[1:], [0.0]]), 0.0)
        p = np.concatenate([(mass * np.exp(-grid))[:0:-1], mass])
        loss = np.concatenate([-grid[:0:-1], grid])
        with np.errstate(divide="ignore"):
            result = TableLoss(loss, np.log(p))
        back = result._finite_profile(grid)
        scale = float(
            np.max(
                profile / np.maximum(back, np.finfo(np.float64).tiny),
                where=profile > 1e-200,
                initial=1.0,
            )
        )
        scale = max(
            scale, (1.0 - self.infinite) / float(np.sum(p))
        )  # for ε < 0 the whole mass of P must be there
        if not scale < 1.0 + 1e-4:
            raise AccountingError(
                "The worst profile over the shifts could not be put on a grid; use a coarser pitch."
            )
        keep = p > 0
        infinite = self.infinite + (1e-200 if self.infinite > 0 else 0.0)
        log_p = np.log(p[keep]) + math.log(max(scale, 1.0))
        return TableLoss(
            loss[keep], log_p, infinite, loss_error=self.loss_rounding, mass_error=1e-12
        )

    def _finite_envelope(self, epsilon: Floats) -> Floats:
        """The maximum of the profiles less the largest mass of infinite loss."""
        parts = [
            table._finite_profile(epsilon) + (table.infinite - self.infinite)
            for table in self.tables
        ]
        return np.asarray(np.maximum(np.maximum.reduce(parts), 0.0), dtype=np.float64)


SingleLoss: TypeAlias = "TableLoss | GaussianLoss | LaplaceLoss | WorstOf | BallLoss"


def rounded_up(mass: float, mass_error: float, terms: int) -> float:
    """A sum of that many rounded probabilities, on the safe side; below the normal range each is rounded by a unit at most."""
    return min(mass * (1.0 + mass_error + ULP * (terms + 4)) + SMALLEST * terms, 1.0)


def rounded_by(mass: float, mass_error: float, terms: int) -> float:
    """How far above the truth `rounded_up` may be: what lower bounds leave out."""
    return 3.0 * (mass * (mass_error + ULP * (terms + 4)) + SMALLEST * terms)


def _table_from_masses(loss: NDArray[np.floating], p: Floats, infinite: float) -> TableLoss:
    keep = p > 0
    return TableLoss(np.asarray(loss[keep], dtype=np.float64), np.log(p[keep]), infinite)


def log_ratio(above: Floats, below: Floats) -> Floats:
    """log(above/below): from the quotient, which keeps more digits than a difference of logarithms, where it is in range."""
    with np.errstate(over="ignore", under="ignore"):
        quotient = above / below
    safe = np.isfinite(quotient) & (quotient > 1e-300)
    return np.where(safe, np.log(np.where(safe, quotient, 1.0)), np.log(above) - np.log(below))
