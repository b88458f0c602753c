"""Processes for the safety tests: children that are killed while they spend, and writers that race. Run as a script."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from leastnoise import laplace
from leastnoise.errors import BudgetExceededError
from leastnoise.releases.ledger import Ledger, Spend

LOSS = 0.1  # of one release; 12 fit into the budget below, by their simple sum
SPENDS = [Spend(laplace(2**0.5 / LOSS))]
BUDGET = {"epsilon": 1.25, "delta": 1e-9}
FITTING = 12


def spend_and_reveal(path: str, revealed: str, token: str, most: int = 10**6, ready: int | None = None) -> int:
    """Spend until refused; write the id of every release to `revealed` once its spend has returned. The number of releases."""
    done = 0
    with Ledger(path) as ledger, open(revealed, "a", encoding="ascii", buffering=1) as file:
        ledger.open_dataset("patients", **BUDGET)
        if ready is not None:
            os.write(ready, b"r")
        while done < most:
            try:
                entry = ledger.spend("patients", SPENDS, plan_hash=f"{token}-{done}")
            except BudgetExceededError:
                break
            file.write(f"{entry.id} {entry.plan_hash}\n")
            ledger.release_done(entry.id, f"result-{entry.id}")
            done += 1
    return done


def state(path: str, revealed: str) -> dict[str, object]:
    """What a killed process left behind."""
    lines = Path(revealed).read_text(encoding="ascii").split("\n")[:-1] if Path(revealed).exists() else []
    if not Path(path).exists():
        return {"problems": [], "entries": 0, "orphans": lines, "revealed": len(lines), "spent": 0.0}
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


def kills(directory: str, count: int, per_ledger: int, longest: float) -> list[dict[str, object]]:
    """Kill `count` children, each at a random instant; a new ledger after every `per_ledger`.

    The clock starts with the child for one in five, which may then die while it creates the ledger, else when the ledger is open.
    """
    generator = random.Random(20250)
    left = []
    for number in range(count):
        path, revealed = (str(Path(directory) / f"{number // per_ledger}.{kind}") for kind in ("ledger", "revealed"))
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                spend_and_reveal(path, revealed, f"child{number}", ready=writer)
            finally:
                os._exit(0)
        os.close(writer)  # so that the end of a child that never gets ready is noticed
        if number % per_ledger:
            os.read(reader, 1)
        time.sleep(generator.uniform(0.0, longest))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        os.close(reader)
        left.append({**state(path, revealed), "killed": os.WIFSIGNALED(status)})
    return left


def race(path: str, directory: str, writers: int) -> list[int]:
    """Let `writers` processes spend until nothing is left; how many releases each made."""
    children = []
    for number in range(writers):
        child = os.fork()
        if child == 0:
            code = 255
            try:
                code = spend_and_reveal(path, str(Path(directory) / f"{number}.revealed"), f"racer{number}")
            finally:
                os._exit(code)
        children.append(child)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def main(arguments: list[str]) -> None:
    if arguments[0] == "kills":
        print(json.dumps(kills(arguments[1], int(arguments[2]), int(arguments[3]), float(arguments[4]))))
    elif arguments[0] == "race":
        print(json.dumps(race(arguments[1], arguments[2], int(arguments[3]))))


if __name__ == "__main__":
    main(sys.argv[1:])
