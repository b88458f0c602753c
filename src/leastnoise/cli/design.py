"""The command that designs noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from leastnoise.cli.changes import (
    check_fitted,
    space_options,
    stated_changes,
    stated_weights,
    unequal_options,
    with_ranges,
)
from leastnoise.cli.group import main
from leastnoise.cli.options import (
    POINT,
    choice,
    domain,
    json_option,
    number,
    out_option,
    plot_option,
    use_of_promises,
)
from leastnoise.cli.output import DASH, drawn, not_both_on_stdout, print_json, write_out
from leastnoise.text.characters import shown
from leastnoise.text.numbers import above

if TYPE_CHECKING:
    from leastnoise.designer.result import Design

# What --json prints of a design as it is.
_FIELDS = (
    *("epsilon", "epsilon_lower", "delta", "sigma", "sensitivity", "compositions", "batch"),
    *("touched", "objective", "origin", "renyi_order", "gap", "status", "discretisation"),
    *("moments_epsilon", "is_joint", "uses", "mu", "floor", "floor_variance"),
)


@main.command()
@use_of_promises
@number("--sigma", "Standard deviation of the noise on one answer; the least ε is found.")
@number("--epsilon", "ε of the guarantee; the least standard deviation is found.")
@number("--advantage", "Cap on the attacker's advantage, δ(0), over the whole use.")
@click.option(
    "--constraint",
    "constraints",
    type=POINT,
    multiple=True,
    metavar="EPSILON DELTA",
    help="A further point: δ at EPSILON is to be at most DELTA; may be given several times.",
)
@number("--mu", "μ of Gaussian differential privacy: normal noise, which is best for it.")
@domain
@choice("--objective", ["tight", "renyi"], "What is minimised.")
@number("--renyi-order", "With --objective renyi: the order; without it, the paper's moments rule.")
@space_options
@unequal_options
@number("--step", "Pitch of the lattice (real answers); divides the sensitivity.")
@click.option(
    "--floor",
    is_flag=True,
    help="Prove how much better any other noise could be; about a second a release.",
)
@out_option("Write the law as a verifiable artefact (exact integer weights).")
@plot_option
@json_option
def design(
    as_json: bool,
    out: str | None,
    plot: str | None,
    changes: str | None,
    radius: float | None,
    touched: int | None,
    ranges: str | None,
    weights: str | None,
    **request: Any,
) -> None:
    """Design the best noise for a standard deviation or for an epsilon.

    \b
    Ten answers one by one, standard deviation 8, the least epsilon:
      leastnoise design --delta 1e-6 --sigma 8 --compositions 10
    Ten answers at once, epsilon 1, the least noise, written for later use:
      leastnoise design --delta 1e-6 --epsilon 1 --batch 10 --out noise.json
    Ten counts, which a person who is added moves up and never down, with less noise:
      leastnoise design --delta 1e-6 --epsilon 1 --batch 10 --changes one-sided
    Ten answers at once, epsilon 1, and no attacker gains more than 0.15 over guessing:
      leastnoise design --delta 1e-6 --epsilon 1 --batch 10 --advantage 0.15
    Two counts and a value between -0.5 and 1, each with noise for its range:
      leastnoise design --delta 1e-6 --epsilon 1 --batch 3 --changes one-sided \
--ranges 0:1,0:1,-0.5:1
    How far from the best possible, with a proof that `leastnoise verify` checks:
      leastnoise design --delta 1e-6 --epsilon 1 --floor --out noise.json
    The law with its rivals as a picture:
      leastnoise design --delta 1e-6 --sigma 1 --compositions 5 --plot law.png
    """
    from leastnoise.designer.design import design as make

    not_both_on_stdout(out, as_json)
    space = stated_changes(changes, radius, touched, request["batch"])
    check_fitted(radius, changes, request["objective"])
    space = with_ranges(space, ranges, request["batch"])
    request["constraints"] = request["constraints"] or None
    best = make(**request, changes=space, weights=stated_weights(weights))
    certified = None if out is None else _write_artefact(best, out)
    if plot is not None:
        from leastnoise.plots import design_sheet

        design_sheet(best).save(plot)
    if as_json:
        files = {"artefact": out, "artefact_epsilon": certified} if out else {}
        print_json(_as_json(best) | files | drawn(plot))
        return
    aside = out == DASH  # the artefact has standard output for itself
    click.echo(best.summary(), err=aside)
    if out is not None and certified is not None:
        check = "" if aside else f"; check it with: leastnoise verify {shown(out)}"
        written = f"{shown(out)}, certified at epsilon = {above(certified, 6)}{check}"
        click.echo(f"  written     {written}", err=aside)
    if plot is not None:
        click.echo(f"  drawn       {shown(plot)}", err=aside)


def _write_artefact(best: Design, out: str) -> float:
    """Write the design as an artefact; returns the certified ε."""
    from leastnoise.artefact import artefact_text
    from leastnoise.designer.result import artefact_of

    artefact = artefact_of(best)
    write_out(out, artefact_text(artefact))
    return artefact.guarantee.epsilon


def _as_json(best: Design) -> dict[str, Any]:
    return {name: getattr(best, name) for name in _FIELDS} | {
        "changes": best.changes.describe(),
        "std": best.noise.std,
        "half_width_95": best.noise.interval(0.95),
        "scales": list(best.scales),
        "sigmas": list(best.sigmas),
        "weights": None if best.weights is None else list(best.weights),
        "constraints": [vars(one) for one in best.constraints],
        "rivals": dict(best.rivals),
    }
