"""An exact law with its guarantee: made by `certify`, kept in a file (`format`), and
checked from it (`verification`)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from leastnoise.accountant.composition import DEFAULT
from leastnoise.accountant.constraints import Constraint, Limit, held
from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.accountant.saddle import GridSettings
from leastnoise.changes import BOX, Changes, checked_changes
from leastnoise.errors import (
    AccountingError,
    InvalidParameterError,
    UnsupportedError,
    at_least,
    open_unit,
    positive_integer,
    real_number,
)
from leastnoise.floors.certificates import Floor
from leastnoise.laws.base import Noise


@dataclass(frozen=True)
class Guarantee:
    """(epsilon, delta)-differential privacy of `compositions` releases when one person
    moves each answer by ≤ sensitivity, within the space of changes.

    Attributes:
        epsilon: ε over all the releases, an upper bound.
        delta: The probability with which ε may fail, over all the releases.
        compositions: How many releases are made with the law.
        sensitivity: How far one person moves each answer, in the units of the answers.
        changes: Which vectors of changes one person can make, in sensitivities.
        constraints: Further points below which the privacy curve of all the releases stays, each
            with the bound that is certified.
    """

    epsilon: float
    delta: float
    compositions: int
    sensitivity: float
    changes: Changes = BOX
    constraints: tuple[Constraint, ...] = ()


@dataclass(frozen=True)
class Charges:
    """What a release costs in δ because the law ends, and because inner shells are empty.

    Attributes:
        unbounded: The probability that a shift carries the noise out of its support.
        deviation: The probability of the empty inner shells of a joint law.
    """

    unbounded: float
    deviation: float


@dataclass(frozen=True)
class Artefact:
    """An exact law, its guarantee, and what they were made for.

    Attributes:
        noise: The law as it is drawn.
        guarantee: What is promised of its use.
        charges: What one release charges to δ because the law ends.
        settings: How finely the judge computed.
        problem: What was asked for, as the designer states it.
        rivals: ε of other laws at the same standard deviation, as the designer states
            them; not part of the guarantee.
        floor: What no noise at all can do better, with its proof; None where nobody asked.
    """

    noise: Noise
    guarantee: Guarantee
    charges: Charges
    settings: GridSettings = DEFAULT
    problem: Mapping[str, Any] = field(default_factory=dict)
    rivals: Mapping[str, float] = field(default_factory=dict)
    floor: Floor | None = None

    def guarantee_for(self, compositions: int, *, delta: float | None = None) -> Guarantee:
        """The guarantee of another use of the same law, judged anew: more compositions
        are never covered by the stated epsilon.

        Args:
            compositions: How many releases are made.
            delta: The δ at which ε is stated; that of the artefact unless given.

        Returns:
            The guarantee of that use, at the sensitivity of the artefact; constraints are not
            part of it, for they were promised of the stated use alone.

        Raises:
            InvalidParameterError: A number is outside its range.
        """
        asked = self.guarantee.delta if delta is None else delta
        if (compositions, asked) == (self.guarantee.compositions, self.guarantee.delta):
            return self.guarantee
        stated = self.guarantee
        use = (asked, compositions, stated.sensitivity, self.settings, stated.changes)
        return judged(self.noise, *use)


def certify(
    noise: Noise,
    *,
    delta: float,
    compositions: int = 1,
    sensitivity: float = 1.0,
    changes: Changes = BOX,
    rivals: Mapping[str, float] | None = None,
    problem: Mapping[str, Any] | None = None,
    constraints: Sequence[Limit] = (),
) -> Artefact:
    """Judge an exact law and state its guarantee.

    Args:
        noise: A law with integer weights (`exact`), or the ball law, which is drawn as it is.
        delta: The δ of the guarantee, in (0, 1).
        compositions: How many releases are made with the law.
        sensitivity: How far one person moves each answer, in the units of the answers.
        changes: Which vectors of changes one person can make, in sensitivities; any signs unless it
            is stated.
        rivals: ε of other laws, kept beside the guarantee as they are given.
        problem: What was asked for, plain JSON data, kept beside the guarantee as it is given.
        constraints: Pairs (ε_k, δ_k): δ(ε_k) of all releases together is to be at most δ_k.

    Returns:
        The law with its guarantee, ready to be written by `write_artefact`.

    Raises:
        UnsupportedError: The law is not drawn exactly.
        AccountingError: The law has no finite ε at `delta`, or misses a constraint.
        InvalidParameterError: A number is outside its range, or `problem` is not plain.

    Guarantees: the stated ε is the judge's for the law in the file, over its whole use.

    Example:
        >>> from leastnoise import discrete_laplace, exact
        >>> law = exact(discrete_laplace(3.0), delta=1e-6, compositions=2)
        >>> certify(law, delta=1e-6, compositions=2).guarantee.epsilon < 1.0
        True
    """
    if not noise.sampler().is_exact:
        raise UnsupportedError(
            "Only a law with integer weights has a guarantee to verify; make it exact(noise, "
            "delta=..., ...)."
        )
    try:
        stated = json.loads(json.dumps(dict(problem or {}), allow_nan=False))
    except (TypeError, ValueError):
        raise InvalidParameterError("problem", problem, "to be plain JSON data") from None
    guarantee = judged(noise, delta, compositions, sensitivity, DEFAULT, changes, constraints)
    for one in guarantee.constraints:
        if not one.holds:
            raise AccountingError(f"The law as it is drawn misses a constraint: {one.sentence()}.")
    if not math.isfinite(guarantee.epsilon):
        raise AccountingError(
            f"The law has no finite epsilon at delta={delta!r} for {compositions} releases; end "
            "it farther out."
        )
    plain = {
        str(name): real_number(f"rivals[{name!r}]", epsilon)
        for name, epsilon in (rivals or {}).items()
    }
    charged = charges(noise, guarantee)
    return Artefact(noise, guarantee, charged, DEFAULT, stated, plain)


def judged(
    noise: Noise,
    delta: float,
    compositions: int,
    sensitivity: float,
    settings: GridSettings,
    changes: Changes = BOX,
    constraints: Sequence[Limit] = (),
) -> Guarantee:
    """The guarantee that the judge gives, with what is certified at each of the constraints."""
    delta = open_unit("delta", delta)
    n = positive_integer("compositions", compositions)
    s = at_least("sensitivity", sensitivity)
    space = checked_changes(changes, noise.dimension)
    loss = replace(PrivacyLoss.of(noise, s, space), settings=settings).compose(n)
    return Guarantee(loss.epsilon(delta), delta, n, s, space, held(loss, constraints))


def charges(noise: Noise, guarantee: Guarantee) -> Charges:
    """What one release charges to δ."""
    loss = noise.loss(guarantee.sensitivity, guarantee.changes)
    return Charges(loss.infinite, loss.deviation)
