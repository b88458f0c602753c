"""Composition of privacy losses by tilted FFT, with a bound on everything that can go wrong.

Let S be the sum of the losses of all releases. With the tilt θ ≥ 0 and K(θ) the sum of
their log-moment generating functions,

    δ(ε) = E[(1 − e^(ε−S))_+] = e^(K(θ)−θε) · Ẽ[e^(−θ(S−ε)) (1 − e^(ε−S))_+],

Ẽ being the expectation under the tilted law. At the saddle point, K'(θ) = ε, the tilted
S is centred at ε and the second factor is of moderate size, so its absolute error in
the FFT is a relative error of δ: 1e-30 is as easy as 1e-3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import fft
from scipy.linalg import lapack

from leastnoise.accountant.grid import SNAP, Grid, discretised
from leastnoise.accountant.saddle import GridSettings, Parts, Saddle, pitch_for
from leastnoise.errors import AccountingError
from leastnoise.lattice.shells import Floats
from leastnoise.losses.rounding import ULP

# Each number out of an FFT of N numbers x is a sum of N products formed in log2 N
# stages, so its error is at most that many roundings of Σ|x|. Assumed is that a stage
# of pocketfft costs no more than eight half units in the last place.
_FFT_ERROR = 4.0 * ULP
_NEGLIGIBLE = 1e-30  # of the largest Fourier coefficient, which is 1
# the window loses or wraps at most e^−27 = 2e-12 of the tilted mass at each end
_WRAP = 27.0
_COARSER = 12  # times that a grid may be made coarser, fourfold in accuracy


@dataclass(frozen=True)
class Window:
    """The tilted law of the sum on grid points first … first+size−1 of pitch h, and
    what is known of its errors."""

    pitch: float
    first: int
    theta: float
    log_scale: float  # K(θ) of the discretised losses
    tilted: Floats
    point_error: float  # bound on the error of each entry of `tilted`
    lost_above: float  # bound on the tilted mass above the window
    lost_below: float  # and below it; both come back into the window at the other end
    releases: int
    loss_error: float  # rounding of the losses, all releases together
    mass_error: float  # relative rounding of the probabilities, all releases together

    @property
    def low(self) -> float:
        return self.first * self.pitch

    @property
    def high(self) -> float:
        return (self.first + self.tilted.size - 1) * self.pitch

    @cached_property
    def _sums(self) -> tuple[Floats, Floats]:
        """V_j = Σ_{s≥j} q e^(−(θ+1)(s−j)) and W_j = Σ_{s≥j} q e^(−θ(s−j)) (1 −
        e^(−(s−j))), by recursions from above.

        V_j = q_j + e^(−(θ+1)h) V_{j+1} and W_j = e^(−θh) (W_{j+1} + (1 − e^(−h))
        V_{j+1}): sums of positive terms. No difference cancels where the losses are
        small, and nothing overflows at any width.
        """
        h, decay = self.pitch, math.exp(-self.theta * self.pitch)
        discounted = running_sums(self.tilted[::-1], math.exp(-(self.theta + 1.0) * h))
        shifted = np.concatenate([[0.0], discounted[:-1]])
        gained = running_sums(decay * -math.expm1(-h) * shifted, decay)
        return discounted[::-1], gained[::-1]

    def _above(self, epsilon: float, index: int) -> float:
        """Σ_{s>ε} q e^(−θ(s−ε)) (1 − e^(ε−s)), the sum starting at `index`."""
        discounted, gained = self._sums
        gap = max(self.pitch * (self.first + index) - epsilon, 0.0)
        from_here = float(gained[index]) - math.expm1(-gap) * float(discounted[index])
        return math.exp(-self.theta * gap) * from_here

    def _weight_above(self) -> float:
        """What an error of 1 at every point above ε comes to, at most: Σ_k e^(−θx_k) (1
        − e^(−x_k)), x_k in (kh, (k+1)h].

        That is at most Σ_{k≥0} a^k (1 − e^(−(k+1)h)) = (1 − e^(−h))/((1 − a)(1 − a
        e^(−h))), a = e^(−θh).
        """
        h, size = self.pitch, float(self.tilted.size)
        flat = size * -math.expm1(-h * size)
        if self.theta * h < 1e-12:
            return flat
        falling = -math.expm1(-self.theta * h) * -math.expm1(-(self.theta + 1.0) * h)
        return min(flat, -math.expm1(-h) / falling)

    def _wrapped(self, epsilon: float) -> float:
        """Bound on what mass from below the window adds to the sums above ε, W being
        the window's width.

        Either all of it, or, untilted, Σ_k δ(ε − kW) e^(−θkW) ≤ e^(−θW)/(1 − e^(−θW)):
        at a steep tilt a short window is enough.
        """
        fall = self.theta * self.pitch * self.tilted.size
        if fall < 1.0:
            return self.lost_below
        log_untilted = (
            -fall - math.log(-math.expm1(-fall)) - (self.log_scale - self.theta * epsilon)
        )
        return min(self.lost_below, math.exp(min(log_untilted, 0.0)))

    def log_delta(self, epsilon: float, *, upper: bool) -> float:
        """log of the upper (or lower) bound on δ(ε) of the discretised losses; finite
        losses only."""
        at = epsilon - self.loss_error if upper else epsilon + self.loss_error
        index = math.floor(at / self.pitch) + 1 - self.first
        if index < 0:
            return 0.0 if upper else -math.inf
        size = self.tilted.size
        value = self._above(at, index) if index < size else 0.0
        error = self.point_error * self._weight_above() + 4.0 * ULP * size * value
        rounding = self.mass_error
        if upper:
            beyond = self.lost_above * math.exp(-self.theta * max(self.high - at, 0.0))
            total = (value + error + beyond) * (1.0 + rounding)
        else:
            total = (value - error - self.lost_above - self._wrapped(at)) * (
                1.0 - min(rounding, 1.0)
            )
        if math.isnan(total):  # never known to have happened; certifies nothing
            return 0.0 if upper else -math.inf
        return self.log_scale - self.theta * at + math.log(total) if total > 0 else -math.inf


def running_sums(values: Floats, ratio: float) -> Floats:
    """y_i = x_i + ratio·y_{i−1}, by LAPACK's substitution in a matrix of two diagonals.
    scipy.signal has a filter for it that is no faster and takes 0.4 s to import."""
    band = np.empty((2, values.size), order="F")
    band[0], band[1] = 1.0, -ratio
    solved, failed = lapack.dtbtrs(band, values, uplo="L", diag="U")
    if failed:
        raise AccountingError("The sums over the losses could not be formed.")
    return np.asarray(solved, dtype=np.float64).reshape(values.shape)


def window_near(
    parts: Parts, saddle: Saddle, epsilon: float, settings: GridSettings, tries: int = _COARSER
) -> tuple[Window, float]:
    """`window_at` of the composed loss near `epsilon`, to the wanted accuracy or the
    best that the number of grid points allows."""
    for attempt in range(tries):
        pitch = pitch_for(parts, saddle, epsilon, settings.accuracy * 4.0**attempt)
        try:
            return window_at(parts, saddle, pitch, settings.most_points)
        except AccountingError:
            if attempt == tries - 1:
                raise
    raise AccountingError("No grid was tried.")


def window_at(parts: Parts, saddle: Saddle, pitch: float, most_points: int) -> tuple[Window, float]:
    """The tilted law of the sum near `saddle.centre`, and the mass of infinite loss
    that truncation added, all releases.

    1. Put one release of each loss on the grid.
    2. Choose the window: Chernoff bounds on the sum.
    3. Multiply the Fourier transforms, with a bound on the error of each point.
    4. Bound what lies outside the window and wraps into it.
    """
    counts = [count for _, count in parts]
    tables = [discretised(loss, saddle, pitch, most_points) for loss, _ in parts]
    grids = [Grid.of(table, pitch, saddle.theta) for table in tables]
    first, size = _chosen_window(grids, counts, saddle, pitch, most_points)
    spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
    smallest = np.ones(size // 2 + 1)
    for grid, count in zip(grids, counts, strict=True):
        one = fft.rfft(grid.folded(size))
        size_of_one = np.abs(one)
        spectrum *= _power(one, size_of_one, count)
        smallest = np.minimum(smallest, size_of_one)
    tilted = np.roll(fft.irfft(spectrum, size), -(first % size))
    window = Window(
        pitch=pitch,
        first=first,
        theta=saddle.theta,
        log_scale=sum(count * grid.log_scale for grid, count in zip(grids, counts, strict=True)),
        tilted=np.maximum(tilted, 0.0),
        point_error=_point_error(np.abs(spectrum), smallest, counts, size),
        lost_above=_outside(grids, counts, saddle, (first + size - 1) * pitch, 1.0),
        lost_below=_outside(grids, counts, saddle, first * pitch, -1.0),
        releases=sum(counts),
        loss_error=sum(
            count * (table.loss_rounding + SNAP * pitch)
            for table, count in zip(tables, counts, strict=True)
        ),
        mass_error=sum(
            count * (table.mass_error + ULP * table.loss.size)
            for table, count in zip(tables, counts, strict=True)
        ),
    )
    truncated = sum(
        count * max(table.infinite - loss.infinite, 0.0)
        for table, (loss, count) in zip(tables, parts, strict=True)
    )
    return window, truncated


def _chosen_window(
    grids: Sequence[Grid], counts: Sequence[int], saddle: Saddle, pitch: float, most_points: int
) -> tuple[int, int]:
    """The first grid point of the window and how many it has."""
    below, above = _reach(grids, counts, saddle)
    if not (below + above) / pitch < 2.0 * most_points:
        raise AccountingError(
            f"Composing {sum(counts)} releases needs more than {most_points} grid points."
        )
    size = fft.next_fast_len(math.ceil((below + above) / pitch) + 8, real=True)
    if size > most_points:
        raise AccountingError(
            f"Composing {sum(counts)} releases to the requested accuracy needs {size} grid "
            f"points, more than {most_points}."
        )
    return math.floor((saddle.centre - below) / pitch) - 2, size


def _point_error(size_of: Floats, smallest: Floats, counts: Sequence[int], size: int) -> float:
    """A bound on the error of each point of the tilted law of the sum: `size_of` are the sizes of
    the product's Fourier coefficients, `smallest` those of the smallest factor of each.

    |∏(a+e) − ∏a| ≤ Σ count·|e|·|∏a|/|a| to first order; the factor 2 covers the rest while
    Σ count·|e| is below |a|/2, and where it is not, both products of two factors or
    more are below (3 Σ count·|e|)².
    """
    unit = _FFT_ERROR * math.log2(size + 2.0)
    coefficient_error = sum(count * (unit + 4.0 * ULP) for count in counts)  # Σ folded = 1
    if coefficient_error > 0.01:
        raise AccountingError(
            f"Floating-point error of {sum(counts)} compositions cannot be bounded; use fewer "
            "grid points."
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        leverage = np.where(smallest > 0, np.minimum(size_of / smallest, 1.0), 1.0)
    of_factors = 2.0 * coefficient_error * float(np.sum(leverage))
    point_error = (of_factors + unit * float(np.sum(size_of))) * 2.0 / size
    point_error += _NEGLIGIBLE * len(counts) + 10.0 * coefficient_error**2
    return point_error


def _power(values: NDArray[np.complex128], sizes: Floats, count: int) -> NDArray[np.complex128]:
    """values^count; entries whose power is below 1e-30 are 0, which for many releases
    is nearly all of them."""
    if count == 1:
        return values
    kept = sizes > _NEGLIGIBLE ** (1.0 / count)
    result = np.zeros_like(values)
    result[kept] = values[kept] ** count
    return result


def _reach(grids: Sequence[Grid], counts: Sequence[int], saddle: Saddle) -> tuple[float, float]:
    """How far below and above the centre the window must go so that at most e^−27 of
    the tilted mass is outside (Chernoff)."""
    pitch = grids[0].pitch
    reaches = []
    for sign in (-1.0, 1.0):
        rates = _chernoff_rates(saddle)
        bounds = [(_log_moment(grids, counts, sign * tau) + _WRAP) / tau for tau in rates]
        farthest = _farthest(grids, counts, sign)
        reach = min(min(bounds) - sign * saddle.centre, sign * (farthest - saddle.centre))
        reaches.append(max(reach, 0.0) + 4.0 * pitch)
    below, above = reaches
    if saddle.theta > 0.0:
        # A window of width W lets in e^(−θW) from below; 32 + log(1/δ) = 32 + θc − K is
        # more than enough for θW.
        moment = sum(count * grid.log_scale for grid, count in zip(grids, counts, strict=True))
        width = (32.0 + max(saddle.theta * saddle.centre - moment, 0.0)) / saddle.theta
        below = min(below, max(width - above, 4.0 * saddle.deviation) + 4.0 * pitch)
    return below, above


def _outside(
    grids: Sequence[Grid], counts: Sequence[int], saddle: Saddle, end: float, sign: float
) -> float:
    """Chernoff bound on the tilted mass above (sign 1) or below (sign −1) the window's end."""
    if sign * (_farthest(grids, counts, sign) - end) <= 0.0:
        return 0.0
    rates = _chernoff_rates(saddle)
    exponents = [_log_moment(grids, counts, sign * tau) - sign * tau * end for tau in rates]
    return math.exp(min(min(exponents), 0.0))


def _farthest(grids: Sequence[Grid], counts: Sequence[int], sign: float) -> float:
    """The largest (sign 1) or smallest (sign −1) sum on the grid."""
    end = -1 if sign > 0 else 0
    return sum(c * int(g.index[end]) * g.pitch for g, c in zip(grids, counts, strict=True))


def _log_moment(grids: Sequence[Grid], counts: Sequence[int], tau: float) -> float:
    """log Ẽ[e^(τS)] of the sum."""
    return sum(count * grid.log_moment(tau) for grid, count in zip(grids, counts, strict=True))


def _chernoff_rates(saddle: Saddle) -> tuple[float, ...]:
    """Rates around √(2·27)/deviation, the best one for a normal sum."""
    best = math.sqrt(2.0 * _WRAP) / max(saddle.deviation, 1e-300)
    return 0.5 * best, best, 2.0 * best
