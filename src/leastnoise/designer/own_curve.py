"""`design(mu=…)`: noise whose whole privacy curve is that of normal noise, μ-Gaussian privacy.

Normal noise is the answer, and there is nothing to search: whoever asks for its whole curve gets no
noise of less variance, but for a share η² of it that is below 1e-14 for μ ≤ 1
(docs/mathematics.md#the-gaussian-is-best-for-its-own-curve). All that this package gains elsewhere
comes from not asking for that. n releases of normal noise with μ_1 each are √n·μ_1-Gaussian
private, exactly, whatever the questions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from leastnoise.designer.fits import Fit, Fitted, fits_of
from leastnoise.designer.request import Request
from leastnoise.designer.result import FoundLaw
from leastnoise.designer.rivals import laws_of, rivals
from leastnoise.errors import DesignError, InvalidParameterError
from leastnoise.laws.base import Noise

BEST_OF_ITS_CURVE = (
    "No additive noise on answers that each move by up to their sensitivity has this whole privacy "
    "curve with a smaller variance, but for a share of {share:.1e}."
)
_STEPS = 2
_UP = 1.0 + 2.0**-44  # so that μ, rounded up, is no more than what was asked for


def fitted_for_mu(request: Request, mu: float) -> Fitted:
    """Normal noise of the least weighted error that is μ-Gaussian private over all releases."""
    if request.domain == "integer":
        raise InvalidParameterError(
            "mu", mu, 'to be asked for with domain="real": round what is released instead'
        )
    if request.objective != "tight" or request.cost.exponent != 2.0:
        raise InvalidParameterError("mu", mu, "to be asked for with the default cost and objective")
    found = [law for fit in fits_of(request) for law in _normal(fit, mu)]
    if not found:
        raise DesignError(f"No normal noise was found for mu={mu!r}.")
    sigma, fit, law = min(found, key=lambda one: one[0])
    known = {one.name: one for one in rivals(fit.request, sigma / fit.spread)}
    needed = {name: one.epsilon for name, one in known.items()}
    return Fitted(sigma, fit, law, known, needed)


def _normal(fit: Fit, mu: float) -> Iterator[tuple[float, Fit, FoundLaw]]:
    """The normal laws of a fit, each with its weighted error."""
    request, s = fit.request, fit.request.sensitivity
    for name, build, uses in laws_of(request):
        if not name.endswith("Gaussian"):
            continue
        draws = request.compositions * uses
        sigma = s
        for _ in range(_STEPS):  # μ falls as 1/σ, but for the rounding of shares
            sigma *= _mu_of(request, build(sigma), draws) / mu * _UP
        if sigma > request.largest * s:
            least = mu * sigma / (request.largest * s)
            raise DesignError(
                f"Expected mu={mu!r} to be at least {least:.3g}, what the largest sigma, "
                f"{request.largest * s:g}, gives."
            )
        law = build(sigma)
        if _mu_of(request, law, draws) <= mu:
            yield sigma * fit.spread, fit, FoundLaw(name, law, uses, math.nan)


def _mu_of(request: Request, law: Noise, draws: int) -> float:
    """μ of all draws together; +inf of a law whose loss is not a normal one."""
    ((loss, _),) = request.loss(law).parts
    squared = loss.normal_variance
    return math.inf if squared is None else math.sqrt(draws * squared)


def spared_share(mu: float) -> float:
    """η², the variance of E[Z | Z + μℤ] for a standard normal Z, rounded up: the share of the
    variance by which another law could be better, at most. For small μ it is 8(π/μ)²e^(−4π²/μ²)
    but for terms of its square; else a sum over one period, exact to the last digits."""
    if mu < 1.5:
        return 2.0 * 8.0 * (math.pi / mu) ** 2 * math.exp(-min(4.0 * math.pi**2 / mu**2, 700.0))
    reach = math.ceil(40.0 / mu) + 1
    place = mu * (np.arange(-reach, reach + 1)[:, None] + np.linspace(0.0, 1.0, 513)[None, :-1])
    density = np.exp(-0.5 * place**2)
    total = np.sum(density, axis=0)
    mean = np.sum(density * place, axis=0) / total
    return min(1.001 * float(np.sum(total * mean**2) / np.sum(total)), 1.0)
