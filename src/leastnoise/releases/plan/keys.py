"""Declared keys of a grouping, and which row has which key. The same rule on every engine.

    text        the same text, byte by byte; match = "trim": blanks at its ends do not count;
                match = "casefold": neither do they nor does case, letter by letter
    number      a number that is the same: in a column of text 1 is also 1.0, 01 and 1e0
    truth       a truth value; in a column of text true, True and TRUE are the same

A key has a *label*, the one spelling that stands for all texts that match it. A row has at most one
label: two declared keys that could match the same text are refused. A row whose key is not
declared, or missing, or of two columns one of the two, belongs to the one group of *all other keys*
of its grouping. Persons are bounded by labels, after matching, so however coarse the matching is, a
person counts in no more groups than declared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from typing import Any, Literal

from leastnoise.errors import InvalidParameterError, PlanError, one_of, plain_text, real_number
from leastnoise.releases.plan.source import MOST_TEXT, text

# Thirty digits and a two-digit exponent: whatever matches is a finite number on every engine.
NUMBER = r"^[ ]*[+-]?([0-9]{1,30}([.][0-9]{0,30})?|[.][0-9]{1,30})([eE][+-]?[0-9]{1,2})?[ ]*$"
TRUTHS = {"true": ("true", "True", "TRUE"), "false": ("false", "False", "FALSE")}
BLANKS = " \t\r\n\u00a0"
LARGEST_WHOLE = 2**53 - 1  # of the whole numbers that 64-bit floats tell apart
OTHER = "all other keys"  # how that group is shown

Match = Literal["exact", "trim", "casefold"]
MATCHES = ("exact", "trim", "casefold")


@dataclass(frozen=True)
class Key:
    """One column to group by: its declared keys, or, for a histogram of numbers, the edges of bins.

    Bin i holds edges[i] ≤ x < edges[i+1]; the last bin holds its upper edge too. Where the keys are
    `complete`, a row with another key counts in no statistic of the plan.
    """

    column: str
    values: tuple[str | float | bool, ...] = ()
    edges: tuple[float, ...] = ()
    match: Match = "exact"
    complete: bool = False

    def __post_init__(self) -> None:
        text("group_by column", self.column)
        one_of("match", self.match, MATCHES)
        if not isinstance(self.complete, bool):
            raise InvalidParameterError("complete", self.complete, "to be true or false")
        if bool(self.values) == bool(self.edges):
            raise PlanError(
                f"Grouping by {self.column!r} needs its keys: declare the list of values that "
                "count, or edges of bins."
            )
        if self.edges:
            self._check_edges()
        else:
            self._check_values()

    def _check_edges(self) -> None:
        edges = tuple(real_number("edges", edge) for edge in self.edges)
        if len(edges) < 2 or any(a >= b for a, b in pairwise(edges)):
            raise InvalidParameterError("edges", self.edges, "to be at least two rising numbers")
        object.__setattr__(self, "edges", edges)
        if self.match != "exact":
            raise PlanError(f"Bins of {self.column!r} are numbers: leave match out.")

    def _check_values(self) -> None:
        name = f"key of {self.column!r}"
        for value in self.values:
            if isinstance(value, str):
                plain_text(name, value, MOST_TEXT, empty=True)
            elif isinstance(value, float):
                real_number(name, value)
            elif not isinstance(value, int) or abs(value) >= 10**MOST_TEXT:
                raise InvalidParameterError(name, value, "to be a text, a number or a truth value")
        if self.match != "exact" and not self.texts:
            raise PlanError(
                f"match = {self.match!r} is for text: {self.column!r} has no key that is."
            )
        if len(set(self.labels)) != len(self.values):
            raise InvalidParameterError(
                f"keys of {self.column!r}", list(self.values), "to be different from each other"
            )
        for word in self.texts:
            if number_of_text(word) in self.numbers or truth_of_text(word) in self.truths:
                raise PlanError(
                    f"The keys of {self.column!r} are ambiguous: the text {word!r} is also one of "
                    "its numbers or truth values. Declare one of the two."
                )

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The one spelling of each key; for bins their numbers."""
        if self.edges:
            return tuple(str(i) for i in range(len(self.edges) - 1))
        return tuple(self._label(value) for value in self.values)

    def _label(self, value: str | float | bool) -> str:
        if isinstance(value, str):
            return folded(value, self.match)
        if isinstance(value, bool):
            return str(value).lower()
        return str(int(value)) if value == int(value) else repr(float(value))

    @property
    def titles(self) -> tuple[str, ...]:
        """The keys as they are shown."""
        if not self.edges:
            pairs = zip(self.values, self.labels, strict=True)
            return tuple(value if isinstance(value, str) else label for value, label in pairs)
        last = len(self.edges) - 2
        bins = enumerate(pairwise(self.edges))
        return tuple(f"[{a:g}, {b:g}{']' if i == last else ')'}" for i, (a, b) in bins)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Labels of the keys that are text."""
        return tuple(self._label(value) for value in self.values if isinstance(value, str))

    @property
    def variants(self) -> tuple[str, str]:
        """What `translate` needs to take a row's text to its label, where case does not count."""
        if self.match != "casefold":
            return "", ""
        return case_variants([value for value in self.values if isinstance(value, str)])

    @cached_property
    def truths(self) -> tuple[str, ...]:
        """Labels of the keys that are truth values."""
        return tuple(self._label(value) for value in self.values if isinstance(value, bool))

    @cached_property
    def numbers(self) -> dict[float, str]:
        """The keys that are numbers, with their labels."""
        return {
            value: self._label(value) for value in self.values if not isinstance(value, (str, bool))
        }

    @property
    def other(self) -> str:
        """A label that no declared key has, for the group of all other keys."""
        label = "other"
        while label in self.labels:
            label += "'"
        return label

    def describe(self) -> dict[str, Any]:
        values, edges = list(self.values), list(self.edges)
        plain = {"column": self.column, "values": values, "edges": edges, "match": self.match}
        # So a plan keeps the hash that it had before there was such a declaration.
        return {**plain, "complete": True} if self.complete else plain


def groups(group_by: Sequence[Key]) -> list[tuple[str, ...]]:
    """Every declared group, as the labels of its keys; ungrouped, the one group without keys."""
    return list(product(*(key.labels for key in group_by)))


def group_titles(group_by: Sequence[Key]) -> list[str]:
    """The same groups as they are shown."""
    titles = [[f"{key.column} = {title}" for title in key.titles] for key in group_by]
    return [", ".join(parts) for parts in product(*titles)]


def group_keys(group_by: Sequence[Key]) -> list[tuple[tuple[str, str], ...]]:
    """The same groups, each as its columns with their keys as they are shown."""
    return list(product(*([(key.column, title) for title in key.titles] for key in group_by)))


def keys_of(group_by: Any, kind: str) -> tuple[Key, ...]:
    """Keys as they are, or from {column: values}, {column: {"values": […], "match": …}} and
    {column: {"edges": […]}}."""
    if isinstance(group_by, tuple) and all(isinstance(key, Key) for key in group_by):
        return group_by
    if not isinstance(group_by, Mapping):
        raise InvalidParameterError(
            "group_by", group_by, f"of a {kind} to be a table of columns and their declared keys"
        )
    return tuple(_key_of(column, declared) for column, declared in group_by.items())


def _key_of(column: str, declared: Any) -> Key:
    if isinstance(declared, (list, tuple)):
        return Key(column, values=tuple(declared))
    if not isinstance(declared, Mapping):
        raise PlanError(
            f"Grouping by {column!r} needs its keys: declare the list of values that count."
        )
    listed = declared.get("edges" if "edges" in declared else "values")
    known = ({"edges"}, {"values"}, {"values", "match"})
    if set(declared) - {"complete"} not in known or not isinstance(listed, (list, tuple)):
        raise PlanError(
            f"Grouping by {column!r} needs a list of keys, {{values = [keys], match = …}} or "
            f"{{edges = [rising numbers]}}; either may be complete = true."
        )
    complete = declared.get("complete", False)
    if "edges" in declared:
        return Key(column, edges=tuple(listed), complete=complete)
    match = declared.get("match", "exact")
    return Key(column, values=tuple(listed), match=match, complete=complete)


# Text


def number_of_text(word: str) -> float | None:
    """The number that a text plainly is; None if it is none."""
    return float(word) if re.search(NUMBER, word) and "\n" not in word else None


def truth_of_text(word: str) -> str | None:
    """The label of the truth value that a text is; None if it is none."""
    return next((label for label, words in TRUTHS.items() if word in words), None)


def folded(word: str, match: Match) -> str:
    """The one spelling of all texts that match `word`."""
    if match == "exact":
        return word
    trimmed = word.strip(BLANKS)
    return trimmed if match == "trim" else "".join(_small(letter) for letter in trimmed)


def case_variants(words: Sequence[str]) -> tuple[str, str]:
    """Letters that are not their own small form, and those forms, for all letters of the words.

    Engines make small letters differently (PostgreSQL by its locale, Java by its own tables). With
    these two texts `translate` does the same on all of them, for every letter that can matter.
    """
    found: dict[str, str] = {}
    for letter in sorted(set("".join(words))):
        small = _small(letter)
        for form in (letter, *_forms(letter), *_forms(small)):
            if len(form) == 1 and form != small and _small(form) == small:
                found[form] = small
    return "".join(found), "".join(found.values())


def _forms(letter: str) -> tuple[str, ...]:
    return letter.upper(), letter.lower(), letter.title(), letter.casefold()


def _small(letter: str) -> str:
    """One letter for one letter: ß stays, for its capital is two."""
    return next((form for form in (letter.casefold(), letter.lower()) if len(form) == 1), letter)
