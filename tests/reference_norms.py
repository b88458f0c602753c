"""Laws of an integer norm by listing the points of the lattice: norms as they are defined, exact
counts, and δ of every shift."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from leastnoise.laws.norm import NormNoise


def g(y: list[int], k: int) -> int:
    """max(max y, ⌈Σy/k⌉) of whole numbers that are not negative."""
    return max(max(y, default=0), math.ceil(Fraction(sum(y), k)))


def norm(name: str, point: tuple[int, ...], k: int) -> int:
    if name == "range":
        return max([0, *point]) - min([0, *point])
    if name == "touched":
        return g([abs(x) for x in point], k)
    return g([max(x, 0) for x in point], k) + g([max(-x, 0) for x in point], k)


def points_within(name: str, dimension: int, k: int, last: int) -> dict[tuple[int, ...], int]:
    """Every point with r(x) ≤ last, and its r: |x_l| ≤ r(x) for all three norms."""
    every = itertools.product(range(-last, last + 1), repeat=dimension)
    found = {x: norm(name, x, k) for x in every}
    return {x: r for x, r in found.items() if r <= last}


def probabilities(law: NormNoise) -> dict[tuple[int, ...], float]:
    """P of every point of a law that ends."""
    points = points_within(law.body.name, law.dimension, law.body.touched, law.last)
    h = law.pmf(np.arange(law.last + 1))
    return {x: float(h[r]) for x, r in points.items()}


def smeared(p: dict[tuple[int, ...], float], places: int) -> dict[tuple[int, ...], float]:
    """The same law with each point spread over so many places of its bin, in every direction."""
    dimension = len(next(iter(p)))
    within = list(itertools.product(range(places), repeat=dimension))
    share = 1.0 / len(within)
    return {
        tuple(places * x + u for x, u in zip(point, inner, strict=True)): share * mass
        for point, mass in p.items()
        for inner in within
    }


def delta(p: dict[tuple[int, ...], float], shift: tuple[int, ...], epsilon: float) -> float:
    """Σ_x (P(x) − e^ε·P(x − v))_+."""
    moved = (
        (here, p.get(tuple(a - v for a, v in zip(x, shift, strict=True)), 0.0))
        for x, here in p.items()
    )
    return math.fsum(max(here - math.exp(epsilon) * there, 0.0) for here, there in moved)


def one_sided_shifts(dimension: int, m: int, touched: int) -> Iterator[tuple[int, ...]]:
    """Every shift of {0, …, m}^d of at most `touched` entries, up to order; the mirrored ones have
    the same δ, for the laws are symmetric."""
    shifts = itertools.combinations_with_replacement(range(m + 1), dimension)
    return (v for v in shifts if 0 < sum(x > 0 for x in v) <= touched)


def two_sided_shifts(dimension: int, m: int, touched: int) -> Iterator[tuple[int, ...]]:
    """Every shift of {−m, …, m}^d of at most `touched` entries, up to order."""
    shifts = itertools.combinations_with_replacement(range(-m, m + 1), dimension)
    return (v for v in shifts if 0 < sum(x != 0 for x in v) <= touched)


def profiles(seed: int, last: int) -> dict[str, list[float]]:
    """log h of several laws that do not rise, up to a constant."""
    random = np.random.default_rng(seed)
    return {
        "geometric": [-0.7 * t for t in range(last + 1)],
        "random": (-np.cumsum(random.exponential(0.5, last + 1))).tolist(),
        "stairs": [-1.3 * (t // 2) for t in range(last + 1)],
        "flat": [0.0] * (last + 1),
        "cliff": [0.0 if 2 * t <= last else -5.0 for t in range(last + 1)],
    }
