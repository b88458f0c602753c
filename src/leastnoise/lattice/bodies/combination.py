"""The law of Σ c_i·x_i, c whole numbers, for a law of the range.

With x_i = y_i − y_0 and c_0 = −Σc_i it is Σ c_i·y_i over all n = d + 1 entries, whose coefficients
add up to 0: so it does not change when all y grow by 1, and {r ≤ t}, the y of {0, …, t}^n without
those of {1, …, t}^n, has K_t(s) − K_{t−1}(s) points with the sum s, K_t(s) = #{y ∈ {0, …, t}^n: Σ
c_i·y_i = s}. With g_t = h_t − h_{t+1}

    P(s) = Σ_t g_t·(K_t(s) − K_{t−1}(s)) = Σ_t (g_t − g_{t+1})·K_t(s),

and the transform of K_t is Π_i sin((t+1)c_iθ/2)/sin(c_iθ/2), real, for the phases c_i·t/2 add up to
0. |s| ≤ t·M, M the sum of the positive c, so 2tM + 1 values of θ or more give P by one fast
Fourier transform, up to rounding.
"""

from __future__ import annotations

import math

import numpy as np

from leastnoise.lattice.shells import Floats

_MOST_WORK = 300_000_000  # values of sin
ROUNDING = 1e-10  # of a probability; 1e-13 was seen
_LARGEST = 10_000  # of a coefficient in units of the smallest


def whole_coefficients(coefficients: Floats) -> tuple[list[int], float] | None:
    """The coefficients as whole multiples of the smallest of them and that, or None."""
    unit = float(np.min(np.abs(coefficients[coefficients != 0.0])))
    if not float(np.max(np.abs(coefficients))) <= _LARGEST * unit:
        return None
    whole = np.rint(coefficients / unit)
    if not np.array_equal(whole * unit, coefficients):
        return None
    return [int(c) for c in whole], unit


def sizes_of_combination(log_falls: Floats, coefficients: list[int]) -> Floats | None:
    """P(|Σ c_i·x_i| = s) for s = 0, 1, …, from log(h_t − h_{t+1}); None where it takes too long."""
    every = [c for c in [-sum(coefficients), *coefficients] if c]
    n, last = len(coefficients) + 1, log_falls.size - 1
    reach = sum(c for c in every if c > 0) * last
    size = 1 << (2 * reach + 1).bit_length()
    if size * (last + 1) * len(set(map(abs, every))) > _MOST_WORK:
        return None
    theta = 2.0 * math.pi * np.arange(size // 2 + 1) / size
    transform = np.zeros(theta.size)
    # (g_t − g_{t+1})·(t+1)^n, the number of all y of {0, …, t}^n
    log_all = n * np.log(np.arange(last + 1) + 1.0)
    weights = np.exp(log_falls + log_all) - np.exp(np.append(log_falls[1:], -np.inf) + log_all)
    for t in np.flatnonzero(weights):
        kernel = np.ones(theta.size)
        for c in sorted(set(map(abs, every))):
            times = every.count(c) + every.count(-c)
            kernel *= _mean_wave(int(t), c * theta) ** times
        transform += weights[t] * kernel
    mass = np.fft.irfft(transform, size)[: reach + 1]
    return np.asarray(np.maximum(mass, 0.0) * np.where(np.arange(reach + 1) > 0, 2.0, 1.0))


def _mean_wave(t: int, angle: Floats) -> Floats:
    """sin((t+1)·angle/2)/((t+1)·sin(angle/2)): 1 or −1 at multiples of 2π, t even or odd."""
    half = np.remainder(0.5 * angle, 2.0 * math.pi)
    below = np.sin(half)
    is_whole = np.abs(below) < 1e-9
    limit = np.where(np.cos(half) > 0, 1.0, (-1.0) ** t)
    wave = np.sin((t + 1) * half) / ((t + 1) * np.where(is_whole, 1.0, below))
    return np.where(is_whole, limit, wave)
