"""The half-width of the error of a reconstructed number, from its exact law and not by simulation.

The error is Σ K·(a sum of independent draws), over the classes of measured cells that have the same
weight K (`reconstruction.shares`); its characteristic function is φ(t) = Π φ_law(K t)^count. All
laws here are symmetric, so φ is real. With a period P far beyond any error,

    Pr(|error| ≤ h) = 2h/P + (2/π) Σ_{k ≥ 1} sin(2πkh/P)/k · φ(2πk/P)

The laws are lattices, so φ does not fall to 0 by itself; noise of s = 0.001 standard deviations is
added, which ends the sum. What it adds is beyond 4s with probability 6.34e-5, so for every h

    Pr(|error| ≤ h + 4s) ≥ Pr(|error + noise| ≤ h) − 6.34e-5

and the half-width is taken from the right side: never too small, and too large by 0.2 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from leastnoise.errors import InvalidParameterError, open_unit

Floats = NDArray[np.float64]

_SMOOTH = 1e-3  # of the standard deviation
_REACH, _BEYOND = 4.0, 6.4e-5  # of the added noise, and how often it is beyond
_PERIOD = 50.0  # standard deviations: a Laplace law is beyond half of it once in 1e15
_NEGLIGIBLE = 1e-13
_BLOCK, _SMALL = 4_096, 1e-7  # terms of a series that falls, and where it ends: within 1e-7
_TURN = 1 << 17  # places of the table of a characteristic function
MOST_PLACES = _TURN // 4 - 2  # of a law on the integers that is taken as it is


class ErrorLaw(Protocol):
    """A symmetric law by its characteristic function."""

    @property
    def variance(self) -> float: ...

    @property
    def is_smooth(self) -> bool:
        """Whether it has a density, so that its characteristic function falls to 0."""

    def characteristic(self, t: Floats) -> Floats:
        """φ(t) = E cos(t·X)."""


@dataclass(frozen=True, eq=False)
class SymmetricLaw:
    """A symmetric law on a lattice: the probabilities of 0, ±1, ±2, … steps."""

    masses: Floats  # of 0, 1, 2, …; each but the first stands for two places
    step: float
    _turns: CubicSpline = field(init=False, repr=False)

    def __post_init__(self) -> None:
        masses = np.asarray(self.masses, dtype=np.float64)
        whole = float(masses[0] + 2.0 * masses[1:].sum())
        if not abs(whole - 1.0) < 1e-6 or len(masses) >= _TURN // 4:
            raise InvalidParameterError(
                "masses", whole, f"to add up to 1, at fewer than {_TURN // 4} places"
            )
        around = np.zeros(_TURN)
        around[: len(masses)] = masses / whole
        around[1 - len(masses) or _TURN :] = masses[:0:-1] / whole
        values = np.fft.fft(around).real
        angles = np.linspace(0.0, 2.0 * math.pi, _TURN + 1)
        turns = CubicSpline(angles, np.append(values, values[0]), bc_type="periodic")
        object.__setattr__(self, "masses", masses / whole)
        object.__setattr__(self, "_turns", turns)

    @property
    def is_smooth(self) -> bool:
        return False

    @cached_property
    def variance(self) -> float:
        places = np.arange(len(self.masses)) * self.step
        return float(2.0 * np.sum(places**2 * self.masses))

    def characteristic(self, t: Floats) -> Floats:
        """φ(t) = E cos(t·X)."""
        return np.asarray(self._turns(np.mod(t * self.step, 2.0 * math.pi)), dtype=np.float64)


@dataclass(frozen=True)
class ErrorPart:
    """A part of an error: `weight` times a sum of `count` independent draws of a law."""

    law: ErrorLaw
    weight: float
    count: int = 1

    @property
    def variance(self) -> float:
        return self.count * self.weight**2 * self.law.variance


def half_width(parts: Sequence[ErrorPart], confidence: float) -> float:
    """The h with Pr(|error| ≤ h) ≥ confidence, at most 0.2 % too large on a fine lattice."""
    open_unit("confidence", confidence)
    seen = sorted(_alike(parts), key=lambda part: -part.variance)
    if not seen:
        return 0.0
    (widest, *others) = seen
    if not others and widest.count == 1 and isinstance(widest.law, SymmetricLaw):
        return abs(widest.weight) * _of_one_draw(widest.law, confidence)
    std = math.sqrt(math.fsum(part.variance for part in seen))
    terms, values = _characteristic(seen, std)
    wanted = confidence + _BEYOND
    rates = 2.0 * math.pi * terms / _PERIOD
    amplitudes = 2.0 / math.pi * values / terms

    def held(width: float) -> float:
        return 2.0 * width / _PERIOD + float(np.sum(np.sin(rates * width) * amplitudes))

    low, high = 0.0, _PERIOD / 2.0
    if held(high) < wanted:
        raise InvalidParameterError("confidence", confidence, "to leave more to chance than 6e-5")
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if held(middle) >= wanted else (middle, high)
    return std * (high + _REACH * _SMOOTH)


def _alike(parts: Sequence[ErrorPart]) -> list[ErrorPart]:
    """The parts that say something, those of one law and weight together: the laws are symmetric,
    and weights that differ in the last digits are the same."""
    largest = max((abs(part.weight) for part in parts), default=0.0) or 1.0
    found: dict[tuple[int, float], ErrorPart] = {}
    for part in parts:
        key = (id(part.law), round(abs(part.weight) / largest, 12))
        if key[1] > 0.0 and part.law.variance > 0.0:
            before = found[key].count if key in found else 0
            found[key] = ErrorPart(part.law, key[1] * largest, before + part.count)
    return list(found.values())


def _of_one_draw(law: SymmetricLaw, confidence: float) -> float:
    """The least place of the lattice that a single draw stays within so often."""
    within = law.masses[0] + 2.0 * np.concatenate([[0.0], np.cumsum(law.masses[1:])])
    place = int(np.searchsorted(within, confidence - 1e-12))
    return min(place, len(law.masses) - 1) * law.step


def _characteristic(seen: Sequence[ErrorPart], std: float) -> tuple[Floats, Floats]:
    """The numbers k whose terms matter, and φ there, in standard deviations. Where some part has a
    density the terms fall like k^(−3) at least, and end where all of a block are small."""
    last = math.sqrt(-2.0 * math.log(_NEGLIGIBLE)) / _SMOOTH
    every = np.arange(1.0, math.ceil(last * _PERIOD / (2.0 * math.pi)))
    is_smooth = any(part.law.is_smooth for part in seen)
    found: list[tuple[Floats, Floats]] = []
    for at in range(0, every.size, _BLOCK):
        found.append(_block(seen, std, every[at : at + _BLOCK]))
        if is_smooth and np.all(np.abs(found[-1][1]) < _SMALL):
            break
    terms, values = zip(*found, strict=True)
    return np.concatenate(terms), np.concatenate(values)


def _block(seen: Sequence[ErrorPart], std: float, terms: Floats) -> tuple[Floats, Floats]:
    """The widest parts first, so that most terms are gone after a few."""
    points = 2.0 * math.pi * terms / _PERIOD
    values = np.exp(-0.5 * (_SMOOTH * points) ** 2)
    for part in seen:
        values = values * part.law.characteristic(points * (part.weight / std)) ** part.count
        kept = np.abs(values) > _NEGLIGIBLE
        terms, points, values = terms[kept], points[kept], values[kept]
    return terms, values
