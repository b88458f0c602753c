"""The root finder against scipy's, which it stands for."""

from __future__ import annotations

import math

import pytest
from scipy import optimize

from leastnoise.roots import brentq

CASES = [
    (lambda x: math.cos(x) - x, 0.0, 2.0),
    (lambda x: x**3 - 2.0 * x - 5.0, 2.0, 3.0),
    (lambda x: math.exp(-x) - 1e-9, 0.0, 100.0),
    (lambda x: math.copysign(1.0, x - 0.7), 0.0, 2.0),
    (lambda x: math.tanh(50.0 * (x - 0.3)), -5.0, 9.0),
    (lambda x: math.log(x) + 3.0, 1e-9, 1e9),
]


@pytest.mark.parametrize(("function", "low", "high"), CASES)
@pytest.mark.parametrize("xtol", [1e-4, 1e-15])
def test_it_finds_what_scipy_finds(function, low, high, xtol):
    found = brentq(function, low, high, xtol=xtol, rtol=1e-14)
    expected = optimize.brentq(function, low, high, xtol=xtol, rtol=1e-14)
    assert found == pytest.approx(expected, abs=2.0 * xtol, rel=1e-12)
    near = 2.0 * (xtol + 1e-14 * abs(found))
    assert function(found - near) * function(found + near) <= 0.0


def test_an_end_may_be_the_root():
    assert brentq(lambda x: x, 0.0, 1.0) == 0.0
    assert brentq(lambda x: x - 1.0, 0.0, 1.0) == 1.0


def test_what_it_cannot_find_it_says():
    with pytest.raises(ValueError, match="different signs"):
        brentq(lambda x: 1.0 + x * x, -1.0, 1.0)
    with pytest.raises(ValueError, match="in 3 steps"):
        brentq(lambda x: math.tanh(50.0 * (x - 0.3)), -5.0, 9.0, maxiter=3)
