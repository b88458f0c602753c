"""From the law in a file, as it is drawn, to its pair (docs/formats.md#the-artefact)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from leastnoise.errors import UnsupportedError
from leastnoise.proof.balls import Ball, ball
from leastnoise.proof.changes import Moved, read_changes, squared_length, tied_length
from leastnoise.proof.norms import norm_counts, pure_pair, range_pair
from leastnoise.proof.pairs import NormalPair, Pair, SpherePair
from leastnoise.proof.shells import cube_pair, read_shells

_PLACES = 1 << 16  # of the public lattice in a step of the real line
Law = Mapping[str, Any]


def pair_of(law: Law, sensitivity: float, changes: Mapping[str, Any] | None) -> Pair:
    """The pair of one draw of a law, for one person who can make these changes.

    Args:
        law: As an artefact has it.
        sensitivity: How far one person moves each answer.
        changes: As an artefact has them; None for the box.

    Returns:
        A pair of which δ(ε) is at least that of what is published, for every change.

    Raises:
        UnsupportedError: The kind of law, or these changes of it, are not covered; the message says
            which.
    """
    body = law.get("body")
    if body not in _BODIES:
        raise UnsupportedError(f"Laws of the body {body!r} are not covered by the rigorous proof.")
    answers = law["base"]["batch"] - 1 if body == "lifted" else law["batch"]
    return _BODIES[body](law, read_changes(changes, answers, sensitivity))


def _exact_step(law: Law) -> Fraction:
    """The number that a step stands for: rounded up to 31 significant bits."""
    mantissa, exponent = math.frexp(law.get("step", 1.0))
    return math.ceil(math.ldexp(mantissa, 31)) * Fraction(2) ** (exponent - 31)


def _is_whole(law: Law) -> bool:
    return bool(law.get("domain") == "integer")


def _pitch(law: Law) -> Fraction:
    return Fraction(1) if _is_whole(law) else _exact_step(law) / _PLACES


def _cube(law: Law, moved: Moved) -> Pair:
    """Whatever the changes, the corner of the box around them is the worst. On the real line a
    change that is no whole number of steps is a mixture of such that are."""
    answers = law["batch"]
    return cube_pair(read_shells(law, None, answers), answers, moved.steps(_exact_step(law)))


def _lifted(law: Law, moved: Moved) -> Pair:
    """An answer gets (X_i + τ_i·X_0)/2: a change v is that of X by (s, 2v_i − τ_i·s), within ±s."""
    step = _exact_step(law["base"])
    s = moved.steps(step) * step
    ties = law.get("ties") or [1] * moved.answers
    for (low, high), tie in zip(moved.on(step / _PLACES), map(Fraction, ties), strict=True):
        if low < (tie - 1) / 2 * s or high > (tie + 1) / 2 * s:
            raise UnsupportedError("Changes beyond what the hidden count is made for: no cover.")
    return _cube(law["base"], moved)


def _norm(law: Law, moved: Moved) -> Pair:
    body, answers, few = law["body"], law["batch"], law["touched"]
    if moved.kind == "euclidean" or moved.touched > few:
        raise UnsupportedError("Changes beyond what the norm is made for: not covered.")
    if body != "touched" and not moved.is_one_sided:
        raise UnsupportedError("Changes that are not all up or all down: not covered.")
    size = law["first"] + len(law["weights"])
    shells = read_shells(law, norm_counts(body, answers, few, size), answers)
    steps = moved.steps(_exact_step(law))
    if body == "range" and steps <= 3:
        return range_pair(shells, answers, moved.touched, steps)
    return pure_pair(shells, steps)


def _round(law: Law, dimension: int, squared: Ball) -> Pair:
    """A density that falls with the length: the longest change is the worst."""
    ratio = squared.sqrt() / ball(law["scale"])
    if law.get("core") == "gaussian":
        return NormalPair(ratio)
    return SpherePair(ratio / 2, dimension)


def _sphere(law: Law, moved: Moved) -> Pair:
    """Of a part of a sphere the coordinates that are not shown are post-processed away."""
    squared = squared_length(moved, _pitch(law), _is_whole(law))
    return _round(law, law.get("of", law["batch"]), squared)


def _bent(law: Law, moved: Moved) -> Pair:
    if law["freedom"] == law["batch"]:  # e^(−(r/b)²): normal of variance b²/2
        squared = squared_length(moved, _pitch(law), _is_whole(law))
        return NormalPair((2 * squared).sqrt() / ball(law["scale"]))
    if law["freedom"] == 2 * law["batch"]:
        return _sphere(law, moved)
    raise UnsupportedError("The bent sphere between sphere and normal noise is not covered.")


def _correlated(law: Law, moved: Moved) -> Pair:
    """MZ with M = I + β·ggᵀ, after widths w: Z moved by M⁻¹(v/w), ‖·‖² = ‖v/w‖² − x(g·v/w)²."""
    answers, pitch = law["batch"], _pitch(law)
    shares = [Fraction(one) for one in law.get("shares") or [1] * answers]
    widths = [Fraction(one) for one in law.get("widths") or [1] * answers]
    beta, norm = Fraction(law["common"]), sum(one * one for one in shares)
    a = 2 * beta + beta * beta * norm
    if moved.kind == "euclidean":
        squared = squared_length(moved, pitch, _is_whole(law)) / ball(min(widths) ** 2)
    else:
        squared = tied_length(moved, pitch, a / (1 + a * norm), shares, widths)
    return _round(law, answers, squared)


_BODIES: dict[str | None, Callable[[Law, Moved], Pair]] = {
    None: _cube,
    "lifted": _lifted,
    "range": _norm,
    "touched": _norm,
    "count": _norm,
    "sphere": _sphere,
    "part of sphere": _sphere,
    "bent sphere": _bent,
    "correlated": _correlated,
}
