"""Laws to be judged: usual ones, and those at the edges of what a law may be. All from a seeded
source of numbers."""

from __future__ import annotations

import math
from random import Random

import numpy as np

from leastnoise import LatticeNoise


def text(law: object) -> str:
    """What one types to have the law again, to the bit."""
    if isinstance(law, LatticeNoise):
        masses = [float(mass) for mass in law.shell_masses]
        return (
            f"LatticeNoise({masses}, {law.tail_ratio!r}, {law.step!r}, {law.domain!r}, "
            f"{law.dimension})"
        )
    return repr(law)


def size(random: Random, low: float, high: float) -> float:
    """A number between, evenly spread over its powers of ten."""
    return 10.0 ** random.uniform(math.log10(low), math.log10(high))


def weights(random: Random, last: int) -> list[float]:
    """Weights of the points at radius 0 … last, by one of the recipes."""
    k = range(last + 1)
    recipe = random.choice(
        [
            "falling",
            "whole",
            "flat",
            "steep",
            "comb",
            "rippled",
            "hollow",
            "faint",
            "step",
            "equal but one",
        ]
    )
    if recipe == "falling":
        slope, power = size(random, 1e-6, 3.0), random.choice([1.0, 1.0, 1.5, 2.0])
        return [math.exp(-slope * i**power) for i in k]
    if recipe == "whole":
        return sorted(
            (float(random.randint(1, 2 ** random.randint(1, 40))) for _ in k), reverse=True
        )
    if recipe == "flat":
        return [1.0 + random.choice([0.0, 0.0, 2.0**-52, 2.0**-40]) * (last - i) for i in k]
    if recipe == "steep":
        fall = random.choice([2.0**-128, 2.0**-64, 2.0**-20, 1e-9])
        return [max(fall**i, 1e-290) if last > 1 else fall**i for i in k]
    if recipe == "comb":
        low = size(random, 1e-12, 0.5)
        return [(low if i % 2 else 1.0) * math.exp(-0.1 * i) for i in k]
    if recipe == "rippled":
        return [math.exp(-0.3 * i) * random.uniform(0.5, 1.5) for i in k]
    if recipe == "hollow":
        first = random.randint(0, last)
        return [0.0 if i < first else math.exp(-0.2 * i) for i in k]
    if recipe == "faint":
        return [
            1.0 if i == 0 else random.choice([5e-324, 1e-310, 2.3e-308, 1e-300, 1e-200]) for i in k
        ]
    if recipe == "step":
        edge = random.randint(0, last)
        return [
            1.0 if i <= edge else size(random, 1e-30, 1.0) if i == edge + 1 else 1e-31 for i in k
        ]
    odd = random.randint(0, last)
    return [
        random.choice([0.5, 1.5, 1.0 - 2.0**-53, 1.0 + 2.0**-52]) if i == odd else 1.0 for i in k
    ]


def tail(random: Random) -> float | None:
    """No tail, or a ratio: usual, near 0, near 1, or next to either."""
    return random.choice(
        [
            None,
            None,
            random.uniform(0.05, 0.95),
            math.exp(-size(random, 1e-4, 5.0)),
            size(random, 1e-100, 1e-3),
            1.0 - size(random, 1e-9, 1e-3),
            0.5,
        ]
    )


def lattice(
    random: Random, dimension: int = 1, longest: int = 12, *, tails: bool = True
) -> LatticeNoise | None:
    """A law, or None where these weights make none (a tail after an empty shell, one that is too
    long)."""
    last = random.randint(0, longest)
    ratio = tail(random) if tails else None
    if dimension > 1 and ratio is not None and ratio > 0.97:
        ratio = 0.5
    domain = random.choice(["real", "integer"])
    step = 1.0 if domain == "integer" else random.choice([1.0, 0.25, 0.1, 2.0**-30])
    try:
        return LatticeNoise.from_weights(
            weights(random, last), ratio, step=step, domain=domain, dimension=dimension
        )
    except ValueError:
        return None


def geometric(loss: float) -> LatticeNoise:
    """Two losses, ±`loss` about: P(k) ∝ r^|k|."""
    return LatticeNoise.from_weights([1.0], math.exp(-loss), domain="integer")


def epsilons(random: Random, losses: list[float], count: int) -> list[float]:
    """Where profiles are asked: at kinks and next to them, at the ends, near 0, below 0, and
    anywhere."""
    top = max((abs(loss) for loss in losses), default=1.0)
    kinks = random.sample(losses, min(len(losses), count)) if losses else [0.0]
    beside = [
        random.choice(
            [
                x,
                math.nextafter(x, math.inf),
                math.nextafter(x, -math.inf),
                x * (1 - 1e-13),
                x - 1e-9,
            ]
        )
        for x in kinks
    ]
    usual = [
        0.0,
        top,
        math.nextafter(top, 0.0),
        top * (1 - 1e-12),
        top * (1 + 1e-9),
        5e-324,
        1e-17,
        1e-3 * top,
        800.0,
    ]
    usual += [
        random.uniform(-1.1 * top, 1.1 * top),
        random.uniform(0, top),
        -top,
        -size(random, 1e-17, 10.0),
    ]
    return [*random.sample(usual, min(count, len(usual))), *beside][: 2 * count]


def deltas(random: Random) -> float:
    """δ from 1e-30 to 1e-2 mostly, and the ends of its range."""
    usual = size(random, 1e-30, 1e-2)
    return random.choice([usual] * 8 + [0.5, 0.99, 1.0 - 2.0**-53, 1e-300, 1e-100])


def monotone_weights(random: Random, last: int) -> list[float]:
    """Whole weights that do not rise."""
    drawn = np.cumsum([random.choice([0, 1, 2, 7, 1000]) for _ in range(last + 1)])[
        ::-1
    ] + random.randint(1, 5)
    return [float(weight) for weight in drawn]
