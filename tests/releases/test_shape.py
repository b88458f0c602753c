"""What one person can change in each draw of a plan: derived, and seen on neighbouring tables."""

import random
from fractions import Fraction

import numpy as np
import pytest

from leastnoise import Box, OneSided, Plan, Statistic, release
from leastnoise.errors import PlanError
from leastnoise.ledger.ledger import Ledger
from leastnoise.releases.estimates import estimate
from leastnoise.releases.estimates.combination import combined
from leastnoise.releases.estimates.trials import worth
from leastnoise.releases.noise.layout import layouts
from leastnoise.releases.noise.mechanism import mechanism
from leastnoise.releases.noise.sensitivity import blocks
from leastnoise.releases.plan.keys import Key
from leastnoise.releases.release import _drawn
from leastnoise.sampling import InsecureSeededEntropy
from releases import reference_release as reference
from releases import tables
from releases.tables import neighbour_of

X = {"column": "x", "lower": 0, "upper": 10, "pitch": 0.5, "missing": "drop"}
BY = (Key("g", ("a", "b", "é")),)
PERSON = {"person": "id", "rows_per_person": 3, "groups_per_person": 2, "rows_per_group": 2}
ROW = {"one_row_per_person": True}
COUNTS = (
    Statistic("count"),
    Statistic("sum", **X),
    Statistic("count", group_by=BY),
    Statistic("sum", **{**X, "group_by": BY}),
)


TWICE = {"person": "id", "rows_per_person": 2, "groups_per_person": 2}


def plan(statistics, relation="add/remove", unit=PERSON, **more):
    persons = {**unit, **({"person_is": "a patient"} if "person" in unit else {})}
    return Plan("shape", None, relation, tuple(statistics), 1.0, 1e-6, **persons, **more)


def spaces(one):
    found = layouts(blocks(one), blocks(one, joint=True))
    return {layout.name: {spec.changes for spec in layout.specs} for layout in found}


def test_counts_and_sums_that_are_not_negative_move_the_same_way():
    assert spaces(plan(COUNTS[:2]))["joint"] == {OneSided()}
    found = spaces(plan(COUNTS))
    assert found["joint"] == {OneSided(touched=6)}  # 2 of all rows, 2 in each of 2 groups
    assert found["by group"] == {OneSided()}
    assert found["product"] == {Box()}


@pytest.mark.parametrize(
    ("statistics", "relation", "more"),
    [
        (COUNTS[:2], "replace", {}),
        ((Statistic("sum", **{**X, "lower": -10}),), "add/remove", {}),
        ((COUNTS[0], COUNTS[2]), "add/remove", {"postprocess": ("totals",), "unit": TWICE}),
    ],
    ids=["replace", "values of both signs", "totals"],
)
def test_what_may_move_either_way_is_for_the_whole_cube(statistics, relation, more):
    for found in spaces(plan(statistics, relation, **more)).values():
        assert all(isinstance(space, Box) for space in found)


@pytest.mark.parametrize("relation", ["add/remove", "replace"])
@pytest.mark.parametrize("unit", [PERSON, ROW], ids=["persons", "rows"])
def test_no_neighbour_is_outside_of_the_space(unit, relation):
    """Every draw of every layout, over random tables with and without one person."""
    asked = COUNTS if unit is PERSON or relation == "add/remove" else (COUNTS[1], COUNTS[3])
    one = plan(asked, relation, unit)
    kind = "ids" if unit is PERSON else "rows"
    rng, reached = random.Random(3), set()
    for seed in range(25):
        rows = tables.table(seed, size=60, persons=6)
        neighbour = neighbour_of(rows, kind, relation, rng)
        for layout in layouts(blocks(one), blocks(one, joint=True)):
            change = changes_of_entries(one, layout, rows, neighbour)
            for spec, entries in layout.draws:
                moved = [change[i] for i in entries]
                space = layout.specs[spec].changes
                assert all(abs(x) <= 1 for x in moved)
                assert np.count_nonzero(moved) <= space.touched_of(layout.specs[spec].batch)
                if space.is_one_sided:
                    assert all(x >= 0 for x in moved) or all(x <= 0 for x in moved)
                    reached.add(np.count_nonzero(moved))
    assert (max(reached, default=0) > 1) == (relation == "add/remove")


def changes_of_entries(one, layout, rows, neighbour):
    before, after = (
        [reference.aggregate(one, some, block) for block in layout.blocks]
        for some in (rows, neighbour)
    )
    found = []
    for entry in layout.entries:
        block = layout.blocks[entry.block]
        place = block.answers_of(entry.group).index(entry.answer)
        cell = block.cells[entry.group]
        moved = after[entry.block][cell][place] - before[entry.block][cell][place]
        found.append(Fraction(moved, entry.sensitivity))
    return found


def ten_sums(relation="add/remove"):
    asked = [
        Statistic("sum", column=f"c{i}", lower=0, upper=100, pitch=0.5, missing=0)
        for i in range(10)
    ]
    return plan(asked, relation, ROW)


@pytest.fixture(scope="module")
def made():
    return mechanism(ten_sums())


def table():
    import pyarrow

    rng = np.random.default_rng(2)
    return pyarrow.table({f"c{i}": rng.uniform(0.0, 100.0, 400) for i in range(10)})


def test_ten_sums_have_the_noise_of_their_shape(made):
    law = made.laws[0]
    assert law.changes == OneSided()
    assert law.noise.variance == pytest.approx(
        25.92, rel=0.04
    )  # beside the checks; 44 for the cube
    assert made.epsilon <= 1.0
    assert made.spends[0].changes == OneSided()
    assert 1.6 < made.gaussian_factor < 1.75  # of the best Gaussian noise for it, correlated too


def test_measured_errors_of_sums_and_differences(made):
    """The noise of 400 releases is what is stated: of numbers, of sums and of differences."""
    one = ten_sums()
    names = [statistic.name for statistic in one.statistics]
    forms = ({names[0]: 1}, {names[0]: 1, names[1]: -1}, dict.fromkeys(names, 1))
    errors, stated = [[], [], []], {}
    for seed in range(400):
        drawn = _drawn(InsecureSeededEntropy(seed), made, [Fraction(0)] * len(made.entries))
        noisy = [float(noise) * worth(made, i) for i, noise in enumerate(drawn)]
        rows = estimate.rows(one, made, noisy)
        value = {row.statistic: row.value for row in rows}
        for i, form in enumerate(forms):
            errors[i].append(sum(c * value[name] for name, c in form.items()))
            if i not in stated:
                stated[i] = combined(one, made, rows, form)
                assert stated[i].value == pytest.approx(errors[i][0], rel=1e-12)
    for i, each in enumerate(errors):
        # 400 draws know a standard deviation to about 5 %
        assert np.std(each) == pytest.approx(stated[i].noise_std, rel=0.15)
        assert np.mean(np.abs(each) <= stated[i].half_width) == pytest.approx(0.95, abs=0.035)
    # the points have the correlation ½, their places in bins of s = 100 none: 2(1 − ½) = 1, 55 = 10
    # + 90·½
    bins = 100.0**2 / 12.0
    points = stated[0].noise_std ** 2 - bins
    assert stated[1].noise_std ** 2 == pytest.approx(points + 2.0 * bins, rel=1e-6)
    assert stated[2].noise_std ** 2 == pytest.approx(55.0 * points + 10.0 * bins, rel=1e-6)


def test_what_is_correlated_is_told(made):
    done = release(ten_sums(), table=table(), prepared=made)
    law = done.as_dict()["law"]
    assert law["laws"][0]["correlation_of_two_answers"] == pytest.approx(0.4984, abs=1e-4)
    assert "all up or all down" in law["laws"][0]["one_person_changes"]
    (together,) = law["drawn_together"]
    assert len(together["answers"]) == 10
    assert "differences are more accurate" in law["why"]
    assert "differences are more accurate" in done.to_html()


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({}, "at least one"),
        ({"mean of x": 1}, "ratio of noisy numbers"),
        ({"nothing": 1}, "no statistic 'nothing'"),
        ({"count by g": 1}, "with one of its groups"),
        ({("count by g", "g = z"): 1}, "with one of its groups"),
    ],
)
def test_what_cannot_be_combined_is_named(form, words):
    import pyarrow

    asked = (*COUNTS, Statistic("mean", **X))
    one = plan(asked, unit=ROW)
    done = release(one, table=pyarrow.table({"x": [1.0, 2.0], "g": ["a", "b"]}))
    names = {row.statistic for row in done.rows}
    assert {"count", "count by g"} <= names
    groups = done.combine({("count by g", "g = a"): 1, ("count by g", "g = b"): 1})
    assert groups.noise_std > 0.0
    with pytest.raises(PlanError, match=words):
        done.combine(form)


def test_the_ledger_knows_the_space_and_settles_the_relation(made, tmp_path):
    with Ledger(tmp_path / "l") as ledger:
        ledger.open_dataset("shape", epsilon=3.0, delta=1e-5)
        release(ten_sums(), table=table(), prepared=made, ledger=ledger)
        (entry,) = ledger.entries("shape")
        assert OneSided() in {item.changes for item in entry.draws}
        assert ledger.check(every_entry=True).ok
        assert ledger.dataset("shape").unit.relation == "add/remove"
