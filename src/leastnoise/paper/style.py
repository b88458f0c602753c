"""One look for all pictures: Okabe and Ito's palette, which survives colour blindness, with line styles that survive print."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from leastnoise.errors import UnsupportedError

OURS, PUBLISHED = "our design", "published method (Alg. 3)"
COLOURS = {
    "Gaussian": "#0072B2",
    "Laplace": "#E69F00",
    "Staircase": "#CC79A7",
    "Cactus": "#009E73",
    PUBLISHED: "#56B4E9",
    OURS: "#D55E00",
    "joint": "#000000",
}
DASHES: dict[str, Any] = {
    "Gaussian": (0, (6, 2)),
    "Laplace": (0, (2, 1.5)),
    "Staircase": (0, (1, 1)),
    "Cactus": (0, (6, 2, 1, 2)),
    PUBLISHED: (0, (4, 1)),
    OURS: "solid",
    "joint": "solid",
}
_SIZES: dict[Any, Any] = {"font.size": 10, "axes.titlesize": 10.5, "legend.fontsize": 8.5, "axes.labelsize": 10, "figure.dpi": 130}


def family(name: str) -> str:
    """The name without "discrete", under which a rival has its colour."""
    return name.removeprefix("discrete ").strip()


def line(name: str) -> dict[str, Any]:
    """Colour, dashes and width of a law's line."""
    known = family(name)
    return {"color": COLOURS.get(known, "#555555"), "linestyle": DASHES.get(known, "solid"), "lw": 2.2 if known == OURS else 1.6}


class Sheet:
    """A figure and its axes, to be drawn on and saved. No global state of matplotlib is left changed."""

    def __init__(self, rows: int, columns: int, width: float, height: float, **options: Any) -> None:
        try:
            import matplotlib
            from matplotlib.figure import Figure
        except ImportError:
            raise UnsupportedError("Pictures need matplotlib: pip install 'leastnoise[paper]'.") from None
        self._context: Any = matplotlib.rc_context
        with self._context(_SIZES):
            self.figure: Any = Figure(figsize=(width, height), layout="constrained")
            self.axes: list[Any] = list(self.figure.subplots(rows, columns, squeeze=False, **options).ravel())
            for axes in self.axes:
                axes.grid(True, alpha=0.25, lw=0.6)
                axes.set_axisbelow(True)

    def save(self, path: Path) -> None:
        """PNG or SVG, by the suffix."""
        with self._context({**_SIZES, "svg.fonttype": "none"}):
            self.figure.savefig(path, dpi=130)


def power_of_ten(value: float) -> str:
    """10⁻⁶ and the like for a title."""
    exponent = round(math.log10(value))
    return "10" + "".join("⁻" if c == "-" else "⁰¹²³⁴⁵⁶⁷⁸⁹"[int(c)] for c in str(exponent))
