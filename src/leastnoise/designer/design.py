"""`design`: from a privacy target and a noise budget to the best law, with its proof."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from leastnoise.accountant.bounds import Bounds
from leastnoise.accountant.constraints import Limit, held, limits_of
from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.changes import Box, Changes, Euclidean, OneSided
from leastnoise.cost import Cost
from leastnoise.designer.capped import fitted_within_limits
from leastnoise.designer.fits import Fitted, fitted_at, fitted_within
from leastnoise.designer.floor import check_covered, floor_under
from leastnoise.designer.lattice_law import certified
from leastnoise.designer.own_curve import BEST_OF_ITS_CURVE, fitted_for_mu, spared_share
from leastnoise.designer.request import Objective, Request
from leastnoise.designer.result import Design
from leastnoise.errors import DesignError, InvalidParameterError, open_unit, positive
from leastnoise.laws.base import Domain, Noise
from leastnoise.solver.optimum import discretisation_cost

_USUAL_DELTA = 1e-6  # at which ε is told where only μ is asked for


def design(
    *,
    delta: float | None = None,
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
    advantage: float | None = None,
    constraints: Iterable[tuple[float, float]] | None = None,
    mu: float | None = None,
    floor: bool = False,
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

    One ε and δ say little about what an attacker can do; `advantage` caps that as well, and
    `constraints` any points of the privacy curve. The least `sigma` at which all of them are
    certified is then found, among all bodies of noise. `mu` asks for the whole curve of normal
    noise, and normal noise is what it gets: there is none better.

    Args:
        delta: Probability with which the guarantee may fail, in (0, 1), over all releases; far
            below one over the number of people. It may be left out beside `advantage`,
            `constraints` or `mu`: ε is then told at the smallest δ of these, with `mu` at 1e-6.
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
        advantage: The most by which an attacker's true positives may exceed the false ones, δ(0),
            in (0, 1), over all releases; beside `epsilon` or alone.
        constraints: Pairs (ε_k, δ_k), ε_k ≥ 0 and δ_k in (0, 1): δ(ε_k) is at most δ_k, over all
            releases; beside `epsilon` or alone.
        mu: μ of Gaussian differential privacy, over all releases, on the real line; nothing else
            is then promised.
        floor: Whether to prove how much better any other noise could be, see `Design.floor` and
            `Design.floor_variance`: about a second of work for each release.

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
        >>> capped = design(delta=1e-6, epsilon=1.0, batch=10, advantage=0.15)
        >>> capped.sigma < 9.62, capped.attacker.guess <= 0.575
        (True, True)
    """
    asked = _asked(delta, sigma, epsilon, limits_of(advantage, constraints), mu)
    request = Request.of(
        delta=asked.delta,
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
    if floor:
        check_covered(request, is_plain=not asked.limits and asked.mu is None)
    best = _best(request, asked, objective)
    if not math.isfinite(best.law.epsilon):
        raise DesignError(
            f"No law of sigma={best.sigma!r} has a finite epsilon for "
            f"compositions={request.compositions}."
        )
    made = _as_design(request, best, asked)
    return replace(made, certificate=floor_under(made)) if floor else made


@dataclass(frozen=True)
class _Promise:
    """What is promised, or what noise is spent: one of the four."""

    delta: float
    sigma: float | None = None
    epsilon: float | None = None
    limits: tuple[Limit, ...] = ()
    mu: float | None = None


def _asked(
    delta: float | None,
    sigma: float | None,
    epsilon: float | None,
    limits: tuple[Limit, ...],
    mu: float | None,
) -> _Promise:
    """What was asked for, where it fits together."""
    if mu is not None:
        if sigma is not None or epsilon is not None or limits:
            raise InvalidParameterError(
                "mu", mu, "to be alone: not beside sigma, epsilon, advantage or constraints"
            )
        return _Promise(_USUAL_DELTA if delta is None else delta, mu=positive("mu", mu))
    if not limits:
        if (sigma is None) == (epsilon is None):
            raise InvalidParameterError(
                "sigma", sigma, f"or epsilon={epsilon!r} to be given, exactly one of them"
            )
        return _Promise(open_unit("delta", delta), sigma, epsilon)
    return _several(delta, sigma, epsilon, limits)


def _several(
    delta: float | None,
    sigma: float | None,
    epsilon: float | None,
    limits: tuple[Limit, ...],
) -> _Promise:
    """ε at δ, where it was given, and the limits beside it."""
    if sigma is not None:
        raise InvalidParameterError(
            "sigma",
            sigma,
            "to be left out beside advantage and constraints, which are kept with the least sigma",
        )
    if (epsilon is None) != (delta is None):
        raise InvalidParameterError(
            "epsilon", epsilon, f"to be given with delta={delta!r}, both or neither"
        )
    if epsilon is not None:
        limits = ((positive("epsilon", epsilon), open_unit("delta", delta)), *limits)
    least = min(bound for _, bound in limits) if delta is None else open_unit("delta", delta)
    return _Promise(least, limits=tuple(dict.fromkeys(limits)))


def _best(request: Request, asked: _Promise, objective: Objective) -> Fitted:
    """The best law for what is asked."""
    if asked.mu is not None:
        best = fitted_for_mu(request, asked.mu)
        uses = request.compositions * best.law.uses
        epsilon = best.fit.request.loss(best.law.noise).compose(uses).epsilon(request.delta)
        return replace(best, law=replace(best.law, epsilon=epsilon))
    if asked.limits:
        if request.objective != "tight":
            raise InvalidParameterError(
                "objective", objective, 'to be "tight" beside advantage and constraints'
            )
        return fitted_within_limits(request, asked.limits)
    if asked.sigma is None:
        return fitted_within(request, positive("epsilon", asked.epsilon))
    return fitted_at(request, request.checked_sigma(positive("sigma", asked.sigma)))


def _as_design(asked: Request, best: Fitted, promised: _Promise) -> Design:
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
        status=_status(promised.mu, asked, None if optimum is None else optimum.status.value),
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
        constraints=held(_loss(asked, best), promised.limits),
        mu=promised.mu,
    )


def _status(mu: float | None, asked: Request, found: str | None) -> str:
    """What is known of how good the law is, in a sentence."""
    if mu is not None and isinstance(asked.changes, Box) and asked.touched == asked.batch:
        return BEST_OF_ITS_CURVE.format(share=spared_share(mu))
    return "A known law is the best found." if found is None else found


def _loss(asked: Request, best: Fitted) -> PrivacyLoss:
    """That of the whole use as it was asked for; a length of changes is not scaled."""
    request, found = best.fit.request, best.law
    is_length = isinstance(asked.changes, Euclidean)
    loss = (asked if is_length else request).loss(found.noise)
    return loss.compose(request.compositions * found.uses)


def _bounds(asked: Request, best: Fitted) -> Bounds:
    bounds = _loss(asked, best).epsilon_bounds(asked.delta)
    # a vector of that length moves no two answers by all of it
    is_length = isinstance(asked.changes, Euclidean)
    return Bounds(0.0, bounds.upper) if is_length and best.law.uses > 1 else bounds


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
    if request.parts is not None and request.domain == "integer":  # sigma is of all answers
        return abs((request.parts.error(noise.stds) / sigma) ** 2 - 1.0)
    if request.ties is not None:  # sigma is that of an answer with the tie 1
        widest = max(abs(tie) for tie in request.ties)
        sigma *= math.sqrt(0.5 * (1.0 + widest * widest))
    budget = request.cost.of(sigma)
    return max(abs(mass - 1.0), abs(noise.expected_cost(request.cost) / budget - 1.0))
