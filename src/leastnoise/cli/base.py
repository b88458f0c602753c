"""The group of commands and what its commands share: errors as sentences, options, JSON."""

from __future__ import annotations

import io
import json
import math
import os
import stat
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from leastnoise.cli.interrupts import interrupts, quiet
from leastnoise.cli.words import printable, sentence
from leastnoise.extras import installing
from leastnoise.texts import shown

# A group without a command, whose help is the answer; click has a name for it since 8.2.
_HELP_ASKED: Any = getattr(click.exceptions, "NoArgsIsHelpError", ())


class _Sentence(click.ClickException):
    """Shown as one line on standard error, whatever click would make of it; exit code 2."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        click.echo(f"leastnoise: {printable(self.format_message())}", err=True)


@contextmanager
def _sentences(command: click.Command) -> Iterator[None]:
    """Every error of a command becomes one sentence; a pipe that ends leaves quietly."""
    try:
        yield
    except _HELP_ASKED:
        raise
    except click.UsageError as error:
        where = f"; see {error.ctx.command_path} --help" if error.ctx is not None else ""
        raise _Sentence(error.format_message().rstrip().removesuffix(".") + where + ".") from None
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except BrokenPipeError:
        raise SystemExit(0) from None
    except Exception as error:
        raise _Sentence(_said(error, command)) from None


def _said(error: Exception, command: click.Command) -> str:
    """The sentence for an error that is not click's."""
    from leastnoise.errors import LeastNoiseError

    if isinstance(error, LeastNoiseError):  # first: some of them are also arithmetic errors
        return sentence(error, command)
    if isinstance(error, OSError):
        return f"{error.strerror or error}" + (
            "" if error.filename is None else f": {error.filename}"
        )
    if (
        isinstance(error, ModuleNotFoundError)
        and error.name is not None
        and not error.name.startswith("leastnoise")
    ):
        return f"This needs {error.name.split('.')[0]}: {installing('cli')}."
    if isinstance(error, (ArithmeticError, MemoryError)):
        return "The numbers given are out of range."
    # A bug of ours. Its message may quote a private value; where it happened may not.
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"An unexpected {type(error).__name__} in line {place.lineno} of {Path(place.filename).name}: please report it."


class _Command(click.Command):
    """A command whose errors are sentences, and which an interrupt ends without a word."""

    def make_context(self, *arguments: Any, **more: Any) -> click.Context:
        with _sentences(self), quiet():
            return super().make_context(*arguments, **more)

    def invoke(self, ctx: click.Context) -> Any:
        with _sentences(self), quiet():
            return super().invoke(ctx)


class _Commands(_Command, click.Group):
    """The same for a group: each of its commands speaks of its own options."""

    command_class = _Command
    group_class = type

    def main(self, *arguments: Any, **more: Any) -> Any:
        with interrupts():
            return super().main(*arguments, **more)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(package_name="leastnoise", prog_name="leastnoise")
def main() -> None:
    """The noise that costs the least accuracy for a given differential-privacy guarantee.

    \b
    leastnoise design --delta 1e-6 --sigma 8 --compositions 10
    leastnoise design --delta 1e-6 --epsilon 1 --batch 10 --out noise.json
    leastnoise verify noise.json

    Shell completion: leastnoise completion bash | zsh | fish prints the script to load.
    """
    # Before numpy is imported: waiting BLAS threads make a design two to four times slower.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # The name of a file need not be text; it is printed as it is.
            stream.reconfigure(errors="surrogateescape")


def options(*options: Callable[..., Any]) -> Callable[..., Any]:
    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


class _Number(click.types.FloatParamType):
    """A number; one that only overflow would make infinite is none."""

    name = "float"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        try:
            number = float(value)
        except ValueError:
            self.fail(f"{value!r} is not a valid float.", param, ctx)
        if math.isinf(number) and "inf" not in str(value).lower():
            self.fail(f"{value!r} is beyond the range of floating-point numbers.", param, ctx)
        return number


NUMBER = _Number()
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object instead of text."
)


def _use(sensitivity: float | None, count: int | None, otherwise: str = "") -> Callable[..., Any]:
    """What the noise is used for; with None for a default, `otherwise` says what holds where
    nothing is given."""
    moved = f"How much one person can move one answer{otherwise}."
    releases = f"How many releases are made with this noise{otherwise}."
    return options(
        click.option(
            "--delta",
            type=NUMBER,
            required=True,
            help="δ of the guarantee over the whole use; well below 1/people.",
        ),
        click.option(
            "--sensitivity", type=NUMBER, default=sensitivity, show_default=True, help=moved
        ),
        click.option("--compositions", type=int, default=count, show_default=True, help=releases),
        click.option(
            "--batch",
            type=int,
            default=count,
            show_default=True,
            help="How many answers one release gives at once.",
        ),
    )


use = _use(1.0, 1)
use_of_a_law = _use(None, None, "; by default what an artefact states, else 1")
domain = click.option(
    "--domain",
    type=click.Choice(["real", "integer"]),
    default="real",
    show_default=True,
    help="What the answers are.",
)


def writable(name: str, path: str) -> None:
    """Refused before the work that goes into the file."""
    from leastnoise.errors import InvalidParameterError

    folder = Path(path).parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InvalidParameterError(name, path, "to be in a folder that exists and can be written")
    try:
        is_there = stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        return
    except OSError as error:  # a name that is too long, a circle of links
        raise InvalidParameterError(
            name, path, f"to be the name of a file: {error.strerror}"
        ) from None
    if not is_there:  # a device would be replaced by a file
        raise InvalidParameterError(name, path, "to be a file, or the name of a new one")


DASH = "-"  # standard input or output, where a file is asked for


def out_option(help: str) -> Callable[..., Any]:
    """The option --out of a command that can write to standard output too, where it is `-`."""

    def checked(context: click.Context, option: click.Parameter, path: str | None) -> str | None:
        if path not in (None, DASH) and not context.resilient_parsing:
            writable("--out", str(path))
        return path

    named = f"{help} - is standard output."
    return click.option(
        "--out", type=click.Path(dir_okay=False), callback=checked, metavar="FILE", help=named
    )


def write_out(out: str, text: str) -> None:
    """The text as a file, whole or not at all, or on standard output."""
    from leastnoise.storage import write_whole

    if out == DASH:
        echo_text(text)
    else:
        write_whole(out, text)


def echo_text(text: str) -> None:
    """The text on standard output: to a pipe as it is, to a terminal so that no cell of a table can repaint it."""
    if sys.stdout.isatty():
        text = "\n".join(
            "\t".join(shown(part) for part in line.split("\t")) for line in text.split("\n")
        )
    click.echo(
        text, nl=False, color=True
    )  # click would take colours out, and with them parts of a cell


def not_both_on_stdout(out: str | None, as_json: bool) -> None:
    """Refused: a file and the answer as JSON, both on standard output."""
    from leastnoise.errors import InvalidParameterError

    if out == DASH and as_json:
        raise InvalidParameterError(
            "--out", out, "to be a file where --json is given: both are for standard output"
        )


def print_json(value: Mapping[str, Any]) -> None:
    def plain(item: Any) -> Any:
        if isinstance(item, float) and item in (float("inf"), float("-inf")):
            return "inf" if item > 0 else "-inf"
        if isinstance(item, Mapping):
            return {key: plain(entry) for key, entry in item.items()}
        if isinstance(item, (list, tuple)):
            return [plain(entry) for entry in item]
        return item

    click.echo(json.dumps(plain(value), indent=1, allow_nan=False))


@contextmanager
def progress_bar() -> Iterator[Callable[[str, float], None]]:
    """A function to be told a stage and its share: a bar on a terminal, nothing in a pipe."""
    if not sys.stderr.isatty():
        yield lambda stage, share: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, Any] = {}

        def told(stage: str, share: float) -> None:
            if stage not in tasks:
                for done in tasks.values():  # a stage ends where the next begins
                    bars.update(done, completed=1.0)
                tasks[stage] = bars.add_task(stage, total=1.0)
            bars.update(tasks[stage], completed=share)

        yield told
