"""What is said and handed out about a design: sentences that follow from the numbers, code that
runs, plans that load."""

from __future__ import annotations

import math
import re
import shlex
import tomllib
from dataclasses import replace

import pytest
from click.testing import CliRunner

from leastnoise import (
    AccountingError,
    DesignError,
    OneSided,
    PrivacyLoss,
    cube,
    design,
    open_series,
)
from leastnoise.cli import main
from leastnoise.explorer import sentences, tasks
from leastnoise.explorer.kept import kept_beside
from leastnoise.explorer.setting import InvalidSettingError, PageSetting
from leastnoise.releases.noise.sensitivity import blocks, is_checks
from leastnoise.releases.plan.file import load_plan, plan_from
from leastnoise.series.law import series_law
from leastnoise.text.numbers import above

SETTINGS = {
    "one count": PageSetting(1.0, None, 1e-6, 1, False, 1.0, "integer"),
    "counts together": PageSetting(1.0, None, 1e-6, 5, True, 1.0, "integer"),
    "counts of several rows": PageSetting(2.0, None, 1e-6, 3, True, 4.0, "integer"),
    "sums one by one": PageSetting(None, 8.0, 1e-6, 10, False, 1.0, "real"),
    "sums of an odd unit": PageSetting(None, 2.0, 1e-5, 4, True, 0.3, "real"),
    "a capped sum": PageSetting(1.0, None, 1e-6, 1, False, 1.0, "real", advantage=0.2),
    "one sum": PageSetting(1.0, None, 1e-6, 1, False, 250.0, "real"),
    "sphere": PageSetting(None, 30.0, 1e-6, 80, True, 1.0, "real"),
    "rounded sphere": PageSetting(1.0, None, 1e-6, 60, True, 1.0, "integer"),
    "two sums one way": PageSetting(1.0, None, 1e-6, 2, True, 1.5, "real", one_way=True),
    "ten sums one way": PageSetting(None, 8.0, 1e-6, 10, True, 1.0, "real", one_way=True),
    "five counts one way": PageSetting(1.0, None, 1e-6, 5, True, 1.0, "integer", one_way=True),
    "three of six sums": PageSetting(1.0, None, 1e-6, 6, True, 2.0, "real", touched=3),
    "a length": PageSetting(None, 9.0, 1e-6, 6, True, 2.0, "real", length=1.5),
    "forty counts one way": PageSetting(1.0, None, 1e-6, 40, True, 1.0, "integer", one_way=True),
}


@pytest.fixture(scope="module", params=SETTINGS.values(), ids=SETTINGS.keys())
def found(request):
    return tasks.study(request.param)


@pytest.mark.parametrize("domain", ["integer", "real"])
def test_a_setting_goes_to_the_designer_as_it_is(monkeypatch, domain):
    """Which laws serve whole numbers is the designer's business: nothing here narrows it down."""
    asked = []
    monkeypatch.setattr(
        tasks, "design", lambda **request: asked.append(request) or design(**request)
    )
    tasks.study(PageSetting(1.0, None, 1e-6, 3, True, 2.0, domain))
    given = {
        "delta": 1e-6,
        "epsilon": 1.0,
        "sensitivity": 2.0,
        "compositions": 1,
        "batch": 3,
        "domain": domain,
    }
    assert asked == [given]


def test_the_python_code_runs_and_makes_the_same_design(found, capsys):
    answer, study = found
    scope: dict = {}
    exec(answer["python"], scope)
    assert scope["best"].epsilon == study.design.epsilon
    assert scope["best"].sigma == study.design.sigma
    assert f"epsilon = {above(study.design.epsilon, 6)} at" in capsys.readouterr().out


def test_the_command_makes_the_same_design(found, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer, study = found
    words_of_it = shlex.split(answer["command"])
    assert words_of_it[0] == "leastnoise"
    result = CliRunner().invoke(main, words_of_it[1:])
    assert result.exit_code == 0, result.output
    assert f"epsilon = {above(study.design.epsilon, 6)}" in result.output
    assert (tmp_path / "noise.json").exists()


def test_the_plan_loads_and_has_the_same_answers_sensitivity_and_guarantee(found, tmp_path):
    answer, study = found
    path = tmp_path / "plan.toml"
    path.write_text(answer["plan"], encoding="utf-8")
    plan, setting = load_plan(path), study.setting
    assert plan == plan_from(tomllib.loads(answer["plan"]))
    block, *others = blocks(plan)
    assert all(
        is_checks(other) for other in others
    )  # a plan for sums also counts what cannot be read and the like
    assert len(block.groups) == setting.answers
    assert block.touched == (setting.touched or setting.answers)
    assert [
        float(one * each.unit) for one, each in zip(block.sensitivities, block.answers, strict=True)
    ] == [setting.sensitivity]
    assert (plan.delta, plan.advantage) == (setting.delta, setting.advantage)
    assert study.design.epsilon <= plan.epsilon <= study.design.epsilon * 1.002


def test_a_cap_is_kept_by_what_is_shown(found):
    answer, study = found
    if study.setting.advantage is not None:
        assert answer["guess"] <= 0.5 * (1.0 + study.setting.advantage)
        assert "advantage=0.2" in answer["python"]
    assert answer["setting"].get("advantage") == study.setting.advantage


def test_a_law_beyond_the_cap_is_not_shown():
    free = tasks.study(PageSetting(1.0, None, 1e-6, 1, False, 1.0, "real"))[1]
    with pytest.raises(AccountingError, match=r"Expected the law for advantage=0\.2"):
        tasks._answer(replace(free, setting=replace(free.setting, advantage=0.2)), None)


def test_no_draw_is_kept_under_a_cap():
    setting = PageSetting(1.0, None, 1e-6, 3, False, 1.0, "real", advantage=0.2)
    kept = kept_beside(setting, design(**setting.request()), False)
    assert kept["laws"] == []
    assert "no cap" in kept["gain"]


def test_the_artefact_can_be_verified(found, tmp_path):
    _, study = found
    path = tmp_path / "noise.json"
    path.write_text(tasks.artefact(study), encoding="utf-8")
    result = CliRunner().invoke(main, ["verify", str(path)])
    assert result.output.splitlines()[-1] == "verified"


def test_sentences_state_the_numbers_of_the_design():
    best = design(delta=1e-6, sigma=8.0, compositions=10)
    said = sentences.guarantee_sentences(best, 0.1663)
    stated = float(said[0].split("e^ε = ")[1].split(",")[0])
    assert math.exp(best.epsilon) <= stated <= math.exp(best.epsilon) * 1.01
    assert "δ = 1 in 1,000,000" in said[0]
    assert "58.4 times in 100" in said[1]  # (1 + 0.1663)/2 = 0.58315, rounded up
    assert "at most 1," in said[2]


def test_a_guess_is_never_stated_too_small():
    best = design(delta=1e-6, sigma=8.0)
    for certainty in (0.0, 1e-9, 0.2000001, 0.999999, 1.0):
        stated = float(
            sentences.guarantee_sentences(best, certainty)[1]
            .split("at most ")[1]
            .split(" times")[0]
        )
        assert stated >= min(50.0 * (1.0 + certainty), 100.0) - 1e-9


def test_what_protects_nobody_is_called_so():
    best = design(delta=1e-6, sigma=0.1, compositions=100)
    said = sentences.guarantee_sentences(best, 1.0)
    assert said[0].startswith("With so large an ε this is hardly a protection")
    exponent = int(said[1].split("e^ε = 10^")[1].split(",")[0])
    assert exponent - 1 < best.epsilon / math.log(10.0) <= exponent


@pytest.mark.parametrize(
    ("probability", "text"),
    [
        (1e-6, "1 in 1,000,000"),
        (0.02, "1 in 50"),
        (3e-5, "3e-05"),
        (1e-15, "1 in 1,000,000,000,000,000"),
    ],
)
def test_odds(probability, text):
    assert sentences.odds(probability) == text


def test_gaussian_noise_is_beside_the_design_at_the_same_guarantee():
    answer, study = tasks.study(PageSetting(None, 8.0, 1e-6, 10, False, 1.0, "real"))
    same = design(delta=1e-6, sigma=answer["gaussian"]["sigma"], compositions=10)
    assert same.rivals["Gaussian"] == pytest.approx(study.design.epsilon, rel=1e-4)
    assert answer["gaussian"]["variance_ratio"] == pytest.approx(
        (answer["gaussian"]["sigma"] / 8.0) ** 2, rel=1e-9
    )


def test_the_curve_passes_through_the_guarantee():
    _, study = tasks.study(PageSetting(None, 8.0, 1e-6, 10, False, 1.0, "real"))
    curve = tasks.curve(study)
    ours = dict(zip(curve["epsilon"], curve["series"][0]["y"], strict=True))
    assert all(ours[e] >= 1e-6 for e in ours if e < study.design.epsilon_lower)
    assert all(ours[e] <= 1e-6 for e in ours if e > study.design.epsilon)
    assert {series["name"] for series in curve["series"]} == {
        "this design",
        "Gaussian",
        "Laplace",
        "Staircase",
        "Cactus",
    }


def test_more_answers_cost_more_and_the_present_number_costs_what_the_design_says():
    _, study = tasks.study(PageSetting(None, 8.0, 1e-6, 10, False, 1.0, "real"))
    numbers = tasks.numbers(study)
    for series in numbers["series"]:
        assert series["y"] == sorted(series["y"])
    at_ten = numbers["series"][0]["y"][numbers["answers"].index(10)]
    assert at_ten == pytest.approx(study.design.epsilon, rel=1e-5)


def test_joint_laws_are_drawn_beside_independent_ones():
    _, study = tasks.study(PageSetting(None, 8.0, 1e-6, 10, True, 1.0, "integer"))
    numbers = tasks.numbers(study)
    joint = next(series for series in numbers["series"] if series["name"] == "best known joint law")
    assert joint["y"][numbers["answers"].index(10)] == pytest.approx(study.design.epsilon, rel=0.01)


@pytest.mark.parametrize("domain", ["real", "integer"])
def test_the_drawn_law_is_a_law(domain):
    answer, study = tasks.study(PageSetting(None, 8.0, 1e-6, 4, True, 1.0, domain))
    law, known = answer["law"], tasks.laws(study)
    assert known["x"] == law["x"]
    for series in law["series"] + known["series"]:
        pitch = law["x"][1] - law["x"][0]
        mass = pitch * (2.0 * sum(series["y"]) - series["y"][0])
        # The sum over a grid of a density that falls away from 0 is within one cell of its
        # integral; integers have no such error.
        assert abs(mass - 1.0) < (pitch * series["y"][0] if domain == "real" else 0.0) + 2e-3, (
            series["name"]
        )


def test_what_the_designer_refuses_is_said_beside_the_fixed_field():
    with pytest.raises(InvalidSettingError) as error:
        tasks.study(PageSetting(None, 1e6, 1e-6, 1, False, 1.0, "real"))
    assert list(error.value.errors) == ["sigma"]
    with pytest.raises(InvalidSettingError) as error:
        tasks.study(PageSetting(0.001, None, 1e-6, 1000, False, 1.0, "real"))
    assert list(error.value.errors) == ["epsilon"]


def test_the_first_answer_bounds_the_design():
    setting = PageSetting(1.0, None, 1e-6, 10, False, 1.0, "real")
    laws = tasks.known(setting)["laws"]
    assert [row["name"] for row in laws] == ["Gaussian", "Laplace"]
    assert (
        design(**setting.request()).sigma
        < laws[0]["sigma"]
        < 1.2 * design(**setting.request()).sigma
    )


def test_the_first_answer_for_answers_together_is_close_to_the_design():
    setting = PageSetting(1.0, None, 1e-6, 10, True, 3.0, "real")
    best = design(**setting.request())
    first = tasks.known(setting)["laws"][0]
    assert first["name"] == "cube"
    assert best.sigma <= first["sigma"] < 1.15 * best.sigma
    law = cube(first["sigma"], 10, sensitivity=3.0)
    assert PrivacyLoss.of(law, 3.0).epsilon(1e-6) <= 1.0


# Answers that all move the same way


@pytest.mark.parametrize("domain", ["real", "integer"])
@pytest.mark.parametrize(("epsilon", "sigma"), [(1.0, None), (None, 8.0)])
def test_the_first_answer_for_answers_that_move_one_way(domain, epsilon, sigma):
    setting = PageSetting(epsilon, sigma, 1e-6, 10, True, 1.0, domain, one_way=True)
    best = design(**setting.request())
    assert best.changes == OneSided()
    first, *others = tasks.known(setting)["laws"]
    assert first["name"] == "range"
    assert best.sigma <= first["sigma"] < 1.02 * best.sigma
    assert best.epsilon <= first["epsilon"] * (1.0 + 1e-9)
    assert all(first["sigma"] <= law["sigma"] for law in others)


def test_no_number_of_the_page_is_for_another_space():
    """The design, its pictures and the guess are judged for one-sided changes, and noise for one
    answer for its own."""
    setting = PageSetting(1.0, None, 1e-6, 10, True, 1.0, "real", one_way=True)
    answer, study = tasks.study(setting)
    loss = PrivacyLoss.of(study.design.noise, 1.0, OneSided())
    assert answer["epsilon"] == loss.epsilon(1e-6)
    assert answer["guess"] == 0.5 * (1.0 + loss.delta(0.0))
    assert answer["condition"] == study.design.changes.condition(10)
    curve = tasks.curve(study)
    by_name = {one["name"]: one["y"] for one in curve["series"]}
    for name in ("correlated sphere", "correlated Gaussian", "lifted cube", "cube", "sphere"):
        law = study.design.rival_laws[name]
        own = PrivacyLoss.of(law, 1.0, OneSided())
        for epsilon, shown in list(zip(curve["epsilon"], by_name[name], strict=True))[::4]:
            assert own.delta(epsilon) <= shown <= own.delta(epsilon) * (1 + 1e-5) + 1e-300
    numbers = tasks.numbers(study)
    together = {one["name"]: one["y"] for one in numbers["series"]}["best known joint law"]
    at = dict(zip(numbers["answers"], together, strict=True))
    assert at[10] == pytest.approx(study.design.epsilon, rel=1e-3)
    assert study.design.epsilon <= at[10] * (1 + 1e-9)


def test_what_is_said_of_one_way_is_said_of_nothing_else():
    one_way = design(delta=1e-6, sigma=8.0, batch=10, changes=OneSided())
    box = design(delta=1e-6, sigma=8.0, batch=10)
    assert (
        "(it does not hold for persons who are replaced)"
        in sentences.guarantee_sentences(one_way, 0.1)[2]
    )
    assert "replaced" not in " ".join(sentences.guarantee_sentences(box, 0.1))
    assert "all the same way" in sentences.worst_shift(one_way)
    assert "all the same way" not in sentences.worst_shift(box)
    said = sentences.accuracy_sentence(one_way, 20.0, 10.0)
    assert said.endswith("to fit the same changes, 1.56 times.")
    assert "correlated" not in sentences.accuracy_sentence(one_way, 20.0)


# One kept draw

ONE_BY_ONE = {
    "counts": PageSetting(1.0, None, 1e-6, 10, False, 1.0, "integer"),
    "sums": PageSetting(None, 8.0, 1e-6, 10, False, 1.0, "real"),
    "sums of an odd unit": PageSetting(None, 2.0, 1e-6, 4, False, 0.3, "real"),
    "counts of several rows": PageSetting(1.0, None, 1e-6, 5, False, 3.0, "integer"),
}


@pytest.fixture(scope="module", params=ONE_BY_ONE.values(), ids=ONE_BY_ONE.keys())
def kept(request):
    _, study = tasks.study(request.param)
    return tasks.kept(study), study


def test_a_kept_draw_is_beside_noise_drawn_anew_at_the_same_target(kept):
    answer, study = kept
    setting, s = study.setting, study.setting.sensitivity
    names = [row["name"] for row in answer["laws"]]
    assert names == ["one kept draw", "this design", "Gaussian"]
    ours, anew, gauss = answer["laws"]
    domain = "integer" if setting.domain == "integer" and s == 1.0 else "real"
    target = {"epsilon": setting.epsilon, "sigma": setting.sigma and setting.sigma / s}
    law, cost = series_law(setting.answers, setting.delta, domain=domain, **target)
    assert (ours["epsilon"], ours["sigma"]) == (cost, law.noise.std * s)
    assert (anew["epsilon"], anew["sigma"]) == (study.design.epsilon, study.design.noise.std)
    if setting.epsilon is None:
        assert ours["sigma"] == pytest.approx(anew["sigma"])
        assert ours["epsilon"] < 0.6 * anew["epsilon"]
        assert anew["epsilon"] < gauss["epsilon"]
    else:
        assert ours["epsilon"] <= setting.epsilon
        assert 3.5 < (anew["sigma"] / ours["sigma"]) ** 2 < 3.7
        assert anew["sigma"] < gauss["sigma"]


def test_what_is_said_of_a_kept_draw_states_its_numbers_and_what_it_asks_for(kept):
    answer, study = kept
    ours, anew = answer["laws"][:2]
    if study.setting.epsilon is None:
        assert f"ε = {above(ours['epsilon'], 3)} instead of" in answer["gain"]
    else:
        ratio = (anew["sigma"] / ours["sigma"]) ** 2
        assert f"{ratio:.2f} times less variance" in answer["gain"]
        assert f"{ratio:.2f} times less variance" in answer["hint"]
    for words in ("as secret as the data", "not independent", "settled at the start"):
        assert words in answer["limits"]
    stated = [float(word) for word in re.findall(r"up to ([0-9.]*\d)", answer["limits"])]
    for share, row in zip(stated, (ours, anew), strict=True):
        assert 0.0 <= share - 100.0 * row["guess"] < 0.1


def test_the_code_opens_the_series_that_is_shown(kept, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    answer, study = kept
    scope: dict = {}
    exec(answer["python"], scope)
    series, shown = scope["series"], answer["laws"][0]
    assert series.epsilon == shown["epsilon"]
    assert series.noise.std * study.setting.sensitivity == shown["sigma"]
    assert series.remaining == study.setting.answers - 1
    assert scope["answer"].std == pytest.approx(shown["sigma"])
    assert "answers left" in capsys.readouterr().out


def test_the_commands_open_the_series_that_is_shown(kept, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "answer.txt").write_text("1204\n", encoding="ascii")
    answer, study = kept
    for line in answer["command"].splitlines():
        program, *arguments = shlex.split(line)
        assert program == "leastnoise"
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, result.output
    series = open_series(tmp_path / "analyst.series")
    assert series.epsilon == answer["laws"][0]["epsilon"]
    assert series.remaining == study.setting.answers - 1


def test_a_draw_is_kept_for_answers_one_by_one_alone():
    for together, answers in ((True, 3), (False, 1)):
        _, study = tasks.study(PageSetting(1.0, None, 1e-6, answers, together, 1.0, "integer"))
        answer = tasks.kept(study)
        assert answer["setting"] == study.setting.fields()
        assert (answer["laws"], answer["python"], answer["gain"]) == ([], "", "")


def test_where_no_kept_draw_is_found_it_is_said(monkeypatch):
    setting = PageSetting(1.0, None, 1e-6, 3, False, 1.0, "integer")
    _, study = tasks.known_study(setting, "It took too long.", True)
    assert "none that is kept is looked for" in tasks.kept(study)["gain"]

    def refused(*_, **__):
        raise DesignError("There is none.")

    monkeypatch.setattr("leastnoise.explorer.kept.series_law", refused)
    answer = tasks.kept(replace(study, is_known=False))
    assert answer["gain"] == "No draw that could be kept is within reach here. There is none."
    assert (answer["laws"], answer["command"]) == ([], "")


def test_a_kept_draw_that_gains_nothing_is_not_praised():
    setting = PageSetting(1.0, None, 1e-6, 300, False, 1.0, "real")
    row = {"epsilon": 1.0, "sigma": 70.0, "guess": 0.55}
    assert "gains nothing" in sentences.kept_gain(setting, row, row)
    assert sentences.kept_hint(setting, row, row) == ""
    assert "guesses" not in sentences.kept_limits(row, row)
