"""A design at a given ε: the least sigma at which the best law is certified for it.

`calibrate` is the search; here is what is calibrated, and from where.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from scipy.optimize import brentq

from leastnoise.cost import Cost
from leastnoise.designer import tight
from leastnoise.designer.calibrate import (
    USUAL_SLOPE,
    Calibrated,
    aimed_at,
    calibrate,
    least_scale,
)
from leastnoise.designer.lattice_law import LatticeLaw
from leastnoise.designer.request import LARGEST_RATIO, Request, smallest_ratio
from leastnoise.designer.result import FoundLaw, Way
from leastnoise.designer.rivals import FITTED, known_laws, laws_of, plain_cube, rivals
from leastnoise.designer.search import FAILURES, attempted, best_at, independent, judged
from leastnoise.errors import DesignError
from leastnoise.laws.base import Noise
from leastnoise.laws.classic import gaussian, laplace
from leastnoise.laws.sphere import sphere
from leastnoise.text.numbers import above, below

_CALIBRATED = 1e-4  # how far below the wanted epsilon a calibrated design may be
_ROUGHLY = 0.01  # and one that only says where to begin
_NEARBY = 0.2  # log σ, within which the linear program's sigma is expected
_FAR = 0.8  # of a sigma: a known law below it is nearer to the winner than joint noise


def at_epsilon(request: Request, epsilon: float) -> tuple[float, FoundLaw, dict[str, FoundLaw]]:
    """The least sigma whose best law is certified at or below `epsilon`, that law, and its rivals
    by name.

    1. Our own law is calibrated; of several answers or releases as `_of_several` says.
    2. All other laws compete at that sigma. Where another one wins by more than the calibration's
       tolerance it is calibrated in its turn, from there, and so on.
    3. Where sigma may be smaller than that of any joint law, each answer gets noise of its own.

    A DesignError says what can be had where `epsilon` cannot.
    """
    search = _Search(request, epsilon, (request.smallest_joint, request.largest))
    first = _first_ratio(request, epsilon)
    reached = search.of_our_own(first)
    best, named = search.best(reached)
    while (further := search.overtaken(reached, best, first)) is not None:
        reached = further
        best, named = search.best(reached)
    if best.epsilon > epsilon:
        largest = search.ends[1] * request.sensitivity
        raise DesignError(
            f"Expected epsilon={epsilon!r} to be at least {above(best.epsilon)}, what the largest "
            f"sigma, {largest:g}, gives."
        )
    if search.is_too_quiet(reached, best) and request.smallest < search.ends[0]:
        apart = search.apart()
        if apart is not None:
            reached = apart
            best, named = search.best(reached)
    if reached.scale == request.smallest and best.epsilon < search.least:
        smallest = request.smallest * request.sensitivity
        raise DesignError(
            f"Expected epsilon={epsilon!r} to be at most {below(best.epsilon)}, what the smallest "
            f"sigma, {smallest:g}, gives."
        )
    return reached.scale * request.sensitivity, best, named


@dataclass(frozen=True)
class _Search:
    """The search for one request and ε; scales are sigmas in sensitivities, `ends` their range."""

    request: Request
    epsilon: float
    ends: tuple[float, float]

    @property
    def least(self) -> float:
        """The least ε that counts as the wanted one."""
        return self.epsilon * (1.0 - _CALIBRATED)

    def best(self, reached: Calibrated[FoundLaw]) -> tuple[FoundLaw, dict[str, FoundLaw]]:
        """The law that is preferred at the sigma reached, and its rivals by name."""
        sigma = reached.scale * self.request.sensitivity
        return best_at(self.request, sigma, reached.law, self.epsilon)

    def is_too_quiet(self, reached: Calibrated[FoundLaw], best: FoundLaw) -> bool:
        """Whether the least sigma is more than is needed."""
        return reached.scale == self.ends[0] and best.epsilon < self.least

    def overtaken(
        self, reached: Calibrated[FoundLaw], best: FoundLaw, first: float
    ) -> Calibrated[FoundLaw] | None:
        """The law that won at the sigma reached, calibrated; None where that leads to no smaller
        sigma, or nothing is to be gained by it."""
        is_end = reached.scale in self.ends and best.epsilon <= self.epsilon
        if best.epsilon > self.least and not is_end:
            return None
        if best is reached.law or best.again is None or reached.scale == self.ends[0]:
            return None
        # Where joint noise is far from the best, the known law that the search began with is nearer
        # to the winner.
        is_far = first < _FAR * reached.scale
        start, begun = (first, None) if is_far else (reached.scale, best)
        further = self.calibrated_or_none(best.again, start, reached.slope, begun=begun)
        return further if further is not None and further.scale < reached.scale else None

    def of_our_own(self, first: float) -> Calibrated[FoundLaw]:
        """The law of the whole batch, calibrated."""
        request = self.request
        if request.objective == "tight" and (request.compositions > 1 or request.batch > 1):
            return self._of_several(first)
        return self.calibrated(partial(attempted, request), first)

    def _of_several(self, first: float) -> Calibrated[FoundLaw]:
        """Our own law of several answers or releases, calibrated.

        1. Without descent or linear program, which brings sigma within a few per cent of the answer
           in little time.
        2. Where the known law that the search began with needs far less noise, that law is
           calibrated instead: nothing on the lattice will overtake it.
        3. One joint release: by the linear program at this ε, which says sigma itself.
        4. Otherwise, and for several releases, with all that the search has.
        """
        request = self.request
        quick = partial(attempted, request, quick=True)
        roughly = self.calibrated(quick, first, tolerance=_ROUGHLY)
        if request.batch > 1 and first < _FAR * roughly.scale:
            found = self._of_known(first)
            if found is not None and found.scale < _FAR * roughly.scale:
                return found
        law = roughly.law.on_lattice
        if request.compositions == 1 and law is not None and law.is_rough:
            found = self._of_one_joint_release(roughly, law)
            if found is not None:
                return found
        begun = roughly.law if law is not None and not law.is_rough else None
        way = partial(attempted, request)
        return self.calibrated(way, roughly.scale, roughly.slope, begun=begun)

    def _of_known(self, first: float) -> Calibrated[FoundLaw] | None:
        """The best known law at a first sigma, calibrated."""
        known = rivals(self.request, first * self.request.sensitivity)
        if not known or known[0].again is None:
            return None
        return self.calibrated_or_none(known[0].again, first)

    def _of_one_joint_release(
        self, roughly: Calibrated[FoundLaw], near: LatticeLaw
    ) -> Calibrated[FoundLaw] | None:
        """The law of least cost at this ε, by one linear program on the lattice of a law `near` it;
        where the staircase that ends does as well, that one, calibrated. None where the program is
        too large, not solved, or leads out of the range."""
        request, s = self.request, self.request.sensitivity
        aim = aimed_at(self.epsilon, _CALIBRATED)
        found = tight.least_budget(near, aim, request.delta)
        if found is None:
            return None
        budget, masses = found
        sigma = sigma_of_share(request.cost, roughly.scale * s, budget / near.problem.budget)
        if sigma is None or not self.ends[0] < sigma / s < self.ends[1]:
            return None
        asked = request.on_lattice(sigma, near.problem.shift)
        law = tight.of_masses(masses, asked)
        if law is None:
            quick = partial(attempted, request, quick=True)
            return self.calibrated(quick, sigma / s, roughly.slope)
        noise = judged(request, asked, law)
        is_calibrated = self.least <= noise.epsilon <= self.epsilon
        return Calibrated(sigma / s, noise, roughly.slope) if is_calibrated else None

    def apart(self) -> Calibrated[FoundLaw] | None:
        """Noise of its own on each answer of a batch, where sigma is too small for a joint law.
        None where only the length of all changes is bounded, as one answer may then move farther
        than by its sensitivity, or where the answers were scaled for joint noise."""
        request = self.request
        if not request.has_plain_laws:
            return None
        below = _Search(request, self.epsilon, (request.smallest, self.ends[0]))
        first = _first_ratio(request.one_answer(), self.epsilon)
        return below.calibrated_or_none(independent(request), first)

    def calibrated(
        self,
        way: Way,
        start: float,
        slope: float = USUAL_SLOPE,
        *,
        tolerance: float = _CALIBRATED,
        begun: FoundLaw | None = None,
    ) -> Calibrated[FoundLaw]:
        """The law that a way makes, at the least sigma that is enough."""
        s = self.request.sensitivity
        return calibrate(
            lambda ratio, near: way(ratio * s, near),
            self.epsilon,
            self.ends,
            start=start,
            slope=slope,
            tolerance=tolerance,
            begun=begun,
        )

    def calibrated_or_none(
        self, way: Way, start: float, slope: float = USUAL_SLOPE, *, begun: FoundLaw | None = None
    ) -> Calibrated[FoundLaw] | None:
        """`calibrated`, of a law that may not exist at every sigma; None too where no sigma is
        enough."""
        try:
            found = self.calibrated(way, start, slope, begun=begun)
        except FAILURES:
            return None
        return found if found.law.epsilon <= self.epsilon else None


def sigma_of_share(cost: Cost, sigma: float, share: float) -> float | None:
    """The sigma that costs `share` times as much as the given one; None where it is not nearby, as
    where the cost is bounded."""
    if cost.exponent is not None:
        return sigma * float(share ** (1.0 / cost.exponent))

    def excess(log_factor: float) -> float:
        return math.log(cost.of(sigma * math.exp(log_factor)) / (share * cost.of(sigma)))

    if excess(-_NEARBY) > 0.0 or excess(_NEARBY) < 0.0:
        return None
    return sigma * math.exp(float(brentq(excess, -_NEARBY, _NEARBY, xtol=1e-15)))


# Where to begin


def _first_ratio(request: Request, epsilon: float) -> float:
    """sigma/sensitivity to start from: that of the known law that reaches `epsilon` with the least
    noise."""
    batch, uses = request.batch, request.compositions * request.touched

    def needed(build: Callable[[float], Noise], draws: int, start: float) -> float:
        unit = replace(request, sensitivity=1.0, domain="real", step=None)
        return _known_ratio(build, epsilon, unit, draws, start)

    if not request.has_plain_laws:
        return _first_of_one_kind(request, needed)

    gauss = needed(gaussian, uses, 1.0)
    begin, found = min(gauss, LARGEST_RATIO), [gauss]
    if batch == 1:
        found.append(needed(laplace, request.compositions, begin))
        found.append(_staircase_ratio(epsilon / uses))
    else:
        cube = partial(plain_cube, batch=batch, sensitivity=1.0, domain="real")
        found.append(needed(cube, request.compositions, begin))
        found.append(needed(partial(sphere, batch=batch), request.compositions, begin))
    if batch > 1 and request.changes.is_one_sided:
        known = known_laws(1.0, batch, "real", request.changes)
        fitted = [build for name, build, _ in known if name in FITTED]
        found += [needed(build, request.compositions, begin) for build in fitted]
    return min(max(min(found), request.smallest), LARGEST_RATIO)


def _first_of_one_kind(
    request: Request, needed: Callable[[Callable[[float], Noise], int, float], float]
) -> float:
    """The same where only the length of the changes is known, or one kind of law may serve."""
    known = laws_of(replace(request, sensitivity=1.0, domain="real", step=None))
    ratio = min(needed(build, request.compositions, 1.0) for _, build, _ in known)
    return min(max(ratio, request.smallest), LARGEST_RATIO)


def _staircase_ratio(epsilon: float) -> float:
    """The sigma of the best staircase of pure ε, in sensitivities (Geng and Viswanath)."""
    b = math.exp(-epsilon)
    return math.sqrt((0.5 * b * (1.0 + b)) ** (2.0 / 3.0) + b) / -math.expm1(-epsilon)


def _known_ratio(
    build: Callable[[float], Noise], epsilon: float, unit: Request, draws: int, start: float
) -> float:
    """The sigma of a family of laws of unit sensitivity that about reaches `epsilon`; +inf where no
    such law is found."""

    def epsilon_of(ratio: float) -> float:
        return unit.loss(build(ratio)).compose(draws).epsilon(unit.delta)

    try:
        ends = smallest_ratio("real"), LARGEST_RATIO
        found = least_scale(epsilon_of, epsilon, ends, start=start, tolerance=_ROUGHLY)
    except FAILURES:
        return math.inf
    return math.inf if found is None else found
