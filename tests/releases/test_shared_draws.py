"""Draws that several blocks of one grouping share: what one person changes in them, by brute force
over neighbouring tables, and what the sharing saves."""

import itertools

import pytest

from leastnoise.releases.noise.layout import views_of
from leastnoise.releases.noise.mechanism import mechanism
from leastnoise.releases.noise.sensitivity import Answer, Block, MeasuredMarginal
from leastnoise.releases.plan.keys import Key
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.statistic import Statistic
from leastnoise.releases.preview import outlook

SEX, AGE = ["f", "m"], ["a", "b", "c"]
PAY = {"column": "pay", "lower": 0, "upper": 10, "pitch": 5, "missing": "drop"}


def by(*columns, complete=()):
    values = {"sex": SEX, "age": AGE}
    return {name: {"values": values[name], "complete": name in complete} for name in columns}


def counts(*groupings, complete=()):
    return [
        Statistic("count", name=" × ".join(one) or "n", group_by=by(*one, complete=complete))
        for one in groupings
    ]


def of_pay(kind, *groupings, complete=()):
    return [
        Statistic(
            kind, name=f"{kind} {' × '.join(one)}", group_by=by(*one, complete=complete), **PAY
        )
        for one in groupings
    ]


ALL = ((), ("sex",), ("age",), ("sex", "age"))
PLANS = {
    "a mean by one column": lambda c: counts(*ALL, complete=c) + of_pay("mean", ALL[1], complete=c),
    "two tables": lambda c: counts(*ALL, complete=c) + of_pay("mean", *ALL[:2], complete=c),
    "tables with other columns": lambda c: [
        *counts(*ALL, complete=c),
        *of_pay("mean", ("sex",), ("sex", "age"), complete=c),
    ],
    "a variance by both": lambda c: [
        *counts(("sex",), ("sex", "age"), complete=c),
        *of_pay("variance", ("sex", "age"), complete=c),
    ],
}


def plan(asked, relation="add/remove", **declared):
    whole = {"one_row_per_person": True, **declared}
    return Plan("t", None, relation, tuple(asked), 1.0, 1e-6, **whole)


def arrow(listed):
    import pyarrow as pa

    kinds = {"sex": pa.string(), "age": pa.string(), "pay": pa.float64()}
    return pa.table({name: pa.array([r[name] for r in listed], k) for name, k in kinds.items()})


def scaled(wanted, made, listed):
    """Every entry, in sensitivities, without noise."""
    from leastnoise.releases.release import carry_out

    seen = []

    def noted(_, answers):
        seen.append(list(answers))
        return list(answers)

    carry_out(wanted, made, lambda: noted, lambda *_: None, table=arrow(listed))
    return seen[0]


def changed_draws(made, before, after):
    """Of each law, how many draws have an entry that changes."""
    moved = {i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b}
    assert all(abs(after[i] - before[i]) <= 1 for i in moved)
    return [
        sum(bool(moved & set(draw.entries)) for draw in made.draws if draw.law == law)
        for law in range(len(made.laws))
    ]


LONG = pytest.mark.long


@pytest.mark.parametrize("relation", ["add/remove", pytest.param("replace", marks=LONG)])
@pytest.mark.parametrize(
    "complete", [pytest.param((), marks=LONG), ("sex",), pytest.param(("sex", "age"), marks=LONG)]
)
@pytest.mark.parametrize(
    "name",
    [
        "a mean by one column",
        "two tables",
        *(
            pytest.param(one, marks=LONG)
            for one in ("tables with other columns", "a variance by both")
        ),
    ],
)
def test_no_person_is_seen_in_more_draws_than_are_paid_for(name, complete, relation):
    """Every kind of row is added to, or put in the place of, every other one."""
    pytest.importorskip("ibis")
    asked = PLANS[name](complete)
    if relation == "replace":
        asked = [one for one in asked if one.group_by]
    wanted = plan(asked, relation)
    made = mechanism(wanted)
    kinds = [
        {"sex": sex, "age": age, "pay": pay}
        for sex, age, pay in itertools.product(["f", "m", "x"], ["a", "b", "z"], [None, 10.0])
    ]
    base = [{"sex": "f", "age": "a", "pay": 0.0}, {"sex": "x", "age": "b", "pay": 5.0}]
    empty = scaled(wanted, made, base)
    tables = {i: scaled(wanted, made, [*base, kind]) for i, kind in enumerate(kinds)}
    pairs = [(empty, one) for one in tables.values()]
    if relation == "replace":
        pairs = list(itertools.combinations(tables.values(), 2))
    for before, after in pairs:
        changed = changed_draws(made, before, after)
        for law, count in zip(made.laws, changed, strict=True):
            assert count <= law.uses
    if relation == "add/remove":
        most = [max(each) for each in zip(*(changed_draws(made, *p) for p in pairs), strict=True)]
        assert most[:-1] == [law.uses for law in made.laws[:-1]], made.laws  # it is reached


def test_a_mean_beside_a_table_shares_its_draws():
    """Measured apart the number of rows would be drawn once more: 7.8 and not 4.06."""
    wanted = plan(PLANS["a mean by one column"](()))
    made = mechanism(wanted)
    (table,) = made.tables
    assert table.answers == (Answer("rows"),)
    assert sorted((law.noise.dimension, law.uses) for law in made.laws[:-1]) == [(1, 1), (3, 1)]
    told = {one.statistic: one for one in outlook(wanted, made)}
    for name in ("n", "sex", "age", "sex × age"):
        assert told[name].noise_std < told[name].separate_std
    assert not any(one.refused for one in made.tried[:1])


def test_tables_share_the_draws_of_a_grouping():
    made = mechanism(plan(PLANS["two tables"](())))
    assert len(made.tables) == 2
    shared = [draw for draw in made.draws if len({made.entries[i].block for i in draw.entries}) > 1]
    assert shared
    for draw in shared:
        blocks = [made.blocks[made.entries[i].block] for i in draw.entries]
        cells = {
            block.cells[made.entries[i].group]
            for block, i in zip(blocks, draw.entries, strict=True)
        }
        assert len(cells) == 1


# Which blocks may share


def block(*keys, other=None, marginal=None):
    answer = Answer("rows")
    return Block(keys, (answer,), (1,), (1.0,), (None,), 1, other, marginal=marginal)


def test_what_may_not_be_shared():
    sex, age = Key("sex", ("f",)), Key("age", ("a",))
    whole = Key("age", ("a",), complete=True)
    rows = Answer("rows")
    hidden = MeasuredMarginal(0, (sex, age), is_one_row=True)
    beside = block(sex)
    assert views_of([block(sex, marginal=hidden), beside]) == [(0, 1)]
    # A person of several rows may be in other cells there.
    several = MeasuredMarginal(0, (sex, age))
    assert views_of([block(sex, marginal=several), beside]) == [(0,), (1,)]
    # A row without a declared age is outside of the table, and in a cell beside it.
    within = MeasuredMarginal(0, (sex,), (age,), is_one_row=True)
    assert views_of([block(sex, other=rows, marginal=within), beside]) == [(0,), (1,)]
    complete = MeasuredMarginal(0, (sex,), (whole,), is_one_row=True)
    assert views_of([block(sex, other=rows, marginal=complete), beside]) == [(0, 1)]
    # A row with another key is in the hidden cell, and in the cell of other keys beside it.
    assert views_of([block(sex, marginal=hidden), block(sex, other=rows)]) == [(0,), (1,)]
    assert views_of([beside, block(sex)]) == [(0,), (1,)]
