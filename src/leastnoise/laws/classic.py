"""The rivals: known laws, each at a requested standard deviation.

Gaussian and Laplace on the real line are closed forms. The others are lattice laws:
`step` is the pitch of the lattice on the real line, by default fine enough that the
bins cost less than 4e-5 of the variance.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import optimize

from leastnoise.errors import InvalidParameterError, positive, positive_integer
from leastnoise.lattice.resolution import step_of_known_law
from leastnoise.laws.base import Domain, Noise
from leastnoise.laws.gaussian import GaussianNoise
from leastnoise.laws.laplace import LaplaceNoise
from leastnoise.laws.lattice import LatticeNoise

_SMALLEST = 690.0  # −log of the smallest weight kept next to a weight of 1
_MOST_SHELLS = 10_000_000


def gaussian(sigma: float) -> GaussianNoise:
    """Normal noise, as a closed form.

    Args:
        sigma: Standard deviation, in the units of the answer.

    Returns:
        The law on the real line, for one answer.

    Raises:
        InvalidParameterError: `sigma` is not positive.

    Example:
        >>> gaussian(2.0).interval(0.95)  # doctest: +ELLIPSIS
        3.9199...
    """
    return GaussianNoise(sigma)


def laplace(sigma: float) -> LaplaceNoise:
    """Laplace noise, as a closed form.

    Args:
        sigma: Standard deviation, in the units of the answer; the scale is sigma/√2.

    Returns:
        The law on the real line, for one answer.

    Raises:
        InvalidParameterError: `sigma` is not positive.

    Example:
        >>> laplace(2.0).interval(0.95)  # doctest: +ELLIPSIS
        4.2366...
    """
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
    """h_k ∝ exp(−(k/b)^exponent) on the lattice of `batch` dimensions.

    Args:
        sigma: Standard deviation of the noise on each answer, in the units of the answer.
        exponent: 2 is Gaussian in shape, 1 Laplace, ∞ would be flat.
        batch: How many answers one draw serves.
        domain: "real" or "integer".
        sensitivity: How far one person can move each answer; it only sets the default `step`.
        step: Pitch of the lattice on the real line, of which a whole number spans the
            sensitivity; by default fine enough that the bins cost less than 4e-5 of the variance.

    Returns:
        The law of this standard deviation.

    Raises:
        InvalidParameterError: No law is: sigma is below that of one bin, or the tail too heavy.

    Example:
        >>> round(generalized_gaussian(3.0, 1.5).std, 6)
        3.0
    """
    sigma, exponent = positive("sigma", sigma), positive("exponent", exponent)
    batch = positive_integer("batch", batch)
    step = step_of_known_law(sigma, sensitivity, step, domain)

    # Laws as heavy as the exponential stop early: their geometric tail goes on as they
    # would, or nearly.
    end = end_exponent(batch, exponent, _SMALLEST if exponent > 1 else 80.0)

    def law(log_b: float) -> LatticeNoise:
        b = math.exp(log_b)
        if b < 1e-290:
            raise InvalidParameterError(
                "sigma", sigma, "to be larger: the law would be too narrow for a double"
            )
        if exponent == 1.0:
            # its own geometric tail; joint laws keep the shells up to well beyond their fullest one
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


def lattice_form(noise: Noise, sensitivity: float = 1.0, wider: float = 1.0) -> Noise:
    """The law itself, or of a closed form the law on a lattice that can be drawn exactly:
    with the same standard deviation, or `wider` times it, and to be judged anew."""
    if noise.exponent is None:
        return noise
    return generalized_gaussian(noise.std * wider, noise.exponent, sensitivity=sensitivity)


def discrete_gaussian(sigma: float) -> LatticeNoise:
    """The discrete Gaussian on the integers.

    Args:
        sigma: Standard deviation: the law's own, not the parameter of its formula.

    Returns:
        The law, for one answer.

    Raises:
        InvalidParameterError: `sigma` is not positive, or too small for a double.

    Example:
        >>> round(discrete_gaussian(3.0).std, 6)
        3.0
    """
    return generalized_gaussian(sigma, 2.0, domain="integer")


def discrete_laplace(sigma: float) -> LatticeNoise:
    """The discrete Laplace (two-sided geometric) law on the integers.

    Args:
        sigma: Standard deviation.

    Returns:
        The law, for one answer.

    Raises:
        InvalidParameterError: `sigma` is not positive, or too small for a double.

    Example:
        >>> round(discrete_laplace(3.0).std, 6)
        3.0
    """
    return generalized_gaussian(sigma, 1.0, domain="integer")


def cube(
    sigma: float,
    batch: int,
    *,
    domain: Domain = "real",
    sensitivity: float = 1.0,
    step: float | None = None,
) -> LatticeNoise:
    """Joint noise for `batch` answers with density ∝ e^(−‖x‖∞/b): the K-norm mechanism
    of the ℓ∞ ball.

    Args:
        sigma: Standard deviation of the noise on each answer, in the units of the answer.
        batch: How many answers one draw serves.
        domain: "real" or "integer".
        sensitivity: How far one person can move each answer; it only sets the default `step`.
        step: Pitch of the lattice on the real line.

    Returns:
        The law of this standard deviation.

    Raises:
        InvalidParameterError: No law is; the message names the parameter.

    Example:
        >>> cube(8.0, 10).dimension
        10
    """
    return generalized_gaussian(
        sigma, 1.0, batch=batch, domain=domain, sensitivity=sensitivity, step=step
    )


def end_exponent(batch: int, exponent: float, drop: float) -> float:
    """E = (k/b)^exponent at which the mass of a shell, k^(batch−1) e^(−E), has fallen
    by e^−drop from its largest value."""
    peak = (batch - 1) / exponent
    if peak == 0.0:
        return drop

    def excess(e: float) -> float:
        return e - peak - peak * math.log(e / peak) - drop

    return float(optimize.brentq(excess, peak, 2.0 * peak + 4.0 * drop))


def _log_scale(wanted: float, exponent: float, batch: int) -> float:
    """log b of the law of variance about `wanted`, in lattice units without the bins' own."""
    d, q = float(batch), exponent
    if wanted < 0.25:
        # almost all mass at 0: 2·3^(d−1) points of shell 1 have |x_1| = 1, each of weight e^(−b^−q)
        return -math.log(math.log(2.0 / wanted) + (d - 1.0) * math.log(3.0)) / q
    # Without a lattice: E‖x‖² = b² Γ((d+2)/q)/Γ(d/q), and one coordinate has the share
    # (d+2)/(3d) of it.
    log_squared = math.log(3.0 * d / (d + 2.0) * wanted)
    return 0.5 * (log_squared + math.lgamma(d / q) - math.lgamma((d + 2.0) / q))


def _at_deviation(
    law: Callable[[float], LatticeNoise],
    sigma: float,
    step: float,
    domain: str,
    guess: Callable[[float], float],
) -> LatticeNoise:
    """The member of a one-parameter family, growing with its parameter log b, of
    standard deviation `sigma`."""
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
