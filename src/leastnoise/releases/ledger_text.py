"""A ledger as text: tables, CSV, JSON."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from leastnoise.digits import above, below
from leastnoise.releases import chain
from leastnoise.releases.books import Dataset, Entry, Unit
from leastnoise.storage import spreadsheet_text


def as_table(datasets: Sequence[Dataset], entries: Sequence[Entry]) -> str:
    """Budgets and releases for a terminal."""
    if not datasets:
        return "No data set has a budget yet.\n"
    head = [
        "data set",
        "rule",
        "delta",
        "epsilon",
        "spent",
        "left",
        "if laws fixed",
        "simple sum",
        "releases",
    ]
    text = _table(head, [_dataset_row(dataset) for dataset in datasets])
    text += "".join(
        f"{dataset.name} protects: {protects(dataset.unit)}\n"
        for dataset in datasets
        if dataset.unit != Unit()
    )
    if entries:
        head = [
            "id",
            "time (UTC)",
            "data set",
            "draws",
            "spent",
            "if laws fixed",
            "simple sum",
            "plan",
            "law",
            "state",
        ]
        text += "\n" + _table(head, [_entry_row(entry) for entry in entries])
    closed = (
        "\nleft: closed where less than a thousandth of the budget could be released."
        if any(one.closed for one in datasets)
        else ""
    )
    return text + (
        "\nspent: the epsilon that the budget limits, by the rule of the data set. Adaptive: it holds at the moment you stop, also"
        "\n  where the answers made you stop. Fixed in advance: it holds for a number of releases that was fixed in advance too."
        f"{closed}"
        "\nif laws fixed: tight composition, a guarantee only if all laws, and the last release, were fixed before any answer was"
        "\n  seen. After one release: if it is the last."
        "\nsimple sum: what the releases cost one by one, each at delta."
        "\nreleases: made, of those that share delta. More may follow as long as something is left.\n"
    )


def protects(unit: Unit) -> str:
    """What releases protect, in one line."""
    person = unit.person + (f" ({unit.person_is})" if unit.person_is else "")
    return ", ".join(filter(None, (person, unit.relation)))


def as_json(
    head: str, datasets: Sequence[Dataset], entries: Sequence[Entry], laws: Mapping[str, Any]
) -> str:
    """Everything, laws included."""
    content = {
        "format": f"{chain.FORMAT}.export",
        "version": chain.VERSION,
        "head": head,
        "datasets": [{**asdict(dataset), "remaining": dataset.remaining} for dataset in datasets],
        "entries": [asdict(entry) for entry in entries],
        "laws": dict(laws),
    }
    return json.dumps(_plain(content), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _short(value: float | None) -> str:
    return "-" if value is None else above(value, 5)


def _entry_row(entry: Entry) -> list[str]:
    return [
        str(entry.id),
        entry.time.removesuffix("+00:00"),
        entry.dataset,
        str(sum(draws.uses for draws in entry.draws)),
        _short(entry.epsilon_after),
        _short(entry.epsilon_if_fixed),
        _short(entry.simple_sum),
        entry.plan_hash[:12],
        entry.law_hash[:12],
        ("spent" if entry.result_hash is None else "revealed")
        + (f", {entry.stamp}" if entry.stamp else ""),
    ]


def _table(head: list[str], rows: list[list[str]]) -> str:
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    lines = [head, ["-" * width for width in widths], *rows]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        + "\n"
        for line in lines
    )


def _plain(value: Any) -> Any:
    """JSON has no infinity: it becomes text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def as_csv(entries: Sequence[Entry]) -> str:
    """The releases, one a line."""
    names = [
        "id",
        "dataset",
        "time",
        "plan_hash",
        "law_hash",
        "draws",
        "epsilon_after",
        "epsilon_if_fixed",
        "simple_sum",
    ]
    names += ["note", "stamp", "result_hash", "previous_hash", "hash"]
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    writer.writerow(names)
    for entry in entries:
        row = {**asdict(entry), "draws": sum(draws.uses for draws in entry.draws)}
        writer.writerow([_cell(row[name]) for name in names])
    return output.getvalue()


def _cell(value: Any) -> Any:
    """Text that a spreadsheet would run as a formula is marked as text."""
    return spreadsheet_text(value) if isinstance(value, str) else value


def _dataset_row(dataset: Dataset) -> list[str]:
    left = "closed" if dataset.closed else below(dataset.remaining, 5)
    spent = [
        below(dataset.epsilon, 5),
        _short(dataset.spent),
        left,
        _short(dataset.epsilon_if_fixed),
        _short(dataset.simple_sum),
    ]
    return [
        dataset.name,
        dataset.rule,
        above(dataset.delta, 6),
        *spent,
        f"{dataset.releases} of {dataset.planned}",
    ]
