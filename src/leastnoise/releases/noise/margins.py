"""Tables with margins: which of the marginals of a plan's tables are measured.

What is published and what is measured are different things. Where one row is one person all
groupings of a plan are of the same rows, so an answer that is asked by several groupings (the
number of rows in total, by sex, by age and by both) is a table with its margins: any marginals
may be measured, and all others are put together from them by least squares (`tables`). Answers that
are published for the same groupings, with the same weights, are measured together and share their
draws: a cell of each measured marginal has noise on all of them.

1. A proxy of the noise, the least of what Laplace or cube and Gaussian noise would need, ranks the
   sets of marginals; a guard keeps away those that would make some number worse than measuring
   every grouping by itself.
2. Where groupings have different weights, what is published is tried as it is, each with noise by
   its own weight: least squares alone makes every number better than separately.
3. The best few are designed and judged in full, as `search` does it for any plan. The best of them
   that keeps the guard is taken, and nothing of it if measuring each grouping by itself is better.

The guarantee is that of the draws on the measured cells: what is published plays no part in it. All
of it is decided by the plan alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

from leastnoise.errors import DesignError
from leastnoise.releases.noise import view_tables
from leastnoise.releases.noise.layout import AskedAnswer, NoiseLayout, layouts_of
from leastnoise.releases.noise.search import ScaledLaws, best, gaussian_mu
from leastnoise.releases.noise.sensitivity import (
    Answer,
    Block,
    MeasuredMarginal,
    checks_block,
    is_checks,
    measured_block,
    with_outside,
)
from leastnoise.releases.plan.keys import Key
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.tables.columns import Marginal, needs_hidden_key
from leastnoise.releases.tables.reconstruction import Measurement, variance
from leastnoise.releases.tables.strategy import (
    MOST_CELLS,
    Found,
    Wanted,
    candidates,
    judged_again,
    search,
)

_SLACK = 1.2  # of the guard, a variance, where a proxy is up to 8 % above what is designed
_DESIGNED, _DESIGNED_OF_SEVERAL = 5, 2  # supports that are designed in full
_SWEEPS = 2  # over the tables of a plan, each searched with the others as they are
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
    """

    keys: tuple[Key, ...]
    hidden: tuple[bool, ...]
    answers: tuple[Answer, ...]
    published: Mapping[Grouping, float]
    sensitivities: tuple[int, ...] = ()
    support: tuple[Marginal, ...] = ()

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        pairs = zip(self.keys, self.hidden, strict=True)
        return tuple(len(key.labels) + is_hidden for key, is_hidden in pairs)

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
            one = self.marginal(grouping)
            weights[one] = max(weight, weights.get(one, 0.0))
        return Wanted(self.sizes, weights, plan.goal, most)

    @property
    def weight(self) -> float:
        """Of its noise beside that of what is no table: the largest that is asked for."""
        return max(self.published.values())


@dataclass(frozen=True)
class TriedSupports:
    """A set of marginals that was looked at, for `--explain`: of each table what would be measured,
    how many draws see a person, and the root of the goal in sensitivities."""

    measured: tuple[tuple[str, ...], ...]
    uses: int
    by_proxy: float
    designed: float | None = None  # as it was judged; None where it was not designed
    refused: bool = False  # by the guard


@dataclass(frozen=True)
class Strategy:
    """What is measured of the tables of a plan, and its noise."""

    tables: tuple[MarginTable, ...]
    layout: NoiseLayout
    laws: ScaledLaws
    alternatives: dict[str, float]


def margin_tables(plan: Plan, asked: Sequence[Block]) -> list[MarginTable]:
    """The tables with margins among what a plan asks for. Where persons have several rows all of it
    is of tables if the plan has one view for all groupings, and nothing if each keeps rows of its
    own choice."""
    if not plan.one_row_per_person:
        return view_tables.tables(plan, asked, _table)
    # By sensitivity too: when persons are replaced, that of a sum differs in groups and in total.
    published: dict[tuple[Answer, int], dict[Grouping, float]] = {}
    for block in asked:
        if is_checks(block):
            continue
        each = zip(block.answers, block.sensitivities, block.weights, block.sigmas, strict=True)
        for answer, sensitivity, weight, sigma in each:
            if sigma is None:
                published.setdefault((answer, sensitivity), {})[block.group_by] = weight
    together: dict[tuple[tuple[Grouping, float], ...], list[Answer]] = {}
    for (answer, _), groupings in published.items():
        if len({frozenset(grouping) for grouping in groupings}) > 1:
            together.setdefault(tuple(groupings.items()), []).append(answer)
    return [_table(dict(named), tuple(own)) for named, own in together.items()]


def _table(published: dict[Grouping, float], answers: tuple[Answer, ...]) -> MarginTable:
    keys = tuple(dict.fromkeys(key for grouping in published for key in grouping))
    listed = [[keys.index(key) for key in grouping] for grouping in published]
    complete = [j for j, key in enumerate(keys) if key.complete]
    hidden = needs_hidden_key(len(keys), listed, complete)
    return MarginTable(keys, hidden, answers, published)


def _marginals(plan: Plan, table: MarginTable, number: int) -> dict[Marginal, Block]:
    """The marginals that may be measured, as blocks: those in which every answer has the
    sensitivity that it has in the published ones."""
    about = MeasuredMarginal(number, table.hidden_keys, table.within)
    weights = (table.weight,) * len(table.answers)
    like = Block((), table.answers, (), weights, (), 1)
    found: dict[Marginal, Block] = {}
    wanted = table.wanted(plan, None)
    made = measured_block if plan.one_row_per_person else view_tables.measured
    for one in candidates(wanted, MOST_CELLS):
        block = made(plan, tuple(table.keys[j] for j in one), about, like)
        if block is not None:
            found[one] = block
    finest = max(found, key=lambda one: (len(one), one))
    alike = found[finest].sensitivities
    return {one: block for one, block in found.items() if block.sensitivities == alike}


# What is not measured as a part of a table


def _beside(plan: Plan, asked: Sequence[Block], tables: Sequence[MarginTable]) -> list[Block]:
    """The blocks of what is in no table, and of the checks. Other keys of a column of a table are
    told by the table's hidden cells where it counts rows, else among the checks."""
    told = _told(plan, tables)
    kept: list[Block] = []
    for block in asked:
        left = [] if is_checks(block) else _in_no_table(block, tables)
        if left:
            kept.append(_only(block, left, keeps_other=not set(block.group_by) <= told))
            told |= set(block.group_by)
    return [*kept, *_checks(plan, tables, kept, told)]


def _checks(
    plan: Plan, tables: Sequence[MarginTable], kept: Sequence[Block], told: set[Key]
) -> list[Block]:
    """The block of the checks, with the keys that no cell tells others of."""
    if plan.one_row_per_person:
        hidden = dict.fromkeys(key for table in tables for key in table.hidden_keys)
        return checks_block(plan, [(key,) for key in hidden if key not in told])
    every = dict.fromkeys(key for table in tables for key in table.keys)
    return view_tables.checks(plan, kept, [key for key in every if key not in told])


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
    one_sided = block.is_one_sided
    beyond = one_sided[len(block.answers) :]
    changed = replace(
        block,
        answers=tuple(block.answers[i] for i in left),
        sensitivities=tuple(block.sensitivities[i] for i in left),
        weights=tuple(block.weights[i] for i in left),
        sigmas=tuple(block.sigmas[i] for i in left),
        is_one_sided=(*(one_sided[i] for i in left), *beyond),
    )
    return changed if keeps_other else replace(changed, other=None, other_sensitivity=0)


# The search


@dataclass(frozen=True)
class _Paid:
    """What draws cost by two proxies, in units of 1/scale: pure, Σ uses·√((p+1)(p+2)/3)·weight, and
    Gaussian, Σ uses·p·weight². (p+1)(p+2)/3 is the variance of the cube of scale 1: 2 for p = 1."""

    pure: float = 0.0
    gaussian: float = 0.0

    def and_of(self, uses: float, answers: int, weight: float) -> _Paid:
        cube = math.sqrt((answers + 1) * (answers + 2) / 3.0)
        return _Paid(self.pure + uses * cube * weight, self.gaussian + uses * answers * weight**2)

    def variance(self, epsilon: float, mu: float) -> float:
        """Of the noise on an answer of weight 1."""
        return min(self.pure / epsilon, math.sqrt(self.gaussian) / mu) ** 2


def _paid(blocks: Sequence[Block]) -> _Paid:
    found = _Paid()
    for block in blocks:
        if not is_checks(block):
            found = found.and_of(block.paid_uses, len(block.answers), max(block.weights))
    return found


class _MarginSearch:
    """The search over the supports of all tables of a plan."""

    def __init__(
        self,
        plan: Plan,
        tables: Sequence[MarginTable],
        asked: Sequence[Block],
        separate: Mapping[Published, float],
    ) -> None:
        self.plan, self.tables, self.separate = plan, list(tables), separate
        self.marginals = [_marginals(plan, table, t) for t, table in enumerate(tables)]
        self.beside = _beside(plan, asked, tables)
        self.mu = gaussian_mu(plan.epsilon, plan.delta or 0.0)

    def ranked(self) -> list[tuple[Found, ...]]:
        """Supports of all tables, the best by the proxy first."""
        chosen: list[list[Found]] = [[] for _ in self.tables]
        for _ in range(_SWEEPS if len(self.tables) > 1 else 1):
            for t in range(len(self.tables)):
                chosen[t] = self._supports(t, chosen)
        together = sorted((self.by_proxy(each), i, each) for i, each in enumerate(product(*chosen)))
        # Several laws have a common scale, whose search takes ten times as long as one design.
        is_one_law = len({len(table.answers) for table in self.tables}) == 1 and all(
            map(is_checks, self.beside)
        )
        most = _DESIGNED if is_one_law else _DESIGNED_OF_SEVERAL
        return [each for goal, _, each in together[:most] if math.isfinite(goal)]

    def by_proxy(self, supports: Sequence[Found]) -> float:
        """The goal for supports of all tables at once; +inf where a guard is far from kept."""
        paid = _paid(self.beside)
        for table, found in zip(self.tables, supports, strict=True):
            paid = paid.and_of(*self._drawn(table, found.uses), table.weight)
        scale = paid.variance(self.plan.epsilon, self.mu)
        pairs = [
            (max(block.weights), scale / max(block.weights) ** 2)
            for block in self.beside
            if not is_checks(block)
        ]
        for table, found in zip(self.tables, supports, strict=True):
            most = {one: _SLACK * bound for one, bound in self.guard(table).items()}
            wanted = table.wanted(self.plan, most)
            again = judged_again(wanted, found, scale / table.weight**2)
            if not math.isfinite(again.goal):
                return math.inf
            pairs += zip(wanted.weights.values(), again.variances, strict=True)
        return _goal(self.plan, pairs)

    def _supports(self, t: int, chosen: Sequence[Sequence[Found]]) -> list[Found]:
        """The best supports of one table, beside the others as they are chosen, or published."""
        table, possible = self.tables[t], self.marginals[t]
        rest = _paid(self.beside)
        for other, found in enumerate(chosen):
            if other != t:
                rest = self._with(rest, other, found[0].uses if found else None)
        weight = table.weight

        def noise(uses: float) -> float:
            paid = rest.and_of(*self._drawn(table, uses), weight)
            return paid.variance(self.plan.epsilon, self.mu) / weight**2

        most = {one: _SLACK * bound for one, bound in self.guard(table).items()}
        uses = {one: block.paid_uses for one, block in possible.items()}
        return search(table.wanted(self.plan, most), list(possible), uses, noise, _DESIGNED)

    def _with(self, rest: _Paid, t: int, uses: int | None) -> _Paid:
        table, possible = self.tables[t], self.marginals[t]
        if uses is None:
            published = {table.marginal(grouping) for grouping in table.published}
            uses = sum(possible[one].paid_uses for one in published if one in possible)
        return rest.and_of(*self._drawn(table, uses), table.weight)

    def _drawn(self, table: MarginTable, uses: float) -> tuple[float, int]:
        """Draws that see a person, and answers in each: of rows that are spread over cells one."""
        answers = len(table.answers)
        return (uses, answers) if self.plan.one_row_per_person else (uses * answers, 1)

    def guard(self, table: MarginTable) -> dict[Marginal, float]:
        """The variance, in sensitivities, that each published marginal has if every grouping is
        measured by itself: the least of its answers."""
        found: dict[Marginal, float] = {}
        for grouping in table.published:
            one = table.marginal(grouping)
            each = (self.separate[grouping, answer] ** 2 for answer in table.answers)
            found[one] = min(*each, found.get(one, math.inf))
        return found

    def published(self) -> tuple[Found, ...]:
        """What is published as the supports, where different weights want different laws."""
        found = []
        for table, possible in zip(self.tables, self.marginals, strict=True):
            own = table.wanted(self.plan, None).weights
            if not all(one in possible for one in own):
                return ()
            uses = sum(possible[one].paid_uses for one in own)
            found.append(Found(tuple(own), uses, (), math.inf))
        has_several = any(len(set(table.published.values())) > 1 for table in self.tables)
        return tuple(found) if has_several else ()

    def blocks(self, supports: Sequence[Found], *, own_weights: bool = False) -> tuple[Block, ...]:
        """What is asked of the engine: the measured marginals, then what is in no table. With
        `own_weights` each marginal, which is published, has noise by its own weight."""
        made: list[Block] = []
        outside: set[tuple[Key, ...]] = set()
        for table, possible, found in zip(self.tables, self.marginals, supports, strict=True):
            own = [possible[one] for one in found.support]
            if own_weights:
                weights = table.wanted(self.plan, None).weights
                pairs = zip(own, found.support, strict=True)
                each = len(table.answers)
                own = [replace(block, weights=(weights[one],) * each) for block, one in pairs]
            if table.within and table.within not in outside and self.plan.one_row_per_person:
                outside.add(table.within)
                own = list(with_outside(self.plan, own))
            made += own
        return (*made, *self.beside)

    def named(self, supports: Sequence[Found]) -> tuple[tuple[str, ...], ...]:
        return tuple(
            tuple(named_marginal(table, one) for one in found.support)
            for table, found in zip(self.tables, supports, strict=True)
        )


def named_marginal(table: MarginTable, marginal: Marginal) -> str:
    """A marginal for people."""
    return " × ".join(table.keys[j].column for j in marginal) or "total"


def variances_of(
    table: MarginTable, wanted: Wanted, stds: Mapping[Marginal, float]
) -> dict[Marginal, float]:
    """The variance of each published marginal, in sensitivities, from the noise of the measured."""
    measured = Measurement(table.sizes, {one: 1.0 / std**2 for one, std in stds.items()})
    return {one: variance(measured, one) for one in wanted.published}


def best_strategy(
    plan: Plan,
    asked: Sequence[Block],
    separate: Mapping[Published, float],
) -> tuple[Strategy | None, tuple[TriedSupports, ...]]:
    """What to measure of the tables of a plan, and what was looked at; None where it has none, or
    where measuring every grouping by itself is better.

    Args:
        plan: The plan, with its δ.
        asked: What it asks for, a block for each grouping.
        separate: The standard deviation of each answer, in sensitivities, where every grouping is
            measured by itself.
    """
    tables = margin_tables(plan, asked)
    if not tables or plan.delta is None:
        return None, ()
    separate = view_tables.in_the_view(plan, asked, separate)
    found = _MarginSearch(plan, tables, asked, separate)
    kept: Strategy | None = None
    least = _goal(plan, list(_separately(found)))
    tried: list[TriedSupports] = []
    ranked = [(supports, False) for supports in found.ranked()]
    if found.published():
        ranked.append((found.published(), True))
    for supports, own_weights in ranked:
        uses = sum(one.uses for one in supports)
        by_proxy = math.nan if own_weights else math.sqrt(found.by_proxy(supports))
        about = TriedSupports(found.named(supports), uses, by_proxy)
        judged = _designed(found, found.blocks(supports, own_weights=own_weights), supports)
        if judged is None:
            tried.append(about)
            continue
        strategy, pairs, is_kept = judged
        goal = _goal(plan, pairs)
        tried.append(replace(about, designed=math.sqrt(goal), refused=not is_kept))
        if is_kept and goal < least:
            kept, least = strategy, goal
    return kept, tuple(tried)


def _separately(found: _MarginSearch) -> Iterator[tuple[float, float]]:
    """(weight, variance) of everything that is published, each grouping measured by itself."""
    for table in found.tables:
        guard = found.guard(table)
        for one, weight in table.wanted(found.plan, None).weights.items():
            yield weight, guard[one]
    for block in found.beside:
        if not is_checks(block):
            std = min(found.separate[block.group_by, answer] for answer in block.answers)
            yield max(block.weights), std**2


def _goal(plan: Plan, pairs: Sequence[tuple[float, float]]) -> float:
    weighed = [weight**2 * variance for weight, variance in pairs]
    if plan.goal == "largest":
        return max(weighed)
    return math.fsum(weighed) / math.fsum(weight**2 for weight, _ in pairs)


def _designed(
    found: _MarginSearch, measured_blocks: tuple[Block, ...], supports: Sequence[Found]
) -> tuple[Strategy, list[tuple[float, float]], bool] | None:
    """The supports with their noise in full, what it gives, and whether the guard is kept; None
    where it cannot be designed."""
    plan = found.plan
    possible = layouts_of(measured_blocks)
    try:
        layout, laws, alternatives = best(possible, plan.epsilon, plan.delta or 0.0)
    except DesignError:
        return None
    stds = stds_of(layout, laws)
    tables, pairs, is_kept = [], [], True
    start = 0
    for table, one in zip(found.tables, supports, strict=True):
        measured = {
            marginal: max(stds[start + i, answer] for answer in table.answers)
            for i, marginal in enumerate(one.support)
        }
        sensitivities = _units(layout, start)
        start += len(one.support)
        wanted, guard = table.wanted(plan, None), found.guard(table)
        for marginal, reached in variances_of(table, wanted, measured).items():
            pairs.append((wanted.weights[marginal], reached))
            is_kept = is_kept and reached <= guard[marginal] * (1.0 + 1e-9)
        tables.append(replace(table, sensitivities=sensitivities, support=one.support))
    for b, block in enumerate(layout.blocks[start:], start=start):
        if not is_checks(block):
            worst = max(stds[b, answer] for answer in block.answers)
            pairs.append((max(block.weights), worst**2))
    return Strategy(tuple(tables), layout, laws, alternatives), pairs, is_kept


def _units(layout: NoiseLayout, block: int) -> tuple[int, ...]:
    """What the noise of each answer of a block is a multiple of."""
    first = (entry for entry in layout.entries if entry.block == block and entry.group == 0)
    return tuple(entry.sensitivity for entry in first)


def stds_of(layout: NoiseLayout, laws: ScaledLaws) -> dict[tuple[int, Answer], float]:
    """The standard deviation of the noise on each answer of each block, in sensitivities."""
    found: dict[tuple[int, Answer], float] = {}
    for spec, entries in layout.draws:
        std = laws.laws[spec].noise.std
        for i in entries:
            entry = layout.entries[i]
            found[entry.block, entry.answer] = std * _unit_of(layout.blocks[entry.block], entry)
    return found


def _unit_of(block: Block, entry: AskedAnswer) -> float:
    """What the noise of an entry is a multiple of, in sensitivities."""
    if entry.spread is None:
        return 1.0
    return entry.sensitivity / block.sensitivities[block.answers.index(entry.answer)]


def separate_stds(layout: NoiseLayout, laws: ScaledLaws) -> dict[Published, float]:
    """The same by grouping and answer, where each grouping is a block of its own."""
    found = stds_of(layout, laws)
    return {(layout.blocks[b].group_by, answer): std for (b, answer), std in found.items()}
