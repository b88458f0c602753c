"""Laws for the ℓ1 judge of `one_view`: even and log-concave on the integers, and drawn as such.

The family exp(−(k/b)^p), 1 ≤ p ≤ 2, is the discrete Laplace law at p = 1, best where a person may
put all rows into one cell, and the discrete Gaussian at p = 2, best where rows are in many cells.

A law is drawn with integer weights. Rounding makes the masses of a Laplace law, whose logarithms
are on a line, bend the wrong way somewhere, and the theorem does not hold for what is drawn. So the
masses are bent a little first, by exp(−c·k²) with c of 2^−49 or more, which outweighs a unit in the
last of 53 digits, and are rounded from the outside in:

- each weight is rounded down to 53 digits, which floats hold without error;
- where the next one is larger by a power of 2, so is its last digit: then this weight takes the few
  units that make the sum so far a whole number of those. That is a few last digits, not more;
- the centre takes what is left of 2^128. It was made lighter by 2^−36 before, so that the
  error of the whole sum does not put it above the line through its neighbours.

`is_log_concave` then looks at every mass of the drawn law exactly; c is doubled until it agrees.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from leastnoise.accountant.attacker import gaussian_mu_of
from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.designer.calibrate import least_scale
from leastnoise.designer.request import MOST_INTEGERS
from leastnoise.errors import DesignError, LeastNoiseError
from leastnoise.lattice.shells import Floats
from leastnoise.laws import classic
from leastnoise.laws.base import Noise
from leastnoise.laws.lattice import LatticeNoise
from leastnoise.releases.noise.one_view import is_log_concave
from leastnoise.sampling.weights import IntegerWeights

EXPONENTS = (1.0, 1.5, 2.0)
Shifts = tuple[tuple[int, int], ...]  # by how much, and how many draws of a law
_BITS, _DIGITS = 128, 53
_BENDS = tuple(2.0**-power for power in range(49, 29, -1))
_LIGHTER = 2.0**-36
_TAIL = 1e-8  # share of δ that the end of the law may cost, all draws, as in `exact`
_LEAST = 0.05  # sigma, below which one person would be seen anyway
_CLOSE = 1e-7  # of ε, how close a calibrated law comes to it


def loss_of_shifts(noise: Noise, shifts: Shifts) -> PrivacyLoss:
    """The loss of independent draws, so many at each shift."""
    first, *others = (PrivacyLoss.of(noise, float(shift)).compose(n) for shift, n in shifts)
    for loss in others:
        first = first.compose(loss)
    return first


def named_exponent(exponent: float) -> str:
    """What a law of the family is called."""
    known = {1.0: "discrete Laplace", 2.0: "discrete Gaussian"}
    return known.get(exponent, f"exp(−(k/b)^{exponent:g})")


@lru_cache(maxsize=256)
def of_sigma(sigma: float, shifts: Shifts, delta: float) -> tuple[LatticeNoise, str]:
    """The law of the family that costs least at a standard deviation, and its name."""
    if not _LEAST <= sigma <= MOST_INTEGERS:
        raise DesignError(
            f"Expected sigma={sigma:g} between {_LEAST:g} and {MOST_INTEGERS:g} for noise on "
            "integers."
        )
    pure, gaussian = _known_sigmas(_pure_epsilon(sigma, shifts), shifts, delta)
    exponents = EXPONENTS if gaussian < 2.0 * pure else EXPONENTS[:1]
    tried = [(_law(sigma, exponent), named_exponent(exponent)) for exponent in exponents]
    return min(tried, key=lambda one: loss_of_shifts(one[0], shifts).epsilon(delta))


@lru_cache(maxsize=256)
def of_epsilon(epsilon: float, shifts: Shifts, delta: float) -> tuple[LatticeNoise, str]:
    """The law of the family with the least standard deviation within ε."""
    found: list[tuple[LatticeNoise, str]] = []
    pure, gaussian = _known_sigmas(epsilon, shifts, delta)
    # Laws between the two are between them in noise too: 10 % below the better one at best.
    for exponent in EXPONENTS if gaussian < 2.0 * pure else EXPONENTS[:1]:
        sigma = _least_sigma(epsilon, shifts, delta, exponent)
        if sigma is not None:
            found.append((_law(sigma, exponent), named_exponent(exponent)))
    if not found:
        raise DesignError(
            f"No integer noise of sigma up to {MOST_INTEGERS:g} gives epsilon = {epsilon:g}."
        )
    return min(found, key=lambda one: one[0].std)


def widened(sigma: float, name: str, wider: float) -> LatticeNoise:
    """The law of this name with so many times the standard deviation."""
    exponents = {named_exponent(exponent): exponent for exponent in EXPONENTS}
    return _law(sigma * wider, exponents[name])


def _pure_epsilon(sigma: float, shifts: Shifts) -> float:
    """What Laplace noise costs at most."""
    return math.sqrt(2.0) * sum(shift * n for shift, n in shifts) / sigma


def _known_sigmas(epsilon: float, shifts: Shifts, delta: float) -> tuple[float, float]:
    """What Laplace noise needs at most, and about what Gaussian noise needs."""
    total = sum(shift * n for shift, n in shifts)
    length = math.sqrt(sum(shift**2 * n for shift, n in shifts))
    return math.sqrt(2.0) * total / epsilon, length / gaussian_mu_of(epsilon, delta)


def _law(sigma: float, exponent: float) -> LatticeNoise:
    return classic.generalized_gaussian(sigma, exponent, domain="integer")


def _least_sigma(epsilon: float, shifts: Shifts, delta: float, exponent: float) -> float | None:
    pure, gaussian = _known_sigmas(epsilon, shifts, delta)
    start = pure if exponent == 1.0 else gaussian
    ends = (_LEAST, min(max(2.0 * start, 2.0 * _LEAST), MOST_INTEGERS))

    def epsilon_of(sigma: float) -> float:
        return loss_of_shifts(_law(sigma, exponent), shifts).epsilon(delta)

    try:
        return least_scale(epsilon_of, epsilon, ends, start=min(start, ends[1]), tolerance=_CLOSE)
    except (LeastNoiseError, ArithmeticError, ValueError):
        return None


# As it is drawn


@lru_cache(maxsize=64)
def drawn(noise: LatticeNoise, shifts: Shifts, delta: float) -> LatticeNoise:
    """The law with integer weights, log-concave to the last digit.

    Raises:
        DesignError: No bend is enough, which happens where the law is cut off far out.
    """
    uses, largest = sum(n for _, n in shifts), max(shift for shift, _ in shifts)
    masses = _until(noise, _TAIL * delta / uses, largest)
    for bend in _BENDS:
        weights = _weights(masses, bend)
        if weights is not None:
            law = noise.of_weights(weights)
            if is_log_concave(law):
                return law
    raise DesignError("The law with integer weights would not be log-concave.")


def _until(noise: LatticeNoise, tail: float, shift: int) -> Floats:
    """The masses of the law, ended where the last `shift` shells and all beyond weigh `tail`."""
    last = noise.last + 64
    while float(noise.ccdf(float(last))) > 0.25 * tail and last < 1 << 22:
        last *= 2
    masses = np.asarray(noise.extended(last))
    beyond = np.cumsum(masses[::-1])[::-1]
    end = int(np.argmax(np.append(beyond, 0.0) <= 0.5 * tail)) + shift
    return np.asarray(noise.extended(end))


def _weights(masses: Floats, bend: float) -> IntegerWeights | None:
    """The shell weights of the bent law with sum 2^128; None where they do not come out."""
    places = np.arange(masses.size, dtype=np.float64)
    bent = masses * np.exp(-bend * places * places)
    bent[0] *= 1.0 - _LIGHTER
    bent = bent[: int(np.max(np.flatnonzero(bent))) + 1]
    scale = Fraction(1 << _BITS) / Fraction(math.fsum(bent.tolist()))
    ideal = [int(Fraction(float(mass)) * scale) for mass in bent]
    found = [0] * len(ideal)
    total = 0
    for k in range(len(ideal) - 1, 0, -1):
        found[k] = _aligned(total, ideal[k], ideal[k - 1])
        total += found[k]
    found[0] = (1 << _BITS) - total
    fits = found[0] > 0 and float(found[0]) == found[0] and all(one > 0 for one in found)
    return IntegerWeights(_BITS, tuple(found)) if fits else None


def _aligned(total: int, weight: int, inner: int) -> int:
    """A weight of 53 digits, such that the sum with it is whole in the last digit of the next."""
    own, following = _last_digit(weight), _last_digit(inner)
    whole = weight // own * own
    beyond = (total + whole) % following
    # Up to the next whole number: a few units of its own last digit, which it is a multiple of.
    return whole + (following - beyond if beyond and following > own else 0)


def _last_digit(weight: int) -> int:
    return 1 << max(weight.bit_length() - _DIGITS, 1)
