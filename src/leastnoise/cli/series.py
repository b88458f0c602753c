"""The commands on a series: open, ask, release, show, close."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leastnoise.cli.changes import BOX, ONE_SIDED, condition
from leastnoise.cli.group import main
from leastnoise.cli.messages import refused
from leastnoise.cli.options import EXACT, domain, file_option, flag, json_option, number, options
from leastnoise.cli.output import DASH, print_json, progress_bar
from leastnoise.cli.printed_tables import print_table
from leastnoise.cli.protected_unit import stated_unit, unit_caution, unit_options
from leastnoise.cli.release import checked_outputs, print_values, written
from leastnoise.cli.spending import existing_ledger, left, said_when_interrupted
from leastnoise.text.characters import shown
from leastnoise.text.numbers import above, uncertain

OPERATING_SYSTEM = "operating system"  # as `leastnoise.sampling.entropy` has it, without numpy

if TYPE_CHECKING:
    from fractions import Fraction

    from leastnoise.ledger.ledger import Dataset
    from leastnoise.series.series import NoisyAnswer, Series


@main.group()
def series() -> None:
    """Questions asked one after another, answered on one draw of noise that is kept secret.

    The noise is that of as many answers released at once, far less than independent noise, and
    each question may depend on all answers before it. FILE keeps the draw: whoever reads it reads
    the exact answers, so it is as secret as the table.

    \b
      leastnoise series open analyst.series --questions 10 --epsilon 1 --delta 1e-6
      leastnoise series ask analyst.series answer.txt --sensitivity 1
      leastnoise series close analyst.series
    """


_file = click.argument("file", type=click.Path(dir_okay=False))
_passphrase = options(
    flag("--passphrase", help="The file is encrypted: ask for its passphrase."),
    file_option("--passphrase-file", "The passphrase is the first line of this file."),
)
_ledger = file_option("--ledger", "The ledger that the series was charged to.")


def _entered(passphrase: bool, passphrase_file: str | None, *, is_new: bool = False) -> str | None:
    """The passphrase, where one is wanted."""
    if passphrase_file is not None:
        if os.name == "posix" and os.stat(passphrase_file).st_mode & 0o077:
            expected = "to be readable by you alone: chmod 600"
            raise refused("--passphrase-file", passphrase_file, expected)
        try:
            lines = Path(passphrase_file).read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            lines = []
        if not lines or not lines[0]:
            raise refused(
                "--passphrase-file", passphrase_file, "to be text with the passphrase in it"
            )
        return lines[0]
    if not passphrase:
        return None
    if not sys.stdin.isatty():
        expected = "to be typed at a terminal; elsewhere give --passphrase-file"
        raise refused("--passphrase", True, expected)
    entered: str = click.prompt("Passphrase", hide_input=True, confirmation_prompt=is_new, err=True)
    return entered


def _opened_ledger(ledger: str | None) -> Any:
    from leastnoise.ledger.ledger import Ledger

    if ledger is None:
        return nullcontext()
    existing_ledger("--ledger", ledger)
    return Ledger(ledger)


@series.command("open")
@_file
@number("--questions", "How many answers it is for, settled in advance.", type=int, required=True)
@number("--epsilon", "ε of all answers together: the least noise is found.")
@number("--sigma", "Noise on an answer, in sensitivities: the least ε is found.")
@number("--delta", "δ of all answers together; by default the share of the ledger's.")
@domain
@click.option(
    "--changes",
    type=click.Choice([BOX, ONE_SIDED]),
    default=BOX,
    show_default=True,
    help="How one person moves the questions. one-sided: a person who is added can only raise "
    "them, as counts; with less noise, on the real line.",
)
@file_option("--ledger", "The ledger that is charged, once, and counts the answers.")
@click.option("--dataset", help="With --ledger: the data set whose budget pays.")
@click.option("--note", default="", help="With --ledger: anything to remember.")
@file_option("--plan", "A plan that protects whom the series is to protect, and is to be answered.")
@unit_options
@flag("--last", help="Open it also where nothing could be released from the data set after it.")
@_passphrase
@json_option
def series_open(
    file: str,
    ledger: str | None,
    dataset: str | None,
    plan: str | None,
    note: str,
    last: bool,
    passphrase: bool,
    passphrase_file: str | None,
    as_json: bool,
    questions: int,
    epsilon: float | None,
    sigma: float | None,
    delta: float | None,
    domain: str,
    changes: str,
    **protected: Any,
) -> None:
    """Open a series: the noise is designed, charged and drawn, and kept in FILE, which only its
    owner can read.

    \b
      leastnoise series open analyst.series --questions 10 --epsilon 1 --delta 1e-6
    """
    from leastnoise.changes import OneSided
    from leastnoise.series.opening import open_series

    _check_ledger(ledger, {"--dataset": dataset, "--note": note or None, "--last": last or None})
    unit = stated_unit(**protected)
    secret = _entered(passphrase, passphrase_file, is_new=True)
    with _opened_ledger(ledger) as book, said_when_interrupted(book):
        caution = "" if book is None else _caution(book.dataset(str(dataset)), plan, unit)
        made = open_series(
            file,
            questions=questions,
            epsilon=epsilon,
            sigma=sigma,
            delta=delta,
            domain="integer" if domain == "integer" else "real",
            changes=OneSided() if changes == ONE_SIDED else None,
            ledger=book,
            dataset=dataset,
            plan=plan,
            note=note,
            last=last,
            passphrase=secret,
            relation=unit["relation"],
            person=unit["person"],
            person_is=unit["person_is"],
        )
        if as_json:
            print_json({**_facts(made), "caution": caution or None})
            return
        if caution:
            click.echo(caution, err=True)
        click.echo(_described(made))
        known = " with the passphrase" if made.is_encrypted else ""
        click.echo(
            f"Keep {shown(file)} as secret as the table, out of backups and shared folders: "
            f"whoever reads it{known} can take the noise off every answer."
        )
        if book is not None:
            click.echo(left(book.dataset(str(dataset))))


def _check_ledger(ledger: str | None, with_it: Mapping[str, Any]) -> None:
    """A ledger comes with a data set; without one, nothing that is meant for it is ignored."""
    if ledger is not None and with_it["--dataset"] is None:
        raise refused("--ledger", ledger, "to come with --dataset, whose budget pays")
    for name, value in with_it.items():
        if ledger is None and value is not None:
            raise refused(name, value, "to come with --ledger")


def _caution(account: Dataset, plan: str | None, unit: dict[str, str]) -> str:
    """Said where the series says less about whom it protects than the releases before, or more."""
    from leastnoise.releases.advice import unit_of
    from leastnoise.releases.plan.file import load_plan

    return unit_caution(account, unit if plan is None else unit_of(load_plan(plan)))


@series.command("ask")
@_file
@click.argument("answers", type=click.Path(dir_okay=False), default=DASH)
@number(
    "--sensitivity",
    "How much one person can move these answers; settled without looking at the data.",
    type=EXACT,
    required=True,
)
@_ledger
@_passphrase
@json_option
def series_ask(
    file: str,
    answers: str,
    sensitivity: Fraction,
    ledger: str | None,
    passphrase: bool,
    passphrase_file: str | None,
    as_json: bool,
) -> None:
    """Noise for the next answers of a series: each takes one of those that are left.

    ANSWERS is a file, or - for standard input: one exact answer a line, in digits. They are never
    taken from the command line, which others may see.

    \b
      leastnoise series ask analyst.series answer.txt --sensitivity 1
    """
    from leastnoise.series.opening import open_series

    secret = _entered(passphrase, passphrase_file)
    with _opened_ledger(ledger) as book:
        opened = open_series(file, ledger=book, passphrase=secret)
        exact = _read(answers, whole_numbers=opened.noise.domain == "integer")
        noisy = opened.answer(exact, sensitivity)
        if as_json:
            given = {"answers": [asdict(one) for one in noisy], "remaining": opened.remaining}
            print_json({"series": file, **given})
            return
        _print_answers(noisy, opened)


def _read(answers: str, *, whole_numbers: bool) -> list[Fraction]:
    """The exact answers of a file, or of standard input."""
    from leastnoise.cli.answers import read_answers, standard_input
    from leastnoise.errors import InvalidFileError

    content = standard_input() if answers == DASH else Path(answers).read_bytes()
    table = read_answers(
        content, has_header=False, chosen=(), delimiter=",", whole_numbers=whole_numbers
    )
    if len(table.columns) > 1:
        raise InvalidFileError(
            "Expected one answer a line, with a point before its decimals; there is a comma."
        )
    return [value for (value,) in table.values]


def _print_answers(noisy: Sequence[NoisyAnswer], opened: Series) -> None:
    whole = opened.noise.domain == "integer"
    rows = [[str(one.number), *uncertain(one.value, one.half_width, whole=whole)] for one in noisy]
    print_table(["answer", "value", "± 95 %"], rows, left=1)
    click.echo(f"\n{_left(opened)}")


@series.command("release")
@_file
@click.argument("plan", type=click.Path(dir_okay=False))
@flag("--checks", help="Ask the plan's checks too; each takes one of the answers that are left.")
@flag("--preview", help="Only say how many answers it would take; no row is read, none is used.")
@file_option(
    "--out",
    "Write the numbers (.csv, .json, .parquet) or the report for the public (.html); may be given "
    "several times.",
    **{"multiple": True, "callback": checked_outputs, "metavar": "FILE"},
)
@_ledger
@_passphrase
@json_option
def series_release(
    file: str,
    plan: str,
    checks: bool,
    preview: bool,
    out: tuple[str, ...],
    ledger: str | None,
    passphrase: bool,
    passphrase_file: str | None,
    as_json: bool,
) -> None:
    """The statistics of a PLAN, from its table, with the next answers of a series.

    Every count, sum and group takes one answer. The guarantee is that of the series; the plan's
    own epsilon and delta do not count.

    \b
      leastnoise series open plans.series --questions 20 --epsilon 1 --delta 1e-6 --plan plan.toml
      leastnoise series release plans.series plan.toml --out answered.csv
    """
    from leastnoise.releases.report.guarantee import covers
    from leastnoise.series.opening import open_series

    if preview and out:
        raise refused("--preview", True, "to stand without --out: there is nothing to write")
    secret = _entered(passphrase, passphrase_file)
    with _opened_ledger(ledger) as book:
        opened = open_series(file, ledger=book, passphrase=secret)
        if preview:
            _say_needed(opened, opened.needed(plan, checks=checks), as_json)
            return
        with progress_bar() as told:
            done = opened.release(plan, checks=checks, progress=told)
        problems = written(done, out)
        if as_json:
            print_json(done.as_dict() | {"files": [] if problems else list(out)})
        else:
            click.echo(f"{done.plan.name}: {covers(done)}")
            cost = f"epsilon = {above(done.epsilon, 6)} at delta = {above(done.delta, 6)}"
            click.echo(f"{cost}, {done.engine}\n")
            print_values(done)
            click.echo("\n±: half-width of a 95 % interval from noise alone.")
            click.echo(_left(opened))
            for path in [] if problems else out:
                click.echo(f"written: {shown(path)}")
    if problems:
        said = "The release was made and its numbers are above, but "
        click.echo(f"leastnoise: {said}{'; '.join(problems)}", err=True)
        raise SystemExit(2)


def _say_needed(opened: Series, needed: int, as_json: bool) -> None:
    if as_json:
        print_json({"series": opened.path, "needed": needed, "remaining": opened.remaining})
        return
    enough = "" if needed <= opened.remaining else ": too few"
    click.echo(f"The plan takes {needed} answers. {_left(opened)[:-1]}{enough}.")


@series.command("show")
@_file
@json_option
def series_show(file: str, as_json: bool) -> None:
    """What a series promises, and how many answers are left. It shows nothing secret.

    \b
      leastnoise series show analyst.series
    """
    from leastnoise.series.opening import open_series

    opened = open_series(file)
    if as_json:
        print_json(_facts(opened))
    else:
        click.echo(_described(opened))
        click.echo(_left(opened))


@series.command("close")
@_file
@_ledger
@json_option
def series_close(file: str, ledger: str | None, as_json: bool) -> None:
    """Erase what is left of a series. Nothing is refunded: opening it has paid for all answers.

    \b
      leastnoise series close analyst.series
    """
    from leastnoise.series.opening import open_series

    with _opened_ledger(ledger) as book:
        opened = open_series(file, ledger=book)
        unused = opened.remaining
        opened.close()
    if as_json:
        print_json({**_facts(opened), "erased": unused})
    else:
        click.echo(f"closed: {unused} unused answer(s) are erased; nothing is refunded.")
        if opened.dataset is not None and ledger is None:
            click.echo(
                "The ledger was not told: a copy of the file could still answer. Close it with "
                "--ledger too.",
                err=True,
            )


def _facts(opened: Series) -> dict[str, Any]:
    noise = opened.noise
    return {
        "series": opened.path,
        "id": opened.id,
        "questions": opened.questions,
        "remaining": opened.remaining,
        "epsilon": opened.epsilon,
        "delta": opened.delta,
        "sigma": noise.std,
        "half_width_95": noise.interval(0.95),
        "domain": noise.domain,
        "answers_a_draw": noise.dimension,
        "changes": opened.changes.describe(),
        "dataset": opened.dataset,
        **{name: value or None for name, value in asdict(opened.unit).items()},
        "encrypted": opened.is_encrypted,
        "entropy": opened.entropy,
    }


def _described(opened: Series) -> str:
    noise = opened.noise
    paid = "" if opened.dataset is None else f", charged to {opened.dataset!r}"
    paid += ", encrypted" if opened.is_encrypted else ""
    if opened.entropy != OPERATING_SYSTEM:
        paid += f"; NOT PRIVATE: {opened.entropy}"
    held = condition(opened.changes, opened.questions)
    only = f"\ncondition: {held}" if held else ""
    return (
        f"{opened.questions} questions one after another: epsilon = {above(opened.epsilon, 6)} at "
        f"delta = {above(opened.delta, 6)} for all of them together{paid}\n"
        f"noise on each: standard deviation {noise.std:.6g} sensitivities, ± "
        f"{above(noise.interval(0.95))} at 95 %{only}"
    )


def _left(opened: Series) -> str:
    left = f"{opened.remaining} of {opened.questions} answers are left."
    return left if opened.entropy == OPERATING_SYSTEM else f"{left} NOT PRIVATE: {opened.entropy}"
