"""One release: for a given ε the least δ is a linear program, solved exactly.

With one release δ(ε) = Σ over pairs of shells N_ij (h_i − e^ε h_j)_+ is piecewise linear in the
law, so

    minimise Σ t_ij   subject to   t_ij ≥ N_ij (h_i − e^ε h_j),   t ≥ 0,
                                   h_0 ≥ h_1 ≥ … ≥ 0,   mass 1,   cost C

is a linear program, and its multipliers give the slope of its value in ε. Where ε is given and not
the cost, the least cost is a linear program too, the sum of the t being at most δ: one solve, where
four are needed for each σ on the way. Several (ε, δ) at once are the same program with rows for
each (`least_budget_within`); at ε = 0 a non-increasing law has δ(0) = Σ N_ij (h_i − h_j), which
needs no t.

The optimum ends where the mass beyond is δ: such laws cannot be reached by descent on logarithms (σ
= s, δ = 0.01: ε = 1.2700 against 1.2794 after 40 steps of it).

The unknowns are the shells' masses n_k h_k, which stay near 1 in any dimension.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from leastnoise.lattice.shells import Floats
from leastnoise.solver.problem import RenyiProblem

Indices = NDArray[np.int64]

_MOST_SHELLS = 4_000
_MOST_PAIRS = 3_000
_MOST_PAIRS_ONCE = 6_000  # where one solve is enough: half a second
_SOLVES = 8
# a shell that has so many more points than the one within it: what is lost in there is mended by
# `law`
_LARGE = 1e12
_CLOSE = 1e-5  # of δ, within which and never above which the program's value is brought
# share of δ kept for the solver's rounding; more would be felt in ε where that is nearly 0
_KEPT = 1e-7
_EXACTLY = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
_BEYOND = 1e-2  # share of δ that the starting law may have outside the window


@dataclass(frozen=True, eq=False)
class _Program:
    """The linear program but for its ε: the inequalities are N_ij h_i − e^ε N_ij h_j ≤ t_ij and
    h_{k+1} ≤ h_k."""

    i: Indices
    j: Indices
    lose: Floats  # N_ij/n_i
    hide: Floats  # N_ij/n_j, 0 beyond the window
    monotone: sparse.csr_matrix
    equal: sparse.csr_matrix  # mass and cost
    cost: Floats  # of each shell, in budgets
    size: int


def least_epsilon(
    problem: RenyiProblem, profile: Floats, epsilon: float, delta: float, drop: float
) -> Floats | None:
    """log h of shells 0, 1, … of the law of least ε at `delta` for one release, −inf where it is
    empty.

    1. Down from a law that is good enough by growing steps until the program is not,
    2. then Newton steps with its own slope, until its value is just below δ.

    `profile` is a law that needs `epsilon` at `delta`, to start from; `drop` the relative gain to
    look for first. None where the window needs too many shells or the linear program is not solved;
    whether the result is better is for the judge to say.
    """
    program = _program(problem, profile, delta, _MOST_PAIRS)
    if program is None:
        return None
    # Never above δ: a law may have all of it at its end, and is then without any ε at a δ smaller
    # by 1e-9 of itself.
    most = 1.0 - 0.1 * _CLOSE
    best, low, high, at = None, 0.0, epsilon, epsilon * (1.0 - drop)
    for _ in range(_SOLVES):
        solved = _least_delta(program, at, delta)
        if solved is None:
            break
        masses, value, slope = solved
        if value <= most:
            best, high = masses, at
        else:
            low = at
        if 1.0 - _CLOSE <= value <= most or high - low <= 1e-9 * high:
            break
        drop *= 8.0
        newton = at + (1.0 - 0.5 * _CLOSE - value) / slope if slope < 0.0 else low
        at = _within(newton, low, high, epsilon * (1.0 - drop))
    return None if best is None else law(problem, best)


def _within(newton: float, low: float, high: float, down: float) -> float:
    """The next ε to try between one that is too small, 0 while none is known, and one that is not:
    the Newton step, but while none is known no further than `down`."""
    if max(down if low == 0.0 else low, 0.0) < newton < high:
        return newton
    return down if low == 0.0 and down > 0.1 * high else 0.5 * (low + high)


def fits(problem: RenyiProblem, profile: Floats, delta: float) -> bool:
    """Whether the linear program is small enough to be solved once."""
    return _program(problem, profile, delta, _MOST_PAIRS_ONCE) is not None


def least_budget(
    problem: RenyiProblem, profile: Floats, epsilon: float, delta: float
) -> tuple[float, Floats] | None:
    """The least budget of a law that is (`epsilon`, `delta`)-private with one release, and the
    shell masses of that law.

    `profile` is a law that about does, of which the window is taken. None as with `least_epsilon`.
    """
    program = _program(problem, profile, delta, _MOST_PAIRS_ONCE)
    if program is None:
        return None
    n, pairs = program.size, program.i.size
    spent = sparse.csr_matrix(np.concatenate([np.zeros(n), np.ones(pairs)])[None, :])
    result = linprog(
        np.concatenate([program.cost, np.zeros(pairs)]),
        A_ub=sparse.vstack(
            [_excess(program, epsilon, delta), program.monotone, spent], format="csr"
        ),
        b_ub=np.append(np.zeros(pairs + n - 1), 1.0 - _KEPT),
        A_eq=program.equal[:1],
        b_eq=np.ones(1),
        bounds=(0.0, None),
        method="highs-ds",
    )
    if result.status != 0:
        return None
    return problem.budget * float(result.fun), np.asarray(result.x[:n], dtype=np.float64)


def least_budget_within(
    problem: RenyiProblem, profile: Floats, limits: Sequence[tuple[float, float]]
) -> tuple[float, Floats] | None:
    """The least budget of a law with δ(ε) ≤ δ for each (ε, δ) of the `limits` with one release, and
    the shell masses of that law.

    Beside a loose row the solver lets a tight one be broken by a tenth, unless it is told to be
    exact to the last digits. None as with `least_epsilon`.
    """
    program = _program(problem, profile, min(delta for _, delta in limits), _MOST_PAIRS_ONCE)
    if program is None:
        return None
    rows, most = _rows(program, limits)
    n, unknown = program.size, rows.shape[1] - program.size
    result = linprog(
        np.concatenate([program.cost, np.zeros(unknown)]),
        A_ub=rows,
        b_ub=most,
        A_eq=sparse.hstack([program.equal[:1, :n], sparse.csr_matrix((1, unknown))], format="csr"),
        b_eq=np.ones(1),
        bounds=(0.0, None),
        method="highs-ds",
        options=_EXACTLY,
    )
    if result.status != 0:
        return None
    return problem.budget * float(result.fun), np.asarray(result.x[:n], dtype=np.float64)


def _rows(
    program: _Program, limits: Sequence[tuple[float, float]]
) -> tuple[sparse.csr_matrix, Floats]:
    """The inequalities of all limits: those of the masses and t of each limit beyond ε = 0, that
    the law falls, the levels δ(0), and what the t of each limit sum up to."""
    n, pairs = program.size, program.i.size
    split = [limit for limit in limits if limit[0] > 0.0]
    levels = [_level(program, delta) for epsilon, delta in limits if epsilon == 0.0]
    each = [_excess(program, epsilon, delta) for epsilon, delta in split]
    grid: list[list[sparse.csr_matrix | None]] = []
    for place, rows in enumerate(each):
        row: list[sparse.csr_matrix | None] = [None] * len(each)
        row[place] = rows[:, n:]
        grid.append([rows[:, :n], *row])
    grid += [[rows, *[None] * len(each)] for rows in (program.monotone[:, :n], *levels)]
    for place in range(len(each)):
        sums: list[sparse.csr_matrix | None] = [None] * len(each)
        sums[place] = sparse.csr_matrix(np.ones((1, pairs)))
        grid.append([None, *sums])
    found = sparse.bmat(grid, format="csr")
    most = np.zeros(found.shape[0])
    most[most.size - len(limits) :] = 1.0 - _KEPT
    return found, most


def _level(program: _Program, delta: float) -> sparse.csr_matrix:
    """The row Σ N_ij (h_i − h_j), which is δ(0) of a non-increasing law, in units of `delta`."""
    inside = np.flatnonzero(program.j < program.size)
    row = np.bincount(program.i, program.lose, minlength=program.size)
    row -= np.bincount(program.j[inside], program.hide[inside], minlength=program.size)
    return sparse.csr_matrix(row / delta)


def _program(
    problem: RenyiProblem, profile: Floats, delta: float, most_pairs: int
) -> _Program | None:
    m, lattice = problem.shift, problem.lattice
    log_h = problem.all_shells(profile)
    mass = np.exp(log_h + lattice.log_shell_count(np.arange(log_h.size)))
    beyond = np.cumsum(mass[::-1])[::-1]
    last = min(int(np.searchsorted(-beyond, -_BEYOND * delta)) + m, log_h.size - 1)
    if last > _MOST_SHELLS:
        return None
    pairs = lattice.pairs(m, last + m)
    # h_i > e^ε h_j needs j > i in a non-increasing law.
    keep = (pairs.i <= last) & (pairs.j > pairs.i)
    i, j, log_count = pairs.i[keep], pairs.j[keep], pairs.log_count[keep]
    if i.size > most_pairs:
        return None
    k = np.arange(last + 1)
    log_n = lattice.log_shell_count(k)
    lose = np.exp(log_count - log_n[i])
    hide = np.where(j <= last, np.exp(log_count - lattice.log_shell_count(j)), 0.0)
    # So many dimensions that shells differ by more than a float holds.
    if float(np.max(log_n[1:] - log_n[:-1], initial=0.0)) > 600.0:
        return None
    # h_{k+1} ≤ h_k as mass_{k+1} ≤ mass_k·n_{k+1}/n_k.
    grow = np.exp(log_n[1:] - log_n[:-1])
    # The solver refuses numbers above 1e15, which inner shells have from 32 answers on.
    row = 1.0 / np.where(grow > _LARGE, grow, 1.0)
    monotone = sparse.csr_matrix(
        (np.concatenate([row, -row * grow]), (np.tile(k[:-1], 2), np.concatenate([k[1:], k[:-1]]))),
        shape=(last, last + 1 + i.size),
    )
    cost = lattice.per_shell(last) / problem.budget
    equal = sparse.csr_matrix(
        np.hstack([np.stack([np.ones(last + 1), cost]), np.zeros((2, i.size))])
    )
    return _Program(i, j, lose, hide, monotone, equal, cost, last + 1)


def _excess(program: _Program, epsilon: float, unit: float) -> sparse.csr_matrix:
    """The rows N_ij h_i − e^ε N_ij h_j − t_ij, in units of `unit`."""
    n, pairs = program.size, program.i.size
    row = np.arange(pairs)
    inside = np.flatnonzero(program.j < n)
    hidden = -math.exp(epsilon) / unit * program.hide[inside]
    values = [program.lose / unit, hidden, -np.ones(pairs)]
    columns = [program.i, program.j[inside], n + row]
    return sparse.csr_matrix(
        (np.concatenate(values), (np.concatenate([row, inside, row]), np.concatenate(columns))),
        shape=(pairs, n + pairs),
    )


def _least_delta(
    program: _Program, epsilon: float, unit: float
) -> tuple[Floats, float, float] | None:
    """Shell masses of the law of least δ at ε, that δ in units of `unit`, and its slope in ε."""
    n, pairs = program.size, program.i.size
    result = linprog(
        np.concatenate([np.zeros(n), np.ones(pairs)]),
        A_ub=sparse.vstack([_excess(program, epsilon, unit), program.monotone], format="csr"),
        b_ub=np.zeros(pairs + n - 1),
        A_eq=program.equal,
        b_eq=np.ones(2),
        bounds=(0.0, None),
        method="highs-ds",
    )
    if result.status != 0:
        return None
    masses = np.asarray(result.x[:n], dtype=np.float64)
    multiplier = -np.asarray(result.ineqlin.marginals[:pairs])
    inside = np.flatnonzero(program.j < n)
    hidden = multiplier[inside] * program.hide[inside] * masses[program.j[inside]]
    slope = -math.exp(epsilon) / unit * float(np.sum(hidden))
    return masses, float(result.fun), slope


def law(problem: RenyiProblem, masses: Floats) -> Floats | None:
    """The law with the solver's rounding mended: non-increasing, of unit mass, and at the budget to
    working precision."""
    log_n = problem.lattice.log_shell_count(np.arange(masses.size))
    with np.errstate(divide="ignore"):
        # From outside in: in high dimension the innermost shells hold less than the solver
        # resolves.
        log_h = _falling(np.log(np.maximum(masses, 0.0)) - log_n)
    log_h = log_h[: int(np.flatnonzero(log_h > -np.inf)[-1]) + 1]
    log_n = log_n[: log_h.size]
    cost = problem.lattice.per_shell(log_h.size - 1)
    share = np.exp(log_h + log_n)
    share /= np.sum(share)
    excess = float(share @ cost) - problem.budget
    # A little of the cheapest law, all mass at zero, or of the dearest non-increasing one, uniform,
    # brings the cost to the budget.
    other = np.zeros(share.size)
    if excess > 0.0:
        other[0] = 1.0
    else:
        other = np.exp(log_n - np.max(log_n))
        other /= np.sum(other)
    weight = excess / (excess + problem.budget - float(other @ cost)) if excess != 0.0 else 0.0
    if not 0.0 <= weight < 1e-3:
        return None
    with np.errstate(divide="ignore"):
        return _falling(np.log((1.0 - weight) * share + weight * other) - log_n)


def _falling(log_h: Floats) -> Floats:
    """Rises, which are rounding, made level: for a law without any the corner shift is the worst
    one."""
    return np.asarray(np.maximum.accumulate(log_h[::-1])[::-1])
