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
from leastnoise.designer import ended, pure, renyi, single, tight
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
_SMOOTH_CHANCE = (
    1.02  # a smooth law this far above the staircase was never seen to overtake it by descent
)
_STEPPED_CHANCE = 1.01  # nor a staircase this far above a smooth law,
_FEW = 4  # nor by descent from it, where both were tried, with more releases than this
_MOST_STEPPED = 6_000  # shells of a staircase that is descended from; a wider one is ended instead, which gains more
_FREE_BELOW = 2.0  # sigma in sensitivities below which a law that ripples has a smaller divergence
_MOST_SHIFTS = 60  # beyond, the free program takes seconds
_MOST_BINS = 200  # a sensitivity that a smooth law is looked for with: with more the staircase is best, but for many releases
_FINE = 0.2  # sigma in sensitivities below which the bins keep to a share of it
# Of a joint law the pairs of bins are judged, and the share is a sixth of sigma up to 120 bins, then at least a half (2, 5 and 20
# answers at σ = 0.15 s and 0.05 s: up to 7e-5 of ε above a twelfth, in a quarter of the time; a half loses up to 2e-3).
_JOINT_BINS = 120
_ENDED_CHANCE = 1.01  # one joint release: a smooth law this far above the staircase that ends is not descended from
# A staircase whose δ buys less of ε than this is left as it is: one release, one too large for the linear program, several
# (σ = 0.1 s, 1,000 releases: 7e-7, and a smooth law is better by 0.8 %; ten at σ = 3 s, δ = 1e-9: 3e-8, and none is).
_PURE_ONE, _PURE_LARGE, _PURE_MORE = 1e-8, 1e-4, 1e-7
_MOST_ROUNDS, _LEAST_ROUND = (
    3,
    5e-5,
)  # of descent, and what one must gain of ε for another to follow
_SAME_LAW = 0.01  # how far the logarithm of the budget may move before the law is descended anew
_WORTH = 1e-4  # of ε, that a law must gain to be worth an end, which reveals a person outright with some probability
_ENDS = 0.999  # share of δ that the ends of several releases may use together
_MOST_ENDED = 50  # releases; with more, a law that does not end is better
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
    problem: RenyiProblem  # the lattice the law lives on, which descent and `adjusted` need
    system: PairSystem
    is_rough: bool = False  # descent may still better it


def renyi_candidate(
    setting: Setting, order: float, start: RenyiOptimum | None = None, settings: Settings = _QUICK
) -> Candidate:
    """The optimum of the Rényi program of one order (monotone), with its true ε."""
    problem = setting.problem(order)
    usable = (
        start
        if start is not None and not math.isinf(order) and not math.isinf(start.problem.order)
        else None
    )
    system = pair_system(problem)
    optimum = renyi.solve(problem, usable, settings, system)
    epsilon = tight.true_epsilon(system, optimum.profile, setting.delta, setting.compositions)
    return Candidate(optimum.log_h, problem.tail_ratio, epsilon, optimum, problem, system)


def bins(ratio: float, dimension: int = 1) -> int:
    """Bins a sensitivity on the real line: `bins_per_sensitivity`, but fewer than four where sigma alone makes them fine (their own
    variance stays below 2e-5 of the whole), and a twelfth of sigma where that is small (6e-4 of the variance, 1e-4 of ε), or of a
    joint law a sixth to a half."""
    if ratio < _FINE:
        return (
            math.ceil(12.0 / ratio)
            if dimension == 1
            else max(min(math.ceil(6.0 / ratio), _JOINT_BINS), math.ceil(2.0 / ratio))
        )
    return bins_per_sensitivity(ratio) if ratio < 16.0 else max(1, min(4, math.ceil(65.0 / ratio)))


def aligned_bins(ratio: float, dimension: int, cost: Cost, budget: Callable[[int], float]) -> int:
    """The number of bins, at most 1.5 times `bins`, whose edges come nearest to the first step of the best staircase: then the
    staircase is a law of the lattice, and nothing on the lattice need be worse than it. `budget(m)` is in lattice units."""
    least = bins(ratio, dimension)
    if least < 4:
        return least
    fine = (8 if least < _MOST_BINS else 2) * least
    stairs = pure.best_staircase(dimension, fine, cost, budget(fine), "real")
    edge = (2 * stairs.width - 1) / (2 * fine)
    choices = np.arange(least, least + max(least // 2, 2) + 1)
    nearest = (2 * np.floor(edge * choices) + 1) / (2 * choices)
    return int(choices[np.argmin(np.abs(nearest - edge))])


def block_size(shift: int, needed: int) -> int:
    """Integers to a bin where the sensitivity is many of them: the largest odd divisor of `shift` that leaves at least `needed`
    bins a sensitivity; 1 while the shift is no burden.

    A law that is constant on blocks of g integers around the multiples of g is one on the integers at the cost that a block has on
    average (`Cost.over_blocks`): for the quadratic cost g²k² + (g² − 1)/12.
    """
    if shift <= 4 * needed:
        return 1
    return max(g for g in range(1, shift // needed + 1, 2) if shift % g == 0)


def in_integers(log_h: Floats, tail_ratio: float | None, block: int) -> tuple[Floats, float | None]:
    """log h and tail of the law on the integers, from those on blocks of them."""
    if block == 1:
        return log_h, tail_ratio
    return np.repeat(log_h, block)[block // 2 :], None if tail_ratio is None else tail_ratio ** (
        1.0 / block
    )


def first_order(setting: Setting) -> float:
    """The order that is best for the Gaussian law under the moments accountant (Alg. 3, line 1)."""
    releases = setting.compositions * setting.dimension
    return min(
        1.0 + setting.ratio * math.sqrt(2.0 * math.log(1.0 / setting.delta) / releases),
        _HIGHEST_ORDER,
    )


def saddle_order(candidate: Candidate, setting: Setting) -> float:
    """1 + the tilt at which the composed loss of the candidate decides its ε: the order that matters for this law."""
    parts = ((tight.loss_table(candidate.system, candidate.optimum.profile), setting.compositions),)
    return 1.0 + composition.saddle_for_epsilon(parts, candidate.epsilon).theta


def best_smooth(setting: Setting, pure_loss: float) -> Candidate | None:
    """The Rényi optimum of the order that matters for it: the order is moved to the candidate's own saddle point until it stays.

    It ends where optima become staircases, which are slow to solve for and no better than the staircase itself (σ = s, two
    releases: orders 5, 19, 62, 172, 421 with ε = 3.43, 2.88, 2.77, 2.735, 2.726, each slower, against 2.721).
    """
    highest = min(_HIGHEST_ORDER, _STEPPED / pure_loss)
    if (
        highest <= 1.0 + 1e-3
    ):  # every optimum is a staircase (ten answers, δ = 0.25, ε = 50: 15 s of work for nothing)
        return None
    order = min(first_order(setting), highest)
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


def descended(candidate: Candidate, setting: Setting) -> Candidate:
    """The candidate after descent on its true ε, begun anew from where it ended while that still gains; never worse. All but the
    last round is on a coarser grid.

    Beginning anew matters where δ is large and the releases are few (σ = 2 s, two, δ = 0.01: 1.2478, 1.2446, 1.2435 after one, two
    and three rounds, on whatever lattice; after one alone ε would depend on the lattice by 4e-3).
    """
    problem = candidate.problem
    if not 0.0 < candidate.epsilon < math.inf:
        return candidate
    q = meet_constraints(problem, spread(problem, candidate.optimum.profile))
    epsilon, least = math.inf, tight.steep_epsilon(candidate.system, q, setting.compositions)
    for _ in range(_MOST_ROUNDS):
        reached = tight.descend(
            problem, candidate.system, q, setting.delta, setting.compositions, tight.COARSE
        )
        gained, q, epsilon = epsilon - reached.epsilon, reached.q, reached.epsilon
        if gained < _LEAST_ROUND * max(epsilon, least):
            break
    reached = tight.descend(
        problem, candidate.system, q, setting.delta, setting.compositions, tight.FINE
    )
    if not reached.epsilon < candidate.epsilon:
        return candidate
    return replace(candidate, log_h=problem.all_shells(reached.q), epsilon=reached.epsilon)


def adjusted(candidate: Candidate, setting: Setting) -> Candidate | None:
    """The law of a neighbouring budget on the same lattice, brought to this one by descent from it: as the budget moves ε then
    moves smoothly, where fresh searches may end in different laws (ε apart by 2e-3 for six releases at σ = 26.8 s). A staircase,
    whole or ended, is made anew, in milliseconds. None where the lattice is another one, and for one joint release, whose linear
    program is solved anew."""
    before = candidate.problem
    if before.shift != setting.shift or before.domain != setting.domain:
        return None
    is_whole = math.isinf(before.order) and candidate.log_h is candidate.optimum.log_h
    if candidate.tail_ratio is None or is_whole:
        return stepped(setting) if setting.dimension == 1 or setting.compositions > 1 else None
    problem = replace(before, budget=setting.budget)
    q = meet_constraints(problem, spread(problem, candidate.log_h[problem.first :]))
    if (
        abs(math.log(setting.budget / before.budget)) < _SAME_LAW
    ):  # its shape is as good here: what it loses is of second order
        epsilon = tight.true_epsilon(
            candidate.system, q, setting.delta, setting.compositions, tight.FINE
        )
        return replace(candidate, log_h=problem.all_shells(q), epsilon=epsilon, problem=problem)
    reached = tight.descend(
        problem, candidate.system, q, setting.delta, setting.compositions, tight.FINE
    )
    if math.isinf(before.order):
        optimum = renyi.solve(setting.problem(math.inf))
    else:
        optimum = renyi.solve(problem, candidate.optimum, _QUICK)
    return Candidate(
        problem.all_shells(reached.q),
        problem.tail_ratio,
        reached.epsilon,
        optimum,
        problem,
        candidate.system,
    )


def stepped(setting: Setting) -> Candidate:
    """The best staircase, or the best that ends where that is worth it: for one release of one answer there is no better law."""
    stairs = renyi_candidate(setting, math.inf)
    return _worth(stairs, _ended(stairs, setting))


def _worth(stairs: Candidate, other: Candidate | None) -> Candidate:
    return stairs if other is None or other.epsilon > (1.0 - _WORTH) * stairs.epsilon else other


def _ended(stairs: Candidate, setting: Setting) -> Candidate | None:
    """The staircase that ends, each release with its share of δ, judged as it is composed."""
    n = setting.compositions
    if (
        n > _MOST_ENDED
        or stairs.epsilon == 0.0
        or stairs.epsilon > (1.0 - _PURE_MORE) * n * stairs.optimum.divergence
    ):
        return None
    share = setting.delta if n == 1 else -_ENDS * math.expm1(math.log1p(-setting.delta) / n)
    found = ended.best_ended(
        setting.dimension,
        setting.shift,
        setting.cost,
        setting.budget,
        setting.domain,
        share,
        stairs.optimum.divergence,
    )
    if found is None:
        return None
    return _of_log_h(found.log_h, stairs, setting)


def _judged(noise: LatticeNoise, setting: Setting) -> float:
    try:
        return (
            PrivacyLoss.of(noise, float(setting.shift))
            .compose(setting.compositions)
            .epsilon(setting.delta)
        )
    except ArithmeticError:
        return math.inf


def best_tight(setting: Setting, *, quick: bool = False) -> Candidate:
    """The best law found for the true ε; `quick`: but for descent, which gains a few per cent at most, and the linear program,
    which gains 1.4e-3 on the staircase that ends.

    1. The best staircase and the best that ends: the answer for one release of one answer, and where δ is too small to buy
       anything (few releases).
    2. One joint release: the linear program, which has no better, where it is small enough.
    3. Otherwise the Rényi optimum of the order that matters, and descent from it and from the staircase, each where it has a
       chance.
    """
    stairs = renyi_candidate(setting, math.inf)
    first = _worth(stairs, _ended(stairs, setting))
    most = setting.compositions * stairs.optimum.divergence  # ε of the staircase at δ = 0
    if setting.compositions == 1 and setting.dimension == 1:
        return first
    if (
        stairs.epsilon > (1.0 - (_PURE_ONE if setting.compositions == 1 else _PURE_MORE)) * most
        or first.epsilon == 0.0
    ):
        return first
    if setting.compositions == 1:
        if quick and single.fits(stairs.problem, stairs.optimum.profile, setting.delta):
            return replace(first, is_rough=True)
        found = _one_release(stairs, setting)
        if found is not None or stairs.epsilon > (1.0 - _PURE_LARGE) * most:
            return _worth(first, found)
    if setting.shift > _MOST_BINS:
        return first
    smooth = best_smooth(setting, stairs.optimum.divergence)
    best = first if smooth is None or first.epsilon <= smooth.epsilon else smooth
    if quick:
        return replace(best, is_rough=True)
    # Descent reaches no law that ends, and took up to 35 s to find that out (2 answers at σ = 0.3 s, δ = 0.1).
    is_one = setting.compositions == 1
    within = _ENDED_CHANCE * first.epsilon if is_one else _SMOOTH_CHANCE * stairs.epsilon
    promising = smooth is not None and smooth.epsilon < within
    if smooth is not None and promising:
        best = _better(best, _descended_from_below(smooth, setting, stairs.optimum.divergence))
    close = smooth is None or stairs.epsilon < _STEPPED_CHANCE * smooth.epsilon
    if (
        close
        and not is_one
        and stairs.problem.size <= _MOST_STEPPED
        and (setting.compositions <= _FEW or not promising)
    ):
        best = _better(best, descended(stairs, setting))
    return best


def _descended_from_below(candidate: Candidate, setting: Setting, pure_loss: float) -> Candidate:
    """Descent from the candidate, or, where that has steps, from the optimum of a lower order, which has none: mass moves more
    easily than steps do (σ = 4.23 s, six releases: from the orders 10, 37 and 100 to ε = 1.9972, 1.9985 and 1.9980)."""
    order = max(_STEPLESS / pure_loss, 1.0 + 1e-3)
    if candidate.optimum.problem.order <= order:
        return descended(candidate, setting)
    return descended(renyi_candidate(setting, order), setting)


def _better(one: Candidate, other: Candidate) -> Candidate:
    return other if other.epsilon < one.epsilon else one


def _one_release(stairs: Candidate, setting: Setting) -> Candidate | None:
    if not 0.0 < stairs.epsilon < math.inf:
        return stairs
    drop = min(max(4.0 * (1.0 - stairs.epsilon / stairs.optimum.divergence), 1e-6), 0.5)
    log_h = single.least_epsilon(
        stairs.problem, stairs.optimum.profile, stairs.epsilon, setting.delta, drop
    )
    return None if log_h is None else _of_log_h(log_h, stairs, setting)


def least_budget(candidate: Candidate, epsilon: float, delta: float) -> tuple[float, Floats] | None:
    """One joint release: the least budget at which a law on the lattice of a staircase needs `epsilon`, and its shell masses; None
    where the linear program is too large or not solved."""
    stairs = candidate.optimum
    if not math.isinf(stairs.problem.order):
        return None
    return single.least_budget(stairs.problem, stairs.profile, epsilon, delta)


def of_masses(masses: Floats, setting: Setting) -> Candidate | None:
    """The law of these shell masses, which cost the setting's budget, in one joint release; None where the staircase that ends
    does as well."""
    stairs = renyi_candidate(setting, math.inf)
    log_h = single.law(stairs.problem, masses)
    if log_h is None:
        return None
    found = _of_log_h(log_h, stairs, setting)
    return found if _worth(_worth(stairs, _ended(stairs, setting)), found) is found else None


def _of_log_h(log_h: Floats, stairs: Candidate, setting: Setting) -> Candidate:
    """A law that ends, judged."""
    noise = LatticeNoise.from_log_weights(
        log_h, None, domain=setting.domain, dimension=setting.dimension
    )
    return replace(stairs, log_h=log_h, tail_ratio=None, epsilon=_judged(noise, setting))


def certified(optimum: RenyiOptimum) -> RenyiOptimum:
    """The same optimum solved on to the full tolerance: the search needs less."""
    if math.isinf(optimum.problem.order) or optimum.gap <= Settings().tolerance:
        return optimum
    further = renyi.solve(optimum.problem, optimum, Settings())
    return further if further.gap < optimum.gap else replace(optimum, status=further.status)


def moments_value(optimum: RenyiOptimum, setting: Setting) -> float:
    """Prop. 2.4 at the optimum's order."""
    return epsilon_from_renyi(
        setting.compositions * optimum.divergence, optimum.problem.order, setting.delta, "moments"
    )


def freed(candidate: Candidate, setting: Setting) -> Candidate:
    """The Rényi optimum of the same order over all laws, as in the paper, where laws that ripple have a smaller divergence.

    They gain up to 6e-4 of the divergence below two sensitivities and lose up to 3 % of the true ε (the worst shift is then
    another one): so only where the divergence is what counts.
    """
    order = candidate.optimum.problem.order
    if (
        setting.dimension > 1
        or setting.ratio >= _FREE_BELOW
        or setting.shift > _MOST_SHIFTS
        or math.isinf(order)
    ):
        return candidate
    problem = setting.problem(order, monotone=False)
    optimum = renyi.solve(problem)
    if (
        not optimum.divergence < candidate.optimum.divergence
        or optimum.status is Status.NOT_REACHED
    ):
        return candidate
    return replace(
        candidate,
        log_h=optimum.log_h,
        tail_ratio=problem.tail_ratio,
        optimum=optimum,
        problem=problem,
    )


def best_moments(setting: Setting) -> tuple[Candidate, float]:
    """The joint optimum over order and law of the moments accountant, and its value: the paper's objective, solved exactly.

    Its value is unimodal in the order in every case seen, but may keep falling up to ∞, which is tried too.
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
    best = freed(
        min(seen.values(), key=lambda candidate: moments_value(candidate.optimum, setting)), setting
    )
    return best, moments_value(best.optimum, setting)


def _golden(
    function: Callable[[float], float], low: float, high: float, tolerance: float = 2e-3
) -> None:
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
