"""Plans as text: a commented TOML file, and the same as Python. What is written is read again as it
was meant."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time
from typing import Any

from leastnoise.errors import InvalidParameterError

_LARGEST_WRITTEN = 1e15  # of whole numbers that are written with all their digits
_SOURCES = {
    "csv": "CsvFile",
    "parquet": "ParquetFile",
    "duckdb": "DuckDBTable",
    "connection": "Connection",
}
_RELATIONS = {
    "add/remove": "a person's rows are there, or they are not",
    "replace": "a person is replaced by another: how many there are is public",
}
_PREAMBLE = (
    "# What is published, from which table, and who is protected. Decide it without",
    "# looking at the rows. leastnoise check explains this file, leastnoise release",
    "# --rehearse shows what comes out of it; neither reads the table.",
)
_OF_PLANS = {
    "dataset": "the name of the budget in the ledger",
    "epsilon": "privacy loss; delta is its share of the ledger's",
    "person": "all rows with the same value are one person",
    "rows_per_person": "of each person at most so many count",
    "groups_per_person": "in at most so many groups",
}
_OF_SOURCES = {
    "columns": "the file has no header",
    "connection": "its URL, in the environment",
}
_OF_STATISTICS = {
    "lower": "what lies below counts as this; noise",
    "upper": "grows with the distance of the two",
    "pitch": "values are rounded to multiples of it",
    "missing": "rows without a number are left out",
}


def as_toml(document: Mapping[str, Any]) -> str:
    """A plan, in the form of a parsed TOML document, as a TOML file with comments.

    Args:
        document: What `tomllib` makes of a plan: its declarations, [source], [[statistic]], ….

    Returns:
        The text of the file.

    Raises:
        InvalidParameterError: a value is none that TOML has.

    Example:
        >>> print(as_toml({"name": "c", "statistic": [{"kind": "count"}]}).split(chr(10))[4])
        name = "c"
    """
    parts = {name: value for name, value in document.items() if isinstance(value, Mapping)}
    lines = [*_PREAMBLE, "", *_head(document)]
    for name in ("source", *(name for name in parts if name != "source")):
        if name in parts:
            lines += ["", f"[{_key(name)}]", *_table(name, parts[name])]
    for entry in document.get("statistic", []):
        lines += ["", "[[statistic]]", *_statistic(entry, document)]
    return "\n".join(lines) + "\n"


def _head(document: Mapping[str, Any]) -> Iterator[str]:
    said = dict(_OF_PLANS)
    if document.get("delta") is not None:
        said["epsilon"] = "privacy loss"
    for name, value in document.items():
        if isinstance(value, Mapping) or name == "statistic" or value is None:
            continue
        comment = said.get(name)
        if name == "relation" and isinstance(value, str):
            comment = _RELATIONS.get(value)
        is_float = name == "epsilon" and isinstance(value, (int, float))
        text = repr(float(value)) if is_float and math.isfinite(value) else toml_value(value)
        yield _line(name, text, comment)


def _table(name: str, content: Mapping[str, Any]) -> Iterator[str]:
    for key, value in content.items():
        if value is not None:
            comment = _OF_SOURCES.get(key) if name == "source" else None
            yield _line(key, toml_value(value), comment)


def _statistic(entry: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[str]:
    for name, value in entry.items():
        if value is None:
            continue
        if name == "group_by" and isinstance(value, Mapping):
            columns = " or ".join(" ".join(str(column).split()) for column in value)
            yield f"# rows with another {columns} are in none of the groups"
        comment = _OF_STATISTICS.get(name)
        if name == "missing" and value != "drop":
            comment = "rows without a number count as this"
        yield _line(name, toml_value(value), comment)
    is_known = bool(document.get("one_row_per_person")) and document.get("relation") == "replace"
    if is_known and entry.get("kind") == "mean" and "public_n" not in entry:
        yield "# public_n = 1000    # how many values there are, which is public here"


def _line(name: str, text: str, comment: str | None) -> str:
    return f"{_key(name)} = {text}" + (f"    # {comment}" if comment else "")


def _key(name: str) -> str:
    is_bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if is_bare else quoted(name)


def quoted(value: str) -> str:
    """A text in TOML: as in JSON, but for the one sign that JSON leaves as it is."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_value(value: Any) -> str:
    """A value in TOML, on one line.

    Args:
        value: A text, number, truth, day, time, or a list or table of these.

    Returns:
        The value as TOML writes it.

    Raises:
        InvalidParameterError: TOML has no such value.

    Example:
        >>> toml_value({"ward": ["A", 1, True]})
        '{ "ward" = ["A", 1, true] }'
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, (int, float)) and math.isfinite(value):
        return _number(value)
    if isinstance(value, (date, datetime, time)):
        return value.isoformat()
    if isinstance(value, Mapping):
        inner = ", ".join(f"{quoted(str(key))} = {toml_value(one)}" for key, one in value.items())
        return f"{{ {inner} }}"
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return f"[{', '.join(map(toml_value, value))}]"
    raise InvalidParameterError("value", type(value).__name__, "to be one that a plan can hold")


def _number(value: float) -> str:
    """All its digits, without a point where it is whole."""
    is_whole = value == math.floor(value) and abs(value) < _LARGEST_WRITTEN
    return str(int(value)) if is_whole or isinstance(value, int) else repr(value)


def as_python(document: Mapping[str, Any], *, also: Sequence[str] = ()) -> str:
    """The same plan as Python code that makes it.

    Args:
        document: What `tomllib` makes of a plan.
        also: Names of `leastnoise` that are imported beside those of plans.

    Returns:
        Lines of Python; `plan` is the plan.

    Example:
        >>> print(as_python({"name": "c", "statistic": [{"kind": "count"}]}).splitlines()[-1])
        )
    """
    source = document.get("source") or {}
    kind = next((name for name in _SOURCES if name in source), None)
    lines = [f"from leastnoise import {', '.join(sorted(['Plan', 'Statistic', *also]))}"]
    made = "None"
    if kind is not None:
        lines.append(f"from leastnoise.releases.plan.source import {_SOURCES[kind]}")
        rest = {name: value for name, value in source.items() if name != kind}
        made = f"{_SOURCES[kind]}({', '.join([repr(source[kind]), *_arguments(rest)])})"
    head = {name: document[name] for name in document if name not in ("source", "statistic")}
    lines += ["", "plan = Plan(", *(f"    {one}," for one in _arguments(head))]
    lines += [f"    source={made},", "    statistics=("]
    for entry in document.get("statistic", []):
        lines.append(f"        Statistic({', '.join(_arguments(entry))}),")
    return "\n".join([*lines, "    ),", ")"]) + "\n"


def _arguments(content: Mapping[str, Any]) -> list[str]:
    return [f"{name}={value!r}" for name, value in content.items() if value is not None]
