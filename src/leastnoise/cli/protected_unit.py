"""Whom a release protects: the options that say it where no plan does, and a caution where a
release says less or more than those before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from leastnoise.cli.messages import refused
from leastnoise.cli.options import flag, options

if TYPE_CHECKING:
    from leastnoise.ledger.ledger import Dataset

# What `release` takes from its plan, for a release that is made elsewhere.
unit_options = options(
    click.option(
        "--relation",
        type=click.Choice(["add/remove", "replace"]),
        help="Which tables are neighbours: a person comes or goes, or is replaced. All releases "
        "that say it must say the same.",
    ),
    click.option(
        "--person",
        metavar="COLUMN",
        help="Whose rows belong together: the column of person ids, as in a plan.",
    ),
    flag("--one-row-per-person", help="Every row is another person's."),
    click.option(
        "--person-is",
        metavar="WORDS",
        help="What a person is, as in a plan: a patient, a household.",
    ),
)
_UNSAID = {
    "person": "whose rows belong together (--person, --one-row-per-person)",
    "relation": "which tables are neighbours (--relation)",
}


def stated_unit(
    relation: str | None, person: str | None, one_row_per_person: bool, person_is: str | None
) -> dict[str, str]:
    """What the options of `unit_options` say, in the words that `release` writes."""
    from leastnoise.releases.plan.plan import whose_rows

    if person is not None and one_row_per_person:
        raise refused("--person", person, "to stand without --one-row-per-person")
    if person == "":
        raise refused("--person", person, "to name a column")
    whose = whose_rows(person) if person is not None or one_row_per_person else ""
    return {"relation": relation or "", "person": whose, "person_is": person_is or ""}


def unit_caution(account: Dataset, stated: Mapping[str, str]) -> str:
    """Said where this release says less about whom it protects than those before it, or more."""
    if account.releases == 0:
        return ""
    known = {"person": account.unit.person, "relation": account.unit.relation}
    silent = [name for name in _UNSAID if known[name] and not stated[name]]
    settled = [name for name in _UNSAID if stated[name] and not known[name]]
    sentences = []
    if silent:
        who = _protected(known, silent, account.unit.person_is)
        what = " nor ".join(_UNSAID[name] for name in silent)
        sentences.append(
            f"ledger: the releases of {account.name!r} so far protect: {who}. This one does not "
            f"say {what}: what it costs adds up with the others only if it is meant for the same."
        )
    if settled:
        who = _protected(stated, settled)
        what = " nor ".join(_UNSAID[name].partition(" (")[0] for name in settled)
        sentences.append(
            f"ledger: no release of {account.name!r} so far says {what}. From this one on it is "
            f"settled: {who}. Make sure that it was meant before too."
        )
    return "\n".join(sentences)


def _protected(unit: Mapping[str, str], names: Sequence[str], person_is: str = "") -> str:
    """The named parts of a unit, for people."""
    persons = f" ({person_is})" if person_is else ""
    shown = {"person": f"{unit['person']}{persons}", "relation": f"relation = {unit['relation']!r}"}
    return ", ".join(shown[name] for name in names)
