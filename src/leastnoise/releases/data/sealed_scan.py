"""A scan in a process of its own that can read the table, write to its scratch folder, and reach
nothing else.

DuckDB is a large program that parses files from others, and it runs with the rights of the steward.
With `sealed=True` it runs in a child process that seals itself (`closed_process`) before it opens
the table. What comes back are lines of JSON with the integers that were asked for, which are
checked and never unpickled: who takes the child over by a hostile file can lie about the counts, or
in the sentence of an error, and that is all.

1. The child loads what it needs, trying every query on a table of its own. Its libraries start
   threads as they are loaded, which a seal would not reach: so it forks, and goes on alone.
2. It seals itself, opens the table and rehearses: every query on none of its rows; then it reads
   the files once to their end. Whatever the seal would stop later stops it now, before the ledger
   is charged.
3. It waits for leave, counts, answers and ends. It ends with its parent, whatever ends that.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import pickle
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from glob import has_magic
from importlib import metadata
from os import PathLike
from pathlib import Path
from typing import IO, Any

from leastnoise.errors import EngineError, LeastNoiseError, PlanError, UnsupportedError
from leastnoise.optional import required as extra
from leastnoise.releases.data import closed_process
from leastnoise.releases.data.counts import Counts, aggregate, no_rows, read_through, rehearse
from leastnoise.releases.data.duckdb_engine import declared_files, is_gzip, quoted
from leastnoise.releases.data.opening import open_table
from leastnoise.releases.data.scratch import Scratch
from leastnoise.releases.noise.sensitivity import Block
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.source import CsvFile, DuckDBTable, ParquetFile

_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from "
    "leastnoise.releases.data.sealed_scan import child; child()"
)
_KINDS: Mapping[str, type[LeastNoiseError]] = {
    kind.__name__: kind for kind in (PlanError, UnsupportedError, EngineError)
}
# How much memory and how many processors a process may use: DuckDB asks, and aborts if it may not.
_MACHINE = ("/proc/self/cgroup", "/sys/fs/cgroup", "/sys/devices/system/cpu")
_LONGEST = 1 << 28  # bytes of one line of the child: more than ten million integers


class SealedTable:
    """The plan's table in a sealed process, its columns checked; no row has been read for it."""

    engine = "duckdb"

    def __init__(
        self,
        plan: Plan,
        blocks: Sequence[Block],
        *,
        scratch: str | PathLike[str] | None = None,
        without_rows: bool = False,
    ) -> None:
        why = closed_process.obstacle()
        if why is not None:
            raise UnsupportedError(
                f"The table is not scanned: {why}. Without the seal it can be, if you trust its "
                "files."
            )
        for name in ("ibis", "duckdb"):
            extra(name, "tables")
        _source_files(plan)
        self._blocks = tuple(blocks)
        self._folder = Scratch(scratch)
        self._child: subprocess.Popen[bytes] | None = None
        try:
            self._child, self._orders, self._answers = _started()
            self._tell(pickle.dumps((plan, self._blocks, str(self._folder.path), without_rows)))
            self._answer("opened")
        except BaseException:
            self.close()
            raise

    def counts(self, number: int, progress: Callable[[float], None] | None = None) -> Counts:
        """The integers of a block."""
        self._tell(b"%d\n" % number)
        found = self._answer("counts", progress)
        expected = no_rows(self._blocks[number])
        if not isinstance(found, list) or len(found) != len(expected):
            raise EngineError("The sealed scan did not answer with what was asked for.")
        return {
            group: _integers(answers, len(zeros))
            for (group, zeros), answers in zip(expected.items(), found, strict=True)
        }

    def close(self) -> None:
        """End the child and remove what it wrote; closing twice is fine."""
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            # To its end: what was forked has ended too, and writes no more.
            while self._answers.read(1 << 16):
                pass
            self._answers.close()
            with suppress(BrokenPipeError):
                self._orders.close()
            self._child = None
        self._folder.close()

    def _tell(self, content: bytes) -> None:
        with suppress(BrokenPipeError):  # it has ended, and says why, or nothing
            self._orders.write(content)
            self._orders.flush()

    def _answer(self, wanted: str, progress: Callable[[float], None] | None = None) -> Any:
        """What the child says next under this name; its shares are passed on, its errors raised."""
        while True:
            line = self._answers.readline(_LONGEST)
            try:
                name, value = json.loads(line)
            except (ValueError, TypeError, RecursionError):
                raise EngineError("The sealed scan ended without an answer.") from None
            if name == "share" and progress is not None and isinstance(value, float):
                progress(min(max(value, 0.0), 1.0))
            if name == "failed" and isinstance(value, list) and len(value) == 2:
                raise _KINDS.get(str(value[0]), EngineError)(str(value[1])[:2000])
            if name == wanted:
                return value


def _source_files(plan: Plan) -> list[str]:
    if not isinstance(plan.source, (CsvFile, ParquetFile, DuckDBTable)):
        raise UnsupportedError(
            "A sealed scan is of a file: the plan must declare csv, parquet or duckdb as its "
            "source."
        )
    return declared_files(plan.source)


def _integers(answers: Any, count: int) -> tuple[int, ...]:
    is_whole = isinstance(answers, list) and len(answers) == count
    if not is_whole or not all(type(answer) is int for answer in answers):
        raise EngineError("The sealed scan did not answer with what was asked for.")
    return tuple(answers)


def _started() -> tuple[subprocess.Popen[bytes], IO[bytes], IO[bytes]]:
    """The child and its pipes, with the modules of this process, no environment but what Python
    needs, and no other file open."""
    names = {"PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH"}
    kept = {name: value for name, value in os.environ.items() if name in names}
    started = subprocess.Popen(
        [sys.executable, "-I", "-c", _PROGRAM, json.dumps(sys.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**kept, "OPENBLAS_NUM_THREADS": "1"},
    )
    if started.stdin is None or started.stdout is None:
        raise EngineError("The sealed scan could not be started.")
    return started, started.stdin, started.stdout


# In the child


def child() -> None:
    """Read a plan from standard input, seal, open, count: see the module."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a library prints is no answer
    # A Ctrl-C is for the parent, which ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def say(name: str, value: Any) -> None:
        answers.write(json.dumps([name, value]).encode("ascii") + b"\n")
        answers.flush()

    closed_process.end_with_parent()
    _without_core_dumps()
    with _failures_said(say):
        plan, blocks, folder, without_rows = pickle.load(sys.stdin.buffer)
        _warm_up(plan, blocks, folder)
        with warnings.catch_warnings():
            # Python warns of threads that a fork leaves behind, which is why it is done.
            warnings.simplefilter("ignore")
            alone = os.fork()
        if alone == 0:
            with _failures_said(say):
                closed_process.end_with_parent()
                _count(plan, blocks, folder, say, without_rows)
            os._exit(0)
        os.waitpid(alone, 0)
    os._exit(0)  # without waiting for threads of libraries


@contextmanager
def _failures_said(say: Callable[[str, Any], None]) -> Iterator[None]:
    try:
        yield
    except LeastNoiseError as error:
        say("failed", [type(error).__name__, str(error)])
    except Exception as error:
        say("failed", ["EngineError", f"The sealed scan failed ({type(error).__name__})."])


def _count(
    plan: Plan,
    blocks: Sequence[Block],
    folder: str,
    say: Callable[[str, Any], None],
    without_rows: bool = False,
) -> None:
    files = [os.path.abspath(path) for path in _source_files(plan)]
    # What DuckDB has not written to its file yet.
    logs = [path + ".wal" for path in files if os.path.exists(path + ".wal")]
    machine = [path for path in _MACHINE if os.path.exists(path)]
    closed_process.seal([*files, *logs, *machine], [folder], _listed(plan.source))
    table = open_table(plan, scratch=folder)
    rehearse(plan, table, blocks)
    if not without_rows:
        read_through(plan, table)
    say("opened", True)
    for line in sys.stdin.buffer:
        found = aggregate(plan, table, blocks[int(line)], lambda share: say("share", share))
        say("counts", [list(answers) for answers in found.values()])


def _without_core_dumps() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _warm_up(plan: Plan, blocks: Sequence[Block], folder: str) -> None:
    """Load every module that counting needs, by counting a small file of the same kind: a sealed
    process can load none."""
    # ibis asks for DuckDB's version at every connection, from a file.
    metadata.version = cache(metadata.version)
    table = open_table(replace(plan, source=_example(plan, Path(folder))), scratch=folder)
    try:
        for block in blocks:
            aggregate(plan, table, block)
    finally:
        table.close()


def _example(plan: Plan, folder: Path) -> CsvFile | ParquetFile | DuckDBTable:
    """A file with the columns of the plan and one row, of the kind that the plan declares."""
    source = plan.source
    duckdb = extra("duckdb", "tables")
    if isinstance(source, CsvFile):
        names = source.columns or plan.columns_read or ("ln_none",)
        path = folder / ("example.csv.gz" if is_gzip(source) else "example.csv")
        opened: Any = gzip.open if is_gzip(source) else open
        with opened(path, "wt", encoding="utf-8", newline="") as file:
            lines = csv.writer(file, delimiter=source.delimiter)
            header = [names] if source.columns is None else []
            lines.writerows([*header, ["0"] * len(names)])
        return replace(source, path=str(path))
    named = ['"' + name.replace('"', '""') + '"' for name in plan.columns_read]
    columns = ", ".join("'0' AS " + name for name in named) or "0 AS ln_none"
    if isinstance(source, DuckDBTable):
        path = folder / "example.duckdb"
        with duckdb.connect(str(path)) as made:
            made.execute(f"CREATE TABLE example AS SELECT {columns}")
        return DuckDBTable(str(path), "example")
    path = folder / "example.parquet"
    with duckdb.connect() as made:
        made.execute(f"COPY (SELECT {columns}) TO {quoted(str(path))} (FORMAT parquet)")
    return ParquetFile(str(path))


def _listed(source: Any) -> list[str]:
    """The folder in which a pattern finds its files."""
    if not isinstance(source, ParquetFile) or not has_magic(source.path):
        return []
    parts = Path(os.path.abspath(source.path)).parts
    fixed = next(at for at, part in enumerate(parts) if has_magic(part))
    return [str(Path(*parts[:fixed]))]
