"""The range of x and 0: r(x) = max(0, max x) − min(0, min x), for answers that all move up or all
move down.

**Counting.** With n = d + 1, x_i = y_i − y_0 is a bijection between {r ≤ t} and the y in {0, …,
t}^n whose least entry is 0: so #{r ≤ t} = (t+1)^n − t^n, and shell t, where the largest entry is t
as well, has (t+1)^n − 2t^n + (t−1)^n points (1 for t = 0).

**One coordinate.** {r ≤ t} has, for a ≥ 0, (t+1−a)(t+1)^(d−1) − (t−a)t^(d−1) points with x_1 = y_1
− y_0 = a: all pairs (y_0, y_1) at that distance, less those of the y without a 0. With Δ_t =
(t+1)^(d−1) − t^(d−1) the difference of two neighbouring t is, for t > a,

    Δ_t + Δ_{t−1} + (t−a)(Δ_t − Δ_{t−1}),

and (t+1)^(d−1) for t = a: sums of positive terms, so tails keep their relative accuracy.

**Two coordinates.** The n entries of y are alike, so x_1 − x_2 = y_1 − y_2 is distributed as x_1:
E[x_1·x_2] = E[x_1²]/2 on every shell, and the correlation of two answers is ½.

**Forms.** With c_0 = −Σc_i, Σ c_i·x_i = Σ c_i·y_i over all n entries, which does not change when
all y grow by 1. So {r ≤ t} is the cube {0, …, t}^n less that of t − 1, and with g_t = h_t − h_{t+1}
the characteristic function is Σ_t (g_t − g_{t+1})(t+1)^n times that of n independent entries
(`waves`), whose phases c_i·t/2 add up to 0.

**Which changes.** r is a norm whose unit ball is the hull of {0, 1}^d and its mirror, so r(v) ≤ m
for v in {0, …, m}^d, and r moves by at most that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from leastnoise.changes import Changes, OneSided
from leastnoise.errors import InvalidParameterError, positive_integer
from leastnoise.lattice.overlap import log_both_ends, log_one_end
from leastnoise.lattice.shells import Floats, falls
from leastnoise.lattice.waves import held, mixed_waves


@dataclass(frozen=True)
class RangeBody:
    """r(x) = max(0, max x) − min(0, min x).

    Attributes:
        dimension: d, at least 2.
    """

    dimension: int

    name: ClassVar[str] = "range"

    def __post_init__(self) -> None:
        object.__setattr__(self, "dimension", several_answers(self.dimension))

    @property
    def touched(self) -> int:
        return self.dimension

    @property
    def made_for(self) -> Changes:
        return OneSided()

    def radius(self, point: Sequence[int]) -> int:
        return max(0, *point) - min(0, *point)

    def refusal(self, changes: Changes) -> str | None:
        if is_one_sided(changes, self.dimension):
            return None
        return (
            "The range law hides changes that are all up or all down: judge it for OneSided(), or "
            "take noise for changes of any signs."
        )

    def shell_counts(self, size: int) -> list[int]:
        n = self.dimension + 1
        powers = [t**n for t in range(size + 1)]
        inner = [0, *powers]
        return [powers[t + 1] - 2 * powers[t] + inner[t] if t else 1 for t in range(size)]

    def log_shell_counts(self, k: ArrayLike) -> Floats:
        t = np.asarray(k, dtype=np.float64)
        flat = log_both_ends(self.dimension + 1, np.maximum(t, 1.0).ravel() + 1.0)
        return np.where(t == 0, 0.0, flat.reshape(t.shape))

    def squares(self, last: int) -> Floats:
        t = np.arange(last + 1.0)
        at_end, level, slope = self._spread(last)
        # Σ a² and Σ a²(t − a) over 0 < a < t
        inner = level * (t - 1.0) * t * (2.0 * t - 1.0) / 6.0
        inner += slope * t * t * (t * t - 1.0) / 12.0
        return np.asarray(np.where(t == 0, 0.0, 2.0 * (t * t * at_end + inner)), dtype=np.float64)

    def products(self, last: int) -> Floats:
        return 0.5 * self.squares(last)

    def coordinate(self, masses: Floats) -> Floats:
        at_end, level, slope = self._spread(masses.size - 1)
        levels = _beyond(masses * level)
        # Σ_{t>a} (t − a)·w_t = Σ_{s≥a} Σ_{t>s} w_t
        slopes = np.cumsum(_beyond(masses * slope)[::-1])[::-1]
        return np.asarray(masses * at_end + levels + slopes, dtype=np.float64)

    def characteristic(self, masses: Floats, coefficients: Floats, t: Floats) -> Floats:
        log_fall = falls(masses, self.log_shell_counts(np.arange(masses.size)))
        places = np.arange(1.0, masses.size + 1.0)
        log_all = (self.dimension + 1) * np.log(places)
        after = np.append(log_fall[1:], -np.inf)
        weights = np.exp(log_fall + log_all) - np.exp(after + log_all)
        weights, counts = held(weights, places, whole=True)
        every = np.append(coefficients, -np.sum(coefficients))
        return mixed_waves(weights, counts, every, t)

    def _spread(self, last: int) -> tuple[Floats, Floats, Floats]:
        """Of shell t: P(x_1 = t), and level and slope of P(x_1 = a) = level + slope·(t − a), 0 ≤ a
        < t."""
        d, t = self.dimension, np.arange(last + 1.0)
        log_n, side = self.log_shell_counts(t), np.maximum(t, 1.0)
        at_end = np.exp((d - 1) * np.log(t + 1.0) - log_n)
        if d == 2:
            level, slope = 2.0 * np.exp(-log_n), np.zeros(t.size)
        else:
            level = np.exp(log_one_end(d - 1, side + 1.0) - log_n)
            level += np.exp(log_one_end(d - 1, side) - log_n)
            slope = np.exp(log_both_ends(d - 1, side + 1.0) - log_n)
        return at_end, np.where(t == 0, 0.0, level), np.where(t == 0, 0.0, slope)


def several_answers(dimension: int) -> int:
    """The dimension of a body: for one answer every norm is the cube's."""
    d = positive_integer("dimension", dimension)
    if d < 2:
        raise InvalidParameterError(
            "dimension",
            d,
            "to be at least 2: one answer has laws of its own, such as discrete_laplace",
        )
    return d


def is_one_sided(changes: Changes, answers: int) -> bool:
    """Whether every entry of a change is of one sign, all up or all down."""
    ranges = changes.ranges_of(answers)
    return ranges is not None and all(low >= Fraction(0) for low, _ in ranges)


def _beyond(weights: Floats) -> Floats:
    """Σ_{t>a} weights_t for each a."""
    return np.concatenate([np.cumsum(weights[::-1])[::-1][1:], [0.0]])
