"""Known laws of an integer norm by their standard deviation: h_t ∝ e^(−t/b), on the integers and on
the real line.

On the real line the pitch of the lattice is free: any m steps to a sensitivity give a pure law of
ε = m/b. The bins are stairs: with one bin a sensitivity the loss takes but the values it must take,
and at small ε the variance is below that of the exponential density of the same norm (Joseph & Yu
2023), to which it tends as m grows; a place in so wide a bin, though, has itself the variance
(s/m)²/12, too much where there is little noise. So the m of least ε is taken. Beside the closed
form, the variance at the same ε (d answers of which k are touched, one-sided; m in brackets):

    d, k      ε = 0.1      1            5            8            20
    5, 2      0.9994 (1)   0.9881 (1)   0.6785 (1)   0.7384 (2)   0.6785 (4)
    10, 5     0.9974 (1)   0.9763 (1)   0.8948 (1)   0.6320 (1)   0.4914 (2)
    10, 10    1.0000 (1)   0.9968 (1)   0.9239 (1)   0.7393 (1)   0.4858 (2)

Never was it above 1 (2 to 20 answers, two-sided too, ε from 0.1 to 20), nor the best m one with
less than 3 of loss a step, where finer bins only come nearer to the closed form.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy import optimize

from leastnoise.errors import InvalidParameterError, at_least, one_of, positive
from leastnoise.lattice.bodies.base import Body
from leastnoise.lattice.bodies.count import CountBody
from leastnoise.lattice.bodies.range import RangeBody
from leastnoise.lattice.bodies.touched import TouchedBody
from leastnoise.lattice.steps import step_of
from leastnoise.laws.base import Domain
from leastnoise.laws.classic import end_exponent
from leastnoise.laws.norm import NormNoise

_DROP = 80.0  # a law stops listing shells where they hold e^−80 of the fullest one
_COARSE = 3.0  # of loss a step, below which finer bins need more noise
_FEWEST_SHARE = 0.9  # of the variance, that places in bins may take at most


def range_law(
    sigma: float, batch: int, *, sensitivity: float = 1.0, domain: Domain = "integer"
) -> NormNoise:
    """Joint noise for `batch` answers that all move up or all move down: h_t ∝ e^(−t/b) of the
    range t of the noise and 0.

    Pure: at sensitivity m its ε is m/b. On the real line the exponential density is the least noise
    of all such norms (Joseph & Yu 2023).

    Args:
        sigma: Standard deviation of the noise on each answer.
        batch: How many answers one draw serves, at least 2.
        sensitivity: How far one person moves each answer; on the integers it may be any.
        domain: "integer" or "real".

    Returns:
        The law of this standard deviation.

    Raises:
        InvalidParameterError: No law is; the message names the parameter.

    Example:
        >>> round(range_law(3.0, 5).std, 9)
        3.0
    """
    return exponential_law(RangeBody(batch), sigma, sensitivity=sensitivity, domain=domain)


def touched_law(
    sigma: float, batch: int, touched: int, *, sensitivity: float = 1.0, domain: Domain = "integer"
) -> NormNoise:
    """Joint noise for `batch` answers of which one person moves at most `touched`, up or down: h_t
    ∝ e^(−t/b), t = max(‖x‖∞, ⌈‖x‖₁/touched⌉).

    Pure, and composed as such: at sensitivity m its ε is m/b.

    Args:
        sigma: Standard deviation of the noise on each answer.
        batch: How many answers one draw serves, from 2 to about 100.
        touched: How many of them one person moves at most.
        sensitivity: How far one person moves each answer; on the integers it may be any.
        domain: "integer" or "real".

    Returns:
        The law of this standard deviation.

    Raises:
        InvalidParameterError: No law is; the message names the parameter.

    Example:
        >>> round(touched_law(3.0, 5, 2).std, 9)
        3.0
    """
    body = TouchedBody(batch, touched)
    return exponential_law(body, sigma, sensitivity=sensitivity, domain=domain)


def count_law(
    sigma: float, batch: int, touched: int, *, sensitivity: float = 1.0, domain: Domain = "integer"
) -> NormNoise:
    """Joint noise for `batch` answers of which one person moves at most `touched`, all up or all
    down: h_t ∝ e^(−t/b), t the sum of max(max y, ⌈Σy/touched⌉) for the positive and the negative
    part of the noise.

    Pure, and composed as such: at sensitivity m its ε is m/b (Joseph & Yu 2023, 'count').

    Args:
        sigma: Standard deviation of the noise on each answer.
        batch: How many answers one draw serves, from 2 to about 100.
        touched: How many of them one person moves at most.
        sensitivity: How far one person moves each answer; on the integers it may be any.
        domain: "integer" or "real".

    Returns:
        The law of this standard deviation.

    Raises:
        InvalidParameterError: No law is; the message names the parameter.

    Example:
        >>> round(count_law(3.0, 5, 2).std, 9)
        3.0
    """
    return exponential_law(CountBody(batch, touched), sigma, sensitivity=sensitivity, domain=domain)


def exponential_law(
    body: Body, sigma: float, *, sensitivity: float = 1.0, domain: Domain = "integer"
) -> NormNoise:
    """The law h_t ∝ e^(−t/b) of a norm, of a given standard deviation; on the real line with as
    many steps to a sensitivity as need the least ε.

    Args:
        body: The norm.
        sigma: Standard deviation of the noise on each answer.
        sensitivity: How far one person moves each answer; on the integers it may be any.
        domain: "integer" or "real".

    Returns:
        The law of this standard deviation.

    Raises:
        InvalidParameterError: `sigma` is not positive, or too small for a double.
    """
    sigma = positive("sigma", sigma)
    if one_of("domain", domain, ("real", "integer")) == "integer":
        return law_of_scale(body, _scale_of(body, sigma))
    s, found = at_least("sensitivity", sensitivity), list[tuple[float, NormNoise]]()
    fewest = math.ceil(s / sigma / math.sqrt(12.0 * _FEWEST_SHARE))
    for parts in itertools.count(fewest):
        step = step_of(s, parts)
        scale = _scale_of(body, math.sqrt((sigma / step) ** 2 - 1.0 / 12.0))
        found.append((parts / scale, law_of_scale(body, scale, step=step, domain="real")))
        if 1.0 / scale <= _COARSE:
            break
    return min(found, key=lambda each: each[0])[1]


def _scale_of(body: Body, sigma: float) -> float:
    """The b of the law on the integers of this standard deviation."""

    def excess(log_b: float) -> float:
        return 2.0 * math.log(sigma) - math.log(law_of_scale(body, math.exp(log_b)).variance)

    # without a lattice the variance is near (d+2)(d+3)b²/6
    low = high = math.log(sigma) - 0.5 * math.log((body.dimension + 2.0) ** 2 / 6.0)
    width = 0.25
    while excess(low) < 0:
        low, width = low - width, 2.0 * width
    while excess(high) > 0:
        high, width = high + width, 2.0 * width
    if low == high:
        return math.exp(low)
    return math.exp(optimize.brentq(excess, low, high, xtol=1e-15, rtol=8.9e-16, maxiter=200))


def law_of_scale(
    body: Body, scale: float, *, step: float = 1.0, domain: Domain = "integer"
) -> NormNoise:
    """The law h_t ∝ e^(−t/scale) of a norm: pure, with ε = m/scale at m steps.

    Args:
        body: The norm.
        scale: b, in steps.
        step: Pitch of the lattice, in the units of the answers; 1 on the integers.
        domain: "integer" or "real".

    Returns:
        The law, with a geometric tail.

    Raises:
        InvalidParameterError: The scale is not positive, or too small for a double.
    """
    b = positive("scale", scale)
    if b < 1.0 / 600.0:
        raise InvalidParameterError("scale", b, "to be larger: too narrow for a double")
    last = math.ceil(b * end_exponent(body.dimension, 1.0, _DROP)) + 1
    log_h, ratio = -np.arange(last + 1) / b, math.exp(-1.0 / b)
    return NormNoise.from_log_weights(body, log_h, ratio, step=step, domain=domain)
