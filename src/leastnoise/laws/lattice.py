"""The family of laws: radial noise on an integer lattice with a geometric tail (Def.
3.3 and 3.4 for one answer)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from leastnoise import cost as costs
from leastnoise.changes import BOX, Changes, farthest
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
from leastnoise.lattice.radial import NORMALISED, Radial, checked_masses, tail_sum
from leastnoise.lattice.shells import Floats
from leastnoise.lattice.steps import PLACES, exact_step, public_pitch, shift_in_steps
from leastnoise.lattice.waves import held, mixed_sincs, mixed_waves
from leastnoise.laws.base import Domain, answers_of_a_draw, coefficients_of
from leastnoise.laws.by_shells import ShellNoise, check_digits
from leastnoise.losses.base import Loss, unproven_below
from leastnoise.losses.distance import loss_at
from leastnoise.losses.lattice import corner_is_worst, lattice_loss
from leastnoise.sampling.lattice import LatticeSampler
from leastnoise.sampling.weights import FIELDS, IntegerWeights, integer_weights


@dataclass(frozen=True, eq=False, repr=False)
class LatticeNoise(ShellNoise):
    """A point x of Z^d has probability h_k, k = max_l |x_l|; the noise is step·x,
    smeared evenly over the bin on the real line.

    See docs/mathematics.md#the-law. Masses, not h, are stored: they never underflow,
    whatever the dimension, and for one answer they are p_0, 2p_1, 2p_2, … to the bit.

    Guarantees: frozen; masses finite and ≥ 0 with total 1 (to 1e-9); equal by value.

    Attributes:
        shell_masses: n_k·h_k, the probability of all n_k points at radius k, for k = 0 … N.
        tail_ratio: In (0, 1): beyond N the law goes on as h_k = h_N·tail_ratio^(k−N).
            None ends it at N.
        step: Pitch of the lattice, in the units of the answer; 1 on the integers.
        domain: "real", a density that is constant on each bin, or "integer".
        dimension: How many answers one draw serves.

    Example:
        >>> noise = LatticeNoise([0.5, 0.25], 0.5, domain="integer")
        >>> noise.pmf([0, 1, 2]).tolist(), noise.variance
        ([0.5, 0.125, 0.0625], 3.0)
    """

    shell_masses: Floats
    tail_ratio: float | None
    step: float = 1.0
    domain: Domain = "real"
    dimension: int = 1

    kind: ClassVar[str] = "lattice"

    def __post_init__(self) -> None:
        object.__setattr__(self, "shell_masses", checked_masses(self.shell_masses))
        object.__setattr__(self, "dimension", positive_integer("dimension", self.dimension))
        self._check_lattice()
        if self.tail_ratio is not None:
            object.__setattr__(self, "tail_ratio", open_unit("tail_ratio", self.tail_ratio))
            if self.shell_masses[-1] == 0.0:
                raise InvalidParameterError(
                    f"shell_masses[{self.last}]", 0.0, "to be positive, or tail_ratio to be None"
                )
        if abs(self.total - 1.0) > NORMALISED:
            raise InvalidParameterError("sum of shell_masses with the tail", self.total, "to be 1")

    @staticmethod
    def from_weights(
        weights: ArrayLike,
        tail_ratio: float | None,
        *,
        step: float = 1.0,
        domain: Domain = "real",
        dimension: int = 1,
    ) -> LatticeNoise:
        """The law with h_k proportional to `weights[k]`.

        Args:
            weights: One weight per lattice point at radius k = 0 … N; at least 0, not all 0.
            tail_ratio: In (0, 1), the ratio of neighbouring h beyond N; None ends the law at N.
            step: Pitch of the lattice, in the units of the answer.
            domain: "real" or "integer".
            dimension: How many answers one draw serves.

        Returns:
            The law, normalised.

        Raises:
            InvalidParameterError: A parameter is not of this kind; the message names it.

        Example:
            >>> LatticeNoise.from_weights([2.0, 1.0], None, domain="integer").pmf([0, 1]).tolist()
            [0.5, 0.25]
        """
        weights = numbers("weights", weights)
        is_list = weights.ndim == 1 and weights.size > 0
        is_valid = np.all(np.isfinite(weights) & (weights >= 0))
        if not (is_list and is_valid and weights.max() > 0):
            raise InvalidParameterError(
                "weights", weights, "to be a list of finite numbers, at least 0 and not all 0"
            )
        if positive_integer("dimension", dimension) == 1:
            return _normalised(_line_masses(weights / weights.max()), tail_ratio, step, domain, 1)
        with np.errstate(divide="ignore"):
            return LatticeNoise.from_log_weights(
                np.log(weights), tail_ratio, step=step, domain=domain, dimension=dimension
            )

    @staticmethod
    def from_log_weights(
        log_weights: ArrayLike,
        tail_ratio: float | None,
        *,
        step: float = 1.0,
        domain: Domain = "real",
        dimension: int = 1,
    ) -> LatticeNoise:
        """As `from_weights`, from logarithms: the way in for high dimensions.

        Args:
            log_weights: Logarithm of the weight of one lattice point at radius k = 0 …
                N; −inf for an empty shell.
            tail_ratio: In (0, 1), the ratio of neighbouring h beyond N; None ends the law at N.
            step: Pitch of the lattice, in the units of the answer.
            domain: "real" or "integer".
            dimension: How many answers one draw serves.

        Returns:
            The law, normalised.

        Raises:
            InvalidParameterError: A parameter is not of this kind; the message names it.
        """
        log_h = numbers("log_weights", log_weights)
        d = positive_integer("dimension", dimension)
        if log_h.ndim != 1 or not np.any(log_h > -np.inf) or not np.all(log_h < np.inf):
            raise InvalidParameterError(
                "log_weights", log_weights, "to be a list of numbers below inf, not all -inf"
            )
        if d == 1:
            masses = _line_masses(np.exp(log_h - log_h.max()))
            return _normalised(masses, tail_ratio, step, domain, d)
        log_mass = log_h + shells.log_shell_count(d, np.arange(log_h.size))
        return _normalised(np.exp(log_mass - log_mass.max()), tail_ratio, step, domain, d)

    def expected_cost(self, cost: costs.Cost) -> float:
        """E[c(Z)] for one answer (Prop. 3.5)."""
        inner = cost.per_shell(self.last, self.dimension, self.step, self.domain)
        total = math.fsum((self.shell_masses * inner).tolist())
        if self.tail_ratio is None:
            return total
        if self.dimension == 1 and cost.exponent == 2.0:
            return total + float(self.shell_masses[-1]) * self.step**2 * self._tail_of_squares()
        radii, weights = shells.geometric_tail(
            self.dimension, self.last, self.tail_ratio, cost.growth
        )
        each = cost.per_shell(int(radii[-1]), self.dimension, self.step, self.domain)
        return total + float(self.shell_masses[-1]) * float(weights @ each[self.last + 1 :])

    def characteristic(self, coefficients: ArrayLike, t: ArrayLike) -> Floats:
        c, places = coefficients_of(self, coefficients), real_array("t", t).ravel()
        weights, k = self.cubes
        if self.domain == "integer":
            weights, k = held(weights, k, whole=True)
            found = mixed_waves(weights, 2.0 * k + 1.0, c, places)
        else:
            weights, k = held(weights, k + 0.5)
            found = mixed_sincs(weights, self.step * k, c, places)
        return found.reshape(np.shape(t))

    @cached_property
    def cubes(self) -> tuple[Floats, Floats]:
        """W_k = (h_k − h_{k+1})(2k + 1)^d and k of the cubes of half-width (k + ½)·step that the
        law is a mixture of."""
        k = np.arange(self.coordinate_reach + 1)
        log_size = self.dimension * np.log(2.0 * k + 1.0)
        log_h = self.log_pmf(np.arange(k.size + 1))
        weights = np.exp(log_h[:-1] + log_size) - np.exp(log_h[1:] + log_size)
        is_held = weights != 0.0
        return weights[is_held], k[is_held].astype(np.float64)

    def _tail_of_squares(self) -> float:
        """Σ_{k>N} r^(k−N) A_k/Δ² in closed form (Prop. 3.5), terms of one sign; twice
        that for N = 0, where p_N is not doubled."""
        r, n = float(self.tail_ratio or 0.0), self.last
        share = r / (1.0 - r)
        smear = 1.0 / 12.0 if self.domain == "real" else 0.0
        squares = n * n + smear + (2.0 * n + (1.0 + r) / (1.0 - r)) / (1.0 - r)
        return (2.0 if n == 0 else 1.0) * share * squares

    @property
    def shape(self) -> str:
        return "cube"

    @property
    def radial(self) -> Radial:
        return self

    @cached_property
    def has_convex_levels(self) -> bool:
        """Whether h does not rise: its level sets are cubes. Inner shells too light to be stored
        count as full, as they do for the judge, who charges them."""
        return corner_is_worst(self)

    @cached_property
    def variance(self) -> float:
        """Variance of the noise on one answer: Δ²(E[x²] + 1/12) on the real line, E[x²]
        on the integers."""
        return self.expected_cost(costs.quadratic())

    def loss(self, sensitivity: float, changes: Changes = BOX) -> Loss:
        """As of any law. The corner shift of all answers, which is one-sided too, dominates those
        of fewer answers, and shorter ones; where no person can make it, there is no lower bound."""
        if changes.ranges_of(self.dimension) is None:
            return self._loss_of_length(sensitivity, changes)
        loss = self._loss_of_box(sensitivity)
        return loss if changes.has_corner(self.dimension) else unproven_below(loss)

    def _loss_of_box(self, sensitivity: float) -> Loss:
        return self._loss_of_shift(shift_in_steps(sensitivity, self.step))

    def _loss_of_shift(self, shift: int) -> Loss:
        found = self._judged.get(shift)
        if found is None:
            found = lattice_loss(self, shift)
            self._judged.clear()
            self._judged[shift] = found
        return found

    def _loss_of_length(self, sensitivity: float, changes: Changes) -> Loss:
        """The loss for changes of a given length, by which no answer moves farther: that of the box
        of this length, which is the same where there is one answer, and else above."""
        distance = Fraction(farthest(sensitivity, changes))
        steps = math.ceil(distance / exact_step(self.step))
        if self.domain == "integer":
            loss, is_bound = self._loss_of_shift(steps), steps > distance
        else:
            pitches = math.ceil(distance / public_pitch(self.step, self.domain))
            is_whole = pitches == steps * PLACES
            loss = self._loss_of_shift(steps) if is_whole else self.loss_at(distance)
            is_bound = False
        return unproven_below(loss) if is_bound or self.dimension > 1 else loss

    @cached_property
    def _judged(self) -> dict[int, Loss]:
        """The loss that was last asked for, by its shift: a law is mostly judged at one."""
        return {}

    def loss_at(self, distance: Fraction) -> Loss:
        return loss_at(self, self.step, self.domain, distance)

    def sampler(self) -> LatticeSampler:
        return LatticeSampler(self)

    def with_weights(self, weighted: Callable[[LatticeNoise], LatticeNoise]) -> LatticeNoise:
        return weighted(self)

    def of_weights(self, weights: IntegerWeights) -> LatticeNoise:
        return LatticeNoise(weights.masses(), None, self.step, self.domain, self.dimension)

    def describe(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "domain": self.domain,
            "dimension": self.dimension,
            "step": self.step.hex(),
            "tail_ratio": None if self.tail_ratio is None else self.tail_ratio.hex(),
            "shell_masses": [float(mass).hex() for mass in self.shell_masses],
        }

    @staticmethod
    def from_description(content: Mapping[str, Any]) -> LatticeNoise:
        ratio = content["tail_ratio"]
        return LatticeNoise(
            [float.fromhex(mass) for mass in content["shell_masses"]],  # type: ignore[arg-type]
            None if ratio is None else float.fromhex(ratio),
            float.fromhex(content["step"]),
            content["domain"],
            content["dimension"],
        )

    def describe_drawn(self) -> dict[str, Any]:
        whole = integer_weights(self)
        if whole is None:
            raise UnsupportedError("Only a law with integer weights can be written as an artefact.")
        return {
            "domain": self.domain,
            "batch": self.dimension,
            "step": self.step,
            "pitch": str(public_pitch(self.step, self.domain)),
            **whole.described(),
        }

    @staticmethod
    def from_drawn(content: Mapping[str, Any]) -> LatticeNoise:
        only_fields("law", content, {"domain", "batch", "step", "pitch", *FIELDS})
        whole = IntegerWeights.from_description(content)
        answers = answers_of_a_draw(content["batch"])
        step = number(content["step"])
        law = LatticeNoise(whole.masses(), None, step, content["domain"], answers)
        check_digits(law, whole)
        return law

    def __reduce__(self) -> tuple[type[LatticeNoise], tuple[Floats, float | None, float, str, int]]:
        # Through the constructor, so that a copy or a law from another process is as
        # frozen as the original.
        fields = self.shell_masses, self.tail_ratio, self.step, self.domain, self.dimension
        return LatticeNoise, fields

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LatticeNoise):
            return NotImplemented
        return self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[bytes, float | None, float, str, int]:
        return self.shell_masses.tobytes(), self.tail_ratio, self.step, self.domain, self.dimension

    def __repr__(self) -> str:
        tail = "no tail" if self.tail_ratio is None else f"tail_ratio={self.tail_ratio:.6g}"
        return (
            f"LatticeNoise(std={self.std:.6g}, domain={self.domain!r}, step={self.step:.6g}, "
            f"dimension={self.dimension}, shells=0..{self.last}, {tail})"
        )


def _line_masses(h: Floats) -> Floats:
    """Shell masses for one answer. Doubling is exact, so weights that do not rise give
    a law that does not rise."""
    return np.asarray(h * np.where(np.arange(h.size) == 0, 1.0, 2.0), dtype=np.float64)


def _normalised(
    masses: Floats, tail_ratio: float | None, step: float, domain: Domain, dimension: int
) -> LatticeNoise:
    """The law whose shell masses are proportional to `masses`, the largest of which is about 1."""
    total = float(np.sum(masses))
    if tail_ratio is not None:
        ratio = open_unit("tail_ratio", tail_ratio)
        total += float(masses[-1]) * tail_sum(dimension, masses.size - 1, ratio)
    masses = masses / total
    if dimension > 1:
        # An inner shell below the normal range has lost its accuracy and might seem to
        # rise: leave it empty, as those before it.
        inner = np.arange(masses.size) < int(np.argmax(masses))
        masses = np.where(inner & (masses < np.finfo(np.float64).tiny), 0.0, masses)
    return LatticeNoise(masses, tail_ratio, step, domain, dimension)
