"""The commands on a series."""

from __future__ import annotations

import json
import stat

import pytest
from click.testing import CliRunner

from leastnoise.cli import main

OPEN = ["--questions", "4", "--epsilon", "1", "--delta", "1e-6"]
ONE = ["--sensitivity", "1"]
PLAN = """
name = "clinic"
relation = "add/remove"
one_row_per_person = true
epsilon = 1.0
delta = 1e-6
[source]
csv = "rows.csv"
[[statistic]]
kind = "count"
[[statistic]]
kind = "count"
name = "by sex"
group_by = { sex = ["m", "f"] }
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*arguments, code=0, **options):
        result = CliRunner().invoke(main, ["series", *arguments], **options)
        assert result.exit_code == code, result.output
        assert "Traceback" not in result.output
        return result

    return run


def test_open_ask_show_close(run, tmp_path):
    told = run("open", "a.series", *OPEN).stdout
    assert "4 questions one after another: epsilon = " in told
    assert "as secret as the table" in told
    assert stat.S_IMODE((tmp_path / "a.series").stat().st_mode) == 0o600
    assert "--sensitivity" in run("ask", "a.series", input="1", code=2).stderr
    asked = run("ask", "a.series", "--sensitivity", "0.3", input="1203\n14.5\n").stdout
    assert "2 of 4 answers are left." in asked
    (tmp_path / "answer.txt").write_text("7\n", encoding="ascii")
    found = json.loads(run("ask", "a.series", "answer.txt", *ONE, "--json").stdout)
    assert found["remaining"] == 1
    assert found["answers"][0]["number"] == 3
    shown = json.loads(run("show", "a.series", "--json").stdout)
    assert (shown["questions"], shown["remaining"]) == (4, 1)
    assert shown["epsilon"] <= 1.0
    assert "1 of 4 answers are left." in run("show", "a.series").stdout
    assert json.loads(run("close", "a.series", "--json").stdout)["erased"] == 1
    assert "0 unused" in run("close", "a.series").stdout
    assert "0 of its 4 answers left" in run("ask", "a.series", *ONE, input="1", code=2).stderr


def test_three_tenths_are_three_tenths(run):
    """The nearest floating-point number is below it."""
    run("open", "a.series", *OPEN)
    found = json.loads(run("ask", "a.series", "--sensitivity", "0.3", "--json", input="1").stdout)
    shown = json.loads(run("show", "a.series", "--json").stdout)
    assert found["answers"][0]["std"] > shown["sigma"] * 0.3


def test_with_a_ledger_a_passphrase_and_a_plan(run, tmp_path):
    (tmp_path / "rows.csv").write_text("sex\nm\nf\nm\n", encoding="ascii")
    (tmp_path / "plan.toml").write_text(PLAN, encoding="ascii")
    (tmp_path / "word").write_text("a long secret\n", encoding="ascii")
    others = ["--passphrase-file", "word"]
    assert "chmod 600" in run("open", "b.series", *OPEN, *others, code=2).stderr
    (tmp_path / "word").chmod(0o600)
    budget = ["ledger", "open", "b.ledger", "clinic", "--epsilon", "3", "--delta", "1e-6"]
    assert CliRunner().invoke(main, budget).exit_code == 0
    paid, word = ["--ledger", "b.ledger"], ["--passphrase-file", "word"]
    unit = ["--plan", "plan.toml"]
    new = ["--questions", "6", "--epsilon", "1", "--dataset", "clinic"]
    told = run("open", "b.series", *new, *unit, *paid, *word).stdout
    assert "charged to 'clinic'" in told
    assert "'clinic' has spent epsilon" in told
    assert "add --passphrase." in run("ask", "b.series", *ONE, *paid, input="1", code=2).stderr
    assert "add --ledger" in run("ask", "b.series", *ONE, *word, input="1", code=2).stderr
    (tmp_path / "wrong").write_text("another\n", encoding="ascii")
    (tmp_path / "wrong").chmod(0o600)
    wrong = run("ask", "b.series", *ONE, *paid, "--passphrase-file", "wrong", input="1", code=2)
    assert "not that of the series" in wrong.stderr
    assert "5 of 6" in run("ask", "b.series", *ONE, *paid, *word, input="1").stdout
    ahead = run("release", "b.series", "plan.toml", "--preview", *paid, *word).stdout
    assert "The plan takes 3 answers. 5 of 6 answers are left." in ahead
    files = ["--out", "numbers.csv", "--out", "report.html"]
    done = run("release", "b.series", "plan.toml", *files, *paid, *word).stdout
    assert "2 of 6 answers are left." in done
    assert "all 6 questions of a series together" in done
    assert (tmp_path / "numbers.csv").read_text(encoding="utf-8").count("\n") == 4
    assert "all 6 answers of the series" in (tmp_path / "report.html").read_text(encoding="utf-8")
    few = run("release", "b.series", "plan.toml", *paid, *word, code=2).stderr
    assert "needs 3 answers, and 2" in few
    (tmp_path / "plan.toml").write_text(PLAN.replace("add/remove", "replace"), encoding="ascii")
    other = run("release", "b.series", "plan.toml", *paid, *word, code=2).stderr
    assert "leastnoise series open --plan" in other
    alone = run("close", "b.series")
    assert "2 unused" in alone.stdout
    assert "a copy of the file could still answer" in alone.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["open", "a.series", "--questions", "4", "--delta", "1e-6"], "--epsilon or --sigma"),
        (["open", "a.series", "--questions", "4", "--epsilon", "1"], "--delta"),
        (["open", "a.series", *OPEN, "--dataset", "x"], "--ledger"),
        (["open", "a.series", *OPEN, "--ledger", "none", "--dataset", "x"], "to be a ledger"),
        (["open", "a.series", *OPEN, "--passphrase"], "--passphrase-file"),
        (["open", "no/a.series", *OPEN], "There is no folder"),
        (["ask", "a.series", *ONE], "There is no series"),
        (["show", "a.series"], "There is no series"),
        (["close", "a.series"], "There is no series"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(run, tmp_path, arguments, said):
    result = run(*arguments, code=2, input="1")
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_bad_answers_cost_nothing(run):
    run("open", "a.series", *OPEN)
    for text in ("x\n", "", "1\n\n2\n", "1,2\n3\n", "nan"):
        run("ask", "a.series", *ONE, input=text, code=2)
    assert "one answer a line" in run("ask", "a.series", *ONE, input="12,5", code=2).stderr
    run("ask", "a.series", "--sensitivity", "0", input="1", code=2)
    run("ask", "a.series", "--sensitivity", "inf", input="1", code=2)
    assert "4 of 4" in run("show", "a.series").stdout
    assert "use: leastnoise series ask" in run("open", "a.series", *OPEN, code=2).stderr


def test_questions_that_all_move_one_way(run):
    told = run("open", "a.series", *OPEN, "--changes", "one-sided").stdout
    assert "all up or all down; only where persons are added or removed" in told
    shown = json.loads(run("show", "a.series", "--json").stdout)
    assert shown["changes"]["kind"] == "one-sided"
    assert shown["relation"] == "add/remove"
    assert "answers are left" in run("ask", "a.series", *ONE, input="1203\n").stdout
    plain = json.loads(run("open", "b.series", *OPEN, "--json").stdout)
    assert plain["changes"]["kind"] == "box"
    assert shown["sigma"] < 0.9 * plain["sigma"]
    other = ["--changes", "one-sided", "--domain", "integer"]
    assert "range law" in run("open", "c.series", *OPEN, *other, code=2).stderr
    replaced = ["--changes", "one-sided", "--relation", "replace"]
    assert "replaced" in run("open", "c.series", *OPEN, *replaced, code=2).stderr
