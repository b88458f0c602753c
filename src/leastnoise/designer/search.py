"""The best law at one sigma: which laws compete, and which of them is preferred.

Our own law of the whole batch, our own with independent noise on each answer, and every known law.
If one person can touch at most l of the Q answers of a batch, only l of the independent draws
compose, where one joint draw is judged at its corner shift, which dominates all shifts with fewer
moved coordinates (docs/worst-shift.md).

Between the two lie blocks of b answers with one joint draw each, of which min(l, ⌈Q/b⌉) compose.
They are not tried, for they never won: k of them cost about what k·b independent answers cost, and
k·b is at least l or Q. In 110 settings (4 to 100 answers, σ from 0.5 to 200 s, 1 and 10 releases)
the best blocks of known laws needed at least 0.6 % more than the best known law of the other two
kinds, and none of 35 designs (2 to 10,000 answers) was one of blocks while these were optimised
too, for a third to two thirds of the time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from leastnoise.designer import moments, tight
from leastnoise.designer.lattice_law import LatticeLaw
from leastnoise.designer.request import LatticeRequest, Request, is_in_box
from leastnoise.designer.result import OPTIMISED, OPTIMISED_PRODUCT, FoundLaw, Way
from leastnoise.designer.rivals import rivals
from leastnoise.errors import DesignError, LeastNoiseError

# of a program beyond the solver
FAILURES = (LeastNoiseError, ArithmeticError, ValueError, np.linalg.LinAlgError)
_TIE = 1e-4  # of ε, within which a law is preferred
_SAME = 1e-9  # of ε, within which our own law of the range norm is the known one
_FEW = 1e-3  # whose failures use less than this share of δ
# independent noise is not optimised where the joint law is this far below every known product
_PRODUCT_CHANCE = 0.8


def best_at(
    request: Request, sigma: float, ours: FoundLaw, most: float = math.inf
) -> tuple[FoundLaw, dict[str, FoundLaw]]:
    """The law that is preferred at this budget, if possible of an ε of `most`, and its rivals by
    name: the known laws, and ours with independent noise.

    1. Every known law.
    2. A batch: our own law with independent noise, where it has a chance.
    3. Of these and ours the least ε; with another objective known laws do not compete.
    """
    known = rivals(request, sigma)
    competing = [ours, *_independent(request, sigma, ours, known)]
    named = {law.name: law for law in known}
    for law in competing:
        if request.batch > 1 and law.noise.dimension == 1 and law.name == OPTIMISED:
            named[OPTIMISED_PRODUCT] = law
    if request.objective == "tight":
        competing += known
        if request.is_of_range and _is_known(ours, known):
            competing.remove(ours)
    return _preferred(competing, request, most), named


def _is_known(ours: FoundLaw, known: Sequence[FoundLaw]) -> bool:
    """Whether our own law does as well as a known one to the last digits: one release of the range
    law at a small δ, which goes by its name then."""
    return any(law.epsilon * (1.0 - _SAME) <= ours.epsilon for law in known)


def _preferred(found: Sequence[FoundLaw], request: Request, most: float) -> FoundLaw:
    """The law of least ε (the first of equals: ours before a rival's); of those within `_TIE` of it
    rather one that does not fail.

    A law that ends where a neighbour's goes on reveals a person outright with some probability.
    That may be up to δ, but not for nothing: for ten answers together the gain is 3e-5 of σ, and a
    fourth of δ would go. What fails also leaves less for the releases that follow.
    """
    best = min(found, key=lambda law: law.epsilon)
    within = max(min(best.epsilon * (1.0 + _TIE), most), best.epsilon)
    near = [law for law in found if law.epsilon <= within]
    if len(near) == 1:
        return best
    spared = [law for law in near if _failures(law, request) <= _FEW * request.delta]
    return min(spared or near, key=lambda law: law.epsilon)


def _failures(law: FoundLaw, request: Request) -> float:
    """The probability of unbounded loss over the whole use."""
    ((loss, _),) = request.loss(law.noise).parts
    return request.compositions * law.uses * loss.infinite


def _independent(
    request: Request, sigma: float, joint: FoundLaw, known: Sequence[FoundLaw]
) -> list[FoundLaw]:
    """Our own law with independent noise on each answer; none where the joint law is far below
    every known product, where it is that law already, or beyond the solver."""
    if request.batch == 1 or (joint.name == OPTIMISED and joint.noise.dimension == 1):
        return []
    if not request.has_plain_laws:  # one answer may take the whole length
        return []
    products = [law.epsilon for law in known if law.noise.dimension == 1]
    if joint.epsilon < _PRODUCT_CHANCE * min(products, default=math.inf):
        return []
    try:
        return [independent(request)(sigma, None)]
    except FAILURES:
        return []


def independent(request: Request) -> Way:
    """Our own law with noise of its own on each answer of a batch."""
    alone = request.one_answer()

    def make(sigma: float, near: FoundLaw | None) -> FoundLaw:
        return replace(_optimised(alone, sigma, near), uses=request.touched, again=make)

    return make


# Our own law


def attempted(
    request: Request, sigma: float, near: FoundLaw | None = None, *, quick: bool = False
) -> FoundLaw:
    """The best law of the family; where the program is beyond the solver, the best known law, with
    which other ways to serve a batch compete. `near` is that of almost the same sigma, to start
    from, and `quick` leaves out what takes long."""
    try:
        return _optimised(request, sigma, near, quick=quick)
    except FAILURES as failure:
        known = rivals(request, sigma) if request.objective == "tight" else []
        if known:
            return known[0]
        if isinstance(failure, DesignError):
            raise
        raise DesignError(f"No law was found for sigma={sigma!r}: {failure}") from failure


def _optimised(
    request: Request, sigma: float, near: FoundLaw | None = None, *, quick: bool = False
) -> FoundLaw:
    """The best law of the family for the request's objective."""
    if request.batch > 1 and sigma < request.smallest_joint * request.sensitivity:
        raise DesignError(
            f"Expected sigma={sigma!r} of joint noise to be at least "
            f"{request.smallest_joint:g} sensitivities."
        )
    if request.parts is not None or not is_in_box(request.changes):
        raise DesignError("Only the sphere and Gaussian noise are fitted to a length of changes.")
    before = None if near is None else near.on_lattice
    asked = request.on_lattice(sigma, None if before is None else before.problem.shift)
    moments_value = None
    if request.objective == "tight":
        moved = None if before is None or quick else tight.adjusted(before, asked)
        law = tight.best_tight(asked, quick=quick) if moved is None else moved
    elif request.renyi_order is None:
        law, moments_value = moments.best_moments(asked)
    else:
        law, moments_value = moments.of_order(asked, request.renyi_order)
    return judged(request, asked, law, moments_value)


def judged(
    request: Request, asked: LatticeRequest, law: LatticeLaw, moments_value: float | None = None
) -> FoundLaw:
    """The law judged as it stands: the search's own ε may differ in the last digits, and a tie with
    a rival is decided by them."""
    noise = asked.noise(law.log_h, law.tail_ratio)
    loss = request.loss(noise).compose(request.compositions)

    def again(sigma: float, near: FoundLaw | None) -> FoundLaw:
        return attempted(request, sigma, near)

    return FoundLaw(OPTIMISED, noise, 1, loss.epsilon(request.delta), again, law, moments_value)
