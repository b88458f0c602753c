"""The DuckDB that a release opens: it reads the files that a plan declares, and nothing else.

A plan comes from somebody else, and so may a database file, whose views are programs. Neither may
make the engine read other files, write any, reach the network or load native code. So no extension is
installed or loaded but those that DuckDB is built with, no file is open but the declared ones and
those of the private scratch folder, no Python variable counts as a table, no stored secret is read,
and from then on the configuration is locked.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from glob import has_magic
from pathlib import Path
from typing import Any

from leastnoise.errors import PlanError
from leastnoise.releases.scratch import Scratch

_CONFIGURATION = {
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
    "allow_unsigned_extensions": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
}


def connected(
    scratch: Scratch, *, database: str | None = None, readable: Sequence[str] = ()
) -> Any:
    """An ibis connection in memory, or to the file `database`, which is opened read-only.

    It may read that file and the files `readable`, and write to its scratch folder.
    """
    duckdb, ibis = (importlib.import_module(name) for name in ("duckdb", "ibis"))
    configuration: dict[str, Any] = {**_CONFIGURATION, "temp_directory": str(scratch.path)}
    if database is None:
        connection = duckdb.connect(config=configuration)
    else:
        connection = duckdb.connect(
            str(Path(database).absolute()), read_only=True, config=configuration
        )
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
    would be one person where 01 and 1 are two. But where a file has such a column itself the folders
    give none: DuckDB would put their value in the place of the file's own.
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
    return f"read_parquet({listed}, hive_partitioning = {str(is_used).lower()}, hive_types_autocast = false)"


def _top_names(rows: Sequence[tuple[str, str, int | None]]) -> dict[str, list[str]]:
    """The names of each file's columns, from the elements of its schema: a tree, each element before its children."""
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
    """Refuse columns whose names differ only in capitals: DuckDB renames one of them, perhaps to the name of a third."""
    seen: dict[str, str] = {}
    for name in names:
        before = seen.get(name.casefold())
        if before is not None:
            raise PlanError(
                f"{where} has the columns {before!r} and {name!r}, which DuckDB takes for one: rename one of them."
            )
        seen[name.casefold()] = name
