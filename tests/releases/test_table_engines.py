"""Spark in local mode and a PostgreSQL server give the very integers that DuckDB gives."""

import os
import random
import signal
import threading
from dataclasses import replace

import pytest

pytest.importorskip("ibis")
pytest.importorskip("duckdb")

import ibis

from leastnoise.errors import PlanError
from leastnoise.ledger.ledger import Ledger
from leastnoise.releases.data.counts import aggregate
from leastnoise.releases.data.opening import open_table
from leastnoise.releases.data.scan import executed
from leastnoise.releases.noise.mechanism import mechanism
from leastnoise.releases.noise.sensitivity import blocks
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.source import Connection
from leastnoise.releases.plan.statistic import Statistic
from leastnoise.releases.release import release
from releases import engines, spread_plans, tables, test_distinct, three_sets

pytestmark = [pytest.mark.engines, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def spark():
    with engines.spark() as connected:
        yield connected


@pytest.fixture(scope="module")
def postgres():
    with engines.postgres() as connected:
        yield connected


@pytest.fixture(params=["spark", "postgres"])
def engine(request):
    return request.getfixturevalue(request.param)


def integers(plan, source=None):
    table = open_table(plan, source)
    try:
        return [
            aggregate(plan, table, block)
            for block in (*blocks(plan), *blocks(plan, joint=True)[-1:])
        ]
    finally:
        table.close()


def stored(engine, name, arrow):
    """The table in the engine, its rows in no particular order."""
    if engine.name == "pyspark":
        session = engine._session
        frame = session.createDataFrame(
            [tuple(row.values()) for row in arrow.to_pylist()], _spark_schema(arrow)
        )
        frame.repartition(3).createOrReplaceTempView(name)
        return engine.table(name)
    return engine.create_table(name, arrow, overwrite=True)


def _spark_schema(arrow):
    names = {
        "int64": "bigint",
        "int32": "int",
        "double": "double",
        "string": "string",
        "bool": "boolean",
    }
    return ", ".join(f"`{field.name}` {names[str(field.type)]}" for field in arrow.schema)


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("rows", {}),
        ("names", {"rows_per_group": 2}),
        *(
            pytest.param(kind, more, marks=pytest.mark.long)
            for kind, more in (("ids", {}), ("ids", {"rows_per_group": 2}), ("names", {}))
        ),
    ],
)
def test_the_same_integers_on_a_dirty_table(engine, kind, more):
    arrow = tables.columns(tables.table(11))
    given = stored(engine, f"dirty_{kind}", arrow)
    plan = tables.plan(kind, **more)
    assert integers(plan, given) == integers(plan, arrow)


@pytest.mark.parametrize("name", ["means", "two in a cell", "complete"])
def test_the_same_integers_of_one_view(engine, name):
    pa = pytest.importorskip("pyarrow")
    plan, asked = spread_plans.PLANS[name], spread_plans.made_of(name).blocks
    rows = spread_plans.rows_of(random.Random(3), ["p1", "P1", "", "é", "~|", None], 9)
    arrow = pa.Table.from_pylist(rows)
    found = []
    for source in (stored(engine, f"view_{len(asked)}", arrow), arrow):
        table = open_table(plan, source)
        try:
            found.append([aggregate(plan, table, block) for block in asked])
        finally:
            table.close()
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "name",
    [
        "heart",
        *(pytest.param(name, marks=pytest.mark.long) for name in ("breast_cancer", "diabetes")),
    ],
)
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


@pytest.mark.parametrize(
    "declared",
    [
        "clinic.visits",
        "clinic.seen",
        "clinic.kept",
        "seen_here",
        "kept_here",
        "Odd-schema.Odd.table",
        "with.point",
    ],
)
def test_tables_and_views_of_any_schema_in_postgresql(postgres, declared):
    """Another schema, views and materialised views: all of them were "no table" before."""
    arrow = tables.columns(tables.table(6))
    stored(postgres, "at_home", arrow)
    for line in (
        "CREATE SCHEMA IF NOT EXISTS clinic",
        'CREATE SCHEMA IF NOT EXISTS "Odd-schema"',
        "CREATE TABLE IF NOT EXISTS clinic.visits AS SELECT * FROM at_home",
        'CREATE TABLE IF NOT EXISTS "Odd-schema"."Odd.table" AS SELECT * FROM at_home',
        'CREATE TABLE IF NOT EXISTS "with.point" AS SELECT * FROM at_home',
        "CREATE OR REPLACE VIEW clinic.seen AS SELECT * FROM clinic.visits",
        "CREATE OR REPLACE VIEW seen_here AS SELECT * FROM clinic.visits",
        "CREATE MATERIALIZED VIEW IF NOT EXISTS clinic.kept AS SELECT * FROM clinic.visits",
        "CREATE MATERIALIZED VIEW IF NOT EXISTS kept_here AS SELECT * FROM clinic.visits",
    ):
        postgres.raw_sql(line)
        postgres.con.commit()
    plan = tables.plan("ids")
    assert integers(
        replace(plan, source=Connection(postgres.leastnoise_url, declared))
    ) == integers(plan, arrow)


@pytest.mark.parametrize("declared", ["nothing", "clinic.nothing", "nowhere.visits"])
def test_no_such_table_in_postgresql(postgres, declared):
    plan = replace(tables.plan("ids"), source=Connection(postgres.leastnoise_url, declared))
    with pytest.raises(PlanError, match=f"no table or view '{declared}'"):
        open_table(plan)


def test_a_frame_of_spark_as_it_is(spark):
    arrow = tables.columns(tables.table(7))
    session = spark._session
    frame = session.createDataFrame(
        [tuple(row.values()) for row in arrow.to_pylist()], _spark_schema(arrow)
    )
    plan = tables.plan("names")
    before = {view.name for view in session.catalog.listTables()}
    assert integers(plan, frame) == integers(plan, arrow)
    assert {view.name for view in session.catalog.listTables()} == before
    done = release(
        Plan(
            "spark", frame, "add/remove", (Statistic("count"),), 1.0, 1e-6, one_row_per_person=True
        )
    )
    assert (done.engine, done.plan.describe()["source"]) == ("pyspark", {"frame": "pyspark"})
    assert session.range(3).count() == 3  # the session is the caller's, and stays open


# A query that would take minutes, and whether one is running.
ENDLESS = {
    "duckdb": "SELECT a.range + b.range AS x FROM range(1000000) a, range(1000000) b",
    "postgres": "SELECT a + b AS x FROM generate_series(1, 1000000) a, generate_series(1, "
    "1000000) b",
    "pyspark": "SELECT a.id + b.id AS x FROM range(1000000) a CROSS JOIN range(1000000) b",
}


def running(engine):
    if engine.name == "postgres":
        watcher = ibis.connect(engine.leastnoise_url)
        try:
            others = (
                "pid <> pg_backend_pid() AND state = 'active' AND backend_type = 'client backend'"
            )
            return (
                int(
                    watcher.raw_sql(
                        f"SELECT count(*) FROM pg_stat_activity WHERE {others}"
                    ).fetchone()[0]
                )
                > 0
            )
        finally:
            watcher.disconnect()
    if engine.name == "pyspark":
        return bool(engine._session.sparkContext.statusTracker().getActiveJobsIds())
    return any(thread.name == "leastnoise-scan" for thread in threading.enumerate())


@pytest.fixture(params=["duckdb", "postgres", "spark"])
def any_engine(request):
    return (
        ibis.duckdb.connect()
        if request.param == "duckdb"
        else request.getfixturevalue(request.param)
    )


@pytest.mark.parametrize("how", ["progress", pytest.param("signal", marks=pytest.mark.long)])
def test_an_interrupted_scan_stays_spent_and_leaves_no_query(any_engine, how, tmp_path):
    number = Statistic("sum", column="x", lower=0, upper=10, pitch=1, missing="drop")
    plan = Plan("interrupted", None, "add/remove", (number,), 1.0, 1e-6, one_row_per_person=True)
    made = mechanism(plan)

    def progress(stage, share):
        if stage == "scanning the table" and running(
            any_engine
        ):  # not before: the query must be under way in the engine
            if how == "progress":
                raise KeyboardInterrupt
            os.kill(os.getpid(), signal.SIGINT)

    with Ledger(tmp_path / "ledger.db") as ledger:
        ledger.open_dataset("interrupted", epsilon=2.0, delta=1e-6)
        with pytest.raises(KeyboardInterrupt):
            release(
                plan,
                table=any_engine.sql(ENDLESS[any_engine.name]),
                ledger=ledger,
                prepared=made,
                progress=progress,
            )
        assert not running(any_engine)
        (entry,) = ledger.entries("interrupted")
        assert entry.result_hash is None
        assert ledger.check().ok
    assert any_engine.sql("SELECT 1 AS one").to_pyarrow().to_pylist() == [
        {"one": 1}
    ]  # and the connection still serves


def test_progress_rises_to_one(any_engine):
    arrow = tables.columns(tables.table(3))
    given = arrow if any_engine.name == "duckdb" else stored(any_engine, "progress", arrow)
    whole = tables.plan("ids")
    plan = replace(whole, statistics=whole.statistics[-2:])  # persons, and by group: two scans
    told = []
    release(plan, table=given, progress=lambda stage, share: told.append((stage, share)))
    scanned = [share for stage, share in told if stage == "scanning the table"]
    assert scanned == sorted(scanned)
    assert {b / len(blocks(plan)) for b in range(len(blocks(plan)) + 1)} <= set(scanned)


def test_progress_of_tasks_on_spark(spark):
    scan = spark.sql(
        "SELECT count(DISTINCT a.id % 1000 + b.id) AS x FROM range(3000) a CROSS JOIN range(3000) b"
    )
    told = []
    assert executed(scan, "pyspark", told.append).to_pylist() == [{"x": 3999}]
    assert all(0.0 <= share <= 1.0 for share in told)
    assert told == sorted(told)


@pytest.mark.parametrize("unit", ["rows", "two in a group"])
def test_the_same_numbers_of_distinct_values(engine, unit):
    pa = pytest.importorskip("pyarrow")
    rng, plan = random.Random(5), test_distinct.plan_of(**test_distinct.UNITS[unit])
    rows = [test_distinct.row(rng, rng.choice(["p", "P", "é", "~|", None])) for _ in range(60)]
    arrow = pa.Table.from_pylist(rows, schema=test_distinct.SCHEMA)
    assert integers(plan, stored(engine, "distinct", arrow)) == integers(plan, arrow)
