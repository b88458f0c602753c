"""leastnoise: the noise that costs the least accuracy for a given differential-privacy guarantee."""

from leastnoise.classic import (
    cube,
    discrete_gaussian,
    discrete_laplace,
    discrete_staircase,
    gaussian,
    generalized_gaussian,
    laplace,
    staircase,
)
from leastnoise.cost import Cost
from leastnoise.designer.cactus import cactus
from leastnoise.designer.design import Design, design
from leastnoise.errors import (
    AccountingError,
    DesignError,
    InvalidFileError,
    InvalidParameterError,
    LeastNoiseError,
    UnsupportedError,
)
from leastnoise.lattice import LatticeNoise
from leastnoise.noise import Noise
from leastnoise.privacy.loss import Bounds, PrivacyLoss
from leastnoise.privacy.renyi import epsilon_from_renyi, moments_epsilon, renyi_divergence
from leastnoise.sampling.weights import exact

__all__ = [
    "AccountingError",
    "Bounds",
    "Cost",
    "Design",
    "DesignError",
    "InvalidFileError",
    "InvalidParameterError",
    "LatticeNoise",
    "LeastNoiseError",
    "Noise",
    "PrivacyLoss",
    "UnsupportedError",
    "cactus",
    "cube",
    "design",
    "discrete_gaussian",
    "discrete_laplace",
    "discrete_staircase",
    "epsilon_from_renyi",
    "exact",
    "gaussian",
    "generalized_gaussian",
    "laplace",
    "moments_epsilon",
    "renyi_divergence",
    "staircase",
]
