"""The command that recomputes what an artefact states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from leastnoise.cli.changes import condition
from leastnoise.cli.group import main
from leastnoise.cli.options import flag, json_option
from leastnoise.cli.output import print_json
from leastnoise.text.characters import shown

if TYPE_CHECKING:
    from leastnoise.artefact import Verification


@main.command()
@click.argument("artefact", type=click.Path(dir_okay=False))
@flag(
    "--rigorous",
    help="Prove ε by a second judge too, which encloses every rounding; exit 2 where it does not "
    "cover the kind of law.",
)
@json_option
def verify(artefact: str, rigorous: bool, as_json: bool) -> None:
    """Recompute the guarantee of an artefact from its integer weights alone; exit 1 if anything
    does not match.

    \b
      leastnoise verify noise.json
      leastnoise verify noise.json --rigorous
    """
    from leastnoise.artefact import verify as check

    found = check(artefact, rigorous=rigorous)
    if as_json:
        print_json({"artefact": artefact, **_as_json(found)})
    else:
        _print(found)
    if not found.ok:
        raise SystemExit(1)


def _as_json(found: Verification) -> dict[str, Any]:
    stated, recomputed = found.stated, found.recomputed
    return {
        "ok": found.ok,
        "stated_epsilon": stated.epsilon,
        "recomputed_epsilon": None if recomputed is None else recomputed.epsilon,
        "changes": stated.changes.describe(),
        "constraints": [vars(one) for one in stated.constraints],
        "proofs": [{**vars(proof), "ok": proof.ok} for proof in found.proofs],
        "floor": found.floor,
        "mismatches": list(found.mismatches),
    }


def _print(found: Verification) -> None:
    for title, guarantee in (("stated", found.stated), ("recomputed", found.recomputed)):
        if guarantee is not None:
            holds = f"epsilon = {guarantee.epsilon!r} at delta = {guarantee.delta!r}"
            click.echo(f"{title:10}  {holds}")
            for one in guarantee.constraints:
                click.echo(f"{'':10}  {one.sentence()}")
    if held := condition(found.stated.changes, found.answers):
        click.echo(f"if          {held}")
    for proof in found.proofs:
        if proof.ok:
            click.echo(f"{'proven':10}  {proof.sentence()}")
    if found.floor is not None and found.ok:
        click.echo(f"floor       {found.floor}")
    for mismatch in found.mismatches:
        click.echo(f"mismatch    {shown(mismatch)}")
    click.echo("verified" if found.ok else "NOT VERIFIED")
