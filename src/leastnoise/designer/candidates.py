"""Laws worth considering at one setting, in lattice units, each with its true ε.

A `Setting` is what stays fixed: lattice, budget, δ and number of releases. Turning a candidate into a law and judging that is
`design`'s business.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from leastnoise.cost import Cost
from leastnoise.designer import pure, renyi, single, tight
from leastnoise.designer.point import meet_constraints, spread
from leastnoise.designer.problem import RenyiProblem, bins_per_sensitivity, renyi_problem
from leastnoise.designer.renyi import RenyiOptimum, Settings, Status
from leastnoise.designer.system import PairSystem, pair_system
from leastnoise.lattice import LatticeNoise
from leastnoise.noise import Domain
from leastnoise.privacy import compose as composition
from leastnoise.privacy.loss import PrivacyLoss
from leastnoise.privacy.renyi import epsilon_from_renyi
from leastnoise.shells import Floats

_HIGHEST_ORDER = 1_000.0
_STEPS = 5  # of the order, at most
_NEAR = 0.05  # how close the order is brought to the candidate's own saddle point; descent forgets the rest
_STEPPED = 15.0  # order times the least pure loss from which a law is a staircase with soft steps
_STEPLESS = 4.0  # and up to which it has none to speak of
_SMOOTH_CHANCE = 1.02  # a smooth law this far above the staircase was never seen to overtake it by descent
_STEPPED_CHANCE = 1.01  # nor a staircase this far above a smooth law,
_FEW = 4  # nor by descent from it, where both were tried, with more releases than this
_FREE_BELOW = 2.0  # sigma in sensitivities below which a law that ripples has a smaller divergence
_MOST_SHIFTS = 60  # beyond, the free program takes seconds
# A staircase whose δ buys less of ε than this is left as it is: one release, one too large for the linear program, several.
_PURE_ONE, _PURE_LARGE, _PURE_MORE = 1e-8, 1e-4, 1e-5
_QUICK = Settings(tolerance=1e-6, acceptable=1e-5)


@dataclass(frozen=True)
class Setting:
    """One design problem in lattice units: `shift` steps a sensitivity, `budget` the cost of one answer, `ratio` = sigma in
    sensitivities."""

    dimension: int
    shift: int
    domain: Domain
    cost: Cost
    budget: float
    ratio: float
    delta: float
    compositions: int

    def problem(self, order: float, *, monotone: bool = True) -> RenyiProblem:
        """The Rényi program of one order."""
        return renyi_problem(
            shift=self.shift,
            order=order,
            budget=self.budget,
            dimension=self.dimension,
            domain=self.domain,
            cost=self.cost,
            monotone=monotone,
        )


@dataclass(frozen=True, eq=False)
class Candidate:
    """A law of the family, h_k for k = 0, …, and its true ε; `optimum` is the Rényi optimum it started from."""

    log_h: Floats
    tail_ratio: float | None
    epsilon: float
    optimum: RenyiOptimum
    system: PairSystem


def renyi_candidate(setting: Setting, order: float, start: RenyiOptimum | None = None, settings: Settings = _QUICK) -> Candidate:
    """The optimum of the Rényi program of one order (monotone), with its true ε."""
    problem = setting.problem(order)
    usable = start if start is not None and not math.isinf(order) and not math.isinf(start.problem.order) else None
    optimum = renyi.solve(problem, usable, settings)
    system = pair_system(problem)
    epsilon = tight.true_epsilon(system, optimum.profile, setting.delta, setting.compositions)
    return Candidate(optimum.log_h, problem.tail_ratio, epsilon, optimum, system)


def bins(ratio: float) -> int:
    """Bins a sensitivity on the real line: `bins_per_sensitivity`, but fewer than four where sigma alone makes them fine (their own
    variance stays below 2e-5 of the whole)."""
    return bins_per_sensitivity(ratio) if ratio < 16.0 else max(1, min(4, math.ceil(65.0 / ratio)))


def aligned_bins(ratio: float, dimension: int, cost: Cost, budget: Callable[[int], float]) -> int:
    """The number of bins, at most 1.5 times `bins`, whose edges come nearest to the first step of the best staircase: then the
    staircase is a law of the lattice, and nothing on the lattice need be worse than it. `budget(m)` is in lattice units."""
    least = bins(ratio)
    if least < 4:
        return least
    fine = 8 * least
    stairs = pure.best_staircase(dimension, fine, cost, budget(fine), "real")
    edge = (2 * stairs.width - 1) / (2 * fine)
    choices = np.arange(least, least + max(least // 2, 2) + 1)
    nearest = (2 * np.floor(edge * choices) + 1) / (2 * choices)
    return int(choices[np.argmin(np.abs(nearest - edge))])


def block_size(shift: int, needed: int) -> int:
    """Integers to a bin where the sensitivity is many of them: the largest odd divisor of `shift` that leaves at least `needed`
    bins a sensitivity; 1 while the shift is no burden.

    A law that is constant on blocks of g integers around the multiples of g is one on the real line with bins of width g, but for
    its variance g² E[x²] + (g² − 1)/12: in blocks, smear of 1/12 included, the budget is (σ² + 1/12)/g².
    """
    if shift <= 4 * needed:
        return 1
    return max(g for g in range(1, shift // needed + 1, 2) if shift % g == 0)


def in_integers(log_h: Floats, tail_ratio: float | None, block: int) -> tuple[Floats, float | None]:
    """log h and tail of the law on the integers, from those on blocks of them."""
    if block == 1:
        return log_h, tail_ratio
    return np.repeat(log_h, block)[block // 2 :], None if tail_ratio is None else tail_ratio ** (1.0 / block)


def first_order(setting: Setting) -> float:
    """The order that is best for the Gaussian law under the moments accountant (Alg. 3, line 1)."""
    releases = setting.compositions * setting.dimension
    return min(1.0 + setting.ratio * math.sqrt(2.0 * math.log(1.0 / setting.delta) / releases), _HIGHEST_ORDER)


def saddle_order(candidate: Candidate, setting: Setting) -> float:
    """1 + the tilt at which the composed loss of the candidate decides its ε: the order that matters for this law."""
    parts = ((tight.loss_table(candidate.system, candidate.optimum.profile), setting.compositions),)
    return 1.0 + composition.saddle_for_epsilon(parts, candidate.epsilon).theta


def best_smooth(setting: Setting, pure_loss: float, order: float | None = None) -> Candidate | None:
    """The Rényi optimum of the order that matters for it: the order is moved to the candidate's own saddle point until it stays.

    It ends where optima become staircases, which are slow to solve for and no better than the staircase itself (σ = s, two
    releases: orders 5, 19, 62, 172, 421 with ε = 3.43, 2.88, 2.77, 2.735, 2.726, each slower, against 2.721).
    """
    highest = min(_HIGHEST_ORDER, max(1.0 + 1e-3, _STEPPED / pure_loss))
    order = min(first_order(setting) if order is None else order, highest)
    best: Candidate | None = None
    for _ in range(_STEPS):
        candidate = renyi_candidate(setting, order, None if best is None else best.optimum)
        if best is not None and not candidate.epsilon < best.epsilon * (1.0 - 1e-5):
            break
        best = candidate
        if not 0.0 < candidate.epsilon < math.inf:
            break
        moved = min(saddle_order(candidate, setting), highest)
        if abs(moved / order - 1.0) < _NEAR:
            break
        order = moved
    return best


def descended(candidate: Candidate, setting: Setting, rounds: int = 1) -> Candidate:
    """The candidate after descent on its true ε, begun anew from where it ended in each further round; never worse."""
    problem = candidate.optimum.problem
    if not 0.0 < candidate.epsilon < math.inf:
        return candidate
    q = meet_constraints(problem, spread(problem, candidate.optimum.profile))
    for _ in range(rounds):
        reached = tight.descend(problem, candidate.system, q, setting.delta, setting.compositions)
        q = reached.q
    if not reached.epsilon < candidate.epsilon:
        return candidate
    return replace(candidate, log_h=problem.all_shells(q), epsilon=reached.epsilon)


def adjusted(candidate: Candidate, setting: Setting) -> Candidate | None:
    """The law of a neighbouring budget on the same lattice, brought to this one by descent from it: as the budget moves ε then
    moves smoothly, where fresh searches may end in different laws (ε apart by 2e-3 for six releases at σ = 26.8 s). None for
    laws that descent has not made."""
    before = candidate.optimum.problem
    if candidate.tail_ratio is None or math.isinf(before.order) or before.shift != setting.shift or before.domain != setting.domain:
        return None
    problem = replace(before, budget=setting.budget)
    q = meet_constraints(problem, spread(problem, candidate.log_h[problem.first :]))
    reached = tight.descend(problem, candidate.system, q, setting.delta, setting.compositions)
    optimum = renyi.solve(problem, candidate.optimum, _QUICK)
    return Candidate(problem.all_shells(reached.q), problem.tail_ratio, reached.epsilon, optimum, candidate.system)


def best_tight(setting: Setting, order: float | None = None) -> Candidate:
    """The best law found for the true ε.

    1. The best staircase, which is the answer where δ is too small to buy anything (few releases).
    2. One release: the linear program, which has no better.
    3. Otherwise the Rényi optimum of the order that matters (`order`: where to look first), and descent from it and from the
       staircase, each where it has a chance.
    """
    stairs = renyi_candidate(setting, math.inf)
    most = setting.compositions * stairs.optimum.divergence  # ε of the staircase at δ = 0
    settled = stairs.epsilon > (1.0 - (_PURE_ONE if setting.compositions == 1 else _PURE_MORE)) * most
    if setting.compositions == 1:
        found = stairs if settled else _one_release(stairs, setting)
        if found is not None or stairs.epsilon > (1.0 - _PURE_LARGE) * most:
            return stairs if found is None else found
    smooth = best_smooth(setting, stairs.optimum.divergence, order)
    best = stairs if smooth is None or stairs.epsilon <= smooth.epsilon else smooth
    promising = smooth is not None and smooth.epsilon < _SMOOTH_CHANCE * stairs.epsilon
    if smooth is not None and promising:
        best = _better(best, _descended_from_below(smooth, setting, stairs.optimum.divergence))
    close = smooth is None or stairs.epsilon < _STEPPED_CHANCE * smooth.epsilon
    if close and not settled and (setting.compositions <= _FEW or not promising):
        best = _better(best, descended(stairs, setting))
    return best


def _descended_from_below(candidate: Candidate, setting: Setting, pure_loss: float) -> Candidate:
    """Descent from the candidate, or, where that has steps, in two rounds from the optimum of a lower order, which has none:
    mass moves more easily than steps do (σ = 4.23 s, six releases: from the orders 10, 37 and 100 to ε = 1.9972, 1.9985 and
    1.9980; σ = s, twelve: 16.306 in one round, 16.304 in two)."""
    order = max(_STEPLESS / pure_loss, 1.0 + 1e-3)
    if candidate.optimum.problem.order <= order:
        return descended(candidate, setting)
    return descended(renyi_candidate(setting, order), setting, rounds=2)


def _better(one: Candidate, other: Candidate) -> Candidate:
    return other if other.epsilon < one.epsilon else one


def _one_release(stairs: Candidate, setting: Setting) -> Candidate | None:
    problem = stairs.optimum.problem
    if not 0.0 < stairs.epsilon < math.inf:
        return stairs
    drop = min(max(4.0 * (1.0 - stairs.epsilon / stairs.optimum.divergence), 1e-6), 0.5)
    log_h = single.least_epsilon(problem, stairs.optimum.profile, stairs.epsilon, setting.delta, drop)
    if log_h is None:
        return None
    noise = LatticeNoise.from_log_weights(log_h, None, domain=setting.domain, dimension=setting.dimension)
    epsilon = PrivacyLoss.of(noise, float(setting.shift)).epsilon(setting.delta)
    return _better(stairs, replace(stairs, log_h=log_h, tail_ratio=None, epsilon=epsilon))


def certified(optimum: RenyiOptimum) -> RenyiOptimum:
    """The same optimum solved on to the full tolerance: the search needs less."""
    if math.isinf(optimum.problem.order) or optimum.gap <= Settings().tolerance:
        return optimum
    further = renyi.solve(optimum.problem, optimum, Settings())
    return further if further.gap < optimum.gap else replace(optimum, status=further.status)


def moments_value(optimum: RenyiOptimum, setting: Setting) -> float:
    """Prop. 2.4 at the optimum's order."""
    return epsilon_from_renyi(setting.compositions * optimum.divergence, optimum.problem.order, setting.delta, "moments")


def freed(candidate: Candidate, setting: Setting) -> Candidate:
    """The Rényi optimum of the same order over all laws, as in the paper, where laws that ripple have a smaller divergence.

    They gain up to 6e-4 of the divergence below two sensitivities and lose up to 3 % of the true ε (the worst shift is then
    another one): so only where the divergence is what counts.
    """
    order = candidate.optimum.problem.order
    if setting.dimension > 1 or setting.ratio >= _FREE_BELOW or setting.shift > _MOST_SHIFTS or math.isinf(order):
        return candidate
    problem = setting.problem(order, monotone=False)
    optimum = renyi.solve(problem)
    if not optimum.divergence < candidate.optimum.divergence or optimum.status is Status.NOT_REACHED:
        return candidate
    return replace(candidate, log_h=optimum.log_h, tail_ratio=problem.tail_ratio, optimum=optimum)


def best_moments(setting: Setting) -> tuple[Candidate, float]:
    """The joint optimum over order and law of the moments accountant, and its value: the paper's objective, solved exactly.

    Its value is unimodal in the order in every case seen, but may keep falling up to ∞ (DESIGN §4), which is tried too.
    """
    seen: dict[float, Candidate] = {}

    def value(log_order: float) -> float:
        order = 1.0 + math.exp(log_order)
        nearest = min(seen, key=lambda other: abs(math.log(other / order)), default=None)
        start = None if nearest is None else seen[nearest].optimum
        seen[order] = renyi_candidate(setting, order, start, Settings())
        return moments_value(seen[order].optimum, setting)

    middle = math.log(first_order(setting) - 1.0)
    ends = (max(middle - 2.0, math.log(1e-3)), min(middle + 3.0, math.log(_HIGHEST_ORDER)))
    _golden(value, *ends)
    seen[math.inf] = renyi_candidate(setting, math.inf)
    best = freed(min(seen.values(), key=lambda candidate: moments_value(candidate.optimum, setting)), setting)
    return best, moments_value(best.optimum, setting)


def _golden(function: Callable[[float], float], low: float, high: float, tolerance: float = 2e-3) -> None:
    """Golden-section search for a minimum; the caller remembers the values."""
    ratio = 0.5 * (math.sqrt(5.0) - 1.0)
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    at_a, at_b = function(a), function(b)
    while high - low > tolerance:
        if at_a < at_b:
            high, b, at_b = b, a, at_a
            a = high - ratio * (high - low)
            at_a = function(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + ratio * (high - low)
            at_b = function(b)
