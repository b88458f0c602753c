"""The command that releases the statistics of a plan from a table."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leastnoise.cli.group import main
from leastnoise.cli.messages import refused
from leastnoise.cli.options import file_option, flag, json_option, plot_option
from leastnoise.cli.output import DASH, print_json, progress_bar, writable
from leastnoise.cli.printed_tables import print_table
from leastnoise.cli.protected_unit import unit_caution
from leastnoise.cli.spending import existing_ledger, left, said_when_interrupted, would_cost
from leastnoise.text.characters import shown
from leastnoise.text.numbers import above

if TYPE_CHECKING:
    from leastnoise.ledger.ledger import Ledger, Preview
    from leastnoise.releases.noise.mechanism import Mechanism
    from leastnoise.releases.plan.plan import Plan
    from leastnoise.releases.preview import Outlook
    from leastnoise.releases.result import Release

_WRITERS = {".csv": "to_csv", ".json": "to_json", ".parquet": "to_parquet", ".html": "to_html"}


def checked_outputs(
    context: click.Context, option: click.Parameter, paths: tuple[str, ...]
) -> tuple[str, ...]:
    """Refused before anything is spent: a release whose numbers cannot be written is spent all the
    same."""
    if not context.resilient_parsing:
        for path in paths:
            _check_output(path)
    return paths


def _check_output(path: str) -> None:
    suffix = Path(path).suffix.lower()
    if path == DASH:
        expected = "to be a file; for the numbers on standard output use --json"
        raise refused("--out", path, expected)
    if suffix not in _WRITERS:
        raise refused("--out", path, f"to end in one of {', '.join(_WRITERS)}")
    writable("--out", path)
    if suffix == ".parquet":
        from leastnoise.optional import required

        required("pyarrow.parquet", "tables")


@main.command()
@click.argument("plan", type=click.Path(dir_okay=False))
@file_option("--ledger", "The ledger that keeps the budget of the plan's data set.")
@flag("--no-ledger", help="Release without a ledger: nothing adds up what several releases cost.")
@flag(
    "--preview",
    help="Only say what the plan would give and cost, and what would fail. No row is read, "
    "nothing is spent.",
)
@flag(
    "--rehearse",
    help="Release from rows that are invented from the plan alone, with a copy of the ledger: the "
    "numbers, the files and the report as they will be. No table is read, nothing is spent.",
)
@flag("--explain", help="With --preview: print the sets of marginals that were compared.")
@flag("--last", help="Release it also where nothing could be released from the data set after it.")
@file_option(
    "--out",
    "Write the numbers (.csv, .json, .parquet) or the report for the public (.html); may be given "
    "several times.",
    **{"multiple": True, "callback": checked_outputs, "metavar": "FILE"},
)
@click.option(
    "--scratch",
    type=click.Path(file_okay=False),
    metavar="FOLDER",
    help="Where DuckDB makes a private folder for rows that memory has no room for. [default: the "
    "system's place]",
)
@flag(
    "--rigorous",
    help="Refuse noise of which the second judge does not prove ε, before anything is spent.",
)
@flag(
    "--sealed",
    help="Scan the table's file in a process that can read it and nothing else, on Linux; refused "
    "where it cannot be sealed.",
)
@plot_option
@json_option
def release(
    plan: str,
    ledger: str | None,
    no_ledger: bool,
    preview: bool,
    rehearse: bool,
    explain: bool,
    last: bool,
    rigorous: bool,
    out: tuple[str, ...],
    scratch: str | None,
    sealed: bool,
    plot: str | None,
    as_json: bool,
) -> None:
    """Release the statistics of a plan from a table, with the least noise its guarantee allows.

    PLAN is a TOML file: source, privacy unit, bounds, statistics and epsilon; its delta is its
    share of the ledger's, unless it declares one. The budget of its data set is declared once, with
    `leastnoise ledger open`. Values are shown with ±, the half-width of a 95 % interval from noise
    alone.

    \b
    What would it give, and what would it cost?
      leastnoise release plan.toml --ledger budget.ledger --preview
    Release from invented rows, to see the numbers and the report before anything is spent:
      leastnoise release plan.toml --rehearse --out report.html
    Release, write the numbers and the report:
      leastnoise release plan.toml --ledger budget.ledger --out numbers.csv --out report.html
    """
    from leastnoise.releases.plan.file import load_plan

    _check_free(preview, rehearse, explain, sealed)
    if rigorous and (preview or rehearse):
        raise refused("--rigorous", True, "to stand without --preview and --rehearse")
    is_free = preview or rehearse
    _check_options(ledger, no_ledger, is_free, last, writes=bool(out or plot) and preview)
    wanted = load_plan(plan)
    if ledger is not None:
        existing_ledger("--ledger", ledger)
    table = {"scratch": scratch, "sealed": sealed}
    with opened_ledger(ledger, read_only=is_free) as book:
        files = [*out, *([] if plot is None else [plot])]
        if preview:
            _preview(wanted, book, as_json, explain, **table)
        elif rehearse:
            _not_written("rehearsal", _rehearsed(wanted, book, files, as_json))
        else:
            table |= {"last": last, "rigorous": rigorous}
            _not_written("release", _released(wanted, book, files, as_json, **table))


def _not_written(made: str, problems: Sequence[str]) -> None:
    """Ends here where something could not be written."""
    if problems:
        said = f"The {made} was made and its numbers are above, but "
        click.echo(f"leastnoise: {said}{'; '.join(problems)}", err=True)
        raise SystemExit(2)


def opened_ledger(ledger: str | None, *, read_only: bool) -> AbstractContextManager[Ledger | None]:
    """The ledger, or nothing."""
    from leastnoise.ledger.ledger import Ledger

    return nullcontext() if ledger is None else Ledger(ledger, read_only=read_only)


def _check_free(preview: bool, rehearse: bool, explain: bool, sealed: bool) -> None:
    """The same of options for what costs nothing."""
    if explain and not preview:
        raise refused("--explain", True, "to come with --preview")
    if rehearse and (preview or sealed):
        raise refused("--rehearse", True, "to stand without --preview and --sealed")


def _check_options(
    ledger: str | None, no_ledger: bool, preview: bool, last: bool, *, writes: bool
) -> None:
    """Options that contradict each other, refused before the plan is read."""
    if ledger is not None and no_ledger:
        raise refused("--ledger", ledger, "to stand without --no-ledger")
    if ledger is None and not (no_ledger or preview):
        raise refused("--ledger", ledger, "to be given, or else --no-ledger")
    if last and (ledger is None or preview):
        raise refused("--last", True, "to come with --ledger, and without --preview")
    if preview and writes:
        expected = "to stand without --out and --plot: there is nothing to write"
        raise refused("--preview", True, expected)


def _released(
    plan: Plan, book: Ledger | None, files: Sequence[str], as_json: bool, **options: Any
) -> list[str]:
    """Releases, writes the files and shows the numbers; returns what could not be written."""
    from leastnoise.releases.release import release as carry_out

    settles = _settles(plan, book)
    with said_when_interrupted(book):
        with progress_bar() as told:
            done = carry_out(plan, ledger=book, progress=told, **options)
        share = _share(plan, book)
        if settles:
            click.echo(settles, err=True)
        problems = written(done, files)
        made = [] if problems else files
        if as_json:
            print_json(done.as_dict() | {"files": list(made)})
        else:
            _show_release(done, book, share, made)
    return problems


def _rehearsed(plan: Plan, book: Ledger | None, files: Sequence[str], as_json: bool) -> list[str]:
    """The same from invented rows; the ledger is only read."""
    from leastnoise.releases.rehearsal import rehearsed

    with progress_bar() as told:
        done = rehearsed(plan, book, progress=told)
    problems = written(done, files)
    made = [] if problems else files
    if as_json:
        print_json(done.as_dict() | {"files": list(made)})
    else:
        click.echo(f"{done.entropy}. No table was read, nothing was spent.\n")
        is_lacking = plan.delta is None and book is None
        share = " (of an invented budget)" if is_lacking else _share(plan, book)
        _show_release(done, None, share, made)
    return problems


def _preview(plan: Plan, book: Ledger | None, as_json: bool, explain: bool, **table: Any) -> None:
    """What the plan would give and cost, and what would fail."""
    from leastnoise.releases.advice import tried, unit_of, with_share
    from leastnoise.releases.noise.mechanism import mechanism
    from leastnoise.releases.preview import outlook
    from leastnoise.releases.release import obstacle

    settles = _settles(plan, book)
    with progress_bar() as told:
        told("designing the noise", 0.0)
        whole = with_share(plan, book)
        made = mechanism(whole)
        trouble = obstacle(whole, made, **table)
    share = _share(plan, book)
    if settles:
        click.echo(settles, err=True)
    rows = outlook(whole, made)
    cost, advice = None, ""
    if book is not None:
        cost = book.preview(_dataset(plan), made.spends, **unit_of(whole))
        advice = "" if cost.allowed and not cost.last else tried(whole, book)
    if as_json:
        print_json(_preview_as_json(whole, made, rows, cost, advice, trouble))
    else:
        _show_preview(whole, made, rows, share)
        if explain:
            _explain(whole, made)
        if cost is not None:
            click.echo(would_cost(_dataset(plan), cost) + (f"\n{advice}" if advice else ""))
        if trouble:
            click.echo(f"table: the release would FAIL, at no cost. {trouble}")


def written(done: Release, files: Sequence[str]) -> list[str]:
    """Writes the numbers, the report and the picture; returns what could not be written."""
    problems = []
    for path in files:
        try:
            writer = _WRITERS.get(Path(path).suffix.lower())
            if writer is None:
                from leastnoise.plots import release_sheet

                release_sheet(done).save(path)
            else:
                getattr(done, writer)(path)
        except OSError as error:
            problems.append(f"{shown(path)} could not be written: {error.strerror or error}")
    return problems


def _dataset(plan: Plan) -> str:
    return plan.dataset or plan.name


def _share(plan: Plan, book: Ledger | None) -> str:
    """Where the δ of a plan comes from, if not from itself."""
    if plan.delta is not None or book is None:
        return ""
    account = book.dataset(_dataset(plan))
    return f" (its share of the ledger's {account.delta:g}, for {account.planned} releases)"


def _settles(plan: Plan, book: Ledger | None) -> str:
    """Said where releases were made before any of them stated whom it protects."""
    if book is None:
        return ""
    stated = {"person": plan.unit, "person_is": plan.person_is, "relation": plan.relation}
    return unit_caution(book.dataset(_dataset(plan)), stated)


def _show_release(done: Release, book: Ledger | None, share: str, files: Sequence[str]) -> None:
    cost = f"epsilon = {above(done.epsilon, 6)} at delta = {above(done.delta, 6)}{share}"
    click.echo(f"{done.plan.name}: {cost}, {done.engine}\n")
    for sentence in done.cautions:
        click.echo(f"Before you read the numbers: {sentence}\n")
    print_values(done)
    click.echo("\n±: half-width of a 95 % interval from noise alone" + _processed(done.plan) + ".")
    if any(row.is_hidden for row in done.rows):
        counted = "Each person is counted in one of these lines"
        click.echo(f"to: how many there are. {counted}; the upper end adds those that may hide it.")
    click.echo(_gain(done.plan, done.mechanism))
    if book is not None:
        click.echo(left(book.dataset(_dataset(done.plan))))
    for path in files:
        click.echo(f"written: {shown(path)}")


def print_values(done: Release) -> None:
    """Every released number with its ±; the groups in a column where there are any."""
    named = ["statistic", *(["group"] if any(row.group for row in done.rows) else [])]
    rows = [[*(getattr(row, name) for name in named), *row.shown()] for row in done.rows]
    print_table([*named, "value", "± 95 %"], rows, left=len(named))


def _preview_as_json(
    plan: Plan,
    made: Mechanism,
    rows: Sequence[Outlook],
    cost: Preview | None,
    advice: str,
    trouble: str,
) -> dict[str, Any]:
    from leastnoise.releases.report.guarantee import tables

    ledger = None
    if cost is not None:
        ledger = {"dataset": _dataset(plan), **vars(cost), "advice": advice}
    shown = ("epsilon", "delta", "advantage", "layout", "gaussian_epsilon", "gaussian_factor")
    return {
        "plan_hash": plan.hash,
        **{name: getattr(made, name) for name in shown},
        "attacker": vars(made.attacker),
        "statistics": [vars(row) for row in rows],
        "tables": tables(made),
        "compared": [vars(one) for one in made.tried],
        "ledger": ledger,
        "table": {"fails": trouble or None},
    }


def _show_preview(plan: Plan, made: Mechanism, rows: Sequence[Outlook], share: str) -> None:
    cost = f"epsilon = {above(made.epsilon, 6)} at delta = {above(made.delta, 6)}{share}"
    click.echo(f"{plan.name}: {cost}. No row was read, nothing was spent.\n")
    head = ["statistic", "kind", "groups", "noise std", "± 95 %", ""]
    cells = [[row.statistic, row.kind, str(row.groups), *_ahead(row)] for row in rows]
    if made.tables:
        head.insert(5, "separately")
        for cell, row in zip(cells, rows, strict=True):
            apart = "" if row.separate_std is None else f"{row.separate_std:.4g}"
            cell.insert(5, apart)
    print_table(head, cells, left=2, last_left=True)
    _show_margins(made)
    if any(row.of_sum for row in rows):
        click.echo(
            "\nDeclare expected_n, about how many values each group will have, to see the ± of a "
            "mean or variance itself."
        )
    click.echo()
    click.echo(_gain(plan, made))


def _show_margins(made: Mechanism) -> None:
    """What will be measured of tables with margins, and what a declaration would save."""
    from leastnoise.releases.report.guarantee import margins_in_words

    if not made.tables:
        return
    click.echo(f"\n{margins_in_words(made)}")
    click.echo("separately: the noise std if every grouping were measured by itself.")
    hidden = dict.fromkeys(key.column for table in made.tables for key in table.hidden_keys)
    if hidden:
        click.echo(
            f"Rows with another key in {', '.join(hidden)} are counted in a hidden cell. Declare "
            "complete = true for a column whose other rows should count nowhere: that needs no "
            "such cell, and less noise."
        )


def _explain(plan: Plan, made: Mechanism) -> None:
    """The sets of marginals that were compared."""
    if not made.tried:
        click.echo(
            "\nEvery grouping is measured by itself: there is no table with margins, or no set of "
            "its marginals comes near."
        )
        return
    root = "root of the mean variance" if plan.goal == "mean" else "largest std"
    click.echo(f"\nCompared by the {root} of all statistics, in sensitivities:\n")
    rows = []
    for one in made.tried:
        measured = "; ".join(" + ".join(each) for each in one.measured)
        reached = "" if one.designed is None else f"{one.designed:.4g}"
        noted = "refused: some number would be worse than separately" if one.refused else ""
        rows.append([measured, str(one.uses), f"{one.by_proxy:.4g}", reached, noted])
    print_table(["measured", "draws", "estimate", "designed", ""], rows, left=1, last_left=True)
    if not made.tables:
        click.echo("\nChosen: every grouping by itself, which is better.")


def _ahead(row: Outlook) -> tuple[str, str, str]:
    """Noise, ±, and what they are of."""
    from leastnoise.releases.estimates.row import TOO_FEW

    if row.noise_std is None or row.half_width is None:
        return "", "", f"{TOO_FEW}, with {row.n:,} values"
    said = "" if row.n is None else f"with {row.n:,} values"
    if row.of_sum:
        said = "of the sum; divide by the number of rows"
    return f"{row.noise_std:.4g}", above(row.half_width, 2), said


def _processed(plan: Plan) -> str:
    if not plan.postprocess:
        return ""
    again = ""
    if "totals" in plan.postprocess:
        again = "; recomputed for counts that were made to add up"
    return f", before post-processing ({', '.join(plan.postprocess)}){again}"


def _gain(plan: Plan, made: Mechanism) -> str:
    from leastnoise.accountant.attacker import about, per_cent

    return (
        f"Gaussian noise with the same guarantee would be {made.gaussian_factor:.3g} times as "
        f"large; Gaussian noise of the same size would cost epsilon = {made.gaussian_epsilon:.4g}."
        f"\nAn attacker guesses right at most {per_cent(made.attacker.guess)} of the time, from "
        f"even odds ({about(made.attacker.gaussian_guess)} with Gaussian noise of this epsilon and "
        f"delta; {per_cent(_allowed(plan, made))} are allowed)."
    )


def _allowed(plan: Plan, made: Mechanism) -> float:
    """The right guesses that (ε, δ) and a cap on the advantage allow."""
    cap = 1.0 if plan.advantage is None else plan.advantage
    return min(made.attacker.allowed, 0.5 * (1.0 + cap))
