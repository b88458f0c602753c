"""A proven lower bound on the optimum, from any law and any weights over the shifts
(docs/mathematics.md#the-certificate).

D_t is convex and homogeneous of degree 1, so D_t(h') ≥ ⟨∇D_t(h), h'⟩ for every h'. Hence for λ ≥ 0,
Σλ = 1,

    min_h' max_t D_t(h') ≥ min { ⟨Σ λ_t ∇D_t(h), h'⟩ : Σ mass h' = 1, Σ cost h' = C, h' in cone }.

The cone has the extreme rays e_k (free) or 1[0..k] (monotone; the last one with its tail). A ray
has mass M, average cost x and average gradient c; two constraints make the minimum the lower convex
hull of the points (x, c) at C, that is max { ν + κC : ν + κx ≤ c for all rays }.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leastnoise.lattice.shells import Floats
from leastnoise.solver.problem import RenyiProblem


@dataclass(frozen=True)
class Bound:
    """The bound on D (in the scale of the gradient) and its slope in the budget."""

    value: float
    slope: float


def lower_bound(problem: RenyiProblem, gradient: Floats, rounding: Floats) -> Bound:
    """The bound for ∂D/∂h_k divided by mass_k, its rounding error taken off first."""
    c = gradient - rounding
    x = problem.unit_cost
    if problem.monotone:
        share = np.exp(problem.log_mass - np.max(problem.log_mass))
        mass = np.cumsum(share)
        # Thousands of answers: the inner shells are too light for a double, and nothing is proven.
        if not mass[0] > 0.0:
            return Bound(-np.inf, 0.0)
        # cumsum errs by a few units in the last place of its largest partial sum; charge them.
        slack = 2.0**-50 * np.cumsum(share * np.abs(c))
        c = (np.cumsum(share * c) - slack) / mass
        x = np.cumsum(share * x) / mass
    return hull_at(x, c, problem.budget)


def hull_at(x: Floats, c: Floats, at: float) -> Bound:
    """The lower convex hull of the points (x, c) at abscissa `at`, and its slope there.

    Maximises κ ↦ min(c − κx) + κ·at, concave and piecewise linear, by intersecting the best
    supporting lines of its two sides; every value on the way is a valid bound, so stopping early is
    safe.
    """
    left = x < at
    if not np.any(left) or np.all(left):
        return Bound(-np.inf, 0.0)
    # A first slope from the cheapest ray on each side; Kelley's method from there ends after a few
    # lines.
    i = int(np.flatnonzero(left)[np.argmin(c[left])])
    right = ~left
    j = int(np.flatnonzero(right)[np.argmin((c[right] - c[i]) / (x[right] - x[i]))])
    best = Bound(-np.inf, 0.0)
    for _ in range(200):
        kappa = float((c[j] - c[i]) / (x[j] - x[i]))
        height = c - kappa * x
        k = int(np.argmin(height))
        value = float(height[k]) + kappa * at
        if value > best.value:
            best = Bound(value, kappa)
        if k in (i, j) or height[k] >= min(height[i], height[j]):
            break
        if left[k]:
            i = k
        else:
            j = k
    return best
