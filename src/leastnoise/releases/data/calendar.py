"""Days and times of a column, the same on DuckDB, PostgreSQL and Spark.

A day is a date from 0001-01-01 to 9999-12-31; what else an engine may hold (days before, infinite
ones) is missing: to take the year out of them ends a query on one engine and not on another. A time
is what the clocks of the column show; an instant is put to the clocks of its declared zone first.

Text is a day where it has its format and the calendar has such a day. Both are decided by one
pattern before the engine's own parser sees it, which then cannot fail, nor read more than is there.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from leastnoise.errors import PlanError
from leastnoise.releases.data import expressions as sql
from leastnoise.releases.data.table import Table
from leastnoise.releases.plan.reading import FIELDS, Reading

_FIRST, _LAST = date(1, 1, 1), date(9999, 12, 31)
_DIGITS = {"YYYY": "[0-9]{4}", "MM": "[0-9]{2}", "DD": "[0-9]{2}", "hh": "([01][0-9]|2[0-3])"}
_DIGITS |= {"mm": "[0-5][0-9]", "ss": "[0-5][0-9]"}
# Of a text YYYY-MM-DD: the days that are in every year, and the 29th of February.
_COMMON = (
    "^[0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)"
    "|02-(0[1-9]|1[0-9]|2[0-8]))"
)
_LEAP = "^([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29"
_NO_YEAR = "0000"


def day(ibis: Any, table: Table, column: str) -> Any:
    """A column as days; missing where it holds none."""
    found = table.expression[column]
    if found.type().is_date():
        return _within(ibis, found, _FIRST, _LAST)
    if found.type().is_string():
        return _read(ibis, table, column, ("YYYY", "MM", "DD")).cast("date")
    return time(ibis, table, column).cast("date")


def time(ibis: Any, table: Table, column: str) -> Any:
    """A column as days with their hours, minutes and seconds; missing where it holds none."""
    found = table.expression[column]
    kind = found.type()
    if kind.is_string():
        return _read(ibis, table, column, tuple(FIELDS)).cast("timestamp")
    if kind.is_date():
        return day(ibis, table, column).cast("timestamp")
    if kind.timezone is not None:
        found = sql.local_time(ibis, table, found, _zone(_reading(table, column)))
    ends = datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999)
    return _within(ibis, found, *ends)


def weekday(ibis: Any, x: Any) -> Any:
    """Of a day its place in the week, 1 for Monday."""
    return x.day_of_week.index().cast("float64") + sql.constant(ibis, "1")


def days_between(ibis: Any, later: Any, earlier: Any) -> Any:
    """How many days lie between two of them."""
    return later.delta(earlier, unit="day").cast("float64")


def _within(ibis: Any, x: Any, first: Any, last: Any) -> Any:
    inside = (x >= ibis.literal(first)) & (x <= ibis.literal(last))
    return ibis.cases((inside, x), else_=ibis.null(x.type()))


def _reading(table: Table, column: str) -> Reading:
    return table.readings.get(column) or Reading(column, "date")


def _zone(reading: Reading) -> str:
    if reading.zone:
        return reading.zone
    raise PlanError(
        f"The column {reading.column!r} holds instants: declare whose clocks its days are of, "
        f'[columns] {reading.column} = {{ kind = "time", zone = "Europe/Berlin" }}.'
    )


def _read(ibis: Any, table: Table, column: str, fields: tuple[str, ...]) -> Any:
    """A text of the declared format as YYYY-MM-DD hh:mm:ss, as far as the fields go; missing where
    it has another form, or the calendar no such day."""
    reading = _reading(table, column)
    words = sql.words_of(ibis, table, table.expression[column])
    pattern, places = _pattern(reading.format)

    def cut(name: str) -> Any:
        return words.substr(places[name], FIELDS[name]) if name in places else ibis.literal("00")

    plain = cut("YYYY") + "-" + cut("MM") + "-" + cut("DD")
    is_day = (plain.re_search(_COMMON) | plain.re_search(_LEAP)) & (cut("YYYY") != _NO_YEAR)
    # Java lets $ match before a last line break, the others do not.
    fits = words.re_search(pattern) & ~words.contains("\n") & is_day
    if "hh" in fields:
        plain = plain + " " + cut("hh") + ":" + cut("mm") + ":" + cut("ss")
    return ibis.cases((fits, plain), else_=ibis.null("string"))


def _pattern(form: str) -> tuple[str, dict[str, int]]:
    """What a text of a format matches, and where its fields begin."""
    pattern, places, at = "", dict[str, int](), 0
    while at < len(form):
        name = next((name for name in FIELDS if form.startswith(name, at)), form[at])
        if name in FIELDS:
            places[name] = at
        sign = "\\" + name if name in "^\\[]" else f"[{name}]"
        pattern += _DIGITS.get(name, sign)
        at += len(name)
    return f"^{pattern}$", places
