"""The second judge on designs in the range of the paper's figures and on random laws: whether it
proves what the first one states, how far its bounds on δ(ε) are from the stated δ, and how long it
takes.

*slack* is 1 − upper/δ and *below* 1 − lower/δ; *first* and *second* are seconds of the processor of
the two judges.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from leastnoise import PrivacyLoss, cube, design, exact, sphere
from leastnoise.artefact.rigorous import proof_of_draws
from leastnoise.changes import BOX
from proof.random_laws import random_artefact

DELTA = 1e-6
FIGURES = [(sigma, n) for sigma in (1.0, 2.0, 4.0, 8.0, 16.0) for n in (1, 3, 10, 30, 100)]
BATCHES = [("cube", 10, 1), ("cube", 10, 3), ("cube", 30, 1), ("sphere", 60, 1), ("sphere", 60, 3)]
RANDOM = 300


def main() -> None:
    print(
        f"{'law':<22} {'uses':>4} {'epsilon':>9} {'proven':>6} {'slack':>8} {'below':>8} ", end=""
    )
    print(f"{'first':>6} {'second':>6}  how")
    for sigma, n in FIGURES:
        noise = design(delta=DELTA, sigma=sigma, compositions=n).lattice_noise()
        _row(f"ours, sigma {sigma:g}", exact(noise, delta=DELTA, compositions=n), n)
    for name, answers, n in BATCHES:
        noise = (
            exact(cube(8.0, answers), delta=DELTA, compositions=n)
            if name == "cube"
            else sphere(8.0, answers)
        )
        _row(f"{name}, {answers} answers", noise, n)
    _random()


def _row(name: str, noise, n: int) -> None:
    begun = time.process_time()
    epsilon = PrivacyLoss.of(noise, 1.0).compose(n).epsilon(DELTA)
    middle = time.process_time()
    found = proof_of_draws([(noise, 1.0, n, BOX)], epsilon, DELTA)
    spent = time.process_time() - middle
    print(
        f"{name:<22} {n:>4} {epsilon:>9.5f} {'yes' if found.ok else 'NO':>6} "
        f"{1.0 - found.upper / DELTA:>8.1e} {1.0 - found.lower / DELTA:>8.1e} "
        f"{middle - begun:>6.2f} {spent:>6.2f}  {found.how}",
        flush=True,
    )


def _random() -> None:
    slacks, times, refuted, unproven = [], [], 0, []
    for seed in range(RANDOM):
        stated = random_artefact(seed)
        use = stated.guarantee
        begun = time.process_time()
        draws = [(stated.noise, use.sensitivity, use.compositions, use.changes)]
        found = proof_of_draws(draws, use.epsilon, use.delta)
        times.append(time.process_time() - begun)
        slacks.append(1.0 - found.upper / use.delta)
        refuted += found.lower > use.delta
        if not found.ok:
            unproven.append(found.proven_epsilon / use.epsilon - 1.0)
    print(f"\n{RANDOM} random laws: {refuted} refuted, {len(unproven)} not proven", end="")
    print(f", which are within {max(unproven):.1e} of epsilon" if unproven else "", end="; ")
    print(f"slack {median(slacks):.1e} in the middle and {max(slacks):.1e} at most; ", end="")
    print(
        f"{median(times):.2f} s in the middle, {max(times):.1f} s at most, "
        f"{sum(times):.0f} s in all"
    )
