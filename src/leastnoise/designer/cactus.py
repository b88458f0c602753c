"""The Cactus law: the least Kullback–Leibler divergence at a given variance, the α → 1 end of the Rényi program."""

from __future__ import annotations

from leastnoise.classic import lattice_step
from leastnoise.cost import Cost, quadratic
from leastnoise.designer.candidates import bins, block_size, in_integers
from leastnoise.designer.problem import renyi_problem
from leastnoise.designer.renyi import Status, solve
from leastnoise.errors import DesignError, at_least, positive
from leastnoise.lattice import LatticeNoise
from leastnoise.noise import Domain
from leastnoise.steps import shift_in_steps, step_of

_FREE_BELOW = 2.0  # standard deviations in sensitivities below which ripples of the free optimum are worth more than 1e-3


def cactus(
    sigma: float,
    *,
    sensitivity: float = 1.0,
    domain: Domain = "real",
    step: float | None = None,
    monotone: bool | None = None,
    cost: Cost | None = None,
) -> LatticeNoise:
    """The Cactus law of standard deviation `sigma` for queries of the given sensitivity (best for very many releases).

    `monotone=False` is the law of the literature, which may ripple with the period of the sensitivity; `True` keeps it
    non-increasing; by default it is free below two sensitivities, where that matters, and non-increasing above. With another `cost`
    c its expected cost is c(sigma).

    Guarantees: the duality gap of the Kullback–Leibler program is at most 1e-8, or a DesignError says what was reached.

    >>> round(cactus(4.0, sensitivity=1.0).std, 9)
    4.0
    """
    sigma, s = positive("sigma", sigma), at_least("sensitivity", sensitivity)
    cost = quadratic() if cost is None else cost
    step = (
        step_of(s, bins(sigma / s))
        if step is None and domain == "real"
        else lattice_step(sigma, s, step, domain)
    )
    shift = shift_in_steps(s, step)
    free = sigma / s < _FREE_BELOW if monotone is None else not monotone
    block = 1 if free or domain == "real" else block_size(shift, bins(sigma / s))
    in_steps, budget = cost.in_steps(cost.of(sigma), step)
    if block > 1:
        in_steps = cost.over_blocks(block)
    problem = renyi_problem(
        shift=shift // block,
        order=1.0,
        budget=budget,
        cost=in_steps,
        domain=domain,
        monotone=not free,
    )
    optimum = solve(problem)
    if optimum.status is Status.NOT_REACHED:
        raise DesignError(
            f"The Cactus law of sigma={sigma!r} was reached only to a relative gap of {optimum.gap:.1e}."
        )
    log_h, ratio = in_integers(optimum.log_h, problem.tail_ratio, block)
    return LatticeNoise.from_log_weights(log_h, ratio, step=step, domain=domain)
