"""A fleet of processes that release and are killed while they do it. Run as a module: everything is
imported and designed once, and every member of the fleet is a fork."""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import duckdb  # noqa: F401  imported before the forks; a connection, and with it the engine's threads, belongs to each child
import ibis
import pyarrow as pa
import pyarrow.dataset

from leastnoise.errors import BudgetExceededError
from leastnoise.ledger.ledger import Ledger
from leastnoise.releases.noise.mechanism import Mechanism, mechanism
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.statistic import Statistic
from leastnoise.releases.release import release
from releases.instants import (
    COMMITTING,
    NOTING,
    WAITING,
    WRITTEN,
    Child,
    Target,
    Tell,
    killed_one_by_one,
)

WRITERS = 8
BUDGET = {"epsilon": 1.0, "delta": 1e-6}  # of each numbered data set: a dozen of the releases below
WIDE = {"epsilon": 1000.0, "delta": 1e-3}  # of the one that goes on when those are spent
TABLE = pa.table({"x": list(range(1000)), "g": ["a", "b"] * 500})
ibis.duckdb  # noqa: B018  loads the backend

SCANNED, NOISY, RETURNED, REVEALED = (
    "the table is read",
    "noise is added",
    "the release has returned",
    "its result is revealed",
)
INSTANTS = (
    WAITING,
    WRITTEN,
    COMMITTING,
    SCANNED,
    NOISY,
    NOTING,
    RETURNED,
    REVEALED,
)  # in their order, but for the first
TIMES = (1, 2, 3)  # in which of its releases a child is killed


def plans(dataset: str) -> list[Plan]:
    """Two releases with different laws: a count, and a count and a sum by group."""
    by = {"g": ["a", "b"]}
    total = Statistic("sum", column="x", lower=0, upper=100, pitch=1, missing="drop", group_by=by)
    unit = {"one_row_per_person": True, "dataset": dataset}
    return [
        Plan("one number", None, "add/remove", (Statistic("count"),), 0.05, 1e-8, **unit),
        Plan(
            "four numbers",
            None,
            "add/remove",
            (Statistic("count", group_by=by), total),
            0.1,
            1e-8,
            **unit,
        ),
    ]


Prepared = dict[str, list[tuple[Plan, Mechanism]]]


def prepared_for(names: list[str]) -> Prepared:
    """The plans with their noise, which is the same for every data set."""
    made = [mechanism(plan) for plan in plans(names[0])]
    return {
        name: [
            (plan, replace(noise, plan_hash=plan.hash))
            for plan, noise in zip(plans(name), made, strict=True)
        ]
        for name in names
    }


def release_without_end(
    book: str,
    revealed: str,
    prepared: Prepared,
    names: list[str],
    generator: random.Random,
    tell: Tell,
) -> None:
    """Release from the first data set until it refuses, then from the next; write what every
    release revealed, once it returned."""
    left = list(names)
    stages = {("scanning the table", 1.0): SCANNED, ("adding noise", 0.0): NOISY}
    last = ""

    def progress(stage: str, share: float) -> None:
        nonlocal last
        before, last = last, stages.get((stage, share), "")
        if last and last != before:  # a share may be told twice
            tell(last)

    with (
        Ledger(book, timeout=600.0) as ledger,
        open(revealed, "a", encoding="utf-8", buffering=1) as file,
    ):
        while True:
            plan, made = generator.choice(prepared[left[0]])
            try:
                done = release(
                    plan, table=TABLE, ledger=ledger, prepared=made, progress=progress, last=True
                )
            except BudgetExceededError:
                left = left[1:] or left
                continue
            tell(RETURNED)
            file.write(f"{done.entry} {plan.hash} {done.hash}\n")
            tell(REVEALED)


def targets(kills: int) -> Iterator[Target]:
    """Every instant in a child's first, second and third release, held there and just gone on from
    it, over and over."""
    for number in range(kills):
        place, rest = number % len(INSTANTS), number // len(INSTANTS)
        yield Target(INSTANTS[place], TIMES[rest % len(TIMES)], after=rest // len(TIMES) % 2 == 1)


def fleet(folder: str, kills: int) -> dict[str, int]:
    """Keep `WRITERS` children at work until `kills` of them have been killed: at which instants,
    and what was surely revealed."""
    generator = random.Random(7)
    book, revealed = (str(Path(folder) / name) for name in ("ledger", "revealed"))
    names = [f"patients {number}" for number in range(4)]
    with Ledger(book) as ledger:
        for name in names:
            ledger.open_dataset(name, **BUDGET)
        ledger.open_dataset("rest", **WIDE)
    prepared = prepared_for([*names, "rest"])

    def child(target: Target) -> Child:
        seed, start = generator.random(), generator.randrange(len(names))

        def work(tell: Tell) -> None:
            release_without_end(
                book, revealed, prepared, [*names[start:], "rest"], random.Random(seed), tell
            )

        return Child(work, target)

    told: Counter[str] = Counter()
    for killed in killed_one_by_one(map(child, targets(kills)), WRITERS):
        told[killed.target.instant] += 1
        told["revealed"] += killed.seen[REVEALED]
    return dict(told)


if __name__ == "__main__":
    print(json.dumps(fleet(sys.argv[1], int(sys.argv[2]))))
