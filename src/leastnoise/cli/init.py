"""The command that writes a first plan for a table, from its names of columns and a few answers."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leastnoise.cli.group import main
from leastnoise.cli.messages import refused
from leastnoise.cli.options import flag
from leastnoise.text.characters import shown

if TYPE_CHECKING:
    from leastnoise.releases.plan.draft import BoundedColumn
    from leastnoise.releases.plan.source import Source

_DUCKDB = (".duckdb", ".db", ".ddb")


@main.command()
@click.argument("table")
@click.option("--out", default="plan.toml", show_default=True, help="The plan to write.")
@click.option("--name", help="What the release is called. [default: the name of the table]")
@click.option("--columns", metavar="A,B,…", help="The columns of a CSV file without a header.")
@click.option("--table-name", metavar="NAME", help="The table in a database.")
@click.option("--person", metavar="COLUMN", help="The column that says whose a row is.")
@flag("--one-row-per-person", help="Every row is one person.")
@click.option("--rows-per-person", type=click.IntRange(1), help="How many rows of a person count.")
@click.option("--groups-per-person", type=click.IntRange(1), help="In how many groups they count.")
@click.option(
    "--relation",
    type=click.Choice(["add/remove", "replace"]),
    default="add/remove",
    show_default=True,
    help="Whether a person's rows are there or not, or are replaced by another's.",
)
@click.option(
    "--epsilon", type=float, default=1.0, show_default=True, help="The privacy loss allowed."
)
@click.option("--by", multiple=True, metavar="COLUMN=A,B,…", help="Count by these keys.")
@click.option("--mean", multiple=True, metavar="COLUMN=LOWER:UPPER", help="A mean, with bounds.")
@click.option("--sum", "total", multiple=True, metavar="COLUMN=LOWER:UPPER", help="A sum.")
def init(table: str, out: str, name: str | None, **told: Any) -> None:
    """Write a first plan for a table: a commented TOML file that runs and can be changed.

    TABLE is a CSV, Parquet or DuckDB file, or env:NAME, a variable of the environment that holds
    the URL of a database. Only the names and types of its columns are looked at, never a row. What
    the options do not say is asked, where somebody is there to answer.

    \b
      leastnoise init visits.csv
      leastnoise init visits.csv --person patient --rows-per-person 4 --groups-per-person 2 \\
        --by ward=north,south --mean age=0:100
    """
    from leastnoise.releases.data.schema import kinds_of
    from leastnoise.releases.plan.draft import Draft

    if os.path.lexists(out):
        raise refused("--out", out, "to be a file that is not there yet")
    if told["person"] is not None and told["one_row_per_person"]:
        raise refused("--person", told["person"], "to stand without --one-row-per-person")
    source = _source(table, told["columns"], told["table_name"])
    kinds = kinds_of(source)
    if _is_asking():
        click.echo(f"{shown(table)} has the columns {', '.join(map(shown, kinds))}.", err=True)
    try:
        person, groups, measured, bounds = _answers(told, kinds)
    except click.Abort:
        click.echo("\nleastnoise: interrupted; nothing was written.", err=True)
        raise SystemExit(130) from None
    title = name or (table.removeprefix("env:") if "env:" in table else Path(table).stem)
    rest = {"relation": told["relation"], "epsilon": told["epsilon"], **bounds}
    made = Draft(title, _beside(source, Path(out)), person, groups=groups, bounded=measured, **rest)
    _write(Path(out), made.as_toml())
    click.echo(f"written: {shown(out)}. Next:")
    ledger = shown(f"{Path(out).stem}.ledger")
    click.echo(f"  leastnoise ledger open {ledger} {_word(title)} --epsilon 3 --delta 1e-6")
    click.echo(f"  leastnoise check {shown(out)} --ledger {ledger}")
    click.echo(f"  leastnoise release {shown(out)} --ledger {ledger} --rehearse")


def _answers(
    told: Mapping[str, Any], kinds: Mapping[str, str]
) -> tuple[str | None, list[tuple[str, list[str]]], list[BoundedColumn], dict[str, int]]:
    """What the options say, and what is answered."""
    person = _person(told, list(kinds))
    groups, measured = _asked_for(told, [one for one in kinds if one != person])
    _check_known([*([person] if person else []), *(column for column, _ in groups)], kinds)
    _check_known([one.column for one in measured], kinds)
    bounds = {} if person is None else _bounds_of_persons(told, is_grouped=bool(groups))
    return person, groups, measured, bounds


def _is_asking() -> bool:
    """Whether somebody is there to answer."""
    return sys.stdin.isatty()


def _word(name: str) -> str:
    return shown(name) if name.isalnum() else f'"{shown(name)}"'


# The table


def _source(table: str, columns: str | None, table_name: str | None) -> Source:
    from leastnoise.releases.data.schema import delimiter_of
    from leastnoise.releases.plan.source import Connection, CsvFile, DuckDBTable, ParquetFile

    suffix = Path(table).suffix.lower()
    is_database = table.startswith("env:") or suffix in _DUCKDB
    if is_database and table_name is None:
        raise refused("--table-name", table_name, "to name the table in the database")
    if "://" in table:
        expected = "to be a file, or env:NAME of the environment: a URL may hold a password"
        raise refused("TABLE", table.split("://", 1)[0] + "://…", expected)
    if table.startswith("env:"):
        return Connection(table, str(table_name))
    if suffix in _DUCKDB:
        return DuckDBTable(table, str(table_name))
    if suffix == ".parquet":
        return ParquetFile(table)
    named = None if columns is None else tuple(one.strip() for one in columns.split(","))
    return CsvFile(table, named, delimiter_of(table))


def _beside(source: Source, out: Path) -> Source:
    """The source with its path as the plan has to write it: from the plan's own folder."""
    from leastnoise.releases.plan.source import CsvFile, DuckDBTable, ParquetFile

    if not isinstance(source, CsvFile | DuckDBTable | ParquetFile):
        return source
    place, folder = Path(source.path).resolve(), out.resolve().parent
    is_below = place.is_relative_to(folder)
    return replace(source, path=str(place.relative_to(folder) if is_below else place))


# Who is protected


def _person(told: Mapping[str, Any], columns: Sequence[str]) -> str | None:
    """The column of persons; None where every row is one."""
    if told["person"] is not None or told["one_row_per_person"]:
        return told["person"]  # type: ignore[no-any-return]
    if not _is_asking():
        expected = "to name the column that says whose a row is, or else --one-row-per-person"
        raise refused("--person", None, expected)
    if click.confirm("Is every row another person?", default=False, err=True):
        return None
    choice = click.Choice(list(columns))
    return str(click.prompt("Which column says whose a row is?", type=choice, err=True))


def _bounds_of_persons(told: Mapping[str, Any], *, is_grouped: bool) -> dict[str, int]:
    rows = told["rows_per_person"] or _number(
        "--rows-per-person", "How many rows of one person may count? More are left out", 4
    )
    groups = 1
    if is_grouped and rows > 1:
        asked = "In how many groups may one person count? Fewer means less noise"
        groups = told["groups_per_person"] or _number("--groups-per-person", asked, 1)
    return {"rows_per_person": rows, "groups_per_person": groups}


def _number(option: str, question: str, usual: int) -> int:
    if not _is_asking():
        raise refused(option, None, f"to be given: {question[0].lower()}{question[1:]}")
    return int(click.prompt(question, default=usual, type=click.IntRange(1), err=True))


# What is published


def _asked_for(
    told: Mapping[str, Any], columns: Sequence[str]
) -> tuple[list[tuple[str, list[str]]], list[BoundedColumn]]:
    groups = [_keys(one) for one in told["by"]]
    measured = [_measured("mean", one) for one in told["mean"]]
    measured += [_measured("sum", one) for one in told["total"]]
    if groups or measured or not _is_asking():
        return groups, measured
    for column in columns:
        words = click.Choice(["nothing", "mean", "sum", "groups"])
        what = click.prompt(f"What of {column}?", default="nothing", type=words, err=True)
        if what == "groups":
            keys = click.prompt("  Which keys, with commas between them?", err=True)
            groups.append(_keys(f"{column}={keys}"))
        elif what != "nothing":
            bounds = click.prompt("  Within which bounds, LOWER:UPPER?", err=True)
            measured.append(_measured(what, f"{column}={bounds}"))
    return groups, measured


def _keys(said: str) -> tuple[str, list[str]]:
    column, _, keys = said.partition("=")
    found = [one.strip() for one in keys.split(",") if one.strip()]
    if not column or not found:
        raise refused("--by", said, "to be a column and its keys, such as ward=north,south")
    return column, found


def _measured(kind: str, said: str) -> BoundedColumn:
    from leastnoise.errors import LeastNoiseError
    from leastnoise.releases.plan.draft import BoundedColumn

    column, _, bounds = said.partition("=")
    lower, _, upper = bounds.partition(":")
    try:
        return BoundedColumn(kind, column, float(lower), float(upper))
    except (ValueError, LeastNoiseError):
        expected = "to be a column and its bounds, the lower one first, such as age=0:100"
        raise refused(f"--{kind}", said, expected) from None


def _check_known(columns: Iterable[str], kinds: Mapping[str, str]) -> None:
    for column in columns:
        if column not in kinds:
            raise refused("column", column, f"to be one of {', '.join(kinds)}")


def _write(out: Path, plan: str) -> None:
    """The file, and whether it is a plan: one that is not is not left there."""
    from leastnoise.releases.plan.file import load_plan

    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(plan)
    except OSError as error:
        raise refused("--out", str(out), f"to be writable: {error.strerror}") from None
    try:
        load_plan(out)
    except BaseException:
        out.unlink()
        raise
