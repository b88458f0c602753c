"""Linear forms in several answers of the cut cube law, Z = bρw with w uniform in K = {|w_i| ≤ 1,
Σw_i² ≤ C} and ρ of the law Gamma(d + 1).

**In K** the answers are independent but for Σw_i², so Pr[Σw_i² ≤ C] as a Fourier integral
(`losses.cube_sums`) has, for E[e^(iu·w); Σw_i² ≤ C], the factor ½∫ cos(u_i x) e^(zx²) dx in the place
of that with u_i = 0. Along a ray u = v·c it is an entire function of v that grows like e^(|c|₁|v|):
an interpolation at Chebyshev's places is exact as soon as these are some more than |c|₁V.

**The length** ρ is then averaged by the trapezoidal rule in log ρ. The result falls with t like
(1 + (bt)²)^(−d/2), d ≥ 16: beyond `_FAR` standard deviations nothing is left.

**Whole numbers.** Rounding adds, but for as little, an independent place in a bin, and makes the
law one of a lattice: at whole coefficients the function is periodic.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from leastnoise.errors import UnsupportedError
from leastnoise.lattice.shells import Floats
from leastnoise.lattice.waves import of_bins, whole_multiples
from leastnoise.losses.cube_sums import SumOfSquares, panels

_FAR = 40.0  # standard deviations
_STEP, _WIDE = 0.0125, 9.0  # of log ρ, and how many of its deviations
_PHASE = 6.0  # by which a panel may turn
_SPARE = 60  # places of an interpolation beyond those that it needs


def characteristic(
    scale: float, square: float, dimension: int, coefficients: Floats, std: float, t: Floats
) -> Floats:
    """E cos(t·Σ c_i·Z_i); `std` is that of one Z_i."""
    c = np.abs(coefficients[coefficients != 0.0])
    length = float(np.linalg.norm(c))
    near = np.flatnonzero(np.abs(t) * length * std <= _FAR)
    found = np.zeros(t.size)
    if not near.size:
        return found
    x = math.log(dimension + 1.0) + np.arange(-2000, 2001) * _STEP
    x = x[np.abs(x - math.log(dimension + 1.0)) * math.sqrt(dimension + 1.0) <= 1.5 * _WIDE]
    weights = np.exp((dimension + 1.0) * x - np.exp(x) - float(special.gammaln(dimension + 1.0)))
    weights /= np.sum(weights)
    kept = weights > 1e-16
    radii, weights = scale * np.exp(x[kept]), weights[kept]
    most = float(np.max(np.abs(t[near])) * radii[-1])
    count = math.ceil(most * float(np.sum(c))) + _SPARE
    fitted = np.polynomial.Chebyshev.interpolate(
        lambda v: _in_cut_cube(dimension, square, c, v), count, (-most, most)
    )
    for i in near:
        found[i] = float(weights @ fitted(t[i] * radii))
    return found


def whole_characteristic(
    scale: float, square: float, dimension: int, coefficients: Floats, std: float, t: Floats
) -> Floats:
    """The same of Z rounded to whole numbers."""
    c = coefficients[coefficients != 0.0]
    whole = whole_multiples(c)
    if whole is None or 2.0 * math.pi * std < _FAR * float(np.max(np.abs(whole[0]))):
        raise UnsupportedError("A form in whole numbers of this law has a law that is not known.")
    period = 2.0 * math.pi / whole[1]
    near = np.remainder(t + 0.5 * period, period) - 0.5 * period
    return characteristic(scale, square, dimension, c, std, near) * of_bins(1.0, c, near)


def _in_cut_cube(dimension: int, square: float, c: Floats, v: Floats) -> Floats:
    """E cos(v·Σ c_i·w_i) of w uniform in K."""
    sums = SumOfSquares.near(dimension, square).transform
    k, powers = sums.terms[1], sums.terms[2][0]
    tilt = -sums.theta[1]
    turn = float(np.max(np.abs(v))) * float(np.max(c)) + 2.0 * float(np.max(np.abs(k))) + tilt
    x, weight = panels(max(16, math.ceil(turn / _PHASE)))
    x, weight = x[x > 0.0], weight[x > 0.0]
    bell = weight[:, None] * np.exp(np.outer(x**2, -tilt + 1j * k))
    alone = np.sum(bell, axis=0)
    terms = powers * np.exp(-1j * k * square) / (tilt - 1j * k)
    product = np.tile(terms, (v.size, 1))
    sizes, times = np.unique(c, return_counts=True)
    for size, power in zip(sizes, times, strict=True):
        product = product * (np.cos(np.outer(size * v, x)) @ bell / alone) ** int(power)
    return np.asarray(np.sum(product, axis=1).real / float(np.sum(terms).real))
