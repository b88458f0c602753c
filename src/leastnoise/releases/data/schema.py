"""The names and kinds of a table's columns, to draft a plan from. No row is read.

Of a CSV file that is its first line, where it holds names; every column is text until a statistic
says otherwise. A first line of numbers is a row, and is neither shown nor taken for names.
"""

from __future__ import annotations

import csv
from pathlib import Path

from leastnoise.errors import PlanError
from leastnoise.releases.data.opening import at_source
from leastnoise.releases.data.table import withheld
from leastnoise.releases.plan.keys import number_of_text
from leastnoise.releases.plan.source import DELIMITERS, CsvFile, Source

_LONGEST_LINE = 100_000  # characters


def kinds_of(source: Source) -> dict[str, str]:
    """Each column of a table, and what it holds: "text", "number", "truth", "day" or "other"."""
    if isinstance(source, CsvFile):
        return dict.fromkeys(source.columns or _header(source), "text")
    table = withheld("opening the table", lambda: at_source(source, None))
    try:
        schema = withheld("reading the names and types of the columns", table.expression.schema)
        return {name: _kind(schema[name]) for name in schema.names}
    finally:
        table.close()


def delimiter_of(path: str) -> str:
    """What stands between the names in the first line of a file: the likeliest of those allowed."""
    line = _first_line(path)
    return max(DELIMITERS, key=line.count)


def _header(source: CsvFile) -> list[str]:
    names = next(csv.reader([_first_line(source.path)], delimiter=source.delimiter), [])
    if not names or any(not name.strip() or number_of_text(name) is not None for name in names):
        raise PlanError(
            f"The first line of {Path(source.path).name!r} does not hold the names of columns: it "
            "is not shown, for it may be a row. Give the names, in their order, with --columns."
        )
    return [name.strip() for name in names]


def _first_line(path: str) -> str:
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            return file.readline(_LONGEST_LINE).rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text in UTF-8"
        raise PlanError(f"Cannot read the first line of {path!r}: {reason}.") from None


def _kind(found: object) -> str:
    kinds = {
        "text": ("is_string",),
        "truth": ("is_boolean",),
        "number": ("is_numeric",),
        "day": ("is_date", "is_timestamp"),
    }
    for kind, tests in kinds.items():
        if any(getattr(found, test)() for test in tests):
            return kind
    return "other"
