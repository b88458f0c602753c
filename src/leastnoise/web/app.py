"""The routes: the page, and one JSON answer for each question about a setting."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from leastnoise.errors import LeastNoiseError
from leastnoise.web.guard import Guard
from leastnoise.web.service import FIRST_SETTING, Service
from leastnoise.web.setting import InvalidSettingError, Setting, setting_from
from leastnoise.web.workers import BusyError, TooLongError, Workers

STATIC = Path(__file__).parent / "static"
Question = Callable[[Service, Setting], Awaitable[bytes]]


@dataclass(frozen=True)
class Limits:
    """How much work the server takes on: processes, questions in the queue, seconds for one question there and in a process."""

    workers: int = 2
    waiting: int = 16
    seconds: float = 6.0


def application(limits: Limits, names: Collection[str] = (), started: Callable[[], None] = lambda: None) -> Guard:
    """The explorer as an ASGI application; `started` is called once the workers are there."""

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        workers = Workers(limits.workers, limits.waiting, limits.seconds)
        app.state.service = service = Service(workers)
        try:
            await workers.start()
            first = asyncio.ensure_future(_warmed(service))
            started()
            yield
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
        finally:
            await workers.stop()

    routes = [
        Route("/", _page),
        Route("/api/known", _answer(Service.known)),
        Route("/api/design", _answer(Service.design)),
        Route("/api/ahead", _answer(Service.ahead)),
        Route("/api/laws", _answer(Service.laws)),
        Route("/api/curve", _answer(Service.curve)),
        Route("/api/numbers", _answer(Service.numbers)),
        Route("/api/noise.json", _answer(Service.artefact, attachment="noise.json")),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    handlers: Any = {404: _not_found, Exception: _failed}
    return Guard(Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers), names)


async def _warmed(service: Service) -> None:
    """The first setting of the page, computed before anybody asks."""
    with contextlib.suppress(LeastNoiseError):
        await asyncio.gather(service.curve(FIRST_SETTING), service.numbers(FIRST_SETTING))


async def _page(request: Request) -> Response:
    return FileResponse(STATIC / "index.html", media_type="text/html")


def _answer(question: Question, attachment: str | None = None) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        try:
            setting = setting_from(dict(request.query_params))
            text = await _unless_gone(request, question(request.app.state.service, setting))
        except InvalidSettingError as error:
            return JSONResponse({"errors": error.errors}, 422)
        except BusyError as error:
            return JSONResponse({"error": str(error)}, 503, headers={"retry-after": str(error.retry_after)})
        except TooLongError as error:
            return JSONResponse({"error": str(error)}, 504)
        except LeastNoiseError as error:
            return JSONResponse({"error": str(error)}, 422)
        headers = {"content-disposition": f'attachment; filename="{attachment}"'} if attachment else {}
        return Response(text, media_type="application/json", headers={"cache-control": "no-store", **headers})

    return endpoint


async def _unless_gone(request: Request, answer: Awaitable[bytes]) -> bytes:
    """The answer, or nothing computed for a browser that has gone or moved on."""

    async def gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    work, left = asyncio.ensure_future(answer), asyncio.ensure_future(gone())
    try:
        await asyncio.wait({work, left}, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            return work.result()
        raise BusyError  # nobody reads it
    finally:
        for task in (work, left):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await task


async def _not_found(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": "There is no such page."}, 404)


async def _failed(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": "The server failed at this request; it goes on with others."}, 500)
