"""Laws of an integer norm: P(x) = h_r(x) on Z^d, h not increasing, with a norm r that is fitted to
what one person can change (docs/mathematics.md#laws-of-an-integer-norm).

Stored as the cube's laws are, by shell masses n_t·h_t with a geometric tail or without one; what
differs from body to body is asked from `lattice.bodies`. The law of the range is judged exactly,
at its worst shift; the others are judged as pure laws, whose ε is the largest log(h_t/h_{t+m}).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize

from leastnoise.changes import BOX, Changes
from leastnoise.errors import (
    InvalidParameterError,
    UnsupportedError,
    numbers,
    open_unit,
    positive,
    positive_integer,
    real_array,
)
from leastnoise.files.reading import only_fields
from leastnoise.lattice import shells
from leastnoise.lattice.bodies.base import Body
from leastnoise.lattice.bodies.capped import falls
from leastnoise.lattice.bodies.combination import (
    ROUNDING,
    sizes_of_combination,
    whole_coefficients,
)
from leastnoise.lattice.bodies.count import CountBody
from leastnoise.lattice.bodies.range import RangeBody
from leastnoise.lattice.bodies.touched import TouchedBody
from leastnoise.lattice.radial import NORMALISED, checked_masses
from leastnoise.lattice.shells import Floats
from leastnoise.lattice.steps import shift_in_steps
from leastnoise.laws.base import Domain, Noise, probabilities
from leastnoise.laws.classic import end_exponent
from leastnoise.losses.base import Loss, unproven_below
from leastnoise.losses.lattice import corner_is_worst
from leastnoise.losses.norm import pure_loss, range_loss
from leastnoise.sampling.norm import NormSampler
from leastnoise.sampling.weights import FIELDS, IntegerWeights, ShellLaw, integer_weights

# Steps of a sensitivity up to which the range is judged exactly: pairs of shells are counted in
# whole numbers, 0.5 s for 20 answers at 4 and 4 s at 8, to gain less than 1e-3 of one release.
MOST_EXACT = 3
_DROP = 80.0  # a law stops listing shells where they hold e^−80 of the fullest one
_MOST_ANSWERS = 1000  # in a file: counts are powers of this order


@dataclass(frozen=True, eq=False, repr=False)
class NormNoise(ShellLaw, Noise):
    """A point x of Z^d has probability h_t, t = r(x), with the norm r of `body`.

    Guarantees: frozen; masses finite and ≥ 0 with total 1 (to 1e-9); h does not rise (inner shells
    too light to be stored count as full, and the judge charges them); equal by value; refused for
    changes that the norm is not made for.

    Attributes:
        body: The norm, with the number of answers.
        shell_masses: n_t·h_t, the probability of all n_t points with r(x) = t, for t = 0 … N.
        tail_ratio: In (0, 1): beyond N the law goes on as h_t = h_N·tail_ratio^(t−N). None ends it.

    Example:
        >>> from leastnoise import OneSided, PrivacyLoss
        >>> law = range_law(5.09, 10)
        >>> PrivacyLoss.of(law, 1.0, OneSided()).epsilon(1e-6) < 1.0
        True
    """

    body: Body
    shell_masses: Floats
    tail_ratio: float | None = None
    dimension: int = field(default=2, init=False)
    step: float = field(default=1.0, init=False)
    domain: Domain = field(default="integer", init=False)

    kind: ClassVar[str] = "norm"

    def __post_init__(self) -> None:
        object.__setattr__(self, "shell_masses", checked_masses(self.shell_masses))
        if self.shell_masses[-1] == 0.0:
            raise InvalidParameterError("shell_masses", self.shell_masses, "to end with some mass")
        object.__setattr__(self, "dimension", self.body.dimension)
        if self.tail_ratio is not None:
            object.__setattr__(self, "tail_ratio", open_unit("tail_ratio", self.tail_ratio))
        if abs(self.total - 1.0) > NORMALISED:
            raise InvalidParameterError("sum of shell_masses with the tail", self.total, "to be 1")
        if not corner_is_worst(self):
            raise InvalidParameterError(
                "shell_masses", self.shell_masses, "to give probabilities that do not rise"
            )

    @staticmethod
    def from_log_weights(
        body: Body, log_weights: ArrayLike, tail_ratio: float | None = None
    ) -> NormNoise:
        """The law with h_t proportional to the exponentials of `log_weights`.

        Args:
            body: The norm.
            log_weights: Logarithm of the weight of one point with r(x) = t, t = 0 … N; they must
                not rise.
            tail_ratio: In (0, 1), the ratio of neighbouring h beyond N; None ends the law at N.

        Returns:
            The law, normalised.

        Raises:
            InvalidParameterError: A parameter is not of this kind; the message names it.

        Example:
            >>> law = NormNoise.from_log_weights(RangeBody(2), [0.0, -1.0])
            >>> round(float(law.shell_masses[1] / law.shell_masses[0]), 6)  # 6 points at radius 1
            2.207277
        """
        log_h = numbers("log_weights", log_weights)
        if log_h.ndim != 1 or log_h.size == 0 or not np.all(np.isfinite(log_h)):
            raise InvalidParameterError("log_weights", log_weights, "to be a list of numbers")
        log_mass = log_h + body.log_shell_counts(np.arange(log_h.size))
        masses = np.exp(log_mass - log_mass.max())
        total = float(np.sum(masses))
        if tail_ratio is not None:
            ratio = open_unit("tail_ratio", tail_ratio)
            total += float(masses[-1]) * _tail_sum(body, masses.size - 1, ratio)
        masses = masses / total
        # An inner shell below the normal range has lost its accuracy: it is left empty, as those
        # before it.
        inner = np.arange(masses.size) < int(np.argmax(masses))
        masses = np.where(inner & (masses < np.finfo(np.float64).tiny), 0.0, masses)
        return NormNoise(body, masses, tail_ratio)

    # Shells

    def log_shell_counts(self, k: ArrayLike) -> Floats:
        return self.body.log_shell_counts(k)

    def shell_counts(self, size: int) -> list[int]:
        return self.body.shell_counts(size)

    def squares(self, last: int) -> Floats:
        return self.body.squares(last)

    def tail_weights(self, radii: NDArray[np.int64]) -> Floats:
        ratio = float(self.tail_ratio or 0.0)
        return shells.tail_weights(self.dimension, self.last, ratio, radii, self.log_shell_counts)

    @cached_property
    def tail_mass(self) -> float:
        if self.tail_ratio is None:
            return 0.0
        return float(self.shell_masses[-1]) * _tail_sum(self.body, self.last, self.tail_ratio)

    @cached_property
    def _listed(self) -> Floats:
        """All shell masses that count for moments, those of the tail included."""
        if self.tail_ratio is None:
            return self.shell_masses
        radii, _ = shells.geometric_tail(
            self.dimension, self.last, self.tail_ratio, 2.0, self.log_shell_counts
        )
        return self.extended(int(radii[-1]))

    # One answer, and several

    @cached_property
    def variance(self) -> float:
        masses = self._listed
        return math.fsum((masses * self.body.squares(masses.size - 1)).tolist())

    @cached_property
    def correlation(self) -> float:
        """The correlation of the noise on two answers."""
        masses = self._listed
        if self.variance == 0.0:
            return 0.0
        return math.fsum((masses * self.body.products(masses.size - 1)).tolist()) / self.variance

    def interval_of(self, coefficients: ArrayLike, confidence: float) -> float:
        """Half-width w with P(|Σ c_i·noise_i| ≤ w) ≥ confidence, on the safe side.

        Args:
            coefficients: c_i, one for each answer.
            confidence: In (0, 1).

        Returns:
            The half-width: exact for one answer, and of the range also where all coefficients are
            whole multiples of the smallest; else the lesser of the bounds of Chebyshev and Boole.

        Raises:
            InvalidParameterError: The coefficients are not as many numbers, or the confidence is
                not in (0, 1).
        """
        c = self._coefficients(coefficients)
        miss = 1.0 - open_unit("confidence", confidence)
        held = c[c != 0.0]
        if held.size == 0:
            return 0.0
        size = abs(float(held[0]))
        is_difference = held.size == 2 and held[0] == -held[1]
        if held.size == 1 or (is_difference and self.body.name == "range"):
            return size * self.interval(confidence)
        found = self._combined_quantile(c, miss) if self.body.name == "range" else None
        if found is not None:
            return found
        each = max(0.0, float(self.quantile(0.5 * miss / held.size, upper=True)))
        boole = float(np.sum(np.abs(held))) * each
        return min(boole, math.sqrt(self.variance_of(c) / miss) * (1.0 + 1e-12))

    def _combined_quantile(self, c: Floats, miss: float) -> float | None:
        """The half-width from the law of a whole-number combination, or None where that is not
        found: other coefficients, too many values, or a tail below its rounding."""
        whole = whole_coefficients(c)
        if whole is None or miss < 1e3 * ROUNDING:
            return None
        masses = self._listed
        log_falls = falls(masses, self.log_shell_counts(np.arange(masses.size)))
        sizes = sizes_of_combination(log_falls, whole[0])
        if sizes is None:
            return None
        beyond = np.append(np.cumsum(sizes[::-1])[::-1][1:], 0.0) + ROUNDING
        return whole[1] * int(np.argmax(beyond <= miss)) if beyond[-1] <= miss else None

    def _coefficients(self, coefficients: ArrayLike) -> Floats:
        c = real_array("coefficients", coefficients)
        if c.shape != (self.dimension,) or not np.all(np.isfinite(c)):
            raise InvalidParameterError(
                "coefficients", coefficients, f"to be {self.dimension} numbers"
            )
        return c

    def pmf(self, k: ArrayLike) -> Floats:
        """h_k: the probability of one point with r(x) = k."""
        return np.asarray(np.exp(self.log_pmf(k)), dtype=np.float64)

    def pdf(self, x: ArrayLike) -> Floats:
        raise UnsupportedError("A law on the integers has no density; use pmf.")

    def ccdf(self, x: ArrayLike) -> Floats:
        x = real_array("x", x)
        place = np.minimum(np.abs(x), 1e300)
        k = np.floor(place)
        beyond = self.coordinate_beyond(k)
        at_least = beyond + np.where(place == k, self.coordinate_pmf(k), 0.0)
        return np.where(x >= 0, beyond, self.total - at_least)

    def quantile(self, u: ArrayLike, *, upper: bool = False) -> Floats:
        u = probabilities("u", u)
        low = np.minimum(u, 1.0 - u)
        positive_side = (u < 0.5) if upper else (u > 0.5)
        loosely, strictly = (
            self.coordinate_quantile(low, strictly=is_so) for is_so in (False, True)
        )
        return np.where(positive_side, loosely, -strictly)

    @property
    def coordinate_reach(self) -> int:
        """As of any joint law for the range, whose coordinates have a closed form; of the others
        the tail is listed down to e^−90 of its beginning."""
        if self.tail_ratio is None or self.body.name == "range":
            return super().coordinate_reach
        return self.last + math.ceil((90.0 + self.dimension) / -math.log(self.tail_ratio))

    @cached_property
    def _coordinate_masses(self) -> Floats:
        return self.body.coordinate(self.extended(self.coordinate_reach))

    # Privacy

    def loss(self, sensitivity: float, changes: Changes = BOX) -> Loss:
        """As of any law, where the norm is made for the changes: the range exactly, at its worst
        shift, where a sensitivity has few steps; the others as pure laws."""
        shift = shift_in_steps(sensitivity, 1.0)
        space = changes.fitted(self.dimension)
        refusal = self.body.refusal(space)
        if refusal is not None:
            raise UnsupportedError(refusal)
        key = shift, space
        if key not in self._judged:
            self._judged.clear()
            self._judged[key] = self._loss(shift, space)
        return self._judged[key]

    def loss_at(self, distance: Fraction) -> Loss:
        """The loss for any changes of so many whole steps, where the norm is made for them."""
        return self.loss(float(math.ceil(distance)))

    def _loss(self, shift: int, space: Changes) -> Loss:
        if self.body.name != "range" or shift > MOST_EXACT:
            return pure_loss(self, shift)
        loss = range_loss(self, shift, space.touched_of(self.dimension))
        whole = {(Fraction(0), Fraction(1)): self.dimension}
        return loss if space.ranges_of(self.dimension) == whole else unproven_below(loss)

    @cached_property
    def _judged(self) -> dict[tuple[int, Changes], Loss]:
        """The loss that was last asked for: a law is mostly judged for one use."""
        return {}

    # Drawing and files

    def sampler(self) -> NormSampler:
        return NormSampler(self, self.body)

    def with_weights(self, weighted: Callable[[NormNoise], NormNoise]) -> NormNoise:
        return weighted(self)

    def of_weights(self, weights: IntegerWeights) -> NormNoise:
        return NormNoise(self.body, weights.masses())

    @property
    def made_for(self) -> Changes:
        return self.body.made_for

    def describe(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "body": self.body.name,
            "dimension": self.dimension,
            "touched": self.body.touched,
            "tail_ratio": None if self.tail_ratio is None else self.tail_ratio.hex(),
            "shell_masses": [float(mass).hex() for mass in self.shell_masses],
        }

    @staticmethod
    def from_description(content: Mapping[str, Any]) -> NormNoise:
        ratio = content["tail_ratio"]
        return NormNoise(
            body_of(content["body"], content["dimension"], content["touched"]),
            [float.fromhex(mass) for mass in content["shell_masses"]],  # type: ignore[arg-type]
            None if ratio is None else float.fromhex(ratio),
        )

    def describe_drawn(self) -> dict[str, Any]:
        whole = integer_weights(self)
        if whole is None:
            raise UnsupportedError("Only a law with integer weights can be written as an artefact.")
        return {
            "body": self.body.name,
            "batch": self.dimension,
            "touched": self.body.touched,
            "pitch": "1",
            **whole.described(),
        }

    @staticmethod
    def from_drawn(content: Mapping[str, Any]) -> NormNoise:
        only_fields("law", content, {"body", "batch", "touched", "pitch", *FIELDS})
        body = body_of(content["body"], content["batch"], content["touched"])
        whole = IntegerWeights.from_description(content)
        law = NormNoise(body, whole.masses())
        read = integer_weights(law)
        if read is None or read.in_bits(whole.bits) != whole.weights:
            raise ValueError("a weight has more digits than a floating-point number")
        return law

    def __reduce__(self) -> tuple[type[NormNoise], tuple[Body, Floats, float | None]]:
        return NormNoise, (self.body, self.shell_masses, self.tail_ratio)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NormNoise):
            return NotImplemented
        return self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[Body, bytes, float | None]:
        return self.body, self.shell_masses.tobytes(), self.tail_ratio

    def __repr__(self) -> str:
        tail = "no tail" if self.tail_ratio is None else f"tail_ratio={self.tail_ratio:.6g}"
        return (
            f"NormNoise({self.body.name}, std={self.std:.6g}, dimension={self.dimension}, "
            f"touched={self.body.touched}, shells=0..{self.last}, {tail})"
        )


BODY_KINDS: dict[str, Callable[[int, int], Body]] = {
    "range": lambda answers, touched: RangeBody(answers),
    "touched": TouchedBody,
    "count": CountBody,
}


def body_of(name: Any, dimension: Any, touched: Any) -> Body:
    """The body that a file names; what it may ask for is limited, for its author does not pay for
    the work."""
    made = BODY_KINDS.get(name) if isinstance(name, str) else None
    if made is None:
        raise ValueError(f"the body {name!r} is not known here")
    answers = positive_integer("dimension", dimension)
    if answers > _MOST_ANSWERS:
        raise InvalidParameterError(
            "dimension", answers, f"to be at most {_MOST_ANSWERS} for this body in a file"
        )
    body = made(answers, positive_integer("touched", touched))
    if body.touched != touched:
        raise InvalidParameterError("touched", touched, f"to be {body.touched} for this body")
    return body


def range_law(sigma: float, batch: int) -> NormNoise:
    """Joint whole-number noise for `batch` answers that all move up or all move down: h_t ∝
    e^(−t/b) of the range t of the noise and 0.

    Pure: at sensitivity m its ε is m/b. On the real line it is the least noise of all such norms
    (Joseph & Yu 2023).

    Args:
        sigma: Standard deviation of the noise on each answer.
        batch: How many answers one draw serves, at least 2.

    Returns:
        The law of this standard deviation, on the integers.

    Raises:
        InvalidParameterError: No law is; the message names the parameter.

    Example:
        >>> round(range_law(3.0, 5).std, 9)
        3.0
    """
    return exponential_law(RangeBody(batch), sigma)


def touched_law(sigma: float, batch: int, touched: int) -> NormNoise:
    """Joint whole-number noise for `batch` answers of which one person moves at most `touched`, up
    or down: h_t ∝ e^(−t/b), t = max(‖x‖∞, ⌈‖x‖₁/touched⌉).

    Pure, and composed as such: at sensitivity m its ε is m/b.

    Args:
        sigma: Standard deviation of the noise on each answer.
        batch: How many answers one draw serves, from 2 to about 100.
        touched: How many of them one person moves at most.

    Returns:
        The law of this standard deviation, on the integers.

    Raises:
        InvalidParameterError: No law is; the message names the parameter.

    Example:
        >>> round(touched_law(3.0, 5, 2).std, 9)
        3.0
    """
    return exponential_law(TouchedBody(batch, touched), sigma)


def count_law(sigma: float, batch: int, touched: int) -> NormNoise:
    """Joint whole-number noise for `batch` answers of which one person moves at most `touched`, all
    up or all down: h_t ∝ e^(−t/b), t the sum of max(max y, ⌈Σy/touched⌉) for the positive and the
    negative part of the noise.

    Pure, and composed as such: at sensitivity m its ε is m/b (Joseph & Yu 2023, 'count').

    Args:
        sigma: Standard deviation of the noise on each answer.
        batch: How many answers one draw serves, from 2 to about 100.
        touched: How many of them one person moves at most.

    Returns:
        The law of this standard deviation, on the integers.

    Raises:
        InvalidParameterError: No law is; the message names the parameter.

    Example:
        >>> round(count_law(3.0, 5, 2).std, 9)
        3.0
    """
    return exponential_law(CountBody(batch, touched), sigma)


def exponential_law(body: Body, sigma: float) -> NormNoise:
    """The law h_t ∝ e^(−t/b) of a norm, of a given standard deviation.

    Args:
        body: The norm.
        sigma: Standard deviation of the noise on each answer.

    Returns:
        The law of this standard deviation, on the integers.

    Raises:
        InvalidParameterError: `sigma` is not positive, or too small for a double.
    """
    sigma = positive("sigma", sigma)

    def excess(log_b: float) -> float:
        return 2.0 * math.log(sigma) - math.log(law_of_scale(body, math.exp(log_b)).variance)

    # without a lattice the variance is near (d+2)(d+3)b²/6
    low = high = math.log(sigma) - 0.5 * math.log((body.dimension + 2.0) ** 2 / 6.0)
    width = 0.25
    while excess(low) < 0:
        low, width = low - width, 2.0 * width
    while excess(high) > 0:
        high, width = high + width, 2.0 * width
    if low == high:
        return law_of_scale(body, math.exp(low))
    found = optimize.brentq(excess, low, high, xtol=1e-15, rtol=8.9e-16, maxiter=200)
    return law_of_scale(body, math.exp(found))


def law_of_scale(body: Body, scale: float) -> NormNoise:
    """The law h_t ∝ e^(−t/scale) of a norm: pure, with ε = m/scale.

    Args:
        body: The norm.
        scale: b, in the units of the answers.

    Returns:
        The law, on the integers, with a geometric tail.

    Raises:
        InvalidParameterError: The scale is not positive, or too small for a double.
    """
    b = positive("scale", scale)
    if b < 1.0 / 600.0:
        raise InvalidParameterError("scale", b, "to be larger: too narrow for a double")
    last = math.ceil(b * end_exponent(body.dimension, 1.0, _DROP)) + 1
    return NormNoise.from_log_weights(body, -np.arange(last + 1) / b, math.exp(-1.0 / b))


def _tail_sum(body: Body, last: int, ratio: float) -> float:
    """Mass beyond shell N of a geometric tail, relative to the mass of shell N."""
    _, weights = shells.geometric_tail(body.dimension, last, ratio, 0.0, body.log_shell_counts)
    return math.fsum(weights.tolist())
