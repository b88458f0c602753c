"""What fails before the rows are counted costs nothing: on the visits of a clinic
(examples/clinic.csv), broken in many ways, and on real flights in files whose pages are damaged, in
PostgreSQL and in Spark.

A table in SQLite was charged for and then failed, twice; so were files in another encoding or with
lines of other lengths.
"""

import csv
import gzip
import re
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("ibis")
pytest.importorskip("duckdb")

from leastnoise.errors import EngineError, PlanError, UnsupportedError
from leastnoise.ledger.ledger import Ledger
from leastnoise.releases.data import counts
from leastnoise.releases.data.opening import open_table
from leastnoise.releases.noise.mechanism import mechanism
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.source import Connection, CsvFile, DuckDBTable, ParquetFile
from leastnoise.releases.plan.statistic import Statistic
from leastnoise.releases.release import release
from releases import engines
from releases import real_tables as real

CLINIC = Path(__file__).parents[2] / "examples" / "clinic.csv"
COLUMNS = ("patient", "day", "ward", "age", "stay", "emergency")
STATISTICS = (
    Statistic(
        "count", group_by={"ward": {"values": ["north", "south", "west"], "match": "casefold"}}
    ),
    Statistic("mean", column="stay", lower=0, upper=30, pitch=0.1, missing="drop"),
)


def visits(source=None):
    unit = {"person": "patient", "rows_per_person": 4, "groups_per_person": 2, "dataset": "clinic"}
    return Plan("visits", source, "add/remove", STATISTICS, 0.5, 1e-9, **unit)


@pytest.fixture(scope="module")
def noise():
    """It depends on the statistics alone; the plan's hash, which says where the table is, is put in
    by the tests."""
    return mechanism(visits())


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "ledger") as book:
        for name in ("clinic", "flights"):
            book.open_dataset(name, epsilon=2.0, delta=1e-6)
        yield book


def carried_out(ledger, noise, source=None, table=None, plan_of=visits):
    plan = plan_of(source)
    return release(plan, ledger=ledger, table=table, prepared=replace(noise, plan_hash=plan.hash))


def costs_nothing(ledger, noise, error, said, source=None, table=None, plan_of=visits):
    head = ledger.head
    for _ in range(2):
        with pytest.raises(error, match=said) as refused:
            carried_out(ledger, noise, source, table, plan_of)
    assert ledger.head == head
    assert ledger.dataset(plan_of().dataset).spent == 0.0
    for secret in (
        "P0039",
        "zoë",
        r"(?<![\w-])49(?!\w)",
    ):  # a folder of tests may be called pytest-49
        assert not re.search(secret, str(refused.value))


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
        costs_nothing(
            ledger, noise, UnsupportedError, "The table is in sqlite", table=backend.table("visits")
        )
    finally:
        backend.disconnect()
    with pytest.raises(PlanError, match="The connection is to sqlite"):
        Connection(f"sqlite://{path}", "visits")
    monkeypatch.setenv("CLINIC_URL", f"sqlite://{path}")
    costs_nothing(
        ledger,
        noise,
        PlanError,
        "The connection is to sqlite",
        Connection("env:CLINIC_URL", "visits"),
    )
    with pytest.raises(PlanError, match="The connection is to no engine that is known here"):
        Connection("hunter2://clinic", "visits")


def test_a_file_in_another_encoding(ledger, noise, tmp_path):
    lines = rows()
    lines[2000][2] = "zoë"
    path = written(tmp_path / "latin.csv", lines, encoding="latin-1")
    costs_nothing(
        ledger,
        noise,
        EngineError,
        "reading the table's files to their end .* must be UTF-8",
        CsvFile(path),
    )


@pytest.mark.parametrize(
    "change", [lambda line: line[:-1], lambda line: [*line, "more"], lambda line: [line[0]]]
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_line_of_too_few_or_too_many_fields(ledger, noise, tmp_path, change, packed):
    lines = rows()
    lines[2900] = change(lines[2900])
    path = written(tmp_path / "ragged.csv", lines)
    if packed:
        with open(path, "rb") as plain, gzip.open(tmp_path / "ragged.csv.gz", "wb") as file:
            shutil.copyfileobj(plain, file)
        path += ".gz"
    costs_nothing(
        ledger, noise, EngineError, "as many fields in each line as columns", CsvFile(path)
    )


def test_a_file_with_another_delimiter(ledger, noise, tmp_path):
    path = written(tmp_path / "semicolons.csv", rows(), delimiter=";")
    costs_nothing(ledger, noise, PlanError, "no column 'patient'", CsvFile(path))
    headless = written(tmp_path / "headless.csv", rows()[1:], delimiter=";")
    costs_nothing(ledger, noise, EngineError, "as many fields", CsvFile(headless, columns=COLUMNS))
    assert (
        carried_out(ledger, noise, CsvFile(headless, columns=COLUMNS, delimiter=";")).entry
        is not None
    )


def test_an_unclosed_quote(ledger, noise, tmp_path):
    path = tmp_path / "quote.csv"
    path.write_text(
        CLINIC.read_text(encoding="utf-8") + 'P9999,365,"north,49,1.0,no\n', encoding="utf-8"
    )
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
        database.execute(
            f"CREATE TABLE visits AS SELECT * FROM read_csv('{CLINIC}', all_varchar = true)"
        )
        rest = "patient, ward, CASE WHEN error('a row was read') IS NULL THEN stay END AS stay"
        database.execute(f"CREATE VIEW failing AS SELECT {rest} FROM visits")
    plan = visits(DuckDBTable(str(path), "failing"))
    opened = open_table(plan)
    try:
        counts.rehearse(plan, opened, noise.blocks)
        (stays,) = (
            block
            for block in noise.blocks
            if any(answer.measure == "centred" for answer in block.answers)
        )
        with pytest.raises(EngineError):
            counts.aggregate(plan, opened, stays)
    finally:
        opened.close()


# Real flights, in the engines that data are in


def flown(source=None):
    """Flights of real aircraft by origin, and their mean time in the air."""
    statistics = (
        Statistic("count", group_by={"origin": real.ORIGINS}),
        Statistic("mean", column="air_time", lower=0, upper=600, pitch=1, missing="drop"),
    )
    unit = {
        "person": "tailnum",
        "rows_per_person": 20,
        "groups_per_person": 2,
        "dataset": "flights",
    }
    return Plan("flights", source, "add/remove", statistics, 0.5, 1e-9, **unit)


@pytest.fixture(scope="module")
def flown_noise():
    return mechanism(flown())


def released(ledger, flown_noise, source=None, table=None):
    return carried_out(ledger, flown_noise, source, table, plan_of=flown)


def is_free(ledger, flown_noise, said, source=None, table=None, error=EngineError):
    costs_nothing(ledger, flown_noise, error, said, source, table, plan_of=flown)


def damaged(path):
    """The file with a page of the last column that is read overwritten; its footer, and so its
    schema, is whole."""
    from pyarrow import parquet

    group = parquet.ParquetFile(path).metadata.row_group(0)
    (column,) = (
        group.column(i)
        for i in range(group.num_columns)
        if group.column(i).path_in_schema == "air_time"
    )
    start = column.data_page_offset
    content = bytearray(Path(path).read_bytes())
    middle = start + column.total_compressed_size // 2
    content[middle : middle + 64] = bytes(64)
    content[start : start + 8] = b"\xff" * 8
    Path(path).write_bytes(bytes(content))
    return path


def test_parquet_with_a_damaged_page_or_half_a_file_costs_nothing(ledger, flown_noise, tmp_path):
    whole = real.as_parquet(real.flights(10), tmp_path / "flights.parquet", compression="zstd")
    half = tmp_path / "half.parquet"
    half.write_bytes(Path(whole).read_bytes()[:50_000])
    is_free(ledger, flown_noise, "while opening the table", ParquetFile(str(half)))
    is_free(
        ledger,
        flown_noise,
        "There is no file",
        ParquetFile(str(tmp_path / "none.parquet")),
        error=PlanError,
    )
    broken = tmp_path / "broken.parquet"
    shutil.copy(whole, broken)
    said = (
        "while reading the table's files to their end .* If its files are damaged or not "
        "whole, write them again"
    )
    is_free(ledger, flown_noise, said, ParquetFile(damaged(str(broken))))
    assert released(ledger, flown_noise, ParquetFile(whole)).entry is not None


def test_a_damaged_page_of_decimal_numbers_costs_nothing(ledger, flown_noise, tmp_path):
    pa = pytest.importorskip("pyarrow")
    table = real.flights(10)
    place = table.column_names.index("air_time")
    table = table.set_column(place, "air_time", table["air_time"].cast(pa.decimal128(21, 2)))
    path = real.as_parquet(table, tmp_path / "flights.parquet", compression="zstd")
    is_free(
        ledger,
        flown_noise,
        "while reading the table's files to their end",
        ParquetFile(damaged(path)),
    )


@pytest.mark.engines
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_what_postgres_refuses_costs_nothing(ledger, flown_noise):
    """A column that may not be read, a table that may not, a view that is gone, a view without the
    column."""
    psycopg = pytest.importorskip("psycopg")
    with engines.postgres() as connected:
        connected.create_table("flights", real.flights(40))
        url = connected.leastnoise_url
        with psycopg.connect(url, autocommit=True) as server:
            server.execute("CREATE ROLE guest LOGIN")
            server.execute("CREATE VIEW departures AS SELECT * FROM flights")
            server.execute("CREATE VIEW short AS SELECT tailnum, origin FROM flights")
            server.execute("CREATE TABLE closed AS SELECT * FROM flights")
            server.execute("GRANT SELECT (tailnum, origin, month) ON flights TO guest")
            guest = url.replace("steward@", "guest@")
            refused = "counting and summing .InsufficientPrivilege."
            is_free(ledger, flown_noise, refused, Connection(guest, "flights"))
            is_free(ledger, flown_noise, refused, Connection(guest, "closed"))
            is_free(
                ledger,
                flown_noise,
                "has no column 'air_time'",
                Connection(url, "short"),
                error=PlanError,
            )
            is_free(
                ledger,
                flown_noise,
                "no table or view 'nothing'",
                Connection(url, "nothing"),
                error=PlanError,
            )
            seen = connected.table("departures")
            server.execute("DROP VIEW departures")
            is_free(ledger, flown_noise, "while counting and summing", table=seen)
            assert released(ledger, flown_noise, Connection(url, "flights")).entry is not None
            server.execute("GRANT SELECT ON flights TO guest")
            assert released(ledger, flown_noise, Connection(guest, "flights")).entry is not None


@pytest.mark.engines
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.long
def test_what_spark_cannot_read_costs_nothing(ledger, flown_noise, tmp_path):
    """A view that is gone, one without the column, a file whose page is damaged, one that was
    removed after the table was made."""
    with engines.spark() as connected:
        session = connected._session

        def stored(name):
            path = real.as_parquet(
                real.flights(40), tmp_path / f"{name}.parquet", compression="zstd"
            )
            session.read.parquet(path).createOrReplaceTempView(name)
            return path

        stored("flights")
        session.table("flights").createOrReplaceTempView("departures")
        session.table("flights").select("tailnum", "origin").createOrReplaceTempView("short")
        is_free(
            ledger,
            flown_noise,
            "has no column 'air_time'",
            table=connected.table("short"),
            error=PlanError,
        )
        seen = connected.table("departures")
        session.catalog.dropTempView("departures")
        is_free(ledger, flown_noise, "while", table=seen)
        damaged(stored("broken"))
        Path(stored("removed")).unlink()
        said = "while reading the table's files to their end .* write them again"
        for name in ("broken", "removed"):
            is_free(ledger, flown_noise, said, table=connected.table(name))
            is_free(ledger, flown_noise, said, table=session.table(name))
        # What a view computes may fail on the value of a row, and no row is read of it beforehand.
        failing = session.sql(
            "SELECT tailnum, origin, CASE WHEN raise_error('a row was read') IS NULL THEN "
            "air_time END air_time FROM flights"
        )
        opened = open_table(flown(), failing)
        try:
            assert not opened.is_files
            counts.rehearse(flown(), opened, flown_noise.blocks)
            counts.read_through(flown(), opened)
        finally:
            opened.close()
        assert released(ledger, flown_noise, table=connected.table("flights")).entry is not None


def test_a_sound_table_is_charged_once(ledger, noise):
    told = []
    plan = visits(CsvFile(str(CLINIC)))
    made = replace(noise, plan_hash=plan.hash)
    done = release(
        plan, ledger=ledger, prepared=made, progress=lambda stage, share: told.append(stage)
    )
    assert [entry.id for entry in ledger.entries()] == [done.entry]
    assert list(dict.fromkeys(told)) == [
        "designing the noise",
        "checking the table",
        "scanning the table",
        "adding noise",
    ]
