"""`Release`: published statistics, as tables, files and a report."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib import metadata
from os import PathLike
from pathlib import Path
from typing import Any

from leastnoise.files.spreadsheet import csv_text, guarded
from leastnoise.files.writing import write_whole
from leastnoise.optional import required as extra
from leastnoise.releases.estimates.combination import Combination, Named, combined
from leastnoise.releases.record import ReleaseRecord
from leastnoise.releases.report.cautions import beside
from leastnoise.releases.report.guarantee import bounds, guarantee, law
from leastnoise.releases.report.html import card, html_report
from leastnoise.releases.report.registry import registry

_NUMBERS = ("value", "lower", "upper", "noise_std", "half_width_95", "unprocessed")


@dataclass(frozen=True, eq=False, repr=False)
class Release(ReleaseRecord):
    """Published statistics and what they cost. Everything in it may be shown to anyone.

    Attributes:
        plan: What was declared before the data were touched, with the δ that was used.
        rows: The published numbers, one for each group of each statistic, then the checks; each
            with its value, the standard deviation of its noise and its 95 % interval, in the units
            of the statistic.
        mechanism: The noise that was drawn, and the proof of what it costs.
        engine: Where the table was counted: "duckdb", "postgres" or "pyspark".
        entropy: Where the random bits came from; only the operating system guarantees anything.
        published: When, in UTC, to the second, as ISO 8601.
        entry: The number of the ledger's entry; None without a ledger.
        standing: Where the ledger stands after this release; None without a ledger.

    Guarantees: (`epsilon`, `delta`)-differentially private for the unit and relation of the plan,
    with the operating system's `entropy`.

    Example:
        >>> import pyarrow
        >>> from leastnoise import Plan, Statistic, release
        >>> counted = (Statistic("count"),)
        >>> plan = Plan("c", None, "add/remove", counted, 1.0, 1e-6, one_row_per_person=True)
        >>> done = release(plan, table=pyarrow.table({"x": [1, 2, 3]}))
        >>> done.rows[0].statistic, done.epsilon <= 1.0
        ('count', True)
    """

    def combine(self, coefficients: Mapping[Named, float]) -> Combination:
        """A sum, a difference or another linear combination of published numbers, with its error.

        The noise of numbers that are drawn together is correlated, so their errors do not add up
        as those of independent numbers.

        Args:
            coefficients: By the name of a statistic, or a pair of it and a group as it is shown
                ("ward = A").

        Returns:
            The value, from the numbers before post-processing, and its noise.

        Raises:
            PlanError: the release has no such number, or it is a ratio of noisy numbers.
            InvalidParameterError: a coefficient is no number.

        Example:
            >>> import pyarrow
            >>> from leastnoise import Plan, Statistic, release
            >>> asked = (Statistic("count"), Statistic("count", name="again"))
            >>> plan = Plan("c", None, "add/remove", asked, 1.0, 1e-6, one_row_per_person=True)
            >>> done = release(plan, table=pyarrow.table({"x": [1, 2, 3]}))
            >>> done.combine({"count": 1, "again": -1}).noise_std
            0.0
        """
        return combined(self.plan, self.mechanism, self.rows, coefficients)

    def as_dict(self) -> dict[str, Any]:
        """The whole release as plain JSON data."""
        return {
            "format": "leastnoise.release",
            "version": 1,
            "software": f"leastnoise {metadata.version('leastnoise')}",
            "published": self.published,
            "plan_hash": self.plan.hash,
            "result_hash": self.hash,
            "guarantee": guarantee(self),
            "read_first": list(self.cautions),
            "law": law(self),
            "post_processing": list(self.plan.postprocess),
            "entropy": self.entropy,
            "ledger_entry": self.entry,
            "ledger": None if self.standing is None else asdict(self.standing),
            "bounds": bounds(self),
            "statistics": [row.as_dict() for row in self.rows],
            "registry": registry(self),
        }

    def to_pandas(self) -> Any:
        """The numbers as a pandas frame; `attrs` have the guarantee and what to read first.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        frame = extra("pandas", "tables").DataFrame(_records(self))
        frame.attrs.update(_attached(self))
        return frame

    def to_arrow(self) -> Any:
        """The numbers as an Arrow table; the metadata of its schema have the guarantee and what to
        read first.

        Raises:
            MissingExtraError: pyarrow is not installed.
        """
        listed = _records(self)
        made = extra("pyarrow", "tables").Table.from_pylist(listed, schema=_schema(listed[0]))
        return made.replace_schema_metadata(
            {name: json.dumps(told) for name, told in _attached(self).items()}
        )

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """The whole release as JSON: see the schema of `leastnoise.release`.

        Args:
            path: The file to write, whole or not at all; None writes none.

        Returns:
            The text that is written.

        Raises:
            OSError: The file cannot be written.
        """
        return _written(json.dumps(self.as_dict(), indent=1, ensure_ascii=False) + "\n", path)

    def to_csv(self, path: str | PathLike[str] | None = None) -> str:
        """The numbers as CSV; what to read first is in a column before them.

        Args:
            path: The file to write, whole or not at all; None writes none.

        Returns:
            The text that is written.

        Raises:
            OSError: The file cannot be written.
        """
        return _written(csv_text(_cells(self)), path)

    def to_parquet(self, path: str | PathLike[str]) -> None:
        """A Parquet file of the numbers, with the guarantee and what to read first in its metadata.

        Args:
            path: The file to write, whole or not at all.

        Raises:
            MissingExtraError: pyarrow is not installed.
            OSError: The file cannot be written.
        """
        parquet = extra("pyarrow.parquet", "tables")
        content = io.BytesIO()
        parquet.write_table(self.to_arrow(), content)
        write_whole(path, content.getvalue())

    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """The one-page report for the public.

        Args:
            path: The file to write, whole or not at all; None writes none.

        Returns:
            The text that is written.

        Raises:
            OSError: The file cannot be written.
        """
        return _written(html_report(self), path)

    def _repr_html_(self) -> str:
        return card(self)


def _written(text: str, path: str | PathLike[str] | None) -> str:
    if path is not None:
        write_whole(Path(path), text)
    return text


def _schema(record: dict[str, Any]) -> Any:
    arrow = extra("pyarrow", "tables")
    kinds = {name: arrow.float64() if name in _NUMBERS else arrow.string() for name in record}
    return arrow.schema(list(kinds.items()))


def _attached(release: ReleaseRecord) -> dict[str, Any]:
    """What goes with the numbers wherever they are a table."""
    return {"leastnoise": guarantee(release), "read_first": list(release.cautions)}


def _records(release: ReleaseRecord) -> list[dict[str, Any]]:
    """The numbers as flat records, one column a key of a grouping. Empty where a row has none.

    What to know before a number is read stands before it.
    """
    plain = [row.as_dict() for row in release.rows]
    named = _key_columns(release, {*plain[0], "read_first"})
    found = []
    for record, read_first in zip(plain, beside(release.plan, release.rows), strict=True):
        keys = record.pop("keys")
        first = {name: record.pop(name) for name in ("statistic", "kind", "group")}
        by_key = {name: keys.get(column) for column, name in named.items()}
        found.append({**first, **by_key, "read_first": read_first, **record})
    return found


def _key_columns(release: ReleaseRecord, taken: set[str]) -> dict[str, str]:
    """The columns of all groupings, each with a name that no other column of a record has."""
    named: dict[str, str] = {}
    for column in dict.fromkeys(column for row in release.rows for column, _ in row.keys):
        name = column
        while name in taken or name in named.values():
            name += " (key)"
        named[column] = name
    return named


def _cells(release: ReleaseRecord) -> Iterator[list[Any]]:
    """The lines of the CSV file; cells that a spreadsheet would take for a formula are quoted with
    an apostrophe. Numbers that are not private say so in a column of their own."""
    marked = {} if release.is_private else {"entropy": release.entropy}
    lines = [{**record, **marked} for record in _records(release)]
    rows = ([*lines[0]], *([*line.values()] for line in lines))
    return ([guarded(cell) for cell in row] for row in rows)
