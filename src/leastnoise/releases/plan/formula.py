"""Conditions and arithmetic over the columns of one row, as a steward writes them in one line:

    admitted between 2025-01-01 and 2025-03-31 and (ward in ('A', 'B') or not smoker)
    weight / (height * height)
    case when stay_days > 30 then 30 else stay_days end

A line is parsed into a small tree; what is no part of the language is refused, so no text of a plan
ever reaches an engine as a command. A formula sees the row that it is about and nothing else: it
cannot name another row, a table or an aggregate. So whatever it says, what one person can change is
decided by that person's rows, and every contribution bound holds for the rows that a filter keeps
as it does for all of them.

    values      12.5   'text' or "text"   true   false   2025-01-31   2025-01-31 14:30:00
    columns     stay_days; in `backquotes` where the name has other signs
    arithmetic  + - * /   abs(x)   min(x, y, …)   max(x, y, …)   coalesce(x, y, …)
                a day less a day is a number of days
    of a day    year(x)   quarter(x)   month(x)   weekday(x), 1 for Monday
    choice      case when … then … [when … then …] [else …] end
    conditions  = != < <= > >=   in (…)   not in (…)   between … and …   is missing
                is not missing   and   or   not

**What is missing** (null, NaN, an infinite number, text that is not what the column is read as) is
neither equal to anything nor different from it: a comparison with it is unknown, `not` of that too,
`and` and `or` are known only where the other side decides, and a row counts only where its
condition is true. That is SQL's logic, the same on every engine.

**Kinds.** Every part has a kind: number, text, truth, date (a day) or time (day and second). A
column is read as what it is compared with or computed as; where that says nothing it is read as the
plan's [columns] declare it. Comparing kinds that differ is refused here, before any row is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Literal, TypeGuard

from leastnoise.errors import PlanError

Kind = Literal["number", "text", "truth", "date", "time", "any"]
Value = float | str | bool | date | datetime

MOST_SIGNS = 4000  # of one formula
_MOST_IN_A_NAME = 120
_DEEPEST = 40  # parentheses in parentheses
_LARGEST = 1e150  # of a number in a formula: see releases/data/formulas.py

_COMPARED = {"=": "=", "==": "=", "!=": "!=", "<>": "!=", "≠": "!=", "<": "<", "<=": "<="}
_COMPARED |= {"≤": "<=", ">": ">", ">=": ">=", "≥": ">="}
_ORDERED = ("<", "<=", ">", ">=", "between")
_SIGNS = {"+": "+", "-": "-", "−": "-", "*": "*", "×": "*", "/": "/", "÷": "/"}
_WORDS = ("and", "or", "not", "in", "between", "is", "missing", "true", "false")
_CHOICE = ("case", "when", "then", "else", "end")
_OF_A_DAY = ("year", "quarter", "month", "weekday")
_OF_SEVERAL = ("min", "max", "coalesce")
_FUNCTIONS = ("abs", *_OF_A_DAY, *_OF_SEVERAL)


@dataclass(frozen=True)
class Constant:
    """A value that is written in the formula, and its kind, which tells 1 from true."""

    value: Value
    kind: Kind = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", _kind_of_value(self.value))


@dataclass(frozen=True)
class Name:
    """A column of the row, and the kind that it is read as, once that is known."""

    column: str
    kind: Kind | None = None


@dataclass(frozen=True)
class Call:
    """An operator or a function and what it is of. A choice is "case", of condition and value in
    turn, and at its end a value for all others or nothing."""

    operator: str
    parts: tuple[Formula, ...]


Formula = Constant | Name | Call


# Reading


def parsed(text: str, what: str) -> Formula:
    """The tree of a formula; `what` it is, for messages. Kinds are not looked at yet."""
    if not isinstance(text, str) or not text.strip():
        raise PlanError(f'{what} needs a formula in quotes, such as "age >= 18"; it is {text!r}.')
    if len(text) > MOST_SIGNS:
        raise PlanError(f"{what} has {len(text)} signs: at most {MOST_SIGNS} are read.")
    reader = _Reader(text, what)
    tree = reader.either()
    if reader.word() != "":
        raise reader.surprised("and, or, or the end")
    return tree


_TOKEN = re.compile(
    r"""\s*(?:
    (?P<time>\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(?::\d{2})?(?![\w:.]))
    |(?P<date>\d{4}-\d{2}-\d{2}(?![\w-]))
    |(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))
    |(?P<text>'(?:[^']|'')*'|"(?:[^"]|"")*")
    |(?P<column>`(?:[^`]|``)+`)
    |(?P<word>[^\W\d]\w*)
    |(?P<sign><=|>=|==|!=|<>|[-+*/()\[\],=<>≤≥≠−×÷])
    )""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class _Token:
    sort: str
    text: str
    at: int


class _Reader:
    """The parts of a formula one after another, and the grammar, one method a level."""

    def __init__(self, text: str, what: str) -> None:
        self.text, self.what, self.at, self.depth = text, what, 0, 0
        self.tokens = list(self._tokens())

    def _tokens(self) -> Iterator[_Token]:
        at, end = 0, len(self.text.rstrip())
        while at < end:
            found = _TOKEN.match(self.text, at)
            if found is None:
                start = at + len(self.text[at:]) - len(self.text[at:].lstrip())
                raise self._error(
                    f"{self.text[start : start + 12]!r} is no part of a formula", start
                )
            sort = str(found.lastgroup)
            yield _Token(sort, found[sort], found.start(sort))
            at = found.end()
        yield _Token("end", "", end)

    def _error(self, why: str, at: int) -> PlanError:
        return PlanError(
            f"{self.what} cannot be read at sign {at + 1}: {why}. It is {self.text!r}."
        )

    def surprised(self, expected: str) -> PlanError:
        token = self.tokens[self.at]
        found = repr(token.text) if token.text else "the end"
        return self._error(f"{expected} was expected, not {found}", token.at)

    def word(self) -> str:
        """The next part if it is a sign or one of the language's words, in small letters."""
        token = self.tokens[self.at]
        if token.sort == "sign":
            return token.text
        small = token.text.lower()
        return (
            small
            if token.sort == "word" and small in (*_WORDS, *_CHOICE)
            else ""
            if _ends(token)
            else "?"
        )

    def next(self) -> _Token:
        self.at += 1
        return self.tokens[self.at - 1]

    def accept(self, *words: str) -> bool:
        if self.word() not in words:
            return False
        self.at += 1
        return True

    def expect(self, word: str) -> None:
        if not self.accept(word):
            raise self.surprised(repr(word))

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self._error(f"more than {_DEEPEST} levels", self.tokens[self.at].at)

    def either(self) -> Formula:
        self.deeper()
        found = self.both()
        while self.accept("or"):
            found = Call("or", (found, self.both()))
        self.depth -= 1
        return found

    def both(self) -> Formula:
        found = self.inverse()
        while self.accept("and"):
            found = Call("and", (found, self.inverse()))
        return found

    def inverse(self) -> Formula:
        if not self.accept("not"):
            return self.comparison()
        self.deeper()
        found = Call("not", (self.inverse(),))
        self.depth -= 1
        return found

    def comparison(self) -> Formula:
        left = self.sum()
        sign = _COMPARED.get(self.word())
        if sign is not None:
            self.at += 1
            return Call(sign, (left, self.sum()))
        if self.accept("is"):
            negated = self.accept("not")
            self.expect("missing")
            return _unless(negated, Call("missing", (left,)))
        negated = self.accept("not")
        if self.accept("between"):
            low = self.sum()
            self.expect("and")
            return _unless(negated, Call("between", (left, low, self.sum())))
        if self.accept("in"):
            return _unless(negated, Call("in", (left, *self.list())))
        if negated:
            raise self.surprised("'in' or 'between'")
        return left

    def list(self) -> tuple[Formula, ...]:
        close = {"(": ")", "[": "]"}.get(self.word())
        if close is None:
            raise self.surprised("a list such as ('A', 'B')")
        self.at += 1
        parts = [self.sum()]
        while self.accept(","):
            parts.append(self.sum())
        self.expect(close)
        if not all(isinstance(part, Constant) for part in parts):
            raise self.surprised("a list of values, without columns,")
        return tuple(parts)

    def sum(self) -> Formula:
        found = self.product()
        while _SIGNS.get(self.word()) in ("+", "-"):
            sign = _SIGNS[self.next().text]
            found = Call(sign, (found, self.product()))
        return found

    def product(self) -> Formula:
        found = self.signed()
        while _SIGNS.get(self.word()) in ("*", "/"):
            sign = _SIGNS[self.next().text]
            found = Call(sign, (found, self.signed()))
        return found

    def signed(self) -> Formula:
        if _SIGNS.get(self.word()) != "-":
            return self.single()
        self.at += 1
        self.deeper()
        found = self.signed()
        self.depth -= 1
        if isinstance(found, Constant) and _is_number(found.value):
            return Constant(-found.value)
        return Call("-", (Constant(0.0), found))

    def single(self) -> Formula:
        if self.accept("("):
            found = self.either()
            self.expect(")")
            return found
        if self.accept("case"):
            return self.choice()
        if self.word() in ("true", "false"):
            return Constant(self.next().text.lower() == "true")
        token = self.tokens[self.at]
        if token.sort in ("sign", "end") or self.word() in (*_WORDS, *_CHOICE):
            raise self.surprised("a column or a value")
        self.at += 1
        if token.sort == "word" and self.word() == "(":
            return self.function(token)
        if token.sort in ("word", "column"):
            quoted = token.sort == "column"
            return Name(token.text[1:-1].replace("``", "`") if quoted else token.text)
        return Constant(self.value(token))

    def choice(self) -> Formula:
        parts: list[Formula] = []
        self.expect("when")
        while True:
            parts.append(self.either())
            self.expect("then")
            parts.append(self.either())
            if not self.accept("when"):
                break
        if self.accept("else"):
            parts.append(self.either())
        self.expect("end")
        return Call("case", tuple(parts))

    def function(self, token: _Token) -> Formula:
        name = token.text.lower()
        if name not in _FUNCTIONS:
            raise self._error(
                f"there is no function {token.text!r}; there are {', '.join(_FUNCTIONS)}", token.at
            )
        self.expect("(")
        parts = [self.either()]
        while self.accept(","):
            parts.append(self.either())
        self.expect(")")
        if (len(parts) > 1) != (name in _OF_SEVERAL):
            number = "two values or more" if name in _OF_SEVERAL else "one value"
            raise self._error(f"{name} is of {number}", token.at)
        return Call(name, tuple(parts))

    def value(self, token: _Token) -> Value:
        try:
            if token.sort == "time":
                return datetime.fromisoformat(token.text.replace(" ", "T"))
            if token.sort == "date":
                return date.fromisoformat(token.text)
        except ValueError:
            raise self._error(f"there is no day {token.text}", token.at) from None
        if token.sort == "number":
            number = float(token.text)
            if number > _LARGEST:
                raise self._error(f"numbers are at most {_LARGEST:g}", token.at)
            return number
        quote = token.text[0]
        return token.text[1:-1].replace(2 * quote, quote)


def _ends(token: _Token) -> bool:
    return token.sort == "end"


def _unless(negated: bool, found: Formula) -> Formula:
    return Call("not", (found,)) if negated else found


def _is_number(value: Value) -> TypeGuard[float]:
    return isinstance(value, float) and not isinstance(value, bool)


# Writing


def written(formula: Formula) -> str:
    """The one spelling of a formula; `parsed` reads it back."""
    if isinstance(formula, Constant):
        return _written_value(formula.value)
    if isinstance(formula, Name):
        return _written_name(formula.column)
    parts = [written(part) for part in formula.parts]
    if formula.operator in _FUNCTIONS:
        return f"{formula.operator}({', '.join(parts)})"
    return _written_case(parts) if formula.operator == "case" else _written_operator(formula)


def _written_name(column: str) -> str:
    is_word = column.lower() in (*_WORDS, *_CHOICE, *_FUNCTIONS)
    is_plain = re.fullmatch(r"[^\W\d]\w*", column) and not is_word
    return column if is_plain else "`" + column.replace("`", "``") + "`"


def _written_operator(formula: Call) -> str:
    level = _level(formula)
    # A chain is read from the left; comparisons are of sums, and there is no chain of them.
    first, others = (_SUM, _SUM) if level == _COMPARISON else (level, level + 1)
    inside = [_within(part, others if i else first) for i, part in enumerate(formula.parts)]
    written_as = {
        "not": "not {0}",
        "missing": "{0} is missing",
        "between": "{0} between {1} and {2}",
        "in": f"{{0}} in ({', '.join(f'{{{i}}}' for i in range(1, len(inside)))})",
    }
    form = written_as.get(formula.operator, f"{{0}} {formula.operator} {{1}}")
    return form.format(*inside)


_COMPARISON, _SUM = 4, 5
_LEVELS = {"or": 1, "and": 2, "not": 3, "+": _SUM, "-": _SUM, "*": 6, "/": 6}


def _level(formula: Formula) -> int:
    """How strongly a formula holds together."""
    if not isinstance(formula, Call) or formula.operator in (*_FUNCTIONS, "case"):
        return 9
    return _LEVELS.get(formula.operator, _COMPARISON)


def _within(formula: Formula, level: int) -> str:
    """A part of another formula, in parentheses where it would be read otherwise."""
    words = written(formula)
    return words if _level(formula) >= level else f"({words})"


def _written_case(parts: list[str]) -> str:
    pairs = zip(parts[0::2], parts[1::2], strict=False)
    chosen = " ".join(f"when {condition} then {value}" for condition, value in pairs)
    return f"case {chosen}{f' else {parts[-1]}' if len(parts) % 2 else ''} end"


def _written_value(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="seconds")
    if isinstance(value, date):
        return value.isoformat()
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def shortened(words: str) -> str:
    """A text that has room in a name."""
    return words if len(words) <= _MOST_IN_A_NAME else words[: _MOST_IN_A_NAME - 1] + "…"


# Kinds


def columns_of(formula: Formula) -> tuple[str, ...]:
    """The columns that a formula reads, each once."""
    if isinstance(formula, Constant):
        return ()
    if isinstance(formula, Name):
        return (formula.column,)
    return tuple(dict.fromkeys(name for part in formula.parts for name in columns_of(part)))


def names_of(formula: Formula) -> tuple[Name, ...]:
    """The columns of a formula whose kinds are known, each reading once."""
    if isinstance(formula, Name):
        return (formula,)
    parts = formula.parts if isinstance(formula, Call) else ()
    return tuple(dict.fromkeys(name for part in parts for name in names_of(part)))


def typed(formula: Formula, declared: Mapping[str, Kind], what: str) -> tuple[Formula, Kind]:
    """The formula with the kind that each column is read as, and its own kind."""
    checker = _Kinds(declared, what)
    found, kind = checker.of(formula, None)
    return found, kind


def condition(formula: Formula, declared: Mapping[str, Kind], what: str) -> Formula:
    """The same for a formula that has to be true or false."""
    return _Kinds(declared, what).of(formula, "truth")[0]


@dataclass(frozen=True)
class _Kinds:
    declared: Mapping[str, Kind]
    what: str

    def error(self, formula: Formula, why: str) -> PlanError:
        return PlanError(f"{self.what}: {written(formula)!r} {why}.")

    def of(self, formula: Formula, wanted: Kind | None) -> tuple[Formula, Kind]:
        """The formula with its kind, which has to be `wanted` if that is given."""
        found, kind = self._of(formula, wanted)
        if wanted is not None and kind != wanted:
            raise self.error(formula, f"is a {kind} where a {wanted} is needed")
        return found, kind

    def _of(self, formula: Formula, wanted: Kind | None) -> tuple[Formula, Kind]:
        if isinstance(formula, Constant):
            return formula, formula.kind
        if isinstance(formula, Name):
            kind = wanted or self.declared.get(formula.column)
            if kind is None:
                column = formula.column
                raise self.error(
                    formula,
                    "may be a number, a text, a truth value or a day, and nothing here says which: "
                    f'declare it, [columns] {column} = "number"',
                )
            self._check_reading(formula, kind)
            return replace(formula, kind=kind), kind
        return self._of_call(formula, wanted)

    def _check_reading(self, name: Name, kind: Kind) -> None:
        declared = self.declared.get(name.column, kind)
        if kind not in (declared, "any") and {kind, declared} != {"date", "time"}:
            raise self.error(name, f"is declared as {declared} and used as {kind}")

    def _of_call(self, formula: Call, wanted: Kind | None) -> tuple[Formula, Kind]:
        operator, parts = formula.operator, formula.parts
        if operator in ("and", "or", "not"):
            return self._all(formula, "truth"), "truth"
        if operator == "missing":
            return self._missing(formula), "truth"
        if operator in ("in", "between", *_COMPARED.values()):
            return self._comparison(formula), "truth"
        if operator == "-" and self._is_days(parts):
            return self._all(formula, "date"), "number"
        if operator in ("+", "-", "*", "/", "abs", "min", "max"):
            return self._all(formula, "number"), "number"
        if operator in _OF_A_DAY:
            return self._all(formula, "date"), "number"
        if operator == "coalesce":
            kind = wanted or self._shared(formula, parts)
            return self._all(formula, kind), kind
        return self._choice(formula, wanted)

    def _all(self, formula: Call, kind: Kind) -> Call:
        return replace(formula, parts=tuple(self.of(part, kind)[0] for part in formula.parts))

    def _missing(self, formula: Call) -> Call:
        (part,) = formula.parts
        if isinstance(part, Name):
            kind = self.declared.get(part.column, "any")
            return replace(formula, parts=(replace(part, kind=kind),))
        return replace(formula, parts=(self.of(part, None)[0],))

    def _is_days(self, parts: tuple[Formula, ...]) -> bool:
        return any(self._guess(part) in ("date", "time") for part in parts)

    def _guess(self, formula: Formula) -> Kind | None:
        """The kind of a part as far as it shows by itself."""
        if isinstance(formula, Name):
            return self.declared.get(formula.column)
        if isinstance(formula, Call) and formula.operator in ("coalesce", "case"):
            return next(filter(None, map(self._guess, _values_of(formula))), None)
        return self._of(formula, None)[1]

    def _shared(self, formula: Call, parts: tuple[Formula, ...]) -> Kind:
        """The one kind of several parts: a day with a time is compared as a day."""
        kinds = {kind for kind in map(self._guess, parts) if kind is not None}
        if kinds == {"date", "time"}:
            return "date"
        if len(kinds) > 1:
            raise self.error(formula, f"compares a {' with a '.join(sorted(kinds))}")
        if not kinds:
            self._of(parts[0], None)  # says what to declare
            raise self.error(formula, "has parts of no known kind")
        return kinds.pop()

    def _comparison(self, formula: Call) -> Call:
        kind = self._shared(formula, formula.parts)
        if formula.operator in _ORDERED and kind in ("text", "truth"):
            raise self.error(
                formula,
                f"asks which {kind} comes first: only numbers and days have an order; use = or in",
            )
        return replace(
            formula, parts=tuple(self._as(formula, part, kind) for part in formula.parts)
        )

    def _as(self, formula: Call, part: Formula, kind: Kind) -> Formula:
        if isinstance(part, Constant) and isinstance(part.value, datetime) and kind == "date":
            raise self.error(formula, "compares a day with a time: leave the hour out, or declare")
        return self.of(part, kind)[0]

    def _choice(self, formula: Call, wanted: Kind | None) -> tuple[Formula, Kind]:
        kind = wanted or self._shared(formula, _values_of(formula))
        last = len(formula.parts) - 1
        parts = []
        for i, part in enumerate(formula.parts):
            is_condition = i % 2 == 0 and i < last
            parts.append(self.of(part, "truth" if is_condition else kind)[0])
        return replace(formula, parts=tuple(parts)), kind


def _values_of(formula: Call) -> tuple[Formula, ...]:
    """What a choice may give."""
    if formula.operator != "case":
        return formula.parts
    last = formula.parts[-1:] if len(formula.parts) % 2 else ()
    return (*formula.parts[1::2], *last)


def _kind_of_value(value: Value) -> Kind:
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, str):
        return "text"
    if isinstance(value, datetime):
        return "time"
    return "date" if isinstance(value, date) else "number"
