"""The check of an `EpsilonFloor`, in integers: every claim of every stage is proven anew.

Written from the theorem (docs/optimality.md#many-releases) and not from the search, which only
proposes numbers. All quantities are integers in units of 2^−96, rounded to the safe side.

Stage k claims values v_j: whatever the noise of k releases, δ(ε_j) ≥ v_j. Let V be the greatest
convex function of X = e^ε below the claims of stage k − 1. For a claim of stage k the adversary
looks at the k-th release, sees x, and goes on with a test that has (power, size) = (α, β) on the
line of a tangent of V. So

    δ ≥ Σ_x P(x) [α(x) − X β(x+1)],   minimised over all P of variance σ²:
    δ ≥ min_x ½ Σ_± [α(±x) − X β(±x+1)] + ν (x² − σ²).

The tests are found from outside in: at each x the one is taken that makes the bracket as large as
it must be, and no larger. The mean over both signs couples x with its mirror image, whose test is
the mirrored tangent: F and G are what an edge between x − 1 and x gives to x and takes from x − 1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from leastnoise.floors.certificates import EpsilonFloor, Stage

_BITS = 96
ONE = 1 << _BITS
_SHARE = 1 << 40  # how finely two neighbouring tests are mixed
_MOST_RELEASES = 200
_MOST_NODES = 20_000
_MOST_POINTS = 100_000  # of the window
_MOST_WORK = 20_000_000  # nodes × points × stages


def epsilon_fault(floor: EpsilonFloor) -> str | None:
    """Why the certificate does not prove its claim, in a sentence; None where it does."""
    fault = _out_of_range(floor)
    if fault is not None:
        return fault
    before: Sequence[float] = ()
    for number, stage in enumerate(floor.stages, 1):
        if stage.first and number < len(floor.stages):
            return f"Stage {number} of the floor does not begin at node 0."
        for place in unproven(floor, before, stage):
            node, value = stage.first + place, stage.values[place]
            return f"Stage {number} of the floor: {value!r} at node {node} does not follow."
        before = stage.values
    return _conclusion_fault(floor)


def _not_rising(values: list[int]) -> list[int]:
    """δ falls in ε: what is claimed at a node holds at those before."""
    return list(itertools.accumulate(reversed(values), max))[::-1]


def _out_of_range(floor: EpsilonFloor) -> str | None:
    is_sound = _is_small(floor) and _is_plain(floor) and all(map(_is_a_stage, floor.stages))
    return None if is_sound else "A number of the floor is out of its range."


def _is_small(floor: EpsilonFloor) -> bool:
    """Whether the check is no more work than its author may ask for."""
    points = (floor.window + 2) * floor.cells
    nodes = [stage.first + len(stage.values) for stage in floor.stages]
    return (
        1 <= floor.releases == len(floor.stages) <= _MOST_RELEASES
        and max(nodes) <= _MOST_NODES
        and points <= _MOST_POINTS
        and sum(nodes) * points <= _MOST_WORK
    )


def _is_plain(floor: EpsilonFloor) -> bool:
    return (
        floor.cells >= 1
        and floor.window >= 1
        and 0.0 < floor.delta < 1.0
        and 0.0 < floor.sigma <= 1e6
        and 1.0 < floor.ratio <= 1.1
        and all(map(math.isfinite, (floor.slack, floor.epsilon)))
    )


def _is_a_stage(stage: Stage) -> bool:
    return (
        len(stage.values) == len(stage.prices)
        and all(0.0 <= value <= 1.0 for value in stage.values)
        and all(0.0 <= price <= 1e6 for price in stage.prices)
    )


def _conclusion_fault(floor: EpsilonFloor) -> str | None:
    """Whether ε follows from the last stage: if δ(ε) ≤ δ then the claim at the node is at most
    δ + exp(−2 r²/(n η²)), r being the slack and η = ln(ratio), unless ε > node·η − r − nη²/8."""
    last, n = floor.stages[-1], floor.releases
    place = floor.node - last.first
    if not 0 <= place < len(last.values):
        return "The floor's node is not one of its last stage."
    above = Fraction(_down(Fraction(last.values[place])), ONE) - Fraction(floor.delta)
    low, high = _logarithm(Fraction(floor.ratio))
    slack = Fraction(floor.slack)
    if above <= 0 or slack <= 0:
        return "The last stage of the floor does not exceed delta."
    exponent = min(2 * slack**2 / (n * high**2), Fraction(200))
    if _exponential_below(exponent) * above < 1:
        return "The floor's slack is too small for its grid."
    proven = floor.node * low - slack - n * high**2 / 8
    if Fraction(floor.epsilon) > proven:
        return f"The stated floor is {floor.epsilon!r}; it proves {float(proven)!r} only."
    return None


# One stage


@dataclass(frozen=True)
class _Tangents:
    """Of the greatest convex function below the claims: α − βX, from the steepest to the last,
    (0, 0), α rounded down and β up. Between s and s + 1 lies the node s − `reach`."""

    alpha: list[int]
    beta: list[int]
    reach: int


def unproven(floor: EpsilonFloor, before: Sequence[float], stage: Stage) -> Iterator[int]:
    """The places of a stage whose values do not follow from those of the stage before it."""
    variance = Fraction(floor.sigma) ** 2
    if not floor.is_integer:  # noise moved to the lattice
        variance += Fraction(1, 4 * floor.cells**2)
    claims = [*_not_rising([_down(Fraction(value)) for value in before]), 0]
    tangents = _tangents(claims if before else [0, 0], Fraction(floor.ratio))
    powers = _powers(Fraction(floor.ratio), stage.first + len(stage.values))
    for place, value in enumerate(stage.values):
        node, claim = stage.first + place, _down(Fraction(value))
        if claim <= 0:
            continue
        price = _down(Fraction(stage.prices[place]))
        edge = _Edge(tangents, node, powers[node] + 2)
        twice = 2 * claim + _ceil(Fraction(2 * price) * variance)
        if not _is_proven(edge, floor.cells, floor.window, twice, price):
            yield place


def _is_proven(edge: _Edge, cells: int, window: int, twice: int, price: int) -> bool:
    """Whether tests exist that give at least `twice`/2 at every point of the lattice."""
    for offset in range(cells // 2 + 1):
        outer = edge.inwards(cells, window, cells + offset, twice, price)
        if outer is None:
            return False
        if 2 * offset == cells:  # the edge between −½ and ½ is its own mirror image
            inner: int | None = -edge.still
        elif offset == 0:
            inner = outer
        else:
            inner = edge.inwards(cells, window, cells - offset, twice, price)
        if inner is None or -inner - outer + _square(price, offset, cells) < twice:
            return False
    return True


class _Edge:
    """What an edge gives and takes at one node, by the tangent used on it."""

    def __init__(self, tangents: _Tangents, node: int, factor: int) -> None:
        beyond = [0] * (2 * node)  # there the tangent is (0, 0), its mirror image is not
        self._alpha, self._beta = tangents.alpha + beyond, tangents.beta + beyond
        self._last = len(self._alpha) - 1
        self._factor = factor  # e^ε of the node, rounded up
        at = node + tangents.reach
        # of an edge whose two ends are equally likely: the claim before, F = −G
        self.still = (self.given(at) + self.given(at + 1)) >> 1
        self._start = at + 1

    def given(self, s: int) -> int:
        """F, rounded down: falls with s."""
        return self._alpha[s] + (-self._factor * self._beta[self._last - s] >> _BITS)

    def taken(self, s: int) -> int:
        """G, rounded up: falls with s."""
        return -(-self._factor * self._beta[s] >> _BITS) - self._alpha[self._last - s]

    def inwards(self, cells: int, window: int, stop: int, twice: int, price: int) -> int | None:
        """G of the innermost edge, the one whose outer end is `stop`/cells, tests being chosen from
        outside in; None where no test is enough."""
        outermost = stop + (window - 1) * cells
        s = self._constant(twice - _square(price, outermost + cells, cells))
        if s is None:
            return None
        taken, guess = self.taken(s), s
        for point in range(outermost, stop - 1, -cells):
            needed = twice - _square(price, point, cells) + taken
            s = self._farthest(needed, guess)
            if s < 0:
                return None
            if s == self._last:
                taken = self.taken(s)
            else:
                here, after = self.given(s), self.given(s + 1)
                share = (here - needed) * _SHARE // (here - after)
                low, high = self.taken(s + 1), self.taken(s)
                taken = high - (share * (high - low) // _SHARE)
            guess = s
        return taken

    def _constant(self, needed: int) -> int | None:
        """The last tangent that, used at every point farther out, gives what is needed there."""
        low, high = self._start, self._last
        if self.given(low) - self.taken(low) < needed:
            return None
        while low < high:
            middle = (low + high + 1) // 2
            if self.given(middle) - self.taken(middle) >= needed:
                low = middle
            else:
                high = middle - 1
        return low

    def _farthest(self, needed: int, guess: int) -> int:
        """The last s with F(s) ≥ `needed`, −1 for none; sought near the guess first."""
        low, high, step = -1, self._last + 1, 1
        if self.given(guess) >= needed:
            low = guess
            while low + step <= self._last and self.given(low + step) >= needed:
                low, step = low + step, 2 * step
            high = min(low + step, high)
        else:
            high = guess
            while high - step >= 0 and self.given(high - step) < needed:
                high, step = high - step, 2 * step
            low = max(high - step, low)
        while high - low > 1:
            middle = (low + high) // 2
            if self.given(middle) >= needed:
                low = middle
            else:
                high = middle
        return low


def _tangents(values: list[int], ratio: Fraction) -> _Tangents:
    """Of the claims at the nodes 0 … T, the last of which is 0. Below node 0 they follow from those
    above (δ(−ε) = 1 − e^(−ε) + e^(−ε) δ(ε)); at X = 0 δ is 1."""
    reach = len(values) - 1
    powers = _powers(ratio, reach)
    x, y = [0], [ONE]
    for i in range(reach, 0, -1):
        inverse = ONE * ONE // (powers[i] + 2)  # below e^(−ε), by less than 4
        x.append(inverse)
        y.append(ONE - (-(-(inverse + 4) * (ONE - values[i]) >> _BITS)))
    for i in range(reach + 1):
        x.append(powers[i])
        y.append(values[i])
    y[-1] = 0
    hull = _convex_below(x, y)
    alpha: list[int] = []
    beta: list[int] = []
    for place in range(len(hull) - 1):
        left, right = hull[place], hull[place + 1]
        slope = -((y[right] - y[left]) * ONE // (x[right] - x[left]))  # rounded up
        line = _below_all(x, y, hull, place, slope)
        alpha.extend([line] * (right - left))
        beta.extend([slope] * (right - left))
    return _Tangents([*alpha, 0], [*beta, 0], reach)


def _convex_below(x: list[int], y: list[int]) -> list[int]:
    """The points of the greatest convex function below all (x, y): a point goes that lies on or
    above the line between the last one kept before it and the one that comes."""

    def is_above(left: int, middle: int, right: int) -> bool:
        chord = y[left] * (x[right] - x[middle]) + y[right] * (x[middle] - x[left])
        return y[middle] * (x[right] - x[left]) >= chord

    kept = [0]
    for right in range(1, len(x)):
        while len(kept) >= 2 and is_above(kept[-2], kept[-1], right):
            del kept[-1]
        kept += [right]
    return kept


def _below_all(x: list[int], y: list[int], hull: list[int], place: int, slope: int) -> int:
    """The largest α with α − slope·X below all points: along the hull y + slope·x is convex, so
    whoever walks down from any point ends at its least."""

    def height(at: int) -> int:
        return y[hull[at]] + (slope * x[hull[at]] >> _BITS)

    while place > 0 and height(place - 1) <= height(place):
        place -= 1
    while place + 1 < len(hull) and height(place + 1) <= height(place):
        place += 1
    return height(place) - 2  # heights are rounded


def _powers(ratio: Fraction, last: int) -> list[int]:
    """ratio^j, rounded down, for j = 0 … last; each is less than 2 above.

    Computed with twice the digits, of which the products lose far fewer than the half."""
    fine = _BITS + 128
    step = (ratio.numerator << fine) // ratio.denominator
    found, power = [], 1 << fine
    for _ in range(last + 1):
        found.append(power >> 128)
        power = power * step >> fine
    return found


def _square(price: int, point: int, cells: int) -> int:
    """2ν x², rounded down."""
    return 2 * price * point * point // (cells * cells)


def _down(value: Fraction) -> int:
    return value.numerator * ONE // value.denominator


def _ceil(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)


def _logarithm(value: Fraction) -> tuple[Fraction, Fraction]:
    """Bounds on ln(value), value in (1, 2]: ln v = 2 Σ z^(2k+1)/(2k+1), z = (v−1)/(v+1) ≤ 1/3."""
    z = (value - 1) / (value + 1)
    total, power = Fraction(0), z
    for k in range(40):
        total += power / (2 * k + 1)
        power = _short(power * z * z)
    low = _short(2 * total) - Fraction(1, 1 << 180)
    return low, low + Fraction(1, 1 << 100)


def _short(value: Fraction) -> Fraction:
    """The value, rounded down to 200 bits."""
    return Fraction((value.numerator << 200) // value.denominator, 1 << 200)


def _exponential_below(value: Fraction) -> Fraction:
    """A lower bound on e^value, value ≥ 0: partial sums of its series, each rounded down."""
    total, term = Fraction(1), Fraction(1)
    for k in range(1, 400):
        term = _short(term * value / k)
        total += term
    return total
