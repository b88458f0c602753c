"""How many levels the trees of counts of a plan have, and with which branchings.

A level more makes the sums shorter that a number of rows below a place is put together from, and
all noise of the plan larger: with k draws that see a person it is σ(k) ≈ min(√2·k/ε, √k/μ), what
Laplace and Gaussian noise need, within 8 % of what is designed. Made small is the sum of log sd
over the trees and everything else that is published. A tree is chosen for the median over all
places, whichever quantiles are asked: where those lie nobody knows. Gains of another tree for them
are below 2 %. All of it is decided by the plan alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from scipy.optimize import brentq
from scipy.special import log_ndtr

from leastnoise.releases.tables.count_trees import CountTree, best_tree

_SWEEPS = 3  # over the trees, each chosen beside the others as they are
_USUAL_DELTA = 1e-6  # of a plan that gets its δ from a ledger
_USUAL_BRANCHING = 16


@dataclass(frozen=True)
class TreeAsked:
    """A tree to be chosen: over so many places; a person is seen in about `uses` draws of each
    level."""

    places: int
    uses: float


def chosen_trees(
    asked: Sequence[TreeAsked], others: Sequence[float], epsilon: float, delta: float | None
) -> list[CountTree]:
    """The trees of a plan, beside answers that see a person in so many draws each."""
    mu = _gaussian_mu(epsilon, _USUAL_DELTA if delta is None else delta)
    published = len(others) + len(asked)
    levels = [max(1, round(math.log(one.places, _USUAL_BRANCHING))) for one in asked]
    found: list[CountTree] = []
    for _ in range(_SWEEPS if len(asked) > 1 else 1):
        found = []
        for i, one in enumerate(asked):
            beside = math.fsum(others) + math.fsum(
                other.uses * levels[j] for j, other in enumerate(asked) if j != i
            )

            def cost(count: int, uses: float = one.uses, beside: float = beside) -> float:
                k = beside + uses * count
                return published * math.log(min(math.sqrt(2.0) * k / epsilon, math.sqrt(k) / mu))

            found.append(best_tree(one.places, cost))
            levels[i] = found[-1].levels
    return found


@lru_cache(maxsize=64)
def _gaussian_mu(epsilon: float, delta: float) -> float:
    """sensitivity/σ of Gaussian noise that costs ε at δ (Balle and Wang 2018, theorem 8), about."""

    def lack(log_mu: float) -> float:
        mu = math.exp(log_mu)
        one = float(log_ndtr(0.5 * mu - epsilon / mu))
        other = epsilon + float(log_ndtr(-0.5 * mu - epsilon / mu))
        return one + math.log1p(-math.exp(min(other - one, -1e-15))) - math.log(delta)

    return math.exp(float(brentq(lack, math.log(1e-6), math.log(1e3), xtol=1e-6)))
