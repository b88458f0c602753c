"""The server as scripts, other sites and crowds meet it."""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.parse
from collections.abc import Iterator

import pytest

from leastnoise import design
from leastnoise.extras import installing
from web.explorer import PATIENCE, SETTING, Server, ThreadServer, command, endless, request, start_server, until

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
    for kind in ("known", "design", "laws", "curve", "numbers", "ahead", "noise.json"):
        status, answer = server.ask(kind)
        assert status == 200, (kind, answer)
        assert isinstance(answer, dict)


def test_bad_fields_are_told_by_name(server: Server):
    status, answer = server.ask("design", sigma="lots", delta="7", answers="0")
    assert status == 422
    assert set(answer["errors"]) == {"sigma", "delta", "answers"}
    status, answer = server.ask("design", sigma="1e8")
    assert status == 422
    assert list(answer["errors"]) == ["sigma"]


@pytest.mark.parametrize("path", ["/", "/static/main.js", f"/api/known?{QUERY}", "/nowhere", "/api/design?delta=x"])
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
    from leastnoise.web.app import STATIC

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
    ["evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example", "", "localhost:x", "a@localhost"],
)
def test_other_names_are_not_answered(server: Server, host):
    assert server.get("/", {"Host": host})[0] == 421
    assert server.get(f"/api/known?{QUERY}", {"Host": host})[0] == 421


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1", "[::1]:9", "192.168.1.5:80"])
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
        assert status == 200 or (status == 503 and int(headers["retry-after"]) >= 1 and "busy" in json.loads(body)["error"])
        return status, fields["sigma"]

    with concurrent.futures.ThreadPoolExecutor(50) as clients:
        found = list(clients.map(client, range(50)))
    statuses = [status for status, _ in found]
    assert statuses.count(200) >= 10
    busy = next((sigma for status, sigma in found if status == 503), found[0][1])
    assert server.ask("design", sigma=busy)[0] == 200  # once the crowd has gone, everybody is served


def _endless(sigma: int) -> str:
    return "/api/design?" + urllib.parse.urlencode(SETTING | {"sensitivity": "97", "sigma": str(sigma)})


@contextlib.contextmanager
def _asking(port: int, path: str) -> Iterator[None]:
    """A client that has asked and does not wait for the answer; it leaves at the end."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        yield


def test_a_full_queue_says_so_and_when_to_come_back(monkeypatch):
    monkeypatch.setattr("leastnoise.web.work.study", endless)
    with ThreadServer(workers=1, waiting=2, seconds=10.0 * PATIENCE) as server, contextlib.ExitStack() as clients:
        workers = server.idle()._workers
        for k in range(3):
            clients.enter_context(_asking(server.port, _endless(100 + k)))
        until(lambda: len(workers._queue) == 2 and not workers.has_idle(), "one question is at work, two wait")
        status, headers, _ = request(server.port, _endless(99))
        assert status == 503
        assert int(headers["retry-after"]) >= 1
        assert request(server.port, "/")[0] == 200


def test_the_time_limit_is_told(monkeypatch):
    monkeypatch.setattr("leastnoise.web.work.study", endless)
    with ThreadServer(workers=1, waiting=2, seconds=0.5) as server:
        answers: list[int] = []

        def told() -> bool:
            answers.append(request(server.port, _endless(100))[0])
            return answers[-1] != 503  # the worker has something else to do yet

        until(told, "the question got a worker")
        assert answers[-1] == 504


def test_a_client_that_leaves_takes_its_work_along(monkeypatch):
    monkeypatch.setattr("leastnoise.web.work.study", endless)
    with ThreadServer(workers=1, waiting=2, seconds=10.0 * PATIENCE) as server:
        service = server.idle()
        for _ in range(3):
            with _asking(server.port, _endless(100)):
                until(lambda: service._running and not service._workers.has_idle(), "the only worker is at it")
            until(lambda: not service._running and service._workers.has_idle(), "it is free again, long before the time limit")
        assert request(server.port, f"/api/known?{QUERY}")[0] == 200


def run(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*arguments), capture_output=True, text=True, timeout=PATIENCE, check=False, **options)


def test_a_port_in_use_is_one_sentence(server: Server):
    found = run("serve", "--no-open", "--port", str(server.port))
    assert found.returncode == 2
    assert found.stdout == ""
    assert found.stderr == f"leastnoise: Port {server.port} of 127.0.0.1 is already in use; choose another with --port.\n"


def test_a_host_that_is_none_is_one_sentence():
    found = run("serve", "--no-open", "--host", "no.such.host.invalid", "--port", "0")
    assert found.returncode == 2
    assert found.stderr.count("\n") == 1
    assert "no.such.host.invalid" in found.stderr


def test_without_the_extra_it_says_what_to_install():
    code = "import sys; sys.modules['uvicorn'] = None; from leastnoise.cli import main; main()"
    found = subprocess.run([sys.executable, "-c", code, "serve"], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert found.returncode == 2
    assert found.stderr == f"leastnoise: The explorer needs starlette and uvicorn: {installing('web')}\n"


def test_other_addresses_are_warned_about():
    found = start_server("--host", "0.0.0.0", "--port", "0", "--workers", "1", "--name", "stats.example")
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
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout.split()
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
