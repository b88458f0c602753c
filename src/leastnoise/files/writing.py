"""Files written whole or not at all, and folders on the disk."""

from __future__ import annotations

import errno
import os
import secrets
import sys
from os import PathLike
from pathlib import Path


def write_whole(path: str | PathLike[str], content: str | bytes) -> None:
    """Write a file so that a reader, or a crash, sees either the old content or all of the new.

    A link is replaced by the file, never followed: who made it cannot choose what is written over.

    What is there and is no file, such as /dev/null, is refused: it would be replaced by
    a file, for every program of the machine.
    """
    target = Path(path)
    if target.exists() and not (target.is_file() or target.is_dir()):
        raise OSError(errno.EINVAL, "Not a file that can be replaced", os.fspath(target))
    temporary = target.parent / f".leastnoise-{secrets.token_hex(8)}"
    # The system takes the umask off by itself; to ask for it is to change it, for every thread.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(temporary, flags, 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode("utf-8") if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def sync(handle: int) -> None:
    """What was written to an open file, on the disk."""
    os.fsync(handle)
    if sys.platform == "darwin":  # pragma: no cover
        import fcntl

        fcntl.fcntl(handle, fcntl.F_FULLFSYNC)  # fsync leaves it in the disk's own memory there


def sync_folder(path: Path) -> None:
    """The names in a folder, on the disk."""
    if os.name != "posix":
        return  # elsewhere a directory cannot be opened, and the file system keeps its own journal
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
