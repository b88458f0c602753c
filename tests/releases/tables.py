"""Random tables with everything that goes wrong in real ones, and plans for them."""

import math
import random

from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.statistic import Statistic

NUMBERS = [
    None,
    math.nan,
    math.inf,
    -math.inf,
    0.05,
    0.15,
    0.25,
    -0.05,
    2.5,
    1e300,
    -7.0,
    9.95,
    10.0,
    3.3333333333333335,
]
TEXTS = [
    "1.5",
    " 2 ",
    "?",
    "",
    None,
    "1e3",
    "1e400",
    "nan",
    "7\n",
    "é",
    "-.5",
    "+4.",
    "1_000",
    "0x10",
    "9" * 31,
    "True",
    "false",
    "tRUE",
]


def table(seed, size=300, persons=40):
    rng = random.Random(seed)
    return [
        {
            "id": rng.choice([None, *range(persons)])
            if rng.random() < 0.1
            else rng.randrange(persons),
            "name": f"p|{rng.randrange(persons)}~é",
            "x": rng.choice(NUMBERS) if rng.random() < 0.5 else rng.uniform(-3, 12),
            "n": rng.choice([None, rng.randrange(-5, 30), 2**40]),
            "text": rng.choice(TEXTS),
            "flag": rng.choice([True, False, None]),
            "g": rng.choice(["a", "b", "c|~", "é", "x", None]),
            "h": rng.randrange(4),
        }
        for _ in range(size)
    ]


def columns(rows):
    import pyarrow as pa

    schema = pa.schema(
        [
            ("id", pa.int64()),
            ("name", pa.string()),
            ("x", pa.float64()),
            ("n", pa.int64()),
            ("text", pa.string()),
            ("flag", pa.bool_()),
            ("g", pa.string()),
            ("h", pa.int32()),
        ]
    )
    return pa.Table.from_pylist(rows, schema=schema)


def statistics(grouped=True):
    x = {"column": "x", "lower": -1, "upper": 10, "pitch": 0.1}
    plain = (
        Statistic("count"),
        Statistic("sum", column="x", lower=-1, upper=10, pitch=0.1, missing="drop"),
        Statistic(
            "mean", name="text mean", column="text", lower=0, upper=8, pitch=0.5, missing="drop"
        ),
        Statistic(
            "variance", column="n", lower=0, upper=20, pitch=1, missing=3, infinite="missing"
        ),
        Statistic("mean", name="flag mean", column="flag", lower=0, upper=1, pitch=1, missing=0),
    )
    if not grouped:
        return plain
    by = {"g": ["a", "b", "c|~", "é", "nobody"]}
    return (
        *plain,
        Statistic("mean", name="x by g", missing="drop", group_by=by, **x),
        Statistic("sum", name="x again", missing="drop", infinite="missing", group_by=by, **x),
        Statistic("histogram", group_by={"x": {"edges": [-1, 0, 2.5, 10]}}),
        Statistic("count", name="two keys", group_by={"h": [0, 1, 3], "flag": [True, False]}),
    )


def plan(kind, relation="add/remove", **more):
    if kind == "rows":
        return Plan(
            "random", None, relation, statistics(), 2.0, 1e-6, one_row_per_person=True, **more
        )
    person = {
        "person": "id" if kind == "ids" else "name",
        "rows_per_person": 5,
        "groups_per_person": 2,
        **more,
    }
    stats = (
        *statistics(),
        Statistic("persons"),
        Statistic("persons", name="persons by g", group_by={"g": ["a", "é"]}),
    )
    return Plan("random", None, relation, stats, 2.0, 1e-6, **person)


def quantile_plans(relation="add/remove"):
    """Quantiles of dirty columns of persons with one row and with many."""
    x = {"column": "x", "lower": -1, "upper": 10, "pitch": 0.1, "missing": "drop"}
    text = {"column": "text", "lower": 0, "upper": 8, "pitch": 0.5, "missing": 3}
    by = {"group_by": {"g": ["a", "c|~", "é"]}}
    asked = (
        Statistic("quantile", at=[0.05, 0.5], **x),
        Statistic("median", name="by g", infinite="missing", **x, **by),
        Statistic("quantile", at=0.9, where="h > 1", **text, **by),
        Statistic("count", **by),
    )
    shared = ("random", None, relation, asked, 2.0, 1e-6)
    several = {"rows_per_person": 5, "groups_per_person": 2}
    return (
        Plan(*shared, one_row_per_person=True),
        Plan(*shared, person="id", **several),
        Plan(*shared, person="name", rows_per_group=2, **several),
    )


def neighbour_of(rows, kind, relation, rng):
    """The table without a row or a person, or with another in the place, of values far out."""
    extreme = [
        row | {"x": rng.choice([-9.0, 99.0]), "n": rng.choice([-9, 99])}
        for row in table(rng.randrange(10**6), size=12)
    ]
    if kind == "rows":
        at = rng.randrange(len(rows))
        return rows[:at] + rows[at + 1 :] + (extreme[:1] if relation == "replace" else [])
    someone = rng.randrange(6)
    rest = [row for row in rows if row["id"] != someone]
    return rest + [row | {"id": someone} for row in extreme] if relation == "replace" else rest
