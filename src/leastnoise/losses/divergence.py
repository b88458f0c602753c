"""Rényi divergence of a table of losses, without cancellation, rounded up."""

from __future__ import annotations

import math

import numpy as np

from leastnoise.lattice.shells import Floats
from leastnoise.losses.rounding import ULP

# relative, added to every divergence so that it stays an upper bound
DIVERGENCE_ROUNDING = 1e-13
_STEEP = 60.0  # a loss beyond which P may be too faint to be listed where Q is not
_NEAR = 2e-3  # |loss|·α below which the series is taken


def listed_divergence(
    loss: Floats, log_p: Floats, order: float, loss_rounding: float, mass_error: float
) -> float:
    """D_order of finitely many losses with their log-probabilities, for order ≥ 1 and
    (order − 1)·|loss| below 600.

    With ρ = P/Q: (g − 1)/(α(α−1)) = Σ q φ(ρ), φ(ρ) = (ρ^α − 1 − α(ρ−1))/(α(α−1)) ≥ 0:
    no cancellation, smooth as α → 1.
    """
    above = order - 1.0
    excess = float(np.sum(_excess(loss, log_p, order))) + _left_out(loss, log_p) / order
    excess *= 1.0 + mass_error + ULP * loss.size
    # A loss is known to `loss_rounding`, which moves the sum by that times E_P[ρ^(α−1)
    # − 1]/(α−1), about √(2·excess) when small.
    excess += loss_rounding * (math.sqrt(2.0 * excess) + excess * order)
    if above == 0.0:
        return excess * (1.0 + DIVERGENCE_ROUNDING)
    return math.log1p(order * above * excess) / above * (1.0 + DIVERGENCE_ROUNDING)


def _excess(loss: Floats, log_p: Floats, order: float) -> Floats:
    """q φ(e^ℓ) for each loss ℓ: (p·(e^((α−1)ℓ) − 1)/(α−1) − (p − q))/α, near 0 by the
    series φ = ℓ²/2·(1 + (α+1)ℓ/3 + (α²+α+1)ℓ²/12 + …)."""
    p, above = np.exp(log_p), order - 1.0
    # tends to `loss`, so nothing cancels as α → 1
    slope = loss if above == 0.0 else np.expm1(above * loss) / above
    # not p·e^−ℓ: where p is below the smallest float, q may be near 1
    q = np.exp(log_p - loss)
    usual = p * (slope + np.expm1(-np.maximum(loss, -_STEEP)))
    exact = np.where(loss > -_STEEP, usual, p * slope + (q - p)) / order
    is_near = np.abs(loss) * order < _NEAR
    near = np.where(is_near, loss, 0.0)
    a = order
    series = (
        1.0
        + (a + 1.0) * near / 3.0
        + (a * a + a + 1.0) * near**2 / 12.0
        + (a + 1.0) * (a * a + 1.0) * near**3 / 60.0
        + (a**4 + a**3 + a**2 + a + 1.0) * near**4 / 360.0
    )
    return np.where(is_near, p * np.exp(-near) * (0.5 * near**2 * series), np.maximum(exact, 0.0))


def _left_out(loss: Floats, log_p: Floats) -> float:
    """What the table of a symmetric pair lacks of Q: mass where P is too faint to be
    listed, or counted at a higher loss.

    Q has as much mass at losses below −ℓ as P has above ℓ. P is listed down to e^−110, so that
    only Q-mass at losses below −60 can be missed by more than 1e-20; each counts q·φ(0) = q/α.
    """
    above = float(np.sum(np.exp(log_p[loss > _STEEP])))
    if above == 0.0:
        return 0.0
    far = loss < -_STEEP * (1.0 + 1e-9)
    return max(above - float(np.sum(np.exp(log_p[far] - loss[far]))), 0.0)
