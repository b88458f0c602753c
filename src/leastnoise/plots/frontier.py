"""The picture of what a cap on the attacker's advantage costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leastnoise.designer.frontier import SINGLE, FrontierPoint
from leastnoise.plots import style

_BOUND = "no noise is below"


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
    for kind in SINGLE:
        having = [point for point in points if kind in point.others]
        if having:
            ax.plot(
                [point.advantage for point in having],
                [point.others[kind] for point in having],
                label=kind,
                **style.marked(kind),
            )
    caps = [point.advantage for point in points]
    ours = [point.sigma for point in points]
    ax.plot(caps, ours, label=style.OURS, **style.marked(style.OURS))
    ax.plot(caps, [point.bound for point in points], label=_BOUND, color=style.GREY, lw=1.0)
    ax.fill_between(caps, [point.bound for point in points], color=style.GREY, alpha=0.12, lw=0)
    ax.set(xlabel="attacker's advantage, at most", ylabel="standard deviation of the noise")
    top = 1.25 * max(point.others.get("Gaussian", point.sigma) for point in points)
    ax.set_ylim(0.0, max(top, 1.05 * max(ours)))
    ax.legend(framealpha=0.9, loc="upper right")
    return ax


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
    releases = f"{style.counted(compositions, 'release')} of {style.counted(batch, 'answer')}"
    promise = f"ε = {epsilon:g} at δ = {style.power_of_ten(delta)}"
    sheet.axes[0].set_title(f"{promise}, {releases}", wrap=True)
    return sheet
