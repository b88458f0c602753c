"""The columns of public lookup tables as ibis expressions: no join, but the values of each key, so
that no row becomes two, and the same on every engine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from leastnoise.errors import PlanError
from leastnoise.optional import required as extra
from leastnoise.releases.data import expressions as sql
from leastnoise.releases.data.columns import check_new
from leastnoise.releases.data.labels import key_label
from leastnoise.releases.data.table import Table
from leastnoise.releases.plan.lookup import Lookup, Public
from leastnoise.releases.plan.plan import Plan

_TYPES = {"number": "float64", "text": "string", "truth": "boolean"}


def types_with_lookups(plan: Plan, types: dict[str, Any]) -> dict[str, Any]:
    """The types of the columns of a table, those that are looked up among them."""
    ibis = extra("ibis", "tables")
    found = dict(types)
    for lookup in plan.lookups:
        if lookup.on in types:
            kind = types[lookup.on]
            if not (kind.is_string() or kind.is_integer()):
                raise PlanError(
                    f"The lookup on {lookup.on!r} needs a column of text or whole numbers: it is "
                    f"of type {kind}."
                )
            lookup.key(are_texts=bool(kind.is_string()))
        for name, kind in lookup.kinds.items():
            check_new(f"The lookup column {name!r}", name, list(found))
            found[name] = ibis.dtype(_TYPES[kind])
    return found


def with_lookups(plan: Plan, table: Table) -> Table:
    """The table with the columns that are looked up."""
    ibis = extra("ibis", "tables")
    for number, lookup in enumerate(plan.lookups):
        is_text = table.expression[lookup.on].type().is_string()
        key = lookup.key(are_texts=bool(is_text))
        label = sql.text(ibis, table, key_label(ibis, table, key))
        named = f"ln_lookup{number}"
        rows = table.expression.mutate(**{named: label})
        columns = {
            name: _column(ibis, table, rows[named], lookup, name, key.labels)
            for name in lookup.columns
        }
        table = replace(table, expression=rows.mutate(**columns).drop(named))
    return table


def _column(
    ibis: Any, table: Table, label: Any, lookup: Lookup, name: str, labels: tuple[str, ...]
) -> Any:
    """What is known of a row's key, the keys of one value together; null where there is none."""
    alike: dict[Public, list[str]] = {}
    for word, value in zip(labels, lookup.columns[name], strict=True):
        if value is not None:
            alike.setdefault(value, []).append(word)
    nothing = ibis.null(_TYPES[lookup.kinds[name]])
    cases = [
        (sql.one_of(ibis, table, label, words), _constant(ibis, value))
        for value, words in alike.items()
    ]
    return ibis.cases(*cases, else_=nothing) if cases else nothing


def _constant(ibis: Any, value: Public) -> Any:
    is_number = isinstance(value, float) and not isinstance(value, bool)
    return sql.constant(ibis, repr(value)) if is_number else ibis.literal(value)
