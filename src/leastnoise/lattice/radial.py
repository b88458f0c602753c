"""Radial laws on the integer lattice Z^d: shell masses with a geometric tail, and what
follows from them alone.

A point x has probability h_k, k = max_l |x_l|. Shell k holds n_k points, so its mass is n_k·h_k.
Masses, not h, are kept: they never underflow, whatever the dimension, and for one answer they
are p_0, 2p_1, 2p_2, … to the bit. Judge and sampler need no more of a law than this.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leastnoise.errors import InvalidParameterError, numbers, real_array
from leastnoise.lattice import shells
from leastnoise.lattice.shells import Floats

# shells of the tail that are listed for one answer of a joint law
_FARTHEST = 4_000_000
NORMALISED = 1e-9  # how far from 1 the total may be; the judge divides by it


class Radial:
    """Shell masses for k = 0 … N and h_k = h_N·tail_ratio^(k−N) beyond;
    `tail_ratio=None` ends the law at N.

    `shell_masses[k]` is n_k·h_k, the probability of all n_k points at radius k. Whoever
    inherits keeps these three.
    """

    shell_masses: Floats
    tail_ratio: float | None
    dimension: int

    @property
    def last(self) -> int:
        """N, the last shell with a mass of its own."""
        return int(self.shell_masses.size - 1)

    @cached_property
    def total(self) -> float:
        """Mass of all shells and the tail: 1 up to rounding."""
        return math.fsum(self.shell_masses.tolist()) + self.tail_mass

    @cached_property
    def tail_mass(self) -> float:
        """Mass beyond shell N."""
        if self.tail_ratio is None:
            return 0.0
        return float(self.shell_masses[-1]) * tail_sum(self.dimension, self.last, self.tail_ratio)

    @cached_property
    def is_monotone(self) -> bool:
        """Whether h_0 ≥ h_1 ≥ …: then the corner shift is the worst
        (docs/mathematics.md#the-worst-shift).

        Exact for one answer. For joint laws, whose shell counts are rounded, a rise of
        up to 8 roundings counts as level: it changes a profile by less than the judge's
        own allowance for rounding.
        """
        k = np.arange(self.last + 1)
        if self.dimension == 1:
            h = np.where(k == 0, 2.0, 1.0) * self.shell_masses
            return bool(np.all(h[1:] <= h[:-1]))
        return is_non_increasing(self.log_pmf(k))

    def log_shell_counts(self, k: ArrayLike) -> Floats:
        """log n_k. Bodies other than the cube have their own."""
        return shells.log_shell_count(self.dimension, k)

    def tail_weights(self, radii: NDArray[np.int64]) -> Floats:
        """The masses of these shells beyond N, relative to that of shell N."""
        return shells.tail_weights(self.dimension, self.last, float(self.tail_ratio or 0.0), radii)

    def extended(self, radius: int) -> Floats:
        """Shell masses for k = 0 … radius, tail included."""
        if radius <= self.last:
            return self.shell_masses[: radius + 1]
        more = np.arange(self.last + 1, radius + 1)
        if self.tail_ratio is None:
            return np.concatenate([self.shell_masses, np.zeros(more.size)])
        tail = self.shell_masses[-1] * self.tail_weights(more)
        return np.concatenate([self.shell_masses, tail])

    def log_pmf(self, k: ArrayLike) -> Floats:
        """log h_|k|: exact far beyond the range of floating-point numbers."""
        k = _radius(k)
        inner = np.minimum(k, self.last).astype(np.int64)
        with np.errstate(divide="ignore"):
            log_h = np.log(self.shell_masses[inner]) - self.log_shell_counts(inner)
        beyond = k > self.last
        if self.tail_ratio is None:
            return np.where(beyond, -np.inf, log_h)
        return np.where(beyond, log_h + (k - inner) * math.log(self.tail_ratio), log_h)

    def pmf(self, k: ArrayLike) -> Floats:
        """h_|k|: the probability of one lattice point at radius |k|."""
        if self.dimension > 1:
            return np.asarray(np.exp(self.log_pmf(k)), dtype=np.float64)
        k = _radius(k)
        inner = np.minimum(k, self.last).astype(np.int64)
        p = self.shell_masses[inner] * np.where(inner == 0, 1.0, 0.5)
        far = 0.0 if self.tail_ratio is None else self.tail_ratio ** (k - inner)
        return np.asarray(np.where(k > self.last, p * far, p), dtype=np.float64)

    # One coordinate

    def coordinate_pmf(self, k: Floats) -> Floats:
        """P(one coordinate = k) for integers k ≥ 0."""
        if self.dimension == 1:
            return self.pmf(k)
        masses = self._coordinate_masses
        inside = k < masses.size
        return np.where(inside, masses[np.where(inside, k, 0).astype(np.int64)], 0.0)

    def coordinate_beyond(self, k: Floats) -> Floats:
        """P(one coordinate > k) for integers k ≥ 0."""
        tails = self._coordinate_tails
        reach = tails.size - 1
        inside = np.minimum(k, reach).astype(np.int64)
        value = tails[inside]
        if self.dimension == 1 and self.tail_ratio is not None:
            return np.where(k > reach, value * self.tail_ratio ** np.maximum(k - reach, 0.0), value)
        return np.where(k > reach, 0.0, value)

    def coordinate_quantile(self, low: Floats, *, strictly: bool) -> Floats:
        """Smallest k ≥ 0 with P(one coordinate > k) ≤ low, or < low."""
        beyond = self._coordinate_tails
        reach = beyond.size - 1
        k = np.searchsorted(-beyond, -low, side="right" if strictly else "left").astype(np.float64)
        if self.tail_ratio is None or self.dimension > 1:
            return np.minimum(k, reach)
        # Beyond N: P(Z > k) = P(Z > N)·r^(k−N). The logarithms place k to within one;
        # the probabilities themselves decide.
        with np.errstate(divide="ignore"):
            more = np.ceil((np.log(low) - np.log(beyond[-1])) / math.log(self.tail_ratio))
        far = reach + np.maximum(more, 1.0)

        def enough(k: Floats) -> Floats:
            left = self.coordinate_beyond(k)
            return np.asarray(left < low if strictly else left <= low)

        far = np.where((far > reach + 1) & enough(far - 1.0), far - 1.0, far)
        far = np.where(enough(far), far, far + 1.0)
        return np.where(k > reach, far, k)

    @cached_property
    def _coordinate_masses(self) -> Floats:
        """P(one coordinate = a), a = 0 … reach; reach is N for one answer, far into the
        tail for joint laws."""
        if self.dimension == 1:
            return self.pmf(np.arange(self.last + 1))
        masses = self.extended(self.coordinate_reach)
        k = np.arange(masses.size)
        face = shells.face_share(self.dimension, k)
        inner = np.where(k > 0, masses * (1.0 - face) / np.maximum(2.0 * k - 1.0, 1.0), 0.0)
        farther = np.concatenate([np.cumsum(inner[::-1])[::-1][1:], [0.0]])
        return np.asarray(masses * face * np.where(k > 0, 0.5, 1.0) + farther, dtype=np.float64)

    @property
    def coordinate_reach(self) -> int:
        """The tail down to 1e-290 of itself, as far as that stays affordable."""
        if self.tail_ratio is None:
            return self.last
        length = math.ceil((670.0 + 12.0 * self.dimension) / -math.log(self.tail_ratio))
        return self.last + min(length, _FARTHEST)

    @cached_property
    def _coordinate_tails(self) -> Floats:
        """P(one coordinate > a), a = 0 … reach."""
        masses = self._coordinate_masses
        beyond = 0.0
        if self.dimension == 1 and self.tail_ratio is not None:
            beyond = float(masses[-1]) * self.tail_ratio / (1.0 - self.tail_ratio)
        return np.cumsum(np.concatenate([[beyond], masses[:0:-1]]))[::-1]


def checked_masses(given: ArrayLike) -> Floats:
    """Shell masses as a frozen copy of our own, without −0."""
    masses = numbers("shell_masses", given) + 0.0
    if masses.ndim != 1 or masses.size == 0:
        raise InvalidParameterError("shell_masses", given, "to be a non-empty list of numbers")
    bad = np.flatnonzero(~((masses >= 0) & (masses <= 1.0 + NORMALISED)))
    if bad.size:
        raise InvalidParameterError(f"shell_masses[{bad[0]}]", float(masses[bad[0]]), "in [0, 1]")
    masses.flags.writeable = False
    return masses


def tail_sum(dimension: int, last: int, ratio: float) -> float:
    """Mass beyond shell N of a geometric tail, relative to the mass of shell N."""
    if dimension == 1:
        return (2.0 if last == 0 else 1.0) * ratio / (1.0 - ratio)
    return float(np.sum(shells.geometric_tail(dimension, last, ratio)[1]))


def is_non_increasing(log_h: Floats) -> bool:
    """Whether log_h never rises by more than 8 roundings above any earlier value; a
    full shell after an empty one is a rise."""
    before, after = np.minimum.accumulate(log_h[:-1]), log_h[1:]
    size = np.where(np.isfinite(before), np.abs(before), 0.0)
    return not bool(np.any(after > before + 8.0 * np.finfo(np.float64).eps * (1.0 + size)))


def _radius(k: ArrayLike) -> Floats:
    radius = np.abs(real_array("k", k))
    if not np.all(radius == np.floor(radius)):
        raise InvalidParameterError("k", k, "to be integers")
    return radius
