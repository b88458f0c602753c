"""Composition of privacy losses by tilted FFT, with a bound on everything that can go wrong.

Let S be the sum of the losses of all releases. With the tilt θ ≥ 0 and K(θ) the sum of their log-moment generating functions,

    δ(ε) = E[(1 − e^(ε−S))_+] = e^(K(θ)−θε) · Ẽ[e^(−θ(S−ε)) (1 − e^(ε−S))_+],

Ẽ being the expectation under the tilted law. At the saddle point, K'(θ) = ε, the tilted S is centred at ε and the second factor is
of moderate size, so its absolute error in the FFT is a relative error of δ: 1e-30 is as easy as 1e-3.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import fft
from scipy.linalg import lapack

from leastnoise.errors import AccountingError
from leastnoise.privacy.single import ULP, SingleLoss, TableLoss
from leastnoise.shells import Floats

Parts = Sequence[tuple[SingleLoss, int]]

_MOST_EXACT_RELEASES = 64
_MOST_SUMS = 20_000
_KINK = 1e-4
DEFAULT_ACCURACY = 5e-6
_SNAP = 1e-9  # of a pitch: losses this close to a grid point are moved onto it, which counts as rounding of the loss
_STEEPEST = 30.0  # log of the steepest tilt
_USUAL = 4.5  # log of the usual tilt less that of the flattest one: δ = 1e-6 to 1e-9 is 5 to 6 deviations out
_NEGLIGIBLE = 1e-30  # of the largest Fourier coefficient, which is 1
_WRAP = 27.0  # the window loses or wraps at most e^−27 = 2e-12 of the tilted mass at each end


@dataclass(frozen=True)
class Settings:
    """How finely to work: `accuracy` is the relative rise of ε that discretisation may cause."""

    accuracy: float = DEFAULT_ACCURACY
    most_points: int = 2**22


@dataclass(frozen=True)
class Saddle:
    """Where to look: tilt, centre and spread of the tilted sum."""

    theta: float
    centre: float
    deviation: float


@dataclass(frozen=True)
class Window:
    """The tilted law of the sum on grid points first … first+size−1 of pitch h, and what is known of its errors."""

    pitch: float
    first: int
    theta: float
    log_scale: float  # K(θ) of the discretised losses
    tilted: Floats
    point_error: float  # bound on the error of each entry of `tilted`
    lost_above: float  # bound on the tilted mass above the window
    lost_below: float  # and below it; both come back into the window at the other end
    centre: float
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
        """U_j = Σ_{s≥j} q e^(−θ(s−j)) and V_j = Σ_{s≥j} q e^(−(θ+1)(s−j)), by recursion from above: no overflow at any width."""
        reverse = self.tilted[::-1]
        rates = (self.theta * self.pitch, (self.theta + 1.0) * self.pitch)
        one, two = (running_sums(reverse, math.exp(-rate))[::-1] for rate in rates)
        return one, two

    def _above(self, epsilon: float, index: int) -> tuple[float, float]:
        """Σ_{s>ε} q e^(−θ(s−ε)) and Σ_{s>ε} q e^(−θ(s−ε)) e^(ε−s), the sums starting at `index`."""
        one, two = self._sums
        gap = max(self.pitch * (self.first + index) - epsilon, 0.0)
        return float(one[index]) * math.exp(-self.theta * gap), float(two[index]) * math.exp(-(self.theta + 1.0) * gap)

    def _wrapped(self, epsilon: float) -> float:
        """Bound on what mass from below the window adds to the sums above ε, W being the window's width.

        Either all of it, or, untilted, Σ_k δ(ε − kW) e^(−θkW) ≤ e^(−θW)/(1 − e^(−θW)): at a steep tilt a short window is enough.
        """
        fall = self.theta * self.pitch * self.tilted.size
        if fall < 1.0:
            return self.lost_below
        log_untilted = -fall - math.log(-math.expm1(-fall)) - (self.log_scale - self.theta * epsilon)
        return min(self.lost_below, math.exp(min(log_untilted, 0.0)))

    def log_delta(self, epsilon: float, *, upper: bool) -> float:
        """log of the upper (or lower) bound on δ(ε) of the discretised losses; finite losses only."""
        at = epsilon - self.loss_error if upper else epsilon + self.loss_error
        index = math.floor(at / self.pitch) + 1 - self.first
        if index < 0:
            return 0.0 if upper else -math.inf
        size = self.tilted.size
        summed, discount = self._above(at, index) if index < size else (0.0, 0.0)
        value = max(summed - discount, 0.0)
        points = min(float(size), 1.0 / -math.expm1(-max(self.theta, 1e-300) * self.pitch))
        error = self.point_error * points + ULP * size * summed
        rounding = self.mass_error
        if upper:
            beyond = self.lost_above * math.exp(-self.theta * max(self.high - at, 0.0))
            total = (value + error + beyond) * (1.0 + rounding)
        else:
            total = (value - error - self.lost_above - self._wrapped(at)) * (1.0 - min(rounding, 1.0))
        return self.log_scale - self.theta * at + math.log(total) if total > 0 else -math.inf


def running_sums(values: Floats, ratio: float) -> Floats:
    """y_i = x_i + ratio·y_{i−1}, by LAPACK's substitution in a matrix of two diagonals. scipy.signal has a filter for it that is no
    faster and takes 0.4 s to import."""
    band = np.empty((2, values.size), order="F")
    band[0], band[1] = 1.0, -ratio
    solved, failed = lapack.dtbtrs(band, values, uplo="L", diag="U")
    if failed:
        raise AccountingError("The sums over the losses could not be formed.")
    return np.asarray(solved, dtype=np.float64).reshape(values.shape)


def cumulants(parts: Parts, theta: float) -> tuple[float, float, float]:
    """K, K', K'' of the sum of all losses."""
    total = np.zeros(3)
    for loss, count in parts:
        total += count * np.array(loss.cumulants(theta))
    return float(total[0]), float(total[1]), float(total[2])


def saddle_for_delta(parts: Parts, delta: float) -> Saddle:
    """The saddle point whose approximate δ, e^(K−θK')/(θ(1+θ)√(2πK'')), is `delta`."""

    def excess(theta: float) -> float:
        k, mean, variance = cumulants(parts, theta)
        if not variance > 0:
            return -math.inf
        return k - theta * mean - math.log(theta * (1 + theta)) - 0.5 * math.log(2 * math.pi * variance) - math.log(delta)

    return _saddle(parts, _tilt(parts, excess))


def saddle_for_epsilon(parts: Parts, epsilon: float) -> Saddle:
    """The tilt with K'(θ) = ε; 0 if the sum lies above ε on average."""
    if cumulants(parts, 0.0)[1] >= epsilon:
        return _saddle(parts, 0.0)
    return _saddle(parts, _tilt(parts, lambda theta: epsilon - cumulants(parts, theta)[1]))


def _tilt(parts: Parts, lack: Callable[[float], float]) -> float:
    """The tilt at which `lack`, which falls as the tilt grows, is 0, to 2 %, but never so large that the sum sits at its largest
    value almost surely: beyond that a tilt gains nothing and only magnifies the splitting of the losses.

    Any tilt gives valid bounds; the search is kept short because the judge makes it for every law that is tried.
    """

    def missing(log_theta: float) -> float:
        """`lack`, or −inf where the tilt is steep enough for the other reasons."""
        if log_theta > _STEEPEST:
            return -math.inf
        theta = math.exp(log_theta)
        value = lack(theta)
        return -math.inf if value > 0 and _below_largest(parts, theta) < 0.5 else value

    flattest = -0.5 * math.log(max(cumulants(parts, 0.0)[2], 1e-300)) - 3.0
    low = high = flattest + _USUAL
    at_low = at_high = missing(high)
    while at_high > 0:
        low, at_low = high, at_high
        high += 1.0
        at_high = missing(high)
    while at_low <= 0:
        high, at_high = low, at_low
        low -= 1.0
        if low < flattest:
            return math.exp(high)
        at_low = missing(low)
    while high - low > 0.02:
        # A secant step, which ends the search once the next would be as short as the tolerance; halves where it stays at one end.
        width = high - low
        part = at_low / (at_low - at_high) if at_high > -math.inf else 0.5
        middle = low + width * min(max(part, 0.05), 0.95)
        at_middle = missing(middle)
        if at_middle > 0:
            shorter = middle - low < 0.5 * width
            low, at_low = middle, at_middle
            part = at_low / (at_low - at_high) if at_high > -math.inf else 1.0
            if part * (high - low) < 0.01:
                return math.exp(low + part * (high - low))
        else:
            shorter = high - middle < 0.5 * width
            high, at_high = middle, at_middle
            part = at_high / (at_high - at_low) if at_high > -math.inf else 1.0
            if part * (high - low) < 0.01:
                return math.exp(high - part * (high - low))
        if shorter and high - low > 0.02:
            middle = 0.5 * (low + high)
            at_middle = missing(middle)
            low, at_low, high, at_high = (middle, at_middle, high, at_high) if at_middle > 0 else (low, at_low, middle, at_middle)
    return math.exp(high)


def _below_largest(parts: Parts, theta: float) -> float:
    """Expected number of releases whose loss, under the tilt, is not its largest."""
    return sum(count * loss.share_below_largest(theta) for loss, count in parts)


def exactly(parts: Parts) -> TableLoss | None:
    """The composed loss as a table of every sum of losses, where there are few enough; None otherwise."""
    if any(not isinstance(loss, TableLoss) for loss, _ in parts) or sum(count for _, count in parts) > _MOST_EXACT_RELEASES:
        return None
    if _surely_many_sums(parts):
        return None
    total = TableLoss(np.zeros(1), np.zeros(1), releases=0)
    for loss, count in parts:
        for _ in range(count):
            if not isinstance(loss, TableLoss) or total.loss.size * loss.loss.size > _MOST_SUMS:
                return None
            total = total.followed_by(loss)
    return total


def _surely_many_sums(parts: Parts) -> bool:
    """Whether the first two releases alone have too many sums of losses, from a sample of the losses: merging equal ones, as a
    designed law's are thousands, takes as long as the rest of the judge's work."""
    two = [loss for loss, count in parts for _ in range(min(count, 2)) if isinstance(loss, TableLoss)][:2]
    if len(two) < 2 or two[0].loss.size * two[1].loss.size <= _MOST_SUMS:
        return False
    sample = two[0].loss[:: max(1, two[0].loss.size // 64)]
    return np.unique(np.round(sample, 9)).size * two[1].loss.size > _MOST_SUMS


def pitch_for(parts: Parts, saddle: Saddle, epsilon: float, accuracy: float) -> float:
    """The grid pitch at which splitting raises ε by about `accuracy`·ε: it adds a variance of about h²/6 a release, and with it
    (θ+1)/2 of that to ε. One kind of bounded loss gets a grid on which its largest loss is a point and not split."""
    releases = _below_largest(parts, saddle.theta) if len(parts) == 1 else sum(count for _, count in parts)
    # Where losses are few and far apart a kink of the profile is moved by up to a pitch, so the pitch itself is kept small too.
    epsilon = max(epsilon, saddle.centre)
    pitch = math.sqrt(12.0 * accuracy * max(epsilon, 1e-3 * saddle.deviation) / (max(releases, 0.1) * (saddle.theta + 1.0)))
    coarser = max(1.0, math.sqrt(accuracy / DEFAULT_ACCURACY))  # where the number of grid points forces a lower accuracy
    pitch = min(pitch, coarser * max(_KINK * epsilon, 1e-3 * saddle.deviation), min(0.25 * coarser, 50.0) / (saddle.theta + 1.0))
    for loss, _ in parts:
        if not math.isfinite(loss.largest):
            pitch = min(pitch, 0.25 * math.sqrt(loss.cumulants(0.0)[2]))
    return aligned(parts, pitch)


def aligned(parts: Parts, pitch: float) -> float:
    """At most `pitch`, a whole part of the largest loss where there is only one kind of loss."""
    largest = parts[0][0].largest
    if len(parts) == 1 and math.isfinite(largest) and largest > 0:
        return largest / math.ceil(largest / pitch)
    return pitch


def compose(parts: Parts, saddle: Saddle, pitch: float, most_points: int) -> tuple[Window, float]:
    """The tilted law of the sum near `saddle.centre`, and the mass of infinite loss that truncation added, all releases."""
    tables = [(_discretised(loss, saddle, pitch, most_points), count) for loss, count in parts]
    grids = [_Grid.of(table, pitch, saddle.theta) for table, _ in tables]
    counts = [count for _, count in parts]
    below, above = _reach(grids, counts, saddle)
    if not (below + above) / pitch < 2.0 * most_points:
        raise AccountingError(f"Composing {sum(counts)} releases needs more than {most_points} grid points.")
    size = fft.next_fast_len(math.ceil((below + above) / pitch) + 8, real=True)
    if size > most_points:
        raise AccountingError(
            f"Composing {sum(counts)} releases to the requested accuracy needs {size} grid points, more than {most_points}."
        )
    first = math.floor((saddle.centre - below) / pitch) - 2
    unit = 4.0 * ULP * math.log2(size + 2.0)  # relative error of one FFT in the 2-norm
    spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
    smallest = np.ones(size // 2 + 1)
    coefficient_error = 0.0
    for grid, count in zip(grids, counts, strict=True):
        folded = np.bincount(grid.index % size, weights=grid.tilted, minlength=size).astype(np.float64, copy=False)
        one = fft.rfft(folded)
        size_of_one = np.abs(one)
        spectrum *= _power(one, size_of_one, count)
        smallest = np.minimum(smallest, size_of_one)
        coefficient_error += count * (unit * math.sqrt(size) * _norm(folded) + 4.0 * ULP)
    tilted = np.roll(fft.irfft(spectrum, size), -(first % size))
    size_of = np.abs(spectrum)
    # |∏(a+e) − ∏a| ≤ Σ count·|e|·|∏a|/|a| to first order; the factor 2 covers the rest while Σ count·|e| < 1/2.
    if coefficient_error > 0.01:
        raise AccountingError(f"Floating-point error of {sum(counts)} compositions cannot be bounded; use fewer grid points.")
    with np.errstate(divide="ignore", invalid="ignore"):
        leverage = np.where(smallest > 0, np.minimum(size_of / smallest, 1.0), 1.0)
    point_error = 2.0 * coefficient_error * (2.0 * float(np.sum(leverage)) / size) + unit * _norm(tilted)
    point_error += _NEGLIGIBLE * len(counts)
    window = Window(
        pitch=pitch,
        first=first,
        theta=saddle.theta,
        log_scale=sum(count * grid.log_scale for grid, count in zip(grids, counts, strict=True)),
        tilted=np.maximum(tilted, 0.0),
        point_error=point_error,
        lost_above=_outside(grids, counts, saddle, (first + size - 1) * pitch, 1.0),
        lost_below=_outside(grids, counts, saddle, first * pitch, -1.0),
        centre=saddle.centre,
        releases=sum(counts),
        loss_error=sum(count * (table.loss_rounding + _SNAP * pitch) for table, count in tables),
        mass_error=sum(count * (table.mass_error + ULP * table.loss.size) for table, count in tables),
    )
    both = zip(tables, parts, strict=True)
    truncated = sum(count * max(table.infinite - loss.infinite, 0.0) for (table, count), (loss, _) in both)
    return window, truncated


def _norm(values: NDArray[np.floating]) -> float:
    """The 2-norm, without BLAS and its threads; see `TableLoss.cumulants`."""
    return math.sqrt(float(np.sum(values * values)))


def _power(values: NDArray[np.complex128], sizes: Floats, count: int) -> NDArray[np.complex128]:
    """values^count; entries whose power is below 1e-30 are 0, which for many releases is nearly all of them."""
    if count == 1:
        return values
    kept = sizes > _NEGLIGIBLE ** (1.0 / count)
    result = np.zeros_like(values)
    result[kept] = values[kept] ** count
    return result


@dataclass(frozen=True, eq=False)
class _Grid:
    """One release on the grid: point indices and the tilted probabilities there, which sum to 1; log_scale = K(θ)."""

    index: NDArray[np.int64]
    tilted: Floats
    log_scale: float
    pitch: float

    @staticmethod
    def of(table: TableLoss, pitch: float, theta: float) -> _Grid:
        """Connect-the-Dots: a loss ℓ between grid points gives (1 − e^(−(ℓ−lower)))/(1 − e^(−h)) of its mass to the upper one."""
        if not table.spread / pitch < 1e15:
            raise AccountingError(f"A loss of {table.spread:.3g} cannot be put on a grid of pitch {pitch:.3g}.")
        lower = np.floor(table.loss / pitch)
        part = np.clip(table.loss - lower * pitch, 0.0, pitch)
        over = part > (1.0 - _SNAP) * pitch
        lower, part = lower + over, np.where(over | (part < _SNAP * pitch), 0.0, part)
        whole = -math.expm1(-pitch)
        up = -np.expm1(-part) / whole
        down = np.exp(-part) * -np.expm1(part - pitch) / whole
        tilt = table.log_p + theta * pitch * lower
        top = float(tilt.max()) if np.isfinite(tilt.max()) else 0.0
        base = np.exp(tilt - top)
        index = np.concatenate([lower, lower + 1.0]).astype(np.int64)
        points, weights = _added_up(index, np.concatenate([base * down, base * up * math.exp(theta * pitch)]))
        total = float(weights.sum())
        if not total > 0:
            raise AccountingError("A release has no finite privacy loss: the shifted law shares no point with the law.")
        weights = weights / total
        held = weights > 0
        return _Grid(points[held], weights[held], top + math.log(total), pitch)

    def log_moment(self, tau: float) -> float:
        """log Ẽ[e^(τL)]."""
        exponent = self._log_tilted + tau * self.pitch * self.index
        top = float(exponent.max())
        return top + math.log(float(np.sum(np.exp(exponent - top))))

    @cached_property
    def _log_tilted(self) -> Floats:
        return np.log(self.tilted)


def _added_up(index: NDArray[np.int64], weights: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Distinct indices and the sums of their weights; by sorting where the indices are few and far apart."""
    low = int(index.min())
    span = int(index.max()) - low + 1
    if span <= 8 * index.size:
        return np.arange(low, low + span), np.asarray(np.bincount(index - low, weights=weights), dtype=np.float64)
    order = np.argsort(index, kind="stable")
    index, weights = index[order], weights[order]
    starts = np.flatnonzero(np.concatenate([[True], np.diff(index) > 0]))
    return index[starts], np.add.reduceat(weights, starts)


def _discretised(loss: SingleLoss, saddle: Saddle, pitch: float, most_points: int) -> TableLoss:
    """The loss as a table; unbounded losses are cut where the rest matters less than 1e-14 of δ."""
    if isinstance(loss, TableLoss):
        return loss
    low, high = -loss.largest, loss.largest
    if not math.isfinite(high):
        # Gaussian: the loss is normal, also under the tilt, with mean (θ+½)μ² and deviation μ; 17 deviations leave 1e-64 of it.
        reach = 17.0 * math.sqrt(loss.cumulants(0.0)[2])
        low, high = loss.cumulants(0.0)[1] - reach, loss.cumulants(saddle.theta)[1] + reach
    if (high - low) / pitch > most_points:
        raise AccountingError(f"One release needs more than {most_points} grid points of pitch {pitch:.3g}.")
    return loss.table(pitch, low, high)


def _reach(grids: Sequence[_Grid], counts: Sequence[int], saddle: Saddle) -> tuple[float, float]:
    """How far below and above the centre the window must go so that at most e^−27 of the tilted mass is outside (Chernoff)."""
    reaches = []
    for sign in (-1.0, 1.0):
        bounds = [
            (sum(count * grid.log_moment(sign * tau) for grid, count in zip(grids, counts, strict=True)) + _WRAP) / tau
            for tau in _chernoff_rates(saddle)
        ]
        farthest = sum(c * int(g.index[-1 if sign > 0 else 0]) * g.pitch for g, c in zip(grids, counts, strict=True))
        reach = min(min(bounds) - sign * saddle.centre, sign * (farthest - saddle.centre))
        reaches.append(max(reach, 0.0) + 4.0 * grids[0].pitch)
    below, above = reaches
    if saddle.theta > 0.0:
        # A window of width W lets in e^(−θW) from below; 32 + log(1/δ) = 32 + θc − K is more than enough for θW.
        moment = sum(count * grid.log_scale for grid, count in zip(grids, counts, strict=True))
        width = (32.0 + max(saddle.theta * saddle.centre - moment, 0.0)) / saddle.theta
        below = min(below, max(width - above, 4.0 * saddle.deviation) + 4.0 * grids[0].pitch)
    return below, above


def _outside(grids: Sequence[_Grid], counts: Sequence[int], saddle: Saddle, end: float, sign: float) -> float:
    """Chernoff bound on the tilted mass above (sign 1) or below (sign −1) the window's end."""
    farthest = sum(c * int(g.index[-1 if sign > 0 else 0]) * g.pitch for g, c in zip(grids, counts, strict=True))
    if sign * (farthest - end) <= 0.0:
        return 0.0
    exponents = [
        sum(count * grid.log_moment(sign * tau) for grid, count in zip(grids, counts, strict=True)) - sign * tau * end
        for tau in _chernoff_rates(saddle)
    ]
    return math.exp(min(min(exponents), 0.0))


def _chernoff_rates(saddle: Saddle) -> tuple[float, ...]:
    """Rates around √(2·27)/deviation, the best one for a normal sum."""
    best = math.sqrt(2.0 * _WRAP) / max(saddle.deviation, 1e-300)
    return 0.5 * best, best, 2.0 * best


def _saddle(parts: Parts, theta: float) -> Saddle:
    _, mean, variance = cumulants(parts, theta)
    return Saddle(theta, mean, math.sqrt(max(variance, 0.0)))
