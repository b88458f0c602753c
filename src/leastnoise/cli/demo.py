"""The command that shows a whole release, from an invented table to the page for the public."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import click

from leastnoise.cli.group import main
from leastnoise.cli.messages import refused
from leastnoise.cli.release import print_values
from leastnoise.text.characters import shown

_LONGEST = 1000  # characters of a path

if TYPE_CHECKING:
    from leastnoise.releases.result import Release


@main.command()
@click.argument("folder", type=click.Path(file_okay=False), default="leastnoise-demo")
def demo(folder: str) -> None:
    """Release statistics of an invented table, in a new FOLDER: the table, the plan, the ledger,
    the numbers and the page for the public, each a file to look at and to change.

    \b
      leastnoise demo
    """
    from leastnoise.errors import plain_text

    place = Path(plain_text("FOLDER", folder, _LONGEST))
    try:
        place.mkdir()
    except OSError as error:
        reason = "is there already" if place.exists() else error.strerror
        raise refused("FOLDER", folder, f"to be a new folder: it {reason}") from None
    try:
        done = _released(place)
    except BaseException:  # nothing half made is left
        shutil.rmtree(place)
        raise
    print_values(done)
    click.echo(f"\nIn {shown(folder)}: visits.csv is invented, plan.toml says what is published,")
    click.echo("budget.ledger what was spent; numbers.csv and report.html are for the public.")
    files = (shown(str(place / name)) for name in ("plan.toml", "budget.ledger"))
    click.echo(f"Next: leastnoise check {' --ledger '.join(files)}")


def _released(place: Path) -> Release:
    from leastnoise.ledger.ledger import Ledger
    from leastnoise.releases.plan.file import load_plan
    from leastnoise.releases.rehearsal import invented
    from leastnoise.releases.release import release

    (place / "plan.toml").write_text(_plan(), encoding="utf-8")
    plan = load_plan(place / "plan.toml")
    table = invented(plan)
    with (place / "visits.csv").open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(table)
        lines.writerows(zip(*table.values(), strict=True))
    with Ledger(place / "budget.ledger") as ledger:
        ledger.open_dataset(plan.name, epsilon=3.0, delta=1e-6)
        done = release(plan, ledger=ledger)
    done.to_csv(place / "numbers.csv")
    done.to_html(place / "report.html")
    return done


def _plan() -> str:
    from leastnoise.releases.plan.draft import Draft, MeasuredColumn
    from leastnoise.releases.plan.source import CsvFile

    return Draft(
        "visits",
        CsvFile("visits.csv"),
        "patient",
        rows_per_person=4,
        groups_per_person=2,
        groups=[("ward", ["north", "south", "west"])],
        measured=[
            MeasuredColumn("mean", "age", 0.0, 100.0),
            MeasuredColumn("mean", "stay", 0.0, 20.0),
        ],
    ).as_toml()
