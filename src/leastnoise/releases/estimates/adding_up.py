"""Counts of a plan whose groupings are measured by themselves, so that they add up all the same.

Where one row is one person the rows of every grouping, with its cell of all other keys, are all
rows. In a table with margins they add up because of what is measured (`reconstructed`); elsewhere
the total t and the cells y of each grouping G are moved by least squares to T = Σ_{i∈G} x_i for
every G. With the matrix C of those conditions, a row for each grouping, and Σ the variances,

    x = y − Σ Cᵀ (C Σ Cᵀ)⁻¹ C y

so each number is a linear form in the noise, whose law is known (`linear`). Often the cell of other
keys is a check with noise of 96 persons, which says nothing of the others: it becomes what the
total leaves, and they stay as they are, which are whole numbers. Sums are exact
(`tables.exact_sums`). All of it is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from weakref import WeakKeyDictionary

import numpy as np

from leastnoise.releases.estimates.checks import checks
from leastnoise.releases.estimates.estimate import entries_of
from leastnoise.releases.estimates.linear import noise_of
from leastnoise.releases.estimates.row import ReleasedRow
from leastnoise.releases.noise.mechanism import Mechanism
from leastnoise.releases.noise.sensitivity import Answer
from leastnoise.releases.plan.keys import Key
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.tables.exact_sums import with_exact_sums
from leastnoise.releases.tables.reconstruction import Floats

_WEAK = 20.0  # times what the total leaves, a variance: such a cell would better a total by 2.5 %
_SAYS_NOTHING = 1e30  # and is told by the others alone, so that these stay whole numbers
# The errors after least squares are the same in every release of a mechanism.
_KNOWN: WeakKeyDictionary[Mechanism, dict[int, tuple[float, float]]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Conditions:
    """The entry of the number of all rows, and of each grouping those of its cells, the last that
    of all other keys; and the variances of their noise."""

    total: int
    groupings: tuple[tuple[int, ...], ...]
    variances: Mapping[int, float]

    @cached_property
    def _spreads(self) -> list[float]:
        return [math.fsum(self.variances[i] for i in cells) for cells in self.groupings]

    @cached_property
    def _shares(self) -> list[float]:
        """Of the number of all rows by least squares: the weight of its own entry, and of the sum
        of each grouping."""
        each = [1.0 / spread for spread in (self.variances[self.total], *self._spreads)]
        return [one / math.fsum(each) for one in each]

    @cached_property
    def _grouping(self) -> dict[int, int]:
        return {i: g for g, cells in enumerate(self.groupings) for i in cells}

    def moved(self, values: Mapping[int, float]) -> dict[int, float]:
        """The values after least squares."""
        sums = [math.fsum(values[i] for i in cells) for cells in self.groupings]
        pairs = zip(self._shares, (values[self.total], *sums), strict=True)
        found = {self.total: math.fsum(share * value for share, value in pairs)}
        for cells, total, spread in zip(self.groupings, sums, self._spreads, strict=True):
            rate = (found[self.total] - total) / spread
            found |= {i: values[i] + rate * self.variances[i] for i in cells}
        return found

    def form(self, entry: int) -> dict[int, float]:
        """A number after least squares as a linear form in all entries; itself where it is none of
        those that add up."""
        whole = {self.total: self._shares[0]}
        for cells, share in zip(self.groupings, self._shares[1:], strict=True):
            whole |= dict.fromkeys(cells, share)
        if entry == self.total:
            return whole
        if entry not in self._grouping:
            return {entry: 1.0}
        g = self._grouping[entry]
        rate = self.variances[entry] / self._spreads[g]
        found = {i: rate * share for i, share in whole.items()}
        for i in self.groupings[g]:
            found[i] -= rate
        found[entry] += 1.0
        return found

    def alike(self) -> list[list[int]]:
        """The entries that have the same error: the total, and of each grouping those of one
        law."""
        found = [[self.total]]
        for cells in self.groupings:
            by_law: dict[float, list[int]] = {}
            for i in cells:
                by_law.setdefault(self.variances[i], []).append(i)
            found += by_law.values()
        return found


def conditions(plan: Plan, made: Mechanism) -> Conditions | None:
    """What adds up among the entries of a mechanism; None where nothing does."""
    if not plan.one_row_per_person:
        return None
    counted = {
        statistic.group_by: [entries[0] for entries in used]
        for statistic, used in entries_of(plan, made)
        if statistic.kind in ("count", "histogram") and used and used[0][0] < len(made.entries)
    }
    total = counted.pop((), None)
    others = _other_cells(plan, made)
    groupings = [(*cells, others[by]) for by, cells in counted.items() if by in others]
    if total is None or not groupings:
        return None
    return Conditions(total[0], tuple(groupings), _variances(made, total[0], groupings))


def _variances(made: Mechanism, total: int, groupings: Sequence[Sequence[int]]) -> dict[int, float]:
    """Those that least squares weighs by: of a cell that says nothing beside the others a huge
    one."""
    found = {i: made.law_of[i].noise.variance for i in (total, *chain(*groupings))}
    for *cells, other in groupings:
        known = found[total] + math.fsum(found[i] for i in cells)
        if found[other] > _WEAK * known:
            found[other] *= _SAYS_NOTHING
    return found


def _other_cells(plan: Plan, made: Mechanism) -> dict[tuple[Key, ...], int]:
    """The entries of the cells of other keys that count rows, by their groupings. Rows without one
    of some keys that are complete are in no total, but in that cell: such a one is left out."""
    return {
        check.of.group_by: check.entry
        for check in checks(plan, made)
        if check.of == Answer("rows", group_by=check.of.group_by)
        and check.entry < len(made.entries)
        and not any(key.complete for key in check.of.group_by)
    }


def noise_after(plan: Plan, made: Mechanism) -> dict[int, tuple[float, float]]:
    """The standard deviation and the half-width of every entry that is moved."""
    if made not in _KNOWN:
        _KNOWN[made] = _noise_after(made, conditions(plan, made))
    return _KNOWN[made]


def _noise_after(made: Mechanism, known: Conditions | None) -> dict[int, tuple[float, float]]:
    if known is None:
        return {}
    found: dict[int, tuple[float, float]] = {}
    for alike in known.alike():
        found |= dict.fromkeys(alike, noise_of(made, known.form(alike[0])))
    return found


def added_up(plan: Plan, made: Mechanism, rows: Sequence[ReleasedRow]) -> tuple[ReleasedRow, ...]:
    """The rows with counts that add up, and the errors that those have."""
    known = conditions(plan, made)
    if known is None:
        return tuple(rows)
    shown = [
        used[0] if statistic.kind in ("count", "histogram") else -1
        for statistic, groups in entries_of(plan, made)
        for used in groups
    ]
    shown += [check.entry for check in checks(plan, made)]
    noise = noise_after(plan, made)
    before = {i: row.number for i, row in zip(shown, rows, strict=True) if i in noise}
    after = _exact(known, known.moved(before))
    return tuple(
        replace(row, value=after[i], noise_std=noise[i][0], half_width=noise[i][1])
        if i in noise
        else row
        for i, row in zip(shown, rows, strict=True)
    )


def _exact(known: Conditions, values: dict[int, float]) -> dict[int, float]:
    listed: dict[tuple[int, ...], Floats] = {(): np.array(values[known.total])}
    for g, cells in enumerate(known.groupings):
        listed[g,] = np.array([values[i] for i in cells])
    whole = with_exact_sums(listed)
    found = {known.total: float(whole[()])}
    for g, cells in enumerate(known.groupings):
        found |= dict(zip(cells, whole[g,].tolist(), strict=True))
    return found
