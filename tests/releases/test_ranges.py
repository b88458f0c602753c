"""The range of every answer of a plan: derived, seen on all neighbours of small tables, and used by
the noise."""

import math
import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pytest

from leastnoise import Box, Euclidean, OneSided, Plan, Statistic, cube, design, exact, release
from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.errors import LeastNoiseError, PlanError
from leastnoise.laws.correlated import gaussian_reach
from leastnoise.laws.lifted import LiftedNoise
from leastnoise.ledger.ledger import Ledger
from leastnoise.releases.data.counts import aggregate
from leastnoise.releases.data.opening import open_table
from leastnoise.releases.estimates import estimate
from leastnoise.releases.estimates.combination import combined
from leastnoise.releases.estimates.reconstructed import sums_of_draws
from leastnoise.releases.estimates.trials import worth
from leastnoise.releases.noise import layout as ways
from leastnoise.releases.noise.layout import LawSpec, layouts
from leastnoise.releases.noise.mechanism import mechanism
from leastnoise.releases.noise.search import SampledLaw, _gaussian, gaussian_epsilon, gaussian_mu
from leastnoise.releases.noise.sensitivity import blocks
from leastnoise.releases.plan.keys import Key
from leastnoise.releases.preview import outlook
from leastnoise.releases.release import _drawn, _noisy
from leastnoise.releases.report.guarantee import _sizes
from leastnoise.sampling import InsecureSeededEntropy
from releases import reference_release as reference
from releases import three_sets

ROW = {"one_row_per_person": True}
PERSON = {
    "person": "id",
    "person_is": "a patient",
    "rows_per_person": 2,
    "groups_per_person": 1,
    "rows_per_group": 2,
}
BY = (Key("g", ("a", "b")),)
ALL_KEYS = (Key("g", ("a", "b"), complete=True),)


def total(column, lower, upper, pitch=1.0, missing=None, **more):
    given = lower if missing is None else missing
    bounds = {"lower": lower, "upper": upper, "pitch": pitch, "missing": given}
    return Statistic("sum", column=column, **bounds, **more)


def plan(*asked, relation="add/remove", unit=ROW, epsilon=1.0, **more):
    return Plan("ranges", None, relation, asked, epsilon, 1e-6, **unit, **more)


def spaces(one):
    found = layouts(blocks(one), blocks(one, joint=True))
    return {layout.name: [spec.changes for spec in layout.specs] for layout in found}


PRESSURE = total("x", 80, 200)
AGE = total("y", -10, 40)
NO_PRESSURE = total("x", 80, 200, missing="drop")


# What is derived


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"asked": (PRESSURE, AGE)}, ((0.4, 1.0), (-0.25, 1.0))),
        ({"asked": (NO_PRESSURE, AGE)}, ((0.0, 1.0), (-0.25, 1.0))),
        ({"asked": (total("x", -200, -80), AGE)}, ((-1.0, -0.4), (-0.25, 1.0))),
        ({"asked": (total("x", 100, 100.5, 0.5), AGE)}, ((200 / 201, 1.0), (-0.25, 1.0))),
        # a sum beside a number of its values is had from the centred sum
        ({"asked": (AGE, Statistic("count"))}, ((-1.0, 1.0), (1.0, 1.0))),
        ({"asked": (NO_PRESSURE, Statistic("count"), AGE)}, ((0.0, 1.0), (1.0, 1.0), (-1.0, 1.0))),
        ({"asked": (PRESSURE, AGE), "unit": PERSON}, ((0.0, 1.0), (-0.25, 1.0))),
        (
            {"asked": (total("x", 80, 200, group_by=BY), total("y", -10, 40, group_by=BY))},
            ((0.0, 1.0), (-0.25, 1.0)),
        ),
        (
            # rows with another key count nowhere, so a person may have no row at all
            {"asked": (PRESSURE, AGE, Statistic("count", group_by=ALL_KEYS, sigma=500.0))},
            ((0.0, 1.0), (-0.25, 1.0)),
        ),
    ],
    ids=[
        "row",
        "absent",
        "negative",
        "tiny",
        "count",
        "count and values",
        "person",
        "group",
        "complete",
    ],
)
def test_the_range_of_each_answer_is_derived(asked, expected):
    given = dict(asked)
    found = spaces(plan(*given.pop("asked"), **given))
    name = "by group" if "by group" in found and expected[0] == (0.0, 1.0) else "joint"
    known = [one for one in found[name] if isinstance(one, OneSided) and one.ranges]
    for (low, high), (least, most) in zip(known[0].ranges, expected, strict=False):
        assert (low, high) == pytest.approx((least, most), rel=1e-15)


def test_a_lower_end_is_for_persons_who_come_or_go_alone():
    for found in spaces(plan(PRESSURE, AGE, relation="replace")).values():
        assert all(isinstance(space, Box) for space in found)


def test_ends_are_rounded_outwards():
    """1/3 and 2/3 are no floats: what is judged holds them."""
    for lower, upper in ((1, 3), (2, 3), (-1, 3), (-3, 1), (-3, -1), (33, 100), (7, 2**40 + 1)):
        ((space,),) = spaces(plan(total("x", lower, upper), AGE)).values()
        low, high = space.ranges[0]
        largest = max(abs(lower), abs(upper))
        assert Fraction(low) <= Fraction(lower, largest) <= Fraction(upper, largest)
        assert Fraction(upper, largest) <= Fraction(high)
        assert high - low <= (upper - lower) / largest + 1e-15


# Every neighbour of small tables

VALUES = (None, math.nan, -math.inf, 79.4, 80.0, 123.0, 1e300)
OTHERS = (None, -11.0, 0.0, 40.0)
KEYS = ("a", "b", "other", None)


def persons(unit):
    """Everybody who may come: all rows, or all pairs of rows, of one person."""
    rows = [{"x": x, "y": y, "g": g} for x, y, g in product(VALUES, OTHERS, KEYS)]
    if unit is ROW:
        return [[row] for row in rows]
    few = rows[::5]
    return [[{**row, "id": 7} for row in pair] for pair in product(few, few)]


def moved(one, found, rows, neighbour):
    """By how much each entry moves, in sensitivities."""
    before, after = (
        [reference.aggregate(one, some, block) for block in found.blocks]
        for some in (rows, neighbour)
    )
    changes = []
    for entry in found.entries:
        block = found.blocks[entry.block]
        at = block.answers_of(entry.group).index(entry.answer)
        cell = block.cells[entry.group]
        change = after[entry.block][cell][at] - before[entry.block][cell][at]
        changes.append(Fraction(change, entry.sensitivity))
    return changes


def is_within(change, space, answers):
    """Whether a change, or its mirror, is in a space; an answer that is not touched is 0."""
    each = space.range_of_each(answers)
    touched = space.touched_of(answers)

    def holds(v, low, high):
        return low <= v <= high or (v == 0 and touched < answers)

    return sum(v != 0 for v in change) <= touched and any(
        all(holds(sign * v, *one) for v, one in zip(change, each, strict=False)) for sign in (1, -1)
    )


GROUPED = (
    Statistic("count"),
    PRESSURE,
    total("y", -10, 40, missing="drop"),
    total("y", -40, -10, name="fallen", missing=-10, group_by=BY),
    Statistic("count", group_by=BY, weight=2.0),
    total("x", 80, 200, name="by g", group_by=BY),
)
COMPLETE = (PRESSURE, AGE, total("x", 80, 200, name="by g", group_by=ALL_KEYS))


@pytest.mark.parametrize("relation", ["add/remove", "replace"])
@pytest.mark.parametrize(
    ("asked", "unit"),
    [(GROUPED, ROW), (GROUPED, PERSON), (COMPLETE, ROW)],
    ids=["rows", "persons", "complete keys"],
)
def test_no_neighbour_is_outside_of_the_space(asked, unit, relation):
    """Everybody who may come, beside another person or nobody."""
    if relation == "replace":
        asked = [one for one in asked if one.kind == "sum"]
    one = plan(*asked, relation=relation, unit=unit)
    everybody = persons(unit)[:: 1 if unit is ROW else 3]
    ways_found = layouts(blocks(one), blocks(one, joint=True))
    if unit is ROW and relation == "add/remove":
        assert any(isinstance(s, OneSided) and s.ranges for w in spaces(one).values() for s in w)
    for number, rows in enumerate(everybody):
        other = everybody[(7 * number + 3) % len(everybody)]
        there = other if relation == "replace" else []
        beside = [{**row, "id": 8} for row in other] if number % 2 else []
        for found in ways_found:
            change = moved(one, found, [*beside, *there], [*beside, *rows])
            for spec, entries in found.draws:
                own = [change[i] for i in entries]
                asked_for = found.specs[spec]
                assert is_within(own, asked_for.changes, asked_for.batch)


@pytest.mark.parametrize(
    "case", ["mixed", "shared", pytest.param("weighted", marks=pytest.mark.long)]
)
def test_the_laws_that_are_drawn_hide_every_person(case, request):
    """As they are charged: each corner of what a person adds, divided by the scales, is within what
    the law is judged for, and costs no more than the judge says."""
    one, made = request.getfixturevalue(case)
    law, (draw, *_) = made.laws[0], made.draws
    scales = draw.scales or (1.0,) * len(draw.entries)
    values = [statistic.values for statistic in one.statistics]
    ends = [(Fraction(v.first), Fraction(v.last)) for v in values]
    pairs = zip(draw.entries, scales, strict=True)
    sizes = [made.entries[i].sensitivity * Fraction(scale) for i, scale in pairs]
    told = PrivacyLoss.of(law.noise, 1.0, law.changes).epsilon(1e-6)
    farthest = 0.0
    for corner in product(*ends):
        v = [x / size for x, size in zip(corner, sizes, strict=True)]
        assert is_within(v, law.changes, len(v))
        if law.noise.kind == "lifted":  # the pre-image is in the unit box
            ties = law.noise.ties or (1.0,) * len(v)
            assert all(abs(2 * x - Fraction(t)) <= 1 for x, t in zip(v, ties, strict=True))
        else:
            point = np.array([float(x) for x in v])
            away = float(point @ np.linalg.solve(law.noise.covariance, point))
            farthest = max(farthest, math.sqrt(away))
    if law.noise.kind != "lifted":  # the same law without ties, at this distance
        plain = replace(law.noise, common=0.0, shares=None)
        reach = math.sqrt(plain.variance) * farthest
        assert PrivacyLoss.of(plain, 1.0, Euclidean(reach)).epsilon(1e-6) <= told * (1.0 + 1e-4)
    assert made.spends[0].changes == law.changes
    assert made.epsilon <= 1.0


# What is gained

NINE = tuple(total(f"c{i}", 0, 1, 0.01) for i in range(9))
TEN = tuple(total(f"c{i}", 80, 200) for i in range(10))


@pytest.mark.parametrize(
    ("asked", "ranges", "sigma"),
    [
        ((*NINE, total("d", -1, 1, 0.01)), [(0, 1)] * 9 + [(-1, 1)], 5.348),
        (TEN, [(0.4, 1)] * 10, 5.0),
    ],
    ids=["mixed", "lower ends"],
)
def test_a_plan_has_the_noise_of_the_design(asked, ranges, sigma):
    made = mechanism(plan(*asked))
    best = design(delta=1e-6, epsilon=1.0, batch=10, changes=OneSided(ranges=ranges))
    assert best.sigma == pytest.approx(sigma, abs=1e-3)
    stds = np.array([made.std(i) / made.entries[i].sensitivity for i in range(10)])
    beside_the_checks = math.sqrt(np.mean(stds**2)) / best.sigma
    assert 1.0 < beside_the_checks < 1.016
    assert stds == pytest.approx(np.array(best.sigmas) * beside_the_checks, rel=1e-6)
    # the best Gaussian noise for it is correlated
    assert best.rivals["correlated Gaussian"] < best.rivals["Gaussian"]
    independent = math.sqrt(10.0) / gaussian_mu(1.0, 1e-6) / best.sigma
    assert made.gaussian_factor < 0.75 * independent


@pytest.fixture(scope="module")
def weighted():
    one = plan(*(total(f"c{i}", 80, 200, weight=2.0 if i == 9 else 1.0) for i in range(10)))
    return one, mechanism(one)


@pytest.mark.long
def test_a_weight_may_share_the_draw(weighted):
    """The others have far less noise than with weights apart, and it has no more than it may."""
    _, made = weighted
    stds = [made.std(i) / made.entries[i].sensitivity for i in range(10)]
    assert len(made.draws[0].entries) == 10
    assert stds[9] < 0.75 * stds[0]
    assert made.alternatives["joint, weights apart"] > 1.02
    assert max(stds) < 5.6  # 7.5 apart


def columns(count, size=50):
    import pyarrow

    rng = np.random.default_rng(2)
    return pyarrow.table({f"c{i}": rng.uniform(0.0, 200.0, size) for i in range(count)})


def test_very_unequal_weights_are_apart():
    asked = (Statistic("count", weight=2e3), total("x", 0, 1))
    found = layouts(blocks(plan(*asked)), blocks(plan(*asked), joint=True))
    assert all(spec.weights is None for one in found for spec in one.specs)
    assert max(len(one.specs) for one in found) == 2


def test_counts_and_answers_of_both_signs():
    """Whole numbers: the hidden count with ties, a law of the real line, is worth its fractions."""
    asked = (*(total(f"c{i}", 0, 1) for i in range(8)), total("d", -1, 1))
    made = mechanism(plan(*asked))
    stds = np.array([made.std(i) for i in range(9)])
    box = design(delta=1e-6, epsilon=1.0, batch=9, domain="integer").sigma
    assert math.sqrt(np.mean(stds**2)) < 0.87 * box


# What follows the noise


@pytest.fixture(scope="module")
def mixed():
    one = plan(
        *(total(f"c{i}", 0, 100) for i in range(6)), total("c6", -100, 100), total("c7", -50, 100)
    )
    return one, mechanism(one)


@pytest.fixture(scope="module")
def shared():
    one = plan(*(total(f"c{i}", 100 + 10 * i, 200) for i in range(8)))
    return one, mechanism(one)


@pytest.mark.parametrize("case", ["mixed", "shared"])
def test_measured_errors_are_those_stated(case, request):
    """Of numbers, sums and differences; of the preview, of the report."""
    one, made = request.getfixturevalue(case)
    names = [statistic.name for statistic in one.statistics]
    forms = [{name: 1} for name in (names[0], names[-1], names[-2])]
    forms += [{names[0]: 1, names[1]: -1}, {names[0]: 1, names[-1]: -2}, dict.fromkeys(names, 1)]
    errors, stated = [[] for _ in forms], {}
    for seed in range(600):
        drawn = _drawn(InsecureSeededEntropy(seed), made, [Fraction(0)] * len(made.entries))
        noisy = [float(noise) * worth(made, i) for i, noise in enumerate(drawn)]
        if seed == 0:
            rows = estimate.rows(one, made, noisy)
            stated = {i: combined(one, made, rows, form) for i, form in enumerate(forms)}
            alone = {row.statistic: row for row in rows}
        value = dict(zip(names, noisy, strict=False))
        for i, form in enumerate(forms):
            errors[i].append(sum(c * value[name] for name, c in form.items()))
    for i, each in enumerate(errors):
        assert np.std(each) == pytest.approx(stated[i].noise_std, rel=0.12)
        assert np.mean(np.abs(each) <= stated[i].half_width) == pytest.approx(0.95, abs=0.03)
    for i, name in enumerate((names[0], names[-1], names[-2])):
        assert stated[i].noise_std == pytest.approx(alone[name].noise_std, rel=1e-9)
        assert stated[i].half_width == pytest.approx(alone[name].half_width, rel=1e-2)
    for seen in outlook(one, made)[: len(names)]:
        assert seen.noise_std == pytest.approx(alone[seen.statistic].noise_std, rel=1e-12)


@pytest.mark.parametrize("case", ["mixed", "shared"])
def test_it_is_told_and_charged(case, request, tmp_path):
    one, made = request.getfixturevalue(case)
    with Ledger(tmp_path / "l") as ledger:
        ledger.open_dataset("ranges", epsilon=3.0, delta=1e-5)
        done = release(one, table=columns(8), ledger=ledger, prepared=made)
        law = done.as_dict()["law"]
        spent = ledger.dataset("ranges").spent
        assert ledger.check(every_entry=True).ok
    told = law["laws"][0]
    assert told["stds"] == pytest.approx(
        [made.std(i) / made.entries[i].sensitivity for i in range(8)], rel=1e-12
    )
    assert len(law["drawn_together"][0]["ties"]) == 8
    assert "within its range" in told["one_person_changes"]
    assert "at most" in law["why"]
    assert "differences are more accurate" in done.to_html()
    with Ledger(tmp_path / "l") as again:  # the law that it stored is judged as it was
        assert again.dataset("ranges").spent == spent
        assert again.dataset("ranges").unit.relation == "add/remove"
        assert again.check(every_entry=True).ok
        with pytest.raises(LeastNoiseError, match="replace"):
            again.spend("ranges", made.spends, plan_hash="other", relation="replace")


# A real table

# the ST depression of a resting heart may be below 0
HEART = {**three_sets.BOUNDS["heart"], "oldpeak": (-3, 6.5, 0.1)}


def errors_of_heart(releases):
    """Errors of so many releases, in the stated standard deviations, whether they are within the
    stated ±, and the first. The table is scanned once; noise is drawn as ever, from seeds."""
    one = plan(*(total(column, *bounds, name=column) for column, bounds in HEART.items()))
    table, made = three_sets.heart_patients(), mechanism(one)
    truth = []
    for column, (lower, upper, pitch) in HEART.items():
        values = np.array(table[column].to_numpy(zero_copy_only=False), dtype=float)
        values = np.where(np.isnan(values), lower, values)
        truth.append(pitch * np.sum(np.floor(np.clip(values, lower, upper) / pitch + 0.5)))
    opened = open_table(one, table)
    try:
        counts = [aggregate(one, opened, block) for block in made.blocks]
    finally:
        opened.close()
    missed, within = [], []
    for seed in range(releases):
        noisy = _noisy(made, counts, partial(_drawn, InsecureSeededEntropy(seed)))
        rows = estimate.rows(one, made, noisy)[: len(HEART)]
        missed.append(np.array([row.value for row in rows]) - truth)
        within.append(np.abs(missed[-1]) <= [row.half_width for row in rows])
    stated = np.array([row.noise_std for row in rows])
    return made, np.array(missed) / stated, np.array(within), stated


def test_sums_of_heart_patients_have_the_noise_that_is_stated():
    """Age in 20..90, blood pressure in 80..200, cholesterol in 100..450 and seven more."""
    made, missed, within, stated = errors_of_heart(150)
    assert made.laws[0].changes.ranges is not None
    assert math.sqrt(np.mean(missed**2)) == pytest.approx(1.0, abs=0.1)
    assert np.mean(within) == pytest.approx(0.95, abs=0.03)
    uppers = np.array([upper for _, upper, _ in HEART.values()])
    fitted = math.sqrt(np.mean((stated / uppers) ** 2))
    assert fitted == pytest.approx(5.24, abs=0.03)  # 6.73 for the box


@pytest.mark.long
def test_many_releases_of_heart_patients():
    _, missed, within, _ = errors_of_heart(600)
    assert np.sqrt(np.mean(missed**2, axis=0)) == pytest.approx(1.0, abs=0.1)
    assert np.mean(within) == pytest.approx(0.95, abs=0.012)
    assert abs(np.mean(missed)) < 0.1


def test_the_mirror_of_a_draw_is_used_where_it_fits():
    assert ways._turned([(0.0, 1.0)], [(-1.0, 0.0), (0.0, 1.0)]) == [(-1.0, 0.0)]
    assert ways._turned([(0.0, 1.0)], [(-0.2, 1.0)]) == [(0.0, 1.0)]


# Plans at random


def any_statistic(rng, number):
    kind = rng.choice(["sum", "sum", "sum", "mean", "count", "variance"])
    keys = [(), (), (Key("g", ("a", "b"), complete=rng.random() < 0.3),), (Key("h", ("u", "v")),)]
    more = {"name": f"s{number}", "group_by": rng.choice(keys), "weight": rng.choice([1, 1, 2, 5])}
    if kind == "count":
        return Statistic("count", **more)
    lower = rng.choice([-200, -10, -1, 0, 0, 1, 80, 199])
    upper = lower + rng.choice([1, 2, 50, 200])
    missing = rng.choice(["drop", lower, upper, 1e6])
    more |= {"column": rng.choice("xy"), "pitch": rng.choice([1, 0.5]), "missing": missing}
    return Statistic(
        kind, lower=lower, upper=upper, infinite=rng.choice(["clip", "missing"]), **more
    )


def any_rows(rng, number, unit):
    values = [None, math.nan, math.inf, -math.inf, 0.0, 80.0, rng.uniform(-300.0, 300.0)]
    return [
        {
            "id": number,
            "x": rng.choice(values),
            "y": rng.choice(values),
            "g": rng.choice(["a", "b", "z", None]),
            "h": rng.choice(["u", "v", "w"]),
        }
        for _ in range(1 if unit is ROW else rng.randint(1, 5))
    ]


@pytest.mark.parametrize("seed", range(25))
def test_no_person_is_outside_of_the_space_of_any_plan(seed):
    """Every draw of every way holds the change, no more draws see it than are charged, and every
    answer has one draw."""
    rng = random.Random(seed)
    unit = {**PERSON, "rows_per_person": 3, "groups_per_person": 2} if seed % 2 else ROW
    relation = "replace" if seed % 3 == 2 else "add/remove"
    asked = [any_statistic(rng, number) for number in range(rng.randint(2, 6))]
    try:
        one = plan(*asked, relation=relation, unit=unit)
        found = layouts(blocks(one), blocks(one, joint=True))
    except PlanError:
        return  # a number that is public already
    for _ in range(4):
        beside = any_rows(rng, 8, unit)
        there = any_rows(rng, 7, unit) if relation == "replace" else []
        after = [*beside, *any_rows(rng, 7, unit)]
        for way in found:
            change = moved(one, way, [*beside, *there], after)
            seen = Counter(spec for spec, served in way.draws if any(change[i] for i in served))
            assert all(count <= way.specs[spec].uses for spec, count in seen.items())
            for spec, served in way.draws:
                own, batch = [change[i] for i in served], way.specs[spec].batch
                assert is_within(own, way.specs[spec].changes, batch)
            every = [*way.checks, *(i for _, served in way.draws for i in served)]
            assert sorted(every) == list(range(len(way.entries)))


@pytest.mark.parametrize(
    ("changes", "weights"),
    [
        (Box(), None),
        (Box(), (1.0, 1.0, 16.0)),
        (OneSided(), None),
        (OneSided(), (1.0, 1.0, 16.0)),
        (OneSided(ranges=((0.4, 1), (-1, 1), (-1, -0.5))), None),
    ],
)
def test_the_best_gaussian_noise_costs_what_its_reach_says(changes, weights):
    spec = LawSpec(3, 1, 1.0, None, "real", changes, weights)
    law = _gaussian(spec, 6.0, 1e-6)
    assert law.spread(3, weights) == pytest.approx(6.0, rel=1e-9)
    mu = math.sqrt(gaussian_reach(3, changes, weights)) / 6.0
    told = PrivacyLoss.of(law.noise, 1.0, law.changes).compose(law.uses).epsilon(1e-6)
    assert told == pytest.approx(gaussian_epsilon(mu, 1e-6), rel=1e-4)
    assert gaussian_reach(3, changes, weights) <= 3.0 * (1.0 + 1e-9)


def test_sizes_of_answers_that_are_not_alike_are_told():
    told = _sizes(SampledLaw(cube(6.0, 2), 1, "cube", scales=(1.0, 2.0)))
    assert told["stds"] == pytest.approx([6.0, 12.0])
    assert told["std"] == pytest.approx(math.sqrt(90.0))
    assert told["correlation_of_two_answers"] == 0.0
    law = LiftedNoise(cube(6.0, 3), (1.0, 0.5))
    assert _sizes(SampledLaw(law, 1, "lifted"))["ties"] == [1.0, 0.5]


def test_sums_of_many_draws_with_ties_have_their_covariance():
    law = LiftedNoise(exact(cube(6.0, 3, step=1.0), delta=1e-6), (1.0, 0.5))
    found = sums_of_draws(law, 400, 40_000, InsecureSeededEntropy(1))
    assert np.cov(found.T) == pytest.approx(400.0 * law.covariance, rel=0.05)
