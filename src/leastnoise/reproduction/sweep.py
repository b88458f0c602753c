"""Many independent cells: over processes, any `concurrent.futures` executor or a Dask
scheduler; finished cells are kept.

A cell is a JSON object and is its own key: the store, a file of JSON lines, gives back
the result of every cell that was asked for before with the same numbers by the same
function and version of the package, so an interrupted sweep goes on where it stopped.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from leastnoise.errors import InvalidParameterError, positive_integer
from leastnoise.optional import required
from leastnoise.reproduction.records import Record, compact

Cell = Callable[[Record], Record]
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class SweepWorkers:
    """Who computes: `processes` of this machine (1: this process alone; None: one a processor), an
    executor, or the Dask scheduler at an address such as tcp://10.0.0.7:8786."""

    processes: int | None = None
    scheduler: str | None = None
    executor: Executor | None = None

    def __post_init__(self) -> None:
        if self.processes is not None:
            positive_integer("processes", self.processes)
        if self.scheduler is not None and self.executor is not None:
            raise InvalidParameterError(
                "scheduler", self.scheduler, "to be left out when an executor is given"
            )

    @contextlib.contextmanager
    def opened(self) -> Iterator[Executor | None]:
        """The executor, closed at the end unless it is the caller's own; None for this process."""
        count = os.cpu_count() if self.processes is None else self.processes
        if self.executor is not None:
            yield self.executor
        elif self.scheduler is not None:
            with _dask(self.scheduler) as executor:
                yield executor
        elif count is None or count == 1:
            yield None
        else:
            # Spawned workers read the number of threads from the environment; one each,
            # or they fight for the processors.
            before = {name: os.environ.get(name) for name in _THREADS}
            os.environ.update({name: "1" for name, value in before.items() if value is None})
            try:
                context = multiprocessing.get_context("spawn")
                with ProcessPoolExecutor(count, mp_context=context) as executor:
                    yield executor
            finally:
                for name, value in before.items():
                    if value is None:
                        os.environ.pop(name, None)


@dataclass(frozen=True)
class Options:
    """What a computation may need besides its own numbers: workers, a folder for
    finished cells, the heart-disease file."""

    workers: SweepWorkers = field(default_factory=SweepWorkers)
    store: Path | None = None
    heart: Path | None = None

    def store_for(self, name: str) -> Path | None:
        """Where the finished cells of one figure are kept."""
        return None if self.store is None else self.store / f"{name}.cells.jsonl"


DEFAULT = Options()


@contextlib.contextmanager
def _dask(address: str) -> Iterator[Executor]:
    client = required("distributed", "dask", "A Dask scheduler needs dask").Client(address)
    try:
        yield client.get_executor()
    finally:
        client.close()


def sweep(
    function: Cell,
    cells: Sequence[Record],
    *,
    workers: SweepWorkers,
    store: Path | None = None,
    label: str = "",
) -> list[Record]:
    """function(cell) of every cell, in order. `function` is a module's own, so that
    other processes can find it.

    Guarantees: a cell found in `store` is not computed again; every new result is in `store` before
    the next one is waited for; an error in a cell ends the sweep, with the results so far kept.
    """
    keys = [_key(function, cell) for cell in cells]
    known = {} if store is None else _stored(store)
    missing = {key: cell for key, cell in zip(keys, cells, strict=True) if key not in known}
    progress = _Progress(label, total=len(set(keys)), done=len(set(keys)) - len(missing))
    with contextlib.ExitStack() as stack:
        write = (lambda line: None) if store is None else _appender(store, stack)
        executor = stack.enter_context(workers.opened()) if len(missing) > 0 else None
        began = time.monotonic()
        for key, result in _results(function, missing, executor):
            # The sum over the cells is the time of the sweep, whatever the number of
            # workers, also when it is resumed.
            began, waited = time.monotonic(), time.monotonic() - began
            known[key] = {**compact(result), "wall_seconds": round(waited, 3)}
            write(json.dumps({"key": key, "result": known[key]}, ensure_ascii=False))
            progress.advance()
    progress.close()
    return [known[key] for key in keys]


def wall_seconds(cells: Sequence[Record]) -> float:
    """How long the sweep took, the cells of earlier sittings included."""
    return float(sum(cell.get("wall_seconds", 0.0) for cell in cells))


def _results(
    function: Cell, missing: dict[str, Record], executor: Executor | None
) -> Iterator[tuple[str, Record]]:
    if executor is None:
        for key, cell in missing.items():
            yield key, function(cell)
        return
    futures = {executor.submit(function, cell): key for key, cell in missing.items()}
    try:
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        for future in futures:
            future.cancel()


def _key(function: Cell, cell: Record) -> str:
    try:
        ours = version("leastnoise")
    except PackageNotFoundError:
        ours = "unknown"
    name = f"{function.__module__}.{function.__qualname__}"
    return json.dumps([name, ours, compact(cell)], sort_keys=True, ensure_ascii=False)


def _stored(store: Path) -> dict[str, Record]:
    """What an earlier sweep left; a last line torn by an interruption is passed over."""
    known: dict[str, Record] = {}
    if store.exists():
        for text in store.read_text(encoding="utf-8").splitlines():
            with contextlib.suppress(json.JSONDecodeError, KeyError, TypeError):
                entry = json.loads(text)
                known[entry["key"]] = entry["result"]
    return known


def _appender(store: Path, stack: contextlib.ExitStack) -> Callable[[str], None]:
    store.parent.mkdir(parents=True, exist_ok=True)
    torn = store.exists() and store.stat().st_size > 0 and not store.read_bytes().endswith(b"\n")
    file = stack.enter_context(store.open("a", encoding="utf-8"))
    if torn:
        file.write("\n")

    def write(text: str) -> None:
        file.write(text + "\n")
        file.flush()

    return write


class _Progress:
    """A line on a terminal, nothing elsewhere."""

    def __init__(self, label: str, *, total: int, done: int) -> None:
        self._label, self._total, self._done, self._first = label, total, done, done
        self._began = time.monotonic()
        self._shown = sys.stderr.isatty() and total > done

    def advance(self) -> None:
        self._done += 1
        if self._shown:
            pace = (time.monotonic() - self._began) / (self._done - self._first)
            left = pace * (self._total - self._done)
            self._show(f"{self._label} {self._done}/{self._total}, about {left:.0f} s left  ")

    def close(self) -> None:
        if self._shown:
            self._show(" " * 70 + "\r")

    def _show(self, text: str) -> None:
        print("\r" + text, end="", file=sys.stderr, flush=True)
