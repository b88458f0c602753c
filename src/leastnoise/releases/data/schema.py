"""The names and kinds of a table's columns, to draft a plan from. No row is read.

Of a CSV file that is its first line, as the release will read it, where it holds names; every
column is text until a statistic says otherwise. A first line with a number or a day in it is a row,
and is neither shown nor taken for names.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from leastnoise.errors import PlanError
from leastnoise.releases.data import duckdb_engine as duck
from leastnoise.releases.data.opening import at_source
from leastnoise.releases.data.table import withheld
from leastnoise.releases.plan.keys import number_of_text
from leastnoise.releases.plan.source import DELIMITERS, CsvFile, Source

# Days and times as people write them: three numbers with signs between them.
_DAY = re.compile(r"\s*\d{1,4}[-./]\d{1,2}[-./]\d{1,4}")


def kinds_of(source: Source) -> dict[str, str]:
    """Each column of a table, and what it holds: "text", "number", "truth", "day" or "other"."""
    if isinstance(source, CsvFile):
        return dict.fromkeys(source.columns or _names(source), "text")
    table = withheld("opening the table", lambda: at_source(source, None))
    try:
        schema = withheld("reading the names and types of the columns", table.expression.schema)
        return {name: _kind(schema[name]) for name in schema.names}
    finally:
        table.close()


def delimited(source: CsvFile) -> CsvFile:
    """The file with what stands between two fields of its first line: what makes most of them."""
    duck.check_exists(source.path)
    found = {sign: len(duck.first_fields(replace(source, delimiter=sign))) for sign in DELIMITERS}
    sign = max(found, key=lambda one: found[one])
    if source.columns is not None and found[sign] != len(source.columns):
        raise PlanError(
            f"The first line of {Path(source.path).name!r} has {found[sign]} fields, and "
            f"{len(source.columns)} columns are named: name each of them."
        )
    return replace(source, delimiter=sign)


def _names(source: CsvFile) -> tuple[str, ...]:
    try:
        names = duck.names_in_header(source)
    except PlanError:
        names = ()
    if not names or any(map(_is_value, names)):
        raise PlanError(
            f"The first line of {Path(source.path).name!r} does not hold the names of columns, "
            "each another one, in UTF-8: it is not shown, for it may be a row. If it is one, give "
            "the names, in their order, with --columns."
        )
    return names


def _is_value(name: str) -> bool:
    """Whether it is blank, digits without a letter (1,5 too), or a day."""
    is_number = number_of_text(name) is not None or (
        any(map(str.isdigit, name)) and not any(map(str.isalpha, name))
    )
    return not name.strip() or is_number or _DAY.match(name) is not None


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
