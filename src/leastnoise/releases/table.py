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
import io
import os
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from glob import glob, has_magic
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from leastnoise.errors import EngineError, LeastNoiseError, PlanError, UnsupportedError
from leastnoise.extras import required as extra
from leastnoise.releases import duck
from leastnoise.releases.plan import Key, Plan, Values
from leastnoise.releases.scan import executed
from leastnoise.releases.scratch import Scratch
from leastnoise.releases.sensitivity import Answer, Block, bounds
from leastnoise.releases.source import ENVIRONMENT, Connection, CsvFile, DuckDBTable, Frame, ParquetFile, Source, address

# Thirty digits and a two-digit exponent: whatever matches is a finite number on every engine.
NUMBER = r"^[ ]*[+-]?([0-9]{1,30}([.][0-9]{0,30})?|[.][0-9]{1,30})([eE][+-]?[0-9]{1,2})?[ ]*$"
_TRUTH = {"true": "1", "false": "0"}
_T = TypeVar("_T")
_LARGEST_FLOAT = "1.7976931348623157e308"
_CSV_ADVICE = " A CSV file must be UTF-8, with one kind of line end, every quote closed and as many fields in each line as columns."
_IN_THE_ENGINE = "This is computed by the engine."
_IBIS_NAMES = {"dbname": "database"}  # what ibis calls what libpq calls otherwise
_LONGEST_HEADER = 1 << 20  # characters of the names of all columns
_DIGITS = 12  # of a digest in hexadecimal: what DuckDB keeps inside a sort key

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
    raise EngineError(f"The engine failed while {doing} ({failed}); its message is withheld because it may quote data.{advice}")


@dataclass(frozen=True, eq=False)
class Table:
    """A table in its engine, with the columns of a plan checked by name and type; no row has been read for it."""

    expression: Any
    engine: str
    close: Callable[[], None]
    advice: str = ""  # what may be wrong with the table where its engine fails
    collations: bool = True  # whether its texts may be compared otherwise than letter by letter


def open_table(plan: Plan, table: Any = None, *, scratch: str | PathLike[str] | None = None) -> Table:
    """The plan's table, or `table` in its place. Names and types are checked; they are public, the
    rows are not. `scratch` is where DuckDB has its private folder, by default the system's place."""
    source = plan.source if table is None else Frame(table)
    if source is None:
        raise PlanError("The plan declares no source: declare [source], or give release(..., table=...).")
    opened = _withheld("opening the table", lambda: _opened(source, scratch))
    try:
        schema = _withheld("reading the names and types of the columns", opened.expression.schema)
        _check_columns(plan, {name: schema[name] for name in schema.names})
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
        return Table(source.frame, source.frame._find_backend(use_default=True).name, _nothing)
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
        extra("pyspark", "spark")
        connected = ibis.pyspark.connect()
        return Table(_named(connected, source.table), connected.name, connected.disconnect)
    extra("psycopg", "postgres")
    told = {_IBIS_NAMES.get(name, name): value for name, value in found.told.items()}
    connected = ibis.postgres.connect(**told)
    try:
        return Table(_named(connected, source.table), connected.name, connected.disconnect)
    except BaseException:
        connected.disconnect()
        raise


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
        connected = duck.connected(folder)
        connected.con.register("ln_frame", _arrow(source.frame))
        return Table(connected.table("ln_frame"), "duckdb", _closing(connected, folder), collations=False)
    paths = [duck.plain_path(path, folder) for path in _files(source)]
    connected = duck.connected(folder, readable=paths)
    is_csv = isinstance(source, CsvFile)
    reader = _read_csv(source, paths[0]) if isinstance(source, CsvFile) else _read_parquet(paths)
    connected.con.execute(f"CREATE TEMP VIEW ln_table AS SELECT * FROM {reader}")
    advice = _CSV_ADVICE if is_csv else ""
    return Table(connected.table("ln_table"), "duckdb", _closing(connected, folder), advice, collations=False)


def _closing(connected: Any, folder: Scratch) -> Callable[[], None]:
    def close() -> None:
        connected.disconnect()
        folder.close()

    return close


def _files(source: CsvFile | ParquetFile) -> list[str]:
    """The files that are declared. The engine looks for none itself: it may read these alone."""
    if isinstance(source, CsvFile) or not has_magic(source.path):
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
    if table not in connected.list_tables():
        raise PlanError(f"The database has no table {table!r}: declare the table to read.")
    return connected.table(table)


def _read_parquet(paths: list[str]) -> str:
    return f"read_parquet([{', '.join(duck.quoted(path) for path in paths)}])"


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
        with opened(source.path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            # At most so much of it: a file without line ends would be read to its end.
            start = io.StringIO(file.read(_LONGEST_HEADER), newline="")
            names = next(csv.reader(start, delimiter=source.delimiter), [])
            "".join(names).encode("utf-8")
    except (OSError, EOFError, zlib.error, UnicodeError, csv.Error):
        names = []
    if not names or any(not name or "\x00" in name for name in names) or len(set(names)) != len(names):
        raise PlanError(
            f"The first line of {source.path!r} does not name its columns, each differently: declare columns = [names] if the file "
            "has no header."
        )
    return tuple(names)


def _arrow(frame: Any) -> Any:
    """The frame as an Arrow table, whatever library it comes from."""
    arrow = extra("pyarrow", "tables")
    library = type(frame).__module__.split(".")[0]
    if isinstance(frame, arrow.Table):
        return frame
    if library == "pandas" and type(frame).__name__ == "DataFrame":
        return arrow.Table.from_pandas(frame, preserve_index=False)
    if library == "polars" and type(frame).__name__ in ("DataFrame", "LazyFrame"):
        return (frame.collect() if type(frame).__name__ == "LazyFrame" else frame).to_arrow()
    raise UnsupportedError(f"A {type(frame).__name__} is no table: give a pandas, polars or pyarrow table, or an ibis expression.")


def _check_columns(plan: Plan, types: dict[str, Any]) -> None:
    for name in plan.columns:
        if name not in types:
            known = ", ".join(sorted(types)[:20])
            raise PlanError(f"The table has no column {name!r}; it has {known}.")
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
            elif not (kind.is_string() or kind.is_integer() or kind.is_boolean()):
                raise PlanError(
                    f"The keys in {key.column!r} are of type {_type_name(kind)}: they must be text, integers or truth values; for "
                    "other numbers declare edges."
                )
        if statistic.column is not None:
            _check_number(statistic.column, types[statistic.column])


def _check_number(name: str, kind: Any) -> None:
    if not (kind.is_numeric() or kind.is_boolean() or kind.is_string()):
        raise PlanError(f"The column {name!r} is of type {_type_name(kind)}: a statistic of it needs numbers.")


def _type_name(kind: Any) -> str:
    """The type as its engine calls it, where ibis has no name for it."""
    return str(kind.raw_type.sql() if kind.is_unknown() and hasattr(kind.raw_type, "sql") else kind)


# Queries


def aggregate(plan: Plan, table: Table, block: Block, progress: Callable[[float], None] | None = None) -> Counts:
    """The integers of one block, for every declared group; a group without rows has zeros."""
    found = _withheld(
        "counting and summing",
        lambda: executed(bounded_query(plan, table, block), table.engine, progress).to_pylist(),
        table.advice,
    )
    return _counts(block, found)


def bounded_query(plan: Plan, table: Table, block: Block) -> Any:
    """The aggregate of one block as an ibis expression."""
    ibis = extra("ibis", "tables")
    places = list(dict.fromkeys(answer.values for answer in block.answers if answer.values is not None))
    columns = {f"ln_key{i}": _key(ibis, table, key) for i, key in enumerate(block.group_by)}
    columns |= {f"ln_place{i}": _place(ibis, table, values) for i, values in enumerate(places)}
    if plan.person is not None:
        person = table.expression[plan.person]
        columns["ln_person"] = _comparable(ibis, table, person) if person.type().is_string() else person
    columns["ln_one"] = ibis.literal(1, type="int64")
    view = table.expression.select(**columns)
    for i, key in enumerate(block.group_by):
        view = view.filter(view[f"ln_key{i}"].isin([_comparable(ibis, table, ibis.literal(label)) for label in key.labels]))
    if plan.person is not None:
        view = _bounded(ibis, plan, table, block, view.filter(view.ln_person.notnull()), len(places))
    wanted: dict[str, Any] = {"ln_rows": view.count()}
    if any(answer.measure == "persons" for answer in block.answers):
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


def _number(ibis: Any, table: Table, name: str) -> Any:
    """The column as 64-bit floats; text that is not plainly a number is null."""
    column = table.expression[name]
    kind = column.type()
    if kind.is_boolean():
        return column.ifelse(_float(ibis, "1"), _float(ibis, "0"))
    if kind.is_string():
        # With a collation "tRUE" may equal "true", and PostgreSQL searches no text of a nondeterministic one.
        column = _text(ibis, table, _comparable(ibis, table, column))
        # Java lets $ match before a last line break, the others do not.
        plain = column.re_search(NUMBER) & ~column.contains("\n")
        truth = [(column.isin([word, word.capitalize(), word.upper()]), ibis.literal(one)) for word, one in _TRUTH.items()]
        return ibis.cases((plain, column), *truth, else_=ibis.null("string")).cast("float64")
    return column.cast("float64")


def _float(ibis: Any, text: str) -> Any:
    """A constant that the engine parses itself: engines differ in the type of a bare 0.1."""
    return ibis.literal(text).cast("float64")


def _place(ibis: Any, table: Table, values: Values) -> Any:
    """The place of the value above the lower bound's, 0 … W; null where the row is dropped for this value."""
    x = _number(ibis, table, values.column)
    missing = x.isnull() | (x.abs() > _float(ibis, _LARGEST_FLOAT) if values.infinite == "missing" else x.isnan())
    lower, upper, pitch = (_float(ibis, repr(number)) for number in (values.lower, values.upper, values.pitch))
    clipped = ibis.least(ibis.greatest(missing.ifelse(lower, x), lower), upper)
    place = (clipped / pitch + _float(ibis, "0.5")).floor().cast("int64") - values.first
    clamped = ibis.least(
        ibis.greatest(place, ibis.literal(0, type="int64")), ibis.literal(values.last - values.first, type="int64")
    )
    instead = values.substitute
    stand_in = ibis.null("int64") if instead is None else ibis.literal(instead - values.first, type="int64")
    return missing.ifelse(stand_in, clamped)


def _key(ibis: Any, table: Table, key: Key) -> Any:
    """The label of the row's key, or of its bin, as it is compared; null outside all bins."""
    if not key.edges:
        column = table.expression[key.column]
        return _comparable(ibis, table, column if column.type().is_string() else column.cast("string"))
    x = _number(ibis, table, key.column)
    edges = [_float(ibis, repr(edge)) for edge in key.edges]
    bins = []
    for i, label in enumerate(key.labels):
        below = x <= edges[i + 1] if i == len(key.labels) - 1 else x < edges[i + 1]
        bins.append(((x >= edges[i]) & below, ibis.literal(label)))
    return _comparable(ibis, table, ibis.cases(*bins, else_=ibis.null("string")))


def _comparable(ibis: Any, table: Table, text: Any) -> Any:
    """Text in the form in which it is compared: its bytes in UTF-8, or itself where no collation can be about.

    With a collation that ignores case "P1" and "p1" are one person, with one contribution window
    between them, and "A" and "a" one group under the name of whichever row comes first. Text made
    from the bytes again would not do: DuckDB compares that by the default collation of its
    connection.
    """
    if not table.collations:
        return text
    builtin = ibis.udf.scalar.builtin
    if table.engine == "duckdb":
        return builtin(_encode, name="encode")(text)
    if table.engine == "postgres":
        # text(…) first: an enum has no bytes of its own. Of a CHAR(n) it leaves out the blanks at the end, which all values have.
        return builtin(_convert_to, name="convert_to")(builtin(_as_text, name="text")(text), "UTF8")
    return text.cast("binary")


def _text(ibis: Any, table: Table, compared: Any) -> Any:
    """The text again, to be hashed or parsed. Numbers and UUIDs are written as the engine writes them."""
    if not compared.type().is_binary():
        return compared if compared.type().is_string() else compared.cast("string")
    builtin = ibis.udf.scalar.builtin
    if table.engine == "duckdb":
        return builtin(_decode, name="decode")(compared)
    if table.engine == "postgres":
        return builtin(_convert_from, name="convert_from")(compared, "UTF8")
    return compared.cast("string")


def _encode(text: str) -> bytes:
    raise UnsupportedError(_IN_THE_ENGINE)


def _decode(content: bytes) -> str:
    raise UnsupportedError(_IN_THE_ENGINE)


def _as_text(text: str) -> str:
    raise UnsupportedError(_IN_THE_ENGINE)


def _convert_to(text: str, encoding: str) -> bytes:
    raise UnsupportedError(_IN_THE_ENGINE)


def _convert_from(content: bytes, encoding: str) -> str:
    raise UnsupportedError(_IN_THE_ENGINE)


def _md5(text: str) -> str:
    """The signature of the engine's own function."""
    raise UnsupportedError(_IN_THE_ENGINE)


def _bounded(ibis: Any, plan: Plan, table: Table, block: Block, view: Any, places: int) -> Any:
    """At most the declared rows and groups of each person, chosen by digest."""
    limit = bounds(plan, block.group_by)
    keys = [f"ln_key{i}" for i in range(len(block.group_by))]

    md5 = ibis.udf.scalar.builtin(_md5, name="md5")
    person = _text(ibis, table, view.ln_person)
    # Numbers need no escaping, and it takes time: 10 million ids a second or two.
    plain = view.ln_person.type().is_integer() or view.ln_person.type().is_uuid()
    start = ibis.literal(_escaped_text(plan.salt) + "|") + (person if plain else _escaped(person))
    for name in keys:
        start = start + "|" + _escaped(_text(ibis, table, view[name]))
    if keys and limit.groups < len(block.groups):
        view = view.mutate(ln_order=md5(start).left(_DIGITS))
        # The keys themselves come last, so that the bound holds even if two digests are equal.
        order = [view.ln_order, *(view[name] for name in keys)]
        view = view.mutate(ln_rank=ibis.dense_rank().over(ibis.window(group_by="ln_person", order_by=order)))
        view = view.filter(view.ln_rank < limit.groups)
        start = view.ln_order  # it stands for person and keys
    in_group, overall = limit.rows_in_group < limit.rows, limit.rows_in_group * limit.groups > limit.rows or not keys
    text = start
    for i in range(places):
        text = text + "|" + ibis.coalesce(view[f"ln_place{i}"].cast("string"), ibis.literal("-"))
    view = view.mutate(ln_digest=md5(text).left(_DIGITS))

    def first_rows(view: Any, within: list[str], most: int) -> Any:
        """The first rows of each person, or of each of their groups."""
        values = [ibis.coalesce(view[f"ln_place{i}"], ibis.literal(-1, type="int64")) for i in range(places)]
        order = [view.ln_digest, *(view[name] for name in keys if name not in within), *values]
        numbered = view.mutate(ln_number=ibis.row_number().over(ibis.window(group_by=["ln_person", *within], order_by=order)))
        return numbered.filter(numbered.ln_number < most)

    if keys and (in_group or not overall):
        view = first_rows(view, keys, limit.rows_in_group)
    return first_rows(view, [], limit.rows) if overall else view


def _escaped(text: Any) -> Any:
    return text.replace("~", "~0").replace("|", "~1")


def _escaped_text(text: str) -> str:
    return text.replace("~", "~0").replace("|", "~1")


def _counts(block: Block, found: list[dict[str, Any]]) -> Counts:
    places = list(dict.fromkeys(answer.values for answer in block.answers if answer.values is not None))
    rows = {tuple(_label(row[f"ln_key{i}"]) for i in range(len(block.group_by))): row for row in found}
    empty: dict[str, Any] = {}
    return {group: tuple(_answer(answer, rows.get(group, empty), places) for answer in block.answers) for group in block.groups}


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
    return 8 * int(row.get(f"ln_squares{i}") or 0) - 8 * w * total + w * w * n  # 2(2j − W)² − W², summed
