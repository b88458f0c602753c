"""What a design may claim of all other noise (docs/optimality.md), and the certificate of it."""

from __future__ import annotations

from leastnoise.changes import BOX
from leastnoise.designer.request import Request
from leastnoise.designer.result import Design
from leastnoise.errors import InvalidParameterError
from leastnoise.floors.certificates import Floor
from leastnoise.floors.many_releases import epsilon_floor
from leastnoise.floors.one_release import variance_floor

MOST_RELEASES = 64
_MOST_ANSWERS = 3  # of a batch of integers
_WIDEST = 64.0  # standard deviation of several releases, in sensitivities
# The law that is drawn has integer weights, and an ε that is larger by up to 1e-6 of itself.
_WEIGHTED = 1.0 + 2e-6
_ROUNDED = 1.0 + 1e-9  # so is its standard deviation


def check_covered(request: Request, *, is_plain: bool) -> None:
    """An InvalidParameterError that says what a floor is known for, where it is not for this."""
    is_square = request.cost.exponent == 2.0 and request.objective == "tight"
    is_box = request.changes == BOX and request.weights is None
    if not (is_plain and is_square and is_box):
        raise InvalidParameterError(
            "floor",
            True,
            "to be asked for with the default cost, objective, changes and weights, and without "
            "advantage, constraints or mu",
        )
    if request.batch > 1:
        is_small = request.batch <= _MOST_ANSWERS and request.compositions == 1
        if not (is_small and request.domain == "integer"):
            raise InvalidParameterError(
                "floor",
                True,
                f"to be asked for with batch={request.batch!r} equal to 1, or for one release of "
                f'at most {_MOST_ANSWERS} integers together (domain="integer")',
            )
    if request.compositions > MOST_RELEASES:
        raise InvalidParameterError(
            "compositions", request.compositions, f"to be at most {MOST_RELEASES} beside floor"
        )


def floor_under(made: Design) -> Floor | None:
    """The best floor found for the use of a design; None where none was found."""
    s = made.sensitivity
    sigma = made.noise.std / s * _ROUNDED
    integers = round(s) if made.noise.domain == "integer" else None
    if made.uses == 1:
        return variance_floor(
            sigma=sigma,
            epsilon=made.epsilon * _WEIGHTED,
            delta=made.delta,
            answers=made.noise.dimension,
            integers=integers,
        )
    if made.batch > 1 or sigma > _WIDEST:
        return None
    return epsilon_floor(
        sigma=sigma,
        delta=made.delta,
        releases=made.compositions,
        near=made.epsilon,
        integers=integers,
    )
