"""The Cactus law: the least Kullback–Leibler divergence at a given variance, the α → 1 end of the
Rényi program."""

from __future__ import annotations

from leastnoise.cost import Cost, quadratic
from leastnoise.designer.moments import FREE_BELOW
from leastnoise.errors import DesignError, at_least, positive
from leastnoise.lattice.resolution import bins_of_design, block_size, in_integers, step_of_known_law
from leastnoise.lattice.steps import shift_in_steps, step_of
from leastnoise.laws.base import Domain
from leastnoise.laws.lattice import LatticeNoise
from leastnoise.solver.optimum import Status
from leastnoise.solver.problem import renyi_problem
from leastnoise.solver.renyi import solve


def cactus(
    sigma: float,
    *,
    sensitivity: float = 1.0,
    domain: Domain = "real",
    step: float | None = None,
    monotone: bool | None = None,
    cost: Cost | None = None,
) -> LatticeNoise:
    """The Cactus law: the least Kullback–Leibler divergence, best for very many releases.

    Args:
        sigma: Standard deviation, in the units of the answers; with another `cost` c its expected
            cost is c(sigma).
        sensitivity: By how much one person can move the answer, in its units.
        domain: "real", or "integer" for integer noise.
        step: The step of the lattice, in the units of the answers; by default fine enough.
        monotone: False is the law of the literature, which may ripple with the period of the
            sensitivity; True keeps it non-increasing; None takes the first below two sensitivities,
            where that matters, and the second above.
        cost: What noise costs; by default its square.

    Returns:
        The law on its lattice.

    Raises:
        InvalidParameterError: a parameter is not what is expected.
        DesignError: the program was not solved; the message says what was reached.

    Guarantees: the duality gap of the Kullback–Leibler program is at most 1e-8.

    Example:
        >>> round(cactus(4.0, sensitivity=1.0).std, 9)
        4.0
    """
    sigma, s = positive("sigma", sigma), at_least("sensitivity", sensitivity)
    cost = quadratic() if cost is None else cost
    if step is None and domain == "real":
        step = step_of(s, bins_of_design(sigma / s))
    step = step_of_known_law(sigma, s, step, domain)
    shift = shift_in_steps(s, step)
    free = sigma / s < FREE_BELOW if monotone is None else not monotone
    block = 1 if free or domain == "real" else block_size(shift, bins_of_design(sigma / s))
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
            f"The Cactus law of sigma={sigma!r} was reached only to a relative gap of "
            f"{optimum.gap:.1e}."
        )
    log_h, ratio = in_integers(optimum.log_h, problem.tail_ratio, block)
    return LatticeNoise.from_log_weights(log_h, ratio, step=step, domain=domain)
