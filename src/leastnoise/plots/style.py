"""One look for all pictures: Okabe and Ito's palette, which survives colour blindness, with line
styles that survive print."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from leastnoise.changes import BOX, Changes, Euclidean
from leastnoise.errors import InvalidParameterError
from leastnoise.files.writing import write_whole
from leastnoise.optional import required
from leastnoise.text.numbers import above, below, counted

SUFFIXES = (".png", ".svg", ".pdf")
OURS, PUBLISHED = "our design", "published method (Alg. 3)"
# Colour, dashes (None: a solid line) and marker of every law.
_LOOKS: dict[str, tuple[str, tuple[float, ...] | None, str]] = {
    "Gaussian": ("#0072B2", (6, 2), "s"),
    "Laplace": ("#E69F00", (2, 1.5), "^"),
    "Staircase": ("#CC79A7", (1, 1), "v"),
    "Cactus": ("#009E73", (6, 2, 1, 2), "P"),
    "Schrödinger": ("#999933", (6, 1, 1, 1), "d"),
    PUBLISHED: ("#56B4E9", (4, 1), "."),
    OURS: ("#D55E00", None, "D"),
    "optimised": ("#D55E00", None, "D"),
    "optimised product": ("#D55E00", (5, 1.2), "h"),
    "cube": ("#56B4E9", (8, 1.5, 1, 1.5, 1, 1.5), "X"),
    "sphere": ("#4D4D4D", (3, 1, 1, 1), "o"),
    "cut cube": ("#2F8F9D", (5, 1.5, 1, 1.5), "p"),
    "correlated sphere": ("#8C6D31", (3, 1, 1, 1), "o"),
    "correlated Gaussian": ("#0072B2", (1, 1.2), "s"),
    "lifted cube": ("#882255", (5, 1, 1, 1, 1, 1), "P"),
    "range": ("#7B4EA3", (8, 1.5, 1, 1.5), "X"),
    "count": ("#7B4EA3", (4, 1), "*"),
    "touched": ("#7B4EA3", (2, 1), "h"),
    "blocks": ("#56B4E9", (8, 1.5, 1, 1.5, 1, 1.5), "X"),
    "joint": ("#000000", None, "D"),
}
_UNKNOWN = ("#555555", None, ".")
COLOURS = {name: colour for name, (colour, _, _) in _LOOKS.items()}
_SPELLED = {name.lower(): name for name in _LOOKS}
GREY = "#6B6B6B"
_SIZES: dict[Any, Any] = {"font.size": 10, "legend.fontsize": 8.5, "figure.dpi": 130}
_SIZES |= {"axes.titlesize": 10.5, "axes.labelsize": 10}


def family(name: str) -> str:
    """The name under which a law has its colour: without "discrete", and however the command line
    spells it."""
    plain = name.replace("-", " ").lower().removeprefix("discrete ").strip()
    return _SPELLED.get(plain, name)


def place_in_legend(name: str) -> int:
    """Laws stand in legends as they stand in the palette, unknown ones last."""
    known = list(COLOURS)
    return known.index(family(name)) if family(name) in known else len(known)


def line(name: str) -> dict[str, Any]:
    """Colour, dashes and width of a law's line."""
    known = family(name)
    colour, dashes, _ = _LOOKS.get(known, _UNKNOWN)
    wide = 2.2 if known in (OURS, "optimised") else 1.6
    return {"color": colour, "linestyle": (0, dashes) if dashes else "solid", "lw": wide}


def marked(name: str) -> dict[str, Any]:
    """A law's line with a marker at every point that was computed."""
    return {**line(name), "marker": _LOOKS.get(family(name), _UNKNOWN)[2], "ms": 5}


class Sheet:
    """A figure and its axes, to be drawn on and saved. No global state of matplotlib is left
    changed.

    Args:
        rows: Axes above each other.
        columns: Axes beside each other.
        width: Of the whole, in inches.
        height: Of the whole, in inches.
        options: Further arguments of matplotlib's `Figure.subplots`.

    Attributes:
        figure: The matplotlib figure.
        axes: Its axes, row by row.

    Raises:
        MissingExtraError: matplotlib is not installed.

    Example:
        >>> from leastnoise import gaussian, plots
        >>> sheet = plots.Sheet(1, 2, 10.0, 4.0)
        >>> for ax, log in zip(sheet.axes, (False, True), strict=True):
        ...     _ = plots.density(gaussian(8.0), log=log, ax=ax)
    """

    def __init__(
        self, rows: int, columns: int, width: float, height: float, **options: Any
    ) -> None:
        matplotlib, figure = _matplotlib("matplotlib"), _matplotlib("matplotlib.figure")
        with matplotlib.rc_context(_SIZES):
            self.figure: Any = figure.Figure(figsize=(width, height), layout="constrained")
            made = self.figure.subplots(rows, columns, squeeze=False, **options)
            self.axes: list[Any] = list(made.ravel())
            for axes in self.axes:
                grid(axes)

    def save(self, path: str | PathLike[str]) -> None:
        """Write PNG, SVG or PDF, by the suffix.

        Drawn in memory first: what cannot be drawn leaves no file. The same picture gives the same
        file: there is no date in it.

        Args:
            path: Where to; it ends in .png, .svg or .pdf.

        Raises:
            InvalidParameterError: It ends otherwise.
            OSError: It cannot be written.
        """
        content = io.BytesIO()
        suffix = picture_suffix(path)
        metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix)
        fixed = {**_SIZES, "svg.fonttype": "none", "svg.hashsalt": "leastnoise"}
        with _matplotlib("matplotlib").rc_context(fixed):
            self.figure.savefig(content, format=suffix[1:], dpi=130, metadata=metadata)
        write_whole(path, content.getvalue())


def grid(axes: Any) -> None:
    """A faint grid behind the data."""
    axes.grid(True, alpha=0.25, lw=0.6)
    axes.set_axisbelow(True)


def axes_or_new(ax: Any, width: float = 6.4, height: float = 4.4) -> Any:
    """`ax` as it is, or the axes of a new pyplot figure: `plt.show()` shows it and `plt.close()`
    closes it."""
    if ax is not None:
        return ax
    pyplot = _matplotlib("matplotlib.pyplot")
    with _matplotlib("matplotlib").rc_context(_SIZES):
        _, made = pyplot.subplots(figsize=(width, height), layout="constrained")
    grid(made)
    return made


def picture_suffix(path: str | PathLike[str]) -> str:
    """The suffix of a picture to be written, or an InvalidParameterError."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise InvalidParameterError("picture", str(path), "to end in .png, .svg or .pdf")
    return suffix


def check_picture(path: str | PathLike[str]) -> None:
    """Whether a picture can be written there, asked before the work that goes into it.

    Args:
        path: Where to; it ends in .png, .svg or .pdf.

    Raises:
        InvalidParameterError: It ends otherwise, or is in no folder that can be written.
        MissingExtraError: matplotlib is not installed.

    Example:
        >>> from leastnoise.plots import check_picture
        >>> check_picture("law.png")  # nothing is said where it can
    """
    picture_suffix(path)
    folder = Path(path).parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InvalidParameterError(
            "picture", str(path), "to be in a folder that exists and can be written"
        )
    if Path(path).is_dir():
        raise InvalidParameterError("picture", str(path), "to be a file, not a folder")
    _matplotlib("matplotlib")


def power_of_ten(value: float) -> str:
    """10⁻⁶ and the like for a title; 2e-06 where it is no power of ten."""
    exponent = round(math.log10(value))
    if value != float(f"1e{exponent}"):
        return above(value, 6)
    return "10" + "".join("⁻" if c == "-" else "⁰¹²³⁴⁵⁶⁷⁸⁹"[int(c)] for c in str(exponent))


def use_in_words(compositions: int, batch: int, sensitivity: float) -> str:
    """What noise is used for, in a title."""
    answers = f"{counted(compositions, 'release')} of {counted(batch, 'answer')}"
    return f"{answers}, sensitivity {below(sensitivity, 6)}"


def moved_in_words(changes: Changes) -> str:
    """What one person can change, on a line of its own under a title; nothing for the whole box."""
    if changes == BOX:
        return ""
    if isinstance(changes, Euclidean):
        return f"\none person moves them by at most {below(changes.radius, 6)} sensitivities in all"
    touched = getattr(changes, "touched", None)
    moved = "the answers" if touched is None else f"at most {counted(touched, 'answer')}"
    ways = "all up or all down" if changes.is_one_sided else "up or down"
    return f"\none person moves {moved}, {ways}"


def check_some(name: str, values: Sequence[float]) -> None:
    """A picture of nothing is refused."""
    if len(values) == 0:
        raise InvalidParameterError(name, list(values), "to hold at least one number")


def plain(text: str, most: int = 40) -> str:
    """Text for a label, cut short: matplotlib would take a pair of dollar signs for mathematics."""
    cut = text if len(text) <= most else text[: most - 1] + "…"
    return cut.replace("$", r"\$")


def _matplotlib(module: str) -> Any:
    return required(module, "plots")
