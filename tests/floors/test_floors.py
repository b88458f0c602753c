"""Floors hold for every law that is tried, certificates are checked in integers, and a changed
digit breaks them."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leastnoise import PrivacyLoss, cube, design, discrete_laplace, gaussian, laplace, staircase
from leastnoise.artefact import verify, write_artefact
from leastnoise.cli import main
from leastnoise.designer.result import Design, artefact_of
from leastnoise.errors import InvalidParameterError
from leastnoise.files.canonical import digest
from leastnoise.floors.certificates import EpsilonFloor, Stage, VarianceFloor, floor_from
from leastnoise.floors.check_releases import epsilon_fault
from leastnoise.floors.check_variance import proven_variance, variance_fault
from leastnoise.floors.many_releases import epsilon_floor
from leastnoise.floors.one_release import variance_floor


@pytest.fixture(scope="module")
def three() -> EpsilonFloor:
    floor = epsilon_floor(sigma=2.0, delta=1e-6, releases=3, near=2.1)
    assert floor is not None
    return floor


@pytest.fixture(scope="module")
def one() -> VarianceFloor:
    floor = variance_floor(sigma=1.385, epsilon=1.0, delta=1e-6)
    assert floor is not None
    return floor


@pytest.fixture(scope="module")
def designed() -> Design:
    return design(delta=1e-6, sigma=2.0, compositions=2, floor=True)


def test_one_real_answer_is_within_a_thousandth(one: VarianceFloor) -> None:
    best = design(delta=1e-6, epsilon=1.0).noise.variance
    assert 1.9174 < one.variance < best < one.variance * (1.0 + 1e-3)


@pytest.mark.parametrize(("delta", "least"), [(1e-3, 1.7738), (1e-6, 1.8410)])
def test_one_integer_answer_is_the_optimum(delta: float, least: float) -> None:
    floor = variance_floor(sigma=1.35, epsilon=1.0, delta=delta, integers=1)
    assert floor is not None
    assert floor.is_integer
    assert least < floor.variance < least + 2e-4
    best = design(delta=delta, epsilon=1.0, domain="integer").noise.variance
    assert floor.variance <= best <= floor.variance * (1.0 + 3e-4)


def test_two_integers_together_are_bounded_over_all_joint_laws() -> None:
    floor = variance_floor(sigma=2.0, epsilon=1.0, delta=1e-3, answers=2, integers=1)
    best = design(delta=1e-3, epsilon=1.0, batch=2, domain="integer").noise.variance
    assert floor is not None
    assert floor.variance < best < 1.03 * floor.variance


def test_no_discrete_laplace_law_is_below_the_floor_of_one_release() -> None:
    floor = variance_floor(sigma=3.0, epsilon=0.5, delta=1e-4, integers=1)
    assert floor is not None
    for law in (discrete_laplace(sigma) for sigma in np.linspace(1.5, 4.0, 40)):
        if PrivacyLoss.of(law).epsilon(1e-4) <= 0.5:
            assert law.variance >= floor.variance


@pytest.mark.parametrize("sigma", [1.0, 4.0])
def test_no_known_law_is_below_the_floor_of_several_releases(sigma: float) -> None:
    laws = [gaussian(sigma), laplace(sigma), staircase(sigma), cube(sigma, 1)]
    needed = [PrivacyLoss.of(law).compose(2).epsilon(1e-6) for law in laws]
    floor = epsilon_floor(sigma=sigma, delta=1e-6, releases=2, near=min(needed))
    assert floor is not None
    assert 0.9 * min(needed) < floor.epsilon < min(needed)


def test_the_floor_of_three_releases_is_above_that_of_the_least_profile(
    three: EpsilonFloor,
) -> None:
    """2.034 is what n copies of the least profile prove."""
    assert 2.034 < three.epsilon < 2.0999


def test_random_laws_are_above_every_stage(three: EpsilonFloor) -> None:
    """Random symmetric laws on the lattice with the variance allowed: δ of one and of two releases
    at the nodes of the grid, by enumeration, is never below what is claimed, but for what splitting
    losses adds, which is counted."""
    random = np.random.default_rng(1)
    cells, allowed = three.cells, three.sigma**2
    for _ in range(12):
        half = np.sort(random.random(10 * cells))[::-1] ** random.uniform(0.2, 12.0)
        if random.random() < 0.5:
            random.shuffle(half)
        x = np.arange(-half.size + 1, half.size) / cells
        p = np.concatenate([half[:0:-1], half])
        p *= np.exp(-random.uniform(0.0, 1.0) * np.abs(x))
        p /= p.sum()
        spread = float(p @ x**2)
        if spread > allowed:  # a share of no noise at all brings it down
            p *= allowed / spread
            p[half.size - 1] += 1.0 - p.sum()
        pad = np.zeros(cells)
        here, there = np.concatenate([p, pad]), np.concatenate([pad, p])
        for stage, count in zip(three.stages[:2], (1, 2), strict=True):
            a, b = here, there
            if count == 2:
                a, b = np.outer(a, a).ravel(), np.outer(b, b).ravel()
            for node in range(0, len(stage.values), 97):
                factor = three.ratio**node
                exact = float(np.sum(np.maximum(a - factor * b, 0.0)))
                # a split raises δ by no more than what a shift of the loss by one node does
                lower = three.ratio ** (node - count)
                assert (
                    stage.values[node]
                    <= max(exact, float(np.sum(np.maximum(a - lower * b, 0.0)))) + 1e-12
                )


def test_every_number_of_an_epsilon_floor_counts(three: EpsilonFloor) -> None:
    assert epsilon_fault(three) is None
    stage = three.stages[1]
    place = len(stage.values) // 2
    higher = tuple(value * (1.0 + 1e-5 * (k == place)) for k, value in enumerate(stage.values))
    lower = tuple(value * (1.0 - 1e-2) for value in stage.values)
    cheap = tuple(price * 0.7 for price in stage.prices)
    for changed in (
        replace(three, epsilon=three.epsilon * (1.0 + 1e-9)),
        replace(three, delta=three.delta * 1.2),
        replace(three, sigma=three.sigma * 1.001),
        replace(three, releases=4),
        replace(three, slack=three.slack * 0.999),
        replace(three, ratio=three.ratio * (1.0 - 1e-6)),
        replace(three, node=three.node + 1),
        replace(three, cells=three.cells // 2),
        *(
            replace(three, stages=(three.stages[0], one, three.stages[2]))
            for one in (Stage(higher, stage.prices), Stage(lower, stage.prices))
        ),
        replace(three, stages=(three.stages[0], Stage(stage.values, cheap), three.stages[2])),
    ):
        assert epsilon_fault(changed) is not None


def test_every_number_of_a_variance_floor_counts(one: VarianceFloor) -> None:
    assert variance_fault(one) is None
    first = one.tests[0]
    heavy = replace(first, weight=first.weight * 1.01)
    values = list(first.values)
    place = max(range(len(values)), key=lambda k: min(values[k], first.weight - values[k]))
    values[place] *= 1.001
    for changed in (
        replace(one, variance=one.variance * (1.0 + 1e-12)),
        replace(one, epsilon=one.epsilon * (1.0 + 1e-9)),
        replace(one, delta=2.0 * one.delta),
        replace(one, factor=one.factor * 1.001),
        replace(one, factor=one.factor * (1.0 - 1e-12)),
        replace(one, cells=one.cells + 1),
        replace(one, tests=(heavy, *one.tests[1:])),
        replace(one, tests=(replace(first, values=values), *one.tests[1:])),
        replace(one, tests=(replace(first, change=(27,)), *one.tests[1:])),
        replace(one, tests=()),
    ):
        assert variance_fault(changed) is not None


def test_the_check_of_one_release_is_the_sum_by_its_definition() -> None:
    floor = variance_floor(sigma=1.35, epsilon=1.0, delta=1e-3, integers=1)
    assert floor is not None
    (tests,) = floor.tests
    table = {tests.first + k: Fraction(value) for k, value in enumerate(tests.values)}
    factor = Fraction(floor.factor)

    def bracket(x: int) -> Fraction:
        return table.get(x, Fraction(0)) - factor * table.get(x + 1, Fraction(0))

    least = min(x * x + (bracket(x) + bracket(-x)) / 2 for x in range(60))
    exact = least - Fraction(floor.delta) * Fraction(tests.weight)
    assert abs(proven_variance(floor) - exact) < Fraction(1, 10**20)


def test_a_floor_is_the_same_from_plain_data(three: EpsilonFloor, one: VarianceFloor) -> None:
    for floor in (three, one):
        assert floor_from(json.loads(json.dumps(floor.describe()))) == floor
    for content in ({"kind": "other"}, {**one.describe(), "cells": True}, {"kind": "variance"}):
        with pytest.raises((ValueError, KeyError)):
            floor_from(content)


def _rewritten(path: Path, change: Any) -> None:
    """The file with a changed floor and a seal that fits it."""
    file = json.loads(path.read_text())
    change(file["content"]["floor"])
    file["sha256"] = digest(file["content"])
    path.write_text(json.dumps(file))


def test_verify_checks_the_floor_in_an_artefact(designed: Design, tmp_path: Path) -> None:
    path = tmp_path / "noise.json"
    write_artefact(artefact_of(designed), path)
    found = verify(path)
    assert found.ok
    assert found.floor is not None
    assert "independently" in found.floor
    text = path.read_text()

    def raise_floor(floor: dict[str, Any]) -> None:
        floor["epsilon"] *= 1.001

    def another_use(floor: dict[str, Any]) -> None:
        floor["delta"] = 2e-6

    for change, said in ((raise_floor, "proves"), (another_use, "another use")):
        _rewritten(path, change)
        assert any(said in mismatch for mismatch in verify(path).mismatches)
        path.write_text(text)


def test_a_design_tells_its_floor(designed: Design) -> None:
    assert designed.floor is not None
    assert designed.floor_variance is None
    assert 0.95 * designed.epsilon < designed.floor < designed.epsilon
    assert "has epsilon below" in designed.summary()
    assert design(delta=1e-6, sigma=2.0).floor_variance is None


def test_what_has_no_floor_is_refused() -> None:
    for request in (
        {"sigma": 8.0, "batch": 10},
        {"sigma": 8.0, "compositions": 65},
        {"epsilon": 1.0, "advantage": 0.3},
        {"sigma": 8.0, "batch": 2, "weights": [1.0, 2.0]},
    ):
        with pytest.raises(InvalidParameterError, match="floor"):
            design(delta=1e-6, floor=True, **request)  # type: ignore[arg-type]


def test_the_command_line_proves_and_verifies(tmp_path: Path) -> None:
    from click.testing import CliRunner

    path = tmp_path / "noise.json"
    asked = ["design", "--delta", "1e-6", "--epsilon", "1", "--floor", "--json", "--out"]
    ran = CliRunner().invoke(main, [*asked, str(path)])
    assert ran.exit_code == 0, ran.output
    told = json.loads(ran.output)
    assert math.isclose(told["floor_variance"], 1.9175, rel_tol=1e-3)
    assert told["floor"] is None
    checked = CliRunner().invoke(main, ["verify", str(path)])
    assert checked.exit_code == 0
    assert "no additive noise of any shape" in checked.output
