"""Which blocks are counted by one scan of the table.

The measured marginals of a table with margins are of the same rows, so a scan by all their columns
together counts them all: what it finds is added up, exactly, in integers. Marginals share a scan as
long as their columns have no more than `MOST_CELLS` cells together; every other block has a scan of
its own. 66 marginals of 12 columns are counted by four scans. The levels of a tree of counts are
added up from its last level in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from leastnoise.releases.data.counts import Counts
from leastnoise.releases.noise.sensitivity import Block
from leastnoise.releases.plan.keys import Key, label_above
from leastnoise.releases.tables.strategy import MOST_CELLS


@dataclass(frozen=True)
class Scan:
    """What one query counts, and the places of the blocks that are added up from it."""

    block: Block
    serves: tuple[int, ...]


def scans(blocks: Sequence[Block]) -> tuple[Scan, ...]:
    """The scans that count all blocks, in the order of the first block that each serves."""
    found: list[Scan] = []
    for b, block in enumerate(blocks):
        shared = _joined(found, block)
        if shared is None:
            found.append(Scan(block, (b,)))
        else:
            at, wider = shared
            found[at] = Scan(wider, (*found[at].serves, b))
    return tuple(found)


def _joined(found: Sequence[Scan], block: Block) -> tuple[int, Block] | None:
    """The first scan that may count a block too, and its block then."""
    for at, scan in enumerate(found):
        if _is_of_one_tree(scan.block, block):
            return at, max(scan.block, block, key=_level)
        if block.marginal is None or scan.block.marginal != block.marginal:
            continue
        keys = _finest((*scan.block.group_by, *block.group_by))
        if math.prod(_size(block, key) for key in keys) <= MOST_CELLS:
            holder = block if scan.block.other is None else scan.block
            return at, replace(holder, group_by=keys)
    return None


def _is_of_one_tree(one: Block, other: Block) -> bool:
    """Whether two blocks are levels of the same tree."""
    if one.level is None or other.level is None:
        return False
    alike = (one.group_by, one.answers) == (other.group_by, other.answers)
    return alike and one.level.tree == other.level.tree


def _level(block: Block) -> int:
    return 0 if block.level is None else block.level.level


def _finest(keys: Sequence[Key]) -> tuple[Key, ...]:
    """Each column once, and none whose keys another one's are within: those tell both."""
    told = {above for key in keys for above in key.path[:-1]}
    return tuple(key for key in dict.fromkeys(keys) if key not in told)


def _size(block: Block, key: Key) -> int:
    return len(key.labels) if block.marginal is None else len(block.marginal.labels(key))


def parted(scan: Scan, blocks: Sequence[Block], counts: Counts) -> list[Counts]:
    """The integers of every block that a scan serves, in the order of `serves`."""
    if len(scan.serves) == 1:
        return [counts]
    if scan.block.level is not None:
        return [_of_level(scan.block, blocks[b], counts) for b in scan.serves]
    return [_added_up(scan.block, blocks[b], counts) for b in scan.serves]


def _of_level(finest: Block, block: Block, counts: Counts) -> Counts:
    """The nodes of a level, from those of the last."""
    totals = dict.fromkeys(block.groups, 0)
    width = len(finest.groups) // len(block.groups)
    for group, (rows,) in counts.items():
        totals[(*group[:-1], str(int(group[-1]) // width))] += rows
    return {group: (rows,) for group, rows in totals.items()}


def _added_up(finest: Block, block: Block, counts: Counts) -> Counts:
    coarse = [_coarser(finest, key) for key in block.group_by]
    totals = {group: [0] * len(block.answers) for group in block.groups}
    for group in finest.groups:
        total = totals[tuple(labels[group[place]] for place, labels in coarse)]
        for a, value in enumerate(counts[group]):
            total[a] += value
    found: Counts = {group: tuple(total) for group, total in totals.items()}
    if block.other is not None:
        found[block.cells[-1]] = counts[finest.cells[-1]]
    return found


def _coarser(finest: Block, key: Key) -> tuple[int, dict[str, str]]:
    """Where the keys of a column are told in a finer block, and the label there is for each."""
    place = next(i for i, one in enumerate(finest.group_by) if key in one.path)
    told, about = finest.group_by[place], finest.marginal
    labels = told.labels if about is None else about.labels(told)
    return place, {label: label if told == key else label_above(label, key) for label in labels}
