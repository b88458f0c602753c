"""The composed accountant against closed forms, published values and other accountants."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import reference_privacy as reference
from leastnoise import (
    AccountingError,
    InvalidParameterError,
    LatticeNoise,
    PrivacyLoss,
    cube,
    discrete_gaussian,
    discrete_laplace,
    gaussian,
    laplace,
    staircase,
)
from leastnoise.accountant.saddle import GridSettings
from leastnoise.losses.gaussian import GaussianLoss


@pytest.mark.portable
@pytest.mark.parametrize(
    ("noise", "compositions", "epsilon", "tolerance"),
    [
        (gaussian(8), 10, 1.742964, 1e-5),
        (laplace(8), 10, 1.766745, 1e-5),
        (gaussian(5), 10, 2.9216, 1e-4),
        (laplace(5), 10, 2.8274, 1e-4),
        (discrete_gaussian(8), 10, 1.74309, 1e-4),
        (discrete_laplace(8), 10, 1.76503, 1e-4),
        (cube(8, 10), 1, 0.8292, 2e-4),
        (cube(8, 20), 1, 1.5513, 2e-3),
        (cube(8, 40), 1, 2.995, 5e-3),
    ],
    ids=lambda value: (
        getattr(value, "__class__", type(value)).__name__
        if not isinstance(value, (int, float))
        else str(value)
    ),
)
def test_published_values(noise, compositions, epsilon, tolerance):
    assert PrivacyLoss.of(noise, 1).compose(compositions).epsilon(1e-6) == pytest.approx(
        epsilon, abs=tolerance
    )


@pytest.mark.portable
def test_the_cube_is_pure():
    loss = PrivacyLoss.of(cube(8, 10), 1)
    assert loss.epsilon(1e-30) == pytest.approx(0.8292, abs=2e-4)
    assert loss.epsilon(1e-30) >= loss.epsilon(1e-6)


@pytest.mark.parametrize(
    ("releases", "delta"),
    [
        *itertools.product([1, 2, 7, 100, 3_000], [1e-2, 1e-6, 1e-15, 1e-30]),
        (100_000, 1e-6),
        (100_000, 1e-30),
    ],
)
@pytest.mark.parametrize("sigma", [0.5, 8.0, 300.0])
def test_gaussian_by_fft_encloses_the_analytic_formula(sigma, releases, delta):
    # The constructor keeps the count apart, so this goes through discretisation and FFT instead of
    # the closed form.
    loss = PrivacyLoss(((GaussianLoss(1 / sigma), releases),))
    exact = reference.gaussian_epsilon(math.sqrt(releases) / sigma, delta)
    bounds = loss.epsilon_bounds(delta)
    assert bounds.lower <= exact * (1 + 1e-13)
    assert exact <= bounds.upper * (1 + 1e-13) or exact < 1e-30
    assert bounds.upper <= exact * (1 + 1e-4)
    assert bounds.lower >= exact * (1 - 5e-3) or exact < 0.05


@pytest.mark.portable
@pytest.mark.parametrize("releases", [1, 10, 100_000])
def test_gaussian_closed_form_is_exact(releases):
    loss = PrivacyLoss.of(gaussian(8), 1).compose(releases)
    for delta in (1e-2, 1e-6, 1e-30):
        exact = reference.gaussian_epsilon(math.sqrt(releases) / 8, delta)
        assert exact <= loss.epsilon(delta) * (1 + 1e-14)
        assert loss.epsilon(delta) == pytest.approx(exact, rel=1e-10)


@pytest.mark.portable
def test_epsilon_and_delta_are_inverse():
    for noise in (laplace(3), discrete_gaussian(4), staircase(2), cube(5, 3)):
        for releases in (1, 4, 50):
            loss = PrivacyLoss.of(noise, 1).compose(releases)
            for delta in (1e-3, 1e-8):
                epsilon = loss.epsilon(delta)
                if 0 < epsilon < loss.composition.highest * (1 - 1e-3):
                    assert loss.delta(epsilon * (1 + 2e-6)) <= delta
                    assert loss.delta(epsilon * (1 - 1e-4)) >= delta * (1 - 1e-6)


@pytest.mark.portable
def test_more_releases_and_smaller_delta_cost_more():
    loss = PrivacyLoss.of(discrete_laplace(6), 1)
    grid = [
        [loss.compose(n).epsilon(delta) for delta in (1e-2, 1e-4, 1e-8, 1e-16)]
        for n in (1, 2, 5, 30, 400)
    ]
    assert np.all(np.diff(grid, axis=0) > 0)
    assert np.all(np.diff(grid, axis=1) >= 0)


@pytest.mark.portable
def test_compositions_add_up_in_any_grouping():
    a, b = PrivacyLoss.of(laplace(4), 1), PrivacyLoss.of(gaussian(6), 1)
    left = a.compose(3).compose(b.compose(2)).epsilon(1e-6)
    right = b.compose(a).compose(a.compose(2)).compose(b).epsilon(1e-6)
    assert left == pytest.approx(right, rel=1e-6)
    assert a.compose(2).compose(3).epsilon(1e-6) == pytest.approx(
        a.compose(6).epsilon(1e-6), rel=1e-12
    )


@pytest.mark.portable
def test_pure_bound_holds_for_tiny_delta():
    loss = PrivacyLoss.of(laplace(math.sqrt(2)), 1).compose(
        5
    )  # scale 1: each release is exactly 1-DP
    assert 4.99 < loss.epsilon(1e-30) <= 5.0 * (1 + 1e-9)
    assert loss.delta(5.0 * (1 + 1e-9)) == 0.0


def test_large_delta_needs_no_epsilon():
    assert PrivacyLoss.of(gaussian(100), 1).compose(3).epsilon(0.5) == 0.0
    assert PrivacyLoss.of(discrete_gaussian(100), 1).compose(3).epsilon(0.5) == 0.0


def test_scale_is_relative_to_sensitivity():
    fine = PrivacyLoss.of(cube(80.0, 3, sensitivity=10.0), 10.0).compose(2).epsilon(1e-6)
    assert fine == pytest.approx(
        PrivacyLoss.of(cube(8.0, 3), 1.0).compose(2).epsilon(1e-6), rel=1e-6
    )


@pytest.mark.portable
@pytest.mark.parametrize("batch", [100, 1000])
def test_large_batches_do_not_overflow(batch):
    noise = cube(8.0, batch)
    pure = -10 * math.log(noise.tail_ratio)  # 10 steps a sensitivity
    loss = PrivacyLoss.of(noise, 1)
    assert 0 < loss.epsilon(1e-6) <= pure * (1 + 1e-9)
    assert loss.epsilon(1e-6) > 0.5 * pure


@pytest.mark.portable
def test_empty_inner_shells_are_charged_to_delta():
    whole = cube(8.0, 3)
    masses = whole.shell_masses.copy()
    removed = masses[0]
    assert removed < 1e-5
    masses[0] = 0.0
    law = LatticeNoise(masses / (1 - removed), whole.tail_ratio, whole.step, "real", 3)
    # With so much missing the law is not close to a monotone one; every shift would have to be
    # checked.
    with pytest.raises(AccountingError, match="non-increasing"):
        PrivacyLoss.of(law, 1)
    many = cube(8.0, 40)
    masses = many.shell_masses.copy()
    masses[masses < 2.0**-64] = 0.0
    missing = 1 - masses.sum() - many.tail_mass
    assert masses[0] == 0.0
    trimmed = LatticeNoise(masses / masses.sum(), None, many.step, "real", 40)
    loss = PrivacyLoss.of(trimmed, 1)
    assert missing < 1e-15
    assert loss.epsilon(1e-6) == pytest.approx(PrivacyLoss.of(many, 1).epsilon(1e-6), rel=1e-6)
    assert loss.delta(2.0) >= PrivacyLoss.of(many, 1).delta_bounds(2.0).lower * (1 - 1e-9)
    assert loss.epsilon(1e-21) == math.inf


def test_what_cannot_be_certified_raises():
    loss = PrivacyLoss(
        PrivacyLoss.of(discrete_gaussian(8), 1).compose(1000).parts,
        GridSettings(accuracy=1e-9, most_points=8),
    )
    with pytest.raises(AccountingError, match="grid points"):
        loss.epsilon(1e-6)


@pytest.mark.parametrize("bad", [0.0, 1.0, -1e-6, math.nan, math.inf, "x", None])
def test_bad_delta_is_refused(bad):
    with pytest.raises(InvalidParameterError, match="delta"):
        PrivacyLoss.of(gaussian(1), 1).epsilon(bad)


@pytest.mark.parametrize("bad", [0, -1, 1.5, math.nan, True])
def test_bad_counts_are_refused(bad):
    with pytest.raises(InvalidParameterError, match="n="):
        PrivacyLoss.of(gaussian(1), 1).compose(bad)


def test_bad_epsilon_and_sensitivity_are_refused():
    with pytest.raises(InvalidParameterError, match=r"epsilon=-1"):
        PrivacyLoss.of(gaussian(1), 1).delta(-1)
    with pytest.raises(InvalidParameterError, match="sensitivity"):
        PrivacyLoss.of(gaussian(1), 0)
    with pytest.raises(InvalidParameterError, match="step"):
        PrivacyLoss.of(discrete_gaussian(3), 1.5)


class TestOtherAccountants:
    """dp_accounting 0.6 and prv_accountant judge the same laws."""

    def test_dp_accounting_gaussian_and_laplace_mixed(self):
        pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
        theirs = pld.from_laplace_mechanism(
            4 / math.sqrt(2), value_discretization_interval=1e-4
        ).self_compose(3)
        theirs = theirs.compose(
            pld.from_gaussian_mechanism(6.0, value_discretization_interval=1e-4).self_compose(2)
        )
        ours = (
            PrivacyLoss.of(laplace(4), 1)
            .compose(3)
            .compose(PrivacyLoss.of(gaussian(6), 1).compose(2))
        )
        assert ours.epsilon(1e-6) == pytest.approx(theirs.get_epsilon_for_delta(1e-6), rel=1e-5)
        assert ours.delta(1.0) == pytest.approx(theirs.get_delta_for_epsilon(1.0), rel=1e-4)

    @pytest.mark.parametrize(
        "noise",
        [discrete_gaussian(8), discrete_laplace(5), staircase(3)],
        ids=["gauss", "laplace", "stairs"],
    )
    def test_dp_accounting_connect_the_dots_on_a_table(self, noise):
        pld_pmf = pytest.importorskip("dp_accounting.pld.pld_pmf")
        pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
        single = PrivacyLoss.of(noise, 1)
        pitch = 1e-4
        reach = math.ceil(2.5 / pitch)
        grid = np.arange(-reach, reach + 1)
        deltas = [
            single.delta(e) if e >= 0 else 1 - math.exp(e) * (1 - single.delta(-e))
            for e in grid * pitch
        ]
        pmf = pld_pmf.create_pmf_pessimistic_connect_dots(
            pitch, grid, np.minimum.accumulate(np.clip(deltas, 0, 1))
        )
        theirs = pld.PrivacyLossDistribution(pmf).self_compose(10)
        ours = single.compose(10)
        for delta in (1e-3, 1e-6):
            assert ours.epsilon(delta) == pytest.approx(
                theirs.get_epsilon_for_delta(delta), rel=2e-5
            )

    def test_prv_accountant_bounds(self):
        prv = pytest.importorskip("prv_accountant")
        accountant = prv.PRVAccountant(
            prvs=[prv.GaussianMechanism(8.0), prv.LaplaceMechanism(mu=math.sqrt(2) / 8)],
            max_self_compositions=[10, 10],
            eps_error=1e-3,
            delta_error=1e-10,
        )
        low, _, high = accountant.compute_epsilon(delta=1e-6, num_self_compositions=[10, 10])
        ours = (
            PrivacyLoss.of(gaussian(8), 1)
            .compose(10)
            .compose(PrivacyLoss.of(laplace(8), 1).compose(10))
        )
        bounds = ours.epsilon_bounds(1e-6)
        assert low <= bounds.upper <= high
        assert bounds.lower <= high
