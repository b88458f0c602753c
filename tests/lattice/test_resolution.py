"""How fine a lattice: what each policy promises."""

import pytest

from leastnoise.errors import InvalidParameterError
from leastnoise.lattice.resolution import (
    aligned_bins,
    bins_for_divergence,
    bins_of_design,
    bins_to_compare,
    step_of_known_law,
)

RATIOS = [1e-3, 0.05, 0.19, 0.2, 1.0, 7.9, 15.9, 16.0, 60.0, 2000.0]


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("dimension", [1, 10])
def test_the_bins_of_a_design_cost_little(ratio, dimension):
    m = bins_of_design(ratio, dimension)
    own = 1.0 / (12.0 * m**2 * ratio**2)  # of the variance
    assert own <= (7e-4 if dimension == 1 else 2.2e-2)
    if ratio >= 0.2:
        assert own <= (1e-4 if ratio < 16.0 else 2.1e-5)
    assert bins_to_compare(ratio) <= max(m, 8.0 / ratio + 1.0, 2)


def test_finer_where_sigma_is_small():
    bins = [bins_for_divergence(ratio) for ratio in RATIOS]
    assert bins == sorted(bins, reverse=True)
    assert (bins[0], bins[-1]) == (200, 4)


@pytest.mark.parametrize("place", [0.05, 0.31, 0.5, 0.77])
@pytest.mark.parametrize("least", [4, 15, 200])
def test_an_edge_comes_near_the_place(place, least):
    m = aligned_bins(least, place)
    assert least <= m <= least + max(least // 2, 2)

    def distance(bins):
        return min(abs((2 * k + 1) / (2 * bins) - place) for k in range(bins))

    assert distance(m) <= distance(least)


def test_the_step_of_a_known_law():
    assert step_of_known_law(2.0, 1.0, None, "real") == pytest.approx(1.0 / 25.0, rel=1e-8)
    assert step_of_known_law(2.0, 1.0, 0.5, "real") == 0.5
    assert step_of_known_law(2.0, 3, None, "integer") == 1.0
    for step, domain in ((0.3, "real"), (0.5, "integer")):
        with pytest.raises(InvalidParameterError, match="step"):
            step_of_known_law(2.0, 1.0, step, domain)
