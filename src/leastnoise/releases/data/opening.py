"""Opening the table of a plan in its engine, through ibis: a file, a frame, a database, Spark."""

from __future__ import annotations

import os
from dataclasses import replace
from os import PathLike
from typing import Any

from leastnoise.errors import PlanError, UnsupportedError
from leastnoise.optional import required as extra
from leastnoise.releases.data import duckdb_engine as duck
from leastnoise.releases.data import spark
from leastnoise.releases.data.columns import check_columns
from leastnoise.releases.data.formulas import counted_rows
from leastnoise.releases.data.lookups import types_with_lookups, with_lookups
from leastnoise.releases.data.named_tables import named
from leastnoise.releases.data.scratch import Scratch, closing
from leastnoise.releases.data.table import PARQUET_ADVICE, Table, withheld
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.source import (
    ENVIRONMENT,
    Connection,
    CsvFile,
    DuckDBTable,
    Frame,
    ParquetFile,
    Source,
    address,
)

_IBIS_NAMES = {"dbname": "database"}  # what ibis calls what libpq calls otherwise
_SUPPORTED = {"duckdb": "DuckDB", "postgres": "PostgreSQL", "pyspark": "Spark"}  # by ibis's names


def open_table(
    plan: Plan, table: Any = None, *, scratch: str | PathLike[str] | None = None
) -> Table:
    """The plan's table, or `table` in its place. Names and types are checked; they are public, the
    rows are not. `scratch` is where DuckDB has its private folder, by default the system's
    place."""
    source = plan.source if table is None else Frame(table)
    if source is None:
        raise PlanError(
            "The plan declares no source: declare [source], or give release(..., table=...)."
        )
    opened = withheld("opening the table", lambda: at_source(source, scratch))
    try:
        if opened.engine not in _SUPPORTED:
            raise UnsupportedError(
                f"The table is in {opened.engine}, whose queries are not known to be right here: "
                f"give it in {' or '.join(_SUPPORTED.values())}, as a file, or as a pandas, "
                "polars or pyarrow table."
            )
        schema = withheld("reading the names and types of the columns", opened.expression.schema)
        is_lines = isinstance(source, CsvFile) and source.columns is None
        types = {name: schema[name] for name in schema.names}
        check_columns(plan, types_with_lookups(plan, types), is_lines)
        opened = with_lookups(plan, replace(opened, readings=plan.readings))
        opened = replace(opened, expression=counted_rows(plan, opened))
    except BaseException:
        opened.close()
        raise
    return opened


def at_source(source: Source, scratch: str | PathLike[str] | None) -> Table:
    ibis = extra("ibis", "tables")
    if isinstance(source, Connection):
        return _at(ibis, source, scratch)
    if isinstance(source, Frame) and isinstance(source.frame, ibis.expr.types.Table):
        backend = source.frame._find_backend(use_default=True)
        if backend.name == "pyspark":
            return spark.spark_table(backend, source.frame)
        return Table(source.frame, backend.name)
    if isinstance(source, Frame) and _kind(source.frame) == ("pyspark", "DataFrame"):
        return spark.frame_table(ibis, source.frame)
    if isinstance(source, DuckDBTable):
        return _duckdb_table(source, scratch)
    extra("duckdb", "tables")
    folder = Scratch(scratch)
    try:
        return _in_memory(source, folder)
    except BaseException:
        folder.close()
        raise


def _at(ibis: Any, source: Connection, scratch: str | PathLike[str] | None) -> Table:
    """The table behind a URL; of the URL only the parts that are allowed reach the engine."""
    url = source.url
    if url.startswith(ENVIRONMENT):
        name = url.removeprefix(ENVIRONMENT)
        url = os.environ.get(name, "")
        if not url:
            raise PlanError(f"The environment has no {name!r}: set it to the URL of the database.")
    found = address(url)
    if found.engine == "duckdb":
        return _duckdb_table(DuckDBTable(found.told["path"], source.table), scratch)
    if found.engine == "spark":
        return spark.session_table(ibis, source.table, scratch)
    extra("psycopg", "postgres")
    told = {_IBIS_NAMES.get(name, name): value for name, value in found.told.items()}
    connected = ibis.postgres.connect(**told)
    try:
        return Table(named(connected, source.table), connected.name, connected.disconnect)
    except BaseException:
        connected.disconnect()
        raise


def _duckdb_table(source: DuckDBTable, scratch: str | PathLike[str] | None) -> Table:
    extra("duckdb", "tables")
    duck.check_exists(source.path)
    folder = Scratch(scratch)
    try:
        connected = duck.connected(folder, database=source.path)
        return Table(named(connected, source.table), "duckdb", closing(connected, folder))
    except BaseException:
        folder.close()
        raise


def _in_memory(source: CsvFile | ParquetFile | Frame, folder: Scratch) -> Table:
    """A file, or a frame, in a DuckDB of its own."""
    if isinstance(source, Frame):
        frame = _arrow(source.frame)
        duck.check_names(frame.column_names, "The table")
        connected = duck.connected(folder)
        connected.con.register("ln_frame", frame)
        expression, close = connected.table("ln_frame"), closing(connected, folder)
        return Table(expression, "duckdb", close, collations=False)
    paths = [duck.plain_path(path, folder) for path in duck.declared_files(source)]
    connected = duck.connected(folder, readable=paths)
    if isinstance(source, CsvFile):
        reader, advice = duck.csv_reader(source, paths[0]), duck.CSV_ADVICE
    else:
        reader, advice = duck.parquet(connected.con, paths), PARQUET_ADVICE
    connected.con.execute(f"CREATE TEMP VIEW ln_table AS SELECT * FROM {reader}")
    expression, close = connected.table("ln_table"), closing(connected, folder)
    return Table(expression, "duckdb", close, advice, is_files=True, collations=False)


def _kind(frame: Any) -> tuple[str, str]:
    """The library of a frame, and what it is there."""
    return type(frame).__module__.split(".")[0], type(frame).__name__


def _arrow(frame: Any) -> Any:
    """The frame as an Arrow table, whatever library it comes from."""
    arrow = extra("pyarrow", "tables")
    kind = _kind(frame)
    if isinstance(frame, arrow.Table):
        return frame
    if kind == ("pandas", "DataFrame"):
        return arrow.Table.from_pandas(frame, preserve_index=False)
    if kind == ("polars", "LazyFrame"):
        return frame.collect().to_arrow()
    if kind == ("polars", "DataFrame"):
        return frame.to_arrow()
    raise UnsupportedError(
        f"A {type(frame).__name__} is no table: give a pandas, polars, pyarrow or Spark table, or "
        "an ibis expression."
    )
