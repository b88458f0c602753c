"""A bounded pool of worker processes. A question has a time limit, and one that nobody waits for
any more is ended at once.

Ending means ending the process: a design cannot be interrupted from within. A new worker is forked
from a process that has everything imported already, which takes about 20 ms (starting Python and
importing scipy takes a second).
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import multiprocessing
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

from leastnoise.errors import LeastNoiseError

_HOME = "leastnoise.explorer.tasks"


class BusyError(LeastNoiseError, RuntimeError):
    """All workers have work and the queue is full; `retry_after` is in seconds."""

    def __init__(self, retry_after: int = 1) -> None:
        super().__init__(
            "The server is busy with other settings; it will be free again in a moment."
        )
        self.retry_after = retry_after


class TooLongError(LeastNoiseError, RuntimeError):
    """The time limit passed."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"This takes longer than the {seconds:g} seconds the page allows. The command line "
            "has no such limit."
        )


class FailedError(LeastNoiseError, RuntimeError):
    """A worker ended or failed in a way that nobody foresaw."""

    def __init__(self, reason: str = "its process ended") -> None:
        super().__init__(f"The computation for this setting failed: {reason}.")
        self.reason = reason

    def __reduce__(self) -> tuple[type[FailedError], tuple[str]]:
        return type(self), (self.reason,)


class _Worker:
    """One process, asked one question at a time."""

    def __init__(self, context: Any) -> None:
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()

    def ask(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Blocks until the answer is there; EOFError or OSError if the process ended."""
        self.connection.send((function, arguments))
        return self.connection.recv()

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


class Workers:
    """`run` calls a function of `tasks` in a worker: at most `count` at a time, at most `waiting`
    more in the queue, each for at most `seconds` there and as long again in the worker."""

    def __init__(self, count: int, waiting: int, seconds: float) -> None:
        self.count, self.waiting, self.seconds = count, waiting, seconds
        forks = "forkserver" in multiprocessing.get_all_start_methods()
        self._context: Any = multiprocessing.get_context("forkserver" if forks else "spawn")
        if forks:
            self._context.set_forkserver_preload([_HOME])
        self._threads = ThreadPoolExecutor(2 * count + 2, thread_name_prefix="leastnoise-worker")
        self._idle: list[_Worker] = []
        self._all: set[_Worker] = set()
        self._queue: list[tuple[int, int, asyncio.Future[_Worker]]] = []
        self._order = itertools.count()
        self._replacements: set[asyncio.Task[None]] = set()
        self._is_stopping = False

    async def start(self) -> None:
        await asyncio.gather(*(self._add() for _ in range(self.count)))

    async def stop(self) -> None:
        self._is_stopping = True
        await asyncio.gather(*self._replacements, return_exceptions=True)
        for worker in self._all:
            worker.end()
        self._all.clear()
        self._idle.clear()
        self._threads.shutdown(wait=True)

    def has_idle(self) -> bool:
        return bool(self._idle)

    async def run(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        priority: int = 0,
        seconds: float | None = None,
    ) -> Any:
        """The function's value, or the error it raised; BusyError and TooLongError if it could not
        be had. `seconds`: its time in the worker, where that is not the usual one."""
        allowed = self.seconds if seconds is None else max(seconds, self.seconds)
        worker = await self._free(priority)
        loop = asyncio.get_running_loop()
        answer = loop.run_in_executor(self._threads, worker.ask, function, arguments)
        try:
            ok, value = await asyncio.wait_for(asyncio.shield(answer), allowed)
        except BaseException as failure:
            # its EOFError is expected
            answer.add_done_callback(lambda done: done.cancelled() or done.exception())
            self._replace(worker)
            if isinstance(failure, TimeoutError):
                raise TooLongError(allowed) from None
            if isinstance(failure, (EOFError, OSError)):
                raise FailedError from None
            raise
        self._release(worker)
        if ok:
            return value
        raise value

    async def _free(self, priority: int) -> _Worker:
        if self._idle:
            return self._idle.pop()
        self._queue = [entry for entry in self._queue if not entry[2].done()]
        heapq.heapify(self._queue)
        if len(self._queue) >= self.waiting:
            raise BusyError
        turn: asyncio.Future[_Worker] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._queue, (priority, next(self._order), turn))
        try:
            return await asyncio.wait_for(asyncio.shield(turn), self.seconds)
        except (asyncio.CancelledError, TimeoutError) as failure:
            if not turn.cancel():  # the turn came in the same instant: pass it on
                self._release(turn.result())
            if isinstance(failure, TimeoutError):
                raise BusyError from None
            raise

    def _release(self, worker: _Worker) -> None:
        while self._queue:
            turn = heapq.heappop(self._queue)[2]
            if not turn.done():
                turn.set_result(worker)
                return
        self._idle.append(worker)

    def _replace(self, worker: _Worker) -> None:
        if self._is_stopping:
            return
        self._all.discard(worker)
        task = asyncio.get_running_loop().create_task(self._replaced(worker))
        self._replacements.add(task)
        task.add_done_callback(self._replacements.discard)

    async def _replaced(self, worker: _Worker) -> None:
        await asyncio.get_running_loop().run_in_executor(self._threads, worker.end)
        await self._add()

    async def _add(self) -> None:
        if self._is_stopping:
            return
        loop = asyncio.get_running_loop()
        worker = await loop.run_in_executor(self._threads, _Worker, self._context)
        self._all.add(worker)
        self._release(worker)


def _serve(connection: Connection) -> None:
    """The worker's loop: it ends when the server does."""
    from leastnoise.explorer.tasks import prepare

    prepare()
    while True:
        try:
            function, arguments = connection.recv()
        except (EOFError, OSError):
            return
        try:
            answer = (True, function(*arguments))
        except LeastNoiseError as error:
            answer = (False, error)
        except (ArithmeticError, MemoryError):
            answer = (False, FailedError("the numbers given are out of range"))
        except Exception as error:
            # a defect of ours: the operator sees it, the page sees its kind alone
            traceback.print_exc()
            answer = (False, FailedError(type(error).__name__))
        try:
            connection.send(answer)
        except OSError:
            return
