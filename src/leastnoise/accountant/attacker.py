"""What a guarantee means for an attacker, in numbers that can be set side by side, and in words.

The attacker knows everything but whether one given person is in the data, starts from even odds and
sees all releases. (ε, δ) allows them an advantage of up to (e^ε − 1 + 2δ)/(e^ε + 1), whatever the
law; how much of that a law leaves unused differs, and is part of what a comparison at equal (ε, δ)
must say.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from leastnoise.accountant.curve import PrivacyCurve
from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.losses.gaussian import GaussianLoss

FALSE_ALARMS = 0.01
FEW_POINTS = 60  # of a curve of which two numbers are shown


@dataclass(frozen=True)
class Attacker:
    """How well an attacker can do, at most.

    Attributes:
        guess: Probability of a right guess from even odds, in [0.5, 1].
        recognised: Share of members recognised at one false alarm in a hundred.
        allowed: The right guesses that (ε, δ) would allow.
        gaussian_guess: The right guesses with Gaussian noise of the same ε and δ.
        gaussian_recognised: The members recognised with that noise.

    Example:
        >>> from leastnoise import design
        >>> attacker = design(delta=1e-6, epsilon=1.0, batch=10).attacker
        >>> round(attacker.guess, 3), round(attacker.gaussian_guess, 3)
        (0.697, 0.547)
    """

    guess: float
    recognised: float
    allowed: float
    gaussian_guess: float
    gaussian_recognised: float

    def sentences(self) -> str:
        """The numbers in words."""
        return (
            "Someone who knows everything but whether one given person is in the data guesses "
            f"right at most {per_cent(self.guess)} of the time instead of 50 % (this promise "
            f"allows {per_cent(self.allowed)}; Gaussian noise of the same epsilon and delta: "
            f"{about(self.gaussian_guess)}). Allowing 1 false alarm in 100, at most "
            f"{per_cent(self.recognised)} of members are recognised (Gaussian noise: "
            f"{about(self.gaussian_recognised)})."
        )


def promised(epsilon: float, delta: float) -> Attacker:
    """What (ε, δ) allows an attacker, where no more is known of a law."""
    guess = 0.5 * (1.0 + allowed_advantage(epsilon, delta))
    odds = math.exp(min(epsilon, 700.0))
    hits = min(odds * FALSE_ALARMS + delta, 1.0 - (1.0 - delta - FALSE_ALARMS) / odds)
    mu = gaussian_mu_of(epsilon, delta)
    with_gaussian = (float(ndtr(0.5 * mu)), float(ndtr(float(ndtri(FALSE_ALARMS)) + mu)))
    return Attacker(guess, min(hits * (1.0 + 1e-12), 1.0), guess, *with_gaussian)


def attacker_of(curve: PrivacyCurve, epsilon: float, delta: float) -> Attacker:
    """What an attacker can do with releases of this curve, which promise ε at δ."""
    return replace(
        promised(epsilon, delta),
        guess=min(0.5 * (1.0 + curve.advantage), 1.0),
        recognised=float(curve.true_positive_rate(FALSE_ALARMS)),
    )


def advantage_of(loss: PrivacyLoss) -> float:
    """The largest advantage of an attacker who sees these releases, an upper bound: δ(0), the same
    in both orders of the two data sets. A curve costs ten times as much and is less by 4e-5 of it
    at the most that was seen."""
    return loss.delta(0.0)


def allowed_advantage(epsilon: float, delta: float) -> float:
    """The largest advantage that (ε, δ) allows: P(E) − Q(E) where P(E) ≤ e^ε Q(E) + δ and the same
    for complements."""
    return min(math.tanh(0.5 * epsilon) + 2.0 * delta / (1.0 + math.exp(min(epsilon, 700.0))), 1.0)


def gaussian_mu_of(epsilon: float, delta: float) -> float:
    """μ of the Gaussian noise that is (ε, δ)-private and no more, for comparisons."""

    def excess(log_mu: float) -> float:
        found = float(GaussianLoss(math.exp(log_mu)).profile(epsilon))
        return math.log(max(found, 1e-320)) - math.log(delta)

    return math.exp(float(brentq(excess, math.log(1e-12), math.log(1e4), xtol=1e-13)))


def guesses(advantage: float) -> str:
    """An advantage as the right guesses of somebody who starts from even odds, rounded up."""
    return per_cent(0.5 * (1.0 + advantage))


def about(share: float) -> str:
    """A share in per cent, one decimal, for what is only compared with."""
    return f"{100.0 * share:.1f} %"


def per_cent(share: float) -> str:
    """A share in per cent, one decimal, rounded up: it is an upper bound."""
    return f"{math.ceil(1000.0 * min(share, 1.0) * (1.0 - 1e-12)) / 10.0:.1f} %"
