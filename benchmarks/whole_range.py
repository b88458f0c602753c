"""Designs over the whole range that is stated: what each needs, how long it takes, what it gains on
the best known law.

python -m benchmarks whole_range             everything, about ten minutes; the table goes to
                                             docs/measured/whole_range.txt
python benchmarks/whole_range.py --quick     two values of δ and four of ε, and the settings of
                                             several answers thinned likewise
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from leastnoise import design
from leastnoise.cost import Cost, absolute, custom, power, quadratic
from leastnoise.errors import LeastNoiseError

DELTAS = (0.25, 1e-2, 1e-6, 3e-9, 1e-15)
EPSILONS = (0.01, 0.1, 0.5, 1.0, 3.0, 9.85, 20.0, 50.0)
RATIOS = (0.002, 0.05, 0.5, 5.0, 100.0, 1000.0)
SHOWN = 10  # of the slowest
SAYING_WHAT_CAN_BE_HAD = ("at least", "at most", "between")
MEASURED = Path(__file__).parents[1] / "docs" / "measured" / "whole_range.txt"


def costs() -> tuple[Cost, ...]:
    """Powers from the least to the greatest growth, one that is bounded and one that
    hardly grows."""
    return (
        *(absolute(), power(1.5), quadratic(), power(4.0), power(8.0)),
        custom(lambda z: np.minimum(np.abs(z), 5.0), growth=0.0, name="min(|z|, 5)"),
        custom(lambda z: np.log1p(np.abs(z)), growth=1.0, name="log(1 + |z|)"),
    )


def requests(quick: bool) -> Iterator[dict[str, Any]]:
    """One release of one answer for every cost; then several answers and releases at the quadratic
    one, and some at others."""
    deltas = DELTAS[::2] if quick else DELTAS
    epsilons, ratios = (EPSILONS[::2], RATIOS[::2]) if quick else (EPSILONS, RATIOS)
    for cost, delta in itertools.product(costs(), deltas):
        yield from ({"cost": cost, "delta": delta, "epsilon": epsilon} for epsilon in epsilons)
        yield from ({"cost": cost, "delta": delta, "sigma": ratio} for ratio in ratios)
    several = ((1, 1), (2, 1), (10, 1), (60, 1), (1, 3), (1, 30))
    for domain, (batch, compositions) in itertools.product(("real", "integer"), several):
        for delta, epsilon in itertools.product(deltas, epsilons):
            yield {
                "domain": domain,
                "batch": batch,
                "compositions": compositions,
                "delta": delta,
                "epsilon": epsilon,
            }
    for cost in (absolute(), power(4.0)):
        yield {"cost": cost, "batch": 3, "compositions": 3, "delta": 1e-6, "epsilon": 1.0}


@dataclass(frozen=True)
class Row:
    """One design of the grid: what was asked, and what came of it."""

    kind: str
    request: str
    found: str
    gain: float  # of ε on the best known law, in per cent; nan where nothing was found
    seconds: float  # of processor time


def measured(request: dict[str, Any]) -> Row:
    """One design, timed. A refusal is one if it says what can be had; any other error is raised."""
    shown = ", ".join(
        f"{key}={value.name if isinstance(value, Cost) else value}"
        for key, value in request.items()
    )
    gain = math.nan
    begin = time.process_time()
    try:
        best = design(**request)
    except LeastNoiseError as error:
        found = str(error)
        if not any(words in found for words in SAYING_WHAT_CAN_BE_HAD):
            raise
    else:
        name, rival = next(iter(best.rivals.items()), ("none", best.epsilon))
        gain = 100.0 * (1.0 - best.epsilon / rival) if rival > 0.0 else 0.0
        found = f"{best.sigma:10.5g} {best.epsilon:9.5g} {best.origin:>18} {name:>18} {gain:7.2f} %"
    return Row(kind(request), shown, found, gain, time.process_time() - begin)


def kind(request: dict[str, Any]) -> str:
    """The line of the table that a request belongs to."""
    batch, compositions = request.get("batch", 1), request.get("compositions", 1)
    answers = "one answer" if batch == 1 else f"{batch} answers"
    releases = "" if compositions == 1 else f", {compositions} releases"
    return f"{answers}{releases}, " + (
        f"cost {request['cost'].name}" if "cost" in request else request["domain"]
    )


def table(rows: list[Row]) -> str:
    """For each kind how many designs there are, what they gain on the best known law, and the
    processor time; then the slowest."""
    lines = [f"{'':33} | designs refused | gain of ε: median  most | CPU s: median  90 %  worst"]
    kinds = list(dict.fromkeys(row.kind for row in rows))
    for name, chosen in [(name, [row for row in rows if row.kind == name]) for name in kinds] + [
        ("all", rows)
    ]:
        seconds = np.array([row.seconds for row in chosen])
        gains = np.array([row.gain for row in chosen if not math.isnan(row.gain)])
        lines.append(
            f"{name:33} | {len(chosen):7} {len(chosen) - gains.size:7} | {np.median(gains):15.1f} "
            f"% {gains.max():5.1f} %"
            f" | {np.median(seconds):13.2f} {np.quantile(seconds, 0.9):5.2f} {seconds.max():6.2f}"
        )
    lines.append("")
    lines.append("the slowest")
    lines.extend(
        f"{row.seconds:6.2f} s  {row.request}"
        for row in sorted(rows, key=lambda row: -row.seconds)[:SHOWN]
    )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument(
        "--table",
        type=Path,
        help="where the table goes; docs/measured/whole_range.txt unless --quick",
    )
    # As one of several benchmarks the names are theirs.
    options = parser.parse_known_args(sys.argv[1:])[0]
    quick, place = options.quick, options.table or (None if options.quick else MEASURED)
    rows = []
    print(
        f"{'request':66} {'σ':>10} {'ε':>9} {'law':>18} {'best known':>18} {'gain of ε':>9} "
        f"{'CPU s':>6}"
    )
    for request in requests(quick):
        rows.append(measured(request))
        print(f"{rows[-1].request:66} {rows[-1].found} {rows[-1].seconds:6.2f}", flush=True)
    print(f"\n{table(rows)}", end="")
    if place is not None:
        place.write_text(table(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
