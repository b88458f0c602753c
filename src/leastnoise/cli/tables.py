"""Tables: ruled and coloured on a terminal, plain text in a pipe."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from leastnoise.digits import above

if TYPE_CHECKING:
    from leastnoise.designer.compare import Row

_BAR = 30


def print_comparison(rows: Sequence[Row], *, sigma: float) -> None:
    """All mechanisms, best first: ε at equal σ, σ at equal ε, and how much more ε than the best."""
    best = rows[0].epsilon_at_sigma
    head = ("noise", f"ε at σ = {sigma:g}", "more", f"σ for ε = {above(best)}")
    worst = (
        max(
            (row.epsilon_at_sigma for row in rows if math.isfinite(row.epsilon_at_sigma)),
            default=1.0,
        )
        or 1.0
    )
    cells = [
        (
            row.name,
            above(row.epsilon_at_sigma, 6),
            "" if index == 0 else _more(row.epsilon_at_sigma, best),
            "–" if row.sigma_at_epsilon is None else above(row.sigma_at_epsilon, 5),
        )
        for index, row in enumerate(rows)
    ]
    shares = [min(row.epsilon_at_sigma / worst, 1.0) for row in rows]
    if sys.stdout.isatty():
        _on_terminal(head, cells, shares)
        return
    widths = [max(20, *(len(row[0]) for row in cells)), 14, 9, 18]
    for (name, *numbers), bar in [
        (head, ""),
        *zip(cells, (_bar(share, _BAR) for share in shares), strict=True),
    ]:
        line = f"{name:{widths[0]}} " + " ".join(
            f"{cell:>{width}}" for cell, width in zip(numbers, widths[1:], strict=True)
        )
        click.echo(f"{line}  {bar}".rstrip())


def print_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1, last_left: bool = False
) -> None:
    """Rows in columns, the first `left` of them (and with `last_left` the last) set to the left, numbers to the right."""
    widths = [max(len(cell) for cell in column) for column in zip(head, *rows, strict=True)]
    for line in (head, ["─" * width for width in widths], *rows):
        cells = [
            cell.ljust(width)
            if at < left or (last_left and at == len(head) - 1)
            else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
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
    click.echo(
        drawn.get(), nl=False
    )  # click prints ε also where the terminal says ASCII; rich would stop


def _stacked(head: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    """For a terminal narrower than the table: one number a line, so that none is cut."""
    width = max(len(title) for title in head)
    for name, *numbers in cells:
        click.echo(name)
        for title, number in zip(head[1:], numbers, strict=True):
            if number:
                click.echo(f"  {title:{width}} {number}")
