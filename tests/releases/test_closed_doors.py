"""What a plan, or a database file, must not make the engine do: read other files, write any, reach
the network, run code."""

import csv
import gzip
import io
import json
import os
import socket
import subprocess
import sys
import threading

import pytest

ibis = pytest.importorskip("ibis")
duckdb = pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")

import pyarrow.parquet  # noqa: E402

import leastnoise  # noqa: E402
from leastnoise.artefact.exact import exact  # noqa: E402
from leastnoise.errors import EngineError, InvalidParameterError, LeastNoiseError, PlanError  # noqa: E402
from leastnoise.interop.untruncated import UntruncatedLaw  # noqa: E402
from leastnoise.ledger.ledger import Ledger  # noqa: E402
from leastnoise.releases.data import duckdb_engine  # noqa: E402
from leastnoise.releases.data.counts import aggregate  # noqa: E402
from leastnoise.releases.data.opening import open_table  # noqa: E402
from leastnoise.releases.noise.sensitivity import blocks  # noqa: E402
from leastnoise.releases.plan.plan import Plan  # noqa: E402
from leastnoise.releases.plan.source import Connection, CsvFile, DuckDBTable, ParquetFile, address  # noqa: E402
from leastnoise.releases.plan.statistic import Statistic  # noqa: E402
from leastnoise.releases.release import release  # noqa: E402
from leastnoise.sampling import InsecureSeededEntropy, OperatingSystemEntropy  # noqa: E402
from leastnoise.sampling import release as noised  # noqa: E402

INTEGER = exact(leastnoise.discrete_gaussian(3.0), delta=1e-6)


def counting(source=None, **more):
    """A plan that counts the rows of a table."""
    stats = (Statistic("count", **more),)
    return Plan("doors", source, "add/remove", stats, 1.0, 1e-6, one_row_per_person=True)


def integers(plan, frame=None):
    table = open_table(plan, frame)
    try:
        return [aggregate(plan, table, block) for block in blocks(plan)]
    finally:
        table.close()


@pytest.fixture
def listener():
    """A port of this machine, and how many programs have connected to it."""
    calls = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        stop = threading.Event()

        def answer():
            while not stop.is_set():
                try:
                    calls.append(server.accept()[0].close())
                except TimeoutError:
                    continue

        worker = threading.Thread(target=answer)
        worker.start()
        yield server.getsockname()[1], calls
        stop.set()
        worker.join()


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty working folder."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def database(path, *statements):
    with duckdb.connect(str(path)) as made:
        for statement in statements:
            made.execute(statement)
    return str(path)


def test_a_plan_cannot_make_the_engine_load_an_extension(tmp_path, listener):
    """The view needs an extension; the URL says from which server to fetch it, signed by nobody."""
    port, calls = listener
    path = database(
        tmp_path / "t.duckdb", "CREATE VIEW v AS SELECT * FROM (VALUES (1)) t(a) WHERE a < 2"
    )
    wanted = ("allow_unsigned", "autoinstall_known", "autoload_known")
    options = "&".join(f"{word}_extensions=true" for word in wanted)
    url = f"duckdb://{path}?extensions=inet&{options}&custom_extension_repository=http://127.0.0.1:{port}"
    url = f"{url}&autoinstall_extension_repository=http://127.0.0.1:{port}"
    with pytest.raises(LeastNoiseError):
        integers(counting(Connection(url, "v")))
    assert not calls


@pytest.mark.parametrize(
    "url",
    [
        "duckdb://t.db?allow_unsigned_extensions=true",
        "duckdb://t.db?extensions=httpfs",
        "duckdb://t.db#x",
        "duckdb://",
        "duckdb://:memory:",
        "duckdb://md:clinic",
        "duckdb://https://example.org/t.db",
        "md:clinic",
        "motherduck:clinic",
        "sqlite://t.db",
        "mysql://h/db",
        "polars://",
        "datafusion://",
        "file:///etc/passwd",
        "t.duckdb",
        "t.parquet",
        "spark://?spark.jars=http://example.org/evil.jar",
        "pyspark:///tmp/warehouse",
        "spark://me@h",
        "postgresql://h/db?options=-csession_preload_libraries%3Devil",
        "postgresql://h/db?passfile=/home/steward/.pgpass",
        "postgresql://h/db?sslkey=/home/steward/key",
        "postgresql://h/db?service=other",
        "postgresql://h/db?sslmode=require&sslmode=disable",
        "postgresql://h/db?host=other",
        "postgresql://h:port/db",
        "postgresql://h/db?port=5432x",
        "postgresql://h/db#x",
        "postgresql://h/d b",
        "postgresql://h/db%0a",
        "postgresql://[h/db",
        "postgresql//me:hunter2@h/db",
        "",
    ],
)
def test_only_known_engines_and_options_are_allowed(url, here, monkeypatch):
    for engine in ("duckdb", "postgres", "pyspark"):
        monkeypatch.setattr(
            getattr(ibis, engine), "connect", lambda *given, **named: pytest.fail("connected")
        )
    monkeypatch.setattr(ibis, "connect", lambda *given, **named: pytest.fail("connected"))
    with pytest.raises(LeastNoiseError) as caught:
        Connection(url, "t")
    assert "hunter2" not in str(caught.value)
    assert caught.value.__context__ is None
    if url:
        monkeypatch.setenv("DOORS", url)
        with pytest.raises(PlanError):
            open_table(counting(Connection("env:DOORS", "t")))
    assert os.listdir(here) == []


def test_what_a_url_of_postgres_may_say():
    told = address(
        "postgresql://st%40ff:p%2Fw@db.example:6000/clinic/visits?sslmode=verify-full&sslrootcert=/ca.pem&connect_timeout=5"
    ).told
    assert told == {
        **{
            "user": "st@ff",
            "password": "p/w",
            "host": "db.example",
            "port": "6000",
            "dbname": "clinic",
            "schema": "visits",
        },
        **{"sslmode": "verify-full", "sslrootcert": "/ca.pem", "connect_timeout": "5"},
    }
    keys = address(
        "postgres:///?host=/run/postgresql&port=5433&user=me&dbname=clinic&application_name=x"
    ).told
    assert keys == {
        "host": "/run/postgresql",
        "port": "5433",
        "user": "me",
        "dbname": "clinic",
        "application_name": "x",
    }
    assert address("spark://").told == address("pyspark://").told == {}


def test_a_duckdb_file_by_url(tmp_path):
    path = database(tmp_path / "t.duckdb", "CREATE TABLE t AS SELECT range AS x FROM range(5)")
    assert integers(counting(Connection(f"duckdb://{path}", "t"))) == [{(): (5,)}]


OTHERS = {
    "csv": "SELECT * FROM read_csv('{}', header = true)",
    "text": "SELECT content AS a FROM read_text('{}')",
    "blob": "SELECT content AS a FROM read_blob('{}')",
    "names": "SELECT file AS a FROM glob('{}*')",
    "by its name": "SELECT * FROM '{}'",
}


@pytest.mark.parametrize("how", OTHERS)
def test_a_view_in_a_database_file_reads_no_other_file(how, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("a\nSECRET\n", encoding="utf-8")
    query = OTHERS[how].format(other)
    path = database(
        tmp_path / "t.duckdb",
        f"CREATE VIEW v AS {query}",
        f"CREATE MACRO m() AS TABLE {query}",
        "CREATE VIEW through AS SELECT * FROM m()",
    )
    for view in ("v", "through"):
        with pytest.raises(EngineError) as caught:
            integers(counting(DuckDBTable(path, view)))
        assert "SECRET" not in str(caught.value)


def test_every_connection_is_locked(tmp_path, listener):
    port, calls = listener
    path = database(tmp_path / "t.duckdb", "CREATE TABLE t AS SELECT 1 AS a")
    (tmp_path / "t.csv").write_text("a\n1\n", encoding="utf-8")
    pyarrow.parquet.write_table(pa.table({"a": [1]}), tmp_path / "t.parquet")
    wanted = {
        **{
            "enable_external_access": "false",
            "lock_configuration": "true",
            "allow_community_extensions": "false",
        },
        **{
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "allow_unsigned_extensions": "false",
        },
        **{"python_enable_replacements": "false", "allow_persistent_secrets": "false"},
    }
    sources = [
        (DuckDBTable(path, "t"), None),
        (CsvFile(str(tmp_path / "t.csv")), None),
        (ParquetFile(str(tmp_path / "t.parquet")), None),
        (None, pa.table({"a": [1]})),
    ]
    for source, frame in sources:
        table = open_table(counting(source), frame)
        try:
            con = table.expression._find_backend().con
            found = dict(con.execute("SELECT name, value FROM duckdb_settings()").fetchall())
            assert {name: found[name] for name in wanted} == wanted
            for statement in (
                "SET enable_external_access = true",
                "SET temp_directory = '/tmp'",
                f"COPY (SELECT 1) TO '{tmp_path}/made.csv'",
                f"ATTACH '{tmp_path}/made.duckdb'",
                "INSTALL inet",
                "LOAD inet",
                f"SELECT * FROM read_csv('http://127.0.0.1:{port}/x.csv')",
            ):
                with pytest.raises(duckdb.Error):
                    con.execute(statement)
        finally:
            table.close()
    assert sorted(os.listdir(tmp_path)) == ["t.csv", "t.duckdb", "t.parquet"]
    assert not calls


@pytest.mark.parametrize(
    "source", [Connection("duckdb://missing.db", "t"), DuckDBTable("missing.db", "t")]
)
def test_opening_a_source_makes_no_file(source, here):
    with pytest.raises(PlanError, match="There is no file"):
        open_table(counting(source))
    assert os.listdir(here) == []


def test_patterns_and_odd_names_of_files(tmp_path):
    """A pattern is looked up here; the engine may open what was found and does not look itself."""
    rows = pa.table({"a": ["1", "2", "3"]})
    for name in ("x=1/one.parquet", "x=2/two.parquet", "x=2/t[w]o?.parquet", "x=2/other.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        pyarrow.parquet.write_table(rows, tmp_path / name)
    assert integers(counting(ParquetFile(str(tmp_path / "*" / "*.parquet")))) == [{(): (9,)}]
    assert integers(counting(ParquetFile(str(tmp_path / "**" / "o*.parquet")))) == [{(): (3,)}]
    by_folder = counting(ParquetFile(str(tmp_path / "*" / "o*.parquet")), group_by={"x": [1, 2]})
    assert integers(by_folder) == [{("1",): (3,), ("2",): (0,), ("other",): (0,)}]
    with pytest.raises(PlanError, match="No file matches"):
        integers(counting(ParquetFile(str(tmp_path / "*.parquet"))))
    with pytest.raises(PlanError, match="No file matches"):
        integers(counting(ParquetFile("https://example.org/*.parquet")))
    for name in ("t*.csv", "t?.csv", "[t].csv", "it's.csv"):
        (tmp_path / name).write_text("a\n1\n", encoding="utf-8")
        assert integers(counting(CsvFile(str(tmp_path / name)))) == [{(): (1,)}]


def test_csv_files_may_be_compressed(tmp_path):
    for name in ("t.csv.gz", "t[0].csv.GZ"):
        with gzip.open(tmp_path / name, "wt", encoding="utf-8") as file:
            file.write("a,b\n1,2\n3,4\n")
        assert integers(counting(CsvFile(str(tmp_path / name)), group_by={"b": ["4"]})) == [
            {("4",): (1,), ("other",): (1,)}
        ]
    (tmp_path / "cut.csv.gz").write_bytes((tmp_path / "t.csv.gz").read_bytes()[:12])
    with pytest.raises(PlanError, match="does not name its columns"):
        open_table(counting(CsvFile(str(tmp_path / "cut.csv.gz"))))


def test_a_file_without_line_ends_is_not_read_to_its_end_for_its_names(tmp_path, monkeypatch):
    monkeypatch.setattr(duckdb_engine, "_LONGEST_HEADER", 10)
    (tmp_path / "long.csv").write_text("a" * 100, encoding="utf-8")
    with pytest.raises(
        PlanError, match=r"no column 'z'; its first line names 1, and none is like it"
    ):
        open_table(counting(CsvFile(str(tmp_path / "long.csv")), group_by={"z": ["1"]}))


def test_a_python_variable_is_no_table(tmp_path):
    ln_secret = pa.table({"a": ["SECRET"] * 7})
    path = tmp_path / "t.duckdb"
    database(
        path,
        "CREATE TABLE ln_secret AS SELECT 'x' AS a",
        "CREATE VIEW v AS SELECT * FROM ln_secret",
        "DROP TABLE ln_secret",
    )
    with pytest.raises(EngineError):
        integers(counting(DuckDBTable(str(path), "v")))
    assert ln_secret.num_rows == 7


class Zeros:
    """A source that calls itself what it is not, and whose noise is the same in every draw."""

    stamp = "operating system"

    def take(self, count):
        return bytes(count)


class Heir(OperatingSystemEntropy):
    def take(self, count):
        return bytes(count)


def test_the_source_of_noise_cannot_be_changed_in_place():
    """One whose `take` returned zeros was stamped "operating system"."""
    with pytest.raises(AttributeError):
        object.__setattr__(OperatingSystemEntropy(), "take", bytes)


@pytest.mark.parametrize(
    "source", [Zeros(), Heir(), InsecureSeededEntropy(1)], ids=lambda source: type(source).__name__
)
def test_another_source_of_noise_needs_leave_and_is_written_on_everything(source, tmp_path):
    plan, frame = counting(), pa.table({"a": [1] * 40})
    with Ledger(tmp_path / "ledger") as ledger:
        ledger.open_dataset("doors", epsilon=2.0, delta=1e-6)
        for leave in ({}, {"not_private": False}, {"not_private": "yes"}):
            with pytest.raises(InvalidParameterError, match="not_private=True"):
                release(plan, table=frame, ledger=ledger, entropy=source, **leave)
        assert not ledger.entries()
        done = release(plan, table=frame, ledger=ledger, entropy=source, not_private=True)
        (entry,) = ledger.entries()
        assert "not private" in ledger.show() or "not known to be private" in ledger.show()
    mark = done.entropy
    assert mark != "operating system"
    assert not done.is_private
    assert entry.stamp == mark
    assert mark in done.to_html()
    assert "Nothing is guaranteed" in done.to_html()
    stored = json.loads(done.to_json())
    assert stored["entropy"] == stored["guarantee"]["entropy"] == mark
    assert [row["entropy"] for row in csv.DictReader(io.StringIO(done.to_csv()))] == [mark]
    done.to_parquet(tmp_path / "r.parquet")
    kept = json.loads(pyarrow.parquet.read_schema(tmp_path / "r.parquet").metadata[b"leastnoise"])
    assert kept["entropy"] == mark
    for answers, law in (([1], INTEGER), ([1.0], INTEGER)):
        with pytest.raises(InvalidParameterError, match="not_private=True"):
            noised(law, answers, entropy=source)
    with pytest.raises(InvalidParameterError, match="not_private=True"):
        noised(UntruncatedLaw.of(leastnoise.discrete_laplace(2.0), 1e-9), [1], entropy=source)


@pytest.mark.engines
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_plan_on_postgres_with_the_usual_keys(tmp_path):
    from releases import engines

    with engines.postgres() as connected:
        connected.raw_sql("CREATE SCHEMA visits")
        connected.raw_sql("CREATE TABLE visits.t AS SELECT generate_series(1, 7) AS x")
        base = connected.leastnoise_url
        port = base.rsplit(":", 1)[1].split("/")[0]
        url = f"{base}/visits?sslmode=disable&connect_timeout=5&application_name=doors"
        assert integers(counting(Connection(url, "t"))) == [{(): (7,)}]
        keys = f"postgresql:///postgres/visits?host=127.0.0.1&port={port}&user=steward"
        assert integers(counting(Connection(keys, "t"))) == [{(): (7,)}]
        # A name of a database is a name, and no second list of options.
        with pytest.raises(EngineError):
            integers(
                counting(
                    Connection(f"postgresql://127.0.0.1:{port}/dbname=postgres%20user=steward", "t")
                )
            )


@pytest.mark.engines
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_plan_on_the_spark_session_of_the_process(here):
    from releases import engines

    with engines.spark() as connected:
        connected._session.range(6).createOrReplaceTempView("t")
        connected.list_tables()
        before = sorted(os.listdir(here))  # a session of Spark makes the folder of its own tables
        for _ in range(2):  # the session was there before, and stays
            assert integers(counting(Connection("spark://", "t"))) == [{(): (6,)}]
        assert sorted(os.listdir(here)) == before


NEW_SESSION = """\
import os, sys
from leastnoise.errors import PlanError
from leastnoise.releases.plan.file import load_plan
from leastnoise.releases.data.opening import open_table

try:
    open_table(load_plan("plan.toml"), scratch=sys.argv[1])
except PlanError as error:
    print(error)
from pyspark import SparkContext
assert SparkContext._active_spark_context is None, "the session that was made is still open"
print(sorted(os.listdir()), os.listdir(sys.argv[1]))
"""


@pytest.mark.engines
@pytest.mark.slow
@pytest.mark.long
def test_a_session_of_spark_that_a_plan_needs_leaves_nothing_behind(tmp_path):
    from releases import engines

    engines.need_spark()
    place, scratch = tmp_path / "place", tmp_path / "scratch"
    place.mkdir()
    scratch.mkdir()
    plan = (
        'name = "doors"\nepsilon = 1.0\ndelta = 1e-6\nrelation = '
        '"add/remove"\none_row_per_person = true\n'
    )
    plan += '[source]\nconnection = "spark://"\ntable = "none"\n[[statistic]]\nkind = "count"\n'
    (place / "plan.toml").write_text(plan, encoding="utf-8")
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, "-c", NEW_SESSION, str(scratch)],
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    said, left = done.stdout.strip().splitlines()[-2:]
    assert "has no table or view 'none'" in said
    assert left == "['plan.toml'] []"


@pytest.mark.parametrize(
    "content",
    [
        'id,ward,"note\n1,north,Alice is ill\n2,south,Bob is well\n',
        'id,ward,"note\n1,north,Alice is "ill"\n2,south,Bob is well\n',
        "4711,Alice is ill,north\n12,Bob is well,south\n",
    ],
    ids=["a quote that is not closed", "a quote that is closed elsewhere", "no header"],
)
def test_what_is_no_header_is_not_shown(content, tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(PlanError) as told:
        integers(counting(CsvFile(str(path)), group_by={"note": ["x"]}))
    assert "columns = [names]" in str(told.value)
    assert not any(word in str(told.value) for word in ("Alice", "4711", "north", "ill"))


def test_another_delimiter_is_asked_for(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("id;ward;note\n1;north;x\n", encoding="utf-8")
    with pytest.raises(
        PlanError,
        match=r"no column 'ward'; its first line names 1, .* Declare delimiter = ';' if that",
    ):
        integers(counting(CsvFile(str(path)), group_by={"ward": ["north"]}))


def test_a_name_that_is_nearly_right_is_shown(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("id,Ward ,note\n1,north,x\n", encoding="utf-8")
    with pytest.raises(
        PlanError, match="no column 'ward'; its first line names 3, like it: 'Ward '"
    ):
        integers(counting(CsvFile(str(path)), group_by={"ward": ["north"]}))
