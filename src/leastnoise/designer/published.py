"""The published method: Algorithms 1, 2 and 3 of *Optimizing Noise Distributions for Differential
Privacy* (ICML 2025).

The reference that the package's own solver is measured against: a start (`initialize`, Alg. 2),
then preconditioned, projected gradient descent on max_t g_α(p, t) with a Newton step on the order
every T iterations (`optimize`, Alg. 3). `published_noise` is Alg. 1, the one after the other.

`AS_PRINTED` are the settings that the paper prints. Its authors' notebooks differ in two ways that
decide most comparisons, and both are settings here: they take the best of ten steps even where
it raises the objective (`accept="best"`), so that the descent does not stall, and they start from a
Laplace law where the noise is small (`start="laplace"`).

The letters are the paper's: p_0, …, p_N and the ratio r of the geometric tail are the law (Def. 3.3
and 3.4), m = s/Δ shifts compete, α is the order, N_c the number of compositions.

Where the paper is silent, or where its lines taken literally break, the choice made is marked
"Choice:" at the place.

How it stalls as printed (measured): μ_ub/2^10 still changes the bin with the steepest g^proj by a
thousandth. At σ = 4, N_c = 20, δ = 1e-6, m = 20, N = 1600 and the first order this is too much
after 287 iterations: all eleven steps raise the objective, while half the smallest would lower it.
Only Newton's change of the order then sets the descent going again. At σ = s it ends far from the
optimum: on the integers (s = 1, N = 25, α = 10) at a divergence of 3.50 after 3,000 iterations,
where 1.246 is possible; in the setting of Fig. 2, right (T = 50), at the order 10.96 after 950,
where the paper prints 125.01, because several shifts compete there and the step follows the
gradient of one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import erf, log_ndtr

from leastnoise.cost import Cost, quadratic
from leastnoise.designer.published_program import SMALLEST, PaperProgram, read_only
from leastnoise.errors import (
    DesignError,
    InvalidParameterError,
    one_of,
    open_unit,
    positive,
    positive_integer,
)
from leastnoise.lattice.shells import Floats

_MOST_BISECTIONS = 200
_MOST_DOUBLINGS = 60
_ROUNDING = 1e-13


@dataclass(frozen=True)
class PublishedSettings:
    """The hyper-parameters θ of Algorithm 1, and what its authors do beyond its lines. N, r and Δ
    default to those of Fig. 3, left; K and T are not printed.

    Attributes:
        iterations: K.
        renyi_update_every: T; None holds the order fixed.
        last: N.
        tail_ratio: r.
        step: Δ; 1 for the integer domain.
        variance_tolerance: Alg. 2 stops when the cost misses its budget by at most this share.
        halvings: The steps tried are μ_ub/2^k, k = 0, …, `halvings`; with more than the paper's
            ten the stall is put off.
        start: "gaussian", as printed, or "laplace".
        accept: "descent", as printed: the law stays where no step lowers the objective; "best":
            the best of the steps is taken even if it raises the objective.

    Example:
        >>> PublishedSettings(accept="best").halvings
        10
    """

    iterations: int = 20_000
    renyi_update_every: int | None = 10
    last: int = 8_000
    tail_ratio: float = 0.9999
    step: float = 0.01
    variance_tolerance: float = 1e-10
    halvings: int = 10
    start: str = "gaussian"
    accept: str = "descent"

    def __post_init__(self) -> None:
        positive_integer("iterations", self.iterations)
        if self.renyi_update_every is not None:
            positive_integer("renyi_update_every", self.renyi_update_every)
        positive_integer("last", self.last)
        open_unit("tail_ratio", self.tail_ratio)
        positive("step", self.step)
        positive("variance_tolerance", self.variance_tolerance)
        positive_integer("halvings", self.halvings)
        one_of("start", self.start, tuple(_STARTS))
        one_of("accept", self.accept, ("descent", "best"))

    def program(self, sensitivity: float, domain: str, cost: Cost) -> PaperProgram:
        """Problem (22) on these bins."""
        return PaperProgram.of(
            sensitivity,
            step=self.step,
            last=self.last,
            tail_ratio=self.tail_ratio,
            domain=domain,
            cost=cost,
        )


@dataclass(frozen=True)
class PublishedHistory:
    """One row for the start and one after every iteration of Alg. 3, each evaluated at the order it
    names."""

    iteration: Floats
    renyi_order: Floats
    log_objective: Floats  # log max_t g_α(p, t), because g overflows at large orders
    moments_epsilon: Floats
    seconds: Floats


@dataclass(frozen=True)
class PublishedState:
    """What a callback sees after an iteration."""

    p: Floats
    renyi_order: float
    log_objective: float
    moments_epsilon: float
    worst_shift: int

    def row(self, iteration: int, began: float) -> tuple[float, ...]:
        """One row of the history, begun at the time `began`."""
        seconds = time.perf_counter() - began
        return iteration, self.renyi_order, self.log_objective, self.moments_epsilon, seconds


@dataclass(frozen=True)
class PublishedResult:
    """The last iterate p_K of Alg. 3 (the paper returns the last, not the best), and how it came
    about.

    Attributes:
        p: p_0, …, p_N of one bin, or of one integer; beyond N it goes on as p_N r^(k−N).
        renyi_order: The last order.
        divergence: max_t D_α of one release at `renyi_order`.
        moments_epsilon: γ(α), eq. (25), at `renyi_order`: by Prop. 2.4 an ε for δ and N_c releases,
            though not a tight one.
        worst_shift: The shift of that divergence, in bins.
        best: What there was when γ was least; the same as the last iterate where the objective
            never rises and the order is held.
        stalled: No step lowered the objective at last, and the order has not changed since.
        history: A row for every iteration.
    """

    p: Floats
    renyi_order: float
    divergence: float
    moments_epsilon: float
    worst_shift: int
    best: PublishedState
    stalled: bool
    history: PublishedHistory


Callback = Callable[[int, PublishedState], bool | None]
# An order to begin with, or the order of every iteration.
Orders = float | Callable[[int], float]


def published_noise(
    *,
    delta: float,
    compositions: int,
    sigma: float,
    sensitivity: float = 1.0,
    domain: str = "real",
    cost: Cost | None = None,
    settings: PublishedSettings | None = None,
    renyi_order: Orders | None = None,
    callback: Callback | None = None,
) -> PublishedResult:
    """Algorithm 1: a start, then the descent.

    Args:
        delta: δ of the moments rule, in (0, 1).
        compositions: N_c.
        sigma: The law's budget is cost(sigma): for z² its standard deviation.
        sensitivity: s, a whole number of bins.
        domain: "real" or "integer".
        cost: c(z); z² unless said otherwise.
        settings: Start, steps and what is accepted; by default what the paper prints.
        renyi_order: The first order in place of the Gaussian's, or a function from the iteration
            (0 for the start) to the order, which Newton's steps then leave alone.
        callback: Called as `callback(iteration, state)`; the descent ends where it returns True.

    Returns:
        The last iterate, the best one, and a row for every iteration.

    Raises:
        InvalidParameterError: a parameter is out of range.
        DesignError: no start of this kind has the budget on these bins.

    Example:
        >>> few = PublishedSettings(iterations=50, last=100, step=0.25)
        >>> found = published_noise(delta=1e-6, compositions=10, sigma=2.0, settings=few)
        >>> bool(found.moments_epsilon < found.history.moments_epsilon[0])
        True
    """
    settings = PublishedSettings() if settings is None else settings
    return optimize(
        initialize(sigma, sensitivity, settings, domain, cost),
        delta=delta,
        compositions=compositions,
        sigma=sigma,
        sensitivity=sensitivity,
        domain=domain,
        cost=cost,
        settings=settings,
        renyi_order=renyi_order,
        callback=callback,
    )


def initialize(
    sigma: float,
    sensitivity: float,
    settings: PublishedSettings,
    domain: str = "real",
    cost: Cost | None = None,
) -> Floats:
    """Algorithm 2: a binned Gaussian with a geometric tail, or a Laplace law in its place; its
    scale by bisection, so that the law costs what it may."""
    sigma, cost = positive("sigma", sigma), quadratic() if cost is None else cost
    program, budget = settings.program(sensitivity, domain, cost), cost.of(sigma)
    low, high = 0.0, 2.0 * sigma**2
    # Choice: the cost at Ĉ_max = 2σ² can be below its budget (σ = 0.05 on the integers). Then Ĉ_max
    # doubles until it is not.
    for _ in range(_MOST_DOUBLINGS):
        if program.cost @ np.exp(_binned(high, settings)) >= budget:
            break
        high *= 2.0
    for _ in range(_MOST_BISECTIONS):
        c_hat = 0.5 * (low + high)
        log_p = _binned(c_hat, settings)
        p = np.exp(log_p)
        found = float(program.cost @ p)
        close = abs(found / budget - 1.0) <= settings.variance_tolerance
        if close or not low < c_hat < high:
            break
        if found < budget:
            low = c_hat
        else:
            high = c_hat
    # Choice: no Ĉ fits at all when one bin alone has more variance than σ² (Δ > σ√12), or when N
    # and r allow no such σ.
    if not close:
        raise DesignError(
            f"No binned {settings.start} law with step={settings.step}, last={settings.last}, "
            f"tail_ratio={settings.tail_ratio} "
            f"has sigma={sigma}: bisection ends at a cost of {found:.12g}."
        )
    # Choice: beyond about 37 σ the Gaussian underflows, and p_N = 0 makes g infinite. The paper's
    # N·Δ is 20 σ to 27 σ.
    if float(np.min(p)) < SMALLEST:
        expected = (
            f"to be smaller: the {settings.start} start has log p_N = {log_p[-1]:.0f}, below the "
            "smallest double"
        )
        raise InvalidParameterError("last", settings.last, expected)
    return p


def optimize(
    p0: Floats,
    *,
    delta: float,
    compositions: int,
    sigma: float,
    sensitivity: float = 1.0,
    domain: str = "real",
    cost: Cost | None = None,
    settings: PublishedSettings | None = None,
    renyi_order: Orders | None = None,
    callback: Callback | None = None,
) -> PublishedResult:
    """Algorithm 3: K steps of preconditioned, projected gradient descent from p0, the order updated
    every T of them.

    1. t* is the worst shift and g = M⁻¹∇g_α(p, t*), M = diag(p)⁻¹, the relative gradient (lines
       4–6);
    2. g^proj is g without its components along the rows of B = A M⁻¹, so that A p = b stays true
       (lines 7–9);
    3. p̂ = p(1 − μ g^proj) for μ = μ_ub/2^k, k = 0, …, 10; the p̂ of least max_t g_α becomes p
       (lines 10–19);
    4. after every T-th iteration α ← α − γ'(α)/γ''(α) (lines 20–22).

    `renyi_order` replaces the first order of line 1; with `renyi_update_every=None` it is held.
    `callback(iteration, state)` is called after every iteration and ends the descent by returning
    True.

    Guarantees: every iterate is strictly positive and, up to rounding, meets both constraints as
    closely as p0 does; while the order does not change, the objective does not rise, unless
    `accept="best"` lets it.
    """
    settings = PublishedSettings() if settings is None else settings
    cost = quadratic() if cost is None else cost
    sigma, delta = positive("sigma", sigma), open_unit("delta", delta)
    program = settings.program(sensitivity, domain, cost)
    accountant = _MomentsAccountant(
        positive_integer("compositions", compositions), -math.log(delta)
    )
    p = program.checked_start(p0, cost.of(sigma))
    # Line 1 asks for the standard deviation of the start.
    spread = sigma
    if cost.exponent != 2.0:
        spread = math.sqrt(float(settings.program(sensitivity, domain, quadratic()).cost @ p))
    rule = _OrderRule.of(accountant, settings.renyi_update_every, renyi_order)
    return _descend(program, p, rule, rule.first(spread / sensitivity), settings, callback)


def _descend(
    program: PaperProgram,
    p: Floats,
    rule: _OrderRule,
    order: float,
    settings: PublishedSettings,
    callback: Callback | None,
) -> PublishedResult:
    """The iterations of Alg. 3."""
    began, accountant = time.perf_counter(), rule.accountant
    log_g = program.log_objectives(p, order)
    best = state = accountant.state(p, order, log_g)
    rows = [state.row(0, began)]
    stalled, near = False, settings.halvings // 2 + 1
    for k in range(1, settings.iterations + 1):
        moved = None if stalled else _descent_step(program, p, log_g, order, settings, near)
        stalled = moved is None
        if moved is not None:
            p, log_g, near = moved
        if rule.is_due(k):
            update = rule.after(k, program, p, log_g, order)
            if update != order:
                order, stalled = update, False
                log_g = program.log_objectives(p, order)
        state = accountant.state(p, order, log_g)
        best = state if state.moments_epsilon < best.moments_epsilon else best
        rows.append(state.row(k, began))
        if callback is not None and callback(k, state):
            break
        # Neither p nor α can change any more: every further iteration would be the same, and is
        # left out.
        if stalled and rule.has_ended(k):
            break
    return PublishedResult(
        p=p,
        renyi_order=order,
        divergence=state.log_objective / (order - 1.0),
        moments_epsilon=state.moments_epsilon,
        worst_shift=state.worst_shift,
        best=best,
        stalled=stalled,
        history=PublishedHistory(*np.array(rows).T.copy()),
    )


@dataclass(frozen=True)
class _OrderRule:
    """Which order an iteration has: that of a given trajectory, or Newton's every so often."""

    accountant: _MomentsAccountant
    every: int | None
    begin: float | None
    trajectory: Callable[[int], float] | None

    @staticmethod
    def of(accountant: _MomentsAccountant, every: int | None, wanted: Orders | None) -> _OrderRule:
        if callable(wanted):
            return _OrderRule(accountant, 1, wanted(0), wanted)
        return _OrderRule(accountant, every, wanted, None)

    def first(self, sigma: float) -> float:
        return self.accountant.first_order(sigma, self.begin)

    def is_due(self, k: int) -> bool:
        return self.every is not None and k % self.every == 0

    def after(self, k: int, program: PaperProgram, p: Floats, log_g: Floats, order: float) -> float:
        """Lines 20–22 of Alg. 3: the order after iteration k."""
        if self.trajectory is not None:
            return self.accountant.first_order(1.0, self.trajectory(k))
        return self.accountant.newton_order(order, *program.log_moments(p, order, _worst(log_g)))

    def has_ended(self, k: int) -> bool:
        """Whether a law that stays keeps its order, too: it has just been asked for a new one."""
        return self.trajectory is None and (self.every is None or self.is_due(k))


def _descent_step(
    program: PaperProgram,
    p: Floats,
    log_g: Floats,
    order: float,
    settings: PublishedSettings,
    near: int,
) -> tuple[Floats, Floats, int] | None:
    """Lines 4–19 of Alg. 3: the next p, its log g_α(p, t), t = 1, …, m, and the k of its step; None
    if p stays. The search for k begins at `near`."""
    # ∇ log g = ∇g/g in place of ∇g: it cannot overflow, and μ_ub·g^proj is the same for any
    # positive multiple of g.
    gradient = program.log_gradient(p, order, _worst(log_g))
    direction = program.project(p, gradient)
    steepest = float(np.max(direction))
    # Choice: if no component of g^proj is positive, μ_ub is a minimum over nothing. Then g^proj =
    # 0, because Σ mass_i p_i g_i^proj = 0 has positive weights: p is stationary and stays. What is
    # zero up to rounding counts as zero: μ_ub would blow it up to full size, and such a step keeps
    # no constraint.
    if not steepest > _ROUNDING * float(np.max(np.abs(gradient))):
        return None
    # Choice: the pseudocode never lowers g_min, so the smallest improving μ would win; the text
    # says that the μ with the largest reduction is selected. The text is followed.
    tried = _Steps(program, p, direction / steepest, order)
    k = tried.least(settings.halvings, near)
    moved, found = tried.at(k)
    if not math.isfinite(np.max(found)):
        return None
    if settings.accept == "descent" and not np.max(found) < np.max(log_g):
        return None
    return read_only(moved), found, k


class _Steps:
    """The laws p̂ = p(1 − μ_ub/2^k · g^proj), and the objective of each."""

    def __init__(self, program: PaperProgram, p: Floats, direction: Floats, order: float) -> None:
        self._program, self._p, self._direction, self._order = program, p, direction, order
        self._known: dict[int, tuple[Floats, Floats]] = {}

    def at(self, k: int) -> tuple[Floats, Floats]:
        """p̂ of step k and its log g_α(p̂, t)."""
        if k not in self._known:
            trial = self._p * (1.0 - math.ldexp(1.0, -k) * self._direction)
            # Choice: a p̂ that leaves the normal doubles is on its way to an exact zero, where eq.
            # (23) is infinite, and counts as infinite.
            usable = float(np.min(trial)) >= SMALLEST
            found = self._program.log_objectives(trial, self._order) if usable else _INFINITE
            self._known[k] = trial, found
        return self._known[k]

    def value(self, k: int) -> float:
        return float(np.max(self.at(k)[1]))

    def least(self, halvings: int, near: int) -> int:
        """The k in 1, …, `halvings` of the least objective.

        max_t g is convex along the ray, so its values at the halvings fall and then rise: from
        `near`, downhill, mostly three of them are computed (m = 20, N = 1600: 0.5 ms an iteration
        for 2.5 ms).

        Choice: μ_ub itself (k = 0) sets some p̂_i to zero, where eq. (23) is infinite: it never
        wins. Rounding may leave 1e-17·p_i instead, which an order near 1 would take for an
        improvement: k = 0 counts as infinite, unevaluated.
        """
        k = min(max(near, 1), halvings)
        while k < halvings and math.isinf(self.value(k)):
            k += 1
        for way in (-1, 1):
            while 1 <= k + way <= halvings and self.value(k + way) < self.value(k):
                k += way
        return k


_INFINITE = np.array([math.inf])


@dataclass(frozen=True)
class _MomentsAccountant:
    """γ(α) = (N_c Λ + log(1/δ))/(α − 1), Λ = log max_t g_α: eq. (25)."""

    compositions: int
    log_inverse_delta: float

    def first_order(self, sigma: float, wanted: float | None) -> float:
        """Line 1 of Alg. 3: the best order for the Gaussian of standard deviation σ/s, unless
        another is wanted."""
        gaussian = math.sqrt(2.0 * self.log_inverse_delta / self.compositions) * sigma + 1.0
        order = gaussian if wanted is None else float(wanted)
        if not 1.0 < order < math.inf:
            raise InvalidParameterError("renyi_order", wanted, "to be above 1 and finite")
        return order

    def epsilon(self, order: float, log_g: float) -> float:
        return (self.compositions * log_g + self.log_inverse_delta) / (order - 1.0)

    def derivatives(
        self, order: float, log_g: float, first: float, second: float
    ) -> tuple[float, float]:
        """γ' and γ'' from Λ, Λ' and Λ''."""
        slope = (self.compositions * first - self.epsilon(order, log_g)) / (order - 1.0)
        return slope, (self.compositions * second - 2.0 * slope) / (order - 1.0)

    def newton_order(self, order: float, log_g: float, first: float, second: float) -> float:
        """Line 21 of Alg. 3: α − γ'/γ''.

        Choice: max_t g has a derivative in α only where the worst shift is unique; the shift is
        held at t*. γ need not be convex: where γ'' ≤ 0 the step would lead to a maximum, and the
        order stays. A step to 1 or below goes half the way to 1 instead. A step upwards is never
        held back, as in the paper.
        """
        slope, curvature = self.derivatives(order, log_g, first, second)
        if not curvature > 0.0 or not math.isfinite(slope / curvature):
            return order
        update = order - slope / curvature
        return update if update > 1.0 else 1.0 + 0.5 * (order - 1.0)

    def state(self, p: Floats, order: float, log_g: Floats) -> PublishedState:
        top = float(np.max(log_g))
        return PublishedState(p, order, top, self.epsilon(order, top), _worst(log_g))


def _worst(log_g: Floats) -> int:
    """t* = argmax_t g_α(p, t) (line 4), the smallest if several tie."""
    return int(np.argmax(log_g)) + 1


def _binned(c_hat: float, settings: PublishedSettings) -> Floats:
    """Lines 5–8 of Alg. 2 in logarithms: log p_0, …, log p_N of a law of scale √Ĉ."""
    # (i + ½)Δ/√Ĉ, i = 0, …, N−1
    places = np.arange(settings.last, dtype=np.float64) + 0.5
    edge = np.asarray(places * (settings.step / math.sqrt(c_hat)), dtype=np.float64)
    centre, outside = _STARTS[settings.start](edge)
    bins = outside[:-1] + np.log(-np.expm1(outside[1:] - outside[:-1]))
    return np.concatenate([[centre], bins, [math.log1p(-settings.tail_ratio) + outside[-1]]])


def _gaussian(edge: Floats) -> tuple[float, Floats]:
    """log Pr(|z| < edge_0) and log Pr(z > edge) of the normal law; log(1 − Φ) keeps the far bins,
    where Φ rounds to 1."""
    return math.log(erf(edge[0] / math.sqrt(2.0))), np.asarray(log_ndtr(-edge), dtype=np.float64)


def _laplace(edge: Floats) -> tuple[float, Floats]:
    """The same of the Laplace law."""
    return math.log(-math.expm1(-edge[0])), -edge - math.log(2.0)


_STARTS = {"gaussian": _gaussian, "laplace": _laplace}
AS_PRINTED = PublishedSettings()
