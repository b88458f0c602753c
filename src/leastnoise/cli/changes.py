"""What one person can change: the options that say it, and the words that say it back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from leastnoise.cli.messages import refused
from leastnoise.cli.options import number, options

if TYPE_CHECKING:
    from leastnoise.changes import Changes

BOX, ONE_SIDED = "box", "one-sided"
ADD_OR_REMOVE = "add/remove"
_SIGNS = (
    "How one person moves the answers of a batch. box: each up or down. one-sided: all up or all "
    "down, as counts when a person is added or removed; not for persons who are replaced"
)
_LENGTH = (
    "Instead: the length of the vector of all changes is at most so many sensitivities (a "
    "Euclidean norm)."
)
_TOUCHED = "How many answers of a batch one person can change, if not all."


def _space_options(otherwise: str) -> Callable[..., Any]:
    return options(
        click.option("--changes", type=click.Choice([BOX, ONE_SIDED]), help=f"{_SIGNS}{otherwise}"),
        number("--radius", _LENGTH),
        number("--touched", _TOUCHED, type=int),
    )


space_options = _space_options(". [default: box]")
unequal_options = options(
    click.option(
        "--ranges",
        metavar="FROM:TO,…",
        help="With --changes one-sided: by how much a person who is added moves each answer, in "
        "sensitivities, such as 0:1,-0.5:1 for two answers.",
    ),
    click.option(
        "--weights",
        metavar="NUMBERS",
        help="How much the squared error of each answer matters, in sensitivities, such as 1,1,4.",
    ),
)
space_of_a_law = _space_options("; by default what an artefact states, else box.")


def stated_changes(
    changes: str | None, radius: float | None, touched: int | None, answers: int
) -> Changes | None:
    """The space that the options of `space_options` state for a batch of so many answers; None
    where none of them is given."""
    from leastnoise.changes import Box, Euclidean, OneSided

    _check_touched(touched, answers)
    if answers == 1 and changes == ONE_SIDED:
        expected = "to come with --batch: one answer moves one way, up or down"
        raise refused("--changes", changes, expected)
    if radius is not None:
        _check_radius(radius, changes, touched, answers)
        return Euclidean(radius)
    if changes == ONE_SIDED:
        return OneSided(touched)
    return None if changes is None and touched is None else Box(touched)


def with_ranges(space: Changes | None, ranges: str | None, answers: int) -> Changes | None:
    """The same space with the ranges that --ranges states."""
    from leastnoise.changes import OneSided

    if ranges is None:
        return space
    if not isinstance(space, OneSided):
        raise refused("--ranges", ranges, f"to come with --changes {ONE_SIDED}")
    expected = "to be one pair FROM:TO for each answer, such as 0:1,-0.5:1"
    pairs = [each.split(":") for each in ranges.split(",")]
    if any(len(pair) != 2 for pair in pairs) or len(pairs) != answers:
        raise refused("--ranges", ranges, expected)
    found = [_numbers("--ranges", ranges, pair, expected) for pair in pairs]
    return OneSided(space.touched, tuple((low, high) for low, high in found))


def stated_weights(weights: str | None) -> list[float] | None:
    """The numbers of --weights."""
    if weights is None:
        return None
    expected = "to be one number for each answer, such as 1,1,4"
    return _numbers("--weights", weights, weights.split(","), expected)


def _numbers(name: str, value: str, parts: Sequence[str], expected: str) -> list[float]:
    try:
        return [float(part) for part in parts]
    except ValueError:
        raise refused(name, value, expected) from None


def _check_touched(touched: int | None, answers: int) -> None:
    """How many answers of a batch one person can change is at most all of them, and says nothing of
    single answers."""
    if touched is not None and answers == 1:
        expected = "to come with --batch, how many answers there are to change"
        raise refused("--touched", touched, expected)
    if touched is not None and touched > answers:
        raise refused("--touched", touched, f"to be at most --batch {answers}")


def _check_radius(radius: float, changes: str | None, touched: int | None, answers: int) -> None:
    """A length stands for the whole space."""
    if answers == 1:
        expected = "to come with --batch: how far one answer moves is its --sensitivity"
        raise refused("--radius", radius, expected)
    for name, value in (("--changes", changes), ("--touched", touched)):
        if value is not None:
            raise refused("--radius", radius, f"to stand without {name}, or that without it")


def check_fitted(radius: float | None, changes: str | None, objective: str) -> None:
    """The Rényi program is for the box alone."""
    if objective == "renyi" and (radius is not None or changes == ONE_SIDED):
        beside = "--radius" if radius is not None else "--changes one-sided"
        raise refused("--objective", objective, f"to be tight with {beside}")


def condition(changes: Changes, answers: int) -> str:
    """What a guarantee holds under; "" for the whole box, which is no condition."""
    from leastnoise.changes import BOX as EVERY_CHANGE

    return "" if changes == EVERY_CHANGE else changes.condition(answers)


def with_relation(unit: Mapping[str, str], changes: Changes) -> dict[str, str]:
    """Whom a release protects, with the relation that its changes are for: those that are all up or
    all down settle it."""
    if not changes.is_one_sided:
        return dict(unit)
    if unit["relation"] not in ("", ADD_OR_REMOVE):
        expected = (
            f"to be {ADD_OR_REMOVE}: the artefact is for answers that all move the same way, and "
            "a person who is replaced moves some up and others down"
        )
        raise refused("--relation", unit["relation"], expected)
    return {**unit, "relation": ADD_OR_REMOVE}
