"""Published numbers that are put together from the measured marginals of a table.

A number of a table is no entry of the mechanism but a linear form in many: it has a place after the
entries, and whatever asks for the noise of an entry may ask for that of a number by its place. Each
cell of a published marginal has the same error, whose law is known exactly: classes of measured
cells with the same weight (`tables.reconstruction`), and the law of their draws. In a hierarchy
that holds for the cells of nodes that are alike (`tables.hierarchies`).

Means and variances move with several answers of one cell, whose noise may be drawn jointly. How
they move is tried: each class is drawn again as often as it has cells, or, where these are more
than `_EXACT`, as a normal number of the same variance, which their sum is next to.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from leastnoise.lattice.shells import Floats
from leastnoise.laws.base import Noise
from leastnoise.releases.noise.margins import Grouping, MarginTable
from leastnoise.releases.noise.mechanism import Mechanism
from leastnoise.releases.noise.sensitivity import Answer
from leastnoise.releases.plan.keys import Key, above_in
from leastnoise.releases.tables.columns import Marginal, cells, without
from leastnoise.releases.tables.exact_sums import grid_of, sums_of, with_exact_sums
from leastnoise.releases.tables.hierarchies import (
    NestedMeasurement,
    finest,
    nested_covariances,
    nested_estimate,
    nested_response,
    nested_variances,
    summed,
)
from leastnoise.releases.tables.integers import (
    fitted_hierarchy,
    fitted_table,
    marginal_of,
    rounded,
    rounded_hierarchy,
)
from leastnoise.releases.tables.intervals import (
    MOST_PLACES,
    ErrorPart,
    SymmetricLaw,
    half_width,
)
from leastnoise.releases.tables.reconstruction import (
    Measurement,
    Share,
    covariance,
    reconstructed,
    response,
    shares,
    variance,
)
from leastnoise.releases.tables.strategy import MOST_CELLS
from leastnoise.sampling import InsecureSeededEntropy, draw

_FINE = 400  # places of a continuous law in a standard deviation
_FAR = 1e-15  # probability beyond which a law is cut off
_EXACT = 32  # draws of a class: beyond, their sum is normal to 0.3 % in its 95 % quantile
_POOL = 40_000  # draws of a law that trials are made of


@dataclass(frozen=True)
class NumberMarginal:
    """One answer of one published marginal: its numbers are at `start`, `start` + 1, …"""

    table: int
    answer: Answer
    marginal: Marginal
    start: int
    count: int


Measured = Measurement | NestedMeasurement
NumberClass = tuple[int, int]  # where the numbers of a marginal start, and the class of their node


class Numbers:
    """The numbers of a mechanism's tables, by their places after its entries."""

    def __init__(self, made: Mechanism) -> None:
        self._made = made
        self._known: dict[tuple[int, Answer], Measured] = {}
        self._stds: dict[NumberClass, float] = {}
        self._widths: dict[NumberClass, float] = {}
        self._parts: dict[NumberClass, list[Share]] = {}
        self._listed: dict[tuple[int, Answer, Marginal], NumberMarginal] = {}
        start = len(made.entries)
        for t, table in enumerate(made.tables):
            for answer in table.answers:
                for marginal in _published(table):
                    count = cells(table.sizes, marginal)
                    one = NumberMarginal(t, answer, marginal, start, count)
                    self._listed[t, answer, marginal] = one
                    start += count
        self.has_hierarchy = any(table.hierarchy is not None for table in made.tables)
        self._marginals = list(self._listed.values())
        self._starts = np.array([one.start for one in self._marginals])

    def of(self, place: int) -> tuple[NumberMarginal, tuple[int, ...]]:
        """The marginal of a number, and its cell there."""
        one = self._marginals[int(np.searchsorted(self._starts, place, side="right")) - 1]
        sizes = [self._made.tables[one.table].sizes[j] for j in one.marginal]
        cell = np.unravel_index(place - one.start, sizes) if sizes else ()
        return one, tuple(int(i) for i in cell)

    def class_of(self, place: int) -> NumberClass:
        """Numbers of one class have the same error: all of a marginal, or in a hierarchy those
        whose nodes are alike."""
        one, cell = self.of(place)
        tree = self._made.tables[one.table].hierarchy
        level = 0 if tree is None else tree.level(one.marginal)
        if tree is None or not level:
            return one.start, 0
        node = cell[one.marginal.index(tree.columns[level - 1])]
        return one.start, tree.classes[level][node]

    def groups(self, grouping: Grouping, answer: Answer) -> list[int] | None:
        """The places of the declared groups of a grouping; None where no table has them."""
        for t, table in enumerate(self._made.tables):
            if grouping in table.published and answer in table.answers:
                one = self._listed[t, answer, table.marginal(grouping)]
                whole = np.arange(one.start, one.start + one.count)
                shaped = whole.reshape([table.sizes[j] for j in one.marginal])
                declared = shaped[tuple(slice(len(table.keys[j].labels)) for j in one.marginal)]
                order = [one.marginal.index(table.keys.index(key)) for key in grouping]
                return [int(i) for i in np.transpose(declared, order).ravel()]
        return None

    def hidden(self) -> list[tuple[int, int, int]]:
        """The hidden cells that tell other keys: the table, the column, and the place."""
        found: list[tuple[int, int, int]] = []
        told: set[Key] = set()
        for t, table in enumerate(self._made.tables):
            for j, key in enumerate(table.keys):
                if table.counts_rows and table.hidden[j] and key not in told:
                    told.add(key)
                    one = self._listed[t, Answer("rows"), (j,)]
                    above = above_in(key, table.keys)
                    count = 1 if above is None else len(above.labels)  # of others all are hidden
                    declared = one.start + len(key.labels)
                    found += [(t, j, place) for place in range(declared, declared + count)]
        return found

    # Values

    def values(self, noisy: Sequence[float]) -> list[float]:
        """The entries, in their own units, and after them the numbers, whose sums are exact."""
        found = list(noisy)
        for t, table in enumerate(self._made.tables):
            for answer in table.answers:
                whole = with_exact_sums(self._estimated(t, answer, noisy), table.hierarchy)
                for one in _published(table):
                    found += whole[one].ravel().tolist()
        return found

    def sums(
        self, noisy: Sequence[float], places: Sequence[tuple[int, int]], factor: float
    ) -> list[float] | None:
        """First + factor·second of pairs of numbers of one marginal, so that the sums of all
        marginals of their table are exact; None where they are not of one table."""
        pairs = [(self.of(one)[0], self.of(other)[0]) for one, other in places[:1]]
        if any(one.table != other.table for one, other in pairs):
            return None
        (first, second) = pairs[0]
        table = self._made.tables[first.table]
        one = self._estimated(first.table, first.answer, noisy)
        other = self._estimated(first.table, second.answer, noisy)
        together = {name: values + factor * other[name] for name, values in one.items()}
        whole = with_exact_sums(together, table.hierarchy)[first.marginal].ravel()
        return [float(whole[place - first.start]) for place, _ in places]

    def _estimated(self, t: int, answer: Answer, noisy: Sequence[float]) -> dict[Marginal, Floats]:
        """What is published of an answer, and all sums of it, by least squares."""
        table, measured = self._made.tables[t], self.measurement(t, answer)
        wanted = sums_of(_published(table), table.hierarchy)
        answers = self._measured(t, answer, noisy)
        if isinstance(measured, NestedMeasurement):
            return nested_estimate(measured, answers, wanted)
        return reconstructed(measured, answers, wanted)

    def agreeing(
        self, noisy: Sequence[float], *, non_negative: bool, integer: bool
    ) -> dict[int, float]:
        """The numbers of rows by their places, not below zero or whole, such that all add up; none
        of a table whose columns have too many cells together."""
        made, found = self._made, dict[int, float]()
        for t, table in enumerate(made.tables):
            columns = range(len(table.sizes))
            above = () if table.hierarchy is None else table.hierarchy.columns[:-1]
            if not table.counts_rows or cells(table.sizes, without(columns, above)) > MOST_CELLS:
                continue
            rows = Answer("rows")
            answers = self._measured(t, rows, noisy)
            whole = _processed(
                self.measurement(t, rows),
                answers,
                list(dict.fromkeys(map(table.marginal, table.published))),
                _published(table),
                non_negative=non_negative,
                integer=integer,
            )
            for one, values in whole.items():
                start = self._listed[t, rows, one].start
                found |= dict(enumerate(values.ravel().tolist(), start=start))
        return found

    def _measured(self, t: int, answer: Answer, noisy: Sequence[float]) -> dict[Marginal, Floats]:
        """The noisy answers of each measured marginal."""
        table = self._made.tables[t]
        a, where = table.answers.index(answer), measured_entries(self._made)
        return {
            one: np.array([noisy[i] for i in where[t, one][a]]).reshape(
                [table.sizes[j] for j in one]
            )
            for one in table.support
        }

    # Errors

    def measurement(self, t: int, answer: Answer) -> Measured:
        """What is measured of an answer, with the noise in sensitivities."""
        if (t, answer) not in self._known:
            made, table = self._made, self._made.tables[t]
            a, where = table.answers.index(answer), measured_entries(made)
            weights = {
                one: 1.0 / made.law_of[where[t, one][a][0]].noise.variance for one in table.support
            }
            self._known[t, answer] = (
                Measurement(table.sizes, weights)
                if table.hierarchy is None
                else NestedMeasurement(table.sizes, table.hierarchy, weights)
            )
        return self._known[t, answer]

    def worth(self, place: int) -> float:
        """One unit of noise on a number, in the units of its statistic."""
        one, _ = self.of(place)
        table = self._made.tables[one.table]
        sensitivity = table.sensitivities[table.answers.index(one.answer)]
        return sensitivity * float(one.answer.unit)

    def std(self, place: int) -> float:
        """The standard deviation of a number, in sensitivities."""
        alike = self.class_of(place)
        if alike not in self._stds:
            one, cell = self.of(place)
            measured = self.measurement(one.table, one.answer)
            if isinstance(measured, NestedMeasurement):
                found = float(nested_variances(measured, one.marginal)[_node(measured, one, cell)])
            else:
                found = variance(measured, one.marginal)
            self._stds[alike] = math.sqrt(found)
        return self._stds[alike]

    def covariance(self, place: int, other: int) -> float:
        """Of two numbers, in sensitivities: those of two answers of one table are correlated as the
        noise of one draw is."""
        (one, at), (two, to) = self.of(place), self.of(other)
        if one.table != two.table:
            return 0.0
        measured = self.measurement(one.table, one.answer)
        if isinstance(measured, NestedMeasurement):
            found = nested_covariances(measured, (one.marginal, at), [two.marginal])
            together = float(found[two.marginal][to])
        else:
            together = covariance(measured, (one.marginal, at), (two.marginal, to))
        return together * self._correlation(one.table, one.answer, two.answer)

    def _correlation(self, t: int, one: Answer, other: Answer) -> float:
        if one == other:
            return 1.0
        made, table = self._made, self._made.tables[t]
        where = measured_entries(made)[t, table.support[0]]
        first, second = (where[table.answers.index(answer)][0] for answer in (one, other))
        drawn = next(draw for draw in made.draws if first in draw.entries)
        return made.laws[drawn.law].noise.correlation if second in drawn.entries else 0.0

    def shares(self, place: int) -> list[Share]:
        """The weights of measured cells in a number, and how many have each."""
        alike = self.class_of(place)
        if alike not in self._parts:
            one, cell = self.of(place)
            measured = self.measurement(one.table, one.answer)
            if isinstance(measured, NestedMeasurement):
                self._parts[alike] = _counted(nested_response(measured, (one.marginal, cell)))
            else:
                self._parts[alike] = shares(measured, one.marginal)
        return self._parts[alike]

    def half_width(self, place: int, confidence: float) -> float:
        """The half-width of a number, in sensitivities, from the exact law of its error."""
        alike = self.class_of(place)
        if alike not in self._widths:
            one, _ = self.of(place)
            made, table = self._made, self._made.tables[one.table]
            a, where = table.answers.index(one.answer), measured_entries(made)
            laws = {
                seen: symmetric(made.law_of[where[one.table, seen][a][0]].noise)
                for seen in table.support
            }
            found = self.shares(place)
            parts = [ErrorPart(laws[part.measured], part.weight, part.count) for part in found]
            self._widths[alike] = half_width(parts, confidence)
        return self._widths[alike]

    def entry_weights(self, form: Mapping[int, float]) -> dict[int, float]:
        """The weight of every entry in a linear form of numbers."""
        made = self._made
        where = measured_entries(made)
        found: dict[int, float] = {}
        for place, factor in form.items():
            one, cell = self.of(place)
            measured = self.measurement(one.table, one.answer)
            a = made.tables[one.table].answers.index(one.answer)
            if isinstance(measured, NestedMeasurement):
                weighed = nested_response(measured, (one.marginal, cell))
            else:
                own = (one.marginal, cell)
                weighed = {seen: response(measured, own, seen) for seen in measured.weights}
            for seen, weights in weighed.items():
                each = (factor * weights).ravel()
                for i, weight in zip(where[one.table, seen][a], each, strict=True):
                    found[i] = found.get(i, 0.0) + float(weight)
        return found

    def trials(self, places: Sequence[int], count: int) -> list[Floats]:
        """The noise on numbers of one cell of one marginal, in sensitivities, drawn again."""
        one, _ = self.of(places[0])
        made, table = self._made, self._made.tables[one.table]
        answers = [table.answers.index(self.of(place)[0].answer) for place in places]
        source = InsecureSeededEntropy(2 + one.table)
        total = np.zeros((count, len(table.answers)))
        for part in self.shares(places[0]):
            entries = [own[0] for own in measured_entries(made)[one.table, part.measured]]
            total += part.weight * _summed(made, entries, part.count, count, source)
        return [total[:, a] for a in answers]


def _node(measured: NestedMeasurement, one: NumberMarginal, cell: Sequence[int]) -> int:
    """The node of a cell at the level of its marginal."""
    tree = measured.hierarchy
    level = tree.level(one.marginal)
    return cell[one.marginal.index(tree.columns[level - 1])] if level else 0


def _counted(weights: Mapping[Marginal, Floats]) -> list[Share]:
    """Weights of measured cells with how many have each; those that differ in the last digits are
    the same."""
    largest = max(float(np.abs(each).max()) for each in weights.values())
    found = []
    for seen, each in weights.items():
        listed, counts = np.unique(np.round(each / largest, 12), return_counts=True)
        pairs = zip(listed.tolist(), counts.tolist(), strict=True)
        found += [Share(seen, largest * weight, count) for weight, count in pairs if weight]
    return found


def _processed(
    measured: Measured,
    answers: Mapping[Marginal, Floats],
    published: Sequence[Marginal],
    wanted: Sequence[Marginal],
    *,
    non_negative: bool,
    integer: bool,
) -> dict[Marginal, Floats]:
    """The wanted marginals of one table that is not below zero, or whole where `published`."""
    if isinstance(measured, NestedMeasurement):
        fitted = fitted_hierarchy(measured, answers, non_negative=non_negative)
    else:
        fitted = fitted_table(measured, answers, non_negative=non_negative)
    if not integer:
        grid = grid_of({(): fitted})
        fitted = np.rint(fitted / grid) * grid  # so that sums are exact
    if isinstance(measured, NestedMeasurement):
        if integer:
            return rounded_hierarchy(measured, fitted, wanted)
        return {one: summed(measured, finest(measured), fitted, one) for one in wanted}
    if not integer:
        return {one: marginal_of(fitted, one) for one in wanted}
    whole = rounded(fitted, published)
    return {one: _within(whole, one) for one in wanted}


@lru_cache(maxsize=4)
def numbers(made: Mechanism) -> Numbers:
    """The numbers of a mechanism: the same in every release of it."""
    return Numbers(made)


@lru_cache(maxsize=4)
def measured_entries(made: Mechanism) -> Mapping[tuple[int, Marginal], list[list[int]]]:
    """The entries of each measured marginal, answer by answer in the order of its cells."""
    found: dict[tuple[int, Marginal], list[list[int]]] = {}
    named: dict[int, tuple[int, Marginal]] = {}
    for b, block in enumerate(made.blocks):
        if block.marginal is not None:
            table = made.tables[block.marginal.table]
            named[b] = block.marginal.table, table.marginal(block.group_by)
            found[named[b]] = [[] for _ in table.answers]
    for i, entry in enumerate(made.entries):
        if entry.block in named and entry.group < len(made.blocks[entry.block].groups):
            t, marginal = named[entry.block]
            found[t, marginal][made.tables[t].answers.index(entry.answer)].append(i)
    return found


def _published(table: MarginTable) -> list[Marginal]:
    """The marginals whose numbers are wanted: those of its groupings, and the columns whose hidden
    cell tells other keys."""
    listed = [table.marginal(grouping) for grouping in table.published]
    hidden = [(j,) for j in range(len(table.keys)) if table.hidden[j] and table.counts_rows]
    return list(dict.fromkeys([*listed, *hidden]))


def _within(whole: Mapping[Marginal, Floats], marginal: Marginal) -> Floats:
    """A marginal, or its sums within the smallest of these that has it."""
    holding = min((one for one in whole if set(marginal) <= set(one)), key=len)
    beyond = tuple(axis for axis, j in enumerate(holding) if j not in marginal)
    return np.asarray(whole[holding].sum(axis=beyond))


@lru_cache(maxsize=64)
def symmetric(noise: Noise) -> SymmetricLaw:
    """The law of the noise on one answer of a draw, by its masses on a lattice."""
    far = float(noise.quantile(_FAR, upper=True))
    if noise.domain == "integer" and far < MOST_PLACES:
        places = np.arange(math.ceil(far) + 1, dtype=np.float64)
        masses, step = noise.ccdf(places - 1.0) - noise.ccdf(places), 1.0
    else:
        step = noise.std / _FINE
        middles = np.arange(math.ceil(far / step) + 1) * step
        masses = noise.ccdf(middles - 0.5 * step) - noise.ccdf(middles + 0.5 * step)
    return SymmetricLaw(np.maximum(np.asarray(masses), 0.0), step)


def _summed(
    made: Mechanism,
    entries: Sequence[int],
    draws: int,
    count: int,
    source: InsecureSeededEntropy,
) -> Floats:
    """Sums of so many independent draws on the answers of a cell, `count` times."""
    total = np.zeros((count, len(entries)))
    for law, columns, at in _drawn_with(made, tuple(entries)):
        total[:, columns] += sums_of_draws(law, draws, count, source)[:, at]
    return total


def sums_of_draws(law: Noise, draws: int, count: int, source: InsecureSeededEntropy) -> Floats:
    """`count` sums of so many independent draws of a law, for each of its answers. A seed will do:
    the law is public, and this noise hides nothing."""
    if draws <= _EXACT:
        pool = _pool(law)
        total = np.zeros((count, pool.shape[1]))
        for _ in range(draws):
            total += pool[_words(source, count) % np.uint64(len(pool))]
        return total
    uniform = (_words(source, count * law.dimension) >> np.uint64(11)) + 0.5
    normal = ndtri(uniform.reshape(count, law.dimension) * 2.0**-53)
    root = np.linalg.cholesky(draws * law.covariance)
    return np.asarray(normal @ root.T, dtype=np.float64)


def _words(source: InsecureSeededEntropy, count: int) -> NDArray[np.uint64]:
    return np.frombuffer(source.take(8 * count), dtype="<u8")


@lru_cache(maxsize=64)
def _drawn_with(
    made: Mechanism, entries: tuple[int, ...]
) -> list[tuple[Noise, list[int], list[int]]]:
    """The draws that serve these entries: the law, which of the entries, and their places there."""
    found = []
    for drawn in made.draws:
        shared = [i for i in entries if i in drawn.entries]
        if shared:
            columns = [entries.index(i) for i in shared]
            law = made.laws[drawn.law].noise
            found.append((law, columns, [drawn.entries.index(i) for i in shared]))
    return found


@lru_cache(maxsize=8)
def _pool(law: Noise) -> Floats:
    drawn = draw(law, _POOL, entropy=InsecureSeededEntropy(1))
    return drawn.floats().reshape(_POOL, -1)
