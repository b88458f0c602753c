"""What each number of the solver and of the search buys, measured again.

`python -m benchmarks claims [--quick] [--only TEXT]` puts other values in the place of each number
of the table in `benchmarks/_claims/`, works through that number's settings, and prints how ε (or
the divergence), the duality gap and the CPU time move; of Rényi programs Newton's iterations are
counted in the place of the time. A claim holds when every other value loses
something: ε rises, the gap is no longer proven small, the search takes longer or fails. Where one
does not, its line is marked and the exit code is 1: then the number should go, or the claim.

`--quick` runs one case of each setting and the first other value alone; `--only` the rows whose
module or constant holds the text.
"""

from __future__ import annotations

import argparse
import importlib
import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from benchmarks._claims import CLAIMS, Claim, Limit
from benchmarks._claims.settings import Case, Measured, cases
from leastnoise.solver import staircase

_PROVEN = 1e-8  # a duality gap above this, where it was below, is a loss
_REPEATS = 2


class Worked(NamedTuple):
    """What the cases came to, and the CPU seconds they took."""

    results: list[Measured]
    seconds: float


class Moved(NamedTuple):
    """What another value does: the worst relative rise, the worst gap, the ratio of iterations or
    of CPU times."""

    rise: float
    gap: float
    time: float
    unit: str

    def loses(self, claim: Claim, gap_before: float) -> bool:
        """Whether that is a loss by the measure of the claim."""
        unproven = self.gap > max(_PROVEN, 10.0 * gap_before)
        return self.rise >= claim.epsilon or unproven or self.time >= claim.time


@contextmanager
def patched(claim: Claim, value: object) -> Iterator[None]:
    """The module with another value for the constant."""
    module = importlib.import_module(f"leastnoise.{claim.module}")
    before = getattr(module, claim.constant)
    setattr(module, claim.constant, value)
    try:
        yield
    finally:
        setattr(module, claim.constant, before)


def worked(todo: list[Case]) -> Worked:
    """The cases, worked through from cold caches; one that fails counts as infinite."""
    results, begin = [], time.process_time()
    for case in todo:
        staircase.best_staircase.cache_clear()
        try:
            found = case()
        except (ArithmeticError, ValueError):
            found = Measured(math.inf, 1.0)
        results.append(found if math.isfinite(found.value) else Measured(math.inf, 1.0))
    return Worked(results, time.process_time() - begin)


def quickest(todo: list[Case]) -> Worked:
    """The quicker of two runs: other processes make both slower, never quicker."""
    return min((worked(todo) for _ in range(_REPEATS)), key=lambda run: run.seconds)


def moved(before: Worked, after: Worked) -> Moved:
    """How far the second is from the first."""
    rises = [
        new.value / old.value - 1.0 if new.value != old.value else 0.0
        for old, new in zip(before.results, after.results, strict=True)
    ]
    gap = max(result.gap for result in after.results)
    counts = [[result.iterations for result in run.results] for run in (before, after)]
    if all(map(min, counts)):
        return Moved(max(rises), gap, sum(counts[1]) / sum(counts[0]), "iterations")
    return Moved(max(rises), gap, after.seconds / max(before.seconds, 1e-3), "time")


def measured(claim: Claim, *, quick: bool) -> bool:
    """Print the lines of one claim; whether it holds."""
    todo = list(cases(claim.on, quick=quick))
    before = quickest(todo)
    gap_before = max(result.gap for result in before.results)
    print(f"{claim.module}.{claim.constant} = {claim.value}: {claim.buys}", flush=True)
    holds = True
    for other in claim.others[: 1 if quick else None]:
        with patched(claim, other):
            change = moved(before, quickest(todo))
        loses = change.loses(claim, gap_before)
        holds = holds and loses
        print(
            f"    {other!s:>24}: rise {change.rise:+9.1e}   gap {change.gap:8.1e}"
            f"   {change.unit} × {change.time:5.2f}   {'' if loses else 'LOSES NOTHING'}".rstrip(),
            flush=True,
        )
    return holds


def main(arguments: list[str] | None = None) -> None:
    """Print the table; exit code 1 where a claim does not hold."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks claims", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one case and one other value each")
    parser.add_argument("--only", default="", help="rows whose module or constant holds this text")
    options = parser.parse_args(arguments or [])
    chosen = [row for row in CLAIMS if options.only in f"{row.module}.{row.constant}"]
    claims = [row for row in chosen if isinstance(row, Claim)]
    failed = [claim for claim in claims if not measured(claim, quick=options.quick)]
    print("\nLimits and margins, which are no choice between better and worse:")
    for row in chosen:
        if isinstance(row, Limit):
            print(f"  {row.module}.{row.constant} = {row.value}: {row.buys}")
    names = ", ".join(f"{claim.module}.{claim.constant}" for claim in failed)
    print(
        f"\n{len(claims)} claims measured; {len(failed)} do not hold{': ' + names if names else ''}"
    )
    if failed:
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
