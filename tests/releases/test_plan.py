"""Plans: complete or refused, with a sentence that says what to declare."""

import random
from fractions import Fraction

import pytest

from leastnoise.errors import InvalidFileError, InvalidParameterError, PlanError
from leastnoise.releases.noise.sensitivity import Answer, blocks
from leastnoise.releases.plan.file import load_plan, plan_from
from leastnoise.releases.plan.keys import Key
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.source import Connection, CsvFile
from leastnoise.releases.plan.statistic import Statistic
from releases import reference_release as reference
from releases import tables

MEAN = {"kind": "mean", "column": "age", "lower": 0, "upper": 100, "pitch": 1, "missing": "drop"}
WHOLE = {
    "name": "clinic",
    "epsilon": 1.0,
    "delta": 1e-6,
    "relation": "add/remove",
    "person": "id",
    "rows_per_person": 4,
    "groups_per_person": 2,
    "source": {"csv": "visits.csv"},
    "statistic": [MEAN, {"kind": "count", "group_by": {"ward": ["A", "B"]}}],
}

TOML = """
name = "clinic"
epsilon = 1.0
delta = 1e-6
relation = "add/remove"
person = "id"
rows_per_person = 4
groups_per_person = 2

[source]
csv = "visits.csv"

[[statistic]]
kind = "mean"
column = "age"
lower = 0
upper = 100
pitch = 1
missing = "drop"

[[statistic]]
kind = "count"
group_by = { ward = ["A", "B"] }
"""


def without(*path):
    changed = {**WHOLE, "statistic": [dict(entry) for entry in WHOLE["statistic"]]}
    inner = changed
    for step in path[:-1]:
        inner = inner[step]
    del inner[path[-1]]
    return changed


def test_toml_and_python_say_the_same(tmp_path):
    (tmp_path / "plan.toml").write_text(TOML, encoding="utf-8")
    loaded = load_plan(tmp_path / "plan.toml")
    assert loaded.source == CsvFile(str(tmp_path / "visits.csv"))
    built = Plan(
        name="clinic",
        source=CsvFile(str(tmp_path / "visits.csv")),
        relation="add/remove",
        statistics=(Statistic(**MEAN), Statistic("count", group_by=(Key("ward", ("A", "B")),))),
        epsilon=1.0,
        delta=1e-6,
        person="id",
        rows_per_person=4,
        groups_per_person=2,
    )
    assert loaded == built
    assert loaded.hash == built.hash
    assert loaded.columns_read == ("id", "age", "ward")
    assert [statistic.name for statistic in loaded.statistics] == ["mean of age", "count by ward"]


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        (("name",), "declare name = "),
        (("epsilon",), "declare epsilon = "),
        (("relation",), 'declare relation = "add/remove" or "replace"'),
        (("person",), "declare person = the column of person ids, or one_row_per_person = true"),
        (("rows_per_person",), "declare rows_per_person = how many rows"),
        (("groups_per_person",), "declare groups_per_person = in how many groups"),
        (("statistic",), r"declare at least one \[\[statistic\]\]"),
        (("statistic", 0, "kind"), "declare kind = one of count, persons"),
        (("statistic", 0, "column"), "declare column = the column of numbers"),
        (("statistic", 0, "lower"), "declare lower = the smallest value"),
        (("statistic", 0, "upper"), "declare upper = the largest value"),
        (("statistic", 0, "pitch"), "declare pitch = the pitch of the public lattice"),
        (
            ("statistic", 0, "missing"),
            'declare missing = what null and NaN count as: "drop" or a number',
        ),
    ],
)
def test_what_is_missing_is_named(missing, said):
    with pytest.raises(PlanError, match=said):
        plan_from(without(*missing))


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": 0},
        {"epsilon": float("nan")},
        {"delta": 1},
        {"relation": "bounded"},
        {"rows_per_person": 0},
        {"rows_per_person": 2.5},
        {"one_row_per_person": True},
        {"colour": "red"},
        {"source": {"csv": "a", "parquet": "b"}},
        {"source": {"duckdb": "a"}},
        {"source": {"csv": "a.csv", "columns": ["x", "x"]}},
        {"postprocess": ["prettier"]},
        {"statistic": [{**MEAN, "lower": 5, "upper": 5}]},
        {"statistic": [{**MEAN, "pitch": -1}]},
        {"statistic": [{**MEAN, "pitch": 1000}]},
        {"statistic": [{**MEAN, "pitch": 1e-300}]},
        {"statistic": [{**MEAN, "missing": "ignore"}]},
        {"statistic": [{**MEAN, "sigma": 1.0}]},
        {"statistic": [{**MEAN, "public_n": 10, "group_by": {"g": ["a"]}}]},
        {"statistic": [MEAN, MEAN]},
        {"statistic": [{"kind": "count", "column": "age"}]},
        {"statistic": [{"kind": "count", "lower": 1}]},
        {"statistic": [{"kind": "histogram"}]},
        {"statistic": [{"kind": "count", "group_by": {"g": []}}]},
        {"statistic": [{"kind": "count", "group_by": {"g": ["a", "a"]}}]},
        {"statistic": [{"kind": "count", "group_by": {"g": [1, "1"]}}]},
        {"statistic": [{"kind": "count", "group_by": {"g": [float("nan")]}}]},
        {"statistic": [{"kind": "count", "group_by": {"g": [1, 1.0]}}]},
        {"statistic": [{"kind": "count", "group_by": {"g": [1, "1.0"]}}]},
        {"statistic": [{"kind": "count", "group_by": {"g": [True, "TRUE"]}}]},
        {
            "statistic": [
                {"kind": "count", "group_by": {"g": {"values": ["A", "a"], "match": "casefold"}}}
            ]
        },
        {
            "statistic": [
                {"kind": "count", "group_by": {"g": {"values": ["A", "A "], "match": "trim"}}}
            ]
        },
        {
            "statistic": [
                {"kind": "count", "group_by": {"g": {"values": ["A"], "match": "roughly"}}}
            ]
        },
        {"statistic": [{"kind": "count", "group_by": {"g": {"values": [1, 2], "match": "trim"}}}]},
        {"statistic": [{"kind": "count", "group_by": {"g": {"edges": [1, 2], "match": "trim"}}}]},
        {"statistic": [{"kind": "count", "group_by": {"g": {"match": "trim"}}}]},
        {"statistic": [{"kind": "count", "group_by": {"g": {"edges": [2, 1]}}}]},
        {"statistic": [{"kind": "count", "group_by": ["g"]}]},
        {"statistic": [{"kind": "count", "weight": 0}]},
    ],
    ids=str,
)
def test_contradictions_are_refused(change):
    with pytest.raises((PlanError, InvalidParameterError)):
        plan_from({**WHOLE, **change})


def test_files_that_are_no_plans(tmp_path):
    (tmp_path / "bad.toml").write_bytes(b"name = \xff")
    (tmp_path / "worse.toml").write_text("name = ", encoding="utf-8")
    for name in ("bad.toml", "worse.toml", "none.toml"):
        with pytest.raises(InvalidFileError):
            load_plan(tmp_path / name)


def test_passwords_are_not_written_down():
    plan = plan_from(
        {**WHOLE, "source": {"connection": "postgresql://me:secret@host/db", "table": "t"}}
    )
    assert isinstance(plan.source, Connection)
    assert "secret" not in str(plan.describe())


def test_the_number_of_rows_is_public_when_rows_are_replaced():
    plan = Plan("n", None, "replace", (Statistic("count"),), 1.0, 1e-6, one_row_per_person=True)
    with pytest.raises(PlanError, match="declare public_n"):
        blocks(plan)


@pytest.mark.parametrize(
    "unit", [{"one_row_per_person": True}, {"person": "p", "rows_per_person": 2}], ids=str
)
def test_a_public_number_of_values_is_for_replaced_persons(unit):
    """One person less and another more: the centred sum would move by twice what is paid for."""
    mean = Statistic("mean", column="x", lower=0, upper=9, pitch=1, missing=0, public_n=90)
    with pytest.raises(PlanError, match=r"'mean of x' declares public_n .* twice as much"):
        Plan("n", None, "add/remove", (mean,), 1.0, 1e-6, **unit)
    assert Plan("n", None, "replace", (mean,), 1.0, 1e-6, **unit).statistics == (mean,)


# Sensitivities: (statistic, unit, relation) -> what the derivation must give, by hand.
X = {"column": "x", "lower": -2, "upper": 10, "pitch": 1}
ROW, PERSON = (
    {"one_row_per_person": True},
    {"person": "id", "rows_per_person": 5, "groups_per_person": 2, "rows_per_group": 3},
)
BY = {"g": ["a", "b", "c", "d", "e"]}


@pytest.mark.parametrize(
    ("statistic", "unit", "relation", "expected", "touched"),
    [
        (Statistic("count"), ROW, "add/remove", (1,), 1),
        (Statistic("count"), PERSON, "add/remove", (5,), 1),
        (Statistic("count"), PERSON, "replace", (5,), 1),
        (Statistic("persons"), PERSON, "replace", (1,), 1),
        (Statistic("count", group_by=BY), ROW, "add/remove", (1,), 1),
        (Statistic("count", group_by=BY), ROW, "replace", (1,), 2),
        (Statistic("count", group_by=BY), PERSON, "add/remove", (3,), 2),
        (Statistic("count", group_by=BY), PERSON, "replace", (3,), 4),
        (Statistic("sum", missing="drop", **X), ROW, "add/remove", (10,), 1),
        (Statistic("sum", missing="drop", **X), ROW, "replace", (12,), 1),
        (
            Statistic("sum", missing="drop", **{**X, "lower": -10, "upper": 2}),
            ROW,
            "add/remove",
            (10,),
            1,
        ),
        (
            Statistic("sum", missing="drop", **{**X, "lower": -10, "upper": -2}),
            PERSON,
            "add/remove",
            (50,),
            1,
        ),
        (Statistic("sum", missing=0, **{**X, "lower": 4}), ROW, "replace", (6,), 1),
        (Statistic("sum", missing="drop", **{**X, "lower": 4}), ROW, "replace", (10,), 1),
        (Statistic("sum", missing="drop", **X), PERSON, "replace", (60,), 1),
        (Statistic("mean", missing="drop", **X), ROW, "add/remove", (12, 1), 1),  # in half pitches
        (Statistic("mean", missing="drop", **X), ROW, "replace", (24, 1), 1),
        (Statistic("mean", missing=0, public_n=9, **X), ROW, "replace", (24,), 1),
        (Statistic("variance", missing=0, **X), ROW, "add/remove", (12, 144, 1), 1),
        (
            Statistic("variance", missing="drop", group_by=BY, **X),
            PERSON,
            "add/remove",
            (36, 432, 3),
            2,
        ),
    ],
)
def test_sensitivities_by_hand(statistic, unit, relation, expected, touched):
    block, *checks = blocks(Plan("s", None, relation, (statistic,), 1.0, 1e-6, **unit))
    cells = [answer.measure for check in checks for answer in check.answers]
    assert cells.count("unreadable") == cells.count("clipped") == (statistic.column is not None)
    assert ("left out" in cells) == ("person" in unit)
    # Everybody is in one cell: who is replaced leaves one and enters another.
    assert [check.touched for check in checks] == (
        [1 if relation == "add/remove" else min(2, len(cells))] if cells else []
    )
    assert block.sensitivities == expected
    assert block.touched == touched


def test_units_give_back_the_values():
    """x − middle from the centred answer, (x − middle)² from the square: what an answer of 1 is
    worth."""
    values = Statistic("variance", missing="drop", **{**X, "pitch": 0.5}).values
    middle = Fraction(values.lower + values.upper) / 2
    centred, square = Answer("centred", values), Answer("square", values)
    for place in (values.first, 1, 7, values.last):
        x = place * values.exact_pitch
        c = 2 * place - (values.first + values.last)
        assert c * centred.unit == x - middle
        whole = square.half_range * values.exact_pitch
        assert (2 * c * c - square.half_range**2) * square.unit == (x - middle) ** 2 - whole**2 / 8
    assert values.first * Answer("sum", values).unit == values.lower


@pytest.mark.parametrize(("relation", "own"), [("add/remove", False), ("replace", True)])
def test_a_sum_beside_a_mean_has_an_answer_of_its_own_where_rows_are_replaced(relation, own):
    """Its noise would be no smaller from the centred sum: the bounds count by their difference
    there."""
    numbers = tuple(Statistic(kind, missing="drop", **X) for kind in ("sum", "mean"))
    block = blocks(Plan("both", None, relation, numbers, 1.0, 1e-6, **PERSON))[0]
    assert (Answer("sum", numbers[0].values) in block.answers) == own


@pytest.mark.parametrize("relation", ["add/remove", "replace"])
@pytest.mark.parametrize("kind", ["rows", "ids", "ids, with totals"])
def test_no_person_changes_more_than_derived(kind, relation):
    rng = random.Random(5)
    if kind == "rows" and relation == "replace":
        stats = tuple(
            s for s in tables.statistics() if s.kind in ("sum", "histogram") or s.group_by
        )
        plan = Plan("random", None, relation, stats, 2.0, 1e-6, one_row_per_person=True)
    elif kind == "ids, with totals":  # other keys are counted in rows
        limits = {"rows_per_person": 2, "groups_per_person": 2, "postprocess": ("totals",)}
        plan = tables.plan("ids", relation, **limits)
    else:
        plan = tables.plan(kind, relation, **({"rows_per_group": 2} if kind == "ids" else {}))
    asked = dict.fromkeys([*blocks(plan), *blocks(plan, joint=True)])
    seen = []
    for seed in range(25):
        rows = tables.table(seed, size=60, persons=6)
        neighbour = tables.neighbour_of(rows, kind, relation, rng)
        for block in asked:
            before, after = (reference.aggregate(plan, some, block) for some in (rows, neighbour))
            seen += reference.largest_changes(block, before, after)
    assert max(seen) == 1.0  # some of the bounds are reached: they are not slack by a factor


def test_an_epsilon_that_protects_nobody_is_refused():
    with pytest.raises(InvalidParameterError, match="at most 50"):
        plan_from({**WHOLE, "epsilon": 51.0})
