"""Statistics of some of the rows: what is counted, and that no person moves it by more than is
said."""

import datetime as dt
import random
from dataclasses import replace

import pytest

pytest.importorskip("ibis")
pytest.importorskip("duckdb")

import pyarrow

from leastnoise import load_plan, release
from leastnoise.errors import InvalidParameterError, PlanError
from leastnoise.releases.data.counts import aggregate
from leastnoise.releases.data.opening import open_table
from leastnoise.releases.noise.mechanism import mechanism
from leastnoise.releases.noise.sensitivity import blocks, is_checks
from leastnoise.releases.plan.keys import Key
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.reading import Reading
from leastnoise.releases.plan.statistic import Statistic
from leastnoise.sampling import InsecureSeededEntropy

MONTHS = {"by": "month", "from": dt.date(2025, 1, 1), "to": dt.date(2025, 3, 31)}
AGE = {"column": "age", "lower": 20, "upper": 90, "pitch": 1, "missing": "drop"}
STATISTICS = (
    Statistic("count"),
    Statistic("count", where="age >= 65"),
    Statistic("count", where="ward = 'A' and not age < 18", name="grown up in A"),
    Statistic("sum", **AGE, where="ward in ('A', 'B')"),
    Statistic("mean", **AGE, where="admitted >= 2025-02-01"),
    Statistic("count", group_by={"admitted": MONTHS}),
    Statistic("count", group_by={"ward": ["A", "B"]}, where="age is not missing", name="known"),
    Statistic("sum", column="months", lower=0, upper=12, pitch=0.5, missing=0.0),
)
SCHEMA = pyarrow.schema(
    [
        ("id", pyarrow.string()),
        ("age", pyarrow.string()),
        ("ward", pyarrow.string()),
        ("admitted", pyarrow.date32()),
    ]
)
UNITS = {
    "rows": {"one_row_per_person": True},
    "replaced rows": {"one_row_per_person": True, "relation": "replace"},
    "persons": {"person": "id", "rows_per_person": 3, "groups_per_person": 2},
    "replaced persons": {
        "person": "id",
        "rows_per_person": 2,
        "groups_per_person": 1,
        "relation": "replace",
    },
}


def plan_of(statistics=STATISTICS, **more):
    given = {"relation": "add/remove", "derive": {"months": "age / 12"}, **more}
    return Plan("f", None, statistics=statistics, epsilon=1.0, delta=1e-6, **given)


def row(rng, person):
    day = dt.date(2024, 12, 20) + dt.timedelta(days=rng.randrange(120))
    return {
        "id": person,
        "age": rng.choice(["17", "18", "64", "65", "90", "200", "x", None]),
        "ward": rng.choice(["A", "B", "C", None]),
        "admitted": rng.choice([day, day, None]),
    }


def integers(plan, rows):
    return integers_of(plan, pyarrow.Table.from_pylist(rows, schema=SCHEMA))


def integers_of(plan, table):
    opened = open_table(plan, table)
    try:
        return [aggregate(plan, opened, block) for block in blocks(plan)]
    finally:
        opened.close()


def pair(rng, unit):
    """Neighbouring tables, of which the second has the other rows."""
    ids = ["p1", "p2", "P1", "p3"]
    rows = [row(rng, rng.choice(ids)) for _ in range(rng.randrange(14))]
    if "rows" in unit:
        changed = [*rows, row(rng, "new")]
        return (changed, [*rows, row(rng, "new")]) if "replaced" in unit else (rows, changed)
    others = [one for one in rows if one["id"] != "p1"]
    own = [row(rng, "p1") for _ in range(rng.randrange(1, 7))]
    if "replaced" in unit:
        return [*others, *own], [*others, *(row(rng, "p1") for _ in range(rng.randrange(7)))]
    return others, [*others, *own]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(
    "where", [pytest.param("", marks=pytest.mark.long), "age >= 18 or age is missing"]
)
@pytest.mark.parametrize("pairs", [3, pytest.param(40, marks=pytest.mark.long)])
def test_no_person_moves_an_answer_by_more_than_its_sensitivity(unit, where, pairs):
    asked = STATISTICS[1:] if unit == "replaced rows" and not where else STATISTICS
    plan = plan_of(asked, where=where, **UNITS[unit])
    made, rng = blocks(plan), random.Random(f"{unit}{where}")
    largest = dict.fromkeys(range(len(made)), 0)
    for _ in range(pairs):
        before, after = (integers(plan, rows) for rows in pair(rng, unit))
        for b, (block, one, other) in enumerate(zip(made, before, after, strict=True)):
            changes = {
                cell: [y - x for x, y in zip(one[cell], other[cell], strict=True)]
                for cell in block.cells
            }
            _check_changes(block, changes)
            largest[b] = max(largest[b], *(abs(x) for each in changes.values() for x in each))
    # The tables were such that the views moved at all.
    assert sum(map(bool, largest.values())) > len(made) / 2


def _check_changes(block, changes):
    moved = [cell for cell, each in changes.items() if any(each)]
    assert len(moved) <= block.touched if not is_checks(block) else True
    for g, cell in enumerate(block.cells):
        bounds = block.sensitivities
        if block.other is not None and g == len(block.groups):
            bounds = (block.other_sensitivity,)
        for change, bound in zip(changes[cell], bounds, strict=True):
            assert abs(change) <= bound, (block, cell)
    if is_checks(block):
        assert sum(abs(x) for each in changes.values() for x in each) <= block.touched
    for i, (low, high) in enumerate(block.ranges[: len(block.answers)]):
        for cell in block.cells[: len(block.groups)]:
            assert low <= changes[cell][i] / block.sensitivities[i] <= high


def test_a_row_that_may_not_count_may_add_nothing():
    """A sum of values in [80, 200] moves by at least 80 where everybody has a row that counts; with
    a condition it may move by nothing. So may a number of rows when a person is replaced."""
    wide = {"column": "age", "lower": 80, "upper": 200, "pitch": 1, "missing": 100}
    of_all = plan_of((Statistic("sum", **wide),), one_row_per_person=True, relation="replace")
    of_some = plan_of(
        (Statistic("sum", **wide, where="ward = 'A'"),), one_row_per_person=True, relation="replace"
    )
    filtered = plan_of(
        (Statistic("sum", **wide),), one_row_per_person=True, relation="replace", where="ward = 'A'"
    )
    assert blocks(of_all)[0].sensitivities == (120,)
    assert blocks(of_some)[0].sensitivities == (200,)
    assert blocks(filtered)[0].sensitivities == (200,)
    counted = (Statistic("count"),)
    with pytest.raises(PlanError, match="public"):
        blocks(plan_of(counted, one_row_per_person=True, relation="replace"))
    some = plan_of(counted, one_row_per_person=True, relation="replace", where="ward = 'A'")
    assert blocks(some)[0].sensitivities == (1,)


def test_several_counts_with_filters_are_one_joint_batch():
    asked = tuple(Statistic("count", where=f"age >= {10 * k}") for k in range(1, 9))
    made = mechanism(plan_of(asked, one_row_per_person=True))
    joint = [draw for draw in made.draws if len(draw.entries) == 8]
    assert len(joint) == 1


def test_the_released_numbers_are_those_of_the_rows_that_have_the_condition():
    rng = random.Random(8)
    rows = [row(rng, f"p{i}") for i in range(4000)]
    plan = replace(plan_of(one_row_per_person=True), epsilon=40.0)
    table = pyarrow.Table.from_pylist(rows, schema=SCHEMA)
    done = release(plan, table=table, entropy=InsecureSeededEntropy(1), not_private=True)
    found = {(one.statistic, one.group): one.number for one in done.rows}

    def age(one):
        return float(one["age"]) if one["age"] not in (None, "x") else None

    wanted = {
        ("count", ""): len(rows),
        ("count where age >= 65", ""): sum((age(one) or 0) >= 65 for one in rows),
        ("grown up in A", ""): sum(one["ward"] == "A" and (age(one) or 0) >= 18 for one in rows),
        ("known", "ward = A"): sum(
            one["ward"] == "A" and one["age"] is not None for one in rows
        ),  # text is there, number or not
        ("count by admitted", "admitted = 2025-02"): sum(
            one["admitted"] is not None and one["admitted"].strftime("%Y-%m") == "2025-02"
            for one in rows
        ),
        ("sum of age where ward in ('A', 'B')", ""): sum(
            min(max(age(one), 20), 90)
            for one in rows
            if one["ward"] in ("A", "B") and age(one) is not None
        ),
        ("sum of months", ""): sum(min((age(one) or 0) / 12, 12) for one in rows),
    }
    for name, number in wanted.items():
        assert found[name] == pytest.approx(number, rel=0.02), name


def test_a_bound_is_on_the_rows_that_the_filter_keeps():
    """Of a person with nine rows of which two have the condition both count, whatever else there
    is."""
    rows = [
        {"id": "p", "age": "70" if i < 2 else "20", "ward": "A", "admitted": None} for i in range(9)
    ]
    asked = (Statistic("count", where="age = 70"), Statistic("persons", where="age = 70"))
    plan = plan_of(asked, person="id", rows_per_person=2, derive={})
    assert integers(plan, rows)[0] == {(): (2, 1)}


# Days


def test_periods_have_names_and_edges():
    span = (dt.date(2024, 12, 30), dt.date(2025, 2, 1))
    named = {by: Key("d", by=by, span=span).labels for by in ("year", "quarter", "month", "week")}
    assert named["year"] == ("2024", "2025")
    assert named["quarter"] == ("2024-Q4", "2025-Q1")
    assert named["month"] == ("2024-12", "2025-01", "2025-02")
    assert named["week"] == ("2025-W01", "2025-W02", "2025-W03", "2025-W04", "2025-W05")
    assert len(Key("d", by="day", span=span).labels) == 34
    assert Key("d", by="weekday").labels[0] == "Monday"
    edges = Key("d", edges=(dt.date(2025, 1, 1), dt.date(2025, 7, 1), dt.date(2026, 1, 1)))
    assert edges.titles == ("2025-01-01 to before 2025-07-01", "2025-07-01 to before 2026-01-01")


@pytest.mark.parametrize("by", ["year", "quarter", "month", "week", "day", "weekday"])
def test_every_day_of_the_span_is_in_one_period_and_no_other_day_is(by):
    first, last = dt.date(2024, 2, 20), dt.date(2024, 3, 11)
    declared = {"by": by} if by == "weekday" else {"by": by, "from": first, "to": last}
    asked = (Statistic("count", group_by={"admitted": declared}),)
    plan = plan_of(asked, one_row_per_person=True, derive={})
    days = [first + dt.timedelta(days=i) for i in range(-3, 24)]
    rows = [{"id": None, "age": None, "ward": None, "admitted": day} for day in days]
    counted = integers(plan, rows)[0]
    key = plan.statistics[0].group_by[0]
    names = {
        "year": lambda day: f"{day:%Y}",
        "quarter": lambda day: f"{day:%Y}-Q{(day.month + 2) // 3}",
        "month": lambda day: f"{day:%Y-%m}",
        "week": lambda day: f"{day:%G-W%V}",
        "day": lambda day: day.isoformat(),
        "weekday": lambda day: f"{day:%A}",
    }
    inside = [day for day in days if by == "weekday" or first <= day <= last]
    for label in key.labels:
        wanted = sum(names[by](day) == label for day in inside)
        assert counted[(label,)] == (wanted,)
        assert wanted > 0
    assert counted[(key.other,)] == (len(days) - len(inside),)


def test_days_in_text_and_instants_in_a_zone():
    stamps = pyarrow.array(
        [dt.datetime(2024, 12, 31, 23, 30, tzinfo=dt.UTC), None], pyarrow.timestamp("us", "UTC")
    )
    table = pyarrow.table({"d": ["31.12.2024", "2024-12-31"], "seen": stamps})
    asked = (
        Statistic("count", where="d = 2024-12-31"),
        Statistic("count", where="seen = 2025-01-01"),
        Statistic("count", where="seen < 2025-01-01 00:30:01 and seen >= 2025-01-01 00:30:00"),
    )
    columns = (
        Reading("d", "date", "DD.MM.YYYY"),
        Reading("seen", "time", zone="Europe/Berlin"),
    )
    plan = plan_of(asked, one_row_per_person=True, derive={}, columns=columns)
    assert [found[()] for found in integers_of(plan, table)] == [(1,), (1,), (1,)]
    bare = replace(plan, columns=columns[:1])
    with pytest.raises(PlanError, match="whose clocks"):
        integers_of(bare, table)


# What is declared


def test_a_plan_file_declares_filters_days_and_derived_columns(tmp_path):
    text = """
name = "visits"
epsilon = 1.0
delta = 1e-6
relation = "add/remove"
one_row_per_person = true
where = "admitted >= 2025-01-01"
[columns]
admitted = { kind = "date", format = "DD.MM.YYYY" }
smoker = "truth"
[derive]
bmi = "weight / (height * height)"
heavy = "bmi > 30"
[[statistic]]
kind = "count"
where = "smoker and heavy"
[[statistic]]
kind = "histogram"
group_by = { admitted = { by = "quarter", from = 2025-01-01, to = 2025-12-31 } }
[[statistic]]
kind = "count"
name = "by half"
group_by = { admitted = { edges = [2025-01-01, 2025-07-01, 2026-01-01] }, heavy = [true, false] }
"""
    (tmp_path / "plan.toml").write_text(text)
    plan = load_plan(tmp_path / "plan.toml")
    assert plan.columns_read == ("admitted", "weight", "height", "smoker")
    assert plan.kinds == {"admitted": "date", "smoker": "truth", "bmi": "number", "heavy": "truth"}
    assert plan.statistics[0].name == "count where smoker and heavy"
    described = plan.describe()
    assert described["derive"]["heavy"] == "bmi > 30"
    assert described["where"] == "admitted >= 2025-01-01"
    table = pyarrow.table(
        {
            "admitted": ["02.01.2025", "31.12.2024", "05.08.2025"],
            "weight": [100.0, 100.0, 50.0],
            "height": [1.7, 1.7, 1.7],
            "smoker": ["true", "true", "True"],
        }
    )
    counted = integers_of(plan, table)
    assert counted[0] == {(): (1,)}
    assert counted[1][("2025-Q1",)] == counted[1][("2025-Q3",)] == (1,)
    assert counted[2][("0", "true")] == counted[2][("1", "false")] == (1,)


def test_plans_without_formulas_keep_their_hash():
    plain = plan_of((Statistic("count"),), one_row_per_person=True, derive={})
    assert not {"where", "columns", "derive"} & set(plain.describe())
    assert "where" not in plain.describe()["statistics"][0]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"where": "a ="}, "a column or a value was expected"),
        ({"where": "a + 1"}, "is a number where a truth is needed"),
        ({"derive": {"b": "c + 1", "c": "1 + a"}}, "before it is computed"),
        ({"derive": {"id": "1 + a"}, "person": "id", "one_row_per_person": False}, "another"),
        ({"derive": ["x"]}, "is a table"),
        ({"columns": {"a": "colour"}}, "colour"),
        ({"columns": {"a": {"format": "X"}}}, "needs its kind"),
        ({"columns": {"a": {"kind": "date", "format": "DD.MM.YY"}}}, "cannot be read"),
        ({"columns": {"a": {"kind": "time", "zone": "Mars/Base"}}}, "no zone"),
        ({"columns": {"a": {"kind": "number", "zone": "UTC"}}}, "days and times"),
        ({"columns": ["a"]}, "is a table"),
        ({"columns": (Reading("a", "text"), Reading("a", "text"))}, "twice"),
    ],
)
def test_declarations_that_cannot_be_meant(more, said):
    given = {"one_row_per_person": True, "derive": {}, "rows_per_person": None, **more}
    with pytest.raises((PlanError, InvalidParameterError)) as told:
        plan_of((Statistic("count"),), **given)
    assert said in str(told.value)


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ({"by": "month"}, "needs its days"),
        ({"by": "month", "from": dt.date(2025, 2, 1), "to": dt.date(2025, 1, 1)}, "needs its days"),
        ({"by": "decade"}, "decade"),
        ({"by": "weekday", "from": dt.date(2025, 1, 1)}, "seven weekdays"),
        ({"by": "day", "from": dt.date(1, 1, 1), "to": dt.date(9998, 1, 1)}, "more than"),
        ({"by": "month", "values": ["2025-01"]}, "no declaration 'values'"),
        ({"edges": [dt.date(2025, 1, 1), 7]}, "edges"),
        ({"edges": [dt.date(2025, 1, 2), dt.date(2025, 1, 1)]}, "rising"),
    ],
)
def test_periods_that_cannot_be_meant(declared, said):
    with pytest.raises((PlanError, InvalidParameterError)) as told:
        Statistic("count", group_by={"d": declared})
    assert said in str(told.value)


@pytest.mark.parametrize(
    ("statistic", "more", "said"),
    [
        (Statistic("count", where="age = 'x'"), {}, "of type int64"),
        (Statistic("count", where="ward >= 2025-01-01 12:00"), {"ward": 1.5}, "uses it as a time"),
        (Statistic("count", where="nothing > 1"), {}, "no column 'nothing'"),
        (Statistic("count", group_by={"age": {"by": "weekday"}}), {}, "uses it as a date"),
        (Statistic("count", group_by={"months": ["A"]}), {}, "not of its kind, number"),
        (Statistic("count", group_by={"months": {"by": "weekday"}}), {}, "not of its kind"),
    ],
)
def test_columns_of_other_types_are_refused_before_a_row_is_read(statistic, more, said):
    table = pyarrow.table({"age": [1], "ward": [more.get("ward", "A")]})
    with pytest.raises(PlanError) as told:
        open_table(plan_of((statistic,), one_row_per_person=True), table)
    assert said in str(told.value)


def test_a_derived_column_is_new_and_a_statistic_of_it_needs_numbers():
    table = pyarrow.table({"age": [1], "months": [2]})
    with pytest.raises(PlanError, match="'Months', but for capitals"):
        open_table(
            plan_of((Statistic("count"),), one_row_per_person=True),
            pyarrow.table({"age": [1], "Months": [2]}),
        )
    with pytest.raises(PlanError, match="is a column of the table"):
        open_table(plan_of((Statistic("count"),), one_row_per_person=True), table)
    asked = Statistic("sum", column="kind", lower=0, upper=1, pitch=1, missing="drop")
    derived = {"kind": "case when age > 1 then 'A' else 'B' end"}
    with pytest.raises(PlanError, match="needs numbers"):
        open_table(
            plan_of((asked,), one_row_per_person=True, derive=derived), table.select(["age"])
        )


def test_a_filtered_mean_has_no_public_number():
    with pytest.raises(PlanError, match="of all rows"):
        Statistic("mean", **AGE, public_n=10, where="age > 1")
