"""The labels of keys as ibis expressions that mean the same on DuckDB, PostgreSQL and Spark."""

from __future__ import annotations

from typing import Any

from leastnoise.releases.data import calendar
from leastnoise.releases.data import expressions as sql
from leastnoise.releases.data.table import Table
from leastnoise.releases.plan.keys import BETWEEN, BLANKS, LARGEST_WHOLE, Key

_AT_THE_ENDS = f"^[{BLANKS}]+|[{BLANKS}]+$"


def key_label(ibis: Any, table: Table, key: Key) -> Any:
    """The label of the row's key as it is compared; null where no declared key matches."""
    if key.within is not None:
        above, own = (key_label(ibis, table, one) for one in (key.within, key.own))
        words = sql.text(ibis, table, label_within(ibis, table, above, own))
        is_declared = sql.one_of(ibis, table, words, key.labels)
        declared = ibis.cases((is_declared, words), else_=ibis.null("string"))
        return sql.comparable(ibis, table, declared)
    column = table.expression[key.column]
    kind = column.type()
    if key.discover:
        return sql.comparable(ibis, table, _any_label(ibis, table, key, column))
    if key.is_binned:
        cases = _bins(ibis, table, key)
    elif kind.is_string():
        cases = _text_cases(ibis, table, key, column)
    elif kind.is_integer():
        written = column.cast("string")
        cases = [(written.isin(list(key.labels)), written)]
    elif kind.is_boolean():
        truths = {label: ibis.literal(label in ("true", "1")) for label in key.labels}
        cases = [(column == truth, ibis.literal(label)) for label, truth in truths.items()]
    else:
        cases = _number_cases(ibis, key.numbers, column.cast("float64"))
    return sql.comparable(ibis, table, ibis.cases(*cases, else_=ibis.null("string")))


def _any_label(ibis: Any, table: Table, key: Key, column: Any) -> Any:
    """The label of a key that need not be declared; null where it is missing or, once the keys are
    found, none of those."""
    if column.type().is_string():
        words = _spelt(sql.words_of(ibis, table, column), key)
    else:
        words = column.cast("string")
    if key.discover == "wanted":
        return words
    if not key.labels:
        return ibis.null("string")
    is_found = sql.one_of(ibis, table, words, key.labels)
    return ibis.cases((is_found, words), else_=ibis.null("string"))


def _spelt(words: Any, key: Key) -> Any:
    """A text in the one spelling of all that match it."""
    label = words if key.match == "exact" else words.re_replace(_AT_THE_ENDS, "")
    capitals, small = key.variants
    return label.translate(capitals, small) if capitals else label


def label_within(ibis: Any, table: Table, above: Any, own: Any) -> Any:
    """The label of a key that is within another one; null where either is."""
    words = sql.text(ibis, table, above) + BETWEEN + sql.text(ibis, table, own)
    return sql.comparable(ibis, table, words)


def _bins(ibis: Any, table: Table, key: Key) -> list[tuple[Any, Any]]:
    if key.by == "weekday":
        weekday = calendar.weekday(ibis, calendar.day(ibis, table, key.column))
        numbered = enumerate(key.labels, start=1)
        return [(weekday == sql.constant(ibis, str(n)), ibis.literal(day)) for n, day in numbered]
    of_days = key.is_of_days
    if of_days:
        x, edges = calendar.day(ibis, table, key.column), [ibis.literal(day) for day in key.edges]
    else:
        x = sql.number(ibis, table, key.column)
        edges = [sql.constant(ibis, repr(edge)) for edge in key.edges]
    last = len(edges) - 2
    cases = []
    for i, label in enumerate(key.labels):
        below = x <= edges[i + 1] if i == last and not of_days else x < edges[i + 1]
        cases.append(((x >= edges[i]) & below, ibis.literal(label)))
    return cases


def _text_cases(ibis: Any, table: Table, key: Key, column: Any) -> list[tuple[Any, Any]]:
    words = sql.words_of(ibis, table, column)
    cases = []
    if key.texts:
        label = _spelt(words, key)
        cases.append((sql.one_of(ibis, table, label, key.texts), label))
    for truth in key.truths:
        cases.append((sql.is_truth(ibis, table, words, truth), ibis.literal(truth)))
    if key.numbers:
        x = sql.is_number(words).ifelse(words, ibis.null("string")).cast("float64")
        # Beyond 2^53 floats do not tell whole numbers apart: such a key is the text of its digits.
        digits = {n: label for n, label in key.numbers.items() if _is_large_whole(n)}
        if digits:
            cases.append((sql.one_of(ibis, table, words, digits.values()), words))
        cases += _number_cases(ibis, {n: key.numbers[n] for n in key.numbers if n not in digits}, x)
    return cases


def _number_cases(ibis: Any, declared: dict[float, str], x: Any) -> list[tuple[Any, Any]]:
    """Whole numbers by their digits, however many are declared; others one by one."""
    whole = [label for n, label in declared.items() if _is_small_whole(n)]
    cases = []
    if whole:
        # The floor is a 64-bit integer; what does not fit, or is none, is made a half first.
        fits = x.abs() <= sql.constant(ibis, str(LARGEST_WHOLE))
        safe = fits.ifelse(x, sql.constant(ibis, "0.5"))
        digits = safe.floor().cast("string")
        cases.append(((safe.floor() == safe) & digits.isin(whole), digits))
    for n, label in declared.items():
        if not _is_small_whole(n):
            cases.append((x == sql.constant(ibis, repr(float(n))), ibis.literal(label)))
    return cases


def _is_small_whole(n: float) -> bool:
    return n == int(n) and abs(n) <= LARGEST_WHOLE


def _is_large_whole(n: float) -> bool:
    return isinstance(n, int) and abs(n) > LARGEST_WHOLE
