"""What stands before every route: which hosts and origins may ask, how much, and the headers of
every answer."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_QUERY, MOST_PATH = 1_000, 200  # bytes
MOST_BODY = 64 << 10  # bytes of a plan
POSTED = ("/api/plan/", "/api/year/")  # below these a question is sent as JSON, in a body
SECURITY = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src "
        "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-embedder-policy": "require-corp",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-cache",
}
_HEADERS = [(name.encode(), value.encode()) for name, value in SECURITY.items()]


class Guard:
    """The ASGI application behind it sees only small requests that a page of this very server, or a
    script, has sent: GET, and POST with JSON where a question is a plan. JSON from another site is
    not sent by a browser without leave, which is not given.

    A page of another site can point its own name at this machine (DNS rebinding), but the browser
    then sends that name as the host. So a host is `localhost`, an address, or a name in `names`;
    nothing else is answered.
    """

    def __init__(self, app: ASGIApp, names: Collection[str] = ()) -> None:
        self._app = app
        self._names = {"localhost", *(name.lower() for name in names)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name for name, _ in message["headers"]}
                added = [pair for pair in _HEADERS if pair[0] not in given]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        refused = self._refusal(scope)
        if refused is None:
            await self._app(scope, receive, guarded)
            return
        status, sentence = refused
        body = json.dumps({"error": sentence}).encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        await guarded({"type": "http.response.start", "status": status, "headers": headers})
        await guarded(
            {"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body}
        )

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)
        hosts = [value.decode("latin-1").lower() for value in headers.get(b"host", [])]
        if len(hosts) != 1 or not self._is_known(hosts[0]):
            return 421, "This server answers to localhost and to its own address only."
        is_posted = _is_posted(scope)
        if scope["method"] not in ("GET", "HEAD") and not is_posted:
            return 405, "Only GET is answered."
        if _is_from_elsewhere(scope, headers, hosts[0]):
            return 403, "Other sites may not ask this server."
        refused = _wrong_body(headers) if is_posted else _unwanted_body(headers)
        if refused is not None:
            return refused
        if len(scope["query_string"]) > MOST_QUERY or len(scope["path"]) > MOST_PATH:
            return 414, "The address is too long."
        return None

    def _is_known(self, host: str) -> bool:
        name, port = host, ""
        if ":" in host and not host.endswith("]"):
            name, _, port = host.rpartition(":")
        if port and not (port.isascii() and port.isdigit()):
            return False
        if name in self._names:
            return True
        is_bracketed = name.startswith("[") and name.endswith("]")
        try:
            ipaddress.ip_address(name[1:-1] if is_bracketed else name)
        except ValueError:
            return False
        return True


def _is_posted(scope: Scope) -> bool:
    return bool(scope["method"] == "POST" and scope["path"].startswith(POSTED))


def _unwanted_body(headers: Mapping[bytes, list[bytes]]) -> tuple[int, str] | None:
    if headers.get(b"content-length", [b"0"]) != [b"0"] or b"transfer-encoding" in headers:
        return 413, "A request has no body here."
    return None


def _wrong_body(headers: Mapping[bytes, list[bytes]]) -> tuple[int, str] | None:
    """Why the body of a request is not read."""
    kinds = headers.get(b"content-type", [])
    if kinds not in ([b"application/json"], [b"application/json;charset=utf-8"]):
        return 415, "A plan is sent as application/json."
    lengths = headers.get(b"content-length", [])
    if b"transfer-encoding" in headers or len(lengths) != 1 or not lengths[0].isdigit():
        return 411, "A plan is sent with its length."
    if len(lengths[0]) > 9 or int(lengths[0]) > MOST_BODY:
        return 413, f"A plan has at most {MOST_BODY >> 10} KB here."
    return None


def _is_from_elsewhere(scope: Scope, headers: Mapping[bytes, list[bytes]], host: str) -> bool:
    """Whether a page of another site sent the request, as far as the browser says so."""
    origins = [origin.decode("latin-1").lower() for origin in headers.get(b"origin", [])]
    if origins and origins != [f"{scope['scheme']}://{host}"]:
        return True
    site = headers.get(b"sec-fetch-site", [b"none"])[0]
    return scope["path"].startswith("/api/") and site not in (b"same-origin", b"none")
