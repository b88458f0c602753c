"""JSON files that name their format and version and carry the SHA-256 of their content.

    {"format": "leastnoise.…", "version": 1, "sha256": "…", <field>: {…}}

The digest is over the canonical form of the content (see `canonical`). It guards against damage and
careless editing, not against somebody who means to deceive: they can compute it as well.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from os import PathLike
from typing import Any

from leastnoise.errors import InvalidFileError
from leastnoise.files.canonical import digest
from leastnoise.files.reading import finite, integer, read_text


@dataclass(frozen=True)
class SealedFormat:
    """One kind of file: its name, the field that holds its content, and what people call it."""

    name: str
    field: str
    called: str  # in the sentence "… is not <a saved noise law>"
    version: int = 1
    is_strict: bool = False  # whether a file with other fields is refused

    def text(self, content: dict[str, Any]) -> str:
        """What the file holds."""
        head = {"format": self.name, "version": self.version, "sha256": digest(content)}
        return json.dumps({**head, self.field: content}, indent=1, allow_nan=False) + "\n"

    def content(self, path: str | PathLike[str]) -> dict[str, Any]:
        """The content of a file that is whole and unedited, or an InvalidFileError that
        says what is wrong with it."""
        content, is_sealed = self.opened(path)
        if not is_sealed:
            raise InvalidFileError(
                f"{os.fspath(path)!r} is damaged: its content does not match its SHA-256."
            )
        return content

    def opened(self, path: str | PathLike[str]) -> tuple[dict[str, Any], bool]:
        """The content of a file of this format and version, and whether it matches its SHA-256."""
        where = repr(os.fspath(path))
        file = _parsed_file(path)
        if not isinstance(file, dict) or file.get("format") != self.name:
            raise InvalidFileError(
                f"{where} is not {self.called}: its format is not {self.name!r}."
            )
        version = file.get("version")
        if version != self.version or isinstance(version, bool):
            raise InvalidFileError(
                f"{where} has version {version!r}; this release reads version {self.version}."
            )
        content: Any = file.get(self.field)
        fields = {"format", "version", "sha256", self.field}
        is_object = isinstance(content, dict)
        if self.is_strict and not (is_object and set(file) == fields):
            raise InvalidFileError(f"{where} does not have the fields of {self.called}.")
        return content or {}, is_object and file.get("sha256") == digest(content)


def file_format(path: str | PathLike[str]) -> str:
    """The format a JSON file says it has; "" if it says none or is no JSON (reading it
    then explains why)."""
    try:
        content = json.loads(read_text(path), parse_int=str, parse_float=str)
    except (OSError, ValueError, RecursionError):
        return ""
    return str(content.get("format", "")) if isinstance(content, dict) else ""


def _parsed_file(path: str | PathLike[str]) -> Any:
    where = repr(os.fspath(path))
    try:
        return json.loads(
            read_text(path),
            object_pairs_hook=_without_repeats,
            parse_constant=_no_constant,
            parse_int=integer,
            parse_float=finite,
        )
    except OSError as error:
        raise InvalidFileError(f"Cannot read {where}: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise InvalidFileError(
            f"{where} is not complete JSON (truncated or damaged?): {error}."
        ) from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        raise ValueError("a field is repeated")
    return content


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")
