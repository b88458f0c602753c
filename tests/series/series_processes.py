"""Processes for the safety tests of a series: children that are killed while they answer, or while
they open one. Run as a module: everything is imported once, and every child is a fork."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from leastnoise import Ledger
from leastnoise.errors import LedgerError, SeriesError
from leastnoise.series import kept_draw
from leastnoise.series.opening import open_series
from leastnoise.series.series import Series
from releases.instants import (
    COMMITTING,
    COUNTING,
    WAITING,
    WRITTEN,
    Child,
    Target,
    Tell,
    killed_one_by_one,
)
from series.cheap import BUDGET, DATASET, cheap_series, law, stored_numbers

AT_ONCE = 8
QUESTIONS = 1500
TIMES = (1, 2, 3)  # in which of its answers a child is killed

WRITING = "nothing is written to the file yet"
TORN = "half of it is written"
SYNCING = "it is written, not on the disk"
MARKING = "it is on the disk, the inode knows nothing"
ANSWERED, REVEALED = "the answer has returned", "the answer is revealed"
_FILE = (WRITING, TORN, SYNCING, MARKING)
ANSWERING = {  # in their order
    False: (*_FILE, ANSWERED, REVEALED),
    True: (WAITING, *_FILE, COUNTING, ANSWERED, REVEALED),
}
OPENED = "the series is open"
OPENING = {
    False: (WRITING, TORN, SYNCING, OPENED),
    True: (WRITING, TORN, SYNCING, WAITING, WRITTEN, COMMITTING, COUNTING, OPENED),
}


def trace_files(tell: Tell) -> None:
    """Every file of a series tells its instants from now on."""
    write, note = kept_draw._write_at, kept_draw.note

    def written(handle: int, content: bytes, at: int) -> None:
        half = len(content) // 2
        tell(WRITING)
        write(handle, content[:half], at)
        tell(TORN)
        write(handle, content[half:], at + half)
        tell(SYNCING)

    def noted(handle: int, used: int) -> bool:
        if used:  # else the file is only being made
            tell(MARKING)
        return note(handle, used)

    kept_draw._write_at, kept_draw.note = written, noted  # type: ignore[assignment]


def opened(folder: Path, charged: bool) -> tuple[Series, Ledger | None]:
    ledger = Ledger(folder / "ledger", timeout=600.0) if charged else None
    return open_series(folder / "a.series", ledger=ledger), ledger


def answer_without_end(folder: Path, charged: bool, tell: Tell) -> None:
    """Ask for zero: the answer is the number itself. Revealed is its place and what it was, once
    the answer has returned."""
    series, _ = opened(folder, charged)
    trace_files(tell)
    with open(folder / "revealed", "a", encoding="ascii", buffering=1) as file:
        while True:
            found = series.answer(0, sensitivity=1)
            tell(ANSWERED)
            file.write(f"{found.number} {found.value:.0f}\n")
            tell(REVEALED)


def revealed(folder: Path) -> list[tuple[int, int]]:
    """(place from 1, number) of everything revealed so far."""
    path = folder / "revealed"
    lines = path.read_text(encoding="ascii").split("\n")[:-1] if path.exists() else []
    return [(int(place), int(number)) for place, number in map(str.split, lines)]


def faults(folder: Path, numbers: list[int | None], charged: bool) -> list[str]:
    """What must never be, however a process was killed."""
    told = revealed(folder)  # before the file is read: others are at work
    found = [f"{n} times number {p}" for p, n in Counter(p for p, _ in told).items() if n > 1]
    found += [f"number {p} is another" for p, number in told if numbers[p - 1] != number]
    left = stored_numbers(folder / "a.series")
    found += [f"number {p} revealed unmarked" for p, _ in told if left[p - 1] is not None]
    if charged:
        with Ledger(folder / "ledger", read_only=True, timeout=600.0) as ledger:
            counted = ledger.entries()[0].answered or 0
        found += [f"number {p} revealed uncounted" for p, _ in told if p > counted]
    return found


def targets(kills: int, charged: bool) -> Iterator[Target]:
    """Every instant in a child's first, second and third answer, held there and just gone on from
    it, over and over."""
    instants = ANSWERING[charged]
    for number in range(kills):
        rest = number // len(instants)
        yield Target(
            instants[number % len(instants)],
            TIMES[rest % len(TIMES)],
            after=rest // len(TIMES) % 2 == 1,
        )


def fleet(folder: Path, kills: int, charged: bool) -> dict[str, Any]:
    """Keep `AT_ONCE` children at work on one series until `kills` have been killed."""
    if charged:
        with Ledger(folder / "ledger") as ledger:
            ledger.open_dataset(DATASET, **BUDGET)
            cheap_series(folder / "a.series", QUESTIONS, ledger=ledger, dataset=DATASET)
    else:
        cheap_series(folder / "a.series", QUESTIONS)
    numbers = stored_numbers(folder / "a.series")

    def child(target: Target) -> Child:
        return Child(lambda tell: answer_without_end(folder, charged, tell), target)

    killed: Counter[str] = Counter()
    wrong: list[str] = []
    for one in killed_one_by_one(map(child, targets(kills, charged)), AT_ONCE):
        killed[one.target.instant] += 1
        wrong += faults(folder, numbers, charged)
    series, _ = opened(folder, charged)
    last = series.answer(0, sensitivity=1)
    return {
        "killed": killed,
        "faults": wrong,
        "revealed": len(revealed(folder)),
        "used": series.used,
        "last": [last.number, numbers[last.number - 1] == last.value],
    }


def openings(folder: Path, charged: bool) -> list[dict[str, Any]]:
    """Kill a child at every instant of opening a series, held there and just gone on from it."""
    law()  # before the forks
    left = []
    if charged:
        with Ledger(folder / "ledger") as ledger:
            ledger.open_dataset(DATASET, **BUDGET)
    for after in (False, True):
        for instant in OPENING[charged]:
            # the tables of the ledger are there; the first right to write is for the spend
            killed = next(
                killed_one_by_one(iter([_opener(folder, charged, Target(instant, 1, after))]))
            )
            left.append(
                {
                    "instant": killed.target.instant,
                    "after": after,
                    **_left_behind(folder, charged),
                }
            )
    return left


def _opener(folder: Path, charged: bool, target: Target) -> Child:
    def work(tell: Tell) -> None:
        options: dict[str, Any] = {}
        if charged:
            options = {"ledger": Ledger(folder / "ledger", timeout=600.0), "dataset": DATASET}
        trace_files(tell)
        cheap_series(folder / "a.series", 4, **options)
        tell(OPENED)
        tell("it goes on")

    return Child(work, target)


def _left_behind(folder: Path, charged: bool) -> dict[str, Any]:
    """What a killed child left, and whether it answers; then it is removed."""
    path = folder / "a.series"
    names = sorted(one.name for one in folder.iterdir() if not one.name.startswith("ledger"))
    found: dict[str, Any] = {"names": names, "mode": path.stat().st_mode & 0o777}
    ledger = Ledger(folder / "ledger", timeout=600.0) if charged else None
    try:
        series = open_series(path, ledger=ledger)
        found["answered"] = series.answer([0, 0, 0, 0], sensitivity=1)[-1].number
    except (SeriesError, LedgerError) as error:
        found["refused"] = type(error).__name__
    if ledger is not None:
        found |= {"entries": len(ledger.entries()), "problems": list(ledger.check().problems)}
        ledger.close()
    path.unlink()
    return found


def main(arguments: list[str]) -> None:
    what, folder, charged = arguments[0], Path(arguments[1]), arguments[2] == "charged"
    if what == "fleet":
        print(json.dumps(fleet(folder, int(arguments[3]), charged)))
    elif what == "openings":
        print(json.dumps(openings(folder, charged)))


if __name__ == "__main__":
    main(sys.argv[1:])
