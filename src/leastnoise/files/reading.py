"""Files from others: who wrote one does not pay for the memory and the time that reading it takes.

A file far larger than what it should be is not read to its end, and a number of more
digits than any field holds is refused where it is parsed.
"""

from __future__ import annotations

import errno
import json
import math
import os
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from os import PathLike
from pathlib import Path
from typing import Any

_MOST_DIGITS = 400  # of a whole number in a file; floating-point numbers end at 308
_MOST_BYTES = 1 << 27  # of a file that is read at once: a law of four million shells


def read_text(path: str | PathLike[str], most: int = _MOST_BYTES) -> str:
    """The text of a file in UTF-8; of one that is far too large for what it should be,
    an OSError."""
    with Path(path).open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"File larger than {most >> 20} MB", os.fspath(path))
    return content.decode("utf-8")


def parsed(text: str) -> Any:
    """The data of a JSON text whose numbers are in range; a ValueError or
    RecursionError for any other."""
    return json.loads(text, parse_int=integer, parse_float=finite)


def integer(text: str) -> int:
    """A whole number of a file; one that no field can hold, and Python would not read,
    is refused."""
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"a whole number has {len(text)} digits")
    return int(text)


def finite(text: str) -> float:
    """A number of a file; one beyond the range of floating-point numbers is refused."""
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {text[:40]} is beyond the range of floating-point numbers")
    return value


def number(value: Any) -> float:
    """A parsed value that must be a number, as a float; a ValueError for any other."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError("a number is missing or not a number")
    return float(value)


def only_fields(name: str, content: Iterable[str], expected: AbstractSet[str]) -> None:
    """A ValueError unless the fields of a part of a file are those of version 1 of its format."""
    found = set(content)
    if found != expected:
        raise ValueError(
            f"the fields of {name!r} are not those of version 1: {sorted(found ^ expected)}"
        )
