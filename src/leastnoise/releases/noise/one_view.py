"""One bounded view for all groupings of persons who have several rows, and what it costs.

**View.** One choice of rows for each person: at most R rows, in at most G cells of the finest
table, at most r in a cell. The choice depends on that person's rows alone. With n cells of the
finest table and n_M of a marginal M, one person changes the counts of M by a vector u with

    add/remove   Σ|u| ≤ L = min(R, rG, rn)   |u_i| ≤ m = min(R, r·min(G, n/n_M))   t cells
    replace      Σ|u| ≤ 2L, or L of a total   |u_i| ≤ m                             min(2t, n_M)

and t = min(R, G, n_M), because the kept rows are at most R, at most r in each of at most G fine
cells, and a cell of M is a union of n/n_M fine ones; replace is the difference of two such vectors,
whose entries are in [0, m]. (tests/releases/test_one_view.py enumerates them.)

**ℓ1 judge.** Let the cells have independent noise of one law on the integers whose masses are even
and log-concave: discrete Laplace, discrete Gaussian, what is between them, any of these cut off.
Among the changes with Σ|u| ≤ L and |u_i| ≤ m the worst, for every ε, is the most concentrated,
(m, …, m, the rest): docs/mathematics.md#the-most-concentrated-change. So a person costs what that
one vector costs, and not as many draws at shift m as there are cells.

**It is false for other laws.** A staircase designed for shift 4 is pure at ε = 1 for (4), and has
δ(1) = 0.109 at (1, 1, 1, 1). So whether a law is log-concave is decided exactly, mass by mass, on
the law as it is drawn; any other is judged by the largest over all partitions.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import islice

from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.errors import UnsupportedError, positive_integer
from leastnoise.laws.base import Noise

_MOST_PARTITIONS = 2_000
_DIGITS = 53  # of a float64


@dataclass(frozen=True)
class OneView:
    """The bounds of a view: rows of a person, fine cells they are in, rows in one of them."""

    rows: int
    fine_cells: int
    rows_in_cell: int

    def __post_init__(self) -> None:
        for name in ("rows", "fine_cells", "rows_in_cell"):
            positive_integer(name, getattr(self, name))

    def change(self, relation: str, cells: int, marginal_cells: int) -> CountChange:
        """What one person changes in the counts of a marginal of a finest table of `cells`."""
        rows, fine, each = self.rows, min(self.fine_cells, cells), self.rows_in_cell
        total = min(rows, each * fine)
        largest = min(rows, each * min(fine, cells // marginal_cells))
        touched = min(rows, fine, marginal_cells)
        if relation == "add/remove":
            return CountChange(total, largest, touched)
        whole = total if marginal_cells == 1 else 2 * total
        return CountChange(whole, largest, min(2 * touched, marginal_cells))


@dataclass(frozen=True)
class CountChange:
    """Σ|u| ≤ `total`, |u_i| ≤ `largest`, at most `touched` entries not 0."""

    total: int
    largest: int
    touched: int

    @property
    def concentrated(self) -> tuple[int, ...]:
        """(m, …, m, the rest), within the cells that may be touched."""
        full, rest = divmod(self.total, self.largest)
        return (*((self.largest,) * full), *((rest,) if rest else ()))[: self.touched]

    @property
    def shifts(self) -> tuple[tuple[int, int], ...]:
        """The concentrated change as shifts, each with how many cells move by it."""
        return tuple(Counter(self.concentrated).items())

    def partitions(self) -> Iterator[tuple[int, ...]]:
        """Every falling sequence of such entries whose sum is as large as may be."""
        return _partitions(min(self.total, self.largest * self.touched), self.largest, self.touched)


@dataclass(frozen=True)
class Spread:
    """What one person changes in one answer over all cells of a view: `change`, in whole multiples
    of `unit`, which the noise is a multiple of too and answers are rounded to."""

    unit: int
    change: CountChange


def _partitions(total: int, largest: int, parts: int) -> Iterator[tuple[int, ...]]:
    if total == 0:
        yield ()
    elif parts > 0:
        for first in range(min(total, largest), 0, -1):
            for rest in _partitions(total - first, first, parts - 1):
                yield (first, *rest)


def serves_all(view_rows: int, groupings: Sequence[tuple[int, int]]) -> bool:
    """Whether one view serves every grouping as well as a view of its own, by public numbers only:
    the groups and rows in a group that each declares never bind before the rows of a person."""
    return all(min(view_rows, groups * in_group) == view_rows for groups, in_group in groupings)


@lru_cache(maxsize=64)
def is_log_concave(noise: Noise) -> bool:
    """Whether a law of one answer on the integers is even with h_k² ≥ h_{k−1}·h_{k+1} everywhere,
    in exact arithmetic: then the concentrated change is the worst."""
    law = noise.radial
    if noise.dimension != 1 or noise.domain != "integer" or law is None:
        return False
    parts = [math.frexp(float(mass)) for mass in law.shell_masses]
    # Shell k > 0 has the two points ±k.
    digits = [(int(math.ldexp(m, _DIGITS)), e - (k > 0)) for k, (m, e) in enumerate(parts)]
    if not _bends_down(digits):
        return False
    return law.tail_ratio is None or len(digits) == 1 or _falls_on(digits, law.tail_ratio)


def _bends_down(digits: Sequence[tuple[int, int]]) -> bool:
    """Whether the masses of 0, 1, 2, … are positive, and none is below the mean of its neighbours
    in logarithms; that of 0 has two equal ones."""
    around = [digits[1], *digits] if len(digits) > 1 else digits
    triples = zip(around, around[1:], around[2:], strict=False)
    return all(whole > 0 for whole, _ in digits) and all(
        _is_least(before, after, middle) for before, middle, after in triples
    )


def _is_least(one: tuple[int, int], other: tuple[int, int], middle: tuple[int, int]) -> bool:
    """Whether one·other ≤ middle², of numbers as digits and exponent of 2."""
    apart = 2 * middle[1] - one[1] - other[1]
    left, right = one[0] * other[0], middle[0] ** 2
    return left <= right << apart if apart >= 0 else left << -apart <= right


def _falls_on(digits: Sequence[tuple[int, int]], ratio: float) -> bool:
    """Whether the tail falls at least as fast as the last stored step."""
    before, last = (Fraction(whole) * Fraction(2) ** e for whole, e in digits[-2:])
    return Fraction(ratio) * before <= last


def loss_of(noise: Noise, change: Sequence[int]) -> PrivacyLoss:
    """The loss of independent draws of one law, one on each cell that moves by so many rows."""
    counted = Counter(change)
    first, *others = (
        PrivacyLoss.of(noise, float(shift)).compose(count) for shift, count in counted.items()
    )
    for other in others:
        first = first.compose(other)
    return first


def view_epsilon(noise: Noise, change: CountChange, delta: float) -> float:
    """ε of the counts of one marginal, an upper bound: of the concentrated change for a log-concave
    law, else the largest over all partitions.

    Raises:
        UnsupportedError: the law is another one, and the partitions are too many.
    """
    if is_log_concave(noise):
        return loss_of(noise, change.concentrated).epsilon(delta)
    listed = list(islice(change.partitions(), _MOST_PARTITIONS + 1))
    if len(listed) > _MOST_PARTITIONS:
        raise UnsupportedError(
            f"Expected a log-concave law, or at most {_MOST_PARTITIONS:,} ways in which one "
            f"person changes {change.total} rows."
        )
    return max(loss_of(noise, one).epsilon(delta) for one in listed)
