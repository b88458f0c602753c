"""Whole figures, ready to be saved: one for each command that takes --plot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leastnoise.changes import BOX, Changes
from leastnoise.designer.compare import ComparedLaw
from leastnoise.designer.result import Design
from leastnoise.laws.base import Noise
from leastnoise.plots import style
from leastnoise.plots.comparisons import comparison
from leastnoise.plots.curves import epsilon_by_compositions, privacy_curves
from leastnoise.plots.intervals import MOST_ROWS, release_bars
from leastnoise.plots.laws import density, privacy_loss
from leastnoise.plots.style import Sheet
from leastnoise.releases.result import Release
from leastnoise.text.numbers import above, below


def design_sheet(best: Design) -> Sheet:
    """A design: its density with the rivals' on both scales, and the ε of each.

    Args:
        best: What `leastnoise.design` returned.

    Returns:
        The picture, to be saved.

    Raises:
        MissingExtraError: matplotlib is not installed.

    Example:
        >>> from leastnoise import design, plots
        >>> sheet = plots.design_sheet(design(delta=1e-6, sigma=8.0))
        >>> len(sheet.axes)
        3
    """
    sheet = Sheet(1, 3, 15.0, 4.6)
    near, far, cost = sheet.axes
    density(best, ax=near)
    density(best, log=True, ax=far)
    others = [(name, epsilon) for name, epsilon in best.rivals.items() if name != best.origin]
    own = ComparedLaw(best.origin, best.epsilon, best.sigma)
    comparison([own, *(ComparedLaw(name, epsilon, None) for name, epsilon in others)], ax=cost)
    delta = style.power_of_ten(best.delta)
    near.set_title("noise on one answer")
    far.set_title("its tails, logarithmic")
    cost.set_title(f"ε at σ = {best.noise.std:.4g}, δ = {delta}")
    use = style.use_in_words(best.compositions, best.batch, best.sensitivity)
    guarantee = f"ε = {above(best.epsilon)} at δ = {delta}"
    held = _condition(best.changes, best.batch)
    sheet.figure.suptitle(f"{best.origin} noise: {use}, {guarantee}{held}")
    return sheet


def _condition(changes: Changes, answers: int) -> str:
    """What the guarantee holds under, on a line of its own; nothing for the whole box."""
    return "" if changes == BOX else f"\nif {changes.condition(answers)}"


def compare_sheet(rows: Sequence[ComparedLaw], *, sigma: float, delta: float) -> Sheet:
    """All mechanisms: ε at equal σ, and σ at equal ε.

    Args:
        rows: What `leastnoise.designer.compare.compare` returned.
        sigma: The standard deviation it was asked for.
        delta: The δ it was asked for.

    Returns:
        The picture, to be saved.

    Raises:
        MissingExtraError: matplotlib is not installed.

    Example:
        >>> from leastnoise import plots
        >>> from leastnoise.designer.compare import compare
        >>> rows = compare(delta=1e-6, sigma=8.0)
        >>> plots.compare_sheet(rows, sigma=8.0, delta=1e-6).axes[0].get_title()
        'ε at σ = 8, δ = 10⁻⁶'
    """
    sheet = Sheet(1, 2, 11.0, 1.6 + 0.36 * len(rows))
    left, right = sheet.axes
    comparison(rows, by="epsilon", ax=left)
    comparison(rows, by="sigma", ax=right)
    at = f"δ = {style.power_of_ten(delta)}"
    left.set_title(f"ε at σ = {sigma:g}, {at}")
    right.set_title(f"σ needed for ε = {above(rows[0].epsilon_at_sigma)}, {at}")
    return sheet


def account_sheet(
    name: str,
    noise: Noise,
    *,
    delta: float,
    sensitivity: float,
    draws: int,
    changes: Changes = BOX,
) -> Sheet:
    """A law that was judged: its privacy curve, ε as releases add up, and the loss of one draw.

    Args:
        name: What the law is called.
        noise: The law.
        delta: Probability with which the guarantee may fail, over all draws.
        sensitivity: How much one person can move one answer, in its units.
        draws: How often the law is drawn.
        changes: Which vectors of changes one person can make, in sensitivities; any signs by
            default.

    Returns:
        The picture, to be saved.

    Raises:
        UnsupportedError: The law cannot be judged for such changes.
        MissingExtraError: matplotlib is not installed.

    Example:
        >>> from leastnoise import gaussian, plots
        >>> use = {"delta": 1e-6, "sensitivity": 1.0, "draws": 10}
        >>> len(plots.account_sheet("gaussian", gaussian(8.0), **use).axes)
        3
    """
    sheet = Sheet(1, 3, 15.0, 4.4)
    curve, sums, loss = sheet.axes
    title = style.plain(name)
    named = {title: noise}
    moves: dict[str, Any] = {"sensitivity": sensitivity, "changes": changes}
    at = {"delta": delta, **moves}
    privacy_curves(named, compositions=draws, ax=curve, **at)
    epsilon_by_compositions(named, most=max(draws, 20), ax=sums, **at)
    privacy_loss(named, **moves, ax=loss)
    moved, held = below(sensitivity, 6), _condition(changes, noise.dimension)
    told = f"{title}: standard deviation {noise.std:.4g}, sensitivity {moved}{held}"
    sheet.figure.suptitle(told)
    return sheet


def release_sheet(release: Release) -> Sheet:
    """A release: its numbers with error bars.

    Args:
        release: What `leastnoise.release` returned.

    Returns:
        The picture, to be saved.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    sheet = Sheet(1, 1, 9.0, 1.9 + 0.32 * min(len(release.rows), MOST_ROWS))
    release_bars(release, ax=sheet.axes[0])
    return sheet
