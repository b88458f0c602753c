"""The ledger counts the answers of series: events of the kind "series"."""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from leastnoise import gaussian
from leastnoise.errors import BudgetExceededError, InvalidParameterError, LedgerError
from leastnoise.ledger import event_log
from leastnoise.ledger.ledger import Ledger, Spend
from leastnoise.series.opening import open_series
from ledger.test_first_version import WRITTEN
from ledger.test_first_version import path as first_version  # noqa: F401  a fixture
from ledger.test_ledger_safety import edit, rechained
from series.cheap import DATASET, cheap_series, law

UNUSED = {"left": "0" * 64, "unused": "1" * 64}


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A ledger with a series of six questions, two of them answered, and a release beside it."""
    folder = tmp_path_factory.mktemp("series")
    with Ledger(folder / "budget.ledger") as ledger:
        ledger.open_dataset(DATASET, epsilon=2.0, delta=1e-6)
        series = cheap_series(folder / "a.series", ledger=ledger, dataset=DATASET)
        series.answer(0, 1)
        ledger.spend(DATASET, [Spend(gaussian(50.0))], plan_hash="plan")
        series.answer(0, 1)
    return folder / "budget.ledger"


@pytest.fixture
def path(template, tmp_path):
    return Path(shutil.copy(template, tmp_path))


def test_events_are_counted_checked_and_shown(path):
    with Ledger(path) as ledger:
        assert ledger.check(every_entry=True).ok
        series, plain = ledger.entries()
        assert (series.answered, plain.answered) == (2, None)
        assert ledger.dataset(DATASET).releases == 2  # counting is no release
        assert "series, 2 answers used" in ledger.show()
        assert "series, 2 answers used" in ledger._repr_html_()
        exported = json.loads(ledger.export())
        assert [entry["answered"] for entry in exported["entries"]] == [2, None]
        assert ledger.export("csv").count("\n") == 3
        with ledger._log.reading() as connection:
            kinds = [event.kind for event in event_log.events(connection)]
    assert kinds == ["ledger", "budget", "release", "series", "series", "release", "series"]


def changed(name, value, number):
    """Change one thing in the series event of this number."""

    def change(kind, data):
        if kind == "series" and data["used"] == number:
            data[name] = value
        return data

    return change


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (changed("used", 0, 2), "fewer than 1"),
        (changed("used", 7, 2), "7 used answers of a series charged for 6"),
        (changed("used", 1, 2), "other numbers left"),
        (changed("used", -1, 2), "cannot be understood"),
        (changed("used", True, 2), "cannot be understood"),
        (changed("entry", 6, 0), "a release that is not there"),
        (changed("entry", 2, 1), "a release that is not there"),
    ],
)
def test_check_finds_what_a_ledger_would_not_write_even_in_a_valid_chain(path, change, problem):
    rechained(path, change)
    with Ledger(path) as ledger:
        problems = ledger.check().problems
        assert len(problems) == 1
        assert problem in problems[0]


@pytest.mark.parametrize(
    "change", [changed("used", 0, 2), changed("entry", 2, 1), changed("unused", 5, 1)]
)
def test_a_counter_that_falls_stops_everything(path, change):
    rechained(path, change)
    with Ledger(path) as ledger:
        for use in (
            ledger.entries,
            lambda: ledger.spend(DATASET, [Spend(gaussian(50.0))], plan_hash="plan"),
            lambda: ledger.counting_series(3, first=2, used=3, **UNUSED).__enter__(),
        ):
            with pytest.raises(LedgerError):
                use()


def test_an_edited_counter_is_found(path):
    edit(path, "UPDATE events SET content = replace(content, '\"used\":2', '\"used\":1')")
    with Ledger(path) as ledger:
        assert any("was changed" in problem for problem in ledger.check().problems)
        with pytest.raises(LedgerError, match="was changed"):
            ledger.entries()


def test_what_is_counted_only_rises(path):
    with Ledger(path) as ledger:
        entry = ledger.entries()[0].id
        before = ledger.head
        with (
            pytest.raises(LedgerError, match="used 1 of its answers, and the ledger counts 2"),
            ledger.counting_series(entry, first=1, used=3, **UNUSED),
        ):
            pytest.fail("entered")
        with (
            pytest.raises(LedgerError, match="are not those the ledger knows"),
            ledger.counting_series(entry, first=2, used=3, **UNUSED),
        ):
            pytest.fail("entered")
        with (
            pytest.raises(LedgerError, match="no release 99"),
            ledger.counting_series(99, first=0, used=1, **UNUSED),
        ):
            pytest.fail("entered")
        for first, used in ((3, 2), (-1, 2), (0.0, 1), (0, True), (0, 1.5)):
            with (
                pytest.raises(InvalidParameterError),
                ledger.counting_series(entry, first=first, used=used, **UNUSED),
            ):
                pytest.fail("entered")
        with pytest.raises(KeyError), ledger.counting_series(entry, first=3, used=4, **UNUSED):
            raise KeyError("the file cannot be erased")  # then nothing is counted
        assert ledger.head == before
        with ledger.counting_series(entry, first=3, used=4, **UNUSED):
            pass
        assert ledger.entries()[0].answered == 4
        with pytest.raises(LedgerError, match="never charged"):
            ledger.series_entry("another", first=0, left="0" * 64)


def test_a_ledger_of_the_first_version_opens_and_counts(first_version):  # noqa: F811
    with Ledger(first_version) as ledger:
        assert ledger.check().ok
        assert all(entry.answered is None for entry in ledger.entries())
        assert ledger.head == WRITTEN["events"][-1][-1]
        entry = ledger.entries("school")[0]
        with ledger.counting_series(entry.id, first=0, used=1, **UNUSED):
            pass
        assert ledger.check().ok
        connection = sqlite3.connect(first_version)
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
        connection.close()


# Several series of one data set


def test_series_and_releases_of_one_data_set_compose_as_any_releases_do(tmp_path):
    """A series of n questions costs what n draws of its law cost, once, however many are asked."""
    with Ledger(tmp_path / "a") as ledger, Ledger(tmp_path / "plain") as plain:
        for one in (ledger, plain):
            one.open_dataset(DATASET, epsilon=2.0, delta=1e-6)
        spends = [[Spend(law(), 1.0, 6)], [Spend(gaussian(40.0))], [Spend(law(), 1.0, 9)]]
        first = cheap_series(tmp_path / "first", 6, ledger=ledger, dataset=DATASET)
        ledger.spend(DATASET, spends[1], plan_hash="plan")
        second = cheap_series(tmp_path / "second", 9, ledger=ledger, dataset=DATASET)
        for spend in spends:
            plain.spend(DATASET, spend, plan_hash="plan")
        spent = [entry.epsilon_after for entry in ledger.entries()]
        assert spent == [entry.epsilon_after for entry in plain.entries()]
        assert spent == sorted(set(spent))
        for number in range(6):
            assert first.answer(0, 1).number == second.answer(0, 1).number == number + 1
        second.close()
        assert ledger.dataset(DATASET).spent == spent[-1]
        assert [entry.answered for entry in ledger.entries()] == [6, None, 9]
        assert ledger.check(every_entry=True).ok


def test_a_series_beyond_the_budget_is_refused_before_anything_is_drawn(tmp_path):
    class NoEntropy:
        def take(self, count):
            pytest.fail("drawn")

    with Ledger(tmp_path / "ledger") as ledger:
        ledger.open_dataset(DATASET, epsilon=0.05, delta=1e-6)
        ledger.open_dataset("others", epsilon=2.0, delta=1e-6)
        ledger.spend("others", [Spend(gaussian(50.0))], plan_hash="p", relation="replace")
        before = ledger.head
        options = {"ledger": ledger, "source": NoEntropy()}
        with pytest.raises(BudgetExceededError):
            cheap_series(tmp_path / "a.series", 600, dataset=DATASET, **options)
        unit = {"relation": "add/remove", "person": "", "person_is": ""}
        with pytest.raises(LedgerError, match="do not add up"):
            cheap_series(tmp_path / "a.series", dataset="others", **{**options, "unit": unit})
        with pytest.raises(LedgerError, match="has no data set"):
            cheap_series(tmp_path / "a.series", dataset="nobody", **options)
        assert ledger.head == before
    assert [one.name for one in tmp_path.iterdir()] == ["ledger"]


def test_a_designed_series_beyond_the_budget_is_refused_and_leaves_nothing(tmp_path):
    with Ledger(tmp_path / "ledger") as ledger:
        ledger.open_dataset(DATASET, epsilon=0.5, delta=1e-6)
        before = ledger.head
        options = {"ledger": ledger, "dataset": DATASET}
        with pytest.raises(BudgetExceededError):
            open_series(tmp_path / "a.series", questions=2, epsilon=1.0, delta=1e-7, **options)
        assert ledger.head == before
        assert [one.name for one in tmp_path.iterdir()] == ["ledger"]
        with pytest.raises(LedgerError, match="last=True"):
            open_series(tmp_path / "a.series", questions=2, epsilon=0.5, delta=1e-6, **options)
        assert ledger.head == before
