"""Which blocks are counted by one scan of the table.

The measured marginals of a table with margins are of the same rows, so a scan by all their columns
together counts them all: what it finds is added up, exactly, in integers. Marginals share a scan as
long as their columns have no more than `MOST_CELLS` cells together; every other block has a scan of
its own. 66 marginals of 12 columns are counted by four scans.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from leastnoise.releases.data.counts import Counts
from leastnoise.releases.noise.sensitivity import Block
from leastnoise.releases.plan.keys import Key
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
        if block.marginal is None or scan.block.marginal != block.marginal:
            continue
        keys = tuple(dict.fromkeys((*scan.block.group_by, *block.group_by)))
        if math.prod(_size(block, key) for key in keys) <= MOST_CELLS:
            holder = block if scan.block.other is None else scan.block
            return at, replace(holder, group_by=keys)
    return None


def _size(block: Block, key: Key) -> int:
    is_hidden = block.marginal is not None and key in block.marginal.hidden
    return len(key.labels) + is_hidden


def parted(scan: Scan, blocks: Sequence[Block], counts: Counts) -> list[Counts]:
    """The integers of every block that a scan serves, in the order of `serves`."""
    if len(scan.serves) == 1:
        return [counts]
    return [_added_up(scan.block, blocks[b], counts) for b in scan.serves]


def _added_up(finest: Block, block: Block, counts: Counts) -> Counts:
    places = [finest.group_by.index(key) for key in block.group_by]
    totals = {group: [0] * len(block.answers) for group in block.groups}
    for group in finest.groups:
        total = totals[tuple(group[place] for place in places)]
        for a, value in enumerate(counts[group]):
            total[a] += value
    found: Counts = {group: tuple(total) for group, total in totals.items()}
    if block.other is not None:
        found[block.cells[-1]] = counts[finest.cells[-1]]
    return found
