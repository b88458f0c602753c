"""The ledger under kills, races, tampering and broken files."""

import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from leastnoise import discrete_gaussian, exact, gaussian, laplace
from leastnoise.errors import BudgetExceededError, LedgerError
from leastnoise.files.canonical import canonical
from leastnoise.ledger import event_log
from leastnoise.ledger.ledger import Ledger, Spend
from ledger.ledger_processes import (
    BUDGET,
    DONE,
    FITTING,
    INSTANTS,
    REVEALED,
    SPENDS,
    SPENT,
    spend_and_reveal,
)
from releases.instants import COMMITTING, CREATING, NOTING, WAITING, WRITTEN

TESTS = Path(__file__).parents[1]


def helper(*arguments):
    """What the module prints."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "ledger.ledger_processes", *map(str, arguments)]
    found = subprocess.run(
        command, capture_output=True, text=True, env=environment, cwd=TESTS, check=False
    )
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A ledger with two data sets and five releases."""
    path = tmp_path_factory.mktemp("template") / "budget.ledger"
    with Ledger(path) as ledger:
        ledger.open_dataset("patients", epsilon=2.0, delta=1e-6)
        ledger.open_dataset("staff", epsilon=1.0, delta=1e-6, rule="fixed in advance")
        for name, law in [
            ("patients", laplace(20.0)),
            ("staff", laplace(30.0)),
            ("patients", laplace(30.0)),
        ]:
            ledger.spend(name, [Spend(law)], plan_hash="plan")
        entry = ledger.spend(
            "patients", [Spend(laplace(20.0)), Spend(gaussian(40.0), 1.0, 3)], plan_hash="plan"
        )
        ledger.release_done(entry.id, "result")
        ledger.spend("staff", [Spend(gaussian(40.0), 2.0)], plan_hash="plan")
    return path


@pytest.fixture
def path(template, tmp_path):
    """A copy of it."""
    return Path(shutil.copy(template, tmp_path))


# Spends and revealed results of a child that is killed when it is held at an instant of its second
# release (where not named: two), or when it has just gone on from one of its first (none): from
# COMMITTING it may or may not have committed, from SPENT revealed.
HELD = {
    CREATING: (0, 0),
    WAITING: (1, 1),
    WRITTEN: (1, 1),
    COMMITTING: (1, 1),
    SPENT: (2, 1),
    REVEALED: (2, 2),
    NOTING: (2, 2),
}
GONE_ON = {
    REVEALED: [(1, 1)],
    NOTING: [(1, 1)],
    DONE: [(1, 1)],
    COMMITTING: [(0, 0), (1, 0)],
    SPENT: [(1, 0), (1, 1)],
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forked processes")
def test_200_kills_at_every_instant(tmp_path):
    """After each kill: the chain verifies, nothing is overspent, and every revealed value has its
    spend."""
    left = helper("kills", tmp_path, 25)
    assert len(left) == 200
    assert Counter(found["instant"] for found in left) == dict.fromkeys(INSTANTS, 25)
    for start in range(0, 200, len(INSTANTS)):
        before = 0, 0
        for found in left[start : start + len(INSTANTS)]:
            assert not found["problems"]
            assert not found["orphans"]
            assert found["spent"] <= BUDGET["epsilon"]
            spent, revealed = found["entries"] - before[0], found["revealed"] - before[1]
            before = found["entries"], found["revealed"]
            if found["after"]:
                assert (spent, revealed) in GONE_ON.get(found["instant"], [(0, 0)]), found
            else:
                assert (spent, revealed) == HELD.get(found["instant"], (2, 2)), found


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks the writers")
def test_8_writers_race_for_one_budget(tmp_path):
    """All of them create the ledger, declare the budget and spend: exactly what fits is spent, and
    every spend is there."""
    path = tmp_path / "race.ledger"
    done = helper("race", path, tmp_path, 8)
    assert len(done) == 8
    assert sum(done) == FITTING
    with Ledger(path) as ledger:
        assert ledger.check(every_entry=True).ok
        entries = ledger.entries("patients")
    assert len(entries) == FITTING
    assert all(entry.result_hash == f"result-{entry.id}" for entry in entries)
    revealed = {
        line for k in range(8) for line in (tmp_path / f"{k}.revealed").read_text().splitlines()
    }
    assert revealed == {f"{entry.id} {entry.plan_hash}" for entry in entries}
    assert [entry.epsilon_after for entry in entries] == sorted(
        entry.epsilon_after for entry in entries
    )


def test_threads_share_one_ledger(tmp_path):
    with Ledger(tmp_path / "threads.ledger") as ledger:
        ledger.open_dataset("patients", **BUDGET)
        outcomes = []

        def work():
            for _ in range(4):
                try:
                    outcomes.append(ledger.spend("patients", SPENDS, plan_hash="plan").id)
                except BudgetExceededError:
                    outcomes.append(None)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(outcome is not None for outcome in outcomes) == FITTING
        assert ledger.check().ok


def test_a_locked_ledger_is_waited_for_and_then_reported(path):
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with Ledger(path, timeout=0.1) as ledger:
        assert ledger.preview("patients", SPENDS).allowed  # readers need not wait
        with pytest.raises(LedgerError, match=r"kept the ledger .* locked for 0\.1 s"):
            ledger.spend("patients", SPENDS, plan_hash="plan")
        other.execute("ROLLBACK")
        other.close()
        before = len(ledger.entries())
        ledger.spend("patients", SPENDS, plan_hash="plan")
        assert len(ledger.entries()) == before + 1


def test_a_writer_waits_for_its_turn(path):
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    with Ledger(path, timeout=600.0) as ledger:
        asked = threading.Event()
        ledger._log._connection.set_trace_callback(
            lambda text: asked.set() if text == "BEGIN IMMEDIATE" else None
        )

        def release():
            """Once the writer has asked, and a little longer, so that it is surely waiting."""
            asked.wait()
            threading.Event().wait(0.1)
            other.execute("ROLLBACK")

        thread = threading.Thread(target=release)
        thread.start()
        ledger.spend("patients", SPENDS, plan_hash="plan")
        assert ledger.check().ok
        thread.join()
    other.close()


def test_commits_are_synced(path):
    with Ledger(path) as ledger, ledger._log.reading() as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (3,)  # EXTRA
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_an_interrupted_spend_leaves_nothing(path, monkeypatch):
    with Ledger(path) as ledger:
        before = ledger.entries(), ledger.head

        def interrupted(*_):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(event_log, "store_law", interrupted)
            with pytest.raises(KeyboardInterrupt):
                ledger.spend("patients", SPENDS, plan_hash="plan")
        assert (ledger.entries(), ledger.head) == before
        ledger.spend("patients", SPENDS, plan_hash="plan")
        assert ledger.check().ok


def test_an_interrupt_while_reading_leaves_the_accounts_true(path, monkeypatch):
    with Ledger(path) as ledger:
        take, calls = type(ledger._accounts)._take, []

        def interrupted(self, event):
            take(self, event)
            calls.append(event)
            if len(calls) == 4:
                raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(type(ledger._accounts), "_take", interrupted)
            with pytest.raises(KeyboardInterrupt):
                ledger.datasets()
        with Ledger(path) as other:
            assert ledger.datasets() == other.datasets()


# Tampering


def edit(path, *statements):
    """Change the file by hand, past the triggers, which are put back."""
    connection = sqlite3.connect(path)
    triggers = connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
    ).fetchall()
    for name, _ in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        connection.execute(statement)
    for _, made in triggers:
        connection.execute(made)
    connection.commit()
    connection.close()


EDITS = {
    "edited number": [
        "UPDATE events SET content = replace(content, '\"uses\":3', '\"uses\":1') WHERE kind = "
        "'release'"
    ],
    "edited plan": [
        "UPDATE events SET content = replace(content, 'plan\"', 'nalp\"') WHERE id = 5"
    ],
    "edited budget": [
        "UPDATE events SET content = replace(content, '0x1.0000000000000p+1', "
        "'0x1.0000000000000p+6') WHERE id = 2"
    ],
    "removed release": ["DELETE FROM events WHERE id = 5"],
    "removed newest": ["DELETE FROM events WHERE id = (SELECT max(id) FROM events)"],
    "removed newest and closed up": [
        "DELETE FROM events WHERE id = (SELECT max(id) FROM events)",
        "UPDATE events SET id = id",
    ],
    "removed and renumbered": [
        "DELETE FROM events WHERE id = 5",
        "UPDATE events SET id = id - 1 WHERE id > 5",
    ],
    "swapped": [
        "UPDATE events SET id = -4 WHERE id = 4",
        "UPDATE events SET id = 4 WHERE id = 5",
        "UPDATE events SET id = 5 WHERE id = -4",
    ],
    "edited hash": [
        "UPDATE events SET hash = iif(hash LIKE '0%', '1', '0') || substr(hash, 2) WHERE id = 6"
    ],
    "unreadable": ["UPDATE events SET content = 'nonsense' WHERE id = 6"],
    "other kind": ["UPDATE events SET kind = 'done' WHERE id = 6"],
    "no head": ["DELETE FROM head"],
    "added by hand": [
        "INSERT INTO events SELECT max(id) + 1, kind, content, previous, hash FROM events"
    ],
}


@pytest.mark.parametrize("statements", EDITS.values(), ids=EDITS.keys())
def test_tampering_is_found_and_stops_all_spending(path, statements):
    with Ledger(path) as ledger:
        assert ledger.check(every_entry=True).ok
    edit(path, *statements)
    with Ledger(path) as ledger:
        check = ledger.check()
        assert not check.ok
        assert check.problems
        for use in (
            lambda: ledger.spend("staff", SPENDS, plan_hash="plan"),
            ledger.entries,
            ledger.show,
            ledger.export,
        ):
            with pytest.raises(LedgerError):
                use()


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TRIGGER events_remain",
        "CREATE TRIGGER swallow AFTER INSERT ON events BEGIN DELETE FROM head; END",
        "CREATE TABLE notes (text TEXT)",
    ],
)
def test_other_tables_and_triggers_are_found(path, statement):
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()
    with Ledger(path) as ledger:
        assert ledger.check().problems == (
            "The tables or triggers of the file are not those of a ledger: it was changed by "
            "other means.",
        )


def test_a_law_that_no_release_names_is_found(path):
    edit(path, "INSERT INTO laws VALUES ('0123', '{}')")
    with Ledger(path) as ledger:
        assert ledger.check().problems == ("No release names the law 0123….",)


def test_a_full_disk_leaves_the_ledger_as_it_was(path):
    resource = pytest.importorskip("resource")
    with Ledger(path) as ledger:
        before = ledger.entries()
        large = [
            Spend(exact(discrete_gaussian(500.0), delta=1e-6))
        ]  # its thousands of weights need new pages
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, limits[1]))
        try:
            with pytest.raises(LedgerError, match="Cannot write to the ledger"):
                ledger.spend("patients", large, plan_hash="plan")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert ledger.entries() == before
        assert ledger.check().ok
        ledger.spend("patients", [Spend(gaussian(500.0))], plan_hash="plan")


@pytest.mark.parametrize(
    "statements", [["UPDATE laws SET law = replace(law, '1', '2')"], ["DELETE FROM laws"]]
)
def test_changed_laws_are_found(path, statements):
    edit(path, *statements)
    with Ledger(path) as ledger:
        assert any("The law" in problem for problem in ledger.check().problems)
        with pytest.raises(LedgerError):
            ledger.export()


def test_tampering_while_the_ledger_is_open_is_found(path):
    with Ledger(path) as ledger:
        ledger.entries()
        edit(
            path,
            "UPDATE events SET hash = CASE substr(hash, 1, 1) WHEN '0' THEN '1' ELSE '0' END || "
            "substr(hash, 2) WHERE id = (SELECT max(id) FROM events)",
        )
        with pytest.raises(LedgerError, match="changed while it was open"):
            ledger.spend("staff", SPENDS, plan_hash="plan")


def rechained(path, change):
    """Rewrite the whole chain with valid hashes after changing one content: what only a
    recomputation can find."""
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT id, kind, content FROM events ORDER BY id").fetchall()
    connection.close()
    previous, statements = event_log.START, []
    for number, kind, content in rows:
        data = json.loads(content)
        content = canonical(change(kind, data) or data)
        found = event_log.event_hash(number, kind, content, previous)
        statements.append(
            f"UPDATE events SET content = '{content}', previous = '{previous}', hash = '{found}' "
            f"WHERE id = {number}"
        )
        previous = found
    edit(path, *statements, f"UPDATE head SET hash = '{previous}'")


@pytest.mark.parametrize(
    "name", ["epsilon_after", "epsilon_if_fixed", "simple_sum", "largest", "failure"]
)
@pytest.mark.parametrize("dataset", ["patients", "staff"])
def test_numbers_that_the_laws_do_not_give_are_found_even_in_a_valid_chain(path, name, dataset):
    def change(kind, data):
        if kind == "release" and data["dataset"] == dataset:
            data[name] = (float.fromhex(data[name]) * 0.5 + 0.01).hex()
        return data

    rechained(path, change)
    with Ledger(path) as ledger:
        problems = ledger.check(every_entry=True).problems
    assert problems
    assert all("its laws give" in problem or "overspends" in problem for problem in problems)


def test_relations_mixed_by_hand_are_found(path, monkeypatch):
    with Ledger(path) as ledger:
        ledger.spend("patients", [Spend(gaussian(500.0))], plan_hash="plan", relation="replace")
        monkeypatch.setattr("leastnoise.ledger.accounts.Account.clash_with", lambda *given: None)
        ledger.spend("patients", [Spend(gaussian(500.0))], plan_hash="plan", relation="add/remove")
        monkeypatch.undo()
        (problem,) = ledger.check().problems
    assert "is for others" in problem


def test_an_overspent_but_consistent_ledger_is_found(path):
    def change(kind, data):
        if kind == "budget" and data["dataset"] == "staff":
            data["epsilon"] = (0.05).hex()
        return data

    rechained(path, change)
    with Ledger(path) as ledger:
        assert any("overspends 'staff'" in problem for problem in ledger.check().problems)


def test_a_published_hash_reveals_a_rewritten_chain_and_an_old_copy(path):
    old = path.read_bytes()
    with Ledger(path) as ledger:
        ledger.spend("patients", SPENDS, plan_hash="plan")
        published = ledger.head
        assert ledger.check(head=published).ok
        ledger.spend("patients", SPENDS, plan_hash="plan")
        assert ledger.check(head=published).ok
    path.write_bytes(old)
    with Ledger(path) as ledger:
        assert ledger.check().ok
        assert not ledger.check(head=published).ok


def test_the_hash_is_what_the_documentation_says(path):
    connection = sqlite3.connect(path)
    rows = connection.execute(
        "SELECT id, kind, content, previous, hash FROM events ORDER BY id"
    ).fetchall()
    connection.close()
    last = "0" * 64
    for number, kind, content, previous, found in rows:
        assert previous == last
        assert (
            found == hashlib.sha256(f"{previous}\n{number}\n{kind}\n{content}".encode()).hexdigest()
        )
        last = found


def test_rows_cannot_be_changed_by_accident(path):
    connection = sqlite3.connect(path)
    for statement in (
        "UPDATE events SET kind = 'x'",
        "DELETE FROM events",
        "UPDATE laws SET law = ''",
        "DELETE FROM laws",
    ):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            connection.execute(statement)
    connection.close()


# Files


def test_an_empty_file_is_not_taken_for_a_new_ledger(tmp_path):
    path = tmp_path / "empty.ledger"
    path.touch()
    with pytest.raises(LedgerError, match="is empty"):
        Ledger(path)
    assert path.stat().st_size == 0


@pytest.mark.parametrize(
    "content",
    [b"\0", b"garbage" * 1000, b"SQLite format 3\0" + b"\xff" * 5000, "€".encode() * 3000],
)
def test_garbage_is_refused(tmp_path, content):
    path = tmp_path / "garbage.ledger"
    path.write_bytes(content)
    with pytest.raises(LedgerError):
        Ledger(path)
    assert path.read_bytes() == content


def test_another_sqlite_file_is_refused(tmp_path):
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE events (id)")
    connection.close()
    with pytest.raises(LedgerError, match="is not a ledger"):
        Ledger(path)


def test_a_newer_version_is_refused(path):
    edit(path, "PRAGMA user_version = 99")
    with pytest.raises(LedgerError, match="has version 99"):
        Ledger(path)


@pytest.mark.parametrize("share", [0.05, 0.3, 0.5, 0.8, 0.95])
def test_a_truncated_file_is_refused_or_reported(path, share):
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(LedgerError), Ledger(path) as ledger:
        ledger.spend("staff", SPENDS, plan_hash="plan")
    try:
        with Ledger(path) as ledger:
            assert not ledger.check().ok
    except LedgerError:
        pass


@pytest.mark.parametrize("place", range(0, 100, 7))
def test_a_damaged_page_is_never_spent_from(path, place):
    """A kilobyte of ones anywhere: an error, a report, or no harm done (free space); never a broken
    chain that passes."""
    content = bytearray(path.read_bytes())
    start = len(content) * place // 100
    content[start : start + 1024] = b"\xff" * len(content[start : start + 1024])
    path.write_bytes(bytes(content))
    try:
        with Ledger(path) as ledger:
            if ledger.check().ok:
                assert len(ledger.entries()) == 5
            else:
                with pytest.raises(LedgerError):
                    ledger.export()
    except LedgerError:
        pass


def test_a_missing_directory_is_named(tmp_path):
    with pytest.raises(LedgerError, match="its directory does not exist"):
        Ledger(tmp_path / "nowhere" / "budget.ledger")


def test_a_directory_is_no_ledger(tmp_path):
    with pytest.raises(LedgerError, match="is not a file"):
        Ledger(tmp_path)


def test_a_read_only_ledger_can_be_read_but_not_spent_from(path):
    path.chmod(0o444)
    before = path.read_bytes()
    with Ledger(path, read_only=True) as ledger:
        assert ledger.check().ok
        assert ledger.preview("patients", SPENDS).allowed
        with pytest.raises(LedgerError, match="readonly"):
            ledger.spend("patients", SPENDS, plan_hash="plan")
        with pytest.raises(LedgerError, match="readonly"):
            ledger.open_dataset("new", epsilon=1.0, delta=1e-6)
    assert path.read_bytes() == before


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write to any file"
)
def test_a_file_without_write_permission(path):
    path.chmod(0o444)
    with Ledger(path) as ledger, pytest.raises(LedgerError):
        ledger.spend("patients", SPENDS, plan_hash="plan")


def test_reading_never_creates_a_ledger(tmp_path):
    with pytest.raises(LedgerError, match="There is no ledger"):
        Ledger(tmp_path / "new.ledger", read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_that_was_replaced_while_open_is_not_written_to(path, tmp_path):
    with Ledger(path) as ledger:
        ledger.entries()
        path.rename(tmp_path / "elsewhere.ledger")
        with pytest.raises(LedgerError, match="moved or removed"):
            ledger.spend("patients", SPENDS, plan_hash="plan")
        with Ledger(path), pytest.raises(LedgerError, match="moved or replaced"):
            ledger.spend("patients", SPENDS, plan_hash="plan")


def test_a_closed_ledger_says_so(path):
    ledger = Ledger(path)
    ledger.close()
    ledger.close()
    with pytest.raises(LedgerError, match="is closed"):
        ledger.entries()


def test_creating_leaves_one_file(tmp_path):
    assert spend_and_reveal(str(tmp_path / "a?b#c %20 ü.ledger"), os.devnull, "t") == FITTING
    assert [path.name for path in tmp_path.iterdir()] == ["a?b#c %20 ü.ledger"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_child_process_must_open_its_own(path):
    with Ledger(path) as ledger:
        ledger._log._process = -1  # as a child sees it
        with pytest.raises(LedgerError, match="child process"):
            ledger.entries()
        ledger._log._process = os.getpid()
