"""A ledger examines itself whenever it is used, and reads back what it has written before it says
so."""

import json
import os
import shutil
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner

from leastnoise import discrete_gaussian, exact, gaussian
from leastnoise.artefact import artefact_text, certify
from leastnoise.cli import main
from leastnoise.errors import LedgerError
from leastnoise.ledger import event_log
from leastnoise.ledger.ledger import Ledger, Spend

SPENDS = [Spend(gaussian(40.0))]


@pytest.fixture
def path(tmp_path):
    """A ledger with one data set and one release."""
    path = tmp_path / "budget.ledger"
    with Ledger(path) as ledger:
        ledger.open_dataset("patients", epsilon=1.0, delta=1e-6)
        ledger.spend("patients", SPENDS, plan_hash="plan")
    return path


def run(path, *statements):
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def append(path, kind, data):
    """An event whose hash is right, whatever it says."""
    connection = sqlite3.connect(path)
    event = event_log.append(connection, kind, data)
    connection.commit()
    connection.close()
    return event


def content(path, number):
    connection = sqlite3.connect(path)
    (text,) = connection.execute("SELECT content FROM events WHERE id = ?", (number,)).fetchone()
    connection.close()
    return json.loads(text)


def refuses(path, match):
    """Whatever is asked of it, before anything is written; `check` alone goes on."""
    before = Path(path).read_bytes()
    with Ledger(path) as ledger:
        for use in (
            lambda: ledger.spend("patients", SPENDS, plan_hash="plan"),
            lambda: ledger.preview("patients", SPENDS),
            lambda: ledger.open_dataset("staff", epsilon=1.0, delta=1e-6),
            lambda: ledger.release_done(3, "result"),
            lambda: ledger.dataset("patients"),
            lambda: ledger.law("0" * 64),
            lambda: ledger.head,
            ledger.datasets,
            ledger.entries,
            ledger.show,
            ledger.export,
        ):
            with pytest.raises(LedgerError, match=match):
                use()
        assert not ledger.check().ok
    assert Path(path).read_bytes() == before


SCHEMAS = {
    "a trigger less": "DROP TRIGGER events_remain",
    "a trigger that undoes": "CREATE TRIGGER swallow AFTER INSERT ON events BEGIN DELETE FROM "
    "head; END",
    "a trigger that writes": "CREATE TRIGGER copy AFTER INSERT ON events BEGIN INSERT INTO laws "
    "VALUES (new.hash, '{}'); END",
    "another table": "CREATE TABLE notes (text TEXT)",
    "a view": "CREATE VIEW event AS SELECT * FROM events",
    "an index": "CREATE INDEX kinds ON events (kind)",
    "a column": "ALTER TABLE events ADD COLUMN note TEXT",
}


@pytest.mark.parametrize("how", SCHEMAS)
def test_other_tables_or_triggers_stop_everything(how, path):
    run(path, SCHEMAS[how])
    refuses(path, "tables or triggers of the ledger are not those it was made with")


def test_a_trigger_that_is_made_while_the_ledger_is_open_is_seen(path):
    with Ledger(path) as ledger:
        assert ledger.dataset("patients").releases == 1
        run(path, "DROP TRIGGER events_stay")
        with pytest.raises(LedgerError, match="tables or triggers"):
            ledger.spend("patients", SPENDS, plan_hash="plan")


def test_a_second_budget_stops_everything(path):
    """It used to take the place of the first one, with nothing spent."""
    append(path, "budget", content(path, 2) | {"epsilon": (100.0).hex()})
    refuses(path, "Event 4 declares the budget of 'patients' a second time")


def test_a_second_start_stops_everything(path):
    append(path, "ledger", content(path, 1))
    refuses(path, "Event 4 of the ledger is of a kind that cannot stand there")


@pytest.mark.parametrize("name", ["renyi", "largest", "failure", "simple_sum"])
def test_a_release_that_gives_back_stops_everything(name, path):
    with Ledger(path) as ledger:
        ledger.spend(
            "patients", [Spend(exact(discrete_gaussian(40.0), delta=1e-9))], plan_hash="plan"
        )
    last = content(path, 4)
    less = [(0.0).hex() for _ in last[name]] if name == "renyi" else (0.0).hex()
    append(path, "release", last | {name: less})
    refuses(path, "Event 5 states that less was spent of 'patients' than before it")


@pytest.mark.parametrize("name", ["epsilon_after", "epsilon_if_fixed", "failure"])
def test_a_number_that_is_none_stops_everything(name, path):
    append(path, "release", content(path, 3) | {name: "nan"})
    refuses(path, "Event 4 of the ledger cannot be understood: .*a number is none")


@pytest.mark.parametrize("column", ["kind", "content", "previous", "hash"])
def test_an_event_that_is_not_text_stops_everything(column, path):
    """SQLite keeps anything in any column."""
    row = {"kind": "done", "content": "{}", "previous": "0", "hash": "0"} | {column: b"text"}
    connection = sqlite3.connect(path)
    connection.execute("INSERT INTO events VALUES (4, :kind, :content, :previous, :hash)", row)
    connection.commit()
    connection.close()
    refuses(path, "Event 4 is not made of texts")


UNDO = """\
CREATE TRIGGER undo AFTER INSERT ON head BEGIN
  DELETE FROM events WHERE id = new.id;
  UPDATE head SET id = new.id - 1, hash = (SELECT hash FROM events WHERE id = new.id - 1);
END"""


def test_what_was_written_is_read_back_from_the_file(path, monkeypatch):
    """A trigger that undoes what is appended, unseen: nothing is said to be recorded."""
    monkeypatch.setattr(event_log, "is_as_made", lambda connection: True)
    run(path, "DROP TRIGGER events_remain", UNDO)
    with Ledger(path) as ledger:
        for write in (
            lambda: ledger.spend("patients", SPENDS, plan_hash="plan"),
            lambda: ledger.open_dataset("staff", epsilon=1.0, delta=1e-6),
            lambda: ledger.release_done(3, "result"),
        ):
            with pytest.raises(LedgerError, match="cannot be read back"):
                write()


def test_a_law_that_is_there_already_as_another_is_seen(path, monkeypatch):
    law = exact(discrete_gaussian(40.0), delta=1e-9)
    with Ledger(path) as ledger:
        (text,) = ledger._prices.laws([Spend(law)])[0].items()
        run(path, f"INSERT INTO laws VALUES ('{text[0]}', '{{}}')")
        with pytest.raises(LedgerError, match="cannot be read back"):
            ledger.spend("patients", [Spend(law)], plan_hash="plan")


def test_a_file_that_was_replaced_meanwhile_is_seen(path, monkeypatch):
    """Written to a file that nobody finds again, in the instant after the commit."""
    copy = shutil.copy(path, path.with_suffix(".copy"))
    append_ = event_log.append

    def replaced(connection, kind, data):
        event = append_(connection, kind, data)
        connection.execute("COMMIT")
        os.replace(copy, path)
        connection.execute("BEGIN")
        return event

    with Ledger(path) as ledger:
        monkeypatch.setattr(event_log, "append", replaced)
        with pytest.raises(LedgerError, match=r"cannot be read back.*moved or replaced"):
            ledger.spend("patients", SPENDS, plan_hash="plan")


def test_the_command_line_records_nothing_that_is_not_there(path, tmp_path, monkeypatch):
    monkeypatch.setattr(event_log, "is_as_made", lambda connection: True)
    run(path, "DROP TRIGGER events_remain", UNDO)
    law, answers = tmp_path / "noise.json", tmp_path / "answers.txt"
    law.write_text(
        artefact_text(certify(exact(discrete_gaussian(40.0), delta=1e-9), delta=1e-9)),
        encoding="utf-8",
    )
    answers.write_text("123456789\n")
    charged = ["--ledger", str(path), "--dataset", "patients"]
    for words in (
        ["ledger", "spend", str(path), "patients", str(law), "--plan", "p"],
        ["perturb", str(law), str(answers), *charged],
    ):
        done = CliRunner().invoke(main, words, prog_name="leastnoise")
        assert done.exit_code == 2
        assert done.stdout == ""
        assert "cannot be read back" in done.stderr
        assert "ecorded" not in done.stderr
