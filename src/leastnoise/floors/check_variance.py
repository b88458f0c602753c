"""The check of a `VarianceFloor`, in integers.

Written from the theorem (docs/optimality.md#one-release) and not from the search. For tests λ_c
with values in [0, w_c], a lattice law P that treats all signs and orders alike and is
(ε, δ)-private has

    E_P Σ_c [λ_c(x) − e^ε λ_c(x + c)] ≤ δ Σ_c w_c,

so its mean variance is at least μ − δ Σ_c w_c, with μ the least, over all lattice points x, of the
mean square of x and the mean of the bracket over all signs and orders of x.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from leastnoise.floors.certificates import Tests, VarianceFloor

_BITS = 128
_ONE = 1 << _BITS
_MOST_ANSWERS = 3
_MOST_POINTS = 4_000_000  # lattice points × tests


def variance_fault(floor: VarianceFloor) -> str | None:
    """Why the certificate does not prove its claim, in a sentence; None where it does."""
    if not _is_in_range(floor):
        return "A number of the floor is out of its range."
    if not _is_above_exponential(Fraction(floor.factor), Fraction(floor.epsilon)):
        return "The factor of the floor is below the exponential of its epsilon."
    for one in floor.tests:
        if not _is_a_change(one, floor) or not _is_a_box(one.values, floor.answers):
            return "Tests of the floor are for no change that one person can make, or no box."
    proven = proven_variance(floor)
    if Fraction(floor.variance) > proven:
        return f"The stated least variance is {floor.variance!r}; {float(proven)!r} is proven."
    return None


def proven_variance(floor: VarianceFloor) -> Fraction:
    """The least variance that the tests prove, in squared sensitivities."""
    tests = [_Exact(one) for one in floor.tests]
    factor = -(-Fraction(floor.factor).numerator * _ONE // Fraction(floor.factor).denominator)
    d, cells = floor.answers, floor.cells
    reach = max((one.reach for one in tests), default=0) + 1
    images = math.factorial(d) << d
    least = Fraction((reach + 1) ** 2, d * cells * cells)  # farther out every test is 0
    for x in itertools.combinations_with_replacement(range(reach + 1), d):
        total = 0
        for image in _images(x):
            for one in tests:
                here = one.at(image)
                there = one.at(tuple(a + b for a, b in zip(image, one.change, strict=True)))
                total += here * _ONE - factor * there
        square = Fraction(sum(a * a for a in x), d * cells * cells)
        least = min(least, square + Fraction(total, images * _ONE * _ONE))
    weights = sum(Fraction(one.weight, _ONE) for one in tests)
    moved = 0 if floor.is_integer else Fraction(1, 4 * cells * cells)
    return least - Fraction(floor.delta) * weights - moved


def _is_in_range(floor: VarianceFloor) -> bool:
    points = sum(_size(one.values) for one in floor.tests)
    return (
        1 <= floor.answers <= _MOST_ANSWERS
        and floor.cells >= 1
        and 0 < points <= _MOST_POINTS
        and math.isfinite(floor.variance)
        and 0.0 <= floor.epsilon <= 100.0
        and 0.0 < floor.delta < 1.0
        and math.isfinite(floor.factor)
        and all(0.0 <= one.weight < math.inf for one in floor.tests)
    )


def _size(values: Any) -> int:
    return sum(map(_size, values)) if isinstance(values, list) else 1


def _is_a_change(tests: Tests, floor: VarianceFloor) -> bool:
    is_within = all(abs(one) <= floor.cells for one in tests.change)
    return len(tests.change) == floor.answers and is_within and any(tests.change)


def _is_a_box(values: Any, depth: int) -> bool:
    if depth == 0:
        return isinstance(values, float) and math.isfinite(values)
    return isinstance(values, list) and all(_is_a_box(one, depth - 1) for one in values)


def _is_above_exponential(factor: Fraction, epsilon: Fraction) -> bool:
    """Whether factor ≥ e^ε: e^(ε/2^k) ≤ 1/(1 − ε/2^k), raised to the power 2^k, is too coarse; the
    series with a bound on its rest is not."""
    halved = epsilon / 1024
    total, term = Fraction(1), Fraction(1)
    for k in range(1, 30):
        term = term * halved / k
        total += term
    total += term  # more than all that follow
    power = _up(total)
    for _ in range(10):
        power = _up(power * power)
    return factor >= power


def _up(value: Fraction) -> Fraction:
    """The value, rounded up to 256 bits."""
    return Fraction(-(-(value.numerator << 256) // value.denominator), 1 << 256)


def _images(x: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """All orders and signs of a point, repeated ones included."""
    for order in itertools.permutations(x):
        for signs in itertools.product((1, -1), repeat=len(x)):
            yield tuple(a * b for a, b in zip(order, signs, strict=True))


class _Exact:
    """Tests as integers in units of 2^−128, within [0, weight]."""

    def __init__(self, tests: Tests) -> None:
        self.change = tests.change
        self.weight = _units(tests.weight)
        self._first = tests.first
        self._values = self._clipped(tests.values)
        lengths = _longest(self._values)
        farthest = max(abs(self._first), *(abs(self._first + size - 1) for size in lengths))
        self.reach = farthest + max(abs(one) for one in tests.change)

    def at(self, point: tuple[int, ...]) -> int:
        found: Any = self._values
        for one in point:
            place = one - self._first
            if not 0 <= place < len(found):
                return 0
            found = found[place]
        return int(found)

    def _clipped(self, values: Any) -> Any:
        if isinstance(values, list):
            return [self._clipped(one) for one in values]
        return min(max(_units(values), 0), self.weight)


def _longest(values: Any) -> list[int]:
    """The lengths of all lists in a box."""
    found = [len(values)]
    for one in values:
        if isinstance(one, list):
            found += _longest(one)
    return found


def _units(value: float) -> int:
    exact = Fraction(value)
    return exact.numerator * _ONE // exact.denominator
