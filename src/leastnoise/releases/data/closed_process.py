"""A process that shuts its own doors: from then on it reads the given files, writes to the given
folders, and nothing else.

Linux only, and no privilege is needed. Landlock closes the file system (Linux 5.13 and newer;
Salaün 2021), a seccomp filter the calls that reach others: sockets and io_uring, other programs,
the memory of other processes, files by other names. Neither can be undone, and threads and children
inherit both. What is open already stays open, so a process seals itself before it has opened
anything, and while it is alone: threads that run already would stay outside.
"""

from __future__ import annotations

import ctypes
import os
import platform
import socket
import struct
import sys
from collections.abc import Callable, Sequence
from typing import Any

from leastnoise.errors import UnsupportedError

# landlock_create_ruleset, landlock_add_rule, landlock_restrict_self: the same numbers everywhere.
_CREATE, _ADD, _RESTRICT = 444, 445, 446
_WRITE, _READ, _READ_DIR = 1 << 1, 1 << 2, 1 << 3
_REMOVE_DIR, _REMOVE_FILE = 1 << 4, 1 << 5
_MAKE_DIR, _MAKE_FILE, _MAKE_LINK = 1 << 7, 1 << 8, 1 << 12
_TRUNCATE = 1 << 14
_ALL_INSIDE = (
    *(_READ, _READ_DIR, _WRITE, _REMOVE_DIR, _REMOVE_FILE),
    *(_MAKE_DIR, _MAKE_FILE, _MAKE_LINK, _TRUNCATE),
)
# All rights that a version of Landlock knows: what is handled is refused unless a rule grants it.
_BITS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
# From version 4: bind and connect; from 6: abstract Unix sockets and signals.
_TCP, _SCOPED = 0b11, 0b11

_NO_NEW_PRIVILEGES, _SECCOMP, _PARENT_DEATH = 38, 22, 1  # of prctl
_FILTER_MODE = 2
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000 | 1, 0x80000000  # refused with EPERM
# By processor: its name to seccomp, and the calls that a scan has no use for: socket, socketpair,
# execve, execveat, ptrace, process_vm_readv, process_vm_writev, pidfd_getfd, io_uring_setup,
# open_by_handle_at, mount, unshare, setns, bpf.
_CALLS = {
    "x86_64": (0xC000003E, (41, 53, 59, 322, 101, 310, 311, 438, 425, 304, 165, 272, 308, 321)),
    "aarch64": (0xC00000B7, (198, 199, 221, 281, 117, 270, 271, 438, 425, 265, 40, 97, 268, 280)),
}
_X32 = 0x40000000  # calls of x86-64's other numbering, which a list of numbers would let through


def obstacle() -> str | None:
    """Why this system cannot seal a process; None if it can."""
    if sys.platform != "linux":
        return f"a sealed scan needs Linux, and this is {platform.system() or 'another system'}"
    if platform.machine() not in _CALLS:
        return (
            f"a sealed scan needs a processor of type {' or '.join(_CALLS)}, and this is "
            f"{platform.machine()}"
        )
    if _landlock() < 1:
        return (
            "a sealed scan needs Landlock, which this kernel does not offer (Linux 5.13, with "
            "landlock in its list of lsm)"
        )
    return None


def seal(readable: Sequence[str], writable: Sequence[str], listed: Sequence[str] = ()) -> None:
    """From now on this process reads the files `readable`, lists the folders `listed`, does as it
    likes in the folders `writable`, and reaches nothing else; an UnsupportedError if it cannot be
    sure of that."""
    why = obstacle()
    if why is not None:
        raise UnsupportedError(f"{why[0].upper()}{why[1:]}.")
    threads = os.listdir("/proc/self/task")
    if len(threads) != 1:
        raise UnsupportedError(
            f"A process is sealed before it has threads; this one has {len(threads)}."
        )
    _call("prctl", _NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    _close_files(readable, writable, listed)
    _close_calls(platform.machine())
    _prove()


def end_with_parent() -> None:
    """The kernel ends this process with the one that started it, so that no scan is left behind."""
    _call("prctl", _PARENT_DEATH, 9, 0, 0, 0)


def _landlock() -> int:
    """The version of Landlock; 0 or less where there is none."""
    return int(ctypes.CDLL(None, use_errno=True).syscall(_CREATE, None, ctypes.c_size_t(0), 1))


def _call(name: str, *arguments: Any) -> int:
    library = ctypes.CDLL(None, use_errno=True)
    numbers = [ctypes.c_ulong(one) if isinstance(one, int) else one for one in arguments]
    result = int(getattr(library, name)(*numbers))
    if result < 0:
        raise UnsupportedError(
            f"The system does not let a process seal itself: {os.strerror(ctypes.get_errno())} "
            f"({name})."
        )
    return result


def _close_files(readable: Sequence[str], writable: Sequence[str], listed: Sequence[str]) -> None:
    version = _landlock()
    handled = (1 << _BITS[min(version, max(_BITS))]) - 1
    told = struct.pack("=QQQ", handled, _TCP if version >= 4 else 0, _SCOPED if version >= 6 else 0)
    size = 8 if version < 4 else 16 if version < 6 else 24
    ruleset = _call("syscall", _CREATE, told, size, 0)
    inside = sum(_ALL_INSIDE)  # no two share a bit
    rights = [*((path, _READ) for path in readable), *((path, _READ_DIR) for path in listed)]
    rights += [(path, inside & handled) for path in writable]
    for path, allowed in rights:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
        _call("syscall", _ADD, ruleset, 1, struct.pack("=Qi", allowed, handle), 0)
        os.close(handle)
    _call("syscall", _RESTRICT, ruleset, 0)
    os.close(ruleset)


class _FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


def _close_calls(machine: str) -> None:
    """A filter of calls by number: kill another numbering, refuse those listed, allow the rest."""
    kind, refused = _CALLS[machine]
    load, equal, at_least, give = 0x20, 0x15, 0x35, 0x06  # of the classic Berkeley packet filter
    steps = [
        (load, 0, 0, 4),  # the processor whose numbers these are
        (equal, 1, 0, kind),
        (give, 0, 0, _KILL),
        (load, 0, 0, 0),  # the number of the call
        (at_least, len(refused) + 1, 0, _X32),  # a jump to the last line
        *((equal, len(refused) - at, 0, number) for at, number in enumerate(refused)),  # the same
        (give, 0, 0, _ALLOW),
        (give, 0, 0, _REFUSE),
    ]
    code = b"".join(struct.pack("=HBBI", *step) for step in steps)
    program = _FilterProgram(len(steps), code)
    _call("prctl", _SECCOMP, _FILTER_MODE, ctypes.byref(program), 0, 0)


def _prove() -> None:
    """Try what anybody may do and this process no longer can: only a seal that holds is one."""
    attempts: dict[str, Callable[[], object]] = {
        "read a file": lambda: os.open("/proc/self/status", os.O_RDONLY),
        "list a folder": lambda: os.listdir("/"),
        "open a socket": socket.socket,
    }
    for what, attempt in attempts.items():
        try:
            attempt()
        except PermissionError:
            continue
        except OSError as error:
            raise UnsupportedError(
                f"Whether a sealed process can {what} is not known: {error.strerror}."
            ) from None
        raise UnsupportedError(
            f"The process was sealed and could still {what}: nothing is scanned."
        )
