"""Terms that are nearly always too small to be seen, made large: what lies beyond a table, a
window, a list of shells."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from leastnoise import AccountingError, LatticeNoise, PrivacyLoss, sphere
from leastnoise.accountant import saddle as saddles
from leastnoise.accountant import window as windows
from leastnoise.accountant.grid import Grid, discretised
from leastnoise.accountant.window import Window
from leastnoise.lattice import overlap, shells
from leastnoise.lattice.radial import is_non_increasing
from leastnoise.losses.gaussian import GaussianLoss
from leastnoise.losses.lattice import joint_table, lattice_loss, mass_beyond
from leastnoise.losses.table import TableLoss

pytestmark = pytest.mark.portable


@pytest.mark.parametrize("kept", [0.9, 0.5, 0.1])
@pytest.mark.parametrize("theta", [0.0, 0.7])
def test_a_window_that_does_not_hold_all_of_the_sum(kept, theta):
    """A known law on 400 points, of which the window holds a part: δ lies between its bounds at
    every ε of the window."""
    pitch, rng = 0.05, np.random.default_rng(1)
    points = np.arange(-200, 200)
    p = rng.random(points.size)
    p /= p.sum()
    log_scale = math.log(float(np.sum(p * np.exp(theta * pitch * points))))
    tilted = p * np.exp(theta * pitch * points - log_scale)
    first, last = 100, 100 + round(kept * 300) - 1
    window = Window(
        pitch=pitch,
        first=int(points[first]),
        theta=theta,
        log_scale=log_scale,
        tilted=tilted[first : last + 1],
        point_error=0.0,
        lost_above=float(tilted[last + 1 :].sum()),
        lost_below=float(tilted[:first].sum()),
        releases=1,
        loss_error=0.0,
        mass_error=0.0,
    )
    for epsilon in pitch * (points[first:last] + 0.5):
        exact = float(np.sum(p * np.maximum(-np.expm1(epsilon - pitch * points), 0.0)))
        assert math.exp(window.log_delta(epsilon, upper=True)) >= exact * (1 - 1e-12)
        assert math.exp(window.log_delta(epsilon, upper=False)) <= exact * (1 + 1e-12)
    # What came back into the window at its other end is taken off the lower bound, and each entry
    # may be wrong.
    wrapped = replace(
        window,
        lost_above=0.0,
        tilted=window.tilted + window.lost_below / window.tilted.size,
        point_error=1e-5,
    )
    plain = replace(wrapped, lost_below=0.0, point_error=0.0)
    middle = pitch * (points[first] + 10.5)
    assert wrapped.log_delta(middle, upper=False) < plain.log_delta(middle, upper=False)
    assert wrapped.log_delta(middle, upper=True) > plain.log_delta(middle, upper=True)


@pytest.mark.parametrize("mu", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("reach", [0.5, 1.0, 2.0])
def test_a_table_of_gaussian_noise_that_ends_early(mu, reach):
    """What lies above its last point counts there, and as infinite; what lies below its first one
    is raised to it."""
    loss = GaussianLoss(mu)
    low, high = 0.5 * mu**2 - reach * mu, 0.5 * mu**2 + reach * mu
    table = loss.table(mu / 16, low, high)
    for epsilon in np.linspace(low - mu, high + mu, 41):
        assert float(table.profile(epsilon)) >= float(loss.profile_lower(epsilon)) * (1 - 1e-12)
    assert table.infinite >= float(loss.profile_lower(table.largest))


@pytest.mark.parametrize("dimension", [2, 3, 8])
def test_shells_that_are_not_listed(dimension):
    """Their mass is bounded from above, and counts at no smaller loss than any of them has."""
    noise = LatticeNoise.from_weights(
        [1.0, 0.8, 0.75, 0.3, 0.28], 0.6, dimension=dimension, step=0.5
    )
    shift, full = 2, 600
    log_h = noise.log_pmf(np.arange(full + shift + 1)) - math.log(noise.total)
    masses = np.exp(log_h + shells.log_shell_count(dimension, np.arange(log_h.size)))
    whole = noise.loss(1.0)
    first = next(k for k in range(noise.last + shift, full) if mass_beyond(noise, k) < 0.5)
    for reach in (first, first + 5, first + 40):
        assert mass_beyond(noise, reach) >= float(masses[reach + 1 :].sum()) > 0.0
        pairs = overlap.corner_pairs(dimension, shift, reach + shift)
        short = joint_table(noise, log_h[: reach + shift + 1], pairs, reach, shift)
        for epsilon in np.linspace(0.0, 2.0, 21):
            assert float(short.profile(epsilon)) >= float(whole.profile_lower(epsilon)) * (
                1 - 1e-12
            )
            assert float(short.profile_lower(epsilon)) <= float(whole.profile(epsilon)) * (
                1 + 1e-12
            )


def test_a_tail_that_falls_faster_than_what_is_listed():
    """The largest loss that is listed is larger than the tail's, and what is not listed may have it
    too."""
    noise = LatticeNoise.from_weights([1.0, 0.1, 0.09], 0.6, dimension=2)
    shift = 1
    whole = lattice_loss(noise, shift)
    reach = noise.last + shift
    log_h = noise.log_pmf(np.arange(reach + shift + 1)) - math.log(noise.total)
    short = joint_table(noise, log_h, overlap.corner_pairs(2, shift, reach + shift), reach, shift)
    assert short.largest >= math.log(10.0) * (1 - 1e-12)
    for epsilon in np.linspace(0.0, 2.2, 23):
        assert float(short.profile(epsilon)) >= float(whole.profile_lower(epsilon)) * (1 - 1e-12)


@pytest.mark.parametrize("rise", [1e-13, 1e-11, 1e-9])
def test_a_law_that_rises_a_little_rises(rise):
    assert not is_non_increasing(np.array([0.0, -1.0, -1.0 + rise, -2.0]))
    assert not is_non_increasing(np.array([0.0, -30.0, -30.0 * (1 - rise), -31.0]))
    assert is_non_increasing(np.array([0.0, -1.0, np.nextafter(-1.0, 0.0), -2.0]))  # rounding


@pytest.mark.parametrize("answers", [2, 60])
def test_a_sphere_whose_losses_are_beyond_the_proof(answers):
    noise = sphere(1.0, answers)
    most = 2.0e4 * noise.scale / math.sqrt(answers)
    assert noise.loss(0.9 * most).largest < 2.0e4
    for times in (1.1, 10.0, 1e4):
        with pytest.raises(AccountingError, match="up to 20,000"):
            noise.loss(times * most)


@pytest.mark.parametrize("theta", [0.0, 0.3])
def test_what_lies_outside_a_window_is_bounded(theta):
    """Forty losses of ±1: the tilted sum is binomial."""
    releases, up = 40, 0.6
    one = TableLoss(np.array([-1.0, 1.0]), np.log([1 - up, up]))
    saddle = saddles._saddle(((one, releases),), theta)
    grid = Grid.of(one, 0.5, theta)
    tilted_up = up * math.exp(theta) / (up * math.exp(theta) + (1 - up) * math.exp(-theta))
    sums = 2.0 * np.arange(releases + 1) - releases
    masses = stats.binom.pmf(np.arange(releases + 1), releases, tilted_up)
    for end in np.arange(-39.5, 40.0, 4.0):
        above, below = (
            windows._outside([grid], [releases], saddle, end, sign) for sign in (1.0, -1.0)
        )
        assert float(masses[sums > end].sum()) * (1 - 1e-12) <= above <= 1.0
        assert float(masses[sums < end].sum()) * (1 - 1e-12) <= below <= 1.0
    assert windows._outside([grid], [releases], saddle, 40.0, 1.0) == 0.0
    assert windows._outside([grid], [releases], saddle, -40.0, -1.0) == 0.0


def test_losses_that_are_cut_off_are_charged():
    loss = GaussianLoss(1.0)
    saddle = saddles.saddle_for_delta(((loss, 3),), 1e-6)
    table = discretised(loss, saddle, 0.1, 1 << 20)
    _, truncated = windows.window_at(((loss, 3),), saddle, 0.1, 1 << 20)
    assert truncated >= 3.0 * float(loss.profile_lower(table.largest)) > 0.0


def with_a_heavy_top(largest: float, seed: int) -> TableLoss:
    """Three hundred losses and their mirror images, the largest as heavy as half of the others
    together."""
    rng = np.random.default_rng(seed)
    loss = np.sort(rng.random(300)) * largest
    weights = rng.random(300)
    weights[-1] += 150.0
    p = np.concatenate([weights, weights * np.exp(-loss)])
    return TableLoss(np.concatenate([loss, -loss]), np.log(p / p.sum()))


@pytest.mark.parametrize("largest", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("delta", [1e-2, 3e-4, 1e-4, 3e-5])
def test_kinks_of_the_profile_stay_where_they_are(largest, delta):
    """Two releases whose largest losses are on no common grid, against all sums of their losses: a
    kink that is moved by a coarse pitch raises ε by up to 5e-4 of itself."""
    one, other = with_a_heavy_top(largest, 1), with_a_heavy_top(0.7 * largest, 2)
    sums = np.add.outer(one.loss, other.loss).ravel()
    masses = np.exp(np.add.outer(one.log_p, other.log_p)).ravel()

    def exact(epsilon: float) -> float:
        return float(np.sum(masses * np.maximum(-np.expm1(epsilon - sums), 0.0)))

    lower, upper = PrivacyLoss(((one, 1), (other, 1))).epsilon_bounds(delta)
    assert exact(upper) <= delta * (1 + 1e-12)
    assert exact(upper * (1 - 1e-4)) > delta
    assert exact(lower) >= delta * (1 - 1e-12)
