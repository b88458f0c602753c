"""The integers of a plan's blocks: counted in the engine, rehearsed on no rows before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from leastnoise.optional import required as extra
from leastnoise.releases.data.queries import places_of, query
from leastnoise.releases.data.scan import executed
from leastnoise.releases.data.table import Table, withheld
from leastnoise.releases.noise.sensitivity import Answer, Block, is_checks
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.statistic import Values

Counts = dict[tuple[str, ...], tuple[int, ...]]  # group -> one integer for each answer of the block


def rehearse(plan: Plan, table: Table, blocks: Sequence[Block]) -> None:
    """Run every query on no rows: what fails without a row fails now, while it costs nothing."""
    never = extra("ibis", "tables").literal(False)
    nothing = replace(table, expression=table.expression.filter(never))
    for block in blocks:
        aggregate(plan, nothing, block)


def read_through(plan: Plan, table: Table, progress: Callable[[float], None] | None = None) -> None:
    """Read the files of a table once to their end and forget them: what is broken fails now, while
    it costs nothing.

    Whether a CSV file is UTF-8 with as many fields in each line as columns, and whether the pages
    of a Parquet file can be unpacked, is a matter of form. A neighbouring table is a table too, so
    for every table that is one the answer is the same. What is computed by a view is not: no row of
    it is read here.
    """
    if not table.is_files:
        return
    columns = [table.expression[name] for name in plan.columns_read]
    is_lenient = table.engine == "duckdb"
    read = [column for column in columns if is_lenient or _is_plain(column.type())]
    counted = {f"ln_read{i}": column.count() for i, column in enumerate(read)}
    whole = table.expression.aggregate(**(counted or {"ln_read": table.expression.count()}))
    doing = "reading the table's files to their end"
    withheld(doing, lambda: executed(whole, table.engine, progress), table.advice)


def _is_plain(kind: Any) -> bool:
    """Whether Spark can read every value of the type: it refuses some dates of old files."""
    return bool(kind.is_string() or kind.is_integer() or kind.is_floating() or kind.is_boolean())


def aggregate(
    plan: Plan, table: Table, block: Block, progress: Callable[[float], None] | None = None
) -> Counts:
    """The integers of one block for every declared group and all other keys; zeros without rows."""
    found = withheld(
        "counting and summing",
        lambda: executed(query(plan, table, block), table.engine, progress).to_pylist(),
        table.advice,
    )
    return _counts(block, found)


def _counts(block: Block, found: list[dict[str, Any]]) -> Counts:
    empty: dict[str, Any] = {}
    if is_checks(block):
        row = found[0] if found else empty
        return {(): tuple(int(row.get(f"ln_bad{i}") or 0) for i in range(len(block.answers)))}
    places = places_of(block)
    rows = _by_cell(block, found)
    counted: Counts = {}
    for g, group in enumerate(block.cells):
        row = rows.get(group, empty)
        counted[group] = tuple(_answer(answer, row, places) for answer in block.answers_of(g))
    return counted


def _by_cell(block: Block, found: list[dict[str, Any]]) -> dict[tuple[str, ...], dict[str, Any]]:
    """What the engine returned, by the cells of the block; of the rows that are not in a table,
    whatever their keys, the sums."""
    keys = [f"ln_key{i}" for i in range(len(block.group_by))]
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in found:
        if block.marginal is not None and row.get("ln_outside"):
            cell = block.cells[-1]
            beside = int(rows.get(cell, {}).get("ln_rows") or 0)
            rows[cell] = {"ln_rows": beside + int(row["ln_rows"])}
        else:
            rows[tuple(_label(row[key]) for key in keys)] = row
    return rows


def no_rows(block: Block) -> Counts:
    """The integers of a block where the table has no rows."""
    return _counts(block, [])


def _label(key: str | bytes) -> str:
    return key.decode("utf-8") if isinstance(key, bytes) else key


def _answer(answer: Answer, row: dict[str, Any], places: list[Values]) -> int:
    """The integer of an answer from what the engine returned: with j = place above the first, 2k −
    (first + last) = 2j − W."""

    def told(name: str) -> int:
        return int(row.get(name) or 0)

    if answer.measure == "rows":
        return told("ln_rows")
    if answer.measure == "distinct":
        return told("ln_distinct")
    if answer.measure == "persons" or answer.values is None:
        return told("ln_persons")
    i = places.index(answer.values)
    n, total = told(f"ln_n{i}"), told(f"ln_sum{i}")
    if answer.measure == "present":
        return n
    if answer.measure == "sum":
        return total + answer.values.first * n
    w = answer.half_range
    if answer.measure == "centred":
        return 2 * total - w * n
    return 8 * told(f"ln_squares{i}") - 8 * w * total + w * w * n  # 2(2j − W)² − W², summed
