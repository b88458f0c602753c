"""Which scale of the noise gives this ε: the one search, for designs, releases and pictures.

ε falls in the scale of the noise (its σ, or σ in sensitivities), nearly as a power of it; it may
jump where a law is a staircase, and vanish where δ alone is enough. What is tried is often a design
of its own that takes seconds, so the search is a secant one: four laws where halving takes fifteen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.changes import BOX, Changes
from leastnoise.errors import LeastNoiseError
from leastnoise.laws.base import Noise

USUAL_SLOPE = -1.1  # of log ε against log σ
_STRAIGHT = -10.0  # a slope this steep: ε itself is then the straighter line
_STEEPEST, _FLATTEST = -1e4, -0.02  # slopes that are believed
_LEAST = 1e-3  # of the wanted ε: what is below says no more about how far the scale is from it
_LONGEST = 1.5  # step of log σ
_AIM = 0.3  # of the tolerance below the wanted ε, where a step aims
_JUMP = 1e-3  # of the tolerance: a bracket this narrow holds a jump of ε
_NEAR = 0.05  # of the wanted ε: the law that follows one this close to it is made from that one
_MOST_TRIED = 30
_CLOSE = 1e-6  # of ε, to which the sigma of a known law is found: 1e-5 of it where ε is flat


class HasEpsilon(Protocol):
    """Anything with an ε that is certified for it."""

    @property
    def epsilon(self) -> float: ...


Law = TypeVar("Law", bound=HasEpsilon)


@dataclass(frozen=True)
class Epsilon:
    """An ε, where it is all there is to know of a law."""

    epsilon: float


@dataclass(frozen=True)
class Calibrated(Generic[Law]):
    """The least scale that was found to be enough, and the law there; or the largest, which is
    not. `slope` is that of log ε against log σ."""

    scale: float
    law: Law
    slope: float


def calibrate(
    law_at: Callable[[float, Law | None], Law],
    target: float,
    bracket: tuple[float, float],
    *,
    start: float,
    slope: float = USUAL_SLOPE,
    tolerance: float = 1e-4,
    most_tried: int = _MOST_TRIED,
    begun: Law | None = None,
) -> Calibrated[Law]:
    """The least scale in the bracket at which a law needs at most `target`, to `tolerance` of ε.

    1. Try a scale. What is enough closes the bracket from above, what is not from below.
    2. Stop within the tolerance, at an end of the range, or where the bracket has closed around a
       jump of ε: its upper end is on the safe side.
    3. Else follow the secant of log ε against log σ, kept in the bracket; take the middle of it
       where secants leave it or have not halved it in three steps, both ends having been tried.

    `law_at(scale, near)` makes and judges a law; `near` is the last one, if the new one may be made
    from it. `slope` is that of laws like these, `begun` the law at the start where that is known.
    """
    tried: _Tried[Law] = _Tried(target, bracket, tolerance, *bracket, max(slope, _STEEPEST))
    scale, near = min(max(start, bracket[0]), bracket[1]), None
    for _ in range(most_tried):
        law, begun = law_at(scale, near) if begun is None else begun, None
        tried.add(scale, law)
        if tried.is_over(scale, law):
            break
        scale = tried.next_scale()
        near = law if tried.is_near(law) else None
    else:
        if tried.enough is None:
            scale = bracket[1]
            law = law_at(scale, None)
    return Calibrated(scale, law, tried.slope) if tried.enough is None else tried.enough


def least_scale(
    epsilon_of: Callable[[float], float],
    target: float,
    bracket: tuple[float, float],
    *,
    start: float | None = None,
    tolerance: float = 1e-4,
) -> float | None:
    """`calibrate`, where only the scale is wanted: None where the largest is not enough."""
    found = calibrate(
        lambda scale, _: Epsilon(epsilon_of(scale)),
        target,
        bracket,
        start=math.sqrt(bracket[0] * bracket[1]) if start is None else start,
        tolerance=tolerance,
    )
    return found.scale if found.law.epsilon <= target else None


def least_sigma(
    build: Callable[[float], Noise],
    epsilon: float,
    bracket: tuple[float, float],
    *,
    sensitivity: float,
    delta: float,
    draws: int,
    start: float | None = None,
    changes: Changes = BOX,
) -> float | None:
    """The least standard deviation in the bracket at which `draws` draws of a family are certified
    at `epsilon`; None where there is none, or no law."""

    def epsilon_of(sigma: float) -> float:
        return PrivacyLoss.of(build(sigma), sensitivity, changes).compose(draws).epsilon(delta)

    try:
        return least_scale(epsilon_of, epsilon, bracket, start=start, tolerance=_CLOSE)
    except LeastNoiseError:
        return None


def aimed_at(target: float, tolerance: float) -> float:
    """The ε to aim at: a little below the wanted one, so that what lands beside it is enough."""
    return target * (1.0 - _AIM * tolerance)


@dataclass
class _Tried(Generic[Law]):
    """What was tried, and what follows from it."""

    target: float
    ends: tuple[float, float]
    tolerance: float
    low: float
    high: float
    slope: float
    enough: Calibrated[Law] | None = None
    is_low_tried: bool = False  # whether the lower end of the bracket was
    places: list[tuple[float, float]] = field(default_factory=list)  # (log scale, ε/target)
    widths: list[float] = field(default_factory=list)  # of the bracket, once both ends were tried

    def add(self, scale: float, law: Law) -> None:
        self.places.append((math.log(scale), min(self._in_targets(law), 1.0 / _LEAST)))
        self.slope = self._measured_slope()
        if law.epsilon <= self.target:
            self.high, self.enough = scale, Calibrated(scale, law, self.slope)
        else:
            self.low, self.is_low_tried = scale, True
        if self.enough is not None and self.is_low_tried:
            self.widths.append(math.log(self.high / self.low))

    def is_over(self, scale: float, law: Law) -> bool:
        is_enough = law.epsilon <= self.target
        if scale == self.ends[0 if is_enough else 1]:
            return True
        is_least = law.epsilon >= self.target * (1.0 - self.tolerance) and self.target > 0.0
        if is_enough and is_least:
            return True
        return self.high <= self.low * (1.0 + _JUMP * self.tolerance)

    def next_scale(self) -> float:
        """Where the secant points if that lies inside the bracket; else an end of the range that
        was not tried yet, or the middle."""
        low, high = self.low, self.high
        is_stuck = len(self.widths) > 3 and self.widths[-1] > 0.5 * self.widths[-4]
        if is_stuck:
            return math.sqrt(low * high)
        last = self.places[-1][0]
        step = self._secant(aimed_at(1.0, self.tolerance)) - last
        wanted = math.exp(last + min(max(step, -_LONGEST), _LONGEST))
        if low < wanted < high:
            return wanted
        end = low if wanted <= low else high
        return end if end in self.ends else math.sqrt(low * high)

    def is_near(self, law: Law) -> bool:
        """Whether the law at the next scale may be made from this one."""
        return abs(self._in_targets(law) - 1.0) < _NEAR

    def _in_targets(self, law: Law) -> float:
        """Its ε in wanted ones; where none is wanted, δ alone being enough, either 0 or without
        end: the search closes around the scale from which on there is none."""
        if self.target == 0.0:
            return 0.0 if law.epsilon == 0.0 else math.inf
        return law.epsilon / self.target

    def _measured_slope(self) -> float:
        """That of the last two places, in logarithms and within reason: −3/ε where sigma is small,
        steep where ε is nearly 0."""
        if len(self.places) < 2 or self._are_nothing():
            return self.slope
        (x0, y0), (x1, y1) = ((x, math.log(max(y, _LEAST))) for x, y in self.places[-2:])
        if abs(x1 - x0) < 1e-9:
            return self.slope
        return min(max((y1 - y0) / (x1 - x0), _STEEPEST), _FLATTEST)

    def _are_nothing(self) -> bool:
        """Whether the last two ε are (nearly) 0, as those of all laws are from some sigma on."""
        return all(y <= _LEAST for _, y in self.places[-2:])

    def _secant(self, wanted: float) -> float:
        """log σ for the ε wanted: on log ε against log σ, and where ε is nearly 0 and that is steep
        on ε itself, which is straight."""
        x, y = self.places[-1]
        if len(self.places) > 1:
            x0, y0 = self.places[-2]
            if self.slope < _STRAIGHT and y != y0:
                return x + (wanted - y) * (x - x0) / (y - y0)
            if self._are_nothing() and x < x0:  # nothing says how far: twice as far as the last one
                return x + 2.0 * (x - x0)
        return x + math.log(wanted / max(y, _LEAST)) / self.slope
