"""What tells a file from its copies where no ledger does: the inode it was made on.

A copy has another inode, or the number of one that was removed, whose generation is another then.
A copy written over the file itself keeps the inode, but not the note on it of how many numbers are
used: the note is an extended attribute, which copying leaves as it is.

Not told apart: a copy written over the file together with its extended attributes (`cp -a`), an
image of the whole disk, and whatever a file system does that has neither attributes nor
generations.
"""

from __future__ import annotations

import os
import sys

_NOTE = "user.leastnoise.used"

if sys.platform == "linux":
    import fcntl

    _GET_VERSION = 0x80087601  # FS_IOC_GETVERSION: ext4, XFS, Btrfs, F2FS

    def _generation(handle: int) -> int:
        try:
            return int.from_bytes(fcntl.ioctl(handle, _GET_VERSION, bytes(8))[:4], sys.byteorder)
        except OSError:
            return 0

    def note(handle: int, used: int) -> bool:
        """Note on the inode how many numbers are used; whether the file system keeps it."""
        try:
            os.setxattr(handle, _NOTE, b"%d" % used)
        except OSError:
            return False
        return True

    def noted(handle: int) -> int | None:
        """How many numbers were used, as the inode has it noted."""
        try:
            return int(os.getxattr(handle, _NOTE))
        except (OSError, ValueError):
            return None

else:  # pragma: no cover

    def _generation(handle: int) -> int:
        return 0

    def note(handle: int, used: int) -> bool:
        """Only Linux has a way to it in Python."""
        return False

    def noted(handle: int) -> int | None:
        """Nothing."""
        return None


def identity(handle: int) -> list[int]:
    """Number and generation of the inode; 0 where the file system has none to tell."""
    return [os.fstat(handle).st_ino, _generation(handle)]
