"""The group of commands and what its commands share: errors as sentences, options, JSON."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

try:
    import click
except ImportError:
    raise SystemExit("The command line needs click and rich: pip install 'leastnoise[cli]'") from None


# A group without a command, whose help is the answer; click has a name for it since 8.2.
_HELP_ASKED: Any = getattr(click.exceptions, "NoArgsIsHelpError", ())


class _Sentence(click.ClickException):
    """Shown as one line on standard error, whatever click would make of it; exit code 2."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        click.echo(f"leastnoise: {' '.join(self.format_message().split())}", err=True)


@contextmanager
def _sentences() -> Iterator[None]:
    """Errors of the package, of the operating system and of usage become one sentence; a pipe that ends leaves quietly."""
    try:
        yield
    except _HELP_ASKED:
        raise
    except click.UsageError as error:
        where = f"; see {error.ctx.command_path} --help" if error.ctx is not None else ""
        raise _Sentence(error.format_message().rstrip().removesuffix(".") + where + ".") from None
    except BrokenPipeError:
        raise SystemExit(0) from None
    except OSError as error:
        where = "" if error.filename is None else f": {error.filename}"
        raise _Sentence(f"{error.strerror or error}{where}") from None
    except (ArithmeticError, MemoryError):
        raise _Sentence("The numbers given are out of range.") from None
    except Exception as error:
        from leastnoise.errors import LeastNoiseError

        if isinstance(error, LeastNoiseError):
            raise _Sentence(str(error)) from None
        raise


@contextmanager
def _interrupts() -> Iterator[None]:
    """An interrupt leaves quietly with 130, also out of an import of compiled code, which makes an ImportError of it."""
    interrupted = False

    def interrupt(number: int, frame: Any) -> None:
        nonlocal interrupted
        interrupted = True
        raise KeyboardInterrupt

    # Only where Ctrl-C means what Python makes of it: not in a thread, not where somebody else listens.
    ours = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except Exception:
        if interrupted:
            raise SystemExit(130) from None
        raise
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


class _Commands(click.Group):
    """The commands, with errors as sentences and clean interrupts."""

    def make_context(self, *arguments: Any, **more: Any) -> click.Context:
        with _interrupts(), _sentences():
            return super().make_context(*arguments, **more)

    def invoke(self, ctx: click.Context) -> Any:
        with _interrupts(), _sentences():
            return super().invoke(ctx)


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


def writable(name: str, path: str) -> None:
    """Refused before the work that goes into the file."""
    from leastnoise.errors import InvalidParameterError

    folder = Path(path).parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InvalidParameterError(name, path, "to be in a folder that exists and can be written")


def _checked_output(context: click.Context, option: click.Parameter, path: str | None) -> str | None:
    if path is not None and not context.resilient_parsing:
        writable("--out", path)
    return path


def out_option(help: str) -> Callable[..., Any]:
    return click.option("--out", type=click.Path(dir_okay=False), callback=_checked_output, metavar="FILE", help=help)


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
