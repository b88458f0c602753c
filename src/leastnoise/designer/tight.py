"""Objective "tight": the law of least true ε at one request in lattice units.

Turning such a law into one in the user's units and judging that is the business of `search`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.accountant.saddle import saddle_for_epsilon
from leastnoise.designer.lattice_law import LatticeLaw, renyi_law
from leastnoise.designer.moments import HIGHEST_ORDER, gaussian_order
from leastnoise.designer.request import LatticeRequest
from leastnoise.lattice.shells import Floats
from leastnoise.solver import descent, linear
from leastnoise.solver.ended_staircase import best_ended
from leastnoise.solver.pairs import loss_table
from leastnoise.solver.point import meet_constraints, spread

_STEPS = 5  # of the order, at most
_STEPPED = 15.0  # order times the least pure loss from which a law is a staircase with soft steps
_STEPLESS = 4.0  # and up to which it has none to speak of
# A smooth law this far above the staircase was never seen to overtake it by descent,
_SMOOTH_CHANCE = 1.02
_STEPPED_CHANCE = 1.01  # nor a staircase this far above a smooth law,
_FEW = 4  # nor by descent from it, where both were tried, with more releases than this
# a sensitivity that a smooth law is looked for with: with more the staircase is best, but for many
# releases
_MOST_BINS = 200
# A staircase whose δ buys less of ε than this is left as it is: one release, one too large for the
# linear program, several (σ = 0.1 s, 1,000 releases: 7e-7, and a smooth law is better by 0.8 %; ten
# at σ = 3 s, δ = 1e-9: 3e-8, and none is).
_PURE_ONE, _PURE_LARGE, _PURE_MORE = 1e-8, 1e-4, 1e-7
_MOST_ROUNDS = 3  # of descent
# of ε, that a law must gain to be worth an end, which reveals a person outright with some
# probability
_WORTH = 1e-4
_MOST_ENDED = 50  # releases; with more, a law that does not end is better


def best_tight(asked: LatticeRequest, *, quick: bool = False) -> LatticeLaw:
    """The best law found for the true ε; `quick`: but for descent, which gains a few per cent at
    most, and the linear program, which gains 1.4e-3 on the staircase that ends.

    1. The best staircase and the best that ends: the answer for one release of one answer, and
       where δ is too small to buy anything (few releases).
    2. One joint release: the linear program, which has no better, where it is small enough.
    3. Otherwise the Rényi optimum of the order that matters, and descent from it and from the
       staircase, each where it has a chance.
    """
    stairs = renyi_law(asked, math.inf)
    first = _worth(stairs, _ended(stairs, asked))
    if _is_answer(stairs, first, asked):
        return first
    if asked.compositions == 1:
        found = _of_one_release(stairs, first, asked, quick=quick)
        if found is not None:
            return found
    if asked.shift > _MOST_BINS:
        return first
    smooth = best_smooth(asked, stairs.optimum.divergence)
    best = first if smooth is None or first.epsilon <= smooth.epsilon else smooth
    if quick:
        return replace(best, is_rough=True)
    chances = _promising(stairs, smooth, asked)
    return min([best, *(descend() for descend in chances)], key=lambda law: law.epsilon)


def stepped(asked: LatticeRequest) -> LatticeLaw:
    """The best staircase, or the best that ends where that is worth it: for one release of one
    answer there is no better law."""
    stairs = renyi_law(asked, math.inf)
    return _worth(stairs, _ended(stairs, asked))


def _is_answer(stairs: LatticeLaw, first: LatticeLaw, asked: LatticeRequest) -> bool:
    """Whether no law is better than the staircase, whole or ended."""
    if asked.compositions == 1 and asked.dimension == 1:
        return True
    unused = _PURE_ONE if asked.compositions == 1 else _PURE_MORE
    return first.epsilon == 0.0 or _is_pure(stairs, asked, unused)


def _is_pure(stairs: LatticeLaw, asked: LatticeRequest, unused: float) -> bool:
    """Whether δ buys less than this share of the staircase's ε at δ = 0."""
    pure_epsilon = asked.compositions * stairs.optimum.divergence
    return stairs.epsilon > (1.0 - unused) * pure_epsilon


def _worth(stairs: LatticeLaw, other: LatticeLaw | None) -> LatticeLaw:
    return stairs if other is None or other.epsilon > (1.0 - _WORTH) * stairs.epsilon else other


def _ended(stairs: LatticeLaw, asked: LatticeRequest) -> LatticeLaw | None:
    """The staircase that ends, each release with its share of δ, judged as it is composed; its
    program is for cubes."""
    n = asked.compositions
    if (
        asked.moved is not None
        or n > _MOST_ENDED
        or stairs.epsilon == 0.0
        or _is_pure(stairs, asked, _PURE_MORE)
    ):
        return None
    share = asked.delta if n == 1 else -math.expm1(math.log1p(-asked.delta) / n)
    found = best_ended(stairs.problem.lattice, share, stairs.optimum.divergence)
    return None if found is None else _of_log_h(found.log_h, stairs, asked)


def _of_log_h(log_h: Floats, stairs: LatticeLaw, asked: LatticeRequest) -> LatticeLaw:
    """A law that ends, judged."""
    noise, changes = asked.in_steps(log_h)
    try:
        loss = PrivacyLoss.of(noise, float(asked.shift), changes).compose(asked.compositions)
        epsilon = loss.epsilon(asked.delta)
    except ArithmeticError:
        epsilon = math.inf
    return replace(stairs, log_h=log_h, tail_ratio=None, epsilon=epsilon)


# One joint release


def _of_one_release(
    stairs: LatticeLaw, first: LatticeLaw, asked: LatticeRequest, *, quick: bool
) -> LatticeLaw | None:
    """The linear program's law, or the staircase that ends where that does as well or δ buys little
    anyway; None where the program is too large."""
    if quick and linear.fits(stairs.problem, stairs.optimum.profile, asked.delta):
        return replace(first, is_rough=True)
    found = _by_linear_program(stairs, asked)
    if found is None and not _is_pure(stairs, asked, _PURE_LARGE):
        return None
    return _worth(first, found)


def _by_linear_program(stairs: LatticeLaw, asked: LatticeRequest) -> LatticeLaw | None:
    if not 0.0 < stairs.epsilon < math.inf:
        return stairs
    drop = min(max(4.0 * (1.0 - stairs.epsilon / stairs.optimum.divergence), 1e-6), 0.5)
    log_h = linear.least_epsilon(
        stairs.problem, stairs.optimum.profile, stairs.epsilon, asked.delta, drop
    )
    return None if log_h is None else _of_log_h(log_h, stairs, asked)


def least_budget(law: LatticeLaw, epsilon: float, delta: float) -> tuple[float, Floats] | None:
    """One joint release: the least budget at which a law on the lattice of a staircase needs
    `epsilon`, and its shell masses; None where the linear program is too large or not solved."""
    stairs = law.optimum
    if not math.isinf(stairs.problem.order):
        return None
    return linear.least_budget(stairs.problem, stairs.profile, epsilon, delta)


def of_masses(masses: Floats, asked: LatticeRequest) -> LatticeLaw | None:
    """The law of these shell masses, which cost the request's budget, in one joint release; None
    where the staircase that ends does as well."""
    found = with_masses(masses, asked)
    if found is None:
        return None
    stairs = renyi_law(asked, math.inf)
    return found if _worth(_worth(stairs, _ended(stairs, asked)), found) is found else None


def with_masses(masses: Floats, asked: LatticeRequest) -> LatticeLaw | None:
    """The same whatever other laws do."""
    stairs = renyi_law(asked, math.inf)
    log_h = linear.law(stairs.problem, masses)
    return None if log_h is None else _of_log_h(log_h, stairs, asked)


# Several releases, and joint ones beyond the linear program


def _promising(
    stairs: LatticeLaw, smooth: LatticeLaw | None, asked: LatticeRequest
) -> list[Callable[[], LatticeLaw]]:
    """The descents that have a chance: from the Rényi optimum, from the staircase. None for one
    release: descent reaches no law that ends, and took up to 35 s to find that out (2 answers at σ
    = 0.3 s, δ = 0.1)."""
    chances: list[Callable[[], LatticeLaw]] = []
    if asked.compositions == 1:
        return chances
    if smooth is not None and smooth.epsilon < _SMOOTH_CHANCE * stairs.epsilon:
        pure_loss = stairs.optimum.divergence
        chances.append(lambda: _descended_from_below(smooth, asked, pure_loss))
    if chances and asked.compositions > _FEW:
        return chances
    if smooth is None or stairs.epsilon < _STEPPED_CHANCE * smooth.epsilon:
        chances.append(lambda: descended(stairs, asked))
    return chances


def best_smooth(asked: LatticeRequest, pure_loss: float) -> LatticeLaw | None:
    """The Rényi optimum of the order that matters for it: the order is moved to the law's own
    saddle point while that lowers ε.

    It ends where optima become staircases, which are slow to solve for and no better than the
    staircase itself (σ = s, two releases: orders 5, 19, 62, 172, 421 with ε = 3.43, 2.88, 2.77,
    2.735, 2.726, each slower, against 2.721).
    """
    highest = min(HIGHEST_ORDER, _STEPPED / pure_loss)
    # Every optimum is a staircase (ten answers, δ = 0.25, ε = 50: 15 s of work for nothing).
    if highest <= 1.0 + 1e-3:
        return None
    order = min(gaussian_order(asked), highest)
    best: LatticeLaw | None = None
    for _ in range(_STEPS):
        law = renyi_law(asked, order, None if best is None else best.optimum)
        if best is not None and not law.epsilon < best.epsilon * (1.0 - 1e-5):
            break
        best = law
        if not 0.0 < law.epsilon < math.inf:
            break
        order = min(_saddle_order(law, asked), highest)
    return best


def _saddle_order(law: LatticeLaw, asked: LatticeRequest) -> float:
    """1 + the tilt at which the composed loss of the law decides its ε: the order that matters for
    it."""
    parts = ((loss_table(law.system, law.optimum.profile), asked.compositions),)
    return 1.0 + saddle_for_epsilon(parts, law.epsilon).theta


def _descended_from_below(law: LatticeLaw, asked: LatticeRequest, pure_loss: float) -> LatticeLaw:
    """Descent from the law, or, where that has steps, from the optimum of a lower order, which has
    none: mass moves more easily than steps do (σ = 4.23 s, six releases: from the orders 10, 37 and
    100 to ε = 1.9972, 1.9985 and 1.9980)."""
    order = max(_STEPLESS / pure_loss, 1.0 + 1e-3)
    if law.optimum.problem.order <= order:
        return descended(law, asked)
    return descended(renyi_law(asked, order), asked)


def descended(law: LatticeLaw, asked: LatticeRequest) -> LatticeLaw:
    """The law after descent on its true ε, begun anew from where it ended while that still gains;
    never worse. All but the last round is on a coarser grid.

    Beginning anew matters where δ is large and the releases are few (σ = 2 s, two, δ = 0.01:
    1.2478, 1.2446, 1.2435 after one, two and three rounds, on whatever lattice; after one alone ε
    would depend on the lattice by 4e-3).
    """
    problem, system = law.problem, law.system
    n, delta = asked.compositions, asked.delta
    if not 0.0 < law.epsilon < math.inf:
        return law
    q = meet_constraints(problem, spread(problem, law.optimum.profile))
    for _ in range(_MOST_ROUNDS):
        reached = descent.descend(problem, system, q, delta, n, descent.COARSE)
        if reached.q is q:
            break
        q = reached.q
    reached = descent.descend(problem, system, q, delta, n, descent.FINE)
    if not reached.epsilon < law.epsilon:
        return law
    return replace(law, log_h=problem.all_shells(reached.q), epsilon=reached.epsilon)


def adjusted(law: LatticeLaw, asked: LatticeRequest) -> LatticeLaw | None:
    """The law of a neighbouring budget on the same lattice, brought to this one: its shape is as
    good here, what it loses is of second order. As the budget moves ε then moves smoothly, where
    fresh searches may end in different laws (ε apart by 2e-3 for six releases at σ = 26.8 s). A
    staircase, whole or ended, is made anew, in milliseconds. None where the lattice is another one,
    and for one joint release, whose linear program is solved anew."""
    before, n = law.problem, asked.compositions
    if before.shift != asked.shift or before.domain != asked.domain:
        return None
    is_whole = math.isinf(before.order) and law.log_h is law.optimum.log_h
    if law.tail_ratio is None or is_whole:
        return stepped(asked) if asked.dimension == 1 or n > 1 else None
    problem = replace(before, budget=asked.budget)
    q = meet_constraints(problem, spread(problem, law.log_h[problem.first :]))
    epsilon = descent.true_epsilon(law.system, q, asked.delta, n, descent.FINE)
    return replace(law, log_h=problem.all_shells(q), epsilon=epsilon, problem=problem)
