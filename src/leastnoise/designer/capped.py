"""Designs for several promises at once: the least sigma at which every δ(ε_k) ≤ δ_k is certified.

One (ε, δ) leaves open what the rest of the privacy curve does, and the law of least noise for it
uses that up: ten answers at ε = 1, δ = 1e-6 get cube noise of σ = 6.63, with which an attacker's
advantage is 0.39, where Gaussian noise of σ = 13.36 leaves 0.094. A cap on the advantage, or any
other point of the curve, is one constraint more, and which law is best then depends on it. The body
is the lever: the cube, blocks of answers with a draw each, the sphere, the sphere with a flat core
(`laws.flat_sphere`) or bent towards normal noise (`laws.bent_sphere`; where batches are composed a
part of a larger sphere, `laws.part_of_sphere`), and normal noise, which is best for its own whole
curve (docs/mathematics.md#the-gaussian-is-best-for-its-own-curve).

1. The design for the promise of the smallest δ alone, where it keeps the others as well: there is
   no better, for more promises never need less noise.
2. Otherwise every kind of law competes, the cheap ones first. A kind that misses a constraint at
   the least sigma found so far needs more than that, since every δ(ε) falls in sigma, and is left
   at one look; else its own least sigma is found, and is the one to beat.
3. Our own law of one release is a linear program (`solver.linear.least_budget_within`): where the
   judge finds more than the solver the limits are tightened by as much, and it is solved again.
   For several releases our law of least ε is bent towards the normal one, as far as is best.

Normal noise is always among them, so that there is a result unless it needs more than the largest
sigma.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from leastnoise.accountant.constraints import Limit, excess, held
from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.changes import BOX, Box, OneSided
from leastnoise.designer import tight
from leastnoise.designer.at_epsilon import at_epsilon, sigma_of_share
from leastnoise.designer.calibrate import Calibrated, calibrate
from leastnoise.designer.fits import Fit, Fitted, boxed_in, fits_of, judged_for
from leastnoise.designer.lattice_law import LatticeLaw, renyi_law
from leastnoise.designer.request import Request
from leastnoise.designer.result import OPTIMISED, FoundLaw
from leastnoise.designer.rivals import at_cost, laws_of, plain_cube, rivals
from leastnoise.designer.search import FAILURES, attempted
from leastnoise.errors import DesignError
from leastnoise.lattice.shells import Floats
from leastnoise.laws.base import Noise
from leastnoise.laws.bent_sphere import bent_sphere
from leastnoise.laws.classic import generalized_gaussian
from leastnoise.laws.flat_sphere import CORES, flat_sphere
from leastnoise.laws.part_of_sphere import part_of_sphere
from leastnoise.solver import linear
from leastnoise.solver.point import meet_constraints, spread
from leastnoise.text.numbers import above

BLOCKS = "blocks"
PART_OF_SPHERE = "part of a sphere"
FLAT_SPHERE = "flat sphere"
BENT_SPHERE = "bent sphere"
GENERALISED = "generalised Gaussian"
_SLOW = ("Cactus",)  # known laws that take a program each and were never the best under a cap
_CLOSE = 1e-4  # of the worst limit, to which sigma is found
_ROUNDS = 6  # of the linear program: lattice and window follow sigma, limits follow the judge
_NEAR = 0.1  # of a sigma: the lattice of one serves the other
_KEPT = 1e-5  # of each limit, kept for the integer weights that a law is drawn with
_MOST_CORE = 16.0  # scales an answer: there nearly all of the noise is in the flat core
_CORES_FIRST = 20  # cores that say where the best one is, each a quarter larger than the last
_MOST_HIDDEN = 40  # times the answers: there the part of a sphere is normal noise to a per cent
_NO_CHANCE = 1.05  # a law this far from the limits is not overtaken by the one that is optimised
_FEW_EXPONENTS = (1.0, 1.5, 2.0)  # that say whether noise on each answer comes near the limits
_WIDER = 1e-4  # of a sigma: within it another one is no gain

Made = tuple[str, Callable[[float, FoundLaw | None], FoundLaw]]  # a kind of law, made at a sigma


def fitted_within_limits(request: Request, limits: Sequence[Limit]) -> Fitted:
    """The law of least weighted error that keeps every limit, among all fits of the answers."""
    least: tuple[float, Fit, FoundLaw] | None = None
    failure: DesignError | None = None
    for fit in fits_of(request):
        try:
            sigma, law = _least(fit.request, limits)
        except DesignError as error:
            failure = failure or error
            continue
        if least is None or sigma * fit.spread < least[0]:
            least = sigma * fit.spread, fit, law
    if least is None:
        raise failure or DesignError("No law keeps all constraints.")
    sigma, fit, law = least
    known = {one.name: one for one in rivals(fit.request, sigma / fit.spread)}
    return Fitted(sigma, fit, law, known, {name: one.epsilon for name, one in known.items()})


def _least(request: Request, limits: Sequence[Limit]) -> tuple[float, FoundLaw]:
    """The same for one fit, where the law may be that of the box: see `fits.boxed_in`."""
    sigma, law = within(request, limits)
    if (boxed := boxed_in(request, sigma)) is not None:
        less, other = within(boxed, limits)
        if less < sigma:
            return less, judged_for(request, other)
    return sigma, law


def within(request: Request, limits: Sequence[Limit]) -> tuple[float, FoundLaw]:
    """The least sigma found at which a law is certified for every limit, and that law."""
    search = _CappedSearch(request, tuple(limits))
    plain = search.plain()
    if plain is not None:
        return plain
    for kind in _kinds(request):
        search.try_kind(*kind)
    search.try_our_own()
    search.try_flat_spheres()
    search.try_bent_spheres()
    search.try_parts_of_spheres()
    search.try_exponents()
    search.try_blocks()
    if search.best is None:
        raise DesignError(_missed(request, limits))
    sigma, found = search.best.scale * request.sensitivity, search.best.law.found
    return sigma, replace(found, epsilon=search.loss(found).epsilon(request.delta))


def least_sigma_of(request: Request, limits: Sequence[Limit], kind: str) -> float | None:
    """The least sigma at which one kind of noise keeps every limit: a known law by its name, or
    plain cubes in blocks; None where it is not to be had."""
    found = _of_kind(request, limits, kind)
    return None if found is None else found.scale * request.sensitivity


def own_advantage(request: Request, limits: Sequence[Limit], kind: str) -> float | None:
    """The advantage of that noise."""
    found = _of_kind(request, limits, kind)
    if found is None:
        return None
    return _CappedSearch(request, tuple(limits)).loss(found.law.found).delta(0.0)


def _of_kind(request: Request, limits: Sequence[Limit], kind: str) -> Calibrated[_Against] | None:
    search = _CappedSearch(request, tuple(limits))
    if kind == BLOCKS:
        for size, uses in _block_sizes(request):
            if size > 1:
                search.try_kind(BLOCKS, partial(_cubes, request, size, uses))
    else:
        search.try_kind(kind, partial(_of_name, request, kind))
    return search.best


def _missed(request: Request, limits: Sequence[Limit]) -> str:
    largest = request.largest * request.sensitivity
    told = ", ".join(f"({epsilon:g}, {above(delta)})" for epsilon, delta in limits)
    return (
        f"Expected constraints that some noise of at most sigma={largest:g} keeps, not (epsilon, "
        f"delta) = {told}."
    )


@dataclass(frozen=True, eq=False)
class _Against:
    """A law and by what factor it misses the worst limit, which calibration calls its ε."""

    found: FoundLaw
    epsilon: float


@dataclass
class _CappedSearch:
    """The search for one request; scales are sigmas in sensitivities."""

    request: Request
    limits: tuple[Limit, ...]
    best: Calibrated[_Against] | None = None

    def loss(self, found: FoundLaw) -> PrivacyLoss:
        """Of all releases together."""
        return self.request.loss(found.noise).compose(self.request.compositions * found.uses)

    def judged(self, found: FoundLaw) -> _Against:
        """The law with the factor by which it misses the worst limit."""
        return _Against(found, excess(self.loss(found), self.limits))

    def plain(self) -> tuple[float, FoundLaw] | None:
        """The design for the limit of the smallest δ alone, where it keeps the others too; None
        also where that limit has no ε of its own, or ours is not to be had for it."""
        epsilon, delta = min(self.limits, key=lambda limit: (limit[1], limit[0]))
        if epsilon == 0.0:
            return None
        try:
            sigma, law, _ = at_epsilon(replace(self.request, delta=delta), epsilon)
        except FAILURES:
            return None
        return (sigma, law) if self.judged(law).epsilon <= 1.0 else None

    @property
    def ends(self) -> tuple[float, float]:
        """The range of scales: up to the least that was found to be enough."""
        most = self.request.largest if self.best is None else self.best.scale
        return self.request.smallest, most

    def try_kind(self, name: str, make: Callable[[float, FoundLaw | None], FoundLaw]) -> float:
        """The least scale of one kind of law, where that is less than any before it; else about
        what it would need, +inf where it is not to be had."""
        s, (low, high) = self.request.sensitivity, self.ends

        def law_at(scale: float, near: _Against | None) -> _Against:
            return self.judged(make(scale * s, None if near is None else near.found))

        try:
            begun = law_at(high, None)
            if begun.epsilon > 1.0 or high <= low:
                return high * begun.epsilon
            found = calibrate(law_at, 1.0, (low, high), start=high, tolerance=_CLOSE, begun=begun)
        except FAILURES:
            return math.inf
        self._keep(found)
        return found.scale

    def _keep(self, found: Calibrated[_Against]) -> None:
        is_less = self.best is None or found.scale < self.best.scale * (1.0 - _WIDER)
        if found.law.epsilon <= 1.0 and is_less:
            self.best = found

    # Families with a number of their own

    def _try_family(
        self, member: Callable[[float], Made], first: Sequence[float], finest: float
    ) -> None:
        """The best member of a family: those of `first`, which are in order, then between the
        neighbours of the one that needs least, halving; none where all need far more."""
        needed = {place: self.try_kind(*member(place)) for place in first}
        while True:
            places = sorted(needed)
            spot = min(range(len(places)), key=lambda i: needed[places[i]])
            if self.best is None or needed[places[spot]] > _NO_CHANCE * self.best.scale:
                return
            near = [places[i] for i in (spot - 1, spot + 1) if 0 <= i < len(places)]
            new = [0.5 * (places[spot] + one) for one in near if abs(one - places[spot]) > finest]
            if not new:
                return
            for place in new:
                needed[place] = self.try_kind(*member(place))

    def try_flat_spheres(self) -> None:
        """e^(−max(‖x‖/b − c, 0)): spheres with cores of all sizes, for one release."""
        request = self.request
        d, s = request.batch, request.sensitivity
        if not _has_round_laws(request) or request.compositions > 1:
            return

        def member(log_core: float) -> Made:
            core = round(CORES * math.exp(log_core)) / CORES

            def make(sigma: float, _: FoundLaw | None) -> FoundLaw:
                law = flat_sphere(sigma, d, core, sensitivity=s, step=request.step)
                return FoundLaw(FLAT_SPHERE, law, 1, math.nan)

            return FLAT_SPHERE, make

        first = np.linspace(math.log(0.2 * d), math.log(_MOST_CORE * d), _CORES_FIRST).tolist()
        self._try_family(member, first, 1.0 / CORES / d)

    def try_bent_spheres(self) -> None:
        """e^(−(‖x‖/b)^a): from the sphere to normal noise, for one release."""
        request = self.request
        d, s = request.batch, request.sensitivity
        if not _has_round_laws(request) or request.compositions > 1:
            return

        def member(freedom: float) -> Made:
            def make(sigma: float, _: FoundLaw | None) -> FoundLaw:
                law = bent_sphere(sigma, d, round(freedom), sensitivity=s, step=request.step)
                return FoundLaw(BENT_SPHERE, law, 1, math.nan)

            return BENT_SPHERE, make

        first = sorted({round(d + share * d) for share in (0.1, 0.3, 0.5, 0.7, 0.9)})
        self._try_family(member, [m for m in first if d < m < 2 * d], 1.0)

    def try_parts_of_spheres(self) -> None:
        """Some answers of a sphere of more: from the sphere to normal noise."""
        request = self.request
        d, s = request.batch, request.sensitivity
        if not _has_round_laws(request):
            return

        def member(log_of: float) -> Made:
            of = max(round(math.exp(log_of)), d + 1)

            def make(sigma: float, _: FoundLaw | None) -> FoundLaw:
                law = part_of_sphere(sigma, d, of, sensitivity=s, step=request.step)
                return FoundLaw(PART_OF_SPHERE, law, 1, math.nan)

            return PART_OF_SPHERE, make

        first = np.linspace(math.log(d + 1.0), math.log(_MOST_HIDDEN * d), 8).tolist()
        self._try_family(member, first, 0.4 / d)

    def try_exponents(self) -> None:
        """Noise e^(−|x/b|^a) of its own on each answer, a between Laplace and normal noise."""
        request = self.request
        if not request.has_plain_laws or request.compositions * request.touched == 1:
            return
        if self.best is None:  # neither end of the family keeps the limits
            return

        def member(exponent: float) -> Made:
            return GENERALISED, partial(_generalised, request, exponent)

        self._try_family(member, (1.2, 1.4, 1.6, 1.8), 0.03)

    def try_blocks(self) -> None:
        """Blocks of answers with a joint draw each: plain cubes, and where these come near the
        limits our own; in blocks of one, bent as well."""
        request = self.request
        for size, uses in _block_sizes(request):
            if size > 1:
                near = [partial(_cubes, request, size, uses)]
                self.try_kind(BLOCKS, near[0])
            else:
                near = [partial(_generalised, request, a) for a in _FEW_EXPONENTS]
            block = _block(request, size, uses)
            quick = partial(_of_block, block, uses, quick=True)
            if not any(self._has_chance(make) for make in near) or not self._has_chance(quick):
                continue
            self.try_kind(OPTIMISED, partial(_of_block, block, uses))
            if size == 1:
                self._try_bent(block, uses)

    def _has_chance(self, make: Callable[[float, FoundLaw | None], FoundLaw]) -> bool:
        """Whether a law comes near the limits at the least sigma so far."""
        if self.best is None:
            return True
        try:
            made = make(self.best.scale * self.request.sensitivity, None)
            return self.judged(made).epsilon < _NO_CHANCE
        except FAILURES:
            return True

    def _try_bent(self, alone: Request, uses: int) -> None:
        """Our own law of several releases, bent towards normal noise."""
        if self.best is None or alone.objective != "tight":
            return
        try:
            base = attempted(alone, self.best.scale * alone.sensitivity).on_lattice
        except FAILURES:
            return
        if base is None or base.tail_ratio is None or base.log_h.size != base.problem.last + 1:
            return
        law = base

        def member(share: float) -> Made:
            return OPTIMISED, partial(_bent, alone, uses, law, share)

        self._try_family(member, (0.0, 0.25, 0.5, 0.75), 0.05)

    # Our own law of one release

    def try_our_own(self) -> None:
        """The linear program on the lattice of the least sigma so far, and on that of its own."""
        request = self.request
        if request.compositions > 1 or not _has_shells(request) or self.best is None:
            return
        sigma, limits = self.best.scale * request.sensitivity, _tightened(self.limits)
        for _ in range(_ROUNDS):
            try:
                found = _by_linear_program(request, sigma, limits)
            except FAILURES:
                return
            if found is None or not self._is_in_range(found[0]):
                return
            before, (sigma, law) = sigma, found
            judged = self.judged(law)
            if judged.epsilon <= 1.0:
                self._keep(Calibrated(sigma / request.sensitivity, judged, -1.0))
                if abs(sigma / before - 1.0) < _NEAR:
                    return
            else:
                limits = self._followed(law, limits)

    def _is_in_range(self, sigma: float) -> bool:
        """Whether a sigma may still become the least."""
        most = min(1.5 * self.ends[1], self.request.largest)
        return self.request.smallest < sigma / self.request.sensitivity < most

    def _followed(self, law: FoundLaw, limits: Sequence[Limit]) -> tuple[Limit, ...]:
        """The limits, each tightened by as much as the judge's bound is above what was asked."""
        certified = held(self.loss(law), self.limits)
        return tuple(
            (one.epsilon, delta * min(one.delta / max(one.certified, one.delta), 1.0))
            for one, (_, delta) in zip(certified, limits, strict=True)
        )


def _kinds(request: Request) -> Iterator[Made]:
    """The known laws, normal noise first: it can always be had."""
    names = [name for name, _, _ in laws_of(request) if name not in _SLOW]
    for name in sorted(names, key=lambda one: "Gaussian" not in one):
        yield name, partial(_of_name, request, name)


def _of_name(request: Request, name: str, sigma: float, _: FoundLaw | None) -> FoundLaw:
    there = rivals(request, sigma, name)
    if not there:
        raise DesignError(f"The {name} law cannot be had at sigma={sigma!r}.")
    return there[0]


def _block_sizes(request: Request) -> Iterator[tuple[int, int]]:
    """Sizes of blocks that a batch can be cut into, the last one padded, and how many of them one
    person is seen in; the whole batch is none, but for several releases of one answer."""
    if not request.has_plain_laws or request.batch * request.compositions == 1:
        return
    counts = range(2, request.batch + 1)
    sizes = {math.ceil(request.batch / count) for count in counts} | {1}
    for size in sorted(sizes, reverse=True):
        yield size, min(math.ceil(request.batch / size), request.touched)


def _block(request: Request, size: int, uses: int) -> Request:
    """What one block asks for: all blocks that one person is seen in compose."""
    own, draws = (request.sensitivity,) * size, request.compositions * uses
    return replace(request, batch=size, changes=BOX, sensitivities=own, compositions=draws)


def _cubes(request: Request, size: int, uses: int, sigma: float, _: FoundLaw | None) -> FoundLaw:
    """Plain cube noise on each block."""
    s, domain = request.sensitivity, request.domain

    def build(scale: float) -> Noise:
        return plain_cube(scale, size, s, domain)

    return FoundLaw("cube", at_cost(build, sigma, request.cost), uses, math.nan)


def _generalised(request: Request, exponent: float, sigma: float, _: FoundLaw | None) -> FoundLaw:
    """Noise e^(−|x/b|^a) of its own on each answer."""
    s, domain = request.sensitivity, request.domain

    def build(scale: float) -> Noise:
        return generalized_gaussian(scale, exponent, sensitivity=s, domain=domain)

    return FoundLaw(GENERALISED, at_cost(build, sigma, request.cost), request.touched, math.nan)


def _of_block(
    block: Request, uses: int, sigma: float, near: FoundLaw | None, *, quick: bool = False
) -> FoundLaw:
    return replace(attempted(block, sigma, near, quick=quick), uses=uses)


def _bent(
    alone: Request, uses: int, law: LatticeLaw, share: float, sigma: float, _: FoundLaw | None
) -> FoundLaw:
    """exp of a mean of two logarithms: that of our law and that of the normal one, at sigma."""
    asked = alone.on_lattice(sigma, law.problem.shift)
    problem = replace(law.problem, budget=asked.budget)
    steps = np.arange(law.log_h.size, dtype=np.float64)
    normal = -0.5 * steps**2 / float(np.sum(_shares(law.log_h) * steps**2))
    mean = (1.0 - share) * law.log_h + share * normal
    q = meet_constraints(problem, spread(problem, mean[problem.first :]))
    moved = replace(law, log_h=problem.all_shells(q), problem=problem)
    return FoundLaw(
        OPTIMISED, asked.noise(moved.log_h, moved.tail_ratio), uses, math.nan, None, moved
    )


def _shares(log_h: Floats) -> Floats:
    """The mass of each shell of a law for one answer."""
    share = np.exp(log_h - float(np.max(log_h)))
    share[1:] *= 2.0
    return np.asarray(share / np.sum(share), dtype=np.float64)


def _has_round_laws(request: Request) -> bool:
    """Whether laws of the length of the noise serve the request, as they are known here."""
    is_plain = request.domain == "real" and not request.parts and not request.ties
    return request.batch > 1 and is_plain and request.cost.exponent == 2.0


def _has_shells(request: Request) -> bool:
    return request.parts is None and isinstance(request.changes, (Box, OneSided))


def _tightened(limits: Sequence[Limit]) -> tuple[Limit, ...]:
    return tuple((epsilon, (1.0 - _KEPT) * delta) for epsilon, delta in limits)


def _by_linear_program(
    request: Request, sigma: float, limits: Sequence[Limit]
) -> tuple[float, FoundLaw] | None:
    """The law of least cost on the lattice of a sigma, and its own sigma."""
    asked = request.on_lattice(sigma)
    stairs = renyi_law(asked, math.inf)
    found = linear.least_budget_within(stairs.problem, stairs.optimum.profile, limits)
    if found is None:
        return None
    budget, masses = found
    reached = sigma_of_share(request.cost, sigma, budget / stairs.problem.budget)
    if reached is None:
        return None
    asked = request.on_lattice(reached, stairs.problem.shift)
    law = tight.with_masses(masses, asked)
    if law is None:
        return None
    return reached, FoundLaw(OPTIMISED, asked.noise(law.log_h, None), 1, math.nan, None, law)
