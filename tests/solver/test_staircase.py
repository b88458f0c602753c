"""α = ∞: the staircase, its closed form, and linear programming as the judge of optimality."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog

from leastnoise.cost import quadratic
from leastnoise.lattice import shells
from leastnoise.solver.budget import LatticeBudget
from leastnoise.solver.optimum import Status
from leastnoise.solver.problem import renyi_problem
from leastnoise.solver.renyi import solve
from leastnoise.solver.staircase import best_staircase

pytestmark = pytest.mark.portable


def geng_viswanath_variance(epsilon: float) -> float:
    """Least variance of ε-private noise at sensitivity 1 (Geng and Viswanath 2014, Theorem 7)."""
    b = math.exp(-epsilon)
    return (2 ** (-2 / 3) * b ** (2 / 3) * (1 + b) ** (2 / 3) + b) / (1 - b) ** 2


@pytest.mark.parametrize("sigma", [0.2, 0.5, 1.0, 3.0, 10.0])
def test_closed_form_of_the_staircase(sigma: float) -> None:
    m = 400
    optimum = solve(renyi_problem(sigma=sigma * m, shift=m, order=math.inf))
    assert optimum.status is Status.OPTIMAL
    # Bins can only cost: the variance the closed form needs for this ε is below σ², by at most
    # 1/(12m²) and the rounding of the step to a bin.
    needed = geng_viswanath_variance(optimum.divergence)
    assert needed <= sigma**2 * (1 + 1e-12)
    assert needed == pytest.approx(sigma**2, rel=2e-4)


@pytest.mark.parametrize("dimension", [1, 2, 4])
@pytest.mark.parametrize("sigma", [0.7, 2.0])
@pytest.mark.parametrize("domain", ["real", "integer"])
def test_no_monotone_law_is_cheaper(dimension: int, sigma: float, domain: str) -> None:
    m, last = 3, 120 if dimension == 1 or sigma > 1 else 45
    stairs = best_staircase(LatticeBudget(dimension, m, quadratic(), (sigma * m) ** 2, domain))
    mass = np.exp(shells.log_shell_count(dimension, np.arange(last + 1)))
    cost = quadratic().per_shell(last, dimension, 1.0, domain)
    n = last + 1
    falling = np.eye(n, k=1)[:-1] - np.eye(n)[:-1]
    private = np.eye(n)[:-m] - math.exp(stairs.epsilon) * np.eye(n, k=m)[:-m]
    # Units of h_k near the law's own size, or the solver's tolerances are meaningless.
    unit = np.exp(-stairs.epsilon * np.arange(n) / m)
    rows = np.vstack([falling, private]) * unit
    rows = rows / np.max(np.abs(rows), axis=1, keepdims=True)
    scale = float(np.max(mass * unit))
    program = linprog(
        mass * cost * unit / scale,
        rows,
        np.zeros(len(rows)),
        (mass * unit)[None, :] / scale,
        [1.0],
        (0, None),
    )
    assert program.fun == pytest.approx((sigma * m) ** 2, rel=1e-5)


@pytest.mark.parametrize("dimension", [1, 2, 10, 100])
def test_loss_is_attained_and_proven(dimension: int) -> None:
    optimum = solve(renyi_problem(sigma=8.0 * 4, shift=4, order=math.inf, dimension=dimension))
    assert optimum.gap <= 1e-9
    k = np.arange(optimum.log_h.size - 4)
    assert float(np.max(optimum.log_h[k] - optimum.log_h[k + 4])) == pytest.approx(
        optimum.divergence, rel=1e-12
    )
    assert np.all(np.diff(optimum.log_h) <= 0)


def test_free_law_gains_nothing_in_one_dimension() -> None:
    free = solve(renyi_problem(sigma=7.0, shift=7, order=math.inf, monotone=False))
    monotone = solve(renyi_problem(sigma=7.0, shift=7, order=math.inf))
    assert free.status is monotone.status is Status.OPTIMAL
    assert free.divergence == pytest.approx(monotone.divergence, rel=1e-12)
