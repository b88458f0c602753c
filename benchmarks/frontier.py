"""What a cap on the attacker's advantage costs: the least noise certified under each, beside single
kinds of noise, and an attacker who tries a capped joint law a million times.

Ten answers together and one answer, ε = 1 at δ = 1e-6. "known" is what was computed before this was
built: certified, or by Monte Carlo or a linear program without a proof (≈).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from leastnoise import design, frontier
from leastnoise.artefact.exact import as_drawn
from leastnoise.laws.base import Noise
from leastnoise.laws.flat_sphere import FlatSphereNoise
from leastnoise.laws.lattice import LatticeNoise
from leastnoise.sampling import InsecureSeededEntropy, draw

PROMISE = {"epsilon": 1.0, "delta": 1e-6}
TEN = {0.394: "6.633", 0.29: "≈ 7.21", 0.243: "7.484", 0.2: "≈ 8.0", 0.17: "≈ 8.50", 0.15: "≈ 9.1"}
TEN |= {0.1403: "9.612", 0.12: "≈ 10.5", 0.1: "≈ 12.2", 0.0943: "13.360, ≈ 12.85"}
ONE = {0.452: "1.385", 0.4: "1.404", 0.3: "1.499", 0.2: "1.809", 0.15: "2.197", 0.12: "2.621"}
ONE |= {0.094: "3.237"}
DRAWS, CHUNK = 1_000_000, 100_000

Height = Callable[[np.ndarray], np.ndarray]


def print_frontier(answers: int, known: dict[float, str]) -> None:
    """A row for each cap."""
    start = time.process_time()
    points = frontier(**PROMISE, batch=answers, advantages=list(known))
    took = (time.process_time() - start) / len(points)
    print(f"{answers} answer(s), {took:.1f} s a cap")
    head = f"{'cap':>7}{'certified':>11}{'σ':>9}  {'noise':20}{'blocks':>9}{'sphere':>9}"
    print(f"{head}{'Gaussian':>10}{'bound':>8}   known")
    for point in points:
        single = [point.others.get(kind, math.nan) for kind in ("blocks", "sphere", "Gaussian")]
        blocks, sphere, normal = (f"{one:.4f}" if one == one else "–" for one in single)
        print(
            f"{point.advantage:7.4f}{point.certified:11.5f}{point.sigma:9.4f}  {point.kind:20}"
            f"{blocks:>9}{sphere:>9}{normal:>10}{point.bound:8.3f}   {known[point.advantage]}"
        )
    print()


def of_shells(law: LatticeNoise) -> Height:
    """The density of a law of shells, but for a factor."""
    most = law.shell_masses.size + 2 * round(1.0 / law.step)
    density = np.append(np.asarray(law.pmf(np.arange(most)), dtype=np.float64), 0.0)

    def height(place: np.ndarray) -> np.ndarray:
        shell = np.max(np.floor(np.abs(place) / law.step + 0.5), axis=-1).astype(int)
        return density[np.minimum(shell, most)]

    return height


def of_flat_sphere(law: FlatSphereNoise) -> Height:
    """Something that grows with the density."""

    def height(place: np.ndarray) -> np.ndarray:
        return -np.maximum(np.sqrt(np.sum(place**2, axis=-1)), law.core * law.scale)

    return height


def gained(law: Noise, height: Height, seed: int) -> float:
    """What the likelihood-ratio test of the corner shift gains over guessing."""
    found = 0.0
    for part in range(DRAWS // CHUNK):
        noise = draw(law, CHUNK, entropy=InsecureSeededEntropy(seed + part)).floats()
        noise = noise.reshape(CHUNK, law.dimension)
        first, second = height(noise) > height(noise - 1.0), height(noise + 1.0) > height(noise)
        found += float(np.mean(first) - np.mean(second))
    return found * CHUNK / DRAWS


def print_attacks() -> None:
    """Capped joint laws, attacked."""
    print(f"the likelihood-ratio test, {DRAWS:,} draws with and without the person")
    attacked = ((1, 1e-6, 0.2), (2, 1e-2, 0.4), (3, 1e-2, 0.42), (3, 1e-6, 0.1), (10, 1e-6, 0.12))
    for answers, delta, cap in attacked:
        best = design(epsilon=1.0, delta=delta, batch=answers, advantage=cap)
        law = as_drawn(best.noise, delta=delta)
        if isinstance(law, FlatSphereNoise):
            height = of_flat_sphere(law)
        elif isinstance(law, LatticeNoise) and best.is_joint:
            height = of_shells(law)
        else:
            print(f"  {answers} answer(s): {best.origin} noise is not attacked here")
            continue
        error = math.sqrt(0.5 / DRAWS)
        print(
            f"  {answers} answer(s), cap {cap}, {best.origin}: certified "
            f"{best.constraints[1].certified:.5f}, gained {gained(law, height, 100 * answers):.5f} "
            f"± {2.0 * error:.5f}"
        )


def main() -> None:
    print_frontier(10, TEN)
    print_frontier(1, ONE)
    print_attacks()


if __name__ == "__main__":
    main()
