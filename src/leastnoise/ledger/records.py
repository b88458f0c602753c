"""What people give to a ledger, and what it gives them: spends, entries, previews, data sets. Names
and notes have one spelling each: two that look the same are the same."""

from __future__ import annotations

import unicodedata
from dataclasses import astuple, dataclass, field

from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.changes import BOX, Changes, checked_changes
from leastnoise.errors import InvalidParameterError, at_least, plain_text, positive_integer
from leastnoise.laws.base import Noise
from leastnoise.ledger.budget import RELEASES, Rule

_LONGEST = {
    **dict.fromkeys(("name", "plan_hash", "result_hash", "relation"), 200),
    **dict.fromkeys(("note", "stamp", "person", "person_is"), 2000),
}


@dataclass(frozen=True)
class Spend:
    """`uses` draws of one law in a release, each with answers that one person moves by
    at most `sensitivity`.

    A mechanism of another library has a PrivacyLoss in the place of its law,
    `interop.dp_accounting.from_pld(…)` for instance; the sensitivity is part of it, and
    so are both directions, a person who comes and one who goes. A loss does not know the changes it
    was judged for: spend a law of this package itself, with its `changes`.

    Attributes:
        noise: The law that is drawn from, or the privacy loss of another library's mechanism.
        sensitivity: By how much one person moves the answers, in their unit; left at 1
            for a privacy loss.
        uses: How many independent draws the release makes; one draw of a batch law is one use.
        changes: Which vectors of changes one person can make, in sensitivities; any signs unless it
            is stated. `OneSided()` is for persons who are added or removed, and says so for the
            whole data set.

    Raises:
        InvalidParameterError: `noise` is neither a law nor the loss of something,
            `sensitivity` is negative, `uses` is no positive whole number, or `changes` is no space.

    Example:
        >>> from leastnoise import gaussian
        >>> Spend(gaussian(10.0), sensitivity=2.0, uses=3).uses
        3
    """

    noise: Noise | PrivacyLoss
    sensitivity: float = 1.0
    uses: int = 1
    changes: Changes = BOX

    def __post_init__(self) -> None:
        if not isinstance(self.noise, (Noise, PrivacyLoss)):
            given = type(self.noise).__name__
            raise InvalidParameterError("noise", given, "to be a noise law or a privacy loss")
        object.__setattr__(self, "sensitivity", at_least("sensitivity", self.sensitivity))
        object.__setattr__(self, "uses", positive_integer("uses", self.uses))
        if isinstance(self.noise, PrivacyLoss):
            if self.sensitivity != 1.0:
                raise InvalidParameterError(
                    "sensitivity", self.sensitivity, "to be left out: a privacy loss has it already"
                )
            if self.changes != BOX:
                raise InvalidParameterError(
                    "changes", self.changes, "to be left out: a privacy loss has them already"
                )
            if not self.noise.parts or any(count < 1 for _, count in self.noise.parts):
                raise InvalidParameterError("noise", self.noise, "to be the loss of something")
            return
        fitted = checked_changes(self.changes, self.noise.dimension)
        object.__setattr__(self, "changes", fitted)


ADD_OR_REMOVE = "add/remove"  # the relation of changes that are all up or all down
JudgedDraw = tuple[str, float, Changes]  # hash of the law, sensitivity, changes


@dataclass(frozen=True)
class LawDraws:
    """Draws of a law that the ledger keeps.

    Attributes:
        law_hash: SHA-256 of the law, by which `Ledger.law` finds it.
        sensitivity: By how much one person moves the answers, in their unit.
        uses: How many draws.
        changes: Which vectors of changes one person can make, in sensitivities.
    """

    law_hash: str
    sensitivity: float
    uses: int
    changes: Changes = BOX

    @property
    def judged(self) -> JudgedDraw:
        """What is judged: all but how often."""
        return self.law_hash, self.sensitivity, self.changes


@dataclass(frozen=True)
class LedgerEntry:
    """One release, as its event in the ledger records it.

    Attributes:
        id: Number of the event.
        dataset: Name of the data set.
        time: When it was spent, UTC, to the second, in ISO 8601.
        plan_hash: What was released, as the caller named it.
        law_hash: Hash of its law; of the sorted list of hashes where it has several.
        epsilon_after: ε spent of the data set after this release, by the rule of its budget.
        simple_sum: Sum of what each release of the data set costs alone, this one
            included: ε at the δ of the data set.
        previous_hash: Hash of the event before.
        hash: Hash of this event.
        epsilon_if_fixed: ε of the data set after this release by tight composition, which holds
            only if all laws were fixed in advance and this release, settled in advance too, is the
            last. None: not computed, where the rule does not need it and it would take long.
        draws: What was drawn.
        note: The caller's own words.
        stamp: What marks the release, a seeded generator for instance; "" if nothing does.
        result_hash: Hash of what was published; None until the release is reported done.
        answered: Of a series of questions on one kept draw, how many answers are used or erased;
            None for any other release.
        advantage_after: The attacker's advantage that is used of the data set after this release,
            by the rule of its budget; None where it has no cap.
    """

    id: int
    dataset: str
    time: str
    plan_hash: str
    law_hash: str
    epsilon_after: float
    simple_sum: float
    previous_hash: str
    hash: str
    epsilon_if_fixed: float | None
    draws: tuple[LawDraws, ...]
    note: str = ""
    stamp: str = ""
    result_hash: str | None = None
    answered: int | None = None
    advantage_after: float | None = None


@dataclass(frozen=True)
class Unit:
    """What releases protect, as their plans declare it; "" where they do not say.

    Attributes:
        relation: Which tables are neighbours, "add/remove" for instance.
        person: Whose rows belong together.
        person_is: What a person is.
    """

    relation: str = ""
    person: str = ""
    person_is: str = ""

    def or_else(self, later: Unit) -> Unit:
        """What is known after a later release: what was said first stays."""
        pairs = zip(astuple(self), astuple(later), strict=True)
        return Unit(*(first or second for first, second in pairs))

    def clash_with(self, other: Unit) -> tuple[str, str] | None:
        """(what was said, what another release says instead), if costs do not add up;
        None if they do, or nothing is known.

        Who says whose rows belong together must say what a person is too, once that was
        said: the same name of a column may stand for others.
        """
        phrases = {"relation": "relation = {!r}", "person": "{}", "person_is": "person_is = {!r}"}
        for name, phrase in phrases.items():
            here, there = getattr(self, name), getattr(other, name)
            left_out = name == "person_is" and bool(other.person) and not there
            if here and (there or left_out) and here != there:
                return phrase.format(here), phrase.format(there) if there else "no person_is"
        return None


@dataclass(frozen=True)
class Preview:
    """What a release would cost now.

    Attributes:
        epsilon_before: ε spent of the data set so far.
        epsilon_after: ε spent after the release, by the rule of the data set.
        simple_sum: Sum of what every release costs alone, each at the δ of the data set
            (simple composition would add up their δ as well).
        allowed: Whether it is within the budget, and for the same persons and
            neighbours as the others.
        remaining: What it would leave of ε; 0 where nothing could follow it.
        epsilon_if_fixed: As in `LedgerEntry`: for the first release of a data set, what
            it costs if it is also the last.
        releases: How many releases the data set would have, this one included.
        last: Less than a thousandth of the budget could follow it, so it must be said to be last.
        reason: Why it is refused, or why it would be the last, where that is not plain
            from the numbers.
        advantage: The cap on the attacker's advantage; None, as the next two, where there is none.
        advantage_before: What is used of it so far.
        advantage_after: What would be used of it after the release.
    """

    epsilon_before: float
    epsilon_after: float
    simple_sum: float
    allowed: bool
    remaining: float
    epsilon_if_fixed: float | None
    releases: int = 1
    last: bool = False
    reason: str = ""
    advantage: float | None = None
    advantage_before: float | None = None
    advantage_after: float | None = None


@dataclass(frozen=True)
class Dataset:
    """A budget and what is spent of it.

    Attributes:
        name: Name of the data set.
        epsilon: ε that all its releases together may cost.
        delta: δ of all its releases together.
        rule: "adaptive" or "fixed in advance".
        spent: ε that is spent. By the adaptive rule it holds at the moment you stop,
            whatever made you stop.
        epsilon_if_fixed: As in `LedgerEntry`, after the newest release.
        simple_sum: Sum of what every release costs alone, ε at `delta`.
        releases: How many releases were made.
        opened: When the budget was declared, UTC, to the second, in ISO 8601.
        orders: Rényi orders of the adaptive rule; none for the other one.
        closed: Less than a thousandth of the budget could be released from it any more.
        planned: How many releases share δ.
        unit: What its releases protect, as far as they said.
        advantage: The largest advantage that an attacker may have over all releases, which is
            (1 + advantage)/2 right guesses from even odds; None where it is not capped.
        advantage_used: What is used of it, by the rule of the budget; None without a cap.
    """

    name: str
    epsilon: float
    delta: float
    rule: Rule
    spent: float
    epsilon_if_fixed: float | None
    simple_sum: float
    releases: int
    opened: str
    orders: tuple[float, ...]
    closed: bool = False
    planned: int = RELEASES
    unit: Unit = field(default_factory=Unit)
    advantage: float | None = None
    advantage_used: float | None = None

    @property
    def remaining(self) -> float:
        """What is left of ε; 0 where it is closed. Under composition a release may cost
        more, or less, than its ε alone: ask `preview`."""
        return 0.0 if self.closed else max(self.epsilon - self.spent, 0.0)


def dataset_name(name: str) -> str:
    """The name of a data set in its one spelling, or an InvalidParameterError.

    Other spaces, and several together, look like one: two data sets of one look would
    have two budgets.
    """
    spelt = spelled("name", name)
    if spelt != " ".join(spelt.split()):
        raise InvalidParameterError("name", name, "to have one ordinary space between two words")
    return spelt


def spelled(name: str, value: str, *, empty: bool = False) -> str:
    """`value`, all of it visible, in one spelling: in NFC é and e + ´ name the same data set."""
    plain_text(name, value, _LONGEST[name], empty=empty)
    if value != value.strip():
        raise InvalidParameterError(name, value, "to be plain text without space at its ends")
    return unicodedata.normalize("NFC", str(value))


def unit_texts(relation: str, person: str, person_is: str) -> dict[str, str]:
    """What a release protects, spelled; "" where it does not say."""
    given = {"relation": relation, "person": person, "person_is": person_is}
    return {name: spelled(name, value, empty=True) for name, value in given.items()}
