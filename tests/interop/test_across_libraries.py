"""One law, three accountants: ours, dp-accounting through the adapter, OpenDP's privacy map."""

import pytest

from leastnoise import (
    PrivacyLoss,
    cube,
    design,
    discrete_gaussian,
    discrete_laplace,
    exact,
    sphere,
    staircase,
)
from leastnoise.interop.dp_accounting import accountant, dp_event, to_pld
from leastnoise.interop.opendp import enable, measurement

pytest.importorskip(
    "dp_accounting",
    reason="dp-accounting is not installed: pip install 'leastnoise[dp-accounting]'",
)
pytest.importorskip(
    "opendp.prelude", reason="OpenDP is not installed: pip install 'leastnoise[opendp]'"
)

DELTA, SAME = 1e-6, 1e-4

CASES = {
    "one by one": lambda: (design(delta=DELTA, sigma=8.0, compositions=10).noise, 10),
    "integers": lambda: (
        design(delta=DELTA, sigma=8.0, compositions=10, domain="integer").noise,
        10,
    ),
    "together": lambda: (design(delta=DELTA, sigma=8.0, batch=10).noise, 1),
    "two batches": lambda: (
        design(delta=DELTA, sigma=8.0, batch=5, compositions=2, domain="integer").noise,
        2,
    ),
    "one answer": lambda: (design(delta=DELTA, sigma=3.0).noise, 1),
    "Staircase": lambda: (staircase(5.0), 4),
    "discrete Laplace": lambda: (discrete_laplace(5.0), 20),
    "discrete Gaussian": lambda: (discrete_gaussian(5.0), 20),
    "cube": lambda: (cube(8.0, 6), 3),
    "ball": lambda: (sphere(8.0, 30), 2),
}


@pytest.mark.parametrize("case", CASES)
def test_three_accountants_agree(case):
    enable()
    noise, uses = CASES[case]()
    law = noise if case == "ball" else exact(noise, delta=DELTA, compositions=uses)
    ours = PrivacyLoss.of(law).compose(uses).epsilon(DELTA)
    interval = (
        1e-5 if ours < 1.0 else 5e-5
    )  # a loss is moved by up to an interval where it is the only one that counts
    theirs = to_pld(PrivacyLoss.of(law).compose(uses), interval=interval).get_epsilon_for_delta(
        DELTA
    )
    events = accountant(interval=interval).compose(dp_event(law), uses).get_epsilon(DELTA)
    opendp, delta = measurement(law, delta=DELTA, answers=uses * law.dimension).map(
        1 if law.domain == "integer" else 1.0
    )
    assert delta == DELTA
    for other in (theirs, events, opendp):
        assert other == pytest.approx(ours, rel=SAME)
        assert ours >= other * (1.0 - SAME)
    assert opendp >= ours * (1.0 - 1e-12)
