"""r(x) = g(x⁺) + g(x⁻), g(y) = max(max y, ⌈Σy/k⌉), for answers of which one person moves at most k,
all up or all down (Joseph & Yu 2023, 'count', on the lattice).

**Which changes.** For v in {0, …, m}^d with at most k entries that are not 0, (x + v)⁺ ≤ x⁺ + v and
(x + v)⁻ ≤ x⁻; g is monotone and g(y + v) ≤ g(y) + m. So r grows by at most m, and from x + v to x
as well, for there v moves the negative part. k = d is the range.

**Counting.** Let F_a(p) = #{y ∈ {1, 2, …}^a: g(y) = p} and R_m(q) = Σ_b C(m, b)·F_b(q), which
counts the y of {0, 1, …}^m. With a positive entries shell t has Σ_a C(d, a) Σ_p F_a(p)·R_{d−a}(t −
p) points; squares and products alike, those of entries of different signs with a minus.

**One coordinate.** For c > 0, with T_m(p, s) as in `capped`,

    P(x_1 = c) = Σ_a C(d−1, a−1) Σ_{p≥c} T_{a−1}(p, kp − c) Σ_q R_{d−a}(q)·(h_{p+q} − h_{p+q+1}),

by summation over p in parts: all terms are positive.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from leastnoise.changes import Changes, OneSided
from leastnoise.lattice.bodies.capped import (
    affordable,
    capped_answers,
    capped_sums,
    continued,
    convolved,
    log_counts,
    shares_below,
    whole_power,
    window_sum,
)
from leastnoise.lattice.bodies.capped_forms import count_characteristic
from leastnoise.lattice.bodies.range import is_one_sided
from leastnoise.lattice.shells import Floats, falls


@dataclass(frozen=True)
class CountBody:
    """r(x) = g(x⁺) + g(x⁻), g(y) = max(max y, ⌈Σy/touched⌉).

    Attributes:
        dimension: d, at least 2.
        touched: k, how many answers one person moves at most.
    """

    dimension: int
    touched: int

    name: ClassVar[str] = "count"

    def __post_init__(self) -> None:
        d, k = capped_answers(self.dimension, self.touched)
        object.__setattr__(self, "dimension", d)
        object.__setattr__(self, "touched", k)

    @property
    def made_for(self) -> Changes:
        return OneSided(self.touched)

    def radius(self, point: Sequence[int]) -> int:
        up, down = [max(x, 0) for x in point], [max(-x, 0) for x in point]
        k = self.touched
        return max(*up, -(-sum(up) // k)) + max(*down, -(-sum(down) // k))

    def refusal(self, changes: Changes) -> str | None:
        is_few = changes.touched_of(self.dimension) <= self.touched
        if is_one_sided(changes, self.dimension) and is_few:
            return None
        return (
            f"This noise hides changes of at most {self.touched} of the {self.dimension} answers, "
            "all up or all down: judge it for such changes, or take noise for more."
        )

    def shell_counts(self, size: int) -> list[int]:
        return _sums(self.dimension, self.touched, whole_power(size), "counts")[:size]

    def log_shell_counts(self, k: ArrayLike) -> Floats:
        return log_counts(self, k)

    def squares(self, last: int) -> Floats:
        return self._shares("squares", last)

    def products(self, last: int) -> Floats:
        return self._shares("products", last)

    def _shares(self, kind: str, last: int) -> Floats:
        sums = _sums(self.dimension, self.touched, whole_power(last + 1), kind)
        counts = self.shell_counts(last + 1)
        return np.array([sums[t] / counts[t] for t in range(last + 1)])

    def coordinate(self, masses: Floats) -> Floats:
        d, k, last = self.dimension, self.touched, masses.size - 1
        affordable(d, k, last)
        weights = self._layers(masses)
        found = np.zeros(last + 1)
        for p in range(1, last + 1):

            def step(below: Floats, p: int = p) -> Floats:
                return window_sum(below, p) / p

            below = shares_below(p, k, step, d - 1)
            found[1 : p + 1] += weights[:, p] @ np.array(below)[:, 1:]
        found[0] = math.fsum(masses) - 2.0 * math.fsum(found)
        return found

    def _layers(self, masses: Floats) -> Floats:
        """C(d−1, m)·p^m·Σ_q R_{d−1−m}(q)·(h_{p+q} − h_{p+q+1}) by [m, p]."""
        d, size = self.dimension, masses.size
        log_fall = falls(masses, self.log_shell_counts(np.arange(size)))
        layers = np.zeros((d, size))
        log_p = np.log(np.maximum(np.arange(size), 1.0))
        for m in range(d):
            rest = positive_counts(d - 1 - m, d, self.touched, whole_power(size))[:size]
            log_rest = np.array([math.log(count) if count else -math.inf for count in rest])
            log_scale = math.log(math.comb(d - 1, m)) + m * log_p
            for p in range(1, size):
                terms = log_rest[: size - p] + log_fall[p:]
                layers[m, p] = float(np.sum(np.exp(terms + log_scale[p])))
        return layers

    def characteristic(self, masses: Floats, coefficients: Floats, t: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            log_h = np.log(masses) - self.log_shell_counts(np.arange(masses.size))
        return count_characteristic(log_h, self.dimension, self.touched, coefficients, t)


@lru_cache(maxsize=256)
def positive_counts(entries: int, dimension: int, k: int, size: int) -> list[int]:
    """R_m(q), q = 0 … size − 1, for m = `entries` of a body of `dimension` answers."""
    return continued(_positive(dimension, k)[entries], size)


@lru_cache(maxsize=8)
def _positive(dimension: int, k: int) -> list[list[int]]:
    """R_m(q) by [m][q], for the shells from which all others follow."""
    counts = capped_sums(dimension, k).counts
    return [
        [sum(math.comb(m, b) * counts[b][q] for b in range(m + 1)) for q in range(dimension + 3)]
        for m in range(dimension + 1)
    ]


@lru_cache(maxsize=32)
def _sums(dimension: int, k: int, size: int, kind: str) -> list[int]:
    """Of shells 0 … size − 1: how many points ("counts"), Σx_1² ("squares") or Σx_1·x_2
    ("products") over them."""
    d, sums, rest = dimension, capped_sums(dimension, k), _positive(dimension, k)
    total = [0] * (d + 3)

    def add(factor: int, one: list[int], other: list[int]) -> None:
        if factor:
            for t, value in enumerate(convolved(one, other)):
                total[t] += factor * value

    for a in range(d + 1):
        if kind == "counts":
            add(math.comb(d, a), sums.counts[a], rest[d - a])
        elif kind == "squares" and a >= 1:
            add(2 * math.comb(d - 1, a - 1), sums.squares[a], rest[d - a])
        elif kind == "products":
            if a >= 2:
                add(2 * math.comb(d - 2, a - 2), sums.products[a], rest[d - a])
            if 1 <= a < d:
                add(-2 * math.comb(d - 2, a - 1), sums.firsts[a], _mirrored(d, k, a))
    return continued(total, size)


def _mirrored(d: int, k: int, a: int) -> list[int]:
    """Σ of one entry of the negative part, which is not 0, where `a` others are positive."""
    firsts = capped_sums(d, k).firsts
    choices = range(1, d - a + 1)
    return [sum(math.comb(d - 1 - a, b - 1) * firsts[b][q] for b in choices) for q in range(d + 3)]
