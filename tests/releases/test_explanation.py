"""A plan in sentences: the numbers in them are those of the noise, and mistakes are named."""

import re

import pytest

from leastnoise import Plan, Statistic
from leastnoise.releases.explanation import explained
from leastnoise.releases.noise.mechanism import mechanism
from leastnoise.releases.noise.sensitivity import blocks
from leastnoise.releases.preview import outlook

PERSON = {"person": "id", "rows_per_person": 4, "groups_per_person": 2, "rows_per_group": 3}
ONE_ROW = {"one_row_per_person": True}
AGE = {"column": "age", "lower": 0, "upper": 100, "pitch": 0.5}
WARD = {"ward": ["north", "south", "west"]}


def told(*statistics, relation="add/remove", epsilon=1.0, delta=1e-6, **unit):
    plan = Plan("p", None, relation, statistics, epsilon, delta, **(unit or ONE_ROW))
    made = mechanism(plan)
    return plan, made, explained(plan, made)


@pytest.mark.parametrize("relation", ["add/remove", "replace"])
@pytest.mark.parametrize("unit", [PERSON, ONE_ROW], ids=["persons", "rows"])
def test_what_one_person_changes_is_what_the_noise_is_for(unit, relation):
    asked = [
        Statistic("sum", missing=20, **AGE),
        Statistic("sum", name="by ward", missing="drop", group_by=WARD, **AGE),
        Statistic("count", group_by=WARD),
    ]
    plan, made, found = told(*asked, relation=relation, **unit)
    sizes = {}
    for block in blocks(plan):
        for answer, size in zip(block.answers, block.sensitivities, strict=True):
            key = (block.group_by, answer.measure, answer.values)
            sizes[key] = (float(size * answer.unit), block.touched)
    for statistic, one in zip(plan.statistics, found.statistics, strict=True):
        measure = "sum" if statistic.kind == "sum" else "rows"
        values = statistic.values if measure == "sum" else None
        size, touched = sizes[statistic.group_by, measure, values]
        said = re.findall(r"at most ([\d,.]+)", one.one_person)
        assert float(said[0].replace(",", "")) == size
        if statistic.group_by:
            assert int(said[1]) == touched
    assert "the factor e^0.99" in found.protected
    halves = {row.statistic: row.half_width for row in outlook(plan, made)}
    shown = [
        float(re.findall(r"± ([\d,.]+)", one.error)[0].replace(",", "")) for one in found.statistics
    ]
    assert shown == pytest.approx([halves[one.statistic] for one in found.statistics], rel=0.06)


def test_what_is_published_is_said():
    _, _, found = told(
        Statistic("mean", missing="drop", expected_n=2500, where="age > 17", **AGE),
        Statistic("variance", missing=50, **AGE),
        Statistic("persons"),
        where="ward = 'north'",
        **PERSON,
    )
    mean, variance, persons = found.statistics
    assert mean.published == (
        "The mean of age where age > 17. Values below 0 count as 0, above 100 as 100, rounded to "
        "0.5; rows without a number are left out. Only rows where ward = 'north'."
    )
    assert "the number of rows by at most 4" in mean.one_person
    assert mean.error.startswith("With 2,500 values: ± ")
    assert "count as 50" in variance.published
    assert "declare expected_n" in variance.error
    assert persons.one_person.startswith("One person changes the number of persons by at most 1:")
    assert persons.one_person.endswith(
        "at most 4 rows of a person count, and a person is there or not."
    )
    assert found.warnings == ()


def test_rows_are_bounded_in_all_and_in_a_group():
    grouped = Statistic("count", group_by=WARD)
    _, _, found = told(grouped, **PERSON)
    why = "at most 4 rows of a person count, at most 3 of them in a group, and a person is there"
    assert why in found.statistics[0].one_person
    _, _, one = told(grouped, **{**PERSON, "rows_per_person": 1}, relation="replace")
    assert (
        "at most 1 row of a person counts, and one person is taken" in one.statistics[0].one_person
    )


def test_squares_are_those_that_the_noise_is_for():
    """Distances of 50 at most have squares of 0 to 2500, which are 1250 from the middle."""
    _, _, found = told(Statistic("variance", missing=50, **AGE))
    said = found.statistics[0].one_person
    assert "how far their squares are from the middle of theirs by at most 1,250" in said


def test_too_few_values_are_said_to_be():
    _, _, found = told(Statistic("mean", missing="drop", expected_n=3, **AGE), epsilon=0.1)
    assert found.statistics[0].error == "With 3 values there are too few to say anything."


@pytest.mark.parametrize(
    ("statistic", "more", "words"),
    [
        (Statistic("sum", column="x", lower=0, upper=1e9, pitch=1e5, missing=0), {}, "upper = 1e"),
        (Statistic("sum", column="x", lower=-9999999, upper=5, pitch=1e3, missing=0), {}, "lower"),
        (Statistic("count"), {"delta": 0.01}, "far below one over"),
        (
            Statistic("mean", expected_n=20000, missing="drop", **{**AGE, "pitch": 0.01}),
            {"delta": 5.1e-5},
            "one over the 20,000 persons",
        ),
        (Statistic("count"), {"epsilon": 9.0}, "next to nothing"),
        (
            Statistic("mean", column="x", lower=0, upper=90, pitch=30, missing=0, expected_n=9000),
            {},
            "smaller pitch",
        ),
        (Statistic("count", group_by={"ward": ["1", "B"]}), {}, "looks like a number"),
        (Statistic("count", group_by={"ward": ["A ", "B"]}), {}, "blanks at its ends"),
    ],
)
def test_the_usual_mistakes_are_named(statistic, more, words):
    _, _, found = told(statistic, **more, **ONE_ROW)
    assert len(found.warnings) == 1
    assert words in found.warnings[0]


def test_what_is_no_mistake_is_not_named():
    _, _, found = told(
        Statistic("mean", expected_n=90000, column="x", lower=0, upper=9, pitch=1, missing=0),
        Statistic("sum", column="y", lower=0, upper=1234567, pitch=1000, missing=0),
        Statistic("count", group_by={"ward": [1, 2]}),
    )
    assert found.warnings == ()
