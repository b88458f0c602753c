"""The second judge against all outcomes of small laws, listed one by one in fractions, for every
change that one person can make."""

from __future__ import annotations

import itertools
import math
import random
from collections import defaultdict
from fractions import Fraction

import pytest

pytest.importorskip("flint")

from leastnoise.proof.norms import norm_counts
from leastnoise.proof.theorem import DrawnUse, prove

BITS = 64


def _law(weights, first=0, **more):
    """A law of a file with these weights, the last of which takes what is left of 2^64."""
    scale = (1 << BITS) // sum(weights)
    whole = [2 * (weight * scale // 2) for weight in weights]
    whole[-1] += (1 << BITS) - sum(whole)
    texts = [f"{weight:x}" for weight in whole]
    return {"bits": BITS, "first": first, "weights": texts, "pitch": "1", **more}


def _points(law, dimension, radius_of):
    """The probability of every point."""
    weights = [0] * law["first"] + [int(text, 16) for text in law["weights"]]
    reach = len(weights) - 1
    shells = defaultdict(list)
    for x in itertools.product(range(-reach, reach + 1), repeat=dimension):
        if radius_of(x) <= reach:
            shells[radius_of(x)].append(x)
    return {
        x: Fraction(weight, (1 << BITS) * len(shells[k]))
        for k, weight in enumerate(weights)
        for x in shells[k]
        if weight
    }


def _moved(law, shift):
    return {tuple(a + b for a, b in zip(x, shift, strict=True)): p for x, p in law.items()}


def _profile(p, q, releases, factor):
    """Σ (P − factor·Q)₊ over all outcomes of several releases."""
    kinds = defaultdict(Fraction)
    for x, mass in p.items():
        kinds[mass, q.get(x, Fraction(0))] += 1
    total = Fraction(0)
    for chosen in itertools.product(kinds.items(), repeat=releases):
        one = math.prod((pair[0] for pair, _ in chosen), start=Fraction(1))
        other = math.prod((pair[1] for pair, _ in chosen), start=Fraction(1))
        if one > factor * other:
            total += (one - factor * other) * math.prod(count for _, count in chosen)
    return total


def _holds(law, points, shifts, releases, changes=None, sensitivity=1.0):
    """The bounds of the second judge enclose the largest δ of all changes, near the ε where they
    are asked; returns how far apart they are."""
    worst = 0.0
    for epsilon in (0.0625, 0.5, 1.25):
        factor = Fraction(math.exp(epsilon))
        exact = max(_profile(points, _moved(points, v), releases, factor) for v in shifts)
        # the factor is e^ε to one rounding, and so is δ
        slack = 1e-15 * float(factor)
        use = DrawnUse(law, releases, sensitivity, changes)
        # a grid that is asked for the last digit would be refined as long as it can be
        found = prove([use], [(epsilon, max(float(exact) * (1.0 + 1e-3 * (releases > 1)), 1e-12))])[
            0
        ]
        assert found.upper >= float(exact) - slack
        worst = max(worst, found.upper - float(exact))
        if changes is None:
            assert found.lower <= float(exact) + slack
    return worst


def _corner(dimension, steps):
    return [v for v in itertools.product(range(-steps, steps + 1), repeat=dimension) if any(v)]


@pytest.mark.parametrize("seed", range(4))
def test_a_law_of_one_answer(seed):
    draw = random.Random(seed)
    weights = [draw.randrange(1, 50) for _ in range(draw.randrange(2, 6))]
    if seed % 2:
        weights = [weights[0] * 2, *sorted(weights[1:], reverse=True)]
        weights[0] = max(weights[0], weights[1])
    steps = draw.choice([1, 2])
    law = _law(weights, step=1.0, domain="integer", batch=1)
    points = _points(law, 1, lambda x: abs(x[0]))
    for releases in (1, 2):
        # a law that rises is judged by the largest δ of all shifts: an upper bound
        _holds(law, points, _corner(1, steps), releases, sensitivity=float(steps))


@pytest.mark.parametrize(
    ("dimension", "steps", "releases"), [(2, 1, 1), (2, 2, 1), (3, 1, 1), (2, 1, 2)]
)
def test_a_cube(dimension, steps, releases):
    sides = [(2 * k + 1) ** dimension for k in range(4)]
    counts = [here - inner for here, inner in zip(sides, [0, *sides], strict=False)]
    weights = [count * height for count, height in zip(counts, [90, 60, 31, 7], strict=True)]
    law = _law(weights, step=1.0, domain="integer", batch=dimension)
    points = _points(law, dimension, lambda x: max(map(abs, x)))
    apart = _holds(law, points, _corner(dimension, steps), releases, sensitivity=float(steps))
    assert apart < 1e-6  # the corner is the worst, and a person can make it


@pytest.mark.parametrize(
    ("body", "touched", "steps"),
    [("range", 2, 1), ("range", 2, 2), ("touched", 1, 1), ("count", 1, 1), ("count", 2, 1)],
)
def test_a_norm(body, touched, steps):
    def capped(y):
        return max(max(y, default=0), -(-sum(y) // touched))

    def radius(x):
        up, down = [max(a, 0) for a in x], [max(-a, 0) for a in x]
        if body == "range":
            return max(up) + max(down)
        return capped([abs(a) for a in x]) if body == "touched" else capped(up) + capped(down)

    dimension, size = 2, 4
    counts = norm_counts(body, dimension, touched, size)
    reach = range(-size + 1, size)
    listed = [radius(x) for x in itertools.product(reach, repeat=dimension)]
    assert counts == [listed.count(t) for t in range(size)]
    weights = [count * height for count, height in zip(counts, [90, 60, 31, 7], strict=True)]
    law = _law(weights, body=body, batch=dimension, touched=touched)
    low = -steps if body == "touched" else 0
    shifts = [
        v
        for v in itertools.product(range(low, steps + 1), repeat=dimension)
        if 0 < sum(a != 0 for a in v) <= touched
    ]
    kind = {"kind": "box" if body == "touched" else "one-sided", "touched": touched}
    apart = _holds(law, _points(law, dimension, radius), shifts, 1, kind, float(steps))
    assert body != "range" or apart < 1e-15


def test_empty_inner_shells_are_charged():
    law = _law([3 * 10**12, 10**12], first=1, step=1.0, domain="integer", batch=30)
    with pytest.raises(TypeError, match="rise are not covered"):  # half of its mass would be filled
        prove([DrawnUse(_law([1, 1], first=1, step=1.0, domain="integer", batch=2))], [(1.0, 0.5)])
    found = prove([DrawnUse(law)], [(20.0, 0.9)])[0]
    filled = float(Fraction(1, 3**30 - 1) * Fraction(3, 4))
    assert found.upper > filled


def test_hidden_counts_and_lengths_are_for_their_changes_alone():
    base = _law([8, 4, 2], step=1.0, domain="real", batch=3)
    lifted = {"body": "lifted", "pitch": base["pitch"], "base": base}
    one_sided = {"kind": "one-sided", "touched": None, "ranges": None}
    assert prove([DrawnUse(lifted, 1, 1.0, one_sided)], [(5.0, 0.99)])
    with pytest.raises(TypeError, match="hidden count"):
        prove([DrawnUse(lifted)], [(1.0, 0.5)])
    half = {"kind": "one-sided", "touched": None, "ranges": [[-0.5, 0.5], [0, 1]]}
    with pytest.raises(TypeError, match="hidden count"):
        prove([DrawnUse(lifted, 1, 1.0, half)], [(1.0, 0.5)])
    assert prove([DrawnUse({**lifted, "ties": [0, 1]}, 1, 1.0, half)], [(5.0, 0.99)])
