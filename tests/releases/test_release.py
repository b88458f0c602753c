"""From plan to published numbers: the order of events, the guarantee, the accuracy."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("ibis")
pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")

from leastnoise import PrivacyLoss, cube, exact  # noqa: E402
from leastnoise.errors import BudgetExceededError, DesignError, EngineError, LedgerError, PlanError  # noqa: E402
from leastnoise.ledger.ledger import Ledger  # noqa: E402
from leastnoise.releases import release as run  # noqa: E402
from leastnoise.releases.estimates.postprocessing import processed  # noqa: E402
from leastnoise.releases.estimates.row import ReleasedRow  # noqa: E402
from leastnoise.releases.noise.layout import NoiseLayout  # noqa: E402
from leastnoise.releases.noise.mechanism import SampledLaw, _assigned, mechanism  # noqa: E402
from leastnoise.releases.noise.sensitivity import Answer  # noqa: E402
from leastnoise.releases.plan.plan import Plan  # noqa: E402
from leastnoise.releases.plan.statistic import Statistic  # noqa: E402
from leastnoise.releases.release import release  # noqa: E402
from leastnoise.sampling import InsecureSeededEntropy  # noqa: E402
from releases import three_sets  # noqa: E402

BY = {"g": ["a", "b", "c"]}
AGE = {"column": "age", "lower": 0, "upper": 100, "pitch": 0.5}
PEOPLE = 4000


def people():
    rng = np.random.default_rng(0)
    return pa.table(
        {"age": rng.normal(50, 12, PEOPLE).round(1), "g": rng.choice(list("abcx"), PEOPLE)}
    )


def small(**more):
    given = {
        "relation": "add/remove",
        "epsilon": 1.0,
        "delta": 1e-6,
        "one_row_per_person": True,
        **more,
    }
    stats = given.pop("statistics", (Statistic("count"), Statistic("mean", missing="drop", **AGE)))
    return Plan("small", None, statistics=stats, **given)


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "ledger.db") as book:
        book.open_dataset("small", epsilon=1.5, delta=1e-6)
        yield book


def test_the_guarantee_is_that_of_the_sampled_laws():
    made = mechanism(small())
    total = None
    for spend in made.spends:
        loss = PrivacyLoss.of(spend.noise, spend.sensitivity, spend.changes).compose(spend.uses)
        total = loss if total is None else total.compose(loss)
    assert total.epsilon(1e-6) == made.epsilon <= 1.0
    assert made.epsilon > 0.998
    assert made.gaussian_epsilon > made.epsilon
    assert made.gaussian_factor > 1.0


def test_values_are_right_up_to_the_stated_noise():
    table, plan = people(), small()
    truth = {
        "count": PEOPLE,
        "mean of age": float(np.mean(np.floor(table["age"].to_numpy() * 2 + 0.5) / 2)),
        "persons with an unreadable value": 0,
        "persons with a clipped value": 0,
    }
    scores, inside, made = [], 0, mechanism(plan)
    for seed in range(60):
        seeded = {"entropy": InsecureSeededEntropy(seed), "not_private": True}
        done = release(plan, table=table, prepared=made, **seeded)
        for row in done.rows:
            scores.append((row.value - truth[row.statistic]) / row.noise_std)
            inside += abs(row.value - truth[row.statistic]) <= row.half_width
    assert abs(np.mean(scores)) < 4.0 / math.sqrt(len(scores))
    assert np.mean(np.square(scores)) == pytest.approx(1.0, abs=0.4)
    assert inside / len(scores) > 0.87
    assert "INSECURE" in done.entropy


def test_operating_system_entropy_is_the_default():
    table, plan = people(), small()
    first, second = release(plan, table=table), release(plan, table=table)
    assert first.entropy == "operating system"
    assert [row.value for row in first.rows] != [row.value for row in second.rows]


def test_groups_and_variances():
    stats = (Statistic("variance", missing="drop", group_by=BY, **AGE),)
    table = people()
    done = release(
        small(statistics=stats, epsilon=4.0),
        table=table,
        entropy=InsecureSeededEntropy(1),
        not_private=True,
    )
    ages, groups = table["age"].to_numpy(), table["g"].to_numpy(zero_copy_only=False)
    assert [row.group for row in done.rows] == ["g = a", "g = b", "g = c", "g", "age", "age"]
    assert [row.kind for row in done.rows] == ["variance"] * 3 + [
        "other keys",
        "unreadable",
        "clipped",
    ]
    assert abs(done.rows[3].value - np.sum(groups == "x")) < 4.0 * done.rows[3].noise_std
    for row, name in zip(done.rows[:3], "abc", strict=True):
        assert abs(row.value - np.var(ages[groups == name])) < 4.0 * row.noise_std + 1.0
    assert (
        done.mechanism.layout == "by group"
    )  # a person is in one group: no noise need be shared with the others
    assert done.mechanism.laws[0].uses == 1
    assert done.mechanism.alternatives["joint"] > 1.0


def test_counts_of_unit_sensitivity_are_integers():
    done = release(small(statistics=(Statistic("histogram", group_by=BY),)), table=people())
    assert all(row.value == int(row.value) for row in done.rows)


def test_weights_and_wanted_sigmas():
    counts = (Statistic("count", weight=2.0), Statistic("sum", missing="drop", **AGE))
    made = mechanism(small(statistics=counts))
    assert made.law_of[1].noise.std == made.law_of[0].noise.std  # one draw: less for both
    assert made.alternatives["joint, weights apart"] > 1.2
    assert 0.99 < made.epsilon <= 1.0
    counts = (Statistic("count", weight=20.0), Statistic("sum", missing="drop", **AGE))
    made = mechanism(small(statistics=counts))
    assert made.law_of[1].noise.std == pytest.approx(20.0 * made.law_of[0].noise.std, rel=1e-3)
    wanted = (Statistic("count", sigma=12.0), Statistic("sum", missing="drop", **AGE))
    made = mechanism(small(statistics=wanted))
    assert made.std(0) == pytest.approx(12.0, rel=1e-3)
    assert 0.99 < made.epsilon <= 1.0
    with pytest.raises(DesignError, match="wanted sigmas cost epsilon"):
        mechanism(small(statistics=(Statistic("count", sigma=1.0),)))


def test_the_ledger_refuses_before_the_table_is_opened(ledger, monkeypatch):
    release(small(), table=people(), ledger=ledger)
    touched = []
    monkeypatch.setattr(run, "open_table", lambda *given: touched.append(given))
    with pytest.raises(BudgetExceededError):
        release(small(), table=people(), ledger=ledger)
    assert not touched
    assert len(ledger.entries("small")) == 1


def test_the_spend_is_committed_before_rows_are_read_and_noted_when_done(ledger, monkeypatch):
    seen = []
    counted = run.aggregate

    def watched(*given):
        seen.append(ledger.entries("small")[0].result_hash)
        return counted(*given)

    monkeypatch.setattr(run, "aggregate", watched)
    done = release(small(), table=people(), ledger=ledger)
    assert seen == [None, None]  # the statistics, and the unreadable values
    (entry,) = ledger.entries("small")
    assert (entry.id, entry.plan_hash, entry.result_hash) == (done.entry, small().hash, done.hash)


@pytest.mark.parametrize(("step", "spent"), [("open_table", 0), ("aggregate", 1), ("noised", 1)])
def test_an_interruption_leaves_the_ledger_true(ledger, monkeypatch, step, spent):
    def interrupted(*given, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr(run, step, interrupted)
    with pytest.raises(KeyboardInterrupt):
        release(small(), table=people(), ledger=ledger)
    entries = ledger.entries("small")
    assert len(entries) == spent
    assert all(entry.result_hash is None for entry in entries)


def test_a_plan_for_other_neighbours_is_refused_before_the_table_is_opened(ledger, monkeypatch):
    release(small(epsilon=0.2, delta=1e-9), table=people(), ledger=ledger)
    monkeypatch.setattr(run, "open_table", None)
    replaced = small(
        relation="replace",
        epsilon=0.2,
        delta=1e-9,
        statistics=(Statistic("sum", missing=50, **AGE),),
    )
    with pytest.raises(LedgerError, match="different persons or neighbours do not add up"):
        release(replaced, table=people(), ledger=ledger)
    assert len(ledger.entries()) == 1


def test_a_batch_may_be_served_in_blocks():
    """Joint noise on blocks of a batch, the last of them not full: every answer has noise, and the
    right one."""
    plan = small(
        statistics=(Statistic("count", name="count by g", group_by={"g": list("abcdef")}),)
    )
    made = mechanism(plan)
    pair = exact(cube(4.0, 2, domain="integer"), delta=1e-6, compositions=3)
    laws = (SampledLaw(pair, 3, "cube"),)
    served = ((0, tuple(range(7))),)  # six keys and all others
    layout = NoiseLayout("joint", (), served, entries=made.entries)
    cut = replace(made, laws=laws, draws=_assigned(layout, laws))
    assert [drawn.entries for drawn in cut.draws] == [(0, 1), (2, 3), (4, 5), (6,)]
    done = release(
        plan, table=people(), prepared=cut, entropy=InsecureSeededEntropy(3), not_private=True
    )
    truth = {f"g = {key}": people()["g"].to_pylist().count(key) for key in "abc"}
    for row in done.rows[:3]:
        assert abs(row.value - truth[row.group]) < 10 * row.noise_std
        assert row.noise_std == pytest.approx(pair.std)


def test_a_wrong_column_costs_nothing(ledger):
    with pytest.raises(PlanError, match="no column 'age'"):
        release(small(), table=people().drop_columns(["age"]), ledger=ledger)
    assert not ledger.entries("small")


def test_a_failing_engine_says_nothing_of_the_data(tmp_path):
    (tmp_path / "t.csv").write_text("age\n50\nSECRET,1,2\n", encoding="utf-8")
    plan_file = tmp_path / "plan.toml"
    plan_file.write_text(
        'name = "small"\nepsilon = 1.0\ndelta = 1e-6\nrelation = "add/remove"\none_row_per_person '
        '= true\n[source]\ncsv = "t.csv"\n'
        '[[statistic]]\nkind = "count"\n[[statistic]]\nkind = "mean"\ncolumn = "age"\nlower = '
        "0\nupper = 100\npitch = 0.5\n"
        'missing = "drop"\n',
        encoding="utf-8",
    )
    with pytest.raises(EngineError) as caught:
        release(plan_file)
    assert "SECRET" not in str(caught.value)
    assert caught.value.__context__ is None


def test_noise_can_be_prepared_for_this_plan_only():
    made = mechanism(small())
    assert release(small(), table=people(), prepared=made).mechanism is made
    with pytest.raises(PlanError, match="belongs to another plan"):
        release(small(salt="other"), table=people(), prepared=made)


def test_progress_is_told():
    told = []
    release(small(), table=people(), progress=lambda stage, share: told.append((stage, share)))
    assert told[0] == ("designing the noise", 0.0)
    assert ("scanning the table", 1.0) in told
    assert told[-1] == ("adding noise", 1.0)


def test_exports_hold_the_same_numbers(tmp_path):
    import csv

    import pyarrow.parquet

    done = release(small(), table=people())
    values = [row.value for row in done.rows]
    assert [
        entry["value"] for entry in json.loads(done.to_json(tmp_path / "r.json"))["statistics"]
    ] == values
    assert json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["result_hash"] == done.hash
    done.to_csv(tmp_path / "r.csv")
    with (tmp_path / "r.csv").open(encoding="utf-8") as file:
        assert [float(row["value"]) for row in csv.DictReader(file)] == values
    done.to_parquet(tmp_path / "r.parquet")
    stored = pyarrow.parquet.read_table(tmp_path / "r.parquet")
    assert stored["value"].to_pylist() == values
    assert b"leastnoise" in stored.schema.metadata
    assert done.to_pandas()["value"].tolist() == values
    assert done.value("count") == values[0]
    with pytest.raises(PlanError):
        done.value("median")


def test_post_processing_is_declared_and_kept_apart():
    plan = small(
        statistics=(Statistic("count"), Statistic("count", name="by g", group_by=BY)),
        postprocess=("non-negative", "integer", "totals"),
    )
    other = Answer("rows", group_by=plan.statistics[1].group_by)
    rows = [
        ReleasedRow("count", "count", "", 110.0, 1.0, 2.0),
        ReleasedRow("by g", "count", "g = a", 60.0, 1.0, 2.0),
        ReleasedRow("by g", "count", "g = b", 44.0, 1.0, 2.0),
        ReleasedRow("by g", "count", "g = c", -6.0, 1.0, 2.0),
        ReleasedRow("rows with other keys", "other keys", "g", 2.0, 1.0, 2.0, check=other),
    ]
    # Least squares with non-negativity inside: c is 0, and the 4 that are missing are shared by the
    # four others.
    changed = processed(plan, rows)
    assert [row.value for row in changed] == [109.0, 61.0, 45.0, 0.0, 3.0]
    assert [row.unprocessed for row in changed] == [110.0, 60.0, 44.0, -6.0, 2.0]
    assert processed(small(), rows) == tuple(rows)
    assert [row.noise_std for row in changed] == [1.0] * 5
    assert (changed[1].lower, changed[1].upper) == (58.0, 62.0)  # those from before
    # With person ids: 1/(1 + 1/4) for the total, 1 − 1/4 + (1/4)²·4/5 for a group; ± with room for
    # the rounding.
    unit = {"person": "p", "rows_per_person": 1, "groups_per_person": 1}
    changed = processed(replace(plan, one_row_per_person=False, **unit), rows)
    assert [row.value for row in changed] == [109.0, 61.0, 45.0, 0.0, 3.0]
    assert changed[0].noise_std == pytest.approx(math.sqrt(0.8))
    assert changed[1].noise_std == pytest.approx(math.sqrt(0.8))
    assert changed[0].half_width == pytest.approx(2.0 * math.sqrt(0.8) + 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["breast_cancer", "diabetes", "heart"])
def test_the_three_data_sets_of_table_1(name, tmp_path):
    pytest.importorskip("sklearn")
    plan = three_sets.plan(name, tmp_path)
    done = release(plan)
    assert [row.kind for row in done.rows] == ["mean"] * 10 + ["unreadable"] * 10 + ["clipped"] * 10
    assert done.epsilon <= 1.05
    assert done.mechanism.laws[0].noise.dimension == 10  # one joint draw for the ten means
    assert done.mechanism.gaussian_factor > 1.5
    for row, statistic in zip(done.rows[:10], plan.statistics, strict=True):
        reach = statistic.upper - statistic.lower
        assert row.noise_std == pytest.approx(
            done.mechanism.laws[0].noise.std * reach / statistic.public_n, rel=0.01
        )
        assert statistic.lower - 5 * row.noise_std < row.value < statistic.upper + 5 * row.noise_std
