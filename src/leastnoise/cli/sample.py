"""The command that draws noise to look at."""

from __future__ import annotations

import click

from leastnoise.cli.group import main
from leastnoise.cli.law_files import law_and_guarantee
from leastnoise.cli.options import json_option
from leastnoise.cli.output import print_json

NOT_TO_ADD = (
    "This is noise to look at, not to add to answers: an answer that was not rounded to the "
    "lattice of the noise shows through. "
    "To add noise, use: leastnoise perturb."
)

_COUNT = click.IntRange(min=1, max=10_000_000)


@main.command()
@click.argument("law", type=click.Path(exists=True, dir_okay=False))
@click.option("-n", "--count", type=_COUNT, default=1, show_default=True, help="How many draws.")
@json_option
def sample(law: str, count: int, as_json: bool) -> None:
    """Draw noise exactly from an artefact or a saved law, with the operating system's entropy, to
    look at it.

    One line a draw; joint laws print one number per answer, separated by spaces.

    Do NOT add these numbers to answers. The noise lies on a lattice; an answer that does not is
    seen in what remains of the sum between two lattice points, and one draw is enough. `leastnoise
    perturb` rounds the answers to the lattice first, adds the noise in whole numbers, and can write
    the cost down.

    \b
      leastnoise sample noise.json -n 5
    """
    import numpy as np

    draws = np.asarray(law_and_guarantee(law)[0].sample(count))
    if as_json:
        print_json({"law": law, "notice": NOT_TO_ADD, "noise": draws.tolist()})
        return
    click.echo(f"leastnoise: {NOT_TO_ADD}", err=True)
    for row in draws.reshape(count, -1):
        click.echo(" ".join(str(value) for value in row.tolist()))
