"""The curve beside riskcal and gdpnum, which read the distributions of dp-accounting."""

from __future__ import annotations

import numpy as np
import pytest

from leastnoise import PrivacyLoss, cube, discrete_laplace, gaussian, laplace

adapter = pytest.importorskip("leastnoise.interop.dp_accounting")
pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
analysis = pytest.importorskip("riskcal.analysis", reason='needs "leastnoise[oracles]"')
gdpnum = pytest.importorskip("gdpnum", reason='needs "leastnoise[oracles]"')

LOSSES = {
    "laplace": PrivacyLoss.of(laplace(3.0)).compose(5),
    "discrete laplace": PrivacyLoss.of(discrete_laplace(2.0)).compose(3),
    "gaussian": PrivacyLoss.of(gaussian(4.0)),
    "joint": PrivacyLoss.of(cube(9.0, 5)),
}


@pytest.mark.parametrize("name", LOSSES)
def test_they_say_the_same_of_our_distribution(name):
    """Both read what `to_pld` gives, and the curve of what comes back is theirs."""
    theirs = adapter.to_pld(LOSSES[name])
    curve = adapter.both_directions(theirs).curve(points=1_500)
    ours = LOSSES[name].curve(points=1_500)
    advantage = analysis.get_advantage_from_pld(theirs)
    assert curve.advantage == pytest.approx(advantage, abs=1e-9)
    assert gdpnum.PLDConverter(theirs).get_advantage() == pytest.approx(advantage, abs=1e-9)
    assert ours.advantage == pytest.approx(advantage, rel=1e-3)
    rates = np.array([0.01, 0.1, 0.5])
    missed = np.array([float(analysis.get_beta_from_pld(theirs, float(rate))) for rate in rates])
    # a lower bound; theirs are off by 4e-9 (by hand: 0.8484417278 where they say …242)
    assert np.all(curve.tradeoff(rates) <= missed + 1e-8)
    assert curve.tradeoff(rates) == pytest.approx(missed, abs=1e-4)


@pytest.mark.parametrize("name", ["laplace", "joint"])
def test_mu_is_no_smaller_than_theirs_and_close(name):
    theirs = adapter.to_pld(LOSSES[name])
    mu = adapter.both_directions(theirs).curve(delta=1e-12, points=3_000).gaussian_mu(apart=1e-12)
    known = gdpnum.PLDConverter(theirs).get_mu()
    assert mu == pytest.approx(known, rel=2e-3)
    assert mu >= known * (1.0 - 1e-6)


def test_an_asymmetric_mechanism_of_theirs():
    """Subsampling: the two directions differ, and the curve holds for both."""
    sampled = pld.from_laplace_mechanism(1.0, sampling_prob=0.2).self_compose(4)
    curve = adapter.both_directions(sampled).curve(points=2_000)
    assert curve.advantage == pytest.approx(analysis.get_advantage_from_pld(sampled), abs=1e-9)
    for epsilon in (0.1, 0.5, 1.0):
        stated = float(curve.delta(epsilon))
        assert stated >= sampled.get_delta_for_epsilon(epsilon) - 1e-12
        assert stated == pytest.approx(sampled.get_delta_for_epsilon(epsilon), rel=1e-3)
