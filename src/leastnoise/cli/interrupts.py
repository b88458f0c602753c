"""What Ctrl-C means to a command: it leaves with exit code 130 and without a word, unless the
command has something to say."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Signals since the program began: an import of compiled code may make an ImportError of one.
_arrived: list[int] = []


class Interrupted(SystemExit):
    """Raised where the interrupt arrives. Not a KeyboardInterrupt, of which click would say
    "Aborted!"."""

    def __init__(self) -> None:
        super().__init__(130)


@contextmanager
def interrupts(instead_of: Any = signal.default_int_handler) -> Iterator[None]:
    """An interrupt is an `Interrupted`, where Ctrl-C means `instead_of`: not in a thread, not where
    somebody else listens."""

    def interrupt(number: int, frame: Any) -> None:
        _arrived.append(number)
        raise Interrupted

    if signal.getsignal(signal.SIGINT) is not instead_of or not _installed(interrupt):
        yield
        return
    _arrived.clear()
    try:
        yield
    finally:
        _installed(instead_of)


@contextmanager
def quiet() -> Iterator[None]:
    """Whatever became of an interrupt on its way up is an interrupt again."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted from None
    except Exception:
        if _arrived:
            raise Interrupted from None
        raise


def _installed(handler: Any) -> bool:
    try:
        signal.signal(signal.SIGINT, handler)
    except ValueError:  # in a thread
        return False
    return True
