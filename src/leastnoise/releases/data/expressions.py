"""Columns as ibis expressions that mean the same on DuckDB, PostgreSQL and Spark: numbers, places
on a lattice, labels of keys, and text in the form in which it is compared."""

from __future__ import annotations

from typing import Any

from leastnoise.errors import UnsupportedError
from leastnoise.releases.data.table import Table
from leastnoise.releases.plan.keys import BETWEEN, BLANKS, LARGEST_WHOLE, NUMBER, TRUTHS, Key
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.statistic import Values

_DIGITS = 12  # of a digest in hexadecimal: what DuckDB keeps inside a sort key
_LARGEST_FLOAT = "1.7976931348623157e308"
_AT_THE_ENDS = f"^[{BLANKS}]+|[{BLANKS}]+$"
_IN_THE_ENGINE = "This is computed by the engine."


# Numbers


def number(ibis: Any, table: Table, name: str) -> Any:
    """The column as 64-bit floats; text that is not plainly a number is null."""
    column = table.expression[name]
    kind = column.type()
    if kind.is_boolean():
        one, zero = constant(ibis, "1"), constant(ibis, "0")
        return ibis.cases((column, one), (~column, zero), else_=ibis.null("float64"))
    if not kind.is_string():
        return column.cast("float64")
    words = _words(ibis, table, column)
    ones = [
        (_is_truth(ibis, table, words, label), ibis.literal(one)) for label, one in _ONES.items()
    ]
    readable = ibis.cases((_is_number(words), words), *ones, else_=ibis.null("string"))
    return readable.cast("float64")


_ONES = {"true": "1", "false": "0"}


def unreadable(ibis: Any, table: Table, name: str) -> Any:
    """Whether a value is there and is no number: text, not blank, that `number` does not read."""
    column = table.expression[name]
    if not column.type().is_string():
        return ibis.literal(False)
    words = _words(ibis, table, column)
    blank = ~words.re_search(f"[^{BLANKS}]")
    truth = _is_truth(ibis, table, words, "true") | _is_truth(ibis, table, words, "false")
    return words.notnull() & ~(blank | _is_number(words) | truth)


def beyond(ibis: Any, table: Table, values: Values) -> Any:
    """Whether a value is there and is beyond its bounds."""
    x = number(ibis, table, values.column)
    lower, upper = (constant(ibis, repr(bound)) for bound in (values.lower, values.upper))
    # PostgreSQL and Spark take NaN for the largest of all numbers.
    outside = x.notnull() & ~x.isnan() & ((x < lower) | (x > upper))
    if values.infinite == "missing":
        outside = outside & (x.abs() <= constant(ibis, _LARGEST_FLOAT))
    return outside


def _words(ibis: Any, table: Table, column: Any) -> Any:
    """Text to be searched. With a collation "tRUE" may equal "true", and PostgreSQL searches no
    text of a nondeterministic one."""
    return text(ibis, table, comparable(ibis, table, column))


def _is_number(words: Any) -> Any:
    # Java lets $ match before a last line break, the others do not.
    return words.re_search(NUMBER) & ~words.contains("\n")


def _is_truth(ibis: Any, table: Table, words: Any, label: str) -> Any:
    return _one_of(ibis, table, words, TRUTHS[label])


def _one_of(ibis: Any, table: Table, words: Any, labels: Any) -> Any:
    """Whether a text is one of these, byte by byte."""
    return comparable(ibis, table, words).isin(
        [comparable(ibis, table, ibis.literal(label)) for label in labels]
    )


def constant(ibis: Any, text: str) -> Any:
    """A number that the engine parses itself: engines differ in the type of a bare 0.1."""
    return ibis.literal(text).cast("float64")


def place(ibis: Any, table: Table, values: Values) -> Any:
    """The place of the value above the lower bound's, 0 … W; null where its row is dropped."""
    x = number(ibis, table, values.column)
    endless = x.abs() > constant(ibis, _LARGEST_FLOAT)
    missing = x.isnull() | (endless if values.infinite == "missing" else x.isnan())
    bounds = (values.lower, values.upper, values.pitch)
    lower, upper, pitch = (constant(ibis, repr(bound)) for bound in bounds)
    clipped = ibis.least(ibis.greatest(missing.ifelse(lower, x), lower), upper)
    found = (clipped / pitch + constant(ibis, "0.5")).floor().cast("int64") - values.first
    highest = ibis.literal(values.last - values.first, type="int64")
    clamped = ibis.least(ibis.greatest(found, ibis.literal(0, type="int64")), highest)
    instead = values.substitute
    stand_in = ibis.null("int64")
    if instead is not None:
        stand_in = ibis.literal(instead - values.first, type="int64")
    return missing.ifelse(stand_in, clamped)


# Keys


def key_label(ibis: Any, table: Table, key: Key) -> Any:
    """The label of the row's key as it is compared; null where no declared key matches."""
    if key.within is not None:
        above, own = (key_label(ibis, table, one) for one in (key.within, key.own))
        label = label_within(ibis, table, above, own)
        words = text(ibis, table, label)
        is_declared = _one_of(ibis, table, words, key.labels)
        return comparable(ibis, table, ibis.cases((is_declared, words), else_=ibis.null("string")))
    column = table.expression[key.column]
    kind = column.type()
    if key.edges:
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
    return comparable(ibis, table, ibis.cases(*cases, else_=ibis.null("string")))


def label_within(ibis: Any, table: Table, above: Any, own: Any) -> Any:
    """The label of a key that is within another one; null where either is."""
    words = text(ibis, table, above) + BETWEEN + text(ibis, table, own)
    return comparable(ibis, table, words)


def _bins(ibis: Any, table: Table, key: Key) -> list[tuple[Any, Any]]:
    x = number(ibis, table, key.column)
    edges = [constant(ibis, repr(edge)) for edge in key.edges]
    last = len(edges) - 2
    cases = []
    for i, label in enumerate(key.labels):
        below = x <= edges[i + 1] if i == last else x < edges[i + 1]
        cases.append(((x >= edges[i]) & below, ibis.literal(label)))
    return cases


def _text_cases(ibis: Any, table: Table, key: Key, column: Any) -> list[tuple[Any, Any]]:
    words = _words(ibis, table, column)
    cases = []
    if key.texts:
        label = words if key.match == "exact" else words.re_replace(_AT_THE_ENDS, "")
        capitals, small = key.variants
        if capitals:
            label = label.translate(capitals, small)
        cases.append((_one_of(ibis, table, label, key.texts), label))
    for truth in key.truths:
        cases.append((_is_truth(ibis, table, words, truth), ibis.literal(truth)))
    if key.numbers:
        x = _is_number(words).ifelse(words, ibis.null("string")).cast("float64")
        # Beyond 2^53 floats do not tell whole numbers apart: such a key is the text of its digits.
        digits = {n: label for n, label in key.numbers.items() if _is_large_whole(n)}
        if digits:
            cases.append((_one_of(ibis, table, words, digits.values()), words))
        cases += _number_cases(ibis, {n: key.numbers[n] for n in key.numbers if n not in digits}, x)
    return cases


def _number_cases(ibis: Any, declared: dict[float, str], x: Any) -> list[tuple[Any, Any]]:
    """Whole numbers by their digits, however many are declared; others one by one."""
    whole = [label for n, label in declared.items() if _is_small_whole(n)]
    cases = []
    if whole:
        # The floor is a 64-bit integer; what does not fit, or is none, is made a half first.
        fits = x.abs() <= constant(ibis, str(LARGEST_WHOLE))
        safe = fits.ifelse(x, constant(ibis, "0.5"))
        digits = safe.floor().cast("string")
        cases.append(((safe.floor() == safe) & digits.isin(whole), digits))
    for n, label in declared.items():
        if not _is_small_whole(n):
            cases.append((x == constant(ibis, repr(float(n))), ibis.literal(label)))
    return cases


def _is_small_whole(n: float) -> bool:
    return n == int(n) and abs(n) <= LARGEST_WHOLE


def _is_large_whole(n: float) -> bool:
    return isinstance(n, int) and abs(n) > LARGEST_WHOLE


# Text


def comparable(ibis: Any, table: Table, words: Any) -> Any:
    """Text in the form in which it is compared: its bytes in UTF-8, or itself without collations.

    With a collation that ignores case "P1" and "p1" are one person, with one contribution window
    between them, and "A" and "a" one group under the name of whichever row comes first. Text made
    from the bytes again would not do: DuckDB compares that by the default collation of its
    connection.
    """
    if not table.collations:
        return words
    if table.engine == "duckdb":
        return _builtin(ibis, "encode", (str,), bytes)(words)
    if table.engine == "postgres":
        # text(…) first: an enum has no bytes of its own. Of a CHAR(n) it leaves out the blanks at
        # the end, which all values have.
        plain = _builtin(ibis, "text", (str,), str)(words)
        return _builtin(ibis, "convert_to", (str, str), bytes)(plain, "UTF8")
    return words.cast("binary")


def text(ibis: Any, table: Table, compared: Any) -> Any:
    """The text again, to be hashed or parsed. Numbers and UUIDs as the engine writes them."""
    if not compared.type().is_binary():
        return compared if compared.type().is_string() else compared.cast("string")
    if table.engine == "duckdb":
        return _builtin(ibis, "decode", (bytes,), str)(compared)
    if table.engine == "postgres":
        return _builtin(ibis, "convert_from", (bytes, str), str)(compared, "UTF8")
    return compared.cast("string")


def digest(ibis: Any, words: Any) -> Any:
    """The start of the engine's own digest, in hexadecimal."""
    return _builtin(ibis, "md5", (str,), str)(words).left(_DIGITS)


def salted(ibis: Any, plan: Plan, words: Any) -> Any:
    """What a digest is taken of: after the salt of the plan, which is no part of the words."""
    return ibis.literal(escaped(plan.salt) + "|") + words


def escaped(words: Any) -> Any:
    """A text, or texts in the engine, without the sign that stands between two of them."""
    return words.replace("~", "~0").replace("|", "~1")


def person_column(ibis: Any, plan: Plan, table: Table) -> dict[str, Any]:
    """The person of a row in the form in which it is compared, where persons have a column."""
    if plan.person is None:
        return {}
    person = table.expression[plan.person]
    return {"ln_person": comparable(ibis, table, person) if person.type().is_string() else person}


def _builtin(ibis: Any, name: str, kinds: tuple[type, ...], gives: type) -> Any:
    """A function of the engine's own: of a text or its bytes, and perhaps their encoding."""
    stub = _of_text if len(kinds) == 1 else _of_text_in
    return ibis.udf.scalar.builtin(stub, name=name, signature=(kinds, gives))


def _of_text(text: Any) -> Any:
    raise UnsupportedError(_IN_THE_ENGINE)


def _of_text_in(text: Any, encoding: str) -> Any:
    raise UnsupportedError(_IN_THE_ENGINE)
