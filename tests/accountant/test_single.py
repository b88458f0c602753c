"""The profile of one release, to its last digits."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

import reference_privacy as reference
from leastnoise import (
    AccountingError,
    LatticeNoise,
    PrivacyLoss,
    discrete_gaussian,
    gaussian,
    laplace,
    staircase,
)
from leastnoise.losses.gaussian import GaussianLoss
from leastnoise.losses.laplace import LaplaceLoss
from leastnoise.losses.lattice import lattice_loss
from leastnoise.losses.table import TableLoss
from leastnoise.losses.worst import WorstOf

pytestmark = pytest.mark.portable


@pytest.mark.parametrize("mu", [1e-3, 0.02, 0.125, 1.0, 7.0])
def test_gaussian_profile_in_the_far_tail(mu):
    with mp.workdps(60):
        for multiple in (0.0, 0.3, 1.0, 3.0, 11.0, 30.0):
            epsilon = multiple * mu
            exact = reference.gaussian_delta(mu, epsilon)
            ours = float(GaussianLoss(mu).profile(epsilon))
            assert exact <= ours
            assert ours <= exact * (1 + 1e-8)


def test_laplace_profile():
    for ratio in (0.01, 0.5, 6.0):
        for epsilon in (
            -2 * ratio,
            -0.5 * ratio,
            0.0,
            0.4 * ratio,
            ratio * (1 - 1e-12),
            ratio,
            2 * ratio,
        ):
            with mp.workdps(40):
                inside = 1 - mp.e ** ((mp.mpf(epsilon) - mp.mpf(ratio)) / 2)
                exact = max(inside, 0) if epsilon >= -ratio else 1 - mp.e ** mp.mpf(epsilon)
            ours = float(LaplaceLoss(ratio).profile(epsilon))
            assert exact <= ours * (1 + 1e-15) + 1e-300
            assert ours == pytest.approx(float(exact), rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("loss", [GaussianLoss(0.3), LaplaceLoss(0.7)])
def test_tables_of_closed_forms_dominate_them(loss):
    table = loss.table(0.01, -5.0, 5.0)
    grid = np.linspace(0.0, 2.5, 777)
    ours, exact = table.profile(grid), loss.profile(grid)
    assert np.all(ours >= exact * (1 - 1e-12))
    assert np.all(ours <= exact * (1 + 0.02) + 1e-30)
    assert np.exp(table.log_p).sum() + table.infinite == pytest.approx(1.0, abs=1e-12)


def test_a_grid_too_coarse_for_a_gaussian_is_refused():
    with pytest.raises(AccountingError, match="coarse"):
        GaussianLoss(0.1).table(0.1, -2.0, 2.0)


def test_table_profile_against_its_definition():
    rng = np.random.default_rng(3)
    loss = rng.normal(size=40) * 3
    p = rng.dirichlet(np.ones(40)) * 0.9
    table = TableLoss(loss, np.log(p), infinite=0.1)
    for epsilon in (-4.0, 0.0, 0.5, 2.0, float(loss.max()), 20.0):
        with mp.workdps(40):
            exact = mp.mpf(0.1) + sum(
                mp.mpf(a) * max(0, 1 - mp.e ** (mp.mpf(epsilon) - mp.mpf(b)))
                for a, b in zip(p, loss, strict=True)
            )
        assert exact <= table.profile(epsilon)
        assert float(table.profile(epsilon)) == pytest.approx(float(exact), rel=1e-12)


def test_worst_of_is_the_envelope_and_its_table_dominates():
    k = np.arange(25)
    law = LatticeNoise.from_weights(
        np.exp(-k / 5.0) * (1 + 0.3 * np.cos(2.1 * k)), 0.8, domain="integer"
    )
    loss = lattice_loss(law, 3)
    assert isinstance(loss, WorstOf)
    grid = np.linspace(0, loss.largest, 300)
    assert np.all(
        loss.profile(grid)
        >= np.max([table.profile(grid) for table in lattice_loss(law, 3).tables], axis=0)
    )
    table = loss.table(0.003, 0.0, 0.0)
    ours, exact = table.profile(grid), loss.profile(grid)
    assert np.all(ours >= exact * (1 - 1e-12) - 1e-300)
    assert np.all(ours <= exact + 2e-4)


def test_losses_of_the_geometric_law_are_two():
    law = LatticeNoise.from_weights([1.0], 0.8, domain="integer")
    table = lattice_loss(law, 1)
    np.testing.assert_allclose(np.sort(table.loss), [np.log(0.8), -np.log(0.8)], rtol=1e-14)


def test_symmetric_pairs_have_mirrored_losses():
    for noise, shift in ((staircase(2), 50), (discrete_gaussian(4), 2)):
        table = lattice_loss(noise, shift)
        theta = 0.7
        # E_P[e^(θL)] = E_P[e^(−(1+θ)L)] when swapping P and Q mirrors the loss
        assert table.cumulants(theta)[0] == pytest.approx(table.cumulants(-1 - theta)[0], rel=1e-9)
        assert table.cumulants(0.0)[0] == pytest.approx(0.0, abs=1e-13)


def test_continuous_laws_agree_with_fine_lattices():
    from leastnoise import generalized_gaussian

    lattice = generalized_gaussian(3.0, 2.0, step=0.01)
    assert PrivacyLoss.of(lattice, 1).epsilon(1e-6) == pytest.approx(
        PrivacyLoss.of(gaussian(3.0), 1).epsilon(1e-6), rel=1e-4
    )
    lattice = generalized_gaussian(3.0, 1.0, step=0.01)
    assert PrivacyLoss.of(lattice, 1).epsilon(1e-6) == pytest.approx(
        PrivacyLoss.of(laplace(3.0), 1).epsilon(1e-6), rel=1e-4
    )
