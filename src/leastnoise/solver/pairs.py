"""The objective, its gradient and its banded Hessian, as sums over pairs of shells.

With q = log h and λ = log(h_i/h_j) a pair of N_ij lattice points contributes N_ij h_j φ(e^λ) to

    D = (g_α − 1)/(α(α−1)),     φ(ρ) = (ρ^α − 1 − α(ρ − 1))/(α(α−1)) ≥ 0,

so D is a sum of non-negative terms that is smooth through α = 1 (Kullback-Leibler), and the
divergence is log1p(α(α−1)D)/(α−1). In relative coordinates dq = dh/h a pair's gradient is N h_i
(ρ^(α−1) − 1)/(α−1) at i and −N h_j (ρ^α − 1)/α at j, its Hessian the graph Laplacian N h_j ρ^α (e_i
− e_j)(e_i − e_j)ᵀ: bandwidth m.

A shell beyond `last` (inside `first`) is its end shell times a known ratio, so it folds into that
index: the pair keeps its count, times the ratio for h_j, and λ gets a constant. When both lie in
the tail their sum over the whole tail is one pair per difference i − j.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leastnoise.errors import InvalidParameterError
from leastnoise.lattice import overlap, shells
from leastnoise.lattice.shells import Floats
from leastnoise.losses.table import TableLoss
from leastnoise.solver.problem import RenyiProblem

Indices = NDArray[np.intp]

# above e^40 a term dwarfs the 1 it is compared with, and only logarithms are safe
_SCALED_FROM = 40.0
_REMAINDER = 1e-20  # of a tail's sum, that its terms left out may come to
_MOST_TERMS = 20_000_000


@dataclass(frozen=True, eq=False)
class PairSystem:
    """Generalised pairs of every shift of a problem: term e belongs to shift number `row[e]` and
    joins h_a and h_b."""

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
    """Divergences per shift at one profile, and what their derivatives need. Everything is times
    e^−log_scale."""

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
    terms = row, a, b, log_count, offset, row * n + a, row * n + b, joins, band
    return PairSystem(problem.order, n, len(parts), width, *terms)


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
    at_a = _sums(system.grid_a, np.abs(to_a) * error, total)
    rounding = at_a + _sums(system.grid_b, np.abs(to_b) * error, total)
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


def loss_table(system: PairSystem, q: Floats) -> TableLoss:
    """The privacy loss of one release of the law q at the corner shift: one row a pair."""
    loss = q[system.a] - q[system.b] + system.offset
    return TableLoss(loss, system.log_count + q[system.b] + loss)


def divergence(order: float, d: Floats | float, log_scale: float) -> Floats:
    """log1p(α(α−1)D)/(α−1) for the scaled D; D itself at α = 1."""
    d = np.asarray(d, dtype=np.float64)
    beta = order - 1.0
    if beta == 0.0:
        return d
    if log_scale == 0.0:
        return np.asarray(np.log1p(order * beta * d) / beta, dtype=np.float64)
    with np.errstate(divide="ignore"):
        log_g = log_scale + np.log(math.exp(-log_scale) + order * beta * d)
    return np.asarray(log_g / beta, dtype=np.float64)


def divergence_slope(order: float, d: Floats | float, log_scale: float) -> Floats:
    """d(divergence)/dD for the scaled D."""
    d = np.asarray(d, dtype=np.float64)
    return np.asarray(order / (math.exp(-log_scale) + order * (order - 1.0) * d), dtype=np.float64)


def _folded_pairs(problem: RenyiProblem, shift: int) -> tuple[Indices, Indices, Floats, Floats]:
    """(a, b, log_count, offset) for one shift."""
    first, last, log_r = problem.first, problem.last, math.log(problem.tail_ratio)
    pairs = problem.lattice.pairs(shift, last + shift)
    keep = (np.minimum(pairs.i, pairs.j) <= last) & (np.maximum(pairs.i, pairs.j) > first)
    i, j, log_count = pairs.i[keep], pairs.j[keep], pairs.log_count[keep]
    over_i, over_j = np.maximum(i - last, 0), np.maximum(j - last, 0)
    difference, tail_count = _tail_pairs(problem, shift)
    end = np.full(difference.size, problem.size - 1)
    a = np.concatenate([np.clip(i, first, last) - first, end])
    b = np.concatenate([np.clip(j, first, last) - first, end])
    log_count = np.concatenate([log_count + over_j * log_r, tail_count])
    offset = np.concatenate([(over_i - over_j) * log_r, difference * log_r])
    return a, b, log_count, offset


def _tail_pairs(problem: RenyiProblem, shift: int) -> tuple[Indices, Floats]:
    """Differences o = i − j and log Σ_{i, j > last} N_ij r^(j − last) for each.

    1. One dimension: the pairs are |o| = m alone, and their sum is geometric.
    2. Else |o| = m: a sum over j. Its mirror pair has r^m more.
    3. And |o| < m: the count depends on u = i + j alone, so with r^(j−last) = r^((u−o)/2 − last)
       one running sum over u per parity serves every o: O(tail) instead of O(tail·m).

    The range norm has no such form: its pairs are listed.
    """
    log_r = math.log(problem.tail_ratio)
    if problem.moved is not None:
        return _listed_tail(problem, shift)
    if problem.dimension == 1:
        end = log_r - math.log1p(-problem.tail_ratio)
        return np.array([shift, -shift]), np.array([end, end + shift * log_r])
    ends, middle = _tail_terms(problem, shift)
    top = float(np.max(ends))
    end = top + math.log(float(np.sum(np.exp(ends - top))))
    top = float(np.max(middle))
    rest, values = np.zeros(middle.size + 2), np.exp(middle - top)
    for parity in (0, 1):
        rest[parity : middle.size : 2] = np.cumsum(values[parity::2][::-1])[::-1]
    o = np.arange(1 - shift, shift)
    inner = top + np.log(rest[np.abs(o)]) - 0.5 * o * log_r
    differences = np.concatenate([o, [shift, -shift]])
    return differences, np.concatenate([inner, [end, end + shift * log_r]])


def _listed_tail(problem: RenyiProblem, shift: int) -> tuple[Indices, Floats]:
    """The same by listing the pairs of the tail, as far as the shells of a geometric tail matter:
    all pairs of one j have no more points than shell j."""
    d, last, lattice = problem.dimension, problem.last, problem.lattice
    radii, _ = shells.geometric_tail(d, last, problem.tail_ratio, 0.0, lattice.log_shell_count)
    pairs = lattice.pairs(shift, int(radii[-1]) + shift)
    inside = (pairs.i > last) & (pairs.j > last)
    difference = pairs.i[inside] - pairs.j[inside]
    logs = pairs.log_count[inside] + (pairs.j[inside] - last) * math.log(problem.tail_ratio)
    top = float(np.max(logs))
    sums = np.bincount(difference + shift, np.exp(logs - top), minlength=2 * shift + 1)
    o = np.flatnonzero(sums) - shift
    return o, top + np.log(sums[o + shift])


def _tail_terms(problem: RenyiProblem, shift: int) -> tuple[Floats, Floats]:
    """Logarithms of the terms of both sums: over j = last + 1, … for |o| = m, and over u = 2·last +
    2, … for |o| < m, −∞ where the parity of u has none. Consecutive terms have a falling ratio, as
    in `shells.geometric_tail`, so it is known when what is left out is negligible."""
    d, last, log_r = problem.dimension, problem.last, math.log(problem.tail_ratio)
    count = math.ceil((50.0 + 2.0 * d) / -log_r) + 2 * shift + 4
    while count <= _MOST_TERMS:
        j = np.arange(last + 1, last + 1 + count)
        ends = overlap.log_pair_count(d, shift, j + shift, j) + (j - last) * log_r
        u = np.arange(2 * last + 2, 2 * last + 2 + 2 * count)
        has_pairs = slice(None) if shift > 1 else slice(None, None, 2)  # o = 0 alone: u is even
        u = u[has_pairs]
        middle = np.full(2 * count, -np.inf)
        inside = overlap.log_pair_count(d, shift, u - u // 2, u // 2)
        middle[has_pairs] = inside + (0.5 * u - last) * log_r
        if _has_ended(ends) and _has_ended(middle[::2]):
            return ends, middle
        count *= 2
    raise InvalidParameterError(
        "tail_ratio", problem.tail_ratio, f"to give a tail of at most {_MOST_TERMS} shells"
    )


def _has_ended(logs: Floats) -> bool:
    """Whether the terms beyond the last one come to at most 1e-20 of the sum of those before."""
    terms = np.exp(logs - float(np.max(logs)))
    rho = float(terms[-1] / terms[-2]) if terms[-1] > 0 else 0.0
    return rho < 1.0 and float(terms[-1]) * rho <= _REMAINDER * (1.0 - rho) * float(np.sum(terms))
