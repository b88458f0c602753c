"""Formulas of a plan as ibis expressions that give the same on DuckDB, PostgreSQL and Spark.

**Numbers** are 64-bit floats. Engines differ where a result is none: PostgreSQL ends the query at a
division by zero, an overflow or an underflow, which would tell of a row; the others go on with
infinities, nulls and zeros. So each operand is made tame first: what is not finite or is beyond
10^150 is missing, what is nearer to zero than 10^-150 is zero, and a division by zero is missing.
Then products and quotients are within 10^±300, where all of them compute alike.

**Days** and times are those of `calendar`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from functools import reduce
from typing import Any

from leastnoise.optional import required as extra
from leastnoise.releases.data import calendar
from leastnoise.releases.data import expressions as sql
from leastnoise.releases.data.table import Table
from leastnoise.releases.plan.formula import (
    Call,
    Constant,
    Formula,
    Name,
    Value,
    condition,
    typed,
)
from leastnoise.releases.plan.keys import BLANKS
from leastnoise.releases.plan.plan import Plan

_LARGEST, _LEAST = "1e150", "1e-150"
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}
_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def counted_rows(plan: Plan, table: Table) -> Any:
    """The rows of a table that a plan counts, with the columns that it computes."""
    ibis = extra("ibis", "tables")
    found = table
    for name, formula in plan.formulas.items():
        known, kind = typed(formula, plan.kinds, f"[derive] {name}")
        column = compiled(ibis, found, known)
        column = sql.text(ibis, found, column) if kind == "text" else column
        found = replace(found, expression=found.expression.mutate(**{name: column}))
    rows = found.expression
    return rows if plan.condition is None else rows.filter(holds(ibis, plan, found, plan.condition))


def holds(ibis: Any, plan: Plan, table: Table, formula: Formula) -> Any:
    """Whether a condition is true of a row, neither false nor unknown."""
    known = condition(formula, plan.kinds, "where")
    return ibis.coalesce(compiled(ibis, table, known), ibis.literal(False))


def compiled(ibis: Any, table: Table, formula: Formula) -> Any:
    """A formula whose kinds are known, as an expression over the rows of a table."""
    return _Compiler(ibis, table).of(formula)


class _Compiler:
    def __init__(self, ibis: Any, table: Table) -> None:
        self.ibis, self.table = ibis, table

    def of(self, formula: Formula) -> Any:
        if isinstance(formula, Constant):
            return self.constant(formula.value)
        if isinstance(formula, Name):
            return self.column(formula)
        return self.call(formula)

    # Values

    def constant(self, value: Value) -> Any:
        if isinstance(value, bool):
            return self.ibis.literal(value)
        if isinstance(value, str):
            return sql.comparable(self.ibis, self.table, self.ibis.literal(value))
        if isinstance(value, date):
            return self.ibis.literal(value)
        return self.number(value)

    def number(self, value: float) -> Any:
        return sql.constant(self.ibis, repr(float(value)))

    def column(self, name: Name) -> Any:
        read = {
            "number": self.numbers,
            "text": self.texts,
            "truth": self.truths,
            "date": self.days,
            "time": self.times,
            "any": self.as_it_is,
        }
        return read[str(name.kind)](name.column)

    def as_it_is(self, column: str) -> Any:
        return self.table.expression[column]

    def numbers(self, column: str) -> Any:
        return self.tame(sql.number(self.ibis, self.table, column))

    def texts(self, column: str) -> Any:
        return sql.comparable(self.ibis, self.table, self.table.expression[column])

    def truths(self, column: str) -> Any:
        found = self.table.expression[column]
        if found.type().is_boolean():
            return found
        x = sql.number(self.ibis, self.table, column)
        one, zero = self.number(1), self.number(0)
        cases = ((x == one, self.ibis.literal(True)), (x == zero, self.ibis.literal(False)))
        return self.ibis.cases(*cases, else_=self.ibis.null("boolean"))

    def tame(self, x: Any) -> Any:
        """A number that no operator below can bring out of range; see the docstring above."""
        missing = self.ibis.null("float64")
        largest, least = (sql.constant(self.ibis, bound) for bound in (_LARGEST, _LEAST))
        # A NaN is not within the bounds, or, to PostgreSQL and Spark, above them.
        cases = ((x.abs() < least, self.number(0)), (x.abs() <= largest, x))
        return self.ibis.cases(*cases, else_=missing)

    def days(self, column: str) -> Any:
        return calendar.day(self.ibis, self.table, column)

    def times(self, column: str) -> Any:
        return calendar.time(self.ibis, self.table, column)

    # Operators

    def call(self, formula: Call) -> Any:
        name, parts = formula.operator, formula.parts
        if name == "case":
            return self.choice([self.of(part) for part in parts])
        if name == "missing":
            return self.missing(parts[0])
        found = [self.of(part) for part in parts]
        if name in _COMPARED:
            return _COMPARED[name](*found)
        if name == "-" and found[0].type().is_date():
            return calendar.days_between(self.ibis, *found)
        if name in _ARITHMETIC:
            return self.tame(_ARITHMETIC[name](*found))
        simple: dict[str, Callable[..., Any]] = {
            "and": operator.and_,
            "or": operator.or_,
            "not": operator.invert,
            "in": lambda x, *listed: x.isin(listed),
            "between": lambda x, low, high: (x >= low) & (x <= high),
            "/": self.quotient,
            "abs": lambda x: x.abs(),
            "min": lambda *all_: self.extreme(self.ibis.least, all_),
            "max": lambda *all_: self.extreme(self.ibis.greatest, all_),
            "coalesce": self.ibis.coalesce,
            "weekday": lambda x: calendar.weekday(self.ibis, x),
            "year": lambda x: x.year().cast("float64"),
            "quarter": lambda x: x.quarter().cast("float64"),
            "month": lambda x: x.month().cast("float64"),
        }
        return simple[name](*found)

    def quotient(self, x: Any, y: Any) -> Any:
        divisor = (y == self.number(0)).ifelse(self.ibis.null("float64"), y)
        return self.tame(x / divisor)

    def extreme(self, which: Any, found: Any) -> Any:
        """The least or the greatest; missing where one is, which engines leave out differently."""
        known = reduce(operator.and_, [x.notnull() for x in found])
        return known.ifelse(which(*found), self.ibis.null("float64"))

    def choice(self, found: list[Any]) -> Any:
        pairs = list(zip(found[0::2], found[1::2], strict=False))
        if len(found) % 2:
            return self.ibis.cases(*pairs, else_=found[-1])
        return self.ibis.cases(*pairs)

    def missing(self, part: Formula) -> Any:
        found = self.of(part)
        if not (isinstance(part, Name) and part.kind in ("any", "text")):
            return found.isnull()
        column = self.table.expression[part.column]
        if column.type().is_string():
            words = sql.text(self.ibis, self.table, self.texts(part.column))
            return column.isnull() | ~words.re_search(f"[^{BLANKS}]")
        return column.isnull() | column.isnan() if column.type().is_floating() else column.isnull()
