"""Days and times of a column as numbers that are the same on DuckDB, PostgreSQL and Spark.

A day is the number of days since 1970-01-01, by the calendar's own arithmetic from year, month and
day, which every engine takes out of a date alike. A time is a number of whole seconds since that
midnight, as the clocks of the column show them; an instant is put to the clocks of its declared
zone first. Text is cut at the places of its format; no engine's own parser is asked.
"""

from __future__ import annotations

import operator
from functools import reduce
from typing import Any

from leastnoise.errors import PlanError
from leastnoise.releases.data import expressions as sql
from leastnoise.releases.data.table import Table
from leastnoise.releases.plan.reading import FIELDS, Reading

_SECONDS = {"hh": 3600, "mm": 60, "ss": 1}
_MOST = {"hh": 23, "mm": 59, "ss": 59}


def day(ibis: Any, table: Table, column: str) -> Any:
    """A column as days since 1970-01-01; missing where it holds none."""
    return _day(ibis, _fields(ibis, table, column))


def second(ibis: Any, table: Table, column: str) -> Any:
    """A column as seconds since the beginning of 1970-01-01; missing where it holds no time."""
    fields = _fields(ibis, table, column)
    found = _day(ibis, fields) * _n(ibis, 86400)
    for name, seconds in _SECONDS.items():
        if name in fields:
            found = found + fields[name] * _n(ibis, seconds)
    return found


def weekday(ibis: Any, x: Any) -> Any:
    """Of a day its place in the week, 1 for Monday."""
    shifted = x + _n(ibis, 3)  # 1970-01-01 was a Thursday
    return shifted - _n(ibis, 7) * _whole(ibis, shifted, 7) + _n(ibis, 1)


def of_a_day(ibis: Any, what: str, x: Any) -> Any:
    """The year, quarter or month of a day: the arithmetic of `_day` backwards, over the 146,097
    days of four centuries."""

    def n(value: int) -> Any:
        return _n(ibis, value)

    z = x + n(719468)
    era = _whole(ibis, z, 146097)
    of_era = z - n(146097) * era
    leap_days = _whole(ibis, of_era, 1460) - _whole(ibis, of_era, 36524)
    years = _whole(ibis, of_era - leap_days - _whole(ibis, of_era, 146096), 365)
    before = n(365) * years + _whole(ibis, years, 4) - _whole(ibis, years, 100)
    from_march = _whole(ibis, n(5) * (of_era - before) + n(2), 153)
    month = (from_march < n(10)).ifelse(from_march + n(3), from_march - n(9))
    if what == "month":
        return month
    if what == "quarter":
        return _whole(ibis, month + n(2), 3)
    year = years + n(400) * era
    return (month <= n(2)).ifelse(year + n(1), year)


def _n(ibis: Any, value: int) -> Any:
    return sql.constant(ibis, str(value))


def _whole(ibis: Any, x: Any, divisor: int) -> Any:
    """⌊x/divisor⌋, exact: whole numbers of at most seven digits."""
    return (x / _n(ibis, divisor)).floor().cast("float64")


def _fields(ibis: Any, table: Table, column: str) -> dict[str, Any]:
    """Year, month and day, and hour, minute and second where there are any, as floats."""
    found = table.expression[column]
    kind = found.type()
    reading = table.readings.get(column) or Reading(column, "date")
    if kind.is_string():
        return _cut(ibis, sql.words_of(ibis, table, found), reading)
    if kind.is_timestamp() and kind.timezone is not None:
        found = sql.local_time(ibis, table, found, _zone(reading))
    taken = {"YYYY": found.year(), "MM": found.month(), "DD": found.day()}
    if kind.is_timestamp():
        taken |= {"hh": found.hour(), "mm": found.minute(), "ss": found.second()}
    return {name: part.cast("float64") for name, part in taken.items()}


def _zone(reading: Reading) -> str:
    if reading.zone:
        return reading.zone
    raise PlanError(
        f"The column {reading.column!r} holds instants: declare whose clocks its days are of, "
        f'[columns] {reading.column} = {{ kind = "time", zone = "Europe/Berlin" }}.'
    )


def _cut(ibis: Any, words: Any, reading: Reading) -> dict[str, Any]:
    """The fields of a text that is written as its format says; missing where it is not."""
    pattern, at = "", 0
    places: dict[str, int] = {}
    while at < len(reading.format):
        rest = reading.format[at:]
        name = next((name for name in FIELDS if rest.startswith(name)), rest[0])
        if name in FIELDS:
            places[name] = at
            pattern += f"[0-9]{{{FIELDS[name]}}}"
        else:
            pattern += "\\" + name if name in "^\\[]" else f"[{name}]"
        at += len(name)
    # Java lets $ match before a last line break, the others do not.
    fits = words.re_search(f"^{pattern}$") & ~words.contains("\n")
    safe = fits.ifelse(words, ibis.null("string"))
    return {name: safe.substr(at, FIELDS[name]).cast("float64") for name, at in places.items()}


def _day(ibis: Any, fields: dict[str, Any]) -> Any:
    """Days since 1970-01-01 of the Gregorian calendar, counted from the first of March so that the
    day that is there every fourth year comes last; missing where there is no such day."""

    def n(value: int) -> Any:
        return _n(ibis, value)

    year, month, of_month = (fields[name] for name in ("YYYY", "MM", "DD"))
    early = month <= n(2)
    y = early.ifelse(year - n(1), year)
    m = early.ifelse(month + n(9), month - n(3))
    leap_days = _whole(ibis, y, 4) - _whole(ibis, y, 100) + _whole(ibis, y, 400)
    of_year = _whole(ibis, m * n(153) + n(2), 5) + of_month - n(1)
    found = y * n(365) + leap_days + of_year - n(719468)
    return _is_day(ibis, fields).ifelse(found, ibis.null("float64"))


def _is_day(ibis: Any, fields: dict[str, Any]) -> Any:
    def n(value: int) -> Any:
        return _n(ibis, value)

    year, month, of_month = (fields[name] for name in ("YYYY", "MM", "DD"))
    fourth, century, four_centuries = (
        year == n(every) * _whole(ibis, year, every) for every in (4, 100, 400)
    )
    is_leap = fourth & (~century | four_centuries)
    short = (month == n(4)) | (month == n(6)) | (month == n(9)) | (month == n(11))
    february = is_leap.ifelse(n(29), n(28))
    last = ibis.cases((month == n(2), february), (short, n(30)), else_=n(31))
    found = [year >= n(1), month >= n(1), month <= n(12), of_month >= n(1), of_month <= last]
    found += [fields[name] <= n(most) for name, most in _MOST.items() if name in fields]
    return reduce(operator.and_, found)
