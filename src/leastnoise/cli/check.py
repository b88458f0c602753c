"""The command that explains a plan in sentences and warns of what is often a mistake."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import click

from leastnoise.cli.group import main
from leastnoise.cli.options import file_option, json_option
from leastnoise.cli.output import print_json, progress_bar
from leastnoise.cli.release import opened_ledger
from leastnoise.cli.spending import existing_ledger, would_cost

if TYPE_CHECKING:
    from leastnoise.releases.explanation import Explanation


@main.command()
@click.argument("plan", type=click.Path(dir_okay=False))
@file_option("--ledger", "The ledger the plan is for: its share of delta, and what is left.")
@json_option
def check(plan: str, ledger: str | None, as_json: bool) -> None:
    """Explain a plan in sentences: what will be published, what one person can change in each
    number and why, what it will cost and how large the noise will be. Warns of what is often a
    mistake. No row is read, nothing is spent.

    \b
      leastnoise check plan.toml --ledger budget.ledger
    """
    from leastnoise.releases.advice import unit_of, with_share
    from leastnoise.releases.explanation import explained
    from leastnoise.releases.noise.mechanism import mechanism
    from leastnoise.releases.plan.file import load_plan
    from leastnoise.releases.rehearsal import LACKING_DELTA

    wanted = load_plan(plan)
    is_lacking = wanted.delta is None and ledger is None
    if is_lacking:
        wanted = replace(wanted, delta=LACKING_DELTA)
    if ledger is not None:
        existing_ledger("--ledger", ledger)
    with opened_ledger(ledger, read_only=True) as book:
        with progress_bar() as told:
            told("designing the noise", 0.0)
            whole = with_share(wanted, book)
            made = mechanism(whole)
        found, cost = explained(whole, made), None
        if book is not None:
            dataset = whole.dataset or whole.name
            cost = book.preview(dataset, made.spends, **unit_of(whole))
    if as_json:
        print_json({**asdict(found), "ledger": None if cost is None else vars(cost)})
        return
    if is_lacking:
        click.echo(
            f"No delta is declared, and no --ledger given to take a share of: {LACKING_DELTA:g} is "
            "assumed.\n"
        )
    _show(found)
    if cost is not None:
        click.echo(f"\n{would_cost(whole.dataset or whole.name, cost)}")


def _show(found: Explanation) -> None:
    click.echo(found.protected)
    for one in found.statistics:
        click.echo(f"\n{one.statistic}")
        for sentence in (one.published, one.one_person, one.error):
            click.echo(f"  {sentence}")
    for warning in found.warnings:
        click.echo(f"\nBeware: {warning}")
    if not found.warnings:
        click.echo("\nNothing here is one of the usual mistakes.")
