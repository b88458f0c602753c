"""A first plan, written as a commented TOML file that runs and can be changed."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from leastnoise.errors import InvalidParameterError, real_number
from leastnoise.releases.plan.source import (
    Connection,
    CsvFile,
    DuckDBTable,
    ParquetFile,
    Source,
    text,
)

_FINE = 1000.0  # places of the lattice of a column, at least: finer costs nothing


@dataclass(frozen=True)
class BoundedColumn:
    """A sum or mean of a column.

    Attributes:
        kind: "mean" or "sum".
        column: The column.
        lower: Values below count as this.
        upper: Values above count as this.
    """

    kind: str
    column: str
    lower: float
    upper: float

    def __post_init__(self) -> None:
        text("column", self.column)
        lower, upper = real_number("lower", self.lower), real_number("upper", self.upper)
        if not lower < upper:
            expected = f"to be below upper={upper:g}, of {self.column!r}"
            raise InvalidParameterError("lower", lower, expected)

    @property
    def pitch(self) -> float:
        """A power of ten that is fine enough."""
        return float(10.0 ** math.floor(math.log10((self.upper - self.lower) / _FINE)))


@dataclass(frozen=True)
class Draft:
    """What a first plan says.

    Attributes:
        name: What the release is called.
        source: Where the table lies; its path as it is to stand in the plan.
        person: The column that says whose a row is; None where every row is one person.
        rows_per_person: How many rows of a person count.
        groups_per_person: In how many groups.
        relation: "add/remove" or "replace".
        epsilon: The privacy loss allowed.
        groups: Columns to count by, with the keys that count.
        bounded: Sums and means.
    """

    name: str
    source: Source
    person: str | None
    rows_per_person: int = 1
    groups_per_person: int = 1
    relation: str = "add/remove"
    epsilon: float = 1.0
    groups: Sequence[tuple[str, Sequence[str]]] = field(default_factory=tuple)
    bounded: Sequence[BoundedColumn] = field(default_factory=tuple)

    def __post_init__(self) -> None:
        text("name", self.name)
        for word in (word for column, keys in self.groups for word in (column, *keys)):
            text("group_by", word)

    def as_toml(self) -> str:
        """The plan as a TOML file with comments."""
        parts = [_HEAD, _lines(self._declared()), "[source]\n" + _lines(self._source())]
        parts += ["[[statistic]]\n" + _lines(one) for one in self._statistics()]
        return "\n".join(parts)

    def _declared(self) -> Iterator[_Line]:
        yield "name", self.name, ""
        yield "dataset", self.name, "the name of the budget in the ledger"
        yield "epsilon", self.epsilon, "privacy loss; delta is its share of the ledger's"
        yield "relation", self.relation, _RELATIONS[self.relation]
        if self.person is None:
            yield "one_row_per_person", True, ""
            return
        yield "person", self.person, "all rows with the same value are one person"
        yield "rows_per_person", self.rows_per_person, "of each person at most so many count"
        if self.groups:
            yield "groups_per_person", self.groups_per_person, "in at most so many groups"

    def _source(self) -> Iterator[_Line]:
        source = self.source
        if isinstance(source, CsvFile):
            yield "csv", source.path, ""
            if source.columns is not None:
                yield "columns", source.columns, "the file has no header"
            if source.delimiter != ",":
                yield "delimiter", source.delimiter, ""
        elif isinstance(source, ParquetFile):
            yield "parquet", source.path, ""
        elif isinstance(source, DuckDBTable):
            yield from [("duckdb", source.path, ""), ("table", source.table, "")]
        elif isinstance(source, Connection):
            yield from [("connection", source.url, _URL), ("table", source.table, "")]

    def _statistics(self) -> Iterator[list[_Line]]:
        is_known = self.person is None and self.relation == "replace"  # how many rows there are
        if not is_known:
            yield [("kind", "count" if self.person is None else "persons", "")]
        for column, keys in self.groups:
            told = f"rows with another {column} are in none of the groups"
            yield [("kind", "count", ""), (f"group_by.{_written(column)}", tuple(keys), told)]
        for one in self.bounded:
            yield [
                ("kind", one.kind, ""),
                ("column", one.column, ""),
                ("lower", one.lower, "what lies below counts as this: noise grows with the"),
                ("upper", one.upper, "distance of the two"),
                ("pitch", one.pitch, "values are rounded to multiples of it"),
                ("missing", "drop", "rows without a number are left out"),
                *([("# public_n", 1000, _PUBLIC)] if is_known and one.kind == "mean" else []),
            ]


_Line = tuple[str, str | float | tuple[str, ...], str]  # name, value, comment
_HEAD = """\
# What is published, from which table, and who is protected. Decide it without looking at the rows.
# leastnoise check explains this file, leastnoise release --rehearse shows what comes out of it;
# neither reads the table.
"""
_URL = "a variable of the environment that holds the URL"
_PUBLIC = "how many values there are, which is public here"
_RELATIONS = {
    "add/remove": "a person's rows are there, or they are not",
    "replace": "a person is replaced by another: how many there are is public",
}


def _lines(each: Iterable[_Line]) -> str:
    return "".join(
        f"{name} = {_written(value)}{f'    # {comment}' if comment else ''}\n"
        for name, value, comment in each
    )


def _written(value: str | float | tuple[str, ...]) -> str:
    """A value in TOML. A text is written as in JSON, but for the one sign that JSON leaves as it
    is."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value) if isinstance(value, float) else json.dumps(value)
