"""Rehearsals: everything as in a release, from rows that are invented from the plan alone."""

import json
from datetime import date

import pytest

from leastnoise import Ledger, Plan, Statistic, rehearsed
from leastnoise.errors import BudgetExceededError, LedgerError, PlanError
from leastnoise.releases.plan.keys import Key
from leastnoise.releases.plan.source import CsvFile
from leastnoise.releases.record import REHEARSAL
from leastnoise.releases.rehearsal import invented

REGION = Key("region", ("east", "west"))
TOWN = Key("town", ("Aue", "Bonn", "Celle"), within=REGION, under=(0, 1, 1))
PERSON = {"person": "id", "rows_per_person": 6, "groups_per_person": 2}
ONE_ROW = {"one_row_per_person": True}
NOWHERE = CsvFile("there is no such table.csv")


def plan(*statistics, source=NOWHERE, **more):
    given = {"epsilon": 1.0, "delta": 1e-6, **(more or ONE_ROW)}
    return Plan("wards", source, given.pop("relation", "add/remove"), statistics, **given)


def mean(column="x", **more):
    return Statistic("mean", column=column, lower=-2, upper=7.5, pitch=0.25, missing="drop", **more)


def test_values_are_between_the_bounds_and_on_the_lattice():
    column = invented(plan(mean()))["x"]
    assert len(column) == 1000
    values = [float(one) for one in column if one is not None]
    assert 900 < len(values) < 1000
    assert {min(values), max(values)} == {-2.0, 7.5}
    assert all((value * 4).is_integer() for value in values)
    assert sum(values) / len(values) == pytest.approx(2.75, abs=0.1)


def test_nobody_has_more_rows_or_groups_than_declared():
    asked = plan(Statistic("count", group_by={"ward": list("abcdef"), "sex": ["m", "f"]}), **PERSON)
    table = invented(asked)
    of = {}
    for person, *keys in zip(table["id"], table["ward"], table["sex"], strict=True):
        of.setdefault(person, []).append(tuple(keys))
    assert len(of) == 1000
    assert all(len(rows) <= 6 and len(set(rows)) <= 2 for rows in of.values())
    assert {row[0] for rows in of.values() for row in rows} == {*"abcdef", None}


def test_keys_within_others_belong_to_them():
    table = invented(plan(Statistic("count", group_by=(TOWN,))))
    pairs = set(zip(table["region"], table["town"], strict=True))
    assert pairs == {("east", "Aue"), ("west", "Bonn"), ("west", "Celle"), (None, None)}


def test_days_bins_and_formulas_are_filled_as_they_are_declared():
    days = {"seen": {"by": "quarter", "from": date(2025, 1, 1), "to": date(2025, 12, 31)}}
    asked = plan(
        Statistic("count", group_by=days),
        Statistic("histogram", group_by={"age": {"edges": [0, 18, 65, 100]}}),
        Statistic("count", name="old", where="born < 1960-01-01 and smoker and ward in ('A', 'B')"),
        Statistic("sum", column="bmi", lower=10, upper=60, pitch=1, missing=20),
        derive={"bmi": "weight / (height * height)"},
        columns={"seen": {"kind": "date", "format": "DD.MM.YYYY"}, "smoker": "truth"},
        **ONE_ROW,
    )
    table = invented(asked)
    assert set(table) == {"seen", "age", "born", "smoker", "ward", "weight", "height"}
    assert {one[6:] for one in table["seen"] if one} == {"2025"}
    assert {one[3:5] for one in table["seen"] if one} == {f"{month:02}" for month in range(1, 13)}
    assert set(table["smoker"]) == {"true", "false", None}
    assert set(table["ward"]) == {"A", "B", "another", None}
    born = sorted(one for one in table["born"] if one)
    assert born[0] < "1960-01-01" < born[-1]
    done = rehearsed(asked)
    assert done.value("old") > 100  # some of the invented rows are under the condition
    assert all(done.value(name.statistic, name.group) > 50 for name in done.rows[:7])


def test_columns_that_are_computed_are_left_to_their_formulas():
    asked = plan(
        Statistic("count", group_by={"old": ["yes", "no"]}),
        Statistic("histogram", group_by={"bmi": {"edges": [0, 20, 40]}}),
        derive={
            "old": "case when age >= 65 then 'yes' else 'no' end",
            "bmi": "weight / (height * height)",
        },
        **ONE_ROW,
    )
    assert set(invented(asked)) == {"age", "weight", "height"}
    done = rehearsed(asked)
    assert all(done.value("count by old", f"old = {key}") > 200 for key in ("yes", "no"))


def test_keys_within_the_same_others_agree_about_them():
    clinic = Key("clinic", ("K", "L"), within=REGION, under=(0, 1))
    again = Key("town", ("Aue", "Zeven"))
    table = invented(
        plan(
            *(
                Statistic("count", name=k.column + str(n), group_by=(k,))
                for n, k in enumerate((again, TOWN, clinic))
            )
        )
    )
    of = {"K": "east", "L": "west", "Aue": "east", "Bonn": "west", "Celle": "west"}
    for region, town, one in zip(table["region"], table["town"], table["clinic"], strict=True):
        assert region is None or {of.get(town, region), of.get(one, region)} == {region}
    assert {*table["clinic"]} == {"K", "L", None}


@pytest.mark.parametrize(
    "where", ["x < -5", "x > 0", "x = 0", "x in (3, 17)", "t = 2025-01-01", "t <= 0001-01-02"]
)
def test_some_rows_are_under_every_condition(where):
    assert rehearsed(plan(Statistic("count", where=where))).value(f"count where {where}") > 30


def test_days_may_be_the_last_there_are():
    assert len(invented(plan(Statistic("count", where="t <= 9999-12-31")))["t"]) == 1000
    with pytest.raises(PlanError, match="before the year 9999"):
        Key("t", by="year", span=(date(9998, 1, 1), date(9999, 12, 31)))


def test_so_many_rows_as_the_plan_says():
    stated = plan(
        Statistic("mean", column="x", lower=0, upper=1, pitch=1, missing="drop", public_n=303),
        relation="replace",
        **ONE_ROW,
    )
    assert sum(one is not None for one in invented(stated)["x"]) == 303
    by = Statistic("mean", column="x", lower=0, upper=1, pitch=1, missing=0, expected_n=40)
    grouped = plan(Statistic("count", group_by={"g": ["a", "b"]}), by)
    assert len(invented(grouped)["g"]) == 40
    assert list(invented(plan(Statistic("count")))) == ["row"]


def test_a_rehearsal_is_marked_wherever_it_is_shown(tmp_path):
    done = rehearsed(plan(mean(), Statistic("count")))
    assert (done.is_rehearsed, done.is_private, done.entry, done.standing) == (
        True,
        False,
        None,
        None,
    )
    assert "rehearsal on invented rows" in done.as_dict()["guarantee"]["in_words"]
    done.to_csv(tmp_path / "n.csv")
    done.to_html(tmp_path / "n.html")
    done.to_json(tmp_path / "n.json")
    lines = (tmp_path / "n.csv").read_text(encoding="utf-8").splitlines()
    assert all(line.endswith(REHEARSAL) for line in lines[1:])
    page = (tmp_path / "n.html").read_text(encoding="utf-8")
    assert f'<p class="warning">{REHEARSAL}</p>' in page
    assert json.loads((tmp_path / "n.json").read_text(encoding="utf-8"))["entropy"] == REHEARSAL


def test_a_ledger_is_not_charged_and_what_it_would_refuse_is_refused(tmp_path):
    path = tmp_path / "budget.ledger"
    with Ledger(path) as ledger:
        ledger.open_dataset("wards", epsilon=1.5, delta=1e-5)
        before = path.read_bytes()
        done = rehearsed(plan(Statistic("count")), ledger)
        assert (done.standing.releases, done.standing.epsilon) == (1, 1.5)
        assert path.read_bytes() == before
        assert ledger.entries() == ()
    with Ledger(path, read_only=True) as ledger:
        with pytest.raises(BudgetExceededError):
            rehearsed(plan(Statistic("count"), epsilon=2.0, **ONE_ROW), ledger)
        assert list(tmp_path.iterdir()) == [path]


def test_a_copy_replaces_nothing(tmp_path):
    with Ledger(tmp_path / "a.ledger") as ledger:
        with pytest.raises(LedgerError, match=r"something at .* already"):
            ledger.copy_to(tmp_path / "a.ledger")
        with pytest.raises(LedgerError, match="no folder"):
            ledger.copy_to(tmp_path / "no" / "b.ledger")
        ledger.copy_to(tmp_path / "b.ledger")
    with Ledger(tmp_path / "a.ledger") as one, Ledger(tmp_path / "b.ledger") as two:
        assert one.head == two.head


def test_a_plan_without_a_delta_gets_one_of_an_invented_budget():
    done = rehearsed(plan(Statistic("count"), delta=None, **ONE_ROW))
    assert 0.0 < done.delta <= 1e-6
