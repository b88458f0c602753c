"""Roundings that the losses allow for, and sums on the safe side of them."""

from __future__ import annotations

import numpy as np

from leastnoise.lattice.shells import Floats

ULP = float(np.finfo(np.float64).eps)
SMALLEST = 5e-324
LOSS_ROUNDING = 8.0 * ULP  # error of a loss relative to 1 + its size
# relative error of a probability, a release: |log p| ≤ 745 known to a unit in the last place
MASS_ROUNDING = 1e-13
PROFILE_ROUNDING = 1e-13  # relative allowance for the sums behind one profile value


def rounded_up(mass: float, mass_error: float, terms: int) -> float:
    """A sum of that many rounded probabilities, on the safe side; below the normal
    range each is rounded by a unit at most."""
    return min(mass * (1.0 + mass_error + ULP * (terms + 4)) + SMALLEST * terms, 1.0)


def rounded_by(mass: float, mass_error: float, terms: int) -> float:
    """How far above the truth `rounded_up` may be: what lower bounds leave out."""
    return 3.0 * (mass * (mass_error + ULP * (terms + 4)) + SMALLEST * terms)


def log_ratio(above: Floats, below: Floats) -> Floats:
    """log(above/below): from the quotient, which keeps more digits than a difference of
    logarithms, where it is in range."""
    with np.errstate(over="ignore", under="ignore"):
        quotient = above / below
    safe = np.isfinite(quotient) & (quotient > 1e-300)
    return np.where(safe, np.log(np.where(safe, quotient, 1.0)), np.log(above) - np.log(below))
