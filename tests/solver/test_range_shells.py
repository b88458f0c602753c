"""The programs on the shells of the range norm: masses, costs and pairs against lattice points, and
what is found against the judge."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from leastnoise import OneSided, PrivacyLoss
from leastnoise.cost import quadratic
from leastnoise.designer.lattice_law import renyi_law
from leastnoise.designer.request import Request
from leastnoise.lattice.bodies.overlap import worst_moved
from leastnoise.lattice.bodies.range import RangeBody
from leastnoise.laws.norm import NormNoise
from leastnoise.solver import pairs, renyi
from leastnoise.solver.budget import Cubes, LatticeBudget
from leastnoise.solver.problem import renyi_problem

pytestmark = pytest.mark.portable


def points(d: int, reach: int):
    """All lattice points with their range, up to a range of `reach`."""
    body = RangeBody(d)
    for x in itertools.product(range(-reach, reach + 1), repeat=d):
        if (r := body.radius(x)) <= reach:
            yield x, r


@pytest.mark.parametrize("d", [2, 3])
def test_shells_and_balls_are_those_of_the_lattice(d):
    lattice = LatticeBudget(d, 1, quadratic(), 1.0, "integer", worst_moved(d, d))
    size, spent = Counter(), Counter()
    for x, r in points(d, 5):
        size[r] += 1
        spent[r] += x[0] ** 2
    k = np.arange(6)
    assert np.exp(lattice.log_shell_count(k)) == pytest.approx([size[r] for r in k])
    assert lattice.per_shell(5) == pytest.approx([spent[r] / size[r] for r in k])
    balls = Cubes.of(lattice, 5)
    inside = np.cumsum([size[r] for r in k])
    assert np.exp(balls.log_count) == pytest.approx(inside)
    assert balls.cost == pytest.approx(np.cumsum([spent[r] for r in k]) / inside)


@pytest.mark.parametrize(("d", "shift", "order"), [(2, 1, 2.0), (2, 2, 5.0), (3, 1, 1.0)])
def test_the_divergence_is_the_lattice_sum_at_the_worst_shift(d, shift, order):
    moved = worst_moved(d, d)
    problem = renyi_problem(
        shift=shift,
        order=order,
        budget=2.0,
        dimension=d,
        domain="integer",
        last=6,
        tail_ratio=0.25,
        moved=moved,
    )
    system = pairs.pair_system(problem)
    q = problem.guess
    full = np.concatenate([np.full(problem.first, q[0]), q])
    reach = 24 if d == 2 else 14
    steps = np.arange(1.0, reach + shift + 1)
    log_h = np.concatenate([full, full[-1] + math.log(0.25) * steps])
    v = (shift,) * moved + (0,) * (d - moved)
    body = RangeBody(d)
    h = {x: math.exp(log_h[r]) for x, r in points(d, reach)}
    total = 0.0
    for x, p in h.items():
        other = math.exp(log_h[body.radius([a - b for a, b in zip(x, v, strict=True)])])
        ratio = p / other
        if order == 1.0:
            total += p * math.log(ratio) - p + other
        else:
            total += other * (ratio**order - 1.0 - order * (ratio - 1.0)) / (order * (order - 1.0))
    value = pairs.evaluate(system, q)
    assert float(value.d[0]) * math.exp(value.log_scale) == pytest.approx(total, rel=2e-6)


def asked(d: int, releases: int, sigma: float, delta: float, steps: int = 1):
    request = Request.of(
        delta=delta,
        batch=d,
        compositions=releases,
        domain="integer",
        sensitivity=steps,
        changes=OneSided(),
    )
    assert request.is_of_range
    return request.on_lattice(sigma)


@pytest.mark.parametrize(("d", "steps", "order"), [(2, 1, 4.0), (3, 2, 2.0), (5, 1, 8.0)])
def test_the_program_is_solved_to_its_gap_and_the_judge_agrees(d, steps, order):
    request = asked(d, 10, 4.0 * steps, 1e-6, steps)
    optimum = renyi.solve(request.problem(order))
    assert optimum.gap <= 1e-6
    assert float(np.sum(optimum.shell_masses)) == pytest.approx(1.0)
    law = renyi_law(request, order)
    noise = request.noise(law.log_h, law.tail_ratio)
    assert isinstance(noise, NormNoise)
    assert noise.std == pytest.approx(4.0 * steps, rel=1e-9)
    judged = PrivacyLoss.of(noise, float(steps), OneSided()).compose(10).epsilon(1e-6)
    assert judged == pytest.approx(law.epsilon, rel=1e-6)


@pytest.mark.parametrize(("d", "sigma"), [(2, 3.0), (5, 8.0)])
def test_pure_privacy_of_one_step_is_the_plain_law(d, sigma):
    law = renyi_law(asked(d, 1, sigma, 1e-6), math.inf)
    falls = -np.diff(law.log_h)
    assert falls == pytest.approx(falls[0], rel=1e-9)
    assert law.optimum.gap <= 1e-9
