"""The hidden count: joint noise (X_i + X_0)/2 for answers that one person moves all up or all
down, X being cube noise of one answer more.

**Why it is enough.** Adding a person moves the number of persons n by 1 and each answer q_i by v_i
in [0, s]. The answers y_0 = s·n and y_i = 2q_i − s·n each move by at most s, so cube noise X on y
keeps the guarantee of the cube law of d + 1 answers in the box. q_i = (y_i + y_0)/2 is a function
of them, and its noise is (X_i + X_0)/2: n is not needed to draw it, and is not published. In one
line: q + v + AX = q + A(X + y) with A(x_0, x) = (x_i + x_0)/2, y_0 = s and y_i = 2v_i − s, so that
publishing q + AX is a function of X shifted by a vector of the box. Removing a person is −y. ∎

On the public lattice of pitch p, where s is M pitches, v_i is a whole number of them from 0 to M,
so y is one from −M to M: what the cube law is judged for. X is drawn in odd half pitches, so
X_i + X_0 is a whole number of pitches and every output a whole number of half pitches.

The bound is one of the cube law on d + 1 answers of which only d combinations are published, so it
is an upper bound alone: `epsilon_bounds` of such a law has the lower bound 0.

**One answer.** A cube law that does not rise is a mixture of uniform laws on cubes of half-width
R_k = (k + ½)·step, with the weights W_k = (h_k − h_{k+1})(2k + 1)^(d+1). On each (X_1 + X_0)/2 is
triangular, so P(noise > x) = ½ Σ W_k (1 − x/R_k)₊² for x ≥ 0. The correlation of two answers is ½.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from leastnoise.changes import BOX, Changes
from leastnoise.errors import InvalidParameterError, UnsupportedError, real_array
from leastnoise.files.reading import only_fields
from leastnoise.lattice.shells import Floats
from leastnoise.laws.base import Domain, Noise, probabilities
from leastnoise.laws.lattice import LatticeNoise
from leastnoise.losses.base import Loss, unproven_below
from leastnoise.sampling.lattice import LiftedSampler

_CHUNK = 1 << 20  # terms at a time
_HALVINGS = 90  # of the place of a quantile


@dataclass(frozen=True)
class LiftedNoise(Noise):
    """(X_i + X_0)/2 on one answer less than the cube law of X has.

    Guarantees: frozen; drawn exactly as the cube law is; refused for changes of any signs.

    Attributes:
        base: The law of X, on the real line.

    Example:
        >>> from leastnoise import OneSided, PrivacyLoss, cube
        >>> law = LiftedNoise(cube(7.3, 11))
        >>> law.dimension, PrivacyLoss.of(law, 1.0, OneSided()).epsilon(1e-6) < 1.0
        (10, True)
    """

    base: LatticeNoise

    kind: ClassVar[str] = "lifted"

    def __post_init__(self) -> None:
        if self.base.dimension < 3 or self.base.domain != "real":
            raise InvalidParameterError(
                "base", self.base, "to be joint noise on the real line for at least 3 answers"
            )

    @property
    def dimension(self) -> int:
        return self.base.dimension - 1

    @property
    def step(self) -> float:
        return self.base.step

    @property
    def domain(self) -> Domain:
        return "real"

    @property
    def variance(self) -> float:
        return 0.5 * self.base.variance

    @property
    def correlation(self) -> float:
        """The correlation of the noise on two answers."""
        return 0.5

    def pmf(self, k: ArrayLike) -> Floats:
        raise UnsupportedError("A lifted law has no masses by radius; use pdf.")

    def pdf(self, x: ArrayLike) -> Floats:
        return self._mixed(x, lambda part, width: part / width)

    def ccdf(self, x: ArrayLike) -> Floats:
        far = self._mixed(x, lambda part, width: 0.5 * part * part)
        return np.where(real_array("x", x) >= 0, far, self.base.total - far)

    def _mixed(self, x: ArrayLike, term: Any) -> Floats:
        """Σ W_k·term(1 − |x|/R_k, R_k) over the cubes that reach |x|."""
        weights, widths = self._cubes
        places = np.abs(real_array("x", x))
        flat = np.minimum(places.ravel(), 1e300)
        found = np.empty(flat.size)
        rows = max(1, _CHUNK // widths.size)
        for start in range(0, flat.size, rows):
            part = np.maximum(1.0 - flat[start : start + rows, None] / widths, 0.0)
            found[start : start + rows] = np.sum(weights * term(part, widths), axis=1)
        return found.reshape(places.shape)

    @cached_property
    def _cubes(self) -> tuple[Floats, Floats]:
        """W_k and R_k of the cubes that the law is a mixture of."""
        base = self.base
        k = np.arange(base.coordinate_reach + 1)
        log_size = base.dimension * np.log(2.0 * k + 1.0)
        log_h = base.log_pmf(np.arange(k.size + 1))
        weights = np.exp(log_h[:-1] + log_size) - np.exp(log_h[1:] + log_size)
        if base.tail_ratio is None:
            weights[-1] = math.exp(log_h[k.size - 1] + log_size[-1])
        held = weights != 0.0
        return weights[held], ((k + 0.5) * base.step)[held]

    def quantile(self, u: ArrayLike, *, upper: bool = False) -> Floats:
        u = probabilities("u", u)
        low = np.minimum(u, 1.0 - u)
        near, far = np.zeros(low.shape), np.full(low.shape, float(self._cubes[1][-1]))
        for _ in range(_HALVINGS):
            middle = 0.5 * (near + far)
            is_beyond = self.ccdf(middle) > low
            near, far = np.where(is_beyond, middle, near), np.where(is_beyond, far, middle)
        positive_side = (u < 0.5) if upper else (u > 0.5)
        return np.where(positive_side, far, np.where(u == 0.5, 0.0, -far))

    def insecure_draws(self, size: Any, generator: Any) -> Floats:
        weights, widths = self._cubes
        share = np.maximum(weights, 0.0)
        width = generator.choice(widths, size=size, p=share / np.sum(share))
        both = generator.uniform(-1.0, 1.0, size=size) + generator.uniform(-1.0, 1.0, size=size)
        return np.asarray(0.5 * width * both, dtype=np.float64)

    def loss(self, sensitivity: float, changes: Changes = BOX) -> Loss:
        ranges = changes.ranges_of(self.dimension)
        if ranges is None or any(low < 0 for low, _ in ranges):
            raise UnsupportedError(
                "This noise hides changes that are all up or all down: judge it for OneSided(), or "
                "take noise for changes of any signs."
            )
        return unproven_below(self.base.loss(sensitivity))

    def sampler(self) -> LiftedSampler:
        return LiftedSampler(self.base.sampler())

    def with_weights(self, weighted: Callable[[LatticeNoise], LatticeNoise]) -> LiftedNoise:
        return LiftedNoise(weighted(self.base))

    def describe(self) -> dict[str, Any]:
        return {"kind": self.kind, "base": self.base.describe()}

    @staticmethod
    def from_description(content: Mapping[str, Any]) -> LiftedNoise:
        return LiftedNoise(LatticeNoise.from_description(content["base"]))

    def describe_drawn(self) -> dict[str, Any]:
        base = self.base.describe_drawn()
        return {"body": self.kind, "pitch": base["pitch"], "base": base}

    @staticmethod
    def from_drawn(content: Mapping[str, Any]) -> LiftedNoise:
        only_fields("law", content, {"body", "pitch", "base"})
        return LiftedNoise(LatticeNoise.from_drawn(content["base"]))
