"""The accounts: data sets and releases as the events of a ledger tell them.

`Accounts` follows the committed events one by one, so that a spend costs the same however long the
ledger is. Floats stand in events in hexadecimal, so that they come back bit for bit.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from leastnoise.changes import BOX, changes_from
from leastnoise.errors import LedgerError
from leastnoise.files.canonical import digest
from leastnoise.ledger import event_log
from leastnoise.ledger.advantage import AsGaussian, is_beyond
from leastnoise.ledger.budget import Budget
from leastnoise.ledger.filter import Charge, epsilon_at_rule, filter_epsilon, nothing
from leastnoise.ledger.records import Dataset, JudgedDraw, LawDraws, LedgerEntry, Unit
from leastnoise.text.characters import shown

Uses = Mapping[JudgedDraw, int]  # how often each
_TAMPERED = "Nothing is spent from a ledger that was tampered with; see check()."


@dataclass(frozen=True)
class Account:
    """One data set as its events leave it."""

    budget: Budget
    opened: str
    total: Charge
    uses: Uses = field(default_factory=dict)
    releases: int = 0
    epsilon: float = 0.0
    epsilon_if_fixed: float | None = 0.0
    simple_sum: float = 0.0
    unit: Unit = field(default_factory=Unit)
    as_gaussian: AsGaussian = field(default_factory=AsGaussian)
    advantage: float = 0.0  # used of the cap; 0 where there is none

    def status(self, name: str, closed: bool) -> Dataset:
        """For the reader."""
        budget = self.budget
        allowed = (budget.epsilon, budget.delta, budget.rule)
        spent = (self.epsilon, self.epsilon_if_fixed, self.simple_sum, self.releases, self.opened)
        how = (budget.orders, closed, budget.planned, self.unit)
        stand = (name, *allowed, *spent, *how, budget.advantage, self.advantage_used)
        return Dataset(*stand)

    @property
    def advantage_used(self) -> float | None:
        """What is used of the cap; None where there is none."""
        return None if self.budget.advantage is None else self.advantage

    @property
    def is_within(self) -> bool:
        """Whether what was released is within the budget, and within its cap."""
        cap = self.budget.advantage
        is_below_cap = cap is None or self.advantage <= cap
        return is_below_cap and self.epsilon <= self.budget.epsilon

    @property
    def was_last(self) -> bool:
        """Whether its one release was allowed only as the last: by its tight ε or advantage, the
        filter being beyond the budget already."""
        if not self.budget.is_adaptive or self.releases != 1:
            return False
        if is_beyond(self.as_gaussian, self.budget):
            return True
        return not filter_epsilon(self.total, self.budget) <= self.budget.epsilon

    @staticmethod
    def of_event(data: Mapping[str, Any]) -> Account:
        """The account that a budget opens."""
        budget = Budget(
            _number(data["epsilon"]),
            _number(data["delta"]),
            data["rule"],
            tuple(_number(order) for order in data["orders"]),
            tuple(_number(weight) for weight in data["weights"]),
            data.get("releases"),
            _number_or_none(data.get("advantage")),
        )
        return Account(budget, _shown(data["time"]), nothing(budget))

    def after_event(self, data: Mapping[str, Any]) -> Account:
        """The account after a release, as its event states it."""
        renyi = tuple(_number(value) for value in data["renyi"])
        if len(renyi) != len(self.budget.orders):
            raise ValueError("the orders are not those of the budget")
        total = Charge(renyi, _number(data["largest"]), _number(data["failure"]))
        epsilon, tight = stated_epsilon(data), _number_or_none(data["epsilon_if_fixed"])
        if self.releases == 0:
            # Earlier versions stated the tight ε, which does not hold at every stop.
            epsilon = max(epsilon, epsilon_at_rule(self.budget, total, tight, 1))
        return replace(
            self,
            total=total,
            uses=added(self.uses, draws_of(data)),
            releases=self.releases + 1,
            epsilon=epsilon,
            epsilon_if_fixed=tight,
            simple_sum=_number(data["simple_sum"]),
            unit=self.unit.or_else(unit_of(data)),
            as_gaussian=self._as_gaussian(data),
            advantage=0.0 if self.budget.advantage is None else _number(data["advantage_after"]),
        )

    def _as_gaussian(self, data: Mapping[str, Any]) -> AsGaussian:
        """What the filter of a cap was charged up to an event."""
        if self.budget.advantage is None:
            return AsGaussian()
        return AsGaussian(_number(data["square"]), _number(data["apart"]))

    def clash_with(self, name: str, unit: Unit) -> str | None:
        """What is wrong with a release that protects something else; None if it is the
        same, or unknown.

        What is added up must bound the same change of the table. One person replaced is one removed
        and one added, so what is ε-private for persons who come or go is only 2ε-private for
        persons replaced; the other way round nothing follows at all. And a household of four is
        ε-private only where its persons are ε/4-private.
        """
        found = self.unit.clash_with(unit)
        if found is None:
            return None
        said, instead = found
        return (
            f"The releases of {name!r} so far have {said}, this one {instead}: costs for "
            "different persons or neighbours do not add up. Declare the same in every plan of a "
            "data set."
        )


def stated_epsilon(data: Mapping[str, Any]) -> float:
    """What an event states to be spent after it."""
    return _number(data["epsilon_after"])


def unit_of(data: Mapping[str, Any]) -> Unit:
    """What an event says it protects. Events of earlier versions say the relation at most."""
    return Unit(*(_shown(data.get(name, "")) for name in ("relation", "person", "person_is")))


# A version that knows no caps refuses a ledger that has an event of a kind it does not know: it
# could not keep them.
BUDGET_KINDS = ("budget", "capped budget")


def budget_kind(budget: Budget) -> str:
    """The kind of the event that declares a budget."""
    return BUDGET_KINDS[0 if budget.advantage is None else 1]


def budget_event(name: str, budget: Budget) -> dict[str, Any]:
    """The content of the event that declares a budget."""
    cap = {} if budget.advantage is None else {"advantage": budget.advantage.hex()}
    return {
        "dataset": name,
        "time": event_log.now(),
        "epsilon": budget.epsilon.hex(),
        "delta": budget.delta.hex(),
        "rule": budget.rule,
        "orders": [order.hex() for order in budget.orders],
        "weights": [weight.hex() for weight in budget.weights],
        "releases": budget.releases,
        **cap,
    }


def release_event(
    name: str, draws: Sequence[LawDraws], after: Account, texts: Mapping[str, str]
) -> dict[str, Any]:
    """The content of the event that records a release."""
    tight = after.epsilon_if_fixed
    return {
        "dataset": name,
        "time": event_log.now(),
        **texts,
        "draws": [_draw_as_json(item) for item in draws],
        "renyi": [value.hex() for value in after.total.renyi],
        "largest": after.total.largest.hex(),
        "failure": after.total.failure.hex(),
        "epsilon_after": after.epsilon.hex(),
        "epsilon_if_fixed": None if tight is None else tight.hex(),
        "simple_sum": after.simple_sum.hex(),
        **_cap_numbers(after),
    }


def _cap_numbers(after: Account) -> dict[str, str]:
    """What an event states of a cap, where there is one."""
    if after.budget.advantage is None:
        return {}
    told = after.as_gaussian
    return {
        "square": told.square.hex(),
        "apart": told.apart.hex(),
        "advantage_after": after.advantage.hex(),
    }


def entry_of(event: event_log.Event) -> LedgerEntry:
    """The release that an event records."""
    data = event.data
    draws = draws_of(data)
    hashes = sorted({item.law_hash for item in draws})
    one_law = len(hashes) == 1
    return LedgerEntry(
        id=event.id,
        dataset=_shown(data["dataset"]),
        time=_shown(data["time"]),
        plan_hash=_shown(data["plan_hash"]),
        law_hash=hashes[0] if one_law else digest(hashes),
        epsilon_after=stated_epsilon(data),
        simple_sum=_number(data["simple_sum"]),
        previous_hash=event.previous,
        hash=event.hash,
        epsilon_if_fixed=_number_or_none(data["epsilon_if_fixed"]),
        draws=draws,
        note=_shown(data["note"]),
        stamp=_shown(data["stamp"]),
        advantage_after=_number_or_none(data.get("advantage_after")),
    )


def series_event(entry: int, used: int, unused: str) -> dict[str, Any]:
    """The content of the event that counts the answers of a series."""
    return {"entry": entry, "time": event_log.now(), "used": used, "unused": unused}


def series_used(data: Mapping[str, Any]) -> int:
    """How many answers an event says were used."""
    used = data["used"]
    if type(used) is not int or used < 0:
        raise ValueError("the answers used are no number")
    return used


def _shown(text: Any) -> str:
    """A text of the file as people may see it: it need not have been written by this package."""
    if not isinstance(text, str):
        raise TypeError("a text is not one")
    return shown(text)


def _draw_as_json(item: LawDraws) -> dict[str, Any]:
    """A draw as an event states it; the box of all changes, which older files know alone, is not
    named."""
    told = {"law": item.law_hash, "sensitivity": item.sensitivity.hex(), "uses": item.uses}
    return told if item.changes == BOX else {**told, "changes": item.changes.describe()}


def draws_of(data: Mapping[str, Any]) -> tuple[LawDraws, ...]:
    """The draws that an event states."""
    return tuple(
        LawDraws(
            _shown(item["law"]),
            _number(item["sensitivity"]),
            int(item["uses"]),
            changes_from(item.get("changes")),
        )
        for item in data["draws"]
    )


def _number(text: str) -> float:
    """A number of an event; it may be infinite, but "nan" would pass for anything."""
    value = float.fromhex(text)
    if math.isnan(value):
        raise ValueError("a number is none")
    return value


def _number_or_none(text: str | None) -> float | None:
    return None if text is None else _number(text)


def added(uses: Uses, draws: Sequence[LawDraws]) -> dict[JudgedDraw, int]:
    """The uses with more draws."""
    total = dict(uses)
    for item in draws:
        total[item.judged] = total.get(item.judged, 0) + item.uses
    return total


def _grew(before: Account, after: Account) -> bool:
    """Whether what was spent has not become less: charges are never negative, and rounded up."""
    charges = [
        (
            *(*one.total.renyi, one.total.largest, one.total.failure, one.simple_sum),
            *(one.as_gaussian.square, one.as_gaussian.apart),
        )
        for one in (before, after)
    ]
    return all(then <= now for then, now in zip(*charges, strict=True))


class Accounts:
    """All accounts and entries up to the event `last`, every one of which was verified."""

    def __init__(self) -> None:
        self.last = 0
        self.last_hash = event_log.START
        self.by_name: dict[str, Account] = {}
        self.entries: dict[int, LedgerEntry] = {}
        self.unused: dict[int, str] = {}  # of each series, the digest of its unused numbers

    def follow(self, connection: sqlite3.Connection) -> None:
        """Take in the events that were added since, by this process or another.

        The ledger examines itself whenever it is used: its tables and triggers, the chain, and what
        no ledger of this package would hold. `audit` also computes every number again.
        """
        if not event_log.is_as_made(connection):
            raise LedgerError(
                "The tables or triggers of the ledger are not those it was made with: it was "
                "changed by other means, and nothing is spent from it; see check()."
            )
        if event_log.hash_at(connection, self.last) != self.last_hash:
            raise LedgerError(
                f"Event {self.last} of the ledger was changed while it was open; see check()."
            )
        for event in event_log.events(connection, self.last):
            fault = event.fault_after(self.last, self.last_hash)
            if fault:
                raise LedgerError(f"{fault} {_TAMPERED}")
            self._take(event)
            self.last, self.last_hash = event.id, event.hash
        if event_log.head(connection) != (self.last, self.last_hash):
            raise LedgerError(
                "The newest events of the ledger were removed. Nothing is spent from it; see "
                "check()."
            )

    def _take(self, event: event_log.Event) -> None:
        try:
            data = event.data
            if event.kind in BUDGET_KINDS:
                self._take_budget(event.id, data, event.kind)
            elif event.kind == "release":
                self._take_release(event, data)
            elif event.kind == "done":
                entry = self.entries[data["entry"]]
                self.entries[data["entry"]] = replace(
                    entry, result_hash=_shown(data["result_hash"])
                )
            elif event.kind == "series":
                self._take_series(event.id, data)
            elif event.kind != "ledger" or event.id != 1:
                raise LedgerError(
                    f"Event {event.id} of the ledger is of a kind that cannot stand there, "
                    f"{event.kind!r}."
                )
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise LedgerError(
                f"Event {event.id} of the ledger cannot be understood: {error!r}."
            ) from None

    def _take_budget(self, number: int, data: Mapping[str, Any], kind: str) -> None:
        name = _shown(data["dataset"])
        account = Account.of_event(data)
        if kind != budget_kind(account.budget):
            raise ValueError("a cap on the advantage is declared by an event of its own kind")
        if name in self.by_name:  # the newer one would stand for the older, with nothing spent
            raise LedgerError(
                f"Event {number} declares the budget of {name!r} a second time. {_TAMPERED}"
            )
        self.by_name[name] = account

    def _take_release(self, event: event_log.Event, data: Mapping[str, Any]) -> None:
        name = _shown(data["dataset"])
        account = self.by_name[name].after_event(data)
        if not _grew(self.by_name[name], account):
            raise LedgerError(
                f"Event {event.id} states that less was spent of {name!r} than before it. "
                f"{_TAMPERED}"
            )
        self.by_name[name] = account
        self.entries[event.id] = replace(entry_of(event), epsilon_after=account.epsilon)

    def _take_series(self, number: int, data: Mapping[str, Any]) -> None:
        entry, used = self.entries[data["entry"]], series_used(data)
        if used < (entry.answered or 0):
            raise LedgerError(
                f"Event {number} states that fewer answers of a series were used than before it. "
                f"{_TAMPERED}"
            )
        self.entries[entry.id] = replace(entry, answered=used)
        self.unused[entry.id] = _shown(data["unused"])

    def account(self, name: str) -> Account:
        """The account of a data set, or a LedgerError."""
        if name not in self.by_name:
            raise LedgerError(
                f"The ledger has no data set {name!r}; declare its budget with open_dataset."
            )
        return self.by_name[name]
