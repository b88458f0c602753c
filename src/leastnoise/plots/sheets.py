"""Whole pictures, ready to be saved: one for each command that takes --plot."""

from __future__ import annotations

from collections.abc import Sequence

from leastnoise.designer.compare import Row
from leastnoise.designer.design import Design
from leastnoise.digits import above, below
from leastnoise.noise import Noise
from leastnoise.plots import bars, curves, laws, style
from leastnoise.plots.style import Sheet
from leastnoise.releases.run import Release


def design_sheet(best: Design) -> Sheet:
    """A design: its density with the rivals' on both scales, and the ε of each."""
    sheet = Sheet(1, 3, 15.0, 4.6)
    near, far, cost = sheet.axes
    laws.density(best, ax=near)
    laws.density(best, log=True, ax=far)
    own = Row(best.origin, best.epsilon, best.sigma)
    curves.comparison(
        [own, *(Row(name, e, None) for name, e in best.rivals.items() if name != best.origin)],
        ax=cost,
    )
    near.set_title("noise on one answer")
    far.set_title("its tails, logarithmic")
    cost.set_title(f"ε at σ = {best.noise.std:.4g}, δ = {style.power_of_ten(best.delta)}")
    sheet.figure.suptitle(
        f"{best.origin} noise: {curves.use_in_words(best.compositions, best.batch, best.sensitivity)}, "
        f"ε = {above(best.epsilon)} at δ = {style.power_of_ten(best.delta)}"
    )
    return sheet


def compare_sheet(rows: Sequence[Row], *, sigma: float, delta: float) -> Sheet:
    """All mechanisms: ε at equal σ, and σ at equal ε."""
    sheet = Sheet(1, 2, 11.0, 1.6 + 0.36 * len(rows))
    left, right = sheet.axes
    curves.comparison(rows, by="epsilon", ax=left)
    curves.comparison(rows, by="sigma", ax=right)
    left.set_title(f"ε at σ = {sigma:g}, δ = {style.power_of_ten(delta)}")
    right.set_title(
        f"σ needed for ε = {above(rows[0].epsilon_at_sigma)}, δ = {style.power_of_ten(delta)}"
    )
    return sheet


def account_sheet(
    name: str, noise: Noise, *, delta: float, sensitivity: float, draws: int
) -> Sheet:
    """A law that was judged: its privacy curve, ε as releases add up, and the loss of one draw."""
    sheet = Sheet(1, 3, 15.0, 4.4)
    curve, sums, loss = sheet.axes
    title = style.plain(name)
    named = {title: noise}
    curves.privacy_curves(named, compositions=draws, sensitivity=sensitivity, delta=delta, ax=curve)
    curves.epsilon_by_compositions(
        named, delta=delta, most=max(draws, 20), sensitivity=sensitivity, ax=sums
    )
    laws.privacy_loss(named, sensitivity=sensitivity, ax=loss)
    sheet.figure.suptitle(
        f"{title}: standard deviation {noise.std:.4g}, sensitivity {below(sensitivity, 6)}"
    )
    return sheet


def release_sheet(release: Release) -> Sheet:
    """A release: its numbers with error bars."""
    sheet = Sheet(1, 1, 9.0, 1.9 + 0.32 * min(len(release.rows), bars.MOST_ROWS))
    bars.release_bars(release, ax=sheet.axes[0])
    return sheet
