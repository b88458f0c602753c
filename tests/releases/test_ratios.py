"""Means and variances: in their bounds, with intervals that hold, and silent where there are too
few values."""

import csv
import json
from functools import partial

import numpy as np
import pytest

pytest.importorskip("ibis")
pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")

from leastnoise.errors import InvalidParameterError, PlanError  # noqa: E402
from leastnoise.releases import release as run  # noqa: E402
from leastnoise.releases.data.opening import open_table  # noqa: E402
from leastnoise.releases.estimates import estimate  # noqa: E402
from leastnoise.releases.noise.mechanism import mechanism  # noqa: E402
from leastnoise.releases.plan.plan import Plan  # noqa: E402
from leastnoise.releases.plan.statistic import Statistic  # noqa: E402
from leastnoise.releases.preview import outlook  # noqa: E402
from leastnoise.sampling import InsecureSeededEntropy  # noqa: E402
from releases import real_tables as real  # noqa: E402
from releases.three_sets import heart_patients  # noqa: E402

CHOLESTEROL = {"column": "chol", "lower": 100, "upper": 450, "pitch": 1, "missing": "drop"}
BY_PAIN = {"sex": [0, 1], "cp": [1, 2, 3, 4]}  # groups of 4 to 105 patients
SMALL = {
    "cp": [1, 2, 3, 4],
    "slope": [1, 2, 3],
    "num": [0, 1, 2, 3, 4],
}  # 60 groups, most of 0 to 11 patients


def plan(*statistics, epsilon=1.0):
    return Plan("heart", None, "add/remove", statistics, epsilon, 1e-6, one_row_per_person=True)


def answered(wanted, table):
    """The exact answers of a plan and its noise: what many releases of one table share."""
    made, opened = mechanism(wanted), open_table(wanted, table)
    try:
        return made, run._counted(wanted, opened, made, lambda stage, share: None)
    finally:
        opened.close()


def released(wanted, made, counts, seed):
    return estimate.rows(
        wanted,
        made,
        run._noisy(made, counts, partial(run._drawn, InsecureSeededEntropy(seed))),
    )


def truths(table, by, kind):
    """The exact numbers of each group, by its title; none where it is empty."""
    found = {}
    names = list(by)
    keys = list(zip(*(table[name].to_pylist() for name in names), strict=True))
    values = np.clip(table["chol"].to_numpy(), 100, 450)
    for key in set(keys):
        inside = values[[k == key for k in keys]]
        title = ", ".join(f"{name} = {part:g}" for name, part in zip(names, key, strict=True))
        found[title] = float(np.mean(inside) if kind == "mean" else np.var(inside))
    return found


def test_cholesterol_of_small_groups_is_within_its_bounds_or_not_told():
    statistics = (
        Statistic("mean", group_by=SMALL, **CHOLESTEROL),
        Statistic("variance", group_by=SMALL, **CHOLESTEROL),
    )
    wanted = plan(*statistics)
    made, counts = answered(wanted, heart_patients())
    silent = 0
    for seed in range(20):
        for row in released(wanted, made, counts, seed)[:120]:
            silent += row.value is None
            if row.value is None:
                assert row.shown() == ("too few to say", "")
                continue
            low, high = (100.0, 450.0) if row.kind == "mean" else (0.0, 175.0**2)
            assert low <= row.lower <= row.value <= row.upper <= high
            assert row.lower >= row.value - row.half_width - 1e-9
            assert row.upper <= row.value + row.half_width + 1e-9
    assert silent > 0.8 * 20 * 120


def test_tumours_of_small_groups_are_within_their_bounds_or_not_told():
    """569 real patients in 64 groups of 0 to 47: means and variances of the tumour's area."""
    table = real.tumours()
    area = {"column": "mean area", "lower": 100, "upper": 2000, "pitch": 1, "missing": "drop"}
    edges = {"edges": [5, 10, 12, 14, 16, 18, 20, 22, 40]}
    by = {
        "malignant": [0, 1],
        "mean texture": edges,
        "mean smoothness": {"edges": [0.05, 0.08, 0.1, 0.12, 0.2]},
    }
    statistics = (
        Statistic("mean", name="area", group_by=by, **area),
        Statistic("variance", name="spread", group_by=by, **area),
    )
    wanted = Plan("tumours", None, "add/remove", statistics, 1.0, 1e-6, one_row_per_person=True)
    made, counts = answered(wanted, table)
    groups = 2 * 8 * 4
    silent = told = 0
    for seed in range(20):
        for row in released(wanted, made, counts, seed)[: 2 * groups]:
            if row.value is None:
                silent += 1
                assert row.shown() == ("too few to say", "")
                continue
            told += 1
            low, high = (100.0, 2000.0) if row.kind == "mean" else (0.0, 950.0**2)
            assert low <= row.lower <= row.value <= row.upper <= high
    assert silent > 0
    assert told > 0
    assert silent + told == 20 * 2 * groups


def test_intervals_of_real_tumours_hold():
    """Mean radius of 357 benign and 212 malignant tumours, 200 releases: the stated intervals hold
    the exact means."""
    table = real.tumours()
    radius = {"column": "mean radius", "lower": 5, "upper": 30, "pitch": 0.01, "missing": "drop"}
    statistic = Statistic("mean", name="radius", group_by={"malignant": [0, 1]}, **radius)
    wanted = Plan("tumours", None, "add/remove", (statistic,), 1.0, 1e-6, one_row_per_person=True)
    made, counts = answered(wanted, table)
    values, ill = np.clip(table["mean radius"].to_numpy(), 5, 30), table["malignant"].to_numpy()
    exact = {f"malignant = {key}": float(values[ill == key].mean()) for key in (0, 1)}
    rows = [row for seed in range(200) for row in released(wanted, made, counts, seed)[:2]]
    assert all(row.value is not None for row in rows)
    held = [row.lower <= exact[row.group] <= row.upper for row in rows]
    assert np.mean(held) > 0.95 - 3.5 * np.sqrt(0.05 * 0.95 / len(held))


def test_too_few_is_said_in_every_file():
    wanted = plan(Statistic("mean", name="cholesterol", group_by=BY_PAIN, **CHOLESTEROL))
    done = run.release(
        wanted, table=heart_patients(), entropy=InsecureSeededEntropy(1), not_private=True
    )
    few = [row for row in done.rows if row.value is None]
    told = [row for row in done.rows if row.value is not None and row.kind == "mean"]
    assert few
    assert told
    lines = list(csv.DictReader(done.to_csv().splitlines()))
    silent = [line for line in lines if line["note"] == "too few to say"]
    assert [(line["sex"], line["cp"]) for line in silent] == [
        tuple(key for _, key in row.keys) for row in few
    ]
    for line in silent:
        assert {
            line[name]
            for name in ("value", "lower", "upper", "noise_std", "half_width_95", "unprocessed")
        } == {""}
    records = [record for record in json.loads(done.to_json())["statistics"] if record["note"]]
    assert [record["group"] for record in records] == [row.group for row in few]
    assert {record["value"] for record in records} == {None}
    assert done.to_html().count("too few to say") == len(few)
    assert done._repr_html_().count("too few to say") == len(few)
    assert done.to_pandas()["value"].isna().sum() == len(few)
    assert done.to_arrow()["value"].null_count == len(few)
    assert done.value("cholesterol", few[0].group) is None
    assert done.value("cholesterol", told[0].group) == told[0].value


def test_too_few_is_drawn_as_words():
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    from leastnoise.plots import release_bars

    wanted = plan(Statistic("mean", name="cholesterol", group_by=BY_PAIN, **CHOLESTEROL))
    done = run.release(
        wanted, table=heart_patients(), entropy=InsecureSeededEntropy(1), not_private=True
    )
    axes = release_bars(done)
    axes.figure.canvas.draw()
    assert [text.get_text() for text in axes.texts] == [
        row.in_words() for row in done.rows if row.kind == "mean"
    ]
    assert "too few to say" in [text.get_text() for text in axes.texts]
    low, high = axes.get_xlim()
    pyplot.close("all")
    assert 50 < low < high < 500


@pytest.mark.parametrize("kind", ["mean", "variance"])
def test_intervals_hold_over_many_releases(kind):
    """Of all intervals that are published, at least 95 % hold the truth, up to the chance of the
    150 seeds."""
    table = heart_patients()
    wanted = plan(Statistic(kind, name="cholesterol", group_by=BY_PAIN, **CHOLESTEROL), epsilon=2.0)
    made, counts = answered(wanted, table)
    exact = truths(table, BY_PAIN, kind)
    inside = {group: [] for group in exact}
    for seed in range(150):
        for row in released(wanted, made, counts, seed)[:8]:
            if row.value is not None:
                inside[row.group].append(row.lower <= exact[row.group] <= row.upper)
    every = [held for group in inside.values() for held in group]
    assert len(every) > 500
    assert np.mean(every) > 0.94
    for held in inside.values():
        if len(held) >= 50:
            assert np.mean(held) > 0.95 - 3.5 * np.sqrt(0.05 * 0.95 / len(held))


def test_a_mean_near_its_bound_is_covered_too():
    """The mean of values that lie at a bound: noise puts half of the estimates beyond it, and the
    interval still holds."""
    table = pa.table({"x": np.full(60, 9.9)})
    wanted = plan(Statistic("mean", column="x", lower=0, upper=10, pitch=0.1, missing="drop"))
    made, counts = answered(wanted, table)
    rows = [released(wanted, made, counts, seed)[0] for seed in range(400)]
    assert all(row.lower <= row.value <= row.upper <= 10.0 for row in rows)
    assert sum(row.value == 10.0 for row in rows) > 100
    assert np.mean([row.lower <= 9.9 <= row.upper for row in rows]) > 0.93


def test_a_public_number_of_values_keeps_the_exact_interval_within_the_bounds():
    asked = Statistic("mean", column="x", lower=0, upper=10, pitch=1, missing="drop", public_n=3)
    wanted = Plan("heart", None, "replace", (asked,), 1.0, 1e-6, one_row_per_person=True)
    made, counts = answered(wanted, pa.table({"x": [9, 10, 10]}))
    rows = [released(wanted, made, counts, seed)[0] for seed in range(50)]
    half = made.law_of[0].noise.interval(0.95) * 10.0 / 3.0
    assert all(
        row.value is not None and 0.0 <= row.lower <= row.value <= row.upper <= 10.0 for row in rows
    )
    assert all(row.half_width <= half * (1 + 1e-12) for row in rows)


def test_clamping_is_not_undone_by_what_stands_beside_the_value():
    """`unprocessed` is what was there before declared post-processing; it is within the
    bounds too."""
    wanted = Plan(
        "heart",
        None,
        "add/remove",
        (Statistic("mean", group_by=BY_PAIN, **CHOLESTEROL),),
        1.0,
        1e-6,
        one_row_per_person=True,
        postprocess=("non-negative",),
    )
    for seed in range(5):
        done = run.release(
            wanted, table=heart_patients(), entropy=InsecureSeededEntropy(seed), not_private=True
        )
        for row in done.rows[:8]:
            assert (row.value is None) == (row.unprocessed is None)
            assert row.value is None or 100 <= row.unprocessed <= 450


# The preview


def test_the_preview_gives_the_width_of_a_mean_for_an_expected_number_of_values():
    table = heart_patients()
    statistics = (
        Statistic("mean", name="cholesterol", expected_n=297, **CHOLESTEROL),
        Statistic("variance", name="spread", expected_n=297, **CHOLESTEROL),
    )
    wanted = plan(*statistics)
    made, counts = answered(wanted, table)
    ahead = {row.statistic: row for row in outlook(wanted, made)}
    widths = {name: [] for name in ahead}
    for seed in range(40):
        for row in released(wanted, made, counts, seed)[:2]:
            widths[row.statistic].append(row.half_width)
    for name in ("cholesterol", "spread"):
        assert (ahead[name].n, ahead[name].of_sum) == (297, False)
        assert (
            0.99 * np.median(widths[name])
            <= ahead[name].half_width
            <= 2.5 * np.median(widths[name])
        )


def test_the_preview_says_where_so_few_will_be_too_few():
    wanted = plan(Statistic("mean", name="cholesterol", expected_n=3, **CHOLESTEROL))
    row = outlook(wanted, mechanism(wanted))[0]
    assert (row.noise_std, row.half_width, row.n) == (None, None, 3)


def test_expected_n_changes_neither_noise_nor_the_hash_of_plans_without_it():
    without = plan(Statistic("mean", **CHOLESTEROL))
    assert "expected_n" not in without.statistics[0].describe()
    expecting = plan(Statistic("mean", expected_n=300, **CHOLESTEROL))
    assert mechanism(expecting).laws == mechanism(without).laws
    with pytest.raises(PlanError, match="cannot use expected_n"):
        Statistic("count", expected_n=3)
    with pytest.raises(InvalidParameterError, match="expected_n"):
        Statistic("mean", expected_n=0, **CHOLESTEROL)


# Many groups


def test_five_thousand_groups_of_real_flights_with_their_means():
    """Flights and mean time in the air by origin, carrier and destination: 5,040 groups, of which
    405 aircraft fly a tenth."""
    table = real.flights(10)
    names = ("origin", "carrier", "dest")
    by = {name: sorted(set(real.flights()[name].to_pylist())) for name in names}
    air = {"column": "air_time", "lower": 0, "upper": 700, "pitch": 1, "missing": "drop"}
    statistics = (
        Statistic("count", name="flights", group_by=by),
        Statistic("mean", name="time", group_by=by, **air),
    )
    unit = {
        "person": "tailnum",
        "rows_per_person": 40,
        "groups_per_person": 4,
        "rows_per_group": 10,
    }
    wanted = Plan("routes", None, "add/remove", statistics, 2.0, 1e-6, **unit)
    done = run.release(wanted, table=table, entropy=InsecureSeededEntropy(1), not_private=True)
    groups = len(by["origin"]) * len(by["carrier"]) * len(by["dest"])
    assert groups == 5040
    counts, means = (
        [row for row in done.rows if row.statistic == name] for name in ("flights", "time")
    )
    assert len(counts) == len(means) == groups
    assert len({row.group for row in means}) == groups
    flown = {
        f"origin = {a}, carrier = {b}, dest = {c}"
        for a, b, c in zip(*(table[name].to_pylist() for name in names), strict=True)
    }
    held = [row.lower <= 0.0 for row in counts if row.group not in flown]
    assert len(held) > 4000
    assert np.mean(held) > 0.96  # nobody is there: below in 1 of 40
    told = [row for row in means if row.value is not None]
    assert all(0.0 <= row.lower <= row.value <= row.upper <= 700.0 for row in told)
    assert done.to_csv().count("\n") == len(done.rows) + 1


def test_many_groups_share_the_trials_of_their_noise(monkeypatch):
    """Each of 5,000 groups drew 10,000 trials of its own: 41 s. What moves a mean is the same in
    all of them."""
    from leastnoise.releases.estimates import trials

    by = {"g": [f"k{i}" for i in range(400)]}
    rows = {"column": "x", "lower": 0, "upper": 100, "pitch": 1, "missing": "drop", "group_by": by}
    wanted = Plan(
        "many",
        None,
        "add/remove",
        (Statistic("mean", **rows), Statistic("sum", name="sum", **rows)),
        1.0,
        1e-6,
        person="id",
        rows_per_person=4,
        groups_per_person=2,
    )
    made = mechanism(wanted)
    drawn, draw = [], trials.draw
    monkeypatch.setattr(
        trials, "draw", lambda *given, **more: drawn.append(given) or draw(*given, **more)
    )
    rows = estimate.rows(wanted, made, [1000.0] * len(made.entries))
    assert sum(row.kind == "mean" for row in rows) == 400
    assert len(drawn) <= 2 * len(made.laws)
    half_widths = {row.half_width for row in rows if row.kind == "mean"}
    assert len(half_widths) == 1
