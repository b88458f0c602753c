"""The sphere bent towards normal noise: joint noise Z in R^d with density ∝ e^(−(‖z‖₂/b)^a).

a = 1 is the sphere law (`laws.sphere`), a = 2 normal noise. In between it trades noise for the
attacker's advantage, and better than a part of a larger sphere does, for it is judged by its own
loss and not by that of what is kept back: ten answers at ε = 1, δ = 1e-6 have σ = 10.43 and an
advantage of 0.125 for a = 4/3, 11.29 and 0.114 for 20/13, and 12.53 and 0.101 for 20/11
(`losses.bent_sphere` is the judge; the sphere: 9.61 and 0.140, normal noise: 13.36 and 0.094).

**Exponents** are a = 2d/m with a whole number m from d to 2d, the degrees of freedom of a χ²: then
(‖Z‖/b)^a, which has the law Gamma(d/a), is half a χ² of m degrees of freedom, and is drawn exactly
(`sampling.bent_sphere`). For few answers there are few of them: 5 for four answers.

**Worst shift.** The density falls with ‖z‖, so that δ(ε) grows with the length of a change for
every ε at once: the proof is the sphere's. Rounding to the public lattice is post-processing.

**One answer** is a coordinate. Given its size x the others have the length ρ with the density ∝
ρ^(d−2) e^(−(x² + ρ²)^(a/2)), in units of b; its density is an integral over ρ, and its tail one
over the length r = √(x² + ρ²) of Z of the share P(cosine > x/r). With ρ = e^τ both integrands are
analytic in |Im τ| < π/2 and fall on both sides, so that the trapezoidal rule is exact to 1e-11.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from leastnoise.changes import BOX, Changes
from leastnoise.errors import (
    InvalidParameterError,
    UnsupportedError,
    positive,
    positive_integer,
    real_array,
)
from leastnoise.files.reading import number, only_fields
from leastnoise.lattice.resolution import step_of_known_law
from leastnoise.lattice.rounded_changes import rounded_changes
from leastnoise.lattice.shells import Floats
from leastnoise.lattice.steps import public_pitch
from leastnoise.laws.base import Domain, Noise, answers_of_a_draw, coefficients_of
from leastnoise.laws.whole import check_joint, halved_quantile
from leastnoise.losses.base import Loss, unproven_below
from leastnoise.losses.bent_sphere import bent_sphere_loss
from leastnoise.sampling.bent_sphere import BentSphereSampler

_FIELDS = {"body", "batch", "freedom", "step", "pitch", "scale"}
_BODY = "bent sphere"
_FARTHEST = 1e15  # in units of b: there every tail is 0, and nothing has overflowed


@dataclass(frozen=True)
class BentSphereNoise(Noise):
    """Density ∝ e^(−(‖z‖₂/scale)^a), a = 2·dimension/freedom, on `dimension` answers at once,
    released on multiples of step/2^16.

    Guarantees: frozen; drawn exactly as judged.

    Attributes:
        scale: b, in the units of the answers.
        freedom: m, from `dimension`, normal noise, to twice that, the sphere.
        dimension: How many answers one draw serves.
        step: Its 2^16th part is the pitch of the public lattice.
    """

    scale: float
    freedom: int
    dimension: int = 2
    step: float = 1.0

    kind: ClassVar[str] = _BODY
    domain: ClassVar[Domain] = "real"

    def __post_init__(self) -> None:
        check_joint(self)
        object.__setattr__(self, "freedom", positive_integer("freedom", self.freedom))
        if not self.dimension <= self.freedom <= 2 * self.dimension:
            raise InvalidParameterError(
                "freedom", self.freedom, f"to be from {self.dimension} to {2 * self.dimension}"
            )

    @property
    def has_convex_levels(self) -> bool:
        """They are balls, and rounding on a lattice that the answer lies on is post-processing."""
        return True

    @property
    def power(self) -> float:
        """a."""
        return 2.0 * self.dimension / self.freedom

    @property
    def variance(self) -> float:
        """E‖Z‖²/d."""
        return self.scale**2 * unit_variance(self.dimension, self.freedom)

    def as_one_answer(self, coefficients: ArrayLike) -> tuple[Noise, float] | None:
        """It is the same in every direction."""
        return self, float(np.linalg.norm(coefficients_of(self, coefficients)))

    def pmf(self, k: ArrayLike) -> Floats:
        raise UnsupportedError(
            "A continuous law that is rounded to a lattice has no masses by radius; use pdf, or "
            "differences of ccdf."
        )

    def pdf(self, x: ArrayLike) -> Floats:
        d, a = self.dimension, self.power
        # the area of the sphere of ρ over that of r, and the density of r
        log_total = special.betaln(0.5 * (d - 1.0), 0.5) + special.gammaln(d / a) - math.log(a)

        def log_density(x: Floats, rho: Floats) -> Floats:
            density = (d - 1.0) * np.log(rho) - np.hypot(x, rho) ** a - log_total
            return np.asarray(density, dtype=np.float64)

        return self._integrated(self._place(x), log_density) / self.scale

    def ccdf(self, x: ArrayLike) -> Floats:
        x, d, a = real_array("x", x), self.dimension, self.power
        log_total = special.gammaln(d / a) - math.log(a)

        def log_part(x: Floats, rho: Floats) -> Floats:
            r = np.hypot(x, rho)
            share = 0.5 * special.betainc(0.5 * (d - 1.0), 0.5, (rho / r) ** 2)
            with np.errstate(divide="ignore"):
                part = np.log(share) + (d - 2.0) * np.log(r) + 2.0 * np.log(rho) - r**a
            return np.asarray(part - log_total, dtype=np.float64)

        far = np.minimum(self._integrated(self._place(x), log_part), 0.5)
        return np.asarray(np.where(x >= 0, far, 1.0 - far), dtype=np.float64)

    def quantile(self, u: ArrayLike, *, upper: bool = False) -> Floats:
        farthest = self.scale * self._farthest
        return halved_quantile(u, upper, farthest, self.ccdf)

    @property
    def _farthest(self) -> float:
        """A length of Z in units of b beyond which there is no probability to speak of."""
        return float((self.dimension + 1600.0) ** (1.0 / self.power)) * 4.0

    def insecure_draws(self, size: Any, generator: Any) -> Floats:
        half = generator.standard_gamma(0.5 * self.freedom, size=size)
        first = generator.standard_normal(size=size)
        others = generator.chisquare(self.dimension - 1, size=size)
        radius = self.scale * half ** (1.0 / self.power)
        return np.asarray(radius * first / np.sqrt(first**2 + others), dtype=np.float64)

    def loss(self, sensitivity: float, changes: Changes = BOX) -> Loss:
        moved = rounded_changes(changes, self.dimension, sensitivity, self._pitch)
        loss = self._loss(moved.squared_length)
        # a length is rounded up by more than any one vector is
        return unproven_below(loss) if moved.ranges is None else loss

    def loss_at(self, distance: Fraction) -> Loss:
        moved = rounded_changes(BOX, self.dimension, distance, self._pitch)
        return self._loss(moved.squared_length)

    def _loss(self, squared: Fraction) -> Loss:
        return bent_sphere_loss(self.scale, self.power, self.dimension, squared)

    @property
    def _pitch(self) -> Fraction:
        return public_pitch(self.step, self.domain)

    def sampler(self) -> BentSphereSampler:
        return BentSphereSampler(self.scale, self.dimension, self.freedom, self.step)

    def describe(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "dimension": self.dimension,
            "freedom": self.freedom,
            "scale": self.scale.hex(),
            "step": self.step.hex(),
        }

    @staticmethod
    def from_description(content: Mapping[str, Any]) -> BentSphereNoise:
        scale, step = (float.fromhex(content[name]) for name in ("scale", "step"))
        answers = answers_of_a_draw(content["dimension"])
        return BentSphereNoise(scale, content["freedom"], answers, step)

    def describe_drawn(self) -> dict[str, Any]:
        return {
            "body": _BODY,
            "batch": self.dimension,
            "freedom": self.freedom,
            "step": self.step,
            "pitch": str(self._pitch),
            "scale": self.scale,
        }

    @staticmethod
    def from_drawn(content: Mapping[str, Any]) -> BentSphereNoise:
        only_fields("law", content, _FIELDS)
        answers = answers_of_a_draw(content["batch"])
        scale, step = number(content["scale"]), number(content["step"])
        return BentSphereNoise(scale, content["freedom"], answers, step)

    # Integrals over the length of the other answers

    def _place(self, x: ArrayLike) -> Floats:
        """|x| in units of b."""
        with np.errstate(over="ignore"):
            place = np.abs(real_array("x", x)) / self.scale
        return np.asarray(np.minimum(place, _FARTHEST), dtype=np.float64)

    def _integrated(self, x: Floats, log_part: Callable[[Floats, Floats], Floats]) -> Floats:
        """∫ e^log_part(x, e^τ) dτ for each x: the trapezoidal rule about the peak of ρ^(d−1)
        e^(−(x² + ρ²)^(a/2))."""
        d1 = self.dimension - 1.0
        step = min(0.15, 0.4 / math.sqrt(2.0 * d1))
        below = 60.0 / d1 + 8.0 / math.sqrt(d1)
        above = min(4.5, 14.0 / math.sqrt(d1))
        tau = np.arange(-math.ceil(below / step), math.ceil(above / step) + 1) * step
        flat = x.ravel()
        total = np.empty(flat.size)
        for start in range(0, flat.size, 1024):
            place = flat[start : start + 1024, None]
            rho = self._peak(place) * np.exp(tau)
            with np.errstate(over="ignore", under="ignore"):
                total[start : start + 1024] = step * np.sum(np.exp(log_part(place, rho)), axis=1)
        return total.reshape(x.shape)

    def _peak(self, x: Floats) -> Floats:
        """ρ with a·ρ²·(x² + ρ²)^(a/2−1) = d − 1, which grows with ρ."""
        a, wanted = self.power, self.dimension - 1.0
        low, high = np.full(x.shape, -40.0), np.full(x.shape, 40.0)
        for _ in range(40):
            middle = 0.5 * (low + high)
            rho = np.exp(middle)
            is_below = a * rho**2 * np.hypot(x, rho) ** (a - 2.0) < wanted
            low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
        return np.asarray(np.exp(high), dtype=np.float64)


def unit_variance(dimension: int, freedom: int) -> float:
    """E‖Z‖²/d for b = 1: Γ((d + 2)/a)/Γ(d/a)/d."""
    shape = 0.5 * freedom
    more = shape * (1.0 + 2.0 / dimension)
    return math.exp(special.gammaln(more) - special.gammaln(shape)) / dimension


def bent_sphere(
    sigma: float, batch: int, freedom: int, *, sensitivity: float = 1.0, step: float | None = None
) -> BentSphereNoise:
    """Joint noise for `batch` answers with density ∝ e^(−(‖x‖₂/b)^a), a = 2·batch/freedom.

    Args:
        sigma: Standard deviation of the noise on each answer, in its units.
        batch: How many answers one draw serves.
        freedom: From `batch`, normal noise, to twice that, the sphere.
        sensitivity: How far one person can move each answer; it only sets the default `step`.
        step: Its 2^16th part is the pitch of the public lattice.

    Returns:
        The law of this standard deviation.

    Raises:
        InvalidParameterError: No law is.

    Example:
        >>> bent_sphere(8.0, 10, 15).std  # doctest: +ELLIPSIS
        8.0...
    """
    sigma, m = positive("sigma", sigma), positive_integer("freedom", freedom)
    d = positive_integer("batch", batch)
    step = step_of_known_law(sigma, sensitivity, step, "real")
    made = BentSphereNoise(1.0, m, d, step)
    return BentSphereNoise(sigma / math.sqrt(made.variance), m, d, step)
