"""Tables with margins: what of a plan is one, and which of its marginals may be measured.

What is published and what is measured are different things. Where one row is one person all
groupings of a plan are of the same rows, so an answer that is asked by several groupings (the
number of rows in total, by sex, by age and by both) is a table with its margins: any marginals
may be measured, and all others are put together from them by least squares (`tables`). Answers that
are published for the same groupings, with the same weights, are measured together and share their
draws: a cell of each measured marginal has noise on all of them. `margin_search` finds which.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from leastnoise.releases.noise import view_tables
from leastnoise.releases.noise.sensitivity import (
    COUNTED_ONCE,
    Answer,
    Block,
    MeasuredMarginal,
    View,
    checks_block,
    is_checks,
    measured_block,
    with_outside,
)
from leastnoise.releases.plan.keys import Key, label_above
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.tables.columns import (
    Marginal,
    needs_hidden_key,
    residual_dimension,
)
from leastnoise.releases.tables.hierarchies import Hierarchy
from leastnoise.releases.tables.strategy import MOST_CELLS, Wanted, candidates

Grouping = tuple[Key, ...]
Published = tuple[Grouping, Answer]


@dataclass(frozen=True)
class MarginTable:
    """A table with margins: answers that several groupings publish, and what is measured of them.

    Attributes:
        keys: Its columns, with their declared keys.
        hidden: Whether each has the key "other" too.
        answers: What is counted or summed in each cell.
        published: The groupings that publish it, with their weights.
        sensitivities: Of the answers, the same in every marginal that may be measured.
        support: The marginals that are measured, as places in `keys`.
        precisions: Where their residuals are measured and not their cells, those of each of
            `support`, for noise of variance 1.
    """

    keys: tuple[Key, ...]
    hidden: tuple[bool, ...]
    answers: tuple[Answer, ...]
    published: Mapping[Grouping, float]
    sensitivities: tuple[int, ...] = ()
    support: tuple[Marginal, ...] = ()
    precisions: tuple[float, ...] = ()

    @cached_property
    def about(self) -> MeasuredMarginal:
        """Which of its columns have hidden keys, as every measured marginal knows it."""
        return MeasuredMarginal(0, self.hidden_keys, self.within)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return tuple(len(self.about.labels(key)) for key in self.keys)

    @cached_property
    def hierarchy(self) -> Hierarchy | None:
        """The columns that are within each other; None where there are none."""
        columns = next(iter(_chains(self.keys)), ())
        if not columns:
            return None
        parents = [(0,) * self.sizes[columns[0]]]
        for above, own in pairwise(columns):
            place = {label: i for i, label in enumerate(self.about.labels(self.keys[above]))}
            labels = self.about.labels(self.keys[own])
            upper = (label_above(label, self.keys[above]) for label in labels)
            parents.append(tuple(place[label] for label in upper))
        return Hierarchy(columns, tuple(parents))

    def spread(self, marginal: Marginal) -> Marginal:
        """The marginal as `wanted` knows it: with all columns that its own are within."""
        return marginal if self.hierarchy is None else self.hierarchy.spread(marginal)

    def unspread(self, spread: Marginal) -> Marginal | None:
        """The marginal that is called so; None where it is none."""
        if self.hierarchy is None:
            return spread
        own = [j for j in spread if j in self.hierarchy.columns][-1:]
        found = tuple(sorted((*self.hierarchy.rest(spread), *own)))
        return found if self.hierarchy.spread(found) == spread else None

    @cached_property
    def spread_sizes(self) -> tuple[float, ...]:
        """The sizes of the columns; of one within another the mean number of children. The search
        ranks by these; what it finds is judged by the hierarchy as it is."""
        sizes = list(map(float, self.sizes))
        for above, own in pairwise(() if self.hierarchy is None else self.hierarchy.columns):
            sizes[own] = self.sizes[own] / self.sizes[above]
        return tuple(sizes)

    @cached_property
    def within(self) -> tuple[Key, ...]:
        """The columns whose declared keys a row must have to be in the table."""
        pairs = zip(self.keys, self.hidden, strict=True)
        return tuple(key for key, is_hidden in pairs if not is_hidden)

    @property
    def hidden_keys(self) -> tuple[Key, ...]:
        return tuple(key for key in self.keys if key not in self.within)

    @property
    def counts_rows(self) -> bool:
        """Whether the number of rows is one of its answers."""
        return Answer("rows") in self.answers

    def marginal(self, grouping: Grouping) -> Marginal:
        """The columns of a grouping, in the order of the table."""
        return tuple(j for j, key in enumerate(self.keys) if key in grouping)

    def wanted(self, plan: Plan, most: Mapping[Marginal, float] | None) -> Wanted:
        weights: dict[Marginal, float] = {}
        for grouping, weight in self.published.items():
            one = self.spread(self.marginal(grouping))
            weights[one] = max(weight, weights.get(one, 0.0))
        return Wanted(self.spread_sizes, weights, plan.goal, most)

    @property
    def weight(self) -> float:
        """Of its noise beside that of what is no table: the largest that is asked for."""
        return max(self.published.values())


def margin_tables(plan: Plan, asked: Sequence[Block]) -> list[MarginTable]:
    """The tables with margins among what a plan asks for. Where persons have several rows all of it
    is of tables if the plan has one view for all groupings, and nothing if each keeps rows of its
    own choice."""
    if not plan.one_row_per_person:
        return view_tables.tables(plan, asked, _table)
    together: dict[tuple[tuple[Grouping, float], ...], list[Answer]] = {}
    for (answer, _), groupings in _published(asked).items():
        keys = tuple(dict.fromkeys(key for grouping in groupings for key in grouping))
        # Least squares on two hierarchies at once has no closed form.
        if len({frozenset(grouping) for grouping in groupings}) > 1 >= len(_chains(keys)):
            together.setdefault(tuple(groupings.items()), []).append(answer)
    return [_table(dict(named), tuple(own)) for named, own in together.items()]


def _published(asked: Sequence[Block]) -> dict[tuple[Answer, int], dict[Grouping, float]]:
    """The groupings that ask for an answer, of all rows, with their weights. By sensitivity too:
    when persons are replaced, that of a sum differs in groups and in total."""
    found: dict[tuple[Answer, int], dict[Grouping, float]] = {}
    for block in asked:
        if is_checks(block):
            continue
        each = zip(block.answers, block.sensitivities, block.weights, block.sigmas, strict=True)
        for answer, sensitivity, weight, sigma in each:
            if sigma is None and answer.where is None and answer.measure not in COUNTED_ONCE:
                found.setdefault((answer, sensitivity), {})[block.group_by] = weight
    return found


def _chains(keys: Sequence[Key]) -> list[tuple[int, ...]]:
    """The hierarchies among columns: each from its widest column on."""
    found: list[tuple[int, ...]] = []
    for deepest in keys:
        chain = tuple(keys.index(one) for one in deepest.path if one in keys)
        is_whole = not any(deepest in key.path[:-1] for key in keys)
        if len(chain) > 1 and is_whole:
            found.append(chain)
    return found


def _in_path(named: Sequence[Key], keys: Sequence[Key]) -> list[Key]:
    """The columns among these that some are, or are within."""
    return [key for key in keys if any(key in one.path for one in named)]


def _table(published: dict[Grouping, float], answers: tuple[Answer, ...]) -> MarginTable:
    keys = tuple(dict.fromkeys(key for grouping in published for key in grouping))
    # Who has a district has a region; and where every district is declared so is every region.
    listed = [[keys.index(one) for one in _in_path(grouping, keys)] for grouping in published]
    complete = [keys.index(one) for one in _in_path([k for k in keys if k.complete], keys)]
    hidden = needs_hidden_key(len(keys), listed, complete)
    return MarginTable(keys, hidden, answers, published)


def possible_marginals(plan: Plan, table: MarginTable, number: int) -> dict[Marginal, Block]:
    """The marginals that may be measured, as blocks, by what `wanted` calls them: those in which
    every answer has the sensitivity that it has in the published ones."""
    about = MeasuredMarginal(number, table.hidden_keys, table.within, plan.one_row_per_person)
    weights = (table.weight,) * len(table.answers)
    like = Block((), table.answers, (), weights, (), 1)
    found: dict[Marginal, Block] = {}
    wanted = table.wanted(plan, None)
    made = measured_block if plan.one_row_per_person else view_tables.measured
    for one in candidates(wanted, MOST_CELLS):
        marginal = table.unspread(one)
        if marginal is None:
            continue
        block = made(plan, tuple(table.keys[j] for j in marginal), about, like)
        if block is not None:
            found[one] = block
    finest = max(found, key=lambda one: (len(one), one))
    alike = found[finest].sensitivities
    return {one: block for one, block in found.items() if block.sensitivities == alike}


def residual_blocks(
    plan: Plan, table: MarginTable, precisions: Mapping[Marginal, float]
) -> dict[Marginal, Block] | None:
    """The residuals of a table as blocks, the first with the rows that are outside of it; None
    where some answer has another sensitivity in some of them. A column of one key has none."""
    about = MeasuredMarginal(0, table.hidden_keys, table.within, is_one_row=True)
    weights = (table.weight,) * len(table.answers)
    like = Block((), table.answers, (), weights, (), 1)
    found: dict[Marginal, Block] = {}
    for part, precision in precisions.items():
        block = measured_block(plan, tuple(table.keys[j] for j in part), about, like)
        if block is None:
            return None
        if residual_dimension(table.sizes, part):
            found[part] = replace(block, precision=precision)
    if len({block.sensitivities for block in found.values()}) != 1:
        return None
    return dict(zip(found, with_outside(plan, list(found.values())), strict=True))


# What is not measured as a part of a table


def beside_tables(plan: Plan, asked: Sequence[Block], tables: Sequence[MarginTable]) -> list[Block]:
    """The blocks of what is in no table, and of the checks. Other keys of a column of a table are
    told by the table's hidden cells where it counts rows, else among the checks."""
    told = _told(plan, tables)
    kept: list[Block] = []
    for block in asked:
        left = [] if is_checks(block) else _in_no_table(block, tables)
        if left:
            kept.append(_only(block, left, keeps_other=not set(block.group_by) <= told))
            told |= set() if block.apart else set(block.group_by)
    return [*kept, *_checks(plan, tables, kept, told)]


def _checks(
    plan: Plan, tables: Sequence[MarginTable], kept: Sequence[Block], told: set[Key]
) -> list[Block]:
    """The block of the checks, with the keys that no cell tells others of."""
    named = "hidden_keys" if plan.one_row_per_person else "keys"
    every = dict.fromkeys(key for table in tables for key in getattr(table, named))
    views: list[View] = [((key,), None) for key in every if key not in told]
    apart = [(block.group_by, block.where) for block in kept if block.apart and block.group_by]
    views += [view for view in dict.fromkeys(apart) if not set(view[0]) <= {*told, *every}]
    return (
        checks_block(plan, views)
        if plan.one_row_per_person
        else view_tables.checks(plan, kept, views)
    )


def _told(plan: Plan, tables: Sequence[MarginTable]) -> set[Key]:
    """The keys beside which others are told by cells of tables; of the one view hidden ones."""
    if plan.one_row_per_person:
        each = (table.keys if table.counts_rows else table.within for table in tables)
    else:
        each = (table.hidden_keys if table.counts_rows else () for table in tables)
    return {key for keys in each for key in keys}


def _in_no_table(block: Block, tables: Sequence[MarginTable]) -> list[int]:
    """The places of the answers of a block that no table has."""
    own = [table.answers for table in tables if block.group_by in table.published]
    in_tables = {answer for answers in own for answer in answers}
    return [i for i, answer in enumerate(block.answers) if answer not in in_tables]


def _only(block: Block, left: Sequence[int], *, keeps_other: bool) -> Block:
    """The block with some of its answers."""
    beyond = block.ranges[len(block.answers) :]
    changed = replace(
        block,
        answers=tuple(block.answers[i] for i in left),
        sensitivities=tuple(block.sensitivities[i] for i in left),
        weights=tuple(block.weights[i] for i in left),
        sigmas=tuple(block.sigmas[i] for i in left),
        ranges=(*(block.ranges[i] for i in left), *beyond),
    )
    return changed if keeps_other else replace(changed, other=None, other_sensitivity=0)


def named_marginal(table: MarginTable, marginal: Marginal) -> str:
    """A marginal for people."""
    return " × ".join(table.keys[j].column for j in marginal) or "total"
