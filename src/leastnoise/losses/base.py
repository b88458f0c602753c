"""What every privacy loss of one release offers: one Protocol, and what the closed forms share.

For a pair of laws (P, Q) the loss is L = log(P/Q) under P; the profile is δ(ε) = E_P[(1
− e^(ε−L))_+] (hockey-stick divergence). Losses are equal by value and hashable, so that
whoever composes them counts equal ones together, wherever they came from.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from leastnoise.errors import AccountingError
from leastnoise.lattice.shells import Floats
from leastnoise.losses.rounding import LOSS_ROUNDING
from leastnoise.losses.table import TableLoss

_LEAST_RATIO = 1e-150
_Self = TypeVar("_Self", bound="ClosedForm")


class Loss(Protocol):
    """The privacy loss of one release: all that accountant, ledger and adapters ask of it."""

    # What it is

    @property
    def largest(self) -> float:
        """The largest finite loss; inf where there is none."""

    @property
    def kink(self) -> float | None:
        """An ε where δ stops falling fast, near which the least ε at a δ mostly is; None where
        nothing is known of it."""

    @property
    def infinite(self) -> float:
        """The mass of infinite loss, rounded up."""

    @property
    def surely_infinite(self) -> float:
        """A lower bound on the mass of infinite loss."""

    @property
    def deviation(self) -> float:
        """Mass by which the judged law differs from the drawn one; `infinite` counts it."""

    @property
    def raised(self) -> float:
        """Mass whose loss was put higher than it is, to be safe: lower bounds leave it out."""

    @property
    def loss_rounding(self) -> float:
        """How far a loss may be from its exact value."""

    @property
    def normal_variance(self) -> float | None:
        """μ² of a normal loss of mean μ²/2, which adds under composition; None for any other."""

    # δ, moments and divergences

    def profile(self, epsilon: ArrayLike) -> Floats:
        """δ(ε), rounded up."""

    def profile_lower(self, epsilon: ArrayLike) -> Floats:
        """δ(ε), rounded down."""

    def profile_at_zero(self) -> float:
        """δ(0), rounded up."""

    def cumulants(self, theta: float) -> tuple[float, float, float]:
        """K(θ) = log E_P[e^(θL); L finite] and its first two derivatives."""

    def share_below_largest(self, theta: float) -> float:
        """Tilted probability of the losses below the largest one."""

    def divergence(self, order: float) -> float:
        """The Rényi divergence of this order in [1, ∞], rounded up."""

    @property
    def with_divergences(self) -> Loss:
        """The loss itself; where its divergences are not known, one that dominates it with finite
        losses whose divergences are, and some mass of infinite loss."""

    # Tables and grids

    @property
    def tables(self) -> tuple[TableLoss, ...]:
        """The finite tables it consists of; none for a closed form."""

    @property
    def listed(self) -> TableLoss | None:
        """The loss itself where it is one finite table."""

    def changed(self, change: Callable[[TableLoss], TableLoss]) -> Loss:
        """The same with `change` made to each of its tables."""

    def without_top(self, mass: float) -> Loss:
        """The same with the highest losses of its tables, of probability at most
        `mass`, counted as infinite."""

    def worst(self, theta: float) -> Loss:
        """The loss of one adversary that a lower bound may count on: the worst at this tilt."""

    @property
    def heaviest(self) -> float:
        """The probability of the heaviest single loss, ±`largest` of a closed form aside."""

    @property
    def anchor(self) -> float:
        """The loss that must be a point of the grid, for splitting it would cost most."""

    def reach(self, theta: float) -> tuple[float, float]:
        """The range of losses that matters at this tilt."""

    def table(self, pitch: float, low: float, high: float) -> TableLoss:
        """A table that dominates this loss, at most `pitch` wide between low and high
        (Connect-the-Dots)."""


@dataclass(frozen=True)
class ClosedForm(ABC):
    """What the losses given by a formula share: no table, nothing infinite; all or nothing raised.

    Attributes:
        is_attained: Whether it is the loss of a change that a person can make: lower bounds are 0
            where it is only above all of those.
    """

    is_attained: bool = field(default=True, kw_only=True)

    infinite = 0.0
    surely_infinite = 0.0
    deviation = 0.0
    heaviest = 0.0
    tables: ClassVar[tuple[TableLoss, ...]] = ()
    listed: ClassVar[TableLoss | None] = None

    @property
    def raised(self) -> float:
        return 0.0 if self.is_attained else 1.0

    @property
    @abstractmethod
    def largest(self) -> float: ...

    @property
    def kink(self) -> float | None:
        return None

    @property
    def anchor(self) -> float:
        return self.largest

    @property
    def normal_variance(self) -> float | None:
        return None

    def reach(self, theta: float) -> tuple[float, float]:
        return -self.largest, self.largest

    @property
    def loss_rounding(self) -> float:
        return usual_rounding(self.largest)

    @property
    def with_divergences(self: _Self) -> _Self | TableLoss:
        return self

    @abstractmethod
    def profile(self, epsilon: ArrayLike) -> Floats: ...

    @abstractmethod
    def _attained_profile(self, epsilon: ArrayLike) -> Floats:
        """δ(ε) of the change that attains it, rounded down."""

    def profile_lower(self, epsilon: ArrayLike) -> Floats:
        return self._attained_profile(epsilon) if self.is_attained else np.zeros(np.shape(epsilon))

    def profile_at_zero(self) -> float:
        return float(self.profile(0.0))

    def changed(self: _Self, change: Callable[[TableLoss], TableLoss]) -> _Self:
        return self

    def without_top(self: _Self, mass: float) -> _Self:
        return self

    def worst(self: _Self, theta: float) -> _Self:
        return self


def in_range(ratio: float) -> float:
    """The sensitivity in units of the noise, where its square is a normal
    floating-point number: beyond, μ² = 0 would say that nothing is revealed."""
    if not _LEAST_RATIO < ratio < 1.0 / _LEAST_RATIO:
        raise AccountingError(
            "Noise is judged for sensitivities from 1e-150 to 1e150 times its own size, not "
            f"{ratio:.3g} times."
        )
    return ratio


def usual_rounding(largest: float) -> float:
    """How far a loss of a closed form may be from its exact value."""
    return LOSS_ROUNDING * (1.0 + abs(largest))


def unproven_below(loss: Loss) -> Loss:
    """The same upper bounds without lower ones: for what this loss dominates and may be above."""
    if isinstance(loss, ClosedForm):
        return replace(loss, is_attained=False)
    return loss.changed(lambda table: replace(table, raised=1.0))
