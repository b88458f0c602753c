"""Conditions and arithmetic over one row: what is read, what is refused, and that every engine
finds what the definitions say, whatever stands in the row."""

import datetime as dt
import math
import random
from dataclasses import replace

import pytest

pytest.importorskip("ibis")
pytest.importorskip("duckdb")

import ibis
import pyarrow

from leastnoise.errors import PlanError
from leastnoise.releases.data.formulas import compiled, holds
from leastnoise.releases.data.opening import open_table
from leastnoise.releases.data.scan import executed
from leastnoise.releases.plan.formula import (
    Call,
    Constant,
    Name,
    columns_of,
    condition,
    parsed,
    typed,
    written,
)
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.reading import Reading
from leastnoise.releases.plan.statistic import Statistic
from releases import engines, reference_formula

NUMBERS = [None, 0.0, -0.0, 1.0, 2.0, -3.5, 1e200, -1e200, 1e160, 5e-324, 1e-200, 7.0]
NUMBERS += [math.inf, -math.inf, math.nan, 1e150, 1e-150, 1.7976931348623157e308]
TEXTS = [
    None,
    "",
    " ",
    "A",
    "a",
    "B",
    "1",
    "1.0",
    "true",
    "FALSE",
    "tRUE",
    "é",
    "A ",
    "it's",
    "x\ny",
]
DAYS = [None, "2025-01-31", "2024-02-29", "2023-02-29", "1900-02-29", "2000-02-29", "2025-13-01"]
DAYS += ["2025-1-01", " 2025-01-31", "2025-01-31 ", "2025-01-31\n", "0001-01-01", "9999-12-31"]
DAYS += ["0000-01-01", "1970-01-01", "1969-12-31", "2025-00-10", "2025-04-31", "31.01.2025"]
GERMAN = [None, "31.01.2025", "29.02.2024", "29.02.2025", "2025-01-31", "1.1.2025", "31/01/2025"]
TIMES = [None, "2025-01-31 00:00:00", "2025-01-31 23:59:59", "2025-01-31 24:00:00", "2025-01-31"]
TIMES += ["1969-12-31 23:59:59", "2025-01-31 12:60:00"]
FORMATS = {"german": "DD.MM.YYYY", "seen": "YYYY-MM-DD hh:mm:ss"}
KINDS = {
    "x": "number",
    "y": "number",
    "german": "date",
    "seen": "time",
    "day": "date",
    "real_day": "date",
    "stamp": "time",
}

CONDITIONS = [
    "x = 1",
    "x != 1",
    "not x = 1",
    "x < y",
    "x <= y or y is missing",
    "x + y > 0",
    "x - y = 0",
    "x * y >= 1",
    "x / y < 1",
    "x / (y - y) = 1",
    "x * y * x * y > -1",
    "abs(x) between 1 and 7",
    "x not between y and 2",
    "min(x, y) = x and max(x, y, 2) > 2",
    "coalesce(x, y, 0) = 0",
    "case when x > 1 then x when y > 1 then y else 0 end > 1",
    "case when x > 1 then x end is missing",
    "x in (1, 2, -3.5)",
    "x not in (1, 2)",
    "x is missing and y is not missing",
    "x = 1 and y = 2 or not (x = 1 or y = 2)",
    "word = 'A'",
    "word != 'A'",
    "word in ('A', 'B', 'it''s')",
    "word is missing",
    "word = 'true'",
    "truth",
    "not truth",
    "truth = true or truth is missing",
    "case when truth then 'A' else 'B' end = 'A'",
    "amount >= 1",
    "amount is missing",
    "day >= 2024-02-29",
    "day between 2000-02-29 and 2025-01-31",
    "day is missing",
    "day in (2025-01-31, 1970-01-01)",
    "german = 2025-01-31",
    "german < day",
    "day - german > 0",
    "seen < 2025-01-31 12:00:00",
    "seen = 2025-01-31",
    "year(day) = 2025 and month(day) = 1",
    "quarter(day) in (1, 4)",
    "weekday(day) = 5",
    "year(day) < 1970",
    "real_day >= 2024-02-29 or real_day is missing",
    "stamp >= 2025-01-31 12:00:00",
    "stamp = 2025-01-31",
    "`odd name` > 1",
    "flag = true",
]


def rows(count=240, seed=5):
    rng = random.Random(seed)
    days = [None, dt.date(2025, 1, 31), dt.date(2024, 2, 29), dt.date(1969, 12, 31)]
    stamps = [None, dt.datetime(2025, 1, 31, 12, 0, 0), dt.datetime(2025, 1, 31, 11, 59, 59)]
    return [
        {
            "x": rng.choice(NUMBERS),
            "y": rng.choice(NUMBERS),
            "word": rng.choice(TEXTS),
            "truth": rng.choice([None, "true", "False", "1", "0", "yes", ""]),
            "amount": rng.choice(TEXTS),
            "day": rng.choice(DAYS),
            "german": rng.choice(GERMAN),
            "seen": rng.choice(TIMES),
            "real_day": rng.choice(days),
            "stamp": rng.choice(stamps),
            "odd name": rng.choice(NUMBERS),
            "flag": rng.choice([None, True, False]),
        }
        for _ in range(count)
    ]


SCHEMA = pyarrow.schema(
    [
        ("x", pyarrow.float64()),
        ("y", pyarrow.float64()),
        *(
            (name, pyarrow.string())
            for name in ("word", "truth", "amount", "day", "german", "seen")
        ),
        ("real_day", pyarrow.date32()),
        ("stamp", pyarrow.timestamp("us")),
        ("odd name", pyarrow.float64()),
        ("flag", pyarrow.bool_()),
    ]
)


def plan_of(*wheres, **more):
    columns = tuple(Reading(name, kind, FORMATS.get(name, "")) for name, kind in KINDS.items())
    asked = tuple(Statistic("count", f"s{i}", where=where) for i, where in enumerate(wheres))
    given = {"one_row_per_person": True, "columns": columns, **more}
    return Plan("f", None, "add/remove", asked, 1.0, 1e-6, **given)


def found_in(table):
    """Which rows each condition holds for, in the engine."""
    plan = plan_of(*CONDITIONS)
    opened = open_table(plan, table)
    try:
        asked = {
            f"c{i}": holds(ibis, plan, opened, statistic.condition)
            for i, statistic in enumerate(plan.statistics)
        }
        counted = opened.expression.select(**asked)
        told = counted.aggregate(**{name: counted[name].sum() for name in asked})
        (row,) = executed(told, opened.engine, None).to_pylist()
    finally:
        opened.close()
    return [int(row[f"c{i}"]) for i in range(len(CONDITIONS))]


def expected():
    plan = plan_of(*CONDITIONS)
    known = [condition(s.condition, plan.kinds, "where") for s in plan.statistics]
    return [
        sum(reference_formula.value(one, row, FORMATS) is True for row in rows()) for one in known
    ]


def test_duckdb_finds_what_the_definitions_say():
    table = pyarrow.Table.from_pylist(rows(), schema=SCHEMA)
    wanted = expected()
    assert dict(zip(CONDITIONS, found_in(table), strict=True)) == dict(
        zip(CONDITIONS, wanted, strict=True)
    )
    # Every condition can be told from "always" and from "never" by this table.
    telling = zip(wanted, CONDITIONS, strict=True)
    assert all(0 < one < len(rows()) for one, text in telling if "y - y" not in text)


@pytest.mark.engines
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_postgres_finds_what_the_definitions_say():
    with engines.postgres() as connected:
        table = connected.create_table("f", pyarrow.Table.from_pylist(rows(), schema=SCHEMA))
        assert dict(zip(CONDITIONS, found_in(table), strict=True)) == dict(
            zip(CONDITIONS, expected(), strict=True)
        )


@pytest.mark.engines
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_spark_finds_what_the_definitions_say():
    names = {"double": "double", "string": "string", "bool": "boolean", "date32[day]": "date"}
    schema = ", ".join(
        f"`{one.name}` {names.get(str(one.type), 'timestamp_ntz')}" for one in SCHEMA
    )
    with engines.spark() as connected:
        # To compile fifty conditions takes Spark a minute, to interpret them none.
        connected._session.conf.set("spark.sql.codegen.wholeStage", "false")
        frame = connected._session.createDataFrame([tuple(row.values()) for row in rows()], schema)
        assert dict(zip(CONDITIONS, found_in(frame), strict=True)) == dict(
            zip(CONDITIONS, expected(), strict=True)
        )


def test_derived_numbers_are_those_of_the_definitions():
    table = pyarrow.Table.from_pylist(rows(), schema=SCHEMA)
    texts = ["x / y", "x * y - y", "abs(x) + coalesce(y, 1)", "min(x, y)", "day - german"]
    plan = plan_of("x = 1")
    opened = open_table(plan, table)
    try:
        trees = [typed(parsed(text, "t"), plan.kinds, "t")[0] for text in texts]
        asked = {f"c{i}": compiled(ibis, opened, tree) for i, tree in enumerate(trees)}
        found = executed(opened.expression.select(**asked), opened.engine, None).to_pylist()
    finally:
        opened.close()
    wanted = [
        {f"c{i}": reference_formula.value(tree, row, FORMATS) for i, tree in enumerate(trees)}
        for row in rows()
    ]
    assert found == wanted
    assert sum(row["c0"] is not None for row in found) > 30


# The language


def random_formula(rng, kind, depth):
    if depth == 0:
        leaves = {
            "truth": [Constant(True), Name("t")],
            "number": [Constant(2.5), Constant(-1.0), Name("a"), Name("odd `name`"), Name("in")],
            "date": [Constant(dt.date(2025, 1, 31)), Name("d")],
            "text": [Constant("it's"), Name("w")],
        }
        return rng.choice(leaves[kind])

    def part(kind):
        return random_formula(rng, kind, depth - 1)

    if kind == "number":
        name = rng.choice(["+", "-", "*", "/", "min", "abs", "case", "year"])
        if name == "case":
            return Call("case", (part("truth"), part("number"), part("number")))
        if name in ("abs", "year"):
            return Call(name, (part("number" if name == "abs" else "date"),))
        return Call(name, (part("number"), part("number")))
    if kind == "truth":
        name = rng.choice(["and", "or", "not", "=", "<", "in", "between", "missing"])
        if name == "in":
            return Call("in", (part("text"), Constant("x"), Constant("y")))
        if name == "between":
            return Call("between", tuple(part("number") for _ in range(3)))
        if name == "missing":
            return Call("missing", (part("number"),))
        of = "truth" if name in ("and", "or", "not") else "number"
        return Call(name, tuple(part(of) for _ in range(1 if name == "not" else 2)))
    return random_formula(rng, kind, 0)


def test_what_is_written_is_read_back():
    rng = random.Random(3)
    for _ in range(600):
        tree = random_formula(rng, "truth", rng.randrange(1, 5))
        assert parsed(written(tree), "t") == tree


@pytest.mark.parametrize(
    ("spelt", "plain"),
    [
        ("AGE>=18 AND ward IN ['A',\"B\"]", "AGE >= 18 and ward in ('A', 'B')"),
        ("not(a=1)or b≠2", "not a = 1 or b != 2"),
        ("a−b×c÷d ≤ 1e3", "a - b * c / d <= 1000"),
        ("(a - b) - c = a - (b - c)", "a - b - c = a - (b - c)"),
        ("a == 1 and (b <> 2 or c)", "a = 1 and (b != 2 or c)"),
        ("d >= 2025-01-31 14:30", "d >= 2025-01-31 14:30:00"),
        ("a is not missing", "not a is missing"),
        ("-a < -1", "0 - a < -1"),
    ],
)
def test_spellings(spelt, plain):
    assert written(parsed(spelt, "where")) == plain


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "needs a formula"),
        ("age >=", "a column or a value was expected, not the end"),
        ("age >= 18 ward", "and, or, or the end was expected, not 'ward'"),
        ("age; drop table x", "';"),
        ("(age > 1", "')' was expected"),
        ("select(age)", "no function 'select'"),
        ("abs(a, b) > 1", "abs is of one value"),
        ("min(a) > 1", "two values or more"),
        ("d = 2025-02-30", "there is no day 2025-02-30"),
        ("a in (b, 1)", "a list of values"),
        ("a in 1", "a list such as"),
        ("a not 1", "'in' or 'between' was expected"),
        ("case a then 1 end = 1", "'when' was expected"),
        ("a > 1e200", "numbers are at most"),
        ("a = 'open", "'open"),
        ("(" * 60 + "a" + ")" * 60, "levels"),
        ("not " * 60 + "a", "levels"),
        ("a = " + "-" * 60 + "1", "levels"),
        ("a" * 5000, "signs"),
        (7, "needs a formula"),
    ],
)
def test_what_cannot_be_read_is_told(text, said):
    with pytest.raises(PlanError) as told:
        parsed(text, "where")
    assert said in str(told.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = b", 'declare it, [columns] a = "number"'),
        ("a = 1 and a = 'x' or a + 'y' = 1", "is a text where a number is needed"),
        ("a > 'x'", "only numbers and days have an order"),
        ("a = 1 or (a = 2) > 1", "compares a"),
        ("1 = 'x'", "compares a number with a text"),
        ("a + 1", "is a number where a truth is needed"),
        ("d = 2025-01-01 10:00", "leave the hour out"),
        ("d + 1 = 2", "declared as date and used as number"),
        ("case when a then 1 else 'x' end = 1", "is a text where a number is needed"),
        ("coalesce(p, q) = r", "declare it"),
    ],
)
def test_kinds_that_differ_are_refused(text, said):
    with pytest.raises(PlanError) as told:
        condition(parsed(text, "where"), {"d": "date"}, "where")
    assert said in str(told.value)


def test_columns_of_a_formula():
    assert columns_of(parsed("a > b and (a = 1 or c in (1, 2))", "t")) == ("a", "b", "c")
    assert Constant(1.0) != Constant(True)
    assert replace(Name("a"), kind="text") != Name("a")
