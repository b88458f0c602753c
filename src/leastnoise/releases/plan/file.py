"""Plans as TOML files that a steward can read."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import Any

from leastnoise.errors import InvalidFileError, PlanError
from leastnoise.files.reading import finite, read_text
from leastnoise.releases.plan.lookup import Lookup, read_lookup
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.source import (
    Connection,
    CsvFile,
    DuckDBTable,
    ParquetFile,
    Source,
    text,
)
from leastnoise.releases.plan.statistic import KINDS, Statistic
from leastnoise.text.characters import leaves

_MOST_BYTES = 1 << 24  # of a plan: a hundred thousand keys take two million


def load_plan(path: str | PathLike[str]) -> Plan:
    """The plan in a TOML file; its relative paths start at the file's folder.

    Args:
        path: The file, of at most 16 MiB.

    Returns:
        The plan, complete: nothing that privacy needs is left to be declared.

    Raises:
        InvalidFileError: the file cannot be read, or is not TOML.
        PlanError: a declaration is missing, unknown or contradicts another.
        InvalidParameterError: a declared number or text is outside its range.

    Guarantees: nothing but the file itself is read; no table is opened.

    Example:
        >>> import pathlib, tempfile
        >>> text = '''
        ... name = "clinic"
        ... epsilon = 1.0
        ... relation = "add/remove"
        ... one_row_per_person = true
        ... [[statistic]]
        ... kind = "count"
        ... '''
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "plan.toml")
        ...     _ = path.write_text(text)
        ...     load_plan(path).statistics[0].name
        'count'
    """
    shown = repr(os.fspath(path))
    try:
        content = tomllib.loads(read_text(path, _MOST_BYTES), parse_float=finite)
        _check_integers(content)
    except OSError as error:
        raise InvalidFileError(f"Cannot read the plan {shown}: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidFileError(f"The plan {shown} is not valid TOML: {error}.") from None
    except ValueError:  # Python reads integers of up to 4,300 digits
        raise InvalidFileError(f"The plan {shown} has a number beyond all range.") from None
    return plan_from(content, folder=Path(path).parent)


def _check_integers(content: Any) -> None:
    """A ValueError where an integer has more than the 64 bits of TOML: Python might not show it."""
    for one in leaves(content):
        if isinstance(one, int) and not -(2**63) <= one < 2**63:
            raise ValueError("an integer beyond 64 bits")


def plan_from(content: Mapping[str, Any], *, folder: Path | None = None) -> Plan:
    """The plan in the form of a TOML document, already parsed."""
    given = dict(content)
    statistics = given.pop("statistic", [])
    if not isinstance(statistics, list) or not all(isinstance(entry, dict) for entry in statistics):
        raise PlanError("The plan asks for nothing: declare at least one [[statistic]].")
    source = _source(given.pop("source", None), folder)
    lookups = _lookups(given.pop("lookup", []), folder)
    for name in ("name", "epsilon", "relation"):
        if name not in given:
            raise PlanError(f"The plan declares no {name}: declare {_MEANING[name]}.")
    words, about = given.get("postprocess", []), given.get("about", {})
    if not isinstance(words, list) or not isinstance(about, dict):
        raise PlanError("postprocess is a list of words, and [about] a table of texts.")
    _known("the plan", given, {f.name for f in fields(Plan)} - {"source", "statistics", "lookups"})
    asked = tuple(_statistic(entry) for entry in statistics)
    return Plan(source=source, statistics=asked, lookups=lookups, **given)


def _lookups(entries: Any, folder: Path | None) -> tuple[Lookup, ...]:
    """The public tables, from their files."""
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise PlanError("[[lookup]] is a list of tables: declare csv, on and columns in each.")
    found = []
    for entry in entries:
        _known("a lookup", entry, {"csv", "on", "key", "columns", "match", "delimiter"})
        place = text("lookup.csv", entry.get("csv"))
        found.append(read_lookup(entry, folder / place if folder is not None else place))
    return tuple(found)


_MEANING = {
    "name": "name = what the release is called",
    "epsilon": "epsilon = the privacy loss allowed",
    "relation": 'relation = "add/remove" or "replace"',
}


def _statistic(entry: dict[str, Any]) -> Statistic:
    if "kind" not in entry:
        raise PlanError(f"A statistic declares no kind: declare kind = one of {', '.join(KINDS)}.")
    _known("a statistic", entry, {f.name for f in fields(Statistic)})
    return Statistic(**entry)


def _source(entry: Any, folder: Path | None) -> Source | None:
    if entry is None:
        return None
    if not isinstance(entry, dict):
        raise PlanError("[source] is a table: declare csv, parquet, duckdb or connection in it.")
    kinds = [kind for kind in ("csv", "parquet", "duckdb", "connection") if kind in entry]
    if len(kinds) != 1:
        raise PlanError(
            "The plan declares no source: declare exactly one of csv, parquet, duckdb and "
            "connection in [source]."
        )
    kind = kinds[0]
    beside = {"csv": {"columns", "delimiter"}, "parquet": set()}.get(kind, {"table"})
    _known("[source]", entry, {kind, *beside})
    if kind == "connection":  # checked there, without being shown
        return Connection(entry["connection"], text("source.table", entry.get("table")))
    place = text(f"source.{kind}", entry[kind])
    path = str(folder / place) if folder is not None else place
    if kind == "csv":
        return CsvFile(path, entry.get("columns"), entry.get("delimiter", ","))
    if kind == "parquet":
        return ParquetFile(path)
    return DuckDBTable(path, text("source.table", entry.get("table")))


def _known(what: str, entry: Mapping[str, Any], allowed: set[str]) -> None:
    unknown = sorted(set(entry) - allowed)
    if unknown:
        raise PlanError(
            f"{what} has no declaration {unknown[0]!r}; known are {', '.join(sorted(allowed))}."
        )
