"""Public lookup tables: columns that follow from a key of a row, by a table that everybody may
know.

A ward has a region, a postcode an income: what stands in such a table is public and declared with
the plan, one row a key, so each row of the private table gets its columns from itself and that file
alone. No other person's row has a part in it, and no row becomes two: for what one person can
change, a column that is looked up is one of the table's own. The file is read when the plan is
made, and its contents are part of the plan and of its hash.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any, Literal

from leastnoise.errors import PlanError, one_of
from leastnoise.files.canonical import digest
from leastnoise.releases.plan.keys import (
    MATCHES,
    NUMBER,
    Key,
    Match,
    folded,
    truth_of_text,
)
from leastnoise.releases.plan.source import text

LookedUp = Literal["number", "text", "truth"]
MOST_KEYS = 10_000  # they are written into every query
Public = str | float | bool | None


@dataclass(frozen=True)
class Lookup:
    """A public table with one row a key.

    Attributes:
        on: The column of the private table in which the keys stand.
        keys: The keys, as texts, each once.
        columns: What each column holds for each key, in their order; None where nothing is known.
        kinds: What each column is of: "number", "text" or "truth".
        match: Which texts are the same key, as in `group_by`.

    Raises:
        PlanError: a key is there twice, or a column has not one value for each.

    Example:
        >>> Lookup("ward", ("A", "B"), {"beds": (10.0, None)}, {"beds": "number"}).rows
        2
    """

    on: str
    keys: tuple[str, ...]
    columns: Mapping[str, tuple[Public, ...]]
    kinds: Mapping[str, LookedUp]
    match: Match = "exact"

    def __post_init__(self) -> None:
        text("lookup on", self.on)
        one_of("match", self.match, MATCHES)
        if not 0 < len(self.keys) <= MOST_KEYS:
            raise PlanError(
                f"The lookup on {self.on!r} has {len(self.keys):,} rows: expected 1 to "
                f"{MOST_KEYS:,}. Join a larger table in a view of the database."
            )
        if len({folded(key, self.match) for key in self.keys}) != len(self.keys):
            raise PlanError(
                f"The lookup on {self.on!r} has a key twice (match = {self.match!r}): one row a "
                "key is needed, so that no row of the table becomes two."
            )
        self.key(are_texts=True)  # what cannot be a key is said there
        if not self.columns or set(self.columns) != set(self.kinds):
            raise PlanError(f"The lookup on {self.on!r} declares no columns, or not their kinds.")
        for name, values in self.columns.items():
            one_of(f"kind of {text('lookup column', name)!r}", self.kinds[name], tuple(_READ))
            if len(values) != len(self.keys):
                raise PlanError(f"The lookup column {name!r} needs one value for each key.")

    @property
    def rows(self) -> int:
        """How many keys it has."""
        return len(self.keys)

    def key(self, *, are_texts: bool) -> Key:
        """Its keys as those of a grouping: which row has which key is the same there. In a column
        of whole numbers they are numbers."""
        if are_texts:
            return Key(self.on, self.keys, match=self.match)
        if not all(re.fullmatch("-?[0-9]{1,18}", word) for word in self.keys):
            raise PlanError(
                f"The lookup on {self.on!r} has keys that are no whole numbers, and the column is "
                "of such."
            )
        return Key(self.on, tuple(int(word) for word in self.keys))

    def describe(self) -> dict[str, Any]:
        """The lookup as plain JSON data; its contents by their hash."""
        listed = {name: list(values) for name, values in self.columns.items()}
        return {
            "on": self.on,
            "match": self.match,
            "columns": dict(self.kinds),
            "rows": self.rows,
            "contents": digest([list(self.keys), listed]),
        }


def _number(word: str) -> float | None:
    return float(word) if re.search(NUMBER, word) and "\n" not in word else None


def _truth(word: str) -> bool | None:
    label = truth_of_text(word)
    return None if label is None else label == "true"


_READ: Mapping[str, Any] = {"number": _number, "text": str, "truth": _truth}


def read_lookup(declared: Mapping[str, Any], path: str | PathLike[str]) -> Lookup:
    """The lookup that a plan declares, from its CSV file.

    Args:
        declared: `on`, `columns` and, where they differ from the usual, `key`, `match` and
            `delimiter`; see docs/formats.md.
        path: The file, UTF-8 with a header.

    Returns:
        The lookup, checked.

    Raises:
        PlanError: the file or the declaration cannot be used; the message says why.
    """
    on, kinds = declared.get("on"), declared.get("columns")
    if not isinstance(on, str) or not isinstance(kinds, Mapping) or not kinds:
        raise PlanError(
            "A [[lookup]] needs csv = a public file, on = the column of the table and columns = "
            '{name = "number", "text" or "truth"}.'
        )
    for name, kind in kinds.items():
        one_of(f"kind of {name!r}", kind, tuple(_READ))
    header, rows = _lines(path, str(declared.get("delimiter", ",")))
    key = str(declared.get("key", on))
    places = {}
    for name in (key, *kinds):
        if header.count(name) != 1:
            raise PlanError(
                f"The lookup {fspath(path)!r} has no column {name!r}, or two: it has "
                f"{', '.join(header[:20])}."
            )
        places[name] = header.index(name)
    columns = {
        name: tuple(_value(row[places[name]], name, kind, row[places[key]]) for row in rows)
        for name, kind in kinds.items()
    }
    keys = tuple(row[places[key]] for row in rows)
    return Lookup(on, keys, columns, dict(kinds), declared.get("match", "exact"))


def _value(word: str, name: str, kind: str, key: str) -> Public:
    if not word.strip():
        return None
    found: Public = _READ[kind](word)
    if found is None:
        raise PlanError(f"The lookup column {name!r} has {word!r} at {key!r}, which is no {kind}.")
    return found


def _lines(path: str | PathLike[str], delimiter: str) -> tuple[list[str], Sequence[list[str]]]:
    shown = fspath(path)
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            header, *rows = csv.reader(file, delimiter=delimiter, strict=True)
    except (OSError, UnicodeError, csv.Error, ValueError, TypeError):
        raise PlanError(
            f"The lookup {shown!r} cannot be read: expected a CSV file in UTF-8 with a header."
        ) from None
    if any(len(row) != len(header) for row in rows):
        raise PlanError(f"The lookup {shown!r} has lines with more or fewer fields than its first.")
    return header, rows
