"""One method for each question of the page. Equal questions are computed once, also when they come
at the same time."""

from __future__ import annotations

import asyncio
import json
import pickle
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any

from leastnoise.errors import LeastNoiseError
from leastnoise.explorer import tasks
from leastnoise.explorer.setting import InvalidSettingError, OutOfReachError, PageSetting
from leastnoise.explorer.workers import BusyError, TooLongError, Workers

_MOST_BYTES = 64 << 20
_DESIGN = "design"
_FIRST, _SECOND, _LAST = 0, 1, 2  # who goes first in the queue: quick answers before slow ones
FIRST_SETTING = PageSetting(1.0, None, 1e-6, 10, True, 1.0, "integer")  # what the page opens with
Studied = tuple[bytes, tasks.Study]


class Service:
    """Answers as JSON text. A setting that took too long or has no design is answered with a known
    law; this is remembered, and no design is tried again. A picture or a file that took too long
    is."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._kept: OrderedDict[tuple[str, PageSetting], tuple[int, Any]] = OrderedDict()
        self._bytes = 0
        self._running: dict[tuple[str, PageSetting], asyncio.Task[Any]] = {}
        self._waiters: Counter[tuple[str, PageSetting]] = Counter()

    async def known(self, setting: PageSetting) -> bytes:
        async def make() -> bytes:
            return _json(await self._workers.run(tasks.known, setting, priority=_FIRST))

        found: bytes = await self._once("known", setting, make)
        return found

    async def design(self, setting: PageSetting) -> bytes:
        return (await self._study(setting))[0]

    async def ahead(self, setting: PageSetting) -> bytes:
        """The design of a setting that may be asked for next: only if a worker has nothing else to
        do."""
        if not self._workers.has_idle():
            raise BusyError
        await self._study(setting)
        return b"{}"

    async def laws(self, setting: PageSetting) -> bytes:
        return await self._after("laws", setting, tasks.laws, _SECOND)

    async def kept(self, setting: PageSetting) -> bytes:
        return await self._after("kept", setting, tasks.kept, _SECOND)

    async def curve(self, setting: PageSetting) -> bytes:
        return await self._after("curve", setting, tasks.curve, _LAST)

    async def numbers(self, setting: PageSetting) -> bytes:
        return await self._after("numbers", setting, tasks.numbers, _LAST)

    async def game(self, setting: PageSetting) -> bytes:
        return await self._after("game", setting, tasks.game, _SECOND)

    async def artefact(self, setting: PageSetting) -> bytes:
        async def make() -> bytes:
            _, study = await self._study(setting)
            text: str = await self._workers.run(tasks.artefact, study, priority=_SECOND)
            return text.encode("utf-8")

        found: bytes = await self._once("artefact", setting, make)
        return found

    async def _study(self, setting: PageSetting) -> Studied:
        async def make() -> Studied:
            answer, study = await self._designed(setting)
            return _json(answer), study

        found: Studied = await self._once(_DESIGN, setting, make)
        return found

    async def _designed(self, setting: PageSetting) -> tuple[dict[str, Any], tasks.Study]:
        """The design; where there is none, the best known law that is found in a moment; where
        there is none either, why."""
        try:
            found: tuple[dict[str, Any], tasks.Study] = await self._workers.run(
                tasks.study, setting, priority=_SECOND
            )
            return found
        except LeastNoiseError as failure:
            is_designable = not isinstance(failure, OutOfReachError)
            if isinstance(failure, BusyError) or (
                is_designable and isinstance(failure, InvalidSettingError)
            ):
                raise
            reason = failure
        try:
            found = await self._workers.run(
                tasks.known_study, setting, str(reason), is_designable, priority=_SECOND
            )
            return found
        except BusyError:
            raise
        except LeastNoiseError:
            raise reason from None

    async def _after(
        self,
        kind: str,
        setting: PageSetting,
        function: Callable[[tasks.Study], dict[str, Any]],
        priority: int,
    ) -> bytes:
        """What is asked about a design, once that is there."""

        async def make() -> bytes:
            _, study = await self._study(setting)
            return _json(await self._workers.run(function, study, priority=priority))

        found: bytes = await self._once(kind, setting, make)
        return found

    async def _once(
        self, kind: str, setting: PageSetting, make: Callable[[], Awaitable[Any]]
    ) -> Any:
        """What is kept, or one computation that all who ask share; it is ended when the last of
        them has gone."""
        key = (kind, setting)
        if key in self._kept:
            self._kept.move_to_end(key)
            value = self._kept[key][1]
            if isinstance(value, LeastNoiseError):
                raise value
            return value
        task = self._running.get(key)
        if task is None:
            task = self._running[key] = asyncio.ensure_future(self._made(key, make))
            task.add_done_callback(_heard)
        self._waiters[key] += 1
        try:
            return await asyncio.shield(task)
        finally:
            self._waiters[key] -= 1
            if not self._waiters[key]:
                del self._waiters[key]
                if not task.done():
                    self._running.pop(key, None)
                    task.cancel()

    async def _made(self, key: tuple[str, PageSetting], make: Callable[[], Awaitable[Any]]) -> Any:
        try:
            value = await make()
            self._keep(key, value)
            return value
        except InvalidSettingError as error:
            self._keep(key, error)
            raise
        except TooLongError as error:
            # pictures and files are quick but for moments when the machine is not
            if key[0] == _DESIGN:
                self._keep(key, error)
            raise
        finally:
            if self._running.get(key) is asyncio.current_task():
                del self._running[key]

    def _keep(self, key: tuple[str, PageSetting], value: Any) -> None:
        size = 1000 + len(pickle.dumps(value))  # roughly: what it takes between two processes
        self._bytes += size - self._kept.pop(key, (0, None))[0]
        self._kept[key] = (size, value)
        while self._bytes > _MOST_BYTES:
            self._bytes -= self._kept.popitem(last=False)[1][0]


def _heard(task: asyncio.Task[Any]) -> None:
    """An error that comes when everybody has gone is nobody's."""
    if not task.cancelled():
        task.exception()


def _json(value: Any) -> bytes:
    text = json.dumps(value, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8")
