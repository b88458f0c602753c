"""`release`: from a plan to published numbers, in an order that cannot leak.

1. The plan is complete (its construction checks it).
2. The noise is designed and judged, from the plan alone.
3. The ledger would allow it; the names and types of the table's columns are checked; every query runs
   on no rows, and files are read once to their end and forgotten. What fails so far costs nothing.
4. The ledger commits the spend, or refuses it.
5. The engine counts and sums integers; noise is added to them as integers.
6. Only now do numbers leave this function; the ledger notes the hash of what was published.

An interruption before step 4 costs nothing. After it the spend stays: the ledger cannot know whether something had been seen.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from importlib import metadata
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from leastnoise.digits import above
from leastnoise.errors import (
    BudgetExceededError,
    LeastNoiseError,
    LedgerError,
    PlanError,
    UnsupportedError,
)
from leastnoise.extras import required as extra
from leastnoise.releases import estimate, report
from leastnoise.releases.advice import tried, unit_of, with_share
from leastnoise.releases.cautions import cautions
from leastnoise.releases.estimate import Row
from leastnoise.releases.ledger import Ledger
from leastnoise.releases.mechanism import Mechanism, mechanism
from leastnoise.releases.page import page
from leastnoise.releases.plan import Plan
from leastnoise.releases.plan_file import load_plan
from leastnoise.releases.sealed import SealedTable
from leastnoise.releases.shares import with_hidden
from leastnoise.releases.table import Counts, Table, aggregate, open_table, read_through, rehearse
from leastnoise.sampling import release as noised
from leastnoise.sampling.entropy import OPERATING_SYSTEM, Entropy, chosen, is_private, stamp_of
from leastnoise.storage import write_whole

Progress = Callable[[str, float], None]  # what is being done, and its share in [0, 1]


@dataclass(frozen=True)
class Standing:
    """Where the ledger stands after a release: what its data set has spent in all, of what, and the head that proves it."""

    dataset: str
    releases: int
    spent: float
    epsilon: float
    delta: float
    head: str


@dataclass(frozen=True, eq=False)
class Release:
    """Published statistics and what they cost. Everything in it may be shown to anyone.

    Guarantees: (`epsilon`, `delta`)-differentially private for the unit and relation of the plan, with the operating
    system's `entropy`.
    """

    plan: Plan
    rows: tuple[Row, ...]
    mechanism: Mechanism
    engine: str
    entropy: str
    published: str
    entry: int | None = None
    standing: Standing | None = None

    @property
    def epsilon(self) -> float:
        return self.mechanism.epsilon

    @property
    def delta(self) -> float:
        return self.mechanism.delta

    @property
    def is_private(self) -> bool:
        """Whether the noise is the operating system's: drawn from anything else, nothing is guaranteed."""
        return self.entropy == OPERATING_SYSTEM

    @property
    def cautions(self) -> tuple[str, ...]:
        """What to know before the numbers are read; empty where the checks are quiet."""
        return tuple(caution.sentence for caution in cautions(self.plan, self.rows))

    @property
    def hash(self) -> str:
        """SHA-256 of the plan and the published numbers."""
        text = json.dumps(
            [self.plan.hash, [row.as_dict() for row in self.rows]],
            sort_keys=True,
            separators=(",", ":"),
        )
        return hashlib.sha256(text.encode("utf-8")).hexdigest()

    def value(self, statistic: str, group: str = "") -> float | None:
        """One published number by name; None where there are too few values to say."""
        for row in self.rows:
            if (row.statistic, row.group) == (statistic, group):
                return row.value
        raise PlanError(f"The release has no statistic {statistic!r} with group {group!r}.")

    def as_dict(self) -> dict[str, Any]:
        """The whole release as plain JSON data."""
        return {
            "format": "leastnoise.release",
            "version": 1,
            "software": f"leastnoise {metadata.version('leastnoise')}",
            "published": self.published,
            "plan_hash": self.plan.hash,
            "result_hash": self.hash,
            "guarantee": report.guarantee(self),
            "read_first": list(self.cautions),
            "law": report.law(self),
            "post_processing": list(self.plan.postprocess),
            "entropy": self.entropy,
            "ledger_entry": self.entry,
            "ledger": None if self.standing is None else asdict(self.standing),
            "bounds": report.bounds(self),
            "statistics": [row.as_dict() for row in self.rows],
            "registry": report.registry(self),
        }

    def to_pandas(self) -> Any:
        """The numbers as a pandas frame; `attrs` have the guarantee and what to read first."""
        frame = extra("pandas", "tables").DataFrame(report.records(self))
        frame.attrs.update(report.attached(self))
        return frame

    def to_arrow(self) -> Any:
        """The numbers as an Arrow table; the metadata of its schema have the guarantee and what to read first."""
        records = report.records(self)
        made = extra("pyarrow", "tables").Table.from_pylist(records, schema=_schema(records[0]))
        return made.replace_schema_metadata(
            {name: json.dumps(told) for name, told in report.attached(self).items()}
        )

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """JSON text, also written to `path` if given."""
        return _written(json.dumps(self.as_dict(), indent=1, ensure_ascii=False) + "\n", path)

    def to_csv(self, path: str | PathLike[str] | None = None) -> str:
        """CSV text, also written to `path` if given; what to read first is in a column before the numbers."""
        return _written(report.as_csv(self), path)

    def to_parquet(self, path: str | PathLike[str]) -> None:
        """A Parquet file of the numbers, with the guarantee and what to read first in its metadata."""
        parquet = extra("pyarrow.parquet", "tables")
        content = io.BytesIO()
        parquet.write_table(self.to_arrow(), content)
        write_whole(path, content.getvalue())

    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """The one-page report for the public."""
        return _written(page(self), path)

    def _repr_html_(self) -> str:
        from leastnoise.interop.notebook import release_html

        return release_html(self)

    def __repr__(self) -> str:
        cost = f"epsilon={above(self.epsilon, 6)}, delta={above(self.delta, 6)}"
        return f"Release({self.plan.name!r}, {len(self.rows)} numbers, {cost}, {self.engine})"


def release(
    plan: Plan | str | PathLike[str],
    *,
    ledger: Ledger | None = None,
    table: Any = None,
    prepared: Mechanism | None = None,
    entropy: Entropy | None = None,
    not_private: bool = False,
    last: bool = False,
    scratch: str | PathLike[str] | None = None,
    sealed: bool = False,
    progress: Progress | None = None,
) -> Release:
    """Carry out a plan (or the plan in a TOML file): noisy statistics with their guarantee.

    `ledger` keeps the budget of `plan.dataset`, which must have been declared there; without one
    nothing adds up what several releases cost. A plan without a δ gets its share of the ledger's.
    `last` allows a release after which next to nothing could be released from the data set; else
    such a one is refused. `table` (a pandas, polars, pyarrow or Spark table, or an ibis table of
    DuckDB, PostgreSQL or Spark) takes the place of the plan's source. `prepared` is the
    `mechanism(plan)` of the same plan, with its δ (see `with_share`), made earlier to see what noise
    the budget buys. `progress` is told what is being done and its share. `entropy` is for tests: any
    other source than the operating system's needs `not_private=True`, and the result, its files and
    the ledger say so. `scratch` is a folder in which DuckDB makes a private one for the rows that
    memory has no room for, by default the system's. `sealed` scans the plan's file in a process that
    can read it and nothing else, on Linux; where the system has no such thing, nothing is scanned.

    Guarantees: see `Release`. Refused before the data are touched if the budget does not suffice; no private value in any error.
    """
    wanted = with_share(plan if isinstance(plan, Plan) else load_plan(plan), ledger)
    told: Progress = progress or (lambda stage, share: None)
    source = chosen(entropy, not_private)
    told("designing the noise", 0.0)
    made = mechanism(wanted) if prepared is None else prepared
    if made.plan_hash != wanted.hash:
        raise PlanError(
            "The prepared noise belongs to another plan: call mechanism(plan) for this one."
        )
    told("designing the noise", 1.0)
    dataset = wanted.dataset or wanted.name
    if ledger is not None:
        cost = ledger.preview(dataset, made.spends, **unit_of(wanted))
        if not cost.allowed or (cost.last and not last):
            _refuse(ledger, dataset, wanted, made, source)
    if sealed and table is not None:
        raise UnsupportedError(
            "A sealed scan is of the file that a plan declares: leave out table, or sealed."
        )
    opened = (
        SealedTable(wanted, made.blocks, scratch=scratch)
        if sealed
        else open_table(wanted, table, scratch=scratch)
    )
    try:
        if isinstance(opened, Table):  # a sealed one rehearsed as it was opened
            rehearse(wanted, opened, made.blocks)
            read_through(wanted, opened, lambda share: told("checking the table", share))
        told("checking the table", 1.0)
        entry = None if ledger is None else _spend(ledger, dataset, wanted, made, source, last)
        counts = _counted(wanted, opened, made, told)
    finally:
        opened.close()
    told("adding noise", 0.0)
    noisy = _noisy(made, counts, source)
    found = with_hidden(wanted, estimate.processed(wanted, estimate.rows(wanted, made, noisy)))
    stamp = datetime.now(UTC).isoformat(timespec="seconds")
    done = Release(wanted, found, made, opened.engine, stamp_of(source), stamp, entry)
    if ledger is not None and entry is not None:
        ledger.release_done(entry, done.hash)
        done = replace(done, standing=_standing(ledger, dataset))
    told("adding noise", 1.0)
    return done


def obstacle(
    plan: Plan,
    prepared: Mechanism,
    *,
    scratch: str | PathLike[str] | None = None,
    sealed: bool = False,
) -> str:
    """Why a release of the plan would fail at its table, as far as that shows without a row; "" where nothing is seen.

    Names and types are checked, and every query runs on no rows. Files are not read to their end: what
    is broken in them a release finds before it costs anything.
    """
    try:
        if sealed:
            SealedTable(plan, prepared.blocks, scratch=scratch, without_rows=True).close()
            return ""
        opened = open_table(plan, scratch=scratch)
        try:
            rehearse(plan, opened, prepared.blocks)
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


def _refuse(ledger: Ledger, dataset: str, plan: Plan, made: Mechanism, source: Entropy) -> None:
    """The ledger's own refusal, with what was tried and would be allowed."""
    try:
        _spend(ledger, dataset, plan, made, source, last=False)
    except BudgetExceededError as refused:
        reason = " ".join(filter(None, (refused.advice, tried(plan, ledger))))
        raise BudgetExceededError(
            dataset, refused.budget, refused.spent, refused.asked, reason
        ) from None
    except LedgerError as refused:
        raise LedgerError(" ".join(filter(None, (str(refused), tried(plan, ledger))))) from None


def _standing(ledger: Ledger, dataset: str) -> Standing:
    account = ledger.dataset(dataset)
    return Standing(
        dataset, account.releases, account.spent, account.epsilon, account.delta, ledger.head
    )


def _counted(
    plan: Plan, table: Table | SealedTable, made: Mechanism, told: Progress
) -> list[Counts]:
    """The integers of every block, one scan each."""
    counted = []
    for b, block in enumerate(made.blocks):

        def scanning(share: float, b: int = b) -> None:
            told("scanning the table", (b + share) / len(made.blocks))

        scanning(0.0)
        if isinstance(table, SealedTable):
            counted.append(table.counts(b, scanning))
        else:
            counted.append(aggregate(plan, table, block, scanning))
    told("scanning the table", 1.0)
    return counted


def _noisy(made: Mechanism, counts: Sequence[Counts], source: Entropy) -> list[float]:
    """Every answer with noise, in its own units. Exact rational arithmetic up to the last line."""
    noisy: list[Fraction] = [Fraction(0)] * len(made.entries)
    cells = [block.cells for block in made.blocks]
    for drawn in made.draws:
        served = [made.entries[i] for i in drawn.entries]
        law = made.laws[drawn.law].noise
        scaled = np.full(law.dimension, Fraction(0), dtype=object)
        for at, entry in enumerate(served):
            place = made.blocks[entry.block].answers_of(entry.group).index(entry.answer)
            counted = counts[entry.block][cells[entry.block][entry.group]][place]
            scaled[at] = Fraction(counted, entry.sensitivity)
        out = noised(law, scaled, entropy=source, not_private=not is_private(source))
        for i, entry, integer in zip(
            drawn.entries, served, out.integers.tolist()[: len(served)], strict=True
        ):
            noisy[i] = int(integer) * out.unit * entry.sensitivity * entry.answer.unit
    return [float(value) for value in noisy]


def _written(text: str, path: str | PathLike[str] | None) -> str:
    if path is not None:
        write_whole(Path(path), text)
    return text


def _schema(record: dict[str, Any]) -> Any:
    arrow = extra("pyarrow", "tables")
    numbers = ("value", "lower", "upper", "noise_std", "half_width_95", "unprocessed")
    return arrow.schema(
        [(name, arrow.float64() if name in numbers else arrow.string()) for name in record]
    )
