"""The command that puts the optimised noise beside every known mechanism."""

from __future__ import annotations

from typing import Any

import click

from leastnoise.cli.group import main
from leastnoise.cli.options import domain, json_option, number, plot_option, use
from leastnoise.cli.output import drawn, print_json
from leastnoise.cli.printed_tables import print_comparison
from leastnoise.text.characters import shown
from leastnoise.text.numbers import above, below


@main.command()
@use
@number("--sigma", "Standard deviation of the noise on one answer.", required=True)
@domain
@plot_option
@json_option
def compare(as_json: bool, plot: str | None, **request: Any) -> None:
    """Compare the optimised noise with every known mechanism: ε at equal σ, and the σ each needs
    for the ε of ours.

    \b
      leastnoise compare --delta 1e-6 --sigma 8 --compositions 10
      leastnoise compare --delta 1e-6 --sigma 8 --batch 10 --plot comparison.svg
    """
    from leastnoise.designer.compare import compare as rows_for

    rows = rows_for(**request)
    sigma, delta = request["sigma"], request["delta"]
    if plot is not None:
        from leastnoise.plots import compare_sheet

        compare_sheet(rows, sigma=sigma, delta=delta).save(plot)
    if as_json:
        found = {"sigma": sigma, "epsilon": rows[0].epsilon_at_sigma, "delta": delta}
        print_json({**found, "laws": [vars(row) for row in rows], **drawn(plot)})
        return
    answers = f"{request['compositions']} release(s) of {request['batch']} answer(s)"
    moved = below(request["sensitivity"], 6)
    click.echo(f"δ = {above(delta, 6)}, {answers}, sensitivity {moved}\n")
    print_comparison(rows, sigma=sigma)
    if plot is not None:
        click.echo(f"\ndrawn: {shown(plot)}")
