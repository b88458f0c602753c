"""The command that puts the optimised noise beside every known mechanism."""

from __future__ import annotations

from typing import Any

import click

from leastnoise.cli.changes import (
    condition,
    space_options,
    stated_changes,
    stated_weights,
    unequal_options,
    with_ranges,
)
from leastnoise.cli.group import main
from leastnoise.cli.options import domain, json_option, number, plot_option, use
from leastnoise.cli.output import drawn, print_json
from leastnoise.cli.printed_tables import print_comparison
from leastnoise.text.characters import shown
from leastnoise.text.numbers import above, below, counted


@main.command()
@use
@number("--sigma", "Standard deviation of the noise on one answer.", required=True)
@domain
@space_options
@unequal_options
@plot_option
@json_option
def compare(
    as_json: bool,
    plot: str | None,
    changes: str | None,
    radius: float | None,
    touched: int | None,
    ranges: str | None,
    weights: str | None,
    **request: Any,
) -> None:
    """Compare the optimised noise with every known mechanism: ε at equal σ, and the σ each needs
    for the ε of ours.

    \b
      leastnoise compare --delta 1e-6 --sigma 8 --compositions 10
      leastnoise compare --delta 1e-6 --sigma 8 --batch 10 --plot comparison.svg
      leastnoise compare --delta 1e-6 --sigma 8 --batch 10 --changes one-sided
      leastnoise compare --delta 1e-6 --sigma 8 --batch 2 --changes one-sided --ranges 0:1,-0.5:1
    """
    from leastnoise.changes import BOX as EVERY_CHANGE
    from leastnoise.designer.compare import compare as rows_for

    answers = request["batch"]
    stated = stated_changes(changes, radius, touched, answers)
    space = with_ranges(stated, ranges, answers) or EVERY_CHANGE
    rows = rows_for(**request, changes=space, weights=stated_weights(weights))
    sigma, delta = request["sigma"], request["delta"]
    if plot is not None:
        from leastnoise.plots import compare_sheet

        compare_sheet(rows, sigma=sigma, delta=delta).save(plot)
    if as_json:
        found: dict[str, Any] = {"sigma": sigma, "epsilon": rows[0].epsilon_at_sigma}
        found |= {"delta": delta, "changes": space.fitted(answers).describe()}
        print_json({**found, "laws": [vars(row) for row in rows], **drawn(plot)})
        return
    releases, batch = counted(request["compositions"], "release"), counted(answers, "answer")
    moved = below(request["sensitivity"], 6)
    click.echo(f"δ = {above(delta, 6)}, {releases} of {batch}, sensitivity {moved}")
    if held := condition(space.fitted(answers), answers):
        click.echo(f"if {held}")
    click.echo()
    print_comparison(rows, sigma=sigma)
    if plot is not None:
        click.echo(f"\ndrawn: {shown(plot)}")
