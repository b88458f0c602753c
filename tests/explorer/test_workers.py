"""The pool: bounded, with a time limit, and free again after everything that can go wrong. And the
cache over it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from leastnoise.errors import InvalidParameterError
from leastnoise.explorer import tasks
from leastnoise.explorer.service import Service
from leastnoise.explorer.setting import InvalidSettingError, PageSetting
from leastnoise.explorer.workers import BusyError, FailedError, TooLongError, Workers

SETTING = PageSetting(None, 8.0, 1e-6, 2, False, 1.0, "real")


PATIENT = (
    600.0  # seconds a question may take where the limit is not the subject, on a busy machine too
)


def with_workers(
    test: Callable[[Workers], Awaitable[Any]], count: int = 1, waiting: int = 2
) -> Any:
    async def run() -> Any:
        workers = Workers(count, waiting, PATIENT)
        await workers.start()
        try:
            return await test(workers)
        finally:
            await workers.stop()

    return asyncio.run(run())


async def begun(workers: Workers) -> asyncio.Task[Any]:
    """A worker that sleeps for longer than any test."""
    task = asyncio.ensure_future(workers.run(time.sleep, 1000.0))
    await until(lambda: not workers._idle)
    return task


async def until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(PATIENT):
        while not condition():
            await asyncio.sleep(0.001)


def waiting_in(workers: Workers) -> int:
    return sum(not turn.done() for _, _, turn in workers._queue)


def test_values_and_errors_come_back():
    async def test(workers: Workers) -> None:
        assert await workers.run(len, [1, 2, 3]) == 3
        with pytest.raises(InvalidParameterError) as found:
            await workers.run(_refuse)
        assert found.value.name == "epsilon"

    with_workers(test)


def _refuse() -> None:
    raise InvalidParameterError("epsilon", -1, "to be positive")


def test_a_full_queue_is_busy_and_withdrawn_questions_leave_it():
    async def test(workers: Workers) -> None:
        running = await begun(workers)
        queued = [asyncio.ensure_future(workers.run(len, [k])) for k in range(2)]
        await until(lambda: waiting_in(workers) == 2)
        with pytest.raises(BusyError):
            await workers.run(len, [])
        queued[0].cancel()
        await until(lambda: waiting_in(workers) == 1)
        late = asyncio.ensure_future(workers.run(len, [1, 2]))
        await until(lambda: waiting_in(workers) == 2)
        running.cancel()  # its process is ended, a new one takes the queue over
        assert await queued[1] == 1
        assert await late == 2

    with_workers(test)


def test_the_time_limit_frees_the_worker():
    async def test(workers: Workers) -> None:
        first = await workers.run(os.getpid)
        workers.seconds = 0.1
        with pytest.raises(TooLongError):
            await workers.run(time.sleep, 1000.0)
        workers.seconds = PATIENT
        assert await workers.run(os.getpid) != first

    with_workers(test)


def test_nobody_waits_in_the_queue_for_longer_than_the_limit():
    async def test(workers: Workers) -> None:
        running = await begun(workers)
        workers.seconds = 0.05
        with pytest.raises(BusyError):
            await workers.run(len, [])
        workers.seconds = PATIENT
        running.cancel()
        assert await workers.run(len, [1]) == 1

    with_workers(test)


def test_a_worker_that_dies_is_replaced():
    async def test(workers: Workers) -> None:
        with pytest.raises(FailedError):
            await workers.run(_die)
        assert await workers.run(len, []) == 0

    with_workers(test)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_the_urgent_goes_first():
    async def test(workers: Workers) -> None:
        done = []
        running = await begun(workers)

        async def ask(name: str, priority: int) -> None:
            await workers.run(len, [], priority=priority)
            done.append(name)

        asked = [asyncio.ensure_future(ask("late", 2)), asyncio.ensure_future(ask("first", 0))]
        await until(lambda: waiting_in(workers) == 2)
        running.cancel()
        await asyncio.gather(*asked)
        assert done == ["first", "late"]

    with_workers(test)


def test_no_process_is_left_behind():
    async def test(workers: Workers) -> int:
        return await workers.run(os.getpid)

    pid = with_workers(test)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


class Counting(Workers):
    asked = 0

    async def run(self, function: Callable[..., Any], *arguments: Any, **how: Any) -> Any:
        self.asked += 1
        return await super().run(function, *arguments, **how)


def test_equal_questions_are_computed_once():
    async def run() -> None:
        workers = Counting(2, 8, PATIENT)
        await workers.start()
        try:
            service = Service(workers)
            texts = await asyncio.gather(
                *(service.design(SETTING) for _ in range(20)), service.curve(SETTING)
            )
            assert len(set(texts[:20])) == 1
            assert workers.asked == 2  # one design, one curve that started from it
            assert await service.design(SETTING) == texts[0]
            assert workers.asked == 2
        finally:
            await workers.stop()

    asyncio.run(run())


def test_what_the_last_one_gives_up_is_ended_and_what_others_want_is_not():
    async def test(workers: Workers) -> None:
        service = Service(workers)
        one, other = (
            asyncio.ensure_future(service.design(SETTING)),
            asyncio.ensure_future(service.design(SETTING)),
        )
        await until(lambda: service._waiters["design", SETTING] == 2)
        one.cancel()
        assert await other
        (gone,) = await asyncio.gather(one, return_exceptions=True)
        assert isinstance(gone, asyncio.CancelledError)
        alone = asyncio.ensure_future(
            service.design(PageSetting(None, 7.0, 1e-6, 2, False, 1.0, "real"))
        )
        await until(lambda: service._running)
        alone.cancel()
        await asyncio.gather(alone, return_exceptions=True)
        assert not service._running
        assert await service.known(SETTING)

    with_workers(test)


def test_a_setting_that_took_too_long_is_answered_with_a_known_law_and_not_tried_again(monkeypatch):
    endless_setting = replace(SETTING, sensitivity=97.0)

    class Impatient(Counting):
        async def run(self, function: Callable[..., Any], *arguments: Any, **how: Any) -> Any:
            if function is tasks.study:
                self.asked += 1
                raise TooLongError(6.0)
            return await super().run(function, *arguments, **how)

    async def run() -> None:
        workers = Impatient(1, 8, PATIENT)
        await workers.start()
        try:
            service = Service(workers)
            texts = [await service.design(endless_setting) for _ in range(3)]
            assert workers.asked == 2  # once the design, once the known law
            assert len(set(texts)) == 1
            answer = json.loads(texts[0])
            assert answer["is_known"]
            assert answer["setting"] == endless_setting.fields()
            assert answer["notice"].startswith("This takes longer than the 6 seconds")
        finally:
            await workers.stop()

    asyncio.run(run())


def test_a_picture_that_took_too_long_is_tried_again():
    """A machine that had other work for a moment leaves no page without its picture until the
    server is started anew."""

    class Stumbling(Counting):
        async def run(self, function: Callable[..., Any], *arguments: Any, **how: Any) -> Any:
            if function is tasks.numbers and not self.asked:
                self.asked += 1
                raise TooLongError(6.0)
            return await Workers.run(self, function, *arguments, **how)

    async def run() -> None:
        workers = Stumbling(1, 8, PATIENT)
        await workers.start()
        try:
            service = Service(workers)
            with pytest.raises(TooLongError):
                await service.numbers(SETTING)
            assert json.loads(await service.numbers(SETTING))["setting"] == SETTING.fields()
        finally:
            await workers.stop()

    asyncio.run(run())


def test_where_no_known_law_is_found_either_the_first_reason_is_told_and_remembered(monkeypatch):
    class Failing(Counting):
        async def run(self, function: Callable[..., Any], *arguments: Any, **how: Any) -> Any:
            self.asked += 1
            raise TooLongError(6.0) if function is tasks.study else FailedError

    async def run() -> None:
        workers = Failing(1, 8, PATIENT)
        service = Service(workers)
        for _ in range(3):
            with pytest.raises(TooLongError):
                await service.design(SETTING)
        assert workers.asked == 2

    asyncio.run(run())


def test_what_a_worker_could_not_foresee_is_said_once():
    async def test(workers: Workers) -> None:
        with pytest.raises(FailedError) as found:
            await workers.run(_exhausted)
        assert (
            str(found.value)
            == "The computation for this setting failed: the numbers given are out of range."
        )

    with_workers(test)


def _exhausted() -> None:
    raise MemoryError


def test_looking_ahead_takes_idle_workers_only():
    async def test(workers: Workers) -> None:
        service = Service(workers)
        running = await begun(workers)
        with pytest.raises(BusyError):
            await service.ahead(SETTING)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await workers.run(len, [])  # until the new worker is there
        assert await service.ahead(SETTING) == b"{}"
        assert ("design", SETTING) in service._kept

    with_workers(test)


def test_a_setting_out_of_the_designers_reach_is_answered_with_a_known_law_that_says_so():
    async def run() -> None:
        workers = Counting(1, 8, PATIENT)
        await workers.start()
        try:
            service = Service(workers)
            texts = [
                await service.design(PageSetting(0.001, None, 1e-6, 1000, False, 1.0, "real"))
                for _ in range(2)
            ]
            assert workers.asked == 2
            answer = json.loads(texts[1])
            assert answer["is_known"]
            assert answer["epsilon"] <= 0.001
            assert "to be at least" in answer["notice"]
        finally:
            await workers.stop()

    asyncio.run(run())


def test_a_setting_that_is_none_is_refused_and_remembered():
    async def run() -> None:
        workers = Refusing(1, 8, PATIENT)
        service = Service(workers)
        for _ in range(2):
            with pytest.raises(InvalidSettingError):
                await service.design(SETTING)
        assert workers.asked == 1  # no known law is looked for

    asyncio.run(run())


class Refusing(Counting):
    async def run(self, function: Callable[..., Any], *arguments: Any, **how: Any) -> Any:
        self.asked += 1
        raise InvalidSettingError({"sigma": "No."})


def test_the_cache_is_bounded(monkeypatch):
    monkeypatch.setattr("leastnoise.explorer.service._MOST_BYTES", 3000)

    async def run() -> None:
        service = Service(Workers(1, 1, 1.0))
        for k in range(20):
            service._keep(
                ("known", PageSetting(None, 1.0 + k, 1e-6, 2, False, 1.0, "real")), b"x" * 100
            )
        assert len(service._kept) == 2
        assert service._bytes == sum(size for size, _ in service._kept.values()) <= 3000

    asyncio.run(run())
