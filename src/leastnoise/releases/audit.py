"""The audit of a ledger: is the file whole, is the chain unbroken, and do the laws give the numbers that are stated?"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from leastnoise.errors import LeastNoiseError
from leastnoise.releases import chain
from leastnoise.releases.books import (
    Account,
    Prices,
    draws_of,
    epsilon_at_rule,
    stated_epsilon,
    stored_law,
    unit_of,
)
from leastnoise.texts import shown

_SAME = 1e-9  # stated and recomputed numbers may differ by this share of themselves: another machine's rounding


@dataclass(frozen=True)
class Check:
    """Everything that is wrong with a ledger; `ok` only if nothing is. `head` is the hash to publish, and to compare later."""

    problems: tuple[str, ...]
    entries: int
    head: str

    @property
    def ok(self) -> bool:
        return not self.problems


@dataclass
class _Audit:
    """How far the audit is. Accounts go on with what is stated, so that one wrong number is reported once."""

    connection: sqlite3.Connection
    every_entry: bool
    prices: Prices = field(
        default_factory=Prices
    )  # its own: losses remembered from before an edit would hide it
    accounts: dict[str, Account] = field(default_factory=dict)
    newest: dict[str, tuple[int, Account]] = field(default_factory=dict)
    releases: set[int] = field(default_factory=set)
    laws: set[str] = field(default_factory=set)  # that were found whole
    named: set[str] = field(default_factory=set)


def audit(connection: sqlite3.Connection, *, head: str | None, every_entry: bool) -> Check:
    """Verify everything in the file."""
    problems = [
        f"SQLite: {row[0]}."
        for row in connection.execute("PRAGMA integrity_check")
        if row[0] != "ok"
    ]
    state, last, last_hash, hashes = _Audit(connection, every_entry), 0, chain.START, set()
    for event in chain.events(connection):
        fault = event.fault_after(last, last_hash)
        problems += [fault] if fault else []
        last, last_hash = event.id, event.hash
        hashes.add(event.hash)
        try:
            problems += _faults(state, event)
        except (
            KeyError,
            TypeError,
            ValueError,
            ArithmeticError,
            AttributeError,
            LeastNoiseError,
        ) as error:
            problems.append(f"Event {event.id} cannot be understood: {error}")
    if not every_entry:
        for number, account in state.newest.values():
            problems += _tight_faults(state, number, account)
    if chain.head(connection) != (last, last_hash):
        problems.append(
            f"The end of the ledger is not where it should be, at event {chain.head(connection)[0]}: events were removed."
        )
    if not chain.is_as_made(connection):
        problems.append(
            "The tables or triggers of the file are not those of a ledger: it was changed by other means."
        )
    problems += [
        f"No release names the law {law[:16]}…."
        for law in sorted(chain.law_hashes(connection) - state.named)
    ]
    if head is not None and head not in hashes:
        problems.append(
            "The ledger does not contain the given hash: it was rewritten, or an older copy was put back."
        )
    return Check(
        tuple(shown(problem) for problem in problems), len(state.releases), shown(str(last_hash))
    )


def _faults(state: _Audit, event: chain.Event) -> list[str]:
    data = event.data
    if event.kind == "ledger":
        return [] if event.id == 1 else [f"Event {event.id} starts the ledger a second time."]
    if event.kind == "done":
        return (
            []
            if data["entry"] in state.releases
            else [f"Event {event.id} reports a release that is not there."]
        )
    if event.kind == "budget":
        twice = data["dataset"] in state.accounts
        state.accounts.setdefault(data["dataset"], Account.of_event(data))
        return (
            [f"Event {event.id} declares the budget of {data['dataset']!r} a second time."]
            if twice
            else []
        )
    if event.kind == "release":
        return _release_faults(state, event)
    return [f"Event {event.id} is of an unknown kind, {event.kind!r}."]


def _release_faults(state: _Audit, event: chain.Event) -> list[str]:
    data, number = event.data, event.id
    name, draws = data["dataset"], draws_of(data)
    before = state.accounts[name]
    stated = before.after_event(data)
    state.accounts[name], state.newest[name] = stated, (number, stated)
    state.releases.add(number)
    state.named |= {item.law_hash for item in draws}
    for law_hash in {item.law_hash for item in draws} - state.laws:
        stored_law(state.connection, law_hash)
        state.laws.add(law_hash)
    budget, total = before.budget, state.prices.total_after(state.connection, before, draws)
    orders = [f"divergence of order {order:.6g}" for order in budget.orders]
    found: list[tuple[str, float, float]] = [
        *zip(orders, stated.total.renyi, total.renyi, strict=True),
        ("largest loss", stated.total.largest, total.largest),
        ("charge to delta", stated.total.failure, total.failure),
        (
            "simple sum",
            stated.simple_sum,
            before.simple_sum + state.prices.alone(state.connection, draws, budget.delta),
        ),
        (
            "epsilon",
            _stated(data, stated),
            epsilon_at_rule(budget, total, stated.epsilon_if_fixed, stated.releases),
        ),
    ]
    faults = [
        f"Event {number} states a {what} of {ours!r}; its laws give {laws!r}."
        for what, ours, laws in found
        if not _same(ours, laws)
    ]
    clash = before.clash_with(name, unit_of(data))
    if clash:
        faults.append(f"Event {number} is for others. {clash}")
    if not stated.epsilon <= budget.epsilon:
        faults.append(
            f"Event {number} overspends {name!r}: epsilon {stated.epsilon!r} of {budget.epsilon!r}."
        )
    if (
        state.every_entry or stated.releases == 1
    ):  # the first release of the adaptive rule may rest on its tight epsilon
        faults += _tight_faults(state, number, stated)
    return faults


def _stated(data: Mapping[str, Any], stated: Account) -> float:
    """What an event states to be spent; a tight ε stated by the first release of an old ledger was read as what it is now."""
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
        f"Event {number} states epsilon {stated.epsilon_if_fixed!r} by tight composition; its laws give {tight!r}."
    ]


def _same(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is None and other is None
    return one == other or math.isclose(one, other, rel_tol=_SAME, abs_tol=1e-12)
