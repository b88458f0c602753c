"""The search for the laws of a plan: which way of drawing noise, and which scale.

1. The ways are compared by the standard deviation that known laws would need, which is quick; those
   within 6 % of the best are designed in full.
2. One law alone is designed for the ε that is left. Several have a common scale: the least at which
   the losses of all of them, composed, are within the budget.
3. The least noise wins.
4. Where a plan caps the attacker's advantage and the winner is beyond it, other kinds of laws
   compete (`bodies`): the least scale at which ε and the cap both hold, by certified bounds on the
   composed loss. Both bounds fall in the scale, so a kind that misses one of them at the least
   scale found so far is left after one look. One law of one answer is designed for both as well:
   at ε = 1, δ = 1e-6 and a cap of 0.2 it needs 1.81 sensitivities, and no other kind less than 3.1.
   (Designed for both, six answers gain 2 % at best on the kinds, for 20 times the time.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.special import ndtri

from leastnoise.accountant.attacker import FEW_POINTS, advantage_of
from leastnoise.accountant.curve import PrivacyCurve
from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.artefact.exact import exact
from leastnoise.changes import BOX, Changes
from leastnoise.designer.calibrate import calibrate, least_scale
from leastnoise.designer.design import design
from leastnoise.designer.fits import Fit, fits_of
from leastnoise.designer.request import Request, smallest_ratio
from leastnoise.errors import AccountingError, DesignError, LeastNoiseError
from leastnoise.lattice.resolution import bins_to_compare
from leastnoise.laws import classic
from leastnoise.laws.base import Domain, Noise
from leastnoise.laws.correlated import (
    correlated,
    float_ranges,
    gaussian_parts,
    gaussian_reach,
    shared,
)
from leastnoise.laws.lifted import LiftedNoise
from leastnoise.releases.noise import log_concave
from leastnoise.releases.noise.bodies import Kind, bent_kinds, kinds
from leastnoise.releases.noise.layout import APART, LARGEST, SMALLEST, LawSpec, NoiseLayout
from leastnoise.releases.noise.log_concave import Shifts

_WORTH_FRACTIONS = 0.01  # of the noise on whole numbers, for which they get noise of the real line
_GAUSSIAN_CLOSE = 1e-9  # of ε, how close Gaussian noise comes to it
CLOSE = 1e-3  # how far below the budget a search over several laws may stop
ROUNDING = 2e-6  # share of ε kept for rounding the law to integer weights
_ROUNDS = 14
_SHORTLIST = 1.06
_SHARES = (0.9, 0.2)  # of δ, that several laws are designed for together; the better one is taken
_CAP_CLOSE = 1e-4  # of the nearer limit, to which the scale under a cap is found
_AT_LIMIT = 0.99  # of ε: what uses more of it is held there by ε
_GAIN = 1.0 - 1e-3  # of the least scale: a kind of law that needs more is not looked for
_FAILURES = (LeastNoiseError, ArithmeticError, np.linalg.LinAlgError)  # of a design


class _UnequalAnswers:
    """What a law is for answers that are divided by scales of their own, beside sensitivities."""

    noise: Noise
    scales: tuple[float, ...] | None

    def stds(self, answers: int) -> tuple[float, ...]:
        """Standard deviation of the noise on each of the answers of a batch, in sensitivities."""
        each = self.noise.stds if self.noise.dimension == answers else (self.noise.std,) * answers
        if self.scales is None:
            return each
        return tuple(scale * std for scale, std in zip(self.scales, each, strict=True))

    def spread(self, answers: int, weights: Sequence[float] | None = None) -> float:
        """The root of the weighted mean square of them."""
        alpha = (1.0,) * answers if weights is None else weights
        whole = math.fsum(a * std**2 for a, std in zip(alpha, self.stds(answers), strict=True))
        return math.sqrt(whole / math.fsum(alpha))


@dataclass(frozen=True)
class DesignedLaw(_UnequalAnswers):
    """A designed law, and the δ it was designed for. Where there are `scales` each answer of a
    batch is divided by its own first, and `changes` are those of what is so scaled."""

    noise: Noise
    uses: int
    origin: str
    delta: float
    changes: Changes = BOX
    scales: tuple[float, ...] | None = None
    shifts: Shifts = ()

    def sampled(self, wider: float = 1.0) -> Noise:
        """The law as it is sampled; a closed form gets a lattice and may need to be `wider`."""
        if self.shifts:
            whole = log_concave.widened(self.noise.std, self.origin, wider)
            return log_concave.drawn(whole, self.shifts, self.delta)
        noise = classic.lattice_form(self.noise, wider=wider)
        if noise.sampler().is_exact:  # drawn as it is, without integer weights
            return noise
        return exact(noise, delta=self.delta, compositions=self.uses)


@dataclass(frozen=True)
class SampledLaw(_UnequalAnswers):
    """A law with integer weights for answers of unit sensitivity, divided by `scales` where there
    are some; one person can be seen in at most `uses` of its draws, and makes the `changes` in
    each.

    Where one person's rows are spread over its draws, `shifts` are the worst spread: by how much
    draws move, and how many."""

    noise: Noise
    uses: int
    origin: str
    changes: Changes = BOX
    scales: tuple[float, ...] | None = None
    shifts: Shifts = ()

    @property
    def parts(self) -> tuple[tuple[float, int], ...]:
        """The sensitivities that draws are judged at, and how many."""
        return judged_parts(self)


def judged_parts(law: DesignedLaw | SampledLaw) -> tuple[tuple[float, int], ...]:
    """The sensitivities that the draws of a law are judged at, and how many."""
    if not law.shifts:
        return ((1.0, law.uses),)
    return tuple((float(shift), count) for shift, count in law.shifts)


@dataclass(frozen=True)
class ScaledLaws:
    """Laws of a common scale, and the ε of their composition, at most."""

    scale: float
    laws: tuple[DesignedLaw, ...]
    epsilon: float


def composed_epsilon(laws: Sequence[DesignedLaw | SampledLaw], delta: float) -> float:
    """ε of all uses of laws."""
    return _together(laws).epsilon(delta)


def composed_advantage(laws: Sequence[DesignedLaw | SampledLaw]) -> float:
    """The attacker's advantage over all uses of laws, an upper bound."""
    return advantage_of(_together(laws))


def composed_curve(laws: Sequence[DesignedLaw | SampledLaw]) -> PrivacyCurve:
    """The privacy curve of all uses of laws, at a few nodes."""
    return _together(laws).curve(points=FEW_POINTS)


def _together(laws: Sequence[DesignedLaw | SampledLaw]) -> PrivacyLoss:
    """The loss of all uses of laws, each at the sensitivities that its draws are judged at."""
    return _composed(
        [(law.noise, *part, law.changes) for law in laws for part in judged_parts(law)]
    )


def _composed(laws: Sequence[tuple[Noise, float, int, Changes]]) -> PrivacyLoss:
    first, *others = (PrivacyLoss.of(noise, s, space).compose(n) for noise, s, n, space in laws)
    for loss in others:
        first = first.compose(loss)
    return first


# Which way of drawing noise


def best(
    layouts: Sequence[NoiseLayout], epsilon: float, delta: float, cap: float | None = None
) -> tuple[NoiseLayout, ScaledLaws, dict[str, float]]:
    """The layout of least noise, its laws, and the noise of the others relative to it."""
    left = {
        layout.name: (
            *layout.left_for_answers(epsilon, delta),
            layout.left_of_cap(epsilon, cap),
        )
        for layout in layouts
    }
    if len(layouts) == 1:
        return layouts[0], solve(layouts[0].specs, *left[layouts[0].name]), {}
    scales = {layout.name: _estimate(layout.specs, *left[layout.name][:2]) for layout in layouts}
    by_estimate = sorted(layouts, key=lambda layout: scales[layout.name])
    solved = _shortlisted(by_estimate, left, scales)
    specs = {layout.name: layout.specs for layout in layouts}
    scales |= {name: _needed(specs[name], laws) for name, laws in solved.items()}
    name = min(solved, key=lambda name: scales[name])
    chosen = next(layout for layout in layouts if layout.name == name)
    least = scales[name]
    alternatives = {name: scale / least for name, scale in scales.items() if math.isfinite(scale)}
    return chosen, solved[name], alternatives


def _needed(specs: Sequence[LawSpec], found: ScaledLaws) -> float:
    """What layouts are compared by: their scale, and of answers of unequal weights w in one draw no
    w·σ that is beyond it by more than a few per cent: weights are there to be kept."""
    most = [
        math.sqrt(math.sqrt(weight)) * std / _SHORTLIST
        for spec, law in zip(specs, found.laws, strict=True)
        for weight, std in zip(spec.weights or (), law.stds(spec.batch), strict=False)
    ]
    return max([found.scale, *most])


def _shortlisted(
    by_estimate: Sequence[NoiseLayout],
    left: dict[str, tuple[float, float, float | None]],
    scales: dict[str, float],
) -> dict[str, ScaledLaws]:
    """The laws of the layouts that may be the best, designed in full: those near the least
    estimate, or else the first that can be designed; all where a cap says more than ε does."""
    is_capped = any(cap is not None for *_, cap in left.values())
    most = math.inf if is_capped else _SHORTLIST * min(scales.values())
    solved: dict[str, ScaledLaws] = {}
    failure = "no law was tried"
    for layout in by_estimate:
        if not solved or scales[layout.name] <= most or layout.name.endswith(APART):
            try:
                solved[layout.name] = solve(layout.specs, *left[layout.name])
            except DesignError as error:
                failure = str(error)
    if not solved:
        raise DesignError(failure)
    return solved


def _estimate(specs: Sequence[LawSpec], epsilon: float, delta: float) -> float:
    """The scale that known laws would need, all Gaussian or all cubes; for plans of fixed sigmas
    only, the share of ε they use."""
    gaussian = gaussian_scale(specs, epsilon, delta)
    wanted = [spec for spec in specs if spec.fixed is None]
    if not wanted:
        return gaussian

    def epsilon_of(scale: float) -> float:
        together = _composed([one for spec in specs for one in _known(spec, spec.sigma(scale))])
        try:
            return together.epsilon(delta)
        except AccountingError:
            # Very different laws may be beyond the grid; their largest losses still are a guide.
            return sum(count * loss.largest for loss, count in together.parts)

    is_within = math.isfinite(gaussian)
    start = gaussian if is_within else 2.0 * gaussian_scale(wanted, epsilon, delta)
    least = SMALLEST / max(spec.factor for spec in wanted)
    try:
        found = least_scale(epsilon_of, epsilon, (min(least, start), start), start=start)
    except (LeastNoiseError, ArithmeticError, ValueError):
        return gaussian
    # Else cubes need more than Gaussian noise, or than could be had.
    return gaussian if found is None else found


def _known(spec: LawSpec, sigma: float) -> list[tuple[Noise, float, int, Changes]]:
    """The known law, with the sensitivities that its draws are judged at."""
    law, uses, changes = _cube(spec, sigma)
    parts = spec.shifts or ((1, uses),)
    return [(law, float(shift), count, changes) for shift, count in parts]


def _cube(spec: LawSpec, sigma: float) -> tuple[Noise, int, Changes]:
    """The known law without a tail of its own, on a lattice that is good enough to compare laws,
    with its uses and the changes it is judged for."""
    if spec.batch == 1:
        return classic.laplace(sigma), spec.uses, spec.changes
    fit = _lifted_fit(spec)
    if fit is None:
        step = 1.0 / bins_to_compare(sigma)
        return classic.cube(sigma, spec.batch, step=step), spec.uses, BOX
    one = sigma / fit.spread
    base = classic.cube(math.sqrt(2.0) * one, spec.batch + 1, step=1.0 / bins_to_compare(one))
    return LiftedNoise(base, fit.request.ties), spec.uses, fit.request.changes


@lru_cache(maxsize=256)
def _lifted_fit(spec: LawSpec) -> Fit | None:
    """How a hidden count serves the answers; None where the cube without one needs less."""
    if not spec.changes.is_one_sided:
        return None
    d = spec.batch
    asked = Request.of(delta=0.5, batch=d, changes=spec.changes, weights=spec.weights)
    # the variance of a cube of d + 1 answers, halved, to that of one of d: (d + 3)/(2(d + 1))
    most = math.sqrt(2.0 * (d + 1.0) / (d + 3.0))
    found = [fit for fit in fits_of(asked) if fit.request.is_lifted and fit.request.parts is None]
    return next((fit for fit in found if fit.spread < most), None)


# What Gaussian noise needs: a first guess, what no release may be worse than, and a comparison


def gaussian_epsilon(mu: float, delta: float) -> float:
    """ε of Gaussian noise whose standard deviation is 1/μ of the sensitivity."""
    return PrivacyLoss.of(classic.gaussian(1.0 / mu)).epsilon(delta)


def gaussian_mu(epsilon: float, delta: float) -> float:
    """sensitivity/σ of Gaussian noise that costs ε, at most."""
    # By concentrated differential privacy this σ is enough (Bun and Steinke 2016, lemma 3.6).
    root = math.sqrt(-math.log(delta))
    enough = (root + math.hypot(root, math.sqrt(epsilon))) / (math.sqrt(2.0) * epsilon)

    def epsilon_of(sigma: float) -> float:
        return gaussian_epsilon(1.0 / sigma, delta)

    ends = (1e-9 * enough, 2.0 * enough)
    sigma = least_scale(epsilon_of, epsilon, ends, start=enough, tolerance=_GAUSSIAN_CLOSE)
    return 1.0 / (ends[1] if sigma is None else sigma)


def gaussian_scale(
    specs: Sequence[LawSpec], epsilon: float, delta: float, cap: float | None = None
) -> float:
    """The scale that the best Gaussian noise would need, +inf where the fixed sigmas leave it
    nothing; for fixed sigmas only, the share of μ that they use: μ² = Σ uses·reach/σ². Its
    advantage is 2Φ(μ/2) − 1."""
    seen = [spec.gaussian_uses if spec.shifts else spec.uses * _reach(spec) for spec in specs]
    each = list(zip(seen, specs, strict=True))
    spent = sum(uses / spec.fixed**2 for uses, spec in each if spec.fixed is not None)
    wanted = sum(uses / spec.factor**2 for uses, spec in each if spec.fixed is None)
    allowed = gaussian_mu(epsilon, delta) ** 2
    if cap is not None:
        allowed = min(allowed, 4.0 * float(ndtri(0.5 * (1.0 + cap))) ** 2)
    if wanted == 0.0:
        return math.sqrt(spent / allowed)
    return math.sqrt(wanted / (allowed - spent)) if spent < allowed else math.inf


@lru_cache(maxsize=256)
def _reach(spec: LawSpec) -> float:
    return gaussian_reach(spec.batch, spec.changes, spec.weights)


# Which scale


def solve(
    specs: Sequence[LawSpec], epsilon: float, delta: float, cap: float | None = None
) -> ScaledLaws:
    """The laws of least common scale within the budget, and within a cap on the advantage; none
    where nothing is asked for beside the keys that are found."""
    if not specs:
        return ScaledLaws(0.0, (), 0.0)
    found = _within_budget(specs, epsilon, delta)
    if cap is None or composed_advantage(found.laws) <= cap * (1.0 - ROUNDING):
        return found
    return _within_cap(specs, epsilon * (1.0 - ROUNDING), delta, cap * (1.0 - ROUNDING))


def _within_budget(specs: Sequence[LawSpec], epsilon: float, delta: float) -> ScaledLaws:
    """The laws of least common scale within the budget.

    1. One law alone may spend all of δ by ending early: it is designed for ε.
    2. Several share δ, and leave some for their composition; of the shares the better is taken.
    3. Gaussian noise is taken where it needs less.
    """
    target = epsilon * (1.0 - ROUNDING)
    if len(specs) == 1 and specs[0].fixed is None:
        law = designed(specs[0], delta, epsilon=target)
        spread = law.spread(specs[0].batch, specs[0].weights)
        return ScaledLaws(spread / specs[0].factor, (law,), target)
    found: ScaledLaws | None = None
    failure = ""
    for share in _SHARES if len(specs) > 1 else (1.0,):
        start = None if found is None else found.scale
        try:
            tried = _common(specs, target, delta, share * delta / len(specs), start)
        except DesignError as error:
            failure = str(error)
            continue
        found = _less_noise(found, tried)
    found = _less_noise(found, all_gaussian(specs, target, delta))
    if found is None:
        raise DesignError(failure)
    return found


def _less_noise(one: ScaledLaws | None, other: ScaledLaws | None) -> ScaledLaws | None:
    if one is None or other is None:
        return one or other
    return other if other.scale < one.scale else one


@dataclass(frozen=True)
class _WithinLimits:
    """Laws of a common scale; `epsilon` is the share of the nearer limit that they use, which is
    what a scale is searched by."""

    laws: ScaledLaws
    epsilon: float


def _within_cap(specs: Sequence[LawSpec], epsilon: float, delta: float, cap: float) -> ScaledLaws:
    """The laws of least common scale that keep ε and the cap, of all kinds."""
    found = _less_noise(
        all_gaussian(specs, epsilon, delta, cap), _designed_within(specs, epsilon, delta, cap)
    )
    limits = epsilon, delta, cap
    for kind in kinds(specs):
        found = _less_noise(found, _of_kind(kind, specs, limits, found))
    for kind in bent_kinds(specs) if _may_bend(found, epsilon) else ():
        found = _less_noise(found, _of_kind(kind, specs, limits, found))
    if found is None:
        raise DesignError(
            f"No noise within reach leaves an attacker an advantage of {cap:.6g} only: declare "
            "larger sigmas, or a larger advantage."
        )
    return found


def _may_bend(found: ScaledLaws | None, epsilon: float) -> bool:
    """Whether noise between the sphere and normal noise may need less: the sphere is the best and
    ε is not what it needs its scale for, or normal noise is and the cap is not."""
    if found is None:
        return False
    is_at_epsilon = found.epsilon > _AT_LIMIT * epsilon
    return found.laws[0].origin == ("Gaussian" if is_at_epsilon else "sphere")


def _designed_within(
    specs: Sequence[LawSpec], epsilon: float, delta: float, cap: float
) -> ScaledLaws | None:
    """One law of one answer a draw, designed for ε and the cap (`designer.capped`), where it keeps
    both as it is sampled; None where it does not, or is not such a law."""
    spec = specs[0]
    if len(specs) > 1 or spec.batch > 1 or spec.shifts or spec.fixed is not None:
        return None
    try:
        law = designed(spec, delta, epsilon=epsilon, cap=cap)
        law = replace(law, noise=law.sampled())
        found = _judged(law.spread(spec.batch, spec.weights) / spec.factor, [law], delta)
        is_within = found.epsilon <= epsilon and composed_advantage(found.laws) <= cap
    except _FAILURES:
        return None
    return found if is_within else None


def _of_kind(
    kind: Kind,
    specs: Sequence[LawSpec],
    limits: tuple[float, float, float],
    least: ScaledLaws | None,
) -> ScaledLaws | None:
    """The least scale at which laws of one kind keep ε and the cap; None where that is no less than
    what was found before, or where there are no such laws."""
    epsilon, delta, cap = limits

    def laws_at(scale: float, _: _WithinLimits | None = None) -> _WithinLimits:
        made = [kind(spec, spec.sigma(scale)) for spec in specs]
        part = delta / len(specs)
        laws = [
            DesignedLaw(*one[:3], part, one.changes, shifts=spec.shifts)
            for one, spec in zip(made, specs, strict=True)
        ]
        together = _together(laws)
        share, cost = advantage_of(together) / cap, math.inf
        if share <= 1.0:  # else there is no need to know the ε, which takes longer
            cost = together.epsilon(delta)
            share = max(cost / epsilon, share)
        return _WithinLimits(ScaledLaws(scale, tuple(laws), cost), share)

    try:
        if all(spec.fixed is not None for spec in specs):
            only = laws_at(1.0)
            return only.laws if only.epsilon <= 1.0 and least is None else None
        low, high = _scales(specs)
        if least is not None:
            high = min(high, _GAIN * least.scale)
        elif any(spec.shifts for spec in specs):  # whose laws are tables, larger with the scale
            high = min(high, _SHORTLIST * gaussian_scale(specs, *limits))
        first = laws_at(high)
        if first.epsilon > 1.0 or low >= high:
            return None
        law = calibrate(
            laws_at, 1.0, (low, high), start=high, tolerance=_CAP_CLOSE, begun=first
        ).law
    except _FAILURES:
        return None
    return law.laws if law.epsilon <= 1.0 else None


def all_gaussian(
    specs: Sequence[LawSpec], epsilon: float, delta: float, cap: float | None = None
) -> ScaledLaws | None:
    """The best Gaussian noise, which no release may be worse than; None if sigmas are fixed."""
    scale = gaussian_scale(specs, epsilon, delta, cap)
    if not math.isfinite(scale) or all(spec.fixed is not None for spec in specs):
        return None
    if any(spec.shifts for spec in specs):  # whose laws are drawn as integers, Gaussian among them
        return None
    found = _judged(scale, [_gaussian(spec, spec.sigma(scale), delta) for spec in specs], delta)
    return found if found.epsilon <= epsilon else None


def _gaussian(spec: LawSpec, sigma: float, delta: float) -> DesignedLaw:
    """Gaussian noise: independent for changes of any signs, else correlated."""
    d, space, uses = spec.batch, spec.changes, spec.uses
    parts = gaussian_parts(d, space, spec.weights)
    if parts is not None:
        law = shared(sigma / parts.spread, parts, core="gaussian")
        changes = parts.changes(float_ranges(space, d), space.touched_of(d))
        return DesignedLaw(law, uses, "correlated Gaussian", delta, changes, parts.scales)
    if d > 1 and space.is_one_sided:
        law = correlated(sigma, d, core="gaussian", changes=space)
        return DesignedLaw(law, uses, "correlated Gaussian", delta, space)
    return DesignedLaw(classic.gaussian(sigma), uses * space.touched_of(d), "Gaussian", delta)


def _common(
    specs: Sequence[LawSpec], target: float, delta: float, part: float, start: float | None
) -> ScaledLaws:
    """Laws designed for `part` of δ each, at the least common scale whose composition is within the
    target.

    1. Where every sigma is wanted there is no scale to find: the laws are within it, or too dear.
    2. Else the scale is searched for, from `start` or from what known laws would need.
    """

    def laws_at(scale: float, _: ScaledLaws | None = None) -> ScaledLaws:
        laws = [designed(spec, part, sigma=spec.sigma(scale)) for spec in specs]
        return _judged(scale, laws, delta)

    if all(spec.fixed is not None for spec in specs):
        found = laws_at(1.0)
        if found.epsilon > target:
            raise DesignError(
                f"The wanted sigmas cost epsilon = {found.epsilon:.6g}, more than the "
                f"{target:.6g} that the plan has for them: declare larger ones."
            )
        return found
    low, high = _scales(specs)
    guess = _estimate(specs, target, delta) if start is None else start
    begin = guess if math.isfinite(guess) else math.sqrt(low * high)
    found = calibrate(
        laws_at, target, (low, high), start=begin, tolerance=CLOSE, most_tried=_ROUNDS
    ).law
    if found.epsilon > target:
        raise DesignError(
            f"No noise within reach gives epsilon = {target:g}: ask for fewer statistics, or "
            "declare larger sigmas."
        )
    return found


def _scales(specs: Sequence[LawSpec]) -> tuple[float, float]:
    """The range of common scales."""
    if any(spec.shifts for spec in specs):  # whose sigmas are in units, and not in sensitivities
        return SMALLEST, LARGEST
    factors = [spec.factor for spec in specs if spec.fixed is None]
    return SMALLEST / max(factors), LARGEST / min(factors)


def _judged(scale: float, laws: Sequence[DesignedLaw], delta: float) -> ScaledLaws:
    return ScaledLaws(scale, tuple(laws), composed_epsilon(laws, delta))


# Several plans, engines or years ask for the same law, and a design takes seconds.
@lru_cache(maxsize=256)
def designed(
    spec: LawSpec,
    delta: float,
    *,
    epsilon: float | None = None,
    sigma: float | None = None,
    cap: float | None = None,
) -> DesignedLaw:
    """The best law for a spec; with a cap on the attacker's advantage, which stands beside ε, the
    best that is known to keep both."""
    if spec.shifts:
        return _of_spread(spec, delta, epsilon=epsilon, sigma=sigma)
    # On the integers very small noise may not exist; the real line then serves counts too.
    domains: tuple[Domain, ...] = ("integer", "real") if spec.domain == "integer" else ("real",)
    asked = {"epsilon": epsilon, "sigma": sigma, "advantage": cap}
    found, failure = _least_noise_on(domains, spec, delta, asked)
    if found is not None:
        return found
    # More may be allowed than the least noise that can be designed needs: then that is it.
    for domain in domains if epsilon is not None and cap is None else ():
        try:
            found, cost = _designed_on(domain, spec, delta, {"sigma": smallest_ratio(domain)})
        except _FAILURES:
            continue
        if epsilon is not None and cost <= epsilon:
            return found
    raise DesignError(failure)


def _least_noise_on(
    domains: Sequence[Domain],
    spec: LawSpec,
    delta: float,
    asked: Mapping[str, float | None],
) -> tuple[DesignedLaw | None, str]:
    """The best law on the first of the domains that has one, or where it may gain on the next, on
    that; None with the reason where there is none."""
    failure = ""
    best: tuple[float, DesignedLaw] | None = None
    for domain in domains:
        if best is not None and not _may_gain_on_the_line(spec):
            break
        try:
            found, cost = _designed_on(domain, spec, delta, asked)
            # Where several laws are composed ε may jump at a tiny change of one: the search must
            # see the laws that are sampled.
            found = found if asked["sigma"] is None else replace(found, noise=found.sampled())
        except _FAILURES as error:
            failure = str(error)
            continue
        needed = cost if asked["epsilon"] is None else found.spread(spec.batch, spec.weights)
        if best is None or needed < best[0] * (1.0 - _WORTH_FRACTIONS):
            best = needed, found
    return (None if best is None else best[1]), failure


def _may_gain_on_the_line(spec: LawSpec) -> bool:
    """Whether some whole answers only rise and others do not: the hidden count with ties, which is
    the best for few of them, is a law of the real line."""
    ranges = spec.changes.ranges_of(spec.batch) if spec.changes.is_one_sided else None
    return ranges is not None and any(low < 0 for low, _ in ranges)


def _of_spread(
    spec: LawSpec, delta: float, *, epsilon: float | None, sigma: float | None
) -> DesignedLaw:
    """The best log-concave law for rows that are spread over draws: see `one_view`."""
    if sigma is not None:
        noise, name = log_concave.of_sigma(sigma, spec.shifts, delta)
    else:
        noise, name = log_concave.of_epsilon(float(epsilon or 0.0), spec.shifts, delta)
    log_concave.drawn(noise, spec.shifts, delta)  # which may not be possible
    return DesignedLaw(noise, spec.uses, name, delta, shifts=spec.shifts)


def _designed_on(
    domain: Domain, spec: LawSpec, delta: float, asked: Mapping[str, float | None]
) -> tuple[DesignedLaw, float]:
    """The law for the ε, sigma or advantage that is asked for, and its ε."""
    made = design(
        delta=delta,
        epsilon=asked.get("epsilon"),
        sigma=asked.get("sigma"),
        advantage=asked.get("advantage"),
        compositions=spec.uses,
        batch=spec.batch,
        domain=domain,
        changes=spec.changes,
        weights=spec.weights,
    )
    changes, scales = made.changes_of(made.noise), made.factors
    if scales is not None and set(scales) == {1.0}:
        scales = None
    law = DesignedLaw(made.noise, made.uses, made.origin, delta, changes, scales)
    return law, made.epsilon
