"""The same losses in dp_accounting 0.6, given to it as well as can be: split on its grid in exact
arithmetic, its default pitch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from flint import arb

from benchmarks.audit.oracles import Pair, exact

PITCH = 1e-4  # its default
_MOST_POINTS = (
    2_000_000  # a composition on more grid points is not tried: one takes more than a second
)


def distribution(pair: Pair) -> Any:
    """Connect-the-Dots of a table, split exactly and rounded to the nearest float."""
    from dp_accounting.pld import pld_pmf
    from dp_accounting.pld import privacy_loss_distribution as pld

    pitch = exact(PITCH)
    masses: dict[int, arb] = {}
    for cell, loss in zip(pair.cells, pair.losses, strict=True):
        lower = math.floor(float(loss / pitch))
        up = (1 - (lower * pitch - loss).exp()) / (1 - (-pitch).exp())
        masses[lower] = masses.get(lower, arb(0)) + cell.p * (1 - up)
        masses[lower + 1] = masses.get(lower + 1, arb(0)) + cell.p * up
    probs = {place: max(float(mass), 0.0) for place, mass in masses.items()}
    return pld.PrivacyLossDistribution(pld_pmf.create_pmf(probs, PITCH, float(pair.infinite), True))


def fits(parts: Sequence[tuple[float, int]]) -> bool:
    """Whether a composition of so many releases of such largest losses is worth trying."""
    return sum(2.0 * largest * count for largest, count in parts) / PITCH <= _MOST_POINTS


def composed(parts: Sequence[tuple[Any, int]]) -> Any:
    """Its own composition of several distributions."""
    total = None
    for one, count in parts:
        more = one if count == 1 else one.self_compose(count)
        total = more if total is None else total.compose(more)
    return total


@lru_cache(maxsize=1)
def is_there() -> bool:
    try:
        import dp_accounting  # noqa: F401
    except ImportError:
        return False
    return True


def closed(noise: Any, sensitivity: float) -> Any:
    """Its own Gaussian and Laplace mechanisms."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    from leastnoise.laws.gaussian import GaussianNoise

    if isinstance(noise, GaussianNoise):
        return pld.from_gaussian_mechanism(
            noise.sigma, sensitivity, value_discretization_interval=PITCH
        )
    return pld.from_laplace_mechanism(noise.scale, sensitivity, value_discretization_interval=PITCH)


def divergence(noise: Any, order: float) -> float:
    """Its Rényi accountant's, of one release."""
    import dp_accounting
    from dp_accounting.rdp import RdpAccountant

    from leastnoise.laws.gaussian import GaussianNoise

    if isinstance(noise, GaussianNoise):
        event = dp_accounting.GaussianDpEvent(noise.sigma)
    else:
        event = dp_accounting.LaplaceDpEvent(noise.scale)
    return float(RdpAccountant([order]).compose(event)._rdp[0])
