"""Plans that publish a table with its margins: what is measured, what it counts, and its errors."""

import itertools
import math
import random
from dataclasses import replace

import numpy as np
import pytest

from leastnoise.errors import InvalidParameterError, PlanError
from leastnoise.releases.estimates import estimate
from leastnoise.releases.estimates.combination import combined
from leastnoise.releases.estimates.reconstructed import numbers
from leastnoise.releases.estimates.trials import worth
from leastnoise.releases.noise import margins
from leastnoise.releases.noise.mechanism import mechanism
from leastnoise.releases.noise.sensitivity import (
    Answer,
    Block,
    MeasuredMarginal,
    blocks,
    is_checks,
    measured_block,
    with_outside,
)
from leastnoise.releases.plan.keys import Key
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.statistic import Statistic
from leastnoise.releases.preview import outlook

SEX, AGE = ["f", "m"], list("abcde")
PAY = {"column": "pay", "lower": 0, "upper": 10, "pitch": 1, "missing": "drop"}


def by(*columns, complete=False):
    values = {"sex": SEX, "age": AGE}
    return {name: {"values": values[name], "complete": complete} for name in columns}


def counts(*groupings, complete=False):
    return tuple(
        Statistic("count", name=" × ".join(one) or "total", group_by=by(*one, complete=complete))
        for one in groupings
    )


ALL = ((), ("sex",), ("age",), ("sex", "age"))


def plan(statistics=None, *, complete=False, relation="add/remove", **declared):
    asked = counts(*ALL, complete=complete) if statistics is None else statistics
    return Plan("t", None, relation, asked, 1.0, 1e-6, one_row_per_person=True, **declared)


def rows(seed, size=60):
    rng = random.Random(seed)
    return [
        {
            "sex": rng.choice(["f", "m", "x", None]),
            "age": rng.choice([*AGE, "z", None]),
            "pay": rng.choice([None, 0.0, 3.0, 9.0, 12.0]),
        }
        for _ in range(size)
    ]


def arrow(listed):
    import pyarrow as pa

    kinds = {"sex": pa.string(), "age": pa.string(), "pay": pa.float64()}
    return pa.table({name: pa.array([r[name] for r in listed], k) for name, k in kinds.items()})


def without_noise(wanted, made, listed):
    """The published rows, and the measured integers, as they are without noise."""
    from leastnoise.releases.release import carry_out

    def nothing(stage, share):
        pass

    def exactly(_, answers):
        return list(answers)

    return carry_out(wanted, made, lambda: exactly, nothing, table=arrow(listed))[1]


def truth(listed, columns, group, *, complete=False):
    """How many rows a group has, by its definition."""
    known = {"sex": SEX, "age": AGE}
    kept = [
        row
        for row in listed
        if not complete or all(row[name] in values for name, values in known.items())
    ]
    return sum(all(row[c] == key for c, key in zip(columns, group, strict=True)) for row in kept)


# What is measured


@pytest.mark.parametrize(
    ("complete", "goal", "measured", "stds"),
    [
        (True, "mean", ["sex × age"], (4.291, 3.034, 1.919, 1.357)),
        (True, "largest", ["sex", "sex × age"], (3.614, 2.555, 3.614, 2.555)),
        (False, "mean", ["sex", "sex × age"], (4.489, 2.592, 4.489, 2.592)),
    ],
)
def test_the_example_of_the_recipe(complete, goal, measured, stds):
    wanted = plan(complete=complete, goal=goal)
    made = mechanism(wanted)
    (table,) = made.tables
    assert [margins.named_marginal(table, one) for one in table.support] == measured
    found = outlook(wanted, made)[:4]
    assert [one.noise_std for one in found] == pytest.approx(stds, rel=1e-3)
    assert [one.separate_std for one in found] == pytest.approx([5.640] * 4, rel=1e-3)
    assert [law.uses for law in made.laws] == [len(measured)]
    assert [spend.uses for spend in made.spends] == [len(measured)]
    assert made.epsilon <= 1.0


def test_what_was_compared_and_refused():
    tried = mechanism(plan()).tried
    refused = [one.measured for one in tried if one.refused]
    assert (("sex × age",),) in refused  # 5.757 for the total, and 5.640 separately
    assert tried[0].uses == 2


def test_one_grouping_is_measured_as_ever():
    for asked in (counts(("sex",)), counts(("sex", "age")), counts(())):
        made = mechanism(plan(asked))
        assert made.tables == ()
        assert made.tried == ()
        assert made.groupings == made.blocks


def test_wanted_sigmas_and_persons_with_rows_are_no_table():
    sigma = (*counts(()), Statistic("count", name="s", group_by=by("sex"), sigma=3.0))
    assert margins.margin_tables(plan(sigma), blocks(plan(sigma))) == []
    person = Plan(
        "t", None, "add/remove", counts(*ALL), 1.0, 1e-6, person="id",
        rows_per_person=3, groups_per_person=2, rows_per_group=1,
    )  # fmt: skip
    assert margins.margin_tables(person, blocks(person)) == []


def test_groupings_of_one_set_in_another_order_are_no_table():
    asked = (
        Statistic("count", name="a", group_by=by("sex", "age")),
        Statistic("count", name="b", group_by=by("age", "sex")),
    )
    assert margins.margin_tables(plan(asked), blocks(plan(asked))) == []


# What margins count


@pytest.mark.parametrize("complete", [False, True])
@pytest.mark.parametrize("goal", ["mean", "largest"])
def test_margins_count_what_their_definition_says(complete, goal):
    pytest.importorskip("ibis")
    wanted = plan(complete=complete, goal=goal)
    made = mechanism(wanted)
    for seed in range(3):
        listed = rows(seed)
        found = {(r.statistic, r.group): r.value for r in without_noise(wanted, made, listed)}
        for columns in ALL:
            values = [SEX if name == "sex" else AGE for name in columns]
            for group in itertools.product(*values):
                named = ", ".join(f"{c} = {k}" for c, k in zip(columns, group, strict=True))
                expected = truth(listed, columns, group, complete=complete)
                assert found[" × ".join(columns) or "total", named] == pytest.approx(expected)
        if complete:
            outside = sum(r["sex"] not in SEX or r["age"] not in AGE for r in listed)
            assert found["rows with other keys", "sex, age"] == pytest.approx(outside)
        else:
            for name, values in (("sex", SEX), ("age", AGE)):
                other = sum(r[name] not in values for r in listed)
                assert found["rows with other keys", name] == pytest.approx(other)


def test_a_column_in_every_grouping_needs_no_hidden_key():
    pytest.importorskip("ibis")
    wanted = plan(counts(("sex",), ("sex", "age")))
    made = mechanism(wanted)
    (table,) = made.tables
    assert dict(zip([key.column for key in table.keys], table.hidden, strict=True)) == {
        "sex": False,
        "age": True,
    }
    listed = rows(5)
    found = {(r.statistic, r.group): r.value for r in without_noise(wanted, made, listed)}
    for key in SEX:
        assert found["sex", f"sex = {key}"] == pytest.approx(truth(listed, ["sex"], [key]))
    outside = sum(r["sex"] not in SEX for r in listed)
    assert found["rows with other keys", "sex"] == pytest.approx(outside)
    inside = sum(r["sex"] in SEX and r["age"] not in AGE for r in listed)
    assert found["rows with other keys", "age"] == pytest.approx(inside)


def test_complete_keys_of_one_grouping_count_nowhere_else():
    """Also where nothing is a table: a row without a declared key is in no statistic."""
    pytest.importorskip("ibis")
    asked = (
        Statistic("sum", **{**PAY, "missing": 0}),
        Statistic("count", name="sex", group_by=by("sex", complete=True)),
    )
    wanted = plan(asked)
    made = mechanism(wanted)
    assert made.tables == ()
    listed = rows(7)
    found = {(r.statistic, r.group): r.value for r in without_noise(wanted, made, listed)}
    kept = [min(r["pay"] or 0.0, 10.0) for r in listed if r["sex"] in SEX]
    assert found["sum of pay", ""] == pytest.approx(sum(kept))
    assert found["rows with other keys", "sex"] == sum(r["sex"] not in SEX for r in listed)


def test_means_and_variances_of_a_table():
    pytest.importorskip("ibis")
    asked = tuple(
        Statistic("variance", name=" × ".join(one) or "all", group_by=by(*one), **PAY)
        for one in ((), ("sex",))
    )
    wanted = plan(asked)
    made = mechanism(wanted)
    (table,) = made.tables
    assert {answer.measure for answer in table.answers} == {"centred", "square", "present"}
    listed = rows(3, 4000)
    found = {(r.statistic, r.group): r for r in without_noise(wanted, made, listed)}
    for key in SEX:
        values = [min(r["pay"], 10.0) for r in listed if r["sex"] == key and r["pay"] is not None]
        assert found["sex", f"sex = {key}"].value == pytest.approx(np.var(values), abs=1e-6)
        assert found["sex", f"sex = {key}"].half_width > 0.0
    # No count of rows in the table: other keys are among the checks that count persons.
    others = sum(r["sex"] not in SEX for r in listed)
    assert found["persons with other keys", "sex"].value <= others
    assert found["persons with other keys", "sex"].upper >= others


def test_one_scan_counts_all_marginals_of_a_table():
    pytest.importorskip("ibis")
    from leastnoise.releases.data.counts import aggregate
    from leastnoise.releases.data.opening import open_table
    from leastnoise.releases.data.scans import parted, scans

    for asked in (counts(*ALL), counts(("sex",), ("sex", "age")), counts(*ALL, complete=True)):
        made = mechanism(plan(asked, goal="largest"))
        planned = scans(made.blocks)
        assert len(planned) == 1
        assert planned[0].serves == tuple(range(len(made.blocks)))
        table = open_table(plan(asked), arrow(rows(8)))
        try:
            whole = aggregate(plan(asked), table, planned[0].block)
            alone = [aggregate(plan(asked), table, block) for block in made.blocks]
        finally:
            table.close()
        assert parted(planned[0], made.blocks, whole) == alone


def test_many_columns_share_a_few_scans(monkeypatch):
    from leastnoise.releases.data import scans

    made = mechanism(plan(counts(("sex",), ("age",), ("sex", "age")), goal="largest"))
    monkeypatch.setattr(scans, "MOST_CELLS", 1)
    assert len(scans.scans(made.blocks)) == len(made.blocks)


@pytest.mark.parametrize("tables", [1, 2])
def test_a_table_beside_what_is_none(tables):
    """All margins of three columns, and a sum by one of them, which is in no table but for the
    number of its rows; or, beside the sum of all, in a table of its own."""
    pytest.importorskip("ibis")
    import pyarrow as pa

    from leastnoise.releases.release import carry_out

    names = "abc"
    asked = [
        Statistic("count", name="".join(part) or "total", group_by={c: ["0", "1"] for c in part})
        for size in range(4)
        for part in itertools.combinations(names, size)
    ]
    yes = {"column": "yes", "lower": 0, "upper": 1, "pitch": 1, "missing": 0}
    asked.append(Statistic("sum", name="yes by a", group_by={"a": ["0", "1"]}, **yes))
    if tables == 2:
        asked.append(Statistic("sum", name="yes", **yes))
    wanted = plan(tuple(asked))
    made = mechanism(wanted)
    assert [table.answers[0].measure for table in made.tables] == ["rows", "centred"][:tables]
    rng = random.Random(4)
    listed = [
        {**{c: rng.choice(["0", "1", "2"]) for c in names}, "yes": float(rng.randrange(2))}
        for _ in range(2000)
    ]
    columns = {name: [row[name] for row in listed] for name in ("a", "b", "c", "yes")}
    plain = {"table": pa.table(columns)}  # and no noise
    added = carry_out(wanted, made, lambda: lambda _, given: given, lambda *_: None, **plain)[1]
    found = {(row.statistic, row.group): row for row in added}
    assert found["total", ""].value == pytest.approx(2000)
    ones = [row for row in listed if row["a"] == "1"]
    assert found["a", "a = 1"].value == pytest.approx(len(ones))
    assert found["yes by a", "a = 1"].value == pytest.approx(sum(row["yes"] for row in ones))
    if tables == 2:
        assert found["yes", ""].value == pytest.approx(sum(row["yes"] for row in listed))
    for c in names:
        others = sum(row[c] == "2" for row in listed)
        assert found["rows with other keys", c].value == pytest.approx(others)
    told = {one.statistic: one for one in outlook(wanted, made)}
    assert told["abc"].noise_std < told["abc"].separate_std
    # A sum is its centred sum, measured by itself, and half of a number of rows of the table.
    centred = math.sqrt(told["yes by a"].noise_std ** 2 - (0.5 * told["a"].noise_std) ** 2)
    form = {("yes by a", "a = 1"): 2.0, ("a", "a = 1"): -1.0}
    together = combined(wanted, made, added, form)
    assert together.noise_std == pytest.approx(2.0 * centred)
    assert 1.9 < together.half_width / together.noise_std < 2.2


# What one person changes


@pytest.mark.parametrize("relation", ["add/remove", "replace"])
@pytest.mark.parametrize("complete", [False, True])
@pytest.mark.parametrize("kind", ["count", pytest.param("mean", marks=pytest.mark.long)])
def test_neighbouring_tables(relation, complete, kind):
    """Brute force over neighbours: in all measured marginals together no more cells change than
    the noise is made for, and none by more than its sensitivity."""
    pytest.importorskip("ibis")
    from leastnoise.releases.data.counts import aggregate
    from leastnoise.releases.data.opening import open_table

    numbers_of = PAY if kind == "mean" else {}
    asked = tuple(
        Statistic(kind, name=" × ".join(one), group_by=by(*one, complete=complete), **numbers_of)
        for one in (("sex",), ("age",), ("sex", "age"))
    )
    wanted = plan(asked, relation=relation, goal="largest")
    made = mechanism(wanted)
    assert made.tables
    measured = [block for block in made.blocks if not is_checks(block)]

    def answers(listed):
        table = open_table(wanted, arrow(listed))
        try:
            return [aggregate(wanted, table, block) for block in measured]
        finally:
            table.close()

    listed = rows(11, 7)
    whole = answers(listed)
    allowed = sum(block.touched for block in measured)
    drawn = [made.laws[i] for i in {draw.law for draw in made.draws if draw.entries[0] == 0}]
    per_cell = len(measured[0].answers) // drawn[0].noise.dimension
    assert drawn[0].uses == allowed * per_cell
    most = 0
    for i in range(len(listed)):
        others = listed[:i] + listed[i + 1 :]
        beside = others if relation == "add/remove" else [*others, rows(100 + i, 1)[0]]
        changed = 0
        for block, before, after in zip(measured, whole, answers(beside), strict=True):
            for cell, values in before.items():
                moved = [abs(a - b) for a, b in zip(values, after[cell], strict=True)]
                bounds = block.sensitivities
                if len(moved) != len(bounds):
                    bounds = (block.other_sensitivity,)
                assert all(a <= b for a, b in zip(moved, bounds, strict=True))
                changed += any(moved)
        most = max(most, changed)
    assert 0 < most <= allowed


def test_a_measured_marginal():
    """Its sensitivities and the cells that one person changes, case by case."""
    rows_alone = Block((), (Answer("rows"),), (), (1.0,), (), 1)
    sex = Key("sex", tuple(SEX))
    added, replaced = plan(), plan(counts(("sex",)), relation="replace")

    def measured(wanted, keys, **about):
        return measured_block(wanted, keys, MeasuredMarginal(0, **about), rows_alone)

    assert measured(added, ()).sensitivities == (1,)
    assert measured(replaced, ()) is None  # every row is in the total
    assert measured(replaced, (), within=(sex,)).sensitivities == (1,)
    assert measured(added, (sex,)).touched == 1
    assert measured(replaced, (sex,)).touched == 2
    single = Key("sex", ("f",))
    assert measured(replaced, (single,)).touched == 1
    assert measured(replaced, (single,), hidden=(single,)).touched == 2


def test_the_cell_outside_of_a_table():
    """Where persons are replaced it is free only if its own marginal has two cells that change:
    another marginal may have another law."""
    rows_alone = Block((), (Answer("rows"),), (), (1.0,), (), 1)
    about = MeasuredMarginal(0, within=(Key("sex", ("f",)),))
    added, replaced = plan(), plan(counts(("sex",)), relation="replace")
    total = measured_block(replaced, (), about, rows_alone)
    (alone,) = with_outside(replaced, [total])
    assert alone.other is not None
    assert not alone.other_is_free
    beside = measured_block(replaced, (Key("age", tuple(AGE)),), about, rows_alone)
    assert not with_outside(replaced, [total, beside])[0].other_is_free
    assert with_outside(replaced, [beside, total])[0].other_is_free
    assert with_outside(added, [total])[0].other_is_free
    assert alone.cells == [(), ("outside",)]


def test_the_total_is_public_where_persons_are_replaced():
    with pytest.raises(PlanError, match="public"):
        mechanism(plan(relation="replace"))
    made = mechanism(plan(counts(("sex",), ("age",), ("sex", "age")), relation="replace"))
    for table in made.tables:
        assert () not in table.support
    assert sum(law.uses for law in made.laws) == 2 * sum(len(t.support) for t in made.tables)
    # With complete keys it is not: a row with another key does not count.
    whole = mechanism(plan(complete=True, relation="replace"))
    assert whole.epsilon <= 1.0


# Errors


@pytest.fixture(scope="module")
def example():
    wanted = plan()
    made = mechanism(wanted)
    rng = np.random.default_rng(0)
    law = made.laws[0].noise
    noise = law.insecure_draws((1500, len(made.entries)), rng)
    found = [estimate.rows(wanted, made, list(one)) for one in noise.reshape(1500, -1)]
    return wanted, made, found


def test_intervals_hold_and_stds_are_right(example):
    _, _, found = example
    values = np.array([[row.value for row in one] for one in found])
    widths = np.array([row.half_width for row in found[0]])
    stds = np.array([row.noise_std for row in found[0]])
    held = (np.abs(values) <= widths).mean(axis=0)
    assert held.min() > 0.935
    assert held.max() < 0.975
    assert values.std(axis=0) == pytest.approx(stds, rel=0.08)


@pytest.mark.parametrize(
    "form",
    [
        {("sex", "sex = f"): 1.0, ("sex", "sex = m"): -1.0},
        {("sex", "sex = f"): 1.0, ("sex", "sex = m"): 1.0},
        {"total": 1.0, ("age", "age = a"): -2.0, ("sex × age", "sex = f, age = b"): 3.0},
    ],
)
def test_sums_and_differences(example, form):
    wanted, made, found = example
    together = combined(wanted, made, found[0], form)
    values = []
    for one in found:
        known = {(row.statistic, row.group): row.value for row in one}
        named = ((k, "") if isinstance(k, str) else k for k in form)
        values.append(sum(f * known[k] for f, k in zip(form.values(), named, strict=True)))
    assert np.std(values) == pytest.approx(together.noise_std, rel=0.06)
    assert 0.935 < np.mean(np.abs(values) <= together.half_width) < 0.975
    assert together.value == pytest.approx(values[0])


def test_covariances_are_closed_forms(example):
    wanted, made, found = example
    of_tables = numbers(made)
    places = {s.name: used for s, used in estimate.entries_of(wanted, made)}
    one, other = places["total"][0][0], places["sex"][1][0]
    values = np.array([[row.value for row in rows] for rows in found])
    whole = np.cov(values[:, 0], values[:, 2])[0, 1]
    expected = of_tables.covariance(one, other) * worth(made, one) * worth(made, other)
    assert whole == pytest.approx(expected, rel=0.15)
    assert of_tables.covariance(one, one) == pytest.approx(of_tables.std(one) ** 2)


def test_published_numbers_add_up(example):
    _, _, found = example
    for one in found[:20]:
        known = {(row.statistic, row.group): row.value for row in one}
        other = known["rows with other keys", "sex"]
        parts = [known["sex", f"sex = {key}"] for key in SEX]
        assert sum(parts) + other == pytest.approx(known["total", ""], abs=1e-9)


def test_a_joint_draw_of_two_answers():
    """Means of a table whose two answers share a draw: the noise that ± is computed from has the
    stated standard deviations, and a sum of both answers has its own."""
    asked = tuple(
        Statistic("mean", name=" × ".join(one) or "all", group_by=by(*one), **PAY)
        for one in ((), ("sex",))
    )
    wanted = plan(asked)
    made = mechanism(wanted)
    of_tables = numbers(made)
    places = {s.name: used for s, used in estimate.entries_of(wanted, made)}
    for used in (places["all"][0], places["sex"][0]):
        moved = of_tables.trials(used, 20_000)
        for place, noise in zip(used, moved, strict=True):
            assert np.std(noise) == pytest.approx(of_tables.std(place), rel=0.03)
        if made.layout == "by group":
            correlation = np.corrcoef(moved)[0, 1]
            expected = of_tables.covariance(*used) / (
                of_tables.std(used[0]) * of_tables.std(used[1])
            )
            assert correlation == pytest.approx(expected, abs=0.03)


# Whole numbers


def test_published_integers_agree_and_keep_their_intervals():
    pytest.importorskip("ibis")
    from leastnoise.releases.release import release
    from leastnoise.sampling import InsecureSeededEntropy

    wanted = plan(postprocess=("non-negative", "integer"))
    made = mechanism(wanted)
    listed = rows(2, 30)
    kept = total = 0
    for seed in range(8):
        done = release(
            wanted, table=arrow(listed), prepared=made, entropy=InsecureSeededEntropy(seed),
            not_private=True,
        )  # fmt: skip
        known = {(row.statistic, row.group): row for row in done.rows}
        assert all(row.value == math.floor(row.value) >= 0 for row in done.rows)
        assert all(row.lower <= row.value <= row.upper for row in done.rows)
        whole = known["total", ""].value
        for name in ("sex", "age"):
            parts = [row.value for (s, _), row in known.items() if s == name]
            assert sum(parts) + known["rows with other keys", name].value == whole
        for columns in ALL:
            values = [SEX if name == "sex" else AGE for name in columns]
            for group in itertools.product(*values):
                named = ", ".join(f"{c} = {k}" for c, k in zip(columns, group, strict=True))
                row = known[" × ".join(columns) or "total", named]
                kept += row.lower <= truth(listed, columns, group) <= row.upper
                total += 1
    assert kept >= 0.9 * total


# Declarations


def test_declarations():
    assert Key("sex", ("f",)).describe() == Key("sex", ("f",), complete=False).describe()
    assert Key("sex", ("f",), complete=True).describe()["complete"] is True
    assert plan().hash != plan(goal="largest").hash
    assert "goal" not in plan().describe()
    edges = Statistic("count", group_by={"pay": {"edges": [0, 1, 2], "complete": True}})
    assert edges.group_by[0].complete
    with pytest.raises(InvalidParameterError, match="complete"):
        Key("sex", ("f",), complete="yes")
    with pytest.raises(InvalidParameterError, match="goal"):
        plan(goal="best")
    assert plan(complete=True).complete_keys == (
        Key("sex", tuple(SEX), complete=True),
        Key("age", tuple(AGE), complete=True),
    )


def test_what_the_public_is_told():
    pytest.importorskip("ibis")
    from leastnoise.releases.release import release

    wanted = plan()
    done = release(wanted, table=arrow(rows(1, 400)))
    (told,) = done.as_dict()["law"]["tables"]
    assert told["measured"] == ["sex", "sex × age"]
    assert told["put_together"] == ["total", "age"]
    assert told["columns_with_a_hidden_key"] == ["sex", "age"]
    page = done.to_html()
    assert page.count("put together from the measured numbers by least squares") == 1
    assert done.combine({"total": 1}).noise_std == pytest.approx(4.489, rel=1e-3)
    # Rows with other keys are many here: the sentence names the statistics it is about.
    said = [record for record in done.to_arrow().to_pylist() if record["read_first"]]
    assert {one["statistic"] for one in said} >= {"sex", "age", "sex × age"}
    assert "total" not in {one["statistic"] for one in said}


def test_a_weight_moves_the_noise():
    asked = tuple(replace(one, weight=4.0 if one.name == "total" else 1.0) for one in counts(*ALL))
    wanted = plan(asked, goal="largest")
    made = mechanism(wanted)
    (table,) = made.tables
    assert () in table.support
    found = {one.statistic: one for one in outlook(wanted, made)}
    assert found["total"].noise_std < found["age"].noise_std
    assert Answer("rows") in table.answers


def test_tables_of_too_many_cells():
    """Beyond 100,000 groups a plan is refused with what to do; that hidden keys make a few more
    cells of them does not matter."""
    from leastnoise.releases.tables.strategy import MOST_CELLS, candidates

    def large(first, second):
        keys = {"a": list(map(str, range(first))), "b": list(map(str, range(second)))}
        groupings = ((), ("a",), ("b",), ("a", "b"))
        return tuple(
            Statistic("count", name=" × ".join(one) or "all", group_by={c: keys[c] for c in one})
            for one in groupings
        )

    with pytest.raises(PlanError, match="a × b' has more than 100000 groups: declare fewer keys"):
        plan(large(500, 400))
    wanted = plan(large(315, 317))
    (table,) = margins.margin_tables(wanted, blocks(wanted))
    assert math.prod(table.sizes) > MOST_CELLS >= 315 * 317
    asked = table.wanted(wanted, None)
    assert set(candidates(asked)) == {(), (0,), (1,), (0, 1)}
