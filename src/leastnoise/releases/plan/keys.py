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

**Hierarchies.** Keys may be *within* those of another column: districts within regions. A row has
such a key if it has the declared district *and* the region that this one is declared in, so a
district's rows are some of its region's whatever the table says, and two regions may have a
district of the same name. The label is that of the region and that of the district with a sign
between them that no declared key has.

**Keys that are not known** beforehand (`"discover"`) are the texts, whole numbers or truth values
of a column themselves. Which of them are published is decided by noisy numbers of persons
(`noise.discovery`); until then one label stands for all of them, and the keys that were found are
taken for declared ones after that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import MAXYEAR, date, datetime, timedelta
from functools import cache, cached_property
from itertools import chain, pairwise, product
from typing import Any, Literal

from leastnoise.errors import InvalidParameterError, PlanError, one_of, plain_text, real_number
from leastnoise.releases.plan.source import MOST_TEXT, text

# Thirty digits and a two-digit exponent: whatever matches is a finite number on every engine.
NUMBER = r"^[ ]*[+-]?([0-9]{1,30}([.][0-9]{0,30})?|[.][0-9]{1,30})([eE][+-]?[0-9]{1,2})?[ ]*$"
TRUTHS = {"true": ("true", "True", "TRUE"), "false": ("false", "False", "FALSE")}
BLANKS = " \t\r\n\u00a0"
LARGEST_WHOLE = 2**53 - 1  # of the whole numbers that 64-bit floats tell apart
OTHER = "all other keys"  # how that group is shown
BETWEEN = "\x1f"  # the labels of a hierarchy: cannot be seen, so no declared key has it

PERIODS = ("year", "quarter", "month", "week", "day", "weekday")
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MOST_DAYS = 100_000

Discover = Literal["", "wanted", "found"]
ANY_KEY = "each that is found"  # stands for the keys of a column until they are found

Match = Literal["exact", "trim", "casefold"]
MATCHES = ("exact", "trim", "casefold")


@dataclass(frozen=True)
class Key:
    """One column to group by: its declared keys, or, for a histogram of numbers, the edges of bins.

    Bin i holds edges[i] ≤ x < edges[i+1]; the last bin holds its upper edge too. Where the keys are
    `complete`, a row with another key counts in no statistic of the plan. `within` are the keys of
    a column that these belong to, and `under` says of each to which, by its place there.
    """

    column: str
    values: tuple[str | float | bool, ...] = ()
    edges: tuple[float, ...] | tuple[date, ...] = ()
    match: Match = "exact"
    complete: bool = False
    by: str = ""  # of days: "year", "quarter", "month", "week", "day", "weekday"
    span: tuple[date, ...] = ()  # the first and the last day that `by` is declared for
    within: Key | None = None
    under: tuple[int, ...] = ()
    # "wanted": the keys are not known; "found": they are `values`, which noisy numbers have shown.
    discover: Discover = ""
    # Which of the values are truth values: Python takes True for 1, and keys of which one has the
    # numbers and the other the truth values are different groups.
    are_truths: tuple[bool, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        truths = tuple(isinstance(value, bool) for value in self.values)
        object.__setattr__(self, "are_truths", truths)
        text("group_by column", self.column)
        one_of("match", self.match, MATCHES)
        if self.within is not None:
            self._check_within(self.within)
        if not isinstance(self.complete, bool):
            raise InvalidParameterError("complete", self.complete, "to be true or false")
        if self.discover:
            self._check_discovered()
            return
        if self.by:
            self._check_span()
        if bool(self.values) == self.is_binned:
            raise PlanError(
                f"Grouping by {self.column!r} needs its keys: declare the list of values that "
                "count, or edges of bins."
            )
        if not self.is_binned:
            self._check_values()
        elif self.match != "exact":
            raise PlanError(f"Bins of {self.column!r} are no text: leave match out.")
        elif self.edges:
            self._check_edges()

    def _check_discovered(self) -> None:
        one_of("discover", self.discover, ("wanted", "found"))
        is_more = self.by or self.edges or self.within is not None or self.complete
        if is_more or (self.values and self.discover == "wanted"):
            raise PlanError(
                f"The keys of {self.column!r} are to be discovered: declare nothing beside it but "
                'match = "trim" or "casefold".'
            )

    def _check_within(self, above: Key) -> None:
        if self.edges or len(self.under) != len(self.values):
            raise PlanError(
                f"The keys of {self.column!r} are within those of {above.column!r}: declare a list "
                "of them for each of these, and no edges."
            )
        if self.column in above.path_columns:
            raise PlanError(f"The keys of {self.column!r} cannot be within their own column.")
        empty = [title for i, title in enumerate(above.titles) if i not in self.under]
        if empty or max(self.under) >= len(above.labels):
            raise PlanError(
                f"Every key of {above.column!r} needs at least one of {self.column!r}; "
                f"{empty[0] if empty else self.under!r} has none."
            )

    def _check_edges(self) -> None:
        edges = self.edges
        if not self.is_of_days:
            edges = tuple(real_number("edges", edge) for edge in edges)
        rising = all(a < b for a, b in pairwise(_places(edges)))
        if len(edges) < 2 or not rising:
            expected = "to be at least two rising numbers, or days"
            raise InvalidParameterError("edges", [str(edge) for edge in edges], expected)
        object.__setattr__(self, "edges", edges)

    def _check_span(self) -> None:
        one_of("by", self.by, PERIODS)
        if self.edges or self.values:
            raise PlanError(f"Grouping by the {self.by} of {self.column!r} needs no keys or edges.")
        if self.by == "weekday":
            if self.span:
                raise PlanError(
                    f"There are seven weekdays of {self.column!r}: leave from and to out."
                )
            return
        days = len(self.span) == 2 and all(_is_day(day) for day in self.span)
        if not days or self.span[0] > self.span[1]:
            raise PlanError(
                f"Grouping by the {self.by} of {self.column!r} needs its days: declare from = the "
                "first and to = the last of them, such as 2025-01-01."
            )
        if self.span[1].year == MAXYEAR:
            raise PlanError(f"The days of {self.column!r} must end before the year {MAXYEAR}.")
        # Said before the periods are listed, one a day over a thousand years.
        if (self.span[1] - self.span[0]).days > MOST_DAYS:
            raise PlanError(f"{self.column!r} has more than {MOST_DAYS} days from first to last.")
        object.__setattr__(self, "edges", tuple(edges_of(self.by, *self.span)))

    @property
    def is_binned(self) -> bool:
        """Whether a row has a key by where its value lies."""
        return bool(self.edges) or self.by == "weekday"

    @property
    def is_of_days(self) -> bool:
        """Whether its column is read as days."""
        return bool(self.by) or (bool(self.edges) and all(_is_day(edge) for edge in self.edges))

    def _check_values(self) -> None:
        name = f"key of {self.column!r}"
        for value in self.values:
            if isinstance(value, str):
                plain_text(name, value, MOST_TEXT, empty=True)
            elif isinstance(value, float):
                real_number(name, value)
            elif not isinstance(value, int) or abs(value) >= 10**MOST_TEXT:
                raise InvalidParameterError(name, value, "to be a text, a number or a truth value")
        if self.match != "exact" and not self.own.texts:
            raise PlanError(
                f"match = {self.match!r} is for text: {self.column!r} has no key that is."
            )
        if len(set(self.labels)) != len(self.values):
            raise InvalidParameterError(
                f"keys of {self.column!r}", list(self.values), "to be different from each other"
            )
        for word in self.own.texts:
            if number_of_text(word) in self.own.numbers or truth_of_text(word) in self.truths:
                raise PlanError(
                    f"The keys of {self.column!r} are ambiguous: the text {word!r} is also one of "
                    "its numbers or truth values. Declare one of the two."
                )

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The one spelling of each key; for bins their numbers."""
        if self.discover:
            return (ANY_KEY,) if self.discover == "wanted" else tuple(map(str, self.values))
        if self.by:
            return WEEKDAYS if self.by == "weekday" else period_names(self.by, self.edges)
        if self.edges:
            return tuple(str(i) for i in range(len(self.edges) - 1))
        own = tuple(self._label(value) for value in self.values)
        if self.within is None:
            return own
        above = self.within.labels
        return tuple(above[i] + BETWEEN + one for i, one in zip(self.under, own, strict=True))

    @cached_property
    def own(self) -> Key:
        """The keys of the column itself, each once, where they are within another's."""
        if self.within is None:
            return self
        each: dict[str, str | float | bool] = {}
        for value in self.values:
            same = each.setdefault(self._label(value), value)
            if isinstance(same, str) != isinstance(value, str):
                raise PlanError(
                    f"The keys of {self.column!r} are ambiguous: {value!r} is a text in one place "
                    "and none in another. Declare one of the two."
                )
        return Key(self.column, tuple(each.values()), match=self.match)

    @property
    def path(self) -> tuple[Key, ...]:
        """The keys that these are within, the widest first, and these."""
        return (*(() if self.within is None else self.within.path), self)

    @property
    def path_columns(self) -> tuple[str, ...]:
        return tuple(key.column for key in self.path)

    def _label(self, value: str | float | bool) -> str:
        if isinstance(value, str):
            return folded(value, self.match)
        if isinstance(value, bool):
            return str(value).lower()
        return str(int(value)) if value == int(value) else repr(float(value))

    @property
    def titles(self) -> tuple[str, ...]:
        """The keys as they are shown."""
        if self.by or self.discover:
            return self.labels
        if self.is_of_days:
            return tuple(f"{a} to before {b}" for a, b in pairwise(self.edges))
        if not self.edges:
            return tuple(
                value if isinstance(value, str) else self._label(value) for value in self.values
            )
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
        if self.discover:
            return every_variant()
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

    @cached_property
    def keys_shown(self) -> tuple[tuple[tuple[str, str], ...], ...]:
        """Of each key the columns of its path, with the keys there as they are shown."""
        own = [(self.column, title) for title in self.titles]
        if self.within is None:
            return tuple((one,) for one in own)
        above = self.within.keys_shown
        return tuple((*above[i], one) for i, one in zip(self.under, own, strict=True))

    def describe(self) -> dict[str, Any]:
        if self.discover:  # found or not: the plan is the same
            return {"column": self.column, "discover": True, "match": self.match}
        if self.by:
            days = [day.isoformat() for day in self.span]
            return {"column": self.column, "by": self.by, "span": days, "complete": self.complete}
        values = list(self.values)
        edges = [edge.isoformat() if isinstance(edge, date) else edge for edge in self.edges]
        plain: dict[str, Any] = {
            "column": self.column,
            "values": values,
            "edges": edges,
            "match": self.match,
        }
        # So a plan keeps the hash that it had before there were such declarations.
        if self.complete:
            plain["complete"] = True
        if self.within is not None:
            plain |= {"within": self.within.describe(), "under": list(self.under)}
        return plain


def hidden_labels(key: Key, hidden: Sequence[Key], declared: Sequence[Key]) -> tuple[str, ...]:
    """The labels of the hidden keys of a column in a table of these columns, some with hidden keys:
    "other", or, where the table has keys that these are within, one for each of those."""
    if key not in hidden:
        return ()
    above = above_in(key, (*hidden, *declared))
    if above is None:
        return (key.other,)
    parents = (*above.labels, *hidden_labels(above, hidden, declared))
    return tuple(label + BETWEEN + key.own.other for label in parents)


def hidden_shown(
    key: Key, hidden: Sequence[Key], declared: Sequence[Key]
) -> tuple[tuple[tuple[str, str], ...], ...]:
    """The same keys, each as the columns of its path with what is shown there."""
    above = above_in(key, (*hidden, *declared)) if key in hidden else None
    if above is None:
        return (((key.column, OTHER),),) if key in hidden else ()
    parents = (*above.keys_shown, *hidden_shown(above, hidden, declared))
    return tuple((*one, (key.column, OTHER)) for one in parents)


def above_in(key: Key, keys: Sequence[Key]) -> Key | None:
    """The nearest of these that a key is within."""
    return next((one for one in reversed(key.path[:-1]) if one in keys), None)


def label_above(label: str, key: Key) -> str:
    """The label, in the column of `key`, of a label of keys that are within it."""
    return BETWEEN.join(label.split(BETWEEN)[: len(key.path)])


def groups(group_by: Sequence[Key]) -> list[tuple[str, ...]]:
    """Every declared group, as the labels of its keys; ungrouped, the one group without keys."""
    return list(product(*(key.labels for key in group_by)))


def is_discovered(group_by: Sequence[Key]) -> bool:
    """Whether some keys of a grouping are not known beforehand, so that neither is the number of
    its groups."""
    return any(key.discover for key in group_by)


def group_titles(group_by: Sequence[Key]) -> list[str]:
    """The same groups as they are shown."""
    return [", ".join(f"{c} = {title}" for c, title in keys) for keys in group_keys(group_by)]


def group_keys(group_by: Sequence[Key]) -> list[tuple[tuple[str, str], ...]]:
    """The same groups, each as its columns with their keys as they are shown."""
    return [tuple(chain(*each)) for each in product(*(key.keys_shown for key in group_by))]


def keys_of(group_by: Any, kind: str) -> tuple[Key, ...]:
    """Keys as they are, or from {column: values}, {column: {"values": […], "match": …}},
    {column: {"edges": […]}} and {column: {"within": {column: keys}, "values": [[…], …]}}."""
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
    if declared == "discover":
        return Key(column, discover="wanted")
    if not isinstance(declared, Mapping):
        raise PlanError(
            f"Grouping by {column!r} needs its keys: declare the list of values that count, or "
            '"discover" where they are not known.'
        )
    if "discover" in declared:
        return _key_to_find(column, declared)
    if "by" in declared:
        return _periods_of(column, declared)
    if "within" in declared:
        return _key_within(column, declared)
    listed = declared.get("edges" if "edges" in declared else "values")
    known = ({"edges"}, {"values"}, {"values", "match"})
    if set(declared) - {"complete"} not in known or not isinstance(listed, (list, tuple)):
        raise PlanError(
            f"Grouping by {column!r} needs a list of keys, {{values = [keys], match = …}} or "
            f'{{edges = [rising numbers or days]}} or {{by = "month", from = a day, to = a day}}; '
            "each may be complete = true."
        )
    complete = declared.get("complete", False)
    if "edges" in declared:
        return Key(column, edges=tuple(listed), complete=complete)
    match = declared.get("match", "exact")
    return Key(column, values=tuple(listed), match=match, complete=complete)


def _key_to_find(column: str, declared: Mapping[str, Any]) -> Key:
    if set(declared) - {"match"} != {"discover"} or declared["discover"] is not True:
        raise PlanError(
            f"Grouping by {column!r} discovers its keys: declare {{discover = true}}, with match "
            "or without."
        )
    return Key(column, match=declared.get("match", "exact"), discover="wanted")


def _key_within(column: str, declared: Mapping[str, Any]) -> Key:
    """Keys within those of another column: a list of them for each of those, in their order, or by
    their names."""
    above, listed = declared["within"], declared.get("values")
    is_known = set(declared) <= {"within", "values", "match", "complete"}
    if not is_known or not isinstance(above, Mapping) or len(above) != 1:
        raise PlanError(
            f"The keys of {column!r} are within those of one other column: declare {{within = "
            "{column = keys}, values = [a list of keys for each of those]}."
        )
    ((name, keys),) = above.items()
    parent = _key_of(name, keys)
    children = _by_parent(column, parent, listed)
    return Key(
        column,
        values=tuple(value for each in children for value in each),
        match=declared.get("match", "exact"),
        complete=declared.get("complete", False),
        within=parent,
        under=tuple(i for i, each in enumerate(children) for _ in each),
    )


def _by_parent(column: str, parent: Key, listed: Any) -> list[Any]:
    """The declared keys of each parent, in the order of those."""
    if isinstance(listed, Mapping) and sorted(listed) == sorted(parent.titles):
        listed = [listed[title] for title in parent.titles]
    is_list = isinstance(listed, (list, tuple)) and len(listed) == len(parent.labels)
    if not is_list or not all(isinstance(each, (list, tuple)) for each in listed):
        raise PlanError(
            f"{column!r} needs a list of its keys for each of the {len(parent.labels)} of "
            f"{parent.column!r}: [[keys], [keys], …] in their order, or {{key = [keys], …}}."
        )
    return list(listed)


def _periods_of(column: str, declared: Mapping[str, Any]) -> Key:
    unknown = set(declared) - {"by", "from", "to", "complete"}
    if unknown:
        raise PlanError(f"Grouping by the days of {column!r} has no declaration {min(unknown)!r}.")
    span = tuple(declared[name] for name in ("from", "to") if name in declared)
    return Key(column, by=declared["by"], span=span, complete=declared.get("complete", False))


# Days


def _places(edges: Sequence[Any]) -> list[float]:
    return [edge.toordinal() if isinstance(edge, date) else edge for edge in edges]


def _is_day(value: Any) -> bool:
    return isinstance(value, date) and not isinstance(value, datetime)


def edges_of(by: str, first: date, last: date) -> list[date]:
    """Where the periods from one day to another begin, and the day after the last of them. The
    first and the last are whole or in part, as the two days say."""
    edges, at = [first], first
    while at <= last:
        at = min(_after(by, at), last + timedelta(days=1))
        edges.append(at)
    return edges


def _after(by: str, day: date) -> date:
    """The first day of the next period."""
    if by == "day":
        return day + timedelta(days=1)
    if by == "week":
        return day + timedelta(days=7 - day.weekday())
    months = {"month": 1, "quarter": 3, "year": 12}[by]
    passed = (day.month - 1) // months * months + months
    return date(day.year + passed // 12, passed % 12 + 1, 1)


def period_names(by: str, edges: Sequence[Any]) -> tuple[str, ...]:
    """What the periods are called: 2025, 2025-Q1, 2025-01, 2025-W01 (ISO), 2025-01-31."""
    return tuple(_period_name(by, edge) for edge in edges[:-1])


def _period_name(by: str, day: date) -> str:
    if by == "week":
        year, week, _ = day.isocalendar()
        return f"{year}-W{week:02}"
    if by == "quarter":
        return f"{day.year}-Q{(day.month + 2) // 3}"
    return day.isoformat()[: {"year": 4, "month": 7, "day": 10}[by]]


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


@cache
def every_variant() -> tuple[str, str]:
    """The same for the letters of all words that may be met, those of 16 bits: Java's are so."""
    letters = map(chr, (*range(0x80, 0xD800), *range(0xE000, 0x10000)))
    cased = [one for one in letters if one.lower() != one or one.upper() != one]
    return case_variants(["".join(cased), "abcdefghijklmnopqrstuvwxyz"])


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
