"""The command line, as a person and as a script: good and bad input, exit codes, JSON, files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from leastnoise.cli import main


def run(*arguments: str):
    return CliRunner().invoke(main, list(arguments))


def run_json(*arguments: str) -> dict:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def artefact(tmp_path_factory) -> str:
    path = str(tmp_path_factory.mktemp("cli") / "noise.json")
    result = run("design", "--delta", "1e-6", "--sigma", "8", "--compositions", "10", "--out", path)
    assert result.exit_code == 0, result.output
    assert "epsilon = 1.617" in result.output
    assert f"leastnoise verify {path}" in result.output
    return path


def test_design_as_json():
    found = run_json("design", "--delta", "1e-6", "--sigma", "8", "--compositions", "10", "--domain", "integer")
    assert 1.60 < found["epsilon_lower"] <= found["epsilon"] < 1.6185
    assert found["origin"] == "optimised"
    assert found["rivals"]["discrete Gaussian"] == pytest.approx(1.74309, abs=1e-4)
    assert found["uses"] == 10


def test_design_for_an_epsilon():
    found = run_json("design", "--delta", "1e-6", "--epsilon", "1", "--batch", "3")
    assert 0.9999 <= found["epsilon"] <= 1.0
    assert found["is_joint"]
    assert found["std"] == pytest.approx(found["sigma"], rel=1e-6)


def test_infinite_orders_are_valid_json():
    found = run_json("design", "--delta", "1e-6", "--sigma", "2", "--objective", "renyi", "--renyi-order", "inf")
    assert found["renyi_order"] == "inf"


def test_verify_confirms_and_catches_an_edit(artefact, tmp_path):
    result = run("verify", artefact)
    assert result.exit_code == 0
    assert result.output.splitlines()[-1] == "verified"
    content = json.loads(Path(artefact).read_text())
    content["content"]["guarantee"]["epsilon"] = "0x1.0p+0" if isinstance(content["content"]["guarantee"]["epsilon"], str) else 1.0
    edited = tmp_path / "edited.json"
    edited.write_text(json.dumps(content))
    result = run("verify", str(edited))
    assert result.exit_code == 1
    assert "NOT VERIFIED" in result.output
    assert not json.loads(run("verify", str(edited), "--json").stdout)["ok"]


def test_verify_refuses_what_is_no_artefact(artefact, tmp_path):
    truncated = tmp_path / "truncated.json"
    truncated.write_text(Path(artefact).read_text()[:500])
    for bad in (truncated, tmp_path / "missing.json"):
        result = run("verify", str(bad))
        assert result.exit_code == 2
        assert result.stdout == ""
        assert result.stderr.startswith("leastnoise: ")
        assert len(result.stderr.strip().splitlines()) == 1


def test_account_of_named_laws_and_files(artefact):
    found = run_json("account", "gaussian", "--sigma", "8", "--compositions", "10", "--delta", "1e-6", "--epsilon", "1.742964")
    assert found["epsilon"] == pytest.approx(1.742964, abs=1e-5)
    assert found["delta_at_epsilon"] == pytest.approx(1e-6, rel=1e-3)
    once, twice = (run_json("account", artefact, "--delta", "1e-6", "--compositions", n)["epsilon"] for n in ("10", "20"))
    assert once == pytest.approx(1.6174, abs=1e-3)
    assert twice > once
    cube = run_json("account", "cube", "--sigma", "8", "--batch", "10", "--delta", "1e-6")
    assert cube["epsilon"] == pytest.approx(0.8292, abs=2e-4)
    assert cube["draws"] == 1
    for law in ("laplace", "staircase", "cactus", "discrete-gaussian", "discrete-laplace", "discrete-staircase"):
        assert run_json("account", law, "--sigma", "3", "--delta", "1e-6")["std"] == pytest.approx(3.0, rel=1e-6)


def test_compare_lists_every_law():
    found = run_json("compare", "--delta", "1e-6", "--sigma", "8", "--compositions", "10")
    names = [law["name"] for law in found["laws"]]
    assert names[0] == "optimised"
    assert {"Gaussian", "Laplace", "Staircase", "Cactus"} <= set(names)
    for law in found["laws"][1:]:
        assert law["epsilon_at_sigma"] > found["epsilon"]
        assert law["sigma_at_epsilon"] > 8
    text = run("compare", "--delta", "1e-6", "--sigma", "8", "--compositions", "10").output
    assert "σ for ε" in text
    assert text.count("█") > 50


def test_sample_prints_one_draw_a_line(artefact):
    drawn = run("sample", artefact, "-n", "4")
    lines = drawn.stdout.splitlines()
    assert len(lines) == 4
    assert drawn.stderr.count("\n") == 1
    assert "not to add to answers" in drawn.stderr
    assert "leastnoise perturb" in drawn.stderr
    assert all(abs(float(line)) < 200 for line in lines)
    found = run_json("sample", artefact, "-n", "7")
    assert len(found["noise"]) == 7
    assert "not to add to answers" in found["notice"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["design", "--delta", "2", "--sigma", "8"], "Expected --delta 2.0 in (0, 1)."),
        (["design", "--delta", "1e-6"], "exactly one of them"),
        (["design", "--delta", "1e-6", "--sigma", "8", "--epsilon", "1"], "exactly one of them"),
        (["design", "--delta", "1e-6", "--sigma", "-1"], "--sigma -1.0"),
        (["design", "--delta", "1e-6", "--sigma", "8", "--step", "0.3"], "--step 0.3"),
        (["account", "gaussian", "--delta", "1e-6"], "--sigma"),
        (["account", "no-such-file.json", "--delta", "1e-6"], "no-such-file.json"),
        (["design", "--delta", "1e-6", "--sigma", "8", "--out", "no/such/folder/noise.json"], "in a folder that exists"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_2(arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert "Traceback" not in result.output


@pytest.mark.parametrize("arguments", [["design", "--delta", "x"], ["no-such-command"], ["sample", "missing.json"]])
def test_usage_errors_exit_2(arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_every_command_has_an_example_in_its_help():
    for name in main.commands:
        assert f"leastnoise {name}" in run(name, "--help").output


def test_help_does_not_import_the_numerics():
    code = "import sys, leastnoise.cli; sys.exit(any(name in sys.modules for name in ('numpy', 'scipy', 'rich')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_reproduce_as_json_and_with_bad_input(tmp_path):
    result = run("reproduce", "fig2", "--quick", "--processes", "1", "--out", str(tmp_path), "--json")
    assert result.exit_code == 0, result.output
    files = json.loads(result.stdout)["files"]
    assert files
    assert all(Path(name).stat().st_size > 0 for name in files)
    bad = run("reproduce", "fig99")
    assert bad.exit_code == 2
    assert bad.stdout == ""
    assert len(bad.stderr.splitlines()) == 1
    assert "see leastnoise reproduce --help" in bad.stderr
