"""Which marginals to measure, so that what is published has the least error.

**Goal.** "mean": the least Σ weight_B² V_B / Σ weight_B² over the published marginals B; "largest":
the least of the largest weight_B² V_B. Both are judged as variances. **Guard.** No published number
may have a larger variance than a given one, that of measuring each marginal by itself.

**One law.** All measured marginals have the same noise, of variance σ(k)² where a person is seen in
k draws. Then V_B = σ(k)² Σ_{A⊆B} p_A/(n_{B∖A}² t_A), with t_A = Σ_{M⊇A} 1/n_{M∖A} over what is
measured: for all supports at once two matrix products and an inverse. Every support is a local
optimum of the pure problem (the gain of a marginal is of the order of its precision, its cost of
the root of it), so supports are searched:

1. up to 16 candidates: every support;
2. beyond: from each of four supports (the full table; the largest published marginals; all one
   column larger; the published ones) the best of adding, dropping and swapping, until none helps.

**Several laws.** On a given support the shares of noise that are best by the pure proxy, where a
person in g_M cells of M pays Σ g_M b_M with b = 1/σ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from leastnoise.errors import InvalidParameterError, one_of
from leastnoise.releases.plan.plan import GOALS, Goal
from leastnoise.releases.tables.columns import (
    Marginal,
    cells,
    closure,
    residual_share,
    subsets,
    without,
)

Floats = NDArray[np.float64]

MOST_CELLS = 100_000  # of a measured marginal, hidden keys included
MOST_ENUMERATED = 16  # candidates of which every support is tried
_MOST_CANDIDATES = 1_000  # that adding, dropping and swapping look at
_MOST_SWAPS = 4_000  # in one round: beyond, marginals are added and dropped only
_BATCH = 1 << 13  # supports in one matrix product
_RATIO = 2.0**0.25  # of the noise of several laws, so that few of them remain
_DROPPED = 30.0  # times the least noise: such a marginal says next to nothing


@dataclass(frozen=True)
class Wanted:
    """What is published: the number of keys of each column, and the weight of each marginal."""

    sizes: Sequence[float]  # of a column within another the mean number of children
    weights: Mapping[Marginal, float]
    goal: Goal = "mean"
    most: Mapping[Marginal, float] | None = None  # the guard: the largest variance of each

    def __post_init__(self) -> None:
        one_of("goal", self.goal, GOALS)
        if not self.weights:
            raise InvalidParameterError("weights", {}, "to have at least one published marginal")

    @property
    def published(self) -> tuple[Marginal, ...]:
        return tuple(self.weights)

    def judged(self, variances: Floats) -> Floats:
        """The goal for rows of variances, one for each published marginal; +inf where the guard
        does not let it."""
        squares = np.array([weight**2 for weight in self.weights.values()])
        weighed = variances * squares
        goal = weighed.max(axis=-1)
        if self.goal == "mean":
            goal = weighed.sum(axis=-1) / squares.sum()
        if self.most is not None:
            bound = np.array([self.most[marginal] for marginal in self.weights])
            goal = np.where((variances <= bound * (1.0 + 1e-9)).all(axis=-1), goal, math.inf)
        return np.asarray(goal)


@dataclass(frozen=True)
class Found:
    """A set of marginals to measure, the variance of each published one, and the goal reached."""

    support: tuple[Marginal, ...]
    uses: float
    variances: tuple[float, ...]
    goal: float


def candidates(wanted: Wanted, most_cells: int = MOST_CELLS) -> tuple[Marginal, ...]:
    """The marginals that may be measured: all of the columns used, of at most so many cells; of
    very many those that two published ones make together, and the largest."""
    columns = sorted({j for marginal in wanted.published for j in marginal})
    if 2 ** len(columns) <= _MOST_CANDIDATES:
        found = [tuple(part) for part in subsets(columns)]
    else:
        unions = {tuple(sorted({*one, *other})) for one, other in combinations(wanted.published, 2)}
        found = sorted({(), tuple(columns), *wanted.published, *unions}, key=_by_size)
        found = [*found[: _MOST_CANDIDATES - 1], tuple(columns)]
    kept = [part for part in dict.fromkeys(found) if cells(wanted.sizes, part) <= most_cells]
    return tuple(dict.fromkeys([*kept, *wanted.published]))


def _by_size(marginal: Marginal) -> tuple[int, Marginal]:
    return len(marginal), marginal


class Supports:
    """The variances that sets of candidates give, in units of σ²: matrices made once."""

    def __init__(self, wanted: Wanted, possible: Sequence[Marginal]) -> None:
        self.wanted, self.possible = wanted, tuple(possible)
        sizes, parts = wanted.sizes, closure(wanted.published)
        self._seen = np.zeros((len(self.possible), len(parts)))
        for i, marginal in enumerate(self.possible):
            for a, part in enumerate(parts):
                if set(part) <= set(marginal):
                    self._seen[i, a] = 1.0 / cells(sizes, without(marginal, part))
        self._made = np.zeros((len(parts), len(wanted.published)))
        for b, marginal in enumerate(wanted.published):
            for a, part in enumerate(parts):
                if set(part) <= set(marginal):
                    outside = cells(sizes, without(marginal, part))
                    self._made[a, b] = residual_share(sizes, part) / outside**2
        self._needed = self._made.max(axis=1) > 0.0

    def precisions(self, chosen: Floats) -> Floats:
        """t_A for rows of chosen candidates, each 0, 1 or its weight."""
        return np.asarray(chosen @ self._seen)

    def rows(self) -> Floats:
        """What each candidate adds to the precisions."""
        return self._seen

    def variances(self, precisions: Floats) -> Floats:
        """V_B in units of σ²; +inf where something published is not measured."""
        seen = precisions > 1e-15
        inverse = np.where(seen, 1.0 / np.where(seen, precisions, 1.0), 1e300)
        found = np.asarray(inverse[..., self._needed] @ self._made[self._needed])
        return np.where(found < 1e250, found, math.inf)

    def slope(self, weights: Floats) -> tuple[Floats, Floats]:
        """V_B for weights of the candidates, and its derivative in each of them."""
        precisions = self.precisions(weights)
        inverse = 1.0 / np.maximum(precisions, 1e-300)
        falls = -(self._made * (inverse**2)[:, None]).T @ self._seen.T
        return inverse @ self._made, falls


Noise = Callable[[float], float]  # uses of one person -> variance of the noise of one draw


def search(
    wanted: Wanted,
    possible: Sequence[Marginal],
    uses: Mapping[Marginal, float],
    noise: Noise,
    most: int = 5,
) -> list[Found]:
    """The best supports, the best first, at most `most` with different numbers of uses.

    Args:
        wanted: What is published, the goal and the guard.
        possible: What may be measured.
        uses: In how many cells of each a person is; less where a draw is shared with others.
        noise: The variance of the noise, or a proxy of it, by the uses.
        most: How many to give.
    """
    supports = Supports(wanted, possible)
    seen = np.array([float(uses[marginal]) for marginal in possible])
    if len(possible) <= MOST_ENUMERATED:
        chosen, goals = _every(supports, seen, noise)
    else:
        chosen, goals = _greedy(supports, seen, noise)
    found: dict[float, Found] = {}
    for i in np.argsort(goals, kind="stable"):
        if not math.isfinite(goals[i]) or len(found) == most:
            break
        count = round(float(chosen[i] @ seen), 3)
        if count not in found:
            found[count] = _found(supports, chosen[i], count, noise, float(goals[i]))
    return list(found.values())


def _found(supports: Supports, chosen: Floats, count: float, noise: Noise, goal: float) -> Found:
    support = tuple(supports.possible[i] for i in np.flatnonzero(chosen))
    variances = supports.variances(supports.precisions(chosen)) * noise(float(count))
    return Found(support, count, tuple(float(one) for one in variances), goal)


def judged_again(wanted: Wanted, found: Found, variance: float) -> Found:
    """The same support with the noise that was designed for it."""
    supports = Supports(wanted, found.support)
    chosen = np.ones(len(found.support))
    variances = supports.variances(supports.precisions(chosen)) * variance
    goal = float(wanted.judged(variances))
    return Found(found.support, found.uses, tuple(float(one) for one in variances), goal)


def _goals(supports: Supports, chosen: Floats, seen: Floats, noise: Noise) -> Floats:
    return _judged(supports, supports.precisions(chosen), np.asarray(chosen @ seen), noise)


def _judged(supports: Supports, precisions: Floats, counts: Floats, noise: Noise) -> Floats:
    """The goal for rows of precisions, and as many uses in each."""
    known = {count: noise(float(count)) for count in np.unique(counts) if count > 0}
    scale = np.array([known.get(count, math.inf) for count in counts])
    variances = supports.variances(precisions)
    unseen = np.asarray(~np.isfinite(variances).all(axis=-1))
    goals = supports.wanted.judged(np.where(unseen[:, None], 1.0, variances) * scale[:, None])
    return np.where(unseen, math.inf, goals)


def _every(supports: Supports, seen: Floats, noise: Noise) -> tuple[Floats, Floats]:
    count = len(supports.possible)
    numbers = np.arange(1, 2**count)
    chosen = ((numbers[:, None] >> np.arange(count)) & 1).astype(np.float64)
    goals = [
        _goals(supports, chosen[at : at + _BATCH], seen, noise)
        for at in range(0, len(chosen), _BATCH)
    ]
    return chosen, np.concatenate(goals)


def starts(wanted: Wanted, possible: Sequence[Marginal]) -> list[tuple[Marginal, ...]]:
    """Where the search beyond 16 candidates begins: see the docstring above."""
    full = tuple(sorted({j for marginal in wanted.published for j in marginal}))
    maximal = _maximal(wanted.published)
    larger = [part for one in maximal for part in _one_larger(one, full) if part in possible]
    listed = [[full] if full in possible else [], maximal, larger, list(wanted.published)]
    covering = [one for one in listed if covers(one, wanted.published)]
    return [tuple(sorted(set(one), key=_by_size)) for one in covering]


def _maximal(marginals: Sequence[Marginal]) -> list[Marginal]:
    """Those that lie in no other."""
    return [one for one in marginals if not any(set(one) < set(other) for other in marginals)]


def _one_larger(marginal: Marginal, full: Marginal) -> list[Marginal]:
    """The marginals of one column more; the full table itself."""
    beyond = without(full, marginal)
    return [tuple(sorted({*marginal, j})) for j in beyond] or [marginal]


def covers(support: Iterable[Marginal], published: Iterable[Marginal]) -> bool:
    return all(any(set(one) <= set(seen) for seen in support) for one in published)


def _greedy(supports: Supports, seen: Floats, noise: Noise) -> tuple[Floats, Floats]:
    place = {marginal: i for i, marginal in enumerate(supports.possible)}
    found, goals = [], []
    for start in starts(supports.wanted, supports.possible):
        chosen = np.zeros(len(supports.possible))
        chosen[[place[marginal] for marginal in start]] = 1.0
        goal = float(_goals(supports, chosen[None, :], seen, noise)[0])
        while True:
            found.append(chosen)
            goals.append(goal)
            better = _best_move(supports, chosen, seen, noise, goal)
            if better is None:
                break
            chosen, goal = better
    return np.array(found), np.array(goals)


def _best_move(
    supports: Supports, chosen: Floats, seen: Floats, noise: Noise, goal: float
) -> tuple[Floats, float] | None:
    """A better support that is one marginal more, less or other; None where there is none. Swaps
    are many, and tried only where neither adding nor dropping helps."""
    inside, outside = np.flatnonzero(chosen > 0.5), np.flatnonzero(chosen < 0.5)
    nothing = np.array([len(chosen)])  # stands for no marginal
    plain = np.vstack([_pairs(nothing, outside), _pairs(inside, nothing)])
    better = _moved(supports, chosen, seen, noise, plain)
    if better[1] >= goal * (1.0 - 1e-9) and len(inside) * len(outside) <= _MOST_SWAPS:
        better = _moved(supports, chosen, seen, noise, _pairs(inside, outside))
    return better if better[1] < goal * (1.0 - 1e-9) else None


def _pairs(gone: NDArray[np.intp], come: NDArray[np.intp]) -> NDArray[np.intp]:
    return np.stack(np.meshgrid(gone, come, indexing="ij"), axis=-1).reshape(-1, 2)


def _moved(
    supports: Supports, chosen: Floats, seen: Floats, noise: Noise, moves: NDArray[np.intp]
) -> tuple[Floats, float]:
    """The best of these moves, each a marginal that goes and one that comes."""
    rows, costs = supports.rows(), np.append(seen, 0.0)
    padded = np.vstack([rows, np.zeros(rows.shape[1])])
    base, count = supports.precisions(chosen), float(chosen @ seen)
    goals = []
    for at in range(0, len(moves), _BATCH):
        gone, come = moves[at : at + _BATCH].T
        precisions = base - padded[gone] + padded[come]
        counts = count - costs[gone] + costs[come]
        seen_at_all = np.where(precisions > 1e-12, precisions, 0.0)
        goals.append(_judged(supports, seen_at_all, counts, noise))
    together = np.concatenate([*goals, [math.inf]])
    if not math.isfinite(together.min()):
        return chosen, math.inf
    best = int(np.argmin(together))
    moved = np.append(chosen, 0.0)
    moved[moves[best, 0]], moved[moves[best, 1]] = 0.0, 1.0
    return moved[:-1], float(together[best])


# Several laws


def several(
    wanted: Wanted, support: Sequence[Marginal], uses: Mapping[Marginal, float]
) -> dict[Marginal, float]:
    """The noise of each marginal relative to the least, best for the mean by the pure proxy.

    The least F(b²)·(Σ g_M b_M)² over log b; noise of more than 30 times the least is dropped, and
    ratios are rounded to powers of 2^(1/4), so that few laws remain.
    """
    supports = Supports(wanted, support)
    seen = np.array([float(uses[marginal]) for marginal in support])
    squares = np.array([weight**2 for weight in wanted.weights.values()])
    shares = squares / squares.sum()

    def measured(logs: Floats) -> tuple[float, Floats]:
        b = np.exp(logs)
        variances, slopes = supports.slope(b**2)
        mean, paid = float(shares @ variances), float(seen @ b)
        falls = (shares @ slopes) * 2.0 * b**2 / mean
        return math.log(mean) + 2.0 * math.log(paid), falls + 2.0 * seen * b / paid

    start = np.zeros(len(support))
    solved = optimize.minimize(measured, start, jac=True, method="L-BFGS-B").x
    noise = np.exp(-(solved - solved.max()))
    rounded = _RATIO ** np.round(np.log(noise) / math.log(_RATIO))
    kept = {
        marginal: float(ratio)
        for marginal, exact, ratio in zip(support, noise, rounded, strict=True)
        if exact <= _DROPPED
    }
    return kept if covers(kept, wanted.published) else dict.fromkeys(support, 1.0)


def pure_goal(
    wanted: Wanted, ratios: Mapping[Marginal, float], uses: Mapping[Marginal, float]
) -> float:
    """The mean of the variances by the pure proxy, Σ g_M/σ_M = 1, of marginals with such noise."""
    supports = Supports(wanted, tuple(ratios))
    weights = np.array([1.0 / ratio**2 for ratio in ratios.values()])
    paid = sum(uses[one] / ratio for one, ratio in ratios.items())
    variances = supports.variances(supports.precisions(weights))
    return float(wanted.judged(variances)) * paid**2
