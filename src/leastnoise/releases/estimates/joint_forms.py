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

import numpy as np

from leastnoise.lattice.shells import Floats
from leastnoise.lattice.waves import whole_multiples
from leastnoise.laws.base import Noise
from leastnoise.releases.estimates.reconstructed import symmetric
from leastnoise.releases.tables.intervals import ErrorLaw, ErrorPart, SymmetricLaw

_FAR = 1e-13  # probability beyond which whole numbers are not listed
_MOST_PLACES = 1 << 14  # of those: beyond, a characteristic function is as soon computed
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
def _form(noise: Noise, coefficients: tuple[float, ...]) -> ErrorLaw:
    """One law for all parts of an error that have it: of whole numbers with whole coefficients, not
    too large, its probabilities, by one Fourier transform over a period."""
    form = FormLaw(noise, coefficients)
    c = np.array(coefficients)
    whole = whole_multiples(c[c != 0.0]) if noise.domain == "integer" else None
    if whole is None:
        return form
    multiples, unit = whole
    reach = float(noise.quantile(_FAR, upper=True)) * float(np.sum(np.abs(multiples)))
    size = 1 << math.ceil(2.0 * reach + 1.0).bit_length()
    if size > _MOST_PLACES:
        return form
    places = 2.0 * math.pi / (size * unit) * np.arange(size // 2 + 1.0)
    masses = np.fft.irfft(form.characteristic(places), size)[: size // 2]
    return SymmetricLaw(np.maximum(masses, 0.0), unit)
