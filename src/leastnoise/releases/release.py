"""`release`: from a plan to published numbers, in an order that cannot leak.

1. The plan is complete (its construction checks it).
2. The noise is designed and judged, from the plan alone; where it is asked for, by both judges.
3. The ledger would allow it; the names and types of the table's columns are checked; every query
   runs on no rows, and files are read once to their end and forgotten. All this costs nothing.
4. The ledger commits the spend, or refuses it.
5. The engine counts and sums integers; noise is added to them as integers. Keys that are to be
   discovered come first: the persons of each are counted and get noise, and what is asked beside by
   these keys is asked of those that are shown.
6. Only now do numbers leave this function; the ledger notes the hash of what was published.

An interruption before step 4 costs nothing. After it the spend stays: the ledger cannot know
whether something had been seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from os import PathLike
from typing import Any

import numpy as np

from leastnoise.artefact.rigorous import check_proven
from leastnoise.errors import (
    BudgetExceededError,
    LeastNoiseError,
    LedgerError,
    PlanError,
    UnsupportedError,
)
from leastnoise.ledger.event_log import now
from leastnoise.ledger.ledger import Ledger
from leastnoise.releases.advice import tried, unit_of, with_share
from leastnoise.releases.data.counts import (
    Counts,
    aggregate,
    persons_by_key,
    read_through,
    rehearse,
)
from leastnoise.releases.data.opening import open_table
from leastnoise.releases.data.scans import parted, scans
from leastnoise.releases.data.sealed_scan import SealedTable
from leastnoise.releases.data.table import Table
from leastnoise.releases.estimates import estimate
from leastnoise.releases.estimates.adding_up import added_up
from leastnoise.releases.estimates.postprocessing import processed, suppressed
from leastnoise.releases.estimates.row import ReleasedRow
from leastnoise.releases.estimates.shares import with_hidden
from leastnoise.releases.noise.found_keys import most_of_each, with_found
from leastnoise.releases.noise.mechanism import Draw, Mechanism, mechanism
from leastnoise.releases.noise.sensitivity import DISCOVERS, Block
from leastnoise.releases.plan.file import load_plan
from leastnoise.releases.plan.keys import Key
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.record import Standing
from leastnoise.releases.result import Release
from leastnoise.releases.tables.residuals import contrasts
from leastnoise.sampling import release as noised
from leastnoise.sampling.entropy import Entropy, chosen, is_private, stamp_of

Progress = Callable[[str, float], None]  # what is being done, and its share in [0, 1]
# From a mechanism and the answers of all its entries, in sensitivities and scales, to the same with
# noise.
AddedNoise = Callable[[Mechanism, Sequence[Fraction]], Sequence[Fraction]]


def release(
    plan: Plan | str | PathLike[str],
    *,
    ledger: Ledger | None = None,
    table: Any = None,
    prepared: Mechanism | None = None,
    entropy: Entropy | None = None,
    not_private: bool = False,
    last: bool = False,
    rigorous: bool = False,
    scratch: str | PathLike[str] | None = None,
    sealed: bool = False,
    progress: Progress | None = None,
) -> Release:
    """Carry out a plan: noisy statistics with their guarantee.

    Args:
        plan: What to release, or the TOML file that declares it. A plan without a δ gets its share
            of the ledger's.
        ledger: Keeps the budget of `plan.dataset`, which must have been declared there; without one
            nothing adds up what several releases cost.
        table: A pandas, polars, pyarrow or Spark table, or an ibis table of DuckDB, PostgreSQL or
            Spark, in the place of the plan's source.
        prepared: The `mechanism(plan)` of the same plan, with its δ (see `with_share`), made
            earlier to see what noise the budget buys.
        entropy: For tests: any other source than the operating system's needs `not_private=True`,
            and the result, its files and the ledger say so.
        not_private: That nothing is guaranteed, and that you know it.
        last: Allow a release after which next to nothing could be released from the data set; else
            such a one is refused.
        rigorous: Refuse noise of which the second judge does not prove ε, before anything is spent
            or read; the extra `proof` is needed.
        scratch: A folder in which DuckDB makes a private one for the rows that memory has no room
            for; by default the system's.
        sealed: Scan the plan's file in a process that can read it and nothing else, on Linux; where
            the system has no such thing, nothing is scanned.
        progress: Is told what is being done and its share in [0, 1].

    Returns:
        The published numbers, what they cost, and what to know before they are read.

    Raises:
        PlanError: the plan, its table or the prepared noise do not fit together.
        BudgetExceededError: the ledger's budget does not suffice; nothing was touched.
        DesignError: no noise within reach gives the plan's ε.
        EngineError: the engine failed; its message is withheld, for it may quote data.
        UnsupportedError: an engine, a library, a seal or a proof that is not there.

    Guarantees: see `Release`. Refused before the data are touched if the budget does not suffice;
    no private value in any error.

    Example:
        >>> import pyarrow
        >>> from leastnoise import Plan, Statistic
        >>> counted = (Statistic("count"),)
        >>> plan = Plan("c", None, "add/remove", counted, 1.0, 1e-6, one_row_per_person=True)
        >>> release(plan, table=pyarrow.table({"x": [1, 2, 3]})).epsilon <= 1.0
        True
    """
    wanted = with_share(plan if isinstance(plan, Plan) else load_plan(plan), ledger)
    told: Progress = progress or (lambda stage, share: None)
    source = chosen(entropy, not_private)
    made = _noise(wanted, prepared, told)
    if rigorous:
        _check_proven(made, told)
    dataset = wanted.dataset or wanted.name
    if ledger is not None:
        _check_allowed(ledger, dataset, wanted, made, source, last)
    entry = None

    def pay() -> AddedNoise:
        nonlocal entry
        if ledger is not None:
            entry = _spend(ledger, dataset, wanted, made, source, last)
        return partial(_drawn, source)

    where = {"table": table, "scratch": scratch, "sealed": sealed}
    carried = carry_out(wanted, made, pay, told, **where)
    done = Release(*carried, stamp_of(source), now(), entry)
    if ledger is not None and entry is not None:
        ledger.release_done(entry, done.hash)
        done = replace(done, standing=standing_of(ledger, dataset))
    told("adding noise", 1.0)
    return done


def carry_out(
    plan: Plan,
    made: Mechanism,
    pay: Callable[[], AddedNoise],
    told: Progress,
    *,
    table: Any = None,
    scratch: str | PathLike[str] | None = None,
    sealed: bool = False,
) -> tuple[Plan, tuple[ReleasedRow, ...], Mechanism, str]:
    """Steps 3 to 6 of the docstring above: the plan and its noise, with the keys that were found,
    the published rows, and the engine that counted.

    `pay` is called once, when all that can fail without a row has not failed, and before the first
    row is read for good; it gives what adds the noise.
    """
    if sealed and table is not None:
        raise UnsupportedError(
            "A sealed scan is of the file that a plan declares: leave out table, or sealed."
        )
    if sealed and plan.discovering:
        raise UnsupportedError(
            "A sealed scan answers with whole numbers only, and keys that are to be discovered "
            "are texts: declare the keys, or leave out sealed."
        )
    opened: Table | SealedTable
    if sealed:
        opened = SealedTable(plan, _scanned(made), scratch=scratch)
    else:
        opened = open_table(plan, table, scratch=scratch)
    try:
        _rehearsed(plan, opened, made, told)
        added = pay()
        shown: dict[tuple[Key, str], Fraction] = {}
        if made.threshold is not None and isinstance(opened, Table):
            shown = _found(plan, opened, made, added, told)
            plan, made = with_found(plan, made, _by_key(plan, shown))
        counts = _counted(plan, opened, made, told)
    finally:
        opened.close()
    told("adding noise", 0.0)
    noisy = _noisy(made, counts, added, shown)
    found = added_up(plan, made, estimate.rows(plan, made, noisy))
    agreeing = estimate.agreeing(plan, made, noisy)
    rows = suppressed(plan, with_hidden(plan, processed(plan, found, agreeing)))
    return plan, rows, made, opened.engine


def _found(
    plan: Plan, table: Table, made: Mechanism, added: AddedNoise, told: Progress
) -> dict[tuple[Key, str], Fraction]:
    """The keys that are shown, with their noisy numbers of persons. Sorted by key: neither the
    order of rows nor that of sizes shows."""
    threshold, most = int(made.threshold or 0), most_of_each(plan)
    found: dict[tuple[Key, str], Fraction] = {}
    for b, block in enumerate(made.blocks):
        if block.apart != DISCOVERS:
            continue
        told("finding keys", 0.0)
        law = next(made.law_of[i] for i, entry in enumerate(made.entries) if entry.block == b)
        counted = persons_by_key(plan, table, block)
        draws = tuple(Draw(0, (i,)) for i in range(len(counted)))
        alone = replace(made, laws=(law,), draws=draws)
        noisy = added(alone, [Fraction(count) for count in counted.values()])
        reached = [pair for pair in zip(counted, noisy, strict=True) if pair[1] >= threshold]
        largest = sorted(reached, key=lambda pair: (-pair[1], pair[0]))[:most]
        found |= {(block.group_by[0], label): number for label, number in sorted(largest)}
        told("finding keys", 1.0)
    return found


def _by_key(plan: Plan, shown: Iterable[tuple[Key, str]]) -> dict[Key, list[str]]:
    """The labels that are shown of each column whose keys were to be found."""
    found: dict[Key, list[str]] = {key: [] for key in plan.discovering}
    for key, label in shown:
        found[key].append(label)
    return found


def _rehearsed(plan: Plan, opened: Table | SealedTable, made: Mechanism, told: Progress) -> None:
    """Whatever fails without a row, or because a file is broken, fails here and costs nothing."""
    if isinstance(opened, Table):  # a sealed one rehearsed as it was opened
        rehearse(plan, opened, _scanned(made))
        read_through(plan, opened, lambda share: told("checking the table", share))
    told("checking the table", 1.0)


def _noise(plan: Plan, prepared: Mechanism | None, told: Progress) -> Mechanism:
    told("designing the noise", 0.0)
    made = mechanism(plan) if prepared is None else prepared
    if made.plan_hash != plan.hash:
        raise PlanError(
            "The prepared noise belongs to another plan: call mechanism(plan) for this one."
        )
    if plan.discovering and made.threshold is None:
        raise PlanError("The prepared noise finds no keys: call mechanism(plan) for this plan.")
    told("designing the noise", 1.0)
    return made


def _check_proven(made: Mechanism, told: Progress) -> None:
    told("proving the noise", 0.0)
    draws = [(law.noise, *part, law.changes) for law in made.laws for part in law.parts]
    check_proven(draws, made.epsilon, made.delta)
    told("proving the noise", 1.0)


def obstacle(
    plan: Plan,
    prepared: Mechanism,
    *,
    scratch: str | PathLike[str] | None = None,
    sealed: bool = False,
) -> str:
    """Why a release of the plan would fail at its table, as far as that shows without a row; ""
    where nothing is seen.

    Names and types are checked, and every query runs on no rows. Files are not read to their end:
    what is broken in them a release finds before it costs anything.
    """
    try:
        if sealed:
            SealedTable(plan, _scanned(prepared), scratch=scratch, without_rows=True).close()
            return ""
        opened = open_table(plan, scratch=scratch)
        try:
            rehearse(plan, opened, _scanned(prepared))
        finally:
            opened.close()
    except LeastNoiseError as error:
        return str(error)
    return ""


def _spend(
    ledger: Ledger, dataset: str, plan: Plan, made: Mechanism, source: Entropy, last: bool
) -> int:
    told = {"plan_hash": plan.hash, "note": plan.name, "stamp": stamp_of(source)}
    return ledger.spend(dataset, made.spends, **told, **unit_of(plan), last=last).id


def _check_allowed(
    ledger: Ledger, dataset: str, plan: Plan, made: Mechanism, source: Entropy, last: bool
) -> None:
    """The ledger's own refusal, if it would refuse, with what was tried and would be allowed."""
    cost = ledger.preview(dataset, made.spends, **unit_of(plan))
    if cost.allowed and (last or not cost.last):
        return
    try:
        _spend(ledger, dataset, plan, made, source, last=False)
    except BudgetExceededError as refused:
        reason = " ".join(filter(None, (refused.advice, tried(plan, ledger))))
        numbers = (refused.budget, refused.spent, refused.asked)
        raise BudgetExceededError(dataset, *numbers, reason, refused.what) from None
    except LedgerError as refused:
        raise LedgerError(" ".join(filter(None, (str(refused), tried(plan, ledger))))) from None


def standing_of(ledger: Ledger, dataset: str) -> Standing:
    """Where the ledger stands now."""
    account = ledger.dataset(dataset)
    stands = (account.releases, account.spent, account.epsilon, account.delta, ledger.head)
    return Standing(dataset, *stands, account.advantage, account.advantage_used)


def _counted(
    plan: Plan, table: Table | SealedTable, made: Mechanism, told: Progress
) -> list[Counts]:
    """The integers of every block."""
    counted: dict[int, Counts] = {}
    planned = scans(made.blocks)
    for b, scan in enumerate(planned):

        def scanning(share: float, b: int = b) -> None:
            told("scanning the table", (b + share) / len(planned))

        scanning(0.0)
        if isinstance(table, SealedTable):
            found = table.counts(b, scanning)
        elif scan.block.apart == DISCOVERS:  # counted and shown before
            found = dict.fromkeys(scan.block.groups, (0,))
        else:
            found = aggregate(plan, table, scan.block, scanning)
        counted |= zip(scan.serves, parted(scan, made.blocks, found), strict=True)
    told("scanning the table", 1.0)
    return [counted[b] for b in range(len(made.blocks))]


def _scanned(made: Mechanism) -> list[Block]:
    """What the engine is asked, scan by scan."""
    return [scan.block for scan in scans(made.blocks)]


def _noisy(
    made: Mechanism,
    counts: Sequence[Counts],
    added: AddedNoise,
    shown: Mapping[tuple[Key, str], Fraction] | None = None,
) -> list[float]:
    """Every answer with noise, in its own units. Exact rational arithmetic up to the last line.
    The numbers with which keys were shown have theirs."""
    scaled, units = list[Fraction](), list[Fraction]()
    for i, counted in enumerate(exact_answers(made, counts)):
        units.append(made.entries[i].sensitivity * Fraction(made.scale_of[i]))
        scaled.append(counted / units[i])
    known = _known(made, shown or {})
    left = replace(made, draws=tuple(one for one in made.draws if one.entries[0] not in known))
    noisy = list(added(left, scaled))
    for i, number in known.items():
        noisy[i] = number
    listed = zip(noisy, units, made.entries, strict=True)
    return [float(value * unit * entry.answer.unit) for value, unit, entry in listed]


def _known(made: Mechanism, shown: Mapping[tuple[Key, str], Fraction]) -> dict[int, Fraction]:
    """The entries that have their noisy numbers already."""
    named = {(key.column, key.match, label): number for (key, label), number in shown.items()}
    found = {}
    for i, entry in enumerate(made.entries):
        block = made.blocks[entry.block]
        if block.apart == DISCOVERS:
            (key,), (label,) = block.group_by, block.cells[entry.group]
            found[i] = named[key.column, key.match, label]
    return found


def exact_answers(made: Mechanism, counts: Sequence[Counts]) -> list[int]:
    """The whole number of every entry: what was counted in its cell, or a contrast of cells."""
    cells = [block.cells for block in made.blocks]
    of_residuals = {
        b: _contrasts(block, counts[b])
        for b, block in enumerate(made.blocks)
        if block.precision is not None
    }
    found = []
    for entry in made.entries:
        b, group = entry.block, entry.group
        place = made.blocks[b].answers_of(group).index(entry.answer)
        if b in of_residuals and group < len(made.blocks[b].groups):
            found.append(of_residuals[b][place][group])
        else:
            found.append(counts[b][cells[b][group]][place])
    return found


def _contrasts(block: Block, counted: Counts) -> list[list[int]]:
    """The contrasts of each answer of a residual, in whole numbers of any size."""
    each = []
    for place in range(len(block.answers)):
        whole = np.empty(len(block.groups), dtype=object)
        whole[:] = [counted[group][place] for group in block.groups]
        each.append([int(one) for one in contrasts(whole.reshape(block.sizes)).ravel()])
    return each


def _drawn(source: Entropy, made: Mechanism, scaled: Sequence[Fraction]) -> list[Fraction]:
    """Every answer, in sensitivities, with the noise of its draw. All draws of a law are made at
    once: one by one 100,000 took 18 s."""
    noisy: list[Fraction] = [Fraction(0)] * len(scaled)
    for number, sampled in enumerate(made.laws):
        law, drawn = sampled.noise, [one.entries for one in made.draws if one.law == number]
        if not drawn:
            continue
        asked = np.full((len(drawn), law.dimension), Fraction(0), dtype=object)
        for row, entries in enumerate(drawn):
            for at, i in enumerate(entries):
                asked[row, at] = scaled[i]
        shaped = asked if law.sampler().is_joint else asked.reshape(-1)
        out = noised(law, shaped, entropy=source, not_private=not is_private(source))
        integers = out.integers.reshape(len(drawn), -1).tolist()
        for entries, row_of in zip(drawn, integers, strict=True):
            for i, integer in zip(entries, row_of, strict=False):
                noisy[i] = int(integer) * out.unit
    return noisy
