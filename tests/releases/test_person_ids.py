"""Who is the same person: ids are compared by their bytes on every engine, whatever collation or
type their column has.

Where equality is coarser than identity, two persons share one contribution window. Taking one away
then lets rows of the other in, and an answer moves by up to twice what is declared: with P1 at +100
and p1 at −100 a centred sum moves by 200 for a declared 100.
"""

import random
import uuid
from dataclasses import replace

import pytest

ibis = pytest.importorskip("ibis")
pytest.importorskip("duckdb")

from leastnoise.errors import PlanError  # noqa: E402
from leastnoise.releases.data.counts import aggregate  # noqa: E402
from leastnoise.releases.data.opening import open_table  # noqa: E402
from leastnoise.releases.noise.sensitivity import blocks  # noqa: E402
from leastnoise.releases.plan.plan import Plan  # noqa: E402
from leastnoise.releases.plan.source import DuckDBTable, ParquetFile  # noqa: E402
from leastnoise.releases.plan.statistic import Statistic  # noqa: E402
from releases import engines  # noqa: E402
from releases import reference_release as reference  # noqa: E402

VALUE = {"column": "x", "lower": -100, "upper": 100, "pitch": 1, "missing": "drop"}
KEYS = ["a", "A", "á", "b"]

# Ids that some collation takes for the same: case, accents, both; e + U+0301; blanks at the end.
LIKE_TEXT = [
    "P1",
    "p1",
    "ép",
    "ep",
    "Ép",
    "e\u0301p",
    "straße",
    "STRASSE",
    "Q1",
    "q1",
    "R",
    "r",
    "S1",
    "s1",
]
WITH_BLANKS = [*LIKE_TEXT, "P1 ", "p1  ", "", " "]


def plan(source=None):
    statistics = (
        Statistic("mean", **VALUE),
        Statistic("persons"),
        Statistic("persons", name="persons by g", group_by={"g": KEYS}),
        Statistic("sum", name="x by g", group_by={"g": KEYS}, **VALUE),
    )
    limits = {"person": "id", "rows_per_person": 1, "groups_per_person": 1}
    return Plan("ids", source, "add/remove", statistics, 1.0, 1e-6, **limits)


def rows_of(ids, seed=0):
    """Two rows of every person, at both ends of the range."""
    rng = random.Random(seed)
    rows = [
        {"id": one, "x": x, "g": rng.choice(KEYS)}
        for one in ids
        for x in rng.choices([-100, 100], k=2)
    ]
    rows += [{"id": None, "x": 100, "g": "a"}, {"id": None, "x": -100, "g": "b"}]
    rng.shuffle(rows)
    return rows


def integers(wanted, source=None):
    table = open_table(wanted, source)
    try:
        return [aggregate(wanted, table, block) for block in blocks(wanted)]
    finally:
        table.close()


def same_as_by_hand(wanted, rows, found):
    assert found == [reference.aggregate(wanted, rows, block) for block in blocks(wanted)]


def moves_by_no_more_than_declared(wanted, before, after):
    """One person less: every answer within its sensitivity, and no more groups than one person
    touches."""
    for block, one, other in zip(blocks(wanted), before, after, strict=True):
        assert max(reference.largest_changes(block, one, other)) <= 1.0


def neighbours_are_close(ids, counted):
    """`counted(rows)` is what the engine makes of the rows. All tables with one person less are
    tried."""
    wanted, rows = plan(), rows_of(ids)
    whole = counted(rows)
    same_as_by_hand(wanted, rows, whole)
    for person in ids:
        less = [row for row in rows if row["id"] != person]
        found = counted(less)
        same_as_by_hand(wanted, less, found)
        moves_by_no_more_than_declared(wanted, whole, found)


# DuckDB


def in_duckdb(connected, kind):
    """`counted` for a table of this connection whose ids are of this type."""

    def counted(rows):
        connected.raw_sql("DROP TABLE IF EXISTS t")
        connected.raw_sql(
            f"CREATE TABLE t (id {kind}, x DOUBLE, g "
            f"{kind if kind.startswith('VARCHAR') else 'VARCHAR'})"
        )
        connected.con.executemany(
            "INSERT INTO t VALUES (?, ?, ?)", [[row["id"], row["x"], row["g"]] for row in rows]
        )
        return integers(plan(), connected.table("t"))

    return counted


@pytest.mark.parametrize(
    "kind",
    [
        "VARCHAR COLLATE NOCASE.NOACCENT",
        "VARCHAR COLLATE NFC",
        *(
            pytest.param(kind, marks=pytest.mark.long)
            for kind in ("VARCHAR", "VARCHAR COLLATE NOCASE", "VARCHAR COLLATE NOACCENT")
        ),
    ],
)
def test_neighbours_under_a_collation_of_duckdb(kind):
    neighbours_are_close(WITH_BLANKS, in_duckdb(ibis.duckdb.connect(), kind))


def test_neighbours_under_the_default_collation_of_a_connection():
    connected = ibis.duckdb.connect()
    connected.raw_sql("SET default_collation = 'NOCASE.NOACCENT'")
    assert connected.raw_sql("SELECT 'P1' = 'p1'").fetchone() == (True,)
    neighbours_are_close(WITH_BLANKS, in_duckdb(connected, "VARCHAR"))


def test_neighbours_with_ids_of_an_enumeration():
    connected = ibis.duckdb.connect()
    connected.raw_sql(f"CREATE TYPE who AS ENUM ({', '.join(repr(one) for one in WITH_BLANKS)})")
    neighbours_are_close(WITH_BLANKS, in_duckdb(connected, "who"))


def test_neighbours_in_a_database_file_with_a_collation(tmp_path):
    path = tmp_path / "people.duckdb"
    wanted = plan(DuckDBTable(str(path), "t"))

    def counted(rows):
        path.unlink(missing_ok=True)
        connected = ibis.duckdb.connect(path)
        in_duckdb(connected, "VARCHAR COLLATE NOCASE")(rows)
        connected.disconnect()
        return integers(wanted)

    neighbours_are_close(["P1", "p1", "Q1", "q1"], counted)


def test_uuids_are_the_same_however_they_are_written():
    """A UUID is 128 bits: capitals are spelling. As text they are letters, and other letters are
    another person."""
    one = uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")
    connected = ibis.duckdb.connect()
    for kind, persons in (("UUID", 1), ("VARCHAR", 2)):
        connected.raw_sql(f"CREATE OR REPLACE TABLE t (id {kind}, x DOUBLE, g VARCHAR)")
        for text in (str(one), str(one).upper()):
            connected.con.execute("INSERT INTO t VALUES (?, 100, 'a')", [text])
        assert integers(plan(), connected.table("t"))[0][()][-1] == persons


def test_rows_without_an_id_belong_to_nobody():
    """Whatever they hold, they move nothing; an empty text is an id like any other."""
    counted = in_duckdb(ibis.duckdb.connect(), "VARCHAR")
    rows = rows_of(["P1", ""])
    none = [row for row in rows if row["id"] is not None]
    assert len(rows) == len(none) + 2
    assert counted(rows) == counted(none)
    assert counted(rows)[0][()][-1] == 2


def test_one_value_twice_in_a_dictionary_is_one_person():
    """Finer equality than that of the bytes would give one person two windows."""
    import pyarrow as pa

    ids = pa.DictionaryArray.from_arrays(pa.array([0, 1, 1, 2, None]), pa.array(["P1", "P1", None]))
    frame = pa.table({"id": ids, "x": [100, -100, 100, 5, 5], "g": ["a"] * 5})
    centred, present, persons = integers(plan(), frame)[0][()]
    assert (abs(centred), present, persons) == (
        200,
        1,
        1,
    )  # 200 half pitches are the sensitivity of one row


NO_IDS = [
    "DOUBLE",
    "FLOAT",
    "DECIMAL(8, 2)",
    "TIMESTAMPTZ",
    "TIMESTAMP",
    "DATE",
    "BLOB",
    "BOOLEAN",
    "JSON",
    "BIT",
    "VARCHAR[]",
]


@pytest.mark.parametrize("kind", NO_IDS)
def test_types_whose_equality_is_not_that_of_their_bytes_are_no_ids(kind):
    """0.0 equals −0.0, 1.0 equals 1.00, one instant has many zones; such ids are refused by name
    before a row is read."""
    connected = ibis.duckdb.connect()
    connected.raw_sql(f"CREATE TABLE t (id {kind}, x DOUBLE, g VARCHAR)")
    with pytest.raises(
        PlanError,
        match=r"The person ids in 'id' are of type [^\n]+: they must be text, integers or UUIDs",
    ):
        open_table(plan(), connected.table("t"))


# PostgreSQL and Spark


@pytest.fixture(scope="module")
def postgres():
    with engines.postgres() as connected:
        for statement in (
            "CREATE EXTENSION IF NOT EXISTS citext",
            "CREATE COLLATION no_case (provider = icu, locale = 'und-u-ks-level2', deterministic "
            "= false)",
            "CREATE COLLATION letters_only (provider = icu, locale = "
            "'und-u-ka-shifted-ks-level1', deterministic = false)",
            f"CREATE TYPE who AS ENUM ({', '.join(repr(one) for one in WITH_BLANKS)})",
        ):
            connected.raw_sql(statement)
        connected.con.commit()
        yield connected


@pytest.fixture(scope="module")
def spark():
    with engines.spark() as connected:
        yield connected


POSTGRES_TYPES = {
    "text": WITH_BLANKS,
    "citext": WITH_BLANKS,
    "text COLLATE no_case": WITH_BLANKS,
    "varchar(9) COLLATE letters_only": WITH_BLANKS,
    "char(9)": LIKE_TEXT,
    "char(9) COLLATE no_case": LIKE_TEXT,
    "name": WITH_BLANKS,
    "who": WITH_BLANKS,
}
# the others are left to `make long`: they are compared in the same way
IN_SHORT = ("citext", "char(9) COLLATE no_case", "who")


@pytest.mark.engines
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=[] if kind in IN_SHORT else [pytest.mark.long])
        for kind in POSTGRES_TYPES
    ],
)
def test_neighbours_on_postgres(postgres, kind):
    def counted(rows):
        postgres.raw_sql("DROP TABLE IF EXISTS people")
        postgres.raw_sql(
            f"CREATE TABLE people (id {kind}, x float8, g {'text' if kind == 'who' else kind})"
        )
        with postgres.con.cursor() as cursor:
            insert = (
                f"INSERT INTO people VALUES (CAST(%s AS {kind.partition(' COLLATE ')[0]}), %s, %s)"
            )
            cursor.executemany(insert, [(row["id"], row["x"], row["g"]) for row in rows])
        postgres.con.commit()
        return integers(plan(), postgres.table("people"))

    neighbours_are_close(POSTGRES_TYPES[kind], counted)


@pytest.mark.engines
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_blanks_at_the_end_are_no_part_of_a_char(postgres):
    """CHAR(n) fills every value up with blanks: 'P1' and 'P1 ' are the same bytes there, and one
    person."""
    postgres.raw_sql("DROP TABLE IF EXISTS people")
    postgres.raw_sql("CREATE TABLE people (id char(9), x float8, g char(9))")
    postgres.raw_sql(
        "INSERT INTO people VALUES ('P1', 100, 'a'), ('P1 ', 100, 'a'), ('p1', 100, 'a')"
    )
    postgres.con.commit()
    assert integers(plan(), postgres.table("people"))[0][()][-1] == 2


@pytest.mark.engines
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_numbers_written_as_text_under_a_collation(postgres):
    """PostgreSQL searches no text of a nondeterministic collation; 'tRUE' is no truth value on any
    engine."""
    postgres.raw_sql("DROP TABLE IF EXISTS people")
    postgres.raw_sql("CREATE TABLE people (id integer, x text COLLATE no_case, g text)")
    rows = [
        {"id": i, "x": x, "g": "a"} for i, x in enumerate(["1.5", "tRUE", "true", "?", None, "-30"])
    ]
    with postgres.con.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO people VALUES (%s, %s, %s)",
            [(row["id"], row["x"], row["g"]) for row in rows],
        )
    postgres.con.commit()
    same_as_by_hand(plan(), rows, integers(plan(), postgres.table("people")))


@pytest.mark.engines
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "kind",
    [
        "bpchar",
        "numeric",
        "float8",
        "timestamptz",
        "bytea",
        "jsonb",
        "inet",
        "macaddr",
        "bit(3)",
        "interval",
        "xml",
    ],
)
def test_types_that_are_no_ids_on_postgres(postgres, kind):
    postgres.raw_sql("DROP TABLE IF EXISTS people")
    postgres.raw_sql(f"CREATE TABLE people (id {kind}, x float8, g text)")
    postgres.con.commit()
    with pytest.raises(
        PlanError,
        match=r"The person ids in 'id' are of type [^\n]+: they must be text, integers or UUIDs",
    ):
        open_table(plan(), postgres.table("people"))


@pytest.mark.engines
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "collation",
    [
        "UNICODE_CI_AI",
        *(pytest.param(one, marks=pytest.mark.long) for one in ("UTF8_BINARY", "UTF8_LCASE")),
    ],
)
def test_neighbours_on_spark(spark, collation):
    session = spark._session

    def counted(rows):
        frame = session.createDataFrame(
            [(row["id"], row["x"], row["g"]) for row in rows], "id string, x int, g string"
        )
        frame.createOrReplaceTempView("raw_people")
        text = f"SELECT id COLLATE {collation} AS id, x, g COLLATE {collation} AS g FROM raw_people"
        session.sql(text).createOrReplaceTempView("people")
        return integers(plan(), spark.table("people"))

    neighbours_are_close(["P1", "p1", "ép", "ep", "P1 "], counted)


# Files and frames


def written(path, rows):
    """The rows in a Parquet file whose columns keep their names."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(arrow.Table.from_pylist(rows), path)


def test_a_folder_never_says_who_a_person_is_where_the_file_does(tmp_path):
    """DuckDB puts the value of a folder `id=…` in the place of the file's own ids: all rows one
    person, or one person many."""
    rows = rows_of(LIKE_TEXT)
    written(tmp_path / "id=all" / "x.parquet", rows)
    wanted = plan(ParquetFile(str(tmp_path / "*" / "x.parquet")))
    same_as_by_hand(wanted, rows, integers(wanted))
    for number, row in enumerate(rows):
        written(tmp_path / "many" / f"ID={number}" / "x.parquet", [{**row, "id": "p"}])
    wanted = plan(ParquetFile(str(tmp_path / "many" / "*" / "x.parquet")))
    same_as_by_hand(wanted, [{**row, "id": "p"} for row in rows], integers(wanted))


def test_folders_that_give_the_ids_give_them_as_text(tmp_path):
    """Read as numbers 01 and 1 would be one person."""
    rows = []
    for person in ("01", "1", "1.0", "2"):
        own = [{"x": x, "g": "a"} for x in (-100, 100)]
        written(tmp_path / f"id={person}" / "x.parquet", own)
        rows += [{**row, "id": person} for row in own]
    wanted = plan(ParquetFile(str(tmp_path / "*" / "x.parquet")))
    same_as_by_hand(wanted, rows, integers(wanted))


def test_columns_that_an_engine_would_rename_are_refused(tmp_path):
    """DuckDB reads `id, ID, ID_1` as `id, ID_1, ID_1_1`: the person of the plan would be another
    column."""
    rows = [
        {"id": "a", "ID": str(number), "ID_1": "p", "x": 100, "g": "a", "deep": {"id": 1, "Id": 2}}
        for number in range(4)
    ]
    wanted = replace(plan(), person="ID_1")
    with pytest.raises(PlanError, match="'id' and 'ID', which DuckDB takes for one"):
        integers(wanted, pytest.importorskip("pyarrow").Table.from_pylist(rows))
    written(tmp_path / "x.parquet", rows)
    with pytest.raises(PlanError, match="'id' and 'ID', which DuckDB takes for one"):
        integers(replace(wanted, source=ParquetFile(str(tmp_path / "x.parquet"))))
    # Names inside a column are its own affair.
    rows = [{name: value for name, value in row.items() if name != "ID"} for row in rows]
    written(tmp_path / "x.parquet", rows)
    wanted = replace(wanted, source=ParquetFile(str(tmp_path / "x.parquet")))
    same_as_by_hand(wanted, [{**row, "id": row["ID_1"]} for row in rows], integers(wanted))
