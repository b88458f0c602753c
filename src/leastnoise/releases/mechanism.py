"""From sensitivities to noise: one design for all answers of a plan, and the proof of what it costs.

1. Every answer is divided by its sensitivity; `sensitivity` says why all three ways of drawing noise below are then valid.
2. The ways are compared by the standard deviation that known laws would need, which is quick; those within 6 % of the best are
   designed in full.
3. The least noise wins. Its law gets integer weights, is judged again as it will be sampled, and only then counts.

Statistics of other weight, or with a wanted sigma, have a law of their own; the losses of all laws are composed.

The checks of `sensitivity` have one law too, for `CHECKS` of ε. The discrete Laplace law is pure: it
adds to ε at most what it costs, and nothing to δ. What is asked for gets the rest, so its noise
grows by 1/(1 − CHECKS) at most, 1.5 %. With many answers small losses hardly add to large ones: what
tight composition leaves of the share goes back to what is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from types import MappingProxyType

import numpy as np
from scipy import optimize

from leastnoise import classic
from leastnoise.closed_form import GaussianNoise, LaplaceNoise
from leastnoise.designer.design import LARGEST_RATIO, design, smallest_ratio
from leastnoise.errors import AccountingError, DesignError, LeastNoiseError, PlanError
from leastnoise.lattice import LatticeNoise
from leastnoise.noise import Domain, Noise
from leastnoise.privacy.loss import PrivacyLoss
from leastnoise.releases.accounting import Spend
from leastnoise.releases.plan import Plan
from leastnoise.releases.sensitivity import Answer, Block, blocks, is_checks
from leastnoise.sampling.weights import exact

_ROUNDING = 2e-6  # share of ε kept for rounding the law to integer weights
_CLOSE = 1e-3  # how far below the budget a search over several laws may stop
_ROUNDS = 14
_SHORTLIST = 1.06
_SHARES = (0.9, 0.2)  # of δ, that several laws are designed for together; the better one is taken
_SMALLEST, _LARGEST = smallest_ratio("real"), 0.99 * LARGEST_RATIO  # sigma/sensitivity
CHECKS = 0.015  # share of ε for the checks: a person counts once, so their noise is √2/0.015 = 94 persons at ε = 1
_MOST_CHECKS = 0.1  # of ε for all checks: noise of 14 persons will do
_AGAIN = 3  # designs that take back what the checks did not need
_SPARE = 0.02  # of that share for the rounding of a composition: 0.3 % of it at ε = 0.01
_LEAST_CHECK = 1e-4  # of ε a draw: below, the table of the law has more than 600,000 entries
_MOST_JOINT = 100  # answers in one joint draw: beyond, independent noise is the better one (python -m benchmarks batches)


@dataclass(frozen=True)
class Entry:
    """One answer of one group."""

    block: int
    group: int
    answer: Answer
    sensitivity: int


@dataclass(frozen=True)
class Law:
    """A law with integer weights for answers of unit sensitivity; one person can be seen in at most `uses` of its draws."""

    noise: Noise
    uses: int
    origin: str


@dataclass(frozen=True)
class Draw:
    """One draw of a law, and the entries it serves: as many as the law has answers, or fewer; the rest is not used."""

    law: int
    entries: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Mechanism:
    """The noise of a release.

    Guarantees: releasing every entry, divided by its sensitivity, with the noise of its draw is (`epsilon`, `delta`)-differentially
    private for the plan's unit and relation; `epsilon` is the judge's bound for the laws that are sampled, at most the plan's.
    """

    blocks: tuple[Block, ...]
    entries: tuple[Entry, ...]
    laws: tuple[Law, ...]
    draws: tuple[Draw, ...]
    layout: str
    epsilon: float
    delta: float
    gaussian_epsilon: float  # what Gaussian noise of the same standard deviations would cost
    gaussian_factor: (
        float  # standard deviation of Gaussian noise of the same epsilon, relative to ours
    )
    alternatives: Mapping[str, float] = field(
        default_factory=dict
    )  # layout -> noise relative to the chosen one
    plan_hash: str = ""

    @property
    def spends(self) -> tuple[Spend, ...]:
        """What the ledger is charged."""
        return tuple(Spend(law.noise, 1.0, law.uses) for law in self.laws)

    def std(self, entry: int) -> float:
        """Standard deviation of the noise on one entry, in units of the answer."""
        return self.law_of[entry].noise.std * self.entries[entry].sensitivity

    @cached_property
    def law_of(self) -> Mapping[int, Law]:
        return {entry: self.laws[draw.law] for draw in self.draws for entry in draw.entries}


@dataclass(frozen=True)
class _Spec:
    """A law to find: `batch` answers a draw, seen in `uses` draws; sigma = scale·factor, or fixed."""

    batch: int
    uses: int
    factor: float
    fixed: float | None
    domain: Domain

    def sigma(self, scale: float) -> float:
        """Kept within what can be designed for: very different weights cannot all be had to the letter."""
        return (
            self.fixed
            if self.fixed is not None
            else min(max(scale * self.factor, _SMALLEST), _LARGEST)
        )


@dataclass(frozen=True)
class _Layout:
    name: str
    specs: tuple[_Spec, ...]
    draws: tuple[tuple[int, tuple[int, ...]], ...]  # (spec, entries)
    checks: tuple[int, ...] = ()  # entries with noise of their own
    check_uses: int = 0  # how many of those one person can be seen in
    blocks: tuple[Block, ...] = ()
    entries: tuple[Entry, ...] = ()


@dataclass(frozen=True)
class _Made:
    """A designed law, and the δ it was designed for."""

    noise: Noise
    uses: int
    origin: str
    delta: float


@dataclass(frozen=True)
class _Found:
    scale: float
    laws: tuple[_Made, ...]


def mechanism(plan: Plan) -> Mechanism:
    """The least noise for a plan. Nothing but the plan is looked at."""
    if plan.delta is None:
        raise PlanError(
            "The plan declares no delta: release it with a ledger, which gives it its share, or declare delta = the probability "
            "with which epsilon may be exceeded, such as 1e-9."
        )
    layouts = _layouts(blocks(plan), blocks(plan, joint=True))
    chosen, found, alternatives = _best(layouts, plan.epsilon, plan.delta)
    laws, epsilon = _beside_checks(chosen, found, plan.epsilon, plan.delta)
    draws = _assigned(chosen, laws)
    gaussian_epsilon, factor = _gaussian(chosen, laws, draws, epsilon, plan.delta)
    return Mechanism(
        blocks=chosen.blocks,
        entries=chosen.entries,
        laws=laws,
        draws=draws,
        layout=chosen.name,
        epsilon=epsilon,
        delta=plan.delta,
        gaussian_epsilon=gaussian_epsilon,
        gaussian_factor=factor,
        alternatives=MappingProxyType(alternatives),
        plan_hash=plan.hash,
    )


def _entries(asked: Sequence[Block]) -> tuple[Entry, ...]:
    return tuple(
        Entry(b, cell, answer, sensitivity)
        for b, block in enumerate(asked)
        for cell in range(len(block.cells))
        for answer, sensitivity in _asked_in(block, cell)
    )


def _asked_in(block: Block, cell: int) -> list[tuple[Answer, int]]:
    """The answers of a cell with their sensitivities."""
    answers = block.answers_of(cell)
    if answers == block.answers:
        return list(zip(answers, block.sensitivities, strict=True))
    return [(answers[0], block.other_sensitivity)]


# Layouts


def _layouts(asked: Sequence[Block], asked_jointly: Sequence[Block]) -> list[_Layout]:
    made = [_layout("joint", asked_jointly)]
    if any(block.group_by for block in asked):
        made += [_layout("by group", asked), _layout("product", asked)]
    possible = [
        layout for layout in made if all(spec.batch <= _MOST_JOINT for spec in layout.specs)
    ]
    distinct: dict[tuple[_Spec, ...], _Layout] = {}
    for layout in possible or [_layout("product", asked)]:
        known = distinct.get(layout.specs)
        if known is None or len(layout.checks) < len(known.checks):
            distinct[layout.specs] = layout
    return list(distinct.values())


def _classes(
    asked: Sequence[Block], entries: Sequence[Entry]
) -> dict[tuple[float, float | None], list[int]]:
    """The entries that share a law, by their weight, or by their wanted sigma in sensitivities."""
    classes: dict[tuple[float, float | None], list[int]] = {}
    for index, entry in enumerate(entries):
        block = asked[entry.block]
        if is_checks(block):
            continue
        place = block.answers.index(entry.answer) if entry.answer in block.answers else 0
        wanted = block.sigmas[place]
        sensitivity = block.sensitivities[place]
        ratio = None if wanted is None else min(wanted / sensitivity, _LARGEST)
        if ratio is not None and ratio < _SMALLEST:
            raise DesignError(
                f"Expected the wanted sigma of an answer to be at least {_SMALLEST} of its sensitivity ({sensitivity} "
                "lattice units): declare a larger sigma."
            )
        classes.setdefault((1.0 if ratio is not None else block.weights[place], ratio), []).append(
            index
        )
    return classes


def _is_check(name: str, asked: Sequence[Block], entry: Entry) -> bool:
    """Whether an entry is one of the checks, and not in the draws of what is asked for."""
    block = asked[entry.block]
    if is_checks(block):
        return True
    is_other = entry.group == len(block.groups)
    return is_other and (name == "joint" or not block.other_is_free)


def _layout(name: str, asked: Sequence[Block]) -> _Layout:
    entries = _entries(asked)
    classes = _classes(asked, entries)
    uses: dict[tuple[float, float | None, int, Domain], int] = {}
    drawn: list[tuple[tuple[float, float | None, int, Domain], tuple[int, ...]]] = []
    checks = tuple(i for i, entry in enumerate(entries) if _is_check(name, asked, entry))
    apart = set(checks)
    for (weight, ratio), all_members in classes.items():
        members = [i for i in all_members if i not in apart]
        domain: Domain = (
            "integer"
            if ratio is None and all(entries[i].sensitivity == 1 for i in members)
            else "real"
        )
        if name == "joint":
            kind = (weight, ratio, len(members), domain)
            uses[kind] = uses.get(kind, 0) + 1
            drawn.append((kind, tuple(members)))
            continue
        for b, block in enumerate(asked):
            groups: dict[int, list[int]] = {}
            for i in members:
                if entries[i].block == b:
                    groups.setdefault(entries[i].group, []).append(i)
            if not groups:
                continue
            size = len(next(iter(groups.values())))
            batch = size if name == "by group" else 1
            kind = (weight, ratio, batch, domain)
            uses[kind] = uses.get(kind, 0) + block.touched * (size // batch)
            for served in groups.values():
                drawn += [
                    (kind, tuple(served[at : at + batch])) for at in range(0, len(served), batch)
                ]
    order = {kind: place for place, kind in enumerate(uses)}
    specs = tuple(
        _Spec(batch, n, 1.0 / weight, ratio, domain)
        for (weight, ratio, batch, domain), n in uses.items()
    )
    # The checks that count persons once are seen in `touched` draws, each cell of other keys apart from them in one.
    check_uses = sum(
        asked[b].touched if is_checks(asked[b]) else 1 for b in {entries[i].block for i in checks}
    )
    draws = tuple((order[kind], served) for kind, served in drawn)
    return _Layout(name, specs, draws, checks, check_uses, tuple(asked), entries)


def _check_epsilon(layout: _Layout, epsilon: float) -> float:
    """ε of one draw for a check."""
    uses = max(layout.check_uses, 1)
    least = min(_LEAST_CHECK, 0.25 * epsilon / uses)
    return max(min(CHECKS * epsilon, _MOST_CHECKS) / uses, least)


def _check_laws(layout: _Layout, epsilon: float, delta: float) -> list[_Made]:
    """Laws for the checks, where there are any, all of the same standard deviation.

    They end, for a share of δ that is much too large for it.
    """
    if not layout.checks:
        return []
    ratio = math.exp(-_check_epsilon(layout, epsilon) * (1.0 - _SPARE))
    pure = LatticeNoise.from_weights([1.0], ratio, domain="integer")
    named = {"discrete Laplace": pure, "discrete Gaussian": classic.discrete_gaussian(pure.std)}
    return [_Made(noise, layout.check_uses, name, CHECKS * delta) for name, noise in named.items()]


def _left_for(layout: _Layout, epsilon: float, delta: float) -> tuple[float, float]:
    """(ε, δ) of what is asked for, beside the checks."""
    if not layout.checks:
        return epsilon, delta
    return epsilon - layout.check_uses * _check_epsilon(layout, epsilon), (1.0 - CHECKS) * delta


# The search


def _best(
    layouts: Sequence[_Layout], epsilon: float, delta: float
) -> tuple[_Layout, _Found, dict[str, float]]:
    if len(layouts) == 1:
        return layouts[0], _solve(layouts[0].specs, *_left_for(layouts[0], epsilon, delta)), {}
    guesses = {
        layout.name: _estimate(layout.specs, *_left_for(layout, epsilon, delta))
        for layout in layouts
    }
    least = min(guesses.values())
    best: tuple[_Layout, _Found] | None = None
    failure = "no law was tried"
    for layout in sorted(layouts, key=lambda layout: guesses[layout.name]):
        if best is not None and guesses[layout.name] > _SHORTLIST * least:
            continue
        try:
            found = _solve(layout.specs, *_left_for(layout, epsilon, delta))
        except DesignError as error:
            failure = str(error)
            continue
        guesses[layout.name] = found.scale
        if best is None or found.scale < best[1].scale:
            best = layout, found
    if best is None:
        raise DesignError(failure)
    return (
        best[0],
        best[1],
        {name: guess / best[1].scale for name, guess in guesses.items() if math.isfinite(guess)},
    )


def _estimate(specs: Sequence[_Spec], epsilon: float, delta: float) -> float:
    """The scale that known laws would need, all Gaussian or all cubes; for plans of fixed sigmas only, the share of ε they use."""
    gaussian = _gaussian_scale(specs, epsilon, delta)
    wanted = [spec for spec in specs if spec.fixed is None]
    if not wanted:
        return gaussian

    def excess(log_scale: float) -> float:
        sigmas = [spec.sigma(math.exp(log_scale)) for spec in specs]
        known = [
            classic.laplace(sigma)
            if spec.batch == 1
            else classic.cube(sigma, spec.batch, step=_coarse(sigma))
            for sigma, spec in zip(sigmas, specs, strict=True)
        ]
        losses = [
            PrivacyLoss.of(law).compose(spec.uses) for law, spec in zip(known, specs, strict=True)
        ]
        together = _composed(losses)
        try:
            cost = together.epsilon(delta)
        except (
            AccountingError
        ):  # very different laws may be beyond the grid; their largest losses still are a guide
            cost = sum(count * loss.largest for loss, count in together.parts)
        return math.log(cost / epsilon)

    start = math.log(
        gaussian if math.isfinite(gaussian) else 2.0 * _gaussian_scale(wanted, epsilon, delta)
    )
    try:
        if excess(start) > 0:  # cubes need more than Gaussian noise, or than could be had
            return gaussian
        low = start - 0.7
        while excess(low) < 0:
            low -= 0.7
        return math.exp(float(optimize.brentq(excess, low, start, xtol=1e-2, maxiter=30)))
    except (LeastNoiseError, ArithmeticError, ValueError):
        return gaussian


def _gaussian_mu(epsilon: float, delta: float) -> float:
    """sensitivity/σ of Gaussian noise that costs ε."""

    def excess(log_mu: float) -> float:
        return PrivacyLoss.of(classic.gaussian(math.exp(-log_mu))).epsilon(delta) - epsilon

    low, high = -2.0, 1.0
    while excess(low) > 0:
        low -= 2.0
    while excess(high) < 0:
        high += 1.0
    return math.exp(float(optimize.brentq(excess, low, high, xtol=1e-10)))


def _coarse(sigma: float) -> float:
    """A lattice that is good enough to compare laws."""
    return 1.0 / max(2 if sigma < 16.0 else 1, math.ceil(8.0 / sigma))


def _solve(specs: Sequence[_Spec], epsilon: float, delta: float) -> _Found:
    """The laws of least common scale within the budget."""
    target = epsilon * (1.0 - _ROUNDING)
    if len(specs) == 1 and specs[0].fixed is None:
        made = _designed(specs[0], delta, epsilon=target)
        return _Found(made.noise.std / specs[0].factor, (made,))
    # A law alone may spend all of δ by ending early; several share it, and leave some for their composition.
    found: _Found | None = None
    failure = ""
    for share in _SHARES if len(specs) > 1 else (1.0,):
        try:
            tried = _common(
                specs,
                target,
                delta,
                share * delta / len(specs),
                None if found is None else found.scale,
            )
        except DesignError as error:
            failure = str(error)
            continue
        found = tried if found is None or tried.scale < found.scale else found
    plain = _all_gaussian(specs, target, delta)
    if plain is not None and (found is None or plain.scale < found.scale):
        return plain
    if found is None:
        raise DesignError(failure)
    return found


def _all_gaussian(specs: Sequence[_Spec], epsilon: float, delta: float) -> _Found | None:
    """Independent Gaussian noise on every answer, which no release may be worse than; None where fixed sigmas decide."""
    scale = _gaussian_scale(specs, epsilon, delta)
    if not math.isfinite(scale) or all(spec.fixed is not None for spec in specs):
        return None
    laws = [
        _Made(classic.gaussian(spec.sigma(scale)), spec.uses * spec.batch, "Gaussian", delta)
        for spec in specs
    ]
    return _Found(scale, tuple(laws)) if _cost(laws, delta) <= epsilon else None


def _common(
    specs: Sequence[_Spec], target: float, delta: float, part: float, start: float | None
) -> _Found:
    """Laws designed for `part` of δ each, at the least common scale whose composition is within the target."""
    free = [spec for spec in specs if spec.fixed is None]
    if not free:
        laws = tuple(_designed(spec, part, sigma=spec.sigma(1.0)) for spec in specs)
        cost = _cost(laws, delta)
        if cost > target:
            raise DesignError(
                f"The wanted sigmas cost epsilon = {cost:.6g}, more than the {target:.6g} that the plan has for them: "
                "declare larger ones."
            )
        return _Found(1.0, laws)
    reached: _Found | None = None
    low = _SMALLEST / max(spec.factor for spec in free)
    high = _LARGEST / min(spec.factor for spec in free)
    guess = _estimate(specs, target, delta) if start is None else start
    scale = min(max(guess if math.isfinite(guess) else math.sqrt(low * high), low), high)
    tried: list[tuple[float, float]] = []
    for _ in range(_ROUNDS):
        laws = tuple(_designed(spec, part, sigma=spec.sigma(scale)) for spec in specs)
        cost = _cost(laws, delta)
        if cost <= target:
            high, reached = scale, _Found(scale, laws)
            if cost >= target * (1.0 - _CLOSE) or scale <= low * (1.0 + 1e-9):
                break
        else:
            low = scale
        tried.append((math.log(scale), math.log(cost) if math.isfinite(cost) else math.inf))
        scale = _next(tried, math.log(target * (1.0 - 0.3 * _CLOSE)), low, high)
    if reached is None:
        raise DesignError(
            f"No noise within reach gives epsilon = {target:g}: ask for fewer statistics, or declare larger sigmas."
        )
    return reached


def _next(tried: Sequence[tuple[float, float]], target: float, low: float, high: float) -> float:
    """Secant step on log ε against log scale, kept inside what is known."""
    x, y = tried[-1]
    slope = -1.1
    if len(tried) > 1 and math.isfinite(tried[-2][1]) and abs(x - tried[-2][0]) > 1e-12:
        slope = min(max((y - tried[-2][1]) / (x - tried[-2][0]), -3.0), -0.1)
    moved = (
        math.exp(x + min(max((target - y) / slope, -1.0), 1.0)) if math.isfinite(y) else math.inf
    )
    return moved if low * (1.0 + 1e-9) < moved < high * (1.0 - 1e-9) else math.sqrt(low * high)


def _gaussian_scale(specs: Sequence[_Spec], epsilon: float, delta: float) -> float:
    """The scale that Gaussian noise would need, +inf where the fixed sigmas leave it nothing; for fixed sigmas only, the share of μ
    that they use: μ² = Σ uses·batch/σ²."""
    spent = sum(spec.uses * spec.batch / spec.fixed**2 for spec in specs if spec.fixed is not None)
    wanted = sum(spec.uses * spec.batch / spec.factor**2 for spec in specs if spec.fixed is None)
    allowed = _gaussian_mu(epsilon, delta) ** 2
    if wanted == 0.0:
        return math.sqrt(spent / allowed)
    return math.sqrt(wanted / (allowed - spent)) if spent < allowed else math.inf


@lru_cache(
    maxsize=256
)  # several plans, engines or years ask for the same law, and a design takes seconds
def _designed(
    spec: _Spec, delta: float, *, epsilon: float | None = None, sigma: float | None = None
) -> _Made:
    """The best law for a spec."""
    domains: tuple[Domain, ...] = ("integer", "real") if spec.domain == "integer" else ("real",)
    failure = ""
    for domain in (
        domains
    ):  # on the integers very small noise may not exist; the real line then serves counts too
        try:
            made = design(
                delta=delta,
                epsilon=epsilon,
                sigma=sigma,
                compositions=spec.uses,
                batch=spec.batch,
                domain=domain,
            )
            found = _Made(made.noise, made.uses, made.origin, delta)
            # Where several laws are composed ε may jump at a tiny change of one: the search must see the laws that are sampled.
            return found if sigma is None else replace(found, noise=_on_lattice(found, 1.0))
        except (LeastNoiseError, ArithmeticError, np.linalg.LinAlgError) as error:
            failure = str(error)
    if (
        epsilon is not None
    ):  # more may be allowed than the least noise that can be designed needs: then that is it
        for domain in domains:
            try:
                made = design(
                    delta=delta,
                    sigma=smallest_ratio(domain),
                    compositions=spec.uses,
                    batch=spec.batch,
                    domain=domain,
                )
            except (LeastNoiseError, ArithmeticError, np.linalg.LinAlgError):
                continue
            if made.epsilon <= epsilon:
                return _Made(made.noise, made.uses, made.origin, delta)
    raise DesignError(failure)


def _composed(losses: Sequence[PrivacyLoss]) -> PrivacyLoss:
    total = losses[0]
    for loss in losses[1:]:
        total = total.compose(loss)
    return total


def _cost(laws: Sequence[_Made | Law], delta: float) -> float:
    return _composed([PrivacyLoss.of(law.noise).compose(law.uses) for law in laws]).epsilon(delta)


def _cost_or_inf(laws: Sequence[_Made | Law], delta: float) -> float:
    try:
        return _cost(laws, delta)
    except AccountingError:
        return math.inf


# From the design to what is sampled


def _assigned(layout: _Layout, laws: Sequence[Law]) -> tuple[Draw, ...]:
    """The draws; where a batch is better served by independent noise, or by joint noise on blocks of it, it is cut accordingly."""
    draws: list[Draw] = []
    for spec, served in layout.draws:
        size = laws[spec].noise.dimension
        draws += [Draw(spec, served[at : at + size]) for at in range(0, len(served), size)]
    draws += [Draw(len(laws) - 1, (i,)) for i in layout.checks]
    return tuple(draws)


def _beside_checks(
    layout: _Layout, found: _Found, epsilon: float, delta: float
) -> tuple[tuple[Law, ...], float]:
    """The laws as they are sampled, with that of the checks, and the ε of their composition."""
    possible = _check_laws(layout, epsilon, delta)
    if not possible:
        return _sampled(found.laws, epsilon, delta)
    # Among few laws the pure one adds less, among very many losses the one whose variance is less.
    check = min(possible, key=lambda law: _cost_or_inf([*found.laws, law], delta))
    laws, cost = _sampled((*found.laws, check), epsilon, delta)
    left, share = _left_for(layout, epsilon, delta)
    for _ in range(_AGAIN):
        if cost >= epsilon * (1.0 - 0.5 * _CLOSE):
            break
        left += epsilon * (1.0 - 0.1 * _CLOSE) - cost
        try:
            again = _solve(layout.specs, left, share)
            laws, cost = _sampled((*again.laws, check), epsilon, delta)
        except DesignError:  # beyond the budget after all
            break
    return laws, cost


def _sampled(made: Sequence[_Made], epsilon: float, delta: float) -> tuple[tuple[Law, ...], float]:
    """The laws as they are sampled, and the ε of their composition."""
    cost = math.inf
    for attempt in range(8):
        # A closed form gets a lattice, which costs it a little: it is widened until the judge agrees.
        laws = tuple(
            Law(_on_lattice(law, 1.0 + 2.5e-4 * attempt), law.uses, law.origin) for law in made
        )
        cost = _cost(laws, delta)
        if cost <= epsilon:
            return laws, cost
    raise DesignError(
        f"The law with integer weights costs epsilon = {cost:.9g}, more than the {epsilon:g} allowed."
    )


def _on_lattice(law: _Made, wider: float) -> Noise:
    noise = law.noise
    if isinstance(noise, (GaussianNoise, LaplaceNoise)):
        exponent = 2.0 if isinstance(noise, GaussianNoise) else 1.0
        noise = classic.generalized_gaussian(noise.std * wider, exponent)
    if isinstance(noise, LatticeNoise):
        return exact(noise, delta=law.delta, compositions=law.uses)
    return noise


def _gaussian(
    layout: _Layout,
    laws: Sequence[Law],
    draws: Sequence[Draw],
    epsilon: float,
    delta: float,
) -> tuple[float, float]:
    """(ε of Gaussian noise at our standard deviations, its standard deviations at our ε relative to ours).

    A person touches at most `touched` groups of a block, each of its answers by 1: μ² = Σ touched/σ².
    """
    asked, entries = layout.blocks, layout.entries
    std = {entry: laws[draw.law].noise.std for draw in draws for entry in draw.entries}
    first = [
        i
        for i, entry in enumerate(entries)
        if entry.group == 0 and not is_checks(asked[entry.block])
    ]
    mu2 = sum(asked[entries[i].block].touched / std[i] ** 2 for i in first)
    if layout.checks:
        mu2 += layout.check_uses / std[layout.checks[0]] ** 2
    mu = math.sqrt(mu2)
    return PrivacyLoss.of(classic.gaussian(1.0 / mu)).epsilon(delta), mu / _gaussian_mu(
        epsilon, delta
    )
