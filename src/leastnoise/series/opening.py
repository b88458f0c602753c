"""How a series is opened: a new one, designed, charged and drawn, or one that is gone on with."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from functools import partial
from os import PathLike
from typing import Any

from leastnoise.changes import Changes
from leastnoise.errors import (
    InvalidParameterError,
    LeastNoiseError,
    LedgerError,
    SeriesError,
    open_unit,
    positive,
    positive_integer,
)
from leastnoise.files.reading import only_fields
from leastnoise.laws.base import Domain, Noise
from leastnoise.ledger.event_log import now
from leastnoise.ledger.ledger import Ledger
from leastnoise.ledger.records import (
    LawDraws,
    LedgerEntry,
    Spend,
    dataset_name,
    unit_texts,
)
from leastnoise.ledger.stored_laws import as_stored
from leastnoise.releases.advice import unit_of
from leastnoise.releases.noise.search import SampledLaw
from leastnoise.releases.plan.file import load_plan
from leastnoise.releases.plan.plan import Plan
from leastnoise.sampling.entropy import Entropy, chosen, stamp_of
from leastnoise.series.kept_draw import kept_draw, writing
from leastnoise.series.law import changes_served, check_convex, series_law
from leastnoise.series.series import Series
from leastnoise.series.slots import known_cipher, new_cipher
from leastnoise.text.characters import fault_within

FORMAT = "leastnoise.series"
_FIELDS = {
    *("format", "version", "id", "opened", "questions", "epsilon", "delta", "law", "draws"),
    *("origin", "dataset", "unit", "charged", "encryption", "entropy", "inode", "noted"),
}
MOST_QUESTIONS = 10_000


def open_series(
    path: str | PathLike[str],
    *,
    questions: int | None = None,
    epsilon: float | None = None,
    sigma: float | None = None,
    delta: float | None = None,
    domain: Domain = "real",
    changes: Changes | None = None,
    ledger: Ledger | None = None,
    dataset: str | None = None,
    plan: Plan | str | PathLike[str] | None = None,
    relation: str = "",
    person: str = "",
    person_is: str = "",
    note: str = "",
    last: bool = False,
    passphrase: str | None = None,
    entropy: Entropy | None = None,
    not_private: bool = False,
) -> Series:
    """Open a new series of answers on one kept draw, or go on with one.

    With `questions` a new one: the law is designed, the ledger charged once for all questions, the
    noise drawn and kept in a new file that only its owner can read. Without, the series of the
    file is gone on with.

    Args:
        path: The file of the series, as secret as the table.
        questions: How many answers it is for: at most 10,000, settled before the first is seen.
        epsilon: The privacy loss ε of all answers together; the least noise is found. Give this or
            `sigma`.
        sigma: The standard deviation of the noise on an answer that one person moves by at most 1;
            the least ε is found.
        delta: The probability with which ε may fail, in (0, 1); with a ledger its share of the
            ledger's, unless given.
        domain: "real", or "integer" for questions whose answers are whole numbers that one person
            changes by at most 1.
        changes: `OneSided()` for questions that a person who is added can only raise, all of them,
            where persons are added or removed: on the real line, with less noise. By default they
            go either way.
        ledger: Keeps the budget of `dataset`, and counts the answers, so that an old copy of the
            file is refused. A series that was charged to a ledger answers only with it.
        dataset: With a ledger, the data set whose budget pays.
        plan: A plan, or its file, that protects whom the series is to protect: relation, person and
            person_is are taken from it. The series can then answer it, and others like it.
        relation: Without a plan, which tables are neighbours, as `Ledger.spend` takes it.
        person: Whose rows belong together, likewise.
        person_is: What a person is, likewise.
        note: Words of your own, for the ledger.
        last: As for `Ledger.spend`: whether nothing needs to follow it.
        passphrase: Encrypts the numbers in the file (scrypt, ChaCha20-Poly1305); without it an
            encrypted series can be looked at and closed, not answer. Needs the extra `encrypted`.
        entropy: For tests: any other source than the operating system's needs `not_private=True`,
            and everything says so.
        not_private: That nothing is guaranteed, and that you know it.

    Returns:
        The series.

    Raises:
        InvalidParameterError: A number is outside its range, or options do not belong together.
        SeriesError: The file is there already, or is no series, or is not the caller's alone.
        DesignError: No noise within reach gives this ε.
        BudgetExceededError: The ledger's budget does not suffice; nothing was drawn.
        LedgerError: The series was charged to another ledger, or its file is an old copy.

    Guarantees: see `Series`. Whatever fails before the ledger is charged costs nothing.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     series = open_series(f"{folder}/a.series", questions=10, sigma=8.0, delta=1e-6)
        ...     round(series.epsilon, 2)
        0.83
    """
    if questions is None:
        given: dict[str, Any] = {"epsilon": epsilon, "sigma": sigma, "delta": delta}
        given |= {"dataset": dataset, "changes": changes}
        for name, value in given.items():
            if value is not None:
                raise InvalidParameterError(
                    name, value, "to come with questions=, for a new series"
                )
        return _again(path, ledger, passphrase)
    count = positive_integer("questions", questions)
    if count > MOST_QUESTIONS:
        raise InvalidParameterError("questions", questions, f"to be at most {MOST_QUESTIONS}")
    if ledger is not None and not isinstance(ledger, Ledger):
        raise InvalidParameterError("ledger", ledger, "to be a Ledger")
    if (ledger is None) != (dataset is None):
        raise InvalidParameterError(
            "dataset", dataset, "to come with a ledger, and a ledger with it"
        )
    unit = _unit(plan, unit_texts(relation, person, person_is))
    source = chosen(entropy, not_private)
    share = _share(delta, ledger, dataset)
    _check_relation(changes, unit)
    law, cost = series_law(
        count, share, epsilon=epsilon, sigma=sigma, domain=domain, changes=changes
    )
    if changes_served(law.noise).is_one_sided:
        unit = {**unit, "relation": "add/remove"}
    return new_series(
        path,
        count,
        law,
        cost,
        share,
        unit=unit,
        source=source,
        ledger=ledger,
        dataset=dataset,
        note=note,
        last=last,
        passphrase=passphrase,
    )


def new_series(
    path: str | PathLike[str],
    questions: int,
    law: SampledLaw,
    epsilon: float,
    delta: float,
    *,
    unit: dict[str, str],
    source: Entropy,
    ledger: Ledger | None = None,
    dataset: str | None = None,
    note: str = "",
    last: bool = False,
    passphrase: str | None = None,
) -> Series:
    """A new series with this law, which must cost what is stated: `open_series` finds it."""
    spends = [Spend(law.noise, 1.0, law.uses, changes_served(law.noise))]
    if ledger is not None and dataset is not None:
        _check_allowed(ledger, dataset, spends, unit, last)
    cipher, told = new_cipher(passphrase)
    header: dict[str, Any] = {
        "format": FORMAT,
        "version": 1,
        "id": secrets.token_hex(16),
        "opened": now(),
        "questions": questions,
        "epsilon": epsilon.hex(),
        "delta": delta.hex(),
        "law": law.noise.describe_drawn(),
        "draws": law.uses,
        "origin": law.origin,
        "dataset": dataset,
        "unit": unit,
        "charged": ledger is not None,
        "encryption": told,
        "entropy": stamp_of(source),
    }
    numbers = law.noise.sampler().integers((law.uses,), source).reshape(-1)[:questions].tolist()
    entry = None
    charged = partial(_is_charged, ledger)
    with writing(path, header, numbers, cipher, charged) as (kept, start):
        if ledger is not None and dataset is not None:
            words = {"note": note or f"a series of {questions} questions"}
            words["stamp"] = header["entropy"]
            spent = ledger.spend(dataset, spends, plan_hash=kept.digest, **words, **unit, last=last)
            entry = spent.id
            with ledger.counting_series(entry, **vars(start)):
                pass  # it knows the numbers from now on
    return Series(kept, law.noise, cipher, ledger, entry)


def _is_charged(ledger: Ledger | None, digest: str) -> bool:
    """Whether the ledger was charged for a series, or may have been: then its file stays."""
    try:
        return ledger is not None and any(entry.plan_hash == digest for entry in ledger.entries())
    except LeastNoiseError:
        return True


def _unit(plan: Plan | str | PathLike[str] | None, stated: dict[str, str]) -> dict[str, str]:
    """Whom a new series protects: as a plan says it, or as it is stated."""
    if plan is None:
        return stated
    for name, value in stated.items():
        if value:
            raise InvalidParameterError(name, value, "to be left out: the plan says it")
    return unit_of(plan if isinstance(plan, Plan) else load_plan(plan))


def _check_relation(changes: Changes | None, unit: dict[str, str]) -> None:
    """Questions that all move one way are for persons who come or go."""
    is_one_sided = isinstance(changes, Changes) and changes.is_one_sided
    if is_one_sided and unit["relation"] not in ("", "add/remove"):
        raise InvalidParameterError(
            "relation",
            unit["relation"],
            'to be "add/remove" with changes=OneSided(): a person who is replaced moves some '
            "answers up and others down",
        )


def _share(delta: float | None, ledger: Ledger | None, dataset: str | None) -> float:
    """The δ of a new series: its own, or its share of the ledger's."""
    if delta is not None:
        return open_unit("delta", delta)
    if ledger is None or dataset is None:
        raise InvalidParameterError(
            "delta", delta, "to be given, or a ledger that has a share of it"
        )
    return ledger.delta_share(dataset)


def _check_allowed(
    ledger: Ledger, dataset: str, spends: list[Spend], unit: dict[str, str], last: bool
) -> None:
    """The ledger's own refusal, if it would refuse, before anything is drawn."""
    cost = ledger.preview(dataset_name(dataset), spends, **unit)
    if not cost.allowed or (cost.last and not last):
        ledger.spend(dataset, spends, plan_hash="a series that is refused", **unit, last=last)


def _again(path: str | PathLike[str], ledger: Ledger | None, passphrase: str | None) -> Series:
    """A series that was opened before."""
    kept = kept_draw(path)
    header = kept.header
    try:
        law = Noise.from_drawn(header["law"])
        _check_header(header, law)
        law.sampler()
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, LeastNoiseError):
        raise SeriesError(f"{str(kept.path)!r} is not a series that can be read here.") from None
    check_convex(law)
    if ledger is not None and not header["charged"]:
        raise SeriesError("The series was opened without a ledger, and stays without one.")
    entry = None
    # another process that takes a number in between would make this file look like an old copy
    with kept.standing() as (used, unused):
        if ledger is not None:
            charged = ledger.series_entry(kept.digest, first=used, left=unused)
            _check_charged(charged, header, law)
            entry = charged.id
    cipher = known_cipher(header["encryption"], passphrase)
    return Series(kept, law, cipher, ledger, entry)


def _check_header(header: Mapping[str, Any], law: Noise) -> None:
    """A ValueError, or another one of reading, unless a file says of itself what `new_series` makes
    it say."""
    only_fields("the series", header, _FIELDS)
    types: dict[str, type] = dict.fromkeys(("id", "opened", "origin", "entropy"), str)
    types |= {"charged": bool, "noted": bool, "draws": int, "questions": int}
    if (header["format"], header["version"]) != (FORMAT, 1) or fault_within(dict(header)):
        raise ValueError("of another version, or unreadable")
    if any(type(header[name]) is not wanted for name, wanted in types.items()):
        raise ValueError("a text, a number or a flag is none")
    positive("epsilon", float.fromhex(header["epsilon"]))
    open_unit("delta", float.fromhex(header["delta"]))
    if not 0 < header["questions"] <= header["draws"] * law.dimension:
        raise ValueError("more questions than were drawn for")
    if unit_texts(**header["unit"]) != header["unit"]:
        raise ValueError("the unit is none")
    if header["charged"]:
        dataset_name(header["dataset"])
    elif header["dataset"] is not None:
        raise ValueError("a data set that was not charged")


def _check_charged(entry: LedgerEntry, header: Mapping[str, Any], law: Noise) -> None:
    """Refuse a ledger that was charged for something else under the name of the series."""
    ((stored, _),) = as_stored(law)
    drawn = (LawDraws(stored.hash, 1.0, header["draws"], changes_served(law)),)
    if entry.dataset != header["dataset"] or entry.draws != drawn:
        raise LedgerError(
            f"Release {entry.id} of the ledger has the name of the series, but was charged for "
            "something else. Nothing is answered from it."
        )
