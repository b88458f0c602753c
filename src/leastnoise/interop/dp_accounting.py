"""Laws in dp-accounting, and dp-accounting's losses here: `pip install
"leastnoise[dp-accounting]"` (version 0.6).

    from leastnoise.interop.dp_accounting import accountant, dp_event, from_pld, to_pld

    to_pld(noise, sensitivity=1.0)           a PrivacyLossDistribution that composes with theirs
    accountant().compose(dp_event(design))   a DpEvent, also inside ComposedDpEvent and others
    from_pld(theirs).compose(PrivacyLoss.of(noise))   their loss, composed by our accountant

dp-accounting 0.6 needs attrs < 24.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise.accountant.bounds import Bounds
from leastnoise.accountant.curve import POINTS, PrivacyCurve
from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.changes import BOX, Changes, changes_from, checked_changes
from leastnoise.designer.result import Design
from leastnoise.errors import (
    InvalidFileError,
    InvalidParameterError,
    LeastNoiseError,
    UnsupportedError,
    at_least,
    positive,
)
from leastnoise.files.canonical import canonical
from leastnoise.laws.base import Noise
from leastnoise.losses.base import Loss
from leastnoise.losses.rounding import PROFILE_ROUNDING
from leastnoise.losses.table import TableLoss
from leastnoise.losses.worst import WorstOf
from leastnoise.optional import required

INTERVAL = 1e-4  # dp-accounting's own default pitch of losses
_FINER = 4.0  # losses that are put on a grid of their own first get one this much finer
_EVERY_CHANGE = canonical(BOX.describe()).encode("ascii")
_MOST_POINTS = 20_000_000
# standard deviations of a normal loss that are kept: 1e-64 of it is lost, to infinity
_REACH = 17.0


def to_pld(
    law: Noise | Design | PrivacyLoss,
    *,
    sensitivity: float | None = None,
    changes: Changes | None = None,
    interval: float = INTERVAL,
) -> Any:
    """The privacy loss as a PrivacyLossDistribution of dp-accounting.

    Args:
        law: A Noise stands for one release, a Design for its whole use, a PrivacyLoss
            for what it has composed.
        sensitivity: How far one person moves each answer; that of the design, or 1, unless given.
        changes: Of a Noise, which vectors of changes one person can make, in sensitivities; any
            signs unless given. A Design has its own.
        interval: The losses are multiples of it; it must be that of its companions.

    Returns:
        A PrivacyLossDistribution, to compose with others.

    Raises:
        MissingExtraError: dp-accounting is not installed.
        UnsupportedError: The losses spread over too many intervals, or the law cannot be judged for
            such changes.
        InvalidParameterError: An argument is outside its range.

    Guarantees: pessimistic. Connect-the-Dots from the exact losses: each is split over its two
    neighbours on the grid so that its mass under both data sets is kept, which raises δ at every ε.
    Rounding errors of losses and masses are added first. Symmetric noise has the same loss whether
    a person is added or removed; one pmf serves both directions.
    """
    pitch = positive("interval", interval)
    module = _pld()
    total = module.identity(pitch)
    for single, count in _loss_of(law, sensitivity, changes).parts:
        one = module.PrivacyLossDistribution(_pmf(single, pitch))
        total = total.compose(one if count == 1 else one.self_compose(count))
    return total


def from_pld(pld: Any) -> PrivacyLoss:
    """One loss that dominates their PrivacyLossDistribution in both directions, to
    compose with ours.

    For a symmetric distribution it is the distribution itself. For an asymmetric one,
    of subsampling for instance, it is the larger of the two profiles at every ε;
    `both_directions` composes the two separately and is tighter.

    Args:
        pld: A pessimistic PrivacyLossDistribution of dp-accounting.

    Returns:
        The loss, to compose, convert, or spend from a ledger.

    Raises:
        MissingExtraError: dp-accounting is not installed.
        UnsupportedError: `pld` is optimistic, or holds no numbers.
        InvalidParameterError: `pld` is something else.

    Guarantees: as pessimistic as `pld`; its lower bounds are those of `pld`, not of the
    mechanism behind it, and of an asymmetric one those for a person who is removed.
    """
    remove, add = _directions(pld)
    return PrivacyLoss(((remove if add is None else WorstOf((remove, add), chosen_anew=False), 1),))


@dataclass(frozen=True)
class TwoWayLoss:
    """The loss when a person is removed and when one is added, composed separately; the
    worse of the two is stated."""

    remove: PrivacyLoss
    add: PrivacyLoss

    def compose(self, other: int | PrivacyLoss | TwoWayLoss) -> TwoWayLoss:
        """Repeated n times, or followed by another loss; a loss of ours is the same in
        both directions."""
        if isinstance(other, TwoWayLoss):
            return TwoWayLoss(self.remove.compose(other.remove), self.add.compose(other.add))
        return TwoWayLoss(self.remove.compose(other), self.add.compose(other))

    def epsilon(self, delta: float) -> float:
        """The least certified ε at `delta`, in both directions."""
        return max(self.remove.epsilon(delta), self.add.epsilon(delta))

    def delta(self, epsilon: float) -> float:
        """The least certified δ at `epsilon`, in both directions."""
        return max(self.remove.delta(epsilon), self.add.delta(epsilon))

    def epsilon_bounds(self, delta: float) -> Bounds:
        """ε of the worse direction between two bounds."""
        ways = (self.remove.epsilon_bounds(delta), self.add.epsilon_bounds(delta))
        return Bounds(max(way.lower for way in ways), max(way.upper for way in ways))

    def delta_bounds(self, epsilon: float) -> Bounds:
        """δ of the worse direction between two bounds."""
        ways = (self.remove.delta_bounds(epsilon), self.add.delta_bounds(epsilon))
        return Bounds(max(way.lower for way in ways), max(way.upper for way in ways))

    def curve(self, *, delta: float = 1e-9, points: int = POINTS) -> PrivacyCurve:
        """The whole privacy curve of both directions; see `PrivacyLoss.curve`."""
        return self.remove.curve(delta=delta, points=points, reverse=self.add)


def both_directions(pld: Any) -> TwoWayLoss:
    """Their distribution as two losses, one a direction (twice the same for a symmetric one).

    Args:
        pld: A pessimistic PrivacyLossDistribution of dp-accounting.

    Returns:
        The two losses, composed separately; the worse of the two is stated.

    Raises:
        MissingExtraError: dp-accounting is not installed.
        UnsupportedError: `pld` is optimistic, or holds no numbers.
        InvalidParameterError: `pld` is something else.
    """
    remove, add = _directions(pld)
    first = PrivacyLoss(((remove, 1),))
    return TwoWayLoss(first, first if add is None else PrivacyLoss(((add, 1),)))


def dp_event(
    law: Noise | Design, *, sensitivity: float | None = None, changes: Changes | None = None
) -> Any:
    """One release of a Noise, or the whole use of a Design, as a DpEvent.

    Under REPLACE_ONE the accountant takes twice the sensitivity. A design of which one
    person touches only some draws, or some answers of a draw, is refused there: a replaced person
    may touch twice as many, which is another loss than twice as far. So is one for answers that
    all move the same way, since a replaced person moves some up and others down.

    Args:
        law: A Noise or a Design.
        sensitivity: How far one person, added or removed, moves each answer; that of
            the design, or 1, unless given.
        changes: Of a Noise, which vectors of changes one person can make, in sensitivities; any
            signs unless given. A Design has its own.

    Returns:
        An event for `accountant`, alone or nested in composed ones.

    Raises:
        MissingExtraError: dp-accounting is not installed.
        InvalidParameterError: `law` is something else, or the sensitivity is not positive.
    """
    events = required("dp_accounting.dp_event", "dp-accounting")
    if not isinstance(law, (Noise, Design)):
        raise InvalidParameterError("law", type(law).__name__, "to be a Noise or a Design")
    noise, uses = (law.noise, law.uses) if isinstance(law, Design) else (law, 1)
    content = canonical(noise.describe()).encode("ascii")
    is_partial = isinstance(law, Design) and law.touched < law.blocks
    space = canonical(_changes(law, changes).describe()).encode("ascii")
    event = _classes()[0](content, _sensitivity(law, sensitivity), is_partial, space)
    return event if uses == 1 else events.SelfComposedDpEvent(event, uses)


def accountant(neighboring_relation: Any = None, *, interval: float = INTERVAL) -> Any:
    """A PLDAccountant that also understands our events, alone or nested in composed ones.

    Args:
        neighboring_relation: A NeighboringRelation of dp-accounting; ADD_OR_REMOVE_ONE
            unless given.
        interval: The losses are multiples of it.

    Returns:
        The accountant.

    Raises:
        MissingExtraError: dp-accounting is not installed.
        InvalidParameterError: The relation is not one of theirs, or the interval not positive.
    """
    relation = required("dp_accounting", "dp-accounting").NeighboringRelation
    chosen = relation.ADD_OR_REMOVE_ONE if neighboring_relation is None else neighboring_relation
    # theirs takes the text "REPLACE_ONE" too, and then accounts for something else
    if not isinstance(chosen, relation):
        expected = "to be a NeighboringRelation of dp-accounting"
        raise InvalidParameterError("neighboring_relation", chosen, expected)
    return _classes()[1](chosen, positive("interval", interval))


# To theirs


def _loss_of(
    law: Noise | Design | PrivacyLoss, sensitivity: float | None, changes: Changes | None
) -> PrivacyLoss:
    if isinstance(law, PrivacyLoss):
        for name, given in (("sensitivity", sensitivity), ("changes", changes)):
            if given is not None:
                expected = "to be left out: a PrivacyLoss has it already"
                raise InvalidParameterError(name, given, expected)
        return law
    if isinstance(law, Design):
        use = _sensitivity(law, sensitivity), _changes(law, changes)
        return PrivacyLoss.of(law.noise, *use).compose(law.uses)
    if isinstance(law, Noise):
        return PrivacyLoss.of(law, _sensitivity(law, sensitivity), _changes(law, changes))
    expected = "to be a Noise, a Design or a PrivacyLoss"
    raise InvalidParameterError("law", type(law).__name__, expected)


def _sensitivity(law: Noise | Design, sensitivity: float | None) -> float:
    if sensitivity is None:
        return law.sensitivity if isinstance(law, Design) else 1.0
    return at_least("sensitivity", sensitivity)


def _changes(law: Noise | Design, changes: Changes | None) -> Changes:
    """The space that one draw is judged for."""
    if not isinstance(law, Design):
        return checked_changes(changes, law.dimension)
    if changes is not None:
        raise InvalidParameterError("changes", changes, "to be left out: a Design has its own")
    return law.changes_of(law.noise)


def _pmf(loss: Loss, pitch: float) -> Any:
    """One release on their grid."""
    table = _table(loss, pitch)
    if table.infinite >= 1.0:
        # their composition fails without any finite loss
        return _pmf_module().create_pmf({0: 1e-12}, pitch, 1.0, True)
    raised = table.loss + table.loss_rounding
    lower = np.floor(raised / pitch)
    if float(np.ptp(lower)) > _MOST_POINTS:
        raise UnsupportedError(
            f"The losses spread over {np.ptp(lower):.3g} intervals of {pitch:g}; take a larger "
            "interval."
        )
    part = np.clip(raised - lower * pitch, 0.0, pitch)
    up = -np.expm1(-part) / -math.expm1(-pitch)
    down = np.exp(-part) * -np.expm1(part - pitch) / -math.expm1(-pitch)
    mass = np.exp(table.log_p) * (1.0 + PROFILE_ROUNDING + table.mass_error)
    first = int(lower.min())
    index = (lower - first).astype(np.int64)
    probs = np.zeros(int(index.max()) + 2)
    np.add.at(probs, index, mass * down)
    np.add.at(probs, index + 1, mass * up)
    infinite = min(table.infinite * (1.0 + PROFILE_ROUNDING), 1.0)
    return _pmf_module().DensePLDPmf(pitch, first, probs, infinite, True)


def _table(loss: Loss, pitch: float) -> TableLoss:
    if loss.listed is not None:
        return loss.listed
    if loss.normal_variance is None:
        return loss.table(pitch / _FINER, -loss.largest, loss.largest)
    mu, middle = math.sqrt(loss.normal_variance), 0.5 * loss.normal_variance
    if 2.0 * _REACH * mu / pitch > _MOST_POINTS:
        raise UnsupportedError(
            f"The losses spread over too many intervals of {pitch:g}; take a larger interval."
        )
    # narrow losses need a grid of their own first
    fine = pitch if pitch <= mu / _FINER else mu / (2.0 * _FINER)
    return loss.table(fine, middle - _REACH * mu, middle + _REACH * mu)


# From theirs


def _directions(pld: Any) -> tuple[TableLoss, TableLoss | None]:
    if not isinstance(pld, _pld().PrivacyLossDistribution):
        expected = "to be a PrivacyLossDistribution of dp-accounting"
        raise InvalidParameterError("pld", type(pld).__name__, expected)
    remove = _as_table(pld._pmf_remove)
    return remove, None if pld._symmetric else _as_table(pld._pmf_add)


def _as_table(pmf: Any) -> TableLoss:
    if not pmf._pessimistic_estimate:
        raise UnsupportedError(
            "An optimistic PrivacyLossDistribution promises too much; build it with "
            "pessimistic_estimate=True."
        )
    # a few losses that may be billions of intervals apart
    if isinstance(pmf, _pmf_module().SparsePLDPmf):
        places = np.array(list(pmf._loss_probs), dtype=np.float64)
        probs = np.array(list(pmf._loss_probs.values()), dtype=np.float64)
    else:
        probs = np.asarray(pmf._probs, dtype=np.float64)
        places = np.arange(probs.size, dtype=np.float64) + pmf._lower_loss
    infinite = float(pmf._infinity_mass)
    if not np.all(np.isfinite(probs)) or math.isnan(infinite):
        raise UnsupportedError(
            "The PrivacyLossDistribution holds probabilities that are not numbers."
        )
    loss: NDArray[np.float64] = places * float(pmf._discretization)
    held = probs > 0.0  # FFTs leave entries of −1e-18 and the like
    if not np.any(held):
        return TableLoss(np.zeros(1), np.full(1, -np.inf), infinite=min(infinite, 1.0))
    return TableLoss(loss[held], np.log(probs[held]), infinite=min(max(infinite, 0.0), 1.0))


# Events


@cache
def _classes() -> tuple[Any, Any]:
    """(LeastNoiseDpEvent, LeastNoiseAccountant): subclasses of theirs, made when they
    are first needed."""
    required("dp_accounting", "dp-accounting")
    import attr
    import dp_accounting
    from dp_accounting.pld.pld_privacy_accountant import PLDAccountant

    @attr.s(frozen=True, slots=True, auto_attribs=True)
    class LeastNoiseDpEvent(dp_accounting.DpEvent):
        """One release with a law of leastnoise; `dp_event` makes it.

        The law is JSON in bytes: events must be comparable, and survive
        `to_named_tuple`, which takes text apart into characters.
        """

        law: bytes = attr.ib(repr=_shortened, validator=_checked_law)
        sensitivity: float = attr.ib(default=1.0, converter=_checked_sensitivity)
        # other draws stay untouched
        is_partial: bool = attr.ib(default=False, validator=attr.validators.instance_of(bool))
        # what one person can change, JSON in bytes
        changes: bytes = attr.ib(
            default=_EVERY_CHANGE, repr=_kind_of_changes, validator=_checked_changes
        )

    class LeastNoiseAccountant(PLDAccountant):
        """dp-accounting's PLDAccountant, which also understands LeastNoiseDpEvent
        wherever it is nested."""

        def _maybe_compose(self, event: Any, count: int, do_compose: bool) -> Any:
            if not isinstance(event, LeastNoiseDpEvent):
                return super()._maybe_compose(event, count, do_compose)
            replaced = self.neighboring_relation == dp_accounting.NeighboringRelation.REPLACE_ONE
            try:
                noise = Noise.from_description(json.loads(event.law))
                changes = changes_from(json.loads(event.changes))
                if replaced:
                    _check_replaced(event.is_partial, changes, noise.dimension)
                moved = (2.0 if replaced else 1.0) * event.sensitivity
                loss = PrivacyLoss.of(noise, moved, changes)
            except LeastNoiseError as error:
                return self.CompositionErrorDetails(invalid_event=event, error_message=str(error))
            if do_compose:
                more = to_pld(loss.compose(count), interval=self._value_discretization_interval)
                self._pld: Any = self._pld.compose(more)
            return None

    for made in (LeastNoiseDpEvent, LeastNoiseAccountant):
        made.__qualname__ = made.__name__
    return LeastNoiseDpEvent, LeastNoiseAccountant


def _check_replaced(is_partial: bool, changes: Changes, answers: int) -> None:
    """A replaced person is one removed and one added: twice as far is enough only where the space
    holds the sum of any two of its vectors once it is twice as large."""
    if is_partial or changes.touched_of(answers) < answers:
        raise UnsupportedError(
            "A replaced person may touch other draws or answers than before: design for twice as "
            "many touched answers."
        )
    if changes.is_one_sided:
        raise UnsupportedError(
            "A replaced person moves some answers up and others down: design for changes of any "
            "signs."
        )


def _shortened(law: bytes) -> str:
    return f"<law of {len(law)} bytes>"


def _kind_of_changes(content: bytes) -> str:
    return str(json.loads(content)["kind"])


def _checked_law(event: Any, attribute: Any, content: Any) -> None:
    try:
        Noise.from_description(json.loads(content))
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise InvalidFileError(f"The event does not hold a law: {error}") from None


def _checked_changes(event: Any, attribute: Any, content: Any) -> None:
    try:
        changes_from(json.loads(content))
    except (KeyError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise InvalidFileError(f"The event does not hold a space of changes: {error}") from None


def _checked_sensitivity(value: Any) -> float:
    return at_least("sensitivity", value)


def __getattr__(name: str) -> Any:
    if name in ("LeastNoiseDpEvent", "LeastNoiseAccountant"):
        return _classes()[name == "LeastNoiseAccountant"]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _pld() -> Any:
    return required("dp_accounting.pld.privacy_loss_distribution", "dp-accounting")


def _pmf_module() -> Any:
    return required("dp_accounting.pld.pld_pmf", "dp-accounting")
