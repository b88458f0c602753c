"""Where the accountant cannot be sure it says so: it raises, or its bound is +∞ above and 0 below,
never a number in between."""

import math
from dataclasses import replace

import numpy as np
import pytest

from leastnoise import (
    AccountingError,
    LatticeNoise,
    PrivacyLoss,
    UnsupportedError,
    gaussian,
    laplace,
)
from leastnoise.accountant import lower as lower_bounds
from leastnoise.accountant.grid import Grid, discretised
from leastnoise.accountant.saddle import GridSettings, saddle_for_delta
from leastnoise.losses.gaussian import GaussianLoss
from leastnoise.losses.lattice import lattice_loss
from leastnoise.losses.table import TableLoss
from leastnoise.losses.worst import WorstOf

TWO_POINTS = TableLoss(np.array([-1.0, 1.0]), np.log([1 / (1 + math.e), math.e / (1 + math.e)]))
NOTHING_FINITE = TableLoss(np.zeros(1), np.full(1, -math.inf), 1.0)


def one_sided(stay: float) -> LatticeNoise:
    """A law on few integers, so that a shift moves some of it where the other law has nothing."""
    return LatticeNoise.from_weights([stay, 0.5 * (1 - stay)], None, domain="integer")


def test_a_law_without_a_loss_is_refused_by_name():
    class Unknown:
        dimension = 1

    with pytest.raises(UnsupportedError, match="Unknown has no privacy loss"):
        PrivacyLoss.of(Unknown(), 1.0)


def test_a_shift_beyond_what_can_be_judged():
    law = LatticeNoise.from_weights([1.0], 0.5, domain="integer")
    with pytest.raises(AccountingError, match="too far to be judged"):
        lattice_loss(law, 10**12)


def test_a_grid_that_cannot_hold_a_loss():
    wide = TableLoss(np.array([-1e9, 1e9]), np.log([0.5, 0.5]))
    with pytest.raises(AccountingError, match="cannot be put on a grid of pitch 1e-09"):
        Grid.of(wide, 1e-9, 0.0)
    with pytest.raises(AccountingError, match=r"A tilt of 1e[+]09 cannot be put on a grid"):
        Grid.of(TWO_POINTS, 0.5, 1e9)
    with pytest.raises(AccountingError, match="no finite privacy loss"):
        Grid.of(NOTHING_FINITE, 0.5, 0.0)


def test_an_unbounded_loss_that_needs_too_many_points():
    saddle = saddle_for_delta(((GaussianLoss(1.0), 2),), 1e-6)
    with pytest.raises(AccountingError, match="more than 100 grid points"):
        discretised(GaussianLoss(1.0), saddle, 1e-3, 100)
    assert discretised(TWO_POINTS, saddle, 1e-3, 100) is TWO_POINTS
    assert TWO_POINTS.table(1e-3, -1.0, 1.0) is TWO_POINTS


def test_too_few_points_are_an_error_above_and_nothing_below():
    """The upper bound raises; a lower bound may always be 0."""
    several = replace(
        PrivacyLoss.of(gaussian(1.0)).compose(PrivacyLoss.of(laplace(1.0))),
        settings=GridSettings(most_points=16),
    )
    with pytest.raises(AccountingError):
        several.epsilon(1e-6)
    assert lower_bounds.fine_window(several.composition, 1.0) is None
    assert lower_bounds._composed_epsilon(several.composition, 1e-6, 1.0) == 0.0


@pytest.mark.parametrize("releases", [1, 3])
def test_delta_that_is_the_mass_of_infinite_loss(releases: int):
    """ε at exactly that δ is not known to be finite; what the next float needs bounds it from
    below."""
    loss = PrivacyLoss.of(one_sided(0.4)).compose(releases)
    infinite = loss.composition.infinite
    assert 0 < infinite < 1
    assert loss.epsilon_bounds(0.5 * infinite) == (math.inf, math.inf)
    lower, upper = loss.epsilon_bounds(infinite)
    next_lower, next_upper = loss.epsilon_bounds(math.nextafter(infinite, 1.0))
    assert lower <= upper
    assert next_lower <= next_upper
    if math.isinf(upper):
        assert lower == next_lower
    assert lower_bounds._beside_infinite(loss.composition, 1.0) == 0.0


def test_the_worst_of_several_without_any_loss():
    none = TableLoss(np.zeros(1), np.zeros(1))
    table = WorstOf((none, none)).table(0.1, -1.0, 1.0)
    assert table.largest == 0.0
    assert float(table.profile(0.0)) <= 1e-14


def test_a_saddle_of_a_loss_that_is_always_the_same():
    constant = TableLoss(np.zeros(1), np.zeros(1))
    saddle = saddle_for_delta(((constant, 3),), 1e-6)
    assert saddle.deviation == 0.0
    assert saddle.centre == 0.0
