"""`design`: from a privacy target and a noise budget to the best law, with its proof."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

import numpy as np

from leastnoise.ball import BallNoise, sphere
from leastnoise.classic import discrete_gaussian, gaussian, generalized_gaussian, laplace, lattice_step
from leastnoise.closed_form import GaussianNoise
from leastnoise.cost import Cost, quadratic
from leastnoise.designer import batches, candidates
from leastnoise.designer.candidates import Candidate, Setting
from leastnoise.designer.renyi import Settings, discretisation_cost
from leastnoise.designer.rivals import PRODUCTS, Rival, expected_cost, plain_cube, rivals
from leastnoise.digits import above, below
from leastnoise.errors import (
    DesignError,
    InvalidParameterError,
    LeastNoiseError,
    UnsupportedError,
    at_least,
    one_of,
    open_unit,
    positive,
    positive_integer,
    real_number,
)
from leastnoise.lattice import LatticeNoise
from leastnoise.noise import Domain, Noise
from leastnoise.privacy.loss import PrivacyLoss
from leastnoise.privacy.tables import single_loss
from leastnoise.steps import shift_in_steps, step_of

Objective = Literal["tight", "renyi"]

MOST_ANSWERS = 10_000  # of a batch; there a joint draw gains less than 1 % over independent noise
SMALLEST_RATIO, LARGEST_RATIO = 0.05, 2_000.0  # sigma/sensitivity that can be designed for
_CALIBRATED = 1e-4  # how far below the wanted epsilon a calibrated design may be
_NEAR = 0.02  # how close to the wanted epsilon the search stops looking for other laws and adjusts the one it has
_ROUNDS = 30
_TIE, _FEW = 1e-4, 1e-3  # of ε, within which a law is preferred whose failures use less than this share of δ
_KNOWN_ROUNDS = 8  # of the search for a known law's sigma
FAILURES = (LeastNoiseError, ArithmeticError, ValueError, np.linalg.LinAlgError)  # of a program beyond the solver
_PRODUCT_CHANCE = 0.8  # independent noise is not optimised where the joint law is this far below every known product


@dataclass(frozen=True, eq=False)
class Design:
    """The best noise found for a request, and the proof of what it guarantees.

    Guarantees: `noise`, used for `compositions` releases of `batch` answers of the given sensitivity, is (`epsilon`,
    `delta`)-differentially private: `epsilon` is the judge's upper bound for the law itself, `epsilon_lower` a lower bound on the
    exact value. With the objective "tight" `epsilon` is at most that of every rival. No non-increasing law of the family has a
    smaller Rényi divergence of order `renyi_order` than the one the search started from, up to the relative `gap`.
    """

    noise: Noise
    epsilon: float
    epsilon_lower: float
    delta: float
    sigma: float
    sensitivity: float  # the largest, where the answers have different ones
    sensitivities: tuple[float, ...]  # of each answer of a batch
    compositions: int
    batch: int
    touched: int  # how many answers of a batch one person can change
    objective: Objective
    origin: str  # "optimised", or the name of the rival that could not be beaten
    renyi_order: float | None
    gap: float | None
    status: str
    residual: float  # how far the law is from unit mass and from its cost budget, relatively
    discretisation: float | None  # relative cost of the bins and the tail, estimated
    moments_epsilon: float | None  # objective "renyi": the moments accountant's value, the paper's objective
    rivals: Mapping[str, float]

    @property
    def is_joint(self) -> bool:
        """Whether one draw of the noise serves the whole batch."""
        return self.noise.dimension == self.batch

    @property
    def blocks(self) -> int:
        """How many draws one release takes: the batch is cut into blocks of `noise.dimension` answers, the last one padded."""
        return math.ceil(self.batch / self.noise.dimension)

    @property
    def uses(self) -> int:
        """How many draws one person can influence over the whole use: what the guarantee composes."""
        return self.compositions * min(self.blocks, self.touched)

    @property
    def scales(self) -> tuple[float, ...]:
        """What the noise on each answer is multiplied by: its sensitivity over the largest one."""
        return tuple(each / self.sensitivity for each in self.sensitivities)

    @property
    def reason(self) -> str:
        """Why the batch is served as it is, in a sentence."""
        if self.batch == 1:
            return "one answer a release"
        product = min((e for name, e in self.rivals.items() if name in PRODUCTS), default=math.nan)
        if self.noise.dimension == 1:
            return f"independent noise on each answer: one person changes {min(self.touched, self.batch)} of {self.batch}"
        kind = "one joint draw" if self.is_joint else f"joint noise on {self.blocks} blocks of {self.noise.dimension} answers"
        return f"{kind} for {self.batch} answers: epsilon {self.epsilon:.4g} against {product:.4g} for independent noise"

    def lattice_noise(self) -> LatticeNoise:
        """The law on a lattice, ready to be made exact: the noise itself, or the lattice form of a closed-form rival.

        The lattice form of a Gaussian or Laplace law has the same standard deviation and must be judged anew.
        """
        if isinstance(self.noise, LatticeNoise):
            return self.noise
        if isinstance(self.noise, BallNoise):
            raise UnsupportedError(
                "The best law here is the sphere, which is drawn exactly without integer weights: use its sample and release."
            )
        exponent = 2.0 if isinstance(self.noise, GaussianNoise) else 1.0
        return generalized_gaussian(self.noise.std, exponent, sensitivity=self.sensitivity)

    def summary(self) -> str:
        """The design in words and numbers, for people."""
        answers = f"{self.batch} answers at once" if self.batch > 1 else "one answer at a time"
        lines = [
            f"{self.origin} {self.noise.domain} noise, {answers}, {self.compositions} release(s), sensitivity {self.sensitivity:g}",
            f"  body        {self.reason}",
            f"  guarantee   epsilon = {above(self.epsilon, 6)} at delta = {self.delta:g} "
            f"(exact value above {below(self.epsilon_lower, 6)})",
            f"  accuracy    standard deviation {self.noise.std:.6g}, ± {above(self.noise.interval(0.95))} at 95 % from noise alone",
        ]
        if self.gap is not None and self.renyi_order is not None:
            lines.append(f"  certificate order {self.renyi_order:.4g}, relative duality gap {self.gap:.1e}: {self.status}")
        lines.append(f"  residual    mass and cost meet their constraints to {self.residual:.1e}")
        if self.discretisation is not None:
            lines.append(f"  lattice     bins and tail cost about {self.discretisation:.1e} of the divergence")
        if self.moments_epsilon is not None:
            lines.append(f"  moments accountant at this order: epsilon = {self.moments_epsilon:.6g}")
        lines.extend(f"  {name:<18} needs epsilon = {epsilon:.6g}" for name, epsilon in self.rivals.items())
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from leastnoise.interop.notebook import design_html

        return design_html(self)

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
    touched: int
    sensitivities: tuple[float, ...]
    domain: Domain
    cost: Cost
    objective: Objective
    renyi_order: float | None
    step: float | None


@dataclass(frozen=True, eq=False)
class _Found:
    """A law that is a candidate for the answer, and what is known of its making; its ε is an upper bound."""

    noise: Noise
    epsilon: float
    uses: int  # of the noise in one release of the whole batch
    origin: str = "optimised"
    candidate: Candidate | None = None
    moments: float | None = None


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
) -> Design:
    """The noise that gives the least ε at a given `sigma`, or the least `sigma` at a given `epsilon`.

    `compositions` releases are made, each of `batch` answers that one person can move by up to `sensitivity` each. `sigma` is the
    standard deviation on one answer; with another `cost` c the budget is c(sigma). `domain="integer"` gives integer noise for
    integer answers. `objective="tight"` minimises the ε the judge certifies after composition; `"renyi"` the Rényi divergence of
    `renyi_order`, or, with `renyi_order=None`, the moments accountant over all orders, as the paper does. `step` fixes the lattice.

    A batch may have one sensitivity for each answer: the noise is then designed for the largest, at which `sigma` holds, and is
    multiplied by `Design.scales`. If one person can change at most `touched` of the answers, independent noise costs that many
    compositions and competes with joint noise; blocks of answers with joint noise on each are tried too.

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
    batch = positive_integer("batch", batch)
    if batch > MOST_ANSWERS:
        raise InvalidParameterError("batch", batch, f"to be at most {MOST_ANSWERS}: independent noise serves more as well")
    sensitivities = _sensitivities(sensitivity, batch, domain)
    request = _Request(
        delta=open_unit("delta", delta),
        sensitivity=max(sensitivities),
        compositions=positive_integer("compositions", compositions),
        batch=batch,
        touched=batch if touched is None else min(positive_integer("touched", touched), batch),
        sensitivities=sensitivities,
        domain="integer" if one_of("domain", domain, ("real", "integer")) == "integer" else "real",
        cost=cost,
        objective="renyi" if one_of("objective", objective, ("tight", "renyi")) == "renyi" else "tight",
        renyi_order=None if renyi_order is None else _checked_order(renyi_order, objective),
        step=None if step is None else positive("step", step),
    )
    if request.domain == "integer":
        positive_integer("sensitivity", request.sensitivity)
    if request.step is not None:
        lattice_step(1.0, request.sensitivity, request.step, request.domain)
    if sigma is not None:
        return _at_sigma(request, _checked_sigma(request, positive("sigma", sigma)))
    return _at_epsilon(request, positive("epsilon", epsilon))


def _sensitivities(sensitivity: float | Sequence[float], batch: int, domain: str) -> tuple[float, ...]:
    """One sensitivity for each answer of the batch."""
    if not isinstance(sensitivity, (Sequence, np.ndarray)) or isinstance(sensitivity, (str, bytes)):
        return (at_least("sensitivity", sensitivity),) * batch
    found = tuple(at_least(f"sensitivity[{index}]", each) for index, each in enumerate(sensitivity))
    if len(found) != batch:
        raise InvalidParameterError("sensitivity", list(found), f"to have one entry for each of batch={batch} answers")
    if domain == "integer" and len(set(found)) > 1:
        raise InvalidParameterError("sensitivity", list(found), 'to be the same for all answers when domain="integer"')
    return found


def _checked_order(order: float, objective: str) -> float:
    infinite = isinstance(order, (float, np.floating)) and order == math.inf
    number = math.inf if infinite else real_number("renyi_order", order)
    if objective != "renyi" or number < 1.0:
        raise InvalidParameterError("renyi_order", order, 'to be at least 1, with objective="renyi"')
    return number


def _checked_sigma(request: _Request, sigma: float) -> float:
    ratio = sigma / request.sensitivity
    if not SMALLEST_RATIO <= ratio <= LARGEST_RATIO:
        low, high = SMALLEST_RATIO * request.sensitivity, LARGEST_RATIO * request.sensitivity
        raise DesignError(f"Expected sigma={sigma!r} between {low:g} and {high:g} for sensitivity={request.sensitivity:g}.")
    return sigma


def _at_sigma(request: _Request, sigma: float, ours: _Found | None = None) -> Design:
    """The best law at this budget: the optimised one, or the best rival where none of ours is better."""
    found = [_attempted(request, sigma) if ours is None else ours]
    others = rivals(
        sigma=sigma,
        sensitivity=request.sensitivity,
        delta=request.delta,
        compositions=request.compositions,
        batch=request.batch,
        touched=request.touched,
        domain=request.domain,
        cost=request.cost,
    )
    named = {rival.name: rival.epsilon for rival in others}
    if request.batch > 1:
        found.extend(_splits(request, sigma, found[0], others))
        for law in found[1:]:
            if law.noise.dimension == 1 and law.origin == "optimised":
                named["optimised product"] = law.epsilon
    if request.objective == "tight":
        found.extend(_Found(rival.noise, rival.epsilon, rival.uses, rival.name) for rival in others)
    return _as_design(request, sigma, _preferred(found, request), named)


def _preferred(found: Sequence[_Found], request: _Request) -> _Found:
    """The law of least ε (the first of equals: ours before a rival's); of those within `_TIE` of it rather one that does not fail.

    A law that ends where a neighbour's goes on reveals a person outright with some probability. That may be up to δ, but not for
    nothing: for ten answers together the gain is 3e-5 of σ, and a fourth of δ would go. What fails also leaves less for the
    releases that follow.
    """
    best = min(found, key=lambda law: law.epsilon)
    near = [law for law in found if law.epsilon <= best.epsilon * (1.0 + _TIE)]
    if len(near) == 1:
        return best
    spared = [law for law in near if _failures(law, request) <= _FEW * request.delta]
    return min(spared or near, key=lambda law: law.epsilon)


def _failures(law: _Found, request: _Request) -> float:
    """The probability of unbounded loss over the whole use."""
    return request.compositions * law.uses * single_loss(law.noise, request.sensitivity).infinite


def _splits(request: _Request, sigma: float, joint: _Found, others: Sequence[Rival]) -> list[_Found]:
    """The batch served otherwise than by one joint draw, where that has a chance: independent noise, and joint noise on blocks."""
    chance = {split.size: split for split in batches.splits(request.batch, request.touched)}
    products = [rival.epsilon for rival in others if rival.noise.dimension == 1]
    tried = []
    if not joint.epsilon < _PRODUCT_CHANCE * min(products, default=math.inf):
        tried.append(chance[1])
    if request.cost.exponent == 2.0:
        guide = {
            size: batches.plain_epsilon(
                split,
                sigma=sigma,
                sensitivity=request.sensitivity,
                delta=request.delta,
                compositions=request.compositions,
                domain=request.domain,
            )
            for size, split in chance.items()
            if 1 < size < request.batch
        }
        known = min([joint.epsilon, *(rival.epsilon for rival in others)])
        likely = min(guide, key=lambda size: guide[size], default=0)
        if likely and guide[likely] < 1.05 * known:
            tried.append(chance[likely])
    found = []
    for split in tried:
        part = replace(
            request, batch=split.size, touched=split.size, compositions=request.compositions * split.touched,
        )  # fmt: skip
        try:
            found.append(replace(_optimised(part, sigma, None), uses=split.touched))
        except FAILURES:
            continue
        if split.size >= batches.LEAST_SPHERE and request.domain == "real" and request.cost.exponent == 2.0:
            ball = sphere(sigma, split.size, sensitivity=request.sensitivity)
            loss = PrivacyLoss.of(ball, request.sensitivity).compose(request.compositions * split.touched)
            found.append(_Found(ball, loss.epsilon(request.delta), split.touched, "sphere"))
    return found


def _attempted(request: _Request, sigma: float, near: _Found | None = None) -> _Found:
    """`_optimised`; for a batch whose joint program is beyond the solver, independent Gaussian noise, with which the other ways to
    serve the batch then compete."""
    try:
        return _optimised(request, sigma, near)
    except FAILURES as failure:
        if request.batch == 1 or request.cost.exponent != 2.0:
            if isinstance(failure, LeastNoiseError):
                raise
            raise DesignError(f"No law was found for sigma={sigma!r}: {failure}.") from failure
    noise = discrete_gaussian(sigma) if request.domain == "integer" else gaussian(sigma)
    loss = PrivacyLoss.of(noise, request.sensitivity).compose(request.compositions * request.touched)
    name = "discrete Gaussian" if request.domain == "integer" else "Gaussian"
    return _Found(noise, loss.epsilon(request.delta), request.touched, name)


def _optimised(request: _Request, sigma: float, near: _Found | None = None) -> _Found:
    """The best law of the family for the request's objective; `near` is that of almost the same sigma, to start from."""
    lattice = _lattice(request, sigma, None if near is None else near.noise.step)
    setting, moments = lattice.setting, None
    if request.objective == "tight":
        moved = None if near is None or near.candidate is None else candidates.adjusted(near.candidate, setting)
        candidate = candidates.best_tight(setting) if moved is None else moved
    elif request.renyi_order is None:
        candidate, moments = candidates.best_moments(setting)
    else:
        candidate = candidates.freed(candidates.renyi_candidate(setting, request.renyi_order, None, Settings()), setting)
        if request.renyi_order > 1.0:
            moments = candidates.moments_value(candidate.optimum, setting)
    noise = lattice.noise(candidate)
    # Judged as it stands: the search's own ε may differ in the last digits, and a tie with a rival is decided by them.
    loss = PrivacyLoss.of(noise, request.sensitivity).compose(request.compositions)
    return _Found(noise, loss.epsilon(request.delta), 1, candidate=candidate, moments=moments)


@dataclass(frozen=True)
class _Lattice:
    """The problem in lattice units, and how a law of it is written in the user's: see `candidates.block_size`."""

    setting: Setting
    step: float
    domain: Domain
    block: int = 1

    def noise(self, candidate: Candidate) -> LatticeNoise:
        log_h, ratio = candidates.in_integers(candidate.log_h, candidate.tail_ratio, self.block)
        return LatticeNoise.from_log_weights(log_h, ratio, step=self.step, domain=self.domain, dimension=self.setting.dimension)


def _lattice(request: _Request, sigma: float, step: float | None = None) -> _Lattice:
    s, cost, batch = request.sensitivity, request.cost, request.batch
    whole = float(cost.average(sigma, 1.0, "integer"))
    if not whole > 0.0:
        raise InvalidParameterError("cost of sigma", whole, "to be positive")

    def in_steps(step: float) -> tuple[Cost, float]:
        if cost.exponent is not None:
            return cost, whole / step**cost.exponent
        return Cost(cost.name, lambda x: cost.function(step * x), cost.growth), whole

    def lattice(step: float, domain: Domain) -> _Lattice:
        scaled, budget = in_steps(step)
        shift = shift_in_steps(s, step)
        setting = Setting(batch, shift, domain, scaled, budget, sigma / s, request.delta, request.compositions)
        return _Lattice(setting, step, request.domain)

    if request.domain == "integer":
        block = candidates.block_size(round(s), candidates.bins(sigma / s)) if cost.exponent == 2.0 else 1
        if block == 1:
            return lattice(1.0, "integer")
        whole += 1.0 / 12.0
        return replace(lattice(float(block), "real"), step=1.0, block=block)
    if request.step is not None or step is not None:
        return lattice(request.step or step or 1.0, "real")
    if cost.exponent is not None:
        parts = candidates.aligned_bins(sigma / s, batch, cost, lambda m: in_steps(s / m)[1])
        return lattice(step_of(s, parts), "real")
    return lattice(step_of(s, candidates.bins(sigma / s)), "real")


def _as_design(request: _Request, sigma: float, found: _Found, named: Mapping[str, float]) -> Design:
    """The law judged as it stands, with the lower bound and all that is known of it."""
    loss = PrivacyLoss.of(found.noise, request.sensitivity).compose(request.compositions * found.uses)
    bounds = loss.epsilon_bounds(request.delta)
    optimum = None if found.candidate is None else candidates.certified(found.candidate.optimum)
    bins = None if optimum is None else discretisation_cost(optimum)
    return Design(
        noise=found.noise,
        epsilon=bounds.upper,
        epsilon_lower=bounds.lower,
        delta=request.delta,
        sigma=sigma,
        sensitivity=request.sensitivity,
        sensitivities=request.sensitivities,
        compositions=request.compositions,
        batch=request.batch,
        touched=request.touched,
        objective=request.objective,
        origin=found.origin,
        renyi_order=None if optimum is None else optimum.problem.order,
        gap=None if optimum is None else optimum.gap,
        status="A known law is the best found." if optimum is None else optimum.status.value,
        residual=_residual(found.noise, request.cost, sigma),
        discretisation=None if bins is None else bins.bins + bins.tail,
        moments_epsilon=found.moments,
        rivals=MappingProxyType(dict(sorted(named.items(), key=lambda item: item[1]))),
    )


def _residual(noise: Noise, cost: Cost, sigma: float) -> float:
    whole = float(cost.average(sigma, 1.0, "integer"))
    mass = noise.total if isinstance(noise, LatticeNoise) else 1.0
    return max(abs(mass - 1.0), abs(expected_cost(noise, cost) / whole - 1.0))


def _at_epsilon(request: _Request, epsilon: float) -> Design:
    """The least sigma whose design is certified at or below `epsilon`: secant steps on log ε against log σ, kept in a bracket.

    The search looks at our own law alone; the rivals join once that is calibrated, and stay in the search if one of them wins.
    """
    s = request.sensitivity
    low, high = SMALLEST_RATIO, LARGEST_RATIO
    ratio = _first_ratio(request, epsilon)
    best: Design | None = None
    tried: list[tuple[float, float]] = []
    alone, near = True, None
    for _ in range(_ROUNDS):
        ours = _attempted(request, ratio * s, near)
        near = ours if abs(ours.epsilon / epsilon - 1.0) < _NEAR else None
        reached, design = ours.epsilon, None
        at_end = ratio in (SMALLEST_RATIO, LARGEST_RATIO)
        if not alone or at_end or _calibrated(reached, epsilon) or high <= low * (1.0 + 1e-9):
            design = _at_sigma(request, ratio * s, ours)
            if alone and design.noise is not ours.noise:  # another law wins: what was learnt about ours is void
                alone, low, high, tried = False, SMALLEST_RATIO, LARGEST_RATIO, []
                at_end = at_end and design.epsilon > epsilon  # only then is the end of the range the end of the search
            reached = design.epsilon
            if reached <= epsilon and (best is None or design.sigma < best.sigma):
                best = design
        if design is not None and (at_end or _calibrated(reached, epsilon) or high <= low * (1.0 + 1e-9)):
            break
        low, high = (low, min(high, ratio)) if reached <= epsilon else (max(low, ratio), high)
        tried.append((math.log(ratio), math.log(max(reached, 1e-12))))
        ratio = _next_ratio(_secant(tried, math.log(epsilon * (1.0 - 0.3 * _CALIBRATED))), low, high)
    if ratio == LARGEST_RATIO and reached > epsilon:
        raise DesignError(
            f"Expected epsilon={epsilon!r} to be at least {reached:.4g}, what the largest sigma, {LARGEST_RATIO * s:g}, gives."
        )
    if ratio == SMALLEST_RATIO and reached < epsilon * (1.0 - _CALIBRATED):
        raise DesignError(
            f"Expected epsilon={epsilon!r} to be at most {reached:.4g}, what the smallest sigma, {SMALLEST_RATIO * s:g}, gives."
        )
    # Where ε jumps over the wanted value, or the rounds ran out, the upper end of the bracket is on the safe side.
    return _at_sigma(request, high * s) if best is None else best


def _calibrated(reached: float, epsilon: float) -> bool:
    return epsilon * (1.0 - _CALIBRATED) <= reached <= epsilon


def _next_ratio(wanted: float, low: float, high: float) -> float:
    """`wanted` if it lies inside the bracket; else an end that was not tried yet, or the middle."""
    if wanted <= low:
        return low if low == SMALLEST_RATIO else math.sqrt(low * high)
    if wanted >= high:
        return high if high == LARGEST_RATIO else math.sqrt(low * high)
    return wanted


def _secant(tried: list[tuple[float, float]], target: float) -> float:
    """The ratio at which log ε should be `target`, from the last one or two designs."""
    x, y = tried[-1]
    slope = -1.1
    if len(tried) > 1 and abs(tried[-1][0] - tried[-2][0]) > 1e-12:
        slope = (tried[-1][1] - tried[-2][1]) / (tried[-1][0] - tried[-2][0])
        slope = min(max(slope, -3.0), -0.3)
    return math.exp(x + min(max((target - y) / slope, -1.0), 1.0))


def _first_ratio(request: _Request, epsilon: float) -> float:
    """sigma/sensitivity to start from: that of the known law that reaches `epsilon` with the least noise; where this is the
    Gaussian law a little less, for ours is then better."""
    uses = request.compositions * request.touched
    low, high = math.log(SMALLEST_RATIO), math.log(LARGEST_RATIO)
    while high - low > 0.01:
        middle = 0.5 * (low + high)
        reached = PrivacyLoss.of(gaussian(math.exp(middle)), 1.0).compose(uses).epsilon(request.delta)
        low, high = (middle, high) if reached > epsilon else (low, middle)
    found = [0.95 * math.exp(high)]
    if request.batch == 1:
        found.append(_known_ratio(laplace, request, epsilon, math.exp(high)))
    elif request.domain == "real":
        found.append(_known_ratio(lambda ratio: plain_cube(ratio, request.batch, 1.0, "real"), request, epsilon, math.exp(high)))
        if request.batch >= batches.LEAST_SPHERE:
            found.append(_known_ratio(lambda ratio: sphere(ratio, request.batch), request, epsilon, math.exp(high)))
    return min(max(min(found), SMALLEST_RATIO), LARGEST_RATIO)


def _known_ratio(law: Callable[[float], Noise], request: _Request, epsilon: float, start: float) -> float:
    """The sigma of a family of joint laws of unit sensitivity that just reaches `epsilon`; +inf where no such law is found."""
    tried: list[tuple[float, float]] = []
    ratio, target = start, math.log(epsilon * (1.0 - 0.3 * _CALIBRATED))
    for _ in range(_KNOWN_ROUNDS):
        try:
            reached = PrivacyLoss.of(law(ratio), 1.0).compose(request.compositions).epsilon(request.delta)
        except FAILURES:
            return math.inf
        if _calibrated(reached, epsilon):
            return ratio
        if not 0.0 < reached < math.inf:
            return math.inf
        tried.append((math.log(ratio), math.log(reached)))
        ratio = _secant(tried, target)
        if not SMALLEST_RATIO < ratio < LARGEST_RATIO:
            return math.inf
    return ratio
