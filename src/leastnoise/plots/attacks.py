"""Pictures of what an attacker can do: members recognised against false alarms."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastnoise.accountant.attacker import per_cent
from leastnoise.changes import Changes
from leastnoise.designer.result import Design
from leastnoise.plots import style
from leastnoise.plots.drawn_laws import Laws, drawn_laws, releases

_LEAST_RATE = 1e-3
_RATES = np.logspace(-3.0, 0.0, 200)


def recognised_members(
    laws: Laws,
    *,
    compositions: int | None = None,
    sensitivity: float | None = None,
    changes: Changes | None = None,
    delta: float | None = None,
    ax: Any = None,
) -> Any:
    """The largest share of members that an attacker can recognise, against false alarms.

    The diagonal is guessing blindly. In the legend: how often the best guess from even odds is
    right.

    Args:
        laws: A Design (drawn with its rivals), a Noise, or several by name.
        compositions: Releases with this noise; by default a design's own, else 1.
        sensitivity: How much one person can move one answer; 1 by default, and left out for a
            Design, which has its own.
        changes: Which vectors of changes one person can make, in sensitivities; any signs by
            default, and left out for a Design, which has its own.
        delta: The smallest δ of interest; by default a design's own, else 1e-9.
        ax: The axes to draw on; new ones by default.

    Returns:
        The matplotlib axes.

    Raises:
        InvalidParameterError: `laws` is none of these.
        UnsupportedError: A law cannot be judged for such changes.
        MissingExtraError: matplotlib is not installed.

    Guarantees: every point of a curve is an upper bound: no attacker does better.

    Example:
        >>> from leastnoise import gaussian, plots
        >>> ax = plots.Sheet(1, 1, 6.4, 4.4).axes[0]
        >>> _ = plots.recognised_members(gaussian(4.2), ax=ax)
        >>> ax.get_xlabel()
        'false alarms'
    """
    ax = style.axes_or_new(ax)
    n = releases(laws, compositions)
    least = laws.delta if delta is None and isinstance(laws, Design) else delta
    ax.plot(_RATES, _RATES, color=style.GREY, lw=0.8)
    for law in drawn_laws(laws, sensitivity, changes):
        curve = law.loss(n).curve(delta=1e-9 if least is None else least, points=200)
        guess = per_cent(0.5 * (1.0 + curve.advantage))
        label = f"{law.name}: right {guess} of the time"
        ax.plot(_RATES, curve.true_positive_rate(_RATES), label=label, **style.line(law.name))
    ax.set(xlabel="false alarms", ylabel="members recognised, at most", xscale="log", yscale="log")
    ax.set(xlim=(_LEAST_RATE, 1.0), ylim=(_LEAST_RATE, 1.0))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(lambda rate, _: f"{100.0 * rate:g} %")
    ax.legend(framealpha=0.9, loc="lower right")
    return ax
