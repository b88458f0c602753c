"""The books: data sets and releases as the events of a ledger tell them, and what one more release would add.

`Books` follows the committed events one by one, so that a spend costs the same however long the ledger is.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import Any

from leastnoise.digits import above, below
from leastnoise.errors import AccountingError, LeastNoiseError, LedgerError
from leastnoise.noise import Noise
from leastnoise.privacy.loss import PrivacyLoss
from leastnoise.privacy.single import SingleLoss
from leastnoise.privacy.tables import single_loss
from leastnoise.releases import chain
from leastnoise.releases.accounting import (
    RELEASES,
    SMALLEST,
    Budget,
    Charge,
    Rule,
    Spend,
    can_follow,
    charge,
    filter_epsilon,
    nothing,
    spare_for,
    tight_epsilon,
)
from leastnoise.releases.foreign import is_loss, loss_as_json, loss_from_json
from leastnoise.storage import law_as_json, law_from_json
from leastnoise.texts import shown

_MOST_LAWS = (
    32  # tight composition takes 1 to 3 ms a law; the filter does not care how many there are
)

Uses = Mapping[tuple[str, float], int]  # draws by (hash of the law, sensitivity)


@dataclass(frozen=True)
class Draws:
    """`uses` draws of the law with this hash."""

    law_hash: str
    sensitivity: float
    uses: int


@dataclass(frozen=True)
class Entry:
    """One release. `epsilon_after` and `simple_sum` are totals of the data set after it, the first of
    them what was spent by then. `epsilon_if_fixed` is the total by tight composition, which holds
    only if all laws were fixed in advance and this release, settled in advance too, is the last
    (None: not computed, where the rule does not need it and it would take long). `result_hash` is
    set once the release is reported done."""

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
    draws: tuple[Draws, ...]
    note: str = ""
    stamp: str = ""
    result_hash: str | None = None


@dataclass(frozen=True)
class Unit:
    """What releases protect, as their plans declare it; "" where they do not say. `relation`: which
    tables are neighbours. `person`: whose rows belong together. `person_is`: what a person is."""

    relation: str = ""
    person: str = ""
    person_is: str = ""

    def or_else(self, later: Unit) -> Unit:
        """What is known after a later release: what was said first stays."""
        pairs = zip(astuple(self), astuple(later), strict=True)
        return Unit(*(first or second for first, second in pairs))

    def clash_with(self, other: Unit) -> tuple[str, str] | None:
        """(what was said, what another release says instead), if costs do not add up; None if they do, or nothing is known.

        Who says whose rows belong together must say what a person is too, once that was said: the same name of a column may stand
        for others.
        """
        words = {"relation": "relation = {!r}", "person": "{}", "person_is": "person_is = {!r}"}
        for name, said in words.items():
            here, there = getattr(self, name), getattr(other, name)
            left_out = name == "person_is" and bool(other.person) and not there
            if here and (there or left_out) and here != there:
                return said.format(here), said.format(there) if there else "no person_is"
        return None


@dataclass(frozen=True)
class Preview:
    """What a release would cost. `remaining` is what it would leave of ε; `simple_sum` adds up what
    every release costs alone, each at the δ of the data set (simple composition would add up their δ
    as well). `epsilon_if_fixed` is that of `Entry`: for the first release of a data set, what it costs
    if it is also the last. `releases` counts it. `last`: less than a thousandth of the budget could
    follow it, so it must be said to be the last; nothing is `remaining` then. `reason`: why it is
    refused, or why it would be the last, where that is not plain from the numbers."""

    epsilon_before: float
    epsilon_after: float
    simple_sum: float
    allowed: bool
    remaining: float
    epsilon_if_fixed: float | None
    releases: int = 1
    last: bool = False
    reason: str = ""


@dataclass(frozen=True)
class Dataset:
    """A budget and what is spent of it. By the adaptive rule `spent` holds at the moment you stop,
    whatever made you stop. `epsilon_if_fixed` is that of `Entry`. `closed`: less than a thousandth of
    the budget could be released from it any more. `planned`: how many releases share δ. `unit`: what
    its releases protect, as far as they said."""

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

    @property
    def remaining(self) -> float:
        """What is left of ε; 0 where it is closed. Under composition a release may cost more, or less, than its ε alone: ask
        `preview`."""
        return 0.0 if self.closed else max(self.epsilon - self.spent, 0.0)


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

    def status(self, name: str, closed: bool) -> Dataset:
        """For the reader."""
        budget = self.budget
        return Dataset(
            name,
            budget.epsilon,
            budget.delta,
            budget.rule,
            self.epsilon,
            self.epsilon_if_fixed,
            self.simple_sum,
            self.releases,
            self.opened,
            budget.orders,
            closed,
            budget.releases or RELEASES,
            self.unit,
        )

    @property
    def was_last(self) -> bool:
        """Whether its one release was allowed only as the last: by its tight ε, the filter being beyond the budget already."""
        budget = self.budget
        return (
            budget.rule == "adaptive"
            and self.releases == 1
            and not filter_epsilon(self.total, budget) <= budget.epsilon
        )

    @staticmethod
    def of_event(data: Mapping[str, Any]) -> Account:
        """The account that a budget opens."""
        budget = Budget(
            float.fromhex(data["epsilon"]),
            float.fromhex(data["delta"]),
            data["rule"],
            tuple(float.fromhex(order) for order in data["orders"]),
            tuple(float.fromhex(weight) for weight in data["weights"]),
            data.get("releases"),
        )
        return Account(budget, _shown(data["time"]), nothing(budget))

    def after_event(self, data: Mapping[str, Any]) -> Account:
        """The account after a release, as its event states it."""
        renyi = tuple(float.fromhex(value) for value in data["renyi"])
        if len(renyi) != len(self.budget.orders):
            raise ValueError("the orders are not those of the budget")
        total = Charge(renyi, float.fromhex(data["largest"]), float.fromhex(data["failure"]))
        epsilon, tight = stated_epsilon(data), _number_or_none(data["epsilon_if_fixed"])
        if (
            self.releases == 0
        ):  # earlier versions stated the tight ε, which does not hold at every stop
            epsilon = max(epsilon, epsilon_at_rule(self.budget, total, tight, 1))
        return replace(
            self,
            total=total,
            uses=added(self.uses, draws_of(data)),
            releases=self.releases + 1,
            epsilon=epsilon,
            epsilon_if_fixed=tight,
            simple_sum=float.fromhex(data["simple_sum"]),
            unit=self.unit.or_else(unit_of(data)),
        )

    def clash_with(self, name: str, unit: Unit) -> str | None:
        """What is wrong with a release that protects something else; None if it is the same, or unknown.

        What is added up must bound the same change of the table. One person replaced is one removed and one added, so what is
        ε-private for persons who come or go is only 2ε-private for persons replaced; the other way round nothing follows at all.
        And a household of four is ε-private only where its persons are ε/4-private.
        """
        found = self.unit.clash_with(unit)
        if found is None:
            return None
        said, instead = found
        return (
            f"The releases of {name!r} so far have {said}, this one {instead}: costs for different persons or neighbours do not "
            "add up. Declare the same in every plan of a data set."
        )


def stated_epsilon(data: Mapping[str, Any]) -> float:
    """What an event states to be spent after it."""
    return float.fromhex(data["epsilon_after"])


def unit_of(data: Mapping[str, Any]) -> Unit:
    """What an event says it protects. Events of earlier versions say the relation at most."""
    return Unit(*(_shown(data.get(name, "")) for name in ("relation", "person", "person_is")))


def budget_event(name: str, budget: Budget) -> dict[str, Any]:
    """The content of the event that declares a budget."""
    return {
        "dataset": name,
        "time": chain.now(),
        "epsilon": budget.epsilon.hex(),
        "delta": budget.delta.hex(),
        "rule": budget.rule,
        "orders": [order.hex() for order in budget.orders],
        "weights": [weight.hex() for weight in budget.weights],
        "releases": budget.releases,
    }


def release_event(
    name: str, draws: Sequence[Draws], after: Account, texts: Mapping[str, str]
) -> dict[str, Any]:
    """The content of the event that records a release; floats in hexadecimal, so that they come back bit for bit."""
    return {
        "dataset": name,
        "time": chain.now(),
        **texts,
        "draws": [
            {"law": item.law_hash, "sensitivity": item.sensitivity.hex(), "uses": item.uses}
            for item in draws
        ],
        "renyi": [value.hex() for value in after.total.renyi],
        "largest": after.total.largest.hex(),
        "failure": after.total.failure.hex(),
        "epsilon_after": after.epsilon.hex(),
        "epsilon_if_fixed": None
        if after.epsilon_if_fixed is None
        else after.epsilon_if_fixed.hex(),
        "simple_sum": after.simple_sum.hex(),
    }


def entry_of(event: chain.Event) -> Entry:
    """The release that an event records."""
    data = event.data
    draws = draws_of(data)
    hashes = sorted({item.law_hash for item in draws})
    return Entry(
        id=event.id,
        dataset=_shown(data["dataset"]),
        time=_shown(data["time"]),
        plan_hash=_shown(data["plan_hash"]),
        law_hash=hashes[0] if len(hashes) == 1 else chain.text_digest(chain.canonical(hashes)),
        epsilon_after=stated_epsilon(data),
        simple_sum=float.fromhex(data["simple_sum"]),
        previous_hash=event.previous,
        hash=event.hash,
        epsilon_if_fixed=_number_or_none(data["epsilon_if_fixed"]),
        draws=draws,
        note=_shown(data["note"]),
        stamp=_shown(data["stamp"]),
    )


def _shown(text: Any) -> str:
    """A text of the file as people may see it: who wrote it there need not have asked this package."""
    if not isinstance(text, str):
        raise TypeError("a text is not one")
    return shown(text)


def draws_of(data: Mapping[str, Any]) -> tuple[Draws, ...]:
    """The draws that an event states."""
    return tuple(
        Draws(_shown(item["law"]), float.fromhex(item["sensitivity"]), int(item["uses"]))
        for item in data["draws"]
    )


def _number_or_none(text: str | None) -> float | None:
    return None if text is None else float.fromhex(text)


def added(uses: Uses, draws: Sequence[Draws]) -> dict[tuple[str, float], int]:
    """The uses with more draws."""
    total = dict(uses)
    for item in draws:
        key = (item.law_hash, item.sensitivity)
        total[key] = total.get(key, 0) + item.uses
    return total


def _grew(before: Account, after: Account) -> bool:
    """Whether what was spent has not become less: charges are never negative, and rounded up."""
    charges = [
        (*one.total.renyi, one.total.largest, one.total.failure, one.simple_sum)
        for one in (before, after)
    ]
    return all(then <= now for then, now in zip(*charges, strict=True))


class Books:
    """All accounts and entries up to the event `last`, every one of which was verified."""

    def __init__(self) -> None:
        self.last = 0
        self.last_hash = chain.START
        self.accounts: dict[str, Account] = {}
        self.entries: dict[int, Entry] = {}

    def follow(self, connection: sqlite3.Connection) -> None:
        """Take in the events that were added since, by this process or another.

        The ledger examines itself whenever it is used: its tables and triggers, the chain, and what
        no ledger of this package would hold. `audit` also computes every number again.
        """
        if not chain.is_as_made(connection):
            raise LedgerError(
                "The tables or triggers of the ledger are not those it was made with: it was changed by "
                "other means, and nothing is spent from it; see check()."
            )
        if chain.hash_at(connection, self.last) != self.last_hash:
            raise LedgerError(
                f"Event {self.last} of the ledger was changed while it was open; see check()."
            )
        for event in chain.events(connection, self.last):
            fault = event.fault_after(self.last, self.last_hash)
            if fault:
                raise LedgerError(
                    f"{fault} Nothing is spent from a ledger that was tampered with; see check()."
                )
            self._take(event)
            self.last, self.last_hash = event.id, event.hash
        if chain.head(connection) != (self.last, self.last_hash):
            raise LedgerError(
                "The newest events of the ledger were removed. Nothing is spent from it; see check()."
            )

    def _take(self, event: chain.Event) -> None:
        try:
            data = event.data
            if event.kind == "budget":
                name = _shown(data["dataset"])
                if (
                    name in self.accounts
                ):  # the newer one would stand for the older, with nothing spent
                    raise LedgerError(
                        f"Event {event.id} declares the budget of {name!r} a second time. Nothing is spent "
                        "from a ledger that was tampered with; see check()."
                    )
                self.accounts[name] = Account.of_event(data)
            elif event.kind == "release":
                name = _shown(data["dataset"])
                account = self.accounts[name].after_event(data)
                if not _grew(self.accounts[name], account):
                    raise LedgerError(
                        f"Event {event.id} states that less was spent of {name!r} than before it. Nothing is "
                        "spent from a ledger that was tampered with; see check()."
                    )
                self.accounts[name] = account
                self.entries[event.id] = replace(entry_of(event), epsilon_after=account.epsilon)
            elif event.kind == "done":
                self.entries[data["entry"]] = replace(
                    self.entries[data["entry"]], result_hash=_shown(data["result_hash"])
                )
            elif event.kind != "ledger" or event.id != 1:
                raise LedgerError(
                    f"Event {event.id} of the ledger is of a kind that cannot stand there, {event.kind!r}."
                )
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise LedgerError(
                f"Event {event.id} of the ledger cannot be understood: {error!r}."
            ) from None

    def account(self, name: str) -> Account:
        """The account of a data set, or a LedgerError."""
        if name not in self.accounts:
            raise LedgerError(
                f"The ledger has no data set {name!r}; declare its budget with open_dataset."
            )
        return self.accounts[name]


@dataclass(frozen=True)
class Laws:
    """The laws of one release as text, by hash, and how they are drawn."""

    texts: Mapping[str, str]
    draws: tuple[Draws, ...]


class Prices:
    """What releases cost. Losses and costs that were computed once are kept."""

    def __init__(self) -> None:
        self._losses: dict[tuple[str, float], SingleLoss] = {}
        self._foreign: dict[str, bool] = {}
        self._texts: dict[Noise, tuple[str, str]] = {}
        self._charges: dict[tuple[str, float, Budget, float], Charge] = {}
        self._alone: dict[tuple[tuple[Draws, ...], float], float] = {}
        self._closed: dict[tuple[frozenset[tuple[tuple[str, float], int]], Budget], bool] = {}

    def laws(self, spends: Sequence[Spend]) -> Laws:
        """The laws of a release, hashed, with their losses at hand."""
        texts, draws = {}, []
        for spend in spends:
            for law_hash, text, uses in self._hashed(spend):
                texts[law_hash] = text
                draws.append(Draws(law_hash, spend.sensitivity, uses))
        return Laws(texts, tuple(draws))

    def _hashed(self, spend: Spend) -> list[tuple[str, str, int]]:
        """(hash, text, uses) of a law, or of every part of a loss."""
        if isinstance(spend.noise, PrivacyLoss):
            found = []
            for part, count in spend.noise.parts:
                content = loss_as_json(part)
                text = chain.canonical(content)
                law_hash = chain.text_digest(text)
                self._losses.setdefault(
                    (law_hash, 1.0), loss_from_json(content)
                )  # as it will be read
                self._foreign[law_hash] = True
                found.append((law_hash, text, count * spend.uses))
            return found
        if spend.noise not in self._texts:
            text = chain.canonical(law_as_json(spend.noise))
            self._texts[spend.noise] = (chain.text_digest(text), text)
        law_hash, text = self._texts[spend.noise]
        if (law_hash, spend.sensitivity) not in self._losses:
            self._losses[law_hash, spend.sensitivity] = single_loss(spend.noise, spend.sensitivity)
            self._foreign[law_hash] = False
        return [(law_hash, text, spend.uses)]

    def loss(self, connection: sqlite3.Connection, law_hash: str, sensitivity: float) -> SingleLoss:
        """The loss of one draw, from the law in the file where it is not at hand."""
        key = (law_hash, sensitivity)
        if key not in self._losses:
            law = stored_law(connection, law_hash)
            self._foreign[law_hash] = not isinstance(law, Noise)
            self._losses[key] = (
                single_loss(law, sensitivity) if isinstance(law, Noise) else law.parts[0][0]
            )
        return self._losses[key]

    def after(
        self, connection: sqlite3.Connection, account: Account, draws: tuple[Draws, ...]
    ) -> Account:
        """The account with one more release."""
        uses, total = added(account.uses, draws), self.total_after(connection, account, draws)
        tight = self.tight(connection, account.budget, uses)
        epsilon = epsilon_at_rule(account.budget, total, tight, account.releases + 1)
        if account.was_last:  # whatever the rounding of the next filter does
            epsilon = max(epsilon, filter_epsilon(account.total, account.budget))
        return replace(
            account,
            total=total,
            uses=uses,
            releases=account.releases + 1,
            epsilon=epsilon,
            epsilon_if_fixed=tight,
            simple_sum=account.simple_sum + self.alone(connection, draws, account.budget.delta),
        )

    def total_after(
        self, connection: sqlite3.Connection, account: Account, draws: tuple[Draws, ...]
    ) -> Charge:
        """What the filter has been charged after one more release: as it is, or with its rarest losses counted as failures."""
        plain = self._total(connection, account, draws, 0.0)
        if account.budget.rule != "adaptive":
            return plain
        spare = spare_for(account.total, account.budget) / sum(item.uses for item in draws)
        trimmed = self._total(connection, account, draws, spare)
        better = filter_epsilon(trimmed, account.budget) < filter_epsilon(plain, account.budget) * (
            1.0 - 1e-6
        )
        return trimmed if better else plain

    def _total(
        self,
        connection: sqlite3.Connection,
        account: Account,
        draws: tuple[Draws, ...],
        spare: float,
    ) -> Charge:
        total = account.total
        for item in draws:
            key = (item.law_hash, item.sensitivity, account.budget, spare)
            if key not in self._charges:
                loss = self.loss(connection, item.law_hash, item.sensitivity)
                self._charges[key] = charge(
                    loss, account.budget, spare=spare, foreign=self._foreign[item.law_hash]
                )
            total = total.plus(self._charges[key].times(item.uses))
        return total

    def tight(self, connection: sqlite3.Connection, budget: Budget, uses: Uses) -> float | None:
        """ε of all draws by tight composition; None where the rule does not need it and it would take long or is not certified."""
        if budget.rule == "adaptive" and len(uses) > _MOST_LAWS:
            return None
        try:
            return tight_epsilon(
                [(self.loss(connection, *key), count) for key, count in uses.items()], budget.delta
            )
        except AccountingError:
            if budget.rule != "adaptive":
                raise
            return None

    def closed(self, connection: sqlite3.Connection, account: Account) -> bool:
        """Whether less than `SMALLEST` of the budget can be released after what was."""
        budget = account.budget
        if account.releases == 0:
            return False
        if budget.rule == "adaptive":
            return not can_follow(account.total, budget)
        key = (frozenset(account.uses.items()), budget)
        if key not in self._closed:
            # What follows may fail too: something of δ must be left for it.
            spent = self.tight(
                connection, replace(budget, delta=budget.delta * (1.0 - SMALLEST)), account.uses
            )
            self._closed[key] = (
                spent is None or not spent + SMALLEST * budget.epsilon <= budget.epsilon
            )
        return self._closed[key]

    def alone(
        self, connection: sqlite3.Connection, draws: tuple[Draws, ...], delta: float
    ) -> float:
        """ε of one release by itself."""
        if (draws, delta) not in self._alone:
            losses = [
                (self.loss(connection, item.law_hash, item.sensitivity), item.uses)
                for item in draws
            ]
            self._alone[draws, delta] = tight_epsilon(losses, delta)
        return self._alone[draws, delta]


def epsilon_at_rule(budget: Budget, total: Charge, tight: float | None, releases: int) -> float:
    """The ε that is spent, and that the budget limits; see `accounting` for the two rules and the single release."""
    if budget.rule != "adaptive":
        return math.inf if tight is None else tight
    filtered = filter_epsilon(total, budget)
    last = (
        releases == 1 and not filtered <= budget.epsilon
    )  # the filter will refuse whatever comes after it
    return min(filtered, tight) if last and tight is not None else filtered


def why_refused(before: Account, after: Account) -> str:
    """Why a release is refused, where it is not its ε alone. What would be allowed instead can only be found by trying."""
    budget, failed = after.budget, before.total.failure
    if before.was_last:
        return "Its first release was within the budget only as the last one, so nothing can follow it."
    if after.total.failure <= budget.for_failures:
        return ""
    return (
        f"Noise that ends where a neighbour's goes on counts as a failure. Of delta={budget.delta:g} the rule has "
        f"{budget.for_failures:.2g} for failures, of which {failed:.2g} is used, and this release needs "
        f"{after.total.failure - failed:.2g}."
    )


def why_last(after: Account) -> str:
    """Why next to nothing could follow a release that is within the budget."""
    budget = after.budget
    if after.total.failure + SMALLEST * budget.for_failures > budget.for_failures:
        return (
            f"its noise ends where a neighbour's goes on, with probability {after.total.failure:.2g} over all releases, and of "
            f"delta={budget.delta:g} the rule has {budget.for_failures:.2g} for that"
        )
    if after.was_last:
        return f"it costs epsilon={above(after.epsilon, 6)} if it is the last, and more than {below(budget.epsilon, 6)} if it is not"
    return f"it takes epsilon={above(after.epsilon, 6)} of {below(budget.epsilon, 6)}"


def stored_law(connection: sqlite3.Connection, law_hash: str) -> Noise | PrivacyLoss:
    """The law kept under a hash, or the loss of another library's mechanism, bit for bit."""
    law = chain.stored_law(connection, law_hash)
    try:
        return PrivacyLoss(((loss_from_json(law), 1),)) if is_loss(law) else law_from_json(law)
    except (KeyError, TypeError, ValueError, ArithmeticError, LeastNoiseError) as error:
        raise LedgerError(
            f"The law {law_hash[:16]}… of the ledger does not describe a law: {error}"
        ) from None
