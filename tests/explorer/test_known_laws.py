"""The known laws that stand in where there is no design: certified at what was asked for, and all
that is given is theirs."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from leastnoise.cli import main
from leastnoise.errors import AccountingError
from leastnoise.explorer import tasks
from leastnoise.explorer.known_laws import best_known
from leastnoise.explorer.setting import PageSetting

SETTINGS = {
    "Gaussian": PageSetting(1.0, None, 1e-6, 100, False, 1.0, "real"),
    "Laplace": PageSetting(1.0, None, 1e-6, 1, False, 0.3, "real"),
    "cube": PageSetting(1.0, None, 1e-6, 5, True, 2.0, "real"),
    "discrete Gaussian": PageSetting(1.0, None, 1e-6, 100, False, 3.0, "integer"),
    "discrete Laplace": PageSetting(1.0, None, 1e-6, 1, False, 200.0, "integer"),
    "lifted cube": PageSetting(1.0, None, 1e-9, 30, True, 2.0, "real", one_way=True),
    "range, real": PageSetting(1.0, None, 1e-6, 10, True, 2.0, "real", one_way=True),
    "range": PageSetting(1.0, None, 1e-6, 10, True, 1.0, "integer", one_way=True),
    "correlated sphere": PageSetting(1.0, None, 1e-6, 40, True, 3.0, "integer", one_way=True),
}


@pytest.fixture(params=SETTINGS, scope="module")
def found(request):
    answer, study = tasks.known_study(SETTINGS[request.param], "It took too long.", True)
    assert study.design.origin == request.param.removesuffix(", real")
    return answer, study


def test_the_answer_is_that_of_the_law_shown(found):
    answer, study = found
    assert answer["setting"] == study.setting.fields()
    assert answer["is_known"]
    assert 0.998 < answer["epsilon"] <= 1.0
    assert answer["epsilon_lower"] <= answer["epsilon"]
    assert answer["notice"].startswith(f"It took too long. Shown is {study.design.origin} noise")
    delta = study.setting.delta
    assert answer["command"].startswith(f"leastnoise design --delta {delta} --epsilon 1")


@pytest.mark.parametrize(("answers", "domain"), [(1, "real"), (1, "integer"), (10, "real")])
def test_a_known_law_keeps_a_cap_too(answers, domain):
    setting = PageSetting(1.0, None, 1e-6, answers, True, 1.0, domain, advantage=0.15)
    answer, study = tasks.known_study(setting, "It took too long.", True)
    assert answer["guess"] <= 0.575
    assert answer["epsilon"] <= 1.0
    free = best_known(replace(setting, advantage=None))
    assert free.sigma < study.design.sigma
    for law in tasks.known(setting)["laws"]:
        assert law["sigma"] > free.sigma


def test_the_file_is_verified_and_keeps_the_guarantee(found, tmp_path):
    _, study = found
    path = tmp_path / "noise.json"
    path.write_text(tasks.artefact(study), encoding="utf-8")
    result = CliRunner().invoke(main, ["verify", str(path)])
    assert result.output.splitlines()[-1] == "verified"
    guarantee = json.loads(path.read_text(encoding="utf-8"))["content"]["guarantee"]
    assert guarantee["epsilon"] <= 1.0
    assert guarantee["delta"] == study.setting.delta


def test_the_code_makes_the_law_that_is_shown(found, capsys):
    answer, study = found
    scope: dict = {}
    exec(answer["python"], scope)
    assert float(capsys.readouterr().out.split("\n")[0]) == pytest.approx(
        study.design.epsilon, rel=1e-4
    )
    assert scope["law"].std == pytest.approx(study.design.noise.std, rel=1e-3)


def test_pictures_follow(found):
    _, study = found
    drawn = tasks.laws(study)
    assert drawn["series"]
    assert study.design.origin not in {series["name"] for series in drawn["series"]}
    assert len(tasks.curve(study)["series"]) == 1 + len(study.rivals)
    assert tasks.numbers(study)["here"] == {
        "answers": study.setting.answers,
        "epsilon": study.design.epsilon,
    }


@pytest.mark.parametrize("domain", ["real", "integer"])
@pytest.mark.parametrize(
    ("answers", "together"), [(1, False), (1000, False), (2, True), (100, True)]
)
@pytest.mark.parametrize("epsilon", [0.01, 20.0])
def test_the_ends_of_the_sliders_have_an_answer(epsilon, answers, together, domain):
    setting = PageSetting(epsilon, None, 1e-6, answers, together, 1.0, domain)
    assert 0.98 * epsilon < best_known(setting).epsilon <= epsilon


def test_at_a_standard_deviation_the_best_of_them_is_taken():
    found = best_known(PageSetting(None, 8.0, 1e-6, 10, True, 1.0, "integer"))
    assert found.origin == "cube"
    assert found.sigma == pytest.approx(8.0)
    assert found.epsilon == min(found.rivals.values())


def test_beyond_the_designer_no_command_is_promised():
    answer, _ = tasks.known_study(
        PageSetting(0.001, None, 1e-6, 1000, False, 1.0, "real"), "Epsilon is too small.", False
    )
    assert answer["command"] == "# The designer has no law for this setting. Epsilon is too small."
    assert "command" not in answer["notice"]
    assert answer["epsilon"] <= 0.001


def test_a_known_law_that_is_worse_than_gaussian_noise_does_not_say_that_it_is_as_good():
    """Gaussian noise of σ = 80,000 on whole numbers takes too long to judge, so Laplace noise is
    shown."""
    answer, study = tasks.known_study(
        PageSetting(0.001, None, 1e-6, 1000, False, 1.0, "integer"), "Epsilon is too small.", False
    )
    assert study.design.origin == "discrete Laplace"
    assert answer["gaussian"]["variance_ratio"] < 0.6
    assert "times the variance, less than this." in answer["accuracy"]


def test_no_file_is_given_whose_guarantee_is_above_what_was_asked(monkeypatch):
    _, study = tasks.study(PageSetting(1.0, None, 1e-6, 1, False, 1.0, "integer"))
    other = tasks.artefact_of(
        tasks.study(PageSetting(5.0, None, 1e-6, 1, False, 1.0, "real"))[1].design
    )
    monkeypatch.setattr(tasks, "artefact_of", lambda _: other)
    with pytest.raises(AccountingError, match=r"above the 1\.0 asked for"):
        tasks.artefact(study)


def test_no_answer_is_given_whose_epsilon_is_above_what_was_asked(monkeypatch):
    setting = PageSetting(0.01, None, 1e-6, 1, False, 1.0, "real")
    other = tasks.study(PageSetting(5.0, None, 1e-6, 1, False, 1.0, "real"))[1].design
    monkeypatch.setattr(tasks, "design", lambda **_: other)
    with pytest.raises(AccountingError, match=r"epsilon=0\.01"):
        tasks.study(setting)
