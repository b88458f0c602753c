"""The known laws at equal cost."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad

from leastnoise import PrivacyLoss, cactus, gaussian, laplace, renyi_divergence
from leastnoise import cost as costs
from leastnoise.designer.request import Request
from leastnoise.designer.rivals import at_cost, known_laws, rivals
from leastnoise.laws.base import Domain


@pytest.mark.parametrize(
    ("domain", "batch", "names"),
    [
        ("real", 1, {"Gaussian", "Laplace", "Staircase", "Cactus"}),
        ("integer", 1, {"discrete Gaussian", "discrete Laplace", "discrete Staircase", "Cactus"}),
        ("real", 3, {"Gaussian", "Laplace", "Staircase", "Cactus", "cube"}),
        (
            "integer",
            3,
            {"discrete Gaussian", "discrete Laplace", "discrete Staircase", "Cactus", "cube"},
        ),
    ],
)
def test_every_rival_is_there_at_the_same_deviation(
    domain: Domain, batch: int, names: set[str]
) -> None:
    found = rivals(
        Request.of(
            sensitivity=2.0,
            delta=1e-6,
            compositions=4,
            batch=batch,
            touched=batch,
            domain=domain,
        ),
        6.0,
    )
    assert {rival.name for rival in found} >= names
    assert [rival.epsilon for rival in found] == sorted(rival.epsilon for rival in found)
    for rival in found:
        assert rival.noise.std == pytest.approx(6.0, rel=1e-9)
        loss = PrivacyLoss.of(rival.noise, 2.0).compose(4 * rival.uses)
        assert rival.epsilon == pytest.approx(loss.epsilon(1e-6), rel=1e-12)
        assert rival.uses == (batch if rival.noise.dimension == 1 else 1)


def test_values_of_the_paper() -> None:
    found = {
        rival.name: rival.epsilon
        for rival in rivals(
            Request.of(
                sensitivity=1.0,
                delta=1e-6,
                compositions=10,
                batch=1,
                touched=1,
                domain="real",
            ),
            8.0,
        )
    }
    assert found["Gaussian"] == pytest.approx(1.742964, abs=2e-6)
    assert found["Laplace"] == pytest.approx(1.766745, abs=2e-5)


@pytest.mark.parametrize(
    "cost", [costs.absolute(), costs.power(1.5), costs.custom(lambda z: np.log1p(z * z), 0.5)]
)
def test_rivals_at_another_cost(cost: costs.Cost) -> None:
    target = float(cost.function(np.array(4.0)))
    for name, build, _ in known_laws(1.0, 1, "real"):
        noise = at_cost(build, 4.0, cost)
        assert noise.expected_cost(cost) == pytest.approx(
            target, rel=1e-4 if name in ("Cactus", "Staircase") else 1e-9
        )


def test_expected_cost_of_the_closed_forms() -> None:
    root = math.sqrt(2.0)
    densities = {
        gaussian(3.0): lambda z: math.exp(-z * z / 18.0) / (3.0 * math.sqrt(2.0 * math.pi)),
        laplace(3.0): lambda z: math.exp(-abs(z) * root / 3.0) * root / 6.0,
    }
    for cost, rel in (
        (costs.power(1.5), 1e-8),
        (costs.absolute(), 1e-8),
        (costs.custom(lambda z: np.log1p(z * z), 0.5), 1e-4),
    ):
        for noise, density in densities.items():
            value, _ = quad(
                lambda z, c=cost, d=density: 2.0 * float(c.function(np.array(z))) * d(z),
                0.0,
                120.0,
                limit=200,
            )
            assert noise.expected_cost(cost) == pytest.approx(value, rel=rel)


def test_a_law_that_cannot_be_built_is_left_out() -> None:
    """σ = 0.05 s: nothing raises, and what is left is judged."""
    found = rivals(
        Request.of(
            sensitivity=1.0,
            delta=1e-6,
            compositions=1,
            batch=1,
            touched=1,
            domain="real",
        ),
        0.05,
    )
    assert "Gaussian" in {rival.name for rival in found}


# Cactus


@pytest.mark.parametrize("sigma", [0.4, 1.0, 4.0, 40.0])
def test_cactus_has_the_least_divergence_of_order_one(sigma: float) -> None:
    law = cactus(sigma, step=1.0 / 20.0 if sigma < 1.0 else None)
    assert law.std == pytest.approx(sigma, rel=1e-9)
    known = min(
        renyi_divergence(gaussian(sigma), 1.0, 1.0), renyi_divergence(laplace(sigma), 1.0, 1.0)
    )
    assert renyi_divergence(law, 1.0, 1.0) <= known * (1.0 + 1e-4)


def test_cactus_on_the_integers_with_a_large_sensitivity() -> None:
    """Blocks of 125 integers: the deviation is exact and the divergence that of the real line."""
    law = cactus(5000.0, sensitivity=1000.0, domain="integer")
    assert law.std == pytest.approx(5000.0, rel=1e-12)
    assert law.is_monotone
    assert renyi_divergence(law, 1.0, 1000.0) == pytest.approx(
        renyi_divergence(cactus(5.0), 1.0, 1.0), rel=1e-4
    )
