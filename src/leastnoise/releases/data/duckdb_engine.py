"""The DuckDB that a release opens: it reads the files that a plan declares, and nothing else, and
guesses nothing from their rows.

A plan comes from somebody else, and so may a database file, whose views are programs. Neither may
make the engine read other files, write any, reach the network or load native code. So no extension
is installed or loaded but those that DuckDB is built with, no file is open but the declared ones
and those of the private scratch folder, no Python variable counts as a table, no stored secret is
read, and from then on the configuration is locked.
"""

from __future__ import annotations

import csv
import gzip
import importlib
import io
import os
import zlib
from collections.abc import Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import Any

from leastnoise.errors import PlanError
from leastnoise.releases.data.scratch import Scratch
from leastnoise.releases.plan.source import CsvFile, DuckDBTable, ParquetFile

CSV_ADVICE = (
    " A CSV file must be UTF-8, with one kind of line end, every quote closed, as many fields in "
    "each line as columns, and no line longer than 2 MB."
)
_LONGEST_HEADER = 1 << 20  # characters of the names of all columns
_FORBIDDEN = (
    *("allow_community_extensions", "allow_persistent_secrets", "allow_unsigned_extensions"),
    *("autoinstall_known_extensions", "autoload_known_extensions", "python_enable_replacements"),
)
_CONFIGURATION = dict.fromkeys(_FORBIDDEN, "false")


def connected(
    scratch: Scratch, *, database: str | None = None, readable: Sequence[str] = ()
) -> Any:
    """An ibis connection in memory, or to the file `database`, which is opened read-only.

    It may read that file and the files `readable`, and write to its scratch folder.
    """
    duckdb, ibis = (importlib.import_module(name) for name in ("duckdb", "ibis"))
    configuration = {**_CONFIGURATION, "temp_directory": str(scratch.path)}
    place = ":memory:" if database is None else str(Path(database).absolute())
    connection = duckdb.connect(place, read_only=database is not None, config=configuration)
    try:
        connection.execute(f"SET allowed_paths = [{', '.join(quoted(path) for path in readable)}]")
        connection.execute("SET enable_external_access = false")
        # What `scan` looks at to see how far a query is: no longer to be set once all is locked.
        connection.execute("SET enable_progress_bar = true")
        connection.execute("SET enable_progress_bar_print = false")
        backend = ibis.duckdb.from_connection(connection)
        connection.execute("SET lock_configuration = true")
        return backend
    except BaseException:
        connection.close()
        raise


def plain_path(path: str, scratch: Scratch) -> str:
    """The file's absolute path; a link to it where DuckDB would take its name for a pattern."""
    absolute = os.path.abspath(path)
    if not has_magic(absolute):
        return absolute
    link = scratch.path / f"table{len(os.listdir(scratch.path))}"
    try:
        link.symlink_to(absolute)
    except OSError:
        link = Path(absolute)
    if has_magic(str(link)):
        raise PlanError(f"The path {path!r} has a sign of a pattern (*?[) in it: rename the file.")
    return str(link)


def quoted(text: str) -> str:
    """A text as SQL."""
    return "'" + text.replace("'", "''") + "'"


def parquet(connection: Any, paths: Sequence[str]) -> str:
    """DuckDB's reader of these files, as SQL, with every column under its own name.

    Folders called `name=value` give columns of text, as written: ids that were read as numbers
    would be one person where 01 and 1 are two. But where a file has such a column itself the
    folders give none: DuckDB would put their value in the place of the file's own.
    """
    listed = f"[{', '.join(quoted(path) for path in paths)}]"
    query = f"SELECT file_name, name, num_children FROM parquet_schema({listed})"
    names = _top_names(connection.execute(query).fetchall())
    for path, own in names.items():
        check_names(own, path)
    in_files = {name.casefold() for own in names.values() for name in own}
    in_folders = [
        {part.partition("=")[0].casefold() for part in Path(path).parts[:-1] if "=" in part}
        for path in paths
    ]
    is_used = all(found == in_folders[0] for found in in_folders) and not in_folders[0] & in_files
    return (
        f"read_parquet({listed}, hive_partitioning = {str(is_used).lower()}, "
        "hive_types_autocast = false)"
    )


def _top_names(rows: Sequence[tuple[str, str, int | None]]) -> dict[str, list[str]]:
    """The names of each file's columns, from its schema: a tree, parents before children."""
    elements: dict[str, list[tuple[str, int]]] = {}
    for path, name, children in rows:
        elements.setdefault(path, []).append((name, children or 0))
    names: dict[str, list[str]] = {}
    for path, (_, *below) in elements.items():
        names[path], inside = [], 0
        for name, children in below:
            if not inside:
                names[path].append(name)
            inside = max(inside - 1, 0) + children
    return names


def check_names(names: Sequence[str], where: str) -> None:
    """Refuse columns whose names differ only in capitals: DuckDB renames one of them, perhaps to
    the name of a third."""
    seen: dict[str, str] = {}
    for name in names:
        before = seen.get(name.casefold())
        if before is not None:
            raise PlanError(
                f"{where} has the columns {before!r} and {name!r}, which DuckDB takes for one: "
                "rename one of them."
            )
        seen[name.casefold()] = name


def declared_files(source: CsvFile | ParquetFile | DuckDBTable) -> list[str]:
    """The files that are declared. The engine looks for none itself: it may read these alone."""
    if not isinstance(source, ParquetFile) or not has_magic(source.path):
        check_exists(source.path)
        return [source.path]
    found = sorted(path for path in glob(source.path, recursive=True) if Path(path).is_file())
    if not found:
        raise PlanError(f"No file matches {source.path!r}: declare where the table is.")
    return found


def check_exists(path: str) -> None:
    """A PlanError where there is no such file."""
    if not Path(path).is_file():
        raise PlanError(f"There is no file {path!r}: declare where the table is.")


def csv_reader(source: CsvFile, path: str) -> str:
    """DuckDB's reader with nothing left to guess: what it would guess depends on private rows."""
    names = source.columns or names_in_header(source)
    columns = ", ".join(f"{quoted(name)}: 'VARCHAR'" for name in names)
    # No padding of short lines: DuckDB then refuses line breaks inside quotes, and an unclosed
    # quote would swallow rows unnoticed.
    header = "true" if source.columns is None else "false"
    compression = "gzip" if is_gzip(source) else "none"
    return (
        f"read_csv({quoted(path)}, auto_detect = false, header = {header}, compression = "
        f"'{compression}', delim = {quoted(source.delimiter)}, quote = '\"', escape = '\"', "
        f"columns = {{{columns}}})"
    )


def is_gzip(source: CsvFile) -> bool:
    return source.path.lower().endswith(".gz")


def names_in_header(source: CsvFile) -> tuple[str, ...]:
    """The names in the first line: public, and the only line that is looked at here."""
    names = first_fields(source)
    # A quote that is not closed makes the rows that follow part of a name.
    is_broken = any(not name or {*name} & {*"\x00\r\n"} for name in names)
    if not names or is_broken or len(set(names)) != len(names):
        raise PlanError(
            f"The first line of {source.path!r} does not name its columns, each differently: "
            "declare columns = [names] if the file has no header."
        )
    return tuple(names)


def first_fields(source: CsvFile) -> list[str]:
    """The fields of the first line; none where it cannot be read."""
    opened: Any = gzip.open if is_gzip(source) else open
    try:
        # What follows the first line is read along with it, in one buffer; whether that is UTF-8
        # must not matter here.
        with opened(
            source.path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline=""
        ) as file:
            # At most so much of it: a file without line ends would be read to its end.
            start = io.StringIO(file.read(_LONGEST_HEADER), newline="")
            names = next(csv.reader(start, delimiter=source.delimiter, strict=True), [])
            "".join(names).encode("utf-8")
    except (OSError, EOFError, zlib.error, UnicodeError, csv.Error):
        return []
    return names
