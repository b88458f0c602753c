"""Pictures: `pip install "leastnoise[plots]"`.

    from leastnoise import design, plots

    best = design(delta=1e-6, sigma=8.0, compositions=10)
    plots.density(best)                           # its law with the rivals', log=True for the tails
    plots.privacy_curves(best)                    # δ(ε) after all releases
    plots.recognised_members(best)                # what an attacker can do with them
    plots.epsilon_by_compositions(best, most=50)
    plots.privacy_loss(best)                      # what one draw may reveal
    plots.sigma_by_epsilon(delta=1e-6, sigmas=[2, 4, 8, 16], compositions=10)
    plots.batch_comparison(delta=1e-6, sigma=8.0)
    plots.frontier_curve(points)                  # of leastnoise.frontier
    plots.comparison(rows)                        # of leastnoise.designer.compare.compare
    plots.error_bars(answers, noise), plots.release_bars(release)

Each takes `ax`, makes one with pyplot if there is none, and returns it. Nothing is computed here
that the package's functions do not return; every ε and δ drawn is an upper bound. `design_sheet`,
`compare_sheet`, `account_sheet`, `frontier_sheet` and `release_sheet` are whole pictures:
`.save(path)` writes PNG, SVG or PDF by the suffix.
"""

from leastnoise.plots.attacks import recognised_members
from leastnoise.plots.comparisons import batch_comparison, comparison, sigma_by_epsilon
from leastnoise.plots.curves import epsilon_by_compositions, privacy_curves
from leastnoise.plots.figures import account_sheet, compare_sheet, design_sheet, release_sheet
from leastnoise.plots.frontier import frontier_curve, frontier_sheet
from leastnoise.plots.intervals import error_bars, release_bars
from leastnoise.plots.laws import density, privacy_loss
from leastnoise.plots.style import Sheet, check_picture

__all__ = [
    "Sheet",
    "account_sheet",
    "batch_comparison",
    "check_picture",
    "compare_sheet",
    "comparison",
    "density",
    "design_sheet",
    "epsilon_by_compositions",
    "error_bars",
    "frontier_curve",
    "frontier_sheet",
    "privacy_curves",
    "privacy_loss",
    "recognised_members",
    "release_bars",
    "release_sheet",
    "sigma_by_epsilon",
]
