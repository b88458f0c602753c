"""Laws of an integer norm: P(x) = h_r(x) on Z^d, h not increasing, with a norm r that is fitted to
what one person can change (docs/mathematics.md#laws-of-an-integer-norm).

Stored as the cube's laws are, by shell masses n_t·h_t with a geometric tail or without one; what
differs from body to body is asked from `lattice.bodies`. The law of the range is judged exactly,
at its worst shift; the others are judged as pure laws, whose ε is the largest log(h_t/h_{t+m}).

**On the real line** a point is spread evenly over its bin, the cube of one step around it, as of
the cube's laws, and a sensitivity is m steps. Nothing new is to be judged
(docs/mathematics.md#norms-on-the-real-line): a person who moves the answers by v moves the bin of
the outcome by whole steps w_i, each v_i/step rounded up or down. So no w_i is above m, an answer
that is not touched does not move, and what moves up does not move down: w is a change of the same
space. The bins are the stairs of a staircase, and wide ones need less noise than the exponential
density of the same norm (Joseph & Yu 2023): at ε = 1, 5 of 10 answers touched, 20.97 against 21.48.
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

from leastnoise.changes import BOX, Changes
from leastnoise.errors import (
    InvalidParameterError,
    UnsupportedError,
    numbers,
    open_unit,
    positive_integer,
    real_array,
)
from leastnoise.files.reading import number, only_fields
from leastnoise.lattice import shells
from leastnoise.lattice.bodies.base import Body
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
from leastnoise.lattice.steps import exact_step, public_pitch, shift_in_steps
from leastnoise.lattice.waves import of_bins, without_end
from leastnoise.laws.base import Domain
from leastnoise.laws.by_shells import ShellNoise, check_digits
from leastnoise.losses.base import Loss, unproven_below
from leastnoise.losses.lattice import corner_is_worst
from leastnoise.losses.norm import pure_loss, range_loss
from leastnoise.sampling.norm import NormSampler
from leastnoise.sampling.weights import FIELDS, IntegerWeights, integer_weights

# Steps of a sensitivity up to which the range is judged exactly: pairs of shells are counted in
# whole numbers, 0.5 s for 20 answers at 4 and 4 s at 8, to gain less than 1e-3 of one release.
MOST_EXACT = 3
_MOST_ANSWERS = 1000  # in a file: counts are powers of this order


@dataclass(frozen=True, eq=False, repr=False)
class NormNoise(ShellNoise):
    """A point x of Z^d has probability h_t, t = r(x), with the norm r of `body`; the noise is
    step·x, smeared evenly over the bin on the real line.

    Guarantees: frozen; masses finite and ≥ 0 with total 1 (to 1e-9); h does not rise (inner shells
    too light to be stored count as full, and the judge charges them); equal by value; refused for
    changes that the norm is not made for.

    Attributes:
        body: The norm, with the number of answers.
        shell_masses: n_t·h_t, the probability of all n_t points with r(x) = t, for t = 0 … N.
        tail_ratio: In (0, 1): beyond N the law goes on as h_t = h_N·tail_ratio^(t−N). None ends it.
        step: Pitch of the lattice, in the units of the answers; 1 on the integers.
        domain: "integer", or "real", a density that is constant on each bin.

    Example:
        >>> from leastnoise import OneSided, PrivacyLoss
        >>> from leastnoise.laws.exponential import range_law
        >>> law = range_law(5.09, 10)
        >>> PrivacyLoss.of(law, 1.0, OneSided()).epsilon(1e-6) < 1.0
        True
    """

    body: Body
    shell_masses: Floats
    tail_ratio: float | None = None
    step: float = 1.0
    domain: Domain = "integer"
    dimension: int = field(default=2, init=False)

    kind: ClassVar[str] = "norm"

    def __post_init__(self) -> None:
        object.__setattr__(self, "shell_masses", checked_masses(self.shell_masses))
        if self.shell_masses[-1] == 0.0:
            raise InvalidParameterError("shell_masses", self.shell_masses, "to end with some mass")
        object.__setattr__(self, "dimension", self.body.dimension)
        self._check_lattice()
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
        body: Body,
        log_weights: ArrayLike,
        tail_ratio: float | None = None,
        *,
        step: float = 1.0,
        domain: Domain = "integer",
    ) -> NormNoise:
        """The law with h_t proportional to the exponentials of `log_weights`.

        Args:
            body: The norm.
            log_weights: Logarithm of the weight of one point with r(x) = t, t = 0 … N; they must
                not rise.
            tail_ratio: In (0, 1), the ratio of neighbouring h beyond N; None ends the law at N.
            step: Pitch of the lattice, in the units of the answers.
            domain: "integer" or "real".

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
        return NormNoise(body, masses, tail_ratio, step, domain)

    # Shells

    def log_shell_counts(self, k: ArrayLike) -> Floats:
        return self.body.log_shell_counts(k)

    def shell_counts(self, size: int) -> list[int]:
        return self.body.shell_counts(size)

    def squares(self, last: int) -> Floats:
        return self.step**2 * (self.body.squares(last) + self._in_bin)

    @property
    def shape(self) -> str:
        return f"{self.body.name} norm"

    @property
    def _in_bin(self) -> float:
        """The variance of a place in a bin, in steps squared."""
        return 1.0 / 12.0 if self.domain == "real" else 0.0

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
        return math.fsum((masses * self.squares(masses.size - 1)).tolist())

    @cached_property
    def correlation(self) -> float:
        """The correlation of the noise on two answers."""
        masses = self._listed
        if self.variance == 0.0:
            return 0.0
        together = math.fsum((masses * self.body.products(masses.size - 1)).tolist())
        return together * self.step**2 / self.variance

    def characteristic(self, coefficients: ArrayLike, t: ArrayLike) -> Floats:
        c, places = self._coefficients(coefficients) * self.step, real_array("t", t).ravel()
        masses = without_end(self._listed)
        found = self.body.characteristic(masses, c, places)
        if self.domain == "real":
            found = found * of_bins(1.0, c, places)
        return found.reshape(np.shape(t))

    def interval_of(self, coefficients: ArrayLike, confidence: float) -> float:
        """Half-width w with P(|Σ c_i·noise_i| ≤ w) ≥ confidence, on the safe side.

        Args:
            coefficients: c_i, one for each answer.
            confidence: In (0, 1).

        Returns:
            The half-width: exact for one answer, and of the range on the integers also where all
            coefficients are whole multiples of the smallest, to which the real line adds half a
            step for each answer; else the lesser of the bounds of Chebyshev and Boole.

        Raises:
            InvalidParameterError: The coefficients are not as many numbers, or the confidence is
                not in (0, 1).
        """
        c = self._coefficients(coefficients)
        miss = 1.0 - open_unit("confidence", confidence)
        held = c[c != 0.0]
        if held.size == 0:
            return 0.0
        size, sizes = abs(float(held[0])), float(np.sum(np.abs(held)))
        is_whole, is_range = self.domain == "integer", self.body.name == "range"
        is_difference = held.size == 2 and held[0] == -held[1]
        if held.size == 1 or (is_difference and is_range and is_whole):
            return size * self.interval(confidence)
        found = self._combined_quantile(c, miss) if is_range else None
        if found is not None and is_whole:
            return found
        each = max(0.0, float(self.quantile(0.5 * miss / held.size, upper=True)))
        bound = min(sizes * each, math.sqrt(self.variance_of(c) / miss) * (1.0 + 1e-12))
        if found is None:
            return bound
        return min(bound, self.step * (found + 0.5 * sizes) * (1.0 + 1e-12))

    def _combined_quantile(self, c: Floats, miss: float) -> float | None:
        """The half-width of a whole-number combination of the points, in steps, or None where that
        is not found: other coefficients, too many values, or a tail below its rounding."""
        whole = whole_coefficients(c)
        if whole is None or miss < 1e3 * ROUNDING:
            return None
        masses = self._listed
        log_falls = shells.falls(masses, self.log_shell_counts(np.arange(masses.size)))
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
        return self._loss_of_steps(shift_in_steps(sensitivity, self.step), changes)

    def loss_at(self, distance: Fraction) -> Loss:
        """The loss for any changes of so many whole steps, where the norm is made for them."""
        return self._loss_of_steps(math.ceil(distance / exact_step(self.step)), BOX)

    def _loss_of_steps(self, shift: int, changes: Changes) -> Loss:
        space = changes.fitted(self.dimension)
        refusal = self.body.refusal(space)
        if refusal is not None:
            raise UnsupportedError(refusal)
        key = shift, space
        if key not in self._judged:
            self._judged.clear()
            self._judged[key] = self._loss(shift, space)
        return self._judged[key]

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
        return NormNoise(self.body, weights.masses(), None, self.step, self.domain)

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
            **({"step": self.step.hex(), "domain": "real"} if self.domain == "real" else {}),
        }

    @staticmethod
    def from_description(content: Mapping[str, Any]) -> NormNoise:
        ratio = content["tail_ratio"]
        return NormNoise(
            body_of(content["body"], content["dimension"], content["touched"]),
            [float.fromhex(mass) for mass in content["shell_masses"]],  # type: ignore[arg-type]
            None if ratio is None else float.fromhex(ratio),
            float.fromhex(content["step"]) if "step" in content else 1.0,
            content.get("domain", "integer"),
        )

    def describe_drawn(self) -> dict[str, Any]:
        whole = integer_weights(self)
        if whole is None:
            raise UnsupportedError("Only a law with integer weights can be written as an artefact.")
        return {
            "body": self.body.name,
            "batch": self.dimension,
            "touched": self.body.touched,
            "pitch": str(public_pitch(self.step, self.domain)),
            **({"step": self.step, "domain": "real"} if self.domain == "real" else {}),
            **whole.described(),
        }

    @staticmethod
    def from_drawn(content: Mapping[str, Any]) -> NormNoise:
        line = {"step", "domain"} if content.get("domain") == "real" else set[str]()
        only_fields("law", content, {"body", "batch", "touched", "pitch", *line, *FIELDS})
        body = body_of(content["body"], content["batch"], content["touched"])
        whole = IntegerWeights.from_description(content)
        step = number(content["step"]) if line else 1.0
        law = NormNoise(body, whole.masses(), None, step, "real" if line else "integer")
        check_digits(law, whole)
        return law

    def __reduce__(self) -> tuple[type[NormNoise], tuple[Body, Floats, float | None, float, str]]:
        fields = self.body, self.shell_masses, self.tail_ratio, self.step, self.domain
        return NormNoise, fields

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NormNoise):
            return NotImplemented
        return self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[Body, bytes, float | None, float, str]:
        return self.body, self.shell_masses.tobytes(), self.tail_ratio, self.step, self.domain

    def __repr__(self) -> str:
        tail = "no tail" if self.tail_ratio is None else f"tail_ratio={self.tail_ratio:.6g}"
        where = "" if self.domain == "integer" else f"step={self.step:.6g}, "
        return (
            f"NormNoise({self.body.name}, std={self.std:.6g}, dimension={self.dimension}, "
            f"touched={self.body.touched}, {where}shells=0..{self.last}, {tail})"
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


def _tail_sum(body: Body, last: int, ratio: float) -> float:
    """Mass beyond shell N of a geometric tail, relative to the mass of shell N."""
    _, weights = shells.geometric_tail(body.dimension, last, ratio, 0.0, body.log_shell_counts)
    return math.fsum(weights.tolist())
