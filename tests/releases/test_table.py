"""The engine's integers are those of the slow form, for every source and every kind of dirt."""

import random

import pytest

ibis = pytest.importorskip("ibis")
pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")

from leastnoise.errors import EngineError, PlanError  # noqa: E402
from leastnoise.releases.data.counts import aggregate  # noqa: E402
from leastnoise.releases.data.opening import open_table  # noqa: E402
from leastnoise.releases.noise.sensitivity import blocks, is_checks  # noqa: E402
from leastnoise.releases.plan.plan import Plan  # noqa: E402
from leastnoise.releases.plan.source import CsvFile, DuckDBTable, Frame, ParquetFile  # noqa: E402
from leastnoise.releases.plan.statistic import Statistic  # noqa: E402
from releases import reference_release as reference  # noqa: E402
from releases import tables  # noqa: E402

CASES = [
    ("rows", {}),
    ("ids", {}),
    ("names", {}),
    ("ids", {"rows_per_group": 2}),
    ("names", {"rows_per_person": 1, "salt": "o'ther|"}),
]


def integers(plan, source):
    table = open_table(plan, source)
    try:
        return [aggregate(plan, table, block) for block in blocks(plan)]
    finally:
        table.close()


@pytest.mark.parametrize(("kind", "more"), CASES, ids=str)
def test_engine_agrees_with_the_slow_form(kind, more):
    plan = tables.plan(kind, **more)
    for seed in range(3):
        rows = tables.table(seed)
        assert integers(plan, tables.columns(rows)) == [
            reference.aggregate(plan, rows, block) for block in blocks(plan)
        ]


def test_order_of_rows_does_not_matter():
    plan, rows = tables.plan("ids"), tables.table(7)
    first = integers(plan, tables.columns(rows))
    random.Random(0).shuffle(rows)
    assert integers(plan, tables.columns(rows)) == first


def test_the_salt_chooses_other_rows():
    rows = tables.table(7)
    assert integers(tables.plan("ids"), tables.columns(rows)) != integers(
        tables.plan("ids", salt="two"), tables.columns(rows)
    )


def test_bounds_hold_for_one_person_with_many_rows():
    stats = (Statistic("count"), Statistic("count", name="by g", group_by={"g": list("abcdef")}))
    plan = Plan(
        "one",
        None,
        "add/remove",
        stats,
        1.0,
        1e-6,
        person="id",
        rows_per_person=7,
        groups_per_person=3,
        rows_per_group=2,
    )
    import pyarrow as pa

    table = pa.table({"id": [1] * 600, "g": list("abcdef") * 100})
    whole, grouped, left_out = integers(plan, table)
    assert (
        sum(left_out[()]) == 1
    )  # the one person, whose rows and groups are both too many, is counted once
    assert whole[()] == (7,)
    assert grouped.pop(("other",)) == (0,)
    assert sorted(count for (count,) in grouped.values()) == [0, 0, 0, 2, 2, 2]


@pytest.mark.parametrize("source", ["csv", "parquet", "duckdb", "pandas", "polars", "lazy", "ibis"])
def test_every_source_gives_the_same_integers(source, tmp_path):
    import duckdb
    import pandas
    import polars
    import pyarrow.csv
    import pyarrow.parquet

    rows = [row | {"text": "1.5"} for row in tables.table(3)]
    for row in rows:  # what CSV cannot say: infinities and NaN are text there, and missing
        row["x"] = row["x"] if row["x"] is not None and abs(row["x"]) < 1e200 else None
    plan, arrow = tables.plan("ids"), tables.columns(rows)
    expected = integers(plan, arrow)
    if source == "csv":
        pyarrow.csv.write_csv(arrow, tmp_path / "it's [a] table*.csv")
        given = CsvFile(str(tmp_path / "it's [a] table*.csv"))
    elif source == "parquet":
        pyarrow.parquet.write_table(arrow, tmp_path / "t.parquet")
        given = ParquetFile(str(tmp_path / "t.parquet"))
    elif source == "duckdb":
        with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
            connection.register("arrow_table", arrow)
            connection.execute('CREATE TABLE "my ""table" AS SELECT * FROM arrow_table')
        given = DuckDBTable(str(tmp_path / "t.duckdb"), 'my "table')
    else:
        frame = polars.from_arrow(arrow)
        pandas_frame = pandas.DataFrame(
            {name: arrow[name].to_pandas(integer_object_nulls=True) for name in arrow.column_names}
        )
        given = {
            "pandas": pandas_frame,
            "polars": frame,
            "lazy": frame.lazy(),
            "ibis": ibis.memtable(arrow),
        }[source]
    if isinstance(given, (CsvFile, ParquetFile, DuckDBTable)):
        plan = Plan(
            **{**{name: getattr(plan, name) for name in plan.__dataclass_fields__}, "source": given}
        )
        assert integers(plan, None) == expected
    else:
        assert integers(plan, given) == expected


def test_huge_integers_do_not_overflow():
    import pyarrow as pa

    wide = Statistic("variance", column="x", lower=0, upper=2**31 - 1, pitch=1, missing="drop")
    plan = Plan("wide", None, "add/remove", (wide,), 1.0, 1e-6, one_row_per_person=True)
    table = pa.table({"x": [2**62, -(2**62), 2**31 - 1] * 1000})
    found, checked = integers(plan, table)
    assert checked == {(): (0, 2000)}  # none is unreadable; those of 2^62 are clipped
    w = 2**31 - 1
    assert found[()] == (1000 * w, 3000 * w**2, 3000)
    with pytest.raises(
        PlanError, match="could overflow: declare a larger pitch or a smaller max_rows"
    ):
        blocks(
            Plan(
                "wide",
                None,
                "add/remove",
                (wide,),
                1.0,
                1e-6,
                one_row_per_person=True,
                max_rows=10**30,
            )
        )


def test_empty_tables_are_zero():
    plan = tables.plan("ids")
    for counts in integers(plan, tables.columns([])):
        assert all(set(answers) == {0} for answers in counts.values())


def test_columns_are_checked_by_name_and_type_only():
    import datetime

    import pyarrow as pa

    def plan(**more):
        return Plan(
            "t",
            None,
            "add/remove",
            (Statistic("count", **more),),
            1.0,
            1e-6,
            person="id",
            rows_per_person=1,
            groups_per_person=1,
        )

    with pytest.raises(PlanError, match="has no column 'id'; it has x"):
        open_table(plan(), pa.table({"x": [1]}))
    with pytest.raises(PlanError, match="are of type float64: they must be text"):
        open_table(plan(), pa.table({"id": [1.5]}))
    with pytest.raises(PlanError, match="of type date: they must be text, numbers or truth values"):
        open_table(
            plan(group_by={"x": ["2020-01-01"]}),
            pa.table({"id": [1], "x": [datetime.date(2020, 1, 1)]}),
        )
    with pytest.raises(PlanError, match="needs numbers"):
        open_table(
            plan(group_by={"x": {"edges": [1, 2]}}),
            pa.table({"id": [1], "x": [datetime.date(2020, 1, 1)]}),
        )
    with pytest.raises(PlanError, match="declares no source"):
        open_table(plan())


def test_engine_errors_are_withheld(tmp_path):
    (tmp_path / "t.csv").write_text("x\n1\n2,SECRET,3\n", encoding="utf-8")
    plan = Plan(
        "t",
        CsvFile(str(tmp_path / "t.csv")),
        "add/remove",
        (Statistic("count"),),
        1.0,
        1e-6,
        one_row_per_person=True,
    )
    with pytest.raises(EngineError) as caught:
        integers(plan, None)
    assert "SECRET" not in str(caught.value)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


def test_csv_without_header_needs_names(tmp_path):
    (tmp_path / "t.csv").write_text("1,1\n", encoding="utf-8")
    (tmp_path / "e.csv").write_text("", encoding="utf-8")
    for name in ("t.csv", "e.csv"):
        plan = Plan(
            "t",
            CsvFile(str(tmp_path / name)),
            "add/remove",
            (Statistic("count"),),
            1.0,
            1e-6,
            one_row_per_person=True,
        )
        with pytest.raises(PlanError, match="does not name its columns"):
            open_table(plan)
    named = Frame(None)
    assert named.describe() == {"frame": "builtins"}


def csv_plan(path):
    return Plan(
        "t",
        CsvFile(str(path)),
        "add/remove",
        (Statistic("count"),),
        1.0,
        1e-6,
        one_row_per_person=True,
    )


def test_csv_with_line_breaks_inside_quotes(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('x,note\n1,"two\nlines"\n2,one\n', encoding="utf-8", newline="")
    assert integers(csv_plan(path), None) == [{(): (2,)}]


@pytest.mark.parametrize(
    "row",
    [b"1\n", b"1,a,b\n", b'1,"never closed\n', b"1,\xff\n"],
    ids=["short", "long", "open", "not UTF-8"],
)
def test_a_broken_line_of_a_csv_file_is_an_error_that_says_what_to_look_for(tmp_path, row):
    path = tmp_path / "t.csv"
    path.write_bytes(b"x,note\n" + row + b"2,b\n3,c\n")
    grouped = Statistic("count", group_by={"note": ["b", "c"]})
    plan = Plan(
        "t", CsvFile(str(path)), "add/remove", (grouped,), 1.0, 1e-6, one_row_per_person=True
    )
    open_table(plan).close()  # the header is good, whatever follows it
    with pytest.raises(EngineError, match="A CSV file must be UTF-8"):
        integers(plan, None)


def test_a_header_that_is_not_utf_8_is_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"x,\xff\n1,2\n")
    with pytest.raises(PlanError, match="does not name its columns"):
        open_table(csv_plan(path))


# Ids and keys that some engine, or some reader, might take for each other, for nothing, or for SQL.
ALIKE = [
    "a",
    "A",
    "a ",
    " a",
    "",
    "é",
    "e\u0301",
    "~",
    "|",
    "~1",
    "a|",
    "null",
    "'; DROP TABLE t; --",
    None,
]


@pytest.mark.parametrize("seed", range(6))
def test_one_person_more_changes_nothing_about_the_others(seed):
    pa = pytest.importorskip("pyarrow")
    rng = random.Random(seed)
    rows = [
        {"id": rng.choice(ALIKE), "g": rng.choice(ALIKE), "x": float(rng.randrange(4))}
        for _ in range(150)
    ]
    by = {"g": [key for key in ALIKE if key is not None]}
    x = {"column": "x", "lower": 0, "upper": 3, "pitch": 1, "missing": "drop"}
    stats = (
        Statistic("sum", **x),
        Statistic("persons"),
        Statistic("mean", name="by g", group_by=by, **x),
        Statistic("persons", name="persons by g", group_by=by),
    )
    limits = {
        "rows_per_person": 4,
        "groups_per_person": 2,
        "rows_per_group": rng.choice([None, 1, 3]),
        "salt": rng.choice(ALIKE[:-1]),
    }
    plan = Plan("t", None, "add/remove", stats, 1.0, 1e-6, person="id", **limits)
    schema = pa.schema([("id", pa.string()), ("g", pa.string()), ("x", pa.float64())])

    def counted(some):
        return integers(plan, pa.Table.from_pylist(some, schema=schema))

    everyone = counted(rows)
    assert everyone == [reference.aggregate(plan, rows, block) for block in blocks(plan)]
    someone = rng.choice(ALIKE)
    alone, others = (
        counted([row for row in rows if (row["id"] == someone) is mine]) for mine in (True, False)
    )
    for block, one, rest in zip(everyone, alone, others, strict=True):
        for group, integer in block.items():
            assert integer == tuple(a + b for a, b in zip(one[group], rest[group], strict=True))


def test_a_collation_does_not_decide_which_group_is_counted(tmp_path):
    """Where case is ignored, the first row would name the group, and one person could empty it for
    all."""
    stats = (Statistic("count", group_by={"g": ["a", "é"]}),)
    for first in ("a", "A"):
        path = str(tmp_path / f"{first}.db")
        connected = ibis.duckdb.connect(path)
        connected.raw_sql("CREATE TABLE t (g VARCHAR COLLATE NOCASE)")
        connected.raw_sql(f"INSERT INTO t VALUES ('{first}'), ('a'), ('A'), ('a'), ('é')")
        connected.disconnect()
        plan = Plan(
            "t", DuckDBTable(path, "t"), "add/remove", stats, 1.0, 1e-6, one_row_per_person=True
        )
        capitals = 1 if first == "a" else 2
        assert integers(plan, None) == [
            {("a",): (4 - capitals,), ("é",): (1,), ("other",): (capitals,)}
        ]


@pytest.mark.parametrize("missing", ["drop", 1.0])
def test_a_missing_truth_value_is_missing(missing):
    """It counted as false: a mean of 0.2 for one true, one false and three unknown."""
    frame = pa.table({"f": pa.array([True, False, None, None, None])})
    share = Statistic("mean", column="f", lower=0.0, upper=1.0, pitch=1.0, missing=missing)
    plan = Plan("flags", None, "add/remove", (share,), 1.0, 1e-6, one_row_per_person=True)
    table = open_table(plan, frame)
    try:
        block = next(block for block in blocks(plan) if not is_checks(block))
        found = dict(
            zip(
                [answer.measure for answer in block.answers],
                aggregate(plan, table, block)[()],
                strict=True,
            )
        )
    finally:
        table.close()
    assert found == (
        {"present": 2, "centred": 0} if missing == "drop" else {"rows": 5, "centred": 3}
    )
