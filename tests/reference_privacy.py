"""Slow, exact forms of what the judge computes: every lattice point, every shift, every sequence of
outcomes."""

from __future__ import annotations

import itertools
import math

import mpmath as mp
import numpy as np

from leastnoise import LatticeNoise


def lattice_points(noise: LatticeNoise, radius: int) -> dict[tuple[int, ...], float]:
    """Probability of every lattice point up to `radius`."""
    h = noise.pmf(np.arange(radius + 1)) / noise.total
    axis = range(-radius, radius + 1)
    return {x: float(h[max(map(abs, x))]) for x in itertools.product(axis, repeat=noise.dimension)}


def loss_table(
    noise: LatticeNoise, shift: tuple[int, ...], radius: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """(losses, probabilities, mass of infinite loss) of P against P shifted by `shift`, equal
    losses added up."""
    points = lattice_points(noise, radius)
    table: dict[
        float, list[float]
    ] = {}  # keyed by the rounded loss; the loss itself is kept to all digits
    infinite = 0.0
    for x, p in points.items():
        if p == 0.0:
            continue
        q = points.get(tuple(a - b for a, b in zip(x, shift, strict=True)))
        if (
            q is None
        ):  # beyond the enumerated box: only reached where p is negligible or the support has ended
            q = float(
                noise.pmf(max(abs(a - b) for a, b in zip(x, shift, strict=True))) / noise.total
            )
        if q == 0.0:
            infinite += p
        else:
            loss = math.log(p / q)
            table.setdefault(round(loss, 12), [loss, 0.0])[1] += p
    losses, masses = np.array([table[key] for key in sorted(table)]).reshape(-1, 2).T
    return losses, masses, infinite


def delta_of_sequence(tables: list[tuple[np.ndarray, np.ndarray, float]], epsilon: float) -> float:
    """δ(ε) of independent releases by enumerating every sequence of losses."""
    total, p = np.zeros(1), np.ones(1)
    finite = 1.0
    for losses, masses, infinite in tables:
        total = np.add.outer(total, losses).ravel()
        p = np.multiply.outer(p, masses).ravel()
        finite *= 1.0 - infinite
    above = total > epsilon
    return (1.0 - finite) + math.fsum(p[above] * -np.expm1(epsilon - total[above]))


def worst_delta(
    noise: LatticeNoise, shift: int, releases: int, epsilon: float, radius: int
) -> float:
    """δ(ε) of the worst sequence of shifts, each in the box of half-width `shift`."""
    box = [v for v in itertools.product(range(-shift, shift + 1), repeat=noise.dimension) if any(v)]
    distinct = {tuple(sorted(map(abs, v))) for v in box}  # the law does not see signs or order
    tables = [loss_table(noise, v, radius) for v in sorted(distinct)]
    choices = itertools.combinations_with_replacement(tables, releases)
    return max(delta_of_sequence(list(choice), epsilon) for choice in choices)


def gaussian_delta(mu: float, epsilon: float) -> mp.mpf:
    """Balle and Wang 2018, Theorem 8."""
    mu, epsilon = mp.mpf(mu), mp.mpf(epsilon)
    return mp.ncdf(mu / 2 - epsilon / mu) - mp.e**epsilon * mp.ncdf(-mu / 2 - epsilon / mu)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The root of `gaussian_delta` by bisection with 50 digits."""
    with mp.workdps(50):
        low, high = mp.mpf(0), mp.mpf(1)
        while gaussian_delta(mu, high) > delta:
            high *= 2
        for _ in range(120):
            middle = (low + high) / 2
            low, high = (middle, high) if gaussian_delta(mu, middle) > delta else (low, middle)
        return float(high)


def renyi_divergence(noise: LatticeNoise, order: float, shift: int, digits: int = 40) -> mp.mpf:
    """Theorem 3.6 for one answer and one shift, with the tail summed until it is below 1e-60 of the
    whole."""
    with mp.workdps(digits):
        ratio = mp.mpf(noise.tail_ratio)
        masses = [mp.mpf(float(w)) for w in noise.shell_masses]
        p = [masses[0]] + [w / 2 for w in masses[1:]]
        norm = sum(masses) + (2 * p[-1] if noise.last == 0 else masses[-1]) * ratio / (1 - ratio)

        def at(k: int) -> mp.mpf:
            k = abs(k)
            return (p[k] if k <= noise.last else p[-1] * ratio ** (k - noise.last)) / norm

        alpha = mp.mpf(order)
        reach = noise.last + shift
        if order == 1:
            inner = sum(at(x) * mp.log(at(x) / at(x - shift)) for x in range(-reach, reach + 1))
            far = (
                at(reach + 1) / (1 - ratio) * shift * mp.log(ratio)
            )  # right: loss t·log r; left: −t·log r
            return inner + far - far
        inner = sum(at(x) ** alpha * at(x - shift) ** (1 - alpha) for x in range(-reach, reach + 1))
        far = at(reach + 1) / (1 - ratio)
        total = inner + far * (ratio ** (shift * (alpha - 1)) + ratio ** (-shift * (alpha - 1)))
        return mp.log(total) / (alpha - 1)


def randomised_response_delta(loss: float, releases: int, epsilon: float) -> mp.mpf:
    """δ(ε) of n releases whose loss is ±`loss`, P[+] = 1/(1 + e^−loss): a binomial sum, to 17
    digits."""
    with mp.workdps(25):
        step, at = mp.mpf(loss), mp.mpf(epsilon)
        up = 1 / (1 + mp.exp(-step))
        first = max(int(mp.floor((at / step + releases) / 2)) + 1, 0)
        if first > releases:
            return mp.mpf(0)
        p = mp.binomial(releases, first) * up**first * (1 - up) ** (releases - first)
        discount, fall, odds = (
            mp.exp(at - step * (2 * first - releases)),
            mp.exp(-2 * step),
            up / (1 - up),
        )
        total = mp.mpf(0)
        for k in range(first, releases + 1):
            total += p * (1 - discount)
            if k > releases * up and p < total * mp.mpf(10) ** -20:
                break
            p *= odds * (releases - k) / (k + 1)
            discount *= fall
        return total
