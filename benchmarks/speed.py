"""How long a design takes: `python -m benchmarks speed [--against PATH] [--of NAME]`.

Processor seconds of 74 settings and of 20 batches of several releases in both forms, and what was
found: the least ε at a sigma, the least sigma at an ε. Each is designed once, in a process that
designed others before. The table is kept in docs/measured/speed.txt, and
`tests/designer/test_speed.py` holds that no design gets worse than it says: speed is not to be
bought with accuracy. With `--against` an older checkout takes turns with this one, and its times
and values stand beside.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.against import ROOT, started

DELTA = 1e-6
Request = dict[str, Any]
# (compositions, sigma, …) of one answer, in sensitivities
_AT_SIGMA = {
    1: (0.3, 1.0, 4.0),
    2: (1.0, 4.0),
    3: (1.0, 8.0),
    5: (0.5, 2.0),
    10: (2.0, 5.0, 8.0, 30.0),
    20: (0.5, 4.0, 12.0),
    50: (8.0,),
    100: (5.0, 20.0),
    1_000: (60.0,),
    10_000: (300.0,),
}
_AT_EPSILON = {
    1: (0.1, 1.0, 5.0),
    2: (1.0,),
    3: (0.5,),
    6: (2.0,),
    8: (8.0,),
    10: (0.3, 1.0, 3.0),
    20: (1.0,),
    50: (1.0,),
    100: (2.0,),
    1_000: (1.0,),
}
_OTHERS: tuple[Request, ...] = (
    {"sigma": 2.0, "compositions": 3, "delta": 1e-9},
    {"sigma": 8.0, "compositions": 10, "delta": 1e-9},
    {"sigma": 4.0, "compositions": 20, "delta": 1e-9},
    {"sigma": 2.0, "compositions": 2, "delta": 1e-2},
    {"sigma": 8.0, "compositions": 10, "delta": 1e-2},
    {"sigma": 8.0, "compositions": 10, "delta": 1e-12},
    {"epsilon": 1.0, "compositions": 10, "delta": 1e-9},
    {"epsilon": 1.0, "compositions": 5, "delta": 1e-3},
    {"sigma": 0.7, "domain": "integer"},
    {"sigma": 3.0, "domain": "integer"},
    {"sigma": 2.0, "compositions": 4, "domain": "integer"},
    {"sigma": 8.0, "compositions": 10, "domain": "integer"},
    {"sigma": 8_000.0, "sensitivity": 1_000.0, "compositions": 10, "domain": "integer"},
    {"epsilon": 1.0, "domain": "integer"},
    {"epsilon": 1.0, "compositions": 10, "domain": "integer"},
    {"sigma": 8.0, "objective": "renyi", "renyi_order": 8.0},
    {"sigma": 4.0, "compositions": 20, "objective": "renyi"},
)
_BATCHES: tuple[Request, ...] = (
    *({"sigma": sigma, "batch": batch} for batch, sigma in ((2, 4.0), (3, 0.5), (5, 4.0))),
    *({"sigma": 8.0, "batch": batch} for batch in (10, 20, 60)),
    {"sigma": 16.0, "batch": 40},
    {"sigma": 20.0, "batch": 100},
    {"sigma": 8.0, "batch": 10, "domain": "integer"},
    *({"epsilon": 1.0, "batch": batch} for batch in (2, 3, 5, 10, 20, 30, 40, 60, 100)),
    {"epsilon": 1.0, "batch": 10, "domain": "integer"},
    {"epsilon": 0.1, "batch": 10},
    {"epsilon": 4.0, "batch": 5},
    {"epsilon": 1.0, "batch": 10, "changes": "one-sided"},
)
# (batch, compositions); at the sigma of normal noise of μ = 1/2, and at ε = 1
_SEVERAL = (
    *((2, n) for n in (2, 5, 10, 50)),
    *((3, n) for n in (3, 20)),
    (4, 10),
    *((5, n) for n in (2, 5, 12, 100)),
    (8, 4),
    *((10, n) for n in (2, 5, 12)),
    *((20, n) for n in (3, 10)),
    (30, 5),
    (60, 4),
    (100, 10),
)


def settings() -> tuple[Request, ...]:
    """The 74."""
    one = [
        {goal: value, "compositions": n}
        for goal, table in (("sigma", _AT_SIGMA), ("epsilon", _AT_EPSILON))
        for n, values in table.items()
        for value in values
    ]
    return (*one, *_OTHERS, *_BATCHES)


def several() -> tuple[Request, ...]:
    """Batches of several releases, in both forms."""
    found: list[Request] = []
    for batch, n in _SEVERAL:
        shape = {"batch": batch, "compositions": n}
        found += [{"sigma": float(round(2.0 * math.sqrt(batch * n))), **shape}]
        found += [{"epsilon": 1.0, **shape}]
    return tuple(found)


def name_of(request: Request) -> str:
    """What the table calls it."""
    return ", ".join(f"{key}={value}" for key, value in request.items())


def found_for(request: Request, factor: float = 1.0) -> float:
    """The least ε at a sigma, the least sigma at an ε, which is this many times the one asked."""
    from leastnoise import OneSided, design

    goal = "sigma" if "sigma" in request else "epsilon"
    asked = {"delta": DELTA} | request | {goal: factor * request[goal]}
    if asked.get("changes") == "one-sided":
        asked["changes"] = OneSided()
    best = design(**asked)
    return best.epsilon if "sigma" in request else best.sigma


def kept() -> dict[str, float]:
    """What the last table says was found, by the names of the settings."""
    table = (ROOT / "docs" / "measured" / "speed.txt").read_text(encoding="utf-8")
    rows = (line.split("|") for line in table.splitlines() if line.count("|") >= 2)
    return {row[0].strip(): float(row[1]) for row in rows if "=" in row[0]}


def main(arguments: Sequence[str] = ()) -> None:
    """Print the table, and the shares of it that are faster than so many seconds."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks speed")
    parser.add_argument("--against", type=Path, metavar="PATH", help="an older checkout")
    parser.add_argument("--of", default="", metavar="NAME", help="only settings that hold this")
    given = parser.parse_args(list(arguments))
    trees = [ROOT] if given.against is None else [ROOT, given.against.resolve()]
    before = "" if given.against is None else f" | {'before':>14} {'s':>7} {'worse by':>9}"
    print(f"{'design':62} | {'found':>14} | {'s':>7}{before}", flush=True)
    everything: list[list[float]] = []
    for group in (settings(), several()):
        wanted = [request for request in group if given.of in name_of(request)]
        rows = list(_measured(trees, wanted))
        everything += rows
        _print_shares(rows)
    _print_shares(everything)


def _measured(trees: Sequence[Path], requests: Sequence[Request]) -> Iterator[list[float]]:
    """The seconds of each tree, a row of the table printed for each request."""
    with tempfile.TemporaryDirectory() as folder:
        workers = [
            started(tree, "benchmarks.speed", "take_turns()", Path(folder) / str(index))
            for index, tree in enumerate(trees)
        ]
        for request in requests:
            answers = [_asked(worker, request) for worker in workers]
            (found, seconds), *others = answers
            line = f"{name_of(request):62} | {found:14.8f} | {seconds:7.3f}"
            for other, took in others:
                line += f" | {other:14.8f} {took:7.3f} {found / other - 1.0:9.1e}"
            print(line, flush=True)
            yield [took for _, took in answers]
        for worker in workers:
            worker.stdin.close()
            worker.wait()


def _asked(worker: subprocess.Popen[str], request: Request) -> tuple[float, float]:
    if worker.stdin is None or worker.stdout is None:
        raise RuntimeError("The process has no pipes.")
    worker.stdin.write(json.dumps(request) + "\n")
    worker.stdin.flush()
    found, seconds = json.loads(worker.stdout.readline())
    return found, seconds


def take_turns() -> None:
    """For every request read print what was found, and the seconds it took; the first is designed
    once before, for what is imported then."""
    for row, line in enumerate(sys.stdin):
        request = json.loads(line)
        if row == 0:
            found_for(request, 0.999)
        begin = time.process_time()
        found = found_for(request)
        print(json.dumps([found, time.process_time() - begin]), flush=True)


def _print_shares(rows: Sequence[Sequence[float]]) -> None:
    """Median, nine tenths and worst, of each tree."""
    if not rows:
        return
    for column, tree in zip(zip(*rows, strict=True), ("now", "before"), strict=False):
        ordered = sorted(column)
        median, most = (ordered[math.ceil(q * len(ordered)) - 1] for q in (0.5, 0.9))
        print(
            f"  {len(ordered)} designs {tree}: median {median:.3f} s, 90 % {most:.3f} s, worst "
            f"{ordered[-1]:.3f} s, together {sum(ordered):.1f} s",
            flush=True,
        )
