"""A small release against the same one by OpenDP: clamp, count and sum, noise, its own composition
and conversion to (ε, δ)."""

import math

import numpy as np
import pytest

pytest.importorskip("ibis")
pytest.importorskip("duckdb")
dp = pytest.importorskip("opendp.prelude", reason="OpenDP is not installed")

from leastnoise.releases.noise.mechanism import mechanism  # noqa: E402
from leastnoise.releases.plan.plan import Plan  # noqa: E402
from leastnoise.releases.plan.statistic import Statistic  # noqa: E402
from leastnoise.releases.release import release  # noqa: E402
from leastnoise.sampling import InsecureSeededEntropy  # noqa: E402

EPSILON, DELTA = 1.0, 1e-6
BOUNDS = ((0.0, 10.0), (0.0, 50.0), (-20.0, 20.0))
TRIALS, THEIR_TRIALS = 30, 600  # theirs cannot be seeded: enough of them that chance plays no part


def opendp_release(kind, scale):
    """A count and three clamped sums of one column, each with noise of `scale` sensitivities,
    composed."""
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    noise = dp.m.then_gaussian if kind == "Gaussian" else dp.m.then_laplace
    parts = [space >> dp.t.then_count() >> noise(scale=scale)]
    for low, high in BOUNDS:
        parts.append(
            space
            >> dp.t.then_clamp((low, high))
            >> dp.t.then_sum()
            >> noise(scale=scale * max(abs(low), abs(high)))
        )
    together = dp.c.make_composition(parts)
    return (
        dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(together), delta=DELTA)
        if kind == "Gaussian"
        else together
    )


def calibrated(kind):
    """The release of least noise that OpenDP's own search finds within the budget, and the noise's
    deviation in sensitivities."""
    budget = (EPSILON, DELTA) if kind == "Gaussian" else EPSILON
    scale = dp.binary_search_param(
        lambda scale: opendp_release(kind, scale), d_in=1, d_out=budget, bounds=(1.0, 1e3)
    )
    return opendp_release(kind, scale), scale * (1.0 if kind == "Gaussian" else math.sqrt(2.0))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_less_noise_than_opendp_on_the_same_release():
    import pyarrow as pa

    values = np.random.default_rng(1).normal(8.0, 6.0, 2000)
    sums = [
        Statistic("sum", name=f"sum {i}", column="x", lower=low, upper=high, pitch=0.001, missing=0)
        for i, (low, high) in enumerate(BOUNDS)
    ]
    asked = (Statistic("count"), *sums)
    plan = Plan("small", None, "add/remove", asked, EPSILON, DELTA, one_row_per_person=True)
    truth = np.array([2000.0, *(np.sum(np.clip(values, *bounds)) for bounds in BOUNDS)])
    units = np.array([1.0, *(max(abs(low), abs(high)) for low, high in BOUNDS)])
    made = mechanism(plan)
    table = pa.table({"x": values})
    done = [
        release(
            plan, table=table, prepared=made, entropy=InsecureSeededEntropy(seed), not_private=True
        )
        for seed in range(TRIALS)
    ]
    drawn = [
        [row.value for row in one.rows[: len(asked)]] for one in done
    ]  # the checks come after what is asked for
    stated = np.array([row.noise_std for row in done[0].rows[: len(asked)]]) / units
    ours = np.sqrt(np.mean(np.square((np.array(drawn) - truth) / units), axis=0))
    np.testing.assert_allclose(ours, stated, rtol=0.25)
    for kind in ("Gaussian", "Laplace"):
        measurement, deviation = calibrated(kind)
        theirs = np.array(
            [measurement(values.tolist()) for _ in range(THEIR_TRIALS)], dtype=np.float64
        )
        theirs = np.sqrt(np.mean(np.square((theirs - truth) / units), axis=0))
        np.testing.assert_allclose(theirs, deviation, rtol=0.2)
        assert np.all(stated < deviation)
        assert root_mean_square(ours) < root_mean_square(theirs)


def root_mean_square(values):
    return math.sqrt(float(np.mean(np.square(values))))
