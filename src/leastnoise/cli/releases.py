"""Commands on tables: release, and the ledger that keeps their budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from leastnoise.cli.base import (
    DASH,
    NUMBER,
    json_option,
    main,
    out_option,
    print_json,
    progress_bar,
    writable,
    write_out,
)
from leastnoise.cli.pictures import plot_option
from leastnoise.cli.tables import print_table
from leastnoise.digits import above, below
from leastnoise.texts import shown

if TYPE_CHECKING:
    from leastnoise.artefact import Guarantee
    from leastnoise.releases.ledger import Dataset, Ledger, Preview
    from leastnoise.releases.mechanism import Mechanism
    from leastnoise.releases.outlook import Outlook
    from leastnoise.releases.plan import Plan
    from leastnoise.releases.run import Release

_Command = TypeVar("_Command", bound=Callable[..., Any])
_ENDED = (129, 130, 143)  # the codes of a process that SIGHUP, SIGINT or SIGTERM ended
_WRITERS = {".csv": "to_csv", ".json": "to_json", ".parquet": "to_parquet", ".html": "to_html"}


def _checked_outputs(
    context: click.Context, option: click.Parameter, paths: tuple[str, ...]
) -> tuple[str, ...]:
    """Refused before anything is spent: a release whose numbers cannot be written is spent all the same."""
    from leastnoise.errors import InvalidParameterError

    for path in paths if not context.resilient_parsing else ():
        target = Path(path)
        if path == DASH:
            raise InvalidParameterError(
                "--out", path, "to be a file; for the numbers on standard output use --json"
            )
        if target.suffix.lower() not in _WRITERS:
            raise InvalidParameterError("--out", path, f"to end in one of {', '.join(_WRITERS)}")
        writable("--out", path)
        if target.suffix.lower() == ".parquet":
            from leastnoise.extras import required

            required("pyarrow.parquet", "tables")
    return paths


@main.command()
@click.argument("plan", type=click.Path(dir_okay=False))
@click.option(
    "--ledger",
    type=click.Path(dir_okay=False),
    help="The ledger that keeps the budget of the plan's data set.",
)
@click.option(
    "--no-ledger",
    is_flag=True,
    help="Release without a ledger: nothing adds up what several releases cost.",
)
@click.option(
    "--preview",
    is_flag=True,
    help="Only say what the plan would give and cost, and what would fail. No row is read, nothing is spent.",
)
@click.option(
    "--last",
    is_flag=True,
    help="Release it also where nothing could be released from the data set after it.",
)
@click.option(
    "--out",
    multiple=True,
    type=click.Path(dir_okay=False),
    callback=_checked_outputs,
    metavar="FILE",
    help="Write the numbers (.csv, .json, .parquet) or the report for the public (.html); may be given several times.",
)
@click.option(
    "--scratch",
    type=click.Path(file_okay=False),
    metavar="FOLDER",
    help="Where DuckDB makes a private folder for rows that memory has no room for. [default: the system's place]",
)
@click.option(
    "--sealed",
    is_flag=True,
    help="Scan the table's file in a process that can read it and nothing else, on Linux; refused where it cannot be sealed.",
)
@plot_option
@json_option
def release(
    plan: str,
    ledger: str | None,
    no_ledger: bool,
    preview: bool,
    last: bool,
    out: tuple[str, ...],
    scratch: str | None,
    sealed: bool,
    plot: str | None,
    as_json: bool,
) -> None:
    """Release the statistics of a plan from a table, with the least noise its guarantee allows.

    PLAN is a TOML file: source, privacy unit, bounds, statistics and epsilon; its delta is its share
    of the ledger's, unless it declares one. The budget of its data set is declared once, with
    `leastnoise ledger open`. Values are shown with ±, the half-width of a 95 % interval from noise
    alone.

    \b
    What would it give, and what would it cost?
      leastnoise release plan.toml --ledger budget.ledger --preview
    Release, write the numbers and the report:
      leastnoise release plan.toml --ledger budget.ledger --out numbers.csv --out report.html
    """
    from leastnoise.errors import InvalidParameterError
    from leastnoise.releases.advice import with_share
    from leastnoise.releases.ledger import Ledger
    from leastnoise.releases.mechanism import mechanism
    from leastnoise.releases.plan_file import load_plan
    from leastnoise.releases.run import obstacle
    from leastnoise.releases.run import release as carry_out

    if ledger is not None and no_ledger:
        raise InvalidParameterError("--ledger", ledger, "to stand without --no-ledger")
    if ledger is None and not (no_ledger or preview):
        raise InvalidParameterError("--ledger", ledger, "to be given, or else --no-ledger")
    if last and (ledger is None or preview):
        raise InvalidParameterError("--last", True, "to come with --ledger, and without --preview")
    if preview and (out or plot):
        raise InvalidParameterError(
            "--preview", True, "to stand without --out and --plot: there is nothing to write"
        )
    wanted = load_plan(plan)
    if ledger is not None:
        existing_ledger("--ledger", ledger)
    book = Ledger(ledger, read_only=preview) if ledger is not None else None
    try:
        settles = _settles(wanted, book)
        with said_when_interrupted(None if preview else book):
            with progress_bar() as told:
                if preview:
                    told("designing the noise", 0.0)
                    whole = with_share(wanted, book)
                    made = mechanism(whole)
                    trouble = obstacle(whole, made, scratch=scratch, sealed=sealed)
                else:
                    done = carry_out(
                        wanted,
                        ledger=book,
                        last=last,
                        scratch=scratch,
                        sealed=sealed,
                        progress=told,
                    )
            share = _share(wanted, book)
            if settles:
                click.echo(settles, err=True)
            if preview:
                _show_preview(whole, made, book, share, trouble, as_json)
                return
            problems = _written(done, out, plot)
            _show_release(
                done,
                book,
                share,
                (*out, *((plot,) if plot else ())) if not problems else (),
                as_json,
            )
    finally:
        if book is not None:
            book.close()
    if problems:
        click.echo(
            "leastnoise: The release was made and its numbers are above, but "
            + "; ".join(problems),
            err=True,
        )
        raise SystemExit(2)


@contextmanager
def said_when_interrupted(book: Ledger | None) -> Iterator[None]:
    """An interrupt says whether the cost was written: what the ledger holds then and did not hold
    before."""
    known = set() if book is None else {entry.id for entry in book.entries()}
    try:
        yield
    except SystemExit as leaving:
        if book is not None and leaving.code in _ENDED:
            new = [entry for entry in book.entries() if entry.id not in known]
            said = "Interrupted. Nothing was written to the ledger, and nothing is spent."
            if new:
                said = f"Interrupted. The cost is in the ledger as release {new[-1].id} and stays spent."
            click.echo(f"leastnoise: {said}", err=True)
        raise


def _written(done: Release, out: Sequence[str], plot: str | None) -> list[str]:
    problems = []
    for path in out:
        try:
            getattr(done, _WRITERS[Path(path).suffix.lower()])(path)
        except OSError as error:
            problems.append(f"{shown(path)} could not be written: {error.strerror or error}")
    if plot is not None:
        from leastnoise.plots import release_sheet

        try:
            release_sheet(done).save(plot)
        except OSError as error:
            problems.append(f"{shown(plot)} could not be written: {error.strerror or error}")
    return problems


def _share(plan: Plan, book: Ledger | None) -> str:
    """Where the δ of a plan comes from, if not from itself."""
    if plan.delta is not None or book is None:
        return ""
    account = book.dataset(plan.dataset or plan.name)
    return f" (its share of the ledger's {account.delta:g}, for {account.planned} releases)"


def _settles(plan: Plan, book: Ledger | None) -> str:
    """Said where releases were made before any of them stated whom it protects."""
    if book is None:
        return ""
    stated = {"person": plan.unit, "person_is": plan.person_is, "relation": plan.relation}
    return unit_caution(book.dataset(plan.dataset or plan.name), stated)


def _show_release(
    done: Release, book: Ledger | None, share: str, files: Sequence[str], as_json: bool
) -> None:
    if as_json:
        print_json(done.as_dict() | {"files": list(files)})
        return
    made, dataset = done.mechanism, done.plan.dataset or done.plan.name
    click.echo(
        f"{done.plan.name}: epsilon = {above(done.epsilon, 6)} at delta = {above(done.delta, 6)}{share}, {done.engine}\n"
    )
    for sentence in done.cautions:
        click.echo(f"Before you read the numbers: {sentence}\n")
    grouped = any(row.group for row in done.rows)
    head = ["statistic", *(["group"] if grouped else []), "value", "± 95 %"]
    cells = [[row.statistic, *([row.group] if grouped else []), *row.shown()] for row in done.rows]
    print_table(head, cells, left=2 if grouped else 1)
    click.echo("\n±: half-width of a 95 % interval from noise alone" + _processed(done.plan) + ".")
    if any(row.is_hidden for row in done.rows):
        click.echo(
            "to: how many there are. Each person is counted in one of these lines; the upper end adds those that may hide it."
        )
    click.echo(_gain(made))
    if book is not None:
        click.echo(_left(book.dataset(dataset)))
    for path in files:
        click.echo(f"written: {shown(path)}")


def _show_preview(
    plan: Plan, made: Mechanism, book: Ledger | None, share: str, trouble: str, as_json: bool
) -> None:
    from leastnoise.releases.advice import tried, unit_of
    from leastnoise.releases.outlook import outlook

    rows = outlook(plan, made)
    dataset = plan.dataset or plan.name
    cost = None if book is None else book.preview(dataset, made.spends, **unit_of(plan))
    advice = (
        ""
        if book is None or cost is None or (cost.allowed and not cost.last)
        else tried(plan, book)
    )
    if as_json:
        print_json(
            {
                "plan_hash": plan.hash,
                "epsilon": made.epsilon,
                "delta": made.delta,
                "layout": made.layout,
                "gaussian_epsilon": made.gaussian_epsilon,
                "gaussian_factor": made.gaussian_factor,
                "statistics": [vars(row) for row in rows],
                "ledger": None
                if cost is None
                else {"dataset": dataset, **vars(cost), "advice": advice},
                "table": {"fails": trouble or None},
            }
        )
        return
    cost_of_it = f"epsilon = {above(made.epsilon, 6)} at delta = {above(made.delta, 6)}{share}"
    click.echo(f"{plan.name}: {cost_of_it}. No row was read, nothing was spent.\n")
    head = ["statistic", "kind", "groups", "noise std", "± 95 %", ""]
    cells = [[row.statistic, row.kind, str(row.groups), *_ahead(row)] for row in rows]
    print_table(head, cells, left=2, last_left=True)
    if any(row.of_sum for row in rows):
        click.echo(
            "\nDeclare expected_n, about how many values each group will have, to see the ± of a mean or variance itself."
        )
    click.echo()
    click.echo(_gain(made))
    if cost is not None:
        click.echo(_would_cost(dataset, cost) + (f"\n{advice}" if advice else ""))
    if trouble:
        click.echo(f"table: the release would FAIL, at no cost. {trouble}")


def _ahead(row: Outlook) -> tuple[str, str, str]:
    """Noise, ±, and what they are of."""
    from leastnoise.releases.estimate import TOO_FEW

    if row.noise_std is None or row.half_width is None:
        return "", "", f"{TOO_FEW}, with {row.n:,} values"
    said = (
        "of the sum; divide by the number of rows"
        if row.of_sum
        else ""
        if row.n is None
        else f"with {row.n:,} values"
    )
    return f"{row.noise_std:.4g}", above(row.half_width, 2), said


def _processed(plan: Plan) -> str:
    if not plan.postprocess:
        return ""
    again = (
        "; recomputed for counts that were made to add up" if "totals" in plan.postprocess else ""
    )
    return f", before post-processing ({', '.join(plan.postprocess)}){again}"


def _gain(made: Mechanism) -> str:
    return (
        f"Gaussian noise with the same guarantee would be {made.gaussian_factor:.3g} times as large; "
        f"Gaussian noise of the same size would cost epsilon = {made.gaussian_epsilon:.4g}."
    )


def _left(account: Dataset) -> str:
    return (
        f"ledger: {account.name!r} has spent epsilon = {above(account.spent, 6)} of {below(account.epsilon, 6)} "
        f"at delta = {above(account.delta, 6)} in {account.releases} release(s)"
        + (
            "; nothing is left"
            if account.closed
            else f"{_if_last(account, account.spent)}; {below(account.remaining)} left"
        )
    )


def _would_cost(dataset: str, cost: Preview) -> str:
    before, after = (above(spent, 6) for spent in (cost.epsilon_before, cost.epsilon_after))
    change = f"ledger: {dataset!r} would go from epsilon = {before} to {after}: "
    if not cost.allowed:
        return f"{change}REFUSED" + (f". {cost.reason}" if cost.reason else "")
    if cost.last:
        return f"{change}allowed only with --last: nothing could be released after it, because {cost.reason}"
    return f"{change}allowed, {below(cost.remaining)} left{_if_last(cost, cost.epsilon_after)}"


def _if_last(cost: Dataset | Preview, spent: float) -> str:
    """What a first release costs if it stays the only one, where that is visibly less."""
    tight = cost.epsilon_if_fixed
    if cost.releases != 1 or tight is None or tight >= spent * (1.0 - 1e-3):
        return ""
    return f" ({above(tight, 6)} if this is the last release)"


less_than_stated = click.option(
    "--less-than-stated",
    is_flag=True,
    help="Charge fewer uses, or a smaller sensitivity, than the artefact states; the ledger marks it.",
)


def charged(
    stated: Guarantee | None, sensitivity: float | None, uses: int | None, less_is_meant: bool
) -> tuple[float, int, str]:
    """The sensitivity and the uses that a ledger is charged, and the mark it puts on a charge below
    what the artefact states."""
    from leastnoise.errors import InvalidParameterError, at_least, positive_integer

    moved = at_least(
        "sensitivity",
        sensitivity if sensitivity is not None else 1.0 if stated is None else stated.sensitivity,
    )
    drawn = positive_integer(
        "uses", uses if uses is not None else 1 if stated is None else stated.compositions
    )
    if stated is None:
        return moved, drawn, ""
    marks: list[tuple[str, float, float, str]] = []
    if drawn < stated.compositions:
        marks.append(
            ("--uses", drawn, stated.compositions, f"{drawn} of {stated.compositions} stated uses")
        )
    if moved < stated.sensitivity:
        words = f"sensitivity {below(moved, 6)} of {below(stated.sensitivity, 6)} stated"
        marks.append(("--sensitivity", moved, stated.sensitivity, words))
    if marks and not less_is_meant:
        name, given, least, _ = marks[0]
        raise InvalidParameterError(
            name,
            given,
            f"to be at least the {least!r} that the artefact states, or --less-than-stated",
        )
    return moved, drawn, "; ".join(mark for *_, mark in marks)


def unit_options(command: _Command) -> _Command:
    """Whom a release protects that is made elsewhere: what `release` takes from its plan."""
    options = (
        click.option(
            "--relation",
            type=click.Choice(["add/remove", "replace"]),
            help="Which tables are neighbours: a person comes or goes, or is replaced. All releases that say it must say the same.",
        ),
        click.option(
            "--person",
            metavar="COLUMN",
            help="Whose rows belong together: the column of person ids, as in a plan.",
        ),
        click.option("--one-row-per-person", is_flag=True, help="Every row is another person's."),
        click.option(
            "--person-is",
            metavar="WORDS",
            help="What a person is, as in a plan: a patient, a household.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def stated_unit(
    relation: str | None, person: str | None, one_row_per_person: bool, person_is: str | None
) -> dict[str, str]:
    """What the options of `unit_options` say, in the words that `release` writes."""
    from leastnoise.errors import InvalidParameterError
    from leastnoise.releases.plan import whose_rows

    if person is not None and one_row_per_person:
        raise InvalidParameterError("--person", person, "to stand without --one-row-per-person")
    if person == "":
        raise InvalidParameterError("--person", person, "to name a column")
    whose = whose_rows(person) if person is not None or one_row_per_person else ""
    return {"relation": relation or "", "person": whose, "person_is": person_is or ""}


_UNIT = {
    "person": "whose rows belong together (--person, --one-row-per-person)",
    "relation": "which tables are neighbours (--relation)",
}


def unit_caution(account: Dataset, stated: Mapping[str, str]) -> str:
    """Said where this release says less about whom it protects than those before it, or more."""
    if account.releases == 0:
        return ""
    known = {name: getattr(account.unit, name) for name in _UNIT}
    sentences = []
    if silent := [name for name in _UNIT if known[name] and not stated[name]]:
        who = ", ".join(_unit_words(name, known[name], account.unit.person_is) for name in silent)
        what = " nor ".join(_UNIT[name] for name in silent)
        sentences.append(
            f"ledger: the releases of {account.name!r} so far protect: {who}. This one does not say {what}: what it costs adds up "
            "with the others only if it is meant for the same."
        )
    if settled := [name for name in _UNIT if stated[name] and not known[name]]:
        who = ", ".join(_unit_words(name, stated[name], "") for name in settled)
        what = " nor ".join(_UNIT[name].partition(" (")[0] for name in settled)
        sentences.append(
            f"ledger: no release of {account.name!r} so far says {what}. From this one on it is settled: {who}. Make sure that "
            "it was meant before too."
        )
    return "\n".join(sentences)


def _unit_words(name: str, value: str, person_is: str) -> str:
    if name == "relation":
        return f"relation = {value!r}"
    return f"{value} ({person_is})" if person_is else value


@main.group()
def ledger() -> None:
    """The ledger: what every data set may spend, and every release that spent it.

    \b
      leastnoise ledger open budget.ledger patients --epsilon 2 --delta 1e-6
      leastnoise ledger show budget.ledger
      leastnoise ledger check budget.ledger
    """


_file = click.argument("file", type=click.Path(dir_okay=False))


@ledger.command("open")
@_file
@click.argument("dataset")
@click.option(
    "--epsilon", type=NUMBER, required=True, help="ε over all releases of the data set, for ever."
)
@click.option(
    "--delta", type=NUMBER, required=True, help="δ over all releases; well below 1/people."
)
@click.option(
    "--rule",
    type=click.Choice(["adaptive", "fixed in advance"]),
    default="adaptive",
    show_default=True,
    help="adaptive: later releases may depend on earlier answers. fixed in advance: tighter, but only if they do not.",
)
@click.option(
    "--releases",
    type=int,
    help="How many releases are to share delta: a plan that declares none gets its share. More are not refused. [default: 25]",
)
@json_option
def ledger_open(
    file: str,
    dataset: str,
    epsilon: float,
    delta: float,
    rule: str,
    releases: int | None,
    as_json: bool,
) -> None:
    """Declare the budget of a data set, in FILE, which is made if it is missing. A budget can never be changed.

    \b
      leastnoise ledger open budget.ledger patients --epsilon 2 --delta 1e-6
    """
    from leastnoise.releases.ledger import Ledger

    _check_budget(dataset, epsilon, delta, rule, releases)  # before the file is made
    with Ledger(file) as book:
        made = book.open_dataset(
            dataset, epsilon=epsilon, delta=delta, rule=rule, releases=releases
        )
    if as_json:
        print_json(_account(made))
        return
    may = f"epsilon = {below(made.epsilon, 6)} at delta = {above(made.delta, 6)}"
    click.echo(f"{made.name!r} may spend {may} ({made.rule}); kept in {shown(file)}")


def _check_budget(
    dataset: str, epsilon: float, delta: float, rule: str, releases: int | None
) -> None:
    from leastnoise.releases.accounting import RELEASES, declared
    from leastnoise.releases.ledger import dataset_name

    dataset_name(dataset)
    declared(epsilon, delta, rule, releases=RELEASES if releases is None else releases)


@ledger.command("show")
@_file
@json_option
def ledger_show(file: str, as_json: bool) -> None:
    """Budgets, what is spent, and every release.

    \b
      leastnoise ledger show budget.ledger
    """
    from leastnoise.releases.ledger import Ledger

    with Ledger(file, read_only=True) as book:
        if as_json:
            print_json(
                {
                    "ledger": file,
                    "head": book.head,
                    "datasets": [_account(account) for account in book.datasets()],
                    "releases": [_entry(entry) for entry in book.entries()],
                }
            )
        else:
            click.echo(book.show(), nl=False)


@ledger.command("spend")
@_file
@click.argument("dataset")
@click.argument("law", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--plan",
    required=True,
    help="What is released: a name or a hash by which it can be found again.",
)
@click.option(
    "--uses",
    type=int,
    help="How many draws of the law; by default as many as the artefact states, else 1.",
)
@click.option(
    "--sensitivity",
    type=NUMBER,
    help="How much one person can move one answer; by default what the artefact states, else 1.",
)
@less_than_stated
@unit_options
@click.option("--note", default="", help="Anything to remember.")
@click.option(
    "--preview", is_flag=True, help="Only say what it would cost; exit 1 if it would be refused."
)
@click.option(
    "--last",
    is_flag=True,
    help="Record it also where nothing could be released from the data set after it.",
)
@json_option
def ledger_spend(
    file: str,
    dataset: str,
    law: str,
    plan: str,
    uses: int | None,
    sensitivity: float | None,
    less_than_stated: bool,
    relation: str | None,
    person: str | None,
    one_row_per_person: bool,
    person_is: str | None,
    note: str,
    preview: bool,
    last: bool,
    as_json: bool,
) -> None:
    """Record a release that is made elsewhere with a saved LAW (an artefact or a law file), or
    refuse it.

    It costs what the artefact states: its number of uses, at its sensitivity. Run it before
    anything is revealed: when it exits with 0 the spend is on the disk.

    \b
      leastnoise ledger spend budget.ledger patients noise.json --plan "ten counts, March" --relation replace --one-row-per-person
    """
    from leastnoise.cli.laws import law_and_guarantee
    from leastnoise.releases.ledger import Ledger, Spend

    noise, stated = law_and_guarantee(law)
    sensitivity, uses, stamp = charged(stated, sensitivity, uses, less_than_stated)
    spends = [Spend(noise, sensitivity, uses)]
    unit = stated_unit(relation, person, one_row_per_person, person_is)
    existing_ledger("FILE", file)
    with Ledger(file, read_only=preview) as book:
        caution = unit_caution(book.dataset(dataset), unit)
        if preview:
            cost = book.preview(dataset, spends, **unit)
            if as_json:
                print_json({"dataset": dataset, **vars(cost), "caution": caution or None})
            else:
                click.echo(_would_cost(dataset, cost))
                if caution:
                    click.echo(caution, err=True)
            raise SystemExit(0 if cost.allowed and (last or not cost.last) else 1)
        entry = book.spend(
            dataset, spends, plan_hash=plan, note=note, stamp=stamp, **unit, last=last
        )
        if as_json:
            print_json(_entry(entry) | {"caution": caution or None})
            return
        if caution:
            click.echo(caution, err=True)
        marked = f" ({stamp})" if stamp else ""
        click.echo(
            f"recorded as release {entry.id}: {uses} use(s) at sensitivity {below(sensitivity, 6)}{marked}"
        )
        click.echo(_left(book.dataset(dataset)))


@ledger.command("export")
@_file
@click.option(
    "--format",
    type=click.Choice(["json", "csv"]),
    default="json",
    show_default=True,
    help="Everything, or the releases.",
)
@out_option("Write to this file instead of standard output.")
def ledger_export(file: str, format: str, out: str | None) -> None:
    """Everything in the ledger as JSON (budgets, releases, laws), or the releases as CSV.

    \b
      leastnoise ledger export budget.ledger --format csv --out releases.csv
    """
    from leastnoise.releases.ledger import Ledger

    with Ledger(file, read_only=True) as book:
        text = book.export(format)
    write_out(out or DASH, text)
    if out not in (None, DASH):
        click.echo(f"written: {shown(out)}", err=True)


@ledger.command("check")
@_file
@click.option("--head", help="A head printed earlier, which must still be in the chain.")
@click.option(
    "--every-release",
    is_flag=True,
    help="Recompute tight composition for every release, not only first and newest.",
)
@json_option
def ledger_check(file: str, head: str | None, every_release: bool, as_json: bool) -> None:
    """Verify the chain of hashes and recompute every cost from the laws; exit 1 if anything does not match.

    Keep the head it prints somewhere else: it proves later that nothing before it was changed.

    \b
      leastnoise ledger check budget.ledger
    """
    from leastnoise.releases.ledger import Ledger

    with Ledger(file, read_only=True) as book:
        found = book.check(head=head, every_entry=every_release)
    if as_json:
        print_json(
            {
                "ledger": file,
                "ok": found.ok,
                "releases": found.entries,
                "head": found.head,
                "problems": list(found.problems),
            }
        )
    else:
        for problem in found.problems:
            click.echo(f"problem  {problem}")
        click.echo(
            f"{'whole' if found.ok else 'NOT WHOLE'}: {found.entries} release(s), head {found.head}"
        )
    if not found.ok:
        raise SystemExit(1)


def existing_ledger(name: str, file: str) -> None:
    """A typing error in the name must not start a new ledger."""
    from leastnoise.errors import InvalidParameterError

    if not Path(file).exists():
        raise InvalidParameterError(
            name, file, "to be a ledger; make it with: leastnoise ledger open"
        )


def _account(account: Dataset) -> dict[str, Any]:
    from dataclasses import asdict

    return {**asdict(account), "remaining": account.remaining}


def _entry(entry: Any) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(entry)
