"""What an adapter needs of a law: how it was meant to be used, the law that is drawn, and its loss
at ANY distance between neighbours, on the safe side (`leastnoise.losses.distance`)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from leastnoise.artefact import Artefact
from leastnoise.artefact.exact import as_drawn
from leastnoise.changes import Box, Euclidean
from leastnoise.designer.result import Design
from leastnoise.errors import (
    AccountingError,
    InvalidParameterError,
    UnsupportedError,
    at_least,
    open_unit,
)
from leastnoise.laws.base import Noise
from leastnoise.laws.classic import lattice_form
from leastnoise.losses.base import Loss
from leastnoise.losses.distance import NO_LOSS
from leastnoise.losses.lattice import NOTHING_SHARED

Source: TypeAlias = Design | Artefact | Noise


@dataclass(frozen=True)
class IntendedUse:
    """A law, how it was meant to be used, and at which δ."""

    noise: Noise
    sensitivity: float
    delta: float | None
    answers: int  # of the whole use: all releases of all batches

    @staticmethod
    def of(
        source: Source, *, delta: float | None = None, sensitivity: float | None = None
    ) -> IntendedUse:
        """A design or an artefact knows its use; a bare law must be told δ, and the
        sensitivity if it is not 1."""
        if isinstance(source, Design):
            noise, answers = source.noise, source.compositions * source.batch
            known: tuple[float, float | None] = (source.reach, source.delta)
        elif isinstance(source, Artefact):
            noise, answers = source.noise, source.guarantee.compositions * source.noise.dimension
            known = (source.guarantee.sensitivity, source.guarantee.delta)
        elif isinstance(source, Noise):
            noise, answers, known = source, source.dimension, (1.0, None)
        else:
            expected = "to be a Design, an Artefact or a Noise"
            raise InvalidParameterError("law", type(source).__name__, expected)
        chosen = known[1] if delta is None else open_unit("delta", delta)
        moved = known[0] if sensitivity is None else at_least("sensitivity", sensitivity)
        return IntendedUse(noise, moved, chosen, answers)

    @property
    def stated_delta(self) -> float:
        if self.delta is None:
            expected = "to be given: a bare law has no guarantee of its own"
            raise InvalidParameterError("delta", None, expected)
        return self.delta

    def drawable(self) -> Noise:
        """The law, on a lattice of the same standard deviation where it is a closed
        form; it is judged anew."""
        return lattice_form(self.noise, self.sensitivity)

    def drawn(self, draws: int) -> Noise:
        """The law that is drawn: what is judged is what is drawn."""
        law, delta, s = self.drawable(), self.stated_delta, self.sensitivity
        return as_drawn(law, delta=delta, sensitivity=s, compositions=draws)


def as_distance(name: str, value: object) -> Fraction | None:
    """A distance between neighbours as an exact number; None for an infinite one."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(
        value, (int, float, Fraction, np.integer, np.floating)
    ):
        raise InvalidParameterError(name, value, "to be a number")
    if value != value or value < 0:
        raise InvalidParameterError(name, value, "to be a distance, at least 0")
    if isinstance(value, Fraction):
        return value
    if isinstance(value, (int, np.integer)):
        return Fraction(int(value))
    return Fraction(*value.as_integer_ratio()) if math.isfinite(value) else None


@lru_cache(maxsize=64)
def loss_at(law: Noise, distance: Fraction) -> Loss:
    """The loss of one draw when one person moves each of its answers by at most
    `distance`: an upper bound at every distance."""
    if distance <= 0:
        return NO_LOSS
    try:
        return law.loss_at(distance)
    except (AccountingError, OverflowError):
        return NOTHING_SHARED


@lru_cache(maxsize=64)
def loss_of_some(law: Noise, distance: Fraction, places: int) -> Loss:
    """The loss of one joint draw of whole numbers when one person moves at most so many of its
    answers, each by at most `distance`."""
    try:
        return law.loss(float(math.ceil(distance)), Box(places))
    except (AccountingError, OverflowError):
        return NOTHING_SHARED


@lru_cache(maxsize=64)
def loss_at_length(law: Noise, length: Fraction) -> Loss:
    """The loss of one draw when one person moves its answers by a vector of at most this `length`:
    an upper bound, of the length alone where the law can be judged by it."""
    if length <= 0 or law.dimension == 1 or law.domain == "integer":
        return loss_at(law, length)
    try:
        farthest = float(length)
        farthest = farthest if farthest >= length else math.nextafter(farthest, math.inf)
        return law.loss(farthest, Euclidean(1.0))
    except UnsupportedError:  # no answer moves farther than all of them together
        return loss_at(law, length)
    except (AccountingError, OverflowError):
        return NOTHING_SHARED
