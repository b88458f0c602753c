"""A release as data: the plan, the published numbers, and what they cost. What is shown of it is
made from this (`report`); `Release` offers both."""

from __future__ import annotations

from dataclasses import dataclass

from leastnoise.errors import PlanError
from leastnoise.files.canonical import digest
from leastnoise.releases.estimates.row import ReleasedRow
from leastnoise.releases.noise.mechanism import Mechanism
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.report.cautions import cautions
from leastnoise.sampling.entropy import OPERATING_SYSTEM
from leastnoise.text.numbers import above

REHEARSAL = "REHEARSAL on invented rows: the numbers say nothing about anybody"


@dataclass(frozen=True)
class Standing:
    """Where the ledger stands after a release.

    Attributes:
        dataset: The ledger's name of the data.
        releases: How many releases of the data there were, this one among them.
        spent: The ε that all of them have spent, at the ledger's δ.
        epsilon: The ε that all of them may spend.
        delta: The ledger's δ.
        head: The hash that proves the ledger up to here.
        advantage: The cap on the attacker's advantage over all of them; None without one.
        advantage_used: What all of them have used of it.
    """

    dataset: str
    releases: int
    spent: float
    epsilon: float
    delta: float
    head: str
    advantage: float | None = None
    advantage_used: float | None = None


@dataclass(frozen=True, eq=False)
class ReleaseRecord:
    """Published statistics and what they cost; see `Release`."""

    plan: Plan
    rows: tuple[ReleasedRow, ...]
    mechanism: Mechanism
    engine: str
    entropy: str
    published: str
    entry: int | None = None
    standing: Standing | None = None

    @property
    def epsilon(self) -> float:
        """The privacy loss ε of the release, an upper bound."""
        return self.mechanism.epsilon

    @property
    def delta(self) -> float:
        """The probability with which ε may be exceeded."""
        return self.mechanism.delta

    @property
    def is_private(self) -> bool:
        """Whether the noise is the operating system's: with any other nothing is guaranteed."""
        return self.entropy == OPERATING_SYSTEM

    @property
    def is_rehearsed(self) -> bool:
        """Whether the rows were invented (`leastnoise.rehearsed`)."""
        return self.entropy == REHEARSAL

    @property
    def cautions(self) -> tuple[str, ...]:
        """What to know before the numbers are read; empty where the checks are quiet."""
        return tuple(caution.sentence for caution in cautions(self.plan, self.rows))

    @property
    def hash(self) -> str:
        """SHA-256 of the plan and the published numbers."""
        return digest([self.plan.hash, [row.as_dict() for row in self.rows]], finite=False)

    def value(self, statistic: str, group: str = "") -> float | None:
        """One published number by name.

        Args:
            statistic: The name of the statistic.
            group: The group as it is shown, such as "ward = A"; "" where there are none.

        Returns:
            The number, in the units of the statistic; None where there are too few values to say.

        Raises:
            PlanError: the release has no such number.
        """
        for row in self.rows:
            if (row.statistic, row.group) == (statistic, group):
                return row.value
        raise PlanError(f"The release has no statistic {statistic!r} with group {group!r}.")

    def __repr__(self) -> str:
        cost = f"epsilon={above(self.epsilon, 6)}, delta={above(self.delta, 6)}"
        return f"Release({self.plan.name!r}, {len(self.rows)} numbers, {cost}, {self.engine})"
