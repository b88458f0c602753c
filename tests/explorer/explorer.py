"""The explorer's server in a process or a thread of its own."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from leastnoise.explorer.service import FIRST_SETTING, Service
from leastnoise.explorer.setting import PageSetting
from leastnoise.explorer.tasks import study

SETTING = {
    "by": "sigma",
    "sigma": "8",
    "delta": "1e-6",
    "answers": "10",
    "asked": "apart",
    "sensitivity": "1",
    "domain": "real",
}
PATIENCE = 300.0  # seconds after which a test gives up: a hang is a failure, a busy machine is none


@dataclass
class Server:
    """`leastnoise serve` as a person starts it."""

    process: subprocess.Popen[str]
    url: str

    @property
    def port(self) -> int:
        return urllib.parse.urlsplit(self.url).port or 0

    def get(
        self,
        path: str,
        headers: dict[str, str] | None = None,
        method: str = "GET",
        body: bytes | None = None,
    ) -> tuple[int, dict[str, str], bytes]:
        return request(self.port, path, headers, method, body)

    def ask(self, kind: str, **fields: str) -> tuple[int, Any]:
        status, _, body = self.get(f"/api/{kind}?{urllib.parse.urlencode(SETTING | fields)}")
        return status, json.loads(body)

    def stop(self, how: signal.Signals = signal.SIGINT) -> int:
        if self.process.poll() is None:
            self.process.send_signal(how)
        code = self.process.wait(PATIENCE)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        return code


def request(
    port: int,
    path: str,
    headers: dict[str, str] | None = None,
    method: str = "GET",
    body: bytes | None = None,
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    with contextlib.closing(connection):
        connection.request(method, path, body=body, headers=headers or {})
        answer = connection.getresponse()
        return (
            answer.status,
            {name.lower(): value for name, value in answer.getheaders()},
            answer.read(),
        )


def start_server(*options: str) -> Server:
    """Without the time limit of a question, which a busy machine may need longer than."""
    patient = (
        "import functools, leastnoise.explorer.app as app; app.Limits = "
        f"functools.partial(app.Limits, seconds={PATIENCE}); "
    )
    program, flag, code, *words = command("serve", "--no-open", "--json", *options)
    process = subprocess.Popen(
        [program, flag, patient + code, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    text = ""
    while process.stdout is not None and not text.rstrip().endswith("}"):
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(
                f"The server did not start: {process.stderr.read() if process.stderr else ''}"
            )
        text += line
    return Server(process, json.loads(text)["url"])


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", "from leastnoise.cli import main; main()", *arguments]


def endless(setting: PageSetting, *_: object) -> Any:
    """What a worker makes of a setting, but with a sensitivity of 97, for which neither the design
    nor a known law ever ends."""
    if setting.sensitivity == 97.0:
        time.sleep(1000.0)
    return study(setting)


class ThreadServer:
    """The application with limits of the test's choosing, served by uvicorn in a thread."""

    def __init__(self, **limits: Any) -> None:
        import uvicorn

        from leastnoise.explorer.app import Limits, configuration

        self._ready = threading.Event()
        config = configuration(Limits(**limits), started=self._ready.set)
        config.port = 0
        self._application: Any = config.app
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run)

    def __enter__(self) -> ThreadServer:
        self._thread.start()
        assert self._ready.wait(PATIENCE)
        until(lambda: self._server.started, "the server has started")
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(PATIENCE)

    @property
    def port(self) -> int:
        return int(self._server.servers[0].sockets[0].getsockname()[1])

    @property
    def connections(self) -> set[Any]:
        return self._server.server_state.connections

    def idle(self) -> Service:
        """The service, once the first setting of the page, which it computes by itself,
        is known."""
        service: Service = self._application._app.state.service
        first = {("curve", FIRST_SETTING), ("numbers", FIRST_SETTING)}
        until(lambda: first <= service._kept.keys(), "the first setting is known")
        until(
            lambda: len(service._workers._idle) == service._workers.count,
            "the workers are free again",
        )
        return service


def until(condition: Callable[[], Any], what: str) -> None:
    """Wait for something that another thread or process does."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"Not within {PATIENCE:g} s: {what}."
        time.sleep(0.01)
