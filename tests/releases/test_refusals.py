"""What a plan, a source or a table may not be, each with the sentence that says so."""

import pytest

pytest.importorskip("ibis")
pytest.importorskip("duckdb")

from leastnoise.errors import InvalidParameterError, PlanError, UnsupportedError
from leastnoise.releases.data import scan
from leastnoise.releases.data.opening import open_table
from leastnoise.releases.plan.file import plan_from
from leastnoise.releases.plan.keys import Key
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.source import Connection, CsvFile, DuckDBTable, Frame, ParquetFile
from leastnoise.releases.plan.statistic import Statistic
from leastnoise.releases.release import release
from leastnoise.text.numbers import above

COUNT = (Statistic("count"),)
ALONE = {"one_row_per_person": True}


def plan(statistics=COUNT, source=None, **changes):
    return Plan("refused", source, "add/remove", statistics, 1.0, 1e-6, **{**ALONE, **changes})


@pytest.mark.parametrize(
    ("statistic", "said"),
    [
        ({"kind": "count", "name": "n" * 10_000}, "name"),
        (
            {"kind": "count", "group_by": (Key("g", ("a",)), Key("g", ("b",)))},
            "to name each column once",
        ),
        (
            {"kind": "count", "group_by": {c: [str(k) for k in range(1000)] for c in "abc"}},
            "declare fewer keys",
        ),
        ({"kind": "count", "group_by": {"g": {"borders": [1, 2]}}}, "a list of keys"),
        (
            {
                "kind": "variance",
                "column": "x",
                "lower": 0,
                "upper": 1,
                "pitch": 1e-12,
                "missing": "drop",
            },
            "would not fit 64-bit",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_statistics(statistic, said):
    with pytest.raises((PlanError, InvalidParameterError), match=said):
        Statistic(**statistic)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"one_row_per_person": "yes"}, "to be true or false"),
        ({"rows_per_person": 3}, "One row is one person, so rows_per_person is 1"),
        ({"groups_per_person": 3}, "One row is one person, so groups_per_person is 1"),
        ({"statistics": (Statistic("persons"),)}, 'ask for kind = "count"'),
    ],
    ids=str,
)
def test_units(changes, said):
    with pytest.raises((PlanError, InvalidParameterError), match=said):
        plan(**changes)


@pytest.mark.parametrize(("key", "value"), [("postprocess", "totals"), ("about", ["a person"])])
def test_fields_of_a_file_that_are_no_list_or_table(key, value):
    given = {
        "name": "n",
        "epsilon": 1.0,
        "delta": 1e-6,
        "relation": "add/remove",
        "statistic": [{"kind": "count"}],
        **ALONE,
    }
    with pytest.raises(PlanError, match="postprocess is a list of words"):
        plan_from({**given, key: value})


def test_sources_and_how_they_are_described(tmp_path):
    for delimiter in (
        "",
        ";;",
        "\n",
        7,
        "h",
        "H",
        "1",
        " ",
        ".",
        ":",
        "é",
        '"',
        None,
        [","],
    ):  # a letter asks who has it
        with pytest.raises(InvalidParameterError, match=r"source\.delimiter"):
            CsvFile("a.csv", delimiter=delimiter)
    for columns in ([], "x", [1]):
        with pytest.raises((InvalidParameterError, PlanError)):
            CsvFile("a.csv", columns=columns)
    assert ParquetFile("a.parquet").describe() == {"parquet": "a.parquet"}
    assert DuckDBTable("a.db", "visits").describe() == {"duckdb": "a.db", "table": "visits"}
    frame = object()
    assert isinstance(plan(source=frame).source, Frame)
    assert plan(source=frame).source.frame is frame


def test_tables_that_are_not_there(tmp_path, monkeypatch):
    import duckdb

    monkeypatch.delenv("LEASTNOISE_NO_SUCH_URL", raising=False)
    with pytest.raises(PlanError, match="The environment has no 'LEASTNOISE_NO_SUCH_URL'"):
        open_table(plan(source=Connection("env:LEASTNOISE_NO_SUCH_URL", "visits")))
    duckdb.connect(str(tmp_path / "a.db")).close()
    with pytest.raises(PlanError, match="no table or view 'visits'"):
        open_table(plan(source=DuckDBTable(str(tmp_path / "a.db"), "visits")))
    monkeypatch.setenv("LEASTNOISE_URL", f"duckdb://{tmp_path / 'a.db'}")
    with pytest.raises(PlanError, match="no table or view 'visits'"):
        open_table(plan(source=Connection("env:LEASTNOISE_URL", "visits")))
    for missing in (
        ParquetFile(str(tmp_path / "none.parquet")),
        DuckDBTable(str(tmp_path / "none.db"), "t"),
    ):
        with pytest.raises(PlanError, match="There is no file"):
            open_table(plan(source=missing))
    with pytest.raises(UnsupportedError, match="A set is no table"):
        open_table(plan(), {1, 2})


def test_parquet_files_by_a_pattern(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    for k in range(2):
        parquet.write_table(arrow.table({"x": [1, 2, 3]}), tmp_path / f"part{k}.parquet")
    with_two = open_table(plan(source=ParquetFile(str(tmp_path / "part*.parquet"))))
    try:
        assert with_two.expression.count().to_pyarrow().as_py() == 6
    finally:
        with_two.close()


def test_engines_without_progress_are_served_without_it(monkeypatch):
    arrow = pytest.importorskip("pyarrow")
    monkeypatch.setattr(scan, "_handle", lambda engine, backend: scan._Handle())
    told = []
    done = release(
        plan(),
        table=arrow.table({"x": [1, 2, 3]}),
        progress=lambda stage, share: told.append((stage, share)),
    )
    assert abs(done.value("count") - 3.0) < 1000.0
    assert ("scanning the table", 1.0) in told
    assert (
        repr(done)
        == f"Release('refused', 1 numbers, epsilon={above(done.epsilon, 6)}, delta=1e-06, duckdb)"
    )
