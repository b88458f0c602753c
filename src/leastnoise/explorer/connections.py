"""Connections that cannot block the server: each has a time for its request and one for its answer,
and their number is limited.

The server library has no such times. A client that sends half a request, or one byte a minute,
would keep its place for ever, and as many of them as there are places would shut everybody else
out. Here

- a request must have arrived whole within `request_seconds` of the opening of the connection or of
  the answer before it,
- an answer must have been made and taken within `answer_seconds`,
- if there are `most` connections and another one comes, the one that has been waiting longest for
  its client goes, and if none is, the one that has been waiting longest for its answer. So a client
  that sends its request at once is heard however many others are there: between its opening and its
  first byte the event loop accepts at most a few times BACKLOG others, fewer than `most`.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

# connections that the operating system keeps until they are accepted, and that are accepted at a
# time
BACKLOG = 128


def limited_protocol(most: int, request_seconds: float, answer_seconds: float) -> type[H11Protocol]:
    """The protocol of one server's connections; they know of each other."""
    waiting: dict[Limited, None] = {}  # for their clients, the longest first
    answering: dict[Limited, None] = {}  # likewise

    class Limited(H11Protocol):
        _deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if len(waiting) + len(answering) >= most:
                next(iter(waiting or answering))._end()
            self._wait()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._answer()

        def on_response_complete(self) -> None:
            answering.pop(self, None)
            self._wait()
            super().on_response_complete()
            self._answer()  # the next request may have come together with the one before it

        def connection_lost(self, exc: Exception | None) -> None:
            self._forget()
            super().connection_lost(exc)

        def _wait(self) -> None:
            waiting[self] = None
            self._within(request_seconds)

        def _answer(self) -> None:
            """A request is there, its body as well: its answer has its own time."""
            cycle = self.cycle
            if self not in waiting or cycle is None or cycle.more_body:
                return
            if not cycle.response_complete:
                del waiting[self]
                answering[self] = None
                self._within(answer_seconds)

        def _within(self, seconds: float) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
            self._deadline = self.loop.call_later(seconds, self._end)

        def _end(self) -> None:
            """At once, and without waiting for a client that does not take what was written."""
            self._forget()
            self.transport.abort()

        def _forget(self) -> None:
            waiting.pop(self, None)
            answering.pop(self, None)
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

    return Limited
