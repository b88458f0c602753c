"""One Protocol of losses: every kind offers it, and equal losses are counted together."""

import inspect
import math

import numpy as np
import pytest

from leastnoise import LatticeNoise, PrivacyLoss, cube, discrete_gaussian, gaussian, laplace, sphere
from leastnoise.losses.base import Loss
from leastnoise.losses.gaussian import GaussianLoss
from leastnoise.losses.table import TableLoss
from leastnoise.losses.worst import WorstOf

COMB = LatticeNoise([0.4, 0.0, 0.4, 0.2], None, domain="integer")
LAWS = {
    "table": lambda: discrete_gaussian(2.0),
    "joint table": lambda: cube(4.0, 3),
    "worst": lambda: COMB,
    "laplace": lambda: laplace(2.0),
    "sphere": lambda: sphere(8.0, 5),
    "gaussian": lambda: gaussian(3.0),
}
MEMBERS = [name for name in vars(Loss) if not name.startswith("_")]


@pytest.mark.parametrize("name", LAWS)
def test_every_loss_offers_all_of_the_protocol(name):
    loss = LAWS[name]().loss(2.0)
    assert len(MEMBERS) > 15
    for member in MEMBERS:
        assert callable(getattr(loss, member)) == inspect.isfunction(vars(Loss)[member])
    assert 0.0 <= loss.surely_infinite <= loss.infinite <= 1.0
    assert 0.0 <= loss.profile_lower(0.5) <= loss.profile(0.5) <= 1.0
    assert math.isclose(loss.profile_at_zero(), float(loss.profile(0.0)), rel_tol=1e-9)
    assert loss.divergence(1.0) <= loss.divergence(2.0) <= loss.divergence(math.inf)
    low, high = loss.reach(1.0)
    assert low < high


@pytest.mark.parametrize("name", LAWS)
def test_a_loss_is_its_table_or_its_tables_or_a_formula(name):
    loss = LAWS[name]().loss(2.0)
    assert loss.listed is (loss if "table" in name else None)
    assert len(loss.tables) == {"table": 1, "joint table": 1, "worst": 2}.get(name, 0)
    changed = loss.changed(lambda table: TableLoss(table.loss, table.log_p, infinite=0.25))
    assert (changed.infinite == 0.25) == bool(loss.tables)
    assert loss.worst(1.0) in (loss, *loss.tables)
    assert loss.without_top(0.0) == loss


@pytest.mark.parametrize("name", LAWS)
def test_ten_times_a_law_is_ten_compositions(name):
    law = LAWS[name]
    total = PrivacyLoss.of(law(), 2.0)
    for _ in range(9):
        total = total.compose(PrivacyLoss.of(law(), 2.0))
    assert total.parts[0][1] == (1 if name == "gaussian" else 10)
    assert len(total.parts) == 1
    if name != "gaussian":
        assert total.parts == PrivacyLoss.of(law(), 2.0).compose(10).parts


def test_losses_that_differ_are_counted_apart():
    laws = (discrete_gaussian(2.0), discrete_gaussian(2.1), laplace(2.0), laplace(2.0), gaussian(1))
    total = PrivacyLoss.of(laws[0])
    for law in laws[1:]:
        total = total.compose(PrivacyLoss.of(law))
    assert [count for _, count in total.parts] == [1, 1, 2, 1]


@pytest.mark.parametrize(
    "other",
    [
        {"loss": np.array([0.0, 1.0, 2.5])},
        {"log_p": np.log([0.25, 0.3, 0.45])},
        {"infinite": 1e-9},
        {"deviation": 1e-9},
        {"releases": 2},
        {"raised": 1e-9},
        {"loss_error": 1e-9},
        {"mass_error": 1e-9},
    ],
    ids=lambda value: next(iter(value)),
)
def test_tables_are_equal_only_where_all_is(other):
    given = {"loss": np.array([0.0, 1.0, 2.0]), "log_p": np.log([0.25, 0.25, 0.5])}
    table = TableLoss(**given)
    assert table == TableLoss(**{name: values.copy() for name, values in given.items()})
    assert table != TableLoss(**{**given, **other})
    assert table != GaussianLoss(1.0)
    assert WorstOf((table,)) == WorstOf((TableLoss(**given),))
    assert WorstOf((table,)) != WorstOf((table,), chosen_anew=False)
