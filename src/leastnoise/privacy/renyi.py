"""Rényi divergence of a law from its shifts, and the two usual ways from Rényi DP to (ε, δ)-DP."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from scipy import optimize

from leastnoise.errors import AccountingError, InvalidParameterError, open_unit, positive_integer
from leastnoise.noise import Noise
from leastnoise.privacy.ball import SHARPEST, BallLoss
from leastnoise.privacy.single import ULP, GaussianLoss, LaplaceLoss, SingleLoss, TableLoss, WorstOf
from leastnoise.privacy.tables import single_loss
from leastnoise.shells import Floats

Conversion = Literal["moments", "improved"]

_STEEP = 60.0  # a loss beyond which P may be too faint to be listed where Q is not
_ROUNDING = 1e-13  # relative allowance, added to every divergence so that it stays an upper bound


def renyi_divergence(noise: Noise, order: float, sensitivity: float = 1.0) -> float:
    """max over shifts up to `sensitivity` of D_order(P‖shifted P): Theorem 3.6 in logarithms.

    `order` is in [1, ∞]: 1 gives the Kullback–Leibler divergence, ∞ the largest loss (pure DP).

    Guarantees: an upper bound; +inf where some shift moves mass off the support. Laws that are not non-increasing are checked at
    every shift.

    >>> from leastnoise import gaussian
    >>> renyi_divergence(gaussian(2.0), order=4.0, sensitivity=1.0)  # α s²/(2σ²)
    0.5000000000000...
    """
    if isinstance(order, bool) or not (
        isinstance(order, (int, float, np.floating, np.integer)) and order >= 1.0
    ):
        raise InvalidParameterError("order", order, "to be at least 1 (or inf)")
    return loss_divergence(single_loss(noise, sensitivity), float(order))


def loss_divergence(loss: SingleLoss, order: float) -> float:
    """The divergence of one release from its exact loss, rounded up."""
    if isinstance(loss, GaussianLoss):
        return order * 0.5 * loss.mu**2 * (1.0 + _ROUNDING)
    if isinstance(loss, LaplaceLoss):
        return _laplace(loss.ratio, order) * (1.0 + _ROUNDING)
    if isinstance(loss, WorstOf):
        return max(table_divergence(table, order) for table in loss.tables)
    if isinstance(loss, BallLoss):
        return (
            loss.largest * (1.0 + _ROUNDING)
            if order > SHARPEST
            else table_divergence(loss.nodes(order), order)
        )
    return table_divergence(loss, order)


def table_divergence(table: TableLoss, order: float) -> float:
    """D_order of one table of losses, rounded up."""
    if table.infinite > 0 or table.deviation > 0:
        return math.inf
    if math.isinf(order):
        return table.largest * (1.0 + _ROUNDING) + table.loss_rounding
    above = order - 1.0
    if above * table.spread > 600.0:
        return (table.cumulants(above)[0] + table.mass_error) / above * (
            1.0 + _ROUNDING
        ) + table.loss_rounding
    # With ρ = P/Q: (g − 1)/(α(α−1)) = Σ q φ(ρ), φ(ρ) = (ρ^α − 1 − α(ρ−1))/(α(α−1)) ≥ 0: no cancellation, smooth as α → 1.
    excess = float(np.sum(_excess(table, order))) + _left_out(table) / order
    excess *= 1.0 + table.mass_error + ULP * table.loss.size
    # A loss is known to `loss_rounding`, which moves the sum by that times E_P[ρ^(α−1) − 1]/(α−1), about √(2·excess) when small.
    excess += table.loss_rounding * (math.sqrt(2.0 * excess) + excess * order)
    if above == 0.0:
        return excess * (1.0 + _ROUNDING)
    return math.log1p(order * above * excess) / above * (1.0 + _ROUNDING)


def _excess(table: TableLoss, order: float) -> Floats:
    """q φ(e^ℓ) for each loss ℓ: (p·(e^((α−1)ℓ) − 1)/(α−1) − (p − q))/α, near 0 by the series
    φ = ℓ²/2·(1 + (α+1)ℓ/3 + (α²+α+1)ℓ²/12 + …)."""
    loss, p, above = table.loss, np.exp(table.log_p), order - 1.0
    slope = (
        loss if above == 0.0 else np.expm1(above * loss) / above
    )  # tends to `loss`, so nothing cancels as α → 1
    q = np.exp(
        table.log_p - loss
    )  # not p·e^−ℓ: where p is below the smallest float, q may be near 1
    exact = (
        np.where(
            loss > -_STEEP, p * (slope + np.expm1(-np.maximum(loss, -_STEEP))), p * slope + (q - p)
        )
        / order
    )
    near = np.where(np.abs(loss) * order < 2e-3, loss, 0.0)
    a = order
    series = (
        0.5
        * near**2
        * (
            1.0
            + (a + 1.0) * near / 3.0
            + (a * a + a + 1.0) * near**2 / 12.0
            + (a + 1.0) * (a * a + 1.0) * near**3 / 60.0
            + (a**4 + a**3 + a**2 + a + 1.0) * near**4 / 360.0
        )
    )
    return np.where(np.abs(loss) * order < 2e-3, p * np.exp(-near) * series, np.maximum(exact, 0.0))


def _left_out(table: TableLoss) -> float:
    """What the table of a symmetric pair lacks of Q: mass where P is too faint to be listed, or counted at a higher loss.

    Q has as much mass at losses below −ℓ as P has above ℓ. P is listed down to e^−110, so that only Q-mass at losses below −60 can
    be missed by more than 1e-20; each counts q·φ(0) = q/α.
    """
    above = float(np.sum(np.exp(table.log_p[table.loss > _STEEP])))
    if above == 0.0:
        return 0.0
    far = table.loss < -_STEEP * (1.0 + 1e-9)
    return max(above - float(np.sum(np.exp(table.log_p[far] - table.loss[far]))), 0.0)


def _laplace(ratio: float, order: float) -> float:
    """Mironov 2017, Table II, with λ = sensitivity/scale."""
    if math.isinf(order):
        return ratio
    if order * ratio < 20.0:
        # The closed form cancels here; the sum over the loss itself does not.
        return table_divergence(LaplaceLoss(ratio).nodes, order)
    above = order - 1.0
    if above * ratio < 600.0:
        # g − 1 = (α(e^((α−1)λ) − 1) − (α−1)(1 − e^(−αλ)))/(2α−1), in which the first term is 20 times the second and more.
        slope = math.expm1(above * ratio) / above if above > 0.0 else ratio
        excess = (order * slope + math.expm1(-order * ratio)) / (2.0 * order - 1.0)
        return math.log1p(above * excess) / above if above > 0.0 else excess
    first = math.log(order / (2.0 * order - 1.0)) + (order - 1.0) * ratio
    second = math.log((order - 1.0) / (2.0 * order - 1.0)) - order * ratio
    return float(np.logaddexp(first, second)) / (order - 1.0)


def epsilon_from_renyi(
    divergence: float, order: float, delta: float, conversion: Conversion = "improved"
) -> float:
    """ε at `delta` from the divergence of ONE order.

    "moments": divergence + log(1/δ)/(α−1) (Prop. 2.4). "improved": divergence + log(1 − 1/α) − log(αδ)/(α−1) (Balle et al. 2020;
    Canonne, Kamath and Steinke 2020, Prop. 12), never larger.

    Guarantees: rounded up.
    """
    delta = open_unit("delta", delta)
    if not (isinstance(divergence, (int, float, np.floating)) and divergence >= 0.0):
        raise InvalidParameterError("divergence", divergence, "to be at least 0 (or inf)")
    if not (isinstance(order, (int, float, np.floating, np.integer)) and order > 1.0):
        raise InvalidParameterError("order", order, "to exceed 1")
    if math.isinf(order):
        return divergence
    failure = -math.log(delta) / (order - 1.0)
    rounding = 8.0 * ULP * (divergence + failure + 1.0)  # so that the sum stays an upper bound
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
    """(ε, order): the moments accountant, the least ε over all orders after `compositions` releases (Prop. 2.3 and 2.4).

    Guarantees: ε is certified at the returned order, whether or not that order is the best one.
    """
    delta, n = open_unit("delta", delta), positive_integer("compositions", compositions)
    loss = single_loss(noise, sensitivity)

    def value(log_order: float) -> float:
        order = 1.0 + math.exp(log_order)
        return epsilon_from_renyi(
            n * loss_divergence(loss, order) * (1.0 + ULP), order, delta, conversion
        )

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
