"""Spark in local mode and a PostgreSQL server give the very integers that DuckDB gives."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

ibis = pytest.importorskip("ibis")
pytest.importorskip("duckdb")

from leastnoise.releases.plan import Plan  # noqa: E402
from leastnoise.releases.sensitivity import blocks  # noqa: E402
from leastnoise.releases.source import Connection  # noqa: E402
from leastnoise.releases.table import aggregate, open_table  # noqa: E402
from release import tables, three_sets  # noqa: E402

pytestmark = [pytest.mark.engines, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def spark():
    sql = pytest.importorskip("pyspark.sql", reason="PySpark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java 17, and there is no java here")
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = sql.SparkSession.builder.master("local[1]").appName("leastnoise")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
    }.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    yield ibis.pyspark.connect(session)
    session.stop()


def _server_programs():
    for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    found = shutil.which("initdb")
    return None if found is None else Path(found).parent


def _as_nobody(command):
    """PostgreSQL refuses to run as root: then it runs as the user nobody."""
    if os.geteuid() != 0:
        return command
    return [*("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"), *command]


@pytest.fixture(scope="module")
def postgres():
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    programs = _server_programs()
    if programs is None:
        pytest.skip("no PostgreSQL server programs: install the package postgresql")
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("PostgreSQL must not run as root, and there is no setpriv to change the user")
    home = Path(tempfile.mkdtemp(prefix="leastnoise-pg-"))
    if os.geteuid() == 0:
        shutil.chown(home, "nobody", "nogroup")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data = home / "data"
    subprocess.run(
        _as_nobody(
            [str(programs / "initdb"), "-D", str(data), "-U", "steward", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        ),
        check=True,
        capture_output=True,
        cwd=home,
    )
    options = ["-D", str(data), "-h", "127.0.0.1", "-p", str(port), "-k", str(home), "-c", "fsync=off"]
    with (home / "log").open("wb") as log:
        server = subprocess.Popen(_as_nobody([str(programs / "postgres"), *options]), stdout=log, stderr=log, cwd=home)
    url = f"postgresql://steward@127.0.0.1:{port}/postgres"
    try:
        for _ in range(100):
            try:
                connected = ibis.connect(url)
                break
            except Exception:
                time.sleep(0.2)
        else:
            pytest.fail("the PostgreSQL server did not start: " + (home / "log").read_text(errors="replace"))
        connected.leastnoise_url = url
        yield connected
        connected.disconnect()
    finally:
        server.terminate()
        server.wait(timeout=30)
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(params=["spark", "postgres"])
def engine(request):
    return request.getfixturevalue(request.param)


def integers(plan, source=None):
    table = open_table(plan, source)
    try:
        return [aggregate(plan, table, block) for block in blocks(plan)]
    finally:
        table.close()


def stored(engine, name, arrow):
    """The table in the engine, its rows in no particular order."""
    if engine.name == "pyspark":
        session = engine._session
        frame = session.createDataFrame([tuple(row.values()) for row in arrow.to_pylist()], _spark_schema(arrow))
        frame.repartition(3).createOrReplaceTempView(name)
        return engine.table(name)
    return engine.create_table(name, arrow, overwrite=True)


def _spark_schema(arrow):
    names = {"int64": "bigint", "int32": "int", "double": "double", "string": "string", "bool": "boolean"}
    return ", ".join(f"`{field.name}` {names[str(field.type)]}" for field in arrow.schema)


@pytest.mark.parametrize("kind", ["rows", "ids", "names"])
def test_the_same_integers_on_a_dirty_table(engine, kind):
    arrow = tables.columns(tables.table(11))
    given = stored(engine, f"dirty_{kind}", arrow)
    for more in ({}, {"rows_per_group": 2}) if kind != "rows" else ({},):
        plan = tables.plan(kind, **more)
        assert integers(plan, given) == integers(plan, arrow)


@pytest.mark.parametrize("name", ["breast_cancer", "diabetes", "heart"])
def test_the_same_integers_for_the_three_data_sets(engine, name, tmp_path):
    pytest.importorskip("sklearn", reason="scikit-learn brings two of the data sets")
    import pyarrow.csv

    plan = three_sets.plan(name, tmp_path)
    columns = plan.source.columns
    options = pyarrow.csv.ReadOptions(column_names=list(columns) if columns else None)
    names = columns or pyarrow.csv.read_csv(plan.source.path).column_names
    texts = pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, "string"))
    arrow = pyarrow.csv.read_csv(plan.source.path, read_options=options, convert_options=texts)
    assert integers(plan, stored(engine, name, arrow)) == integers(plan)


def test_sums_beyond_64_bits(engine):
    import pyarrow as pa

    from leastnoise.releases.plan import Statistic

    wide = Statistic("variance", column="x", lower=0, upper=2**31 - 1, pitch=1, missing="drop")
    plan = Plan("wide", None, "add/remove", (wide,), 1.0, 1e-6, one_row_per_person=True)
    arrow = pa.table({"x": [2**62, -(2**62), 2**31 - 1] * 1000})
    assert integers(plan, stored(engine, "wide", arrow)) == integers(plan, arrow)


def test_a_connection_by_url(postgres):
    arrow = tables.columns(tables.table(5))
    stored(postgres, "by_url", arrow)
    plan = tables.plan("ids")
    named = Plan(
        **{
            **{name: getattr(plan, name) for name in plan.__dataclass_fields__},
            "source": Connection(postgres.leastnoise_url, "by_url"),
        }
    )
    assert integers(named) == integers(plan, arrow)
    assert "steward" not in str(named.describe())
