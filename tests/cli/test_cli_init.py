"""From nothing to a plan: `leastnoise init` and `leastnoise demo`."""

import gzip
import json
import shlex

import pytest
from click.testing import CliRunner

from leastnoise import Ledger, load_plan, rehearsed
from leastnoise.cli import init as command
from leastnoise.cli import main

pytest.importorskip("ibis")
pytest.importorskip("duckdb")
SECRET = "Mallory"
LINES = f"patient;ward;age;cost\n{SECRET};north;77;1\n"
OPTIONS = ["--person", "patient", "--rows-per-person", "4", "--groups-per-person", "2"]
ASKED = ["--by", "ward=north, south", "--mean", "age=0:100", "--sum", "cost=-5:2.5"]


def run(*arguments, said=None):
    return CliRunner().invoke(main, [str(argument) for argument in arguments], input=said)


@pytest.fixture
def desk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits.csv").write_text(LINES, encoding="utf-8")
    return tmp_path


def refused(result):
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("leastnoise: ")
    assert result.stderr.count("\n") == 1
    assert SECRET not in result.stderr
    return result.stderr


def test_a_plan_is_written_and_runs(desk):
    done = run("init", "visits.csv", *OPTIONS, *ASKED)
    assert done.exit_code == 0, done.output
    assert SECRET not in done.output
    assert "leastnoise check plan.toml --ledger plan.ledger" in done.stdout
    plan = load_plan("plan.toml")
    assert (plan.name, plan.person, plan.rows_per_person) == ("visits", "patient", 4)
    assert (plan.groups_per_person, plan.source.delimiter) == (2, ";")
    assert [one.kind for one in plan.statistics] == ["persons", "count", "mean", "sum"]
    assert plan.statistics[1].group_by[0].values == ("north", "south")
    _, _, age, cost = plan.statistics
    assert (age.lower, age.upper, age.pitch, age.missing) == (0, 100, 0.1, "drop")
    assert (cost.lower, cost.upper, cost.pitch) == (-5, 2.5, 0.001)
    assert rehearsed(plan).value("persons") > 900
    text = (desk / "plan.toml").read_text(encoding="utf-8")
    assert SECRET not in text
    assert text.count("#") >= 10


def test_every_command_it_names_works(desk):
    """From an empty folder to the first numbers: each line that is printed is one command."""
    done = run("init", "visits.csv", *OPTIONS, *ASKED)
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith("  leastnoise ")]
    assert [line[1] for line in lines] == ["ledger", "check", "release", "release"]
    for line in lines:
        again = run(*line[1:])
        assert again.exit_code == 0, again.output
    assert (desk / "numbers.csv").exists()
    with Ledger("plan.ledger", read_only=True) as ledger:
        assert ledger.dataset("visits").releases == 1


def test_three_commands_are_enough(desk):
    assert run("init", "visits.csv", *OPTIONS, *ASKED).exit_code == 0
    opened = run("ledger", "open", "plan.ledger", "visits", "--epsilon", 3, "--delta", 1e-6)
    assert opened.exit_code == 0, opened.output
    released = run("release", "plan.toml", "--ledger", "plan.ledger", "--json")
    assert json.loads(released.stdout)["entropy"] == "operating system"


def test_commands_are_quoted_for_the_shell(desk):
    done = run("init", "visits.csv", *OPTIONS, "--out", "my plan.toml", "--name", "a 'b' $HOME")
    lines = [shlex.split(line) for line in done.stdout.splitlines()[1:]]
    assert lines[0][3:5] == ["my plan.ledger", "a 'b' $HOME"]
    assert [line[2] for line in lines[1:]] == ["my plan.toml"] * 3


def test_a_plan_is_explained_without_a_ledger_too(desk):
    run("init", "visits.csv", *OPTIONS, *ASKED)
    told = run("check", "plan.toml")
    assert told.exit_code == 0, told.output
    assert "1e-06 is assumed" in told.stdout
    assert json.loads(run("check", "plan.toml", "--json").stdout)["ledger"] is None


def test_columns_whose_names_cannot_be_read_are_not_asked_about(desk, monkeypatch):
    (desk / "odd.csv").write_text("id,a\x1b[31m,b\n")
    given = ("init", "odd.csv", "--one-row-per-person")
    assert "unseen" in refused(run(*given, "--sum", "a\x1b[31m=0:1"))
    monkeypatch.setattr(command, "_is_asking", lambda: True)
    done = run(*given, said="nothing\nsum\n0:1\n")
    assert done.exit_code == 0, done.output
    assert "\x1b" not in done.output
    assert load_plan("plan.toml").statistics[1].column == "b"


def test_what_cannot_be_read_is_asked_again(desk, monkeypatch):
    monkeypatch.setattr(command, "_is_asking", lambda: True)
    said = "n\nPatient\npatient\ngroups\n,\nnorth\nmean\nlow\n9:0\n0:9\nnothing\n1\n"
    done = run("init", "visits.csv", said=said)
    assert done.exit_code == 0, done.output
    assert done.stderr.count("Error: Expected") == 4
    assert load_plan("plan.toml").statistics[2].upper == 9


def test_what_is_not_said_is_asked(desk, monkeypatch):
    monkeypatch.setattr(command, "_is_asking", lambda: True)
    said = "n\npatient\ngroups\nnorth,south\nmean\n0:100\nnothing\n4\n1\n"
    done = run("init", "visits.csv", said=said)
    assert done.exit_code == 0, done.output
    assert "visits.csv has the columns patient, ward, age, cost." in done.stderr
    plan = load_plan("plan.toml")
    assert (plan.person, plan.rows_per_person, plan.groups_per_person) == ("patient", 4, 1)
    assert [one.kind for one in plan.statistics] == ["persons", "count", "mean"]
    rows = run(
        "init", "visits.csv", "--out", "rows.toml", said="y\nnothing\nnothing\nmean\n0:99\nsum\n0:9"
    )
    assert rows.exit_code == 0, rows.output
    assert load_plan("rows.toml").one_row_per_person
    stopped = run("init", "visits.csv", "--out", "no.toml", said="n\n")
    assert stopped.exit_code == 130
    assert "nothing was written" in stopped.stderr
    assert not (desk / "no.toml").exists()


@pytest.mark.parametrize("kind", ["parquet", "duckdb", "env"])
def test_other_tables_are_known_by_their_schema(desk, monkeypatch, kind):
    import duckdb

    with duckdb.connect("visits.duckdb") as made:
        made.execute("create table visits as select 'x' as patient, 1.5 as age, true as smoker")
        made.execute("copy visits to 'visits.parquet'")
    monkeypatch.setenv("VISITS", f"duckdb://{desk / 'visits.duckdb'}")
    table = {"parquet": "visits.parquet", "duckdb": "visits.duckdb", "env": "env:VISITS"}[kind]
    more = () if kind == "parquet" else ("--table-name", "visits")
    done = run(
        "init", table, *more, "--person", "patient", "--rows-per-person", 1, "--mean", "age=0:9"
    )
    assert done.exit_code == 0, done.output
    ledger = ("--no-ledger",)
    text = (desk / "plan.toml").read_text().replace("epsilon = 1.0", "epsilon = 1.0\ndelta = 1e-6")
    (desk / "plan.toml").write_text(text)
    assert run("release", "plan.toml", *ledger).exit_code == 0


def test_keys_are_of_the_kind_of_their_column(desk):
    import duckdb

    made = (
        "select i % 3 * 1.5::double as x, i % 2 = 0 as smoker, current_date as seen from range(90)"
    )
    duckdb.execute(f"copy ({made} t(i)) to 'rows.parquet'")
    given = ("init", "rows.parquet", "--one-row-per-person")
    done = run(*given, "--by", "x=0,1.5,3.0", "--by", "smoker=true,False")
    assert done.exit_code == 0, done.output
    _, x, smoker = load_plan("plan.toml").statistics
    assert (x.group_by[0].values, smoker.group_by[0].values) == ((0, 1.5, 3), (True, False))
    text = (desk / "plan.toml").read_text().replace("epsilon = 1.0", "epsilon = 9.0\ndelta = 1e-6")
    (desk / "plan.toml").write_text(text)
    rows = json.loads(run("release", "plan.toml", "--no-ledger", "--json").stdout)["statistics"]
    assert all(row["value"] > 20 for row in rows if row["statistic"].startswith("count by"))
    (desk / "plan.toml").unlink()
    for asked, words in [
        (("--by", "x=one"), "to have numbers as its keys"),
        (("--by", "smoker=yes"), "true and false"),
        (("--by", "seen=2025-01-01"), "of type date"),
        (("--mean", "seen=0:1"), "needs numbers"),
    ]:
        assert words in refused(run(*given, *asked))
        assert not (desk / "plan.toml").exists()


def test_bounds_keep_all_their_digits(desk):
    done = run(
        "init", "visits.csv", *OPTIONS, "--sum", "cost=0.1234567:12345678", "--sum", "age=0:1e22"
    )
    assert done.exit_code == 0, done.output
    _, cost, age = load_plan("plan.toml").statistics
    assert (cost.lower, cost.upper, age.upper) == (0.1234567, 12345678, 1e22)


@pytest.mark.parametrize("sign", [",", ";", "|", "\t"])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "marked"])
def test_names_of_columns_are_those_that_the_release_reads(desk, sign, mark):
    head = sign.join(['"a, b, c; d"', "a=b", " blank ", 'Größe ""', "v"])
    with gzip.open("odd.csv.gz", "wt", encoding="utf-8", newline="") as file:
        file.write(f"{mark}{head}\r\n{sign.join('12345')}\r\n")
    asked = ("--by", 'a=b=x,"y, z"', "--sum", " blank =0:1", "--sum", 'Größe ""=0:1')
    given = ("--person", "a, b, c; d", "--rows-per-person", 1)
    done = run("init", "odd.csv.gz", *given, *asked)
    assert done.exit_code == 0, done.output
    plan = load_plan("plan.toml")
    assert plan.columns_read == ("a, b, c; d", "a=b", " blank ", 'Größe ""')
    assert plan.statistics[1].group_by[0].values == ("x", "y, z")
    assert "such as ' blank '" in refused(
        run("init", "odd.csv.gz", *given, "--sum", "Blank=0:1", "--out", "other.toml")
    )


@pytest.mark.parametrize(
    "line",
    [
        "Mallory,2025-01-31",
        "Mallory;63,5;x",
        "Mallory,3.1.2025 10:00",
        "Mallory,,x",
        "Mallory,Mallory",
    ],
)
def test_a_first_line_that_may_be_a_row_is_not_shown(desk, line):
    (desk / "rows.csv").write_text(f"{line}\n")
    assert "--columns" in refused(run("init", "rows.csv", "--one-row-per-person"))


def test_a_public_number_of_rows_is_not_counted(desk):
    done = run(
        "init", "visits.csv", "--one-row-per-person", "--relation", "replace", "--mean", "age=0:9"
    )
    assert done.exit_code == 0, done.output
    assert [one.kind for one in load_plan("plan.toml").statistics] == ["mean"]
    assert "# public_n" in (desk / "plan.toml").read_text()


def test_a_first_line_of_numbers_is_not_shown(desk):
    (desk / "rows.csv").write_text("63.0,1.0,145.0\n")
    said = refused(run("init", "rows.csv", "--one-row-per-person"))
    assert "63" not in said
    assert "--columns" in said
    done = run(
        "init", "rows.csv", "--columns", "age, sex,bp", "--one-row-per-person", "--mean", "age=0:99"
    )
    assert done.exit_code == 0, done.output
    assert load_plan("plan.toml").source.columns == ("age", "sex", "bp")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["visits.csv"], "--person to name the column"),
        (["visits.csv", "--person", "patient"], "--rows-per-person to be given"),
        (["visits.csv", *OPTIONS[:4], "--by", "ward=a,b"], "--groups-per-person to be given"),
        (["visits.csv", *OPTIONS, "--by", "ward"], "such as ward=north,south"),
        (["visits.csv", *OPTIONS, "--mean", "age=100:0"], "such as age=0:100"),
        (["visits.csv", *OPTIONS, "--sum", "age=low:high"], "such as age=0:100"),
        (["visits.csv", *OPTIONS, "--mean", "Age=0:100"], "of the 4 columns, such as 'age'"),
        (["visits.csv", "--person", "id", "--rows-per-person", "1"], "one of the 4 columns."),
        (["visits.csv", "--one-row-per-person", "--rows-per-person", 2], "--one-row-per-person"),
        (["visits.csv", *OPTIONS, "--table-name", "visits"], "to come with a database"),
        (["visits.parquet", *OPTIONS, "--columns", "a"], "to come with a CSV file"),
        (["visits.csv", *OPTIONS, "--columns", "a,b"], "has 4 fields, and 2 columns are named"),
        (["visits.csv", *OPTIONS, "--mean", "age=-1e308:1e308"], "out of range"),
        (["visits.csv", *OPTIONS, "--one-row-per-person"], "without --one-row-per-person"),
        (["visits.csv", *OPTIONS, "--out", "visits.csv"], "not there yet"),
        (["visits.csv", *OPTIONS, "--out", "no/plan.toml"], "to be writable"),
        (["visits.csv", *OPTIONS, "--epsilon", "-1"], "epsilon"),
        (["nothing.csv", *OPTIONS], "There is no file"),
        (["visits.db", *OPTIONS], "--table-name"),
        (["postgresql://me:Mallory@host/db", *OPTIONS], "a URL may hold a password"),
    ],
)
def test_what_cannot_be_is_refused_and_leaves_nothing(desk, given, words):
    assert words in refused(run("init", *given))
    assert [path.name for path in desk.iterdir()] == ["visits.csv"]


def test_the_demo_is_a_whole_release(desk):
    done = run("demo", "shown")
    assert done.exit_code == 0, done.output
    made = {path.name for path in (desk / "shown").iterdir()}
    assert made == {"visits.csv", "plan.toml", "budget.ledger", "numbers.csv", "report.html"}
    with Ledger(desk / "shown" / "budget.ledger", read_only=True) as ledger:
        assert ledger.dataset("visits").releases == 1
    assert "is there already" in refused(run("demo", "shown"))
    again = run("release", "shown/plan.toml", "--ledger", "shown/budget.ledger", "--preview")
    assert again.exit_code == 0, again.output


def test_a_demo_that_fails_leaves_nothing(desk, monkeypatch):
    def broken(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("leastnoise.releases.release.release", broken)
    assert run("demo", "shown").exit_code != 0
    assert not (desk / "shown").exists()
    assert "No such file" in refused(run("demo", "no/shown"))
