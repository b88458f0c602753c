"""The Schrödinger law: the least Fisher information at a given cost, best for vanishing sensitivity
and very many releases, whatever the noise costs.

Where s/σ → 0 every divergence between a law and its shift is s²/2 times the Fisher information of
the law (times the order), so the law of least information is best for all of them (Alghamdi,
Asoodeh, Calmon, Gomez, Kosut and Sankar, "Schrödinger mechanisms", 2023). Of p = ψ² the information
is 4∫ψ'², and among all ψ with ∫cψ² at its budget the least is the ground state of −ψ'' + λcψ = Eψ:
the Gaussian for z², the squared Airy function for |z|.

On a lattice of pitch h the same is asked of the numbers ψ_k, Σ(ψ_{k+1} − ψ_k)² in place of the
integral, and of the average cost of a bin in place of c: an eigenproblem of a tridiagonal matrix.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import eigh_tridiagonal

from leastnoise.cost import Cost, quadratic
from leastnoise.errors import DesignError, at_least, positive
from leastnoise.lattice.resolution import bins_of_design, step_of_known_law
from leastnoise.lattice.shells import Floats
from leastnoise.lattice.steps import step_of
from leastnoise.laws.base import Domain
from leastnoise.laws.lattice import LatticeNoise

_DEPTH = 60.0  # how far the logarithm of the law falls before its geometric tail begins
_MOST_SHELLS = 200_000
_MOST_BISECTIONS = 100
_CLOSE = 1e-12  # how far the cost may miss its budget, relatively


def schrodinger(
    sigma: float,
    *,
    sensitivity: float = 1.0,
    domain: Domain = "real",
    step: float | None = None,
    cost: Cost | None = None,
) -> LatticeNoise:
    """The Schrödinger law: the least Fisher information at a given cost.

    Args:
        sigma: Its expected cost is c(sigma): for the square its standard deviation, in the units of
            the answers.
        sensitivity: By how much one person can move the answer, in its units; the pitch of the
            lattice divides it, the law does not depend on it otherwise.
        domain: "real", or "integer" for integer noise.
        step: The step of the lattice, in the units of the answers; by default fine enough.
        cost: What noise costs; by default its square, for which the law is Gaussian.

    Returns:
        The law on its lattice.

    Raises:
        InvalidParameterError: a parameter is not what is expected.
        DesignError: no law of this cost has a window of 200,000 shells.

    Example:
        >>> from leastnoise.cost import absolute
        >>> round(schrodinger(4.0, cost=absolute()).expected_cost(absolute()), 9)
        4.0
    """
    sigma, s = positive("sigma", sigma), at_least("sensitivity", sensitivity)
    cost = quadratic() if cost is None else cost
    if step is None and domain == "real":
        step = step_of(s, bins_of_design(sigma / s))
    step = step_of_known_law(sigma, s, step, domain)
    in_steps, budget = cost.in_steps(cost.of(sigma), step)
    last = max(64, math.ceil(8.0 * min(in_steps.radius(budget), float(_MOST_SHELLS))))
    while last <= _MOST_SHELLS:
        average = in_steps.average(np.arange(last + 1), 1.0, domain)
        log_h = _at_budget(average, budget)
        if log_h is not None and log_h[0] - log_h[-1] >= _DEPTH:
            end = int(np.argmax(log_h[0] - log_h >= _DEPTH))
            ratio = math.exp(float(log_h[end] - log_h[end - 1]))
            return LatticeNoise.from_log_weights(log_h[: end + 1], ratio, step=step, domain=domain)
        last *= 2
    raise DesignError(
        f"No Schrödinger law costs {cost.name} of sigma={sigma!r} within {_MOST_SHELLS} shells: "
        "the cost hardly grows there."
    )


def _at_budget(average: Floats, budget: float) -> Floats | None:
    """log h of the ground state whose cost is the budget; None if this window holds none.

    1. Widen the range of λ until the cost, falling in λ, passes the budget.
    2. Halve its logarithm until the cost is the budget.
    """
    high = low = 1.0 / (budget * (1.0 + budget))
    for _ in range(_MOST_BISECTIONS):
        if _cost(average, _ground_state(average, high)) <= budget:
            break
        high *= 16.0
    else:
        return None
    for _ in range(_MOST_BISECTIONS):
        if _cost(average, _ground_state(average, low)) >= budget:
            break
        low /= 16.0
    else:
        return None
    for _ in range(_MOST_BISECTIONS):
        middle = math.sqrt(low * high)
        log_h = _ground_state(average, middle)
        found = _cost(average, log_h)
        if abs(found / budget - 1.0) <= _CLOSE:
            return log_h
        low, high = (middle, high) if found > budget else (low, middle)
    return log_h


def _ground_state(average: Floats, price: float) -> Floats:
    """log ψ² of the ground state of the second difference with the potential λ·cost, even in k.

    The eigenvalue is that of a tridiagonal matrix; the vector comes from it by ratios of
    neighbours, from the far end inwards, because an eigenvector is good to 1e-16 of its largest
    entry only, and a tail wants all its digits.
    """
    level = 2.0 + price * average
    beside = np.full(average.size - 1, -1.0)
    beside[0] = -math.sqrt(2.0)  # ψ_0 stands once, the others twice
    energy = float(
        eigh_tridiagonal(level, beside, select="i", select_range=(0, 0), eigvals_only=True)[0]
    )
    log_ratio, ratio = np.zeros(average.size), 0.0
    for k in range(average.size - 1, 0, -1):
        # ψ_{k−1} = (level_k − E) ψ_k − ψ_{k+1}
        ratio = 1.0 / (level[k] - energy - ratio)
        log_ratio[k] = math.log(ratio)
    return np.asarray(2.0 * np.cumsum(log_ratio), dtype=np.float64)


def _cost(average: Floats, log_h: Floats) -> float:
    h = np.exp(log_h - np.max(log_h))
    h[1:] *= 2.0
    return float(h @ average / np.sum(h))
