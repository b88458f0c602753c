"""How one person's rows are spread over the groups of a view, answer by answer.

A view keeps at most L rows of a person, m of them in one group. A row adds to an answer at most w:
1 to a number of rows, W to a centred sum. So over all groups together the answer moves by at most
L·w, however many groups are touched, which is what `one_view` judges; g draws at m·w each are
g·m/L times as much. Noise for it is drawn on a lattice of its own:

    unit u      every answer is rounded to a multiple of u, and a person moves the rounded ones of
                a group by at most ⌈n·w/u⌉ ≤ n·f units, f = ⌈w/u⌉, with n rows there
    add/remove  Σ|change| ≤ L·f           one group ≤ m·f
    replace     Σ|change| ≤ 2·L·f         one group ≤ ⌈m·(max(0, b) − min(0, a))/u⌉,  [a, b] a row

u is such that L·w is at most about `_FINE` units, or a row one unit, and so ⌈w/f⌉ for a whole f
that the rounding up of w/u hardly shows. The standard deviation of the rounding is then a
thousandth of that of the noise, and the tables of the law stay small.

**One view.** Where each grouping chooses rows by itself, the choices differ and every grouping is
paid for by itself. The one view of a plan chooses once, for all groupings: at most R rows of a
person, at most r of them in one cell of the table of all keys of the plan, other keys included.
All groupings are then marginals of the same rows, so they add up, and any may be measured and the
others put together (`margins`). A cell of a marginal with n_M of the n cells has at most
m = min(R, r·⌊n/n_M⌋) rows of a person. `groups_per_person` plays no part in it: where the rule
holds it would not make L smaller, so that rows would be lost for nothing.

**The rule**, which sees the plan alone: one view if no grouping's own bounds let in fewer rows
than R, that is, if g·m ≥ R for each. A grouping that declares less has less noise by itself, at
the price of rows that it drops, which is what was declared.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from leastnoise.releases.noise.one_view import CountChange, OneView, Spread, serves_all
from leastnoise.releases.noise.sensitivity import (
    COUNTED_ONCE,
    Answer,
    Block,
    contribution_bounds,
    is_checks,
)
from leastnoise.releases.plan.keys import Key
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.statistic import Statistic, Values

_FINE = 200  # units that all rows of a person are worth


def with_spreads(plan: Plan, blocks: Sequence[Block]) -> tuple[Block, ...]:
    """The blocks of groupings that each have a view of their own, with what one person changes over
    all groups where that is less than so many groups at their sensitivity."""
    if plan.person is None:
        return ()
    return tuple(
        block if is_checks(block) or block.spreads else _with_own(plan, block) for block in blocks
    )


def _with_own(plan: Plan, block: Block) -> Block:
    if any(sigma is not None for sigma in block.sigmas):
        return block
    limit = contribution_bounds(plan, block.group_by)
    rows = min(limit.rows, limit.rows_in_group * limit.groups)
    pairs = zip(block.answers, block.sensitivities, strict=True)
    spreads = tuple(
        _less(block, rows_spread(plan, answer, rows, most, block.touched)) for answer, most in pairs
    )
    return replace(block, spreads=spreads) if any(spreads) else block


def _less(block: Block, spread: Spread | None) -> Spread | None:
    """The spread, where it says more than that so many groups move by their sensitivity."""
    if spread is None or spread.change.total >= spread.change.largest * block.touched:
        return None
    return spread


def rows_spread(plan: Plan, answer: Answer, rows: int, most: int, touched: int) -> Spread | None:
    """What one person with so many rows changes in an answer over all groups, none of which moves
    by more than `most`; None where persons or values are counted, each once."""
    if answer.measure in COUNTED_ONCE:
        return None
    worth = max(abs(bound) for bound in answer.row_range)
    a_row = max(1, math.floor(_FINE * min(1.0, plan.epsilon) / rows))
    unit = -(-worth // a_row)
    twice = 1 if plan.relation == "add/remove" else 2
    total = twice * rows * -(-worth // unit)
    largest = min(-(-most // unit), total)
    return Spread(unit, CountChange(min(total, largest * touched), largest, touched))


# The one view


def view_keys(plan: Plan) -> tuple[Key, ...]:
    """The keys of its table: all that the plan declares."""
    return tuple(dict.fromkeys(key for one in _of_the_view(plan) for key in one.group_by))


def view_values(plan: Plan) -> tuple[Values, ...]:
    """The columns of numbers that rows of one person are told apart by."""
    found = (one.values for one in _of_the_view(plan))
    return tuple(dict.fromkeys(one for one in found if one is not None))


def one_view(plan: Plan) -> OneView | None:
    """The bounds of the one view of a plan; None where groupings have views of their own."""
    statistics = _of_the_view(plan)
    if plan.person is None or not statistics or not all(map(_may_share_rows, statistics)):
        return None
    if not set(plan.complete_keys) <= set(view_keys(plan)):  # a tree's own say which rows count
        return None
    groupings = dict.fromkeys(one.group_by for one in statistics if one.kind not in COUNTED_ONCE)
    limits = [contribution_bounds(plan, grouping) for grouping in groupings]
    rows = int(plan.rows_per_person or 1)
    if not serves_all(rows, [(limit.groups, limit.rows_in_group) for limit in limits]):
        return None
    return OneView(rows, rows, min(rows, int(plan.rows_per_group or rows)))


def _of_the_view(plan: Plan) -> list[Statistic]:
    """The statistics that one view may serve: trees of counts have views of their own."""
    return [one for one in plan.statistics if one.kind != "quantile"]


def _may_share_rows(statistic: Statistic) -> bool:
    """Whether a statistic is of all rows, by keys of which each is a column's own."""
    is_nested = any(key.within is not None for key in statistic.group_by)
    return statistic.sigma is None and not statistic.where and not is_nested


def view_spread(plan: Plan, view: OneView, answer: Answer, cells: int) -> tuple[int, Spread | None]:
    """By how much one person moves an answer of a marginal of the one view, in one cell at most,
    and over all of its `cells`."""
    every = math.prod(len(key.labels) + 1 for key in view_keys(plan))
    change = view.change("add/remove", max(every, cells), cells)
    low, high = answer.row_range
    a, b = min(0, low), max(0, high)
    is_replaced = plan.relation == "replace"
    most = change.largest * (b - a if is_replaced else max(-a, b))
    touched = min(2 * change.touched, cells) if is_replaced else change.touched
    return most, rows_spread(plan, answer, change.total, most, touched)
