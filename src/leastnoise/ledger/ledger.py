"""The ledger: what every data set may spend, and every release that spent it, in one SQLite file.

A budget (ε, δ), and where it is wanted a cap on the attacker's advantage, is declared once per data
set. A release is refused, or its cost is on the disk
before `spend` returns; only then may anything be revealed. A release that is interrupted in between
stays spent. `budget` says what is declared, `filter` what a sequence of releases costs and which
theorem covers it, `event_log` how it is kept, `accounts` what the events mean, `prices` what one
more release would add, `audit` what `check` looks for.

The rule "adaptive", the default, is right whatever the releases depend on; its ε is the one that
the budget limits. It is an odometer: what is spent holds at the moment you stop, also where the
answers made you stop. The rule "fixed in advance" is tighter (about 8 % of ε) but right only if all
laws were fixed before any answer was seen, and for the budget only: what is spent holds for a
number of releases that was fixed as well. Beside either stand ε of tight composition, as if all of
this had been fixed in advance, and the simple sum of what each release costs alone.

No private value enters the file: laws, sensitivities, counts of draws, hashes, and the
note and stamp that the caller gives. Two names for the same people are two budgets, and
a copy of the file is a second ledger: neither can be seen from here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from os import PathLike
from types import TracebackType

from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.errors import (
    InvalidParameterError,
    LedgerError,
    one_of,
    positive_integer,
)
from leastnoise.laws.base import Noise
from leastnoise.ledger import event_log, listing
from leastnoise.ledger.accounts import (
    Accounts,
    budget_event,
    budget_kind,
    entry_of,
    release_event,
    series_event,
    unit_of,
)
from leastnoise.ledger.audit import LedgerCheck, audit
from leastnoise.ledger.budget import RELEASES, declared
from leastnoise.ledger.event_log import EventLog
from leastnoise.ledger.filter import delta_left
from leastnoise.ledger.prices import Prices, previewed, refusal, why_last
from leastnoise.ledger.records import (
    ADD_OR_REMOVE,
    Dataset,
    LawDraws,
    LedgerEntry,
    Preview,
    Spend,
    Unit,
    dataset_name,
    spelled,
    unit_texts,
)
from leastnoise.ledger.stored_laws import law_at

__all__ = [
    "Dataset",
    "LawDraws",
    "Ledger",
    "LedgerCheck",
    "LedgerEntry",
    "Preview",
    "Spend",
    "Unit",
]


class Ledger:
    """Budgets and releases of any number of data sets in one file.

    Threads may share a ledger; a child process opens its own. Close it when you are
    done, or use it in a `with` statement.

    Args:
        path: The file; a new ledger is made if it is missing.
        timeout: How many seconds to wait for another process that is writing.
        read_only: Whether only to read, from a file that is there already.

    Raises:
        LedgerError: The file is no ledger, is damaged, or cannot be opened; or it is
            missing and `read_only`.

    Guarantees: under the rule that a data set declares, its releases together are (ε,
    δ)-differentially private, and nobody's advantage in telling whether a person is in the data is
    above the cap, if there is one; a release that would break this is refused and nothing is
    written. What is spent is on the disk, and was read back from there, before `spend`
    returns. Whatever is asked of it, a ledger that was changed by other means is
    refused; only `check` goes on and says how. Under the adaptive rule the same holds
    at any moment with what is *spent* in the place of ε, whatever made you stop there.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from leastnoise import gaussian
        >>> folder = TemporaryDirectory()
        >>> with Ledger(f"{folder.name}/budget.ledger") as ledger:
        ...     dataset = ledger.open_dataset("clinic", epsilon=2.0, delta=1e-6)
        ...     release = [Spend(gaussian(10.0), sensitivity=1.0, uses=3)]
        ...     allowed = ledger.preview("clinic", release).allowed
        ...     entry = ledger.spend("clinic", release, plan_hash="three counts, March")
        ...     # Only now may the three answers be revealed.
        ...     done = ledger.release_done(entry.id, result_hash="what was published")
        ...     spent, sound = ledger.dataset("clinic").spent, ledger.check().ok
        >>> allowed, round(spent, 2), sound
        (True, 0.89, True)
        >>> folder.cleanup()
    """

    def __init__(
        self, path: str | PathLike[str], *, timeout: float = 30.0, read_only: bool = False
    ) -> None:
        self._log = EventLog(path, timeout=timeout, read_only=read_only)
        self._accounts = Accounts()
        self._prices = Prices()

    def close(self) -> None:
        """Close the file; closing twice is fine."""
        self._log.close()

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
        advantage: float | None = None,
    ) -> Dataset:
        """Declare the budget of a data set. Declaring the same again changes nothing.

        Args:
            name: Name of the data set, plain text of at most 200 characters.
            epsilon: ε that all its releases together may cost, above 0.
            delta: δ of all its releases together, in (0, 1); far below one over the
                number of people.
            rule: "adaptive" where anything about a release may depend on earlier answers, "fixed in
                advance" where all laws are settled before the first answer is seen.
            orders: Rényi orders of the adaptive rule, where the default ones do not
                suit: one order is the plain filter.
            releases: How many are to share δ (25 if not given): plans without a δ get
                their share of it. More are not refused; fewer get no more.
            advantage: A cap beside ε, in (0, 1), on the attacker's advantage: somebody who sees all
                releases and starts from even odds guesses right whether one given person is in the
                data at most (1 + advantage)/2 of the time. What would pass it is refused.

        Returns:
            The data set as it stands.

        Raises:
            InvalidParameterError: A number is out of its range, or the name cannot be one.
            LedgerError: The budget is declared already with other numbers, or the
                ledger cannot be written.

        Example:
            >>> from tempfile import TemporaryDirectory
            >>> with TemporaryDirectory() as folder, Ledger(f"{folder}/budget.ledger") as ledger:
            ...     ledger.open_dataset("clinic", epsilon=2.0, delta=1e-6, releases=12).remaining
            2.0
        """
        name = dataset_name(name)
        shares = RELEASES if releases is None else releases
        budget = declared(epsilon, delta, rule, orders, shares, advantage)
        event = None
        with self._writing() as (connection, accounts):
            known = accounts.by_name.get(name)
            if known is None:
                content = budget_event(name, budget)
                event = event_log.append(connection, budget_kind(budget), content)
            elif not known.budget.is_again(budget, orders is None, releases is None):
                there = known.budget
                raise LedgerError(
                    f"The budget of {name!r} is declared already and cannot be changed: "
                    f"epsilon={there.epsilon!r}, delta={there.delta!r}, rule={there.rule!r}, "
                    f"releases={there.planned}, advantage={there.advantage!r}."
                )
        if event is not None:
            self._log.confirm(event)
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
    ) -> LedgerEntry:
        """Record a release before it is revealed, or refuse it.

        All releases of a data set that state `relation`, `person` or `person_is` must
        state the same, and the first that does settles it.

        Args:
            dataset: Name of the data set.
            spends: Everything that the release draws.
            plan_hash: What is released.
            note: Words of your own.
            stamp: What marks the release, a seeded generator for instance.
            relation: Which tables are neighbours; "add/remove" where a spend is for changes that
                are all up or all down.
            person: Whose rows belong together (`Plan.unit`).
            person_is: What a person is.
            last: Whether it is meant to be the last release of the data set: one after which less
                than a thousandth of the budget could be released is refused otherwise.

        Returns:
            The release as it is recorded.

        Raises:
            BudgetExceededError: It would take the data set beyond its budget, or beyond its cap on
                the advantage.
            LedgerError: It protects others than earlier releases, or nothing could
                follow it and it is not said to be the last; the data set was never
                declared; or the ledger cannot be written.
            InvalidParameterError: A text or a spend is none.

        Guarantees: the release is on the disk, and was read back, when this returns; if
        it raises, nothing was spent or nothing may be revealed. Nothing that depends on
        the data may leave the process before this returns.

        Example:
            >>> from tempfile import TemporaryDirectory
            >>> from leastnoise import laplace
            >>> with TemporaryDirectory() as folder, Ledger(f"{folder}/budget.ledger") as ledger:
            ...     dataset = ledger.open_dataset("clinic", epsilon=2.0, delta=1e-6)
            ...     entry = ledger.spend("clinic", [Spend(laplace(10.0))], plan_hash="a count")
            >>> entry.dataset, round(entry.epsilon_after, 3)
            ('clinic', 0.141)
        """
        name, items = dataset_name(dataset), _checked(spends)
        texts = {
            "plan_hash": spelled("plan_hash", plan_hash),
            "note": spelled("note", note, empty=True),
            "stamp": spelled("stamp", stamp, empty=True),
            **unit_texts(_implied(items, relation), person, person_is),
        }
        # before the lock: the loss of a new law is what takes time
        laws, draws = self._prices.laws(items)
        with self._writing() as (connection, accounts):
            account = accounts.account(name)
            clash = account.clash_with(name, unit_of(texts))
            if clash:
                raise LedgerError(clash)
            after = self._prices.after(connection, account, draws)
            if not after.is_within:
                raise refusal(name, account, after)
            if not last and self._prices.closed(connection, after):
                raise LedgerError(
                    f"The release is refused: it is within the budget of {name!r}, but nothing "
                    f"could be released after it: {why_last(after)}. If it is meant to be the "
                    "last, say so: last=True."
                )
            for law_hash, text in laws.items():
                event_log.store_law(connection, law_hash, text)
            content = release_event(name, draws, after, texts)
            event = event_log.append(connection, "release", content)
        self._log.confirm(event, laws)
        return entry_of(event)

    def release_done(self, entry_id: int, result_hash: str) -> LedgerEntry:
        """Mark a release as revealed. It was spent before, and stays spent without this.

        Args:
            entry_id: Number of the release, `LedgerEntry.id`.
            result_hash: Hash of what was published.

        Returns:
            The release with its `result_hash`.

        Raises:
            LedgerError: There is no such release, or it is done already with another result.

        Example:
            >>> from tempfile import TemporaryDirectory
            >>> from leastnoise import laplace
            >>> with TemporaryDirectory() as folder, Ledger(f"{folder}/budget.ledger") as ledger:
            ...     dataset = ledger.open_dataset("clinic", epsilon=2.0, delta=1e-6)
            ...     entry = ledger.spend("clinic", [Spend(laplace(10.0))], plan_hash="a count")
            ...     ledger.release_done(entry.id, "hash of the report").result_hash
            'hash of the report'
        """
        number = positive_integer("entry_id", entry_id)
        result = spelled("result_hash", result_hash)
        event = None
        with self._writing() as (connection, accounts):
            entry = accounts.entries.get(number)
            if entry is None:
                raise LedgerError(f"There is no release {number} in the ledger.")
            if entry.result_hash not in (None, result):
                raise LedgerError(f"Release {number} is done already, with another result.")
            if entry.result_hash is None:
                content = {"entry": number, "time": event_log.now(), "result_hash": result}
                event = event_log.append(connection, "done", content)
        if event is not None:
            self._log.confirm(event)
        with self._reading() as (_, accounts):
            return accounts.entries[number]

    @contextmanager
    def counting_series(
        self, entry_id: int, *, first: int, used: int, left: str, unused: str
    ) -> Iterator[None]:
        """Count answers of a series before they are revealed, or refuse an old copy of it.

        `Series` uses it: the numbers are erased inside the block, which is not entered where the
        ledger cannot be written or knows better, and are used after it. What is counted was charged
        when the series was opened.

        Args:
            entry_id: Number of the release that opened the series.
            first: How many of its answers the series had used before.
            used: How many it has used then.
            left: Digest of the numbers that are there before.
            unused: Digest of the numbers that are left then.

        Returns:
            A context manager, for a `with` statement.

        Raises:
            LedgerError: More answers than `first` are counted already: the series is an old copy,
                and its next numbers were used before. Or its numbers were changed, or there is no
                such release.
            InvalidParameterError: `first` and `used` are no whole numbers, or in another order.

        Guarantees: on the disk, and read back, when the block was left.

        Example:
            >>> from tempfile import TemporaryDirectory
            >>> from leastnoise import laplace
            >>> with TemporaryDirectory() as folder, Ledger(f"{folder}/budget.ledger") as ledger:
            ...     dataset = ledger.open_dataset("clinic", epsilon=2.0, delta=1e-6)
            ...     entry = ledger.spend("clinic", [Spend(laplace(10.0))], plan_hash="a series")
            ...     digests = {"left": "0" * 64, "unused": "1" * 64}
            ...     with ledger.counting_series(entry.id, first=0, used=1, **digests):
            ...         pass  # here the number is erased
            ...     ledger.entries()[0].answered
            1
        """
        number = positive_integer("entry_id", entry_id)
        if type(first) is not int or type(used) is not int or not 0 <= first <= used:
            raise InvalidParameterError("used", used, f"to be a whole number from first={first!r}")
        digest = spelled("result_hash", unused)
        with self._writing() as (connection, accounts):
            entry = accounts.entries.get(number)
            if entry is None:
                raise LedgerError(f"There is no release {number} in the ledger.")
            _check_copy(entry, accounts.unused.get(number), first, left)
            event = event_log.append(connection, "series", series_event(number, used, digest))
            yield  # written, and not committed
        self._log.confirm(event)

    # What reads it

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
            >>> from leastnoise import laplace
            >>> with TemporaryDirectory() as folder, Ledger(f"{folder}/budget.ledger") as ledger:
            ...     dataset = ledger.open_dataset("clinic", epsilon=2.0, delta=1e-6)
            ...     entry = ledger.spend("clinic", [Spend(laplace(10.0))], plan_hash="a series")
            ...     ledger.series_entry("a series", first=0, left="0" * 64).dataset
            'clinic'
        """
        with self._reading() as (_, accounts):
            for entry in accounts.entries.values():
                if entry.plan_hash == plan_hash:
                    _check_copy(entry, accounts.unused.get(entry.id), first, left)
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
            >>> from leastnoise import laplace
            >>> with TemporaryDirectory() as folder, Ledger(f"{folder}/budget.ledger") as ledger:
            ...     dataset = ledger.open_dataset("clinic", epsilon=2.0, delta=1e-6)
            ...     little, much = ([Spend(laplace(sigma))] for sigma in (10.0, 0.1))
            ...     ledger.preview("clinic", little).allowed, ledger.preview("clinic", much).allowed
            (True, False)
        """
        name, items = dataset_name(dataset), _checked(spends)
        _, draws = self._prices.laws(items)
        with self._reading() as (connection, accounts):
            account = accounts.account(name)
            after = self._prices.after(connection, account, draws)
            closed = self._prices.closed(connection, after)
        texts = unit_texts(_implied(items, relation), person, person_is)
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
            >>> from leastnoise import laplace
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

    def check(self, *, head: str | None = None, every_entry: bool = False) -> LedgerCheck:
        """Verify the whole file: the database, the chain of hashes, the laws, and every
        number recomputed from the laws.

        Args:
            head: A hash published earlier, which must still be there.
            every_entry: Whether tight composition is recomputed for every release, which takes as
                long as spending did, or only for the first and the newest of each data set.

        Returns:
            Everything that is wrong, and the hash to publish.

        Raises:
            LedgerError: The file cannot be read at all.

        Guarantees: whatever is wrong with the file is said and does not raise, unless
        it cannot be read at all. Who can rewrite the whole file can also recompute
        every hash: only a `head` that was published shows that.

        Example:
            >>> from tempfile import TemporaryDirectory
            >>> with TemporaryDirectory() as folder, Ledger(f"{folder}/budget.ledger") as ledger:
            ...     published = ledger.head
            ...     dataset = ledger.open_dataset("clinic", epsilon=2.0, delta=1e-6)
            ...     ledger.check(head=published).ok
            True
        """
        with self._log.reading() as connection:
            return audit(connection, head=head, every_entry=every_entry)

    def _statuses(self, connection: sqlite3.Connection, accounts: Accounts) -> tuple[Dataset, ...]:
        closed = partial(self._prices.closed, connection)
        return tuple(one.status(name, closed(one)) for name, one in accounts.by_name.items())

    @contextmanager
    def _reading(self) -> Iterator[tuple[sqlite3.Connection, Accounts]]:
        with self._log.reading() as connection:
            yield connection, self._followed(connection)

    @contextmanager
    def _writing(self) -> Iterator[tuple[sqlite3.Connection, Accounts]]:
        with self._log.writing() as connection:
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


def _checked(spends: Sequence[Spend]) -> tuple[Spend, ...]:
    items = tuple(spends) if isinstance(spends, (list, tuple)) else ()
    if not items or not all(isinstance(item, Spend) for item in items):
        raise InvalidParameterError(
            "spends", type(spends).__name__, "to be a non-empty list of Spend"
        )
    return items


def _implied(spends: Sequence[Spend], relation: str) -> str:
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


def _check_copy(entry: LedgerEntry, known: str | None, first: int, left: str) -> None:
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
