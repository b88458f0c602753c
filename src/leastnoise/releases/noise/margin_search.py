"""Which marginals of the tables of a plan are measured.

1. A proxy of the noise, the least of what Laplace or cube and Gaussian noise would need, ranks the
   sets of marginals; a guard keeps away those that would make some number worse than measuring
   every grouping by itself.
2. Where groupings have different weights, what is published is tried as it is, each with noise by
   its own weight: least squares alone makes every number better than separately.
3. The same with noise of different size, where that promises 1.5 % of the variance or more.
4. The best few are designed and judged in full, as `search` does it for any plan. The best of them
   that keeps the guard is taken, and nothing of it if measuring each grouping by itself is better.

The guarantee is that of the draws on the measured cells: what is published plays no part in it. All
of it is decided by the plan alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from leastnoise.errors import DesignError
from leastnoise.releases.noise import view_tables
from leastnoise.releases.noise.layout import AskedAnswer, NoiseLayout, layouts_of, views_of
from leastnoise.releases.noise.margins import (
    MarginTable,
    Published,
    beside_tables,
    margin_tables,
    named_marginal,
    possible_marginals,
)
from leastnoise.releases.noise.search import ScaledLaws, best, gaussian_mu
from leastnoise.releases.noise.sensitivity import Answer, Block, is_checks, with_outside
from leastnoise.releases.plan.keys import Key
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.tables.columns import Marginal, subsets
from leastnoise.releases.tables.hierarchies import NestedMeasurement, nested_variances
from leastnoise.releases.tables.reconstruction import Measurement, variance
from leastnoise.releases.tables.strategy import (
    Found,
    Wanted,
    covers,
    judged_again,
    pure_goal,
    search,
    several,
)

_SLACK = 1.2  # of the guard, a variance, where a proxy is up to 8 % above what is designed
_DESIGNED, _DESIGNED_OF_SEVERAL = 5, 2  # supports that are designed in full
_NEAR = 1.3  # of the best by the proxy, a variance: the proxy itself is off by 17 % at most
# Several laws: the largest share of the goal, a variance, that is worth their search of a scale.
_WORTH, _MOST_LAWS = 0.985, 4
_MOST_PARTS = 8  # marginals of one table of which another takes a part
_SWEEPS = 2  # over the tables of a plan, each searched with the others as they are

Weights = Sequence[Mapping[Marginal, float]]  # of each table the weights of its marginals


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
    for view in views_of(blocks):
        own = [blocks[b] for b in view if not is_checks(blocks[b])]
        if any(any(one.spreads) for one in own):  # then a draw has one answer, and a view one block
            uses = sum(one.paid_uses * len(one.answers) for one in own)
            found = found.and_of(uses, 1, max(map(_weight, own)))
        elif own:
            answers, weight = sum(len(one.answers) for one in own), max(map(_weight, own))
            found = found.and_of(max(one.touched for one in own), answers, weight)
    return found


def _weight(block: Block) -> float:
    return max(block.weights)


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
        self.marginals = [possible_marginals(plan, table, t) for t, table in enumerate(tables)]
        self.beside = beside_tables(plan, asked, tables)
        self.mu = gaussian_mu(plan.epsilon, plan.delta or 0.0)

    def ranked(self) -> list[tuple[Found, ...]]:
        """Supports of all tables, the best by the proxy first."""
        chosen: list[list[Found]] = [[] for _ in self.tables]
        for _ in range(_SWEEPS if len(self.tables) > 1 else 1):
            for t in range(len(self.tables)):
                chosen[t] = self._supports(t, chosen)
        combined = [*product(*chosen), *self._following()]
        every = {tuple(one.support for one in each): each for each in combined}
        together = sorted((self.by_proxy(each), i, each) for i, each in enumerate(every.values()))
        most = _DESIGNED if self._is_one_law else _DESIGNED_OF_SEVERAL
        within = self._near * together[0][0] if together else math.inf
        return [each for goal, _, each in together[:most] if goal <= within < math.inf]

    @property
    def _near(self) -> float:
        """The proxy knows little of rows that are spread over cells, and their laws are soon
        found."""
        return _NEAR if self.plan.one_row_per_person else 2.0 * _NEAR

    @property
    def _is_one_law(self) -> bool:
        """Several laws have a common scale, whose search takes ten times as long as one design."""
        shapes = {len(table.answers) for table in self.tables}
        return len(shapes) == 1 and all(map(is_checks, self.beside))

    def _following(self) -> Iterator[tuple[Found, ...]]:
        """Supports of which one table's is the best if all others take a part of it: their draws
        are then shared, which is no optimum of each table beside the others as they are."""
        if len(self.tables) == 1 or not self.plan.one_row_per_person:
            return
        answers = sum(len(table.answers) for table in self.tables)
        rest = _paid(self.beside)
        for t, table in enumerate(self.tables):

            def noise(uses: float, weight: float = table.weight) -> float:
                paid = rest.and_of(uses, answers, weight)
                return paid.variance(self.plan.epsilon, self.mu) / weight**2

            uses = {one: float(block.touched) for one, block in self.marginals[t].items()}
            wanted = table.wanted(self.plan, None)
            for found in search(wanted, list(uses), uses, noise, _DESIGNED_OF_SEVERAL):
                groupings = [self.marginals[t][one].group_by for one in found.support]
                parts = [self._parts(other, groupings) for other in range(len(self.tables))]
                parts[t] = [found]
                yield from product(*parts)

    def _parts(self, t: int, groupings: Sequence[tuple[Key, ...]]) -> list[Found]:
        """The supports of a table that are made of these groupings, up to all of eight of them."""
        known = {frozenset(block.group_by): one for one, block in self.marginals[t].items()}
        named = [known[frozenset(each)] for each in groupings if frozenset(each) in known]
        published = self.tables[t].wanted(self.plan, None).published
        return [
            Found(tuple(named[i] for i in part), len(part), (), math.inf)
            for part in subsets(range(len(named)) if len(named) <= _MOST_PARTS else ())
            if covers([named[i] for i in part], published)
        ]

    def by_proxy(self, supports: Sequence[Found]) -> float:
        """The goal for supports of all tables at once; +inf where a guard is far from kept."""
        paid = _paid(self.blocks(supports))
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
        others = list(self.beside)
        for other, found in enumerate(chosen):
            if other != t:
                known = self.marginals[other]
                others += [known[one] for one in self._support(other, found) if one in known]
        rest, weight = _paid(others), table.weight

        def noise(uses: float) -> float:
            paid = rest.and_of(*self._drawn(table, uses), weight)
            return paid.variance(self.plan.epsilon, self.mu) / weight**2

        most = {one: _SLACK * bound for one, bound in self.guard(table).items()}
        alone = _Paid().and_of(*self._drawn(table, 1), weight).pure
        uses = {
            one: (_paid([*others, block]).pure - rest.pure) / alone
            for one, block in possible.items()
        }
        wanted = table.wanted(self.plan, most)
        found = search(wanted, list(possible), uses, noise, _DESIGNED)
        if len(others) > len(self._checks) and all(one in possible for one in wanted.published):
            # What is published as it is: its draws are those of everything else there.
            whole = sum(uses[one] for one in wanted.published)
            found.append(Found(wanted.published, whole, (), math.inf))
        return found

    def _drawn(self, table: MarginTable, uses: float) -> tuple[float, int]:
        """Draws that see a person, and answers in each: of rows that are spread over cells one."""
        answers = len(table.answers)
        return (uses, answers) if self.plan.one_row_per_person else (uses * answers, 1)

    @property
    def _checks(self) -> list[Block]:
        return [block for block in self.beside if is_checks(block)]

    def _support(self, t: int, found: Sequence[Found]) -> tuple[Marginal, ...]:
        return found[0].support if found else self.tables[t].wanted(self.plan, None).published

    def guard(self, table: MarginTable) -> dict[Marginal, float]:
        """The variance, in sensitivities, that each published marginal has if every grouping is
        measured by itself: the least of its answers."""
        found: dict[Marginal, float] = {}
        for grouping in table.published:
            one = table.spread(table.marginal(grouping))
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

    def several_laws(self, supports: Sequence[Found]) -> tuple[tuple[Found, ...], Weights] | None:
        """A support of one table of one answer whose marginals have noise of different size, by the
        pure proxy; None where that promises less than it costs to design."""
        table, best_one, possible = self.tables[0], supports[0], self.marginals[0]
        wanted = table.wanted(self.plan, None)
        if not self._is_one_plain_table:
            return None
        uses = {one: block.touched for one, block in possible.items()}
        found: list[tuple[float, dict[Marginal, float]]] = []
        for start in (best_one.support, wanted.published):
            if all(one in possible for one in start):
                ratios = several(wanted, start, uses)
                found.append((pure_goal(wanted, ratios, uses), ratios))
        equal = pure_goal(wanted, dict.fromkeys(best_one.support, 1.0), uses)
        goal, ratios = min(found, key=lambda one: one[0])
        if goal > _WORTH * equal or len(set(ratios.values())) > _MOST_LAWS:
            return None
        weights = {one: table.weight / ratio for one, ratio in ratios.items()}
        total = sum(uses[one] for one in ratios)
        return (Found(tuple(ratios), total, (), math.inf),), [weights]

    @property
    def _is_one_plain_table(self) -> bool:
        """Whether all that is asked is one table of one answer, all of it alike."""
        (table, *more) = self.tables
        is_alone = not more and len(table.answers) == 1 and all(map(is_checks, self.beside))
        is_alone = is_alone and self.plan.one_row_per_person
        return is_alone and self.plan.goal == "mean" and len(set(table.published.values())) == 1

    def blocks(
        self, supports: Sequence[Found], weights: Weights | None = None
    ) -> tuple[Block, ...]:
        """What is asked of the engine: the measured marginals, then what is in no table. Each
        marginal has noise by its weight, where there are such."""
        made: list[Block] = []
        outside: set[tuple[Key, ...]] = set()
        for t, (table, possible) in enumerate(zip(self.tables, self.marginals, strict=True)):
            support = supports[t].support
            own = [possible[one] for one in support]
            if weights is not None:
                each = len(table.answers)
                pairs = zip(own, support, strict=True)
                own = [replace(block, weights=(weights[t][one],) * each) for block, one in pairs]
            if table.within and table.within not in outside and self.plan.one_row_per_person:
                outside.add(table.within)
                own = list(with_outside(self.plan, own))
            made += own
        return (*made, *self.beside)

    def uses(self, supports: Sequence[Found]) -> int:
        """In how many measured cells one person is."""
        pairs = zip(self.marginals, supports, strict=True)
        return sum(possible[one].touched for possible, each in pairs for one in each.support)

    def named(self, supports: Sequence[Found]) -> tuple[tuple[str, ...], ...]:
        return tuple(
            tuple(named_marginal(table, one) for one in _as_measured(table, found))
            for table, found in zip(self.tables, supports, strict=True)
        )


def _as_measured(table: MarginTable, found: Found) -> tuple[Marginal, ...]:
    return tuple(one for one in map(table.unspread, found.support) if one is not None)


def variances_of(
    table: MarginTable, wanted: Wanted, stds: Mapping[Marginal, float]
) -> dict[Marginal, tuple[float, float]]:
    """The variance of each published marginal, in sensitivities, from the noise of the measured:
    the mean of its cells and the largest, which differ in a hierarchy only."""
    weights = {one: 1.0 / std**2 for one, std in stds.items()}
    named = {one: table.unspread(one) or () for one in wanted.published}
    if table.hierarchy is None:
        measured = Measurement(table.sizes, weights)
        found = {one: variance(measured, marginal) for one, marginal in named.items()}
        return {one: (each, each) for one, each in found.items()}
    nested = NestedMeasurement(table.sizes, table.hierarchy, weights)
    each = {one: nested_variances(nested, marginal) for one, marginal in named.items()}
    return {one: (float(found.mean()), float(found.max())) for one, found in each.items()}


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
    for supports, weights in _worth_a_design(found):
        uses = found.uses(supports)
        by_proxy = math.nan if weights is not None else math.sqrt(found.by_proxy(supports))
        about = TriedSupports(found.named(supports), uses, by_proxy)
        judged = _designed(found, found.blocks(supports, weights), supports)
        if judged is None:
            tried.append(about)
            continue
        strategy, pairs, is_kept = judged
        goal = _goal(plan, pairs)
        tried.append(replace(about, designed=math.sqrt(goal), refused=not is_kept))
        if is_kept and goal < least:
            kept, least = strategy, goal
    return kept, tuple(tried)


def _worth_a_design(
    found: _MarginSearch,
) -> list[tuple[tuple[Found, ...], Weights | None]]:
    """Supports of all tables, with weights of their marginals where those differ."""
    listed: list[tuple[tuple[Found, ...], Weights | None]]
    listed = [(supports, None) for supports in found.ranked()]
    several_laws = found.several_laws(listed[0][0]) if listed else None
    if several_laws is not None:
        listed.append(several_laws)
    if found.published():
        own = [table.wanted(found.plan, None).weights for table in found.tables]
        listed.append((found.published(), own))
    return listed


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
        layout, laws, alternatives = best(possible, plan.epsilon, plan.delta or 0.0, plan.advantage)
    except DesignError:
        return None
    stds = stds_of(layout, laws)
    tables, pairs, is_kept = [], [], True
    start = 0
    for table, one in zip(found.tables, supports, strict=True):
        measured = {
            marginal: max(stds[start + i, answer] for answer in table.answers)
            for i, marginal in enumerate(_as_measured(table, one))
        }
        sensitivities = _units(layout, start)
        start += len(one.support)
        wanted, guard = table.wanted(plan, None), found.guard(table)
        for marginal, (mean, largest) in variances_of(table, wanted, measured).items():
            pairs.append((wanted.weights[marginal], largest if plan.goal == "largest" else mean))
            is_kept = is_kept and largest <= guard[marginal] * (1.0 + 1e-9)
        support = _as_measured(table, one)
        tables.append(replace(table, sensitivities=sensitivities, support=support))
    for b, block in enumerate(layout.blocks[start:], start=start):
        if not is_checks(block):
            worst = max(stds[b, answer] for answer in block.answers)
            pairs.append((max(block.weights), worst**2))
    return Strategy(tuple(tables), layout, laws, alternatives), pairs, is_kept


def stds_of(layout: NoiseLayout, laws: ScaledLaws) -> dict[tuple[int, Answer], float]:
    """The standard deviation of the noise on each answer of each block, in sensitivities."""
    found: dict[tuple[int, Answer], float] = {}
    for spec, entries in layout.draws:
        stds = laws.laws[spec].stds(layout.specs[spec].batch)
        for i, std in zip(entries, stds, strict=False):
            entry = layout.entries[i]
            found[entry.block, entry.answer] = std * _unit_of(layout.blocks[entry.block], entry)
    return found


def _units(layout: NoiseLayout, block: int) -> tuple[int, ...]:
    """What the noise of each answer of a block is a multiple of."""
    first = (entry for entry in layout.entries if entry.block == block and entry.group == 0)
    return tuple(entry.sensitivity for entry in first)


def _unit_of(block: Block, entry: AskedAnswer) -> float:
    """What the noise of an entry is a multiple of, in sensitivities."""
    if entry.spread is None:
        return 1.0
    return entry.sensitivity / block.sensitivities[block.answers.index(entry.answer)]


def separate_stds(layout: NoiseLayout, laws: ScaledLaws) -> dict[Published, float]:
    """The same by grouping and answer, where each grouping is a block of its own."""
    found = stds_of(layout, laws)
    return {(layout.blocks[b].group_by, answer): std for (b, answer), std in found.items()}
