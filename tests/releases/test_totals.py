"""Counts that are made to add up: right, with the right ±, or refused before anything is spent."""

import itertools
import math
import random

import numpy as np
import pytest

from leastnoise.errors import PlanError
from leastnoise.releases.estimates.totals import agreed
from leastnoise.releases.noise.sensitivity import Answer
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.statistic import Statistic

ALONE = {"one_row_per_person": True}
ALL = ("non-negative", "integer", "totals")
FLIGHTS = """
name = "flights"
epsilon = 1.0
relation = "add/remove"
person = "tailnum"
person_is = "an aircraft"
rows_per_person = {rows}
groups_per_person = 3
postprocess = [{postprocess}]
[source]
parquet = '{parquet}'
[[statistic]]
kind = "count"
name = "all"
[[statistic]]
kind = "count"
name = "by month"
group_by = {{ month = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] }}
[[statistic]]
kind = "count"
name = "by origin"
group_by = {{ origin = ["EWR", "JFK", "LGA"] }}
"""
MONTHS, ORIGINS = {"month": list(range(1, 13))}, {"origin": ["EWR", "JFK", "LGA"]}


def plan(*groupings, postprocess=ALL, **unit):
    by = [Statistic("count", name=f"by {', '.join(keys)}", group_by=keys) for keys in groupings]
    unit = {"postprocess": postprocess, **(unit or ALONE)}
    return Plan(
        "totals", None, "add/remove", (Statistic("count", name="all"), *by), 1.0, 1e-6, **unit
    )


def test_totals_across_different_bounds_are_refused_with_what_to_declare():
    """Aircraft as persons, 200 flights in 3 groups: months keep 30 % of the flights, and the total
    went down with them."""
    limits = {"person": "tailnum", "rows_per_person": 200, "groups_per_person": 3}
    with pytest.raises(PlanError) as refused:
        plan(MONTHS, ORIGINS, **limits)
    said = str(refused.value)
    assert "they are bounded differently" in said
    assert (
        "Of a person 200 rows count in the first, but only those in 3 groups in the second" in said
    )
    assert 'Leave "totals" out, or declare rows_per_person = 3' in said
    assert (
        plan(MONTHS, ORIGINS, **{**limits, "rows_per_person": 3}).postprocess == ALL
    )  # the advice works
    assert plan(MONTHS, ORIGINS, postprocess=ALL[:2], **limits).postprocess == ALL[:2]
    with pytest.raises(PlanError, match="2 in each"):
        plan(MONTHS, person="tailnum", rows_per_person=3, groups_per_person=3, rows_per_group=2)


def test_the_total_of_real_flights_is_right_or_refused(tmp_path):
    """All flights of 2013 by month and by origin, of each aircraft at most 200 in 3 groups: 298,404
    count. The months and origins have far fewer of them, and a total made to agree with those went
    down with them."""
    pytest.importorskip("ibis")
    from leastnoise.ledger.ledger import Ledger
    from leastnoise.releases.plan.file import load_plan
    from leastnoise.releases.release import release
    from leastnoise.sampling import InsecureSeededEntropy
    from releases import real_tables as real

    table = real.as_parquet(real.flights(), tmp_path / "flights.parquet")
    assert real.at_most(real.flights(), 200) == 298_404
    text = FLIGHTS.format(
        parquet=table, rows=200, postprocess='"non-negative", "integer", "totals"'
    )
    path = tmp_path / "flights.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(
        PlanError, match=r"they are bounded differently.*declare rows_per_person = 3"
    ):
        load_plan(path)  # before a ledger could be asked
    path.write_text(text.replace(', "totals"', ""), encoding="utf-8")
    wanted = load_plan(path)
    with Ledger(tmp_path / "ledger") as ledger:
        ledger.open_dataset("flights", epsilon=2.0, delta=1e-6)
        done = release(wanted, ledger=ledger, entropy=InsecureSeededEntropy(1), not_private=True)
    (total,) = (row for row in done.rows if row.statistic == "all")
    assert total.lower <= 298_404 <= total.upper
    assert total.half_width < 0.02 * 298_404
    months = sum(row.value for row in done.rows if row.statistic == "by month")
    # One choice of rows serves both; with three months of each by themselves less than 70 % count.
    assert months == pytest.approx(298_404, rel=0.02)


def test_totals_of_real_flights_add_up_where_bounds_agree():
    """Three flights of each aircraft, in three groups: the total is that of its parts,
    and right."""
    pytest.importorskip("ibis")
    from leastnoise.releases.release import release
    from leastnoise.sampling import InsecureSeededEntropy
    from releases import real_tables as real

    wanted = plan(MONTHS, ORIGINS, person="tailnum", rows_per_person=3, groups_per_person=3)
    done = release(wanted, table=real.flights(), entropy=InsecureSeededEntropy(1), not_private=True)
    (total,) = (row for row in done.rows if row.statistic == "all")
    truth = real.at_most(real.flights(), 3)
    assert total.lower <= truth <= total.upper
    for name, column in (("by month", "month"), ("by origin", "origin")):
        parts = [
            row.value
            for row in done.rows
            if row.statistic == name or (row.kind == "other keys" and row.group == column)
        ]
        assert len(parts) == len({**MONTHS, **ORIGINS}[column]) + 1
        assert sum(parts) == total.value


@pytest.mark.parametrize("by", [{}, MONTHS], ids=["no groups", "no total"])
def test_totals_of_nothing_are_refused(by):
    with pytest.raises(PlanError, match="declare a count without group_by and one with it"):
        Plan(
            "t",
            None,
            "add/remove",
            (Statistic("count", group_by=by),),
            1.0,
            1e-6,
            postprocess=("totals",),
            **ALONE,
        )


@pytest.mark.parametrize(("rows", "groups"), [(3, 3), (2, 5)])
def test_where_totals_are_allowed_groups_and_other_keys_are_the_parts_of_the_total(rows, groups):
    """Exactly, for persons with many rows in many groups, declared and not."""
    pytest.importorskip("ibis")
    pa = pytest.importorskip("pyarrow")
    from releases.dirty_keys import integers

    rng = random.Random(1)
    table = [
        {
            "id": rng.randrange(400),
            "g": rng.choice("abcdxyz"),
            "h": rng.choice(["1", "2.0", "3", "?"]),
        }
        for _ in range(900)
    ]
    wanted = plan(
        {"g": list("abcd")},
        {"h": [1, 2, 3]},
        person="id",
        rows_per_person=rows,
        groups_per_person=groups,
    )
    whole, by_g, by_h, _ = integers(wanted, pa.Table.from_pylist(table))
    for counts in (by_g, by_h):
        assert sum(count for (count,) in counts.values()) == whole[()][0]
        assert counts[("other",)][0] > 0


def test_the_heart_data_add_up_in_two_groupings_at_once():
    pytest.importorskip("ibis")
    from leastnoise.releases.release import release
    from leastnoise.sampling import InsecureSeededEntropy
    from releases import three_sets

    if not three_sets.HEART.exists():
        pytest.skip("the heart data set is not beside the repository")
    wanted = plan(
        {"sex": [0, 1]}, {"cp": [1, 2, 3]}
    )  # pain of type 4, most of the patients, is not declared
    done = release(wanted, table=heart_frame(), entropy=InsecureSeededEntropy(2), not_private=True)
    values = {(row.statistic, row.group): row for row in done.rows}
    top = values["all", ""]
    assert abs(top.value - 303) <= top.half_width
    for name, column in (("by sex", "sex"), ("by cp", "cp")):
        parts = [row.value for (statistic, _), row in values.items() if statistic == name]
        assert all(value == math.floor(value) >= 0 for value in parts)
        assert sum(parts) + values["rows with other keys", column].value == top.value
    other = values["rows with other keys", "cp"]
    assert abs(other.value - 144) <= other.half_width
    assert top.noise_std <= done.mechanism.laws[0].noise.std * (1.0 + 1e-9)  # not worse than alone
    assert "add up" in done.to_html()


def heart_frame():
    import pyarrow.csv

    from releases import three_sets

    names = pyarrow.csv.ReadOptions(column_names=list(three_sets.HEART_COLUMNS))
    return pyarrow.csv.read_csv(three_sets.HEART, read_options=names)


# The solution


def brute_force(total, std, cells, stds, top):
    """The cost of the best integers, by trying all."""
    tried = np.array(list(itertools.product(range(top), repeat=3)))
    costs = [
        np.sum((tried - y) ** 2 / sigma**2, axis=1) for y, sigma in zip(cells, stds, strict=True)
    ]
    sums = tried.sum(axis=1)
    return min(
        (whole - total) ** 2 / std**2 + sum(cost[sums == whole].min() for cost in costs)
        for whole in range(top)
    )


@pytest.mark.parametrize("seed", range(6))
def test_integers_are_next_to_the_best_ones(seed):
    rng = np.random.default_rng(seed)
    cells = [rng.normal(2.0, 2.5, 3), rng.normal(1.5, 2.5, 3)]
    stds = [rng.uniform(0.5, 2.0, 3), rng.uniform(0.5, 2.0, 3)]
    total, std = 6.0 + rng.normal(), rng.uniform(0.5, 2.0)
    best = brute_force(total, std, cells, stds, 14)
    found = agreed(total, std, cells, stds, non_negative=True, integer=True)
    ours = (found.total - total) ** 2 / std**2
    for x, y, sigma in zip(found.cells, cells, stds, strict=True):
        assert x.sum() == found.total
        assert np.all(x >= 0)
        ours += float(np.sum((x - y) ** 2 / sigma**2))
    assert best <= ours + 1e-12
    assert ours <= best + 1.0 / std**2 + 1.0  # rounding the total first moves it by half at most


@pytest.mark.parametrize("seed", range(5))
def test_without_signs_it_is_generalised_least_squares(seed):
    rng = np.random.default_rng(seed)
    sizes = [2, 5, 3]
    stds = [rng.uniform(0.5, 3.0, n) for n in sizes]
    cells = [rng.normal(10, 5, n) for n in sizes]
    total, std = 40.0, 1.5
    y, s = np.concatenate([[total], *cells]), np.concatenate([[std], *stds])
    rows = np.zeros((3, y.size))
    rows[:, 0] = -1.0
    for k, start in enumerate(np.cumsum([1, *sizes])[:3]):
        rows[k, start : start + sizes[k]] = 1.0
    gain = np.diag(s**2) @ rows.T @ np.linalg.inv(rows @ np.diag(s**2) @ rows.T)
    best, covariance = y - gain @ rows @ y, np.diag(s**2) - gain @ rows @ np.diag(s**2)
    found = agreed(total, std, cells, stds, non_negative=False, integer=False)
    assert np.allclose(np.concatenate([[found.total], *found.cells]), best, atol=1e-7)
    assert np.allclose(
        np.concatenate([[found.total_std], *found.stds]), np.sqrt(np.diag(covariance)), rtol=1e-9
    )


def test_non_negative_is_the_projection():
    """No feasible direction lowers the cost: the conditions of Karush, Kuhn and Tucker."""
    rng = np.random.default_rng(3)
    cells, stds = (
        [rng.normal(1.0, 4.0, 4), rng.normal(0.5, 4.0, 5)],
        [rng.uniform(0.5, 2.0, 4), rng.uniform(0.5, 2.0, 5)],
    )
    found = agreed(5.0, 1.0, cells, stds, non_negative=True, integer=False)
    rates = []
    for x, y, sigma in zip(found.cells, cells, stds, strict=True):
        slope = (x - y) / sigma**2  # λ where x > 0, at least λ where x = 0
        rate = slope[x > 0].mean()
        assert np.allclose(slope[x > 0], rate)
        assert np.all(slope[x == 0] >= rate - 1e-9)
        assert x.sum() == pytest.approx(found.total)
        rates.append(rate)
    assert any(np.any(x == 0) for x in found.cells)
    assert (found.total - 5.0) + sum(rates) == pytest.approx(0.0, abs=1e-6)


def test_nothing_is_left_of_a_total_below_zero():
    found = agreed(
        -5.0, 1.0, [np.array([-3.0, -1.0])], [np.ones(2)], non_negative=True, integer=True
    )
    assert found.total == 0.0
    assert found.cells[0].tolist() == [0.0, 0.0]


def test_the_stated_intervals_hold():
    """Counts of a real table with Laplace noise, 1,000 times: ± of 95 % holds for total, groups and
    other keys."""
    from leastnoise.releases.estimates.postprocessing import processed
    from leastnoise.releases.estimates.row import ReleasedRow

    truth = {
        "": 303,
        "sex = 0": 97,
        "sex = 1": 206,
        "sex": 0,
        "cp = 1": 23,
        "cp = 2": 50,
        "cp = 3": 86,
        "cp": 144,
    }
    wanted = plan({"sex": [0, 1]}, {"cp": [1, 2, 3]})
    rng = np.random.default_rng(0)
    scale = 5.0
    names = [("all", "count", "")]
    names += [(f"by {group[:-4]}", "count", group) for group in truth if "=" in group]
    names += [("rows with other keys", "other keys", group) for group in ("sex", "cp")]
    of = {
        s.group_by[0].column: Answer("rows", group_by=s.group_by)
        for s in wanted.statistics
        if s.group_by
    }
    inside = {group: 0 for _, _, group in names}
    for _ in range(1000):
        noise = rng.laplace(0.0, scale, len(names))
        noisy = [
            ReleasedRow(
                name,
                kind,
                group,
                truth[group] + z,
                scale * math.sqrt(2.0),
                scale * math.log(20.0),
                check=of.get(group),
            )
            for (name, kind, group), z in zip(names, noise, strict=True)
        ]
        for row in processed(wanted, noisy):
            inside[row.group] += abs(row.value - truth[row.group]) <= row.half_width
    assert all(count >= 940 for count in inside.values()), inside
