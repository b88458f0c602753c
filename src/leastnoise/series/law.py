"""The law of a series: the best for as many answers at once, if they may be given one by one.

Which changes. For changes of any signs the theorem of one kept draw serves the cube, the sphere and
independent noise. Questions that a person who comes can only raise, the others as well, are served
by cube noise with a hidden count too: such a series is one of a question more, the number of
persons, whose answer is not told (docs/mathematics.md#one-sided-series). No other space is: an
analyst who has seen answers chooses which of the questions one person moves, and no theorem says
what correlated noise, or that of a norm for few touched answers, then hides.
"""

from __future__ import annotations

from dataclasses import replace

from leastnoise.changes import BOX, Box, Changes, OneSided, checked_changes
from leastnoise.designer.at_epsilon import at_epsilon
from leastnoise.designer.request import Request
from leastnoise.designer.search import attempted, best_at
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
from leastnoise.releases.noise.search import (
    ROUNDING,
    DesignedLaw,
    SampledLaw,
    composed_epsilon,
    designed,
)
from leastnoise.releases.noise.search import solve as designed_within


def series_law(
    questions: int,
    delta: float,
    *,
    epsilon: float | None = None,
    sigma: float | None = None,
    domain: Domain = "real",
    changes: Changes | None = None,
) -> tuple[SampledLaw, float]:
    """The law of least noise for a series, as it is drawn, and its ε.

    1. The best law for as many answers at once; it may be joint noise, or independent noise. Where
       all questions move one way, the best with a hidden count competes.
    2. It is drawn as often as its answers need, and judged as it is drawn.
    3. Joint noise must have convex level sets, or a hidden count, or it is refused.
    """
    if (epsilon is None) == (sigma is None):
        raise InvalidParameterError(
            "epsilon", epsilon, f"or sigma={sigma!r} to be given, and not both"
        )
    one_of("domain", domain, ("real", "integer"))
    share = open_unit("delta", delta)
    space = _checked(changes, questions, domain)
    law, cost = _of_any_signs(questions, share, epsilon, sigma, domain)
    if space.is_one_sided and questions > 1:
        hidden = _with_hidden_count(questions, share, epsilon, sigma)
        is_less = hidden is not None and (
            hidden[0].noise.std < law.noise.std if sigma is None else hidden[1] < cost
        )
        law, cost = hidden if hidden is not None and is_less else (law, cost)
    check_convex(law.noise)
    if epsilon is not None and not cost <= epsilon:
        raise DesignError(f"The law costs epsilon = {cost:.9g}, more than the {epsilon:g} allowed.")
    return law, cost


def _checked(changes: Changes | None, questions: int, domain: Domain) -> Changes:
    """The space of all questions, where a theorem serves it."""
    space = checked_changes(changes, questions)
    is_whole = space.touched_of(questions) == questions
    has_ranges = isinstance(space, OneSided) and space.ranges is not None
    if not isinstance(space, (Box, OneSided)) or not is_whole or has_ranges:
        raise UnsupportedError(
            f"A series is for Box() or OneSided(), not for changes={space!r}: each question has "
            "its own sensitivity, and which of them one person moves may depend on earlier "
            "answers, so that nothing is known of a smaller space."
        )
    if space.is_one_sided and domain == "integer":
        raise UnsupportedError(
            "A series of questions that all move one way is on the real line: noise with a hidden "
            "count is in half steps, and nothing is proven of the range law one answer after the "
            'other. Open it with domain="real" and round the answers, or without changes.'
        )
    return space


def _of_any_signs(
    questions: int, share: float, epsilon: float | None, sigma: float | None, domain: Domain
) -> tuple[SampledLaw, float]:
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
    return drawn, composed_epsilon([drawn], share)


def _with_hidden_count(
    questions: int, share: float, epsilon: float | None, sigma: float | None
) -> tuple[SampledLaw, float] | None:
    """The best cube noise of one answer more, of which a hidden count is taken off; None where
    there is none."""
    asked = Request.of(delta=share, batch=questions, changes=OneSided())
    asked = replace(asked, ties=(1.0,) * questions)
    try:
        if epsilon is not None:
            _, found, _ = at_epsilon(asked, epsilon * (1.0 - ROUNDING))
        else:
            wanted = positive("sigma", sigma)
            found, _ = best_at(asked, wanted, attempted(asked, wanted))
        made = DesignedLaw(found.noise, 1, found.name, share, OneSided())
        drawn = SampledLaw(made.sampled(), 1, found.name, OneSided())
    except DesignError:
        return None
    cost = composed_epsilon([drawn], share)
    return (drawn, cost) if epsilon is None or cost <= epsilon else None


def changes_served(law: Noise) -> Changes:
    """The changes of its questions that the law of a series is for."""
    check_convex(law)
    return law.kept_for or BOX


def check_convex(law: Noise) -> None:
    """Refuse a joint law whose answers may not be given one after another."""
    if law.kept_for is None:
        raise UnsupportedError(
            "Only joint noise whose level sets are convex and symmetric may serve one question "
            "after another: with this law questions that depend on earlier answers could learn "
            "more than all at once."
        )
