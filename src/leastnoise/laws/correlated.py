"""Correlated noise MZ, M = I + β·11ᵀ, for answers that all move the same way: Z in R^d has a
density that falls with ‖z‖₂, that of the sphere law or the normal one.

**Which distance.** Publishing q + MZ instead of q + v + MZ is, after applying M⁻¹, publishing Z
instead of Z + M⁻¹v. The worst shift is the one with the largest ‖M⁻¹v‖₂ = √(vᵀΣ⁻¹v), Σ = MMᵀ (see
`sphere`). With a = 2β + β²d, Σ = I + a·11ᵀ and Σ⁻¹ = I − a/(1 + ad)·11ᵀ, so for j entries of 1 and
the others 0 vᵀΣ⁻¹v = j − a·j²/(1 + ad). The form is convex in v: over a box it is largest at a
corner, so these, j = 0 … `touched`, are all that one-sided changes can do, and the largest of them
is what the law is judged at. Changes of any signs have corners with a sum of 0 or 1, changes of a
length r reach r itself.

**Which β.** The variance of an answer is 1 + a times that of Z₁, so g(a) = (1 + a)·max_j(j −
a·j²/(1 + ad)) is least for the best β, the same for every law of Z (Lebeda 2024 has a = 1/√d, and
so g = ((1 + √d)/2)²). With x = a/(1 + ad) the maximum is piecewise linear in x, with ties of j and
j + 1 at x = 1/(2j + 1), and g = j(1 − jx)(1 − (d−1)x)/(1 − dx) in between.

β is a float, so a dyadic number; a, Σ⁻¹ and the distance follow from it in exact arithmetic.

**Unequal ranges.** Answers that move by ranges of their own are scaled, and take shares g_i of what
is common: M = I + β·ggᵀ, so that Σ = I + a·ggᵀ with a = 2β + β²‖g‖², and vᵀΣ⁻¹v = ‖v‖² −
x·(g·v)², x = a/(1 + a‖g‖²). `longest_change` has the largest of it; `best_shares` chooses the
scales and shares (docs/mathematics.md#unequal-ranges). Whole numbers are not scaled: there the
noise of an answer is multiplied by a width w_i of its own, and rounded. q_i + ⌊w_i(MZ)_i + ½⌋ is a
function of q_i/w_i + (MZ)_i, so the distance is the largest vᵀΣ⁻¹v over the v_i/w_i, v whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from leastnoise.changes import BOX, Changes, OneSided
from leastnoise.errors import (
    InvalidParameterError,
    UnsupportedError,
    non_negative,
    one_of,
    positive,
    positive_integer,
    real_array,
    real_number,
)
from leastnoise.files.reading import number, only_fields
from leastnoise.lattice.longest_change import longest_change
from leastnoise.lattice.resolution import step_of_known_law
from leastnoise.lattice.rounded_changes import RoundedChanges, rounded_changes, rounded_ranges
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
from leastnoise.laws.gaussian import GaussianNoise
from leastnoise.laws.sphere import BallNoise, sphere
from leastnoise.laws.whole import check_joint, middle_above, whole_quantile
from leastnoise.losses.base import Loss, unproven_below
from leastnoise.losses.gaussian import gaussian_loss
from leastnoise.losses.sphere import ball_loss
from leastnoise.sampling.sphere import SphereSampler

Core = Literal["sphere", "gaussian"]
_LEAST_WHOLE = 0.999  # variance on the integers: below, rounding would move the covariance too
_ROUNDINGS = 12  # steps to the scale whose rounded noise has a standard deviation
_COARSE = 3.0  # σ from which the variance of rounded normal noise is σ² + 1/12 to the last digit
# The common part of answers of unequal ranges: factors of e^±3 about the closed form, then thirds
_WIDEST_FACTOR, _FACTORS, _THIRDS = 3.0, 12, 25
_NARROWEST = 1.0 / 64.0  # half of a range, as a share of its larger end: below, M would be singular
_FIELDS = {"body", "core", "batch", "step", "pitch", "scale", "common"}


@dataclass(frozen=True)
class CorrelatedNoise(Noise):
    """Noise Z_i + common·g_i·Σ g_l·Z_l on `dimension` answers at once, released on multiples of
    step/2^16.

    Guarantees: frozen; drawn exactly as judged; `pdf`, `ccdf` and `quantile` are those of one
    answer, which is alike for all, or with `shares` of that with the most noise.

    Attributes:
        core: The law of Z: "sphere", density ∝ e^(−‖z‖₂/scale), or "gaussian", normal of standard
            deviation `scale`.
        scale: Of Z, in the units of the answers.
        common: β, how much of the sum of all Z each answer gets.
        dimension: How many answers one draw serves.
        step: Its 2^16th part is the pitch of the public lattice.
        domain: "real", or "integer": the noise is rounded to whole numbers.
        shares: g_i in [−1, 1], one for each answer; None for 1 everywhere.
        widths: w_i > 0, one for each answer, of whole numbers with shares: what is rounded is
            w_i·(Z_i + common·g_i·Σ g_l·Z_l). None for 1 everywhere.
    """

    core: Core
    scale: float
    common: float
    dimension: int = 2
    step: float = 1.0
    domain: Domain = "real"
    shares: tuple[float, ...] | None = None
    widths: tuple[float, ...] | None = None

    kind: ClassVar[str] = "correlated"

    def __post_init__(self) -> None:
        object.__setattr__(self, "core", one_of("core", self.core, ("sphere", "gaussian")))
        object.__setattr__(self, "common", non_negative("common", self.common))
        check_joint(self)
        if self.shares is not None:
            object.__setattr__(self, "shares", _checked_shares(self))
        if self.widths is not None:
            object.__setattr__(self, "widths", _checked_widths(self))
        if self.domain == "integer" and min(self.stds) ** 2 < _LEAST_WHOLE:
            raise InvalidParameterError(
                "scale", self.scale, "to give a standard deviation of at least 1 on the integers"
            )

    @property
    def shape(self) -> str:
        return "correlated normal" if self.core == "gaussian" else "correlated sphere"

    @property
    def has_convex_levels(self) -> bool:
        """Its level sets do not keep their shape when the sign of one answer is changed."""
        return self.common == 0.0

    @property
    def shared(self) -> Fraction:
        """a of Σ = I + a·ggᵀ, exactly."""
        beta = Fraction(self.common)
        return 2 * beta + beta * beta * self._squared_shares

    @cached_property
    def _squared_shares(self) -> Fraction:
        """‖g‖²."""
        if self.shares is None:
            return Fraction(self.dimension)
        return sum((Fraction(one) ** 2 for one in self.shares), Fraction(0))

    @property
    def ties(self) -> tuple[float, ...] | None:
        if self.shares is None:
            return None
        root = math.sqrt(self.shared)
        return tuple(root * share for share in self.shares)

    @cached_property
    def one_answer(self) -> Noise:
        """The law of the noise on one answer, as the marginal of a plain law."""
        if self.shares is None:
            return self._marginal(1.0, 1.0)
        widest = max(range(self.dimension), key=self._wide)
        return self.of_answer(widest)

    def of_answer(self, answer: int) -> Noise:
        if self.shares is None:
            return self.one_answer
        return self._marginal(self.shares[answer], self._width(answer))

    def _width(self, answer: int) -> float:
        return 1.0 if self.widths is None else self.widths[answer]

    def _wide(self, answer: int) -> float:
        """The standard deviation of an answer before rounding, in those of Z."""
        share = 1.0 if self.shares is None else self.shares[answer]
        return self._width(answer) * math.sqrt(1.0 + float(self.shared) * share**2)

    @property
    def stds(self) -> tuple[float, ...]:
        if self.shares is None or self.domain == "real":
            return super().stds
        kinds = list(zip(self.shares, map(self._width, range(self.dimension)), strict=True))
        known = {kind: self._marginal(*kind).std for kind in set(kinds)}
        return tuple(known[kind] for kind in kinds)

    @property
    def covariance(self) -> Floats:
        """Rounding to whole numbers adds to the variances and leaves the covariances."""
        if self.shares is None or self.domain == "real":
            return super().covariance
        one = self.scale**2 * (self.dimension + 1.0 if self.core == "sphere" else 1.0)
        widths = np.array([self._width(i) for i in range(self.dimension)])
        shares = widths * np.array(self.shares)
        found = one * float(self.shared) * np.outer(shares, shares)
        np.fill_diagonal(found, np.array(self.stds) ** 2)
        return np.asarray(found)

    def _marginal(self, share: float, width: float) -> Noise:
        wide = self.scale * width * math.sqrt(1.0 + float(self.shared) * share**2)
        if self.core == "sphere":
            return BallNoise(wide, self.dimension, self.step, self.domain)
        return GaussianNoise(wide) if self.domain == "real" else RoundedNormal(wide)

    def as_one_answer(self, coefficients: ArrayLike) -> tuple[Noise, float] | None:
        """c·MZ = (Mᵀc)·Z, and Z is the same in every direction before it is rounded."""
        if self.domain == "integer":
            return super().as_one_answer(coefficients)
        c = coefficients_of(self, coefficients)
        shares = np.ones(c.size) if self.shares is None else np.array(self.shares)
        squared = float(c @ c) + float(self.shared) * float(shares @ c) ** 2
        return self._marginal(0.0, 1.0), math.sqrt(squared)

    def characteristic(self, coefficients: ArrayLike, t: ArrayLike) -> Floats:
        """MZ has the law of s·(G_i + √a·g_i·G_0), whose covariance is s²(I + a·ggᵀ)."""
        c, places = coefficients_of(self, coefficients), real_array("t", t)
        if self.domain == "real":
            raise UnsupportedError("A form in noise of the real line is one answer of a law.")
        if self.core == "sphere":
            scales, weights = rounded_normals.chi_scales(self.dimension + 1)
        else:
            scales, weights = np.ones(1), np.ones(1)
        widths = np.array([self._width(i) for i in range(self.dimension)])
        shares = np.ones(c.size) if self.shares is None else np.array(self.shares)
        ties = math.sqrt(self.shared) * shares
        form = self.scale * scales, weights, c, widths, ties, places.ravel()
        return rounded_normals.characteristic(*form).reshape(places.shape)

    @property
    def variance(self) -> float:
        return self.one_answer.variance

    @property
    def correlation(self) -> float:
        """The correlation of the noise on two answers. Rounding to whole numbers adds to the
        variance and leaves the covariance, to a few per cent for two answers and much better for
        more. It differs from pair to pair with shares."""
        if self.shares is not None:
            raise UnsupportedError("Pairs of answers differ in their correlation: use variance_of.")
        shared = float(self.shared)
        plain = self.one_answer.variance if self.domain == "real" else self._before_rounding
        return shared / (1.0 + shared) * plain / self.one_answer.variance

    @property
    def _before_rounding(self) -> float:
        """The variance of one answer before it is rounded to whole numbers."""
        wide = self.scale**2 * (1.0 + float(self.shared))
        return wide * (self.dimension + 1.0) if self.core == "sphere" else wide

    def pmf(self, k: ArrayLike) -> Floats:
        raise UnsupportedError(
            "A continuous law that is rounded to a lattice has no masses by radius; use pdf, or "
            "differences of ccdf."
        )

    def pdf(self, x: ArrayLike) -> Floats:
        return self.one_answer.pdf(x)

    def ccdf(self, x: ArrayLike) -> Floats:
        return self.one_answer.ccdf(x)

    def quantile(self, u: ArrayLike, *, upper: bool = False) -> Floats:
        return self.one_answer.quantile(u, upper=upper)

    def insecure_draws(self, size: Any, generator: Any) -> Floats:
        return self.one_answer.insecure_draws(size, generator)

    def loss(self, sensitivity: float, changes: Changes = BOX) -> Loss:
        return self._loss(changes.fitted(self.dimension), sensitivity)

    def loss_at(self, distance: Fraction) -> Loss:
        return self._loss(BOX, distance)

    def _loss(self, changes: Changes, sensitivity: float | Fraction) -> Loss:
        moved = rounded_changes(
            changes, self.dimension, sensitivity, self._pitch, whole=self.domain == "integer"
        )
        squared, is_attained = self._squared_distance(moved, changes, sensitivity)
        if self.core == "sphere":
            loss: Loss = ball_loss(self.scale, self.dimension, squared)
        else:
            # rounded to nearest, then up: the root and the quotient are each within a rounding
            loss = gaussian_loss(self.scale, math.sqrt(squared) * (1.0 + 2.0**-50))
        # noise in whole numbers reveals less than what is rounded to them
        is_bound = not is_attained or self.domain == "integer"
        return unproven_below(loss) if is_bound else loss

    def _squared_distance(
        self, moved: RoundedChanges, changes: Changes, sensitivity: float | Fraction
    ) -> tuple[Fraction, bool]:
        """The largest vᵀΣ⁻¹v or a bound on it, and whether it is attained."""
        x = self.shared / (1 + self.shared * self._squared_shares)
        is_alike = self.shares is None and self.widths is None
        if is_alike and moved.ranges is not None and len(moved.ranges) == 1:
            exactly = self._of_equal_ranges(*next(iter(moved.ranges)), moved.touched, x)
            if exactly is not None:
                return exactly, True
        each = rounded_ranges(changes, self.dimension, sensitivity, self._pitch)
        if each is None:  # ‖v‖₂² is more, as Σ ≥ I
            return moved.squared_length / Fraction(min(self.widths or (1.0,))) ** 2, False
        if self.widths is not None:
            widths = map(Fraction, self.widths)
            each = tuple((low / w, high / w) for (low, high), w in zip(each, widths, strict=True))
        shares = (1.0,) * self.dimension if self.shares is None else self.shares
        return longest_change(each, [Fraction(one) for one in shares], x, moved.touched)

    def _of_equal_ranges(
        self, low: Fraction, high: Fraction, k: int, x: Fraction
    ) -> Fraction | None:
        """The same where the ranges are equal and one-sided or symmetric; else None."""
        if low == 0:
            return high * high * max(j - x * j * j for j in self._counts(k, x))
        if low == -high:
            return high * high * max(Fraction(k) - x * (k % 2), Fraction(k - 1) - x * ((k - 1) % 2))
        return None

    @staticmethod
    def _counts(touched: int, x: Fraction) -> set[int]:
        """The numbers of ones among which j − x·j² is largest: it rises up to j = 1/(2x)."""
        top = touched if x == 0 else min(touched, math.floor(1 / (2 * x)))
        return {top, min(top + 1, touched)}

    @property
    def _pitch(self) -> Fraction:
        return public_pitch(self.step, self.domain)

    def sampler(self) -> SphereSampler:
        law = self.scale, self.dimension, self.step, self.domain
        is_normal = self.core == "gaussian"
        return SphereSampler(*law, self.common, is_normal, self.shares, self.widths)

    def describe(self) -> dict[str, Any]:
        law = {
            "kind": self.kind,
            "core": self.core,
            "dimension": self.dimension,
            "scale": self.scale.hex(),
            "common": self.common.hex(),
            "step": self.step.hex(),
            "domain": self.domain,
        }
        return {**law, **self._unequal(float.hex)}

    def _unequal(self, told: Callable[[float], Any]) -> dict[str, Any]:
        """Shares and widths for a file, where there are some."""
        parts = {"shares": self.shares, "widths": self.widths}
        return {name: [*map(told, each)] for name, each in parts.items() if each is not None}

    @staticmethod
    def from_description(content: Mapping[str, Any]) -> CorrelatedNoise:
        scale, common, step = (float.fromhex(content[name]) for name in ("scale", "common", "step"))
        law = content["core"], scale, common, answers_of_a_draw(content["dimension"]), step
        return CorrelatedNoise(*law, content["domain"], *_parts_in(content, float.fromhex))

    def describe_drawn(self) -> dict[str, Any]:
        law = {
            "body": self.kind,
            "core": self.core,
            "batch": self.dimension,
            "step": self.step,
            "pitch": str(self._pitch),
            "scale": self.scale,
            "common": self.common,
            "domain": self.domain,
        }
        return {**law, **self._unequal(float)}

    @staticmethod
    def from_drawn(content: Mapping[str, Any]) -> CorrelatedNoise:
        has = {name for name in ("shares", "widths") if content.get(name) is not None}
        only_fields("law", content, _FIELDS | {"domain"} | has)
        scale, common, step = (number(content[name]) for name in ("scale", "common", "step"))
        law = content["core"], scale, common, answers_of_a_draw(content["batch"]), step
        return CorrelatedNoise(*law, content["domain"], *_parts_in(content, number))


@dataclass(frozen=True)
class RoundedNormal(GaussianNoise):
    """One answer of normal noise that is rounded to whole numbers; it is not a law of its own, and
    has neither loss nor file."""

    domain: ClassVar[Domain] = "integer"

    @cached_property
    def variance(self) -> float:
        """σ² + 1/12 as soon as σ is large; else Σ (2k + 1) P(|X| > k)."""
        if self.sigma > _COARSE:
            return self.sigma**2 + 1.0 / 12.0
        k = np.arange(math.ceil(40.0 * self.sigma) + 2.0)
        return float(2.0 * np.sum((2.0 * k + 1.0) * self.ccdf(k)))

    def pdf(self, x: ArrayLike) -> Floats:
        raise UnsupportedError("A law on the integers has no density; use differences of ccdf.")

    def ccdf(self, x: ArrayLike) -> Floats:
        return GaussianNoise(self.sigma).ccdf(middle_above(x))

    def quantile(self, u: ArrayLike, *, upper: bool = False) -> Floats:
        u = probabilities("u", u)
        low, up = np.minimum(u, 1.0 - u), (u < 0.5) if upper else (u > 0.5)
        size = np.abs(GaussianNoise(self.sigma).quantile(low))
        return whole_quantile(size, low, up, self.ccdf)

    def insecure_draws(self, size: Any, generator: Any) -> Floats:
        drawn = np.floor(generator.normal(0.0, self.sigma, size=size) + 0.5)
        return np.asarray(drawn, dtype=np.float64)

    def loss(self, sensitivity: float, changes: Changes = BOX) -> Loss:
        raise UnsupportedError("One answer of a joint draw is not judged by itself.")


def correlated(
    sigma: float,
    batch: int,
    *,
    core: Core = "sphere",
    changes: Changes | None = None,
    sensitivity: float = 1.0,
    step: float | None = None,
    domain: Domain = "real",
) -> CorrelatedNoise:
    """Correlated noise for `batch` answers that one person moves all up or all down: the best of
    its kind for the standard deviation.

    Guarantees: sampled exactly as judged.

    Args:
        sigma: Standard deviation of the noise on each answer, in its units.
        batch: How many answers one draw serves, at least 2.
        core: "sphere" or "gaussian"; the first needs less ε at the same sigma.
        changes: What one person can change, `OneSided()` unless given; of that only how many
            answers are touched matters here.
        sensitivity: How far one person can move each answer; it only sets the default `step`.
        step: Its 2^16th part is the pitch of the public lattice of releases.
        domain: "real", or "integer": rounded to whole numbers.

    Returns:
        The law of this standard deviation.

    Raises:
        InvalidParameterError: No law is.

    Example:
        >>> from leastnoise import OneSided, PrivacyLoss
        >>> law = correlated(14.13, 40)
        >>> PrivacyLoss.of(law, 1.0, OneSided()).epsilon(1e-6) <= 1.0
        True
    """
    d = positive_integer("batch", batch)
    space = OneSided() if changes is None else changes
    beta = best_common(d, space.touched_of(d))
    shared = 2.0 * beta + beta * beta * d
    core = one_of("core", core, ("sphere", "gaussian"))
    if core == "gaussian":
        sigma = positive("sigma", sigma)
        step = step_of_known_law(sigma, sensitivity, step, domain)
        wide = sigma if domain == "real" else _before_rounding(sigma)
        return CorrelatedNoise(core, wide / math.sqrt(1.0 + shared), beta, d, step, domain)
    plain = sphere(sigma, d, sensitivity=sensitivity, step=step, domain=domain)
    scale = plain.scale / math.sqrt(1.0 + shared)
    return CorrelatedNoise(core, scale, beta, d, plain.step, domain)


def _before_rounding(sigma: float) -> float:
    """The standard deviation of the normal law that has this one once it is rounded."""
    low, high = 0.0, sigma
    if sigma > 2.0 * _COARSE:
        return math.sqrt(sigma**2 - 1.0 / 12.0)
    while high - low > 1e-15 * high:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        is_less = middle == 0.0 or RoundedNormal(middle).variance < sigma**2
        low, high = (middle, high) if is_less else (low, middle)
    return high


def _parts_in(
    content: Mapping[str, Any], read: Callable[[Any], float]
) -> Iterator[tuple[float, ...] | None]:
    """The shares and widths of a file."""
    for name in ("shares", "widths"):
        each = content.get(name)
        yield None if each is None else tuple(map(read, each))


def _one_each(name: str, given: Sequence[float], answers: int) -> tuple[float, ...]:
    found = tuple(real_number(f"{name}[{index}]", one) for index, one in enumerate(given))
    if len(found) != answers:
        expected = f"to be one for each of the {answers} answers"
        raise InvalidParameterError(f"number of {name}", len(found), expected)
    return found


def _checked_widths(law: CorrelatedNoise) -> tuple[float, ...]:
    """The widths as floats: as many as answers, positive, and of whole numbers with shares."""
    if law.domain != "integer" or law.shares is None:
        expected = "to be left out without shares, and on the real line: whole numbers have them"
        raise InvalidParameterError("widths", law.widths, expected)
    found = _one_each("widths", law.widths or (), law.dimension)
    return tuple(positive(f"widths[{index}]", one) for index, one in enumerate(found))


def _checked_shares(law: CorrelatedNoise) -> tuple[float, ...]:
    """The shares as floats: as many as answers, in [−1, 1]."""
    found = _one_each("shares", law.shares or (), law.dimension)
    for index, one in enumerate(found):
        if not abs(one) <= 1.0:
            raise InvalidParameterError(f"shares[{index}]", one, "to be in [-1, 1]")
    return found


def normal(
    sigma: float,
    batch: int,
    *,
    sensitivity: float = 1.0,
    step: float | None = None,
    domain: Domain = "real",
) -> CorrelatedNoise:
    """Independent normal noise on `batch` answers as one draw: judged by the length of the changes,
    and drawn exactly.

    Args:
        sigma: Standard deviation of the noise on each answer, in its units.
        batch: How many answers one draw serves, at least 2.
        sensitivity: How far one person can move each answer; it only sets the default `step`.
        step: Its 2^16th part is the pitch of the public lattice of releases.
        domain: "real", or "integer": the noise is rounded to whole numbers, for whole answers.

    Returns:
        The law of this standard deviation.

    Raises:
        InvalidParameterError: No law is.
    """
    step = step_of_known_law(positive("sigma", sigma), sensitivity, step, domain)
    wide = sigma if domain == "real" else _before_rounding(sigma)
    return CorrelatedNoise("gaussian", wide, 0.0, batch, step, domain)


def best_common(answers: int, touched: int) -> float:
    """The β that needs the least noise where one person moves at most `touched` of so many answers,
    all up or all down."""
    d, k = answers, touched
    if k == 1:
        return 0.0

    def g(x: float) -> float:
        j = min(max(math.floor(1.0 / (2.0 * x)), 1), k) if x > 0 else k
        most = max(j - x * j * j, min(j + 1, k) - x * min(j + 1, k) ** 2)
        return (1.0 - (d - 1.0) * x) / (1.0 - d * x) * most

    ties = [0.0, *(1.0 / (2.0 * j + 1.0) for j in range(k - 1, (d - 1) // 2, -1)), 1.0 / d]
    best = min(ties[:-1], key=g)
    at = ties.index(best)
    pieces = [(ties[i], ties[i + 1]) for i in (at - 1, at) if 0 <= i < len(ties) - 1]
    x = min([best, *(_least(g, *piece) for piece in pieces)], key=g)
    a = x / (1.0 - d * x)
    return (math.sqrt(1.0 + a * d) - 1.0) / d


@dataclass(frozen=True)
class SharedNoise:
    """How answers of unequal ranges share a common part, once each is divided by its scale.

    Attributes:
        scales: Of each answer, in sensitivities.
        common: β.
        shares: g.
        weights: Of the squared errors that they make small; None for all the same.
    """

    scales: tuple[float, ...]
    common: float
    shares: tuple[float, ...]
    weights: tuple[float, ...] | None = None

    @property
    def stds(self) -> tuple[float, ...]:
        """Standard deviation of the noise on each answer, in sensitivities, where the answer with
        the most noise has 1 of its scale."""
        g = np.array(self.shares)
        a = 2.0 * self.common + self.common**2 * float(np.sum(g**2))
        stds = np.sqrt((1.0 + a * g**2) / (1.0 + a * float(np.max(g**2))))
        return tuple((np.array(self.scales) * stds).tolist())

    @property
    def spread(self) -> float:
        """The root of the weighted mean square of these."""
        return self.error(self.stds)

    def error(self, stds: Sequence[float]) -> float:
        """The root of the weighted mean square of standard deviations."""
        alpha = (1.0,) * len(self.scales) if self.weights is None else self.weights
        whole = math.fsum(one * std**2 for one, std in zip(alpha, stds, strict=True))
        return math.sqrt(whole / math.fsum(alpha))

    def changes(self, ranges: Sequence[tuple[float, float]], touched: int | None) -> OneSided:
        """The changes of the answers once they are divided by their scales, rounded outwards."""
        scaled = tuple(
            (_outwards(low / scale, -1.0), _outwards(high / scale, 1.0))
            for (low, high), scale in zip(ranges, self.scales, strict=True)
        )
        return OneSided(touched, scaled)


def _outwards(end: float, way: float) -> float:
    return end if end == 0.0 else math.nextafter(end, way * math.inf)


def best_shares(
    ranges: Sequence[tuple[float, float]], weights: Sequence[float], touched: int
) -> SharedNoise:
    """Scales and shares that need the least Σ weight·variance for answers of these ranges.

    With the middle t_i and the half-width w_i of each range, weights α, b_i² = w_i/√α_i and b_0² =
    1/√(Σα t²) the scales are b_i and the shares f·b_0·t_i/b_i, f = 1: by Cauchy and Schwarz the
    best of the bound Δ² ≤ 1/b_0² + Σ(v_i − t_i)²/b_i². The distance itself is less, so f is
    searched for. No scale is so small that a change is more than 1 of it.
    """
    low, high = (np.array([each[end] for each in ranges]) for end in (0, 1))
    alpha, reach = np.array(weights), np.maximum(-low, high)
    middle, half = 0.5 * (low + high), np.maximum(0.5 * (high - low), _NARROWEST * reach)
    scales = np.sqrt(half / np.sqrt(alpha))
    scales *= float(np.max(reach / scales)) * (1.0 + 2.0**-40)
    together = float(np.sqrt(np.sum(alpha * middle**2)))
    if together == 0.0:
        return SharedNoise(tuple(scales.tolist()), 0.0, (0.0,) * len(ranges), tuple(weights))
    ties = middle / scales
    largest = float(np.max(np.abs(ties)))
    shares = ties / largest
    # b_0·t/b in the units of the scales: Σ√α·w of the variances have the share √(Σα t²) of them
    first = float(np.sum(alpha * scales**2)) / float(np.sum(np.sqrt(alpha) * half)) * largest**2
    first /= together
    each = [
        (Fraction(float(a)), Fraction(float(b)))
        for a, b in zip(low / scales, high / scales, strict=True)
    ]
    exact_shares = [Fraction(float(one)) for one in shares]
    length = sum((one * one for one in exact_shares), Fraction(0))

    def needed(log_factor: float) -> float:
        a = first * math.exp(log_factor)
        x = Fraction(a) / (1 + Fraction(a) * length)
        far, _ = longest_change(each, exact_shares, x, touched)
        return float(far) * float(np.sum(alpha * scales**2 * (1.0 + a * shares**2)))

    tried = [_WIDEST_FACTOR * (i / _FACTORS - 1.0) for i in range(2 * _FACTORS + 1)]
    best = min(tried, key=needed)
    step = _WIDEST_FACTOR / _FACTORS
    found = _least(needed, best - step, best + step, _THIRDS)
    a = first * math.exp(min((best, found), key=needed))
    squared = float(length)
    common = (math.sqrt(1.0 + a * squared) - 1.0) / squared
    return SharedNoise(tuple(scales.tolist()), common, tuple(shares.tolist()), tuple(weights))


def shared(
    sigma: float,
    parts: SharedNoise,
    *,
    core: Core,
    sensitivity: float = 1.0,
    step: float | None = None,
    domain: Domain = "real",
) -> CorrelatedNoise:
    """Correlated noise with shares; `sigma` is the standard deviation of the answer with the most,
    once it is divided by its scale. On whole numbers, which are not divided, it is the root of the
    weighted mean square of the standard deviations."""
    d = len(parts.shares)
    step = step_of_known_law(positive("sigma", sigma), sensitivity, step, domain)
    if domain == "integer":
        return _whole_shared(sigma, parts, core)
    law = CorrelatedNoise(core, 1.0, parts.common, d, step, "real", parts.shares)
    return replace(law, scale=sigma / law.std)


def _whole_shared(sigma: float, parts: SharedNoise, core: Core) -> CorrelatedNoise:
    """The law whose weighted error is `sigma` once it is rounded, by Newton's steps: rounding adds
    about 1/12 to every variance."""
    d, squared = len(parts.shares), sigma**2 - 1.0 / 12.0
    if squared <= 0.0:
        raise InvalidParameterError("sigma", sigma, "to be larger for noise in whole numbers")
    unit = CorrelatedNoise(core, 1.0, parts.common, d, 1.0, "real", parts.shares)
    one = unit.std * parts.spread
    for _ in range(_ROUNDINGS):
        scale = math.sqrt(squared) / one
        law = CorrelatedNoise(
            core, scale, parts.common, d, 1.0, "integer", parts.shares, parts.scales
        )
        missed = sigma**2 - parts.error(law.stds) ** 2
        if abs(missed) <= 1e-12 * sigma**2:
            break
        squared += missed
    return law


def gaussian_reach(answers: int, changes: Changes, weights: Sequence[float] | None = None) -> float:
    """The squared length of the worst change in units of the standard deviation of an answer, with
    the best normal noise for the space: μ² = this/σ² of one draw. Where answers have unequal ranges
    or weights, σ is the root of the weighted mean square of their standard deviations."""
    parts = gaussian_parts(answers, changes, weights)
    if parts is not None:
        each = float_ranges(changes, answers)
        law = shared(1.0, parts, core="gaussian")
        space = parts.changes(each, changes.touched_of(answers))
        return float(law.loss(1.0, space).normal_variance or math.nan) * parts.spread**2
    if not changes.is_one_sided:
        return float(changes.squared_length(answers))
    law = correlated(1.0, answers, core="gaussian", changes=changes)
    return float(law.loss(1.0, changes).normal_variance or math.nan)


def gaussian_parts(
    answers: int, changes: Changes, weights: Sequence[float] | None
) -> SharedNoise | None:
    """Scales and shares of the best normal noise; None where all answers are alike."""
    has_ranges = isinstance(changes, OneSided) and changes.ranges is not None
    if answers == 1 or not (has_ranges or weights) or changes.ranges_of(answers) is None:
        return None
    alpha = (1.0,) * answers if weights is None else weights
    return best_shares(float_ranges(changes, answers), alpha, changes.touched_of(answers))


def float_ranges(changes: Changes, answers: int) -> tuple[tuple[float, float], ...]:
    """The range of each answer; its ends were floats."""
    each = changes.range_of_each(answers) or ()
    return tuple((float(low), float(high)) for low, high in each)


def _least(g: Callable[[float], float], low: float, high: float, thirds: int = 100) -> float:
    """Where g is least between two ties, where it falls and then rises: by thirds."""
    high -= 1e-12 * (high - low)
    for _ in range(thirds):
        one, two = low + (high - low) / 3.0, high - (high - low) / 3.0
        low, high = (low, two) if g(one) < g(two) else (one, high)
    return 0.5 * (low + high)
