"""The pictures of the README and of the docs: python -m leastnoise.plots docs/images."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from leastnoise.accountant.attacker import gaussian_mu_of
from leastnoise.designer.calibrate import least_sigma
from leastnoise.designer.compare import ComparedLaw
from leastnoise.designer.design import design
from leastnoise.designer.frontier import frontier
from leastnoise.laws.base import Noise
from leastnoise.laws.classic import gaussian, laplace
from leastnoise.laws.sphere import sphere
from leastnoise.plots import (
    batch_comparison,
    comparison,
    density,
    frontier_sheet,
    recognised_members,
)
from leastnoise.plots.style import OURS, Sheet, power_of_ten

SIGMA, DELTA, ANSWERS = 8.0, 1e-6, 10
BATCHES = (1, 2, 5, 10, 15, 20, 30, 40, 50, 60)
POINTS = 12  # of the frontier


def law_and_rivals() -> Sheet:
    """Noise for ten answers one by one: the tails that matter, and what each law costs."""
    best = design(delta=DELTA, sigma=SIGMA, compositions=ANSWERS)
    sheet = Sheet(1, 2, 10.0, 3.9, width_ratios=(1.15, 1.0))
    tails, cost = sheet.axes
    laws = {"Gaussian": gaussian(SIGMA), "Laplace": laplace(SIGMA), OURS: best.noise}
    density(laws, log=True, ax=tails)
    tails.set_title(f"three laws of the same standard deviation, σ = {SIGMA:g}")
    epsilons = {OURS: best.epsilon, **best.rivals}
    comparison([ComparedLaw(name, each, None) for name, each in epsilons.items()], ax=cost)
    cost.set_title(f"ε of ten releases at δ = {power_of_ten(DELTA)}")
    return sheet


def batches() -> Sheet:
    """Answers released together: what one joint draw saves."""
    sheet = Sheet(1, 1, 6.8, 4.2)
    batch_comparison(delta=DELTA, sigma=SIGMA, batches=BATCHES, ax=sheet.axes[0])
    return sheet


def recognised() -> Sheet:
    """Ten answers together at ε = 1: what an attacker can do with three laws of that guarantee."""
    best = design(delta=DELTA, epsilon=1.0, batch=ANSWERS)
    # One Gaussian number with the curve of all ten, and the sphere of the same guarantee.
    laws: dict[str, Noise] = {"Gaussian": gaussian(1.0 / gaussian_mu_of(1.0, DELTA))}
    round_law = partial(sphere, batch=ANSWERS)
    sigma = least_sigma(round_law, 1.0, (1.0, 50.0), sensitivity=1.0, delta=DELTA, draws=1)
    if sigma is not None:
        laws["sphere"] = round_law(sigma)
    sheet = Sheet(1, 1, 6.8, 4.4)
    recognised_members({**laws, OURS: best.noise}, delta=DELTA, ax=sheet.axes[0])
    sheet.axes[0].set_title(f"ten answers together, ε = 1 at δ = {power_of_ten(DELTA)}")
    return sheet


def capped() -> Sheet:
    """Ten answers together at ε = 1: the least noise against a cap on the attacker's advantage."""
    points = frontier(epsilon=1.0, delta=DELTA, batch=ANSWERS, points=POINTS)
    return frontier_sheet(points, epsilon=1.0, delta=DELTA, batch=ANSWERS)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, sheet in (
        ("law-vs-rivals", law_and_rivals()),
        ("batch", batches()),
        ("recognised", recognised()),
        ("frontier", capped()),
    ):
        sheet.save(folder / f"{name}.png")
        sheet.save(folder / f"{name}.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path())
