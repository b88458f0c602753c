"""What to know before the numbers of a release are read: rows under keys that nobody declared, values
that are no numbers, and checks that could have seen neither, or that others hide. Computed from the
plan and the published numbers, so it costs no privacy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from leastnoise.digits import above, ends, uncertain
from leastnoise.releases.estimate import Row
from leastnoise.releases.keys import Key
from leastnoise.releases.plan import Plan, Statistic
from leastnoise.releases.sensitivity import ONCE, Answer, turn
from leastnoise.releases.shares import (
    SURE,
    before_processing,
    from_total,
    hiding,
    least_persons,
    most_of,
    people,
    whole_of,
    width_of_sum,
)

LARGE = 0.05  # share of the rows or persons above which a check is worth a sentence
BITES = 0.1  # the same for bounds, which are meant to bite now and then
MOST = 0.5  # share of the persons whom one check may be about although others hide it
BLIND = 0.25  # share of the persons, or rows, that must be enough for a sentence; else the check can tell nothing
KINDS = (
    "unreadable",
    "other keys",
)  # checks of what nobody meant; the others are of bounds, which are meant
_NO_GROUP = "What has another key is in no group."


@dataclass(frozen=True)
class Caution:
    """A sentence for the reader, and the checks that it comes from."""

    sentence: str
    checks: tuple[Answer, ...]

    def statistics(self, plan: Plan) -> frozenset[str]:
        """The names of the statistics that the sentence is about."""
        return frozenset(
            s.name for s in plan.statistics if any(_touches(check, s) for check in self.checks)
        )


def beside(plan: Plan, rows: Sequence[Row]) -> list[str]:
    """For each number the sentences that are about it: it is a statistic that they concern, or the check itself."""
    said = [(caution, caution.statistics(plan)) for caution in cautions(plan, rows)]
    return [
        " ".join(
            caution.sentence
            for caution, names in said
            if (row.statistic in names if row.check is None else row.check in caution.checks)
        )
        for row in rows
    ]


def _touches(check: Answer, asked: Statistic) -> bool:
    """Whether what a check counts changes a statistic."""
    if check.measure == "unreadable":
        return asked.column == check.column
    if check.values is not None:
        bounded = (check.values.column, check.values.lower, check.values.upper)
        return (asked.column, asked.lower, asked.upper) == bounded
    if check.group_by:
        return asked.group_by == check.group_by
    return asked.kind != "persons" or bool(
        asked.group_by
    )  # who has too many rows is one person all the same


def cautions(plan: Plan, rows: Sequence[Row]) -> tuple[Caution, ...]:
    """What a reader must know; nothing where the checks are quiet and would have spoken."""
    alone = [(row, _sentence(plan, rows, row, row.check)) for row in rows if row.check is not None]
    said = [Caution(sentence, _checks([row])) for row, sentence in alone if sentence]
    silent = [row for row, sentence in alone if not sentence]
    hidden = _hidden(plan, rows, silent)
    said += hidden
    silent = [row for row in silent if not any(row.check in one.checks for one in hidden)]
    for kind in KINDS:
        told = any(
            check.measure == kind for one in said if one not in hidden for check in one.checks
        )
        known = None if told else _together(plan, rows, kind)
        unsure = [row for row in silent if row.kind == kind and _is_blind(plan, rows, row)]
        if known is not None:
            said.append(known)
        elif unsure:
            said.append(_blind(plan, rows, kind, unsure))
    return tuple(said)


def _sentence(plan: Plan, rows: Sequence[Row], row: Row, check: Answer) -> str:
    if row.kind == "other keys":
        return _other_keys(plan, rows, row, check.group_by)
    known = people(plan, rows)
    return _unreadable(plan, row, known) if row.kind == "unreadable" else _bounded(row, known)


def _other_keys(plan: Plan, rows: Sequence[Row], row: Row, group_by: tuple[Key, ...]) -> str:
    whole = whole_of(plan, rows, row)
    better = from_total(plan, rows, row)
    how = "" if better is row else ", by the number of all rows and those of the declared groups"
    row = better
    if not _is_large(
        row, least_persons(plan, rows, group_by) + row.number if whole is None else whole[0]
    ):
        return ""
    what = row.statistic.replace(" with other keys", "")
    of_all = "" if whole is None else f" of about {max(whole[0], row.number):,.0f}"
    return (
        f"{row.in_words()}{of_all} {what} have a key in {row.group} that is none of the declared ones{how}. What has "
        "such a key is in no group. If it should be, the keys are spelt otherwise than declared, or some are not declared."
    )


def _unreadable(plan: Plan, row: Row, known: float | None) -> str:
    if not _is_large(row, known):
        return ""
    of_all = "" if known is None else f" of about {known:,.0f}"
    return f"{row.in_words()}{of_all} persons have a value in {row.group} that could not be read as a number. {_missing(plan, row)}"


def _missing(plan: Plan, row: Row) -> str:
    """What becomes of the values of a column that cannot be read."""
    told = {s.missing for s in plan.statistics if s.column == row.group}
    numbers = " or ".join(
        f"{number:g}"
        for number in sorted(float(one) for one in told if one is not None and one != "drop")
    )
    if not numbers:
        return "It counts as missing: statistics of this column are about the others."
    if "drop" in told:
        return f"It counts as missing: it is left out of some statistics of this column, and counts as {numbers} in others."
    return f"It counts as missing: statistics of this column have {numbers} in its place, which the plan puts there."


def _bounded(row: Row, known: float | None) -> str:
    if known is None or row.number <= max(SURE * row.half_width, BITES * known):
        return ""
    what = (
        f"a value in {row.group} beyond its bounds, which counts as the bound"
        if row.kind == "clipped"
        else row.group
    )
    more = "" if row.kind == "clipped" else ", and what is more than that is left out"
    return f"{row.in_words()} of about {known:,.0f} persons have {what}{more}: these numbers are about less than the table holds."


def _is_large(row: Row, whole: float | None) -> bool:
    return row.number > max(SURE * row.half_width, LARGE * max(whole or 0.0, 0.0))


# Many that are a few in each column


def _sharing(rows: Sequence[Row], measure: str) -> list[Row]:
    """The checks among which a person who would be in several is counted once."""
    return [
        row
        for row in rows
        if row.check is not None and row.check.measure == measure and measure in ONCE
    ]


def _together(plan: Plan, rows: Sequence[Row], kind: str) -> Caution | None:
    """Where no column, or grouping, has many persons counted under it, and all of them together have."""
    cells = _sharing(rows, kind)
    if len(cells) < 2:
        return None
    total = sum(before_processing(row) for row in cells)
    width, known = width_of_sum(cells), people(plan, rows)
    if total <= max(SURE * width, LARGE * max(known or 0.0, 0.0)):
        return None
    many = " ± ".join(uncertain(total, width, whole=True))
    if (
        any(row.is_hidden for row in cells) and kind != "unreadable"
    ):  # persons with unreadable values are counted as those
        many = ends(total - width, max(row.upper for row in cells), width)
    of_all = "" if known is None else f" of about {max(known, total):,.0f}"
    what = (
        "value that could not be read as a number"
        if kind == "unreadable"
        else "key that is none of the declared ones"
    )
    said = f"{many}{of_all} persons have a {what} in one of {_named(cells)}. Each is counted under one of them."
    return Caution(f"{said} {_lost(plan, kind, cells)}", _checks(cells))


def _lost(plan: Plan, kind: str, cells: Sequence[Row]) -> str:
    """What becomes of what these checks count."""
    if kind == "other keys":
        return _NO_GROUP
    if any(
        s.missing != "drop" for s in plan.statistics if s.column in {row.group for row in cells}
    ):
        return "What cannot be read is missing, and where the plan puts a number in the place of missing values it counts as that."
    return "What cannot be read is left out of its statistics."


# Checks that are quiet because others hide them


def _hidden(plan: Plan, rows: Sequence[Row], silent: Sequence[Row]) -> list[Caution]:
    """Where a check could be about most persons, and would not show it, for they are counted under others."""
    known = people(plan, rows)
    found: dict[str, list[Row]] = {}
    for row in silent:
        cells = [other for other in hiding(plan, rows, row) if _is_large(other, known)]
        if (
            known is not None
            and cells
            and row.upper > MOST * known
            and _could_be_most(plan, row, cells, known)
        ):
            found.setdefault(_counted_under(cells, known), []).append(row)
    return [
        Caution(
            f"Whether most persons have {', or '.join(map(_has, hidden))}, cannot be told: each person is counted under one check "
            f"only, and {under}. {_then(plan, hidden)}",
            _checks(hidden),
        )
        for under, hidden in found.items()
    ]


def _could_be_most(plan: Plan, row: Row, cells: Sequence[Row], known: float) -> bool:
    """Whether this check and those that hide it hold most persons, as far as noise lets see.

    A digest chooses among checks in one turn: of those whom two of them fit each gets half, but for chance. So one that hides
    this one by a digest hides no more than this one holds itself. Where one row is one person the digest is of what stands in
    the row, and rows that are the same go the same way: it may hide all.
    """
    own = max(row.number + row.half_width, 0.0)
    held = (
        min(other.number, own) if _by_digest(plan, other, row) else other.number for other in cells
    )
    return own + sum(held) > MOST * known


def _by_digest(plan: Plan, one: Row, other: Row) -> bool:
    """Whether a digest of the person chooses under which of two checks they are counted."""
    if plan.one_row_per_person or one.check is None or other.check is None:
        return False
    return turn(one.check) == turn(other.check)


def _counted_under(cells: Sequence[Row], known: float) -> str:
    """How many are counted under these checks, whoever else they are about."""
    many = (" ± ".join(uncertain(row.number, row.half_width, whole=True)) for row in cells)
    return ", and ".join(
        f"{one} of about {known:,.0f} are counted as having {_has(row)}"
        for one, row in zip(many, cells, strict=True)
    )


def _has(row: Row) -> str:
    """What a person has whom a check is about."""
    said = {
        "unreadable": f"a value in {row.group} that is no number",
        "other keys": f"a key in {row.group} that is none of the declared ones",
        "clipped": f"a value in {row.group} beyond its bounds",
    }
    return said.get(row.kind, row.group)


def _then(plan: Plan, hidden: Sequence[Row]) -> str:
    said = {
        "unreadable": _lost(
            plan, "unreadable", [row for row in hidden if row.kind == "unreadable"]
        ),
        "other keys": _NO_GROUP,
        "clipped": "A value beyond its bounds counts as the bound.",
        "left out": "What is more than counts is left out.",
    }
    return " ".join(said[kind] for kind in dict.fromkeys(row.kind for row in hidden))


# Checks that are quiet because they can see nothing


def _is_blind(plan: Plan, rows: Sequence[Row], row: Row) -> bool:
    """Whether a quarter of all could have an unreadable value, or another key, and nothing would be said."""
    most = most_of(plan, rows, row)
    measure = "" if row.check is None else row.check.measure
    row = from_total(plan, rows, row)
    return most is not None and SURE * width_of_sum(_sharing(rows, measure) or [row]) > BLIND * most


def _blind(plan: Plan, rows: Sequence[Row], kind: str, unsure: Sequence[Row]) -> Caution:
    whether = f"the values of {_named(unsure)} could be read as numbers"
    if kind == "other keys":
        whether = f"the keys in {_named(unsure)} are the declared ones"
    said = f"Whether {whether} cannot be told: {_counted_to(plan, rows, unsure)}. {_lost(plan, kind, unsure)}"
    return Caution(said, _checks(unsure))


def _named(rows: Sequence[Row]) -> str:
    return ", ".join(row.group for row in rows)


def _counted_to(plan: Plan, rows: Sequence[Row], unsure: Sequence[Row]) -> str:
    worst = max((from_total(plan, rows, row) for row in unsure), key=lambda row: row.half_width)
    most = max(most_of(plan, rows, worst) or 0.0, 0.0)
    about = "about" if whole_of(plan, rows, worst) else "at most about"
    measure = "" if worst.check is None else worst.check.measure
    counted = f"± {above(width_of_sum(_sharing(rows, measure) or [worst]), 2)} {worst.statistic.split()[0]}"
    return f"that is counted to {counted}, and there are {about} {most:,.0f}"


def _checks(rows: Sequence[Row]) -> tuple[Answer, ...]:
    return tuple(row.check for row in rows if row.check is not None)
