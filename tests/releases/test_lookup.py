"""Columns from public lookup tables: what rows get, and that nothing else changes."""

import random

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
from leastnoise.releases.plan.lookup import Lookup, read_lookup
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.statistic import Statistic
from leastnoise.releases.rehearsal import rehearsed

WARDS = Lookup(
    "ward",
    ("A", "B", "Ä", "1"),
    {
        "region": ("north", "south", "north", None),
        "beds": (10.0, 0.1, None, 1e-300),
        "private": (True, False, None, True),
    },
    {"region": "text", "beds": "number", "private": "truth"},
)
STATISTICS = (
    Statistic("count", group_by={"region": ["north", "south"]}),
    Statistic("sum", column="beds", lower=0, upper=12, pitch=0.1, missing="drop"),
    Statistic("sum", column="share", lower=0, upper=5, pitch=0.01, missing=0.0),
    Statistic("count", where="private and beds > 1", name="large"),
    Statistic("distinct", column="region"),
)
SCHEMA = pyarrow.schema(
    [("id", pyarrow.string()), ("ward", pyarrow.string()), ("days", pyarrow.int64())]
)
UNITS = {
    "rows": {"one_row_per_person": True},
    "persons": {"person": "id", "rows_per_person": 2, "groups_per_person": 1},
    "replaced": {
        "person": "id",
        "rows_per_person": 2,
        "groups_per_person": 2,
        "relation": "replace",
    },
}


def plan_of(statistics=STATISTICS, lookups=(WARDS,), **more):
    given = {"relation": "add/remove", "derive": {"share": "days / beds"}, **more}
    return Plan("l", None, statistics=statistics, epsilon=1.0, delta=1e-6, lookups=lookups, **given)


def row(rng, person):
    ward = rng.choice(["A", "a", "B", "Ä", "A\u0308", "1", "01", " A", "", None])
    return {"id": person, "ward": ward, "days": rng.choice([None, 0, 3, 40])}


def integers(plan, table):
    opened = open_table(plan, table)
    try:
        return [aggregate(plan, opened, block) for block in blocks(plan)]
    finally:
        opened.close()


def test_rows_get_what_is_known_of_their_key():
    rng = random.Random(1)
    rows = [row(rng, str(i)) for i in range(80)]
    found = integers(
        plan_of(one_row_per_person=True), pyarrow.Table.from_pylist(rows, schema=SCHEMA)
    )
    known = dict(zip(WARDS.keys, zip(*WARDS.columns.values(), strict=True), strict=True))
    joined = [(*known.get(one["ward"], (None,) * 3), one["days"]) for one in rows]
    regions = [region for region, *_ in joined]
    assert found[0][("north",)] == (regions.count("north"),)
    assert found[0][("south",)] == (regions.count("south"),)
    assert found[0][("other",)] == (regions.count(None),)
    places = [int(beds / 0.1 + 0.5) for _, beds, *_ in joined if beds is not None]
    assert found[1][()][0] == sum(places)
    assert found[2][()] == (sum(private is True and beds > 1 for _, beds, private, _ in joined),)
    assert found[3] == {(): (2,)}
    # No row has become two.
    counted = plan_of((Statistic("count"),), one_row_per_person=True, derive={})
    assert integers(counted, pyarrow.Table.from_pylist(rows, schema=SCHEMA))[0] == {(): (80,)}


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("pairs", [3, pytest.param(60, marks=pytest.mark.long)])
def test_no_person_moves_an_answer_by_more_than_its_sensitivity(unit, pairs):
    plan, rng = plan_of(**UNITS[unit]), random.Random(unit)
    made = blocks(plan)
    for _ in range(pairs):
        rest = [row(rng, rng.choice("pqr")) for _ in range(6)]
        many = 1 if unit == "rows" else 5
        one, other = ([row(rng, "x") for _ in range(many)] for _ in range(2))
        tables = [[*rest, *(one if unit == "replaced" else [])], [*rest, *other]]
        found = [integers(plan, pyarrow.Table.from_pylist(t, schema=SCHEMA)) for t in tables]
        for block, before, after in zip(made, *found, strict=True):
            changed = [cell for cell in block.cells if before[cell] != after[cell]]
            assert len(changed) <= block.touched or is_checks(block)
            for cell in block.groups:
                moved = zip(before[cell], after[cell], block.sensitivities, strict=True)
                assert all(abs(y - x) <= most for x, y, most in moved)


def test_whole_numbers_as_keys_and_texts_that_match():
    codes = Lookup("code", ("7", "-3"), {"name": ("seven", "less")}, {"name": "text"})
    by_name = (Statistic("count", group_by={"name": ["seven", "less"]}),)
    plan = plan_of(by_name, (codes,), derive={}, one_row_per_person=True)
    found = integers(plan, pyarrow.table({"code": [7, 7, -3, 8, None]}))
    assert found[0] == {("seven",): (2,), ("less",): (1,), ("other",): (2,)}
    folded = Lookup("code", ("a", "b"), {"name": ("seven", "less")}, {"name": "text"}, "casefold")
    plan = plan_of(by_name, (folded,), derive={}, one_row_per_person=True)
    assert integers(plan, pyarrow.table({"code": ["A ", "a", "B", "c"]}))[0] == {
        ("seven",): (2,),
        ("less",): (1,),
        ("other",): (1,),
    }
    wrong = plan_of(by_name, (folded,), derive={}, one_row_per_person=True)
    with pytest.raises(PlanError, match="no whole numbers"):
        open_table(wrong, pyarrow.table({"code": [1]}))
    with pytest.raises(PlanError, match="needs a column of text or whole numbers"):
        open_table(wrong, pyarrow.table({"code": [1.5]}))


def test_a_plan_file_with_a_lookup(tmp_path):
    (tmp_path / "wards.csv").write_text(
        'code;region;beds\nA;north;10\nB;"south; east";\n', encoding="utf-8"
    )
    (tmp_path / "visits.csv").write_text("ward,days\nA,1\nA,2\nB,3\nC,4\n", encoding="utf-8")
    plan = tmp_path / "plan.toml"
    plan.write_text(
        """
name = "visits"
epsilon = 1.0
delta = 1e-6
relation = "add/remove"
one_row_per_person = true
[source]
csv = "visits.csv"
[[lookup]]
csv = "wards.csv"
delimiter = ";"
on = "ward"
key = "code"
columns = { region = "text", beds = "number" }
[[statistic]]
kind = "count"
group_by = { region = ["north", "south; east"] }
[[statistic]]
kind = "count"
name = "found"
group_by = { region = "discover" }
""",
        encoding="utf-8",
    )
    wanted = load_plan(plan)
    made = mechanism(wanted)
    opened = open_table(wanted)
    try:
        found = aggregate(wanted, opened, made.blocks[0])
    finally:
        opened.close()
    assert found == {("north",): (2,), ("south; east",): (1,), ("other",): (1,)}
    assert release(wanted, prepared=made).epsilon <= 1.0
    assert {row.group for row in rehearsed(wanted).rows} >= {"region = north"}
    before = wanted.hash
    (tmp_path / "wards.csv").write_text("code;region;beds\nA;south;10\n", encoding="utf-8")
    assert load_plan(plan).hash != before  # what is looked up is part of the plan
    assert (
        "lookups"
        not in plan_of(
            lookups=(), derive={}, statistics=(Statistic("count"),), one_row_per_person=True
        ).describe()
    )


@pytest.mark.parametrize(
    ("content", "more", "said"),
    [
        ("ward,beds\nA,1\nA,2\n", {}, "a key twice"),
        ("ward,beds\nA,1\na,2\n", {"match": "casefold"}, "a key twice"),
        ("ward,beds\nA,1\nB\n", {}, "more or fewer fields"),
        ("ward,beds\nA,ten\n", {}, "'ten' at 'A', which is no number"),
        ("ward,rooms\nA,1\n", {}, "no column 'beds'"),
        ("ward,beds\n", {}, "has 0 rows"),
        ("", {}, "cannot be read"),
    ],
)
def test_files_that_cannot_be_used(content, more, said, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises((PlanError, InvalidParameterError), match=said):
        read_lookup({"on": "ward", "columns": {"beds": "number"}, **more}, path)


def test_declarations_that_cannot_be_meant(tmp_path):
    with pytest.raises(PlanError, match="cannot be read"):
        read_lookup({"on": "ward", "columns": {"beds": "number"}}, tmp_path / "none.csv")
    with pytest.raises(PlanError, match="needs csv"):
        read_lookup({"on": "ward"}, tmp_path / "none.csv")
    with pytest.raises(PlanError, match="the name of another"):
        plan_of(one_row_per_person=True, derive={"beds": "days + 1"})
    with pytest.raises(PlanError, match="no computed one"):
        plan_of((Statistic("count"),), one_row_per_person=True, derive={"ward": "days + 1"})
    plan = plan_of((Statistic("count"),), one_row_per_person=True, derive={})
    for name in ("Ward", "WARD"):
        other = Lookup("ward", ("A",), {name: ("north",)}, {name: "text"})
        asked = (Statistic("count", group_by={name: ["north"]}),)
        wanted = plan_of(asked, (other,), derive={}, one_row_per_person=True)
        with pytest.raises(PlanError, match="'ward', but for capitals"):
            open_table(wanted, pyarrow.table({"ward": ["A"]}))
    with pytest.raises(PlanError, match="is a column of the table"):
        open_table(plan, pyarrow.table({"ward": ["A"], "beds": [1]}))
