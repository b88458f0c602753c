"""Between the sphere and normal noise: some answers of a sphere law that has more of them.

Z in R^D has the density ∝ e^(−‖z‖₂/b) of the sphere law (`laws.sphere`), and only its first d
coordinates are ever added to an answer; the others are drawn and thrown away. D = d is the sphere
law, and for D → ∞ with b√(D + 1) = σ held it is normal noise of standard deviation σ, for Z is
b·√(χ²_{D+1}) times a normal vector and the root settles at √(D + 1). In between it trades noise for
the attacker's advantage: ten answers at ε = 1, δ = 1e-6 have σ = 9.61 and an advantage of 0.140 for
D = 10, 10.46 and 0.127 for 14, 11.20 and 0.116 for 20, 12.20 and 0.105 for 40, and normal noise
13.36 and 0.094.

**Judge.** Moving d answers by v moves Z by (v, 0, …, 0), of the same length. What is shown is a
function of Z + (v, 0, …, 0), so the loss of the whole sphere law in R^D at the distance ‖v‖₂ is an
upper bound on that of the release: post-processing. It is not attained (the coordinates that are
kept back would say more), so there are no lower bounds. Rounding to the public lattice is
post-processing too, as for the sphere.

**One answer** is one coordinate of the sphere law in R^D: the same variance-gamma law.
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
from leastnoise.errors import InvalidParameterError, positive, positive_integer
from leastnoise.files.reading import number, only_fields
from leastnoise.lattice.resolution import step_of_known_law
from leastnoise.lattice.rounded_changes import rounded_changes
from leastnoise.lattice.shells import Floats
from leastnoise.lattice.steps import public_pitch
from leastnoise.laws.base import Domain, Noise, answers_of_a_draw, coefficients_of
from leastnoise.laws.sphere import BallNoise
from leastnoise.laws.whole import check_joint
from leastnoise.losses.base import Loss, unproven_below
from leastnoise.losses.sphere import ball_loss
from leastnoise.sampling.sphere import FirstOfVectors, SphereSampler

_FIELDS = {"body", "batch", "of", "step", "pitch", "scale"}
_BODY = "part of sphere"


@dataclass(frozen=True)
class PartOfSphereNoise(Noise):
    """The first `dimension` of `of` answers of noise with density ∝ e^(−‖z‖₂/scale), released on
    multiples of step/2^16.

    Guarantees: frozen; drawn exactly as judged.

    Attributes:
        scale: b, in the units of the answers.
        of: How many coordinates are drawn, at least `dimension`.
        dimension: How many of them are shown, an answer each.
        step: Its 2^16th part is the pitch of the public lattice.
    """

    scale: float
    of: int
    dimension: int = 2
    step: float = 1.0

    kind: ClassVar[str] = _BODY
    domain: ClassVar[Domain] = "real"

    def __post_init__(self) -> None:
        check_joint(self)
        object.__setattr__(self, "of", positive_integer("of", self.of))
        if self.of < self.dimension:
            raise InvalidParameterError("of", self.of, f"to be at least {self.dimension}")

    @property
    def has_convex_levels(self) -> bool:
        """A mixture of normal laws about 0 falls with ‖z‖₂: its level sets are balls."""
        return True

    @cached_property
    def whole(self) -> BallNoise:
        """The sphere law that it is a part of."""
        return BallNoise(self.scale, self.of, self.step)

    @property
    def variance(self) -> float:
        return self.whole.variance

    def as_one_answer(self, coefficients: ArrayLike) -> tuple[Noise, float] | None:
        """It is the same in every direction."""
        return self, float(np.linalg.norm(coefficients_of(self, coefficients)))

    def pmf(self, k: ArrayLike) -> Floats:
        return self.whole.pmf(k)

    def pdf(self, x: ArrayLike) -> Floats:
        return self.whole.pdf(x)

    def ccdf(self, x: ArrayLike) -> Floats:
        return self.whole.ccdf(x)

    def quantile(self, u: ArrayLike, *, upper: bool = False) -> Floats:
        return self.whole.quantile(u, upper=upper)

    def insecure_draws(self, size: Any, generator: Any) -> Floats:
        return self.whole.insecure_draws(size, generator)

    def loss(self, sensitivity: float, changes: Changes = BOX) -> Loss:
        return self._loss(changes, sensitivity)

    def loss_at(self, distance: Fraction) -> Loss:
        return self._loss(BOX, distance)

    def _loss(self, changes: Changes, sensitivity: float | Fraction) -> Loss:
        space = changes.fitted(self.dimension)
        moved = rounded_changes(space, self.dimension, sensitivity, self._pitch)
        return unproven_below(ball_loss(self.scale, self.of, moved.squared_length))

    @property
    def _pitch(self) -> Fraction:
        return public_pitch(self.step, self.domain)

    def sampler(self) -> FirstOfVectors:
        whole = SphereSampler(self.scale, self.of, self.step, self.domain)
        return FirstOfVectors(whole, self.dimension)

    def describe(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "dimension": self.dimension,
            "of": self.of,
            "scale": self.scale.hex(),
            "step": self.step.hex(),
        }

    @staticmethod
    def from_description(content: Mapping[str, Any]) -> PartOfSphereNoise:
        scale, step = (float.fromhex(content[name]) for name in ("scale", "step"))
        of, answers = (answers_of_a_draw(content[name]) for name in ("of", "dimension"))
        return PartOfSphereNoise(scale, of, answers, step)

    def describe_drawn(self) -> dict[str, Any]:
        return {
            "body": _BODY,
            "batch": self.dimension,
            "of": self.of,
            "step": self.step,
            "pitch": str(self._pitch),
            "scale": self.scale,
        }

    @staticmethod
    def from_drawn(content: Mapping[str, Any]) -> PartOfSphereNoise:
        only_fields("law", content, _FIELDS)
        of, answers = (answers_of_a_draw(content[name]) for name in ("of", "batch"))
        return PartOfSphereNoise(number(content["scale"]), of, answers, number(content["step"]))


def part_of_sphere(
    sigma: float, batch: int, of: int, *, sensitivity: float = 1.0, step: float | None = None
) -> PartOfSphereNoise:
    """Joint noise for `batch` answers: that of a sphere law of `of` answers of which the others are
    not shown.

    Args:
        sigma: Standard deviation of the noise on each answer, in its units.
        batch: How many answers one draw serves.
        of: How many coordinates are drawn, at least `batch`.
        sensitivity: How far one person can move each answer; it only sets the default `step`.
        step: Its 2^16th part is the pitch of the public lattice.

    Returns:
        The law of this standard deviation.

    Raises:
        InvalidParameterError: No law is.

    Example:
        >>> part_of_sphere(8.0, 10, of=20).std  # doctest: +ELLIPSIS
        8.0...
    """
    sigma, drawn = positive("sigma", sigma), positive_integer("of", of)
    step = step_of_known_law(sigma, sensitivity, step, "real")
    return PartOfSphereNoise(sigma / math.sqrt(drawn + 1.0), drawn, batch, step)


def is_spherical(noise: Noise) -> bool:
    """Whether a joint law on the real line is the same in every direction: a linear form c of its
    answers has then the law of one answer, times ‖c‖₂."""
    return isinstance(noise, (BallNoise, PartOfSphereNoise)) and noise.domain == "real"
