"""Plans of persons with several rows, and tables of such rows."""

from leastnoise import Plan, Statistic
from leastnoise.releases.noise.mechanism import mechanism

TEN = {"g": tuple("ABCDEFGHIJ")}
A, B = {"a": ("x", "y")}, {"b": ("P", "Q", "R")}


def histogram(rows, groups, in_group=None, **more):
    asked = (Statistic("histogram", name="h", group_by=TEN),)
    return plan(asked, rows, groups, in_group, **more)


def plan(asked, rows, groups, in_group=None, relation="add/remove", **more):
    bounds = {
        "rows_per_person": rows, "groups_per_person": groups, "rows_per_group": in_group,
    }  # fmt: skip
    return Plan("p", None, relation, asked, 1.0, 1e-6, person="id", **bounds, **more)


def counts(**more):
    return tuple(
        Statistic("count", name=name, group_by=by, **more)
        for name, by in (("all", {}), ("a", A), ("b", B), ("ab", {**A, **B}))
    )


def mean(name, by):
    return Statistic(
        "mean", name=name, group_by=by, column="v", lower=0, upper=10, pitch=1, missing="drop"
    )


PLANS = {
    "counts": plan(counts(), 3, 2),
    "replaced": plan(counts(), 3, 2, relation="replace"),
    "two in a cell": plan(counts(), 4, 2, 2),
    "means": plan(tuple(mean(f"m{i}", by) for i, by in enumerate(({}, A, B, {**A, **B}))), 4, 3),
    "persons too": plan((*counts(), Statistic("persons", name="n")), 3, 2),
    "complete": plan(
        (
            Statistic("count", name="all"),
            Statistic("count", name="a", group_by={"a": {"values": ["x", "y"], "complete": True}}),
            Statistic("count", name="b", group_by=B),
        ),
        3,
        2,
    ),
    "one grouping": histogram(3, 2),
    "totals": plan(
        (Statistic("count", name="all"), Statistic("count", name="g", group_by=TEN)),
        3,
        3,
        postprocess=("totals",),
    ),
    "sums": plan(
        tuple(
            Statistic(
                "sum",
                name=f"s{i}",
                group_by=by,
                column="v",
                lower=-50,
                upper=900,
                pitch=1,
                missing="drop",
            )
            for i, by in enumerate(({}, A, {**A, **B}))
        ),
        4,
        4,
        relation="replace",
    ),
}
_made = {}


def made_of(name):
    if name not in _made:
        _made[name] = mechanism(PLANS[name])
    return _made[name]


def rows_of(rng, persons, most):
    """Rows of persons who may have too many of them, unknown keys, no id and no value."""
    return [
        {
            "id": person,
            "a": rng.choice(["x", "y", "z", None]),
            "b": rng.choice(["P", "Q", "R", "S"]),
            "v": rng.choice([0.0, 3.0, 10.0, 900.0, -50.0, None]),
            "g": rng.choice("ABCDZ"),
        }
        for person in persons
        for _ in range(rng.randrange(most + 1))
    ]
