"""Characteristic functions of forms Σ c_i·x_i for the norms that are made of g(y) = max(max y,
⌈Σy/k⌉): `touched`, g(|x|), and `count`, g(x⁺) + g(x⁻).

**Layers.** The law of `touched` is a mixture of uniform laws on {g(|x|) ≤ p} with the weights
h_p − h_{p+1} for each point, that of `count` one on {g(x⁺) ≤ p, g(x⁻) ≤ q} with the weights
w_{p+q}, w_t = h_t − 2h_{t+1} + h_{t+2}: the sums of these over all layers that hold a point are its
h. In a layer entries are independent but for their sum, which is at most kp.

**Two answers.** The rest of a layer depends on |x_1| + |x_2|, or on the positive and the negative
part of the two, alone: the law of the pair is a table.

**Several.** Let Q(u) be the transform, at an angle θ, of the moved entries whose sizes add up to
u. One entry y = 1 … p more makes of it Σ_y e^(icθy) Q(u − y) = e^(icθu) times a window sum of
e^(−icθv) Q(v): prefix sums for all u and θ at once. Σ_u Q(u)·#{others with a sum ≤ kp − u} is the
transform of the layer. With whole coefficients the form is a whole number of at most kT·max|c|, so
that few θ give its probabilities.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from leastnoise.errors import UnsupportedError
from leastnoise.lattice.bodies.capped import window_sum
from leastnoise.lattice.shells import Floats
from leastnoise.lattice.waves import of_masses, of_pairs, whole_multiples

Complexes = NDArray[np.complex128]
_MOST_WORK = 400_000_000  # values of Q: about ten seconds
_MOST_AT_A_PLACE = 2_000  # the same at one θ: an interval takes 61,000 of them
_MOST_DIGITS = 120.0  # of a number of points
_CHUNK = 1 << 18  # values of Q at a time


def touched_characteristic(
    log_h: Floats, dimension: int, k: int, coefficients: Floats, t: Floats
) -> Floats:
    """Of max(‖x‖∞, ⌈‖x‖₁/k⌉)."""
    moved = _checked(log_h, dimension, coefficients)
    if moved.size == 2:
        table = _touched_pairs(np.exp(log_h), dimension, k)
        return of_pairs(table, float(moved[0]), float(moved[1]), t)

    def transform(each: Floats, theta: Floats) -> Floats:
        return _touched(log_h, dimension, k, each, theta)

    return _of_several(moved, log_h.size - 1, k, t, transform)


def count_characteristic(
    log_h: Floats, dimension: int, k: int, coefficients: Floats, t: Floats
) -> Floats:
    """Of g(x⁺) + g(x⁻)."""
    moved = _checked(log_h, dimension, coefficients)
    if moved.size == 2:
        table = _count_pairs(np.exp(log_h), dimension, k)
        return of_pairs(table, float(moved[0]), float(moved[1]), t)

    def transform(each: Floats, theta: Floats) -> Floats:
        return _count(log_h, dimension, k, each, theta)

    return _of_several(moved, log_h.size - 1, k, t, transform)


def _checked(log_h: Floats, dimension: int, coefficients: Floats) -> Floats:
    if dimension * math.log10(2.0 * log_h.size + 1.0) > _MOST_DIGITS:
        raise UnsupportedError(f"A form in answers of a draw of {dimension} takes too long.")
    return np.asarray(coefficients[coefficients != 0.0])


def _rows(p: int, k: int, most: int, zero: float, times: float) -> list[Floats]:
    """#{y: Σ ≤ s} of 0 … `most` entries by [entries][s], s = 0 … kp: an entry is 0 in `zero` ways,
    and each of 1 … p in `times`."""
    rows = [np.ones(k * p + 1)]
    for _ in range(most):
        rows.append(zero * rows[-1] + times * window_sum(rows[-1], p))
    return rows


def _left(row: Floats, size: int) -> Floats:
    """The row at kp − u for u = 0 … size − 1, and 0 where that is negative."""
    turned = row[::-1][:size]
    return np.concatenate([turned, np.zeros(size - turned.size)])


# Two answers


def _touched_pairs(h: Floats, dimension: int, k: int) -> Floats:
    last = h.size - 1
    quarter = np.zeros((last + 1, last + 1))
    falls = h - np.append(h[1:], 0.0)
    sums = np.add.outer(np.arange(last + 1), np.arange(last + 1))
    for p in range(last + 1):
        left = _left(_rows(p, k, dimension - 2, 1.0, 2.0)[-1], 2 * p + 1)
        quarter[: p + 1, : p + 1] += falls[p] * left[sums[: p + 1, : p + 1]]
    half = np.concatenate([quarter[:0:-1], quarter])
    return np.concatenate([half[:, :0:-1], half], axis=1)


def _count_pairs(h: Floats, dimension: int, k: int) -> Floats:
    last, others = h.size - 1, dimension - 2
    curve = _curve(h)
    up = _tables(last, k, others, 0.0, 2 * last + 1)
    down = _tables(last, k, others, 1.0, last + 1)
    is_within = np.arange(last + 1)[:, None] >= np.arange(last + 1)
    alike, apart = np.zeros((last + 1, last + 1)), np.zeros((last + 1, last + 1))
    sums = np.add.outer(np.arange(last + 1), np.arange(last + 1))
    for j in range(others + 1):
        ways, rest = float(math.comb(others, j)), down[others - j]
        layers = curve @ rest[:, 0]
        for p in range(last + 1):
            alike[: p + 1, : p + 1] += ways * layers[p] * up[j][p][sums[: p + 1, : p + 1]]
        positive, negative = up[j][:, : last + 1] * is_within, rest * is_within
        apart += ways * (positive.T @ curve @ negative)
    table = np.zeros((2 * last + 1, 2 * last + 1))
    table[last:, last:] = alike
    table[: last + 1, : last + 1] = alike[::-1, ::-1]
    table[last + 1 :, :last] = apart[1:, :0:-1]
    table[:last, last + 1 :] = apart[:0:-1, 1:]
    return table


def _curve(h: Floats) -> Floats:
    """w_{p+q} by [p, q]."""
    size = h.size
    long = np.concatenate([h, np.zeros(size + 2)])
    second = long[:-2] - 2.0 * long[1:-1] + long[2:]
    return np.asarray(second[np.add.outer(np.arange(size), np.arange(size))])


def _tables(last: int, k: int, others: int, zero: float, size: int) -> list[Floats]:
    """#{y: Σ ≤ kp − u} of 0 … `others` entries from 1 to p, or from 0, by [entries][p, u]."""
    found = [np.zeros((last + 1, size)) for _ in range(others + 1)]
    for p in range(last + 1):
        for entries, row in enumerate(_rows(p, k, others, zero, 1.0)):
            found[entries][p] = _left(row, size)
    return found


# Whole coefficients


def _of_several(
    moved: Floats, last: int, k: int, t: Floats, transform: Callable[[Floats, Floats], Floats]
) -> Floats:
    """From the probabilities of a form that is a whole number; else from its transform at each
    place."""
    combined = math.prod(1 + count for count in np.unique(moved, return_counts=True)[1])
    each = int(combined) * k * last * (last + 1) // 2
    whole = whole_multiples(moved)
    if whole is not None:
        multiples, unit = whole
        reach = last * min(int(np.sum(np.abs(multiples))), k * int(np.max(np.abs(multiples))))
        size = 1 << (2 * reach + 1).bit_length()
        if size // 2 * each <= _MOST_WORK:
            theta = 2.0 * math.pi * np.arange(size // 2 + 1) / size
            masses = np.fft.irfft(_in_parts(multiples, theta, k * last, transform), size)
            masses[1 : reach + 1] *= 2.0
            return of_masses(masses[: reach + 1], unit, t)
    if each > _MOST_AT_A_PLACE:
        raise UnsupportedError("The law of a form in so many answers takes too long.")
    return _in_parts(moved, t, k * last, transform)


def _in_parts(
    moved: Floats, theta: Floats, size: int, transform: Callable[[Floats, Floats], Floats]
) -> Floats:
    rows = max(1, _CHUNK // (size + 1))
    parts = (theta[at : at + rows] for at in range(0, theta.size, rows))
    return np.concatenate([transform(moved, part) for part in parts])


def _turns(c: float, theta: Floats, size: int) -> Complexes:
    """e^(icθu) by [u, θ]."""
    return np.asarray(np.exp(1j * np.outer(np.arange(size), c * theta)))


def _with_one_more(q: Complexes, p: int, turns: Complexes) -> Complexes:
    """Σ_{y = 1 … p} e^(icθy) Q(u − y) for each u."""
    prefix = np.concatenate([np.zeros((1, q.shape[1])), np.cumsum(q * turns.conj(), axis=0)])
    u = np.arange(q.shape[0])
    return np.asarray(turns * (prefix[u] - prefix[np.maximum(u - p, 0)]))


def _touched(log_h: Floats, dimension: int, k: int, moved: Floats, theta: Floats) -> Floats:
    h, total = np.exp(log_h), np.zeros(theta.size)
    falls = h - np.append(h[1:], 0.0)
    turns = {c: _turns(c, theta, k * (h.size - 1) + 1) for c in set(moved.tolist())}
    for p in range(h.size):
        q = np.zeros((k * p + 1, theta.size), dtype=np.complex128)
        q[0] = 1.0
        for c in moved.tolist():
            q = q + 2.0 * _with_one_more(q, p, turns[c][: k * p + 1]).real
        others = _rows(p, k, dimension - moved.size, 1.0, 2.0)[-1]
        total += falls[p] * (others[::-1] @ q.real)
    return total


def _count(log_h: Floats, dimension: int, k: int, moved: Floats, theta: Floats) -> Floats:
    h, others = np.exp(log_h), dimension - moved.size
    groups, times = np.unique(moved, return_counts=True)
    turns = [_turns(float(c), theta, k * (h.size - 1) + 1) for c in groups]
    chosen = list(itertools.product(*(range(count + 1) for count in times)))
    shape = (h.size, others + 1, theta.size)
    up = {each: np.zeros(shape, dtype=np.complex128) for each in chosen}
    down = {each: np.zeros(shape, dtype=np.complex128) for each in chosen}
    for p in range(h.size):
        for found, zero in ((up, 0.0), (down, 1.0)):
            rest = np.array([row[::-1] for row in _rows(p, k, others, zero, 1.0)])
            for each, q in _products(chosen, turns, p, k, zero):
                found[each][p] = rest @ q
    return _both_signs(h, up, down, times)


def _both_signs(
    h: Floats,
    up: Mapping[tuple[int, ...], Complexes],
    down: Mapping[tuple[int, ...], Complexes],
    times: NDArray[np.intp],
) -> Floats:
    """The sum over which entries are positive, of the layers of their part and of the others'."""
    others = next(iter(up.values())).shape[1] - 1
    curve, total = _curve(h), np.zeros(next(iter(up.values())).shape[2])
    for each, positive in up.items():
        left = tuple(int(count - own) for count, own in zip(times, each, strict=True))
        ways = math.prod(math.comb(int(n), own) for n, own in zip(times, each, strict=True))
        for j in range(others + 1):
            layers = curve @ down[left][:, others - j].conj()
            both = np.sum(positive[:, j] * layers, axis=0)
            total += float(ways * math.comb(others, j)) * both.real
    return total


def _products(
    chosen: list[tuple[int, ...]], turns: list[Complexes], p: int, k: int, zero: float
) -> Iterator[tuple[tuple[int, ...], Complexes]]:
    """Q of so many entries of each coefficient, from 1 to p, or from 0."""
    size = k * p + 1
    known: dict[tuple[int, ...], Complexes] = {}
    for each in chosen:
        if not any(each):
            q = np.zeros((size, turns[0].shape[1]), dtype=np.complex128)
            q[0] = 1.0
        else:
            g = next(i for i, count in enumerate(each) if count)
            before = known[tuple(count - (i == g) for i, count in enumerate(each))]
            q = zero * before + _with_one_more(before, p, turns[g][:size])
        known[each] = q
        yield each, q
