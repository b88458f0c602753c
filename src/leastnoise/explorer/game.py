"""What a guarantee means, as a game: a release falls, and a visitor says whether one person is in
the data.

Every number is read from certified privacy curves. The dots of the game are drawn by the browser
from the two laws of `Board`, with and without the person. Where there is one answer these are laws
of the published number. Where there are more, what falls is the evidence: the logarithm of how much
more likely the release is with the person. Its laws follow from the curve alone: as a function of
X = e^ε an upper bound on δ that is straight between nodes, convex, 1 at X = 0 and of slope −1 at
least is the curve of a pair of laws, whose mass without the person at the evidence ε is the bend of
the line there, and with the person X times as much. That pair is at least as easy to tell apart as
the releases, so nobody who sees those does better than the best player of the game.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from leastnoise.accountant.attacker import allowed_advantage, gaussian_mu_of, per_cent
from leastnoise.accountant.curve import PrivacyCurve
from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.designer.result import Design
from leastnoise.explorer.picture_numbers import OURS, digits, digits_up
from leastnoise.explorer.sentences import odds
from leastnoise.explorer.setting import PageSetting
from leastnoise.lattice.shells import Floats
from leastnoise.laws.base import Noise
from leastnoise.laws.classic import gaussian
from leastnoise.text.numbers import above

SAME_PROMISE = "Gaussian, same ε and δ"
SAME_VARIANCE = "Gaussian, same variance"
PRIORS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)
FEW, SOME, MANY = 0.01, 0.1, 0.3  # rates of false alarms that are shown as numbers
_RATES = tuple(
    sorted(
        {float(f"{rate:.3g}") for rate in np.geomspace(1e-4, 1.0, 61)}
        | {round(0.02 * k, 2) for k in range(1, 51)}
        | {FEW, SOME, MANY}
    )
)
_REACH = 4.5  # standard deviations of the published number that the board shows on each side
_BINS = 90  # of a published real number
_EQUAL = 5e-4  # two shares closer than this are shown as the same number


@dataclass(frozen=True, eq=False)
class Board:
    """The two laws of the game, on the same places.

    Attributes:
        axis: "number", a published number less the true one without the person, or "evidence".
        places: In units of the answer, or in nats, rising.
        without: Probability of each place without the person.
        present: The same with the person.
    """

    axis: str
    places: Floats
    without: Floats
    present: Floats


def attack(setting: PageSetting, best: Design) -> dict[str, Any]:
    """The board, and what the best attacker can do with this design and with Gaussian noise."""
    curves = _curves(setting, best)
    board = _board(setting, best, curves[OURS])
    rows = [_row(name, curve) for name, curve in curves.items()]
    return {
        "epsilon": best.epsilon,
        "delta": best.delta,
        "answers": setting.answers,
        "sensitivity": setting.sensitivity,
        "domain": setting.domain,
        "std": best.noise.std,
        "priors": list(PRIORS),
        "rates": list(_RATES),
        "laws": rows,
        "allowed": {
            "success": digits_up([_allowed_success(best, prior) for prior in PRIORS]),
            "recognised": digits_up([_allowed_recognised(best, rate) for rate in _RATES]),
        },
        "board": {
            "axis": board.axis,
            "places": digits(board.places),
            "without": board.without.tolist(),
            "present": board.present.tolist(),
        },
        "sentences": _sentences(best, curves),
        "headline": _headline(curves),
        "claim": _claim(curves),
    }


def _curves(setting: PageSetting, best: Design) -> dict[str, PrivacyCurve]:
    """Of the whole use: the design, and Gaussian noise of the same promise and variance."""
    found = {OURS: best.curve()}
    mu = gaussian_mu_of(best.epsilon, best.delta) if best.epsilon > 0.0 else 0.0
    if mu > 0.0:
        found[SAME_PROMISE] = PrivacyLoss.of(gaussian(1.0 / mu)).curve(delta=best.delta)
    # Independent normal noise is judged by the length of the change, in standard deviations.
    length = setting.length if setting.length is not None else math.sqrt(setting.moved)
    change = setting.sensitivity * length
    alike = PrivacyLoss.of(gaussian(best.noise.std), change).compose(setting.compositions)
    found[SAME_VARIANCE] = alike.curve(delta=best.delta)
    return found


def _row(name: str, curve: PrivacyCurve) -> dict[str, Any]:
    recognised = curve.true_positive_rate(np.asarray(_RATES))
    return {
        "name": name,
        "success": digits_up([curve.success(prior) for prior in PRIORS]),
        "recognised": digits_up(recognised.tolist()),
    }


def _allowed_success(best: Design, prior: float) -> float:
    """Right guesses that (ε, δ) allows at a prior: those at the corners of the region of false
    alarms and hits that it allows, or always the likelier answer."""
    if not math.isfinite(best.epsilon):
        return 1.0
    middle = (1.0 - best.delta) / (1.0 + math.exp(min(best.epsilon, 700.0)))
    corners = ((0.0, best.delta), (middle, 1.0 - middle), (1.0 - best.delta, 1.0))
    guesses = [prior * hits + (1.0 - prior) * (1.0 - rate) for rate, hits in corners]
    return min(max(*guesses, prior, 1.0 - prior) * (1.0 + 1e-12), 1.0)


def _allowed_recognised(best: Design, rate: float) -> float:
    """The share of members that (ε, δ) lets an attacker recognise."""
    odds = math.exp(min(best.epsilon, 700.0))
    hits = min(odds * rate + best.delta, 1.0 - (1.0 - best.delta - rate) / odds, 1.0)
    return min(max(hits, rate) * (1.0 + 1e-12), 1.0)


# The board


def _board(setting: PageSetting, best: Design, curve: PrivacyCurve) -> Board:
    if setting.answers == 1 and best.noise.dimension == 1 and setting.length is None:
        return published_board(best.noise, setting.sensitivity)
    return evidence_board(curve)


def published_board(noise: Noise, sensitivity: float) -> Board:
    """One answer: the law of the published number and the same moved by one person. Cells of a real
    number are coarser than the number, which can only make the game harder."""
    reach = _REACH * noise.std
    if noise.domain == "integer":
        places = np.arange(-math.ceil(reach), math.ceil(reach + sensitivity) + 1.0)
        edges = places[:-1]  # P(noise ≤ k)
    else:
        edges = np.linspace(-reach, reach + sensitivity, _BINS)
        half = 0.5 * (edges[1] - edges[0])
        places = np.append(edges - half, edges[-1] + half)
    return Board("number", places, _masses(noise, edges), _masses(noise, edges - sensitivity))


def _masses(noise: Noise, edges: Floats) -> Floats:
    """The probability of each cell between edges, the two ends open."""
    below = np.concatenate([[0.0], np.asarray(noise.cdf(edges)), [1.0]])
    return np.asarray(np.maximum(np.diff(below), 0.0))


def evidence_board(curve: PrivacyCurve) -> Board:
    """The pair of laws whose curve is the upper bound that is straight in e^ε between the nodes."""
    nodes = np.concatenate([-curve.epsilon[:0:-1], curve.epsilon])
    factors = np.append(0.0, np.exp(nodes))
    heights = np.append(1.0, np.clip(curve.delta(nodes), 1.0 - factors[1:], 1.0))
    kept = _hull(factors, heights)
    factors, heights = factors[kept], heights[kept]
    slopes = np.append(np.diff(heights) / np.diff(factors), 0.0)
    bends = np.diff(np.append(-1.0, slopes))
    without = np.maximum(bends, 0.0)
    present = without * factors
    with np.errstate(divide="ignore"):
        places = np.log(factors)
    end = float(nodes[-1]) if len(nodes) > 1 else 1.0
    step = 2.0 * end / _BINS
    # Evidence that settles the matter stands at the ends of the axis.
    places = np.append(np.maximum(places, -end - 2.0 * step), end + 2.0 * step)
    without = np.append(without, 0.0)
    present = np.append(present, max(float(heights[-1]), 0.0))
    seen = (without > 0.0) | (present > 0.0)
    places, without, present = places[seen], without[seen], present[seen]
    return Board("evidence", places, without / without.sum(), present / present.sum())


def _hull(x: Floats, y: Floats) -> list[int]:
    """The corners of the largest convex function below the points: a convex function that is below
    all of them is below it as well."""
    kept: list[int] = []
    for k in range(len(x)):
        while len(kept) > 1 and _is_above(x, y, kept[-2], kept[-1], k):
            kept.pop()
        kept.append(k)
    return kept


def _is_above(x: Floats, y: Floats, left: int, middle: int, right: int) -> bool:
    share = (x[middle] - x[left]) / (x[right] - x[left])
    return bool(y[middle] >= y[left] + share * (y[right] - y[left]))


# Words


def _headline(curves: dict[str, PrivacyCurve]) -> str:
    guess = 0.5 * (1.0 + curves[OURS].advantage)
    return (
        f"Nobody, whatever they know and compute, is right more than {per_cent(guess)} of the time "
        "in the long run."
    )


def _claim(curves: dict[str, PrivacyCurve]) -> str:
    """What the picture of members recognised says."""
    ours = curves[OURS].true_positive_rate(np.asarray([FEW, MANY]))
    few, many = (per_cent(share).removesuffix(" %") for share in ours)
    return (
        f"Of 100 members at most {few} are found where 1 alarm in 100 is false, {many} where "
        f"{100 * MANY:g} are."
    )


def _sentences(best: Design, curves: dict[str, PrivacyCurve]) -> list[str]:
    """Where the design is the more exposed and where it is not, in numbers."""
    ours = curves[OURS]
    allowed = 0.5 * (1.0 + allowed_advantage(best.epsilon, best.delta))
    said = [
        f"From even odds: at most {per_cent(0.5 * (1.0 + ours.advantage))} right guesses. The "
        f"promise, ε = {above(best.epsilon)} at δ = {odds(best.delta)}, would allow "
        f"{per_cent(allowed)}."
    ]
    said += [
        _beside(ours, curves[name], name)
        for name in (SAME_PROMISE, SAME_VARIANCE)
        if name in curves
    ]
    return said


def _beside(ours: PrivacyCurve, other: PrivacyCurve, name: str) -> str:
    rates = np.asarray(_RATES)
    a, b = ours.true_positive_rate(rates), other.true_positive_rate(rates)
    few = _RATES.index(FEW)
    rare = f"{per_cent(a[few])} and {per_cent(b[few])} of members at 1 % false alarms"
    what = "of the same ε and δ" if name == SAME_PROMISE else "of the same variance"
    most = int(np.argmax(np.abs(a - b)))
    if abs(a[most] - b[most]) < _EQUAL:
        return f"Gaussian noise {what} leaves the same to an attacker: {rare}."
    more = "more" if a[most] > b[most] else "less"
    where = (
        f"the difference is largest at {_rounded(rates[most])} false alarms, where this design "
        f"shows {per_cent(a[most])} of members and Gaussian noise {per_cent(b[most])}"
    )
    tail = ""
    if name == SAME_PROMISE and more == "more":
        tail = " Gaussian noise keeps more than was promised, and pays for it with its variance."
    crossing = _crossing(a, b, rates)
    return (
        f"This design is {more} exposed than Gaussian noise {what}: {where}; {rare}."
        f"{crossing}{tail}"
    )


def _crossing(a: Floats, b: Floats, rates: Floats) -> str:
    """Where the other of the two is the more exposed, if anywhere."""
    most = int(np.argmax(np.abs(a - b)))
    sign = math.copysign(1.0, a[most] - b[most])
    contrary = np.flatnonzero(sign * (a - b) < -_EQUAL)
    if not len(contrary):
        return ""
    at = int(contrary[np.argmax(np.abs(a - b)[contrary])])
    return (
        f" Elsewhere it is the other way round: at {_rounded(rates[at])} false alarms "
        f"{per_cent(a[at])} and {per_cent(b[at])}."
    )


def _rounded(rate: float) -> str:
    return f"{100.0 * rate:.3g} %"
