"""The number of different values of a column: what is counted, and that no person moves it by more
than is said."""

import itertools
import random

import pytest

pytest.importorskip("ibis")
pytest.importorskip("duckdb")

import pyarrow

from leastnoise import release
from leastnoise.errors import PlanError
from leastnoise.releases.data.counts import aggregate
from leastnoise.releases.data.opening import open_table
from leastnoise.releases.noise.mechanism import mechanism
from leastnoise.releases.noise.sensitivity import blocks, is_checks
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.statistic import Statistic

STATISTICS = (
    Statistic("distinct", column="drug"),
    Statistic("distinct", column="drug", group_by={"ward": ["A", "B", "C"]}),
    Statistic("distinct", column="drug", where="n > 1"),
    Statistic("distinct", column="n"),
    Statistic("sum", column="n", lower=0, upper=3, pitch=1, missing=0.0),
    Statistic("count", group_by={"ward": ["A", "B", "C"]}),
)
SCHEMA = pyarrow.schema(
    [
        ("id", pyarrow.string()),
        ("drug", pyarrow.string()),
        ("ward", pyarrow.string()),
        ("n", pyarrow.int64()),
    ]
)
UNITS = {
    "rows": {"one_row_per_person": True},
    "replaced rows": {"one_row_per_person": True, "relation": "replace"},
    "persons": {"person": "id", "rows_per_person": 3, "groups_per_person": 2},
    "two in a group": {
        "person": "id",
        "rows_per_person": 5,
        "groups_per_person": 2,
        "rows_per_group": 2,
    },
    "replaced persons": {
        "person": "id",
        "rows_per_person": 2,
        "groups_per_person": 1,
        "relation": "replace",
    },
}


def plan_of(statistics=STATISTICS, **more):
    given = {"relation": "add/remove", **more}
    return Plan("d", None, statistics=statistics, epsilon=1.0, delta=1e-6, **given)


def integers(plan, rows, asked=None):
    opened = open_table(plan, pyarrow.Table.from_pylist(rows, schema=SCHEMA))
    try:
        return [aggregate(plan, opened, block) for block in asked or blocks(plan)]
    finally:
        opened.close()


def row(rng, person):
    drug = rng.choice(["a", "A", "a ", "ä", "", None, *"bcdefgh"])
    return {"id": person, "drug": drug, "ward": rng.choice("ABCX"), "n": rng.randrange(4)}


def pair(rng, unit):
    rows = [row(rng, rng.choice(["p", "q", "P"])) for _ in range(rng.choice([0, 2, 6]))]
    if "rows" in unit:
        other, another = [row(rng, "x")], [row(rng, "x")]
    else:
        other, another = ([row(rng, "x") for _ in range(rng.choice([1, 9]))] for _ in range(2))
    before = [*rows, *another] if "replace" in unit else rows
    return before, [*rows, *other]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("pairs", [6, pytest.param(150, marks=pytest.mark.long)])
def test_no_person_moves_the_number_by_more_than_its_sensitivity(unit, pairs):
    plan = plan_of(**UNITS[unit])
    made, rng = [b for b in blocks(plan) if not is_checks(b)], random.Random(unit)
    largest = [0] * len(made)
    for _ in range(pairs):
        tables = (integers(plan, rows, made) for rows in pair(rng, unit))
        for b, (block, one, other) in enumerate(zip(made, *tables, strict=True)):
            moved = [cell for cell in block.cells if one[cell] != other[cell]]
            assert len(moved) <= block.touched
            for cell in block.groups:
                for i, (x, y) in enumerate(zip(one[cell], other[cell], strict=True)):
                    low, high = (end * block.sensitivities[i] for end in block.ranges[i])
                    assert low <= y - x <= high
                    largest[b] = max(largest[b], abs(y - x))
    # With one row a person both ends are met.
    expected = [b.sensitivities[0] for b in made if b.apart] if "rows" in unit else None
    found = [most for most, b in zip(largest, made, strict=True) if b.apart]
    assert found == expected if expected else all(found)


@pytest.mark.parametrize("relation", ["add/remove", "replace"])
def test_every_table_of_two_persons_with_two_values(relation):
    """All tables of one other person with any of three values, and one who changes."""
    plan = plan_of((STATISTICS[0],), person="id", rows_per_person=2, relation=relation)
    (block,) = (one for one in blocks(plan) if one.apart)
    sets = [values for n in range(4) for values in itertools.combinations("abc", n)]
    found = {}
    for theirs, own in itertools.product(sets, sets):
        rows = [{"id": "o", "drug": one} for one in theirs] + [{"id": "x", "drug": o} for o in own]
        found[theirs, own] = integers(plan, rows, [block])[0][()][0]
    apart = [
        abs(found[theirs, one] - found[theirs, other])
        for theirs in sets
        for one in sets
        for other in (sets if relation == "replace" else [()])
    ]
    assert max(apart) == block.sensitivities[0] == 2
    assert found[("a", "b", "c"), ()] == 2  # of a person two values count


def test_values_are_compared_byte_by_byte_and_the_missing_are_none():
    words = ["a", "A", "a ", "ä", "a\u0308", "", "1", "1.0", None, "a"]
    rows = [{"id": str(i), "drug": word, "ward": "A", "n": 1} for i, word in enumerate(words)]
    plan = plan_of((STATISTICS[0], STATISTICS[3]), one_row_per_person=True)
    assert [each[()][0] for each in integers(plan, rows)[:2]] == [8, 1]


def test_a_person_with_many_rows_of_one_value_keeps_the_others():
    """Different values are bounded, and not rows: a hundred of one drug leave room for another."""
    rows = [{"id": "p", "drug": "a", "ward": "A", "n": i % 4} for i in range(100)]
    rows.append({"id": "p", "drug": "b", "ward": "A", "n": 2})
    plan = plan_of(STATISTICS[:2], **UNITS["replaced persons"])
    assert integers(plan, rows)[0] == {(): (2,)}
    assert integers(plan, rows)[1][("A",)] == (2,)


def test_the_noise_of_the_number_and_of_the_others_is_within_the_budget():
    plan = plan_of(**UNITS["persons"])
    made = mechanism(plan)
    assert made.epsilon <= 1.0
    drugs = [f"drug {i}" for i in range(300)]
    rows = [{"id": str(i), "drug": one, "ward": "A", "n": i % 4} for i, one in enumerate(drugs)]
    done = release(plan, table=pyarrow.Table.from_pylist(rows, schema=SCHEMA), prepared=made)
    (shown,) = (row for row in done.rows if row.statistic == "distinct values of drug")
    assert abs(shown.number - 300) < 8 * shown.noise_std
    assert shown.is_count
    assert shown.kind == "distinct"


@pytest.mark.parametrize("kind", ["min", "max", "minimum", "maximum"])
def test_extremes_are_refused_with_the_quantile_that_serves(kind):
    with pytest.raises(PlanError, match=r'one person, .* kind = "quantile" with at = \[0'):
        Statistic(kind, column="n", lower=0, upper=3, pitch=1, missing="drop")


def test_what_cannot_be_meant_is_said():
    with pytest.raises(PlanError, match="declares no column"):
        Statistic("distinct")
    with pytest.raises(PlanError, match="has no use for lower"):
        Statistic("distinct", column="n", lower=0)
    table = pyarrow.table({"x": [1.5, 2.5]})
    plan = plan_of((Statistic("distinct", column="x"),), one_row_per_person=True)
    with pytest.raises(PlanError, match="float64: only of text, whole numbers"):
        open_table(plan, table)
