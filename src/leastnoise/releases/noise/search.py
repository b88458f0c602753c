"""The search for the laws of a plan: which way of drawing noise, and which scale.

1. The ways are compared by the standard deviation that known laws would need, which is quick; those
   within 6 % of the best are designed in full.
2. One law alone is designed for the ε that is left. Several have a common scale: the least at which
   the losses of all of them, composed, are within the budget.
3. The least noise wins.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.artefact.exact import exact
from leastnoise.changes import BOX, Changes
from leastnoise.designer.calibrate import calibrate, least_scale
from leastnoise.designer.design import design
from leastnoise.designer.request import smallest_ratio
from leastnoise.errors import AccountingError, DesignError, LeastNoiseError
from leastnoise.lattice.resolution import bins_to_compare
from leastnoise.laws import classic
from leastnoise.laws.base import Domain, Noise
from leastnoise.laws.lifted import LiftedNoise
from leastnoise.releases.noise import log_concave
from leastnoise.releases.noise.layout import LARGEST, SMALLEST, LawSpec, NoiseLayout
from leastnoise.releases.noise.log_concave import Shifts

_GAUSSIAN_CLOSE = 1e-9  # of ε, how close Gaussian noise comes to it
CLOSE = 1e-3  # how far below the budget a search over several laws may stop
ROUNDING = 2e-6  # share of ε kept for rounding the law to integer weights
_ROUNDS = 14
_SHORTLIST = 1.06
_SHARES = (0.9, 0.2)  # of δ, that several laws are designed for together; the better one is taken
_FAILURES = (LeastNoiseError, ArithmeticError, np.linalg.LinAlgError)  # of a design


@dataclass(frozen=True)
class DesignedLaw:
    """A designed law, and the δ it was designed for."""

    noise: Noise
    uses: int
    origin: str
    delta: float
    changes: Changes = BOX
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
class SampledLaw:
    """A law with integer weights for answers of unit sensitivity; one person can be seen in at most
    `uses` of its draws, and makes the `changes` in each.

    Where one person's rows are spread over its draws, `shifts` are the worst spread: by how much
    draws move, and how many."""

    noise: Noise
    uses: int
    origin: str
    changes: Changes = BOX
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
    return _composed(
        [(law.noise, *part, law.changes) for law in laws for part in judged_parts(law)]
    ).epsilon(delta)


def _composed(laws: Sequence[tuple[Noise, float, int, Changes]]) -> PrivacyLoss:
    first, *others = (PrivacyLoss.of(noise, s, space).compose(n) for noise, s, n, space in laws)
    for loss in others:
        first = first.compose(loss)
    return first


# Which way of drawing noise


def best(
    layouts: Sequence[NoiseLayout], epsilon: float, delta: float
) -> tuple[NoiseLayout, ScaledLaws, dict[str, float]]:
    """The layout of least noise, its laws, and the noise of the others relative to it."""
    if len(layouts) == 1:
        return layouts[0], solve(layouts[0].specs, *layouts[0].left_for_answers(epsilon, delta)), {}
    left = {layout.name: layout.left_for_answers(epsilon, delta) for layout in layouts}
    scales = {layout.name: _estimate(layout.specs, *left[layout.name]) for layout in layouts}
    by_estimate = sorted(layouts, key=lambda layout: scales[layout.name])
    solved = _shortlisted(by_estimate, left, scales)
    scales |= {name: laws.scale for name, laws in solved.items()}
    name = min(solved, key=lambda name: scales[name])
    chosen = next(layout for layout in layouts if layout.name == name)
    least = scales[name]
    alternatives = {name: scale / least for name, scale in scales.items() if math.isfinite(scale)}
    return chosen, solved[name], alternatives


def _shortlisted(
    by_estimate: Sequence[NoiseLayout],
    left: dict[str, tuple[float, float]],
    scales: dict[str, float],
) -> dict[str, ScaledLaws]:
    """The laws of the layouts that may be the best, designed in full: those near the least
    estimate, or else the first that can be designed."""
    most = _SHORTLIST * min(scales.values())
    solved: dict[str, ScaledLaws] = {}
    failure = "no law was tried"
    for layout in by_estimate:
        if not solved or scales[layout.name] <= most:
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
    law = _cube(spec, sigma)
    parts = spec.shifts or ((1, spec.uses),)
    return [(law, float(shift), count, spec.changes) for shift, count in parts]


def _cube(spec: LawSpec, sigma: float) -> Noise:
    """The known law without a tail of its own, on a lattice that is good enough to compare laws."""
    if spec.batch == 1:
        return classic.laplace(sigma)
    step = 1.0 / bins_to_compare(sigma)
    if spec.changes.is_one_sided:
        return LiftedNoise(classic.cube(math.sqrt(2.0) * sigma, spec.batch + 1, step=step))
    return classic.cube(sigma, spec.batch, step=step)


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


def gaussian_scale(specs: Sequence[LawSpec], epsilon: float, delta: float) -> float:
    """The scale that independent Gaussian noise would need, +inf where the fixed sigmas leave it
    nothing; for fixed sigmas only, the share of μ that they use: μ² = Σ uses·touched/σ²."""
    each = [(spec.gaussian_uses, spec) for spec in specs]
    spent = sum(uses / spec.fixed**2 for uses, spec in each if spec.fixed is not None)
    wanted = sum(uses / spec.factor**2 for uses, spec in each if spec.fixed is None)
    allowed = gaussian_mu(epsilon, delta) ** 2
    if wanted == 0.0:
        return math.sqrt(spent / allowed)
    return math.sqrt(wanted / (allowed - spent)) if spent < allowed else math.inf


# Which scale


def solve(specs: Sequence[LawSpec], epsilon: float, delta: float) -> ScaledLaws:
    """The laws of least common scale within the budget.

    1. One law alone may spend all of δ by ending early: it is designed for ε.
    2. Several share δ, and leave some for their composition; of the shares the better is taken.
    3. Gaussian noise is taken where it needs less.
    """
    target = epsilon * (1.0 - ROUNDING)
    if len(specs) == 1 and specs[0].fixed is None:
        law = designed(specs[0], delta, epsilon=target)
        return ScaledLaws(law.noise.std / specs[0].factor, (law,), target)
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
    found = _less_noise(found, _all_gaussian(specs, target, delta))
    if found is None:
        raise DesignError(failure)
    return found


def _less_noise(one: ScaledLaws | None, other: ScaledLaws | None) -> ScaledLaws | None:
    if one is None or other is None:
        return one or other
    return other if other.scale < one.scale else one


def _all_gaussian(specs: Sequence[LawSpec], epsilon: float, delta: float) -> ScaledLaws | None:
    """Independent Gaussian noise, which no release may be worse than; None if sigmas are fixed."""
    scale = gaussian_scale(specs, epsilon, delta)
    if not math.isfinite(scale) or all(spec.fixed is not None for spec in specs):
        return None
    if any(spec.shifts for spec in specs):  # whose laws are drawn as integers, Gaussian among them
        return None
    noise = [
        (classic.gaussian(spec.sigma(scale)), spec.uses * spec.changes.touched_of(spec.batch))
        for spec in specs
    ]
    found = _judged(scale, [DesignedLaw(*one, "Gaussian", delta) for one in noise], delta)
    return found if found.epsilon <= epsilon else None


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

    factors = [spec.factor for spec in specs if spec.fixed is None]
    if not factors:
        found = laws_at(1.0)
        if found.epsilon > target:
            raise DesignError(
                f"The wanted sigmas cost epsilon = {found.epsilon:.6g}, more than the "
                f"{target:.6g} that the plan has for them: declare larger ones."
            )
        return found
    low, high = SMALLEST / max(factors), LARGEST / min(factors)
    if any(spec.shifts for spec in specs):  # whose sigmas are in units, and not in sensitivities
        low, high = SMALLEST, LARGEST
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


def _judged(scale: float, laws: Sequence[DesignedLaw], delta: float) -> ScaledLaws:
    return ScaledLaws(scale, tuple(laws), composed_epsilon(laws, delta))


# Several plans, engines or years ask for the same law, and a design takes seconds.
@lru_cache(maxsize=256)
def designed(
    spec: LawSpec, delta: float, *, epsilon: float | None = None, sigma: float | None = None
) -> DesignedLaw:
    """The best law for a spec."""
    if spec.shifts:
        return _of_spread(spec, delta, epsilon=epsilon, sigma=sigma)
    # On the integers very small noise may not exist; the real line then serves counts too.
    domains: tuple[Domain, ...] = ("integer", "real") if spec.domain == "integer" else ("real",)
    failure = ""
    for domain in domains:
        try:
            found, _ = _designed_on(domain, spec, delta, epsilon=epsilon, sigma=sigma)
            # Where several laws are composed ε may jump at a tiny change of one: the search must
            # see the laws that are sampled.
            return found if sigma is None else replace(found, noise=found.sampled())
        except _FAILURES as error:
            failure = str(error)
    # More may be allowed than the least noise that can be designed needs: then that is it.
    for domain in domains if epsilon is not None else ():
        try:
            found, cost = _designed_on(domain, spec, delta, sigma=smallest_ratio(domain))
        except _FAILURES:
            continue
        if epsilon is not None and cost <= epsilon:
            return found
    raise DesignError(failure)


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
    domain: Domain,
    spec: LawSpec,
    delta: float,
    *,
    epsilon: float | None = None,
    sigma: float | None = None,
) -> tuple[DesignedLaw, float]:
    """The law, and its ε."""
    made = design(
        delta=delta,
        epsilon=epsilon,
        sigma=sigma,
        compositions=spec.uses,
        batch=spec.batch,
        domain=domain,
        changes=spec.changes,
    )
    changes = made.changes if made.is_joint else BOX
    return DesignedLaw(made.noise, made.uses, made.origin, delta, changes), made.epsilon
