"""Pictures of what laws cost: δ(ε), and ε against the number of releases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from leastnoise.changes import Changes
from leastnoise.designer.result import Design
from leastnoise.errors import InvalidParameterError, positive_integer
from leastnoise.plots import style
from leastnoise.plots.drawn_laws import Laws, drawn_laws, releases
from leastnoise.text.numbers import above, counted

_DELTAS = tuple(np.logspace(-12.0, -2.0, 41).tolist())
_MOST_COUNTS = 9


def privacy_curves(
    laws: Laws,
    *,
    compositions: int | None = None,
    sensitivity: float | None = None,
    changes: Changes | None = None,
    delta: float | None = None,
    deltas: Sequence[float] = _DELTAS,
    ax: Any = None,
) -> Any:
    """δ(ε) after all releases.

    Args:
        laws: A Design (drawn with its rivals), a Noise, or several by name.
        compositions: Releases with this noise; by default a design's own, else 1.
        sensitivity: How much one person can move one answer; 1 by default, and left out for a
            Design, which has its own.
        changes: Which vectors of changes one person can make, in sensitivities; any signs by
            default, and left out for a Design, which has its own.
        delta: Marked, with the ε that each law needs there; by default a design's own.
        deltas: The δ at which the curves are computed.
        ax: The axes to draw on; new ones by default.

    Returns:
        The matplotlib axes.

    Raises:
        InvalidParameterError: `laws` is none of these, or `deltas` is empty.
        UnsupportedError: A law cannot be judged for such changes.
        MissingExtraError: matplotlib is not installed.

    Guarantees: every point of a curve is an upper bound.

    Example:
        >>> from leastnoise import gaussian, plots
        >>> ax = plots.Sheet(1, 1, 6.4, 4.4).axes[0]
        >>> _ = plots.privacy_curves(gaussian(8.0), compositions=10, delta=1e-6, ax=ax)
        >>> ax.get_ylabel()
        'δ(ε) after 10 releases'
    """
    style.check_some("deltas", deltas)
    ax = style.axes_or_new(ax)
    n = releases(laws, compositions)
    marked = laws.delta if delta is None and isinstance(laws, Design) else delta
    largest = 0.0
    for law in drawn_laws(laws, sensitivity, changes):
        loss = law.loss(n)
        # By δ, not by ε: the curve of a law of pure differential privacy ends in a vertical drop.
        epsilons = [loss.epsilon(each) for each in deltas]
        largest = max([largest, *filter(math.isfinite, epsilons)])
        label = law.name if marked is None else f"{law.name}: ε = {above(loss.epsilon(marked))}"
        ax.plot(epsilons, list(deltas), label=label, **style.line(law.name))
    if marked is not None:
        ax.axhline(marked, color=style.GREY, lw=0.8)
    after = f"δ(ε) after {counted(n, 'release')}"
    ax.set(xlabel="ε", ylabel=after, yscale="log", ylim=(min(deltas), max(deltas)))
    ax.set_xlim(0.0, 1.05 * largest or 1.0)  # room for the drop, which would lie on the frame
    title = None if marked is None else f"at δ = {style.power_of_ten(marked)}"
    ax.legend(title=title, framealpha=0.9)
    return ax


def epsilon_by_compositions(
    laws: Laws,
    *,
    delta: float | None = None,
    most: int = 100,
    sensitivity: float | None = None,
    changes: Changes | None = None,
    ax: Any = None,
) -> Any:
    """ε after 1, 2, … releases with the same noise.

    Args:
        laws: A Design (drawn with its rivals), a Noise, or several by name.
        delta: Probability with which the guarantee may fail, over all releases; by default a
            design's own.
        most: Releases up to which the curves go.
        sensitivity: How much one person can move one answer; 1 by default, and left out for a
            Design, which has its own.
        changes: Which vectors of changes one person can make, in sensitivities; any signs by
            default, and left out for a Design, which has its own.
        ax: The axes to draw on; new ones by default.

    Returns:
        The matplotlib axes.

    Raises:
        InvalidParameterError: `laws` is none of these, or they are no design and `delta` is left
            out.
        UnsupportedError: A law cannot be judged for such changes.
        MissingExtraError: matplotlib is not installed.

    Guarantees: every point of a curve is an upper bound.

    Example:
        >>> from leastnoise import gaussian, plots
        >>> ax = plots.Sheet(1, 1, 6.4, 4.4).axes[0]
        >>> _ = plots.epsilon_by_compositions(gaussian(8.0), delta=1e-6, most=10, ax=ax)
        >>> ax.get_ylabel()
        'ε at δ = 10⁻⁶'
    """
    counts = release_counts(positive_integer("most", most))
    ax = style.axes_or_new(ax)
    at = laws.delta if delta is None and isinstance(laws, Design) else delta
    if at is None:
        raise InvalidParameterError("delta", delta, "to be given")
    drawn = drawn_laws(laws, sensitivity, changes)
    for law in drawn:
        epsilons = [law.loss(n).epsilon(at) for n in counts]
        label = law.name if math.isfinite(epsilons[0]) else f"{law.name}: infinite"
        ax.plot(counts, epsilons, label=label, **style.marked(law.name))
    at_delta = f"ε at δ = {style.power_of_ten(at)}"
    ax.set(xlabel="releases with this noise", ylabel=at_delta, ylim=(0.0, None))
    ax.set_xlim(0.0, 1.02 * most)
    ax.xaxis.get_major_locator().set_params(integer=True)
    if len(drawn) > 1:
        ax.legend(framealpha=0.9)
    return ax


def release_counts(most: int) -> list[int]:
    """Whole numbers from 1 to `most`, about evenly spread."""
    return sorted({max(1, round(x)) for x in np.linspace(1, most, min(most, _MOST_COUNTS))})
