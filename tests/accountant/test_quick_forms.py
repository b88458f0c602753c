"""The judge's short cuts say what the long ways say."""

import math

import numpy as np
import pytest

from leastnoise import PrivacyLoss, cube, design, discrete_laplace, staircase
from leastnoise.accountant import composition
from leastnoise.accountant import saddle as saddles
from leastnoise.accountant.window import running_sums

pytestmark = pytest.mark.portable

LAWS = {
    "cube": cube(8.0, 3),
    "discrete laplace": discrete_laplace(3.0),
    "staircase": staircase(2.0),
    "designed": design(delta=1e-6, sigma=4.0, compositions=5).noise,
}


@pytest.mark.parametrize("name", LAWS)
def test_delta_at_zero_without_sorting(name):
    table = LAWS[name].loss(1.0)
    exact = math.fsum(
        math.exp(p) * -math.expm1(-loss)
        for loss, p in zip(table.loss, table.log_p, strict=True)
        if loss > 0
    )
    quick = table.profile_at_zero()
    assert exact + table.infinite <= quick <= float(table.profile(0.0)) * (1.0 + 1e-10)


@pytest.mark.parametrize("ratio", [0.0, 0.3, 0.999999, 1.0])
def test_running_sums(ratio):
    values = np.random.default_rng(0).uniform(0.0, 1.0, 500)
    expected, last = [], 0.0
    for value in values:
        last = value + ratio * last
        expected.append(last)
    np.testing.assert_allclose(running_sums(values, ratio), expected, rtol=1e-13)


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
def test_the_tilt_is_where_it_should_be(name, delta):
    """To 2 %: K' at the tilt is the wanted ε, unless the sum sits at its largest value before."""
    loss = PrivacyLoss.of(LAWS[name]).compose(7)
    epsilon = loss.epsilon(delta)
    saddle = saddles.saddle_for_epsilon(loss.parts, epsilon)
    if saddle.theta == 0.0 or saddles._below_largest(loss.parts, saddle.theta * 1.03) < 0.5:
        return
    below, above = (
        saddles.cumulants(loss.parts, saddle.theta * factor)[1] for factor in (0.97, 1.03)
    )
    assert below <= epsilon <= above


def test_many_sums_are_seen_without_merging():
    few, many = (LAWS[name].loss(1.0) for name in ("discrete laplace", "designed"))
    assert not composition._surely_many_sums([few] * 3)
    assert composition.all_sums(((few, 3),)) is not None
    assert composition._surely_many_sums([many] * 5) == (many.loss.size**2 > 20_000)
    assert composition.all_sums(((many, 5),)) is None
