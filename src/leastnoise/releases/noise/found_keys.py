"""A plan and its noise once the keys are known that were to be discovered.

Until then a mechanism has one group that stands for each that may be found. Its laws do not depend
on how many there are: a draw serves the answers of one group, and a person is seen in as many draws
as the plan says. So the same laws serve the keys that are found, with a draw for each.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from leastnoise.releases.noise.layout import asked_answers
from leastnoise.releases.noise.mechanism import Draw, Mechanism
from leastnoise.releases.noise.sensitivity import Answer, Block
from leastnoise.releases.plan.keys import ANY_KEY, Key, is_discovered
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.statistic import MOST_GROUPS

Found = Mapping[Key, Sequence[str]]  # the keys of each column, as they are labelled
_Cell = tuple[int, tuple[str, ...]]  # a block, and the labels of a group
_Named = tuple[int, tuple[str, ...], int]


def with_found(plan: Plan, made: Mechanism, found: Found) -> tuple[Plan, Mechanism]:
    """The plan and its noise with the keys that were found in the place of those to be found."""
    keys = {
        key: replace(key, values=tuple(labels), discover="found") for key, labels in found.items()
    }

    def known(group_by: tuple[Key, ...]) -> tuple[Key, ...]:
        return tuple(keys.get(key, key) for key in group_by)

    def of(answer: Answer) -> Answer:
        return replace(answer, group_by=known(answer.group_by))

    statistics = tuple(replace(one, group_by=known(one.group_by)) for one in plan.statistics)
    blocks = tuple(
        replace(block, group_by=known(block.group_by), answers=tuple(map(of, block.answers)))
        for block in made.blocks
    )
    changed = replace(made, blocks=blocks, entries=asked_answers(blocks))
    return replace(plan, statistics=statistics), replace(changed, draws=_draws(made, changed))


def _draws(before: Mechanism, after: Mechanism) -> tuple[Draw, ...]:
    """The draws, one for each group that is now known in the place of one that stood for all. The
    entries of such a draw are those of one group."""
    now = {_named(after, i): i for i in range(len(after.entries))}
    standing = _standing_for(after.blocks)
    found = []
    for draw in before.draws:
        served = [_named(before, i) for i in draw.entries]
        block, cell, _ = served[0]
        if is_discovered(before.blocks[block].group_by):
            known = standing.get((block, cell), [])
            listed = [[(b, labels, place) for b, _, place in served] for labels in known]
        else:
            listed = [served]
        found += [replace(draw, entries=tuple(now[one] for one in each)) for each in listed]
    return tuple(found)


def _named(made: Mechanism, entry: int) -> _Named:
    """An entry by its block, the labels of its group, and the place of its answer there."""
    asked = made.entries[entry]
    block = made.blocks[asked.block]
    place = block.answers_of(asked.group).index(asked.answer)
    return asked.block, block.cells[asked.group], place


def _standing_for(blocks: Sequence[Block]) -> dict[_Cell, list[tuple[str, ...]]]:
    """The groups of each block for which one of the blocks before stood."""
    found: dict[_Cell, list[tuple[str, ...]]] = {}
    for b, block in enumerate(blocks):
        for labels in block.groups if is_discovered(block.group_by) else ():
            pairs = zip(block.group_by, labels, strict=True)
            stood = tuple(ANY_KEY if key.discover else label for key, label in pairs)
            found.setdefault((b, stood), []).append(labels)
    return found


def most_of_each(plan: Plan) -> int:
    """How many keys of a column may be shown, so that no statistic has too many groups."""
    found = [MOST_GROUPS]
    for statistic in plan.statistics:
        wanted = sum(bool(key.discover) for key in statistic.group_by)
        declared = [len(key.labels) for key in statistic.group_by if not key.discover]
        if wanted:
            found.append(math.floor((MOST_GROUPS / math.prod(declared)) ** (1.0 / wanted)))
    return max(min(found), 1)
