"""A privacy curve that is drawn nowhere below the truth.

The picture has ε along a linear axis and δ along a logarithmic one, and joins points by straight
lines. Through points of the curve these say too little: log δ mostly bends downwards (like −ε² for
Gaussian noise), so its chords lie below it.

What is certain: δ(ε) = max over S of P(S) − e^ε·Q(S) falls, and it is convex in e^ε, a maximum of
straight lines. Between two ε at which upper bounds are known it is therefore at most the straight
line through them *in e^ε*. That line is concave as log δ against ε, so it is cut into short pieces,
and all of them are raised by twice the largest sag of a piece at its middle: a concave function
that is 0 at both ends of an interval is nowhere more than twice what it is in the middle.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

Points = list[tuple[float, float]]

# Of δ: how far the line may be above the middle of an interval before its halves are looked at too.
# The judgement in the middle brings the line four times as close where the curve is smooth, so it
# ends within a tenth (tests/explorer/test_privacy_curve.py).
_CLOSE = 0.3
# of the picture's width, a fifth of a pixel: intervals are not halved further
_NARROW = 1.0 / 2000.0
# of one law; where they do not suffice the line stays an upper bound, only not so close a one
_MOST_JUDGEMENTS = 150
_PIECE = 0.125  # of log δ: what one straight piece falls
# the judge's own bounds are within 1e-5 of the exact δ, above or below their neighbours'
_ROUNDING = 1e-4


def upper_line(delta: Callable[[float], float], begin: Sequence[float], low: float) -> Points:
    """Points whose straight connection, linear in ε and logarithmic in δ, is nowhere below δ(ε)
    where that is above `low`.

    `delta` gives upper bounds; `begin` are the ε from which the search for a close line starts, the
    first and the last included.
    """
    return _raised(_levelled(_nodes(delta, begin, low), low / 10.0))


def _nodes(delta: Callable[[float], float], begin: Sequence[float], low: float) -> Points:
    """The judge's bounds, closer together where the line through them in e^ε is not yet close to
    what lies between them."""
    known = {epsilon: delta(epsilon) for epsilon in begin}
    narrow = _NARROW * (max(begin) - min(begin))
    waiting = list(pairwise(sorted(known)))
    while waiting and len(known) < _MOST_JUDGEMENTS:
        # the widest first: where judgements run out, they were spread over the picture
        a, b = waiting.pop(0)
        if known[a] <= low or b - a <= narrow:
            continue
        middle = 0.5 * (a + b)
        known[middle] = delta(middle)
        if _chord(a, known[a], b, known[b], middle) - known[middle] > _CLOSE * max(known[b], low):
            waiting += [(a, middle), (middle, b)]
    return sorted(known.items())


def _chord(a: float, at_a: float, b: float, at_b: float, epsilon: float) -> float:
    """The straight line in e^ε through (a, at_a) and (b, at_b)."""
    share = math.expm1(epsilon - a) / math.expm1(b - a)
    return at_a + (at_b - at_a) * share


def _levelled(nodes: Points, floor: float) -> Points:
    """Never rising, since δ never does, and never below `floor`, which is below the picture:
    logarithms need it."""
    best, found = 1.0, []
    for epsilon, delta in nodes:
        best = min(best, delta)
        found.append((epsilon, max(best, floor)))
    return found


def _raised(nodes: Points) -> Points:
    """The line in e^ε through the nodes as short straight pieces in (ε, log δ), none of them below
    it."""
    found, sag = nodes[:1], 0.0
    for (a, at_a), (b, at_b) in pairwise(nodes):
        fall = math.log(at_a / at_b)
        pieces = max(1, math.ceil(fall / _PIECE))
        for k in range(1, pieces):
            delta = at_a * math.exp(-fall * k / pieces)
            share = (at_a - delta) / (at_a - at_b)
            found.append((a + math.log1p(share * math.expm1(b - a)), delta))
        found.append((b, at_b))
        for (left, at_left), (right, at_right) in pairwise(found[-pieces - 1 :]):
            middle = _chord(a, at_a, b, at_b, 0.5 * (left + right))
            sag = max(sag, math.log(middle) - 0.5 * (math.log(at_left) + math.log(at_right)))
    factor = math.exp(2.0 * sag + _ROUNDING)
    return [(epsilon, min(delta * factor, 1.0)) for epsilon, delta in found]
