"""The group of commands and what its commands share: errors as sentences, options, JSON."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

try:
    import click
except ImportError:
    raise SystemExit("The command line needs click and rich: pip install 'leastnoise[cli]'") from None


class _Commands(click.Group):
    """Errors of the package become one sentence and exit code 2; an interrupt leaves quietly."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise SystemExit(130) from None
        except BrokenPipeError:
            raise SystemExit(0) from None
        except Exception as error:
            from leastnoise.errors import LeastNoiseError

            if isinstance(error, LeastNoiseError):
                click.echo(f"leastnoise: {error}", err=True)
                raise SystemExit(2) from None
            if isinstance(error, OSError):
                click.echo(f"leastnoise: {error.strerror or error}: {error.filename}", err=True)
                raise SystemExit(2) from None
            if isinstance(error, (ArithmeticError, MemoryError)):
                click.echo("leastnoise: The numbers given are out of range.", err=True)
                raise SystemExit(2) from None
            raise


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
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


def options(*options: Callable[..., Any]) -> Callable[..., Any]:
    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
use = options(
    click.option("--delta", type=float, required=True, help="δ of the guarantee over the whole use; well below 1/people."),
    click.option("--sensitivity", type=float, default=1.0, show_default=True, help="How much one person can move one answer."),
    click.option("--compositions", type=int, default=1, show_default=True, help="How many releases are made with this noise."),
    click.option("--batch", type=int, default=1, show_default=True, help="How many answers one release gives at once."),
)
domain = click.option(
    "--domain", type=click.Choice(["real", "integer"]), default="real", show_default=True, help="What the answers are."
)


def print_json(value: Mapping[str, Any]) -> None:
    def plain(item: Any) -> Any:
        if isinstance(item, float) and item in (float("inf"), float("-inf")):
            return "inf" if item > 0 else "-inf"
        if isinstance(item, Mapping):
            return {key: plain(entry) for key, entry in item.items()}
        return item

    json.dump(plain(value), sys.stdout, indent=1, allow_nan=False)
    sys.stdout.write("\n")


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
                tasks[stage] = bars.add_task(stage, total=1.0)
            bars.update(tasks[stage], completed=share)

        yield told
