"""A private folder for what an engine writes while it counts, gone when it is done.

DuckDB writes rows to the disk where memory runs short. Left to itself it does so in the working
folder, readable by all, and a process that is killed leaves them there. Here they go to a folder
that only its owner may open, in the system's place for temporary files or in a declared one. It is
removed at the end, also where a signal ends the process; a folder whose process was killed is
removed by the next one that starts.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import tempfile
import threading
import time
import weakref
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

from leastnoise.errors import InvalidParameterError

_PREFIX = "leastnoise-scratch-"
_OURS = re.compile(re.escape(_PREFIX) + r"(\d+)-\w+")
_ENDING = [one for one in signal.Signals if one.name in ("SIGTERM", "SIGHUP")]
_OLD = 3600.0  # seconds after which a folder without a lock is stale, whatever its process's number


class Ended(SystemExit):
    """The process was told to end while rows may be on the disk: what holds them is closed on the
    way out."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)


class Scratch:
    """A new folder of mode 0700 in `place`; `close` removes it, and so does the end of the process.

    It is locked as long as its process lives, which is how the next one knows what was left behind.
    """

    def __init__(self, place: str | PathLike[str] | None = None) -> None:
        parent = Path(tempfile.gettempdir() if place is None else place)
        shown = os.fspath(parent)
        try:
            remove_left_behind(parent)
            made = tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=parent)
        except OSError as error:
            expected = f"to be a folder in which files can be made: {error.strerror}"
            raise InvalidParameterError("scratch", shown, expected) from None
        self.path = Path(made).resolve()
        handle = _locked(self.path)
        if handle is None:
            self.path.rmdir()
            raise InvalidParameterError("scratch", shown, "to be on a file system with locks")
        self._remove = weakref.finalize(self, _removed, self.path, handle, os.getpid())
        _listen(self)

    def close(self) -> None:
        """Remove the folder and what is in it; closing twice is fine."""
        self._remove()
        _listen_no_more(self)


def closing(connected: Any, folder: Scratch) -> Callable[[], None]:
    """What closes a connection, and then removes the folder that it wrote to."""

    def close() -> None:
        connected.disconnect()
        folder.close()

    return close


_folders: weakref.WeakSet[Scratch] = weakref.WeakSet()  # that are open
_listening: list[int] = []  # the signals that are heard as long as one is


def _listen(folder: Scratch) -> None:
    """A signal that would end the process raises `Ended`, but in threads and where one listens."""
    if threading.current_thread() is not threading.main_thread():
        return
    _folders.add(folder)
    for number in _ENDING:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)
            _listening.append(number)


def _listen_no_more(folder: Scratch) -> None:
    _folders.discard(folder)
    if _folders or threading.current_thread() is not threading.main_thread():
        return
    while _listening:
        number = _listening.pop()
        if signal.getsignal(number) is _end:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, frame: Any) -> None:
    raise Ended(number)


def remove_left_behind(parent: Path) -> None:
    """Remove the folders of processes of this user that ended without doing it themselves."""
    if os.name != "posix":
        return  # elsewhere there is no telling whose they are
    with os.scandir(parent) as entries:
        found = [entry for entry in entries if _OURS.fullmatch(entry.name)]
    for entry in found:
        try:
            is_ours = entry.is_dir(follow_symlinks=False) and _is_of_this_user(entry)
            handle = _locked(Path(entry.path)) if is_ours and _may_be_left(entry) else None
        except OSError:  # another process has just removed it
            continue
        if handle is not None:
            _removed(Path(entry.path), handle, os.getpid())


def _is_of_this_user(entry: os.DirEntry[str]) -> bool:
    return entry.stat(follow_symlinks=False).st_uid == os.getuid()


def _may_be_left(entry: os.DirEntry[str]) -> bool:
    """Whether its process is gone. Asked first: a folder that was just made is not locked yet."""
    match = _OURS.fullmatch(entry.name)
    if match is None:
        return False
    try:
        os.kill(int(match.group(1)), 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:
        pass
    return time.time() - entry.stat(follow_symlinks=False).st_mtime > _OLD


def _locked(folder: Path) -> int | None:
    """The folder, open and locked; None if another process has the lock, which ends with it."""
    if os.name != "posix":
        return -1
    import fcntl

    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def _removed(folder: Path, handle: int, process: int) -> None:
    """Remove a folder; a child that was forked leaves its parent's alone."""
    if process == os.getpid():
        shutil.rmtree(folder, ignore_errors=True)
    if handle >= 0:
        os.close(handle)
