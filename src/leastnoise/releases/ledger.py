"""The ledger: what every data set may spend, and every release that spent it, in one SQLite file.

A budget (ε, δ) is declared once per data set. A release is refused, or its cost is on the disk before `spend` returns; only then
may anything be revealed. A release that is interrupted in between stays spent. `accounting` says what a sequence of releases costs
and which theorem covers it, `chain` how it is kept, `books` what the events mean, `audit` what `check` looks for.

The rule "adaptive", the default, is right whatever the releases depend on; its ε is the one that
the budget limits. It is an odometer: what is spent holds at the moment you stop, also where the
answers made you stop. The rule "fixed in advance" is tighter (about 8 % of ε) but right only if all
laws were fixed before any answer was seen, and for the budget only: what is spent holds for a
number of releases that was fixed as well. Beside either stand ε of tight composition, as if all of
this had been fixed in advance, and the simple sum of what each release costs alone.

No private value enters the file: laws, sensitivities, counts of draws, hashes, and the note and stamp that the caller gives. Two
names for the same people are two budgets, and a copy of the file is a second ledger: neither can be seen from here.
"""

from __future__ import annotations

import sqlite3
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from types import TracebackType
from typing import Any

from leastnoise.errors import (
    BudgetExceededError,
    InvalidParameterError,
    LedgerError,
    one_of,
    plain_text,
    positive_integer,
)
from leastnoise.noise import Noise
from leastnoise.privacy.loss import PrivacyLoss
from leastnoise.releases import chain, ledger_text
from leastnoise.releases.accounting import RELEASES, Budget, Spend, declared, delta_left
from leastnoise.releases.audit import Check, audit
from leastnoise.releases.books import (
    Books,
    Dataset,
    Draws,
    Entry,
    Preview,
    Prices,
    Unit,
    budget_event,
    entry_of,
    release_event,
    stored_law,
    unit_of,
    why_last,
    why_refused,
)

__all__ = ["Check", "Dataset", "Draws", "Entry", "Ledger", "Preview", "Spend", "Unit"]

_LONGEST = {
    "name": 200,
    "plan_hash": 200,
    "result_hash": 200,
    "note": 2000,
    "stamp": 2000,
    "relation": 200,
    "person": 2000,
    "person_is": 2000,
}


class Ledger:
    """Budgets and releases of any number of data sets in the file at `path`, made if it is missing.

    `timeout` is how many seconds to wait for another process that is writing. Threads may share a ledger; a child process opens its
    own.

    Guarantees: under the rule that a data set declares, its releases together are (ε,
    δ)-differentially private; a release that would break this is refused and nothing is written.
    What is spent is on the disk, and was read back from there, before `spend` returns. Whatever is
    asked of it, a ledger that was changed by other means is refused; only `check` goes on and says how.
    Under the adaptive rule the same holds at
    any moment with what is *spent* in the place of ε, whatever made you stop there.
    """

    def __init__(
        self, path: str | PathLike[str], *, timeout: float = 30.0, read_only: bool = False
    ) -> None:
        self._chain = chain.Chain(path, timeout=timeout, read_only=read_only)
        self._books = Books()
        self._prices = Prices()

    def close(self) -> None:
        """Close the file; closing twice is fine."""
        self._chain.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # What changes the ledger

    def open_dataset(
        self,
        name: str,
        *,
        epsilon: float,
        delta: float,
        rule: str = "adaptive",
        orders: Sequence[float] | None = None,
        releases: int | None = None,
    ) -> Dataset:
        """Declare the budget of a data set. Declaring the same again changes nothing; other numbers are refused.

        `releases` is how many are to share δ (25 if not given): plans without a δ get their share of it. More are not refused;
        fewer get no more. `orders` are the Rényi orders of the adaptive rule, where the default ones do not suit: one order is
        the plain filter.
        """
        name, budget = (
            dataset_name(name),
            declared(epsilon, delta, rule, orders, RELEASES if releases is None else releases),
        )
        with self._writing() as (connection, books):
            known, event = books.accounts.get(name), None
            if known is None:
                event = chain.append(connection, "budget", budget_event(name, budget))
            elif not _same_budget(known.budget, budget, orders is None, releases is None):
                there = known.budget
                raise LedgerError(
                    f"The budget of {name!r} is declared already and cannot be changed: "
                    f"epsilon={there.epsilon!r}, delta={there.delta!r}, rule={there.rule!r}, "
                    f"releases={there.releases or RELEASES}."
                )
        if event is not None:
            self._chain.confirm(event)
        return self.dataset(name)

    def spend(
        self,
        dataset: str,
        spends: Sequence[Spend],
        *,
        plan_hash: str,
        note: str = "",
        stamp: str = "",
        relation: str = "",
        person: str = "",
        person_is: str = "",
        last: bool = False,
    ) -> Entry:
        """Record a release before it is revealed, or refuse it with a BudgetExceededError.

        `plan_hash` says what is released, `stamp` what marks it (a seeded generator, for instance), `relation` which
        tables are neighbours, `person` whose rows belong together (`Plan.unit`) and `person_is` what a person is: all releases of
        a data set that state it must state the same, and the first that does settles it. A release after which less than a
        thousandth of the budget could be released is refused with a LedgerError unless it is said to be the `last`. Nothing that
        depends on the data may leave the process before this returns.
        """
        name, items = dataset_name(dataset), _checked(spends)
        texts = {
            "plan_hash": _text("plan_hash", plan_hash),
            "note": _text("note", note, empty=True),
            "stamp": _text("stamp", stamp, empty=True),
            **_unit_texts(relation, person, person_is),
        }
        laws = self._prices.laws(items)  # before the lock: the loss of a new law is what takes time
        with self._writing() as (connection, books):
            account = books.account(name)
            clash = account.clash_with(name, unit_of(texts))
            if clash:
                raise LedgerError(clash)
            after = self._prices.after(connection, account, laws.draws)
            if not after.epsilon <= account.budget.epsilon:
                reason = why_refused(account, after)
                raise BudgetExceededError(
                    name, account.budget.epsilon, account.epsilon, after.epsilon, reason
                )
            if not last and self._prices.closed(connection, after):
                raise LedgerError(
                    f"The release is refused: it is within the budget of {name!r}, but nothing could be released after it: "
                    f"{why_last(after)}. If it is meant to be the last, say so: last=True."
                )
            for law_hash, text in laws.texts.items():
                chain.store_law(connection, law_hash, text)
            event = chain.append(
                connection, "release", release_event(name, laws.draws, after, texts)
            )
        self._chain.confirm(event, laws.texts)
        return entry_of(event)

    def release_done(self, entry_id: int, result_hash: str) -> Entry:
        """Mark a release as revealed, with the hash of what was published. It was spent before, and stays spent without this."""
        number, result = positive_integer("entry_id", entry_id), _text("result_hash", result_hash)
        with self._writing() as (connection, books):
            entry = books.entries.get(number)
            if entry is None:
                raise LedgerError(f"There is no release {number} in the ledger.")
            if entry.result_hash not in (None, result):
                raise LedgerError(f"Release {number} is done already, with another result.")
            event = None
            if entry.result_hash is None:
                event = chain.append(
                    connection,
                    "done",
                    {"entry": number, "time": chain.now(), "result_hash": result},
                )
        if event is not None:
            self._chain.confirm(event)
        with self._reading() as (_, books):
            return books.entries[number]

    # What reads it

    def preview(
        self,
        dataset: str,
        spends: Sequence[Spend],
        *,
        relation: str = "",
        person: str = "",
        person_is: str = "",
    ) -> Preview:
        """What a release would cost now; with `relation`, `person` and `person_is` also whether the data set's releases are for
        the same ones.

        Another process may spend in the meantime: only `spend` decides.
        """
        name, items = dataset_name(dataset), _checked(spends)
        laws = self._prices.laws(items)
        with self._reading() as (connection, books):
            account = books.account(name)
            after = self._prices.after(connection, account, laws.draws)
            closed = self._prices.closed(connection, after)
        budget = account.budget.epsilon
        clash = account.clash_with(name, unit_of(_unit_texts(relation, person, person_is)))
        allowed = after.epsilon <= budget and clash is None
        return Preview(
            epsilon_before=account.epsilon,
            epsilon_after=after.epsilon,
            simple_sum=after.simple_sum,
            allowed=allowed,
            remaining=0.0 if closed else max(budget - after.epsilon, 0.0),
            epsilon_if_fixed=after.epsilon_if_fixed,
            releases=after.releases,
            last=allowed and closed,
            reason=clash
            or (why_refused(account, after) if not allowed else why_last(after) if closed else ""),
        )

    def delta_share(self, dataset: str) -> float:
        """The δ for the next release of a data set: its share of what is there for the releases that were declared."""
        name = dataset_name(dataset)
        with self._reading() as (_, books):
            account = books.account(name)
        share = delta_left(account.total, account.budget)
        if not share > 0.0:
            raise LedgerError(
                f"Of the delta={account.budget.delta:g} of {name!r} nothing is left that a release could have a share of: "
                f"earlier ones used {account.total.failure:.2g}, all there is for noise that ends."
            )
        return share

    def datasets(self) -> tuple[Dataset, ...]:
        """Every data set, in the order of declaration."""
        with self._reading() as (connection, books):
            return self._statuses(connection, books)

    def dataset(self, name: str) -> Dataset:
        """One data set; a LedgerError if its budget was never declared."""
        name = dataset_name(name)
        with self._reading() as (connection, books):
            account = books.account(name)
            return account.status(name, self._prices.closed(connection, account))

    def entries(self, dataset: str | None = None) -> tuple[Entry, ...]:
        """Every release, oldest first."""
        with self._reading() as (_, books):
            if dataset is None:
                return tuple(books.entries.values())
            name = dataset_name(dataset)
            books.account(name)
            return tuple(entry for entry in books.entries.values() if entry.dataset == name)

    def law(self, law_hash: str) -> Noise | PrivacyLoss:
        """A law that some release used, or the loss of another library's mechanism, bit for bit."""
        with self._reading() as (connection, _):
            return stored_law(connection, law_hash)

    @property
    def head(self) -> str:
        """The hash of the newest event. Published or kept elsewhere, it shows later that nothing before it was changed."""
        with self._reading() as (_, books):
            return books.last_hash

    def show(self) -> str:
        """Budgets and releases as a text table."""
        with self._reading() as (connection, books):
            datasets = self._statuses(connection, books)
            return ledger_text.as_table(datasets, list(books.entries.values()))

    def _repr_html_(self) -> str:
        from leastnoise.interop.notebook import ledger_html

        return ledger_html(self)

    def export(self, format: str = "json") -> str:
        """Budgets, releases and laws as JSON, or the releases as CSV."""
        one_of("format", format, ("json", "csv"))
        with self._reading() as (connection, books):
            entries = list(books.entries.values())
            if format == "csv":
                return ledger_text.as_csv(entries)
            datasets = self._statuses(connection, books)
            hashes = sorted({draws.law_hash for entry in entries for draws in entry.draws})
            laws = {law_hash: chain.stored_law(connection, law_hash) for law_hash in hashes}
            return ledger_text.as_json(books.last_hash, datasets, entries, laws)

    def check(self, *, head: str | None = None, every_entry: bool = False) -> Check:
        """Verify the whole file: the database, the chain of hashes, the laws, and every number recomputed from the laws.

        `head` is a hash published earlier, which must still be there. Tight composition is recomputed for the first and the newest
        release of each data set; with `every_entry` for all of them, which takes as long as spending did.
        """
        with self._chain.reading() as connection:
            return audit(connection, head=head, every_entry=every_entry)

    def _statuses(self, connection: sqlite3.Connection, books: Books) -> tuple[Dataset, ...]:
        prices = self._prices
        return tuple(
            account.status(name, prices.closed(connection, account))
            for name, account in books.accounts.items()
        )

    @contextmanager
    def _reading(self) -> Iterator[tuple[sqlite3.Connection, Books]]:
        with self._chain.reading() as connection:
            yield connection, self._followed(connection)

    @contextmanager
    def _writing(self) -> Iterator[tuple[sqlite3.Connection, Books]]:
        with self._chain.writing() as connection:
            yield connection, self._followed(connection)

    def _followed(self, connection: sqlite3.Connection) -> Books:
        """The books up to the last committed event. What a transaction appends itself is followed by the next one, once it is
        committed: a commit that fails leaves no trace here."""
        try:
            self._books.follow(connection)
        except BaseException:
            self._books = Books()  # an interrupt may have come between two steps; the file knows
            raise
        return self._books


def dataset_name(name: str) -> str:
    """The name of a data set in its one spelling, or an InvalidParameterError.

    Other spaces, and several together, look like one: two data sets of one look would have two budgets.
    """
    spelt = _text("name", name)
    if spelt != " ".join(spelt.split()):
        raise InvalidParameterError("name", name, "to have one ordinary space between two words")
    return spelt


def _unit_texts(relation: str, person: str, person_is: str) -> dict[str, str]:
    given = {"relation": relation, "person": person, "person_is": person_is}
    return {name: _text(name, value, empty=True) for name, value in given.items()}


def _checked(spends: Sequence[Spend]) -> tuple[Spend, ...]:
    items = tuple(spends) if isinstance(spends, (list, tuple)) else ()
    if not items or not all(isinstance(item, Spend) for item in items):
        raise InvalidParameterError(
            "spends", type(spends).__name__, "to be a non-empty list of Spend"
        )
    return items


def _text(name: str, value: Any, *, empty: bool = False) -> str:
    """`value` as text in one spelling (NFC: é and e + ´ name the same data set), all of which can be seen."""
    plain_text(name, value, _LONGEST[name], empty=empty)
    if value != value.strip():
        raise InvalidParameterError(name, value, "to be plain text without space at its ends")
    return unicodedata.normalize("NFC", str(value))


def _same_budget(
    there: Budget, asked: Budget, default_orders: bool, default_releases: bool
) -> bool:
    if (there.epsilon, there.delta, there.rule) != (asked.epsilon, asked.delta, asked.rule):
        return False
    if not default_releases and (there.releases or RELEASES) != asked.releases:
        return False
    return (
        default_orders or there.orders == asked.orders
    )  # a later version of this package may have other default orders
