"""r(x) = max(‖x‖∞, ⌈‖x‖₁/k⌉), for answers of which one person moves at most k, up or down.

**Which changes.** If at most k entries of v are not 0 and none is larger than m, ‖v‖∞ ≤ m and
‖v‖₁/k ≤ m, so r moves by at most m. The ceiling loses nothing: {r ≤ t} are the points of the
lattice in t·K, K the cube with its ℓ₁ corners cut off at k.

**Counting.** With g as in `capped`, r(x) = g(|x|), and |x| has a entries that are not 0, of either
sign: shell t has Σ_a C(d, a)·2^a·#{y ∈ {1, 2, …}^a: g(y) = t} points. A sign can be changed alone,
so different answers are uncorrelated.

**One coordinate.** {r ≤ t} has #{z ∈ {−t, …, t}^(d−1): ‖z‖₁ ≤ kt − |a|} points with x_1 = a: (2t +
1)^(d−1) times the chance that d − 1 independent entries, uniform on −t … t, have so small a sum of
sizes. P(x_1 = a) adds these up with the weights h_t − h_{t+1}.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from leastnoise.changes import Box, Changes
from leastnoise.lattice.bodies.capped import (
    affordable,
    capped_answers,
    capped_sums,
    continued,
    log_counts,
    shares_below,
    whole_power,
    window_sum,
)
from leastnoise.lattice.bodies.capped_forms import touched_characteristic
from leastnoise.lattice.shells import Floats, falls


@dataclass(frozen=True)
class TouchedBody:
    """r(x) = max(‖x‖∞, ⌈‖x‖₁/touched⌉).

    Attributes:
        dimension: d, at least 2.
        touched: k, how many answers one person moves at most.
    """

    dimension: int
    touched: int

    name: ClassVar[str] = "touched"

    def __post_init__(self) -> None:
        d, k = capped_answers(self.dimension, self.touched)
        object.__setattr__(self, "dimension", d)
        object.__setattr__(self, "touched", k)

    @property
    def made_for(self) -> Changes:
        return Box(self.touched)

    def radius(self, point: Sequence[int]) -> int:
        sizes = [abs(x) for x in point]
        return max(*sizes, -(-sum(sizes) // self.touched))

    def refusal(self, changes: Changes) -> str | None:
        ranges = changes.ranges_of(self.dimension)
        if ranges is None:
            return (
                "This noise hides what each answer moves by, not the length of all changes: take "
                "sphere(sigma, batch)."
            )
        if changes.touched_of(self.dimension) > self.touched:
            return (
                f"This noise hides changes of at most {self.touched} of the {self.dimension} "
                "answers: judge it for such changes, or take noise for more."
            )
        return None

    def shell_counts(self, size: int) -> list[int]:
        return touched_sums(self.dimension, self.touched, whole_power(size))[0][:size]

    def log_shell_counts(self, k: ArrayLike) -> Floats:
        return log_counts(self, k)

    def squares(self, last: int) -> Floats:
        counts, squares = touched_sums(self.dimension, self.touched, whole_power(last + 1))
        return np.array([squares[t] / counts[t] for t in range(last + 1)])

    def products(self, last: int) -> Floats:
        return np.zeros(last + 1)

    def coordinate(self, masses: Floats) -> Floats:
        d, k, last = self.dimension, self.touched, masses.size - 1
        affordable(d, k, last)
        t = np.arange(last + 1)
        layers = falls(masses, self.log_shell_counts(t)) + (d - 1) * np.log(2.0 * t + 1.0)
        layers = np.exp(layers)
        found = np.zeros(last + 1)
        found[0] = layers[0]
        for p in range(1, last + 1):

            def step(below: Floats, p: int = p) -> Floats:
                return (below + 2.0 * window_sum(below, p)) / (2.0 * p + 1.0)

            found[: p + 1] += layers[p] * shares_below(p, k, step, d - 1)[-1]
        return found

    def characteristic(self, masses: Floats, coefficients: Floats, t: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            log_h = np.log(masses) - self.log_shell_counts(np.arange(masses.size))
        return touched_characteristic(log_h, self.dimension, self.touched, coefficients, t)


@lru_cache(maxsize=16)
def touched_sums(dimension: int, k: int, size: int) -> tuple[list[int], list[int]]:
    """Of shells 0 … size − 1: how many points, and Σx_1² over them."""
    sums, shells = capped_sums(dimension, k), range(dimension + 3)
    counts = [
        sum(math.comb(dimension, a) * 2**a * sums.counts[a][t] for a in range(dimension + 1))
        for t in shells
    ]
    squares = [
        sum(
            math.comb(dimension - 1, a - 1) * 2**a * sums.squares[a][t]
            for a in range(1, dimension + 1)
        )
        for t in shells
    ]
    return continued(counts, size), continued(squares, size)
