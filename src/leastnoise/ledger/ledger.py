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

from leastnoise.errors import (
    InvalidParameterError,
    LedgerError,
    positive_integer,
)
from leastnoise.ledger import event_log
from leastnoise.ledger.accounts import (
    Accounts,
    budget_event,
    budget_kind,
    entry_of,
    release_event,
    series_event,
    unit_of,
)
from leastnoise.ledger.audit import LedgerCheck
from leastnoise.ledger.budget import RELEASES, declared
from leastnoise.ledger.prices import refusal, why_last
from leastnoise.ledger.reader import LedgerReader, check_copy, checked_spends, implied_relation
from leastnoise.ledger.records import (
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


class Ledger(LedgerReader):
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
        name, items = dataset_name(dataset), checked_spends(spends)
        texts = {
            "plan_hash": spelled("plan_hash", plan_hash),
            "note": spelled("note", note, empty=True),
            "stamp": spelled("stamp", stamp, empty=True),
            **unit_texts(implied_relation(items, relation), person, person_is),
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
            check_copy(entry, accounts.unused.get(number), first, left)
            event = event_log.append(connection, "series", series_event(number, used, digest))
            yield  # written, and not committed
        self._log.confirm(event)

    @contextmanager
    def _writing(self) -> Iterator[tuple[sqlite3.Connection, Accounts]]:
        with self._log.writing() as connection:
            yield connection, self._followed(connection)
