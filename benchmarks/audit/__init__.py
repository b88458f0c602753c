"""An audit of every privacy number: `python -m benchmarks audit [--cases N] [--seed S] [--kind
NAME] [--case I]`.

Each number that the package states is set beside the exact one, computed by other means: whole
numbers and fractions, ball arithmetic (flint), closed forms, binomial sums, powers of polynomials,
rigorous integrals. None of it calls the package's own mathematics; see `oracles`. The cases are
hostile on purpose: losses next to kinks, δ next to the mass of infinite loss, weights of 2^−128,
tails next to 1, combs, empty shells, subnormal masses.

A violation is an upper bound below the exact value, or a lower bound above it, by however little,
or an error that is not one of the package's own. A number that the exact one, a midpoint and a
radius, neither confirms nor refutes is no check: it is counted as open. The excess of an upper
bound is the share of the exact value by which it is above; of a δ it is that or the share of ε by
which the exact δ would be moved, whichever is less. Excesses are recorded for δ from 1e-30 to 0.9.

dp_accounting 0.6 is asked for the same numbers where it has them, at its default pitch, unless its
grid would have more than two million points. It rounds to nearest and promises no last digit, so
`short` says how far below the exact value it is at most.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.audit.tally import Book, Row, Side, Violation

DEFAULT_CASES = 2000
DEFAULT_SEED = 1
_SHOWN = 5  # violations that are printed
_LONGEST = 1500  # characters of one


def kinds() -> dict[str, tuple[Callable[[Book, Random], None], float]]:
    """Every kind of case, and its share of all cases."""
    from benchmarks.audit import composition, interop, ledger, sampled, single

    shares = {
        single.steps: 10,
        single.line_profiles: 15,
        single.joint_profiles: 6,
        single.closed_profiles: 10,
        single.sphere_profiles: 5,
        single.cut_cube_profiles: 1,
        single.divergences: 10,
        composition.two_losses: 5,
        composition.small_tables: 8,
        composition.gaussians: 4,
        composition.laplaces: 4,
        composition.mixed: 4,
        composition.cubes: 2,
        composition.sphere_releases: 2,
        composition.designs: 1,
        sampled.weights: 3,
        sampled.endless: 2,
        ledger.conversions: 10,
        ledger.charges: 3,
        ledger.filters: 5,
        interop.dp_accounting_adapter: 4,
        interop.opendp_adapter: 2,
    }
    return {
        function.__name__: (function, share / sum(shares.values()))
        for function, share in shares.items()
    }


def audit(
    cases: int = DEFAULT_CASES,
    seed: int = DEFAULT_SEED,
    kind: str | None = None,
    case: int | None = None,
) -> Book:
    """Run the cases, or all of one kind, or a single one; the book holds what was found."""
    from flint import ctx

    from benchmarks.audit.oracles import BITS
    from benchmarks.audit.tally import BeyondTheOracleError, Book

    ctx.prec = BITS
    book = Book()
    for name, (function, share) in kinds().items():
        if kind is not None and name != kind:
            continue
        count = cases if kind is not None else max(round(share * cases), 1)
        for index in range(count) if case is None else [case]:
            before = {key: len(row.ours.violations) for key, row in book.rows.items()}
            try:
                function(book, Random(f"{seed}/{name}/{index}"))
            except BeyondTheOracleError:
                continue
            again = f"python -m benchmarks audit --seed {seed} --kind {name} --case {index}"
            for key, row in book.rows.items():
                found = row.ours.violations
                found[before.get(key, 0) :] = [
                    replace(one, again=again) for one in found[before.get(key, 0) :]
                ]
    return book


def violations(book: Book) -> list[Violation]:
    return [violation for row in book.rows.values() for violation in row.ours.violations]


def table(book: Book) -> str:
    """The rows as text."""
    side = (
        f"{'checks':>7} {'below':>5} {'open':>5} {'none':>5} {'median':>8} {'99 %':>8} "
        f"{'worst':>8} {'CPU s':>7}"
    )
    lines = [
        f"{'':35} | {'leastnoise: excess of the upper bound':{len(side)}} | {'oracle':>7} | "
        "dp_accounting 0.6",
        f"{'':35} | {side} | {'CPU s':>7} | {side} {'short':>8}",
    ]
    for row in book.rows.values():
        theirs = (
            f"{_columns(row.theirs)} {_number(_shortest(row))}"
            if row.theirs.checks or row.theirs.unanswered
            else ""
        )
        lines.append(
            f"{row.kind:35} | {_columns(row.ours)} | {row.oracle_seconds:7.1f} | {theirs}".rstrip()
        )
    ours = [row.ours for row in book.rows.values()]
    checks, wrong = sum(side.checks for side in ours), sum(len(side.violations) for side in ours)
    undecided, unanswered = (
        sum(side.undecided for side in ours),
        sum(side.unanswered for side in ours),
    )
    lines.append(f"{'all':35} | {checks:7} {wrong:5} {undecided:5} {unanswered:5}")
    return "\n".join(lines)


def _columns(side: Side) -> str:
    excesses = " ".join(_number(side.excess(share)) for share in (0.5, 0.99, 1.0))
    return (
        f"{side.checks:7} {len(side.violations):5} {side.undecided:5} {side.unanswered:5} "
        f"{excesses} {side.seconds:7.1f}"
    )


def _number(value: float | None) -> str:
    return f"{'':8}" if value is None else f"{value:8.0e}" if value else f"{'0':>8}"


def _shortest(row: Row) -> float | None:
    return max((violation.short for violation in row.theirs.violations), default=None)


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks audit", description="Every privacy number against an exact one."
    )
    parser.add_argument(
        "--cases",
        type=int,
        default=DEFAULT_CASES,
        help="about four checks each; 2,000 take two minutes",
    )
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED)
    parser.add_argument(
        "--kind", choices=sorted(kinds()), help="only this kind, all the cases of it"
    )
    parser.add_argument("--case", type=int, help="only this case of the kind")
    parser.add_argument(
        "--worst", action="store_true", help="print the call of the largest excess of each row"
    )
    chosen = parser.parse_args(list(arguments))
    if chosen.case is not None and chosen.kind is None:
        parser.error("--case needs --kind")
    start = time.process_time()
    book = audit(chosen.cases, chosen.seed, chosen.kind, chosen.case)
    print(table(book))
    print(f"\nseed {chosen.seed}, {chosen.cases} cases, {time.process_time() - start:.0f} s of CPU")
    if chosen.worst:
        for row in book.rows.values():
            print(f"\n{row.kind}: {row.ours.worst[0]:.2e}\n  {row.ours.worst[1][:_LONGEST]}")
    found = violations(book)
    for violation in found[:_SHOWN]:
        print(f"\nVIOLATION {violation.what[:_LONGEST]}")
        print(f"  stated    {violation.claimed}")
        print(f"  exact     {violation.truth}")
        print(f"  again     {violation.again}")
    if found:
        sys.exit(1)
