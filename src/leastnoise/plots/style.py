"""One look for all pictures: Okabe and Ito's palette, which survives colour blindness, with line styles that survive print."""

from __future__ import annotations

import io
import math
import os
from os import PathLike
from pathlib import Path
from typing import Any

from leastnoise.digits import above
from leastnoise.errors import InvalidParameterError
from leastnoise.extras import required
from leastnoise.storage import write_whole

SUFFIXES = (".png", ".svg", ".pdf")
OURS, PUBLISHED = "our design", "published method (Alg. 3)"
COLOURS = {
    "Gaussian": "#0072B2",
    "Laplace": "#E69F00",
    "Staircase": "#CC79A7",
    "Cactus": "#009E73",
    PUBLISHED: "#56B4E9",
    OURS: "#D55E00",
    "optimised": "#D55E00",
    "optimised product": "#D55E00",
    "cube": "#56B4E9",
    "sphere": "#4D4D4D",
    "joint": "#000000",
}
DASHES: dict[str, Any] = {
    "Gaussian": (0, (6, 2)),
    "Laplace": (0, (2, 1.5)),
    "Staircase": (0, (1, 1)),
    "Cactus": (0, (6, 2, 1, 2)),
    PUBLISHED: (0, (4, 1)),
    OURS: "solid",
    "optimised": "solid",
    "optimised product": (0, (5, 1.2)),
    "cube": (0, (8, 1.5, 1, 1.5, 1, 1.5)),
    "sphere": (0, (3, 1, 1, 1)),
    "joint": "solid",
}
_SPELLED = {name.lower(): name for name in COLOURS}
MARKERS = {
    **{
        "Gaussian": "s",
        "Laplace": "^",
        "Staircase": "v",
        "Cactus": "P",
        "cube": "X",
        "sphere": "o",
    },
    **{OURS: "D", "optimised": "D", "optimised product": "h", "joint": "D"},
}
GREY = "#6B6B6B"
_SIZES: dict[Any, Any] = {
    "font.size": 10,
    "axes.titlesize": 10.5,
    "legend.fontsize": 8.5,
    "axes.labelsize": 10,
    "figure.dpi": 130,
}


def family(name: str) -> str:
    """The name under which a law has its colour: without "discrete", and however the command line spells it."""
    plain = name.replace("-", " ").lower().removeprefix("discrete ").strip()
    return _SPELLED.get(plain, name)


def line(name: str) -> dict[str, Any]:
    """Colour, dashes and width of a law's line."""
    known = family(name)
    wide = 2.2 if known in (OURS, "optimised") else 1.6
    return {
        "color": COLOURS.get(known, "#555555"),
        "linestyle": DASHES.get(known, "solid"),
        "lw": wide,
    }


def marked(name: str) -> dict[str, Any]:
    """A law's line with a marker at every point that was computed."""
    return {**line(name), "marker": MARKERS.get(family(name), "."), "ms": 5}


class Sheet:
    """A figure and its axes, to be drawn on and saved. No global state of matplotlib is left changed."""

    def __init__(
        self, rows: int, columns: int, width: float, height: float, **options: Any
    ) -> None:
        matplotlib = _matplotlib("matplotlib")
        with matplotlib.rc_context(_SIZES):
            self.figure: Any = _matplotlib("matplotlib.figure").Figure(
                figsize=(width, height), layout="constrained"
            )
            self.axes: list[Any] = list(
                self.figure.subplots(rows, columns, squeeze=False, **options).ravel()
            )
            for axes in self.axes:
                grid(axes)

    def save(self, path: str | PathLike[str]) -> None:
        """PNG, SVG or PDF, by the suffix. Drawn in memory first: what cannot be drawn leaves no file."""
        content = io.BytesIO()
        suffix = picture_suffix(path)
        # No date and fixed names inside: the same picture gives the same file.
        metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix)
        with _matplotlib("matplotlib").rc_context(
            {**_SIZES, "svg.fonttype": "none", "svg.hashsalt": "leastnoise"}
        ):
            self.figure.savefig(content, format=suffix[1:], dpi=130, metadata=metadata)
        write_whole(path, content.getvalue())


def grid(axes: Any) -> None:
    """A faint grid behind the data."""
    axes.grid(True, alpha=0.25, lw=0.6)
    axes.set_axisbelow(True)


def axes_or_new(ax: Any, width: float = 6.4, height: float = 4.4) -> Any:
    """`ax` as it is, or the axes of a new pyplot figure: `plt.show()` shows it and `plt.close()` closes it."""
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
    """Whether a picture can be written there, asked before the work that goes into it."""
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


def plain(text: str, most: int = 40) -> str:
    """Text for a label, cut short: matplotlib would take a pair of dollar signs for mathematics."""
    cut = text if len(text) <= most else text[: most - 1] + "…"
    return cut.replace("$", r"\$")


def _matplotlib(module: str) -> Any:
    return required(module, "plots")
