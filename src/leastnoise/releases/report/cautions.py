"""What to know before the numbers of a release are read: rows under keys that nobody declared,
values that are no numbers, and checks that could have seen neither, or that others hide. Computed
from the plan and the published numbers, so it costs no privacy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from leastnoise.releases.estimates import shares
from leastnoise.releases.estimates.row import ReleasedRow
from leastnoise.releases.noise.sensitivity import ONCE, Answer, turn
from leastnoise.releases.plan.keys import Key, is_discovered
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.statistic import Statistic
from leastnoise.text.numbers import above, ends, uncertain

LARGE = 0.05  # share of the rows or persons above which a check is worth a sentence
BITES = 0.1  # the same for bounds, which are meant to bite now and then
MOST = 0.5  # share of the persons whom one check may be about although others hide it
# share of the persons, or rows, that must be enough for a sentence; else the check can tell nothing
BLIND = 0.25
# Checks of what nobody meant; the others are of bounds, which are meant.
KINDS = ("unreadable", "other keys")
_NO_GROUP = "What has another key is in no group."


@dataclass(frozen=True)
class Caution:
    """A sentence for the reader, and the checks that it comes from."""

    sentence: str
    checks: tuple[Answer, ...]

    def statistics(self, plan: Plan) -> frozenset[str]:
        """The names of the statistics that the sentence is about."""
        asked = plan.statistics
        return frozenset(s.name for s in asked if any(_touches(one, s) for one in self.checks))


def beside(plan: Plan, rows: Sequence[ReleasedRow]) -> list[str]:
    """For each number the sentences about it: it is a statistic they concern, or their check."""
    said = [(caution, caution.statistics(plan)) for caution in cautions(plan, rows)]

    def is_about(caution: Caution, names: frozenset[str], row: ReleasedRow) -> bool:
        return row.statistic in names if row.check is None else row.check in caution.checks

    return [
        " ".join(one.sentence for one, names in said if is_about(one, names, row)) for row in rows
    ]


def _touches(check: Answer, asked: Statistic) -> bool:
    """Whether what a check counts changes a statistic."""
    if check.measure == "unreadable":
        return asked.column == check.column
    if check.values is not None:
        bounded = (check.values.column, check.values.lower, check.values.upper)
        return (asked.column, asked.lower, asked.upper) == bounded
    if check.where is not None and check.where != asked.condition:
        return False
    if check.group_by and check.measure == "left out":
        return (asked.group_by, asked.condition) == (check.group_by, check.where)
    if check.group_by:  # a row with another key there; of complete keys it counts nowhere
        is_complete = any(key.complete for key in check.group_by)
        return is_complete or set(check.group_by) <= set(asked.group_by)
    # Who has too many rows is one person all the same.
    return asked.condition == check.where and (asked.kind != "persons" or bool(asked.group_by))


def cautions(plan: Plan, rows: Sequence[ReleasedRow]) -> tuple[Caution, ...]:
    """What a reader must know; nothing where the checks are quiet and would have spoken."""
    said, silent = [], []
    for row in rows:
        sentence = "" if row.check is None else _sentence(plan, rows, row, row.check)
        if sentence:
            said.append(Caution(sentence, _checks([row])))
        elif row.check is not None:
            silent.append(row)
    hidden = _hidden(plan, rows, silent)
    quiet = [row for row in silent if row.check not in _all_checks(hidden)]
    spoken = {check.measure for check in _all_checks(said)}
    together = [_of_kind(plan, rows, kind, kind in spoken, quiet) for kind in KINDS]
    return (*said, *hidden, *(caution for caution in together if caution is not None))


def _all_checks(said: Sequence[Caution]) -> list[Answer]:
    return [check for caution in said for check in caution.checks]


def _of_kind(
    plan: Plan, rows: Sequence[ReleasedRow], kind: str, is_said: bool, quiet: Sequence[ReleasedRow]
) -> Caution | None:
    """What no check of a kind says alone: all of them together, or that they can see nothing."""
    known = None if is_said else _together(plan, rows, kind)
    if known is not None:
        return known
    unsure = [row for row in quiet if row.kind == kind and _is_blind(plan, rows, row)]
    return _blind(plan, rows, kind, unsure) if unsure else None


def _sentence(plan: Plan, rows: Sequence[ReleasedRow], row: ReleasedRow, check: Answer) -> str:
    if row.kind == "other keys":
        return _other_keys(plan, rows, row, check.group_by)
    known = shares.people(plan, rows)
    return _unreadable(plan, row, known) if row.kind == "unreadable" else _bounded(row, known)


def _other_keys(
    plan: Plan, rows: Sequence[ReleasedRow], row: ReleasedRow, group_by: tuple[Key, ...]
) -> str:
    whole = shares.whole_of(plan, rows, row)
    better = shares.from_total(plan, rows, row)
    how = "" if better is row else ", by the number of all rows and those of the declared groups"
    row = better
    least = shares.least_persons(plan, rows, group_by) + row.number if whole is None else whole[0]
    if not _is_large(row, least):
        return ""
    what = row.statistic.replace(" with other keys", "")
    if is_discovered(group_by):
        return (
            f"{row.in_words()} {what} have a key in {row.group} that is not shown, because too few "
            "have it, or have none. They are in no group."
        )
    of_all = "" if whole is None else f" of about {max(whole[0], row.number):,.0f}"
    return (
        f"{row.in_words()}{of_all} {what} have a key in {row.group} that is none of the declared "
        f"ones{how}. What has such a key is in no group. If it should be, the keys are spelt "
        "otherwise than declared, or some are not declared."
    )


def _unreadable(plan: Plan, row: ReleasedRow, known: float | None) -> str:
    if not _is_large(row, known):
        return ""
    of_all = "" if known is None else f" of about {known:,.0f}"
    return (
        f"{row.in_words()}{of_all} persons have a value in {row.group} that could not be read "
        f"as a number. {_missing(plan, row)}"
    )


def _missing(plan: Plan, row: ReleasedRow) -> str:
    """What becomes of the values of a column that cannot be read."""
    told = {s.missing for s in plan.statistics if s.column == row.group}
    instead = sorted(float(one) for one in told if one is not None and one != "drop")
    numbers = " or ".join(f"{number:g}" for number in instead)
    if not numbers:
        return "It counts as missing: statistics of this column are about the others."
    if "drop" in told:
        return (
            "It counts as missing: it is left out of some statistics of this column, and "
            f"counts as {numbers} in others."
        )
    return (
        f"It counts as missing: statistics of this column have {numbers} in its place, which "
        "the plan puts there."
    )


def _bounded(row: ReleasedRow, known: float | None) -> str:
    if known is None or row.number <= max(shares.SURE * row.half_width, BITES * known):
        return ""
    what = f"{row.group}, and what is more than that is left out"
    if row.kind == "clipped":
        what = f"a value in {row.group} beyond its bounds, which counts as the bound"
    return (
        f"{row.in_words()} of about {known:,.0f} persons have {what}: these numbers are about less "
        "than the table holds."
    )


def _is_large(row: ReleasedRow, whole: float | None) -> bool:
    return row.number > max(shares.SURE * row.half_width, LARGE * max(whole or 0.0, 0.0))


# Many that are a few in each column


def _sharing(rows: Sequence[ReleasedRow], measure: str) -> list[ReleasedRow]:
    """The checks among which a person who would be in several is counted once."""
    checks = [row for row in rows if row.check is not None and row.check.measure == measure]
    return checks if measure in ONCE else []


def _together(plan: Plan, rows: Sequence[ReleasedRow], kind: str) -> Caution | None:
    """Where few are counted under each column, or grouping, and many under all of them together."""
    cells = _sharing(rows, kind)
    if len(cells) < 2:
        return None
    total = sum(shares.before_processing(row) for row in cells)
    width, known = shares.width_of_sum(cells), shares.people(plan, rows)
    if total <= max(shares.SURE * width, LARGE * max(known or 0.0, 0.0)):
        return None
    many = " ± ".join(uncertain(total, width, whole=True))
    # Persons with unreadable values are counted as those.
    if kind != "unreadable" and any(row.is_hidden for row in cells):
        many = ends(total - width, max(row.upper for row in cells), width)
    of_all = "" if known is None else f" of about {max(known, total):,.0f}"
    what = "key that is none of the declared ones"
    if kind == "unreadable":
        what = "value that could not be read as a number"
    said = (
        f"{many}{of_all} persons have a {what} in one of {_named(cells)}. Each is counted "
        "under one of them."
    )
    return Caution(f"{said} {_lost(plan, kind, cells)}", _checks(cells))


def _lost(plan: Plan, kind: str, cells: Sequence[ReleasedRow]) -> str:
    """What becomes of what these checks count."""
    if kind == "other keys":
        return _NO_GROUP
    columns = {row.group for row in cells}
    if any(s.missing != "drop" for s in plan.statistics if s.column in columns):
        return (
            "What cannot be read is missing, and where the plan puts a number in the place of "
            "missing values it counts as that."
        )
    return "What cannot be read is left out of its statistics."


# Checks that are quiet because others hide them


def _hidden(
    plan: Plan, rows: Sequence[ReleasedRow], silent: Sequence[ReleasedRow]
) -> list[Caution]:
    """Where a check could be about most persons without showing it: others count them."""
    known = shares.people(plan, rows)
    if known is None:
        return []
    found: dict[str, list[ReleasedRow]] = {}
    for row in silent:
        cells = [other for other in shares.hiding(plan, rows, row) if _is_large(other, known)]
        if cells and row.upper > MOST * known and _could_be_most(plan, row, cells, known):
            found.setdefault(_counted_under(cells, known), []).append(row)
    said = []
    for under, hidden in found.items():
        sentence = (
            f"Whether most persons have {', or '.join(map(_has, hidden))}, cannot be told: each "
            f"person is counted under one check only, and {under}. {_then(plan, hidden)}"
        )
        said.append(Caution(sentence, _checks(hidden)))
    return said


def _could_be_most(
    plan: Plan, row: ReleasedRow, cells: Sequence[ReleasedRow], known: float
) -> bool:
    """Whether this check and those that hide it hold most persons, as far as noise lets see.

    A digest chooses among checks in one turn: of those whom two of them fit each gets half, but for
    chance. So one that hides this one by a digest hides no more than this one holds itself. Where
    one row is one person the digest is of what stands in the row, and rows that are the same go the
    same way: it may hide all.
    """
    own = max(row.number + row.half_width, 0.0)
    held = (min(one.number, own) if _by_digest(plan, one, row) else one.number for one in cells)
    return own + sum(held) > MOST * known


def _by_digest(plan: Plan, one: ReleasedRow, other: ReleasedRow) -> bool:
    """Whether a digest of the person chooses under which of two checks they are counted."""
    if plan.one_row_per_person or one.check is None or other.check is None:
        return False
    return turn(one.check) == turn(other.check)


def _counted_under(cells: Sequence[ReleasedRow], known: float) -> str:
    """How many are counted under these checks, whoever else they are about."""
    many = (" ± ".join(uncertain(row.number, row.half_width, whole=True)) for row in cells)
    return ", and ".join(
        f"{one} of about {known:,.0f} are counted as having {_has(row)}"
        for one, row in zip(many, cells, strict=True)
    )


def _has(row: ReleasedRow) -> str:
    """What a person has whom a check is about."""
    said = {
        "unreadable": f"a value in {row.group} that is no number",
        "other keys": f"a key in {row.group} that is none of the declared ones",
        "clipped": f"a value in {row.group} beyond its bounds",
    }
    return said.get(row.kind, row.group)


def _then(plan: Plan, hidden: Sequence[ReleasedRow]) -> str:
    unreadable = [row for row in hidden if row.kind == "unreadable"]
    said = {
        "unreadable": _lost(plan, "unreadable", unreadable),
        "other keys": _NO_GROUP,
        "clipped": "A value beyond its bounds counts as the bound.",
        "left out": "What is more than counts is left out.",
    }
    return " ".join(said[kind] for kind in dict.fromkeys(row.kind for row in hidden))


# Checks that are quiet because they can see nothing


def _is_blind(plan: Plan, rows: Sequence[ReleasedRow], row: ReleasedRow) -> bool:
    """Whether a quarter of all could have an unreadable value or another key, and none is told."""
    most = shares.most_of(plan, rows, row)
    measure = "" if row.check is None else row.check.measure
    row = shares.from_total(plan, rows, row)
    width = shares.width_of_sum(_sharing(rows, measure) or [row])
    return most is not None and shares.SURE * width > BLIND * most


def _blind(
    plan: Plan, rows: Sequence[ReleasedRow], kind: str, unsure: Sequence[ReleasedRow]
) -> Caution:
    whether = f"the values of {_named(unsure)} could be read as numbers"
    if kind == "other keys":
        whether = f"the keys in {_named(unsure)} are the declared ones"
    said = (
        f"Whether {whether} cannot be told: {_counted_to(plan, rows, unsure)}. "
        f"{_lost(plan, kind, unsure)}"
    )
    return Caution(said, _checks(unsure))


def _named(rows: Sequence[ReleasedRow]) -> str:
    return ", ".join(row.group for row in rows)


def _counted_to(plan: Plan, rows: Sequence[ReleasedRow], unsure: Sequence[ReleasedRow]) -> str:
    known = (shares.from_total(plan, rows, row) for row in unsure)
    worst = max(known, key=lambda row: row.half_width)
    most = max(shares.most_of(plan, rows, worst) or 0.0, 0.0)
    about = "about" if shares.whole_of(plan, rows, worst) else "at most about"
    measure = "" if worst.check is None else worst.check.measure
    width = above(shares.width_of_sum(_sharing(rows, measure) or [worst]), 2)
    counted = f"± {width} {worst.statistic.split()[0]}"
    return f"that is counted to {counted}, and there are {about} {most:,.0f}"


def _checks(rows: Sequence[ReleasedRow]) -> tuple[Answer, ...]:
    return tuple(row.check for row in rows if row.check is not None)
