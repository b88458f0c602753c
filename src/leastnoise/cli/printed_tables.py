"""Tables: ruled and coloured on a terminal, plain text in a pipe."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from leastnoise.text.numbers import above

if TYPE_CHECKING:
    from leastnoise.designer.compare import ComparedLaw

_BAR = 30


def print_comparison(rows: Sequence[ComparedLaw], *, sigma: float) -> None:
    """All mechanisms, best first: ε at equal σ, σ at equal ε, and how much more ε than the best."""
    epsilons = [row.epsilon_at_sigma for row in rows]
    best = epsilons[0]
    head = ("noise", f"ε at σ = {sigma:g}", "more", f"σ for ε = {above(best)}")
    cells = [(row.name, above(row.epsilon_at_sigma, 6), *_beside(row, best)) for row in rows]
    cells[0] = (*cells[0][:2], "", cells[0][3])
    worst = max(filter(math.isfinite, epsilons), default=1.0) or 1.0
    shares = [min(epsilon / worst, 1.0) for epsilon in epsilons]
    if sys.stdout.isatty():
        _on_terminal(head, cells, shares)
    else:
        _in_a_pipe(head, cells, shares)


def _beside(row: ComparedLaw, best: float) -> tuple[str, str]:
    """How much more ε than the best at equal σ, and the σ at equal ε."""
    sigma = "–" if row.sigma_at_epsilon is None else above(row.sigma_at_epsilon, 5)
    return _more(row.epsilon_at_sigma, best), sigma


def _in_a_pipe(
    head: Sequence[str], cells: Sequence[Sequence[str]], shares: Sequence[float]
) -> None:
    widths = [max(20, *(len(row[0]) for row in cells)), 14, 9, 18]
    bars = ["", *(_bar(share, _BAR) for share in shares)]
    for (name, *numbers), bar in zip([head, *cells], bars, strict=True):
        columns = zip(numbers, widths[1:], strict=True)
        line = " ".join([f"{name:{widths[0]}}", *(f"{cell:>{width}}" for cell, width in columns)])
        click.echo(f"{line}  {bar}".rstrip())


def print_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1, last_left: bool = False
) -> None:
    """Rows in columns, the first `left` of them (and with `last_left` the last) set to the left,
    numbers to the right."""
    widths = [max(len(cell) for cell in column) for column in zip(head, *rows, strict=True)]
    set_left = [at < left or (last_left and at == len(head) - 1) for at in range(len(head))]
    for line in (head, ["─" * width for width in widths], *rows):
        columns = zip(line, widths, set_left, strict=True)
        cells = [f"{cell:{'<' if is_left else '>'}{width}}" for cell, width, is_left in columns]
        click.echo("  ".join(cells).rstrip())


def _more(value: float, best: float) -> str:
    return f"+{100.0 * (value / best - 1.0):.2f} %" if best > 0 and math.isfinite(value) else "–"


def _bar(share: float, longest: int) -> str:
    return "█" * max(1, round(longest * share))


def _on_terminal(
    head: Sequence[str], cells: Sequence[Sequence[str]], shares: Sequence[float]
) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    console = Console()
    taken = sum(max(len(row[column]) for row in [head, *cells]) + 3 for column in range(len(head)))
    if console.width < taken:
        _stacked(head, cells)
        return
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for index, title in enumerate(head):
        table.add_column(title, justify="right" if index else "left", no_wrap=True)
    # The bar gets what the numbers leave: they are never cut short for it.
    longest = min(_BAR, console.width - taken - 3)
    if longest > 3:
        table.add_column("ε", no_wrap=True)
    for index, (row, share) in enumerate(zip(cells, shares, strict=True)):
        bar = [_bar(share, longest)] if longest > 3 else []
        table.add_row(*row, *bar, style="bold" if index == 0 else None)
    with console.capture() as drawn:
        console.print(table)
    # click prints ε also where the terminal says ASCII; rich would stop
    click.echo(drawn.get(), nl=False)


def _stacked(head: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    """For a terminal narrower than the table: one number a line, so that none is cut."""
    width = max(len(title) for title in head)
    for name, *numbers in cells:
        click.echo(name)
        for title, number in zip(head[1:], numbers, strict=True):
            if number:
                click.echo(f"  {title:{width}} {number}")
