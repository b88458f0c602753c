"""What one person can change: the variance of one answer at ε = 1, δ = 1e-6 for d answers released
together, beside what is known from others.

*box* is our design for changes of any signs of all d answers, *real* and *integer* our designs for
the changes of the row, *seconds* the time of the processor for both. *Gaussian* is independent
noise, *best* the Gaussian noise of the best correlation for these changes, *Lebeda* its closed form
(2024), (1 + √d)/2 times the noise of one answer, *OpenDP* what that library needs for independent
Gaussian noise, *K-norm* the least pure noise of a norm (Joseph & Yu 2023, 'count' and 'sum'), for
which no δ is needed.

Then releases of real tables, at the same ε and δ, with the small share of ε that a plan's checks
take: *stated* and *measured* standard deviations of the noise of one number, in sensitivities, over
400 releases, the share of all numbers *within* their 95 % ±, and the standard deviation of the best
*Gaussian* noise for the same changes. The first line of each pair is for changes of any signs, the
second for what the plan derives.
"""

from __future__ import annotations

import importlib.util
import math
import sys
import time
from fractions import Fraction
from pathlib import Path

from leastnoise import Box, Changes, Design, OneSided, design, gaussian
from leastnoise.designer.calibrate import least_sigma
from leastnoise.laws.correlated import gaussian_reach

EPSILON, DELTA = 1.0, 1e-6
SIZES = (2, 5, 10, 20, 40, 100)
RELEASES = 400
HALVES = (10, 20, 40)  # answers of which one person touches half


def main() -> None:
    found = least_sigma(gaussian, EPSILON, (1.0, 20.0), sensitivity=1.0, delta=DELTA, draws=1)
    unit = (found or math.nan) ** 2  # the variance of Gaussian noise for a change of length 1
    boxes = {d: _design(d, Box()) for d in SIZES}
    print(
        f"{'one person moves':<26} {'box':>8} {'real':>8} {'integer':>8}  {'law':<20} "
        f"{'seconds':>7} | {'Gaussian':>8} {'best':>8} {'Lebeda':>8} {'OpenDP':>8} {'K-norm':>8}"
    )
    counts = {d: _row(d, OneSided(), boxes[d], unit) for d in SIZES}
    for d in HALVES:
        _row(d, OneSided(touched=d // 2), boxes[d], unit)
    for d in HALVES:
        _row(d, Box(touched=d // 2), boxes[d], unit)
    print(
        "\nAll answers touched, standard deviations; ratio: of the variances of best and counts\n"
    )
    print(
        f"{'answers':>7} {'Gaussian':>9} {'best':>7} {'any signs':>10} {'counts':>7} {'ratio':>6}"
    )
    for d, ours in counts.items():
        best = unit * gaussian_reach(d, OneSided())
        signs, count, ratio = boxes[d].noise.std, ours.noise.std, best / ours.noise.variance
        known = f"{math.sqrt(unit * d):9.2f} {math.sqrt(best):7.2f}"
        print(f"{d:>7} {known} {signs:10.2f} {count:7.2f} {ratio:6.2f}")
    _real_tables()


def _real_tables() -> None:
    """Prints what releases of real tables show."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
    from releases import shaped

    print(f"\nReal tables, {RELEASES} releases of each plan\n")
    print(
        f"{'release':<52} {'one person moves':<26} {'law':<10} {'stated':>7} {'measured':>9} "
        f"{'within':>7} {'Gaussian':>9}"
    )
    for make in shaped.cases().values():
        case = make()
        for any_signs in (True, False):
            seen = shaped.measured(case, RELEASES, any_signs=any_signs)
            print(
                f"{case.title if any_signs else '':<52} {seen.moved:<26} {seen.law:<10} "
                f"{seen.stated:7.2f} {seen.error:9.2f} {seen.within:7.1%} {seen.gaussian:9.2f}",
                flush=True,
            )


def _design(d: int, changes: Changes, domain: str = "real") -> Design:
    return design(delta=DELTA, epsilon=EPSILON, batch=d, changes=changes, domain=domain)


def _row(d: int, changes: Changes, box: Design, unit: float) -> Design:
    """Prints a row, and gives the design for whole numbers."""
    k, is_one_sided = changes.touched_of(d), changes.is_one_sided
    start = time.process_time()
    real, whole = (_design(d, changes, domain) for domain in ("real", "integer"))
    seconds = time.process_time() - start
    lebeda = unit * (1.0 + math.sqrt(d)) ** 2 / 4.0 if is_one_sided and k == d else math.nan
    pure = (count_variance if is_one_sided else sum_variance)(d, k) / EPSILON**2
    words = "all up or down" if is_one_sided else "any signs"
    print(
        f"{k:>3} of {d:>3}, {words:<15} {box.noise.variance:8.2f} {real.noise.variance:8.2f} "
        f"{whole.noise.variance:8.2f}  {whole.origin:<20} {seconds:7.1f} | {unit * k:8.2f} "
        f"{unit * gaussian_reach(d, changes):8.2f} {_shown(lebeda)} {_shown(_opendp(k))} "
        f"{float(pure):8.2f}",
        flush=True,
    )
    return whole


def _shown(number: float) -> str:
    return f"{'–':>8}" if math.isnan(number) else f"{number:8.2f}"


def _opendp(k: int) -> float:
    """The variance of OpenDP's Gaussian noise where a person moves k answers by 1."""
    if importlib.util.find_spec("opendp") is None:
        return math.nan
    from benchmarks.release_accuracy import opendp_scales

    return opendp_scales(EPSILON, float(k), math.sqrt(k))["Gaussian"] ** 2


def sum_variance(d: int, k: int) -> Fraction:
    """Of the density ∝ e^(−r), r the norm whose unit ball is K = {‖x‖∞ ≤ 1, ‖x‖₁ ≤ k}: (d + 1)(d +
    2)·E_K[x_1²]."""
    return (d + 1) * (d + 2) * _square(d, k) / _volume(d, k)


def count_variance(d: int, k: int) -> Fraction:
    """Of the density ∝ e^(−r(x⁺) − r(x⁻)) with the same r: over the orthant with a positive entries
    both factors are integrals of their own, ∫ e^(−r) = a!·V_a and ∫ y_1² e^(−r) = (a + 2)!·M_a.
    With k = d it is (d + 2)(d + 3)/6."""

    def mass(a: int) -> Fraction:
        return math.factorial(a) * _volume(a, k)

    total = sum(math.comb(d, a) * mass(a) * mass(d - a) for a in range(d + 1))
    squares = sum(
        math.comb(d - 1, a - 1) * math.factorial(a + 2) * _square(a, k) * mass(d - a)
        for a in range(1, d + 1)
    )
    return 2 * squares / total


def _volume(a: int, k: int) -> Fraction:
    """V_a, of {y ∈ [0, 1]^a: Σy ≤ k}."""
    terms = ((-1) ** j * math.comb(a, j) * (k - j) ** a for j in range(min(a, k - 1) + 1))
    return Fraction(sum(terms), math.factorial(a))


def _square(a: int, k: int) -> Fraction:
    """M_a, the integral of y_1² over it: ∫ u²·V_{a−1}(k − u) du, with w = k − j − u."""
    n, total = a - 1, Fraction(0)
    for j in range(min(n, k - 1) + 1):
        c = k - j
        over = [Fraction(c**p - (c - 1) ** p, p) for p in (n + 1, n + 2, n + 3)]
        total += (-1) ** j * math.comb(n, j) * (c * c * over[0] - 2 * c * over[1] + over[2])
    return total / math.factorial(n)
