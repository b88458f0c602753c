"""What a ledger is charged, and what is said of it: shared by all commands that spend a budget."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leastnoise.cli.messages import refused
from leastnoise.cli.options import flag
from leastnoise.text.numbers import above, below, counted

if TYPE_CHECKING:
    from leastnoise.artefact import Guarantee
    from leastnoise.ledger.ledger import Dataset, Ledger, Preview

_ENDED = (129, 130, 143)  # the codes of a process that SIGHUP, SIGINT or SIGTERM ended

_LESS = (
    "Charge fewer uses, or a smaller sensitivity, than the artefact states; the ledger marks it."
)
less_than_stated = flag("--less-than-stated", help=_LESS)


def charged(
    stated: Guarantee | None, sensitivity: float | None, uses: int | None, less_is_meant: bool
) -> tuple[float, int, str]:
    """The sensitivity and the uses that a ledger is charged, and the mark it puts on a charge below
    what the artefact states."""
    from leastnoise.errors import at_least, positive_integer

    least_moved = 1.0 if stated is None else stated.sensitivity
    least_drawn = 1 if stated is None else stated.compositions
    moved = at_least("sensitivity", least_moved if sensitivity is None else sensitivity)
    drawn = positive_integer("uses", least_drawn if uses is None else uses)
    if stated is None:
        return moved, drawn, ""
    marks: list[tuple[str, float, float, str]] = []
    if drawn < least_drawn:
        marks.append(("--uses", drawn, least_drawn, f"{drawn} of {least_drawn} stated uses"))
    if moved < least_moved:
        mark = f"sensitivity {below(moved, 6)} of {below(least_moved, 6)} stated"
        marks.append(("--sensitivity", moved, least_moved, mark))
    if marks and not less_is_meant:
        name, given, least, _ = marks[0]
        expected = f"to be at least the {least!r} that the artefact states, or --less-than-stated"
        raise refused(name, given, expected)
    return moved, drawn, "; ".join(mark for *_, mark in marks)


def guarantee_as_json(stated: Guarantee) -> dict[str, Any]:
    """What an artefact states, as plain data."""
    return {**vars(stated), "changes": stated.changes.describe()}


def existing_ledger(name: str, file: str) -> None:
    """A typing error in the name must not start a new ledger."""
    if not Path(file).exists():
        raise refused(name, file, "to be a ledger; make it with: leastnoise ledger open")


@contextmanager
def said_when_interrupted(book: Ledger | None) -> Iterator[None]:
    """An interrupt says whether the cost was written: what the ledger holds then and did not hold
    before."""
    known = set() if book is None else {entry.id for entry in book.entries()}
    try:
        yield
    except SystemExit as leaving:
        if book is not None and leaving.code in _ENDED:
            new = [entry for entry in book.entries() if entry.id not in known]
            said = "Nothing was written to the ledger, and nothing is spent."
            if new:
                said = f"The cost is in the ledger as release {new[-1].id} and stays spent."
            click.echo(f"leastnoise: Interrupted. {said}", err=True)
        raise


def left(account: Dataset) -> str:
    """What the releases so far have cost, and what is left."""
    rest = f"{_if_last(account, account.spent)}; {below(account.remaining)} left"
    if account.closed:
        rest = "; nothing is left"
    return (
        f"ledger: {account.name!r} has spent epsilon = {above(account.spent, 6)} of "
        f"{below(account.epsilon, 6)} at delta = {above(account.delta, 6)} in "
        f"{counted(account.releases, 'release')}{rest}{_cap_used(account)}"
    )


def _cap_used(account: Dataset) -> str:
    from leastnoise.ledger.listing import cap_in_words

    return "" if account.advantage is None else f"\nledger: {cap_in_words(account)}"


def would_cost(dataset: str, cost: Preview) -> str:
    """What a release would cost, and whether it would be allowed."""
    before, after = (above(spent, 6) for spent in (cost.epsilon_before, cost.epsilon_after))
    change = f"ledger: {dataset!r} would go from epsilon = {before} to {after}{_cap(cost)}: "
    if not cost.allowed:
        return f"{change}REFUSED" + (f". {cost.reason}" if cost.reason else "")
    if cost.last:
        return (
            f"{change}allowed only with --last: nothing could be released after it, because "
            f"{cost.reason}"
        )
    return f"{change}allowed, {below(cost.remaining)} left{_if_last(cost, cost.epsilon_after)}"


def _cap(cost: Preview) -> str:
    """How far a release would take the attacker's advantage, where that is capped."""
    if cost.advantage is None or cost.advantage_before is None or cost.advantage_after is None:
        return ""
    used = (above(one, 6) for one in (cost.advantage_before, cost.advantage_after))
    return f", its advantage from {' to '.join(used)} of {below(cost.advantage, 6)}"


def _if_last(cost: Dataset | Preview, spent: float) -> str:
    """What a first release costs if it stays the only one, where that is visibly less."""
    tight = cost.epsilon_if_fixed
    if cost.releases != 1 or tight is None or tight >= spent * (1.0 - 1e-3):
        return ""
    return f" ({above(tight, 6)} if this is the last release)"
