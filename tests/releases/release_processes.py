"""A fleet of processes that release and are killed while they do it. Run as a script: everything is imported and designed once, and
every member of the fleet is a fork."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import duckdb  # noqa: F401  imported before the forks; a connection, and with it the engine's threads, belongs to each child
import ibis
import pyarrow as pa
import pyarrow.dataset

from leastnoise.errors import BudgetExceededError
from leastnoise.releases.ledger import Ledger
from leastnoise.releases.mechanism import Mechanism, mechanism
from leastnoise.releases.plan import Plan, Statistic
from leastnoise.releases.run import release

WRITERS = 8
BUDGET = {"epsilon": 1.0, "delta": 1e-6}  # of each numbered data set: a dozen of the releases below
WIDE = {"epsilon": 1000.0, "delta": 1e-3}  # of the one that goes on when those are spent
TABLE = pa.table({"x": list(range(1000)), "g": ["a", "b"] * 500})
ibis.duckdb  # noqa: B018  loads the backend


def plans(dataset: str) -> list[Plan]:
    """Two releases with different laws: a count, and a count and a sum by group."""
    by = {"g": ["a", "b"]}
    total = Statistic("sum", column="x", lower=0, upper=100, pitch=1, missing="drop", group_by=by)
    unit = {"one_row_per_person": True, "dataset": dataset}
    return [
        Plan("one number", None, "add/remove", (Statistic("count"),), 0.05, 1e-8, **unit),
        Plan("four numbers", None, "add/remove", (Statistic("count", group_by=by), total), 0.1, 1e-8, **unit),
    ]


Prepared = dict[str, list[tuple[Plan, Mechanism]]]


def prepared_for(names: list[str]) -> Prepared:
    """The plans with their noise, which is the same for every data set."""
    made = [mechanism(plan) for plan in plans(names[0])]
    return {
        name: [(plan, replace(noise, plan_hash=plan.hash)) for plan, noise in zip(plans(name), made, strict=True)] for name in names
    }


def release_without_end(book: str, revealed: str, prepared: Prepared, names: list[str], generator: random.Random) -> None:
    """Release from the first data set until it refuses, then from the next; write what every release revealed, once it returned."""
    left = list(names)
    with Ledger(book) as ledger, open(revealed, "a", encoding="utf-8", buffering=1) as file:
        while True:
            plan, made = generator.choice(prepared[left[0]])
            try:
                done = release(plan, table=TABLE, ledger=ledger, prepared=made)
            except BudgetExceededError:
                left = left[1:] or left
                continue
            file.write(f"{done.entry} {plan.hash} {done.hash}\n")


def fleet(folder: str, kills: int, longest: float) -> dict[str, int]:
    """Keep `WRITERS` children at work and kill them, each at a random instant of its life, until `kills` are dead."""
    generator = random.Random(7)
    book, revealed = (str(Path(folder) / name) for name in ("ledger", "revealed"))
    names = [f"patients {number}" for number in range(4)]
    with Ledger(book) as ledger:
        for name in names:
            ledger.open_dataset(name, **BUDGET)
        ledger.open_dataset("rest", **WIDE)
    prepared = prepared_for([*names, "rest"])
    ends: dict[int, float] = {}
    killed = 0
    while killed < kills or ends:
        while len(ends) < WRITERS and killed + len(ends) < kills:
            seed, start = generator.random(), generator.randrange(len(names))
            child = os.fork()
            if child == 0:
                try:
                    release_without_end(book, revealed, prepared, [*names[start:], "rest"], random.Random(seed))
                finally:
                    os._exit(1)
            ends[child] = time.monotonic() + generator.uniform(0.0, longest)
        child = min(ends, key=lambda number: ends[number])
        time.sleep(max(ends[child] - time.monotonic(), 0.0))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        del ends[child]
        killed += os.WIFSIGNALED(status)
        if not os.WIFSIGNALED(status):
            raise SystemExit("A child ended by itself.")
    return {"killed": killed}


if __name__ == "__main__":
    print(json.dumps(fleet(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))))
