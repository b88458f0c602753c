"""The command that recomputes what an artefact states."""

from __future__ import annotations

import click

from leastnoise.cli.changes import condition
from leastnoise.cli.group import main
from leastnoise.cli.options import json_option
from leastnoise.cli.output import print_json
from leastnoise.text.characters import shown


@main.command()
@click.argument("artefact", type=click.Path(dir_okay=False))
@json_option
def verify(artefact: str, as_json: bool) -> None:
    """Recompute the guarantee of an artefact from its integer weights alone; exit 1 if anything
    does not match.

    \b
      leastnoise verify noise.json
    """
    from leastnoise.artefact import verify as check

    found = check(artefact)
    stated, recomputed = found.stated, found.recomputed
    if as_json:
        before = None if stated is None else stated.epsilon
        after = None if recomputed is None else recomputed.epsilon
        epsilons = {"stated_epsilon": before, "recomputed_epsilon": after}
        head = {"artefact": artefact, "ok": found.ok}
        changes = None if stated is None else stated.changes.describe()
        mismatches = list(found.mismatches)
        kept = [] if stated is None else [vars(one) for one in stated.constraints]
        told = {"changes": changes, "constraints": kept, "mismatches": mismatches}
        print_json({**head, **epsilons, **told})
    else:
        for title, guarantee in (("stated", stated), ("recomputed", recomputed)):
            if guarantee is not None:
                holds = f"epsilon = {guarantee.epsilon!r} at delta = {guarantee.delta!r}"
                click.echo(f"{title:10}  {holds}")
                for one in guarantee.constraints:
                    click.echo(f"{'':10}  {one.sentence()}")
        if stated is not None and (held := condition(stated.changes, found.answers)):
            click.echo(f"if          {held}")
        for mismatch in found.mismatches:
            click.echo(f"mismatch    {shown(mismatch)}")
        click.echo("verified" if found.ok else "NOT VERIFIED")
    if not found.ok:
        raise SystemExit(1)
