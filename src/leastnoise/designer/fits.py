"""How answers of unequal ranges or weights are scaled, and what is asked for then.

A law has one unit for all its answers. Where they move by unequal ranges, or matter unequally, each
is divided by a scale of its own first, and multiplied by it again: which scales are best depends on
the kind of law, so there is one `Fit` for each kind (docs/mathematics.md#unequal-ranges):

    box         by the larger end of its range: every change is in the unit box
    one way     the same, where no range goes below 0, or none above: all move up, or all down
    lifted      by the width of its range: cube noise with a hidden count, tied to the middles
    shared      correlated sphere and normal noise, scaled and tied for the weights
    length      the sphere and normal noise, scaled for the weights, for changes of any signs

What is limited is the weighted mean of the squared errors, each in sensitivities of its answer. A
request without ranges and weights has one fit, itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from leastnoise.changes import Box, Changes, Euclidean, OneSided, length_above
from leastnoise.designer.at_epsilon import at_epsilon
from leastnoise.designer.request import Request
from leastnoise.designer.result import FoundLaw
from leastnoise.designer.rivals import rivals
from leastnoise.designer.search import attempted, best_at
from leastnoise.errors import DesignError
from leastnoise.lattice.shells import Floats
from leastnoise.laws.correlated import best_shares
from leastnoise.sampling.lattice import TIE_PARTS

_LITTLE = 0.5  # σ in sensitivities, below which the box's law may need less than a hidden count
_MARGIN = 1.0 + 2.0**-40  # of a scale, so that rounding it leaves no change beyond the ranges


@dataclass(frozen=True)
class Fit:
    """One way to scale the answers.

    Attributes:
        request: What is asked for once they are scaled.
        factors: The scale of each answer, in sensitivities.
        spread: The root of the weighted mean square of all errors, for a law of sigma 1.
    """

    request: Request
    factors: tuple[float, ...]
    spread: float


@dataclass(frozen=True)
class Fitted:
    """The best law at a sigma, with the fit it is of and its rivals by name: those of the same fit,
    and the ε of all."""

    sigma: float
    fit: Fit
    law: FoundLaw
    named: dict[str, FoundLaw]
    needed: dict[str, float]


def fitted_at(request: Request, sigma: float) -> Fitted:
    """The law of least ε at a weighted error of `sigma`."""
    found, failure = list[tuple[Fit, FoundLaw, dict[str, FoundLaw]]](), None
    for fit in fits_of(request):
        try:
            one = sigma / fit.spread
            found.append((fit, *_best(fit.request, one)))
        except DesignError as error:
            failure = failure or error
    if not found:
        raise failure or DesignError(f"No law was found for sigma={sigma!r}.")
    return _best_of(sigma, found)


def fitted_within(request: Request, epsilon: float) -> Fitted:
    """The law of least weighted error within `epsilon`; all fits compete at that error again."""
    fits = fits_of(request)
    least: tuple[float, Fit, FoundLaw, dict[str, FoundLaw]] | None = None
    failure = None
    for fit in fits:
        try:
            sigma, law, named = _least(fit.request, epsilon)
        except DesignError as error:
            failure = failure or error
            continue
        if least is None or sigma * fit.spread < least[0]:
            least = sigma * fit.spread, fit, law, named
    if least is None:
        raise failure or DesignError(f"No law was found for epsilon={epsilon!r}.")
    sigma, best, law, named = least
    found = [(best, law, named)]
    for fit in fits:
        if fit is not best and (known := rivals(fit.request, sigma / fit.spread)):
            found.append((fit, known[0], {one.name: one for one in known}))
    return _best_of(sigma, found)


def _best(request: Request, sigma: float) -> tuple[FoundLaw, dict[str, FoundLaw]]:
    """The law of least ε at a sigma, and its rivals."""
    law, named = best_at(request, sigma, attempted(request, sigma))
    if (boxed := boxed_in(request, sigma)) is not None:
        other, _ = best_at(boxed, sigma, attempted(boxed, sigma))
        law = min(law, judged_for(request, other), key=lambda one: one.epsilon)
    return law, named


def _least(request: Request, epsilon: float) -> tuple[float, FoundLaw, dict[str, FoundLaw]]:
    """The least sigma within ε, its law, and the rivals there."""
    sigma, law, named = at_epsilon(request, epsilon)
    if (boxed := boxed_in(request, sigma)) is not None:
        less, other, _ = at_epsilon(boxed, epsilon)
        if less < sigma:  # the rivals too are those of the smaller sigma
            sigma, law = less, judged_for(request, other)
            named = {one.name: one for one in rivals(request, less)}
    return sigma, law, named


def boxed_in(request: Request, sigma: float) -> Request | None:
    """The request with the box in the place of answers that all move one way, where the box's own
    law may need less than one with a hidden count, which is as one more answer: little noise on few
    answers (two at ε = 12: 0.043 instead of 0.057)."""
    is_little = sigma < _LITTLE * request.sensitivity
    if not is_little or not request.is_lifted or not request.has_plain_laws:
        return None
    return replace(request, changes=Box(request.touched).fitted(request.batch))


def judged_for(request: Request, law: FoundLaw) -> FoundLaw:
    """A law that was found for more changes than there are, judged for those."""
    loss = request.loss(law.noise).compose(request.compositions * law.uses)
    return replace(law, epsilon=loss.epsilon(request.delta))


def _best_of(sigma: float, found: Sequence[tuple[Fit, FoundLaw, dict[str, FoundLaw]]]) -> Fitted:
    fit, law, named = min(found, key=lambda one: one[1].epsilon)
    needed: dict[str, float] = {}
    for _, _, others in found:
        for name, one in others.items():
            needed[name] = min(one.epsilon, needed.get(name, math.inf))
    return Fitted(sigma, fit, law, named, needed)


def fits_of(request: Request) -> list[Fit]:
    """The ways to scale the answers of a request that are worth a comparison. A length has none,
    whatever the weights: the worst change moves the answer of the least scale alone."""
    d, space = request.batch, request.changes
    is_alike = not isinstance(space, OneSided) or space.ranges is None
    if (is_alike and request.weights is None) or isinstance(space, Euclidean):
        return [Fit(request.of_length(), (1.0,) * d, 1.0)]
    alpha = np.array(request.weights or (1.0,) * d)
    plain = replace(request, weights=None, sensitivities=(request.sensitivity,) * d)
    if isinstance(space, OneSided):
        return _of_ranges(plain, space, alpha)
    box = Box(space.touched_of(d))
    found = [_scaled(plain, box, (1.0,) * d, alpha), *_of_length(plain, box, alpha)]
    if d > 1 and plain.domain == "integer":
        found.append(_whole_shared(plain, box.fitted(d), ((-1.0, 1.0),) * d, alpha))
    return found


def _of_ranges(plain: Request, space: OneSided, alpha: Floats) -> list[Fit]:
    d = plain.batch
    each = ((0.0, 1.0),) * d if space.ranges is None else space.ranges
    is_one_way = all(low >= 0.0 for low, _ in each) or all(high <= 0.0 for _, high in each)
    equal = OneSided(space.touched) if is_one_way and d > 1 else Box(space.touched)
    is_whole = plain.domain == "integer"  # whole numbers are not scaled
    reach = (1.0,) * d if is_whole else _reach(each)
    found = [_scaled(plain, equal, reach, alpha)]
    if d == 1:
        return found
    if is_whole:
        return [*found, _whole_shared(plain, space, each, alpha)]
    lifted = [] if is_one_way else _lifted(plain, each, alpha)
    return [*found, *lifted, _shared(plain, space, each, alpha)]


def _reach(each: Sequence[tuple[float, float]]) -> tuple[float, ...]:
    """The larger end of each range."""
    return tuple(max(-low, high) for low, high in each)


def _scaled(plain: Request, space: Changes, factors: tuple[float, ...], alpha: Floats) -> Fit:
    asked = replace(plain, changes=space.fitted(plain.batch))
    return Fit(asked, factors, _spread(alpha, factors))


def _spread(alpha: Floats, stds: Sequence[float]) -> float:
    return math.sqrt(float(np.sum(alpha * np.array(stds) ** 2)) / float(np.sum(alpha)))


def _lifted(plain: Request, each: Sequence[tuple[float, float]], alpha: Floats) -> list[Fit]:
    """Cube noise with a hidden count, where some range is longer on one side."""
    tied = [_tie(*one) for one in each]
    ties = tuple(tie for tie, _ in tied)
    if not any(ties):
        return []
    factors = tuple(factor for _, factor in tied)
    ranges = tuple((0.5 * (tie - 1.0), 0.5 * (tie + 1.0)) for tie in ties)
    asked = replace(plain, changes=OneSided(ranges=ranges), ties=ties)
    stds = [f * math.sqrt(0.5 * (1.0 + tie * tie)) for tie, f in tied]
    return [Fit(asked, factors, _spread(alpha, stds))]


def _tie(low: float, high: float) -> tuple[float, float]:
    """τ and the scale c of one answer, with [c(τ − 1)/2, c(τ + 1)/2] around its range."""
    near, far = (low, high) if high >= -low else (-high, -low)
    tie, scale = 1.0, far
    if near < 0.0:
        tie = round((far + near) / (far - near) * TIE_PARTS) / TIE_PARTS
        scale = max(2.0 * far / (1.0 + tie), -2.0 * near / (1.0 - tie) if tie < 1.0 else math.inf)
        if math.isinf(scale):  # so little below 0 that it is no tie of the lattice
            tie = 1.0 - 1.0 / TIE_PARTS
            scale = max(2.0 * far / (1.0 + tie), -2.0 * near / (1.0 - tie))
    return math.copysign(tie, 1.0 if high >= -low else -1.0), scale * _MARGIN


def _shared(
    plain: Request, space: OneSided, each: Sequence[tuple[float, float]], alpha: Floats
) -> Fit:
    """Correlated sphere and normal noise, of which the answers take shares."""
    parts = best_shares(each, alpha.tolist(), space.touched_of(plain.batch))
    asked = replace(plain, changes=parts.changes(each, space.touched), parts=parts)
    return Fit(asked, parts.scales, parts.spread)


def _whole_shared(
    plain: Request, space: Changes, each: Sequence[tuple[float, float]], alpha: Floats
) -> Fit:
    """The same for whole numbers, which are not divided: the noise is multiplied instead, and
    rounded. Their changes are whole, so ranges are rounded outwards."""
    s = Fraction(plain.sensitivity)
    whole = [
        (float(math.floor(Fraction(low) * s) / s), float(math.ceil(Fraction(high) * s) / s))
        for low, high in each
    ]
    parts = best_shares(whole, alpha.tolist(), space.touched_of(plain.batch))
    return Fit(replace(plain, changes=space, parts=parts), (1.0,) * plain.batch, 1.0)


def _of_length(plain: Request, space: Box, alpha: Floats) -> list[Fit]:
    """The sphere and normal noise for changes of any signs: variances as 1/√weight."""
    if plain.batch == 1 or plain.domain == "integer":
        return []
    scales = alpha**-0.25
    scales = scales / float(np.min(scales))
    longest = sorted((1 / Fraction(one) ** 2 for one in scales), reverse=True)
    squared = sum(longest[: space.touched_of(plain.batch)], Fraction(0))
    radius = math.nextafter(float(length_above(squared)), math.inf)
    return [_scaled(plain, Euclidean(radius), tuple(scales.tolist()), alpha)]
