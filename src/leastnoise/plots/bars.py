"""Pictures of numbers with error bars: answers under a law, and a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leastnoise.classic import gaussian
from leastnoise.digits import above
from leastnoise.errors import InvalidParameterError, real_array
from leastnoise.noise import Noise
from leastnoise.plots import style
from leastnoise.releases.estimate import CHECKS, Row
from leastnoise.releases.page import scales
from leastnoise.releases.ratios import CONFIDENCE
from leastnoise.releases.run import Release

MOST_ROWS = 60


def error_bars(
    values: ArrayLike,
    noise: Noise,
    *,
    names: Sequence[str] | None = None,
    confidence: float = 0.95,
    ax: Any = None,
) -> Any:
    """Noisy answers with the interval of their noise: what one draw of `noise` leaves uncertain. Returns the axes."""
    heights = np.atleast_1d(real_array("values", values))
    labels = (
        [str(i + 1) for i in range(heights.size)]
        if names is None
        else [style.plain(str(name)) for name in names]
    )
    if heights.ndim != 1 or len(labels) != heights.size:
        raise InvalidParameterError("names", names, f"to name each of the {heights.size} values")
    half = noise.interval(confidence)
    ax = style.axes_or_new(ax, height=_height(heights.size))
    at = np.arange(heights.size)
    ax.errorbar(
        heights,
        at,
        xerr=half,
        label=f"± {above(half, 3)} from noise alone ({100 * confidence:g} %)",
        **_look(),
    )
    _rows(ax, labels)
    ax.set_xlabel("answer with noise (units of the answer)")
    ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), frameon=False, borderaxespad=0.2)
    return ax


def release_bars(
    release: Release, *, true: Mapping[tuple[str, str], float] | None = None, ax: Any = None
) -> Any:
    """A release: every number with its 95 % interval, and behind it the interval of Gaussian noise with the same guarantee.

    A release of one statistic is drawn in its own units. Several statistics are drawn each on its own scale: a mean between its
    declared bounds, anything else from zero. `true` marks the exact values by (statistic, group): for public data only, it is no
    part of a release. Returns the axes.
    """
    asked = [row for row in release.rows if row.kind not in CHECKS]
    shown = asked[:MOST_ROWS]
    ax = style.axes_or_new(ax, 7.6, _height(len(shown)))
    one = len({row.statistic for row in shown}) == 1
    ranges = scales(release)

    def place(row: Row, value: float) -> float:
        low, high = (0.0, 1.0) if one else ranges[row.statistic]
        return (value - low) / (high - low) * (1.0 if one else 100.0)

    def length(row: Row, value: float) -> float:
        return place(row, row.number + value) - place(row, row.number)

    at = np.arange(len(shown))
    values = [place(row, row.number) for row in shown]
    factor = release.mechanism.gaussian_factor
    known = [row for row in shown if row.value is not None]
    wide = [
        length(row, gaussian(factor * row.noise_std).interval(CONFIDENCE)) if row in known else 0.0
        for row in shown
    ]
    ax.barh(
        at, 2.0 * np.array(wide), left=np.array(values) - np.array(wide), height=0.5, color="#D3DEE8", edgecolor="#8FA3B5", lw=0.6,
        label=f"Gaussian noise with the same guarantee, {factor:.3g} times the deviation",
    )  # fmt: skip
    below = [length(row, max(row.number - row.lower, 0.0)) for row in shown]
    above_it = [length(row, max(row.upper - row.number, 0.0)) for row in shown]
    ax.errorbar(
        values, at, xerr=[below, above_it], label="released, ± 95 % from noise alone", **_look()
    )
    if true is not None:
        marked = [
            (place(row, true[row.statistic, row.group]), i)
            for i, row in enumerate(shown)
            if (row.statistic, row.group) in true
        ]
        ax.plot(
            [x for x, _ in marked], [i for _, i in marked], linestyle="none", marker="|", ms=13, mew=1.8, color="#000000", zorder=4,
            label="true value (public data)",
        )  # fmt: skip
    _rows(ax, [_title(row, one) for row in shown])
    # Numbers stand in a column of their own, right of the axes, where no bar can cross them.
    for i, row in enumerate(shown):
        ax.annotate(
            row.in_words(), (1.0, i), xycoords=("axes fraction", "data"), xytext=(6, 0), textcoords="offset points",
            va="center", fontsize=8.5, annotation_clip=False,
        )  # fmt: skip
    if one:
        ax.set_xlabel(f"{shown[0].statistic} (units of the answer)")
    else:
        means = all(row.kind == "mean" for row in shown)
        ax.set_xlabel(
            "place between the declared bounds (%)"
            if means
            else "place on its scale (%): bounds of a mean, others from 0"
        )
    ax.use_sticky_edges = False  # or the outermost bar would touch the frame
    ax.margins(x=0.05)
    left_out = len(asked) - len(shown)
    ax.set_title(
        f"ε = {above(release.epsilon)}, δ = {style.power_of_ten(release.delta)}"
        + (f"; {left_out} more not shown" if left_out else ""),
        loc="right",
    )
    # Below the axis label, whatever the height of the axes: the distance is counted in letters.
    ax.legend(loc="upper center", bbox_to_anchor=(0.45, 0.0), borderaxespad=4.6, frameon=False)
    return ax


def _look() -> dict[str, Any]:
    ours = style.COLOURS[style.OURS]
    return {
        "fmt": "o",
        "color": ours,
        "ecolor": ours,
        "ms": 5,
        "elinewidth": 2.0,
        "capsize": 3.5,
        "zorder": 3,
    }


def _rows(ax: Any, labels: Sequence[str]) -> None:
    """One line a number, the first on top."""
    ax.set_yticks(np.arange(len(labels)), labels)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.grid(False, axis="y")


def _height(count: int) -> float:
    return 1.6 + 0.3 * count


def _title(row: Row, one: bool) -> str:
    if one:
        return style.plain(row.group or row.statistic)
    return style.plain(f"{row.statistic}, {row.group}" if row.group else row.statistic)
