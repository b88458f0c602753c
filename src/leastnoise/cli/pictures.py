"""The option --plot: where a picture goes, checked before the work that goes into it."""

from __future__ import annotations

import click


def _checked(context: click.Context, option: click.Parameter, path: str | None) -> str | None:
    if path is not None and not context.resilient_parsing:
        from leastnoise.plots.style import check_picture

        check_picture(path)
    return path


plot_option = click.option(
    "--plot",
    type=click.Path(dir_okay=False),
    callback=_checked,
    metavar="FILE",
    help="Also draw it: FILE ends in .png, .svg or .pdf (needs leastnoise[plots]).",
)
