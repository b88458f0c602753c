"""One door to the checks of all floors."""

from __future__ import annotations

from leastnoise.floors.certificates import EpsilonFloor, Floor
from leastnoise.floors.check_releases import epsilon_fault
from leastnoise.floors.check_variance import variance_fault


def fault_of(floor: Floor) -> str | None:
    """Why a certificate does not prove its claim, in a sentence; None where it does."""
    return epsilon_fault(floor) if isinstance(floor, EpsilonFloor) else variance_fault(floor)
