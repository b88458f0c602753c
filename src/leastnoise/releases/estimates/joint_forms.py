"""The exact law of a form a·X + b·Y in two answers of one joint draw.

A law that is the same in every direction (`part_of_sphere.is_spherical`) gives a form in any number
of its answers the law of one answer, times the length of the form.

A law of shells on the real line (`laws.lattice`) is a mixture of cubes: with K on the lattice Z^d
and U uniform in a cell, step·(K + U) is uniform, given the radius k, in the cube of half-width
R_k = (k + ½)·step less the cube before, whatever d is. Any two answers of a cube are uniform in a
square, so with V_k = (2k + 1)^d and m_k the mass of a shell

    Pr(|aX + bY| > x) = Σ_k m_k (V_k T(x/R_k) − V_{k−1} T(x/R_{k−1}))/(V_k − V_{k−1})

and T(y) = Pr(|aU + bV| > y) of U, V uniform in [−1, 1] is a trapezoid's: for a ≥ b > 0

    1 − y/a  up to a − b        (a + b − y)²/(4ab)  up to a + b        0  beyond

What is here is by these sums, and not by simulation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from leastnoise.lattice.shells import Floats
from leastnoise.laws.base import Noise
from leastnoise.laws.part_of_sphere import is_spherical
from leastnoise.releases.estimates.reconstructed import symmetric
from leastnoise.releases.tables.intervals import ErrorPart, SymmetricLaw

_FINE = 200  # places in a standard deviation of the form
_FAR = 1e-11  # probability beyond which a law is cut off
_MOST_SHELLS = 20_000


def error_part(noise: Noise, parts: Sequence[float], count: int) -> ErrorPart | None:
    """A form in the answers of so many draws as a part of an error; None where its law is not known
    but by trials."""
    length = math.hypot(*parts)
    if is_spherical(noise):
        return ErrorPart(symmetric(noise), length, count)
    moved = [at for at, part in enumerate(parts) if part]
    if len(moved) == 1:
        return ErrorPart(symmetric(noise.of_answer(moved[0])), parts[moved[0]], count)
    if len(moved) == 2 and _is_of_cubes(noise):
        larger, smaller = sorted((abs(parts[at]) / length for at in moved), reverse=True)
        return ErrorPart(_law_of_two(noise, round(larger, 12), round(smaller, 12)), length, count)
    return None


def _is_of_cubes(noise: Noise) -> bool:
    """Whether it is a law of shells on the real line, of not too many of them."""
    if noise.radial is None or noise.domain != "real" or noise.step is None:
        return False
    return float(noise.quantile(_FAR, upper=True)) < _MOST_SHELLS * noise.step


@lru_cache(maxsize=256)
def _law_of_two(noise: Noise, a: float, b: float) -> SymmetricLaw:
    """The law of a·X + b·Y, a ≥ b > 0, by its masses on a fine lattice."""
    width = float(noise.step or 1.0)
    masses = _shells(noise, width)
    cubes = width * (np.arange(len(masses)) + 0.5)  # R_k
    sides = 2.0 * np.arange(len(masses)) + 1.0
    before = np.maximum(sides - 2.0, 0.0) / sides  # (V_{k−1}/V_k)^(1/d)
    inner = before**noise.dimension
    outer = 1.0 / (1.0 - inner)
    # Each cube with all that counts for it: as the outer one of its shell, less as the inner one.
    weights = masses * outer
    weights[:-1] -= (masses * inner * outer)[1:]
    step = math.hypot(a, b) * noise.std / _FINE
    places = np.arange(math.ceil((a + b) * cubes[-1] / step) + 2)
    edges = (places - 0.5) * step
    edges[0] = 0.0
    beyond = np.zeros(len(edges))
    for at in range(0, len(edges), 512):
        over = _trapezoid(edges[at : at + 512, None] / cubes, a, b)
        beyond[at : at + 512] = over @ weights
    each = np.maximum(0.5 * -np.diff(beyond), 0.0)
    each[0] *= 2.0  # the middle place has both sides
    return SymmetricLaw(each, step)


def _shells(noise: Noise, width: float) -> Floats:
    """The masses of all shells that are not beyond all chance."""
    reach = math.ceil(float(noise.quantile(_FAR, upper=True)) / width) + 1
    law = noise.radial
    return np.zeros(0) if law is None else np.array(law.extended(max(reach, law.last)))


def _trapezoid(y: Floats, a: float, b: float) -> Floats:
    slope = np.maximum(a + b - y, 0.0) ** 2 / (4.0 * a * b)
    return np.asarray(np.where(y <= a - b, 1.0 - y / a, slope))
