"""Where a table lies. Nothing is opened here: that is `table`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from leastnoise.errors import InvalidParameterError

MOST_TEXT = 1000  # characters of a name


@dataclass(frozen=True)
class CsvFile:
    """A CSV file. Every column is read as text, so that no type is guessed from private values; numbers are parsed where a
    statistic needs them. Without `columns` the first line holds their names; with `columns` the file has no header."""

    path: str
    columns: tuple[str, ...] | None = None
    delimiter: str = ","

    def __post_init__(self) -> None:
        text("source.csv", self.path)
        if self.columns is not None:
            object.__setattr__(self, "columns", texts("source.columns", self.columns))
        if not isinstance(self.delimiter, str) or len(self.delimiter) != 1 or self.delimiter in '"\r\n':
            raise InvalidParameterError("source.delimiter", self.delimiter, "to be one character, such as ',' or ';'")

    def describe(self) -> dict[str, Any]:
        named = None if self.columns is None else list(self.columns)
        return {"csv": self.path, "columns": named, "delimiter": self.delimiter}


@dataclass(frozen=True)
class ParquetFile:
    """A Parquet file, or a pattern such as "visits/*.parquet"."""

    path: str

    def __post_init__(self) -> None:
        text("source.parquet", self.path)

    def describe(self) -> dict[str, Any]:
        return {"parquet": self.path}


@dataclass(frozen=True)
class DuckDBTable:
    """A table or view in a DuckDB file, opened read-only."""

    path: str
    table: str

    def __post_init__(self) -> None:
        text("source.duckdb", self.path)
        text("source.table", self.table)

    def describe(self) -> dict[str, Any]:
        return {"duckdb": self.path, "table": self.table}


@dataclass(frozen=True)
class Connection:
    """A table behind any engine ibis connects to by URL. "env:NAME" takes the URL, with its password, from the environment."""

    url: str
    table: str

    def __post_init__(self) -> None:
        text("source.connection", self.url)
        text("source.table", self.table)

    def describe(self) -> dict[str, Any]:
        # The URL may hold a password: only its scheme is ever written down.
        shown = self.url if self.url.startswith("env:") else self.url.split(":", 1)[0] + "://…"
        return {"connection": shown, "table": self.table}


@dataclass(frozen=True, eq=False)
class Frame:
    """A pandas, polars or pyarrow table, or an ibis table expression of any engine."""

    frame: Any = field(repr=False)

    def describe(self) -> dict[str, Any]:
        return {"frame": type(self.frame).__module__.split(".")[0]}


Source = CsvFile | ParquetFile | DuckDBTable | Connection | Frame


def text(name: str, value: Any) -> str:
    """`value` as a text that may be a name."""
    if not isinstance(value, str) or not value or len(value) > MOST_TEXT or "\x00" in value:
        raise InvalidParameterError(name, value, f"to be a text of 1 to {MOST_TEXT} characters")
    return value


def texts(name: str, value: Any) -> tuple[str, ...]:
    """`value` as different names."""
    if not isinstance(value, (list, tuple)) or not value:
        raise InvalidParameterError(name, value, "to be a list of names")
    names = tuple(text(name, entry) for entry in value)
    if len(set(names)) != len(names):
        raise InvalidParameterError(name, value, "to be different from each other")
    return names
