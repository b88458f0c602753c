"""The law of a series: the best for as many answers at once, if they may be given one by one."""

from __future__ import annotations

from leastnoise.errors import (
    DesignError,
    InvalidParameterError,
    UnsupportedError,
    one_of,
    open_unit,
    positive,
)
from leastnoise.laws.base import Domain, Noise
from leastnoise.releases.noise.layout import LawSpec
from leastnoise.releases.noise.mechanism import sampled_within
from leastnoise.releases.noise.search import DesignedLaw, SampledLaw, composed_epsilon, designed
from leastnoise.releases.noise.search import solve as designed_within


def series_law(
    questions: int,
    delta: float,
    *,
    epsilon: float | None = None,
    sigma: float | None = None,
    domain: Domain = "real",
) -> tuple[SampledLaw, float]:
    """The law of least noise for a series, as it is drawn, and its ε.

    1. The best law for as many answers at once; it may be joint noise, or independent noise.
    2. It is drawn as often as its answers need, and judged as it is drawn.
    3. Joint noise must have convex level sets, or it is refused.
    """
    if (epsilon is None) == (sigma is None):
        raise InvalidParameterError(
            "epsilon", epsilon, f"or sigma={sigma!r} to be given, and not both"
        )
    one_of("domain", domain, ("real", "integer"))
    share = open_unit("delta", delta)
    spec = LawSpec(questions, 1, 1.0, None, domain)
    if sigma is not None:
        found: DesignedLaw = designed(spec, share, sigma=positive("sigma", sigma))
        law = SampledLaw(found.noise, found.uses, found.origin)
    else:
        allowed = positive("epsilon", epsilon)
        (law,), _ = sampled_within(designed_within([spec], allowed, share).laws, allowed, share)
    if law.noise.domain != domain:
        raise DesignError(
            "No noise on the whole numbers is within reach for this series: open it with "
            'domain="real".'
        )
    drawn = SampledLaw(law.noise, -(-questions // law.noise.dimension), law.origin)
    check_convex(drawn.noise)
    cost = composed_epsilon([drawn], share)
    if epsilon is not None and not cost <= epsilon:
        raise DesignError(f"The law costs epsilon = {cost:.9g}, more than the {epsilon:g} allowed.")
    return drawn, cost


def check_convex(law: Noise) -> None:
    """Refuse a joint law whose answers may not be given one after another."""
    if law.dimension > 1 and not law.has_convex_levels:
        raise UnsupportedError(
            "Only joint noise whose level sets are convex and symmetric may serve one question "
            "after another: with this law questions that depend on earlier answers could learn "
            "more than all at once."
        )
