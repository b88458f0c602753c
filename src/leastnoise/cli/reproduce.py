"""The command that reproduces the paper."""

from __future__ import annotations

import click

from leastnoise.cli.group import main


@main.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def reproduce(arguments: tuple[str, ...]) -> None:
    """Reproduce the paper's figures and tables: fig1 … fig7, table1, beyond or all.

    \b
      leastnoise reproduce fig1 --quick --out figures
      leastnoise reproduce --help
    """
    from leastnoise.reproduction.__main__ import run

    run(list(arguments), prog="leastnoise reproduce")
