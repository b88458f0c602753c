"""The exact law of a linear form in the answers of one joint draw, as a part of an error.

A form in one answer, or in any of a law that is the same in every direction, has the law of one
answer, times a length (`Noise.as_one_answer`). Of every other law the characteristic function is
known: given the radius of a cube its answers are independent, and so they are for a hidden count,
the range, and rounded noise given its scale (`Noise.characteristic`). None of it is simulated; what
would take too long raises an UnsupportedError when it is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from leastnoise.lattice.shells import Floats
from leastnoise.laws.base import Noise
from leastnoise.releases.estimates.reconstructed import symmetric
from leastnoise.releases.tables.intervals import ErrorPart

_DIGITS = 12  # of the coefficients of a form of length 1: those that agree in these are the same


@dataclass(frozen=True, eq=False)
class FormLaw:
    """The law of a form in the answers of one draw."""

    noise: Noise
    coefficients: tuple[float, ...]

    @cached_property
    def variance(self) -> float:
        return self.noise.variance_of(self.coefficients)

    @property
    def is_smooth(self) -> bool:
        return self.noise.domain == "real"

    def characteristic(self, t: Floats) -> Floats:
        """φ(t) = E cos(t·X)."""
        return self.noise.characteristic(self.coefficients, t)


def error_part(noise: Noise, parts: Sequence[float], count: int) -> ErrorPart:
    """A form in the answers of so many draws as a part of an error."""
    single = noise.as_one_answer(parts)
    if single is not None:
        law, length = single
        return ErrorPart(symmetric(law), length, count)
    length = math.hypot(*parts)
    form = _form(noise, tuple(round(part / length, _DIGITS) for part in parts))
    return ErrorPart(form, length, count)


@lru_cache(maxsize=256)
def _form(noise: Noise, coefficients: tuple[float, ...]) -> FormLaw:
    """One law for all parts of an error that have it."""
    return FormLaw(noise, coefficients)
