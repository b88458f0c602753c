"""Keys that are not known beforehand: the noise that decides which of them are shown.

Every text that a column could hold has a group, and a number of persons in it. Each number gets a
draw of one law on the whole numbers −N … N, and is shown with its key if it reaches T = N + 1.
A group without persons cannot reach that. So what is shown follows from noisy numbers of all texts,
of which one person changes g by 1 (with replace 2g): it costs g draws of the law and no more, and
that N is finite is a part of the law that the judge sees: what only one of two neighbouring tables
can show has a probability of h_N a draw (docs/mathematics.md#keys-that-are-not-known).

The law is the geometric one at rate ε/g, cut at the least N for which 1 − (1 − h_N)^g ≤ δ. For
g = 1 no other way shows a group of a given size more often, up to one person (Desfontaines, Voss,
Gipson and Mandayam 2022). Beside it what else is asked has a part of ε in proportion to its draws.

A number that is shown is one that was large enough, so near T it is too high more often than too
low. Its interval is that of all sizes c for which a number as high, or as low, given that it is
shown, is no surprise:

    Pr(c + Z ≥ y | c + Z ≥ T) > (1 − p)/2   and   Pr(c + Z ≤ y | c + Z ≥ T) > (1 − p)/2

which covers the size of a group that is shown with probability p at least, whatever it is.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import cast

import numpy as np

from leastnoise.errors import DesignError
from leastnoise.lattice.shells import Floats
from leastnoise.laws.base import Noise
from leastnoise.laws.lattice import LatticeNoise
from leastnoise.releases.noise.layout import NoiseLayout
from leastnoise.releases.noise.search import DesignedLaw

_MOST = 1 << 20  # places of the law on either side
_OF_DELTA = 0.5  # the part that the law of the keys has where others need some too
_ALONE = 0.99  # of δ, where there are none: the rest is for rounding, and for the checks
_SPARE = 1e-4  # of its part of ε for the rounding to whole weights


def with_keys_paid(
    layout: NoiseLayout, epsilon: float, delta: float, cap: float | None
) -> NoiseLayout:
    """The layout with the part of the budget that finding keys has: in proportion to its draws,
    beside what is asked for otherwise, each at the noise of its weight."""
    if not layout.finding:
        return layout
    left, left_delta = layout.left_for_answers(epsilon, delta)
    own = layout.finding_uses * max(layout.finding_weights)
    others = fixed = 0.0
    for spec in layout.specs:
        size = spec.uses * math.sqrt(spec.batch)
        if spec.fixed is None:
            others += size / spec.factor
        else:
            fixed += math.sqrt(2.0) * size / spec.fixed
    part = own / (own + others)
    paid = part * max(left - fixed, 0.1 * left) * (1.0 - _SPARE)
    if cap is not None:
        paid = min(paid, 2.0 * math.atanh(0.95 * part * (layout.left_of_cap(epsilon, cap) or cap)))
    share = _OF_DELTA if layout.specs else _ALONE
    return replace(layout, finding_epsilon=paid, finding_delta=share * left_delta)


def law_of_keys(layout: NoiseLayout) -> tuple[DesignedLaw, ...]:
    """The law of the numbers that decide which keys are shown, where there are such."""
    if not layout.finding:
        return ()
    uses, delta = layout.finding_uses, layout.finding_delta
    noise = cut_geometric(layout.finding_epsilon, delta, uses)
    return (DesignedLaw(noise, uses, "cut geometric", delta),)


def cut_geometric(epsilon: float, delta: float, uses: int) -> LatticeNoise:
    """h_k ∝ e^(−|k|ε/uses) up to the least N with 1 − (1 − h_N)^uses ≤ δ."""
    rate = epsilon / uses
    log_most = math.log(-math.expm1(math.log1p(-delta) / uses))
    low, high = 0, 1
    while _log_last(rate, high) > log_most:
        low, high = high, 2 * high
        if high > _MOST:
            raise DesignError(
                f"Keys that are found with epsilon = {epsilon:.3g} over {uses} draws would need "
                f"more than {_MOST:,} persons each: declare a larger epsilon, or a smaller "
                "groups_per_person."
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _log_last(rate, middle) > log_most else (low, middle)
    return LatticeNoise.from_log_weights(-rate * np.arange(high + 1), None, domain="integer")


def _log_last(rate: float, last: int) -> float:
    """ln h_N of the law that is cut at N."""
    q = math.exp(-rate)
    return -rate * last + math.log((1.0 - q) / (1.0 + q - 2.0 * q ** (last + 1)))


def threshold_of(noise: Noise) -> int:
    """The least number with which a key is shown: one more than the largest noise."""
    return len(_survival(noise)) // 2


@lru_cache(maxsize=8)
def _survival(noise: Noise) -> Floats:
    """Pr(Z ≥ k) for k = −N … N + 1."""
    law = cast(LatticeNoise, noise)
    is_known = noise.kind == LatticeNoise.kind and noise.dimension == 1
    if not is_known or law.tail_ratio is not None or law.step != 1.0 or law.domain != "integer":
        raise DesignError(f"Keys are found with noise of whole numbers that ends, not {noise}.")
    last = int(np.flatnonzero(law.shell_masses)[-1])
    each = law.pmf(np.arange(-last, last + 1))
    return np.append(np.cumsum(each[::-1])[::-1], 0.0)


def interval_of_shown(noise: Noise, shown: float, confidence: float) -> tuple[float, float]:
    """Between which numbers of persons a group lies that is shown with this noisy number; see
    above."""
    survival = _survival(noise)
    last = len(survival) // 2 - 1

    def above(k: np.ndarray) -> Floats:
        """Pr(Z ≥ k)."""
        return np.asarray(survival[np.clip(k + last, 0, 2 * last + 1)])

    y, threshold, tail = round(shown), last + 1, 0.5 * (1.0 - confidence)
    sizes = np.arange(max(1, y - last), y + last + 1)
    is_shown = above(threshold - sizes)
    as_high = above(y - sizes) / is_shown
    as_low = 1.0 - above(y + 1 - sizes) / is_shown
    fits = sizes[(as_high > tail) & (as_low > tail)]
    return (float(fits[0]), float(fits[-1])) if len(fits) else (float(y), float(y))
