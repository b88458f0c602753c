"""One cell (σ, N_c, δ): the rivals, the published method and our design, each judged by
the tight accountant.

The unit of work of the heat maps (Fig. 4 and 6) and of the pointwise minima (Fig. 5 and 7).
"""

from __future__ import annotations

import math
import time

from leastnoise.designer.design import design
from leastnoise.errors import LeastNoiseError
from leastnoise.lattice.resolution import bins_for_divergence
from leastnoise.laws.base import Domain
from leastnoise.laws.lattice import LatticeNoise
from leastnoise.plots.style import family
from leastnoise.reproduction.published_run import HALVINGS, epsilon, run_published
from leastnoise.reproduction.records import Record
from leastnoise.solver.problem import renyi_problem
from leastnoise.solver.renyi import solve

# the share of the divergence that the bins of Alg. 3 may cost: half as many bins as a design has
_BINS_COST = 5e-4
NAMED_RIVALS = ("Gaussian", "Laplace", "Staircase", "Cactus")


def cell_at(
    sigma: float, compositions: int, delta: float, iterations: int, domain: Domain = "real"
) -> Record:
    """A cell to be computed: `iterations` bounds Alg. 3."""
    return {
        "sigma": sigma,
        "compositions": compositions,
        "delta": delta,
        "domain": domain,
        "iterations": iterations,
        "halvings": HALVINGS,
        "bins": 1 if domain == "integer" else bins_for_divergence(sigma, _BINS_COST),
    }


def computed(cell: Record) -> Record:
    """The cell with every ε, the winners and the gains over the best rival."""
    sigma, n, delta = float(cell["sigma"]), int(cell["compositions"]), float(cell["delta"])
    domain: Domain = "integer" if cell["domain"] == "integer" else "real"
    began = time.perf_counter()
    best = design(delta=delta, sigma=sigma, compositions=n, domain=domain)
    ours_seconds = time.perf_counter() - began
    known = {family(name): value for name, value in best.rivals.items()}
    rivals = {name: value for name, value in known.items() if name in NAMED_RIVALS}
    leader = min(rivals, key=lambda name: rivals[name])
    return {
        **cell,
        "rivals": rivals,
        "best_rival": leader,
        "ours": best.epsilon,
        "origin": family(best.origin),
        "order": best.renyi_order,
        "gain": 1.0 - best.epsilon / rivals[leader],
        "seconds": ours_seconds,
        **_published(cell, domain, rivals[leader]),
    }


def _published(cell: Record, domain: Domain, rival: float) -> Record:
    """Alg. 3 as far as its iterations take it, and its own program solved exactly at
    the order where it stopped."""
    sigma, n, delta = float(cell["sigma"]), int(cell["compositions"]), float(cell["delta"])
    try:
        given: Record = {name: int(cell[name]) for name in ("iterations", "halvings", "bins")}
        run = run_published(sigma=sigma, delta=delta, compositions=n, domain=domain, **given)
    except LeastNoiseError as error:
        return {"published": None, "published_gain": None, "published_error": str(error)}
    reached = epsilon(run.noise, delta, n)
    solved = _solved(run.noise, run.result.renyi_order, sigma, delta, n)
    return {
        "published": reached,
        "published_gain": 1.0 - reached / rival if math.isfinite(reached) else None,
        "published_order": run.result.renyi_order,
        "published_iterations": run.iterations,
        "published_seconds": run.seconds,
        "published_solved": solved,
        "published_solved_gain": 1.0 - solved / rival if math.isfinite(solved) else None,
    }


def _solved(like: LatticeNoise, order: float, sigma: float, delta: float, n: int) -> float:
    try:
        m = round(1.0 / like.step)
        problem = renyi_problem(shift=m, order=order, sigma=sigma / like.step, domain=like.domain)
        exact = LatticeNoise.from_log_weights(
            solve(problem).log_h, problem.tail_ratio, step=like.step, domain=like.domain
        )
    except LeastNoiseError:
        return math.inf
    return epsilon(exact, delta, n)
