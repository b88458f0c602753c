"""Rényi divergence of a law from its shifts, and the two usual ways from Rényi DP to (ε, δ)-DP."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from scipy import optimize

from leastnoise.errors import AccountingError, InvalidParameterError, open_unit, positive_integer
from leastnoise.laws.base import Noise, a_law
from leastnoise.losses.rounding import ULP

Conversion = Literal["moments", "improved"]


def renyi_divergence(noise: Noise, order: float, sensitivity: float = 1.0) -> float:
    """max over shifts up to `sensitivity` of D_order(P‖shifted P): Theorem 3.6 in logarithms.

    Guarantees: an upper bound; +inf where some shift moves mass off the support. Laws that
    are not non-increasing are checked at every shift (docs/mathematics.md#the-worst-shift).

    Args:
        noise: The law.
        order: α in [1, ∞]: 1 gives the Kullback–Leibler divergence, ∞ the largest loss (pure DP).
        sensitivity: How far one person can move each answer, in the units of the answer.

    Returns:
        The divergence in nats, rounded up.

    Raises:
        InvalidParameterError: The order is below 1, or the sensitivity none of the law's.
        UnsupportedError: `noise` is no law that can be judged.

    Example:
        >>> from leastnoise import gaussian
        >>> renyi_divergence(gaussian(2.0), order=4.0, sensitivity=1.0)  # α s²/(2σ²)
        0.5000000000000...
    """
    if isinstance(order, bool) or not (
        isinstance(order, (int, float, np.floating, np.integer)) and order >= 1.0
    ):
        raise InvalidParameterError("order", order, "to be at least 1 (or inf)")
    return a_law(noise).loss(sensitivity).divergence(float(order))


def epsilon_from_renyi(
    divergence: float, order: float, delta: float, conversion: Conversion = "improved"
) -> float:
    """ε at `delta` from the divergence of ONE order.

    Guarantees: rounded up.

    Args:
        divergence: The Rényi divergence of all releases together, in nats.
        order: Its order α > 1.
        delta: Probability with which the guarantee may fail, in (0, 1).
        conversion: "moments": divergence + log(1/δ)/(α−1) (Prop. 2.4). "improved":
            divergence + log(1 − 1/α) − log(αδ)/(α−1) (Balle et al. 2020; Canonne,
            Kamath and Steinke 2020, Prop. 12), never larger.

    Returns:
        ε in nats.

    Raises:
        InvalidParameterError: A parameter is outside these ranges.

    Example:
        >>> round(epsilon_from_renyi(0.5, order=4.0, delta=1e-6, conversion="moments"), 4)
        5.1052
    """
    delta = open_unit("delta", delta)
    if not (isinstance(divergence, (int, float, np.floating)) and divergence >= 0.0):
        raise InvalidParameterError("divergence", divergence, "to be at least 0 (or inf)")
    if not (isinstance(order, (int, float, np.floating, np.integer)) and order > 1.0):
        raise InvalidParameterError("order", order, "to exceed 1")
    if math.isinf(order):
        return divergence
    failure = -math.log(delta) / (order - 1.0)
    # so that the sum stays an upper bound
    rounding = 8.0 * ULP * (divergence + failure + 1.0)
    classic = divergence + failure + rounding
    if conversion == "moments":
        return classic
    if conversion != "improved":
        raise InvalidParameterError("conversion", conversion, "to be 'moments' or 'improved'")
    # log((α−1)/α), not log1p(−1/α): α − 1 has no error, 1 − 1/α has one of 1e-16/(α−1) of itself.
    improved = (
        divergence
        + math.log((order - 1.0) / order)
        - (math.log(delta) + math.log(order)) / (order - 1.0)
    )
    return max(min(classic, improved + rounding), 0.0)


def moments_epsilon(
    noise: Noise,
    delta: float,
    sensitivity: float = 1.0,
    compositions: int = 1,
    conversion: Conversion = "moments",
) -> tuple[float, float]:
    """The moments accountant: the least ε over all orders (Prop. 2.3 and 2.4).

    Guarantees: ε is certified at the returned order, whether or not that order is the best one.

    Args:
        noise: The law.
        delta: Probability with which the guarantee may fail, in (0, 1).
        sensitivity: How far one person can move each answer, in the units of the answer.
        compositions: How many releases.
        conversion: From the divergence of an order to ε; see `epsilon_from_renyi`.

    Returns:
        ε in nats, and the order it holds by.

    Raises:
        AccountingError: The divergence is infinite at every order: the law has bounded support.

    Example:
        >>> from leastnoise import gaussian
        >>> epsilon, order = moments_epsilon(gaussian(8.0), 1e-6, compositions=10)
        >>> round(epsilon, 4), round(order, 1)
        (2.1559, 14.3)
    """
    delta, n = open_unit("delta", delta), positive_integer("compositions", compositions)
    loss = a_law(noise).loss(sensitivity)

    def value(log_order: float) -> float:
        order = 1.0 + math.exp(log_order)
        divergence = n * loss.divergence(order) * (1.0 + ULP)
        return epsilon_from_renyi(divergence, order, delta, conversion)

    grid = np.linspace(math.log(1e-3), math.log(1e5), 60)
    values = [value(x) for x in grid]
    best = int(np.argmin(values))
    if not math.isfinite(values[best]):
        raise AccountingError(
            "The Rényi divergence is infinite at every order: the law has bounded support."
        )
    around = (grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)])
    found = optimize.minimize_scalar(
        value, bounds=around, method="bounded", options={"xatol": 1e-9}
    )
    log_order = float(found.x) if found.fun < values[best] else float(grid[best])
    return value(log_order), 1.0 + math.exp(log_order)
