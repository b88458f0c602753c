"""What a ledger is asked: data sets, releases, what one more would cost, the audit. Nothing here
writes; `ledger` adds what does."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Self

from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.errors import InvalidParameterError, LedgerError, one_of
from leastnoise.laws.base import Noise
from leastnoise.ledger import event_log, listing
from leastnoise.ledger.accounts import Accounts, unit_of
from leastnoise.ledger.audit import LedgerCheck, audit
from leastnoise.ledger.event_log import EventLog
from leastnoise.ledger.filter import delta_left
from leastnoise.ledger.prices import Prices, previewed
from leastnoise.ledger.records import (
    ADD_OR_REMOVE,
    Dataset,
    LedgerEntry,
    Preview,
    Spend,
    dataset_name,
    unit_texts,
)
from leastnoise.ledger.stored_laws import law_at


class LedgerReader:
    """The part of a ledger that reads; see `Ledger`."""

    def __init__(
        self, path: str | PathLike[str], *, timeout: float = 30.0, read_only: bool = False
    ) -> None:
        self._log = EventLog(path, timeout=timeout, read_only=read_only)
        self._accounts = Accounts()
        self._prices = Prices()

    def close(self) -> None:
        """Close the file; closing twice is fine."""
        self._log.close()

    def copy_to(self, path: str | PathLike[str]) -> None:
        """Copy the ledger as it stands, to try something with the copy.

        Args:
            path: A file that is not there yet.

        Raises:
            LedgerError: There is something at that place, or no folder for it.

        Example:
            >>> from tempfile import TemporaryDirectory
            >>> from leastnoise import Ledger
            >>> with TemporaryDirectory() as folder, Ledger(f"{folder}/budget.ledger") as ledger:
            ...     dataset = ledger.open_dataset("clinic", epsilon=2.0, delta=1e-6)
            ...     ledger.copy_to(f"{folder}/copy.ledger")
            ...     with Ledger(f"{folder}/copy.ledger", read_only=True) as copy:
            ...         copy.dataset("clinic").epsilon
            2.0
        """
        if os.path.lexists(path):
            raise LedgerError(f"There is something at {str(path)!r} already: a copy replaces none.")
        if not Path(path).parent.is_dir():
            raise LedgerError(f"There is no folder {str(Path(path).parent)!r} for the copy.")
        self._log.copy_to(Path(path))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def series_entry(self, plan_hash: str, *, first: int, left: str) -> LedgerEntry:
        """The release that opened a series, if its file is not an old copy.

        Args:
            plan_hash: The name of the series, `Series.id`.
            first: How many of its answers the file has used.
            left: Digest of the numbers that are left in it.

        Returns:
            The release, with `answered`.

        Raises:
            LedgerError: The ledger knows no such series, or counts more answers than the file, or
                knows other numbers to be left.

        Example:
            >>> from tempfile import TemporaryDirectory
            >>> from leastnoise import Ledger, laplace
            >>> with TemporaryDirectory() as folder, Ledger(f"{folder}/budget.ledger") as ledger:
            ...     dataset = ledger.open_dataset("clinic", epsilon=2.0, delta=1e-6)
            ...     entry = ledger.spend("clinic", [Spend(laplace(10.0))], plan_hash="a series")
            ...     ledger.series_entry("a series", first=0, left="0" * 64).dataset
            'clinic'
        """
        with self._reading() as (_, accounts):
            for entry in accounts.entries.values():
                if entry.plan_hash == plan_hash:
                    check_copy(entry, accounts.unused.get(entry.id), first, left)
                    return entry
        raise LedgerError(
            "The series was never charged to this ledger. If it is the right one, opening it was "
            "interrupted: it cost nothing; remove its file and open it again."
        )

    def preview(
        self,
        dataset: str,
        spends: Sequence[Spend],
        *,
        relation: str = "",
        person: str = "",
        person_is: str = "",
    ) -> Preview:
        """What a release would cost now, and whether it would be allowed.

        Another process may spend in the meantime: only `spend` decides.

        Args:
            dataset: Name of the data set.
            spends: Everything that the release draws.
            relation: Which tables are neighbours; with `person` and `person_is` the
                preview also says whether the data set's releases are for the same ones.
            person: Whose rows belong together.
            person_is: What a person is.

        Returns:
            ε before and after, what it would leave, and why it would be refused.

        Raises:
            LedgerError: The data set was never declared.
            InvalidParameterError: A text or a spend is none.

        Example:
            >>> from tempfile import TemporaryDirectory
            >>> from leastnoise import Ledger, laplace
            >>> with TemporaryDirectory() as folder, Ledger(f"{folder}/budget.ledger") as ledger:
            ...     dataset = ledger.open_dataset("clinic", epsilon=2.0, delta=1e-6)
            ...     little, much = ([Spend(laplace(sigma))] for sigma in (10.0, 0.1))
            ...     ledger.preview("clinic", little).allowed, ledger.preview("clinic", much).allowed
            (True, False)
        """
        name, items = dataset_name(dataset), checked_spends(spends)
        _, draws = self._prices.laws(items)
        with self._reading() as (connection, accounts):
            account = accounts.account(name)
            after = self._prices.after(connection, account, draws)
            closed = self._prices.closed(connection, after)
        texts = unit_texts(implied_relation(items, relation), person, person_is)
        clash = account.clash_with(name, unit_of(texts))
        return previewed(account, after, clash, closed)

    def delta_share(self, dataset: str) -> float:
        """The δ for the next release of a data set: its share of what is there for the
        releases that were declared.

        Args:
            dataset: Name of the data set.

        Returns:
            A δ to design the release for, of three digits.

        Raises:
            LedgerError: Nothing of δ is left to share, or the data set was never declared.

        Example:
            >>> from tempfile import TemporaryDirectory
            >>> from leastnoise import Ledger
            >>> with TemporaryDirectory() as folder, Ledger(f"{folder}/budget.ledger") as ledger:
            ...     dataset = ledger.open_dataset("clinic", epsilon=2.0, delta=1e-6)
            ...     ledger.delta_share("clinic")
            1e-09
        """
        name = dataset_name(dataset)
        with self._reading() as (_, accounts):
            account = accounts.account(name)
        share = delta_left(account.total, account.budget)
        if not share > 0.0:
            raise LedgerError(
                f"Of the delta={account.budget.delta:g} of {name!r} nothing is left that a "
                f"release could have a share of: earlier ones used {account.total.failure:.2g}, "
                "all there is for noise that ends."
            )
        return share

    def datasets(self) -> tuple[Dataset, ...]:
        """Every data set, in the order of declaration."""
        with self._reading() as (connection, accounts):
            return self._statuses(connection, accounts)

    def dataset(self, name: str) -> Dataset:
        """One data set.

        Args:
            name: Name of the data set.

        Returns:
            Its budget, what is spent of it, and what is left.

        Raises:
            LedgerError: Its budget was never declared.

        Example:
            >>> from tempfile import TemporaryDirectory
            >>> from leastnoise import Ledger
            >>> with TemporaryDirectory() as folder, Ledger(f"{folder}/budget.ledger") as ledger:
            ...     _ = ledger.open_dataset("clinic", epsilon=1.0, delta=1e-6)
            ...     ledger.dataset("clinic").spent
            0.0
        """
        name = dataset_name(name)
        with self._reading() as (connection, accounts):
            account = accounts.account(name)
            return account.status(name, self._prices.closed(connection, account))

    def entries(self, dataset: str | None = None) -> tuple[LedgerEntry, ...]:
        """Every release, oldest first.

        Args:
            dataset: Name of the data set whose releases are wanted; all if not given.

        Returns:
            The releases with their laws, costs and times.

        Raises:
            LedgerError: The budget of `dataset` was never declared.

        Example:
            >>> from tempfile import TemporaryDirectory
            >>> from leastnoise import Ledger
            >>> with TemporaryDirectory() as folder, Ledger(f"{folder}/budget.ledger") as ledger:
            ...     ledger.entries()
            ()
        """
        with self._reading() as (_, accounts):
            if dataset is None:
                return tuple(accounts.entries.values())
            name = dataset_name(dataset)
            accounts.account(name)
            return tuple(entry for entry in accounts.entries.values() if entry.dataset == name)

    def law(self, law_hash: str) -> Noise | PrivacyLoss:
        """A law that some release used, or the loss of another library's mechanism, bit for bit.

        Args:
            law_hash: SHA-256 of the law, as in `LawDraws.law_hash`.

        Returns:
            A law equal to the one that was spent; for a mechanism of another library its loss.

        Raises:
            LedgerError: The ledger has no such law, or it was changed.

        Example:
            >>> from tempfile import TemporaryDirectory
            >>> from leastnoise import Ledger, laplace
            >>> with TemporaryDirectory() as folder, Ledger(f"{folder}/budget.ledger") as ledger:
            ...     dataset = ledger.open_dataset("clinic", epsilon=2.0, delta=1e-6)
            ...     entry = ledger.spend("clinic", [Spend(laplace(10.0))], plan_hash="a count")
            ...     ledger.law(entry.law_hash) == laplace(10.0)
            True
        """
        with self._reading() as (connection, _):
            return law_at(connection, law_hash)

    @property
    def head(self) -> str:
        """The hash of the newest event. Published or kept elsewhere, it shows later
        that nothing before it was changed."""
        with self._reading() as (_, accounts):
            return accounts.last_hash

    def show(self) -> str:
        """Budgets and releases as a text table."""
        with self._reading() as (connection, accounts):
            datasets = self._statuses(connection, accounts)
            return listing.as_table(datasets, list(accounts.entries.values()))

    def _repr_html_(self) -> str:
        return listing.as_html(self.datasets(), self.entries())

    def export(self, format: str = "json") -> str:
        """Everything as text, for other programs.

        Args:
            format: "json" for budgets, releases and laws, "csv" for the releases.

        Returns:
            The text, with a newline at its end.

        Raises:
            InvalidParameterError: There is no such format.

        Example:
            >>> from tempfile import TemporaryDirectory
            >>> from leastnoise import Ledger
            >>> with TemporaryDirectory() as folder, Ledger(f"{folder}/budget.ledger") as ledger:
            ...     ledger.export("csv").split(",")[:3]
            ['id', 'dataset', 'time']
        """
        one_of("format", format, ("json", "csv"))
        with self._reading() as (connection, accounts):
            entries = list(accounts.entries.values())
            if format == "csv":
                return listing.as_csv(entries)
            datasets = self._statuses(connection, accounts)
            hashes = sorted({draws.law_hash for entry in entries for draws in entry.draws})
            laws = {law_hash: event_log.stored_law(connection, law_hash) for law_hash in hashes}
            return listing.as_json(accounts.last_hash, datasets, entries, laws)

    def check(
        self, *, head: str | None = None, every_entry: bool = False, rigorous: bool = False
    ) -> LedgerCheck:
        """Verify the whole file: the database, the chain of hashes, the laws, and every
        number recomputed from the laws.

        Args:
            head: A hash published earlier, which must still be there.
            every_entry: Whether tight composition is recomputed for every release, which takes as
                long as spending did, or only for the first and the newest of each data set.
            rigorous: Whether a second judge proves ε of every release by itself, and of all of a
                data set together where that is stated; the extra `proof` is needed.

        Returns:
            Everything that is wrong, and the hash to publish.

        Raises:
            LedgerError: The file cannot be read at all.
            MissingExtraError: A proof is asked for and python-flint is not installed.

        Guarantees: whatever is wrong with the file is said and does not raise, unless
        it cannot be read at all. Who can rewrite the whole file can also recompute
        every hash: only a `head` that was published shows that.

        Example:
            >>> from tempfile import TemporaryDirectory
            >>> from leastnoise import Ledger
            >>> with TemporaryDirectory() as folder, Ledger(f"{folder}/budget.ledger") as ledger:
            ...     published = ledger.head
            ...     dataset = ledger.open_dataset("clinic", epsilon=2.0, delta=1e-6)
            ...     ledger.check(head=published).ok
            True
        """
        with self._log.reading() as connection:
            return audit(connection, head=head, every_entry=every_entry, rigorous=rigorous)

    def _statuses(self, connection: sqlite3.Connection, accounts: Accounts) -> tuple[Dataset, ...]:
        closed = partial(self._prices.closed, connection)
        return tuple(one.status(name, closed(one)) for name, one in accounts.by_name.items())

    @contextmanager
    def _reading(self) -> Iterator[tuple[sqlite3.Connection, Accounts]]:
        with self._log.reading() as connection:
            yield connection, self._followed(connection)

    def _followed(self, connection: sqlite3.Connection) -> Accounts:
        """The accounts up to the last committed event. What a transaction appends itself is
        followed by the next one, once it is committed: a commit that fails leaves no trace here."""
        try:
            self._accounts.follow(connection)
        except BaseException:
            # An interrupt may have come between two steps; the file knows.
            self._accounts = Accounts()
            raise
        return self._accounts


def checked_spends(spends: Sequence[Spend]) -> tuple[Spend, ...]:
    """The spends of a release, or an InvalidParameterError."""
    items = tuple(spends) if isinstance(spends, (list, tuple)) else ()
    if not items or not all(isinstance(item, Spend) for item in items):
        raise InvalidParameterError(
            "spends", type(spends).__name__, "to be a non-empty list of Spend"
        )
    return items


def implied_relation(spends: Sequence[Spend], relation: str) -> str:
    """The relation of a release. Changes that are all up or all down are those of a person who is
    added or removed: a release that has such, and does not say, settles it for the data set."""
    if not any(spend.changes.is_one_sided for spend in spends):
        return relation
    if relation not in ("", ADD_OR_REMOVE):
        raise LedgerError(
            f"A release with changes=OneSided() is for relation = {ADD_OR_REMOVE!r}, not "
            f"{relation!r}: to replace a person moves some answers up and others down."
        )
    return ADD_OR_REMOVE


def check_copy(entry: LedgerEntry, known: str | None, first: int, left: str) -> None:
    """Refuse a series whose next numbers the ledger knows to be used, or not to be those left.

    One that is ahead of the ledger lost numbers between their erasure and the ledger's count.
    """
    counted = entry.answered or 0
    if first < counted:
        raise LedgerError(
            f"The series of release {entry.id} has used {first} of its answers, and the ledger "
            f"counts {counted}: it is an old copy, whose next numbers were used already. Nothing "
            "is answered from it."
        )
    if first == counted and known not in (None, left):
        raise LedgerError(
            f"The numbers left in the series of release {entry.id} are not those the ledger "
            "knows: its file was changed. Nothing is answered from it."
        )
