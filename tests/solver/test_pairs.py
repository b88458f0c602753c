"""Objective, gradient, Hessian and folded masses against sums over lattice points."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from leastnoise.cost import Cost, absolute, quadratic
from leastnoise.lattice import shells
from leastnoise.solver import pairs
from leastnoise.solver.budget import LatticeBudget
from leastnoise.solver.problem import RenyiProblem, folded, renyi_problem
from solver import reference_renyi as reference

pytestmark = pytest.mark.portable


def small_problem(
    dimension: int, shift: int, order: float, first: int, last: int, ratio: float, monotone: bool
) -> RenyiProblem:
    log_mass, unit_cost = folded(
        LatticeBudget(dimension, shift, quadratic(), 1.0, "real"), first, last, ratio
    )
    guess = -0.4 * np.arange(first, last + 1.0)
    return RenyiProblem(
        dimension,
        shift,
        order,
        first,
        last,
        ratio,
        log_mass,
        unit_cost,
        float(np.median(unit_cost)),
        monotone,
        "real",
        quadratic(),
        guess,
    )


CASES = [
    (1, 3, 1.0, 0, 9, 0.6, True),
    (1, 3, 2.5, 0, 9, 0.6, False),
    (1, 4, 8.0, 0, 6, 0.5, False),
    (2, 1, 3.0, 0, 5, 0.5, True),
    (2, 3, 1.0, 0, 7, 0.5, True),
    (2, 3, 4.0, 1, 7, 0.5, True),
    (3, 2, 2.0, 0, 5, 0.35, True),
    (3, 1, 6.0, 2, 5, 0.35, True),
]


@pytest.mark.parametrize("case", CASES)
def test_value_gradient_and_hessian_are_the_lattice_sums(
    case: tuple[int, int, float, int, int, float, bool],
) -> None:
    problem = small_problem(*case)
    q = problem.guess + 0.15 * np.random.default_rng(7).standard_normal(problem.size)
    q = q - np.log(np.sum(np.exp(problem.log_mass + q)))
    system = pairs.pair_system(problem)
    value = pairs.evaluate(system, q)
    assert value.log_scale == 0.0
    reach = {1: 160, 2: 70, 3: 40}[problem.dimension]
    for row, shift in enumerate(problem.shifts):
        d, gradient, hessian = reference.dense_renyi(problem, q, shift, reach)
        assert value.d[row] == pytest.approx(d, rel=1e-11)
        np.testing.assert_allclose(
            value.gradient[row], gradient, rtol=1e-9, atol=1e-12 * np.max(np.abs(gradient))
        )
        only = np.zeros(system.rows)
        only[row] = 1.0
        full = reference.from_band(pairs.hessian_band(system, value, only))
        np.testing.assert_allclose(full, hessian, rtol=1e-9, atol=1e-12 * np.max(hessian))


@pytest.mark.parametrize("case", CASES)
def test_homogeneous_of_degree_one(case: tuple[int, int, float, int, int, float, bool]) -> None:
    problem = small_problem(*case)
    value = pairs.evaluate(pairs.pair_system(problem), problem.guess)
    np.testing.assert_allclose(np.sum(value.gradient, axis=1), value.d, rtol=1e-12)
    doubled = pairs.evaluate(pairs.pair_system(problem), problem.guess + np.log(2.0))
    np.testing.assert_allclose(doubled.d, 2.0 * value.d, rtol=1e-12)


def test_scaled_evaluation_continues_the_plain_one() -> None:
    problem = renyi_problem(sigma=30.0, shift=10, order=60.0)
    system = pairs.pair_system(problem)
    plain = pairs.evaluate(system, problem.guess)
    steep = dataclasses.replace(
        system, offset=system.offset + 0.9
    )  # every log-ratio raised until exponents pass e^40
    scaled = pairs.evaluate(steep, problem.guess)
    assert plain.log_scale == 0.0
    assert scaled.log_scale > 40.0
    lam = problem.guess[steep.a] - problem.guess[steep.b] + steep.offset
    log_terms = steep.log_count + problem.guess[steep.b] + 60.0 * lam
    expected = np.logaddexp.reduce(log_terms)
    attained = float(pairs.divergence(60.0, scaled.d, scaled.log_scale)[0]) * 59.0
    assert attained == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("dimension", "first", "cost"),
    [(1, 0, quadratic()), (1, 0, absolute()), (2, 0, quadratic()), (3, 2, quadratic())],
)
def test_folded_mass_and_cost(dimension: int, first: int, cost: Cost) -> None:
    last, ratio, far = 6, 0.5, 120
    lattice = LatticeBudget(dimension, 1, cost, 1.0, "real")
    log_mass, unit_cost = folded(lattice, first, last, ratio)
    k = np.arange(far)
    count = np.exp(shells.log_shell_count(dimension, k)) * ratio ** np.maximum(k - last, 0)
    index = np.clip(k, first, last) - first
    mass = np.bincount(index, count)
    np.testing.assert_allclose(np.exp(log_mass), mass, rtol=1e-12)
    average = lattice.per_shell(far - 1)
    np.testing.assert_allclose(unit_cost, np.bincount(index, count * average) / mass, rtol=1e-12)
