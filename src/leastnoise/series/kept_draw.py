"""The file that keeps a draw: numbers as secret as the table, each erased before it is used.

    leastnoise.series 1 <SHA-256 of the header> <length of the header>
    <header: canonical JSON, public>
    <slots: one a number, see `slots`>

Guarantees: a number leaves this module after its slot was overwritten with zeros, synchronised to
the disk and read back; a process killed at any instant loses numbers at worst and never leaves one
to be used again. Processes and threads wait for each other. The file belongs to its owner alone,
or is refused. A copy is refused where `inode` can tell it, or a ledger.

Not guaranteed: that the medium forgets. File systems that copy on write, solid-state disks,
snapshots and backups may keep what was overwritten.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from leastnoise.errors import SeriesError, positive_integer
from leastnoise.files.canonical import canonical
from leastnoise.files.locking import opened_alone
from leastnoise.files.reading import parsed
from leastnoise.files.writing import sync, sync_folder
from leastnoise.series.inode import identity, note, noted
from leastnoise.series.slots import SLOT, USED, Cipher, is_whole

_MAGIC = b"leastnoise.series 1 "
_LONGEST_HEADER = 1 << 24
_PREFIX = len(_MAGIC) + 64 + 1 + 12 + 1  # digest, space, length in 12 digits, end of line


@dataclass(frozen=True)
class Taking:
    """Numbers that are about to be used: what a ledger must know of them.

    Attributes:
        first: How many numbers were used before.
        used: How many are used then.
        left: A digest of the numbers that are there before.
        unused: A digest of those that are left then.
    """

    first: int
    used: int
    left: str
    unused: str


# What is entered before numbers are erased, and left before they may be used.
Counting = Callable[[Taking], AbstractContextManager[None]]


@dataclass(frozen=True)
class KeptDraw:
    """The file of one series.

    Attributes:
        path: Where it is.
        header: What it says of itself, which is public.
        digest: SHA-256 of the header, the name of the series.
        start: Where its slots begin.
        count: How many there are.
    """

    path: Path
    header: Mapping[str, Any]
    digest: str
    start: int
    count: int

    @property
    def used(self) -> int:
        """How many slots are used, or were lost."""
        return self.unused[0]

    @property
    def unused(self) -> tuple[int, str]:
        """How many slots are used, and the digest of those that are left."""
        with self.standing() as found:
            return found

    @contextmanager
    def standing(self) -> Iterator[tuple[int, str]]:
        """The same, while nobody else can take a number: what a ledger counts is compared with
        it."""
        with self._opened() as handle:
            slots, used = self._left(handle)
            yield used, unused_digest(self.digest, slots[SLOT * used :])

    def take(self, count: int, cipher: Cipher, counting: Counting) -> tuple[tuple[int, int], ...]:
        """The next numbers by their places, erased from the file and counted.

        Whatever `counting` refuses as it is entered is refused before anything is erased. Fewer
        than `count` numbers are left: a SeriesError, and none is erased.
        """
        with self._opened() as handle:
            slots, first = self._left(handle)
            numbers = tuple(self._next(slots, first, count, cipher))
            if not count or len(numbers) < count:
                raise SeriesError(
                    f"The series has {len(numbers)} of its {self.count} answers left, and "
                    f"{count} are asked for."
                )
            taking = self._taking(slots, first, numbers[-1][0] + 1)
            with counting(taking):
                self._erase(handle, slots, taking)
        return numbers

    def erase(self, counting: Counting) -> None:
        """Erase all that is left, whatever `counting` says afterwards."""
        with self._opened() as handle:
            slots = self._slots(handle)
            taking = self._taking(slots, self._used(slots), self.count)
            self._erase(handle, slots, taking)
            if taking.first < taking.used:
                with counting(taking):
                    pass

    def _taking(self, slots: bytes, first: int, used: int) -> Taking:
        digests = (unused_digest(self.digest, slots[SLOT * at :]) for at in (first, used))
        return Taking(first, used, *digests)

    def _next(
        self, slots: bytes, first: int, count: int, cipher: Cipher
    ) -> Iterator[tuple[int, int]]:
        """The next numbers that are whole, by their places."""
        found = 0
        for place in range(first, self.count):
            if found == count:
                return
            value = cipher.value(slot_at(slots, place), slot_place(self.digest, place))
            if value is not None:
                found += 1
                yield place, value

    def _erase(self, handle: int, slots: bytes, taking: Taking) -> None:
        """Zeros over the numbers, and over what is left of lost ones, on the disk; then the inode
        has it noted.

        Not the other way round: after a power cut the note would refuse what is no copy.
        """
        begin = min(_zeros(slots), taking.used)
        zeros = USED * (taking.used - begin)
        at = self.start + SLOT * begin
        _write_at(handle, zeros, at)
        sync(handle)
        if _read_at(handle, len(zeros), at) != zeros:
            raise SeriesError(
                f"{str(self.path)!r} cannot be erased, so nothing is answered from it."
            )
        is_known = note(handle, taking.used) or self.header["charged"] or not self.header["noted"]
        if not is_known:
            raise SeriesError(
                f"{str(self.path)!r} cannot be marked as used, so nothing is answered from it."
            )

    @contextmanager
    def _opened(self) -> Iterator[int]:
        """The file, alone, if it is still the one that was opened."""
        with _translated(self.path), opened_alone(self.path) as handle:
            _check_owner(handle, self.path)
            _check_inode(handle, self.path, self.header)
            if _read_at(handle, _PREFIX, 0) != _prefix(self.digest, self.start - _PREFIX):
                raise SeriesError(f"{str(self.path)!r} is another series than the one opened.")
            yield handle

    def _slots(self, handle: int) -> bytes:
        data = _read_at(handle, SLOT * self.count + 1, self.start)
        if len(data) != SLOT * self.count:
            raise SeriesError(f"{str(self.path)!r} is damaged: numbers are missing.")
        return data

    def _used(self, slots: bytes) -> int:
        """How many slots are used or lost: they are used in order."""
        whole = (
            place
            for place in range(_zeros(slots), self.count)
            if is_whole(slot_at(slots, place), slot_place(self.digest, place))
        )
        return next(whole, self.count)

    def _left(self, handle: int) -> tuple[bytes, int]:
        """All slots and how many are used, or a SeriesError where the inode knows of more."""
        slots = self._slots(handle)
        used = self._used(slots)
        if used < (noted(handle) or 0):
            raise SeriesError(
                f"{str(self.path)!r} was put back from an old copy, whose next numbers were used "
                "already. Nothing is answered from it."
            )
        return slots, used


def slot_place(digest: str, place: int) -> bytes:
    """What a number belongs to: its series, and its place there."""
    return bytes.fromhex(digest) + place.to_bytes(8, "little")


def slot_at(slots: bytes, place: int) -> bytes:
    """One of the slots."""
    return slots[SLOT * place : SLOT * (place + 1)]


def _zeros(slots: bytes) -> int:
    """How many slots are zero at their beginning."""
    return (len(slots) - len(slots.lstrip(b"\0"))) // SLOT


def unused_digest(digest: str, slots: bytes) -> str:
    """The fingerprint of the numbers that are left."""
    return hashlib.sha256(digest.encode("ascii") + slots).hexdigest()


def _prefix(digest: str, length: int) -> bytes:
    return _MAGIC + f"{digest} {length:012d}\n".encode("ascii")


@contextmanager
def writing(
    path: str | PathLike[str],
    header: Mapping[str, Any],
    numbers: Sequence[int],
    cipher: Cipher,
    is_charged: Callable[[str], bool],
) -> Iterator[tuple[KeptDraw, Taking]]:
    """A new file, complete and on the disk; others wait while the block runs, which may still
    refuse it. Its `Taking` is that of no number yet.

    It has its name from the beginning, so that of two with one name neither is charged for the
    other, and a process that is killed leaves nothing under a hidden one. What it leaves was not
    charged, or is whole.
    """
    target = Path(os.path.abspath(path))
    kept: KeptDraw | None = None
    with _translated(target), opened_alone(target, new=True) as handle:
        try:
            kept, slots = _written(handle, target, header, numbers, cipher)
            sync_folder(target.parent)
            yield kept, kept._taking(slots, 0, 0)
        except BaseException:
            # what was paid for stays, whatever came after
            if kept is None or not is_charged(kept.digest):
                target.unlink(missing_ok=True)
            raise


def _written(
    handle: int, target: Path, header: Mapping[str, Any], numbers: Sequence[int], cipher: Cipher
) -> tuple[KeptDraw, bytes]:
    whole = {**header, "inode": identity(handle), "noted": note(handle, 0)}
    text = canonical(whole).encode("ascii")
    digest = hashlib.sha256(text).hexdigest()
    slots = b"".join(
        cipher.slot(number, slot_place(digest, place)) for place, number in enumerate(numbers)
    )
    _write_at(handle, _prefix(digest, len(text)) + text + slots, 0)
    sync(handle)
    return KeptDraw(target, whole, digest, _PREFIX + len(text), len(numbers)), slots


def kept_draw(path: str | PathLike[str]) -> KeptDraw:
    """The file of a series that was opened before, or a SeriesError."""
    where = Path(os.path.abspath(path))
    with _translated(where), opened_alone(where) as handle:
        _check_regular(handle, where)
        digest, length = _named(_read_at(handle, _PREFIX, 0), where)
        _check_owner(handle, where)
        text = _read_at(handle, length, _PREFIX)
        rest = os.fstat(handle).st_size - _PREFIX - length
        if len(text) != length or hashlib.sha256(text).hexdigest() != digest or rest % SLOT:
            raise SeriesError(f"{str(where)!r} is damaged, and nothing is answered from it.")
        try:
            header = parsed(text.decode("ascii"))
            count = positive_integer("questions", header["questions"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise SeriesError(f"{str(where)!r} is not a series of answers.") from None
        if rest != SLOT * count:
            raise SeriesError(f"{str(where)!r} is damaged: numbers are missing.")
        _check_inode(handle, where, header)
        return KeptDraw(where, header, digest, _PREFIX + length, count)


def _named(prefix: bytes, where: Path) -> tuple[str, int]:
    """The digest and the length of the header."""
    is_series = prefix.startswith(_MAGIC) and len(prefix) == _PREFIX and prefix[-1:] == b"\n"
    words = prefix[len(_MAGIC) :].split() if is_series else []
    if len(words) != 2 or not words[1].isdigit() or int(words[1]) > _LONGEST_HEADER:
        raise SeriesError(f"{str(where)!r} is not a series of answers.")
    return words[0].decode("ascii", "replace"), int(words[1])


def _check_regular(handle: int, path: Path) -> None:
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        raise SeriesError(f"{str(path)!r} is not a file.")


def _check_owner(handle: int, path: Path) -> None:
    """Nobody else may read it: who does reads the exact answers."""
    _check_regular(handle, path)
    found = os.fstat(handle)
    if os.name != "posix":
        return  # elsewhere the mode says nothing about who may read it
    if found.st_mode & 0o077:
        raise SeriesError(
            f"{str(path)!r} can be read or written by others (mode {found.st_mode & 0o777:o}), and "
            "whoever read it can take the noise off every answer. Make it yours alone with "
            "chmod 600; if somebody may have read it, close the series then."
        )
    if found.st_uid != os.geteuid():
        raise SeriesError(f"{str(path)!r} belongs to another user than the one who asks.")


def _check_inode(handle: int, path: Path, header: Mapping[str, Any]) -> None:
    """A copy would give the same noise again. Where a ledger counts the answers, it decides."""
    if header.get("charged") is True:
        return
    is_noted = header.get("noted") is not True or noted(handle) is not None
    if identity(handle) != header.get("inode") or not is_noted:
        raise SeriesError(
            f"{str(path)!r} is a copy, or was moved from another disk: two files would give the "
            "same noise twice, and nothing here could tell. Nothing is answered from it."
        )


def _read_at(handle: int, count: int, at: int) -> bytes:
    os.lseek(handle, at, os.SEEK_SET)
    parts, left = [], count
    while left:
        part = os.read(handle, left)
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _write_at(handle: int, content: bytes, at: int) -> None:
    os.lseek(handle, at, os.SEEK_SET)
    while content:
        content = content[os.write(handle, content) :]


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """The system's errors as ours, in one sentence."""
    try:
        yield
    except FileNotFoundError:
        if path.parent.is_dir():
            raise SeriesError(f"There is no series at {str(path)!r}.") from None
        raise SeriesError(f"There is no folder {str(path.parent)!r} for a series.") from None
    except FileExistsError:
        raise SeriesError(
            f"{str(path)!r} is there already: to go on with a series, open it without questions."
        ) from None
    except OSError as error:
        raise SeriesError(f"Cannot use {str(path)!r}: {error.strerror or error}.") from None
