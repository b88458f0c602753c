"""Running a query in its engine: how far it is, and its end when the caller is interrupted.

The query runs in a thread of its own, so that the caller can look at it and stop it the same way on
every engine. Whatever ends the wait early, a Ctrl-C or an error of the progress callback, cancels
the query in the engine, and the error goes on only when the thread is done: no query is left.

What an engine tells of a running query: DuckDB an estimated share, Spark its finished tasks,
PostgreSQL nothing.
"""

from __future__ import annotations

import threading
import uuid
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

_POLL = 0.5  # seconds between two looks at the progress of a query
_AGAIN = 0.2  # seconds between two requests to end it: the first may come before it has begun

Report = Callable[[float], None]


@dataclass(frozen=True)
class _Handle:
    """What can be done with a query of one engine: called in its thread before it starts, to see
    how far it is, to end it."""

    begin: Callable[[], object] = lambda: None
    share: Callable[[], float] = lambda: 0.0
    cancel: Callable[[], object] = lambda: None


def executed(query: Any, engine: str, progress: Report | None = None) -> Any:
    """The result of an ibis query as an Arrow table. `progress` is told its growing share."""
    backend = query._find_backend(use_default=True)
    handle = _handle(engine, backend)
    found: list[Any] = []
    failed: list[BaseException] = []
    # Not Thread.join: interrupted in Python 3.11 and 3.12 it takes a running thread for one that
    # has ended, and a process that leaves while DuckDB still computes is aborted.
    ended = threading.Event()

    def work() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                with suppress(Exception):
                    handle.begin()
                found.append(query.to_pyarrow())
            except BaseException as error:
                failed.append(error)
            finally:
                ended.set()

    worker = threading.Thread(target=work, name="leastnoise-scan", daemon=True)
    most = 0.0
    try:
        worker.start()
        while not ended.wait(_POLL):
            if progress is not None:
                with suppress(Exception):
                    most = max(most, min(handle.share(), 1.0))
                progress(most)
    except BaseException as error:
        is_without_thread = worker.ident is None and isinstance(error, RuntimeError)
        if not is_without_thread:
            _end(handle, ended)
            worker.join()
        raise
    worker.join()
    if failed:
        raise failed[0]
    return found[0]


def _end(handle: _Handle, ended: threading.Event) -> None:
    """Cancel the query until its thread is done; another interrupt asks for the same."""
    while True:
        try:
            with suppress(Exception):
                handle.cancel()
            if ended.wait(_AGAIN):
                return
        except BaseException:
            continue


def _handle(engine: str, backend: Any) -> _Handle:
    if engine == "duckdb":
        return _duckdb(backend)
    if engine == "postgres":
        return _Handle(cancel=lambda: backend.con.cancel())
    return _spark(backend) if engine == "pyspark" else _Handle()


def _duckdb(backend: Any) -> _Handle:
    def begin() -> None:
        backend.raw_sql("SET enable_progress_bar = true")
        backend.raw_sql("SET enable_progress_bar_print = false")

    return _Handle(
        begin, lambda: float(backend.con.query_progress()) / 100.0, lambda: backend.con.interrupt()
    )


def _spark(backend: Any) -> _Handle:
    session = backend._session
    name = f"leastnoise-{uuid.uuid4().hex}"
    try:
        context = session.sparkContext
    except Exception:
        # Spark Connect has no context here; tags do the same there, without the tasks.
        return _Handle(
            begin=lambda: session.addTag(name), cancel=lambda: session.interruptTag(name)
        )

    def share() -> float:
        """Finished tasks over all tasks, stages that have not begun counted like the others. Later
        jobs are not known yet."""
        tracker = context.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(name)]
        numbers = [number for job in jobs if job is not None for number in job.stageIds]
        stages = [tracker.getStageInfo(number) for number in numbers]
        known = [stage for stage in stages if stage is not None and stage.numTasks > 0]
        done = float(sum(stage.numCompletedTasks / stage.numTasks for stage in known))
        return done / max(len(stages), 1)

    return _Handle(
        lambda: context.setJobGroup(name, "leastnoise", interruptOnCancel=True),
        share,
        lambda: context.cancelJobGroup(name),
    )
