"""The size of the noise on the entries of a mechanism, and that noise drawn again, to see how a
number moves under it.

A fixed seed will do: the law is public, and this noise hides nothing. What moves a statistic is the
same in each of its groups, so the groups share their trials: 5,000 groups with their own took 41 s.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from leastnoise.lattice.shells import Floats
from leastnoise.laws.base import Noise
from leastnoise.releases.estimates.reconstructed import numbers
from leastnoise.releases.noise.mechanism import Mechanism
from leastnoise.sampling import InsecureSeededEntropy, draw

CONFIDENCE = 0.95
TRIALS = 10_000  # the 95 % quantile of |error| is then known to about 1 %

# Of each entry: its law, its draw among those of the entries, its place there.
Pattern = tuple[tuple[int, int, int], ...]


class Trials:
    """Trials of the noise on entries of a mechanism; entries of one draw keep their dependence."""

    def __init__(self, made: Mechanism) -> None:
        self._made = made
        self._kept: dict[tuple[int, int], Floats] = {}

    def _is_of_table(self, entries: Sequence[int]) -> bool:
        """Whether these are numbers of one cell of a table, and not entries."""
        return all(entry >= len(self._made.entries) for entry in entries) and (
            len({numbers(self._made).of(entry)[0].table for entry in entries}) == 1
        )

    def pattern(self, entries: Sequence[int]) -> Pattern:
        """What the joint law of the noise on these entries, in its units, depends on."""
        numbered: dict[int, int] = {}
        found = []
        for entry in entries:
            if entry >= len(self._made.entries):  # the same in every cell of a marginal
                of_tables = numbers(self._made)
                found.append((-1 - of_tables.of(entry)[0].table, *of_tables.class_of(entry)))
                continue
            d, at = self._made.place_of[entry]
            found.append((self._made.draws[d].law, numbered.setdefault(d, len(numbered)), at))
        return tuple(found)

    def patterns(self, used: Sequence[Sequence[int]]) -> list[Pattern]:
        """The pattern of every group of a statistic; the groups of all but a hierarchy have one."""
        of_tables = numbers(self._made)
        if any(entry >= len(self._made.entries) for entry in used[0]) and of_tables.has_hierarchy:
            return [self.pattern(entries) for entries in used]
        return [self.pattern(used[0])] * len(used)

    def noise(self, entries: Sequence[int]) -> list[Floats]:
        """The noise on each of these entries, in the units of its statistic."""
        made = self._made
        if self._is_of_table(entries):
            moved = numbers(made).trials(entries, TRIALS)
            return [noise * worth(made, i) for i, noise in zip(entries, moved, strict=True)]
        if any(entry >= len(made.entries) for entry in entries):  # from different draws
            return [noise for entry in entries for noise in self.noise([entry])]
        found = []
        for entry, (law, number, at) in zip(entries, self.pattern(entries), strict=True):
            if (law, number) not in self._kept:
                entropy = InsecureSeededEntropy(len(made.laws) * number + law)
                drawn = draw(made.laws[law].noise, TRIALS, entropy=entropy)
                self._kept[law, number] = drawn.floats().reshape(TRIALS, -1)
            found.append(self._kept[law, number][:, at] * worth(made, entry))
        return found


def worth(made: Mechanism, entry: int) -> float:
    """One unit of noise on an entry, or on a number of a table, in the units of its statistic."""
    if entry >= len(made.entries):
        return numbers(made).worth(entry)
    asked = made.entries[entry]
    return made.scale_of[entry] * asked.sensitivity * float(asked.answer.unit)


def noise_on(made: Mechanism, entry: int) -> tuple[float, float]:
    """Standard deviation and 95 % half-width of the noise on an entry, in its statistic's units."""
    one = worth(made, entry)
    if entry >= len(made.entries):
        of_table = numbers(made)
        return of_table.std(entry) * one, of_table.half_width(entry, CONFIDENCE) * one
    law, (_, at) = made.law_of[entry].noise, made.place_of[entry]
    return law.stds[at] * one, _half_width(law.of_answer(at)) * one


def std_of(made: Mechanism, entry: int) -> float:
    """Standard deviation of the noise on an entry, in its statistic's units."""
    if entry >= len(made.entries):
        return numbers(made).std(entry) * worth(made, entry)
    return made.std(entry) * float(made.entries[entry].answer.unit)


@lru_cache(maxsize=64)
def _half_width(law: Noise) -> float:
    """The same for every answer of a law, and 10 ms of one with a hidden count."""
    return law.interval(CONFIDENCE)
