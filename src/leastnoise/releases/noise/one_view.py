"""One bounded view for all groupings of persons who have several rows, and what it costs.

**View.** One choice of rows for each person: at most R rows, in at most G cells of the finest
table, at most r in a cell. The choice depends on that person's rows alone. With n cells of the
finest table and n_M of a marginal M, one person changes the counts of M by a vector u with

    add/remove   Σ|u| ≤ L = min(R, rG, rn)   |u_i| ≤ m = min(R, r·min(G, n/n_M))   t cells
    replace      Σ|u| ≤ 2L, or L of a total   |u_i| ≤ m                             min(2t, n_M)

and t = min(R, G, n_M), because the kept rows are at most R, at most r in each of at most G fine
cells, and a cell of M is a union of n/n_M fine ones; replace is the difference of two such vectors,
whose entries are in [0, m]. (tests/releases/test_one_view.py enumerates them.)

**ℓ1 judge.** Let the cells have independent noise of one discrete Laplace law. Among the changes
with Σ|u| ≤ L and |u_i| ≤ m the worst, for every ε, is the most concentrated, (m, …, m, the rest):
docs/mathematics.md#the-most-concentrated-change. So a person costs what that one vector costs, and
not as many draws at shift m as there are cells.

**It is false for other laws.** A staircase designed for shift 4 is pure at ε = 1 for (4), and has
δ(1) = 0.109 at (1, 1, 1, 1). So no law but the discrete Laplace is judged by the concentrated
change; any other is judged by the largest over all partitions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.errors import UnsupportedError, positive_integer
from leastnoise.laws.base import Noise

_MOST_PARTITIONS = 2_000
_STRAIGHT = 1e-9  # how far the logarithms of a discrete Laplace law's masses may be from a line


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

    def partitions(self) -> Iterator[tuple[int, ...]]:
        """Every falling sequence of such entries whose sum is as large as may be."""
        return _partitions(min(self.total, self.largest * self.touched), self.largest, self.touched)


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


def is_discrete_laplace(noise: Noise) -> bool:
    """Whether a law of one answer on the integers falls by one ratio from 0 on, for which the
    concentrated change is the worst. A law that ends is none."""
    if noise.dimension != 1 or noise.domain != "integer" or noise.radial is None:
        return False
    masses = np.asarray(noise.pmf(np.arange(64)))
    if not np.all(masses > 0.0):
        return False
    steps = np.diff(np.log(masses))
    return bool(np.all(np.abs(steps - steps[0]) <= _STRAIGHT))


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
    """ε of the counts of one marginal, an upper bound: of the concentrated change for a discrete
    Laplace law, else the largest over all partitions.

    Raises:
        UnsupportedError: the law is another one, and the partitions are too many.
    """
    if is_discrete_laplace(noise):
        return loss_of(noise, change.concentrated).epsilon(delta)
    listed = list(islice(change.partitions(), _MOST_PARTITIONS + 1))
    if len(listed) > _MOST_PARTITIONS:
        raise UnsupportedError(
            f"Expected a discrete Laplace law, or at most {_MOST_PARTITIONS:,} ways in which one "
            f"person changes {change.total} rows."
        )
    return max(loss_of(noise, one).epsilon(delta) for one in listed)
