"""Which answers share a draw of noise: the three ways that `sensitivity` proves valid, and what the
checks get beside them.

Answers with a wanted sigma have a law of their own. Those of other weights share a draw whose noise
is of unequal sizes, or have a law of their own too ("… weights apart"): what needs less is taken,
unless some answer had over 6 % more noise for its weight than apart.
What is made small is O = √(Σ w⁴σ² / Σ w²), of each answer's weight w and σ in sensitivities: the
best normal noise for it has σ in proportion to 1/w (docs/mathematics.md#unequal-ranges), and where
σ = scale/w for all, O is the scale. The checks have a law of their own,
for `CHECKS` of ε. The discrete Laplace law is pure: it adds to ε at most what it costs, and nothing
to δ. What is asked for gets the rest, so its noise grows by 1/(1 − CHECKS) at most, 1.5 %.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain

from leastnoise.changes import BOX, Changes, Euclidean
from leastnoise.designer.request import LARGEST_RATIO, smallest_ratio
from leastnoise.errors import DesignError
from leastnoise.laws.base import Domain
from leastnoise.releases.noise.log_concave import Shifts
from leastnoise.releases.noise.one_view import Spread
from leastnoise.releases.noise.sensitivity import (
    DISCOVERS,
    EITHER_WAY,
    Answer,
    AnswerRange,
    Block,
    changes_of,
    is_checks,
    plainly,
)
from leastnoise.releases.plan.keys import Key, is_discovered
from leastnoise.releases.tables.residuals import contrast_scales, squared_reach

SMALLEST, LARGEST = smallest_ratio("real"), 0.99 * LARGEST_RATIO  # sigma/sensitivity
# Share of ε for the checks: a person counts once, so their noise is √2/0.015 = 94 persons at ε = 1.
CHECKS = 0.015
_MOST_CHECKS = 0.1  # of ε for all checks: noise of 14 persons will do
_WITHHELD = 0.1  # share of ε for the checks where keys are found: how many persons are in no group
_LEAST_CHECK = 1e-4  # of ε a draw: below, the table of the law has more than 600,000 entries
# Answers in one joint draw: beyond, independent noise is better (python -m benchmarks batches).
_MOST_JOINT = 100
APART = ", weights apart"
_MOST_UNEQUAL = 1000.0  # two weights of one draw, of which the fourth power counts


@dataclass(frozen=True)
class AskedAnswer:
    """One answer of one group."""

    block: int
    group: int
    answer: Answer
    sensitivity: int
    range: AnswerRange = EITHER_WAY  # what a person who comes adds to it, in sensitivities
    spread: Spread | None = None  # then `sensitivity` is its unit
    # What it is divided by beside; of a residual its contrast, which `group` is then the place of.
    scale: float = 1.0

    @property
    def is_one_sided(self) -> bool:
        """Whether a person who comes can only add to it."""
        return self.range[0] >= 0.0


@dataclass(frozen=True)
class LawSpec:
    """A law to find: `batch` answers a draw, `uses` draws seen; sigma = scale·factor, or fixed. Of
    the answers of one draw a person makes the `changes`. Where they have unequal `weights`, of the
    squares of their errors, sigma is the root of the weighted mean square.

    Where one person's rows are spread over the draws, `shifts` says by how much these move, and how
    many; the law must then be one that `one_view` knows the worst spread of."""

    batch: int
    uses: int
    factor: float
    fixed: float | None
    domain: Domain
    changes: Changes = BOX
    weights: tuple[float, ...] | None = None
    shifts: Shifts = ()

    def sigma(self, scale: float) -> float:
        """Kept within what can be designed for: not all very different weights can be had."""
        if self.fixed is not None:
            return self.fixed
        if self.shifts:
            return scale * self.factor
        return min(max(scale * self.factor, SMALLEST), LARGEST)

    @property
    def gaussian_uses(self) -> float:
        """μ² of independent Gaussian noise of standard deviation 1."""
        if self.shifts:
            return float(sum(shift**2 * count for shift, count in self.shifts))
        return float(self.uses * self.changes.touched_of(self.batch))


@dataclass(frozen=True)
class NoiseLayout:
    """One way to draw noise for all answers of a plan."""

    name: str
    specs: tuple[LawSpec, ...]
    draws: tuple[tuple[int, tuple[int, ...]], ...]  # (spec, entries)
    checks: tuple[int, ...] = ()  # entries with noise of their own
    check_uses: int = 0  # how many of those one person can be seen in
    blocks: tuple[Block, ...] = ()
    entries: tuple[AskedAnswer, ...] = ()
    # The entries that decide which keys are shown, how many of them one person can be seen in, and
    # what they have of the budget (`discovery`).
    finding: tuple[int, ...] = ()
    finding_uses: int = 0
    finding_epsilon: float = 0.0
    finding_delta: float = 0.0

    @property
    def finding_weights(self) -> tuple[float, ...]:
        """How accurate the numbers of persons are to be, relative to what is asked beside."""
        return tuple(self.blocks[self.entries[i].block].weights[0] for i in self.finding)

    def check_epsilon(self, epsilon: float) -> float:
        """ε of one draw for a check."""
        uses = max(self.check_uses, 1)
        least = min(_LEAST_CHECK, 0.25 * epsilon / uses)
        share = _WITHHELD if self.finding else CHECKS
        return max(min(share * epsilon, _MOST_CHECKS) / uses, least)

    def left_for_answers(self, epsilon: float, delta: float) -> tuple[float, float]:
        """(ε, δ) of what is asked for, beside the checks."""
        if not self.checks:
            return epsilon, delta
        left = epsilon - self.check_uses * self.check_epsilon(epsilon)
        return left - self.finding_epsilon, (1.0 - CHECKS) * delta - self.finding_delta

    def left_of_cap(self, epsilon: float, cap: float | None) -> float | None:
        """What the checks leave of a cap on the advantage. Advantages add up, and that of noise of
        a pure ε is at most tanh(ε/2)."""
        if cap is None or not self.checks:
            return cap
        spent = self.check_uses * math.tanh(0.5 * self.check_epsilon(epsilon))
        spent += math.tanh(0.5 * self.finding_epsilon) + self.finding_delta
        return max(cap - spent, (0.05 if self.finding else 0.5) * cap)


def layouts(
    asked: Sequence[Block], asked_jointly: Sequence[Block], spread: Sequence[Block] = ()
) -> list[NoiseLayout]:
    """The ways that are worth a comparison, each law of another shape."""
    made = [*_ways(asked, asked_jointly), *_spread_layouts(spread)]
    possible = [one for one in made if all(spec.batch <= _MOST_JOINT for spec in one.specs)]
    distinct: dict[tuple[LawSpec, ...], NoiseLayout] = {}
    for layout in possible or [_layout("product", asked)]:
        known = distinct.get(layout.specs)
        if known is None or len(layout.checks) < len(known.checks):
            distinct[layout.specs] = layout
    return list(distinct.values())


def _ways(asked: Sequence[Block], asked_jointly: Sequence[Block]) -> list[NoiseLayout]:
    made = _joint_layout(asked, asked_jointly)
    is_grouped = any(block.group_by for block in asked)
    if is_grouped or not made:
        made.append(_layout("by group", asked))
        if not _has_one_answer(asked):
            made.append(_layout("product", asked))
    if any(spec.weights is not None for layout in made for spec in layout.specs):
        made += [_layout("joint" + APART, asked_jointly)] if _may_be_joint(asked_jointly) else []
        made += [_layout("by group" + APART, asked)] if is_grouped else []
    return made


def _has_one_answer(asked: Sequence[Block]) -> bool:
    return all(len(block.answers) == 1 for block in asked if not is_checks(block))


def _joint_layout(asked: Sequence[Block], asked_jointly: Sequence[Block]) -> list[NoiseLayout]:
    """One draw for all answers, where that may be worth a comparison."""
    if not _may_be_joint(asked_jointly):
        return []
    made = _layout("joint", asked_jointly)
    is_grouped = any(block.group_by for block in asked)
    # One answer moves: noise of its own on each hides that with one draw.
    moves_one = all(spec.batch > 1 == spec.changes.touched_of(spec.batch) for spec in made.specs)
    return [] if is_grouped and moves_one else [made]


def _may_be_joint(asked: Sequence[Block]) -> bool:
    """Whether no law would have too many answers: a law for 100,000 is not laid out for nothing.
    Where keys are found how many groups there are is not known, and no draw serves all of them."""
    if any(is_discovered(block.group_by) for block in asked):
        return False
    kinds = {(w, s) for block in asked for w, s in zip(block.weights, block.sigmas, strict=True)}
    count = sum(len(block.groups) * len(block.answers) for block in asked if not is_checks(block))
    return count <= _MOST_JOINT * len(kinds)


def _spread_layouts(spread: Sequence[Block]) -> list[NoiseLayout]:
    return [_layout("spread", spread)] if any(any(block.spreads) for block in spread) else []


def layouts_of(measured: Sequence[Block]) -> list[NoiseLayout]:
    """The ways to draw noise for measured marginals: those whose noise is uncorrelated between
    cells, and equal and equally correlated within one, which least squares needs."""
    alike = list(measured)
    for view in views_of(measured):
        known = plainly([each for b in view for each in measured[b].ranges])
        for b in view:
            alike[b] = replace(measured[b], ranges=known[:1] * len(measured[b].ranges))
    own = [block for block in measured if not is_checks(block)]
    if all(len(block.answers) == 1 or any(block.spreads) for block in own):
        return [_layout("product", alike)]
    return [replace(_layout("by group" + APART, alike), name="by group"), _layout("product", alike)]


def residual_layout(measured: Sequence[Block]) -> NoiseLayout:
    """One joint draw for the contrasts of all residuals of a table, and for the rows that are
    outside of it: noise for the length of what one person changes in all of them.

    A person in the table is in one cell of each marginal and adds to each answer there at most its
    sensitivity: the squares of the lengths of what that changes in the residuals add up. A person
    outside of it changes the number of such rows by 1 and nothing else.
    """
    entries = asked_answers(measured)
    checks = tuple(i for i, entry in enumerate(entries) if is_checks(measured[entry.block]))
    drawn = tuple(i for i in range(len(entries)) if i not in set(checks))
    squared = max(sum((_squared_reach(block) for block in measured), Fraction(0)), Fraction(1))
    spec = LawSpec(len(drawn), 1, 1.0, None, "real", Euclidean(_root_above(squared)))
    uses = _check_uses([measured[b] for b in {entries[i].block for i in checks}])
    return NoiseLayout("residuals", (spec,), ((0, drawn),), checks, uses, tuple(measured), entries)


def _squared_reach(block: Block) -> Fraction:
    if block.precision is None:
        return Fraction(0)
    scales = contrast_scales(block.sizes, block.precision)
    return len(block.answers) * squared_reach(block.sizes, scales)


def _root_above(squared: Fraction) -> float:
    """The least float whose square is no less."""
    root = math.sqrt(squared)
    while Fraction(root) ** 2 < squared:
        root = math.nextafter(root, math.inf)
    return root


# weights, wanted sigma, answers a draw, domain, what one person changes in it, whether rows are
# spread over its draws
_Shape = tuple[tuple[float, ...], float | None, int, Domain, Changes, bool]
_Shaped = tuple[_Shape, LawSpec, list[tuple[int, ...]]]


def _layout(name: str, asked: Sequence[Block]) -> NoiseLayout:
    """One of the ways.

    1. The checks are set apart; what else shares a wanted sigma, or has none, is one class; where
       weights are apart, or very unequal, what shares a weight.
    2. Each class is cut into draws: of all its answers, of those of one group, or of one.
    3. Draws of one shape have one law. One person is seen in as many of them as the cut says.
    """
    entries = asked_answers(asked)
    weights, ratios = _wanted(asked, entries)
    checks = _check_entries(name, asked, entries)
    finding = _finding_entries(asked, entries)
    left = sorted(set(range(len(entries))) - {*checks, *finding})
    specs: dict[_Shape, LawSpec] = {}
    drawn: list[tuple[_Shape, tuple[int, ...]]] = []
    for ratio, served in _classes(name, left, weights, ratios):
        shaped = [
            *_spread_draws(asked, entries, served, weights),
            *_shaped(name, asked, entries, served, weights, ratio),
        ]
        for shape, found, draws in shaped:
            specs[shape] = _with_more(specs.get(shape), found)
            drawn += [(shape, draw) for draw in draws]
    _check_drawn_once(len(entries), (*checks, *finding), [draw for _, draw in drawn])
    order = {shape: place for place, shape in enumerate(specs)}
    placed = tuple((order[shape], draw) for shape, draw in drawn)
    uses = _check_uses([asked[b] for b in {entries[i].block for i in checks}])
    laid = NoiseLayout(name, tuple(specs.values()), placed, checks, uses, tuple(asked), entries)
    seen = sum(asked[b].touched for b in {entries[i].block for i in finding})
    return replace(laid, finding=finding, finding_uses=seen)


def _finding_entries(asked: Sequence[Block], entries: Sequence[AskedAnswer]) -> tuple[int, ...]:
    """The entries that decide which keys are shown, which have a law of their own."""
    return tuple(i for i, one in enumerate(entries) if asked[one.block].apart == DISCOVERS)


def _classes(
    name: str, left: Sequence[int], weights: Sequence[float], ratios: Sequence[float | None]
) -> list[tuple[float | None, list[int]]]:
    """The entries that may share a draw, with their wanted sigma. No draw serves weights that
    differ very much."""
    own = [weights[i] for i in left] or [1.0]
    is_apart = name.endswith(APART) or max(own) >= _MOST_UNEQUAL * min(own)
    found: dict[tuple[float, float | None], list[int]] = {}
    for i in left:
        found.setdefault((weights[i] if is_apart else 0.0, ratios[i]), []).append(i)
    return [(ratio, served) for (_, ratio), served in found.items()]


def _spec(
    weights: tuple[float, ...], uses: int, ratio: float | None, domain: Domain, changes: Changes
) -> LawSpec:
    """The law of draws with answers of these weights; its factor is √(Σ w² / Σ w⁴), so that the
    weighted error of all is O of the docstring above."""
    if len(set(weights)) == 1:
        return LawSpec(len(weights), uses, 1.0 / weights[0], ratio, domain, changes)
    squares, fourths = sum(w**2 for w in weights), tuple(w**4 for w in weights)
    factor = math.sqrt(squares / sum(fourths))
    return LawSpec(len(weights), uses, factor, ratio, domain, changes, fourths)


def _shaped(
    name: str,
    asked: Sequence[Block],
    entries: Sequence[AskedAnswer],
    served: list[int],
    weights: Sequence[float],
    ratio: float | None,
) -> Iterator[_Shaped]:
    """The entries of one class as draws of laws, but for those that rows are spread over."""
    others = [i for i in served if entries[i].spread is None]
    for seen, draws in _cut(name, asked, entries, others, weights):
        each = tuple(weights[i] for i in draws[0])
        domain = _domain(ratio, [entries[i] for i in served if weights[i] in each])
        changes = _changes(asked, entries, draws)
        shape: _Shape = (each, ratio, len(draws[0]), domain, changes, False)
        yield shape, _spec(each, seen, ratio, domain, changes), draws


def _with_more(known: LawSpec | None, found: LawSpec) -> LawSpec:
    """A law that serves what a known one serves too."""
    if known is None:
        return found
    shifts = Counter(dict(known.shifts))
    shifts.update(dict(found.shifts))
    return replace(found, uses=known.uses + found.uses, shifts=tuple(sorted(shifts.items())))


def _spread_draws(
    asked: Sequence[Block],
    entries: Sequence[AskedAnswer],
    members: Sequence[int],
    weights: Sequence[float],
) -> Iterator[_Shaped]:
    """The entries over which one person's rows are spread, one draw each: by block and answer what
    one person changes there. Where no cell moves by more than one unit every law is judged by the
    same vector, so that any may be designed."""
    alike: dict[tuple[int, Answer], list[int]] = {}
    for i in members:
        if entries[i].spread is not None:
            alike.setdefault((entries[i].block, entries[i].answer), []).append(i)
    for (b, answer), served in alike.items():
        spread = entries[served[0]].spread
        if spread is None:
            continue
        block = asked[b]
        place = block.answers.index(answer) if answer in block.answers else 0
        factor = block.sensitivities[place] / spread.unit / weights[served[0]]
        is_single = spread.change.largest == 1
        shape: _Shape = ((1.0 / factor,), None, 1, "integer", BOX, not is_single)
        shifts = () if is_single else spread.change.shifts
        uses = len(spread.change.concentrated)
        spec = LawSpec(1, uses, factor, None, "integer", BOX, shifts=shifts)
        yield shape, spec, [(i,) for i in served]


def _changes(
    asked: Sequence[Block], entries: Sequence[AskedAnswer], draws: Sequence[Sequence[int]]
) -> Changes:
    """What one person changes in any of these draws, which are alike but for fewer answers in the
    last: a space that holds for the first of them holds for all."""
    served = [entries[i] for i in draws[0]]
    touched = 0
    for b, block in enumerate(asked):
        sizes = Counter(entry.group for entry in served if entry.block == b)
        other = sizes.pop(len(block.groups), 0)
        touched += other + sum(sorted(sizes.values(), reverse=True)[: block.touched])
    ranges = [entry.range for entry in served]
    others = dict.fromkeys(tuple(entries[i].range for i in draw) for draw in draws[1:])
    for other_ranges in others:
        for at, moved in enumerate(_turned(list(other_ranges), ranges)):
            ranges[at] = (min(ranges[at][0], moved[0]), max(ranges[at][1], moved[1]))
    return changes_of(ranges, touched)


def _turned(moved: list[AnswerRange], known: Sequence[AnswerRange]) -> list[AnswerRange]:
    """The ranges of a draw, or, where that is within the known ones, their mirror: a space of
    changes holds the mirror of each. The number of all other keys has the noise of an answer that
    may only fall."""
    mirror = [(-high, -low) for low, high in moved]
    pairs = zip(mirror, known, strict=False)
    is_within = all(least <= low and high <= most for (low, high), (least, most) in pairs)
    return mirror if is_within else moved


def _domain(ratio: float | None, served: Sequence[AskedAnswer]) -> Domain:
    """Counts get integers, where nothing else says how large their noise is."""
    is_whole = ratio is None and all(entry.sensitivity == 1 for entry in served)
    return "integer" if is_whole else "real"


def _check_uses(blocks: Sequence[Block]) -> int:
    """Checks that count persons once are seen in `touched` draws, a cell of other keys in one."""
    return sum(block.touched if is_checks(block) else 1 for block in blocks)


def asked_answers(asked: Sequence[Block]) -> tuple[AskedAnswer, ...]:
    """Every answer of every group of the blocks."""
    found: list[AskedAnswer] = []
    for b, block in enumerate(asked):
        if block.precision is not None:
            found += _contrasts_asked(b, block, block.precision)
            continue
        declared, last = _asked_in(block, 0), len(block.cells) - 1
        for cell in range(len(block.cells)):
            each = _asked_in(block, last) if cell == last else declared
            found += [AskedAnswer(b, cell, *told) for told in each]
    return tuple(_in_its_unit(asked[entry.block], entry) for entry in found)


def _contrasts_asked(b: int, block: Block, precision: float) -> list[AskedAnswer]:
    """Every answer of every contrast of a residual, and of the rows outside of its table."""
    each = list(zip(block.answers, block.sensitivities, strict=True))
    found = [
        AskedAnswer(b, place, *one, scale=scale)
        for place, scale in enumerate(contrast_scales(block.sizes, precision))
        for one in each
    ]
    if block.other is not None:
        found.append(AskedAnswer(b, len(block.groups), block.other, block.other_sensitivity))
    return found


def _in_its_unit(block: Block, entry: AskedAnswer) -> AskedAnswer:
    """The answer, in the unit of its spread where it has one."""
    is_apart = entry.group == len(block.groups) and not block.other_is_free
    if not block.spreads or is_apart or entry.answer not in block.answers:
        return entry
    spread = block.spreads[block.answers.index(entry.answer)]
    return entry if spread is None else replace(entry, sensitivity=spread.unit, spread=spread)


def _asked_in(block: Block, cell: int) -> list[tuple[Answer, int, AnswerRange]]:
    """The answers of a cell with their sensitivities and ranges."""
    count = len(block.answers)
    ranges = block.ranges or (EITHER_WAY,) * (count + 1)
    answers = block.answers_of(cell)
    if answers == block.answers:
        return list(zip(answers, block.sensitivities, ranges[:count], strict=True))
    return [(answers[0], block.other_sensitivity, ranges[-1])]


def _wanted(
    asked: Sequence[Block], entries: Sequence[AskedAnswer]
) -> tuple[list[float], list[float | None]]:
    """The weight of each entry, and its wanted sigma in sensitivities."""
    weights, ratios = list[float](), list[float | None]()
    for entry in entries:
        block = asked[entry.block]
        place = block.answers.index(entry.answer) if entry.answer in block.answers else 0
        wanted, sensitivity = block.sigmas[place], block.sensitivities[place]
        ratio = None if wanted is None else min(wanted / sensitivity, LARGEST)
        if ratio is not None and ratio < SMALLEST:
            raise DesignError(
                f"Expected the wanted sigma of an answer to be at least {SMALLEST} of its "
                f"sensitivity ({sensitivity} lattice units): declare a larger sigma."
            )
        weights.append(1.0 if ratio is not None else block.weights[place])
        ratios.append(ratio)
    return weights, ratios


def _check_entries(
    name: str, asked: Sequence[Block], entries: Sequence[AskedAnswer]
) -> tuple[int, ...]:
    """The entries that are checks, and not in the draws of what is asked for."""
    found = []
    for i, entry in enumerate(entries):
        block = asked[entry.block]
        is_other = entry.group == len(block.groups)
        is_apart = is_other and (name.startswith("joint") or not block.other_is_free)
        if is_checks(block) or is_apart:
            found.append(i)
    return tuple(found)


def _cut(
    name: str,
    asked: Sequence[Block],
    entries: Sequence[AskedAnswer],
    members: list[int],
    weights: Sequence[float],
) -> Iterator[tuple[int, list[tuple[int, ...]]]]:
    """The entries of one class as draws of one size: how many see one person, and the draws."""
    if not members:  # all of them have rows spread over them
        return
    if name.startswith("joint"):
        yield 1, [tuple(members)]
        return
    is_grouped = name.startswith("by group")
    views = views_of(asked) if is_grouped else [(b,) for b in range(len(asked))]
    for served in _in_views(views, entries, members):
        # The cells of most answers come first: a law that serves those serves the others.
        groups = sorted(_by_cell(asked, entries, served), key=len, reverse=True)
        touched = max(asked[b].touched for b in {entries[i].block for i in served})
        if is_grouped:
            yield touched, [tuple(group) for group in groups]
        else:
            yield from _one_by_one(groups, touched, weights)


def _one_by_one(
    groups: Sequence[Sequence[int]], touched: int, weights: Sequence[float]
) -> Iterator[tuple[int, list[tuple[int, ...]]]]:
    """A draw for each answer, those of one weight together."""
    for weight, count in Counter(weights[i] for i in groups[0]).items():
        alike = [i for group in groups for i in group if weights[i] == weight]
        yield touched * count, [(i,) for i in alike]


def _check_drawn_once(count: int, checks: Sequence[int], draws: Sequence[tuple[int, ...]]) -> None:
    """No answer is without noise, and none has it twice."""
    if sorted(chain(checks, *draws)) != list(range(count)):
        raise DesignError("Some answer would have no noise, or twice: please report the plan.")


def _in_views(
    views: Sequence[tuple[int, ...]], entries: Sequence[AskedAnswer], members: Sequence[int]
) -> Iterator[list[int]]:
    """The entries of each view that has any."""
    of_block: dict[int, list[int]] = {}
    for i in members:
        of_block.setdefault(entries[i].block, []).append(i)
    found = (list(chain(*(of_block.get(b, ()) for b in view))) for view in views)
    return filter(None, found)


def _by_cell(
    asked: Sequence[Block], entries: Sequence[AskedAnswer], members: Sequence[int]
) -> list[list[int]]:
    """The entries of one view, cell by cell."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for i in members:
        entry = entries[i]
        groups.setdefault(asked[entry.block].cells[entry.group], []).append(i)
    return list(groups.values())


def views_of(asked: Sequence[Block]) -> list[tuple[int, ...]]:
    """The blocks whose answers of one cell share a draw: those of one grouping, where one row is
    one person.

    Of a grouping a plan may measure the marginal of a table, with hidden keys, and beside it what
    is in no table. A row that counts in a cell of both has the same keys in both, so it is in the
    same cell of them. A person who is in no declared cell of the one may be in a hidden cell of the
    other, and in no third place; but not in a hierarchy, where a hidden cell has other labels in a
    table with the keys above than in one without; nor where a block has a cell of its own for all
    other rows: a person could be there and in a cell of the other block. Such a block stays by
    itself, unless its rows there count nowhere else, because of keys that are complete.
    """
    found: dict[tuple[Key, ...], list[int]] = {}
    alone: list[tuple[int, ...]] = []
    shared = {block.group_by for block in asked if _is_one_row(block)}
    for b, block in enumerate(asked):
        if block.group_by in shared and _may_share(block):
            found.setdefault(block.group_by, []).append(b)
        else:
            alone.append((b,))
    return sorted([*alone, *(tuple(view) for view in found.values())])


def _is_one_row(block: Block) -> bool:
    return block.marginal is not None and block.marginal.is_one_row


def _may_share(block: Block) -> bool:
    is_nested = any(key.within is not None for key in block.group_by)
    is_plain = block.where is None and not is_nested and not is_checks(block)
    is_plain = is_plain and block.level is None
    return is_plain and _has_no_third_place(block)


def _has_no_third_place(block: Block) -> bool:
    if block.other is None:
        return True
    return block.marginal is not None and all(key.complete for key in block.marginal.within)


def in_batches(entries: Sequence[int], size: int) -> list[tuple[int, ...]]:
    """The entries cut into draws of a size; the last may have fewer."""
    return [tuple(entries[at : at + size]) for at in range(0, len(entries), size)]
