"""The ball-shaped law: joint noise Z in R^d with density ∝ e^(−‖z‖₂/b), for many answers released together.

**Worst shift.** One person moves each answer by at most s, so the law is shifted by a vector v with |v_l| ≤ s, ‖v‖₂ ≤ s√d. For
a density f(‖z‖₂) with f non-increasing, the worst shift is any with ‖v‖₂ = s√d (a corner of the box), for every ε and every
Rényi order at once. *Proof.* Write min(P, e^ε Q) as the area below it: ∫ min(f(‖z‖), e^ε f(‖z−v‖)) dz = ∫_0^∞ |{f(‖z‖) ≥ u} ∩
{e^ε f(‖z−v‖) ≥ u}| du. Both sets are balls, with radii R(u) and R(u e^(−ε)), one centred at 0 and one at v. The volume that two
balls share depends on the distance t of their centres alone and does not grow with it: 1_B(0,R) * 1_B(0,R') is a convolution of
two log-concave functions, hence log-concave (Prékopa), and even, hence non-increasing along every ray. So δ_v(ε) = 1 − ∫ min(P,
e^ε Q) does not fall as ‖v‖ grows. The pair at ‖v‖ = s√d therefore has the largest profile at every ε, that is, it dominates all
other pairs, also under adaptive composition; Rényi divergences of order ≥ 1 are mixtures of the δ(ε) with positive weights. ∎

**Rounding.** The noise is released on a public lattice of pitch p = step/2^16, or p = 1 for whole numbers. An answer is first
rounded to the lattice, which keeps |difference| ≤ M pitches for each answer where it was ≤ M pitches, M an integer; so ‖v‖₂ ≤ Mp√d
still holds. Then round(answer + Z) is a function of answer + Z and nothing else (post-processing), so the guarantee of the
continuous law is the guarantee of the release.

**Whole numbers.** Answers that are whole numbers, rounded to whole numbers, get the noise X = ⌊Z + ½⌋: P(X > k) = P(Z > k + ½) for
every answer. With W = Z + ½ − ⌊Z + ½⌋ − ½ and its Fourier series, E[X²] = E[Z²] − 2E[ZW] + E[W²] is

    (d+1)b² + 1/12 + Σ_{j≥1} (−1)^j [φ(2πj)/(πj)² + 4(d+1)b²(1 + (2πjb)²)^(−(d+3)/2)],

φ being the characteristic function below: 1/12 above E[Z²] as soon as b is large. For small b the sum Σ (2k+1) P(|X| > k) is short.

**One answer.** Z = b·√(χ²_{d+1})·G, G standard normal in R^d and χ² independent of it: the characteristic function of G times
√(χ²_{d+1}) is (1 + ‖t‖²)^(−(d+1)/2), and that is the Fourier transform of e^(−‖z‖). So one answer has the symmetric
variance-gamma law of characteristic function (1 + b²t²)^(−(d+1)/2), density ∝ |x|^(d/2) K_{d/2}(|x|/b) and variance (d+1)b².
With F_d its tail beyond x ≥ 0, x in units of b, (1 + t²)·(1 + t²)^(−k) = (1 + t²)^(−(k−1)) reads F_d(x) = F_{d−2}(x) − (density
of d)'(x): positive terms only.

**Exponents.** e^(−(‖z‖/b)^β) with β > 1 was measured and left out. At σ = 8, s = 1, δ = 1e-6 and one release β = 1 is best or
within 1e-3 of it (d = 2: ε = 0.306 at β = 1, 0.334 at 1.1, 0.494 at 1.5; d = 10: 1.207, 1.216, 1.417; d = 60: 4.2890, 4.2892,
4.423; d = 100: 5.923, 5.924, 6.045). When several batches are composed an exponent between 1.1 and 1.4 gains more: 0.6 % for
two batches of 10, 1.1 % for four, 4.7 % for ten batches of 5. Its loss depends on two variables, so that its table would need a
quadrature whose error is not proven, and its radius is a Gamma(d/β) variable, whose exact draw needs an incomplete gamma
function. `sphere` refuses it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from leastnoise.classic import lattice_step
from leastnoise.errors import (
    InvalidParameterError,
    UnsupportedError,
    one_of,
    positive,
    positive_integer,
    real_array,
)
from leastnoise.noise import Domain, Noise, probabilities
from leastnoise.shells import Floats

_COARSE = 1.0  # scale in whole numbers from which their variance is summed as a Fourier series
_TERMS = np.arange(1.0, 401.0)  # of that series: the last one is below 1e-16
_FARTHEST = 1e15  # in units of b: there every tail is 0, and nothing has overflowed


@dataclass(frozen=True)
class BallNoise(Noise):
    """Density ∝ e^(−‖z‖₂/scale) on `dimension` answers at once, released on multiples of step/2^16; with `domain="integer"` rounded
    to whole numbers.

    Guarantees: frozen; `pdf`, `ccdf` and `quantile` have a relative error below 1e-11 down to 1e-290. On the real line the numbers
    are those of the continuous law, to whose variance rounding to the lattice adds step²/5e10; on the integers they are those of
    the rounded law.
    """

    scale: float
    dimension: int = 2
    step: float = 1.0
    domain: Domain = "real"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive("scale", self.scale))
        object.__setattr__(self, "step", positive("step", self.step))
        object.__setattr__(self, "dimension", positive_integer("dimension", self.dimension))
        object.__setattr__(self, "domain", one_of("domain", self.domain, ("real", "integer")))
        if self.dimension < 2:
            raise InvalidParameterError(
                "dimension",
                self.dimension,
                "to be at least 2 (for one answer the law is Laplace's)",
            )
        if self.domain == "integer" and self.step != 1.0:
            raise InvalidParameterError("step", self.step, 'to be 1 for domain="integer"')

    @cached_property
    def variance(self) -> float:
        """E‖Z‖²/d: the radius has the law Gamma(d, b), so E‖Z‖² = d(d+1)b²; on the integers that of the rounded noise."""
        if self.domain == "integer":
            return _whole_variance(self.dimension, self.scale)
        return (self.dimension + 1.0) * self.scale**2

    def pmf(self, k: ArrayLike) -> Floats:
        raise UnsupportedError(
            "A continuous law that is rounded to a lattice has no masses by radius; use pdf, or differences of ccdf."
        )

    def pdf(self, x: ArrayLike) -> Floats:
        if self.domain == "integer":
            raise UnsupportedError("A law on the integers has no density; use differences of ccdf.")
        nu = 0.5 * self.dimension
        log_density = _log_bessels(self.dimension, self._place(x))[0]
        return np.asarray(np.exp(log_density + _log_gamma_ratio(nu)) / self.scale, dtype=np.float64)

    def ccdf(self, x: ArrayLike) -> Floats:
        x = real_array("x", x)
        if self.domain == "integer":
            x = np.floor(x) + 0.5
        far = np.exp(_log_tail(self.dimension, self._place(x)))
        return np.asarray(np.where(x >= 0, far, 1.0 - far), dtype=np.float64)

    def quantile(self, u: ArrayLike, *, upper: bool = False) -> Floats:
        u = probabilities("u", u)
        low = np.minimum(u, 1.0 - u)
        size = self.scale * _place_of_tail(self.dimension, low)
        positive_side = (u < 0.5) if upper else (u > 0.5)
        if self.domain == "real":
            return np.where(positive_side, size, -size)
        # Smallest k with P(Z > k + ½) ≤ low, and largest with P(Z > k − ½) ≥ low: the probabilities decide what rounding may miss.
        above, below = np.maximum(np.ceil(size - 0.5), 0.0), np.floor(size + 0.5)
        above = np.where(self.ccdf(above) > low, above + 1.0, above)
        above = np.where((above > 0.0) & (self.ccdf(above - 1.0) <= low), above - 1.0, above)
        below = np.where(self.ccdf(below - 1.0) < low, below - 1.0, below)
        below = np.where(self.ccdf(below) >= low, below + 1.0, below)
        return np.where(positive_side, above, -below)

    def _place(self, x: ArrayLike) -> Floats:
        """|x| in units of b."""
        with np.errstate(over="ignore"):
            return np.asarray(
                np.minimum(np.abs(real_array("x", x)) / self.scale, _FARTHEST), dtype=np.float64
            )


def sphere(
    sigma: float,
    batch: int,
    *,
    exponent: float = 1.0,
    sensitivity: float = 1.0,
    step: float | None = None,
    domain: Domain = "real",
) -> BallNoise:
    """Joint noise for `batch` answers with density ∝ e^(−‖x‖₂/b): the K-norm mechanism of the ℓ2 ball.

    `sigma` is the standard deviation on each answer. Below about 50 answers `cube` needs less ε, beyond that this law does.
    `sensitivity` only sets the default `step`, whose 2^16th part is the pitch of the public lattice of releases. With
    `domain="integer"` the noise is rounded to whole numbers, and `sigma` is that of the rounded noise.

    Guarantees: sampled exactly as judged: `sample` and `release` give the continuous law rounded to the lattice, to the last bit.

    >>> sphere(8.0, 60).std  # doctest: +ELLIPSIS
    8.0...
    """
    sigma, d = positive("sigma", sigma), positive_integer("batch", batch)
    if positive("exponent", exponent) != 1.0:
        raise InvalidParameterError(
            "exponent",
            exponent,
            "to be 1: the ball law of another exponent can be neither judged nor sampled with proof yet",
        )
    step = lattice_step(sigma, sensitivity, step, domain)
    scale = sigma / math.sqrt(d + 1.0) if domain == "real" else _whole_scale(sigma, d)
    return BallNoise(scale, d, step, domain)


def _whole_variance(dimension: int, scale: float) -> float:
    """E[⌊Z + ½⌋²] for one answer."""
    d, b = dimension, scale
    if b < _COARSE:
        k = np.arange(math.ceil(800.0 * b) + 2)
        return float(
            2.0
            * np.sum(
                (2.0 * k + 1.0) * np.exp(_log_tail(d, np.asarray((k + 0.5) / b, dtype=np.float64)))
            )
        )
    spread = 1.0 + (2.0 * math.pi * b * _TERMS) ** 2
    terms = spread ** (-0.5 * (d + 1)) / (math.pi * _TERMS) ** 2 + 4.0 * (
        d + 1
    ) * b**2 * spread ** (-0.5 * (d + 3))
    return (d + 1.0) * b**2 + 1.0 / 12.0 + float(np.sum(np.where(_TERMS % 2 == 1, -terms, terms)))


def _whole_scale(sigma: float, dimension: int) -> float:
    """b of the law whose rounded noise has the standard deviation `sigma`, which grows with b."""

    def excess(log_scale: float) -> float:
        return math.log(max(_whole_variance(dimension, math.exp(log_scale)), 1e-300) / sigma**2)

    low = high = 0.5 * math.log(max(sigma**2 - 1.0 / 12.0, 0.01) / (dimension + 1.0))
    width = 1e-3
    while excess(low) > 0.0:
        low, width = low - width, 2.0 * width
    width = 1e-3
    while excess(high) < 0.0:
        high, width = high + width, 2.0 * width
    return math.exp(
        optimize.brentq(excess, low, high, xtol=1e-15, rtol=1e-15) if low < high else low
    )


def _log_gamma_ratio(nu: float) -> float:
    """log of the density at 0 in units of b: Γ(ν)/(2√π Γ(ν+½))."""
    return float(special.gammaln(nu) - special.gammaln(nu + 0.5)) - math.log(
        2.0 * math.sqrt(math.pi)
    )


def _log_bessels(dimension: int, x: Floats) -> tuple[Floats, Floats]:
    """log n_ν(x) for ν = d/2, n_ν = x^ν K_ν(x)/(2^(ν−1) Γ(ν)) (1 at x = 0), and log of the tail F_d(x).

    n_{ν+1} = n_ν + x² n_{ν−1}/(4ν(ν−1)) (DLMF 10.29.1) and F_{2ν} = F_{2ν−2} + x n_{ν−1} Γ(ν−1)/(4√π Γ(ν+½)): sums of positive
    terms, in logarithms because n_ν e^x leaves the floating-point range for d = 1,000.
    """
    with np.errstate(divide="ignore"):
        log_x = np.log(x)
    if dimension % 2:
        nu, before, now = 1.5, -x, np.log1p(x) - x  # n_½ = e^−x, n_{3/2} = (1 + x) e^−x
        tail = np.logaddexp(
            -x - math.log(2.0), log_x - x - math.log(4.0)
        )  # F_1 = e^−x/2, F_3 = F_1 + x e^−x/4
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            before = np.where(x > 0, log_x + np.log(special.k1e(x)) - x, 0.0)  # n_1 = x K_1
            half = 0.5 * (np.log(special.k0e(np.maximum(x, 1e-300))) - x)
            zero = np.where(x > 0, 2.0 * log_x + 2.0 * half, -np.inf)  # x² K_0
        nu, now = 2.0, np.logaddexp(before, zero - math.log(2.0))
        tail = np.logaddexp(_log_tail_of_k0(x), 0.5 * zero + half) - math.log(
            math.pi
        )  # F_2 = (∫K_0 + x K_0)/π
        if dimension == 2:
            return before, tail
        tail = np.logaddexp(tail, log_x + before + _log_share(2.0))
    while nu < 0.5 * dimension:
        tail = np.logaddexp(tail, log_x + now + _log_share(nu + 1.0))
        before, now = now, np.logaddexp(now, 2.0 * log_x + before - math.log(4.0 * nu * (nu - 1.0)))
        nu += 1.0
    return now, tail


def _log_share(nu: float) -> float:
    """log of Γ(ν−1)/(4√π Γ(ν+½))."""
    return float(special.gammaln(nu - 1.0) - special.gammaln(nu + 0.5)) - math.log(
        4.0 * math.sqrt(math.pi)
    )


def _log_tail_of_k0(x: Floats) -> Floats:
    """log ∫_x^∞ K_0 = log ∫_0^∞ e^(−x cosh t)/cosh t dt, by the trapezoid rule.

    With step ¼ its error is about e^(−π²/h) = 7e-18; for large x the integrand is a bell of width 1/√x, and so is the step.
    """
    step = 0.0625 * np.sqrt(2.0 / np.maximum(x, 0.125))  # ¼ up to x = 1/8
    t = step[..., None] * np.arange(1, 161)  # cosh 40 = 1e17; the bell ends at t = 14/√x
    terms = np.exp(-np.minimum(x[..., None] * 2.0 * np.sinh(0.5 * t) ** 2, 745.0)) / np.cosh(t)
    return np.asarray(np.log(step * (0.5 + terms.sum(axis=-1))) - x, dtype=np.float64)


def _log_tail(dimension: int, x: Floats) -> Floats:
    """log P(one answer > x·b), x ≥ 0."""
    return np.asarray(np.minimum(_log_bessels(dimension, x)[1], -math.log(2.0)), dtype=np.float64)


def _place_of_tail(dimension: int, low: Floats) -> Floats:
    """x ≥ 0 with P(one answer > x·b) = low ≤ ½, by Newton's rule on the logarithm.

    One answer of a log-concave law has a log-concave tail (Prékopa). A tangent of a concave function lies above it, so each step
    from any x lands beyond the solution or on it, and from there the steps fall towards it.
    """
    target = np.log(low)
    x = np.full(low.shape, 1.0)
    for _ in range(100):
        log_n, log_tail = _log_bessels(dimension, x)
        slope = -np.exp(log_n + _log_gamma_ratio(0.5 * dimension) - log_tail)
        moved = np.maximum(x + (target - log_tail) / slope, 0.0)
        if np.all(np.abs(moved - x) <= 4e-16 * (1.0 + x)):
            break
        x = moved
    return np.where(low == 0.5, 0.0, moved)
