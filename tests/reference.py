"""Slow, exact forms of what the package computes fast: Fractions, big integers, mpmath, and lists
of lattice points."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction

import mpmath

from leastnoise.laws.lattice import LatticeNoise
from leastnoise.sampling.alias import AliasTable

# --- tables of draws ------------------------------------------------------------------------------


def units(table: AliasTable) -> dict[int, int]:
    """How many of the 2^bits draws give each value: the check that the table is the law."""
    height = 1 << (table.bits - table.column_bits)
    counts: dict[int, int] = {}
    for j, last in enumerate(table.last_unit.tolist()):
        unit = (last << 64 | int(table.last_unit_low[j])) if table.bits == 128 else last
        cut = unit + 1 - j * height
        first, second = table.outcomes[2 * j : 2 * j + 2].tolist()
        counts[first] = counts.get(first, 0) + cut
        counts[second] = counts.get(second, 0) + height - cut
    return {value: share for value, share in counts.items() if share}


# --- lattice points and shells -------------------------------------------------------------------


def lattice_points(dimension: int, radius: int) -> Iterator[tuple[int, ...]]:
    """Every point of Z^d with ‖x‖∞ ≤ radius."""
    return itertools.product(range(-radius, radius + 1), repeat=dimension)


def norm(point: tuple[int, ...]) -> int:
    return max(abs(x) for x in point)


def shell_count(dimension: int, k: int) -> int:
    """n_k as an exact integer."""
    return (2 * k + 1) ** dimension - (2 * k - 1) ** dimension if k else 1


def pair_count(dimension: int, shift: int, i: int, j: int) -> int:
    """N_ij for the corner shift: the mixed difference of C_ij, the points within i of one place and
    j of the other; exact."""

    def inside(i: int, j: int) -> int:
        return (
            max(0, min(i, shift + j) - max(-i, shift - j) + 1) ** dimension if min(i, j) >= 0 else 0
        )

    return inside(i, j) - inside(i - 1, j) - inside(i, j - 1) + inside(i - 1, j - 1)


def enumerated_pairs(shift: tuple[int, ...], last: int) -> dict[tuple[int, int], int]:
    """N_ij for any shift vector by listing the points."""
    counts: dict[tuple[int, int], int] = {}
    for x in lattice_points(len(shift), last):
        key = norm(x), norm(tuple(a - v for a, v in zip(x, shift, strict=True)))
        if key[1] <= last:
            counts[key] = counts.get(key, 0) + 1
    return counts


# --- laws, exactly -------------------------------------------------------------------------------


def geometric_sum(
    f: Callable[[int], Fraction | int], start: int, ratio: Fraction, degree: int
) -> Fraction:
    """Σ_{j≥0} ratio^j f(start + j) for a polynomial f: Σ_i Δ^i f(start) ratio^i/(1−ratio)^(i+1)."""
    differences = [Fraction(f(start + j)) for j in range(degree + 1)]
    total = Fraction(0)
    for i in range(degree + 1):
        total += differences[0] * ratio**i / (1 - ratio) ** (i + 1)
        differences = [b - a for a, b in itertools.pairwise(differences)]
    return total


def point_probability(noise: LatticeNoise, k: int) -> Fraction:
    """h_k."""
    h = Fraction(float(noise.shell_masses[min(k, noise.last)])) / shell_count(
        noise.dimension, min(k, noise.last)
    )
    if k <= noise.last:
        return h
    return (
        Fraction(0)
        if noise.tail_ratio is None
        else h * Fraction(noise.tail_ratio) ** (k - noise.last)
    )


def _sum_over_cubes(
    noise: LatticeNoise, f: Callable[[int], Fraction | int], start: int, degree: int
) -> Fraction:
    """Σ_{k≥start} (h_k − h_{k+1}) f(k), f a polynomial: the law as a mixture of cubes."""
    total = Fraction(0)
    for k in range(start, noise.last):
        total += (point_probability(noise, k) - point_probability(noise, k + 1)) * f(k)
    first = max(start, noise.last)
    h = point_probability(noise, first)
    if noise.tail_ratio is None:
        return total + h * f(first)
    r = Fraction(noise.tail_ratio)
    return total + h * (1 - r) * geometric_sum(f, first, r, degree)


def total_mass(noise: LatticeNoise) -> Fraction:
    d = noise.dimension
    return _sum_over_cubes(noise, lambda k: (2 * k + 1) ** d, 0, d)


def coordinate_probability(noise: LatticeNoise, a: int) -> Fraction:
    """P(one coordinate = a)."""
    d = noise.dimension
    return _sum_over_cubes(noise, lambda k: (2 * k + 1) ** (d - 1), abs(a), d)


def coordinate_beyond(noise: LatticeNoise, a: int) -> Fraction:
    """P(one coordinate > a), a ≥ 0."""
    d = noise.dimension
    return _sum_over_cubes(noise, lambda k: (k - a) * (2 * k + 1) ** (d - 1), a, d)


def variance(noise: LatticeNoise) -> Fraction:
    """Variance of one answer: a coordinate of the cube of radius k has Σ x² = (2k+1)^d k(k+1)/3."""
    d = noise.dimension
    squares = _sum_over_cubes(
        noise, lambda k: Fraction((2 * k + 1) ** d * k * (k + 1), 3), 0, d + 2
    )
    if noise.domain == "integer":
        return squares
    return Fraction(noise.step) ** 2 * (squares + total_mass(noise) / 12)


def printed_variance(noise: LatticeNoise) -> Fraction:
    """Eq. (var-cont) of Prop. 3.5 as printed; one answer, N ≥ 1. The paper takes the total to be 1,
    here it is what it is."""
    p = [Fraction(float(mass)) / (2 if k else 1) for k, mass in enumerate(noise.shell_masses)]
    n, r, step = noise.last, Fraction(noise.tail_ratio), Fraction(noise.step)
    inner = 2 * step**2 * sum(p[i] * i**2 for i in range(1, n))
    tail = (
        2
        * p[n]
        * step**2
        * (r**2 * (n - 1) ** 2 + n**2 * (1 - 2 * r) + r * (2 * n + 1))
        / (1 - r) ** 3
    )
    return inner + tail + (step**2 / 12 * total_mass(noise) if noise.domain == "real" else 0)


# --- the staircase law of Geng and Viswanath, sensitivity 1 --------------------------------------


def staircase_variance(epsilon: float, gamma: float) -> mpmath.mpf:
    """Variance of the density ∝ b^level, level 0 on |x| < γ, then one level more for each further
    1."""
    b, g = mpmath.exp(-mpmath.mpf(epsilon)), mpmath.mpf(gamma)
    # Σ_{l≥1} b^l l^n for n = 0, 1, 2 and ∫ x² over level l ≥ 1: (γ+l)² − (γ+l) + 1/3.
    s0, s1, s2 = b / (1 - b), b / (1 - b) ** 2, b * (1 + b) / (1 - b) ** 3
    second = g**3 / 3 + (s2 + (2 * g - 1) * s1 + (g * g - g + mpmath.mpf(1) / 3) * s0)
    return second / (g + s0)


def staircase_best_gamma(epsilon: float) -> mpmath.mpf:
    """γ* for the quadratic cost."""
    b = mpmath.exp(-mpmath.mpf(epsilon))
    return -b / (1 - b) + mpmath.cbrt((b - 2 * b**2 + 2 * b**4 - b**5) / 2) / (1 - b) ** 2


def staircase_best_variance(epsilon: float) -> mpmath.mpf:
    """The least variance of an ε-DP law: (2^(−2/3) b^(2/3) (1+b)^(2/3) + b)/(1−b)²."""
    b = mpmath.exp(-mpmath.mpf(epsilon))
    return (mpmath.cbrt((b * (1 + b) / 2) ** 2) + b) / (1 - b) ** 2
