"""The search for a `VarianceFloor`: a linear program over all lattice laws, all changes in it.

    minimise Σ P(x)|x|²/d   subject to   Σ_x (P(x) − e^ε P(x − c))_+ ≤ δ   for all changes c

over laws that treat signs and orders alike. Its multipliers are the tests of a certificate
(`check_variance`): whatever the solver's rounding, what they prove is computed exactly.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from leastnoise.floors.certificates import Tests, VarianceFloor
from leastnoise.floors.check_variance import proven_variance, variance_fault

Floats = NDArray[np.float64]
Change = tuple[int, ...]

# Lattice points in one standard deviation: moving a law to the lattice costs 1/(4·35²) = 2e-4.
_FINE = 35.0
_WINDOW = 12.0  # standard deviations, or as many as ln(1/δ)
_WIDER = (1.0, 1.5, 2.25)  # windows: tests that end within one prove little just outside of it
_NEAR = 0.98  # of the variance of the known law: near enough
_ROUNDS = 8  # of adding the changes that the law found breaks
_BROKEN = 1e-6  # share of δ
_MOST_INTEGERS = 16  # of a sensitivity; beyond, integer noise is bounded as the real noise it is
_MOST_POINTS = 1_500  # orbits of lattice points
_UNIT = 1e-4  # of δ in the program: with a smaller one its entries differ too much to be solved
_EXACTLY = {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9}


def variance_floor(
    *, sigma: float, epsilon: float, delta: float, answers: int = 1, integers: int | None = None
) -> VarianceFloor | None:
    """The best floor found for one release that is (`epsilon`, `delta`)-private, checked; None
    where there is none.

    Args:
        sigma: The standard deviation of a law that is, in sensitivities: sets the window.
        epsilon: Of the guarantee.
        delta: Of the guarantee.
        answers: How many answers one draw serves; several for integer noise alone.
        integers: The sensitivity, for integer noise; None for real noise.
    """
    is_integer = integers is not None and integers <= _MOST_INTEGERS
    if answers > 1 and not is_integer:
        return None
    cells = integers if integers is not None and is_integer else math.ceil(_FINE / sigma)
    cells = max(cells, 2 - int(is_integer))
    wide = max(_WINDOW, math.log(1.0 / delta)) * sigma * cells
    best: VarianceFloor | None = None
    for wider in _WIDER:
        reach = _reach(math.ceil(wide * wider), cells, answers)
        program = _AllLaws(math.exp(epsilon) * (1.0 + 1e-14), delta, answers, cells, reach)
        found = _found(program, epsilon, is_integer)
        if found is not None and (best is None or found.variance > best.variance):
            best = found
        if best is not None and best.variance > _NEAR * sigma * sigma:
            break
    return best


def _reach(wide: int, cells: int, answers: int) -> int:
    """Of the window, in lattice points; for several answers their number grows with its power."""
    most = (_MOST_POINTS * math.factorial(answers)) ** (1.0 / answers)
    reach = max(wide, 2 * cells)
    return reach if answers == 1 else min(reach, math.floor(most))


def _found(program: _AllLaws, epsilon: float, is_integer: bool) -> VarianceFloor | None:
    """The floor of one window, or None."""
    tests = _tests(program)
    if tests is None:
        return None
    floor = VarianceFloor(
        variance=0.0,
        epsilon=epsilon,
        delta=program.delta,
        answers=program.answers,
        is_integer=is_integer,
        cells=program.cells,
        factor=program.factor,
        tests=tests,
    )
    proven = math.nextafter(float(proven_variance(floor)), 0.0)
    floor = replace(floor, variance=max(proven, 0.0))
    return floor if proven > 0.0 and variance_fault(floor) is None else None


@dataclass(frozen=True)
class _AllLaws:
    """One linear program; the points of the lattice are taken up to sign and order."""

    factor: float
    delta: float
    answers: int
    cells: int
    reach: int

    def changes(self) -> list[Change]:
        """All that one person can make, up to sign and order, the largest first."""
        steps = range(self.cells, -1, -1)
        return list(itertools.combinations_with_replacement(steps, self.answers))[:-1]


@dataclass(frozen=True)
class _Rows:
    """The pairs (x, x − c) of one change: the orbits of both, −1 beyond the window."""

    change: Change
    here: NDArray[np.int64]
    there: NDArray[np.int64]


def _tests(program: _AllLaws) -> tuple[Tests, ...] | None:
    """The multipliers, as tests: with the largest changes first, and those that the law found
    breaks added."""
    changes = program.changes()
    used = changes[: 2 if program.answers == 1 else len(changes)]
    found: tuple[Tests, ...] | None = None
    for _ in range(_ROUNDS):
        rows = [_rows(program, change) for change in used]
        solved = _solved(program, rows)
        if solved is None:
            return found
        masses, found = solved
        spent = {change: _delta(program, masses, change) for change in changes}
        allowed = program.delta * (1.0 + _BROKEN)
        broken = [c for c in changes if c not in used and spent[c] > allowed]
        if not broken:
            return found
        used = [*used, *sorted(broken, key=lambda c: -spent[c])[:2]]
    return found


def _orbits(program: _AllLaws) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Of all points of a box the number of their orbit; how many points each orbit has, and the
    mean square of its coordinates, in sensitivities."""
    d, reach = program.answers, program.reach
    size = 2 * reach + 1
    axes = np.meshgrid(*[np.abs(np.arange(-reach, reach + 1))] * d, indexing="ij")
    radii = np.sort(np.stack([axis.ravel() for axis in axes]), axis=0)
    code = np.zeros(size**d, dtype=np.int64)
    for radius in radii:
        code = code * (reach + 1) + radius
    _, first, orbit, count = np.unique(
        code, return_index=True, return_inverse=True, return_counts=True
    )
    square = np.mean(radii[:, first].astype(np.float64) ** 2, axis=0) / program.cells**2
    shaped = orbit.reshape((size,) * d).astype(np.int64)
    return shaped, count.astype(np.float64), square


def _rows(program: _AllLaws, change: Change) -> _Rows:
    """All points x of the window and beyond it, as far as x − c is within."""
    orbit, _, _ = _orbits(program)
    pad = program.cells
    wide = np.pad(orbit, pad, constant_values=-1)
    there = wide
    for axis, step in enumerate(change):
        there = np.roll(there, step, axis=axis)  # there(x) = orbit(x − c); the rim is empty
    return _Rows(change, wide.ravel(), there.ravel())


def _solved(program: _AllLaws, rows: Sequence[_Rows]) -> tuple[Floats, tuple[Tests, ...]] | None:
    """The law found, by orbit, and the multipliers."""
    _, count, square = _orbits(program)
    n, unit = count.size, max(program.delta, _UNIT)
    merged = [_merged(one) for one in rows]
    sizes = [len(pairs) for pairs, _, _ in merged]
    total = sum(sizes)
    matrix, start = [], 0
    for pairs, times, _ in merged:
        place = start + np.arange(len(pairs))
        inside, far = pairs[:, 0] >= 0, pairs[:, 1] >= 0
        matrix += [
            (place[inside], pairs[inside, 0], times[inside] / count[pairs[inside, 0]] / unit),
            (
                place[far],
                pairs[far, 1],
                -program.factor * times[far] / count[pairs[far, 1]] / unit,
            ),
            (place, n + place, -np.ones(place.size)),
        ]
        start += len(pairs)
    edges = np.cumsum([0, *sizes])
    matrix += [
        (np.full(size, total + k), n + np.arange(edges[k], edges[k + 1]), np.ones(size))
        for k, size in enumerate(sizes)
    ]
    row, column, entry = (np.concatenate(part) for part in zip(*matrix, strict=True))
    arguments = {
        "c": np.concatenate([square, np.zeros(total)]),
        "A_ub": sparse.csr_matrix((entry, (row, column)), shape=(total + len(sizes), n + total)),
        "b_ub": np.concatenate([np.zeros(total), np.full(len(sizes), program.delta / unit)]),
        "A_eq": sparse.csr_matrix(np.concatenate([np.ones(n), np.zeros(total)])[None, :]),
        "b_eq": np.ones(1),
        "bounds": (0.0, None),
        "method": "highs-ds",
    }
    result = linprog(**arguments, options=_EXACTLY)
    if result.status != 0:  # so exactly it is not always solved
        result = linprog(**arguments)
    if result.status != 0:
        result = linprog(**{**arguments, "method": "highs-ipm"})
    if result.status != 0:
        return None
    multiplier = np.maximum(-np.asarray(result.ineqlin.marginals), 0.0) / unit
    tests = [
        _as_tests(program, one, which, multiplier[edges[k] : edges[k + 1]], multiplier[total + k])
        for k, (one, (_, _, which)) in enumerate(zip(rows, merged, strict=True))
        if multiplier[total + k] > 0.0
    ]
    return np.asarray(result.x[:n], dtype=np.float64), tuple(tests)


def _merged(rows: _Rows) -> tuple[NDArray[np.int64], Floats, NDArray[np.int64]]:
    """The different pairs of orbits, how often each occurs, and which of them each point is; pairs
    without a point in the window are number −1."""
    both = np.stack([rows.here, rows.there], axis=1)
    pairs, which, times = np.unique(both, axis=0, return_inverse=True, return_counts=True)
    if pairs[0, 0] == -1 and pairs[0, 1] == -1:
        return pairs[1:], times[1:].astype(np.float64), which.ravel() - 1
    return pairs, times.astype(np.float64), which.ravel()


def _as_tests(
    program: _AllLaws, rows: _Rows, which: NDArray[np.int64], found: Floats, weight: float
) -> Tests:
    """λ at every point of the box, as nested lists."""
    size = 2 * (program.reach + program.cells) + 1
    weight = float(f"{weight:.11e}")
    values = np.where(which >= 0, found[np.maximum(which, 0)], 0.0)
    short = np.array([float(f"{value:.11e}") for value in np.minimum(values, weight)])
    shaped = short.reshape((size,) * program.answers)
    first = program.reach + program.cells
    while first > 1 and _is_hollow(shaped):
        shaped = shaped[(slice(1, -1),) * program.answers]
        first -= 1
    return Tests(rows.change, weight, -first, shaped.tolist())


def _is_hollow(shaped: Floats) -> bool:
    """Whether the outermost layer of a box is empty."""
    inner = shaped[(slice(1, -1),) * shaped.ndim]
    return float(np.sum(shaped)) == float(np.sum(inner))


def _delta(program: _AllLaws, masses: Floats, change: Change) -> float:
    _, count, _ = _orbits(program)
    each = np.append(masses / count, 0.0)  # −1 is the last
    rows = _rows(program, change)
    return float(np.sum(np.maximum(each[rows.here] - program.factor * each[rows.there], 0.0)))
