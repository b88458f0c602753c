"""All laws, by the name of their kind in files. A new law is one file of this folder
and a line here."""

from __future__ import annotations

from leastnoise.laws.base import BODIES, LAWS
from leastnoise.laws.bent_sphere import BentSphereNoise
from leastnoise.laws.correlated import CorrelatedNoise
from leastnoise.laws.cut_cube import CutCubeNoise
from leastnoise.laws.flat_sphere import FlatSphereNoise
from leastnoise.laws.gaussian import GaussianNoise
from leastnoise.laws.laplace import LaplaceNoise
from leastnoise.laws.lattice import LatticeNoise
from leastnoise.laws.lifted import LiftedNoise
from leastnoise.laws.norm import NormNoise
from leastnoise.laws.part_of_sphere import PartOfSphereNoise
from leastnoise.laws.sphere import BallNoise

_JOINT = (
    BallNoise,
    BentSphereNoise,
    CorrelatedNoise,
    CutCubeNoise,
    FlatSphereNoise,
    LiftedNoise,
    NormNoise,
    PartOfSphereNoise,
)
LAWS |= {law.kind: law for law in (LatticeNoise, GaussianNoise, LaplaceNoise, *_JOINT)}
BODIES |= {
    None: LatticeNoise,
    "sphere": BallNoise,
    "bent sphere": BentSphereNoise,
    "correlated": CorrelatedNoise,
    "cut cube": CutCubeNoise,
    "flat sphere": FlatSphereNoise,
    "lifted": LiftedNoise,
    "part of sphere": PartOfSphereNoise,
    "range": NormNoise,
    "touched": NormNoise,
    "count": NormNoise,
}
