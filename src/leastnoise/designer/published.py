"""The published method: Algorithms 1, 2 and 3 of *Optimizing Noise Distributions for Differential
Privacy* (ICML 2025).

Kept as the paper describes it, as the reference that the package's own solver is measured against:
a Gaussian start (`initialize`, Alg. 2), then preconditioned, projected gradient descent on max_t
g_α(p, t) with a Newton step on the order every T iterations (`optimize`, Alg. 3). `published_noise`
is Alg. 1, the one after the other. The cost is z².

The letters are the paper's: p_0, …, p_N and the ratio r of the geometric tail are the law (Def. 3.3
and 3.4), m = s/Δ shifts compete, α is the order, N_c the number of compositions. Everything is
computed in logarithms: p^(1−α) and g itself leave the range of doubles (Alg. 2's start at σ = 1, Δ
= 0.01, N = 2000, r = 0.9999 has log g = 3163 at α = 125).

Where the paper is silent, or where its lines taken literally break, the choice made is marked
"Choice:" at the place.

How it stalls (measured): μ_ub/2^10 still changes the bin with the steepest g^proj by a thousandth.
At σ = 4, N_c = 20, δ = 1e-6, m = 20, N = 1600 and the first order this is too much after 287
iterations: all eleven steps raise the objective, while half the smallest would lower it. Only
Newton's change of the order then sets the descent going again. At σ = s it ends far from the
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
from scipy.special import log_ndtr, ndtr

from leastnoise.errors import (
    DesignError,
    InvalidParameterError,
    at_least,
    one_of,
    open_unit,
    positive,
    positive_integer,
)
from leastnoise.lattice.shells import Floats

_MOST_BISECTIONS = 200
_MOST_DOUBLINGS = 60
_START_TOLERANCE = 1e-6  # how far a caller's start may miss the two constraints, relatively
_ROUNDING = 1e-13
_SMALLEST = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class PublishedSettings:
    """The hyper-parameters θ of Algorithm 1. N, r and Δ default to those of Fig. 3, left; K and T
    are not printed."""

    iterations: int = 20_000  # K
    renyi_update_every: int | None = 10  # T; None holds the order fixed
    last: int = 8_000  # N
    tail_ratio: float = 0.9999  # r
    step: float = 0.01  # Δ; 1 for the integer domain
    variance_tolerance: float = 1e-10  # Alg. 2 stops when |Var/σ² − 1| is at most this
    # The steps tried are μ_ub/2^k, k = 0, …, `halvings`; with more than the paper's the stall is
    # put off.
    halvings: int = 10

    def __post_init__(self) -> None:
        positive_integer("iterations", self.iterations)
        if self.renyi_update_every is not None:
            positive_integer("renyi_update_every", self.renyi_update_every)
        positive_integer("last", self.last)
        open_unit("tail_ratio", self.tail_ratio)
        positive("step", self.step)
        positive("variance_tolerance", self.variance_tolerance)
        positive_integer("halvings", self.halvings)


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
    about."""

    p: Floats  # p_0, …, p_N of one bin, or of one integer; beyond N it goes on as p_N r^(k−N)
    renyi_order: float
    divergence: float  # max_t D_α of one release at `renyi_order`
    # γ(α), eq. (25), at `renyi_order`: by Prop. 2.4 an ε for δ and N_c releases, though not a tight
    # one
    moments_epsilon: float
    worst_shift: int
    stalled: bool  # no step lowered the objective at last, and the order has not changed since
    history: PublishedHistory


Callback = Callable[[int, PublishedState], bool | None]


def published_noise(
    *,
    delta: float,
    compositions: int,
    sigma: float,
    sensitivity: float = 1.0,
    domain: str = "real",
    settings: PublishedSettings | None = None,
    callback: Callback | None = None,
) -> PublishedResult:
    """Algorithm 1: the Gaussian start, then the descent."""
    settings = PublishedSettings() if settings is None else settings
    return optimize(
        initialize(sigma, sensitivity, settings, domain),
        delta=delta,
        compositions=compositions,
        sigma=sigma,
        sensitivity=sensitivity,
        domain=domain,
        settings=settings,
        callback=callback,
    )


def initialize(
    sigma: float, sensitivity: float, settings: PublishedSettings, domain: str = "real"
) -> Floats:
    """Algorithm 2: a binned Gaussian with a geometric tail; its Ĉ by bisection, so that the law has
    variance σ²."""
    sigma = positive("sigma", sigma)
    program = _PaperProgram.of(sensitivity, settings, domain)
    low, high = 0.0, 2.0 * sigma**2
    # Choice: Var at Ĉ_max = 2σ² can be below σ² (σ = 0.05 on the integers). Then Ĉ_max doubles
    # until it is not.
    for _ in range(_MOST_DOUBLINGS):
        if program.cost @ np.exp(_binned_gaussian(high, settings)) >= sigma**2:
            break
        high *= 2.0
    for _ in range(_MOST_BISECTIONS):
        c_hat = 0.5 * (low + high)
        log_p = _binned_gaussian(c_hat, settings)
        p = np.exp(log_p)
        variance = float(program.cost @ p)
        close = abs(variance / sigma**2 - 1.0) <= settings.variance_tolerance
        if close or not low < c_hat < high:
            break
        if variance < sigma**2:
            low = c_hat
        else:
            high = c_hat
    # Choice: no Ĉ fits at all when one bin alone has more variance than σ² (Δ > σ√12), or when N
    # and r allow no such σ.
    if not close:
        raise DesignError(
            f"No binned Gaussian with step={settings.step}, last={settings.last}, "
            f"tail_ratio={settings.tail_ratio} "
            f"has sigma={sigma}: bisection ends at sigma={math.sqrt(variance):.12g}."
        )
    # Choice: beyond about 37 σ the Gaussian underflows, and p_N = 0 makes g infinite. The paper's
    # N·Δ is 20 σ to 27 σ.
    if float(np.min(p)) < _SMALLEST:
        expected = (
            f"to be smaller: the Gaussian start has log p_N = {log_p[-1]:.0f}, below the "
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
    settings: PublishedSettings | None = None,
    renyi_order: float | None = None,
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
    closely as p0 does; while the order does not change, the objective does not rise.
    """
    settings = PublishedSettings() if settings is None else settings
    sigma, delta = positive("sigma", sigma), open_unit("delta", delta)
    program = _PaperProgram.of(sensitivity, settings, domain)
    accountant = _MomentsAccountant(
        positive_integer("compositions", compositions), -math.log(delta)
    )
    p = program.checked_start(p0, sigma)
    order = accountant.first_order(sigma / sensitivity, renyi_order)

    began = time.perf_counter()
    log_g = program.log_objectives(p, order)
    state = accountant.state(p, order, log_g)
    rows = [state.row(0, began)]
    every, stalled = settings.renyi_update_every, False
    for k in range(1, settings.iterations + 1):
        moved = None if stalled else _descent_step(program, p, log_g, order, settings.halvings)
        stalled = moved is None
        if moved is not None:
            p, log_g = moved
        is_update = every is not None and k % every == 0
        if is_update:
            before = order
            order, log_g = _updated_order(program, accountant, p, log_g, order)
            stalled &= order == before
        state = accountant.state(p, order, log_g)
        rows.append(state.row(k, began))
        if callback is not None and callback(k, state):
            break
        # Neither p nor α can change any more: every further iteration would be the same, and is
        # left out.
        if stalled and (every is None or is_update):
            break
    return PublishedResult(
        p=p,
        renyi_order=order,
        divergence=state.log_objective / (order - 1.0),
        moments_epsilon=state.moments_epsilon,
        worst_shift=state.worst_shift,
        stalled=stalled,
        history=PublishedHistory(*np.array(rows).T.copy()),
    )


def _descent_step(
    program: _PaperProgram, p: Floats, log_g: Floats, order: float, halvings: int
) -> tuple[Floats, Floats] | None:
    """Lines 4–19 of Alg. 3: the next p and its log g_α(p, t), t = 1, …, m; None if no step lowers
    the objective."""
    worst = _worst(log_g)
    # ∇ log g = ∇g/g in place of ∇g: it cannot overflow, and μ_ub·g^proj is the same for any
    # positive multiple of g.
    gradient = program.log_gradient(p, order, worst)
    direction = program.project(p, gradient)
    steepest = float(np.max(direction))
    # Choice: if no component of g^proj is positive, μ_ub is a minimum over nothing. Then g^proj =
    # 0, because Σ mass_i p_i g_i^proj = 0 has positive weights: p is stationary and stays. What is
    # zero up to rounding counts as zero: μ_ub would blow it up to full size, and such a step keeps
    # no constraint.
    if not steepest > _ROUNDING * float(np.max(np.abs(gradient))):
        return None
    # Choice: μ_ub itself (k = 0) sets some p̂_i to zero, where eq. (23) is infinite: it never wins.
    # Rounding may leave 1e-17·p_i instead, which an order near 1 would take for an improvement: k =
    # 0 counts as infinite, unevaluated.
    mu = np.ldexp(1.0 / steepest, -np.arange(1, halvings + 1))
    trials = p * (1.0 - mu[:, None] * direction)
    # Choice: a p̂ that leaves the normal doubles is on its way to an exact zero, and counts as
    # infinite too.
    trials = trials[np.min(trials, axis=1) >= _SMALLEST]
    # max_t g ≥ g(·, t*): a p̂ that t* alone rejects needs no other shift. The outcome is the same
    # as that of all maxima, at about one of them an iteration in place of eleven (m = 100, N =
    # 8000: 10 ms instead of 60 ms).
    at_least = program.log_objective(trials, order, worst)
    best, best_log_g = None, log_g
    # Choice: the pseudocode never lowers g_min, so the smallest improving μ would win; the text
    # says that the μ with the largest reduction is selected. The text is followed.
    for trial in np.argsort(at_least, kind="stable"):
        if not at_least[trial] < np.max(best_log_g):
            break
        trial_log_g = program.log_objectives(trials[trial], order)
        if np.max(trial_log_g) < np.max(best_log_g):
            best, best_log_g = trials[trial], trial_log_g
    return None if best is None else (_read_only(best), best_log_g)


def _updated_order(
    program: _PaperProgram, accountant: _MomentsAccountant, p: Floats, log_g: Floats, order: float
) -> tuple[float, Floats]:
    """Lines 20–22 of Alg. 3: the next order, and log g_α(p, t) there."""
    update = accountant.newton_order(order, *program.log_moments(p, order, _worst(log_g)))
    return (order, log_g) if update == order else (update, program.log_objectives(p, update))


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


def _read_only(p: Floats) -> Floats:
    own = p.copy()
    own.flags.writeable = False
    return own


def _binned_gaussian(c_hat: float, settings: PublishedSettings) -> Floats:
    """Lines 5–8 of Alg. 2 in logarithms: log p_0, …, log p_N of the Gaussian of variance Ĉ."""
    # (i + ½)Δ/√Ĉ, i = 0, …, N−1
    edge = (np.arange(settings.last) + 0.5) * (settings.step / math.sqrt(c_hat))
    # log(1 − Φ) keeps the far bins, where Φ rounds to 1
    outside = np.asarray(log_ndtr(-edge), dtype=np.float64)
    bins = outside[:-1] + np.log(-np.expm1(outside[1:] - outside[:-1]))
    centre = math.log(ndtr(edge[0]) - ndtr(-edge[0]))
    return np.concatenate([[centre], bins, [math.log1p(-settings.tail_ratio) + outside[-1]]])


@dataclass(frozen=True)
class _PaperProgram:
    """Problem (22): the two rows of A, and g_α(p, t) of Theorem 3.6 with its derivatives."""

    mass: Floats
    cost: Floats
    shifts: int
    tail_ratio: float

    @staticmethod
    def of(sensitivity: float, settings: PublishedSettings, domain: str) -> _PaperProgram:
        one_of("domain", domain, ("real", "integer"))
        step, n, r = settings.step, settings.last, settings.tail_ratio
        if domain == "integer" and step != 1.0:
            raise InvalidParameterError("step", step, "to be 1 for the integer domain")
        m = round(at_least("sensitivity", sensitivity) / step)
        if m < 1 or abs(m * step - sensitivity) > 1e-9 * sensitivity:
            raise InvalidParameterError(
                "step", step, f"to divide sensitivity={sensitivity} into whole bins"
            )
        if m > n:
            raise InvalidParameterError(
                "last", n, f"to be at least sensitivity/step = {m}, as eq. (23) assumes"
            )
        i = np.arange(n + 1, dtype=np.float64)
        mass = np.full(n + 1, 2.0)
        mass[0], mass[n] = 1.0, 2.0 / (1.0 - r)  # eq. (16) and (18)
        square = i * i * mass
        # Σ_{i≥N} r^(i−N) i²: the fraction of eq. (21), written without cancellation.
        square[n] = 2.0 * (
            n * n / (1.0 - r) + 2.0 * n * r / (1.0 - r) ** 2 + r * (1.0 + r) / (1.0 - r) ** 3
        )
        # Prop. 3.5: A_i = Δ²(i² + 1/12)
        within = mass / 12.0 if domain == "real" else np.zeros(n + 1)
        return _PaperProgram(mass, step**2 * (square + within), m, r)

    def checked_start(self, p0: Floats, sigma: float) -> Floats:
        """A read-only copy of p0, if it is strictly positive and meets both constraints."""
        p = np.array(p0, dtype=np.float64)
        if p.shape != self.mass.shape or not np.all(np.isfinite(p)) or np.any(p < _SMALLEST):
            raise InvalidParameterError(
                "p0", p, f"to hold {self.mass.size} positive probabilities p_0, …, p_N"
            )
        for name, total, target in (
            ("mass", self.mass @ p, 1.0),
            ("variance", self.cost @ p, sigma**2),
        ):
            if abs(total / target - 1.0) > _START_TOLERANCE:
                raise InvalidParameterError(f"{name} of p0", float(total), f"to be {target}")
        return _read_only(p)

    def project(self, p: Floats, gradient: Floats) -> Floats:
        """g − B⁺B g, B = A M⁻¹ (lines 7–9): QR gives the projector Bᵀ(B Bᵀ)⁻¹B without squaring its
        condition."""
        rows = np.stack([self.mass * p, self.cost * p], axis=1)
        basis, _ = np.linalg.qr(rows / np.linalg.norm(rows, axis=0))
        # Once lets the constraints drift by 4e-14 in 3,000 iterations (σ = 4, m = 20, N = 1600),
        # twice by 9e-16.
        once = gradient - basis @ (basis.T @ gradient)
        return np.asarray(once - basis @ (basis.T @ once), dtype=np.float64)

    def log_objectives(self, p: Floats, order: float) -> Floats:
        """log g_α(p, t) for t = 1, …, m."""
        line = self._line(p)
        return np.array(
            [_log_sum(self._log_terms(line, order, t)) for t in range(1, self.shifts + 1)]
        )

    def log_objective(self, p: Floats, order: float, shift: int) -> Floats:
        """log g_α(p, t), eq. (23); p may be a stack of laws."""
        return _log_sum(self._log_terms(self._line(p), order, shift))

    def log_gradient(self, p: Floats, order: float, shift: int) -> Floats:
        """p_i ∂ log g_α(p, t)/∂p_i, i = 0, …, N: M⁻¹∇g of line 6, over g.

        A term p_a^α p_b^(1−α) gives α of itself to a and 1 − α to b; all bins beyond N are
        multiples of p_N.
        """
        line = self._line(p)
        share = _shares(self._log_terms(line, order, shift))
        inner = share[:-2]
        whole = np.zeros_like(line)
        whole[: inner.size] += (1.0 - order) * inner
        whole[shift : shift + inner.size] += order * inner
        middle = line.size // 2
        folded = whole[middle:].copy()
        folded[1:] += whole[middle - 1 :: -1]
        gradient = folded[: p.size].copy()
        gradient[-1] += float(np.sum(folded[p.size :])) + float(share[-2] + share[-1])
        return gradient

    def log_moments(self, p: Floats, order: float, shift: int) -> tuple[float, float, float]:
        """Λ = log g_α(p, t), Λ' and Λ'' in α: mean and variance of log(p_a/p_b) under the terms of
        g."""
        line = self._line(p)
        terms = self._log_terms(line, order, shift)
        share = _shares(terms)
        slope = shift * math.log(self.tail_ratio)
        width = terms.size - 2
        ratio = np.concatenate([line[shift : shift + width] - line[:width], [-slope, slope]])
        mean = float(share @ ratio)
        return float(_log_sum(terms)), mean, float(share @ (ratio - mean) ** 2)

    def _line(self, p: Floats) -> Floats:
        """log p_|i| for i = −(N+m), …, N+m along the last axis."""
        log_p = np.log(p)
        beyond = log_p[..., -1:] + np.arange(1, self.shifts + 1) * math.log(self.tail_ratio)
        half = np.concatenate([log_p, beyond], axis=-1)
        return np.concatenate([half[..., :0:-1], half], axis=-1)

    def _log_terms(self, line: Floats, order: float, shift: int) -> Floats:
        """Logarithms of the terms of eq. (23): p_|t+j|^α p_|j|^(1−α), j = −(N+m), …, N, then the
        two geometric ends.

        Eq. (23) starts at j = −(N+t); a start at −(N+m) gives all shifts equally many terms and
        leaves less to the end.
        """
        width = line.shape[-1] - self.shifts
        log_r = math.log(self.tail_ratio)
        terms = np.empty((*line.shape[:-1], width + 2))
        inner, base = terms[..., :width], line[..., :width]
        np.subtract(line[..., shift : shift + width], base, out=inner)
        inner *= order
        inner += base
        end = line[..., -1] + log_r - math.log1p(-self.tail_ratio)  # log Σ_{i>N+m} p_i
        terms[..., -2] = end - order * shift * log_r  # j < −(N+m)
        terms[..., -1] = end + (order * shift - self.shifts) * log_r  # j > N
        return terms


def _log_sum(terms: Floats) -> Floats:
    """log Σ exp along the last axis."""
    top = np.max(terms, axis=-1, keepdims=True)
    total = np.sum(np.exp(terms - top), axis=-1)
    return np.asarray(np.log(total) + top[..., 0], dtype=np.float64)


def _shares(terms: Floats) -> Floats:
    """exp(terms)/Σ exp(terms)."""
    scaled = np.exp(terms - np.max(terms))
    return np.asarray(scaled / np.sum(scaled), dtype=np.float64)
