"""Laws on the real line rounded to whole numbers, for one answer.

Whole answers plus real noise Z, rounded, are whole answers plus ⌊Z + ½⌋: rounding is
post-processing, so this law needs no larger ε for any sensitivity. A lattice law of one answer
becomes a lattice law again, P(k) = P(k − ½ < Z < k + ½), non-increasing if the first one was. It
serves sensitivities of many integers: with bins of a fraction of the sensitivity the programs are
small, where on the integers themselves they would have a bin for each.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq

from leastnoise.cost import Cost
from leastnoise.lattice.shells import Floats
from leastnoise.laws.lattice import LatticeNoise

_FARTHEST = 0.5  # logarithm of the power


def rounded(noise: LatticeNoise, cost: Cost, budget: float) -> LatticeNoise:
    """The rounded law of one answer, brought to the cost `budget` by a power of its probabilities,
    which is nearly 1.

    A law that is flat to its end is the same at every power: where it costs too much, what is too
    much goes to 0 instead.
    """
    log_h = noise.log_pmf(np.arange(noise.last + 1))

    def law(power: float) -> LatticeNoise:
        ratio = None if noise.tail_ratio is None else noise.tail_ratio**power
        weights, tail = _in_integers(power * log_h, ratio, noise.step)
        return LatticeNoise.from_log_weights(weights, tail, domain="integer")

    def excess(log_power: float) -> float:
        return math.log(law(math.exp(log_power)).expected_cost(cost) / budget)

    low, high = -1e-3, 1e-3
    while excess(low) < 0.0 and low > -_FARTHEST:
        low *= 2.0
    while excess(high) > 0.0 and high < _FARTHEST:
        high *= 2.0
    if excess(low) < 0.0 or excess(high) > 0.0:
        return _at_most(law(1.0), cost, budget)
    return law(math.exp(brentq(excess, low, high, xtol=1e-15, rtol=1e-14)))


def _at_most(law: LatticeNoise, cost: Cost, budget: float) -> LatticeNoise:
    """The law, mixed with no noise at all where it costs more than the budget."""
    spent, least = law.expected_cost(cost), cost.of(0.0)
    if spent <= budget:
        return law
    share = (spent - budget) / (spent - least)
    log_h = law.log_pmf(np.arange(law.last + 1)) + math.log1p(-share)
    log_h[0] = np.logaddexp(log_h[0], math.log(share))
    log_h = np.maximum.accumulate(log_h[::-1])[::-1]  # what rises does so by rounding
    return LatticeNoise.from_log_weights(log_h, law.tail_ratio, domain="integer")


def _in_integers(
    log_h: Floats, tail_ratio: float | None, width: float
) -> tuple[Floats, float | None]:
    """log P(k), k = 0, 1, …, up to a constant, of a density with the heights `log_h` on bins of at
    least 1, and its tail."""
    last = log_h.size - 1
    end = (last + 0.5) * width  # where the bins end
    k = np.arange(math.ceil(end + 0.5))
    # the bin that k − ½ is in; k + ½ may be in the next
    first = np.floor((k - 0.5) / width + 0.5).astype(np.int64)
    beyond = np.clip(k + 0.5 - (first + 0.5) * width, 0.0, 1.0)
    slope = -math.inf if tail_ratio is None else math.log(tail_ratio)
    heights = np.append(log_h, log_h[-1] + slope)
    with np.errstate(divide="ignore"):
        here = heights[np.minimum(first, last + 1)] + np.log1p(-beyond)
        there = heights[np.minimum(first + 1, last + 1)] + np.log(beyond)
    # what rises does so by rounding
    log_p = np.maximum.accumulate(np.logaddexp(here, there)[::-1])[::-1]
    return log_p[log_p > -math.inf], None if tail_ratio is None else tail_ratio ** (1.0 / width)
