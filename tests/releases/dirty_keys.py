"""Keys as people type them, plans that match them in each way, and the tables of one
person less."""

import itertools
import math
import random

from leastnoise.releases.data.counts import aggregate
from leastnoise.releases.data.opening import open_table
from leastnoise.releases.noise.sensitivity import blocks
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.statistic import Statistic
from releases import reference_release as reference

WORDS = [
    *(
        "north",
        "North",
        "NORTH ",
        " north",
        "north\t",
        "north\u00a0",
        "nörth",
        "NÖRTH",
        "no\u0308rth",
    ),
    *("straße", "STRAßE", "STRASSE", "other", "Other", "", " ", None, "'; --", "~|"),
    *("1", "1.0", "01", " 1", "1e0", "+1.", "1\n", "1,0", "1.5", "1.50", "15e-1", "-0", "0.0"),
    *(
        "true",
        "True",
        "TRUE",
        "tRUE",
        "9007199254740993",
        "9007199254740992",
        "9007199254740993.0",
        "1e99",
    ),
]
NUMBERS = [0.0, -0.0, 1.0, 1.5, 2.0, math.nan, math.inf, -math.inf, 1e300, None]
DECLARED = ["north", "nörth", "straße", "other", 0, 1, 1.5, True, 9007199254740993]
MATCHES = ("exact", "trim", "casefold")


def table(seed, persons=12, size=240):
    import pyarrow as pa

    rng = random.Random(seed)
    rows = [
        {
            "id": rng.choice([None, *(f"p{i}" for i in range(persons))]),
            "word": rng.choice(WORDS),
            "x": rng.choice(NUMBERS),
            "n": rng.choice([None, 0, 1, 2, 2**53 + 1]),
            "flag": rng.choice([None, True, False]),
        }
        for _ in range(size)
    ]
    kinds = {
        "id": pa.string(),
        "word": pa.string(),
        "x": pa.float64(),
        "n": pa.int64(),
        "flag": pa.bool_(),
    }
    return rows, pa.schema(list(kinds.items()))


def arrow(rows, schema):
    import pyarrow as pa

    return pa.Table.from_pylist(rows, schema=schema)


def plan(match, relation="add/remove", **unit):
    words = {"values": DECLARED, "match": match}
    statistics = (
        Statistic("count", name="words", group_by={"word": words}),
        Statistic("count", name="numbers", group_by={"x": [0, 1, 1.5]}),
        Statistic("count", name="whole", group_by={"n": [0, 1, 2**53 + 1]}),
        Statistic("count", name="flags", group_by={"flag": [0, 1]}),
        Statistic(
            "mean",
            name="two",
            column="x",
            lower=0,
            upper=2,
            pitch=0.5,
            missing="drop",
            group_by={"flag": [True], "word": words},
        ),
        Statistic(
            "mean", name="mean of words", column="word", lower=0, upper=2, pitch=1, missing="drop"
        ),
    )
    unit = unit or {"one_row_per_person": True}
    return Plan("keys", None, relation, statistics, 1.0, 1e-6, **unit)


UNITS = (
    {},
    {"person": "id", "rows_per_person": 4, "groups_per_person": 2},
    {"person": "id", "rows_per_person": 5, "groups_per_person": 3, "rows_per_group": 1},
    {"person": "id", "rows_per_person": 40, "groups_per_person": 40},
)


def every_block(wanted):
    """Those of both kinds of layouts: other keys as one more group, and among the checks, which
    come last."""
    return list(dict.fromkeys([*blocks(wanted), *blocks(wanted, joint=True)[-1:]]))


def integers(wanted, source):
    opened = open_table(wanted, source)
    try:
        return [aggregate(wanted, opened, block) for block in every_block(wanted)]
    finally:
        opened.close()


EVERY = tuple(itertools.product(MATCHES, UNITS))
EACH = tuple(zip(MATCHES, UNITS, strict=False))  # each way of matching once


def agrees_with_the_slow_form(stored, ways=EACH, seed=0):
    """`stored` puts rows into an engine. Counted there and by hand."""
    rows, schema = table(seed)
    given = stored(rows, schema)
    for match, unit in ways:
        wanted = plan(match, **unit)
        assert integers(wanted, given) == [
            reference.aggregate(wanted, rows, block) for block in every_block(wanted)
        ]


def no_person_moves_more_than_derived(stored, match, unit, persons=6):
    """Every table with one person less, counted by the engine."""
    wanted = plan(match, **unit)
    rows, schema = table(3, persons, 90)
    whole = integers(wanted, stored(rows, schema))
    for person in [f"p{i}" for i in range(persons)]:
        less = integers(wanted, stored([row for row in rows if row["id"] != person], schema))
        for block, one, other in zip(every_block(wanted), whole, less, strict=True):
            assert max(reference.largest_changes(block, one, other)) <= 1.0
