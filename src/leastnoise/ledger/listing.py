"""A ledger as text: tables, HTML, CSV, JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from html import escape
from typing import Any

from leastnoise.accountant.attacker import guesses
from leastnoise.changes import BOX, Changes
from leastnoise.files.infinity import infinity_as_text
from leastnoise.files.spreadsheet import csv_text, guarded
from leastnoise.ledger.advantage import left_of
from leastnoise.ledger.event_log import FORMAT, VERSION
from leastnoise.ledger.records import Dataset, LedgerEntry, Unit
from leastnoise.text.html import MOST_ROWS, gauge_svg, table
from leastnoise.text.numbers import above, below

_BUDGETS = (
    *("data set", "rule", "delta", "epsilon", "spent", "left", "if laws fixed", "simple sum"),
    "releases",
)
_RELEASES = (
    *("id", "time (UTC)", "data set", "draws", "spent", "if laws fixed", "simple sum", "plan"),
    *("law", "state"),
)
_CSV = (
    *("id", "dataset", "time", "plan_hash", "law_hash", "draws"),
    *("epsilon_after", "epsilon_if_fixed", "simple_sum", "advantage_after"),
    *("note", "stamp", "result_hash", "previous_hash", "hash"),
)
_LEGEND = """
spent: the epsilon that the budget limits, by the rule of the data set. Adaptive: it holds at the \
moment you stop, also
  where the answers made you stop. Fixed in advance: it holds for a number of releases that was \
fixed in advance too.{closed}
if laws fixed: tight composition, a guarantee only if all laws, and the last release, were fixed \
before any answer was
  seen. After one release: if it is the last.
simple sum: what the releases cost one by one, each at delta.
releases: made, of those that share delta. More may follow as long as something is left.
"""
_CLOSED = "\nleft: closed where less than a thousandth of the budget could be released."


def as_table(datasets: Sequence[Dataset], entries: Sequence[LedgerEntry]) -> str:
    """Budgets and releases for a terminal."""
    if not datasets:
        return "No data set has a budget yet.\n"
    text = _table(_BUDGETS, [_dataset_row(dataset) for dataset in datasets])
    for dataset in datasets:
        if dataset.unit != Unit():
            text += f"{dataset.name} protects: {protects(dataset.unit)}\n"
        if dataset.advantage is not None:
            text += f"{dataset.name} is capped: {cap_in_words(dataset)}\n"
    if entries:
        text += "\n" + _table(_RELEASES, [_entry_row(entry) for entry in entries])
    any_closed = any(dataset.closed for dataset in datasets)
    return text + _LEGEND.format(closed=_CLOSED if any_closed else "")


def cap_in_words(dataset: Dataset) -> str:
    """How much of a cap on the attacker's advantage is used, in one line; "" without one."""
    if dataset.advantage is None or dataset.advantage_used is None:
        return ""
    used, cap = dataset.advantage_used, dataset.advantage
    rest = "nothing" if dataset.closed else below(left_of(used, cap), 3)
    return (
        f"the attacker's advantage is {above(used)} of {below(cap, 6)}, {rest} left for one more "
        f"release (right guesses from even odds: at most {guesses(used)} of {guesses(cap)})"
    )


def protects(unit: Unit) -> str:
    """What releases protect, in one line."""
    person = unit.person + (f" ({unit.person_is})" if unit.person_is else "")
    return ", ".join(filter(None, (person, unit.relation)))


def as_html(datasets: Sequence[Dataset], entries: Sequence[LedgerEntry]) -> str:
    """For notebooks: each data set's budget and what is spent of it, then the latest releases."""
    if not datasets:
        return "<p>No data set has a budget yet.</p>"
    rows = []
    for one in datasets:
        numbers = (above(one.delta, 6), above(one.spent), below(one.epsilon))
        drawn = gauge_svg(one.spent / one.epsilon)
        rows.append((escape(one.name), escape(one.rule), *numbers, drawn, str(one.releases)))
    budgets = table(("data set", "rule", "δ", "ε spent", "of ε", "", "releases"), rows)
    for one in datasets:
        if one.advantage is not None:
            budgets += f"<p>{escape(one.name)} is capped: {escape(cap_in_words(one))}</p>"
    latest = []
    for entry in entries[-MOST_ROWS:]:
        named = (str(entry.id), escape(entry.time), escape(entry.dataset))
        note = escape(" ".join(filter(None, (entry.note, entry.stamp))))
        latest.append((*named, above(entry.epsilon_after), _state(entry), note))
    releases = table(("release", "time", "data set", "ε after it", "state", "note"), latest)
    return budgets + (releases if entries else "")


def _state(entry: LedgerEntry) -> str:
    if entry.answered is not None:
        return f"series, {entry.answered} answers used"
    return "spent" if entry.result_hash is None else "revealed"


def as_json(
    head: str, datasets: Sequence[Dataset], entries: Sequence[LedgerEntry], laws: Mapping[str, Any]
) -> str:
    """Everything, laws included."""
    content = {
        "format": f"{FORMAT}.export",
        "version": VERSION,
        "head": head,
        "datasets": [{**asdict(dataset), "remaining": dataset.remaining} for dataset in datasets],
        "entries": [entry_as_json(entry) for entry in entries],
        "laws": dict(laws),
    }
    plain = infinity_as_text(content)
    return json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def entry_as_json(entry: LedgerEntry) -> dict[str, Any]:
    """A release as plain data; what one person can change with the kind of the space."""
    draws = [{**vars(item), "changes": item.changes.describe()} for item in entry.draws]
    return {**asdict(entry), "draws": draws}


def _short(value: float | None) -> str:
    return "-" if value is None else above(value, 5)


def _entry_row(entry: LedgerEntry) -> list[str]:
    time = entry.time.removesuffix("+00:00")
    costs = (entry.epsilon_after, entry.epsilon_if_fixed, entry.simple_sum)
    hashes = (entry.plan_hash[:12], entry.law_hash[:12])
    state = ", ".join(filter(None, (_state(entry), entry.stamp, _changes(entry))))
    draws = str(_drawn(entry))
    return [str(entry.id), time, entry.dataset, draws, *map(_short, costs), *hashes, state]


def _changes(entry: LedgerEntry) -> str:
    """The kinds of changes that a release is for, where that is not the whole box."""
    kinds = {_kind(item.changes): None for item in entry.draws if item.changes != BOX}
    return " and ".join(kinds)


def _kind(changes: Changes) -> str:
    """A space in a few words: "one-sided changes of at most 5 answers"."""
    touched = getattr(changes, "touched", None)
    few = "" if touched is None else f" of at most {touched} answer{'s' if touched > 1 else ''}"
    return f"changes{few}" if changes.kind == "box" else f"{changes.kind} changes{few}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    text = ""
    for line in (head, ["-" * width for width in widths], *rows):
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        text += "  ".join(cells).rstrip() + "\n"
    return text


def as_csv(entries: Sequence[LedgerEntry]) -> str:
    """The releases, one a line."""
    rows = [{**asdict(entry), "draws": _drawn(entry)} for entry in entries]
    return csv_text([_CSV, *([guarded(row[name]) for name in _CSV] for row in rows)])


def _drawn(entry: LedgerEntry) -> int:
    return sum(draws.uses for draws in entry.draws)


def _dataset_row(dataset: Dataset) -> list[str]:
    allowed = (dataset.name, dataset.rule, above(dataset.delta, 6), below(dataset.epsilon, 5))
    left = "closed" if dataset.closed else below(dataset.remaining, 5)
    beside = (_short(dataset.epsilon_if_fixed), _short(dataset.simple_sum))
    made = f"{dataset.releases} of {dataset.planned}"
    return [*allowed, _short(dataset.spent), left, *beside, made]
