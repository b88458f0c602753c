"""First plans: what is written is read again as it was meant; names of columns without a row."""

import tomllib

import pytest

from leastnoise.errors import InvalidParameterError, PlanError
from leastnoise.releases.data.schema import delimited, kinds_of
from leastnoise.releases.plan.draft import Draft, MeasuredColumn
from leastnoise.releases.plan.file import plan_from
from leastnoise.releases.plan.source import Connection, CsvFile, DuckDBTable, ParquetFile

ODD = 'ward "1" = ä\\b'
SOURCES = [
    CsvFile("visits.csv"),
    CsvFile("a folder\\visits.csv", ("a", ODD), "\t"),
    ParquetFile("visits/*.parquet"),
    DuckDBTable("visits.duckdb", ODD),
    Connection("env:VISITS", "public.visits"),
]


@pytest.mark.parametrize("source", SOURCES, ids=lambda one: type(one).__name__)
def test_a_draft_is_read_as_it_was_meant(source):
    keys = ("north", ODD, 1, 2.5, True)
    bounded = (MeasuredColumn("mean", ODD, -0.5, 1234567.0), MeasuredColumn("sum", "z", 0.0, 1e16))
    draft = Draft("visits", source, "id", 4, 2, groups=[(ODD, keys)], measured=bounded)
    plan = plan_from(tomllib.loads(draft.as_toml()))
    assert plan.source == source
    assert (plan.name, plan.dataset, plan.person, plan.epsilon) == ("visits", "visits", "id", 1.0)
    assert (plan.rows_per_person, plan.groups_per_person) == (4, 2)
    persons, count, mean, total = plan.statistics
    assert (persons.kind, count.kind) == ("persons", "count")
    (key,) = count.group_by
    assert (key.column, key.values) == (ODD, keys)
    assert [type(value) for value in key.values] == [str, str, int, float, bool]
    assert (mean.column, mean.lower, mean.upper, mean.pitch) == (ODD, -0.5, 1234567, 1000)
    assert (total.upper, total.missing) == (1e16, "drop")


def test_a_draft_of_rows_that_are_persons():
    source, mean = CsvFile("t.csv"), MeasuredColumn("mean", "x", 0.0, 0.5)
    rows = plan_from(tomllib.loads(Draft("r", source, None, measured=[mean]).as_toml()))
    assert rows.one_row_per_person
    assert [one.kind for one in rows.statistics] == ["count", "mean"]
    assert rows.statistics[1].pitch == 0.0001
    text = Draft("r", source, None, relation="replace", measured=[mean]).as_toml()
    assert [one.kind for one in plan_from(tomllib.loads(text)).statistics] == ["mean"]
    assert plan_from(tomllib.loads(text.replace("# public_n", "public_n"))).statistics[0].public_n
    alone = Draft("r", source, "id", 3).as_toml()
    assert "groups_per_person" not in alone


def test_what_is_no_text_or_no_bounds_is_refused():
    for name in ("", "two\nlines", "\udcff"):
        with pytest.raises(InvalidParameterError):
            Draft(name, CsvFile("t.csv"), None)
    with pytest.raises(InvalidParameterError, match="group_by"):
        Draft("t", CsvFile("t.csv"), None, groups=[("x", ["a\x1b"])])
    for bounds in ((1.0, 1.0), (2.0, 1.0)):
        with pytest.raises(InvalidParameterError, match="to be below upper=1"):
            MeasuredColumn("mean", "x", *bounds)


def test_columns_are_known_without_a_row(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("ibis")
    file, table = tmp_path / "t.duckdb", tmp_path / "t.parquet"
    with duckdb.connect(str(file)) as made:
        columns = "'x' as a, 1.5 as b, true as c, date '2025-01-01' as d, [1] as e"
        made.execute(f"create table t as select {columns}")
        made.execute(f"copy t to '{table}'")
    expected = {"a": "text", "b": "number", "c": "truth", "d": "day", "e": "other"}
    assert kinds_of(DuckDBTable(str(file), "t")) == expected
    assert kinds_of(ParquetFile(str(table))) == expected
    assert kinds_of(CsvFile("not there.csv", ("x", "y"))) == {"x": "text", "y": "text"}


def test_the_first_line_of_a_file(tmp_path):
    pytest.importorskip("duckdb")
    file = tmp_path / "t.csv"
    for sign in ",;|\t":
        file.write_text(sign.join(['"a, b; c"', "day", "x"]) + "\n1\n", encoding="utf-8")
        source = delimited(CsvFile(str(file)))
        assert source.delimiter == sign
        assert list(kinds_of(source)) == ["a, b; c", "day", "x"]
    assert delimited(CsvFile(str(file), ("a", "b", "c"))).delimiter == "\t"
    with pytest.raises(PlanError, match="3 fields, and 2 columns"):
        delimited(CsvFile(str(file), ("a", "b")))
    for line in ("63,male", "a,2025-01-01", "a,", "a,a", "a,1.5"):
        file.write_text(line + "\n", encoding="utf-8")
        with pytest.raises(PlanError, match="may be a row") as refused:
            kinds_of(CsvFile(str(file)))
        assert "63" not in str(refused.value)
    with pytest.raises(PlanError):
        delimited(CsvFile(str(tmp_path / "nothing.csv")))
