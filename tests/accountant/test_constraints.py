"""Several points of the privacy curve at once: what is asked, what holds, and by how much not."""

from __future__ import annotations

import math

import pytest

from leastnoise import Constraint, InvalidParameterError, PrivacyLoss, gaussian, laplace
from leastnoise.accountant.constraints import MOST_LIMITS, excess, held, limits_of


def test_limits_are_checked_and_told_once():
    assert limits_of(None, None) == ()
    assert limits_of(0.2, [(1, 1e-6), (0.0, 0.2)]) == ((1.0, 1e-6), (0.0, 0.2))
    assert limits_of(0.1, None) == ((0.0, 0.1),)


@pytest.mark.parametrize(
    ("advantage", "constraints", "name"),
    [
        (0.0, None, "advantage=0.0"),
        (1.0, None, "advantage=1.0"),
        (math.nan, None, "advantage=nan"),
        (None, "ab", "constraints='ab'"),
        (None, 5, "constraints=5"),
        (None, [5], r"constraints\[0\]=5"),
        (None, [(1.0, 1e-6), (1.0,)], r"constraints\[1\]=\(1.0,\)"),
        (None, [(-1.0, 1e-6)], r"constraints\[0\].epsilon=-1.0"),
        (None, [(1.0, 1.0)], r"constraints\[0\].delta=1.0"),
        (None, [(1.0 + k, 1e-6) for k in range(MOST_LIMITS + 1)], "constraints="),
    ],
)
def test_what_is_no_limit_is_refused_with_its_name(advantage, constraints, name):
    with pytest.raises(InvalidParameterError, match=f"Expected {name}"):
        limits_of(advantage, constraints)


def test_a_constraint_holds_where_the_upper_bound_is_at_most_what_was_promised():
    loss = PrivacyLoss.of(laplace(2.0**0.5))
    exactly = 1.0 - math.exp(-0.5)
    (below,) = held(loss, [(0.0, 0.3934)])
    (above,) = held(loss, [(0.0, 0.3935)])
    assert not below.holds
    assert above.holds
    assert exactly <= above.certified < exactly + 1e-9
    assert "advantage" in above.sentence()
    assert "0.3935" in above.sentence()
    assert Constraint(1.0, 1e-6, 1e-6).holds
    assert not Constraint(1.0, 1e-6, math.nextafter(1e-6, 1.0)).holds
    assert Constraint(1.0, 1e-6, 5e-7).sentence() == "delta(1) at most 1e-06: certified 5e-07"


def test_the_excess_is_that_of_the_worst_limit_and_above_one_where_any_is_missed():
    loss = PrivacyLoss.of(gaussian(4.0)).compose(3)
    epsilon, advantage = loss.epsilon(1e-6), loss.delta(0.0)
    assert excess(loss, [(epsilon / 2.0, 1e-6)]) == pytest.approx(2.0, rel=1e-6)
    assert excess(loss, [(0.0, advantage / 3.0)]) == pytest.approx(3.0, rel=1e-9)
    both = [(epsilon * 1.5, 1e-6), (0.0, advantage / 3.0)]
    assert excess(loss, both) == excess(loss, both[::-1]) == pytest.approx(3.0, rel=1e-9)
    kept = [(epsilon * 1.01, 1e-6), (0.0, advantage * 1.01)]
    assert excess(loss, kept) <= 1.0
    for missed in ([(epsilon * 0.999, 1e-6), kept[1]], [kept[0], (0.0, advantage * 0.999)]):
        assert excess(loss, missed) > 1.0
        assert not all(one.holds for one in held(loss, missed))


def test_what_cannot_be_certified_is_missed_without_end():
    class Unsure:
        def epsilon(self, delta):
            raise ArithmeticError

    assert excess(Unsure(), [(1.0, 1e-6)]) == math.inf


def test_two_bounds_of_one_number_must_agree():
    """ε at δ within the limit, and δ at ε beyond it: not kept."""

    class Torn:
        def epsilon(self, delta):
            return 1.0

        def delta(self, epsilon):
            return 2e-6

    for limits in ([(1.0, 1e-6)], [(1.0, 1e-6), (2.0, 0.1)], [(2.0, 0.1), (1.0, 1e-6)]):
        assert 1.0 < excess(Torn(), limits) < 1.0 + 1e-9
    assert excess(Torn(), [(2.0, 0.1)]) == 0.5
