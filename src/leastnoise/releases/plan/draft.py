"""A first plan, written as a commented TOML file that runs and can be changed."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
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
_LARGEST_WRITTEN = 1e15  # of whole numbers that are written with all their digits


@dataclass(frozen=True)
class MeasuredColumn:
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
        measured: Sums and means.
    """

    name: str
    source: Source
    person: str | None
    rows_per_person: int = 1
    groups_per_person: int = 1
    relation: str = "add/remove"
    epsilon: float = 1.0
    groups: Sequence[tuple[str, Sequence[str | float | bool]]] = field(default_factory=tuple)
    measured: Sequence[MeasuredColumn] = field(default_factory=tuple)

    def __post_init__(self) -> None:
        text("name", self.name)
        for word in (word for column, keys in self.groups for word in (column, *keys)):
            if isinstance(word, str):
                text("group_by", word)

    def as_toml(self) -> str:
        """The plan as a TOML file with comments."""
        return "\n".join([*self._head(), "", *self._source(), "", *self._statistics()]) + "\n"

    def _head(self) -> Iterator[str]:
        yield from (
            "# What is published, from which table, and who is protected. Decide it without",
            "# looking at the rows. leastnoise check explains this file, leastnoise release",
            "# --rehearse shows what comes out of it; neither reads the table.",
            "",
            f"name = {_quoted(self.name)}",
            f"dataset = {_quoted(self.name)}    # the name of the budget in the ledger",
            f"epsilon = {self.epsilon!r}    # privacy loss; delta is its share of the ledger's",
            f"relation = {_quoted(self.relation)}    # {_RELATIONS[self.relation]}",
        )
        if self.person is None:
            yield "one_row_per_person = true"
            return
        yield f"person = {_quoted(self.person)}    # all rows with the same value are one person"
        yield f"rows_per_person = {self.rows_per_person}    # of each person at most so many count"
        if self.groups:
            yield f"groups_per_person = {self.groups_per_person}    # in at most so many groups"

    def _source(self) -> Iterator[str]:
        yield "[source]"
        source = self.source
        if isinstance(source, CsvFile):
            yield f"csv = {_quoted(source.path)}"
            if source.columns is not None:
                yield f"columns = {_listed(source.columns)}    # the file has no header"
            if source.delimiter != ",":
                yield f"delimiter = {_quoted(source.delimiter)}"
        elif isinstance(source, ParquetFile):
            yield f"parquet = {_quoted(source.path)}"
        elif isinstance(source, DuckDBTable):
            yield from (f"duckdb = {_quoted(source.path)}", f"table = {_quoted(source.table)}")
        elif isinstance(source, Connection):
            yield f"connection = {_quoted(source.url)}    # its URL, in the environment"
            yield f"table = {_quoted(source.table)}"

    def _statistics(self) -> Iterator[str]:
        is_known = self.person is None and self.relation == "replace"  # how many rows there are
        kind = "count" if self.person is None else "persons"
        if not is_known:
            yield from ("[[statistic]]", f"kind = {_quoted(kind)}", "")
        for column, keys in self.groups:
            yield "[[statistic]]"
            yield 'kind = "count"'
            yield f"# rows with another {column} are in none of the groups"
            yield f"group_by = {{ {_quoted(column)} = {_listed(keys)} }}"
            yield ""
        for one in self.measured:
            yield from (
                "[[statistic]]",
                f"kind = {_quoted(one.kind)}",
                f"column = {_quoted(one.column)}",
                f"lower = {_number(one.lower)}    # what lies below counts as this; noise",
                f"upper = {_number(one.upper)}    # grows with the distance of the two",
                f"pitch = {_number(one.pitch)}    # values are rounded to multiples of it",
                'missing = "drop"    # rows without a number are left out',
            )
            if is_known and one.kind == "mean":
                yield "# public_n = 1000    # how many values there are, which is public here"
            yield ""


_RELATIONS = {
    "add/remove": "a person's rows are there, or they are not",
    "replace": "a person is replaced by another: how many there are is public",
}


def _quoted(value: str) -> str:
    """A text in TOML: as in JSON, but for the one sign that JSON leaves as it is."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _number(value: float) -> str:
    """All its digits, without a point where it is whole."""
    is_whole = value == math.floor(value) and abs(value) < _LARGEST_WRITTEN
    return str(int(value)) if is_whole else repr(value)


def _listed(values: Sequence[str | float | bool]) -> str:
    return f"[{', '.join(map(_written, values))}]"


def _written(value: str | float | bool) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return _quoted(value) if isinstance(value, str) else _number(value)
