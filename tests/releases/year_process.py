"""A release that is killed at an instant it announces. Run as a module: the release itself is a
fork of it."""

from __future__ import annotations

import sys

import duckdb  # noqa: F401  imported before the fork; a connection belongs to the child
import ibis

from leastnoise.ledger.ledger import Ledger
from leastnoise.releases.plan.file import load_plan
from leastnoise.releases.release import release
from releases.instants import Child, Target, Tell

ibis.duckdb  # noqa: B018  loads the backend
SCANNED = "the table is read"


def killed(plan: str, book: str, instant: str) -> None:
    """Carry out the plan, up to that instant."""

    def work(tell: Tell) -> None:
        def progress(stage: str, share: float) -> None:
            if (stage, share) == ("scanning the table", 1.0):
                tell(SCANNED)

        with Ledger(book) as ledger:
            release(load_plan(plan), ledger=ledger, progress=progress)

    child = Child(work, Target(instant))
    while not child.hear():
        pass


if __name__ == "__main__":
    killed(*sys.argv[1:])
