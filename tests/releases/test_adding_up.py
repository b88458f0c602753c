"""Small plans whose counts add up without being asked to."""

import numpy as np
import pytest

from leastnoise.releases.estimates import estimate
from leastnoise.releases.estimates.adding_up import Conditions, added_up, conditions
from leastnoise.releases.estimates.combination import combined
from leastnoise.releases.noise.mechanism import mechanism
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.statistic import Statistic
from leastnoise.releases.preview import outlook

TOWN = {"town": ["a", "b"]}
SEX = {"sex": ["f", "m"]}


def plan(*groupings, postprocess=(), sigma=None, **declared):
    asked = [Statistic("count", name="all", sigma=sigma)]
    asked += [
        Statistic("count", name=", ".join(one), group_by=one, sigma=sigma) for one in groupings
    ]
    whole = {"one_row_per_person": True, "postprocess": postprocess, **declared}
    return Plan("t", None, "add/remove", tuple(asked), 1.0, 1e-6, **whole)


def table():
    import pyarrow as pa

    return pa.table({"town": ["a", "b", "c", "a", None] * 30, "sex": ["f", "m", "x"] * 50})


def check_sums(rows, *columns):
    values = {(row.statistic, row.group): row.value for row in rows}
    for column in columns:
        parts = [value for (name, _), value in values.items() if name == column]
        assert sum(parts) + values["rows with other keys", column] == values["all", ""]


@pytest.mark.parametrize(
    "postprocess", [(), ("totals",), ("non-negative",), ("non-negative", "integer", "totals")]
)
def test_a_total_and_two_towns(postprocess):
    pytest.importorskip("ibis")
    from leastnoise.releases.release import release
    from leastnoise.sampling import InsecureSeededEntropy

    wanted = plan(TOWN, postprocess=postprocess)
    made = mechanism(wanted)
    assert made.tables == ()
    for seed in range(4):
        done = release(
            wanted, table=table(), prepared=made, entropy=InsecureSeededEntropy(seed),
            not_private=True,
        )  # fmt: skip
        check_sums(done.rows, "town")
        other = done.rows[-1]
        assert other.noise_std < 4.0  # and 96 by itself
        assert all(row.lower <= row.value <= row.upper for row in done.rows)
    told = {one.statistic: one.noise_std for one in outlook(wanted, made)}
    assert told["rows with other keys: town"] == pytest.approx(other.noise_std)
    # The words are the same path, and the noise is no larger for them.
    assert made.laws[0].noise.std == pytest.approx(mechanism(plan(TOWN)).laws[0].noise.std)


def test_several_groupings_with_wanted_noise():
    """A cell of other keys that is measured as well as the others: least squares on all of them,
    whose errors are those that are told."""
    wanted = plan(TOWN, SEX, sigma=9.0)
    made = mechanism(wanted)
    assert made.tables == ()
    known = conditions(wanted, made)
    assert len(known.groupings) == 2
    rng = np.random.default_rng(1)
    stds = np.array([made.law_of[i].noise.std for i in range(len(made.entries))])
    found = [
        added_up(wanted, made, estimate.rows(wanted, made, (stds * one).tolist()))
        for one in rng.normal(size=(1500, len(stds)))
    ]
    check_sums(found[0], "town", "sex")
    values = np.array([[row.value for row in rows] for rows in found])
    told = [row.noise_std for row in found[0]]
    assert np.std(values, axis=0) == pytest.approx(told, rel=0.08)
    assert told[0] < 0.95 * stds[0]
    together = combined(wanted, made, found[0], {"all": 1.0, ("town", "town = a"): -1.0})
    assert np.std(values[:, 0] - values[:, 1]) == pytest.approx(together.noise_std, rel=0.08)
    assert together.value == pytest.approx(values[0, 0] - values[0, 1])


def test_against_dense_least_squares():
    rng = np.random.default_rng(2)
    variances = dict(enumerate(rng.uniform(0.5, 3.0, 8).tolist()))
    known = Conditions(0, ((1, 2, 3), (4, 5, 6, 7)), variances)
    matrix = np.array([[1, -1, -1, -1, 0, 0, 0, 0], [1, 0, 0, 0, -1, -1, -1, -1]], dtype=float)
    whole = np.diag(list(variances.values()))
    move = whole @ matrix.T @ np.linalg.inv(matrix @ whole @ matrix.T) @ matrix
    noisy = rng.normal(size=8)
    expected = noisy - move @ noisy
    assert list(known.moved(dict(enumerate(noisy))).values()) == pytest.approx(expected)
    for i in range(8):
        form = known.form(i)
        assert [form[j] for j in range(8)] == pytest.approx((np.eye(8) - move)[i])
    assert known.form(99) == {99: 1.0}


def test_where_nothing_adds_up():
    asked = {"person": "id", "one_row_per_person": False}
    bounds = {"rows_per_person": 2, "groups_per_person": 2}
    several = plan(TOWN, **asked, **bounds)
    assert conditions(several, mechanism(several)) is None
    complete = plan({"town": {"values": ["a", "b"], "complete": True}}, sigma=9.0)
    assert conditions(complete, mechanism(complete)) is None
    grouped = Plan(
        "t", None, "add/remove", (Statistic("count", group_by=TOWN),), 1.0, 1e-6,
        one_row_per_person=True,
    )  # fmt: skip
    assert conditions(grouped, mechanism(grouped)) is None
