"""Where a table lies. Nothing is opened here: that is `data`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from leastnoise.errors import InvalidParameterError, PlanError, plain_text
from leastnoise.text.characters import fault

MOST_TEXT = 1000  # characters of a name
MOST_PATH = 4000
# What may stand between two fields. Whether every line has as many fields as declared is seen by
# everybody; with a letter as the delimiter a plan would ask whether any line has that letter.
DELIMITERS = (",", ";", "|", "\t")


@dataclass(frozen=True)
class CsvFile:
    """A CSV file. Every column is read as text, so that no type is guessed from private values;
    numbers are parsed where a statistic needs them. Without `columns` the first line holds their
    names; with `columns` the file has no header."""

    path: str
    columns: tuple[str, ...] | None = None
    delimiter: str = ","

    def __post_init__(self) -> None:
        path_text("source.csv", self.path)
        if self.columns is not None:
            object.__setattr__(self, "columns", texts("source.columns", self.columns))
        if self.delimiter not in DELIMITERS:
            raise InvalidParameterError(
                "source.delimiter", self.delimiter, "to be ',' or ';' or '|' or a tab"
            )

    def describe(self) -> dict[str, Any]:
        named = None if self.columns is None else list(self.columns)
        return {"csv": self.path, "columns": named, "delimiter": self.delimiter}


@dataclass(frozen=True)
class ParquetFile:
    """A Parquet file, or a pattern such as "visits/*.parquet"."""

    path: str

    def __post_init__(self) -> None:
        path_text("source.parquet", self.path)

    def describe(self) -> dict[str, Any]:
        return {"parquet": self.path}


@dataclass(frozen=True)
class DuckDBTable:
    """A table or view in a DuckDB file, opened read-only."""

    path: str
    table: str

    def __post_init__(self) -> None:
        path_text("source.duckdb", self.path)
        text("source.table", self.table)

    def describe(self) -> dict[str, Any]:
        return {"duckdb": self.path, "table": self.table}


@dataclass(frozen=True)
class Connection:
    """A table or view, "name" or "schema.name", behind a URL: postgresql://user@host/database,
    duckdb://path, or spark:// for the session of the process. "env:NAME" takes the URL, with its
    password, from the environment."""

    url: str = field(repr=False)  # it may hold a password
    table: str

    def __post_init__(self) -> None:
        if not isinstance(self.url, str) or not self.url:
            kind = type(self.url).__name__
            raise InvalidParameterError("source.connection", kind, "to be the URL of a database")
        if not self.url.startswith(ENVIRONMENT):
            address(self.url)
        else:
            text("source.connection", self.url)
        text("source.table", self.table)

    def describe(self) -> dict[str, Any]:
        # The URL may hold a password: only its scheme is ever written down.
        is_named = self.url.startswith(ENVIRONMENT)
        shown = self.url if is_named else self.url.split(":", 1)[0] + "://…"
        return {"connection": shown, "table": self.table}


ENVIRONMENT = "env:"
ENGINES: Mapping[str, str] = {
    **{"postgres": "postgres", "postgresql": "postgres"},
    **{"duckdb": "duckdb", "spark": "spark", "pyspark": "spark"},
}
# What a URL of PostgreSQL may say after its question mark. Left out on purpose: what names files
# that hold keys and passwords (passfile, service, sslkey), and `options`, which sets what the
# server lets the user set.
POSTGRES_KEYS = (
    *("host", "port", "user", "password", "dbname", "sslmode", "sslrootcert"),
    *("connect_timeout", "application_name", "channel_binding", "target_session_attrs"),
)
_LONGEST_URL = 4000  # characters


@dataclass(frozen=True)
class Address:
    """A URL, taken apart: the engine, and what it is told. Nothing else of the URL reaches it."""

    engine: str
    told: Mapping[str, str] = field(default_factory=dict, repr=False)


def address(url: str) -> Address:
    """The parts of a URL that is allowed, or a PlanError that shows nothing of it.

    It may hold a password.
    """
    if len(url) > _LONGEST_URL or fault(url) or " " in url:
        raise PlanError(
            "The URL of the connection is not one: expected at most "
            f"{_LONGEST_URL} characters, without spaces and unprintable ones."
        )
    parts, port = _taken_apart(url)
    engine = ENGINES.get(parts.scheme)
    if engine is None:
        raise PlanError(
            f"The connection is to {_engine_named(parts.scheme)}: its URL must begin with "
            "postgresql://, duckdb:// or spark://. Other engines are not supported: export the "
            "table, as a Parquet file for instance."
        )
    if engine == "postgres":
        return Address(engine, _postgres(parts, port))
    if parts.query or parts.fragment or "@" in parts.netloc:
        raise PlanError(
            f"A connection to {parts.scheme} takes no options and no user: declare its URL "
            "without them."
        )
    return Address(engine, _local(engine, unquote(parts.netloc + parts.path)))


_OTHERS = (
    "athena bigquery clickhouse databricks datafusion druid exasol flink impala "
    "materialize mssql mysql oracle polars redshift risingwave singlestoredb snowflake sqlite trino"
)


def _engine_named(scheme: str) -> str:
    """The engine by its name where it is one: anything else in a URL may be a password."""
    return scheme if scheme in _OTHERS.split() else "no engine that is known here"


def _taken_apart(url: str) -> tuple[SplitResult, int | None]:
    with suppress(ValueError):
        parts = urlsplit(url)
        return parts, parts.port
    # Not in a handler: Python's error quotes what is no port, and would hang on this one.
    raise PlanError(
        "The URL of the connection is not one: expected postgresql://user@host:port/name."
    )


def _local(engine: str, place: str) -> dict[str, str]:
    if engine == "duckdb":
        if not place or ":" in place:
            raise PlanError("A connection to DuckDB is to a file: declare duckdb://path.")
        return {"path": text("path of the DuckDB file", place)}
    if place:
        raise PlanError(
            "A connection to Spark is to the session of the process: declare spark:// alone."
        )
    return {}


def _postgres(parts: SplitResult, port: int | None) -> dict[str, str]:
    """What libpq is told, by its own names for it; `schema` is ours."""
    database, _, schema = parts.path[1:].partition("/")
    named = {"user": parts.username, "password": parts.password, "host": parts.hostname}
    named |= {"dbname": database, "schema": schema}
    told = {name: unquote(value) for name, value in named.items() if value}
    if port is not None:
        told["port"] = str(port)
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        if name not in POSTGRES_KEYS:
            known = ", ".join(POSTGRES_KEYS)
            raise PlanError(f"The URL of PostgreSQL has an option beyond {known}.")
        if name in told:
            raise PlanError(f"The URL of PostgreSQL says {name} twice.")
        told[name] = value
    if parts.fragment or any(fault(value) for value in told.values()):
        raise PlanError(
            "The URL of PostgreSQL has a # or an unprintable character in it: in a password # is "
            "%23."
        )
    if not re.fullmatch("[0-9]{1,5}", told.get("port", "5432")):
        raise PlanError("The port in the URL of PostgreSQL is not a number: declare host:5432.")
    return told


@dataclass(frozen=True, eq=False)
class Frame:
    """A pandas, polars, pyarrow or Spark table, or an ibis table expression of any engine."""

    frame: Any = field(repr=False)

    def describe(self) -> dict[str, Any]:
        return {"frame": type(self.frame).__module__.split(".")[0]}


Source = CsvFile | ParquetFile | DuckDBTable | Connection | Frame


def text(name: str, value: Any) -> str:
    """`value` as a text that may be a name."""
    return plain_text(name, value, MOST_TEXT)


def path_text(name: str, value: Any) -> str:
    """`value` as the path of a file, which may have any name: it is quoted in errors only."""
    if not isinstance(value, str) or not value or len(value) > MOST_PATH or "\x00" in value:
        raise InvalidParameterError(name, value, f"to be a path of 1 to {MOST_PATH} characters")
    return value


def texts(name: str, value: Any) -> tuple[str, ...]:
    """`value` as different names."""
    if not isinstance(value, (list, tuple)) or not value:
        raise InvalidParameterError(name, value, "to be a list of names")
    names = tuple(text(name, entry) for entry in value)
    if len(set(names)) != len(names):
        raise InvalidParameterError(name, value, "to be different from each other")
    return names
