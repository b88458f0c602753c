"""What fails before the rows are counted costs nothing: on the visits of a clinic (examples/clinic.csv), broken in many ways.

A table in SQLite was charged for and then failed, twice; so were files in another encoding or with lines of other lengths.
"""

import csv
import gzip
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("ibis")
pytest.importorskip("duckdb")

from leastnoise.errors import EngineError, PlanError, UnsupportedError
from leastnoise.releases import table as tables
from leastnoise.releases.ledger import Ledger
from leastnoise.releases.mechanism import mechanism
from leastnoise.releases.plan import Plan, Statistic
from leastnoise.releases.run import release
from leastnoise.releases.source import Connection, CsvFile, DuckDBTable

CLINIC = Path(__file__).parents[2] / "examples" / "clinic.csv"
COLUMNS = ("patient", "day", "ward", "age", "stay", "emergency")
STATISTICS = (
    Statistic("count", group_by={"ward": {"values": ["north", "south", "west"], "match": "casefold"}}),
    Statistic("mean", column="stay", lower=0, upper=30, pitch=0.1, missing="drop"),
)


def visits(source=None):
    unit = {"person": "patient", "rows_per_person": 4, "groups_per_person": 2, "dataset": "clinic"}
    return Plan("visits", source, "add/remove", STATISTICS, 0.5, 1e-9, **unit)


@pytest.fixture(scope="module")
def noise():
    """It depends on the statistics alone; the plan's hash, which says where the table is, is put in by the tests."""
    return mechanism(visits())


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "ledger") as book:
        book.open_dataset("clinic", epsilon=2.0, delta=1e-6)
        yield book


def carried_out(ledger, noise, source=None, table=None):
    plan = visits(source)
    return release(plan, ledger=ledger, table=table, prepared=replace(noise, plan_hash=plan.hash))


def costs_nothing(ledger, noise, error, said, source=None, table=None):
    head = ledger.head
    for _ in range(2):
        with pytest.raises(error, match=said) as refused:
            carried_out(ledger, noise, source, table)
    assert ledger.head == head
    assert ledger.dataset("clinic").spent == 0.0
    for secret in ("P0039", "zoë", "49"):
        assert secret not in str(refused.value)


def rows():
    with CLINIC.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def written(path, lines, *, delimiter=",", encoding="utf-8"):
    with path.open("w", newline="", encoding=encoding) as file:
        csv.writer(file, delimiter=delimiter, lineterminator="\n").writerows(lines)
    return str(path)


def in_sqlite(folder):
    path = folder / "clinic.sqlite"
    with sqlite3.connect(path) as database:
        database.execute(f"CREATE TABLE visits ({', '.join(f'{name} TEXT' for name in COLUMNS)})")
        database.executemany("INSERT INTO visits VALUES (?, ?, ?, ?, ?, ?)", rows()[1:])
    database.close()
    return path


def test_a_table_of_another_engine_is_refused_by_its_name(ledger, noise, tmp_path, monkeypatch):
    import ibis

    path = in_sqlite(tmp_path)
    backend = ibis.sqlite.connect(path)
    try:
        costs_nothing(ledger, noise, UnsupportedError, "The table is in sqlite", table=backend.table("visits"))
    finally:
        backend.disconnect()
    with pytest.raises(PlanError, match="The connection is to sqlite"):
        Connection(f"sqlite://{path}", "visits")
    monkeypatch.setenv("CLINIC_URL", f"sqlite://{path}")
    costs_nothing(ledger, noise, PlanError, "The connection is to sqlite", Connection("env:CLINIC_URL", "visits"))
    with pytest.raises(PlanError, match="The connection is to no engine that is known here"):
        Connection("hunter2://clinic", "visits")


def test_a_file_in_another_encoding(ledger, noise, tmp_path):
    lines = rows()
    lines[2000][2] = "zoë"
    path = written(tmp_path / "latin.csv", lines, encoding="latin-1")
    costs_nothing(ledger, noise, EngineError, "reading the lines of the file .* must be UTF-8", CsvFile(path))


@pytest.mark.parametrize("change", [lambda line: line[:-1], lambda line: [*line, "more"], lambda line: [line[0]]])
@pytest.mark.parametrize("packed", [False, True])
def test_a_line_of_too_few_or_too_many_fields(ledger, noise, tmp_path, change, packed):
    lines = rows()
    lines[2900] = change(lines[2900])
    path = written(tmp_path / "ragged.csv", lines)
    if packed:
        with open(path, "rb") as plain, gzip.open(tmp_path / "ragged.csv.gz", "wb") as file:
            shutil.copyfileobj(plain, file)
        path += ".gz"
    costs_nothing(ledger, noise, EngineError, "as many fields in each line as columns", CsvFile(path))


def test_a_file_with_another_delimiter(ledger, noise, tmp_path):
    path = written(tmp_path / "semicolons.csv", rows(), delimiter=";")
    costs_nothing(ledger, noise, PlanError, "no column 'patient'", CsvFile(path))
    headless = written(tmp_path / "headless.csv", rows()[1:], delimiter=";")
    costs_nothing(ledger, noise, EngineError, "as many fields", CsvFile(headless, columns=COLUMNS))
    assert carried_out(ledger, noise, CsvFile(headless, columns=COLUMNS, delimiter=";")).entry is not None


def test_an_unclosed_quote(ledger, noise, tmp_path):
    path = tmp_path / "quote.csv"
    path.write_text(CLINIC.read_text(encoding="utf-8") + 'P9999,365,"north,49,1.0,no\n', encoding="utf-8")
    costs_nothing(ledger, noise, EngineError, "every quote closed", CsvFile(str(path)))


def test_a_table_that_is_not_there_any_more(ledger, noise):
    import ibis

    backend = ibis.duckdb.connect()
    backend.read_csv(str(CLINIC), table_name="raw", all_varchar=True)
    gone = backend.create_table("visits", backend.table("raw"))
    backend.drop_table("visits")
    costs_nothing(ledger, noise, EngineError, "while counting and summing", table=gone)
    backend.disconnect()


def test_no_row_is_read_by_the_rehearsal_of_a_database(tmp_path, noise):
    """A view that fails on its first row is fine on none."""
    import duckdb

    path = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(path)) as database:
        database.execute(f"CREATE TABLE visits AS SELECT * FROM read_csv('{CLINIC}', all_varchar = true)")
        rest = "patient, ward, CASE WHEN error('a row was read') IS NULL THEN stay END AS stay"
        database.execute(f"CREATE VIEW failing AS SELECT {rest} FROM visits")
    plan = visits(DuckDBTable(str(path), "failing"))
    opened = tables.open_table(plan)
    try:
        tables.rehearse(plan, opened, noise.blocks)
        (stays,) = (block for block in noise.blocks if any(answer.measure == "centred" for answer in block.answers))
        with pytest.raises(EngineError):
            tables.aggregate(plan, opened, stays)
    finally:
        opened.close()


def test_a_sound_table_is_charged_once(ledger, noise):
    told = []
    plan = visits(CsvFile(str(CLINIC)))
    made = replace(noise, plan_hash=plan.hash)
    done = release(plan, ledger=ledger, prepared=made, progress=lambda stage, share: told.append(stage))
    assert [entry.id for entry in ledger.entries()] == [done.entry]
    assert list(dict.fromkeys(told)) == ["designing the noise", "checking the table", "scanning the table", "adding noise"]
