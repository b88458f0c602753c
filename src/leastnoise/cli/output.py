"""Where results go: standard output or a file, text or JSON, and a bar on a terminal meanwhile."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from leastnoise.cli.messages import refused
from leastnoise.files.infinity import infinity_as_text
from leastnoise.text.characters import shown

DASH = "-"  # standard input or output, where a file is asked for


def writable(name: str, path: str) -> None:
    """Refused before the work that goes into the file."""
    folder = Path(path).parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise refused(name, path, "to be in a folder that exists and can be written")
    try:
        is_there = stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        return
    except OSError as error:  # a name that is too long, a circle of links
        raise refused(name, path, f"to be the name of a file: {error.strerror}") from None
    if not is_there:  # a device would be replaced by a file
        raise refused(name, path, "to be a file, or the name of a new one")


def write_out(out: str, text: str) -> None:
    """The text as a file, whole or not at all, or on standard output."""
    from leastnoise.files.writing import write_whole

    if out == DASH:
        echo_text(text)
    else:
        write_whole(out, text)


def echo_text(text: str) -> None:
    """The text on standard output: to a pipe as it is, to a terminal so that no cell of a table can
    repaint it."""
    if sys.stdout.isatty():
        text = "\n".join(
            "\t".join(shown(part) for part in line.split("\t")) for line in text.split("\n")
        )
    # click would take colours out, and with them parts of a cell
    click.echo(text, nl=False, color=True)


def not_both_on_stdout(out: str | None, as_json: bool) -> None:
    """Refused: a file and the answer as JSON, both on standard output."""
    if out == DASH and as_json:
        raise refused(
            "--out", out, "to be a file where --json is given: both are for standard output"
        )


def drawn(plot: str | None) -> dict[str, str]:
    """What --json says of a picture that was drawn."""
    return {} if plot is None else {"plot": plot}


def print_json(value: Mapping[str, Any]) -> None:
    """One JSON object on standard output; infinities as text."""
    click.echo(json.dumps(infinity_as_text(value), indent=1, allow_nan=False))


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
