"""A file that one process at a time may change."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    def _wait_for(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_LOCK, 1)

    def _let_go(handle: int) -> None:
        os.lseek(handle, 0, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _wait_for(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX)

    def _let_go(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)


@contextmanager
def opened_alone(path: str | os.PathLike[str], *, new: bool = False) -> Iterator[int]:
    """The open file, to be read and written, while every other process and thread that opens it
    this way waits. A link is not followed. Whoever is killed lets go of it.

    `new`: it is made, for its owner alone; a FileExistsError if anything has the name.
    """
    flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    made = os.O_CREAT | os.O_EXCL if new else 0
    handle = os.open(path, flags | made | getattr(os, "O_BINARY", 0), 0o600)
    try:
        _wait_for(handle)
        try:
            yield handle
        finally:
            # closing is not enough where another thread has forked meanwhile: the child keeps it
            _let_go(handle)
    finally:
        os.close(handle)
