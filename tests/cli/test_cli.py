"""The command line, as a person and as a script: good and bad input, exit codes, JSON, files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from leastnoise.cli import main
from leastnoise.optional import installing


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
    found = run_json(
        "design", "--delta", "1e-6", "--sigma", "8", "--compositions", "10", "--domain", "integer"
    )
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
    found = run_json(
        "design", "--delta", "1e-6", "--sigma", "2", "--objective", "renyi", "--renyi-order", "inf"
    )
    assert found["renyi_order"] == "inf"


def test_verify_confirms_and_catches_an_edit(artefact, tmp_path):
    result = run("verify", artefact)
    assert result.exit_code == 0
    assert result.output.splitlines()[-1] == "verified"
    content = json.loads(Path(artefact).read_text())
    content["content"]["guarantee"]["epsilon"] = (
        "0x1.0p+0" if isinstance(content["content"]["guarantee"]["epsilon"], str) else 1.0
    )
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
    found = run_json(
        "account",
        "gaussian",
        "--sigma",
        "8",
        "--compositions",
        "10",
        "--delta",
        "1e-6",
        "--epsilon",
        "1.742964",
    )
    assert found["epsilon"] == pytest.approx(1.742964, abs=1e-5)
    assert found["delta_at_epsilon"] == pytest.approx(1e-6, rel=1e-3)
    once, twice = (
        run_json("account", artefact, "--delta", "1e-6", "--compositions", n)["epsilon"]
        for n in ("10", "20")
    )
    assert once == pytest.approx(1.6174, abs=1e-3)
    assert twice > once
    cube = run_json("account", "cube", "--sigma", "8", "--batch", "10", "--delta", "1e-6")
    assert cube["epsilon"] == pytest.approx(0.8292, abs=2e-4)
    assert cube["draws"] == 1
    for law in (
        "laplace",
        "staircase",
        "cactus",
        "discrete-gaussian",
        "discrete-laplace",
        "discrete-staircase",
    ):
        assert run_json("account", law, "--sigma", "3", "--delta", "1e-6")["std"] == pytest.approx(
            3.0, rel=1e-6
        )


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
        (
            ["design", "--delta", "1e-6", "--sigma", "8", "--out", "no/such/folder/noise.json"],
            "in a folder that exists",
        ),
    ],
)
def test_bad_input_is_one_sentence_and_exit_2(arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    "arguments", [["design", "--delta", "x"], ["no-such-command"], ["sample", "missing.json"]]
)
def test_usage_errors_exit_2(arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_every_command_has_an_example_in_its_help():
    for name in main.commands:
        assert f"leastnoise {name}" in run(name, "--help").output


def test_help_does_not_import_the_numerics():
    code = (
        "import sys, leastnoise.cli; sys.exit(any(name in sys.modules for name in ('numpy', "
        "'scipy', 'rich')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_reproduce_as_json_and_with_bad_input(tmp_path):
    result = run(
        "reproduce", "fig2", "--quick", "--processes", "1", "--out", str(tmp_path), "--json"
    )
    assert result.exit_code == 0, result.output
    files = json.loads(result.stdout)["files"]
    assert files
    assert all(Path(name).stat().st_size > 0 for name in files)
    bad = run("reproduce", "fig99")
    assert bad.exit_code == 2
    assert bad.stdout == ""
    assert len(bad.stderr.splitlines()) == 1
    assert "see leastnoise reproduce --help" in bad.stderr


def test_account_of_the_sphere():
    found = run_json("account", "sphere", "--sigma", "8", "--batch", "60", "--delta", "1e-6")
    assert found["epsilon"] == pytest.approx(
        4.28896, abs=1e-4
    )  # the docstring of leastnoise.laws.sphere has 4.2890
    assert (found["dimension"], found["draws"]) == (60, 1)


def test_account_judges_an_artefact_for_what_it_states(tmp_path):
    """An artefact for sensitivity 10 and ten uses was judged for sensitivity 1 and one use."""
    path = str(tmp_path / "wide.json")
    made = run_json(
        "design",
        "--delta",
        "1e-6",
        "--sigma",
        "80",
        "--sensitivity",
        "10",
        "--compositions",
        "10",
        "--out",
        path,
    )
    found = run_json("account", path, "--delta", "1e-6")
    assert (found["sensitivity"], found["draws"]) == (10.0, 10)
    assert found["epsilon"] == pytest.approx(made["artefact_epsilon"], rel=1e-6)
    once = run_json(
        "account", path, "--delta", "1e-6", "--compositions", "1", "--sensitivity", "10"
    )
    assert once["draws"] == 1
    assert once["epsilon"] < found["epsilon"]


def test_account_does_not_guess_what_a_batch_makes_of_the_uses_an_artefact_states(tmp_path):
    """Ten uses at sensitivity 10: with --batch 5 they were judged as 5 draws, ε = 0.98 instead of
    1.62."""
    path = str(tmp_path / "noise.json")
    words = ("--delta", "1e-6", "--sigma", "80", "--sensitivity", "10", "--compositions", "10")
    assert run("design", *words, "--out", path).exit_code == 0
    refused = run("account", path, "--delta", "1e-6", "--batch", "5")
    assert refused.exit_code == 2
    assert (
        "Expected --batch 5 to come with --compositions: the file states 10 draws in all"
        in refused.stderr
    )
    stated = run_json("account", path, "--delta", "1e-6")
    assert stated["draws"] == 10
    assert (
        run_json("account", path, "--delta", "1e-6", "--batch", "5", "--compositions", "2")[
            "epsilon"
        ]
        == stated["epsilon"]
    )


def test_a_dash_is_standard_output(tmp_path, monkeypatch):
    """`--out -` wrote a file called -. The artefact has standard output for itself; the summary is
    on standard error."""
    monkeypatch.chdir(tmp_path)
    done = run("design", "--delta", "1e-6", "--sigma", "1", "--out", "-")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["format"] == "leastnoise.artefact"
    assert "epsilon = " in done.stderr
    assert list(tmp_path.iterdir()) == []
    Path("copy.json").write_text(done.stdout)
    assert run("verify", "copy.json").output.endswith("verified\n")


def test_a_device_is_not_replaced_by_a_file(tmp_path):
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    result = run("design", "--delta", "1e-6", "--sigma", "1", "--out", str(fifo))
    assert result.exit_code == 2
    assert "to be a file, or the name of a new one" in result.stderr
    assert fifo.is_fifo()


# --- the program


def program(*arguments: str, before: str = "") -> subprocess.CompletedProcess[str]:
    """The program as its script runs it, after `before`."""
    code = f"import sys\n{before}\nfrom leastnoise.__main__ import run\nrun()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, encoding="utf-8", check=False
    )


def test_the_script_and_the_module_are_one_program():
    import tomllib
    from importlib.metadata import version

    root = Path(__file__).resolve().parents[2]
    assert tomllib.loads((root / "pyproject.toml").read_text())["project"]["scripts"] == {
        "leastnoise": "leastnoise.__main__:run"
    }
    module = subprocess.run(
        [sys.executable, "-m", "leastnoise", "--version"],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (module.returncode, module.stderr) == (0, "")
    assert (
        module.stdout
        == f"leastnoise, version {version('leastnoise')}\n"
        == program("--version").stdout
    )
    unknown = subprocess.run(
        [sys.executable, "-m", "leastnoise", "nonsense"],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert unknown.returncode == 2
    assert unknown.stderr == "leastnoise: No such command 'nonsense'; see leastnoise --help.\n"


def test_without_the_extra_it_says_what_to_install():
    done = program("--version", before="sys.modules['click'] = None")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "leastnoise: The command line needs click: " + installing("cli") + "\n"


def test_a_package_that_is_missing_later_is_one_sentence_too():
    before = (
        "import leastnoise.cli.compare as module\n"
        "module.print_comparison = lambda *_, **__: __import__('rich.table')\n"
    )
    done = program(
        "compare", "--delta", "1e-6", "--sigma", "1", before=f"{before}sys.modules['rich'] = None"
    )
    assert done.returncode == 2
    assert done.stderr == "leastnoise: This needs rich: " + installing("cli") + ".\n"


def test_a_bug_says_where_and_shows_no_value():
    before = (
        "import leastnoise.cli.sample as module\n\ndef law(path):\n    raise TypeError('secret "
        "77.25')\n\nmodule.law_and_guarantee = law\n"
    )
    done = program("sample", __file__, before=before)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == "leastnoise: An unexpected TypeError in line 5 of <string>: please report it.\n"
    )


def test_a_reader_that_is_gone_at_the_end_is_no_accident():
    """What a command printed without flushing goes to a pipe that was closed meanwhile: the
    interpreter would complain."""
    reading, writing = os.pipe()
    code = (
        "import os, sys\n"
        "import leastnoise.cli as cli\n"
        f"cli.main = lambda prog_name: (os.close({reading}), print('too late'))\n"
        "from leastnoise.__main__ import run\n"
        "run()"
    )
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    with os.fdopen(writing, "w") as pipe:
        streams = {"stdout": pipe, "stderr": subprocess.PIPE}
        child = subprocess.Popen(
            [sys.executable, "-c", code], **streams, env=environment, pass_fds=[reading]
        )
        os.close(reading)
        _, errors = child.communicate()
    assert (child.returncode, errors) == (0, b"")
