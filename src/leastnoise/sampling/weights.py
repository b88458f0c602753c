"""From a designed law to the law that is sampled: integer weights that sum to 2^bits.

A law is *exact* when it ends (no geometric tail) and every shell mass is a whole multiple of 2^−bits, bits = 64 or 128, with the
sum exactly 1. Such masses are floating-point numbers without error, so the law that is judged, saved and sampled is one and the
same object and needs no second representation. For one answer the weights of the shells are even: each of the points ±k has a
whole weight of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from leastnoise import cost as costs
from leastnoise.errors import (
    DesignError,
    InvalidParameterError,
    UnsupportedError,
    at_least,
    open_unit,
    positive,
    positive_integer,
)
from leastnoise.lattice import LatticeNoise
from leastnoise.noise import Noise
from leastnoise.privacy.compose import Settings
from leastnoise.privacy.loss import DEFAULT, PrivacyLoss
from leastnoise.shells import Floats
from leastnoise.steps import shift_in_steps

BITS = (64, 128)
_DIGITS = 53  # of a float64
_HELD_BACK = (
    2.0**-44
)  # share of the mass that rounding may need and that goes to the receiving shell in the end
_CAPS = (
    34,
    24,
    14,
    4,
)  # a shell gives at most 2^−cap of its weight to make the total come out even; the first almost always does
_TILT = 2.0**-36  # relative fall a shell that makes room where a law has flat steps,
_TILTED_CAPS = (38,)  # and gifts that fit into it
_LEAST_INNER = (
    2.0**12
)  # joint laws: inner shells below this weight are left empty, for rounding would make the law rise there
_TAIL_SHARE = (
    1e-8  # share of δ that ending the law may cost, all releases: ε moves by about 1e-9 of itself
)
_PLAIN_TAIL = 2.0**-100  # mass cut off when no guarantee is asked for


@dataclass(frozen=True)
class IntegerWeights:
    """Shell weights that sum to 2^bits; shell k has probability weights[k]/2^bits."""

    bits: int
    weights: tuple[int, ...]

    def noise(self, like: LatticeNoise) -> LatticeNoise:
        """The law with these weights on the lattice of `like`."""
        masses = np.array([math.ldexp(weight, -self.bits) for weight in self.weights])
        return LatticeNoise(masses, None, like.step, like.domain, like.dimension)


@lru_cache(maxsize=16)
def integer_weights(noise: LatticeNoise) -> IntegerWeights | None:
    """The weights of an exact law, None for any other."""
    if noise.tail_ratio is not None:
        return None
    ratios = [float(mass).as_integer_ratio() for mass in noise.shell_masses]
    least = _unit(noise.dimension)
    for bits in BITS:
        scale = 1 << bits
        if all(scale % q == 0 and (scale // q * p) % least == 0 for p, q in ratios):
            weights = tuple(scale // q * p for p, q in ratios)
            return IntegerWeights(bits, weights) if sum(weights) == scale else None
    return None


def exact(
    noise: Noise,
    *,
    delta: float,
    sensitivity: float = 1.0,
    compositions: int = 1,
    bits: int | None = None,
    tolerance: float = 1e-6,
) -> LatticeNoise:
    """The law of `noise` with integer weights: the one to judge, save and sample.

    64 bits a draw where they are enough, else 128: `bits=None` takes the first whose judged ε is within `tolerance` of the ε of
    `noise` for `compositions` releases at `delta`.

    Guarantees: symmetric; monotone if `noise` is; support ends where the mass that a shift can carry out of it is below 1e-8 of
    delta, all releases together, and the judge charges it; no variance above that of `noise`; ε above that of `noise` by at most
    `tolerance` of itself. Otherwise a DesignError.
    """
    law = lattice_form(noise)
    delta, n = open_unit("delta", delta), positive_integer("compositions", compositions)
    sensitivity, tolerance = at_least("sensitivity", sensitivity), positive("tolerance", tolerance)
    if bits is not None and bits not in BITS:
        raise InvalidParameterError("bits", bits, "to be 64, 128 or None")
    already = integer_weights(law)
    if already is not None and bits in (None, already.bits):
        return law
    m = shift_in_steps(sensitivity, law.step)

    def judged(candidate: LatticeNoise, settings: Settings) -> float:
        return (
            replace(PrivacyLoss.of(candidate, sensitivity), settings=settings)
            .compose(n)
            .epsilon(delta)
        )

    # The judge's usual 5e-6 can drown the difference; then a finer look decides.
    fine = Settings(accuracy=0.1 * tolerance)
    after, good_enough = math.inf, None
    refusal: DesignError | None = None
    before = judged(law, DEFAULT)
    for width in BITS if bits is None else (bits,):
        try:
            candidate = rounded(law, width, _TAIL_SHARE * delta / n, m)
        except DesignError as error:
            refusal = error
            continue
        after = judged(candidate, DEFAULT)
        if after <= before * (1.0 + tolerance):
            return candidate
        if good_enough is None and judged(candidate, fine) <= judged(law, fine) * (1.0 + tolerance):
            good_enough = candidate
    if good_enough is not None:
        return good_enough
    if refusal is not None and after == math.inf:
        raise refusal
    raise DesignError(
        f"Rounding to integer weights moves epsilon from {before:.9g} to {after:.9g}, more than {tolerance:.1e} of itself; "
        "allow more bits or a larger tolerance."
    )


def rounded(
    noise: LatticeNoise, bits: int = 128, tail: float = _PLAIN_TAIL, shift: int = 0
) -> LatticeNoise:
    """`noise` with integer weights of sum 2^bits, ended so that the last `shift` shells and all beyond them had mass ≤ `tail`.

    Every change moves mass inwards, so the variance falls: weights are rounded down, some shells give a last bit more, and the
    receiving shell, which lies inside the standard deviation, takes what is left.
    """
    masses = noise.extended(_last_shell(noise, tail, shift))
    try:
        return _with_sum(noise, masses, bits, _CAPS)
    except DesignError:
        if not noise.is_monotone:
            raise
    # A law with flat steps has no room between neighbours. Tilted by 2^−36 a shell it has, and is still non-increasing; the tilt
    # moves mass inwards, and a loss by at most 2^−36 a step of the shift.
    return _with_sum(
        noise, masses * np.exp(-_TILT * np.arange(masses.size)), bits, _TILTED_CAPS + _CAPS
    )


def _with_sum(
    noise: LatticeNoise, masses: Floats, bits: int, caps: tuple[int, ...]
) -> LatticeNoise:
    """The law of these shell masses, up to a factor, with integer weights of sum 2^bits."""
    total = math.fsum(masses)
    scale = Fraction(1 << bits) * (1 - Fraction(_HELD_BACK)) / Fraction(total)
    least = _unit(noise.dimension)
    weights = [_digits_down(math.floor(Fraction(float(mass)) * scale), least) for mass in masses]
    if noise.dimension > 1 and noise.is_monotone:
        weights = _hollow_and_level(weights, noise.dimension)
    while weights[-1] == 0:
        weights.pop()
    inside = (
        costs.quadratic().per_shell(len(weights) - 1, noise.dimension, noise.step, noise.domain)
        <= noise.variance
    )
    counts = _shell_counts(noise.dimension, len(weights)) if noise.is_monotone else None
    return IntegerWeights(
        bits, tuple(_settled(weights, counts, 1 << bits, inside, least, caps))
    ).noise(noise)


def lattice_form(noise: Noise) -> LatticeNoise:
    if isinstance(noise, LatticeNoise):
        return noise
    raise UnsupportedError(
        f"{type(noise).__name__} is a closed form without a lattice and cannot be sampled exactly; "
        "use its lattice form, generalized_gaussian(sigma, 2.0) or generalized_gaussian(sigma, 1.0)."
    )


def _unit(dimension: int) -> int:
    """What every shell weight is a multiple of."""
    return 2 if dimension == 1 else 1


def _last_shell(noise: LatticeNoise, tail: float, shift: int) -> int:
    """The last shell to keep."""
    if noise.tail_ratio is None:
        return noise.last
    reach = noise.last + 64
    while True:  # extend until what lies beyond is certainly below the tail: the shells' masses shrink ever faster
        masses = noise.extended(reach)
        rho = float(masses[-1] / masses[-2]) if masses[-2] > 0 else 0.0
        if rho < 1.0 and masses[-1] * rho <= 0.5 * tail * (1.0 - rho):
            break
        reach = noise.last + 2 * (reach - noise.last)
    beyond: Floats = np.cumsum(masses[::-1])[::-1]  # mass of shell k and all after it
    return (
        int(np.argmax(np.append(beyond, 0.0) <= 0.5 * tail)) + shift
    )  # the tail goes on beyond what was looked at


def _digits_down(weight: int, unit: int = 1) -> int:
    """The largest number ≤ weight that a float64 holds and that `unit` (1 or 2) divides."""
    drop = max(weight.bit_length() - _DIGITS, unit - 1)
    return weight >> drop << drop


def _digits_up(weight: int) -> int:
    drop = max(weight.bit_length() - _DIGITS, 0)
    return -(-weight >> drop) << drop


def _shell_counts(dimension: int, size: int) -> list[int]:
    """n_k as exact integers."""
    return [(2 * k + 1) ** dimension - (2 * k - 1) ** dimension if k else 1 for k in range(size)]


def _hollow_and_level(weights: list[int], dimension: int) -> list[int]:
    """Joint laws: empty the inner shells that are too light, and lift, from outside in, what rounding left below its outer
    neighbour: W_k/n_k ≥ W_{k+1}/n_{k+1}."""
    counts = _shell_counts(dimension, len(weights))
    first = next(k for k, weight in enumerate(weights) if weight >= _LEAST_INNER)
    for k in range(len(weights) - 2, first - 1, -1):
        weights[k] = max(weights[k], _digits_up(-(-weights[k + 1] * counts[k] // counts[k + 1])))
    return [0] * first + weights[first:]


def _settled(
    weights: list[int],
    counts: list[int] | None,
    total: int,
    inside: NDArray[np.bool_],
    unit: int,
    caps: tuple[int, ...],
) -> list[int]:
    """The weights with sum `total`, each within the digits of a float64, and W_k/n_k not increasing where `counts` are given.

    What is missing goes to one receiving shell, which can hold it only if the missing sum has no bits below the receiver's last
    digit. So smaller shells give up their share of those bits first: a giver rounds the missing sum up to the receiver's last
    digit, or, where that is more than 2^−cap of its own weight, to that power, which is the last digit of a heavier giver.
    """
    weights = list(weights)
    held = [k for k, weight in enumerate(weights) if weight]

    def may_fall(k: int) -> int:
        if counts is None:
            return weights[k] - unit
        return (
            weights[k]
            if k == len(weights) - 1
            else weights[k] - -(-weights[k + 1] * counts[k] // counts[k + 1])
        )

    def may_rise(k: int) -> int:
        if counts is None or k == held[0]:
            return total
        return weights[k - 1] * counts[k] // counts[k - 1] - weights[k]

    def giver(lowest: int, digit: int) -> tuple[int, int]:
        """The heaviest shell that can round the missing sum, whose lowest bit is `lowest`, up to a power nearer to `digit`."""
        for cap in caps:
            for k in sorted(held, key=lambda k: -weights[k]):
                quantum = min(1 << max(weights[k].bit_length() - cap, 0), digit)
                has_the_digit = _digits_down(weights[k] + lowest, unit) == weights[k] + lowest
                if k != receiver and has_the_digit and quantum > lowest and may_fall(k) >= quantum:
                    return k, quantum
        raise DesignError(
            "The weights cannot be rounded to sum to a power of two: the law falls too steeply between its shells."
        )

    # The receiver should hardly notice: heavy, and with room below its inner neighbour.
    receiver = max(held, key=lambda k: (bool(inside[k]), min(weights[k] >> 20, may_rise(k))))
    while (missing := total - sum(weights)) != 0:
        grown = weights[receiver] + missing
        if 0 < missing <= may_rise(receiver) and _digits_down(grown, unit) == grown:
            weights[receiver] = grown
            break
        k, quantum = giver(missing & -missing, 1 << max(grown.bit_length() - _DIGITS, 1))
        weights[k] -= -missing % quantum
    return weights
