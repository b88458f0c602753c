"""Tables in their engine, through ibis: bounded, snapped to integers, counted and summed there. Nothing but integers comes back.

The same plan gives the same integers on DuckDB, Spark and PostgreSQL:

- Numbers are 64-bit floats (text is parsed where it matches one plain pattern, else it is missing); clip, divide, add and floor are
  IEEE operations, so every engine finds the same place. Constants travel as text and are parsed there, correctly rounded.
- Rows without a person id belong to nobody and do not count.
- Texts that say who a row belongs to, and to which group, are compared by their bytes, whatever
  collation the column, its type or the connection has. Where equality is coarser than identity, two
  persons share one contribution window: taking one away lets a row of the other in, and an answer
  moves by twice what is declared.
- Sums are of integers, exact in 128 bits or decimals, and come back as text.
- Of a person with too many groups or rows those under declared keys come before those under all
  other keys: what is asked for is the same as if nobody counted the other keys.
- Of a person with too many rows those with the least md5(salt, person, keys, places) are kept. The text that is hashed is made of
  integers and escaped texts only, because engines write floats differently; md5 of a UTF-8 text is the one digest that all three
  have built in. It need not be secure: privacy holds for every choice that depends on one person's rows only. Its first 12 digits
  decide, which is what engines keep inside a sort key (10 million rows: 11.9 s of CPU instead of 14.6), then the keys and places
  themselves. So rows that tie are equal in everything that is counted, and the choice among them changes nothing.

Errors of an engine may quote values: they are replaced by an EngineError without its cause.
"""

from __future__ import annotations

import csv
import gzip
import importlib
import io
import os
import re
import uuid
import warnings
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from glob import glob, has_magic
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from leastnoise.errors import EngineError, LeastNoiseError, PlanError, UnsupportedError
from leastnoise.extras import required as extra
from leastnoise.releases import duck
from leastnoise.releases.expressions import (
    beyond,
    check_key,
    comparable,
    key_label,
    md5,
    place,
    text,
    unreadable,
)
from leastnoise.releases.keys import Key
from leastnoise.releases.plan import Plan, Values
from leastnoise.releases.scan import executed
from leastnoise.releases.scratch import Scratch
from leastnoise.releases.sensitivity import Answer, Block, bounds, is_checks, leaves_out, turn
from leastnoise.releases.source import (
    ENVIRONMENT,
    MOST_TEXT,
    Connection,
    CsvFile,
    DuckDBTable,
    Frame,
    ParquetFile,
    Source,
    address,
)
from leastnoise.texts import shown

_T = TypeVar("_T")
_PARQUET_ADVICE = " If its files are damaged or not whole, write them again."
_CSV_ADVICE = (
    " A CSV file must be UTF-8, with one kind of line end, every quote closed, as many fields in each line as columns, and no line "
    "longer than 2 MB."
)
_IBIS_NAMES = {"dbname": "database"}  # what ibis calls what libpq calls otherwise
_LONGEST_HEADER = 1 << 20  # characters of the names of all columns
_SUPPORTED = {"duckdb": "DuckDB", "postgres": "PostgreSQL", "pyspark": "Spark"}  # by ibis's names
_ALL_ROWS = 1 << 62
_DIGITS = 12  # of a digest in hexadecimal: what DuckDB keeps inside a sort key

# Without a schema the first of the search path that has the name: temporary tables, then the schemas of the connection.
_FIND_POSTGRES = """
SELECT n.nspname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname = %(name)s AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
AND CASE WHEN %(schema)s::text IS NULL THEN pg_catalog.pg_table_is_visible(c.oid) ELSE n.nspname = %(schema)s END
ORDER BY n.nspname
"""

Counts = dict[tuple[str, ...], tuple[int, ...]]  # group -> one integer for each answer of the block


def _withheld(doing: str, work: Callable[[], _T], advice: str = "") -> _T:
    """The result of `work`; engine errors without their message, cause or context, for any of them may quote a private value.

    So may warnings: they are silenced.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return work()
        except LeastNoiseError:
            raise
        except Exception as error:
            failed = type(error).__name__
    # Outside the handler, so that nothing of the engine's error hangs on this one.
    raise EngineError(
        f"The engine failed while {doing} ({failed}); its message is withheld because it may quote data.{advice}"
    )


@dataclass(frozen=True, eq=False)
class Table:
    """A table in its engine, with the columns of a plan checked by name and type; no row has been read for it."""

    expression: Any
    engine: str
    close: Callable[[], None]
    advice: str = ""  # what may be wrong with the table where its engine fails
    is_files: bool = (
        False  # whether it is files and nothing computed from them: they may be broken anywhere
    )
    collations: bool = True  # whether its texts may be compared otherwise than letter by letter


def open_table(
    plan: Plan, table: Any = None, *, scratch: str | PathLike[str] | None = None
) -> Table:
    """The plan's table, or `table` in its place. Names and types are checked; they are public, the
    rows are not. `scratch` is where DuckDB has its private folder, by default the system's place."""
    source = plan.source if table is None else Frame(table)
    if source is None:
        raise PlanError(
            "The plan declares no source: declare [source], or give release(..., table=...)."
        )
    opened = _withheld("opening the table", lambda: _opened(source, scratch))
    try:
        if opened.engine not in _SUPPORTED:
            raise UnsupportedError(
                f"The table is in {opened.engine}, whose queries are not known to be right here: give it in "
                f"{' or '.join(_SUPPORTED.values())}, as a file, or as a pandas, polars or pyarrow table."
            )
        schema = _withheld("reading the names and types of the columns", opened.expression.schema)
        _check_columns(
            plan,
            {name: schema[name] for name in schema.names},
            isinstance(source, CsvFile) and source.columns is None,
        )
    except BaseException:
        opened.close()
        raise
    return opened


def _nothing() -> None:
    return None


def _opened(source: Source, scratch: str | PathLike[str] | None) -> Table:
    ibis = extra("ibis", "tables")
    if isinstance(source, Connection):
        return _at(ibis, source, scratch)
    if isinstance(source, Frame) and isinstance(source.frame, ibis.expr.types.Table):
        backend = source.frame._find_backend(use_default=True)
        if backend.name == "pyspark":
            return _of_spark(backend, source.frame, _nothing)
        return Table(source.frame, backend.name, _nothing)
    if (
        isinstance(source, Frame)
        and _library(source.frame) == "pyspark"
        and type(source.frame).__name__ == "DataFrame"
    ):
        return _spark_frame(ibis, source.frame)
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
        return _in_spark(ibis, source.table, scratch)
    extra("psycopg", "postgres")
    told = {_IBIS_NAMES.get(name, name): value for name, value in found.told.items()}
    connected = ibis.postgres.connect(**told)
    try:
        return Table(_named(connected, source.table), connected.name, connected.disconnect)
    except BaseException:
        connected.disconnect()
        raise


def _in_spark(ibis: Any, table: str, scratch: str | PathLike[str] | None) -> Table:
    """A table of the session of the process, which stays open. Where there is none, one is made, with its folders in the
    private one: by default Spark makes some of them in the working folder, and all of them readable by everybody."""
    sessions = extra("pyspark.sql", "spark").SparkSession
    folder = Scratch(scratch)
    close = folder.close
    try:
        name = f"leastnoise-{uuid.uuid4().hex}"
        places = {
            "spark.sql.warehouse.dir": f"{folder.path}/warehouse",
            "spark.local.dir": str(folder.path),
        }
        session = (
            sessions.getActiveSession()
            or sessions.builder.appName(name).config(map=places).getOrCreate()
        )
        connected = ibis.pyspark.connect(session)
        # To disconnect is to stop the session, and one that was there before is not ours to stop.
        if session.sparkContext.appName == name:
            close = _closing(connected, folder)
        return _of_spark(connected, _named(connected, table), close)
    except BaseException:
        close()
        raise


def _spark_frame(ibis: Any, frame: Any) -> Table:
    """A frame of Spark, counted where it is: a view of its session, gone when it is done. The session stays open."""
    session, name = frame.sparkSession, f"ln_frame_{uuid.uuid4().hex}"
    frame.createOrReplaceTempView(name)

    def close() -> None:
        session.catalog.dropTempView(name)

    try:
        connected = ibis.pyspark.connect(session)
        return _of_spark(connected, connected.table(name), close)
    except BaseException:
        close()
        raise


def _of_spark(connected: Any, expression: Any, close: Callable[[], None]) -> Table:
    is_files = _is_files_of_spark(connected, expression)
    return Table(expression, connected.name, close, _PARQUET_ADVICE if is_files else "", is_files)


def _is_files_of_spark(connected: Any, expression: Any) -> bool:
    """Whether Spark would read files of typed columns, and compute nothing from them.

    A view may fail on the values of a row, and other formats may, where a text is no number: whether those can be read to their
    end is a matter of the rows.
    """
    try:
        frame = connected._session.sql(connected.compile(expression))
        plan = frame._jdf.queryExecution().optimizedPlan()
        if plan.getClass().getSimpleName() != "LogicalRelation":
            return False
        relation = plan.relation()
        if relation.getClass().getSimpleName() != "HadoopFsRelation":
            return False
        return relation.fileFormat().getClass().getSimpleName() in (
            "ParquetFileFormat",
            "OrcFileFormat",
        )
    except Exception:  # Spark Connect shows no plan; what is wrong with the table is said by whoever asks for its columns
        return False


def _duckdb_table(source: DuckDBTable, scratch: str | PathLike[str] | None) -> Table:
    extra("duckdb", "tables")
    _exists(source.path)
    folder = Scratch(scratch)
    try:
        connected = duck.connected(folder, database=source.path)
        return Table(_named(connected, source.table), "duckdb", _closing(connected, folder))
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
        return Table(
            connected.table("ln_frame"), "duckdb", _closing(connected, folder), collations=False
        )
    paths = [duck.plain_path(path, folder) for path in declared_files(source)]
    connected = duck.connected(folder, readable=paths)
    is_csv = isinstance(source, CsvFile)
    reader = (
        _read_csv(source, paths[0])
        if isinstance(source, CsvFile)
        else duck.parquet(connected.con, paths)
    )
    connected.con.execute(f"CREATE TEMP VIEW ln_table AS SELECT * FROM {reader}")
    advice = _CSV_ADVICE if is_csv else _PARQUET_ADVICE
    return Table(
        connected.table("ln_table"),
        "duckdb",
        _closing(connected, folder),
        advice,
        True,
        collations=False,
    )


def _closing(connected: Any, folder: Scratch) -> Callable[[], None]:
    def close() -> None:
        connected.disconnect()
        folder.close()

    return close


def declared_files(source: CsvFile | ParquetFile | DuckDBTable) -> list[str]:
    """The files that are declared. The engine looks for none itself: it may read these alone."""
    if not isinstance(source, ParquetFile) or not has_magic(source.path):
        _exists(source.path)
        return [source.path]
    found = sorted(path for path in glob(source.path, recursive=True) if Path(path).is_file())
    if not found:
        raise PlanError(f"No file matches {source.path!r}: declare where the table is.")
    return found


def _exists(path: str) -> None:
    if not Path(path).is_file():
        raise PlanError(f"There is no file {path!r}: declare where the table is.")


def _named(connected: Any, table: str) -> Any:
    """The table or view of this name, or of the name after a schema and a point: "clinic.visits"."""
    schema, point, name = table.partition(".")
    if connected.name == "postgres":
        return _in_postgres(connected, [(None, table), *([(schema, name)] if point else [])])
    if table in connected.list_tables():
        return connected.table(table)
    # Spark puts the name of a schema into a query as it is.
    if point and re.fullmatch(r"\w+", schema, re.ASCII) and name in _tables_of(connected, schema):
        return connected.table(name, database=schema)
    raise _no_table(table)


def _tables_of(connected: Any, schema: str) -> list[str]:
    try:
        return list(connected.list_tables(database=schema))
    except Exception:  # no such schema, which every engine says in an error of its own
        return []


def _no_table(table: str) -> PlanError:
    return PlanError(
        f"The database has no table or view {table!r}: declare the table to read, with its schema before a point if that is "
        'another one than the usual: table = "schema.table".'
    )


def _in_postgres(connected: Any, names: list[tuple[str | None, str]]) -> Any:
    """The first of these (schema, name) that there is: a table, a view, a materialised view, or a foreign table.

    Asked of the catalogue: ibis looks for tables in `information_schema`, which knows no materialised views.
    """
    operations = importlib.import_module("ibis.expr.operations")
    for schema, name in names:
        with connected.con.cursor() as cursor:
            found = cursor.execute(_FIND_POSTGRES, {"schema": schema, "name": name}).fetchone()
        connected.con.commit()
        if found is not None:
            columns = connected.get_schema(name, database=found[0])
            space = operations.Namespace(catalog=None, database=found[0])
            return operations.DatabaseTable(
                name, schema=columns, source=connected, namespace=space
            ).to_expr()
    raise _no_table(".".join(part for part in names[-1] if part))


def _read_csv(source: CsvFile, path: str) -> str:
    """DuckDB's reader with nothing left to guess: the types, names and quoting it would guess depend on private rows."""
    names = source.columns or _header(source)
    columns = ", ".join(f"{duck.quoted(name)}: 'VARCHAR'" for name in names)
    # No padding of short lines: DuckDB then refuses line breaks inside quotes, and an unclosed quote would swallow rows unnoticed.
    return (
        f"read_csv({duck.quoted(path)}, auto_detect = false, header = {'true' if source.columns is None else 'false'}, "
        f"compression = '{'gzip' if _is_gzip(source) else 'none'}', "
        f"delim = {duck.quoted(source.delimiter)}, quote = '\"', escape = '\"', columns = {{{columns}}})"
    )


def _is_gzip(source: CsvFile) -> bool:
    return source.path.lower().endswith(".gz")


def _header(source: CsvFile) -> tuple[str, ...]:
    """The names in the first line: public, and the only line that is looked at here."""
    opened: Any = gzip.open if _is_gzip(source) else open
    try:
        # What follows the first line is read along with it, in one buffer; whether that is UTF-8 must not matter here.
        with opened(
            source.path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline=""
        ) as file:
            # At most so much of it: a file without line ends would be read to its end.
            start = io.StringIO(file.read(_LONGEST_HEADER), newline="")
            names = next(csv.reader(start, delimiter=source.delimiter, strict=True), [])
            "".join(names).encode("utf-8")
    except (OSError, EOFError, zlib.error, UnicodeError, csv.Error):
        names = []
    # A quote that is not closed makes the rows that follow part of a name.
    if (
        not names
        or any(not name or {*name} & {*"\x00\r\n"} for name in names)
        or len(set(names)) != len(names)
    ):
        raise PlanError(
            f"The first line of {source.path!r} does not name its columns, each differently: declare columns = [names] if the file "
            "has no header."
        )
    return tuple(names)


def _library(frame: Any) -> str:
    return type(frame).__module__.split(".")[0]


def _arrow(frame: Any) -> Any:
    """The frame as an Arrow table, whatever library it comes from."""
    arrow = extra("pyarrow", "tables")
    library = _library(frame)
    if isinstance(frame, arrow.Table):
        return frame
    if library == "pandas" and type(frame).__name__ == "DataFrame":
        return arrow.Table.from_pandas(frame, preserve_index=False)
    if library == "polars" and type(frame).__name__ in ("DataFrame", "LazyFrame"):
        return (frame.collect() if type(frame).__name__ == "LazyFrame" else frame).to_arrow()
    raise UnsupportedError(
        f"A {type(frame).__name__} is no table: give a pandas, polars, pyarrow or Spark table, or an ibis expression."
    )


def _check_columns(plan: Plan, types: dict[str, Any], is_lines: bool) -> None:
    for name in plan.columns:
        if name not in types:
            raise PlanError(
                f"The table has no column {name!r}{_instead(name, sorted(types), is_lines)}."
            )
    if plan.person is not None:
        kind = types[plan.person]
        if not (kind.is_string() or kind.is_integer() or kind.is_uuid()):
            raise PlanError(
                f"The person ids in {plan.person!r} are of type {_type_name(kind)}: they must be text, integers or UUIDs, of which "
                "two are the same only if every byte is."
            )
    for statistic in plan.statistics:
        for key in statistic.group_by:
            kind = types[key.column]
            if key.edges:
                _check_number(key.column, kind)
            else:
                check_key(key, kind, _type_name(kind))
        if statistic.column is not None:
            _check_number(statistic.column, types[statistic.column])


def _instead(name: str, names: Sequence[str], is_lines: bool) -> str:
    """The columns that there are; of a file of lines those like `name` alone: without a header its first line holds a person's
    values."""
    if not is_lines:
        return "; it has " + ", ".join(shown(column)[:MOST_TEXT] for column in names[:20])
    alike = {column.strip().casefold(): column for column in names}
    near = get_close_matches(name.strip().casefold(), alike, n=3, cutoff=0.8)
    like = (
        ", like it: " + ", ".join(f"'{shown(alike[one])}'" for one in near)
        if near
        else ", and none is like it"
    )
    other = next((mark for mark in ";\t|" if len(names) == 1 and mark in names[0]), None)
    parted = (
        ""
        if other is None
        else f"delimiter = {other!r} if that is what stands between two fields, or "
    )
    return f"; its first line names {len(names)}{like}. Declare {parted}columns = [names] if it has no header"


def _check_number(name: str, kind: Any) -> None:
    if not (kind.is_numeric() or kind.is_boolean() or kind.is_string()):
        raise PlanError(
            f"The column {name!r} is of type {_type_name(kind)}: a statistic of it needs numbers."
        )


def _type_name(kind: Any) -> str:
    """The type as its engine calls it, where ibis has no name for it."""
    return str(kind.raw_type.sql() if kind.is_unknown() and hasattr(kind.raw_type, "sql") else kind)


# Queries


def rehearse(plan: Plan, table: Table, blocks: Sequence[Block]) -> None:
    """Build every query and run it on no rows: what fails without a row fails now, while it costs nothing."""
    nothing = replace(
        table, expression=table.expression.filter(extra("ibis", "tables").literal(False))
    )
    for block in blocks:
        aggregate(plan, nothing, block)


def read_through(plan: Plan, table: Table, progress: Callable[[float], None] | None = None) -> None:
    """Read the files of a table once to their end and forget them: what is broken fails now, while it costs nothing.

    Whether a CSV file is UTF-8 with as many fields in each line as columns, and whether the pages of a
    Parquet file can be unpacked, is a matter of form. A neighbouring table is a table too, so for every
    table that is one the answer is the same. What is computed by a view is not: no row of it is read here.
    """
    if not table.is_files:
        return
    columns = [table.expression[name] for name in plan.columns]
    is_lenient = table.engine == "duckdb"
    counted = {
        f"ln_read{i}": column.count()
        for i, column in enumerate(columns)
        if is_lenient or _is_plain(column.type())
    }
    whole = table.expression.aggregate(**(counted or {"ln_read": table.expression.count()}))
    _withheld(
        "reading the table's files to their end",
        lambda: executed(whole, table.engine, progress),
        table.advice,
    )


def _is_plain(kind: Any) -> bool:
    """Whether Spark can read every value of the type: it refuses some dates of old files."""
    return bool(kind.is_string() or kind.is_integer() or kind.is_floating() or kind.is_boolean())


def aggregate(
    plan: Plan, table: Table, block: Block, progress: Callable[[float], None] | None = None
) -> Counts:
    """The integers of one block, for every declared group and for all other keys; a group without rows has zeros."""
    found = _withheld(
        "counting and summing",
        lambda: executed(query(plan, table, block), table.engine, progress).to_pylist(),
        table.advice,
    )
    return _counts(block, found)


def query(plan: Plan, table: Table, block: Block) -> Any:
    """The aggregate of one block as an ibis expression."""
    return (
        checks_query(plan, table, block) if is_checks(block) else bounded_query(plan, table, block)
    )


def bounded_query(plan: Plan, table: Table, block: Block) -> Any:
    """The aggregate of a view, after contribution bounding."""
    ibis = extra("ibis", "tables")
    places = _places(block)
    columns = {f"ln_label{i}": key_label(ibis, table, key) for i, key in enumerate(block.group_by)}
    columns |= {f"ln_place{i}": place(ibis, table, values) for i, values in enumerate(places)}
    columns |= _person(ibis, plan, table)
    columns["ln_one"] = ibis.literal(1, type="int64")
    view = table.expression.select(**columns)
    if block.group_by:
        view = _with_keys(ibis, table, block, view)
    if plan.person is not None:
        view = _bounded(
            ibis, plan, table, block, view.filter(view.ln_person.notnull()), len(places)
        )
    wanted: dict[str, Any] = {"ln_rows": view.count()}
    if "persons" in {
        answer.measure for cell in (0, len(block.cells) - 1) for answer in block.answers_of(cell)
    }:
        wanted["ln_persons"] = view.ln_person.nunique()

    def wide(column: Any) -> Any:
        # DuckDB and PostgreSQL sum 64-bit integers in 128 bits and in decimals by themselves.
        return column if table.engine in ("duckdb", "postgres") else column.cast("decimal(38, 0)")

    for i, values in enumerate(places):
        column = view[f"ln_place{i}"]
        wanted[f"ln_n{i}"] = column.count()
        wanted[f"ln_sum{i}"] = wide(column).sum().cast("string")
        if any(answer.measure == "square" and answer.values == values for answer in block.answers):
            wanted[f"ln_squares{i}"] = wide(column * column).sum().cast("string")
    keys = [f"ln_key{i}" for i in range(len(block.group_by))]
    return view.group_by(keys).aggregate(**wanted) if keys else view.aggregate(**wanted)


def _person(ibis: Any, plan: Plan, table: Table) -> dict[str, Any]:
    """The person of a row in the form in which it is compared, where persons have a column."""
    if plan.person is None:
        return {}
    person = table.expression[plan.person]
    return {"ln_person": comparable(ibis, table, person) if person.type().is_string() else person}


def _with_keys(ibis: Any, table: Table, block: Block, view: Any) -> Any:
    """The labels of each row; where one of them is not declared, those of the group of all other keys."""
    labels = [view[f"ln_label{i}"] for i in range(len(block.group_by))]
    declared = labels[0].notnull()
    for label in labels[1:]:
        declared = declared & label.notnull()
    others = [comparable(ibis, table, ibis.literal(key.other)) for key in block.group_by]
    keys = {
        f"ln_key{i}": declared.ifelse(label, other)
        for i, (label, other) in enumerate(zip(labels, others, strict=True))
    }
    one, zero = (ibis.literal(number, type="int64") for number in (1, 0))
    return view.mutate(ln_other=declared.ifelse(zero, one), **keys)


def _bounded(ibis: Any, plan: Plan, table: Table, block: Block, view: Any, places: int) -> Any:
    """At most the declared rows and groups of each person, chosen by digest, all other keys last."""
    limit = bounds(plan, block.group_by)
    keys = [f"ln_key{i}" for i in range(len(block.group_by))]

    person = text(ibis, table, view.ln_person)
    # Numbers need no escaping, and it takes time: 10 million ids a second or two.
    plain = view.ln_person.type().is_integer() or view.ln_person.type().is_uuid()
    start = ibis.literal(_escaped_text(plan.salt) + "|") + (person if plain else _escaped(person))
    for name in keys:
        start = start + "|" + _escaped(text(ibis, table, view[name]))
    if keys:
        chosen = limit.groups < len(
            block.groups
        )  # else only the group of all other keys may be one too many
        view = view.mutate(ln_order=md5(ibis, start).left(_DIGITS)) if chosen else view
        # The keys themselves come last, so that the bound holds even if two digests are equal.
        order = [
            view.ln_other,
            *([view.ln_order] if chosen else []),
            *(view[name] for name in keys),
        ]
        view = view.mutate(
            ln_rank=ibis.dense_rank().over(ibis.window(group_by="ln_person", order_by=order))
        )
        view = view.filter(view.ln_rank < limit.groups)
        start = view.ln_order if chosen else start  # it stands for person and keys
    in_group, overall = (
        limit.rows_in_group < limit.rows,
        limit.rows_in_group * limit.groups > limit.rows or not keys,
    )
    words = start
    for i in range(places):
        words = words + "|" + ibis.coalesce(view[f"ln_place{i}"].cast("string"), ibis.literal("-"))
    view = view.mutate(ln_digest=md5(ibis, words).left(_DIGITS))

    def first_rows(view: Any, within: list[str], most: int) -> Any:
        """The first rows of each person, or of each of their groups."""
        values = [
            ibis.coalesce(view[f"ln_place{i}"], ibis.literal(-1, type="int64"))
            for i in range(places)
        ]
        known = [view.ln_other] if keys and not within else []
        order = [
            *known,
            view.ln_digest,
            *(view[name] for name in keys if name not in within),
            *values,
        ]
        numbered = view.mutate(
            ln_number=ibis.row_number().over(
                ibis.window(group_by=["ln_person", *within], order_by=order)
            )
        )
        kept = numbered.ln_number < most
        # Of other keys persons are counted: who fills up their rows under declared ones is one of them all the same.
        return numbered.filter(
            kept | (numbered.ln_other == 1) if block.other == Answer("persons") else kept
        )

    if keys and (in_group or not overall):
        view = first_rows(view, keys, limit.rows_in_group)
    return first_rows(view, [], limit.rows) if overall else view


def checks_query(plan: Plan, table: Table, block: Block) -> Any:
    """How many persons have an unreadable value, another key, a clipped value, or rows that are left out: each counted once.

    An unreadable value comes first, then a key that is not declared. Of several that are alike the one
    with the least digest of salt, person (or row) and number counts, so that all of them have their share.
    """
    ibis = extra("ibis", "tables")
    columns = {}
    for i, answer in enumerate(block.answers):
        if answer.measure == "unreadable":
            columns[f"ln_bad{i}"] = unreadable(ibis, table, answer.column)
        elif answer.measure == "other keys":
            columns[f"ln_bad{i}"] = _is_undeclared(ibis, table, answer.group_by)
        elif answer.values is not None:
            columns[f"ln_bad{i}"] = beyond(ibis, table, answer.values)
        elif answer.group_by:
            columns[f"ln_group{i}"] = _group_text(ibis, table, answer.group_by)
    several = len(block.answers) > 1
    if plan.person is None:
        row = {"ln_row": _row_text(ibis, table, block)} if several else {}
        view = _fenced(table, table.expression.select(**columns, **row))
    else:
        view = table.expression.select(**columns, **_person(ibis, plan, table))
        view = view.filter(view.ln_person.notnull())
        beside = {
            f"ln_beside{i}": view.count().over(ibis.window(group_by=["ln_person", f"ln_group{i}"]))
            for i, answer in enumerate(block.answers)
            if answer.group_by
            and answer.measure == "left out"
            and leaves_out(plan, answer.group_by)[1]
        }
        view = view.mutate(**beside) if beside else view
        found = {
            f"ln_bad{i}": _has(plan, view, i, answer) for i, answer in enumerate(block.answers)
        }
        view = view.group_by("ln_person").aggregate(**found)
    flags = [view[f"ln_bad{i}"] for i in range(len(block.answers))]
    any_of_them = flags[0]
    for flag in flags[1:]:
        any_of_them = any_of_them | flag
    view = view.filter(any_of_them)
    if not several:
        return view.aggregate(ln_bad0=view.count())
    who = view.ln_row if plan.person is None else _escaped(text(ibis, table, view.ln_person))
    start = ibis.literal(_escaped_text(plan.salt) + "|") + who + "|"
    never = ibis.literal("z")  # after every digit of a digest
    orders = {}
    for i, answer in enumerate(block.answers):
        first = ibis.literal(str(turn(answer)))
        orders[f"ln_order{i}"] = view[f"ln_bad{i}"].ifelse(
            first + md5(ibis, start + str(i)).left(_DIGITS), never
        )
    view = _fenced(table, view.mutate(**orders))
    view = _fenced(table, view.mutate(ln_least=ibis.least(*(view[name] for name in orders))))
    # The first of equal digests: a person is counted once, whatever the digests are.
    places = range(len(block.answers))
    chosen = ibis.cases(*((view[f"ln_order{i}"] == view.ln_least, i) for i in places), else_=-1)
    view = _fenced(table, view.mutate(ln_column=chosen))
    return view.aggregate(**{f"ln_bad{i}": (view.ln_column == i).sum() for i in places})


def _fenced(table: Table, view: Any) -> Any:
    """The view computed once: PostgreSQL would write out each column wherever it is used, thirty columns of checks a million
    times, and run out of memory."""
    return view.limit(_ALL_ROWS) if table.engine == "postgres" else view


def _has(plan: Plan, view: Any, i: int, answer: Answer) -> Any:
    """Whether a check applies to a person, over all of that person's rows."""
    if answer.measure != "left out":
        return view[f"ln_bad{i}"].any()
    if not answer.group_by:
        return view.count() > bounds(plan, ()).rows
    group, limit = view[f"ln_group{i}"], bounds(plan, answer.group_by)
    many, long = leaves_out(plan, answer.group_by)
    found = [group.nunique() > limit.groups] if many else []
    if long:
        found.append((group.notnull() & (view[f"ln_beside{i}"] > limit.rows_in_group)).any())
    return found[0] if len(found) == 1 else found[0] | found[1]


def _is_undeclared(ibis: Any, table: Table, group_by: tuple[Key, ...]) -> Any:
    """Whether the key of a row is none of the declared ones."""
    found = key_label(ibis, table, group_by[0]).isnull()
    for key in group_by[1:]:
        found = found | key_label(ibis, table, key).isnull()
    return found


def _group_text(ibis: Any, table: Table, group_by: tuple[Key, ...]) -> Any:
    """The declared group of a row as one text; null where it is in none."""
    words = [_escaped(text(ibis, table, key_label(ibis, table, key))) for key in group_by]
    joined = words[0]
    for word in words[1:]:
        joined = joined + "|" + word
    return comparable(ibis, table, joined)


def _row_text(ibis: Any, table: Table, block: Block) -> Any:
    """What stands in the columns of text among these, and the places of the numbers, as one text."""
    words = ibis.literal("")
    for answer in block.answers:
        if answer.values is not None:
            found = place(ibis, table, answer.values).cast("string")
        elif table.expression[answer.column].type().is_string():
            found = _escaped(
                text(ibis, table, comparable(ibis, table, table.expression[answer.column]))
            )
        else:
            continue
        words = words + ibis.coalesce(found, ibis.literal("-")) + "|"
    return words


def _escaped(words: Any) -> Any:
    return words.replace("~", "~0").replace("|", "~1")


def _escaped_text(words: str) -> str:
    return words.replace("~", "~0").replace("|", "~1")


def _places(block: Block) -> list[Values]:
    return list(
        dict.fromkeys(answer.values for answer in block.answers if answer.values is not None)
    )


def _counts(block: Block, found: list[dict[str, Any]]) -> Counts:
    empty: dict[str, Any] = {}
    if is_checks(block):
        row = found[0] if found else empty
        return {(): tuple(int(row.get(f"ln_bad{i}") or 0) for i in range(len(block.answers)))}
    places = _places(block)
    rows = {
        tuple(_label(row[f"ln_key{i}"]) for i in range(len(block.group_by))): row for row in found
    }
    return {
        group: tuple(
            _answer(answer, rows.get(group, empty), places) for answer in block.answers_of(g)
        )
        for g, group in enumerate(block.cells)
    }


def no_rows(block: Block) -> Counts:
    """The integers of a block where the table has no rows."""
    return _counts(block, [])


def _label(key: str | bytes) -> str:
    return key.decode("utf-8") if isinstance(key, bytes) else key


def _answer(answer: Answer, row: dict[str, Any], places: list[Values]) -> int:
    """The integer of an answer from what the engine returned: with j = place above the first, 2k − (first + last) = 2j − W."""
    if answer.measure == "rows":
        return int(row.get("ln_rows") or 0)
    if answer.measure == "persons" or answer.values is None:
        return int(row.get("ln_persons") or 0)
    i = places.index(answer.values)
    n, total = int(row.get(f"ln_n{i}") or 0), int(row.get(f"ln_sum{i}") or 0)
    if answer.measure == "present":
        return n
    if answer.measure == "sum":
        return total + answer.values.first * n
    w = answer.half_range
    if answer.measure == "centred":
        return 2 * total - w * n
    return (
        8 * int(row.get(f"ln_squares{i}") or 0) - 8 * w * total + w * w * n
    )  # 2(2j − W)² − W², summed
