"""Pictures of numbers with the intervals of their noise: answers under a law, and a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leastnoise.errors import InvalidParameterError, real_array
from leastnoise.laws.base import Noise
from leastnoise.laws.classic import gaussian
from leastnoise.plots import style
from leastnoise.releases.estimates.row import CHECKS, ReleasedRow
from leastnoise.releases.estimates.trials import CONFIDENCE
from leastnoise.releases.report.html import scales
from leastnoise.releases.result import Release
from leastnoise.text.numbers import above

MOST_ROWS = 60


def error_bars(
    values: ArrayLike,
    noise: Noise,
    *,
    names: Sequence[str] | None = None,
    confidence: float = 0.95,
    ax: Any = None,
) -> Any:
    """Noisy answers with the interval of their noise: what one draw of `noise` leaves uncertain.

    Args:
        values: The answers with noise, in their units.
        noise: The law that was added to each of them.
        names: A name for each answer; by default 1, 2, 3, …
        confidence: Probability with which the interval covers the answer without noise.
        ax: The axes to draw on; new ones by default.

    Returns:
        The matplotlib axes.

    Raises:
        InvalidParameterError: `names` does not name each value, or a value is no number.
        MissingExtraError: matplotlib is not installed.

    Example:
        >>> from leastnoise import gaussian, plots
        >>> sheet = plots.Sheet(1, 1, 6.4, 4.4)
        >>> ax = plots.error_bars([1204.0, 873.0], gaussian(8.0), ax=sheet.axes[0])
        >>> ax.get_legend().get_texts()[0].get_text()
        '± 15.7 from noise alone (95 %)'
    """
    heights = np.atleast_1d(real_array("values", values))
    labels = [str(i + 1) for i in range(heights.size)]
    if names is not None:
        labels = [style.plain(str(name)) for name in names]
    if heights.ndim != 1 or len(labels) != heights.size:
        raise InvalidParameterError("names", names, f"to name each of the {heights.size} values")
    half = noise.interval(confidence)
    ax = style.axes_or_new(ax, height=_height(heights.size))
    label = f"± {above(half, 3)} from noise alone ({100 * confidence:g} %)"
    ax.errorbar(heights, np.arange(heights.size), xerr=half, label=label, **_look())
    _name_lines(ax, labels)
    ax.set_xlabel("answer with noise (units of the answer)")
    ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), frameon=False, borderaxespad=0.2)
    return ax


def release_bars(
    release: Release, *, true: Mapping[tuple[str, str], float] | None = None, ax: Any = None
) -> Any:
    """A release: every number with its 95 % interval, and behind it the interval of Gaussian noise
    with the same guarantee.

    A release of one statistic is drawn in its own units. Several statistics are drawn each on its
    own scale: a mean between its declared bounds, anything else from zero.

    Args:
        release: What `leastnoise.release` returned; at most 60 of its numbers are drawn.
        true: The exact values by (statistic, group), to be marked: for public data only, they are
            no part of a release.
        ax: The axes to draw on; new ones by default.

    Returns:
        The matplotlib axes.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    asked = [row for row in release.rows if row.kind not in CHECKS]
    shown = asked[:MOST_ROWS]
    ax = style.axes_or_new(ax, 7.6, _height(len(shown)))
    is_one = len({row.statistic for row in shown}) == 1
    lines = _Lines(shown, {} if is_one else scales(release))
    _draw_gaussian(ax, lines, release.mechanism.gaussian_factor)
    _draw_released(ax, lines)
    if true is not None:
        _draw_true(ax, lines, true)
    _name_lines(ax, [_title(row, is_one) for row in shown])
    _write_numbers(ax, shown)
    ax.set_xlabel(_x_label(shown, is_one))
    ax.use_sticky_edges = False  # or the outermost bar would touch the frame
    ax.margins(x=0.05)
    left_out = len(asked) - len(shown)
    more = f"; {left_out} more not shown" if left_out else ""
    guarantee = f"ε = {above(release.epsilon)}, δ = {style.power_of_ten(release.delta)}"
    ax.set_title(guarantee + more, loc="right")
    # Below the axis label, whatever the height of the axes: the distance is counted in letters.
    ax.legend(loc="upper center", bbox_to_anchor=(0.45, 0.0), borderaxespad=4.6, frameon=False)
    return ax


@dataclass(frozen=True)
class _Lines:
    """The numbers of a picture, one a line, each on the scale of its statistic in percent; without
    scales, in their own units."""

    rows: Sequence[ReleasedRow]
    scales: Mapping[str, tuple[float, float]]

    def place(self, row: ReleasedRow, value: float) -> float:
        if not self.scales:
            return value
        low, high = self.scales[row.statistic]
        return (value - low) / (high - low) * 100.0

    def length(self, row: ReleasedRow, value: float) -> float:
        return self.place(row, row.number + value) - self.place(row, row.number)

    @property
    def heights(self) -> list[int]:
        return list(range(len(self.rows)))

    @property
    def values(self) -> list[float]:
        return [self.place(row, row.number) for row in self.rows]


def _draw_gaussian(ax: Any, lines: _Lines, factor: float) -> None:
    """What Gaussian noise with the same guarantee would leave uncertain, where a value is known."""

    def reach(row: ReleasedRow) -> float:
        if row.value is None:
            return 0.0
        return lines.length(row, gaussian(factor * row.noise_std).interval(CONFIDENCE))

    half = np.array([reach(row) for row in lines.rows])
    label = f"Gaussian noise with the same guarantee, {factor:.3g} times the deviation"
    look = {"height": 0.5, "color": "#D3DEE8", "edgecolor": "#8FA3B5", "lw": 0.6, "label": label}
    ax.barh(lines.heights, 2.0 * half, left=np.array(lines.values) - half, **look)


def _draw_released(ax: Any, lines: _Lines) -> None:
    left = [lines.length(row, max(row.number - row.lower, 0.0)) for row in lines.rows]
    right = [lines.length(row, max(row.upper - row.number, 0.0)) for row in lines.rows]
    label = "released, ± 95 % from noise alone"
    ax.errorbar(lines.values, lines.heights, xerr=[left, right], label=label, **_look())


def _draw_true(ax: Any, lines: _Lines, true: Mapping[tuple[str, str], float]) -> None:
    places, heights = [], []
    for height, row in enumerate(lines.rows):
        value = true.get((row.statistic, row.group))
        if value is not None:
            places.append(lines.place(row, value))
            heights.append(height)
    look = {"linestyle": "none", "marker": "|", "ms": 13, "mew": 1.8, "color": "#000000"}
    ax.plot(places, heights, zorder=4, label="true value (public data)", **look)


def _write_numbers(ax: Any, rows: Sequence[ReleasedRow]) -> None:
    """In a column of their own, right of the axes, where no bar can cross them."""
    place = {"xycoords": ("axes fraction", "data"), "xytext": (6, 0), "textcoords": "offset points"}
    look = {"va": "center", "fontsize": 8.5, "annotation_clip": False}
    for height, row in enumerate(rows):
        ax.annotate(row.in_words(), (1.0, height), **place, **look)


def _x_label(rows: Sequence[ReleasedRow], is_one: bool) -> str:
    if is_one:
        return f"{rows[0].statistic} (units of the answer)"
    if all(row.kind in ("mean", "quantile") for row in rows):
        return "place between the declared bounds (%)"
    return "place on its scale (%): bounds of a mean or quantile, others from 0"


def _look() -> dict[str, Any]:
    ours = style.COLOURS[style.OURS]
    line = {"color": ours, "ecolor": ours, "elinewidth": 2.0}
    return {**line, "fmt": "o", "ms": 5, "capsize": 3.5, "zorder": 3}


def _name_lines(ax: Any, labels: Sequence[str]) -> None:
    """One line a number, the first on top."""
    ax.set_yticks(np.arange(len(labels)), labels)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.grid(False, axis="y")


def _height(count: int) -> float:
    return 1.6 + 0.3 * count


def _title(row: ReleasedRow, is_one: bool) -> str:
    if is_one:
        return style.plain(row.group or row.statistic)
    return style.plain(f"{row.statistic}, {row.group}" if row.group else row.statistic)
