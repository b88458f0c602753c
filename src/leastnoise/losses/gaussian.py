"""The privacy loss of normal noise, in closed form."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from leastnoise.errors import AccountingError
from leastnoise.lattice.shells import Floats
from leastnoise.losses.base import ClosedForm, in_range
from leastnoise.losses.divergence import DIVERGENCE_ROUNDING
from leastnoise.losses.rounding import SMALLEST, ULP
from leastnoise.losses.table import TableLoss, table_from_masses

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
# deviations that a table covers: they leave 1e-64 of the loss, also under a tilt
_REACH = 17.0


@dataclass(frozen=True)
class GaussianLoss(ClosedForm):
    """Normal noise: L is normal with mean μ²/2 and variance μ², μ = sensitivity/σ. μ
    adds in squares under composition."""

    mu: float

    largest = math.inf

    @property
    def normal_variance(self) -> float:
        return self.mu**2

    def profile(self, epsilon: ArrayLike) -> Floats:
        """Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) (Balle–Wang 2018), through erfcx so that the
        far tail keeps its digits."""
        epsilon = np.asarray(epsilon, dtype=np.float64)
        exact, relative, absolute, u = self._profile(epsilon)
        # Where rounding may be all of the difference (μ below 1e-13) it says nothing,
        # least of all that δ is 0.
        bound = np.where(relative < 0.5, exact * (1.0 + relative) + absolute, 1.0)
        # ∂δ/∂μ = φ(ε/μ − μ/2), which grows up to μ = √(2ε) and is never above φ(0): δ ≤
        # μ·φ(max(ε/μ − μ/2, 0)) for ε ≥ 0.
        with np.errstate(over="ignore", under="ignore"):
            bell = np.exp(-(np.maximum(u * (1.0 - 8.0 * ULP) - 8.0 * ULP * self.mu, 0.0) ** 2))
        crude = self.mu / math.sqrt(2.0 * math.pi) * bell * (1.0 + 8.0 * ULP) + 4.0 * SMALLEST
        bound = np.minimum(bound, np.where(epsilon >= 0, crude, 1.0))
        return np.asarray(np.minimum(bound, 1.0), dtype=np.float64)

    def _attained_profile(self, epsilon: ArrayLike) -> Floats:
        exact, relative, absolute, _ = self._profile(np.asarray(epsilon, dtype=np.float64))
        return np.asarray(np.maximum(exact * (1.0 - relative) - absolute, 0.0), dtype=np.float64)

    def _profile(self, epsilon: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """The formula, bounds on its relative and absolute rounding error, and u = (ε/μ −
        μ/2)/√2; with v = (ε/μ + μ/2)/√2 e^ε erfc(v) = e^(−u²) erfcx(v), as v² − u² = ε."""
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
        # at least the rounding below the normal range of floats
        absolute = np.where(u > 0, 4.0 * SMALLEST, 8.0 * ULP)
        exact = np.asarray(0.5 * (first - second))
        return exact, np.asarray(relative), np.asarray(absolute), np.asarray(u)

    def share_below_largest(self, theta: float) -> float:
        return 1.0

    def cumulants(self, theta: float) -> tuple[float, float, float]:
        mu2 = self.mu**2
        return 0.5 * theta * (theta + 1.0) * mu2, (theta + 0.5) * mu2, mu2

    def divergence(self, order: float) -> float:
        return order * 0.5 * self.mu**2 * (1.0 + DIVERGENCE_ROUNDING)

    def reach(self, theta: float) -> tuple[float, float]:
        """17 deviations around the mean, plain and tilted: μ²/2 and (θ+½)μ²."""
        _, low, variance = self.cumulants(0.0)
        _, high, _ = self.cumulants(theta)
        width = _REACH * math.sqrt(variance)
        return low - width, high + width

    def table(self, pitch: float, low: float, high: float) -> TableLoss:
        """Connect-the-Dots on the multiples of `pitch` between low and high.

        The share of a cell that goes to its upper end is ∫ p(ℓ)(1 − e^(−(ℓ−lower)))dℓ/(1
        − e^(−pitch)); 8 Gauss–Legendre nodes on a cell of at most μ/4 leave a relative
        error below 2e-13 even 17 deviations out, and far less where the mass is.
        """
        if pitch > 0.25 * self.mu:
            raise AccountingError(
                f"The grid pitch {pitch:.3g} is too coarse for a Gaussian loss of deviation "
                f"{self.mu:.3g}."
            )
        first, last = math.floor(low / pitch), math.ceil(high / pitch)
        lower = pitch * np.arange(first, last)
        part = 0.5 * pitch * (1.0 + _NODES)
        z = (lower[:, None] + part - 0.5 * self.mu**2) / self.mu
        weights = 0.5 * pitch * _WEIGHTS / (self.mu * math.sqrt(2.0 * math.pi))
        density = np.exp(-0.5 * z * z) * weights
        share = -np.expm1(-part) / -math.expm1(-pitch)
        up, down = density @ share, density @ (1.0 - share)
        p = np.zeros(lower.size + 1)
        p[:-1] += down
        p[1:] += up
        # Below the grid: the mass is raised to its first point. Above: infinite.
        p[0] += float(special.ndtr((lower[0] - 0.5 * self.mu**2) / self.mu))
        top = lower[-1] + pitch
        p[-1] += self._mass_above_as_atom(top)
        return table_from_masses(pitch * np.arange(first, last + 1), p, float(self.profile(top)))

    def _mass_above_as_atom(self, top: float) -> float:
        """P-mass left at the top point when δ(top) is made infinite: the losses above
        keep their Q-mass there."""
        return math.exp(top + float(special.log_ndtr(-(top + 0.5 * self.mu**2) / self.mu)))


def gaussian_loss(sigma: float, sensitivity: float) -> GaussianLoss:
    """The loss when one person can move the answer by up to `sensitivity`."""
    return GaussianLoss(in_range(sensitivity / sigma) * (1.0 + 2.0 * ULP))
