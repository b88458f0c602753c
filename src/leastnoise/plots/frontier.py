"""The picture of what a cap on the attacker's advantage costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from leastnoise.designer.frontier import SINGLE, FrontierPoint
from leastnoise.plots import style
from leastnoise.text.numbers import counted

_BOUND = "no noise is below"
_WIDE = 5.0  # inches
_ROOM = 1.5  # of the highest line, for the legend above it


def frontier_curve(points: Sequence[FrontierPoint], *, ax: Any = None) -> Any:
    """The least standard deviation against the cap on the advantage, with what single kinds of
    noise need and the bound for any noise.

    Args:
        points: What `leastnoise.frontier` gives.
        ax: The axes to draw on; new ones by default.

    Returns:
        The matplotlib axes.

    Raises:
        InvalidParameterError: There are no points.
        MissingExtraError: matplotlib is not installed.

    Example:
        >>> from leastnoise import frontier, plots
        >>> points = frontier(epsilon=1.0, delta=1e-6, advantages=[0.4, 0.2])
        >>> ax = plots.Sheet(1, 1, 6.4, 4.4).axes[0]
        >>> plots.frontier_curve(points, ax=ax).get_xlabel()
        "attacker's advantage, at most"
    """
    style.check_some("points", [point.advantage for point in points])
    ax = style.axes_or_new(ax)
    rising = sorted(points, key=lambda point: point.advantage)
    for kind in SINGLE:
        having = [point for point in rising if kind in point.others]
        if having:
            _steps(ax, kind, having, [point.others[kind] for point in having])
    _steps(ax, style.OURS, rising, [point.sigma for point in rising])
    caps, bounds = _bound(rising)
    ax.step(caps, bounds, where="post", label=_BOUND, color=style.GREY, lw=1.0)
    ax.fill_between(caps, bounds, step="post", color=style.GREY, alpha=0.15, lw=0)
    ax.set(xlabel="attacker's advantage, at most", ylabel="standard deviation of the noise")
    highest = max(point.others.get("Gaussian", point.sigma) for point in points)
    ax.set_ylim(0.0, _ROOM * max(highest, *(point.sigma for point in points)))
    ax.legend(framealpha=0.9, loc="upper right", ncols=_columns(ax))
    return ax


def _columns(ax: Any) -> int:
    """Of the legend: one on a narrow picture."""
    return 2 if ax.figure.get_figwidth() >= _WIDE else 1


def _steps(ax: Any, name: str, rising: Sequence[FrontierPoint], sigmas: Sequence[float]) -> None:
    """What keeps a cap keeps every larger one: between two caps stands what the smaller needs."""
    caps = [point.advantage for point in rising]
    ax.step(caps, sigmas, where="post", label=name, **style.marked(name))


def _bound(rising: Sequence[FrontierPoint]) -> tuple[list[float], list[float]]:
    """The bound from the smallest cap to the largest: it falls where 1 over the cap passes a whole
    number, and is that of a point but for its √(N² − 1)."""
    least, most = rising[0].advantage, rising[-1].advantage
    first = rising[0]
    whole = range(math.floor(1.0 / least), 1, -1)
    caps = [least, *(1.0 / count for count in whole if least < 1.0 / count < most), most]
    unit = first.bound / math.sqrt(max(math.floor((1.0 + 1e-12) / least) ** 2 - 1.0, 1e-300))
    found = [unit * math.sqrt(max(_whole_below(cap) ** 2 - 1.0, 0.0)) for cap in caps]
    return caps, found


def _whole_below(cap: float) -> int:
    """The N whose 1/N is just below the caps from here to the next: at 1/N itself N − 1."""
    return math.ceil((1.0 - 1e-12) / cap) - 1


def frontier_sheet(
    points: Sequence[FrontierPoint],
    *,
    epsilon: float,
    delta: float,
    batch: int = 1,
    compositions: int = 1,
) -> style.Sheet:
    """The frontier as a whole picture.

    Args:
        points: What `leastnoise.frontier` gives.
        epsilon: ε that it is for.
        delta: δ that it is for.
        batch: Answers a release.
        compositions: Releases.

    Returns:
        The picture, to be saved.

    Raises:
        InvalidParameterError: There are no points.
        MissingExtraError: matplotlib is not installed.
    """
    sheet = style.Sheet(1, 1, 6.8, 4.4)
    frontier_curve(points, ax=sheet.axes[0])
    releases = f"{counted(compositions, 'release')} of {counted(batch, 'answer')}"
    promise = f"ε = {epsilon:g} at δ = {style.power_of_ten(delta)}"
    sheet.axes[0].set_title(f"{promise}, {releases}", wrap=True)
    return sheet
