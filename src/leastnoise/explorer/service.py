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
from leastnoise.explorer import planning, tasks
from leastnoise.explorer.setting import InvalidSettingError, OutOfReachError, PageSetting
from leastnoise.explorer.workers import BusyError, TooLongError, Workers

_MOST_BYTES = 64 << 20
_DESIGN = "design"
_FIRST, _SECOND, _LAST = 0, 1, 2  # who goes first in the queue: quick answers before slow ones
FIRST_SETTING = PageSetting(1.0, None, 1e-6, 10, True, 1.0, "integer")  # what the page opens with
PLAN_SECONDS = 45.0  # that the noise of a plan may take
Studied = tuple[bytes, tasks.Study]
Key = tuple[str, PageSetting | str]  # the kind of a question, and what is asked about


class Service:
    """Answers as JSON text. A setting that took too long or has no design is answered with a known
    law; this is remembered, and no design is tried again. A picture or a file that took too long
    is."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._kept: OrderedDict[Key, tuple[int, Any]] = OrderedDict()
        self._bytes = 0
        self._running: dict[Key, asyncio.Task[Any]] = {}
        self._waiters: Counter[Key] = Counter()

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

    async def plan_kinds(self, question: str = "") -> bytes:
        """What the form of a plan offers."""
        return await self._posted("plan kinds", planning.plan_kinds, "", _FIRST)

    async def plan_first(self, question: str) -> bytes:
        return await self._posted("plan first", planning.plan_first, question, _FIRST)

    async def plan_design(self, question: str) -> bytes:
        return await self._posted("plan", planning.plan_design, question, _SECOND)

    async def plan_variant(self, question: str) -> bytes:
        return await self._posted("plan variant", planning.plan_variant, question, _LAST)

    async def _posted(
        self, kind: str, function: Callable[..., dict[str, Any]], question: str, priority: int
    ) -> bytes:
        """The answer to a question that is a text. A plan may take longer than a law: it has many
        answers, and several ways to draw their noise are compared."""

        async def make() -> bytes:
            arguments = (question,) if question else ()
            told = await self._workers.run(
                function, *arguments, priority=priority, seconds=PLAN_SECONDS
            )
            return _json(told)

        found: bytes = await self._once(kind, question, make)
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
        self, kind: str, setting: PageSetting | str, make: Callable[[], Awaitable[Any]]
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

    async def _made(self, key: Key, make: Callable[[], Awaitable[Any]]) -> Any:
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

    def _keep(self, key: Key, value: Any) -> None:
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
