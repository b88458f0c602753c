"""Processes for the safety tests: children that are killed while they spend, and writers that race.
Run as a module."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from leastnoise import laplace
from leastnoise.errors import BudgetExceededError
from leastnoise.ledger.ledger import Ledger, Spend
from releases.instants import (
    COMMITTING,
    CREATING,
    NOTING,
    WAITING,
    WRITTEN,
    Child,
    Target,
    Tell,
    killed_one_by_one,
)

LOSS = 0.1  # of one release; 12 fit into the budget below, by their simple sum
SPENDS = [Spend(laplace(2**0.5 / LOSS))]
BUDGET = {"epsilon": 1.25, "delta": 1e-9}
FITTING = 12

SPENT, REVEALED, DONE = "the spend has returned", "the result is revealed", "the release is done"
INSTANTS = (CREATING, WAITING, WRITTEN, COMMITTING, SPENT, REVEALED, NOTING, DONE)  # in their order


def spend_and_reveal(
    path: str, revealed: str, token: str, tell: Tell = lambda instant: None
) -> int:
    """Spend until refused; write the id of every release to `revealed` once its spend has returned.
    The number of releases."""
    done = 0
    with (
        Ledger(path, timeout=600.0) as ledger,
        open(revealed, "a", encoding="ascii", buffering=1) as file,
    ):
        ledger.open_dataset("patients", **BUDGET)
        while True:
            try:
                entry = ledger.spend("patients", SPENDS, plan_hash=f"{token}-{done}", last=True)
            except BudgetExceededError:
                return done
            tell(SPENT)
            file.write(f"{entry.id} {entry.plan_hash}\n")
            tell(REVEALED)
            ledger.release_done(entry.id, f"result-{entry.id}")
            tell(DONE)
            done += 1


def state(path: str, revealed: str) -> dict[str, object]:
    """What a killed process left behind."""
    lines = (
        Path(revealed).read_text(encoding="ascii").split("\n")[:-1]
        if Path(revealed).exists()
        else []
    )
    if not Path(path).exists():
        return {
            "problems": [],
            "entries": 0,
            "orphans": lines,
            "revealed": len(lines),
            "spent": 0.0,
        }
    with Ledger(path) as ledger:
        check = ledger.check()
        entries = {f"{entry.id} {entry.plan_hash}": entry for entry in ledger.entries()}
        spent = max((dataset.spent for dataset in ledger.datasets()), default=0.0)
    return {
        "problems": list(check.problems),
        "entries": len(entries),
        "orphans": [line for line in lines if line not in entries],
        "revealed": len(lines),
        "spent": spent,
    }


def kills(directory: str, ledgers: int) -> list[dict[str, object]]:
    """Kill a child at every instant of the life of each of `ledgers` ledgers, its first one while
    it makes the file.

    For even ledgers they are held at the instant in their second release and killed; for odd ones
    they have just gone on from it in their first.
    """
    left = []
    for number in range(ledgers):
        path, revealed = (
            str(Path(directory) / f"{number}.{kind}") for kind in ("ledger", "revealed")
        )
        after = number % 2 == 1

        def child(
            instant: str, path: str = path, revealed: str = revealed, after: bool = after
        ) -> Child:
            time = 1 if after or instant == CREATING else 2
            if instant == WAITING:
                time *= 2  # the budget is written with that right too, and the end of each release
            token = f"child{INSTANTS.index(instant)}"
            return Child(
                lambda tell: spend_and_reveal(path, revealed, token, tell),
                Target(instant, time, after),
            )

        for killed in killed_one_by_one(child(instant) for instant in INSTANTS):
            left.append({**state(path, revealed), "instant": killed.target.instant, "after": after})
    return left


def race(path: str, directory: str, writers: int) -> list[int]:
    """Let `writers` processes spend until nothing is left; how many releases each made."""
    children = []
    for number in range(writers):
        child = os.fork()
        if child == 0:
            code = 255
            try:
                code = spend_and_reveal(
                    path, str(Path(directory) / f"{number}.revealed"), f"racer{number}"
                )
            finally:
                os._exit(code)
        children.append(child)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def main(arguments: list[str]) -> None:
    if arguments[0] == "kills":
        print(json.dumps(kills(arguments[1], int(arguments[2]))))
    elif arguments[0] == "race":
        print(json.dumps(race(arguments[1], arguments[2], int(arguments[3]))))


if __name__ == "__main__":
    main(sys.argv[1:])
