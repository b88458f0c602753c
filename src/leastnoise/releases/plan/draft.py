"""A first plan, written as a commented TOML file that runs and can be changed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from leastnoise.errors import InvalidParameterError, real_number
from leastnoise.releases.plan.source import (
    Connection,
    CsvFile,
    DuckDBTable,
    ParquetFile,
    Source,
    text,
)
from leastnoise.releases.plan.written import as_toml

_FINE = 1000.0  # places of the lattice of a column, at least: finer costs nothing


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
        return usual_pitch(self.lower, self.upper)


def usual_pitch(lower: float, upper: float) -> float:
    """A power of ten that is fine enough for values between these bounds."""
    return float(10.0 ** math.floor(math.log10((upper - lower) / _FINE)))


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
        return as_toml(self.document())

    def document(self) -> dict[str, Any]:
        """The plan in the form of a parsed TOML document."""
        whose: dict[str, Any] = {"one_row_per_person": True}
        if self.person is not None:
            whose = {"person": self.person, "rows_per_person": self.rows_per_person}
            whose |= {"groups_per_person": self.groups_per_person} if self.groups else {}
        return {
            "name": self.name,
            "dataset": self.name,
            "epsilon": self.epsilon,
            "relation": self.relation,
            **whose,
            "source": self._source(),
            "statistic": list(self._statistics()),
        }

    def _source(self) -> dict[str, Any]:
        source = self.source
        if isinstance(source, CsvFile):
            is_usual = source.delimiter == ","
            return {
                "csv": source.path,
                **({} if source.columns is None else {"columns": list(source.columns)}),
                **({} if is_usual else {"delimiter": source.delimiter}),
            }
        if isinstance(source, ParquetFile):
            return {"parquet": source.path}
        if isinstance(source, DuckDBTable):
            return {"duckdb": source.path, "table": source.table}
        if isinstance(source, Connection):
            return {"connection": source.url, "table": source.table}
        raise InvalidParameterError("source", type(source).__name__, "to be a file or a database")

    def _statistics(self) -> Iterator[dict[str, Any]]:
        is_known = self.person is None and self.relation == "replace"  # how many rows there are
        if not is_known:
            yield {"kind": "count" if self.person is None else "persons"}
        for column, keys in self.groups:
            yield {"kind": "count", "group_by": {column: list(keys)}}
        for one in self.measured:
            yield {
                "kind": one.kind,
                "column": one.column,
                "lower": one.lower,
                "upper": one.upper,
                "pitch": one.pitch,
                "missing": "drop",
            }
