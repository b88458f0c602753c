"""An append-only chain of events in one SQLite file: durable, safe with several
processes, tamper-evident.

Each event is (id, kind, content, previous, hash) with hash = SHA-256 of the previous hash, id, kind
and content, the content being canonical JSON (sorted keys, no spaces, ASCII). Laws are kept beside
the events under their own SHA-256, which the events name. The last id and hash are kept once more,
so that removing the newest events is noticed too.

Guarantees: an event is on the disk when `append` and the transaction around it are over; a process
killed at any instant leaves either all of a transaction or nothing; writers wait for each other.
The chain shows edits made by accident or by hand. Who can rewrite the whole file can also recompute
every hash: against that, publish the hash of the newest event and compare it later.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any

from leastnoise.errors import LedgerError, positive
from leastnoise.files.canonical import canonical, text_digest
from leastnoise.files.reading import parsed
from leastnoise.files.writing import sync_folder
from leastnoise.text.characters import fault_within

FORMAT = "leastnoise.ledger"
VERSION = 1
_APPLICATION = 0x6C6E4C47  # "lnLG": marks the SQLite file as a ledger
START = "0" * 64

_APPEND_ONLY = "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
# SQLite keeps these statements as they are spelled, and `is_as_made` compares them:
# they never change.
_DEFINITIONS = (
    "CREATE TABLE events (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, content TEXT NOT NULL, "
    "previous TEXT NOT NULL, hash TEXT NOT NULL)",
    "CREATE TABLE laws (hash TEXT PRIMARY KEY, law TEXT NOT NULL)",
    "CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), id INTEGER NOT NULL, "
    "hash TEXT NOT NULL)",
    f"CREATE TRIGGER events_stay BEFORE UPDATE ON events {_APPEND_ONLY}",
    f"CREATE TRIGGER events_remain BEFORE DELETE ON events {_APPEND_ONLY}",
    f"CREATE TRIGGER laws_stay BEFORE UPDATE ON laws {_APPEND_ONLY}",
    f"CREATE TRIGGER laws_remain BEFORE DELETE ON laws {_APPEND_ONLY}",
)
_MARKS = (f"PRAGMA application_id = {_APPLICATION}", f"PRAGMA user_version = {VERSION}")
_SCHEMA = "; ".join([*_MARKS, *_DEFINITIONS]) + ";"


@dataclass(frozen=True)
class Event:
    """One link of the chain, as it stands in the file."""

    id: int
    kind: str
    content: str
    previous: str
    hash: str

    @property
    def data(self) -> dict[str, Any]:
        """The content as plain data."""
        data = _plain_data(self.content)
        if data is None:
            raise LedgerError(f"Event {self.id} of the ledger cannot be read.")
        return data

    def fault_after(self, last_id: int, last_hash: str) -> str | None:
        """What is wrong with this event as the successor of the given one; None if nothing is."""
        texts = (self.kind, self.content, self.previous, self.hash)
        # SQLite keeps anything in any column.
        if type(self.id) is not int or not all(isinstance(text, str) for text in texts):
            return f"Event {last_id + 1} is not made of texts."
        if self.id != last_id + 1:
            return f"Event {last_id + 1} is missing: event {self.id} follows event {last_id}."
        if self.previous != last_hash:
            broken = "the chain of hashes is broken"
            return f"Event {self.id} does not continue event {last_id}: {broken}."
        if self.hash != event_hash(self.id, self.kind, self.content, self.previous):
            return f"Event {self.id} was changed: its content does not match its hash."
        return None


def event_hash(number: int, kind: str, content: str, previous: str) -> str:
    """The hash that an event must carry."""
    return text_digest(f"{previous}\n{number}\n{kind}\n{content}")


def now() -> str:
    """The time, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class EventLog:
    """The open file. Threads of one process take turns; a child process must open its own."""

    def __init__(self, path: str | PathLike[str], *, timeout: float, read_only: bool) -> None:
        self.path = Path(os.path.abspath(path))
        self.timeout = positive("timeout", timeout)
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._connection: sqlite3.Connection | None = None
        if not self.path.exists():
            if read_only:
                raise LedgerError(f"There is no ledger at {self._name}.")
            _create(self.path)
        if not self.path.is_file():
            raise LedgerError(f"{self._name} is not a file.")
        with self._translated("open"):
            connection = self._connected("ro" if read_only else "rw")
        self._connection = connection
        try:
            self._prepare(connection)
            self._identity = self._file_identity()
        except BaseException:
            self.close()
            raise

    @property
    def _name(self) -> str:
        return repr(str(self.path))

    def _connected(self, mode: str) -> sqlite3.Connection:
        return sqlite3.connect(
            f"{self.path.as_uri()}?mode={mode}",
            uri=True,
            timeout=self.timeout,
            isolation_level=None,  # transactions are begun and ended here, nowhere else
            check_same_thread=False,
        )

    def _prepare(self, connection: sqlite3.Connection) -> None:
        if self.path.stat().st_size == 0:
            # SQLite would take it for a new database, and every budget would start again.
            raise LedgerError(
                f"{self._name} is empty: a ledger was truncated, or this was never one."
            )
        with self._translated("read"):
            marks = [
                connection.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("application_id", "user_version")
            ]
            if marks[0] != _APPLICATION:
                raise LedgerError(f"{self._name} is not a ledger.")
            if marks[1] != VERSION:
                raise LedgerError(
                    f"{self._name} has version {marks[1]}; this release reads version {VERSION}."
                )
            # EXTRA and not FULL: with a rollback journal only EXTRA also syncs the
            # directory after the journal is removed; without it a power cut could bring
            # the journal back and undo a spend whose result was already revealed.
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.execute("PRAGMA fullfsync = ON")
            connection.execute("PRAGMA trusted_schema = OFF")

    def close(self) -> None:
        """Close the file; closing twice is fine."""
        with self._lock:
            if self._connection is not None:
                if self._process == os.getpid():
                    self._connection.close()
                self._connection = None

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One consistent view of the file."""
        with self._transaction("BEGIN", "read") as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The right to write, alone: durable when the block ends, nothing changed if it raises."""
        with self._transaction("BEGIN IMMEDIATE", "write to") as connection:
            yield connection

    def confirm(self, event: Event, laws: Mapping[str, str] | None = None) -> None:
        """Read an event and the laws it names back from the file at `path`, or raise a LedgerError.

        Not by the open connection, which would answer from its own memory.
        """
        lost = (
            f"What was written to the ledger {self._name} cannot be read back, and nothing "
            "may be revealed for it"
        )
        if self._file_identity() != self._identity:
            raise LedgerError(f"{lost}: the file was moved or replaced.")
        with self._translated("read back"):
            fresh = self._connected("ro")
            try:
                fresh.execute("BEGIN")
                is_there = _holds(fresh, event, laws or {})
            finally:
                fresh.close()
        if not is_there:
            raise LedgerError(f"{lost}; see check().")

    def copy_to(self, path: Path) -> None:
        """Copies the file as it stands to one that is not there yet."""
        with self.reading() as connection:
            copy = sqlite3.connect(path)
            try:
                connection.backup(copy)
            finally:
                copy.close()

    @contextmanager
    def _transaction(self, begin: str, verb: str) -> Iterator[sqlite3.Connection]:
        with self._lock:
            connection = self._connection
            if connection is None:
                raise LedgerError(f"The ledger {self._name} is closed.")
            if self._process != os.getpid():
                raise LedgerError("A ledger cannot be carried into a child process; open it there.")
            if self._file_identity() != self._identity:
                # Otherwise a spend would be written to a file that nobody finds again.
                raise LedgerError(f"{self._name} was moved or replaced while it was open.")
            with self._translated(verb):
                connection.execute(begin)
                try:
                    yield connection
                    connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise

    def _file_identity(self) -> tuple[int, int]:
        try:
            found = self.path.stat()
        except OSError:
            raise LedgerError(f"{self._name} was moved or removed while it was open.") from None
        return found.st_dev, found.st_ino

    @contextmanager
    def _translated(self, verb: str) -> Iterator[None]:
        """SQLite's errors as ours, in one sentence."""
        try:
            yield
        except sqlite3.OperationalError as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise LedgerError(
                    f"Another process kept the ledger {self._name} locked for {self.timeout:g} s; "
                    "nothing was written, try again."
                ) from None
            raise LedgerError(f"Cannot {verb} the ledger {self._name}: {error}.") from None
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            # A damaged schema is quoted in bytes that are no text.
            raise LedgerError(
                f"Cannot {verb} the ledger {self._name} (truncated or damaged?): {error}."
            ) from None


def _create(path: Path) -> None:
    """A new ledger, whole or not at all: a process killed here leaves no half-made
    file; of two that race one creates it."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        connection = sqlite3.connect(
            f"{temporary.as_uri()}?mode=rwc", uri=True, isolation_level=None
        )
        try:
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.executescript(f"BEGIN; {_SCHEMA} COMMIT;")
            connection.execute("BEGIN")
            # The identity makes the first hash, and so all of them, different in every ledger.
            first = {"format": FORMAT, "version": VERSION, "time": now()}
            append(connection, "ledger", {**first, "identity": secrets.token_hex(16)})
            connection.execute("COMMIT")
        finally:
            connection.close()
        try:
            # Unlike a rename it never replaces a ledger that another process has just made.
            os.link(temporary, path)
        except FileExistsError:
            return
        sync_folder(path.parent)
    except (OSError, sqlite3.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        missing = "" if path.parent.is_dir() else "; its directory does not exist"
        raise LedgerError(f"Cannot create the ledger {str(path)!r}: {reason}{missing}.") from None
    finally:
        temporary.unlink(missing_ok=True)


def append(connection: sqlite3.Connection, kind: str, data: Mapping[str, Any]) -> Event:
    """A new event at the end; inside a transaction."""
    last_id, last_hash = head(connection)
    number, content = last_id + 1, canonical(dict(data))
    event = Event(number, kind, content, last_hash, event_hash(number, kind, content, last_hash))
    connection.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?)", astuple(event))
    connection.execute("INSERT OR REPLACE INTO head VALUES (1, ?, ?)", (event.id, event.hash))
    return event


def is_as_made(connection: sqlite3.Connection) -> bool:
    """Whether tables and triggers are those of a new ledger: a trigger more or less
    could undo what is appended, or let it be."""
    return _definitions(connection) == _made()


@cache
def _made() -> list[tuple[str, str, str]]:
    made = sqlite3.connect(":memory:")
    try:
        made.executescript(_SCHEMA)
        return _definitions(made)
    finally:
        made.close()


def _definitions(connection: sqlite3.Connection) -> list[tuple[str, str, str]]:
    # SQLite's own names, of indices and of its statistics, may differ.
    query = (
        "SELECT type, name, sql FROM sqlite_master "
        "WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type, name"
    )
    return connection.execute(query).fetchall()


def law_hashes(connection: sqlite3.Connection) -> set[str]:
    """The hashes of all laws that are kept."""
    return {str(row[0]) for row in connection.execute("SELECT hash FROM laws")}


def events(connection: sqlite3.Connection, after: int = 0) -> Iterator[Event]:
    """The events after a given one, in order, as they stand in the file."""
    query = "SELECT id, kind, content, previous, hash FROM events WHERE id > ? ORDER BY id"
    for row in connection.execute(query, (after,)):
        yield Event(*row)


def head(connection: sqlite3.Connection) -> tuple[int, str]:
    """Id and hash that the newest event should have."""
    row = connection.execute("SELECT id, hash FROM head").fetchone()
    if row is None:
        return 0, START
    is_plain = type(row[0]) is int and isinstance(row[1], str)  # if damaged it may be anything
    return row if is_plain else (0, "")


def _holds(connection: sqlite3.Connection, event: Event, laws: Mapping[str, str]) -> bool:
    """Whether the file has this event, and these laws by hash."""
    found = next(events(connection, event.id - 1), None)
    query = "SELECT law FROM laws WHERE hash = ?"
    kept = all(
        connection.execute(query, (name,)).fetchone() == (law,) for name, law in laws.items()
    )
    return kept and found == event and head(connection)[0] >= event.id


def hash_at(connection: sqlite3.Connection, number: int) -> str:
    """The hash of one event; that of the start for 0."""
    if number == 0:
        return START
    row = connection.execute("SELECT hash FROM events WHERE id = ?", (number,)).fetchone()
    return str(row[0]) if row else ""


def store_law(connection: sqlite3.Connection, law_hash: str, law: str) -> None:
    """Keep a law under its hash; a law that is there already stays as it is."""
    connection.execute("INSERT OR IGNORE INTO laws VALUES (?, ?)", (law_hash, law))


def stored_law(connection: sqlite3.Connection, law_hash: str) -> dict[str, Any]:
    """The law kept under a hash, or a LedgerError if it is missing or changed."""
    row = connection.execute("SELECT law FROM laws WHERE hash = ?", (law_hash,)).fetchone()
    if row is None:
        raise LedgerError(f"The law {law_hash[:16]}… is missing from the ledger.")
    text, name = str(row[0]), f"The law {law_hash[:16]}…"
    if text_digest(text) != law_hash:
        raise LedgerError(f"{name} was changed: its content does not match its hash.")
    data = _plain_data(text)
    if data is None:
        raise LedgerError(f"{name} of the ledger cannot be read.")
    unseen = fault_within(data)
    if unseen:
        raise LedgerError(f"{name} of the ledger has a text with the unseen character {unseen}.")
    return data


def _plain_data(text: str) -> dict[str, Any] | None:
    """A JSON object; None if the text is none, or holds a number beyond all range."""
    try:
        data = parsed(text)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None
