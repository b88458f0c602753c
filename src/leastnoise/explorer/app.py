"""The routes: the page, and one JSON answer for each question about a setting."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from leastnoise.errors import LeastNoiseError, PlanError
from leastnoise.explorer.connections import BACKLOG, limited_protocol
from leastnoise.explorer.guard import Guard
from leastnoise.explorer.service import FIRST_SETTING, Service
from leastnoise.explorer.setting import InvalidSettingError, PageSetting, setting_from
from leastnoise.explorer.workers import BusyError, TooLongError, Workers

STATIC = Path(__file__).parent / "static"
PAGES = ("attacker.html", "plan.html")  # the views beside the first
# the header with the setting an answer belongs to, also where the body cannot say it
ECHO = "leastnoise-setting"
_GRACE = 2  # seconds that open requests have when the server stops
_QUESTIONS = (
    "known",
    "design",
    "ahead",
    "laws",
    "kept",
    "curve",
    "numbers",
    "game",
)  # of `Service`
Question = Callable[[Service, PageSetting], Awaitable[bytes]]


@dataclass(frozen=True)
class Limits:
    """How much work the server takes on: processes, questions in the queue, seconds for one
    question there and in a process; and how many connections, with the seconds a client has for its
    request and the bytes of one."""

    workers: int = 2
    waiting: int = 16
    seconds: float = 6.0
    connections: int = 512
    request_seconds: float = 10.0
    request_bytes: int = 16 << 10

    @property
    def answer_seconds(self) -> float:
        """An answer may need a design, a known law in its place and a curve, each after its time in
        the queue."""
        return 10.0 * self.seconds + 30.0


def configuration(
    limits: Limits, names: Collection[str] = (), started: Callable[[], None] = lambda: None
) -> uvicorn.Config:
    """The explorer as a server; see `application`."""
    return uvicorn.Config(
        application(limits, names, started),
        http=limited_protocol(limits.connections, limits.request_seconds, limits.answer_seconds),
        ws="none",
        # its own would close every log handler of the process, and with absl's the standard streams
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        backlog=BACKLOG,
        h11_max_incomplete_event_size=limits.request_bytes,
        timeout_graceful_shutdown=_GRACE,
    )


def application(
    limits: Limits, names: Collection[str] = (), started: Callable[[], None] = lambda: None
) -> Guard:
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
        Route("/", _page("index.html")),
        *(Route(f"/{name}", _page(name)) for name in PAGES),
        *(Route(f"/api/{name}", _answer(getattr(Service, name))) for name in _QUESTIONS),
        Route("/api/plan-kinds", _posted(Service.plan_kinds)),
        *(
            Route(f"/api/plan/{name}", _posted(getattr(Service, f"plan_{name}")), methods=["POST"])
            for name in ("first", "design", "variant")
        ),
        Route("/api/noise.json", _answer(Service.artefact, attachment="noise.json")),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    handlers: Any = {404: _not_found, Exception: _failed}
    return Guard(Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers), names)


async def _warmed(service: Service) -> None:
    """The first setting of the page, computed before anybody asks."""
    with contextlib.suppress(LeastNoiseError):
        await asyncio.gather(service.curve(FIRST_SETTING), service.numbers(FIRST_SETTING))


def _page(name: str) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        return FileResponse(STATIC / name, media_type="text/html")

    return endpoint


def _answer(
    question: Question, attachment: str | None = None
) -> Callable[[Request], Awaitable[Response]]:
    """A question about a setting, which every answer carries."""

    async def endpoint(request: Request) -> Response:
        echo: dict[str, str] = {"cache-control": "no-store"}

        async def made() -> bytes:
            setting = setting_from(dict(request.query_params))
            echo[ECHO] = urlencode(setting.fields())
            text = await _unless_gone(request, question(request.app.state.service, setting))
            if attachment:
                echo["content-disposition"] = f'attachment; filename="{attachment}"'
            return text

        return await _told(made, echo)

    return endpoint


def _posted(
    question: Callable[[Service, str], Awaitable[bytes]],
) -> Callable[[Request], Awaitable[Response]]:
    """A question that is a text, in the body of the request."""

    async def endpoint(request: Request) -> Response:
        async def made() -> bytes:
            try:
                text = (await request.body()).decode("utf-8")
            except UnicodeDecodeError:
                raise PlanError("A plan is sent in UTF-8.") from None
            return await _unless_gone(request, question(request.app.state.service, text))

        return await _told(made, {"cache-control": "no-store"})

    return endpoint


async def _told(made: Callable[[], Awaitable[bytes]], headers: dict[str, str]) -> Response:
    """What was made, or why it was not, with the headers as they are then."""
    try:
        text = await made()
    except InvalidSettingError as error:
        return JSONResponse({"errors": error.errors}, 422, headers=headers)
    except BusyError as error:
        headers["retry-after"] = str(error.retry_after)
        return JSONResponse({"error": str(error)}, 503, headers=headers)
    except TooLongError as error:
        return JSONResponse({"error": str(error)}, 504, headers=headers)
    except LeastNoiseError as error:
        return JSONResponse({"error": str(error)}, 422, headers=headers)
    return Response(text, media_type="application/json", headers=headers)


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
    said = "The server failed at this request; it goes on with others."
    return JSONResponse({"error": said}, 500)
