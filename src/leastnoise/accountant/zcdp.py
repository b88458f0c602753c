"""Zero-concentrated privacy of a sequence of releases, apart from a probability.

ρ is the largest D_a/a over the orders a > 1, D_a the Rényi divergence of all releases together.

*Apart from.* Let E be the event that no loss is infinite, of probability 1 − i under P. Given E, P
is p/(1 − i); Q given E is q divided by at most 1. With p' = p/(1 − i) and q' = q/(1 − i), a pair
that is normalised but for m = 1 − Σq', the divergence is at most that of (p', q') + m + i', where
i' = −log(1 − i): a mass m of Q that is nowhere listed adds at most m to it. Divergences of
independent releases add.

*The largest of all orders.* K(t) = t·D_(1+t) is convex in t and 0 at 0 (it is the logarithm of a
moment), so between two orders it is at most its chord c + dt, and D_a/a at most the largest value
of (c + dt)/(t(1 + t)): at an end, or where dt² + 2ct + c = 0. Cells are halved until the largest of
these bounds is close to a value that is attained. Beyond the last order D_a is at most the largest
loss. Of Gaussian noise D_a/a is the same at every order.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np

from leastnoise.accountant.composition import Composition
from leastnoise.accountant.saddle import Parts
from leastnoise.losses.table import TableLoss

_LAST = 1e6  # the highest order less one
_CLOSE = 1e-4  # of ρ
_MOST_CELLS = 2_000
_ROUNDING = 1e-12


def approximate_zcdp(releases: Composition, apart: float) -> float:
    """ρ apart from the probability `apart`, rounded up; +inf where infinite losses alone are more
    likely. Of that probability none, a little or all may go to the highest losses, whichever
    leaves the least ρ: they are rare, and decide the high orders."""
    spare = (apart - releases.infinite) / sum(count for _, count in releases.parts)
    if spare < 0.0:
        return math.inf
    shares = (0.0, 1e-3, 0.5)
    return min(_of_finite(_trimmed(releases.parts, share * spare)) for share in shares)


def _trimmed(parts: Parts, mass: float) -> Parts:
    return [(loss.without_top(mass), count) for loss, count in parts] if mass > 0.0 else parts


def _of_finite(parts: Parts) -> float:
    """ρ of the releases, given that no loss is infinite."""
    normal = [count * (loss.normal_variance or 0.0) for loss, count in parts]
    others = [part for part in parts if part[0].normal_variance is None]
    rho = 0.5 * math.fsum(normal)
    if others:
        highest = sum(count * max(loss.largest, 0.0) for loss, count in others)
        rho += _largest_slope(_divergence(others), highest)
    return rho * (1.0 + _ROUNDING)


def _divergence(parts: Parts) -> Callable[[float], float]:
    """D_a of the releases, given that no loss is infinite."""
    given = [(loss.changed(_given_finite), count) for loss, count in parts]
    extra = sum(count * max(map(_extra, loss.tables), default=0.0) for loss, count in parts)

    def divergence(order: float) -> float:
        found = sum(count * loss.divergence(order) for loss, count in given)
        return (found + extra) * (1.0 + _ROUNDING)

    return divergence


def _log_finite(table: TableLoss) -> float:
    """log of the probability that the loss is finite, from what is listed."""
    return math.log(float(np.sum(np.exp(table.log_p))))


def _given_finite(table: TableLoss) -> TableLoss:
    if not (table.infinite > 0.0 or table.deviation > 0.0):
        return table
    log_p = table.log_p - _log_finite(table)
    return replace(table, log_p=log_p, infinite=0.0, deviation=0.0)


def _extra(table: TableLoss) -> float:
    """m + i' of the docstring."""
    if not (table.infinite > 0.0 or table.deviation > 0.0):
        return 0.0
    log_finite = _log_finite(table)
    listed = float(np.sum(np.exp(table.log_p - table.loss - log_finite)))
    return max(1.0 - listed, 0.0) + max(-log_finite, table.infinite) + _ROUNDING


def _largest_slope(divergence: Callable[[float], float], highest: float) -> float:
    """An upper bound on sup D_a/a, close to it where so many cells are enough."""

    def moment(t: float) -> float:
        return t * divergence(1.0 + t)

    edges = [0.0, *np.geomspace(1e-3, _LAST, 40).tolist()]
    known = {t: moment(t) if t > 0.0 else 0.0 for t in edges}
    attained = max(value / (t * (1.0 + t)) for t, value in known.items() if t > 0.0)
    if math.isinf(attained):  # the divergences of a loss are not known
        return math.inf
    cells = [(-_most(a, known[a], b, known[b]), a, b) for a, b in pairwise(edges)]
    heapq.heapify(cells)
    beyond = highest / (1.0 + _LAST)
    for _ in range(_MOST_CELLS):
        bound, a, b = cells[0]
        if -bound <= max(attained * (1.0 + _CLOSE), beyond):
            break
        middle = 0.5 * b if a == 0.0 else math.sqrt(a * b)
        known[middle] = moment(middle)
        attained = max(attained, known[middle] / (middle * (1.0 + middle)))
        heapq.heapreplace(cells, (-_most(a, known[a], middle, known[middle]), a, middle))
        heapq.heappush(cells, (-_most(middle, known[middle], b, known[b]), middle, b))
    return max(-cells[0][0], beyond)


def _most(a: float, at_a: float, b: float, at_b: float) -> float:
    """The largest (c + dt)/(t(1 + t)) on [a, b] of the chord through both values of K."""
    d = (at_b - at_a) / (b - a)
    if a == 0.0:
        return d
    c = at_a - d * a
    places = [a, b]
    if d > 0.0 and c * (c - d) > 0.0:
        root = math.sqrt(c * (c - d))
        places += [t for t in ((-c - root) / d, (-c + root) / d) if a < t < b]
    return max((c + d * t) / (t * (1.0 + t)) for t in places) * (1.0 + _ROUNDING)
