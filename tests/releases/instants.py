"""Processes that tell at which instant of their work they are and wait for leave to go on: a test
kills them where it wants.

A child tells its instants through a pipe and blocks at each until the parent answers, so a busy
machine changes nothing. The instants of a ledger are the starts of the SQL statements that matter,
seen by SQLite's own trace; others a child names itself.
"""

from __future__ import annotations

import os
import re
import selectors
import signal
import sqlite3
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

Tell = Callable[[str], None]

CREATING = "the tables are being made"
WAITING = "the right to write is asked for"
WRITTEN = "the spend is written, not committed"
COMMITTING = "the spend is about to be committed"
NOTING = "the end of the release is about to be committed"
COUNTING = "the answers of a series are about to be counted"

_COMMITS = {"release": COMMITTING, "done": NOTING, "series": COUNTING}  # by the kind of event
_EVENT = re.compile(r"INSERT INTO events VALUES \(\d+, '(\w+)'")


@dataclass(frozen=True)
class Target:
    """The `time`-th instant of this name; killed there, or once it has been told to go on and
    before the instant after."""

    instant: str
    time: int = 1
    after: bool = False


class Child:
    """A fork at work. `target` is where it will be killed; `seen` counts the instants
    it has told."""

    _ends: ClassVar[set[int]] = (
        set()
    )  # the parent's ends of all pipes, which no child may hold: it would not see the parent go

    def __init__(self, work: Callable[[Tell], None], target: Target) -> None:
        self.target, self.seen = target, Counter[str]()
        self.reader, told = os.pipe()
        leave, self._answer = os.pipe()
        self._ends.update((self.reader, self._answer))
        self.pid = os.fork()
        if self.pid == 0:
            try:
                for end in self._ends:
                    os.close(end)
                work(_teller(told, leave))
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(1)
        os.close(told)
        os.close(leave)
        self._pending = b""

    def hear(self) -> bool:
        """Take what the child tells and answer it. True once it has been killed; an error if it
        ended by itself."""
        heard = os.read(self.reader, 4096)
        if not heard:
            raise SystemExit(
                f"A child that was to be killed when {self.target} ended by itself, after "
                f"{dict(self.seen)}."
            )
        *names, self._pending = (self._pending + heard).split(b"\n")
        for name in names:
            self.seen[name.decode()] += 1
            is_there = (name.decode(), self.seen[name.decode()]) == (
                self.target.instant,
                self.target.time,
            )
            if not is_there or self.target.after:
                os.write(self._answer, b"g")
            if is_there:
                self._kill()
                return True
        return False

    def _kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        for end in (self.reader, self._answer):
            self._ends.remove(end)
            os.close(end)
        if not os.WIFSIGNALED(status):
            raise SystemExit(f"A child that was to be killed when {self.target} ended by itself.")


def _teller(told: int, leave: int) -> Tell:
    def tell(name: str) -> None:
        os.write(told, name.encode() + b"\n")
        if not os.read(leave, 1):
            os._exit(1)  # the parent is gone

    _trace_ledgers(tell)
    return tell


def _trace_ledgers(tell: Tell) -> None:
    """Every SQLite file opened from now on tells its instants."""
    connect: Callable[..., sqlite3.Connection] = sqlite3.connect

    def traced(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection, written = connect(*arguments, **options), ""

        def statement(text: str) -> None:
            nonlocal written
            text = text.strip()
            event = _EVENT.match(text)
            if event:
                written = event[1]
            elif text.startswith("CREATE TABLE events"):
                tell(CREATING)
            elif text == "BEGIN IMMEDIATE":
                tell(WAITING)
            elif text.startswith("INSERT OR REPLACE INTO head") and written == "release":
                tell(WRITTEN)
            elif text == "COMMIT":
                done, written = written, ""
                if done in _COMMITS:
                    tell(_COMMITS[done])

        connection.set_trace_callback(statement)
        return connection

    sqlite3.connect = traced  # type: ignore[assignment]


def killed_one_by_one(children: Iterator[Child], at_once: int = 1) -> Iterator[Child]:
    """Each child when it has been killed where it should be, `at_once` of them at work
    at a time."""
    with selectors.DefaultSelector() as selector:
        coming = True
        while True:
            while coming and len(selector.get_map()) < at_once:
                child = next(children, None)
                coming = child is not None
                if child is not None:
                    selector.register(child.reader, selectors.EVENT_READ, child)
            if not selector.get_map():
                return
            for key, _ in selector.select():
                child = key.data
                reader = child.reader
                if child.hear():
                    selector.unregister(reader)
                    yield child
