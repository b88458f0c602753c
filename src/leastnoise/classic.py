"""The rivals: known laws, each at a requested standard deviation.

Gaussian and Laplace on the real line are closed forms. The others are lattice laws: `step` is the pitch of the lattice on the
real line, by default fine enough that the bins cost less than 4e-5 of the variance.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import optimize

from leastnoise.closed_form import GaussianNoise, LaplaceNoise
from leastnoise.errors import InvalidParameterError, at_least, one_of, positive, positive_integer
from leastnoise.lattice import LatticeNoise
from leastnoise.noise import Domain
from leastnoise.shells import Floats
from leastnoise.steps import shift_in_steps, step_of

_SMALLEST = 690.0  # −log of the smallest weight kept next to a weight of 1
_MOST_SHELLS = 10_000_000
_STAIRS_END = (
    70.0  # e^−70 = 4e-31: beyond, the staircase goes on as a smooth geometric tail of the same loss
)


def gaussian(sigma: float) -> GaussianNoise:
    """Normal noise of standard deviation `sigma`, as a closed form.

    >>> gaussian(2.0).interval(0.95)  # doctest: +ELLIPSIS
    3.9199...
    """
    return GaussianNoise(sigma)


def laplace(sigma: float) -> LaplaceNoise:
    """Laplace noise of standard deviation `sigma` (scale sigma/√2), as a closed form."""
    return LaplaceNoise(sigma)


def generalized_gaussian(
    sigma: float,
    exponent: float,
    *,
    batch: int = 1,
    domain: Domain = "real",
    sensitivity: float = 1.0,
    step: float | None = None,
) -> LatticeNoise:
    """h_k ∝ exp(−(k/b)^exponent) on the lattice of `batch` dimensions: 2 is Gaussian in shape, 1 Laplace, ∞ would be flat."""
    sigma, exponent, batch = (
        positive("sigma", sigma),
        positive("exponent", exponent),
        positive_integer("batch", batch),
    )
    step = lattice_step(sigma, sensitivity, step, domain)

    # Laws as heavy as the exponential stop early: their geometric tail goes on as they would, or nearly.
    end = _end_exponent(batch, exponent, _SMALLEST if exponent > 1 else 80.0)

    def law(log_b: float) -> LatticeNoise:
        b = math.exp(log_b)
        if b < 1e-290:
            raise InvalidParameterError(
                "sigma", sigma, "to be larger: the law would be too narrow for a double"
            )
        if (
            exponent == 1.0
        ):  # its own geometric tail; joint laws keep the shells up to well beyond their fullest one
            last = 0 if batch == 1 else math.ceil(b * end)
            weights, ratio = -np.arange(last + 1) / b, math.exp(max(-1.0 / b, -_SMALLEST))
            return LatticeNoise.from_log_weights(
                weights, ratio, step=step, domain=domain, dimension=batch
            )
        length = b * end ** (1.0 / exponent)
        if length > _MOST_SHELLS:
            raise InvalidParameterError(
                "exponent",
                exponent,
                f"to give at most {_MOST_SHELLS} shells; its tail is too heavy",
            )
        last = math.floor(length)
        with np.errstate(over="ignore"):
            exponents = (np.arange(last + 2) / b) ** exponent
        ratio = math.exp(max(exponents[-2] - exponents[-1], -_SMALLEST))
        return LatticeNoise.from_log_weights(
            -exponents[:-1], ratio, step=step, domain=domain, dimension=batch
        )

    return _at_deviation(
        law, sigma, step, domain, lambda wanted: _log_scale(wanted, exponent, batch)
    )


def discrete_gaussian(sigma: float) -> LatticeNoise:
    """The discrete Gaussian on the integers with standard deviation `sigma` (the law's own, not the parameter of its formula)."""
    return generalized_gaussian(sigma, 2.0, domain="integer")


def discrete_laplace(sigma: float) -> LatticeNoise:
    """The discrete Laplace (two-sided geometric) law on the integers with standard deviation `sigma`."""
    return generalized_gaussian(sigma, 1.0, domain="integer")


def cube(
    sigma: float,
    batch: int,
    *,
    domain: Domain = "real",
    sensitivity: float = 1.0,
    step: float | None = None,
) -> LatticeNoise:
    """Joint noise for `batch` answers with density ∝ e^(−‖x‖∞/b): the K-norm mechanism of the ℓ∞ ball.

    `sigma` is the standard deviation on each answer.
    """
    return generalized_gaussian(
        sigma, 1.0, batch=batch, domain=domain, sensitivity=sensitivity, step=step
    )


def staircase(
    sigma: float, *, sensitivity: float = 1.0, domain: Domain = "real", step: float | None = None
) -> LatticeNoise:
    """The Staircase law (Geng–Viswanath) of standard deviation `sigma` at its best shape for the quadratic cost.

    Density e^(−ε·level): level 0 for |x| < γs, then one level more for each further s. On a lattice of m bins per sensitivity γ is
    one of (2k+1)/(2m); the k that needs the least ε is taken. Real line: m = 50 or more, so γ is within 1 % of its optimum.
    """
    sigma, sensitivity = positive("sigma", sigma), at_least("sensitivity", sensitivity)
    step = lattice_step(sigma, sensitivity, step, domain, least=50)
    m = shift_in_steps(sensitivity, step)
    flat, epsilon = _best_staircase(sigma, m, step, domain)
    levels = math.ceil(_STAIRS_END / epsilon)
    k = np.arange(flat + levels * m + 1)
    level = np.maximum(np.ceil((k - flat) / m), 0.0)
    return LatticeNoise.from_log_weights(
        -epsilon * level, math.exp(-epsilon / m), step=step, domain=domain
    )


def discrete_staircase(sigma: float, *, sensitivity: int = 1) -> LatticeNoise:
    """The Staircase law on the integers; for sensitivity 1 it is the discrete Laplace law."""
    return staircase(
        sigma, sensitivity=positive_integer("sensitivity", sensitivity), domain="integer"
    )


def lattice_step(
    sigma: float, sensitivity: float, step: float | None, domain: str, least: int = 10
) -> float:
    """The pitch to use: 1 on the integers, `step` if given, else sensitivity/m with m fine enough for sigma."""
    one_of("domain", domain, ("real", "integer"))
    sensitivity = at_least("sensitivity", sensitivity)
    if domain == "integer":
        if step is not None and positive("step", step) != 1.0:
            raise InvalidParameterError("step", step, 'to be 1 for domain="integer"')
        positive_integer("sensitivity", sensitivity)
        return 1.0
    if step is not None:
        shift_in_steps(sensitivity, positive("step", step))
        return float(step)
    # The bins' own variance is 1/(12 m²) of sensitivity²; m·sigma ≥ 50·sensitivity makes it 3e-5 of sigma².
    return step_of(sensitivity, max(least, math.ceil(50.0 * sensitivity / sigma)))


def _end_exponent(batch: int, exponent: float, drop: float) -> float:
    """E = (k/b)^exponent at which the mass of a shell, k^(batch−1) e^(−E), has fallen by e^−drop from its largest value."""
    peak = (batch - 1) / exponent
    if peak == 0.0:
        return drop
    return float(
        optimize.brentq(
            lambda e: e - peak - peak * math.log(e / peak) - drop, peak, 2.0 * peak + 4.0 * drop
        )
    )


def _log_scale(wanted: float, exponent: float, batch: int) -> float:
    """log b of the law of variance about `wanted`, in lattice units without the bins' own."""
    d, q = float(batch), exponent
    if (
        wanted < 0.25
    ):  # almost all mass at 0: 2·3^(d−1) points of shell 1 have |x_1| = 1, each of weight e^(−b^−q)
        return -math.log(math.log(2.0 / wanted) + (d - 1.0) * math.log(3.0)) / q
    # Without a lattice: E‖x‖² = b² Γ((d+2)/q)/Γ(d/q), and one coordinate has the share (d+2)/(3d) of it.
    return 0.5 * (
        math.log(3.0 * d / (d + 2.0) * wanted) + math.lgamma(d / q) - math.lgamma((d + 2.0) / q)
    )


def _at_deviation(
    law: Callable[[float], LatticeNoise],
    sigma: float,
    step: float,
    domain: str,
    guess: Callable[[float], float],
) -> LatticeNoise:
    """The member of a one-parameter family, growing with its parameter log b, of standard deviation `sigma`."""
    least = step / math.sqrt(12.0) if domain == "real" else 0.0
    if sigma <= least * (1.0 + 1e-9):
        raise InvalidParameterError(
            "sigma",
            sigma,
            f"to exceed the standard deviation {least:.6g} of one bin; take a smaller step",
        )

    def excess(log_b: float) -> float:
        return math.log(law(log_b).variance - (least * (1.0 - 1e-12)) ** 2) - target

    target = math.log(sigma**2 - (least * (1.0 - 1e-12)) ** 2)
    low = high = guess((sigma**2 - (least * (1.0 - 1e-12)) ** 2) / step**2)
    width = 0.01
    while excess(low) > 0:
        low, width = low - width, 2.0 * width
    while excess(high) < 0:
        high, width = high + width, 2.0 * width
    return law(optimize.brentq(excess, low, high, xtol=1e-15, rtol=8.9e-16, maxiter=200))


def _best_staircase(sigma: float, m: int, step: float, domain: str) -> tuple[int, float]:
    """(bins on each side of the middle one that share level 0, ε): the pair of least ε among those of variance sigma²."""
    budget = (sigma / step) ** 2 - (1.0 / 12.0 if domain == "real" else 0.0)
    if budget <= 0:
        raise InvalidParameterError(
            "sigma",
            sigma,
            f"to exceed the standard deviation {step / math.sqrt(12):.6g} of one bin",
        )
    flat = np.arange(min(m, math.ceil(math.sqrt(3.0 * budget)) + 1), dtype=np.float64)
    flat = flat[flat * (flat + 1.0) / 3.0 < budget]  # the variance as ε → ∞
    low, high = np.full(flat.size, 1e-12), np.full(flat.size, 1.0)
    while np.any(_staircase_moment(flat, high, m) > budget):
        high = np.where(_staircase_moment(flat, high, m) > budget, 2.0 * high, high)
    for _ in range(200):
        middle = 0.5 * (low + high)
        wide = _staircase_moment(flat, middle, m) > budget
        low, high = np.where(wide, middle, low), np.where(wide, high, middle)
    best = int(np.argmin(high))
    return int(flat[best]), float(high[best])


def _staircase_moment(flat: Floats, epsilon: Floats, m: int) -> Floats:
    """E[x²] in lattice units; a level ℓ ≥ 1 holds the bins flat + (ℓ−1)m + 1 … flat + ℓm on both sides."""
    b = np.exp(-epsilon)
    gap = -np.expm1(-epsilon)
    sum0, sum1, sum2 = (
        b / gap,
        b**2 / gap**2,
        b**2 * (1.0 + b) / gap**3,
    )  # Σ b^ℓ (ℓ−1)^n, n = 0, 1, 2
    within1, within2 = m * (m + 1) / 2.0, m * (m + 1) * (2 * m + 1) / 6.0
    middle = flat * (flat + 1.0) * (2.0 * flat + 1.0) / 3.0
    squares = (
        m * (flat**2 * sum0 + 2.0 * flat * m * sum1 + m**2 * sum2)
        + 2.0 * within1 * (flat * sum0 + m * sum1)
        + within2 * sum0
    )
    return np.asarray(
        (middle + 2.0 * squares) / (2.0 * flat + 1.0 + 2.0 * m * sum0), dtype=np.float64
    )
