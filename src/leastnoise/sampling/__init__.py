"""Sampling: what is drawn is exactly what was judged, from the operating system's
entropy, with work that does not show the value.

draws     noise, and answers with noise, as integers on one public lattice, whatever the law
lattice   how radial laws on a lattice are drawn
norm      how laws of other integer norms are drawn: range_points and capped_points, their shells
sphere    how the ball-shaped law is drawn, which is continuous and rounded exactly
cut_cube  how the law between cube and sphere is drawn, rounded exactly too
bent_sphere  how the law between sphere and normal noise is drawn, rounded exactly too
flat_sphere  how the sphere with a flat core is drawn, rounded exactly too
weights   from shell masses to the integer weights that are judged, saved and drawn
alias     exact integer tables: alias method, first face of a point of a shell
entropy   the operating system, or an insecure seed for tests
"""

from leastnoise.sampling.draws import Draws, Sampled, Sampler, draw, release
from leastnoise.sampling.entropy import InsecureSeededEntropy, OperatingSystemEntropy
from leastnoise.sampling.weights import IntegerWeights, integer_weights

__all__ = [
    "Draws",
    "InsecureSeededEntropy",
    "IntegerWeights",
    "OperatingSystemEntropy",
    "Sampled",
    "Sampler",
    "draw",
    "integer_weights",
    "release",
]
