"""The plan as the page's form: fields that most plans need, and lines of TOML for the rest.

A form is a table of texts, numbers and truths. What it cannot show of a plan it keeps as lines of
TOML (`more`), so that a plan that goes in comes out as it was. The kinds of statistics and what
each must declare come from the plan's own module.
"""

from __future__ import annotations

import csv
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

from leastnoise.errors import LeastNoiseError, PlanError
from leastnoise.files.reading import finite
from leastnoise.releases.plan.draft import usual_pitch
from leastnoise.releases.plan.keys import number_of_text, truth_of_text
from leastnoise.releases.plan.statistic import KINDS, RATIOS, Statistic
from leastnoise.releases.plan.written import toml_value

MOST_COLUMNS, MOST_STATISTICS = 2_000, 100
_HEAD = ("name", "dataset", "epsilon", "delta", "relation", "where")
_WHOSE = ("person", "one_row_per_person", "rows_per_person", "groups_per_person")
_PLAIN = ("kind", "column", "lower", "upper", "expected_n", "where")
_WORDS = {
    "count": "number of rows",
    "persons": "number of persons",
    "sum": "sum of a column",
    "mean": "mean of a column",
    "variance": "variance of a column",
    "histogram": "rows by groups",
    "distinct": "number of distinct values",
    "quantile": "quantiles of a column",
}


def kinds() -> list[dict[str, Any]]:
    """The kinds of statistics: whether each is of a column, and of numbers within bounds."""
    return [
        {
            "kind": kind,
            "words": _WORDS.get(kind, kind),
            "has_column": _takes_column(kind),
            "has_bounds": _takes_bounds(kind),
            "is_ratio": kind in RATIOS,
        }
        for kind in KINDS
    ]


def _takes_column(kind: str) -> bool:
    """Whether a statistic of the kind is refused without a column."""
    try:
        Statistic(kind, group_by={"x": ["a"]})  # type: ignore[arg-type]  # as it is declared
    except LeastNoiseError as error:
        return "column" in str(error)
    return False


def _takes_bounds(kind: str) -> bool:
    """Whether a statistic of the kind is of numbers between a least and a largest."""
    declared: dict[str, Any] = {"lower": 0.0, "upper": 1.0, "pitch": 0.5, "missing": "drop"}
    try:
        Statistic(kind, column="x", **declared)  # type: ignore[arg-type]  # as it is declared
    except LeastNoiseError:
        return False
    return True


# From the form to the plan


def document_from(form: Mapping[str, Any]) -> dict[str, Any]:
    """The plan in the form of a parsed TOML document.

    Raises:
        PlanError: a field cannot be read; the message names it.
    """
    found: dict[str, Any] = {}
    for name in _HEAD:
        value = _read(name, form.get(name))
        if value is not None:
            found[name] = value
    found |= _whose(form)
    source, statistics = form.get("source"), _rows(form.get("statistics"))
    more = _lines("the plan", form.get("more"))
    groups = any(_rows(one.get("groups")) for one in statistics)
    if not groups:
        found.pop("groups_per_person", None)
    return {
        **found,
        **more,
        **({"source": source} if isinstance(source, Mapping) else {}),
        "statistic": [_statistic(one, _kinds_of(form)) for one in statistics],
    }


def _whose(form: Mapping[str, Any]) -> dict[str, Any]:
    if form.get("person") is None:
        return {"one_row_per_person": True}
    found: dict[str, Any] = {"person": str(form["person"])}
    for name in ("rows_per_person", "groups_per_person"):
        value = _read(name, form.get(name))
        if value is not None:
            found[name] = value
    return found


def _statistic(row: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, Any]:
    kind = str(row.get("kind", ""))
    found: dict[str, Any] = {"kind": kind, **_of_column(kind, row)}
    groups = {str(one.get("column", "")): _keys(one, columns) for one in _rows(row.get("groups"))}
    if groups:
        found["group_by"] = groups
    where = _read("where", row.get("where"))
    return found | ({} if where is None else {"where": where}) | _lines(kind, row.get("more"))


def _of_column(kind: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """The column that a statistic is of, and its bounds."""
    if not (_takes_column(kind) or row.get("column")):
        return {}
    names = ["column", *(["lower", "upper"] if _takes_bounds(kind) else [])]
    names += ["expected_n"] if kind in RATIOS else []
    read = {name: _read(name, row.get(name)) for name in names}
    found = {name: value for name, value in read.items() if value is not None}
    expected = {"expected_n": found.pop("expected_n")} if "expected_n" in found else {}
    return found | _usual(found.get("lower"), found.get("upper")) | expected


def _usual(lower: Any, upper: Any) -> dict[str, Any]:
    """What is declared of a column within these bounds where nothing else is said."""
    if not (isinstance(lower, (int, float)) and isinstance(upper, (int, float)) and lower < upper):
        return {}
    return {"pitch": usual_pitch(lower, upper), "missing": "drop"}


def _keys(row: Mapping[str, Any], columns: Mapping[str, str]) -> list[Any]:
    column = str(row.get("column", ""))
    words = next(csv.reader([str(row.get("keys", ""))], skipinitialspace=True), [])
    found = [word.strip() for word in words if word.strip()]
    if not found:
        raise PlanError(
            f"The groups by {column!r} have no keys: write them with commas between them, such as "
            "north, south. They are public: write down those that there may be, without looking."
        )
    return [_key(word, columns.get(column, "text"), column) for word in found]


def _key(word: str, kind: str, column: str) -> Any:
    """A key as the column holds it: only a number is found among numbers."""
    if kind == "number":
        number = number_of_text(word)
        if number is None:
            raise PlanError(f"The key {word!r} of {column!r} is no number, as the column has.")
        return int(number) if number == math.floor(number) else number
    if kind == "truth":
        truth = truth_of_text(word)
        if truth is None:
            raise PlanError(f"The key {word!r} of {column!r} is not true or false.")
        return truth == "true"
    return word


_NUMBERS = (
    "epsilon",
    "delta",
    "lower",
    "upper",
    "expected_n",
    "rows_per_person",
    "groups_per_person",
)


def _read(name: str, value: Any) -> Any:
    """A field; None where it is empty."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if name not in _NUMBERS:
        return str(value).strip() if name == "where" else str(value)
    try:
        number = float(str(value).strip())
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise PlanError(f"{name} is {str(value)[:40]!r}, which is no number.")
    is_whole = number == math.floor(number) and name not in ("epsilon", "delta")
    return int(number) if is_whole and abs(number) < 2**53 else number


def _lines(what: str, text: Any) -> dict[str, Any]:
    """Lines of TOML."""
    if not isinstance(text, str) or not text.strip():
        return {}
    try:
        return tomllib.loads(text, parse_float=finite)
    except (ValueError, RecursionError) as error:
        raise PlanError(f"The further lines of {what} are not TOML: {error}.") from None


def _rows(value: Any) -> list[Mapping[str, Any]]:
    rows = value if isinstance(value, list) else []
    return [row for row in rows if isinstance(row, Mapping)][:MOST_STATISTICS]


def _kinds_of(form: Mapping[str, Any]) -> dict[str, str]:
    """Each column of the table and what it holds, as the browser read it."""
    return {
        str(one["name"]): str(one.get("kind", "text"))
        for one in _rows_of_columns(form.get("columns"))
        if "name" in one
    }


def _rows_of_columns(value: Any) -> list[Mapping[str, Any]]:
    rows = value if isinstance(value, list) else []
    return [row for row in rows if isinstance(row, Mapping)][:MOST_COLUMNS]


# From the plan to the form


def form_from(document: Mapping[str, Any]) -> dict[str, Any]:
    """The form that shows a plan; what it has no field for stands in `more`."""
    known = {*_HEAD, *_WHOSE, "source", "statistic"}
    source, statistics = document.get("source"), _rows(document.get("statistic"))
    return {
        **{name: _shown(document.get(name)) for name in _HEAD},
        "person": None if document.get("person") is None else str(document["person"]),
        "rows_per_person": _shown(document.get("rows_per_person")),
        "groups_per_person": _shown(document.get("groups_per_person")),
        "source": source if isinstance(source, Mapping) else None,
        "columns": _named_columns(document, statistics),
        "more": _rest(document, known),
        "statistics": [_row(entry) for entry in statistics],
    }


def _named_columns(
    document: Mapping[str, Any], statistics: Sequence[Mapping[str, Any]]
) -> list[dict[str, str]]:
    """The columns that a plan names, with what it says of each."""
    source = document.get("source")
    declared = source.get("columns") if isinstance(source, Mapping) else None
    named: list[tuple[Any, str]] = [(name, "text") for name in declared or []]
    for entry in statistics:
        groups = _simple_groups(entry.get("group_by"))
        named += [(entry.get("column"), "number")]
        named += [(column, _kind_of_keys(keys)) for column, keys in groups.items()]
    named.append((document.get("person"), "text"))
    found = {name: kind for name, kind in named if isinstance(name, str)}
    return [{"name": name, "kind": kind} for name, kind in found.items()]


def _row(entry: Mapping[str, Any]) -> dict[str, Any]:
    groups = _simple_groups(entry.get("group_by"))
    known = {*_PLAIN, *(["group_by"] if groups else [])}
    usual = _usual(entry.get("lower"), entry.get("upper"))
    known |= {name for name, value in usual.items() if entry.get(name) == value}
    return {
        **{name: _shown(entry.get(name)) for name in _PLAIN},
        "groups": [{"column": name, "keys": _joined(keys)} for name, keys in groups.items()],
        "more": _rest(entry, known),
    }


def _simple_groups(declared: Any) -> dict[str, list[Any]]:
    """The groups where every column has a list of keys of one kind; {} where a field cannot show
    them."""
    if not isinstance(declared, Mapping):
        return {}
    for keys in declared.values():
        if not isinstance(keys, list) or _kind_of_keys(keys) == "mixed":
            return {}
    return dict(declared)


def _kind_of_keys(keys: Sequence[Any]) -> str:
    if all(isinstance(key, bool) for key in keys):
        return "truth"
    if all(isinstance(key, (int, float)) and not isinstance(key, bool) for key in keys):
        return "number"
    is_plain = all(isinstance(key, str) and key == key.strip() and key for key in keys)
    return "text" if is_plain else "mixed"


def _joined(keys: Sequence[Any]) -> str:
    """Keys with commas between them, in quotes where one has a comma or quotes."""
    words = [toml_value(key) if not isinstance(key, str) else key for key in keys]
    return ", ".join(
        '"' + word.replace('"', '""') + '"' if "," in word or '"' in word else word
        for word in words
    )


def _rest(content: Mapping[str, Any], known: set[str]) -> str:
    lines = [
        f"{name} = {toml_value(value)}" for name, value in content.items() if name not in known
    ]
    return "\n".join(lines)


def _shown(value: Any) -> Any:
    return "" if value is None else toml_value(value) if isinstance(value, (int, float)) else value


def declarations() -> list[str]:
    """What a statistic may declare beyond the fields of the form."""
    optional = [one.name for one in fields(Statistic) if one.default is not MISSING]
    return [name for name in optional if name not in (*_PLAIN, "group_by")]
