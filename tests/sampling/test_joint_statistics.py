"""Draws of the joint laws that are fitted to what one person changes, by χ² tests of numbers whose
law is known in closed form; each test is one that a slightly different law fails.

Seeds are fixed. A test rejects below 1e-12; the law itself must stay above 1e-6.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from leastnoise import correlated, cube
from leastnoise.artefact.exact import exact
from leastnoise.laws.correlated import CorrelatedNoise, SharedNoise, shared
from leastnoise.laws.cut_cube import CutCubeNoise
from leastnoise.laws.lifted import LiftedNoise
from leastnoise.laws.sphere import BallNoise
from leastnoise.losses.cube_sums import SumOfSquares
from leastnoise.sampling import InsecureSeededEntropy, draw

REJECTED, ACCEPTED = 1e-12, 1e-6
CELLS = 40


def chi_square(levels):
    """Of numbers in [0, 1] that should be uniform."""
    seen = np.bincount(np.minimum((levels * CELLS).astype(int), CELLS - 1), minlength=CELLS)
    return float(stats.chisquare(seen).pvalue)


def drawn(law, count, seed):
    return draw(law, count, entropy=InsecureSeededEntropy(seed)).floats()


def check(p_values, law, others, count):
    """The law passes all tests, and each of the others fails one by far."""
    found = p_values(drawn(law, count, 1))
    assert min(found.values()) > ACCEPTED, found
    for seed, other in enumerate(others, start=2):
        found = p_values(drawn(other, count, seed))
        assert min(found.values()) < REJECTED, (other, found)


def test_the_cut_cube():
    law = CutCubeNoise(1.0, 13.0, 30, 1.0)
    sums = SumOfSquares.near(30, 13.0)
    grid = np.linspace(0.0, 13.0, 1_000)
    shares = sums.share(grid)[0] / float(sums.share(np.array([13.0]))[0][0])
    edges = law.quantile(np.arange(1, CELLS) / CELLS)

    def p_values(z):
        norm = np.maximum(np.abs(z).max(axis=1), np.linalg.norm(z, axis=1) / math.sqrt(13.0))
        # z/N is on the border of the body and N/b has the law Gamma(d), independently
        squares = np.sum(z**2, axis=1) / norm**2
        place = squares * np.random.default_rng(7).uniform(size=len(z)) ** (2.0 / 30.0)
        return {
            "radius": chi_square(stats.gamma(30.0).cdf(norm)),
            "answer": chi_square(np.searchsorted(edges, z[:, 3]) / CELLS),
            "inside": chi_square(np.interp(place, grid, shares)),
        }

    others = [replace(law, scale=1.03), replace(law, square=12.0), replace(law, square=14.5)]
    check(p_values, law, others, 20_000)


def tied_tail(law, tie, x):
    """P((X_1 + τX_0)/2 > x), X uniform on cubes of the law's mixture."""
    weights, widths = law._cubes
    one, other = 0.5 * widths, 0.5 * abs(tie) * widths
    x, places = np.linspace(0.0, np.max(np.abs(x)), 400)[:, None], np.abs(x)
    level = np.maximum(one - other - x, 0.0) / (2.0 * one)
    if tie:
        level = level + np.clip(one + other - x, 0.0, 2.0 * other) ** 2 / (8.0 * one * other)
    return np.interp(places, x[:, 0], np.sum(weights * level, axis=1))


def level_of(tail, x):
    far = tail(x)
    return np.where(x >= 0.0, far, 1.0 - far)


@pytest.mark.parametrize("ties", [None, (1.0, 0.5, -0.25, 0.0)], ids=["counts", "unequal ranges"])
def test_a_hidden_count(ties):
    base = exact(cube(3.0, 5, step=0.25), delta=1e-6)
    law = LiftedNoise(base, ties)
    each = ties or (1.0,) * 4

    def p_values(z):
        found = {
            f"answer {i}": chi_square(level_of(lambda x, t=tie: tied_tail(law, t, x), z[:, i]))
            for i, tie in enumerate(each)
        }
        # what is common to two answers of one tie drops out of their difference: (X_1 − X_2)/2
        pair = z[:, 0] - z[:, 1] if ties is None else z[:, 0] * each[1] - z[:, 1] * each[0]
        if ties is None:
            found["difference"] = chi_square(level_of(lambda x: tied_tail(law, 1.0, x), pair))
        else:  # (τ_2·X_1 − τ_1·X_2)/2, τ_1 = 1
            found["difference"] = chi_square(level_of(lambda x: tied_tail(law, each[1], x), pair))
        return found

    wider = LiftedNoise(exact(cube(3.2, 5, step=0.25), delta=1e-6), ties)
    looser = LiftedNoise(base, tuple(0.875 * tie for tie in each))
    check(p_values, law, [wider, looser], 30_000)


PARTS = SharedNoise((1.0,) * 5, 0.6, (1.0, 0.5, 0.25, -0.5, 0.0))


@pytest.mark.parametrize("shares", [False, True], ids=["counts", "unequal ranges"])
@pytest.mark.parametrize("core", ["sphere", "gaussian"])
def test_correlated_noise(core, shares):
    law = shared(8.0, PARTS, core=core) if shares else correlated(8.0, 5, core=core)
    assert isinstance(law, CorrelatedNoise)
    d, g = 5, np.array(law.shares or (1.0,) * 5)
    mixed = np.eye(d) + law.common * np.outer(g, g)
    along = g / np.linalg.norm(g)
    across = np.linalg.qr(np.column_stack([along, np.eye(d)[:, :4]]))[0][:, 2]
    one = (
        BallNoise(law.scale, d, law.step).ccdf if core == "sphere" else stats.norm(0, law.scale).sf
    )

    def p_values(noise):
        z = np.linalg.solve(mixed, noise.T).T
        length = np.linalg.norm(z, axis=1) / law.scale
        radius = stats.gamma(d).cdf(length) if core == "sphere" else stats.chi2(d).cdf(length**2)
        return {
            "length": chi_square(radius),
            "along": chi_square(one(z @ along)),
            "across": chi_square(one(z @ across)),
            "one answer": chi_square(one(z[:, 3])),
        }

    others = [replace(law, scale=1.03 * law.scale), replace(law, common=1.1 * law.common)]
    check(p_values, law, others, 50_000)


def test_noise_of_unequal_shares_is_not_that_of_equal_ones():
    law = shared(8.0, PARTS, core="gaussian")
    swapped = replace(law, shares=(0.5, 1.0, 0.25, -0.5, 0.0))
    z = drawn(swapped, 30_000, 9)[:, 0]
    assert chi_square(law.ccdf(z)) < REJECTED
    assert chi_square(law.ccdf(drawn(law, 30_000, 9)[:, 0])) > ACCEPTED
