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

**Unequal ranges.** (X_i + τ_i·X_0)/2 with |τ_i| ≤ 1 serves changes v_i in [(τ_i − 1)s/2, (τ_i +
1)s/2]: with y_0 = s and y_i = 2v_i − τ_i·s, again within ±s, (y_i + τ_i·y_0)/2 = v_i. τ = 1 is the
count, τ = 0 an answer that goes either way, and what lies between has a range that is longer on one
side; after scaling every range is one of these (docs/mathematics.md#unequal-ranges). τ is a
multiple of 2^−15, so that τ_i·M/2 and the ends of the ranges are whole pitches, M being one of
2^16; an output is a whole number of 2^−16 half pitches.

**One answer.** A cube law that does not rise is a mixture of uniform laws on cubes of half-width
R_k = (k + ½)·step, with the weights W_k = (h_k − h_{k+1})(2k + 1)^(d+1). On each (X_1 + X_0)/2 is
triangular, so P(noise > x) = ½ Σ W_k (1 − x/R_k)₊² for x ≥ 0. The correlation of two answers is ½.
With τ it is a sum of two uniform numbers of half-widths A = R_k/2 and B = |τ|R_k/2: P(noise > x) is
½ − x/(2A) up to A − B and (A + B − x)₊²/(8AB) beyond. It grows with |τ| at every x: a uniform
number that is wider is a narrower one stretched, and the other is symmetric and unimodal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from leastnoise.changes import BOX, Changes, OneSided
from leastnoise.errors import InvalidParameterError, UnsupportedError, real_array, real_number
from leastnoise.files.reading import number, only_fields
from leastnoise.lattice.shells import Floats
from leastnoise.laws.base import Domain, Noise, coefficients_of, probabilities
from leastnoise.laws.lattice import LatticeNoise
from leastnoise.losses.base import Loss, unproven_below
from leastnoise.sampling.lattice import TIE_PARTS, LiftedSampler

_CHUNK = 1 << 20  # terms at a time
_ONE_WAY = (
    "This noise hides changes that are all up or all down: judge it for OneSided(), or take noise "
    "for changes of any signs."
)
_OTHER_RANGES = (
    "This noise hides changes within the ranges that it is made for, and nothing beyond: judge it "
    "for OneSided(ranges=...) with those of its `ranges`, or design noise for yours."
)
_HALVINGS = 90  # of the place of a quantile


@dataclass(frozen=True)
class LiftedNoise(Noise):
    """(X_i + X_0)/2 on one answer less than the cube law of X has; or (X_i + τ_i·X_0)/2.

    Guarantees: frozen; drawn exactly as the cube law is; refused for changes of any signs, or that
    leave the ranges of the ties. With ties, what is said of one answer is said of that with the
    most noise.

    Attributes:
        base: The law of X, on the real line.
        ties: τ_i, one for each answer, multiples of 2^−15 in [−1, 1]; None for 1 everywhere, which
            it becomes.

    Example:
        >>> from leastnoise import OneSided, PrivacyLoss, cube
        >>> law = LiftedNoise(cube(7.3, 11))
        >>> law.dimension, PrivacyLoss.of(law, 1.0, OneSided()).epsilon(1e-6) < 1.0
        (10, True)
    """

    base: LatticeNoise
    ties: tuple[float, ...] | None = None

    kind: ClassVar[str] = "lifted"

    def __post_init__(self) -> None:
        if self.base.dimension < 3 or self.base.domain != "real":
            raise InvalidParameterError(
                "base", self.base, "to be joint noise on the real line for at least 3 answers"
            )
        if self.ties is not None:
            ties = _checked_ties(self.ties, self.dimension)
            object.__setattr__(self, "ties", None if set(ties) == {1.0} else ties)

    @property
    def shape(self) -> str:
        return "cube with a hidden count"

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
        return 0.25 * (1.0 + self._tie**2) * self.base.variance

    @cached_property
    def _tie(self) -> float:
        """That of the answer with the most noise."""
        return 1.0 if self.ties is None else max(abs(tie) for tie in self.ties)

    @property
    def ranges(self) -> tuple[tuple[float, float], ...]:
        """The changes of each answer that it is made for, from and to, in sensitivities."""
        ties = (1.0,) * self.dimension if self.ties is None else self.ties
        return tuple((0.5 * (tie - 1.0), 0.5 * (tie + 1.0)) for tie in ties)

    @property
    def correlation(self) -> float:
        """The correlation of the noise on two answers, where it is the same for any two."""
        if self.ties is not None:
            raise UnsupportedError("Pairs of answers differ in their correlation: use variance_of.")
        return 0.5

    @property
    def kept_for(self) -> Changes | None:
        """A series on it is one of the cube with a question more, the number of persons."""
        return OneSided() if self.ties is None and self.base.has_convex_levels else None

    def of_answer(self, answer: int) -> Noise:
        if self.ties is None:
            return self
        return LiftedNoise(self.base, (abs(self.ties[answer]),) * self.dimension)

    def pmf(self, k: ArrayLike) -> Floats:
        raise UnsupportedError("A lifted law has no masses by radius; use pdf.")

    def pdf(self, x: ArrayLike) -> Floats:
        return self._mixed(x, self._density_of_cube)

    def _density_of_cube(self, x: Floats, width: Floats) -> Floats:
        if self._tie == 1.0:
            return np.maximum(1.0 - x / width, 0.0) / width
        one, other = 0.5 * width, 0.5 * self._tie * width
        left = np.clip(one + other - x, 0.0, 2.0 * other)
        return left / (4.0 * one * other) if self._tie else np.where(x <= one, 0.5 / one, 0.0)

    def _tail_of_cube(self, x: Floats, width: Floats) -> Floats:
        """P(noise > x) within one cube of X."""
        if self._tie == 1.0:
            part = np.maximum(1.0 - x / width, 0.0)
            return 0.5 * part * part
        one, other = 0.5 * width, 0.5 * self._tie * width
        level = np.maximum(one - other - x, 0.0) / (2.0 * one)
        if not self._tie:
            return level
        left = np.clip(one + other - x, 0.0, 2.0 * other)
        return level + left * left / (8.0 * one * other)

    def ccdf(self, x: ArrayLike) -> Floats:
        far = self._mixed(x, self._tail_of_cube)
        return np.where(real_array("x", x) >= 0, far, self.base.total - far)

    def _mixed(self, x: ArrayLike, term: Callable[[Floats, Floats], Floats]) -> Floats:
        """Σ W_k·term(|x|, R_k) over all cubes."""
        weights, widths = self._cubes
        places = np.abs(real_array("x", x))
        flat = np.minimum(places.ravel(), 1e300)
        found = np.empty(flat.size)
        rows = max(1, _CHUNK // widths.size)
        for start in range(0, flat.size, rows):
            part = term(flat[start : start + rows, None], widths)
            found[start : start + rows] = np.sum(weights * part, axis=1)
        return found.reshape(places.shape)

    @cached_property
    def _cubes(self) -> tuple[Floats, Floats]:
        """W_k and R_k of the cubes that the law is a mixture of."""
        weights, k = self.base.cubes
        return weights, (k + 0.5) * self.base.step

    def characteristic(self, coefficients: ArrayLike, t: ArrayLike) -> Floats:
        """Σ c_i(X_i + τ_i·X_0)/2 is a combination of all X, with Σ c_i·τ_i/2 of X_0."""
        c = coefficients_of(self, coefficients)
        common = float(np.sum(c * (1.0 if self.ties is None else np.array(self.ties))))
        return self.base.characteristic(0.5 * np.append(c, common), t)

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
        both = generator.uniform(-1.0, 1.0, size=size)
        both = both + self._tie * generator.uniform(-1.0, 1.0, size=size)
        return np.asarray(0.5 * width * both, dtype=np.float64)

    def loss(self, sensitivity: float, changes: Changes = BOX) -> Loss:
        if self.ties is not None:
            self._check_ranges(changes)
        else:
            self._check_one_way(changes)
        return unproven_below(self.base.loss(sensitivity))

    def _check_one_way(self, changes: Changes) -> None:
        ranges = changes.ranges_of(self.dimension)
        if ranges is None or any(low < 0 for low, _ in ranges):
            raise UnsupportedError(_ONE_WAY)

    def _check_ranges(self, changes: Changes) -> None:
        """Every change is within the ranges that the ties are for; ends are compared as exact
        numbers."""
        each = changes.fitted(self.dimension).range_of_each(self.dimension)
        within = zip(each or (), self.ranges, strict=False)
        if each is None or any(low < least or high > most for (low, high), (least, most) in within):
            raise UnsupportedError(_OTHER_RANGES)

    def loss_at(self, distance: Fraction) -> Loss:
        """Refused: a distance bounds changes of any signs."""
        raise UnsupportedError(_ONE_WAY)

    def sampler(self) -> LiftedSampler:
        whole = None if self.ties is None else tuple(int(tie * TIE_PARTS) for tie in self.ties)
        return LiftedSampler(self.base.sampler(), whole)

    def with_weights(self, weighted: Callable[[LatticeNoise], LatticeNoise]) -> LiftedNoise:
        return LiftedNoise(weighted(self.base), self.ties)

    def describe(self) -> dict[str, Any]:
        law = {"kind": self.kind, "base": self.base.describe()}
        return law if self.ties is None else {**law, "ties": [tie.hex() for tie in self.ties]}

    @staticmethod
    def from_description(content: Mapping[str, Any]) -> LiftedNoise:
        ties = content.get("ties")
        base = LatticeNoise.from_description(content["base"])
        return LiftedNoise(base, None if ties is None else tuple(map(float.fromhex, ties)))

    def describe_drawn(self) -> dict[str, Any]:
        base = self.base.describe_drawn()
        law = {"body": self.kind, "pitch": base["pitch"], "base": base}
        return law if self.ties is None else {**law, "ties": list(self.ties)}

    @staticmethod
    def from_drawn(content: Mapping[str, Any]) -> LiftedNoise:
        ties = content.get("ties")
        fields = {"body", "pitch", "base"}
        only_fields("law", content, fields if ties is None else fields | {"ties"})
        base = LatticeNoise.from_drawn(content["base"])
        return LiftedNoise(base, None if ties is None else tuple(map(number, ties)))


def _checked_ties(ties: Sequence[float], answers: int) -> tuple[float, ...]:
    """The ties as floats: as many as answers, in [−1, 1], on their lattice."""
    found = tuple(real_number(f"ties[{index}]", tie) for index, tie in enumerate(ties))
    if len(found) != answers:
        expected = f"to be one for each of the {answers} answers"
        raise InvalidParameterError("number of ties", len(found), expected)
    for index, tie in enumerate(found):
        if not (abs(tie) <= 1.0 and (tie * TIE_PARTS).is_integer()):
            expected = f"to be a multiple of 1/{TIE_PARTS} in [-1, 1]"
            raise InvalidParameterError(f"ties[{index}]", tie, expected)
    return found
