"""`leastnoise release` and `leastnoise ledger`, as a steward and as a script."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from leastnoise import Ledger, discrete_gaussian, exact, laplace
from leastnoise.artefact import certify, write_artefact
from leastnoise.cli import main
from leastnoise.laws.lattice import LatticeNoise

pytest.importorskip("ibis")
pytest.importorskip("duckdb")

PLAN = """
name = "ages"
dataset = "people"
epsilon = {epsilon}
delta = 1e-9
relation = "replace"
one_row_per_person = true

[source]
csv = "people.csv"

[[statistic]]
kind = "mean"
name = "age"
column = "age"
lower = 0
upper = 100
pitch = 1
missing = 50
public_n = 400

[[statistic]]
kind = "histogram"
name = "towns"
group_by = {{ town = ["north", "south"] }}
"""
SECRET = 77.25  # stands in the table only


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def desk(tmp_path):
    """A folder with a table, a plan and a ledger."""
    with (tmp_path / "people.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "town"])
        writer.writerows([[20 + i % 60, "north" if i % 4 else "south"] for i in range(399)])
        writer.writerow([SECRET, "north"])
    (tmp_path / "plan.toml").write_text(PLAN.format(epsilon=1.0))
    done = run(
        "ledger",
        "open",
        tmp_path / "budget.ledger",
        "people",
        "--epsilon",
        "2.2",
        "--delta",
        "1e-6",
    )
    assert done.exit_code == 0, done.output
    return tmp_path


def refused(result):
    """Bad input: one sentence on standard error, exit 2, nothing else."""
    assert result.exit_code == 2
    assert result.stdout == ""
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stderr.startswith("leastnoise: ")
    assert str(SECRET) not in result.stderr
    return result.stderr


def test_a_rehearsal_reads_no_table_and_spends_nothing(desk):
    (desk / "people.csv").unlink()
    before = (desk / "budget.ledger").read_bytes()
    given = ("release", desk / "plan.toml", "--rehearse", "--ledger", desk / "budget.ledger")
    result = run(*given, "--out", desk / "report.html", "--out", desk / "n.csv")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("REHEARSAL on invented rows")
    assert "towns      town = north" in re.sub(" +(?=town =)", "      ", result.stdout)
    assert "REHEARSAL" in (desk / "report.html").read_text(encoding="utf-8")
    assert "has spent" not in result.output
    assert (desk / "budget.ledger").read_bytes() == before
    assert json.loads(run(*given, "--json").stdout)["entropy"].startswith("REHEARSAL")
    assert run("release", desk / "plan.toml", "--rehearse").exit_code == 0
    shared = re.sub("delta = .*", "", PLAN.format(epsilon=1.0))
    (desk / "shared.toml").write_text(shared)
    assert "(of an invented budget)" in run("release", desk / "shared.toml", "--rehearse").stdout
    for more in ("--preview", "--sealed"):
        assert "to stand without --preview" in refused(run(*given, more))
    (desk / "plan.toml").write_text(PLAN.format(epsilon=3.0))
    assert "would be allowed" in refused(run(*given))


def test_a_plan_is_explained(desk):
    (desk / "people.csv").unlink()
    given = ("check", desk / "plan.toml", "--ledger", desk / "budget.ledger")
    result = run(*given)
    assert result.exit_code == 0, result.output
    assert "One person changes the number of rows of a group by at most 1" in result.stdout
    assert "Nothing here is one of the usual mistakes." in result.stdout
    assert "'people' would go from epsilon = 0" in result.stdout
    found = json.loads(run(*given, "--json").stdout)
    assert [one["statistic"] for one in found["statistics"]] == ["age", "towns"]
    assert found["ledger"]["allowed"]
    (desk / "plan.toml").write_text(PLAN.format(epsilon=9.0))
    assert "\nBeware: epsilon = 9 promises" in run("check", desk / "plan.toml").stdout
    refused(run("check", desk / "plan.toml", "--ledger", desk / "nothing.ledger"))


def test_a_release_prints_writes_and_spends(desk):
    names = ["numbers.csv", "numbers.json", "numbers.parquet", "report.html"]
    outputs = [argument for name in names for argument in ("--out", desk / name)]
    result = run(
        "release",
        desk / "plan.toml",
        "--ledger",
        desk / "budget.ledger",
        *outputs,
        "--plot",
        desk / "bars.png",
    )
    assert result.exit_code == 0, result.output
    assert "Gaussian noise with the same guarantee would be" in result.output
    assert "'people' has spent epsilon = " in result.output
    for name in [*names, "bars.png"]:
        assert (desk / name).stat().st_size > 100
        assert f"written: {desk / name}" in result.output
    content = json.loads((desk / "numbers.json").read_text())
    values = {(row["statistic"], row["group"]): row for row in content["statistics"]}
    asked = {("age", ""), ("towns", "town = north"), ("towns", "town = south")}
    checks = {("persons with an unreadable value", "age"), ("persons with a clipped value", "age")}
    assert set(values) == {*asked, ("rows with other keys", "town"), *checks}
    row = values["towns", "town = south"]
    assert (
        abs(row["value"] - 100) < 8 * row["half_width_95"]
    )  # noise of ±: eight of them is beyond any draw
    with Ledger(desk / "budget.ledger", read_only=True) as book:
        entry = book.entries("people")[0]
        assert entry.result_hash == content["result_hash"]
        assert entry.epsilon_after == pytest.approx(content["guarantee"]["epsilon"], rel=1e-4)


def test_json_is_the_release(desk):
    result = run("release", desk / "plan.toml", "--no-ledger", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["format"] == "leastnoise.release"
    assert found["ledger_entry"] is None
    assert found["files"] == []


def test_a_preview_reads_nothing_and_spends_nothing(desk):
    (desk / "people.csv").unlink()
    for ledger in ([], ["--ledger", desk / "budget.ledger"]):
        text = run("release", desk / "plan.toml", *ledger, "--preview")
        assert text.exit_code == 0, text.output
        assert "No row was read, nothing was spent." in text.output
    assert "would go from epsilon = 0 to " in text.output
    found = json.loads(
        run(
            "release", desk / "plan.toml", "--ledger", desk / "budget.ledger", "--preview", "--json"
        ).stdout
    )
    assert found["ledger"]["allowed"]
    checks = [
        "rows with other keys: town",
        "persons with an unreadable value: age",
        "persons with a clipped value: age",
    ]
    assert [row["statistic"] for row in found["statistics"]] == ["age", "towns", *checks]
    assert found["statistics"][0]["half_width"] > found["statistics"][0]["noise_std"] > 0
    with Ledger(desk / "budget.ledger", read_only=True) as book:
        assert book.entries() == ()


MARGINS = """
name = "margins"
epsilon = 1.0
delta = 1e-6
relation = "add/remove"
one_row_per_person = true
[source]
csv = "people.csv"
[[statistic]]
kind = "count"
name = "all"
[[statistic]]
kind = "count"
name = "towns"
group_by = { town = { values = ["A", "B"] } }
[[statistic]]
kind = "count"
name = "ages"
group_by = { age = { edges = [0, 20, 40, 60, 80, 100] } }
[[statistic]]
kind = "count"
name = "both"
group_by = { town = { values = ["A", "B"] }, age = { edges = [0, 20, 40, 60, 80, 100] } }
"""


def test_a_preview_tells_what_is_measured_of_a_table(desk):
    (desk / "margins.toml").write_text(MARGINS, encoding="utf-8")
    plain = run("release", desk / "margins.toml", "--preview")
    assert plain.exit_code == 0, plain.output
    assert "separately" in plain.output
    assert "Measured with noise was: town; town × age." in plain.output
    assert "complete = true" in plain.output
    assert "Compared by" not in plain.output
    told = run("release", desk / "margins.toml", "--preview", "--explain")
    assert "Compared by the root of the mean variance" in told.output
    assert "refused: some number would be worse" in told.output
    found = json.loads(run("release", desk / "margins.toml", "--preview", "--json").stdout)
    assert found["tables"][0]["measured"] == ["town", "town × age"]
    assert found["compared"][0]["uses"] == 2
    assert found["statistics"][0]["separate_std"] > found["statistics"][0]["noise_std"]
    whole = MARGINS.replace("] }", "], complete = true }")
    (desk / "margins.toml").write_text(whole, encoding="utf-8")
    less = run("release", desk / "margins.toml", "--preview").output
    assert "Measured with noise was: town × age." in less
    assert "complete = true" not in less


def test_a_table_where_each_grouping_by_itself_is_better(desk):
    """Three counts of which one person moves two, all up or down: one joint draw serves them."""
    few = MARGINS.split('name = "ages"')[0].rsplit("[[statistic]]", 1)[0]
    (desk / "few.toml").write_text(few, encoding="utf-8")
    told = run("release", desk / "few.toml", "--preview", "--explain")
    assert told.exit_code == 0, told.output
    assert "refused: some number would be worse than separately" in told.output
    assert "Chosen: every grouping by itself, which is better." in told.output


def test_an_explanation_without_a_table(desk):
    told = run("release", desk / "plan.toml", "--preview", "--explain")
    assert "there is no table with margins" in told.output
    assert run("release", desk / "plan.toml", "--no-ledger", "--explain").exit_code == 2


def test_the_preview_says_the_error_that_the_release_has(desk):
    said = json.loads(run("release", desk / "plan.toml", "--preview", "--json").stdout)[
        "statistics"
    ]
    made = json.loads(run("release", desk / "plan.toml", "--no-ledger", "--json").stdout)[
        "statistics"
    ]
    for row in made:
        names = (row["statistic"], f"{row['statistic']}: {row['group']}")
        expected = next(other for other in said if other["statistic"] in names)
        assert row["noise_std"] == pytest.approx(expected["noise_std"], rel=1e-9)
        assert row["half_width_95"] == pytest.approx(expected["half_width"], rel=1e-9)


def test_the_budget_ends(desk):
    for _ in range(2):
        assert run("release", desk / "plan.toml", "--ledger", desk / "budget.ledger").exit_code == 0
    message = refused(
        run(
            "release",
            desk / "plan.toml",
            "--ledger",
            desk / "budget.ledger",
            "--out",
            desk / "third.csv",
        )
    )
    assert "The release is refused: 'people' has spent epsilon=" in message
    assert not (desk / "third.csv").exists()
    preview = run("release", desk / "plan.toml", "--ledger", desk / "budget.ledger", "--preview")
    assert "REFUSED" in preview.output
    with Ledger(desk / "budget.ledger", read_only=True) as book:
        assert len(book.entries()) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["plan.toml"], "--ledger"),
        (["plan.toml", "--ledger", "budget.ledger", "--no-ledger"], "--ledger"),
        (["plan.toml", "--ledger", "missing.ledger"], "leastnoise ledger open"),
        (["plan.toml", "--ledger", "people.csv"], "people.csv"),
        (["missing.toml", "--no-ledger"], "missing.toml"),
        (["people.csv", "--no-ledger"], "not valid TOML"),
        (["plan.toml", "--no-ledger", "--out", "numbers.xlsx"], ".parquet"),
        (["plan.toml", "--no-ledger", "--out", "nowhere/numbers.csv"], "folder"),
        (["plan.toml", "--no-ledger", "--plot", "picture.gif"], "picture.gif"),
        (["plan.toml", "--preview", "--out", "numbers.csv"], "--preview"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_bad_requests_are_refused_before_anything_is_spent(desk, monkeypatch, arguments, words):
    monkeypatch.chdir(desk)
    before = sorted(os.listdir(desk))
    assert words in refused(run("release", *arguments))
    assert sorted(os.listdir(desk)) == before
    with Ledger("budget.ledger", read_only=True) as book:
        assert book.entries() == ()


def test_a_missing_table_costs_nothing(desk):
    (desk / "people.csv").unlink()
    refused(run("release", desk / "plan.toml", "--ledger", desk / "budget.ledger"))
    with Ledger(desk / "budget.ledger", read_only=True) as book:
        assert book.entries() == ()


def test_what_cannot_be_written_is_still_shown(desk, monkeypatch):
    """A disk that is full once the release is made. A name that cannot be is refused before."""
    from leastnoise.releases import result as module

    def full(path, text):
        raise OSError(28, "No space left on device")

    refused(run("release", desk / "plan.toml", "--no-ledger", "--out", desk / ("a" * 300 + ".csv")))
    monkeypatch.setattr(module, "write_whole", full)
    result = run("release", desk / "plan.toml", "--no-ledger", "--out", desk / "numbers.csv")
    assert result.exit_code == 2
    assert "age" in result.stdout
    assert "The release was made and its numbers are above, but" in result.stderr
    assert "could not be written" in result.stderr


def test_the_ledger_from_declaration_to_audit(desk):
    book, law = desk / "budget.ledger", desk / "law.json"
    exact(LatticeNoise.from_weights([1.0], 0.9, domain="integer"), delta=1e-9).save(law)
    again = run("ledger", "open", book, "people", "--epsilon", "2.2", "--delta", "1e-6")
    assert again.exit_code == 0  # declaring the same again changes nothing
    assert "declared already" in refused(
        run("ledger", "open", book, "people", "--epsilon", "9", "--delta", "1e-6")
    )
    preview = json.loads(
        run("ledger", "spend", book, "people", law, "--plan", "March", "--preview", "--json").stdout
    )
    spent = json.loads(
        run(
            "ledger", "spend", book, "people", law, "--plan", "March", "--uses", "2", "--json"
        ).stdout
    )
    assert preview["allowed"]
    assert 0 < preview["epsilon_after"] < spent["epsilon_after"] < 0.22
    assert spent["plan_hash"] == "March"
    too_much = run(
        "ledger", "spend", book, "people", law, "--plan", "April", "--uses", "900", "--preview"
    )
    assert too_much.exit_code == 1
    assert "REFUSED" in too_much.output
    refused(run("ledger", "spend", book, "people", law, "--plan", "April", "--uses", "900"))
    shown = run("ledger", "show", book)
    assert "people" in shown.output
    assert "adaptive" in shown.output
    state = json.loads(run("ledger", "show", book, "--json").stdout)
    assert state["datasets"][0]["releases"] == 1
    checked = json.loads(run("ledger", "check", book, "--every-release", "--json").stdout)
    assert checked["ok"]
    assert checked["head"] == state["head"]
    exported = json.loads(run("ledger", "export", book).stdout)
    assert len(exported["laws"]) == 1
    assert (
        run("ledger", "export", book, "--format", "csv", "--out", desk / "ledger.csv").exit_code
        == 0
    )
    assert len((desk / "ledger.csv").read_text().splitlines()) == 2


def test_an_artefact_is_charged_for_the_whole_use_of_its_guarantee(desk):
    """Ten draws at sensitivity 2 were certified; one draw at sensitivity 1 was what the ledger
    wrote down."""
    book, artefact, law = desk / "budget.ledger", desk / "noise.json", desk / "law.json"
    noise = exact(discrete_gaussian(60.0), delta=1e-9, sensitivity=2.0, compositions=10)
    write_artefact(certify(noise, delta=1e-9, sensitivity=2.0, compositions=10), artefact)
    noise.save(law)

    def after(*options):
        arguments = (
            "ledger",
            "spend",
            book,
            "people",
            *options,
            "--plan",
            "March",
            "--preview",
            "--json",
        )
        return json.loads(run(*arguments).stdout)["epsilon_after"]

    whole = after(law, "--uses", "10", "--sensitivity", "2")
    assert after(artefact) == whole
    less = "--less-than-stated"
    assert after(artefact, "--uses", "1", less) < after(artefact, "--uses", "10") == whole
    assert (
        after(artefact, "--sensitivity", "1", less) < after(artefact, "--sensitivity", "2") == whole
    )
    assert after(law) < 0.3 * whole  # a law without a guarantee: one draw at sensitivity 1
    spent = json.loads(
        run("ledger", "spend", book, "people", artefact, "--plan", "March", "--json").stdout
    )
    assert spent["draws"][0]["uses"] == 10
    assert spent["draws"][0]["sensitivity"] == 2.0


def test_a_law_spent_by_hand_can_say_which_tables_are_neighbours(desk):
    book, law = desk / "budget.ledger", desk / "law.json"
    exact(LatticeNoise.from_weights([1.0], 0.9, domain="integer"), delta=1e-9).save(law)
    common = ("ledger", "spend", book, "people", law, "--plan", "March")
    assert run(*common, "--relation", "add/remove").exit_code == 0
    assert "costs for different persons or neighbours do not add up" in refused(
        run(*common, "--relation", "replace")
    )
    assert run(*common, "--relation", "replace", "--preview").exit_code == 1
    assert run(*common, "--relation", "add/remove").exit_code == 0


def test_a_law_spent_by_hand_says_whom_it_protects_as_a_release_does(desk):
    """What a release settles holds for what is spent by hand; what says nothing is recorded with a
    word of caution."""
    book, law = desk / "budget.ledger", desk / "law.json"
    exact(LatticeNoise.from_weights([1.0], 0.9, domain="integer"), delta=1e-9).save(law)
    assert (
        run("release", desk / "plan.toml", "--ledger", book).exit_code == 0
    )  # replace, one row a person
    common = ("ledger", "spend", book, "people", law, "--plan", "March")
    other = refused(run(*common, "--person", "patient"))
    assert "so far have one row a person, this one person = 'patient'" in other
    previewed = run(*common, "--person", "patient", "--preview")
    assert previewed.exit_code == 1
    assert "REFUSED" in previewed.stdout
    same = run(
        *common,
        "--relation",
        "replace",
        "--one-row-per-person",
        "--person-is",
        "a resident",
        "--json",
    )
    assert same.exit_code == 0
    assert same.stderr == ""
    silent = run(*common)
    assert silent.exit_code == 0
    assert (
        "so far protect: one row a person (a resident), relation = 'replace'. This one does not "
        "say whose rows belong" in silent.stderr
    )
    with Ledger(book, read_only=True) as ledger:
        unit = ledger.dataset("people").unit
        assert (unit.relation, unit.person, unit.person_is) == (
            "replace",
            "one row a person",
            "a resident",
        )
        assert ledger.check(every_entry=True).ok
    assert "to stand without --one-row-per-person" in refused(
        run(*common, "--person", "patient", "--one-row-per-person")
    )
    assert "to name a column" in refused(run(*common, "--person", ""))


def test_what_is_spent_by_hand_first_settles_it_for_the_releases(desk):
    book, law = desk / "budget.ledger", desk / "law.json"
    exact(LatticeNoise.from_weights([1.0], 0.9, domain="integer"), delta=1e-9).save(law)
    assert (
        run(
            "ledger", "spend", book, "people", law, "--plan", "March", "--person", "patient"
        ).exit_code
        == 0
    )
    said = refused(run("release", desk / "plan.toml", "--ledger", book))
    assert "so far have person = 'patient', this one one row a person" in said


def test_a_preview_says_what_would_fail_without_reading_a_row(desk):
    book, plan = desk / "budget.ledger", desk / "plan.toml"

    def fails(text):
        plan.write_text(text, encoding="utf-8")
        done = run("release", plan, "--ledger", book, "--preview", "--json")
        found = json.loads(done.stdout)["table"]["fails"]
        assert done.exit_code == 0
        words = run("release", plan, "--ledger", book, "--preview").stdout
        assert ("the release would FAIL, at no cost." in words) == (found is not None)
        assert found is None or found in words
        return found

    sound = plan.read_text(encoding="utf-8")
    assert fails(sound) is None
    assert "no column 'aged'" in fails(sound.replace('column = "age"', 'column = "aged"'))
    assert "There is no file" in fails(sound.replace("people.csv", "nobody.csv"))
    with (desk / "people.csv").open("a") as file:
        file.write(
            "one,field,too,many,or,more\n"
        )  # shows when the lines are read, which the release does at no cost
    assert fails(sound) is None
    assert "as many fields in each line as columns" in refused(
        run("release", plan, "--ledger", book)
    )
    with Ledger(book, read_only=True) as ledger:
        assert not ledger.entries()


def test_a_first_release_is_shown_with_what_it_costs_as_the_last(desk):
    """Spent is what holds whatever comes next; the tight epsilon stands beside it."""
    book, law = desk / "budget.ledger", desk / "law.json"
    exact(discrete_gaussian(8.0), delta=1e-9, compositions=10).save(law)
    common = ("ledger", "spend", book, "people", law, "--plan", "March", "--uses", "10")
    preview = run(*common, "--preview").output
    assert re.search(
        r"from epsilon = 0 to 1\.9\d+: allowed, 0\.\d+ left \(1\.743\d* if this is the last "
        r"release\)",
        preview,
    )
    recorded = run(*common).output
    assert re.search(
        r"has spent epsilon = 1\.9\d+ of 2\.2 .* in 1 release \(1\.743\d* if this is the "
        r"last release\)",
        recorded,
    )
    run("ledger", "open", book, "tight", "--epsilon", "1.75", "--delta", "1e-6")
    common = ("ledger", "spend", book, "tight", law, "--plan", "March", "--uses", "10")
    preview = run(*common, "--preview")
    assert (preview.exit_code, run(*common, "--last", "--preview").exit_code) == (1, 0)
    assert (
        "allowed only with --last: nothing could be released after it, because it costs "
        "epsilon=1.743" in preview.output
    )
    assert "say so: --last" in refused(run(*common))
    assert re.search(
        r"has spent epsilon = 1\.743\d* of 1\.75 .*; nothing is left", run(*common, "--last").output
    )
    assert "nothing can follow it" in refused(run(*common))


def test_a_ledger_that_was_changed_is_found(desk):
    book = desk / "budget.ledger"
    other = run("ledger", "check", book, "--head", "0" * 64)
    assert other.exit_code == 1
    assert "NOT WHOLE" in other.output
    content = bytearray(book.read_bytes())
    at = content.find(b"people")
    content[at : at + 6] = b"peopel"
    book.write_bytes(content)
    found = run("ledger", "check", book)
    assert found.exit_code == 1
    assert "problem" in found.output
    refused(run("ledger", "spend", book, "people", _law(desk), "--plan", "x"))


def _law(folder: Path) -> Path:
    laplace(10.0).save(folder / "laplace.json")
    return folder / "laplace.json"


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "missing.ledger"],
        ["check", "missing.ledger"],
        ["export", "missing.ledger"],
        ["open", "new.ledger", "people", "--epsilon", "-1", "--delta", "1e-6"],
        ["open", "new.ledger", "people", "--epsilon", "1", "--delta", "2"],
        ["open", "new.ledger", " ", "--epsilon", "1", "--delta", "1e-6"],
        ["spend", "missing.ledger", "people", "laplace.json", "--plan", "x"],
        ["spend", "budget.ledger", "nobody", "laplace.json", "--plan", "x"],
        ["spend", "budget.ledger", "people", "laplace.json", "--plan", "x", "--uses", "0"],
        ["spend", "budget.ledger", "people", "plan.toml", "--plan", "x"],
    ],
    ids=" ".join,
)
def test_bad_ledger_commands_change_nothing(desk, monkeypatch, arguments):
    _law(desk)
    monkeypatch.chdir(desk)
    before = {name: (desk / name).read_bytes() for name in sorted(os.listdir(desk))}
    refused(run("ledger", *arguments))
    assert {name: (desk / name).read_bytes() for name in sorted(os.listdir(desk))} == before


def test_an_interrupt_is_clean(desk):
    """Ctrl-C while the noise is designed: exit 130, no traceback, nothing spent."""
    code = (
        "import time, leastnoise.releases.noise.mechanism as made\n"
        "made.mechanism = lambda plan: (print('designing', flush=True), time.sleep(1000))\n"
        "from leastnoise.cli import main\n"
        "main()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, "release", "plan.toml", "--ledger", "budget.ledger"],
        cwd=desk,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout.readline() == "designing\n"
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=300)
    assert (
        errors
        == "leastnoise: Interrupted. Nothing was written to the ledger, and nothing is spent.\n"
    )
    assert child.returncode == 130
    with Ledger(desk / "budget.ledger", read_only=True) as book:
        assert book.entries() == ()


ENDLESS = """
import leastnoise.releases.data.scan as scan

plain = scan._duckdb

def watched(backend):
    handle = plain(backend)

    def share():
        print("scanning", flush=True)  # asked now and then while the query runs
        return handle.share()

    return scan._Handle(handle.begin, share, handle.cancel)

scan._duckdb = watched
from leastnoise.__main__ import run
run()
"""


def endless(desk):
    """The plan on a view whose rows never end."""
    import duckdb

    with duckdb.connect(str(desk / "endless.duckdb")) as made:
        made.sql(
            "CREATE VIEW people AS SELECT (a.i + b.i) % 100 AS age, 'north' AS town FROM "
            "range(10000000) a(i), range(10000000) b(i)"
        )
    text = (
        (desk / "plan.toml")
        .read_text()
        .replace('csv = "people.csv"', 'duckdb = "endless.duckdb"\ntable = "people"')
    )
    (desk / "plan.toml").write_text(text)


@pytest.mark.parametrize("times", [1, 3])
def test_an_interrupted_scan_ends_with_130_and_says_that_the_cost_was_written(desk, times):
    """It ended in SIGABRT: the process left while DuckDB was at work. A second and third Ctrl-C
    change nothing."""
    endless(desk)
    child = subprocess.Popen(
        [sys.executable, "-c", ENDLESS, "release", "plan.toml", "--ledger", "budget.ledger"],
        cwd=desk,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout.readline() == "scanning\n"
    for _ in range(times):
        child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=300)
    with Ledger(desk / "budget.ledger", read_only=True) as book:
        (entry,) = book.entries()
    assert child.returncode == 130
    assert entry.result_hash is None
    said = (
        f"leastnoise: Interrupted. The cost is in the ledger as release {entry.id} and stays "
        "spent.\n"
    )
    assert errors in (
        (said,) if times == 1 else (said, "")
    )  # a further Ctrl-C may come while it is said


def test_a_spend_costs_what_the_artefact_states(desk):
    """An artefact for sensitivity 10 and ten uses was charged for sensitivity 1 and one use: 0.177
    instead of 1.765."""
    noise, book = desk / "noise.json", desk / "wide.ledger"
    request = ["--delta", "1e-9", "--sigma", "80", "--sensitivity", "10", "--compositions", "10"]
    assert run("design", *request, "--out", noise).exit_code == 0
    assert run("ledger", "open", book, "people", "--epsilon", "9", "--delta", "1e-6").exit_code == 0
    spend = ["ledger", "spend", book, "people", noise, "--plan", "March"]
    stated = json.loads(run(*spend, "--preview", "--json").stdout)["epsilon_after"]
    by_hand = json.loads(
        run(*spend, "--preview", "--json", "--uses", "10", "--sensitivity", "10").stdout
    )["epsilon_after"]
    less = json.loads(
        run(*spend, "--preview", "--json", "--uses", "1", "--less-than-stated").stdout
    )["epsilon_after"]
    more = json.loads(run(*spend, "--preview", "--json", "--uses", "20").stdout)["epsilon_after"]
    assert less < stated == by_hand < more
    assert stated > 1.5
    assert "--less-than-stated" in refused(run(*spend, "--uses", "9"))
    assert "--less-than-stated" in refused(run(*spend, "--sensitivity", "9.99"))
    done = run(*spend)
    assert "10 use(s) at sensitivity 10\n" in done.output
    marked = run(*spend, "--uses", "1", "--sensitivity", "2", "--less-than-stated")
    assert "1 of 10 stated uses; sensitivity 2 of 10 stated" in marked.output
    with Ledger(book, read_only=True) as ledger:
        whole, part = ledger.entries("people")
    assert (whole.draws[0].sensitivity, whole.draws[0].uses, whole.stamp) == (10.0, 10, "")
    assert (part.draws[0].sensitivity, part.draws[0].uses) == (2.0, 1)
    assert part.stamp == "1 of 10 stated uses; sensitivity 2 of 10 stated"
    assert part.stamp in run("ledger", "show", book).output


def test_a_dash_is_standard_output_of_an_export(desk, monkeypatch):
    monkeypatch.chdir(desk)
    before = sorted(os.listdir())
    done = run("ledger", "export", "budget.ledger", "--format", "csv", "--out", "-")
    assert done.exit_code == 0
    assert done.stdout == run("ledger", "export", "budget.ledger", "--format", "csv").stdout != ""
    assert sorted(os.listdir()) == before


def test_a_cap_on_the_advantage_from_the_first_command_to_the_refusal(desk):
    book, law = desk / "capped.ledger", desk / "law.json"
    opened = ("ledger", "open", book, "people", "--epsilon", 6, "--delta", "1e-6")
    assert "expected" in refused(run(*opened, "--advantage", "1.5")).lower()
    assert not book.exists()
    assert "with an advantage of at most 0.3" in run(*opened, "--advantage", "0.3").output
    told = json.loads(run(*opened, "--advantage", "0.3", "--json").output)
    assert (told["advantage"], told["advantage_used"]) == (0.3, 0.0)
    plan = desk / "capped.toml"
    text = PLAN.format(epsilon=1.0).replace("delta = 1e-9", "delta = 1e-9\nadvantage = 0.25")
    plan.write_text(text)
    shown = run("release", plan, "--ledger", book, "--preview").output
    assert "62.5 % are allowed)." in shown
    assert "its advantage from 0 to 0.2" in shown
    ahead = json.loads(run("release", plan, "--ledger", book, "--preview", "--json").output)
    assert ahead["advantage"] <= 0.25
    assert ahead["attacker"]["guess"] <= 0.625
    assert ahead["ledger"]["advantage_after"] >= ahead["advantage"]
    done = run("release", plan, "--ledger", book)
    assert "ledger: the attacker's advantage is 0.2" in done.output
    assert "people is capped: the attacker's advantage is" in run("ledger", "show", book).output
    noise = exact(discrete_gaussian(4.0), delta=1e-9)
    write_artefact(certify(noise, delta=1e-9), law)
    unit = ("--relation", "replace", "--one-row-per-person")
    spend = ("ledger", "spend", book, "people", law, "--plan", "more", *unit)
    assert ": REFUSED. Someone who knows" in run(*spend, "--uses", 6, "--preview").output
    assert "advantage=" in refused(run(*spend, "--uses", 6))
