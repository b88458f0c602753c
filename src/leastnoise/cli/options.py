"""Options that several commands have."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import click

from leastnoise.cli.output import DASH, writable


def options(*options: Callable[..., Any]) -> Callable[..., Any]:
    """Several options as one decorator."""

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


class _ExactNumber(click.types.FloatParamType):
    """A positive number as its digits say it: 0.3 is three tenths, and no float below that."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = NUMBER.convert(value, param, ctx)
        if not (math.isfinite(number) and number > 0.0):
            self.fail(f"{value!r} is not a positive number.", param, ctx)
        return value if isinstance(value, Fraction) else Fraction(str(value).strip())


class _PartOfPoint(click.types.FloatParamType):
    """ε or δ of a point of the privacy curve, one of two numbers that an option takes: what is
    wrong says which of them, what it is, and what was expected."""

    def __init__(self, called: str, expected: str, is_fit: Callable[[float], bool]) -> None:
        self.name, self.expected, self.is_fit = called, expected, is_fit

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not (math.isfinite(number) and self.is_fit(number)):
            self.fail(
                f"expected {self.name} {str(value)!r} to be {self.expected}, as in EPSILON DELTA = "
                "0.5 1e-3.",
                param,
                ctx,
            )
        return number


NUMBER = _Number()
EXACT = _ExactNumber()
POINT = (
    _PartOfPoint("EPSILON", "a number of at least 0", lambda epsilon: epsilon >= 0.0),
    _PartOfPoint("DELTA", "a number in (0, 1)", lambda delta: 0.0 < delta < 1.0),
)


def flag(*names: str, help: str) -> Callable[..., Any]:
    """An option that is given or not."""
    return click.option(*names, is_flag=True, help=help)


def number(name: str, help: str, type: Any = NUMBER, **more: Any) -> Callable[..., Any]:
    """An option whose value is a number."""
    return click.option(name, type=type, help=help, **more)


def choice(name: str, values: Sequence[str], help: str) -> Callable[..., Any]:
    """An option whose value is one of `values`, by default the first."""
    kind = click.Choice(values)
    return click.option(name, type=kind, default=values[0], show_default=True, help=help)


def file_option(name: str, help: str, **more: Any) -> Callable[..., Any]:
    """An option whose value is the path of a file."""
    return click.option(name, type=click.Path(dir_okay=False), help=help, **more)


json_option = flag("--json", "as_json", help="Print one JSON object instead of text.")


def _use(
    sensitivity: float | None, count: int | None, otherwise: str = "", *, needs_delta: bool = True
) -> Callable[..., Any]:
    """What the noise is used for; with None for a default, `otherwise` says what holds where
    nothing is given."""
    moved = f"How much one person can move one answer{otherwise}."
    releases = f"How many releases are made with this noise{otherwise}."
    meant = "δ of the guarantee over the whole use; well below 1/people."
    answers = "How many answers one release gives at once."
    counted: dict[str, Any] = {"type": int, "default": count, "show_default": True}
    return options(
        number("--delta", meant, required=needs_delta),
        number("--sensitivity", moved, default=sensitivity, show_default=True),
        number("--compositions", releases, **counted),
        number("--batch", answers, **counted),
    )


use = _use(1.0, 1)
use_of_promises = _use(1.0, 1, needs_delta=False)
use_of_a_law = _use(None, None, "; by default what an artefact states, else 1")
domain = choice("--domain", ["real", "integer"], "What the answers are.")


def out_option(help: str) -> Callable[..., Any]:
    """The option --out of a command that can write to standard output too, where it is `-`."""

    def checked(context: click.Context, option: click.Parameter, path: str | None) -> str | None:
        if path not in (None, DASH) and not context.resilient_parsing:
            writable("--out", str(path))
        return path

    named = f"{help} - is standard output."
    return file_option("--out", named, callback=checked, metavar="FILE")


def _checked_picture(
    context: click.Context, option: click.Parameter, path: str | None
) -> str | None:
    if path is not None and not context.resilient_parsing:
        from leastnoise.plots.style import check_picture

        check_picture(path)
    return path


_PICTURE = "Also draw it: FILE ends in .png, .svg or .pdf (needs leastnoise[plots])."
plot_option = file_option("--plot", _PICTURE, callback=_checked_picture, metavar="FILE")
