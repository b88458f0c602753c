"""A number between two certified bounds."""

from __future__ import annotations

from typing import NamedTuple


class Bounds(NamedTuple):
    """A number known to lie between two.

    Attributes:
        lower: Certified lower bound, in the unit of what is bounded (ε in nats, δ a probability).
        upper: Certified upper bound.

    Example:
        >>> from leastnoise import PrivacyLoss, gaussian
        >>> bounds = PrivacyLoss.of(gaussian(8.0)).epsilon_bounds(1e-6)
        >>> bounds.lower <= bounds.upper
        True
    """

    lower: float
    upper: float
