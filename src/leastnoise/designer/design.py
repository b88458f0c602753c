"""`design`: from a privacy target and a noise budget to the best law, with its proof."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import MappingProxyType

from leastnoise.accountant.bounds import Bounds
from leastnoise.changes import Box, Changes, Euclidean, OneSided
from leastnoise.cost import Cost
from leastnoise.designer.fits import Fitted, fitted_at, fitted_within
from leastnoise.designer.lattice_law import certified
from leastnoise.designer.request import Objective, Request
from leastnoise.designer.result import Design
from leastnoise.errors import DesignError, InvalidParameterError, positive
from leastnoise.laws.base import Domain, Noise
from leastnoise.solver.optimum import discretisation_cost


def design(
    *,
    delta: float,
    sigma: float | None = None,
    epsilon: float | None = None,
    sensitivity: float | Sequence[float] = 1.0,
    compositions: int = 1,
    batch: int = 1,
    domain: Domain = "real",
    cost: Cost | None = None,
    objective: Objective = "tight",
    renyi_order: float | None = None,
    step: float | None = None,
    touched: int | None = None,
    changes: Changes | None = None,
    weights: Sequence[float] | None = None,
) -> Design:
    """The noise that gives the least ε at a given `sigma`, or the least `sigma` at a given
    `epsilon`.

    A batch may have one sensitivity for each answer: the noise is then designed for the largest, at
    which `sigma` holds, and is multiplied by `Design.scales`. What one person can change is smaller
    than the box of all changes more often than not: `changes` says so, and the noise is fitted to
    it. If one person can change at most `touched` of the answers, independent noise costs that many
    compositions and competes with joint noise. Answers that move by unequal ranges, or that matter
    unequally, get noise of unequal sizes, `Design.sigmas`; `sigma` is then the root of the weighted
    mean of their squares, each counted in sensitivities of its answer.

    Args:
        delta: Probability with which the guarantee may fail, in (0, 1), over all releases; far
            below one over the number of people.
        sigma: Standard deviation of the noise on one answer, in its units, from 0.001 sensitivities
            (for integer noise 1e-5) to 2,000; with another `cost` c the budget is c(sigma). Give
            this or `epsilon`.
        epsilon: Privacy wanted over all releases. Give this or `sigma`.
        sensitivity: By how much one person can move an answer, in its units; or one for each answer
            of a batch.
        compositions: How many releases are made.
        batch: How many answers a release has; one person can move each of them by up to
            `sensitivity`.
        domain: "real", or "integer" for integer noise on integer answers.
        cost: What noise costs; by default its square.
        objective: "tight" minimises the ε that the judge certifies after composition; "renyi" the
            Rényi divergence of `renyi_order`, or, with None, the moments accountant over all
            orders, as the paper does.
        renyi_order: Order α of at least 1 for the objective "renyi"; `math.inf` is pure privacy.
        step: The step of the lattice, in the units of the answers, which must divide the
            sensitivity; by default fine enough.
        touched: How many answers of a batch one person can change; by default all.
        changes: Which vectors of changes one person can make, in sensitivities: `Box()`, any signs,
            `OneSided()`, all up or all down or each within a range of its own, or
            `Euclidean(radius)`; by default the box.
        weights: How much the squared error of each answer matters, in sensitivities of the answer,
            on the real line; by default all the same.

    Returns:
        The best law found, its certified ε, what the rivals need, and the proofs; see `Design`.

    Raises:
        InvalidParameterError: a parameter is not what is expected; the message says what is.
        DesignError: what was asked for cannot be reached; the message says what can.

    Guarantees: see `Design`.

    Example:
        >>> best = design(delta=1e-6, sigma=8.0, compositions=10)
        >>> best.epsilon < 1.6185 < best.rivals["Gaussian"]
        True
        >>> design(delta=1e-6, epsilon=1.0, batch=10).sigma < 6.64
        True
        >>> from leastnoise import OneSided
        >>> design(delta=1e-6, epsilon=1.0, batch=10, changes=OneSided()).sigma < 5.11
        True
    """
    if (sigma is None) == (epsilon is None):
        raise InvalidParameterError(
            "sigma", sigma, f"or epsilon={epsilon!r} to be given, exactly one of them"
        )
    request = Request.of(
        delta=delta,
        sensitivity=sensitivity,
        compositions=compositions,
        batch=batch,
        domain=domain,
        cost=cost,
        objective=objective,
        renyi_order=renyi_order,
        step=step,
        touched=touched,
        changes=changes,
        weights=weights,
    )
    if sigma is None:
        best = fitted_within(request, positive("epsilon", epsilon))
    else:
        best = fitted_at(request, request.checked_sigma(positive("sigma", sigma)))
    if not math.isfinite(best.law.epsilon):
        raise DesignError(
            f"No law of sigma={best.sigma!r} has a finite epsilon for "
            f"compositions={request.compositions}."
        )
    return _as_design(request, best)


def _as_design(asked: Request, best: Fitted) -> Design:
    """The law judged as it stands, with the lower bound and all that is known of it."""
    request, found, sigma = best.fit.request, best.law, best.sigma / best.fit.spread
    bounds = _bounds(asked, best)
    optimum = None if found.on_lattice is None else certified(found.on_lattice.optimum)
    lattice = None if optimum is None else discretisation_cost(optimum)
    rivals = sorted(best.needed.items(), key=lambda item: item[1])
    is_scaled = _is_scaled(asked, best)
    return Design(
        noise=found.noise,
        epsilon=bounds.upper,
        epsilon_lower=bounds.lower,
        delta=request.delta,
        sigma=best.sigma,
        sensitivity=asked.sensitivity,
        sensitivities=asked.sensitivities,
        compositions=asked.compositions,
        batch=asked.batch,
        touched=asked.touched,
        changes=asked.changes,
        objective=request.objective,
        origin=found.name,
        renyi_order=None if optimum is None else optimum.problem.order,
        gap=None if optimum is None else optimum.gap,
        status="A known law is the best found." if optimum is None else optimum.status.value,
        residual=_residual(found.noise, request, sigma),
        discretisation=None if lattice is None else lattice.bins + lattice.tail,
        moments_epsilon=found.moments,
        rivals=MappingProxyType(dict(rivals)),
        rival_laws=MappingProxyType(
            {name: best.named[name].noise for name, _ in rivals if name in best.named}
        ),
        weights=asked.weights,
        factors=best.fit.factors if is_scaled else None,
        judged_for=_told(asked.changes, request.changes, asked.batch) if is_scaled else None,
    )


def _bounds(asked: Request, best: Fitted) -> Bounds:
    """ε of the whole use, as it was asked for; a length of changes is not scaled (`of_length`)."""
    request, found = best.fit.request, best.law
    is_length = isinstance(asked.changes, Euclidean)
    loss = (asked if is_length else request).loss(found.noise)
    bounds = loss.compose(request.compositions * found.uses).epsilon_bounds(request.delta)
    # a vector of that length moves no two answers by all of it
    return Bounds(0.0, bounds.upper) if is_length and found.uses > 1 else bounds


def _is_scaled(asked: Request, best: Fitted) -> bool:
    """Whether the law is for answers that were divided by something, or judged for other changes
    than those asked for."""
    if isinstance(asked.changes, Euclidean):
        return False
    return best.fit.request.changes != asked.changes or best.fit.spread != 1.0


def _told(asked: Changes, judged: Changes, answers: int) -> Changes:
    """The space that a scaled law is judged for. Ranges are those of a person who is added or
    removed: where they became a box it is told as ranges of both signs, which say so; a person who
    is replaced may move such an answer by twice as much."""
    if asked.is_one_sided and isinstance(judged, Box):
        return OneSided(judged.touched, ranges=((-1.0, 1.0),) * answers)
    return judged


def _residual(noise: Noise, request: Request, sigma: float) -> float:
    """How far the law is from unit mass and from its cost budget, relatively."""
    mass = 1.0 if noise.radial is None else noise.radial.total
    if request.ties is not None:  # sigma is that of an answer with the tie 1
        widest = max(abs(tie) for tie in request.ties)
        sigma *= math.sqrt(0.5 * (1.0 + widest * widest))
    budget = request.cost.of(sigma)
    return max(abs(mass - 1.0), abs(noise.expected_cost(request.cost) / budget - 1.0))
