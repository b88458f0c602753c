"""Designs over the whole stated range: every cost, δ, ε and budget, or a message that says what can
be had."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from benchmarks import whole_range
from scipy.optimize import linprog

from leastnoise import (
    DesignError,
    InvalidParameterError,
    PrivacyLoss,
    design,
    gaussian,
    laplace,
    staircase,
)
from leastnoise.cost import Cost, absolute, custom, power, quadratic
from leastnoise.designer import tight
from leastnoise.designer.lattice_law import renyi_law
from leastnoise.designer.request import LatticeRequest
from leastnoise.designer.result import Design, artefact_of
from leastnoise.designer.rivals import at_cost
from leastnoise.laws.lattice import LatticeNoise
from leastnoise.solver import ended_staircase as ended
from leastnoise.solver import linear as single
from leastnoise.solver.budget import Cubes, LatticeBudget

CALIBRATED = 1e-4  # how far below the wanted ε a design may be
COSTS = [
    absolute(),
    power(1.5),
    quadratic(),
    power(4.0),
    power(8.0),
    custom(lambda z: np.log1p(np.abs(z)), growth=1.0, name="log(1 + |z|)"),
    custom(lambda z: np.abs(z) + z * z, growth=2.0, name="|z| + z²"),
]


def holds(best: Design, cost: Cost) -> None:
    """The guarantee is the judge's, the cost is that of the budget, and no known law needs less."""
    assert best.epsilon_lower <= best.epsilon
    assert (
        PrivacyLoss.of(best.noise, best.sensitivity).compose(best.uses).epsilon(best.delta)
        == best.epsilon
    )
    assert best.noise.expected_cost(cost) == pytest.approx(cost.of(best.sigma), rel=1e-9)
    assert best.epsilon <= min(best.rivals.values())


# The examples that were wrong or refused


@pytest.mark.parametrize(("delta", "sigma"), [(0.24, 0.7125), (0.25, 0.6956), (0.26, 0.6796)])
def test_a_law_whose_end_alone_is_delta(delta: float, sigma: float) -> None:
    """δ = 0.25, ε = 0.5 gave sigma = 2000, its neighbours 0.71 and 0.68."""
    best = design(delta=delta, epsilon=0.5, cost=absolute())
    holds(best, absolute())
    assert best.sigma == pytest.approx(sigma, rel=2e-3)


@pytest.mark.parametrize("budget", [10.0, 100.0, 1000.0])
@pytest.mark.parametrize("exponent", [4.0, 8.0])
def test_costs_of_high_powers_need_no_endless_table(exponent: float, budget: float) -> None:
    """Failed with "at most 4000000 shells"."""
    cost = power(exponent)
    by_root = design(delta=1e-6, sigma=budget ** (1.0 / exponent), cost=cost)
    by_size = design(delta=1e-6, sigma=budget, cost=cost)
    for best in (by_root, by_size):
        holds(best, cost)
        assert isinstance(best.noise, LatticeNoise)
        assert best.noise.last < 200_000
    assert by_size.epsilon < by_root.epsilon


def test_epsilon_of_nearly_ten() -> None:
    best = design(delta=3e-9, epsilon=9.85)
    holds(best, quadratic())
    assert best.sigma < 0.0307


# The table


@pytest.mark.parametrize("cost", COSTS, ids=lambda cost: cost.name)
def test_every_cost_epsilon_and_delta(cost: Cost) -> None:
    """Calibrated on the safe side; more ε or more δ never costs more, beyond what the calibration
    may be off."""
    deltas, epsilons = (1e-12, 1e-6, 0.25), (0.2, 4.0)
    found = {
        (delta, epsilon): design(delta=delta, epsilon=epsilon, cost=cost)
        for delta in deltas
        for epsilon in epsilons
    }
    for (_, epsilon), best in found.items():
        holds(best, cost)
        assert (1.0 - 2.0 * CALIBRATED) * epsilon <= best.epsilon <= epsilon
    for delta in deltas:
        costs = [cost.of(found[delta, epsilon].sigma) for epsilon in epsilons]
        assert costs[0] > costs[1]
    for epsilon, (small, large) in itertools.product(epsilons, itertools.pairwise(deltas)):
        assert found[large, epsilon].sigma <= found[small, epsilon].sigma * (
            1.0 + 10.0 * CALIBRATED
        )


@pytest.mark.parametrize("cost", COSTS, ids=lambda cost: cost.name)
def test_every_budget(cost: Cost) -> None:
    """ε falls as the budget grows, from a small part of the sensitivity to many of them, and is
    that of the law itself."""
    sigmas = (0.02, 0.3, 2.0, 40.0, 600.0)
    found = [design(delta=1e-6, sigma=sigma, cost=cost) for sigma in sigmas]
    for best in found:
        holds(best, cost)
        assert {"Gaussian", "Laplace", "Staircase"} <= set(best.rivals)
    assert all(one.epsilon > other.epsilon for one, other in itertools.pairwise(found))


@pytest.mark.parametrize("cost", [absolute(), power(4.0), COSTS[-1]], ids=lambda cost: cost.name)
@pytest.mark.parametrize("delta", [1e-9, 1e-2])
def test_known_laws_of_the_same_cost_need_no_less(cost: Cost, delta: float) -> None:
    """Built here from their own functions, at the cost of the budget."""
    best = design(delta=delta, sigma=1.2, cost=cost)
    for build in (gaussian, laplace, staircase):
        known = at_cost(build, 1.2, cost)
        assert known.expected_cost(cost) == pytest.approx(cost.of(1.2), rel=1e-9)
        assert best.epsilon <= PrivacyLoss.of(known, 1.0).epsilon(delta) * (1.0 + 3e-5)


@pytest.mark.parametrize(
    ("request_", "cost"),
    [
        ({"delta": 1e-6, "sigma": 2.5}, absolute()),
        ({"delta": 0.25, "sigma": 0.4}, absolute()),
        ({"delta": 0.1, "sigma": 3.0}, power(8.0)),
        ({"delta": 1e-9, "sigma": 0.004}, quadratic()),
        ({"delta": 1e-9, "sigma": 1e-4, "domain": "integer"}, quadratic()),
        ({"delta": 1e-6, "sigma": 0.03, "batch": 3}, quadratic()),
        ({"delta": 1e-6, "sigma": 12.0, "batch": 60, "domain": "integer"}, quadratic()),
        ({"delta": 1e-6, "sigma": 0.02, "compositions": 3}, quadratic()),
        ({"delta": 1e-6, "sigma": 6.0, "batch": 3, "compositions": 3}, absolute()),
        ({"delta": 1e-6, "sigma": 1.2, "batch": 3, "compositions": 3}, power(4.0)),
    ],
)
def test_sigma_to_epsilon_and_back(request_: dict[str, Any], cost: Cost) -> None:
    """The ε of a sigma, asked for, needs no more than that sigma but for the calibration: the ends
    of a step of 1e-4 in ε."""
    there = design(**request_, cost=cost)
    setting = {name: value for name, value in request_.items() if name != "sigma"}
    back = design(**setting, epsilon=there.epsilon, cost=cost)
    assert back.epsilon <= there.epsilon
    assert back.sigma == pytest.approx(there.sigma, rel=2e-3)


# Large ε and small noise


@pytest.mark.parametrize(
    "setting",
    [
        {"domain": "integer", "compositions": 3},
        {"domain": "integer", "batch": 60},
        {"compositions": 5},
        {"batch": 3},
        {"batch": 20},
        {"batch": 60},
    ],
)
def test_every_epsilon_that_plans_allow(setting: dict[str, Any]) -> None:
    """Up to 50; with few answers more is allowed than joint noise needs, and the design is below
    it, never above."""
    sigmas = []
    for epsilon in (12.0, 50.0):
        best = design(delta=3e-9, epsilon=epsilon, **setting)
        assert best.epsilon <= epsilon
        assert best.noise.std == pytest.approx(best.sigma, rel=1e-9)
        sigmas.append(best.sigma)
    assert sigmas[0] > sigmas[1]


@pytest.mark.parametrize(
    ("setting", "most", "sigma"),
    [
        ({}, 20.03, 1e-3),
        ({"compositions": 2}, 40.06, 1e-3),
        ({"batch": 2}, 40.06, 1e-3),
        ({"domain": "integer"}, 23.71, 1e-5),
        ({"domain": "integer", "batch": 2}, 24.81, 1e-5),
    ],
)
def test_more_than_the_least_noise_needs_says_what_can_be_had(
    setting: dict[str, Any], most: float, sigma: float
) -> None:
    said = (
        rf"Expected epsilon=50\.0 to be at most {most:g}, what the smallest sigma, {sigma:g}, gives"
    )
    with pytest.raises(DesignError, match=said):
        design(delta=3e-9, epsilon=50.0, **setting)
    best = design(delta=3e-9, sigma=sigma, **setting)
    assert best.epsilon == pytest.approx(most, rel=1e-3)


@pytest.mark.parametrize(
    "request_",
    [
        {"sigma": 1e-5, "domain": "integer"},
        {"sigma": 1e-5, "domain": "integer", "batch": 2},
        {"sigma": 1e-3},
        {"epsilon": 50.0, "batch": 20},
        {"epsilon": 50.0, "compositions": 5},
    ],
)
def test_the_least_noise_is_drawn_exactly(request_: dict[str, Any]) -> None:
    """What is designed can be released: integer weights keep the guarantee to 1e-6 of ε."""
    best = design(delta=1e-6, **request_)
    artefact = artefact_of(best)
    assert artefact.guarantee.epsilon == pytest.approx(best.epsilon, rel=1e-6)
    assert artefact.noise.std == pytest.approx(best.sigma, rel=1e-4)


@pytest.mark.parametrize("sigma", [0.001, 0.004, 0.0099])
def test_sigma_too_small_for_joint_noise(sigma: float) -> None:
    """Each answer then has noise of its own, as two releases of one answer would."""
    apart = design(delta=1e-6, sigma=sigma, batch=2)
    assert apart.noise.dimension == 1
    assert apart.uses == 2
    assert apart.epsilon == pytest.approx(
        design(delta=1e-6, sigma=sigma, compositions=2).epsilon, rel=1e-6
    )


def test_between_joint_noise_and_noise_of_its_own() -> None:
    """ε = 20 for two answers: joint noise begins at 0.01 and needs 17.7, and independent noise
    would be larger."""
    best = design(delta=1e-6, epsilon=20.0, batch=2)
    assert best.sigma == 0.01
    assert best.is_joint
    assert best.epsilon < 18.0


@pytest.mark.parametrize("sigma", [1e-3, 1e-2, 0.05, 0.1])
def test_small_noise_is_the_staircase_of_the_books(sigma: float) -> None:
    """Geng and Viswanath: the variance of the best staircase at its ε, in closed form, with
    infinitely fine bins."""
    best = design(delta=1e-12, sigma=sigma)
    ratio = math.exp(-best.epsilon)
    gammas = np.geomspace(1e-5, 0.5, 40_000)
    # Two uniform laws of width γ and 1 − γ in each period, weights ∝ 1 and e^(−ε); E|z|² by summing
    # the periods.
    weight = 1.0 / (2.0 * (gammas + ratio * (1.0 - gammas)))
    k = np.arange(8.0)[:, None]
    here = ((k + gammas) ** 3 - k**3) / 3.0 + ratio * ((k + 1.0) ** 3 - (k + gammas) ** 3) / 3.0
    variance = 2.0 * weight * (1.0 - ratio) * np.sum(ratio**k * here, axis=0)
    assert math.sqrt(float(variance.min())) == pytest.approx(sigma, rel=2e-4)


# One release: no law is better


def least_delta(
    cost: Cost, m: int, budget: float, epsilon: float, reach: int, domain: str
) -> float:
    """The least δ(ε) over symmetric non-increasing laws on −reach … reach, written out
    on the line."""
    points = np.arange(-reach, reach + 1)
    free, width = reach + 1, points.size + m
    rows = []
    for index, x in enumerate(range(-reach, reach + m + 1)):
        row = np.zeros(free + width)
        if abs(x) <= reach:
            row[abs(x)] += 1.0
        if abs(x - m) <= reach:
            row[abs(x - m)] -= math.exp(epsilon)
        row[free + index] = -1.0
        rows.append(row)
    for k in range(reach):
        row = np.zeros(free + width)
        row[k + 1], row[k] = 1.0, -1.0
        rows.append(row)
    mass, price = np.zeros(free + width), np.zeros(free + width)
    np.add.at(mass, np.abs(points), 1.0)
    np.add.at(price, np.abs(points), cost.average(np.abs(points), 1.0, domain))
    objective = np.concatenate([np.zeros(free), np.ones(width)])
    result = linprog(
        objective, A_ub=rows, b_ub=np.zeros(len(rows)), A_eq=[mass, price], b_eq=[1.0, budget]
    )
    return float(result.fun)


@pytest.mark.parametrize(
    ("cost", "sigma", "m", "delta", "domain"),
    [
        (absolute(), 0.7, 8, 0.25, "real"),
        (absolute(), 1.0, 1, 0.25, "integer"),
        (power(4.0), 1.5, 6, 1e-2, "real"),
        (quadratic(), 0.5, 10, 0.1, "real"),
        (quadratic(), 2.0, 3, 1e-3, "integer"),
    ],
)
def test_one_release_of_one_answer_has_no_better_law(
    cost: Cost, sigma: float, m: int, delta: float, domain: Any
) -> None:
    """By a linear program over all laws of the lattice that shares no code with ours."""
    budget = cost.of(sigma * m)
    setting = LatticeRequest(1, m, domain, cost, budget, sigma, delta, 1)
    best = tight.best_tight(setting)
    noise = LatticeNoise.from_log_weights(best.log_h, best.tail_ratio, domain=domain)
    assert noise.expected_cost(cost) == pytest.approx(budget, rel=1e-10)
    assert PrivacyLoss.of(noise, float(m)).epsilon(delta) == best.epsilon
    # δ is flat in ε where it is small: at an ε smaller by 1e-5 every law needs more than δ.
    reach = min(best.log_h.size + 2 * m, 120)
    assert least_delta(cost, m, budget, best.epsilon * (1.0 - 1e-5), reach, domain) > delta * (
        1.0 - 2e-7
    )


def test_the_end_of_a_law_is_all_of_delta_and_not_more() -> None:
    """Where δ is all at the end, a law that is a hair above it has no ε at all."""
    for delta, sigma in itertools.product((0.05, 0.25, 0.4), (0.3, 0.7, 1.1)):
        m = 30
        law = ended.best_ended(LatticeBudget(1, m, absolute(), sigma * m, "real"), delta, 40.0)
        assert law is not None
        noise = LatticeNoise.from_log_weights(law.log_h, None)
        loss = PrivacyLoss.of(noise, float(m))
        assert loss.epsilon(delta) <= law.epsilon * (1.0 + 1e-9) + 1e-12
        assert loss.delta(law.epsilon) <= delta


def test_a_joint_release_beyond_the_program_ends_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The staircase that ends stands in for the linear program, and nothing is descended from in
    vain."""
    setting = LatticeRequest(8, 9, "real", quadratic(), (5.0 * 9) ** 2, 5.0, 0.1, 1)
    program = tight.best_tight(setting).epsilon
    monkeypatch.setattr(single, "_MOST_PAIRS", 10)
    without = tight.best_tight(setting).epsilon
    assert program <= without < renyi_law(setting, math.inf).epsilon
    assert without < 1.011 * program


# What cannot be had


def test_the_table_counts_as_refused_what_says_what_can_be_had(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Any error of the package passed for a refusal."""
    assert (
        "at most 20.03"
        in whole_range.measured({"delta": 3e-9, "epsilon": 50.0, "cost": quadratic()}).found
    )

    def fails(**request: Any) -> Design:
        raise DesignError("No law was found.")

    monkeypatch.setattr(whole_range, "design", fails)
    with pytest.raises(DesignError, match="No law was found"):
        whole_range.measured({"delta": 3e-9, "epsilon": 50.0, "cost": quadratic()})


def test_the_table_has_several_answers_and_releases_at_other_costs() -> None:
    kinds = {whole_range.kind(request) for request in whole_range.requests(quick=True)}
    assert {"3 answers, 3 releases, cost |z|^1", "3 answers, 3 releases, cost |z|^4"} <= kinds
    assert {
        "one answer, cost |z|^2",
        "one answer, real",
        "60 answers, integer",
        "one answer, 30 releases, real",
    } <= kinds


def test_a_bounded_cost_says_where_it_ends() -> None:
    bounded = custom(lambda z: np.minimum(np.abs(z), 5.0), growth=0.0, name="min(|z|, 5)")
    holds(design(delta=1e-6, epsilon=0.5, cost=bounded), bounded)
    with pytest.raises(
        DesignError,
        match=r"Expected sigma=100\.0 to be at most 4\.99\d*: beyond, Cost\('min.*hardly grows",
    ):
        design(delta=1e-6, sigma=100.0, cost=bounded)
    with pytest.raises(
        DesignError,
        match=r"Expected epsilon=1e-05 to be at least .*, what the largest sigma, 4\.99\d*, gives",
    ):
        design(delta=1e-6, epsilon=1e-5, cost=bounded)


def test_a_cost_of_nothing_is_refused() -> None:
    nothing = custom(lambda z: np.maximum(np.abs(z) - 1.0, 0.0), growth=1.0, name="beyond 1")
    with pytest.raises(InvalidParameterError, match="cost of sigma"):
        design(delta=1e-6, sigma=0.5, cost=nothing)
    holds(design(delta=1e-6, sigma=3.0, cost=nothing), nothing)


def test_more_integers_than_can_be_written_are_left_to_the_real_line() -> None:
    with pytest.raises(
        DesignError,
        match=r"at most 20000 for domain=.* round what is released, which costs nothing",
    ):
        design(delta=1e-6, sigma=30_000.0, sensitivity=1000.0, domain="integer")


@pytest.mark.parametrize(
    ("setting", "ends"),
    [
        ({"sensitivity": 2.0}, "0.002 and 4000"),
        ({"domain": "integer"}, "1e-05 and 2000"),
        ({"batch": 5}, "0.001 and 2000"),
    ],
)
def test_sigma_out_of_range(setting: dict[str, Any], ends: str) -> None:
    for sigma in (1e-14, 6000.0):
        with pytest.raises(DesignError, match=f"between {ends}"):
            design(delta=1e-6, sigma=sigma, **setting)


def test_preferring_a_law_that_fails_less_keeps_what_was_asked() -> None:
    """A law within 1e-4 of the best that does not end was preferred, and had more than the ε asked
    for: nothing was found."""
    best = design(delta=0.25, epsilon=3.0, domain="integer")
    assert 3.0 * (1.0 - 2.0 * CALIBRATED) <= best.epsilon <= 3.0
    assert best.sigma == pytest.approx(0.26673, rel=1e-3)


@pytest.mark.parametrize("dimension", [60, 100, 400])
def test_cubes_that_weigh_nothing_are_no_laws(dimension: int) -> None:
    """Beside a cube of 2,001^100 points the inner ones are below the range of floats: 0/0 was a
    cost, and chosen."""
    cubes = Cubes.of(LatticeBudget(dimension, 5, quadratic(), 1.0, "real"), 1000)
    lost, cost = ended._points(cubes, 0.1, np.arange(1, 6), np.arange(1001))
    assert np.all((lost >= 0.0) & (lost <= 1.0 + 1e-12))
    assert np.all((cost >= 0.0) & np.isfinite(cost))


def test_no_smooth_law_is_sought_where_all_are_staircases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten answers at δ = 0.25 and ε = 50 took 15 s, most of it for laws of an order next to 1."""
    solved = []

    def counted(setting: Any, order: float, start: Any = None) -> Any:
        solved.append(order)
        return sought(setting, order, start)

    sought = renyi_law
    monkeypatch.setattr(tight, "renyi_law", counted)
    found = design(delta=0.25, epsilon=50.0, batch=10)
    assert found.sigma <= 0.0102596 * (1.0 + 1e-4)
    assert found.epsilon <= 50.0
    assert all(math.isinf(order) for order in solved)
