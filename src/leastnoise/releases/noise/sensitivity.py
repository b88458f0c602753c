"""What one person can change: the only place where sensitivities are derived, with the argument
beside each case.

**Answers.** A statistic is built from *answers*: integers that the engine counts or sums over the
rows of a *view*, the table after contribution bounding for one grouping. Row by row an answer adds

    rows      1
    persons   counts each person once
    present   1 if the value is there, else 0
    sum       k, the value's place ⌊x/pitch + ½⌋
    centred   2k − (k_lower + k_upper), in half pitches, within ± W       W = k_upper − k_lower
    square    2·centred² − W², in eighths of a squared pitch, within ± W²
    node      1 to the node of a tree, on one of its levels, that holds the value's place
    distinct  counts each value of a column once, whoever has it

Centring makes ranges symmetric, which halves what a person who comes or goes can add; the mean and
the variance get it back from the number of values (see `estimate`). So does a sum whose number of
values is asked for as well: with bounds [L, U] and noise of σ sensitivities on each answer, a sum
of its own has noise max(|L|, |U|)·σ; from the centred sum and the number it has √((L² + U²)/2)·σ,
which is never more, and where a mean is asked for too one answer less shares the budget.

**Bounds.** In a view a person has at most m rows in one group, and rows in at most g groups:

    one row is one person     m = 1                      g = 1
    person ids, no group_by   m = rows_per_person        g = 1
    person ids, group_by      m = min(rows_per_group, rows_per_person)
                              g = min(groups_per_person, rows_per_person, all groups)

These hold for every table, because the engine keeps no more rows than that, and the choice of a
person's rows depends on that person's rows (and the salt) alone. So two neighbouring tables differ
in the kept rows of one person only.

**One answer.** Let each row add an integer in [a, b]. One person adds to the answer of one group a
number in C = [min(0, m·a), max(0, m·b)]; 0 belongs to C because the person may have no row there.
With one row per person, no grouping and no dropped rows the person has one row, so C = [a, b]; not
where the keys of some column are complete, for a row with another key counts nowhere, and not where
a condition (`where`, of the plan or of the statistic) may not hold for it.

**Conditions.** Whether a row has a condition is decided by that row alone (`plan.formula`), so the
rows of a view are a part of each person's rows that no other person's rows have a say in, and every
bound holds for that part as it does for the whole. Statistics with different conditions are
different views, bounded separately, as different groupings are.

    add/remove   the answer moves by an element of C:                     sensitivity max |C|
    replace      it moves by the difference of two elements of C:         sensitivity max C − min C
    persons      C = [0, 1], whatever m
    distinct     C = [0, m], see below

A sensitivity of 0 (the number of rows when one row is one person and rows are replaced) means that
the number is public already; the plan must then state it.

**All answers together.** Different views bound the same person separately; the bounds hold at the
same time, so the vectors add up block by block. In a block (a view) with p answers for each group a
person moves the p answers of at most

    add/remove   g groups
    replace      min(2g, all groups): g groups they leave and g they enter

and no others. Each answer is divided by its own sensitivity, so that every |change| ≤ 1, whatever
its unit. Four ways to add noise are valid, and `mechanism` takes the one of least noise:

    joint      one draw for all d answers: the change is a vector in the cube [−1, 1]^d, which is
               what a joint law is judged for; or in a part of it, see below.
    by group   one draw of a joint law for the p answers of each group. Draws for groups that the
               person does not touch have the same law in both tables, so the loss is that of at
               most (touched groups) draws: those dominating pairs are composed.
    product    one draw for each answer: at most Σ (touched groups)·p draws see any change, by the
               same argument.

    spread     one draw for each answer, of which a person moves all together by L·w at most, with
               L = min(R, g·m) rows of at most w each: `spreads` says by how much, `one_view` which
               of these changes is the worst and for which laws. The cell of other keys is not free
               here: who has L rows in declared groups may be counted there too, so it is a check.

Where the bounds of no grouping let in fewer than R rows, one choice of rows may serve all of them
(`spreads`, `view_tables`). The blocks are then marginals of these rows and have the bounds above.

**Distinct values.** Of each person at most m different values of a column count in a group, chosen
by digest from that person's values alone, in a view of their own in which a person has one row for
each different value. The answer is the size of a union: |O ∪ A| of the values A of one person and
those O of all others. It is no sum over persons, but |O ∪ A| − |O| = |A ∖ O| is in [0, |A|], so a
person who comes adds an element of C = [0, m]; 0 where others have all of these values. And with
replace |O ∪ A| − |O ∪ B| is in [−|B|, |A|], so the sensitivity is max C − min C = m, as for a sum.
What was said of one answer therefore holds, and so does all that follows from it. It is not spread
over groups, and no marginal: the values of two groups may be the same.

**Keys that are not known.** Of a column whose keys are to be discovered every text has a group, as
if all texts were declared: one person counts in at most g = min(groups_per_person, rows_per_person)
of them, chosen by digest from that person's rows alone, and is 1 person in each. Each number gets
its own draw of one law of whole numbers up to N, and is shown, with its key, if it is more than N;
a group without persons never is, so it need not be drawn. That is a function of the noisy numbers
of *all* texts, so the loss is that of the draws that see the person: g, or 2g with replace
(docs/mathematics.md#keys-that-are-not-known). What is asked beside by these keys is asked of the
keys that are shown as if they were declared, after they are known: for each set of keys it has the
sensitivities above, with a number of groups that bounds nothing, so the losses compose as those of
one release after the other do. Persons with a key that is not shown, or without one, are a check.

**Ranges.** With add/remove a person who comes adds to every answer an element of its C, and one who
goes takes it away: the vector of changes is in ∏ C, or in its mirror −∏ C, the sign being the same
for all answers. In sensitivities the range of an answer is C/max |C|, its ends rounded outwards:

    numbers of rows, persons, values     [0, 1]; [1, 1] of rows where everybody has one row
    sums of values in [a, b]             [a, b]/max(|a|, |b|) where everybody has one row and a
                                         value, else with 0 in it
    centred sums, squares                [−1, 1]

The noise of a draw is fitted to the ranges of its answers (`changes_of`): where none is below 0
they all move up or all down, and where some are a hidden count or a common part still gains
(docs/mathematics.md#unequal-ranges). 0 is in C wherever a person may be without a row in the group,
a row without the value, or a row with a key beside the complete ones, which counts nowhere: a lower
end above 0 is for views of which no row is left out, and for these alone.

Everything moves either way when a person is replaced: those draws are for the whole cube. Knowing
the number of rows does not help: it would make the neighbours those with as many rows, that is,
replaced persons; so a plan of added or removed persons that declares a public number of values is
refused. Of one draw for all d answers a person moves at most those of the groups they touch,
Σ (touched groups)·p. Counts that are to add up (`"totals"`) are combined as uncorrelated, so their
noise is for the cube; the answers of a cell of a table with margins are combined as equally
correlated, so theirs is for ranges that are all alike (`plainly`).

For *replace* with groups this is cautious: a sum moves by max C − min C only in a group that the
person both leaves and enters, and then fewer groups are touched.

**All other keys.** Every grouping has one group more, of the rows whose key is not declared. Its
one answer is the number of persons in it, of sensitivity 1. With one row a person that is the
number of rows. Only counts that are to add up to a total (`"totals"`) need its rows where a person
has several; they have the sensitivity that they have in a declared group. A person with rows in it
and in declared groups keeps the declared ones first: it is one of their g groups, or it is dropped.
So the answers of the declared groups are what they would be without it, and a person still touches
at most

    add/remove   g groups       replace   min(2g, all groups + 1)

of all groups together. Rows of it that are more than m change nothing where persons are counted, so
those are not bounded. Where no more groups are touched than before (`other_is_free`) the cell costs
nothing if noise is drawn by group or for each answer: at most g draws see a change, and that of the
other keys has fewer answers than those of a declared group. Else it is one of the *checks*.

**Trees of counts.** The quantiles of a column come from a tree over the places of its lattice, of
which every level is a block of its own: the rows of the view by group and node (`tables.
count_trees`). All levels are of the same rows, those that the view of the grouping keeps; a row
without a value is in no node. A row is in one node of each level, so on each level a person moves,
with L = min(R, g·m) rows in the view,

    add/remove   Σ|change| ≤ L      one node ≤ m      at most min(L, nodes·g) nodes
    replace      Σ|change| ≤ 2L     one node ≤ m      twice as many, or all

A node of one group has at most as many rows of a person as the group, m; replaced, a node moves by
the difference of two numbers in [0, m]. With one row a person that is one node by 1, two where
persons are replaced. On several levels at once these bounds hold together, so the levels are
composed. Each node has noise of its own, which is judged for the most concentrated change, and
where m > 1 must be log-concave for that (`one_view`). Nodes without rows, and those that only fill
up the tree, have noise like all others. Trees have no cell of other keys: where no other statistic
of the grouping has one, those are a check.

**Checks** are what tells whether keys, numbers and bounds were meant as they are declared: how many
persons

    unreadable   have a value in a column that is there and is no number
    other keys   have a row whose key is not declared, for a grouping whose cell is not free
    clipped      have a value in a column that is beyond its bounds
    left out     have more rows than count, or are in more groups of a grouping than count, or have
                 more rows in one of them

Each person is counted under one of these only, whatever the number of columns and groupings: under
an unreadable value if there is one, else under other keys, else under one of the rest; among
several that are alike a digest chooses. So one cell changes by one (replace: two cells, one they
leave and one they enter). Checks have noise of their own, for a small share of ε. Where one row is
one person, and where counts are to add up, other keys that are not free are counted all, apart from
these: a cell each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Literal

from leastnoise.changes import Box, Changes, OneSided
from leastnoise.errors import PlanError
from leastnoise.releases.noise.one_view import CountChange, Spread
from leastnoise.releases.noise.tree_levels import TreeAsked, chosen_trees
from leastnoise.releases.plan.formula import Formula
from leastnoise.releases.plan.keys import Key, groups, hidden_labels, is_discovered
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.statistic import Statistic, Values
from leastnoise.releases.tables.count_trees import CountTree

Checked = Literal["unreadable", "other keys", "clipped", "left out"]
Measure = Literal[
    "rows", "persons", "distinct", "present", "sum", "centred", "square", "node", Checked
]
DISCOVERS = "keys"  # why the block that says which keys are shown is apart
# Counts each of something once, so that groups do not add up.
COUNTED_ONCE = ("persons", "distinct")
View = tuple[tuple[Key, ...], Formula | None]  # a grouping, and the condition on its rows
# Each person is counted under one of these checks, once.
ONCE = ("unreadable", "other keys", "clipped", "left out")
# What the engines' sums hold: 128-bit integers (DuckDB), decimal(38) (Spark), numeric (PostgreSQL).
LARGEST_SUM = 10**38
AnswerRange = tuple[float, float]  # from and to
EITHER_WAY: AnswerRange = (-1.0, 1.0)
COUNTED: AnswerRange = (0.0, 1.0)
_TURNS = {"unreadable": 0, "other keys": 1}  # which of them come before the others


@dataclass(frozen=True)
class Answer:
    """One integer for each group of a view: what is counted or summed there."""

    measure: Measure
    values: Values | None = None
    column: str = ""  # of unreadable, clipped and distinct values
    # Of other keys, and of what the bounds of a grouping leave out; without, too many rows.
    group_by: tuple[Key, ...] = ()
    where: Formula | None = None  # which rows it is about: those of its view
    in_view: bool = False  # of what the one view of the plan leaves out in one cell of it

    @property
    def half_range(self) -> int:
        """W."""
        return 0 if self.values is None else self.values.last - self.values.first

    @property
    def row_range(self) -> tuple[int, int]:
        """[a, b]: what one row adds."""
        if self.measure in ("present", "distinct", "node"):
            return 0, 1
        if self.values is None or self.measure in ("rows", "persons", *ONCE):
            return 1, 1
        if self.measure == "sum":
            return self.values.first, self.values.last
        reach = self.half_range if self.measure == "centred" else self.half_range**2
        return -reach, reach

    @property
    def may_be_absent(self) -> bool:
        """Whether a row of the view may add nothing at all because its value is missing."""
        return self.values is not None and self.values.substitute is None

    @property
    def unit(self) -> Fraction:
        """The worth of 1 in the units of the column (squared for squares)."""
        if self.values is None or self.measure in ("rows", "persons", "present", "node", *ONCE):
            return Fraction(1)
        pitch = self.values.exact_pitch
        return {"sum": pitch, "centred": pitch / 2, "square": pitch**2 / 8}[self.measure]


@dataclass(frozen=True)
class MeasuredMarginal:
    """That a block is a marginal of a table: its rows are those with a declared key in `within`,
    and a row with another key in one of `hidden` has the key "other" there. Its cell of all other
    keys, if it is asked, has the rows that are not in the table.
    """

    table: int
    hidden: tuple[Key, ...] = ()
    within: tuple[Key, ...] = ()
    is_one_row: bool = False  # whether a person has one row, and is in one cell
    in_view: bool = False  # of the rows that the one view of the plan keeps of each person

    def labels(self, key: Key) -> tuple[str, ...]:
        """The labels of a column of the table, the hidden ones last."""
        return (*key.labels, *hidden_labels(key, self.hidden, self.within))


@dataclass(frozen=True)
class TreeLevel:
    """That a block is a level, of 1 to L, of a tree over the places of a column, for each group."""

    tree: CountTree
    level: int

    @property
    def nodes(self) -> int:
        """How many nodes the level has in one group."""
        return self.tree.nodes(self.level)


@dataclass(frozen=True)
class Block:
    """A view and its answers: each of `answers` is asked once for each group, and one person
    touches at most `touched` groups.

    Of all other keys only `other` is asked. The block of the checks that count persons is one of
    its own, whose `answers` are one for each of them; one person touches `touched` of them.
    """

    group_by: tuple[Key, ...]
    answers: tuple[Answer, ...]
    sensitivities: tuple[int, ...]
    weights: tuple[float, ...]
    sigmas: tuple[float | None, ...]  # wanted noise standard deviation, in units of the answer
    touched: int
    other: Answer | None = None
    other_sensitivity: int = 0
    other_is_free: bool = False
    # what a person who comes adds to each of `answers`, and then to `other`, in sensitivities
    ranges: tuple[AnswerRange, ...] = ()
    marginal: MeasuredMarginal | None = None
    # Of each answer, what one person changes over all groups, where that is less than `touched`
    # times its sensitivity; none where nothing else is known, or wanted.
    spreads: tuple[Spread | None, ...] = ()
    # Why it is a view by itself, beside others of the same grouping and condition: see `apart_of`.
    apart: str = ""
    # Of its residual, where the contrasts of its cells are measured in one joint draw, and not the
    # cells (`tables.residuals`).
    precision: float | None = None
    level: TreeLevel | None = None  # its groups are then nodes of a tree in the declared groups

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many cells it has along each of its columns."""
        if self.marginal is None:
            return tuple(len(key.labels) for key in self.group_by)
        return tuple(len(self.marginal.labels(key)) for key in self.group_by)

    @property
    def paid_uses(self) -> int:
        """How many draws at its sensitivity a person costs, about."""
        return 1 if any(self.spreads) else self.touched

    @property
    def view(self) -> tuple[tuple[Key, ...], Formula | None, str]:
        """What tells it from the other blocks: no two have the same."""
        return self.group_by, self.where, self.apart

    @property
    def where(self) -> Formula | None:
        """The condition on the rows of the view; all its answers are about the same rows."""
        return None if is_checks(self) else self.answers[0].where

    @cached_property
    def groups(self) -> list[tuple[str, ...]]:
        if self.level is not None:
            numbers = [str(node) for node in range(self.level.nodes)]
            return [(*group, node) for group in groups(self.group_by) for node in numbers]
        if self.marginal is None:
            return groups(self.group_by)
        return list(product(*map(self.marginal.labels, self.group_by)))

    @cached_property
    def cells(self) -> list[tuple[str, ...]]:
        """The declared groups, and that of all other keys."""
        if self.other is None:
            return self.groups
        if self.marginal is not None:
            return [*self.groups, ("outside",) * (len(self.group_by) + 1)]
        return [*self.groups, tuple(key.other for key in self.group_by)]

    def answers_of(self, cell: int) -> tuple[Answer, ...]:
        """What is asked in one of the cells."""
        return self.answers if self.other is None or cell < len(self.groups) else (self.other,)


@dataclass(frozen=True)
class ContributionBounds:
    """Of one view: m and g of the module's docstring; `exactly` if everybody has one row there."""

    rows: int
    rows_in_group: int
    groups: int
    exactly: bool = False


def contribution_bounds(
    plan: Plan, group_by: tuple[Key, ...], where: Formula | None = None
) -> ContributionBounds:
    """The contribution bounds of the view for a grouping, of the rows with a condition."""
    if plan.one_row_per_person:
        is_free = bool(group_by) or where is not None or plan.may_drop_rows
        return ContributionBounds(1, 1, 1, exactly=not is_free)
    rows = int(plan.rows_per_person or 1)
    if not group_by:
        return ContributionBounds(rows, rows, 1)
    in_group = min(rows, int(plan.rows_per_group or rows))
    in_groups = min(int(plan.groups_per_person or 1), rows, most_groups(group_by, rows))
    return ContributionBounds(rows, in_group, in_groups)


def most_groups(group_by: tuple[Key, ...], otherwise: int) -> int:
    """How many groups a grouping has; as many as `otherwise` matter where that is not known."""
    return otherwise if is_discovered(group_by) else len(groups(group_by))


def contribution(answer: Answer, limit: ContributionBounds) -> tuple[int, int]:
    """C: the least and the most one person can add to the answer of one group."""
    if answer.measure == "persons":
        return 0, 1
    if answer.measure == "distinct":
        return 0, limit.rows_in_group
    a, b = answer.row_range
    if limit.exactly and not answer.may_be_absent:
        return a, b
    return min(0, limit.rows_in_group * a), max(0, limit.rows_in_group * b)


def sensitivity(answer: Answer, limit: ContributionBounds, relation: str) -> int:
    """By how much one person moves the answer of one group, at most."""
    low, high = contribution(answer, limit)
    return max(abs(low), abs(high)) if relation == "add/remove" else high - low


def range_of(plan: Plan, answer: Answer, limit: ContributionBounds) -> AnswerRange:
    """By how much a person who comes moves the answer, in sensitivities; either way where that does
    not help, see the docstring above. The ends are floats, rounded outwards."""
    is_solved = "totals" in plan.postprocess and not plan.one_row_per_person
    is_apart = plan.relation == "add/remove" and not is_solved
    low, high = contribution(answer, limit)
    largest = max(abs(low), abs(high))
    if not is_apart or largest == 0:
        return EITHER_WAY
    return _end(low, largest, -math.inf), _end(high, largest, math.inf)


def _end(end: int, largest: int, way: float) -> float:
    """end/largest as a float that is not on the inner side of it."""
    found, exactly = end / largest, Fraction(end, largest)
    is_inside = found > exactly if way < 0.0 else found < exactly
    return math.nextafter(found, way) if is_inside else found


def changes_of(ranges: Sequence[AnswerRange], touched: int) -> Changes:
    """The changes of the answers of one draw, of which one person moves at most `touched`."""
    count = len(ranges)
    part = None if touched >= count else touched
    if count == 1 or all(each == EITHER_WAY for each in ranges):
        return Box(part)
    return OneSided(part, tuple(ranges)).fitted(count)


def plainly(ranges: Sequence[AnswerRange]) -> tuple[AnswerRange, ...]:
    """Ranges that hold these and are all alike: of answers that only rise, or of any."""
    is_one_sided = all(low >= 0.0 for low, _ in ranges)
    return (COUNTED if is_one_sided else EITHER_WAY,) * len(ranges)


def answers_for(statistic: Statistic) -> tuple[Answer, ...]:
    """The answers a statistic is built from. Means and variances of one column share theirs."""
    if statistic.kind in ("count", "histogram"):
        return (_answer("rows", statistic),)
    if statistic.kind == "persons":
        return (_answer("persons", statistic),)
    if statistic.kind == "distinct":
        return (Answer("distinct", column=str(statistic.column), where=statistic.condition),)
    if statistic.kind in ("sum", "quantile"):
        return (_answer("sum" if statistic.kind == "sum" else "node", statistic),)
    number: tuple[Answer, ...] = () if statistic.public_n is not None else (number_of(statistic),)
    squares = (_answer("square", statistic),) if statistic.kind == "variance" else ()
    return (_answer("centred", statistic), *squares, *number)


def apart_of(plan: Plan, statistic: Statistic) -> str:
    """Why a statistic has a view of its own, and not the one of all statistics with its grouping
    and condition; "" where it has not."""
    if statistic.kind == "distinct":
        return f"values of {statistic.column}"
    is_alone = len(statistic.group_by) == 1 and not statistic.where
    if is_alone and plan.discovering.get(statistic.group_by[0]) == statistic:
        return DISCOVERS
    return ""


def _answer(measure: Measure, statistic: Statistic) -> Answer:
    values = None if measure in ("rows", "persons") else statistic.values
    return Answer(measure, values, where=statistic.condition)


def answers_in(block: Block, statistic: Statistic) -> tuple[Answer, ...]:
    """The answers of its block that a statistic is computed from."""
    own = answers_for(statistic)
    if statistic.kind == "sum" and own[0] not in block.answers:
        return _answer("centred", statistic), number_of(statistic)
    return own


def number_of(statistic: Statistic) -> Answer:
    """The answer that counts the values of a mean: all rows, unless missing ones are dropped."""
    values = statistic.values
    if values is None or values.substitute is not None:
        return _answer("rows", statistic)
    return _answer("present", statistic)


def blocks(plan: Plan, *, joint: bool = False) -> tuple[Block, ...]:
    """All answers of the plan with their sensitivities: one block for each grouping, and the last
    for the checks.

    With `joint` noise is drawn for all answers at once, and no cell of other keys is free.
    """
    found = _asked_by_view(plan)
    made = []
    counted_once: list[View] = []
    for (apart, (group_by, where)), asked in found.items():
        block = _block(plan, group_by, where, _without_spare_sums(plan, asked))
        block = replace(block, apart=apart)
        if _tells_no_other_keys(block, joint):
            # Of several views of a grouping one tells its other keys.
            is_told = apart and ("", (group_by, where)) in found
            counted_once += [] if is_told or not group_by else [(group_by, where)]
            block = replace(block, other=None, other_sensitivity=0)
        made.append(block)
    levels = _tree_blocks(plan, made)
    counted_once += [view for view in _groupings_of(levels) if ("", view) not in found]
    return (*made, *levels, *checks_block(plan, list(dict.fromkeys(counted_once))))


def _tells_no_other_keys(block: Block, joint: bool) -> bool:
    """Whether who has other keys is counted among the checks and not in a cell of this block."""
    if block.apart or is_discovered(block.group_by):
        return True
    counts_persons = block.other is not None and block.other.measure == "persons"
    return counts_persons and (joint or not block.other_is_free)


def _asked_by_view(plan: Plan) -> dict[tuple[str, View], dict[Answer, list[Statistic]]]:
    """The statistics that each answer of each view serves, but for trees of counts."""
    found: dict[tuple[str, View], dict[Answer, list[Statistic]]] = {}
    for statistic in plan.statistics:
        view = apart_of(plan, statistic), (statistic.group_by, statistic.condition)
        for answer in answers_for(statistic):
            if answer.measure != "node":
                found.setdefault(view, {}).setdefault(answer, []).append(statistic)
    return found


def _groupings_of(blocks: Sequence[Block]) -> list[View]:
    return [(block.group_by, block.where) for block in blocks if block.group_by]


def _tree_blocks(plan: Plan, others: Sequence[Block]) -> list[Block]:
    """Every level of every tree of counts: one tree for each column, grouping and condition."""
    asked: dict[tuple[tuple[Key, ...], Answer], list[Statistic]] = {}
    for statistic in plan.statistics:
        if statistic.kind == "quantile":
            (answer,) = answers_for(statistic)
            asked.setdefault((statistic.group_by, answer), []).append(statistic)
    if not asked:
        return []
    limits = {one: contribution_bounds(plan, one[0], one[1].where) for one in asked}
    wanted = []
    for group_by, answer in asked:
        limit = limits[group_by, answer]
        change = _tree_change(plan, limit, len(groups(group_by)) * (answer.half_range + 1))
        wanted.append(TreeAsked(answer.half_range + 1, change.total / change.largest))
    paid = [block.touched * len(block.answers) for block in others]
    trees = chosen_trees(wanted, paid, plan.epsilon, plan.delta)
    return [
        _tree_block(plan, TreeLevel(tree, level), *one, limits[one], statistics)
        for tree, (one, statistics) in zip(trees, asked.items(), strict=True)
        for level in range(1, tree.levels + 1)
    ]


def _tree_change(plan: Plan, limit: ContributionBounds, nodes: int) -> CountChange:
    """What one person changes on one level of a tree with so many nodes in all groups: see the
    docstring above."""
    rows = min(limit.rows, limit.rows_in_group * limit.groups)
    total = rows if plan.relation == "add/remove" else 2 * rows
    touched = min(total, nodes)
    largest = limit.rows_in_group
    return CountChange(min(total, largest * touched), largest, touched)


def _tree_block(
    plan: Plan,
    level: TreeLevel,
    group_by: tuple[Key, ...],
    answer: Answer,
    limit: ContributionBounds,
    statistics: Sequence[Statistic],
) -> Block:
    change = _tree_change(plan, limit, len(groups(group_by)) * level.nodes)
    return Block(
        group_by,
        (answer,),
        (change.largest,),
        (max(statistic.weight for statistic in statistics),),
        (None,),
        change.touched,
        ranges=(EITHER_WAY,),
        spreads=(Spread(1, change),),
        apart=f"level {level.level} of a tree of {answer.values}",
        level=level,
    )


def turn(check: Answer) -> int:
    """When a check has its turn: the first that applies counts, of several in a turn by digest."""
    return _TURNS.get(check.measure, len(_TURNS))


def is_checks(block: Block) -> bool:
    """Whether this is the block of the checks that count persons."""
    return block.answers[0].measure in ONCE


def checks_block(
    plan: Plan, other_keys: Sequence[View], left_out: Sequence[Answer] | None = None
) -> list[Block]:
    """The block of the checks that count persons, if there are any; with `left_out` for those whose
    rows are left out, by default by the bounds of every grouping."""
    values = bounded_columns(plan)
    columns = dict.fromkeys(one.column for one in values if one.column not in plan.computed)
    answers = [
        *(Answer("other keys", group_by=one, where=where) for one, where in other_keys),
        *(Answer("unreadable", column=column) for column in columns),
        *(Answer("clipped", one, one.column) for one in values),
        *(_left_out(plan) if left_out is None else left_out),
    ]
    if not answers:
        return []
    count = len(answers)
    touched = 1 if plan.relation == "add/remove" else min(2, count)
    return [
        Block(
            (),
            tuple(answers),
            (1,) * count,
            (1.0,) * count,
            (None,) * count,
            touched,
            ranges=(EITHER_WAY,) * count,
        )
    ]


def bounded_columns(plan: Plan) -> list[Values]:
    """The columns of numbers with their clipping bounds, each once."""
    found = [s.values for s in plan.statistics]
    bounds = {(one.column, one.lower, one.upper): one for one in found if one is not None}
    return list(bounds.values())


def left_out_of(plan: Plan, views: Sequence[View]) -> list[Answer]:
    """Where a bound on rows, or those of these views, may leave rows of a person out."""
    every = dict.fromkeys(((), where) for _, where in views)
    found = [one for one in views if one[0] and any(leaves_out(plan, one[0]))]
    return [Answer("left out", group_by=one, where=where) for one, where in (*every, *found)]


def _left_out(plan: Plan) -> list[Answer]:
    """Where a bound on rows, on groups, or on rows in one group may leave rows of a person out."""
    if plan.person is None:
        return []
    views = dict.fromkeys((s.group_by, s.condition) for s in plan.statistics)
    return left_out_of(plan, list(views))


def leaves_out(plan: Plan, group_by: tuple[Key, ...]) -> tuple[bool, bool]:
    """Whether a grouping may leave rows out that `rows_per_person` lets in: by its groups, by the
    rows in one of them."""
    limit = contribution_bounds(plan, group_by)
    every = most_groups(group_by, limit.rows)
    return limit.groups < min(every, limit.rows), limit.rows_in_group < limit.rows


def _without_spare_sums(
    plan: Plan, asked: dict[Answer, list[Statistic]]
) -> dict[Answer, list[Statistic]]:
    """The same with every sum that can be had from a centred sum and a number that is asked for
    anyway: see the docstring above. The argument there is for persons who come or go, and for equal
    weights without wanted sigmas."""
    is_plain = len({statistic.weight for statistic in plan.statistics}) == 1
    has_sigmas = any(statistic.sigma is not None for statistic in plan.statistics)
    if plan.relation != "add/remove" or not is_plain or has_sigmas:
        return asked
    kept: dict[Answer, list[Statistic]] = {}
    for answer, statistics in asked.items():
        number = number_of(statistics[0])
        centred = replace(answer, measure="centred")
        spare = answer.measure == "sum" and number in asked
        for needed in (centred, number) if spare else (answer,):
            kept.setdefault(needed, []).extend(statistics)
    return kept


def _block(
    plan: Plan,
    group_by: tuple[Key, ...],
    where: Formula | None,
    asked: dict[Answer, list[Statistic]],
) -> Block:
    limit = contribution_bounds(plan, group_by, where)
    every = most_groups(group_by, 2 * limit.groups)
    is_added = plan.relation == "add/remove"
    touched = limit.groups if is_added or not group_by else min(2 * limit.groups, every)
    other = _other_answer(plan, group_by, where) if group_by else None
    return Block(
        group_by,
        tuple(asked),
        tuple(_checked_sensitivity(plan, limit, *one) for one in asked.items()),
        tuple(max(statistic.weight for statistic in each) for each in asked.values()),
        tuple(_least_sigma(*one) for one in asked.items()),
        touched,
        other,
        0 if other is None else sensitivity(other, limit, plan.relation),
        is_added or 2 * limit.groups <= every,
        tuple(range_of(plan, one, limit) for one in (*asked, *([] if other is None else [other]))),
    )


def measured_block(
    plan: Plan, keys: tuple[Key, ...], about: MeasuredMarginal, like: Block
) -> Block | None:
    """A marginal of a table, with the answers of `like`; None where an answer is public there.

    A person with one row is in one cell of it or, outside of the table, in none: with add/remove
    one cell changes, with replace one they leave and one they enter. C of a cell holds 0, but for
    the one cell of a table that every row is in.
    """
    is_free = bool(keys) or bool(about.within) or like.where is not None or plan.may_drop_rows
    limit = ContributionBounds(1, 1, 1, exactly=not is_free)
    block = Block(
        keys,
        like.answers,
        tuple(sensitivity(answer, limit, plan.relation) for answer in like.answers),
        like.weights,
        (None,) * len(like.answers),
        1,
        ranges=tuple(range_of(plan, one, limit) for one in (*like.answers, Answer("rows"))),
        marginal=about,
    )
    if 0 in block.sensitivities:
        return None
    has_several = any(len(about.labels(key)) > 1 for key in keys)
    is_replaced = plan.relation == "replace"
    return replace(block, touched=2 if is_replaced and has_several else 1)


def with_outside(plan: Plan, marginals: Sequence[Block]) -> tuple[Block, ...]:
    """The measured marginals of a table, the first with the cell of the rows that are not in it.

    A person there is in no other cell. So with add/remove the cell costs nothing. With replace one
    who leaves the table changes one cell of the first marginal and this one: two draws of its law,
    which are paid for if it has several cells, else the cell is a check.
    """
    first, *rest = marginals
    if first.marginal is None or not first.marginal.within:
        return tuple(marginals)
    is_free = plan.relation == "add/remove" or first.touched > 1
    outside = replace(first, other=Answer("rows"), other_sensitivity=1, other_is_free=is_free)
    return (outside, *rest)


def _checked_sensitivity(
    plan: Plan, limit: ContributionBounds, answer: Answer, statistics: Sequence[Statistic]
) -> int:
    """The sensitivity of an answer whose sum fits the engines and is not public already."""
    one = sensitivity(answer, limit, plan.relation)
    if one == 0:
        raise PlanError(
            f"{statistics[0].name!r} needs the number of rows, which is public when one row is one "
            "person and rows are replaced: declare public_n for it, and leave counts out."
        )
    largest = max(abs(bound) for bound in answer.row_range)
    if largest * plan.max_rows >= LARGEST_SUM:
        raise PlanError(
            f"The sum for {statistics[0].name!r} could overflow: declare a larger pitch or a "
            "smaller max_rows."
        )
    return one


def _least_sigma(answer: Answer, statistics: Sequence[Statistic]) -> float | None:
    """The least standard deviation that is wanted on an answer, in its units; None without one."""
    wanted = [s for s in statistics if s.sigma is not None]
    sigmas = (float(s.sigma or math.nan) * (s.public_n or 1) / float(answer.unit) for s in wanted)
    return min(sigmas, default=None)


def _other_answer(plan: Plan, group_by: tuple[Key, ...], where: Formula | None) -> Answer:
    """What is asked of all other keys: rows where those of a grouping are to add up to a total."""
    counted = {s.group_by for s in plan.statistics if s.kind in ("count", "histogram")}
    is_part = group_by in counted and where is None and "totals" in plan.postprocess
    return Answer("rows" if plan.one_row_per_person or is_part else "persons", where=where)
