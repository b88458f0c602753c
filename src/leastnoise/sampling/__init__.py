"""Sampling: what is drawn is exactly what was judged, from the operating system's entropy, with work that does not show the value.

weights   from a design to the law with integer weights that is judged, saved and sampled
tables    exact integer tables: alias method, first face of a point of a shell
entropy   the operating system, or an insecure seed for tests
draws     noise, and answers with noise, as integers on one public lattice
"""

from leastnoise.sampling.draws import Draws, draw, release
from leastnoise.sampling.entropy import InsecureSeededEntropy, OperatingSystemEntropy
from leastnoise.sampling.weights import IntegerWeights, exact, integer_weights

__all__ = [
    "Draws",
    "InsecureSeededEntropy",
    "IntegerWeights",
    "OperatingSystemEntropy",
    "draw",
    "exact",
    "integer_weights",
    "release",
]
