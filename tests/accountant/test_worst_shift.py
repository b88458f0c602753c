"""The worst-shift theorem (docs/worst-shift.md), by enumerating every shift of the box on small
lattices."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import reference_privacy as reference
from leastnoise import LatticeNoise, PrivacyLoss, renyi_divergence
from leastnoise.losses.lattice import lattice_loss

pytestmark = pytest.mark.portable

CASES = [(2, m, seed) for m in (1, 2, 3, 4) for seed in range(4)] + [
    (3, m, seed) for m in (1, 2) for seed in range(2)
]


def random_monotone(dimension: int, seed: int) -> LatticeNoise:
    """Non-increasing with flat stretches, a finite support or a geometric tail."""
    rng = np.random.default_rng(seed)
    last = int(rng.integers(1, 4))
    weights = np.cumsum(rng.exponential(size=last + 1) * rng.integers(0, 2, last + 1))[
        ::-1
    ] + rng.uniform(0.05, 0.5)
    ratio = None if seed % 2 else float(rng.uniform(0.05, 0.2))
    return LatticeNoise.from_weights(weights, ratio, domain="integer", dimension=dimension)


@pytest.mark.parametrize(("dimension", "m", "seed"), CASES)
def test_the_corner_is_worst_for_every_epsilon_and_order(dimension, m, seed):
    law = random_monotone(dimension, seed)
    radius = law.last + m + (0 if law.tail_ratio is None else 6)
    points = reference.lattice_points(law, radius)
    shifts = {
        tuple(sorted(map(abs, v)))
        for v in itertools.product(range(m + 1), repeat=dimension)
        if any(v)
    }
    corner = (m,) * dimension
    tables = {v: reference.loss_table(law, v, radius) for v in shifts}
    missing = 1.0 - sum(points.values())  # of the tail, beyond the enumerated box
    for epsilon in (0.0, 0.05, 0.3, 1.0, 2.5, 6.0):
        worst = reference.delta_of_sequence([tables[corner]], epsilon)
        for v in shifts:
            assert reference.delta_of_sequence([tables[v]], epsilon) <= worst + 1e-12 + missing
        judged = PrivacyLoss.of(law, m).delta_bounds(epsilon)
        assert judged.lower - missing - 1e-12 <= worst <= judged.upper + 1e-12
    for order in (1.2, 2.0, 7.0):
        moments = {
            v: math.inf if infinite > 0 else math.fsum(p * np.exp((order - 1) * loss))
            for v, (loss, p, infinite) in tables.items()
        }
        assert all(
            moment <= moments[corner] * (1 + 1e-9) + missing * 10 for moment in moments.values()
        )
        ours = renyi_divergence(law, order, m)
        assert (math.isinf(ours) and math.isinf(moments[corner])) or ours * (order - 1) >= math.log(
            moments[corner]
        ) - 1e-9


def test_judge_uses_one_table_for_monotone_laws_and_all_shifts_otherwise():
    assert lattice_loss(random_monotone(2, 0), 3).listed is not None
    rippled = LatticeNoise([0.01, 0.5, 0.49], None, domain="integer", dimension=2)
    assert not rippled.is_monotone
    assert len(lattice_loss(rippled, 3).tables) == 9  # (i ≤ j ≤ 3) without (0, 0)


@pytest.mark.parametrize("dimension", [2, 3])
def test_variance_of_one_answer_by_enumeration(dimension):
    law = random_monotone(dimension, 1)
    points = reference.lattice_points(law, law.last)
    assert law.variance == pytest.approx(sum(p * x[0] ** 2 for x, p in points.items()), rel=1e-12)
    smeared = LatticeNoise(law.shell_masses, None, step=0.5, domain="real", dimension=dimension)
    assert smeared.variance == pytest.approx(0.25 * (law.variance + 1 / 12), rel=1e-12)


def test_fractional_shifts_are_no_worse_on_the_real_line():
    # δ for a shift between lattice points is linear between its neighbours, so it never exceeds the
    # larger of the two.
    law = LatticeNoise.from_weights([1.0, 0.8, 0.3, 0.1], 0.4, step=0.5)
    fine = (
        8  # sub-cells per bin: the density is constant on each, so this sum is the exact integral
    )
    k = np.arange(-60 * fine, 60 * fine)
    density = law.pdf((k + 0.5) * law.step / fine) * law.step / fine
    for epsilon in (0.1, 0.5):
        deltas = [
            float(np.sum(np.maximum(density - math.exp(epsilon) * np.roll(density, shift), 0.0)))
            for shift in range(1, 2 * fine + 1)
        ]
        assert max(deltas) == pytest.approx(deltas[-1], rel=1e-12)
        assert PrivacyLoss.of(law, 1.0).delta(epsilon) == pytest.approx(deltas[-1], rel=1e-9)
