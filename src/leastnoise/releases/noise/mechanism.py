"""From sensitivities to noise: one design for all answers of a plan, and proof of its cost.

1. Every answer is divided by its sensitivity; `sensitivity` says why all three ways of drawing
   noise (`layout`) are then valid.
2. The least noise among them is found (`search`), beside the small share of ε that the checks have.
3. Its laws get integer weights, are judged again as they will be sampled, and only then count.

With many answers the small losses of the checks hardly add to large ones: what tight composition
leaves of their share goes back to what is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from leastnoise.accountant.attacker import (
    Attacker,
    allowed_advantage,
    attacker_of,
    promised,
)
from leastnoise.errors import AccountingError, DesignError, PlanError
from leastnoise.laws import classic
from leastnoise.laws.correlated import gaussian_reach
from leastnoise.laws.lattice import LatticeNoise
from leastnoise.ledger.records import Spend
from leastnoise.releases.noise.discovery import law_of_keys, threshold_of, with_keys_paid
from leastnoise.releases.noise.layout import CHECKS, AskedAnswer, NoiseLayout, in_batches, layouts
from leastnoise.releases.noise.margin_search import (
    Strategy,
    TriedSupports,
    best_strategy,
    separate_stds,
)
from leastnoise.releases.noise.margins import MarginTable, Published
from leastnoise.releases.noise.one_view import is_log_concave
from leastnoise.releases.noise.search import (
    CLOSE,
    DesignedLaw,
    SampledLaw,
    ScaledLaws,
    all_gaussian,
    best,
    composed_advantage,
    composed_curve,
    composed_epsilon,
    gaussian_epsilon,
    gaussian_mu,
    solve,
)
from leastnoise.releases.noise.sensitivity import Block, blocks
from leastnoise.releases.noise.spreads import with_spreads
from leastnoise.releases.plan.plan import Plan

_AGAIN = 3  # designs that take back what the checks did not need
_SPARE = 0.02  # of their share for the rounding of a composition: 0.3 % of it at ε = 0.01
_WIDER, _WIDENINGS = 2.5e-4, 8  # how a closed form on a lattice is widened until the judge agrees


@dataclass(frozen=True)
class Draw:
    """One draw of a law, and the entries it serves: as many as the law has answers, or fewer; each
    is divided by its scale first, beside its sensitivity, where there are `scales`."""

    law: int
    entries: tuple[int, ...]
    scales: tuple[float, ...] | None = None


@dataclass(frozen=True, eq=False)
class Mechanism:
    """The noise of a release.

    Attributes:
        blocks: The views of the table with their answers and sensitivities, one for each grouping
            or measured marginal, and the last for the checks.
        entries: Every answer of every group, each with its sensitivity in lattice units.
        laws: The laws as they are sampled, for answers of unit sensitivity.
        draws: Which law serves which entries, by their places in `laws` and `entries`.
        layout: How noise is drawn: "joint" (all answers at once), "by group" or "product" (each
            answer by itself).
        epsilon: The privacy loss ε of all draws together, an upper bound.
        delta: The probability with which ε may be exceeded.
        gaussian_epsilon: The ε of Gaussian noise of the same standard deviations.
        gaussian_factor: The standard deviation of Gaussian noise of the same ε, relative to this.
        alternatives: The noise of each layout that was compared, relative to the chosen one.
        plan_hash: The SHA-256 of the plan that it belongs to.
        series: How many questions the series has that the noise is a part of, and that `epsilon` is
            of; 0 where it is drawn for this release alone.
        tables: The tables with margins, of which some marginals are measured and all that is
            published is put together from them; none where each grouping is measured by itself.
        asked: What the plan asks for, a block for each grouping, where there are such tables.
        separate: The standard deviation of each answer of each grouping, in sensitivities, if every
            grouping were measured by itself.
        tried: The sets of marginals that were looked at.
        threshold: The least noisy number of persons with which a key is shown that was to be
            discovered; None where all keys are declared.

    Guarantees: releasing every entry, divided by its sensitivity and scale, with the noise of its
    draw is
    (`epsilon`, `delta`)-differentially private for the plan's unit and relation; `epsilon` is the
    judge's bound for the laws that are sampled, at most the plan's; and so is `advantage`.
    """

    blocks: tuple[Block, ...]
    entries: tuple[AskedAnswer, ...]
    laws: tuple[SampledLaw, ...]
    draws: tuple[Draw, ...]
    layout: str
    epsilon: float
    delta: float
    gaussian_epsilon: float
    gaussian_factor: float
    alternatives: Mapping[str, float] = field(default_factory=dict)
    plan_hash: str = ""
    series: int = 0
    tables: tuple[MarginTable, ...] = ()
    asked: tuple[Block, ...] = ()
    separate: Mapping[Published, float] = field(default_factory=dict)
    tried: tuple[TriedSupports, ...] = ()
    threshold: int | None = None

    @property
    def groupings(self) -> tuple[Block, ...]:
        """What is asked for, a block for each grouping: `blocks` where each is measured itself."""
        return self.asked or self.blocks

    @property
    def is_one_view(self) -> bool:
        """Whether all groupings are of one choice of rows of each person."""
        return any(block.marginal is not None and block.marginal.in_view for block in self.blocks)

    @property
    def spends(self) -> tuple[Spend, ...]:
        """What the ledger is charged."""
        return tuple(
            Spend(law.noise, sensitivity, uses, law.changes)
            for law in self.laws
            for sensitivity, uses in law.parts
        )

    @cached_property
    def advantage(self) -> float:
        """The attacker's advantage over all draws together, an upper bound: true positives less
        false positives of the best test whether one given person is in the table."""
        try:
            return composed_advantage(self.laws)
        except AccountingError:
            return allowed_advantage(self.epsilon, self.delta)

    @cached_property
    def attacker(self) -> Attacker:
        """What an attacker can do who sees the release, beside Gaussian noise of the same ε and
        δ."""
        try:
            found = attacker_of(composed_curve(self.laws), self.epsilon, self.delta)
        except AccountingError:
            found = promised(self.epsilon, self.delta)
        return replace(found, guess=min(found.guess, 0.5 * (1.0 + self.advantage)))

    def std(self, entry: int) -> float:
        """Standard deviation of the noise on one entry.

        Args:
            entry: Its place in `entries`.

        Returns:
            The standard deviation, in units of the answer.
        """
        law, (_, at) = self.law_of[entry].noise, self.place_of[entry]
        return law.stds[at] * self.scale_of[entry] * self.entries[entry].sensitivity

    @cached_property
    def law_of(self) -> Mapping[int, SampledLaw]:
        """The law of each entry."""
        return {entry: self.laws[draw.law] for draw in self.draws for entry in draw.entries}

    @cached_property
    def place_of(self) -> Mapping[int, tuple[int, int]]:
        """The draw of each entry, and its place there."""
        return {
            entry: (d, at)
            for d, draw in enumerate(self.draws)
            for at, entry in enumerate(draw.entries)
        }

    @cached_property
    def scale_of(self) -> Mapping[int, float]:
        """What each entry is divided by beside its sensitivity: 1 but for answers of unequal ranges
        or weights that share a draw."""
        return {
            entry: scale
            for draw in self.draws
            for entry, scale in zip(
                draw.entries, draw.scales or (1.0,) * len(draw.entries), strict=True
            )
        }


def mechanism(plan: Plan) -> Mechanism:
    """The least noise for a plan. Nothing but the plan is looked at.

    Args:
        plan: A plan with a δ (see `leastnoise.releases.advice.with_share`).

    Returns:
        The noise, judged as it will be sampled; `release` takes it as `prepared`.

    Raises:
        PlanError: the plan has no δ, or asks for a number that is public already.
        DesignError: no noise within reach gives the plan's ε; the message says what could.

    Guarantees: see `Mechanism`.

    Example:
        >>> from leastnoise import Plan, Statistic
        >>> counted = (Statistic("count"),)
        >>> plan = Plan("c", None, "add/remove", counted, 1.0, 1e-6, one_row_per_person=True)
        >>> mechanism(plan).epsilon <= 1.0
        True
    """
    if plan.delta is None:
        raise PlanError(
            "The plan declares no delta: release it with a ledger, which gives it its share, or "
            "declare delta = the probability with which epsilon may be exceeded, such as 1e-9."
        )
    asked = blocks(plan)
    jointly = blocks(plan, joint=True)
    possible = layouts(asked, jointly, with_spreads(plan, jointly))
    budget = plan.epsilon, plan.delta, plan.advantage
    possible = [with_keys_paid(layout, *budget) for layout in possible]
    chosen, found, alternatives = best(possible, *budget)
    separate = separate_stds(chosen, found)
    strategy, tried = (None, ()) if plan.discovering else best_strategy(plan, asked, separate)
    if strategy is not None:
        chosen, found, alternatives = strategy.layout, strategy.laws, strategy.alternatives
    laws, epsilon = _beside_checks(chosen, found, *budget)
    if strategy is not None and not strategy.is_sound(laws):
        raise DesignError("Residuals have noise that is not the same in every direction.")
    draws = _assigned(chosen, laws)
    mu = _gaussian_loss(chosen, laws)
    return Mechanism(
        blocks=chosen.blocks,
        entries=chosen.entries,
        laws=laws,
        draws=draws,
        layout=chosen.name,
        epsilon=epsilon,
        delta=plan.delta,
        gaussian_epsilon=gaussian_epsilon(mu, plan.delta),
        gaussian_factor=mu / gaussian_mu(epsilon, plan.delta),
        alternatives=MappingProxyType(alternatives),
        plan_hash=plan.hash,
        tried=tried,
        threshold=threshold_of(laws[len(chosen.specs)].noise) if chosen.finding else None,
        **({} if strategy is None else _of_tables(strategy, asked, separate)),
    )


def known_mechanism(plan: Plan) -> Mechanism:
    """The noise that everybody knows, for a first answer within a moment: Gaussian, each answer by
    itself. `mechanism` finds less.

    Args:
        plan: A plan with a δ.

    Returns:
        The noise, judged as it would be sampled.

    Raises:
        PlanError: the plan has no δ, or asks for a number that is public already.
        DesignError: Gaussian noise cannot serve it: its sigmas are all declared, or it finds keys.
    """
    if plan.delta is None:
        raise PlanError("The plan declares no delta: declare one, such as 1e-9.")
    if plan.discovering:
        raise DesignError(
            "Keys are found with noise that ends, which Gaussian noise does not: design the plan."
        )
    asked = blocks(plan)
    layout = layouts(asked, asked)[-1]  # the last: each answer by itself
    left, share = layout.left_for_answers(plan.epsilon, plan.delta)
    found = all_gaussian(
        layout.specs, left, share, layout.left_of_cap(plan.epsilon, plan.advantage)
    )
    if found is None:
        raise DesignError("No Gaussian noise serves this plan as each answer by itself.")
    laws, epsilon = sampled_within(
        (*found.laws, *_check_laws(layout, plan.epsilon, plan.delta)[:1]), plan.epsilon, plan.delta
    )
    return Mechanism(
        blocks=layout.blocks,
        entries=layout.entries,
        laws=laws,
        draws=_assigned(layout, laws),
        layout=layout.name,
        epsilon=epsilon,
        delta=plan.delta,
        gaussian_epsilon=epsilon,
        gaussian_factor=1.0,
        plan_hash=plan.hash,
    )


def _of_tables(
    strategy: Strategy, asked: tuple[Block, ...], separate: Mapping[Published, float]
) -> dict[str, Any]:
    """What a mechanism knows of the tables that it measures."""
    return {
        "tables": strategy.tables,
        "asked": asked,
        "separate": MappingProxyType(_in_units(strategy, asked, separate)),
    }


def _in_units(
    strategy: Strategy, asked: Sequence[Block], separate: Mapping[Published, float]
) -> dict[Published, float]:
    """The noise of each grouping by itself, in what the numbers of its table are multiples of."""
    own = {
        (block.group_by, answer): most
        for block in asked
        for answer, most in zip(block.answers, block.sensitivities, strict=True)
    }
    found = dict(separate)
    for table in strategy.tables:
        for answer, unit in zip(table.answers, table.sensitivities, strict=True):
            for grouping in table.published:
                key = (grouping, answer)
                found[key] = separate[key] * (own[key] / unit)
    return found


# The checks


def _check_laws(layout: NoiseLayout, epsilon: float, delta: float) -> list[DesignedLaw]:
    """Laws for the checks, where there are any, all of the same standard deviation.

    They end, for a share of δ that is much too large for it.
    """
    if not layout.checks:
        return []
    ratio = math.exp(-layout.check_epsilon(epsilon) * (1.0 - _SPARE))
    pure = LatticeNoise.from_weights([1.0], ratio, domain="integer")
    named = {"discrete Laplace": pure, "discrete Gaussian": classic.discrete_gaussian(pure.std)}
    uses, part = layout.check_uses, CHECKS * delta
    return [DesignedLaw(noise, uses, name, part) for name, noise in named.items()]


def _beside_checks(
    layout: NoiseLayout, found: ScaledLaws, epsilon: float, delta: float, cap: float | None
) -> tuple[tuple[SampledLaw, ...], float]:
    """The laws as they are sampled, with that of the checks, and the ε of their composition.

    1. The check's law is the one that adds less: among few laws the pure one, among very many
       losses the one whose variance is less.
    2. What it leaves of ε, and of a cap, goes to what is asked for, which is designed again.
    """
    possible = _check_laws(layout, epsilon, delta)
    if not possible:
        return sampled_within(found.laws, epsilon, delta, cap)
    keys = law_of_keys(layout)
    check = min(possible, key=lambda law: _cost_or_inf([*found.laws, *keys, law], delta))
    laws, cost = sampled_within((*found.laws, *keys, check), epsilon, delta, cap)
    left, share = layout.left_for_answers(epsilon, delta)
    cap_left = layout.left_of_cap(epsilon, cap)
    for _ in range(_AGAIN if layout.specs else 0):
        of_epsilon, of_cap = cost / epsilon, 0.0 if cap is None else composed_advantage(laws) / cap
        if max(of_epsilon, of_cap) >= 1.0 - 0.5 * CLOSE:
            break
        if cap is None or cap_left is None or of_epsilon >= of_cap:
            left += epsilon * (1.0 - 0.1 * CLOSE - of_epsilon)
        else:
            cap_left += cap * (1.0 - 0.1 * CLOSE - of_cap)
        try:
            again = solve(layout.specs, left, share, cap_left)
            laws, cost = sampled_within((*again.laws, *keys, check), epsilon, delta, cap)
        except DesignError:  # beyond the budget after all
            break
    return laws, cost


def _cost_or_inf(laws: Sequence[DesignedLaw], delta: float) -> float:
    try:
        return composed_epsilon(laws, delta)
    except AccountingError:
        return math.inf


# From the design to what is sampled


def sampled_within(
    designed: Sequence[DesignedLaw], epsilon: float, delta: float, cap: float | None = None
) -> tuple[tuple[SampledLaw, ...], float]:
    """The laws as they are sampled, and the ε of their composition; a cap on its advantage is kept
    too."""
    cost = math.inf
    for attempt in range(_WIDENINGS):
        # A closed form gets a lattice, which costs a little: it is widened until the judge agrees.
        wider = 1.0 + _WIDER * attempt
        laws = tuple(
            SampledLaw(
                law.sampled(wider), law.uses, law.origin, law.changes, law.scales, law.shifts
            )
            for law in designed
        )
        _check_spread(laws)
        cost = composed_epsilon(laws, delta)
        if cost <= epsilon and (cap is None or composed_advantage(laws) <= cap):
            return laws, cost
    if cost <= epsilon:
        raise DesignError(
            f"The law with integer weights leaves an attacker an advantage of "
            f"{composed_advantage(laws):.9g}, more than the {cap:g} allowed."
        )
    raise DesignError(
        f"The law with integer weights costs epsilon = {cost:.9g}, more than the {epsilon:g} "
        "allowed."
    )


def _check_spread(laws: Sequence[SampledLaw]) -> None:
    """That every law whose draws one person's rows are spread over is one for which the
    concentrated change is the worst, as it is drawn."""
    for law in laws:
        if law.shifts and not is_log_concave(law.noise):
            raise DesignError(
                f"Expected a log-concave law for rows that are spread over groups, not {law.noise}."
            )


def _assigned(layout: NoiseLayout, laws: Sequence[SampledLaw]) -> tuple[Draw, ...]:
    """The draws; where a batch is better served by independent noise, or by joint noise on blocks
    of it, it is cut accordingly."""
    draws = []
    for spec, served in layout.draws:
        size, scales = laws[spec].noise.dimension, laws[spec].scales
        for at, entries in enumerate(in_batches(served, size)):
            own = None if scales is None else scales[at * size : at * size + len(entries)]
            draws.append(Draw(spec, entries, _scaled(layout, entries, own)))
    draws += [Draw(len(layout.specs), (i,)) for i in layout.finding]
    return (*draws, *(Draw(len(laws) - 1, (i,)) for i in layout.checks))


def _scaled(
    layout: NoiseLayout, entries: Sequence[int], scales: tuple[float, ...] | None
) -> tuple[float, ...] | None:
    """What each entry is divided by beside its sensitivity: by its law, or as a contrast."""
    own = tuple(layout.entries[i].scale for i in entries)
    if set(own) == {1.0}:
        return scales
    if scales is not None:
        raise DesignError("Contrasts of a table have scales of their own: no law has others.")
    return own


def _gaussian_loss(layout: NoiseLayout, laws: Sequence[SampledLaw]) -> float:
    """μ of the best Gaussian noise of the same (weighted) mean square: correlated where that helps,
    and of unequal sizes."""
    mu2 = 0.0
    for spec, law in zip(layout.specs, laws, strict=False):
        reach = spec.uses * gaussian_reach(spec.batch, spec.changes, spec.weights)
        seen = spec.gaussian_uses if spec.shifts else reach
        mu2 += seen / law.spread(spec.batch, spec.weights) ** 2
    if layout.finding:
        mu2 += layout.finding_uses / laws[len(layout.specs)].noise.variance
    if layout.checks:
        mu2 += layout.check_uses / laws[-1].noise.variance
    return math.sqrt(mu2)
