"""Every law keeps the one interface: a name, a description that comes back bit for bit, a loss."""

import json

import numpy as np
import pytest

from leastnoise import (
    LatticeNoise,
    Noise,
    OneSided,
    correlated,
    cube,
    discrete_laplace,
    gaussian,
    laplace,
    sphere,
    staircase,
)
from leastnoise.errors import InvalidFileError, InvalidParameterError, UnsupportedError
from leastnoise.lattice.radial import Radial
from leastnoise.laws.base import LAWS
from leastnoise.laws.bent_sphere import BentSphereNoise, bent_sphere
from leastnoise.laws.cut_cube import CutCubeNoise
from leastnoise.laws.exponential import count_law, range_law, touched_law
from leastnoise.laws.flat_sphere import FlatSphereNoise, flat_sphere
from leastnoise.laws.lifted import LiftedNoise
from leastnoise.laws.part_of_sphere import PartOfSphereNoise, part_of_sphere

EXAMPLES = {
    "lattice": [
        discrete_laplace(3.0),
        staircase(2.0),
        cube(4.0, 3),
        LatticeNoise([0.5, 0.3, 0.2], None),
    ],
    "gaussian": [gaussian(2.0)],
    "laplace": [laplace(0.3)],
    "ball": [sphere(8.0, 5), sphere(3.0, 4, domain="integer")],
    "cut cube": [CutCubeNoise(0.28, 17.1, 50), CutCubeNoise(0.5, 17.1, 50, 1.0, "integer")],
    "correlated": [
        correlated(8.0, 5),
        correlated(8.0, 5, core="gaussian"),
        correlated(3.0, 4, domain="integer"),
    ],
    "lifted": [LiftedNoise(cube(8.0, 4))],
    "bent sphere": [BentSphereNoise(1.5, 8, 5), bent_sphere(8.0, 2, 3)],
    "flat sphere": [FlatSphereNoise(1.5, 8.0, 5), flat_sphere(8.0, 2, 0.25)],
    "part of sphere": [PartOfSphereNoise(1.5, 20, 5), part_of_sphere(8.0, 2, 2)],
    "norm": [
        range_law(3.0, 4),
        touched_law(3.0, 4, 2),
        count_law(3.0, 4, 2),
        count_law(3.0, 4, 2, domain="real"),
    ],
}
ALL = [law for laws in EXAMPLES.values() for law in laws]


def test_every_registered_law_is_tested_here():
    assert set(EXAMPLES) == set(LAWS)
    for kind, laws in EXAMPLES.items():
        assert all(type(law) is LAWS[kind] and law.kind == kind for law in laws)


@pytest.mark.parametrize("law", ALL, ids=repr)
def test_a_description_comes_back_bit_for_bit(law):
    text = json.dumps(law.describe())
    back = Noise.from_description(json.loads(text))
    assert type(back) is type(law)
    assert back == law
    assert hash(back) == hash(law)
    assert json.dumps(back.describe()) == text


@pytest.mark.parametrize("law", ALL, ids=repr)
def test_a_saved_law_comes_back(law, tmp_path):
    law.save(tmp_path / "law.json")
    assert Noise.load(tmp_path / "law.json") == law


@pytest.mark.parametrize("kind", ["", "normal", None, ["lattice"]])
def test_a_kind_that_is_none_is_refused(kind):
    with pytest.raises(InvalidFileError, match="unknown kind of law"):
        Noise.from_description({"kind": kind})


@pytest.mark.parametrize("law", ALL, ids=repr)
def test_equal_laws_have_equal_losses(law):
    again, space = (
        Noise.from_description(law.describe()),
        OneSided(touched=2 if law.dimension > 2 else None),
    )
    assert law.loss(1.0, space) is not again.loss(1.0, space)
    assert law.loss(1.0, space) == again.loss(1.0, space)
    assert hash(law.loss(1.0, space)) == hash(again.loss(1.0, space))
    assert law.loss(1.0, space) != law.loss(2.0, space)


@pytest.mark.parametrize("law", ALL, ids=repr)
@pytest.mark.parametrize("sensitivity", [0.0, -1.0, np.nan, np.inf])
def test_a_sensitivity_that_is_none_is_refused_by_every_law(law, sensitivity):
    with pytest.raises(InvalidParameterError, match="sensitivity"):
        law.loss(sensitivity, OneSided())


def test_a_law_of_ones_own_has_neither_loss_nor_description():
    class Own(Noise):
        dimension, step, domain, variance = 1, None, "real", 1.0

        def pmf(self, k):
            raise NotImplementedError

        pdf = ccdf = quantile = pmf

    with pytest.raises(UnsupportedError, match="Own has no privacy loss"):
        Own().loss(1.0)
    with pytest.raises(UnsupportedError, match="Own cannot be saved"):
        Own().describe()


class Bare(Radial):
    """Shell masses and nothing else."""

    def __init__(self, shell_masses, tail_ratio, dimension):
        self.shell_masses = np.array(shell_masses)
        self.tail_ratio, self.dimension = tail_ratio, dimension


@pytest.mark.parametrize("law", EXAMPLES["lattice"], ids=repr)
def test_a_radial_law_needs_no_more_than_its_masses(law):
    bare = Bare(law.shell_masses, law.tail_ratio, law.dimension)
    k = np.arange(law.last + 5)
    assert (bare.last, bare.total, bare.tail_mass) == (law.last, law.total, law.tail_mass)
    assert bare.is_monotone == law.is_monotone
    for name in ("pmf", "log_pmf", "coordinate_pmf", "coordinate_beyond"):
        assert np.array_equal(getattr(bare, name)(k), getattr(law, name)(k))


def test_a_lattice_law_is_judged_once_for_one_sensitivity():
    law = discrete_laplace(3.0)
    one = law.loss(1.0)
    assert law.loss(1) is one
    assert law.loss(2.0) != one
    assert law.loss(1.0) == one
