"""The group of all commands: whatever goes wrong in one of them is told in one sentence."""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from leastnoise.cli.interrupts import interrupts, quiet
from leastnoise.cli.messages import printable, sentence
from leastnoise.optional import installing

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
        where = "" if error.filename is None else f": {error.filename}"
        return f"{error.strerror or error}{where}"
    missing = (error.name or "").split(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    if missing not in ("", "leastnoise"):
        return f"This needs {missing}: {installing('cli')}."
    if isinstance(error, (ArithmeticError, MemoryError)):
        return "The numbers given are out of range."
    # A bug of ours. Its message may quote a private value; where it happened may not.
    place = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"An unexpected {type(error).__name__} in line {place.lineno} of "
        f"{Path(place.filename).name}: please report it."
    )


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
