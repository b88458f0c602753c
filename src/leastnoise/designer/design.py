"""`design`: from a privacy target and a noise budget to the best law, with its proof."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Literal

import numpy as np
from scipy.optimize import brentq

from leastnoise.ball import BallNoise, sphere
from leastnoise.classic import gaussian, generalized_gaussian, laplace, lattice_step
from leastnoise.closed_form import GaussianNoise
from leastnoise.cost import Cost, quadratic
from leastnoise.designer import batches, candidates, whole
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
LARGEST_RATIO = 2_000.0  # sigma/sensitivity that can be designed for
MOST_INTEGERS = 20_000.0  # sigma of integer noise, of which every integer within fifty sigmas has a probability of its own
# The least sigma/sensitivity: on the real line 12,000 bins a sensitivity, on the integers what integer weights still draw exactly
# (the weight of 0 has 53 bits, and at 1e-6 rounding the others moves ε by more than 1e-6 of itself).
_SMALLEST: Mapping[Domain, float] = {"real": 1e-3, "integer": 1e-5}
_SMALLEST_JOINT: Mapping[Domain, float] = {
    "real": 0.01,
    "integer": 1e-5,
}  # of joint laws: below, each answer has noise of its own
_CALIBRATED = 1e-4  # how far below the wanted epsilon a calibrated design may be
_ROUGHLY = 0.01  # and one that only says where to begin
_CLOSED = 1e-7  # a bracket of sigma this narrow holds a jump of ε
_LEAST = 1e-3  # of the wanted epsilon: what is below says no more about how far sigma is from it
# How close to the wanted epsilon, or how small a step of log sigma, for the search to adjust the law it has and look for no other.
_NEAR, _NEXT = 0.05, 3e-3
_ROUNDS = 30
_TURNS = 4  # laws that may win one after the other while sigma is looked for
_WIDEST = 4.0  # radius of uniform noise of the cost c(sigma), in sigmas: √3 for the quadratic cost, e for log(1 + |z|)
_STEEP = 6.0  # of ε a release, from which sigma falls exponentially
_FEW_HUNDREDTHS = 0.05  # sigma/sensitivity from which known laws are looked at for a start
_TIE, _FEW = (
    1e-4,
    1e-3,
)  # of ε, within which a law is preferred whose failures use less than this share of δ
_USUAL_SLOPE, _STEEPEST, _STRAIGHT, _FLATTEST = -1.1, -1e4, -10.0, -0.02  # of log ε against log σ
_LONGEST = 1.5  # step of log σ
_FAR = 0.8
_NEARBY = 0.2  # log σ, within which the linear program's sigma is expected
_KNOWN_ROUNDS = 8  # of the search for a known law's sigma
FAILURES = (
    LeastNoiseError,
    ArithmeticError,
    ValueError,
    np.linalg.LinAlgError,
)  # of a program beyond the solver
_BLOCK_CHANCE = 1.1  # joint noise on blocks is not optimised where it is this far above another law without descent
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
    moments_epsilon: (
        float | None
    )  # objective "renyi": the moments accountant's value, the paper's objective
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
        kind = (
            "one joint draw"
            if self.is_joint
            else f"joint noise on {self.blocks} blocks of {self.noise.dimension} answers"
        )
        return f"{kind} for {self.batch} answers: epsilon {above(self.epsilon)} against {above(product)} for independent noise"

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
            f"{self.origin} {self.noise.domain} noise, {answers}, {self.compositions} release(s), "
            f"sensitivity {below(self.sensitivity, 6)}",
            f"  body        {self.reason}",
            f"  guarantee   epsilon = {above(self.epsilon, 6)} at delta = {above(self.delta, 6)} "
            f"(exact value above {below(self.epsilon_lower, 6)})",
            f"  accuracy    standard deviation {self.noise.std:.6g}, ± {above(self.noise.interval(0.95))} at 95 % from noise alone",
        ]
        if self.gap is not None and self.renyi_order is not None:
            lines.append(
                f"  certificate order {self.renyi_order:.4g}, relative duality gap {self.gap:.1e}: {self.status}"
            )
        lines.append(f"  residual    mass and cost meet their constraints to {self.residual:.1e}")
        if self.discretisation is not None:
            lines.append(
                f"  lattice     bins and tail cost about {self.discretisation:.1e} of the divergence"
            )
        if self.moments_epsilon is not None:
            lines.append(
                f"  moments accountant at this order: epsilon = {above(self.moments_epsilon, 6)}"
            )
        lines.extend(
            f"  {name:<18} needs epsilon = {above(epsilon, 6)}"
            for name, epsilon in self.rivals.items()
        )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from leastnoise.interop.notebook import design_html

        return design_html(self)

    def __repr__(self) -> str:
        return (
            f"Design({self.origin}, epsilon={above(self.epsilon, 6)}, delta={above(self.delta, 6)}, sigma={self.sigma:.6g}, "
            f"sensitivity={below(self.sensitivity, 6)}, compositions={self.compositions}, batch={self.batch})"
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
    again: _Way  # makes the law of this kind at another sigma
    origin: str = "optimised"
    candidate: Candidate | None = None
    moments: float | None = None


# From a sigma and a law found nearby, or None, to the law of one kind at that sigma.
_Way = Callable[[float, "_Found | None"], _Found]


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

    `sigma` may be from 0.001 sensitivities (for integer noise 1e-5) to 2,000; `epsilon` is what such noise needs.

    Guarantees: see `Design`. What cannot be reached raises a DesignError that says what can.

    >>> best = design(delta=1e-6, sigma=8.0, compositions=10)
    >>> best.epsilon < 1.6185 < best.rivals["Gaussian"]
    True
    """
    if (sigma is None) == (epsilon is None):
        raise InvalidParameterError(
            "sigma", sigma, f"or epsilon={epsilon!r} to be given, exactly one of them"
        )
    cost = quadratic() if cost is None else cost
    if not isinstance(cost, Cost):
        raise InvalidParameterError(
            "cost", cost, "to be a Cost, such as leastnoise.cost.absolute()"
        )
    batch = positive_integer("batch", batch)
    if batch > MOST_ANSWERS:
        raise InvalidParameterError(
            "batch", batch, f"to be at most {MOST_ANSWERS}: independent noise serves more as well"
        )
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
        objective="renyi"
        if one_of("objective", objective, ("tight", "renyi")) == "renyi"
        else "tight",
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


def _sensitivities(
    sensitivity: float | Sequence[float], batch: int, domain: str
) -> tuple[float, ...]:
    """One sensitivity for each answer of the batch."""
    if not isinstance(sensitivity, (Sequence, np.ndarray)) or isinstance(sensitivity, (str, bytes)):
        return (at_least("sensitivity", sensitivity),) * batch
    found = tuple(at_least(f"sensitivity[{index}]", each) for index, each in enumerate(sensitivity))
    if len(found) != batch:
        raise InvalidParameterError(
            "sensitivity", list(found), f"to have one entry for each of batch={batch} answers"
        )
    if domain == "integer" and len(set(found)) > 1:
        raise InvalidParameterError(
            "sensitivity", list(found), 'to be the same for all answers when domain="integer"'
        )
    return found


def _checked_order(order: float, objective: str) -> float:
    infinite = isinstance(order, (float, np.floating)) and order == math.inf
    number = math.inf if infinite else real_number("renyi_order", order)
    if objective != "renyi" or number < 1.0:
        raise InvalidParameterError(
            "renyi_order", order, 'to be at least 1, with objective="renyi"'
        )
    return number


def smallest_ratio(domain: Domain) -> float:
    """The least sigma, in sensitivities, that can be designed for."""
    return _SMALLEST[domain]


def _is_too_small_for_joint(request: _Request, sigma: float) -> bool:
    """A joint law is judged by pairs of bins, which grow too many."""
    return request.batch > 1 and sigma < _SMALLEST_JOINT[request.domain] * request.sensitivity


def _largest_ratio(request: _Request) -> float:
    """The largest sigma, in sensitivities: less where the cost is bounded, or nearly, or where there would be too many integers."""
    cost, s = request.cost, request.sensitivity
    largest = (
        min(LARGEST_RATIO, MOST_INTEGERS / s) if request.domain == "integer" else LARGEST_RATIO
    )

    def is_within(ratio: float) -> bool:
        return cost.radius(cost.of(ratio * s)) <= _WIDEST * LARGEST_RATIO * s

    if cost.exponent is not None or is_within(largest):
        return largest
    low, high = math.log(smallest_ratio(request.domain)), math.log(largest)
    while high - low > 1e-3:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if is_within(math.exp(middle)) else (low, middle)
    return math.exp(low)


def _checked_sigma(request: _Request, sigma: float) -> float:
    s, smallest = request.sensitivity, smallest_ratio(request.domain)
    if not smallest <= sigma / s <= LARGEST_RATIO:
        raise DesignError(
            f"Expected sigma={sigma!r} between {smallest * s:g} and {LARGEST_RATIO * s:g} for sensitivity={s:g}."
        )
    if not request.cost.of(sigma) > 0.0:
        raise InvalidParameterError("cost of sigma", request.cost.of(sigma), "to be positive")
    if request.domain == "integer" and sigma > MOST_INTEGERS:
        raise DesignError(
            f'Expected sigma={sigma!r} to be at most {MOST_INTEGERS:g} for domain="integer": design so wide a noise for '
            'domain="real" and round what is released, which costs nothing.'
        )
    if sigma / s > (largest := _largest_ratio(request)):
        raise DesignError(
            f"Expected sigma={sigma!r} to be at most {largest * s:g}: beyond, {request.cost!r} hardly grows, and noise that costs "
            "as much on average would be too wide."
        )
    return sigma


def _at_sigma(request: _Request, sigma: float) -> Design:
    """The best law at this budget: the optimised one, or the best rival where none of ours is better."""
    best, named = _best_at(request, sigma, _attempted(request, sigma))
    if not math.isfinite(best.epsilon):
        raise DesignError(
            f"No law of sigma={sigma!r} has a finite epsilon for compositions={request.compositions}."
        )
    return _as_design(request, sigma, best, named)


def _best_at(
    request: _Request, sigma: float, ours: _Found, most: float = math.inf
) -> tuple[_Found, dict[str, float]]:
    """The law that is preferred at this budget, if possible of an ε of `most`, and the ε of each known one."""
    found = [ours]
    others = _rivals(request, sigma)
    named = {rival.name: rival.epsilon for rival in others}
    if request.batch > 1:
        found.extend(_splits(request, sigma, ours, others))
        for law in found:
            if law.noise.dimension == 1 and law.origin == "optimised":
                named["optimised product"] = law.epsilon
    if request.objective == "tight":
        found.extend(_known(request, rival) for rival in others)
    return _preferred(found, request, most), named


def _rivals(request: _Request, sigma: float, only: str | None = None) -> list[Rival]:
    return rivals(
        sigma=sigma,
        sensitivity=request.sensitivity,
        delta=request.delta,
        compositions=request.compositions,
        batch=request.batch,
        touched=request.touched,
        domain=request.domain,
        cost=request.cost,
        only=only,
    )


def _known(request: _Request, rival: Rival) -> _Found:
    def again(sigma: float, _: _Found | None) -> _Found:
        there = _rivals(request, sigma, rival.name)
        if not there:
            raise DesignError(f"The {rival.name} law cannot be had at sigma={sigma!r}.")
        return _known(request, there[0])

    return _Found(rival.noise, rival.epsilon, rival.uses, again, rival.name)


def _preferred(found: Sequence[_Found], request: _Request, most: float) -> _Found:
    """The law of least ε (the first of equals: ours before a rival's); of those within `_TIE` of it rather one that does not fail.

    A law that ends where a neighbour's goes on reveals a person outright with some probability. That may be up to δ, but not for
    nothing: for ten answers together the gain is 3e-5 of σ, and a fourth of δ would go. What fails also leaves less for the
    releases that follow.
    """
    best = min(found, key=lambda law: law.epsilon)
    near = [
        law
        for law in found
        if law.epsilon <= max(min(best.epsilon * (1.0 + _TIE), most), best.epsilon)
    ]
    if len(near) == 1:
        return best
    spared = [law for law in near if _failures(law, request) <= _FEW * request.delta]
    return min(spared or near, key=lambda law: law.epsilon)


def _failures(law: _Found, request: _Request) -> float:
    """The probability of unbounded loss over the whole use."""
    return request.compositions * law.uses * single_loss(law.noise, request.sensitivity).infinite


def _splits(
    request: _Request, sigma: float, joint: _Found, others: Sequence[Rival]
) -> list[_Found]:
    """The batch served otherwise than by one joint draw, or whatever law it was until now, where that has a chance: independent
    noise, and joint noise on blocks."""
    chance = {split.size: split for split in batches.splits(request.batch, request.touched)}
    products = [rival.epsilon for rival in others if rival.noise.dimension == 1]
    known = min([joint.epsilon, *(rival.epsilon for rival in others)])
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
        likely = min(guide, key=lambda size: guide[size], default=0)
        if likely and guide[likely] < 1.05 * known:
            tried.append(chance[likely])
    found = []
    for split in tried:
        if joint.origin == "optimised" and joint.noise.dimension == split.size:
            continue  # it is that one
        part = _part(request, split)
        ways = (
            [_of_part(part, split.touched)]
            if split.size == 1 or _has_chance(part, sigma, known)
            else []
        )
        if split.size >= batches.LEAST_SPHERE and request.cost.exponent == 2.0:
            ways.append(_sphere_of_part(part, split.touched))
        for way in ways:
            try:
                found.append(way(sigma, None))
            except FAILURES:
                continue
    return found


def _has_chance(part: _Request, sigma: float, known: float) -> bool:
    """Whether the law of a block may be better than what is `known`: all but descent, which gains a few per cent, comes near."""
    try:
        return _optimised(part, sigma, quick=True).epsilon < _BLOCK_CHANCE * known
    except FAILURES:
        return False


def _part(request: _Request, split: batches.Split) -> _Request:
    """What one block of the split asks for: all draws of it that one person is seen in compose."""
    return replace(
        request,
        batch=split.size,
        touched=split.size,
        compositions=request.compositions * split.touched,
    )


def _of_part(part: _Request, uses: int) -> _Way:
    """The optimised law of a block, drawn `uses` times where one person is seen."""

    def make(sigma: float, near: _Found | None) -> _Found:
        return replace(_optimised(part, sigma, near), uses=uses, again=make)

    return make


def _sphere_of_part(part: _Request, uses: int) -> _Way:
    def make(sigma: float, _: _Found | None) -> _Found:
        ball = sphere(sigma, part.batch, sensitivity=part.sensitivity, domain=part.domain)
        loss = PrivacyLoss.of(ball, part.sensitivity).compose(part.compositions)
        return _Found(ball, loss.epsilon(part.delta), uses, make, "sphere")

    return make


def _attempted(
    request: _Request, sigma: float, near: _Found | None = None, *, quick: bool = False
) -> _Found:
    """`_optimised`; where the program is beyond the solver, the best known law, with which other ways to serve a batch compete."""
    try:
        return _optimised(request, sigma, near, quick=quick)
    except FAILURES as failure:
        known = _rivals(request, sigma) if request.objective == "tight" else []
        if known:
            return _known(request, known[0])
        if isinstance(failure, DesignError):
            raise
        raise DesignError(f"No law was found for sigma={sigma!r}: {failure}") from failure


def _optimised(
    request: _Request, sigma: float, near: _Found | None = None, *, quick: bool = False
) -> _Found:
    """The best law of the family for the request's objective; `near` is that of almost the same sigma, to start from, and `quick`
    leaves out what takes long."""
    if _is_too_small_for_joint(request, sigma):
        raise DesignError(
            f"Expected sigma={sigma!r} of joint noise to be at least {_SMALLEST_JOINT[request.domain]:g} sensitivities."
        )
    lattice = _lattice(
        request,
        sigma,
        None if near is None or near.candidate is None else near.candidate.problem.shift,
    )
    setting, moments = lattice.setting, None
    if request.objective == "tight":
        known = None if near is None or quick else near.candidate
        moved = None if known is None else candidates.adjusted(known, setting)
        candidate = candidates.best_tight(setting, quick=quick) if moved is None else moved
    elif request.renyi_order is None:
        candidate, moments = candidates.best_moments(setting)
    else:
        candidate = candidates.freed(
            candidates.renyi_candidate(setting, request.renyi_order, None, Settings()), setting
        )
        if request.renyi_order > 1.0:
            moments = candidates.moments_value(candidate.optimum, setting)
    return _of_candidate(request, lattice, candidate, moments)


def _of_candidate(
    request: _Request, lattice: _Lattice, candidate: Candidate, moments: float | None = None
) -> _Found:
    """The law judged as it stands: the search's own ε may differ in the last digits, and a tie with a rival is decided by them."""
    noise = lattice.noise(candidate)
    loss = PrivacyLoss.of(noise, request.sensitivity).compose(request.compositions)

    def again(sigma: float, near: _Found | None) -> _Found:
        return _attempted(request, sigma, near)

    return _Found(
        noise, loss.epsilon(request.delta), 1, again, candidate=candidate, moments=moments
    )


@dataclass(frozen=True)
class _Lattice:
    """The problem in lattice units, and how a law of it is written in the user's: on the integers in blocks of them
    (`candidates.block_size`), or on the real line and then rounded (`whole`)."""

    setting: Setting
    step: float
    block: int = 1
    rounded_to: tuple[Cost, float] | None = None  # the cost and its budget on the integers

    def noise(self, candidate: Candidate) -> LatticeNoise:
        setting = self.setting
        log_h, ratio = candidates.in_integers(candidate.log_h, candidate.tail_ratio, self.block)
        law = LatticeNoise.from_log_weights(
            log_h, ratio, step=self.step, domain=setting.domain, dimension=setting.dimension
        )
        return law if self.rounded_to is None else whole.rounded(law, *self.rounded_to)


def _lattice(request: _Request, sigma: float, shift: int | None = None) -> _Lattice:
    """The lattice for a request; `shift` is how many steps a sensitivity has where that is known."""
    s, cost, batch = request.sensitivity, request.cost, request.batch
    budget = cost.of(sigma)
    if not budget > 0.0:
        raise InvalidParameterError("cost of sigma", budget, "to be positive")
    # The size of the laws of this cost, in sensitivities: σ for the quadratic cost, and about that for the others.
    ratio = cost.radius(budget) / (math.sqrt(3.0) * s)

    def setting(domain: Domain, shift: int, cost: Cost, budget: float) -> Setting:
        return Setting(
            batch, shift, domain, cost, budget, ratio, request.delta, request.compositions
        )

    if request.domain == "integer":
        needed = candidates.bins(ratio)
        block = candidates.block_size(round(s), needed)
        if batch > 1 or round(s) // block <= 4 * needed:
            return _Lattice(
                setting("integer", round(s) // block, cost.over_blocks(block), budget), 1.0, block
            )
        finer = replace(request, domain="real", step=None)
        unrounded = math.sqrt(sigma**2 - 1.0 / 12.0) if cost.exponent == 2.0 else sigma
        return replace(_lattice(finer, unrounded, shift), rounded_to=(cost, budget))
    if request.step is not None:
        shift = shift_in_steps(s, request.step)
    elif shift is None and cost.exponent is None:
        shift = candidates.bins(ratio)
    elif shift is None:
        shift = candidates.aligned_bins(
            ratio, batch, cost, lambda m: cost.in_steps(budget, s / m)[1]
        )
    step = request.step or step_of(s, shift)
    return _Lattice(setting("real", shift, *cost.in_steps(budget, step)), step)


def _as_design(
    request: _Request, sigma: float, found: _Found, named: Mapping[str, float]
) -> Design:
    """The law judged as it stands, with the lower bound and all that is known of it."""
    loss = PrivacyLoss.of(found.noise, request.sensitivity).compose(
        request.compositions * found.uses
    )
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
    budget = cost.of(sigma)
    mass = noise.total if isinstance(noise, LatticeNoise) else 1.0
    return max(abs(mass - 1.0), abs(expected_cost(noise, cost) / budget - 1.0))


def _at_epsilon(request: _Request, epsilon: float) -> Design:
    """The least sigma whose design is certified at or below `epsilon`.

    1. Our own law is calibrated; of several answers or releases as `_calibrated_of_several` says.
    2. All other laws compete at that sigma. Where another one wins by more than the calibration's tolerance it is calibrated in
       its turn, from there, and so on.
    3. Where sigma may be smaller than that of any joint law, each answer gets noise of its own.
    """
    smallest, largest = smallest_ratio(request.domain), _largest_ratio(request)
    least = smallest if request.batch == 1 else _SMALLEST_JOINT[request.domain]
    ends, s = (least, largest), request.sensitivity
    first = _first_ratio(request, epsilon)
    if request.objective == "tight" and (request.compositions > 1 or request.batch > 1):
        reached = _calibrated_of_several(request, epsilon, first, ends)
    else:
        reached = _calibrate(partial(_attempted, request), epsilon, s, first, ends, _USUAL_SLOPE)
    best, named = _best_at(request, reached.ratio * s, reached.law, epsilon)
    for _ in range(_TURNS):
        is_end = reached.ratio in ends
        if best.epsilon > epsilon * (1.0 - _CALIBRATED) and not (
            is_end and best.epsilon <= epsilon
        ):
            break
        if best is reached.law or reached.ratio == least:
            break
        # Where joint noise is far from the best, the known law that the search began with is nearer to the winner.
        begin = first if first < _FAR * reached.ratio else reached.ratio
        begun = best if begin == reached.ratio else None
        further = _calibrated_or_none(best.again, epsilon, s, begin, ends, reached.slope, begun)
        if further is None or further.law.epsilon > epsilon or further.ratio >= reached.ratio:
            break
        reached = further
        best, named = _best_at(request, reached.ratio * s, reached.law, epsilon)
    if best.epsilon > epsilon:
        raise DesignError(
            f"Expected epsilon={epsilon!r} to be at least {above(best.epsilon)}, what the largest sigma, {largest * s:g}, gives."
        )
    if least > smallest and reached.ratio == least and best.epsilon < epsilon * (1.0 - _CALIBRATED):
        apart = _calibrated_apart(request, epsilon, (smallest, least))
        if apart is not None and apart.law.epsilon <= epsilon:
            reached = apart
            best, named = _best_at(request, reached.ratio * s, reached.law, epsilon)
    if reached.ratio == smallest and best.epsilon < epsilon * (1.0 - _CALIBRATED):
        raise DesignError(
            f"Expected epsilon={epsilon!r} to be at most {below(best.epsilon)}, what the smallest sigma, {smallest * s:g}, gives."
        )
    return _as_design(request, reached.ratio * s, best, named)


def _calibrated_of_several(
    request: _Request, epsilon: float, first: float, ends: tuple[float, float]
) -> _Calibrated:
    """Our own law of several answers or releases, calibrated.

    1. Without descent or linear program, which brings sigma within a few per cent of the answer in little time.
    2. Where the known law that the search began with needs far less noise, that law is calibrated instead: nothing on the lattice
       will overtake it.
    3. One joint release: by the linear program at this ε, which says sigma itself.
    4. Otherwise, and for several releases, with all that the search has.
    """
    s, slope = request.sensitivity, _known_slope(request, first)
    roughly = _calibrate(
        partial(_attempted, request, quick=True), epsilon, s, first, ends, slope, _ROUGHLY
    )
    if (
        request.batch > 1
        and first < _FAR * roughly.ratio
        and (known := _rivals(request, first * s))
    ):
        found = _calibrated_or_none(_known(request, known[0]).again, epsilon, s, first, ends, slope)
        if (
            found is not None
            and found.law.epsilon <= epsilon
            and found.ratio < _FAR * roughly.ratio
        ):
            return found
    candidate = roughly.law.candidate
    if request.compositions == 1 and candidate is not None and candidate.is_rough:
        found = _of_one_joint_release(
            request, epsilon, roughly.ratio, candidate, ends, roughly.slope
        )
        if found is not None:
            return found
    begun = roughly.law if candidate is not None and not candidate.is_rough else None
    return _calibrate(
        partial(_attempted, request), epsilon, s, roughly.ratio, ends, roughly.slope, begun=begun
    )


def _of_one_joint_release(
    request: _Request,
    epsilon: float,
    ratio: float,
    near: Candidate,
    ends: tuple[float, float],
    slope: float,
) -> _Calibrated | None:
    """The law of least cost at this ε, by one linear program on the lattice of a law `near` it; where the staircase that ends does
    as well, that one, calibrated. None where the program is too large, not solved, or leads out of the range."""
    s, shift = request.sensitivity, near.problem.shift
    found = candidates.least_budget(near, epsilon * (1.0 - 0.3 * _CALIBRATED), request.delta)
    if found is None:
        return None
    budget, masses = found
    sigma = _sigma_of_share(request.cost, ratio * s, budget / near.problem.budget)
    if sigma is None or not ends[0] < sigma / s < ends[1]:
        return None
    lattice = _lattice(request, sigma, shift)
    candidate = candidates.of_masses(masses, lattice.setting)
    if candidate is None:
        return _calibrate(
            partial(_attempted, request, quick=True), epsilon, s, sigma / s, ends, slope
        )
    law = _of_candidate(request, lattice, candidate)
    is_calibrated = epsilon * (1.0 - _CALIBRATED) <= law.epsilon <= epsilon
    return _Calibrated(sigma / s, law, slope) if is_calibrated else None


def _sigma_of_share(cost: Cost, sigma: float, share: float) -> float | None:
    """The sigma that costs `share` times as much as the given one; None where it is not nearby, as where the cost is bounded."""
    if cost.exponent is not None:
        return sigma * float(share ** (1.0 / cost.exponent))

    def excess(log_factor: float) -> float:
        return math.log(cost.of(sigma * math.exp(log_factor)) / (share * cost.of(sigma)))

    if excess(-_NEARBY) > 0.0 or excess(_NEARBY) < 0.0:
        return None
    return sigma * math.exp(float(brentq(excess, -_NEARBY, _NEARBY, xtol=1e-15)))


def _known_slope(request: _Request, ratio: float) -> float:
    """That of log ε against log σ to begin with: the usual one, or the Gaussian law's where δ alone is nearly enough and it is
    steep."""
    uses = request.compositions * request.touched
    moved = 1e-3
    ends = [
        PrivacyLoss.of(gaussian(ratio * math.exp(x)), 1.0).compose(uses).epsilon(request.delta)
        for x in (0.0, moved)
    ]
    if not 0.0 < ends[1] < ends[0] < math.inf:
        return _USUAL_SLOPE
    slope = math.log(ends[1] / ends[0]) / moved
    return max(slope, _STEEPEST) if slope < _STRAIGHT else _USUAL_SLOPE


def _calibrated_apart(
    request: _Request, epsilon: float, ends: tuple[float, float]
) -> _Calibrated | None:
    """A batch with noise of its own on each answer, where sigma is too small for a joint law."""
    split = batches.splits(request.batch, request.touched)[0]
    part = _part(request, split)
    return _calibrated_or_none(
        _of_part(part, split.touched),
        epsilon,
        request.sensitivity,
        _first_ratio(part, epsilon),
        ends,
        _USUAL_SLOPE,
    )


def _calibrated_or_none(
    way: _Way,
    epsilon: float,
    s: float,
    start: float,
    ends: tuple[float, float],
    slope: float,
    begun: _Found | None = None,
) -> _Calibrated | None:
    """`_calibrate`, of a law that may not exist at every sigma."""
    try:
        return _calibrate(way, epsilon, s, start, ends, slope, begun=begun)
    except FAILURES:
        return None


@dataclass(frozen=True)
class _Calibrated:
    """The least ratio of sigma to sensitivity that was found to be enough, and the law there; or the largest, which is not. `slope`
    is that of log ε against log σ."""

    ratio: float
    law: _Found
    slope: float


def _calibrate(
    way: _Way,
    epsilon: float,
    s: float,
    start: float,
    ends: tuple[float, float],
    slope: float,
    tolerance: float = _CALIBRATED,
    begun: _Found | None = None,
) -> _Calibrated:
    """The least sigma at which the law that `way` makes needs at most `epsilon`, to `tolerance` of ε; `slope` is that of laws like
    it, and `begun` the law at the start where that is known.

    1. Secant steps of log ε against log σ, kept in the bracket of what was tried; the middle of it where they leave it, or where
       they have not halved it in three steps (ε may jump), both of its ends having been tried.
    2. Ended by the tolerance, an end of the range, or a bracket that has closed: its upper end is then on the safe side.
    """
    low, high = ends
    enough: _Calibrated | None = None
    places: list[tuple[float, float]] = []
    widths: list[float] = []
    near: _Found | None = None
    too_low = False  # whether the lower end of the bracket was tried
    ratio = min(max(start, low), high)
    for _ in range(_ROUNDS):
        law, begun = way(ratio * s, near) if begun is None else begun, None
        places.append((math.log(ratio), min(law.epsilon / epsilon, 1.0 / _LEAST)))
        slope = _slope(places, slope)
        if law.epsilon <= epsilon:
            high, enough = ratio, _Calibrated(ratio, law, slope)
        else:
            low, too_low = ratio, True
        is_end = ratio == ends[0 if law.epsilon <= epsilon else 1]
        if (
            is_end
            or epsilon * (1.0 - tolerance) <= law.epsilon <= epsilon
            or high <= low * (1.0 + _CLOSED)
        ):
            break
        if enough is not None and too_low:
            widths.append(math.log(high / low))
        is_stuck = len(widths) > 3 and widths[-1] > 0.5 * widths[-4]
        wanted = math.exp(_secant(places, slope, 1.0 - 0.3 * tolerance))
        before, ratio = (
            ratio,
            math.sqrt(low * high) if is_stuck else _next_ratio(wanted, low, high, ends),
        )
        reach = _NEXT * max(
            1.0, slope / _STRAIGHT
        )  # where ε is steep in σ a law is dear to find, and far in ε though near in σ
        is_near = abs(law.epsilon / epsilon - 1.0) < _NEAR or abs(math.log(ratio / before)) < reach
        near = law if is_near else None
    else:
        if enough is None:
            ratio = ends[1]
            law = way(ratio * s, None)
    return _Calibrated(ratio, law, slope) if enough is None else enough


def _next_ratio(wanted: float, low: float, high: float, ends: tuple[float, float]) -> float:
    """`wanted` if it lies inside the bracket; else an end of the range that was not tried yet, or the middle."""
    if low < wanted < high:
        return wanted
    end = low if wanted <= low else high
    return end if end in ends else math.sqrt(low * high)


def _slope(places: Sequence[tuple[float, float]], before: float) -> float:
    """That of the last two places, (log σ, ε), in logarithms and within reason: −3/ε where sigma is small, steep where ε is
    nearly 0."""
    if len(places) < 2 or abs(places[-1][0] - places[-2][0]) < 1e-9:
        return before
    if _are_nothing(places):
        return before
    (x0, y0), (x1, y1) = ((x, math.log(max(y, _LEAST))) for x, y in places[-2:])
    return min(max((y1 - y0) / (x1 - x0), _STEEPEST), _FLATTEST)


def _are_nothing(places: Sequence[tuple[float, float]]) -> bool:
    """Whether the last two ε are (nearly) 0, as those of all laws are from some sigma on."""
    return all(y <= _LEAST for _, y in places[-2:])


def _secant(places: Sequence[tuple[float, float]], slope: float, wanted: float) -> float:
    """log σ for the ε wanted: on log ε against log σ, and where ε is nearly 0 and that is steep on ε itself, which is straight."""
    x, y = places[-1]
    if slope < _STRAIGHT and len(places) > 1 and y != places[-2][1]:
        x0, y0 = places[-2]
        return x + min(max((wanted - y) * (x - x0) / (y - y0), -_LONGEST), _LONGEST)
    if (
        len(places) > 1 and _are_nothing(places) and x < places[-2][0]
    ):  # nothing says how far it is: twice as far as the last step
        return x + max(2.0 * (x - places[-2][0]), -_LONGEST)
    if slope < _STRAIGHT and y < wanted:
        return x + (wanted - y) / slope
    return x + _step(math.log(wanted / max(y, _LEAST)), slope)


def _step(rise: float, slope: float) -> float:
    """How far log σ is to move for log ε to rise by so much."""
    return min(max(rise / slope, -_LONGEST), _LONGEST)


def _first_ratio(request: _Request, epsilon: float) -> float:
    """sigma/sensitivity to start from: that of the known law that reaches `epsilon` with the least noise; where this is the
    Gaussian law a little less, for ours is then better."""
    uses = request.compositions * request.touched
    low, high = math.log(_FEW_HUNDREDTHS), math.log(LARGEST_RATIO)
    while high - low > 0.01:
        middle = 0.5 * (low + high)
        reached = (
            PrivacyLoss.of(gaussian(math.exp(middle)), 1.0).compose(uses).epsilon(request.delta)
        )
        low, high = (middle, high) if reached > epsilon else (low, middle)
    found = [0.95 * math.exp(high)]
    if request.batch == 1:
        found.append(_known_ratio(laplace, request, epsilon, math.exp(high)))
        # Where sigma is small the law is a staircase: σ³ ≈ e^(−ε) for each release, in sensitivities.
        if epsilon / uses > _STEEP:
            found.append(math.exp(-epsilon / (3.0 * uses)))
    else:
        found.append(
            _known_ratio(
                lambda ratio: plain_cube(ratio, request.batch, 1.0, "real"),
                request,
                epsilon,
                math.exp(high),
            )
        )
        if request.batch >= batches.LEAST_SPHERE:
            found.append(
                _known_ratio(
                    lambda ratio: sphere(ratio, request.batch), request, epsilon, math.exp(high)
                )
            )
    return min(max(min(found), smallest_ratio(request.domain)), LARGEST_RATIO)


def _known_ratio(
    law: Callable[[float], Noise], request: _Request, epsilon: float, start: float
) -> float:
    """The sigma of a family of joint laws of unit sensitivity that about reaches `epsilon`; +inf where no such law is found."""
    places: list[tuple[float, float]] = []
    ratio, slope = start, _USUAL_SLOPE
    for _ in range(_KNOWN_ROUNDS):
        try:
            reached = (
                PrivacyLoss.of(law(ratio), 1.0).compose(request.compositions).epsilon(request.delta)
            )
        except FAILURES:
            return math.inf
        if abs(reached / epsilon - 1.0) < _ROUGHLY:
            return ratio
        if not 0.0 < reached < math.inf:
            return math.inf
        places.append((math.log(ratio), reached / epsilon))
        slope = _slope(places, slope)
        ratio = math.exp(_secant(places, slope, 1.0))
        if not _FEW_HUNDREDTHS < ratio < LARGEST_RATIO:
            return math.inf
    return ratio
