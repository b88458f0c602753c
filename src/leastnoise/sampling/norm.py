"""How a law of an integer norm is drawn: its shell by an alias table, as the cube's, and a uniform
point of that shell, each body in its own way; on the real line a place in its bin besides."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from leastnoise.lattice.bodies.base import Body
from leastnoise.lattice.steps import public_pitch
from leastnoise.sampling.alias import AliasTable
from leastnoise.sampling.capped_points import CountPoints, TouchedPoints
from leastnoise.sampling.entropy import Entropy
from leastnoise.sampling.lattice import drawn_weights, within_bins
from leastnoise.sampling.range_points import RangeTable
from leastnoise.sampling.weights import ShellLaw, integer_weights

_CHUNK = 1 << 14  # numbers at a time


class ShellPoints(Protocol):
    """Uniform points of the listed shells of a body."""

    def points(self, shells: NDArray[np.int32], entropy: Entropy) -> NDArray[np.int64]:
        """A point of the shell at each listed place, one a column."""


# by the name of the body: radii and body to their points
POINTS: dict[str, Callable[[Sequence[int], Body], ShellPoints]] = {
    "range": lambda radii, body: RangeTable.of(radii, body.dimension),
    "touched": lambda radii, body: TouchedPoints(radii, body.dimension, body.touched),
    "count": lambda radii, body: CountPoints(radii, body.dimension, body.touched),
}


@dataclass(frozen=True, eq=False)
class NormSampler:
    """Draws shells and points of a law of an integer norm.

    A law without integer weights is rounded to 128 bits first, or to 64 where that cannot be done.
    """

    law: ShellLaw
    body: Body

    is_joint: ClassVar[bool] = True

    @property
    def dimension(self) -> int:
        return self.law.dimension

    only_whole: ClassVar[bool] = False

    @property
    def is_exact(self) -> bool:
        return integer_weights(self.law) is not None

    @property
    def pitch(self) -> Fraction:
        return public_pitch(self.law.step, self.law.domain)

    @property
    def unit(self) -> Fraction:
        return self.pitch if self.law.domain == "integer" else self.pitch / 2

    def integers(self, shape: tuple[int, ...], entropy: Entropy) -> NDArray[np.int64]:
        """Noise in whole units, the answers of one draw along a last axis; memory beyond the result
        is bounded by the chunk."""
        table, points = norm_tables(self.law, self.body)
        d, total = self.law.dimension, math.prod(shape)
        result = np.empty((total, d), dtype=np.int64)
        chunk = max(_CHUNK // d, 256)
        for start in range(0, total, chunk):
            count = min(chunk, total - start)
            shells = table.draw(count, entropy)
            part = points.points(shells, entropy)
            if self.law.domain == "real":
                part = within_bins(part, entropy)
            result[start : start + count] = part.T
        return result.reshape((*shape, d))


@lru_cache(maxsize=16)
def norm_tables(law: ShellLaw, body: Body) -> tuple[AliasTable, ShellPoints]:
    """The alias table of the shells that have weight, and the points of these."""
    weights = drawn_weights(law)
    radii = [t for t, weight in enumerate(weights.weights) if weight]
    table = AliasTable.of([weights.weights[t] for t in radii], range(len(radii)), weights.bits)
    return table, POINTS[body.name](radii, body)
