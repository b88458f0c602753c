"""The server as scripts, other sites and crowds meet it."""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import logging
import os
import select
import signal
import socket
import subprocess
import sys
import urllib.parse
from collections.abc import Iterator
from typing import Any

import pytest

from explorer.explorer import (
    PATIENCE,
    SETTING,
    Server,
    ThreadServer,
    command,
    endless,
    request,
    start_server,
    until,
)
from leastnoise import OneSided, design
from leastnoise.explorer import tasks
from leastnoise.explorer.workers import TooLongError, Workers
from leastnoise.optional import installing

for needed in ("starlette", "uvicorn"):
    pytest.importorskip(needed, reason="the explorer's server is not installed (leastnoise[web])")

QUERY = urllib.parse.urlencode(SETTING)


def test_the_design_is_that_of_the_function(server: Server):
    status, answer = server.ask("design")
    assert status == 200
    best = design(delta=1e-6, sigma=8.0, compositions=10)
    assert answer["epsilon"] == best.epsilon
    assert answer["gap"] == pytest.approx(best.gap)
    assert {rival["name"]: rival["epsilon"] for rival in answer["rivals"]} == dict(best.rivals)


def test_every_question_is_answered(server: Server):
    for kind in ("known", "design", "laws", "kept", "curve", "numbers", "ahead", "noise.json"):
        status, answer = server.ask(kind)
        assert status == 200, (kind, answer)
        assert isinstance(answer, dict)


def test_every_answer_says_which_setting_it_is_for(server: Server):
    """In the body, where it was computed, and in a header, which files have too; also when it is an
    error."""
    asked = SETTING | {"sigma": "8.0", "answers": "10.", "delta": " 0.000001"}
    wanted = {
        "by": "sigma",
        "sigma": 8.0,
        "delta": 1e-6,
        "answers": 10,
        "asked": "apart",
        "sensitivity": 1.0,
        "domain": "real",
        "changes": "box",
    }
    for kind in ("known", "design", "laws", "kept", "curve", "numbers", "ahead", "noise.json"):
        status, headers, body = server.get(f"/api/{kind}?{urllib.parse.urlencode(asked)}")
        assert status == 200
        said = dict(urllib.parse.parse_qsl(headers["leastnoise-setting"]))
        assert {name: str(value) for name, value in wanted.items()} == said, kind
        assert headers["cache-control"] == "no-store"
        if kind not in ("ahead", "noise.json"):
            assert json.loads(body)["setting"] == wanted, kind
    status, headers, _ = server.get(
        f"/api/design?{urllib.parse.urlencode(asked | {'sigma': '3000'})}"
    )
    assert status == 422
    assert "leastnoise-setting" not in headers  # it is no setting


def test_every_question_is_answered_for_answers_that_all_move_one_way(server: Server):
    asked = SETTING | {"asked": "together", "changes": "one-sided"}
    for kind in ("known", "design", "laws", "kept", "curve", "numbers", "noise.json"):
        status, headers, body = server.get(f"/api/{kind}?{urllib.parse.urlencode(asked)}")
        assert status == 200, body
        said = dict(urllib.parse.parse_qsl(headers["leastnoise-setting"]))
        assert said["changes"] == "one-sided", kind
    stated = json.loads(body)["content"]["guarantee"]
    assert stated["changes"] == {"kind": "one-sided", "touched": None, "ranges": None}
    best = design(delta=1e-6, sigma=8.0, batch=10, changes=OneSided())
    assert server.ask("design", **asked)[1]["epsilon"] == best.epsilon
    assert server.ask("design", **{**asked, "changes": "box"})[1]["epsilon"] > 1.2 * best.epsilon


def test_a_file_is_for_the_setting_of_its_own_request(server: Server):
    """However often and in whatever order other settings are asked for in between."""
    for epsilon in ("5", "0.5", "5", "0.5"):
        fields = SETTING | {
            "by": "epsilon",
            "epsilon": epsilon,
            "answers": "1",
            "domain": "integer",
        }
        del fields["sigma"]
        status, headers, body = server.get(f"/api/noise.json?{urllib.parse.urlencode(fields)}")
        assert status == 200
        assert headers["content-disposition"] == 'attachment; filename="noise.json"'
        guarantee = json.loads(body)["content"]["guarantee"]
        assert 0.999 * float(epsilon) < guarantee["epsilon"] <= float(epsilon)


def test_bad_fields_are_told_by_name(server: Server):
    status, answer = server.ask("design", sigma="lots", delta="7", answers="0")
    assert status == 422
    assert set(answer["errors"]) == {"sigma", "delta", "answers"}
    status, answer = server.ask("design", sigma="1e8")
    assert status == 422
    assert list(answer["errors"]) == ["sigma"]


@pytest.mark.parametrize(
    "path", ["/", "/static/main.js", f"/api/known?{QUERY}", "/nowhere", "/api/design?delta=x"]
)
def test_every_answer_has_the_security_headers(server: Server, path):
    _, headers, _ = server.get(path)
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert "*" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert not [name for name in headers if name.startswith("access-control")]
    assert "server" not in headers


def test_the_page_has_no_script_or_style_of_its_own_and_asks_nobody_else(server: Server):
    from leastnoise.explorer.app import STATIC

    page = (STATIC / "index.html").read_text(encoding="utf-8")
    assert "<style" not in page
    assert "style=" not in page
    assert "onclick" not in page
    assert page.count("<script") == page.count('<script type="module" src="static/')
    for path in STATIC.iterdir():
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text, path.name
        assert "https://" not in text, path.name
        assert "innerHTML" not in text, path.name


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:80",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "",
        "localhost:x",
        "a@localhost",
    ],
)
def test_other_names_are_not_answered(server: Server, host):
    assert server.get("/", {"Host": host})[0] == 421
    assert server.get(f"/api/known?{QUERY}", {"Host": host})[0] == 421


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:80", "127.0.0.1", "[::1]:9", "192.168.1.5:80"]
)
def test_own_names_and_addresses_are(server: Server, host):
    assert server.get("/", {"Host": host})[0] == 200


def test_other_sites_may_not_ask(server: Server):
    for headers in (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        status, answered, _ = server.get(f"/api/known?{QUERY}", headers)
        assert status == 403
        assert "access-control-allow-origin" not in answered
    own = {"Origin": server.url.rstrip("/"), "Sec-Fetch-Site": "same-origin"}
    assert server.get(f"/api/known?{QUERY}", own)[0] == 200


def test_only_small_reading_requests(server: Server):
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
        assert server.get("/", method=method)[0] == 405
    assert server.get("/", method="HEAD")[2] == b""
    assert server.get("/", body=b"x" * 10)[0] == 413
    assert server.get("/?" + "a" * 2000)[0] == 414
    assert server.get("/" + "a" * 500)[0] == 414
    try:
        status = server.get("/", {"X-Long": "a" * 200_000})[0]
    except ConnectionError:  # refused while it was still being sent
        status = 400
    assert status in (400, 431)
    assert server.get("/")[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e/%2e%2e/cli/serve.py",
        "/static//etc/passwd",
        "/../pyproject.toml",
        "/static/",
    ],
)
def test_no_path_leads_outside(server: Server, path):
    status, _, body = server.get(path)
    assert status == 404
    assert json.loads(body) == {"error": "There is no such page."}


def test_bytes_that_are_no_request_do_no_harm(server: Server):
    for text in (
        b"\x00\xff\x16\x03\x01 garbage\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET /api/design?%ff%00=%f0 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
            connection.sendall(text)
            connection.shutdown(socket.SHUT_WR)
            assert b" 200 " not in connection.recv(65536).split(b"\r\n")[0]
    assert server.get("/")[0] == 200


def test_fifty_clients_at_once_get_answers_or_busy(server: Server):
    def client(k: int) -> tuple[int, str]:
        fields = SETTING | {"sigma": str(6.0 + 0.01 * (k % 40))}  # some ask the same
        status, headers, body = server.get(f"/api/design?{urllib.parse.urlencode(fields)}")
        assert status == 200 or (
            status == 503
            and int(headers["retry-after"]) >= 1
            and "busy" in json.loads(body)["error"]
        )
        return status, fields["sigma"]

    with concurrent.futures.ThreadPoolExecutor(50) as clients:
        found = list(clients.map(client, range(50)))
    statuses = [status for status, _ in found]
    assert statuses.count(200) >= 10
    busy = next((sigma for status, sigma in found if status == 503), found[0][1])
    assert (
        server.ask("design", sigma=busy)[0] == 200
    )  # once the crowd has gone, everybody is served


def _endless(sigma: int) -> str:
    return "/api/design?" + urllib.parse.urlencode(
        SETTING | {"sensitivity": "97", "sigma": str(sigma)}
    )


@contextlib.contextmanager
def _asking(port: int, path: str) -> Iterator[None]:
    """A client that has asked and does not wait for the answer; it leaves at the end."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        yield


def test_a_full_queue_says_so_and_when_to_come_back(monkeypatch):
    monkeypatch.setattr("leastnoise.explorer.tasks.study", endless)
    with (
        ThreadServer(workers=1, waiting=2, seconds=10.0 * PATIENCE) as server,
        contextlib.ExitStack() as clients,
    ):
        workers = server.idle()._workers
        for k in range(3):
            clients.enter_context(_asking(server.port, _endless(100 + k)))
        until(
            lambda: len(workers._queue) == 2 and not workers.has_idle(),
            "one question is at work, two wait",
        )
        status, headers, _ = request(server.port, _endless(99))
        assert status == 503
        assert int(headers["retry-after"]) >= 1
        assert request(server.port, "/")[0] == 200


def test_beyond_the_time_limit_a_known_law_answers_and_if_there_is_none_the_limit_is_told(
    monkeypatch,
):
    run = Workers.run

    async def limited(workers: Workers, function: Any, *arguments: Any, priority: int = 0) -> Any:
        if function is tasks.study or (
            function is tasks.known_study and arguments[0].sensitivity == 97.0
        ):
            raise TooLongError(3.0)
        return await run(workers, function, *arguments, priority=priority)

    monkeypatch.setattr(Workers, "run", limited)
    with ThreadServer(workers=1, seconds=10.0 * PATIENCE) as server:
        status, _, body = request(server.port, f"/api/design?{QUERY}")
        answer = json.loads(body)
        assert status == 200
        assert answer["is_known"]
        assert answer["notice"].startswith("This takes longer than the 3 seconds the page allows.")
        status, headers, body = request(server.port, _endless(100))
        assert status == 504
        assert "3 seconds" in json.loads(body)["error"]
        assert "sensitivity=97" in headers["leastnoise-setting"]


def test_the_limit_is_that_of_the_clock(monkeypatch):
    monkeypatch.setattr("leastnoise.explorer.tasks.study", endless)
    monkeypatch.setattr("leastnoise.explorer.tasks.known_study", endless)
    with ThreadServer(workers=1, waiting=2, seconds=0.5) as server:
        answers: list[int] = []

        def told() -> bool:
            answers.append(request(server.port, _endless(100))[0])
            return answers[-1] != 503  # the worker has something else to do yet

        until(told, "the question got a worker")
        assert answers[-1] == 504


def test_a_client_that_leaves_takes_its_work_along(monkeypatch):
    monkeypatch.setattr("leastnoise.explorer.tasks.study", endless)
    with ThreadServer(workers=1, waiting=2, seconds=10.0 * PATIENCE) as server:
        service = server.idle()
        for _ in range(3):
            with _asking(server.port, _endless(100)):
                until(
                    lambda: service._running and not service._workers.has_idle(),
                    "the only worker is at it",
                )
            until(
                lambda: not service._running and service._workers.has_idle(),
                "it is free again, long before the time limit",
            )
        assert request(server.port, f"/api/known?{QUERY}")[0] == 200


HALF = b"GET / HTTP/1.1\r\nHost: local"


@contextlib.contextmanager
def _opened(port: int, count: int) -> Iterator[list[socket.socket]]:
    with contextlib.ExitStack() as sockets:
        yield [
            sockets.enter_context(
                contextlib.closing(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE))
            )
            for _ in range(count)
        ]


def _is_ended(connection: socket.socket) -> bool:
    """Waits for the server to end the connection; False if it says something first."""
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def test_six_hundred_half_sent_requests_do_not_block_the_page(server: Server):
    """More than there are places, and before any time for a request has passed."""
    with _opened(server.port, 600) as connections:
        for connection in connections:
            connection.sendall(HALF)
        assert server.get("/")[0] == 200
        assert server.get(f"/api/known?{QUERY}")[0] == 200
        assert _is_ended(connections[0])  # the one that waited longest made room
    assert server.get("/")[0] == 200


SHORT = 3.0  # seconds a request has: so many that a busy machine still answers within them


def test_a_request_has_its_time_however_it_is_sent():
    with (
        ThreadServer(workers=1, request_seconds=SHORT) as server,
        _opened(server.port, 3) as (silent, half, slow),
    ):
        half.sendall(HALF)
        with contextlib.suppress(ConnectionError):
            while not select.select([slow], [], [], 0.01)[
                0
            ]:  # a byte at a time, until the server has something to say
                slow.sendall(b"G")
        assert [_is_ended(connection) for connection in (silent, half, slow)] == [True, True, True]
        assert request(server.port, "/")[0] == 200


def test_bytes_after_an_answer_have_their_time_too():
    with (
        ThreadServer(workers=1, request_seconds=SHORT) as server,
        _opened(server.port, 1) as (connection,),
    ):
        connection.sendall(b"GET /static/icon.svg HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = b""
        while not answer.endswith(b"</svg>\n") and not answer.endswith(b"</svg>"):
            answer += connection.recv(65536)
        connection.sendall(HALF)  # unsets the time that idle connections have
        assert _is_ended(connection)


def test_a_body_that_never_comes_is_not_waited_for(server: Server):
    for header in (b"Content-Length: 1000000", b"Transfer-Encoding: chunked"):
        with _opened(server.port, 1) as (connection,):
            connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + header + b"\r\n\r\nabc")
            answer = b""
            while part := connection.recv(65536):
                answer += part
            assert answer.startswith(b"HTTP/1.1 413 ")


def test_a_request_larger_than_the_limit_is_refused_before_it_ends(server: Server):
    with _opened(server.port, 1) as (connection,):
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        sent = 0
        with contextlib.suppress(ConnectionError):
            while sent < 1 << 20 and not select.select([connection], [], [], 0.0)[0]:
                connection.sendall(b"X-Long: " + b"a" * 1000 + b"\r\n")
                sent += 1010
        with contextlib.suppress(ConnectionError):
            assert connection.recv(65536).startswith(b"HTTP/1.1 400 ")


def test_an_answer_that_nobody_takes_is_given_up(monkeypatch):
    monkeypatch.setattr("leastnoise.explorer.app.Limits.answer_seconds", SHORT)
    with (
        ThreadServer(workers=1, request_seconds=SHORT) as server,
        contextlib.closing(socket.socket()) as connection,
    ):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(PATIENCE)
        connection.connect(("127.0.0.1", server.port))
        ask = b"GET /static/explorer.css HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with contextlib.suppress(ConnectionError):
            for _ in range(2000):  # 30 MB of answers, and nothing is read
                connection.sendall(ask)
        until(lambda: not server.connections, "the server gave the connection up")
        assert request(server.port, "/")[0] == 200


def test_when_all_places_wait_for_answers_the_oldest_makes_room(monkeypatch):
    monkeypatch.setattr("leastnoise.explorer.tasks.study", endless)
    with ThreadServer(workers=1, connections=3, seconds=10.0 * PATIENCE) as server:
        service = server.idle()
        with _opened(server.port, 3) as connections:
            for connection in connections:
                connection.sendall(
                    f"GET {_endless(100)} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
                )
            until(lambda: sum(service._waiters.values()) == 3, "all three are being answered")
            assert request(server.port, "/")[0] == 200
            assert _is_ended(connections[0])
            until(
                lambda: sum(service._waiters.values()) == 2,
                "its question is withdrawn, the others are not",
            )


def test_the_log_handlers_of_the_process_stay_open():
    """The server library's own logging closes every handler there is, and with absl's the standard
    streams."""
    from leastnoise.explorer.app import Limits, configuration

    class Watched(logging.Handler):
        is_open = True

        def close(self) -> None:
            self.is_open = False
            super().close()

    handler = Watched()
    configuration(Limits())
    assert handler.is_open
    handler.close()


def run(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        **options,
    )


def test_a_port_in_use_is_one_sentence(server: Server):
    found = run("serve", "--no-open", "--port", str(server.port))
    assert found.returncode == 2
    assert found.stdout == ""
    assert (
        found.stderr
        == f"leastnoise: Port {server.port} of 127.0.0.1 is already in use; choose another with "
        "--port.\n"
    )


def test_a_host_that_is_none_is_one_sentence():
    found = run("serve", "--no-open", "--host", "no.such.host.invalid", "--port", "0")
    assert found.returncode == 2
    assert found.stderr.count("\n") == 1
    assert "no.such.host.invalid" in found.stderr


def test_without_the_extra_it_says_what_to_install():
    code = "import sys; sys.modules['uvicorn'] = None; from leastnoise.cli import main; main()"
    found = subprocess.run(
        [sys.executable, "-c", code, "serve"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert found.returncode == 2
    assert (
        found.stderr
        == f"leastnoise: The explorer needs starlette and uvicorn: {installing('web')}\n"
    )


def test_other_addresses_are_warned_about():
    found = start_server(
        "--host", "0.0.0.0", "--port", "0", "--workers", "1", "--name", "stats.example"
    )
    assert found.get("/", {"Host": "stats.example"})[0] == 200
    assert found.get("/", {"Host": "other.example"})[0] == 421
    found.process.send_signal(signal.SIGINT)
    _, stderr = found.process.communicate(timeout=PATIENCE)
    assert "not a loopback address" in stderr
    assert stderr.count("\n") == 1


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_stops_cleanly_and_leaves_no_process(how):
    found = start_server("--port", "0", "--workers", "2")
    children = _descendants(found.process.pid)
    assert len(children) >= 2
    found.process.send_signal(how)
    _, stderr = found.process.communicate(timeout=PATIENCE)
    assert stderr == ""
    assert found.process.returncode in ((130,) if how == signal.SIGINT else (-signal.SIGTERM, 143))
    assert _gone(children)


def test_killed_it_leaves_no_worker_behind():
    found = start_server("--port", "0", "--workers", "2")
    children = _descendants(found.process.pid)
    found.stop(signal.SIGKILL)
    assert _gone(children)


def _descendants(pid: int) -> list[int]:
    listed = subprocess.run(
        ["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True
    ).stdout.split()
    parents = dict(zip(map(int, listed[::2]), map(int, listed[1::2]), strict=True))

    def belongs(one: int) -> bool:
        while one in parents:
            one = parents[one]
            if one == pid:
                return True
        return False

    return [one for one in parents if belongs(one)]


def _gone(pids: list[int]) -> bool:
    until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids), "the workers have ended")
    return True
