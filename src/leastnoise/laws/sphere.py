"""The ball-shaped law: joint noise Z in R^d with density ∝ e^(−‖z‖₂/b), for many
answers released together.

**Worst shift.** One person moves each answer by at most s, so the law is shifted by a vector v with
|v_l| ≤ s, ‖v‖₂ ≤ s√d. For a density f(‖z‖₂) with f non-increasing, the worst shift is any with ‖v‖₂
= s√d (a corner of the box), for every ε and every Rényi order at once. *Proof.* Write min(P, e^ε Q)
as the area below it: ∫ min(f(‖z‖), e^ε f(‖z−v‖)) dz = ∫_0^∞ |{f(‖z‖) ≥ u} ∩ {e^ε f(‖z−v‖) ≥ u}| du.
Both sets are balls, with radii R(u) and R(u e^(−ε)), one centred at 0 and one at v. The volume that
two balls share depends on the distance t of their centres alone and does not grow with it: 1_B(0,R)
* 1_B(0,R') is a convolution of two log-concave functions, hence log-concave (Prékopa), and even,
hence non-increasing along every ray. So δ_v(ε) = 1 − ∫ min(P, e^ε Q) does not fall as
‖v‖ grows. The pair at ‖v‖ = s√d therefore has the largest profile at every ε, that is,
it dominates all other pairs, also under adaptive composition; Rényi divergences of
order ≥ 1 are mixtures of the δ(ε) with positive weights. ∎

**Rounding.** The noise is released on a public lattice of pitch p = step/2^16, or p = 1
for whole numbers. An answer is first rounded to the lattice, which keeps |difference| ≤ M
pitches for each answer where it was ≤ M pitches, M an integer; so ‖v‖₂ ≤ Mp√d still
holds. Then round(answer + Z) is a function of answer + Z and nothing else
(post-processing), so the guarantee of the continuous law is the guarantee of the release.

**Whole numbers.** Answers that are whole numbers, rounded to whole numbers, get the
noise X = ⌊Z + ½⌋: P(X > k) = P(Z > k + ½) for every answer. With W = Z + ½ − ⌊Z + ½⌋ −
½ and its Fourier series, E[X²] = E[Z²] − 2E[ZW] + E[W²] is

    (d+1)b² + 1/12 + Σ_{j≥1} (−1)^j [φ(2πj)/(πj)² + 4(d+1)b²(1 + (2πjb)²)^(−(d+3)/2)],

φ being the characteristic function of one answer: 1/12 above E[Z²] as soon as b is
large. For small b the sum Σ (2k+1) P(|X| > k) is short.

**One answer** has a symmetric variance-gamma law: see `variance_gamma`.

**Exponents.** e^(−(‖z‖/b)^β) with β > 1 was measured and left out. At σ = 8, s = 1, δ = 1e-6 and
one release β = 1 is best or within 1e-3 of it (d = 2: ε = 0.306 at β = 1, 0.334 at 1.1, 0.494 at
1.5; d = 10: 1.207, 1.216, 1.417; d = 60: 4.2890, 4.2892, 4.423; d = 100: 5.923, 5.924, 6.045).
When several batches are composed an exponent between 1.1 and 1.4 gains more: 0.6 % for two
batches of 10, 1.1 % for four, 4.7 % for ten batches of 5. `sphere` refuses it: exponents that can
be drawn exactly are in `laws.bent_sphere`, which designs for several promises try.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

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
from leastnoise.laws import rounded_normals
from leastnoise.laws.base import (
    Domain,
    Noise,
    answers_of_a_draw,
    coefficients_of,
    probabilities,
)
from leastnoise.laws.variance_gamma import log_bessels, log_gamma_ratio, log_tail, place_of_tail
from leastnoise.laws.whole import check_joint, middle_above, whole_quantile
from leastnoise.losses.base import Loss, unproven_below
from leastnoise.losses.sphere import ball_loss
from leastnoise.sampling.sphere import SphereSampler

# scale in whole numbers from which their variance is summed as a Fourier series
_COARSE = 1.0
_TERMS = np.arange(1.0, 401.0)  # of that series: the last one is below 1e-16
_FARTHEST = 1e15  # in units of b: there every tail is 0, and nothing has overflowed


@dataclass(frozen=True)
class BallNoise(Noise):
    """Density ∝ e^(−‖z‖₂/scale) on `dimension` answers at once, released on multiples
    of step/2^16; with `domain="integer"` rounded to whole numbers.

    Guarantees: frozen; `pdf`, `ccdf` and `quantile` have a relative error below 1e-11 down to
    1e-290. On the real line the numbers are those of the continuous law, to whose variance
    rounding to the lattice adds step²/5e10; on the integers they are those of the rounded law.
    """

    scale: float
    dimension: int = 2
    step: float = 1.0
    domain: Domain = "real"

    kind: ClassVar[str] = "ball"

    def __post_init__(self) -> None:
        check_joint(self, " (for one answer the law is Laplace's)")

    @property
    def shape(self) -> str:
        return "sphere"

    @property
    def has_convex_levels(self) -> bool:
        """They are balls, and rounding on a lattice that the answer lies on is post-processing."""
        return True

    @cached_property
    def variance(self) -> float:
        """E‖Z‖²/d: the radius has the law Gamma(d, b), so E‖Z‖² = d(d+1)b²; on the
        integers that of the rounded noise."""
        if self.domain == "integer":
            return _whole_variance(self.dimension, self.scale)
        return (self.dimension + 1.0) * self.scale**2

    def as_one_answer(self, coefficients: ArrayLike) -> tuple[Noise, float] | None:
        """It is the same in every direction before it is rounded."""
        if self.domain == "integer":
            return super().as_one_answer(coefficients)
        return self, float(np.linalg.norm(coefficients_of(self, coefficients)))

    def characteristic(self, coefficients: ArrayLike, t: ArrayLike) -> Floats:
        c, places = coefficients_of(self, coefficients), real_array("t", t)
        if self.domain == "real":
            square = (self.scale * float(np.linalg.norm(c)) * places) ** 2
            return np.asarray((1.0 + square) ** (-0.5 * (self.dimension + 1.0)))
        scales, weights = rounded_normals.chi_scales(self.dimension + 1)
        alike, none = np.ones(c.size), np.zeros(c.size)
        form = self.scale * scales, weights, c, alike, none, places.ravel()
        return rounded_normals.characteristic(*form).reshape(places.shape)

    def pmf(self, k: ArrayLike) -> Floats:
        raise UnsupportedError(
            "A continuous law that is rounded to a lattice has no masses by radius; use pdf, or "
            "differences of ccdf."
        )

    def pdf(self, x: ArrayLike) -> Floats:
        if self.domain == "integer":
            raise UnsupportedError("A law on the integers has no density; use differences of ccdf.")
        nu = 0.5 * self.dimension
        log_density = log_bessels(self.dimension, self._place(x))[0]
        return np.asarray(np.exp(log_density + log_gamma_ratio(nu)) / self.scale, dtype=np.float64)

    def ccdf(self, x: ArrayLike) -> Floats:
        x = real_array("x", x)
        if self.domain == "integer":
            x = middle_above(x)
        far = np.exp(log_tail(self.dimension, self._place(x)))
        return np.asarray(np.where(x >= 0, far, 1.0 - far), dtype=np.float64)

    def quantile(self, u: ArrayLike, *, upper: bool = False) -> Floats:
        u = probabilities("u", u)
        low = np.minimum(u, 1.0 - u)
        size = self.scale * place_of_tail(self.dimension, low)
        positive_side = (u < 0.5) if upper else (u > 0.5)
        if self.domain == "real":
            return np.where(positive_side, size, -size)
        return whole_quantile(size, low, positive_side, self.ccdf)

    def loss(self, sensitivity: float, changes: Changes = BOX) -> Loss:
        moved = rounded_changes(
            changes, self.dimension, sensitivity, self._pitch, whole=self.domain == "integer"
        )
        loss = ball_loss(self.scale, self.dimension, moved.squared_length)
        # a length is rounded up by more than any one vector is, and noise in whole numbers reveals
        # less than what is rounded to them
        is_bound = moved.ranges is None or self.domain == "integer"
        return unproven_below(loss) if is_bound else loss

    def loss_at(self, distance: float | Fraction) -> Loss:
        """The loss when one person moves each answer by up to `distance`, an exact number."""
        moved = rounded_changes(BOX, self.dimension, distance, self._pitch)
        return ball_loss(self.scale, self.dimension, moved.squared_length)

    @property
    def _pitch(self) -> Fraction:
        return public_pitch(self.step, self.domain)

    def sampler(self) -> SphereSampler:
        return SphereSampler(self.scale, self.dimension, self.step, self.domain)

    def describe(self) -> dict[str, Any]:
        law = {
            "kind": self.kind,
            "dimension": self.dimension,
            "scale": self.scale.hex(),
            "step": self.step.hex(),
        }
        return law if self.domain == "real" else {**law, "domain": self.domain}

    @staticmethod
    def from_description(content: Mapping[str, Any]) -> BallNoise:
        scale, step = (float.fromhex(content[name]) for name in ("scale", "step"))
        answers = answers_of_a_draw(content["dimension"])
        return BallNoise(scale, answers, step, content.get("domain", "real"))

    def describe_drawn(self) -> dict[str, Any]:
        law = {
            "body": "sphere",
            "batch": self.dimension,
            "step": self.step,
            "pitch": str(public_pitch(self.step, self.domain)),
            "scale": self.scale,
        }
        return law if self.domain == "real" else {**law, "domain": self.domain}

    @staticmethod
    def from_drawn(content: Mapping[str, Any]) -> BallNoise:
        domain = content.get("domain", "real")
        fields = {"body", "batch", "step", "pitch", "scale"}
        only_fields("law", content, fields | {"domain"} if domain == "integer" else fields)
        answers = answers_of_a_draw(content["batch"])
        return BallNoise(number(content["scale"]), answers, number(content["step"]), domain)

    def insecure_draws(self, size: Any, generator: Any) -> Floats:
        # One answer is normal times the root of a chi-square; its quantiles take a
        # millisecond each.
        radius = np.sqrt(generator.chisquare(self.dimension + 1, size=size))
        drawn = np.asarray(self.scale * radius * generator.standard_normal(size=size))
        return np.floor(drawn + 0.5) if self.domain == "integer" else drawn

    def _place(self, x: ArrayLike) -> Floats:
        """|x| in units of b."""
        with np.errstate(over="ignore"):
            place = np.abs(real_array("x", x)) / self.scale
        return np.asarray(np.minimum(place, _FARTHEST), dtype=np.float64)


def sphere(
    sigma: float,
    batch: int,
    *,
    exponent: float = 1.0,
    sensitivity: float = 1.0,
    step: float | None = None,
    domain: Domain = "real",
) -> BallNoise:
    """Joint noise for `batch` answers with density ∝ e^(−‖x‖₂/b): the K-norm mechanism
    of the ℓ2 ball.

    Below about 50 answers `cube` needs less ε, beyond that this law does.

    Guarantees: sampled exactly as judged: `sample` and `release` give the continuous
    law rounded to the lattice, to the last bit.

    Args:
        sigma: Standard deviation of the noise on each answer, in the units of the
            answer; on the integers that of the rounded noise.
        batch: How many answers one draw serves, at least 2.
        exponent: Must be 1.
        sensitivity: How far one person can move each answer; it only sets the default `step`.
        step: Its 2^16th part is the pitch of the public lattice of releases on the real line.
        domain: "real", or "integer": the noise is rounded to whole numbers.

    Returns:
        The law of this standard deviation.

    Raises:
        InvalidParameterError: No law is, or the exponent is not 1.

    Example:
        >>> sphere(8.0, 60).std  # doctest: +ELLIPSIS
        8.0...
    """
    sigma, d = positive("sigma", sigma), positive_integer("batch", batch)
    if positive("exponent", exponent) != 1.0:
        raise InvalidParameterError(
            "exponent",
            exponent,
            "to be 1: laws of other exponents are found by designs for several promises "
            "(advantage=, constraints=)",
        )
    step = step_of_known_law(sigma, sensitivity, step, domain)
    scale = sigma / math.sqrt(d + 1.0) if domain == "real" else _whole_scale(sigma, d)
    return BallNoise(scale, d, step, domain)


def _whole_variance(dimension: int, scale: float) -> float:
    """E[⌊Z + ½⌋²] for one answer."""
    d, b = dimension, scale
    if b < _COARSE:
        k = np.arange(math.ceil(800.0 * b) + 2)
        beyond = np.exp(log_tail(d, np.asarray((k + 0.5) / b, dtype=np.float64)))
        return float(2.0 * np.sum((2.0 * k + 1.0) * beyond))
    spread = 1.0 + (2.0 * math.pi * b * _TERMS) ** 2
    terms = spread ** (-0.5 * (d + 1)) / (math.pi * _TERMS) ** 2
    terms = terms + 4.0 * (d + 1) * b**2 * spread ** (-0.5 * (d + 3))
    return (d + 1.0) * b**2 + 1.0 / 12.0 + float(np.sum(np.where(_TERMS % 2 == 1, -terms, terms)))


def _whole_scale(sigma: float, dimension: int) -> float:
    """b of the law whose rounded noise has the standard deviation `sigma`, which grows with b."""
    from scipy import optimize  # 0.2 s that nobody else waits for who reads a law

    def excess(log_scale: float) -> float:
        return math.log(max(_whole_variance(dimension, math.exp(log_scale)), 1e-300) / sigma**2)

    low = high = 0.5 * math.log(max(sigma**2 - 1.0 / 12.0, 0.01) / (dimension + 1.0))
    width = 1e-3
    while excess(low) > 0.0:
        low, width = low - width, 2.0 * width
    width = 1e-3
    while excess(high) < 0.0:
        high, width = high + width, 2.0 * width
    if low == high:
        return math.exp(low)
    return math.exp(optimize.brentq(excess, low, high, xtol=1e-15, rtol=1e-15))
