"""Which answers share a draw of noise: the three ways that `sensitivity` proves valid, and what the
checks get beside them.

Answers of another weight, or with a wanted sigma, have a law of their own. The checks have one too,
for `CHECKS` of ε. The discrete Laplace law is pure: it adds to ε at most what it costs, and nothing
to δ. What is asked for gets the rest, so its noise grows by 1/(1 − CHECKS) at most, 1.5 %.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from leastnoise.changes import BOX, Changes
from leastnoise.designer.request import LARGEST_RATIO, smallest_ratio
from leastnoise.errors import DesignError
from leastnoise.laws.base import Domain
from leastnoise.releases.noise.sensitivity import Answer, Block, changes_of, is_checks
from leastnoise.releases.plan.keys import Key

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


@dataclass(frozen=True)
class LawSpec:
    """A law to find: `batch` answers a draw, `uses` draws seen; sigma = scale·factor, or fixed. Of
    the answers of one draw a person makes the `changes`."""

    batch: int
    uses: int
    factor: float
    fixed: float | None
    domain: Domain
    changes: Changes = BOX

    def sigma(self, scale: float) -> float:
        """Kept within what can be designed for: not all very different weights can be had."""
        if self.fixed is not None:
            return self.fixed
        return min(max(scale * self.factor, SMALLEST), LARGEST)


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


def layouts(asked: Sequence[Block], asked_jointly: Sequence[Block]) -> list[NoiseLayout]:
    """The ways that are worth a comparison, each law of another shape."""
    made = _joint_layout(asked, asked_jointly)
    if any(block.group_by for block in asked) or not made:
        made.append(_layout("by group", asked))
        if not _has_one_answer(asked):
            made.append(_layout("product", asked))
    possible = [one for one in made if all(spec.batch <= _MOST_JOINT for spec in one.specs)]
    distinct: dict[tuple[LawSpec, ...], NoiseLayout] = {}
    for layout in possible or [_layout("product", asked)]:
        known = distinct.get(layout.specs)
        if known is None or len(layout.checks) < len(known.checks):
            distinct[layout.specs] = layout
    return list(distinct.values())


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
    """Whether no law would have too many answers: a law for 100,000 is not laid out for nothing."""
    kinds = {(w, s) for block in asked for w, s in zip(block.weights, block.sigmas, strict=True)}
    count = sum(len(block.groups) * len(block.answers) for block in asked if not is_checks(block))
    return count <= _MOST_JOINT * len(kinds)


def layouts_of(measured: Sequence[Block]) -> list[NoiseLayout]:
    """The ways to draw noise for measured marginals: those whose noise is uncorrelated between
    cells, which least squares needs."""
    if _has_one_answer(measured):
        return [_layout("product", measured)]
    return [_layout("by group", measured), _layout("product", measured)]


# weight, wanted sigma, answers a draw, domain, what one person changes in it
_Shape = tuple[float, float | None, int, Domain, Changes]


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
    for (weight, ratio), members in classes.items():
        served = [i for i in members if i not in apart]
        domain = _domain(ratio, [entries[i] for i in served])
        for batch, seen, draws in _cut(name, asked, entries, served):
            changes = _changes(asked, entries, draws)
            shape = (weight, ratio, batch, domain, changes)
            before = specs[shape].uses if shape in specs else 0
            specs[shape] = LawSpec(batch, before + seen, 1.0 / weight, ratio, domain, changes)
            drawn += [(shape, draw) for draw in draws]
    order = {shape: place for place, shape in enumerate(specs)}
    placed = tuple((order[shape], draw) for shape, draw in drawn)
    uses = _check_uses([asked[b] for b in {entries[i].block for i in checks}])
    return NoiseLayout(name, tuple(specs.values()), placed, checks, uses, tuple(asked), entries)


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
    found: list[AskedAnswer] = []
    for b, block in enumerate(asked):
        declared, last = _asked_in(block, 0), len(block.cells) - 1
        for cell in range(len(block.cells)):
            each = _asked_in(block, last) if cell == last else declared
            found += [AskedAnswer(b, cell, *told) for told in each]
    return tuple(found)


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
    views = views_of(asked) if name == "by group" else [(b,) for b in range(len(asked))]
    of_block: dict[int, list[int]] = {}
    for i in members:
        of_block.setdefault(entries[i].block, []).append(i)
    for view in views:
        served = list(chain(*(of_block.get(b, ()) for b in view)))
        if served:
            groups = _by_cell(asked, entries, served)
            size = max(map(len, groups))
            batch = size if name == "by group" else 1
            draws = list(chain(*(in_batches(group, batch) for group in groups)))
            yield batch, _touched(asked, entries, served) * (size // batch), draws


def _touched(asked: Sequence[Block], entries: Sequence[AskedAnswer], served: Sequence[int]) -> int:
    """How many cells of a view one person is in, at most."""
    return max(asked[b].touched for b in {entries[i].block for i in served})


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
    other, and in no third place; but not where a block has a cell of its own for all other rows: a
    person could be there and in a cell of the other block. Such a block stays by itself, unless
    its rows there count nowhere else, because of keys that are complete.
    """
    found: dict[tuple[Key, ...], list[int]] = {}
    alone: list[tuple[int, ...]] = []
    marginals = (block for block in asked if block.marginal is not None)
    shared = {block.group_by for block in marginals if _is_one_row(block)}
    for b, block in enumerate(asked):
        if block.group_by in shared and not is_checks(block) and _has_no_third_place(block):
            found.setdefault(block.group_by, []).append(b)
        else:
            alone.append((b,))
    return sorted([*alone, *(tuple(view) for view in found.values())])


def _is_one_row(block: Block) -> bool:
    return block.marginal is not None and block.marginal.is_one_row


def _has_no_third_place(block: Block) -> bool:
    if block.other is None:
        return True
    return block.marginal is not None and all(key.complete for key in block.marginal.within)


def in_batches(entries: Sequence[int], size: int) -> list[tuple[int, ...]]:
    """The entries cut into draws of a size; the last may have fewer."""
    return [tuple(entries[at : at + size]) for at in range(0, len(entries), size)]
