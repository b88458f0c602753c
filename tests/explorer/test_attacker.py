"""The attacker's game: its laws against the certified curve, and played in a browser."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from explorer.explorer import Server
from leastnoise import PrivacyLoss, design, gaussian, laplace
from leastnoise.explorer.game import PRIORS, attack, evidence_board, published_board
from leastnoise.explorer.service import FIRST_SETTING
from leastnoise.explorer.setting import PageSetting
from leastnoise.explorer.tasks import game, study

ROUNDS = 10_000


def best_score(board: Any, prior: float) -> float:
    """How often the best player of a board is right."""
    return float(np.sum(np.maximum(prior * board.present, (1.0 - prior) * board.without)))


@pytest.mark.parametrize(
    "loss",
    [
        PrivacyLoss.of(gaussian(4.0)).compose(3),
        PrivacyLoss.of(laplace(1.0)),
        PrivacyLoss.of(design(delta=1e-6, epsilon=1.0, batch=10).noise).compose(1),
    ],
    ids=["gaussian", "laplace", "joint"],
)
def test_the_board_has_the_curve_that_it_was_made_from(loss: Any):
    """The pair of laws is as easy to tell apart as the certified bound says, and not easier."""
    curve = loss.curve(delta=1e-6)
    board = evidence_board(curve)
    assert board.without.sum() == pytest.approx(1.0, abs=1e-12)
    assert board.present.sum() == pytest.approx(1.0, abs=1e-12)
    for epsilon in curve.epsilon[:: max(1, len(curve.epsilon) // 17)]:
        told = np.sum(np.maximum(board.present - math.exp(epsilon) * board.without, 0.0))
        assert told == pytest.approx(float(curve.delta(epsilon)), rel=1e-6, abs=1e-9)
    for prior in PRIORS:
        assert best_score(board, prior) == pytest.approx(curve.success(prior), rel=1e-3)
        assert best_score(board, prior) <= curve.success(prior) * (1.0 + 1e-9)


@pytest.mark.parametrize("domain", ["integer", "real"])
def test_one_answer_is_played_with_its_own_law(domain: str):
    best = design(delta=1e-6, epsilon=1.0, domain=domain)
    board = published_board(best.noise, 1.0)
    assert board.without.sum() == pytest.approx(1.0)
    assert board.present.sum() == pytest.approx(1.0)
    middle = len(board.places) // 2
    # the law with the person is the law without, moved by one person
    step = round(1.0 / (board.places[1] - board.places[0]))
    if domain == "integer":
        assert np.allclose(board.present[1 + step : -1], board.without[1 : -1 - step])
        assert board.without[list(board.places).index(0.0)] == pytest.approx(best.noise.pmf(0.0))
    assert np.sum(board.present[:middle]) < np.sum(board.without[:middle])
    for prior in PRIORS:
        assert best_score(board, prior) <= best.curve().success(prior) * (1.0 + 1e-9)
    assert best_score(board, 0.5) > best.curve().success() - 0.01


def test_the_numbers_are_those_of_the_curves():
    _, found = study(FIRST_SETTING)
    told = game(found)
    best = design(delta=1e-6, epsilon=1.0, batch=10, domain="integer")
    ours, promise, variance = told["laws"]
    curve = best.curve()
    assert ours["success"][PRIORS.index(0.5)] == pytest.approx(curve.success(), rel=1e-5)
    rate = told["rates"].index(0.01)
    assert ours["recognised"][rate] == pytest.approx(best.attacker.recognised, rel=1e-5)
    assert promise["recognised"][rate] == pytest.approx(best.attacker.gaussian_recognised, rel=1e-3)
    alike = PrivacyLoss.of(gaussian(best.noise.std)).compose(10).curve(delta=1e-6)
    assert variance["success"][PRIORS.index(0.5)] == pytest.approx(alike.success(), rel=1e-3)
    allowed = told["allowed"]
    assert allowed["success"][PRIORS.index(0.5)] == pytest.approx(best.attacker.allowed, rel=1e-5)
    assert all(map(np.less_equal, ours["recognised"], np.asarray(allowed["recognised"]) + 1e-5))
    assert any(
        "more exposed than Gaussian noise of the same ε and δ" in s for s in told["sentences"]
    )
    json.dumps(told, allow_nan=False)


@pytest.mark.parametrize(
    "changed",
    [
        {"answers": 1, "domain": "real"},
        {"together": False},
        {"one_way": True, "touched": 3},
        {"length": 1.0, "domain": "real"},
        {"epsilon": None, "sigma": 30.0},
    ],
)
def test_every_kind_of_setting_can_be_played(changed: dict[str, Any]):
    fields = {name: getattr(FIRST_SETTING, name) for name in FIRST_SETTING.__dataclass_fields__}
    setting = PageSetting(**(fields | changed))
    _, found = study(setting)
    told = attack(setting, found.design)
    board = told["board"]
    assert sum(board["without"]) == pytest.approx(1.0)
    assert sum(board["present"]) == pytest.approx(1.0)
    score = sum(map(max, board["without"], board["present"])) / 2.0
    assert score <= told["laws"][0]["success"][PRIORS.index(0.5)] + 1e-5
    assert score <= told["allowed"]["success"][PRIORS.index(0.5)] + 1e-5


# In a browser


@pytest.fixture
def page(browser: Any, server: Server) -> Any:
    pytest.importorskip("selenium", reason="selenium is not installed (leastnoise[web-test])")
    from explorer.page import Page

    return Page(browser, server.url)


def share(text: str) -> float:
    return float(text.removesuffix(" %")) / 100.0


def test_the_score_of_the_best_attacker_meets_its_bound(page: Any):
    page.open("attacker.html#seed=7")
    bound = design(delta=1e-6, epsilon=1.0, batch=10, domain="integer").curve().success()
    assert share(page.text("score-bound")) == pytest.approx(bound, abs=1e-3)
    page.id("play-10000").click()
    score = share(page.text("score-best"))
    luck = math.sqrt(bound * (1.0 - bound) / ROUNDS)
    assert abs(score - bound) < 4.0 * luck + 5e-4  # a fixed seed, and what is shown is rounded
    assert "of 10,000" in page.text("verdict")
    # with another prior the bound is another one
    page.run(
        """const slider = document.getElementById("prior"); slider.value = 11;
        slider.dispatchEvent(new Event("input", {bubbles: true}))"""
    )
    assert page.address()["prior"] == "0.9"
    assert page.text("score-blind") == "90.0 %"
    assert page.text("score-best") == "…"
    assert page.complaints() == []


def test_a_visitor_plays_with_the_keyboard(page: Any):
    page.open("attacker.html#answers=1&seed=1")
    rounds = 12
    page.run(
        """for (let k = 0; k < arguments[0]; k += 1)
          document.body.dispatchEvent(new KeyboardEvent("keydown",
            {key: k % 3 ? "ArrowRight" : "ArrowLeft", bubbles: true}))""",
        rounds,
    )
    dots = page.run("return document.querySelectorAll('#dots .release:not(.unknown)').length")
    wrong = page.run("return document.querySelectorAll('#dots .missed').length")
    assert dots == rounds
    assert share(page.text("score-you")) == pytest.approx((rounds - wrong) / rounds, abs=1e-3)
    assert page.text("verdict").startswith(("Right", "Wrong"))
    page.id("again").click()
    assert page.text("score-you") == "…"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [400, 1600])
def test_it_is_accessible_and_fits(page: Any, width: int, dark: bool):
    from explorer.page import OVERLAPS, violations

    page.open("attacker.html#answers=1&seed=1", width=width, dark=dark)
    page.id("play-100").click()
    page.run("for (const table of document.querySelectorAll('details')) table.open = true")
    assert violations(page) == []
    assert page.run("return document.documentElement.scrollWidth") <= width
    assert page.run(OVERLAPS) == []


def test_the_setting_goes_along_between_the_views(page: Any):
    page.open("#epsilon=2&answers=3")
    page.driver.find_element("link text", "Attacker").click()
    page.settle()
    assert page.address() == {"epsilon": "2", "answers": "3"}
    assert "ε = 2" in page.text("table")
    page.type("epsilon", "nonsense")
    page.wait(lambda: page.text("epsilon-error"), "the complaint")
    page.settle()
    assert page.text("score-bound") == "…"
    page.driver.back()
    page.wait(lambda: page.address().get("epsilon") == "2", "the setting before")
