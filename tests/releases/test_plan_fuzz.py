"""A thousand broken plans and tables: nothing but errors of ours, and no private value in any of
them, nor hanging on them."""

import copy
import math
import random
import traceback

import pytest

pytest.importorskip("ibis")
pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")

from leastnoise.errors import LeastNoiseError  # noqa: E402
from leastnoise.releases.data.counts import aggregate, no_rows  # noqa: E402
from leastnoise.releases.data.opening import open_table  # noqa: E402
from leastnoise.releases.noise.sensitivity import blocks  # noqa: E402
from leastnoise.releases.plan.file import plan_from  # noqa: E402

SECRETS = ("SECRETNAME", "987654321", "31415.92653")
INJECTED = [
    "x'; DROP TABLE t; --",
    'x"; SELECT 1; --',
    "éß 数",
    "a b",
    "`x`",
    "{x}",
    "%s",
    "$1",
    "select",
    "ln_person",
    "ln_key0",
    "\\",
    "x" * 300,
]
BROKEN = [
    None,
    "",
    "x" * 2000,
    -1,
    0,
    math.inf,
    math.nan,
    [],
    {},
    [None],
    {"a": None},
    True,
    "é\x00",
    10**400,
    [[]],
    {"edges": 3},
    *INJECTED,
]

WHOLE = {
    "name": "fuzz",
    "epsilon": 1.0,
    "delta": 1e-6,
    "relation": "add/remove",
    "person": "id",
    "rows_per_person": 4,
    "groups_per_person": 2,
    "salt": "s",
    "statistic": [
        {"kind": "mean", "column": "x", "lower": 0, "upper": 100, "pitch": 1, "missing": "drop"},
        {"kind": "count", "group_by": {"g": ["A", "B"]}},
    ],
}


def mutated(rng):
    """A plan with one to three declarations broken, removed or renamed."""
    content = copy.deepcopy(WHOLE)
    for _ in range(rng.randrange(4)):
        entries = content.get("statistic")
        inside = (
            [entry for entry in entries if isinstance(entry, dict)]
            if isinstance(entries, list)
            else []
        )
        where = rng.choice([content, *inside])
        name = rng.choice([*where, "group_by", "public_n", "sigma", "weight", "columns", "source"])
        if rng.random() < 0.2:
            where.pop(name, None)
        else:
            where[name] = copy.deepcopy(rng.choice(BROKEN))
    return content


def renamed(rng, content):
    """Columns and keys with hostile names, the same in plan and table."""
    names = {
        old: rng.choice([old, *INJECTED]) + (old if rng.random() < 0.5 else "")
        for old in ("id", "x", "g")
    }
    if len(set(names.values())) < 3 or any(not name.strip() for name in names.values()):
        names = {old: old for old in names}
    if content.get("person") == "id":
        content["person"] = names["id"]
    for entry in content["statistic"] if isinstance(content.get("statistic"), list) else []:
        if isinstance(entry, dict) and entry.get("column") == "x":
            entry["column"] = names["x"]
        if isinstance(entry, dict) and entry.get("group_by") == {"g": ["A", "B"]}:
            entry["group_by"] = {names["g"]: ["A", rng.choice(["B", *INJECTED])]}
    return names


def table(rng, names):
    """A table that may be empty, of wrong types, without a column, or full of extremes; its values
    are secret."""
    size = rng.choice([0, 1, 7, 40])
    columns = {
        "id": rng.choice(
            [
                lambda: pa.array([rng.randrange(5) for _ in range(size)], pa.int64()),
                lambda: pa.array(
                    [rng.choice(["SECRETNAME", None, "b|~'"]) for _ in range(size)], pa.string()
                ),
                lambda: pa.array([987654321.5] * size, pa.float64()),
                lambda: pa.array([None] * size, pa.int64()),
                lambda: pa.array([b"SECRETNAME"] * size, pa.binary()),
            ]
        )(),
        "x": rng.choice(
            [
                lambda: pa.array(
                    [
                        rng.choice([31415.92653, math.nan, math.inf, -math.inf, 5e-324, None])
                        for _ in range(size)
                    ],
                    pa.float64(),
                ),
                lambda: pa.array(
                    [
                        rng.choice(["31415.92653", "SECRETNAME", "1e999", "", None, "9" * 400])
                        for _ in range(size)
                    ],
                    pa.string(),
                ),
                lambda: pa.array(
                    [rng.choice([2**63 - 1, -(2**63), 987654321]) for _ in range(size)], pa.int64()
                ),
                lambda: pa.array([2**64 - 1] * size, pa.uint64()),
                lambda: pa.array([[987654321]] * size, pa.list_(pa.int64())),
                lambda: pa.array([None] * size, pa.null()),
                lambda: pa.array([987654321] * size, pa.timestamp("s")),
            ]
        )(),
        "g": rng.choice(
            [
                *[
                    lambda: pa.array(
                        [
                            rng.choice(["A", "B", "SECRETNAME", None, *INJECTED])
                            for _ in range(size)
                        ],
                        pa.string(),
                    )
                ]
                * 4,  # keys of text are for a column of text
                lambda: pa.array([987654321] * size, pa.int64()),
                lambda: pa.array([True] * size, pa.bool_()),
                lambda: pa.array([1.5] * size, pa.float64()),
            ]
        )(),
    }
    kept = {names[name]: column for name, column in columns.items() if rng.random() < 0.97}
    return pa.table(kept) if kept else pa.table({"nothing": pa.array([1])})


def tell(error):
    """All that a log could show of an error: its message, those of its causes and contexts, the
    traceback."""
    texts, seen = ["".join(traceback.format_exception_only(error))], error
    while seen.__cause__ or seen.__context__:
        seen = seen.__cause__ or seen.__context__
        texts.append(repr(seen))
    return "\n".join(texts)


@pytest.mark.slow
@pytest.mark.parametrize("count", [300, pytest.param(1000, marks=pytest.mark.long)])
def test_hundreds_of_broken_plans_and_tables(count):
    rng = random.Random(20250)
    outcomes = {"refused plan": 0, "refused table": 0, "integers": 0}
    for _ in range(count):
        content = mutated(rng)
        names = renamed(rng, content)
        data = table(rng, names)
        stage = "refused plan"
        try:
            plan = plan_from(content)
            asked = blocks(plan)
            stage = "refused table"
            opened = open_table(plan, data)
            try:
                found = [aggregate(plan, opened, block) for block in asked]
            finally:
                opened.close()
            stage = "integers"
            assert all(
                set(counts) == set(no_rows(block))
                for counts, block in zip(found, asked, strict=True)
            )
        except LeastNoiseError as error:
            told = tell(error)
            assert not any(secret in told for secret in SECRETS), told
            assert len(told) > 20
        outcomes[stage] += 1
    assert all(found > count // 20 for found in outcomes.values()), outcomes
