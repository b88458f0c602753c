"""Names and types of a table's columns, which are public, against what a plan needs of them."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from leastnoise.errors import PlanError
from leastnoise.releases.plan.keys import Key
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.source import MOST_TEXT
from leastnoise.text.characters import shown


def check_columns(plan: Plan, types: dict[str, Any], is_lines: bool) -> None:
    """A PlanError where a column is not there, or of a type that cannot be what it is declared to
    be. `is_lines`: the names are the first line of a file, which may have no header."""
    for name in plan.columns:
        if name not in types:
            raise PlanError(
                f"The table has no column {name!r}{_instead(name, sorted(types), is_lines)}."
            )
    if plan.person is not None:
        _check_person(plan.person, types[plan.person])
    for statistic in plan.statistics:
        for key in (one.own for wanted in statistic.group_by for one in wanted.path):
            _check_key(key, types[key.column])
        if statistic.column is not None:
            _check_number(statistic.column, types[statistic.column])


def _check_person(name: str, kind: Any) -> None:
    if not (kind.is_string() or kind.is_integer() or kind.is_uuid()):
        raise PlanError(
            f"The person ids in {name!r} are of type {_type_name(kind)}: they must be text, "
            "integers or UUIDs, of which two are the same only if every byte is."
        )


def _instead(name: str, names: Sequence[str], is_lines: bool) -> str:
    """The columns that there are; of a file of lines those like `name` alone: without a header its
    first line holds a person's values."""
    if not is_lines:
        return "; it has " + ", ".join(shown(column)[:MOST_TEXT] for column in names[:20])
    alike = {column.strip().casefold(): column for column in names}
    near = get_close_matches(name.strip().casefold(), alike, n=3, cutoff=0.8)
    like = ", and none is like it"
    if near:
        like = ", like it: " + ", ".join(f"'{shown(alike[one])}'" for one in near)
    other = next((mark for mark in ";\t|" if len(names) == 1 and mark in names[0]), None)
    parted = ""
    if other is not None:
        parted = f"delimiter = {other!r} if that is what stands between two fields, or "
    return (
        f"; its first line names {len(names)}{like}. Declare {parted}columns = [names] if it "
        "has no header"
    )


def _check_key(key: Key, kind: Any) -> None:
    """A PlanError where a declared key could never be found in a column of this type."""
    if key.edges:
        _check_number(key.column, kind)
        return
    if kind.is_string():
        return
    type_name = _type_name(kind)
    if kind.is_integer():
        fits = all(_is_whole(label) for label in key.labels) and not key.truths
        wanted = "whole numbers"
    elif kind.is_boolean():
        fits = all(label in ("true", "false", "0", "1") for label in key.labels)
        wanted = "true and false"
    elif kind.is_floating() or kind.is_decimal():
        fits, wanted = len(key.numbers) == len(key.values), "numbers, without quotes"
    else:
        raise PlanError(
            f"The keys in {key.column!r} are of type {type_name}: they must be text, numbers or "
            "truth values; for other columns declare edges, or make a view with text."
        )
    if not fits:
        raise PlanError(
            f"The keys in {key.column!r} are of type {type_name}, so a row never has the declared "
            f"keys {list(key.values)!r}: declare {wanted}."
        )


def _is_whole(label: str) -> bool:
    return label.removeprefix("-").isdecimal() and str(int(label)) == label


def _check_number(name: str, kind: Any) -> None:
    if not (kind.is_numeric() or kind.is_boolean() or kind.is_string()):
        raise PlanError(
            f"The column {name!r} is of type {_type_name(kind)}: a statistic of it needs numbers."
        )


def _type_name(kind: Any) -> str:
    """The type as its engine calls it, where ibis has no name for it."""
    has_own = kind.is_unknown() and kind.raw_type is not None
    return str(kind.raw_type if has_own else kind)
