"""The command that says how much noise a cap on the attacker's advantage takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from leastnoise.cli.changes import check_fitted, condition, space_options, stated_changes
from leastnoise.cli.group import main
from leastnoise.cli.options import NUMBER, json_option, number, plot_option, use
from leastnoise.cli.output import drawn, print_json, progress_bar
from leastnoise.cli.printed_tables import print_table
from leastnoise.text.characters import shown
from leastnoise.text.numbers import above, below, counted

if TYPE_CHECKING:
    from leastnoise.designer.frontier import FrontierPoint


@main.command()
@use
@number("--epsilon", "ε of the guarantee.", required=True)
@click.option(
    "--advantage",
    "advantages",
    type=NUMBER,
    multiple=True,
    help="A cap on δ(0); may be given several times. By default some that matter.",
)
@number("--points", "How many caps, where none is given.", type=int, default=8, show_default=True)
@space_options
@plot_option
@json_option
def frontier(
    as_json: bool,
    plot: str | None,
    changes: str | None,
    radius: float | None,
    touched: int | None,
    advantages: tuple[float, ...],
    **request: Any,
) -> None:
    """The least standard deviation against a cap on the attacker's advantage, at one ε and δ.

    \b
    Ten answers at once (half a minute):
      leastnoise frontier --epsilon 1 --delta 1e-6 --batch 10
    One answer, three caps, and a picture:
      leastnoise frontier --epsilon 1 --delta 1e-6 --points 3 --plot frontier.svg
    """
    from leastnoise.changes import BOX as EVERY_CHANGE
    from leastnoise.designer.frontier import frontier as points_for

    space = stated_changes(changes, radius, touched, request["batch"]) or EVERY_CHANGE
    check_fitted(radius, changes, "real")
    caps = list(advantages) or None
    with progress_bar() as told:
        points = points_for(**request, changes=space, advantages=caps, progress=told)
    if plot is not None:
        from leastnoise.plots import frontier_sheet

        use = {name: request[name] for name in ("epsilon", "delta", "batch", "compositions")}
        frontier_sheet(points, **use).save(plot)
    if as_json:
        print_json({**request, "points": [_as_json(one) for one in points], **drawn(plot)})
        return
    releases = counted(request["compositions"], "release")
    answers = f"{releases} of {counted(request['batch'], 'answer')}"
    promise = f"ε = {above(request['epsilon'], 6)} at δ = {above(request['delta'], 6)}"
    click.echo(f"{promise}, {answers}, sensitivity {below(request['sensitivity'], 6)}")
    if held := condition(space.fitted(request["batch"]), request["batch"]):
        click.echo(f"if {held}")
    click.echo()
    _print(points)
    if plot is not None:
        click.echo(f"\ndrawn: {shown(plot)}")


def _print(points: list[FrontierPoint]) -> None:
    kinds = list(dict.fromkeys(kind for point in points for kind in point.others))
    head = ("advantage", "σ", "noise", *(f"σ {kind}" for kind in kinds), "any noise")
    rows = [
        (
            above(point.advantage, 4),
            above(point.sigma, 5),
            point.kind,
            *(above(point.others[kind], 5) if kind in point.others else "–" for kind in kinds),
            f"≥ {below(point.bound, 4)}",
        )
        for point in points
    ]
    print_table(head, rows, left=0)


def _as_json(point: FrontierPoint) -> dict[str, Any]:
    named = ("advantage", "sigma", "certified", "kind", "bound")
    return {name: getattr(point, name) for name in named} | {"others": dict(point.others)}
