"""The objective, its gradient and its banded Hessian, as sums over pairs of shells.

With q = log h and λ = log(h_i/h_j) a pair of N_ij lattice points contributes N_ij h_j φ(e^λ) to

    D = (g_α − 1)/(α(α−1)),     φ(ρ) = (ρ^α − 1 − α(ρ − 1))/(α(α−1)) ≥ 0,

so D is a sum of non-negative terms that is smooth through α = 1 (Kullback-Leibler), and the divergence is
log1p(α(α−1)D)/(α−1). In relative coordinates dq = dh/h a pair's gradient is N h_i (ρ^(α−1) − 1)/(α−1) at i and −N h_j (ρ^α −
1)/α at j, its Hessian the graph Laplacian N h_j ρ^α (e_i − e_j)(e_i − e_j)ᵀ: bandwidth m.

A shell beyond `last` (inside `first`) is its end shell times a known ratio, so it folds into that index: the pair keeps its
count, times the ratio for h_j, and λ gets a constant. When both lie in the tail their sum over the whole tail is one pair per
difference i − j.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leastnoise import overlap
from leastnoise.designer.problem import RenyiProblem
from leastnoise.errors import InvalidParameterError
from leastnoise.shells import Floats

Indices = NDArray[np.intp]

_SCALED_FROM = (
    40.0  # above e^40 a term dwarfs the 1 it is compared with, and only logarithms are safe
)
_REMAINDER = 1e-20
_MOST_TERMS = 20_000_000


@dataclass(frozen=True, eq=False)
class PairSystem:
    """Generalised pairs of every shift of a problem: term e belongs to shift number `row[e]` and joins h_a and h_b."""

    order: float
    size: int
    rows: int
    bandwidth: int
    row: Indices
    a: Indices
    b: Indices
    log_count: Floats  # log(N_ij · ratio of h_j to h_b)
    offset: Floats  # what the folding adds to λ
    grid_a: Indices  # row·size + a, row·size + b: where a term's gradient goes
    grid_b: Indices
    joins: Indices  # the terms with a ≠ b
    band: Indices  # where those go in LAPACK's lower band storage


@dataclass(frozen=True, eq=False)
class Value:
    """Divergences per shift at one profile, and what their derivatives need. Everything is times e^−log_scale."""

    log_scale: float
    d: Floats  # D_t
    gradient: Floats  # rows × size, relative: h_k ∂D_t/∂h_k
    rounding: Floats  # the same sums over absolute values, times their relative rounding error
    weight: Floats  # Hessian weight of every term


def pair_system(problem: RenyiProblem) -> PairSystem:
    """Every generalised pair of the problem."""
    parts = [_folded_pairs(problem, t) for t in problem.shifts]
    row = np.concatenate([np.full(part[0].size, t, dtype=np.intp) for t, part in enumerate(parts)])
    a, b = (np.concatenate([part[s] for part in parts]).astype(np.intp) for s in (0, 1))
    log_count, offset = (np.concatenate([part[s] for part in parts]) for s in (2, 3))
    n = problem.size
    joins = np.flatnonzero(a != b)
    width = max(int(np.max(np.abs(a - b))), 1)
    band = np.minimum(a, b)[joins] * (width + 1) + np.abs(a - b)[joins]
    return PairSystem(
        problem.order,
        n,
        len(parts),
        width,
        row,
        a,
        b,
        log_count,
        offset,
        row * n + a,
        row * n + b,
        joins,
        band,
    )


def evaluate(system: PairSystem, q: Floats) -> Value:
    """D_t and its relative gradient at log-probabilities q."""
    alpha, beta = system.order, system.order - 1.0
    qa, qb = q[system.a], q[system.b]
    lam = (qa - qb) + system.offset
    power = alpha * lam
    log_b = system.log_count + qb
    log_weight = log_b + power
    scale = float(np.max(log_weight))
    shape = (system.rows, system.size)
    total = system.rows * system.size
    if scale <= _SCALED_FROM:
        scale = 0.0
        count_b = np.exp(log_b)
        rho_less_one = np.expm1(lam)
        tilt = np.expm1(beta * lam) / beta if beta > 0.0 else lam
        rise = np.expm1(power)
        weight = count_b * (1.0 + rise)
        count_a = count_b * (1.0 + rho_less_one)
        terms = count_b * ((1.0 + rho_less_one) * tilt - rho_less_one) / alpha
        to_a, to_b = count_a * tilt, count_b * rise / -alpha
    else:
        weight = np.exp(log_weight - scale)
        one_b, one_a = np.exp(log_b - scale), np.exp(log_b + lam - scale)
        to_a, to_b = (weight - one_a) / beta, (weight - one_b) / -alpha
        terms = (weight - one_b - alpha * (one_a - one_b)) / (alpha * beta)
    d = _sums(system.row, terms, system.rows)
    gradient = _sums(system.grid_a, to_a, total) + _sums(system.grid_b, to_b, total)
    error = 2.0**-52 * (4.0 + np.abs(power))
    rounding = _sums(system.grid_a, np.abs(to_a) * error, total) + _sums(
        system.grid_b, np.abs(to_b) * error, total
    )
    return Value(scale, d, gradient.reshape(shape), rounding.reshape(shape), weight)


def hessian_band(system: PairSystem, value: Value, row_weight: Floats) -> Floats:
    """Σ_t row_weight_t ∇²D_t in relative coordinates, in LAPACK's lower band storage."""
    n = system.size
    weight = value.weight[system.joins]
    if system.rows > 1:
        weight = weight * row_weight[system.row[system.joins]]
    elif row_weight[0] != 1.0:
        weight = weight * row_weight[0]
    # Fortran order, as LAPACK wants it: no copy on the way in.
    ab = -_sums(system.band, weight, (system.bandwidth + 1) * n).reshape(n, system.bandwidth + 1).T
    ab[0] = _sums(system.a[system.joins], weight, n) + _sums(system.b[system.joins], weight, n)
    return ab


def _sums(index: Indices, terms: Floats, size: int) -> Floats:
    return np.asarray(np.bincount(index, terms, minlength=size), dtype=np.float64)


def divergence(order: float, d: Floats | float, log_scale: float) -> Floats:
    """log1p(α(α−1)D)/(α−1) for the scaled D; D itself at α = 1."""
    d = np.asarray(d, dtype=np.float64)
    beta = order - 1.0
    if beta == 0.0:
        return d
    if log_scale == 0.0:
        return np.asarray(np.log1p(order * beta * d) / beta, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return np.asarray(
            (log_scale + np.log(math.exp(-log_scale) + order * beta * d)) / beta, dtype=np.float64
        )


def divergence_slope(order: float, d: Floats | float, log_scale: float) -> Floats:
    """d(divergence)/dD for the scaled D."""
    d = np.asarray(d, dtype=np.float64)
    return np.asarray(order / (math.exp(-log_scale) + order * (order - 1.0) * d), dtype=np.float64)


def _folded_pairs(problem: RenyiProblem, shift: int) -> tuple[Indices, Indices, Floats, Floats]:
    """(a, b, log_count, offset) for one shift."""
    first, last, log_r = problem.first, problem.last, math.log(problem.tail_ratio)
    pairs = overlap.corner_pairs(problem.dimension, shift, last + shift)
    keep = (np.minimum(pairs.i, pairs.j) <= last) & (np.maximum(pairs.i, pairs.j) > first)
    i, j, log_count = pairs.i[keep], pairs.j[keep], pairs.log_count[keep]
    over_i, over_j = np.maximum(i - last, 0), np.maximum(j - last, 0)
    difference, tail_count = _tail_pairs(problem, shift)
    end = np.full(difference.size, problem.size - 1)
    a = np.concatenate([np.clip(i, first, last) - first, end])
    b = np.concatenate([np.clip(j, first, last) - first, end])
    return (
        a,
        b,
        np.concatenate([log_count + over_j * log_r, tail_count]),
        np.concatenate([(over_i - over_j) * log_r, difference * log_r]),
    )


def _tail_pairs(problem: RenyiProblem, shift: int) -> tuple[Indices, Floats]:
    """Differences o = i − j and log Σ_{i, j > last} N_ij r^(j − last) for each.

    For |o| < m the count depends on u = i + j alone, so with r^(j−last) = r^((u−o)/2 − last) one running sum over u per
    parity serves every o: O(tail) instead of O(tail·m). Consecutive terms of such a sum have a falling ratio, as in
    `shells.geometric_tail`.
    """
    d, last, r = problem.dimension, problem.last, problem.tail_ratio
    log_r = math.log(r)
    if d == 1:
        geometric = log_r - math.log1p(-r)
        return np.array([shift, -shift]), np.array([geometric, geometric + shift * log_r])
    count = math.ceil((50.0 + 2.0 * d) / -log_r) + 2 * shift + 4
    while count <= _MOST_TERMS:
        j = np.arange(last + 1, last + 1 + count)
        # Ends (|o| = m): i = j + m with weight r^(j−last), and the mirror pair with r^m more.
        end = overlap.log_pair_count(d, shift, j + shift, j) + (j - last) * log_r
        u = np.arange(2 * last + 2, 2 * last + 2 + 2 * count)
        if shift > 1:
            middle = overlap.log_pair_count(d, shift, u - u // 2, u // 2) + (0.5 * u - last) * log_r
        else:  # only o = 0 lies inside, with even u
            middle = np.full(u.size, -np.inf)
            middle[::2] = (
                overlap.log_pair_count(d, shift, u[::2] // 2, u[::2] // 2)
                + (0.5 * u[::2] - last) * log_r
            )
        top_end, top_middle = float(np.max(end)), float(np.max(middle))
        if _has_ended(np.exp(end - top_end)) and _has_ended(np.exp(middle[::2] - top_middle)):
            break
        count *= 2
    else:
        raise InvalidParameterError(
            "tail_ratio", r, f"to give a tail of at most {_MOST_TERMS} shells"
        )
    log_end = top_end + math.log(float(np.sum(np.exp(end - top_end))))
    rest = np.zeros(u.size + 2)
    values = np.exp(middle - top_middle)
    for parity in (0, 1):
        rest[parity : u.size : 2] = np.cumsum(values[parity::2][::-1])[::-1]
    o = np.arange(1 - shift, shift)
    inner = top_middle + np.log(rest[np.abs(o)]) - 0.5 * o * log_r
    return np.concatenate([o, [shift, -shift]]), np.concatenate(
        [inner, [log_end, log_end + shift * log_r]]
    )


def _has_ended(terms: Floats) -> bool:
    rho = float(terms[-1] / terms[-2]) if terms[-1] > 0 else 0.0
    return rho < 1.0 and float(terms[-1]) * rho <= _REMAINDER * (1.0 - rho) * float(np.sum(terms))
