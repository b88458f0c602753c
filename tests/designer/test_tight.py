"""Descent on the true ε, and the linear program of one release, against enumeration and an
independent program."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.cost import quadratic
from leastnoise.designer.lattice_law import renyi_law
from leastnoise.designer.request import LatticeRequest, Request
from leastnoise.designer.tight import best_smooth, best_tight, descended, of_masses, stepped
from leastnoise.errors import AccountingError
from leastnoise.lattice.resolution import bins_of_design, block_size
from leastnoise.laws.lattice import LatticeNoise
from leastnoise.solver import descent, linear
from leastnoise.solver.frozen import frozen_point
from leastnoise.solver.pairs import PairSystem, loss_table, pair_system
from leastnoise.solver.point import meet_constraints, spread
from leastnoise.solver.problem import RenyiProblem, renyi_problem

pytestmark = pytest.mark.portable


def setting(
    sigma: float, m: int, delta: float, releases: int, dimension: int = 1
) -> LatticeRequest:
    return LatticeRequest(
        dimension, m, "real", quadratic(), (sigma * m) ** 2, sigma, delta, releases
    )


def exact_delta(system: PairSystem, q: np.ndarray, epsilon: float, releases: int) -> float:
    """δ(ε) of the composed law by listing every tuple of losses, without a grid."""
    table = loss_table(system, q)
    total, log_p = np.zeros(1), np.zeros(1)
    for _ in range(releases):
        total, log_p = (
            np.add.outer(total, table.loss).ravel(),
            np.add.outer(log_p, table.log_p).ravel(),
        )
    return math.fsum((np.exp(log_p) * -np.expm1(np.minimum(epsilon - total, 0.0))).tolist())


@pytest.mark.parametrize(
    ("releases", "dimension", "m"), [(1, 1, 3), (2, 1, 4), (3, 1, 3), (2, 2, 2)]
)
def test_gradient_is_that_of_the_composed_delta(releases: int, dimension: int, m: int) -> None:
    """The frozen problem's relative gradient is 1/N of that of δ: central differences of the
    enumerated δ."""
    problem = renyi_problem(
        shift=m, order=4.0, sigma=1.3 * m, dimension=dimension, last=8 * m, tail_ratio=0.8
    )
    system = pair_system(problem)
    q = meet_constraints(problem, problem.guess)
    epsilon = descent.true_epsilon(system, q, 1e-3, releases)
    frozen = frozen_point(problem, system, q, epsilon, releases, 1e-3)
    assert frozen is not None
    ours = frozen.point.gradients[0]
    value = exact_delta(system, q, epsilon, releases)
    assert value == pytest.approx(1e-3, rel=1e-3)
    shells = [0, 1, m, 2 * m, 4 * m, problem.size - 1]
    for k in shells:
        nudge = np.zeros(q.size)
        nudge[k] = 1e-5
        slope = (
            exact_delta(system, q + nudge, epsilon, releases)
            - exact_delta(system, q - nudge, epsilon, releases)
        ) / 2e-5
        assert releases * ours[k] == pytest.approx(
            slope / value, abs=0.02 * float(np.max(np.abs(ours))) * releases
        )
    # δ is homogeneous of degree N in the law.
    assert float(np.sum(ours)) == pytest.approx(1.0, abs=0.01)


def starts(problem: RenyiProblem) -> list[np.ndarray]:
    """Feasible laws: the optimum's guess, a Gaussian, a Laplace-like and a lumpy one."""
    k = np.arange(problem.size, dtype=np.float64)
    lumps = -np.cumsum(np.random.default_rng(7).exponential(size=k.size)) / k.size
    shapes = [problem.guess, -((k / k.size) ** 2), -k / k.size, lumps]
    return [meet_constraints(problem, spread(problem, shape)) for shape in shapes]


@pytest.mark.parametrize(
    ("sigma", "m", "releases", "delta"), [(8.0, 4, 10, 1e-6), (2.0, 6, 4, 1e-4), (1.0, 10, 2, 1e-2)]
)
def test_descent_is_never_worse_than_its_start_and_stays_feasible(
    sigma: float, m: int, releases: int, delta: float
) -> None:
    problem = setting(sigma, m, delta, releases).problem(10.0)
    system = pair_system(problem)
    for q in starts(problem):
        before = descent.true_epsilon(system, q, delta, releases)
        reached = descent.descend(problem, system, q, delta, releases)
        assert reached.epsilon <= before
        assert reached.epsilon == pytest.approx(
            descent.true_epsilon(system, reached.q, delta, releases), rel=1e-12
        )
        share = np.exp(problem.log_mass + reached.q)
        assert float(np.sum(share)) == pytest.approx(1.0, abs=1e-12)
        assert float(share @ problem.unit_cost) == pytest.approx(problem.budget, rel=1e-12)
        assert np.all(np.diff(reached.q) <= 0.0)


def test_descent_forgets_where_it_started() -> None:
    """σ = 8, ten releases: from three orders the same ε to 1e-6, below each of theirs by at least
    2e-4."""
    case = setting(8.0, 4, 1e-6, 10)
    begun = [renyi_law(case, order) for order in (9.0, 16.0, 24.0)]
    ends = [descended(candidate, case).epsilon for candidate in begun]
    assert max(ends) < min(ends) * (1.0 + 1e-6)
    assert max(ends) <= min(candidate.epsilon for candidate in begun) * (1.0 - 2e-4)


@pytest.mark.parametrize(
    ("sigma", "m", "releases", "delta"),
    [(8.0, 4, 10, 1e-6), (2.6, 12, 3, 0.25), (1.0, 10, 2, 1e-2)],
)
def test_the_search_sees_what_the_judge_sees(
    sigma: float, m: int, releases: int, delta: float
) -> None:
    """On its own grid: the judge's ε where that is below the one to beat, to the accuracy of the
    grid, and else that it is not."""
    problem = setting(sigma, m, delta, releases).problem(6.0)
    system = pair_system(problem)
    q = meet_constraints(problem, problem.guess)
    exact = descent.true_epsilon(system, q, delta, releases)
    for settings, accuracy in ((descent.FINE, 1e-4), (descent.COARSE, 2e-3)):
        for factor in (1.01, 1.05, 1.3):
            found = descent.lower_epsilon(system, q, delta, releases, factor * exact, settings)
            assert found == pytest.approx(exact, rel=accuracy)
        refused = descent.lower_epsilon(system, q, delta, releases, 0.95 * exact, settings)
        assert refused == math.inf


def test_a_law_the_judge_declines_counts_as_infinite(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = setting(4.0, 4, 1e-6, 5).problem(8.0)
    system = pair_system(problem)
    q = meet_constraints(problem, problem.guess)
    for error in (AccountingError("no"), OverflowError("no")):

        def decline(*_: object, error: Exception = error) -> float:
            raise error

        monkeypatch.setattr(PrivacyLoss, "epsilon", decline)
        assert descent.true_epsilon(system, q, 1e-6, 5) == math.inf
        reached = descent.descend(problem, system, q, 1e-6, 5)
        assert reached.epsilon == math.inf
        assert reached.q is q


def test_no_descent_below_zero() -> None:
    problem = setting(40.0, 1, 0.1, 1).problem(8.0)
    system = pair_system(problem)
    q = meet_constraints(problem, problem.guess)
    assert descent.descend(problem, system, q, 0.1, 1).epsilon == 0.0


# One release


def least_delta(sigma: float, m: int, epsilon: float, reach: int) -> float:
    """The least δ(ε) over symmetric non-increasing laws on −reach … reach, written out on the line,
    every shift a constraint."""
    points = np.arange(-reach, reach + 1)
    free, width = reach + 1, points.size + m
    rows, bounds = [], []
    for index, x in enumerate(range(-reach, reach + m + 1)):
        row = np.zeros(free + width)
        if abs(x) <= reach:
            row[abs(x)] += 1.0
        if abs(x - m) <= reach:
            row[abs(x - m)] -= math.exp(epsilon)
        row[free + index] = -1.0
        rows.append(row)
        bounds.append(0.0)
    for k in range(reach):
        row = np.zeros(free + width)
        row[k + 1], row[k] = 1.0, -1.0
        rows.append(row)
        bounds.append(0.0)
    mass = np.zeros(free + width)
    np.add.at(mass, np.abs(points), 1.0)
    variance = np.zeros(free + width)
    np.add.at(variance, np.abs(points), points**2 + 1.0 / 12.0)
    objective = np.concatenate([np.zeros(free), np.ones(width)])
    result = linprog(
        objective, A_ub=rows, b_ub=bounds, A_eq=[mass, variance], b_eq=[1.0, (sigma * m) ** 2]
    )
    return float(result.fun)


@pytest.mark.parametrize(("sigma", "m", "delta"), [(1.0, 6, 1e-2), (2.0, 4, 1e-3), (0.5, 8, 1e-2)])
def test_one_release_is_solved_to_optimality(sigma: float, m: int, delta: float) -> None:
    """No law of the lattice has a smaller δ at the ε reached, by a program that shares no code with
    ours."""
    best = best_tight(setting(sigma, m, delta, 1))
    least = least_delta(sigma, m, best.epsilon, best.log_h.size + 2 * m)
    assert least == pytest.approx(delta, rel=1e-3)


@pytest.mark.parametrize(
    ("sigma", "m", "delta", "dimension"),
    [(1.0, 12, 1e-2, 1), (4.0, 8, 1e-6, 1), (8.0, 4, 1e-2, 10)],
)
def test_the_law_of_one_release_is_a_law(
    sigma: float, m: int, delta: float, dimension: int
) -> None:
    case = setting(sigma, m, delta, 1, dimension)
    stairs = renyi_law(case, math.inf)
    best = best_tight(case)
    assert best.epsilon < stairs.epsilon
    noise = LatticeNoise.from_log_weights(best.log_h, best.tail_ratio, dimension=dimension)
    assert noise.std == pytest.approx(sigma * m, rel=1e-12)
    assert noise.is_monotone
    assert PrivacyLoss.of(noise, float(m)).epsilon(delta) == pytest.approx(best.epsilon, rel=1e-12)


# The order and the lattice


def test_the_order_stops_where_optima_are_staircases() -> None:
    """σ = s, two releases: saddle orders run away (5, 19, 62, …) and every solve is slower; the
    staircase is the answer."""
    case = setting(1.0, 12, 1e-6, 2)
    stairs = renyi_law(case, math.inf)
    smooth = best_smooth(case, stairs.optimum.divergence)
    assert smooth is not None
    assert smooth.optimum.problem.order * stairs.optimum.divergence <= 15.0 * (1.0 + 1e-12)
    assert best_tight(case).epsilon <= stairs.epsilon


@pytest.mark.parametrize("ratio", [0.3, 0.5, 1.0, 2.0, 5.0])
def test_aligned_bins_hold_the_best_staircase(ratio: float) -> None:
    """On the aligned lattice the staircase is within 2e-5 of the one on a lattice 20
    times finer."""
    m = Request.of(delta=1e-6).on_lattice(ratio).shift
    least = bins_of_design(ratio)
    assert least <= m <= max(1.5 * least, least + 2)
    ours, fine = (setting(ratio, k, 1e-6, 1).problem(math.inf) for k in (m, 20 * m))
    losses = [
        float(np.max(problem.guess[: -problem.shift] - problem.guess[problem.shift :]))
        for problem in (ours, fine)
    ]
    assert losses[0] <= losses[1] * (1.0 + 3e-5)


@pytest.mark.parametrize(
    ("shift", "needed", "block"),
    [(8, 4, 1), (1000, 4, 125), (1000, 30, 25), (64, 4, 1), (999, 4, 111), (45, 4, 9)],
)
def test_blocks(shift: int, needed: int, block: int) -> None:
    assert block_size(shift, needed) == block
    for g in itertools.islice(itertools.count(1, 2), 500):
        if block > 1 and shift % g == 0 and shift // g >= needed:
            assert g <= block


@pytest.mark.parametrize(("dimension", "sigma", "m"), [(2, 3.0, 4), (10, 6.0, 3), (60, 12.0, 3)])
def test_the_least_budget_is_that_of_the_least_epsilon(
    dimension: int, sigma: float, m: int
) -> None:
    """Both programs have the same optimum. With 60 answers there was none: inner shells have
    numbers the solver refuses."""
    case = setting(sigma, m, 0.01, 1, dimension)
    stairs = renyi_law(case, math.inf)
    profile, epsilon = stairs.optimum.profile, 0.98 * stairs.epsilon
    found = linear.least_budget(stairs.problem, profile, epsilon, case.delta)
    assert found is not None
    budget, masses = found
    assert float(np.sum(masses)) == pytest.approx(1.0, rel=1e-9)
    there = replace(case, budget=budget)
    law = of_masses(masses, there)
    if law is None:
        assert stepped(there).epsilon <= epsilon * (1.0 + 1e-4)
    else:
        assert law.epsilon <= epsilon * (1.0 + 1e-6)
    moved = renyi_law(there, math.inf)
    log_h = linear.least_epsilon(
        moved.problem, moved.optimum.profile, moved.epsilon, case.delta, 0.01
    )
    assert log_h is not None
    noise = LatticeNoise.from_log_weights(log_h, None, domain="real", dimension=dimension)
    assert PrivacyLoss.of(noise, float(m)).epsilon(case.delta) == pytest.approx(epsilon, rel=2e-4)
