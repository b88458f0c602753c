"""Whom the releases of a data set protect: written down with the first, and the same for all
others.

On the visits of a clinic (examples/clinic.csv), patients with several visits, and on flights of
real aircraft. A plan that takes every visit for a person, or another column for the person, was
added up with the others as if it protected the same.
"""

from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("ibis")
pytest.importorskip("duckdb")

from leastnoise import laplace
from leastnoise.cli import main
from leastnoise.errors import LedgerError
from leastnoise.ledger import ledger as module
from leastnoise.ledger.ledger import Ledger, Spend, Unit
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.source import CsvFile, ParquetFile
from leastnoise.releases.plan.statistic import Statistic
from leastnoise.releases.release import release
from releases import real_tables as real

CLINIC = Path(__file__).parents[2] / "examples" / "clinic.csv"
PATIENTS = {"person": "patient", "rows_per_person": 4}
VISITS = {"one_row_per_person": True}


def visits(relation="add/remove", **unit):
    statistics = (Statistic("count"),)
    return Plan(
        "visits",
        CsvFile(str(CLINIC)),
        relation,
        statistics,
        0.1,
        1e-9,
        dataset="clinic",
        **(unit or PATIENTS),
    )


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "ledger") as book:
        book.open_dataset("clinic", epsilon=2.0, delta=1e-6)
        yield book


OTHERS = [
    (
        {**PATIENTS, "relation": "replace"},
        "so far have relation = 'add/remove', this one relation = 'replace'",
    ),
    (VISITS, "so far have person = 'patient', this one one row a person"),
    (
        {"person": "ward", "rows_per_person": 4},
        "so far have person = 'patient', this one person = 'ward'",
    ),
    (
        {**PATIENTS, "person_is": "a household"},
        "so far have person_is = 'a patient', this one person_is = 'a household'",
    ),
    (PATIENTS, "so far have person_is = 'a patient', this one no person_is"),
]


def test_a_release_for_others_is_refused_before_anything_is_spent(ledger):
    same = {**PATIENTS, "person_is": "a patient"}
    release(visits(**same), ledger=ledger)
    assert ledger.dataset("clinic").unit == Unit("add/remove", "person = 'patient'", "a patient")
    assert "clinic protects: person = 'patient' (a patient), add/remove" in ledger.show()
    head = ledger.head
    for other, said in OTHERS:
        with pytest.raises(LedgerError, match=said):
            release(visits(**other), ledger=ledger)
    assert ledger.head == head
    release(
        visits(**{**same, "rows_per_person": 2}), ledger=ledger
    )  # another bound on the same persons
    assert ledger.check(every_entry=True).ok


def test_flights_of_real_aircraft_are_not_added_up_with_flights_as_persons(tmp_path):
    """The same real table, 34,255 flights: by aircraft, by carrier, and each flight for itself."""
    path = real.as_parquet(real.flights(10), tmp_path / "flights.parquet")

    def flights(**unit):
        return Plan(
            "flights",
            ParquetFile(path),
            "add/remove",
            (Statistic("count"),),
            0.1,
            1e-9,
            dataset="flights",
            **unit,
        )

    aircraft = {"person": "tailnum", "rows_per_person": 200, "person_is": "an aircraft"}
    with Ledger(tmp_path / "ledger") as book:
        book.open_dataset("flights", epsilon=2.0, delta=1e-6)
        release(flights(**aircraft), ledger=book)
        head, status = book.head, book.dataset("flights")
        assert status.unit == Unit("add/remove", "person = 'tailnum'", "an aircraft")
        others = {
            "so far have person = 'tailnum', this one one row a person": VISITS,
            "so far have person = 'tailnum', this one person = 'carrier'": {
                "person": "carrier",
                "rows_per_person": 200,
            },
            "so far have person_is = 'an aircraft', this one no person_is": {
                "person": "tailnum",
                "rows_per_person": 200,
            },
        }
        for said, unit in others.items():
            with pytest.raises(LedgerError, match=said):
                release(flights(**unit), ledger=book)
        assert (book.head, book.dataset("flights")) == (head, status)
        release(flights(**aircraft), ledger=book)
        assert book.dataset("flights").releases == 2


def test_what_a_person_is_may_be_said_later_and_holds_from_then_on(ledger):
    small = [Spend(laplace(100.0))]
    release(visits(), ledger=ledger)
    release(visits(**PATIENTS, person_is="a patient"), ledger=ledger)
    ledger.spend("clinic", small, plan_hash="made elsewhere, says nothing")
    clash = ledger.preview("clinic", small, person="person = 'patient'")
    assert not clash.allowed
    assert "no person_is" in clash.reason
    assert ledger.preview(
        "clinic", small, person="person = 'patient'", person_is="a patient"
    ).allowed


def earlier_version(monkeypatch):
    """Events as they were: with a relation, and without persons."""
    made = module.release_event

    def without_unit(name, draws, after, texts):
        return made(
            name,
            draws,
            after,
            {key: text for key, text in texts.items() if key not in ("person", "person_is")},
        )

    monkeypatch.setattr(module, "release_event", without_unit)


def test_a_ledger_of_an_earlier_version_is_settled_by_the_first_release_that_says_it(
    tmp_path, monkeypatch
):
    path, plan = tmp_path / "ledger", tmp_path / "plan.toml"
    with Ledger(path) as book, monkeypatch.context() as earlier:
        earlier_version(earlier)
        book.open_dataset("clinic", epsilon=2.0, delta=1e-6)
        release(visits(), ledger=book)
        assert book.dataset("clinic").unit == Unit("add/remove")
    lines = [
        'name = "visits"',
        'dataset = "clinic"',
        "epsilon = 0.1",
        'relation = "add/remove"',
        'person = "patient"',
    ]
    lines += [
        "rows_per_person = 4",
        f"source = {{ csv = '{CLINIC}' }}",
        "[[statistic]]",
        'kind = "count"',
    ]
    plan.write_text("\n".join(lines), encoding="utf-8")
    said = (
        "no release of 'clinic' so far says whose rows belong together. From this one on it "
        "is settled: person = 'patient'."
    )
    for words in (["--preview"], []):
        done = CliRunner().invoke(main, ["release", str(plan), "--ledger", str(path), *words])
        assert done.exit_code == 0, done.output
        assert said in done.output
    assert (
        said not in CliRunner().invoke(main, ["release", str(plan), "--ledger", str(path)]).output
    )
    with Ledger(path) as book:
        assert book.dataset("clinic").unit == Unit("add/remove", "person = 'patient'")
        with pytest.raises(LedgerError, match="this one one row a person"):
            release(visits(**VISITS), ledger=book)
        assert book.check(every_entry=True).ok


def test_the_audit_finds_a_release_for_others(tmp_path, monkeypatch):
    with Ledger(tmp_path / "ledger") as book:
        book.open_dataset("clinic", epsilon=2.0, delta=1e-6)
        release(visits(), ledger=book)
        with monkeypatch.context() as careless:
            careless.setattr("leastnoise.ledger.accounts.Account.clash_with", lambda *_: None)
            release(visits(**VISITS), ledger=book)
        (problem,) = book.check().problems
    assert "is for others" in problem
    assert "person = 'patient', this one one row a person" in problem
