"""`design`: from a privacy target and a noise budget to the best law, with its proof."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from leastnoise.classic import generalized_gaussian, shift_in_steps
from leastnoise.closed_form import GaussianNoise
from leastnoise.cost import Cost, quadratic
from leastnoise.designer import candidates
from leastnoise.designer.candidates import Candidate, Setting
from leastnoise.designer.problem import bins_per_sensitivity
from leastnoise.designer.renyi import Settings, Status, discretisation_cost, solve
from leastnoise.designer.rivals import Rival, rivals
from leastnoise.errors import DesignError, InvalidParameterError, LeastNoiseError, one_of, open_unit, positive, positive_integer
from leastnoise.lattice import LatticeNoise
from leastnoise.noise import Domain, Noise
from leastnoise.privacy.loss import PrivacyLoss

Objective = Literal["tight", "renyi"]

SMALLEST_RATIO, LARGEST_RATIO = 0.05, 2_000.0  # sigma/sensitivity that can be designed for
_FREE_BELOW = 2.0  # sigma/sensitivity below which a law that ripples is tried as well
_CALIBRATED = 1e-4  # how far below the wanted epsilon a calibrated design may be
_ROUNDS = 12


@dataclass(frozen=True, eq=False)
class Design:
    """The best noise found for a request, and the proof of what it guarantees.

    Guarantees: `noise`, used for `compositions` releases of `batch` answers of the given sensitivity, is (`epsilon`,
    `delta`)-differentially private: `epsilon` is the judge's upper bound for the law itself, `epsilon_lower` a lower bound on the
    exact value. `epsilon` is at most that of every rival. No law of the family has a smaller Rényi divergence of order
    `renyi_order` than the one the search started from, up to the relative `gap`.
    """

    noise: Noise
    epsilon: float
    epsilon_lower: float
    delta: float
    sigma: float
    sensitivity: float
    compositions: int
    batch: int
    objective: Objective
    origin: str  # "optimised", or the name of the rival that could not be beaten
    renyi_order: float | None
    gap: float | None
    status: str
    discretisation: float | None  # relative cost of the bins and the tail, estimated
    moments_epsilon: float | None  # objective "renyi": the moments accountant's value, the paper's objective
    rivals: Mapping[str, float]

    @property
    def is_joint(self) -> bool:
        """Whether one draw of the noise serves the whole batch; if not, each answer gets an independent draw."""
        return self.noise.dimension == self.batch

    @property
    def uses(self) -> int:
        """How many times the noise is drawn over the whole use."""
        return self.compositions * (1 if self.is_joint else self.batch)

    def lattice_noise(self) -> LatticeNoise:
        """The law on a lattice, ready to be made exact: the noise itself, or the lattice form of a closed-form rival.

        The lattice form of a Gaussian or Laplace law has the same standard deviation and must be judged anew.
        """
        if isinstance(self.noise, LatticeNoise):
            return self.noise
        exponent = 2.0 if isinstance(self.noise, GaussianNoise) else 1.0
        return generalized_gaussian(self.noise.std, exponent, sensitivity=self.sensitivity)

    def summary(self) -> str:
        """The design in words and numbers, for people."""
        answers = f"{self.batch} answers at once" if self.batch > 1 else "one answer at a time"
        kind = "joint noise" if self.batch > 1 and self.is_joint else "independent noise"
        lines = [
            f"{self.origin} {self.noise.domain} noise ({kind}), {answers}, {self.compositions} release(s), "
            f"sensitivity {self.sensitivity:g}",
            f"  guarantee   epsilon = {self.epsilon:.6g} at delta = {self.delta:g} (exact value above {self.epsilon_lower:.6g})",
            f"  accuracy    standard deviation {self.noise.std:.6g}, ± {self.noise.interval(0.95):.4g} at 95 % from noise alone",
        ]
        if self.gap is not None and self.renyi_order is not None:
            lines.append(f"  certificate order {self.renyi_order:.4g}, relative duality gap {self.gap:.1e}: {self.status}")
        if self.discretisation is not None:
            lines.append(f"  lattice     bins and tail cost about {self.discretisation:.1e} of the divergence")
        if self.moments_epsilon is not None:
            lines.append(f"  moments accountant at this order: epsilon = {self.moments_epsilon:.6g}")
        lines.extend(f"  {name:<18} needs epsilon = {epsilon:.6g}" for name, epsilon in self.rivals.items())
        return "\n".join(lines)

    def __repr__(self) -> str:
        return (
            f"Design({self.origin}, epsilon={self.epsilon:.6g}, delta={self.delta:g}, sigma={self.sigma:.6g}, "
            f"sensitivity={self.sensitivity:g}, compositions={self.compositions}, batch={self.batch})"
        )


@dataclass(frozen=True)
class _Request:
    delta: float
    sensitivity: float
    compositions: int
    batch: int
    domain: Domain
    cost: Cost
    objective: Objective
    renyi_order: float | None
    step: float | None


def design(
    *,
    delta: float,
    sigma: float | None = None,
    epsilon: float | None = None,
    sensitivity: float = 1.0,
    compositions: int = 1,
    batch: int = 1,
    domain: Domain = "real",
    cost: Cost | None = None,
    objective: Objective = "tight",
    renyi_order: float | None = None,
    step: float | None = None,
) -> Design:
    """The noise that gives the least ε at a given `sigma`, or the least `sigma` at a given `epsilon`.

    `compositions` releases are made, each of `batch` answers that one person can move by up to `sensitivity` each. `sigma` is the
    standard deviation on one answer; with another `cost` c the budget is c(sigma). `domain="integer"` gives integer noise for
    integer answers. `objective="tight"` minimises the ε the judge certifies after composition; `"renyi"` the Rényi divergence of
    `renyi_order`, or, with `renyi_order=None`, the moments accountant over all orders, as the paper does. `step` fixes the lattice.

    Guarantees: see `Design`. What cannot be reached raises a DesignError that says what can.

    >>> best = design(delta=1e-6, sigma=8.0, compositions=10)
    >>> best.epsilon < 1.6185 < best.rivals["Gaussian"]
    True
    """
    if (sigma is None) == (epsilon is None):
        raise InvalidParameterError("sigma", sigma, f"or epsilon={epsilon!r} to be given, exactly one of them")
    cost = quadratic() if cost is None else cost
    if not isinstance(cost, Cost):
        raise InvalidParameterError("cost", cost, "to be a Cost, such as leastnoise.cost.absolute()")
    request = _Request(
        delta=open_unit("delta", delta),
        sensitivity=positive("sensitivity", sensitivity),
        compositions=positive_integer("compositions", compositions),
        batch=positive_integer("batch", batch),
        domain="integer" if one_of("domain", domain, ("real", "integer")) == "integer" else "real",
        cost=cost,
        objective="renyi" if one_of("objective", objective, ("tight", "renyi")) == "renyi" else "tight",
        renyi_order=renyi_order,
        step=step,
    )
    if renyi_order is not None and (objective != "renyi" or not float(renyi_order) >= 1.0):
        raise InvalidParameterError("renyi_order", renyi_order, 'to be at least 1, with objective="renyi"')
    if request.domain == "integer":
        positive_integer("sensitivity", sensitivity)
    if step is not None:
        shift_in_steps(request.sensitivity, positive("step", step))
    if sigma is not None:
        return _at_sigma(request, _checked_sigma(request, positive("sigma", sigma)))
    return _at_epsilon(request, positive("epsilon", epsilon))


def _checked_sigma(request: _Request, sigma: float) -> float:
    ratio = sigma / request.sensitivity
    if not SMALLEST_RATIO <= ratio <= LARGEST_RATIO:
        low, high = SMALLEST_RATIO * request.sensitivity, LARGEST_RATIO * request.sensitivity
        raise DesignError(f"Expected sigma={sigma!r} between {low:g} and {high:g} for sensitivity={request.sensitivity:g}.")
    return sigma


def _at_sigma(request: _Request, sigma: float) -> Design:
    """The best law at this budget: the optimised one, or the best rival where none of ours is better."""
    found = _optimised(request, sigma)
    others = rivals(
        sigma=sigma,
        sensitivity=request.sensitivity,
        delta=request.delta,
        compositions=request.compositions,
        batch=request.batch,
        domain=request.domain,
        cost=request.cost,
    )
    named = {rival.name: rival.epsilon for rival in others}
    if request.batch > 1:
        single = _optimised(replace(request, batch=1, compositions=request.compositions * request.batch), sigma)
        product = replace(single, batch=request.batch, compositions=request.compositions, origin="optimised")
        named["optimised product"] = product.epsilon
        found = product if product.epsilon < found.epsilon else found
    if request.objective == "tight" and others and others[0].epsilon < found.epsilon:
        found = _rival_as_design(request, sigma, others[0])
    return replace(found, rivals=MappingProxyType(dict(sorted(named.items(), key=lambda item: item[1]))))


def _optimised(request: _Request, sigma: float) -> Design:
    """The best law of the family for the request's objective, judged."""
    setting, step = _setting(request, sigma)
    moments = None
    if request.objective == "tight":
        candidate = candidates.best_tight(setting)
    elif request.renyi_order is not None:
        candidate = candidates.renyi_candidate(setting, float(request.renyi_order), None, Settings())
        if request.renyi_order > 1.0:
            moments = candidates.moments_value(candidate.optimum, setting)
    else:
        candidate, moments = candidates.best_moments(setting)
    best = _as_design(request, sigma, candidate, candidate.noise(step), moments)
    if request.batch == 1 and sigma / request.sensitivity < _FREE_BELOW:
        free = _free(request, sigma, setting, step, candidate, moments)
        best = free if free is not None and free.epsilon < best.epsilon else best
    return best


def _setting(request: _Request, sigma: float) -> tuple[Setting, float]:
    """The problem in lattice units, and the pitch of the lattice."""
    s = request.sensitivity
    fitting = 1.0 if request.domain == "integer" else s / bins_per_sensitivity(sigma / s)
    step = fitting if request.step is None else request.step
    shift = shift_in_steps(s, step)
    budget = float(request.cost.average(sigma, 1.0, "integer"))
    cost = request.cost
    if cost.exponent is not None:
        budget /= step**cost.exponent
    else:
        inner = request.cost.function
        cost = Cost(cost.name, lambda x: inner(step * x), cost.growth)
    return Setting(request.batch, shift, request.domain, cost, budget, request.delta, request.compositions), step


def _free(request: _Request, sigma: float, setting: Setting, step: float, near: Candidate, moments: float | None) -> Design | None:
    """The Rényi optimum of the same order without the demand that it be non-increasing, judged over all shifts."""
    order = near.problem.order
    if math.isinf(order):
        return None
    try:
        problem = setting.problem(order, monotone=False)
        optimum = solve(problem)
        noise = LatticeNoise.from_log_weights(optimum.log_h, problem.tail_ratio, step=step, domain=request.domain)
        return _as_design(request, sigma, replace(near, problem=problem, optimum=optimum), noise, moments)
    except LeastNoiseError:
        return None


def _as_design(request: _Request, sigma: float, candidate: Candidate, noise: Noise, moments: float | None) -> Design:
    bounds = PrivacyLoss.of(noise, request.sensitivity).compose(request.compositions).epsilon_bounds(request.delta)
    optimum = candidate.optimum
    cost = discretisation_cost(optimum)
    return Design(
        noise=noise,
        epsilon=bounds.upper,
        epsilon_lower=bounds.lower,
        delta=request.delta,
        sigma=sigma,
        sensitivity=request.sensitivity,
        compositions=request.compositions,
        batch=request.batch,
        objective=request.objective,
        origin="optimised",
        renyi_order=optimum.problem.order,
        gap=optimum.gap,
        status=optimum.status.value if optimum.status is not Status.NOT_REACHED else Status.NOT_REACHED.value,
        discretisation=cost.bins + cost.tail,
        moments_epsilon=moments,
        rivals=MappingProxyType({}),
    )


def _rival_as_design(request: _Request, sigma: float, rival: Rival) -> Design:
    loss = PrivacyLoss.of(rival.noise, request.sensitivity).compose(request.compositions * rival.uses)
    bounds = loss.epsilon_bounds(request.delta)
    return Design(
        noise=rival.noise,
        epsilon=bounds.upper,
        epsilon_lower=bounds.lower,
        delta=request.delta,
        sigma=sigma,
        sensitivity=request.sensitivity,
        compositions=request.compositions,
        batch=request.batch,
        objective=request.objective,
        origin=rival.name,
        renyi_order=None,
        gap=None,
        status="A known law is the best found.",
        discretisation=None,
        moments_epsilon=None,
        rivals=MappingProxyType({}),
    )


def _at_epsilon(request: _Request, epsilon: float) -> Design:
    """The least sigma whose design is certified at or below `epsilon`: secant steps on log ε against log σ."""
    s = request.sensitivity
    low, high = SMALLEST_RATIO, LARGEST_RATIO
    ratio = min(max(_gaussian_ratio(request, epsilon) * 0.95, 1.01 * low), 0.99 * high)
    best: Design | None = None
    tried: list[tuple[float, float]] = []
    for _ in range(_ROUNDS):
        reached = _at_sigma(request, ratio * s)
        tried.append((math.log(ratio), math.log(reached.epsilon)))
        if reached.epsilon <= epsilon:
            high = min(high, ratio)
            best = reached if best is None or reached.sigma < best.sigma else best
            if reached.epsilon >= epsilon * (1.0 - _CALIBRATED):
                break
        else:
            low = max(low, ratio)
        moved = _secant(tried, math.log(epsilon * (1.0 - 0.3 * _CALIBRATED)))
        inside = low * (1.0 + 1e-12) < moved < high * (1.0 - 1e-12)
        ratio = moved if inside else math.sqrt(low * high)
        if high / low < 1.0 + 1e-9:
            break
    if best is None:
        reachable = _at_sigma(request, LARGEST_RATIO * 0.99 * s).epsilon
        raise DesignError(
            f"Expected epsilon={epsilon!r} to be at least {reachable:.4g}, what the largest sigma, {LARGEST_RATIO * s:g}, gives."
        )
    if best.epsilon < epsilon * 0.99 and best.sigma <= 1.02 * SMALLEST_RATIO * s:
        raise DesignError(
            f"Expected epsilon={epsilon!r} to be at most {best.epsilon:.4g}, what the smallest sigma, {best.sigma:.4g}, gives."
        )
    return best


def _secant(tried: list[tuple[float, float]], target: float) -> float:
    """The ratio at which log ε should be `target`, from the last one or two designs."""
    x, y = tried[-1]
    slope = -1.1
    if len(tried) > 1 and abs(tried[-1][0] - tried[-2][0]) > 1e-12:
        slope = (tried[-1][1] - tried[-2][1]) / (tried[-1][0] - tried[-2][0])
        slope = min(max(slope, -3.0), -0.3)
    return math.exp(x + min(max((target - y) / slope, -1.0), 1.0))


def _gaussian_ratio(request: _Request, epsilon: float) -> float:
    """sigma/sensitivity of the Gaussian law that just reaches `epsilon`, for a start."""
    from leastnoise.classic import gaussian

    low, high = math.log(SMALLEST_RATIO), math.log(LARGEST_RATIO)
    for _ in range(40):
        middle = 0.5 * (low + high)
        loss = PrivacyLoss.of(gaussian(math.exp(middle)), 1.0).compose(request.compositions * request.batch)
        low, high = (middle, high) if loss.epsilon(request.delta) > epsilon else (low, middle)
    return math.exp(high)
