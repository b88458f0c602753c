"""Names and types of a table's columns, which are public, against what a plan needs of them."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from leastnoise.errors import PlanError
from leastnoise.releases.plan.formula import Name, condition, names_of, typed
from leastnoise.releases.plan.keys import Key
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.source import MOST_TEXT
from leastnoise.text.characters import shown


def check_columns(plan: Plan, types: dict[str, Any], is_lines: bool) -> None:
    """A PlanError where a column is not there, or of a type that cannot be what it is declared to
    be. `is_lines`: the names are the first line of a file, which may have no header."""
    for name in plan.columns_read:
        if name not in types:
            raise PlanError(
                f"The table has no column {name!r}{_instead(name, sorted(types), is_lines)}."
            )
    taken = list(types)
    for name in plan.derive:
        check_new(f"[derive] {name}", name, taken)
        taken.append(name)
    for one in _readings(plan):
        if one.column in types:
            _check_reading(one, types[one.column])
    if plan.person is not None:
        _check_person(plan.person, types[plan.person])
    for statistic in plan.statistics:
        _check_keys(plan, statistic.group_by, types)
        if statistic.kind == "distinct":
            _check_told_apart(plan, str(statistic.column), types)
        elif statistic.column is not None:
            _check_values(plan, statistic.column, types)


def check_new(what: str, name: str, taken: Sequence[str]) -> None:
    """A PlanError where a computed column has the name of another one. Engines do not all tell
    capitals apart: DuckDB would read the table's column in its place."""
    for other in taken:
        if other.casefold() == name.casefold():
            but = "" if other == name else f" {other!r}, but for capitals"
            raise PlanError(f"{what} is a column of the table{but}: give it another name.")


def _check_keys(plan: Plan, group_by: Sequence[Key], types: dict[str, Any]) -> None:
    """A PlanError where a declared key could never be found in its column."""
    for key in (one.own for wanted in group_by for one in wanted.path):
        if key.discover:
            _check_told_apart(plan, key.column, types, are_keys=True)
            if key.match != "exact" and not _is_text(plan, key.column, types):
                raise PlanError(
                    f"match = {key.match!r} is for text: {key.column!r} is of another type."
                )
        elif key.column in plan.derive:
            _check_derived_key(key, plan.kinds[key.column])
        else:
            _check_key(key, types[key.column])


def _check_values(plan: Plan, name: str, types: dict[str, Any]) -> None:
    """A PlanError where a column that a statistic is of holds no numbers."""
    if name not in plan.derive:
        _check_number(name, types[name])
    elif plan.kinds[name] not in ("number", "truth"):
        raise PlanError(
            f"[derive] {name} is a {plan.kinds[name]}: a statistic of it needs numbers."
        )


def _check_told_apart(
    plan: Plan, name: str, types: dict[str, Any], *, are_keys: bool = False
) -> None:
    """A PlanError where engines might disagree whether two values of a column are the same, or,
    of keys, how they are written."""
    if name in plan.derive:
        fits, kind = plan.kinds[name] in ("text", "truth"), str(plan.kinds[name])
        is_day = plan.kinds[name] == "date"
    else:
        one = types[name]
        fits, kind = one.is_string() or one.is_integer() or one.is_boolean(), _type_name(one)
        is_day = one.is_date()
    if is_day and are_keys:
        raise PlanError(
            f"The keys of {name!r} are days, which need not be discovered: declare {{by = "
            '"month", from = a day, to = a day}.'
        )
    if not (fits or is_day):
        kinds = (
            "whole numbers and truth values" if are_keys else "whole numbers, truth values and days"
        )
        raise PlanError(
            f"The column {name!r} is of type {kind}: only of text, {kinds} all engines agree which "
            "values are the same. Derive such a column from it."
        )


def _is_text(plan: Plan, name: str, types: dict[str, Any]) -> bool:
    return plan.kinds[name] == "text" if name in plan.derive else bool(types[name].is_string())


def _readings(plan: Plan) -> tuple[Name, ...]:
    """The columns of all formulas, each with the kind that it is read as."""
    derived = [typed(one, plan.kinds, f"[derive] {name}")[0] for name, one in plan.formulas.items()]
    conditions = [condition(one, plan.kinds, "where") for one in plan.conditions]
    trees = (*derived, *conditions)
    return tuple(dict.fromkeys(name for tree in trees for name in names_of(tree)))


def _check_reading(name: Name, kind: Any) -> None:
    """A PlanError where a column of this type cannot be read as the kind that a formula needs."""
    fits = {
        "number": kind.is_numeric() or kind.is_boolean() or kind.is_string(),
        "text": kind.is_string(),
        "truth": kind.is_boolean() or kind.is_string() or kind.is_integer(),
        "date": kind.is_date() or kind.is_timestamp() or kind.is_string(),
        "time": kind.is_timestamp() or kind.is_string(),
        "any": True,
    }
    if not fits[str(name.kind)]:
        raise PlanError(
            f"The column {name.column!r} is of type {_type_name(kind)}, and a formula of the plan "
            f"uses it as a {name.kind}: compare it with values of its own type."
        )


def _check_derived_key(key: Key, kind: str) -> None:
    fits = {
        "number": key.is_binned or len(key.numbers) == len(key.values),
        "truth": len(key.truths) == len(key.values) and not key.is_binned,
        "text": len(key.texts) == len(key.values) and not key.is_binned,
    }
    if key.is_of_days or not fits.get(kind, False):
        raise PlanError(
            f"The keys of [derive] {key.column} are not of its kind, {kind}: declare such keys."
        )


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
    if key.is_of_days:
        _check_reading(Name(key.column, "date"), kind)
        return
    if key.is_binned:
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
