"""Noise for plans that stewards write: within the budget, never worse than Gaussian noise, or an
error that says what to change."""

import math

import pytest

pytest.importorskip("ibis")

from leastnoise import DesignError, PrivacyLoss
from leastnoise.releases.estimates.estimate import rows
from leastnoise.releases.noise.mechanism import mechanism
from leastnoise.releases.noise.sensitivity import Answer, blocks
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.statistic import Statistic
from leastnoise.releases.preview import outlook

ALONE = {"one_row_per_person": True}


def keys(count, column="g"):
    return {column: [f"k{i}" for i in range(count)]}


def persons(rows_per_person, groups, in_group):
    return {
        "person": "id",
        "rows_per_person": rows_per_person,
        "groups_per_person": groups,
        "rows_per_group": in_group,
    }


def number(kind, name, lower=0, upper=100, pitch=0.1, **more):
    return Statistic(
        kind,
        name=f"{kind} {name}",
        column=name,
        lower=lower,
        upper=upper,
        pitch=pitch,
        missing="drop",
        **more,
    )


def sums(count, **more):
    return tuple(number("sum", f"c{i}", **more) for i in range(count))


COUNT = Statistic("count")

# relation, statistics, epsilon, delta, unit
PLANS = {
    "a count with more budget than it needs": ("add/remove", (COUNT,), 10.0, 1e-5, ALONE),
    "a count with hardly any": ("add/remove", (COUNT,), 0.05, 1e-12, ALONE),
    "two thousand keys": (
        "add/remove",
        (Statistic("count", group_by=keys(2000)),),
        2.0,
        1e-8,
        ALONE,
    ),
    "five hundred keys, in twenty": (
        "add/remove",
        (Statistic("count", group_by=keys(500)),),
        0.5,
        1e-6,
        persons(40, 20, 2),
    ),
    "rows replaced": ("replace", (Statistic("count", group_by=keys(50)),), 1.0, 1e-6, ALONE),
    "very different units": (
        "add/remove",
        (number("sum", "a", 0, 1, 0.001), number("sum", "b", -1e6, 1e6, 1)),
        1.0,
        1e-6,
        ALONE,
    ),
    "forty sums, little noise": ("add/remove", sums(40), 40.0, 1e-6, ALONE),
    "more than can be joint": ("add/remove", sums(150), 3.0, 1e-6, ALONE),
    "weights": (
        "add/remove",
        (Statistic("count", weight=5.0), number("sum", "x")),
        1.0,
        1e-6,
        ALONE,
    ),
    "sigmas only": (
        "add/remove",
        (Statistic("count", sigma=20.0), number("sum", "x", sigma=2000.0)),
        1.0,
        1e-6,
        ALONE,
    ),
    "tiny epsilon": ("add/remove", (COUNT, number("mean", "x")), 0.01, 1e-10, ALONE),
    "two groupings": (
        "add/remove",
        (
            Statistic("count", group_by=keys(12, "month")),
            number("sum", "x", group_by=keys(5, "region")),
        ),
        1.0,
        1e-6,
        persons(6, 3, 2),
    ),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.long] if name == "tiny epsilon" else [])
        for name in PLANS
    ],
)
def test_within_the_budget_and_never_worse_than_gaussian(name):
    relation, statistics, epsilon, delta, unit = PLANS[name]
    made = mechanism(Plan(name, None, relation, statistics, epsilon, delta, **unit))
    total = None
    for spend in made.spends:
        loss = PrivacyLoss.of(spend.noise, spend.sensitivity, spend.changes).compose(spend.uses)
        total = loss if total is None else total.compose(loss)
    assert total.epsilon(delta) <= made.epsilon * (1.0 + 1e-9)
    assert made.epsilon <= epsilon
    assert made.gaussian_factor >= 1.0
    assert sorted(i for draw in made.draws for i in draw.entries) == list(range(len(made.entries)))


@pytest.mark.slow
def test_weights_far_apart_are_met_as_far_as_noise_can_be_designed():
    statistics = (
        Statistic("count", weight=100.0),
        number("sum", "x"),
        number("sum", "y", weight=0.01),
    )
    made = mechanism(Plan("wild", None, "add/remove", statistics, 2.0, 1e-7, **ALONE))
    assert made.epsilon <= 2.0
    assert made.gaussian_factor >= 1.0
    asked = made.laws[:-1]  # the last one is that of the checks
    assert [law.noise.std for law in asked] == sorted(law.noise.std for law in asked)


def test_sigmas_beyond_the_budget_are_refused_with_what_they_cost():
    statistics = (Statistic("count", sigma=0.5), number("sum", "x", sigma=50.0))
    with pytest.raises(DesignError, match=r"wanted sigmas cost epsilon = .* declare larger ones"):
        mechanism(Plan("small", None, "add/remove", statistics, 0.5, 1e-6, **ALONE))


# A sum beside a count


def grouped(*kinds, relation="add/remove", **more):
    by = keys(4)
    statistics = [Statistic("count", name="count", group_by=by)] if "count" in kinds else []
    for kind in kinds:
        if kind != "count":
            statistics.append(
                Statistic(
                    kind,
                    name=kind,
                    column="x",
                    lower=20,
                    upper=100,
                    pitch=1,
                    missing=20,
                    group_by=by,
                    **more,
                )
            )
    return Plan("sums", None, relation, tuple(statistics), 1.0, 1e-6, **persons(4, 2, 2))


def test_a_sum_beside_a_count_needs_no_answer_of_its_own():
    plan = grouped("count", "sum", "mean")
    block, _ = blocks(plan)
    assert [answer.measure for answer in block.answers] == ["rows", "centred"]
    assert Answer("sum", plan.statistics[1].values) in blocks(grouped("sum"))[0].answers
    assert "sum" in [
        answer.measure for answer in blocks(grouped("count", "sum", relation="replace"))[0].answers
    ]
    assert "sum" in [
        answer.measure for answer in blocks(grouped("count", "sum", weight=2.0))[0].answers
    ]


def test_such_a_sum_is_the_centred_sum_and_the_middle_times_the_number():
    plan = grouped("count", "sum")
    made = mechanism(plan)
    place = {(entry.group, entry.answer.measure): i for i, entry in enumerate(made.entries)}
    noisy = [0.0] * len(made.entries)
    noisy[place[1, "rows"]], noisy[place[1, "centred"]] = (
        10.0,
        55.0,
    )  # ten values whose differences from 60 add up to 55
    found = {(row.statistic, row.group): row for row in rows(plan, made, noisy)}
    row = found["sum", "g = k1"]
    assert row.value == pytest.approx(655.0, rel=1e-12)
    sigma = made.laws[0].noise.std
    assert row.noise_std == pytest.approx(
        sigma * 2 * math.hypot(40.0, 60.0), rel=1e-12
    )  # two rows of a person, ± 40 and 60 each
    assert row.noise_std < sigma * 2 * 100.0
    assert 1.5 * row.noise_std < row.half_width < 2.3 * row.noise_std
    ahead = {line.statistic: line for line in outlook(plan, made)}
    assert (ahead["sum"].noise_std, ahead["sum"].half_width) == (row.noise_std, row.half_width)


def test_sixty_counts_take_the_rounded_sphere():
    """Counts, of which a person is in each: 12 % less variance than the best law on the
    integers."""
    plan = Plan(
        "sixty",
        None,
        "add/remove",
        (Statistic("count", group_by=keys(60)),),
        1.0,
        1e-6,
        **persons(60, 60, 1),
    )
    found = mechanism(plan)
    law, check = found.laws
    assert law.noise.domain == "integer"
    assert law.noise.dimension == 60
    assert law.noise.std < 30.85  # 30.79, and the number of rows with other keys
    assert (
        PrivacyLoss.of(law.noise, 1.0, law.changes)
        .compose(PrivacyLoss.of(check.noise, 1.0))
        .epsilon(1e-6)
        <= found.epsilon
        <= 1.0
    )
