"""Ten million draws against the law: tests that the law passes and that a slightly different law
fails.

Seeds are fixed. A test rejects below 1e-12; the law itself must stay above 1e-6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from leastnoise import LatticeNoise, cube, discrete_gaussian, generalized_gaussian
from leastnoise.artefact.exact import exact
from leastnoise.sampling import InsecureSeededEntropy, draw

N = 10_000_000
REJECTED = 1e-12
ACCEPTED = 1e-6


@dataclass(frozen=True)
class Case:
    exponent: float
    domain: str
    shift: int  # sensitivity in lattice steps
    swapped: tuple[int, int]
    seed: int

    def law(self, scale: float = 1.0) -> LatticeNoise:
        if self.domain == "integer":
            return exact(discrete_gaussian(8.0 * scale), delta=1e-6)
        return exact(generalized_gaussian(8.0 * scale, self.exponent, step=0.1), delta=1e-6)


CASES = {
    "discrete gaussian": Case(2.0, "integer", 1, (5, 6), 101),
    "real, between gaussian and laplace": Case(1.5, "real", 10, (30, 90), 202),
}


def counts_of(law: LatticeNoise, seed: int) -> np.ndarray:
    """How often each lattice point −reach … reach was drawn."""
    integers = draw(law, N, entropy=InsecureSeededEntropy(seed)).integers
    if law.domain == "real":
        integers = (integers + 2**16) >> 17
    return np.bincount(integers + REACH, minlength=2 * REACH + 1)


REACH = 2000


def p_values(counts: np.ndarray, law: LatticeNoise, shift: int) -> dict[str, float]:
    x = np.arange(-REACH, REACH + 1)
    p = law.pmf(x)
    return {
        "chi-square": chi_square(counts, p),
        "symmetry": symmetry(counts),
        "moments": moments(counts, x, p),
        "tail": tail(counts, x, p),
        "log-ratio": log_ratio(counts, p, shift),
    }


def chi_square(counts: np.ndarray, p: np.ndarray) -> float:
    heavy = N * p >= 20.0
    seen = np.append(counts[heavy], counts[~heavy].sum())
    expected = N * np.append(p[heavy], p[~heavy].sum())
    return float(stats.chi2.sf(np.sum((seen - expected) ** 2 / expected), seen.size - 1))


def symmetry(counts: np.ndarray) -> float:
    left, right = counts[:REACH][::-1], counts[REACH + 1 :]
    both = left + right
    held = both >= 20
    return float(
        stats.chi2.sf(np.sum((left - right)[held] ** 2 / both[held]), np.count_nonzero(held))
    )


def moments(counts: np.ndarray, x: np.ndarray, p: np.ndarray) -> float:
    """Mean and second moment."""
    z = []
    for power in (1, 2):
        mean = math.fsum(p * x.astype(float) ** power)
        deviation = math.sqrt(math.fsum(p * x.astype(float) ** (2 * power)) - mean**2)
        z.append(
            abs(float(counts @ x.astype(float) ** power) / N - mean) / deviation * math.sqrt(N)
        )
    return min(1.0, 4.0 * float(stats.norm.sf(max(z))))


def tail(counts: np.ndarray, x: np.ndarray, p: np.ndarray) -> float:
    """How often |x| is beyond the quantiles of 1e-2, 1e-3 and 1e-4."""
    worst = 1.0
    for share in (1e-2, 1e-3, 1e-4):
        radius = np.abs(x)
        reach = next(r for r in range(REACH) if p[radius > r].sum() <= share)
        beyond = int(counts[radius > reach].sum())
        worst = min(worst, 3.0 * stats.binomtest(beyond, N, float(p[radius > reach].sum())).pvalue)
    return worst


def log_ratio(counts: np.ndarray, p: np.ndarray, shift: int) -> float:
    """The privacy loss itself: log(count(x)/count(x − m)) against log(p(x)/p(x − m)), the worst x,
    Bonferroni."""
    here, there = slice(shift, None), slice(None, -shift)
    held = (N * p[here] > 1000.0) & (N * p[there] > 1000.0)
    a, b = np.maximum(counts[here][held], 1), np.maximum(counts[there][held], 1)
    z = np.abs(np.log(a / b) - np.log(p[here][held] / p[there][held])) / np.sqrt(1.0 / a + 1.0 / b)
    return min(1.0, z.size * 2.0 * float(stats.norm.sf(z.max())))


@pytest.fixture(scope="module", params=CASES, ids=str)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture(scope="module")
def drawn(case: Case) -> np.ndarray:
    return counts_of(case.law(), case.seed)


def test_the_law_passes(case: Case, drawn: np.ndarray) -> None:
    found = p_values(drawn, case.law(), case.shift)
    assert min(found.values()) > ACCEPTED, found


@pytest.mark.parametrize("scale", [0.97, 1.03])
def test_a_law_scaled_by_three_percent_fails(case: Case, scale: float) -> None:
    found = p_values(counts_of(case.law(scale), case.seed + 1), case.law(), case.shift)
    assert found["symmetry"] > ACCEPTED
    for name in ("chi-square", "moments", "tail"):
        assert found[name] < REJECTED, (name, found)


def test_the_law_shifted_by_one_bin_fails(case: Case, drawn: np.ndarray) -> None:
    found = p_values(np.roll(drawn, 1), case.law(), case.shift)
    for name in ("chi-square", "symmetry", "moments"):
        assert found[name] < REJECTED, (name, found)


def test_a_swapped_pair_of_weights_fails(case: Case) -> None:
    law = case.law()
    masses = law.shell_masses.copy()
    i, j = case.swapped
    masses[[i, j]] = masses[[j, i]]
    other = LatticeNoise(masses, None, law.step, law.domain)
    found = p_values(counts_of(other, case.seed + 2), law, case.shift)
    assert found["symmetry"] > ACCEPTED
    for name in ("chi-square", "log-ratio"):
        assert found[name] < REJECTED, (name, found)


def test_the_privacy_loss_of_a_steeper_law_fails_the_log_ratio(case: Case) -> None:
    """Mass moved between two neighbours leaves the tail as it was and breaks the guarantee."""
    law = case.law()
    masses = law.shell_masses.copy()
    k = 40 if case.domain == "real" else 8
    moved = 0.06 * masses[k]
    masses[k - 1] += moved
    masses[k] -= moved
    found = p_values(
        counts_of(LatticeNoise(masses, None, law.step, law.domain), case.seed + 3), law, case.shift
    )
    assert found["log-ratio"] < REJECTED, found
    assert found["tail"] > ACCEPTED


# --- joint laws ----------------------------------------------------------------------------------

VECTORS = 1_000_000
CUBE = exact(cube(8.0, 10), delta=1e-6)


def joint_p_values(points: np.ndarray) -> dict[str, float]:
    """The radius, and of each coordinate the mean, the mean square and one frequency, against the
    law."""
    radius = np.bincount(np.abs(points).max(axis=1), minlength=CUBE.last + 1)[: CUBE.last + 1]
    expected = CUBE.shell_masses * points.shape[0]
    heavy = expected >= 20.0
    seen, wanted = (
        np.append(radius[heavy], radius[~heavy].sum()),
        np.append(expected[heavy], expected[~heavy].sum()),
    )
    z_mean = np.abs(points.mean(axis=0)) / math.sqrt(CUBE.variance / CUBE.step**2 / points.shape[0])
    square = points.astype(float) ** 2
    target = CUBE.variance / CUBE.step**2 - 1.0 / 12.0
    z_square = np.abs(square.mean(axis=0) - target) / (
        square.std(axis=0) / math.sqrt(points.shape[0])
    )
    inside = np.count_nonzero(np.abs(points) <= 100, axis=0)
    share = 1.0 - 2.0 * float(CUBE.ccdf(100.5 * CUBE.step))
    z_inside = np.abs(inside - share * points.shape[0]) / math.sqrt(
        points.shape[0] * share * (1.0 - share)
    )
    return {
        "radius": float(stats.chi2.sf(np.sum((seen - wanted) ** 2 / wanted), seen.size - 1)),
        "means": min(1.0, 20.0 * float(stats.norm.sf(z_mean.max()))),
        "squares": min(1.0, 20.0 * float(stats.norm.sf(z_square.max()))),
        "inside": min(1.0, 20.0 * float(stats.norm.sf(z_inside.max()))),
    }


def joint_points(law: LatticeNoise, seed: int) -> np.ndarray:
    return (draw(law, VECTORS, entropy=InsecureSeededEntropy(seed)).integers + 2**16) >> 17


def test_a_joint_law_passes_and_its_neighbours_fail() -> None:
    points = joint_points(CUBE, 301)
    found = joint_p_values(points)
    assert min(found.values()) > ACCEPTED, found
    shifted = points.copy()
    shifted[:, 3] += 1
    assert joint_p_values(shifted)["means"] < REJECTED
    fallen = points.copy()
    fallen[:, 7] = np.sign(fallen[:, 7]) * np.maximum(np.abs(fallen[:, 7]) - 1, 0)
    assert joint_p_values(fallen)["squares"] < REJECTED
    for scale in (0.97, 1.03):
        other = exact(cube(8.0 * scale, 10, step=0.1), delta=1e-6)
        found = joint_p_values(joint_points(other, 302))
        assert found["radius"] < REJECTED
        assert found["squares"] < REJECTED
