"""The lower bound is one: against linear programming, random laws and 30 digits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from leastnoise.solver import pairs
from leastnoise.solver.certificate import hull_at, lower_bound
from leastnoise.solver.point import meet_constraints, spread
from leastnoise.solver.problem import renyi_problem
from leastnoise.solver.renyi import solve
from solver import reference_renyi as reference

pytestmark = pytest.mark.portable


@pytest.mark.parametrize("seed", range(8))
def test_hull_is_the_linear_program(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, c = np.sort(rng.random(40)), rng.standard_normal(40)
    at = float(rng.uniform(x[3], x[-4]))
    program = linprog(c, A_eq=np.stack([np.ones(40), x]), b_eq=[1.0, at], bounds=(0, None))
    bound = hull_at(x, c, at)
    assert bound.value == pytest.approx(program.fun, rel=1e-12, abs=1e-12)
    assert np.all(bound.value + bound.slope * (x - at) <= c + 1e-12)


def test_monotone_bound_is_the_linear_program_over_monotone_laws() -> None:
    problem = renyi_problem(sigma=6.0, shift=4, order=3.0)
    value = pairs.evaluate(pairs.pair_system(problem), problem.guess)
    mass = np.exp(problem.log_mass)
    c = value.gradient[0] / (mass * np.exp(problem.guess))
    n = problem.size
    falling = np.eye(n, k=1)[:-1] - np.eye(n)[:-1]  # h_{k+1} − h_k ≤ 0
    program = linprog(
        c * mass,
        falling,
        np.zeros(n - 1),
        np.stack([mass, mass * problem.unit_cost]),
        [1.0, problem.budget],
        (0, None),
    )
    assert lower_bound(problem, c, np.zeros(n)).value == pytest.approx(program.fun, rel=1e-8)


@pytest.mark.parametrize("arguments", [
    {"sigma": 5.0, "shift": 10, "order": 1.0},
    {"sigma": 20.0, "shift": 5, "order": 12.0},
    {"sigma": 8.0, "shift": 4, "order": 3.0, "dimension": 3},
    {"sigma": 6.0, "shift": 5, "order": 4.0, "monotone": False},
])  # fmt: skip
def test_no_feasible_law_is_below_the_bound(arguments: dict[str, object]) -> None:
    problem = renyi_problem(**arguments)  # type: ignore[arg-type]
    optimum = solve(problem)
    system = pairs.pair_system(problem)
    rng = np.random.default_rng(3)
    closest = np.inf
    for trial in range(200):
        size = 10.0 ** rng.uniform(-5, 0)
        kick = rng.standard_normal(problem.size)
        if trial % 2:
            kick = np.cumsum(kick) / np.sqrt(problem.size)
        law = meet_constraints(problem, spread(problem, optimum.profile + size * kick))
        assert float(np.exp(problem.log_mass + law) @ problem.unit_cost) == pytest.approx(
            problem.budget, rel=1e-9
        )
        value = pairs.evaluate(system, law)
        attained = float(np.max(pairs.divergence(problem.order, value.d, value.log_scale)))
        assert attained >= optimum.lower_bound
        closest = min(closest, attained / optimum.lower_bound - 1.0)
    assert closest < 1e-3  # the trials do come near


@pytest.mark.parametrize("arguments", [
    {"sigma": 5.0, "shift": 10, "order": 1.0},
    {"sigma": 1.2, "shift": 4, "order": 1.006},
    {"sigma": 10.0, "shift": 10, "order": 2.0, "monotone": False},
    {"sigma": 3.0, "shift": 3, "order": 60.0},
    {"sigma": 24.0, "shift": 3, "order": 18.0},
    {"sigma": 8.0, "shift": 4, "order": 300.0, "domain": "integer"},
    {"sigma": 2.0, "shift": 5, "order": 8.0, "monotone": False},
])  # fmt: skip
def test_certificate_holds_with_thirty_digits(arguments: dict[str, object]) -> None:
    optimum = solve(renyi_problem(**arguments))  # type: ignore[arg-type]
    divergence, bound = reference.certificate(optimum)
    assert optimum.divergence == pytest.approx(float(divergence), rel=1e-11)
    assert float(1 - bound / divergence) <= 1e-9 + 1e-12
    assert optimum.lower_bound <= float(bound) * (1 + 1e-12)
