"""Releases of real tables have the noise that is stated for the shape of the question, less than
that for changes of any signs."""

import numpy as np
import pytest

from leastnoise import OneSided, release
from leastnoise.releases.noise.mechanism import mechanism
from leastnoise.sampling import InsecureSeededEntropy
from releases import shaped

RELEASES = 100
# variance of the noise, relative to that for any signs; what one person moves
GAINS = {
    "heart": (0.588, "10 of 10, all up or down"),
    "tumours": (0.589, "10 of 10, all up or down"),
    "aircraft": (0.598, "6 of 12, all up or down"),
}


@pytest.mark.parametrize("name", GAINS)
def test_measured_errors_confirm_the_gain(name):
    case = shaped.cases()[name]()
    gain, moved = GAINS[name]
    signs, fitted = (
        shaped.measured(case, RELEASES, any_signs=any_signs) for any_signs in (True, False)
    )
    assert fitted.moved == moved
    assert (fitted.stated / signs.stated) ** 2 == pytest.approx(gain, abs=0.01)
    for seen in (signs, fitted):
        # a hundred releases of correlated numbers know a standard deviation to about 5 %
        assert seen.error == pytest.approx(seen.stated, rel=0.2)
        assert seen.within == pytest.approx(0.955, abs=0.03)
        assert seen.stated < seen.gaussian
    assert fitted.error < 0.9 * signs.error


def test_a_release_is_what_was_measured():
    """Of the same seed: the whole way, from the table to the numbers."""
    case = shaped.cases()["heart"]()
    plan = case.plan(any_signs=False)
    made = mechanism(plan)
    assert made.laws[0].changes == OneSided()
    done = release(
        plan,
        table=case.table,
        prepared=made,
        entropy=InsecureSeededEntropy(7),
        not_private=True,
    )
    rows = [row for row in done.rows if row.statistic in case.sums]
    assert len(rows) == 10
    missed = np.array([row.value for row in rows]) - case.truth()
    assert np.all(missed == np.round(missed))  # whole numbers
    assert np.all(np.abs(missed) < 6.0 * made.laws[0].noise.std)
    sick = done.combine({"disease": 1, "male": -1})
    assert sick.noise_std == pytest.approx(made.laws[0].noise.std, rel=1e-6)  # correlation ½
