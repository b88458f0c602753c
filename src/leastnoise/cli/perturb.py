"""The command that adds noise to answers: for whoever computes them elsewhere, in any language.

The order cannot leak: everything is read and checked, the noise is drawn, the ledger commits the
cost or refuses it, and only then does a number leave the process.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leastnoise.cli.allowed_draws import AllowedDraws
from leastnoise.cli.changes import condition, with_relation
from leastnoise.cli.group import main
from leastnoise.cli.messages import refused
from leastnoise.cli.options import file_option, flag, json_option, number, out_option
from leastnoise.cli.output import DASH, echo_text, not_both_on_stdout, print_json, write_out
from leastnoise.cli.protected_unit import stated_unit, unit_caution, unit_options
from leastnoise.cli.spending import (
    charged,
    existing_ledger,
    guarantee_as_json,
    less_than_stated,
    said_when_interrupted,
)
from leastnoise.files.canonical import text_digest
from leastnoise.text.characters import shown
from leastnoise.text.numbers import above, below

if TYPE_CHECKING:
    from leastnoise.artefact import Artefact
    from leastnoise.cli.answers import Answers
    from leastnoise.ledger.ledger import Ledger
    from leastnoise.sampling import Draws

_UNIT = ("relation", "person", "person-is")


@main.command()
@click.argument("law", type=click.Path(dir_okay=False))
@click.argument("answers", type=click.Path(dir_okay=False), default=DASH)
@flag("--header", help="The first line names the columns.")
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="NAME",
    help="A column of answers, by name (with --header) or number; may be repeated. Other columns "
    "pass as they are. [default: all]",
)
@click.option(
    "--delimiter", default=",", show_default=True, help="What stands between two columns."
)
@number(
    "--touched",
    "For a law designed with --touched: of the draws of one batch a person changes at most so "
    "many. Nothing but you says so.",
    type=click.IntRange(min=1),
)
@flag(
    "--scaled",
    help="For a law designed with --ranges or --weights: each answer is divided by its scale "
    "already, as the artefact states it.",
)
@file_option("--ledger", "The ledger that the cost is written to before anything is shown.")
@click.option("--dataset", help="With --ledger: the data set whose budget pays.")
@click.option(
    "--plan", help="With --ledger: what is released, to be found again. [default: perturb]"
)
@click.option("--note", help="With --ledger: anything to remember.")
@unit_options
@flag(
    "--last", help="With --ledger: also where nothing could be released from the data set after it."
)
@less_than_stated
@out_option("Write to this file instead of standard output.")
@json_option
def perturb(
    law: str,
    answers: str,
    header: bool,
    columns: tuple[str, ...],
    delimiter: str,
    touched: int | None,
    scaled: bool,
    ledger: str | None,
    dataset: str | None,
    plan: str | None,
    note: str | None,
    last: bool,
    less_than_stated: bool,
    out: str | None,
    as_json: bool,
    **protected: Any,
) -> None:
    """Add noise to answers, exactly as they are judged: rounded to the lattice of the noise, then
    added in whole numbers.

    LAW is an artefact. ANSWERS is a file, or - for standard input: one answer a line, or CSV. 0.1
    is one tenth, not the nearest floating-point number; for a law on the integers the answers are
    whole. Every answer is one use of the law, and there may be no more of them than the artefact
    states; a joint law takes as many answers a draw as it has, in one line or one a line. A law
    that was designed with --touched serves more answers than it states uses, if you say --touched
    too.

    What is printed are multiples of one unit that does not depend on the answers, with all their
    digits (where these never end, rounded far below the unit; --json has them as whole numbers).
    With --ledger the cost is written down first: the uses, the sensitivity and the changes that the
    artefact states; --relation, --person and --person-is say whom it protects, as a plan does. A
    law for answers that all move the same way is for persons who are added or removed. Bad input is
    refused before anything is drawn or spent, by line and column, without showing it.

    \b
      leastnoise perturb noise.json answers.txt
      leastnoise perturb noise.json table.csv --header --column count --ledger budget.ledger \
--dataset patients --out noisy.csv
    """
    from leastnoise.ledger.ledger import Ledger

    not_both_on_stdout(out, as_json)
    _check_delimiter(delimiter)
    for_the_ledger = {
        **{"--dataset": dataset, "--plan": plan, "--note": note},
        **{f"--{name}": protected[name.replace("-", "_")] for name in _UNIT},
        **{"--last": last, "--less-than-stated": less_than_stated},
        "--one-row-per-person": protected["one_row_per_person"],
    }
    _check_ledger(ledger, for_the_ledger)
    unit = stated_unit(**protected)
    _check_inputs_stay(out, {"LAW": law, "ANSWERS": answers, "--ledger": ledger})
    artefact = _verified(law)
    _check_scaled(artefact, scaled)
    unit = with_relation(unit, artefact.guarantee.changes)
    table = _read(answers, header, columns, delimiter, artefact)
    draws = _draws(artefact, table)
    allowed = AllowedDraws.of(artefact, touched)
    allowed.check(draws)
    only_these = allowed.charge(draws) if less_than_stated else None
    sensitivity, uses, stamp = charged(artefact.guarantee, None, only_these, less_than_stated)
    bill = _Bill(sensitivity, uses, allowed.added_to(stamp), unit)
    spent: _Spent | None = None
    with nullcontext() if ledger is None else Ledger(ledger) as book, said_when_interrupted(book):
        noisy = _noisy(artefact, table)
        text = _table_text(table, noisy, delimiter)
        if book is not None:
            named = "perturb" if plan is None else plan
            spent = bill.spend(book, str(dataset), artefact, named, note or "", last)
        problem = _shown(text, out, as_json)
        if as_json:
            used = _used(table, draws, allowed, out, spent)
            stated = guarantee_as_json(artefact.guarantee)
            print_json({"law": law, **stated, **used, **_numbers(table, noisy)})
        if book is not None and spent is not None:
            book.release_done(spent.entry, text_digest(text))
    if problem is not None:
        said = f"The noise was added and the numbers are above, but {problem}"
        click.echo(f"leastnoise: {said}", err=True)
        raise SystemExit(2)
    if not as_json:
        _say(_promise(artefact, allowed), table.count, draws, spent)


@dataclass(frozen=True)
class _Bill:
    """What the ledger is to write: the sensitivity, the uses, a mark on them, whom they concern."""

    sensitivity: float
    uses: int
    stamp: str
    unit: Mapping[str, str]

    def spend(
        self, book: Ledger, dataset: str, artefact: Artefact, plan: str, note: str, last: bool
    ) -> _Spent:
        from leastnoise.ledger.ledger import Spend

        caution = unit_caution(book.dataset(dataset), self.unit)
        changes = artefact.guarantee.changes
        spends = [Spend(artefact.noise, self.sensitivity, self.uses, changes)]
        said = {"plan_hash": plan, "note": note, "stamp": self.stamp, **self.unit}
        entry = book.spend(dataset, spends, **said, last=last)
        marked = f" ({self.stamp})" if self.stamp else ""
        recorded = f"Recorded as release {entry.id}: {self.uses} use(s){marked}."
        return _Spent(entry.id, self.uses, recorded, caution)


@dataclass(frozen=True)
class _Spent:
    """A cost that is on the disk: the id of its entry, the uses charged, and what is said of it."""

    entry: int
    uses: int
    recorded: str
    caution: str


def _used(
    table: Answers, draws: int, allowed: AllowedDraws, out: str | None, spent: _Spent | None
) -> dict[str, Any]:
    """What was used and charged, for --json."""
    return {
        "answers": table.count,
        "draws": draws,
        "touched": allowed.touched_of,
        "written": out,
        "charged_uses": None if spent is None else spent.uses,
        "ledger_entry": None if spent is None else spent.entry,
        "caution": None if spent is None else spent.caution or None,
    }


def _say(promise: str, answers: int, draws: int, spent: _Spent | None) -> None:
    """What was done and what it promises, beside the table."""
    click.echo(f"leastnoise: {answers} answer(s) in {draws} draw(s). {promise}", err=True)
    said = "Nothing adds up what several runs cost: see --ledger."
    click.echo(f"leastnoise: {said if spent is None else spent.recorded}", err=True)
    if spent is not None and spent.caution:
        click.echo(spent.caution, err=True)


def _check_delimiter(delimiter: str) -> None:
    if len(delimiter) != 1 or delimiter.isalnum() or delimiter in '"\r\n+-.':
        raise refused("--delimiter", delimiter, "to be one character, such as , or ;")


def _check_ledger(ledger: str | None, with_it: Mapping[str, Any]) -> None:
    """A ledger comes with a data set; without one, nothing that is meant for it is ignored."""
    if ledger is not None:
        if with_it["--dataset"] is None:
            raise refused("--ledger", ledger, "to come with --dataset, whose budget pays")
        existing_ledger("--ledger", ledger)
        return
    for name, value in with_it.items():
        if value is not None and value is not False:
            raise refused(name, value, "to come with --ledger")


def _check_inputs_stay(out: str | None, inputs: Mapping[str, str | None]) -> None:
    for name, path in inputs.items():
        if out not in (None, DASH) and path not in (None, DASH) and _same_file(str(out), str(path)):
            raise refused("--out", out, f"to be another file than {name}")


def _same_file(one: str, other: str) -> bool:
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    return os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)


def _verified(law: str) -> Artefact:
    """The artefact, whose guarantee was recomputed from its law: what is promised here holds."""
    from leastnoise.artefact import read_artefact, verify
    from leastnoise.errors import InvalidFileError
    from leastnoise.files.sealed import file_format
    from leastnoise.laws.base import LAW_FILE

    if file_format(law) == LAW_FILE.name:
        raise InvalidFileError(
            f"{law!r} is a law without a guarantee: it states neither a sensitivity nor a number "
            "of uses, and may lack the integer weights that are drawn exactly. Noise is added with "
            "an artefact; write one with: leastnoise design … --out noise.json."
        )
    artefact = read_artefact(law)
    found = verify(law)
    if not found.ok:
        raise InvalidFileError(
            f"{law!r} does not hold what it states: {found.mismatches[0]} See: leastnoise verify."
        )
    return artefact


def _check_scaled(artefact: Artefact, scaled: bool) -> None:
    """A law for answers of unequal ranges or weights is for answers that are divided by scales:
    noise for others would be too little."""
    scales = artefact.problem.get("scales")
    is_plain = scales is None or all(each == 1.0 for each in scales)
    if scaled and is_plain:
        raise refused("--scaled", True, "to be left out: the artefact states no scales")
    if not scaled and not is_plain:
        raise click.UsageError(
            "The answers of this law have scales of their own: divide each answer by its scale in "
            "the artefact's problem, multiply what is printed by it, and say that you do: --scaled."
        )


def _read(
    answers: str, header: bool, columns: Sequence[str], delimiter: str, artefact: Artefact
) -> Answers:
    from leastnoise.cli.answers import read_answers, standard_input

    return read_answers(
        standard_input() if answers == DASH else Path(answers).read_bytes(),
        has_header=header,
        chosen=columns,
        delimiter=delimiter,
        whole_numbers=artefact.noise.domain == "integer",
    )


def _draws(artefact: Artefact, table: Answers) -> int:
    """How many draws serve the table; a joint law serves a line, or as many lines as it has
    answers."""
    from leastnoise.errors import InvalidFileError

    d, lines, width = artefact.noise.dimension, len(table.rows), len(table.columns)
    if d == 1:
        return table.count
    if width == d:
        return lines
    if width == 1 and lines % d == 0:
        return lines // d
    raise InvalidFileError(
        f"One draw of the law serves {d} answers: expected {d} answers in every line, or one a "
        f"line in a multiple of {d} lines; there are {lines} line(s) of {width}. Where there are "
        "fewer answers, fill up with zeros."
    )


def _noisy(artefact: Artefact, table: Answers) -> Draws:
    """The answers with noise, as whole multiples of the unit, one row a draw."""
    import numpy as np

    from leastnoise.sampling import release

    exact = np.empty((len(table.rows), len(table.columns)), dtype=object)
    for at, values in enumerate(table.values):
        exact[at] = values
    d = artefact.noise.dimension
    return release(artefact.noise, exact if d == 1 else exact.reshape(-1, d))


def _table_text(table: Answers, noisy: Draws, delimiter: str) -> str:
    from leastnoise.cli.answers import exact_decimals

    digits = exact_decimals([int(integer) for integer in noisy.integers.ravel()], noisy.unit)
    width = len(table.columns)
    return table.text([digits[at : at + width] for at in range(0, len(digits), width)], delimiter)


def _shown(text: str, out: str | None, as_json: bool) -> str | None:
    """Writes the table where it is wanted. Its cost is spent: what cannot be written to a file is
    printed, and said."""
    try:
        if out is not None or not as_json:
            write_out(out or DASH, text)
        return None
    except BrokenPipeError:
        raise
    except OSError as error:
        if out in (None, DASH):
            raise
        if not as_json:
            echo_text(text)
        return f"{shown(str(out))} could not be written: {error.strerror or error}"


def _numbers(table: Answers, noisy: Draws) -> dict[str, Any]:
    """The numbers as floats (or integers), and exactly: whole multiples of a unit. One list for
    each line of the table."""
    shape = (len(table.rows), len(table.columns))
    integers = noisy.integers.reshape(shape)
    plain = integers if noisy.unit == 1 else noisy.floats().reshape(shape)
    return {
        "noisy": plain.tolist(),
        "unit": str(noisy.unit),
        "integers": [[int(each) for each in row] for row in integers],
    }


def _promise(artefact: Artefact, allowed: AllowedDraws) -> str:
    guarantee, answers = artefact.guarantee, artefact.noise.dimension
    some = ""
    if allowed.touched_of is not None:
        some = f" and changes at most {allowed.touched} of {allowed.blocks} draws"
    holds = f"epsilon = {above(guarantee.epsilon, 6)} at delta = {above(guarantee.delta, 6)}"
    moved = below(guarantee.sensitivity, 6)
    together = f"All {guarantee.compositions} stated use(s) of this law together: {holds}, if"
    held = condition(guarantee.changes, answers)
    if guarantee.changes.ranges_of(answers) is None:  # one answer may move by the whole length
        return f"{together} {held}; the sensitivity is {moved}."
    further = f" Condition: {held}." if held else ""
    return f"{together} one person moves each answer by at most {moved}{some}.{further}"
