"""--plot, the comparison as a table, and shell completion."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

pytest.importorskip("matplotlib")

from leastnoise.cli import main, printed_tables
from leastnoise.designer.compare import ComparedLaw
from leastnoise.optional import installing

COMMANDS = {
    "design": ("design", "--delta", "1e-6", "--sigma", "8", "--compositions", "10"),
    "compare": ("compare", "--delta", "1e-6", "--sigma", "8"),
    "account": ("account", "laplace", "--delta", "1e-6", "--sigma", "8", "--compositions", "3"),
}
STARTS = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


def run(*arguments: str):
    return CliRunner().invoke(main, list(arguments))


@pytest.mark.parametrize(
    ("command", "suffix"), [("design", ".png"), ("compare", ".svg"), ("account", ".pdf")]
)
def test_a_picture_is_written(command, suffix, tmp_path):
    path = tmp_path / f"picture{suffix}"
    result = run(*COMMANDS[command], "--plot", str(path))
    assert result.exit_code == 0, result.output
    assert str(path) in result.output
    assert path.read_bytes().startswith(STARTS[suffix])
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("command", COMMANDS)
def test_json_names_the_picture(command, tmp_path):
    path = tmp_path / "picture.png"
    found = json.loads(run(*COMMANDS[command], "--plot", str(path), "--json").stdout)
    assert found["plot"] == str(path)
    assert "plot" not in json.loads(run(*COMMANDS[command], "--json").stdout)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", ["picture.jpg", "picture", "no folder/picture.png", "folder.png"])
def test_a_bad_place_is_one_sentence_before_the_work(command, name, tmp_path, monkeypatch):
    (tmp_path / "folder.png").mkdir()
    # Whoever starts the work calls one of these.
    for module in (
        "leastnoise.designer.design",
        "leastnoise.designer.compare",
        "leastnoise.accountant.privacy_loss",
    ):
        monkeypatch.setitem(sys.modules, module, None)
    result = run(*COMMANDS[command], "--plot", str(tmp_path / name))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert name.rsplit("/", 1)[-1] in result.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["folder.png"]


def test_without_matplotlib_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run(*COMMANDS["account"], "--plot", str(tmp_path / "picture.png"))
    assert result.exit_code == 2
    assert result.stderr.strip().endswith(installing("plots") + ".")
    assert len(result.stderr.strip().splitlines()) == 1


def test_help_says_what_plot_takes():
    for command in COMMANDS:
        text = " ".join(run(command, "--help").output.split())
        assert "--plot FILE" in text
        assert ".png, .svg or .pdf" in text


ROWS = (
    ComparedLaw("optimised", 1.0, 8.0),
    ComparedLaw("Gaussian", 1.5, 9.5),
    ComparedLaw("odd", float("inf"), None),
)


def test_a_pipe_gets_plain_text(capsys):
    printed_tables.print_comparison(ROWS, sigma=8.0)
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    head, ours, other, odd = printed.splitlines()
    assert head.split() == ["noise", "ε", "at", "σ", "=", "8", "more", "σ", "for", "ε", "=", "1"]
    assert ours.split() == ["optimised", "1", "8", "█" * 20]
    assert other.split()[:5] == ["Gaussian", "1.5", "+50.00", "%", "9.5"]
    assert odd.split() == ["odd", "inf", "–", "–", "█" * 30]


@pytest.mark.parametrize(("width", "bar"), [("200", "█" * 30), ("70", "█"), ("30", "")])
def test_a_terminal_gets_a_table_that_fits(capsys, monkeypatch, width, bar):
    monkeypatch.setenv("COLUMNS", width)
    monkeypatch.setattr(printed_tables.sys.stdout, "isatty", lambda: True, raising=False)
    printed_tables.print_comparison(ROWS, sigma=8.0)
    printed = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert ("───" in printed) == (width != "30")  # too narrow for a table: one number a line
    assert bar in printed
    assert max(len(line) for line in printed.splitlines()) <= int(width)
    for cell in (
        "optimised",
        "Gaussian",
        "+50.00 %",
        "1.5",
        "9.5",
        "inf",
    ):  # whatever the width, nothing is cut
        assert cell in printed


@pytest.mark.parametrize(
    ("shell", "word"),
    [("bash", "complete -o nosort -F"), ("zsh", "#compdef leastnoise"), ("fish", "complete")],
)
def test_completion_scripts(shell, word):
    result = run("completion", shell)
    assert result.exit_code == 0
    assert word in result.stdout
    assert f"_LEASTNOISE_COMPLETE={shell}_complete" in result.stdout


def test_completion_of_other_shells_is_refused():
    result = run("completion", "cmd")
    assert result.exit_code == 2
    assert "'bash', 'zsh', 'fish'" in result.stderr


def test_the_scripts_ask_a_question_that_is_answered():
    environment = {
        **os.environ,
        "_LEASTNOISE_COMPLETE": "bash_complete",
        "COMP_WORDS": "leastnoise comp",
        "COMP_CWORD": "1",
    }
    code = "from leastnoise.cli import main; main(prog_name='leastnoise')"
    found = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert found.stdout.splitlines() == ["plain,compare", "plain,completion"]


def test_help_mentions_completion():
    assert "leastnoise completion bash" in " ".join(run("--help").output.split())
