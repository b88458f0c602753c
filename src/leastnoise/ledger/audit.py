"""The audit of a ledger: is the file whole, the chain unbroken, and do laws give the numbers?"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.artefact.rigorous import proof_of_draws
from leastnoise.errors import LeastNoiseError, MissingExtraError, UnsupportedError
from leastnoise.ledger import event_log
from leastnoise.ledger.accounts import (
    BUDGET_KINDS,
    Account,
    added,
    budget_kind,
    draws_of,
    series_used,
    stated_epsilon,
    unit_of,
)
from leastnoise.ledger.filter import epsilon_at_rule
from leastnoise.ledger.prices import Prices
from leastnoise.ledger.records import ADD_OR_REMOVE, JudgedDraw, LawDraws
from leastnoise.ledger.stored_laws import law_at
from leastnoise.text.characters import shown

# stated and recomputed numbers may differ by this share of themselves: another machine's rounding
_SAME = 1e-9
# what reading an event may raise that somebody else wrote
_UNPLAIN = (KeyError, TypeError, ValueError, ArithmeticError, AttributeError)
_NOT_UNDERSTOOD = (*_UNPLAIN, LeastNoiseError)


@dataclass(frozen=True)
class LedgerCheck:
    """What the audit of a ledger found.

    Attributes:
        problems: Everything that is wrong, one sentence each.
        entries: How many releases the ledger has.
        head: Hash of the newest event: publish it, and compare it later.
    """

    problems: tuple[str, ...]
    entries: int
    head: str

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


@dataclass
class _Audit:
    """How far the audit is. Accounts go on with what is stated, so that one wrong
    number is reported once."""

    connection: sqlite3.Connection
    every_entry: bool
    rigorous: bool = False
    # its own: losses remembered from before an edit would hide it
    prices: Prices = field(default_factory=Prices)
    accounts: dict[str, Account] = field(default_factory=dict)
    newest: dict[str, tuple[int, Account]] = field(default_factory=dict)
    releases: set[int] = field(default_factory=set)
    # of series, by their release: answers used, and the digest of those left
    answered: dict[int, tuple[int, str]] = field(default_factory=dict)
    drawn: dict[int, int] = field(default_factory=dict)  # answers that a release drew noise for
    # that were found whole, with the answers of one draw; none for the loss of something else
    laws: dict[str, int] = field(default_factory=dict)
    named: set[str] = field(default_factory=set)
    last: int = 0
    last_hash: str = event_log.START
    hashes: set[str] = field(default_factory=set)


def audit(
    connection: sqlite3.Connection,
    *,
    head: str | None,
    every_entry: bool,
    rigorous: bool = False,
) -> LedgerCheck:
    """Verify everything in the file."""
    state = _Audit(connection, every_entry, rigorous)
    whole = connection.execute("PRAGMA integrity_check")
    problems = [f"SQLite: {row[0]}." for row in whole if row[0] != "ok"]
    for event in event_log.events(connection):
        problems += _event_faults(state, event)
    if not every_entry:
        for number, account in state.newest.values():
            problems += _tight_faults(state, number, account)
    if rigorous:
        for number, account in state.newest.values():
            problems += _unproven_total(state, number, account)
    problems += _file_faults(state)
    if head is not None and head not in state.hashes:
        problems.append(
            "The ledger does not contain the given hash: it was rewritten, or an older copy was "
            "put back."
        )
    seen = tuple(shown(problem) for problem in problems)
    return LedgerCheck(seen, len(state.releases), shown(str(state.last_hash)))


def _event_faults(state: _Audit, event: event_log.Event) -> list[str]:
    """What is wrong with an event as the next of the chain, and with what it says."""
    fault = event.fault_after(state.last, state.last_hash)
    state.last, state.last_hash = event.id, event.hash
    state.hashes.add(event.hash)
    try:
        found = _faults(state, event)
    except MissingExtraError:
        raise
    except _NOT_UNDERSTOOD as error:
        found = [f"Event {event.id} cannot be understood: {error}"]
    return [fault, *found] if fault else found


def _file_faults(state: _Audit) -> list[str]:
    """What is wrong with the file around its events, once all of them were read."""
    problems = []
    end = event_log.head(state.connection)
    if end != (state.last, state.last_hash):
        problems.append(
            f"The end of the ledger is not where it should be, at event {end[0]}: events were "
            "removed."
        )
    if not event_log.is_as_made(state.connection):
        problems.append(
            "The tables or triggers of the file are not those of a ledger: it was changed by "
            "other means."
        )
    unnamed = sorted(event_log.law_hashes(state.connection) - state.named)
    return problems + [f"No release names the law {law[:16]}…." for law in unnamed]


def _faults(state: _Audit, event: event_log.Event) -> list[str]:
    data, number = event.data, event.id
    if event.kind == "ledger":
        return [] if number == 1 else [f"Event {number} starts the ledger a second time."]
    if event.kind == "done":
        is_there = data["entry"] in state.releases
        return [] if is_there else [f"Event {number} reports a release that is not there."]
    if event.kind in BUDGET_KINDS:
        return _budget_faults(state, event)
    if event.kind == "release":
        return _release_faults(state, event)
    if event.kind == "series":
        return _series_faults(state, number, data)
    return [f"Event {number} is of an unknown kind, {event.kind!r}."]


def _budget_faults(state: _Audit, event: event_log.Event) -> list[str]:
    data, number = event.data, event.id
    name, known = data["dataset"], data["dataset"] in state.accounts
    account = Account.of_event(data)
    state.accounts.setdefault(name, account)
    if known:
        return [f"Event {number} declares the budget of {name!r} a second time."]
    if event.kind != budget_kind(account.budget):
        return [f"Event {number} declares a budget of another kind, {event.kind!r}."]
    return []


def _release_faults(state: _Audit, event: event_log.Event) -> list[str]:
    data, number = event.data, event.id
    name, draws = data["dataset"], draws_of(data)
    before = state.accounts[name]
    stated = before.after_event(data)
    state.accounts[name], state.newest[name] = stated, (number, stated)
    state.releases.add(number)
    state.drawn[number] = _read_laws(state, draws)
    faults = [
        f"Event {number} states a {what} of {ours!r}; its laws give {laws!r}."
        for what, ours, laws in _stated_and_found(state, data, before, stated)
        if not _same(ours, laws)
    ]
    clash = before.clash_with(name, unit_of(data))
    if clash:
        faults.append(f"Event {number} is for others. {clash}")
    if unit_of(data).relation != ADD_OR_REMOVE and any(item.changes.is_one_sided for item in draws):
        faults.append(
            f"Event {number} has changes that are all up or all down, and its relation is not "
            f"{ADD_OR_REMOVE!r}."
        )
    budget = before.budget
    if not stated.epsilon <= budget.epsilon:
        faults.append(
            f"Event {number} overspends {name!r}: epsilon {stated.epsilon!r} of {budget.epsilon!r}."
        )
    elif not stated.is_within:
        faults.append(
            f"Event {number} overspends {name!r}: advantage {stated.advantage!r} of "
            f"{budget.advantage!r}."
        )
    # The first release of the adaptive rule may rest on its tight epsilon.
    if state.every_entry or stated.releases == 1:
        faults += _tight_faults(state, number, stated)
    if state.rigorous:
        alone = state.prices.alone(state.connection, draws, budget.delta)
        uses = added({}, draws)
        faults += _unproven(state, f"Event {number} by itself", uses, alone, budget.delta)
    return faults


def _unproven_total(state: _Audit, number: int, stated: Account) -> list[str]:
    """The ε by tight composition that the newest release of a data set states, where it does."""
    epsilon, delta = stated.epsilon_if_fixed, stated.budget.delta
    what = f"Event {number} with all before it"
    return [] if epsilon is None else _unproven(state, what, stated.uses, epsilon, delta)


def _unproven(
    state: _Audit, what: str, uses: Mapping[JudgedDraw, int], epsilon: float, delta: float
) -> list[str]:
    """Why the second judge does not prove ε of these draws; nothing where it does."""
    try:
        draws = []
        for (law_hash, sensitivity, changes), count in uses.items():
            law = law_at(state.connection, law_hash)
            if isinstance(law, PrivacyLoss):
                raise UnsupportedError("the law of another library's mechanism is not known here")
            draws.append((law, sensitivity, count, changes))
        proof = proof_of_draws(draws, epsilon, delta)
    except MissingExtraError:
        raise
    except LeastNoiseError as error:
        return [f"{what} is not covered by the rigorous proof: {error}"]
    return [] if proof.ok else [f"{what}: {proof.sentence()}."]


def _series_faults(state: _Audit, number: int, data: Mapping[str, Any]) -> list[str]:
    entry, used, unused = data["entry"], series_used(data), str(data["unused"])
    if entry not in state.releases:
        return [f"Event {number} counts the answers of a release that is not there."]
    before, known = state.answered.get(entry, (0, unused))
    state.answered[entry] = (max(before, used), unused)
    if used < before:
        return [f"Event {number} states {used} used answers of a series, fewer than {before}."]
    if used > state.drawn[entry]:
        most = state.drawn[entry]
        return [f"Event {number} states {used} used answers of a series charged for {most}."]
    if used == before and unused != known:
        return [f"Event {number} states other numbers left of a series, and no answer between."]
    return []


def _read_laws(state: _Audit, draws: tuple[LawDraws, ...]) -> int:
    """The laws of a release are there, and are laws; a LedgerError if not. For how many answers
    they were drawn."""
    answers = 0
    state.named |= {item.law_hash for item in draws}
    for item in draws:
        if item.law_hash not in state.laws:
            law = law_at(state.connection, item.law_hash)
            state.laws[item.law_hash] = getattr(law, "dimension", 0)
        answers += item.uses * state.laws[item.law_hash]
    return answers


def _stated_and_found(
    state: _Audit, data: Mapping[str, Any], before: Account, stated: Account
) -> list[tuple[str, float, float]]:
    """Every number of a release: what it is, what its event states, what its laws give."""
    budget, draws = before.budget, draws_of(data)
    total = state.prices.total_after(state.connection, before, draws)
    alone = state.prices.alone(state.connection, draws, budget.delta)
    epsilon = epsilon_at_rule(budget, total, stated.epsilon_if_fixed, stated.releases)
    orders = [f"divergence of order {order:.6g}" for order in budget.orders]
    return [
        *zip(orders, stated.total.renyi, total.renyi, strict=True),
        ("largest loss", stated.total.largest, total.largest),
        ("charge to delta", stated.total.failure, total.failure),
        ("simple sum", stated.simple_sum, before.simple_sum + alone),
        ("epsilon", _stated(data, stated), epsilon),
        *_of_cap(state, draws, before, stated),
    ]


def _of_cap(
    state: _Audit, draws: tuple[LawDraws, ...], before: Account, stated: Account
) -> list[tuple[str, float, float]]:
    """The same for the numbers of a cap, where there is one."""
    if before.budget.advantage is None:
        return []
    total = state.prices.as_gaussian_after(state.connection, before, draws)
    used = state.prices.advantage(state.connection, before, stated.as_gaussian, draws)
    return [
        ("square of mu", stated.as_gaussian.square, total.square),
        ("probability apart", stated.as_gaussian.apart, total.apart),
        ("advantage", stated.advantage, used),
    ]


def _stated(data: Mapping[str, Any], stated: Account) -> float:
    """What an event states to be spent; a tight ε stated by the first release of an old
    ledger was read as what it is now."""
    written, tight = stated_epsilon(data), stated.epsilon_if_fixed
    is_old = stated.releases == 1 and stated.budget.rule == "adaptive" and written == tight
    return stated.epsilon if is_old else written


def _tight_faults(state: _Audit, number: int, stated: Account) -> list[str]:
    try:
        tight = state.prices.tight(state.connection, stated.budget, stated.uses)
    except LeastNoiseError as error:
        return [f"Event {number} cannot be judged: {error}"]
    if _same(stated.epsilon_if_fixed, tight):
        return []
    return [
        f"Event {number} states epsilon {stated.epsilon_if_fixed!r} by tight composition; its "
        f"laws give {tight!r}."
    ]


def _same(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is None and other is None
    return one == other or math.isclose(one, other, rel_tol=_SAME, abs_tol=1e-12)
