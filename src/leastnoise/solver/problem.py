"""The convex Rényi program of one order: its data, and how N, r and the bins are chosen when the
user does not.

    minimise max_t g_α(h, t)   subject to   Σ mass_k h_k = 1,   Σ cost_k h_k = C,   h ≥ 0

(Theorem 3.6) in lattice units (Δ = 1). The free variables are h_first, …, h_last: the shells inside
`first` share its probability (a flat core, which only matters in high dimension, where those shells
hold less than 1e-30 of the mass) and the shells beyond `last` fall by `tail_ratio` each. Free
problems (d = 1) take the maximum over the shifts 1..m; monotone ones need the corner shift m alone
(docs/worst-shift.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from leastnoise.cost import Cost, quadratic
from leastnoise.errors import (
    InvalidParameterError,
    UnsupportedError,
    one_of,
    open_unit,
    positive,
    positive_integer,
)
from leastnoise.lattice import shells
from leastnoise.lattice.shells import Floats
from leastnoise.solver import start
from leastnoise.solver.budget import LatticeBudget


@dataclass(frozen=True, eq=False)
class RenyiProblem:
    """Minimise the worst Rényi divergence of order `order` at the given budget. Build it with
    `renyi_problem`.

    `log_mass[i]` is the logarithm of how many lattice points share h_{first+i} (core and geometric
    tail included, weighted), `unit_cost[i]` their average cost, `guess` a smooth log-profile to
    start from.
    """

    dimension: int
    shift: int
    order: float
    first: int
    last: int
    tail_ratio: float
    log_mass: Floats
    unit_cost: Floats
    budget: float
    monotone: bool
    domain: str
    cost: Cost
    guess: Floats
    moved: int | None = None  # of the range norm, see `LatticeBudget`

    def __post_init__(self) -> None:
        size = self.last - self.first + 1
        for name in ("log_mass", "unit_cost", "guess"):
            if getattr(self, name).shape != (size,):
                raise InvalidParameterError(
                    name, getattr(self, name).shape, f"to have one entry per free shell, {size}"
                )
        if self.first < 0:
            raise InvalidParameterError("first", self.first, "to be at least 0")
        if self.last - self.first < self.shift:
            raise InvalidParameterError(
                "last", self.last, f"to be at least first + shift = {self.first + self.shift}"
            )
        if not self.monotone and self.dimension > 1:
            raise UnsupportedError(
                "The free problem is for one answer at a time; for a batch the law must be "
                "monotone."
            )
        if not float(np.min(self.unit_cost)) < self.budget < float(np.max(self.unit_cost)):
            low, high = float(np.min(self.unit_cost)), float(np.max(self.unit_cost))
            raise InvalidParameterError(
                "budget",
                self.budget,
                f"strictly between {low:g} and {high:g}, what laws on this lattice can cost",
            )

    @property
    def size(self) -> int:
        """How many probabilities are free."""
        return self.last - self.first + 1

    @property
    def lattice(self) -> LatticeBudget:
        """The lattice and the budget alone."""
        on = self.dimension, self.shift, self.cost, self.budget, self.domain, self.moved
        return LatticeBudget(*on)

    @property
    def shifts(self) -> tuple[int, ...]:
        """The shifts the maximum is taken over."""
        return (self.shift,) if self.monotone else tuple(range(1, self.shift + 1))

    def all_shells(self, profile: Floats) -> Floats:
        """A profile on the free shells, written out for k = 0, …, last."""
        return np.concatenate([np.full(self.first, profile[0]), profile])


def renyi_problem(
    *,
    shift: int,
    order: float,
    sigma: float | None = None,
    budget: float | None = None,
    dimension: int = 1,
    domain: str = "real",
    cost: Cost | None = None,
    first: int | None = None,
    last: int | None = None,
    tail_ratio: float | None = None,
    monotone: bool = True,
    moved: int | None = None,
) -> RenyiProblem:
    """The problem in lattice units: `shift` = m bins per sensitivity, and either `sigma` (quadratic
    cost, budget σ²) or `budget`; with `moved` that of the range norm.

    1. The arguments, checked, as a lattice with its budget.
    2. A law to start from, with the window that suits it, unless a window is given.
    3. Core and tail folded into the shells at both ends.

    Guarantees: with `last` and `tail_ratio` left out, the smooth limit of the law has less than
    1e-15 of its cost beyond `last`, and the tail falls at half the law's own rate there, so that it
    never throttles the problem (measured: N = 10σ with r = 0.9999 costs up to 78 %).
    """
    lattice = _lattice(shift, dimension, domain, order, sigma, budget, cost)
    lattice = replace(lattice, moved=moved)
    _check_window(lattice, order, first, last, tail_ratio)
    guess = start.starting_profile(lattice, float(order), last)
    last = guess.last if last is None else int(last)
    ratio = guess.tail_ratio if tail_ratio is None else float(tail_ratio)
    first = guess.first if first is None else int(first)
    log_mass, unit_cost = folded(lattice, first, last, ratio)
    return RenyiProblem(
        dimension=lattice.dimension,
        shift=lattice.shift,
        order=float(order),
        first=first,
        last=last,
        tail_ratio=ratio,
        log_mass=log_mass,
        unit_cost=unit_cost,
        budget=lattice.budget,
        monotone=monotone,
        domain=domain,
        cost=lattice.cost,
        guess=guess.log_h[first : last + 1],
        moved=moved,
    )


def _lattice(
    shift: int,
    dimension: int,
    domain: str,
    order: float,
    sigma: float | None,
    budget: float | None,
    cost: Cost | None,
) -> LatticeBudget:
    """The checked arguments of every problem."""
    m = positive_integer("shift", shift)
    d = positive_integer("dimension", dimension)
    one_of("domain", domain, ("real", "integer"))
    if not float(order) >= 1.0:
        raise InvalidParameterError(
            "order",
            order,
            "to be at least 1 (1 is the Kullback-Leibler divergence, math.inf pure privacy)",
        )
    if (sigma is None) == (budget is None):
        raise InvalidParameterError("sigma", sigma, "or budget to be given, and not both")
    if sigma is not None and cost is not None:
        raise InvalidParameterError(
            "sigma", sigma, "to be left out when a cost is given: give budget"
        )
    level = positive("sigma", sigma) ** 2 if sigma is not None else positive("budget", budget)
    return LatticeBudget(d, m, quadratic() if cost is None else cost, level, domain)


def _check_window(
    lattice: LatticeBudget,
    order: float,
    first: int | None,
    last: int | None,
    tail_ratio: float | None,
) -> None:
    """What is given of the window can be had."""
    if tail_ratio is not None:
        open_unit("tail_ratio", tail_ratio)
    if last is not None and positive_integer("last", last) < lattice.shift:
        raise InvalidParameterError("last", last, f"to be at least shift={lattice.shift}")
    if math.isinf(order) and any(given is not None for given in (first, last, tail_ratio)):
        raise UnsupportedError(
            "For pure privacy the lattice follows from the staircase: leave out first, last "
            "and tail_ratio."
        )


def folded(
    lattice: LatticeBudget, first: int, last: int, tail_ratio: float
) -> tuple[Floats, Floats]:
    """log(points sharing each free probability) and their average cost, core and tail folded in
    (Prop. 3.5)."""
    dimension = lattice.dimension
    log_count = None if lattice.moved is None else lattice.log_shell_count
    radii, weights = shells.geometric_tail(
        dimension, last, tail_ratio, lattice.cost.growth, log_count
    )
    per_shell = lattice.per_shell(int(radii[-1]))
    log_mass = lattice.log_shell_count(np.arange(first, last + 1))
    unit_cost = per_shell[first : last + 1].copy()
    tail = float(np.sum(weights))
    unit_cost[-1] = (unit_cost[-1] + float(weights @ per_shell[radii])) / (1.0 + tail)
    log_mass[-1] += math.log1p(tail)
    if first:
        log_mass[0] = float(lattice.log_ball_count(first))
        core = np.exp(lattice.log_shell_count(np.arange(first + 1)) - log_mass[0])
        unit_cost[0] = float(core @ per_shell[: first + 1])
    return log_mass, unit_cost
