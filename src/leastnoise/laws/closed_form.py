"""What the closed forms on the real line share: one answer, no lattice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from leastnoise.changes import Changes
from leastnoise.errors import UnsupportedError, positive, real_array
from leastnoise.lattice.shells import Floats
from leastnoise.laws.base import Domain, Noise
from leastnoise.losses.base import Loss, unproven_below


@dataclass(frozen=True)
class ClosedFormNoise(Noise):
    """A law given by a formula for one answer, of standard deviation `sigma`."""

    sigma: float

    dimension: ClassVar[int] = 1
    step: ClassVar[None] = None
    domain: ClassVar[Domain] = "real"

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", positive("sigma", self.sigma))

    @property
    def variance(self) -> float:
        return self.sigma**2

    @property
    def has_convex_levels(self) -> bool:
        """They are intervals about zero."""
        return True

    def pmf(self, k: ArrayLike) -> Floats:
        raise UnsupportedError(
            "A closed-form continuous law has no lattice points; use pdf, or build the law with a "
            "step."
        )

    def describe(self) -> dict[str, Any]:
        return {"kind": self.kind, "sigma": self.sigma.hex()}

    @classmethod
    def from_description(cls, content: Mapping[str, Any]) -> Self:
        return cls(float.fromhex(content["sigma"]))


def at_farthest(loss: Loss, changes: Changes) -> Loss:
    """The loss at that distance; with upper bounds alone where the range of the answer ends before
    it."""
    is_bound = changes.ranges_of(1) is not None and not changes.has_corner(1)
    return unproven_below(loss) if is_bound else loss


def in_units(x: ArrayLike, unit: float) -> Floats:
    """x/unit; beyond the largest float it is infinite, which every formula here takes."""
    with np.errstate(over="ignore"):
        return np.asarray(real_array("x", x) / unit, dtype=np.float64)
