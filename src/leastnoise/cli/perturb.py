"""The command that adds noise to answers: for whoever computes them elsewhere, in any language.

The order cannot leak: everything is read and checked, the noise is drawn, the ledger commits the
cost or refuses it, and only then does a number leave the process.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leastnoise.cli.base import (
    DASH,
    echo_text,
    json_option,
    main,
    not_both_on_stdout,
    out_option,
    print_json,
    write_out,
)
from leastnoise.cli.releases import (
    charged,
    existing_ledger,
    less_than_stated,
    said_when_interrupted,
    stated_unit,
    unit_caution,
    unit_options,
)
from leastnoise.digits import above, below
from leastnoise.texts import shown

if TYPE_CHECKING:
    from leastnoise.artefact import Artefact, Guarantee
    from leastnoise.cli.answers import Answers
    from leastnoise.sampling import Draws


@main.command()
@click.argument("law", type=click.Path(dir_okay=False))
@click.argument("answers", type=click.Path(dir_okay=False), default=DASH)
@click.option("--header", is_flag=True, help="The first line names the columns.")
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="NAME",
    help="A column of answers, by name (with --header) or number; may be repeated. Other columns pass as they are. [default: all]",
)
@click.option(
    "--delimiter", default=",", show_default=True, help="What stands between two columns."
)
@click.option(
    "--touched",
    type=click.IntRange(min=1),
    help="For a law designed with --touched: of the draws of one batch a person changes at most so many. Nothing but you says so.",
)
@click.option(
    "--ledger",
    type=click.Path(dir_okay=False),
    help="The ledger that the cost is written to before anything is shown.",
)
@click.option("--dataset", help="With --ledger: the data set whose budget pays.")
@click.option(
    "--plan", help="With --ledger: what is released, to be found again. [default: perturb]"
)
@click.option("--note", help="With --ledger: anything to remember.")
@unit_options
@click.option(
    "--last",
    is_flag=True,
    help="With --ledger: also where nothing could be released from the data set after it.",
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
    ledger: str | None,
    dataset: str | None,
    plan: str | None,
    note: str | None,
    relation: str | None,
    person: str | None,
    one_row_per_person: bool,
    person_is: str | None,
    last: bool,
    less_than_stated: bool,
    out: str | None,
    as_json: bool,
) -> None:
    """Add noise to answers, exactly as they are judged: rounded to the lattice of the noise, then
    added in whole numbers.

    LAW is an artefact. ANSWERS is a file, or - for standard input: one answer a line, or CSV. 0.1
    is one tenth, not the nearest floating-point number; for a law on the integers the answers are
    whole. Every answer is one use of the law, and there may be no more of them than the artefact
    states; a joint law takes as many answers a draw as it has, in one line or one a line. A law that
    was designed with --touched serves more answers than it states uses, if you say --touched too.

    What is printed are multiples of one unit that does not depend on the answers, with all their
    digits (where these never end, rounded far below the unit; --json has them as whole numbers).
    With --ledger the cost is written down first: the uses and the sensitivity that the artefact
    states; --relation, --person and --person-is say whom it protects, as a plan does. Bad input is
    refused before anything is drawn or spent, by line and column, without showing it.

    \b
      leastnoise perturb noise.json answers.txt
      leastnoise perturb noise.json table.csv --header --column count --ledger budget.ledger --dataset patients --out noisy.csv
    """
    from leastnoise.releases.ledger import Ledger, Spend

    not_both_on_stdout(out, as_json)
    _check_delimiter(delimiter)
    flags = {"--last": last or None, "--less-than-stated": less_than_stated or None}
    flags |= {"--one-row-per-person": one_row_per_person or None}
    who = {"--relation": relation, "--person": person, "--person-is": person_is}
    _check_ledger(ledger, {"--dataset": dataset, "--plan": plan, "--note": note, **who, **flags})
    unit = stated_unit(relation, person, one_row_per_person, person_is)
    _check_inputs_stay(out, {"LAW": law, "ANSWERS": answers, "--ledger": ledger})
    artefact = _verified(law)
    table = _read(answers, header, columns, delimiter, artefact)
    draws = _draws(artefact, table)
    use = _Use.of(artefact, touched)
    use.check(draws)
    only_these = use.charge(draws) if less_than_stated else None
    sensitivity, uses, stamp = charged(artefact.guarantee, None, only_these, less_than_stated)
    stamp = "; ".join(part for part in (stamp, use.condition) if part)
    with (
        Ledger(ledger) if ledger is not None else nullcontext() as book,
        said_when_interrupted(book),
    ):
        noisy = _noisy(artefact, table)
        text = _table_text(table, noisy, delimiter)
        entry, caution = None, ""
        if book is not None:
            spends = [Spend(artefact.noise, sensitivity, uses)]
            named = "perturb" if plan is None else plan
            caution = unit_caution(book.dataset(dataset or ""), unit)
            entry = book.spend(
                dataset or "",
                spends,
                plan_hash=named,
                note=note or "",
                stamp=stamp,
                **unit,
                last=last,
            )
        problem = _shown(text, out, as_json)
        if as_json:
            used = {
                "answers": table.count,
                "draws": draws,
                "touched": use.touched_of,
                "written": out,
            }
            used |= {
                "charged_uses": None if entry is None else uses,
                "ledger_entry": None if entry is None else entry.id,
            }
            used |= {"caution": caution or None}
            print_json({"law": law, **vars(artefact.guarantee), **used, **_numbers(table, noisy)})
        if book is not None and entry is not None:
            book.release_done(entry.id, hashlib.sha256(text.encode("utf-8")).hexdigest())
    if problem is not None:
        click.echo(
            f"leastnoise: The noise was added and the numbers are above, but {problem}", err=True
        )
        raise SystemExit(2)
    if not as_json:
        click.echo(
            f"leastnoise: {table.count} answer(s) in {draws} draw(s). {_promise(artefact.guarantee, use)}",
            err=True,
        )
        recorded = "Nothing adds up what several runs cost: see --ledger."
        if entry is not None:
            recorded = f"Recorded as release {entry.id}: {uses} use(s)" + (
                f" ({stamp})." if stamp else "."
            )
        click.echo(f"leastnoise: {recorded}", err=True)
        if caution:
            click.echo(caution, err=True)


def _check_delimiter(delimiter: str) -> None:
    from leastnoise.errors import InvalidParameterError

    if len(delimiter) != 1 or delimiter.isalnum() or delimiter in '"\r\n+-.':
        raise InvalidParameterError("--delimiter", delimiter, "to be one character, such as , or ;")


def _check_ledger(ledger: str | None, with_it: Mapping[str, Any]) -> None:
    """A ledger comes with a data set; without one, nothing that is meant for it is ignored."""
    from leastnoise.errors import InvalidParameterError

    if ledger is not None:
        if with_it["--dataset"] is None:
            raise InvalidParameterError(
                "--ledger", ledger, "to come with --dataset, whose budget pays"
            )
        existing_ledger("--ledger", ledger)
        return
    for name, value in with_it.items():
        if value is not None:
            raise InvalidParameterError(name, value, "to come with --ledger")


def _check_inputs_stay(out: str | None, inputs: Mapping[str, str | None]) -> None:
    from leastnoise.errors import InvalidParameterError

    for name, path in inputs.items():
        if out not in (None, DASH) and path not in (None, DASH) and _same_file(str(out), str(path)):
            raise InvalidParameterError("--out", out, f"to be another file than {name}")


def _same_file(one: str, other: str) -> bool:
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    return os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)


def _verified(law: str) -> Artefact:
    """The artefact, whose guarantee was recomputed from its law: what is promised here holds."""
    from leastnoise.artefact import read_artefact, verify
    from leastnoise.errors import InvalidFileError
    from leastnoise.storage import FORMAT as LAW_FORMAT
    from leastnoise.storage import file_format

    if file_format(law) == LAW_FORMAT:
        raise InvalidFileError(
            f"{law!r} is a law without a guarantee: it states neither a sensitivity nor a number of uses, and may lack the integer "
            "weights that are drawn exactly. Noise is added with an artefact; write one with: leastnoise design … --out noise.json."
        )
    artefact = read_artefact(law)
    found = verify(law)
    if not found.ok:
        raise InvalidFileError(
            f"{law!r} does not hold what it states: {found.mismatches[0]} See: leastnoise verify."
        )
    return artefact


def _read(
    answers: str, header: bool, columns: Sequence[str], delimiter: str, artefact: Artefact
) -> Answers:
    from leastnoise.cli.answers import read_answers

    return read_answers(
        _standard_input() if answers == DASH else Path(answers).read_bytes(),
        has_header=header,
        chosen=columns,
        delimiter=delimiter,
        whole_numbers=artefact.noise.domain == "integer",
    )


def _standard_input() -> bytes:
    return b"" if sys.stdin is None else sys.stdin.buffer.read()


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
        f"One draw of the law serves {d} answers: expected {d} answers in every line, or one a line in a multiple of {d} lines; "
        f"there are {lines} line(s) of {width}. Where there are fewer answers, fill up with zeros."
    )


@dataclass(frozen=True)
class _Use:
    """What an artefact may be used for: `draws` in all, of which one person can change at most
    `touched` in every `blocks`. `unsaid` is what else could be said, and is not."""

    stated: int
    draws: int
    blocks: int
    touched: int
    unsaid: str = ""

    @staticmethod
    def of(artefact: Artefact, touched: int | None) -> _Use:
        """As many draws as uses are stated. A design for a batch of which one person changes only some answers states the uses
        that one person can change, and is for more draws than that. How many, its account of the problem says, which no
        certificate covers: whoever releases says so too, or there are no more draws than uses."""
        from leastnoise.errors import InvalidParameterError

        stated, told = artefact.guarantee.compositions, _Use._told(artefact)
        if touched is None:
            more = (
                ""
                if told is None
                else f" Or add --touched {told.touched}, if one person changes no more of {told.blocks} draws."
            )
            return _Use(stated, stated, 1, 1, more)
        if told is None:
            raise InvalidParameterError(
                "--touched", touched, "to be left out: the artefact is not designed with it"
            )
        if touched != told.touched:
            raise InvalidParameterError(
                "--touched", touched, f"to be {told.touched}, which the artefact is designed for"
            )
        return told

    @staticmethod
    def _told(artefact: Artefact) -> _Use | None:
        stated, problem = artefact.guarantee.compositions, artefact.problem
        batch, touched, releases = (
            problem.get(name) for name in ("batch", "touched", "compositions")
        )
        if isinstance(batch, int) and isinstance(touched, int) and isinstance(releases, int):
            blocks = -(-batch // artefact.noise.dimension)
            if 0 < touched < blocks and releases * touched == stated:
                return _Use(stated, releases * blocks, blocks, touched)
        return None

    @property
    def condition(self) -> str:
        """What the ledger keeps of it."""
        return (
            ""
            if self.touched_of is None
            else f"a person changes at most {self.touched} of {self.blocks} draws"
        )

    @property
    def touched_of(self) -> list[int] | None:
        """[touched, blocks] where one person can change only some of the draws."""
        return [self.touched, self.blocks] if self.touched < self.blocks else None

    def check(self, draws: int) -> None:
        from leastnoise.errors import InvalidFileError

        if draws > self.draws:
            raise InvalidFileError(
                f"The artefact is for {self.draws} draw(s), and the answers need {draws}: design one for as many, with "
                f"--compositions or --batch.{self.unsaid}"
            )

    def charge(self, draws: int) -> int:
        """How many uses these draws are."""
        return min(-(-draws // self.blocks) * self.touched, draws, self.stated)


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


def _promise(guarantee: Guarantee, use: _Use) -> str:
    some = (
        ""
        if use.touched_of is None
        else f" and changes at most {use.touched} of {use.blocks} draws"
    )
    return (
        f"All {guarantee.compositions} stated use(s) of this law together: epsilon = {above(guarantee.epsilon, 6)} at "
        f"delta = {above(guarantee.delta, 6)}, if one person moves each answer by at most {below(guarantee.sensitivity, 6)}{some}."
    )
