"""How to cut a batch: one joint draw for all answers, independent noise on each, or joint noise on blocks of them.

A block of size b gets one joint draw; a batch of Q answers takes ⌈Q/b⌉ blocks, so one release is that many compositions. If one
person can touch at most l0 answers, at most min(l0, ⌈Q/b⌉) blocks change, and only these compose: blocks of size 1 (product
noise) then cost l0 compositions instead of Q. The joint law of a block is judged at its corner shift, which dominates all shifts
with fewer moved coordinates (docs/worst-shift.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from leastnoise import classic
from leastnoise.ball import sphere
from leastnoise.designer.rivals import plain_cube
from leastnoise.errors import LeastNoiseError
from leastnoise.noise import Domain, Noise
from leastnoise.privacy.loss import PrivacyLoss

LEAST_SPHERE = 8  # answers from which the ball-shaped law may beat the cube-shaped one


@dataclass(frozen=True)
class Split:
    """Blocks of `size` answers; `blocks` draws serve the batch and one person can change at most `touched` of them."""

    size: int
    blocks: int
    touched: int


def splits(batch: int, touched: int) -> list[Split]:
    """Sensible ways to cut a batch of answers of which one person can touch at most `touched`."""
    sizes = {1, batch} | {
        math.ceil(batch / parts) for parts in (2, 3, 4, 5, 8, 10, 16) if parts < batch
    }
    if 1 < touched < batch:
        sizes |= {touched}
    return [
        Split(size, math.ceil(batch / size), min(touched, math.ceil(batch / size)))
        for size in sorted(sizes)
    ]


def plain_epsilon(
    split: Split,
    *,
    sigma: float,
    sensitivity: float,
    delta: float,
    compositions: int,
    domain: Domain,
) -> float:
    """ε of the split with laws that need no optimisation: a guide to which splits deserve it."""
    laws: list[Noise] = []
    if split.size == 1:
        laws = [classic.gaussian(sigma), classic.laplace(sigma)]
    else:
        try:
            laws.append(plain_cube(sigma, split.size, sensitivity, domain))
            if split.size >= LEAST_SPHERE:
                laws.append(sphere(sigma, split.size, sensitivity=sensitivity, domain=domain))
        except LeastNoiseError:
            pass
    found = [math.inf]
    for law in laws:
        try:
            found.append(
                PrivacyLoss.of(law, sensitivity)
                .compose(compositions * split.touched)
                .epsilon(delta)
            )
        except LeastNoiseError:
            continue
    return min(found)
