"""What a cap on the attacker's advantage costs: the least noise at one (ε, δ) against the cap.

Designs at equal (ε, δ) differ in what they leave to an attacker. The frontier says how much noise
each advantage takes: from the design without a cap to Gaussian noise, which stays below it by
itself; beside it what single kinds of noise need, and a bound below which no noise of any shape can
be (docs/mathematics.md#what-a-cap-on-the-advantage-costs).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from leastnoise.accountant.attacker import gaussian_mu_of
from leastnoise.accountant.constraints import Limit
from leastnoise.changes import Box, Changes
from leastnoise.designer.capped import BLOCKS, least_sigma_of, own_advantage
from leastnoise.designer.design import design
from leastnoise.designer.request import Request
from leastnoise.designer.result import Design
from leastnoise.errors import InvalidParameterError, open_unit, positive, positive_integer
from leastnoise.losses.gaussian import GaussianLoss

SINGLE = (BLOCKS, "sphere", "Gaussian")
MOST_POINTS = 200


@dataclass(frozen=True, eq=False)
class FrontierPoint:
    """The least noise under one cap.

    Attributes:
        advantage: The cap: what δ(0) may be at most, over all releases.
        sigma: The least standard deviation found, in the units of the answers.
        certified: The advantage that this noise is certified at.
        best: The design itself.
        others: Standard deviations that single kinds of noise need under the same promises.
        bound: No noise of any shape has a smaller standard deviation under this cap.

    Example:
        >>> from leastnoise import frontier
        >>> points = frontier(epsilon=1.0, delta=1e-6, advantages=[0.4, 0.1])
        >>> [round(point.sigma, 2) for point in points]
        [1.4, 3.06]
    """

    advantage: float
    sigma: float
    certified: float
    best: Design
    others: Mapping[str, float]
    bound: float

    @property
    def kind(self) -> str:
        """The noise in a few words."""
        many = self.best.blocks > 1 and self.best.noise.dimension > 1
        return f"{self.best.origin}, {self.best.blocks} blocks" if many else self.best.origin


def frontier(
    *,
    epsilon: float,
    delta: float,
    batch: int = 1,
    compositions: int = 1,
    sensitivity: float = 1.0,
    changes: Changes | None = None,
    advantages: Sequence[float] | None = None,
    points: int = 8,
    progress: Callable[[str, float], None] | None = None,
) -> list[FrontierPoint]:
    """The least standard deviation at (ε, δ) against a cap on the attacker's advantage.

    Args:
        epsilon: ε of the promise, over all releases.
        delta: δ of the promise, in (0, 1).
        batch: Answers a release.
        compositions: Releases that the promise covers.
        sensitivity: By how much one person can move an answer, in its units.
        changes: Which vectors of changes one person can make, in sensitivities; any signs by
            default.
        advantages: The caps, each in (0, 1); by default `points` of them, from the advantage of the
            design without a cap to that of Gaussian noise, and those of the other kinds.
        points: How many caps there are by default, at least 2.
        progress: Told the stage and the share that is done, now and then.

    Returns:
        A point for each cap, from the largest to the smallest.

    Raises:
        InvalidParameterError: A parameter is not what is expected.
        DesignError: A cap cannot be kept with the largest sigma.

    Guarantees: every point keeps (ε, δ) and its cap, certified; none is above Gaussian noise under
        the same promises, or below its `bound`.

    Example:
        >>> points = frontier(epsilon=1.0, delta=1e-6, advantages=[0.3, 0.15])
        >>> all(one.bound <= one.sigma <= one.others["Gaussian"] for one in points)
        True
    """
    told = progress or (lambda stage, share: None)
    request = Request.of(
        delta=delta,
        batch=batch,
        compositions=compositions,
        sensitivity=sensitivity,
        changes=changes,
    )
    epsilon = positive("epsilon", epsilon)
    first: dict[float, Design] = {}
    if advantages is None:
        told("design without a cap", 0.0)
        plain = _designed(request, epsilon, None)
        caps = _usual_caps(request, epsilon, plain, points)
        first[caps[0]] = plain
    else:
        caps = _checked(advantages)
    found = list[FrontierPoint]()
    for place, cap in enumerate(caps):
        told(f"advantage at most {cap:.3g}", place / len(caps))
        found.append(_point(request, epsilon, cap, first.get(cap)))
    told("done", 1.0)
    return found


def _checked(advantages: Sequence[float]) -> list[float]:
    found = [open_unit(f"advantages[{place}]", cap) for place, cap in enumerate(advantages)]
    if not 1 <= len(found) <= MOST_POINTS:
        raise InvalidParameterError("advantages", len(found), f"to be 1 to {MOST_POINTS} caps")
    return sorted(set(found), reverse=True)


def _point(request: Request, epsilon: float, cap: float, known: Design | None) -> FrontierPoint:
    """The best design under one cap, and what single kinds of noise need."""
    limits: tuple[Limit, ...] = ((epsilon, request.delta), (0.0, cap))
    best = _designed(request, epsilon, cap) if known is None else known
    needed = {kind: least_sigma_of(request, limits, kind) for kind in SINGLE}
    others = {kind: sigma for kind, sigma in needed.items() if sigma is not None}
    certified = best.constraints[-1].certified if best.constraints else cap
    bound = least_deviation(cap, request)
    return FrontierPoint(cap, best.sigma, certified, best, MappingProxyType(others), bound)


def _designed(request: Request, epsilon: float, cap: float | None) -> Design:
    return design(
        delta=request.delta,
        epsilon=epsilon,
        advantage=cap,
        batch=request.batch,
        compositions=request.compositions,
        sensitivity=request.sensitivity,
        changes=request.changes,
    )


def least_deviation(advantage: float, request: Request) -> float:
    """No noise whose advantage over all releases is at most this has a smaller standard deviation
    (root of the mean square over answers and releases).

    With 1/N at least the advantage, N a whole number: s√((N² − 1)n/12), n counting the answers that
    one person moves up or down, over all releases; where they all move the same way, one of each
    release.
    """
    moved = request.touched if isinstance(request.changes, Box) else 1
    count = math.floor((1.0 + 1e-12) / advantage)
    answers = request.compositions * moved
    return request.sensitivity * math.sqrt(answers * max(count * count - 1.0, 0.0) / 12.0)


def _usual_caps(request: Request, epsilon: float, plain: Design, points: int) -> list[float]:
    """From the advantage of the design without a cap to that of Gaussian noise, evenly in their
    logarithms, and the advantages of the single kinds that lie between."""
    if positive_integer("points", points) < 2 or points > MOST_POINTS:
        raise InvalidParameterError("points", points, f"to be from 2 to {MOST_POINTS}")
    most = plain.curve(points=2).advantage
    normal = GaussianLoss(gaussian_mu_of(epsilon, request.delta))
    least = min(normal.profile_at_zero() * (1.0 + 1e-3), most)
    between = np.geomspace(most, least, points)[1:-1].tolist()
    caps = {float(f"{cap:.3g}") for cap in between}
    for kind in SINGLE[:2]:
        own = own_advantage(request, ((epsilon, request.delta),), kind)
        if own is not None:
            caps.add(_up(own))
    inside = sorted((cap for cap in caps if least < cap < most), reverse=True)
    return [most, *inside, *([least] if least < most else [])]


def _up(advantage: float) -> float:
    """To four decimals, upwards: the law that has it keeps it."""
    return math.ceil(1e4 * advantage + 1e-3) / 1e4
