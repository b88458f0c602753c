"""One method for each question of the page. Equal questions are computed once, also when they come at the same time."""

from __future__ import annotations

import asyncio
import json
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any

from leastnoise.errors import LeastNoiseError
from leastnoise.web import work
from leastnoise.web.setting import InvalidSettingError, OutOfReachError, Setting
from leastnoise.web.workers import BusyError, TooLongError, Workers

_MOST_BYTES = 64 << 20
_DESIGN = "design"
_FIRST, _SECOND, _LAST = 0, 1, 2  # who goes first in the queue: quick answers before slow ones
FIRST_SETTING = Setting(1.0, None, 1e-6, 10, True, 1.0, "integer")  # what the page opens with


Studied = tuple[bytes, work.Study]


class Service:
    """Answers as JSON text. A setting that took too long or has no design is answered with a known law; this is remembered, and no
    design is tried again. A picture or a file that took too long is."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._kept: OrderedDict[tuple[str, Setting], tuple[int, Any]] = OrderedDict()
        self._bytes = 0
        self._running: dict[tuple[str, Setting], asyncio.Task[Any]] = {}
        self._waiters: Counter[tuple[str, Setting]] = Counter()

    async def known(self, setting: Setting) -> bytes:
        found: bytes = await self._once(
            "known", setting, lambda: self._text(work.known, setting, priority=_FIRST)
        )
        return found

    async def design(self, setting: Setting) -> bytes:
        return (await self._study(setting))[0]

    async def ahead(self, setting: Setting) -> bytes:
        """The design of a setting that may be asked for next: only if a worker has nothing else to do."""
        if not self._workers.has_idle():
            raise BusyError
        await self._study(setting)
        return b"{}"

    async def laws(self, setting: Setting) -> bytes:
        return (await self._surrounded(setting))[0]

    async def curve(self, setting: Setting) -> bytes:
        return await self._after("curve", setting, work.curve)

    async def numbers(self, setting: Setting) -> bytes:
        return await self._after("numbers", setting, work.numbers)

    async def artefact(self, setting: Setting) -> bytes:
        async def make() -> bytes:
            _, study = await self._study(setting)
            text: str = await self._workers.run(work.artefact, study, priority=_SECOND)
            return text.encode("utf-8")

        found: bytes = await self._once("artefact", setting, make)
        return found

    async def _study(self, setting: Setting) -> Studied:
        return await self._studied(_DESIGN, setting, lambda: self._designed(setting))

    async def _designed(self, setting: Setting) -> tuple[dict[str, Any], work.Study]:
        """The design; where there is none, the best known law that is found in a moment; where there is none either, why."""
        try:
            found: tuple[dict[str, Any], work.Study] = await self._workers.run(
                work.study, setting, priority=_SECOND
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
                work.known_study, setting, str(reason), is_designable, priority=_SECOND
            )
            return found
        except BusyError:
            raise
        except LeastNoiseError:
            raise reason from None

    async def _surrounded(self, setting: Setting) -> Studied:
        async def make() -> tuple[dict[str, Any], work.Study]:
            _, study = await self._study(setting)
            found: tuple[dict[str, Any], work.Study] = await self._workers.run(
                work.laws, study, priority=_SECOND
            )
            return found

        return await self._studied("laws", setting, make)

    async def _studied(
        self, kind: str, setting: Setting, make: Callable[[], Awaitable[Any]]
    ) -> Studied:
        async def text_too() -> Studied:
            answer, study = await make()
            return _json(answer), study

        found: Studied = await self._once(kind, setting, text_too)
        return found

    async def _after(
        self, kind: str, setting: Setting, function: Callable[[work.Study], dict[str, Any]]
    ) -> bytes:
        async def make() -> bytes:
            _, study = await self._surrounded(setting)
            return await self._text(function, study, priority=_LAST)

        found: bytes = await self._once(kind, setting, make)
        return found

    async def _text(
        self, function: Callable[..., dict[str, Any]], *arguments: Any, priority: int
    ) -> bytes:
        return _json(await self._workers.run(function, *arguments, priority=priority))

    async def _once(self, kind: str, setting: Setting, make: Callable[[], Awaitable[Any]]) -> Any:
        """What is kept, or one computation that all who ask share; it is ended when the last of them has gone."""
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

    async def _made(self, key: tuple[str, Setting], make: Callable[[], Awaitable[Any]]) -> Any:
        try:
            value = await make()
            self._keep(key, value)
            return value
        except InvalidSettingError as error:
            self._keep(key, error)
            raise
        except TooLongError as error:
            if (
                key[0] == _DESIGN
            ):  # pictures and files are quick but for moments when the machine is not
                self._keep(key, error)
            raise
        finally:
            if self._running.get(key) is asyncio.current_task():
                del self._running[key]

    def _keep(self, key: tuple[str, Setting], value: Any) -> None:
        size = _size(value)
        self._bytes += size - self._kept.pop(key, (0, None))[0]
        self._kept[key] = (size, value)
        while self._bytes > _MOST_BYTES:
            self._bytes -= self._kept.popitem(last=False)[1][0]


def _heard(task: asyncio.Task[Any]) -> None:
    """An error that comes when everybody has gone is nobody's."""
    if not task.cancelled():
        task.exception()


def _size(value: Any) -> int:
    """Bytes, roughly: the law is most of a study."""
    if isinstance(value, bytes):
        return len(value) + 1000
    if isinstance(value, tuple):
        text, study = value
        laws = [study.design.noise, *(rival.noise for rival in study.rivals)]
        return len(text) + 5000 + 8 * sum(getattr(law, "last", 0) for law in laws)
    return 1000


def _json(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":"), ensure_ascii=False).encode(
        "utf-8"
    )
