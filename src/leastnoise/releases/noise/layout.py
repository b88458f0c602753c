"""Which answers share a draw of noise: the three ways that `sensitivity` proves valid, and what the
checks get beside them.

Answers of another weight, or with a wanted sigma, have a law of their own. The checks have one too,
for `CHECKS` of ε. The discrete Laplace law is pure: it adds to ε at most what it costs, and nothing
to δ. What is asked for gets the rest, so its noise grows by 1/(1 − CHECKS) at most, 1.5 %.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from leastnoise.changes import BOX, Changes
from leastnoise.designer.request import LARGEST_RATIO, smallest_ratio
from leastnoise.errors import DesignError
from leastnoise.laws.base import Domain
from leastnoise.releases.noise.log_concave import Shifts
from leastnoise.releases.noise.one_view import Spread
from leastnoise.releases.noise.sensitivity import Answer, Block, changes_of, is_checks

SMALLEST, LARGEST = smallest_ratio("real"), 0.99 * LARGEST_RATIO  # sigma/sensitivity
# Share of ε for the checks: a person counts once, so their noise is √2/0.015 = 94 persons at ε = 1.
CHECKS = 0.015
_MOST_CHECKS = 0.1  # of ε for all checks: noise of 14 persons will do
_LEAST_CHECK = 1e-4  # of ε a draw: below, the table of the law has more than 600,000 entries
# Answers in one joint draw: beyond, independent noise is better (python -m benchmarks batches).
_MOST_JOINT = 100


@dataclass(frozen=True)
class AskedAnswer:
    """One answer of one group."""

    block: int
    group: int
    answer: Answer
    sensitivity: int
    is_one_sided: bool = False  # a person who comes can only add to it
    spread: Spread | None = None  # then `sensitivity` is its unit


@dataclass(frozen=True)
class LawSpec:
    """A law to find: `batch` answers a draw, `uses` draws seen; sigma = scale·factor, or fixed. Of
    the answers of one draw a person makes the `changes`.

    Where one person's rows are spread over the draws, `shifts` says by how much these move, and how
    many; the law must then be one that `one_view` knows the worst spread of."""

    batch: int
    uses: int
    factor: float
    fixed: float | None
    domain: Domain
    changes: Changes = BOX
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

    def check_epsilon(self, epsilon: float) -> float:
        """ε of one draw for a check."""
        uses = max(self.check_uses, 1)
        least = min(_LEAST_CHECK, 0.25 * epsilon / uses)
        return max(min(CHECKS * epsilon, _MOST_CHECKS) / uses, least)

    def left_for_answers(self, epsilon: float, delta: float) -> tuple[float, float]:
        """(ε, δ) of what is asked for, beside the checks."""
        if not self.checks:
            return epsilon, delta
        return epsilon - self.check_uses * self.check_epsilon(epsilon), (1.0 - CHECKS) * delta


def layouts(
    asked: Sequence[Block], asked_jointly: Sequence[Block], spread: Sequence[Block] = ()
) -> list[NoiseLayout]:
    """The ways that are worth a comparison, each law of another shape."""
    made = [_layout("joint", asked_jointly), *_spread_layouts(spread)]
    if any(block.group_by for block in asked):
        made += [_layout("by group", asked), _layout("product", asked)]
        if all(spec.batch > 1 == spec.changes.touched_of(spec.batch) for spec in made[0].specs):
            del made[0]  # one answer moves: noise of its own on each hides that with one draw
    possible = [one for one in made if all(spec.batch <= _MOST_JOINT for spec in one.specs)]
    distinct: dict[tuple[LawSpec, ...], NoiseLayout] = {}
    for layout in possible or [_layout("product", asked)]:
        known = distinct.get(layout.specs)
        if known is None or len(layout.checks) < len(known.checks):
            distinct[layout.specs] = layout
    return list(distinct.values())


def _spread_layouts(spread: Sequence[Block]) -> list[NoiseLayout]:
    return [_layout("spread", spread)] if any(any(block.spreads) for block in spread) else []


def layouts_of(measured: Sequence[Block]) -> list[NoiseLayout]:
    """The ways to draw noise for measured marginals: those whose noise is uncorrelated between
    cells, which least squares needs."""
    asked = [block for block in measured if not is_checks(block)]
    if all(len(block.answers) == 1 or any(block.spreads) for block in asked):
        return [_layout("product", measured)]
    return [_layout("by group", measured), _layout("product", measured)]


# noise in units of the scale, wanted sigma, answers a draw, domain, what one person changes in it,
# whether rows are spread over its draws
_Shape = tuple[float, float | None, int, Domain, Changes, bool]


def _layout(name: str, asked: Sequence[Block]) -> NoiseLayout:
    """One of the ways.

    1. The checks are set apart; what else shares a weight, or a wanted sigma, is one class.
    2. Each class is cut into draws: of all its answers, of those of one group, or of one.
    3. Draws of one shape have one law. One person is seen in as many of them as the cut says.
    """
    entries = asked_answers(asked)
    classes = _classes(asked, entries)
    checks = _check_entries(name, asked, entries)
    apart = set(checks)
    specs: dict[_Shape, LawSpec] = {}
    drawn: list[tuple[_Shape, tuple[int, ...]]] = []
    for (weight, ratio), every in classes.items():
        members = [i for i in every if i not in apart]
        spread, served = _by_spread(entries, members)
        shaped = [
            *_spread_draws(asked, entries, spread, weight),
            *_shaped(name, asked, entries, served, weight, ratio),
        ]
        for shape, found, draws in shaped:
            specs[shape] = _with_more(specs.get(shape), found)
            drawn += [(shape, draw) for draw in draws]
    order = {shape: place for place, shape in enumerate(specs)}
    placed = tuple((order[shape], draw) for shape, draw in drawn)
    uses = _check_uses([asked[b] for b in {entries[i].block for i in checks}])
    return NoiseLayout(name, tuple(specs.values()), placed, checks, uses, tuple(asked), entries)


def _by_spread(
    entries: Sequence[AskedAnswer], members: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Those over which one person's rows are spread, and the others."""
    spread = [i for i in members if entries[i].spread is not None]
    return spread, [i for i in members if entries[i].spread is None]


def _shaped(
    name: str,
    asked: Sequence[Block],
    entries: Sequence[AskedAnswer],
    served: list[int],
    weight: float,
    ratio: float | None,
) -> Iterator[tuple[_Shape, LawSpec, list[tuple[int, ...]]]]:
    """The entries of one class as draws of laws."""
    domain = _domain(ratio, [entries[i] for i in served])
    for batch, seen, draws in _cut(name, asked, entries, served):
        changes = _changes(asked, entries, draws)
        shape: _Shape = (1.0 / weight, ratio, batch, domain, changes, False)
        yield shape, LawSpec(batch, seen, 1.0 / weight, ratio, domain, changes), draws


def _with_more(known: LawSpec | None, found: LawSpec) -> LawSpec:
    """A law that serves what a known one serves too."""
    if known is None:
        return found
    shifts = Counter(dict(known.shifts))
    shifts.update(dict(found.shifts))
    return replace(found, uses=known.uses + found.uses, shifts=tuple(sorted(shifts.items())))


def _spread_draws(
    asked: Sequence[Block], entries: Sequence[AskedAnswer], members: Sequence[int], weight: float
) -> Iterator[tuple[_Shape, LawSpec, list[tuple[int, ...]]]]:
    """The entries over which one person's rows are spread, one draw each: by block and answer what
    one person changes there. Where no cell moves by more than one unit every law is judged by the
    same vector, so that any may be designed."""
    alike: dict[tuple[int, Answer], list[int]] = {}
    for i in members:
        alike.setdefault((entries[i].block, entries[i].answer), []).append(i)
    for (b, answer), served in alike.items():
        spread = entries[served[0]].spread
        if spread is None:
            continue
        block = asked[b]
        place = block.answers.index(answer) if answer in block.answers else 0
        factor = block.sensitivities[place] / spread.unit / weight
        is_single = spread.change.largest == 1
        shape: _Shape = (factor, None, 1, "integer", BOX, not is_single)
        shifts = () if is_single else spread.change.shifts
        uses = len(spread.change.concentrated)
        spec = LawSpec(1, uses, factor, None, "integer", BOX, shifts)
        yield shape, spec, [(i,) for i in served]


def _changes(
    asked: Sequence[Block], entries: Sequence[AskedAnswer], draws: Sequence[Sequence[int]]
) -> Changes:
    """What one person changes in any of these draws, which are alike but for fewer answers in the
    last: a space that holds for the first of them holds for all."""
    served = [entries[i] for i in draws[0]]
    one_sided = [entries[i].is_one_sided for draw in draws for i in draw]
    touched = 0
    for b, block in enumerate(asked):
        sizes = Counter(entry.group for entry in served if entry.block == b)
        other = sizes.pop(len(block.groups), 0)
        touched += other + sum(sorted(sizes.values(), reverse=True)[: block.touched])
    return changes_of([all(one_sided)] * len(served), touched)


def _domain(ratio: float | None, served: Sequence[AskedAnswer]) -> Domain:
    """Counts get integers, where nothing else says how large their noise is."""
    is_whole = ratio is None and all(entry.sensitivity == 1 for entry in served)
    return "integer" if is_whole else "real"


def _check_uses(blocks: Sequence[Block]) -> int:
    """Checks that count persons once are seen in `touched` draws, a cell of other keys in one."""
    return sum(block.touched if is_checks(block) else 1 for block in blocks)


def asked_answers(asked: Sequence[Block]) -> tuple[AskedAnswer, ...]:
    """Every answer of every group of the blocks."""
    found = (
        AskedAnswer(b, cell, *told)
        for b, block in enumerate(asked)
        for cell in range(len(block.cells))
        for told in _asked_in(block, cell)
    )
    return tuple(_in_its_unit(asked[entry.block], entry) for entry in found)


def _in_its_unit(block: Block, entry: AskedAnswer) -> AskedAnswer:
    """The answer, in the unit of its spread where it has one."""
    is_apart = entry.group == len(block.groups) and not block.other_is_free
    if not block.spreads or is_apart or entry.answer not in block.answers:
        return entry
    spread = block.spreads[block.answers.index(entry.answer)]
    return entry if spread is None else replace(entry, sensitivity=spread.unit, spread=spread)


def _asked_in(block: Block, cell: int) -> list[tuple[Answer, int, bool]]:
    """The answers of a cell with their sensitivities, and whether a person who comes only adds."""
    count = len(block.answers)
    one_sided = block.is_one_sided or (False,) * (count + 1)
    answers = block.answers_of(cell)
    if answers == block.answers:
        return list(zip(answers, block.sensitivities, one_sided[:count], strict=True))
    return [(answers[0], block.other_sensitivity, one_sided[-1])]


def _classes(
    asked: Sequence[Block], entries: Sequence[AskedAnswer]
) -> dict[tuple[float, float | None], list[int]]:
    """The entries that share a law, by their weight, or by their wanted sigma in sensitivities."""
    classes: dict[tuple[float, float | None], list[int]] = {}
    for index, entry in enumerate(entries):
        block = asked[entry.block]
        if is_checks(block):
            continue
        place = block.answers.index(entry.answer) if entry.answer in block.answers else 0
        wanted, sensitivity = block.sigmas[place], block.sensitivities[place]
        ratio = None if wanted is None else min(wanted / sensitivity, LARGEST)
        if ratio is not None and ratio < SMALLEST:
            raise DesignError(
                f"Expected the wanted sigma of an answer to be at least {SMALLEST} of its "
                f"sensitivity ({sensitivity} lattice units): declare a larger sigma."
            )
        weight = 1.0 if ratio is not None else block.weights[place]
        classes.setdefault((weight, ratio), []).append(index)
    return classes


def _check_entries(
    name: str, asked: Sequence[Block], entries: Sequence[AskedAnswer]
) -> tuple[int, ...]:
    """The entries that are checks, and not in the draws of what is asked for."""
    found = []
    for i, entry in enumerate(entries):
        block = asked[entry.block]
        is_other = entry.group == len(block.groups)
        is_apart = is_other and (name == "joint" or not block.other_is_free)
        if is_checks(block) or is_apart:
            found.append(i)
    return tuple(found)


def _cut(
    name: str, asked: Sequence[Block], entries: Sequence[AskedAnswer], members: list[int]
) -> Iterator[tuple[int, int, list[tuple[int, ...]]]]:
    """The entries of one class as draws: answers in each, how many see one person, the draws."""
    if name == "joint":
        yield len(members), 1, [tuple(members)]
        return
    for b, block in enumerate(asked):
        groups: dict[int, list[int]] = {}
        for i in members:
            if entries[i].block == b:
                groups.setdefault(entries[i].group, []).append(i)
        if groups:
            size = len(next(iter(groups.values())))
            batch = size if name == "by group" else 1
            draws = [served for group in groups.values() for served in in_batches(group, batch)]
            yield batch, block.touched * (size // batch), draws


def in_batches(entries: Sequence[int], size: int) -> list[tuple[int, ...]]:
    """The entries cut into draws of a size; the last may have fewer."""
    return [tuple(entries[at : at + size]) for at in range(0, len(entries), size)]
