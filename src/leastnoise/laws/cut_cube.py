"""The law between cube and sphere: joint noise Z in R^d with density ∝ e^(−N(z)/b),
N(z) = max(‖z‖_∞, ‖z‖₂/√C), for 28 to 120 answers of any signs released together.

Its level sets are cubes cut by a ball, K = {|w_i| ≤ 1, Σw_i² ≤ C} and its multiples: the corners of
the cube, which cost variance and hide nobody, are cut off. C = 1 is the sphere law, C = d the cube.

**Worst shift.** K is convex and keeps its shape when the sign of an answer is changed, so on every
line along an axis it is an interval with its middle at 0. What two such intervals share does not
grow with the distance of their middles, so the corner (s, …, s) of the box is the worst shift for
every ε (docs/worst-shift.md). The rounding to a public lattice is post-processing, as for the
sphere (`laws.sphere`).

**Which C.** At ε = s/b the cube part costs nothing, and below it about (s/b − ε)/2. So the least ε
at δ is s/b for the least C whose ball part is at most δ there: a smaller one gives up privacy, a
larger one variance. At ε = 1 and δ = 1e-6 that takes 0.97, 0.90, 0.935 and 0.97 of the variance of
the better of cube and sphere for 30, 40, 50 and 60 answers.

**One answer.** w_1 has a density that falls with |w_1|, so it is a mixture of uniform laws on
[−u, u]: of density ∝ u²·f(C − u²), f being that of the sum of d − 1 squares, and an atom at u = 1.
With ρ of the law Gamma(d + 1), y = x/(bu) and Q the upper incomplete gamma function,
P(bρu·U > x) = ½(Q(d + 1, y) − (y/d)·Q(d, y)). The variance is (d + 1)(d + 2)b²·E[u²]/3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from leastnoise.changes import BOX, Changes, farthest
from leastnoise.errors import (
    InvalidParameterError,
    UnsupportedError,
    open_unit,
    positive,
    positive_integer,
    real_array,
)
from leastnoise.files.reading import number, only_fields
from leastnoise.lattice.resolution import step_of_known_law
from leastnoise.lattice.rounded_changes import rounded_changes
from leastnoise.lattice.shells import Floats
from leastnoise.lattice.steps import public_pitch
from leastnoise.laws.base import Domain, Noise, answers_of_a_draw, probabilities
from leastnoise.laws.whole import check_joint, middle_above, whole_quantile
from leastnoise.losses.base import Loss, unproven_below
from leastnoise.losses.cube_sums import FEWEST, SumOfSquares, ball_share, panels
from leastnoise.losses.cut_cube import CutCubeLoss, cut_cube_loss, rough_ball_part
from leastnoise.sampling.cut_cube import MOST_ANSWERS, CutCubeSampler

_LEAST_WHOLE = 3.0  # σ on the integers from which rounding adds 1/12 to the variance, to 1e-15
_SERVED = (28, 120)  # answers: fewer gain nothing and take seconds to judge, more are not drawn
_SELDOM = 2e-4  # share of the cube inside the ball: below, a draw takes 10 ms and more
_HALVINGS = 80  # of the place of a quantile
_CHUNK = 1 << 18  # terms at a time
_CLOSE = 1e-6  # of C
_SPARED = 5e-5  # of δ, for what the search does not look at
_FIELDS = {"body", "batch", "step", "pitch", "scale", "square"}


@dataclass(frozen=True)
class CutCubeNoise(Noise):
    """Density ∝ e^(−max(‖z‖_∞, ‖z‖₂/√square)/scale) on `dimension` answers at once, released on
    multiples of step/2^16; with `domain="integer"` rounded to whole numbers.

    Guarantees: frozen; drawn exactly as judged; `pdf`, `ccdf` and `quantile` have a relative error
    below 1e-8 down to 1e-200.

    Attributes:
        scale: b, in the units of the answers.
        square: C, the squared radius of the ball in half-widths of the cube.
        dimension: How many answers one draw serves.
        step: Its 2^16th part is the pitch of the public lattice.
        domain: "real", or "integer": the noise is rounded to whole numbers.
    """

    scale: float
    square: float
    dimension: int = 40
    step: float = 1.0
    domain: Domain = "real"

    kind: ClassVar[str] = "cut cube"

    def __post_init__(self) -> None:
        check_joint(self)
        object.__setattr__(self, "square", positive("square", self.square))
        if not FEWEST <= self.dimension <= MOST_ANSWERS:
            raise InvalidParameterError(
                "dimension", self.dimension, f"to be from {FEWEST} to {MOST_ANSWERS}"
            )
        if not 1.0 <= self.square <= self.dimension:
            raise InvalidParameterError("square", self.square, "to be from 1 to the dimension")
        if self.domain == "integer" and self.variance < 0.999 * _LEAST_WHOLE**2:
            raise InvalidParameterError(
                "scale", self.scale, "to give a standard deviation of at least 3 on the integers"
            )

    @property
    def has_convex_levels(self) -> bool:
        """They are cubes cut by balls, and rounding is post-processing."""
        return True

    @cached_property
    def variance(self) -> float:
        """(d + 1)(d + 2)b²·E[w_1²]; on the integers 1/12 more."""
        plain = self.scale**2 * unit_variance(self.dimension, self.square)
        return plain if self.domain == "real" else plain + 1.0 / 12.0

    def pmf(self, k: ArrayLike) -> Floats:
        raise UnsupportedError(
            "A continuous law that is rounded to a lattice has no masses by radius; use pdf, or "
            "differences of ccdf."
        )

    def pdf(self, x: ArrayLike) -> Floats:
        if self.domain == "integer":
            raise UnsupportedError("A law on the integers has no density; use differences of ccdf.")
        d = float(self.dimension)

        def density(y: Floats, width: Floats) -> Floats:
            return np.asarray(special.gammaincc(d, y) / (2.0 * d * width))

        return self._mixed(real_array("x", x), density)

    def ccdf(self, x: ArrayLike) -> Floats:
        x = real_array("x", x)
        if self.domain == "integer":
            x = middle_above(x)
        far = self._tail(x)
        return np.where(x >= 0, far, 1.0 - far)

    def _tail(self, x: Floats) -> Floats:
        """P(Z > |x|) of one answer before it is rounded."""
        d = float(self.dimension)

        def tail(y: Floats, _: Floats) -> Floats:
            # Q(d + 1, y) = Q(d, y) + y^d e^(−y)/d!
            last = np.exp(special.xlogy(d, y) - y - math.lgamma(d + 1.0))
            both = 0.5 * (special.gammaincc(d, y) * (1.0 - y / d) + last)
            return np.asarray(np.maximum(both, 0.0), dtype=np.float64)

        return np.asarray(np.minimum(self._mixed(x, tail), 0.5), dtype=np.float64)

    def _mixed(self, x: Floats, term: Any) -> Floats:
        """The mean of term(|x|/(bu), bu) over the widths u of the mixture."""
        u, weight = mixture(self.dimension, self.square)
        width = self.scale * u
        flat = np.minimum(np.abs(x).ravel(), 1e6 * self.scale)
        found = np.empty(flat.size)
        rows = max(1, _CHUNK // u.size)
        for start in range(0, flat.size, rows):
            y = flat[start : start + rows, None] / width
            found[start : start + rows] = np.sum(weight * term(y, width), axis=1)
        return found.reshape(np.shape(x))

    def quantile(self, u: ArrayLike, *, upper: bool = False) -> Floats:
        u = probabilities("u", u)
        low = np.minimum(u, 1.0 - u)
        near = np.zeros(low.shape)
        far = np.full(low.shape, self.scale * (2.0 * self.dimension + 1500.0))
        for _ in range(_HALVINGS):
            middle = 0.5 * (near + far)
            is_beyond = self._tail(middle) > low
            near, far = np.where(is_beyond, middle, near), np.where(is_beyond, far, middle)
        size = np.where(low == 0.5, 0.0, far)
        positive_side = (u < 0.5) if upper else (u > 0.5)
        if self.domain == "real":
            return np.where(positive_side, size, -size)
        return whole_quantile(size, low, positive_side, self.ccdf)

    def loss(self, sensitivity: float, changes: Changes = BOX) -> Loss:
        moved = rounded_changes(changes, self.dimension, sensitivity, self._pitch)
        if moved.ranges is None:  # no answer moves farther than by the whole length
            return unproven_below(self.loss_at(Fraction(farthest(sensitivity, changes))))
        loss = self._loss(max(max(-low, high) for low, high in moved.ranges))
        # noise in whole numbers reveals less than what is rounded to them
        is_bound = not changes.has_corner(self.dimension) or self.domain == "integer"
        return unproven_below(loss) if is_bound else loss

    def loss_at(self, distance: float | Fraction) -> Loss:
        """The loss when one person moves each answer by up to `distance`, an exact number."""
        moved = rounded_changes(BOX, self.dimension, distance, self._pitch)
        return self._loss(max(high for _, high in moved.ranges or ()))

    def _loss(self, shift: Fraction) -> CutCubeLoss:
        return cut_cube_loss(self.scale, self.square, self.dimension, shift)

    @property
    def _pitch(self) -> Fraction:
        return public_pitch(self.step, self.domain)

    def sampler(self) -> CutCubeSampler:
        if ball_share(self.dimension, self.square)[1] < _SELDOM:
            raise UnsupportedError(
                "The ball is too small a part of the cube for this law to be drawn; take "
                "sphere(sigma, batch)."
            )
        return CutCubeSampler(self.scale, self.square, self.dimension, self.step, self.domain)

    def describe(self) -> dict[str, Any]:
        law = {
            "kind": self.kind,
            "dimension": self.dimension,
            "scale": self.scale.hex(),
            "square": self.square.hex(),
            "step": self.step.hex(),
        }
        return law if self.domain == "real" else {**law, "domain": self.domain}

    @staticmethod
    def from_description(content: Mapping[str, Any]) -> CutCubeNoise:
        scale, square, step = (float.fromhex(content[name]) for name in ("scale", "square", "step"))
        answers = answers_of_a_draw(content["dimension"])
        return CutCubeNoise(scale, square, answers, step, content.get("domain", "real"))

    def describe_drawn(self) -> dict[str, Any]:
        law = {
            "body": self.kind,
            "batch": self.dimension,
            "step": self.step,
            "pitch": str(self._pitch),
            "scale": self.scale,
            "square": self.square,
        }
        return law if self.domain == "real" else {**law, "domain": self.domain}

    @staticmethod
    def from_drawn(content: Mapping[str, Any]) -> CutCubeNoise:
        domain = content.get("domain", "real")
        only_fields("law", content, _FIELDS | {"domain"} if domain == "integer" else _FIELDS)
        answers = answers_of_a_draw(content["batch"])
        scale, square, step = (number(content[name]) for name in ("scale", "square", "step"))
        return CutCubeNoise(scale, square, answers, step, domain)

    def insecure_draws(self, size: Any, generator: Any) -> Floats:
        u, weight = mixture(self.dimension, self.square)
        width = generator.choice(u, size=size, p=weight)
        radius = self.scale * generator.gamma(self.dimension + 1.0, size=size)
        drawn = np.asarray(radius * width * generator.uniform(-1.0, 1.0, size=size))
        return np.floor(drawn + 0.5) if self.domain == "integer" else drawn


@lru_cache(maxsize=64)
def mixture(dimension: int, square: float) -> tuple[Floats, Floats]:
    """Widths u and weights of the uniform laws on [−u, u] that w_1 is a mixture of."""
    sums = SumOfSquares.near(dimension - 1, square)
    nodes, weights = panels(8)
    u = 0.5 * (nodes + 1.0)
    parts = 0.5 * weights * 2.0 * u**2 * sums.density(square - u**2)
    low, high = sums.share(np.array([square - 1.0]))
    u, parts = np.append(u, 1.0), np.append(parts, 0.5 * (low[0] + high[0]))
    return u, parts / np.sum(parts)


def unit_variance(dimension: int, square: float) -> float:
    """The variance of one answer for b = 1."""
    u, weight = mixture(dimension, square)
    return (dimension + 1.0) * (dimension + 2.0) * float(np.sum(weight * u**2)) / 3.0


def cut_cube(
    sigma: float,
    batch: int,
    *,
    delta: float = 1e-6,
    sensitivity: float = 1.0,
    step: float | None = None,
    domain: Domain = "real",
) -> CutCubeNoise:
    """Joint noise for `batch` answers between `cube` and `sphere`, of the least ε at `delta`.

    Args:
        sigma: Standard deviation of the noise on each answer, in the units of the answer; on the
            integers that of the rounded noise.
        batch: How many answers one draw serves.
        delta: The δ of one release, which decides how much of the cube is cut off.
        sensitivity: How far one person can move each answer.
        step: Its 2^16th part is the pitch of the public lattice of releases on the real line.
        domain: "real", or "integer": the noise is rounded to whole numbers.

    Returns:
        The law of this standard deviation.

    Raises:
        InvalidParameterError: No law is; or the cube or the sphere serves so many answers better.

    Example:
        >>> round(cut_cube(8.0, 60).square, 2)
        18.56
    """
    sigma, d = positive("sigma", sigma), positive_integer("batch", batch)
    delta = open_unit("delta", delta)
    step = step_of_known_law(sigma, sensitivity, step, domain)
    if not _SERVED[0] <= d <= _SERVED[1]:
        between = f"to be from {_SERVED[0]} to {_SERVED[1]}: take cube() below and sphere() beyond"
        raise InvalidParameterError("batch", d, between)
    plain = sigma if domain == "real" else math.sqrt(max(sigma**2 - 1.0 / 12.0, 0.01))
    square = _best_square(d, plain / sensitivity, delta)
    scale = plain / math.sqrt(unit_variance(d, square))
    return CutCubeNoise(scale, square, d, step, domain)


@lru_cache(maxsize=64)  # a design asks for the sigma it ends with twice
def _best_square(dimension: int, sigma: float, delta: float) -> float:
    """The C of unit sensitivity for which the ball part is `delta` at ε = 1/b."""
    from scipy import optimize  # 0.2 s that nobody else waits for who reads a law

    @cache
    def excess(square: float) -> float:
        ratio = math.sqrt(unit_variance(dimension, square)) / sigma
        found = rough_ball_part(CutCubeLoss(ratio, square, dimension))
        return math.log(max(found, 1e-300) / (delta * (1.0 - _SPARED)))

    least = most = dimension / 3.0
    while excess(most) > 0.0:
        least, most = most, most + 0.05 * dimension
        if most > dimension / 3.0 + 1.2 * math.sqrt(dimension):
            raise InvalidParameterError("batch", dimension, "to be larger: take cube()")
    while excess(least) < 0.0:
        least, most = 0.9 * least, least
        if ball_share(dimension, least)[1] < _SELDOM:
            raise InvalidParameterError("batch", dimension, "to be smaller: take sphere()")
    return float(optimize.brentq(excess, least, most, xtol=_CLOSE * least, rtol=_CLOSE))
