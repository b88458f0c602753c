"""Sampling: what is drawn is exactly what was judged, from the operating system's entropy, with work that does not show the value.

weights   from a design to the law with integer weights that is judged, saved and sampled
tables    exact integer tables: alias method, first face of a point of a shell
entropy   the operating system, or an insecure seed for tests
draws     noise, and answers with noise, as integers on one public lattice
ball      the same for the ball-shaped law, which is continuous and rounded exactly
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from leastnoise.ball import BallNoise
from leastnoise.noise import Noise
from leastnoise.sampling import ball, draws
from leastnoise.sampling.draws import Draws
from leastnoise.sampling.entropy import (
    Entropy,
    InsecureSeededEntropy,
    OperatingSystemEntropy,
    chosen,
)
from leastnoise.sampling.weights import IntegerWeights, exact, integer_weights

__all__ = [
    "Draws",
    "InsecureSeededEntropy",
    "IntegerWeights",
    "OperatingSystemEntropy",
    "draw",
    "exact",
    "integer_weights",
    "release",
]


def draw(
    noise: Noise, size: int | tuple[int, ...] | None = None, *, entropy: Entropy | None = None
) -> Draws:
    """Independent draws of the noise: for joint laws the answers lie along a last axis of their own."""
    if isinstance(noise, BallNoise):
        return ball.draw_ball(noise, size, entropy=entropy)
    return draws.draw(noise, size, entropy=entropy)


def release(
    noise: Noise, answers: ArrayLike, *, entropy: Entropy | None = None, not_private: bool = False
) -> Draws:
    """The answers, rounded to the public lattice, plus noise; for joint laws the last axis runs over
    the answers of one draw. Any other `entropy` than the operating system's needs `not_private=True`,
    and what is drawn says so."""
    source = chosen(entropy, not_private)
    if isinstance(noise, BallNoise):
        return ball.release_ball(noise, answers, entropy=source)
    return draws.release(noise, answers, entropy=source)
