"""What tells whether keys, numbers and bounds were meant as they are declared: the checks of a
release, and what they are called."""

from __future__ import annotations

from dataclasses import dataclass, replace

from leastnoise.releases.estimates.reconstructed import numbers
from leastnoise.releases.noise.mechanism import Mechanism
from leastnoise.releases.noise.sensitivity import (
    Answer,
    Block,
    contribution_bounds,
    is_checks,
    leaves_out,
)
from leastnoise.releases.plan.formula import shortened, written
from leastnoise.releases.plan.keys import OTHER, Key, hidden_shown
from leastnoise.releases.plan.plan import Plan

COUNTED = {
    "other keys": "persons with other keys",
    "unreadable": "persons with an unreadable value",
    "clipped": "persons with a clipped value",
    "left out": "persons with rows left out",
}


@dataclass(frozen=True)
class NamedCheck:
    """One entry that is a check, its name, and of what it is."""

    entry: int
    statistic: str
    kind: str
    group: str
    of: Answer
    keys: tuple[tuple[str, str], ...] = ()


def checks(plan: Plan, made: Mechanism) -> list[NamedCheck]:
    """The checks of a release."""
    found: list[NamedCheck] = []
    for i, entry in enumerate(made.entries):
        block, answer = made.blocks[entry.block], entry.answer
        if is_checks(block) and answer.measure != "other keys":
            name, subject = COUNTED[answer.measure], _subject(plan, block, answer)
            found.append(NamedCheck(i, name, answer.measure, subject, answer))
        elif is_checks(block):
            found.append(_other_keys(i, COUNTED["other keys"], answer, found))
        elif entry.group == len(block.groups):
            of = replace(answer, group_by=_outside(block))
            found.append(_other_keys(i, _cell_name(plan, block, answer), of, found))
    for t, column, place in numbers(made).hidden():
        key = made.tables[t].keys[column]
        shown = _hidden_shown(made, t, column, place)
        if len(shown) == 1:
            of = Answer("rows", group_by=(key,))
            found.append(_other_keys(place, "rows with other keys", of, found))
            continue
        # A part of those with other keys, so no number that a total tells: persons, who are rows.
        of = Answer("persons", group_by=(key,), column=", ".join(title for _, title in shown[:-1]))
        named = ", ".join([*(f"{name} = {title}" for name, title in shown[:-1]), key.column])
        found.append(
            NamedCheck(place, "rows with other keys", "other keys", named, of, tuple(shown))
        )
    return found


def _hidden_shown(made: Mechanism, t: int, column: int, place: int) -> tuple[tuple[str, str], ...]:
    """A hidden cell as its columns with what is shown there."""
    table, of_tables = made.tables[t], numbers(made)
    key = table.keys[column]
    (cell,) = of_tables.of(place)[1]
    listed = hidden_shown(key, table.about.hidden, table.about.within)
    return listed[cell - len(key.labels)]


def _outside(block: Block) -> tuple[Key, ...]:
    """The columns in which a row of the cell of other keys has a key that is not declared."""
    return block.group_by if block.marginal is None else block.marginal.within


def _other_keys(entry: int, name: str, of: Answer, before: list[NamedCheck]) -> NamedCheck:
    """The check of a grouping's other keys; of several with the same columns, by their number."""
    columns = _columns(of) + _where(of)
    others = [one.of for one in before if one.kind == "other keys"]
    again = sum(_columns(one) + _where(one) == columns for one in others)
    named = f"{columns} ({again + 1})" if again else columns
    keys = tuple((key.column, OTHER) for key in of.group_by)
    return NamedCheck(entry, name, "other keys", named, of, keys)


def _cell_name(plan: Plan, block: Block, answer: Answer) -> str:
    """What a cell of other keys counts. A free one has those who have room for another group, the
    declared ones first."""
    if answer.measure == "rows":
        return "rows with other keys"
    most = contribution_bounds(plan, block.group_by).groups
    room = "no declared group" if most == 1 else f"fewer than {most} declared groups"
    return f"{COUNTED['other keys']} in {room}"


def _columns(answer: Answer) -> str:
    return ", ".join(key.column for key in answer.group_by)


def _where(answer: Answer) -> str:
    return "" if answer.where is None else shortened(f" where {written(answer.where)}")


def _subject(plan: Plan, block: Block, answer: Answer) -> str:
    """What a check that counts persons is of."""
    if answer.measure == "left out":
        return _too_much(plan, answer) + _where(answer)
    values, kind = answer.values, (answer.measure, answer.column)
    alike = sum((other.measure, other.column) == kind for other in block.answers)
    if values is None or alike == 1:
        return answer.column
    return f"{answer.column} in [{values.lower:g}, {values.upper:g}]"


def _too_much(plan: Plan, answer: Answer) -> str:
    """What a person has where a bound leaves rows of theirs out."""
    limit = contribution_bounds(plan, answer.group_by)
    if not answer.group_by:
        return _more_than(limit.rows, "row")
    if answer.in_view:
        return f"{_more_than(int(plan.rows_per_group or 1), 'row')} in a cell of {_columns(answer)}"
    many, long = leaves_out(plan, answer.group_by)
    groups = f"{_more_than(limit.groups, 'group')} of {_columns(answer)}"
    rows = _more_than(limit.rows_in_group, "row")
    if not many:
        return f"{rows} in a group of {_columns(answer)}"
    return f"{groups}, or {rows} in one" if long else groups


def _more_than(number: int, what: str) -> str:
    return f"more than {number} {what}" + ("s" if number > 1 else "")
