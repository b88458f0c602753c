"""The one view of a plan as tables with margins: what `margins` searches where persons have several
rows.

Every number of rows and every sum of every grouping is a number of a table then, also one that a
single grouping asks for: a mean must divide sums and numbers of the same rows. `persons` does not
add up over cells, so a grouping that asks for it keeps a view of its own for that.

A table's noise is in parts of what one person can move its total by. Rows that are outside of a
table have no cell: who has a key that is not declared is counted among the checks, where the
hidden cells of a table do not tell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from leastnoise.releases.noise.one_view import OneView
from leastnoise.releases.noise.sensitivity import (
    COUNTED_ONCE,
    EITHER_WAY,
    Answer,
    Block,
    MeasuredMarginal,
    View,
    checks_block,
    is_checks,
    left_out_of,
)
from leastnoise.releases.noise.spreads import one_view, view_keys, view_spread
from leastnoise.releases.plan.keys import Key
from leastnoise.releases.plan.plan import Plan

Grouping = tuple[Key, ...]
_Table = TypeVar("_Table")


def tables(
    plan: Plan,
    asked: Sequence[Block],
    made: Callable[[dict[Grouping, float], tuple[Answer, ...]], _Table],
) -> list[_Table]:
    """The tables of the one view of a plan, each made from the groupings that publish it, with
    their weights, and its answers; none where groupings have views of their own."""
    if one_view(plan) is None:
        return []
    published: dict[Answer, dict[Grouping, float]] = {}
    for block in asked:
        if not is_checks(block):
            for answer, weight in zip(block.answers, block.weights, strict=True):
                if answer.measure not in COUNTED_ONCE:
                    published.setdefault(answer, {})[block.group_by] = weight
    if len({frozenset(grouping) for each in published.values() for grouping in each}) < 2:
        return []  # one grouping has one view anyway
    together: dict[tuple[tuple[Grouping, float], ...], list[Answer]] = {}
    for answer, groupings in published.items():
        together.setdefault(tuple(groupings.items()), []).append(answer)
    return [made(dict(named), tuple(own)) for named, own in together.items()]


def measured(plan: Plan, keys: Grouping, about: MeasuredMarginal, like: Block) -> Block | None:
    """A marginal of a table of the one view, with the answers of `like`: one person moves them by
    no more than `spreads` over all cells."""
    view = one_view(plan)
    if view is None:
        return None
    block = Block(
        keys,
        like.answers,
        tuple(_of_total(plan, view, answer) for answer in like.answers),
        like.weights,
        (None,) * len(like.answers),
        1,
        ranges=(EITHER_WAY,) * (len(like.answers) + 1),
        marginal=replace(about, in_view=True),
    )
    cells = len(block.groups)
    spreads = tuple(view_spread(plan, view, answer, cells)[1] for answer in like.answers)
    touched = max((one.change.touched for one in spreads if one is not None), default=1)
    return replace(block, spreads=spreads, touched=touched)


def _of_total(plan: Plan, view: OneView, answer: Answer) -> int:
    """By how much one person moves an answer of the table without columns: the most of all."""
    return view_spread(plan, view, answer, 1)[0]


def in_the_view(
    plan: Plan, asked: Sequence[Block], separate: Mapping[tuple[Grouping, Answer], float]
) -> dict[tuple[Grouping, Answer], float]:
    """The noise of each grouping by itself, in sensitivities of its answer in the one view."""
    view, found = one_view(plan), dict(separate)
    for block in asked if view is not None else ():
        for answer, most in zip(block.answers, block.sensitivities, strict=True):
            if view is not None and not is_checks(block) and answer.measure not in COUNTED_ONCE:
                key = (block.group_by, answer)
                found[key] = separate[key] * (most / _of_total(plan, view, answer))
    return found


def checks(plan: Plan, kept: Sequence[Block], not_told: Sequence[View]) -> list[Block]:
    """The block of the checks beside tables of the one view."""
    views = [(block.group_by, block.where) for block in kept if block.group_by]
    bounded = left_out_of(plan, [((), None), *views])
    view = one_view(plan)
    if view is not None and view.rows_in_cell < view.rows:
        bounded.append(Answer("left out", group_by=view_keys(plan), in_view=True))
    return checks_block(plan, not_told, bounded)
