"""The command that writes a first plan for a table, from its names of columns and a few answers."""

from __future__ import annotations

import csv
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from leastnoise.cli.group import main
from leastnoise.cli.messages import refused
from leastnoise.cli.options import flag
from leastnoise.text.characters import fault, shown

if TYPE_CHECKING:
    from leastnoise.releases.plan.draft import MeasuredColumn
    from leastnoise.releases.plan.source import Source

_DUCKDB = (".duckdb", ".db", ".ddb")
_T = TypeVar("_T")
Groups = list[tuple[str, "list[str | float | bool]"]]


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
@click.option(
    "--by",
    multiple=True,
    metavar="COLUMN=A,B,…",
    help='Count by these keys; one with a comma stands in quotes, "A, B".',
)
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
    from leastnoise.optional import required
    from leastnoise.releases.data.schema import kinds_of
    from leastnoise.releases.plan.draft import Draft

    if os.path.lexists(out):
        raise refused("--out", out, "to be a file that is not there yet")
    if told["one_row_per_person"]:
        for option in ("person", "rows_per_person", "groups_per_person"):
            if told[option] is not None:
                expected = "to stand without --one-row-per-person"
                raise refused(f"--{option.replace('_', '-')}", told[option], expected)
    required("ibis", "tables")  # said before anything is asked
    source = _source(table, told["columns"], told["table_name"])
    kinds = kinds_of(source)
    if _is_asking():
        click.echo(f"{shown(table)} has the columns {', '.join(map(_named, kinds))}.", err=True)
    try:
        person, groups, measured, bounds = _answers(told, kinds)
    except click.Abort:
        click.echo("\nleastnoise: interrupted; nothing was written.", err=True)
        raise SystemExit(130) from None
    title = name or (table.removeprefix("env:") if "env:" in table else Path(table).stem)
    rest = {"relation": told["relation"], "epsilon": told["epsilon"], **bounds}
    made = Draft(
        title, _beside(source, Path(out)), person, groups=groups, measured=measured, **rest
    )
    _write(Path(out), made.as_toml())
    click.echo(f"written: {shown(out)}. Next:")
    plan, ledger = _word(out), _word(f"{Path(out).stem}.ledger")
    click.echo(f"  leastnoise ledger open {ledger} {_word(title)} --epsilon 3 --delta 1e-6")
    click.echo(f"  leastnoise check {plan} --ledger {ledger}")
    click.echo(f"  leastnoise release {plan} --ledger {ledger} --rehearse")
    click.echo(f"  leastnoise release {plan} --ledger {ledger} --out numbers.csv --out report.html")


def _answers(
    told: Mapping[str, Any], kinds: Mapping[str, str]
) -> tuple[str | None, Groups, list[MeasuredColumn], dict[str, int]]:
    """What the options say, and what is answered."""
    person = _person(told, kinds)
    _check_known([] if person is None else [person], kinds)
    groups, measured = _asked_for(told, person, kinds)
    bounds = {} if person is None else _bounds_of_persons(told, is_grouped=bool(groups))
    return person, groups, measured, bounds


def _is_asking() -> bool:
    """Whether somebody is there to answer."""
    return sys.stdin.isatty()


def _named(column: str) -> str:
    """A name in a list of names: in quotes where it would look like two, or like a shorter one."""
    is_plain = "," not in column and column == column.strip()
    return shown(column) if is_plain else f"'{shown(column)}'"


def _word(name: str) -> str:
    """One word for the shell."""
    is_posix = os.name == "posix"
    return shlex.quote(shown(name)) if is_posix else subprocess.list2cmdline([shown(name)])


# The table


def _source(table: str, columns: str | None, table_name: str | None) -> Source:
    from leastnoise.releases.data.schema import delimited
    from leastnoise.releases.plan.source import Connection, CsvFile, DuckDBTable, ParquetFile

    suffix = Path(table).suffix.lower()
    _check_table(table, suffix, columns, table_name)
    if table.startswith("env:"):
        return Connection(table, str(table_name))
    if suffix in _DUCKDB:
        return DuckDBTable(table, str(table_name))
    if suffix == ".parquet":
        return ParquetFile(table)
    named = None if columns is None else tuple(one.strip() for one in columns.split(","))
    return delimited(CsvFile(table, named))


def _check_table(table: str, suffix: str, columns: str | None, table_name: str | None) -> None:
    """The options that describe a table belong to its kind."""
    if "://" in table:
        expected = "to be a file, or env:NAME of the environment: a URL may hold a password"
        raise refused("TABLE", table.split("://", 1)[0] + "://…", expected)
    is_database = table.startswith("env:") or suffix in _DUCKDB
    if is_database != (table_name is not None):
        expected = "to name the table in the database" if is_database else "to come with a database"
        raise refused("--table-name", table_name, expected)
    if columns is not None and (is_database or suffix == ".parquet"):
        raise refused("--columns", columns, "to come with a CSV file")


def _beside(source: Source, out: Path) -> Source:
    """The source with its path as the plan has to write it: from the plan's own folder."""
    from leastnoise.releases.plan.source import CsvFile, DuckDBTable, ParquetFile

    if not isinstance(source, CsvFile | DuckDBTable | ParquetFile):
        return source
    place, folder = Path(source.path).resolve(), out.resolve().parent
    is_below = place.is_relative_to(folder)
    return replace(source, path=str(place.relative_to(folder) if is_below else place))


# Who is protected


def _person(told: Mapping[str, Any], kinds: Mapping[str, str]) -> str | None:
    """The column of persons; None where every row is one."""
    if told["person"] is not None or told["one_row_per_person"]:
        return told["person"]  # type: ignore[no-any-return]
    if not _is_asking():
        expected = "to name the column that says whose a row is, or else --one-row-per-person"
        raise refused("--person", None, expected)
    if click.confirm("Is every row another person?", default=False, err=True):
        return None

    def known(said: str) -> str:
        _check_known([said], kinds)
        return said

    return _asked("Which column says whose a row is?", known)


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
    told: Mapping[str, Any], person: str | None, kinds: Mapping[str, str]
) -> tuple[Groups, list[MeasuredColumn]]:
    groups = [_keys(one, kinds) for one in told["by"]]
    measured = [_measured("mean", one, kinds) for one in told["mean"]]
    measured += [_measured("sum", one, kinds) for one in told["total"]]
    if not (groups or measured) and _is_asking():
        _ask_of_each(person, kinds, groups, measured)
    return groups, measured


def _ask_of_each(
    person: str | None, kinds: Mapping[str, str], groups: Groups, measured: list[MeasuredColumn]
) -> None:
    """Notes of every column what is wanted of it."""
    for column in (one for one in kinds if one != person and not fault(one)):
        words = click.Choice(["nothing", "mean", "sum", "groups"])
        what = click.prompt(f"What of {shown(column)}?", default="nothing", type=words, err=True)
        if what == "groups":
            groups.append(
                _asked("  Which keys, with commas between them?", _keys_of(column, kinds))
            )
        elif what != "nothing":
            bounds = _bounds_of(what, column, kinds)
            measured.append(_asked("  Within which bounds, LOWER:UPPER?", bounds))


def _asked(question: str, read: Callable[[str], _T]) -> _T:
    """The answer to a question, which is asked again until it can be read."""

    from leastnoise.errors import LeastNoiseError

    def tried(said: str) -> _T:
        try:
            return read(said)
        except LeastNoiseError as error:
            raise click.UsageError(shown(str(error))) from None

    answer: _T = click.prompt(question, value_proc=tried, err=True)
    return answer


def _keys_of(
    column: str, kinds: Mapping[str, str]
) -> Callable[[str], tuple[str, list[str | float | bool]]]:
    return lambda said: _keys(f"{column}={said}", kinds)


def _bounds_of(what: str, column: str, kinds: Mapping[str, str]) -> Callable[[str], MeasuredColumn]:
    return lambda said: _measured(what, f"{column}={said}", kinds)


def _keys(said: str, kinds: Mapping[str, str]) -> tuple[str, list[str | float | bool]]:
    column, keys = _parted(said, kinds)
    fields = next(csv.reader([keys], skipinitialspace=True), [])
    found = [one.strip() for one in fields if one.strip()]
    if not column or not found:
        raise refused("--by", said, "to be a column and its keys, such as ward=north,south")
    _check_known([column], kinds)
    return column, [_key(one, kinds[column], said) for one in found]


def _key(word: str, kind: str, said: str) -> str | float | bool:
    """A key as the column holds it: only a number is found among numbers."""
    from leastnoise.releases.plan.keys import number_of_text, truth_of_text

    if kind == "number":
        number = number_of_text(word)
        if number is None:
            raise refused("--by", said, "to have numbers as its keys, as the column has")
        return number
    if kind == "truth":
        truth = truth_of_text(word)
        if truth is None:
            raise refused("--by", said, "to have the keys true and false, as the column has")
        return truth == "true"
    return word


def _measured(kind: str, said: str, kinds: Mapping[str, str]) -> MeasuredColumn:
    from leastnoise.errors import LeastNoiseError
    from leastnoise.releases.plan.draft import MeasuredColumn

    column, bounds = _parted(said, kinds)
    _check_known([column], kinds)
    lower, _, upper = bounds.partition(":")
    try:
        return MeasuredColumn(kind, column, float(lower), float(upper))
    except (ValueError, LeastNoiseError):
        expected = "to be a column and its bounds, the lower one first, such as age=0:100"
        raise refused(f"--{kind}", said, expected) from None


def _parted(said: str, kinds: Mapping[str, str]) -> tuple[str, str]:
    """A column, whose name may have a = in it, and what is said of it."""
    known = max((one for one in kinds if said.startswith(f"{one}=")), key=len, default=None)
    column, _, rest = said.partition("=")
    return (column, rest) if known is None else (known, said[len(known) + 1 :])


def _check_known(columns: Iterable[str], kinds: Mapping[str, str]) -> None:
    """Of the columns that there are those like it are named: the first line of a file may be a
    row, of words alone."""
    alike = {one.strip().casefold(): one for one in kinds}
    for column in columns:
        if fault(column):
            raise refused("column", column, "to have a name without unseen characters")
        if column not in kinds:
            near = get_close_matches(column.strip().casefold(), alike, n=3, cutoff=0.6)
            like = ", ".join(f"'{shown(alike[one])}'" for one in near)
            expected = f"to be one of the {len(kinds)} columns{like and f', such as {like}'}"
            raise refused("column", column, expected)


def _write(out: Path, plan: str) -> None:
    """The file, and whether it is a plan for its table: one that is not is not left there."""
    from leastnoise.releases.data.opening import open_table
    from leastnoise.releases.plan.file import load_plan

    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(plan)
    except OSError as error:
        raise refused("--out", str(out), f"to be writable: {error.strerror}") from None
    try:
        open_table(load_plan(out)).close()
    except BaseException:
        out.unlink()
        raise
