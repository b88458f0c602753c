"""The drawn privacy curve: nowhere below what the judge says, and close to it."""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from typing import Any

import pytest

from leastnoise import PrivacyLoss
from leastnoise.explorer import tasks
from leastnoise.explorer.privacy_curve import upper_line
from leastnoise.explorer.setting import PageSetting

SETTINGS = {
    "counts together": PageSetting(1.0, None, 1e-6, 10, True, 1.0, "integer"),  # ends with a drop
    "sums one by one": PageSetting(None, 8.0, 1e-6, 10, False, 1.0, "real"),
    "one sum": PageSetting(8.0, None, 1e-6, 1, False, 1.0, "real"),  # steps, and pure laws
    "one large delta": PageSetting(1.0, None, 1e-2, 3, False, 1.0, "real"),
}
NEAR = 0.1  # how far above the judge the line may be
PIXEL = 1.0 / 400.0  # of the picture's width


def drawn_at(line: dict[str, list[float]], epsilon: float) -> float:
    """What a straight line between points says, with ε linear and δ logarithmic."""
    after = max(bisect_left(line["x"], epsilon), 1)
    (a, b), (low, high) = line["x"][after - 1 : after + 1], line["y"][after - 1 : after + 1]
    return low * (high / low) ** ((epsilon - a) / (b - a))


@pytest.fixture(scope="module", params=SETTINGS.values(), ids=SETTINGS.keys())
def found(request) -> tuple[tasks.Study, dict[str, Any]]:
    _, study = tasks.study(request.param)
    return study, tasks.curve(study)


def judges(study: tasks.Study) -> dict[str, PrivacyLoss]:
    best = study.design
    laws = [
        ("this design", best.noise, best.uses),
        *((r.name, r.noise, r.uses * best.compositions) for r in study.rivals),
    ]
    return {
        name: PrivacyLoss.of(noise, best.sensitivity).compose(uses) for name, noise, uses in laws
    }


def test_no_line_is_below_the_judge_and_all_are_close_to_it(found):
    study, curve = found
    end, losses = curve["epsilon"][-1], judges(study)
    assert [series["name"] for series in curve["series"]] == list(losses)
    for series in curve["series"]:
        choose = random.Random(series["name"])
        for _ in range(500 if series["name"] == "this design" else 60):
            epsilon = choose.uniform(0.0, end)
            drawn, judged = drawn_at(series["line"], epsilon), losses[series["name"]].delta(epsilon)
            assert drawn >= judged, (series["name"], epsilon)
            if (
                drawn > curve["low"]
            ):  # within a tenth upwards, or half a pixel to the side where the curve drops
                beside = losses[series["name"]].delta(max(epsilon - 0.5 * PIXEL * end, 0.0))
                assert drawn <= (1.0 + NEAR) * max(judged, beside, curve["low"]), (
                    series["name"],
                    epsilon,
                )


def test_the_table_has_the_delta_of_the_very_epsilon_it_shows(found):
    study, curve = found
    for series in curve["series"]:
        loss = judges(study)[series["name"]]
        for epsilon, delta in zip(curve["epsilon"], series["y"], strict=True):
            assert float(f"{epsilon:.6g}") == epsilon
            judged = loss.delta(epsilon)
            assert judged <= delta <= judged * (1.0 + 1e-5)


def test_the_guarantee_itself_is_in_the_table(found):
    study, curve = found
    at = next(epsilon for epsilon in curve["epsilon"] if epsilon >= study.design.epsilon)
    assert at <= study.design.epsilon * (1.0 + 1e-5)
    assert curve["series"][0]["y"][curve["epsilon"].index(at)] <= study.design.delta


def test_a_curve_with_a_kink_and_a_drop_is_bounded_with_few_judgements():
    """A law of three losses: straight lines in e^ε, kinked where one of them ends, 0 from the last
    on."""
    asked = []

    def delta(epsilon: float) -> float:
        asked.append(epsilon)
        return 0.3 * max(1.0 - math.exp(epsilon - 0.7), 0.0) + 1e-4 * max(
            1.0 - math.exp(epsilon - 1.9), 0.0
        )

    line = upper_line(delta, [0.0, 0.5, 1.0, 1.5, 2.0, 2.5], 1e-8)
    assert len(asked) <= 60
    x, y = zip(*line, strict=True)
    for k in range(2501):
        epsilon = k / 1000.0
        drawn = drawn_at({"x": list(x), "y": list(y)}, epsilon)
        assert drawn >= delta(epsilon)
        assert drawn <= (1.0 + NEAR) * max(delta(max(epsilon - 2.5 * PIXEL, 0.0)), 1e-8)


def test_judgements_are_bounded_and_the_line_stays_above():
    asked = []

    def delta(epsilon: float) -> float:
        asked.append(epsilon)
        return math.exp(-3000.0 * epsilon)

    line = upper_line(delta, [0.0, 1.0], 1e-300)
    assert len(asked) <= 150
    x, y = zip(*line, strict=True)
    for k in range(200):
        assert (
            drawn_at({"x": list(x), "y": list(y)}, k / 1000.0) >= math.exp(-3.0 * k)
            or math.exp(-3.0 * k) < 1e-300
        )


def test_the_curve_of_a_small_epsilon_fills_its_picture():
    setting = PageSetting(0.001, None, 1e-6, 1, False, 1.0, "real")
    _, study = tasks.known_study(setting, "", False)
    assert study.design.epsilon <= tasks.curve(study)["epsilon"][-1] <= 5.0 * study.design.epsilon


def test_noise_so_large_that_delta_alone_suffices_has_its_curve_and_numbers():
    _, study = tasks.study(PageSetting(None, 1000.0, 0.01, 1, False, 1.0, "real"))
    assert study.design.epsilon == 0.0
    curve = tasks.curve(study)
    assert curve["epsilon"][0] == 0.0
    assert curve["epsilon"][-1] > 0.0
    assert curve["series"][0]["y"][0] <= 0.01
    assert tasks.numbers(study)["here"]["epsilon"] == 0.0
