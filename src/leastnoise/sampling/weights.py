"""From a designed law to the law that is sampled: integer weights that sum to 2^bits.

A law is *exact* when it ends (no geometric tail) and every shell mass is a whole
multiple of 2^−bits, bits = 64 or 128, with the sum exactly 1. Such masses are
floating-point numbers without error, so the law that is judged, saved and sampled is
one and the same object and needs no second representation. For one answer the weights
of the shells are even: each of the points ±k has a whole weight of its own.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from leastnoise import cost as costs
from leastnoise.changes import BOX, Changes
from leastnoise.errors import DesignError, InvalidParameterError
from leastnoise.lattice.radial import Radial
from leastnoise.lattice.shells import Floats

BITS = (64, 128)
_DIGITS = 53  # of a float64
# share of the mass that rounding may need and that goes to the receiving shell in the end
_HELD_BACK = 2.0**-44
# a shell gives at most 2^−cap of its weight to make the total come out even; the first
# almost always does
_CAPS = (34, 24, 14, 4)
_TILT = 2.0**-36  # relative fall a shell that makes room where a law has flat steps,
_TILTED_CAPS = (38,)  # and gifts that fit into it
# joint laws: inner shells below this weight are left empty, for rounding would make the
# law rise there
_LEAST_INNER = 2.0**12
FIELDS = frozenset({"bits", "first", "weights"})  # of weights as JSON data
# What a file may ask for is limited, for its author does not pay for the work: 591 bytes took 25 s
# and 1.7 GB to judge.
_MOST_SHELLS = 1 << 22
_MOST_EMPTY = 64  # shells without weight for one with, at most: a million answers at once need 38
_FEW_SHELLS = 1 << 10  # so many may be empty anyhow
PLAIN_TAIL = 2.0**-100  # mass cut off when no guarantee is asked for


class ShellLaw(Radial, ABC):
    """A radial law on a lattice of answers, as it is rounded and drawn."""

    step: float
    domain: str

    @property
    @abstractmethod
    def variance(self) -> float: ...

    @abstractmethod
    def of_weights(self, weights: IntegerWeights) -> Self:
        """The law on the same shells with these integer weights."""

    @property
    def made_for(self) -> Changes:
        """The widest changes that it is judged for."""
        return BOX

    def shell_counts(self, size: int) -> list[int]:
        """n_0 … n_(size−1) as exact integers. Bodies other than the cube have their own."""
        d = self.dimension
        return [(2 * k + 1) ** d - (2 * k - 1) ** d if k else 1 for k in range(size)]

    def squares(self, last: int) -> Floats:
        """The mean square of one answer on the shells 0 … last."""
        return costs.quadratic().per_shell(last, self.dimension, self.step, self.domain)


@dataclass(frozen=True)
class IntegerWeights:
    """Shell weights that sum to 2^bits; shell k has probability weights[k]/2^bits."""

    bits: int
    weights: tuple[int, ...]

    def masses(self) -> Floats:
        """The shell masses, floating-point numbers without error."""
        return np.array([math.ldexp(weight, -self.bits) for weight in self.weights])

    def in_bits(self, bits: int) -> tuple[int, ...]:
        """The weights of the same law with the sum 2^bits, which must not be smaller."""
        return tuple(weight << (bits - self.bits) for weight in self.weights)

    def described(self) -> dict[str, Any]:
        """The weights as plain JSON data, those of the shells first, first + 1, …"""
        first = next(k for k, weight in enumerate(self.weights) if weight)
        _check_shells(first, len(self.weights) - first)
        texts = [f"{weight:x}" for weight in self.weights[first:]]
        return {"bits": self.bits, "first": first, "weights": texts}

    @staticmethod
    def from_description(content: Mapping[str, Any]) -> IntegerWeights:
        """The inverse of `described`; a ValueError, TypeError or KeyError for what is none."""
        bits, first, texts = content["bits"], content["first"], content["weights"]
        is_shell = type(first) is int and first >= 0
        if bits not in BITS or not is_shell or not isinstance(texts, list):
            raise ValueError(
                "bits must be 64 or 128, first the number of a shell and weights a list"
            )
        _check_shells(first, len(texts))
        weights = [0] * first + [_weight(text) for text in texts]
        if sum(weights) != 1 << bits:
            raise ValueError(
                f"the weights sum to {Fraction(sum(weights), 1 << bits)!s} of 2^{bits}"
            )
        return IntegerWeights(bits, tuple(weights))


def _check_shells(first: int, weights: int) -> None:
    if first > max(_FEW_SHELLS, _MOST_EMPTY * weights) or first + weights > _MOST_SHELLS:
        raise InvalidParameterError(
            "shells",
            first + weights,
            f"to be at most {_MOST_SHELLS}, and for one with weight at most {_MOST_EMPTY} without",
        )


def _weight(text: Any) -> int:
    if not isinstance(text, str) or text != f"{int(text, 16):x}" or text.startswith("-"):
        raise ValueError("a weight is not a whole number in lower-case hexadecimal")
    return int(text, 16)


@lru_cache(maxsize=16)
def integer_weights(law: Radial) -> IntegerWeights | None:
    """The weights of an exact law, None for any other."""
    return None if law.tail_ratio is not None else weights_of(law.shell_masses, law.dimension)


def weights_of(masses: Floats, dimension: int) -> IntegerWeights | None:
    """The weights of shell masses that are whole multiples of 2^−64 or 2^−128 and sum
    to 1, else None."""
    ratios = [float(mass).as_integer_ratio() for mass in masses]
    least = _unit(dimension)
    for bits in BITS:
        scale = 1 << bits
        if all(scale % q == 0 and (scale // q * p) % least == 0 for p, q in ratios):
            weights = tuple(scale // q * p for p, q in ratios)
            return IntegerWeights(bits, weights) if sum(weights) == scale else None
    return None


def rounded_weights(
    noise: ShellLaw, bits: int = 128, tail: float = PLAIN_TAIL, shift: int = 0
) -> IntegerWeights:
    """Integer weights of sum 2^bits for `noise`, ended so that the last `shift` shells
    and all beyond them had mass ≤ `tail`.

    Every change moves mass inwards, so the variance falls: weights are rounded down,
    some shells give a last bit more, and the receiving shell, which lies inside the
    standard deviation, takes what is left.
    """
    masses = noise.extended(_last_shell(noise, tail, shift))
    try:
        return _with_sum(noise, masses, bits, _CAPS)
    except DesignError:
        if not noise.is_monotone:
            raise
    # A law with flat steps has no room between neighbours. Tilted by 2^−36 a shell it
    # has, and is still non-increasing; the tilt moves mass inwards, and a loss by at
    # most 2^−36 a step of the shift.
    tilted = masses * np.exp(-_TILT * np.arange(masses.size))
    return _with_sum(noise, tilted, bits, _TILTED_CAPS + _CAPS)


def _with_sum(noise: ShellLaw, masses: Floats, bits: int, caps: tuple[int, ...]) -> IntegerWeights:
    """Integer weights of sum 2^bits for these shell masses of `noise`, up to a factor."""
    total = math.fsum(masses)
    scale = Fraction(1 << bits) * (1 - Fraction(_HELD_BACK)) / Fraction(total)
    least = _unit(noise.dimension)
    weights = [_digits_down(math.floor(Fraction(float(mass)) * scale), least) for mass in masses]
    if noise.dimension > 1 and noise.is_monotone:
        weights = _hollow_and_level(weights, noise.shell_counts(len(weights)))
    while weights[-1] == 0:
        weights.pop()
    cost = noise.squares(len(weights) - 1)
    counts = noise.shell_counts(len(weights)) if noise.is_monotone else None
    balance = _Balance(weights, counts, 1 << bits, least)
    balance.settle(cost <= noise.variance, caps)
    return IntegerWeights(bits, tuple(balance.weights))


def _unit(dimension: int) -> int:
    """What every shell weight is a multiple of."""
    return 2 if dimension == 1 else 1


def _last_shell(noise: ShellLaw, tail: float, shift: int) -> int:
    """The last shell to keep."""
    if noise.tail_ratio is None:
        return noise.last
    reach = noise.last + 64
    # extend until what lies beyond is certainly below the tail: the shells' masses
    # shrink ever faster
    while True:
        masses = noise.extended(reach)
        rho = float(masses[-1] / masses[-2]) if masses[-2] > 0 else 0.0
        if rho < 1.0 and masses[-1] * rho <= 0.5 * tail * (1.0 - rho):
            break
        reach = noise.last + 2 * (reach - noise.last)
    beyond: Floats = np.cumsum(masses[::-1])[::-1]  # mass of shell k and all after it
    # half of the tail: it goes on beyond what was looked at
    return int(np.argmax(np.append(beyond, 0.0) <= 0.5 * tail)) + shift


def _digits_down(weight: int, unit: int = 1) -> int:
    """The largest number ≤ weight that a float64 holds and that `unit` (1 or 2) divides."""
    drop = max(weight.bit_length() - _DIGITS, unit - 1)
    return weight >> drop << drop


def _digits_up(weight: int) -> int:
    drop = max(weight.bit_length() - _DIGITS, 0)
    return -(-weight >> drop) << drop


def _hollow_and_level(weights: list[int], counts: list[int]) -> list[int]:
    """Joint laws: empty the inner shells that are too light, and lift, from outside in,
    what rounding left below its outer neighbour: W_k/n_k ≥ W_{k+1}/n_{k+1}."""
    first = next(k for k, weight in enumerate(weights) if weight >= _LEAST_INNER)
    for k in range(len(weights) - 2, first - 1, -1):
        weights[k] = max(weights[k], _digits_up(-(-weights[k + 1] * counts[k] // counts[k + 1])))
    return [0] * first + weights[first:]


class _Balance:
    """Weights on their way to the sum `total`, each within the digits of a float64, and
    W_k/n_k not increasing where `counts` are given.

    What is missing goes to one receiving shell, which can hold it only if the missing sum has no
    bits below the receiver's last digit. So smaller shells give up their share of those bits
    first: a giver rounds the missing sum up to the receiver's last digit, or, where that is more
    than 2^−cap of its own weight, to that power, which is the last digit of a heavier giver.
    """

    def __init__(
        self, weights: Sequence[int], counts: Sequence[int] | None, total: int, unit: int
    ) -> None:
        self.weights = list(weights)
        self._counts = counts
        self._total = total
        self._unit = unit
        self._held = [k for k, weight in enumerate(weights) if weight]

    def settle(self, inside: NDArray[np.bool_], caps: tuple[int, ...]) -> None:
        """Make the sum come out even; the receiver is `inside` the standard deviation if it can."""
        weights = self.weights
        # The receiver should hardly notice: heavy, and with room below its inner neighbour.
        receiver = max(
            self._held, key=lambda k: (bool(inside[k]), min(weights[k] >> 20, self._may_rise(k)))
        )
        while (missing := self._total - sum(weights)) != 0:
            grown = weights[receiver] + missing
            if 0 < missing <= self._may_rise(receiver) and self._fits(grown):
                weights[receiver] = grown
                break
            digit = 1 << max(grown.bit_length() - _DIGITS, 1)
            k, quantum = self._giver(receiver, missing & -missing, digit, caps)
            weights[k] -= -missing % quantum

    def _giver(
        self, receiver: int, lowest: int, digit: int, caps: tuple[int, ...]
    ) -> tuple[int, int]:
        """The heaviest shell that can round the missing sum, whose lowest bit is
        `lowest`, up to a power nearer to `digit`."""
        by_weight = sorted(self._held, key=lambda k: -self.weights[k])
        for cap in caps:
            for k in by_weight:
                weight = self.weights[k]
                quantum = min(1 << max(weight.bit_length() - cap, 0), digit)
                has_the_digit = self._fits(weight + lowest)
                is_enough = quantum > lowest and self._may_fall(k) >= quantum
                if k != receiver and has_the_digit and is_enough:
                    return k, quantum
        raise DesignError(
            "The weights cannot be rounded to sum to a power of two: the law falls too steeply "
            "between its shells."
        )

    def _fits(self, weight: int) -> bool:
        return _digits_down(weight, self._unit) == weight

    def _may_fall(self, k: int) -> int:
        if self._counts is None:
            return self.weights[k] - self._unit
        if k == len(self.weights) - 1:
            return self.weights[k]
        outer = self.weights[k + 1]
        return self.weights[k] - -(-outer * self._counts[k] // self._counts[k + 1])

    def _may_rise(self, k: int) -> int:
        if self._counts is None or k == self._held[0]:
            return self._total
        inner = self.weights[k - 1]
        return inner * self._counts[k] // self._counts[k - 1] - self.weights[k]
